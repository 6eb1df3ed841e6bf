// Methods of PyTorch that change their tensor, `x.exp_()`, written as what assigns it or gives a new one.
#include <algorithm>
#include <string>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/InPlaceLayers.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/Translation.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using syntax::ForeignArgument;
using StmtKind = ast::Stmt::Kind;
constexpr std::string_view kMaybe =
    "values do not change in place, and whether this one would depends on `inplace`: bind the name again where the "
    "change is meant, and leave `inplace` out where it is not";
constexpr std::string_view kInPlace = "values do not change in place: assign a new value to a `var`";

constexpr std::string_view kUnheld =
    "what changes here is a value of its own, which nothing holds: assign to the variable itself, or bind this value "
    "with `var`, change that and go on with it";

/// What can be assigned to.
bool isPlace(const ast::Expr& e) {
  if (e.kind == ExprKind::Name) return true;
  if (e.kind == ExprKind::Member) return e.text != "T" && e.text != "mT" && isPlace(*e.args[0]);
  return e.kind == ExprKind::Index && isPlace(*e.args[0]);
}

/// Whether it is a place, or one the other way round, which an assignment turns back.
bool isPlaceOrTurned(const ast::Expr& e) { return isPlace(e.kind == ExprKind::Member ? *e.args[0] : e); }

/// Whether a method does the same with each element, wherever it stands.
bool changesEach(std::string_view method) {
  static constexpr std::string_view kEach[] = {
      "fill",      "fill_",     "zero_",     "add_",        "sub_",       "mul_",          "div_",
      "pow_",      "clamp_",    "clip_",     "exp_",        "log_",       "sqrt_",         "rsqrt_",
      "abs_",      "neg_",      "relu_",     "sigmoid_",    "tanh_",      "sin_",          "cos_",
      "floor_",    "ceil_",     "round_",    "reciprocal_", "square_",    "negative_",     "divide_",
      "multiply_", "subtract_", "absolute_", "clamp_min_",  "clamp_max_", "floor_divide_", "remainder_"};
  return std::ranges::find(kEach, method) != std::end(kEach);
}

/// What has each of its elements once in a view of it, `x` of `x.view(-1)` and `x.T`; null for another expression.
/// `reshape`, `flatten` and `ravel` make copies of some arrays.
const ast::Expr* viewedBy(const ast::Expr& e) {
  static constexpr std::string_view kViews[] = {"view",      "t",        "transpose",  "permute",
                                                "unsqueeze", "squeeze",  "swapaxes",   "swapdims",
                                                "movedim",   "moveaxis", "expand_dims"};
  if (e.kind == ExprKind::Member) return e.text == "T" || e.text == "mT" ? e.args[0].get() : nullptr;
  if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member) return nullptr;
  return std::ranges::find(kViews, e.args[0]->text) == std::end(kViews) ? nullptr : e.args[0]->args[0].get();
}

/// What a call changes as a statement: its operand, or what its method is called of.
const ast::Expr* receiverOf(const ast::Expr& call) {
  if (const ast::Expr* operand = changedByCall(call)) return operand;
  return call.args[0]->kind == ExprKind::Member ? call.args[0]->args[0].get() : nullptr;
}

/// Whether it is, or is a part of, what an object holds, which goes on holding it: `self.b`.
bool isOfObject(const ast::Expr& e) {
  const ast::Expr* part = &e;
  while (part->kind == ExprKind::Index) part = part->args[0].get();
  return part->kind == ExprKind::Member && part->text != "T" && part->text != "data";
}

/// Whether a change of one expression changes the value of another, as far as the text tells: that of `x.clone()` for
/// `x.clone()[0]` and for `x.clone().view(-1)`.
bool passesOn(const ast::Expr& changed, const ast::Expr& from) {
  if (&changed == &from) return true;
  if (changed.kind == ExprKind::Index || changed.kind == ExprKind::Member) return passesOn(*changed.args[0], from);
  if (changed.kind != ExprKind::Call) return false;
  return passesOn(*changed.args[0], from) || std::ranges::any_of(changed.arguments, [&](const ast::Argument& a) {
           return a.value && passesOn(*a.value, from);
         });
}

}  // namespace

std::optional<TranslatedCall> Translation::changedCopy(const ast::Expr& e, const TranslatedCall& known,
                                                       const ast::File& file) {
  const ast::Expr* kept = nullptr;  // whose array the text has, and the call not
  const auto look = [&](const ast::Expr& operand) {
    if (known.whole != e.span || known.text != text(operand)) return;
    const ast::Expr* changed = changedByCall(e);  // `y.copy_(x)` gives `y`, not `x`
    const NameSet own = namesShared(file, changed ? *changed : e), given = namesShared(file, operand);
    if (std::ranges::any_of(given, [&](const std::string& n) { return !own.contains(n); })) kept = &operand;
  };
  if (e.args[0]->kind == ExprKind::Member && !hasForeignPrefix(*e.args[0], scopes_)) look(*e.args[0]->args[0]);
  for (const ast::Argument& a : e.arguments)
    if (a.value) look(*a.value);
  if (!kept) return std::nullopt;
  const std::string help =
      "values do not change in place, and what changes is a copy here: bind `var y = " + known.text +
      "`, and change that";
  const ast::Stmt* s = placeIn(file, e.span).statement;
  if (s && s->kind == StmtKind::Assign && s->target && s->target.get() != &e && passesOn(*s->target, e))
    return TranslatedCall{"", help, e.span};
  const ast::Expr* by = expressionAround(file, e.span, [&](const ast::Expr& call) {
    const ast::Expr* operand = call.kind == ExprKind::Call ? changedByCall(call) : nullptr;
    return operand && passesOn(*operand, e);
  });
  if (!by) return std::nullopt;
  if (changedByCall(*by) != &e || besideOf(file, *by) == Beside::Statement) return TranslatedCall{"", help, e.span};
  const auto before = texts_.find(&e);
  if (before != texts_.end()) return TranslatedCall{"", help, e.span};  // it is being written there
  texts_.emplace(&e, known.text);
  auto whole = this->known(*by);
  texts_.erase(&e);
  if (!whole || whole->text.empty() || whole->whole != by->span) return TranslatedCall{"", help, e.span};
  return whole;
}

/// The value that the method gives its tensor; empty where TL has no such operation.
std::string Translation::changed(const ast::Expr& e, const Callee& callee, const Given& given, Beside beside) {
  if (!callee.method && e.args[0]->args[0]->text == "init") return "";  // `eye_(w)` is not `eye(w)`
  Callee plain = callee;
  if (plain.name.ends_with('_')) plain.name.remove_suffix(1);
  for (const Callee& c : {callee, plain}) {
    for (const syntax::ForeignCall* row : syntax::foreignCalls(c.name)) {
      if (!fits(*row, c) || row->statement) continue;
      if (const auto found = byRow(*row, e, given, beside); found && !found->text.empty()) return found->text;
    }
  }
  const std::string name = nameOf(plain.name);
  if (!name.empty() && builtinRow(name)) return renamed(name, given);
  const bool named = std::any_of(given.begin(), given.end(), [](const auto& a) { return !a.name.empty(); });
  WrittenCall written{plain.name, callee.method, {}, beside};
  for (const syntax::ForeignArgument& a : given) written.operands.push_back({a.text, a.compound});
  return named ? "" : rewritten(written).value_or("");
}

bool Translation::changesItsOperand(const ast::Expr& call, const Callee& callee) {
  const ast::Expr* operand = changedByCall(call);
  if (!operand || callee.method) return operand;
  const std::string own = call.args[0]->args[0]->text + "." + std::string(callee.name);
  const bool known = !syntax::foreignCalls(callee.name).empty() || syntax::familiarName(callee.name) ||
                     !syntax::foreignCalls(own).empty();
  return isAskedInPlace(call) || (isPlaceOrTurned(*operand) && !known);
}

void Translation::throughViews(const ast::Expr& e, const Callee& callee, Given& given) {
  const ast::Expr* receiver = receiverOf(e);
  const ast::Expr* viewed = receiver;
  for (const ast::Expr* behind = receiver; behind; behind = viewedBy(*viewed)) {
    if (behind->kind == ExprKind::Call && hasForeignPrefix(*behind->args[0], scopes_)) return;
    viewed = behind;
  }
  // An array as index takes a copy there.
  const auto isOfPlace = [&](const ast::Subscript& s) {
    return s.kind == ast::Subscript::Kind::Slice ||
           (s.index && (s.index->kind == ExprKind::Int || rankOf(*s.index) == 0));
  };
  for (const ast::Expr* at = viewed; at && !at->args.empty(); at = at->args[0].get())
    if (!std::ranges::all_of(at->subscripts, isOfPlace)) return;
  const auto isNumber = [](const ForeignArgument& a) { return a.rank == 0 || a.number; };
  const bool numbers = !given.empty() && std::all_of(given.begin() + 1, given.end(), isNumber);
  if (viewed == receiver || !isPlace(*viewed) || !numbers || !changesEach(callee.name)) return;
  if (given[0].text == text(*receiver)) given[0] = argument(*viewed);
}

/// Where a call makes a view that a method changes, `x.view(-1)` in `x.view(-1).zero_()`: the whole of that, if it can
/// be written; nothing where it is no such call.
std::optional<TranslatedCall> Translation::viewChanged(const ast::Expr& e, const ast::File& file) {
  if (!viewedBy(e)) return std::nullopt;
  const ast::Expr* by = expressionAround(file, e.span, [&](const ast::Expr& call) {
    if (call.kind != ExprKind::Call || &call == &e) return false;
    const ast::Expr* viewed = receiverOf(call);
    while (viewed && viewed != &e) viewed = viewedBy(*viewed);
    return viewed && changesEach(call.args[0]->text);
  });
  if (!by || besideOf(file, *by) != Beside::Statement || !asked_.insert(&e).second) return std::nullopt;
  auto whole = call(*by);
  asked_.erase(&e);
  return whole;
}

bool Translation::assignsUnheld(const ast::Expr& e, std::string_view written) {
  const ast::Expr* receiver = receiverOf(e);
  if (!receiver || isPlace(*receiver)) return false;
  const std::string& own = text(*receiver);
  if (!written.starts_with(own + " ")) return false;
  const std::string_view sign = written.substr(own.size() + 1, written.find(' ', own.size() + 1) - own.size() - 1);
  return sign == "=" || sign == "+=" || sign == "-=" || sign == "*=" || sign == "/=";
}

TranslatedCall Translation::unheld(const ast::Expr& e) { return {"", std::string(kUnheld), e.span}; }

/// Whether the script reads what a method changes behind the call, or in the next trip of its loop.
bool Translation::readsAgain(const ast::Expr& call) const {
  const ast::File* file = context_.frame().unit->file;
  return file && readBehindChange(*file, call, *changedByCall(call));
}

/// `let y = x.exp_()` as `x = exp(x); let y = x`, and `f(zeros([3]).fill_(1.0))` as the value.
std::optional<TranslatedCall> Translation::changedWhereRead(const ast::Expr& e, const Callee& callee,
                                                            const Given& given, Beside beside) {
  const std::string made = changed(e, callee, given, beside);
  if (made.empty()) return std::nullopt;
  const ast::Expr& receiver = *changedByCall(e);
  const syntax::Familiar* known = syntax::familiarName(callee.name);
  const std::string help(known && !known->help.empty() ? known->help : kInPlace);
  TranslatedCall value{made, help, e.span};
  if (isOfObject(receiver)) return TranslatedCall{"", help, e.span};
  if (!readsAgain(e)) return value;
  if (!isInPlaceKnown(e)) return TranslatedCall{"", std::string(kMaybe), e.span};
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* s = file ? placeIn(*file, e.span).statement : nullptr;
  const bool whole = s && s->value.get() == &e && s->annotations.empty() &&
                     (s->kind == StmtKind::Let || s->kind == StmtKind::Var || s->kind == StmtKind::Assign);
  if (receiver.kind != ExprKind::Name || !whole) return TranslatedCall{"", help, e.span};
  const std::string& x = receiver.text;
  const Span before{e.span.file, s->span.begin, e.span.begin}, after{e.span.file, e.span.end, s->span.end};
  const std::string rest = std::string(context_.sources.text(before)) + x + std::string(context_.sources.text(after));
  return TranslatedCall{x + " = " + made + "; " + rest, help, s->span};
}

/// `x.clamp_(min=0)` as `x = maximum(x, 0)`: a method of PyTorch that changes its tensor, as a statement.
std::optional<TranslatedCall> Translation::inPlace(const ast::Expr& e, const Callee& callee, const Given& given,
                                                   Beside beside) {
  if (beside != Beside::Statement || given.empty() || !changesItsOperand(e, callee)) return std::nullopt;
  if (!isInPlaceKnown(e)) return TranslatedCall{"", std::string(kMaybe), e.span};
  const WrittenCall written = [&] {
    WrittenCall w{callee.name, callee.method, {}, beside};
    for (const syntax::ForeignArgument& a : given) w.operands.push_back({a.text, a.compound});
    return w;
  }();
  if (patternOf(written)) return std::nullopt;  // `x += 1` of its own
  const std::string made = changed(e, callee, given, Beside::Nothing);
  if (made.empty()) return std::nullopt;
  return TranslatedCall{given[0].text + " = " + made, std::string(kInPlace), e.span};
}

}  // namespace tenc::frontend
