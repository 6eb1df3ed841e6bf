// Which name was meant: by its spelling, or by what other languages call it.
#include "frontend/names/Suggest.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/builtins/Builtins.h"
#include "ir/Type.h"
#include "support/Text.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string best;
  size_t least = name.size() <= 4 ? 2 : 3;
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

namespace {
/// Without case and blanks.
std::string letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string digits(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) out += c;
  return out;
}
}  // namespace

bool isMistyped(std::string_view name, std::string_view meant) {
  std::string a(name), b(meant);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const size_t distance = editDistance(name, meant);
  if (digits(name) != digits(meant)) return false;
  return (distance == 1 && (a == b || name.size() >= 6)) || (distance == 2 && name.size() >= 8);
}

std::string respelled(std::string_view name, const std::vector<std::string>& names) {
  const std::string whole = letters(name);
  const std::string most = whole.ends_with("loss") ? whole.substr(0, whole.size() - 4) : whole;
  for (const std::string& n : names) {
    const bool lower = std::none_of(n.begin(), n.end(), [](unsigned char c) { return std::isupper(c); });
    const std::string is = letters(n);
    if (lower && (is == whole || is == most || is == letters(std::string(name) + "_layer"))) return n;
  }
  return "";
}

std::string shortened(std::string_view text, const std::vector<std::string>& names) {
  std::string found;
  for (const std::string& n : names) {
    if (!text.starts_with(n)) continue;
    if (!found.empty()) return "";
    found = n;
  }
  return found;
}

void suggest(Diagnostics::Builder& d, std::string_view name, Span at, const std::vector<std::string>& names,
             const syntax::Familiar* known, Among among) {
  std::string meant;
  if (known) {
    const bool there = std::find(names.begin(), names.end(), known->replacement) != names.end();
    if (there || known->keyword || ir::dtypeNamed(known->replacement)) meant = known->replacement;
    if (meant.empty() && !known->help.empty()) {
      d.help(std::string(known->help));
      return;
    }
  }
  const auto isSame = [&](const std::string& n) { return n != name && letters(n) == letters(name); };
  bool sure = !meant.empty();
  if (!sure) {
    if (const auto same = std::find_if(names.begin(), names.end(), isSame); same != names.end()) meant = *same;
    sure = !meant.empty();
  }
  if (!sure) {
    meant = nearest(name, names);
    const auto isNear = [&](const std::string& n) {
      return builtinRow(n) == nullptr && editDistance(name, n) == editDistance(name, meant);
    };
    // `los` is `loss`, but `out` is not `opt`, nor is `rate` `date`.
    const bool isLong = name.size() > 3 || (name.size() == 3 && meant.size() > 3);
    const bool isOwn = isLong && !meant.empty() && meant[0] == name[0] && builtinRow(meant) == nullptr;
    const bool only = isOwn && editDistance(name, meant) == 1 && std::ranges::count_if(names, isNear) == 1;
    sure = among == Among::Few || only || isMistyped(name, meant);
  }
  if (meant.empty()) return;
  // `x2` is not `x1`, nor is `X` certainly `x`; `normal_` works in place.
  if (!known)
    sure = sure && digits(name) == digits(meant) && name.ends_with('_') == meant.ends_with('_') &&
           (name.size() > 1 || among == Among::Few);
  d.help("did you mean `" + meant + "`?",
         sure && among != Among::Unsure ? std::vector<Edit>{{at, meant}} : std::vector<Edit>{});
}

std::string fieldsText(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  if (names.empty()) return "it has no fields";
  if (names.size() == 1) return "its field is `" + names[0] + "`";
  std::string text = names.size() > kMost ? "its first fields are " : "its fields are ";
  const size_t count = std::min(names.size(), kMost);
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "`" : i + 1 == count ? " and `" : ", `") + names[i] + "`";
  return text;
}

}  // namespace tenc::frontend
