// Calls: what is called, with which arguments.
#pragma once
#include <optional>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

struct Training;

class Context;
class Scopes;
class Names;
class Devices;
class PlacingOps;
class Conversions;
class Expressions;
class Members;
class Lambdas;
class Overloads;
class Transforms;
class Habits;
class Builtins;

/// Calls functions, methods, pipes, and callables made of structs and tuples.
class Calls {
 public:
  Calls(Context& context, Scopes& scopes, Names& names, Devices& devices, PlacingOps& placing, Conversions& conversions,
        Expressions& expressions, Members& members, Lambdas& lambdas, Overloads& overloads, Transforms& transforms,
        Habits& habits, Builtins& builtins)
      : context_(context),
        scopes_(scopes),
        names_(names),
        devices_(devices),
        placing_(placing),
        conversions_(conversions),
        expressions_(expressions),
        members_(members),
        lambdas_(lambdas),
        overloads_(overloads),
        transforms_(transforms),
        habits_(habits),
        builtins_(builtins) {}

  /// Calls any callable: a function, a dtype, a struct with a function `call`, a tuple of callables.
  Val call(const Val& f, CallArgs args);
  /// Calls any callable with positional arguments: for map, scan, reduce, fold, tabulate.
  Val callValue(const Val& f, std::vector<Val> args, Span span);
  /// A call as written. `piped`: what stands left of `|>`, its first argument.
  Val callExpr(const ast::Expr& e, const Ty* expected, const Val* piped);
  /// `a |> f` and `a |> f(b)`.
  Val pipe(const ast::Expr& e, const Ty* expected);

 private:
  bool isMoveToUnknown(const ast::Expr& call) const;
  Val callMethod(const Val& base, const ast::Expr& call, CallArgs& args);
  Val callStruct(const Val& f, CallArgs& args);
  /// The same by the layer's own function for training; nothing when it has none.
  std::optional<Val> callInTraining(const Val& f, CallArgs& args, Training& training);
  CallArgs evalArguments(const ast::Expr& e);

  Context& context_;
  Scopes& scopes_;
  Names& names_;
  Devices& devices_;
  PlacingOps& placing_;
  Conversions& conversions_;
  Expressions& expressions_;
  Members& members_;
  Lambdas& lambdas_;
  Overloads& overloads_;
  Transforms& transforms_;
  std::vector<Edit> withoutParentheses(const ast::Expr& call);
  Habits& habits_;
  Builtins& builtins_;
};

}  // namespace tenc::frontend
