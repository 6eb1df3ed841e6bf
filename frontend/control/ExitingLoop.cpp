// Loops as `while`: those over conditions, and counted ones that may be left early. Such a loop carries the variables
// that it assigns and, as far as it needs them, in this order: the index of the trip, whether `break` has left it,
// whether `return` has, whether it goes on, what was returned.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Training.h"
#include "frontend/control/Branches.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Loops.h"
#include "frontend/control/Regions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
}  // namespace

class Loops::Exiting {
 public:
  Exiting(Loops& loops, const ast::Stmt& s, const Range* range, const TripIndex& index)
      : loops_(loops), context_(loops.context_), s_(s), range_(range), index_(index), exits_(exitsOf(s.body)) {}

  Flow lower() {
    std::vector<Span> assigning = {s_.body.span};
    if (!range_) {
      // The region of a condition hands nothing on: one that assigns is evaluated before the loop and behind each trip.
      if (!context_.frame().unit->resolution->assigned(s_.lo->span).empty()) firstCondition_ = condition();
      assigning.push_back(s_.lo->span);
    }
    loops_.scopes_.assignedIn(assigning, carried_);
    before_ = valuesOf(carried_.vars);
    makeWithState();
    if (exits_.returns && !returned_.poison() && !returned_.is(Val::Kind::Unit)) carryResult();
    return finish();
  }

 private:
  /// What is carried beside variables: where it stands among `initial_`, if anywhere.
  struct Places {
    std::optional<size_t> index, broke, returned, result, goesOn;
  };

  ir::Builder& b() { return context_.b(); }
  Val falseValue() { return Val::ofTensor(b().scalarInt(DType::Bool, 0)); }
  bool assigningCondition() const { return !firstCondition_.poison(); }

  Val condition() {
    Boundary expression;
    expression.kind = Boundary::Kind::Expression;
    const Scoped inside(context_.body.boundary, &expression);
    Val c = loops_.branches_.conditionOf(*s_.lo, "while");
    return c.poison() ? Val::ofBool(false) : c;
  }

  size_t carry(Val v, const char* label) {
    initial_.push_back(std::move(v));
    labels_.push_back(label);
    return initial_.size() - 1;
  }

  void takeBack() {
    op_->erase();
    setValues(carried_.vars, before_);
  }

  /// As `make`, until all layers that change in it are carried: which these are is known when it is made.
  void makeWithState() {
    Training* training = context_.body.training;
    if (!training) return make();
    KeptLeaves before = training->kept;
    while (true) {
      make();
      const bool more = loops_.regions_.addState(*op_, before, state_);
      training->kept = before;
      if (conditionChangesState_ && !assigningCondition()) {
        takeBack();
        firstCondition_ = condition();  // as one that assigns
        before_ = valuesOf(carried_.vars);
        before = training->kept;
      } else if (more) {
        takeBack();
      } else {
        return;
      }
    }
  }

  void carryAll() {
    initial_ = before_;
    labels_ = carried_.names;
    places_ = {};
    if (range_) places_.index = carry(Val::ofTensor(range_->lo), "i");
    if (exits_.breaks) places_.broke = carry(falseValue(), "broke");
    if (exits_.returns) places_.returned = carry(falseValue(), "returned");
    if (assigningCondition())
      places_.goesOn = carry(Val::ofTensor(loops_.tensors_.tensorOf(firstCondition_)), "goes on");
    for (Val& now : loops_.regions_.stateNow(state_)) carry(std::move(now), "the state of a layer");
  }

  /// What is returned has a type that is known once the body is made: the loop carries it last of all, zeros first. (To
  /// make the body again for it would double the work with every loop around another.)
  void carryResult() {
    ir::Builder before(op_);
    before.setLoc(b().loc());
    const Scoped here(context_.body.builder, &before);
    const Val zeros = loops_.regions_.placeholder(returned_);
    std::vector<ir::Value*> operands;
    leavesOf(zeros, operands);
    op_->addOperands(operands);
    places_.result = carry(zeros, "result");
    argumentsLike(zeros, op_->regions[0].get(), "result");
    arguments_.push_back(argumentsLike(zeros, op_->regions[1].get(), "result"));
    after_.push_back(returned_);
  }

  /// Layers are, within a region of the loop, what it carries of them.
  void enter(std::vector<Val> arguments) { loops_.regions_.takeState(arguments, state_); }

  /// The op with both regions; what is yielded is not fitted to what is carried yet.
  void make() {
    context_.at(s_.span);
    carryAll();
    std::vector<ir::Value*> operands;
    for (const Val& v : initial_) leavesOf(v, operands);
    // What makes its trips unknown beforehand is what leaves it.
    context_.at(exits_.breaks ? exits_.breakAt : exits_.returns ? exits_.returnAt : s_.span);
    op_ = b().makeTyped(OpKind::While, operands, {});
    context_.at(s_.span);
    ir::Region* regions[2] = {b().addRegion(op_), b().addRegion(op_)};
    std::vector<Val> arguments[2];
    for (int r = 0; r < 2; ++r)
      for (size_t i = 0; i < initial_.size(); ++i)
        arguments[r].push_back(argumentsLike(initial_[i], regions[r], labels_[i]));
    const Scoped deeper(context_.body.regionDepth, context_.body.regionDepth + 1);
    Training* training = context_.body.training;
    const KeptLeaves outside = training ? training->kept : KeptLeaves();
    for (const int r : {0, 1}) {
      if (training) training->kept = outside;
      enter(arguments[r]);
      const KeptLeaves entered = training ? training->kept : KeptLeaves();
      context_.inRegion(regions[r], [&] { r == 0 ? emitCondition(arguments[0]) : emitTrip(arguments[1]); });
      if (training && r == 0) conditionChangesState_ = !training->kept.changedIn(*op_, entered).empty();
    }
    arguments_ = std::move(arguments[1]);
  }

  void emitCondition(const std::vector<Val>& arguments) {
    setValues(carried_.vars, arguments);
    ir::Value* stop = nullptr;
    for (const std::optional<size_t>& flag : {places_.broke, places_.returned}) {
      if (!flag) continue;
      ir::Value* v = arguments[*flag].tensor;
      stop = stop ? b().value(OpKind::Or, {stop, v}) : v;
    }
    ir::Value* go = nullptr;
    if (assigningCondition()) {
      go = arguments[*places_.goesOn].tensor;
    } else if (stop && !range_) {
      go = loops_.tensors_.tensorOf(loops_.regions_.emitIf(
          stop, s_.span, {"the condition"}, [&] { return std::vector{falseValue()}; },
          [&] { return std::vector{Val::ofTensor(loops_.tensors_.tensorOf(condition()))}; })[0]);
    } else {
      go = range_ ? b().value(OpKind::Lt, {arguments[*places_.index].tensor, range_->hi})
                  : loops_.tensors_.tensorOf(condition());
      if (stop) go = b().value(OpKind::And, {go, b().value(OpKind::Not, {stop})});
    }
    b().makeTyped(OpKind::Condition, {go}, {});
  }

  void emitTrip(const std::vector<Val>& arguments) {
    setValues(carried_.vars, arguments);
    std::optional<Val> i;
    if (range_) i = index_(arguments[*places_.index].tensor);
    trip_ = loops_.lowerTrip(s_, i ? &*i : nullptr, carried_);
    const auto flag = [&](const Val& v, Exit exit) { return trip_.mixed ? v : Val::ofBool(trip_.exit == exit); };
    const Val broke = flag(trip_.broke, Exit::Break), left = flag(trip_.returned, Exit::Return);
    Val goesOn;
    if (assigningCondition()) goesOn = conditionBehind({broke, left});
    after_ = valuesOf(carried_.vars);
    context_.at(s_.span);
    if (range_)
      after_.push_back(
          Val::ofTensor(ir::Compose(b()).nextIndex(arguments[*places_.index].tensor, range_->hi, range_->by)));
    if (exits_.breaks) after_.push_back(broke);
    if (exits_.returns) after_.push_back(left);
    if (trip_.mixed)
      returned_ = trip_.result.is(Val::Kind::Unit) ? trip_.result : loops_.tensors_.materialise(trip_.result);
    else
      returned_ = trip_.exit == Exit::Return ? loops_.tensors_.materialise(trip_.value) : Val::unit();
    if (assigningCondition()) after_.push_back(goesOn);
    for (Val& now : loops_.regions_.stateNow(state_)) after_.push_back(std::move(now));
  }

  /// The condition behind a trip: false where one of `left` says that the trip has left the loop.
  Val conditionBehind(const std::vector<Val>& left) {
    ir::Value* stop = nullptr;
    for (const Val& v : left) {
      if (v.is(Val::Kind::Bool) && v.boolean) return Val::ofBool(false);
      if (!v.is(Val::Kind::Tensor)) continue;
      stop = stop ? b().value(OpKind::Or, {stop, v.tensor}) : v.tensor;
    }
    if (!stop) return condition();
    const std::vector<Val> before = valuesOf(carried_.vars);
    std::vector<std::string> labels;
    for (const std::string& n : carried_.names) labels.push_back("`" + n + "`");
    labels.push_back("the condition");
    const auto branch = [&](bool stopped) {
      setValues(carried_.vars, before);
      Val goesOn = stopped ? Val::ofBool(false) : condition();
      std::vector<Val> values = valuesOf(carried_.vars);
      values.push_back(std::move(goesOn));
      return values;
    };
    const std::vector<Val> merged =
        loops_.regions_.emitIf(stop, s_.span, labels, [&] { return branch(true); }, [&] { return branch(false); });
    setValues(carried_.vars, merged);
    return merged.back();
  }

  Flow finish() {
    Regions& regions = loops_.regions_;
    ir::Region* body = op_->regions[1].get();
    regions.yield(body, regions.carriedYields(initial_, arguments_, after_, labels_, body, s_.span));
    context_.at(s_.span);
    std::vector<Val> results = regions.carriedResults(op_, initial_, after_, labels_);
    Val result = Val::unit();
    if (places_.result) {
      result = results.back();
      results.pop_back();
    }
    regions.takeState(results, state_);
    setValues(carried_.vars,
              std::vector<Val>(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(before_.size())));
    if (range_ && range_->written) checkLast(results);
    Flow flow;
    flow.value = Val::unit(s_.span);
    // A `return` that no trip comes to leaves the loop to fall through.
    if (exits_.returns && trip_.mayReturn()) {
      flow.mixed = true;
      flow.broke = flow.continued = Val::ofBool(false);
      flow.returned = results[*places_.returned];
      flow.result = std::move(result);
      flow.returned.span = s_.span;  // for what is wrong with the merge
      flow.result.span = exits_.returned.valid() ? exits_.returned : s_.span;
    }
    return flow;
  }

  /// Stops where the loop would have gone on beyond i64.
  void checkLast(const std::vector<Val>& results) {
    ir::Value* bad = b().value(OpKind::And, {loops_.beyond(range_->written),
                                             b().value(OpKind::Ge, {results[*places_.index].tensor, range_->hi})});
    bad = b().value(OpKind::And, {bad, b().value(OpKind::Lt, {range_->lo, range_->hi})});
    for (const std::optional<size_t>& flag : {places_.broke, places_.returned})
      if (flag) bad = b().value(OpKind::And, {bad, b().value(OpKind::Not, {results[*flag].tensor})});
    loops_.stopIf(bad, {"the index of a `for` is an i64, and does not count to ", ""}, range_->written);
  }

  Loops& loops_;
  Context& context_;
  const ast::Stmt& s_;
  const Range* range_;
  const TripIndex& index_;
  const Exits exits_;
  Val firstCondition_;             ///< of a condition that assigns: what it is before the loop
  Boundary carried_;               ///< the variables
  std::vector<Val> before_;        ///< what they are before the loop
  std::vector<ir::Value*> state_;  ///< leaves of layers that change, where a network is trained
  bool conditionChangesState_ = false;

  // Of the last that `make` has made:
  Places places_;
  std::vector<Val> initial_;  ///< all that is carried
  std::vector<std::string> labels_;
  ir::Op* op_ = nullptr;
  std::vector<Val> arguments_;  ///< of the body
  std::vector<Val> after_;      ///< what a trip hands on
  Flow trip_;
  Val returned_;
};

Flow Loops::lowerWhile(const ast::Stmt& s) { return exitingLoop(s, nullptr, {}); }

Flow Loops::exitingLoop(const ast::Stmt& s, const Range* range, const TripIndex& index) {
  return Exiting(*this, s, range, index).lower();
}

}  // namespace tenc::frontend
