// What `@autocast(bf16)` asks for.
#pragma once
#include <optional>

#include "ir/Type.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Expressions;

/// Reads `@autocast`. What is in force is a property of the builder (ir::RoundingScope): products made there carry it.
class Autocast {
 public:
  Autocast(Context& context, Evaluator& evaluator, Expressions& expressions)
      : context_(context), evaluator_(evaluator), expressions_(expressions) {}

  /// What f32 operands of products are rounded to under the annotation; nothing where it says f32. After an error
  /// (E0201, E0203), what holds around it.
  std::optional<ir::DType> within(const ast::Annotation& a);

 private:
  Context& context_;
  Evaluator& evaluator_;
  Expressions& expressions_;
};

}  // namespace tenc::frontend
