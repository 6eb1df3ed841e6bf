#include "tools/repl/KeptState.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "support/Diagnostics.h"

namespace tenc::repl {

using Kind = ast::Stmt::Kind;

namespace {

bool isDeclaration(const ast::Stmt& s) {
  switch (s.kind) {
    case Kind::Import:
    case Kind::Const:
    case Kind::Param:
    case Kind::Device:
    case Kind::TypeAlias:
    case Kind::Struct:
    case Kind::Fn: return true;
    default: return false;
  }
}

/// The head of a function's first parameter, by which overloads differ.
std::string overloadHead(const ast::Stmt& s) {
  if (s.kind != Kind::Fn || s.params.empty() || !s.params[0].type) return "";
  const ast::TypeExpr& t = *s.params[0].type;
  if (t.kind == ast::TypeExpr::Kind::Tuple) return "(";
  // dtypes and dtype variables are one head: a tensor.
  if (t.path.empty() || t.path.back().text.empty()) return "";
  const std::string& name = t.path.back().text;
  for (const ast::Generic& g : s.generics) {
    if (g.name.text == name) return "";
  }
  return ir::dtypeNamed(name) ? "" : name;
}

/// Replaces each `$k` by what `part` gives for k.
template <class F>
std::string substitute(const std::string& text, F part) {
  std::string out;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') inString = !inString;
    if (c != '$' || inString) {
      out += c;
      continue;
    }
    size_t k = 0;
    while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]))) {
      k = k * 10 + static_cast<size_t>(text[++i] - '0');
    }
    out += part(k);
  }
  return out;
}

}  // namespace

std::string declarationKey(const ast::Stmt& s) {
  if (!isDeclaration(s)) return "";
  if (s.kind != Kind::Import) return s.name.text + "(" + overloadHead(s);
  std::string key = "import";
  for (const auto* names : {&s.path, &s.names}) {
    key += ' ';
    for (const ast::Name& n : *names) key += n.text + ".";
  }
  return key;
}

KeptState::Script::Script(KeptState& state, SourceManager& sources, ast::File& entry) {
  file_.source = entry.source;
  auto borrow = [&](ast::StmtPtr& s) {
    origins_.push_back(&s);
    file_.statements.push_back(std::move(s));
  };
  // A declaration of the entry stands in for the kept one of its name.
  std::set<std::pair<std::string, std::string>> redeclared;
  for (const auto& s : entry.statements) {
    if (isDeclaration(*s)) redeclared.insert({s->name.text, overloadHead(*s)});
  }
  for (auto& s : state.declarations_) {
    if (s->kind == Kind::Import || !redeclared.count({s->name.text, overloadHead(*s)})) borrow(s);
  }
  std::string text;
  size_t input = 0;
  for (const Value& v : state.values_) {
    if (v.statement) continue;
    text += std::string(v.isVar ? "var " : "let ") + v.name + (v.type.empty() ? "" : ": " + v.type) + " = ";
    text += substitute(v.text, [&](size_t k) { return "__kept" + std::to_string(input + k); }) + "\n";
    input += v.tensors.size();
  }
  if (!text.empty()) {
    prelude_ = sources.add("<earlier entries>", text);
    Diagnostics ignored;  // the text is ours; a value whose type is gone fails when it is lowered
    auto prelude = syntax::parse(sources, prelude_, ignored);
    size_t next = 0;
    for (Value& v : state.values_) {
      if (v.statement) {
        borrow(v.statement);
      } else if (prelude && next < prelude->statements.size()) {
        origins_.push_back(nullptr);
        file_.statements.push_back(std::move(prelude->statements[next++]));
      }
    }
  } else {
    for (Value& v : state.values_) borrow(v.statement);
  }
  for (auto& s : entry.statements) borrow(s);
}

KeptState::Script::~Script() {
  for (size_t i = 0; i < origins_.size(); ++i) {
    if (origins_[i]) *origins_[i] = std::move(file_.statements[i]);
  }
}

std::vector<frontend::SessionInput> KeptState::inputs() const {
  std::vector<frontend::SessionInput> list;
  for (const Value& v : values_) {
    for (const KeptTensor& t : v.tensors) list.push_back(t.type);
  }
  return list;
}

std::vector<const void*> KeptState::inputData() const {
  std::vector<const void*> list;
  for (const Value& v : values_) {
    for (const KeptTensor& t : v.tensors) list.push_back(t.data.data());
  }
  return list;
}

void KeptState::commit(ast::File entry, const std::vector<frontend::Lowered::Kept>& kept,
                       std::vector<KeptTensor> results) {
  std::map<std::string, ast::StmtPtr*> bindings;  // the last statement of the entry that binds the name alone
  for (auto& s : entry.statements) {
    if ((s->kind == Kind::Let || s->kind == Kind::Var) && !s->pattern.isTuple) bindings[s->pattern.name.text] = &s;
  }
  for (const auto& k : kept) {
    if (k.name.empty() || k.name == "_") continue;
    Value v;
    v.name = k.name;
    v.isVar = k.isVar;
    v.described = k.type;
    if (k.text.empty()) {
      const auto statement = bindings.find(k.name);
      dropValue(k.name);
      if (statement == bindings.end() || !*statement->second) continue;
      v.statement = std::move(*statement->second);
    } else {
      if (k.text.starts_with("[")) v.type = k.type;
      // A result that two names share is copied to each.
      std::map<size_t, size_t> numbers;
      v.text = substitute(k.text, [&](size_t r) {
        const auto [at, isNew] = numbers.emplace(r, v.tensors.size());
        if (isNew && r < results.size()) {
          v.tensors.push_back(results[r]);
          v.tensors.back().type.name = k.name;
        }
        return "$" + std::to_string(at->second);
      });
      dropValue(k.name);
    }
    values_.push_back(std::move(v));
  }
  for (auto& s : entry.statements) {
    if (s && isDeclaration(*s)) replaceDeclaration(std::move(s));
  }
}

void KeptState::replaceDeclaration(ast::StmtPtr statement) {
  const std::string key = declarationKey(*statement);
  std::erase_if(declarations_, [&](const ast::StmtPtr& s) { return declarationKey(*s) == key; });
  if (!statement->name.text.empty()) dropValue(statement->name.text);
  declarations_.push_back(std::move(statement));
}

void KeptState::dropValue(const std::string& name) {
  std::erase_if(values_, [&](const Value& v) { return v.name == name; });
}

std::vector<std::string> KeptState::dropBroken(const Diagnostics& diags, const SourceManager& sources,
                                               uint32_t prelude) {
  std::vector<std::string> broken;
  if (prelude == Span::kNone) return broken;
  std::vector<std::string> written;  // names in the order of the prelude's lines
  for (const Value& v : values_) {
    if (!v.statement) written.push_back(v.name);
  }
  for (const Diagnostic& d : diags.all()) {
    if (d.span.file != prelude || d.severity() != Severity::Error) continue;
    const uint32_t line = sources.file(prelude).position(d.span.begin).line;
    if (line > written.size() || std::count(broken.begin(), broken.end(), written[line - 1])) continue;
    broken.push_back(written[line - 1]);
  }
  for (const std::string& name : broken) dropValue(name);
  return broken;
}

std::string KeptState::typeOf(std::string_view name) const {
  for (const Value& v : values_) {
    if (v.name == name) return v.described;
  }
  return "";
}

bool KeptState::imports(std::string_view module) const {
  return std::any_of(declarations_.begin(), declarations_.end(), [&](const ast::StmtPtr& s) {
    return s->kind == Kind::Import && s->names.empty() && !s->path.empty() && s->path.back().text == module;
  });
}

std::vector<std::string> KeptState::names() const {
  std::vector<std::string> list;
  for (const Value& v : values_) list.push_back(v.name);
  for (const auto& s : declarations_) {
    if (!s->name.text.empty()) list.push_back(s->name.text);
    if (!s->path.empty()) list.push_back(s->path.back().text);
    for (const ast::Name& n : s->names) list.push_back(n.text);
  }
  return list;
}

}  // namespace tenc::repl
