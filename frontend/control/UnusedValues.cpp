#include "frontend/control/UnusedValues.h"

#include <algorithm>

#include "frontend/Context.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/values/Trees.h"

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
  if (e.kind == ExprKind::Error || value.poison() || value.is(Val::Kind::Unit)) return;
  const bool call = e.kind == ExprKind::Call || (e.kind == ExprKind::Binary && e.text == "|>");
  if (call) {
    if (context_.body.training) return;  // a layer that is trained keeps its new state
    for (auto op = before.region->ops.rbegin(); op != before.region->ops.rend() && op->get() != before.last; ++op)
      if (doesMore(**op)) return;
  }
  auto d = context_.error(
      Code::E0106, e.span,
      call ? "the result of this call is not used, and the call does nothing else" : "this value is not used");
  if (const ast::Expr* x = call ? changed(e, value) : nullptr)
    d.help("values do not change in place: assign the result",
           {{Span{e.span.file, e.span.begin, e.span.begin}, x->text + " = "}});
  else
    d.help("bind it with `let`, give it to `print`, or discard it with `let _ =`");
}

const ast::Expr* UnusedValues::changed(const ast::Expr& call, const Val& value) const {
  if (call.kind != ExprKind::Call || call.args[0]->kind != ExprKind::Member) return nullptr;
  const ast::Expr* receiver = call.args[0]->args[0].get();
  if (receiver->kind != ExprKind::Name) return nullptr;
  const Binding* own = scopes_.find(receiver->span);
  return own && own->isVar && sameTypes(own->value, value) ? receiver : nullptr;
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
