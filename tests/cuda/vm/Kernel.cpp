#include "tests/cuda/vm/Kernel.h"

namespace tenc::ptx {

const char* nameOf(Class c) {
  static constexpr const char* kNames[] = {"integer",   "float32", "float64", "half",   "special", "matrix",
                                           "warpgroup", "convert", "move",    "global", "shared",  "local",
                                           "atomic",    "shuffle", "barrier", "branch", "other",   "helper"};
  static_assert(std::size(kNames) == kClasses);
  return kNames[static_cast<size_t>(c)];
}

std::string Kernel::describe(uint32_t pc) const {
  const Origin& o = origins[pc];
  constexpr size_t kLongest = 160;  // wgmma names up to 128 registers
  std::string s = "line " + std::to_string(o.line) + ": " + o.text.substr(0, kLongest);
  if (o.text.size() > kLongest) s += "...";
  if (o.sourceLine) s += " (source line " + std::to_string(o.sourceLine) + ")";
  return s;
}

}  // namespace tenc::ptx
