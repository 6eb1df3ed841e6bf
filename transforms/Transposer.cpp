// Reverse mode, second half: the transpose of a linear function. What is no tangent is computed as it stands; then the
// ops on tangents are gone through from the last to the first, and each hands the cotangent of its result to its
// operands. Loops run backwards, branches on the same condition.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/Loops.h"
#include "support/InternalError.h"
#include "transforms/Derivatives.h"
#include "transforms/Functions.h"
#include "transforms/Transpose.h"

namespace tenc::transforms {

using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

using Values = std::vector<Value*>;

/// Whether a linear function is called in the op. It computes tangents then, even where all that it is given are zeros.
bool callsLinear(const Op& op) {
  if (op.hasAttr(kResiduals)) return true;
  return std::any_of(op.regions.begin(), op.regions.end(), [](const auto& r) {
    return std::any_of(r->ops.begin(), r->ops.end(), [](const auto& inner) { return callsLinear(*inner); });
  });
}

/// Which values of a linear function are tangents.
class Tangents {
 public:
  Tangents(const ir::Func& f, size_t residuals) {
    for (size_t i = residuals; i < f.body->args.size(); ++i) all_.insert(f.body->args[i].get());
    region(*f.body);
  }
  bool contains(const Value* v) const { return all_.contains(v); }
  /// Whether the op computes tangents.
  bool computes(const Op& op) const { return ops_.contains(&op); }

 private:
  void region(const ir::Region& r) {
    for (const auto& op : r.ops) visit(*op);
  }
  void visit(const Op& op) {
    const auto isTangent = [&](const Value* v) { return contains(v); };
    bool any = std::any_of(op.operands().begin(), op.operands().end(), isTangent);
    for (const auto& r : op.regions) {
      const Values captures = capturesOf(*r);
      any = any || std::any_of(captures.begin(), captures.end(), isTangent);
    }
    if (!any && !callsLinear(op)) return;
    ops_.insert(&op);
    for (const auto& r : op.regions) {
      for (size_t i = ir::isLoop(op) ? ir::firstCarriedArg(op) : 0; i < r->args.size(); ++i)
        all_.insert(r->args[i].get());
      region(*r);
    }
    for (const auto& v : op.results) all_.insert(v.get());
  }

  std::unordered_set<const Value*> all_;
  std::unordered_set<const Op*> ops_;
};

class Transposer {
 public:
  Transposer(const Tangents& tangents, ir::Builder& at, DerivedFuncs& derived)
      : tangents_(tangents), b_(&at), derived_(derived) {}

  void define(const Value* v, Value* copy) { values_[v] = copy; }
  void give(const Value* v, Value* part) {
    if (!tangents_.contains(v)) return;
    Value*& sum = cotangents_[v];
    sum = sum == nullptr ? part : ir::Compose(*b_).add(sum, part);
  }
  /// The cotangent starts with what there is already.
  void start(const Value* v, Value* sum) { cotangents_[v] = sum; }
  /// Null: zero.
  Value* cotangent(const Value* v) const {
    const auto it = cotangents_.find(v);
    return it == cotangents_.end() ? nullptr : it->second;
  }
  /// Zeros of v's type, which live where they are used.
  Value* zeros(const Value* v) { return b_->broadcastTo(b_->scalar(v->type.dtype, 0), v->type.shape); }

  /// What is no tangent is made in order; what is, is handed back from the end.
  void region(const ir::Region& r) {
    for (const auto& op : r.ops) {
      if (op->has(Trait::Terminator) || tangents_.computes(*op)) continue;
      b_->setLoc(op->loc);
      ir::Op* made = ir::clone(*op, *b_, values_);
      for (size_t i = 0; i < op->results.size(); ++i) define(op->result(i), made->result(i));
    }
    for (auto it = r.ops.rbegin(); it != r.ops.rend(); ++it) {
      if (!(*it)->has(Trait::Terminator) && tangents_.computes(**it)) back(**it);
    }
  }

 private:
  void back(const Op& op) {
    const bool asked =
        std::any_of(op.results.begin(), op.results.end(), [&](const auto& v) { return cotangent(v.get()) != nullptr; });
    if (!asked) return;
    b_->setLoc(op.loc);
    switch (op.kind) {
      case OpKind::For: return loop(op);
      case OpKind::If: return branch(op);
      case OpKind::Call: return call(op);
      default: break;
    }
    const TransposeRule rule = transposeRule(op.kind);
    if (rule == nullptr) throw InternalError("`" + std::string(op.info().mnemonic) + "` has no transpose");
    const ir::RoundingScope rounds(*b_, op.dtypeAttr("rounds"));
    ir::Compose c(*b_);
    TransposeCall t{op,
                    c,
                    {},
                    cotangent(op.result()),
                    [&](size_t k, Value* part) { give(op.operand(k), part); },
                    [&](size_t k) { return cotangent(op.operand(k)); },
                    [&](size_t k, Value* sum) { start(op.operand(k), sum); },
                    repeated_};
    for (Value* v : op.operands()) t.in.push_back(tangents_.contains(v) ? nullptr : valueOf(v));
    rule(t);
  }

  Value* valueOf(Value* v) const {
    const auto it = values_.find(v);
    if (it == values_.end()) throw InternalError("a transpose reads a value that it does not have");
    return it->second;
  }

  /// The tangents that a region reads and that are made outside.
  Values capturedTangents(const ir::Region& r) const {
    Values all;
    for (Value* v : capturesOf(r)) {
      if (tangents_.contains(v)) all.push_back(v);
    }
    return all;
  }

  Transposer within(ir::Builder& at) const {
    Transposer inner(tangents_, at, derived_);
    inner.values_ = values_;
    inner.repeated_ = repeated_;
    return inner;
  }

  /// Which carried tangents have a cotangent, before the loop's last trip or as the result of one behind it. The others
  /// are zero in every trip.
  std::vector<bool> carriedBack(const Op& op) const {
    const ir::Region& from = *op.regions[0];
    const Op& end = *from.terminator();
    std::vector<bool> live;
    for (const auto& v : op.results) live.push_back(cotangent(v.get()) != nullptr);
    std::unordered_set<const Value*> reached;
    for (bool more = true; more;) {
      for (size_t i = 0; i < live.size(); ++i)
        if (live[i]) reached.insert(end.operand(i));
      for (auto it = from.ops.rbegin(); it != from.ops.rend(); ++it) {
        const Op& inner = **it;
        const auto isReached = [&](const auto& v) { return reached.contains(v.get()); };
        if (!tangents_.computes(inner) || std::none_of(inner.results.begin(), inner.results.end(), isReached)) continue;
        reached.insert(inner.operands().begin(), inner.operands().end());
        for (const auto& r : inner.regions) {
          const Values captures = capturedTangents(*r);
          reached.insert(captures.begin(), captures.end());
        }
      }
      more = false;
      for (size_t i = 0; i < live.size(); ++i) {
        if (live[i] || !reached.contains(from.args[1 + i].get())) continue;
        live[i] = more = true;
      }
    }
    return live;
  }

  void loop(const Op& op) {
    const ir::Region& from = *op.regions[0];
    const std::vector<bool> live = carriedBack(op);
    const Values captures = capturedTangents(from);
    const int64_t trips = *ir::tripCount(op);
    Values operands = {b_->scalarInt(DType::I64, 0), b_->scalarInt(DType::I64, trips), b_->scalarInt(DType::I64, 1)};
    std::vector<size_t> carried;  // of the results, those that are live
    for (size_t i = 0; i < live.size(); ++i) {
      if (!live[i]) continue;
      carried.push_back(i);
      Value* ct = cotangent(op.result(i));
      operands.push_back(ct != nullptr ? ct : zeros(op.result(i)));
    }
    // What is read from outside gathers its cotangent on the way, in the tensor where it is gathered outside.
    for (const Value* v : captures) {
      Value* sum = cotangent(v);
      operands.push_back(sum != nullptr ? sum : zeros(v));
    }
    Op* made = b_->makeTyped(OpKind::For, operands, {});
    ir::Region* to = b_->addRegion(made);
    Value* back = to->addArg({DType::I64, {}, {}}, "back");
    for (size_t i = 3; i < operands.size(); ++i) to->addArg(withoutPlace(operands[i]->type));
    ir::Builder at(to);
    at.setLoc(op.loc);
    Transposer inner = within(at);
    inner.define(from.args[0].get(), ir::Compose(at).sub(at.scalarInt(DType::I64, trips - 1), back));
    const Op& end = *from.terminator();
    const size_t n = carried.size();
    inner.repeated_ = true;
    for (size_t i = 0; i < captures.size(); ++i) inner.start(captures[i], to->args[1 + n + i].get());
    for (size_t i = 0; i < n; ++i) inner.give(end.operand(carried[i]), to->args[1 + i].get());
    inner.region(from);
    // Where a trip gives nothing there is still no cotangent behind the loop: zeros would live somewhere.
    Values yields;
    std::vector<bool> given;
    for (size_t i = 0; i < n; ++i) {
      const Value* arg = from.args[1 + carried[i]].get();
      Value* ct = inner.cotangent(arg);
      given.push_back(ct != nullptr || trips == 0);
      yields.push_back(ct != nullptr ? ct : inner.zeros(arg));
    }
    for (size_t i = 0; i < captures.size(); ++i) {
      yields.push_back(inner.cotangent(captures[i]));
      given.push_back(yields.back() != to->args[1 + n + i].get());
    }
    at.makeTyped(OpKind::Yield, yields, {});
    for (size_t i = 3; i < operands.size(); ++i) made->addResult(withoutPlace(operands[i]->type));
    for (size_t i = 0; i < captures.size(); ++i)
      if (given[n + i]) start(captures[i], made->result(n + i));
    for (size_t i = 0; i < n; ++i)
      if (given[i]) give(op.operand(3 + carried[i]), made->result(i));
  }

  void branch(const Op& op) {
    Values captures = capturedTangents(*op.regions[0]);
    for (Value* v : capturedTangents(*op.regions[1])) {
      if (std::find(captures.begin(), captures.end(), v) == captures.end()) captures.push_back(v);
    }
    if (captures.empty()) return;
    Op* made = b_->makeTyped(OpKind::If, {valueOf(op.operand(0))}, {});
    for (const auto& from : op.regions) {
      ir::Builder at(b_->addRegion(made));
      at.setLoc(op.loc);
      Transposer inner = within(at);
      const Op& end = *from->terminator();
      for (const Value* v : captures) {
        if (Value* sum = cotangent(v)) inner.start(v, sum);
      }
      for (size_t i = 0; i < op.results.size(); ++i) {
        if (Value* ct = cotangent(op.result(i))) inner.give(end.operand(i), ct);
      }
      inner.region(*from);
      Values yields;
      for (const Value* v : captures) {
        Value* ct = inner.cotangent(v);
        yields.push_back(ct != nullptr ? ct : inner.zeros(v));
      }
      at.makeTyped(OpKind::Yield, yields, {});
    }
    for (Value* v : captures) start(v, made->addResult(withoutPlace(v->type)));
  }

  void call(const Op& op) {
    ir::Func& callee = derived_.linear(op.stringAttr("callee"));
    const auto residuals = static_cast<size_t>(op.intAttr(kResiduals));
    std::vector<bool> asked;
    for (const auto& v : op.results) asked.push_back(cotangent(v.get()) != nullptr);
    std::vector<bool> sums;
    const auto first = op.operands().begin() + static_cast<std::ptrdiff_t>(residuals);
    for (auto it = first; it != op.operands().end(); ++it) {
      const bool again = std::find(first, it, *it) != it;  // one operand adds to what there is
      sums.push_back(!again && cotangent(*it) != nullptr);
    }
    const TransposedFunc& transposed = derived_.transposed(callee, residuals, asked, sums);
    Values operands;
    for (size_t i = 0; i < residuals; ++i) operands.push_back(valueOf(op.operand(i)));
    for (const auto& v : op.results) {
      if (Value* ct = cotangent(v.get())) operands.push_back(ct);
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      if (transposed.sums[i]) operands.push_back(cotangent(op.operand(residuals + i)));
    }
    Op* made = b_->makeTyped(OpKind::Call, operands, transposed.func->resultTypes, {{"callee", transposed.func->name}});
    markGradient(op, transposed, *made);
    for (size_t i = 0; i < made->results.size(); ++i) {
      const Value* v = op.operand(residuals + i);
      Value* given = made->result(i);
      if (transposed.numbers[i]) given = b_->broadcastTo(given, v->type.shape);
      if (transposed.sums[i])
        start(v, given);
      else if (transposed.reached[i])
        give(v, given);
    }
  }

  /// Of a call that stands for an op's part of a gradient.
  static void markGradient(const Op& linear, const TransposedFunc& transposed, Op& made) {
    if (!linear.hasAttr(ir::kGradientOf)) return;
    for (const auto& [name, value] : linear.attrs())
      if (name.starts_with(ir::kGradientPrefix)) made.set(name, value);
    Dims sums;
    for (size_t i = 0; i < transposed.sums.size(); ++i)
      if (transposed.sums[i]) sums.push_back(static_cast<int64_t>(i));
    made.set(ir::kGradientSums, sums);
  }

  const Tangents& tangents_;
  ir::Builder* b_;
  DerivedFuncs& derived_;
  bool repeated_ = false;  ///< in a loop
  ir::ValueMap values_;    ///< what is no tangent, as made here
  std::unordered_map<const Value*, Value*> cotangents_;
};

}  // namespace

std::vector<bool> transpose(const ir::Func& linear, size_t residuals, const std::vector<bool>& results,
                            const std::vector<bool>& sums, ir::Func& made, DerivedFuncs& derived) {
  const OriginScope derivative(*made.module);
  ir::Builder at(made.body.get());
  const Tangents tangents(linear, residuals);
  Transposer transposer(tangents, at, derived);
  for (size_t i = 0; i < residuals; ++i) {
    const Value* v = linear.body->args[i].get();
    transposer.define(v, made.body->addArg(withoutPlace(v->type), v->name));
  }
  const Op& end = *linear.body->terminator();
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) transposer.give(end.operand(i), made.body->addArg(withoutPlace(end.operand(i)->type)));
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const Value* v = linear.body->args[residuals + i].get();
    if (sums[i]) transposer.give(v, made.body->addArg(withoutPlace(v->type)));
  }
  transposer.region(*linear.body);
  at.setLoc(end.loc);
  Values given;
  std::vector<bool> reached;
  made.resultTypes.clear();
  for (size_t i = residuals; i < linear.body->args.size(); ++i) {
    const Value* v = linear.body->args[i].get();
    Value* ct = transposer.cotangent(v);
    reached.push_back(ct != nullptr);
    given.push_back(ct != nullptr ? ct : transposer.zeros(v));
    made.resultTypes.push_back(withoutPlace(v->type));
  }
  at.makeTyped(OpKind::Return, given, {});
  setHalf(*made.body, ir::Half::Backward);
  return reached;
}

std::optional<Pullback> pullback(const ir::Func& f, const std::vector<bool>& arguments,
                                 const std::vector<bool>& results, bool ones, DerivedFuncs& derived,
                                 Obstacle& obstacle) {
  const ForgetAtEnd forgotten(derived, f);
  const auto forward = freeFunc(*f.module, f.name + ".forward"), linear = freeFunc(*f.module, f.name + ".linear");
  LinearizedFunc halves;
  halves.forward = forward.get();
  halves.linear = linear.get();
  if (!linearize(f, arguments, halves, derived, obstacle)) return std::nullopt;
  Pullback made{freeFunc(*f.module, f.name + ".vjp"), halves.results, std::vector<bool>(f.body->args.size(), false)};
  // Of the linear function's results, which are those that are active, the ones that are asked for.
  std::vector<bool> asked;
  for (size_t i = 0; i < results.size(); ++i) {
    if (halves.results[i]) asked.push_back(results[i]);
  }
  const auto back = freeFunc(*f.module, f.name + ".back");
  const bool any = std::find(asked.begin(), asked.end(), true) != asked.end();
  const std::vector<bool> reached =
      any ? transpose(*linear, halves.residuals.size(), asked, {}, *back, derived) : std::vector<bool>();

  ir::Region& body = *made.func->body;
  Values values, cotangents;
  for (const auto& v : f.body->args) values.push_back(body.addArg(withoutPlace(v->type), v->name));
  const Op& end = *f.body->terminator();
  for (size_t i = 0; i < results.size() && !ones; ++i) {
    if (!results[i]) continue;
    Value* ct = body.addArg(withoutPlace(end.operand(i)->type));
    if (halves.results[i]) cotangents.push_back(ct);
  }
  ir::Builder at(&body);
  at.setLoc(end.loc);
  ir::Compose c(at);
  Values kept = splice(*forward, values, at);
  for (size_t i = 0; i < results.size() && ones; ++i) {
    if (results[i] && halves.results[i])
      cotangents.push_back(c.fillOn(kept[i], kept[i]->type.shape, c.literal(kept[i], 1)));
  }
  Values given(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(end.operandCount()));
  Values gradients;
  if (any) {
    Values operands;
    for (const LinearizedFunc::Residual& r : halves.residuals)
      operands.push_back(r.argument ? values[r.index] : kept[r.index]);
    operands.insert(operands.end(), cotangents.begin(), cotangents.end());
    gradients = splice(*back, operands, at);
  }
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i]) continue;
    made.reached[i] = any && reached[next];
    if (made.reached[i]) {
      given.push_back(gradients[next]);
    } else {
      Value* zero = at.scalar(values[i]->type.dtype, 0);
      given.push_back(values[i]->type.rank() == 0 ? zero : c.fillOn(values[i], values[i]->type.shape, zero));
    }
    ++next;
  }
  for (const Value* v : given) made.func->resultTypes.push_back(withoutPlace(v->type));
  at.makeTyped(OpKind::Return, given, {});
  return made;
}

}  // namespace tenc::transforms
