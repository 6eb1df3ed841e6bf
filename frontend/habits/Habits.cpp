// Errors about names and calls that people bring along from NumPy, PyTorch and Python: what TL writes in their place.
#include "frontend/habits/Habits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/StdModules.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/calls/Arguments.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/BatchedLoops.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Draws.h"
#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/JoinedText.h"
#include "frontend/habits/ListArithmetic.h"
#include "frontend/habits/LossScaling.h"
#include "frontend/habits/OwnNames.h"
#include "frontend/habits/ParameterLoops.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/Schedules.h"
#include "frontend/habits/TrainingMode.h"
#include "frontend/habits/TrainingStep.h"
#include "frontend/habits/Translation.h"
#include "frontend/habits/TypeTests.h"
#include "frontend/habits/UntrainedTensors.h"
#include "frontend/habits/ValueGradient.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/ForeignClass.h"
#include "syntax/FormatCall.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

}  // namespace

std::optional<Help> Habits::withItsUses(const ast::Expr& call) {
  if (auto loops = batchedLoops(context_, scopes_, call)) return loops;
  if (auto changed = parameterLoop(context_, call)) return changed;
  if (auto training = unscaledTraining(context_, call)) return training;
  if (auto rate = scheduledRate(context_, call)) return rate;
  if (auto gradient = tupleOfGradient(context_, scopes_, call)) return gradient;
  return typeTest(context_, scopes_, call);
}

namespace {
/// Whether a loop comes to a call in some of its trips only.
bool isSometimes(const ast::File& file, const ast::Expr& call) {
  const ast::Stmt* loop = statementAround(file, call.span, {ast::Stmt::Kind::For, ast::Stmt::Kind::While});
  const ast::Expr* branch = expressionAround(file, call.span, ExprKind::If);
  return loop && branch && loop->span.begin < branch->span.begin && branch->span.end <= loop->span.end;
}
}  // namespace

bool Habits::offerRewrite(Diagnostics::Builder& d, const ast::Expr& call, const CallArgs* args) {
  const ast::Expr& callee = *call.args[0];
  const ast::File* file = context_.frame().unit->file;
  const bool method = callee.kind == ExprKind::Member;
  const bool inFront = args && args->args.size() == 2 && args->args[0].value.is(Val::Kind::Int) &&
                       args->args[0].value.integer == 0;  // `xs.insert(0, x)`
  if (method && ((callee.text == "append" && args && args->args.size() == 1) || (callee.text == "insert" && inFront))) {
    const auto known = appended(context_, call, args->args.back().value);
    if (known)
      d.help(known->text, known->edits);
    else if (file && isSometimes(*file, call))
      d.help(
          "how many the loop appends is known only when it runs: make room for the most, `var xs = zeros([n])` and "
          "`var k = 0`, set `xs[k] = x; k += 1`, and read those before `k`");
    else
      d.help(std::string(syntax::familiarName("append")->help));
    return true;
  }
  if (const auto loaded = method ? loadedModel(call) : std::nullopt) {
    d.help(loaded->text, loaded->edits);
    return true;
  }
  const ast::Stmt* holder =
      method && callee.text == "state_dict" && file ? placeIn(*file, call.span).statement : nullptr;
  if (holder && holder->value.get() == &call) {
    d.help(
        "what PyTorch gives here changes with the model; a model is a value here, so `saved = m` keeps what it is now");
    return true;
  }
  if (method && callee.text == "backward") {
    if (const auto untrained = file ? untrainedTensor(*file) : std::nullopt) {
      d.help(untrained->help);
      return true;
    }
    auto step = trainingStep(context_, call);
    if (!step) step = backwardStep(context_, call);
    if (!step) step = namedLoss(context_, call);
    if (step) {
      d.help(step->text, step->edits);
      return true;
    }
  }
  const syntax::Familiar* named = method ? syntax::familiarName(callee.text) : nullptr;
  const auto mode = named && named->nothing && named->ofNetwork && file ? trainingMode(*file) : std::nullopt;
  if (mode) {
    d.help(mode->help);
    return true;
  }
  const ast::Stmt* alone = named && named->nothing && file ? placeIn(*file, call.span).statement : nullptr;
  if (alone && named->ofGradients && isTrained(*file)) {  // the step takes it along
    d.help(std::string(named->help));
    return true;
  }
  if (alone && freezes(call)) {
    d.help(std::string(kFrozenHelp));
    return true;
  }
  if (alone && alone->kind == ast::Stmt::Kind::Expr && alone->value.get() == &call) {
    d.help(std::string(named->help), untrainedTensor(*file)
                                         ? std::vector<Edit>()
                                         : std::vector<Edit>{syntax::removed(context_.sources, call.span)});
    return true;
  }
  if (callee.kind == ExprKind::Member && ir::DeviceTable::isKind(callee.text) && call.arguments.empty()) {
    d.help("a value is moved with `.to`",
           {{Span{call.span.file, callee.opSpan.begin, call.span.end}, "to(" + callee.text + ")"}});
    return true;
  }
  if (const auto uses = withItsUses(call)) {
    d.help(uses->text, uses->edits);
    return true;
  }
  Translation translation(context_, scopes_);
  const auto known = translation.call(call);
  if (!known) return false;
  if (const auto held = appendedCopy(call, known->text))
    d.help(held->text, held->edits);
  else
    d.help(known->help, translation.edits(*known));
  return true;
}

/// `b.load_state_dict(a.state_dict())` as `b = a`.
std::optional<Help> Habits::loadedModel(const ast::Expr& call) const {
  const ast::File* file = context_.frame().unit->file;
  const ast::Expr& callee = *call.args[0];
  if (!file || callee.text != "load_state_dict" || call.arguments.size() != 1 || !call.arguments[0].value)
    return std::nullopt;
  const auto isPlace = [](const ast::Expr& e) { return e.kind == ExprKind::Name || e.kind == ExprKind::Member; };
  const ast::Expr& given = *call.arguments[0].value;
  const bool asks = given.kind == ExprKind::Call && given.arguments.empty() && given.args[0]->text == "state_dict";
  const ast::Expr& from = asks ? *given.args[0]->args[0] : given;
  const ast::Expr& to = *callee.args[0];
  const ast::Expr* root = rootOf(to);
  const bool reads = given.kind == ExprKind::Call && given.args[0]->text == "load" && !given.arguments.empty() &&
                     given.arguments[0].value && given.arguments[0].value->kind == ExprKind::String;
  if ((!reads && !isPlace(from)) || !isPlace(to) || !root || besideOf(*file, call) != Beside::Statement)
    return std::nullopt;
  if (const auto other = aliasRead(*file, root->text, call.span)) return Help{aliasHelp(root->text, *other), {}};
  const std::string model(context_.sources.text(to.span));
  if (reads) {
    std::string path(context_.sources.text(given.arguments[0].value->span));
    for (const std::string_view ending : {".pt\"", ".pth\"", ".bin\""})
      if (path.ends_with(ending)) path = path.substr(0, path.size() - ending.size()) + ".safetensors\"";
    return Help{std::string(syntax::familiarName(callee.text)->help),
                {{call.span, model + " = load(" + path + ", like: " + model + ")"}}};
  }
  return Help{"a model is a value: assign it",
              {{call.span, model + " = " + std::string(context_.sources.text(from.span))}}};
}

/// `xs.append(x.copy())` as a whole, while it can be seen that the list holds copies.
std::optional<Help> Habits::appendedCopy(const ast::Expr& copy, const std::string& written) const {
  const ast::File* file = context_.frame().unit->file;
  const ast::Expr* list = file ? expressionAround(*file, copy.span,
                                                  [&](const ast::Expr& e) {
                                                    return e.kind == ExprKind::Call &&
                                                           e.args[0]->kind == ExprKind::Member &&
                                                           e.args[0]->text == "append" && e.arguments.size() == 1 &&
                                                           e.arguments[0].value.get() == &copy;
                                                  })
                               : nullptr;
  const ast::Expr& callee = *copy.args[0];
  const ast::Expr* operand = !copy.arguments.empty()           ? copy.arguments[0].value.get()
                             : callee.kind == ExprKind::Member ? callee.args[0].get()
                                                               : nullptr;
  if (!list || !operand || written != Translation(context_, scopes_).text(*operand)) return std::nullopt;
  // Of the same shape and dtype: `x.detach().cpu()`, `stop_gradient(x)`.
  const auto passedOn = [](const ast::Expr& e) -> const ast::Expr* {
    constexpr std::array kSame = std::to_array<std::string_view>({"cpu", "detach", "numpy"});
    if (e.kind != ExprKind::Call) return nullptr;
    const std::string_view name = e.args[0]->text;
    const bool method = e.args[0]->kind == ExprKind::Member && e.arguments.empty();
    if (method && std::ranges::find(kSame, name) != kSame.end()) return e.args[0]->args[0].get();
    return name == "stop_gradient" && e.arguments.size() == 1 ? e.arguments[0].value.get() : nullptr;
  };
  while (const ast::Expr* within = passedOn(*operand)) operand = within;
  if (operand->kind != ExprKind::Name) return std::nullopt;
  const Binding* held = scopes_.find(operand->span);
  auto whole = held && !held->value.poison() ? appended(context_, *list, held->value) : std::nullopt;
  if (!whole && (hasUnread(*file) || isChangedInPlace(*file, operand->text, operand->span)))
    whole = Help{"a copy that is appended is mended with its list", {}};
  return whole;
}

namespace {
/// `min(a, b, c)` of what takes two.
std::string inPairs(const std::string& name, const std::vector<std::string>& operands) {
  std::string text = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) text = name + "(" + text + ", " + operands[i] + ")";
  return text;
}
}  // namespace

bool Habits::calledOtherwise(const ast::Expr& call, const Val& f, const CallArgs& args) {
  // What a library means by it has been said.
  if (std::ranges::any_of(context_.diags.all(),
                          [&](const Diagnostic& d) { return d.code == Code::E0204 && d.span == call.span; }))
    return true;
  const bool plain = std::all_of(call.arguments.begin(), call.arguments.end(),
                                 [](const ast::Argument& a) { return a.value && !a.rangeEnd; });
  const BuiltinRow* row = f.fn->kind == FnValue::Kind::Builtin ? builtinRow(f.fn->name) : nullptr;
  if (!plain || row == nullptr || row->signature.variadic()) return false;
  const auto isForeign = [&](const CallArg& a) { return !a.name.empty() && row->signature.find(a.name) == nullptr; };
  const auto foreign = std::find_if(args.args.begin(), args.args.end(), isForeign);
  const auto unnamed = std::count_if(args.args.begin(), args.args.end(), [](auto& a) { return a.name.empty(); });
  const bool tooMany = row->traits.pairwise.empty() && unnamed > 0 && !row->signature.positional(unnamed - 1);
  if (!row->traits.pairwise.empty() && foreign == args.args.end() && unnamed > 2 &&
      call.args[0]->kind == ExprKind::Name && args.args.size() == call.arguments.size()) {
    std::vector<std::string> operands;
    for (const CallArg& a : args.args) operands.emplace_back(context_.sources.text(a.span));
    auto d = context_.error(Code::E0204, args.args[2].span, "`" + call.args[0]->text + "` takes two operands");
    d.note("it is called as " + row->signature.text());
    d.help("take two at a time", {{call.span, inPairs(call.args[0]->text, operands)}});
    return true;
  }
  const auto isNeeded = [](const Parameter& p) { return !p.optional; };
  const bool tooFew = std::ssize(args.args) < std::ranges::count_if(row->signature.parameters(), isNeeded);
  const bool elsewhere = std::ranges::any_of(call.arguments, [](const ast::Argument& a) { return a.equals; });
  if (foreign == args.args.end() && !tooMany && !tooFew && !elsewhere) return false;
  if (auto counted = countedFrom(context_, call)) {
    context_.error(Code::E0204, args.args.back().span, "`enumerate` counts from 0").help(counted->text, counted->edits);
    return true;
  }
  Translation translation(context_, scopes_);
  const auto known = translation.calledOtherwise(call);
  if (!known) return false;
  const std::string name = "`" + std::string(f.fn->name) + "`";
  auto d = foreign != args.args.end()
               ? context_.error(Code::E0204, foreign->span, name + " has no parameter `" + foreign->name + "`")
           : tooMany ? context_.error(Code::E0204, args.args.back().span, name + " is given too many arguments")
           : !tooFew ? context_.error(Code::E0204, call.span, name + " is called in another way in TL")
                     : context_.error(Code::E0204, call.span, name + " is given too few arguments");
  d.note("it is called as " + row->signature.text());
  d.help(known->help, translation.edits(*known));
  return true;
}

namespace {
/// Whether one of the functions may take so many values.
bool takeSoMany(const std::vector<const FnDecl*>& functions, size_t count) {
  return std::ranges::any_of(functions, [count](const FnDecl* d) {
    const auto& all = d->stmt->params;
    const auto needed = std::ranges::count_if(all, [](const ast::FnParam& p) { return !p.otherwise; });
    return static_cast<size_t>(needed) <= count && count <= all.size();
  });
}

/// A bool, as TL or Python writes it.
bool isBool(const ast::Argument& a) {
  if (!a.value || a.rangeEnd) return false;
  if (a.value->kind == ExprKind::Bool) return true;
  const syntax::Familiar* known = a.value->kind == ExprKind::Name ? syntax::familiarName(a.value->text) : nullptr;
  return known && known->keyword;
}
}  // namespace

bool Habits::movesOtherwise(const ast::Expr& call) {
  Translation translation(context_, scopes_);
  const auto known = translation.call(call);
  if (!known) return false;
  context_.error(Code::E0204, call.span, "`.to` takes a device alone").help(known->help, translation.edits(*known));
  return true;
}

bool Habits::setsMode(const ast::Expr& call, const Val& base, const std::optional<Val>& own) {
  const ast::Expr& member = *call.args[0];
  const syntax::Familiar* known = syntax::familiarName(member.text);
  if (!known || !known->nothing || !known->ofNetwork || !base.isTree()) return false;
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* s = file ? placeIn(*file, call.span).statement : nullptr;
  const bool whole = s && s->kind == ast::Stmt::Kind::Expr && s->value.get() == &call;
  if (!whole || !std::ranges::all_of(call.arguments, isBool)) return false;
  const size_t count = 1 + call.arguments.size();
  if (own && own->is(Val::Kind::Function) && own->fn->kind != FnValue::Kind::Builtin &&
      (own->fn->kind != FnValue::Kind::Overloads || takeSoMany(own->fn->overloads, count)))
    return false;
  if (own && own->is(Val::Kind::Struct)) return false;
  // A function of the module that declares the struct.
  const Unit* home = base.is(Val::Kind::Struct) ? base.info->decl->unit : nullptr;
  if (home && !context_.sources.file(home->source).isLibrary) {
    std::vector<const FnDecl*> there;
    if (const auto it = home->functions.find(member.text); it != home->functions.end())
      for (const FnDecl& d : it->second) there.push_back(&d);
    if (takeSoMany(there, count)) return false;
  }
  auto d =
      context_.error(Code::E0206, member.opSpan,
                     describe(base) + " has no `" + member.text + "` that changes it: values do not change in place");
  const auto mode = trainingMode(*file);
  if (s->value && s->value->kind == ExprKind::Call && freezes(*s->value)) {
    d.help(std::string(kFrozenHelp));
    return true;
  }
  const bool taken = known->ofGradients && isTrained(*file);  // by the step
  d.help(mode ? mode->help : std::string(known->help),
         mode || taken ? std::vector<Edit>()
                       : std::vector<Edit>{syntax::removed(context_.sources, withEmptiedLoop(*file, *s))});
  return true;
}

bool Habits::throughBuiltIn(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  const ast::Expr& root = *callee.args[0];
  if (root.kind != ExprKind::Name || scopes_.named(root.text) || !builtinRow(root.text)) return false;
  const auto rows = syntax::foreignCalls(root.text + "." + callee.text);
  if (rows.empty() || !call.arguments.empty()) return false;
  context_.error(Code::E0206, callee.opSpan, "`" + root.text + "` is a function, not a module")
      .help(std::string(rows[0]->help), {{call.span, std::string(rows[0]->text)}});
  return true;
}

bool Habits::formatMethod(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  if (callee.text != "format" || callee.args[0]->kind != ExprKind::String || scopes_.nameExists("format")) return false;
  std::vector<syntax::FormatArgument> arguments;
  for (const ast::Argument& a : call.arguments) {
    if (!a.value || a.rangeEnd) return false;
    arguments.push_back({a.name ? a.name->text : "", std::string(context_.sources.text(a.value->span))});
  }
  const auto text = syntax::formatted(context_.sources.text(callee.args[0]->span), arguments);
  if (!text) return false;
  context_.error(Code::E0206, callee.opSpan, "a string has no `format`")
      .help("a string takes values in braces: `\"loss {x:.3f}\"`", {{call.span, *text}});
  return true;
}

bool Habits::foreignCall(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  if (formatMethod(call) || throughBuiltIn(call)) return true;
  if (moduleNotImported(callee)) return true;
  const ast::Expr* root = &callee;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  if (root->kind != ExprKind::Name || callee.kind != ExprKind::Member) return false;
  const auto imported = context_.frame().unit->modules.find(root->text);
  const bool module = imported != context_.frame().unit->modules.end();
  if (module && imported->second->declared.contains(callee.text)) return false;
  if (!module && !hasForeignPrefix(callee, scopes_)) return false;
  if (const auto uses = module ? std::nullopt : withItsUses(call)) {
    context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`").help(uses->text, uses->edits);
    return true;
  }
  Translation translation(context_, scopes_);
  const auto known = translation.call(call);
  if (!known) return false;
  methodsOfTorch(*root);
  auto d = module
               ? context_.error(Code::E0206, callee.opSpan, "module `" + root->text + "` has no `" + callee.text + "`")
               : context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  const ast::File* file = context_.frame().unit->file;
  if (known->text.starts_with("seed(") && file && drawsApart(*file))
    d.help(
        "there is one stream of random numbers here: generators that start from one seed would go on from each other; "
        "draw from one of them, with `seed` again where the same numbers are meant");
  else
    d.help(known->help, translation.edits(*known));
  return true;
}

namespace {
/// The innermost module of the path that there is something to say of: `lr_scheduler` of `optim.lr_scheduler.StepLR`.
const syntax::Familiar* partWithHelp(const ast::Expr& member) {
  for (const ast::Expr* m = member.args[0].get(); m->kind == ExprKind::Member; m = m->args[0].get()) {
    const syntax::Familiar* known = syntax::familiarName(m->text);
    if (known && !known->prefix && !known->help.empty()) return known;
  }
  return nullptr;
}
}  // namespace

void Habits::offerOperation(Diagnostics::Builder& d, const std::string& name, Span whole) {
  const std::string near = nearest(name, scopes_.visibleNames());
  if (!syntax::foreignCalls(name).empty())  // whose arguments are not known yet, or not what TL takes
    d.help("operations have no prefix, and there is none called `" + name + "`: `tenc explain " + name +
           "` says what TL writes");
  else if (isMistyped(name, near) && name[0] == near[0])  // NumPy's `dstack` is not `stack`
    d.help("operations have no prefix: did you mean `" + near + "`?", {{whole, near}});
  else
    d.help("operations have no prefix, and there is none called `" + name + "`: `tenc explain ops` lists them");
}

/// `torch.std`, as a value, is made the lambda that calls it, since each call is mended by how it is written.
std::optional<Help> Habits::functionOfLibrary(const ast::Expr& member, const ast::Expr& root) const {
  const ast::File* file = context_.frame().unit->file;
  if (!file || !hasOtherMeaning(root, member.text)) return std::nullopt;
  const std::string written(context_.sources.text(member.span));
  Help help{"`" + member.text + "` has another meaning here than `" + written + "`: give a lambda that calls it", {}};
  const bool called = expressionAround(
      *file, member.span, [&](const ast::Expr& e) { return e.kind == ExprKind::Call && e.args[0].get() == &member; });
  if (!called && timesNamed(*file, "values") == 0) help.edits = {{member.span, "|values| " + written + "(values)"}};
  return help;
}

bool Habits::foreignPrefix(const ast::Expr& member) {
  if (moduleNotImported(member)) return true;
  if (!hasForeignPrefix(member, scopes_)) return false;
  const ast::Expr* root = &member;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  methodsOfTorch(*root);
  auto d = context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  std::string name = member.text;
  if (const syntax::Familiar* other = syntax::familiarName(name);
      other && !scopes_.nameExists(name) && !other->replacement.empty()) {
    name = other->replacement;
  }
  const Span whole{root->span.file, root->span.begin, member.opSpan.end};
  if (const auto function = functionOfLibrary(member, *root)) {
    d.help(function->text, function->edits);
    return true;
  }
  if (Translation(context_, scopes_).waits()) {
    d.help("operations have no prefix");
    return true;
  }
  const syntax::Familiar* known = syntax::familiarName(name);
  const ast::File* file = context_.frame().unit->file;
  const ast::Stmt* alone = known && known->nothing && file ? placeIn(*file, member.span).statement : nullptr;
  if (alone && alone->kind == ast::Stmt::Kind::Expr && alone->value->kind == ExprKind::Call &&
      alone->value->args[0].get() == &member) {
    d.help(std::string(known->help), {syntax::removed(context_.sources, withEmptiedLoop(*file, *alone))});
    return true;
  }
  if (isInPlaceName(name) && !known) {
    d.help("values do not change in place: a function gives a new value, which is bound to the name again");
    return true;
  }
  const syntax::Familiar* part = partWithHelp(member);
  const bool layer = (known && known->layer) || (!name.empty() && std::isupper(static_cast<unsigned char>(name[0])));
  // `torch.float` has 32 bits, `float` as a dtype of NumPy 64.
  const std::string_view dtype = !known ? "" : root->text == "torch" ? known->asType : known->asDType;
  if (ir::dtypeNamed(dtype) && !scopes_.nameExists(name))
    d.help("dtypes have no prefix", {{whole, std::string(dtype)}});
  else if (known && !known->inSubscript.empty())
    d.help(std::string(known->help), {{whole, std::string(known->inSubscript)}});
  else if (isOwnName(name, context_, scopes_))
    d.help(ownNameHelp(name));
  else if (isOfScript(name, context_, scopes_))
    d.help(known && !known->help.empty() ? std::string(known->help)
                                         : "`" + name + "` of this script is another one: call it something else");
  else if (scopes_.nameExists(name))
    d.help("operations have no prefix", {{whole, name}});
  else if (known && !known->layer && layer && !known->help.empty())
    d.help(std::string(known->help));
  else if (part && !part->layer && layer && !(known && known->layer))
    d.help(std::string(part->help));
  else if (layer)
    d.help("layers and losses are in a module: `nn.linear(784, 128)`, `nn.cross_entropy` after `import nn`");
  else if (known && !known->help.empty())
    d.help(std::string(known->help));
  else if (part)
    d.help(std::string(part->help));
  else
    offerOperation(d, name, whole);
  return true;
}

bool Habits::moduleNotImported(const ast::Expr& member) {
  const ast::Expr* root = &member;
  while (root->kind == ExprKind::Member) root = root->args[0].get();
  if (root->kind != ExprKind::Name) return false;
  const Unit& unit = *context_.frame().unit;
  // No module has a function that is called like an operation.
  if (hasForeignPrefix(member, scopes_) && scopes_.nameExists(member.text)) return false;
  auto& reported = context_.frame().undeclared;
  if (reported.contains(root->text)) return true;
  if (const auto lost = unit.evaluated.find(root->text); lost != unit.evaluated.end()) return lost->second.poison();
  if (!stdModule(root->text) || scopes_.nameExists(root->text) || scopes_.lostName(root->text) || !unit.file ||
      assigns(*unit.file, root->text))
    return false;
  auto d = context_.error(Code::E0102, root->span, "unknown name `" + root->text + "`");
  d.help("the module is imported first: `import " + root->text + "`",
         {imported(*unit.file, context_.sources.file(unit.source), root->text)});
  reported.insert(root->text);
  return true;
}

bool Habits::joinsText(const ast::Expr& e) {
  if (e.text != "+" && e.text != "*") return false;
  const auto isText = [](const ast::Expr& part) {
    const bool converts =
        part.kind == ExprKind::Call && part.args[0]->kind == ExprKind::Name && part.args[0]->text == "str";
    return part.kind == ExprKind::String || converts;
  };
  if (!isText(*e.args[0]) && !isText(*e.args[1])) return false;
  const auto text = joinedText(context_.sources, e);
  if (!text) return false;
  const Span at = e.args[e.args[0]->kind == ExprKind::String ? 0 : 1]->span;
  context_.error(Code::E0203, at, "`" + e.text + "` takes tensors and numbers, not a string")
      .help("a string takes values in braces: `\"loss {x}\"`", {{e.span, *text}});
  return true;
}

void Habits::warnOfLists(const ast::Expr& e, const std::vector<Val>& operands) {
  const bool equal = e.text == "==", both = e.args[0]->kind == ExprKind::Array && e.args[1]->kind == ExprKind::Array;
  if (both && (equal || e.text == "!=")) {
    const std::string whole = equal ? "all" : "any";
    context_
        .warning(Code::W0203, e.opSpan,
                 "`" + e.text + "` compares the elements of these two; it does not compare the lists as a whole")
        .help("`" + whole + "` gives one bool for them", {{Span{e.span.file, e.span.begin, e.span.begin}, whole + "("},
                                                          {Span{e.span.file, e.span.end, e.span.end}, ")"}});
    return;
  }
  const auto written = listsWritten(context_.sources, e);
  if (!written) return;
  if (e.text == "+") {
    context_.warning(Code::W0203, e.opSpan, "`+` adds the elements of these two; it does not join them")
        .help("they are joined by `" + *written + "`");
  } else if (operands[e.args[0]->kind == ExprKind::Array ? 1 : 0].is(Val::Kind::Int)) {
    context_.warning(Code::W0203, e.opSpan, "`*` multiplies the one element; it does not repeat it")
        .help("a tensor of equal elements is made by `full`", {{e.span, *written}});
  }
}

namespace {
/// Whether a function takes a value of the struct first: `fn avg(self: Avg)` makes none.
bool isMethodOf(const FnDecl& fn, const StructDecl& decl) {
  const ast::TypeExpr* first = fn.stmt->params.empty() ? nullptr : fn.stmt->params[0].type.get();
  return first && !first->path.empty() && first->path.back().text == decl.stmt->name.text;
}
}  // namespace

Val Habits::calledStruct(const Val& type, const CallArgs& args) {
  auto d = context_.error(Code::E0203, args.callee, "a struct is built with `{ field: value }`, not called");
  if (!type.type || !type.type->info) return d;
  const StructDecl& decl = *type.type->info->decl;
  const ast::File* file = context_.frame().unit->file;
  const ast::Expr* call = file ? expressionAround(*file, args.span, ExprKind::Call) : nullptr;
  const ast::Expr* root = call && call->span == args.span ? rootOf(*call->args[0]) : nullptr;
  if (call && call->span == args.span && (!root || scopes_.named(root->text))) {
    d.help("a type has no value that makes one: hand on a function, `|n| nn.linear(n, n)`");
    return d;
  }
  if (call && call->span == args.span && !decl.unit->isScript) {
    Translation translation(context_, scopes_);
    if (const auto known = translation.call(*call); known && !known->text.empty()) {
      d.help(known->help, translation.edits(*known));
      return d;
    }
  }
  const std::string snake = syntax::snakeCase(decl.stmt->name.text);
  std::vector<std::string> there;
  for (const auto& [n, f] : decl.unit->functions) there.push_back(n);
  // In the function itself that makes one it is built.
  const FnDecl* around = context_.frame().fn;
  for (const std::string& name : {snake, snake + "_layer", "new_" + snake, respelled(decl.stmt->name.text, there)}) {
    if (std::find(there.begin(), there.end(), name) == there.end()) continue;
    if (around && around->unit == decl.unit && around->stmt->name.text == name) continue;
    if (std::ranges::all_of(decl.unit->functions.at(name), [&](const FnDecl& d) { return isMethodOf(d, decl); }))
      continue;
    d.help("`" + name + "` makes one", {{args.callee, name}});
    return d;
  }
  if (const auto built = builtStruct(context_, decl, args)) d.help(built->text, built->edits);
  return d;
}

}  // namespace tenc::frontend
