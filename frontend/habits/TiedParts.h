// Layers that a model of PyTorch holds twice, `nn.Sequential(l, nn.ReLU(), l)`, or that several models hold: they are
// one there, and stay equal while they are trained. In TL each is a value of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/habits/StatementNames.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// The part that models hold twice at a place, as the text tells: `l`, `net.encoder`; in doubt they do. Nothing for
/// what has no parameters, as `relu`.
std::optional<std::string> heldTwice(const ast::File& file, const std::vector<std::string>& models, Span place);
/// What is said of it.
std::string heldTwiceHelp(const std::string& part);
/// Whether a training step changes one of the names: that of an optimiser that was made of it, or a loop over its
/// parameters.
bool isChangedByTraining(const ast::File& file, const NameSet& names);

/// What the numbers of a model are counted by, where they may be counted twice.
struct CountedTwice {
  Span call;
  std::string help;
};
std::optional<CountedTwice> countedTwice(const ast::File& file);

}  // namespace tenc::frontend
