// The names, changes and loops of the functions of a script, as far as they tell which names share an array in Python.
// For Aliases.cpp alone.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/StatementNames.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class AliasFile;

/// Whether parts of a value are of one name: `[r, r]`, `P { a: r, b: r[0] }`, `list(2, |_| r)`; with `makes`, also the
/// arguments of a call.
bool holdsTwice(const ast::Expr& value, bool makes = false);

/// One function, test or bench, or the script outside of these.
class AliasScope {
 public:
  /// What is changed in place: `x += 1`, `x[i] = 0`.
  struct Changed {
    std::string name;
    Span span;
    bool ofPart = false;              ///< of what the parts of the name's value hold: `x[i][j] = 0`, `x[i] += 1`
    const ast::Expr* part = nullptr;  ///< whose elements change: `x[i]` of `x[i][j] = 0` and of `x[i].zero_()`
  };

  AliasScope(AliasFile& all, Span part);

  const std::vector<Changed>& changes() const { return changes_; }
  bool changes(const std::string& name) const;
  /// Whether what is changed is a copy in NumPy and PyTorch, and the name's value stays: `x[[0, 1]][0] = 5`.
  bool isOfCopy(const Changed& change) const;
  const ast::Stmt* function() const { return fn_; }
  /// The names that may be of one array with `name` where that is changed.
  NameSet aliasesOf(const std::string& name, Span change) const;
  /// Whether parts of the name's value are one array: `[r, r]`, `list(2, |_| r)`.
  bool holdsTwice(const std::string& name) const;
  /// Whether something else than a parameter is the name's value at a place, whatever way leads there.
  bool isBoundFor(const std::string& name, Span place) const { return boundFor(name, place, false) != nullptr; }
  /// Whether the name may have a part of the array that one of the others has, at a place.
  bool mayHold(const std::string& name, const NameSet& others, Span place) const;
  /// Whether the name is read behind the place, or before it in the next trip of a loop.
  bool isReadAfter(const std::string& name, Span place) const;
  /// The names whose array an expression may give.
  NameSet sharedBy(const ast::Expr& e) const;
  /// Those whose array the function may give.
  NameSet given() const;

 private:
  /// What a name is bound to, or assigned with `=`.
  struct Bound {
    std::string name;
    const ast::Expr* value = nullptr;  ///< null: of a `var`, which is a copy
    Span span;                         ///< of the whole statement
    bool also = false;                 ///< it holds what it held, too: `xs.append(x)`
  };

  /// One of several names that a statement binds to one array.
  struct Together {
    std::string name;
    Span span;
  };

  void add(const ast::Stmt& s);
  void bind(const ast::Pattern& p, const ast::Expr& value, Span span);
  void assign(const ast::Expr& target, const ast::Expr* value, const ast::Stmt& s);
  void addGiven(const ast::Expr& call, NameSet& names) const;
  bool isTarget(Span name) const;
  /// Whether the statement around a part binds the name.
  bool isBoundBy(const std::string& name, Span part) const;
  /// Whether what reads a name before a place reads the same value behind it, in the next trip of a loop.
  bool isReadNextTrip(const ast::Expr& read, Span place) const;
  bool inOneLoop(Span a, Span b) const;
  /// The last binding before a place that every way to it passes, `inEveryTrip` of a loop around it anew; null where
  /// there is none.
  const Bound* boundFor(const std::string& name, Span place, bool inEveryTrip = true) const;
  /// Whether what the binding gives the name may be what is changed.
  bool reaches(const Bound& b, Span change) const;
  /// Whether the name may have the same array at both places.
  bool isSince(const std::string& name, Span place, Span change) const;
  /// Whether an array indexed so is a view: tensors of indices and masks make a copy.
  bool isOfView(const ast::Subscript& s) const;

  AliasFile& all_;
  const ast::Stmt* fn_ = nullptr;
  std::vector<Bound> bound_;
  std::vector<Changed> changes_;
  std::vector<Together> together_;
  std::vector<std::string> twice_;  ///< objects one of whose fields is given another: `s.best = s.w`
  std::vector<Span> loops_, targets_;
  std::vector<const ast::Expr*> names_;
};

/// The scopes of a script, each made once, when it is asked for.
class AliasFile {
 public:
  /// What a variable starts from is a copy, unless `variablesShare`: in a script of Python the `var` is that of an
  /// edit.
  explicit AliasFile(const ast::File& file, bool variablesShare = false, ElementsOf elements = ElementsOf::Script);

  const ast::File& file() const { return file_; }
  /// There are syntax errors: what stands in loops and functions is not known.
  bool unread();
  bool variablesShare() const { return variablesShare_; }
  /// Whether the script declares a class, or a struct, of that name.
  bool isClass(const std::string& name) const { return classes_.contains(name); }
  /// Whether an expression is one number, which is a copy, as the text tells.
  bool isNumber(const ast::Expr& e);
  /// Whether what is called so, a variable or a field, may give what it is called with.
  bool passes(const ast::Expr& callee);
  /// Whether what a call of the script's functions gives holds one array twice: `return a, a[1:]`.
  bool makesTwice(const ast::Expr& call) const;
  AliasScope& scopeAt(Span part);
  const std::vector<const ast::Stmt*>& functions(std::string_view name) const;
  /// The names that a function, or a lambda of the scope, may give; none while it is being found out, as in recursion.
  const NameSet& given(const ast::Stmt& fn);
  const NameSet& given(const ast::Expr& lambda, const AliasScope& scope);

 private:
  const ast::File& file_;
  const bool variablesShare_;
  const ElementsOf elements_;
  int depth_ = 0;  ///< of functions that are looked through
  NameSet classes_;
  // Found out when they are asked for, since each takes a walk over the script.
  std::optional<bool> unread_, viewsNumbers_;
  std::optional<NameSet> passing_;  ///< fields with a point before
  std::map<std::string_view, std::vector<const ast::Stmt*>> functions_;
  std::map<const ast::Stmt*, std::unique_ptr<AliasScope>> scopes_;
  std::map<const void*, NameSet> given_;
  std::map<const ast::Expr*, bool> numbers_;
};

}  // namespace tenc::frontend
