#include "frontend/habits/TrainingMode.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/NetworkModes.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool isLayer(std::string_view name) { return syntax::keepsStatistics(name) || syntax::drawsInTraining(name); }
bool isZero(const ast::Expr& e) {
  return (e.kind == ExprKind::Int && e.integer == 0) || (e.kind == ExprKind::Float && e.real == 0);
}
bool isOption(const ast::Argument& a) { return a.name && a.name->text == "dropout" && a.value && !isZero(*a.value); }

/// The calls of networks with layers that are something else in training.
class NetworkCalls {
 public:
  explicit NetworkCalls(const ast::File& file) : file_(file), modes_(file) {
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      hasLayers_ = hasLayers_ || syntax::mayAskForMode(e.text) || std::ranges::any_of(e.arguments, isOption);
      const bool ofType = e.kind == ExprKind::Member && (e.text == "shape" || e.text == "size" || e.text == "dtype");
      if (ofType) typed_.insert(e.args[0].get());
      for (const ast::FieldInit& f : e.fields) fields_.emplace(f.name.text, f.value.get());
      return true;
    };
    visitor.visit(file);
  }

  bool hasLayers() const { return hasLayers_; }

  /// The first call of a network in training mode.
  const ast::Expr* inTraining() {
    for (const ast::Expr* call : modes_.calls()) {
      const ast::Expr* network = networkOf(*call);
      if (!network) continue;
      Made made;
      look(*network, made);
      if (!made.depends || isTrainedBehind(*call) || (isOnlyTyped(*call) && !made.keepsStatistics)) continue;
      if (!modes_.isEvaluated(*network, call->span)) return call;
    }
    return nullptr;
  }

 private:
  /// What a network is made of.
  struct Made {
    NameSet names;
    bool depends = false, keepsStatistics = false;
  };

  bool isFunction(std::string_view name) const { return !modes_.functionsNamed(name).empty(); }

  /// `net` of `net(x)` and `net.forward(x)`, `net.features` of `net.features(x)`, or what makes it,
  /// `nn.Dropout(0.5)(x)`; null for other calls.
  const ast::Expr* networkOf(const ast::Expr& call) const {
    const ast::Expr& callee = *call.args[0];
    if (callee.kind == ExprKind::Member) {
      if (callee.text == "forward") return callee.args[0].get();
      if (!fields_.contains(callee.text) || isFunction(callee.text)) return nullptr;
      const ast::Stmt* fn = functionAround(file_, call.span);
      const bool ofCalled =
          fn && fn->name.text == "call" && !fn->params.empty() && rootOfMember(callee).text == fn->params[0].name.text;
      return ofCalled ? nullptr : &callee;  // of a value that is called, which is looked at
    }
    if (callee.kind != ExprKind::Name) return &callee;
    if (isFunction(callee.text) || (call.arguments.empty() && !modes_.isBound(callee.text))) return nullptr;
    return &callee;
  }
  void look(const ast::Expr& e, Made& made) const {
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& part) {
      const auto& all = part.arguments;
      const bool drops = part.kind == ExprKind::Call && syntax::drawsInTraining(part.args[0]->text) && !all.empty() &&
                         all[0].value && isZero(*all[0].value);
      if (drops) return false;
      made.keepsStatistics = made.keepsStatistics || syntax::keepsStatistics(part.text);
      made.depends = made.depends || isLayer(part.text) || std::ranges::any_of(all, isOption);
      if (part.kind == ExprKind::Name) look(part.text, part.span, made);
      if (part.kind != ExprKind::Member || !fields_.contains(part.text)) return true;
      const auto [first, last] = fields_.equal_range(part.text);
      for (auto field = first; field != last; ++field)
        if (made.names.insert("." + part.text + "@" + std::to_string(field->second->span.begin)).second)
          look(*field->second, made);
      return false;
    };
    visitor.visit(e);
  }
  void look(const std::string& name, Span use, Made& made) const {
    if (!made.names.insert(name).second) return;
    TreeVisitor parts;
    parts.onExpression = [&](const ast::Expr& e) {
      look(e, made);
      return false;
    };
    for (const ast::Stmt* fn : modes_.functionsNamed(name)) parts.visit(*fn);
    for (const ast::Stmt* maker : modes_.makersOf(name)) parts.visit(*maker);  // `Net()` before it is `new_net()`
    made.depends = made.depends || modes_.isLambdaParameter(name, use);
    TreeVisitor bindings;
    bindings.onStatement = [&](const ast::Stmt& s) {
      if (s.value && (boundBy(s).contains(name) || nameBound(s) == name)) look(*s.value, made);
      if (s.kind == StmtKind::For && s.lo && namesOf(s.pattern).contains(name)) look(*s.lo, made);
    };
    visitAround(file_, use, bindings);
    const ast::Stmt* fn = functionAround(file_, use);
    if (!fn || fn->kind != StmtKind::Fn) return;
    for (size_t i = 0; i < fn->params.size(); ++i) {
      if (fn->params[i].name.text != name) continue;
      const std::vector<const ast::Expr*> calls = modes_.callsOf(*fn);
      for (const ast::Expr* call : calls)
        if (const ast::Expr* given = NetworkModes::argumentOf(*call, *fn, i)) look(*given, made);
      // A function that is handed on may be given anything.
      made.depends = made.depends || (calls.empty() && fn->name.text != "call" && timesNamed(file_, fn->name.text) > 0);
      return;
    }
    lookInScript(name, made);
  }
  /// A variable of the script that a function reads.
  void lookInScript(const std::string& name, Made& made) const {
    for (const ast::StmtPtr& s : file_.statements)
      if (s && s->value && (boundBy(*s).contains(name) || nameBound(*s) == name)) look(*s->value, made);
  }

  /// Whether what belongs to a gradient is computed there, which a step of training takes along.
  bool isTrainedBehind(const ast::Expr& call) const {
    const auto around = [&](Span span) {
      return statementAround(file_, span, {StmtKind::For, StmtKind::While, StmtKind::Fn});
    };
    return std::ranges::any_of(modes_.calls(), [&](const ast::Expr* other) {
      return other->args[0]->kind == ExprKind::Member && other->args[0]->text == "backward" &&
             other->span.begin >= call.span.begin && around(other->span) == around(call.span);
    });
  }
  /// Whether only the shape of the result is asked for.
  bool isOnlyTyped(const ast::Expr& call) const {
    if (typed_.contains(&call)) return true;
    const ast::Stmt* s = placeIn(file_, call.span).statement;
    const std::string name = s && s->value.get() == &call ? nameBound(*s) : "";
    bool only = !name.empty();
    TreeVisitor uses;
    uses.onExpression = [&](const ast::Expr& e) {
      const bool target = s && s->target.get() == &e;
      only = only && (e.kind != ExprKind::Name || e.text != name || target || typed_.contains(&e));
      return true;
    };
    visitAround(file_, call.span, uses);
    return only;
  }

  const ast::File& file_;
  NetworkModes modes_;
  std::set<const ast::Expr*> typed_;
  std::multimap<std::string, const ast::Expr*, std::less<>> fields_;
  bool hasLayers_ = false;
};

}  // namespace

std::optional<TrainingMode> trainingMode(const ast::File& file) {
  if (!imports(file, "torch")) return std::nullopt;
  NetworkCalls calls(file);
  const ast::Expr* call = calls.hasLayers() ? calls.inTraining() : nullptr;
  if (!call) return std::nullopt;
  return TrainingMode{
      call->span,
      "in PyTorch a network is in training mode until `eval()` is called; here `m(x)` never is: call `eval()` "
      "before, or write `let (y, m) = nn.train(m, x)` where training is meant"};
}

}  // namespace tenc::frontend
