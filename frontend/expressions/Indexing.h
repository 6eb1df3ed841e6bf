// Indexing, read and assigned: `x[...]`.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/expressions/Subscripts.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Tensors;
class Operators;
class Expressions;

/// The evaluated subscripts of one index expression: what they mean for every tensor of `base`'s shape.
struct ReadIndex {
  ir::Dims base;
  std::vector<Step> steps;
  std::vector<ir::OperandText> written;
  Span span;  ///< of the whole index expression
};

/// Elements, slices and windows of tensors, lists and tuples.
class Indexing {
 public:
  Indexing(Context& context, Evaluator& evaluator, Tensors& tensors, Operators& operators, Expressions& expressions)
      : context_(context), evaluator_(evaluator), tensors_(tensors), operators_(operators), expressions_(expressions) {}

  /// `a[...]`: an element, a part, or a device by its number.
  Val evalIndex(const ast::Expr& e);
  /// x[subscripts], for tensors (lists, tuples, shapes with one compile-time index are done by the caller).
  /// `known`: the subscript, where it is the only one and was evaluated before.
  Val indexExpr(const Val& base, const ast::Expr& index, const std::optional<Val>& known = {});
  /// The subscripts of an index expression, evaluated once; nothing after an error.
  std::optional<ReadIndex> readIndex(const Val& base, const ast::Expr& index, const std::optional<Val>& known = {});
  /// The indexed part of `base`.
  Val part(const Val& base, const ReadIndex& index);
  /// The tensor `base` with the indexed part set to `value`; with op "+=" and the like, to what the operator makes of
  /// the part of `before`, the tensor as it was when the update began, and `value`. E0202 where the shape of `base` is
  /// no longer what the subscripts were read for.
  Val withPart(const Val& base, const Val& before, const ReadIndex& index, const Val& value, std::string_view op,
               Span span);
  /// A place in a list or tuple; E0205 out of range, E0111 for an index of the run. `known`: the index, if it was
  /// evaluated before.
  std::optional<size_t> listIndex(const Val& list, const ast::Expr& index, const std::optional<Val>& known);

 private:
  /// `index`: the subscript, where it was evaluated before.
  Val elementOf(const Val& list, const ast::Expr& e, const std::optional<Val>& index = {});
  /// The element of a literal of numbers, bools or strings at an index known at compile time, itself known; unit where
  /// there is none such. `index`: the index, if it was evaluated.
  Val knownElement(const Val& base, const ast::Expr& e, std::optional<Val>& index);

  Context& context_;
  Evaluator& evaluator_;
  Tensors& tensors_;
  Operators& operators_;
  Expressions& expressions_;
};

}  // namespace tenc::frontend
