// Constants, each evaluated once, where it is declared.
#include "frontend/names/Constants.h"

#include <algorithm>
#include <functional>
#include <string>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

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
    if (decl.type) expected = types_.resolve(*decl.type, g);
    v = decl.value ? expressions_.eval(*decl.value, decl.type ? &expected : nullptr) : context_.lost();
    if (v.isNumber() && decl.type && expected.isTensor() && expected.dtype) {
      const bool real = ir::isFloat(*expected.dtype);
      if (v.is(Val::Kind::Float) && !real) {
        v = context_.fail(Code::E0207, decl.value->span,
                          "`" + name + "` is declared " + toString(expected) + ", but this is a float");
      } else {
        if (real && v.is(Val::Kind::Int)) v = Val::ofFloat(static_cast<double>(v.integer), v.span);
        v.dtype = *expected.dtype;
      }
    }
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
