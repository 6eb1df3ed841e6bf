// Values that must be known at compile time.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;

/// Whether a dim variable stands for a run-time integer, given as the argument at its span: that is a type, and no
/// size.
bool isRunTimeSize(const Val& v);
/// E0111 at that argument.
void refuseRunTimeSize(Context& context, const Val& size);
/// Says what is known at compile time, and what would make so the run-time value that is written at `v.span`; whether
/// an edit would.
bool explainKnown(Context& context, Diagnostics::Builder& d, const Val& v);

/// Compile-time values as C++ values, and arithmetic on them. All report when a value is of the wrong kind (E0203;
/// E0111 when it is known at run time only).
class Evaluator {
 public:
  explicit Evaluator(Context& context) : context_(context) {}

  /// `what`: the subject of the message.
  std::optional<int64_t> constInt(const Val& v, std::string_view what = "this");
  std::optional<double> constFloat(const Val& v, std::string_view what = "this");
  std::optional<bool> constBool(const Val& v, std::string_view what = "this");
  std::optional<std::string> constString(const Val& v, std::string_view what = "this");
  std::optional<ir::DType> constDType(const Val& v, std::string_view what = "this");
  /// `ints`: an int, a tuple, an array or a shape of compile-time integers.
  std::optional<std::vector<int64_t>> constInts(const Val& v, std::string_view what = "this");
  /// A shape argument: like constInts, checked to be non-negative and to have a size that fits (E0208).
  std::optional<ir::Dims> constShape(const Val& v);
  /// An axis of a tensor of `rank`, normalised to [0, rank) (E0205).
  std::optional<int64_t> constAxis(const Val& v, int64_t rank);
  /// Axes, normalised, distinct and sorted; all axes when `v` is null.
  std::optional<std::vector<int64_t>> constAxes(const Val* v, int64_t rank);
  /// An operator on numbers known at compile time; nullopt where the run or another rule has to do it.
  std::optional<Val> foldNumbers(std::string_view op, const Val& a, const Val& b, Span span);
  /// An operator on bools, strings, dtypes and shapes (E0203 for what they have not).
  Val compareStatic(std::string_view op, const Val& a, const Val& b, Span span);

 private:
  Context& context_;
};

}  // namespace tenc::frontend
