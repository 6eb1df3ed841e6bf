#include "frontend/habits/Idioms.h"

#include <algorithm>
#include <iterator>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/InPlaceLayers.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/SameValue.h"
#include "frontend/habits/StartValues.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/habits/TiedParts.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Trees.h"
#include "ir/DeviceTable.h"
#include "syntax/Familiar.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
constexpr Int kExact = Int{1} << 24;  ///< integers up to here are numbers of f32
using StmtKind = ast::Stmt::Kind;

std::string textOf(Context& context, Span s) { return std::string(context.sources.text(s)); }

bool isLiteral(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::vector<Edit> dividedAsFloats(const SourceManager& sources, const Val& a, const Val& b) {
  if (!a.span.valid() || !b.span.valid() || a.span.file != b.span.file || a.span.end > b.span.begin) return {};
  const std::string left(sources.text(a.span)), right(sources.text(b.span));
  if (left.empty() || right.empty() || left.find('\n') != std::string::npos || right.find('\n') != std::string::npos)
    return {};
  // What f32 does not hold is divided in f64, as elsewhere.
  const auto isLarge = [](const Val& v) { return v.is(Val::Kind::Int) && (v.integer > kExact || v.integer < -kExact); };
  const bool large = isLarge(a) || isLarge(b);
  const auto asFloat = [large](const std::string& text) {
    if (large) return "f64(" + text + ")";
    return isLiteral(text) ? text + ".0" : "f32(" + text + ")";
  };
  if (isLiteral(left) && isLiteral(right)) return {{a.span, asFloat(left)}};
  std::vector<Edit> edits;
  if (!isLiteral(left)) edits.push_back({a.span, asFloat(left)});
  if (!isLiteral(right)) edits.push_back({b.span, asFloat(right)});
  return edits;
}

std::vector<Edit> asTuple(const SourceManager& sources, Span array) {
  if (!array.valid()) return {};
  const std::string_view text = sources.text(array);
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  const bool isOne = text.find(',') == std::string_view::npos;
  return {{{array.file, array.begin, array.begin + 1}, "("},
          {{array.file, array.end - 1, array.end}, isOne ? ",)" : ")"}};
}

std::vector<Edit> movedToUnit(const SourceManager& sources, const Val& x, const Val& range) {
  const bool floats = x.is(Val::Kind::Tensor) && ir::isFloat(x.tensor->type.dtype);
  if (!floats || !x.span.valid() || !range.span.valid() || !sources.text(range.span).starts_with('(')) return {};
  const auto operand = [&](Span s) {
    const std::string text(sources.text(s));
    return text.find_first_of(" +-*/|") == std::string::npos ? text : "(" + text + ")";
  };
  const std::string lo = operand(range.elems[0].span), hi = operand(range.elems[1].span);
  return {{x.span, "(" + operand(x.span) + " - " + lo + ") / (" + hi + " - " + lo + ")"}, {range.span, "(0.0, 1.0)"}};
}

std::vector<Edit> negativePower(const SourceManager& sources, const Val& base) {
  if (!base.span.valid()) return {};
  const std::string text(sources.text(base.span));
  if (text.empty() || text.find('\n') != std::string::npos) return {};
  return {{base.span, isLiteral(text) ? text + ".0" : "f32(" + text + ")"}};
}

std::optional<Help> weightOfLinear(const Val& layer, std::string_view name, Span member) {
  constexpr std::string_view kLinear[] = {"Linear", "Projection"};
  const StructDecl& decl = *layer.info->decl;
  const bool linear = !decl.unit->isScript && std::ranges::find(kLinear, decl.stmt->name.text) != std::end(kLinear);
  if (!linear || name != "weight") return std::nullopt;
  return Help{"`w` is [in, out], the transpose of PyTorch's weight", {{member, "w.T"}}};
}

std::optional<Help> assignedWeight(Context& context, const Val& layer, const ast::Expr& member) {
  const auto read = weightOfLinear(layer, member.text, member.opSpan);
  const ast::File* file = fileOf(context);
  const ast::Stmt* s = read && file ? placeIn(*file, member.span).statement : nullptr;
  const bool assigns = s && s->kind == StmtKind::Assign && s->target.get() == &member && s->value;
  if (!assigns || (s->op != "=" && !isOfLiterals(*s->value))) return read ? std::optional(Help{read->text, {}}) : read;
  std::vector<Edit> edits{{member.opSpan, "w"}};
  if (s->op == "=") edits.push_back({s->value->span, "(" + textOf(context, s->value->span) + ").T"});
  return Help{read->text, std::move(edits)};
}

std::optional<Help> updatedAt(Context& context, Span member) {
  const ast::File* file = fileOf(context);
  const auto updates = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member) return false;
    const ast::Expr& index = *e.args[0]->args[0];
    return index.kind == ExprKind::Index && index.args[0]->kind == ExprKind::Member && index.args[0]->opSpan == member;
  };
  const ast::Expr* call = file ? expressionAround(*file, member, updates) : nullptr;
  if (!call || call->arguments.size() != 1 || call->arguments[0].name || !call->arguments[0].value) return std::nullopt;
  const std::string& name = call->args[0]->text;
  const std::string sign = name == "set"                         ? " = "
                           : name == "add"                       ? " += "
                           : name == "multiply" || name == "mul" ? " *= "
                           : name == "divide"                    ? " /= "
                           : name == "subtract"                  ? " -= "
                                                                 : "";
  if (sign.empty()) return std::nullopt;
  const ast::Expr& index = *call->args[0]->args[0];
  const ast::Expr& base = *index.args[0]->args[0];
  const std::string x = textOf(context, base.span);
  const Span brackets{index.span.file, index.args[0]->span.end, index.span.end};
  const std::string subscripts = textOf(context, brackets), value = textOf(context, call->arguments[0].value->span);
  const std::string said = "an element is assigned: `x[i] = v`";
  const StatementPlace at = placeIn(*file, call->span);
  const ast::Stmt* s = at.statement;
  const bool whole = s && s->value.get() == call;
  if (whole && s->kind == StmtKind::Assign && s->op == "=" && textOf(context, s->target->span) == x)
    return Help{said, {{s->span, x + subscripts + sign + value}}};
  const std::string made = x == "updated" ? "changed" : "updated";
  return Help{
      said, {{call->span, "{ var " + made + " = " + x + "; " + made + subscripts + sign + value + "; " + made + " }"}}};
}

std::optional<Help> partOfPair(Context& context, const Val& base, Span member, std::string_view name) {
  const std::span<const syntax::FamiliarPart> parts = syntax::familiarParts();
  const auto isPart = [&](const syntax::FamiliarPart& p) {
    return p.name == name && base.is(Val::Kind::Tuple) && p.parts == base.elems.size();
  };
  if (const auto part = std::ranges::find_if(parts, isPart); part != parts.end())
    return Help{"parts of a tuple have numbers, or names where it is bound: `let (a, b) = ...`",
                {{member, std::to_string(part->place)}}};
  if (name != "values" && name != "indices") return std::nullopt;
  const std::string said = "`topk` gives a tuple, `sort` the values alone and `argsort` their indices";
  const ast::File* file = fileOf(context);
  const ast::Expr* taken = file ? expressionAround(*file, member, ExprKind::Member) : nullptr;
  if (!taken || taken->opSpan != member || taken->args[0]->kind != ExprKind::Call) return std::nullopt;
  const ast::Expr& callee = *taken->args[0]->args[0];
  if (callee.text != "sort") return std::nullopt;
  std::vector<Edit> edits{{Span{member.file, taken->args[0]->span.end, taken->span.end}, ""}};
  if (name == "indices") edits.push_back({callee.kind == ExprKind::Member ? callee.opSpan : callee.span, "argsort"});
  return Help{said, std::move(edits)};
}

std::optional<Help> valuesAndIndices(Context& context, const ast::Expr& call) {
  if (call.kind != ExprKind::Call) return std::nullopt;
  const ast::Expr& callee = *call.args[0];
  const bool method = callee.kind == ExprKind::Member;
  const std::string& name = callee.text;
  if (name == "sort") {
    const std::string receiver = method ? textOf(context, callee.args[0]->span) + "." : "";
    const std::string rest = textOf(context, {call.span.file, callee.span.end, call.span.end});
    return Help{"`sort` gives the values alone; `argsort` gives where they were",
                {{call.span, "(" + receiver + "sort" + rest + ", " + receiver + "argsort" + rest + ")"}}};
  }
  const size_t count = method ? 1 : 2;
  if ((name != "max" && name != "min") || call.arguments.size() != count || call.arguments.back().name)
    return std::nullopt;
  const ast::Expr& axis = *call.arguments.back().value;
  const bool number =
      axis.kind == ExprKind::Int || (axis.kind == ExprKind::Unary && axis.args[0]->kind == ExprKind::Int);
  if (!number) return std::nullopt;
  const std::string x = textOf(context, method ? callee.args[0]->span : call.arguments[0].value->span);
  const std::string rest = "(" + x + ", axis: " + textOf(context, axis.span) + ")";
  return Help{"`" + name + "` gives the values alone; `arg" + name + "` gives where they are",
              {{call.span, "(" + name + rest + ", arg" + name + rest + ")"}}};
}

namespace {
/// How a loop that fills a list counts its trips: how many there are, and which one it is; nothing for other loops.
struct Trips {
  std::string count, at, last;
  std::vector<Edit> edits{};  ///< that give the trip a name
};
/// Whether the body of a loop binds or assigns a name.
bool isRebound(const ast::Stmt& loop, const std::string& name) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool binds = s.kind == StmtKind::Let || s.kind == StmtKind::Var || s.kind == StmtKind::For;
    const bool assigns = s.kind == StmtKind::Assign && s.target->kind == ExprKind::Name && s.target->text == name;
    found = found || assigns || (binds && &s != &loop && namesOf(s.pattern).contains(name));
  };
  visitor.visit(loop);
  return found;
}

std::optional<Trips> tripsOf(Context& context, const ast::File& file, const ast::Stmt& loop, Span made) {
  if (loop.kind != StmtKind::For || !loop.lo || loop.by) return std::nullopt;
  if (loop.hi) {
    const bool fromZero = loop.lo->kind == ExprKind::Int && loop.lo->integer == 0;
    const std::string lo = asOperand(context.sources, *loop.lo), hi = textOf(context, loop.hi->span);
    if (loop.pattern.isTuple || isRebound(loop, loop.pattern.name.text)) return std::nullopt;
    const std::string& i = loop.pattern.name.text;
    return Trips{fromZero ? hi : hi + " - " + lo, fromZero ? i : i + " - " + lo,
                 (loop.hi->kind == ExprKind::Int ? std::to_string(loop.hi->integer - 1)
                                                 : asOperand(context.sources, *loop.hi) + " - 1") +
                     " - " + i};
  }
  // Over rows: they are counted beside, where what holds them means the same at the list.
  const ast::Expr* rows = loop.lo.get();
  const auto calls = [&](const ast::Expr& e, std::string_view name) {
    return e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name && e.args[0]->text == name &&
           std::ranges::all_of(e.arguments, [](const ast::Argument& a) { return !a.name && !a.rangeEnd && a.value; });
  };
  const bool counted = calls(*rows, "enumerate") && rows->arguments.size() == 1;
  if (counted) rows = rows->arguments[0].value.get();
  const bool paired = calls(*rows, "zip") && !rows->arguments.empty();
  if (paired) rows = rows->arguments[0].value.get();
  const bool known = rows->kind == ExprKind::Name || rows->kind == ExprKind::Array ||
                     (rows->kind == ExprKind::Call && rows->args[0]->text == "flip");
  const auto isKnownThere = [&](const std::string& name) {
    return isSameAt(context.sources, file, name, made, rows->span);
  };
  if (!known || loop.pattern.isTuple != (counted || paired) || !std::ranges::all_of(namesRead(*rows), isKnownThere))
    return std::nullopt;
  const std::string over = textOf(context, rows->span);
  const std::string count = rows->kind == ExprKind::Array ? std::to_string(rows->args.size()) : over + ".shape[0]";
  if (counted) {
    const ast::Pattern& first = loop.pattern.elements[0];
    if (first.isTuple || first.name.text == "_" || isRebound(loop, first.name.text)) return std::nullopt;
    return Trips{count, first.name.text, count + " - 1 - " + first.name.text};
  }
  std::string trip = "i";
  for (const char* other : {"k", "trip"})
    if (timesNamed(file, trip) > 0 || namesOf(loop.pattern).contains(trip)) trip = other;
  if (timesNamed(file, trip) > 0 || namesOf(loop.pattern).contains(trip)) return std::nullopt;
  return Trips{count,
               trip,
               count + " - 1 - " + trip,
               {{loop.pattern.span, "(" + trip + ", " + textOf(context, loop.pattern.span) + ")"},
                {loop.lo->span, "enumerate(" + textOf(context, loop.lo->span) + ")"}}};
}
}  // namespace

namespace {
/// Whether what a loop appends to is read before the loop is over, otherwise than by an index from the front: it has
/// fewer elements there.
bool isReadBeforeFull(const ast::File& file, const ast::Expr& list, const ast::Stmt& made, const ast::Stmt& loop) {
  std::set<const ast::Expr*> fromFront;
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool element = e.kind == ExprKind::Index && e.subscripts.size() == 1 && e.subscripts[0].index &&
                         e.subscripts[0].kind == ast::Subscript::Kind::Index &&
                         e.subscripts[0].index->kind != ExprKind::Unary;
    if (element) fromFront.insert(e.args[0].get());
    const bool before = e.span.begin >= made.span.end && e.span.begin < loop.span.end;
    found =
        found || (before && &e != &list && e.kind == ExprKind::Name && e.text == list.text && !fromFront.contains(&e));
    return !found;
  };
  visitAround(file, loop.span, visitor);
  return found;
}
}  // namespace

std::optional<Help> appended(Context& context, const ast::Expr& call, const Val& value) {
  const ast::File* file = fileOf(context);
  const ast::Expr& list = *call.args[0]->args[0];
  const bool inFront = call.args[0]->text == "insert";
  if (!file || list.kind != ExprKind::Name || call.arguments.size() != (inFront ? 2 : 1) || call.arguments[0].name)
    return std::nullopt;
  const ast::Expr& element = *call.arguments.back().value;
  if (mayChangeType(context, element.span)) return std::nullopt;
  const StatementPlace at = placeIn(*file, call.span);
  const ast::Stmt* loop = at.outer;
  const ast::Stmt* made = boundBefore(*file, list.text, call.span.begin);
  const bool empty = made && made->value && made->value->kind == ExprKind::Array && made->value->args.empty();
  if (!loop || at.among != &loop->body.statements || !empty || at.statement->value.get() != &call ||
      exitsOf(loop->body).any())
    return std::nullopt;
  const auto trips = tripsOf(context, *file, *loop, made->span);
  const StatementPlace around = placeIn(*file, loop->span);
  const bool together =
      std::any_of(around.among->begin(), around.among->end(), [&](const ast::StmtPtr& s) { return s.get() == made; });
  size_t appends = 0;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool other = e.kind == ExprKind::Member && (e.text == "append" || e.text == "insert") &&
                       e.args[0]->kind == ExprKind::Name && e.args[0]->text == list.text;
    appends += other ? 1 : 0;
    return true;
  };
  visitor.visit(*file);
  if (!trips || !together || appends != 1 || isReadBeforeFull(*file, list, *made, *loop)) return std::nullopt;
  // What a list holds changes with the array that was appended; an element does not.
  const NameSet held = holdsArray(value) ? namesShared(*file, element) : NameSet();
  const auto changes = [&](const std::string& n) { return isChangedInPlace(*file, n, call.span); };
  if (!held.empty() && (hasUnread(*file) || isChangedByTraining(*file, held) || std::ranges::any_of(held, changes)))
    return std::nullopt;
  std::string shape = trips->count;
  ir::DType dtype = ir::DType::F32;
  if (value.is(Val::Kind::Tensor)) {
    dtype = value.tensor->type.dtype;
    for (const int64_t n : value.tensor->type.shape) shape += ", " + std::to_string(n);
  } else if (value.is(Val::Kind::Int)) {
    dtype = ir::DType::I64;
  } else if (!value.is(Val::Kind::Float)) {
    return std::nullopt;
  }
  std::vector<Edit> edits{
      {made->value->span,
       "zeros([" + shape + "]" + (dtype == ir::DType::F32 ? "" : ", dtype: " + std::string(ir::name(dtype))) + ")"},
      {call.span, list.text + "[" + (inFront ? trips->last : trips->at) + "] = " + textOf(context, element.span)}};
  if (made->kind == StmtKind::Let && made->keyword.valid()) edits.push_back({made->keyword, "var"});
  edits.insert(edits.end(), trips->edits.begin(), trips->edits.end());
  return Help{"a tensor has its size from the start: set its elements", std::move(edits)};
}

std::optional<Help> countedFrom(Context& context, const ast::Expr& call) {
  const ast::File* file = fileOf(context);
  if (!file || call.args[0]->text != "enumerate" || call.arguments.size() != 2) return std::nullopt;
  const ast::Argument& start = call.arguments[1];
  const ast::Stmt* loop = statementAround(*file, call.span, {StmtKind::For});
  const bool counts = loop && loop->lo.get() == &call && loop->pattern.isTuple && loop->pattern.elements.size() == 2 &&
                      !loop->pattern.elements[0].isTuple && !loop->body.statements.empty() && loop->body.statements[0];
  if (!counts || (start.name && start.name->text != "start") || !isOfLiterals(*start.value)) return std::nullopt;
  const std::string& i = loop->pattern.elements[0].name.text;
  const Span first = loop->body.statements[0]->span;
  const std::string text = "let " + i + " = " + i + " + " + textOf(context, start.value->span);
  return Help{"`enumerate` counts from 0",
              {{Span{call.span.file, call.arguments[0].span.end, start.span.end}, ""},
               {Span{first.file, first.begin, first.begin}, text + "; "}}};
}

std::optional<Help> builtStruct(Context& context, const StructDecl& decl, const CallArgs& args) {
  const auto& fields = decl.stmt->fields;
  if (args.args.size() != fields.size() || fields.empty() || !args.callee.valid()) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < fields.size(); ++i) {
    const CallArg& a = args.args[i];
    const bool known = a.name.empty() || std::any_of(fields.begin(), fields.end(),
                                                     [&](const ast::Field& f) { return f.name.text == a.name; });
    if (!known || !a.span.valid() || a.span.begin < args.callee.end) return std::nullopt;
    const std::string written = textOf(context, a.span);
    text += (i == 0 ? "" : ", ") + (a.name.empty() ? fields[i].name.text + ": " + written : written);
  }
  return Help{"a struct is built with the names of its fields",
              {{Span{args.callee.file, args.callee.end, args.span.end}, " { " + text + " }"}}};
}

std::optional<Help> eachPart(Context& context, Span argument) {
  const ast::File* file = fileOf(context);
  const auto isMapped = [](const ast::Expr& e) {
    const bool called = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Call;
    const ast::Expr* made = called ? e.args[0].get() : nullptr;
    return made && made->args[0]->text == "vmap" && made->arguments.size() == 1 && made->arguments[0].value;
  };
  const ast::Expr* call = file ? expressionAround(*file, argument, isMapped) : nullptr;
  if (!call) return std::nullopt;
  std::string text = "map_leaves(" + textOf(context, call->args[0]->arguments[0].value->span);
  for (const ast::Argument& a : call->arguments) text += ", " + textOf(context, a.span);
  return Help{"`map_leaves` takes each part of a tree", {{call->span, text + ")"}}};
}

std::optional<Help> annotatedPlace(Context& context, Span argument) {
  const ast::File* file = fileOf(context);
  const ast::Expr* call = file ? expressionAround(*file, argument, ExprKind::Call) : nullptr;
  if (!call) return std::nullopt;
  std::string device, rest;
  for (const ast::Argument& a : call->arguments) {
    if (!a.value || a.rangeEnd) return std::nullopt;
    if (a.name && a.name->text == "device") {
      const std::string text = textOf(context, a.value->span);
      if (a.value->kind != ExprKind::Name && a.value->kind != ExprKind::String && a.value->kind != ExprKind::Device)
        return std::nullopt;
      device = a.value->kind == ExprKind::String ? text.substr(1, text.size() - 2) : text;
    } else {
      rest += (rest.empty() ? "" : ", ") + textOf(context, a.span);
    }
  }
  if (device.empty()) return std::nullopt;
  const std::string made = textOf(context, call->args[0]->span) + "(" + rest + ")";
  const std::string said = "an annotation says where it is made: `@gpu zeros([2])`";
  const StatementPlace at = placeIn(*file, call->span);
  const bool whole = at.statement && at.statement->value.get() == call &&
                     (at.statement->kind == StmtKind::Let || at.statement->kind == StmtKind::Var);
  if (device == ir::DeviceTable::kHost) return Help{said, {{call->span, made}}};
  if (whole)
    return Help{said,
                {{Span{call->span.file, at.statement->span.begin, at.statement->span.begin}, "@" + device + " "},
                 {call->span, made}}};
  return Help{said, {{call->span, "@" + device + " { " + made + " }"}}};
}

namespace {
/// `optim.step(s, m, g)`, `s.step(m, g)` or PyTorch's `s.step()` of the optimiser that is called so; `env.step(a)` is
/// none.
bool isStepOf(const ast::Expr& e, const std::string& state) {
  if (state.empty() || e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member || e.args[0]->text != "step")
    return false;
  const auto isState = [&](const ast::Expr* x) { return x && x->kind == ExprKind::Name && x->text == state; };
  return isState(e.args[0]->args[0].get()) || (!e.arguments.empty() && isState(e.arguments[0].value.get()));
}
}  // namespace

std::optional<Help> optionOfSteps(Context& context, Span argument, const std::string& name) {
  const ast::File* file = fileOf(context);
  const ast::Expr* call = file ? expressionAround(*file, argument, ExprKind::Call) : nullptr;
  if (!call) return std::nullopt;
  std::string made = textOf(context, call->args[0]->span) + "(";
  std::vector<const ast::Argument*> options;  // all at once
  bool first = true;
  for (const ast::Argument& a : call->arguments) {
    if (!a.value || a.rangeEnd) return std::nullopt;
    if (a.name) {
      options.push_back(&a);
      continue;
    }
    made += (first ? "" : ", ") + textOf(context, a.span);
    first = false;
  }
  std::vector<Edit> edits{{call->span, made + ")"}};
  if (std::none_of(options.begin(), options.end(), [&](auto* o) { return o->name->text == name; })) return std::nullopt;
  const ast::Stmt* binds = placeIn(*file, call->span).statement;
  const std::string state = !binds || binds->value.get() != call ? ""
                            : binds->target                      ? binds->target->text
                                                                 : binds->pattern.name.text;
  bool same = true;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {  // another optimiser of that name has options of its own
    same =
        same && (&s == binds || !s.value || s.value->kind != ExprKind::Call || nameBound(s) != state || state.empty());
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    if (!isStepOf(e, state)) return true;
    std::string text;
    for (const ast::Argument* option : options) {
      const auto isIt = [&](const ast::Argument& a) { return a.name && a.name->text == option->name->text; };
      if (std::any_of(e.arguments.begin(), e.arguments.end(), isIt)) continue;
      text += ", " + textOf(context, option->span);
      same = same && isSameAt(context.sources, *file, *option->value, e.span);
    }
    if (e.arguments.empty() && !text.empty()) text.erase(0, 2);
    edits.push_back({Span{e.span.file, e.span.end - 1, e.span.end - 1}, std::move(text)});
    return true;
  };
  visitor.visit(*file);
  if (edits.size() == 1) {  // there is no step yet: they wait in a comment
    if (!syntax::endsLine(context.sources, call->span)) return std::nullopt;
    std::string all;
    for (const ast::Argument* option : options) all += (all.empty() ? "" : ", ") + textOf(context, option->span);
    edits[0].replacement += "  # of `optim.step`: " + all;
  }
  if (!same) edits.clear();  // what it was made with has changed since
  return Help{"options are given to each step: `optim.step(s, m, g, lr: 1e-3)`", std::move(edits)};
}

std::optional<Help> optionLeftOut(Context& context, Span argument, const std::string& name) {
  const syntax::Familiar* option = syntax::familiarOption(name);
  const ast::File* file = option && (option->nothing || !option->nothingAs.empty()) ? fileOf(context) : nullptr;
  const ast::Expr* call = file ? expressionAround(*file, argument, ExprKind::Call) : nullptr;
  if (!call) return std::nullopt;
  const auto& all = call->arguments;
  const auto it = std::find_if(all.begin(), all.end(), [&](const ast::Argument& a) { return a.span == argument; });
  if (it == all.end() || !it->value) return std::nullopt;
  // `inplace=True`, where nothing else has the operand
  const auto inPlace = inPlaceArgument(*call);
  const bool unseen = inPlace && &all[*inPlace] == &*it && *inPlace > 0 && all[0].value &&
                      !readBehindChange(*file, *call, *all[0].value);
  if (!unseen && !syntax::meansNothing(*option, textOf(context, it->value->span))) return std::nullopt;
  Span taken = argument;
  if (it != all.begin())
    taken.begin = std::prev(it)->span.end;
  else if (std::next(it) != all.end())
    taken.end = std::next(it)->span.begin;
  return Help{std::string(option->help), {{taken, ""}}};
}

std::optional<Help> boundAnew(Context& context, Span statement, Span declared) {
  const ast::File* file = fileOf(context);
  if (!file || statement.file != file->source || declared.file != file->source) return std::nullopt;
  const StatementPlace now = placeIn(*file, statement), then = placeIn(*file, declared);
  if (!now.statement || !then.statement || now.among != then.among || now.statement->span != statement)
    return std::nullopt;
  const ast::Stmt& s = *now.statement;
  if (s.kind != StmtKind::Assign || s.op != "=" || s.target->kind != ExprKind::Name) return std::nullopt;
  const uint32_t begin = s.span.begin;
  return Help{"a variable keeps its type: bind the name anew", {{Span{s.span.file, begin, begin}, "let "}}};
}

std::optional<Help> withoutType(Context& context, const ast::TypeExpr& type) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* fn = file ? placeIn(*file, type.span).statement : nullptr;
  if (!fn || fn->kind != StmtKind::Fn) return std::nullopt;
  const std::string said = "a parameter without a type takes anything, and the type of the result may be left out";
  for (const ast::FnParam& p : fn->params) {
    if (p.type && p.type->span == type.span)
      return Help{said, {{Span{type.span.file, p.name.span.end, type.span.end}, ""}}};
  }
  if (!fn->type || fn->type->span != type.span) return std::nullopt;
  return Help{said, {syntax::withoutResult(context.sources, fn->span, type.span)}};
}

std::optional<Help> listedVariable(Context& context, const ast::TypeExpr& type) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* fn = file ? statementAround(*file, type.span, {StmtKind::Fn}) : nullptr;
  // `Int`, `Array`, `Point` are rather types that are not there.
  const auto isUpper = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (!fn || type.path.size() != 1 || !std::ranges::all_of(type.path[0].text, isUpper)) return std::nullopt;
  const std::string variable = type.path[0].text + (type.hasArgs ? ": float" : "");
  const std::string said =
      "a variable that no shape of an argument gives is listed: `fn f[N](n: N)`, `fn f[T: float](x: T[N])`";
  const Span before = fn->generics.empty() ? fn->name.span : fn->generics.back().span;
  return Help{
      said,
      {{Span{before.file, before.end, before.end}, fn->generics.empty() ? "[" + variable + "]" : ", " + variable}}};
}

std::optional<Help> dimOfParameter(Context& context, const ast::TypeExpr& type) {
  const ast::File* file = fileOf(context);
  const ast::Stmt* fn = file ? placeIn(*file, type.span).statement : nullptr;
  const bool size = type.path.size() == 2 && type.path[1].text == "size" && type.args.empty();
  const bool shape = size || (type.path.size() == 2 && type.path[1].text == "shape" && type.args.size() == 1 &&
                              type.args[0]->kind == ast::TypeExpr::Kind::Int);
  if (!fn || fn->kind != StmtKind::Fn || !shape) return std::nullopt;
  for (const ast::FnParam& p : fn->params) {
    if (p.name.text != type.path[0].text) continue;
    const auto place = size ? 0 : static_cast<size_t>(type.args[0]->integer);
    if (size && p.type && p.type->args.size() != 1) return std::nullopt;
    const bool pack = p.type && std::any_of(p.type->args.begin(), p.type->args.end(),
                                            [](const ast::TypePtr& a) { return a->kind == ast::TypeExpr::Kind::Pack; });
    if (!p.type || pack || place >= p.type->args.size())
      return Help{"name the dim in the type of the parameter: `x: f32[N, 3]`", {}};
    if (p.type->args[place]->span == type.span) {  // `x: f32[x.shape[0]]`
      const auto isTaken = [&](const char* name) {
        const Resolution& names = *context.frame().unit->resolution;
        const auto uses = names.within(fn->span);
        return names.global(name) != nullptr || std::ranges::any_of(uses, [&](const Use& u) { return u.name == name; });
      };
      for (const char* name : {"N", "M", "K", "L", "D"})
        if (!isTaken(name)) return Help{"a dim is named in the type of the parameter", {{type.span, name}}};
      return Help{"name the dim in the type of the parameter: `x: f32[N, 3]`", {}};
    }
    return Help{"a dim is named in the type of the parameter",
                {{type.span, textOf(context, p.type->args[place]->span)}}};
  }
  return std::nullopt;
}

}  // namespace tenc::frontend
