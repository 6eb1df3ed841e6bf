// Lambdas are lowered where they are called.
#include "frontend/calls/Lambdas.h"

#include <string>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Arguments.h"
#include "frontend/control/Bindings.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Statements.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;

std::string nameOf(const ast::LambdaParam& p, const std::string& path) {
  if (p.pattern.isTuple) return path.empty() ? "the lambda's argument" : "part `" + path + "` of the lambda's argument";
  return "parameter `" + p.pattern.name.text + path + "` of the lambda";
}
}  // namespace

Val Lambdas::callLambda(const FnValue& f, CallArgs& args) {
  const ast::Expr& e = *f.lambda;
  for (const CallArg& a : args.args) {
    if (a.value.poison()) return a.value;
    if (!a.name.empty()) return context_.fail(Code::E0204, a.span, "a lambda takes its arguments by position");
  }
  if (args.args.size() != e.params.size()) {
    return context_.fail(Code::E0204, args.span,
                         "the lambda takes " + std::to_string(e.params.size()) +
                             (e.params.size() == 1 ? " argument, but " : " arguments, but ") +
                             std::to_string(args.args.size()) + (args.args.size() == 1 ? " is given" : " are given"));
  }
  Frame own(f.unit);
  own.call = args.span;
  const FrameScope inside(context_.frames, own);
  // Captures are where they are where the lambda is written: annotations around its call do not touch them.
  const bool elsewhere = placing_.annotationAround() != f.writtenIn;
  auto capture = f.captures.begin();
  for (const Declaration* d : f.unit->resolution->captured(e.span)) {
    if (capture == f.captures.end()) break;
    if (capture->first != d->name) continue;  // had no value where the lambda is written
    const Val& value = capture++->second;
    scopes_.bind(*d, elsewhere ? placing_.keepPlace(value) : value);
  }
  const BlockScope parameters(context_.frame());
  bool ok = true;
  for (size_t i = 0; i < e.params.size(); ++i) {
    Val v = args.args[i].value;
    if (const ast::TypePtr& type = e.params[i].type) {
      Generics g;
      g.unit = f.unit;
      g.locals = true;
      const Target who{"the lambda's argument", args.args[i].span, type->span, false};
      v = unifier_.unify(*type, v, g, who);
      if (v.poison() || !dimSolver_.finishPending(g, who)) ok = false;
      scopes_.bindDims(type->span, g);
      const auto what = [&](const std::string& path) { return nameOf(e.params[i], path); };
      if (ok) v = placing_.checkPins(v, pinsOf(types_.resolve(*type, g)), what, args.args[i].span);
    }
    bindings_.bindPattern(e.params[i].pattern, v.is(Kind::Array) ? tensors_.settle(v) : v, false, nullptr);
  }
  Boundary body;
  const Scoped exits(context_.body.boundary, &body);
  Val result;
  if (ok && e.body) {
    if (e.body->kind == ExprKind::Block && e.body->annotations.empty()) {
      result = statements_.lowerBlock(e.body->blocks[0], nullptr, args.expected).value;
    } else {
      result = expressions_.eval(*e.body, args.expected);
    }
  }
  context_.at(args.span);
  return result;
}

}  // namespace tenc::frontend
