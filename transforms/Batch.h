// vmap as a rewriting of IR: the ops of a function of one instance become ops over n instances at once, with a leading
// dim of n. A lane is a value of the one instance, an entry what stands for it. What no instance differs in stays as it
// is; draws are made once for all instances; branches and loops whose condition differs between instances run for all
// of them under a mask, with operands that cannot fault where it is false. Ops without a rule run one instance after
// the other.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/Ir.h"

namespace tenc::transforms {

/// Functions over n instances that were made of functions of one: equal layers share one.
class BatchedFuncs {
 public:
  struct Variant {
    ir::Func* func = nullptr;
    std::vector<bool> results;  ///< which results have the leading dim
  };
  /// Of `callee` over `n` instances, where `operands` says which have the leading dim, and of a mask at their end; null
  /// when there is none yet.
  const Variant* find(const ir::Func& callee, int64_t n, const std::vector<bool>& operands) const;
  const Variant& add(const ir::Func& callee, int64_t n, const std::vector<bool>& operands, Variant variant);
  /// Of the functions of a call with a rule of its own (`kRuleForward`).
  struct Rule {
    const ir::Func *primal = nullptr, *forward = nullptr, *backward = nullptr;
  };
  /// That of `callee`, to be set once. With a mask there is one more operand.
  Rule& rule(const ir::Func& callee, int64_t n, const std::vector<bool>& operands) {
    return rules_[{&callee, n, operands}];
  }
  /// Values of the program may live on several devices, from here on: masks go where they are wanted.
  void notePlaces();
  bool arePlaced() const { return placed_; }
  /// Functions that are taken out of the module again.
  void forget(const ir::Func& gone);

 private:
  using Key = std::tuple<const ir::Func*, int64_t, std::vector<bool>>;
  std::map<Key, Variant> variants_;
  std::map<Key, Rule> rules_;
  bool placed_ = false;
};

class Batcher {
 public:
  /// `fail` is told what cannot be batched, once, as E0105 or E0204.
  using Fail = std::function<void(const ir::Op& op, Code code, std::string why)>;
  Batcher(int64_t n, BatchedFuncs& functions, Fail fail)
      : n_(n), functions_(&functions), fail_(std::move(fail)), visited_(std::make_shared<size_t>(0)) {}

  /// Makes the body of `to` of that of `from`; `mask` says which parameters have the leading dim. Gives the same of the
  /// results; nothing after a failure. `masked`: the last parameter of `to`, bool [n], says which instances are here.
  std::optional<std::vector<bool>> function(const ir::Func& from, const std::vector<bool>& mask, ir::Func& to,
                                            bool masked = false);

 private:
  using Values = std::vector<ir::Value*>;
  struct Entry {
    ir::Value* value = nullptr;
    bool batched = false;       ///< has the leading dim of n
    ir::Value* home = nullptr;  ///< of what a branch reads under its mask: the value itself, which says where it lives
  };
  void bind(const ir::Value* lane, Entry e) {
    env_[lane] = e;
    if (e.batched && anchor_ == nullptr) anchor_ = e.value;
  }
  Entry entry(ir::Value* lane) const;
  /// The ops of a region, but not its terminator. False after a failure.
  bool body(const ir::Region& region);
  /// The value of a lane with its leading dim, repeated when all instances share it.
  ir::Value* batched(ir::Value* lane);
  bool visit(const ir::Op& op);
  bool refuse(const ir::Op& op, Code code, std::string why);
  void define(const ir::Op& op, size_t result, ir::Value* v, bool batched);
  void copy(const ir::Op& op);
  bool anyBatched(const ir::Op& op) const;
  /// What stands for the lanes that the op and its regions read and that no instance differs in.
  ir::ValueMap sharedBy(const ir::Op& op) const;

  // ---- one op (BatchRules.cpp)
  bool single(const ir::Op& op);
  void elementwise(const ir::Op& op, Values operands);
  /// All operands with their leading dim.
  Values allBatched(const ir::Op& op);
  /// Operands `from`.. as they are, with a leading dim or without.
  Values asTheyAre(const ir::Op& op, size_t from = 0);
  /// The same of operands of which only the place is asked for.
  Values homes(const ir::Op& op, size_t from = 0);
  /// `value`, which is that of `lane` with its leading dim, where the op takes it with `near`: what is a number without
  /// a device in each instance mixes with any.
  ir::Value* mixed(ir::Value* lane, ir::Value* value, ir::Value* near);
  /// [n] as [n, 1, ...] of so many dims.
  ir::Value* column(ir::Value* v, size_t rank);
  ir::Op* remake(const ir::Op& op, Values operands, const std::vector<ir::Builder::NamedAttr>& changed);
  void gather(const ir::Op& op);
  void scatter(const ir::Op& op);
  void random(const ir::Op& op);
  void reshape(const ir::Op& op);
  void slice(const ir::Op& op);
  void position(const ir::Op& op);
  void pad(const ir::Op& op);
  void dynamicSlice(const ir::Op& op);
  void dynamicUpdate(const ir::Op& op);
  /// Index operands `from`.. of the op as [n, ...] each, guarded.
  Values indices(const ir::Op& op, size_t from);
  /// Rank-0 starts along the axes, wrapped, as an index [n, size] for every axis, broadcast against each other.
  Values windows(const ir::Op& op, size_t from, const ir::Dims& axes, const ir::Dims& extents, const ir::Dims& sizes);
  ir::Module& module() const { return *b_->region()->func->module; }
  /// Indices along a dim, on the device of the first of `like` that is not free.
  ir::Value* iotaOn(const Values& like, const ir::Dims& shape, int64_t axis);
  /// `safe` where the mask is false: what an op that can fault gets there.
  ir::Value* guarded(ir::Value* batched, int64_t safe);
  bool oneByOne(const ir::Op& op);

  // ---- control flow (Batch.cpp)
  bool call(const ir::Op& op);
  bool ruled(const ir::Op& op, const ir::Func& callee);
  /// `callee` over n instances as a function of the module. `given` says which results have the leading dim: what has
  /// none gets it, and what shall have none is summed over the instances. Under a mask that is its last parameter. Null
  /// after a failure.
  ir::Func* variantThatGives(const ir::Func& callee, const std::vector<bool>& operands, const std::vector<bool>& given);
  bool placed(const ir::Op& op);
  bool branch(const ir::Op& op);
  bool select(const ir::Op& op, ir::Value* condition);
  bool counted(const ir::Op& op);
  bool whileLoop(const ir::Op& op);
  /// A loop that goes on for an instance while `next` gives true for its carried values.
  struct Trip {
    std::function<ir::Value*()> condition;  ///< batched bool [n] of what is bound now; null after a failure
    std::function<bool(Values&)> body;      ///< carried values after a trip, batched
  };
  bool maskedLoop(const ir::Op& op, Values carried, const std::function<void(const Values&)>& bindCarried,
                  const Trip& trip, size_t firstResult);
  ir::Value* both(ir::Value* a, ir::Value* b);
  ir::Value* choose(ir::Value* mask, ir::Value* yes, ir::Value* no);
  /// The mask where `v` lives: a condition may have been computed elsewhere.
  ir::Value* meeting(ir::Value* mask, ir::Value* v);
  /// `v`, or where it is one bool for each instance, that beside `near`: conditions on several devices meet, as the
  /// host reads them.
  ir::Value* decisionNear(ir::Value* v, ir::Value* near);
  /// As `batched`, for what a loop carries: a number gets the device of the others.
  ir::Value* carriedIn(ir::Value* lane);
  bool inside(ir::Region* region, const std::function<bool()>& f);

  ir::Builder* b_ = nullptr;  ///< of the function that is made
  int64_t n_;
  BatchedFuncs* functions_;
  Fail fail_;
  bool failed_ = false;
  std::unordered_map<const ir::Value*, Entry> env_;
  ir::Value* anchor_ = nullptr;      ///< the first batched value: what loops carry lives where it does
  bool moves_ = false;               ///< values of several devices meet: then it lives where what it meets does
  ir::Value* mask_ = nullptr;        ///< bool [n]: the instances that are here; null for all
  std::shared_ptr<size_t> visited_;  ///< ops, also in functions below
};

/// Whether what one instance computes is made of constants and of what loops count alone: a number that has no device.
bool isCounted(const ir::Value& lane);

/// A function over n instances, and which of its results have the leading dim.
struct Batched {
  std::unique_ptr<ir::Func> func;
  std::vector<bool> results;
};
/// `f` over `n` instances, where `mask` says which parameters have the leading dim. Nothing after a failure.
std::optional<Batched> batch(const ir::Func& f, const std::vector<bool>& mask, int64_t n, BatchedFuncs& functions,
                             const Batcher::Fail& fail);

}  // namespace tenc::transforms
