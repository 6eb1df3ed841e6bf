#include "syntax/ForeignCalls.h"

#include <algorithm>
#include <map>

namespace tenc::syntax {

namespace {

struct Declared {
  std::string_view name, only;
  bool dropped = false, text = false, rest = false, must = false, literal = false, byName = false, several = false;
  bool named = false;
  int rank = -1;
};

std::vector<Declared> declaredBy(const ForeignCall& row) {
  std::vector<Declared> list;
  std::string_view inside = row.call.substr(row.call.find('(') + 1);
  inside.remove_suffix(1);
  while (!inside.empty()) {
    const size_t comma = inside.find(", ");
    std::string_view p = inside.substr(0, comma);
    inside = comma == std::string_view::npos ? "" : inside.substr(comma + 2);
    Declared d;
    d.rest = p == "*";
    d.named = p == "**";
    d.text = p.front() == '"';
    d.dropped = p.front() == '-';
    d.rank = p.front() >= '0' && p.front() <= '9' ? p.front() - '0' : -1;
    d.must = p.front() == '!' || d.rank >= 0;
    d.literal = p.front() == '+';
    d.byName = p.front() == ':';
    d.several = p.front() == '%';
    if (d.dropped || d.must || d.literal || d.byName || d.several) p.remove_prefix(1);
    if (d.must && p.front() == ':') {
      d.byName = true;
      p.remove_prefix(1);
    }
    const size_t equals = p.find('=');
    if (equals != std::string_view::npos) {
      d.only = p.substr(equals + 1);
      d.dropped = true;
    }
    d.name = p.substr(0, equals);
    list.push_back(d);
  }
  return list;
}

using Given = std::map<std::string, std::vector<ForeignArgument>, std::less<>>;

/// Which argument each parameter has; nothing where one has no parameter, or not the value that it must have.
std::optional<Given> bound(const ForeignCall& row, std::span<const ForeignArgument> given) {
  const std::vector<Declared> declared = declaredBy(row);
  Given found;
  size_t next = 0;
  for (const ForeignArgument& a : given) {
    auto d = declared.begin();
    if (!a.name.empty()) {
      d = std::find_if(declared.begin(), declared.end(), [&](const Declared& x) { return x.name == a.name; });
      if (d == declared.end())
        d = std::find_if(declared.begin(), declared.end(), [](const Declared& x) { return x.named; });
      // What PyTorch calls the first operand of nearly all its functions.
      if (d == declared.end() && a.name == "input" && !declared.empty() && !declared[0].rest) d = declared.begin();
    } else {
      while (next < declared.size() && found.contains(declared[next].name) && !declared[next].rest) ++next;
      d = declared.begin() + static_cast<std::ptrdiff_t>(next);
    }
    if (d == declared.end() || ((d->byName || d->named) && a.name.empty()) || (d->literal && !a.number) ||
        (d->several && a.parts.empty()) || (d->rank >= 0 && a.rank != d->rank))
      return std::nullopt;
    // Perhaps TL's order of arguments.
    if (d->name == "dim" && a.name.empty() && !a.number && a.parts.empty()) return std::nullopt;
    if (d->text && a.text != d->name) return std::nullopt;
    if (!d->only.empty() && a.text != d->only) return std::nullopt;
    found[std::string(d->name)].push_back(a);
  }
  const auto isMissing = [&](const Declared& d) { return !found.contains(d.name) && (d.text || d.must || d.several); };
  return std::any_of(declared.begin(), declared.end(), isMissing) ? std::nullopt : std::optional(found);
}

/// Brackets around sizes, however they are written.
std::string asShape(const std::vector<ForeignArgument>& sizes) {
  if (sizes.size() == 1 && sizes[0].parts.empty())
    return sizes[0].number || sizes[0].compound ? "[" + sizes[0].text + "]" : sizes[0].text;
  std::string text;
  for (const ForeignArgument& a : sizes) {
    for (const std::string& p : a.parts.empty() ? std::vector{a.text} : a.parts) text += (text.empty() ? "" : ", ") + p;
  }
  return "[" + text + "]";
}

/// The same of sizes among which -1 keeps that of `x`, whose dims are counted from the end.
std::string asExpanded(const std::vector<ForeignArgument>& sizes, const ForeignArgument& x) {
  std::vector<std::string> dims;
  for (const ForeignArgument& a : sizes) {
    if (a.parts.empty())
      dims.push_back(a.text);
    else
      dims.insert(dims.end(), a.parts.begin(), a.parts.end());
  }
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == "-1")
      dims[i] = (x.compound ? "(" + x.text + ")" : x.text) + ".shape[-" + std::to_string(dims.size() - i) + "]";
    text += (text.empty() ? "" : ", ") + dims[i];
  }
  return dims.size() == 1 && sizes[0].parts.empty() && !sizes[0].number ? text : "[" + text + "]";
}

/// Whether what stands at both sides of a hole keeps an operand apart.
bool standsApart(std::string_view before, std::string_view behind) {
  while (!before.empty() && before.back() == ' ') before.remove_suffix(1);
  while (!behind.empty() && behind.front() == ' ') behind.remove_prefix(1);
  const size_t n = before.size();
  const bool compares = n > 1 && before[n - 1] == '=' && std::string_view("=!<>").find(before[n - 2]) != before.npos;
  const bool left = before.empty() || (!compares && std::string_view("(,:[=|").find(before.back()) != before.npos);
  const bool right = behind.empty() || std::string_view("),]<>").find(behind.front()) != std::string_view::npos;
  return left && right;
}

/// Asks for one shape of two values where NumPy would not broadcast them; nothing where they are known to differ.
std::optional<std::string> oneShape(const ForeignArgument& a, const ForeignArgument& b) {
  if ((a.rank == 0 && a.always) || (b.rank == 0 && b.always)) return "";
  const bool always = a.always && b.always;
  if (always && a.rank > 0 && b.rank > 0 && a.rank != b.rank) return std::nullopt;
  if (always && !a.shape.empty() && !b.shape.empty()) return a.shape == b.shape ? std::optional("") : std::nullopt;
  const auto shape = [](const ForeignArgument& x) { return (x.compound ? "(" + x.text + ")" : x.text) + ".shape"; };
  return shape(a) + " == " + shape(b) + " and ";
}

/// The text of one hole; nothing for a parameter that is not given.
std::optional<std::string> filled(std::string_view hole, const Given& given, bool apart, std::string_view accelerator) {
  if (hole == "accelerator") return std::string(accelerator);
  if (hole == "=") {
    const auto a = given.find("a"), b = given.find("b");
    if (a == given.end() || b == given.end()) return std::nullopt;
    return oneShape(a->second[0], b->second[0]);
  }
  const char form = hole.front();
  if (form == '#' || form == '^' || form == '2' || form == '-' || form == '~') hole.remove_prefix(1);
  const size_t dot = hole.find('.');
  const auto found = given.find(hole.substr(0, dot));
  if (found == given.end()) return std::nullopt;
  const std::vector<ForeignArgument>& list = found->second;
  if (dot != std::string_view::npos) {
    const size_t place = static_cast<size_t>(hole[dot + 1] - '0');
    return place < list[0].parts.size() ? std::optional(list[0].parts[place]) : std::nullopt;
  }
  if (form == '#') return asShape(list);
  if (form == '^' && !list[0].number) return asShape(list);
  if (form == '-') return asExpanded(list, given.at("x")[0]);
  if (form == '~') {
    std::string axes;
    for (size_t i = std::max<size_t>(list[0].parts.size(), 1); i > 0; --i)
      axes += (axes.empty() ? "-" : ", -") + std::to_string(i);
    return "[" + axes + "]";
  }
  if (form == '2' || form == '^')
    return list[0].parts.empty() ? "[" + list[0].text + ", " + list[0].text + "]" : asShape(list);
  std::string text;
  for (const ForeignArgument& a : list)
    text += (text.empty() ? "" : ", ") + (hole == "**" ? a.name + ": " : "") +
            (a.compound && !apart ? "(" + a.text + ")" : a.text);
  return list.size() == 1 && hole == "*" ? text + "," : text;
}

std::optional<std::string> expanded(std::string_view pattern, const Given& given, std::string_view accelerator) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '<' && pattern.substr(i, 2) != "<=" && pattern.find('>', i) != std::string_view::npos) {
      const size_t end = pattern.find('>', i);
      if (const auto part = expanded(pattern.substr(i + 1, end - i - 1), given, accelerator)) out += *part;
      i = end;
    } else if (pattern.substr(i, 2) == "{{" || pattern.substr(i, 2) == "}}") {
      out += pattern[i++];
    } else if (pattern[i] == '{') {
      const size_t end = pattern.find('}', i);
      const bool apart = standsApart(pattern.substr(0, i), pattern.substr(end + 1));
      const auto text = filled(pattern.substr(i + 1, end - i - 1), given, apart, accelerator);
      if (!text) return std::nullopt;
      out += *text;
      i = end;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

}  // namespace

namespace {
/// Whether parts of `size` take up the dim that is cut.
bool dividesDim(const Given& given) {
  const auto integer = [&](std::string_view name, int64_t otherwise) -> int64_t {
    const auto found = given.find(name);
    if (found == given.end()) return otherwise;
    return found->second[0].number ? std::stoll(found->second[0].text) : -1;
  };
  const auto& shape = given.find("x")->second[0].shape;
  const int64_t size = integer("size", -1);
  int64_t dim = integer("dim", 0);
  if (dim < 0) dim += static_cast<int64_t>(shape.size());
  return size > 0 && dim >= 0 && static_cast<size_t>(dim) < shape.size() && shape[static_cast<size_t>(dim)] % size == 0;
}
}  // namespace

namespace {
/// Whether all parts of a tuple stand in the text, where it takes them one by one.
bool takesAllParts(std::string_view text, const Given& given) {
  for (const auto& [name, list] : given) {
    size_t taken = 0;
    const std::string hole = "{" + name + ".";
    for (size_t at = text.find(hole); at != text.npos; at = text.find(hole, at + 1))
      taken = std::max(taken, static_cast<size_t>(text[at + hole.size()] - '0') + 1);
    if (taken > 0 && taken != list[0].parts.size()) return false;
  }
  return true;
}
}  // namespace

std::array<std::span<const ForeignCall>, 6> foreignTables() {
  return {foreignTorchCalls(),  foreignOptionCalls(), foreignNumberCalls(),
          foreignTensorCalls(), foreignLayerCalls(),  foreignFormulas()};
}

std::vector<const ForeignCall*> foreignCalls(std::string_view name) {
  std::vector<const ForeignCall*> rows;
  for (const auto all : foreignTables())
    for (const ForeignCall& r : all)
      if (r.name() == name) rows.push_back(&r);
  return rows;
}

std::optional<std::string> rewritten(const ForeignCall& row, std::span<const ForeignArgument> given,
                                     std::string_view accelerator) {
  const int rank = given.empty() ? -1 : given[0].rank;
  if (row.rank >= 0 && (rank < row.rank || rank > row.mostRank)) return std::nullopt;
  const auto isOther = [&](const ForeignArgument& a) { return !a.dtype.empty() && a.dtype != row.dtype; };
  const auto isKnown = [](const ForeignArgument& a) { return !a.dtype.empty() && a.always; };
  if (!row.dtype.empty() && (std::ranges::any_of(given, isOther) || std::ranges::none_of(given, isKnown)))
    return std::nullopt;
  const auto arguments = bound(row, given);
  if (!arguments || (row.divides && !dividesDim(*arguments)) || !takesAllParts(row.text, *arguments))
    return std::nullopt;
  return expanded(row.text, *arguments, accelerator);
}

std::optional<std::string> rewrittenSecond(const ForeignCall& row, std::span<const ForeignArgument> given,
                                           std::string_view accelerator) {
  const auto arguments = bound(row, given);
  return arguments ? expanded(row.second, *arguments, accelerator) : std::nullopt;
}

}  // namespace tenc::syntax
