// Values that a session keeps between its entries.
#pragma once
#include <span>
#include <vector>

#include "frontend/Kept.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Tensors;
class Calls;
class Units;
class Structs;

/// Parameters of `main` on the way in, results on the way out.
class SessionValues {
 public:
  SessionValues(Context& context, Scopes& scopes, Units& units, Structs& structs, Tensors& tensors, Calls& calls)
      : context_(context), scopes_(scopes), units_(units), structs_(structs), tensors_(tensors), calls_(calls) {}

  /// Parameters of `main` for the tensors of Options::values, in order.
  std::vector<ir::Value*> declareInputs(ir::Func& main);
  /// Binds Options::values in the script's scope; those that fit their structs no longer are Lowered::unfit.
  void bindInputs(const std::vector<ir::Value*>& inputs);
  /// Fills Lowered::kept when the script has been lowered; gives the results of `main`. `last`: the value of a last
  /// expression.
  std::vector<ir::Value*> keepValues(const ast::File& file, const Val& last);
  /// Whether the last statement is an expression whose value is to be shown.
  static bool givesValue(const ast::File& file);

 private:
  bool cameIn(Span declared) const;
  std::vector<std::string> usesOf(const ast::File& file, Span declared) const;
  static bool changed(const Val& v);
  /// Poison when a struct in it is declared otherwise now.
  Val keptValue(const KeptValue& kept, std::span<ir::Value* const> tensors, Span span);
  Val keptStruct(const KeptValue& kept, std::vector<Val> fields, Span span);

  Context& context_;
  Scopes& scopes_;
  Units& units_;
  Structs& structs_;
  Tensors& tensors_;
  Calls& calls_;
};

}  // namespace tenc::frontend
