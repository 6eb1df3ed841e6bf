// Imports as Python writes them: `import numpy as np`, `from jax import random`. What is read through a name that they
// give a module or a function is written with the name that says the same without the import.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "syntax/Familiar.h"
#include "syntax/ForeignImports.h"
#include "syntax/StatementHelp.h"
#include "syntax/WordView.h"

namespace tenc::syntax {

namespace {

class ImportHelper : private WordView {
 public:
  using WordView::WordView;

  /// `import numpy as np`
  std::vector<Edit> importedAs() const {
    if (!starts(T::IMPORT) || !p_.before || !is(1, T::NAME)) return {};
    const Span whole = position(span(*p_.first).begin, span(*behindWord(1)).end);
    const std::string from = between(span(*p_.first).end, wordSpan().begin), alias = textOf(1);
    if (const auto instead = importedInstead(from, {})) {
      std::vector<Edit> edits = replacedBy(whole, *instead);
      throughModule(from, alias, 2, edits);
      return edits;
    }
    std::vector<Edit> edits = {{position(span(*p_.before).end, span(*behindWord(1)).end), ""}};
    for (const Span use : membersOf(alias, 2)) edits.push_back({use, p_.before->getText()});
    return edits;
  }

  /// `from torch import nn`, `from nn import linear`
  std::vector<Edit> importedFrom() const {
    ssize_t n = 1;
    const std::string module = path(n);
    if (module.empty() || !is(n, T::IMPORT)) return {};
    std::vector<Imported> imported;
    size_t end = span(*behindWord(n)).end;
    bool renamed = false, all = false;
    for (++n; behindWord(n) && !is(n, T::NL) && !all; ++n) {
      all = is(n, T::STAR);  // which the line seems to go on from
      end = span(*behindWord(n)).end;
      if (!is(n, T::NAME) || textOf(n) == "as") continue;
      if (textOf(n - 1) == "as" && !imported.empty()) {
        imported.back().alias = textOf(n);
        renamed = true;
      } else {
        imported.push_back({textOf(n), textOf(n)});
      }
    }
    const Span whole = position(wordSpan().begin, end);
    std::vector<std::string> names;
    for (const Imported& i : imported) names.push_back(i.name);
    if (const auto instead = importedInstead(module, names)) {
      std::vector<Edit> edits = replacedBy(whole, *instead);
      for (const Imported& i : imported) {
        throughModule(module + "." + i.name, i.alias, n, edits);
        prefixCalls(module, i, n, edits);
      }
      return edits;
    }
    if (all && names.empty()) return {{whole, "import " + module}};
    if (renamed || names.empty()) return {};
    std::string text = "import " + module + ":";
    for (const std::string& name : names) text += (name == names.front() ? " " : ", ") + name;
    return {{whole, text}};
  }

 private:
  struct Imported {
    std::string name, alias;
  };

  /// A path of names and points from the `n`th token behind the word on; `n` is then behind it.
  std::string path(ssize_t& n) const {
    std::string text;
    while (behindWord(n) && behindWord(n)->getType() != T::IMPORT &&
           (is(n, T::DOT) || behindWord(n)->getType() == T::NAME || isKeyword(*behindWord(n))))
      text += behindWord(n++)->getText();
    return text;
  }

  std::vector<Edit> replacedBy(Span statement, const std::string& text) const {
    if (text.empty()) return {removed(p_.reporter.sources(), statement)};
    return {{statement, text}};
  }

  /// Where `name.` stands from the `from`th token behind the word on.
  std::vector<Span> membersOf(const std::string& name, ssize_t from) const {
    std::vector<Span> uses;
    for (ssize_t n = from; behindWord(n); ++n)
      if (is(n, T::NAME) && is(n + 1, T::DOT) && !is(n - 1, T::DOT) && textOf(n) == name)
        uses.push_back(span(*behindWord(n)));
    return uses;
  }

  /// Whether the name stands alone: then it is bound to something else somewhere.
  bool standsAlone(const std::string& name, ssize_t from) const {
    for (ssize_t n = from; behindWord(n); ++n)
      if (is(n, T::NAME) && textOf(n) == name && !is(n + 1, T::DOT) && !is(n - 1, T::DOT)) return true;
    return false;
  }

  /// Members of a module that the import gives a name of its own, as members of what is known without it.
  void throughModule(const std::string& module, const std::string& alias, ssize_t from,
                     std::vector<Edit>& edits) const {
    const std::string prefix = knownAs(module, alias);
    if (prefix == alias || standsAlone(alias, from)) return;
    const std::vector<Span> uses = membersOf(alias, from);
    if (uses.empty()) return;
    p_.reporter.rename(alias);
    for (const Span use : uses) edits.push_back({use, prefix});
  }

  /// Calls of functions that a module is imported for, as calls through the module: `np.std(x)`. Without it they would
  /// be those of TL.
  void prefixCalls(const std::string& module, const Imported& imported, ssize_t from, std::vector<Edit>& edits) const {
    const bool renamed = imported.name != imported.alias;
    const std::string prefix = renamed ? knownAs(module, module) : std::string(prefixOf(module));
    if (prefix.empty()) return;
    std::vector<Edit> calls;
    for (ssize_t n = from; behindWord(n); ++n) {
      if (textOf(n) != imported.alias || is(n - 1, T::DOT) || !is(n + 1, T::LPAREN)) continue;
      if (is(n - 1, T::FN) || is(n - 1, T::NAME)) return;  // the script declares it
      calls.push_back({span(*behindWord(n)), prefix + "." + imported.name});
    }
    edits.insert(edits.end(), calls.begin(), calls.end());
  }
};

}  // namespace

std::vector<Edit> importEdits(bool from, const antlr4::Token& word, const SyntaxPlace& place) {
  const ImportHelper helper(place, word);
  return from ? helper.importedFrom() : helper.importedAs();
}

}  // namespace tenc::syntax
