#include "ir/CallGraph.h"

#include <unordered_set>

#include "ir/CallAttributes.h"

namespace tenc::ir {

/// The functions reachable from given ones.
class CallGraph::Reached {
 public:
  Reached(const CallGraph& calls, bool rules) : calls_(calls), rules_(rules) {}
  void add(std::string_view name) {
    const auto it = calls_.byName_.find(name);
    if (it != calls_.byName_.end() && found_.insert(it->second).second) walk(*it->second->body);
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

  const CallGraph& calls_;
  const bool rules_;
  std::unordered_set<const Func*> found_;
};

CallGraph::CallGraph(const Module& m) : module_(m) {
  for (const auto& f : m.funcs) byName_.emplace(f->name, f.get());
}

std::unique_ptr<Module> CallGraph::alone(std::string_view entry) const {
  Reached reached(*this, true);
  reached.add(entry);
  std::unique_ptr<Module> made = clone(module_, [&](const Func& f) { return reached.contains(f); });
  if (entry == "main") return made;
  std::erase_if(made->funcs, [](const auto& f) { return f->name == "main"; });
  if (Func* chosen = made->find(entry)) chosen->name = "main";
  return made;
}

void dropUncalled(Module& m, const std::vector<std::string_view>& entries, bool rules) {
  const CallGraph calls(m);
  CallGraph::Reached reached(calls, rules);
  for (const std::string_view name : entries) reached.add(name);
  std::erase_if(m.funcs, [&](const auto& f) { return !reached.contains(*f); });
}

}  // namespace tenc::ir
