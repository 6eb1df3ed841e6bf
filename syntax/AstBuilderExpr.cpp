// Expressions: precedence climbing over the grammar's flat lists, with an explicit stack.
#include <utility>

#include "syntax/AstBuilder.h"

namespace tenc::syntax {

using ast::Expr;
using ast::ExprPtr;
using P = TLParser;

namespace {

constexpr int kNot = 4, kCompare = 5, kNegate = 8, kPower = 9;

int precedence(size_t token) {
  switch (token) {
    case P::PIPE: return 1;
    case P::OR: return 2;
    case P::AND: return 3;
    case P::EQ:
    case P::NE:
    case P::LT:
    case P::LE:
    case P::GT:
    case P::GE: return kCompare;
    case P::PLUS:
    case P::MINUS: return 6;
    case P::STARSTAR: return kPower;
    default: return 7;  // * / // % @
  }
}

bool isNumber(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

/// Operands and operators of one flat list, reduced as their precedences allow. The stack is explicit, so a list of any
/// length costs no recursion.
class OperatorFold {
 public:
  explicit OperatorFold(AstBuilder& builder) : b_(builder) {}

  void value(ExprPtr e, uint32_t height) { values_.push_back({std::move(e), height}); }

  void prefix(size_t token, Span at) {
    const bool isNot = token == P::NOT;
    if (isNot && !ops_.empty() && ops_.back().level > kNot) {
      b_.r_.report(Code::E0101, at, "`not` needs parentheses here")
          .label(ops_.back().span, "binds tighter than `not`")
          .help("write `(not x)`");
      failed_ = true;
    }
    ops_.push_back({isNot ? "not" : "-", at, isNot ? kNot : kNegate, true});
  }

  void binary(size_t token, Span at) {
    const int level = precedence(token);
    while (!ops_.empty() && (ops_.back().level > level || (ops_.back().level == level && level != kPower))) {
      if (level == kCompare && ops_.back().level == kCompare) chain(at);
      reduce();
    }
    ops_.push_back({std::string(b_.r_.text(at)), at, level, false});
  }

  /// The whole expression; leaves its height in the builder.
  ExprPtr finish(Span whole) {
    while (!ops_.empty()) reduce();
    if (values_.size() != 1) return b_.error(whole);  // after a syntax error
    if (chain_.valid()) reportChain(whole);
    b_.height_ = failed_ ? 1 : values_.back().height;
    return failed_ ? b_.error(whole) : std::move(values_.back().expr);
  }

 private:
  struct Value {
    ExprPtr expr;
    uint32_t height;
  };
  struct Op {
    std::string text;
    Span span;
    int level;
    bool unary;
  };

  void chain(Span at) {
    if (chain_.valid()) return;
    chain_ = at;
    chainBefore_ = ops_.back().span;
    if (!values_.empty()) middle_ = values_.back().expr->span;
  }

  void reportChain(Span) {
    auto d = b_.r_.report(Code::E0101, chain_, "comparisons do not chain");
    d.label("second comparison").label(chainBefore_, "first comparison");
    if (middle_.valid()) {
      const Span after{middle_.file, middle_.end, middle_.end};
      std::vector<Edit> edits{{after, " and " + std::string(b_.r_.text(middle_))}};
      if (const Span all = denied(*values_.back().expr); all.valid()) {
        edits.insert(edits.begin(), {Span{all.file, all.begin, all.begin}, "("});
        edits.push_back({Span{all.file, all.end, all.end}, ")"});
      }
      d.help("join two comparisons with `and`", std::move(edits));
    }
    failed_ = true;
  }

  /// `a < b < c` in `not a < b < c`, where these are the comparisons that were found.
  Span denied(const Expr& e) const {
    const bool holds = e.span.begin <= chainBefore_.begin && chain_.end <= e.span.end;
    if (!holds) return {};
    if (e.kind == Expr::Kind::Unary && e.text == "not" && e.args[0]->kind == Expr::Kind::Binary) {
      const Expr* left = e.args[0].get();
      while (left->kind == Expr::Kind::Binary && !left->grouped && left->opSpan != chainBefore_)
        left = left->args[0].get();
      if (left->opSpan == chainBefore_ && !e.args[0]->grouped) return e.args[0]->span;
    }
    for (const ExprPtr& part : e.args)
      if (const Span found = denied(*part); found.valid()) return found;
    return {};
  }

  void reduce() {
    Op op = std::move(ops_.back());
    ops_.pop_back();
    const size_t operands = op.unary ? 1 : 2;
    if (values_.size() < operands) {
      failed_ = true;
      return;
    }
    auto e = b_.make(op.unary ? Expr::Kind::Unary : Expr::Kind::Binary, op.span);
    e->text = std::move(op.text);
    e->opSpan = op.span;
    uint32_t height = 0;
    for (size_t i = values_.size() - operands; i < values_.size(); ++i) {
      height = std::max(height, values_[i].height);
      e->span = Span::cover(e->span, values_[i].expr->span);
      e->args.push_back(std::move(values_[i].expr));
    }
    values_.resize(values_.size() - operands);
    b_.height_ = height + 1;
    if (b_.tooHigh(e->span)) e = b_.error(e->span);
    values_.push_back({std::move(e), b_.height_});
  }

  AstBuilder& b_;
  std::vector<Value> values_;
  std::vector<Op> ops_;
  Span chain_, chainBefore_, middle_;
  bool failed_ = false;
};

ExprPtr AstBuilder::expr(P::ExprContext* ctx) {
  if (!ctx) {
    auto e = error(r_.span(0, 0));
    return e;
  }
  if (broken(ctx)) return error(span(ctx));
  if (ctx->lambda()) return lambda(ctx->lambda());
  return operators(ctx);
}

ExprPtr AstBuilder::head(P::HeadContext* ctx) {
  if (!ctx) return error(r_.span(0, 0));
  return broken(ctx) ? error(span(ctx)) : operators(ctx);
}

/// The expression that opens a statement, without what is assigned to it.
ExprPtr AstBuilder::first(P::ExprStmtContext* ctx) {
  Span s = span(ctx);
  if (ctx->assignOp()) s.end = span(ctx->assignOp()).begin;
  if (ctx->exception || r_.hasProblem(s)) return error(s);
  return operators(ctx);
}

/// `ctx` is an Expr, Head or ExprStmt: a flat list of operands and binary operators.
ExprPtr AstBuilder::operators(Rule* ctx) {
  const uint32_t siblings = std::exchange(height_, 0);
  OperatorFold fold(*this);
  auto takeOperand = [&](Rule* operandCtx) {
    for (auto* child : operandCtx->children) {
      auto* prefix = grammar::as<P::PrefixContext>(child);
      if (!prefix) break;
      fold.prefix(prefix->getStart()->getType(), span(prefix));
    }
    height_ = 0;
    auto e = operand(operandCtx);
    fold.value(std::move(e), height_);
  };
  for (auto* child : ctx->children) {
    auto* rule = grammar::ruleAt(child);
    if (!rule) continue;
    switch (rule->getRuleIndex()) {
      case P::RuleFirst: {
        auto* f = static_cast<P::FirstContext*>(rule);
        auto* prefix = f->NOT() ? f->NOT() : f->LEADING_MINUS();
        if (prefix) fold.prefix(prefix->getSymbol()->getType(), span(prefix));
        if (!prefix)
          takeOperand(f);
        else if (f->operand())
          takeOperand(f->operand());
        break;
      }
      case P::RuleOperand:
      case P::RuleHeadOperand: takeOperand(rule); break;
      case P::RuleBinary: fold.binary(rule->getStart()->getType(), span(rule)); break;
      default: break;  // the assignment of an ExprStmt
    }
  }
  auto e = fold.finish(span(ctx));
  height_ = std::max(siblings, height_);
  return e;
}

/// An Operand, HeadOperand or First without its prefixes. Expects height_ to be 0 and leaves the operand's own there.
ExprPtr AstBuilder::operand(Rule* ctx) {
  ExprPtr e;
  for (auto* child : ctx->children) {
    auto* rule = grammar::ruleAt(child);
    if (!rule) continue;
    switch (rule->getRuleIndex()) {
      case P::RuleAtom: e = atom(static_cast<P::AtomContext*>(rule)); break;
      case P::RuleBraced: e = braced(static_cast<P::BracedContext*>(rule)); break;
      case P::RulePostfix:
        if (!e) return error(span(ctx));
        e = postfix(std::move(e), static_cast<P::PostfixContext*>(rule));
        ++height_;
        break;
      case P::RuleFields:
        if (!e) return error(span(ctx));
        e = structLiteral(std::move(e), static_cast<P::FieldsContext*>(rule));
        ++height_;
        break;
      default: break;
    }
    if (e && tooHigh(e->span)) e = error(e->span);
  }
  return e ? std::move(e) : error(span(ctx));
}

ExprPtr AstBuilder::postfix(ExprPtr base, P::PostfixContext* ctx) {
  const Span whole = Span::cover(base->span, span(ctx));
  if (auto* member = ctx->memberName()) {
    auto e = make(Expr::Kind::Member, whole);
    e->opSpan = span(member);
    e->text = std::string(r_.text(e->opSpan));
    if (member->INT() && !isNumber(e->text)) {
      r_.report(Code::E0101, e->opSpan, "`" + e->text + "` is not a tuple index");
      return error(whole);
    }
    e->args.push_back(std::move(base));
    return e;
  }
  if (ctx->LPAREN()) {
    auto e = make(Expr::Kind::Call, whole);
    e->opSpan = span(ctx);
    for (auto* a : ctx->arg()) e->arguments.push_back(argument(a, *base));
    e->args.push_back(std::move(base));
    return e;
  }
  if (ctx->RBRACK()) {
    auto e = make(Expr::Kind::Index, whole);
    e->opSpan = span(ctx);
    for (auto* s : ctx->subscript()) e->subscripts.push_back(subscript(s));
    e->args.push_back(std::move(base));
    return e;
  }
  return error(whole);
}

ExprPtr AstBuilder::structLiteral(ExprPtr callee, P::FieldsContext* ctx) {
  const Span whole = Span::cover(callee->span, span(ctx));
  const Expr* head = callee.get();
  if (head->kind == Expr::Kind::Index) head = head->args[0].get();
  while (head->kind == Expr::Kind::Member) head = head->args[0].get();
  if (head->kind != Expr::Kind::Name && head->kind != Expr::Kind::Error) {
    r_.report(Code::E0101, callee->span, "write the fields of a struct after its name")
        .label("not the name of a struct");
    return error(whole);
  }
  auto e = make(Expr::Kind::Struct, whole);
  e->opSpan = span(ctx);
  for (auto* f : ctx->fieldInit()) {
    if (!f->NAME()) continue;
    auto value = expr(f->expr());
    e->fields.push_back({name(f->NAME()), std::move(value)});
  }
  e->args.push_back(std::move(callee));
  return e;
}

ast::Argument AstBuilder::argument(P::ArgContext* ctx, const Expr& callee) {
  Level level(*this);
  ast::Argument a;
  a.span = span(ctx);
  auto value = expr(ctx->expr(0));
  if (ctx->COLON()) {
    a.equals = ctx->COLON()->getText() == "=";
    if (value->kind == Expr::Kind::Name) {
      a.name = ast::Name{value->text, value->span};
    } else if (value->kind != Expr::Kind::Error) {
      r_.report(Code::E0101, value->span, "a named argument starts with a name").label("not a name");
    }
    a.value = expr(ctx->expr(1));
    return a;
  }
  a.value = std::move(value);
  if (ctx->DOTS()) {
    a.rangeEnd = expr(ctx->expr(1));
    if (callee.kind != Expr::Kind::Name || callee.text != "rev") {
      r_.report(Code::E0101, span(ctx->DOTS()), "a range is allowed in `for` and in `rev(...)` only")
          .help("the numbers of a range as a tensor are `arange(a, b)`");
      a.value = error(a.span);
      a.rangeEnd = nullptr;
    }
  }
  return a;
}

ast::Subscript AstBuilder::subscript(P::SubscriptContext* ctx) {
  Level level(*this);
  ast::Subscript s;
  s.span = span(ctx);
  if (ctx->ELLIPSIS()) {
    s.kind = ast::Subscript::Kind::Ellipsis;
  } else if (ctx->NEW()) {
    s.kind = ast::Subscript::Kind::New;
  } else if (ctx->COLON_PLUS()) {
    s.kind = ast::Subscript::Kind::Window;
    s.index = expr(ctx->expr(0));
    s.size = expr(ctx->expr(1));
  } else if (auto* tail = ctx->sliceTail()) {
    s.kind = ast::Subscript::Kind::Slice;
    if (!ctx->expr().empty()) s.lo = expr(ctx->expr(0));
    int colons = 0;
    for (auto* child : tail->children) {
      if (auto* e = grammar::as<P::ExprContext>(child))
        (colons == 1 ? s.hi : s.step) = expr(e);
      else
        ++colons;
    }
  } else {
    s.index = expr(ctx->expr(0));
  }
  return s;
}

ExprPtr AstBuilder::atom(P::AtomContext* ctx) {
  Level level(*this);
  const Span s = span(ctx);
  if (ctx->string()) return stringLiteral(ctx->string());
  if (ctx->LPAREN() || ctx->LBRACK()) {
    const bool group = ctx->LPAREN() && ctx->expr().size() == 1 && ctx->COMMA().empty();
    if (group) {
      auto inner = expr(ctx->expr(0));
      inner->span = s;  // with the parentheses, so that a fix may put `.to(d)` behind
      inner->grouped = true;
      return inner;
    }
    auto e = make(ctx->LPAREN() ? Expr::Kind::Tuple : Expr::Kind::Array, s);
    for (auto* x : ctx->expr()) e->args.push_back(expr(x));
    return e;
  }
  if (ctx->children.empty() || s.begin == s.end) return error(s);
  switch (ctx->getStart()->getType()) {
    case P::INT: return intLiteral(s);
    case P::FLOAT: return floatLiteral(s);
    case P::NAME:
    case P::DEVICE_LIT: {
      auto e = make(ctx->NAME() ? Expr::Kind::Name : Expr::Kind::Device, s);
      e->text = std::string(r_.text(s));
      return e;
    }
    case P::TRUE:
    case P::FALSE: {
      auto e = make(Expr::Kind::Bool, s);
      e->boolean = ctx->TRUE() != nullptr;
      return e;
    }
    default: return error(s);
  }
}

ExprPtr AstBuilder::braced(P::BracedContext* ctx) {
  if (ctx->ifExpr()) return ifExpr(ctx->ifExpr());
  if (!ctx->block()) return error(span(ctx));
  auto e = blockExpr(ctx->block());
  e->annotations = annotations(ctx->annotation());
  e->span = Span::cover(span(ctx), e->span);
  return e;
}

ExprPtr AstBuilder::blockExpr(P::BlockContext* ctx) {
  Level level(*this);
  auto e = make(Expr::Kind::Block, span(ctx));
  e->blocks.push_back(block(ctx));
  return e;
}

ExprPtr AstBuilder::ifExpr(P::IfExprContext* ctx) {
  Level level(*this);
  auto e = make(Expr::Kind::If, span(ctx));
  for (auto* h : ctx->head()) e->args.push_back(head(h));
  for (auto* b : ctx->block()) e->blocks.push_back(block(b));
  if (e->args.empty() || e->blocks.size() < e->args.size()) return error(e->span);
  if (e->blocks.size() > e->args.size() + 1) {
    r_.report(Code::E0101, e->blocks[e->args.size() + 1].span, "a second `else` follows the last one")
        .label("it is not clear which `if` this belongs to");
    return error(e->span);
  }
  return e;
}

ExprPtr AstBuilder::lambda(P::LambdaContext* ctx) {
  Level level(*this);
  auto e = make(Expr::Kind::Lambda, span(ctx));
  for (auto* p : ctx->lambdaParam()) {
    ast::LambdaParam& param = e->params.emplace_back();
    if (p->pattern()) param.pattern = pattern(p->pattern());
    if (p->type()) param.type = type(p->type());
  }
  const Allowed outer = std::exchange(allowed_, {true, false, true});
  e->body = expr(ctx->expr());
  allowed_ = outer;
  return e;
}

}  // namespace tenc::syntax
