// Attention as products and row-wise steps. Where the scores of all queries would be large, blocks of queries go
// through one after the other, so that only a tile of scores exists at any time (the idea of Rabe and Staats,
// "Self-attention Does Not Need O(n^2) Memory", 2021, along queries). A target that has attention as a kernel gets it
// whole (WholeAttention.cpp).
#include <algorithm>
#include <limits>

#include "passes/decompose/Decompose.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Attention {
 public:
  Attention(Op& op, const TargetTraits& traits)
      : op_(op), traits_(traits.attention), place_(op.result()->type.place), causal_(op.boolAttr("causal")) {
    const DType t = op.result()->type.dtype;
    compute_ = accumulatorOf(t);
    rounded_ = op.dtypeAttr("rounds").value_or(t);
    multiplied_ = traits.narrowProducts.contains(rounded_) ? rounded_ : compute_;
  }

  Value* build() {
    Builder b(&op_);
    b.setLoc(op_.loc);
    const DType t = op_.result()->type.dtype;
    // What is multiplied with v are weights in full precision.
    Value *q = as(b, operand(b, 0), multiplied_), *k = as(b, operand(b, 1), multiplied_), *v = operand(b, 2);
    if (!isFew(q)) v = cast(b, v);
    shape_ = op_.operand(0)->type.shape;
    shape_.back() = v->type.shape.back();
    scale_ = cast(b, op_.operand(3));
    Value* mask = op_.operandCount() > 4 ? op_.operand(4) : nullptr;
    if (mask && mask->type.dtype != DType::Bool) mask = cast(b, mask);
    const int64_t scores = op_.result()->type.size() == 0 ? 0 : rowBytes(q, k) * rows(q) * batch(q);
    Value* out = scores <= traits_.tileBytes ? attend(b, q, k, v, mask, nullptr) : inBlocks(b, q, k, v, mask);
    out = as(b, out, t);
    return op_.hasAttr("perm") ? b.value(OpKind::Permute, {out}, {{"perm", op_.intsAttr("perm")}}) : out;
  }

 private:
  static int64_t rows(const Value* q) { return q->type.shape[q->type.shape.size() - 2]; }
  int64_t rowBytes(const Value*, const Value* k) const { return rows(k) * byteSize(compute_); }
  static int64_t batch(const Value* q) {
    int64_t n = 1;
    for (size_t d = 0; d + 2 < q->type.shape.size(); ++d) n *= q->type.shape[d];
    return n;
  }

  /// Fewer queries than the target's kernel wants are no products: keys and values, of 16 bits too, are read where they
  /// are.
  bool isFew(const Value* q) const { return traits_.whole.contains(rounded_) && rows(q) < traits_.leastQueries; }

  Value* scores(Builder& b, Value* q, Value* k) const {
    const size_t rank = q->type.shape.size();
    Dims turned;
    for (size_t d = 0; d < rank; ++d) turned.push_back(static_cast<int64_t>(d));
    std::swap(turned[rank - 1], turned[rank - 2]);
    std::vector<Builder::NamedAttr> sums;
    if (multiplied_ != compute_) sums.push_back({"dtype", compute_});
    return b.value(OpKind::Matmul, {q, b.value(OpKind::Permute, {k}, {{"perm", turned}})}, std::move(sums));
  }

  /// The sum over `axis` of x times y, where y [.., keys, elements] knows no queries, and x no dim `missing`.
  Value* sumOver(Builder& b, int64_t axis, Value* x, int64_t missing, Value* y) const {
    const auto queries = static_cast<int64_t>(x->type.shape.size()) - 2;
    Dims all = y->type.shape;
    all.insert(all.begin() + queries, x->type.shape[static_cast<size_t>(queries)]);
    const auto spread = [&](Value* v, int64_t dim) {
      Dims shape = v->type.shape;
      shape.insert(shape.begin() + dim, 1);
      return b.broadcastTo(b.value(OpKind::Reshape, {cast(b, v)}, {{"shape", shape}}), all);
    };
    Value* product = b.value(OpKind::Mul, {spread(x, missing), spread(y, queries)});
    return b.value(OpKind::Sum, {product}, {{"axes", Dims{axis}}});
  }

  /// All queries of `q` at once; the first of them is number `start` (0 when null).
  Value* attend(Builder& b, Value* q, Value* k, Value* v, Value* mask, Value* start) {
    const auto rank = static_cast<int64_t>(q->type.shape.size());
    const bool few = isFew(q);
    Value* s = few ? sumOver(b, rank, q, rank - 1, k) : scores(b, q, k);
    const Dims shape = s->type.shape;
    s = b.value(OpKind::Mul, {s, b.broadcastTo(scale_, shape)});
    Value* none = b.broadcastTo(b.scalar(compute_, -kInfinity), shape);
    if (causal_) {
      const Dims grid = {shape[rank - 2], shape[rank - 1]};
      Value *row = iota(b, grid, 0), *column = iota(b, grid, 1);
      if (start) row = b.value(OpKind::Add, {row, b.broadcastTo(start, grid)});
      Value* seen = b.value(OpKind::Le, {column, row});
      s = b.value(OpKind::Where, {b.broadcastTo(seen, shape), s, none});
    }
    if (mask) {
      Value* m = b.broadcastTo(mask, shape);
      s = mask->type.dtype == DType::Bool ? b.value(OpKind::Where, {m, s, none}) : b.value(OpKind::Add, {s, m});
    }
    // The division by the sum waits until after the product: there are fewer elements then.
    const Dims last = {rank - 1};
    Value* most = b.value(OpKind::ReduceMax, {s}, {{"axes", last}, {"keep", true}});
    // A query that may see no key gives 0.
    const bool blind = mask || shape[rank - 1] == 0;
    if (blind) {
      Value* nothing = b.value(OpKind::Eq, {most, b.broadcastTo(b.scalar(compute_, -kInfinity), most->type.shape)});
      most = b.value(OpKind::Where, {nothing, b.broadcastTo(b.scalar(compute_, 0), most->type.shape), most});
    }
    Value* e = b.value(OpKind::Exp, {b.value(OpKind::Sub, {s, b.broadcastTo(most, shape)})});
    Value* sum = b.value(OpKind::Sum, {e}, {{"axes", last}, {"keep", true}});
    if (blind) {
      Value* nothing = b.value(OpKind::Eq, {sum, b.broadcastTo(b.scalar(compute_, 0), sum->type.shape)});
      sum = b.value(OpKind::Where, {nothing, b.broadcastTo(b.scalar(compute_, 1), sum->type.shape), sum});
    }
    Value* weighted = few ? sumOver(b, rank - 1, e, rank, v) : b.value(OpKind::Matmul, {e, v});
    return b.value(OpKind::Div, {weighted, b.broadcastTo(sum, weighted->type.shape)});
  }

  Value* inBlocks(Builder& b, Value* q, Value* k, Value* v, Value* mask) {
    const int64_t heads = batch(q), queries = rows(q), keys = rows(k);
    q = flatten(b, q, heads), k = flatten(b, k, heads), v = flatten(b, v, heads);
    if (mask) {
      maskBatch_.assign(mask->type.shape.begin(), mask->type.shape.end() - 2);
      mask = flatten(b, mask, batch(mask));
    }
    Value* zero = b.scalar(compute_, 0);
    const Dims flat = {heads, queries, shape_.back()};
    Value* out = b.makeTyped(OpKind::Fill, {zero}, {Type{compute_, flat, place_}}, {{"shape", flat}})->result();
    int64_t parts = 1;
    if (causal_ && queries == keys && queries >= traits_.halves) parts = queries >= traits_.quarters ? 4 : 2;
    for (int64_t p = 0; p < parts; ++p) {
      const int64_t from = queries * p / parts, to = queries * (p + 1) / parts;
      const int64_t known = parts == 1 ? keys : to;  // keys that a query before `to` may see
      out = part(b, cut(b, q, 1, from, to), cut(b, k, 1, 0, known), cut(b, v, 1, 0, known),
                 maskPart(b, mask, from, to, known), from, out);
    }
    return b.value(OpKind::Reshape, {out}, {{"shape", shape_}});
  }

  Value* maskPart(Builder& b, Value* mask, int64_t from, int64_t to, int64_t keys) {
    if (!mask) return nullptr;
    if (mask->type.shape[1] != 1) mask = cut(b, mask, 1, from, to);
    return mask->type.shape[2] != 1 ? cut(b, mask, 2, 0, keys) : mask;
  }

  /// Queries [first, first + rows of q): blocks of heads, and of queries in them, written into `out`.
  Value* part(Builder& b, Value* q, Value* k, Value* v, Value* mask, int64_t first, Value* out) {
    const int64_t heads = q->type.shape[0], queries = q->type.shape[1];
    const int64_t rowBytes = k->type.shape[1] * byteSize(compute_);
    const int64_t least = std::min(queries, traits_.leastRows);
    // A mask that some batch dims share and others do not is found for one head at a time.
    const bool mixed = mask && mask->type.shape[0] != 1 && mask->type.shape[0] != heads;
    const int64_t someHeads = mixed ? 1 : std::clamp<int64_t>(traits_.tileBytes / (rowBytes * least), 1, heads);
    const int64_t someRows =
        std::clamp<int64_t>(traits_.tileBytes / (rowBytes * someHeads), std::min<int64_t>(queries, 16), queries);
    return loop(b, heads, someHeads, out, [&](Builder& h, Value* head, Value* carried) {
      Value *ks = slice(h, k, {0}, {someHeads}, {head}), *vs = slice(h, v, {0}, {someHeads}, {head});
      return loop(h, queries, someRows, carried, [&](Builder& r, Value* row, Value* all) {
        Value* qs = slice(r, q, {0, 1}, {someHeads, someRows}, {head, row});
        Value* m = mask;
        if (m && m->type.shape[0] != 1) m = slice(r, m, {0}, {someHeads}, {mixed ? maskOf(r, head) : head});
        if (m && m->type.shape[1] != 1) m = slice(r, m, {1}, {someRows}, {row});
        Value* at = r.value(OpKind::Add, {row, r.scalarInt(DType::I64, first)});
        Value* done = attend(r, qs, ks, vs, m, at);
        return r.value(OpKind::DynamicUpdate, {all, done, head, at}, {{"axes", Dims{0, 1}}});
      });
    });
  }

  /// The number, among the masks, of the one for a head: its batch index without the dims that share.
  Value* maskOf(Builder& b, Value* head) {
    Value* number = b.scalarInt(DType::I64, 0);
    int64_t stride = 1, maskStride = 1;
    for (size_t d = maskBatch_.size(); d-- > 0;) {
      if (maskBatch_[d] != 1) {
        Value* at = b.value(OpKind::FloorDiv, {head, b.scalarInt(DType::I64, stride)});
        at = b.value(OpKind::Mod, {at, b.scalarInt(DType::I64, shape_[d])});
        number = b.value(OpKind::Add, {number, b.value(OpKind::Mul, {at, b.scalarInt(DType::I64, maskStride)})});
        maskStride *= maskBatch_[d];
      }
      stride *= shape_[d];
    }
    return number;
  }

  /// Blocks of `size` that cover [0, n); the last one begins early when n is no multiple. Blocks that overlap compute
  /// the same values twice.
  template <class Body>
  Value* loop(Builder& b, int64_t n, int64_t size, Value* carried, Body body) {
    const int64_t trips = (n + size - 1) / size;
    if (trips == 1) return body(b, b.scalarInt(DType::I64, 0), carried);
    Value *lo = b.scalarInt(DType::I64, 0), *hi = b.scalarInt(DType::I64, trips), *step = b.scalarInt(DType::I64, 1);
    Op* f = b.makeTyped(OpKind::For, {lo, hi, step, carried}, {carried->type});
    Region* region = b.addRegion(f);
    Value* i = region->addArg(Type{DType::I64, {}, {}}, "");
    Value* all = region->addArg(carried->type, "");
    Builder in(region);
    in.setLoc(b.loc());
    Value* start = in.value(OpKind::Mul, {i, in.scalarInt(DType::I64, size)});
    start = in.value(OpKind::Min, {start, in.scalarInt(DType::I64, n - size)});
    Value* next = body(in, start, all);
    in.makeTyped(OpKind::Yield, {next}, {});
    return f->result();
  }

  static Value* slice(Builder& b, Value* v, Dims axes, Dims sizes, std::vector<Value*> starts) {
    bool whole = true;
    for (size_t i = 0; i < axes.size(); ++i) whole &= v->type.shape[static_cast<size_t>(axes[i])] == sizes[i];
    if (whole) return v;
    starts.insert(starts.begin(), v);
    return b.value(OpKind::DynamicSlice, starts, {{"axes", axes}, {"sizes", sizes}});
  }

  static Value* cut(Builder& b, Value* v, size_t axis, int64_t from, int64_t to) {
    const Dims& shape = v->type.shape;
    if (from == 0 && to == shape[axis]) return v;
    Dims starts(shape.size(), 0), sizes = shape;
    starts[axis] = from;
    sizes[axis] = to - from;
    return b.value(OpKind::Slice, {v}, {{"starts", starts}, {"sizes", sizes}, {"steps", Dims(shape.size(), 1)}});
  }

  static Value* flatten(Builder& b, Value* v, int64_t heads) {
    const Dims& s = v->type.shape;
    return b.value(OpKind::Reshape, {v}, {{"shape", Dims{heads, s[s.size() - 2], s.back()}}});
  }

  Value* iota(Builder& b, const Dims& grid, int64_t axis) const {
    return b
        .makeTyped(OpKind::Iota, {}, {Type{DType::I64, grid, place_}},
                   {{"shape", grid}, {"dtype", DType::I64}, {"axis", axis}})
        ->result();
  }

  static Value* as(Builder& b, Value* v, DType t) {
    return v->type.dtype == t ? v : b.value(OpKind::Cast, {v}, {{"dtype", t}});
  }
  Value* cast(Builder& b, Value* v) const { return as(b, v, compute_); }
  /// q, k or v, rounded.
  Value* operand(Builder& b, size_t i) const { return as(b, op_.operand(i), rounded_); }

  Op& op_;
  const TargetTraits::Attention& traits_;
  const Placement place_;
  const bool causal_;
  DType compute_ = DType::F32;     ///< of all but the operands
  DType rounded_ = DType::F32;     ///< what q, k and v are rounded to
  DType multiplied_ = DType::F32;  ///< of q and k when scores are made
  Value* scale_ = nullptr;
  Dims shape_;      // of the result, before its dims are brought into another order
  Dims maskBatch_;  // batch dims of the mask, 1 where it is shared
};

}  // namespace

ir::Value* decomposeAttention(ir::Op& attention, const ir::TargetTraits& traits) {
  if (isWhole(attention, traits)) return wholeAttention(attention);
  return Attention(attention, traits).build();
}

}  // namespace tenc::passes
