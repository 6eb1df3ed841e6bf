// Tensors that PyTorch computes no gradient of: those without `requires_grad`, and those that are frozen. A gradient of
// TL is taken by whatever a function has for arguments, so what says that one is not trained must not be lost.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// A tensor without a gradient in PyTorch whose gradient is read, or that an optimiser is given.
struct UntrainedTensor {
  Span binding;
  std::string help;
};
/// The first one; nothing where the script takes no gradients as PyTorch does, or says nowhere what has one.
std::optional<UntrainedTensor> untrainedTensor(const ast::File& file);
/// Whether a script that takes gradients may say by the assignment that something is not trained:
/// `w.requires_grad = False`.
bool freezes(const ast::File& file, const ast::Stmt& assignment);
/// The same of a call: `w.requires_grad_(False)`.
bool freezes(const ast::Expr& call);
/// What is said of that.
inline constexpr std::string_view kFrozenHelp =
    "what is not trained is no argument of the function whose gradient is taken, and not given to the optimiser";

}  // namespace tenc::frontend
