// How a built-in is called, read off the text of its row while the compiler itself is built: a malformed text does not
// compile, and nothing is parsed when a script runs.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

struct Parameter {
  /// What a parameter takes. All but `Any`, `Tensors` (several in a list or tuple) and `Device` must be known at
  /// compile time.
  enum class Kind : uint8_t { Any, Tensors, Int, Ints, Shape, Number, Bool, Text, DType, Device };
  std::string_view name;
  std::string_view otherwise;  ///< the default as written; another parameter's name stands for its argument
  std::string_view kindText;   ///< the kind as written, "" where the default tells it
  Kind kind = Kind::Any;
  bool optional = false;
  bool namedOnly = false;
  /// Whether it takes integers that must be known at compile time: sizes, counts, axes, windows. An integer parameter
  /// of a user's function that is handed on to such a one is a dim of that function.
  constexpr bool isSize() const {
    return kind == Kind::Int || kind == Kind::Ints || kind == Kind::Shape || kind == Kind::Number;
  }
};

/// "sum(x; axis: ints?, keep: false)". A parameter is `name`, `name: kind`, `name: default` or `name: kind = default`;
/// kinds are int, ints, shape, number, bool, str, dtype, device, tensors and any (the kind of what says nothing else).
/// `?` behind the name or the kind says that it may be left out, as a default does; those behind `;` are given by name
/// only, and `...` takes any number of further arguments. A default is a number, a string, true, false, a dtype, a
/// tuple of integers, or the name of another parameter.
class Signature {
 public:
  static constexpr size_t kMost = 8;

  // A literal is a signature wherever one is wanted.
  consteval Signature(const char* text) : Signature(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  explicit consteval Signature(std::string_view text);

  constexpr std::string_view name() const { return name_; }
  constexpr std::span<const Parameter> parameters() const { return {parameters_.data(), count_}; }
  constexpr bool variadic() const { return variadic_; }
  /// Null for a name that no parameter has.
  constexpr const Parameter* find(std::string_view name) const {
    for (const Parameter& p : parameters()) {
      if (p.name == name) return &p;
    }
    return nullptr;
  }
  /// The one that a positional argument is for; null behind the last.
  constexpr const Parameter* positional(size_t place) const {
    return place < count_ && !parameters_[place].namedOnly ? &parameters_[place] : nullptr;
  }
  /// As shown to users: kinds only where options have no default.
  std::string text() const;

 private:
  consteval void add(std::string_view piece, bool namedOnly);

  std::string_view name_;
  std::array<Parameter, kMost> parameters_{};
  size_t count_ = 0;
  size_t variadicAt_ = 0;  ///< how many parameters stand before `...`
  bool variadic_ = false;
};

/// The value of a written default that is a literal; nothing for the name of another parameter or for none.
std::optional<Val> defaultValue(const Parameter& p, Span span);
/// Of a dtype that is called: `f32(x)`.
const Signature& castSignature(ir::DType t);

// ---- read while this compiler is compiled

namespace signature {
constexpr std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

struct KindName {
  std::string_view name;
  Parameter::Kind kind;
};
inline constexpr KindName kKinds[] = {
    {"any", Parameter::Kind::Any},         {"int", Parameter::Kind::Int},       {"ints", Parameter::Kind::Ints},
    {"shape", Parameter::Kind::Shape},     {"bool", Parameter::Kind::Bool},     {"str", Parameter::Kind::Text},
    {"dtype", Parameter::Kind::DType},     {"number", Parameter::Kind::Number}, {"device", Parameter::Kind::Device},
    {"tensors", Parameter::Kind::Tensors},
};
constexpr const KindName* kindNamed(std::string_view s) {
  for (const KindName& k : kKinds) {
    if (k.name == s) return &k;
  }
  return nullptr;
}

/// What a default without a kind says about its parameter.
consteval Parameter::Kind kindOf(std::string_view literal) {
  using Kind = Parameter::Kind;
  if (literal == "true" || literal == "false") return Kind::Bool;
  if (literal.front() == '"') return Kind::Text;
  if (literal.front() == '(') return Kind::Ints;
  if (literal.front() == '-' || (literal.front() >= '0' && literal.front() <= '9'))
    return literal.find_first_of(".e") == std::string_view::npos ? Kind::Int : Kind::Number;
  for (const std::string_view dtype : {"bool", "i64", "f32", "f64"}) {
    if (literal == dtype) return Kind::DType;
  }
  throw "a default that is no literal needs a kind: `stride: ints = window`";
}
}  // namespace signature

consteval void Signature::add(std::string_view piece, bool namedOnly) {
  piece = signature::trimmed(piece);
  if (piece.empty()) return;
  if (piece == "...") {
    variadic_ = true;
    variadicAt_ = count_;
    return;
  }
  if (count_ == kMost) throw "a signature has too many parameters";
  Parameter& p = parameters_[count_++];
  p.namedOnly = namedOnly;
  const size_t colon = piece.find(':');
  p.name = signature::trimmed(piece.substr(0, colon));
  if (p.name.back() == '?') {
    p.optional = true;
    p.name.remove_suffix(1);
  }
  if (colon == std::string_view::npos) return;
  std::string_view rest = signature::trimmed(piece.substr(colon + 1));
  if (rest.empty()) return;
  const size_t equals = rest.find(" = ");
  std::string_view kind = signature::trimmed(rest.substr(0, equals));
  if (equals != std::string_view::npos) p.otherwise = signature::trimmed(rest.substr(equals + 3));
  if (kind.back() == '?') {
    p.optional = true;
    kind.remove_suffix(1);
  }
  if (const signature::KindName* known = signature::kindNamed(kind); known && (p.optional || kind != "bool")) {
    p.kind = known->kind;
    p.kindText = kind;
  } else if (equals == std::string_view::npos) {
    p.otherwise = rest;
    p.kind = signature::kindOf(rest);
  } else {
    throw "no such kind of parameter";
  }
  p.optional = p.optional || !p.otherwise.empty();
}

consteval Signature::Signature(std::string_view text) {
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close != text.size() - 1) throw "a signature is `name(parameters)`";
  name_ = text.substr(0, open);
  const std::string_view list = text.substr(open + 1, close - open - 1);
  bool namedOnly = false, quoted = false;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '"') quoted = !quoted;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (quoted || depth != 0 || (c != ',' && c != ';')) continue;
    add(list.substr(begin, i - begin), namedOnly);
    begin = i + 1;
    namedOnly = namedOnly || c == ';';
  }
}

}  // namespace tenc::frontend
