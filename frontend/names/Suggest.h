// Which name was meant.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/Diagnostics.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

std::string nearest(std::string_view name, const std::vector<std::string>& names);
/// Whether the letters say enough: two of them exchanged, or one of six wrong, or two of eight. Digits are no letters.
bool isMistyped(std::string_view name, std::string_view meant);
/// The one of `names` in lower case that has the words of `name`, whatever its case, blanks and final `Loss`: `rmsprop`
/// for `RMSprop`, `cross_entropy` for `CrossEntropyLoss`, `adamw` for `AdamW`. Empty for none.
std::string respelled(std::string_view name, const std::vector<std::string>& names);
/// The one of the names with which the text begins; empty for none, and for several.
std::string shortened(std::string_view text, const std::vector<std::string>& names);
/// Out of what a name was to be: one of the few of a call or a struct, anything that stands in scope, or that where
/// something that is not known may bind the name, so that nothing is certain.
enum class Among : uint8_t { Few, All, Unsure };

/// Adds which of `names` was meant by `name`, by its spelling or by what other languages call it. Among all names the
/// letters of a short one say too little for an edit, `conj` is not `cos`, unless the one of the script's that is near
/// has one letter more, less or another, and begins with the same. One with other digits is another.
void suggest(Diagnostics::Builder& d, std::string_view name, Span at, const std::vector<std::string>& names,
             const syntax::Familiar* known, Among among = Among::All);

/// Which fields a struct has, in a few words: `its fields are `w` and `b``.
std::string fieldsText(const std::vector<std::string>& names);

}  // namespace tenc::frontend
