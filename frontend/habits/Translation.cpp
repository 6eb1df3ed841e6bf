#include "frontend/habits/Translation.h"

#include <algorithm>
#include <cctype>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/CreatedDType.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Einops.h"
#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/InPlaceLayers.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/OtherMeanings.h"
#include "frontend/habits/OwnNames.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "ir/DeviceTable.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignFunctions.h"
#include "syntax/NumPyParameters.h"
#include "syntax/Tokens.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using syntax::ForeignArgument;
using syntax::ForeignCall;

/// The parts of an expression that are expressions themselves, in the order of the text; none of blocks and lambdas.
std::vector<const ast::Expr*> partsOf(const ast::Expr& e) {
  std::vector<const ast::Expr*> parts;
  if (e.kind == ExprKind::If || e.kind == ExprKind::Block || e.kind == ExprKind::Lambda) return parts;
  const auto add = [&](const ast::ExprPtr& p) {
    if (p) parts.push_back(p.get());
  };
  for (const ast::ExprPtr& p : e.args) add(p);
  for (const ast::Argument& a : e.arguments) {
    add(a.value);
    add(a.rangeEnd);
  }
  for (const ast::Subscript& s : e.subscripts)
    for (const auto* p : {&s.index, &s.lo, &s.hi, &s.step, &s.size}) add(*p);
  for (const ast::FieldInit& f : e.fields) add(f.value);
  std::sort(parts.begin(), parts.end(), [](auto* a, auto* b) { return a->span.begin < b->span.begin; });
  return parts;
}

/// The library whose module stands at the root of the member. Norms are NumPy's in `torch.linalg` too.
ForeignCall::Form libraryOf(const ast::Expr& member) {
  for (const ast::Expr* m = member.args[0].get(); m->kind == ExprKind::Member; m = m->args[0].get())
    if (m->text == "linalg") return ForeignCall::Form::NumPy;
  const std::string& root = rootOfMember(member).text;
  if (root == "math" || root == "random") return ForeignCall::Form::Python;
  for (const ast::Expr* m = member.args[0].get(); root == "jax" && m->kind == ExprKind::Member; m = m->args[0].get())
    if (m->text == "random") return ForeignCall::Form::Draws;
  const bool torch = root == "torch" || root == "F" || root == "nn";
  return torch ? ForeignCall::Form::Torch : ForeignCall::Form::NumPy;
}

/// The names in what a row writes that are no options, members or arguments: those that it takes from TL.
std::vector<std::string> namesIn(std::string_view pattern) {
  std::vector<std::string> names;
  for (size_t i = 0; i < pattern.size();) {
    if (pattern[i] == '{' && pattern.substr(i, 2) != "{{") {
      i = std::min(pattern.find('}', i), pattern.size() - 1) + 1;
    } else if (pattern[i] == '"') {
      i = std::min(pattern.find('"', i + 1), pattern.size() - 1) + 1;
    } else if (!syntax::isWordPart(pattern[i])) {
      ++i;
    } else {
      const size_t begin = i;
      while (i < pattern.size() && syntax::isWordPart(pattern[i])) ++i;
      const bool member = begin > 0 && pattern[begin - 1] == '.', option = i < pattern.size() && pattern[i] == ':';
      if (!member && !option) names.emplace_back(pattern.substr(begin, i - begin));
    }
  }
  return names;
}

/// Which part of a pair an expression takes: 0 or 1; -1 for none.
int partTaken(const ast::Expr& e) {
  if (e.kind == ExprKind::Member) return e.text == "values" ? 0 : e.text == "indices" ? 1 : -1;
  if (e.kind != ExprKind::Index || e.subscripts.size() != 1 || !e.subscripts[0].index) return -1;
  const ast::Expr& i = *e.subscripts[0].index;
  return i.kind == ExprKind::Int && i.text == "0" ? 0 : i.kind == ExprKind::Int && i.text == "1" ? 1 : -1;
}

/// The expression of the file that takes one part of what the call gives; null for none.
const ast::Expr* takerOf(const ast::File& file, const ast::Expr& call) {
  return expressionAround(file, call.span, [&](const ast::Expr& e) {
    return !e.args.empty() && e.args[0].get() == &call && partTaken(e) >= 0;
  });
}
}  // namespace

bool hasForeignPrefix(const ast::Expr& member, Scopes& scopes) {
  const ast::Expr& root = rootOfMember(member);
  if (member.kind != ExprKind::Member || root.kind != ExprKind::Name) return false;
  bool functional = false;  // nn.functional.relu
  for (const ast::Expr* m = member.args[0].get(); m->kind == ExprKind::Member; m = m->args[0].get())
    functional |= m->text == "functional";
  const syntax::Familiar* head = syntax::familiarName(root.text);
  if (head == nullptr || scopes.isRenamed(root.text)) return false;
  return (functional && head->layer) || (head->prefix && (!scopes.nameExists(root.text) || scopes.lostName(root.text) ||
                                                          scopes.notImported(root.text)));
}

bool hasOtherMeaning(const ast::Expr& library, const std::string& name) {
  using Form = syntax::ForeignCall::Form;
  const Form form = library.text == "np" || library.text == "numpy" ? Form::NumPy : Form::Torch;
  std::vector<const syntax::ForeignCall*> rows = syntax::foreignCalls(name);
  for (const syntax::ForeignCall* row : syntax::foreignCalls("torch." + name)) rows.push_back(row);
  return builtinRow(name) && std::ranges::any_of(rows, [&](const auto* row) { return row->form == form; });
}

std::string Translation::nameOf(std::string_view foreign) const {
  if (scopes_.nameExists(foreign)) return std::string(foreign);
  const syntax::Familiar* known = syntax::familiarName(foreign);
  if (known == nullptr || known->replacement.empty()) return "";
  return known->keyword || scopes_.nameExists(known->replacement) ? std::string(known->replacement) : "";
}

bool isOfScript(const std::string& name, Context& context, Scopes& scopes) {
  return scopes.named(name) != nullptr || context.frame().undeclared.contains(name) ||
         context.frame().unit->functions.contains(name);
}

bool isOwnName(const std::string& name, Context& context, Scopes& scopes) {
  return (builtinRow(name) != nullptr || builtinConstant(name, {})) && isOfScript(name, context, scopes);
}

std::optional<Translation::Callee> Translation::calleeOf(const ast::Expr& callee) const {
  if (callee.kind == ExprKind::Name) {
    if (scopes_.nameExists(callee.text)) return std::nullopt;
    const std::vector<const ForeignCall*> rows = syntax::foreignCalls(callee.text);
    const bool layer = std::any_of(rows.begin(), rows.end(), [](auto* r) { return r->form == Form::Layer; });
    return Callee{callee.text, layer ? Form::Layer : Form::Prefixed};
  }
  if (callee.kind != ExprKind::Member) return std::nullopt;
  const std::string_view name = callee.text;
  const ast::Expr& root = rootOfMember(callee);
  const syntax::Familiar* head = root.kind == ExprKind::Name ? syntax::familiarName(root.text) : nullptr;
  const bool layers = head != nullptr && head->layer && head->replacement.empty();
  for (const ast::Expr* m = callee.args[0].get(); m->kind == ExprKind::Member; m = m->args[0].get()) {
    const syntax::Familiar* part = syntax::familiarName(m->text);
    if (part != nullptr && part->refused && syntax::foreignCalls(m->text + "." + std::string(name)).empty())
      return std::nullopt;
  }
  if (hasForeignPrefix(callee, scopes_)) {
    const std::vector<const ForeignCall*> rows = syntax::foreignCalls(name);
    const bool layer = std::any_of(rows.begin(), rows.end(), [](auto* r) { return r->form == Form::Layer; });
    return Callee{name, layer ? Form::Layer : Form::Prefixed, false, libraryOf(callee)};
  }
  const Unit& unit = *context_.frame().unit;
  const auto module = root.kind == ExprKind::Name ? unit.modules.find(root.text) : unit.modules.end();
  if (module != unit.modules.end()) {
    const Unit& in = *module->second;
    const auto from = in.names.find(name);  // nn.kaiming, which is that of `init`
    const bool imported = from != in.names.end() && from->second.first->functions.contains(from->second.second);
    if (imported || in.functions.contains(name)) return std::nullopt;
    const auto nested = in.modules.find(callee.args[0]->text);  // nn.init.uniform
    if (callee.args[0].get() != &root && nested != in.modules.end() &&
        nested->second->functions.contains(std::string(name)))
      return std::nullopt;
    const bool layer = layers || !syntax::foreignCalls(name).empty();
    // A struct of the module has the name of the layer that its function makes.
    return layer ? std::optional(Callee{name, Form::Layer}) : std::nullopt;
  }
  if (layers && !scopes_.nameExists(root.text)) return Callee{name, Form::Layer};
  // A value of that name is not what a method calls.
  const Binding* local = scopes_.named(name);
  const bool isFunction = local && (local->value.is(Val::Kind::Function) || local->value.poison());
  if (local ? isFunction : scopes_.nameExists(name)) return std::nullopt;
  return Callee{name, Form::Method, true};
}

/// Whether it is a variable of the script in Python's way, `half = n // 2`, whatever else it could mean.
bool Translation::isAssigned(const std::string& name) const {
  const ast::File* file = context_.frame().unit->file;
  return file && (assigns(*file, name) || scopes_.lostName(name));
}

ForeignArgument Translation::argument(const ast::Expr& value) {
  const WrittenOperand written = operandOf(value, "");
  ForeignArgument a{"", text(value), written.compound};
  a.compound = a.compound || isOpen(a.text);
  if (const std::string dtype = dtypeMeant(value); !dtype.empty()) a.text = dtype;
  const bool negative = value.kind == ExprKind::Unary && value.args[0]->kind == ExprKind::Int;
  a.number = value.kind == ExprKind::Int || negative;
  a.rank = rankOf(value);
  a.shape = shapeOf(value);
  a.dtype = dtypeOf(value);
  a.always = value.kind == ExprKind::Int || value.kind == ExprKind::Float || !isOfManyTypes(value.span);
  if (value.kind == ExprKind::Tuple || value.kind == ExprKind::Array)
    for (const ast::ExprPtr& p : value.args) a.parts.push_back(text(*p));
  return a;
}

std::vector<ForeignArgument> Translation::argumentsOf(const ast::Expr& e, bool method, Form library) {
  std::vector<ForeignArgument> list;
  if (method) list.push_back(argument(*e.args[0]->args[0]));
  const syntax::NumPyParameters known =
      library == Form::NumPy ? syntax::numPyParameters(e.args[0]->text) : syntax::NumPyParameters();
  size_t place = list.size();
  for (const ast::Argument& a : e.arguments) {
    ForeignArgument given = argument(*a.value);
    const size_t behind = a.name ? 0 : place++;
    if (a.name) {
      given.name = a.name->text;
    } else if (behind >= known.operands && behind - known.operands < known.behind.size()) {
      const std::string_view name = known.behind[behind - known.operands];
      if (given.text == "None" && !(known.flattens && name == "axis")) continue;
      given.name = name;
      given.placed = true;
    }
    list.push_back(std::move(given));
  }
  return list;
}

namespace {
/// Whether the result is to be written into an array that is there.
bool asksForOut(const std::vector<ForeignArgument>& given) {
  return std::ranges::any_of(given, [](const ForeignArgument& a) { return a.name == "out" && a.text != "None"; });
}
}  // namespace

bool Translation::fits(const ForeignCall& row, const Callee& callee) {
  if (callee.library == Form::Draws || row.form == Form::Draws) return callee.library == row.form;
  const bool library =
      row.form == Form::Torch || row.form == Form::NumPy || row.form == Form::Python || row.form == Form::Builtin;
  if (library) return callee.form == Form::Prefixed && callee.library == row.form;
  return row.form == Form::Any || row.form == callee.form;
}

std::string Translation::ownNameIn(std::string_view pattern) const {
  const std::vector<std::string> names = namesIn(pattern);
  const auto own = std::find_if(names.begin(), names.end(), [&](auto& n) { return isOwnName(n, context_, scopes_); });
  return own == names.end() ? "" : *own;
}

std::optional<TranslatedCall> Translation::byRow(const ForeignCall& row, const ast::Expr& e, const Given& given,
                                                 Beside beside) {
  const std::string device = ir::DeviceTable::accelerator();
  const std::string_view kind = ir::DeviceTable::kindOf(device);
  auto text = syntax::rewritten(row, given, kind);
  if (!text) return std::nullopt;
  const syntax::Familiar* known = syntax::familiarName(row.name());
  const std::string said = known && !known->help.empty() ? std::string(known->help) : "this is how TL writes it";
  const std::string help = row.help.empty() ? said : std::string(row.help);
  if (const std::string own = ownNameIn(row.text); !own.empty()) return TranslatedCall{"", ownNameHelp(own), e.span};
  if (text->empty()) return TranslatedCall{"", help, e.span};
  if (!row.instead.empty()) {
    const ast::File* file = context_.frame().unit->file;
    const ast::Stmt* s = file ? placeIn(*file, e.span).statement : nullptr;
    const bool binds =
        s && s->value.get() == &e && (s->kind == ast::Stmt::Kind::Let || s->kind == ast::Stmt::Kind::Var);
    if (!binds) return TranslatedCall{"", help, e.span};
    return TranslatedCall{*text, help, s->span, row.instead == "-" ? "" : std::string(row.instead)};
  }
  if (!row.second.empty() || row.taken) {
    const ast::File* file = context_.frame().unit->file;
    const ast::Expr* taker = file != nullptr ? takerOf(*file, e) : nullptr;
    if (row.taken && taker == nullptr) return std::nullopt;
    const std::string second = syntax::rewrittenSecond(row, given, kind).value_or("");
    if (taker == nullptr) return TranslatedCall{"(" + *text + ", " + second + ")", help, e.span};
    const std::string& part = partTaken(*taker) == 0 ? *text : second;
    const bool operand = isOpen(part) && besideOf(*file, *taker) == Beside::Operator;
    return TranslatedCall{operand ? "(" + part + ")" : part, help, taker->span};
  }
  if (!row.statement && beside == Beside::Operator && isOpen(*text)) text = "(" + *text + ")";
  return TranslatedCall{*text, help, e.span};
}

namespace {
/// What PyTorch and NumPy call the first parameter of most of their functions.
bool isFirstOperand(std::string_view name) { return name == "input" || name == "a" || name == "x"; }
}  // namespace

std::string Translation::renamed(const std::string& name, const Given& given) const {
  const BuiltinRow* row = builtinRow(name);
  const bool counts = row && !row->signature.variadic() && row->traits.pairwise.empty() &&
                      std::ranges::none_of(row->signature.parameters(), [](const Parameter& p) {
                        return p.kind == Parameter::Kind::Shape || p.kind == Parameter::Kind::Tensors;
                      });
  std::set<std::string> options;
  bool others = false;  // an error of the call says which options they are for
  const auto has = [&](std::string_view option) { return row != nullptr && row->signature.find(option) != nullptr; };
  const bool reduces = has("axis") && row->signature.find("axis")->namedOnly;
  std::string text = name + "(";
  for (size_t i = 0; i < given.size(); ++i) {
    const ForeignArgument& a = given[i];
    std::string option = a.name;
    if (row && !has(option) && isFirstOperand(option)) option.clear();
    const syntax::Familiar* known = option.empty() ? nullptr : syntax::familiarOption(option);
    if (known != nullptr && !has(option) && has(known->replacement)) option = known->replacement;
    if (known != nullptr && !has(option) && syntax::meansNothing(*known, a.text)) continue;
    if (option.empty() && reduces && i > 0 && row->signature.positional(i) == nullptr &&
        (a.number || (!a.parts.empty() && a.text.starts_with("(")))) {
      if (counts && others) return "";
      option = "axis";
    }
    others = others || (option.empty() && counts && !row->signature.positional(i));
    if (counts && !option.empty() && ((a.placed && !has(option)) || !options.insert(option).second)) return "";
    std::string value = a.text;
    if (option == "dtype" && value.size() > 2 && value.front() == '"')
      if (const std::string dtype = nameOf(value.substr(1, value.size() - 2)); !dtype.empty()) value = dtype;
    text += (text.ends_with('(') ? "" : ", ") + (option.empty() ? "" : option + ": ") + value;
  }
  return text + ")";
}

namespace {
/// The variable that a statement assigns, in place or not; empty for another statement.
std::string_view assignedIn(std::string_view text) {
  const size_t end = static_cast<size_t>(std::ranges::find_if_not(text, syntax::isWordPart) - text.begin());
  size_t at = end;
  for (int depth = 0; at < text.size() && (depth > 0 || text[at] != ' '); ++at)
    depth += text[at] == '[' || text[at] == '(' ? 1 : text[at] == ']' || text[at] == ')' ? -1 : 0;
  const std::string_view op = text.substr(at, text.find(' ', std::min(at + 1, text.size())) - at);
  const bool compares = op == " ==" || op == " !=" || op == " <=" || op == " >=";
  return op.ends_with('=') && !compares ? text.substr(0, end) : std::string_view();
}
}  // namespace

/// Whether `a.copy()` becomes `a` while syntax errors hide what the name that it is bound to shares its array with.
bool Translation::dropsCopy(const ast::Expr& e, const TranslatedCall& known, const ast::File& file) {
  const ast::Expr& callee = *e.args[0];
  const ast::Expr* operand = !e.arguments.empty()              ? e.arguments[0].value.get()
                             : callee.kind == ExprKind::Member ? callee.args[0].get()
                                                               : nullptr;
  const ast::Stmt* s = placeIn(file, e.span).statement;
  const std::string bound = s && s->value.get() == &e ? nameBound(*s) : "";
  return operand && !bound.empty() && known.text == text(*operand) && hasUnread(file) &&
         isAssignedBehind(file, s->span, bound);
}

namespace {
/// `m.w.T += v` as `m.w += (v).T`: the weight of a layer lies the other way round here, and a transposition is no
/// place.
std::string assignedTransposed(const std::string& text) {
  const size_t turn = text.find(".T "), value = text.find("= ");
  if (turn == text.npos || value == text.npos || value > turn + 4 || text.find_first_of(" (") < turn) return text;
  const std::string given = text.substr(value + 2);
  const bool number = given.find_first_not_of("0123456789._-") == given.npos;
  return text.substr(0, turn) + text.substr(turn + 2, value - turn) + (number ? given : "(" + given + ").T");
}
}  // namespace

namespace {
std::string inPlaceHelp(const std::string& read) {
  const std::string what = read.empty() ? "what it is called with" : "`" + read + "`";
  return "the layer changes " + what + ", which " + (read.empty() ? "may be" : "is") +
         " read later: here it gives a new value, so bind that name again where the change is meant, and leave "
         "`inplace` out where it is not";
}
}  // namespace

namespace {
/// Whether a statement changes what a call gives, and nothing else has: `x.copy().sort()`.
bool isSortedInPlace(const ast::Expr& e, const ast::File& file) {
  const ast::Expr* by = expressionAround(file, e.span, [&](const ast::Expr& call) {
    return call.kind == ExprKind::Call && call.args[0]->kind == ExprKind::Member && call.args[0]->args[0].get() == &e &&
           syntax::isInPlaceElsewhere(call.args[0]->text);
  });
  return by && besideOf(file, *by) == Beside::Statement;
}
}  // namespace

std::optional<TranslatedCall> Translation::call(const ast::Expr& e) {
  auto found = known(e);
  const ast::File* file = context_.frame().unit->file;
  if (found) found->text = assignedTransposed(found->text);
  if (found && assignsUnheld(e, found->text)) return unheld(e);
  if (found && !found->text.empty() && found->whole == e.span)
    found->text = inItsDType(context_, scopes_, e, found->text);
  if (file && (!found || (!found->text.empty() && found->whole == e.span)))
    if (auto whole = viewChanged(e, *file)) return whole;
  const std::string name(found ? assignedIn(found->text) : "");
  if (found && file && !found->text.empty())
    if (auto changed = changedCopy(e, *found, *file)) return changed;
  if (found && file && !found->text.empty() && isSortedInPlace(e, *file)) return unheld(e);
  if (found && file && dropsCopy(e, *found, *file)) return TranslatedCall{"", found->help, e.span};
  if (found && file && makesInPlaceLayer(e))
    if (const auto read = changedByLayer(*file, e)) return TranslatedCall{"", inPlaceHelp(*read), e.span};
  if (name.empty() || !file) return found;
  if (const auto other = aliasRead(*file, name, e.span)) return TranslatedCall{"", aliasHelp(name, *other), e.span};
  return found;
}

std::optional<TranslatedCall> Translation::known(const ast::Expr& e) {
  const bool plain = std::all_of(e.arguments.begin(), e.arguments.end(),
                                 [](const ast::Argument& a) { return a.value && !a.rangeEnd; });
  const std::optional<Callee> callee = plain ? calleeOf(*e.args[0]) : std::nullopt;
  if (!callee) return std::nullopt;
  const ast::File* file = context_.frame().unit->file;
  const Beside beside = file != nullptr ? besideOf(*file, e) : Beside::Operator;
  Given given = argumentsOf(e, callee->method, callee->library);
  if (!callee->method && asksForOut(given))
    return TranslatedCall{"", std::string(syntax::familiarOption("out")->help), e.span};
  if (const auto option = callee->method ? std::nullopt : inPlaceArgument(e))
    given.erase(given.begin() + static_cast<std::ptrdiff_t>(*option));
  const bool changed = changesItsOperand(e, *callee);
  if (callee->method && beside == Beside::Statement) throughViews(e, *callee, given);
  if (changed && beside != Beside::Statement)
    if (auto there = changedWhereRead(e, *callee, given, beside); there || callee->method) return there;
  if (const std::string both = beside == Beside::Range && file ? nameOfLoops(*file, e.span) : ""; !both.empty())
    return TranslatedCall{"",
                          "a loop has a name of its own, which ends with it; in Python `" + both +
                              "` is then what the inner loop left: give it another",
                          e.span};
  if (callee->name == "rearrange" && !callee->method)
    if (auto arranged = rearrangedCall(e)) return arranged;
  if (callee->name == "device" && !callee->method)
    if (auto device = deviceCall(e)) return device;
  std::vector<const ForeignCall*> rows = syntax::foreignCalls(callee->name);
  if (e.args[0]->kind == ExprKind::Member) {  // those of one module alone come first
    std::vector<const ForeignCall*> own =
        syntax::foreignCalls(e.args[0]->args[0]->text + "." + std::string(callee->name));
    rows.insert(rows.begin(), own.begin(), own.end());
  }
  for (const ForeignCall* row : rows) {
    const bool statement = beside == Beside::Statement;
    if (!fits(*row, *callee) || (row->statement && !statement)) continue;
    if (statement && !row->statement && changed) continue;  // inPlace
    if (auto found = byRow(*row, e, given, beside)) return found;
  }
  if (auto placed = inPlace(e, *callee, given, beside)) return placed;
  const bool named = std::any_of(given.begin(), given.end(), [](const auto& a) { return !a.name.empty(); });
  if (!named) {
    WrittenCall written{callee->name, callee->method, {}, beside};
    for (const ForeignArgument& a : given) written.operands.push_back({a.text, a.compound});
    const syntax::Familiar* known = syntax::familiarName(callee->name);
    const std::string said = known && !known->help.empty() ? std::string(known->help) : "this is how TL writes it";
    if (const syntax::FamiliarCall* row = patternOf(written)) {
      if (const std::string own = ownNameIn(row->pattern); !own.empty())
        return TranslatedCall{"", ownNameHelp(own), e.span};
      const ast::Stmt* s = file ? placeIn(*file, e.span).statement : nullptr;
      const bool number = callee->method ? syntax::givesNumbers(callee->name)
                                         : callee->name == "float" && !isOfLiterals(*e.arguments[0].value);
      const bool cuts = number && s && s->kind != ast::Stmt::Kind::Expr;
      const std::string text = *rewritten(written);
      return TranslatedCall{cuts && isTrained(*file) ? "stop_gradient(" + text + ")" : text, said, e.span};
    }
  }
  if (e.args[0]->kind == ExprKind::Name) return std::nullopt;  // a name alone is suggested by its spelling
  const std::string name = nameOf(callee->name);
  if (name.empty() || callee->method) return std::nullopt;
  if (callee->form == Form::Layer && !hasForeignPrefix(*e.args[0], scopes_)) return std::nullopt;
  if (isOfScript(name, context_, scopes_)) return TranslatedCall{"", ownNameHelp(name), e.span};
  const std::string text = renamed(name, given);
  if (text.empty())
    return TranslatedCall{"", "it takes other arguments here: " + builtinRow(name)->signature.text(), e.span};
  return TranslatedCall{text, "operations have no prefix", e.span};
}

std::optional<TranslatedCall> Translation::rearrangedCall(const ast::Expr& e) {
  const auto& all = e.arguments;
  if (all.size() < 2 || all[0].name || all[0].value->kind != ExprKind::Name || all[1].name ||
      all[1].value->kind != ExprKind::String)
    return std::nullopt;
  std::map<std::string, std::string, std::less<>> sizes;
  for (size_t i = 2; i < all.size(); ++i) {
    if (!all[i].name) return std::nullopt;
    const ForeignArgument size = argument(*all[i].value);
    sizes[all[i].name->text] = size.compound ? "(" + size.text + ")" : size.text;
  }
  std::string pattern(context_.sources.text(all[1].value->span));
  std::erase_if(pattern, [](char c) { return c == '"' || c == '\''; });
  const auto text = rearranged(this->text(*all[0].value), pattern, sizes);
  if (!text) return std::nullopt;
  return TranslatedCall{*text, std::string(syntax::familiarName("rearrange")->help), e.span};
}

/// `torch.device("cuda:0")`, where it is bound as a device line.
std::optional<TranslatedCall> Translation::deviceCall(const ast::Expr& e) const {
  if (e.arguments.size() != 1 || e.arguments[0].name || e.arguments[0].value->kind != ExprKind::String)
    return std::nullopt;
  std::string device(context_.sources.text(e.arguments[0].value->span));
  std::erase_if(device, [](char c) { return c == '"' || c == '\''; });
  if (!ir::DeviceTable::isKind(ir::DeviceTable::kindOf(device))) return std::nullopt;
  const std::string help(syntax::familiarName("device")->help);
  const ast::File* file = context_.frame().unit->file;
  const StatementPlace at = file ? placeIn(*file, e.span) : StatementPlace{};
  const ast::Stmt* s = at.statement;
  // Devices are declared by the script itself, not by what is in a block.
  const bool whole = s && !at.outer && s->value.get() == &e && (!s->target || s->target->kind == ExprKind::Name);
  const std::string& name = !whole ? e.text : s->target ? s->target->text : s->pattern.name.text;
  if (!whole || name.empty()) return TranslatedCall{device, help, e.span};
  const bool host = device == ir::DeviceTable::kHost;
  const std::string line = host ? "device " + name + " = " + device : deviceLine(name, device);
  return TranslatedCall{line, help, s->span};
}

std::optional<TranslatedCall> Translation::calledOtherwise(const ast::Expr& e) {
  const ast::Expr& name = *e.args[0];
  const bool method = name.kind == ExprKind::Member;
  const Callee callee{name.text, method ? Form::Method : Form::Prefixed, method, method ? Form::Any : Form::Builtin};
  const std::vector<const ForeignCall*> rows = syntax::foreignCalls(callee.name);
  if (std::none_of(rows.begin(), rows.end(), [](auto* r) { return r->apart; })) return std::nullopt;
  const Given given = argumentsOf(e, method);
  const ast::File* file = context_.frame().unit->file;
  const Beside beside = file != nullptr ? besideOf(*file, e) : Beside::Operator;
  for (const ForeignCall* row : rows) {
    if (!row->apart || !fits(*row, callee)) continue;
    if (auto found = byRow(*row, e, given, beside)) return found;
  }
  return std::nullopt;
}

std::optional<TranslatedCall> Translation::methodOfTorch(const ast::Expr& e) {
  if (e.args[0]->kind != ExprKind::Member || hasForeignPrefix(*e.args[0], scopes_)) return std::nullopt;
  const Callee callee{e.args[0]->text, Form::Prefixed, true, Form::Torch};
  const ast::File* file = context_.frame().unit->file;
  const Beside beside = file != nullptr ? besideOf(*file, e) : Beside::Operator;
  std::vector<const ForeignCall*> rows = syntax::foreignCalls("torch." + std::string(callee.name));
  for (const ForeignCall* row : syntax::foreignCalls(callee.name)) rows.push_back(row);
  for (const ForeignCall* row : rows) {
    if (row->form != Form::Torch) continue;
    auto found = byRow(*row, e, argumentsOf(e, true), beside);
    if (!found) continue;
    return file ? asItsLibrary(*file, e, *found) : found;
  }
  return std::nullopt;
}

std::optional<TranslatedCall> Translation::methodOfNumPy(const ast::Expr& e) {
  const ast::Expr& callee = *e.args[0];
  const bool plain = std::ranges::all_of(e.arguments, [](const ast::Argument& a) { return a.value && !a.rangeEnd; });
  if (!plain || callee.kind != ExprKind::Member || hasForeignPrefix(callee, scopes_) ||
      context_.frame().unit->functions.contains(callee.text))
    return std::nullopt;
  const auto placed = std::ranges::count_if(e.arguments, [](const ast::Argument& a) { return !a.name; });
  const ast::File* file = context_.frame().unit->file;
  const Beside beside = file != nullptr ? besideOf(*file, e) : Beside::Operator;
  for (const ForeignCall* row : syntax::foreignCalls(callee.text)) {
    if (row->form != Form::Array || std::ranges::count(row->call, '!') > placed) continue;
    if (auto found = byRow(*row, e, argumentsOf(e, true, Form::NumPy), beside)) return found;
  }
  return std::nullopt;
}

const std::string& Translation::text(const ast::Expr& e) {
  if (const auto known = texts_.find(&e); known != texts_.end()) return known->second;
  return texts_.emplace(&e, translate(e)).first->second;
}

std::string Translation::translate(const ast::Expr& e) {
  const bool takes = (e.kind == ExprKind::Index || e.kind == ExprKind::Member) && partTaken(e) >= 0;
  const ast::Expr& called = takes ? *e.args[0] : e;
  if (called.kind == ExprKind::Call) {
    const auto known = call(called);
    if (known && !known->text.empty() && known->whole == e.span) return known->text;
  }
  // `torch.std`, given on, stays until it is made a lambda.
  if (e.kind == ExprKind::Member && hasForeignPrefix(e, scopes_) && !hasOtherMeaning(rootOfMember(e), e.text)) {
    if (const std::string name = nameOf(e.text); !name.empty() && !isOfScript(name, context_, scopes_)) return name;
  }
  if (e.kind == ExprKind::Name && !scopes_.nameExists(e.text)) {
    if (const std::string name = nameOf(e.text); !name.empty() && !isAssigned(e.text)) return name;
  }
  const std::string_view source = context_.sources.text(e.span);
  std::string out;
  uint32_t at = e.span.begin;
  for (const ast::Expr* part : partsOf(e)) {
    if (part->span.begin < at || part->span.end > e.span.end) continue;
    out += source.substr(at - e.span.begin, part->span.begin - at);
    out += text(*part);
    at = part->span.end;
  }
  return out + std::string(source.substr(at - e.span.begin));
}

}  // namespace tenc::frontend
