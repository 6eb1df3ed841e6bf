// Functions of one name differ by the head of their first parameter.
#include "frontend/calls/Overloads.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Functions.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using TypeKind = ast::TypeExpr::Kind;
}  // namespace

std::string Overloads::headOf(const ast::TypeExpr* t, const FnDecl& decl) {
  if (!t) return "any";
  switch (t->kind) {
    case TypeKind::Tuple: return "tuple";
    case TypeKind::List: return "list";
    case TypeKind::ShapeOf: return "shape";
    case TypeKind::Path: break;
    default: return "any";
  }
  const std::string& name = t->path[0].text;
  for (const ast::Generic& g : decl.stmt->generics) {
    if (g.name.text != name) continue;
    if (g.kind == "tree") return "any";
    if (g.kind == "fn") return "fn";
    if (g.kind == "device") return "device";
    return t->hasArgs || !g.kind.empty() ? "tensor" : "int";
  }
  if (t->path.size() == 1 && ir::dtypeNamed(name)) return "tensor";
  if (name == "str") return "string";
  if (name == "fn") return "fn";
  if (name == "device") return "device";
  Generics g;
  g.unit = decl.unit;
  TypeName n = types_.typeName(*t, g, false);
  if (n.value && n.value->is(Kind::Type)) {
    const Ty& type = *n.value->type;
    if (type.kind == Ty::Kind::Struct) return "struct:" + std::to_string(reinterpret_cast<uintptr_t>(type.info->decl));
    if (type.kind == Ty::Kind::Tuple) return "tuple";
    if (type.kind == Ty::Kind::List) return "list";
    return "tensor";
  }
  return "any";
}

int Overloads::headMatch(const std::string& declared, const Val& v) {
  if (declared == "any" || v.poison()) return 1;
  if (declared == "shape" && !v.is(Kind::Pack)) {  // integers written out
    const Val list = literalInts(v);
    return !list.elems.empty() &&
           std::all_of(list.elems.begin(), list.elems.end(), [](const Val& e) { return e.is(Kind::Int); });
  }
  switch (v.kind) {
    case Kind::Tensor:
    case Kind::Float:
    case Kind::Bool: return declared == "tensor" ? 2 : 0;
    case Kind::Int: return declared == "int" ? 3 : declared == "tensor" ? 2 : 0;
    case Kind::Array: return declared == "tensor" || declared == "list" ? 2 : 0;
    case Kind::Pack: return declared == "shape" || declared == "tensor" ? 2 : 0;
    case Kind::Tuple: return declared == "tuple" ? 2 : declared == "fn" ? 1 : 0;
    case Kind::List: return declared == "list" ? 2 : 0;
    case Kind::Struct:
      if (declared == "struct:" + std::to_string(reinterpret_cast<uintptr_t>(v.info->decl))) return 2;
      return declared == "fn" ? 1 : 0;
    case Kind::Function: return declared == "fn" ? 2 : 0;
    case Kind::Device: return declared == "device" ? 2 : 0;
    case Kind::String:
    case Kind::Format: return declared == "string" ? 2 : 0;
    default: return 0;
  }
}

const FnDecl* Overloads::pickOverload(const std::vector<const FnDecl*>& overloads, const Val* first) {
  const FnDecl* best = nullptr;
  int score = 0;
  for (const FnDecl* d : overloads) {
    const auto& params = d->stmt->params;
    if (params.empty()) {
      if (!first) return d;
      continue;
    }
    const int s = first ? headMatch(headOf(params[0].type.get(), *d), *first) : params[0].otherwise ? 1 : 0;
    if (s > score) {
      score = s;
      best = d;
    }
  }
  return best;
}

Val Overloads::callOverloads(const FnValue& f, CallArgs& args) {
  if (f.overloads.size() == 1) return functions_.callDecl(*f.overloads[0], args);
  const Val* first = nullptr;
  for (const CallArg& a : args.args) {
    const auto& params = f.overloads[0]->stmt->params;
    if (a.name.empty() || (!params.empty() && a.name == params[0].name.text)) {
      first = &a.value;
      break;
    }
  }
  if (const FnDecl* d = pickOverload(f.overloads, first)) return functions_.callDecl(*d, args);
  auto d = context_.error(Code::E0203, args.callee,
                          "no function `" + f.name + "` takes " + (first ? describe(*first) : "no argument"));
  for (const FnDecl* o : f.overloads) d.note(o->stmt->name.span, "there is " + signatureText(*o));
  return Val::none();
}

std::string Overloads::signatureText(const FnDecl& decl) const {
  const ast::Stmt& s = *decl.stmt;
  std::string text = s.name.text + "(";
  for (size_t i = 0; i < s.params.size(); ++i) {
    const ast::FnParam& p = s.params[i];
    text += (i ? ", " : "") + std::string(p.isStatic ? "static " : "") + p.name.text;
    if (p.type) text += ": " + std::string(context_.sources.text(p.type->span));
    if (p.otherwise) text += " = " + std::string(context_.sources.text(p.otherwise->span));
  }
  text += ")";
  if (s.type) text += " -> " + std::string(context_.sources.text(s.type->span));
  return text;
}

}  // namespace tenc::frontend
