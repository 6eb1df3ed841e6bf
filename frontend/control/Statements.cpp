// Statements: bindings, assignments as functional updates, assertions, and the choice of what lowers the others.
#include "frontend/Lowering.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;
using StmtKind = ast::Stmt::Kind;
using ExprKind = ast::Expr::Kind;

/// A literal as the number type that is expected of it.
Val adopted(Val v, const Ty* expected) {
  const bool tuple = expected && expected->kind == Ty::Kind::Tuple && v.is(Val::Kind::Tuple);
  const bool list = expected && expected->kind == Ty::Kind::List && v.is(Val::Kind::Array);
  for (size_t i = 0; (tuple || list) && i < v.elems.size(); ++i) {
    const size_t which = list ? 0 : i;
    if (which < expected->elems.size()) v.elems[i] = adopted(std::move(v.elems[i]), &expected->elems[which]);
  }
  if (!v.isNumber() || !v.adopts || !expected || !expected->isTensor() || !expected->dtype) return v;
  const ir::DType t = *expected->dtype;
  if (ir::isFloat(t)) v = Val::ofFloat(v.is(Val::Kind::Int) ? static_cast<double>(v.integer) : v.real, v.span);
  if (ir::isFloat(t) || (ir::isInt(t) && v.is(Val::Kind::Int))) v.dtype = t;
  v.dim = false;
  return v;
}
}  // namespace

Lowering::Flow Lowering::lowerStatement(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected) {
  auto plain = [&](const Tail& t) { return lowerPlain(s, last, t, expected); };
  // Annotations of declarations belong to them: `@gpu fn`.
  if (s.annotations.empty() || s.kind <= StmtKind::Bench) return plain(tail);
  std::set<std::string> assigned;
  assignedNames(s, assigned);
  return lowerPlaced(s.annotations, 0, assigned, tail, plain);
}

Lowering::Flow Lowering::lowerPlain(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected) {
  Flow f;
  f.value = Val::unit(s.span);
  at(s.span);
  const bool isBlock = s.kind == StmtKind::Expr && (s.value->kind == ExprKind::If || s.value->kind == ExprKind::Block);
  if (!isBlock && boundary_->kind != Boundary::Kind::Expression) {
    auto done = [this](const ast::Expr& e) { return evaluated_.count(&e) > 0; };
    for (const ast::ExprPtr* e : {&s.value, &s.message}) {
      std::vector<const ast::Expr*> before;
      if (e == &s.message && s.value) before.push_back(s.value.get());
      if (!*e) continue;
      if (const ast::Expr* part = firstExit(**e, done, before)) {
        return lowerAround(s, *part, before, last, tail, expected);
      }
    }
  }
  switch (s.kind) {
    case StmtKind::Let:
    case StmtKind::Var: lowerLet(s); return f;
    case StmtKind::Assign: lowerAssign(s); return f;
    case StmtKind::For: return lowerFor(s);
    case StmtKind::While: return lowerWhile(s);
    case StmtKind::Break:
    case StmtKind::Continue:
      return leave(s.kind == StmtKind::Break ? Exit::Break : Exit::Continue, Val::unit(s.span), s.span);
    case StmtKind::Return: {
      const Ty* wanted = frame().result;
      Val v = s.value ? settle(adopted(eval(*s.value, wanted), wanted), wanted) : Val::unit(s.span);
      return leave(Exit::Return, std::move(v), s.span);
    }
    case StmtKind::Assert:
      // What a function asks of its dims is not so: the rest of it would say that again in other words.
      if (!lowerAssert(s) && boundary_->kind == Boundary::Kind::Function)
        return leave(Exit::Return, Val::none(), s.span);
      return f;
    case StmtKind::Expr: {
      const ast::Expr& e = *s.value;
      if (e.kind == ExprKind::If) return lowerIf(e, 0, tail, expected);
      if (e.kind == ExprKind::Block) {
        auto block = [&](const Tail& t) { return lowerBlock(e.blocks[0], &t, expected); };
        std::set<std::string> assigned;
        assignedNames(e.blocks[0], assigned);
        return lowerPlaced(e.annotations, 0, assigned, tail, block);
      }
      f.value = eval(e, expected);
      if (tail.wanted) {
        f.value = adopted(std::move(f.value), expected);
        // A literal in a branch adopts the dtype that the other one gives (agree).
        const auto adopting = [&](const Val& v) { return v.isNumber() && boundary_->kind == Boundary::Kind::Region; };
        if (f.value.is(Val::Kind::Tuple) && !expected) {
          for (Val& part : f.value.elems)
            if (!adopting(part)) part = settle(std::move(part));
        } else if (!adopting(f.value)) {
          f.value = settle(std::move(f.value), expected);
        }
      }
      const bool call = e.kind == ExprKind::Call || (e.kind == ExprKind::Binary && e.text == "|>");
      if (!last && !call && e.kind != ExprKind::Error && !f.value.poison()) {
        error(Code::E0106, e.span, "this value is not used")
            .help("bind it with `let`, give it to `print`, or discard it with `let _ =`");
      }
      return f;
    }
    default: return f;  // declarations were collected before
  }
}

Lowering::Flow Lowering::lowerAround(const ast::Stmt& s, const ast::Expr& part,
                                     const std::vector<const ast::Expr*>& before, bool last, const Tail& tail,
                                     const Ty* expected) {
  static const Statements kNothing;
  std::map<const ast::Expr*, Val> known = evaluated_;
  for (const ast::Expr* e : before) {
    if (!known.count(e)) known[e] = evaluated_[e] = eval(*e);
  }
  evaluated_.clear();
  const std::function<Flow(const Val&, const Tail&)> then = [&](const Val& value, const Tail& after) {
    evaluated_ = known;
    evaluated_[&part] = value;
    Flow f = lowerPlain(s, last, after, expected);
    evaluated_.clear();
    return f;
  };
  const Tail bind{&kNothing, 0, &tail, frame().scopes.size(), true, &then};
  Ty type;
  const Ty* partType = nullptr;
  if (s.type && s.value.get() == &part && (s.kind == StmtKind::Let || s.kind == StmtKind::Var)) {
    Generics g;
    g.unit = frame().unit;
    g.locals = true;
    type = resolve(*s.type, g);
    partType = &type;
  }
  Flow f;
  if (part.kind == ExprKind::If) {
    f = lowerIf(part, 0, bind, partType);
  } else {
    auto block = [&](const Tail& t) { return lowerBlock(part.blocks[0], &t, partType); };
    std::set<std::string> assigned;
    assignedNames(part.blocks[0], assigned);
    f = lowerPlaced(part.annotations, 0, assigned, bind, block);
  }
  if (f.done || f.exit != Exit::Falls) return f;
  if (f.mixed) return resume(f, bind, expected);
  return then(f.value, tail);
}

void Lowering::lowerLet(const ast::Stmt& s) {
  std::shared_ptr<Ty> expected;
  if (s.type) {
    Generics g;
    g.unit = frame().unit;
    g.locals = true;
    expected = std::make_shared<Ty>(resolve(*s.type, g));
  }
  Val value = s.value ? eval(*s.value, expected.get()) : Val::none();
  if (value.is(Val::Kind::Unit)) value = fail(Code::E0203, s.value->span, "this gives no value that could be bound");
  bindLet(s, std::move(value));
}

void Lowering::bindLet(const ast::Stmt& s, Val value) {
  std::shared_ptr<const Ty> declared;
  if (value.is(Val::Kind::Unit)) value = fail(Code::E0203, s.span, "this gives no value that could be bound");
  value = declaredValue(s, std::move(value), &declared);
  const bool isVar = s.kind == StmtKind::Var;
  at(s.span);
  const Val written = value;
  value = isVar ? materialise(value, declared.get()) : settle(std::move(value), declared.get());
  // A dim stays one, also among several that are bound at once.
  const std::function<void(Val&, const Val&)> keepDims = [&](Val& v, const Val& w) {
    if (v.is(Val::Kind::Int) && w.is(Val::Kind::Int)) v.adopts = v.dim = w.adopts && w.dim;
    const bool parts = s.pattern.isTuple && v.is(Val::Kind::Tuple) && w.is(Val::Kind::Tuple);
    for (size_t i = 0; parts && i < v.elems.size(); ++i) keepDims(v.elems[i], w.elems[i]);
  };
  keepDims(value, written);
  bindPattern(s.pattern, std::move(value), isVar, declared);
  if (isVar && !s.pattern.isTuple && s.value)
    if (Binding* made = findLocal(s.pattern.name.text)) made->start = s.value->span;
}

Val Lowering::declaredValue(const ast::Stmt& s, Val value, std::shared_ptr<const Ty>* declared) {
  if (!s.type) return value;
  Generics g;
  g.unit = frame().unit;
  g.locals = true;
  const std::string what = s.pattern.isTuple ? "the tuple" : "`" + s.pattern.name.text + "`";
  const Target who{what, s.value ? s.value->span : s.span, s.type->span, true};
  value = unify(*s.type, value, g, who);
  if (!value.poison() && !finishPending(g, who)) value = Val::none();
  Ty type = resolve(*s.type, g);
  // Dims that were bound are compile-time integers from here on.
  for (auto& [name, bound] : g.bound) {
    declare({name, g.origin.count(name) ? g.origin[name] : s.type->span}, bound, false);
  }
  if (value.poison()) poisonDims(*s.type);
  if (!value.poison()) value = moveToPlaces(value, type, s.type->span);
  *declared = std::make_shared<Ty>(std::move(type));
  return value;
}

void Lowering::poisonDims(const ast::TypeExpr& t) {
  for (const ast::TypePtr& arg : t.args) {
    const bool isName = arg->path.size() == 1 && arg->args.empty();
    if (isName && !nameExists(arg->path[0].text)) declare(arg->path[0], Val::none(), false);
    poisonDims(*arg);
  }
}

void Lowering::bindPattern(const ast::Pattern& p, Val value, bool isVar, std::shared_ptr<const Ty> declared) {
  if (!p.isTuple) {
    if (p.name.text == "_") return;
    declare(p.name, std::move(value), isVar, std::move(declared));
    return;
  }
  if (value.is(Val::Kind::Array)) value = settle(std::move(value));
  const bool splits = value.is(Val::Kind::Tuple) || value.is(Val::Kind::List) || value.is(Val::Kind::Pack);
  if (!value.poison() && (!splits || value.elems.size() != p.elements.size())) {
    value = fail(Code::E0203, p.span,
                 "a pattern of " + std::to_string(p.elements.size()) + " names does not take " + describe(value));
  }
  for (size_t i = 0; i < p.elements.size(); ++i) {
    bindPattern(p.elements[i], value.poison() ? Val::none() : value.elems[i], isVar, nullptr);
  }
}

void Lowering::lowerAssign(const ast::Stmt& s) {
  if (!s.target || !s.value) return;
  Ty hint;
  bool hinted = false;
  const ast::Expr* whole = s.target.get();
  while (whole->kind == ExprKind::Index) whole = whole->args[0].get();
  if (whole->kind == ExprKind::Name) {
    if (Binding* binding = findLocal(whole->text); binding && !binding->value.poison()) {
      hint = typeOf(binding->value);
      // A shape that differs is reported against the variable, not against what makes the value.
      if (hint.isTensor()) hint.dims = std::nullopt;
      hinted = whole == s.target.get() || hint.isTensor();
    }
  }
  Val value = eval(*s.value, hinted ? &hint : nullptr);
  if (value.is(Val::Kind::Unit)) value = fail(Code::E0203, s.value->span, "this gives no value that could be assigned");
  assignTo(*s.target, value, s.op, s);
}

Span Lowering::keywordBefore(Span at, std::string_view keyword) {
  const std::string_view text = sources.file(at.file).text().substr(0, at.begin);
  const size_t last = text.find_last_not_of(" \t");
  if (last == std::string_view::npos || !text.substr(0, last + 1).ends_with(keyword)) return {};
  const size_t begin = last + 1 - keyword.size();
  return {at.file, static_cast<uint32_t>(begin), static_cast<uint32_t>(last + 1)};
}

void Lowering::assignTo(const ast::Expr& target, const Val& value, std::string_view op, const ast::Stmt& s) {
  if (target.kind == ExprKind::Tuple) {
    Val v = settle(value);
    const bool splits = v.is(Val::Kind::Tuple) || v.is(Val::Kind::List);
    if (!v.poison() && (op != "=" || !splits || v.elems.size() != target.args.size())) {
      v = fail(Code::E0203, s.span,
               "a tuple of " + std::to_string(target.args.size()) + " variables does not take " + describe(v));
    }
    for (size_t i = 0; i < target.args.size(); ++i) {
      const ast::Expr& part = *target.args[i];
      if (part.kind == ExprKind::Name && part.text == "_") continue;
      assignTo(part, v.poison() ? Val::none() : v.elems[i], op, s);
    }
    return;
  }
  const ast::Expr* root = rootOf(target);
  if (!root) {
    // The parser has reported what is no place at all.
    if (diags.ok()) fail(Code::E0107, target.span, "only variables, their fields and their elements can be assigned");
    return;
  }
  if (root->text == "_") return;
  Binding* binding = findLocal(root->text);
  if (!binding) {
    auto global = lookupGlobal(*frame().unit, root->text, root->span);
    if (!global) {
      unknownName(root->text, root->span, root == &target && op == "=");
    } else {
      fail(Code::E0107, root->span, "`" + root->text + "` cannot be assigned: it is no `var`");
    }
    return;
  }
  if (!binding->isVar) {
    auto d = error(Code::E0107, target.span, "`" + root->text + "` cannot be assigned: it is no `var`");
    if (binding->span.valid()) {
      d.note(binding->span, "`" + root->text + "` is bound here");
      const Span let = keywordBefore(binding->span, "let");
      if (let.valid())
        d.help("what is assigned again is bound with `var`", {{let, "var"}});
      else
        d.help("bind a variable that starts with it: `var " + root->text + " = " + root->text + "`");
    } else {
      d.note("a lambda sees the names around it, and assigns to none");
    }
    return;
  }
  if (binding->value.poison()) return;
  Val next = value.poison() ? Val::none() : updated(binding->value, target, *root, value, op, s);
  if (next.poison()) return;  // keeps its old value: one error is enough
  setVar(*binding, root->text, std::move(next), s.span, op == "=" ? value.span : Span{});
}

Val Lowering::updated(const Val& old, const ast::Expr& target, const ast::Expr& root, const Val& value,
                      std::string_view op, const ast::Stmt& s) {
  // Accessors from the root outwards.
  std::vector<const ast::Expr*> path;
  for (const ast::Expr* e = &target; e != &root; e = e->args[0].get()) path.insert(path.begin(), e);
  std::function<Val(const Val&, size_t)> apply = [&](const Val& now, size_t k) -> Val {
    if (now.poison()) return Val::none();
    if (k == path.size()) {
      if (op == "=") {
        if (path.empty()) return value;
        return fit(typeOf(now), value,
                   {"`" + std::string(sources.text(target.span)) + "`", s.value->span, target.span, true});
      }
      Val left = now;
      left.span = target.span;
      const Binding* var = findLocal(root.text);
      if (changesDType(left, value, op, s.opSpan, path.empty() && var ? var->span : Span{})) return Val::none();
      return binary(op.substr(0, op.size() - 1), left, value, s.span, s.opSpan);
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
        return fail(Code::E0206, access.opSpan, describe(now) + " has no field `" + access.text + "`");
      }
      Val r = now;
      r.elems[index] = apply(now.elems[index], k + 1);
      return r.elems[index].poison() ? Val::none() : r;
    }
    if (now.is(Val::Kind::List) || now.is(Val::Kind::Tuple)) {
      auto index = listIndex(now, access);
      if (!index) return Val::none();
      Val r = now;
      r.elems[*index] = apply(now.elems[*index], k + 1);
      return r.elems[*index].poison() ? Val::none() : r;
    }
    if (!now.is(Val::Kind::Tensor)) return fail(Code::E0203, access.span, describe(now) + " has no elements to assign");
    if (k + 1 == path.size()) return assignIndex(*this, now, access, value, op, s.span);
    Val inner = apply(indexExpr(*this, now, access), k + 1);
    return inner.poison() ? Val::none() : assignIndex(*this, now, access, inner, "=", s.span);
  };
  return apply(old, 0);
}

void Lowering::setVar(Binding& binding, const std::string& name, Val value, Span span, Span written) {
  const Val old = binding.value;
  bool mayChange = staticLoops_ > 0 && binding.regionDepth == regionDepth_;
  if (mayChange) {
    Ty like = typeOf(old);
    value = materialise(value, &like);
    // A written dtype stays.
    const bool tensors = old.is(Val::Kind::Tensor) && value.is(Val::Kind::Tensor);
    mayChange = !binding.declared || (tensors && old.tensor->type.dtype == value.tensor->type.dtype);
  }
  if (!mayChange) {
    assigningIn_ = regionDepth_ > binding.regionDepth;
    value = fit(typeOf(old), value, {"`" + name + "`", span, binding.span, true});
    assigningIn_ = false;
  }
  if (value.poison()) return;
  at(span, {{written, ""}, {binding.start, ""}});
  binding.value = placedAs(value, old, name);
}

Val Lowering::placedAs(const Val& value, const Val& old, const std::string& name) {
  std::vector<ir::Value*> now, before;
  leavesOf(value, now);
  leavesOf(old, before);
  for (size_t i = 0; i < now.size() && now.size() == before.size(); ++i) {
    if (now[i] == before[i] || now[i]->type.shape != before[i]->type.shape) continue;
    now[i] = b().value(OpKind::SamePlace, {now[i], before[i]}, {{"what", name}});
    now[i]->name = name;
  }
  return rebuild(value, now);
}

bool Lowering::lowerAssert(const ast::Stmt& s) {
  if (!s.value) return true;
  Val condition = eval(*s.value);
  Val message = s.message ? eval(*s.message) : Val::ofString("");
  if (condition.poison() || message.poison()) return true;
  if (condition.is(Val::Kind::Tuple) && condition.elems.size() == 2 && !s.message) {
    const Span whole = s.value->span;
    std::string inner(sources.text(whole));
    auto d = error(Code::E0203, whole, "`assert` takes a condition, not " + describe(condition));
    if (inner.starts_with("(") && inner.ends_with(")"))
      d.help("condition and message stand without parentheses", {{whole, " " + inner.substr(1, inner.size() - 2)}});
    return true;
  }
  if (!message.is(Val::Kind::String) && !message.is(Val::Kind::Format)) {
    fail(Code::E0203, s.message->span, "the message of `assert` is a string, not " + describe(message));
    return true;
  }
  if (condition.is(Val::Kind::Bool)) {
    if (condition.boolean) return true;
    const std::string text = message.is(Val::Kind::String) ? message.text : "";
    // A condition over the dims of a function is a part of its signature. Elsewhere it is the run that stops, behind
    // what the script did before; and in a branch that may not be taken the run decides.
    const bool signature = frame().fn && s.value->kind != ast::Expr::Kind::Bool;
    if (signature && regionDepth_ == 0 && outerRegions_ == 0) {
      error(Code::E0212, s.value->span, "assertion failed" + (text.empty() ? "" : ": " + text));
      return false;
    }
  }
  ir::Value* c = tensorOf(condition);
  if (!c) return true;
  if (c->type.dtype != ir::DType::Bool) {
    fail(Code::E0203, s.value->span, "`assert` takes bools, not " + describe(condition));
    return true;
  }
  at(s.value->span);
  if (!c->type.shape.empty()) {
    ir::Dims axes;
    for (int64_t i = 0; i < c->type.rank(); ++i) axes.push_back(i);
    c = b().value(OpKind::All, {c}, {{"axes", axes}});
  }
  FormatParts parts = formatParts(*this, {message}, s.span);
  if (!parts.ok) return true;
  std::vector<ir::Value*> operands = {c};
  operands.insert(operands.end(), parts.operands.begin(), parts.operands.end());
  std::vector<ir::OperandText> written = {{s.value->span, ""}};
  written.insert(written.end(), parts.written.begin(), parts.written.end());
  at(s.value->span, std::move(written));
  b().makeTyped(OpKind::Assert, operands, {}, {{"pieces", parts.pieces}, {"formats", parts.formats}});
  return true;
}

}  // namespace tenc::frontend
