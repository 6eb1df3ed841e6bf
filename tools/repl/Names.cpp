#include "tools/repl/Names.h"

#include <algorithm>
#include <cctype>

#include "frontend/StdModules.h"
#include "support/Diagnostics.h"
#include "support/Quote.h"
#include "tools/repl/Words.h"

namespace tenc::repl {

using Kind = ast::Stmt::Kind;
using ValueKind = frontend::KeptValue::Kind;

namespace {

constexpr const char* kTensorMembers[] = {"shape", "ndim", "size", "dtype", "device", "T", "to"};

std::vector<std::string> splitAtDots(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1)
    parts.push_back(path.substr(begin, dot - begin));
  parts.push_back(path.substr(begin));
  return parts;
}

bool isNamed(const ast::Stmt& s) {
  return s.kind == Kind::Fn || s.kind == Kind::Struct || s.kind == Kind::Const || s.kind == Kind::TypeAlias ||
         s.kind == Kind::Param || s.kind == Kind::Device;
}

/// A field by its name, an element of a tuple by its number; null where there is none.
const frontend::KeptValue* fieldOf(const frontend::KeptValue& v, const std::string& name) {
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const bool named = v.kind == ValueKind::Struct && v.fields[i] == name;
    if (named || (v.kind == ValueKind::Tuple && std::to_string(i) == name)) return &v.elems[i];
  }
  return nullptr;
}

/// A declaration up to its body: `fn relu(x: f32[...S]) -> f32[...S]`.
std::string heading(std::string_view text, const ast::Stmt& s) {
  if (s.kind == Kind::Struct) return std::string(text);
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool body = depth == 0 && (c == '{' || (c == '=' && s.kind == Kind::Fn));
    if (!body && c != '\n') continue;
    if (c == '\n' && depth > 0) continue;
    text = text.substr(0, i);
    break;
  }
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

const frontend::KeptValue* Names::valueAt(const std::string& path) const {
  const std::vector<std::string> parts = splitAtDots(path);
  const frontend::KeptValue* value = state_.value(parts[0]);
  for (size_t i = 1; i < parts.size() && value; ++i) value = fieldOf(*value, parts[i]);
  return value;
}

std::vector<std::string> Names::moduleNames(const std::string& name) {
  std::vector<std::string> found;
  const ast::File* file = module(name);
  for (size_t i = 0; file && i < file->statements.size(); ++i) {
    const ast::Stmt& s = *file->statements[i];
    if (isNamed(s) && s.name.text != "call") found.push_back(s.name.text);
    if (s.kind == Kind::Import)
      for (const ast::Name& n : s.names) found.push_back(n.text);
  }
  return found;
}

bool Names::isNumeric(const std::string& path) const {
  const frontend::KeptValue* value = valueAt(path);
  return value && (value->kind == ValueKind::Tensor || value->kind == ValueKind::Int ||
                   value->kind == ValueKind::Float || value->kind == ValueKind::Bool);
}

std::vector<std::string> Names::functionsOf(const std::string& path) const {
  std::vector<std::string> found;
  const frontend::KeptValue* value = valueAt(path);
  if (!value) return found;
  const std::string kind = value->kind == ValueKind::Struct ? value->text : "";
  for (const auto& s : state_.declarations()) {
    const bool takes = s->kind == Kind::Fn && !s->params.empty() && receiverOf(*s) == kind;
    if (takes && (value->kind == ValueKind::Struct || isNumeric(path))) found.push_back(s->name.text);
  }
  return found;
}

std::vector<std::string> Names::members(const std::string& path) {
  std::vector<std::string> found;
  const frontend::KeptValue* value = valueAt(path);
  if (!value) return state_.imports(path) ? moduleNames(path) : found;
  switch (value->kind) {
    case ValueKind::Tensor:
    case ValueKind::Int:
    case ValueKind::Float:
    case ValueKind::Bool: found.assign(std::begin(kTensorMembers), std::end(kTensorMembers)); break;
    case ValueKind::Struct:
      found = value->fields;
      found.emplace_back("to");
      break;
    default: break;
  }
  return found;
}

std::string Names::source(const std::string& name) const {
  std::string text;
  for (const auto& s : state_.declarations()) {
    if (!isNamed(*s) || s->name.text != name) continue;
    for (const std::string_view line : linesOf(s->doc)) text += "##" + std::string(line) + "\n";
    text += excerpt(sources_, s->span) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string Names::overview(const std::string& name) {
  const ast::File* file = module(name);
  if (!file) return "";
  std::string text;
  for (const auto& s : file->statements) {
    if ((s->kind != Kind::Fn && s->kind != Kind::Struct && s->kind != Kind::Const) || s->name.text == "call") continue;
    if (s->doc.empty()) continue;  // a helper
    const std::string_view first = trimmed(linesOf(s->doc).front());
    text += name + "." + s->name.text + "\n    " + std::string(first.substr(0, first.find(". "))) + "\n";
  }
  return text;
}

std::string Names::documentation(const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string in = dot == std::string::npos ? "" : path.substr(0, dot);
  std::string text;
  for (const ast::Stmt* s : declarations(in, path.substr(dot == std::string::npos ? 0 : dot + 1))) {
    text += heading(excerpt(sources_, s->span), *s) + "\n";
    for (const std::string_view line : linesOf(s->doc)) text += "    " + std::string(trimmed(line)) + "\n";
  }
  return text;
}

std::vector<const ast::Stmt*> Names::declarations(const std::string& in, const std::string& name) {
  std::vector<const ast::Stmt*> found;
  if (name.empty()) return found;
  if (in.empty()) {
    for (const auto& s : state_.declarations())
      if (isNamed(*s) && s->name.text == name) found.push_back(s.get());
    return found;
  }
  const ast::File* file = module(in);
  if (!file) return found;
  for (const auto& s : file->statements) {
    if (isNamed(*s) && s->name.text == name) found.push_back(s.get());
    if (s->kind != Kind::Import) continue;
    for (const ast::Name& n : s->names) {
      if (n.text == name && s->path.back().text != in) return declarations(s->path.back().text, name);
    }
  }
  return found;
}

const ast::File* Names::module(const std::string& name) {
  const auto known = modules_.find(name);
  if (known != modules_.end()) return known->second.get();
  const std::string ending = name + ".tl";
  std::optional<uint32_t> source;
  for (uint32_t i = 0; i < sources_.size() && !source; ++i) {
    const std::string_view path = sources_.file(i).name();
    if (path == ending || path.ends_with("/" + ending)) source = i;
  }
  if (!source) {
    if (const auto text = frontend::stdModule(name)) source = sources_.add("std/" + ending, std::string(*text));
  }
  Diagnostics ignored;
  auto& file = modules_[name];
  if (source) file = syntax::parse(sources_, *source, ignored);
  return file.get();
}

}  // namespace tenc::repl
