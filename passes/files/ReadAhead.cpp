// Reading ahead. A load in the body of a loop whose path can be computed before the trip begins is read in the
// background while the trip before runs:
//
//   %a0 = read_ahead %has_first, path of the first trip
//   %r = for ..., %a0 { (%i, ..., %a)
//     %b = load %a, path               waits for what was begun, and reads what was not, or could not be
//     %n = read_ahead %has_next, path of the next trip
//     ...
//     yield ..., %n
//   }
//   end_read_ahead %r                  of a loop that was left early
//
// So there are two buffers, which the loop exchanges, and both are part of the memory plan. Errors are the load's.
#include <algorithm>

#include "ir/Loops.h"
#include "passes/Passes.h"
#include "passes/files/Declined.h"
#include "passes/files/RowsAhead.h"
#include "passes/files/Trips.h"

namespace tenc::passes {
namespace {

using namespace ir;

/// Whether all that is read of a tensor are parts of it. Where it is mapped, no more than these are read from the file.
bool isReadInParts(const Value& v) {
  return std::all_of(v.uses.begin(), v.uses.end(), [](const Value::Use& use) {
    const Op& user = *use.user;
    const bool part = user.has(Trait::Gathers) || user.kind == OpKind::Slice || user.kind == OpKind::ReadRows;
    return part && use.operand == 0 && user.result()->type.bytes() < user.operand(0)->type.bytes();
  });
}

class Ahead {
 public:
  explicit Ahead(const Context& c) : c_(c) {}

  void region(Region& r) {
    for (auto it = r.ops.begin(); it != r.ops.end();) {
      Op& op = **it++;
      for (const auto& inner : op.regions) region(*inner);
      if (isLoop(op)) loop(op);
    }
  }

 private:
  void loop(Op& loop) {
    std::vector<Op*> loads;
    for (const auto& r : loop.regions) loadsIn(*r, loads);
    for (Op* load : loads) {
      const std::string_view why = reasonNot(loop, *load);
      if (why.empty())
        bringForward(loop, *load);
      else
        declineReadAhead(c_, *load, why);
    }
  }

  /// Those that are in no other loop.
  static void loadsIn(const Region& r, std::vector<Op*>& loads) {
    for (const auto& op : r.ops) {
      if (op->kind == OpKind::Load) loads.push_back(op.get());
      for (const auto& inner : op->regions)
        if (!isLoop(*op)) loadsIn(*inner, loads);
    }
  }

  /// Why a file is not read ahead, or nothing.
  std::string_view reasonNot(Op& loop, const Op& load) const {
    if (!c_.readAhead) return "this is switched off";
    if (load.parent != loop.regions.back().get()) return "only some trips may want it";
    if (load.stringsAttr("formats").empty()) return "its path is the same in every trip";
    if (load.firstTextOperand() > 0) return "it is already";
    if (load.result()->type.bytes() == 0) return "it has no elements";
    if (isReadInParts(*load.result())) return "the trip reads only parts of it";
    if (!Trips(loop, *std::next(load.self)->get()).areKnown(load.operands()))
      return "its path follows from what the trip before computes";
    return {};
  }

  static bool isOnHost(const Op& op) {
    const auto is = [](const Type& t) { return t.place.isFree() || t.place.device == DeviceTable::kHost; };
    return op.regions.empty() && !op.has(Trait::Terminator) &&
           std::all_of(op.operands().begin(), op.operands().end(), [&](const Value* v) { return is(v->type); }) &&
           std::all_of(op.results.begin(), op.results.end(), [&](const auto& r) { return is(r->type); });
  }

  /// Copies of it to devices come first, where only the host works before them: they are under way while it does, and
  /// while the copy of the trip before, whose memory is read into next, is waited for. Returns what follows.
  static Op* copyAtOnce(Op& load) {
    Op* following = std::next(load.self)->get();
    for (auto it = std::next(load.self); it != load.parent->ops.end();) {
      Op& op = **it++;
      const bool copies = op.kind == OpKind::Transfer && op.operand(0) == load.result();
      if (!copies && !isOnHost(op)) break;
      if (copies && &op != following)
        op.moveBefore(following);
      else if (copies)
        following = it->get();
    }
    return following;
  }

  static void bringForward(Op& loop, Op& load) {
    Op* const following = copyAtOnce(load);
    Trips trips(loop, *following);
    const std::vector<Value*> path = load.operands();
    std::vector<Value*> first = {trips.hasFirst()}, next = {trips.hasNext()};
    for (Value* v : path) first.push_back(trips.first(v)), next.push_back(trips.next(v));

    Region& body = *loop.regions.back();
    const std::string name = load.result()->name.empty() ? "" : load.result()->name + "_ahead";
    Value* begun = begin(loop, load, first, name);
    loop.addOperand(begun);
    Value* taken = nullptr;
    for (const auto& r : loop.regions) taken = r->addArg(begun->type, name);
    Value* left = loop.addResult(begun->type, name);
    body.terminator()->addOperand(begin(*following, load, next, name));

    load.dropOperands();
    load.addOperand(taken);
    load.addOperands(path);
    Builder after(std::next(loop.self)->get());
    after.setLoc(load.loc);
    after.make(OpKind::EndReadAhead, {left});
  }

  static Value* begin(Op& before, const Op& load, std::vector<Value*> operands, const std::string& name) {
    Builder b(&before);
    b.setLoc(load.loc);
    Type type = load.result()->type;
    type.place = {std::string(DeviceTable::kHost)};
    Op* op = b.makeTyped(OpKind::ReadAhead, std::move(operands), {type});
    for (const auto& [attr, value] : load.attrs()) op->set(attr, value);
    op->result()->name = name;
    return op->result();
  }

  const Context& c_;
};

class InTime {
 public:
  explicit InTime(const Context& c) : c_(c) {}

  void region(Region& r) {
    for (const auto& op : r.ops) {
      for (const auto& inner : op->regions) region(*inner);
      if (isLoop(*op)) loop(*op);
    }
  }

 private:
  void loop(Op& loop) const {
    const size_t first = firstCarriedOperand(loop), lead = firstCarriedArg(loop);
    for (size_t i = loop.results.size(); i-- > 0;) {
      Op* begun = loop.operand(first + i)->op;
      if (!begun || begun->kind != OpKind::ReadAhead) continue;
      while (!loop.result(i)->unused()) loop.result(i)->uses.front().user->erase();
      Op* yield = loop.regions.back()->terminator();
      Op* next = yield->operand(i)->op;
      Value* taken = loop.regions.back()->args[lead + i].get();
      while (!taken->unused()) {
        Op& load = *taken->uses.front().user;
        load.removeOperand(0);
        declineReadAhead(c_, load, "there is no memory for a second buffer");
      }
      yield->removeOperand(i);
      loop.removeOperand(first + i);
      loop.removeResult(static_cast<uint32_t>(i));
      for (const auto& r : loop.regions) r->removeArg(static_cast<uint32_t>(lead + i));
      next->erase();
      begun->erase();
    }
  }

  const Context& c_;
};

}  // namespace

bool readAhead(Module& m, Context& c) {
  for (const auto& f : m.funcs) {
    Ahead(c).region(*f->body);
    if (c.readAhead) bringRowsIn(*f->body, c);
  }
  return true;
}

bool loadInTime(Module& m, Context& c) {
  for (const auto& f : m.funcs) InTime(c).region(*f->body);
  return true;
}

}  // namespace tenc::passes
