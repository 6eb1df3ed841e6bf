// syntax::parse: bytes to tokens, tokens to ANTLR's tree, that to ours.
#include "syntax/Parse.h"

#include <antlr4-runtime.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/Text.h"
#include "syntax/AstBuilder.h"
#include "syntax/SyntaxRecovery.h"
#include "syntax/TextOrder.h"
#include "syntax/TokenFilter.h"

namespace tenc::syntax {

using antlr4::ParseCancellationException;

namespace {

constexpr size_t kMaxSource = size_t{16} << 20;

/// Bounds the recursion that has no brackets, which the token filter does not see: lambda in lambda, `if` in a
/// condition.
class BoundedParser final : public TLParser {
 public:
  BoundedParser(antlr4::TokenStream* stream, SyntaxReporter& reporter) : TLParser(stream), reporter_(reporter) {}

  void enterRule(antlr4::ParserRuleContext* ctx, size_t state, size_t rule) override {
    TLParser::enterRule(ctx, state, rule);
    if (rule != RuleLambda && rule != RuleIfExpr) return;
    size_t depth = 0;
    for (antlr4::tree::ParseTree* c = ctx; c; c = c->parent) {
      const size_t index = static_cast<antlr4::RuleContext*>(c)->getRuleIndex();
      depth += index == RuleLambda || index == RuleIfExpr;
    }
    if (depth <= kMaxNesting) return;
    reporter_.report(Code::E0105, reporter_.span(*getCurrentToken()),
                     "lambdas or conditions nest deeper than " + std::to_string(kMaxNesting));
    throw ParseCancellationException();
  }

 private:
  SyntaxReporter& reporter_;
};

/// The tokens of the filter, of which ANTLR's own stream asks each for its class.
class FilteredTokens final : public antlr4::CommonTokenStream {
 public:
  using CommonTokenStream::CommonTokenStream;

 protected:
  size_t fetch(size_t n) override {
    for (size_t i = 0; i < n; ++i) {
      if (_fetchedEOF) return i;
      std::unique_ptr<antlr4::Token> token = _tokenSource->nextToken();
      static_cast<antlr4::CommonToken&>(*token).setTokenIndex(_tokens.size());
      _fetchedEOF = token->getType() == antlr4::Token::EOF;
      _tokens.push_back(std::move(token));
    }
    return n;
  }
};

using Statements = std::vector<ast::StmtPtr>;

/// The statements of a file without syntax errors; nothing after the first error. ANTLR's tree of a statement is gone
/// before that of the next one is made: all at once would take some hundred bytes for every byte of the source.
std::optional<Statements> parseQuickly(BoundedParser& parser, FilteredTokens& tokens, AstBuilder& builder) {
  Statements list;
  try {
    while (tokens.LA(1) != antlr4::Token::EOF) {
      if (tokens.LA(1) == TLParser::NL) {
        tokens.consume();
        continue;
      }
      list.push_back(builder.statement(parser.statement()));
      parser.getTreeTracker().reset();
      if (const size_t next = tokens.LA(1); next != TLParser::NL && next != antlr4::Token::EOF) return std::nullopt;
    }
  } catch (ParseCancellationException&) { return std::nullopt; }
  return list;
}

}  // namespace

std::unique_ptr<ast::File> parse(const SourceManager& sources, uint32_t file, Diagnostics& diags) {
  return parsePart(sources, file, sources.file(file).text(), diags);
}

std::unique_ptr<ast::File> parsePart(const SourceManager& sources, uint32_t file, std::string_view text,
                                     Diagnostics& diags) {
  if (text.size() > kMaxSource) {
    diags.report(Code::E0105, Span{file, 0, 0}, "source is larger than 16 MiB");
    return nullptr;
  }
  if (const size_t bad = findInvalidUtf8(text); bad != std::string_view::npos) {
    diags
        .report(Code::E0104, Span{file, static_cast<uint32_t>(bad), static_cast<uint32_t>(bad + 1)},
                "source is not UTF-8")
        .label("first byte that is not");
    return nullptr;
  }
  SyntaxReporter reporter(sources, file, diags);
  ByteStream stream(text);
  TokenFilter filter(stream, reporter);
  auto list = filter.run();
  warnOfTextOrder(text, reporter);
  if (list.empty()) return nullptr;

  antlr4::ListTokenSource source(std::move(list));
  FilteredTokens tokens(&source);
  BoundedParser parser(&tokens, reporter);
  auto strategy = std::make_shared<SyntaxRecovery>();
  parser.removeErrorListeners();
  parser.setErrorHandler(strategy);
  auto docs = filter.takeDocs();
  auto result = std::make_unique<ast::File>();
  result->source = file;
  {
    const size_t before = diags.all().size();
    SyntaxReporter quickReporter = reporter;  // what it remembers of a part of the file is of no use to the next pass
    AstBuilder builder(quickReporter, docs);
    if (auto statements = parseQuickly(parser, tokens, builder)) {
      result->statements = std::move(*statements);
      result->lost = builder.takeLost();
      result->declared = builder.takeDeclared();
      return result;
    }
    diags.take(before);
  }

  TLParser::init();  // the network of the grammar, which only error messages and recovery look at
  tokens.seek(0);
  tokens.fill();  // helps look ahead of errors
  parser.reset();
  SyntaxListener listener(reporter);
  parser.addErrorListener(&listener);
  strategy->quick = false;
  TLParser::FileContext* tree = nullptr;
  try {
    tree = parser.file();
  } catch (ParseCancellationException&) { return nullptr; }
  AstBuilder builder(reporter, std::move(docs));
  result->statements = builder.file(tree);
  result->lost = builder.takeLost();
  result->declared = builder.takeDeclared();
  result->lost.merge(strategy->lost);
  result->declared.merge(strategy->declared);
  result->renamed = reporter.takeRenamed();
  result->foreign = reporter.hasForeign();
  return result;
}

}  // namespace tenc::syntax
