// What the words of the grammar, and names of the language, are for, as `tenc explain` and `:doc` say it.
#pragma once
#include <string_view>

namespace tenc::tool {

struct Keyword {
  std::string_view word, form, doc;
};
/// Null for what is no keyword.
const Keyword* keyword(std::string_view word);

}  // namespace tenc::tool
