// What a value of a loop's body will be in a trip that has not begun: computed by copies of the ops that make it, where
// these read nothing but the index of the trip, values of outside, and what the trip before knows already.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "ir/Ir.h"

namespace tenc::passes {

class Trips {
 public:
  /// Copies for the first trip stand in front of the loop, those for the next one in front of `at`, an op of the body.
  Trips(ir::Op& loop, ir::Op& at);

  /// Whether a value of the body, or of the condition of a `while`, can be computed before its trip begins: by few
  /// cheap ops without effects, which cannot fault wherever they are run.
  bool areKnown(const std::vector<ir::Value*>& values) const;
  /// Values that are known, in the first trip and in the next.
  ir::Value* first(ir::Value* v) { return inTrip(v, Trip::First); }
  ir::Value* next(ir::Value* v) { return inTrip(v, Trip::Next); }
  /// Whether there are such trips, as far as that is known.
  ir::Value* hasFirst() { return exists(Trip::First); }
  ir::Value* hasNext() { return exists(Trip::Next); }

 private:
  enum class Trip : uint8_t { First, This, Next };
  using Copies = std::unordered_map<const ir::Value*, ir::Value*>;

  bool isOutside(const ir::Value* v) const;
  /// The carried value of a region's argument; nothing for the index of the trip.
  std::optional<size_t> carried(const ir::Value* arg) const;
  bool isKnown(const ir::Value* v, Trip trip) const;
  bool isKnown(const ir::Value* v, Trip trip, std::unordered_set<const ir::Value*>& seen) const;
  ir::Value* inTrip(ir::Value* v, Trip trip);
  ir::Value* copyOf(const ir::Op& op, Trip trip);
  void keepInside(ir::Op& copy, ir::Builder& b);
  ir::Value* exists(Trip trip);
  ir::Value* both(ir::Value* condition, Trip trip);
  ir::Builder& builder(Trip trip) { return trip == Trip::First ? before_ : within_; }

  ir::Op& loop_;
  ir::Builder before_, within_;
  std::unordered_set<const ir::Op*> done_;  ///< ops of the body in front of `at`
  Copies copies_[3];                        ///< by trip
};

}  // namespace tenc::passes
