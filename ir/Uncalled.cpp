#include "ir/Uncalled.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/CallAttributes.h"

namespace tenc::ir {
namespace {

class Reached {
 public:
  Reached(const Module& m, bool rules) : rules_(rules) {
    for (const auto& f : m.funcs) byName_.emplace(f->name, f.get());
  }
  void add(std::string_view name) {
    const auto it = byName_.find(name);
    if (it != byName_.end() && found_.insert(it->second).second) walk(*it->second->body);
  }
  bool contains(const Func& f) const { return found_.contains(&f); }

 private:
  void walk(const Region& region) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::Call) add(op->stringAttr("callee"));
      if (rules_ && op->hasAttr(kRuleForward)) {
        add(op->stringAttr(kRuleForward));
        add(op->stringAttr(kRuleBackward));
      }
      for (const auto& inner : op->regions) walk(*inner);
    }
  }

  bool rules_;
  std::unordered_map<std::string_view, const Func*> byName_;
  std::unordered_set<const Func*> found_;
};

}  // namespace

void dropUncalled(Module& m, const std::vector<std::string_view>& entries, bool rules) {
  Reached reached(m, rules);
  for (const std::string_view name : entries) reached.add(name);
  std::erase_if(m.funcs, [&](const auto& f) { return !reached.contains(*f); });
}

}  // namespace tenc::ir
