// The entries of a session as one script that says the same.
#pragma once
#include <cstdint>
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
  /// Of what was declared several times only the last one; values that were shown are printed.
  std::string script() const;

 private:
  struct Declared {
    std::string key;
    size_t begin, end;  ///< in the entry's text
  };
  struct Entry {
    std::string text;
    std::vector<Declared> declared;
  };
  std::vector<Entry> entries_;
};

}  // namespace tenc::repl
