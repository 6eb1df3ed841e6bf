// The derivative of attention, a block of queries at a time. It is linear code alone: scores and weights are computed
// again from queries, keys and values wherever tangents pass, so that the gradient keeps nothing of them and only a
// tile of scores exists at any time (Dao, Fu, Ermon, Rudra, Re 2022, "FlashAttention").
#include <algorithm>

#include "ir/TargetTraits.h"
#include "transforms/TangentRules.h"

namespace tenc::transforms::rules {

using ir::Compose;
using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using V = ir::Value*;

namespace {

/// Operands and their tangents, in the dtype that is computed in; null where there is none.
struct Parts {
  V q, k, v, mask, dq, dk, dv, dMask;
};

V swapped(Compose& c, V m) { return c.swapAxes(m, m->type.rank() - 2, m->type.rank() - 1); }

class AttentionTangent {
 public:
  explicit AttentionTangent(TangentCall& c)
      : c_(c), wide_(ir::accumulatorOf(c.in[0]->type.dtype)), causal_(c.op.boolAttr("causal")) {}

  V run() {
    Compose& t = c_.t;
    const auto wide = [&](V v) { return v == nullptr || v->type.dtype == DType::Bool ? v : t.cast(v, wide_); };
    const bool masked = c_.in.size() > 4;
    V q = c_.x(0);
    // Without it the scores would be merged with those of the way there, and kept.
    if (&c_.p.b != &t.b) q = t.b.value(OpKind::Barrier, {q}, {{"number", int64_t{-1}}});
    const Parts all{wide(q),        wide(c_.x(1)),  wide(c_.x(2)),  masked ? wide(c_.x(4)) : nullptr,
                    wide(c_.dx(0)), wide(c_.dx(1)), wide(c_.dx(2)), masked ? wide(c_.dx(4)) : nullptr};
    scale_ = wide(c_.x(3));
    dScale_ = wide(c_.dx(3));
    const Dims &qs = all.q->type.shape, &ks = all.k->type.shape;
    const int64_t scores = Compose::sizeOf(qs) / std::max<int64_t>(qs.back(), 1) * ks[ks.size() - 2];
    const bool whole = scores * ir::byteSize(wide_) <= traits_.tileBytes;
    return t.cast(whole ? attend(t, all, nullptr) : inBlocks(all), c_.out[0]->type.dtype);
  }

 private:
  /// The tangent for these queries; the first of them is number `first` (0 when null).
  V attend(Compose& at, const Parts& p, V first) const {
    V raw = at.matmul(p.q, swapped(at, p.k)), scores = at.mul(raw, scale_);
    const Dims& shape = scores->type.shape;
    const Dims last = {scores->type.rank() - 1};
    V least = at.extreme(wide_, false), zero = at.literal(scores, 0);
    if (causal_) {
      const Dims grid = {shape[shape.size() - 2], shape.back()};
      V row = at.iotaOn(scores, grid, DType::I64, 0), column = at.iotaOn(scores, grid, DType::I64, 1);
      if (first != nullptr) row = at.add(row, first);
      scores = at.where(at.binary(OpKind::Le, column, row), scores, least);
    }
    V blind = nullptr;
    if (p.mask != nullptr) {
      scores = p.mask->type.dtype == DType::Bool ? at.where(p.mask, scores, least) : at.add(scores, p.mask);
      // A query that sees no key gives 0.
      blind = at.binary(OpKind::Eq, at.reduce(OpKind::ReduceMax, scores, last, true), least);
      scores = at.where(blind, zero, scores);
    }
    V weights = at.b.value(OpKind::Softmax, {scores}, {{"axes", last}});
    if (blind != nullptr) weights = at.where(blind, zero, weights);

    V change = nullptr;
    const auto plus = [&](V& sum, V part) { sum = sum == nullptr ? part : at.add(sum, part); };
    if (p.dq != nullptr) plus(change, at.mul(at.matmul(p.dq, swapped(at, p.k)), scale_));
    if (p.dk != nullptr) plus(change, at.mul(at.matmul(p.q, swapped(at, p.dk)), scale_));
    if (dScale_ != nullptr) plus(change, at.mul(raw, dScale_));
    if (p.dMask != nullptr) plus(change, at.broadcastTo(p.dMask, shape));
    V result = nullptr;
    if (change != nullptr) {
      // Scores that are masked out have a weight of 0, and their tangents come to nothing with it.
      V weighted = at.mul(weights, change);
      V dWeights = at.sub(weighted, at.mul(weights, at.reduce(OpKind::Sum, weighted, last, true)));
      result = at.matmul(dWeights, p.v);
    }
    if (p.dv != nullptr) plus(result, at.matmul(weights, p.dv));
    return result;
  }

  V inBlocks(const Parts& p) {
    Compose& t = c_.t;
    const Dims& shape = c_.out[0]->type.shape;
    const Dims batch(shape.begin(), shape.end() - 2);
    const int64_t heads = Compose::sizeOf(batch), queries = shape[shape.size() - 2];
    const int64_t keys = p.k->type.shape[shape.size() - 2];
    const auto flat = [&](V v) {
      return v == nullptr ? v : t.reshape(v, {heads, v->type.shape[shape.size() - 2], v->type.shape.back()});
    };
    const auto flatMask = [&](V m) -> V {
      if (m == nullptr) return m;
      Dims full = m->type.shape;
      if (Compose::sizeOf(Dims(full.begin(), full.end() - 2)) == 1)
        return t.reshape(m, {1, full[shape.size() - 2], full.back()});
      std::copy(batch.begin(), batch.end(), full.begin());
      return flat(t.broadcastTo(m, full));
    };
    const Parts f{flat(p.q),  flat(p.k),  flat(p.v),  flatMask(p.mask),
                  flat(p.dq), flat(p.dk), flat(p.dv), flatMask(p.dMask)};
    V out = t.broadcastTo(t.b.scalar(wide_, 0), {heads, queries, shape.back()});
    int64_t parts = 1;
    if (causal_ && queries == keys && queries >= traits_.halves) parts = queries >= traits_.quarters ? 4 : 2;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t from = queries * i / parts, to = queries * (i + 1) / parts;
      const int64_t seen = parts == 1 ? keys : to;  // keys that a query before `to` may see
      const auto rows = [&](V v, int64_t begin, int64_t end) {
        return v == nullptr || v->type.shape[1] == 1 ? v : t.sliceAxis(v, 1, begin, end - begin);
      };
      const auto maskOf = [&](V m) {
        m = rows(m, from, to);
        return m == nullptr || m->type.shape[2] == 1 ? m : t.sliceAxis(m, 2, 0, seen);
      };
      out = part({rows(f.q, from, to), rows(f.k, 0, seen), rows(f.v, 0, seen), maskOf(f.mask), rows(f.dq, from, to),
                  rows(f.dk, 0, seen), rows(f.dv, 0, seen), maskOf(f.dMask)},
                 from, out);
    }
    return t.reshape(out, shape);
  }

  /// Queries from `first` on: blocks of heads, and of queries in them, written into `out`.
  V part(const Parts& p, int64_t first, V out) {
    const int64_t heads = p.q->type.shape[0], queries = p.q->type.shape[1];
    const int64_t rowBytes = p.k->type.shape[1] * ir::byteSize(wide_);
    const int64_t least = std::min(queries, traits_.leastRows);
    const int64_t someHeads = std::clamp<int64_t>(traits_.tileBytes / (rowBytes * least), 1, heads);
    const int64_t someRows =
        std::clamp<int64_t>(traits_.tileBytes / (rowBytes * someHeads), std::min<int64_t>(queries, 16), queries);
    return loop(c_.t, heads, someHeads, out, [&](Compose& h, V head, V carried) {
      const auto ofHeads = [&](V v) { return block(h, v, 0, heads, someHeads, head); };
      const Parts some{ofHeads(p.q),  ofHeads(p.k),  ofHeads(p.v),  ofHeads(p.mask),
                       ofHeads(p.dq), ofHeads(p.dk), ofHeads(p.dv), ofHeads(p.dMask)};
      return loop(h, queries, someRows, carried, [&](Compose& r, V row, V all) {
        const auto ofRows = [&](V v) { return block(r, v, 1, queries, someRows, row); };
        V at = r.add(row, r.b.scalarInt(DType::I64, first));
        V done = attend(
            r,
            {ofRows(some.q), some.k, some.v, ofRows(some.mask), ofRows(some.dq), some.dk, some.dv, ofRows(some.dMask)},
            at);
        return r.b.value(OpKind::DynamicUpdate, {all, done, head, at}, {{"axes", Dims{0, 1}}});
      });
    });
  }

  /// `size` of `n` along an axis from a run-time start on; what is one along it serves all.
  static V block(Compose& c, V v, size_t axis, int64_t n, int64_t size, V start) {
    if (v == nullptr || size == n || v->type.shape[axis] == 1) return v;
    return c.b.value(OpKind::DynamicSlice, {v, start},
                     {{"axes", Dims{static_cast<int64_t>(axis)}}, {"sizes", Dims{size}}});
  }

  /// Blocks of `size` that cover [0, n); the last one begins early when n is no multiple, and what it computes again
  /// takes the place of what was there.
  template <class Body>
  V loop(Compose& c, int64_t n, int64_t size, V carried, Body body) const {
    const int64_t trips = (n + size - 1) / size;
    if (trips == 1) return body(c, c.b.scalarInt(DType::I64, 0), carried);
    V lo = c.b.scalarInt(DType::I64, 0), hi = c.b.scalarInt(DType::I64, trips), step = c.b.scalarInt(DType::I64, 1);
    Op* f = c.b.makeTyped(OpKind::For, {lo, hi, step, carried}, {carried->type});
    ir::Region* region = c.b.addRegion(f);
    V i = region->addArg({DType::I64, {}, {}}), all = region->addArg(carried->type);
    ir::Builder in(region);
    in.setLoc(c.b.loc());
    const ir::RoundingScope rounds(in, c_.op.dtypeAttr("rounds"));
    Compose inner(in);
    V start =
        inner.binary(OpKind::Min, inner.mul(i, in.scalarInt(DType::I64, size)), in.scalarInt(DType::I64, n - size));
    V next = body(inner, start, all);
    in.makeTyped(OpKind::Yield, {next}, {});
    return f->result();
  }

  TangentCall& c_;
  const ir::TargetTraits::Attention traits_;
  const DType wide_;
  const bool causal_;
  V scale_ = nullptr, dScale_ = nullptr;
};

}  // namespace

void attention(TangentCall& c) { c.add(AttentionTangent(c).run()); }

}  // namespace tenc::transforms::rules
