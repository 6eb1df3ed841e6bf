// The state of one lowering run, and what its files share. Lowering interprets the syntax tree abstractly: walking a
// body with concrete dims emits IR and reports type errors on the way. Poison never causes a second error.
//
// Files: Lower.cpp (entry, units), Scope.cpp, Types.cpp, Unify.cpp, Functions.cpp, Calls.cpp, Expr.cpp, Operators.cpp,
// Trees.cpp, Statements.cpp, Control.cpp, Args.cpp, Values.cpp; and by topic the built-in operations: Builtin*.cpp,
// Index.cpp, Format.cpp.
#pragma once
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/Frontend.h"
#include "frontend/Values.h"
#include "ir/Ir.h"

namespace tenc::frontend {

/// A name in a scope.
struct Binding {
  Val value;
  Span span;  ///< of the declaration, for notes
  bool isVar = false;
  std::shared_ptr<const Ty> declared;  ///< of a `let`/`var` with a written type
};

/// One argument of a call as it was evaluated. Numbers and `[...]` are not made into tensors yet.
struct CallArg {
  std::string name;  ///< "" when positional
  Val value;
  Span span;
};
struct CallArgs {
  Span span;    ///< of the whole call
  Span callee;  ///< of the function's name
  std::vector<CallArg> args;
  const Ty* expected = nullptr;  ///< declared type that the result should have: decides the dtype of creation ops
};

/// Arguments matched to a built-in's parameters by Lowering::bind.
class BoundArgs {
 public:
  bool ok = false;
  std::vector<std::pair<std::string, const Val*>> named;
  std::vector<const Val*> rest;  ///< of a variadic signature
  /// Null when an optional argument was left out.
  const Val* find(std::string_view name) const;
  const Val& operator[](std::string_view name) const;  ///< must be present
  bool has(std::string_view name) const { return find(name) != nullptr; }
};

/// A script or module: its tree and its declarations, found before anything is lowered so that order does not matter.
struct Unit {
  std::string name;  ///< "" for the script, "nn" for a module
  uint32_t source = 0;
  const ast::File* file = nullptr;
  std::unique_ptr<ast::File> owned;
  bool isScript = false;
  std::map<std::string, std::vector<FnDecl>, std::less<>> functions;
  std::map<std::string, StructDecl, std::less<>> structs;
  std::map<std::string, const ast::Stmt*, std::less<>> aliases, constants, params, devices;
  std::map<std::string, const Unit*, std::less<>> modules;                        ///< import nn
  std::map<std::string, std::pair<const Unit*, std::string>, std::less<>> names;  ///< import optim: sgd
  mutable std::map<std::string, Val, std::less<>> evaluated;                      ///< constants and params, once
  mutable std::set<std::string, std::less<>> evaluating;
  std::map<std::string, Span, std::less<>> declared;  ///< for E0103
};

/// A lowered instance of a function: concrete arguments, one ir::Func.
struct Instance {
  ir::Func* func = nullptr;
  Val result;  ///< shape of the result: tensors are only types here, see Lowering::rebuild
  std::vector<ir::Type> resultTypes;
  bool failed = false, running = false;
};

class Lowering {
 public:
  Lowering(SourceManager& sources, Diagnostics& diags, const Options& options, Lowered& out);
  void run(const ast::File& file);

  // ---- context
  SourceManager& sources;
  Diagnostics& diags;
  const Options& options;
  Lowered& out;
  ir::Module& module;
  ir::Builder& b() { return *builder_; }
  /// Sets the location of the ops that are made next.
  void at(Span s);

  // ---- diagnostics
  /// Reports with the call chain as notes. Returns the builder for labels, notes and helps.
  Diagnostics::Builder error(Code code, Span span, std::string message);
  Diagnostics::Builder warning(Code code, Span span, std::string message);
  /// Reports and gives poison: `return fail(Code::E0203, span, "...")`.
  Val fail(Code code, Span span, std::string message);
  Val notYet(Span span, std::string_view what);  ///< E0190

  // ---- compile-time values (Args.cpp). All report when the value is of the wrong kind (E0111 when it is run-time).
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

  /// Matches arguments to parameters. `signature` is as in ops.md: "sum(x; axis: ints?, keep: false)": options after
  /// `;` are always named; a parameter with `?` or with a default after `:` may be left out; a last positional
  /// parameter
  /// `...` takes the rest. Reports E0204 with the signature. Poison arguments give ok = false without a report.
  BoundArgs bind(const CallArgs& call, std::string_view signature);

  // ---- tensors (Operators.cpp)
  /// The value as a tensor: numbers become rank-0 constants (of `hint` when they adopt and it is given), arrays are
  /// stacked. Null after poison or an error (E0203).
  ir::Value* tensorOf(const Val& v, std::optional<ir::DType> hint = {});
  /// Literals, arrays of them and bools made into what a binding holds: Array -> tensor or list; numbers stay
  /// compile-time but adopt no longer.
  Val settle(Val v, const Ty* expected = nullptr);
  /// The dtype that the operands of an elementwise op agree on by section 2 of the language; reports E0201.
  std::optional<ir::DType> commonDType(const std::vector<Val>& operands, Span span, std::string_view opName);
  /// Operands made into tensors of one dtype and one shape; empty after an error (E0201, E0202).
  std::vector<ir::Value*> together(const std::vector<Val>& operands, Span span, std::string_view opName);
  /// An elementwise op on values or trees (leaf by leaf; a rank-0 operand goes to every leaf; float leaves only, the
  /// others from the first tree when `arithmetic`). Checks traits (FloatOnly, IntOnly, ...) with E0201.
  Val elementwise(ir::OpKind kind, const std::vector<Val>& operands, Span span, std::string_view opName);
  /// As `elementwise`, for functions made of several ops: `f` gets leaf tensors of one dtype and shape.
  using LeafFn = std::function<Val(const std::vector<ir::Value*>&)>;
  Val elementwiseBy(const std::vector<Val>& operands, Span span, std::string_view opName, const LeafFn& f);
  /// An op with checked operands: inference failures are E0202 at `span`.
  Val make(ir::OpKind kind, std::vector<ir::Value*> operands, std::vector<ir::Builder::NamedAttr> attrs, Span span);
  /// Conversion of a value or tree: compile-time numbers convert at compile time.
  Val cast(const Val& v, ir::DType to, Span span);
  /// As written in the source: +, -, *, /, //, %, @, **, ==, ..., and, or (not short-circuit).
  Val binary(std::string_view op, const Val& a, const Val& b2, Span span, Span opSpan);
  /// Rank-0 tensors.
  ir::Value* scalarOf(ir::DType t, double f) { return b().scalar(t, f); }
  ir::Value* scalarInt(ir::DType t, int64_t i) { return b().scalarInt(t, i); }

  // ---- trees (Trees.cpp)
  /// Tensor leaves in order (settled first); false after an error.
  bool leavesOf(const Val& v, std::vector<ir::Value*>& leaves);
  /// `like` with its tensor leaves replaced in order.
  Val rebuild(const Val& like, const std::vector<ir::Value*>& leaves);
  using TreeFn = std::function<Val(const Val& leaf, const std::string& path, bool state)>;
  /// `f` on every leaf that is no tree; path is "fc1.w". Poison if a leaf gives poison.
  Val mapLeaves(const Val& v, const TreeFn& f);
  bool sameStructure(const Val& a, const Val& b2);
  Ty typeOf(const Val& v);

  // ---- functions (Calls.cpp)
  /// Calls any callable with positional arguments: for map, scan, reduce, fold, tabulate.
  Val callValue(const Val& f, std::vector<Val> args, Span span);
  Val call(const Val& f, CallArgs args);
  /// A counted loop with carried values; gives their final values (Control.cpp). `body` gets i and the carried values.
  using LoopBody = std::function<std::vector<Val>(ir::Value* i, std::vector<Val> carried)>;
  std::vector<Val> forLoop(ir::Value* lo, ir::Value* hi, ir::Value* step, std::vector<Val> carried, Span span,
                           const LoopBody& body);

  // ---- expressions, for indexing and formats
  Val eval(const ast::Expr& e, const Ty* expected = nullptr);
  /// As `eval`, settled.
  Val evalSettled(const ast::Expr& e, const Ty* expected = nullptr);

  // ---- devices
  /// The device a name or literal means, checked to be declared or available (E0304); for available, count, devices.
  bool deviceAvailable(std::string_view name) const;
  int cudaCount() const { return options.cudaCount; }
  /// The actual device of a name: "gpu" -> "cuda:0".
  std::string actualDevice(std::string_view name) const;
  std::optional<DeviceRef> constDevice(const Val& v, std::string_view what = "this");
  /// x.to(d): of a tree, every leaf that is not pinned.
  Val moveTo(const Val& v, const DeviceRef& d, Span span, std::string_view cause);

 private:
  ir::Builder* builder_ = nullptr;
};

// ---- the built-in operations (Builtin*.cpp, Index.cpp, Format.cpp)

bool isBuiltin(std::string_view name);
/// Names of all built-ins, for "did you mean".
const std::vector<std::string_view>& builtinNames();
Val callBuiltin(Lowering& l, std::string_view name, CallArgs& args);
/// Constants of ops.md that are no functions: pi, inf, nan; poison for others.
std::optional<Val> builtinConstant(std::string_view name, Span span);
/// x[subscripts], for tensors (lists, tuples, shapes with one compile-time index are done by the caller).
Val indexExpr(Lowering& l, const Val& base, const ast::Expr& index);
/// The tensor `base` with base[subscripts] set to `value` (op "=", or "+=" ...: read, combine, write).
Val assignIndex(Lowering& l, const Val& base, const ast::Expr& index, const Val& value, std::string_view op, Span span);
/// .shape .ndim .size .dtype .device .T of a tensor (and .device of trees); nullopt when `name` is none of them.
std::optional<Val> memberOfTensor(Lowering& l, const Val& base, std::string_view name, Span span);
/// A string literal with holes: a String when every hole is compile-time, else a Format.
Val formatString(Lowering& l, const ast::Expr& e);
/// The pieces, formats and operands of print and assert for a list of values.
struct FormatParts {
  std::vector<std::string> pieces, formats;
  std::vector<ir::Value*> operands;
  bool ok = true;
};
FormatParts formatParts(Lowering& l, const std::vector<Val>& values, Span span);

}  // namespace tenc::frontend
