// Elementwise ops, index maps and indices known at run time only.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "interp/TensorOps.h"
#include "ir/HiddenDims.h"
#include "support/Text.h"

namespace tenc::interp {

using ir::OpKind;

Tensor allocate(ir::Type type) {
  auto bytes = static_cast<size_t>(type.bytes());
  return {std::move(type), std::make_shared<std::vector<std::byte>>(bytes)};
}

Failure unknown(const ir::Op& op) {
  return {Code::E0190, "the interpreter does not know `" + std::string(op.info().mnemonic) + "`"};
}

std::vector<int64_t> stridesOf(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

MaybeFailure elementwise(const ir::Op& op, Operands in, Tensor& out) {
  const ir::DType t = in[op.kind == OpKind::Where ? 1 : 0].type.dtype;
  const int64_t n = out.type.size();
  constexpr int64_t kChunk = 256;
  Number columns[3][kChunk], results[kChunk];
  Fault fault = Fault::None;
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const auto length = static_cast<size_t>(std::min(kChunk, n - begin));
    for (size_t k = 0; k < in.size(); ++k)
      load(in[k].data->data(), in[k].type.dtype, begin, std::span(columns[k], length));
    for (size_t i = 0; i < length; ++i) {
      const Number args[3] = {columns[0][i], columns[1][i], columns[2][i]};
      results[i] = apply(op.kind, t, out.type.dtype, std::span(args, in.size()), fault);
    }
    store(out.data->data(), out.type.dtype, begin, std::span<const Number>(results, length));
    if (fault == Fault::Division) return Failure{Code::E0902, "integer division by zero"};
    if (fault == Fault::UnknownOp) return unknown(op);
    if (fault == Fault::NegativePower) return Failure{Code::E0902, "integer to a negative power"};
  }
  return std::nullopt;
}

namespace {

int64_t flat(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
}

/// Calls `copy(result position, index)` for each element of `shape`.
template <typename Fn>
void forEach(std::span<const int64_t> shape, int64_t count, Fn fn) {
  Odometer o(shape);
  for (int64_t i = 0; i < count; ++i, o.next()) fn(i, o.index());
}

void concat(const ir::Op& op, Operands in, Tensor& out) {
  auto axis = static_cast<size_t>(op.intAttr("axis") < 0 ? op.intAttr("axis") + out.type.rank() : op.intAttr("axis"));
  std::vector<int64_t> strides = stridesOf(out.type.shape);
  int64_t base = 0;
  for (const Tensor& part : in) {
    forEach(part.type.shape, part.type.size(), [&](int64_t i, const std::vector<int64_t>& index) {
      put(out, base * strides[axis] + flat(index, strides), at(part, i));
    });
    base += part.type.shape[axis];
  }
}

void pad(const ir::Op& op, Operands in, Tensor& out) {
  for (int64_t i = 0; i < out.type.size(); ++i) put(out, i, at(in[1], 0));
  const auto& lo = op.intsAttr("lo");
  std::vector<int64_t> strides = stridesOf(out.type.shape);
  int64_t base = flat(lo, strides);
  forEach(in[0].type.shape, in[0].type.size(),
          [&](int64_t i, const std::vector<int64_t>& index) { put(out, base + flat(index, strides), at(in[0], i)); });
}

}  // namespace

MaybeFailure structural(const ir::Op& op, Operands in, Tensor& out) {
  const Tensor& x = in[0];
  const ir::Dims& from = x.type.shape;
  const std::vector<int64_t> strides = stridesOf(from);
  const size_t rank = out.type.shape.size();
  // Each result index reads element base + sum(index * step).
  std::vector<int64_t> step(rank, 0);
  int64_t base = 0;
  switch (op.kind) {
    case OpKind::Concat: concat(op, in, out); return std::nullopt;
    case OpKind::Pad: pad(op, in, out); return std::nullopt;
    case OpKind::Barrier:
    case OpKind::Reshape: out.data = x.data; return std::nullopt;
    case OpKind::Permute:
      for (size_t d = 0; d < rank; ++d) step[d] = strides[static_cast<size_t>(op.intsAttr("perm")[d])];
      break;
    case OpKind::Broadcast:
      for (size_t d = 0; d < from.size(); ++d) step[rank - from.size() + d] = from[d] == 1 ? 0 : strides[d];
      break;
    case OpKind::Slice:
      for (size_t d = 0; d < rank; ++d) {
        base += op.intsAttr("starts")[d] * strides[d];
        step[d] = op.intsAttr("steps")[d] * strides[d];
      }
      break;
    case OpKind::Flip:
      step = strides;
      for (int64_t axis : op.intsAttr("axes")) {
        auto d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
        base += (from[d] - 1) * strides[d];
        step[d] = -strides[d];
      }
      break;
    default: return unknown(op);
  }
  const auto width = static_cast<size_t>(ir::byteSize(x.type.dtype));
  std::byte* to = out.data->data();
  const std::byte* elements = x.data->data();
  forEach(out.type.shape, out.type.size(), [&](int64_t, const std::vector<int64_t>& index) {
    std::memcpy(to, elements + (base + flat(index, step)) * static_cast<int64_t>(width), width);
    to += width;
  });
  return std::nullopt;
}

// ---- run-time indices

namespace {

Failure badIndex(const ir::Op& op, int64_t index, int64_t count, size_t axis, int64_t size) {
  return {Code::E0901, outOfRange(index, count, ir::writtenAxis(op, static_cast<int64_t>(axis)), size)};
}

/// An index as written (negative from the end) or nullopt when out of range for `count` elements from it on.
std::optional<int64_t> resolve(int64_t index, int64_t extent, int64_t count) {
  if (index < 0) index += extent;
  if (index < 0 || index > extent - count) return std::nullopt;
  return index;
}

int64_t indexAt(const Tensor& t, int64_t i) {
  Number n = at(t, i);
  bool huge = t.type.dtype == ir::DType::U64 && n.i < 0;
  return huge ? INT64_MAX : n.i;
}

}  // namespace

MaybeFailure gatherPositions(const ir::Op& op, const ir::Type& whole, Operands indices, const ir::Dims& shape,
                             std::vector<int64_t>& positions) {
  const auto& axes = op.intsAttr("axes");
  const auto place = static_cast<size_t>(op.intAttr("at"));
  const ir::Dims& indexShape = indices[0].type.shape;
  const std::vector<int64_t> strides = stridesOf(whole.shape), indexStrides = stridesOf(indexShape);
  std::vector<size_t> others;
  std::vector<bool> gathered(whole.shape.size(), false);
  for (int64_t a : axes) gathered[static_cast<size_t>(a)] = true;
  for (size_t d = 0; d < whole.shape.size(); ++d)
    if (!gathered[d]) others.push_back(d);

  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  positions.resize(static_cast<size_t>(count));
  Odometer o(shape);
  // Of several that are out of range the least on the first axis is told, as kernels do, which take them in no order.
  std::optional<std::pair<size_t, int64_t>> bad;
  for (int64_t i = 0; i < count; ++i, o.next()) {
    const std::vector<int64_t>& index = o.index();
    int64_t position = 0, where = 0;
    for (size_t d = 0; d < indexShape.size(); ++d) where += index[place + d] * indexStrides[d];
    for (size_t k = 0; k < others.size(); ++k)
      position += index[k < place ? k : k + indexShape.size()] * strides[others[k]];
    for (size_t k = 0; k < axes.size(); ++k) {
      auto axis = static_cast<size_t>(axes[k]);
      int64_t asked = indexAt(indices[k], where);
      auto found = resolve(asked, whole.shape[axis], 1);
      if (asked < 0 && op.boolAttr("from_start")) found.reset();
      if (!found && (!bad || std::pair(axis, asked) < *bad)) bad = {axis, asked};
      if (!found) continue;
      position += *found * strides[axis];
    }
    positions[static_cast<size_t>(i)] = position;
  }
  if (bad) return badIndex(op, bad->second, 1, bad->first, whole.shape[bad->first]);
  return std::nullopt;
}

namespace {

Number combine(const std::string& mode, ir::DType t, Number old, Number update) {
  OpKind kind = OpKind::Add;
  if (mode.empty() || mode == "set") return update;
  if (mode == "mul") kind = OpKind::Mul;
  if (mode == "max") kind = OpKind::Max;
  if (mode == "min") kind = OpKind::Min;
  Number args[2] = {old, update};
  Fault fault = Fault::None;
  return apply(kind, t, t, args, fault);
}

/// The first element of a block of `sizes` (along `axes`) whose starts are rank-0 tensors.
MaybeFailure blockStart(const ir::Op& op, const ir::Dims& whole, Operands starts, const ir::Dims& block,
                        int64_t& base) {
  const auto& axes = op.intsAttr("axes");
  const std::vector<int64_t> strides = stridesOf(whole);
  base = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    auto axis = static_cast<size_t>(axes[k]);
    int64_t asked = indexAt(starts[k], 0);
    auto found = resolve(asked, whole[axis], block[axis]);
    if (!found) return badIndex(op, asked, block[axis], axis, whole[axis]);
    base += *found * strides[axis];
  }
  return std::nullopt;
}

}  // namespace

MaybeFailure indexed(const ir::Op& op, Operands in, Tensor& out) {
  const Tensor& whole = in[0];
  const std::vector<int64_t> strides = stridesOf(whole.type.shape);
  // In place when nobody else sees the old elements.
  auto copyWhole = [&] {
    out.data = whole.data.use_count() == 1 ? whole.data : std::make_shared<std::vector<std::byte>>(*whole.data);
  };
  switch (op.kind) {
    case OpKind::Gather: {
      std::vector<int64_t> positions;
      if (auto f = gatherPositions(op, whole.type, in.subspan(1), out.type.shape, positions)) return f;
      for (size_t i = 0; i < positions.size(); ++i) put(out, static_cast<int64_t>(i), at(whole, positions[i]));
      return std::nullopt;
    }
    case OpKind::ReadRows: {
      const int64_t first = op.intAttr("first"), count = op.intAttr("count"), numbers = in[1].type.size();
      const int64_t row = whole.type.size() / whole.type.shape[0];
      std::optional<int64_t> bad;
      for (int64_t i = 0; i < numbers; ++i) {
        const int64_t asked = at(in[1], i).i;
        const auto found = resolve(asked, count, 1);
        if (!found) bad = std::min(bad.value_or(asked), asked);
        for (int64_t k = 0; found && k < row; ++k) put(out, i * row + k, at(whole, (first + *found) * row + k));
      }
      if (bad) return badIndex(op, *bad, 1, 0, count);
      return std::nullopt;
    }
    case OpKind::Scatter: {
      std::vector<int64_t> positions;
      if (auto f = gatherPositions(op, whole.type, in.subspan(2), in[1].type.shape, positions)) return f;
      copyWhole();
      for (size_t i = 0; i < positions.size(); ++i)
        put(out, positions[i],
            combine(op.stringAttr("mode"), out.type.dtype, at(out, positions[i]), at(in[1], static_cast<int64_t>(i))));
      return std::nullopt;
    }
    case OpKind::DynamicSlice: {
      if (out.type.size() == 0) return std::nullopt;  // nothing is read, so nothing is out of range
      int64_t base = 0;
      if (auto f = blockStart(op, whole.type.shape, in.subspan(1), out.type.shape, base)) return f;
      forEach(out.type.shape, out.type.size(), [&](int64_t i, const std::vector<int64_t>& index) {
        put(out, i, at(whole, base + flat(index, strides)));
      });
      return std::nullopt;
    }
    case OpKind::DynamicUpdate: {
      if (in[1].type.size() == 0) {
        copyWhole();
        return std::nullopt;
      }
      int64_t base = 0;
      if (auto f = blockStart(op, whole.type.shape, in.subspan(2), in[1].type.shape, base)) return f;
      copyWhole();
      forEach(in[1].type.shape, in[1].type.size(), [&](int64_t i, const std::vector<int64_t>& index) {
        put(out, base + flat(index, strides), at(in[1], i));
      });
      return std::nullopt;
    }
    case OpKind::UpdateSlice: {
      copyWhole();
      int64_t base = flat(op.intsAttr("starts"), strides);
      std::vector<int64_t> step = strides;
      for (size_t d = 0; d < step.size(); ++d) step[d] *= op.intsAttr("steps")[d];
      forEach(in[1].type.shape, in[1].type.size(),
              [&](int64_t i, const std::vector<int64_t>& index) { put(out, base + flat(index, step), at(in[1], i)); });
      return std::nullopt;
    }
    default: return unknown(op);
  }
}

}  // namespace tenc::interp
