// Expressions that people bring along from NumPy, PyTorch and Python, written as TL writes them.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/habits/Rewrites.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"
#include "syntax/ForeignCalls.h"

namespace tenc::frontend {

class Context;
class Scopes;

/// A call in TL, with what is said about it; without a text where only words can tell.
struct TranslatedCall {
  std::string text;
  std::string help;
  Span whole;  ///< what the text stands for: the call, the part of its result that is taken, or a statement
  std::string readThrough{};  ///< what takes the place of the name that the statement binds, before a point
};

/// Writes one expression of the script anew, with every call in it that is known from elsewhere.
class Translation {
 public:
  Translation(Context& context, Scopes& scopes) : context_(context), scopes_(scopes) {}

  /// Among the undeclared names of a frame: there are methods that another library means otherwise, without an edit.
  static constexpr std::string_view kUntold = "torch.?";

  const std::string& text(const ast::Expr& e);
  /// Of a call that TL does not have; nothing where it is not known either.
  std::optional<TranslatedCall> call(const ast::Expr& e);
  /// Of a call of what TL has, in a way in which other libraries call it.
  std::optional<TranslatedCall> calledOtherwise(const ast::Expr& e);
  /// Of a method that PyTorch's tensors have in another meaning, as that library means it.
  std::optional<TranslatedCall> methodOfTorch(const ast::Expr& e);
  /// Of a method that NumPy's and JAX's arrays take in another way.
  std::optional<TranslatedCall> methodOfNumPy(const ast::Expr& e);
  /// Whether a statement that could not be read has what means something else elsewhere, or one that could has it
  /// without an edit, so that the names of other libraries must go on to be seen.
  bool waits() const;
  /// The edit that puts the text in place of what it stands for, and those for modules that it needs; none without
  /// text.
  std::vector<Edit> edits(const TranslatedCall& call) const;

 private:
  using Form = syntax::ForeignCall::Form;
  struct Callee {
    std::string_view name;
    Form form = Form::Any;
    bool method = false;
    Form library = Form::Any;  ///< Torch, NumPy or Python, where that is known
  };
  using Given = std::vector<syntax::ForeignArgument>;
  std::string translate(const ast::Expr& e);
  std::optional<TranslatedCall> known(const ast::Expr& e);
  /// What is said instead of `x.clone()` becoming `x` where something changes the copy in the same expression, with the
  /// whole of that where it is a value: `y = x * 2` for `y = x.clone().mul_(2)`.
  std::optional<TranslatedCall> changedCopy(const ast::Expr& e, const TranslatedCall& known, const ast::File& file);
  std::optional<TranslatedCall> viewChanged(const ast::Expr& e, const ast::File& file);
  bool dropsCopy(const ast::Expr& e, const TranslatedCall& known, const ast::File& file);
  std::optional<Callee> calleeOf(const ast::Expr& callee) const;
  static bool fits(const syntax::ForeignCall& row, const Callee& callee);
  std::optional<TranslatedCall> byRow(const syntax::ForeignCall& row, const ast::Expr& e, const Given& given,
                                      Beside beside);
  /// The call of a function that has the same meaning here, with the names of its options as TL has them; empty where
  /// TL takes no such arguments.
  std::string renamed(const std::string& name, const Given& given) const;
  Given argumentsOf(const ast::Expr& e, bool method, Form library = Form::Any);
  int rankOf(const ast::Expr& value) const;
  int rankOfPart(const ast::Expr& part) const;
  /// The first name in what a row writes that is the script's own; empty for none.
  std::string ownNameIn(std::string_view pattern) const;
  /// The shape of a tensor whose size is known; else empty.
  std::vector<int64_t> shapeOf(const ast::Expr& value) const;
  /// The dtype of a tensor whose type is known; empty for another value.
  std::string dtypeOf(const ast::Expr& value) const;
  /// Whether a function or a lambda that takes something holds it: each call may give it other types.
  bool isOfManyTypes(Span part) const;
  bool readsAgain(const ast::Expr& call) const;
  /// Where what a method changes is a view of a variable, and the method does the same with each element, gives it the
  /// variable: `x.fill_(2.0)` for `x.view(-1).fill_(2.0)`.
  void throughViews(const ast::Expr& e, const Callee& callee, Given& given);
  /// Whether the text assigns to what the call's method is called of, a value that no variable holds.
  bool assignsUnheld(const ast::Expr& e, std::string_view written);
  static TranslatedCall unheld(const ast::Expr& e);
  /// Whether the call changes its operand, and is not known as a function of that name: `clip_grad_norm_`.
  static bool changesItsOperand(const ast::Expr& call, const Callee& callee);
  std::string dtypeMeant(const ast::Expr& value) const;
  bool isAssigned(const std::string& name) const;
  std::optional<TranslatedCall> inPlace(const ast::Expr& e, const Callee& callee, const Given& given, Beside beside);
  std::optional<TranslatedCall> changedWhereRead(const ast::Expr& e, const Callee& callee, const Given& given,
                                                 Beside beside);
  std::string changed(const ast::Expr& e, const Callee& callee, const Given& given, Beside beside);
  std::optional<TranslatedCall> rearrangedCall(const ast::Expr& e);
  std::optional<TranslatedCall> deviceCall(const ast::Expr& e) const;
  /// Whether the call's value is bound with `let` although its name changes later, and no other name does with it: once
  /// the call is gone that can be seen no more, as of `a.copy()`.
  const ast::Stmt* changesLater(const TranslatedCall& call) const;
  void readThrough(const TranslatedCall& call, std::vector<Edit>& edits) const;
  syntax::ForeignArgument argument(const ast::Expr& value);
  /// The name as TL has it; empty where it has none.
  std::string nameOf(std::string_view foreign) const;

  Context& context_;
  Scopes& scopes_;
  std::set<const ast::Expr*> asked_;                         ///< views whose change is being written
  std::unordered_map<const ast::Expr*, std::string> texts_;  ///< a call that is not known asks twice for its arguments
};

/// Whether the script has a name of its own for what TL calls so.
bool isOwnName(const std::string& name, Context& context, Scopes& scopes);
/// Whether the script gives the name to something else than TL and its modules do.
bool isOfScript(const std::string& name, Context& context, Scopes& scopes);
/// `torch.nn`, `np`: whether a name of another library's module stands at the root of the member.
bool hasForeignPrefix(const ast::Expr& member, Scopes& scopes);
/// Whether TL has another meaning for what a library calls so, or another order of its options.
bool hasOtherMeaning(const ast::Expr& library, const std::string& name);

}  // namespace tenc::frontend
