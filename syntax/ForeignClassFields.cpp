// What a field of a network holds: a dim of its type, a number or text that is chosen where the network is made, a
// tensor that is not trained, or a layer.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "syntax/ForeignClassParts.h"

namespace tenc::syntax {

namespace {

using Kind = PythonClass::Kind;

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool isInteger(std::string_view s) { return !s.empty() && std::ranges::all_of(s, isDigit); }

/// A number that is no integer, a text, or a bool.
bool isOption(std::string_view s) {
  if (s == "True" || s == "False" || s.starts_with('"') || s.starts_with('\'')) return true;
  if (s.starts_with('-')) s.remove_prefix(1);
  const bool number = !s.empty() && (isDigit(s[0]) || s[0] == '.') && !isInteger(s);
  return number && std::ranges::all_of(s, [](char c) { return isDigit(c) || c == '.' || c == 'e' || c == '-'; });
}

/// Whether a call of a library gives a tensor, and no layer: `torch.zeros(3)`, but neither `nn.Linear(2, 3)` nor
/// `nn.Parameter(torch.zeros(3))`.
bool isTensor(std::string_view s) {
  const std::string_view path = s.substr(0, s.find('('));
  const size_t point = path.rfind('.');
  if (path.size() == s.size() || point == path.npos) return false;
  const bool layer = std::isupper(static_cast<unsigned char>(path[std::min(point + 1, path.size() - 1)])) != 0;
  return !layer && isOfLibrary(path);
}

/// `F.relu`, which is called later.
bool isFunctionOfLibrary(std::string_view s) {
  const bool path = std::ranges::all_of(s, [](char c) { return isWordPart(c) || c == '.'; });
  return path && s.find('.') != s.npos && isOfLibrary(s);
}

/// The bracket that closes the one at `open`, or the end.
size_t closeOf(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += std::string_view("([{").find(text[at]) != text.npos ? 1 : 0;
    depth -= std::string_view(")]}").find(text[at]) != text.npos ? 1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

Kind kindOfText(std::string_view s) {
  if (isOption(s)) return Kind::Option;
  return isTensor(s) || s.starts_with('[') ? Kind::Tensor : Kind::Size;
}

/// What the script gives the name first, as text.
std::string_view givenTo(std::string_view name, std::string_view text) {
  for (size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    std::string_view line = withoutComment(text.substr(at, text.find('\n', at) - at));
    for (const std::string_view word : {"let ", "var "})
      if (line.starts_with(word)) line = trimmed(line.substr(word.size()));
    if (wordAt(line) != name) continue;
    line = trimmed(line.substr(name.size()));
    if (line.starts_with('=') && !line.starts_with("==")) return trimmed(line.substr(1));
  }
  return "";
}

}  // namespace

std::string_view defaultOf(const PythonClass& c, std::string_view parameter) {
  for (std::string_view p : listed(c.made)) {
    if (p.starts_with("static ")) p.remove_prefix(7);
    const size_t equals = p.find('=');
    if (wordAt(p) == parameter && equals != p.npos) return trimmed(p.substr(equals + 1));
  }
  return "";
}

namespace {
/// What the script passes for a parameter in each call of the class, as written, names as what they are given first;
/// its default where a call leaves it out.
std::vector<std::string_view> passed(const PythonClass& c, std::string_view text, std::string_view parameter) {
  std::vector<std::string_view> found;
  size_t place = 0;
  for (std::string_view p : listed(c.made)) {
    if (p.starts_with("static ")) p.remove_prefix(7);
    if (wordAt(p) == parameter) break;
    ++place;
  }
  for (size_t at = text.find(c.name); at != text.npos; at = text.find(c.name, at + 1)) {
    const size_t open = at + c.name.size();
    const bool called = (at == 0 || !isWordPart(text[at - 1])) && open < text.size() && text[open] == '(';
    if (!called || trimmed(text.substr(0, at)).ends_with("class")) continue;
    std::string_view given = defaultOf(c, parameter);
    const std::vector<std::string_view> all = listed(text.substr(open + 1, closeOf(text, open) - open - 1));
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t equals = all[i].find_first_of("=:");
      const bool named = equals != all[i].npos && wordAt(all[i]) == trimmed(all[i].substr(0, equals));
      if (named ? wordAt(all[i]) != parameter : i != place) continue;
      given = named ? trimmed(all[i].substr(equals + 1)) : all[i];
      if (wordAt(given) == given && !given.empty() && !isDigit(given[0]))
        if (const std::string_view first = givenTo(given, text); !first.empty()) given = first;
    }
    found.push_back(given);
  }
  return found;
}
}  // namespace

Kind kindOfParameter(const PythonClass& c, std::string_view text, std::string_view parameter) {
  const std::string_view otherwise = defaultOf(c, parameter);
  if (!otherwise.empty() && !isInteger(otherwise)) return otherwise == "None" ? Kind::Unknown : kindOfText(otherwise);
  for (const std::string_view value : passed(c, text, parameter))
    if (const Kind kind = value.empty() ? Kind::Size : kindOfText(value); kind != Kind::Size) return kind;
  return Kind::Size;
}

bool isNumberParameter(const PythonClass& c, std::string_view text, std::string_view parameter) {
  const std::vector<std::string_view> all = passed(c, text, parameter);
  return !all.empty() && std::ranges::all_of(all, isNumeral);
}

bool isLeftOutOrNumber(const PythonClass& c, std::string_view text, std::string_view parameter) {
  return std::ranges::all_of(passed(c, text, parameter), [](std::string_view value) {
    return value == "None" || (isNumeral(value) && value.find_first_of("123456789") != value.npos);
  });
}

Kind kindOfValue(const PythonClass& c, std::string_view text, std::string_view value) {
  if (wordAt(value) == value && !value.empty() && !isDigit(value[0]) && value != "True" && value != "False")
    return value == "None" ? Kind::Unknown : kindOfParameter(c, text, value);
  if (isOption(value)) return Kind::Option;
  if (isFunctionOfLibrary(value)) return Kind::Layer;
  const size_t bracket = value.find('(');
  const bool calls = bracket != value.npos && bracket > 0 && isWordPart(value[bracket - 1]);
  if (calls) {
    if (mentions(value, "math") || isDigit(value[0])) return Kind::Option;
    return isTensor(value) ? Kind::Tensor : Kind::Layer;
  }
  const auto fits = [](char ch) {
    return isWordPart(ch) || std::string_view(" .+-*/()").find(ch) != std::string_view::npos;
  };
  if (!std::ranges::all_of(value, fits)) return value.ends_with(')') ? Kind::Layer : Kind::Unknown;
  // `dim // 2` is a size, `dim ** -0.5` and `1 / dim` are numbers.
  std::string whole(value);
  for (size_t at = whole.find("//"); at != whole.npos; at = whole.find("//")) whole.replace(at, 2, "+");
  bool number = whole.find('/') != whole.npos || whole.find("**") != whole.npos || whole.find('.') != whole.npos;
  for (size_t at = 0; at < value.size() && !number; ++at) {
    const std::string_view word = wordAt(value.substr(at));
    number = !word.empty() && !isDigit(word[0]) && kindOfParameter(c, text, word) == Kind::Option;
    at += word.size();
  }
  return number ? Kind::Option : Kind::Size;
}

namespace {
/// Whether the parameters of networks are given to optimisers alone, and what they are is never changed.
bool onlyTrains(std::string_view text) {
  constexpr std::string_view kParameters = "parameters(", kFlag = "requires_grad";
  for (size_t at = text.find(kParameters); at != text.npos; at = text.find(kParameters, at + 1)) {
    size_t begin = at;
    while (begin > 0 && (isWordPart(text[begin - 1]) || text[begin - 1] == '.')) --begin;
    const bool given = begin > 0 && begin < at && text[begin - 1] == '(' && text[at - 1] == '.';
    size_t callee = given ? begin - 1 : 0;
    while (callee > 0 && (isWordPart(text[callee - 1]) || text[callee - 1] == '.')) --callee;
    const std::string_view path = text.substr(callee, given ? begin - 1 - callee : 0);
    if (path.find("optim.") == path.npos && !path.ends_with("clip_grad_norm_")) return false;
  }
  for (size_t at = text.find(kFlag); at != text.npos; at = text.find(kFlag, at + 1))
    if (at > 0 && text[at - 1] == '.') return false;
  return true;
}
}  // namespace

std::string_view frozenPart(std::string_view value, std::string_view text) {
  constexpr std::string_view kFlag = "requires_grad";
  const size_t open = value.find('(');
  const std::string_view path = value.substr(0, open);
  if (open == value.npos || closeOf(value, open) + 1 != value.size() ||
      wordAt(path.substr(path.rfind('.') + 1)) != "Parameter")
    return "";
  const std::vector<std::string_view> all = listed(value.substr(open + 1, value.size() - open - 2));
  if (all.size() != 2) return "";
  std::string_view flag = all[1];
  if (flag.starts_with(kFlag)) flag = trimmed(flag.substr(kFlag.size()));
  if (flag.starts_with('=') || flag.starts_with(':')) flag = trimmed(flag.substr(1));
  return flag == "False" && onlyTrains(text) ? all[0] : "";
}

namespace {
/// What the call at `open` drops of: its operand and probability; nothing where it is not that of a network's training.
struct Dropout {
  std::string_view operand;
  std::string probability;
};
std::optional<Dropout> dropoutOf(const PythonClass& c, std::string_view list) {
  Dropout d{"", "0.5"};
  bool trained = false;
  size_t place = 0;
  for (const std::string_view a : listed(list)) {
    const size_t equals = a.find('=');
    const bool named = equals != a.npos && wordAt(a) == trimmed(a.substr(0, equals));
    const std::string_view name = named        ? wordAt(a)
                                  : place == 0 ? "input"
                                  : place == 1 ? "p"
                                  : place == 2 ? "training"
                                               : "";
    const std::string_view value = named ? trimmed(a.substr(equals + 1)) : a;
    place += named ? 0 : 1;
    if (name == "input") {
      d.operand = value;
    } else if (name == "p") {
      d.probability = value;
    } else if (name == "training" && value == "self.training") {
      trained = true;
    } else {
      return std::nullopt;
    }
  }
  for (const PythonClass::Field& f : c.fields)
    if (f.kind == Kind::Option) replaceWord(d.probability, "self." + f.name, f.value);
  return trained && !d.operand.empty() && !mentions(d.probability, "self") ? std::optional(d) : std::nullopt;
}

std::string layerNamed(PythonClass& c, const std::string& value) {
  std::string name = "dropout";
  const auto isTaken = [&](const std::string& n) {
    const auto is = [&](const auto& part) { return part.name == n; };
    return std::ranges::any_of(c.fields, is) || std::ranges::any_of(c.methods, is) ||
           std::ranges::any_of(c.sizes, [&](const PythonClass::Size& s) { return s.field == n; });
  };
  for (const PythonClass::Field& f : c.fields)
    if (f.value == value && f.name.starts_with(name)) return f.name;
  for (int i = 2; isTaken(name); ++i) name = "dropout" + std::to_string(i);
  c.fields.push_back({name, value});
  return name;
}
}  // namespace

void makeDropoutLayers(PythonClass& c) {
  constexpr std::string_view kCall = "dropout(";
  for (PythonClass::Method& m : c.methods) {
    for (size_t at = m.body.find(kCall); at != m.body.npos; at = m.body.find(kCall, at + 1)) {
      size_t begin = at;
      while (begin > 0 && (isWordPart(m.body[begin - 1]) || m.body[begin - 1] == '.')) --begin;
      const std::string_view path = std::string_view(m.body).substr(begin, at - begin);
      if (path != "F." && !path.ends_with("functional.")) continue;
      const size_t open = at + kCall.size() - 1, close = closeOf(m.body, open);
      const auto d = dropoutOf(c, std::string_view(m.body).substr(open + 1, close - open - 1));
      if (!d || close == m.body.size()) continue;
      const std::string operand(d->operand), layer = layerNamed(c, "nn.Dropout(" + d->probability + ")");
      m.body.replace(begin, close + 1 - begin, "self." + layer + "(" + operand + ")");
      at = begin;
    }
  }
}

}  // namespace tenc::syntax
