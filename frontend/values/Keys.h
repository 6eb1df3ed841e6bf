// What tells two instances of a function apart.
#pragma once
#include <string>

#include "frontend/values/Values.h"

namespace tenc::frontend {

std::string keyOf(const Val& v);

}  // namespace tenc::frontend
