// Which library of Python an array comes from, in scripts that use NumPy and PyTorch.
#pragma once
#include <string_view>

#include "frontend/habits/Translation.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

struct Libraries {
  bool numpy = false, torch = false;
  bool others = false;  ///< of a value: something that the text does not tell may have made it, too
  bool jax = false;     ///< whose functions and methods are those of NumPy, and change nothing in place

  /// Whether it is what NumPy or JAX makes, for certain.
  bool likeNumPy() const { return (numpy || jax) && !torch && !others; }
};

/// Whether the script imports the library of Python, or a module of it.
bool imports(const ast::File& file, std::string_view library);
/// Whether an expression names a module of another library: `np`, `nn`.
bool isLibrary(const ast::Expr& root);
/// Whether a place is among the arguments of a call of JAX's NumPy, whose `float` is f32 unless it is told otherwise.
bool isGivenToJax(const ast::File& file, Span place);
/// Those that the script names.
Libraries librariesOf(const ast::File& file);
/// Those whose functions may have made the value, as the text tells; none where it tells nothing.
Libraries librariesOf(const ast::File& file, const ast::Expr& value);
/// What a method becomes as the library means it that has made its receiver, given what it becomes as PyTorch's;
/// without a text where both may have.
TranslatedCall asItsLibrary(const ast::File& file, const ast::Expr& call, TranslatedCall ofTorch);

}  // namespace tenc::frontend
