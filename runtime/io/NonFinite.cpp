#include "runtime/io/NonFinite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "runtime/io/Scalars.h"

namespace tenc::rt {
namespace {

using Shape = std::vector<int64_t>;

int64_t sizeOf(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// Whether one of `count` words has all bits of the exponent, as infinities and NaNs do.
template <typename Word>
bool allFinite(const void* data, size_t count, Word exponent) {
  constexpr size_t kPart = 4096;  // elements between two looks at what was found
  const auto* at = static_cast<const std::byte*>(data);
  for (size_t i = 0; i < count; i += kPart) {
    bool bad = false;
    for (size_t k = i; k < std::min(count, i + kPart); ++k) {
      Word w;
      std::memcpy(&w, at + k * sizeof w, sizeof w);
      bad |= (w & exponent) == exponent;
    }
    if (bad) return false;
  }
  return true;
}

const std::byte* elementAt(const TensorView& t, int64_t i) {
  return static_cast<const std::byte*>(t.data) + i * dtypeSize(t.dtype);
}

double numberAt(const TensorView& t, int64_t i) {
  if (!scalar::isFloat(t.dtype)) return 0;  // any finite number
  return scalar::floatAt(t.dtype, elementAt(t, i)).value;
}

std::string textAt(const TensorView& t, int64_t i) { return formatScalar(t.dtype, elementAt(t, i), ""); }

std::vector<int64_t> indexOf(const Shape& shape, int64_t i) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) index[d] = i % shape[d];
  return index;
}

/// The element of a tensor that NumPy's broadcasting puts at an index.
int64_t broadcastPlace(const Shape& shape, const std::vector<int64_t>& index) {
  int64_t place = 0;
  const size_t hidden = index.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + (shape[d] == 1 ? 0 : index[hidden + d]);
  return place;
}

bool broadcasts(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const size_t hidden = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[hidden + d]) return false;
  }
  return true;
}

bool isReduced(std::span<const int64_t> axes, size_t dim) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(dim)) != axes.end();
}

/// What an element of a result comes from.
class Origin {
 public:
  Origin(const MadeOf& made, int64_t element) : made_(made), index_(indexOf(made.result.shape, element)) {}

  /// Calls `visit` with the place of each element of the operand until one call returns true. Whether one did.
  template <typename Visit>
  bool any(size_t operand, Visit visit) const {
    const Shape& shape = made_.operands[operand].shape;
    const int64_t size = sizeOf(shape);
    if (size == 0) return false;
    switch (made_.origins) {
      case abi::Origins::Elementwise: return visit(broadcastPlace(shape, index_));
      case abi::Origins::Axes: return reduced(shape, visit);
      case abi::Origins::Product: return line(shape, operand, visit);
      case abi::Origins::Whole: break;
    }
    for (int64_t i = 0; i < size; ++i) {
      if (visit(i)) return true;
    }
    return false;
  }

 private:
  template <typename Visit>
  bool reduced(const Shape& shape, Visit visit) const {
    const bool keep = index_.size() == shape.size();
    std::vector<int64_t> at(shape.size(), 0);
    for (size_t d = 0, next = 0; d < shape.size(); ++d) {
      const bool gone = isReduced(made_.axes, d);
      if (!gone) at[d] = index_[next];
      next += !gone || keep ? 1 : 0;
    }
    for (;;) {
      if (visit(broadcastPlace(shape, at))) return true;
      size_t d = shape.size();
      while (d > 0 && (!isReduced(made_.axes, d - 1) || ++at[d - 1] == shape[d - 1])) {
        if (isReduced(made_.axes, d - 1)) at[d - 1] = 0;
        --d;
      }
      if (d == 0) return false;
    }
  }

  template <typename Visit>
  bool line(const Shape& shape, size_t operand, Visit visit) const {
    const size_t rank = shape.size(), axis = operand == 0 ? rank - 1 : rank - 2;
    std::vector<int64_t> at = index_;
    for (at[axis] = 0; at[axis] < shape[axis]; ++at[axis]) {
      int64_t place = 0;
      for (size_t d = 0; d < rank; ++d) place = place * shape[d] + at[d];
      if (visit(place)) return true;
    }
    return false;
  }

  const MadeOf& made_;
  const std::vector<int64_t> index_;
};

/// Whether what the element comes from explains it: a NaN comes from a NaN, an infinity from whatever is not finite.
bool isExplained(const MadeOf& made, int64_t element, double value) {
  const Origin origin(made, element);
  for (size_t k = 0; k < made.operands.size(); ++k) {
    if (!scalar::isFloat(made.operands[k].dtype)) continue;
    const bool found = origin.any(k, [&](int64_t place) {
      const double v = numberAt(made.operands[k], place);
      return std::isnan(value) ? std::isnan(v) : !std::isfinite(v);
    });
    if (found) return true;
  }
  return false;
}

/// "0.0", or of several elements "3 numbers from -1.0 to 4.0"; what is no number is not in their order.
std::string contents(const MadeOf& made, const Origin& origin, size_t operand) {
  const TensorView& t = made.operands[operand];
  int64_t count = 0, least = 0, most = 0;
  origin.any(operand, [&](int64_t place) {
    if (count++ == 0) least = most = place;
    if (numberAt(t, place) < numberAt(t, least)) least = place;
    if (numberAt(t, place) > numberAt(t, most)) most = place;
    return false;
  });
  if (count == 0) return "no elements";
  if (count == 1 || !scalar::isFloat(t.dtype)) {
    return count == 1 ? textAt(t, least) : std::to_string(count) + " integers";
  }
  return std::to_string(count) + " numbers from " + textAt(t, least) + " to " + textAt(t, most);
}

std::string describe(const MadeOf& made, int64_t element) {
  std::string text = "gives " + textAt(made.result, element);
  if (!made.result.shape.empty()) {
    text += " at index [";
    for (const int64_t i : indexOf(made.result.shape, element)) text += std::to_string(i) + ", ";
    text.resize(text.size() - 2);
    text += "]";
  }
  const Origin origin(made, element);
  for (size_t k = 0; k < made.operands.size(); ++k) {
    const bool last = k + 1 == made.operands.size();
    text += k > 0 ? (last ? " and " : ", ") : made.operands.size() == 1 ? ": its operand is " : ": its operands are ";
    text += contents(made, origin, k);
  }
  return text;
}

}  // namespace

bool isFinite(const TensorView& t) {
  const auto count = static_cast<size_t>(sizeOf(t.shape));
  switch (t.dtype) {
    case abi::dtype::F16: return allFinite<uint16_t>(t.data, count, 0x7c00);
    case abi::dtype::BF16: return allFinite<uint16_t>(t.data, count, 0x7f80);
    case abi::dtype::F32: return allFinite<uint32_t>(t.data, count, 0x7f800000);
    case abi::dtype::F64: return allFinite<uint64_t>(t.data, count, 0x7ff0000000000000);
    default: return true;
  }
}

std::string findNonFinite(const MadeOf& made) {
  const int64_t count = sizeOf(made.result.shape);
  bool nansExplained = false, infinitiesExplained = false;  // where all elements come from the same ones
  for (int64_t i = 0; i < count; ++i) {
    const double v = numberAt(made.result, i);
    if (std::isfinite(v)) continue;
    if (made.mask) {
      const int64_t at = broadcastPlace(made.mask->shape, indexOf(made.result.shape, i));
      if ((scalar::read<uint8_t>(elementAt(*made.mask, at)) != 0) != made.selects) continue;
    }
    bool& known = std::isnan(v) ? nansExplained : infinitiesExplained;
    if (known) continue;
    if (!isExplained(made, i, v)) return describe(made, i);
    known = made.origins == abi::Origins::Whole;
  }
  return "";
}

bool trapFits(const abi::Trap& t) {
  const Shape& result = t.result.shape;
  if (t.mask && !broadcasts(t.mask->shape, result)) return false;
  for (size_t k = 0; k < t.operands.size(); ++k) {
    const Shape& shape = t.operands[k].shape;
    if (t.origins == abi::Origins::Elementwise && !broadcasts(shape, result)) return false;
    if (t.origins == abi::Origins::Axes) {
      Shape kept, ones;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (!isReduced(t.axes, d)) kept.push_back(shape[d]);
        ones.push_back(isReduced(t.axes, d) ? 1 : shape[d]);
      }
      if (result != kept && result != ones) return false;
    }
    if (t.origins == abi::Origins::Product) {
      if (k > 1 || shape.size() < 2 || shape.size() != result.size()) return false;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (d != shape.size() - (k == 0 ? 1 : 2) && shape[d] != result[d]) return false;
      }
    }
  }
  return true;
}

}  // namespace tenc::rt
