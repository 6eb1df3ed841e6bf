// Calls of declared functions: arguments matched with parameters, variables of the signature bound.
#include "frontend/calls/Functions.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Instances.h"
#include "frontend/calls/Overloads.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/habits/Hidden.h"
#include "frontend/habits/Idioms.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Sizes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Aliases.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "syntax/Familiar.h"
#include "transforms/Functions.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using TypeKind = ast::TypeExpr::Kind;
}  // namespace

namespace {
/// A struct that is called, by the type that its `call` takes; empty for other functions.
std::string calledStruct(const FnDecl& decl) {
  const ast::Stmt& s = *decl.stmt;
  const ast::TypeExpr* type = s.name.text == "call" && !s.params.empty() ? s.params[0].type.get() : nullptr;
  if (!type || type->kind != TypeKind::Path || type->path.empty()) return "";
  const bool isListed =
      std::ranges::any_of(s.generics, [&](const auto& g) { return g.name.text == type->path[0].text; });
  if (isListed) return "";
  std::string name = decl.unit->isScript || type->path.size() > 1 ? "" : decl.unit->name + ".";
  for (const ast::Name& part : type->path) name += (name.empty() || name.back() == '.' ? "" : ".") + part.text;
  return name;
}

/// Whether it gives a state that a function `step` of the same module takes: of an optimiser.
bool makesState(const FnDecl& decl) {
  const ast::TypeExpr* made = decl.stmt->type.get();
  const auto steps = decl.unit->functions.find("step");
  if (!made || made->path.empty() || steps == decl.unit->functions.end()) return false;
  return std::ranges::any_of(steps->second, [&](const FnDecl& step) {
    const auto& params = step.stmt->params;
    const ast::TypeExpr* taken = params.empty() ? nullptr : params[0].type.get();
    return taken && !taken->path.empty() && taken->path.back().text == made->path.back().text;
  });
}

}  // namespace

std::string calledName(const FnDecl& decl) {
  const std::string type = calledStruct(decl);
  return type.empty() ? decl.stmt->name.text : type;
}

bool Functions::matchArguments(const FnDecl& decl, const CallArgs& args, std::vector<const CallArg*>& matched) {
  const auto& params = decl.stmt->params;
  matched.assign(params.size(), nullptr);
  bool ok = true;
  bool otherwise = false;  // an error that is not about the name of an argument: those are all reported
  auto wrong = [&](Span span, std::string message, const std::function<void(Diagnostics::Builder&)>& help = {}) {
    if (ok || (help && !otherwise)) {
      auto d = context_.error(Code::E0204, span, std::move(message));
      d.note(decl.stmt->name.span, "it is " + overloads_.signatureText(decl));
      if (help) help(d);
      if (const std::string hidden = hiddenBy(decl); !hidden.empty()) d.help(hidden);
    }
    ok = false;
    otherwise |= !help;
  };
  size_t position = 0;
  for (const CallArg& a : args.args) {
    size_t i = 0;
    if (a.name.empty()) {
      while (position < params.size() && matched[position]) ++position;
      i = position;
      if (i == params.size()) {
        const size_t itself = calledStruct(decl).empty() ? 0 : 1;  // is no argument
        const size_t most = params.size() - itself, given = args.args.size() - itself;
        wrong(a.span, "`" + calledName(decl) + "` takes " + std::to_string(most) +
                          (most == 1 ? " argument, but " : " arguments, but ") + std::to_string(given) +
                          (given == 1 ? " is given" : " are given"));
        continue;
      }
    } else {
      while (i < params.size() && params[i].name.text != a.name) ++i;
      if (i == params.size()) {
        std::vector<std::string> names;
        for (const ast::FnParam& p : params) names.push_back(p.name.text);
        const Span name{a.span.file, a.span.begin, a.span.begin + static_cast<uint32_t>(a.name.size())};
        wrong(a.span, "`" + calledName(decl) + "` has no parameter `" + a.name + "`", [&](Diagnostics::Builder& d) {
          const syntax::Familiar* option = syntax::familiarOption(a.name);
          if (option && option->ofSteps && !makesState(decl)) option = nullptr;
          if (auto steps = option && option->ofSteps ? optionOfSteps(context_, a.span, a.name) : std::nullopt) {
            d.help(steps->text, steps->edits);
            return;
          }
          if (auto left = decl.unit->isScript ? std::nullopt : optionLeftOut(context_, a.span, a.name)) {
            d.help(left->text, left->edits);
            return;
          }
          if (option && !option->ofModule.empty() && decl.unit && !decl.unit->isScript) {
            d.help(std::string(option->ofModule));
            return;
          }
          // What TL has in place of an option says nothing of a function of the script that has no such option.
          const bool there = option && std::ranges::find(names, option->replacement) != names.end();
          suggest(d, a.name, name, names, there || !decl.unit->isScript ? option : nullptr, Among::Few);
        });
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
      wrong(args.span, "`" + calledName(decl) + "` is missing its argument `" + params[i].name.text + "`");
    }
  }
  return ok;
}

namespace {

bool mentions(const ast::TypeExpr& t, const std::string& name, bool inShape) {
  if (inShape && t.path.size() == 1 && t.path[0].text == name) return true;
  for (const auto& a : t.args) {
    if (mentions(*a, name, inShape || t.kind == ast::TypeExpr::Kind::Path || t.kind == ast::TypeExpr::Kind::List))
      return true;
  }
  return false;
}
}  // namespace

bool Functions::paramIsStatic(const FnDecl& decl, const ast::FnParam& p) {
  if (p.isStatic) return true;
  return sizes_.contains(*decl.unit->resolution, *decl.stmt, p);
}

bool Functions::resultDimsBound(const ast::TypeExpr& written, Generics& g, bool inShape) {
  const ast::TypeExpr& t = *aliases_.expanded(&written, g);
  if ((t.kind == TypeKind::Path && t.path.size() == 1) || t.kind == TypeKind::Pack) {
    const std::string& name = t.path[0].text;
    const ast::Generic* listed = listedGeneric(g, name);
    const bool dim = inShape && !t.hasArgs && name != "_" && (!listed || listed->kind == ast::Generic::Kind::Open);
    if (dim && types_.typeName(t, g, true).variable) {
      if (t.kind == TypeKind::Pack)
        context_.fail(Code::E0102, t.span, "the shape `" + name + "` of the result is not bound by any argument");
      else
        context_.error(Code::E0102, t.span, "the dim `" + name + "` of the result is not bound by any argument")
            .help("take it as an argument, `" + name + ": i64`, or write the size that the result has");
      return false;
    }
  }
  const bool shape = inShape || t.kind == TypeKind::Path || t.kind == TypeKind::ShapeOf;
  for (size_t i = 0; i < t.args.size(); ++i) {
    if (!resultDimsBound(*t.args[i], g, shape || (t.kind == TypeKind::List && i == 1))) return false;
  }
  return true;
}

bool Functions::bindParam(BoundCall& call, size_t i, const Val& v, Span span) {
  const ast::Stmt& s = *call.decl.stmt;
  const ast::FnParam& p = s.params[i];
  Target who{"argument `" + p.name.text + "` of `" + calledName(call.decl) + "`", span, p.name.span, false};
  who.help = hiddenBy(call.decl);
  Val& value = call.values[i];
  value = p.type ? unifier_.unify(*p.type, v, call.generics, who) : v;
  // A number that is known stays known, as one of a `const` with a written type does.
  if (p.isStatic && v.isNumber() && value.is(Kind::Tensor) && value.tensor->type.shape.empty()) {
    const ir::DType t = value.tensor->type.dtype;
    value = ir::isFloat(t) ? Val::ofFloat(asFloat(v, t), span) : Val::ofInt(v.integer, span);
    value.dtype = t;
  }
  if (value.is(Kind::Unit)) value = context_.fail(Code::E0203, span, who.what + " has no value");
  // `fn f(d, x: f32[N] @d)`: types of the signature may name it. One that has no name is a device variable there.
  if (value.is(Kind::Device)) {
    Val& named = call.generics.bound[p.name.text] = value;
    if (named.device.name.empty()) named.device = {"$" + p.name.text, nullptr};
  }
  // `fn linear(i: i64) -> f32[i]`: the argument is a dim of that name.
  const auto bound = call.generics.bound.find(p.name.text);
  if (bound != call.generics.bound.end() && bound->second.is(Kind::Int)) {
    value = sameDim(call, p, value, span);
  } else if (value.is(Kind::Int) && bound == call.generics.bound.end() && paramIsStatic(call.decl, p)) {
    call.generics.bound[p.name.text] = Val::ofInt(value.integer, span);
    call.generics.origin[p.name.text] = span;
  }
  return !value.poison();
}

Val Functions::sameDim(const BoundCall& call, const ast::FnParam& p, const Val& value, Span span) {
  const std::string& name = p.name.text;
  const std::string what = "argument `" + name + "` of `" + calledName(call.decl) + "`";
  const Val& dim = call.generics.bound.find(name)->second;
  if (value.poison() || (value.is(Kind::Int) && value.integer == dim.integer)) return value;
  const auto origin = call.generics.origin.find(name);
  const auto noted = [&](Diagnostics::Builder d) {
    if (origin != call.generics.origin.end() && origin->second.valid())
      d.note(origin->second, "`" + name + "` = " + toString(dim.integer) + " comes from here");
    return d;
  };
  if (value.is(Kind::Int))
    return noted(context_.error(
        Code::E0202, span,
        what + " is " + toString(value.integer) + " where `" + name + "` = " + toString(dim.integer) + " is declared"));
  if (!value.is(Kind::Tensor) || !ir::isInt(value.tensor->type.dtype))
    return noted(context_.error(Code::E0203, span, what + " is a dim, not " + describe(value)));
  Val given = value;
  given.span = span;
  auto d = context_.error(Code::E0111, span,
                          "`" + name + "` of `" + calledName(call.decl) +
                              "` is a dim of another argument: it must be known at compile time");
  explainKnown(context_, d, given);
  return d;
}

bool Functions::bindGiven(BoundCall& call) {
  bool ok = true;
  // Numbers take dtypes that tensors bind, so they come last.
  for (bool literals : {false, true}) {
    for (size_t i = 0; i < call.matched.size(); ++i) {
      if (!call.matched[i]) continue;
      const Val& v = call.matched[i]->value;
      if ((v.isNumber() || v.is(Kind::Array)) == literals) ok = bindParam(call, i, v, call.matched[i]->span) && ok;
    }
  }
  // What a later argument has bound.
  for (size_t i = 0; ok && i < call.matched.size(); ++i) {
    const ast::FnParam& p = call.decl.stmt->params[i];
    const auto bound = call.generics.bound.find(p.name.text);
    if (!call.matched[i] || bound == call.generics.bound.end() || !bound->second.is(Kind::Int)) continue;
    call.values[i] = sameDim(call, p, call.values[i], call.matched[i]->span);
    ok = !call.values[i].poison();
  }
  return ok;
}

Val Functions::defaultOf(const FnDecl& decl, size_t index, const Generics& g) {
  // A default is read where the function is declared; it sees what the arguments have bound.
  Frame own(decl.unit);
  for (const Declaration* d : decl.unit->resolution->signatureOf(*decl.stmt)) {
    const auto bound = g.bound.find(d->name);
    if (bound == g.bound.end()) continue;
    Binding binding;
    binding.value = bound->second;
    own.bind(d->name, d->span, std::move(binding));
  }
  const FrameScope inside(context_.frames, own);
  return expressions_.eval(*decl.stmt->params[index].otherwise);
}

DeviceRef Functions::placeOfDefault(const BoundCall& call, size_t index, std::vector<ir::Value*>& beside) {
  const auto placeOf = [&](size_t i) {
    if (!call.decl.stmt->params[i].type) return std::string();
    Generics g = call.generics;
    const ast::TypeExpr& type = *aliases_.expanded(call.decl.stmt->params[i].type.get(), g);
    const bool named = type.place && type.place->path.size() == 1;
    const auto isDevice = [&](const ast::FnParam& p) { return p.name.text == type.place->path[0].text; };
    if (named && std::ranges::any_of(call.decl.stmt->params, isDevice)) return "$" + type.place->path[0].text;
    return types_.deviceInType(type, g);
  };
  const std::string place = placeOf(index);
  if (!place.empty() && !place.starts_with('$')) return {place, nullptr};
  for (const ast::Annotation& a : call.decl.stmt->annotations) {
    if (place.empty() && a.kind != ast::Annotation::Kind::Autocast) {
      Frame own(call.decl.unit);
      const FrameScope inside(context_.frames, own);
      if (const auto d = devices_.annotationDevice(a)) return *d;
    }
  }
  for (size_t i = 0; i < call.values.size(); ++i) {
    const Val& v = call.values[i];
    if (!call.matched[i] && i >= index) continue;  // a default that is not made yet
    if (v.is(Kind::Device) && place == "$" + call.decl.stmt->params[i].name.text) return v.device;
    if (!v.is(Kind::Function) && !v.is(Kind::Device) && placeOf(i) == place) leavesOf(v, beside);
  }
  return {};
}

Val Functions::placedDefault(const BoundCall& call, size_t index) {
  const ast::FnParam& p = call.decl.stmt->params[index];
  std::vector<ir::Value*> beside;
  const DeviceRef device = placeOfDefault(call, index, beside);
  if (device.of && device.name.empty()) beside = {device.of};
  const bool follows = device.name.empty() && (beside.empty() || !context_.derived.arePlaced());
  if (follows || !context_.body.builder) return defaultOf(call.decl, index, call.generics);
  context_.at(p.otherwise->span);
  ir::Builder& at = context_.b();
  ir::Op* on = at.makeTyped(ir::OpKind::On, beside, {}, {{"device", device.name}});
  ir::Region* region = at.addRegion(on);
  Val v;
  context_.inRegion(region, [&] {
    v = defaultOf(call.decl, index, call.generics);
    if (!v.is(Kind::Array)) return;
    Generics g = call.generics;
    Ty hint;
    if (p.type) hint = types_.resolve(*p.type, g);
    v = tensors_.materialise(v, &hint);
  });
  std::vector<ir::Value*> leaves, made;
  const auto isMade = [&](const ir::Value* leaf) { return leaf->home()->isInside(*on) && !leaf->type.shape.empty(); };
  if (v.poison() || !leavesOf(v, leaves) || std::ranges::none_of(leaves, isMade)) {
    while (!region->ops.empty()) region->ops.front()->moveBefore(on);  // numbers live nowhere
    on->erase();
    return v;
  }
  context_.derived.notePlaces();
  for (ir::Value*& leaf : leaves) {
    if (!leaf->home()->isInside(*on)) continue;
    made.push_back(leaf);
    leaf = on->addResult(transforms::withoutPlace(leaf->type));
  }
  context_.inRegion(region, [&] { context_.b().makeTyped(ir::OpKind::Yield, made, {}); });
  return rebuild(v, leaves);
}

bool Functions::bindDefaults(BoundCall& call) {
  const ast::Stmt& s = *call.decl.stmt;
  for (size_t i = 0; i < call.matched.size(); ++i) {
    if (call.matched[i]) continue;
    const Val v = placedDefault(call, i);
    if (v.poison() || !bindParam(call, i, v, s.params[i].otherwise->span)) return false;
  }
  for (const ast::Generic& x : s.generics) {
    if (!x.otherwise || call.generics.bound.count(x.name.text)) continue;
    if (auto v = types_.typeArgument(*x.otherwise, call.generics)) call.generics.bound[x.name.text] = *v;
  }
  return true;
}

bool Functions::devicesKnown(const BoundCall& call, Span span) {
  const ast::Stmt& s = *call.decl.stmt;
  for (const ast::Generic& x : s.generics) {
    if (x.kind != ast::Generic::Kind::Device || call.generics.bound.count(x.name.text)) continue;
    context_
        .error(Code::E0204, span,
               "`" + x.name.text + "` of `" + s.name.text + "` cannot be inferred: no parameter is on it")
        .note(x.name.span, "declared here")
        .help("take the device as an argument: `fn " + s.name.text + "(..., d: device)`, with `.to(d)` and `@d`");
    return false;
  }
  return true;
}

bool Functions::sizesKnown(BoundCall& call, Span span) {
  const ast::Stmt& s = *call.decl.stmt;
  Generics& g = call.generics;
  if (!dimSolver_.finishPending(g, {"a call of `" + s.name.text + "`", span, s.name.span, false})) return false;
  if (!s.type) return true;
  for (size_t i = 0; i < call.values.size(); ++i) {
    const std::string& name = s.params[i].name.text;
    const Val& v = call.values[i];
    if (!call.matched[i] || !v.is(Kind::Tensor) || !v.tensor->type.shape.empty()) continue;
    if (!ir::isInt(v.tensor->type.dtype) || g.bound.count(name) || !mentions(*s.type, name, false)) continue;
    Val given = v;
    given.span = call.matched[i]->span;
    auto d = context_.error(
        Code::E0111, given.span,
        "`" + name + "` of `" + s.name.text + "` is a size of its result: it must be known at compile time");
    explainKnown(context_, d, given);
    return false;
  }
  return hasOpenResult(*call.decl.unit->resolution, s) || resultDimsBound(*s.type, g, false);
}

bool Functions::materialise(BoundCall& call, size_t i, Span span) {
  const ast::Stmt& s = *call.decl.stmt;
  const ast::FnParam& p = s.params[i];
  Val& v = call.values[i];
  if (p.isStatic) {
    if (v.is(Kind::Tensor) || v.is(Kind::Format)) {
      Val given = v;
      given.span = call.matched[i] ? call.matched[i]->span : span;
      auto d =
          context_.error(Code::E0111, given.span,
                         "`" + p.name.text + "` of `" + s.name.text + "` is static: it must be known at compile time");
      explainKnown(context_, d, given);
      return false;
    }
    if (v.is(Kind::Int)) v.adopts = true;  // as a dim or a param
    return true;
  }
  const bool isStatic = paramIsStatic(call.decl, p);
  if (v.is(Kind::Int) && (v.adopts || isStatic)) {
    const bool isDim = p.type && p.type->path.size() == 1 && call.generics.bound.count(p.type->path[0].text);
    if (isDim || isStatic) {
      v.adopts = true;
      return true;
    }
  }
  Ty hint;
  if (p.type && !v.is(Kind::Function)) hint = types_.resolve(*p.type, call.generics);
  v = tensors_.materialise(v, &hint);
  return !v.poison();
}

Val Functions::callDecl(const FnDecl& decl, CallArgs& args) {
  named_.insert(&decl);
  BoundCall call{decl, {}, {}, {}};
  if (!matchArguments(decl, args, call.matched)) return context_.lost();
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return a.value;
  }
  call.generics = genericsOf(decl);
  call.values.resize(decl.stmt->params.size());
  if (!bindGiven(call) || !bindDefaults(call) || !devicesKnown(call, args.span) || !sizesKnown(call, args.span))
    return context_.lost();
  std::vector<Span> written;
  for (size_t i = 0; i < call.values.size(); ++i) {
    if (!materialise(call, i, args.span)) return context_.lost();
    written.push_back(call.matched[i] ? call.matched[i]->written() : Span{});
  }
  called_.insert(&decl);
  return instances_.instantiate(decl, call.values, call.generics, args.span, written);
}

}  // namespace tenc::frontend
