// Conversions to a dtype.
#pragma once
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Tensors;
class Types;
class Structs;

/// Conversions of values and trees to a dtype.
class Conversions {
 public:
  Conversions(Context& context, Tensors& tensors, Types& types, Structs& structs)
      : context_(context), tensors_(tensors), types_(types), structs_(structs) {}

  /// Conversion of a value or tree: compile-time numbers convert at compile time.
  Val cast(const Val& v, ir::DType to, Span span);

 private:
  Val castTree(const Val& v, ir::DType to, Span span);
  /// `v` with tensors of the shapes that its declared type has, in place of those that have others.
  Val asDeclared(const Val& v, const Ty& declared);

  Context& context_;
  Tensors& tensors_;
  Types& types_;
  Structs& structs_;
};

}  // namespace tenc::frontend
