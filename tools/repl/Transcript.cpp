#include "tools/repl/Transcript.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "frontend/names/Scan.h"
#include "support/Quote.h"
#include "syntax/Tokens.h"
#include "tools/repl/KeptState.h"

namespace tenc::repl {

namespace {

/// All words of a text: what a new name must not be.
std::set<std::string> wordsIn(std::string_view text) {
  std::set<std::string> words;
  for (const syntax::TextToken& t : syntax::tokens(text)) {
    if (t.kind == syntax::TextToken::Kind::Name) words.emplace(text.substr(t.begin, t.end - t.begin));
  }
  return words;
}

void namesOf(const ast::Pattern& p, std::vector<const ast::Name*>& names) {
  if (!p.isTuple && !p.name.text.empty() && p.name.text != "_") names.push_back(&p.name);
  for (const ast::Pattern& e : p.elements) namesOf(e, names);
}

bool binds(const ast::Stmt& s) { return s.kind == ast::Stmt::Kind::Let || s.kind == ast::Stmt::Kind::Var; }

}  // namespace

namespace {
/// The name that the statement alone gives its value, where it may be given it once more.
std::string givenFunction(const ast::Stmt& s) {
  if (binds(s)) return s.pattern.name.text;
  const bool whole = s.kind == ast::Stmt::Kind::Assign && s.op == "=" && s.target->kind == ast::Expr::Kind::Name;
  return whole && s.value->kind == ast::Expr::Kind::Lambda ? s.target->text : "";
}
}  // namespace

void Transcript::add(const SourceManager& sources, const ast::File& script, Last last,
                     const frontend::Resolution& names, const std::set<std::string>& functions) {
  using DeclarationKind = frontend::Declaration::Kind;
  const uint32_t source = script.source;
  std::vector<const ast::Stmt*> statements;
  for (const auto& s : script.statements)
    if (s->span.file == source) statements.push_back(s.get());
  Entry e;
  e.text = std::string(sources.file(source).text());
  e.kind = statements.empty() ? Last::Statement : last;
  const auto range = [](Span s) { return Range{s.begin, s.end}; };
  if (e.kind != Last::Statement) e.last = range(statements.back()->span);

  std::vector<const ast::Name*> bound;
  for (const ast::Stmt* s : statements)
    if (binds(*s)) namesOf(s->pattern, bound);
  for (const ast::Name* n : bound) {
    e.uses.push_back({range(n->span), n->text, Use::Of::Value});
    e.bound.push_back(n->text);
  }
  const auto isBoundHere = [&](Span at) {
    return std::ranges::any_of(bound, [&](const ast::Name* n) { return n->span == at; });
  };
  const auto usesIn = [&](const ast::Stmt& s) {
    std::vector<Use> uses;
    std::set<uint32_t> places;
    for (const frontend::Use& u : names.within(s.span)) {
      const frontend::Declaration* d = u.declaration;
      if (!d || u.span.file != source || !places.insert(u.span.begin).second) continue;
      Use use{range(u.span), std::string(u.name)};
      if (d->kind == DeclarationKind::Builtin || d->kind == DeclarationKind::Language) use.of = Use::Of::BuiltIn;
      if (d->isLocal()) {
        use.of = Use::Of::Value;
        use.isEarlier = d->span.file != source;
        if (!use.isEarlier && !isBoundHere(d->span)) continue;
        if (u.assigned) e.bound.push_back(use.name);
      }
      uses.push_back(std::move(use));
    }
    return uses;
  };

  frontend::TreeVisitor visitor;
  visitor.onExpression = [&e, &range](const ast::Expr& x) {
    if (x.kind == ast::Expr::Kind::Name && x.text == "_") e.shown.push_back(range(x.span));
    return true;
  };
  for (const ast::Stmt* s : statements) {
    visitor.visit(*s);
    const std::string key = declarationKey(*s);
    if (key.empty()) {
      std::ranges::move(usesIn(*s), std::back_inserter(e.uses));
      if (const std::string name = givenFunction(*s); functions.contains(name))
        e.functions.push_back({name, range(s->span)});
      continue;
    }
    Declared d;
    d.key = key;
    d.name = s->name.text;
    d.at = range(s->span);
    d.text = excerpt(sources, s->span);
    if (s->kind != ast::Stmt::Kind::Import) {
      d.isFunction = s->kind == ast::Stmt::Kind::Fn;
      d.nameAt = range(s->name.span);
      d.uses = usesIn(*s);
      e.declared.push_back(std::move(d));
    } else if (s->names.empty()) {
      d.name = s->path.back().text;
      e.declared.push_back(std::move(d));
    } else {
      ImportedNames& imported = e.imports.emplace_back();
      imported.at = d.at;
      for (const ast::Name& n : s->path) imported.module += (imported.module.empty() ? "" : ".") + n.text;
      for (const ast::Name& n : s->names) {
        imported.declared.push_back(e.declared.size());
        d.key = d.name = n.text;
        d.module = imported.module;
        d.text = "import " + imported.module + ": " + n.text;
        e.declared.push_back(d);
      }
    }
  }
  for (auto before = entries_.rbegin(); !e.shown.empty() && before != entries_.rend(); ++before) {
    if (before->kind != Last::Shown) continue;
    before->named = true;
    break;
  }
  names_.merge(wordsIn(e.text));
  entries_.push_back(std::move(e));
}

/// What is declared at some point of the session, as in KeptState.
class Transcript::Environment {
 public:
  using Versions = std::map<std::string, const Declared*>;  ///< of one name, by key: several are overloads

  void declare(const Declared& d) {
    Versions& versions = byName_[d.name];
    std::erase_if(versions, [&](const auto& other) { return !d.isFunction || !other.second->isFunction; });
    versions[d.key] = &d;
  }
  const Versions& named(const std::string& name) const {
    static const Versions none;
    const auto found = byName_.find(name);
    return found == byName_.end() ? none : found->second;
  }
  bool has(const std::string& name) const { return byName_.contains(name); }
  bool isThere(const Declared& d) const {
    const Versions& versions = named(d.name);
    const auto found = versions.find(d.key);
    return found != versions.end() && found->second == &d;
  }
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> all;
    for (const auto& [key, d] : named(name)) all.push_back(d->text);
    return all;
  }

 private:
  std::map<std::string, Versions> byName_;
};

/// Writes the entries one after the other.
class Transcript::Writer {
 public:
  Writer(const std::vector<Entry>& entries, std::set<std::string> names) : entries_(entries), names_(std::move(names)) {
    std::set<std::string> builtIn;
    for (size_t i = 0; i < entries.size(); ++i) {
      for (const Declared& d : entries[i].declared) {
        latest_.declare(d);
        lastDeclared_[d.name] = i;
        // An entry used what the language has of that name, which a declaration would hide from it.
        if (builtIn.contains(d.name) && !ownNames_.contains(d.name))
          ownNames_[d.name] = d.module.empty() ? unused(d.name) : behindModule(d);
      }
      for (const Use& u : entries[i].uses)
        if (u.of == Use::Of::BuiltIn) builtIn.insert(u.name);
      for (const Declared& d : entries[i].declared)
        for (const Use& u : d.uses)
          if (u.of == Use::Of::BuiltIn) builtIn.insert(u.name);
    }
  }

  std::string write() {
    for (size_t i = 0; i < entries_.size(); ++i) writeEntry(i);
    return std::move(script_);
  }

 private:
  struct Edit {
    Range at;
    std::string text;
  };
  using Edits = std::vector<Edit>;
  using Renaming = std::map<std::string, std::string>;
  /// A `let` of a function that is still what its name means.
  struct Alive {
    size_t entry;
    const Function* function;
    Renaming values;  ///< copies of values that it keeps
  };

  static std::string edited(std::string text, Edits edits) {
    std::ranges::stable_sort(edits, {}, [](const Edit& e) { return std::pair(e.at.begin, e.at.end); });
    for (auto e = edits.rbegin(); e != edits.rend(); ++e) text.replace(e->at.begin, e->at.end - e->at.begin, e->text);
    return text;
  }

  void writeEntry(size_t index) {
    const Entry& e = entries_[index];
    std::set<std::string> changed;
    for (const Declared& d : e.declared) {
      const auto before = now_.texts(d.name);
      now_.declare(d);
      if (before != now_.texts(d.name)) changed.insert(d.name);
    }
    std::erase_if(alive_, [&](const Alive& a) { return changed.contains(a.function->name); });
    if (!changed.empty()) writeFunctionsAgain(changed);

    Edits edits = shownEdits(e);
    std::vector<Range> gone;
    if (e.kind == Last::Described) gone.push_back(e.last);
    for (const Declared& d : e.declared) {
      if (!d.module.empty()) continue;
      if (!latest_.isThere(d)) {
        gone.push_back(d.at);
      } else if (d.nameAt.end > 0) {
        Renaming own = ownNames_;
        std::ranges::move(renames(d, own), std::back_inserter(edits));
      }
    }
    for (const ImportedNames& i : e.imports) edits.push_back({i.at, importText(e, i)});
    const Renaming old = declarationsFor(namesIn(e.uses));
    std::vector<Alive> functions = functionsOf(index, edits);
    for (const Use& u : e.uses) {
      const Alive* in = nullptr;
      for (const Alive& a : functions)
        if (a.function->at.holds(u.at)) in = &a;
      if (std::string name = nameOf(u, index, old, in); name != u.name) edits.push_back({u.at, std::move(name)});
    }
    std::erase_if(edits, [&](const Edit& edit) {
      return std::ranges::any_of(gone, [&](const Range& r) { return r.holds(edit.at); });
    });
    for (const Range& r : gone) edits.push_back({r, ""});
    append(edited(e.text, std::move(edits)));

    std::erase_if(alive_,
                  [&](const Alive& a) { return std::ranges::find(e.bound, a.function->name) != e.bound.end(); });
    std::ranges::move(functions, std::back_inserter(alive_));
  }

  void append(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.find_first_not_of(" \t\n;") != std::string::npos) script_ += text + "\n";
  }

  /// What the last value of an entry and `_` become.
  Edits shownEdits(const Entry& e) {
    Edits edits;
    for (const Range& use : e.shown) edits.push_back({use, shown_});
    if (e.kind != Last::Shown) return edits;
    if (e.named) shown_ = unused("value");
    edits.push_back({{e.last.begin, e.last.begin}, e.named ? "let " + shown_ + " = " : "print("});
    edits.push_back({{e.last.end, e.last.end}, e.named ? "; print(" + shown_ + ")" : ")"});
    return edits;
  }

  /// An import without the names that mean something else in the end, or that are written behind their module.
  std::string importText(const Entry& e, const ImportedNames& imported) {
    std::string names;
    for (const size_t i : imported.declared) {
      const Declared& d = e.declared[i];
      if (!latest_.isThere(d)) continue;
      if (ownNames_.contains(d.name))
        importModule(d);
      else
        names += (names.empty() ? "" : ", ") + d.name;
    }
    return names.empty() ? "" : "import " + imported.module + ": " + names;
  }

  static std::string behindModule(const Declared& d) { return d.module.substr(d.module.rfind('.') + 1) + "." + d.name; }
  void importModule(const Declared& d) {
    if (written_.insert("import " + d.module).second) script_ += "import " + d.module + "\n";
  }

  static std::set<std::string> namesIn(const std::vector<Use>& uses) {
    std::set<std::string> names;
    for (const Use& u : uses)
      if (u.of != Use::Of::Value) names.insert(u.name);
    return names;
  }

  /// What stands in the script where an entry has a name.
  std::string nameOf(const Use& u, size_t entry, const Renaming& declared, const Alive* function) {
    if (u.of != Use::Of::Value) {
      const auto found = declared.find(u.name);
      return found == declared.end() ? u.name : found->second;
    }
    if (function)
      if (const auto copy = function->values.find(u.name); copy != function->values.end()) return copy->second;
    // A declaration takes the name from a value that was there before.
    const auto declaration = lastDeclared_.find(u.name);
    if (declaration == lastDeclared_.end() || entry > declaration->second) return u.name;
    if (entry == declaration->second && !u.isEarlier) return u.name;
    std::string& name = hidden_[u.name];
    if (name.empty()) name = unused(u.name);
    return name;
  }

  std::string unused(const std::string& name) {
    int number = 1;
    while (!names_.insert(name + "_" + std::to_string(number)).second) ++number;
    return name + "_" + std::to_string(number);
  }

  // ---- functions that `let`s bind
  /// Those of an entry; a copy is made of a value that one keeps and that a later entry binds anew, should the function
  /// have to be written again.
  std::vector<Alive> functionsOf(size_t index, Edits& edits) {
    const Entry& e = entries_[index];
    const auto later = std::span(entries_).subspan(index + 1);
    const bool declares = std::ranges::any_of(later, [](const Entry& l) { return !l.declared.empty(); });
    std::vector<Alive> found;
    for (const Function& f : e.functions) {
      Alive& a = found.emplace_back(Alive{index, &f, {}});
      if (!declares) continue;
      for (const Use& u : e.uses) {
        if (u.of != Use::Of::Value || !f.at.holds(u.at) || u.name == f.name || a.values.contains(u.name)) continue;
        const bool isFunction =
            std::ranges::any_of(alive_, [&](const Alive& other) { return other.function->name == u.name; }) ||
            std::ranges::any_of(e.functions, [&](const Function& other) { return other.name == u.name; });
        const bool isRebound = std::ranges::any_of(
            later, [&](const Entry& l) { return std::ranges::find(l.bound, u.name) != l.bound.end(); });
        if (isFunction || !isRebound) continue;
        const std::string copy = unused(u.name);
        edits.push_back({{f.at.begin, f.at.begin}, "let " + copy + " = " + nameOf(u, index, {}, nullptr) + "; "});
        a.values[u.name] = copy;
      }
    }
    return found;
  }

  /// Functions to which something means what is declared now: the session calls them so.
  void writeFunctionsAgain(const std::set<std::string>& changed) {
    std::set<std::string> again;
    std::string text;
    for (const Alive& a : alive_) {
      const Entry& e = entries_[a.entry];
      std::vector<Use> uses;
      bool reaches = false;
      for (const Use& u : e.uses) {
        if (!a.function->at.holds(u.at)) continue;
        uses.push_back(u);
        std::set<std::string> seen;
        reaches |= u.of == Use::Of::Value ? again.contains(u.name) : reachesAny(u.name, changed, seen);
      }
      if (!reaches) continue;
      again.insert(a.function->name);
      const Renaming old = declarationsFor(namesIn(uses));
      Edits edits;
      for (const Use& u : uses) {
        std::string name = nameOf(u, a.entry, old, &a);
        if (name == u.name) continue;
        edits.push_back({{u.at.begin - a.function->at.begin, u.at.end - a.function->at.begin}, std::move(name)});
      }
      const Range& at = a.function->at;
      text += edited(e.text.substr(at.begin, at.end - at.begin), std::move(edits)) + "\n";
    }
    script_ += text;
  }

  bool reachesAny(const std::string& name, const std::set<std::string>& wanted, std::set<std::string>& seen) const {
    if (!seen.insert(name).second) return false;
    if (wanted.contains(name)) return true;
    for (const auto& [key, d] : now_.named(name))
      for (const Use& u : d->uses)
        if (u.of != Use::Of::Value && reachesAny(u.name, wanted, seen)) return true;
    return false;
  }

  // ---- declarations
  /// In the entry's text: its name, and what it uses.
  static Edits renames(const Declared& d, const Renaming& names) {
    Edits edits;
    if (const auto found = names.find(d.name); found != names.end()) edits.push_back({d.nameAt, found->second});
    for (const Use& u : d.uses) {
      if (const auto found = names.find(u.name); u.of != Use::Of::Value && found != names.end())
        edits.push_back({u.at, found->second});
    }
    return edits;
  }

  /// Names for what the script declares otherwise in the end than an entry found it; writes their declarations.
  Renaming declarationsFor(const std::set<std::string>& used) {
    Renaming names, old;
    std::set<std::string> seen;
    for (const std::string& name : used) collect(name, seen, names, old);
    for (const auto& [name, newName] : old) {
      for (const auto& [key, d] : now_.named(name)) {
        if (!d->module.empty()) importModule(*d);
        if (!d->module.empty() || d->nameAt.end == 0 || !written_.insert(newName + " " + key).second) continue;
        Edits edits = renames(*d, names);
        for (Edit& e : edits) e.at = {e.at.begin - d->at.begin, e.at.end - d->at.begin};
        script_ += edited(d->text, std::move(edits)) + "\n";
      }
    }
    return names;
  }

  void collect(const std::string& name, std::set<std::string>& seen, Renaming& names, Renaming& old) {
    if (!seen.insert(name).second) return;
    const auto& versions = now_.named(name);
    std::set<std::string> reached;
    if (!isOld(name, reached)) {
      if (const auto own = ownNames_.find(name); own != ownNames_.end() && !versions.empty()) names[name] = own->second;
    } else if (!versions.empty()) {
      const Declared& first = *versions.begin()->second;
      if (first.module.empty()) {
        // What it means is told by all that it reaches.
        std::string meaning = name;
        for (const std::string& n : reached)
          for (const std::string& text : now_.texts(n)) meaning += "\n" + text;
        std::string& known = copies_[meaning];
        if (known.empty()) known = unused(name);
        names[name] = old[name] = known;
      } else {
        names[name] = old[name] = behindModule(first);
      }
    }
    for (const std::string& n : reached) collect(n, seen, names, old);
  }

  /// Whether it, or something that it reaches, means something else in the end.
  bool isOld(const std::string& name, std::set<std::string>& reached) const {
    if (!reached.insert(name).second) return false;
    bool old = now_.texts(name) != latest_.texts(name);
    for (const auto& [key, d] : now_.named(name))
      for (const Use& u : d->uses)
        if (u.of != Use::Of::Value) old |= isOld(u.name, reached);
    return old;
  }

  const std::vector<Entry>& entries_;
  std::string script_;
  std::string shown_ = "_";      ///< the name of the value that was shown last
  std::set<std::string> names_;  ///< taken
  Renaming ownNames_;            ///< of what the session declares where an entry uses the language's of that name
  Renaming hidden_;              ///< of values whose name a later entry declares
  std::map<std::string, size_t> lastDeclared_;  ///< by which entry
  std::map<std::string, std::string> copies_;   ///< names of declarations that were replaced, by what they mean
  std::set<std::string> written_;
  std::vector<Alive> alive_;
  Environment latest_, now_;
};

std::string Transcript::script() const { return Writer(entries_, names_).write(); }

}  // namespace tenc::repl
