// Attributes of ops that placement reads, for who makes them.
#pragma once

namespace tenc::ir {

/// Of a `one_place`: the source asks where the operands, parts of one value, live (`.device`).
inline constexpr const char* kAsksForPlace = "place.asked";

}  // namespace tenc::ir
