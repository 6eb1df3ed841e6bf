// The entries of a session as one script that says the same.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::repl {

class Transcript {
 public:
  /// What the last statement of an entry was: one of a script, a value that the session printed, or a function or type
  /// of which it said what it is.
  enum class Last : uint8_t { Statement, Shown, Described };
  /// Adds an entry that ran.
  void add(const SourceManager& sources, const ast::File& entry, Last last);
  /// Values that were shown are printed, and have a name where `_` stood for them. Of what was declared several times
  /// the last declaration keeps its name; an earlier one that an entry ran with is there under another name.
  std::string script() const;

 private:
  struct Range {
    size_t begin = 0, end = 0;  ///< in the entry's text
  };
  struct Declared {
    std::string key, name, text;
    Range at;
  };
  struct Entry {
    std::string text;
    std::vector<Declared> declared;
    Range last;  ///< the last statement
    Last kind = Last::Statement;
    std::vector<Range> uses;  ///< of `_`
    bool named = false;       ///< a later entry uses what it showed
  };
  /// The declarations that an entry ran with, by key.
  using Environment = std::map<std::string, const Declared*>;
  class Writer;

  std::vector<Entry> entries_;
  std::set<std::string> names_;  ///< all words of the entries
};

}  // namespace tenc::repl
