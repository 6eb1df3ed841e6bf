// Assignments as functional updates of variables.
#include "frontend/control/Assignments.h"

#include <cctype>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Indexing.h"
#include "frontend/expressions/Operands.h"
#include "frontend/expressions/Operators.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Names.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/UnknownNames.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
}  // namespace

Outcome Assignments::lowerAssign(const ast::Stmt& s) {
  if (!s.target || !s.value) return Outcome::dropped(context_.lost());
  context_.noteAssignment(s);
  Ty hint;
  bool hinted = false;
  const ast::Expr* whole = s.target.get();
  while (whole->kind == ExprKind::Index) whole = whole->args[0].get();
  if (whole->kind == ExprKind::Name) {
    if (Binding* binding = scopes_.find(whole->span); binding && !binding->value.poison()) {
      hint = typeOf(binding->value);
      // A shape that differs is reported against the variable, not against what makes the value.
      if (hint.isTensor()) hint.dims = std::nullopt;
      hinted = whole == s.target.get() || hint.isTensor();
    }
  }
  Val value = expressions_.eval(*s.value, hinted ? &hint : nullptr);
  if (value.is(Val::Kind::Unit)) value = context_.fail(Code::E0203, s.value->span, "this has no value to assign");
  return assignTo(*s.target, value, s.op, s);
}

Outcome Assignments::assignTo(const ast::Expr& target, const Val& value, std::string_view op, const ast::Stmt& s) {
  if (target.kind == ExprKind::Tuple) {
    Val v = tensors_.settle(value);
    const bool splits = v.is(Val::Kind::Tuple) || v.is(Val::Kind::List);
    if (!v.poison() && (op != "=" || !splits || v.elems.size() != target.args.size())) {
      v = context_.fail(Code::E0203, s.span,
                        "a tuple of " + std::to_string(target.args.size()) + " variables does not take " + describe(v));
    }
    Outcome all = Outcome::lowered();
    for (size_t i = 0; i < target.args.size(); ++i) {
      const ast::Expr& part = *target.args[i];
      if (part.kind == ExprKind::Name && part.text == "_") continue;
      const Outcome one = assignTo(part, v.poison() ? context_.lost() : v.elems[i], op, s);
      if (one.isDropped()) all = one;
    }
    return all;
  }
  const ast::Expr* root = rootOf(target);
  if (!root) {
    // The parser has reported what is no place at all.
    if (!context_.diags.ok()) return Outcome::dropped(context_.lost());
    return context_.error(Code::E0107, target.span, "only variables, their fields and their elements can be assigned");
  }
  if (root->text == "_") return Outcome::lowered();
  Binding* binding = scopes_.find(root->span);
  if (!binding) {
    auto global = names_.lookup(root->span);
    if (!global)
      return Outcome::dropped(unknownNames_.unknownName(root->text, root->span, root == &target && op == "="));
    if (global->poison()) return Outcome::dropped(*global);  // what a statement with an error would have declared
    return context_.error(Code::E0107, root->span, "`" + root->text + "` cannot be assigned: it is not a `var`");
  }
  if (!binding->isVar) {
    auto d = context_.error(Code::E0107, target.span, "`" + root->text + "` cannot be assigned: it is not a `var`");
    if (binding->span.valid()) {
      d.note(binding->span, "`" + root->text + "` is bound here");
      if (binding->keyword.valid())
        d.help("a name that is assigned again is bound with `var`", {{binding->keyword, "var"}});
      else
        d.help("bind a variable that starts with it: `var " + root->text + " = " + root->text + "`");
    } else {
      d.note("a lambda can read the names around it, but not assign to them");
    }
    return d;
  }
  if (binding->value.poison()) return Outcome::dropped(binding->value);
  Val next = value.poison() ? context_.lost() : updated(binding->value, target, *root, value, op, s);
  if (next.poison()) return Outcome::dropped(next);  // keeps its old value: one error is enough
  setVar(*binding, root->text, std::move(next), s.span, op == "=" ? value.span : Span{});
  return Outcome::lowered();
}

Val Assignments::updated(const Val& old, const ast::Expr& target, const ast::Expr& root, const Val& value,
                         std::string_view op, const ast::Stmt& s) {
  // Accessors from the root outwards.
  std::vector<const ast::Expr*> path;
  for (const ast::Expr* e = &target; e != &root; e = e->args[0].get()) path.insert(path.begin(), e);
  std::function<Val(const Val&, size_t)> apply = [&](const Val& now, size_t k) -> Val {
    if (now.poison()) return now;
    if (k == path.size()) {
      if (op == "=") {
        if (path.empty()) return value;
        return unifier_.fit(
            typeOf(now), value,
            {"`" + std::string(context_.sources.text(target.span)) + "`", s.value->span, target.span, true});
      }
      Val left = now;
      left.span = target.span;
      const Binding* var = scopes_.find(root.span);
      if (changesDType(context_, left, value, op, s.opSpan, path.empty() && var ? var->span : Span{}))
        return context_.lost();
      return operators_.binary(op.substr(0, op.size() - 1), left, value, s.span, s.opSpan);
    }
    const ast::Expr& access = *path[k];
    if (access.kind == ExprKind::Member) {
      size_t index = now.elems.size();
      if (now.is(Val::Kind::Struct)) {
        const auto& fields = now.info->decl->stmt->fields;
        for (size_t i = 0; i < fields.size(); ++i) {
          if (fields[i].name.text == access.text) index = i;
        }
      } else if (now.is(Val::Kind::Tuple) && !access.text.empty() &&
                 std::isdigit(static_cast<unsigned char>(access.text[0]))) {
        index = static_cast<size_t>(std::stoul(access.text));
      }
      if (index >= now.elems.size()) {
        return context_.fail(Code::E0206, access.opSpan, describe(now) + " has no field `" + access.text + "`");
      }
      Val r = now;
      r.elems.edit()[index] = apply(now.elems[index], k + 1);
      return r.elems[index].poison() ? context_.lost() : r;
    }
    if (now.is(Val::Kind::List) || now.is(Val::Kind::Tuple)) {
      auto index = indexing_.listIndex(now, access, {});
      if (!index) return context_.lost();
      Val r = now;
      r.elems.edit()[*index] = apply(now.elems[*index], k + 1);
      return r.elems[*index].poison() ? context_.lost() : r;
    }
    if (!now.is(Val::Kind::Tensor))
      return context_.fail(Code::E0203, access.span, describe(now) + " has no elements to assign");
    if (k + 1 == path.size()) return indexing_.assignIndex(now, access, value, op, s.span);
    Val inner = apply(indexing_.indexExpr(now, access, {}), k + 1);
    return inner.poison() ? context_.lost() : indexing_.assignIndex(now, access, inner, "=", s.span);
  };
  return apply(old, 0);
}

void Assignments::setVar(Binding& binding, const std::string& name, Val value, Span span, Span written) {
  const Val old = binding.value;
  bool mayChange = context_.body.staticLoops > 0 && binding.regionDepth == context_.body.regionDepth;
  if (mayChange) {
    Ty like = typeOf(old);
    value = tensors_.materialise(value, &like);
    // A written dtype stays.
    const bool tensors = old.is(Val::Kind::Tensor) && value.is(Val::Kind::Tensor);
    mayChange = !binding.declared || (tensors && old.tensor->type.dtype == value.tensor->type.dtype);
  }
  if (!mayChange) {
    Target who{"`" + name + "`", span, binding.span, true};
    who.inRegion = context_.body.regionDepth > binding.regionDepth;
    value = unifier_.fit(typeOf(old), value, who);
  }
  if (value.poison()) return;
  context_.at(span, {{written, ""}, {binding.start, ""}});
  binding.value = placing_.placedAs(value, old, name);
}

}  // namespace tenc::frontend
