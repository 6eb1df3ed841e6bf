// The table of built-in operations: one row a name, and what handlers share. Private to Builtin*.cpp.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Signature.h"
#include "frontend/calls/Arguments.h"
#include "ir/Ir.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

class Calls;
class Devices;
class Elementwise;
class Evaluator;
class Formats;
class Operators;
class PlacingOps;
class Regions;
class Structs;
class Tensors;
class Tracer;
class Transforms;
struct BuiltinRow;

/// The parts of lowering that built-ins use.
struct BuiltinTools {
  Context& context;
  Evaluator& evaluator;
  Tensors& tensors;
  Elementwise& elementwise;
  Operators& operators;
  Structs& structs;
  Regions& regions;
  Calls& calls;
  Devices& devices;
  PlacingOps& placing;
  Transforms& transforms;
  Tracer& tracer;
  Formats& formats;
};

/// One call of a built-in with its arguments bound. Helpers report and give nullopt (or null) on wrong arguments.
struct BuiltinCall : BuiltinTools {
  const BuiltinRow& row;
  const BoundArgs& args;
  Span span;    ///< of the call
  Span callee;  ///< of the name that is called
  const Ty* expected = nullptr;
  ir::Compose c;

  bool has(std::string_view name) const { return args.has(name); }
  const Val& operator[](std::string_view name) const { return args[name]; }
  /// The argument as a tensor; null after an error or poison.
  ir::Value* tensor(std::string_view name, std::optional<ir::DType> hint = {}) const;
  /// As `tensor`, which must be of floats (E0201, with the conversion as help).
  ir::Value* floats(std::string_view name, std::optional<ir::DType> hint = {}) const;
  /// The argument, or the default that the signature gives; poison where there is neither.
  Val value(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::string> string(std::string_view name) const;
  /// The axis argument of a tensor of `rank`. Left out without a default it is the only axis of a vector, 0.
  std::optional<int64_t> axis(std::string_view name, int64_t rank) const;
  /// dtype: the option, else the declared type's, else the default of the signature.
  std::optional<ir::DType> dtype() const;
  /// The same, else `otherwise`, which the other arguments say.
  std::optional<ir::DType> dtype(ir::DType otherwise) const;
  /// Whether sums and products of them with lengths cannot overflow; reports E0208.
  bool inReach(const ir::Dims& values, std::string_view what, Span at) const;
  /// n integers: one stands for all.
  std::optional<ir::Dims> perDim(std::string_view name, size_t n) const;
  /// n pairs (lo, hi): an int, (lo, hi) or n ints where `each` says that these are one a dim, or a list of pairs.
  std::optional<std::vector<std::pair<int64_t, int64_t>>> pairs(const Val& v, size_t n, bool each) const;
  bool checkFloat(const ir::Value* x) const;
  bool checkRank(const ir::Value* x, int64_t atLeast) const;
  Val result(ir::Value* v) const;
  /// Copies of the number `v`, the argument `name`, on the device of `x`, where it must be (P2).
  ir::Value* filledOn(ir::Value* x, const ir::Dims& shape, ir::Value* v, std::string_view name);
  Val fail(Code code, std::string message) const { return context.fail(code, span, std::move(message)); }
  /// The same of an argument, which is marked where the call gives it.
  Val failAt(std::string_view name, Code code, std::string message) const {
    const bool given = has(name) && args[name].span.valid();
    return context.fail(code, given ? args[name].span : span, std::move(message));
  }
  Val notYet() const;
  /// Poison after an error that was reported elsewhere.
  Val lost() const { return context.lost(); }
};

using BuiltinHandler = Val (*)(BuiltinCall&);

/// Rules of the language that hold for some built-ins.
struct BuiltinTraits {
  bool openResult = false;      ///< dims of the result come from elsewhere than the arguments: from a file
  bool calledOnly = false;      ///< no value by itself: it stands where something is called, and makes a function
  bool refused = false;         ///< it is there to say what is meant instead
  bool ofNumbers = false;       ///< it makes a tensor of numbers, and takes none
  std::string_view pairwise{};  ///< the row that is meant when it is given two operands
};

struct BuiltinRow {
  consteval BuiltinRow(const char* called, std::string_view sentence, BuiltinHandler function,
                       ir::OpKind kind = ir::OpKind::Count, BuiltinTraits rules = {})
      : name(Signature(called).name()), signature(called), doc(sentence), handler(function), op(kind), traits(rules) {}

  std::string_view name;
  Signature signature;
  std::string_view doc;
  BuiltinHandler handler;
  ir::OpKind op;  ///< for handlers that serve many rows
  BuiltinTraits traits;
};

// One function a group, each in its own file.
std::span<const BuiltinRow> elementwiseBuiltins();
std::span<const BuiltinRow> reductionBuiltins();
std::span<const BuiltinRow> quantileBuiltins();
std::span<const BuiltinRow> orderBuiltins();
std::span<const BuiltinRow> shapeBuiltins();
std::span<const BuiltinRow> joinBuiltins();
std::span<const BuiltinRow> rearrangeBuiltins();
std::span<const BuiltinRow> indexedBuiltins();
std::span<const BuiltinRow> creationBuiltins();
std::span<const BuiltinRow> randomBuiltins();
std::span<const BuiltinRow> productBuiltins();
std::span<const BuiltinRow> linearBuiltins();
std::span<const BuiltinRow> convolutionBuiltins();
std::span<const BuiltinRow> poolingBuiltins();
std::span<const BuiltinRow> normalisationBuiltins();
std::span<const BuiltinRow> controlBuiltins();
std::span<const BuiltinRow> hostBuiltins();
std::span<const BuiltinRow> debugBuiltins();
std::span<const BuiltinRow> fileBuiltins();
std::span<const BuiltinRow> transformBuiltins();

/// The row of that name; null for none.
const BuiltinRow* builtinRow(std::string_view name);

/// A compile-time result of an elementwise function of compile-time numbers, where there is one.
std::optional<Val> foldElementwise(ir::OpKind op, const std::vector<Val>& operands, Span span);

}  // namespace tenc::frontend
