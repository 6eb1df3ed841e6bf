// What forward and reverse mode share: a walk over a function that makes its ops anew, and ops on tangents beside them.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transforms/Activity.h"
#include "transforms/Functions.h"
#include "transforms/Origin.h"

namespace tenc::transforms {

/// Told of an op that cannot be differentiated, once.
struct Obstacle {
  enum class Kind : uint8_t {
    NoDerivative,   ///< `why` has none; `help` says what has (E0402)
    UnknownTrips,   ///< `why` is a loop that reverse mode cannot go through (E0403)
    ForwardOfRule,  ///< a rule of the program for reverse mode alone (E0406)
    TooLarge,       ///< the derivatives of the program have become too large (E0105)
    CaptureOfRule,  ///< such a rule reads `why`, a value that is differentiated and no argument of it (E0405)
  };
  const ir::Op* op = nullptr;
  Kind kind = Kind::NoDerivative;
  std::string why;
  std::string help{};
  /// The calls that lead to it, the innermost first.
  struct Call {
    std::string signature;  ///< of the function that is called
    ir::Loc loc;
  };
  std::vector<Call> calls{};
};

struct TangentCall;

class Walk {
 public:
  using Values = std::vector<ir::Value*>;
  virtual ~Walk() = default;

 protected:
  /// Derivatives of derivatives grow by a factor each time: so many ops are differentiated in a program.
  static constexpr size_t kMostOps = 500'000;

  /// Primal ops are made at `primal`, those on tangents at `tangent`; the same builder in forward mode. `visited`
  /// counts the ops of all walks.
  Walk(std::shared_ptr<const Activity> activity, ir::Builder& primal, ir::Builder& tangent, size_t& visited)
      : activity_(std::move(activity)), p_(&primal), t_(&tangent), visited_(visited) {
    constexpr size_t kPerFunc = 50;  // what a function takes beside its ops
    visited_ += kPerFunc;
  }

  /// The ops of a region, but not its terminator. False after an obstacle.
  bool body(const ir::Region& region);
  ir::Value* primalOf(ir::Value* v) const;
  Values primalsOf(const Values& values) const;
  /// Null: zero.
  ir::Value* tangentOf(const ir::Value* v) const;
  /// The tangent of an operand of `op`, where the rule of the op wants it.
  virtual ir::Value* tangentFor(const ir::Op&, ir::Value* v) { return tangentOf(v); }
  /// Zeros where there is none.
  ir::Value* wholeTangent(ir::Value* v);
  /// Tangents of those that are active, zeros where they have none.
  Values activeTangents(const Values& values);
  void define(const ir::Value* original, ir::Value* primal) { primal_[original] = primal; }
  void defineTangent(const ir::Value* original, ir::Value* tangent) { tangent_[original] = tangent; }
  bool isActive(const ir::Value* v) const { return activity_->contains(v); }
  bool refuse(Obstacle o);
  /// The same of a call of `callee`, which has met the obstacle.
  bool refuseIn(const ir::Func& callee, const ir::Op& call);
  /// An argument of a new region for `v` of the original one; and one for its tangent, if it is active.
  void addArg(ir::Region& region, const ir::Value* v);
  void addTangentArg(ir::Region& region, const ir::Value* v);
  /// With builders that stand at the end of these regions.
  bool inside(ir::Region* primal, ir::Region* tangent, const std::function<bool()>& f);
  ir::Op* copy(const ir::Op& op);
  ir::Module& module() const { return *p_->region()->func->module; }

  virtual bool loop(const ir::Op& op) = 0;
  virtual bool branch(const ir::Op& op) = 0;
  virtual bool placed(const ir::Op& op) = 0;
  virtual bool call(const ir::Op& op) = 0;
  /// Tangents of the results of an op with a rule, some of whose operands have one.
  virtual void tangents(TangentCall& c);
  /// `to` and its kin, which compute nothing.
  virtual bool placing(const ir::Op& op) = 0;

  std::shared_ptr<const Activity> activity_;
  ir::Builder* p_;
  ir::Builder* t_;
  Obstacle obstacle_;

  /// An op that computes.
  virtual bool single(const ir::Op& op);

 private:
  bool visit(const ir::Op& op);

  size_t& visited_;
  ir::ValueMap primal_;
  std::unordered_map<const ir::Value*, ir::Value*> tangent_;
};

}  // namespace tenc::transforms
