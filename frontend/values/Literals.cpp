// Literals and arrays made into tensors, once a dtype is known.
#include "frontend/values/Literals.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "frontend/Lowering.h"

namespace tenc::frontend {

using ir::DType;
using ir::OpKind;

bool fits(Int v, DType t) {
  if (!ir::isInt(t)) return true;
  const int bits = 8 * ir::byteSize(t);
  const Int one = 1;
  return ir::isSigned(t) ? v >= -(one << (bits - 1)) && v < (one << (bits - 1)) : v >= 0 && v < (one << bits);
}

Int saturated(double v, ir::DType to) {
  const int width = 8 * ir::byteSize(to);
  const Int most = (Int{1} << (ir::isSigned(to) ? width - 1 : width)) - 1;
  const Int least = ir::isSigned(to) ? -most - 1 : Int{0};
  if (std::isnan(v)) return 0;
  if (v >= static_cast<double>(most)) return most;
  if (v <= static_cast<double>(least)) return least;
  return static_cast<Int>(std::trunc(v));
}

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

void Lowering::adoptDeclared(std::vector<Val>& operands, const Ty* expected, bool always) {
  if (!expected || !expected->isTensor() || !expected->dtype || *expected->dtype == DType::Bool) return;
  if (!std::all_of(operands.begin(), operands.end(), adoptsWholly)) return;
  const auto isArray = [](const Val& v) { return v.is(Val::Kind::Array); };
  if (!always && std::none_of(operands.begin(), operands.end(), isArray)) return;
  const bool real = std::any_of(operands.begin(), operands.end(), hasFloat);
  if (real && !ir::isFloat(*expected->dtype)) return;
  if (ir::Value* t = tensorOf(operands[0], expected->dtype)) operands[0] = Val::ofTensor(t, operands[0].span);
}

ir::Value* Lowering::tensorOf(const Val& v, std::optional<DType> hint) {
  const ir::Loc outer = b().loc();  // what is made of the tensor belongs to the whole
  if (v.span.valid()) at(v.span);
  ir::Value* t = tensorHere(v, hint);
  b().setLoc(outer);
  return t;
}

bool Lowering::checkParts(size_t count, Span span) {
  // Each is code of its own.
  constexpr size_t kMost = 16'384;
  if (count <= kMost) return true;
  error(Code::E0208, span, "more than 16,384 tensors cannot be joined into one; here are " + std::to_string(count))
      .help(
          "compute them as one tensor, with `vmap` or by arithmetic on `arange(n)`, or write them in a loop: "
          "`var y = zeros([n])`, then `y[i] = ...`");
  return false;
}

ir::Value* Lowering::tensorHere(const Val& v, std::optional<DType> hint) {
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
      if (!checkParts(v.elems.size(), v.span)) return nullptr;
      std::vector<ir::Value*> parts;
      std::vector<ir::OperandText> written;
      for (const Val& e : v.elems) {
        parts.push_back(tensorOf(e, t));
        if (!parts.back()) return nullptr;
        written.push_back({e.span, ""});
      }
      at(v.span, std::move(written));
      for (ir::Value*& x : parts) {
        ir::Dims row{1};
        row.insert(row.end(), x->type.shape.begin(), x->type.shape.end());
        x = b().value(OpKind::Reshape, {x}, {{"shape", row}});
      }
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
      if (v.adopts && v.integer > std::numeric_limits<int64_t>::max()) {
        return fail(Code::E0212, v.span, toString(v.integer) + " does not fit in i64");
      }
      v.adopts = v.dim = false;
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
        checkOnePlace(r, "the values of a list", v.span);
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

}  // namespace tenc::frontend
