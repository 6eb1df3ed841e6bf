// What the words of the grammar, and names of the language, are for, as `tenc explain` and `:doc` say it.
#pragma once
#include <string_view>

namespace tenc::tool {

struct Keyword {
  std::string_view word, form, doc;
};
/// Null for what is no keyword.
const Keyword* keyword(std::string_view word);
/// Of a member of values, as `shape`, or `x.shape` of any x; null for others.
const Keyword* member(std::string_view path);

}  // namespace tenc::tool
