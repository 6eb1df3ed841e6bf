#include "ir/Views.h"

namespace tenc::ir {

std::vector<int64_t> denseStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

bool isDense(const StridedView& view, std::span<const int64_t> shape) {
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && view.strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

std::optional<std::vector<int64_t>> reshapeStrides(std::span<const int64_t> from, std::span<const int64_t> strides,
                                                   std::span<const int64_t> to) {
  std::vector<int64_t> out(to.size(), 0);
  for (int64_t n : to) {
    if (n == 0) return out;
  }
  std::vector<size_t> source;  // dims that are not 1
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) source.push_back(d);
  }
  size_t s = 0;
  size_t t = 0;
  while (s < source.size()) {
    while (t < to.size() && to[t] == 1) ++t;
    if (t == to.size()) return std::nullopt;
    // The least runs of source and target dims with one product.
    size_t sEnd = s + 1;
    size_t tEnd = t + 1;
    int64_t a = from[source[s]];
    int64_t b = to[t];
    while (a != b) {
      if (a < b) {
        if (sEnd == source.size()) return std::nullopt;
        a *= from[source[sEnd++]];
      } else {
        if (tEnd == to.size()) return std::nullopt;
        b *= to[tEnd++];
      }
    }
    for (size_t i = s; i + 1 < sEnd; ++i) {
      if (strides[source[i]] != strides[source[i + 1]] * from[source[i + 1]]) return std::nullopt;
    }
    int64_t step = strides[source[sEnd - 1]];
    for (size_t i = tEnd; i-- > t;) {
      out[i] = step;
      step *= to[i];
    }
    s = sEnd;
    t = tEnd;
  }
  return out;
}

bool isMemoryView(const Op& op) { return op.kind == OpKind::Reshape || op.kind == OpKind::Slice; }

bool isViewOp(const Op& op) {
  switch (op.kind) {
    case OpKind::Permute:
    case OpKind::Slice:
    case OpKind::Flip:
    case OpKind::Broadcast:
    case OpKind::Reshape: return true;
    default: return false;
  }
}

bool viewThrough(const Op& op, StridedView& view) {
  const Dims &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  switch (op.kind) {
    case OpKind::Permute: {
      std::vector<int64_t> strides;
      for (int64_t d : op.intsAttr("perm")) strides.push_back(view.strides[static_cast<size_t>(d)]);
      view.strides = std::move(strides);
      return true;
    }
    case OpKind::Slice: {
      const auto& starts = op.intsAttr("starts");
      const auto& steps = op.intsAttr("steps");
      for (size_t d = 0; d < from.size(); ++d) {
        view.offset += starts[d] * view.strides[d];
        view.strides[d] *= steps[d];
      }
      return true;
    }
    case OpKind::Flip:
      for (int64_t axis : op.intsAttr("axes")) {
        const auto d = static_cast<size_t>(axis);
        if (from[d] > 0) view.offset += (from[d] - 1) * view.strides[d];
        view.strides[d] = -view.strides[d];
      }
      return true;
    case OpKind::Broadcast: {
      std::vector<int64_t> strides(to.size(), 0);
      const size_t lead = to.size() - from.size();
      for (size_t d = 0; d < from.size(); ++d)
        if (from[d] == to[lead + d]) strides[lead + d] = view.strides[d];
      view.strides = std::move(strides);
      return true;
    }
    case OpKind::Reshape: {
      auto strides = reshapeStrides(from, view.strides, to);
      if (strides) view.strides = std::move(*strides);
      return strides.has_value();
    }
    default: return false;
  }
}

std::optional<StridedView> stridedView(const Value* v, const std::function<bool(const Value*)>& isBase) {
  if (isBase(v)) return StridedView{v, 0, denseStrides(v->type.shape)};
  if (!v->op || !isViewOp(*v->op)) return std::nullopt;
  auto view = stridedView(v->op->operand(0), isBase);
  if (!view || !viewThrough(*v->op, *view)) return std::nullopt;
  return view;
}

}  // namespace tenc::ir
