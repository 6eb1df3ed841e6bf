// What is alive at the peak of a device's memory, for people: like values together, and which of them the forward pass
// of a gradient keeps for the backward pass.
#pragma once
#include <string>
#include <vector>

#include "codegen/Codegen.h"
#include "ir/Ir.h"
#include "support/SourceFile.h"

namespace tenc::tool {

/// Values of one type and name that are made at one place, such as those of equal layers.
struct Held {
  const ir::Value* value = nullptr;  ///< the first of them
  std::string name;                  ///< "" where it has none
  ir::Loc made;                      ///< unknown for an input
  Span place;                        ///< of `made`, in the user's own source where a function of the library made it
  size_t count = 0;
  uint64_t largest = 0, bytes = 0;  ///< of one of them, and of all
  /// Of a residual that a loop keeps of every trip: how many there are; 0 for any other value.
  int64_t trips = 0;
  /// A residual: what comes after the peak reads it in the backward pass of a gradient alone.
  bool kept = false;
  Span reader;  ///< of a residual: the operation whose gradient reads it first
};

struct AtPeak {
  std::vector<Held> all;  ///< that with the largest value first, then by their bytes
  uint64_t kept = 0;      ///< bytes of residuals
  ir::Half half{};        ///< of a gradient, in which the most is alive
  Span place;             ///< where the most is alive; invalid before the first operation
  /// The locations of residuals, one for each value, with their bytes.
  std::vector<std::pair<ir::Loc, uint64_t>> residuals;
};

AtPeak atPeak(const ir::Module& m, const codegen::MemoryPlan::Device& device, const SourceManager& sources);

/// Where a location stands in the user's own source: for code of the library the call that leads there.
ir::Loc userLoc(const ir::Module& m, ir::Loc at, const SourceManager& sources);
/// Its span; invalid where there is none.
Span userPlace(const ir::Module& m, ir::Loc at, const SourceManager& sources);

/// "`h`", "`m.up(x)`", "the backward pass of `m.up(x)`", or "a value".
std::string describe(const ir::Module& m, const Held& held, const SourceManager& sources);
/// The expression at a span in quotes, of the sign of an operator the whole operation; "" where it is long.
std::string quoteExpression(const ir::Module& m, Span span, const SourceManager& sources);

}  // namespace tenc::tool
