// Indexing as in NumPy: reads and updates of x[...] as slices, windows, gathers and scatters, once the subscripts are
// read (Subscripts.cpp).
#include <algorithm>
#include <limits>
#include <string>

#include "frontend/Lowering.h"
#include "frontend/expressions/Subscripts.h"
#include "frontend/values/Literals.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// What an index expression does, in the order in which it is done: one strided slice, windows, one gather, a reshape.
class Plan {
 public:
  Plan(Lowering& l, const ir::Type& base, std::vector<Step> steps)
      : l_(l), c_(l.b()), base_(base), steps_(std::move(steps)) {}

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
          l_.error(
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
      ir::Value* i = s.index ? inDType(s.index, dtype) : l_.b().scalarInt(dtype, s.start);
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
    return axes.empty() ? v
                        : l_.b().value(OpKind::DynamicSlice, sameDType(operands), {{"axes", axes}, {"sizes", sizes}});
  }

  ir::Value* putWindows(ir::Value* whole, ir::Value* part) {
    Dims axes;
    std::vector<ir::Value*> operands = {whole, part};
    for (const Step& s : steps_) {
      if (s.kind != Step::Kind::Window) continue;
      axes.push_back(s.dim);
      operands.push_back(s.index);
    }
    return l_.b().value(OpKind::DynamicUpdate, sameDType(operands, 2), {{"axes", axes}});
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
    return l_.b().value(OpKind::UpdateSlice, {base, c_.flip(part, backward)}, {{"starts", starts}, {"steps", steps}});
  }

  ir::Value* writeBlock(ir::Value* base, ir::Value* value) {
    Dims block(base_.shape), axes;
    std::vector<ir::Value*> operands = {base, nullptr};
    for (const Step& s : steps_) {
      if (s.dim < 0) continue;
      block[s.dim] = s.size;
      if (s.kind == Step::Kind::Slice && isWhole(s)) continue;
      axes.push_back(s.dim);
      operands.push_back(s.index ? s.index : l_.b().scalarInt(DType::I64, s.start));
    }
    operands[1] = c_.reshape(value, block);
    return l_.b().value(OpKind::DynamicUpdate, sameDType(operands, 2), {{"axes", axes}});
  }

  ir::Value* scatter(ir::Value* base, ir::Value* value, const std::string& mode) {
    Dims update;
    for (int64_t d = 0; d < base->type.rank(); ++d) {
      if (std::find(axes_.begin(), axes_.end(), d) == axes_.end()) update.push_back(base->type.shape[d]);
    }
    update.insert(update.begin() + at_, shape_.begin(), shape_.end());
    std::vector<ir::Value*> operands = {base, c_.reshape(value, update)};
    operands.insert(operands.end(), indices_.begin(), indices_.end());
    return l_.b().value(OpKind::Scatter, operands, {{"axes", axes_}, {"at", at_}, {"mode", mode}});
  }

  Lowering& l_;
  ir::Compose c_;
  const ir::Type base_;
  std::vector<Step> steps_;
  bool dynamic_ = false, arrays_ = false, windows_ = false;
  Dims shape_, axes_, result_;
  std::vector<ir::Value*> indices_;
  int64_t at_ = 0;
};

}  // namespace

Val indexExpr(Lowering& l, const Val& base, const ast::Expr& index) {
  ir::Value* x = l.tensorOf(base);
  if (!x) return Val::none();
  Subscripts s(l, x->type, index);
  if (!s.read()) return Val::none();
  l.at(index.span, s.written());
  Plan plan(l, x->type, std::move(s.steps));
  if (!plan.prepare(index.span)) return Val::none();
  return Val::ofTensor(plan.read(x), index.span);
}

Val assignIndex(Lowering& l, const Val& base, const ast::Expr& index, const Val& value, std::string_view op,
                Span span) {
  ir::Value* x = l.tensorOf(base);
  if (!x || value.poison()) return Val::none();
  Subscripts s(l, x->type, index);
  if (!s.read()) return Val::none();
  std::vector<ir::OperandText> written = s.written();
  written.push_back({value.span, ""});
  l.at(span, std::move(written));
  Plan plan(l, x->type, std::move(s.steps));
  if (!plan.prepare(index.span)) return Val::none();
  DType t = x->type.dtype;
  ir::Value* v = nullptr;
  if (t == DType::Bool && value.is(Val::Kind::Bool)) {
    v = l.tensorOf(value);
  } else {
    if (l.changesDType(Val::ofTensor(x, base.span), value, op, span, {})) return Val::none();
    auto common = l.commonDType({Val::ofTensor(x, base.span), value}, span, op);
    if (!common) return Val::none();
    v = l.tensorOf(value, common);
    if (v && (*common != t || v->type.dtype != t)) {
      return l.fail(Code::E0201, span,
                    "a value of " + std::string(ir::name(v->type.dtype)) + " is assigned into a tensor of " +
                        std::string(ir::name(t)));
    }
  }
  if (!v) return Val::none();
  auto fits = ir::broadcastShapes(v->type.shape, plan.resultShape());
  if (!fits || *fits != plan.resultShape()) {
    l.error(Code::E0202, span,
            "a value of shape " + ir::toString(v->type.shape) + " does not fit the indexed part of shape " +
                ir::toString(plan.resultShape()));
    return Val::none();
  }
  l.at(span);
  ir::Compose c(l.b());
  std::string mode = "set";
  if (op != "=") {
    std::string_view operation = op.substr(0, op.size() - 1);
    if (plan.usesScatter() && (operation == "+" || operation == "-" || operation == "*") && t != DType::Bool) {
      // Repeated places take every update.
      if (operation == "-") v = c.unary(OpKind::Neg, v);
      mode = operation == "*" ? "mul" : "add";
    } else {
      Val combined =
          l.binary(operation, Val::ofTensor(plan.read(x), index.span), Val::ofTensor(v, value.span), span, span);
      v = l.tensorOf(combined);
      if (!v) return Val::none();
    }
  }
  return Val::ofTensor(plan.write(x, c.broadcastTo(v, plan.resultShape()), mode), span);
}

std::optional<Val> memberOfTensor(Lowering& l, const Val& base, std::string_view name, Span span) {
  if (name != "shape" && name != "ndim" && name != "size" && name != "dtype" && name != "device" && name != "T") {
    return std::nullopt;
  }
  if (base.isTree()) {
    std::vector<ir::Value*> leaves;
    if (name != "device" || !l.leavesOf(base, leaves) || leaves.empty()) return std::nullopt;
    return Val::ofDevice({"", leaves[0]}, span);
  }
  if (!base.is(Val::Kind::Tensor) && !base.isNumber() && !base.is(Val::Kind::Bool) && !base.is(Val::Kind::Array)) {
    return std::nullopt;
  }
  ir::Value* x = l.tensorOf(base);
  if (!x) return Val::none();
  if (name == "shape") return Val::ofPack(x->type.shape, span);
  if (name == "ndim") return Val::ofInt(x->type.rank(), span);
  if (name == "size") return Val::ofInt(x->type.size(), span);
  if (name == "dtype") return Val::ofDType(x->type.dtype, span);
  if (name == "device") return Val::ofDevice({"", x}, span);
  if (x->type.rank() < 2) return Val::ofTensor(x, span);
  l.at(span);
  return Val::ofTensor(ir::Compose(l.b()).swapAxes(x, x->type.rank() - 2, x->type.rank() - 1), span);
}

}  // namespace tenc::frontend
