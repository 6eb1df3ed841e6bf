#include "frontend/habits/SameValue.h"

#include <algorithm>
#include <vector>

#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Tokens.h"

namespace tenc::frontend {

namespace {

using StmtKind = ast::Stmt::Kind;

/// What binds or changes a name, and the functions and loops of the file.
class Bindings {
 public:
  Bindings(const SourceManager& sources, const ast::File& file, const std::string& name)
      : sources_(sources), file_(file), name_(name) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { add(s); };
    visitor.onExpression = [&](const ast::Expr& e) {
      if (e.kind != ast::Expr::Kind::Lambda) return true;
      functions_.push_back(e.span);
      for (const ast::LambdaParam& p : e.params)
        if (namesOf(p.pattern).contains(name_)) sites_.push_back(p.pattern.span);
      return true;
    };
    visitor.visit(file);
  }

  bool areSame(Span first, Span then) const {
    if (unread_) return false;
    const Span from = functionOf(first), to = functionOf(then);
    size_t met = 0;
    for (const Span site : sites_) {
      const Span around = functionOf(site);
      if (around.valid() && !holds(around, then)) continue;
      if (around.valid() && !holds(around, first)) return false;
      const ast::Stmt* loop = bindingLoop(site);
      if (loop && !holds(loop->body.span, then)) continue;
      if (loop && !holds(loop->body.span, first)) return false;
      ++met;
      if (from == to && !keeps(site, first, then)) return false;
    }
    // When a function is called is not known.
    return from == to || met <= 1;
  }

 private:
  void add(const ast::Stmt& s) {
    if (s.kind == StmtKind::Error) unread_ = unread_ || syntax::hasWord(sources_.text(s.span), name_);
    if (s.kind == StmtKind::For || s.kind == StmtKind::While) loops_.push_back(&s);
    if (s.kind == StmtKind::Fn || s.kind == StmtKind::Test || s.kind == StmtKind::Bench) functions_.push_back(s.span);
    for (const ast::FnParam& p : s.params)
      if (p.name.text == name_) sites_.push_back(p.name.span);
    if (s.kind == StmtKind::For && namesOf(s.pattern).contains(name_)) sites_.push_back(s.pattern.span);
    const bool assigns = s.kind == StmtKind::Assign && assignedBy(s).contains(name_);
    if (assigns || boundBy(s).contains(name_)) sites_.push_back(s.span);
  }

  /// The innermost function around a part; none in the script itself.
  Span functionOf(Span part) const {
    Span found{};
    for (const Span f : functions_)
      if (holds(f, part) && (!found.valid() || holds(found, f))) found = f;
    return found;
  }
  /// The innermost loop that binds the name itself, and has the site in it.
  const ast::Stmt* bindingLoop(Span site) const {
    const ast::Stmt* found = nullptr;
    for (const ast::Stmt* l : loops_) {
      const bool binds = l->kind == StmtKind::For && namesOf(l->pattern).contains(name_);
      if (binds && (holds(l->body.span, site) || l->pattern.span == site)) found = l;
    }
    return found;
  }
  /// Whether the site, in one function with both places, is not run between them.
  bool keeps(Span site, Span first, Span then) const {
    if (then.begin < first.begin || (site.end > first.begin && site.begin < then.end)) return false;
    // In a loop around both, every trip must come by the first place too.
    const ast::Stmt* outer = placeIn(file_, first).outer;
    const bool comesBy = !outer || holds(outer->span, then);
    return std::ranges::all_of(loops_, [&](const ast::Stmt* l) {
      return !holds(l->span, site) || !holds(l->span, then) || (comesBy && holds(l->span, first));
    });
  }

  const SourceManager& sources_;
  const ast::File& file_;
  const std::string& name_;
  std::vector<Span> sites_, functions_;
  std::vector<const ast::Stmt*> loops_;
  bool unread_ = false;  ///< a statement that could not be read has the name
};

}  // namespace

bool isSameAt(const SourceManager& sources, const ast::File& file, const std::string& name, Span first, Span then) {
  if (holds(then, first)) return true;
  const Bindings bindings(sources, file, name);
  return bindings.areSame(first, then);
}

bool isSameAt(const SourceManager& sources, const ast::File& file, const ast::Expr& read, Span then) {
  return std::ranges::all_of(namesRead(read),
                             [&](const std::string& n) { return isSameAt(sources, file, n, read.span, then); });
}

}  // namespace tenc::frontend
