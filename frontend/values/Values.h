// What names and expressions mean while a function is lowered: compile-time values, tensors, trees, functions, types.
#pragma once
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/Module.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

struct Val;
struct Unit;
struct Ty;
struct Transform;

/// Compile-time integers are exact; results that leave i64 (u64 for literals that adopt u64) are E0212. Those of a type
/// of their own, `max_value(i32)`, keep it and wrap.
using Int = __int128;

/// A declared struct, and the unit (script or module) in whose scope its field types are read.
struct StructDecl {
  const ast::Stmt* stmt = nullptr;
  const Unit* unit = nullptr;
};

/// The devices that a written type names: one for the whole, or for parts of a tuple or list.
struct Pins {
  std::string place;        ///< "gpu", "$D", or ""
  std::vector<Pins> parts;  ///< Tuple: one for each element; List: one for all

  bool named() const { return !place.empty(); }
  /// Whether the whole or a part is named.
  bool any() const { return named() || !parts.empty(); }
  /// What the parts name; none of them are kept where none is named.
  static Pins ofParts(std::vector<Pins> parts);
};

/// A struct type with its arguments. Two are the same type when `text` is the same and the declaration is.
struct StructInfo {
  const StructDecl* decl = nullptr;
  std::vector<std::pair<std::string, Val>> args;   ///< generics in order: Int, DType, Device, Pack, Type
  std::vector<std::pair<std::string, Val>> given;  ///< of a type that leaves generics open: those that it gives
  std::string text;                                ///< "nn.Linear[784, 128]"
  std::vector<Pins> pins;                          ///< one per field
};
using StructPtr = std::shared_ptr<const StructInfo>;

/// One function of the script or of a module.
struct FnDecl {
  const ast::Stmt* stmt = nullptr;
  const Unit* unit = nullptr;
};

struct FnValue;
using FnPtr = std::shared_ptr<const FnValue>;

/// A device as a value: a name as written ("gpu", "cuda:1"), a device variable ("$D"), or the device where `of` lives.
struct DeviceRef {
  std::string name;
  ir::Value* of = nullptr;  ///< a value on it: set when `name` is empty, and for device variables
};

/// The parts of a tree, an array or a shape: shared by the copies of a value, and copied when one of them is changed,
/// so that to look up a name or a field costs the same for a number and for a model of a thousand layers.
class Elements {
 public:
  Elements() = default;
  Elements(std::vector<Val> parts);
  Elements(std::initializer_list<Val> parts);
  operator const std::vector<Val>&() const;
  size_t size() const;
  bool empty() const { return size() == 0; }
  const Val& operator[](size_t i) const;
  const Val& back() const;
  std::vector<Val>::const_iterator begin() const;
  std::vector<Val>::const_iterator end() const;
  /// The parts of this value alone.
  std::vector<Val>& edit();
  void push_back(Val v);
  /// How many values without parts it is made of, counted once for all copies.
  size_t leaves() const;
  /// What was found out about all parts and theirs, and holds until one is changed: a walk that would find it again is
  /// spared, so that a value that many statements name costs each of them the same.
  enum class Fact : uint8_t {
    Sound = 1,    ///< none is poison
    Settled = 2,  ///< no array that may be a tensor or a list, no number that adopts
    Bound = 4,    ///< the same, but numbers may adopt
    Tensors = 8,  ///< tensors for all that can be one
    Named = 16,   ///< all tensors have names
    Data = 32,    ///< no functions
  };
  bool known(Fact fact) const;
  void note(Fact fact) const;
  /// Whether both are the same parts, not only equal ones.
  bool areThoseOf(const Elements& other) const { return shared_ == other.shared_; }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< null when there are none
};

/// The most leaves of a tree: every one is a value of the IR.
inline constexpr size_t kMostParts = 100'000;

struct Val {
  enum class Kind : uint8_t {
    None,    ///< no value yet: that of no expression
    Poison,  ///< had an error, which was reported; causes no other
    Unit,    ///< no value: a statement, a function without result
    Int,     ///< compile-time integer: `integer`, `dtype`, `adopts`
    Float,   ///< compile-time float: `real`, `dtype`, `adopts`
    Bool,    ///< compile-time bool
    String,  ///< compile-time string
    Format,  ///< string with run-time holes, `pieces`, or one of several, `elems[0]` of those in `text` (choiceFormat)
    DType,   ///< `dtype` as a value
    Device,
    Tensor,  ///< run-time value of any rank
    Array,   ///< `[a, b]` not made into a tensor (or list) yet; `elems`
    Tuple,
    List,
    Struct,  ///< `elems`; Struct: `info`, elems in field order
    Pack,    ///< shape: x.shape, a pack variable; `elems` are Ints
    Function,
    Type,      ///< a struct, tuple, list or tensor type
    Range,     ///< lo, hi, by, reversed: `elems` has 3 (Int or Tensor), `boolean` is reversed
    Sequence,  ///< enumerate(..), zip(..), devices(..): `elems` are the values of the trips
    Module,    ///< an imported unit
  } kind = Kind::None;
  Span span;  ///< where it was written, for diagnostics

  Int integer = 0;
  double real = 0;
  bool boolean = false;
  /// A literal, const, param or dim: takes the dtype of the other operand, or of the declared type.
  bool adopts = false;
  bool dim = false;  ///< Int that adopts, made of a const, param or dim: it goes on adopting under a `let`
  ir::DType dtype = ir::DType::I64;  ///< of Int and Float when nothing is adopted (i64, f32), and of DType
  std::string text;
  std::vector<ast::StringPiece> const* pieces = nullptr;  ///< Format: the written pieces
  DeviceRef device;
  ir::Value* tensor = nullptr;
  Elements elems;  ///< also the hole values of Format
  StructPtr info;
  FnPtr fn;
  std::shared_ptr<const Ty> type;
  const Unit* module = nullptr;

  bool is(Kind k) const { return kind == k; }
  bool poison() const { return kind == Kind::Poison || kind == Kind::None; }
  bool isNumber() const { return kind == Kind::Int || kind == Kind::Float; }
  bool isChoice() const { return kind == Kind::Format && pieces == nullptr; }
  bool isTree() const { return kind == Kind::Tuple || kind == Kind::List || kind == Kind::Struct; }
  /// Known while compiling and no tensor: number, bool, string, dtype, device name.
  bool isStatic() const {
    return isNumber() || kind == Kind::Bool || kind == Kind::String || kind == Kind::DType || kind == Kind::Pack;
  }

  /// Whether nothing differs in what it holds; parts and what else is shared must be the very same.
  bool isIdentical(const Val& other) const;

  Val() = default;
  /// Poison, which there is only where an error was reported.
  Val(ErrorGiven) : kind(Kind::Poison) {}                             // NOLINT(google-explicit-constructor)
  Val(const Diagnostics::Builder& error) : Val(ErrorGiven(error)) {}  // NOLINT(google-explicit-constructor)
  static Val unit(Span s = {});
  /// Whether integer arithmetic on it may be done exactly: what has a narrower type, or may wrap, is left to the run.
  bool foldsExactly() const {
    return !is(Kind::Int) || adopts || (dtype == ir::DType::I64 && integer != std::numeric_limits<int64_t>::min());
  }
  static Val ofInt(Int v, Span s = {}, bool adopts = true);
  static Val ofFloat(double v, Span s = {}, bool adopts = true);
  static Val ofBool(bool v, Span s = {});
  static Val ofString(std::string v, Span s = {});
  /// One of several strings: that with the number `which`, an i64.
  static Val ofChoice(ir::Value* which, std::string format, Span s = {});
  static Val ofDType(ir::DType t, Span s = {});
  static Val ofDevice(DeviceRef d, Span s = {});
  static Val ofTensor(ir::Value* v, Span s = {});
  static Val ofPack(const ir::Dims& dims, Span s = {});
  static Val ofTuple(Elements elems, Span s = {});
  static Val ofList(Elements elems, Span s = {});
  static Val ofStruct(StructPtr info, Elements elems, Span s = {});
  static Val ofFunction(FnPtr f, Span s = {});
  static Val ofRange(Val lo, Val hi, Val by, bool reversed, Span s = {});
  static Val ofSequence(Elements trips, Span s = {});
};

struct Elements::Shared {
  std::vector<Val> values;
  mutable size_t leaves = 0;  ///< 0: not counted
  mutable uint8_t facts = 0;
};
inline size_t Elements::size() const { return shared_ ? shared_->values.size() : 0; }
inline const Val& Elements::operator[](size_t i) const { return shared_->values[i]; }
inline bool Elements::known(Fact fact) const { return !shared_ || (shared_->facts & static_cast<uint8_t>(fact)) != 0; }
inline void Elements::note(Fact fact) const {
  if (shared_) shared_->facts |= static_cast<uint8_t>(fact);
}
inline const Val& Elements::back() const { return shared_->values.back(); }
inline std::vector<Val>::const_iterator Elements::begin() const {
  return shared_ ? shared_->values.cbegin() : std::vector<Val>::const_iterator();
}
inline std::vector<Val>::const_iterator Elements::end() const {
  return shared_ ? shared_->values.cend() : std::vector<Val>::const_iterator();
}

/// How many tensors a function holds, once they are counted; those of a copy, which may be changed, are not.
struct FnTensors {
  FnTensors() = default;
  FnTensors(const FnTensors&) {}  // NOLINT(bugprone-copy-constructor-init)
  FnTensors& operator=(const FnTensors&) {
    count.reset();
    return *this;
  }
  mutable std::optional<size_t> count;
};

/// A function as a compile-time value.
struct FnValue {
  enum class Kind : uint8_t {
    Overloads,  ///< functions of one name
    Lambda,     ///< with what it captured
    Builtin,    ///< of ops.md, by name; also transforms before they are applied
    Bound,      ///< a method with its receiver: first argument `receiver`
    ByFirst,    ///< the first of `inner` is called with the second, as a function of its first argument, and with that
    Fixed,      ///< `inner` as a function of one argument; `options` are the further ones, "" those given by position
    Derived,    ///< made by `transform` from `inner`; `options` are its named arguments
    Cast,       ///< a dtype as a function
  } kind = Kind::Builtin;
  std::string name;
  std::vector<const FnDecl*> overloads;
  const ast::Expr* lambda = nullptr;
  std::vector<std::pair<std::string, Val>> captures;
  const Unit* unit = nullptr;         ///< Lambda: where its global names are looked up
  uint64_t id = 0;                    ///< Lambda: unique
  FnTensors tensors;                  ///< found when it is first asked for
  const ir::Op* writtenIn = nullptr;  ///< Lambda: the innermost `@d` around it
  std::shared_ptr<const Val> receiver;
  const Transform* transform = nullptr;  ///< Derived
  std::vector<Val> inner;                ///< Derived: the functions it was made from
  std::vector<std::pair<std::string, Val>> options;
};

/// A type with its arguments resolved; dims that are not known yet are -1.
struct Ty {
  enum class Kind : uint8_t { Unknown, Tensor, Tuple, List, Struct, String, Device, Fn, Shape } kind = Kind::Unknown;
  std::optional<ir::DType> dtype;  ///< Tensor; nullopt: a dtype variable that is not bound yet
  std::optional<ir::Dims> dims;    ///< Tensor; nullopt: rank not known yet
  std::vector<Ty> elems;           ///< Tuple: elements; List: the element type; Struct: field types
  int64_t length = 0;              ///< List; -1 unknown
  StructPtr info;                  ///< Struct
  std::string place;               ///< device the type names: "gpu", "$D", or ""
  bool state = false;              ///< a `state` field of a struct

  bool isTensor() const { return kind == Kind::Tensor; }
  /// Tensor with dtype and every dim known, or a tree of such.
  bool complete() const;
};

std::string toString(const Ty& t);
/// What a value is, for messages: "f32[2, 3]", "a string", "Linear[3, 4]", "the integer 3".
std::string describe(const Val& v);
std::string toString(Int v);

/// A tensor that is a short literal of i64, `let s = [2, 3]`, as the numbers it is made of; anything else as it is.
Val literalInts(const Val& v);

}  // namespace tenc::frontend
