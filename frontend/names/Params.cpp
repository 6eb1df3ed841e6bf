// Params: given on the command line, or their defaults.
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Constants.h"
#include "frontend/types/Types.h"
#include "frontend/values/Numbers.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

/// The text without the `_` between its digits; nothing where one stands elsewhere, or a blank.
std::optional<std::string> withoutSeparators(std::string_view text) {
  const auto digit = [&](size_t i) { return i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])); };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) return std::nullopt;
    if (text[i] != '_')
      out += text[i];
    else if (i == 0 || !digit(i - 1) || !digit(i + 1))
      return std::nullopt;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<Val> parseParam(const std::string& text, const std::string& type, Span span) {
  char* end = nullptr;
  if (type == "str") return Val::ofString(text, span);
  if (type == "bool") {
    if (text == "true" || text == "false") return Val::ofBool(text == "true", span);
    return std::nullopt;
  }
  const std::optional<std::string> digits = withoutSeparators(text);
  if (!digits) return std::nullopt;
  errno = 0;
  if (type == "i64") {
    const std::string_view value = std::string_view(*digits).substr(digits->find_first_not_of("+-") == 1 ? 1 : 0);
    const bool hex = value.starts_with("0x") || value.starts_with("0X");
    const long long v = std::strtoll(digits->c_str(), &end, hex ? 16 : 10);
    if (*end || errno) return std::nullopt;
    return Val::ofInt(v, span);
  }
  const double v = std::strtod(digits->c_str(), &end);
  if (*end) return std::nullopt;
  return Val::ofFloat(v, span);
}
}  // namespace

void Constants::takeOptions(const ast::File& script) {
  for (const ast::StmtPtr& s : script.statements)
    if (s && s->kind == ast::Stmt::Kind::Param) ofScript_.insert(s.get());
}

Val Constants::paramOf(const ast::Stmt& decl) {
  const std::string& name = decl.name.text;
  auto& cache = params_;
  if (auto it = cache.find(&decl); it != cache.end()) {
    if (!it->second.is(Val::Kind::None)) return it->second;
    const ast::Stmt& inner = *evaluating_.back();
    return context_.fail(Code::E0109, inner.value->span,
                         "the default of the param `" + inner.name.text + "` depends on itself");
  }
  cache[&decl] = {};
  const bool plain = decl.type && decl.type->path.size() == 1 && !decl.type->hasArgs;
  const std::string type = plain ? decl.type->path[0].text : "";
  Val v;
  if (!decl.type && decl.value) {
    evaluating_.push_back(&decl);
    v = expressions_.eval(*decl.value);
    evaluating_.pop_back();
    auto d = context_.error(Code::E0504, decl.name.span, "the param `" + name + "` has no type");
    const char* known = v.is(Val::Kind::Int)      ? "i64"
                        : v.is(Val::Kind::Float)  ? "f32"
                        : v.is(Val::Kind::Bool)   ? "bool"
                        : v.is(Val::Kind::String) ? "str"
                                                  : nullptr;
    const uint32_t end = decl.name.span.end;
    if (known) d.help("say what it takes", {{Span{decl.name.span.file, end, end}, std::string(": ") + known}});
  } else if (const Span place = decl.type ? types_.placeIn(*decl.type) : Span(); place.valid()) {
    v = noPlace(decl, place);
  } else if (type != "i64" && type != "f32" && type != "f64" && type != "bool" && type != "str") {
    auto d = context_.error(Code::E0504, decl.type ? decl.type->span : decl.span,
                            std::string("a param is i64, f32, f64, bool or str") +
                                (decl.type ? ", not " + std::string(context_.sources.text(decl.type->span)) : ""));
    const syntax::Familiar* known = plain ? syntax::familiarName(type) : nullptr;
    if (known && !known->asType.empty())
      d.help(std::string(known->help), {{decl.type->span, std::string(known->asType)}});
    v = d;
  } else if (auto given = context_.options.params.find(name);
             given != context_.options.params.end() && ofScript_.contains(&decl)) {
    const std::optional<std::string>& text = given->second;
    auto parsed = text             ? parseParam(*text, type, decl.name.span)
                  : type == "bool" ? std::optional(Val::ofBool(true, decl.name.span))
                                   : std::nullopt;
    if (parsed) v = *parsed;
    if (!parsed) {
      const std::string message = text ? "the param `" + name + "` takes " + type + ", not `" + *text + "`"
                                       : "`--" + name + "` needs a value: it is " + type;
      const std::string option = "`--" + name;
      v = context_.error(Code::E0504, decl.name.span, message)
              .note("it is given as " + (type == "bool"
                                             ? option + " true`, or " + option + "` alone, or " + option + " false`"
                                         : type == "i64" ? option + " 3` or " + option + "=-3`: an integer of 64 bits"
                                         : type == "str" ? option + " text`"
                                                         : option + " 0.3` or " + option + "=-1e-3`"));
    }
  } else if (decl.value) {
    evaluating_.push_back(&decl);
    v = expressions_.eval(*decl.value);
    evaluating_.pop_back();
    const bool real = type == "f32" || type == "f64";
    if (real && v.is(Val::Kind::Int))
      v = Val::ofFloat(asFloat(v, type == "f32" ? ir::DType::F32 : ir::DType::F64), v.span);
    const bool fits = type == "i64"    ? v.is(Val::Kind::Int)
                      : real           ? v.is(Val::Kind::Float)
                      : type == "bool" ? v.is(Val::Kind::Bool)
                                       : v.is(Val::Kind::String);
    if (!fits && !v.poison()) {
      v = context_.fail(Code::E0504, decl.value->span,
                        "the param `" + name + "` is " + type + ", but its value is " + describe(v));
    }
  }
  v.adopts = v.isNumber();
  if (type == "f64") v.dtype = ir::DType::F64;
  cache[&decl] = v;
  return v;
}

}  // namespace tenc::frontend
