#include "frontend/habits/Draws.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// A seed that is set, or numbers that are drawn, in the order of the text.
struct Event {
  std::string stream, family;
  const ast::Expr* seed = nullptr;  ///< null of a draw
  bool sets = false;
  bool again = false;  ///< it happens several times: in a loop, or in a function with several calls
};

class Streams {
 public:
  explicit Streams(const ast::File& file) : file_(file) {
    TreeVisitor calls;
    calls.onExpression = [&](const ast::Expr& e) {
      if (e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name) ++timesCalled_[e.args[0]->text];
      return true;
    };
    calls.visit(file);
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      if (e.kind == ExprKind::Call) add(e);
      return true;
    };
    visitor.visit(file);
  }

  bool drawApart() const {
    for (size_t i = 0; i < events_.size(); ++i) {
      for (size_t j = i; j < events_.size(); ++j) {
        const bool pair = i != j || events_[i].again;
        if (pair && isPair(events_[i], events_[j]) && (!isAlone(i) || !isAlone(j))) return true;
      }
    }
    return false;
  }

 private:
  void add(const ast::Expr& e) {
    const ast::Expr& callee = *e.args[0];
    const std::string& name = callee.text;
    const ast::Expr* given = e.arguments.empty() ? nullptr : e.arguments[0].value.get();
    if (const std::string family(syntax::familyOfGenerator(name)); !family.empty()) {
      const ast::Stmt* s = placeIn(file_, e.span).statement;
      const std::string bound = s ? nameBound(*s) : "";
      makers_[bound] = family;
      return events_.push_back({bound, family, given, true, isAgain(e.span)});
    }
    if (callee.kind != ExprKind::Member) return;
    const std::string path = pathOf(*callee.args[0]);
    if (name == "manual_seed" || name == "seed") {
      const auto own = makers_.find(path);
      const std::string family(own != makers_.end() ? own->second : familyOf(path));
      return events_.push_back({path, family, given, true, isAgain(e.span)});
    }
    for (const ast::Argument& a : e.arguments)
      if (a.name && a.name->text == "generator" && a.value) return draw(pathOf(*a.value), "torch");
    if (makers_.contains(path)) return draw(path, makers_[path]);
    if (path == "np.random" || path == "numpy.random") return draw(path, "legacy");
    if (path == "random") return draw(path, "python");
    if (path == "torch" && name.starts_with("rand")) return draw(path, "torch");
    const bool drawn = name == "normal" || name == "bernoulli" || name == "multinomial" || name == "dropout";
    const bool layer =
        path == "nn" || path == "torch.nn" || path == "nn.init" || path == "F" || path.ends_with(".init");
    if ((path == "torch" && drawn) || layer) draw("torch", "torch");
  }
  void draw(const std::string& stream, std::string_view family) {
    events_.push_back({stream, std::string(family), nullptr, false, false});
  }
  static std::string_view familyOf(const std::string& path) {
    return path == "np.random" || path == "numpy.random" ? "legacy" : path == "random" ? "python" : "torch";
  }
  bool isAgain(Span place) const {
    if (statementAround(file_, place, {StmtKind::For, StmtKind::While})) return true;
    const ast::Stmt* fn = functionAround(file_, place);
    const auto called = fn ? timesCalled_.find(fn->name.text) : timesCalled_.end();
    return called != timesCalled_.end() && called->second > 1;
  }
  /// Whether two seeds give the same numbers.
  static bool isPair(const Event& a, const Event& b) {
    if (!a.sets || !b.sets || a.family != b.family || !a.seed || !b.seed) return false;
    const bool known = a.seed->kind == ExprKind::Int && b.seed->kind == ExprKind::Int;
    return !known || a.seed->integer == b.seed->integer;
  }
  /// Whether between a seed and the next one, of whatever stream, nothing else draws, and its own stream does not go on
  /// behind that.
  bool isAlone(size_t seed) const {
    const Event& set = events_[seed];
    bool passed = false;
    for (size_t i = seed + 1; i < events_.size(); ++i) {
      const Event& e = events_[i];
      const bool own = e.stream == set.stream;
      if (e.sets && own) return true;
      passed = passed || e.sets;
      if (!e.sets && own == passed) return false;
    }
    return true;
  }

  const ast::File& file_;
  std::vector<Event> events_;
  std::map<std::string, std::string> makers_;  ///< the generators of the script, with their families
  std::map<std::string, int> timesCalled_;
};

/// Whether a key of JAX is used twice, which gives the same numbers twice.
bool usesKeyTwice(const ast::File& file) {
  std::map<std::pair<std::string, const ast::Stmt*>, int> uses;
  bool found = false;
  const auto boundAt = [&](const std::string& name, Span place) {
    const ast::Stmt* last = nullptr;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      const bool binds = boundBy(s).contains(name) || (s.kind == StmtKind::Assign && assignedBy(s).contains(name)) ||
                         (s.kind == StmtKind::For && namesOf(s.pattern).contains(name));
      if (binds && s.span.end <= place.begin) last = &s;
      if (binds && s.kind == StmtKind::For && holds(s.span, place)) last = &s;
    };
    visitAround(file, place, visitor);
    return last;
  };
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member || e.arguments.empty()) return true;
    const ast::Expr& module = *e.args[0]->args[0];
    const bool draws = module.text == "random" && module.kind == ExprKind::Member && rootOfMember(module).text == "jax";
    if (!draws || e.args[0]->text == "PRNGKey" || e.args[0]->text == "key" || !e.arguments[0].value) return true;
    const ast::Expr& key = *e.arguments[0].value;
    const ast::Expr* root = key.kind == ExprKind::Call ? nullptr : rootOf(key);
    if (!root) return true;
    std::string path = root->text;
    for (const ast::Expr* part = &key; part->kind == ExprKind::Index; part = part->args[0].get())
      for (const ast::Subscript& s : part->subscripts)
        if (s.index) path += "[" + s.index->text + "]";
    const ast::Stmt* bound = boundAt(root->text, e.span);
    const ast::Stmt* fn = functionAround(file, e.span);
    found = found || ++uses[{path, bound ? bound : fn}] > 1;
    const ast::Stmt* loop = statementAround(file, e.span, {StmtKind::For, StmtKind::While});
    const ast::Stmt* s = placeIn(file, e.span).statement;
    const bool own = s && (assignedBy(*s).contains(root->text) || boundBy(*s).contains(root->text));
    const bool renews = loop && ((bound && holds(loop->span, bound->span)) || own);
    found = found || (loop && !renews && key.kind == ExprKind::Name);
    return true;
  };
  visitor.visit(file);
  return found;
}

}  // namespace

bool drawsApart(const ast::File& file) {
  const Streams streams(file);
  return streams.drawApart() || usesKeyTwice(file);
}

}  // namespace tenc::frontend
