// What can be read off the syntax tree before it is lowered: assigned names, exits, free names.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "syntax/Ast.h"

namespace tenc::frontend {

/// Whether a part of a text stands within another.
bool holds(Span outer, Span part);

/// Goes over all statements and expressions below, lambdas included. Either function may be empty.
struct TreeVisitor {
  Span within;  ///< if valid, only what has this in it
  std::function<void(const ast::Stmt&)> onStatement;
  /// Returns false to stay out of the expression's operands.
  std::function<bool(const ast::Expr&)> onExpression;
  void visit(const ast::Block& b) const;
  void visit(const ast::Stmt& s) const;
  void visit(const ast::Expr& e) const;
  void visit(const ast::File& f) const;

 private:
  void visit(const ast::ExprPtr& e) const {
    if (e) visit(*e);
  }
};

/// Adds the names whose variables the statements assign: `v = `, `v[i] = `, `m.w += `, `(a, b) = `.
void assignedNames(const ast::Stmt& s, std::set<std::string>& names);
/// The variable at the root of an assignment's target; null for a tuple or for what is no place.
const ast::Expr* rootOf(const ast::Expr& target);
/// `torch` of `torch.nn.functional`: what stands at the root of members.
const ast::Expr& rootOfMember(const ast::Expr& member);
/// `True` or `False`, as Python writes them, or as TL does; nothing for what the text does not tell.
std::optional<bool> boolWritten(const ast::Expr& e);
/// "x", "m.w"; empty for what is no path of names.
std::string pathOf(const ast::Expr& e);
/// Adds the indices of an assignment's target, in the order of evaluation; none for a tuple.
void indicesOf(const ast::Expr& target, std::vector<const ast::Expr*>& indices);

/// The statement of the script itself that binds a variable of that name; null for none.
const ast::Stmt* scriptVariable(const ast::File* file, std::string_view name);

struct Exits {
  bool breaks = false;     ///< `break` of the enclosing loop
  bool continues = false;  ///< `continue` of the enclosing loop
  bool returns = false;
  Span breakAt, returnAt;  ///< the first of each
  Span returned;           ///< what the first `return` gives, where it gives something
  bool any() const { return breaks || continues || returns; }
};
/// Exits that leave the block; those of loops and lambdas inside are theirs.
Exits exitsOf(const ast::Block& b);
Exits exitsOf(const ast::Stmt& s);
Exits exitsOf(const ast::Expr& e);
/// In how many ways an `if` with exits comes to what follows it, when all conditions are of the run: what follows is
/// compiled so often, unless flags say where to go on. At most 1,000.
int waysOn(const ast::Expr& e);

/// The parts of an expression that are evaluated as part of it, in order; not the blocks of `if`, `{ }` and lambdas.
void operandsOf(const ast::Expr& e, const std::function<void(const ast::Expr&)>& f);
/// The first `if` or block in an expression, in the order of evaluation, that holds exits and that `done` does not
/// know; null when there is none. `before`: what is evaluated earlier. What may not be evaluated (the right of `and`,
/// `or`) is left out.
const ast::Expr* firstExit(const ast::Expr& e, const std::function<bool(const ast::Expr&)>& done,
                           std::vector<const ast::Expr*>& before);

/// Adds the names that stand in the shapes of a written type.
void namesInShapes(const ast::TypeExpr& t, bool inShape, std::set<std::string, std::less<>>& names);

}  // namespace tenc::frontend
