#include "frontend/names/Scan.h"

#include <algorithm>
#include <string_view>

namespace tenc::frontend {

bool holds(Span outer, Span part) {
  return outer.file == part.file && outer.begin <= part.begin && part.end <= outer.end;
}

void TreeVisitor::visit(const ast::File& f) const {
  for (const ast::StmtPtr& s : f.statements)
    if (s && (!within.valid() || holds(s->span, within))) visit(*s);
}

void TreeVisitor::visit(const ast::Block& b) const {
  for (const auto& s : b.statements) {
    if (s) visit(*s);
  }
}

void TreeVisitor::visit(const ast::Stmt& s) const {
  if (within.valid() && !holds(s.span, within)) return;
  if (onStatement) onStatement(s);
  visit(s.value);
  visit(s.message);
  visit(s.target);
  visit(s.lo);
  visit(s.hi);
  visit(s.by);
  visit(s.body);
  for (const auto& a : s.annotations) visit(a.index);
}

void TreeVisitor::visit(const ast::Expr& e) const {
  if (within.valid() && !holds(e.span, within)) return;
  if (onExpression && !onExpression(e)) return;
  for (const auto& a : e.args) visit(a);
  for (const auto& a : e.arguments) {
    visit(a.value);
    visit(a.rangeEnd);
  }
  for (const auto& s : e.subscripts) {
    visit(s.index);
    visit(s.lo);
    visit(s.hi);
    visit(s.step);
    visit(s.size);
  }
  for (const auto& f : e.fields) visit(f.value);
  for (const auto& p : e.pieces) visit(p.hole);
  for (const auto& a : e.annotations) visit(a.index);
  for (const auto& b : e.blocks) visit(b);
  visit(e.body);
}

const ast::Expr& rootOfMember(const ast::Expr& member) {
  const ast::Expr* root = &member;
  while (root->kind == ast::Expr::Kind::Member) root = root->args[0].get();
  return *root;
}

std::string pathOf(const ast::Expr& e) {
  if (e.kind == ast::Expr::Kind::Name) return e.text;
  if (e.kind != ast::Expr::Kind::Member) return {};
  const std::string base = pathOf(*e.args[0]);
  return base.empty() ? base : base + "." + e.text;
}

const ast::Expr* rootOf(const ast::Expr& target) {
  const ast::Expr* e = &target;
  while (e->kind == ast::Expr::Kind::Index || e->kind == ast::Expr::Kind::Member) e = e->args[0].get();
  return e->kind == ast::Expr::Kind::Name ? e : nullptr;
}

std::optional<bool> boolWritten(const ast::Expr& e) {
  if (e.kind == ast::Expr::Kind::Bool) return e.boolean;
  if (e.kind != ast::Expr::Kind::Name || (e.text != "True" && e.text != "False")) return std::nullopt;
  return e.text == "True";
}

void indicesOf(const ast::Expr& target, std::vector<const ast::Expr*>& indices) {
  if (target.kind != ast::Expr::Kind::Index && target.kind != ast::Expr::Kind::Member) return;
  indicesOf(*target.args[0], indices);
  for (const ast::Subscript& s : target.subscripts) {
    for (const ast::ExprPtr* x : {&s.index, &s.lo, &s.hi, &s.step, &s.size})
      if (*x) indices.push_back(x->get());
  }
}

namespace {
void addTargets(const ast::Expr& target, std::set<std::string>& names) {
  if (target.kind == ast::Expr::Kind::Tuple) {
    for (const auto& e : target.args) addTargets(*e, names);
  } else if (const ast::Expr* root = rootOf(target)) {
    names.insert(root->text);
  }
}

TreeVisitor assignmentVisitor(std::set<std::string>& names) {
  TreeVisitor v;
  v.onStatement = [&names](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.target) addTargets(*s.target, names);
  };
  return v;
}
}  // namespace

void assignedNames(const ast::Stmt& s, std::set<std::string>& names) { assignmentVisitor(names).visit(s); }

namespace {
bool binds(const ast::Pattern& p, std::string_view name) {
  if (!p.isTuple) return p.name.text == name;
  return std::any_of(p.elements.begin(), p.elements.end(), [&](const ast::Pattern& e) { return binds(e, name); });
}
}  // namespace

const ast::Stmt* scriptVariable(const ast::File* file, std::string_view name) {
  if (!file) return nullptr;
  for (const auto& s : file->statements) {
    if (!s || (s->kind != ast::Stmt::Kind::Let && s->kind != ast::Stmt::Kind::Var)) continue;
    if (binds(s->pattern, name)) return s.get();
  }
  return nullptr;
}

namespace {
void merge(Exits& into, Exits from) {
  into.breaks |= from.breaks;
  into.continues |= from.continues;
  into.returns |= from.returns;
  if (!into.breakAt.valid()) into.breakAt = from.breakAt;
  if (!into.returnAt.valid()) into.returnAt = from.returnAt;
  if (!into.returned.valid()) into.returned = from.returned;
}
}  // namespace

Exits exitsOf(const ast::Block& b) {
  Exits r;
  for (const auto& s : b.statements) {
    if (s) merge(r, exitsOf(*s));
  }
  return r;
}

Exits exitsOf(const ast::Stmt& s) {
  Exits r;
  using Kind = ast::Stmt::Kind;
  switch (s.kind) {
    case Kind::Break:
      r.breaks = true;
      r.breakAt = s.span;
      break;
    case Kind::Continue: r.continues = true; break;
    case Kind::Return:
      r.returns = true;
      r.returnAt = s.span;
      if (s.value) r.returned = s.value->span;
      break;
    case Kind::For:
    case Kind::While: {
      const Exits inner = exitsOf(s.body);
      r.returns = inner.returns;
      r.returnAt = inner.returnAt;
      r.returned = inner.returned;
      break;
    }
    case Kind::Expr:
    case Kind::Let:
    case Kind::Var:
    case Kind::Assign:
    case Kind::Assert:
      if (s.value) r = exitsOf(*s.value);
      if (s.target) {
        std::vector<const ast::Expr*> indices;
        indicesOf(*s.target, indices);
        for (const ast::Expr* index : indices) merge(r, exitsOf(*index));
      }
      break;
    default: break;
  }
  return r;
}

void operandsOf(const ast::Expr& e, const std::function<void(const ast::Expr&)>& f) {
  auto one = [&f](const ast::ExprPtr& x) {
    if (x) f(*x);
  };
  using Kind = ast::Expr::Kind;
  if (e.kind == Kind::If || e.kind == Kind::Block || e.kind == Kind::Lambda) return;
  for (const auto& a : e.args) one(a);
  for (const auto& a : e.arguments) {
    one(a.value);
    one(a.rangeEnd);
  }
  for (const auto& s : e.subscripts) {
    for (const ast::ExprPtr* x : {&s.index, &s.lo, &s.hi, &s.step, &s.size}) one(*x);
  }
  for (const auto& field : e.fields) one(field.value);
  for (const auto& p : e.pieces) one(p.hole);
}

const ast::Expr* firstExit(const ast::Expr& e, const std::function<bool(const ast::Expr&)>& done,
                           std::vector<const ast::Expr*>& before) {
  using Kind = ast::Expr::Kind;
  if (done(e)) return nullptr;
  if (e.kind == Kind::If || e.kind == Kind::Block) return exitsOf(e).any() ? &e : nullptr;
  const bool shortCircuits = e.kind == Kind::Binary && (e.text == "and" || e.text == "or");
  std::vector<const ast::Expr*> operands;
  operandsOf(e, [&](const ast::Expr& x) { operands.push_back(&x); });
  if (shortCircuits) operands.resize(1);
  for (size_t i = 0; i < operands.size(); ++i) {
    const size_t known = before.size();
    if (const ast::Expr* found = firstExit(*operands[i], done, before)) {
      std::vector<const ast::Expr*> earlier;
      for (size_t k = 0; k < i; ++k) {
        const bool callee = k == 0 && (e.kind == Kind::Call || e.kind == Kind::Struct || e.text == "|>");
        const ast::Expr* x = operands[k];
        if (callee && e.kind != Kind::Binary) x = x->kind == Kind::Member ? x->args[0].get() : nullptr;
        if (x && x->kind != Kind::Lambda && !done(*x)) earlier.push_back(x);
      }
      before.insert(before.begin() + static_cast<std::ptrdiff_t>(known), earlier.begin(), earlier.end());
      return found;
    }
  }
  return nullptr;
}

Exits exitsOf(const ast::Expr& e) {
  Exits r;
  if (e.kind == ast::Expr::Kind::If || e.kind == ast::Expr::Kind::Block) {
    for (const auto& b : e.blocks) merge(r, exitsOf(b));
  }
  operandsOf(e, [&r](const ast::Expr& x) { merge(r, exitsOf(x)); });
  return r;
}

namespace {
constexpr int kMostWays = 1000;

int waysThrough(const ast::Block& b) {
  int ways = 1;
  for (const auto& s : b.statements) {
    if (!s) continue;
    using Kind = ast::Stmt::Kind;
    if (s->kind == Kind::Break || s->kind == Kind::Continue || s->kind == Kind::Return) return 0;
    if (s->kind == Kind::For || s->kind == Kind::While || !exitsOf(*s).any()) continue;
    const bool whole = s->kind == Kind::Expr && s->value;
    ways = std::min(ways * (whole ? waysOn(*s->value) : 2), kMostWays);
  }
  return ways;
}
}  // namespace

int waysOn(const ast::Expr& e) {
  if (e.kind == ast::Expr::Kind::Block) return waysThrough(e.blocks[0]);
  if (e.kind != ast::Expr::Kind::If) return exitsOf(e).any() ? 2 : 1;
  int ways = e.blocks.size() > e.args.size() ? 0 : 1;
  for (const ast::Block& b : e.blocks) ways = std::min(ways + waysThrough(b), kMostWays);
  return ways;
}

void namesInShapes(const ast::TypeExpr& t, bool inShape, std::set<std::string, std::less<>>& names) {
  using Kind = ast::TypeExpr::Kind;
  if (inShape && t.kind == Kind::Path && t.path.size() == 1 && !t.hasArgs) names.insert(t.path[0].text);
  for (size_t i = 0; i < t.args.size(); ++i) {
    const bool element = t.kind == Kind::Tuple || (t.kind == Kind::List && i == 0);
    namesInShapes(*t.args[i], inShape || !element, names);
  }
}

}  // namespace tenc::frontend
