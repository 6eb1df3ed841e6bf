#include "frontend/calls/Parameters.h"

#include <utility>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/calls/Overloads.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Names.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;

/// Without the first parameter, which is bound.
Parameters::List withoutFirst(Parameters::List list) {
  if (list.names.empty()) return list;
  list.names.erase(list.names.begin());
  list.types.erase(list.types.begin());
  return list;
}
}  // namespace

Parameters::List Parameters::ofDeclared(const std::vector<const FnDecl*>& overloads, const Val* first) const {
  List list;
  const FnDecl* decl = overloads.size() == 1 ? overloads[0] : overloads_.pickOverload(overloads, first);
  if (decl == nullptr) return list;
  list.name = decl->stmt->name.text;
  list.span = decl->stmt->name.span;
  list.fn = decl;
  for (const ast::FnParam& p : decl->stmt->params) {
    list.names.push_back(p.name.text);
    list.types.push_back(p.type.get());
  }
  return list;
}

std::optional<ir::DType> Parameters::dtypeOf(const List& list, size_t position) const {
  const ast::TypeExpr* written = position < list.types.size() ? list.types[position] : nullptr;
  if (written == nullptr) return std::nullopt;
  Generics g;
  g.unit = list.unit;
  g.locals = true;
  if (list.fn != nullptr) g = genericsOf(*list.fn);
  return types_.resolve(*written, g).dtype;
}

Parameters::List Parameters::of(const Val& callable, const CallArgs& args) const {
  const Val* first = args.args.empty() ? nullptr : &args.args[0].value;
  List list;
  switch (callable.kind) {
    case Kind::Tuple:
    case Kind::List: return callable.elems.empty() ? list : of(callable.elems[0], args);
    case Kind::Struct: {
      const auto call = [&](const Unit& unit) -> std::optional<List> {
        const auto f = names_.lookupGlobal(unit, "call", args.callee);
        if (!f || !f->is(Kind::Function) || f->fn->kind != FnValue::Kind::Overloads) return std::nullopt;
        if (overloads_.pickOverload(f->fn->overloads, &callable) == nullptr) return std::nullopt;
        return withoutFirst(ofDeclared(f->fn->overloads, &callable));
      };
      if (auto found = call(*context_.frame().unit)) return std::move(*found);
      return call(*callable.info->decl->unit).value_or(list);
    }
    case Kind::Function: break;
    default: return list;
  }
  const FnValue& f = *callable.fn;
  switch (f.kind) {
    case FnValue::Kind::Overloads: return ofDeclared(f.overloads, first);
    case FnValue::Kind::Lambda:
      list.span = f.lambda->span;
      list.unit = f.unit;
      for (const ast::LambdaParam& p : f.lambda->params) {
        list.names.push_back(p.pattern.name.text);
        list.types.push_back(p.type.get());
      }
      return list;
    case FnValue::Kind::Bound: {
      CallArgs all = args;
      all.args.insert(all.args.begin(), CallArg{"", *f.receiver, args.span});
      return withoutFirst(of(f.inner[0], all));
    }
    case FnValue::Kind::ByFirst: return of(f.inner[1], args);
    case FnValue::Kind::Derived:
    case FnValue::Kind::Fixed: return of(f.inner[0], args);
    case FnValue::Kind::Builtin:
      list.name = f.name;
      if (const BuiltinRow* row = builtinRow(f.name)) {
        for (const Parameter& p : row->signature.parameters()) {
          if (p.namedOnly) continue;
          list.names.emplace_back(p.name);
          list.types.push_back(nullptr);
        }
      }
      return list;
    case FnValue::Kind::Cast:
      list.name = f.name;
      list.names = {"x"};
      list.types = {nullptr};
      return list;
  }
  return list;
}

}  // namespace tenc::frontend
