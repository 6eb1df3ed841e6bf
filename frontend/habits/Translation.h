// Expressions that people bring along from NumPy, PyTorch and Python, written as TL writes them.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/habits/Rewrites.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"
#include "syntax/ForeignCalls.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// A call in TL, with what is said about it.
struct TranslatedCall {
  std::string text;
  std::string help;
};

/// Writes one expression of the script anew, with every call in it that is known from elsewhere.
class Translation {
 public:
  Translation(Context& context, Scopes& scopes) : context_(context), scopes_(scopes) {}

  std::string text(const ast::Expr& e);
  /// Of a call that TL does not have; nothing where it is not known either.
  std::optional<TranslatedCall> call(const ast::Expr& e);
  /// The edit that puts `text` in place of `whole`, and those for modules that it needs.
  std::vector<Edit> edits(Span whole, const std::string& text) const;

 private:
  using Form = syntax::ForeignCall::Form;
  struct Callee {
    std::string_view name;
    Form form = Form::Any;
    bool method = false;
  };
  std::optional<Callee> calleeOf(const ast::Expr& callee) const;
  std::vector<syntax::ForeignArgument> argumentsOf(const ast::Expr& e, bool method);
  syntax::ForeignArgument argument(const ast::Expr& value);
  /// The name as TL has it; empty where it has none.
  std::string nameOf(std::string_view foreign) const;

  Context& context_;
  Scopes& scopes_;
};

/// `torch.nn`, `np`: whether a name of another library's module stands at the root of the member.
bool hasForeignPrefix(const ast::Expr& member, Scopes& scopes);

}  // namespace tenc::frontend
