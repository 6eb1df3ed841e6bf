#include "frontend/habits/TrainingStatements.h"

#include <algorithm>
#include <utility>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/CertainReads.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;
using Statements = std::vector<ast::StmtPtr>;

bool isAssigned(const ast::Stmt& s, const std::string& name) {
  return s.kind == StmtKind::Assign && s.op == "=" && s.target->kind == ExprKind::Name && s.target->text == name;
}
/// `(m, s) = optim.step(s, m, g)` of that optimiser: through which no derivative goes.
bool isUpdate(const ast::Stmt& s, const std::string& optimiser) {
  if (s.kind != StmtKind::Assign || !s.value || s.value->kind != ExprKind::Call || s.value->args[0]->text != "step")
    return false;
  const auto& all = s.value->arguments;
  return !all.empty() && all[0].value && all[0].value->kind == ExprKind::Name && all[0].value->text == optimiser;
}

/// `name.method()`, with options alone, as a whole statement; the call, or null.
const ast::Expr* calledAlone(const ast::Stmt& s, std::string_view method) {
  if (s.kind != StmtKind::Expr || !s.value || s.value->kind != ExprKind::Call) return nullptr;
  const ast::Expr& callee = *s.value->args[0];
  const bool plain = callee.kind == ExprKind::Member && callee.text == method && callee.args[0]->kind == ExprKind::Name;
  const auto& all = s.value->arguments;
  const bool named = std::all_of(all.begin(), all.end(), [](const ast::Argument& a) { return a.name.has_value(); });
  return plain && named ? s.value.get() : nullptr;
}

/// Whether gradients start from nothing at each trip: `opt.zero_grad()` stands among the statements of the step.
const ast::Stmt* clearedBy(const Statements& among, const std::string& optimiser, const Model& model) {
  for (const ast::StmtPtr& s : among) {
    const ast::Expr* call = s ? calledAlone(*s, "zero_grad") : nullptr;
    if (!call) continue;
    const std::string& of = call->args[0]->args[0]->text;
    if (of == optimiser || (model.names.size() == 1 && of == model.names[0])) return s.get();
  }
  return nullptr;
}

/// The model that is written `m`, `m.parameters()` or `[x, y]`.
std::optional<Model> modelIn(const ast::Expr* m) {
  if (m && m->kind == ExprKind::Call && m->args[0]->kind == ExprKind::Member && m->args[0]->text == "parameters")
    m = m->args[0]->args[0].get();
  if (m && m->kind == ExprKind::Name) return Model{{m->text}, {}};
  if (!m || (m->kind != ExprKind::Array && m->kind != ExprKind::Tuple) || m->args.empty()) return std::nullopt;
  Model model{{}, m->kind == ExprKind::Array ? m->span : Span()};
  for (const ast::ExprPtr& part : m->args) {
    if (part->kind != ExprKind::Name) return std::nullopt;
    model.names.push_back(part->text);
  }
  return model;
}

/// That in what binds an optimiser: `optim.adam(m)`, `optim.adam([x, y])`.
std::optional<Model> modelOf(const ast::Stmt& optimiser) {
  const ast::Expr* made = optimiser.value.get();
  if (!made || made->kind != ExprKind::Call || made->arguments.empty() || made->arguments[0].name) return std::nullopt;
  return modelIn(made->arguments[0].value.get());
}

size_t placeAmong(const Statements& among, const ast::Stmt* s) {
  return static_cast<size_t>(
      std::find_if(among.begin(), among.end(), [&](const ast::StmtPtr& p) { return p.get() == s; }) - among.begin());
}

NameSet readFor(const ast::Stmt& s) { return setsVariable(s) ? namesRead(*s.value) : namesRead(s); }

/// The names whose values a statement, or those in it, bind, assign or change by a call: `xs.append(net(x))`.
NameSet changedBy(const ast::Stmt& s, const Model& model) {
  NameSet names = assignedBy(s);
  names.merge(boundBy(s));
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& part) {
    const bool calls = part.kind == StmtKind::Expr && part.value && part.value->kind == ExprKind::Call;
    const ast::Expr* root =
        calls && part.value->args[0]->kind == ExprKind::Member ? rootOf(*part.value->args[0]) : nullptr;
    const bool sets = root != nullptr && std::ranges::find(model.names, root->text) != model.names.end();
    if (root != nullptr && !sets) names.insert(root->text);  // `net.train()` changes no value
  };
  visitor.visit(s);
  return names;
}

/// Whether a statement, or one in it, gives the model another value: `w = minimum(w, 1.5)`, `w.data.mul_(0.5)`.
bool changesModel(const ast::Stmt& s, const Model& model) {
  const NameSet names(model.names.begin(), model.names.end());
  bool found = meet(assignedBy(s), names);
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const ast::Expr* changed = changedByCall(e);
    const ast::Expr* root = changed ? rootOf(*changed) : nullptr;
    found = found || (root && names.contains(root->text));
    return !found;
  };
  visitor.visit(s);
  return found;
}

/// `clip_grad_norm_(m.parameters(), 1.0)`
bool clipsNorm(const ast::Stmt& s) {
  if (s.kind != StmtKind::Expr || !s.value || s.value->kind != ExprKind::Call) return false;
  return s.value->args[0]->text == "clip_grad_norm_" || s.value->args[0]->text == "clip_grad_norm";
}

/// Whether several derivatives add up to those of the step at `u`: all behind the step before it.
bool addsUp(const Statements& among, size_t u) {
  size_t several = 0;
  for (size_t i = u; i-- > 0;) {
    if (!among[i]) continue;
    if (calledAlone(*among[i], "step")) break;
    if (calledAlone(*among[i], "backward")) ++several;
  }
  return several > 1;
}

/// Whether a statement, or one in it, takes gradients.
bool takesGradients(const ast::Stmt& s) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool called = e.kind == ExprKind::Call;
    const bool made = called && e.args[0]->kind == ExprKind::Name && e.args[0]->text == "value_and_grad";  // by an edit
    found = found || made || (called && e.args[0]->kind == ExprKind::Member && e.args[0]->text == "backward");
    return !found;
  };
  visitor.visit(s);
  return found;
}

/// Whether gradients of another loss are left in the model where it is stepped: one that depends on it is
/// differentiated after they were cleared, which in a loop may be in the trip before.
bool hasOtherGradients(const Statements& among, const Model& model, size_t backward, size_t update, size_t clears) {
  const auto isBetween = [&](size_t i) {
    return clears < update ? clears < i && i < update : i < update || clears < i;
  };
  NameSet tainted(model.names.begin(), model.names.end());
  for (size_t i = 0; i < among.size(); ++i) {
    if (!among[i] || !meet(namesRead(*among[i]), tainted)) continue;
    if (i != backward && takesGradients(*among[i]) && isBetween(i)) return true;
    tainted.merge(changedBy(*among[i], model));
  }
  return false;
}

}  // namespace

const ast::Expr* mostNorm(const ast::Stmt& s, const Model& model) {
  if (!clipsNorm(s) || s.value->arguments.size() != 2) return nullptr;
  const auto of = modelIn(s.value->arguments[0].value.get());
  const bool whole = of && std::ranges::is_permutation(of->names, model.names);
  return whole ? s.value->arguments[1].value.get() : nullptr;
}

bool setsVariable(const ast::Stmt& s) {
  return s.kind == StmtKind::Assign && s.op == "=" && s.target->kind == ExprKind::Name && s.value;
}
bool isSum(const ast::Stmt& s) {
  if (s.kind != StmtKind::For) return false;
  bool calculates = true;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& part) {
    const auto isName = [](const ast::ExprPtr& e) { return e && e->kind == ExprKind::Name; };
    const bool assigns = part.kind == StmtKind::Assign && part.target &&
                         (isName(part.target) ||
                          (part.target->kind == ExprKind::Tuple && std::ranges::all_of(part.target->args, isName)));
    calculates = calculates && (&part == &s || assigns || part.kind == StmtKind::Let || part.kind == StmtKind::For);
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    calculates = calculates && e.kind != ExprKind::Block && changedByCall(e) == nullptr;
    return calculates;
  };
  visitor.visit(s);
  return calculates && !exitsOf(s).any();
}
NameSet given(const ast::Stmt& s) { return setsVariable(s) || isSum(s) ? assignedBy(s) : boundBy(s); }

std::optional<std::vector<size_t>> Step::dependent() const {
  NameSet tainted(model.names.begin(), model.names.end()), changed;
  std::vector<size_t> all, kept;
  for (size_t i = 0; i < loss; ++i) {
    if (!among[i]) return std::nullopt;
    const ast::Stmt& s = *among[i];
    if (isUpdate(s, optimiser)) continue;
    if (changesModel(s, model)) {             // no gradient goes through it
      if (!all.empty()) return std::nullopt;  // which would be computed behind it
      continue;
    }
    if (!meet(namesRead(s), tainted)) continue;
    const bool declares = s.kind == StmtKind::Let || (s.kind == StmtKind::Var && !s.pattern.isTuple) || isSum(s);
    if (!declares && !setsVariable(s)) {
      NameSet names = changedBy(s, model);
      tainted.insert(names.begin(), names.end());
      changed.merge(names);
      continue;
    }
    tainted.merge(given(s));
    all.push_back(i);
  }
  NameSet needed = readFor(*among[loss]);
  for (size_t k = all.size(); k-- > 0;) {
    if (!meet(given(*among[all[k]]), needed)) {
      if (setsVariable(*among[all[k]])) changed.merge(assignedBy(*among[all[k]]));
      continue;
    }
    needed.merge(readFor(*among[all[k]]));
    kept.insert(kept.begin(), all[k]);
  }
  const auto changesLater = [&](size_t k) {
    for (size_t i = k + 1; i < loss; ++i)
      if (meet(changedBy(*among[i], model), readFor(*among[k]))) return true;
    return false;
  };
  for (size_t i = loss + 1; i < backward; ++i)
    if (among[i] && (changesModel(*among[i], model) || meet(changedBy(*among[i], model), needed))) return std::nullopt;
  if (meet(changed, needed) || std::any_of(kept.begin(), kept.end(), changesLater)) return std::nullopt;
  return addSums(kept) ? std::optional(kept) : std::nullopt;
}
bool Step::addSums(std::vector<size_t>& moved) const {
  NameSet sums;
  for (const size_t k : moved)
    if (isSum(*among[k])) sums.merge(assignedBy(*among[k]));
  if (sums.empty()) return true;
  NameSet declared;
  for (size_t i = 0; i < backward; ++i) {
    const ast::Stmt& s = *among[i];
    const bool isMoved = i == loss || std::ranges::find(moved, i) != moved.end();
    if (s.kind == StmtKind::Var && !s.pattern.isTuple && sums.contains(s.pattern.name.text)) {
      if (!declared.insert(s.pattern.name.text).second || !s.annotations.empty()) return false;
      if (!isMoved) moved.push_back(i);
    } else if (isMoved ? setsVariable(s) && meet(assignedBy(s), sums)
                       : meet(namesRead(s), sums) || meet(boundBy(s), sums)) {
      return false;
    }
  }
  std::ranges::sort(moved);
  return declared == sums;
}
bool Step::isRead(const std::string& read, size_t begin, size_t end, const std::vector<size_t>& moved) const {
  for (size_t k = begin; k < std::min(end, among.size()); ++k) {
    if (k == loss || std::find(moved.begin(), moved.end(), k) != moved.end() || !among[k]) continue;
    if (namesRead(*among[k]).contains(read)) return true;
  }
  return false;
}
std::string Step::readInBranch(const ast::File& file, const std::vector<size_t>& moved) const {
  if (model.names.size() < 2) return "";
  Reads reads = readsOf(file, *among[loss]);
  for (const size_t i : moved) {
    Reads part = readsOf(file, *among[i]);
    reads.always.merge(part.always);
    reads.ever.merge(part.ever);
  }
  const auto isChosen = [&](const std::string& n) { return reads.ever.contains(n) && !reads.always.contains(n); };
  const auto found = std::ranges::find_if(model.names, isChosen);
  return found == model.names.end() ? "" : *found;
}
std::optional<Step> stepAt(const ast::File& file, const ast::Expr& backward) {
  const StatementPlace at = placeIn(file, backward.span);
  if (!at.statement || !at.among || calledAlone(*at.statement, "backward") != &backward || !backward.arguments.empty())
    return std::nullopt;
  const Statements& among = *at.among;
  const std::string& loss = backward.args[0]->args[0]->text;
  const size_t b = placeAmong(among, at.statement);
  size_t l = b, u = b;
  for (size_t i = 0; i < b; ++i)
    if (among[i] && (boundBy(*among[i]).contains(loss) || isAssigned(*among[i], loss))) l = i;
  const ast::Expr* call = nullptr;
  for (size_t i = b + 1; i < among.size() && !call; ++i) {
    call = among[i] ? calledAlone(*among[i], "step") : nullptr;
    u = i;
  }
  if (l == b || b >= among.size() || !call || addsUp(among, u) || among[l]->kind == StmtKind::Var ||
      among[l]->pattern.isTuple)
    return std::nullopt;
  const std::string& optimiser = call->args[0]->args[0]->text;
  const ast::Stmt* made = boundBefore(file, optimiser, backward.span.begin);
  auto model = made ? modelOf(*made) : std::nullopt;
  if (!model) return std::nullopt;
  Step step{among, l, b, u, std::move(*model), optimiser, loss, call};
  step.clears = clearedBy(among, optimiser, step.model);
  const size_t clears = step.clears ? placeAmong(among, step.clears) : 0;
  for (size_t i = b + 1; i < u; ++i) {  // a step of nothing
    const ast::Expr* cleared = among[i] ? calledAlone(*among[i], "zero_grad") : nullptr;
    const std::string* of = cleared ? &cleared->args[0]->args[0]->text : nullptr;
    if (of && (*of == optimiser || std::ranges::find(step.model.names, *of) != step.model.names.end()))
      return std::nullopt;
  }
  if (step.clears && hasOtherGradients(among, step.model, b, u, clears)) return std::nullopt;
  const bool loops = at.outer && (at.outer->kind == StmtKind::For || at.outer->kind == StmtKind::While);
  if (loops && at.among == &at.outer->body.statements) step.block = at.outer;
  for (size_t i = b + 1; i < u; ++i)
    if (among[i] && clipsNorm(*among[i])) {
      if (!mostNorm(*among[i], step.model)) return std::nullopt;  // of some of the gradients
      step.clips = among[i].get();
    }
  return step;
}

}  // namespace tenc::frontend
