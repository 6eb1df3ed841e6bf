// The state of one lowering run, and what its files share. Lowering interprets the syntax tree abstractly: walking a
// body with concrete dims emits IR and reports type errors on the way. Poison never causes a second error.
//
// Files: Lower.cpp (entry, units); names and types in Scope, Types, Aliases, Unify, Devices; functions and calls in
// Functions, Calls, Args, Vmap (with Batch*); statements in Statements, Control, Loops, Regions; expressions in Expr,
// Operators, Elementwise, Literals, Index (with Subscripts), Trees, Format; built-in operations by topic in Builtin*,
// what they are made of in Compose*; names from elsewhere in Familiar; the REPL's values in SessionValues.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "frontend/Frontend.h"
#include "frontend/names/Library.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Sizes.h"
#include "frontend/values/Values.h"
#include "ir/Ir.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

/// A name in a scope.
struct Binding {
  Val value;
  Span span;  ///< of the declaration, for notes
  bool isVar = false;
  int regionDepth = 0;                 ///< run-time loops and branches around the declaration
  std::shared_ptr<const Ty> declared;  ///< of a `let`/`var` with a written type
  Span start;                          ///< of a `var`: what it starts with, as written
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

class Signature;
struct TreeVisitor;

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
  std::unique_ptr<Resolution> resolution;             ///< what the names in the file mean
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
  Lowering(SourceManager& sources, Diagnostics& diags, const Options& options, Lowered& out, bool wholeLibrary);
  void run(const ast::File& file);

  // ---- context
  SourceManager& sources;
  Diagnostics& diags;
  const Options& options;
  Lowered& out;
  ir::Module& module;
  Library library;
  const bool wholeLibrary;  ///< all of its modules is parsed, for messages that propose what there is
  ir::Builder& b() { return *builder_; }
  /// Sets the location of the ops that are made next.
  void at(Span s);
  /// As `at`, and notes where the operands of what is made there are written.
  void at(Span s, std::vector<ir::OperandText> operands);

  // ---- diagnostics
  /// Reports with the call chain as notes. Returns the builder for labels, notes and helps.
  Diagnostics::Builder error(Code code, Span span, std::string message);
  Diagnostics::Builder warning(Code code, Span span, std::string message);
  /// Reports and gives poison: `return fail(Code::E0203, span, "...")`.
  Val fail(Code code, Span span, std::string message);
  /// Reports a size that overflowed since the last call (E0208); false when there was none.
  bool reportTooLarge(Span span);
  /// Counts one evaluation; true when the script has had as many as it may (E0105, said once).
  bool spent(Span span);
  /// Whether little of the stack is left; reported once, at `span`.
  bool tooDeep(Span span);
  Val notYet(Span span, std::string_view what);  ///< E0190
  using BranchFn = std::function<std::vector<Val>()>;
  /// What `body` makes, inside an `on` op.
  std::vector<Val> emitOn(const DeviceRef& device, Span span, const BranchFn& body);
  /// A struct whose arguments follow from its field values (in declared order).
  Val structOf(const StructInfo& type, std::vector<Val> fields, Span span);

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

  /// Matches arguments to parameters; reports E0204 with the signature. Poison arguments give ok = false without a
  /// report.
  BoundArgs bind(const CallArgs& call, const Signature& signature);

  // ---- tensors (Operators.cpp)
  /// The value as a tensor: numbers become rank-0 constants (of `hint` when they adopt and it is given), arrays are
  /// stacked. Null after poison or an error (E0203).
  ir::Value* tensorOf(const Val& v, std::optional<ir::DType> hint = {});
  /// Whether so many tensors can be joined into one; reports E0208.
  bool checkParts(size_t count, Span span);
  ir::Value* tensorHere(const Val& v, std::optional<ir::DType> hint);
  /// Literals, arrays of them and bools made into what a binding holds: Array -> tensor or list; numbers stay
  /// compile-time but adopt no longer.
  Val settle(Val v, const Ty* expected = nullptr);
  /// Operands that are all literals, at least one of them an array or `always`: the first becomes a tensor of the dtype
  /// that is declared for their result, so that the others adopt it. Anything else stays as it is.
  void adoptDeclared(std::vector<Val>& operands, const Ty* expected, bool always = false);
  /// Reports a value of another dtype than the variable, or the part of one, that `op` updates with it.
  bool changesDType(const Val& old, const Val& value, std::string_view op, Span span, Span declared);
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
  /// Has placement check that the leaves of a struct or list, but for pinned ones, are on one device.
  void checkOnePlace(const Val& tree, std::string what, Span span);
  /// Tensor leaves in order (settled first); false after an error.
  bool leavesOf(const Val& v, std::vector<ir::Value*>& leaves);
  /// `like` with its tensor leaves replaced in order.
  Val rebuild(const Val& like, const std::vector<ir::Value*>& leaves);
  using TreeFn = std::function<Val(const Val& leaf, const std::string& path, bool state)>;
  /// `f` on every leaf that is no tree; path is "fc1.w". Poison if a leaf gives poison.
  Val mapLeaves(const Val& v, const TreeFn& f);
  /// The structs in `v` with the dims of their leaves, which are rows of what they were, or a batch of it: `C[...S]`
  /// with rows of [4, 3] is `C[3]`. One whose leaves are not of the declared shapes keeps its arguments.
  Val refit(Val v);
  bool sameStructure(const Val& a, const Val& b2);
  Ty typeOf(const Val& v);

  // ---- functions (Calls.cpp)
  /// `f` over `n` instances at once (Vmap.cpp): instance i gets row i of the leaves of the `mapped` arguments, and the
  /// others as they are; the leaves of the result have a leading dim of n.
  using InstanceFn = std::function<Val(std::vector<Val>)>;
  Val overInstances(const InstanceFn& f, int64_t n, const std::vector<Val>& args, const std::vector<bool>& mapped,
                    Span span);
  /// Calls any callable with positional arguments: for map, scan, reduce, fold, tabulate.
  Val callValue(const Val& f, std::vector<Val> args, Span span);
  Val call(const Val& f, CallArgs args);
  /// `value`, whose leaves must live where those of `old` do; `name`: of the variable that keeps its place.
  Val placedAs(const Val& value, const Val& old, const std::string& name);
  using LoopBody = std::function<std::vector<Val>(ir::Value* i, std::vector<Val> carried)>;
  /// A counted loop with carried values; gives their final values (Regions.cpp). `body` gets i and the carried values.
  std::vector<Val> forLoop(ir::Value* lo, ir::Value* hi, ir::Value* step, std::vector<Val> carried, Span span,
                           const LoopBody& body);

  /// `f` with its ops at the end of `region`.
  void inRegion(ir::Region* region, const std::function<void()>& f);

  // ---- expressions, for indexing and formats
  Val eval(const ast::Expr& e, const Ty* expected = nullptr);
  /// As `eval`, settled.
  Val evalSettled(const ast::Expr& e, const Ty* expected = nullptr);

  // ---- devices
  /// The device a name or literal means, checked to be declared or available (E0304); for available, count, devices.
  bool deviceAvailable(std::string_view name) const;
  /// E0304, with the devices that are there.
  Val noDevice(std::string_view name, Span span);
  /// The actual device of a name: "gpu" -> "cuda:0".
  std::string actualDevice(std::string_view name) const;
  std::optional<DeviceRef> constDevice(const Val& v, std::string_view what = "this");
  /// x.to(d): of a tree, every leaf that is not pinned.
  Val moveTo(const Val& v, const DeviceRef& d, Span span, std::string_view cause);
  /// The first value of a `var` or of a loop: what is bound outside the `@d` block around here enters it, so that the
  /// new name is one of the block's own.
  Val enterAnnotation(const Val& v);
  /// The innermost `@d` around what is lowered now.
  ir::Op* annotationAround();
  /// The value where it lives, so that an annotation around does not move it: what a lambda captured.
  Val keepPlace(const Val& v);

 private:
  ir::Builder* builder_ = nullptr;
  uint64_t nextId_ = 1;

  // ---- scopes (Scope.cpp)
  struct Scope {
    Scope() = default;
    Scope(const Scope&) = delete;
    std::list<std::pair<std::string, Binding>> names;  ///< later ones shadow earlier ones; addresses are stable
    Binding& add(std::string name, Binding binding) {
      auto& [own, kept] = names.emplace_back(std::move(name), std::move(binding));
      latest_[own] = &kept;
      return kept;
    }
    /// The last of that name, or null.
    Binding* find(std::string_view name) {
      auto it = latest_.find(name);
      return it == latest_.end() ? nullptr : it->second;
    }

   private:
    std::unordered_map<std::string_view, Binding*> latest_;  ///< names are those of the list
  };
  /// A body being lowered: the script, a function instance, or an inlined lambda.
  struct Frame {
    const Unit* unit = nullptr;
    const FnDecl* fn = nullptr;
    std::string key, signature;
    Span call;
    bool higherOrder = false;    ///< has a function among its arguments
    size_t trees = 0;            ///< that its arguments are made of
    const Ty* result = nullptr;  ///< declared type of the result, as far as it is known
    std::list<Scope> scopes;
    std::map<std::string, Span> ended;              ///< names of blocks that ended, for notes
    std::set<std::string, std::less<>> undeclared;  ///< names that were assigned and are none: reported once
  };
  std::vector<std::unique_ptr<Frame>> frames_;
  Frame& frame() { return *frames_.back(); }
  void push() { frame().scopes.emplace_back(); }
  void pop();
  bool nameExists(std::string_view name);
  std::string nearest(std::string_view name, const std::vector<std::string>& names);
  /// Adds which of `names` was meant by `name`, by its spelling or by what other languages call it.
  void suggest(Diagnostics::Builder& d, std::string_view name, Span at, const std::vector<std::string>& names,
               const syntax::Familiar* known);
  std::map<std::string, Val> params_;
  Binding* findLocal(std::string_view name);
  /// Whether a statement with a syntax error may have declared it: then its absence is no error of its own.
  bool lostName(std::string_view name) { return frame().unit->file && frame().unit->file->lost.count(name) != 0; }
  Binding& declare(const ast::Name& name, Val value, bool isVar, std::shared_ptr<const Ty> declared = nullptr);
  /// Consts, params, devices, functions, structs, imports of a unit; nullopt when there is none of that name.
  std::optional<Val> lookupGlobal(const Unit& unit, std::string_view name, Span span);
  std::optional<Val> lookup(std::string_view name, Span span);
  Val constantOf(const Unit& unit, const ast::Stmt& decl);
  Val paramOf(const ast::Stmt& decl);
  Val deviceOf(const Unit& unit, const ast::Stmt& decl);
  Val fieldOf(const Val& base, std::string_view name, Span span);
  /// Reports it with what may have been meant. `assigned`: it stands left of a `=`.
  Val unknownName(std::string_view name, Span span, bool assigned = false, const ast::Expr* call = nullptr);
  std::optional<DeviceRef> annotationDevice(const ast::Annotation& a);
  std::vector<std::string> visibleNames();

  // ---- functions that nobody calls (Uncalled.cpp)
  struct Generics;
  struct Samples;
  void checkUncalled(const Unit& unit);
  void checkWithSamples(const FnDecl& decl, ir::Region& region);
  void instantiateSample(const FnDecl& decl, Samples samples, ir::Region& region);
  bool sampleValue(const Ty& t, ir::Region* region, Val& v);
  /// `inShape`: a bare name that is not listed is a dim variable there, not an unknown type.
  void bindSamples(const ast::TypeExpr& written, Generics& g, Samples& samples, bool inShape);

  // ---- units (Lower.cpp)
  std::list<std::unique_ptr<Unit>> units_;
  std::map<std::string, const Unit*> modules_;
  /// The declarations of the unit's statements `from`..
  void collect(Unit& unit, size_t from = 0);
  /// What sources that came since need of modules that were read in part.
  void extendLibrary();
  const Unit* import(const std::string& name, Span span);
  /// Reports a `--default-device` that is not there.
  void checkDefaultDevice(const Unit& unit);
  void lowerCase(const ast::Stmt& stmt, bool isBench, int number);
  void collectParams(const Unit& unit);
  bool declareOnce(Unit& unit, const ast::Name& name);
  /// Finds what the names in a unit mean, whose statements from `from` on are new; reports dims of structs that nothing
  /// declares (E0102).
  void resolveNames(Unit& unit, size_t from);

  // ---- sessions (SessionValues.cpp)
  /// Options::inputs as parameters of `main`, bound in the script's scope.
  void declareInputs(ir::Func& main);
  /// Fills Lowered::kept when the script has been lowered; gives the results of `main`. `last`: the value of a last
  /// expression.
  std::vector<ir::Value*> keepValues(const ast::File& file, const Val& last);
  static bool changed(const Val& v);
  static bool givesValue(const ast::File& file);

  // ---- types (Types.cpp, Unify.cpp)
  /// Variables of a signature, struct or `let` type, and what they are bound to.
  struct Generics {
    const Unit* unit = nullptr;
    const std::vector<ast::Generic>* listed = nullptr;
    const std::set<std::string, std::less<>>* dims = nullptr;  ///< FnDecl::dims
    std::map<std::string, Val, std::less<>> bound;
    std::map<std::string, Span, std::less<>> origin;  ///< where each was bound, for notes
    bool locals = false;                              ///< also see local names (types of `let`)
    bool open = true;                                 ///< unknown names in shapes are variables
    struct Pending {
      const ast::TypeExpr* dim;
      int64_t value;
    };
    std::vector<Pending> pending;  ///< dims with more than one unknown, solved at the end
  };
  /// Who is being unified, for messages: "argument `x` of `affine`".
  struct Target {
    std::string what;
    Span span;
    Span declared;
    bool isDeclaration = false;          ///< let, result, field: E0207 instead of E0201, E0202
    const ast::TypeExpr* dim = nullptr;  ///< inside of a dim: all of it, and its size
    int64_t size = 0;
  };
  /// The generics of a function before a call binds them.
  static Generics genericsOf(const FnDecl& decl);
  /// Reports dims of the result's type that no argument has bound; `inShape` as in bindSamples.
  bool resultDimsBound(const ast::TypeExpr& written, Generics& g, bool inShape);
  bool hasSyntaxError(Span within);
  const ast::Generic* listedGeneric(const Generics& g, std::string_view name) const;
  /// What a name in a type means: bound variable, dtype, struct or other type, integer; nullopt for an unbound
  /// variable.
  struct TypeName {
    bool variable = false;
    std::optional<Val> value;
  };
  TypeName typeName(const ast::TypeExpr& t, Generics& g, bool inShape);
  Ty resolve(const ast::TypeExpr& written, Generics& g);
  /// `Alias[2, 3]` in an expression: the type, unit when `callee` names no generic alias (Aliases.cpp).
  Val aliasWith(const ast::Expr& given, const ast::Expr& callee);
  /// A use of a generic alias as the type that it stands for; other types as they are.
  const ast::TypeExpr& expanded(const ast::TypeExpr& t, const Generics& g);
  std::map<std::pair<const ast::TypeExpr*, const Unit*>, ast::TypePtr> expandedAliases_;
  std::optional<int64_t> dimOf(const ast::TypeExpr& t, Generics& g, bool report);
  /// Which struct, without arguments and fields.
  std::shared_ptr<const Ty> structType(const StructDecl& decl);
  Ty structResolved(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer, Span span);
  Ty structWith(const StructDecl& decl, Generics& g);
  Generics structGenerics(const StructDecl& decl);
  /// Which of `count` written arguments belong to each type parameter of a struct, as [first, last): one each, and to
  /// the shape pack, if there is one, all that are dims. Reports E0204 when that does not work out.
  std::optional<std::vector<std::pair<size_t, size_t>>> shareArguments(const StructDecl& decl, size_t count, Span span,
                                                                       const std::function<bool(size_t)>& isDim);
  bool isDimArgument(const ast::TypeExpr& t, Generics& g);
  bool giveArguments(const StructDecl& decl, const std::vector<ast::TypePtr>& args, Generics& outer, Generics& inner,
                     Span span);
  void giveDefaults(const StructDecl& decl, Generics& g);
  /// A struct of these field values (in declared order): unifies, defaults, checks pinned fields.
  Val makeStruct(const StructDecl& decl, Generics& g, std::vector<Val> fields, Span span);
  std::optional<Val> typeArgument(const ast::TypeExpr& written, Generics& g);
  void unknownType(const ast::TypeExpr& t);
  std::vector<const StructDecl*> resolving_;  ///< structs whose fields are being read: one in itself is E0109
  std::set<const StructDecl*> circular_;      ///< those that were found to contain themselves
  StructPtr structInfo(const StructDecl& decl, Generics& g);
  std::string deviceInType(const ast::TypeExpr& t, Generics& g);
  Val unify(const ast::TypeExpr& written, const Val& v, Generics& g, const Target& who);
  Val unifyTensor(const ast::TypeExpr& t, const TypeName& head, const Val& v, Generics& g, const Target& who);
  Val unifyStruct(const ast::TypeExpr& t, const StructDecl& decl, const Val& v, Generics& g, const Target& who);
  bool unifyDims(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                 const ast::TypeExpr& whole);
  /// The same where several packs stand side by side: at most one of them is not known yet.
  bool unifyPacks(std::span<const ast::TypePtr> args, const ir::Dims& dims, Generics& g, const Target& who,
                  const std::function<bool()>& differs);
  /// What the pack of that name stands for, if it is bound.
  std::optional<ir::Dims> packDims(const std::string& name, Generics& g);
  /// A name in a written dim that has a value: a variable that is bound, or a constant (then without an origin).
  struct NamedDim {
    std::string name;
    int64_t value;
    Span written;
    Span origin;
  };
  void namedDims(const ast::TypeExpr& t, Generics& g, std::vector<NamedDim>& named);
  /// Says where the names in a dim or type have their values from.
  void noteDims(Diagnostics::Builder& d, const ast::TypeExpr& t, Generics& g);
  bool unifyDim(const ast::TypeExpr& t, int64_t value, Generics& g, const Target& who);
  bool unifyArgument(const ast::TypeExpr& written, const Val& actual, Generics& g, const Target& who);
  bool finishPending(Generics& g, const Target& who);
  bool checkKind(std::string_view kind, const Val& v, std::string_view name, const Target& who);
  Val fit(const Ty& t, const Val& v, const Target& who);

  // ---- functions (Functions.cpp, Calls.cpp)
  struct Boundary;
  std::unordered_map<std::string, std::unique_ptr<Instance>> instances_;
  std::set<const FnDecl*> called_;
  std::set<const FnDecl*> named_;  ///< also where a wrong argument kept the body from being checked
  /// Resolves the names of a function that is not compiled.
  void checkNamesOf(const FnDecl& decl);
  /// The names in the bodies of functions that were called with wrong arguments only: all else depends on those.
  void checkUnseen(const Unit& unit);
  std::string keyOf(const Val& v);
  Val callOverloads(const FnValue& f, CallArgs& args);
  Val callDecl(const FnDecl& decl, CallArgs& args);
  Val callLambda(const FnValue& f, CallArgs& args);
  Val callVmap(const FnValue& f, CallArgs& args);
  Val callStruct(const Val& f, CallArgs& args);
  /// Arguments in the order of the parameters; defaults are null.
  bool matchArguments(const FnDecl& decl, const CallArgs& args, std::vector<const CallArg*>& matched);
  /// `written`: where the call writes each argument.
  Val instantiate(const FnDecl& decl, std::vector<Val>& values, Generics& g, Span call,
                  const std::vector<Span>& written = {});
  void lowerInstance(const FnDecl& decl, Instance& inst, const std::vector<Val>& values, Generics& g,
                     std::unique_ptr<Frame> own);
  bool paramIsStatic(const FnDecl& decl, const ast::FnParam& p);
  SizeParameters sizes_;
  const FnDecl* pickOverload(const std::vector<const FnDecl*>& overloads, const Val* first);
  std::string headOf(const ast::TypeExpr* t, const FnDecl& decl);
  int headMatch(const std::string& declared, const Val& v);
  std::string signatureText(const FnDecl& decl) const;
  Val callMethod(const Val& base, const ast::Expr& call, CallArgs& args);
  Val callExpr(const ast::Expr& e, const Ty* expected, const Val* piped);
  Val pipe(const ast::Expr& e, const Ty* expected);
  /// `call`: the call that it is the function of, to be shown as TL writes it when there is no such function.
  Val lookupCallee(const ast::Expr& name, const ast::Expr* call = nullptr);
  // Habits.cpp
  bool offerRewrite(Diagnostics::Builder& d, const ast::Expr& call);
  /// Reports `torch.zeros` and the like, where there is no such name.
  bool foreignPrefix(const ast::Expr& member);
  Val calledStruct(const Val& type, const CallArgs& args);
  Val settleArray(const Val& v);
  CallArgs evalArguments(const ast::Expr& e);
  /// One entry a leaf: where the signature says that it lives.
  void placesOf(const Val& v, const Ty& declared, const std::string& otherwise, std::vector<std::string>& list);
  /// State of the body being lowered, put back when a function instance is done.
  struct BodyState {
    ir::Builder* builder;
    Boundary* boundary;
    int regionDepth, outerRegions, staticLoops, tailCopies;
  };
  BodyState enterBody(ir::Builder* builder, Boundary* boundary);
  void leaveBody(const BodyState& s);
  int unnamedPlaces_ = 0;

  // ---- expressions (Expr.cpp)
  Val evalName(const ast::Expr& e);
  Val evalMember(const ast::Expr& e);
  Val evalIndex(const ast::Expr& e);
  /// Dtypes that `expected`, the declared type, gives and the literal does not are taken from there.
  Val evalStruct(const ast::Expr& e, const Ty* expected = nullptr);
  Val evalArray(const ast::Expr& e, const Ty* expected);
  Val evalUnary(const ast::Expr& e, const Ty* expected);
  Val evalBinary(const ast::Expr& e, const Ty* expected);
  Val shortCircuit(const ast::Expr& e, const Val& left);
  Val elementOf(const Val& list, const ast::Expr& e);
  /// The element of a literal of numbers, bools or strings at an index known while compiling, itself known; unit where
  /// there is none such. The index, if it was evaluated, then stands in `evaluated_`.
  Val knownElement(const Val& base, const ast::Expr& e);
  Val evalLambda(const ast::Expr& e);
  Val evalBlockExpr(const ast::Expr& e, const Ty* expected);
  Val evalIf(const ast::Expr& e, const Ty* expected);
  Val compareDevices(std::string_view op, const Val& a, const Val& b2, Span span);
  Val compareStatic(std::string_view op, const Val& a, const Val& b2, Span span);
  std::optional<Val> foldNumbers(std::string_view op, const Val& a, const Val& b2, Span span);
  Val matmul(const Val& a, const Val& b2, Span span, Span opSpan);
  ir::Value* constantTensor(const Val& array, ir::DType t, const ir::Dims& shape);
  bool arrayShape(const Val& v, ir::Dims& shape, std::optional<ir::DType>& dtype, bool& allStatic, bool& anyTree);

  // ---- statements and control flow (Statements.cpp, Control.cpp)
  enum class Exit : uint8_t { Falls, Break, Continue, Return };
  /// How a list of statements ended. When several ends are possible (`mixed`), the flags say at run time which it was;
  /// `result` holds where `returned` is true.
  struct Flow {
    Exit exit = Exit::Falls;
    Val value;          ///< of the block, or the returned value
    bool done = false;  ///< everything up to the boundary has been lowered
    bool mixed = false;
    bool falls = true;               ///< when `mixed`: whether what follows may be reached
    Val broke, continued, returned;  ///< Bool or rank-0 tensor when `mixed`
    Val result;
    bool mayReturn() const {
      return mixed ? !(returned.is(Val::Kind::Bool) && !returned.boolean) : exit == Exit::Return;
    }
    bool mayFall() const { return mixed ? falls : exit == Exit::Falls; }
  };
  /// What encloses statements and takes their exits: an exit under a run-time condition goes on in the branches of the
  /// `if` up to here, where the branches merge.
  struct Boundary {
    enum class Kind : uint8_t { Function, Loop, Region, Expression } kind = Kind::Function;
    std::vector<Binding*> vars;  ///< Loop, Region: variables whose values it hands on
    std::vector<std::string> names;
    bool wantsValue = true;  ///< whether the value of the last statement is used
  };
  Boundary* boundary_ = nullptr;
  using Statements = std::vector<ast::StmtPtr>;
  /// The statements that follow, from the innermost block outwards to the boundary.
  struct Tail {
    const Statements* list;
    size_t from;
    const Tail* next;
    size_t depth;  ///< scopes that are visible there
    bool wanted;   ///< whether the value of the statement before is that of the boundary
    /// What takes the value of the statements before, in front of those in `next`; its names are visible there.
    const std::function<Flow(const Val& value, const Tail& after)>* then = nullptr;
    const Ty* expected = nullptr;  ///< type that the value of these statements should have
  };
  Flow lowerBlock(const ast::Block& block, const Tail* tail, const Ty* expected);
  Flow lowerFrom(const Statements& list, size_t from, const Tail* tail, const Ty* expected);
  Flow lowerStatement(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected);
  Flow lowerPlain(const ast::Stmt& s, bool last, const Tail& tail, const Ty* expected);
  using PlacedFn = std::function<Flow(const Tail&)>;
  /// What `inner` lowers, inside one `on` op for each annotation.
  Flow lowerPlaced(const std::vector<ast::Annotation>& annotations, size_t which, const std::set<std::string>& assigned,
                   const Tail& tail, const PlacedFn& inner);
  bool sameLeaves(const Val& a, const Val& b2);
  Flow atBoundary(Flow f, const Tail& tail, const Ty* expected);
  /// Resolves the names of code that is not compiled (E0102).
  void checkNames(const ast::Block& block);
  void checkNames(const ast::Stmt& fn);
  /// Reports names that are neither in scope nor in `bound`, which outlives it.
  TreeVisitor usedNames(const std::set<std::string>& bound);
  /// What tells an `if` on devices from others, in each instance of a function.
  std::string decisionKey(Span condition);
  std::map<std::string, int> decisions_;  ///< how often each has been met: unrolled loops come again
  /// `if` as a statement.
  Flow lowerIf(const ast::Expr& e, size_t which, const Tail& tail, const Ty* expected);
  /// An `if` with exits: what follows is part of each branch that comes to it while it is few, else flags say at run
  /// time whether to go on.
  Flow lowerExitingIf(const ast::Expr& e, size_t which, ir::Value* condition, const std::set<std::string>& assigned,
                      const Tail& tail, const Ty* expected);
  int tailCopies_ = 1;  ///< how often the code at hand is compiled for the branches around it
  /// A statement one of whose operands, an `if` or a block, may leave: that operand first, then the statement with its
  /// value, in every branch that comes to it.
  Flow lowerAround(const ast::Stmt& s, const ast::Expr& part, const std::vector<const ast::Expr*>& before, bool last,
                   const Tail& tail, const Ty* expected);
  /// Operands that have been evaluated already.
  std::map<const ast::Expr*, Val> evaluated_;
  using TripIndex = std::function<Val(ir::Value* i)>;
  Flow lowerFor(const ast::Stmt& s);
  Val sequenceOf(const ast::Stmt& s);
  Flow rangeLoop(const ast::Stmt& s, const std::vector<ir::Value*>& range, const TripIndex& index);
  Flow lowerWhile(const ast::Stmt& s);
  Flow unrolled(const ast::Stmt& s, const std::vector<Val>& trips);
  Flow unrolledFrom(const ast::Stmt& s, const std::vector<Val>& trips, size_t from, Boundary& whole);
  /// Any loop as `while`: `range` is null for a `while`, else lo, hi, step, i64 tensors.
  Flow exitingLoop(const ast::Stmt& s, const std::vector<ir::Value*>* range, const TripIndex& index);
  /// The body once, up to its own boundary; `index` is bound to the loop's pattern.
  Flow lowerTrip(const ast::Stmt& s, const Val* index, const Boundary& carried);
  /// Goes on after statements that may have left: exits where the flags say so, the rest where not.
  Flow resume(const Flow& flow, const Tail& tail, const Ty* expected);
  Flow continueWith(const Tail* tail, Flow flow, const Ty* expected);
  using FlowFn = std::function<Flow()>;
  Flow resumeWith(const Flow& flow, bool takesContinue, const FlowFn& rest);
  Flow mergeAtBoundary(ir::Value* condition, Span span, const FlowFn& yes, const FlowFn& no);
  std::vector<Val> encode(const Flow& f);
  Flow decode(const std::vector<Val>& values);
  std::vector<Val> valuesOf(const std::vector<Binding*>& vars);
  void setValues(const std::vector<Binding*>& vars, const std::vector<Val>& values, size_t from = 0);
  void lowerLet(const ast::Stmt& s);
  void bindLet(const ast::Stmt& s, Val value);
  /// Declares the dims that a type would have bound had its value been well.
  void poisonDims(const ast::TypeExpr& t);
  Val declaredValue(const ast::Stmt& s, Val value, std::shared_ptr<const Ty>* declared);
  void bindPattern(const ast::Pattern& p, Val value, bool isVar, std::shared_ptr<const Ty> declared);
  void lowerAssign(const ast::Stmt& s);
  /// Where `keyword` stands right before `at`; invalid if something else does.
  Span keywordBefore(Span at, std::string_view keyword);
  void assignTo(const ast::Expr& target, const Val& value, std::string_view op, const ast::Stmt& s);
  Val updated(const Val& old, const ast::Expr& target, const ast::Expr& root, const Val& value, std::string_view op,
              const ast::Stmt& s);
  void setVar(Binding& binding, const std::string& name, Val value, Span span, Span written);
  /// False after an assertion over what is known while compiling has failed.
  bool lowerAssert(const ast::Stmt& s);
  bool assigningIn_ = false;  ///< the assignment being checked is in a loop or branch of its variable: E0209
  /// Moves what a written type names a device for (cause "type").
  Val moveToPlaces(const Val& v, const Ty& type, Span span);
  std::optional<size_t> listIndex(const Val& list, const ast::Expr& index);
  Flow leave(Exit exit, Val value, Span span);
  Val conditionOf(const ast::Expr& e, std::string_view what);
  /// Variables in scope among `names`.
  void visibleVars(const std::set<std::string>& names, Boundary& into);
  int regionDepth_ = 0;       ///< of run-time loops and branches around
  int outerRegions_ = 0;      ///< the same, around the calls that led to this body
  int64_t steps_ = 0;         ///< expressions evaluated
  bool stopped_ = false;      ///< reported that calls do not end: nothing more is evaluated
  bool tooDeep_ = false;      ///< reported that little of the stack is left
  int staticLoops_ = 0;       ///< of unrolled loops around
  uint64_t failures_ = 0;     ///< errors, those too that are said once only
  int deviceConditions_ = 0;  ///< of `if`s around whose condition placement will know
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, ir::Loc> locs_;

  // ---- regions (Regions.cpp)
  /// An `if` op; both functions give values of the same number; result: their merge. `names` for messages.
  std::vector<Val> emitIf(ir::Value* condition, Span span, const std::vector<std::string>& names, const BranchFn& yes,
                          const BranchFn& no,
                          const std::function<void(std::vector<Val>&, std::vector<Val>&)>& fix = {});
  bool agree(Val& a, Val& b2, ir::Region* ra, ir::Region* rb, std::string_view name, Span span);
  std::vector<Val> loopCarried(ir::Value* lo, ir::Value* hi, ir::Value* step, const std::vector<Val>& carried,
                               const std::vector<std::string>& names, Span span, const LoopBody& body);
  bool sameTypes(const Val& a, const Val& b2);
  /// The values that a loop body yields, checked against the initial ones (E0209); a wrong one is poison in `after`.
  std::vector<ir::Value*> carriedYields(const std::vector<Val>& initial, const std::vector<Val>& arguments,
                                        std::vector<Val>& after, const std::vector<std::string>& names,
                                        ir::Region* region, Span span);
  std::vector<Val> carriedResults(ir::Op* op, const std::vector<Val>& initial, const std::vector<Val>& after,
                                  const std::vector<std::string>& names);
  void yield(ir::Region* region, const std::vector<ir::Value*>& values, ir::OpKind kind = ir::OpKind::Yield);
  /// Zeros of the types of `like`.
  Val placeholder(const Val& like);
  ir::Value* zerosOf(ir::DType t, const ir::Dims& shape);
  /// Arguments of the region of the types of `like`.
  Val argumentsLike(const Val& like, ir::Region* region, const std::string& name);
  ir::Value* boolConstant(bool v) { return b().scalarInt(ir::DType::Bool, v ? 1 : 0); }
  /// Numbers and bools inside become tensors: what a `var` holds.
  Val materialise(const Val& v, const Ty* expected = nullptr);

  // ---- elementwise (Elementwise.cpp)
  std::vector<ir::Value*> broadcastAll(const std::vector<Val>& operands, ir::DType dtype, Span span,
                                       std::string_view opName);
  /// Whether a tensor of that shape has a size; reports E0208.
  bool countable(const ir::Dims& shape, Span span, std::string_view opName);
  Val overTrees(const std::vector<Val>& operands, Span span, std::string_view opName,
                const std::function<Val(const std::vector<Val>&)>& leaf);
  Val castTree(const Val& v, ir::DType to, Span span);
  /// `v` with tensors of the shapes that its declared type has, in place of those that have others.
  Val asDeclared(const Val& v, const Ty& declared);
};

/// What takes functions and stands only where something is called: grad, vmap, checkpoint, ..., and `rev`.
bool isTransform(std::string_view name);

// ---- the built-in operations (Builtin*.cpp, Index.cpp, Format.cpp)

bool isBuiltin(std::string_view name);
/// `tpu:0`, a device of a kind that no machine has, is parsed as a named argument; makes it the only argument again.
void readAsDevice(CallArgs& args, std::string_view parameter);
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
  std::vector<ir::OperandText> written;  ///< one an operand
  bool ok = true;
};
FormatParts formatParts(Lowering& l, const std::vector<Val>& values, Span span);

}  // namespace tenc::frontend
