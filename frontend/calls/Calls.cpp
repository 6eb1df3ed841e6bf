// Calls: what is called, with which arguments. Overloads, methods, pipes, callables made of structs and tuples.
#include <algorithm>
#include <cctype>
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/builtins/Signature.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;
using TypeKind = ast::TypeExpr::Kind;
constexpr size_t kDeepestCall = 200;
constexpr Signature kMove = "to(device)";
}  // namespace

CallArgs Lowering::evalArguments(const ast::Expr& e) {
  CallArgs args;
  args.span = e.span;
  args.callee = e.args[0]->kind == ExprKind::Member ? e.args[0]->opSpan : e.args[0]->span;
  for (const ast::Argument& a : e.arguments) {
    CallArg arg;
    if (a.name) arg.name = a.name->text;
    arg.span = a.span;
    arg.value = a.value ? eval(*a.value) : Val::none();
    if (a.rangeEnd) {
      Val hi = eval(*a.rangeEnd);
      arg.value = arg.value.poison() || hi.poison() ? Val::none()
                                                    : Val::ofRange(arg.value, hi, Val::ofInt(1, a.span), false, a.span);
    }
    args.args.push_back(std::move(arg));
  }
  return args;
}

namespace {
void prepend(CallArgs& args, const Val& v) {
  CallArg first;
  first.value = v;
  first.span = v.span;
  args.args.insert(args.args.begin(), std::move(first));
}
}  // namespace

Val Lowering::callExpr(const ast::Expr& e, const Ty* expected, const Val* piped) {
  const ast::Expr& callee = *e.args[0];
  if (callee.kind == ExprKind::Member) {
    if (foreignPrefix(callee)) {
      evalArguments(e);
      return Val::none();
    }
    Val base = eval(*callee.args[0]);
    CallArgs args = evalArguments(e);
    args.expected = expected;
    if (piped) prepend(args, *piped);
    if (base.poison()) return base;
    if (base.is(Kind::Module)) {
      Val f = fieldOf(base, callee.text, callee.opSpan);
      return call(f, std::move(args));
    }
    return callMethod(base, e, args);
  }
  Val f = callee.kind == ExprKind::Name ? lookupCallee(callee, piped ? nullptr : &e) : eval(callee);
  CallArgs args = evalArguments(e);
  args.expected = expected;
  if (piped) prepend(args, *piped);
  return call(f, std::move(args));
}

Val Lowering::pipe(const ast::Expr& e, const Ty* expected) {
  Val left = eval(*e.args[0]);
  const ast::Expr& right = *e.args[1];
  if (right.kind == ExprKind::Call) return callExpr(right, expected, &left);
  Val f = right.kind == ExprKind::Name ? lookupCallee(right) : eval(right);
  CallArgs args;
  args.span = e.span;
  args.callee = right.span;
  args.expected = expected;
  prepend(args, left);
  return call(f, std::move(args));
}

void readAsDevice(CallArgs& args, std::string_view parameter) {
  if (args.args.size() != 1) return;
  CallArg& a = args.args[0];
  if (a.name.empty() || a.name == parameter || !a.value.is(Kind::Int)) return;
  a.value = Val::ofDevice({a.name + ":" + toString(a.value.integer), nullptr}, a.span);
  a.name.clear();
}

Val Lowering::callMethod(const Val& base, const ast::Expr& call, CallArgs& args) {
  const ast::Expr& member = *call.args[0];
  const std::string& name = member.text;
  if (base.is(Kind::Struct)) {
    const auto& fields = base.info->decl->stmt->fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name.text != name) continue;
      const Val& f = base.elems[i];
      if (f.is(Kind::Function) || f.is(Kind::Struct) || f.is(Kind::Tuple)) return this->call(f, args);
    }
  }
  if (base.is(Kind::Tuple) && !name.empty() && std::isdigit(static_cast<unsigned char>(name[0]))) {
    return this->call(fieldOf(base, name, member.opSpan), args);
  }
  auto f = lookup(name, member.opSpan);
  if (f && f->is(Kind::Function) && f->fn->kind == FnValue::Kind::Overloads && base.is(Kind::Struct) &&
      !pickOverload(f->fn->overloads, &base)) {
    f = std::nullopt;  // the module of the struct may have it
  }
  if (f && f->is(Kind::Function) && f->fn->kind == FnValue::Kind::Builtin && base.is(Kind::Struct)) {
    // A function of the struct's module that takes it is meant before a built-in, so that a new built-in breaks
    // nothing.
    const auto own = base.info->decl->unit->functions.find(name);
    if (own != base.info->decl->unit->functions.end()) {
      std::vector<const FnDecl*> overloads;
      for (const FnDecl& d : own->second) overloads.push_back(&d);
      if (pickOverload(overloads, &base)) f = std::nullopt;
    }
  }
  if (!f && base.is(Kind::Struct)) f = lookupGlobal(*base.info->decl->unit, name, member.opSpan);
  if (name == "to" && (!f || f->fn == nullptr || f->fn->kind == FnValue::Kind::Builtin)) {
    readAsDevice(args, "device");
    BoundArgs bound = bind(args, kMove);
    if (!bound.ok) return Val::none();
    Val device = bound["device"];
    if (device.is(Kind::DType) || device.is(Kind::String)) {
      auto d = error(Code::E0203, device.span, "the argument of `.to` must be a device, not " + describe(device));
      if (device.is(Kind::DType))
        d.help("a dtype converts", {{args.span, std::string(sources.text(device.span)) + "(" +
                                                    std::string(sources.text(member.args[0]->span)) + ")"}});
      else if (ir::DeviceTable::isKind(ir::DeviceTable::kindOf(device.text)))
        d.help("devices stand without quotes", {{device.span, device.text}});
      return Val::none();
    }
    auto d = constDevice(device, "the argument of `.to`");
    return d ? moveTo(base, *d, args.span, "to") : Val::none();
  }
  if (f && (f->is(Kind::Function) || f->is(Kind::Struct) || f->is(Kind::DType) || f->poison())) {
    prepend(args, base);
    return this->call(*f, args);
  }
  if (lostName(name)) return Val::none();
  auto d = error(Code::E0206, member.opSpan,
                 describe(base) + " has no `" + name + "`, and no function of that name is in scope");
  if (args.args.size() == call.arguments.size() && offerRewrite(d, call)) return Val::none();
  if (base.is(Kind::Tensor) && memberOfTensor(*this, base, name, member.opSpan))
    d.help("it is no function: write it without parentheses");
  else
    suggest(d, name, member.opSpan, visibleNames(), syntax::familiarName(name));
  return Val::none();
}

Val Lowering::callValue(const Val& f, std::vector<Val> values, Span span) {
  CallArgs args;
  args.span = args.callee = span;
  for (Val& v : values) {
    CallArg a;
    a.span = v.span.valid() ? v.span : span;
    a.value = std::move(v);
    args.args.push_back(std::move(a));
  }
  return call(f, std::move(args));
}

Val Lowering::call(const Val& f, CallArgs args) {
  if (frames_.size() > kDeepestCall) {
    stopped_ = true;  // each of the calls on the way may make further ones
    return fail(Code::E0109, args.span, "calls are nested too deeply");
  }
  switch (f.kind) {
    case Kind::Poison: return Val::none();
    case Kind::DType: {
      BoundArgs bound = bind(args, castSignature(f.dtype));
      return bound.ok ? cast(bound["x"], f.dtype, args.span) : Val::none();
    }
    case Kind::Struct: return callStruct(f, args);
    case Kind::Tuple:
    case Kind::List: {
      // Callables in a row: each takes what the one before gives.
      Val v;
      for (size_t i = 0; i < f.elems.size(); ++i) {
        CallArgs next = args;
        if (i > 0) {
          next.args.clear();
          prepend(next, v);
        }
        v = call(f.elems[i], std::move(next));
        if (v.poison()) return v;
      }
      return f.elems.empty() && args.args.size() == 1 ? args.args[0].value : v;
    }
    case Kind::Function: break;
    case Kind::Type: return calledStruct(f, args);
    default: return fail(Code::E0203, args.callee, describe(f) + " cannot be called");
  }
  const FnValue& fn = *f.fn;
  switch (fn.kind) {
    case FnValue::Kind::Overloads: return callOverloads(fn, args);
    case FnValue::Kind::Lambda: return callLambda(fn, args);
    case FnValue::Kind::Builtin: at(args.span); return callBuiltin(*this, fn.name, args);
    case FnValue::Kind::Bound: prepend(args, *fn.receiver); return call(fn.inner[0], std::move(args));
    case FnValue::Kind::Derived: return callVmap(fn, args);
    case FnValue::Kind::Cast: {
      auto t = ir::dtypeNamed(fn.name);
      BoundArgs bound = bind(args, castSignature(*t));
      return bound.ok ? cast(bound["x"], *t, args.span) : Val::none();
    }
  }
  return Val::none();
}

Val Lowering::callStruct(const Val& f, CallArgs& args) {
  prepend(args, f);
  auto scoped = lookup("call", args.callee);
  if (scoped && scoped->is(Kind::Function) && scoped->fn->kind == FnValue::Kind::Overloads &&
      pickOverload(scoped->fn->overloads, &f)) {
    return call(*scoped, args);
  }
  auto declared = lookupGlobal(*f.info->decl->unit, "call", args.callee);
  if (declared && declared->is(Kind::Function) && pickOverload(declared->fn->overloads, &f))
    return call(*declared, args);
  return fail(Code::E0203, args.callee, describe(f) + " cannot be called: there is no function `call` for it");
}

// ---- overloads

std::string Lowering::headOf(const ast::TypeExpr* t, const FnDecl& decl) {
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
  TypeName n = typeName(*t, g, false);
  if (n.value && n.value->is(Kind::Type)) {
    const Ty& type = *n.value->type;
    if (type.kind == Ty::Kind::Struct) return "struct:" + std::to_string(reinterpret_cast<uintptr_t>(type.info->decl));
    if (type.kind == Ty::Kind::Tuple) return "tuple";
    if (type.kind == Ty::Kind::List) return "list";
    return "tensor";
  }
  return "any";
}

int Lowering::headMatch(const std::string& declared, const Val& v) {
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

const FnDecl* Lowering::pickOverload(const std::vector<const FnDecl*>& overloads, const Val* first) {
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

Val Lowering::callOverloads(const FnValue& f, CallArgs& args) {
  if (f.overloads.size() == 1) return callDecl(*f.overloads[0], args);
  const Val* first = nullptr;
  for (const CallArg& a : args.args) {
    const auto& params = f.overloads[0]->stmt->params;
    if (a.name.empty() || (!params.empty() && a.name == params[0].name.text)) {
      first = &a.value;
      break;
    }
  }
  if (const FnDecl* d = pickOverload(f.overloads, first)) return callDecl(*d, args);
  auto d = error(Code::E0203, args.callee,
                 "no function `" + f.name + "` takes " + (first ? describe(*first) : "no argument"));
  for (const FnDecl* o : f.overloads) d.note(o->stmt->name.span, "there is " + signatureText(*o));
  return Val::none();
}

std::string Lowering::signatureText(const FnDecl& decl) const {
  const ast::Stmt& s = *decl.stmt;
  std::string text = s.name.text + "(";
  for (size_t i = 0; i < s.params.size(); ++i) {
    const ast::FnParam& p = s.params[i];
    text += (i ? ", " : "") + std::string(p.isStatic ? "static " : "") + p.name.text;
    if (p.type) text += ": " + std::string(sources.text(p.type->span));
    if (p.otherwise) text += " = " + std::string(sources.text(p.otherwise->span));
  }
  text += ")";
  if (s.type) text += " -> " + std::string(sources.text(s.type->span));
  return text;
}

bool Lowering::matchArguments(const FnDecl& decl, const CallArgs& args, std::vector<const CallArg*>& matched) {
  const auto& params = decl.stmt->params;
  matched.assign(params.size(), nullptr);
  bool ok = true;
  auto wrong = [&](Span span, std::string message, const std::function<void(Diagnostics::Builder&)>& help = {}) {
    if (ok) {
      auto d = error(Code::E0204, span, std::move(message));
      d.note(decl.stmt->name.span, "it is " + signatureText(decl));
      if (help) help(d);
    }
    ok = false;
  };
  size_t position = 0;
  for (const CallArg& a : args.args) {
    size_t i = 0;
    if (a.name.empty()) {
      while (position < params.size() && matched[position]) ++position;
      i = position;
      if (i == params.size()) {
        wrong(a.span, "`" + decl.stmt->name.text + "` takes " + std::to_string(params.size()) +
                          (params.size() == 1 ? " argument, but " : " arguments, but ") +
                          std::to_string(args.args.size()) + (args.args.size() == 1 ? " is given" : " are given"));
        continue;
      }
    } else {
      while (i < params.size() && params[i].name.text != a.name) ++i;
      if (i == params.size()) {
        std::vector<std::string> names;
        for (const ast::FnParam& p : params) names.push_back(p.name.text);
        const Span name{a.span.file, a.span.begin, a.span.begin + static_cast<uint32_t>(a.name.size())};
        wrong(a.span, "`" + decl.stmt->name.text + "` has no parameter `" + a.name + "`",
              [&](Diagnostics::Builder& d) { suggest(d, a.name, name, names, syntax::familiarOption(a.name)); });
        continue;
      }
      if (matched[i]) {
        wrong(a.span, "`" + a.name + "` is given twice");
        continue;
      }
    }
    matched[i] = &a;
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (!matched[i] && !params[i].otherwise) {
      wrong(args.span, "`" + decl.stmt->name.text + "` lacks its argument `" + params[i].name.text + "`");
    }
  }
  return ok;
}

Val Lowering::callLambda(const FnValue& f, CallArgs& args) {
  const ast::Expr& e = *f.lambda;
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return Val::none();
    if (!a.name.empty()) return fail(Code::E0204, a.span, "a lambda takes its arguments by position");
  }
  if (args.args.size() != e.params.size()) {
    return fail(Code::E0204, args.span,
                "the lambda takes " + std::to_string(e.params.size()) +
                    (e.params.size() == 1 ? " argument, but " : " arguments, but ") + std::to_string(args.args.size()) +
                    (args.args.size() == 1 ? " is given" : " are given"));
  }
  auto own = std::make_unique<Frame>();
  own->unit = f.unit;
  own->scopes.emplace_back();
  frames_.push_back(std::move(own));
  // Captures are where they are where the lambda is written: annotations around its call do not touch them.
  const bool elsewhere = annotationAround() != f.writtenIn;
  for (const auto& [name, value] : f.captures) declare({name, Span{}}, elsewhere ? keepPlace(value) : value, false);
  push();
  bool ok = true;
  for (size_t i = 0; i < e.params.size(); ++i) {
    Val v = args.args[i].value;
    if (const ast::TypePtr& type = e.params[i].type) {
      Generics g;
      g.unit = f.unit;
      g.locals = true;
      const Target who{"the lambda's argument", args.args[i].span, type->span, false};
      v = unify(*type, v, g, who);
      if (v.poison() || !finishPending(g, who)) ok = false;
      for (auto& [name, bound] : g.bound) declare({name, type->span}, bound, false);
    }
    bindPattern(e.params[i].pattern, settleArray(v), false, nullptr);
  }
  Boundary body;
  Boundary* outer = std::exchange(boundary_, &body);
  Val result;
  if (ok && e.body) {
    if (e.body->kind == ExprKind::Block && e.body->annotations.empty()) {
      result = lowerBlock(e.body->blocks[0], nullptr, args.expected).value;
    } else {
      result = eval(*e.body, args.expected);
    }
  }
  boundary_ = outer;
  frames_.pop_back();
  at(args.span);
  return result;
}

Val Lowering::settleArray(const Val& v) { return v.is(Kind::Array) ? settle(v) : v; }

}  // namespace tenc::frontend
