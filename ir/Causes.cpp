#include "ir/Causes.h"

#include <array>

#include "ir/Module.h"
#include "support/InternalError.h"

namespace tenc::ir {
namespace {

constexpr std::array<std::string_view, 16> kNames = {"to",     "type",    "annotation", "enter",  "capture", "argument",
                                                     "result", "literal", "print",      "assert", "save",    "load",
                                                     "seed",   "if",      "while",      "for"};

}  // namespace

std::string_view name(Cause c) { return kNames[static_cast<size_t>(c)]; }

std::optional<Cause> causeNamed(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Cause>(i);
  return std::nullopt;
}

Cause causeOf(const Op& op) {
  const std::optional<Cause> cause = causeNamed(op.stringAttr("cause"));
  if (!cause) throw InternalError("`" + op.stringAttr("cause") + "` is no cause of a move");
  return *cause;
}

}  // namespace tenc::ir
