#include "frontend/control/UnusedValues.h"

#include <algorithm>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Trees.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using ir::OpKind;
}  // namespace

UnusedValues::Place UnusedValues::here() const {
  const ir::Region* region = context_.b().region();
  return {region, region->ops.empty() ? nullptr : region->ops.back().get()};
}

void UnusedValues::check(const ast::Expr& e, const Val& value, const Place& before) {
  if (e.kind == ExprKind::Error || value.poison()) return;
  const bool call = e.kind == ExprKind::Call || (e.kind == ExprKind::Binary && e.text == "|>");
  const std::string function = value.is(Val::Kind::Unit) && context_.diags.ok() ? assigningFunction(e) : "";
  if (value.is(Val::Kind::Unit) && function.empty()) return;
  if (call) {
    if (context_.body.training) return;  // a layer that is trained keeps its new state
    for (auto op = before.region->ops.rbegin(); op != before.region->ops.rend() && op->get() != before.last; ++op)
      if (doesMore(**op)) return;
  }
  if (!function.empty()) {
    const std::string written(context_.sources.text(e.span));
    context_.warning(Code::W0105, e.span, "this call changes nothing: what `" + function + "` assigns is its own")
        .help("arguments are values: let `" + function + "` give the new value back, and assign it: `x = " + written +
              "`");
    return;
  }
  auto d = context_.error(
      Code::E0106, e.span,
      call ? "the result of this call is not used, and the call does nothing else" : "this value is not used");
  if (const std::string target = call ? changed(e, value) : ""; !target.empty())
    d.help("values do not change in place: assign the result",
           {{Span{e.span.file, e.span.begin, e.span.begin}, target + " = "}});
  else if (const Binding* object = call ? changedObject(e, value) : nullptr)
    d.help(
        "values do not change in place: assign the result, to a `var`",
        {{object->keyword, "var"}, {Span{e.span.file, e.span.begin, e.span.begin}, e.args[0]->args[0]->text + " = "}});
  else if (const std::string shared = call ? sharedObject(e, value) : ""; !shared.empty())
    d.help(shared);
  else
    d.help("bind it with `let`, give it to `print`, or discard it with `let _ =`");
}

std::string UnusedValues::assigningFunction(const ast::Expr& e) const {
  if (e.kind != ExprKind::Call) return "";
  const ast::Expr& callee = *e.args[0];
  if (callee.kind != ExprKind::Name && callee.kind != ExprKind::Member) return "";
  if (callee.kind == ExprKind::Name && scopes_.find(callee.span)) return "";  // a lambda of that name
  const auto& functions = context_.frame().unit->functions;
  const auto found = functions.find(callee.text);
  if (found == functions.end()) return "";
  bool assigns = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { assigns |= s.kind == ast::Stmt::Kind::Assign; };
  for (const FnDecl& decl : found->second)
    if (!decl.stmt->bodyIsExpr) visitor.visit(decl.stmt->body);
  return assigns ? callee.text : "";
}

std::string UnusedValues::changed(const ast::Expr& call, const Val& value) const {
  if (call.kind != ExprKind::Call) return "";
  const auto isOf = [&](const ast::Expr& x, const Val& v) {
    const Binding* own = x.kind == ExprKind::Name ? scopes_.find(x.span) : nullptr;
    return own && own->isVar && sameTypes(own->value, v);
  };
  if (call.args[0]->kind == ExprKind::Member && isOf(*call.args[0]->args[0], value)) {
    const std::string& name = call.args[0]->args[0]->text;
    const ast::File* file = context_.frame().unit->file;
    const Libraries libraries = file ? librariesOf(*file) : Libraries();
    // Where `y = x` is another name; objects are of Python also once their class is a struct.
    const bool shares = value.is(Val::Kind::Struct) || libraries.numpy || libraries.torch;
    return file && shares && aliasRead(*file, name, call.span, /*variablesShare=*/true) ? "" : name;
  }
  if (!value.is(Val::Kind::Tuple) || value.elems.empty()) return "";
  // `optim.step(state, m, g)` gives a new m and a new state.
  std::string names;
  std::vector<const ast::Expr*> taken;
  for (const Val& part : value.elems) {
    const auto found = std::ranges::find_if(call.arguments, [&](const ast::Argument& a) {
      return a.value && isOf(*a.value, part) && std::ranges::find(taken, a.value.get()) == taken.end();
    });
    if (found == call.arguments.end()) return "";
    taken.push_back(found->value.get());
    names += (names.empty() ? "" : ", ") + found->value->text;
  }
  return "(" + names + ")";
}

const Binding* UnusedValues::receiver(const ast::Expr& call, const Val& value) const {
  const bool method = call.kind == ExprKind::Call && call.args[0]->kind == ExprKind::Member;
  const ast::Expr* of = method ? call.args[0]->args[0].get() : nullptr;
  const Binding* own = of && of->kind == ExprKind::Name ? scopes_.find(of->span) : nullptr;
  return own && sameTypes(own->value, value) ? own : nullptr;
}

std::string UnusedValues::sharedObject(const ast::Expr& call, const Val& value) const {
  const Binding* own = receiver(call, value);
  const ast::File* file = context_.frame().unit->file;
  if (!own || !file || !holdsArray(own->value)) return "";
  const std::string& name = call.args[0]->args[0]->text;
  const auto other = aliasRead(*file, name, call.span, /*variablesShare=*/true);
  return other ? aliasHelp(name, *other) : "";
}

const Binding* UnusedValues::changedObject(const ast::Expr& call, const Val& value) const {
  const Binding* own = receiver(call, value);
  if (!own || !own->keyword.valid() || !sharedObject(call, value).empty()) return nullptr;
  const bool changes =
      value.is(Val::Kind::Struct) || (value.is(Val::Kind::Tensor) && syntax::isInPlaceElsewhere(call.args[0]->text));
  return changes ? own : nullptr;
}

bool UnusedValues::doesMore(const ir::Region& region) {
  return std::any_of(region.ops.begin(), region.ops.end(), [this](const auto& op) { return doesMore(*op); });
}

/// Effects, and draws of random numbers, which change the later ones.
bool UnusedValues::doesMore(const ir::Op& op) {
  if (op.has(ir::Trait::HasSideEffect) || op.has(ir::Trait::Random)) return true;
  if (op.kind == OpKind::Call) {
    const ir::Func* callee = context_.module.find(op.stringAttr("callee"));
    if (!callee) return true;
    const auto known = functions_.find(callee);
    if (known != functions_.end()) return known->second;
    const bool more = doesMore(*callee->body);
    return functions_[callee] = more;
  }
  return std::any_of(op.regions.begin(), op.regions.end(), [this](const auto& r) { return doesMore(*r); });
}

}  // namespace tenc::frontend
