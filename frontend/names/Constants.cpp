// Constants, each evaluated once, where it is declared.
#include "frontend/names/Constants.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

Val Constants::asDeclared(Val v, const Ty& type, size_t dim) {
  const auto differs = [&] {
    return context_.fail(Code::E0207, v.span, "this is " + describe(v) + ", but " + toString(type) + " is declared");
  };
  const size_t rank = type.isTensor() && type.dims ? type.dims->size() : 0;
  if ((type.kind == Ty::Kind::Tuple && v.is(Val::Kind::Tuple)) ||
      (v.is(Val::Kind::Array) && (type.kind == Ty::Kind::List || dim < rank))) {
    const size_t length = type.kind == Ty::Kind::Tuple  ? type.elems.size()
                          : type.kind == Ty::Kind::List ? static_cast<size_t>(type.length)
                                                        : static_cast<size_t>((*type.dims)[dim]);
    if (v.elems.size() != length && !(type.kind == Ty::Kind::List && type.length < 0)) return differs();
    for (size_t i = 0; i < v.elems.size(); ++i) {
      const Ty& inner = type.isTensor() ? type : type.elems[type.kind == Ty::Kind::Tuple ? i : 0];
      Val part = asDeclared(v.elems[i], inner, type.isTensor() ? dim + 1 : 0);
      if (part.poison()) return part;
      v.elems.edit()[i] = std::move(part);
    }
    return v;
  }
  if (v.poison() || !type.isTensor() || !type.dtype || !type.dims) return v;
  const ir::DType t = *type.dtype;
  const bool isBool = v.is(Val::Kind::Bool);
  if (dim < rank || !(v.isNumber() || isBool) || isBool != (t == ir::DType::Bool)) return v.isStatic() ? differs() : v;
  if (v.is(Val::Kind::Float) && !ir::isFloat(t)) return differs();
  if (v.is(Val::Kind::Int) && !fits(v.integer, t))
    return context_.fail(Code::E0212, v.span, toString(v.integer) + " does not fit in " + std::string(ir::name(t)));
  if (ir::isFloat(t)) v = Val::ofFloat(v.is(Val::Kind::Int) ? asFloat(v, t) : v.real, v.span);
  v.dtype = t;
  return v;
}

Val Constants::noPlace(const ast::Stmt& decl, Span place) {
  const bool isConst = decl.kind == ast::Stmt::Kind::Const;
  const std::string what = isConst ? "a `const`" : "a `param`";
  auto d = context_.error(Code::E0108, place, what + " is known at compile time and lives on no device");
  const std::string_view written = context_.sources.text(place);
  std::vector<Edit> edits;
  if (written.starts_with('@')) {
    const Span blank{place.file, place.begin - 1, place.begin};
    const bool apart = context_.sources.text(blank) == " ";
    edits.push_back({{place.file, apart ? blank.begin : place.begin, place.end}, ""});
  }
  d.help("leave the device out: " + what + " is made where it is used", std::move(edits));
  return d;
}

Val Constants::constantOf(const Unit& unit, const ast::Stmt& decl) {
  const std::string& name = decl.name.text;
  if (auto it = unit.evaluated.find(name); it != unit.evaluated.end()) return it->second;
  if (!unit.evaluating.insert(name).second) {
    return unit.evaluated[name] =
               context_.fail(Code::E0109, decl.name.span, "the constant `" + name + "` is defined by itself");
  }
  Val v;
  {
    Frame own(&unit);
    const FrameScope inside(context_.frames, own);
    Ty expected;
    Generics g;
    g.unit = &unit;
    const Span place = decl.type ? types_.placeIn(*decl.type) : Span();
    if (decl.type && !place.valid()) expected = types_.resolve(*decl.type, g);
    v = place.valid()            ? noPlace(decl, place)
        : pinsOf(expected).any() ? noPlace(decl, decl.type->span)
        : decl.value             ? expressions_.eval(*decl.value, decl.type ? &expected : nullptr)
                                 : context_.lost();
    if (decl.type) v = asDeclared(std::move(v), expected, 0);
  }
  std::function<bool(const Val&)> known = [&](const Val& x) {
    if (x.is(Val::Kind::Array) || x.is(Val::Kind::Tuple)) return std::all_of(x.elems.begin(), x.elems.end(), known);
    return x.poison() || x.isStatic() || x.is(Val::Kind::Function) || x.is(Val::Kind::Type) ||
           (x.is(Val::Kind::Device) && !x.device.of);
  };
  if (!known(v)) {
    v = context_.fail(Code::E0111, decl.value->span, "a `const` is known at compile time; this is " + describe(v));
  }
  if (v.isNumber()) v.adopts = true;
  unit.evaluating.erase(name);
  unit.evaluated[name] = v;
  return v;
}

}  // namespace tenc::frontend
