// Edits of scripts in Python's way are made in two steps: first those of syntax, until all statements are read, and
// then those of names and calls, which have to know what all of them mean.
#pragma once
#include <cstddef>
#include <string_view>

#include "support/Diagnostics.h"
#include "support/SourceFile.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

class UnreadScript {
 public:
  /// `syntaxErrors`: what was found when the file was parsed.
  UnreadScript(const ast::File& file, const SourceManager& sources, const Diagnostics& syntaxErrors);

  /// Takes back the edits of a script of Python that would be made too early, and all of one that works on whole lists,
  /// uses `None` or inverts a bool of Python, which nothing could tell from tensors and values afterwards.
  void withhold(Context& context, Diagnostics& diags) const;

 private:
  /// Something that edits would give another meaning.
  struct Meaning {
    Span span{};
    std::string_view text{};
  };
  /// What there is where no statement has syntax errors.
  Meaning otherMeaning(Context& context) const;

  const ast::File& file_;
  const size_t syntaxErrors_;  ///< these come first
  const bool isUnread_;
  bool isPython_;
  Meaning ahead_;  ///< in what will be read
};

}  // namespace tenc::frontend
