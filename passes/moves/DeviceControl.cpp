// `device-control`: a loop or a branch in a loop that is of one device alone, but for numbers, is decided there: what
// it branches on is not moved to the host, which would be a move a trip and a wait for it. Numbers that depend on such
// a condition live on the device, too; what the host reads of them comes back once, behind the loop.
#include <algorithm>
#include <unordered_set>

#include "ir/Draws.h"
#include "ir/Loops.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

bool decides(const Value::Use& use) { return use.user->kind == OpKind::If || use.user->kind == OpKind::Condition; }

class DeviceControl {
 public:
  explicit DeviceControl(Op& root) : root_(root), module_(*root.func()->module) {}

  /// False, and nothing is changed, where it may not be.
  bool run() {
    if (root_.kind == OpKind::If && !collectCondition()) return false;
    for (const auto& r : root_.regions)
      if (!collect(*r)) return false;
    if (moves_.empty() || module_.actual(device_) == ir::DeviceTable::kHost) return false;
    spreadAll();
    if (!fits(root_, false) || (root_.kind == OpKind::If && handsOut())) return false;
    if (drawsThere_) carryDraws();
    const ir::Loc loc = moves_[0]->loc;
    const std::string cause = moves_[0]->stringAttr("cause");
    apply();
    bringBack(loc, cause);
    return true;
  }

 private:
  /// The moves; false where one is for something else, or of another device.
  bool collect(const Region& region) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::Transfer && !collectMove(*op)) return false;
      if (op->kind == OpKind::Fused) continue;
      for (const auto& inner : op->regions)
        if (!collect(*inner)) return false;
    }
    return true;
  }

  bool collectMove(Op& move) {
    const Value* v = move.result();
    if (v->unused() || !std::all_of(v->uses.begin(), v->uses.end(), decides)) return false;
    const std::string& from = move.operand(0)->type.place.device;
    if (!moves_.empty() && from != device_) return false;
    device_ = from;
    moves_.push_back(&move);
    numbers_.insert(v);
    return true;
  }
  /// What a branch goes by is moved in front of it; for itself alone, or it stays a move.
  bool collectCondition() {
    Op* move = root_.operand(0)->op;
    return move == nullptr || move->kind != OpKind::Transfer || move->result()->uses.size() > 1 || collectMove(*move);
  }

  bool isOn(const Value* v) const { return v->type.place.device == device_ || numbers_.contains(v); }

  // ---- which numbers depend on a condition of the device

  void put(const Value* v) {
    if (mixes(v->type) && v->type.rank() == 0 && numbers_.insert(v).second) changed_ = true;
  }

  void spreadAll() {
    for (changed_ = true; changed_;) {
      changed_ = false;
      spread(root_);
    }
  }

  void spread(const Op& op) {
    if (op.kind != OpKind::Fused)
      for (const auto& r : op.regions)
        for (const auto& inner : r->ops) spread(*inner);
    if (ir::isLoop(op)) return spreadCarried(op);
    if (op.kind == OpKind::If) {
      for (size_t k = 0; k < op.results.size(); ++k)
        if (isOn(op.operand(0)) || isOn(op.regions[0]->terminator()->operand(k)) ||
            isOn(op.regions[1]->terminator()->operand(k)))
          put(op.result(k));
      return;
    }
    if (op.has(Trait::Terminator) ||
        !std::any_of(op.operands().begin(), op.operands().end(), [&](const Value* v) { return isOn(v); }))
      return;
    for (const auto& r : op.results) put(r.get());
  }

  void spreadCarried(const Op& loop) {
    const bool decided = loop.kind == OpKind::While && isOn(loop.regions[0]->terminator()->operand(0));
    const Op& yield = *loop.regions.back()->terminator();
    const size_t lead = ir::firstCarriedArg(loop);
    for (size_t k = 0; k < loop.results.size(); ++k) {
      if (!decided && !isOn(loop.operand(ir::firstCarriedOperand(loop) + k)) && !isOn(yield.operand(k))) continue;
      put(loop.result(k));
      for (const auto& r : loop.regions) put(r->args[lead + k].get());
    }
  }

  // ---- whether the device can do it

  /// `decided`: the device alone knows whether the op runs.
  bool fits(const Op& op, bool decided) {
    if (op.kind == OpKind::Transfer) return numbers_.contains(op.result());
    if (op.kind == OpKind::RngNext) return !decided || takesDraw(op);
    if (op.has(Trait::HasSideEffect) || op.has(Trait::HostEffect) || op.kind == OpKind::Load || op.kind == OpKind::Call)
      return false;
    const auto isHere = [&](const Value* v) { return isOn(v) || (mixes(v->type) && v->type.rank() == 0); };
    if (!std::all_of(op.operands().begin(), op.operands().end(), isHere) ||
        !std::all_of(op.results.begin(), op.results.end(), [&](const auto& r) { return isHere(r.get()); }))
      return false;
    // What the host computes, it computes before it is known whether it is wanted.
    if (decided && op.has(Trait::CanFault) && !op.results.empty() && !isOn(op.result())) return false;
    if (op.kind == OpKind::Fused) return true;
    if (op.kind == OpKind::For)
      for (size_t i = 0; i < ir::firstCarriedOperand(op); ++i)
        if (isOn(op.operand(i))) return false;
    decided = decided || (op.kind == OpKind::If && isOn(op.operand(0))) ||
              (op.kind == OpKind::While && isOn(op.regions[0]->terminator()->operand(0)));
    return std::all_of(op.regions.begin(), op.regions.end(), [&](const auto& r) {
      return std::all_of(r->ops.begin(), r->ops.end(), [&](const auto& inner) { return fits(*inner, decided); });
    });
  }

  /// Whether the count of draws may be a number of the device. It comes back: behind a branch that would be a move each
  /// time that it runs. What a condition draws is not carried.
  bool takesDraw(const Op& draw) {
    if (root_.kind == OpKind::If) return false;
    for (const Op* at = &draw; at != &root_; at = at->parent->parentOp)
      if (at->parent->terminator()->kind == OpKind::Condition) return false;
    return drawsThere_ = true;
  }

  /// Whether numbers would come back, each time that it runs.
  bool handsOut() const {
    return std::any_of(root_.results.begin(), root_.results.end(),
                       [&](const auto& r) { return numbers_.contains(r.get()) && !r->unused(); });
  }

  // ---- changes

  /// The count of draws becomes a number that the device has, and the state of the host follows behind the loop.
  void carryDraws() {
    const ir::Type u64{ir::DType::U64, {}, {}};
    ir::Builder before(&root_);
    before.setLoc(root_.loc);
    const Op* state = before.makeTyped(OpKind::RngNext, {}, {u64, u64}, {{"peek", true}});
    Value* count = ir::DrawThreading().through(root_, state->result(0), state->result(1));
    ir::Builder behind(std::next(root_.self)->get());
    behind.setLoc(root_.loc);
    behind.make(OpKind::Seed, {state->result(0), count});
    spreadAll();
  }

  /// Kernels that were formed before get these numbers of the device as such, and not by value.
  void handOver(const Op& op) {
    for (const auto& r : op.regions) {
      if (op.kind != OpKind::Fused) {
        for (const auto& inner : r->ops) handOver(*inner);
        continue;
      }
      for (size_t i = 0; i < r->args.size(); ++i)
        if (op.operand(i)->type.rank() == 0 && op.operand(i)->type.place.device == device_)
          r->args[i]->type.place.device = device_;
    }
  }

  void apply() {
    for (Op* move : moves_) {
      numbers_.erase(move->result());
      move->result()->replaceAllUsesWith(move->operand(0));
      move->erase();
    }
    for (const Value* v : numbers_) const_cast<Value*>(v)->type.place.device = device_;
    handOver(root_);
    fill(root_);
  }

  /// Numbers of the host that a loop begins with, or that are yielded, where they are expected on the device.
  void fill(Op& op) {
    if (op.kind == OpKind::Fused) return;
    const size_t lead = ir::isLoop(op) ? ir::firstCarriedOperand(op) : 0;
    for (size_t k = 0; k < op.results.size() && (ir::isLoop(op) || op.kind == OpKind::If); ++k) {
      if (op.result(k)->type.place.device != device_) continue;
      if (ir::isLoop(op)) make(op, lead + k);
      for (const auto& r : op.regions)
        if (r->terminator()->kind == OpKind::Yield) make(*r->terminator(), k);
    }
    for (const auto& r : op.regions)
      for (const auto& inner : r->ops) fill(*inner);
  }
  void make(Op& user, size_t operand) {
    Value* number = user.operand(operand);
    if (!mixes(number->type)) return;
    ir::Builder b(&user);
    b.setLoc(user.loc);
    ir::Type there = number->type;
    there.place.device = device_;
    Op* made = b.makeTyped(OpKind::Fill, {number}, {there}, {{"shape", ir::Dims{}}});
    made->result()->name = number->name;
    user.setOperand(operand, made->result());
  }

  void bringBack(const ir::Loc& loc, const std::string& cause) {
    for (const auto& result : root_.results) {
      if (!numbers_.contains(result.get())) continue;
      Op* move = nullptr;
      const std::vector<Value::Use> uses = result->uses;
      for (const Value::Use& use : uses) {
        if (readsThere(*use.user)) continue;
        if (move == nullptr) move = moveBack(*result, loc, cause);
        use.user->setOperand(use.operand, move->result());
      }
    }
  }
  /// Whether the user is of the device anyway.
  bool readsThere(const Op& user) const {
    return !user.results.empty() && user.regions.empty() && user.kind != OpKind::Transfer &&
           std::all_of(user.results.begin(), user.results.end(),
                       [&](const auto& r) { return r->type.place.device == device_; });
  }
  Op* moveBack(Value& number, const ir::Loc& loc, const std::string& cause) {
    ir::Builder b(std::next(root_.self)->get());
    b.setLoc(loc);
    ir::Type back = number.type;
    back.place.device = ir::DeviceTable::kHost;
    Op* move = b.makeTyped(OpKind::Transfer, {&number}, {back}, {{"cause", cause}});
    move->result()->name = number.name;
    return move;
  }

  Op& root_;
  const ir::Module& module_;
  std::string device_;
  std::vector<Op*> moves_;
  bool drawsThere_ = false;                   ///< whether the device alone knows how many draws there are
  std::unordered_set<const Value*> numbers_;  ///< that the host had, and the device is to have
  bool changed_ = false;
};

void visit(Region& region, bool inLoop) {
  std::vector<Op*> ops;
  for (const auto& op : region.ops)
    if (op->kind != OpKind::Fused && !op->regions.empty()) ops.push_back(op.get());
  for (Op* op : ops) {
    const bool isLoop = ir::isLoop(*op);
    if ((isLoop || (inLoop && op->kind == OpKind::If)) && DeviceControl(*op).run()) continue;
    for (const auto& inner : op->regions) visit(*inner, inLoop || isLoop);
  }
}

}  // namespace

bool deviceControl(ir::Module& m, Context&) {
  for (const auto& f : m.funcs)
    if (f->body) visit(*f->body, false);
  return true;
}

}  // namespace tenc::passes
