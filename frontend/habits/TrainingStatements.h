// The statements of a step of training in PyTorch's way: which of them make the loss, take its gradient and update the
// model, and which cannot be moved into a function.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/habits/StatementNames.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// What an optimiser changes: a network, or several tensors.
struct Model {
  std::vector<std::string> names;
  Span list;  ///< of the tensors where they stand in brackets, which TL would take for one

  /// `m`, `(x, y)`
  std::string text() const { return names.size() == 1 ? names[0] : "(" + parameters() + ")"; }
  std::string parameters() const {
    std::string all = names[0];
    for (size_t i = 1; i < names.size(); ++i) all += ", " + names[i];
    return all;
  }
  /// `, wrt: (0, 1)` where a function has several.
  std::string wrt() const {
    std::string all;
    for (size_t i = 0; i < names.size(); ++i) all += (i == 0 ? "" : ", ") + std::to_string(i);
    return names.size() == 1 ? "" : ", wrt: (" + all + ")";
  }
};

/// One step, as its statements stand in a block.
struct Step {
  const std::vector<ast::StmtPtr>& among;
  size_t loss, backward, update;  ///< places of the statements
  Model model;
  std::string optimiser, name;
  const ast::Expr* call;              ///< `opt.step()`
  const ast::Stmt* block = nullptr;   ///< the loop that the statements stand in
  const ast::Stmt* clears = nullptr;  ///< `opt.zero_grad()`
  const ast::Stmt* clips = nullptr;   ///< `clip_grad_norm_(m.parameters(), 1.0)`

  /// The statements before the loss that it needs and that depend on the model, in order; nothing where what they
  /// give is not that of their place.
  std::optional<std::vector<size_t>> dependent() const;
  /// Adds the variables that the loops among the statements change, and that are declared in the same block; false
  /// where one is not, or where other statements have to do with it.
  bool addSums(std::vector<size_t>& moved) const;
  /// Whether a statement from `begin` up to `end` that is not moved reads a name.
  bool isRead(const std::string& read, size_t begin, size_t end, const std::vector<size_t>& moved) const;
  /// One of several parameters that the loss, by way of the statements moved, depends on in branches alone; empty for
  /// none.
  std::string readInBranch(const ast::File& file, const std::vector<size_t>& moved) const;
};

/// The step that `loss.backward()` belongs to; nothing where its gradients are not those of this loss alone, or the
/// optimiser, its model or the loss are not told by statements of the same block.
std::optional<Step> stepAt(const ast::File& file, const ast::Expr& backward);
/// The norm that `clip_grad_norm_` leaves of the gradients of the whole model; null for another statement.
const ast::Expr* mostNorm(const ast::Stmt& s, const Model& model);
/// `out = model(x)`, of a variable that was declared before.
bool setsVariable(const ast::Stmt& s);
/// A loop that does nothing but calculate: what it leaves is in the variables that it assigns.
bool isSum(const ast::Stmt& s);
/// The names that a statement gives values.
NameSet given(const ast::Stmt& s);

}  // namespace tenc::frontend
