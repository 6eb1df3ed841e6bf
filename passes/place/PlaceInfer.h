// Private to the walk that decides where every value lives. Ops are in PlaceInfer.cpp, annotations, moves and checks in
// PlaceAnnotations.cpp, loops and branches in PlaceControl.cpp, calls and signatures in PlaceCalls.cpp.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "passes/place/Place.h"

namespace tenc::passes::placing {

using ir::Cause;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

/// One walk over a function in program order. It sets Type::place of every value, notes the moves that operands need
/// and the errors, and changes nothing else, so loops can be walked again until what they carry is settled (a rank-0
/// `var` that starts free takes the first place assigned to it, P3).
class Inference {
 public:
  Inference(Shared& shared, Instance& instance) : shared_(shared), in_(instance), report_(shared, instance) {}

  void run();

 private:
  // ---- small helpers

  /// The place of an operand at this point of the program: its own, or that of the `on` that it enters.
  struct Seen {
    std::string device;
    bool entered = false;
  };

  ValueInfo& info(const Value* v) { return in_.info[v]; }
  const std::string& deviceOf(const Op* on) { return in_.devices[on]; }
  std::string ambient() { return on_ ? deviceOf(on_) : in_.own; }

  static std::string placeOf(const Value* v) { return v->type.place.device; }

  Seen seen(const Value* v);
  /// Whether what is seen here is a number of the host (P3), which mixes with any device: also one that enters a block
  /// of the host.
  bool mixesHere(const Value* v);

  /// The outermost `on` of the current one's device that the value enters on the way here.
  Op* entryOf(const Value* v);
  void need(const Op& op, size_t operand, std::string device, Cause cause, Op* entry = nullptr);

  /// Uses operand `i` here; what lies outside the current `on` moves in (P4 b). Returns where it is then.
  std::string use(const Op& op, size_t i);

  /// A host read: the value is seen where it lives and moves to the host when it is elsewhere (P4 d).
  void hostRead(const Op& op, size_t i, Cause cause);

  void fail(const Op& op, Diagnostic d) { in_.errors[&op].push_back(report_.toldAtCall(std::move(d))); }

  ValueInfo& set(Value* v, std::string place, Why why, const Value* from = nullptr, const Op* cause = nullptr);
  void poison(Op& op);

  /// Whether the value follows from a tensor that a loop carries and that no trip has given a place yet: where it is
  /// will be known in the next round.
  bool isOpen(const Value* v) const { return v->type.place.isFree() && open_.contains(v); }
  void setOpen(Value* v);
  /// Of an op, all that it makes: it stands for a place that is open.
  void setOpen(Op& op);

  /// The device that an attribute names ("$D" through the instance), checked to be there once per op.
  std::string resolve(const Op& op, const std::string& name);

  /// The device of `on`, `to` and `device_eq` operand form: where the value lives, the host for free values.
  std::string deviceOfValue(const Value* v) { return v->type.place.isFree() ? std::string(kHost) : placeOf(v); }

  std::string annotated(const Op& op, size_t valueOperand);

  // ---- agreement of operands

  struct Agreement {
    std::string device;
    const Value* from = nullptr;
    bool failed = false;
    bool anyHostScalar = false;
  };

  /// The one device of the placed operands among [first, count).
  Agreement agree(const Op& op);
  void created(Op& op);
  /// A tensor of free values alone: created here, unless a derivative or `vmap` makes it.
  void made(Op& op);
  /// Whether it is a result of such an op, or starts as one.
  static bool isOfDerivative(const Value& v);
  /// Where such an op makes a tensor of free values: where that is used. Empty as long as that is not known.
  std::optional<std::string> derivedPlace(Op& op);

  /// An op that runs where its operands live (P2).
  void plain(Op& op);

  /// A kernel of IR that was read as text: what it holds runs where it does.
  void fused(Op& op);

  /// Bools that follow from device comparisons are compile-time values.
  void foldBool(Op& op);

  // ---- ops

  void region(Region& r);
  void visit(Op& op);
  void constant(Op& op);
  void free(Op& op);
  void on(Op& op);
  void to(Op& op);
  void checkPlace(Op& op);
  void samePlace(Op& op);
  void onePlace(Op& op);
  /// Notes what the condition of a branch that was lowered alone is here.
  void decidedBranch(Op& op);
  void deviceEq(Op& op);

  /// A device that is only compared need not be there.
  std::string comparedDevice(const std::string& name);

  /// Transfers that are in the IR already (placed text read back) keep the place of their type.
  void transfer(Op& op);
  void hostEffect(Op& op);

  /// Whether a device comparison is among what the bool is computed from.
  bool followsFromDevices(const Value* v);
  /// The value of a bool that follows from device comparisons, here or in the caller.
  std::optional<bool> knownBool(const Value* v) {
    return info(v).constant && followsFromDevices(v) ? info(v).constant : std::nullopt;
  }
  void bench(Op& op);

  // ---- control flow

  struct Carried {
    bool outerVar;  ///< a `var` bound outside the current `on`: seen where it lives
    Op* scope;
  };

  /// For and while: `first` operands before the carried ones, `lead` region arguments before them.
  void loop(Op& op, size_t first, size_t lead);

  /// Carried tensors that no trip has given a place are made where the body uses them; true when there was one.
  bool placeCarried(Op& op, size_t lead);
  /// Behind a walk: the places of what is made of free values alone, by what uses them.
  void mergeKnown();
  /// The devices of what is made of a value that has no place, as far as they are known.
  std::set<std::string> placesOfUsers(const Value& v);
  /// That device, if there is one; else the one here.
  std::string placeOfUsers(const Value& v);
  /// What ops make of a value; of what leaves a region or enters a loop, the value that it is then. Not free numbers.
  static void eachMade(const Value& v, const std::function<void(const Value&)>& made);

  /// One walk over the loop; true when a carried value got a place, so that the body must be seen again.
  bool loopRound(Op& op, size_t first, size_t lead);
  void branch(Op& op);

  /// The place of result `k` of an `if` whose branches yield values at `at`.
  std::string branchPlace(Op& op, const Op* const (&yields)[2], size_t k, const std::string (&at)[2]);

  /// The condition is a compile-time value: only one branch exists.
  void takenBranch(Op& op, bool condition);

  // ---- functions (P6)

  void call(Op& op);
  static std::string signaturePlace(const std::vector<std::string>& places, size_t i);

  /// The device that a signature wants, once its device variables are bound.
  std::string expected(const std::vector<std::string>& places, size_t i, const Instance& at);

  /// Binds the callee's own device and device variables from the arguments and checks those with named devices.
  bool bindDevices(Op& op, const ir::Func& callee, Instance& seed);
  void returned(Op& op);

  Shared& shared_;
  Instance& in_;
  Reporter report_;
  /// Whether it was reported already that two of them are on different devices: leaves of one struct, values of a list.
  bool reportedApart(const std::vector<Reporter::Operand>& operands) const;

  Op* on_ = nullptr;
  std::unordered_map<const Value*, std::vector<const Op*>> apart_;  ///< by leaf: the `one_place` that failed
  std::unordered_set<const Value*> open_;
  std::unordered_map<const Value*, std::string> merged_;  ///< tensors that are made of numbers alone
  std::vector<const Value*> unmerged_;                    ///< those whose place the next walk knows
  std::unordered_map<const Op*, Op*> enclosing_;          ///< the next `on` outward of each
};

}  // namespace tenc::passes::placing
