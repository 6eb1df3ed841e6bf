#include "interp/Trace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenc::interp {

using ir::OpKind;
using Vars = std::vector<Var>;

void setPlaces(Tensor& t, std::vector<int64_t> places) {
  const bool some = std::any_of(places.begin(), places.end(), [](int64_t p) { return p != Var::kNone; });
  t.places = some ? std::make_shared<const std::vector<int64_t>>(std::move(places)) : nullptr;
}

namespace {

/// One op; what is made of its elements is written in terms of numbers.
class Tracer {
 public:
  Tracer(const ir::Op& op, Operands in, std::span<Tensor> out, Tape& tape) : op_(op), in_(in), out_(out), t_(tape) {}

  MaybeFailure run() {
    if (op_.has(ir::Trait::Elementwise)) return elementwise(), std::nullopt;
    if (op_.has(ir::Trait::Structural)) return moved(op_.kind == OpKind::Pad ? 2 : in_.size(), interp::structural);
    if (op_.has(ir::Trait::Library)) return library();
    switch (op_.kind) {
      case OpKind::Gather:
      case OpKind::DynamicSlice: return moved(1, interp::indexed);
      case OpKind::UpdateSlice:
      case OpKind::DynamicUpdate: return moved(2, interp::indexed);
      case OpKind::Scatter: return op_.stringAttr("mode") == "set" ? moved(2, interp::indexed) : scatter();
      case OpKind::Fill: set(Vars(size(out_[0]), varAt(in_[0], 0))); return std::nullopt;
      case OpKind::Sum:
      case OpKind::Mean:
      case OpKind::Prod:
      case OpKind::Variance:
      case OpKind::LogSumExp: reduce([&](const Vars& row, double) { return reduced(row); }); return std::nullopt;
      case OpKind::ReduceMax:
      case OpKind::ReduceMin:
        // The first of those that are equal.
        reduce([](const Vars& row, double y) {
          const auto found = std::find_if(row.begin(), row.end(), [&](const Var& v) { return v.v == y; });
          return found == row.end() ? Var{} : *found;
        });
        return std::nullopt;
      case OpKind::Softmax:
      case OpKind::LogSoftmax:
      case OpKind::LayerNorm: rows(); return std::nullopt;
      case OpKind::Gelu: gelu(); return std::nullopt;
      case OpKind::Cumulate: return scan();
      case OpKind::Matmul: matmul(); return std::nullopt;
      case OpKind::Conv: convolution(); return std::nullopt;
      case OpKind::Attention: attention(); return std::nullopt;
      case OpKind::Any:
      case OpKind::All:
      case OpKind::ArgMax:
      case OpKind::ArgMin: return std::nullopt;
      default: return unknownRule();
    }
  }

 private:
  static size_t size(const Tensor& t) { return static_cast<size_t>(t.type.size()); }
  Var x(int64_t i, size_t operand = 0) const { return varAt(in_[operand], i); }

  Failure unknownRule() const {
    return {Code::E0190, "the interpreter does not differentiate `" + std::string(op_.info().mnemonic) + "`"};
  }

  void set(const Vars& vars, size_t result = 0) {
    std::vector<int64_t> places;
    for (const Var& v : vars) places.push_back(v.at);
    setPlaces(out_[result], std::move(places));
  }

  Var op(OpKind kind, Var a, Var b = {}) { return t_.apply(kind, a, b); }
  Var sum(const Vars& row) {
    Var s;
    for (const Var& v : row) s = t_.add(s, v);
    return s;
  }
  Var largest(const Vars& row) {
    Var most{-INFINITY};
    for (const Var& v : row)
      if (v.v > most.v) most = {v.v};  // a constant: what is made of it does not depend on it
    return most;
  }

  // ---- elements that are moved

  /// Runs the op on the places of its first `count` operands' elements in place of the elements.
  template <typename Fn>
  MaybeFailure moved(size_t count, Fn fn) {
    std::vector<Tensor> places(in_.begin(), in_.end());
    for (size_t k = 0; k < count; ++k) {
      places[k] = allocate({ir::DType::I64, in_[k].type.shape, {}});
      for (int64_t i = 0; i < in_[k].type.size(); ++i) put(places[k], i, {0, x(i, k).at});
    }
    Tensor made{{ir::DType::I64, out_[0].type.shape, {}}, nullptr};
    if (!op_.has(ir::Trait::Scatters)) made = allocate(made.type);
    if (MaybeFailure failed = fn(op_, places, made)) return failed;
    std::vector<int64_t> found;
    for (int64_t i = 0; i < made.type.size(); ++i) found.push_back(at(made, i).i);
    setPlaces(out_[0], std::move(found));
    return std::nullopt;
  }

  // ---- elementwise

  void elementwise() {
    if (!ir::isFloat(out_[0].type.dtype) || op_.kind == OpKind::Bitcast) return;
    Vars made;
    for (int64_t i = 0; i < out_[0].type.size(); ++i) made.push_back(element(i, at(out_[0], i).f));
    set(made);
  }

  Var element(int64_t i, double y) {
    switch (op_.kind) {
      case OpKind::Where: return x(i, at(in_[0], i).i ? 1 : 2);
      case OpKind::Cast: return ir::isFloat(in_[0].type.dtype) ? x(i) : Var{};
      // At a tie the second.
      case OpKind::Max: return x(i).v > x(i, 1).v ? x(i) : x(i, 1);
      case OpKind::Min: return x(i).v < x(i, 1).v ? x(i) : x(i, 1);
      case OpKind::Sqrt:
        // Of a norm: 0 where it is 0.
        if (y == 0 && op_.hasAttr("derivative.flat_at_zero")) return {};
        return t_.record(op_.kind, x(i), {}, y);
      case OpKind::Pow:
        if (x(i).v == 0 && op_.hasAttr("derivative.flat_at_zero")) return {};
        return t_.record(op_.kind, x(i), x(i, 1), y);
      case OpKind::Fma: return t_.add(t_.mul(x(i), x(i, 1)), x(i, 2));
      default: return t_.record(op_.kind, x(i), in_.size() > 1 ? x(i, 1) : Var{}, y);
    }
  }

  void gelu() {
    Vars made;
    for (int64_t i = 0; i < out_[0].type.size(); ++i) {
      const Var v = x(i), half = t_.mul({0.5}, v);
      if (op_.boolAttr("tanh")) {
        const Var cube = t_.mul(v, t_.mul(v, v)), inner = t_.add(v, t_.mul({0.044715}, cube));
        made.push_back(t_.mul(half, t_.add({1}, op(OpKind::Tanh, t_.mul({std::sqrt(2 / M_PI)}, inner)))));
      } else {
        made.push_back(t_.mul(half, op(OpKind::Erfc, t_.mul({-M_SQRT1_2}, v))));
      }
    }
    set(made);
  }

  // ---- groups of elements

  Vars row(const Groups& g, int64_t i) const {
    Vars r;
    for (int64_t j = 0; j < g.length; ++j) r.push_back(x(g.members[static_cast<size_t>(i * g.length + j)]));
    return r;
  }

  /// `fn` of a row and the result.
  template <typename Fn>
  void reduce(Fn fn) {
    const Groups g = groupsOf(in_[0].type, op_.intsAttr("axes"));
    Vars made;
    for (int64_t i = 0; i < g.count; ++i) made.push_back(fn(row(g, i), at(out_[0], i).f));
    if (ir::isFloat(out_[0].type.dtype)) set(made);
  }

  Var deviations(const Vars& r, Var mean) {
    Vars squares;
    for (const Var& v : r) squares.push_back(op(OpKind::Square, t_.sub(v, mean)));
    return sum(squares);
  }
  Var meanOf(const Vars& r) { return t_.mul({1.0 / static_cast<double>(r.size())}, sum(r)); }
  Var logSumOf(const Vars& r, Var most) {
    Var total;
    for (const Var& v : r) total = t_.add(total, op(OpKind::Exp, t_.sub(v, most)));
    return t_.add(op(OpKind::Log, total), most);
  }

  Var reduced(const Vars& r) {
    switch (op_.kind) {
      case OpKind::Sum: return sum(r);
      case OpKind::Mean: return r.empty() ? Var{} : meanOf(r);
      case OpKind::Variance: {
        const double n = static_cast<double>(r.size()) - op_.floatAttr("correction");
        return r.empty() ? Var{} : t_.mul({1 / std::max(0.0, n)}, deviations(r, meanOf(r)));
      }
      case OpKind::LogSumExp: {
        const Var most = largest(r);
        return std::isfinite(most.v) ? logSumOf(r, most) : Var{};
      }
      default: {
        Var product{1};
        for (const Var& v : r) product = t_.mul(product, v);
        return product;
      }
    }
  }

  void rows() {
    const Groups g = groupsOf(in_[0].type, op_.intsAttr("axes"));
    Vars made(size(out_[0]));
    for (int64_t i = 0; i < g.count; ++i) {
      const Vars r = row(g, i);
      if (r.empty()) continue;
      const Var most = largest(r);
      Var shift, scale;
      if (op_.kind == OpKind::LayerNorm) {
        shift = meanOf(r);
        const Var variance = t_.mul({1.0 / static_cast<double>(r.size())}, deviations(r, shift));
        scale = op(OpKind::Rsqrt, t_.add(variance, {op_.floatAttr("eps")}));
      } else {
        shift = logSumOf(r, most);
      }
      for (int64_t j = 0; j < g.length; ++j) {
        const Var v = t_.sub(r[static_cast<size_t>(j)], shift);
        made[static_cast<size_t>(g.members[static_cast<size_t>(i * g.length + j)])] =
            op_.kind == OpKind::LayerNorm ? t_.mul(v, scale)
            : op_.kind == OpKind::Softmax ? op(OpKind::Exp, v)
                                          : v;
      }
    }
    set(made);
  }

  /// The running result of `mode`, of a value before and one more. Of equals the first wins.
  Var joined(const std::string& mode, Var before, Var more) {
    if (mode == "mul") return t_.mul(before, more);
    if (mode == "max") return more.v > before.v ? more : before;
    if (mode == "min") return more.v < before.v ? more : before;
    return t_.add(before, more);
  }

  MaybeFailure scan() {
    if (in_.size() > 1 || op_.hasAttr("block")) return unknownRule();
    const std::string& mode = op_.stringAttr("mode");
    const Groups g = groupsOf(in_[0].type, op_.intsAttr("axes"));
    Vars made(size(out_[0]));
    for (int64_t i = 0; i < g.count; ++i) {
      Var running{mode == "mul" ? 1.0 : mode == "max" ? -INFINITY : mode == "min" ? INFINITY : 0.0};
      for (int64_t j = 0; j < g.length; ++j) {
        const int64_t k =
            g.members[static_cast<size_t>(i * g.length + (op_.boolAttr("reverse") ? g.length - 1 - j : j))];
        const Var before = running;
        running = joined(mode, running, x(k));
        made[static_cast<size_t>(k)] = op_.boolAttr("exclusive") ? before : running;
      }
    }
    if (ir::isFloat(out_[0].type.dtype)) set(made);
    return std::nullopt;
  }

  MaybeFailure scatter() {
    std::vector<int64_t> positions;
    if (auto f = gatherPositions(op_, in_[0].type, in_.subspan(2), in_[1].type.shape, positions)) return f;
    Vars made;
    for (int64_t i = 0; i < in_[0].type.size(); ++i) made.push_back(x(i));
    for (size_t i = 0; i < positions.size(); ++i) {
      Var& place = made[static_cast<size_t>(positions[i])];
      place = joined(op_.stringAttr("mode"), place, x(static_cast<int64_t>(i), 1));
    }
    set(made);
    return std::nullopt;
  }

  // ---- products

  /// An operand of a product. Under `@autocast` tangents are operands of the derivative's products, and rounded too.
  Vars factors(size_t operand) {
    const auto to = op_.dtypeAttr("rounds");
    Vars all;
    for (int64_t i = 0; i < in_[operand].type.size(); ++i)
      all.push_back(to ? t_.rounding(x(i, operand), *to, /*back=*/false) : x(i, operand));
    return all;
  }

  /// The results of a product, whose cotangents are such operands of the gradient's products.
  void setSums(Vars sums) {
    if (const auto to = op_.dtypeAttr("rounds"))
      for (Var& v : sums) v = t_.rounding(v, *to, /*back=*/true);
    set(sums);
  }

  void matmul() {
    const ir::Dims& shape = out_[0].type.shape;
    const int64_t m = shape[shape.size() - 2], n = shape.back(), k = in_[0].type.shape.back();
    const Vars a = factors(0), b = factors(1);
    Vars made;
    for (int64_t e = 0; e < out_[0].type.size(); ++e) {
      const int64_t batch = e / (m * n), i = e / n % m, j = e % n;
      Var s;
      for (int64_t p = 0; p < k; ++p)
        s = t_.add(s, t_.mul(a[static_cast<size_t>(batch * m * k + i * k + p)],
                             b[static_cast<size_t>(batch * k * n + p * n + j)]));
      made.push_back(s);
    }
    setSums(std::move(made));
  }

  void convolution() {
    const Vars a = factors(0), b = factors(1);
    Vars made(size(out_[0]));
    eachTerm(op_, in_[0].type.shape, in_[1].type.shape, out_[0].type.shape, [&](int64_t e, int64_t i, int64_t k) {
      Var& s = made[static_cast<size_t>(e)];
      s = t_.add(s, t_.mul(a[static_cast<size_t>(i)], b[static_cast<size_t>(k)]));
    });
    setSums(std::move(made));
  }

  void attention() {
    const ir::Dims &q = in_[0].type.shape, &shape = out_[0].type.shape;
    const size_t rank = shape.size();
    const int64_t queries = q[rank - 2], keys = in_[1].type.shape[rank - 2], depth = q[rank - 1],
                  width = shape[rank - 1];
    const Tensor* mask = in_.size() > 4 ? &in_[4] : nullptr;
    std::vector<int64_t> steps(rank, 0);
    if (mask) {
      steps = stridesOf(mask->type.shape);
      for (size_t d = 0; d < rank; ++d)
        if (mask->type.shape[d] == 1) steps[d] = 0;
    }
    Vars made;
    Odometer place(shape);
    Vars weights;
    for (int64_t e = 0; e < out_[0].type.size(); ++e, place.next()) {
      const auto& index = place.index();
      const int64_t batch = e / (queries * width), i = index[rank - 2];
      if (index[rank - 1] == 0) weights = weightsOf(batch, i, {queries, keys, depth}, mask, steps, index);
      Var s;
      for (int64_t j = 0; j < keys; ++j)
        s = t_.add(s, t_.mul(weights[static_cast<size_t>(j)], x((batch * keys + j) * width + index[rank - 1], 2)));
      made.push_back(s);
    }
    set(made);
  }

  struct Sizes {
    int64_t queries, keys, depth;
  };
  /// The softmax of a query's scores; 0 for keys that it does not see.
  Vars weightsOf(int64_t batch, int64_t i, Sizes n, const Tensor* mask, const std::vector<int64_t>& steps,
                 const std::vector<int64_t>& index) {
    Vars scores;
    std::vector<size_t> seen;
    const size_t rank = steps.size();
    int64_t base = 0;
    for (size_t d = 0; d + 1 < rank; ++d) base += index[d] * steps[d];
    for (int64_t j = 0; j < n.keys; ++j) {
      if (op_.boolAttr("causal") && j > i) continue;
      const int64_t m = base + j * steps[rank - 1];
      const bool isBool = mask && mask->type.dtype == ir::DType::Bool;
      if (isBool && !at(*mask, m).i) continue;
      Var s;
      for (int64_t d = 0; d < n.depth; ++d)
        s = t_.add(s, t_.mul(x((batch * n.queries + i) * n.depth + d), x((batch * n.keys + j) * n.depth + d, 1)));
      s = t_.mul(s, x(0, 3));
      if (mask && !isBool) s = t_.add(s, varAt(*mask, m));
      scores.push_back(s);
      seen.push_back(static_cast<size_t>(j));
    }
    Vars weights(static_cast<size_t>(n.keys));
    const Var most = largest(scores);
    if (!std::isfinite(most.v)) return weights;
    const Var logSum = logSumOf(scores, most);
    for (size_t k = 0; k < seen.size(); ++k) weights[seen[k]] = op(OpKind::Exp, t_.sub(scores[k], logSum));
    return weights;
  }

  // ---- sorting and linear algebra

  MaybeFailure library() {
    switch (op_.kind) {
      case OpKind::ArgSort: return std::nullopt;
      case OpKind::Sort: sorted(in_[0].type.shape.back(), op_.boolAttr("descending")); return std::nullopt;
      case OpKind::TopK: sorted(op_.intAttr("k"), op_.boolAttr("largest")); return std::nullopt;
      case OpKind::Solve:
      case OpKind::Inverse:
      case OpKind::SolveTriangular: solve(); return std::nullopt;
      default: return unknownRule();
    }
  }

  void sorted(int64_t count, bool descending) {
    const int64_t n = in_[0].type.shape.back(), rowCount = n == 0 ? 0 : in_[0].type.size() / n;
    Vars made;
    for (int64_t r = 0; r < rowCount; ++r) {
      const std::vector<int64_t> places = order(in_[0], r * n, n, descending);
      for (int64_t i = 0; i < count; ++i) made.push_back(x(r * n + places[static_cast<size_t>(i)]));
    }
    if (ir::isFloat(out_[0].type.dtype)) set(made);
  }

  /// Gauss and Jordan's elimination on each matrix, with the identity for the right side of an inverse. The other
  /// triangle of a triangular matrix counts as 0, and a unit diagonal as 1.
  void solve() {
    const int64_t n = in_[0].type.shape.back(), columns = out_[0].type.shape.back();
    const int64_t batch = n * columns == 0 ? 0 : out_[0].type.size() / (n * columns);
    const bool triangular = op_.kind == OpKind::SolveTriangular, lower = op_.boolAttr("lower");
    Vars made;
    for (int64_t item = 0; item < batch; ++item) {
      std::vector<Vars> a(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          Var v = x((item * n + i) * n + j);
          if (triangular && (lower ? j > i : j < i)) v = {};
          if (triangular && i == j && op_.boolAttr("unit")) v = {1};
          a[static_cast<size_t>(i)].push_back(v);
        }
        for (int64_t j = 0; j < columns; ++j)
          a[static_cast<size_t>(i)].push_back(op_.kind == OpKind::Inverse ? Var{i == j ? 1.0 : 0.0}
                                                                          : x((item * n + i) * columns + j, 1));
      }
      eliminate(a);
      for (const Vars& r : a) made.insert(made.end(), r.begin() + n, r.end());
    }
    set(made);
  }

  void eliminate(std::vector<Vars>& a) {
    for (size_t k = 0; k < a.size(); ++k) {
      const auto pivot =
          std::max_element(a.begin() + static_cast<std::ptrdiff_t>(k), a.end(),
                           [&](const Vars& p, const Vars& q) { return std::fabs(p[k].v) < std::fabs(q[k].v); });
      std::swap(a[k], *pivot);
      const Var scale = a[k][k];
      for (Var& v : a[k]) v = t_.div(v, scale);
      for (size_t i = 0; i < a.size(); ++i) {
        if (i == k) continue;
        const Var factor = a[i][k];
        for (size_t j = 0; j < a[i].size(); ++j) a[i][j] = t_.sub(a[i][j], t_.mul(factor, a[k][j]));
      }
    }
  }

  const ir::Op& op_;
  const Operands in_;
  const std::span<Tensor> out_;
  Tape& t_;
};

}  // namespace

MaybeFailure trace(const ir::Op& op, Operands in, std::span<Tensor> out, Tape& tape) {
  const bool some = std::any_of(in.begin(), in.end(), [](const Tensor& t) { return t.places != nullptr; });
  return some ? Tracer(op, in, out, tape).run() : std::nullopt;
}

}  // namespace tenc::interp
