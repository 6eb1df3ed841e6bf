// Why a value moves between devices.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenc::ir {

class Op;

/// What of the source asks for a move; attribute `cause` of `to` and `transfer` by name.
enum class Cause : uint8_t {
  To,          ///< `x.to(d)`
  Type,        ///< a written type that names a device
  Annotation,  ///< the value enters an `@d` statement or block
  Enter,       ///< the same, of the first value of a `var` or loop that is bound inside; of `to` only
  Capture,     ///< what a lambda captured stays where it is; of `to` only
  Argument,    ///< a free value where the callee's signature wants it
  Result,      ///< a free value where the signature puts the result
  Literal,     ///< a free value where a variable, field or branch is
  Print,       ///< the host reads it, from here on
  Assert,
  Save,
  Load,
  Seed,
  If,
  While,
  For,
};
std::string_view name(Cause c);  ///< "to", "annotation", "print"
std::optional<Cause> causeNamed(std::string_view name);
/// Of a `to` or `transfer`.
Cause causeOf(const Op& op);

}  // namespace tenc::ir
