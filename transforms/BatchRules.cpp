// The rules of ops without control flow: where the leading dim of n goes.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "ir/HiddenDims.h"
#include "ir/Loops.h"
#include "ir/build/Compose.h"
#include "transforms/Batch.h"
#include "transforms/HandOver.h"
#include "transforms/Origin.h"

namespace tenc::transforms {

using ir::Dims;
using ir::DType;
using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

namespace {

Dims oneUp(Dims axes) {
  for (int64_t& a : axes) ++a;
  return axes;
}

Dims led(int64_t first, Dims rest) {
  rest.insert(rest.begin(), first);
  return rest;
}

/// The dim at `from` moved to `to`, the others in order.
Value* moved(ir::Builder& b, Value* v, int64_t from, int64_t to) {
  if (from == to) return v;
  Dims perm;
  for (int64_t d = 0; d < v->type.rank(); ++d) {
    if (d != from) perm.push_back(d);
  }
  perm.insert(perm.begin() + to, from);
  return b.value(OpKind::Permute, {v}, {{"perm", perm}});
}

/// What an elementwise op that can fault is given under a mask that is false: its second operand is a number that it
/// takes. They fault for integers only.
struct Safe {
  OpKind kind;
  int64_t second;
};
constexpr Safe kSafe[] = {
    {OpKind::FloorDiv, 1}, {OpKind::Mod, 1}, {OpKind::TruncDiv, 1}, {OpKind::Fmod, 1}, {OpKind::Pow, 0},
};
constexpr const Safe* safeOf(OpKind kind) {
  for (const Safe& s : kSafe)
    if (s.kind == kind) return &s;
  return nullptr;
}
/// Whether an elementwise op that can fault does not, as its second operand is known: `i % 3`.
bool cannotFault(const Op& op) {
  if (safeOf(op.kind) == nullptr) return false;
  const std::optional<int64_t> second = ir::constantInt(op.operand(1));
  return second && (op.kind == OpKind::Pow ? *second >= 0 : *second != 0 && *second != -1);
}
constexpr bool safeIsComplete() {
  bool complete = true;
#define TENC_OP(kind, mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc)            \
  complete = complete && (contains(traits, Trait::Elementwise) && contains(traits, Trait::CanFault)) == \
                             (safeOf(OpKind::kind) != nullptr);
  using ir::ShapeRule;
#include "ir/Ops.def"
  return complete;
}
static_assert(safeIsComplete(), "an elementwise op can fault and has no safe operand, or has one and cannot");

/// Integers in [lo, hi) of bounds [n], or of one that is single: one draw of uniform numbers for all of [n, ...],
/// stretched. The result lives where the bounds [n] do.
Value* integersBetween(ir::Builder& b, const Op& op, Value* seed, Value* count, Value* lo, Value* hi,
                       const Dims& shape) {
  ir::Compose c(b);
  Value* drawn = c.madeOn({lo->type.rank() > 0 ? lo : hi}, [&](ir::Builder& at) {
    return at.value(OpKind::RandomUniform, {seed, count}, {{"shape", shape}, {"dtype", DType::F64}});
  });
  Dims column(shape.size(), 1);
  column[0] = shape[0];
  const DType t = op.result()->type.dtype;
  const auto spread = [&](Value* bound) {
    if (bound->type.rank() == 0) return b.broadcastTo(c.cast(bound, DType::I64), shape);
    return c.broadcastTo(b.value(OpKind::Reshape, {c.cast(bound, DType::I64)}, {{"shape", column}}), shape);
  };
  Value* least = spread(lo);
  Value* width = c.sub(spread(hi), least);
  Value* step = c.cast(c.mul(drawn, c.cast(width, DType::F64)), DType::I64);
  // A product may round up to the width.
  step = c.binary(OpKind::Min, step, c.sub(width, c.broadcastTo(b.scalarInt(DType::I64, 1), shape)));
  return c.cast(c.add(least, step), t);
}

Value* numberOf(ir::Builder& b, int64_t number, DType t) {
  return ir::isFloat(t) ? b.scalar(t, static_cast<double>(number)) : b.scalarInt(t, number);
}

/// What an operand is under a mask, where that is false: `safe`, on the device of the value that the op takes it with,
/// which the mask then meets. The operand itself may be made of numbers, and the mask come from elsewhere.
Value* safeBeside(ir::Builder& b, Value* with, const Value& operand, int64_t safe) {
  return ir::Compose(b).fillOn(with, operand.type.shape, numberOf(b, safe, operand.type.dtype));
}

}  // namespace

Batcher::Values Batcher::allBatched(const Op& op) {
  Values all;
  for (Value* v : op.operands()) all.push_back(batched(v));
  return all;
}

Batcher::Values Batcher::asTheyAre(const Op& op, size_t from) {
  Values all;
  for (size_t i = from; i < op.operandCount(); ++i) all.push_back(entry(op.operand(i)).value);
  return all;
}

Batcher::Values Batcher::homes(const Op& op, size_t from) {
  Values all;
  for (size_t i = from; i < op.operandCount(); ++i) {
    const Entry e = entry(op.operand(i));
    all.push_back(e.home != nullptr ? e.home : e.value);
  }
  return all;
}

Value* Batcher::column(Value* v, size_t rank) {
  Dims shape(rank, 1);
  shape[0] = n_;
  return b_->value(OpKind::Reshape, {v}, {{"shape", shape}});
}

Op* Batcher::remake(const Op& op, Values operands, const std::vector<ir::Builder::NamedAttr>& changed) {
  std::vector<ir::Builder::NamedAttr> attrs = changed;
  for (const auto& [name, value] : op.attrs()) {
    const bool given = std::any_of(changed.begin(), changed.end(), [&](const auto& c) { return c.name == name; });
    if (!given) attrs.push_back({name, value});
  }
  return b_->make(op.kind, std::move(operands), attrs);
}

Value* Batcher::guarded(Value* v, int64_t safe) {
  if (mask_ == nullptr) return v;
  return choose(mask_, v, b_->broadcastTo(numberOf(*b_, safe, v->type.dtype), v->type.shape));
}

void Batcher::elementwise(const Op& op, Values operands) {
  if (operands.size() == 2) operands[1] = decisionNear(operands[1], operands[0]);
  if (mask_ != nullptr && !cannotFault(op)) {
    const Safe* safe = ir::isInt(op.result()->type.dtype) ? safeOf(op.kind) : nullptr;
    if (safe && functions_->arePlaced())
      operands[1] = choose(mask_, operands[1], safeBeside(*b_, operands[0], *operands[1], safe->second));
    else if (safe)
      operands[1] = guarded(operands[1], safe->second);
  }
  define(op, 0, remake(op, std::move(operands), {})->result(), true);
}

Value* Batcher::iotaOn(const Values& like, const Dims& shape, int64_t axis) {
  const OriginScope hidden(module(), OriginScope::kBatch);
  return ir::Compose(*b_).madeOn(like, [&](ir::Builder& at) {
    return at.value(OpKind::Iota, {}, {{"shape", shape}, {"dtype", DType::I64}, {"axis", axis}});
  });
}

void Batcher::random(const Op& op) {
  const Dims shape = led(n_, op.intsAttr("shape"));
  if (op.kind == OpKind::RandomInt && (entry(op.operand(2)).batched || entry(op.operand(3)).batched)) {
    Value *seed = entry(op.operand(0)).value, *count = entry(op.operand(1)).value;
    Value *lo = entry(op.operand(2)).value, *hi = entry(op.operand(3)).value;
    define(op, 0, integersBetween(*b_, op, seed, count, lo, hi, shape), true);
    return;
  }
  define(op, 0, remake(op, asTheyAre(op), {{"shape", shape}})->result(), true);
}

void Batcher::reshape(const Op& op) {
  Value* x = batched(op.operand(0));
  const Dims shape = led(n_, op.intsAttr("shape"));
  if (op.kind == OpKind::Broadcast && x->type.rank() < static_cast<int64_t>(shape.size())) {
    Dims aligned(shape.size(), 1);
    std::copy(x->type.shape.rbegin(), x->type.shape.rend() - 1, aligned.rbegin());
    aligned[0] = n_;
    x = b_->value(OpKind::Reshape, {x}, {{"shape", aligned}});
  }
  define(op, 0, remake(op, {x}, {{"shape", shape}})->result(), true);
}

void Batcher::slice(const Op& op) {
  std::vector<ir::Builder::NamedAttr> attrs = {{"starts", led(0, op.intsAttr("starts"))},
                                               {"steps", led(1, op.intsAttr("steps"))}};
  if (op.kind == OpKind::Slice) attrs.push_back({"sizes", led(n_, op.intsAttr("sizes"))});
  define(op, 0, remake(op, allBatched(op), attrs)->result(), true);
}

void Batcher::position(const Op& op) {
  // A place counts along one axis, or along all of an instance as it lies in memory.
  ir::Compose c(*b_);
  Value* x = batched(op.operand(0));
  const int64_t n = x->type.shape[0];
  Value* flat = c.reshape(x, {n, op.operand(0)->type.size()});
  Value* v = remake(op, {flat}, {{"axes", Dims{1}}, {"keep", false}})->result();
  Dims shape = op.result()->type.shape;
  shape.insert(shape.begin(), n);
  define(op, 0, c.reshape(v, shape), true);
}

bool Batcher::single(const Op& op) {
  const bool underMask = mask_ != nullptr && op.has(Trait::CanFault) && !op.boolAttr(kKeptOfTrips);
  if (op.has(Trait::Random) && op.has(Trait::Creation)) {
    random(op);
    return true;
  }
  const bool effect = op.has(Trait::HasSideEffect);
  if (!anyBatched(op) && !underMask && !(effect && mask_ != nullptr && op.kind != OpKind::RngNext)) {
    copy(op);
    return true;
  }
  if (op.has(Trait::Elementwise)) {
    Values operands = allBatched(op);
    const auto placed = [&](const Value* v) { return functions_->arePlaced() && !isCounted(*v); };
    const auto& lanes = op.operands();
    if (const auto near = std::ranges::find_if(lanes, placed); near != lanes.end()) {
      Value* const with = operands[static_cast<size_t>(near - lanes.begin())];
      for (size_t i = 0; i < operands.size(); ++i) operands[i] = mixed(op.operand(i), operands[i], with);
    }
    elementwise(op, std::move(operands));
    return true;
  }
  const Dims& axes = op.intsAttr("axes");
  switch (op.kind) {
    case OpKind::Reshape:
    case OpKind::Broadcast: reshape(op); return true;
    case OpKind::Permute:
      define(op, 0, remake(op, allBatched(op), {{"perm", led(0, oneUp(op.intsAttr("perm")))}})->result(), true);
      return true;
    case OpKind::Slice:
    case OpKind::UpdateSlice: slice(op); return true;
    case OpKind::Pad: pad(op); return true;
    case OpKind::Concat:
      define(op, 0, remake(op, allBatched(op), {{"axis", op.intAttr("axis") + 1}})->result(), true);
      return true;
    case OpKind::Fill: {
      const Dims shape = led(n_, op.intsAttr("shape"));
      define(op, 0, b_->broadcastTo(column(batched(op.operand(0)), shape.size()), shape), true);
      return true;
    }
    case OpKind::Matmul: {
      // A matrix that all instances share stays one: their rows are rows of one product.
      const Values operands = anyBatched(op) ? asTheyAre(op) : allBatched(op);
      const ir::RoundingScope rounds(*b_, op.dtypeAttr("rounds"));
      define(op, 0, ir::Compose(*b_).matmul(operands[0], operands[1]), true);
      return true;
    }
    case OpKind::Gather: gather(op); return true;
    case OpKind::Scatter: scatter(op); return true;
    case OpKind::DynamicSlice: dynamicSlice(op); return true;
    case OpKind::DynamicUpdate: dynamicUpdate(op); return true;
    case OpKind::To:
    case OpKind::CheckPlace:
    case OpKind::StopGradient:
    case OpKind::Barrier:
    case OpKind::SamePlace: {
      Values operands = homes(op, 1);
      operands.insert(operands.begin(), batched(op.operand(0)));
      define(op, 0, remake(op, operands, {})->result(), true);
      return true;
    }
    case OpKind::DeviceEq: define(op, 0, remake(op, homes(op), {})->result(), false); return true;
    case OpKind::Seed:
      return refuse(op, Code::E0204,
                    "gives `seed` another number for each row, and there is one sequence of random numbers");
    case OpKind::Bench: return refuse(op, Code::E0204, "holds a `bench`");
    default: break;
  }
  if (isPosition(op.kind) && axes.size() > 1) {
    position(op);
    return true;
  }
  if (op.hasAttr("axes") &&
      (op.has(Trait::Reduction) || op.has(Trait::Decomposed) || op.has(Trait::Structural) || op.has(Trait::Scans))) {
    define(op, 0, remake(op, allBatched(op), {{"axes", oneUp(axes)}})->result(), true);
    return true;
  }
  if (op.has(Trait::Decomposed) && op.info().rule == ir::ShapeRule::Same) {
    define(op, 0, remake(op, allBatched(op), {})->result(), true);
    return true;
  }
  return oneByOne(op);
}

void Batcher::pad(const Op& op) {
  const Entry around = entry(op.operand(1));
  const Dims lo = led(0, op.intsAttr("lo")), hi = led(0, op.intsAttr("hi"));
  Value* x = batched(op.operand(0));
  if (!around.batched) {
    define(op, 0, remake(op, {x, around.value}, {{"lo", lo}, {"hi", hi}})->result(), true);
    return;
  }
  // What each instance pads with is chosen where a padded mask says so.
  const DType t = x->type.dtype;
  Value* zero = ir::isFloat(t) ? b_->scalar(t, 0) : b_->scalarInt(t, 0);
  Value* padded = remake(op, {x, zero}, {{"lo", lo}, {"hi", hi}})->result();
  Value* inner = b_->broadcastTo(b_->scalarInt(DType::Bool, 1), x->type.shape);
  Value* where = remake(op, {inner, b_->scalarInt(DType::Bool, 0)}, {{"lo", lo}, {"hi", hi}})->result();
  const Dims& whole = padded->type.shape;
  Value* fill = b_->broadcastTo(column(around.value, whole.size()), whole);
  define(op, 0, b_->value(OpKind::Where, {where, padded, fill}), true);
}

namespace {
/// An op whose operand 0 got its leading dim here: the axes of its indices are one more than the source says.
Value* behindInstances(const Op& lane, Value* v) {
  v->op->set(ir::kHiddenDims, lane.intAttr(ir::kHiddenDims) + 1);
  return v;
}
}  // namespace

Batcher::Values Batcher::indices(const Op& op, size_t from) {
  Values all;
  for (size_t i = from; i < op.operandCount(); ++i) {
    const Entry one = entry(op.operand(i));
    // A number that is an index of all instances is where the tensor is that it picks from, in a derivative too.
    const bool isNumber = functions_->arePlaced() && !one.batched && one.value->type.shape.empty() && n_ > 0;
    Value* index =
        isNumber ? ir::Compose(*b_).fillOn(entry(op.operand(0)).value, {n_}, one.value) : batched(op.operand(i));
    index = mixed(op.operand(i), index, entry(op.operand(0)).value);
    const bool apart = mask_ != nullptr && functions_->arePlaced();
    all.push_back(apart ? choose(mask_, index, safeBeside(*b_, entry(op.operand(0)).value, *index, 0))
                        : guarded(index, 0));
  }
  return all;
}

void Batcher::gather(const Op& op) {
  const Entry x = entry(op.operand(0));
  const Dims& axes = op.intsAttr("axes");
  const int64_t at = op.intAttr("at");
  bool ownIndices = mask_ != nullptr;
  for (size_t i = 1; i < op.operandCount(); ++i) ownIndices = ownIndices || entry(op.operand(i)).batched;
  if (!ownIndices) {
    define(op, 0, behindInstances(op, remake(op, asTheyAre(op), {{"axes", oneUp(axes)}, {"at", at + 1}})->result()),
           true);
    return;
  }
  Values operands = indices(op, 1);
  Dims along = axes;
  if (x.batched) {
    operands.insert(operands.begin(), iotaOn({x.value}, operands[0]->type.shape, 0));
    along = led(0, oneUp(axes));
  }
  operands.insert(operands.begin(), x.value);
  Value* v = remake(op, operands, {{"axes", along}, {"at", at}})->result();
  if (x.batched) behindInstances(op, v);
  define(op, 0, moved(*b_, v, at, 0), true);
}

void Batcher::scatter(const Op& op) {
  Value *x = batched(op.operand(0)), *u = batched(op.operand(1));
  const Dims& axes = op.intsAttr("axes");
  const int64_t at = op.intAttr("at");
  Values operands = indices(op, 2);
  operands.insert(operands.begin(), iotaOn({x}, operands[0]->type.shape, 0));
  u = moved(*b_, u, 0, at);
  operands.insert(operands.begin(), {x, u});
  define(op, 0, behindInstances(op, remake(op, operands, {{"axes", led(0, oneUp(axes))}, {"at", at}})->result()), true);
}

Batcher::Values Batcher::windows(const Op& op, size_t from, const Dims& axes, const Dims& extents, const Dims& sizes) {
  Values all;
  const Values index = indices(op, from);
  Dims shape = led(n_, sizes);
  for (size_t i = 0; i < axes.size(); ++i) {
    Value* start = index[i];
    if (start->type.dtype != DType::I64) start = b_->value(OpKind::Cast, {start}, {{"dtype", DType::I64}});
    auto number = [&](int64_t v) { return b_->broadcastTo(b_->scalarInt(DType::I64, v), {n_}); };
    Value* wrapped = b_->value(OpKind::Where, {b_->value(OpKind::Lt, {start, number(0)}),
                                               b_->value(OpKind::Add, {start, number(extents[i])}), start});
    // What is still before the first element must not count from the end again: it is out of range as a whole.
    wrapped = b_->value(OpKind::Where, {b_->value(OpKind::Lt, {wrapped, number(0)}), number(extents[i]), wrapped});
    Dims row(shape.size(), 1);
    row[1 + i] = sizes[i];
    // Starts that are the same for all may be free: what they index lives somewhere.
    Value* offset = iotaOn({start, entry(op.operand(0)).value}, row, static_cast<int64_t>(1 + i));
    Value* base = column(wrapped, shape.size());
    all.push_back(b_->value(OpKind::Add, {b_->broadcastTo(base, shape), b_->broadcastTo(offset, shape)}));
  }
  return all;
}

namespace {
/// Dims of the axes, then the others in order: how gather and scatter with indices of the axes' rank lay out `rank`
/// dims; the permutation that puts each back.
Dims backInPlace(const Dims& axes, int64_t rank) {
  Dims order = axes;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) order.push_back(d);
  }
  Dims back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return back;
}
}  // namespace

void Batcher::dynamicSlice(const Op& op) {
  const Entry x = entry(op.operand(0));
  const Dims &axes = op.intsAttr("axes"), &sizes = op.intsAttr("sizes");
  bool ownStarts = mask_ != nullptr;
  for (size_t i = 1; i < op.operandCount(); ++i) ownStarts = ownStarts || entry(op.operand(i)).batched;
  if (!ownStarts) {
    define(op, 0, behindInstances(op, remake(op, asTheyAre(op), {{"axes", oneUp(axes)}})->result()), true);
    return;
  }
  const ir::Type& lane = op.operand(0)->type;
  Dims extents;
  for (int64_t a : axes) extents.push_back(lane.shape[static_cast<size_t>(a)]);
  Values operands = windows(op, 1, axes, extents, sizes);
  Dims along = axes;
  if (x.batched) {
    operands.insert(operands.begin(), iotaOn({x.value}, operands[0]->type.shape, 0));
    along = led(0, oneUp(axes));
  }
  operands.insert(operands.begin(), x.value);
  Value* v = b_->value(OpKind::Gather, operands, {{"axes", along}, {"at", int64_t{0}}});
  if (x.batched) behindInstances(op, v);
  define(op, 0, b_->value(OpKind::Permute, {v}, {{"perm", led(0, oneUp(backInPlace(axes, lane.rank())))}}), true);
}

void Batcher::dynamicUpdate(const Op& op) {
  const Dims& axes = op.intsAttr("axes");
  bool ownStarts = mask_ != nullptr;
  for (size_t i = 2; i < op.operandCount(); ++i) ownStarts = ownStarts || entry(op.operand(i)).batched;
  Value *x = batched(op.operand(0)), *u = batched(op.operand(1));
  if (n_ == 0) return define(op, 0, x, true);
  if (!ownStarts) {
    Values operands = asTheyAre(op, 2);
    operands.insert(operands.begin(), {x, u});
    define(op, 0, behindInstances(op, remake(op, operands, {{"axes", oneUp(axes)}})->result()), true);
    return;
  }
  // The block starts at 0 along the other dims: they get indices too, so that any block has its own places.
  const ir::Type &lane = op.operand(0)->type, &block = op.operand(1)->type;
  Dims extents, sizes;
  for (int64_t a : axes) {
    extents.push_back(lane.shape[static_cast<size_t>(a)]);
    sizes.push_back(block.shape[static_cast<size_t>(a)]);
  }
  Values starts = windows(op, 2, axes, extents, sizes);
  const Dims whole = led(n_, block.shape);
  Values operands = {x, u, iotaOn({x}, whole, 0)};
  for (int64_t d = 0; d < lane.rank(); ++d) {
    auto it = std::find(axes.begin(), axes.end(), d);
    if (it == axes.end()) {
      operands.push_back(iotaOn({x}, whole, d + 1));
      continue;
    }
    const auto k = static_cast<size_t>(it - axes.begin());
    // Of [n, sizes...] all but the dim of this axis are alike: take one of each.
    Dims first(starts[k]->type.shape.size(), 0), size(starts[k]->type.shape.size(), 1), step = size;
    size[0] = n_;
    size[1 + k] = sizes[k];
    Value* line = starts[k];
    if (line->type.size() > 0)
      line = b_->value(OpKind::Slice, {line}, {{"starts", first}, {"sizes", size}, {"steps", step}});
    Dims along(whole.size(), 1);
    along[0] = n_;
    along[static_cast<size_t>(d) + 1] = sizes[k];
    if (line->type.size() > 0 || block.size() == 0) {
      line = block.size() == 0 ? b_->broadcastTo(b_->scalarInt(DType::I64, 0), whole)
                               : b_->broadcastTo(b_->value(OpKind::Reshape, {line}, {{"shape", along}}), whole);
    }
    operands.push_back(line);
  }
  Dims all(whole.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  Value* v = b_->value(OpKind::Scatter, operands, {{"axes", all}, {"at", int64_t{0}}, {"mode", std::string("set")}});
  define(op, 0, behindInstances(op, v), true);
}

bool Batcher::oneByOne(const Op& op) {
  // for i in 0..n: the op on what belongs to instance i, its results written to their rows.
  std::vector<Value*> own;
  auto note = [&](Value* v) {
    auto it = env_.find(v);
    if (it != env_.end() && it->second.batched && std::find(own.begin(), own.end(), v) == own.end()) own.push_back(v);
  };
  std::function<void(const ir::Region&)> inRegion = [&](const ir::Region& r) {
    for (const auto& inner : r.ops) {
      for (Value* v : inner->operands()) note(v);
      for (const auto& deeper : inner->regions) inRegion(*deeper);
    }
  };
  for (Value* v : op.operands()) note(v);
  for (const auto& r : op.regions) inRegion(*r);
  auto i64 = [&](int64_t v) { return b_->scalarInt(DType::I64, v); };
  Values operands = {i64(0), i64(n_), i64(1)};
  for (const auto& r : op.results) {
    const DType t = r->type.dtype;
    Value* zero = ir::isFloat(t) ? b_->scalar(t, 0) : b_->scalarInt(t, 0);
    const Dims shape = led(n_, r->type.shape);
    const auto room = [&](ir::Builder& at) {
      return at.makeTyped(OpKind::Fill, {zero}, {{t, shape, {}}}, {{"shape", shape}})->result();
    };
    operands.push_back(own.empty() ? room(*b_) : ir::Compose(*b_).madeOn({entry(own[0]).value}, room));
  }
  if (n_ == 0) {  // no trip could be written: there is no row
    for (size_t r = 0; r < op.results.size(); ++r) define(op, r, operands[3 + r], true);
    return true;
  }
  Op* loop = b_->makeTyped(OpKind::For, operands, {});
  ir::Region* region = b_->addRegion(loop);
  Value* i = region->addArg({DType::I64, {}, {}}, "i");
  Values carried;
  for (size_t r = 0; r < op.results.size(); ++r) carried.push_back(region->addArg(operands[3 + r]->type));
  inside(region, [&] {
    auto trip = [&] {
      ir::ValueMap map = sharedBy(op);
      for (Value* lane : own) {
        map[lane] = b_->value(OpKind::Gather, {entry(lane).value, i}, {{"axes", Dims{0}}, {"at", int64_t{0}}});
      }
      Op* made = ir::clone(op, *b_, map);
      Values after;
      for (size_t r = 0; r < op.results.size(); ++r) {
        Value* row = made->result(r);
        row = b_->value(OpKind::Reshape, {row}, {{"shape", led(1, row->type.shape)}});
        after.push_back(b_->value(OpKind::DynamicUpdate, {carried[r], row, i}, {{"axes", Dims{0}}}));
      }
      b_->makeTyped(OpKind::Yield, after, {});
      return true;
    };
    if (mask_ == nullptr) return trip();
    Value* here = b_->value(OpKind::Gather, {mask_, i}, {{"axes", Dims{0}}, {"at", int64_t{0}}});
    Op* choice = b_->makeTyped(OpKind::If, {here}, {});
    ir::Region *yes = b_->addRegion(choice), *no = b_->addRegion(choice);
    inside(yes, trip);
    inside(no, [&] {
      b_->makeTyped(OpKind::Yield, carried, {});
      return true;
    });
    Values after;
    for (Value* v : carried) after.push_back(choice->addResult(v->type));
    b_->makeTyped(OpKind::Yield, after, {});
    return true;
  });
  for (size_t r = 0; r < op.results.size(); ++r) define(op, r, loop->addResult(operands[3 + r]->type), true);
  return true;
}

}  // namespace tenc::transforms
