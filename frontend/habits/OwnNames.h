// Functions of a script of Python that have the name of one of TL's: there `np.exp(x)` and `x.exp()` are those of the
// library whatever the script declares, here `exp` is the script's.
#pragma once
#include <optional>
#include <string>

#include "support/Diagnostics.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

/// What is said where an edit would call the script's own.
std::string ownNameHelp(const std::string& name);
/// Takes edits back that would bring a name which the script gives a function of its own, so that it would mean that.
void withholdHidden(const ast::File& file, const SourceManager& sources, Diagnostics& diags);

struct HiddenMethod {
  Span call;
  std::string help;
};
/// A method of arrays, or a function of TL, that is called although the script has another function of that name: it
/// would be called once no import shows any more that the script is one of Python.
std::optional<HiddenMethod> hiddenMethod(const ast::File& file);

}  // namespace tenc::frontend
