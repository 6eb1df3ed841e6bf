#include "frontend/habits/NetworkModes.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

constexpr int kMostDepth = 64;  // of the stack
constexpr size_t kMostSteps = 20000, kMostEvents = 4096;

bool covers(const std::string& outer, const std::string& path) {
  return !outer.empty() && (outer == path || path.starts_with(outer + "."));
}

/// Which mode `net.eval()`, `net.train(False)` sets; nothing for another call.
std::optional<bool> trainingSet(const ast::Expr& call) {
  if (call.kind != ExprKind::Call || call.args[0]->kind != ExprKind::Member || call.arguments.size() > 1)
    return std::nullopt;
  const std::string& name = call.args[0]->text;
  if (name == "eval" && call.arguments.empty()) return false;
  if (name != "train") return std::nullopt;
  const ast::Expr* mode = call.arguments.empty() ? nullptr : call.arguments[0].value.get();
  return !mode || boolWritten(*mode).value_or(true);
}

bool hasTrip(const ast::Expr& bound, const ast::File& file) {
  if (bound.kind == ExprKind::Int) return bound.integer > 0;
  if (bound.kind != ExprKind::Name) return false;
  const ast::Stmt* s = scriptVariable(&file, bound.text);
  return s && s->value && s->value->kind == ExprKind::Int && s->value->integer > 0 && s->kind == StmtKind::Let;
}
/// Whether the text tells that a loop has a trip.
bool runs(const ast::Stmt& loop, const ast::File& file) {
  if (loop.kind != StmtKind::For || !loop.lo) return false;
  if (loop.hi) return loop.lo->kind == ExprKind::Int && loop.lo->integer == 0 && hasTrip(*loop.hi, file);
  return (loop.lo->kind == ExprKind::Array || loop.lo->kind == ExprKind::Tuple) && !loop.lo->args.empty();
}

/// What a function returns: what it ends with, and what it returns before.
std::vector<const ast::Expr*> resultsOf(const ast::Stmt& fn) {
  std::vector<const ast::Expr*> results;
  if (fn.bodyIsExpr && fn.value) results.push_back(fn.value.get());
  TreeVisitor returns;
  returns.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == StmtKind::Return && s.value) results.push_back(s.value.get());
  };
  returns.visit(fn);
  const auto& all = fn.body.statements;
  if (!all.empty() && all.back() && all.back()->kind == StmtKind::Expr) results.push_back(all.back()->value.get());
  return results;
}

}  // namespace

NetworkModes::NetworkModes(const ast::File& file) : file_(file) {
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { collect(s); };
  visitor.onExpression = [&](const ast::Expr& e) {
    collect(e);
    return true;
  };
  visitor.visit(file);
  for (const ast::Expr* call : calls_) addMode(*call);
  addEventsOfCalls();
}

void NetworkModes::collect(const ast::Stmt& s) {
  if (s.kind == StmtKind::Fn) functions_.push_back(&s);
  if (s.kind == StmtKind::For || s.kind == StmtKind::While) loops_.push_back(&s);
  const ast::Stmt* fn = s.kind == StmtKind::Fn ? nullptr : functionAround(file_, s.span);
  if ((s.kind == StmtKind::Let || s.kind == StmtKind::Var) && s.value)
    for (const std::string& name : namesOf(s.pattern)) bindings_.push_back({name, s.value.get(), s.span, fn});
  if (s.kind == StmtKind::For && s.lo)
    for (const std::string& name : namesOf(s.pattern)) bindings_.push_back({name, s.lo.get(), s.span, fn});
  if (s.kind != StmtKind::Assign || !s.target || !s.value) return;
  std::set<std::string> names;
  assignedNames(s, names);
  const bool setsMode = s.target->kind == ExprKind::Member && s.target->text == "training";
  for (const std::string& name : names) {
    if (!setsMode)
      bindings_.push_back({name, s.value.get(), s.span, fn});
    else if (boolWritten(*s.value).value_or(true))
      events_.push_back({"", name, s.span, fn, true});
  }
}

void NetworkModes::collect(const ast::Expr& e) {
  if (e.kind == ExprKind::Call) calls_.push_back(&e);
  if (e.kind == ExprKind::If)
    for (const ast::Block& b : e.blocks) maybe_.push_back(b.span);
  if (e.kind == ExprKind::Lambda) {
    maybe_.push_back(e.span);
    lambdas_.push_back(&e);
  }
  if (e.kind == ExprKind::Binary && (e.text == "and" || e.text == "or")) maybe_.push_back(e.args[1]->span);
  const ast::Stmt* maker = e.kind == ExprKind::Struct ? functionAround(file_, e.span) : nullptr;
  if (maker) makers_.emplace(e.args[0]->text, maker);
}

void NetworkModes::addMode(const ast::Expr& call) {
  const auto trains = trainingSet(call);
  if (!trains) return;
  const ast::Expr* network = call.args[0]->args[0].get();
  // `net.cpu().train()`: what a method gives may be the network itself.
  while (*trains && network->kind == ExprKind::Call && network->args[0]->kind == ExprKind::Member)
    network = network->args[0]->args[0].get();
  const ast::Expr* root = rootOf(*network);
  if (!root) return;
  const ast::Stmt* fn = functionAround(file_, call.span);
  events_.push_back({pathOf(*network), root->text, call.span, fn, *trains});
  // `for m in [a, b]: m.eval()`
  for (const ast::Stmt* loop : loops_) {
    const bool walks = loop->kind == StmtKind::For && holds(loop->body.span, call.span) && loop->lo && !loop->hi &&
                       !loop->pattern.isTuple && loop->pattern.name.text == root->text && network == root;
    if (!walks || (loop->lo->kind != ExprKind::Array && loop->lo->kind != ExprKind::Tuple)) continue;
    const bool rebinds = std::ranges::any_of(
        bindings_, [&](const Binding& b) { return b.name == root->text && holds(loop->body.span, b.span); });
    if (rebinds || exitsOf(loop->body).any()) continue;
    for (const ast::ExprPtr& each : loop->lo->args)
      if (const ast::Expr* of = rootOf(*each)) events_.push_back({pathOf(*each), of->text, call.span, fn, *trains});
  }
}

/// What a function does to its parameters and to the variables of the script happens where it is called.
void NetworkModes::addEventsOfCalls() {
  for (size_t i = 0; i < events_.size() && events_.size() < kMostEvents; ++i) {
    const Event event = events_[i];
    const ast::Stmt* fn = event.function;
    if (!fn || fn->kind != StmtKind::Fn) continue;
    const auto parameter =
        std::ranges::find_if(fn->params, [&](const ast::FnParam& p) { return p.name.text == event.name; });
    const bool isLocal =
        std::ranges::any_of(bindings_, [&](const Binding& b) { return b.function == fn && b.name == event.name; });
    if (parameter == fn->params.end() && isLocal) continue;
    for (const ast::Expr* call : callsOf(*fn)) {
      const ast::Stmt* caller = functionAround(file_, call->span);
      const bool certain = event.certain && isSure(event.span, Span{fn->span.file, fn->span.end, fn->span.end}) &&
                           !exitsOf(fn->body).returns;
      Event there{event.path, event.name, call->span, caller, event.trains, certain};
      if (parameter != fn->params.end()) {
        const ast::Expr* given = argumentOf(*call, *fn, static_cast<size_t>(parameter - fn->params.begin()));
        const ast::Expr* root = given ? rootOf(*given) : nullptr;
        if (!root) continue;
        const std::string path = pathOf(*given);
        there.name = root->text;
        there.path = path.empty() || event.path.empty() ? "" : path + event.path.substr(event.name.size());
      }
      const bool known = std::ranges::any_of(events_, [&](const Event& e) {
        return e.path == there.path && e.name == there.name && e.span == there.span && e.trains == there.trains;
      });
      if (!known) events_.push_back(there);
    }
  }
}

std::vector<const ast::Stmt*> NetworkModes::functionsNamed(std::string_view name) const {
  std::vector<const ast::Stmt*> found;
  std::ranges::copy_if(functions_, std::back_inserter(found), [&](auto* f) { return f->name.text == name; });
  return found;
}
std::vector<const ast::Stmt*> NetworkModes::makersOf(std::string_view name) const {
  std::vector<const ast::Stmt*> found;
  const auto [first, last] = makers_.equal_range(name);
  for (auto maker = first; maker != last; ++maker) found.push_back(maker->second);
  return found;
}
std::vector<const ast::Expr*> NetworkModes::callsOf(const ast::Stmt& fn) const {
  std::vector<const ast::Expr*> found;
  std::ranges::copy_if(calls_, std::back_inserter(found),
                       [&](auto* call) { return call->args[0]->text == fn.name.text && !holds(fn.span, call->span); });
  return found;
}
bool NetworkModes::isLambdaParameter(std::string_view name, Span place) const {
  return std::ranges::any_of(lambdas_, [&](const ast::Expr* lambda) {
    return holds(lambda->span, place) && std::ranges::any_of(lambda->params, [&](const ast::LambdaParam& p) {
             return namesOf(p.pattern).contains(std::string(name));
           });
  });
}
const ast::Expr* NetworkModes::argumentOf(const ast::Expr& call, const ast::Stmt& fn, size_t parameter) {
  const ast::Expr& callee = *call.args[0];
  const size_t receivers = callee.kind == ExprKind::Member ? 1 : 0;
  if (parameter < receivers) return callee.args[0].get();
  for (const ast::Argument& a : call.arguments)
    if (a.name && a.name->text == fn.params[parameter].name.text) return a.value.get();
  const size_t place = parameter - receivers;
  const bool given = place < call.arguments.size() && !call.arguments[place].name;
  return given ? call.arguments[place].value.get() : nullptr;
}

bool NetworkModes::isEvaluated(const ast::Expr& value, Span place, int depth) {
  if (depth > kMostDepth || ++steps_ > kMostSteps) return false;
  if (const auto trains = trainingSet(value)) return !*trains;
  switch (value.kind) {
    case ExprKind::Name: return isNameEvaluated(value, value, place, depth);
    case ExprKind::Member: {
      const ast::Expr& root = rootOfMember(value);
      if (isLibrary(root)) return !syntax::mayAskForMode(value.text);
      if (root.kind == ExprKind::Name) return isNameEvaluated(value, root, place, depth);
      break;
    }
    case ExprKind::Call: {
      const ast::Expr& callee = *value.args[0];
      if (syntax::mayAskForMode(callee.text)) return false;
      if (callee.kind == ExprKind::Name) {
        const std::vector<const ast::Stmt*> called = functionsNamed(callee.text);
        for (const ast::Stmt* fn : called)
          if (!isResultEvaluated(*fn, depth + 1)) return false;
        if (called.empty() && isBound(callee.text)) return isTensorOf(callee, place, depth);
      }
      break;
    }
    default: break;
  }
  bool all = true;
  TreeVisitor parts;
  parts.onExpression = [&](const ast::Expr& part) {
    if (&part == &value) return true;
    all = all && isEvaluated(part, place, depth + 1);
    return false;
  };
  parts.visit(value);
  return all && std::ranges::none_of(value.arguments, [](const ast::Argument& a) {
           return a.name && syntax::mayAskForMode(a.name->text);
         });
}

/// What a network gives for a tensor is none; what makes networks may be bound to a name, too.
bool NetworkModes::isTensorOf(const ast::Expr& callee, Span place, int depth) {
  return std::ranges::all_of(bindings_, [&](const Binding& b) {
    if (b.name != callee.text || b.value->kind == ExprKind::Call) return true;
    return isEvaluated(b.value->kind == ExprKind::Lambda ? *b.value->body : *b.value, place, depth + 1);
  });
}

bool NetworkModes::isBound(std::string_view name) const {
  return std::ranges::any_of(bindings_, [&](const Binding& b) { return b.name == name; });
}

bool NetworkModes::isResultEvaluated(const ast::Stmt& fn, int depth) {
  return std::ranges::all_of(resultsOf(fn),
                             [&](const ast::Expr* result) { return isEvaluated(*result, result->span, depth + 1); });
}

bool NetworkModes::isNameEvaluated(const ast::Expr& value, const ast::Expr& root, Span place, int depth) {
  const std::string& name = root.text;
  const ast::Stmt* function = functionAround(file_, place);
  if (isLambdaParameter(name, place)) return false;
  const Event* evaluation = lastEvaluation(pathOf(value), place, function);
  if (isTrainedSince(name, evaluation, place, function)) return false;
  const std::string key = name + "@" + std::to_string(place.begin);
  if (!open_.insert(key).second) return true;  // `net = net.to(device)`: what else it is bound to decides
  const auto done = [&](bool result) {
    open_.erase(key);
    return result;
  };
  bool bound = false;
  for (const Binding& b : bindings_) {
    if (b.name != name || b.function != function) continue;
    bound = true;
    if (mayRunBetween(b.span, evaluation, place) && !isEvaluated(*b.value, b.span, depth + 1)) return done(false);
  }
  if (evaluation || bound) return done(true);
  if (function && function->kind == StmtKind::Fn) {
    for (size_t i = 0; i < function->params.size(); ++i)
      if (function->params[i].name.text == name) return done(isParameterEvaluated(*function, i, depth));
    // A variable of the script, as it is where the function is called.
    if (std::ranges::any_of(bindings_, [&](const Binding& b) { return b.name == name && !b.function; })) {
      const auto calls = callsOf(*function);
      return done(!calls.empty() && std::ranges::all_of(calls, [&](const ast::Expr* call) {
        return isNameEvaluated(value, root, call->span, depth + 1);
      }));
    }
  }
  for (const ast::Stmt* fn : functionsNamed(name))
    if (!isResultEvaluated(*fn, depth + 1)) return done(false);
  return done(makersOf(name).empty() && !syntax::mayAskForMode(name));
}

bool NetworkModes::isParameterEvaluated(const ast::Stmt& fn, size_t parameter, int depth) {
  if (fn.name.text == "call" && parameter == 0) return true;  // a value that is called, where that is looked at
  const auto calls = callsOf(fn);
  return !calls.empty() && std::ranges::all_of(calls, [&](const ast::Expr* call) {
    const ast::Expr* given = argumentOf(*call, fn, parameter);
    if (!given) given = fn.params[parameter].otherwise.get();
    return given && isEvaluated(*given, call->span, depth + 1);
  });
}

const NetworkModes::Event* NetworkModes::lastEvaluation(const std::string& path, Span place,
                                                        const ast::Stmt* function) const {
  const Event* last = nullptr;
  for (const Event& e : events_) {
    const bool counts = !e.trains && e.certain && e.function == function && e.span.begin < place.end &&
                        covers(e.path, path) && isSure(e.span, place);
    if (counts && (!last || e.span.begin > last->span.begin)) last = &e;
  }
  return last;
}

bool NetworkModes::isTrainedSince(const std::string& name, const Event* since, Span place,
                                  const ast::Stmt* function) const {
  const NameSet names = sharing(name, function);
  return std::ranges::any_of(events_, [&](const Event& e) {
    return e.trains && e.function == function && names.contains(e.name) && mayRunBetween(e.span, since, place);
  });
}

bool NetworkModes::isSure(Span before, Span place) const {
  const auto apart = [&](Span part) { return holds(part, before) && !holds(part, place); };
  if (std::ranges::any_of(maybe_, apart)) return false;
  return std::ranges::none_of(loops_, [&](const ast::Stmt* loop) {
    if (!apart(loop->span)) return false;
    const Exits exits = exitsOf(loop->body);
    return exits.breaks || exits.continues || !runs(*loop, file_);
  });
}

bool NetworkModes::mayRunBetween(Span part, const Event* since, Span place) const {
  if (part.begin < place.begin) return !since || part.begin > since->span.begin;
  return std::ranges::any_of(loops_, [&](const ast::Stmt* loop) {
    return holds(loop->span, part) && holds(loop->span, place) && !(since && holds(loop->span, since->span));
  });
}

NameSet NetworkModes::sharing(const std::string& name, const ast::Stmt* function) const {
  NameSet found{name};
  for (size_t before = 0; before != found.size();) {
    before = found.size();
    for (const Binding& b : bindings_) {
      if (b.function != function) continue;
      // What a network gives for a tensor is no network.
      const ast::Expr& callee = b.value->kind == ExprKind::Call ? *b.value->args[0] : *b.value;
      const bool calls = &callee != b.value && callee.kind == ExprKind::Name && isBound(callee.text);
      NameSet read = calls ? NameSet() : namesRead(*b.value);
      std::erase_if(read, [&](const std::string& n) { return !isBound(n) && n != name; });  // functions and libraries
      if (found.contains(b.name))
        found.insert(read.begin(), read.end());
      else if (meet(found, read))
        found.insert(b.name);
    }
  }
  return found;
}

}  // namespace tenc::frontend
