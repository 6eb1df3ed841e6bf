// Functions of one name differ by the head of their first parameter.
#include "frontend/calls/Overloads.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Functions.h"
#include "frontend/habits/Hidden.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using TypeKind = ast::TypeExpr::Kind;
}  // namespace

Overloads::Head Overloads::headOf(const ast::TypeExpr* t, const FnDecl& decl) {
  if (!t) return {HeadKind::Any};
  switch (t->kind) {
    case TypeKind::Tuple: return {HeadKind::Tuple};
    case TypeKind::List: return {HeadKind::List};
    case TypeKind::ShapeOf: return {HeadKind::Shape};
    case TypeKind::Path: break;
    default: return {HeadKind::Any};
  }
  Generics g;
  g.unit = decl.unit;
  g.listed = &decl.stmt->generics;
  const TypeName n = types_.typeName(*t, g, false);
  if (const ast::Generic* listed = n.variable ? listedGeneric(g, t->path[0].text) : nullptr) {
    switch (listed->kind) {
      case ast::Generic::Kind::Tree: return {HeadKind::Any};
      case ast::Generic::Kind::Fn: return {HeadKind::Function};
      case ast::Generic::Kind::Device: return {HeadKind::Device};
      case ast::Generic::Kind::Open: return {t->hasArgs ? HeadKind::Tensor : HeadKind::Integer};
      default: return {HeadKind::Tensor};
    }
  }
  if (!n.value) {
    switch (builtInType(t->path[0].text)) {
      case Ty::Kind::String: return {HeadKind::String};
      case Ty::Kind::Fn: return {HeadKind::Function};
      case Ty::Kind::Device: return {HeadKind::Device};
      default: return {HeadKind::Any};
    }
  }
  if (n.value->is(Kind::DType)) return {HeadKind::Tensor};
  if (!n.value->is(Kind::Type)) return {HeadKind::Any};
  const Ty& type = *n.value->type;
  switch (type.kind) {
    case Ty::Kind::Struct: return {HeadKind::Struct, type.info->decl};
    case Ty::Kind::Tuple: return {HeadKind::Tuple};
    case Ty::Kind::List: return {HeadKind::List};
    default: return {HeadKind::Tensor};
  }
}

int Overloads::headMatch(const Head& declared, const Val& v) {
  const HeadKind head = declared.kind;
  if (head == HeadKind::Any || v.poison()) return 1;
  if (head == HeadKind::Shape && !v.is(Kind::Pack)) {  // integers written out
    const Val list = literalInts(v);
    return !list.elems.empty() &&
           std::all_of(list.elems.begin(), list.elems.end(), [](const Val& e) { return e.is(Kind::Int); });
  }
  // 1: taken like anything else; 2: a struct as what is called; 3: its own kind; 4: an integer as a dim.
  switch (v.kind) {
    case Kind::Tensor:
    case Kind::Float:
    case Kind::Bool: return head == HeadKind::Tensor ? 3 : 0;
    case Kind::Int: return head == HeadKind::Integer ? 4 : head == HeadKind::Tensor ? 3 : 0;
    case Kind::Array: return head == HeadKind::Tensor || head == HeadKind::List ? 3 : 0;
    case Kind::Pack: return head == HeadKind::Shape || head == HeadKind::Tensor ? 3 : 0;
    case Kind::Tuple: return head == HeadKind::Tuple ? 3 : head == HeadKind::Function ? 1 : 0;
    case Kind::List: return head == HeadKind::List ? 3 : 0;
    case Kind::Struct:
      if (head == HeadKind::Struct && declared.type == v.info->decl) return 3;
      return head == HeadKind::Function ? 2 : 0;
    case Kind::Function: return head == HeadKind::Function ? 3 : 0;
    case Kind::Device: return head == HeadKind::Device ? 3 : 0;
    case Kind::String:
    case Kind::Format: return head == HeadKind::String ? 3 : 0;
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

const FnDecl* Overloads::ofStruct(const std::vector<const FnDecl*>& overloads, const Val& v) {
  for (const FnDecl* d : overloads) {
    const auto& params = d->stmt->params;
    if (!params.empty() && headOf(params[0].type.get(), *d) == Head{HeadKind::Struct, v.info->decl}) return d;
  }
  return nullptr;
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
  if (first && first->poison()) return context_.lost();  // which of them is called is not known
  if (const FnDecl* d = pickOverload(f.overloads, first)) return functions_.callDecl(*d, args);
  auto d = context_.error(Code::E0203, args.callee,
                          "no function `" + f.name + "` takes " + (first ? describe(*first) : "no argument"));
  // `optim.step(m, s, g)`: the value that they are declared for is another argument.
  for (const CallArg& a : args.args) {
    const FnDecl* meant = a.name.empty() && a.value.is(Kind::Struct) ? ofStruct(f.overloads, a.value) : nullptr;
    if (!meant || !first || &a.value == first) continue;
    d.note(meant->stmt->name.span, "it is " + signatureText(*meant));
    if (const std::string own(context_.sources.text(a.span)); first->span.valid() && !own.empty())
      d.help("`" + own + "` comes first",
             {{first->span, own}, {a.span, std::string(context_.sources.text(first->span))}});
    return d;
  }
  for (const FnDecl* o : f.overloads) d.note(o->stmt->name.span, "there is " + signatureText(*o));
  if (const std::string hidden = hiddenBy(*f.overloads[0]); !hidden.empty()) d.help(hidden);
  return d;
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
