// Carries out what inference decided: a `transfer` for each use that needs one, annotations dissolve, device
// comparisons become constants, untaken branches go.
#include "passes/place/Place.h"

namespace tenc::passes::placing {
namespace {

using ir::Builder;
using ir::Cause;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

class Rewrite {
 public:
  Rewrite(Shared& shared, Instance& instance) : shared_(shared), in_(instance) {}

  void run() { region(*in_.func->body); }

 private:
  void region(Region& r) {
    for (auto it = r.ops.begin(); it != r.ops.end();) {
      Op& op = **it;
      ++it;  // `op` may go away; what is inserted for it stands before it
      operands(op);
      visit(op);
    }
  }

  /// Makes operands live where inference wants them.
  void operands(Op& op) {
    auto found = in_.needs.find(&op);
    if (found == in_.needs.end()) return;
    for (size_t i = 0; i < found->second.size(); ++i) {
      const Need& need = found->second[i];
      if (need.device.empty()) continue;
      op.setOperand(i, moved(op.operand(i), need, op, i));
    }
  }

  void visit(Op& op) {
    switch (op.kind) {
      case OpKind::On: region(*op.regions[0]); return dissolve(op, *op.regions[0]);
      case OpKind::To:
      case OpKind::CheckPlace:
      case OpKind::SamePlace:
      case OpKind::StopGradient: return replace(op, op.operand(0));
      case OpKind::OnePlace:
      case OpKind::DecidedBranch: return op.erase();
      case OpKind::DeviceEq: return replaceByBool(op, *in_.info[op.result()].constant);
      case OpKind::If: {
        auto taken = in_.taken.find(&op);
        if (taken == in_.taken.end()) break;
        Region& r = *op.regions[taken->second ? 0 : 1];
        region(r);
        return dissolve(op, r);
      }
      case OpKind::Call: {
        auto callee = in_.callees.find(&op);
        if (callee != in_.callees.end() && callee->second) op.set("callee", callee->second->func->name);
        return;
      }
      case OpKind::Print:
      case OpKind::Assert:
      case OpKind::Load:
      case OpKind::Save: return deviceHoles(op);
      default: break;
    }
    for (auto& r : op.regions) region(*r);
  }

  void replace(Op& op, Value* by) {
    if (by->name.empty()) by->name = op.result()->name;
    op.result()->replaceAllUsesWith(by);
    op.erase();
  }

  void replaceByBool(Op& op, bool value) {
    Builder b(&op);
    b.setLoc(op.loc);
    Value* constant = b.scalarInt(ir::DType::Bool, value ? 1 : 0);
    replace(op, constant);
  }

  /// Moves the ops of region `r` of `op` before it and puts what it yields in place of the results.
  void dissolve(Op& op, Region& r) {
    Op* yield = r.terminator();
    std::vector<Value*> values = yield->operands();
    yield->erase();
    for (size_t k = 0; k < op.results.size(); ++k) {
      bool madeHere = values[k]->op && values[k]->op->parent == &r;
      if (!op.result(k)->name.empty() && (madeHere || values[k]->name.empty())) values[k]->name = op.result(k)->name;
      op.result(k)->replaceAllUsesWith(values[k]);
    }
    while (!r.ops.empty()) r.ops.front()->moveBefore(&op);
    op.erase();
  }

  // ---- moves

  /// A copy of its own for each use; the pass `moves` leaves one for all.
  Value* moved(Value* v, const Need& need, Op& user, size_t operand) {
    if (v->type.place.device == need.device) return v;
    if (v->type.place.isFree() || (mixes(v->type) && need.cause == Cause::Literal)) {
      if (Value* made = materialised(v, need, user)) return made;
    }
    Builder b(&user);
    const Span written = Reporter(shared_, in_).textOf(user, v, operand);
    const Span span = shared_.module.span(need.entry ? need.entry->loc : user.loc);
    b.setLoc(shared_.module.addLoc({span, {}, {}, {{written, ""}}}));
    ir::Type type = v->type;
    type.place.device = need.device;
    Op* copy = b.makeTyped(OpKind::Transfer, {v}, {type}, {{"cause", std::string(ir::name(need.cause))}});
    if (need.gradient) copy->set("gradient", true);
    copy->result()->name = v->name;
    return copy->result();
  }

  /// A free value on a device: scalars travel as kernel arguments, so nothing is transferred.
  Value* materialised(Value* v, const Need& need, Op& user) {
    Value* scalar = v;
    while (!scalar->type.shape.empty() && scalar->op &&
           (scalar->op->kind == OpKind::Broadcast || scalar->op->kind == OpKind::Reshape))
      scalar = scalar->op->operand(0);
    if (!scalar->type.shape.empty() || !mixes(scalar->type)) return nullptr;
    Builder b(&user);
    b.setLoc(user.loc);
    ir::Type type = v->type;
    type.place.device = need.device;
    Value* made = b.makeTyped(OpKind::Fill, {scalar}, {type}, {{"shape", type.shape}})->result();
    made->name = v->name;
    return made;
  }

  // ---- text

  /// Fills `@` holes in, and notes for the runtime which device each printed tensor came from.
  void deviceHoles(Op& op) {
    const size_t first = op.firstTextOperand();
    std::vector<std::string> pieces = op.stringsAttr("pieces"), formats = op.stringsAttr("formats");
    std::vector<std::string> devices;
    if (pieces.size() != formats.size() + 1) return;
    const std::vector<std::string>& lives = in_.printed[&op];  // an operand may be the host's copy by now
    for (size_t i = 0, source = first; i < formats.size(); ++source) {
      std::string device = shared_.devices.actual(lives[source]);
      if (formats[i] == "@") {
        pieces[i] += device + pieces[i + 1];
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        formats.erase(formats.begin() + static_cast<std::ptrdiff_t>(i));
        op.removeOperand(first + i);
        continue;
      }
      devices.push_back(std::move(device));
      ++i;
    }
    op.set("pieces", pieces);
    op.set("formats", formats);
    if (!devices.empty()) op.set("devices", devices);
  }

  Shared& shared_;
  Instance& in_;
};

}  // namespace

void rewrite(Shared& shared, Instance& instance) { Rewrite(shared, instance).run(); }

}  // namespace tenc::passes::placing
