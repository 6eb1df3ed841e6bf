#include "tools/repl/Names.h"

#include <algorithm>
#include <cctype>

#include "support/Quote.h"

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

/// A field by its name, an element of a tuple by its number; null where there is none.
const frontend::KeptValue* fieldOf(const frontend::KeptValue& v, const std::string& name) {
  for (size_t i = 0; i < v.elems.size(); ++i) {
    const bool named = v.kind == ValueKind::Struct && v.fields[i] == name;
    if (named || (v.kind == ValueKind::Tuple && std::to_string(i) == name)) return &v.elems[i];
  }
  return nullptr;
}

}  // namespace

const frontend::KeptValue* Names::valueAt(const std::string& path) const {
  const std::vector<std::string> parts = splitAtDots(path);
  const frontend::KeptValue* value = state_.value(parts[0]);
  for (size_t i = 1; i < parts.size() && value; ++i) value = fieldOf(*value, parts[i]);
  return value;
}

std::optional<ir::DType> Names::dtypeOf(const std::string& path) const {
  const frontend::KeptValue* value = valueAt(path);
  if (!value) return std::nullopt;
  switch (value->kind) {
    case ValueKind::Tensor: return state_.dtypeOf(splitAtDots(path)[0], *value);
    case ValueKind::Int:
    case ValueKind::Float: return value->dtype;
    case ValueKind::Bool: return ir::DType::Bool;
    default: return std::nullopt;
  }
}

std::vector<std::string> Names::functionsOf(const std::string& path) const {
  std::vector<std::string> found;
  const frontend::KeptValue* value = valueAt(path);
  if (!value) return found;
  const std::string kind = value->kind == ValueKind::Struct ? value->text : "";
  for (const auto& s : state_.declarations()) {
    const bool takes = s->kind == Kind::Fn && !s->params.empty() && receiverOf(*s) == kind;
    if (takes && (value->kind == ValueKind::Struct || dtypeOf(path))) found.push_back(s->name.text);
  }
  return found;
}

std::vector<std::string> Names::members(const std::string& path) {
  std::vector<std::string> found;
  const frontend::KeptValue* value = valueAt(path);
  if (!value) return state_.imports(path) ? modules_.names(path) : found;
  switch (value->kind) {
    case ValueKind::Tensor:
    case ValueKind::Int:
    case ValueKind::Float:
    case ValueKind::Bool: found.assign(std::begin(kTensorMembers), std::end(kTensorMembers)); break;
    case ValueKind::Struct:
      found = value->fields;
      found.emplace_back("to");
      break;
    case ValueKind::List:
    case ValueKind::Tuple:
      for (size_t i = 0; value->kind == ValueKind::Tuple && i < value->elems.size(); ++i)
        found.push_back(std::to_string(i));
      found.insert(found.end(), {"size", "to"});
      break;
    default: break;
  }
  return found;
}

std::string Names::source(const std::string& name) const {
  std::string text;
  for (const auto& s : state_.declarations()) {
    if (!tool::declaresName(*s) || s->name.text != name) continue;
    for (const std::string_view line : tool::linesOf(s->doc)) text += "##" + std::string(line) + "\n";
    text += excerpt(sources_, s->span) + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string Names::documentation(const std::string& path) {
  if (path.find('.') != std::string::npos) return modules_.documentation(path);
  std::vector<const ast::Stmt*> found;
  for (const auto& s : state_.declarations())
    if (tool::declaresName(*s) && s->name.text == path) found.push_back(s.get());
  return modules_.documentation(found);
}

}  // namespace tenc::repl
