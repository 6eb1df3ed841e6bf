// Which name was meant.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "support/Diagnostics.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

std::string nearest(std::string_view name, const std::vector<std::string>& names);
/// The one of `names` in lower case that has the words of `name`, whatever its case, blanks and final `Loss`: `rmsprop`
/// for `RMSprop`, `cross_entropy` for `CrossEntropyLoss`, `adamw` for `AdamW`. Empty for none.
std::string respelled(std::string_view name, const std::vector<std::string>& names);
/// Adds which of `names` was meant by `name`, by its spelling or by what other languages call it.
void suggest(Diagnostics::Builder& d, std::string_view name, Span at, const std::vector<std::string>& names,
             const syntax::Familiar* known);

}  // namespace tenc::frontend
