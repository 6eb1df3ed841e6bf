// Values that a session keeps between its entries.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/Kept.h"
#include "frontend/names/Resolve.h"
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
  /// Gives trees that a kept statement has bound what was kept of them.
  void bindTrees(const ast::Stmt& statement);
  /// Fills Lowered::kept when the script has been lowered; gives the results of `main`. `last`: the value of a last
  /// expression.
  std::vector<ir::Value*> keepValues(const ast::File& file, const Val& last);
  /// Whether the last statement is an expression whose value is to be shown.
  static bool givesValue(const ast::File& file);

 private:
  /// What a value of an earlier entry was when this one began; null for other names.
  const Val* cameIn(Span declared) const;
  /// The last statement of the entry that binds the name, or assigns to it or a part of it; null for none.
  const ast::Stmt* lastWriting(const ast::File& file, Span declared) const;
  /// Whether it says alone what the name means at the end of the entry.
  bool decides(const ast::File& file, const ast::Stmt& statement) const;
  static Span nameIn(const ast::Stmt& statement, Span declared);
  Declarations seenBy(const ast::Stmt& statement) const;
  /// Whether its leaves are where the fields' types say now, and the others on one device.
  bool isPlaced(const Val& made) const;
  /// Poison when a struct in it is declared otherwise now.
  Val keptValue(const KeptValue& kept, std::span<ir::Value* const> tensors, Span span);
  std::optional<Val> treeOver(const Val& made, const KeptValue& kept, std::span<ir::Value* const> tensors, Span span);
  Val keptStruct(const KeptValue& kept, std::vector<Val> fields, Span span);

  Context& context_;
  Scopes& scopes_;
  Units& units_;
  Structs& structs_;
  Tensors& tensors_;
  Calls& calls_;
  std::vector<std::pair<Span, Val>> bound_;                   ///< what earlier entries have bound
  std::vector<std::vector<ir::Value*>> trees_;                ///< the parameters of each kept tree
  std::unordered_map<const ir::Value*, std::string> places_;  ///< of the parameters
};

}  // namespace tenc::frontend
