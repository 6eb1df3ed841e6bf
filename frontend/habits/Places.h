// Where a part of a script stands: its statement, and the statements around that.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

struct TreeVisitor;

struct StatementPlace {
  const ast::Stmt* statement = nullptr;              ///< the innermost one
  const ast::Stmt* outer = nullptr;                  ///< that whose block it stands in; null in a script itself
  const std::vector<ast::StmtPtr>* among = nullptr;  ///< the list it stands in
};
StatementPlace placeIn(const ast::File& file, Span part);
/// The innermost statement of one of the kinds that has the span in it; null for none.
const ast::Stmt* statementAround(const ast::File& file, Span part, std::initializer_list<ast::Stmt::Kind> kinds);
/// The function, test or bench around a place; null in the script itself.
const ast::Stmt* functionAround(const ast::File& file, Span part);
/// Visits the function, test or bench around a place, or the script without those.
void visitAround(const ast::File& file, Span place, const TreeVisitor& visitor);
/// The innermost expression that has the span in it and is `wanted`, or of a kind; null for none.
using IsWanted = std::function<bool(const ast::Expr&)>;
const ast::Expr* expressionAround(const ast::File& file, Span part, const IsWanted& wanted);
const ast::Expr* expressionAround(const ast::File& file, Span part, ast::Expr::Kind kind);
/// The expression that has this span; null for none.
const ast::Expr* expressionAt(const ast::File& file, Span span);
/// What a call of the function gives a parameter, by place, by name or by default; null for nothing.
const ast::Expr* givenTo(const ast::Stmt& fn, size_t parameter, const ast::Expr& call);
/// The statement, with a loop over names that are written there and that does nothing else: `for m in [a, b] { m.eval()
/// }`.
Span withEmptiedLoop(const ast::File& file, const ast::Stmt& s);
/// How often a name stands in the file as an expression.
size_t timesNamed(const ast::File& file, std::string_view name);
/// The statement that binds a name last before a place; null for none.
const ast::Stmt* boundBefore(const ast::File& file, std::string_view name, uint32_t offset);
/// The name that a statement binds, or assigns to with `=`; empty where it is none, or not alone.
std::string nameBound(const ast::Stmt& s);
/// Whether a statement assigns to the name, alone or among several: what Python binds names by.
bool assigns(const ast::File& file, std::string_view name);
/// The annotations of a statement, as they stand before it.
std::string marksOf(const SourceManager& sources, const ast::Stmt& s);
/// The value of a statement as an expression: `@autocast(bf16) { x @ w }` of `@autocast(bf16) let y = x @ w`.
std::string valueText(const SourceManager& sources, const ast::Stmt& s, const std::string& value);
/// The text of an expression, in parentheses where an operator or an index beside it would take only a part.
std::string asOperand(const SourceManager& sources, const ast::Expr& e);
/// Whether a `for` may be unrolled: what it walks over is written there or has a name.
bool mayBeStatic(const ast::Stmt& loop);
/// Whether an expression is made of literals alone.
bool isOfLiterals(const ast::Expr& e);

}  // namespace tenc::frontend
