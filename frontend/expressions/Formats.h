// Strings with holes, and what print and assert say.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Devices;
class Tensors;
class Expressions;

/// The pieces, formats and operands of print and assert for a list of values.
struct FormatParts {
  std::vector<std::string> pieces, formats;
  std::vector<ir::Value*> operands;
  std::vector<ir::OperandText> written;  ///< one an operand
  bool ok = true;
};

/// Texts with values in them.
class Formats {
 public:
  Formats(Context& context, Devices& devices, Tensors& tensors, Expressions& expressions)
      : context_(context), devices_(devices), tensors_(tensors), expressions_(expressions) {}

  /// A string literal with holes: a String when every hole is compile-time, else a Format.
  Val formatString(const ast::Expr& e);
  /// What `print` and `assert` say for these values; not `ok` after an error.
  FormatParts formatParts(const std::vector<Val>& values, Span span, std::string_view between = " ");
  /// What an assertion says of the two sides of its comparison.
  FormatParts sidesParts(const std::vector<Val>& sides);

 private:
  Context& context_;
  Devices& devices_;
  Tensors& tensors_;
  Expressions& expressions_;
};

}  // namespace tenc::frontend
