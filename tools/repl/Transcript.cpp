#include "tools/repl/Transcript.h"

#include <algorithm>
#include <utility>

#include "frontend/names/Scan.h"
#include "support/Quote.h"
#include "syntax/Tokens.h"
#include "tools/repl/KeptState.h"

namespace tenc::repl {

namespace {

using Kind = syntax::TextToken::Kind;

std::set<std::string> namesIn(std::string_view text) {
  std::set<std::string> names;
  for (const syntax::TextToken& t : syntax::tokens(text)) {
    if (t.kind == Kind::Name) names.emplace(text.substr(t.begin, t.end - t.begin));
  }
  return names;
}

using Renaming = std::map<std::string, std::string>;

std::string renamed(std::string_view text, const Renaming& names) {
  std::string out;
  size_t at = 0;
  for (const syntax::TextToken& t : syntax::tokens(text)) {
    const auto found =
        t.kind == Kind::Name ? names.find(std::string(text.substr(t.begin, t.end - t.begin))) : names.end();
    if (found == names.end()) continue;
    out.append(text.substr(at, t.begin - at)).append(found->second);
    at = t.end;
  }
  return out.append(text.substr(at));
}

bool isBlank(std::string_view text) { return text.find_first_not_of(" \t\n;") == std::string_view::npos; }

}  // namespace

void Transcript::add(const SourceManager& sources, const ast::File& entry, Last last) {
  Entry e;
  e.text = std::string(sources.file(entry.source).text());
  e.kind = entry.statements.empty() ? Last::Statement : last;
  if (e.kind != Last::Statement) e.last = {entry.statements.back()->span.begin, entry.statements.back()->span.end};
  frontend::TreeVisitor visitor;
  visitor.onExpression = [&e](const ast::Expr& x) {
    if (x.kind == ast::Expr::Kind::Name && x.text == "_") e.uses.push_back({x.span.begin, x.span.end});
    return true;
  };
  for (const auto& s : entry.statements) {
    visitor.visit(*s);
    if (const std::string key = declarationKey(*s); !key.empty())
      e.declared.push_back({key, s->name.text, excerpt(sources, s->span), {s->span.begin, s->span.end}});
  }
  for (auto before = entries_.rbegin(); !e.uses.empty() && before != entries_.rend(); ++before) {
    if (before->kind != Last::Shown) continue;
    before->named = true;
    break;
  }
  names_.merge(namesIn(e.text));
  entries_.push_back(std::move(e));
}

/// Writes the entries one after the other.
class Transcript::Writer {
 public:
  Writer(const std::vector<Entry>& entries, std::set<std::string> names) : names_(std::move(names)) {
    for (const Entry& e : entries)
      for (const Declared& d : e.declared) latest_[d.key] = &d;
  }

  void write(const Entry& e) {
    for (const Declared& d : e.declared) now_[d.key] = &d;
    const std::string text = withoutOld(e);
    const std::string statements = withoutDeclarations(e);
    const Renaming old = isBlank(statements) ? Renaming() : oldNames(namesIn(statements));
    std::string out = old.empty() ? text : renamed(text, old);
    while (!out.empty() && out.back() == '\n') out.pop_back();
    if (!isBlank(out)) script_ += out + "\n";
  }

  std::string take() { return std::move(script_); }

 private:
  struct Edit {
    size_t begin, end;
    std::string text;
  };

  static std::string edited(std::string text, std::vector<Edit> edits) {
    std::ranges::stable_sort(edits, {}, [](const Edit& e) { return std::pair(e.begin, e.end); });
    for (auto e = edits.rbegin(); e != edits.rend(); ++e) text.replace(e->begin, e->end - e->begin, e->text);
    return text;
  }

  /// The entry with what its last value and `_` become, and without the declarations that a later one replaced.
  std::string withoutOld(const Entry& e) {
    std::vector<Edit> edits;
    for (const Range& use : e.uses) edits.push_back({use.begin, use.end, shown_});
    if (e.kind == Last::Shown && e.named) {
      shown_ = unused("value");
      edits.push_back({e.last.begin, e.last.begin, "let " + shown_ + " = "});
      edits.push_back({e.last.end, e.last.end, "; print(" + shown_ + ")"});
    } else if (e.kind == Last::Shown) {
      edits.push_back({e.last.begin, e.last.begin, "print("});
      edits.push_back({e.last.end, e.last.end, ")"});
    } else if (e.kind == Last::Described) {
      std::erase_if(edits, [&](const Edit& edit) { return edit.begin >= e.last.begin && edit.end <= e.last.end; });
      edits.push_back({e.last.begin, e.last.end, ""});
    }
    for (const Declared& d : e.declared)
      if (latest_[d.key] != &d) edits.push_back({d.at.begin, d.at.end, ""});
    return edited(e.text, std::move(edits));
  }

  static std::string withoutDeclarations(const Entry& e) {
    std::vector<Edit> edits;
    for (const Declared& d : e.declared) edits.push_back({d.at.begin, d.at.end, ""});
    return edited(e.text, std::move(edits));
  }

  std::string unused(const std::string& name) {
    int number = 1;
    while (!names_.insert(name + "_" + std::to_string(number)).second) ++number;
    return name + "_" + std::to_string(number);
  }

  /// New names for what the script declares otherwise in the end than the entry found it; writes their declarations.
  Renaming oldNames(const std::set<std::string>& used) {
    Renaming names;
    std::set<std::string> seen;
    for (const std::string& name : used) collect(name, seen, names);
    for (const auto& [name, newName] : names) {
      if (!written_.insert(newName).second) continue;
      for (const auto& [key, d] : now_)
        if (d->name == name) script_ += renamed(d->text, names) + "\n";
    }
    return names;
  }

  void collect(const std::string& name, std::set<std::string>& seen, Renaming& names) {
    if (!seen.insert(name).second) return;
    std::set<std::string> reached;
    if (!isOld(name, reached)) {
      for (const std::string& n : reached) collect(n, seen, names);
      return;
    }
    // What it means is told by all that it reaches.
    std::string meaning = name;
    for (const std::string& n : reached)
      for (const auto& [key, d] : now_)
        if (d->name == n) meaning += "\n" + d->text;
    auto& known = copies_[meaning];
    if (known.empty()) known = unused(name);
    names[name] = known;
    for (const std::string& n : reached) collect(n, seen, names);
  }

  /// Whether it, or something that it reaches, was declared anew later.
  bool isOld(const std::string& name, std::set<std::string>& reached) {
    if (!reached.insert(name).second) return false;
    bool old = false;
    for (const auto& [key, d] : now_) {
      if (d->name != name || d->name.empty()) continue;
      old |= latest_[key]->text != d->text;
      for (const std::string& n : namesIn(d->text)) old |= isOld(n, reached);
    }
    return old;
  }

  std::string script_;
  std::string shown_ = "_";                    ///< the name of the value that was shown last
  std::set<std::string> names_;                ///< taken
  std::map<std::string, std::string> copies_;  ///< names of declarations that were replaced, by what they mean
  std::set<std::string> written_;
  Environment latest_, now_;
};

std::string Transcript::script() const {
  Writer writer(entries_, names_);
  for (const Entry& e : entries_) writer.write(e);
  return writer.take();
}

}  // namespace tenc::repl
