// Names that are nowhere declared, with what may have been meant.
#pragma once
#include <string>
#include <string_view>

#include "frontend/names/Scan.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Habits;

/// How an unknown name is used.
struct UnknownUse {
  bool assigned = false;            ///< it stands left of a `=`
  const ir::Type* type = nullptr;   ///< of the value that is assigned, where it is known
  const ast::Expr* call = nullptr;  ///< the call of it
};

/// Reports names that are nowhere declared.
class UnknownNames {
 public:
  UnknownNames(Context& context, Scopes& scopes, Habits& habits)
      : context_(context), scopes_(scopes), habits_(habits) {}

  /// Reports it with what may have been meant.
  Val unknownName(std::string_view name, Span span, const UnknownUse& use = {});
  /// Resolves the names of code that is not compiled (E0102).
  void checkNames(const ast::Block& block);
  void checkNames(const ast::Stmt& fn);
  /// Reports marks of other languages before a function, `@njit`, which name no device.
  void checkMarks(const ast::Stmt& fn);

  /// Adds the word that binds a name where it is assigned for the first time; where it is used behind its block, the
  /// variable that is declared before that.
  void offerBinding(Diagnostics::Builder& d, const std::string& name, Span span, const ir::Type* type = nullptr) const;
  /// Adds that the statement around a part may be left out.
  void offerRemoval(Diagnostics::Builder& d, Span part, const std::string& why) const;

 private:
  /// Adds the word that binds names which are assigned together; those that are variables already get their value
  /// behind.
  void offerTogether(Diagnostics::Builder& d, const ast::File& file, const ast::Stmt& s) const;
  /// Adds that variables of the script, this one and others, are arguments of the function that reads them.
  void offerArguments(Diagnostics::Builder& d, const std::string& name, Span use);
  /// Adds that a name of a block that has ended is declared before the block, with the variable where that is known.
  bool offerBefore(Diagnostics::Builder& d, const std::string& name, Span use) const;
  std::optional<Help> leftByLoop(const ast::File& file, const ast::Stmt& loop, const ast::Stmt& block,
                                 const std::string& name, const ir::Type& type) const;
  /// Adds the path of what a module of the library declares, with its import; false where none does, or several do.
  bool offerModule(Diagnostics::Builder& d, std::string_view name, Span span) const;
  /// The statement that is nothing but the name; null for none.
  const ast::Stmt* wholeStatement(Span name) const;
  /// The comparison `name == ...`; null for none.
  const ast::Expr* comparisonAround(Span name) const;
  bool meansSomething(const ast::Expr& name) const;
  /// Reports the names that are assigned and mean nothing.
  TreeVisitor checking();
  /// Reports a name that means nothing, with the call or the path that it begins; false where nothing below is left.
  bool checkExpression(const ast::Expr& e, const TreeVisitor& visitor);

  Context& context_;
  Scopes& scopes_;
  Habits& habits_;
};

}  // namespace tenc::frontend
