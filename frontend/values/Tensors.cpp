// Literals and arrays made into tensors, once a dtype is known.
#include "frontend/values/Tensors.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Operands.h"
#include "frontend/habits/Idioms.h"
#include "frontend/values/Exact.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Trees.h"
#include "ir/Scalar.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
}  // namespace

ir::Value* Tensors::zerosOf(DType t, const ir::Dims& shape) {
  return context_.b().broadcastTo(ir::isFloat(t) ? context_.b().scalar(t, 0) : context_.b().scalarInt(t, 0), shape);
}

bool Tensors::arrayShape(const Val& v, ir::Dims& shape, std::optional<DType>& dtype, bool& allStatic, bool& anyTree) {
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
      auto d =
          context_.error(Code::E0202, e.span,
                         "elements of an array differ in shape: " + ir::toString(inner) + " and " + ir::toString(s));
      // Rows of numbers are rather meant to be of one length.
      if (!std::ranges::all_of(v.elems, [](const Val& part) { return part.is(Val::Kind::Array); }))
        d.help("values of different shapes are held by a tuple", asTuple(context_.sources, v.span));
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
  const uint64_t bits = ir::isFloat(t)          ? ir::floatBits(t, asFloat(v, t))
                        : v.is(Val::Kind::Bool) ? (v.boolean ? 1u : 0u)
                                                : static_cast<uint64_t>(static_cast<unsigned __int128>(v.integer));
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

ir::Value* Tensors::constantTensor(const Val& array, DType t, const ir::Dims& shape) {
  if (const Val* bad = outOfRange(array, t)) {
    context_.error(Code::E0212, bad->span, toString(bad->integer) + " does not fit in " + std::string(ir::name(t)));
    return nullptr;
  }
  auto bytes = std::make_shared<std::vector<std::byte>>();
  appendElements(array, t, *bytes);
  return context_.b().constant({t, shape, {}}, bytes);
}

void Tensors::adoptDeclared(std::vector<Val>& operands, const Ty* expected, bool always) {
  if (!expected || !expected->isTensor() || !expected->dtype || *expected->dtype == DType::Bool) return;
  if (!std::all_of(operands.begin(), operands.end(), adoptsWholly)) return;
  const auto isArray = [](const Val& v) { return v.is(Val::Kind::Array); };
  if (!always && std::none_of(operands.begin(), operands.end(), isArray)) return;
  const bool real = std::any_of(operands.begin(), operands.end(), hasFloat);
  if (real && !ir::isFloat(*expected->dtype)) return;
  if (ir::Value* t = tensorOf(operands[0], expected->dtype)) operands[0] = Val::ofTensor(t, operands[0].span);
}

namespace {
/// The number that a text holds, as TL writes it: `float("-inf")`, `int("3")`. Empty for none.
std::string numberIn(const std::string& text) {
  const std::string sign = text.starts_with('-') ? "-" : "";
  std::string rest = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  std::ranges::transform(rest, rest.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (rest == "inf" || rest == "infinity") return sign + "inf";
  if (rest == "nan") return "nan";
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const bool plain = !rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0])) != 0;
  return plain && error == std::errc() && end == rest.data() + rest.size() ? sign + rest : "";
}
}  // namespace

ir::Value* Tensors::tensorOf(const Val& v, std::optional<DType> hint) {
  const ir::Loc outer = context_.b().loc();  // what is made of the tensor belongs to the whole
  if (v.span.valid()) context_.at(v.span);
  ir::Value* t = tensorHere(v, hint);
  context_.b().setLoc(outer);
  return t;
}

bool Tensors::checkParts(size_t count, Span span) {
  // Each is code of its own.
  constexpr size_t kMost = 16'384;
  if (count <= kMost) return true;
  context_
      .error(Code::E0208, span, "more than 16,384 tensors cannot be joined into one; here are " + std::to_string(count))
      .help(
          "compute them as one tensor, with `vmap` or by arithmetic on `arange(n)`, or write them in a loop: "
          "`var y = zeros([n])`, then `y[i] = ...`");
  return false;
}

ir::Value* Tensors::tensorHere(const Val& v, std::optional<DType> hint) {
  switch (v.kind) {
    case Val::Kind::None:
    case Val::Kind::Poison: return nullptr;
    case Val::Kind::Tensor:
      // A run-time rank-0 float takes the float dtype of an operand of higher rank.
      if (hint && v.tensor->type.dtype != *hint && v.tensor->type.shape.empty() && ir::isFloat(*hint) &&
          ir::isFloat(v.tensor->type.dtype)) {
        if (*hint == DType::F64 && isExact(v.tensor)) return exactly(context_.b(), v.tensor);
        return context_.b().value(OpKind::Cast, {v.tensor}, {{"dtype", *hint}});
      }
      return v.tensor;
    case Val::Kind::Bool: return context_.b().scalarInt(DType::Bool, v.boolean);
    case Val::Kind::Int:
    case Val::Kind::Float: {
      DType t = v.dtype;
      if (hint && *hint != DType::Bool && (v.adopts || (ir::isFloat(*hint) && v.is(Val::Kind::Float)))) t = *hint;
      if (v.is(Val::Kind::Float)) {
        if (!ir::isFloat(t)) {
          context_.error(Code::E0201, v.span, "a float literal cannot become " + std::string(ir::name(t)));
          return nullptr;
        }
        return context_.b().scalar(t, v.real);
      }
      if (ir::isFloat(t)) return context_.b().scalar(t, asFloat(v, t));
      if (!fits(v.integer, t)) {
        context_.error(Code::E0212, v.span, toString(v.integer) + " does not fit in " + std::string(ir::name(t)));
        return nullptr;
      }
      return context_.b().scalarInt(
          t, static_cast<int64_t>(static_cast<uint64_t>(static_cast<unsigned __int128>(v.integer))));
    }
    case Val::Kind::Array: {
      ir::Dims shape;
      std::optional<DType> ignored;
      bool allStatic = true, anyTree = false;
      if (!arrayShape(v, shape, ignored, allStatic, anyTree)) return nullptr;
      if (anyTree) {
        context_.error(Code::E0203, v.span,
                       "expected a tensor, not " + describe(v) + " of structs, tuples or functions");
        return nullptr;
      }
      if (shape.size() > ir::kMaxRank) {
        context_.error(
            Code::E0208, v.span,
            "an array of rank " + std::to_string(shape.size()) + "; the most is " + std::to_string(ir::kMaxRank));
        return nullptr;
      }
      if (!ir::elementCount(shape)) {
        context_.error(Code::E0208, v.span, "an array of shape " + ir::toString(shape) + " has too many elements");
        return nullptr;
      }
      std::optional<DType> t;
      if (hint && adoptsWholly(v) && (ir::isFloat(*hint) || !hasFloat(v)) && *hint != DType::Bool) {
        t = hint;
      } else if (v.elems.empty()) {
        t = hint ? hint : DType::F32;
      } else {
        t = commonDType(context_, v.elems, v.span, "[ ]");
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
      context_.at(v.span, std::move(written));
      for (ir::Value*& x : parts) {
        ir::Dims row{1};
        row.insert(row.end(), x->type.shape.begin(), x->type.shape.end());
        x = context_.b().value(OpKind::Reshape, {x}, {{"shape", row}});
      }
      return context_.b().value(OpKind::Concat, parts, {{"axis", int64_t{0}}});
    }
    case Val::Kind::Pack: {
      Val array = v;
      array.kind = Val::Kind::Array;
      return constantTensor(array, DType::I64, {static_cast<int64_t>(v.elems.size())});
    }
    default: {
      auto d = context_.error(Code::E0203, v.span, "expected a tensor or a number, not " + describe(v));
      if (const std::string number = v.is(Val::Kind::String) ? numberIn(v.text) : ""; !number.empty())
        d.help("a number is written without quotes", {{v.span, number}});
      return nullptr;
    }
  }
}

Val Tensors::settle(Val v, const Ty* expected) { return settled(std::move(v), expected, Elements::Fact::Settled); }

Val Tensors::settleBound(Val v, const Ty* expected) { return settled(std::move(v), expected, Elements::Fact::Bound); }

Val Tensors::settled(Val v, const Ty* expected, Elements::Fact how) {
  const bool keepsNumbers = how == Elements::Fact::Bound;
  switch (v.kind) {
    case Val::Kind::Int:
      if (v.adopts && !fits(v.integer, v.dtype)) {
        return context_.fail(Code::E0212, v.span,
                             toString(v.integer) + " does not fit in " + std::string(ir::name(v.dtype)));
      }
      if (!keepsNumbers) v.adopts = v.dim = false;
      return v;
    case Val::Kind::Float:
      if (keepsNumbers) return v;
      if (v.adopts && v.dtype == DType::F32) v.real = static_cast<double>(static_cast<float>(v.real));
      v.adopts = false;
      return v;
    case Val::Kind::Array: {
      ir::Dims shape;
      std::optional<DType> ignored;
      bool allStatic = true, anyTree = false;
      const bool list = expected && expected->kind == Ty::Kind::List;
      if (!list && !arrayShape(v, shape, ignored, allStatic, anyTree)) return context_.lost();
      if (list || anyTree) {
        Val r = Val::ofList({}, v.span);
        const Ty* inner = list && !expected->elems.empty() ? &expected->elems[0] : nullptr;
        for (const Val& e : v.elems) r.elems.push_back(settle(e, inner));
        for (const Val& e : r.elems) {
          if (e.poison()) return e;
          if (!sameStructure(r.elems[0], e) || (e.is(Val::Kind::Struct) && e.info->text != r.elems[0].info->text)) {
            return context_.fail(Code::E0207, e.span,
                                 "values of a list are of one type, but this is " + describe(e) + " and the first is " +
                                     describe(r.elems[0]));
          }
        }
        placing_.checkOnePlace(r, "the values of a list", v.span);
        return r;
      }
      std::optional<DType> hint;
      if (expected && expected->isTensor()) hint = expected->dtype;
      ir::Value* t = tensorOf(v, hint);
      return t ? Val::ofTensor(t, v.span) : context_.lost();
    }
    case Val::Kind::Tuple: {
      if (v.elems.known(how)) return v;
      bool sound = true;
      for (size_t i = 0; i < v.elems.size(); ++i) {
        const Ty* inner =
            expected && expected->kind == Ty::Kind::Tuple && i < expected->elems.size() ? &expected->elems[i] : nullptr;
        Val part = settled(v.elems[i], inner, how);
        sound = sound && !part.poison();
        if (!part.isIdentical(v.elems[i])) v.elems.edit()[i] = std::move(part);
      }
      if (sound) v.elems.note(how);
      return v;
    }
    default: return v;
  }
}

Val Tensors::materialise(const Val& v, const Ty* expected) {
  if (v.isNumber() || v.is(Val::Kind::Bool)) {
    std::optional<DType> hint;
    if (expected && expected->isTensor()) hint = expected->dtype;
    ir::Value* t = tensorOf(v, hint);
    return t ? Val::ofTensor(t, v.span) : context_.lost();
  }
  Val r = settle(v, expected);
  if (!r.isTree() || r.elems.known(Elements::Fact::Tensors)) return r;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    Val part = materialise(r.elems[i]);
    if (part.poison()) return part;
    if (!part.isIdentical(r.elems[i])) r.elems.edit()[i] = std::move(part);
  }
  r.elems.note(Elements::Fact::Tensors);
  return r;
}

}  // namespace tenc::frontend
