// Reads and updates of x[...] as slices, windows, gathers and scatters.
#include "frontend/expressions/IndexPlan.h"

#include <algorithm>
#include <limits>

#include "frontend/values/Literals.h"
#include "ir/Ir.h"

namespace tenc::frontend {

namespace {
using ir::Dims;
using ir::DType;
using ir::OpKind;
}  // namespace

bool IndexPlan::prepare(Span span) {
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

ir::Value* IndexPlan::read(ir::Value* base) {
  ir::Value* v = readWindows(readSlice(base));
  if (!axes_.empty()) v = c_.gather(v, indices_, axes_, at_);
  return c_.reshape(v, result_);
}

ir::Value* IndexPlan::write(ir::Value* base, ir::Value* value, const std::string& mode) {
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

bool IndexPlan::gathered(const Step& s) const {
  return s.kind == Step::Kind::Scalar || s.kind == Step::Kind::Tensor || (dynamic_ && s.kind == Step::Kind::At);
}

void IndexPlan::layOut() {
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

ir::Value* IndexPlan::readSlice(ir::Value* base) {
  Dims starts, sizes, steps;
  sliceAttrs(starts, sizes, steps);
  return c_.slice(base, starts, sizes, steps);
}

void IndexPlan::sliceAttrs(Dims& starts, Dims& sizes, Dims& steps) {
  starts.assign(base_.shape.size(), 0);
  sizes = base_.shape;
  steps.assign(base_.shape.size(), 1);
  for (const Step& s : steps_) {
    if (gathered(s) || (s.kind != Step::Kind::Slice && s.kind != Step::Kind::At)) continue;
    starts[s.dim] = s.start, sizes[s.dim] = s.size, steps[s.dim] = s.step;
  }
}

Dims IndexPlan::slicedShape() {
  Dims starts, sizes, steps;
  sliceAttrs(starts, sizes, steps);
  return sizes;
}

ir::Value* IndexPlan::readWindows(ir::Value* v) {
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

ir::Value* IndexPlan::putWindows(ir::Value* whole, ir::Value* part) {
  Dims axes;
  std::vector<ir::Value*> operands = {whole, part};
  for (const Step& s : steps_) {
    if (s.kind != Step::Kind::Window) continue;
    axes.push_back(s.dim);
    operands.push_back(s.index);
  }
  return context_.b().value(OpKind::DynamicUpdate, sameDType(operands, 2), {{"axes", axes}});
}

ir::Value* IndexPlan::inDType(ir::Value* v, DType t) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (v->type.dtype == DType::U64 && t != DType::U64) v = c_.binary(OpKind::Min, v, c_.literalInt(v, kMost));
  return c_.cast(v, t);
}

std::vector<ir::Value*> IndexPlan::sameDType(std::vector<ir::Value*> operands, size_t from) {
  bool same = std::all_of(operands.begin() + static_cast<int64_t>(from), operands.end(),
                          [&](ir::Value* v) { return v->type.dtype == operands[from]->type.dtype; });
  for (size_t i = from; !same && i < operands.size(); ++i) operands[i] = inDType(operands[i], DType::I64);
  return operands;
}

ir::Value* IndexPlan::putSlice(ir::Value* base, ir::Value* part) {
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

ir::Value* IndexPlan::writeBlock(ir::Value* base, ir::Value* value) {
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

ir::Value* IndexPlan::scatter(ir::Value* base, ir::Value* value, const std::string& mode) {
  Dims update;
  for (int64_t d = 0; d < base->type.rank(); ++d) {
    if (std::find(axes_.begin(), axes_.end(), d) == axes_.end()) update.push_back(base->type.shape[d]);
  }
  update.insert(update.begin() + at_, shape_.begin(), shape_.end());
  std::vector<ir::Value*> operands = {base, c_.reshape(value, update)};
  operands.insert(operands.end(), indices_.begin(), indices_.end());
  return context_.b().value(OpKind::Scatter, operands, {{"axes", axes_}, {"at", at_}, {"mode", mode}});
}

}  // namespace tenc::frontend
