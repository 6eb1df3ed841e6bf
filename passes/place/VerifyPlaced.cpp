// Checks what placement promises to every later pass: no op mixes devices, only `transfer` moves, nothing is left to
// place, and every value of rank 1 or more is on some device.
#include "ir/Loops.h"
#include "passes/Passes.h"
#include "support/InternalError.h"

namespace tenc::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Trait;

/// Only rank-0 values are free (P3).
bool isNowhere(const ir::Type& t) { return t.place.isFree() && !t.shape.empty(); }

bool agree(const ir::Type& a, const ir::Type& b) { return mixes(a) || mixes(b) || a.place == b.place; }

class Checker {
 public:
  explicit Checker(const ir::Module& m) : module_(m) {}

  std::string run() {
    for (const auto& f : module_.funcs) region(*f->body);
    return wrong_;
  }

 private:
  void fail(const Op& op, const std::string& what) {
    if (wrong_.empty())
      wrong_ = "`" + std::string(op.info().mnemonic) + "` in " + op.func()->name + madeBy(op) + ": " + what;
  }

  void region(const ir::Region& r) {
    for (const auto& arg : r.args)
      if (isNowhere(arg->type)) fail(*r.ops.back(), "an argument of its region, a tensor, is on no device");
    for (const auto& op : r.ops) {
      for (const auto& result : op->results)
        if (isNowhere(result->type)) fail(*op, "makes a tensor that is on no device");
      check(*op);
      const bool outside = inKernel_;
      inKernel_ = inKernel_ || op->kind == OpKind::Fused;
      for (const auto& inner : op->regions) region(*inner);
      inKernel_ = outside;
    }
  }

  /// A carried value, a result and what is yielded for it share one place; a free value may start what stays free.
  void same(const Op& op, const ir::Value* to, const ir::Value* from) {
    const bool bothMix = (mixes(to->type) && mixes(from->type)) || (inKernel_ && to->type.shape.empty());
    if (!bothMix && !(to->type.place == from->type.place))
      fail(op, "a value on '" + from->type.place.device + "' where one on '" + to->type.place.device + "' is expected");
  }

  /// Control that a device decides is its alone, as are the numbers that come of it.
  void decided(const Op& op, const ir::Value& condition) {
    for (const auto& r : op.results)
      if (!(r->type.place == condition.type.place)) fail(op, "the device that decides it has not all results");
    for (const auto& r : op.regions) alone(op, *r, condition.type.place);
  }
  void alone(const Op& control, const ir::Region& region, const ir::Placement& place) {
    for (const auto& op : region.ops) {
      if (op->has(Trait::HasSideEffect) || op->has(Trait::HostEffect) || op->kind == OpKind::Load ||
          op->kind == OpKind::Transfer)
        fail(control, "decided on '" + place.device + "', with `" + std::string(op->info().mnemonic) + "` in it");
      for (const auto& r : op->results)
        if (!mixes(r->type) && !(r->type.place == place))
          fail(control, "decided on '" + place.device + "', with work of '" + r->type.place.device + "' in it");
      for (const auto& inner : op->regions) alone(control, *inner, place);
    }
  }

  void check(const Op& op) {
    if (op.has(Trait::Placing)) return fail(op, "not removed by placement");
    switch (op.kind) {
      case OpKind::Transfer:
      case OpKind::Fused:
      case OpKind::Return:
      case OpKind::Yield:
      case OpKind::Bench: return;
      case OpKind::Call: {
        const ir::Func* callee = module_.find(op.stringAttr("callee"));
        if (!callee) return fail(op, "unknown function");
        for (size_t i = 0; i < op.operandCount() && i < callee->body->args.size(); ++i)
          same(op, callee->body->args[i].get(), op.operand(i));
        return;
      }
      case OpKind::For:
      case OpKind::While: {
        const size_t first = ir::firstCarriedOperand(op), lead = ir::firstCarriedArg(op);
        if (op.kind == OpKind::While && !inKernel_)
          if (const ir::Value* goesOn = op.regions[0]->terminator()->operand(0); !mixes(goesOn->type))
            decided(op, *goesOn);
        const ir::Region& body = *op.regions.back();
        for (size_t k = 0; k < op.results.size(); ++k) {
          same(op, body.args[lead + k].get(), op.operand(first + k));
          same(op, body.args[lead + k].get(), body.terminator()->operand(k));
          same(op, body.args[lead + k].get(), op.result(k));
        }
        return;
      }
      case OpKind::If:
        for (const auto& r : op.regions)
          for (size_t k = 0; k < op.results.size(); ++k) same(op, op.result(k), r->terminator()->operand(k));
        if (!inKernel_ && !mixes(op.operand(0)->type)) decided(op, *op.operand(0));
        return;
      default: break;
    }
    if (op.kind == OpKind::Condition) return;  // the loop's, or the kernel's
    if (op.has(Trait::HostEffect) || op.kind == OpKind::Load) {
      for (const ir::Value* v : op.operands())
        if (!mixes(v->type) && v->type.place.device != ir::DeviceTable::kHost)
          fail(op, "reads '" + v->type.place.device + "' from the host");
      return;
    }
    const ir::Value* placed = nullptr;
    for (const ir::Value* v : op.operands()) {
      if (mixes(v->type)) continue;
      if (placed && !agree(placed->type, v->type))
        fail(op, "operands on '" + placed->type.place.device + "' and '" + v->type.place.device + "'");
      placed = v;
    }
    // A number that is made of a free tensor is free where that was made on the host.
    const auto isHostNumber = [&](const ir::Value& v) {
      return mixes(v.type) && placed->type.place.device == ir::DeviceTable::kHost;
    };
    for (const auto& r : op.results) {
      if (placed && !(r->type.place == placed->type.place) && !isHostNumber(*r))
        fail(op, "the result is not where the operands are");
    }
  }

  const ir::Module& module_;
  std::string wrong_;
  bool inKernel_ = false;  ///< in a fused op
};

}  // namespace

bool verifyPlaced(ir::Module& m, Context&) {
  std::string wrong = Checker(m).run();
  if (wrong.empty()) return true;
  throw InternalError("placement is wrong: " + wrong);
}

}  // namespace tenc::passes
