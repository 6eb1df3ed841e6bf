#include "frontend/habits/Einops.h"

#include <algorithm>
#include <set>
#include <vector>

#include "syntax/Tokens.h"

namespace tenc::frontend {

namespace {

using Sizes = std::map<std::string, std::string, std::less<>>;
using Group = std::vector<std::string>;  ///< the axes that one dim is made of; none for a dim of 1

/// One side of the arrow; nothing for what is neither a name, a group nor a one.
std::optional<std::vector<Group>> side(std::string_view text) {
  std::vector<Group> groups;
  bool open = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ') {
      ++i;
    } else if (c == '(' && !open) {
      open = true;
      groups.emplace_back();
      ++i;
    } else if (c == ')' && open) {
      open = false;
      ++i;
    } else if (c == '1' && !open && (i + 1 == text.size() || !syntax::isWordPart(text[i + 1]))) {
      groups.emplace_back();
      ++i;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      const size_t begin = i;
      while (i < text.size() && syntax::isWordPart(text[i])) ++i;
      if (!open) groups.emplace_back();
      groups.back().emplace_back(text.substr(begin, i - begin));
    } else {
      return std::nullopt;
    }
  }
  return open ? std::nullopt : std::optional(groups);
}

Group axesOf(const std::vector<Group>& groups) {
  Group all;
  for (const Group& g : groups) all.insert(all.end(), g.begin(), g.end());
  return all;
}

bool isPlain(const std::vector<Group>& groups) {
  return std::all_of(groups.begin(), groups.end(), [](const Group& g) { return g.size() == 1; });
}

std::string product(const Group& axes, const Sizes& sizes) {
  std::string text;
  for (const std::string& a : axes) text += (text.empty() ? "" : " * ") + sizes.find(a)->second;
  return text.empty() ? "1" : text;
}

/// The size of every axis on the left: that of its dim, or given, or what the others of its dim leave of it.
std::optional<Sizes> sizesOf(const std::string& x, const std::vector<Group>& left, const Sizes& given) {
  Sizes sizes = given;
  for (size_t i = 0; i < left.size(); ++i) {
    const std::string dim = x + ".shape[" + std::to_string(i) + "]";
    Group open, known;
    for (const std::string& a : left[i]) (given.contains(a) ? known : open).push_back(a);
    if (open.size() > 1) return std::nullopt;
    if (open.empty()) continue;
    const std::string others = product(known, given);
    sizes[open[0]] = known.empty() ? dim : dim + " // " + (known.size() > 1 ? "(" + others + ")" : others);
  }
  return sizes;
}

}  // namespace

std::optional<std::string> rearranged(const std::string& x, std::string_view pattern, const Sizes& given) {
  const size_t arrow = pattern.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  const auto left = side(pattern.substr(0, arrow)), right = side(pattern.substr(arrow + 2));
  if (!left || !right) return std::nullopt;
  const Group from = axesOf(*left), to = axesOf(*right);
  const std::set<std::string> distinct(from.begin(), from.end());
  if (from.empty() || distinct.size() != from.size() || to.size() != from.size() ||
      distinct != std::set<std::string>(to.begin(), to.end()))
    return std::nullopt;
  const auto sizes = sizesOf(x, *left, given);
  if (!sizes) return std::nullopt;
  std::string text = x;
  if (!isPlain(*left)) {
    std::string shape;
    for (const std::string& a : from) shape += (shape.empty() ? "" : ", ") + sizes->find(a)->second;
    text = "reshape(" + text + ", [" + shape + "])";
  }
  if (from != to) {
    std::string places;
    for (const std::string& a : to)
      places += (places.empty() ? "" : ", ") + std::to_string(std::find(from.begin(), from.end(), a) - from.begin());
    text = "permute_dims(" + text + ", [" + places + "])";
  }
  if (isPlain(*right)) return text;
  std::string shape;
  const auto joined = std::count_if(right->begin(), right->end(), [](const Group& g) { return g.size() > 1; });
  for (const Group& g : *right)
    shape += (shape.empty() ? "" : ", ") + (g.size() > 1 && joined == 1 ? "-1" : product(g, *sizes));
  return "reshape(" + text + ", [" + shape + "])";
}

}  // namespace tenc::frontend
