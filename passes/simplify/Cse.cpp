// Merges equal pure ops: an op is replaced by an equal one in its region or in a region that dominates it.
#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>

#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

/// Moves are merged by the pass `moves`, so that those it leaves are those that take place.
bool canMerge(const Op& op) {
  return op.regions.empty() && !op.results.empty() && !op.has(Trait::HasSideEffect) && !op.has(Trait::Control) &&
         !op.has(Trait::Terminator) && !op.has(Trait::Placing) && op.kind != OpKind::Transfer;
}

void mix(size_t& hash, size_t value) { hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2); }

std::string_view bytesOf(const std::vector<std::byte>& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

struct AttrHash {
  size_t operator()(int64_t v) const { return std::hash<int64_t>()(v); }
  size_t operator()(double v) const { return std::hash<uint64_t>()(std::bit_cast<uint64_t>(v)); }
  size_t operator()(bool v) const { return v; }
  size_t operator()(const std::string& v) const { return std::hash<std::string>()(v); }
  size_t operator()(const std::vector<int64_t>& v) const {
    size_t h = v.size();
    for (int64_t i : v) mix(h, std::hash<int64_t>()(i));
    return h;
  }
  size_t operator()(const std::vector<std::string>& v) const {
    size_t h = v.size();
    for (const auto& s : v) mix(h, std::hash<std::string>()(s));
    return h;
  }
  size_t operator()(DType v) const { return static_cast<size_t>(v); }
  // The head of long data is enough: equality compares all of it.
  size_t operator()(const Data& v) const {
    return v == nullptr ? 0 : v->size() ^ std::hash<std::string_view>()(bytesOf(*v).substr(0, 256));
  }
};

bool sameAttr(const Attr& a, const Attr& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) {
    return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(std::get<double>(b));
  }
  if (const auto* x = std::get_if<Data>(&a)) {
    const Data& y = std::get<Data>(b);
    return *x == y || (*x != nullptr && y != nullptr && bytesOf(**x) == bytesOf(*y));
  }
  return a == b;
}

/// Operands in an order that does not depend on how a commutative op was written.
std::vector<Value*> orderedOperands(const Op& op) {
  std::vector<Value*> operands = op.operands();
  if (op.has(Trait::Commutative) && std::less<>()(operands[1], operands[0])) std::swap(operands[0], operands[1]);
  return operands;
}

size_t hashOf(const Op& op) {
  size_t h = static_cast<size_t>(op.kind);
  for (const Value* v : orderedOperands(op)) mix(h, std::hash<const Value*>()(v));
  // Attributes may come in any order.
  size_t attrs = 0;
  for (const auto& [key, value] : op.attrs()) attrs += std::hash<std::string>()(key) ^ std::visit(AttrHash{}, value);
  mix(h, attrs);
  for (const auto& r : op.results) {
    mix(h, static_cast<size_t>(r->type.dtype));
    mix(h, AttrHash{}(r->type.shape));
  }
  return h;
}

bool equal(const Op& a, const Op& b) {
  if (a.kind != b.kind || a.results.size() != b.results.size() || a.attrs().size() != b.attrs().size()) return false;
  for (size_t i = 0; i < a.results.size(); ++i) {
    if (a.result(i)->type != b.result(i)->type) return false;
  }
  if (orderedOperands(a) != orderedOperands(b)) return false;
  return std::all_of(a.attrs().begin(), a.attrs().end(), [&](const auto& attr) {
    const Attr* other = b.find(attr.first);
    return other != nullptr && sameAttr(attr.second, *other);
  });
}

class Merger {
 public:
  void region(Region& r) {
    std::vector<size_t> added;
    for (auto it = r.ops.begin(); it != r.ops.end();) {
      Op& op = **it++;
      if (op.kind == OpKind::Fused) continue;
      // A bench computes all of its body in every round, so it shares nothing with what is around it.
      for (const auto& inner : op.regions) op.kind == OpKind::Bench ? Merger().region(*inner) : region(*inner);
      if (!canMerge(op)) continue;
      const size_t hash = hashOf(op);
      if (Op* earlier = find(hash, op)) {
        for (size_t i = 0; i < op.results.size(); ++i) {
          if (earlier->result(i)->name.empty()) earlier->result(i)->name = op.result(i)->name;
          op.result(i)->replaceAllUsesWith(earlier->result(i));
        }
        op.erase();
      } else {
        visible_[hash].push_back(&op);
        added.push_back(hash);
      }
    }
    for (auto it = added.rbegin(); it != added.rend(); ++it) visible_[*it].pop_back();
  }

 private:
  Op* find(size_t hash, const Op& op) const {
    auto it = visible_.find(hash);
    if (it == visible_.end()) return nullptr;
    for (Op* candidate : it->second) {
      if (equal(*candidate, op)) return candidate;
    }
    return nullptr;
  }

  std::unordered_map<size_t, std::vector<Op*>> visible_;
};

/// Nothing is merged after this pass, so barriers have done their work.
void removeBarriers(Region& r) {
  for (auto it = r.ops.begin(); it != r.ops.end();) {
    Op& op = **it++;
    for (const auto& inner : op.regions) removeBarriers(*inner);
    if (op.kind != OpKind::Barrier) continue;
    op.result()->replaceAllUsesWith(op.operand(0));
    op.erase();
  }
}

}  // namespace

bool cse(Module& m, Context&) {
  for (const auto& f : m.funcs) {
    Merger().region(*f->body);
    removeBarriers(*f->body);
  }
  return true;
}

}  // namespace tenc::passes
