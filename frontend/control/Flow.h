// How statements end, and what follows them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/names/Frame.h"

namespace tenc::frontend {

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
  bool mayReturn() const { return mixed ? !(returned.is(Val::Kind::Bool) && !returned.boolean) : exit == Exit::Return; }
  bool mayFall() const { return mixed ? falls : exit == Exit::Falls; }
};
/// What became of a statement without a value: it was lowered, or dropped for an error that was reported.
class Outcome {
 public:
  static Outcome lowered() { return {}; }
  Outcome(ErrorGiven) : dropped_(true) {}                                     // NOLINT(google-explicit-constructor)
  Outcome(const Diagnostics::Builder& error) : Outcome(ErrorGiven(error)) {}  // NOLINT(google-explicit-constructor)
  /// Dropped for this value, which is poison; an InternalError for any other.
  static Outcome dropped(const Val& poison);
  bool isDropped() const { return dropped_; }

 private:
  Outcome() = default;
  bool dropped_ = false;
};

/// What encloses statements and takes their exits: an exit under a run-time condition goes on in the branches of the
/// `if` up to here, where the branches merge.
struct Boundary {
  enum class Kind : uint8_t { Function, Loop, Region, Expression } kind = Kind::Function;
  std::vector<Binding*> vars;  ///< Loop, Region: variables whose values it hands on
  std::vector<std::string> names;
  bool wantsValue = true;  ///< whether the value of the last statement is used
};

using StatementList = std::span<const ast::StmtPtr>;
/// The statements that follow, from the innermost block outwards to the boundary.
struct Tail {
  StatementList list;
  const Tail* next;
  size_t depth;  ///< scopes that are visible there
  bool wanted;   ///< whether the value of the statement before is that of the boundary
  /// What takes the value of the statements before, in front of those in `next`; its names are visible there.
  const std::function<Flow(const Val& value, const Tail& after)>* then = nullptr;
  const Ty* expected = nullptr;          ///< type that the value of these statements should have
  std::optional<ir::DType> rounds = {};  ///< of the `@autocast` around them
};

using FlowFn = std::function<Flow()>;
using PlacedFn = std::function<Flow(const Tail&)>;

std::vector<Val> valuesOf(const std::vector<Binding*>& vars);
void setValues(const std::vector<Binding*>& vars, const std::vector<Val>& values, size_t from = 0);

}  // namespace tenc::frontend
