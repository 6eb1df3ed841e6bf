#include "frontend/habits/UntrainedTensors.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "frontend/habits/GradientCuts.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

constexpr std::string_view kFlag = "requires_grad", kSetter = "requires_grad_", kKeeps = "retain_grad";

bool isFalse(const ast::Expr& e) { return boolWritten(e) == false; }

/// `x.requires_grad_()`, but not `x.requires_grad_(False)`.
bool asksForGradient(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  const bool sets = callee.kind == ExprKind::Member && callee.text == kSetter;
  const bool keeps = callee.kind == ExprKind::Member && callee.text == kKeeps;
  const bool makes = callee.text == "Parameter";
  return keeps || ((sets || makes) && std::ranges::none_of(call.arguments, [](const ast::Argument& a) {
                     return a.value && isFalse(*a.value);
                   }));
}

/// Whether an expression, or a part of it, is a tensor that has a gradient.
bool hasGradient(const ast::Expr& e) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& part) {
    found = found || (part.kind == ExprKind::Call && asksForGradient(part));
    for (const ast::Argument& a : part.arguments)
      found = found || (a.name && a.name->text == kFlag && a.value && !isFalse(*a.value));
    return !found;
  };
  visitor.visit(e);
  return found;
}

/// Whether a statement says of a tensor that exists that it has a gradient: `x.requires_grad = True`.
bool setsFlag(const ast::Stmt& s) {
  return s.kind == StmtKind::Assign && s.target && s.target->kind == ExprKind::Member && s.target->text == kFlag &&
         s.value && !isFalse(*s.value);
}

class Untrained {
 public:
  explicit Untrained(const ast::File& file) : file_(file) {}

  std::optional<UntrainedTensor> find() {
    if (!isTrained(file_) || !namesTorch() || !saysWhatIsTrained()) return std::nullopt;
    for (const ast::Expr* asked : askedOf())
      if (const ast::Stmt* binding = withoutGradient(*asked))
        return UntrainedTensor{binding->span,
                               "PyTorch computes no gradient of `" + asked->text +
                                   "`, which has no `requires_grad`, or is detached: its `grad` is `None`, and an "
                                   "optimiser leaves it as it is; take it out, or let it have one where it is to be "
                                   "trained"};
    return std::nullopt;
  }

 private:
  bool namesTorch() const { return imports(file_, "torch") || librariesOf(file_).torch; }

  bool saysWhatIsTrained() const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { found = found || setsFlag(s); };
    visitor.onExpression = [&](const ast::Expr& e) {
      found = found || hasGradient(e);
      return false;  // its parts were looked at
    };
    visitor.visit(file_);
    return found;
  }

  /// The names whose gradients are read, and those that optimisers are given one by one.
  std::vector<const ast::Expr*> askedOf() const {
    std::vector<const ast::Expr*> names;
    NameSet lists;  // `params = [w, b]`
    const auto add = [&](const ast::Expr& list) {
      if (list.kind != ExprKind::Array && list.kind != ExprKind::Tuple) return;
      for (const ast::ExprPtr& part : list.args)
        if (part && part->kind == ExprKind::Name) names.push_back(part.get());
    };
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      if (e.kind == ExprKind::Member && e.text == "grad" && e.args[0]->kind == ExprKind::Name)
        names.push_back(e.args[0].get());
      return true;
    };
    visitor.onStatement = [&](const ast::Stmt& s) {
      const std::string name = nameBound(s);
      const bool makes = !name.empty() && s.value && s.value->kind == ExprKind::Call && !s.value->arguments.empty();
      const ast::Expr* given = makes && isStepped(name) ? s.value->arguments[0].value.get() : nullptr;
      if (!given) return;
      add(*given);
      if (given->kind == ExprKind::Name) lists.insert(given->text);
    };
    visitor.visit(file_);
    TreeVisitor bindings;
    bindings.onStatement = [&](const ast::Stmt& s) {
      if (s.value && lists.contains(nameBound(s))) add(*s.value);
    };
    bindings.visit(file_);
    return names;
  }
  /// Whether the name is that of an optimiser: `opt.step()`.
  bool isStepped(const std::string& name) const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool steps = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Member && e.args[0]->text == "step";
      found = found || (steps && e.args[0]->args[0]->kind == ExprKind::Name && e.args[0]->args[0]->text == name);
      return !found;
    };
    visitor.visit(file_);
    return found;
  }

  /// A statement that binds the name where everything that does gives it a tensor without a gradient; null where one
  /// may not.
  const ast::Stmt* withoutGradient(const ast::Expr& name) const {
    const ast::Stmt* first = nullptr;
    bool otherwise = false, cut = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      otherwise = otherwise || (setsFlag(s) && isOf(*s.target, name)) || setsInTrips(s, name.text) ||
                  (s.kind == StmtKind::For && namesOf(s.pattern).contains(name.text));
      const bool binds = nameBound(s) == name.text || boundBy(s).contains(name.text) || setsAmong(s, name.text);
      if (!binds || !s.value) return;
      if (!first) first = &s;
      const ast::Expr* value = givenBy(s, name.text);
      otherwise = otherwise || !value || !isWithout(*value);
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      const bool method = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Member && isOf(*e.args[0], name);
      otherwise = otherwise || (method && asksForGradient(e));
      cut = cut || (method && e.args[0]->text == "detach_");
      return true;
    };
    visitAround(file_, name.span, visitor);
    if (cut || (first && !otherwise)) return first;
    return !first && !otherwise ? passedWithout(name) : nullptr;
  }
  /// What a statement gives the name, one of several too, where each has a value of its own; null for what is not
  /// known.
  static const ast::Expr* givenBy(const ast::Stmt& s, const std::string& name) {
    if (nameBound(s) == name) return s.value.get();
    if (s.value->kind != ExprKind::Tuple) return nullptr;
    const auto& values = s.value->args;
    const ast::Expr* found = nullptr;
    const auto take = [&](size_t i, const std::string& part) {
      if (part == name && i < values.size()) found = found ? nullptr : values[i].get();
    };
    if (s.target && s.target->args.size() == values.size())
      for (size_t i = 0; i < values.size(); ++i) take(i, s.target->args[i] ? s.target->args[i]->text : "");
    else if (s.pattern.elements.size() == values.size())
      for (size_t i = 0; i < values.size(); ++i) take(i, s.pattern.elements[i].name.text);
    return found;
  }
  /// The statement of a call that gives a parameter of that name a tensor without a gradient; null for none.
  const ast::Stmt* passedWithout(const ast::Expr& name) const {
    const ast::Stmt* fn = functionAround(file_, name.span);
    if (!fn || fn->kind != StmtKind::Fn) return nullptr;
    const ast::Stmt* found = nullptr;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      if (found || e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Name || e.args[0]->text != fn->name.text)
        return !found;
      for (size_t i = 0; i < fn->params.size(); ++i) {
        const ast::Expr* given = fn->params[i].name.text == name.text ? givenTo(*fn, i, e) : nullptr;
        if (!given || holds(fn->span, e.span)) continue;
        const bool without = given->kind == ExprKind::Name ? withoutGradient(*given) != nullptr : isWithout(*given);
        if (without) found = placeIn(file_, e.span).statement;
      }
      return !found;
    };
    visitor.visit(file_);
    return found;
  }
  /// `for p in [w, b]: p.requires_grad_()`, of a list that has the name in it.
  bool setsInTrips(const ast::Stmt& loop, const std::string& name) const {
    if (loop.kind != StmtKind::For || !loop.lo || loop.pattern.isTuple) return false;
    const std::string& trip = loop.pattern.name.text;
    bool sets = false, has = false;
    TreeVisitor body;
    body.onStatement = [&](const ast::Stmt& s) {
      const ast::Expr* root = setsFlag(s) ? rootOf(*s.target) : nullptr;
      sets = sets || (root && root->text == trip);
    };
    body.onExpression = [&](const ast::Expr& e) {
      const ast::Expr* root = e.kind == ExprKind::Call && asksForGradient(e) ? rootOf(*e.args[0]) : nullptr;
      sets = sets || (root && root->text == trip);
      return true;
    };
    body.visit(loop.body);
    const auto look = [&](const ast::Expr& list) { has = has || namesRead(list).contains(name); };
    if (sets) look(*loop.lo);
    TreeVisitor lists;
    lists.onStatement = [&](const ast::Stmt& s) {
      if (s.value && !nameBound(s).empty() && nameBound(s) == loop.lo->text) look(*s.value);
    };
    if (sets && loop.lo->kind == ExprKind::Name) visitAround(file_, loop.span, lists);
    return has;
  }
  static bool isOf(const ast::Expr& member, const ast::Expr& name) {
    const ast::Expr* root = rootOf(member);
    return root && root->text == name.text;
  }
  static bool setsAmong(const ast::Stmt& s, const std::string& name) {
    const bool several = s.kind == StmtKind::Assign && s.target && s.target->kind == ExprKind::Tuple;
    return several && assignedBy(s).contains(name);
  }

  /// Whether it is certain that a value has no gradient of its own: what is computed from others, and what a function
  /// of PyTorch makes.
  static bool isWithout(const ast::Expr& e) {
    constexpr std::array kComputed = std::to_array<std::string_view>({"clone", "detach"});
    if (hasGradient(e)) return false;
    if (e.kind == ExprKind::Unary || e.kind == ExprKind::Binary) return true;
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member) return false;
    const ast::Expr& callee = *e.args[0];
    const ast::Expr& root = rootOfMember(callee);
    const bool layer = std::isupper(static_cast<unsigned char>(callee.text[0])) != 0;
    if (root.kind == ExprKind::Name && isLibrary(root))
      return callee.args[0].get() == &root && !layer && callee.text != "load";
    return std::ranges::find(kComputed, std::string_view(callee.text)) != kComputed.end() || isWithout(*callee.args[0]);
  }

  const ast::File& file_;
};

/// Whether a script takes gradients, as PyTorch does or as edits have written it.
bool takesGradients(const ast::File& file) {
  bool found = isTrained(file);
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool named = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name;
    found = found || (named && (e.args[0]->text == "value_and_grad" || e.args[0]->text == "grad"));
    return !found;
  };
  visitor.visit(file);
  return found;
}

}  // namespace

std::optional<UntrainedTensor> untrainedTensor(const ast::File& file) { return Untrained(file).find(); }

bool freezes(const ast::Expr& call) {
  const bool sets =
      call.kind == ExprKind::Call && call.args[0]->kind == ExprKind::Member && call.args[0]->text == kSetter;
  return sets && !call.arguments.empty() && call.arguments[0].value && boolWritten(*call.arguments[0].value) != true;
}

bool freezes(const ast::File& file, const ast::Stmt& assignment) {
  const ast::Expr* target = assignment.kind == StmtKind::Assign ? assignment.target.get() : nullptr;
  const bool sets = target && target->kind == ExprKind::Member && target->text == kFlag && assignment.value;
  return sets && boolWritten(*assignment.value) != true && takesGradients(file);
}

}  // namespace tenc::frontend
