// Result types from operand types and attributes: dtype rules by the traits of the row, shape rules by its ShapeRule.
#include <algorithm>

#include "ir/Attributes.h"
#include "ir/InferShapes.h"

namespace tenc::ir {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 62;

template <class T>
const T* get(const Attr* a) {
  return a != nullptr ? std::get_if<T>(a) : nullptr;
}

/// The place of a result: that of the operands. Free values decide nothing, and rank-0 values on the host, which mix
/// with values on any device (P3), decide only where a rank-0 result is: a tensor that is made of them alone is free.
Placement placeOf(std::span<const Type* const> operands, const Dims& shape) {
  Placement scalars;
  for (const Type* t : operands) {
    if (t->place.isFree()) continue;
    if (!(t->shape.empty() && t->place.device == DeviceTable::kHost)) return t->place;
    if (shape.empty()) scalars = t->place;
  }
  return scalars;
}

Inferred sameTypes(const InferContext& c, size_t from) {
  for (size_t i = from + 1; i < c.operands.size(); ++i) {
    const Type& a = c.operand(from);
    const Type& b = c.operand(i);
    if (a.dtype != b.dtype) {
      return c.fail("needs operands of one dtype, not " + std::string(name(a.dtype)) + " and " +
                    std::string(name(b.dtype)));
    }
    if (a.shape != b.shape) {
      return c.fail("needs operands of one shape, not " + toString(a.shape) + " and " + toString(b.shape));
    }
  }
  return {};
}

/// The dtype rules of the traits, for the operands from `from` on that the op computes with.
Inferred checkDTypes(const InferContext& c, size_t from, size_t to) {
  for (size_t i = from; i < to && i < c.operands.size(); ++i) {
    const DType t = c.operand(i).dtype;
    if (!acceptsDType(c.kind, t)) {
      return c.fail("takes " + std::string(acceptedDTypes(c.kind)) + ", not " + std::string(name(t)));
    }
  }
  return {};
}

Inferred inferSelect(const InferContext& c) {
  if (c.operand(0).dtype != DType::Bool) {
    return c.fail("chooses by a bool, not by " + std::string(name(c.operand(0).dtype)));
  }
  if (Inferred same = sameTypes(c, 1); !same.ok()) return same;
  if (c.operand(0).shape != c.operand(1).shape) {
    return c.fail("needs operands of one shape, not " + toString(c.operand(0).shape) + " and " +
                  toString(c.operand(1).shape));
  }
  return c.result(c.operand(1).dtype, c.operand(1).shape);
}

Inferred inferCreated(const InferContext& c) {
  const DType t = c.dtype("dtype");
  if (t == DType::Bool || !acceptsDType(c.kind, t) || (c.kind == OpKind::RandomInt && !isInt(t))) {
    return c.fail("makes " + std::string(c.kind == OpKind::RandomInt ? "integers" : acceptedDTypes(c.kind)) + ", not " +
                  std::string(name(t)));
  }
  const Dims& shape = c.ints("shape");
  if (c.kind == OpKind::Iota) {
    const int64_t axis = c.integer("axis");
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
      return c.fail("has no axis " + std::to_string(axis) + " in shape " + toString(shape));
    }
  }
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (!c.operand(i).shape.empty()) {
      return c.fail("takes rank-0 values, not a tensor of shape " + toString(c.operand(i).shape));
    }
    if (i < 2 ? c.operand(i).dtype != DType::U64 : !isInt(c.operand(i).dtype)) {
      return c.fail(i < 2 ? "takes its seed and draw as u64" : "takes bounds of integers");
    }
  }
  return c.result(t, shape);
}

/// Rows of rule Given whose result still follows from what is there.
Inferred inferGiven(const InferContext& c) {
  switch (c.kind) {
    case OpKind::Fill:
      if (!c.operand(0).shape.empty()) {
        return c.fail("copies a rank-0 value, not a tensor of shape " + toString(c.operand(0).shape));
      }
      return c.result(c.operand(0).dtype, c.ints("shape"));
    case OpKind::RngNext: return {{Type{DType::U64, {}, {}}, Type{DType::U64, {}, {}}}, {}};
    case OpKind::Time: return {{Type{DType::F64, {}, {}}}, {}};
    case OpKind::DeviceEq: return {{Type{DType::Bool, {}, {}}}, {}};
    default: return c.fail("has result types that its maker gives");
  }
}

Inferred inferElementwise(const InferContext& c, ShapeRule rule) {
  if (Inferred dtypes = checkDTypes(c, 0, c.operands.size()); !dtypes.ok()) return dtypes;
  if (Inferred same = sameTypes(c, 0); !same.ok()) return same;
  return c.result(rule == ShapeRule::SameBool ? DType::Bool : c.operand(0).dtype, c.operand(0).shape);
}

Inferred inferBitcast(const InferContext& c) {
  const DType from = c.operand(0).dtype;
  const DType to = c.dtype("dtype");
  if (from == DType::Bool || to == DType::Bool)
    return c.fail("takes " + std::string(acceptedDTypes(c.kind)) + ", not bool");
  if (byteSize(from) != byteSize(to)) {
    return c.fail("needs dtypes of one width, not " + std::string(name(from)) + " and " + std::string(name(to)));
  }
  return c.result(to, c.operand(0).shape);
}

Inferred inferByRule(const InferContext& c, ShapeRule rule) {
  switch (rule) {
    case ShapeRule::Same:
      if (c.has("axes")) {
        if (std::string bad = checkAxes(c.ints("axes"), c.operand(0).rank()); !bad.empty()) return c.fail(bad);
      }
      return inferElementwise(c, rule);
    case ShapeRule::SameBool: return inferElementwise(c, rule);
    case ShapeRule::Select: return inferSelect(c);
    case ShapeRule::Cast: return c.result(c.dtype("dtype"), c.operand(0).shape);
    case ShapeRule::Bitcast: return inferBitcast(c);
    case ShapeRule::Reduce:
    case ShapeRule::ReduceWide:
    case ShapeRule::ReduceBool:
    case ShapeRule::ReduceIndex:
      if (Inferred dtypes = checkDTypes(c, 0, 1); !dtypes.ok()) return dtypes;
      return inferReduce(c, rule);
    case ShapeRule::Scan:
      if (Inferred dtypes = checkDTypes(c, 0, 1); !dtypes.ok()) return dtypes;
      return inferScan(c);
    case ShapeRule::Matmul:
      if (Inferred dtypes = checkDTypes(c, 0, 2); !dtypes.ok()) return dtypes;
      return inferMatmul(c);
    case ShapeRule::Attention: return inferAttention(c);
    case ShapeRule::AttentionSaved: return inferAttentionSaved(c);
    case ShapeRule::AttentionGrad: return inferAttentionGrad(c);
    case ShapeRule::Conv: return inferConv(c);
    case ShapeRule::Reshape: return inferReshape(c);
    case ShapeRule::Permute: return inferPermute(c);
    case ShapeRule::Broadcast: return inferBroadcast(c);
    case ShapeRule::Slice: return inferSlice(c);
    case ShapeRule::Pad: return inferPad(c);
    case ShapeRule::Concat: return inferConcat(c);
    case ShapeRule::Flip: return inferFlip(c);
    case ShapeRule::Gather: return inferGather(c);
    case ShapeRule::Rows: return inferRows(c);
    case ShapeRule::DynamicSlice: return inferDynamicSlice(c);
    case ShapeRule::UpdateSlice: return inferUpdateSlice(c);
    case ShapeRule::DynamicUpdate: return inferDynamicUpdate(c);
    case ShapeRule::Scatter: return inferScatter(c);
    case ShapeRule::Created: return inferCreated(c);
    case ShapeRule::Library:
      if (Inferred dtypes = checkDTypes(c, 0, c.operands.size()); !dtypes.ok()) return dtypes;
      return inferLibrary(c);
    case ShapeRule::First: return c.result(c.operand(0).dtype, c.operand(0).shape);
    case ShapeRule::Given: return inferGiven(c);
    case ShapeRule::None: return {};
  }
  return c.fail("has no shape rule");
}

}  // namespace

const Dims& InferContext::ints(std::string_view name) const {
  static const Dims none;
  const auto* v = get<Dims>(attr_(name));
  return v != nullptr ? *v : none;
}
int64_t InferContext::integer(std::string_view name) const {
  const auto* v = get<int64_t>(attr_(name));
  return v != nullptr ? *v : 0;
}
bool InferContext::boolean(std::string_view name) const {
  const auto* v = get<bool>(attr_(name));
  return v != nullptr && *v;
}
DType InferContext::dtype(std::string_view name) const {
  const auto* v = get<DType>(attr_(name));
  return v != nullptr ? *v : DType::F32;
}
const std::string& InferContext::string(std::string_view name) const {
  static const std::string none;
  const auto* v = get<std::string>(attr_(name));
  return v != nullptr ? *v : none;
}

Inferred InferContext::tooLarge(DType t, Dims shape, const std::string& what) const {
  Placement place = placeOf(operands, shape);
  return {{Type{t, std::move(shape), std::move(place)}}, op() + " " + what, true};
}

Inferred InferContext::result(DType t, Dims shape) const {
  if (shape.size() > kMaxRank) {
    return tooLarge(
        t, shape,
        "would make a tensor of rank " + std::to_string(shape.size()) + "; the most is " + std::to_string(kMaxRank));
  }
  for (int64_t d : shape) {
    if (d < 0) return tooLarge(t, shape, "would make a dim of negative size: " + toString(shape));
  }
  const auto count = elementCount(shape);
  if (!count || *count > kMostBytes / byteSize(t)) {
    return tooLarge(t, shape, "would make a tensor of shape " + toString(shape) + ", whose size overflows");
  }
  Placement place = placeOf(operands, shape);
  return {{Type{t, std::move(shape), std::move(place)}}, {}, false};
}

bool acceptsDType(OpKind kind, DType t) {
  const OpInfo& info = opInfo(kind);
  if (kind == OpKind::BitNot && t == DType::Bool) return false;
  if (t == DType::Bool) return info.has(Trait::BoolOk) || info.has(Trait::BoolOnly);
  if (info.has(Trait::BoolOnly)) return false;
  if (info.has(Trait::Library) && info.has(Trait::FloatOnly)) return t == DType::F32 || t == DType::F64;
  if (info.has(Trait::FloatOnly)) return isFloat(t);
  if (info.has(Trait::IntOnly)) return isInt(t);
  return true;
}

std::string_view acceptedDTypes(OpKind kind) {
  const OpInfo& info = opInfo(kind);
  const bool bools = acceptsDType(kind, DType::Bool);
  if (info.has(Trait::BoolOnly)) return "bools";
  if (info.has(Trait::Library) && info.has(Trait::FloatOnly)) return "f32 and f64";
  if (info.has(Trait::FloatOnly)) return bools ? "floats and bools" : "floats";
  if (info.has(Trait::IntOnly)) return bools ? "integers and bools" : "integers";
  return bools ? "every dtype" : "numbers";
}

std::optional<Dims> broadcastShapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  Dims shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    // Counted from the last dim; a missing one is 1.
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

std::vector<const Type*> typesOf(std::span<Value* const> values) {
  std::vector<const Type*> types;
  types.reserve(values.size());
  for (const Value* v : values) types.push_back(&v->type);
  return types;
}

Inferred infer(OpKind kind, std::span<const Type* const> operands, const AttrLookup& attr) {
  const InferContext c(kind, operands, attr);
  const OpInfo& info = opInfo(kind);
  const auto count = static_cast<int64_t>(operands.size());
  if (count < info.minOperands || (info.maxOperands >= 0 && count > info.maxOperands)) {
    std::string want = std::to_string(info.minOperands);
    if (info.maxOperands < 0) {
      want = "at least " + want;
    } else if (info.maxOperands != info.minOperands) {
      want += " to " + std::to_string(info.maxOperands);
    }
    return c.fail("takes " + want + (want == "1" || want == "at least 1" ? " operand" : " operands") + ", not " +
                  std::to_string(count));
  }
  if (std::string bad = checkAttributes(kind, attr); !bad.empty()) return c.fail(bad);
  return inferByRule(c, info.rule);
}

}  // namespace tenc::ir
