// What tells one build of the compiler from all others: a part of the key of whatever is kept between runs.
#pragma once
#include <string>

namespace tenc::codegen {

/// The linker's build id of this program; empty if it has none.
std::string buildId();

}  // namespace tenc::codegen
