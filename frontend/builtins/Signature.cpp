#include "frontend/builtins/Signature.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tenc::frontend {

std::string Signature::text() const {
  std::string s(name_);
  s += "(";
  bool named = false;
  const auto rest = [&](size_t place) {
    if (variadic_ && place == variadicAt_) s += s.back() == '(' ? "..." : ", ...";
  };
  for (size_t i = 0; i < count_; ++i) {
    const Parameter& p = parameters_[i];
    rest(i);
    if (s.back() != '(') s += p.namedOnly && !named ? "; " : ", ";
    named = p.namedOnly;
    s += p.name;
    const bool kind = p.namedOnly && p.otherwise.empty() && !p.kindText.empty();
    if (!p.otherwise.empty()) {
      s += ": " + std::string(p.otherwise);
    } else if (kind) {
      s += ": " + std::string(p.kindText);
    } else if (p.namedOnly && !p.optional) {
      s += ":";
    }
    if (p.optional && p.otherwise.empty()) s += "?";
  }
  rest(count_);
  return s + ")";
}

namespace {
Int integerIn(std::string_view text) {
  int64_t v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}
}  // namespace

std::optional<Val> defaultValue(const Parameter& p, Span span) {
  const std::string_view text = p.otherwise;
  if (text.empty()) return std::nullopt;
  if (text == "true" || text == "false") return Val::ofBool(text == "true", span);
  if (text.front() == '"') return Val::ofString(std::string(text.substr(1, text.size() - 2)), span);
  if (const auto dtype = ir::dtypeNamed(text)) return Val::ofDType(*dtype, span);
  if (text.front() == '(') {
    std::vector<Val> elems;
    for (size_t at = 1; at < text.size(); at = std::min(text.find(',', at), text.size() - 1) + 1) {
      elems.push_back(Val::ofInt(integerIn(signature::trimmed(text.substr(at))), span));
    }
    return Val::ofTuple(std::move(elems), span);
  }
  if (text.front() != '-' && (text.front() < '0' || text.front() > '9')) return std::nullopt;
  if (text.find_first_of(".e") == std::string_view::npos) return Val::ofInt(integerIn(text), span);
  double v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return Val::ofFloat(v, span);
}

const Signature& castSignature(ir::DType t) {
  static constexpr std::array<Signature, ir::kDTypeCount> kCasts = {"f16(x)", "bf16(x)", "f32(x)", "f64(x)", "i8(x)",
                                                                    "i16(x)", "i32(x)",  "i64(x)", "u8(x)",  "u16(x)",
                                                                    "u32(x)", "u64(x)",  "bool(x)"};
  return kCasts[static_cast<size_t>(t)];
}

}  // namespace tenc::frontend
