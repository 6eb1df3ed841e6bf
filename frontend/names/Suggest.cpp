// Which name was meant: by its spelling, or by what other languages call it.
#include "frontend/names/Suggest.h"

#include <algorithm>
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
