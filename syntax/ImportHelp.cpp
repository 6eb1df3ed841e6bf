// Imports as Python writes them: `import numpy as np`, `from jax import random`. What is read through a name that they
// give a module or a function is written with the name that says the same without the import.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "syntax/ForeignFunctions.h"
#include "syntax/ForeignImports.h"
#include "syntax/StatementHelp.h"
#include "syntax/WordView.h"

namespace tenc::syntax {

namespace {

class ImportHelper : private WordView {
 public:
  using WordView::WordView;

  /// `import numpy as np`, `import torch as th, numpy as np`
  std::vector<Edit> importedAs() const {
    if (!starts(T::IMPORT) || !p_.before || !is(1, T::NAME)) return {};
    const std::string first = between(span(*p_.first).end, wordSpan().begin);
    if (first.find(',') != std::string::npos) return {};
    std::vector<Imported> modules{{first, textOf(1)}};
    ssize_t n = 2;
    while (is(n, T::COMMA)) {
      std::string path;
      for (++n; (is(n, T::NAME) && textOf(n) != "as") || is(n, T::DOT); ++n) path += textOf(n);
      const bool renamed = textOf(n) == "as" && is(n + 1, T::NAME);
      modules.push_back({path, renamed ? textOf(n + 1) : path});
      n += renamed ? 2 : 0;
    }
    std::string text;
    for (const Imported& module : modules) {
      auto instead = importedInstead(module.name, {});
      if (instead) keepShown(module.name, n, sums(n), *instead);
      if (!instead) return modules.size() == 1 ? ownModule(modules[0].alias) : std::vector<Edit>();
      text += (text.empty() || instead->empty() ? "" : "\n") + *instead;
    }
    std::vector<Edit> edits = replacedBy(position(span(*p_.first).begin, span(*behindWord(n - 1)).end), text);
    startSums(n, edits);
    for (const Imported& module : modules) nameAxes(module.name, n, edits);
    for (const Imported& module : modules) throughModule(module.name, module.alias, n, edits);
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
    if (auto instead = importedInstead(module, names)) {
      const bool ofPython = !all && std::ranges::find(names, "sum") == names.end();
      keepShown(module, n, ofPython && sums(n), *instead);
      std::vector<Edit> edits = replacedBy(whole, *instead);
      if (ofPython) startSums(n, edits);
      nameAxes(module, n, edits);
      if (all && !prefixAll(module, n, edits)) return {};
      for (const Imported& i : imported) {
        nameAxes(module + "." + i.name, n, edits);
        throughModule(module + "." + i.name, i.alias, n, edits);
        if (!prefixUses(module, i, n, edits)) return {};
      }
      return edits;
    }
    if (module.starts_with('.')) return fromPackage(module.substr(1), names, whole, renamed || all);
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

  /// Adds the import of the library itself where its name has to stay, so that what has another meaning there is read
  /// as it is meant.
  void keepShown(const std::string& module, ssize_t from, bool sums, std::string& instead) const {
    const std::string root = module.substr(0, module.find('.'));
    const bool methods = (root == "torch" || (root == "numpy" && names(from, "torch"))) && callsMethods(from);
    if (!sums && !methods && !(root == "torch" && asksForMode(from)) && !hidesFunctions(from)) return;
    // One that follows is enough.
    const bool follows = anyToken(from, [&](ssize_t n) {
      return n >= from && is(n, T::IMPORT) && textOf(n + 1) == root && !is(n + 2, T::DOT) && textOf(n + 2) != "as";
    });
    if (!follows) instead += (instead.empty() ? "import " : "\nimport ") + root;
  }

  /// Whether a name stands anywhere in the script.
  bool names(ssize_t from, std::string_view name) const {
    return anyToken(from, [&](ssize_t n) { return is(n, T::NAME) && textOf(n) == name; });
  }
  /// Whether the script calls methods that PyTorch's tensors have in another meaning.
  bool callsMethods(ssize_t from) const {
    return anyToken(from, [&](ssize_t n) {
      return is(n, T::NAME) && is(n - 1, T::DOT) && is(n + 1, T::LPAREN) && methodsOfTorch().contains(textOf(n)) &&
             !isLibrary(n - 2);
    });
  }
  /// Whether the script gives a function the name of a method that it calls, or a lambda a name.
  bool hidesFunctions(ssize_t from) const {
    return anyToken(from, [&](ssize_t n) {
      if (!is(n, T::NAME)) return false;
      const std::string name = textOf(n);
      if (is(n + 1, T::ASSIGN) && (is(n + 2, T::BAR) || textOf(n + 2) == "lambda")) return true;
      return (is(n - 1, T::FN) || textOf(n - 1) == "def") && callsMethod(from, name);
    });
  }
  bool callsMethod(ssize_t from, std::string_view name) const {
    return anyToken(from, [&](ssize_t n) {
      return is(n, T::NAME) && textOf(n) == name && is(n - 1, T::DOT) && is(n + 1, T::LPAREN) && !isLibrary(n - 2);
    });
  }
  /// Whether the token is the name of a module of another library.
  bool isLibrary(ssize_t n) const {
    const Familiar* owner = is(n, T::NAME) ? familiarName(textOf(n)) : nullptr;
    return owner && (owner->prefix || owner->layer);
  }
  /// Whether the script names layers that are something else in training.
  bool asksForMode(ssize_t from) const {
    return anyToken(from, [&](ssize_t n) { return is(n, T::NAME) && mayAskForMode(textOf(n)); });
  }
  template <typename Wanted>
  bool anyToken(ssize_t n, const Wanted& wanted) const {
    while (behindWord(n - 1)) --n;
    for (; behindWord(n); ++n)
      if (wanted(n)) return true;
    return false;
  }

  /// Whether what follows calls `sum` alone, Python's own, or gives it on: until it is read an import has to show that.
  bool sums(ssize_t from) const {
    const auto ends = [&](ssize_t n) {
      return !behindWord(n) || is(n, T::NL) || is(n, T::COMMA) || is(n, T::RPAREN) || is(n, T::RBRACK);
    };
    for (ssize_t n = from; behindWord(n); ++n)
      if (textOf(n) == "sum" && !is(n - 1, T::DOT) && (is(n + 1, T::LPAREN) || ends(n + 1))) return true;
    return false;
  }

  /// `sum(x, s)` that starts from `s`, as `(sum(x) + (s))`: a second operand would be taken for NumPy's axis.
  void startSums(ssize_t from, std::vector<Edit>& edits) const {
    for (ssize_t n = from; behindWord(n); ++n) {
      if (textOf(n) != "sum" || !is(n + 1, T::LPAREN) || is(n - 1, T::DOT)) continue;
      ssize_t comma = 0, m = n + 1;
      bool known = true;
      for (int depth = 0; behindWord(m); ++m) {
        depth += is(m, T::LPAREN) || is(m, T::LBRACK) || is(m, T::AT_LBRACK) ? 1
                 : is(m, T::RPAREN) || is(m, T::RBRACK)                      ? -1
                                                                             : 0;
        if (depth == 0) break;
        if (depth == 1 && is(m, T::COMMA)) known = known && comma == 0, comma = m;
        known = known && !(depth == 1 && is(m, T::FOR));
      }
      const auto names = [&](ssize_t k) { return is(k, T::ASSIGN) || is(k, T::COLON); };
      const ssize_t start = textOf(comma + 1) == "start" && names(comma + 2) ? comma + 3 : comma + 1;
      if (comma == 0 || !known || !behindWord(m) || is(start, T::LBRACK) || is(start, T::RPAREN) ||
          (start == comma + 1 && names(start + 1)))
        continue;
      const size_t end = span(*behindWord(m)).begin;
      edits.push_back({position(span(*behindWord(n)).begin), "("});
      edits.push_back(
          {position(span(*behindWord(comma)).begin, end), ") + (" + between(span(*behindWord(start)).begin, end)});
      edits.push_back({position(span(*behindWord(m)).end), ")"});
    }
  }

  /// `x.max(1)` of NumPy and JAX, along an axis, as `x.max(axis: 1)`: in TL the number is a second operand. Where the
  /// script has PyTorch's tensors, too, it is that library's `max` that may be meant.
  void nameAxes(const std::string& module, ssize_t from, std::vector<Edit>& edits) const {
    if ((module != "numpy" && module != "jax.numpy") || names(from, "torch")) return;
    for (ssize_t n = from; behindWord(n); ++n) {
      const std::string name = textOf(n);
      if ((name != "max" && name != "min") || !is(n - 1, T::DOT) || !is(n + 1, T::LPAREN) || isLibrary(n - 2)) continue;
      const ssize_t axis = is(n + 2, T::MINUS) ? n + 3 : n + 2;
      const bool named = is(axis + 3, T::ASSIGN) || is(axis + 3, T::COLON);
      const bool ends = is(axis + 1, T::RPAREN) || (is(axis + 1, T::COMMA) && named);
      if (is(axis, T::INT) && ends && !definesMethod(from, name))
        edits.push_back({position(span(*behindWord(n + 2)).begin), "axis: "});
    }
  }
  /// Whether the script has a function or a method of that name.
  bool definesMethod(ssize_t from, std::string_view name) const {
    return anyToken(from, [&](ssize_t n) {
      return is(n, T::NAME) && textOf(n) == name && (is(n - 1, T::FN) || textOf(n - 1) == "def");
    });
  }

  /// Of a module that TL does not know either: it keeps its name.
  std::vector<Edit> ownModule(const std::string& alias) const {
    std::vector<Edit> edits = {{position(span(*p_.before).end, span(*behindWord(1)).end), ""}};
    for (const Span use : membersOf(alias, 2)) edits.push_back({use, p_.before->getText()});
    return edits;
  }

  /// `from . import a, b`, `from .a import f`: files beside the script.
  static std::vector<Edit> fromPackage(const std::string& module, const std::vector<std::string>& names, Span whole,
                                       bool otherwise) {
    if (otherwise || names.empty() || module.find('.') != std::string::npos) return {};
    std::string text = module.empty() ? "" : "import " + module + ":";
    for (const std::string& name : names)
      text += module.empty() ? (text.empty() ? "import " : "\nimport ") + name
                             : (name == names.front() ? " " : ", ") + name;
    return {{whole, text}};
  }

  /// A path of names and points from the `n`th token behind the word on; `n` is then behind it.
  std::string path(ssize_t& n) const {
    std::string text;
    while (behindWord(n) && behindWord(n)->getType() != T::IMPORT &&
           (is(n, T::DOT) || behindWord(n)->getType() == T::NAME || isKeyword(*behindWord(n))))
      text += behindWord(n++)->getText();
    return text;
  }

  std::vector<Edit> replacedBy(Span statement, const std::string& text) const {
    std::set<std::string, std::less<>> before = importsBefore(statement.begin);
    std::string left;
    for (size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      if (before.insert(line).second) left += (left.empty() ? "" : "\n") + line;
    }
    if (left.empty()) return {removed(p_.reporter.sources(), statement)};
    return {{statement, left}};
  }

  /// What the statements before a place import, or will once they are mended, each as a line.
  std::set<std::string, std::less<>> importsBefore(size_t end) const {
    std::set<std::string, std::less<>> lines;
    ssize_t n = 0;
    while (behindWord(n - 1)) --n;
    for (; behindWord(n) && span(*behindWord(n)).begin < end; ++n) {
      const bool from = textOf(n) == "from";
      if (!syntax::startsStatement(behindWord(n - 1)) || (!from && !is(n, T::IMPORT))) continue;
      ssize_t m = n + 1;
      std::string module;
      for (; is(m, T::DOT) || (is(m, T::NAME) && textOf(m) != "as"); ++m) module += textOf(m);
      std::vector<std::string> names;
      for (; from && behindWord(m) && !is(m, T::NL); ++m)
        if (is(m, T::NAME) && textOf(m) != "as" && textOf(m - 1) != "as") names.push_back(textOf(m));
      const std::string text = importedInstead(module, names).value_or(from ? "" : "import " + module);
      for (size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1)
        lines.insert(text.substr(at, text.find('\n', at) - at));
      lines.insert("import " + module.substr(0, module.find('.')));  // that which `keepShown` leaves
    }
    return lines;
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
  /// be those of TL. Of what has another name here, all uses. False where the script has the name for something else.
  bool prefixUses(const std::string& module, const Imported& imported, ssize_t from, std::vector<Edit>& edits) const {
    const bool renamed = imported.name != imported.alias;
    const std::string prefix = renamed ? knownAs(module, module) : std::string(prefixOf(module));
    if (prefix.empty()) return true;
    const NameBindings bindings(*this, from);
    std::vector<Edit> uses;
    bool bound = false;
    for (ssize_t n = from; behindWord(n); ++n) {
      if (!is(n, T::NAME) || textOf(n) != imported.alias || is(n - 1, T::DOT)) continue;
      if (bindings.binds(n))
        bound = true;
      else if ((renamed && !is(n + 1, T::ASSIGN) && !is(n + 1, T::DOT)) || is(n + 1, T::LPAREN))
        uses.push_back({span(*behindWord(n)), prefix + "." + imported.name});
    }
    if (!bound) edits.insert(edits.end(), uses.begin(), uses.end());
    return !bound || uses.empty();
  }

  /// The same for all names that the library has in a meaning of its own.
  bool prefixAll(const std::string& module, ssize_t from, std::vector<Edit>& edits) const {
    const std::string_view prefix = prefixOf(module);
    const auto library = prefix.starts_with("torch") || prefix == "F" ? ForeignCall::Form::Torch
                         : prefix == "math"                           ? ForeignCall::Form::Python
                                                                      : ForeignCall::Form::NumPy;
    std::set<std::string, std::less<>> all = namesOf(library);
    all.insert("sum");
    return std::ranges::all_of(all,
                               [&](const std::string& name) { return prefixUses(module, {name, name}, from, edits); });
  }

  /// Which tokens behind the import bind names, in Python or TL.
  class NameBindings {
   public:
    NameBindings(const ImportHelper& view, ssize_t from) : view_(view) {
      for (ssize_t n = from; view.behindWord(n); ++n) add(n);
    }
    bool binds(ssize_t n) const { return bound_.contains(n); }

   private:
    bool is(ssize_t n, size_t type) const { return view_.is(n, type); }
    bool opens(ssize_t n) const { return is(n, T::LPAREN) || is(n, T::LBRACK) || is(n, T::AT_LBRACK); }
    bool closes(ssize_t n) const { return is(n, T::RPAREN) || is(n, T::RBRACK); }

    void add(ssize_t n) {
      const std::string word = view_.textOf(n);
      if (is(n, T::NL)) target_ = false;
      if (n == next_) target_ = isAssignment(n);
      if (is(n, T::NL) || is(n, T::SEMI) || is(n, T::LBRACE) || (is(n, T::COLON) && depth_ == 0)) next_ = n + 1;
      if (isSign(n)) target_ = false;
      depth_ += opens(n) ? 1 : closes(n) ? -1 : 0;
      if (inHead_ && depth_ == headDepth_ && is(n, T::RPAREN)) inHead_ = false;
      if ((is(n, T::FN) || word == "def") && is(n + 1, T::NAME)) {
        inHead_ = true;
        headDepth_ = depth_;
      }
      const bool operand = is(n - 1, T::NAME) || closes(n - 1) || is(n - 1, T::INT) || is(n - 1, T::FLOAT);
      if (is(n, T::BAR)) inLambda_ = !inLambda_ && !operand;
      if (inLambda_ && is(n, T::COLON)) inLambda_ = false;
      if (word == "lambda") inLambda_ = true;
      if (is(n, T::FOR)) inFor_ = true;
      if (is(n, T::IN)) inFor_ = false;
      const bool declared = is(n - 1, T::LET) || is(n - 1, T::VAR) || view_.textOf(n - 1) == "as";
      const bool assigned = target_ && depth_ == 0 && !is(n + 1, T::LPAREN) && !is(n + 1, T::LBRACK);
      // A default is no parameter: what it stands behind is.
      const bool parameter = (inHead_ || inLambda_) && !is(n - 1, T::ASSIGN);
      if (is(n, T::NAME) && (declared || assigned || parameter || inFor_)) bound_.insert(n);
    }
    bool isSign(ssize_t n) const {
      return depth_ == 0 &&
             (is(n, T::ASSIGN) || is(n, T::ADD_EQ) || is(n, T::SUB_EQ) || is(n, T::MUL_EQ) || is(n, T::DIV_EQ));
    }
    /// Whether the statement that begins there assigns.
    bool isAssignment(ssize_t n) const {
      int depth = 0;
      for (; view_.behindWord(n) && !is(n, T::NL) && !is(n, T::SEMI); ++n) {
        depth += opens(n) ? 1 : closes(n) ? -1 : 0;
        if (depth == 0 && is(n, T::ASSIGN)) return true;
      }
      return false;
    }

    const ImportHelper& view_;
    std::set<ssize_t> bound_;
    ssize_t next_ = 0;  ///< where a statement begins
    int depth_ = 0, headDepth_ = 0;
    bool target_ = false, inHead_ = false, inLambda_ = false, inFor_ = false;
  };
};

}  // namespace

std::vector<Edit> importEdits(bool from, const antlr4::Token& word, const SyntaxPlace& place) {
  const ImportHelper helper(place, word);
  return from ? helper.importedFrom() : helper.importedAs();
}

}  // namespace tenc::syntax
