// Broken variants of compiled programs in files.
#pragma once
#include <string>

#include "tests/fuzz/Mutator.h"

namespace tenc::fuzz {

/// A variant of a well-formed .tlp file. Mostly numbers, texts and lists of the plan and calls of routines are changed
/// and the checksums are right, so that the checks behind these are reached; machine code and what it promises of its
/// arguments stays as it is then, as nobody could check it. Some variants have bytes changed anywhere.
std::string changedProgram(const std::string& file, Mutator& choose);

}  // namespace tenc::fuzz
