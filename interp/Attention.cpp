// Attention and its gradient by their definitions: softmax(q k^T * scale + mask) v, a query at a time, in long double,
// rounded once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/TensorOps.h"

namespace tenc::interp {
namespace {

using Real = long double;
using Row = std::vector<Real>;

constexpr Real kNever = -std::numeric_limits<Real>::infinity();

/// Scores, head by head and query by query.
class Scores {
 public:
  /// `mask`: null where there is none.
  Scores(const ir::Op& op, Operands in, const Tensor* mask)
      : q_(in[0]),
        k_(in[1]),
        mask_(mask),
        scale_(at(in[3], 0).f),
        causal_(op.boolAttr("causal")),
        rank_(q_.type.shape.size()),
        maskStrides_(rank_, 0),
        heads_(std::span(q_.type.shape).first(rank_ - 2)),
        queries(q_.type.shape[rank_ - 2]),
        keys(k_.type.shape[rank_ - 2]),
        depth(q_.type.shape[rank_ - 1]),
        width(in[2].type.shape[rank_ - 1]) {
    for (size_t d = 0; d + 2 < rank_; ++d) batches *= q_.type.shape[d];
    if (mask == nullptr) return;
    maskStrides_ = stridesOf(mask->type.shape);
    for (size_t d = 0; d < rank_; ++d)
      if (mask->type.shape[d] == 1) maskStrides_[d] = 0;
  }

  /// Of query `i` of the head at hand, -infinity where it does not see a key.
  Row of(int64_t i) const {
    int64_t base = i * maskStrides_[rank_ - 2];
    for (size_t d = 0; d + 2 < rank_; ++d) base += heads_.index()[d] * maskStrides_[d];
    Row row(static_cast<size_t>(keys));
    for (int64_t j = 0; j < keys; ++j) {
      Real s = 0;
      for (int64_t d = 0; d < depth; ++d)
        s += static_cast<Real>(at(q_, (batch * queries + i) * depth + d).f) * at(k_, (batch * keys + j) * depth + d).f;
      s *= scale_;
      bool seen = !causal_ || j <= i;
      if (mask_ != nullptr) {
        const Number m = at(*mask_, base + j * maskStrides_[rank_ - 1]);
        if (mask_->type.dtype == ir::DType::Bool)
          seen = seen && m.i != 0;
        else
          s += m.f;
      }
      row[static_cast<size_t>(j)] = seen ? s : kNever;
    }
    return row;
  }

  /// The next head.
  void next() { ++batch, heads_.next(); }
  /// Where the head at hand begins in a tensor whose batch dims have these strides.
  int64_t first(const std::vector<int64_t>& strides) const {
    int64_t to = 0;
    for (size_t d = 0; d + 2 < rank_; ++d) to += heads_.index()[d] * strides[d];
    return to;
  }

 private:
  const Tensor &q_, &k_;
  const Tensor* mask_;
  const Real scale_;
  const bool causal_;
  const size_t rank_;
  std::vector<int64_t> maskStrides_;
  Odometer heads_;

 public:
  int64_t batches = 1, batch = 0;
  const int64_t queries, keys, depth, width;
};

/// The strides of a result's dims before they are brought into another order.
std::vector<int64_t> stridesBefore(const ir::Op& op, const Tensor& out) {
  std::vector<int64_t> permuted = stridesOf(out.type.shape);
  if (!op.hasAttr("perm")) return permuted;
  std::vector<int64_t> strides(permuted.size());
  for (size_t d = 0; d < permuted.size(); ++d) strides[static_cast<size_t>(op.intsAttr("perm")[d])] = permuted[d];
  return strides;
}

/// A head's rows, rounded once.
void putRows(const ir::Op& op, const Scores& s, Tensor& out, const std::vector<Row>& rows) {
  const std::vector<int64_t> strides = stridesBefore(op, out);
  const size_t rank = strides.size();
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t c = 0; c < rows[i].size(); ++c)
      put(out,
          s.first(strides) + static_cast<int64_t>(i) * strides[rank - 2] + static_cast<int64_t>(c) * strides[rank - 1],
          {roundTo(out.type.dtype, rows[i][c]), 0});
}

/// Weights of a row of scores, not divided by their sum, which is added to `total`; what they are relative to.
Real weigh(Row& row, bool zero, Real& total) {
  Real most = kNever;
  for (const Real s : row) most = std::isnan(s) || std::isnan(most) ? s + most : std::fmax(most, s);
  // A query that may see no key gives 0.
  if (zero && std::isinf(most) && most < 0) most = 0, total = 1;
  for (Real& w : row) total += w = std::exp(w - most);
  return most;
}

}  // namespace

void attention(const ir::Op& op, Operands in, Tensor& out, Tensor* totals) {
  const Tensor& v = in[2];
  const Tensor* mask = in.size() > 4 ? &in[4] : nullptr;
  for (Scores s(op, in, mask); s.batch < s.batches; s.next()) {
    std::vector<Row> rows;
    for (int64_t i = 0; i < s.queries; ++i) {
      Row w = s.of(i), row(static_cast<size_t>(s.width));
      const bool blind = std::all_of(w.begin(), w.end(), [](Real x) { return x == kNever; });
      Real total = 0;
      const Real most = weigh(w, mask != nullptr || s.keys == 0, total);
      for (int64_t c = 0; c < s.width; ++c) {
        Real sum = 0;
        for (int64_t j = 0; j < s.keys; ++j)
          sum += w[static_cast<size_t>(j)] * at(v, (s.batch * s.keys + j) * s.width + c).f;
        row[static_cast<size_t>(c)] = sum / total;
      }
      rows.push_back(std::move(row));
      if (totals != nullptr)
        put(*totals, s.batch * s.queries + i, {roundTo(ir::DType::F32, blind ? -kNever : most + std::log(total)), 0});
    }
    putRows(op, s, out, rows);
  }
}

void attentionGradient(const ir::Op& op, Operands in, std::span<Tensor> out) {
  const Tensor &q = in[0], &k = in[1], &v = in[2], &cotangent = in[4];
  const Real scale = at(in[3], 0).f;
  for (Scores s(op, in, in.size() > 7 ? &in[7] : nullptr); s.batch < s.batches; s.next()) {
    const auto rows = [](int64_t n, int64_t columns) {
      return std::vector<Row>(static_cast<size_t>(n), Row(static_cast<size_t>(columns)));
    };
    std::vector<Row> dq = rows(s.queries, s.depth), dk = rows(s.keys, s.depth), dv = rows(s.keys, s.width);
    for (int64_t i = 0; i < s.queries; ++i) {
      const int64_t query = s.batch * s.queries + i;
      const Row scores = s.of(i);
      for (int64_t j = 0; j < s.keys; ++j) {
        const int64_t key = s.batch * s.keys + j;
        const auto at0 = static_cast<size_t>(i), at1 = static_cast<size_t>(j);
        const Real p = std::exp(scores[at1] - at(in[5], query).f);
        Real change = -static_cast<Real>(at(in[6], query).f);
        for (int64_t c = 0; c < s.width; ++c) {
          const Real given = at(cotangent, query * s.width + c).f;
          change += given * at(v, key * s.width + c).f;
          dv[at1][static_cast<size_t>(c)] += p * given;
        }
        change *= p * scale;
        for (int64_t d = 0; d < s.depth; ++d) {
          dq[at0][static_cast<size_t>(d)] += change * at(k, key * s.depth + d).f;
          dk[at1][static_cast<size_t>(d)] += change * at(q, query * s.depth + d).f;
        }
      }
    }
    putRows(op, s, out[0], dq);
    putRows(op, s, out[1], dk);
    putRows(op, s, out[2], dv);
  }
}

}  // namespace tenc::interp
