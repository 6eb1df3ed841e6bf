// Operators as written in the source.
#pragma once
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Devices;
class Evaluator;
class Tensors;
class Elementwise;

/// Maps operators to ops.
class Operators {
 public:
  Operators(Context& context, Devices& devices, Evaluator& evaluator, Tensors& tensors, Elementwise& elementwise)
      : context_(context), devices_(devices), evaluator_(evaluator), tensors_(tensors), elementwise_(elementwise) {}

  /// As written in the source: +, -, *, /, //, %, @, **, ==, ..., and, or (not short-circuit).
  Val binary(std::string_view op, const Val& a, const Val& b, Span span, Span opSpan);

 private:
  Val matmul(const Val& a, const Val& b, Span span, Span opSpan);
  Val compareDevices(std::string_view op, const Val& a, const Val& b, Span span);
  /// One of several strings against a string that is known.
  Val compareText(std::string_view op, const Val& choice, const Val& text, Span span);
  Val compareChoices(std::string_view op, const Val& a, const Val& b, Span span);

  Context& context_;
  Devices& devices_;
  Evaluator& evaluator_;
  Tensors& tensors_;
  Elementwise& elementwise_;
};

}  // namespace tenc::frontend
