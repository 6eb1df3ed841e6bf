#include "syntax/AstBuilder.h"

#include <utility>

namespace tenc::syntax {

using ast::Stmt;
using P = TLParser;

std::vector<ast::StmtPtr> AstBuilder::file(P::FileContext* ctx) {
  return ctx ? statements(ctx->statements()) : std::vector<ast::StmtPtr>{};
}

std::vector<ast::StmtPtr> AstBuilder::statements(P::StatementsContext* ctx) {
  std::vector<ast::StmtPtr> list;
  if (!ctx) return list;
  for (auto* child : ctx->children) {
    if (grammar::isExactly<antlr4::tree::ErrorNodeImpl>(*child)) {
      // Tokens that were skipped: a statement of which nothing is known.
      auto skipped = std::make_unique<Stmt>();
      skipped->span = span(grammar::tokenAt(child));
      if (list.empty() || list.back()->kind != Stmt::Kind::Error) list.push_back(std::move(skipped));
    } else if (auto* rule = grammar::ruleAt(child); rule && rule->getRuleIndex() == P::RuleStatement) {
      if (auto built = statement(static_cast<P::StatementContext*>(rule))) list.push_back(std::move(built));
    }
  }
  return list;
}

ast::Block AstBuilder::block(P::BlockContext* ctx) {
  Level level(*this);
  const Allowed outer = std::exchange(allowed_, {true, allowed_.loop, allowed_.function});
  ast::Block b;
  if (ctx) {
    b.span = span(ctx);
    b.statements = statements(ctx->statements());
    b.close = ctx->RBRACE() ? span(ctx->RBRACE()) : Span{b.span.file, b.span.end, b.span.end};
  }
  allowed_ = outer;
  return b;
}

ast::Block AstBuilder::body(P::BlockContext* ctx, Allowed inside) {
  const Allowed outer = std::exchange(allowed_, inside);
  ast::Block b = block(ctx);
  allowed_ = outer;
  return b;
}

ast::StmtPtr AstBuilder::statement(P::StatementContext* ctx) {
  if (!ctx) return nullptr;
  Level level(*this);
  auto s = std::make_unique<Stmt>();
  s->span = span(ctx);
  if (auto doc = docs_.find(s->span.begin); doc != docs_.end()) s->doc = std::move(doc->second);
  s->annotations = annotations(ctx->annotation());

  Rule* inner = nullptr;
  for (auto* child : ctx->children) {
    auto* rule = grammar::ruleAt(child);
    if (rule && rule->getRuleIndex() != P::RuleAnnotation) inner = rule;
  }
  if (!inner) return s;  // an error was reported here: Kind::Error
  if (!fillStatement(*s, inner)) s->kind = Stmt::Kind::Error;
  checkPlace(*s);
  if (s->kind == Stmt::Kind::Error) lose(*s);
  return s;
}

void AstBuilder::lose(const Stmt& s) {
  lost_.insert(s.name.text);
  for (const auto* names : {&s.path, &s.names})
    for (const ast::Name& n : *names) lost_.insert(n.text);
  const auto loseAll = [this](const auto& self, const ast::Pattern& p) -> void {
    lost_.insert(p.name.text);
    for (const ast::Pattern& e : p.elements) self(self, e);
  };
  loseAll(loseAll, s.pattern);
  if (!s.pattern.name.text.empty()) declared_.insert(s.pattern.name.text);
  if (!s.name.text.empty()) declared_.insert(s.name.text);
}

/// Fills the statement; false when its form is broken, so that only its name may be relied upon.
bool AstBuilder::fillStatement(Stmt& s, Rule* ctx) {
  using Kind = Stmt::Kind;
  switch (ctx->getRuleIndex()) {
    case P::RuleImportDecl: s.kind = Kind::Import; return fillImport(s, static_cast<P::ImportDeclContext*>(ctx));
    case P::RuleConstDecl: s.kind = Kind::Const; return fillConst(s, static_cast<P::ConstDeclContext*>(ctx));
    case P::RuleParamDecl: s.kind = Kind::Param; return fillParam(s, static_cast<P::ParamDeclContext*>(ctx));
    case P::RuleDeviceDecl: s.kind = Kind::Device; return fillDevice(s, static_cast<P::DeviceDeclContext*>(ctx));
    case P::RuleTypeDecl: s.kind = Kind::TypeAlias; return fillTypeAlias(s, static_cast<P::TypeDeclContext*>(ctx));
    case P::RuleStructDecl: s.kind = Kind::Struct; return fillStruct(s, static_cast<P::StructDeclContext*>(ctx));
    case P::RuleFnDecl: s.kind = Kind::Fn; return fillFn(s, static_cast<P::FnDeclContext*>(ctx));
    case P::RuleTestDecl: return fillTest(s, static_cast<P::TestDeclContext*>(ctx));
    case P::RuleLetStmt: {
      auto* c = static_cast<P::LetStmtContext*>(ctx);
      s.kind = Kind::Let;
      s.keyword = span(c->LET());
      return fillBinding(s, c->pattern(), c->type(), c->expr());
    }
    case P::RuleVarStmt: {
      auto* c = static_cast<P::VarStmtContext*>(ctx);
      s.kind = Kind::Var;
      s.keyword = span(c->VAR());
      return fillBinding(s, c->pattern(), c->type(), c->expr());
    }
    case P::RuleForStmt: s.kind = Kind::For; return fillFor(s, static_cast<P::ForStmtContext*>(ctx));
    case P::RuleWhileStmt: {
      auto* c = static_cast<P::WhileStmtContext*>(ctx);
      s.kind = Kind::While;
      s.lo = head(c->head());
      s.body = body(c->block(), {true, true, allowed_.function});
      return true;
    }
    case P::RuleJumpStmt:
      s.kind = static_cast<P::JumpStmtContext*>(ctx)->BREAK() ? Kind::Break : Kind::Continue;
      return true;
    case P::RuleReturnStmt: {
      auto* c = static_cast<P::ReturnStmtContext*>(ctx);
      s.kind = Kind::Return;
      if (c->expr()) s.value = expr(c->expr());
      return true;
    }
    case P::RuleAssertStmt: {
      auto* c = static_cast<P::AssertStmtContext*>(ctx);
      s.kind = Kind::Assert;
      s.value = expr(c->expr(0));
      if (c->COMMA()) s.message = expr(c->expr(1));
      return true;
    }
    case P::RuleIfExpr:
      s.kind = Kind::Expr;
      s.value = ifExpr(static_cast<P::IfExprContext*>(ctx));
      return true;
    case P::RuleBlock:
      s.kind = Kind::Expr;
      s.value = blockExpr(static_cast<P::BlockContext*>(ctx));
      return true;
    case P::RuleExprStmt: return fillExprStmt(s, static_cast<P::ExprStmtContext*>(ctx));
    default: return false;
  }
}

namespace {
/// The head of a function as a lambda that has its name; nothing where a lambda cannot say what the function does.
std::vector<Edit> asLambda(const Stmt& fn) {
  const Span body = fn.bodyIsExpr && fn.value ? fn.value->span : fn.body.span;
  if (!fn.annotations.empty() || !fn.generics.empty() || fn.type || !body.valid() || body.begin <= fn.span.begin)
    return {};
  std::string names;
  for (const ast::FnParam& p : fn.params) {
    if (p.isStatic || p.type || p.otherwise) return {};
    names += (names.empty() ? "" : ", ") + p.name.text;
  }
  return {{Span{fn.span.file, fn.span.begin, body.begin}, "let " + fn.name.text + " = |" + names + "| "}};
}
}  // namespace

/// E0108: a statement that may not stand where it stands, and annotations before what takes none.
void AstBuilder::checkPlace(Stmt& s) {
  using Kind = Stmt::Kind;
  bool declaration = false;
  bool annotatable = true;
  const char* word = "";
  switch (s.kind) {
    case Kind::Import: word = "import"; break;
    case Kind::Const: word = "const"; break;
    case Kind::Param: word = "param"; break;
    case Kind::Device: word = "device"; break;
    case Kind::TypeAlias: word = "type"; break;
    case Kind::Struct: word = "struct"; break;
    case Kind::Test: word = "test"; break;
    case Kind::Bench: word = "bench"; break;
    case Kind::Fn:
      if (!allowed_.block) return;
      r_.report(Code::E0108, s.name.span, "a function is declared at the top level only")
          .label("declared inside a block")
          .help("bind a lambda instead: `let f = |x| x + 1`", asLambda(s));
      s.kind = Kind::Error;
      return;
    case Kind::Break:
    case Kind::Continue:
      if (!allowed_.loop) {
        if (!r_.blockLost()) {
          r_.report(Code::E0108, s.span,
                    std::string("`") + (s.kind == Kind::Break ? "break" : "continue") + "` outside a loop");
        }
        s.kind = Kind::Error;
      }
      word = "a jump";
      annotatable = false;
      break;
    case Kind::Return:
      if (!allowed_.function) {
        if (!r_.blockLost()) r_.report(Code::E0108, s.span, "`return` outside a function");
        s.kind = Kind::Error;
      }
      return;
    default: return;
  }
  declaration = annotatable;
  if (declaration && allowed_.block) {
    auto d = r_.report(Code::E0108, Span{s.span.file, s.span.begin, s.span.begin},
                       std::string("`") + word + "` is allowed at the top level only");
    d.label("inside a block");
    if (s.kind == Kind::Const) {
      const auto length = static_cast<uint32_t>(std::string_view(word).size());
      d.help("in a block a number that is known is bound with `let`",
             {{Span{s.span.file, s.span.begin, s.span.begin + length}, "let"}});
    }
    s.kind = Kind::Error;
  } else if (!s.annotations.empty()) {
    r_.report(Code::E0108, s.annotations[0].span, "this statement takes no annotation")
        .help("an annotation goes before a statement that computes, a block or a function");
    s.kind = Kind::Error;
  }
}

bool AstBuilder::fillImport(Stmt& s, P::ImportDeclContext* ctx) {
  s.path = path(ctx->path());
  for (auto* n : ctx->NAME()) s.names.push_back(declaredName(n));
  return !broken(ctx) && !s.path.empty();
}

bool AstBuilder::fillConst(Stmt& s, P::ConstDeclContext* ctx) {
  s.name = declaredName(ctx->NAME());
  if (ctx->type()) s.type = type(ctx->type());
  s.value = expr(ctx->expr());
  return !s.name.text.empty();
}

bool AstBuilder::fillParam(Stmt& s, P::ParamDeclContext* ctx) {
  s.name = declaredName(ctx->NAME());
  if (ctx->type()) s.type = type(ctx->type());
  s.value = expr(ctx->expr());
  return !broken(ctx);
}

bool AstBuilder::fillDevice(Stmt& s, P::DeviceDeclContext* ctx) {
  s.name = declaredName(ctx->NAME());
  for (auto* p : ctx->place()) s.places.push_back(devicePlace(p));
  return !broken(ctx);
}

bool AstBuilder::fillTypeAlias(Stmt& s, P::TypeDeclContext* ctx) {
  s.name = declaredName(ctx->NAME());
  s.generics = generics(ctx->generics());
  s.type = type(ctx->type());
  return !broken(ctx);
}

bool AstBuilder::fillStruct(Stmt& s, P::StructDeclContext* ctx) {
  s.name = declaredName(ctx->NAME());
  s.generics = generics(ctx->generics());
  for (auto* f : ctx->field()) {
    if (!f->NAME()) continue;
    ast::Field& field = s.fields.emplace_back();
    field.state = f->STATE() != nullptr;
    field.name = declaredName(f->NAME());
    field.type = type(f->type());
  }
  return !broken(ctx);
}

bool AstBuilder::fillFn(Stmt& s, P::FnDeclContext* ctx) {
  s.name = declaredName(ctx->NAME());
  s.generics = generics(ctx->generics());
  for (auto* p : ctx->fnParam()) {
    ast::FnParam& param = s.params.emplace_back();
    param.isStatic = p->STATIC() != nullptr;
    param.name = declaredName(p->NAME());
    if (p->type()) param.type = type(p->type());
    if (p->expr()) param.otherwise = expr(p->expr());
  }
  if (ctx->type()) s.type = type(ctx->type());
  // Errors inside the body are the body's own; the declaration stands if its head does.
  const Span whole = span(ctx);
  Rule* const inner = ctx->block() ? static_cast<Rule*>(ctx->block()) : ctx->expr();
  if (!inner) return false;
  const Allowed outer = std::exchange(allowed_, {true, false, true});
  if (ctx->block()) {
    s.body = block(ctx->block());
  } else {
    s.bodyIsExpr = true;
    s.value = expr(ctx->expr());
  }
  allowed_ = outer;
  const uint32_t start = span(inner).begin;
  return !s.name.text.empty() && !ctx->exception &&
         !r_.hasProblem(Span{whole.file, whole.begin, start == 0 ? 0 : start - 1});
}

bool AstBuilder::fillTest(Stmt& s, P::TestDeclContext* ctx) {
  s.kind = ctx->TEST() ? Stmt::Kind::Test : Stmt::Kind::Bench;
  if (ctx->STRING()) {
    Span title = span(ctx->STRING());
    s.name.span = title;
    if (title.end - title.begin >= 2) s.title = unescape({title.file, title.begin + 1, title.end - 1});
  }
  s.body = body(ctx->block(), {true, false, false});
  return ctx->block() && !ctx->exception;
}

bool AstBuilder::fillBinding(Stmt& s, P::PatternContext* pat, P::TypeContext* ty, P::ExprContext* value) {
  if (!pat) return false;
  const bool bad = broken(pat);
  s.pattern = pattern(pat);
  if (ty) s.type = type(ty);
  s.value = expr(value);
  return !bad;
}

bool AstBuilder::fillFor(Stmt& s, P::ForStmtContext* ctx) {
  if (ctx->pattern()) s.pattern = pattern(ctx->pattern());
  s.isStatic = ctx->STATIC() != nullptr;
  size_t next = 0;
  s.lo = head(ctx->head(next++));
  if (ctx->DOTS()) s.hi = head(ctx->head(next++));
  if (ctx->BY()) s.by = head(ctx->head(next++));
  s.body = body(ctx->block(), {true, true, allowed_.function});
  if (s.by && !s.hi && s.lo->kind != ast::Expr::Kind::Error && s.lo->kind != ast::Expr::Kind::Call) {
    r_.report(Code::E0101, s.by->span, "`by` goes after a range").help("a step is written `for i in 0..n by 2`");
  }
  return ctx->pattern() && !broken(ctx->pattern());
}

bool AstBuilder::fillExprStmt(Stmt& s, P::ExprStmtContext* ctx) {
  auto value = first(ctx);
  if (!ctx->assignOp()) {
    s.kind = Stmt::Kind::Expr;
    s.value = std::move(value);
    return true;
  }
  s.kind = Stmt::Kind::Assign;
  s.op = ctx->assignOp()->getText();
  s.opSpan = span(ctx->assignOp());
  checkTarget(*value);
  s.target = std::move(value);
  s.value = expr(ctx->expr());
  return s.target->kind != ast::Expr::Kind::Error;
}

void AstBuilder::checkTarget(const ast::Expr& target) {
  using Kind = ast::Expr::Kind;
  switch (target.kind) {
    case Kind::Name:
    case Kind::Error: return;
    case Kind::Member:
    case Kind::Index: return checkTarget(*target.args[0]);
    case Kind::Tuple:
      if (target.args.empty()) break;
      for (const auto& e : target.args) checkTarget(*e);
      return;
    default: break;
  }
  r_.report(Code::E0101, target.span, "this cannot be assigned to")
      .label("not a name, element or field")
      .help(target.kind == Kind::Call
                ? "what a call gives is a value of its own: assign to the variable itself, or bind what the call gives "
                  "with `var`, change that and go on with it; equality is `==`"
                : "what may be assigned to: `v`, `v[i]`, `v.f`, `(a, b)`; equality is `==`");
}

Span AstBuilder::span(Rule* ctx) const {
  const antlr4::Token* start = ctx->getStart();
  const antlr4::Token* stop = ctx->getStop();
  if (!start) return r_.span(0, 0);
  Span s = r_.span(*start);
  if (!stop || stop->getTokenIndex() < start->getTokenIndex()) return {s.file, s.begin, s.begin};
  s.end = std::max(s.end, r_.span(*stop).end);
  return s;
}

ast::ExprPtr AstBuilder::make(ast::Expr::Kind kind, Span s) const {
  auto e = std::make_unique<ast::Expr>();
  e->kind = kind;
  e->span = s;
  return e;
}

ast::TypePtr AstBuilder::makeType(ast::TypeExpr::Kind kind, Span s) const {
  auto t = std::make_unique<ast::TypeExpr>();
  t->kind = kind;
  t->span = s;
  return t;
}

bool AstBuilder::tooHigh(Span s) {
  if (height_ <= kMaxHeight) return false;
  if (!std::exchange(reportedHeight_, true)) {
    r_.report(Code::E0105, s, "expression nests deeper than " + std::to_string(kMaxHeight) + " levels")
        .help("bind parts of it with `let`");
  }
  height_ = 1;
  return true;
}

}  // namespace tenc::syntax
