// Elementwise ops: dtype rules of numbers and tensors, broadcasting, trees leaf by leaf; arrays made into tensors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "frontend/Lowering.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
using ir::Trait;

/// Whether every number in the (nested) array is a literal that adopts a dtype.
bool adoptsWholly(const Val& v) {
  if (v.is(Val::Kind::Array)) return std::all_of(v.elems.begin(), v.elems.end(), adoptsWholly);
  return v.isNumber() && v.adopts;
}

bool hasFloat(const Val& v) {
  if (v.is(Val::Kind::Array)) return std::any_of(v.elems.begin(), v.elems.end(), hasFloat);
  return v.is(Val::Kind::Float);
}

int64_t rankOf(const Val& v) {
  if (v.is(Val::Kind::Tensor)) return v.tensor->type.rank();
  if (v.is(Val::Kind::Array)) return 1;
  return 0;
}

/// The dtype that the value has by itself; nullopt when it is no tensor or number.
std::optional<DType> ownDType(const Val& v) {
  switch (v.kind) {
    case Val::Kind::Tensor: return v.tensor->type.dtype;
    case Val::Kind::Int:
    case Val::Kind::Float: return v.dtype;
    case Val::Kind::Bool: return DType::Bool;
    case Val::Kind::Array: {
      std::optional<DType> t;
      for (const Val& e : v.elems) {
        auto own = ownDType(e);
        if (!own) return std::nullopt;
        if (!t || (adoptsWholly(e) ? (*own == DType::F32 && !ir::isFloat(*t)) : true)) t = own;
      }
      return t ? t : DType::F32;
    }
    default: return std::nullopt;
  }
}

bool fits(Int v, DType t) {
  if (!ir::isInt(t)) return true;
  const int bits = 8 * ir::byteSize(t);
  const Int one = 1;
  return ir::isSigned(t) ? v >= -(one << (bits - 1)) && v < (one << (bits - 1)) : v >= 0 && v < (one << bits);
}
}  // namespace

std::optional<DType> Lowering::commonDType(const std::vector<Val>& operands, Span span, std::string_view opName) {
  const Val* decides = nullptr;
  for (const Val& v : operands) {
    if (v.poison()) return std::nullopt;
    if (!ownDType(v)) {
      error(Code::E0203, v.span.valid() ? v.span : span,
            "`" + std::string(opName) + "` takes tensors and numbers, not " + describe(v));
      return std::nullopt;
    }
    if (adoptsWholly(v)) continue;
    const bool higher = decides && rankOf(v) > 0 && rankOf(*decides) == 0;
    if (!decides || higher) decides = &v;
  }
  if (!decides) {
    const bool real = std::any_of(operands.begin(), operands.end(), hasFloat);
    return real ? DType::F32 : DType::I64;
  }
  const DType t = *ownDType(*decides);
  for (const Val& v : operands) {
    const DType own = *ownDType(v);
    if (adoptsWholly(v)) {
      if (hasFloat(v) && !ir::isFloat(t)) {
        auto d = error(
            Code::E0201, span,
            "`" + std::string(opName) + "` has operands of " + std::string(ir::name(t)) + " and of a float literal");
        d.label(decides->span, describe(*decides)).help("convert the other operand: `f32(...)`");
        return std::nullopt;
      }
      if (t == DType::Bool) {
        error(Code::E0201, span, "`" + std::string(opName) + "` has operands of bool and of a number");
        return std::nullopt;
      }
      continue;
    }
    const bool widened = rankOf(v) == 0 && rankOf(*decides) > 0 && ir::isFloat(own) && ir::isFloat(t);
    if (own != t && !widened) {
      auto d = error(Code::E0201, span,
                     "operands of `" + std::string(opName) + "` are " + std::string(ir::name(*ownDType(operands[0]))) +
                         " and " + std::string(ir::name(own == *ownDType(operands[0]) ? t : own)));
      for (const Val& o : operands) {
        if (o.span.valid()) d.label(o.span, describe(o));
      }
      const bool toFloat = ir::isFloat(t) || ir::isFloat(own);
      const Val& integer = ir::isFloat(own) ? *decides : v;
      if (toFloat && integer.span.valid()) {
        const std::string name(ir::name(ir::isFloat(own) ? own : t));
        d.help("nothing is converted silently: write `" + name + "(...)`",
               {{Span{integer.span.file, integer.span.begin, integer.span.begin}, name + "("},
                {Span{integer.span.file, integer.span.end, integer.span.end}, ")"}});
      }
      return std::nullopt;
    }
  }
  return t;
}

bool Lowering::arrayShape(const Val& v, ir::Dims& shape, std::optional<DType>& dtype, bool& allStatic, bool& anyTree) {
  if (!v.is(Val::Kind::Array)) {
    if (v.poison()) return false;
    if (v.isTree() || v.is(Val::Kind::Function)) anyTree = true;
    allStatic = allStatic && (v.isNumber() || v.is(Val::Kind::Bool));
    if (v.is(Val::Kind::Tensor)) shape = v.tensor->type.shape;
    return true;
  }
  ir::Dims inner;
  bool first = true;
  for (const Val& e : v.elems) {
    ir::Dims s;
    if (!arrayShape(e, s, dtype, allStatic, anyTree)) return false;
    if (!first && s != inner && !anyTree) {
      error(Code::E0202, e.span,
            "elements of an array differ in shape: " + ir::toString(inner) + " and " + ir::toString(s));
      return false;
    }
    inner = s;
    first = false;
  }
  shape = {static_cast<int64_t>(v.elems.size())};
  shape.insert(shape.end(), inner.begin(), inner.end());
  return true;
}

namespace {
void appendElements(const Val& v, DType t, std::vector<std::byte>& bytes) {
  if (v.is(Val::Kind::Array)) {
    for (const Val& e : v.elems) appendElements(e, t, bytes);
    return;
  }
  auto put = [&](auto x) {
    const size_t old = bytes.size();
    bytes.resize(old + sizeof x);
    std::memcpy(bytes.data() + old, &x, sizeof x);
  };
  const double real = v.is(Val::Kind::Int) ? static_cast<double>(v.integer) : v.real;
  if (t == DType::F64) return put(real);
  if (t == DType::F32) return put(v.is(Val::Kind::Int) ? static_cast<float>(v.integer) : static_cast<float>(v.real));
  const uint64_t bits =
      v.is(Val::Kind::Bool) ? (v.boolean ? 1u : 0u) : static_cast<uint64_t>(static_cast<unsigned __int128>(v.integer));
  switch (ir::byteSize(t)) {
    case 1: return put(static_cast<uint8_t>(bits));
    case 2: return put(static_cast<uint16_t>(bits));
    case 4: return put(static_cast<uint32_t>(bits));
    default: return put(bits);
  }
}

/// The first number that does not fit in `t`, or null.
const Val* outOfRange(const Val& v, DType t) {
  if (v.is(Val::Kind::Array)) {
    for (const Val& e : v.elems) {
      if (const Val* bad = outOfRange(e, t)) return bad;
    }
    return nullptr;
  }
  return v.is(Val::Kind::Int) && !fits(v.integer, t) ? &v : nullptr;
}
}  // namespace

ir::Value* Lowering::constantTensor(const Val& array, DType t, const ir::Dims& shape) {
  if (const Val* bad = outOfRange(array, t)) {
    error(Code::E0212, bad->span, toString(bad->integer) + " does not fit in " + std::string(ir::name(t)));
    return nullptr;
  }
  // Half types go through f32, rounded by the conversion op.
  const bool half = t == DType::F16 || t == DType::BF16;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  appendElements(array, half ? DType::F32 : t, *bytes);
  ir::Value* v = b().constant({half ? DType::F32 : t, shape, {}}, bytes);
  return half ? b().value(OpKind::Cast, {v}, {{"dtype", t}}) : v;
}

ir::Value* Lowering::tensorOf(const Val& v, std::optional<DType> hint) {
  if (v.span.valid()) at(v.span);
  switch (v.kind) {
    case Val::Kind::Poison: return nullptr;
    case Val::Kind::Tensor:
      // A run-time rank-0 float takes the float dtype of an operand of higher rank.
      if (hint && v.tensor->type.dtype != *hint && v.tensor->type.shape.empty() && ir::isFloat(*hint) &&
          ir::isFloat(v.tensor->type.dtype)) {
        return b().value(OpKind::Cast, {v.tensor}, {{"dtype", *hint}});
      }
      return v.tensor;
    case Val::Kind::Bool: return b().scalarInt(DType::Bool, v.boolean);
    case Val::Kind::Int:
    case Val::Kind::Float: {
      DType t = v.dtype;
      if (hint && *hint != DType::Bool && (v.adopts || (ir::isFloat(*hint) && v.is(Val::Kind::Float)))) t = *hint;
      if (v.is(Val::Kind::Float)) {
        if (!ir::isFloat(t)) {
          error(Code::E0201, v.span, "a float literal cannot become " + std::string(ir::name(t)));
          return nullptr;
        }
        return b().scalar(t, v.real);
      }
      if (ir::isFloat(t)) return b().scalar(t, static_cast<double>(v.integer));
      if (!fits(v.integer, t)) {
        error(Code::E0212, v.span, toString(v.integer) + " does not fit in " + std::string(ir::name(t)));
        return nullptr;
      }
      return b().scalarInt(t, static_cast<int64_t>(static_cast<uint64_t>(static_cast<unsigned __int128>(v.integer))));
    }
    case Val::Kind::Array: {
      ir::Dims shape;
      std::optional<DType> ignored;
      bool allStatic = true, anyTree = false;
      if (!arrayShape(v, shape, ignored, allStatic, anyTree)) return nullptr;
      if (anyTree) {
        error(Code::E0203, v.span, "a tensor is expected, not " + describe(v) + " of structs, tuples or functions");
        return nullptr;
      }
      if (!ir::elementCount(shape)) {
        error(Code::E0208, v.span, "an array of shape " + ir::toString(shape) + " has too many elements");
        return nullptr;
      }
      std::optional<DType> t;
      if (hint && adoptsWholly(v) && (ir::isFloat(*hint) || !hasFloat(v)) && *hint != DType::Bool) {
        t = hint;
      } else if (v.elems.empty()) {
        t = hint ? hint : DType::F32;
      } else {
        t = commonDType(v.elems, v.span, "[ ]");
      }
      if (!t) return nullptr;
      if (allStatic) return constantTensor(v, *t, shape);
      std::vector<ir::Value*> parts;
      for (const Val& e : v.elems) {
        ir::Value* x = tensorOf(e, t);
        if (!x) return nullptr;
        ir::Dims row{1};
        row.insert(row.end(), x->type.shape.begin(), x->type.shape.end());
        parts.push_back(b().value(OpKind::Reshape, {x}, {{"shape", row}}));
      }
      at(v.span);
      return b().value(OpKind::Concat, parts, {{"axis", int64_t{0}}});
    }
    case Val::Kind::Pack: {
      Val array = v;
      array.kind = Val::Kind::Array;
      return constantTensor(array, DType::I64, {static_cast<int64_t>(v.elems.size())});
    }
    default: error(Code::E0203, v.span, "a tensor or a number is expected, not " + describe(v)); return nullptr;
  }
}

Val Lowering::settle(Val v, const Ty* expected) {
  switch (v.kind) {
    case Val::Kind::Int:
      if (v.integer > std::numeric_limits<int64_t>::max()) {
        return fail(Code::E0212, v.span, toString(v.integer) + " does not fit in i64");
      }
      v.adopts = false;
      return v;
    case Val::Kind::Float:
      if (v.adopts && v.dtype == DType::F32) v.real = static_cast<double>(static_cast<float>(v.real));
      v.adopts = false;
      return v;
    case Val::Kind::Array: {
      ir::Dims shape;
      std::optional<DType> ignored;
      bool allStatic = true, anyTree = false;
      const bool list = expected && expected->kind == Ty::Kind::List;
      if (!list && !arrayShape(v, shape, ignored, allStatic, anyTree)) return Val::none();
      if (list || anyTree) {
        Val r = Val::ofList({}, v.span);
        const Ty* inner = list && !expected->elems.empty() ? &expected->elems[0] : nullptr;
        for (Val& e : v.elems) r.elems.push_back(settle(std::move(e), inner));
        for (const Val& e : r.elems) {
          if (e.poison()) return Val::none();
          if (!sameStructure(r.elems[0], e) || (e.is(Val::Kind::Struct) && e.info->text != r.elems[0].info->text)) {
            return fail(Code::E0207, e.span,
                        "values of a list are of one type, but this is " + describe(e) + " and the first is " +
                            describe(r.elems[0]));
          }
        }
        return r;
      }
      std::optional<DType> hint;
      if (expected && expected->isTensor()) hint = expected->dtype;
      ir::Value* t = tensorOf(v, hint);
      return t ? Val::ofTensor(t, v.span) : Val::none();
    }
    case Val::Kind::Tuple: {
      for (size_t i = 0; i < v.elems.size(); ++i) {
        const Ty* inner =
            expected && expected->kind == Ty::Kind::Tuple && i < expected->elems.size() ? &expected->elems[i] : nullptr;
        v.elems[i] = settle(std::move(v.elems[i]), inner);
      }
      return v;
    }
    default: return v;
  }
}

Val Lowering::materialise(const Val& v, const Ty* expected) {
  if (v.isNumber() || v.is(Val::Kind::Bool)) {
    std::optional<DType> hint;
    if (expected && expected->isTensor()) hint = expected->dtype;
    ir::Value* t = tensorOf(v, hint);
    return t ? Val::ofTensor(t, v.span) : Val::none();
  }
  Val r = settle(v, expected);
  if (r.isTree()) {
    for (Val& e : r.elems) {
      e = materialise(e);
      if (e.poison()) return Val::none();
    }
  }
  return r;
}

std::vector<ir::Value*> Lowering::together(const std::vector<Val>& operands, Span span, std::string_view opName) {
  auto dtype = commonDType(operands, span, opName);
  if (!dtype) return {};
  return broadcastAll(operands, *dtype, span, opName);
}

std::vector<ir::Value*> Lowering::broadcastAll(const std::vector<Val>& operands, DType dtype, Span span,
                                               std::string_view opName) {
  std::vector<ir::Value*> values;
  ir::Dims shape;
  for (const Val& v : operands) {
    ir::Value* t = tensorOf(v, dtype);
    if (!t) return {};
    auto both = ir::broadcastShapes(shape, t->type.shape);
    if (!both) {
      auto d = error(Code::E0202, span,
                     "shapes do not broadcast: " + ir::toString(shape) + " and " + ir::toString(t->type.shape) +
                         " in `" + std::string(opName) + "`");
      for (const Val& o : operands) {
        if (o.span.valid() && rankOf(o) > 0) d.label(o.span, describe(o));
      }
      return {};
    }
    shape = *both;
    values.push_back(t);
  }
  at(span);
  for (ir::Value*& v : values) v = b().broadcastTo(v, shape);
  return values;
}

Val Lowering::overTrees(const std::vector<Val>& operands, Span span, std::string_view opName,
                        const std::function<Val(const std::vector<Val>&)>& leaf) {
  const Val* like = nullptr;
  for (const Val& v : operands) {
    if (v.poison()) return Val::none();
    if (!v.isTree()) continue;
    if (!like) like = &v;
    if (!sameStructure(*like, v)) {
      auto d = error(Code::E0203, span, "`" + std::string(opName) + "` takes trees of one structure");
      d.label(like->span, describe(*like)).label(v.span, describe(v));
      return Val::none();
    }
  }
  for (const Val& v : operands) {
    if (!v.isTree() && rankOf(v) > 0) {
      return fail(Code::E0203, v.span,
                  "beside a tree `" + std::string(opName) + "` takes trees and single numbers, not " + describe(v));
    }
  }
  std::function<Val(const std::vector<Val>&, bool)> walk = [&](const std::vector<Val>& parts, bool state) -> Val {
    const Val& first = *std::find_if(parts.begin(), parts.end(), [&](const Val& v) { return v.isTree(); });
    Val r = first;
    for (size_t i = 0; i < first.elems.size(); ++i) {
      const bool kept = state || (first.is(Val::Kind::Struct) && first.info->decl->stmt->fields[i].state);
      std::vector<Val> inner;
      bool tree = false;
      const Val* firstLeaf = nullptr;
      for (const Val& v : parts) {
        inner.push_back(v.isTree() ? v.elems[i] : v);
        tree = tree || inner.back().isTree();
        if (v.isTree() && !firstLeaf) firstLeaf = &v.elems[i];
      }
      if (tree) {
        r.elems[i] = walk(inner, kept);
      } else {
        auto own = ownDType(*firstLeaf);
        r.elems[i] = kept || !own || !ir::isFloat(*own) ? *firstLeaf : leaf(inner);
      }
      if (r.elems[i].poison()) return Val::none();
    }
    return r;
  };
  Val r = walk(operands, false);
  r.span = span;
  return r;
}

Val Lowering::elementwiseBy(const std::vector<Val>& operands, Span span, std::string_view opName, const LeafFn& f) {
  if (std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); })) {
    return overTrees(operands, span, opName,
                     [&](const std::vector<Val>& parts) { return elementwiseBy(parts, span, opName, f); });
  }
  std::vector<ir::Value*> values = together(operands, span, opName);
  if (values.empty()) return Val::none();
  Val r = f(values);
  r.span = span;
  return r;
}

namespace {
/// Compile-time integers stay compile-time through these, so that they may stand in shapes.
std::optional<Val> foldUnary(OpKind kind, const std::vector<Val>& operands, Span span) {
  const Val& a = operands[0];
  if (operands.size() == 1 && a.isNumber()) {
    Val r = a;
    r.span = span;
    switch (kind) {
      case OpKind::Neg: r.integer = -r.integer, r.real = -r.real; return r;
      case OpKind::Abs: r.integer = r.integer < 0 ? -r.integer : r.integer, r.real = std::fabs(r.real); return r;
      default: return std::nullopt;
    }
  }
  if (operands.size() == 2 && a.is(Val::Kind::Int) && operands[1].is(Val::Kind::Int)) {
    const bool adopts = a.adopts && operands[1].adopts;
    if (kind == OpKind::Max) return Val::ofInt(std::max(a.integer, operands[1].integer), span, adopts);
    if (kind == OpKind::Min) return Val::ofInt(std::min(a.integer, operands[1].integer), span, adopts);
  }
  if (operands.size() == 1 && kind == OpKind::Not && a.is(Val::Kind::Bool)) return Val::ofBool(!a.boolean, span);
  return std::nullopt;
}
}  // namespace

Val Lowering::elementwise(OpKind kind, const std::vector<Val>& operands, Span span, std::string_view opName) {
  for (const Val& v : operands) {
    if (v.poison()) return Val::none();
  }
  if (std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); })) {
    return overTrees(operands, span, opName,
                     [&](const std::vector<Val>& parts) { return elementwise(kind, parts, span, opName); });
  }
  if (auto folded = foldUnary(kind, operands, span)) return *folded;
  const ir::OpInfo& info = ir::opInfo(kind);
  const bool select = kind == OpKind::Where;
  std::vector<Val> typed(operands.begin() + (select ? 1 : 0), operands.end());
  auto dtype = commonDType(typed, span, opName);
  if (!dtype) return Val::none();
  if (info.has(Trait::FloatOnly) && std::all_of(typed.begin(), typed.end(), adoptsWholly)) {
    dtype = DType::F32;
    if (opName == "/" && !std::any_of(typed.begin(), typed.end(), hasFloat)) dtype = DType::I64;
  }
  auto refuse = [&](std::string_view needs) {
    auto d =
        error(Code::E0201, span,
              "`" + std::string(opName) + "` needs " + std::string(needs) + ", not " + std::string(ir::name(*dtype)));
    for (const Val& o : typed) {
      if (o.span.valid()) d.label(o.span, describe(o));
    }
    if (opName == "/") d.help("`//` divides integers, rounding down; `f32(x)` converts");
    return Val::none();
  };
  if (info.has(Trait::FloatOnly) && !ir::isFloat(*dtype)) return refuse("floats");
  if (info.has(Trait::BoolOnly) && *dtype != DType::Bool) return refuse("bools");
  if (info.has(Trait::IntOnly) && !ir::isInt(*dtype) && !(info.has(Trait::BoolOk) && *dtype == DType::Bool)) {
    return refuse(info.has(Trait::BoolOk) ? "integers or bools" : "integers");
  }
  if (!info.has(Trait::BoolOk) && *dtype == DType::Bool) return refuse("numbers");
  std::vector<ir::Value*> values;
  if (select) {
    ir::Value* c = tensorOf(operands[0]);
    if (!c) return Val::none();
    if (c->type.dtype != DType::Bool) {
      return fail(Code::E0201, operands[0].span, "the condition of `where` is bool, not " + describe(operands[0]));
    }
    values = broadcastAll(typed, *dtype, span, opName);
    if (values.empty()) return Val::none();
    auto shape = ir::broadcastShapes(c->type.shape, values[0]->type.shape);
    if (!shape) {
      return fail(Code::E0202, span,
                  "shapes do not broadcast: " + ir::toString(c->type.shape) + " and " +
                      ir::toString(values[0]->type.shape) + " in `where`");
    }
    at(span);
    for (ir::Value*& v : values) v = b().broadcastTo(v, *shape);
    values.insert(values.begin(), b().broadcastTo(c, *shape));
  } else {
    values = broadcastAll(typed, *dtype, span, opName);
    if (values.empty()) return Val::none();
  }
  return make(kind, values, {}, span);
}

Val Lowering::make(OpKind kind, std::vector<ir::Value*> operands, std::vector<ir::Builder::NamedAttr> attrs,
                   Span span) {
  std::vector<ir::Type> types;
  for (ir::Value* v : operands) types.push_back(v->type);
  ir::Inferred inferred = ir::infer(kind, types, [&](std::string_view name) -> const ir::Attr* {
    for (const auto& a : attrs) {
      if (a.name == name) return &a.value;
    }
    return nullptr;
  });
  if (!inferred.ok()) return fail(Code::E0202, span, inferred.error);
  at(span);
  return Val::ofTensor(b().make(kind, std::move(operands), std::move(attrs))->result(), span);
}

}  // namespace tenc::frontend
