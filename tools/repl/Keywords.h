// What the words of the grammar are for, as `:doc` says it.
#pragma once
#include <string_view>

namespace tenc::repl {

struct Keyword {
  std::string_view word, form, doc;
};
/// Null for what is no keyword.
const Keyword* keyword(std::string_view word);

}  // namespace tenc::repl
