#include "tools/tenc/ModuleDocs.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "frontend/StdModules.h"
#include "support/Diagnostics.h"
#include "support/Quote.h"
#include "syntax/Parse.h"

namespace tenc::tool {

using Kind = ast::Stmt::Kind;

namespace {

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

std::string_view withoutBlanks(std::string_view s) {
  const size_t first = s.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : s.substr(first, s.find_last_not_of(" \t\r") + 1 - first);
}

}  // namespace

bool declaresName(const ast::Stmt& s) {
  return s.kind == Kind::Fn || s.kind == Kind::Struct || s.kind == Kind::Const || s.kind == Kind::TypeAlias ||
         s.kind == Kind::Param || s.kind == Kind::Device;
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

std::vector<std::string> ModuleDocs::names(const std::string& name) {
  std::vector<std::string> found;
  const ast::File* file = module(name);
  // Helpers of the library are for the library.
  std::set<std::string> shown;
  const bool isLibrary = file && sources_.file(file->source).isLibrary;
  if (isLibrary)
    for (const ast::Stmt* s : described(*file)) shown.insert(s->name.text);
  for (size_t i = 0; file && i < file->statements.size(); ++i) {
    const ast::Stmt& s = *file->statements[i];
    const bool isShown = declaresName(s) && s.name.text != "call" && (!isLibrary || shown.contains(s.name.text));
    if (isShown) found.push_back(s.name.text);
    if (s.kind == Kind::Import)
      for (const ast::Name& n : s.names) found.push_back(n.text);
  }
  return found;
}

namespace {
/// The first sentence of a doc comment, over its lines. A full stop ends it before a capital, not in "et al. (2018)".
std::string firstSentence(std::string_view doc) {
  std::string text;
  for (const std::string_view line : linesOf(doc)) text += (text.empty() ? "" : " ") + std::string(withoutBlanks(line));
  for (size_t stop = text.find(". "); stop != std::string::npos; stop = text.find(". ", stop + 1)) {
    if (std::isupper(static_cast<unsigned char>(text[stop + 2])) != 0) return text.substr(0, stop + 1);
  }
  return text;
}
}  // namespace

std::vector<const ast::Stmt*> ModuleDocs::described(const ast::File& file) const {
  std::vector<const ast::Stmt*> found;
  for (const auto& s : file.statements) {
    if ((s->kind != Kind::Fn && s->kind != Kind::Struct && s->kind != Kind::Const) || s->name.text == "call") continue;
    const auto line = [&](uint32_t offset) { return sources_.file(s->span.file).position(offset).line; };
    const ast::Stmt* before = found.empty() ? nullptr : found.back();
    const bool continues = before && before->kind == s->kind && line(s->span.begin) == line(before->span.end) + 1;
    if (!s->doc.empty() || continues) found.push_back(s.get());
  }
  return found;
}

std::string ModuleDocs::overview(const std::string& name) {
  const ast::File* file = module(name);
  if (!file) return "";
  struct Entry {
    std::string names, doc;
  };
  std::vector<Entry> entries;
  std::set<std::string> shown;
  for (const ast::Stmt* s : described(*file)) {
    if (!shown.insert(s->name.text).second) continue;  // an overload
    if (s->doc.empty())
      entries.back().names += ", " + s->name.text;
    else
      entries.push_back({name + "." + s->name.text, firstSentence(s->doc)});
  }
  for (const auto& s : file->statements) {
    if (s->kind != Kind::Import || s->names.empty()) continue;
    std::string names;
    for (const ast::Name& n : s->names) names += (names.empty() ? "" : ", ") + n.text;
    entries.push_back({name + "." + names, "Of the module `" + s->path.back().text + "`."});
  }
  std::string text;
  for (const Entry& e : entries) text += e.names + "\n    " + e.doc + "\n";
  return text;
}

std::string ModuleDocs::documentation(const std::vector<const ast::Stmt*>& declarations) const {
  std::string text;
  for (const ast::Stmt* s : declarations) {
    text += heading(excerpt(sources_, s->span), *s) + "\n";
    for (const std::string_view line : linesOf(s->doc)) text += "    " + std::string(withoutBlanks(line)) + "\n";
  }
  return text;
}

std::string ModuleDocs::documentation(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot + 1 == path.size()) return "";
  return documentation(declarations(path.substr(0, dot), path.substr(dot + 1)));
}

std::vector<const ast::Stmt*> ModuleDocs::declarations(const std::string& in, const std::string& name) {
  std::vector<const ast::Stmt*> found;
  const ast::File* file = module(in);
  if (!file) return found;
  for (const auto& s : file->statements) {
    if (declaresName(*s) && s->name.text == name) found.push_back(s.get());
    if (s->kind != Kind::Import) continue;
    for (const ast::Name& n : s->names) {
      if (n.text == name && s->path.back().text != in) return declarations(s->path.back().text, name);
    }
  }
  return found;
}

const ast::File* ModuleDocs::module(const std::string& name) {
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

}  // namespace tenc::tool
