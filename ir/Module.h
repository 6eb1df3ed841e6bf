// The tensor IR: SSA values, ops with regions, functions, a module. Everything is owned by the module; passes change it
// in place through the functions here.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "ir/Causes.h"
#include "ir/DeviceTable.h"
#include "ir/Ops.h"
#include "ir/SourceTexts.h"
#include "ir/Type.h"
#include "support/SourceFile.h"

namespace tenc::ir {

class Op;
class Region;
struct Func;
class Module;

/// Which half of a gradient something is a part of: of the outermost one, where gradients are nested.
enum class Half : uint8_t { None, Forward, Backward };
std::string_view name(Half half);  ///< "", "forward", "backward"

/// Where an op came from: its span and, inside an inlined call, the location of the call. Index into Module::locs.
struct Loc {
  uint32_t index = 0;      ///< 0 is "unknown"
  Half half = Half::None;  ///< for people: nothing is compiled otherwise because of it
};
/// Where the source writes an operand, for diagnostics that mend a line; Module::texts says what is written there.
struct OperandText {
  Span span;
  std::string leaf;
  bool operator==(const OperandText&) const = default;
};  ///< leaf: "fc1.w" when the operand is that leaf of what is written
struct LocData {
  Span span;
  Loc caller;
  std::string callee;  ///< "affine[N = 2, I = 3]" when caller is set
  /// Of an operator, call, assignment or `if`, in the order of the source; one an operand for `call`, `print` and
  /// `transfer`, two a result (one a branch) for `if`. Empty when not known.
  std::vector<OperandText> operands;
};

/// Raw little-endian elements of a constant, row-major, shared between copies.
using Data = std::shared_ptr<const std::vector<std::byte>>;
using Attr =
    std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<std::string>, DType, Data>;

/// An SSA value: result `index` of `op`, or argument `index` of `region`.
class Value {
 public:
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value();  ///< operands that still name it become null
  Type type;
  std::string name;          ///< the source name, for people; may be empty
  Op* op = nullptr;          ///< null for region arguments
  Region* region = nullptr;  ///< null for op results
  uint32_t index = 0;
  bool mark = false;  ///< of the pass that runs; means nothing between passes
  /// The region that it is defined in, as an argument or by an op.
  Region* home() const;
  /// Uses: (user, operand number). Kept up to date by Op::setOperand and friends.
  /// Removal is in constant time, so the order of uses is not that of the program.
  struct Use {
    Op* user;
    uint32_t operand;
  };
  std::vector<Use> uses;
  bool unused() const { return uses.empty(); }
  void replaceAllUsesWith(Value* other);
};

/// A list of ops with arguments. The last op is a terminator (`yield`, `return`, or `condition` in the first region of
/// `while`).
class Region {
 public:
  Region(Op* parent, Func* func) : parentOp(parent), func(func) {}
  Op* parentOp;  ///< null for a function's body
  Func* func;
  std::vector<std::unique_ptr<Value>> args;
  std::list<std::unique_ptr<Op>> ops;
  Value* addArg(Type t, std::string name = {});
  void removeArg(uint32_t index);  ///< must be unused
  Op* terminator() const { return ops.empty() ? nullptr : ops.back().get(); }
  /// Whether it is a region of the op, or is nested in one.
  bool isInside(const Op& op) const;
};

class Op {
 public:
  OpKind kind;
  bool mark = false;        ///< of the pass that runs; means nothing between passes
  const char* origin = "";  ///< the pass that made it, for messages about bugs; empty: it stands for the source
  Loc loc;
  Region* parent = nullptr;
  std::vector<std::unique_ptr<Value>> results;
  std::vector<std::unique_ptr<Region>> regions;
  std::list<std::unique_ptr<Op>>::iterator self;  ///< position in parent->ops

  const OpInfo& info() const { return opInfo(kind); }
  bool has(Trait t) const { return info().has(t); }

  const std::vector<Value*>& operands() const { return operands_; }
  Value* operand(size_t i) const { return operands_[i]; }
  size_t operandCount() const { return operands_.size(); }
  void setOperand(size_t i, Value* v);
  void addOperand(Value* v);
  /// Appends all of them.
  void addOperands(const std::vector<Value*>& values);
  void removeOperand(size_t i);
  void dropOperands();
  Value* result(size_t i = 0) const { return results[i].get(); }

  /// Attributes; names are those of the op's row in Ops.def, plus free-form ones, which have a dot ("place.why").
  const Attr* find(std::string_view name) const;
  bool hasAttr(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string_view name, Attr value);
  int64_t intAttr(std::string_view name, int64_t otherwise = 0) const;
  double floatAttr(std::string_view name, double otherwise = 0) const;
  bool boolAttr(std::string_view name, bool otherwise = false) const;
  std::optional<DType> dtypeAttr(std::string_view name) const;
  const std::string& stringAttr(std::string_view name) const;         ///< "" when absent
  const std::vector<int64_t>& intsAttr(std::string_view name) const;  ///< {} when absent
  const std::vector<std::string>& stringsAttr(std::string_view name) const;
  /// The first operand that stands between `pieces`: in the text of print and assert, in the path of load and save.
  size_t firstTextOperand() const;
  std::string printEnd() const;  ///< of a print: what follows its pieces
  const std::vector<std::pair<std::string, Attr>>& attrs() const { return attrs_; }

  Func* func() const { return parent->func; }
  /// Unlinks and destroys; every result must be unused. Regions are destroyed with it.
  void erase();
  /// Moves before `other` (possibly in another region).
  void moveBefore(Op* other);
  explicit Op(OpKind k) : kind(k) {}
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op();
  /// Appends a result; for makers of ops and passes that add carried values.
  Value* addResult(Type t, std::string name = {});
  /// Whether the use lists of the operands name this op; for the verifier.
  bool usesHold() const;
  void removeResult(uint32_t index);  ///< must be unused

 private:
  friend class Value;
  void link(size_t operand);
  void unlink(size_t operand);
  std::vector<Value*> operands_;
  std::vector<uint32_t> usePositions_;  ///< operand i is operands_[i]->uses[usePositions_[i]]
  std::vector<std::pair<std::string, Attr>> attrs_;
};

struct Func {
  enum class Kind : uint8_t {
    Function,
    Script,  ///< the statements of the script itself
    Case,    ///< a `test` or `bench` block
  };
  std::string name;    ///< unique in the module; "main" is the script
  std::string source;  ///< what the user calls it: "f", "nn.linear"; instances and variants of one function share it
  Kind kind = Kind::Function;
  Module* module = nullptr;
  std::unique_ptr<Region> body;  ///< args are the parameters, terminated by `return`
  /// What the signature says of the placement of each parameter or result (see P6): "" the function's own unnamed
  /// device, a device name, "$D" a device variable ("$0" one without a name), or "$" wherever the value is (of
  /// functions that transforms make).
  std::vector<std::string> paramPlaces;
  std::vector<std::string> resultPlaces;
  std::string ownDevice;  ///< from `@gpu fn`, else ""
  Span span;
  std::string signature;  ///< for call chains: "affine[N = 2, I = 3]"
  std::vector<Type> resultTypes;
};

/// A named device of the script with its fallbacks: `device gpu = cuda:0 or cpu`.
struct DeviceDecl {
  std::string name;
  std::vector<std::string> choices;
  Span span;
  std::string actual;
};

class Module {
 public:
  Module();
  std::vector<std::unique_ptr<Func>> funcs;
  std::vector<DeviceDecl> devices;
  std::vector<LocData> locs;
  /// What stands at the spans of `locs` and of their operands; shared by clones.
  std::shared_ptr<SourceTexts> texts = std::make_shared<SourceTexts>();
  std::string defaultDevice{DeviceTable::kHost};
  const char* pass = "";  ///< the one that runs now: the origin of all that a Builder makes
  /// A Builder met a size that no tensor can have. The module is not well-formed from then on, and good for no more
  /// than finding further errors.
  struct TooLarge {
    bool ever = false;
    std::string what;  ///< the first that is not reported yet
    Loc at;
  } tooLarge;

  /// `source` is the name, and `kind` says whether that is "main", until they are set otherwise.
  Func* addFunc(std::string name);
  /// A function without a body that declares what `of` does.
  Func* addFuncLike(std::string name, const Func& of);
  Func* find(std::string_view name) const;
  Func* main() const { return find("main"); }
  Loc addLoc(Span span);
  Loc addLoc(LocData data);
  const LocData& loc(Loc l) const { return locs[l.index]; }
  Span span(Loc l) const { return locs[l.index].span; }
  /// The actual device of a name ("gpu" -> "cuda:0"); a name that is no DeviceDecl is itself.
  std::string_view actual(std::string_view device) const;

 private:
  struct HashName {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  /// Where a function of that name was added to `funcs`: it is there or, after others have gone, in front of that.
  std::unordered_map<std::string, size_t, HashName, std::equal_to<>> added_;
};

/// " (made by `decompose`)", for messages about bugs; empty for what stands for the source.
std::string madeBy(const Op& op);

/// Makes ops at an insertion point and infers their result types. Shapes and dtypes must already be right: a failed
/// inference here is an internal error (frontends check first with `infer`). Only a size that overflows is not: it is
/// kept in Module::tooLarge, and ops of that impossible size are made.
class Builder {
 public:
  explicit Builder(Region* end) : region_(end), before_(end->ops.end()) {}
  explicit Builder(Op* before) : region_(before->parent), before_(before->self) {}
  void setLoc(Loc l) { loc_ = l; }
  Loc loc() const { return loc_; }
  Region* region() const { return region_; }
  /// The attribute `rounds` of the products of f32 made next; nothing for none. See RoundingScope.
  std::optional<DType> rounds() const { return rounds_; }

  struct NamedAttr {
    std::string_view name;
    Attr value;
  };
  /// Result types are inferred from the op's row.
  Op* make(OpKind kind, std::vector<Value*> operands, std::vector<NamedAttr> attrs = {});
  /// Result types are given (control flow, call, load, constant).
  Op* makeTyped(OpKind kind, std::vector<Value*> operands, std::vector<Type> results,
                std::vector<NamedAttr> attrs = {});
  Value* value(OpKind kind, std::vector<Value*> operands, std::vector<NamedAttr> attrs = {}) {
    return make(kind, std::move(operands), std::move(attrs))->result();
  }
  Region* addRegion(Op* op);
  /// A rank-0 constant of any dtype; integers are given exactly in `i`, floats in `f`.
  Value* scalar(DType t, double f);
  Value* scalarInt(DType t, int64_t i);
  Value* constant(Type t, Data data);
  /// Broadcast to `shape` (NumPy rules) unless it has that shape.
  Value* broadcastTo(Value* v, const Dims& shape);

 private:
  Region* region_;
  friend class RoundingScope;
  std::list<std::unique_ptr<Op>>::iterator before_;
  Loc loc_;
  std::optional<DType> rounds_;
};

/// Until the end of the block, products of f32 that the builder makes round their operands to this dtype.
class [[nodiscard]] RoundingScope {
 public:
  RoundingScope(Builder& b, std::optional<DType> to) : b_(b), outer_(std::exchange(b.rounds_, to)) {}
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;
  ~RoundingScope() { b_.rounds_ = outer_; }

 private:
  Builder& b_;
  std::optional<DType> outer_;
};

}  // namespace tenc::ir
