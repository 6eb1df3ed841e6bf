// How the parser goes on after a syntax error.
#pragma once
#include <antlr4-runtime.h>

#include <set>
#include <string>

namespace tenc::syntax {

/// Two passes. The quick one takes statement by statement, looks at nothing but the grammar, and stops at the first
/// error by throwing ANTLR's ParseCancellationException: checks before every loop cost half of a cold parse. Only a
/// script with an error is parsed again, with recovery: the rules unwind to the nearest list of statements, the rest of
/// the statement is skipped, and parsing goes on behind it. Brackets are balanced by the token filter, so the end of a
/// statement is always known.
class SyntaxRecovery final : public antlr4::DefaultErrorStrategy {
 public:
  bool quick = true;
  /// The names in the statements that were skipped: what these would have declared is among them.
  std::set<std::string, std::less<>> lost;
  /// Of these, the names of functions, of their parameters that are called, and of classes.
  std::set<std::string, std::less<>> declared;

  void reportError(antlr4::Parser* p, const antlr4::RecognitionException& e) override;
  void recover(antlr4::Parser* p, std::exception_ptr e) override;
  antlr4::Token* recoverInline(antlr4::Parser* p) override;
  void sync(antlr4::Parser* p) override;

 private:
  void syncStatements(antlr4::Parser* p);
  void loseName(antlr4::TokenStream& tokens, size_t at);
};

}  // namespace tenc::syntax
