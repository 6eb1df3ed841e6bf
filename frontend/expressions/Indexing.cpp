// Indexing as in NumPy: reads and updates of x[...] as slices, windows, gathers and scatters, once the subscripts are
// read (Subscripts.cpp).
#include "frontend/expressions/Indexing.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Operands.h"
#include "frontend/expressions/Operators.h"
#include "frontend/expressions/Subscripts.h"
#include "frontend/names/Scopes.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Tensors.h"
#include "ir/Ir.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;
using ir::Dims;
using ir::DType;
using ir::OpKind;
}  // namespace

std::optional<size_t> Indexing::listIndex(const Val& list, const ast::Expr& index, const std::optional<Val>& known) {
  if (index.subscripts.size() != 1 || index.subscripts[0].kind != ast::Subscript::Kind::Index) {
    context_.fail(Code::E0203, index.span, "a list or tuple takes one integer as its index");
    return std::nullopt;
  }
  const Val at = known ? *known : expressions_.eval(*index.subscripts[0].index);
  if (at.is(Val::Kind::Tensor)) {
    context_
        .error(Code::E0111, index.subscripts[0].span,
               "the index of a list or tuple must be known while compiling, but this is a run-time value")
        .note("literals, `const`s, `param`s, dims and arithmetic over them are known while compiling; a `var` is not")
        .help(
            "elements may be of different types: `for i in static 0..n` and `enumerate(xs)` have an index that is "
            "known");
    return std::nullopt;
  }
  auto i = evaluator_.constInt(at, "the index of a list or tuple");
  if (!i) return std::nullopt;
  const auto n = static_cast<int64_t>(list.elems.size());
  if (*i < -n || *i >= n) {
    context_.fail(Code::E0205, index.subscripts[0].span,
                  "index " + std::to_string(*i) + " is out of range for " + std::to_string(n) + " elements");
    return std::nullopt;
  }
  return static_cast<size_t>(*i < 0 ? *i + n : *i);
}

Val Indexing::elementOf(const Val& list, const ast::Expr& e, const std::optional<Val>& index) {
  if (e.subscripts.size() == 1 && e.subscripts[0].kind == ast::Subscript::Kind::Slice) {
    const ast::Subscript& s = e.subscripts[0];
    const auto n = static_cast<int64_t>(list.elems.size());
    auto bound = [&](const ast::ExprPtr& x, int64_t otherwise) -> std::optional<int64_t> {
      if (!x) return otherwise;
      auto i = evaluator_.constInt(expressions_.eval(*x), "a slice bound");
      if (!i) return std::nullopt;
      return std::clamp(*i < 0 ? *i + n : *i, int64_t{0}, n);
    };
    auto lo = bound(s.lo, 0), hi = bound(s.hi, n);
    if (s.step) return context_.fail(Code::E0203, s.span, "a slice of a list or shape takes no step");
    if (!lo || !hi) return Val::none();
    Val r = list;
    r.elems.clear();
    for (int64_t i = *lo; i < *hi; ++i) r.elems.push_back(list.elems[static_cast<size_t>(i)]);
    return r;
  }
  auto i = listIndex(list, e, index);
  return i ? list.elems[*i] : Val::none();
}

namespace {

/// What all numbers, bools or texts in a nest of arrays are; nothing where they differ.
std::optional<Val::Kind> kindOfAll(const Val& v) {
  if (!v.is(Kind::Array)) return v.kind;
  std::optional<Val::Kind> all;
  for (const Val& e : v.elems) {
    const auto kind = kindOfAll(e);
    if (!kind || (all && *all != *kind)) return std::nullopt;
    all = kind;
  }
  return all;
}
}  // namespace

Val Indexing::knownElement(const Val& base, const ast::Expr& e, std::optional<Val>& index) {
  if (e.subscripts.size() != 1 || e.subscripts[0].kind != ast::Subscript::Kind::Index) return Val::unit();
  Val list = literalInts(base);
  const bool literal = base.is(Kind::Array);
  if (list.is(Kind::Tuple)) list.kind = Kind::Array;
  if (const auto kind = kindOfAll(list);
      kind != Kind::Int && kind != Kind::Float && kind != Kind::Bool && kind != Kind::String) {
    return Val::unit();
  }
  const Val at = expressions_.eval(*e.subscripts[0].index);
  if (at.poison()) return at;
  const auto n = static_cast<Int>(list.elems.size());
  if (at.is(Kind::Int) && at.integer >= -n && at.integer < n) {
    Val v = list.elems[static_cast<size_t>(at.integer < 0 ? at.integer + n : at.integer)];
    v.adopts = v.adopts && literal;
    return v;
  }
  index = at;
  return Val::unit();
}

Val Indexing::evalIndex(const ast::Expr& e) {
  const ast::Expr& of = *e.args[0];
  if (of.kind == ExprKind::Name && of.text != ir::DeviceTable::kHost && ir::DeviceTable::isKind(of.text) &&
      !scopes_.findLocal(of.text) && e.subscripts.size() == 1 && e.subscripts[0].index) {
    auto i = evaluator_.constInt(expressions_.eval(*e.subscripts[0].index), "a device number");
    if (!i) return Val::none();
    DeviceRef d;
    d.name = of.text + ":" + std::to_string(*i);
    return Val::ofDevice(d, e.span);
  }
  Val base = expressions_.eval(of);
  switch (base.kind) {
    case Kind::Poison: return Val::none();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Pack:
    case Kind::Sequence: return elementOf(base, e);
    case Kind::Array:
    case Kind::Tensor: {
      std::optional<Val> index;
      const Val known = knownElement(base, e, index);
      if (!known.is(Kind::Unit)) return known;
      base = tensors_.settle(base);
      if (base.poison()) return base;
      return base.is(Kind::List) ? elementOf(base, e, index) : indexExpr(base, e, index);
    }
    case Kind::Int:
    case Kind::Float:
    case Kind::Bool: {
      using Part = ast::Subscript::Kind;
      const bool elements = std::any_of(e.subscripts.begin(), e.subscripts.end(), [](const ast::Subscript& s) {
        return s.kind != Part::New && s.kind != Part::Ellipsis;
      });
      if (elements) break;
      base = tensors_.materialise(base);
      return base.poison() ? base : indexExpr(base, e);
    }
    default: break;
  }
  return context_.fail(Code::E0203, e.span, describe(base) + " takes no index");
}

namespace {

/// What an index expression does, in the order in which it is done: one strided slice, windows, one gather, a reshape.
class Plan {
 public:
  Plan(Context& context, const ir::Type& base, std::vector<Step> steps)
      : context_(context), c_(context.b()), base_(base), steps_(std::move(steps)) {}

  /// Index operands of one dtype and shape; false when they do not broadcast.
  bool prepare(Span span) {
    for (const Step& s : steps_) {
      if (s.kind == Step::Kind::Scalar || s.kind == Step::Kind::Tensor) dynamic_ = true;
      if (s.kind == Step::Kind::Tensor) arrays_ = true;
      if (s.kind == Step::Kind::Window) windows_ = true;
    }
    DType dtype = DType::I64;
    bool first = true;
    for (const Step& s : steps_) {
      if (!gathered(s)) continue;
      if (s.index) {
        auto shape = ir::broadcastShapes(shape_, s.index->type.shape);
        if (!shape) {
          context_.error(
              Code::E0202, span,
              "index tensors do not broadcast: " + ir::toString(shape_) + " and " + ir::toString(s.index->type.shape));
          return false;
        }
        shape_ = *shape;
        dtype = first || dtype == s.index->type.dtype ? s.index->type.dtype : DType::I64;
        first = false;
      }
      axes_.push_back(s.dim);
    }
    // Known indices stand beside the others in their dtype, where it holds them.
    for (const Step& s : steps_) {
      if (gathered(s) && !s.index && !fits(s.start, dtype)) dtype = DType::I64;
    }
    for (const Step& s : steps_) {
      if (!gathered(s)) continue;
      ir::Value* i = s.index ? inDType(s.index, dtype) : context_.b().scalarInt(dtype, s.start);
      indices_.push_back(c_.broadcastTo(i, shape_));
    }
    layOut();
    return true;
  }

  const Dims& resultShape() const { return result_; }

  ir::Value* read(ir::Value* base) {
    ir::Value* v = readWindows(readSlice(base));
    if (!axes_.empty()) v = c_.gather(v, indices_, axes_, at_);
    return c_.reshape(v, result_);
  }

  /// `base` with the indexed part replaced by `value` (of resultShape), or combined with it by a scatter's `mode`.
  ir::Value* write(ir::Value* base, ir::Value* value, const std::string& mode) {
    bool wholeSlices = std::all_of(steps_.begin(), steps_.end(),
                                   [&](const Step& s) { return s.kind != Step::Kind::Slice || isWhole(s); });
    // A block at run-time starts: every dim is an element, a window or a slice without stride.
    if (dynamic_ || windows_) {
      // An axis without elements has no block of one.
      const bool empty = std::any_of(axes_.begin(), axes_.end(), [&](int64_t a) { return base_.shape[a] == 0; });
      if (!arrays_ && !empty && !(axes_.size() == base_.shape.size())) {
        bool strided = std::any_of(steps_.begin(), steps_.end(), [](const Step& s) {
          return s.kind == Step::Kind::Slice && s.size > 1 && s.step != 1;
        });
        if (mode == "set" && !strided) return writeBlock(base, value);
      }
      if (wholeSlices && !windows_) return scatter(base, value, mode);
      // The sliced part is updated by itself and put back.
      ir::Value* part = readSlice(base);
      ir::Value* inner = windows_ ? readWindows(part) : part;
      if (!axes_.empty()) {
        inner = scatter(inner, value, mode);
      } else {
        inner = c_.reshape(value, inner->type.shape);
      }
      if (windows_) inner = putWindows(part, inner);
      return putSlice(base, inner);
    }
    return putSlice(base, c_.reshape(value, slicedShape()));
  }

  bool usesScatter() const { return dynamic_ && (arrays_ || axes_.size() == base_.shape.size()); }

 private:
  bool isWhole(const Step& s) const { return s.start == 0 && s.step == 1 && s.size == base_.shape[s.dim]; }

  /// Single compile-time indices join the run-time ones, so that an element is one gather.
  bool gathered(const Step& s) const {
    return s.kind == Step::Kind::Scalar || s.kind == Step::Kind::Tensor || (dynamic_ && s.kind == Step::Kind::At);
  }

  /// The result's dims in order, and where the gathered ones go: first when something stands between (NumPy's rule).
  void layOut() {
    int64_t first = -1, last = -1, kept = 0;
    bool apart = false;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& s = steps_[i];
      if (gathered(s)) {
        if (last >= 0 && last + 1 != static_cast<int64_t>(i)) apart = true;
        last = static_cast<int64_t>(i);
        if (first < 0) first = last, at_ = kept;
      } else if (s.kind == Step::Kind::Slice || s.kind == Step::Kind::Window) {
        ++kept;
      }
    }
    if (apart || shape_.empty()) at_ = 0;
    auto insert = [&] { result_.insert(result_.end(), shape_.begin(), shape_.end()); };
    if (apart) insert();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& s = steps_[i];
      if (gathered(s)) {
        if (!apart && static_cast<int64_t>(i) == first) insert();
      } else if (s.kind == Step::Kind::New) {
        result_.push_back(1);
      } else if (s.kind == Step::Kind::Slice || s.kind == Step::Kind::Window) {
        result_.push_back(s.size);
      }
    }
  }

  ir::Value* readSlice(ir::Value* base) {
    Dims starts, sizes, steps;
    sliceAttrs(starts, sizes, steps);
    return c_.slice(base, starts, sizes, steps);
  }

  void sliceAttrs(Dims& starts, Dims& sizes, Dims& steps) {
    starts.assign(base_.shape.size(), 0);
    sizes = base_.shape;
    steps.assign(base_.shape.size(), 1);
    for (const Step& s : steps_) {
      if (gathered(s) || (s.kind != Step::Kind::Slice && s.kind != Step::Kind::At)) continue;
      starts[s.dim] = s.start, sizes[s.dim] = s.size, steps[s.dim] = s.step;
    }
  }

  Dims slicedShape() {
    Dims starts, sizes, steps;
    sliceAttrs(starts, sizes, steps);
    return sizes;
  }

  ir::Value* readWindows(ir::Value* v) {
    Dims axes, sizes;
    std::vector<ir::Value*> operands = {v};
    for (const Step& s : steps_) {
      if (s.kind != Step::Kind::Window) continue;
      axes.push_back(s.dim);
      sizes.push_back(s.size);
      operands.push_back(s.index);
    }
    return axes.empty()
               ? v
               : context_.b().value(OpKind::DynamicSlice, sameDType(operands), {{"axes", axes}, {"sizes", sizes}});
  }

  ir::Value* putWindows(ir::Value* whole, ir::Value* part) {
    Dims axes;
    std::vector<ir::Value*> operands = {whole, part};
    for (const Step& s : steps_) {
      if (s.kind != Step::Kind::Window) continue;
      axes.push_back(s.dim);
      operands.push_back(s.index);
    }
    return context_.b().value(OpKind::DynamicUpdate, sameDType(operands, 2), {{"axes", axes}});
  }

  /// An index in `t`, which is its own dtype or i64: a u64 beyond i64 stays out of range.
  ir::Value* inDType(ir::Value* v, DType t) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (v->type.dtype == DType::U64 && t != DType::U64) v = c_.binary(OpKind::Min, v, c_.literalInt(v, kMost));
    return c_.cast(v, t);
  }

  std::vector<ir::Value*> sameDType(std::vector<ir::Value*> operands, size_t from = 1) {
    bool same = std::all_of(operands.begin() + static_cast<int64_t>(from), operands.end(),
                            [&](ir::Value* v) { return v->type.dtype == operands[from]->type.dtype; });
    for (size_t i = from; !same && i < operands.size(); ++i) operands[i] = inDType(operands[i], DType::I64);
    return operands;
  }

  ir::Value* putSlice(ir::Value* base, ir::Value* part) {
    Dims starts, sizes, steps, backward;
    sliceAttrs(starts, sizes, steps);
    if (sizes == base_.shape && std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; })) return part;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] > 0) continue;
      starts[i] += (sizes[i] - 1) * steps[i];
      steps[i] = -steps[i];
      backward.push_back(static_cast<int64_t>(i));
    }
    return context_.b().value(OpKind::UpdateSlice, {base, c_.flip(part, backward)},
                              {{"starts", starts}, {"steps", steps}});
  }

  ir::Value* writeBlock(ir::Value* base, ir::Value* value) {
    Dims block(base_.shape), axes;
    std::vector<ir::Value*> operands = {base, nullptr};
    for (const Step& s : steps_) {
      if (s.dim < 0) continue;
      block[s.dim] = s.size;
      if (s.kind == Step::Kind::Slice && isWhole(s)) continue;
      axes.push_back(s.dim);
      operands.push_back(s.index ? s.index : context_.b().scalarInt(DType::I64, s.start));
    }
    operands[1] = c_.reshape(value, block);
    return context_.b().value(OpKind::DynamicUpdate, sameDType(operands, 2), {{"axes", axes}});
  }

  ir::Value* scatter(ir::Value* base, ir::Value* value, const std::string& mode) {
    Dims update;
    for (int64_t d = 0; d < base->type.rank(); ++d) {
      if (std::find(axes_.begin(), axes_.end(), d) == axes_.end()) update.push_back(base->type.shape[d]);
    }
    update.insert(update.begin() + at_, shape_.begin(), shape_.end());
    std::vector<ir::Value*> operands = {base, c_.reshape(value, update)};
    operands.insert(operands.end(), indices_.begin(), indices_.end());
    return context_.b().value(OpKind::Scatter, operands, {{"axes", axes_}, {"at", at_}, {"mode", mode}});
  }

  Context& context_;
  ir::Compose c_;
  const ir::Type base_;
  std::vector<Step> steps_;
  bool dynamic_ = false, arrays_ = false, windows_ = false;
  Dims shape_, axes_, result_;
  std::vector<ir::Value*> indices_;
  int64_t at_ = 0;
};
}  // namespace

Val Indexing::indexExpr(const Val& base, const ast::Expr& index, const std::optional<Val>& known) {
  ir::Value* x = tensors_.tensorOf(base);
  if (!x) return Val::none();
  Subscripts s({context_, evaluator_, tensors_, expressions_}, x->type, index, known);
  if (!s.read()) return Val::none();
  context_.at(index.span, s.written());
  Plan plan(context_, x->type, std::move(s.steps));
  if (!plan.prepare(index.span)) return Val::none();
  return Val::ofTensor(plan.read(x), index.span);
}

Val Indexing::assignIndex(const Val& base, const ast::Expr& index, const Val& value, std::string_view op, Span span) {
  ir::Value* x = tensors_.tensorOf(base);
  if (!x || value.poison()) return Val::none();
  Subscripts s({context_, evaluator_, tensors_, expressions_}, x->type, index);
  if (!s.read()) return Val::none();
  std::vector<ir::OperandText> written = s.written();
  written.push_back({value.span, ""});
  context_.at(span, std::move(written));
  Plan plan(context_, x->type, std::move(s.steps));
  if (!plan.prepare(index.span)) return Val::none();
  DType t = x->type.dtype;
  ir::Value* v = nullptr;
  if (t == DType::Bool && value.is(Val::Kind::Bool)) {
    v = tensors_.tensorOf(value);
  } else {
    if (changesDType(context_, Val::ofTensor(x, base.span), value, op, span, {})) return Val::none();
    auto common = commonDType(context_, {Val::ofTensor(x, base.span), value}, span, op);
    if (!common) return Val::none();
    v = tensors_.tensorOf(value, common);
    if (v && (*common != t || v->type.dtype != t)) {
      return context_.fail(Code::E0201, span,
                           "a value of " + std::string(ir::name(v->type.dtype)) + " is assigned into a tensor of " +
                               std::string(ir::name(t)));
    }
  }
  if (!v) return Val::none();
  auto fits = ir::broadcastShapes(v->type.shape, plan.resultShape());
  if (!fits || *fits != plan.resultShape()) {
    context_.error(Code::E0202, span,
                   "a value of shape " + ir::toString(v->type.shape) + " does not fit the indexed part of shape " +
                       ir::toString(plan.resultShape()));
    return Val::none();
  }
  context_.at(span);
  ir::Compose c(context_.b());
  std::string mode = "set";
  if (op != "=") {
    std::string_view operation = op.substr(0, op.size() - 1);
    if (plan.usesScatter() && (operation == "+" || operation == "-" || operation == "*") && t != DType::Bool) {
      // Repeated places take every update.
      if (operation == "-") v = c.unary(OpKind::Neg, v);
      mode = operation == "*" ? "mul" : "add";
    } else {
      Val combined = operators_.binary(operation, Val::ofTensor(plan.read(x), index.span), Val::ofTensor(v, value.span),
                                       span, span);
      v = tensors_.tensorOf(combined);
      if (!v) return Val::none();
    }
  }
  return Val::ofTensor(plan.write(x, c.broadcastTo(v, plan.resultShape()), mode), span);
}

}  // namespace tenc::frontend
