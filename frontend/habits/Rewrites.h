// Whole calls that people write who come from NumPy, PyTorch or Python, made into what TL writes: `len(x)` into
// `x.shape[0]`, `x.float()` into `f32(x)`. For the help of errors; nothing is accepted that TL does not have.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/Ast.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

/// Beside what a call stands.
enum class Beside : uint8_t {
  Operator,   ///< something binds it tighter than an operator in its place would be bound
  Nothing,    ///< an operator may stand in its place
  Statement,  ///< the same, and it is a whole statement
  Range,      ///< the same, and it is what a `for` walks over
};
Beside besideOf(const ast::File& file, const ast::Expr& call);

struct WrittenOperand {
  std::string_view text;
  bool compound = false;  ///< needs parentheses beside an operator
};
WrittenOperand operandOf(const ast::Expr& e, std::string_view text);
/// Whether an operator stands in the text outside all brackets and strings, so that it needs parentheses as an operand.
bool isOpen(std::string_view text);

/// A call as it is written.
struct WrittenCall {
  std::string_view name;
  bool method = false;  ///< x.name(...): x is the first of `operands`
  std::vector<WrittenOperand> operands;
  Beside beside = Beside::Operator;
};

/// The row that says what takes the place of the call; null when there is none that fits where it stands.
const syntax::FamiliarCall* patternOf(const WrittenCall& call);
/// The text to put in place of the call; nullopt when there is none that fits where it stands.
std::optional<std::string> rewritten(const WrittenCall& call);

}  // namespace tenc::frontend
