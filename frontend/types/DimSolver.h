// Sizes against written dims.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/types/Generics.h"
#include "ir/Module.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Evaluator;
class Types;

/// Matches sizes with written dims, and solves for the variables in them.
class DimSolver {
 public:
  DimSolver(Context& context, Scopes& scopes, Evaluator& evaluator, Types& types)
      : context_(context), scopes_(scopes), evaluator_(evaluator), types_(types) {}

  /// One size against one written dim: binds a variable, or checks (E0202, E0207). A dim with several unknowns waits.
  bool unifyDim(const ast::TypeExpr& t, int64_t value, Generics& g, const Target& who);
  /// The dims of a shape against written ones, packs among them. `whole`: the type, for messages.
  bool unifyDims(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                 const ast::TypeExpr& whole);
  /// Solves the dims that waited for others; E0202 where they do not follow.
  bool finishPending(Generics& g, const Target& who);

 private:
  /// The same where several packs stand side by side: at most one of them is not known yet.
  bool unifyPacks(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                  const std::function<bool()>& differs);
  /// What the pack of that name stands for, if it is bound.
  std::optional<ir::Dims> packDims(const ast::Name& pack, Generics& g);
  void namedDims(const ast::TypeExpr& t, Generics& g, std::vector<NamedDim>& named);
  /// Says where the names in a dim or type have their values from.
  void noteDims(Diagnostics::Builder& d, const ast::TypeExpr& t, Generics& g);

  Context& context_;
  Scopes& scopes_;
  Evaluator& evaluator_;
  Types& types_;
};

}  // namespace tenc::frontend
