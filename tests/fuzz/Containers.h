// Mutated files that contain other things mostly fail at their first checksum or length. Mending those lets a mutation
// reach what lies behind.
#pragma once
#include <string>
#include <string_view>

#include "tests/fuzz/Mutator.h"

namespace tenc::fuzz {

/// Writes the checksums, lengths and places anew that a file of `kind` (png, npz, safetensors) has of its own contents,
/// each but for one time in ten; a file of another kind, or one that is not recognised, stays as it is.
void mend(std::string_view kind, std::string& file, Mutator& choose);

}  // namespace tenc::fuzz
