// Names, patterns, types and annotations.
#include <utility>

#include "support/Text.h"
#include "syntax/AstBuilder.h"
#include "syntax/TokenFilter.h"

namespace tenc::syntax {

using ast::TypeExpr;
using P = TLParser;

ast::Name AstBuilder::name(antlr4::tree::TerminalNode* node) {
  if (!node) return {};
  const Span s = span(node);
  return {std::string(r_.text(s)), s};
}

/// A name that a declaration makes known: `print` is reserved.
ast::Name AstBuilder::declaredName(antlr4::tree::TerminalNode* node) {
  ast::Name n = name(node);
  if (n.text == "print") { r_.report(Code::E0101, n.span, "`print` is a reserved word").label("cannot be declared"); }
  return n;
}

std::vector<ast::Name> AstBuilder::path(P::PathContext* ctx) {
  std::vector<ast::Name> names;
  if (!ctx) return names;
  for (auto* n : ctx->NAME()) names.push_back(name(n));
  return names;
}

ast::Pattern AstBuilder::pattern(P::PatternContext* ctx) {
  Level level(*this);
  ast::Pattern p;
  p.span = span(ctx);
  if (ctx->NAME()) {
    p.name = declaredName(ctx->NAME());
    return p;
  }
  p.isTuple = true;
  for (auto* e : ctx->pattern()) p.elements.push_back(pattern(e));
  if (p.elements.size() == 1 && ctx->COMMA().empty()) {  // a group
    ast::Pattern inner = std::move(p.elements[0]);
    return inner;
  }
  return p;
}

/// Two levels of left-associative operators, `* //` before `+ -`, over the flat list.
ast::TypePtr AstBuilder::type(P::TypeContext* ctx) {
  if (!ctx || broken(ctx)) return nullptr;
  Level level(*this);
  ast::TypePtr sum, product;
  char sumOp = 0, productOp = 0;
  auto combine = [&](char op, ast::TypePtr l, ast::TypePtr r) {
    auto t = makeType(TypeExpr::Kind::Binary, Span::cover(l->span, r->span));
    t->op = op;
    t->args.push_back(std::move(l));
    t->args.push_back(std::move(r));
    ++height_;
    if (tooHigh(t->span)) return makeType(TypeExpr::Kind::Int, t->span);
    return t;
  };
  for (auto* child : ctx->children) {
    if (auto* term = grammar::as<P::TypeTermContext>(child)) {
      auto t = typeTerm(term);
      if (!t) return nullptr;
      product = product ? combine(productOp, std::move(product), std::move(t)) : std::move(t);
    } else if (auto* node = grammar::tokenAt(child)) {
      switch (node->getSymbol()->getType()) {
        case P::STAR: productOp = '*'; break;
        case P::SLASHSLASH: productOp = '/'; break;
        case P::PLUS:
        case P::MINUS:
          sum = sum ? combine(sumOp, std::move(sum), std::exchange(product, nullptr)) : std::exchange(product, nullptr);
          sumOp = node->getSymbol()->getType() == P::PLUS ? '+' : '-';
          break;
        default: break;
      }
    }
  }
  if (!product) return nullptr;
  if (sum) product = combine(sumOp, std::move(sum), std::move(product));
  if (ctx->placement()) {
    product->place = placement(ctx->placement());
    product->place->span.begin = span(ctx->AT()).begin;
    product->span.end = product->place->span.end;
  }
  return product;
}

ast::TypePtr AstBuilder::typeTerm(P::TypeTermContext* ctx) {
  Level level(*this);
  Span s = span(ctx);
  if (ctx->MINUS()) s.begin = s.begin + 1;
  ast::TypePtr t;
  if (ctx->INT()) {
    t = makeType(TypeExpr::Kind::Int, s);
    t->integer = number(span(ctx->INT()));
  } else if (ctx->DEVICE_LIT()) {
    t = makeType(TypeExpr::Kind::Device, s);
    t->device = ctx->DEVICE_LIT()->getText();
  } else if (ctx->path()) {
    t = makeType(TypeExpr::Kind::Path, s);
    t->path = path(ctx->path());
    if (auto* args = ctx->typeArgs()) {
      t->hasArgs = true;
      for (auto* a : args->typeArg()) {
        auto arg = typeArg(a);
        if (!arg) return nullptr;
        t->args.push_back(std::move(arg));
      }
    }
  } else if (ctx->LPAREN()) {
    t = makeType(TypeExpr::Kind::Tuple, s);
    for (auto* e : ctx->type()) {
      auto element = type(e);
      if (!element) return nullptr;
      t->args.push_back(std::move(element));
    }
    if (t->args.size() == 1 && ctx->COMMA().empty()) {  // a group
      ast::TypePtr inner = std::move(t->args[0]);
      t = std::move(inner);
      t->span = s;
    }
  } else if (ctx->ELLIPSIS() && ctx->NAME()) {
    t = makeType(TypeExpr::Kind::ShapeOf, s);
    t->path.push_back(name(ctx->NAME()));
  } else if (ctx->LBRACK()) {
    t = makeType(TypeExpr::Kind::List, s);
    for (auto* e : ctx->type()) {
      auto part = type(e);
      if (!part) return nullptr;
      t->args.push_back(std::move(part));
    }
    if (t->args.size() != 2) return nullptr;
  } else {
    return nullptr;
  }
  if (!ctx->MINUS()) return t;
  auto negated = makeType(TypeExpr::Kind::Negate, span(ctx));
  negated->args.push_back(std::move(t));
  return negated;
}

ast::TypePtr AstBuilder::typeArg(P::TypeArgContext* ctx) {
  if (!ctx->ELLIPSIS()) return type(ctx->type());
  if (!ctx->NAME()) return nullptr;
  auto t = makeType(TypeExpr::Kind::Pack, span(ctx));
  t->path.push_back(name(ctx->NAME()));
  return t;
}

std::vector<ast::Generic> AstBuilder::generics(P::GenericsContext* ctx) {
  std::vector<ast::Generic> list;
  if (!ctx) return list;
  for (auto* g : ctx->generic()) {
    if (g->NAME().empty()) continue;
    ast::Generic& made = list.emplace_back();
    made.span = span(g);
    made.pack = g->ELLIPSIS() != nullptr;
    made.name = declaredName(g->NAME(0));
    if (g->FN()) made.kind = ast::Generic::Kind::Fn;
    if (g->DEVICE()) made.kind = ast::Generic::Kind::Device;
    if (g->NAME().size() > 1) made.kind = genericKind(name(g->NAME(1)));
    if (g->type()) made.otherwise = type(g->type());
  }
  return list;
}

ast::Generic::Kind AstBuilder::genericKind(const ast::Name& written) {
  if (const auto kind = ast::kindNamed(written.text)) return *kind;
  NearestName nearest(written.text);
  for (const auto kind : ast::kGenericKinds) nearest.consider(ast::name(kind));
  auto d = r_.report(Code::E0101, written.span, "unknown kind of type variable `" + written.text + "`");
  if (nearest.best().empty())
    d.help("the kinds are `real`, `float`, `int` and `any` for dtypes, `tree`, `device` and `fn`; a dim has none");
  else
    d.help("did you mean `" + nearest.best() + "`?", {{written.span, nearest.best()}});
  return ast::Generic::Kind::Any;
}

/// Each nests what it stands before one deeper.
std::vector<ast::Annotation> AstBuilder::annotations(const std::vector<P::AnnotationContext*>& all) {
  std::vector<ast::Annotation> some;
  for (P::AnnotationContext* a : all) {
    if (some.size() == kMaxNesting) {
      r_.report(Code::E0105, span(a), "nested deeper than " + std::to_string(kMaxNesting) + " annotations");
      break;
    }
    some.push_back(annotation(a));
  }
  return some;
}

ast::Annotation AstBuilder::annotation(P::AnnotationContext* ctx) {
  ast::Annotation a;
  if (ctx->AUTOCAST()) {
    Level level(*this);
    a.kind = ast::Annotation::Kind::Autocast;
    a.index = expr(ctx->expr());
  } else if (ctx->placement()) {
    a = placement(ctx->placement());
  }
  a.span = span(ctx);
  return a;
}

ast::Annotation AstBuilder::placement(P::PlacementContext* ctx) {
  Level level(*this);
  ast::Annotation a;
  a.span = span(ctx);
  if (ctx->DEVICE_LIT()) {
    const Span s = span(ctx->DEVICE_LIT());
    const uint32_t colon = s.begin + static_cast<uint32_t>(r_.text(s).find(':'));
    a.path.push_back({std::string(r_.text({s.file, s.begin, colon})), {s.file, s.begin, colon}});
    a.number = number({s.file, colon + 1, s.end});
    return a;
  }
  a.path = path(ctx->path());
  if (ctx->INT()) a.number = number(span(ctx->INT()));
  if (ctx->expr()) a.index = expr(ctx->expr());
  return a;
}

ast::DevicePlace AstBuilder::devicePlace(P::PlaceContext* ctx) {
  Level level(*this);
  ast::DevicePlace p;
  p.span = span(ctx);
  if (ctx->DEVICE_LIT()) {
    const Span s = span(ctx->DEVICE_LIT());
    const uint32_t colon = s.begin + static_cast<uint32_t>(r_.text(s).find(':'));
    p.name = {std::string(r_.text({s.file, s.begin, colon})), {s.file, s.begin, colon}};
    p.number = number({s.file, colon + 1, s.end});
    return p;
  }
  p.name = name(ctx->NAME());
  if (ctx->INT()) p.number = number(span(ctx->INT()));
  if (ctx->expr(0)) p.index = expr(ctx->expr(0));
  if (ctx->DOTS()) p.indexEnd = expr(ctx->expr(1));
  return p;
}

}  // namespace tenc::syntax
