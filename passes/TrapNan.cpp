// `--trap nan`: behind each op that may make a NaN or an infinity of other numbers a `trap`, which reads its result and
// what that was made of. Both are kept for that, so no kernel writes over operands.
#include <algorithm>
#include <vector>

#include "passes/Passes.h"
#include "passes/place/Place.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

/// Whether results hold other numbers than operands do.
bool computes(const Op& op) {
  if (op.has(Trait::Structural) || op.has(Trait::Gathers) || op.has(Trait::Creation) || op.has(Trait::Control) ||
      op.has(Trait::Placing) || op.has(Trait::HasSideEffect) || op.has(Trait::Terminator) || op.has(Trait::Random))
    return false;
  if (op.has(Trait::Scatters)) return op.hasAttr("mode") && op.stringAttr("mode") != "set";
  // What the first running extremum starts from is infinite.
  if (op.kind == OpKind::Cumulate && op.boolAttr("exclusive") &&
      (op.stringAttr("mode") == "max" || op.stringAttr("mode") == "min"))
    return false;
  return op.kind != OpKind::Transfer && op.kind != OpKind::Where && op.kind != OpKind::Bitcast &&
         op.kind != OpKind::ReadRows;
}

/// What selects the elements of a value that matter: those that a `where` takes.
struct Selection {
  Op* by = nullptr;  ///< the `where`; null: all matter
  bool branch = true;
};

/// A value that goes, by elementwise ops alone, into one branch of a `where` and nowhere else is wanted where that
/// branch is taken: `where(x > 0.0, log(x), 0.0)` is no accident.
Selection selectionOf(const Value& v) {
  for (const Value* at = &v; at->uses.size() == 1;) {
    const auto [user, operand] = at->uses.front();
    if (user->parent != v.home() || !user->has(Trait::Elementwise)) break;
    if (user->kind == OpKind::Where) return operand > 0 ? Selection{user, operand == 1} : Selection{};
    if (user->result()->type.dtype == DType::Bool) break;
    at = user->result();
  }
  return {};
}

/// The value that a broadcast repeats, so that what it makes need not be kept.
Value* repeated(Value* v) {
  while (v->op != nullptr && v->op->kind == OpKind::Broadcast) v = v->op->operand(0);
  return v;
}

std::string_view relationOf(const Op& op) {
  if (op.has(Trait::Elementwise)) return "elementwise";
  if (op.has(Trait::Reduction)) return "axes";
  return op.kind == OpKind::Matmul ? "product" : "whole";
}

/// As the user knows the operation: some have no name of their own in scripts.
std::string called(const Op& op) {
  switch (op.kind) {
    case OpKind::Cast: return "the conversion to " + std::string(name(op.result()->type.dtype));
    case OpKind::Conv: return "the convolution";
    case OpKind::Neg: return "`-`";
    case OpKind::Cumulate: return "the running " + op.stringAttr("mode");
    case OpKind::SingularValues: return "the search for singular values";
    case OpKind::Pivots: return "Gaussian elimination";
    case OpKind::AttentionSaved: return "`attention`";
    case OpKind::AttentionGrad: return "the gradient of `attention`";
    default: return "`" + placing::sourceName(op) + "`";
  }
}

class Trapper {
 public:
  void region(Region& r) {
    std::vector<Op*> ops;
    for (const auto& op : r.ops) ops.push_back(op.get());
    for (Op* op : ops) {
      for (const auto& inner : op->regions) region(*inner);
      if (!computes(*op)) continue;
      for (const auto& v : op->results) {
        if (isFloat(v->type.dtype) && v->type.size() > 0) trap(*op, *v);
      }
    }
  }

 private:
  /// In the order of the ops, behind the op itself or behind the condition that says what matters of it.
  void trap(Op& op, Value& v) {
    const Selection selection = selectionOf(v);
    Op* const behind = selection.by != nullptr ? selection.by : &op;
    auto next = std::next(behind->self);
    while ((*next)->kind == OpKind::Trap) ++next;
    Builder b(next->get());
    b.setLoc(op.loc);
    std::vector<Value*> operands{&v};
    const std::string_view relation = relationOf(op);
    for (Value* operand : op.operands()) operands.push_back(relation == "elementwise" ? repeated(operand) : operand);
    std::string what = called(op);
    if (op.loc.half != Half::None) what += " in the " + std::string(name(op.loc.half)) + " half of a gradient";
    std::vector<Builder::NamedAttr> attrs{{"what", what}, {"relation", std::string(relation)}};
    if (relation == "axes") attrs.push_back({"axes", op.intsAttr("axes")});
    if (selection.by != nullptr) {
      attrs.push_back({"selects", selection.branch});
      operands.push_back(repeated(selection.by->operand(0)));
    }
    b.makeTyped(OpKind::Trap, std::move(operands), {}, std::move(attrs));
  }
};

}  // namespace

bool trapNan(Module& m, Context&) {
  Trapper trapper;
  for (const auto& f : m.funcs) trapper.region(*f->body);
  return true;
}

}  // namespace tenc::passes
