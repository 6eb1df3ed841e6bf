// Values that a session keeps between its entries.
#pragma once
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Tensors;
class Calls;

/// Parameters of `main` on the way in, results on the way out.
class SessionValues {
 public:
  SessionValues(Context& context, Scopes& scopes, Tensors& tensors, Calls& calls)
      : context_(context), scopes_(scopes), tensors_(tensors), calls_(calls) {}

  /// Options::inputs as parameters of `main`, bound in the script's scope.
  void declareInputs(ir::Func& main);
  /// Fills Lowered::kept when the script has been lowered; gives the results of `main`. `last`: the value of a last
  /// expression.
  std::vector<ir::Value*> keepValues(const ast::File& file, const Val& last);
  /// Whether the last statement is an expression whose value is to be shown.
  static bool givesValue(const ast::File& file);

 private:
  static bool changed(const Val& v);

  Context& context_;
  Scopes& scopes_;
  Tensors& tensors_;
  Calls& calls_;
};

}  // namespace tenc::frontend
