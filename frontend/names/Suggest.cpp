// Which name was meant: by its spelling, or by what other languages call it.
#include "frontend/names/Suggest.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "support/Text.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string best;
  size_t least = name.size() <= 3 ? 2 : 3;
  for (const std::string& n : names) {
    if (n.size() >= name.size() + least || name.size() >= n.size() + least) continue;
    const size_t d = editDistance(name, n);
    if (d > 0 && d < least && d < name.size()) {
      least = d;
      best = n;
    }
  }
  return best;
}

std::string respelled(std::string_view name, const std::vector<std::string>& names) {
  const auto letters = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
  };
  const std::string whole = letters(name);
  const std::string most = whole.ends_with("loss") ? whole.substr(0, whole.size() - 4) : whole;
  for (const std::string& n : names) {
    const bool lower = std::none_of(n.begin(), n.end(), [](unsigned char c) { return std::isupper(c); });
    const std::string is = letters(n);
    if (lower && (is == whole || is == most || is == letters(std::string(name) + "_layer"))) return n;
  }
  return "";
}

void suggest(Diagnostics::Builder& d, std::string_view name, Span at, const std::vector<std::string>& names,
             const syntax::Familiar* known) {
  std::string meant;
  if (known) {
    const bool there = std::find(names.begin(), names.end(), known->replacement) != names.end();
    if (there || known->keyword) meant = known->replacement;
    if (meant.empty() && !known->help.empty()) {
      d.help(std::string(known->help));
      return;
    }
  }
  if (meant.empty()) meant = nearest(name, names);
  if (!meant.empty()) d.help("did you mean `" + meant + "`?", {{at, meant}});
}

}  // namespace tenc::frontend
