// Compositions of IR ops: what the built-ins are made of. Shapes and dtypes are right when these are called (the
// built-ins check and report first); every function here only makes ops. Axes are non-negative.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/Module.h"

namespace tenc::ir {

class Compose {
 public:
  using V = Value*;
  using Dims = Dims;
  explicit Compose(Builder& builder) : b(builder) {}

  // ---- elementwise; operands broadcast to one shape
  V unary(OpKind kind, V x) { return b.value(kind, {x}); }
  V binary(OpKind kind, V x, V y);
  /// The square root of a sum of squares, a length: with derivative 0 where it is 0.
  V length(V squares) { return b.value(OpKind::Sqrt, {squares}, {{kFlatAtZero, true}}); }
  /// x ** p, with derivative 0 by x where x is 0: a part of a norm.
  V flatPower(V x, double p) {
    return b.value(OpKind::Pow, {x, b.broadcastTo(literal(x, p), x->type.shape)}, {{kFlatAtZero, true}});
  }
  static constexpr std::string_view kFlatAtZero = "derivative.flat_at_zero";
  /// A literal of x's dtype: rank 0, free, broadcast by whatever uses it.
  V literal(V x, double value);
  V literalInt(V x, int64_t value) { return b.scalarInt(x->type.dtype, value); }
  V binary(OpKind kind, V x, double y) { return binary(kind, x, literal(x, y)); }
  V add(V x, V y) { return binary(OpKind::Add, x, y); }
  V sub(V x, V y) { return binary(OpKind::Sub, x, y); }
  V mul(V x, V y) { return binary(OpKind::Mul, x, y); }
  V div(V x, V y) { return binary(OpKind::Div, x, y); }
  V where(V c, V x, V y);
  V clamp(V x, V lo, V hi) { return binary(OpKind::Min, binary(OpKind::Max, x, lo), hi); }
  V cast(V x, DType t);
  /// The largest, or least, value of a dtype: infinities for floats.
  V extreme(DType t, bool largest);
  /// Integers under 64 bits become i64 or u64, bool becomes i64, as sums give.
  V widen(V x);

  // ---- counting
  /// A step of rank 0 where it is not 0; the program stops there as a counted loop with it does.
  V checkedStep(V step);
  /// i + step of a loop from below `hi` by positive steps; `hi` where the sum would be beyond the largest integer.
  V nextIndex(V i, V hi, V step);

  // ---- reductions
  V reduce(OpKind kind, V x, const Dims& axes, bool keep);
  /// Number of elements along the axes.
  static int64_t count(const Type& t, const Dims& axes);
  static Dims allAxes(const Type& t);
  /// Elements of a shape; 0 where they cannot be counted, which the Builder has reported or will.
  static int64_t sizeOf(std::span<const int64_t> shape) { return elementCount(shape).value_or(0); }

  // ---- structure
  V reshape(V x, const Dims& shape);
  V broadcastTo(V x, const Dims& shape) { return b.broadcastTo(x, shape); }
  V permute(V x, const Dims& perm);
  V swapAxes(V x, int64_t a, int64_t c);
  V moveAxis(V x, int64_t from, int64_t to);
  V expandDims(V x, int64_t axis);
  V squeeze(V x, int64_t axis);
  V slice(V x, const Dims& starts, const Dims& sizes, const Dims& steps);
  /// `size` elements along one axis from `start` on, every `step`-th.
  V sliceAxis(V x, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
  V concat(const std::vector<V>& parts, int64_t axis);
  V stack(const std::vector<V>& parts, int64_t axis);
  V flip(V x, const Dims& axes);
  V padWith(V x, V value, const Dims& lo, const Dims& hi);
  /// Elements at compile-time places along an axis, made of slices, repeats and one concat.
  V takeStatic(V x, int64_t axis, const std::vector<int64_t>& places);
  V tile(V x, Dims times);
  V repeat(V x, int64_t times, int64_t axis);
  V roll(V x, int64_t by, int64_t axis);
  /// The diagonal of the last two dims.
  V diagonal(V x, int64_t offset);
  /// [..., n] on the diagonal of [..., n + |offset|, n + |offset|], zeros elsewhere.
  V diagonalMatrix(V x, int64_t offset);
  /// The lower (or upper) triangle of the last two dims, zeros elsewhere.
  V triangle(V x, int64_t k, bool lower);
  /// Windows of a padded input: [..., *outer] becomes [..., *windows, *window]; the last window.size() dims are
  /// unfolded. `lo`, `hi` zeros are padded first.
  struct Windows {
    Dims size, stride, lo, hi, dilation;
  };
  static Dims windowCounts(const Type& t, const Windows& w);
  V unfold(V x, const Windows& w, V padValue);
  /// The windows combined by an elementwise op: Max or Add.
  V pool(OpKind kind, V x, const Windows& w, V padValue);
  struct Chosen {
    V values;
    V places;
  };
  /// The largest of each window, and its place, i64, in row-major order of the unpadded dims: the first one of equals,
  /// NaN before all.
  Chosen poolPlaces(V x, const Windows& w);

  // ---- creation on the device of another value
  /// What `make` makes, where the first of `like` that is not free lives.
  V madeOn(const std::vector<V>& like, const std::function<V(Builder&)>& make);
  V iotaOn(V like, const Dims& shape, DType t, int64_t axis);
  /// Where `like` lives or, when that is a free value, `otherwise`.
  V fillOn(V like, const Dims& shape, V value, V otherwise = nullptr);

  /// A tensor in its own right. A value of rank 0 in another shape goes where it is used; as the result of an
  /// expression it has a place, as what `full` makes.
  V asTensor(V x);
  /// The value of rank 0 that `x` is in another shape; `x` itself where it is none.
  static V withoutShape(V x);

  // ---- products
  /// How NumPy's matmul of two shapes is one `matmul` op: the operands are reshaped, broadcast over the batch and
  /// multiplied, and the product is reshaped to `out`. Batch dims that the right operand lacks (or has once) are rows
  /// of the left: `[B, N, I] @ [I, O]` is one product of B * N rows.
  struct ProductPlan {
    Dims left, right;  ///< shapes of the operands before they are broadcast: batch dims of their own, then a matrix
    Dims batch;        ///< common batch dims; empty when there is one product only
    Dims out;
    /// `left` or `right` broadcast over the batch.
    Dims spread(const Dims& operand) const;
  };
  /// nullopt where inner dims differ, batch dims do not broadcast, or an operand has no dim.
  static std::optional<ProductPlan> planProduct(Dims x, Dims y);
  /// NumPy's matmul: 1-D operands, broadcast batch dims. The one lowering of every matrix product.
  V matmul(V x, V y);
  V tensordot(V x, V y, const Dims& xAxes, const Dims& yAxes);
  /// Letters of each operand (one a dim, no ellipsis) and of the result.
  V einsum(std::vector<V> operands, std::vector<std::string> letters, const std::string& out);
  V cross(V x, V y, int64_t axis);
  /// [N, C, *spatial] * [O, C / groups, *window]; the number of spatial dims is w.size.size().
  V convolution(V x, V weight, const Windows& w, int64_t groups);
  /// The adjoint of convolution: weight is [C, O / groups, *window].
  V convolutionTranspose(V x, V weight, const Windows& w, const Dims& outputPadding, int64_t groups);

  // ---- activations
  V relu(V x) { return binary(OpKind::Max, x, literal(x, 0)); }
  V softplus(V x);
  V silu(V x) { return mul(x, unary(OpKind::Sigmoid, x)); }
  V mish(V x);
  V hardSigmoid(V x);
  V elu(V x, V alpha);
  V celu(V x, V alpha);
  V selu(V x);
  V leakyRelu(V x, V slope);
  V softsign(V x);

  V hardTanh(V x) { return clamp(x, literal(x, -1), literal(x, 1)); }
  V hardSwish(V x) { return mul(x, hardSigmoid(x)); }

  // ---- indexed
  /// operand 0 along `axis` by an index of x's rank: NumPy's take_along_axis.
  V takeAlong(V x, V places, int64_t axis);
  /// Index operands that name every element of `places` along all axes of a tensor of its rank.
  std::vector<V> alongIndices(V places, int64_t axis);
  V gather(V x, std::vector<V> indices, const Dims& axes, int64_t at);

  // ---- scans and order, along one axis
  /// Running results; mode add, mul, max or min.
  V cumulate(const std::string& mode, V x, int64_t axis, bool reverse, bool exclusive);
  /// Inclusive scan with an associative op, log-step (Hillis and Steele 1986): the order is fixed by the length.
  V scan(OpKind kind, V x, int64_t axis, bool reverse);
  /// Stable; NaN is the largest. `argsort` gives i64 places.
  V sort(V x, int64_t axis, bool descending);
  V argsort(V x, int64_t axis, bool descending);
  Chosen topk(V x, int64_t k, int64_t axis, bool largest);
  /// How many elements of the sorted `sorted` are < x (or <= x when `right`), i64. It is 1-D, or its rows are sorted,
  /// of which x has as many.
  V searchSorted(V sorted, V x, bool right);

  Builder& b;
};

}  // namespace tenc::ir
