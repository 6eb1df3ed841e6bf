// The entries of a session as one script that says the same.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "frontend/names/Resolve.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::repl {

class Transcript {
 public:
  /// What the last statement of an entry was: one of a script, a value that the session printed, or a function or type
  /// of which it said what it is.
  enum class Last : uint8_t { Statement, Shown, Described };
  /// Adds an entry that ran: the statements of `script` that stand in its source; before them is what was kept.
  /// `names`: those of the script; `functions`: what the entry's `let`s bind that the session keeps as statements, in
  /// which names mean what they mean when it is called.
  void add(const SourceManager& sources, const ast::File& script, Last last, const frontend::Resolution& names,
           const std::set<std::string>& functions);
  /// Values that were shown are printed, and have a name where `_` stood for them. Of what was declared several times
  /// the last declaration keeps its name; an earlier one that an entry ran with is there under another name.
  std::string script() const;

 private:
  struct Range {
    size_t begin = 0, end = 0;  ///< in the entry's text
    bool holds(const Range& r) const { return begin <= r.begin && r.end <= end; }
  };
  /// A place where a name stands that the session or the language gave its meaning; none of a field or an argument.
  struct Use {
    Range at;
    std::string name;
    enum class Of : uint8_t { Declaration, Value, BuiltIn } of = Of::Declaration;
    bool isEarlier = false;  ///< a value of an earlier entry
  };
  struct Declared {
    std::string key, name;
    std::string module;  ///< from which it is imported; "" for what the entry declares, and for modules
    bool isFunction = false;
    Range at, nameAt;
    std::string text;       ///< at `at`
    std::vector<Use> uses;  ///< in it
  };
  /// `import module: names`.
  struct ImportedNames {
    Range at;
    std::string module;
    std::vector<size_t> declared;
  };
  /// A `let` that is kept as a statement.
  struct Function {
    std::string name;
    Range at;
  };
  struct Entry {
    std::string text;
    std::vector<Declared> declared;
    std::vector<ImportedNames> imports;
    std::vector<Use> uses;  ///< in its statements; with the names of values where they are bound
    std::vector<std::string> bound;
    std::vector<Function> functions;
    Range last;  ///< the last statement
    Last kind = Last::Statement;
    std::vector<Range> shown;  ///< where `_` stands
    bool named = false;        ///< a later entry uses what it showed
  };
  class Environment;
  class Writer;

  std::vector<Entry> entries_;
  std::set<std::string> names_;  ///< all words of the entries
};

}  // namespace tenc::repl
