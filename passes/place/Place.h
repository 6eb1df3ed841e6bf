// Private to the placement pass: what its three stages share. `Place.cpp` makes instances of functions,
// `PlaceInfer.h` decides where every value lives without changing any op, `PlaceRewrite.cpp` then inserts the moves.
// `PlaceReport.cpp` writes the diagnostics with the provenance of each operand, `PlaceHelp.cpp` what would mend them at
// which cost, and `PlaceText.cpp` finds the operands in the source.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/Ir.h"
#include "passes/Passes.h"

namespace tenc::passes::placing {

/// The place of a value that has had an error: it agrees with everything, so that one mistake is reported once.
inline constexpr std::string_view kPoison = "?";
inline constexpr std::string_view kHost = ir::DeviceTable::kHost;

/// Whether a name of the source stands for this very value. A leaf that is known by its tree alone, `m.w`, has none.
inline bool hasOwnName(const ir::Value& v) { return !v.name.empty() && v.name.find('.') == std::string::npos; }

/// Names of devices as the checks see them. A device with a fallback is its own device; `device d = cuda:0` is not.
class DeviceNames {
 public:
  DeviceNames(const ir::Module& m, const ir::DeviceTable& machine) : module_(m), machine_(machine) {}
  /// The name that checks compare: a kind alone is its first device, a declaration without fallback is what it stands
  /// for.
  std::string normal(std::string_view name) const;
  /// The device behind a normal name on this machine.
  std::string actual(std::string_view name) const;
  /// "" when the device can be used on this machine, else why not.
  std::string whyUnavailable(std::string_view name) const;

 private:
  const ir::DeviceDecl* declaration(std::string_view name) const;
  const ir::Module& module_;
  const ir::DeviceTable& machine_;
};

/// Why a value lives where it lives; `from` and `cause` of ValueInfo say more.
enum class Why : uint8_t {
  Free,
  Default,
  OwnDevice,
  Annotation,
  Moved,
  Operand,
  Entered,
  Argument,
  CallResult,
  Variable,
  Declared
};

struct ValueInfo {
  ir::Op* scope = nullptr;      ///< innermost `on` around the place where the *name* is bound (a `var` keeps its own)
  ir::Op* definedIn = nullptr;  ///< innermost `on` around the place where this SSA value is made
  Why why = Why::Free;
  const ir::Value* from = nullptr;  ///< the operand that decided
  const ir::Op* cause = nullptr;    ///< the annotation, `to` or call that decided
  std::optional<bool> constant;     ///< of rank-0 bools that follow from device comparisons
  /// Bound outside the `on` in which the SSA value is made: an assignment to an outer `var`.
  bool assignsOuter() const { return scope != definedIn; }
};

/// What a signature says of a parameter whose argument stays where it is, or of a result that is where the body leaves
/// it.
inline bool isAnywhere(const std::string& written) { return written == "$" || written == "$beside"; }
/// The same of a mask, which says nothing of where the function is.
inline bool isBeside(const std::string& written) { return written == "$beside"; }
/// Whether the source has no name for the device variable, as for the place of what a lambda captured: a number then.
inline bool isUnnamed(const std::string& variable) { return variable[0] >= '0' && variable[0] <= '9'; }
inline bool isOfCapture(const std::string& written) { return written.starts_with('$') && isUnnamed(written.substr(1)); }

/// A move that one operand needs, decided by inference and carried out by rewriting.
struct Need {
  std::string device;  ///< "" when the operand is used where it lives
  ir::Cause cause = ir::Cause::To;
  ir::Op* entry = nullptr;  ///< for moves of P4 (b): the `on` at whose entry the value moves
  bool gradient = false;    ///< the way back of such a move
};

/// One placed version of a function: the function's own device, its device variables and where its parameters live.
struct Instance {
  ir::Func* func = nullptr;
  std::string own;      ///< normal name of the function's own device
  bool isRoot = false;  ///< an entry point: results stay where they are
  std::map<std::string, std::string> deviceVars;
  std::vector<ir::Placement> results;
  std::vector<std::optional<bool>> known;         ///< arguments that follow from device comparisons of the caller
  std::vector<std::optional<bool>> knownResults;  ///< results that follow from such comparisons
  Instance* caller = nullptr;                     ///< the first caller, for call chains
  const ir::Op* call = nullptr;
  std::vector<const ir::Value*> arguments;  ///< of the first call
  std::unordered_map<const ir::Value*, ValueInfo> info;
  std::unordered_map<const ir::Op*, std::vector<Need>> needs;
  std::unordered_map<const ir::Op*, std::string> devices;  ///< resolved device of on, to, check_place
  std::unordered_map<const ir::Op*, Instance*> callees;
  std::unordered_map<const ir::Op*, bool> taken;  ///< the branch of an `if` decided by device comparisons
  std::unordered_map<const ir::Op*, std::vector<std::string>> printed;  ///< where the operands of print and assert live
  std::unordered_map<const ir::Op*, std::optional<bool>> decided;       ///< conditions of `decided_branch` ops
  std::unordered_map<const ir::Op*, std::vector<Diagnostic>> errors;
};

struct Shared {
  ir::Module& module;
  Context& context;
  DeviceNames devices;
  std::deque<Instance> instances;
  std::map<std::string, Instance*> byKey;
  std::unordered_map<std::string, ir::Func*> templates;
  std::unordered_map<std::string, int> copies;  ///< instances made of each template, for their names

  /// The instance of `callee` under `key`, cloned and inferred when it is new.
  Instance* instantiate(ir::Func& callee, const std::string& key, Instance&& seed,
                        const std::vector<ir::Placement>& params);
};

/// Decides the place of every value of the instance's function.
void infer(Shared& shared, Instance& instance);
/// Inserts transfers and removes placing ops. Only after inference of everything without errors.
void rewrite(Shared& shared, Instance& instance);

/// Whether `inner` is a part of `outer`, or all of it.
inline bool covers(Span outer, Span inner) {
  return inner.valid() && inner.file == outer.file && inner.begin >= outer.begin && inner.end <= outer.end;
}

inline bool isPoison(const ir::Placement& p) { return p.device == kPoison; }
/// Ops of derivatives and of `vmap` stand for nothing in the source.
inline bool isDerived(const ir::Op& op) { return *op.origin != '\0'; }
/// The device that a place written in a signature ("", "gpu", "$D") stands for in an instance.
std::string expectedPlace(const Shared& shared, const Instance& instance, const std::string& written);

/// Writes diagnostics of one instance with labels at operands, provenance notes and the call chain.
class Reporter {
 public:
  Reporter(const Shared& shared, const Instance& instance) : shared_(shared), instance_(instance) {}

  struct Operand {
    const ir::Value* value;
    std::string device;  ///< where it is at this use
    size_t number;
  };
  /// Where an operand stands in the source, and whether a `.to(d)` may follow it directly.
  struct Use {
    Span span;
    bool postfix = false;
    Span move{};         ///< the `.to(d)` that the text ends in
    Span undo{};         ///< the same, where a mended line leaves it out
    std::string name{};  ///< the text in quotes when it is short
    bool part = false;   ///< a leaf of a tree that has leaves on other devices: the text would move those, too
  };
  /// What a move of a value costs: bytes, and how often. Nothing when a loop's trips are not known.
  struct Cost {
    int64_t bytes;
    std::optional<int64_t> trips;
  };
  struct Move {
    const ir::Value* value;
    Use use;
    Cost cost;
    int leaves;  ///< of a tree that moves as one
  };
  /// A device on which operands may meet, and what has to move for it.
  struct Choice {
    std::string device;
    std::vector<Move> moves;
  };

  /// The `@d` block into which a variable enters whose elements `op` assigns; null for any other op.
  const ir::Op* blockOfElements(const ir::Op& op) const;
  /// Whether it is `v += x` in a block where `v` enters another device, so that the new value cannot be assigned.
  bool updatesElsewhere(const ir::Op& op, const std::vector<Operand>& operands) const;
  static Help assignOutside(const std::string& device);
  /// E0301: operands on different devices; they are to move to `fixed`, when that is given.
  Diagnostic apart(const ir::Op& op, std::string message, const std::vector<Operand>& operands,
                   const std::string& fixed = {}) const;
  /// E0302: operand `number` of `op`, a value on `actual`, assigned to a `var` whose value `old` is on `expected`.
  Diagnostic assignment(const ir::Op& op, const ir::Value* value, const std::string& actual, const ir::Value* old,
                        const std::string& expected, size_t number) const;
  /// E0303: a value, or the leaves of one, must be on `expected`; `message` says what wants it.
  Diagnostic wrongPlace(const ir::Op& op, std::string message, const std::vector<Operand>& leaves,
                        const std::string& expected) const;
  /// For the `.device` of a value whose parts are on several.
  Help partHelp(const ir::Op& op, const std::vector<Operand>& parts) const;
  /// E0405: what `backward` of a `custom_vjp` gives comes back by `op`, on another device than its argument's.
  Diagnostic ruleApart(const ir::Op& op, const std::string& actual, const std::string& expected) const;
  /// E0304
  Diagnostic unavailable(const ir::Op& op, const std::string& device, const std::string& reason) const;
  /// An error in the text of the standard library, told at the call that the script makes: users cannot mend the
  /// library.
  Diagnostic toldAtCall(Diagnostic d) const;

  /// Notes the calls that led here.
  void callChain(Diagnostic& d) const;
  /// "operands of `+`", by the built-in's name where the text begins with one.
  std::string subjectOf(const ir::Op& op) const;
  /// Whether the op is what an assignment to elements makes.
  bool isAssignment(const ir::Op& op) const;
  /// Whether the branches of the op give what the function returns, as where one of them leaves it.
  bool returns(const ir::Op& op) const;
  /// Where the source writes operand `number` of `op`, the value `v`.
  Use useOf(const ir::Op& op, const ir::Value* v, size_t number) const;
  /// The text of operand `number` of any op, conditions included; invalid when it is not known.
  Span textOf(const ir::Op& op, const ir::Value* v, size_t number) const;
  /// Bytes times trips of all moves; nothing when a number of trips is not known.
  static std::optional<int64_t> total(const std::vector<Move>& moves);

 private:
  Span spanOf(const ir::Op& op) const;
  Span spanOf(const ir::Value* v) const;
  /// The text of an operation's operands and operator.
  Span extentOf(const ir::Value* v) const;
  const ir::SourceText* textAt(Span span) const;
  /// Whether the source writes a text of that kind at the op's place.
  bool isA(const ir::Op& op, ir::SourceText::Kind kind) const;
  Use useAt(Span span, const std::string& leaf) const;
  /// As `useOf`, of a leaf the text of its tree.
  Use treeOf(const ir::Op& op, const ir::Value* v, size_t number) const;
  /// The variable, or the field of one, whose elements a statement assigns; null where it does not begin with one.
  const ir::SourceText* assignedAt(Span statement) const;
  /// Of several values in brackets the one that `v` is, or is a leaf of; null where that is not known.
  const ir::SourceText* elementOf(const ir::Value& v, Span list) const;
  /// Whether the tree of the leaf `v`, operand `number` of `op`, has leaves on other devices.
  bool isUneven(const ir::Op& op, const ir::Value& v, size_t number) const;
  /// What the source writes in place of operands that one call has made of others: `max(x, lo)` of `clamp(x, lo, hi)`.
  std::vector<Operand> writtenOperands(const ir::Op& op, const std::vector<Operand>& operands) const;
  const ir::OperandText* operandOf(const ir::Op& op, const ir::Value& v, size_t number) const;
  bool isCompound(const ir::Op& op) const;
  /// What a message calls a value: its source text in quotes, or words where it has none.
  struct Called {
    std::string quoted;
    std::string_view otherwise;
    std::string text() const { return quoted.empty() ? std::string(otherwise) : quoted; }
  };
  static Called called(const ir::Value* v, std::string_view otherwise);
  static Called called(const ir::Value* v, const Use& use, std::string_view otherwise);
  /// The variable whose value `old` the op `op`, an assignment or the end of a loop's body, replaces.
  static Called calledVariable(const ir::Op& op, const ir::Value* old);

  /// `who` is what the first note calls the value.
  void provenance(Diagnostic& d, const ir::Value* v, const std::string& device, Called who) const;

  Cost costOf(const ir::Value* v) const;
  std::optional<int64_t> otherTrips(const ir::Op& op, const ir::Region& beside) const;
  bool isRepeated(const ir::Op& op) const;
  /// Whether the source writes the op as an operator.
  bool isOperator(const ir::Op& op) const;
  /// Adds what the same operator does to the other leaves of trees.
  void addLeaves(const ir::Op& op, size_t operand, Move& move) const;
  std::vector<Move> movesTo(const ir::Op& op, const std::vector<Operand>& operands, const std::string& device) const;
  /// A device as the function at hand may write it: by its device variable where there is one.
  std::string spelled(const std::string& device) const;
  /// Where the result of `op` has to be, by the signature or the variable that it goes to; "" when nothing asks.
  std::string wantedPlace(const ir::Op& op) const;
  /// Labels each of the operands, or names them in the label of the op where their texts are not apart.
  void labelOperands(Diagnostic& d, const std::vector<Operand>& operands, const std::vector<Use>& uses) const;
  /// Why each of the operands is where it is.
  void noteOperands(Diagnostic& d, const ir::Op& op, const std::vector<Operand>& operands,
                    const std::vector<Use>& uses) const;
  /// The moves that bring all operands together, by where they may meet.
  std::vector<Choice> choicesOf(const ir::Op& op, const std::vector<Operand>& operands,
                                const std::vector<Operand>& firsts, const std::string& fixed) const;
  /// The choice that mends the error as most want it: where the work was meant to be done, away from the host, and of
  /// several the one with the least to copy.
  static const Choice& bestOf(const std::vector<Choice>& choices, const std::string& wanted);
  void moveHelp(Diagnostic& d, const ir::Op& op, const std::vector<Move>& moves, const std::string& device,
                bool cheaper = false) const;
  /// The variable could start on `device`, instead of the moves `instead`. `at` is the error's op, `variable` the value
  /// that a loop carries, where `at` is no assignment to it. `itself`: what is assigned is the variable, moved.
  void startHelp(Diagnostic& d, const ir::Op& at, const ir::Value* variable, const std::string& device,
                 const std::vector<Move>& instead, bool itself = false) const;
  /// The variable carried by a loop that decides where `v` is; null when nothing of the kind does.
  const ir::Value* variableOf(const ir::Value* v) const;
  /// Whether the expression `text` makes `v` from nothing.
  bool isMadeIn(const ir::Value* v, Span text) const;
  /// In a function that is called on several devices: a move to where its argument is.
  void ownDeviceHelp(Diagnostic& d, const std::vector<Move>& moves, const std::string& device) const;
  void hoistHelp(Diagnostic& d, const ir::Op& op, const Move& move, const std::string& device) const;

  const Shared& shared_;
  const Instance& instance_;
};

/// "@", "+", "where": how the source writes an op.
std::string sourceName(const ir::Op& op);
/// The value behind broadcasts that the frontend inserted.
const ir::Value* behindBroadcast(const ir::Value* v);
/// The first value of a variable: from any later one out of the loops and back over assignments.
const ir::Value* firstValue(const ir::Value* v);
/// The value behind what one built-in made of its operand on the way to `op`, as `stack` does.
const ir::Value* writtenOperand(const ir::Op& op, const ir::Value* v);

}  // namespace tenc::passes::placing
