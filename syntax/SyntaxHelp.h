// What a syntax error says would mend it: the forms that people bring along from Python, C and Rust, and their TL ones.
#pragma once
#include "grammar/TLParser.h"
#include "syntax/SyntaxErrors.h"

namespace tenc::syntax {

/// Where the parser stopped. `before` is the token before, `first` that of the statement; both may be null.
struct SyntaxPlace {
  TLParser& parser;
  const antlr4::Token& at;
  const antlr4::Token* before;
  const antlr4::Token* first;
  SyntaxReporter& reporter;
  bool complete;  ///< only the end of the statement may follow
};

bool isKeyword(const antlr4::Token& t);
/// Whether a statement starts behind this token.
bool startsStatement(const antlr4::Token* before);
void addSyntaxHelp(Diagnostics::Builder& d, const SyntaxPlace& place);

}  // namespace tenc::syntax
