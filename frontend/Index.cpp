// Indexing as in NumPy: reads and updates of x[...] as slices, windows, gathers and scatters.
#include <algorithm>
#include <string>

#include "frontend/Compose.h"
#include "frontend/Lowering.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// One subscript with its dim of the base. `Whole` is a slice of the whole dim.
struct Step {
  enum class Kind : uint8_t { At, Scalar, Tensor, Slice, Window, New } kind = Kind::Slice;
  int64_t dim = -1;             ///< -1 for New
  int64_t start = 0, size = 1;  ///< At, Slice; Window: size
  int64_t step = 1;
  ir::Value* index = nullptr;  ///< Scalar, Tensor; Window: start
  Span span;
};

std::string number(int64_t i) { return std::to_string(i); }

/// Reads the subscripts of one index expression against a base type.
class Subscripts {
 public:
  Subscripts(Lowering& l, const ir::Type& base, const ast::Expr& e) : l_(l), base_(base), e_(e) {}

  std::vector<Step> steps;

  bool read() {
    int64_t used = 0, ellipses = 0;
    for (const ast::Subscript& s : e_.subscripts) {
      if (s.kind == ast::Subscript::Kind::Ellipsis)
        ++ellipses;
      else if (s.kind != ast::Subscript::Kind::New)
        ++used;
    }
    if (ellipses > 1) return refuse(Code::E0205, e_.span, "an index has at most one `...`");
    int64_t spare = base_.rank() - used;
    if (spare < 0) {
      return refuse(
          Code::E0205, e_.span,
          number(used) + " indices for a tensor of " + number(base_.rank()) + " dims, " + ir::toString(base_));
    }
    bool ok = true;
    for (const ast::Subscript& s : e_.subscripts) {
      switch (s.kind) {
        case ast::Subscript::Kind::Ellipsis: whole(spare); break;
        case ast::Subscript::Kind::New: {
          Step n;
          n.kind = Step::Kind::New;
          steps.push_back(n);
          break;
        }
        case ast::Subscript::Kind::Index: ok = index(s) && ok; break;
        case ast::Subscript::Kind::Slice: ok = slice(s) && ok; break;
        case ast::Subscript::Kind::Window: ok = window(s) && ok; break;
      }
    }
    if (ellipses == 0) whole(spare);
    return ok;
  }

  /// Where the indexed tensor and the indices stand.
  std::vector<ir::OperandText> written() const {
    std::vector<ir::OperandText> list = {{e_.args[0]->span, ""}};
    for (const ast::Subscript& s : e_.subscripts)
      for (const auto* part : {s.index.get(), s.lo.get(), s.hi.get(), s.step.get()})
        if (part) list.push_back({part->span, ""});
    return list;
  }

 private:
  bool refuse(Code code, Span span, std::string message) {
    l_.error(code, span, std::move(message));
    return false;
  }

  Step& add(Step::Kind kind, Span span) {
    Step s;
    s.kind = kind;
    s.dim = dim_++;
    s.span = span;
    steps.push_back(s);
    return steps.back();
  }

  void whole(int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      Step& s = add(Step::Kind::Slice, e_.span);
      s.size = base_.shape[s.dim];
    }
  }

  bool inRange(int64_t i, int64_t n, Span span) {
    if (i >= -n && i < n) return true;
    return refuse(Code::E0205, span,
                  "index " + number(i) + " is out of range for dim " + number(dim_ - 1) + " of " + ir::toString(base_));
  }

  /// Literal numbers of an index array are checked here; deeper arrays too.
  bool literalsInRange(const Val& v, int64_t n) {
    if (v.is(Val::Kind::Int)) return inRange(static_cast<int64_t>(v.integer), n, v.span);
    if (!v.is(Val::Kind::Array)) return true;
    return std::all_of(v.elems.begin(), v.elems.end(), [&](const Val& e) { return literalsInRange(e, n); });
  }

  bool index(const ast::Subscript& s) {
    Val v = l_.eval(*s.index);
    Step& step = add(Step::Kind::At, s.span);
    if (v.poison()) return false;
    int64_t n = base_.shape[step.dim];
    if (v.is(Val::Kind::Int)) {
      auto i = l_.constInt(v, "an index");
      if (!i || !inRange(*i, n, s.span)) return false;
      step.start = *i < 0 ? *i + n : *i;
      return true;
    }
    if (v.is(Val::Kind::Float)) return refuse(Code::E0201, s.span, "an index must be an integer, not a float");
    if (v.is(Val::Kind::Array) && v.elems.empty()) v = Val::ofPack({}, v.span);
    if (!literalsInRange(v, n)) return false;
    ir::Value* t = l_.tensorOf(v);
    if (!t) return false;
    if (t->type.dtype == DType::Bool) {
      l_.error(Code::E0210, s.span, "an index of bools gives a shape that depends on run-time values")
          .help(
              "keep the shape: `where(mask, x, other)`; for an update `v = where(mask, value, v)`; for places `topk` "
              "or `argsort`");
      return false;
    }
    if (!ir::isInt(t->type.dtype)) {
      l_.error(Code::E0201, s.span, "an index must be of integers, not " + ir::toString(t->type))
          .help("convert it: `i64(...)`");
      return false;
    }
    step.kind = t->type.rank() == 0 ? Step::Kind::Scalar : Step::Kind::Tensor;
    step.index = t;
    return true;
  }

  /// A slice bound: nullopt after an error; `otherwise` when it is not written.
  std::optional<int64_t> bound(const ast::ExprPtr& e, int64_t otherwise) {
    if (!e) return otherwise;
    Val v = l_.eval(*e);
    if (v.is(Val::Kind::Tensor) && v.tensor->type.rank() == 0) {
      l_.error(Code::E0210, e->span, "the bounds of a slice must be known while compiling, or its length is not")
          .help("for a run-time start and a fixed length write `x[i :+ length]`");
      return std::nullopt;
    }
    return l_.constInt(v, "a slice bound");
  }

  bool slice(const ast::Subscript& s) {
    Step& step = add(Step::Kind::Slice, s.span);
    int64_t n = base_.shape[step.dim];
    auto by = bound(s.step, 1);
    if (by && *by == 0) return refuse(Code::E0205, s.span, "the step of a slice cannot be 0");
    bool back = by && *by < 0;
    auto lo = bound(s.lo, back ? n - 1 : 0);
    auto hi = lo ? bound(s.hi, back ? -n - 1 : n) : std::nullopt;  // one report of two run-time bounds
    if (!by || !lo || !hi) return false;
    auto clamped = [&](int64_t i, const ast::ExprPtr& written) {
      int64_t least = back ? -1 : 0, most = back ? n - 1 : n;
      int64_t at = i < 0 ? i + n : i;
      if (written && (at > n || at < 0)) {
        l_.warning(Code::W0201, written->span,
                   "slice bound " + number(i) + " is beyond dim " + number(step.dim) + " of " + ir::toString(base_) +
                       " and is clamped");
      }
      return std::clamp(at, least, most);
    };
    int64_t first = clamped(*lo, s.lo), end = s.hi ? clamped(*hi, s.hi) : (back ? -1 : n);
    int64_t span = back ? first - end : end - first, stride = back ? -*by : *by;
    step.start = first;
    step.step = *by;
    step.size = span <= 0 ? 0 : (span - 1) / stride + 1;
    if (step.size == 0) step.start = 0, step.step = 1;
    return true;
  }

  bool window(const ast::Subscript& s) {
    Step& step = add(Step::Kind::Window, s.span);
    int64_t n = base_.shape[step.dim];
    Val start = l_.eval(*s.index);
    auto size = l_.constInt(l_.eval(*s.size), "the length of a window");
    if (!size || start.poison()) return false;
    if (*size < 0 || *size > n) {
      return refuse(
          Code::E0205, s.span,
          "a window of " + number(*size) + " does not fit in dim " + number(step.dim) + " of " + ir::toString(base_));
    }
    step.size = *size;
    if (start.is(Val::Kind::Int)) {
      auto i = l_.constInt(start, "the start of a window");
      if (!i) return false;
      int64_t at = *i < 0 ? *i + n : *i;
      if (at < 0 || at + *size > n) {
        return refuse(Code::E0205, s.span,
                      "the window of " + number(*size) + " from " + number(*i) + " leaves dim " + number(step.dim) +
                          " of " + ir::toString(base_));
      }
      step.kind = Step::Kind::Slice;
      step.start = at;
      return true;
    }
    step.index = l_.tensorOf(start);
    if (!step.index) return false;
    if (step.index->type.rank() != 0 || !ir::isInt(step.index->type.dtype)) {
      return refuse(Code::E0203, s.span,
                    "the start of a window must be one integer, not " + ir::toString(step.index->type));
    }
    return true;
  }

  Lowering& l_;
  const ir::Type& base_;
  const ast::Expr& e_;
  int64_t dim_ = 0;
};

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
    for (const Step& s : steps_) {
      if (!gathered(s)) continue;
      ir::Value* i = s.index ? c_.cast(s.index, dtype) : l_.b().scalarInt(dtype, s.start);
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
      if (!arrays_ && !(axes_.size() == base_.shape.size())) {
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
      } else if (s.kind != Step::Kind::At) {
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

  std::vector<ir::Value*> sameDType(std::vector<ir::Value*> operands, size_t from = 1) {
    bool same = std::all_of(operands.begin() + static_cast<int64_t>(from), operands.end(),
                            [&](ir::Value* v) { return v->type.dtype == operands[from]->type.dtype; });
    for (size_t i = from; !same && i < operands.size(); ++i) operands[i] = c_.cast(operands[i], DType::I64);
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
  Compose c_;
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
  Compose c(l.b());
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
  return Val::ofTensor(Compose(l.b()).swapAxes(x, x->type.rank() - 2, x->type.rank() - 1), span);
}

}  // namespace tenc::frontend
