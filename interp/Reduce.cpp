// Reductions, row-wise ops and matrix products. Floats accumulate in long double (reductions) or double (products of
// narrower floats), so that these are the reference values and not one rounding order among others.
#include <cmath>
#include <limits>
#include <set>

#include "interp/TensorOps.h"

namespace tenc::interp {

Groups groupsOf(const ir::Type& t, const std::vector<int64_t>& axesAttr) {
  std::set<size_t> axes;
  for (int64_t a : axesAttr) axes.insert(static_cast<size_t>(a < 0 ? a + t.rank() : a));
  const std::vector<int64_t> strides = stridesOf(t.shape);
  ir::Dims kept, reduced;
  std::vector<int64_t> keptSteps, reducedSteps;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    (axes.count(d) ? reduced : kept).push_back(t.shape[d]);
    (axes.count(d) ? reducedSteps : keptSteps).push_back(strides[d]);
  }
  Groups g;
  g.count = *ir::elementCount(kept);
  g.length = *ir::elementCount(reduced);
  g.members.reserve(static_cast<size_t>(g.count * g.length));
  auto offset = [](const std::vector<int64_t>& index, const std::vector<int64_t>& steps) {
    int64_t at = 0;
    for (size_t d = 0; d < steps.size(); ++d) at += index[d] * steps[d];
    return at;
  };
  Odometer outer(kept);
  for (int64_t i = 0; i < g.count; ++i, outer.next()) {
    int64_t base = offset(outer.index(), keptSteps);
    Odometer inner(reduced);
    for (int64_t j = 0; j < g.length; ++j, inner.next())
      g.members.push_back(base + offset(inner.index(), reducedSteps));
  }
  return g;
}

namespace {

using ir::DType;
using ir::OpKind;

using Real = long double;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

/// The first of the best elements; NaN is best.
int64_t best(const Tensor& x, const int64_t* members, int64_t length, int wanted) {
  int64_t found = 0;
  const DType t = x.type.dtype;
  for (int64_t j = 1; j < length; ++j) {
    Number a = at(x, members[j]), b = at(x, members[found]);
    if (ir::isFloat(t) && std::isnan(b.f)) break;
    if ((ir::isFloat(t) && std::isnan(a.f)) || compare(a, b, t) == wanted) found = j;
  }
  return found;
}

Number extreme(const Tensor& x, const int64_t* members, int64_t length, bool largest) {
  if (length > 0) {
    Number found = at(x, members[0]);
    for (int64_t j = 1; j < length; ++j) found = extremeOf(found, at(x, members[j]), x.type.dtype, largest);
    return found;
  }
  if (ir::isFloat(x.type.dtype))
    return {largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(), 0};
  return {0, x.type.dtype == DType::Bool ? !largest : 0};
}

Number total(OpKind kind, const Tensor& x, const int64_t* members, int64_t length, DType result) {
  if (ir::isFloat(x.type.dtype)) {
    Real sum = kind == OpKind::Prod ? 1 : 0;
    for (int64_t j = 0; j < length; ++j) {
      if (kind == OpKind::Prod)
        sum *= at(x, members[j]).f;
      else
        sum += at(x, members[j]).f;
    }
    if (kind == OpKind::Mean) sum /= static_cast<Real>(length);
    return {roundTo(result, sum), 0};
  }
  uint64_t sum = kind == OpKind::Prod ? 1 : 0;
  for (int64_t j = 0; j < length; ++j) {
    auto v = static_cast<uint64_t>(at(x, members[j]).i);
    sum = kind == OpKind::Prod ? sum * v : sum + v;
  }
  return {0, wrapTo(result, static_cast<int64_t>(sum))};
}

bool anyTrue(const Tensor& x, const int64_t* members, int64_t length, bool wanted) {
  for (int64_t j = 0; j < length; ++j)
    if ((at(x, members[j]).i != 0) == wanted) return true;
  return false;
}

Real largest(const std::vector<Real>& row) {
  Real most = -kInfinity;
  for (Real v : row) most = std::isnan(v) || std::isnan(most) ? v + most : std::fmax(most, v);
  return most;
}

Real mean(const std::vector<Real>& row) {
  Real sum = 0;
  for (Real v : row) sum += v;
  return sum / static_cast<Real>(row.size());
}

Real squaredDeviations(const std::vector<Real>& row) {
  Real m = mean(row), sum = 0;
  for (Real v : row) sum += (v - m) * (v - m);
  return sum;
}

Real sumExp(const std::vector<Real>& row, Real most) {
  Real sum = 0;
  for (Real v : row) sum += std::exp(v - most);
  return sum;
}

Real logSumExp(const std::vector<Real>& row) {
  Real most = largest(row);
  return std::isfinite(most) ? most + std::log(sumExp(row, most)) : most;
}

Real gelu(Real x, bool tanhForm) {
  constexpr Real kSqrtHalf = 0.707106781186547524400844362104849039L;
  constexpr Real kSqrtTwoOverPi = 0.797884560802865355879892119868763737L;
  if (tanhForm) return x / 2 * (1 + std::tanh(kSqrtTwoOverPi * (x + 0.044715L * x * x * x)));
  return x / 2 * std::erfc(-x * kSqrtHalf);
}

}  // namespace

MaybeFailure reduction(const ir::Op& op, const Tensor& x, Tensor& out) {
  Groups g = groupsOf(x.type, op.intsAttr("axes"));
  for (int64_t i = 0; i < g.count; ++i) {
    const int64_t* m = g.members.data() + i * g.length;
    switch (op.kind) {
      case OpKind::ReduceMax: put(out, i, extreme(x, m, g.length, true)); break;
      case OpKind::ReduceMin: put(out, i, extreme(x, m, g.length, false)); break;
      case OpKind::Any: put(out, i, {0, anyTrue(x, m, g.length, true)}); break;
      case OpKind::All: put(out, i, {0, !anyTrue(x, m, g.length, false)}); break;
      case OpKind::ArgMax: put(out, i, {0, best(x, m, g.length, 1)}); break;
      case OpKind::ArgMin: put(out, i, {0, best(x, m, g.length, -1)}); break;
      case OpKind::Sum:
      case OpKind::Prod: put(out, i, total(op.kind, x, m, g.length, out.type.dtype)); break;
      default: return unknown(op);
    }
  }
  return std::nullopt;
}

namespace {

/// A running result; floats are kept in long double and rounded where they are read.
class Running {
 public:
  Running(const std::string& mode, DType t) : mode_(mode), t_(t) { clear(); }

  void clear() {
    real_ = mode_ == "mul" ? 1 : -0.0L;
    number_ = {0, mode_ == "mul" ? 1 : 0};
    started_ = false;
  }
  void add(Number v) {
    const bool extremes = mode_ == "max" || mode_ == "min";
    if (extremes) {
      number_ = started_ ? extremeOf(number_, v, t_, mode_ == "max") : v;
    } else if (ir::isFloat(t_)) {
      real_ = mode_ == "mul" ? real_ * v.f : real_ + v.f;
    } else {
      auto a = static_cast<uint64_t>(number_.i), b = static_cast<uint64_t>(v.i);
      number_.i = wrapTo(t_, static_cast<int64_t>(mode_ == "mul" ? a * b : a + b));
    }
    started_ = true;
  }
  Number value() const {
    if (mode_ == "max" || mode_ == "min") return started_ ? number_ : none();
    if (ir::isFloat(t_)) return {roundTo(t_, real_), 0};
    return number_;
  }

 private:
  /// What every value is at least (for max) or at most.
  Number none() const {
    const bool largest = mode_ == "max";
    if (ir::isFloat(t_))
      return {largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(), 0};
    if (t_ == DType::Bool) return {0, !largest};
    const int bits = 8 * static_cast<int>(ir::byteSize(t_));
    if (!ir::isSigned(t_)) return {0, largest ? 0 : wrapTo(t_, -1)};
    const int64_t least = static_cast<int64_t>(~uint64_t{0} << (bits - 1));
    return {0, largest ? least : ~least};
  }
  std::string mode_;
  DType t_;
  Real real_ = 0;
  Number number_{};
  bool started_ = false;
};

}  // namespace

void scan(const ir::Op& op, const std::vector<Tensor>& in, Tensor& out) {
  const Tensor& x = in[0];
  const std::vector<int64_t>& axes = op.intsAttr("axes");
  const Groups g = groupsOf(x.type, axes);
  const int64_t n = g.length, block = op.find("block") ? op.intAttr("block") : std::max<int64_t>(n, 1);
  const bool totals = op.kind == ir::OpKind::BlockTotals, reverse = op.boolAttr("reverse");
  const bool exclusive = op.boolAttr("exclusive");
  const Tensor* starts = in.size() > 1 ? &in[1] : nullptr;
  const Groups blocks = groupsOf(totals ? out.type : starts ? starts->type : x.type, axes);
  Running running(op.stringAttr("mode"), x.type.dtype);
  for (int64_t i = 0; i < g.count; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at0 = g.members[static_cast<size_t>(i * n + (reverse ? n - 1 - j : j))];
      const int64_t ofBlock = i * blocks.length + j / block;
      if (j % block == 0) {
        running.clear();
        if (starts) running.add(at(*starts, blocks.members[static_cast<size_t>(ofBlock)]));
      }
      if (exclusive && !totals) put(out, at0, running.value());
      running.add(at(x, at0));
      if (!exclusive && !totals) put(out, at0, running.value());
      if (totals && (j % block == block - 1 || j == n - 1))
        put(out, blocks.members[static_cast<size_t>(ofBlock)], running.value());
    }
  }
}

namespace {

MaybeFailure rowWise(const ir::Op& op, const Tensor& x, Tensor& out) {
  const DType t = out.type.dtype;
  Groups g = groupsOf(x.type, op.intsAttr("axes"));
  std::vector<Real> row(static_cast<size_t>(g.length));
  for (int64_t i = 0; i < g.count; ++i) {
    const int64_t* m = g.members.data() + i * g.length;
    for (size_t j = 0; j < row.size(); ++j) row[j] = at(x, m[j]).f;
    auto eachOf = [&](auto fn) {
      for (size_t j = 0; j < row.size(); ++j) put(out, m[j], {roundTo(t, fn(row[j])), 0});
    };
    switch (op.kind) {
      case OpKind::Softmax: {
        Real most = largest(row), sum = sumExp(row, most);
        eachOf([&](Real v) { return std::exp(v - most) / sum; });
        break;
      }
      case OpKind::LogSoftmax: {
        Real most = largest(row), logSum = std::log(sumExp(row, most));
        eachOf([&](Real v) { return v - most - logSum; });
        break;
      }
      case OpKind::LayerNorm: {
        Real m0 = mean(row);
        Real scale =
            std::sqrt(squaredDeviations(row) / static_cast<Real>(g.length) + static_cast<Real>(op.floatAttr("eps")));
        eachOf([&](Real v) { return (v - m0) / scale; });
        break;
      }
      case OpKind::LogSumExp: put(out, i, {roundTo(t, logSumExp(row)), 0}); break;
      case OpKind::Variance: {
        Real n = std::max(Real(0), static_cast<Real>(g.length) - static_cast<Real>(op.floatAttr("correction")));
        put(out, i, {roundTo(t, squaredDeviations(row) / n), 0});
        break;
      }
      case OpKind::Mean: put(out, i, total(op.kind, x, m, g.length, t)); break;
      default: return unknown(op);
    }
  }
  return std::nullopt;
}

}  // namespace

MaybeFailure decomposed(const ir::Op& op, Operands in, Tensor& out) {
  const DType t = out.type.dtype;
  switch (op.kind) {
    case OpKind::Attention: attention(op, in, out); return std::nullopt;
    case OpKind::Conv: convolution(op, in[0], in[1], out); return std::nullopt;
    case OpKind::Gelu:
      for (int64_t i = 0; i < out.type.size(); ++i)
        put(out, i, {roundTo(t, gelu(at(in[0], i).f, op.boolAttr("tanh"))), 0});
      return std::nullopt;
    default: return rowWise(op, in[0], out);
  }
}

namespace {

/// C += A B of one matrix; `T` is the accumulator.
template <typename T>
void product(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& c, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      T x = a[static_cast<size_t>(i * k + p)];
      const T* row = b.data() + p * n;
      T* sum = c.data() + i * n;
      for (int64_t j = 0; j < n; ++j) sum[j] += x * row[j];
    }
}

template <typename T, typename Get, typename Put>
void products(const Tensor& a, const Tensor& b, Tensor& out, Get get, Put toNumber) {
  int64_t m = out.type.shape[out.type.shape.size() - 2], n = out.type.shape.back(), k = a.type.shape.back();
  if (m * n == 0) return;
  int64_t batches = out.type.size() / (m * n);
  std::vector<T> left(static_cast<size_t>(m * k)), right(static_cast<size_t>(k * n)), sum(static_cast<size_t>(m * n));
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < m * k; ++i) left[static_cast<size_t>(i)] = get(at(a, batch * m * k + i));
    for (int64_t i = 0; i < k * n; ++i) right[static_cast<size_t>(i)] = get(at(b, batch * k * n + i));
    std::fill(sum.begin(), sum.end(), T{});
    product(left, right, sum, m, n, k);
    for (int64_t i = 0; i < m * n; ++i) put(out, batch * m * n + i, toNumber(sum[static_cast<size_t>(i)]));
  }
}

}  // namespace

Tensor rounded(const Tensor& x, DType to) {
  Tensor r = allocate(x.type);
  r.places = x.places;  // its derivative is 1
  for (int64_t i = 0; i < x.type.size(); ++i) put(r, i, {roundTo(to, at(x, i).f), 0});
  r.places = x.places;
  return r;
}

void matmul(const Tensor& a, const Tensor& b, Tensor& out) {
  const DType t = out.type.dtype;
  auto real = [](Number x) { return x.f; };
  if (t == DType::F64) {
    products<Real>(a, b, out, real, [](Real x) { return Number{static_cast<double>(x), 0}; });
  } else if (ir::isFloat(t)) {
    products<double>(a, b, out, real, [t](double x) { return Number{roundTo(t, x), 0}; });
  } else {
    products<uint64_t>(
        a, b, out, [](Number x) { return static_cast<uint64_t>(x.i); },
        [t](uint64_t x) { return Number{0, wrapTo(t, static_cast<int64_t>(x))}; });
  }
}

}  // namespace tenc::interp
