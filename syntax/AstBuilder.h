// From ANTLR's tree of one file to ours: operator precedence, literals, doc comments, and the rules of form that the
// grammar leaves open. Together with Parse.cpp and TokenFilter the only code that sees ANTLR.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/Children.h"
#include "grammar/TLParser.h"
#include "syntax/Ast.h"
#include "syntax/SyntaxErrors.h"

namespace tenc::syntax {

/// No tree is higher than this, for later passes recurse over it.
constexpr uint32_t kMaxHeight = 4096;

/// Builds the tree of one file. Parts with syntax errors become Error nodes; every rule context may be incomplete.
class AstBuilder {
 public:
  AstBuilder(SyntaxReporter& reporter, std::unordered_map<size_t, std::string> docs)
      : r_(reporter), docs_(std::move(docs)) {}

  std::vector<ast::StmtPtr> file(TLParser::FileContext* ctx);
  /// The next one of the file; null for null.
  ast::StmtPtr statement(TLParser::StatementContext* ctx);
  /// What statements with errors in their form would have declared.
  std::set<std::string, std::less<>> takeLost() { return std::move(lost_); }
  /// Of these, the names of functions and variables.
  std::set<std::string, std::less<>> takeDeclared() { return std::move(declared_); }

 private:
  using P = TLParser;
  using Rule = antlr4::ParserRuleContext;
  friend class OperatorFold;

  /// Which statements may stand where we are.
  struct Allowed {
    bool block = false;
    bool loop = false;
    bool function = false;
  };

  /// Adds one to the height of what is built during its life, beside siblings built before.
  class Level {
   public:
    explicit Level(AstBuilder& b) : b_(b), before_(b.height_) { b.height_ = 0; }
    ~Level() { b_.height_ = std::max(before_, b_.height_ + 1); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    AstBuilder& b_;
    uint32_t before_;
  };

  // Statements and declarations: AstBuilder.cpp
  std::vector<ast::StmtPtr> statements(P::StatementsContext* ctx);
  ast::Block block(P::BlockContext* ctx);
  ast::Block body(P::BlockContext* ctx, Allowed inside);
  bool fillStatement(ast::Stmt& s, Rule* ctx);
  void lose(const ast::Stmt& s);
  void checkPlace(ast::Stmt& s);
  bool fillImport(ast::Stmt& s, P::ImportDeclContext* ctx);
  bool fillConst(ast::Stmt& s, P::ConstDeclContext* ctx);
  bool fillParam(ast::Stmt& s, P::ParamDeclContext* ctx);
  bool fillDevice(ast::Stmt& s, P::DeviceDeclContext* ctx);
  bool fillTypeAlias(ast::Stmt& s, P::TypeDeclContext* ctx);
  bool fillStruct(ast::Stmt& s, P::StructDeclContext* ctx);
  bool fillFn(ast::Stmt& s, P::FnDeclContext* ctx);
  bool fillTest(ast::Stmt& s, P::TestDeclContext* ctx);
  bool fillBinding(ast::Stmt& s, P::PatternContext* pattern, P::TypeContext* type, P::ExprContext* value);
  bool fillFor(ast::Stmt& s, P::ForStmtContext* ctx);
  bool fillExprStmt(ast::Stmt& s, P::ExprStmtContext* ctx);
  void checkTarget(const ast::Expr& target);

  // Names, patterns, types, annotations: AstBuilderType.cpp
  ast::Name name(antlr4::tree::TerminalNode* node);
  ast::Name declaredName(antlr4::tree::TerminalNode* node);
  std::vector<ast::Name> path(P::PathContext* ctx);
  ast::Pattern pattern(P::PatternContext* ctx);
  ast::TypePtr type(P::TypeContext* ctx);
  ast::TypePtr typeTerm(P::TypeTermContext* ctx);
  ast::TypePtr typeArg(P::TypeArgContext* ctx);
  std::vector<ast::Generic> generics(P::GenericsContext* ctx);
  ast::Generic::Kind genericKind(const ast::Name& written);
  std::vector<ast::Annotation> annotations(const std::vector<P::AnnotationContext*>& all);
  ast::Annotation annotation(P::AnnotationContext* ctx);
  ast::Annotation placement(P::PlacementContext* ctx);
  ast::DevicePlace devicePlace(P::PlaceContext* ctx);

  // Expressions: AstBuilderExpr.cpp
  ast::ExprPtr expr(P::ExprContext* ctx);
  ast::ExprPtr head(P::HeadContext* ctx);
  ast::ExprPtr first(P::ExprStmtContext* ctx);
  ast::ExprPtr operators(Rule* ctx);
  ast::ExprPtr operand(Rule* ctx);
  ast::ExprPtr postfix(ast::ExprPtr base, P::PostfixContext* ctx);
  ast::ExprPtr structLiteral(ast::ExprPtr callee, P::FieldsContext* ctx);
  ast::Argument argument(P::ArgContext* ctx, const ast::Expr& callee);
  ast::Subscript subscript(P::SubscriptContext* ctx);
  ast::ExprPtr atom(P::AtomContext* ctx);
  ast::ExprPtr braced(P::BracedContext* ctx);
  ast::ExprPtr ifExpr(P::IfExprContext* ctx);
  ast::ExprPtr blockExpr(P::BlockContext* ctx);
  ast::ExprPtr lambda(P::LambdaContext* ctx);

  // Literals: AstBuilderLiteral.cpp
  ast::ExprPtr intLiteral(Span s);
  ast::ExprPtr floatLiteral(Span s);
  ast::ExprPtr stringLiteral(P::StringContext* ctx);
  std::string unescape(Span s);
  /// The number in `s`, digits with `_`; reports when it does not fit i64.
  int64_t number(Span s);

  Span span(Rule* ctx) const;
  Span span(antlr4::tree::TerminalNode* node) const { return r_.span(*node->getSymbol()); }
  bool broken(Rule* ctx) const { return !ctx || ctx->exception || r_.hasProblem(span(ctx)); }
  ast::ExprPtr make(ast::Expr::Kind kind, Span s) const;
  ast::ExprPtr error(Span s) const { return make(ast::Expr::Kind::Error, s); }
  ast::TypePtr makeType(ast::TypeExpr::Kind kind, Span s) const;
  /// Reports, once a file, that what was just built is too high; it is to be replaced then.
  bool tooHigh(Span s);

  SyntaxReporter& r_;
  std::unordered_map<size_t, std::string> docs_;
  Allowed allowed_;
  uint32_t height_ = 0;  ///< of the highest tree built in the current Level
  bool reportedHeight_ = false;
  std::set<std::string, std::less<>> lost_, declared_;
};

}  // namespace tenc::syntax
