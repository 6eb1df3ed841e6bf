// Statements in order: the choice of what lowers each, operands that may leave, assertions.
#include "frontend/control/Statements.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/control/Assignments.h"
#include "frontend/control/Bindings.h"
#include "frontend/control/Branches.h"
#include "frontend/control/Continuations.h"
#include "frontend/control/FailedBranch.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Loops.h"
#include "frontend/control/OptionWords.h"
#include "frontend/control/PlacedBlocks.h"
#include "frontend/control/UnusedValues.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/expressions/Formats.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;
using StmtKind = ast::Stmt::Kind;
using ExprKind = ast::Expr::Kind;
}  // namespace

Flow Statements::lowerBlock(const ast::Block& block, const Tail* tail, const Ty* expected) {
  const BlockScope names(context_.frame());
  return lowerFrom(block.statements, tail, expected);
}

namespace {

/// How many statements at the head of a list, up to half of those that may leave, are lowered apart; 0 for none. What
/// follows a statement that may leave becomes a part of its branches, one in the other: too many would nest too deeply.
/// What is declared must be seen by what follows, and is not lowered apart.
size_t countApart(StatementList list) {
  constexpr size_t kMostNested = 32;
  if (!list[0] || !exitsOf(*list[0]).any()) return 0;
  std::vector<size_t> ends;
  for (size_t i = 0; i + 1 < list.size() && list[i]; ++i) {
    if (list[i]->kind == StmtKind::Let || list[i]->kind == StmtKind::Var) break;
    if (exitsOf(*list[i]).any()) ends.push_back(i + 1);
  }
  return ends.size() > kMostNested ? ends[ends.size() / 2 - 1] : 0;
}
}  // namespace

Flow Statements::lowerApart(StatementList list) {
  Boundary region;
  region.kind = Boundary::Kind::Region;
  region.wantsValue = false;
  std::vector<Span> assigning;
  for (const ast::StmtPtr& s : list) assigning.push_back(s->span);
  scopes_.assignedIn(assigning, region);
  const Scoped inside(context_.body.boundary, &region);
  Flow flow = lowerFrom(list, nullptr, nullptr);
  flow.done = false;
  return flow;
}

Flow Statements::lowerFrom(StatementList list, const Tail* tail, const Ty* expected) {
  const Coverage::Visit visit(context_.coverage, list);
  Flow flow = lowerList(list, tail, expected);
  visit.end(context_);
  return flow;
}

namespace {
/// Warns of the first statement behind one that always leaves.
void warnUnreached(Context& context, StatementList list, size_t leaving) {
  const StmtKind kind = list[leaving]->kind;
  if (kind != StmtKind::Return && kind != StmtKind::Break && kind != StmtKind::Continue) return;
  const auto rest = list.subspan(leaving + 1);
  const auto next = std::ranges::find_if(rest, [](const auto& s) { return s && s->kind > StmtKind::Bench; });
  if (next == rest.end() || (*next)->kind == StmtKind::Error) return;
  context.warning(Code::W0103, (*next)->span, "this is never reached")
      .note(list[leaving]->span, "it is left here")
      .help("delete it, or move it to a place before");
}
}  // namespace

Flow Statements::lowerList(StatementList list, const Tail* tail, const Ty* expected) {
  Flow flow;
  flow.value = Val::unit();
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i]) continue;
    const ast::Stmt& s = *list[i];
    if (context_.tooDeep(s.span)) {
      flow.value = context_.lost();
      return flow;
    }
    warnUnreached(context_, list, i);
    const bool takesExits = context_.body.boundary->kind != Boundary::Kind::Expression;
    const size_t apart = takesExits ? countApart(list.subspan(i)) : 0;
    const size_t end = i + std::max<size_t>(apart, 1);
    const bool last = end == list.size();
    const bool wanted = last && (tail ? tail->wanted : context_.body.boundary->wantsValue);
    const Tail here{list.subspan(end), tail,     context_.frame().scopes.size(), wanted,
                    nullptr,           expected, context_.b().rounds()};
    flow = apart > 0 ? lowerApart(list.subspan(i, apart)) : lowerStatement(s, last, here, last ? expected : nullptr);
    i = end - 1;
    if (flow.done || flow.exit != Exit::Falls) return flow;
    if (flow.mixed) return continuations_.resume(flow, here, expected);
  }
  return flow;
}

namespace {

/// A literal as the number type that is expected of it.
Val adopted(Val v, const Ty* expected) {
  const bool tuple = expected && expected->kind == Ty::Kind::Tuple && v.is(Val::Kind::Tuple);
  const bool list = expected && expected->kind == Ty::Kind::List && v.is(Val::Kind::Array);
  for (size_t i = 0; (tuple || list) && i < v.elems.size(); ++i) {
    const size_t which = list ? 0 : i;
    if (which < expected->elems.size()) v.elems.edit()[i] = adopted(v.elems[i], &expected->elems[which]);
  }
  if (!v.isNumber() || !v.adopts || !expected || !expected->isTensor() || !expected->dtype) return v;
  const ir::DType t = *expected->dtype;
  if (ir::isFloat(t)) v = Val::ofFloat(asFloat(v, t), v.span);
  if (ir::isFloat(t) || (ir::isInt(t) && v.is(Val::Kind::Int))) v.dtype = t;
  v.dim = false;
  return v;
}
}  // namespace

Flow Statements::lowerStatement(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected) {
  auto plain = [&](const Tail& t) { return lowerPlain(s, last, t, expected); };
  // Annotations of declarations belong to them: `@gpu fn`.
  if (s.annotations.empty() || s.kind <= StmtKind::Bench) return plain(tail);
  return placedBlocks_.lowerPlaced(s.annotations, 0, s.span, tail, plain);
}

/// What a statement evaluates, in order. An assignment such as `+=` reads its target first. The message of an
/// assertion, which is evaluated where it fails, is no part: nothing in it leaves.
std::vector<const ast::Expr*> Statements::partsOf(const ast::Stmt& s) {
  std::vector<const ast::Expr*> parts, indices;
  if (s.kind == StmtKind::Assign && s.target) indicesOf(*s.target, indices);
  if (s.kind == StmtKind::Assign && s.target && s.op != "=") {
    const ast::Expr* root = rootOf(*s.target);
    const Binding* binding = root ? scopes_.find(root->span) : nullptr;
    if (binding && binding->isVar) parts.push_back(root);
    parts.insert(parts.end(), indices.begin(), indices.end());
    indices.clear();
  }
  if (s.value) parts.push_back(s.value.get());
  parts.insert(parts.end(), indices.begin(), indices.end());
  return parts;
}

Flow Statements::lowerPlain(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected) {
  Flow f;
  f.value = Val::unit(s.span);
  context_.at(s.span);
  context_.coverage.comesTo(s);
  const bool isBlock = s.kind == StmtKind::Expr && (s.value->kind == ExprKind::If || s.value->kind == ExprKind::Block);
  if (!isBlock && context_.body.boundary->kind != Boundary::Kind::Expression) {
    auto done = [this](const ast::Expr& e) {
      return context_.body.evaluated && context_.body.evaluated->count(&e) > 0;
    };
    const std::vector<const ast::Expr*> parts = partsOf(s);
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<const ast::Expr*> before(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i));
      if (const ast::Expr* part = firstExit(*parts[i], done, before))
        return lowerAround(s, *part, before, last, tail, expected);
    }
  }
  switch (s.kind) {
    case StmtKind::Let:
    case StmtKind::Var: bindings_.lowerLet(s); return f;
    case StmtKind::Assign: assignments_.lowerAssign(s); return f;
    case StmtKind::Error:
      f.value = context_.lost();  // the parser said why; it may have been the value of the block
      return f;
    case StmtKind::For: return loops_.lowerFor(s);
    case StmtKind::While: return loops_.lowerWhile(s);
    case StmtKind::Break:
    case StmtKind::Continue:
      return continuations_.leave(s.kind == StmtKind::Break ? Exit::Break : Exit::Continue, Val::unit(s.span), s.span);
    case StmtKind::Return: {
      const Ty* wanted = context_.frame().result;
      Val v =
          s.value ? tensors_.settle(adopted(expressions_.eval(*s.value, wanted), wanted), wanted) : Val::unit(s.span);
      return continuations_.leave(Exit::Return, std::move(v), s.span);
    }
    case StmtKind::Assert: {
      bool holds = true;
      lowerAssert(s, holds);
      // What a function asks of its dims is not so: the rest of it would say that again in other words.
      if (!holds && context_.body.boundary->kind == Boundary::Kind::Function)
        return continuations_.leave(Exit::Return, context_.lost(), s.span);
      return f;
    }
    case StmtKind::Expr: {
      const ast::Expr& e = *s.value;
      if (e.kind == ExprKind::If) return branches_.lowerIf(e, 0, tail, expected);
      if (e.kind == ExprKind::Block) {
        auto block = [&](const Tail& t) { return lowerBlock(e.blocks[0], &t, expected); };
        return placedBlocks_.lowerPlaced(e.annotations, 0, e.blocks[0].span, tail, block);
      }
      const UnusedValues::Place before = unused_.here();
      f.value = expressions_.eval(e, expected);
      if (tail.wanted) {
        f.value = adopted(std::move(f.value), expected);
        // A literal in a branch adopts the dtype that the other one gives (agree), one that an expression gives that of
        // what it meets.
        const Boundary::Kind inside = context_.body.boundary->kind;
        const auto adopting = [&](const Val& v) {
          return v.isNumber() && (inside == Boundary::Kind::Region || inside == Boundary::Kind::Expression);
        };
        if (f.value.is(Val::Kind::Tuple) && !expected) {
          for (Val& part : f.value.elems.edit())
            if (!adopting(part)) part = tensors_.settle(std::move(part));
        } else if (!adopting(f.value)) {
          f.value = tensors_.settle(std::move(f.value), expected);
        }
      }
      if (!tail.wanted) unused_.check(e, f.value, before);
      return f;
    }
    default: return f;  // declarations were collected before
  }
}

Flow Statements::lowerAround(const ast::Stmt& s, const ast::Expr& part, const std::vector<const ast::Expr*>& before,
                             bool last, const Tail& tail, const Ty* expected) {
  Evaluated known = context_.body.evaluated ? *context_.body.evaluated : Evaluated{};
  {
    const Scoped operands(context_.body.evaluated, &known);
    for (const ast::Expr* e : before) {
      if (!known.count(e)) known[e] = expressions_.eval(*e);
    }
  }
  const std::function<Flow(const Val&, const Tail&)> then = [&](const Val& value, const Tail& after) {
    Evaluated all = known;
    all[&part] = value;
    const Scoped operands(context_.body.evaluated, &all);
    return lowerPlain(s, last, after, expected);
  };
  const Tail bind{{}, &tail, context_.frame().scopes.size(), true, &then, nullptr, context_.b().rounds()};
  Ty type;
  const Ty* partType = nullptr;
  if (s.type && s.value.get() == &part && (s.kind == StmtKind::Let || s.kind == StmtKind::Var)) {
    Generics g;
    g.unit = context_.frame().unit;
    g.locals = true;
    type = types_.resolve(*s.type, g);
    partType = &type;
  }
  Flow f;
  {
    const Scoped nothing(context_.body.evaluated, nullptr);
    if (part.kind == ExprKind::If) {
      f = branches_.lowerIf(part, 0, bind, partType);
    } else {
      auto block = [&](const Tail& t) { return lowerBlock(part.blocks[0], &t, partType); };
      f = placedBlocks_.lowerPlaced(part.annotations, 0, part.blocks[0].span, bind, block);
    }
  }
  if (f.done || f.exit != Exit::Falls) return f;
  if (f.mixed) return continuations_.resume(f, bind, expected);
  return then(f.value, tail);
}

namespace {

/// Whether an assertion without a message can say what it compares.
bool comparesValues(const ast::Stmt& s) {
  constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
  return !s.message && s.value->kind == ExprKind::Binary &&
         std::find(std::begin(kComparisons), std::end(kComparisons), s.value->text) != std::end(kComparisons);
}

/// Whether a reader takes in the value at a glance.
bool isShort(const Val& v) {
  constexpr int64_t kMostElements = 1000;
  switch (v.kind) {
    case Val::Kind::Tensor: return v.tensor->type.size() <= kMostElements;
    case Val::Kind::Array:
    case Val::Kind::Int:
    case Val::Kind::Float:
    case Val::Kind::Bool:
    case Val::Kind::String:
    case Val::Kind::Pack:
    case Val::Kind::DType: return true;
    default: return false;
  }
}
}  // namespace

std::vector<Val> Statements::compared(const ast::Stmt& s, Evaluated& evaluated) {
  if (!context_.body.isTest || !comparesValues(s)) return {};
  std::vector<Val> sides;
  for (const ast::ExprPtr& side : s.value->args) {
    sides.push_back(expressions_.eval(*side));
    evaluated[side.get()] = sides.back();
  }
  return std::all_of(sides.begin(), sides.end(), isShort) ? sides : std::vector<Val>();
}

Outcome Statements::lowerAssert(const ast::Stmt& s, bool& holds) {
  if (!s.value) return Outcome::dropped(context_.lost());
  Evaluated evaluated = context_.body.evaluated ? *context_.body.evaluated : Evaluated();
  const std::vector<Val> sides = compared(s, evaluated);
  const Scoped known(context_.body.evaluated, &evaluated);
  Val condition = expressions_.eval(*s.value);
  ir::Value* decides = nullptr;
  if (condition.is(Val::Kind::Tensor) && condition.tensor->type.dtype == ir::DType::Bool) {
    decides = condition.tensor;
    context_.at(s.value->span);
    if (!decides->type.shape.empty())
      decides = context_.b().value(OpKind::All, {decides}, {{"axes", ir::Compose::allAxes(decides->type)}});
  }
  const bool holdsAnyway = condition.is(Val::Kind::Bool) && condition.boolean;
  FailedBranch failed(context_, scopes_, decides, holdsAnyway, s.message.get());
  Val message = Val::ofString("");
  if (s.message) failed.inside([&] { message = expressions_.eval(*s.message); });
  if (condition.poison() || message.poison()) return Outcome::dropped(condition.poison() ? condition : message);
  if (condition.is(Val::Kind::Tuple) && condition.elems.size() == 2 && !s.message) {
    const Span whole = s.value->span;
    auto d = context_.error(Code::E0203, whole, "`assert` takes a condition, not " + describe(condition));
    if (s.value->kind == ExprKind::Tuple)
      d.help("write condition and message without parentheses",
             {{whole,
               " " + std::string(context_.sources.text(Span::cover(s.value->args[0]->span, s.value->args[1]->span)))}});
    return d;
  }
  if (!message.is(Val::Kind::String) && !message.is(Val::Kind::Format)) {
    return context_.error(Code::E0203, s.message->span,
                          "the message of `assert` must be a string, not " + describe(message));
  }
  if (condition.is(Val::Kind::Bool)) {
    if (condition.boolean) return Outcome::lowered();
    const std::string text = message.is(Val::Kind::String) ? message.text : "";
    // A condition over the dims of a function is a part of its signature. Elsewhere it is the run that stops, behind
    // what the script did before; and in a branch that may not be taken the run decides.
    const bool signature = context_.frame().fn && s.value->kind != ast::Expr::Kind::Bool;
    if (signature && context_.body.regionDepth == 0 && context_.body.outerRegions == 0) {
      holds = false;
      auto d = context_.error(Code::E0212, s.value->span, "assertion failed" + (text.empty() ? "" : ": " + text));
      if (auto word = wordMeant(context_, *s.value)) d.help(*word);
      return d;
    }
  }
  ir::Value* c = decides ? decides : tensors_.tensorOf(condition);
  if (!c) return Outcome::dropped(context_.lost());
  if (c->type.dtype != ir::DType::Bool) {
    return context_.error(Code::E0203, s.value->span, "`assert` takes bools, not " + describe(condition));
  }
  FormatParts parts;
  failed.inside([&] { parts = sides.empty() ? formats_.formatParts({message}, s.span) : formats_.sidesParts(sides); });
  if (!parts.ok) return Outcome::dropped(context_.lost());
  std::vector<ir::Value*> operands = {c};
  operands.insert(operands.end(), parts.operands.begin(), parts.operands.end());
  std::vector<ir::OperandText> written = {{s.value->span, ""}};
  written.insert(written.end(), parts.written.begin(), parts.written.end());
  failed.inside([&] {
    context_.at(s.value->span, std::move(written));
    context_.b().makeTyped(OpKind::Assert, operands, {}, {{"pieces", parts.pieces}, {"formats", parts.formats}});
  });
  return Outcome::lowered();
}

}  // namespace tenc::frontend
