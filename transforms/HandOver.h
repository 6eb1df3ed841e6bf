// Linear code names values of the way freely while both are made. At the end what it names is handed over, region by
// region: out of an `on` or `if` as further results, out of a loop as one tensor with an entry for each trip, out of
// the function as residuals. What follows cheaply from what is kept is computed again instead (Residuals.h).
#pragma once
#include <unordered_map>
#include <vector>

#include "transforms/Derivatives.h"

namespace tenc::transforms {

/// Of an `if`: for each result the branch that hands it over to linear code, which reads it in that branch alone, or -1
/// for a result of the function's own.
inline constexpr const char* kKeptOfBranches = "derivative.kept";
/// Of an op that writes or reads what a loop keeps of a trip: its index is that of the trip, and there is a place for
/// it.
inline constexpr const char* kKeptOfTrips = "derivative.trip";

class HandOver {
 public:
  /// Notes that `linear` is the loop or branch on tangents beside `forward`.
  void pair(ir::Op& forward, ir::Op& linear) { linearOf_[&forward] = &linear; }

  /// Makes what is defined in the two functions' forward half visible to the linear one, and sets `made.residuals`.
  /// Both end in their `return`.
  void run(LinearizedFunc& made);

 private:
  using Values = std::vector<ir::Value*>;

  void regionsOf(ir::Region& region);
  void region(ir::Op& op, size_t r);
  void loop(ir::Op& op, const Values& read);
  void branch(ir::Op& op, size_t r, const Values& read);
  void residuals(LinearizedFunc& made);
  bool isInvariant(const ir::Value& v, const ir::Op& loop);
  void hoist(const ir::Value& v, ir::Op& loop);

  std::unordered_map<const ir::Op*, ir::Op*> linearOf_;   ///< of a forward `for` or `if`
  std::unordered_map<const ir::Value*, bool> invariant_;  ///< of values in the loop at hand
};

}  // namespace tenc::transforms
