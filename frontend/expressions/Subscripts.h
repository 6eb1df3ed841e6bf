// The subscripts of an index expression, read and checked against the type of what is indexed.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/values/Values.h"
#include "support/Diagnostics.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Expressions;
class Tensors;

/// One subscript with its dim of the base. A dim that is not written is a slice of all of it. NoDims is a `...` that
/// stands for none: what is left and right of it is not adjacent.
struct Step {
  enum class Kind : uint8_t { At, Scalar, Tensor, Slice, Window, New, NoDims } kind = Kind::Slice;
  int64_t dim = -1;             ///< -1 for New and NoDims
  int64_t start = 0, size = 1;  ///< At, Slice; Window: size
  int64_t step = 1;
  ir::Value* index = nullptr;  ///< Scalar, Tensor; Window: start
  Span span;
};

/// What reading subscripts takes.
struct SubscriptTools {
  Context& context;
  Evaluator& evaluator;
  Tensors& tensors;
  Expressions& expressions;
};

/// Reads the subscripts of one index expression against a base type.
class Subscripts {
 public:
  /// `known`: the index, where it is the only subscript and was evaluated before.
  Subscripts(const SubscriptTools& tools, const ir::Type& base, const ast::Expr& e,
             const std::optional<Val>& known = {})
      : tools_(tools), base_(base), e_(e), known_(known) {}

  /// Fills `steps`, in the order of the base's dims. False after errors, all of which are reported: too many indices,
  /// out of range, of a wrong type, with a length that only a run would know.
  bool read();
  std::vector<Step> steps;
  /// Where the indexed tensor and the indices stand.
  std::vector<ir::OperandText> written() const;

 private:
  bool refuse(Code code, Span span, std::string message);
  Step& add(Step::Kind kind, Span span);
  /// The next n dims, all of each.
  void whole(int64_t n);
  bool inRange(int64_t i, int64_t n, Span span);
  /// Literal numbers of an index array are checked here; deeper arrays too.
  bool literalsInRange(const Val& v, int64_t n);
  Val evaluated(const ast::Subscript& s);
  bool index(const ast::Subscript& s);
  /// A slice bound: nullopt after an error; `otherwise` when it is not written.
  std::vector<Edit> withLength(const ast::Subscript& s) const;
  std::optional<Help> shorterTrip(const ast::Subscript& s) const;
  std::optional<int64_t> bound(const ast::ExprPtr& e, int64_t otherwise, const ast::Subscript& slice);
  bool slice(const ast::Subscript& s);
  bool window(const ast::Subscript& s);

  const SubscriptTools tools_;
  const ir::Type& base_;
  const ast::Expr& e_;
  const std::optional<Val> known_;
  int64_t dim_ = 0;
};

}  // namespace tenc::frontend
