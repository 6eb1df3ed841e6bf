// frontend::parse: bytes to tokens, tokens to ANTLR's tree, that to ours.
#include <antlr4-runtime.h>

#include <memory>

#include "frontend/AstBuilder.h"
#include "frontend/Frontend.h"
#include "frontend/SyntaxRecovery.h"
#include "frontend/TokenFilter.h"

namespace tenc::frontend {

using antlr4::ParseCancellationException;

namespace {

constexpr size_t kMaxSource = size_t{16} << 20;

/// The offset of the first byte that is not UTF-8, or npos. Overlong forms and surrogates are not UTF-8.
size_t findInvalidUtf8(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  for (size_t i = 0; i < s.size();) {
    const unsigned c = byte(i);
    if (c < 0x80) {
      ++i;
      continue;
    }
    size_t length = 0;
    unsigned low = 0x80, high = 0xBF;  // of the second byte
    if (c >= 0xC2 && c <= 0xDF)
      length = 2;
    else if (c >= 0xE0 && c <= 0xEF)
      length = 3;
    else if (c >= 0xF0 && c <= 0xF4)
      length = 4;
    if (c == 0xE0) low = 0xA0;
    if (c == 0xED) high = 0x9F;
    if (c == 0xF0) low = 0x90;
    if (c == 0xF4) high = 0x8F;
    if (length == 0 || byte(i + 1) < low || byte(i + 1) > high) return i;
    for (size_t k = 2; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

/// Bounds the recursion that has no brackets, which the token filter does not see: lambda in lambda, `if` in a
/// condition.
class BoundedParser final : public TLParser {
 public:
  BoundedParser(antlr4::TokenStream* stream, SyntaxReporter& reporter) : TLParser(stream), reporter_(reporter) {}

  bool tooDeep() const { return tooDeep_; }

  void enterRule(antlr4::ParserRuleContext* ctx, size_t state, size_t rule) override {
    TLParser::enterRule(ctx, state, rule);
    if (rule != RuleLambda && rule != RuleIfExpr) return;
    size_t depth = 0;
    for (antlr4::tree::ParseTree* c = ctx; c; c = c->parent) {
      const size_t index = static_cast<antlr4::RuleContext*>(c)->getRuleIndex();
      depth += index == RuleLambda || index == RuleIfExpr;
    }
    if (depth <= kMaxNesting) return;
    if (!tooDeep_) {
      reporter_.report(Code::E0105, reporter_.span(*getCurrentToken()),
                       "lambdas or conditions nest deeper than " + std::to_string(kMaxNesting));
    }
    tooDeep_ = true;
    throw ParseCancellationException();
  }

 private:
  SyntaxReporter& reporter_;
  bool tooDeep_ = false;
};

}  // namespace

std::unique_ptr<ast::File> parse(const SourceManager& sources, uint32_t file, Diagnostics& diags) {
  const std::string_view text = sources.file(file).text();
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
  TLLexer::init();
  TLParser::init();
  SyntaxReporter reporter(sources, file, diags);
  ByteStream stream(text);
  TokenFilter filter(stream, reporter);
  auto list = filter.run();
  if (list.empty()) return nullptr;

  antlr4::ListTokenSource source(std::move(list));
  antlr4::CommonTokenStream tokens(&source);
  BoundedParser parser(&tokens, reporter);
  SyntaxListener listener(reporter);
  auto strategy = std::make_shared<SyntaxRecovery>();
  parser.removeErrorListeners();
  parser.setErrorHandler(strategy);
  TLParser::FileContext* tree = nullptr;
  try {
    tree = parser.file();
  } catch (ParseCancellationException&) {}
  if (!tree && !parser.tooDeep()) {
    tokens.seek(0);
    parser.reset();
    parser.addErrorListener(&listener);
    strategy->quick = false;
    try {
      tree = parser.file();
    } catch (ParseCancellationException&) {}
  }
  if (!tree) return nullptr;
  auto result = std::make_unique<ast::File>();
  result->source = file;
  result->statements = AstBuilder(reporter, filter.takeDocs()).file(tree);
  return result;
}

}  // namespace tenc::frontend
