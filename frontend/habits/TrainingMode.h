// The mode of PyTorch's networks. A network is made in training mode there, until `eval()` is called; `m(x)` of TL is
// always what it gives outside of training.
#pragma once
#include <optional>
#include <string>

#include "syntax/Ast.h"

namespace tenc::frontend {

/// Why the import of PyTorch, and what sets a mode, have to stay: the script calls a network with layers that do
/// something else in training, such as dropout, and nothing has put it into evaluation mode; or that cannot be told
/// yet. Nothing where the script is none of PyTorch, or has no such call.
struct TrainingMode {
  Span call;
  std::string help;
};
std::optional<TrainingMode> trainingMode(const ast::File& file);

}  // namespace tenc::frontend
