// Names and calls that people bring along from NumPy, PyTorch and Python.
#pragma once
#include <optional>

#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// Says what TL writes in the place of what people write elsewhere.
class Habits {
 public:
  Habits(Context& context, Scopes& scopes) : context_(context), scopes_(scopes) {}

  /// Adds the call as TL writes it, where that is known.
  bool offerRewrite(Diagnostics::Builder& d, const ast::Expr& call, const CallArgs* args = nullptr);
  /// Reports a call of a built-in that it does not take, where another library has one called so.
  bool calledOtherwise(const ast::Expr& call, const Val& f, const CallArgs& args);
  /// Reports `x.to(...)` with options that only PyTorch has.
  bool movesOtherwise(const ast::Expr& call);
  /// Reports a statement that sets a mode of a network elsewhere, `m.train()`, but for a call that `own` takes.
  bool setsMode(const ast::Expr& call, const Val& base, const std::optional<Val>& own);
  /// Reports a call of another library, or of a module that does not have it, where TL's is known.
  bool foreignCall(const ast::Expr& call);
  /// Reports `torch.zeros` and the like, where there is no such name.
  bool foreignPrefix(const ast::Expr& member);
  /// Reports a module of the standard library that is used without its import, once for all uses.
  bool moduleNotImported(const ast::Expr& member);
  /// Reports a text that values are added to, or that is repeated.
  bool joinsText(const ast::Expr& e);
  /// W0203 for `[0] * n` and `[1] + [2]` of literals, which repeat and join lists in Python.
  void warnOfLists(const ast::Expr& e, const std::vector<Val>& operands);
  /// Reports a struct that is called as a constructor.
  Val calledStruct(const Val& type, const CallArgs& args);
  /// Reports the methods that mean something else in a script that imports PyTorch, once: where it is mended nothing
  /// shows any more that PyTorch's are meant.
  void methodsOfTorch(const ast::File& file);

 private:
  /// The same in a script that takes its operations from PyTorch.
  void methodsOfTorch(const ast::Expr& root);
  /// Reports the methods that NumPy's and JAX's arrays take in another way, once.
  void methodsOfNumPy(const ast::File& file);
  /// Takes the edits of imports back that show which library's methods are meant.
  void keepImports(const ast::File& file);
  /// Reports `x.T` of many dims in the same way.
  void reversedDims(const ast::File& file);
  /// Reports what is called through the name of a built-in, `time.time()`, as if that were a module.
  bool throughBuiltIn(const ast::Expr& call);
  /// A call of what TL does not have, mended with all that the script does with it, or by what it knows.
  std::optional<Help> withItsUses(const ast::Expr& call);
  std::optional<Help> functionOfLibrary(const ast::Expr& member, const ast::Expr& root) const;
  /// Says that there is no such operation, or which one is meant.
  void offerOperation(Diagnostics::Builder& d, const std::string& name, Span whole);
  std::optional<Help> loadedModel(const ast::Expr& call) const;
  /// What takes the place of `xs.append(x.copy())`, of which the copy would be written so.
  std::optional<Help> appendedCopy(const ast::Expr& copy, const std::string& written) const;
  /// Reports `"{}".format(x)`.
  bool formatMethod(const ast::Expr& call);

  Context& context_;
  Scopes& scopes_;
};

}  // namespace tenc::frontend
