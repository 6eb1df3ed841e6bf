// Calls: what is called, with which arguments. Methods, pipes, callables made of structs and tuples.
#include "frontend/calls/Calls.h"

#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/builtins/Signature.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Lambdas.h"
#include "frontend/calls/Overloads.h"
#include "frontend/calls/Training.h"
#include "frontend/calls/Transforms.h"
#include "frontend/expressions/Conversions.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Members.h"
#include "frontend/expressions/SourceText.h"
#include "frontend/habits/Habits.h"
#include "frontend/habits/Hidden.h"
#include "frontend/habits/ListLength.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Names.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "frontend/values/PlacingOps.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;

constexpr size_t kDeepestCall = 200;

constexpr Signature kMove = "to(device)";
}  // namespace

CallArgs Calls::evalArguments(const ast::Expr& e) {
  CallArgs args;
  args.span = e.span;
  args.callee = e.args[0]->kind == ExprKind::Member ? e.args[0]->opSpan : e.args[0]->span;
  for (const ast::Argument& a : e.arguments) {
    CallArg arg;
    if (a.name) arg.name = a.name->text;
    arg.span = a.span;
    arg.value = a.value ? expressions_.eval(*a.value) : context_.lost();
    if (a.rangeEnd) {
      Val hi = expressions_.eval(*a.rangeEnd);
      arg.value = arg.value.poison() || hi.poison() ? context_.lost()
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

/// `x.to(gpu)` of a name that means nothing: it is meant for a device.
bool Calls::isMoveToUnknown(const ast::Expr& call) const {
  if (call.args[0]->text != kMove.name() || call.arguments.size() != 1) return false;
  const ast::Expr* to = call.arguments[0].value.get();
  if (to == nullptr || call.arguments[0].name || call.arguments[0].rangeEnd || to->kind != ExprKind::Name) return false;
  return !names_.lookup(to->span) && !scopes_.lostName(to->text) && !scopes_.nameExists(to->text) &&
         syntax::familiarName(to->text) == nullptr;
}

Val Calls::callExpr(const ast::Expr& e, const Ty* expected, const Val* piped) {
  const ast::Expr& callee = *e.args[0];
  if (callee.kind == ExprKind::Member) {
    if (habits_.foreignCall(e)) return context_.lost();
    if (habits_.foreignPrefix(callee)) {
      evalArguments(e);
      return context_.lost();
    }
    if (isMoveToUnknown(e)) {
      expressions_.eval(*callee.args[0]);
      return devices_.noDevice(e.arguments[0].value->text, e.arguments[0].value->span);
    }
    Val base = expressions_.eval(*callee.args[0]);
    if (habits_.setsMode(e, base, names_.lookupMethod(callee.opSpan))) return context_.lost();
    CallArgs args = evalArguments(e);
    args.expected = expected;
    if (piped) prepend(args, *piped);
    if (base.poison()) return base;
    if (base.is(Kind::Module)) {
      Val f = members_.fieldOf(base, callee.text, callee.opSpan);
      return call(f, std::move(args));
    }
    return callMethod(base, e, args);
  }
  Val f = callee.kind == ExprKind::Name ? placing_.keepCaptures(names_.lookupCallee(callee, piped ? nullptr : &e))
                                        : expressions_.eval(callee);
  CallArgs args = evalArguments(e);
  if (piped && f.is(Kind::Function) && f.fn->kind == FnValue::Kind::Builtin && transformNamed(f.fn->name) != nullptr) {
    // `x |> grad(f)`: what the transform makes takes x.
    const Val made = call(f, std::move(args));
    return made.poison() ? made : callValue(made, {*piped}, e.span);
  }
  args.expected = expected;
  if (piped)
    prepend(args, *piped);
  else if (f.is(Kind::Function) && habits_.calledOtherwise(e, f, args))
    return context_.lost();
  return call(f, std::move(args));
}

Val Calls::pipe(const ast::Expr& e, const Ty* expected) {
  Val left = expressions_.eval(*e.args[0]);
  const ast::Expr& right = *e.args[1];
  if (right.kind == ExprKind::Call) return callExpr(right, expected, &left);
  Val f = right.kind == ExprKind::Name ? placing_.keepCaptures(names_.lookupCallee(right)) : expressions_.eval(right);
  CallArgs args;
  args.span = e.span;
  args.callee = right.span;
  args.expected = expected;
  prepend(args, left);
  return call(f, std::move(args));
}

namespace {
/// The functions of that name in the module of a struct.
std::vector<const FnDecl*> ownFunctions(const Val& v, const std::string& name) {
  std::vector<const FnDecl*> own;
  if (const auto it = v.info->decl->unit->functions.find(name); it != v.info->decl->unit->functions.end()) {
    for (const FnDecl& d : it->second) own.push_back(&d);
  }
  return own;
}
}  // namespace

Val Calls::callMethod(const Val& base, const ast::Expr& call, CallArgs& args) {
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
    return this->call(members_.fieldOf(base, name, member.opSpan), args);
  }
  auto f = names_.lookupMethod(member.opSpan);
  if (f) f = placing_.keepCaptures(*f);
  if (f && f->is(Kind::Function) && base.is(Kind::Struct)) {
    const std::vector<const FnDecl*> own = ownFunctions(base, name);
    // The module of the struct may have it; what it has for this struct is meant before what takes anything. Its
    // functions are meant before built-ins too, so that a new built-in breaks nothing.
    const bool overloads = f->fn->kind == FnValue::Kind::Overloads;
    if ((overloads && (!overloads_.pickOverload(f->fn->overloads, &base) ||
                       (!overloads_.ofStruct(f->fn->overloads, base) && overloads_.ofStruct(own, base)))) ||
        (f->fn->kind == FnValue::Kind::Builtin && overloads_.pickOverload(own, &base))) {
      f = std::nullopt;
    }
  }
  if (!f && base.is(Kind::Struct)) f = names_.lookupGlobal(*base.info->decl->unit, name, member.opSpan);
  if (name == "to" && (!f || f->fn == nullptr || f->fn->kind == FnValue::Kind::Builtin)) {
    readAsDevice(args, "device");
    const bool named = std::ranges::any_of(args.args, [](const CallArg& a) { return !a.name.empty(); });
    if (named && args.args.size() == call.arguments.size() && habits_.movesOtherwise(call)) return context_.lost();
    BoundArgs bound = bindArguments(context_, args, kMove);
    if (!bound.ok) return context_.lost();
    Val device = bound["device"];
    if (device.is(Kind::DType) || device.is(Kind::String)) {
      auto d =
          context_.error(Code::E0203, device.span, "the argument of `.to` must be a device, not " + describe(device));
      if (device.is(Kind::DType))
        d.help("a dtype converts", {{args.span, std::string(context_.sources.text(device.span)) + "(" +
                                                    std::string(context_.sources.text(member.args[0]->span)) + ")"}});
      else if (ir::DeviceTable::isKind(ir::DeviceTable::kindOf(device.text)))
        d.help("write devices without quotes", {{device.span, device.text}});
      return d;
    }
    if (!call.grouped) context_.note(sourceText(call)).move = {call.span.file, member.args[0]->span.end, call.span.end};
    auto d = devices_.constDevice(device, "the argument of `.to`");
    return d ? placing_.moveTo(base, *d, args.span, ir::Cause::To, device.span) : context_.lost();
  }
  if (f && (f->is(Kind::Function) || f->is(Kind::Struct) || f->is(Kind::DType) || f->poison())) {
    const bool whole = args.args.size() == call.arguments.size();  // nothing was piped in
    prepend(args, base);
    if (whole && f->is(Kind::Function) && habits_.calledOtherwise(call, *f, args)) return context_.lost();
    return this->call(*f, args);
  }
  if (scopes_.lostName(name)) return context_.lost();
  auto d = context_.error(Code::E0206, member.opSpan,
                          describe(base) + " has no `" + name + "`, and no function of that name is in scope");
  const syntax::Familiar* foreign = syntax::familiarName(name);
  const bool isListed = base.is(Kind::List) || base.is(Kind::Tuple);
  if (auto length = isListed ? lengthOfList(context_, member.opSpan) : std::nullopt) {
    d.help(length->text, length->edits);
    return d;
  }
  if (base.is(Kind::Tuple) && foreign && !foreign->ofNetwork && call.arguments.empty()) {
    d.help("the value is a tuple: `let (a, b) = ...` names its parts");
    return d;
  }
  if (args.args.size() == call.arguments.size() && habits_.offerRewrite(d, call, &args)) return context_.lost();
  if (base.is(Kind::Tensor) && members_.memberOfTensor(base, name, member.opSpan))
    d.help("it is not a function: write it without parentheses", withoutParentheses(call));
  else
    suggest(d, name, member.opSpan, scopes_.visibleNames(), foreign);
  return d;
}

/// `x.shape(0)` as `x.shape[0]`, `x.ndim()` as `x.ndim`.
std::vector<Edit> Calls::withoutParentheses(const ast::Expr& call) {
  const uint32_t begin = call.args[0]->opSpan.end, end = call.span.end;
  if (call.grouped || call.arguments.size() > 1) return {};
  if (call.arguments.empty()) return {{Span{call.span.file, begin, end}, ""}};
  const std::string index(context_.sources.text(call.arguments[0].span));
  return {{Span{call.span.file, begin, end}, "[" + index + "]"}};
}

Val Calls::callValue(const Val& f, std::vector<Val> values, Span span) {
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

Val Calls::call(const Val& f, CallArgs args) {
  if (context_.frames.size() > kDeepestCall) {
    context_.stop();  // each of the calls on the way may make further ones
    return context_.fail(Code::E0109, args.span, "calls are nested too deeply");
  }
  switch (f.kind) {
    case Kind::None:
    case Kind::Poison: return context_.lost();
    case Kind::DType: {
      BoundArgs bound = bindArguments(context_, args, castSignature(f.dtype));
      return bound.ok ? conversions_.cast(bound["x"], f.dtype, args.span) : context_.lost();
    }
    case Kind::Struct: return callStruct(f, args);
    case Kind::Tuple:
    case Kind::List: {
      // Callables in a row: each takes what the one before gives.
      if (f.elems.empty() && args.args.size() != 1) {
        return context_.fail(
            Code::E0204, args.span,
            "a row of no functions takes one value, which it gives back, not " + std::to_string(args.args.size()));
      }
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
      return f.elems.empty() ? args.args[0].value : v;
    }
    case Kind::Function: break;
    case Kind::Type: return habits_.calledStruct(f, args);
    default: {
      auto d = context_.error(Code::E0203, args.callee, describe(f) + " cannot be called");
      if (auto hidden = calledVariable(context_, args.callee)) d.help(std::move(*hidden));
      return d;
    }
  }
  const FnValue& fn = *f.fn;
  switch (fn.kind) {
    case FnValue::Kind::Overloads: return overloads_.callOverloads(fn, args);
    case FnValue::Kind::Lambda: return lambdas_.callLambda(fn, args);
    case FnValue::Kind::Builtin: context_.at(args.span); return builtins_.callBuiltin(fn.name, args);
    case FnValue::Kind::Bound: prepend(args, *fn.receiver); return call(fn.inner[0], std::move(args));
    case FnValue::Kind::ByFirst: return transforms_.callByFirst(fn, args);
    case FnValue::Kind::Fixed:
      for (const auto& [name, value] : fn.options)
        args.args.push_back({name, value, value.span.valid() ? value.span : args.span});
      return call(fn.inner[0], std::move(args));
    case FnValue::Kind::Derived: return transforms_.call(fn, args);
    case FnValue::Kind::Cast: {
      auto t = ir::dtypeNamed(fn.name);
      BoundArgs bound = bindArguments(context_, args, castSignature(*t));
      return bound.ok ? conversions_.cast(bound["x"], *t, args.span) : context_.lost();
    }
  }
  return context_.lost();
}

std::optional<Val> Calls::callInTraining(const Val& f, CallArgs& args, Training& training) {
  const auto own = overloads_.ofStruct(ownFunctions(f, training.method), f);
  if (!own) return std::nullopt;
  prepend(args, training.newest(f));
  const Scoped alone(context_.body.training, nullptr);
  FnValue fn;
  fn.name = training.method;
  fn.overloads = {own};
  Val made = overloads_.callOverloads(fn, args);
  if (made.poison()) return made;
  if (!made.is(Kind::Tuple) || made.elems.size() != 2 || !training.keep(f, made.elems[1])) {
    return context_.fail(
        Code::E0203, args.callee,
        "`" + training.method + "` of " + describe(f) + " gives a result and the layer, not " + describe(made));
  }
  return made.elems[0];
}

Val Calls::callStruct(const Val& f, CallArgs& args) {
  if (Training* training = context_.body.training) {
    if (const auto made = callInTraining(f, args, *training)) return *made;
  }
  prepend(args, f);
  auto scoped = names_.lookupGlobal(*context_.frame().unit, "call", args.callee);
  if (scoped && scoped->is(Kind::Function) && scoped->fn->kind == FnValue::Kind::Overloads &&
      overloads_.pickOverload(scoped->fn->overloads, &f)) {
    return call(*scoped, args);
  }
  auto declared = names_.lookupGlobal(*f.info->decl->unit, "call", args.callee);
  if (declared && declared->is(Kind::Function) && overloads_.pickOverload(declared->fn->overloads, &f))
    return call(*declared, args);
  auto d =
      context_.error(Code::E0203, args.callee, describe(f) + " cannot be called: there is no function `call` for it");
  // PyTorch's name for it.
  const auto forward = names_.lookupGlobal(*f.info->decl->unit, "forward", args.callee);
  if (forward && forward->is(Kind::Function)) {
    if (const FnDecl* takes = overloads_.pickOverload(forward->fn->overloads, &f))
      d.help("what calls a struct is named `call`", {{takes->stmt->name.span, "call"}});
  }
  return d;
}

}  // namespace tenc::frontend
