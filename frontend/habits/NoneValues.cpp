#include "frontend/habits/NoneValues.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/names/Scan.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

constexpr std::string_view kNoReturn =
    "a function that ends without `return` gives `None` in Python; here the last expression of a block is its value: "
    "write `return` where the value is meant";
constexpr std::string_view kInPlace =
    "in NumPy and Python this changes what it is called of, and gives `None`; here it gives a new value: `xs = "
    "sort(xs)` on a line of its own";
constexpr std::string_view kUnchanged = "JAX's arrays do not change: this gives a new one, which nothing takes";

class NoneValues {
 public:
  NoneValues(const ast::File& file, const IsOfPython& isOfPython) : file_(file), named_(librariesOf(file)) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { add(s, isOfPython); };
    visitor.visit(file);
  }

  std::optional<NoneValue> used() {
    TreeVisitor visitor;
    std::set<const ast::Expr*> called;
    const auto found = [&](const ast::Expr& e, std::string_view text) {
      if (!found_ || e.span.begin < found_->span.begin) found_ = NoneValue{e.span, text};
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool alone = alone_.contains(&e);
      if (e.kind == ExprKind::Call) called.insert(e.args[0].get());
      if (e.kind == ExprKind::Call && !alone && callsWithoutReturn(e)) found(e, kNoReturn);
      // Given on, it is called by what takes its value.
      if (e.kind == ExprKind::Name && !called.contains(&e) && endsWithout(e.text)) found(e, kNoReturn);
      if (isChange(e)) {
        const Libraries made = librariesOf(file_, *e.args[0]->args[0]);
        const bool ofTorch = made.torch || (named_.torch && !made.numpy);
        if (alone && made.jax && !made.numpy) found(e, kUnchanged);
        if (!alone && !ofTorch && !made.jax) found(e, kInPlace);
      }
      return true;
    };
    visitor.visit(file_);
    return found_;
  }

 private:
  struct Function {
    const ast::Block* body = nullptr;  ///< null where the value is an expression
    bool ofPython = false;
    bool calling = false;  ///< while it is found out, as in recursion
  };

  void add(const ast::Stmt& s, const IsOfPython& isOfPython) {
    if (s.kind == StmtKind::Expr && s.value) alone_.insert(s.value.get());
    if (s.kind == StmtKind::Fn)
      functions_[s.name.text].push_back({s.bodyIsExpr ? nullptr : &s.body, !s.bodyIsExpr && isOfPython(s)});
    const bool binds = s.kind == StmtKind::Let && !s.pattern.isTuple && s.value && s.value->kind == ExprKind::Lambda;
    const ast::Expr* body = binds ? s.value->body.get() : nullptr;
    if (body && body->kind == ExprKind::Block)
      functions_[s.pattern.name.text].push_back({&body->blocks[0], isOfPython(s)});
  }

  /// Whether TL's method of that name gives what Python's changes.
  bool isChange(const ast::Expr& e) const {
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member) return false;
    const ast::Expr& callee = *e.args[0];
    return syntax::isInPlaceElsewhere(callee.text) && !isLibrary(rootOfMember(callee)) &&
           !functions_.contains(callee.text);
  }

  /// Whether a function of that name gives the value of its last expression here, and `None` there.
  bool endsWithout(const std::string& name) {
    const auto all = functions_.find(name);
    if (all == functions_.end()) return false;
    return std::ranges::any_of(all->second, [&](Function& f) { return f.ofPython && endsInValue(f); });
  }
  bool callsWithoutReturn(const ast::Expr& call) {
    const ast::Expr& callee = *call.args[0];
    if (callee.kind == ExprKind::Name || callee.kind == ExprKind::Member)
      if (endsWithout(callee.text)) return true;
    // `m(x)` of a value, which `fn call(m, x)` is called for.
    return callee.kind == ExprKind::Name && !functions_.contains(callee.text) && !isBuiltin(callee.text) &&
           endsWithout("call");
  }

  bool endsInValue(Function& f) {
    if (!f.body || f.calling) return false;
    f.calling = true;
    const bool ends = endsInValue(*f.body);
    f.calling = false;
    return ends;
  }
  bool endsInValue(const ast::Block& b) {
    const ast::Stmt* last = b.statements.empty() ? nullptr : b.statements.back().get();
    return last && last->kind == StmtKind::Expr && last->value && isValue(*last->value);
  }
  /// Whether an expression that stands alone has a value here.
  bool isValue(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Error: return false;
      case ExprKind::If:
        return e.blocks.size() > e.args.size() &&
               std::ranges::any_of(e.blocks, [&](const ast::Block& b) { return endsInValue(b); });
      case ExprKind::Block: return std::ranges::any_of(e.blocks, [&](const ast::Block& b) { return endsInValue(b); });
      case ExprKind::Name: return e.text != "None" && e.text != "pass";
      case ExprKind::Call: return !changedByCall(e) && givesValue(e);
      default: return true;
    }
  }
  bool givesValue(const ast::Expr& call) {
    const ast::Expr& callee = *call.args[0];
    const auto own = functions_.find(callee.text);
    if (callee.kind != ExprKind::Name && callee.kind != ExprKind::Member) return true;
    if (own != functions_.end()) return std::ranges::any_of(own->second, [&](Function& f) { return givesValue(f); });
    return callee.text != "print";
  }
  bool givesValue(Function& f) {
    if (!f.body || exitsOf(*f.body).returned.valid()) return true;
    return endsInValue(f);
  }

  const ast::File& file_;
  const Libraries named_;
  std::map<std::string, std::vector<Function>, std::less<>> functions_;
  std::set<const ast::Expr*> alone_;  ///< whole statements
  std::optional<NoneValue> found_;
};

}  // namespace

std::optional<NoneValue> noneUsed(const ast::File& file, const IsOfPython& isOfPython) {
  return NoneValues(file, isOfPython).used();
}

}  // namespace tenc::frontend
