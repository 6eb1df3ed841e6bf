// Values that nobody uses.
#pragma once
#include <map>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
struct Binding;
class Scopes;

/// Refuses statements that compute a value and do nothing else.
class UnusedValues {
 public:
  UnusedValues(Context& context, Scopes& scopes) : context_(context), scopes_(scopes) {}

  /// How far the body at hand is lowered.
  struct Place {
    const ir::Region* region = nullptr;
    const ir::Op* last = nullptr;
  };
  Place here() const;
  /// E0106 for the value of a statement, unless the call that gives it did more since `before`: printed, say. W0105 for
  /// a call without a value of a function that assigns to variables of its own and does nothing else.
  void check(const ast::Expr& e, const Val& value, const Place& before);

 private:
  /// The function of the script that a statement calls, if it assigns; else empty.
  std::string assigningFunction(const ast::Expr& e) const;
  bool doesMore(const ir::Op& op);
  bool doesMore(const ir::Region& region);
  /// What a call's result may be meant for: `x` of `x.sort()`, a variable of that type, or the variables among the
  /// arguments that have the types of its parts, as `(m, state)`. Empty for nothing.
  std::string changed(const ast::Expr& call, const Val& value) const;
  /// What a `let` binds to a struct that the call, a method of it, gives anew, or to an array that NumPy's method of
  /// that name changes; null for others.
  /// The variable whose method is called, where the call gives another value of its type; null for others.
  const Binding* receiver(const ast::Expr& call, const Val& value) const;
  /// What is said where the new value of the receiver would be lost for another name of it; empty where there is none.
  std::string sharedObject(const ast::Expr& call, const Val& value) const;
  const Binding* changedObject(const ast::Expr& call, const Val& value) const;

  Context& context_;
  Scopes& scopes_;
  std::map<const ir::Func*, bool> functions_;  ///< those that were looked at
};

}  // namespace tenc::frontend
