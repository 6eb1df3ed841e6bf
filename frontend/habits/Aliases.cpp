#include "frontend/habits/Aliases.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "frontend/builtins/Builtins.h"
#include "frontend/habits/AliasScope.h"
#include "frontend/habits/InPlaceLayers.h"
#include "frontend/habits/LocalNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Who reads what a function changes after having passed it.
class Callers {
 public:
  explicit Callers(AliasFile& all) : all_(all) {}

  /// The name that a caller of the function, or a caller of that, passes for one of the parameters and reads after the
  /// call.
  std::optional<std::string> read(const ast::Stmt& fn, const NameSet& aliases) {
    if (!seen_.insert(&fn).second) return std::nullopt;
    std::optional<std::string> found;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      if (found || e.kind != ExprKind::Call || holds(fn.span, e.span)) return true;
      const std::vector<const ast::Expr*> values = given(e, fn, aliases);
      if (values.empty()) return true;
      const AliasScope& scope = all_.scopeAt(e.span);
      NameSet passed;
      for (const ast::Expr* value : values)
        for (const std::string& n : value ? scope.sharedBy(*value) : NameSet())
          passed.merge(scope.aliasesOf(n, e.span));
      const ast::Stmt* s = placeIn(all_.file(), e.span).statement;
      for (const std::string& other : passed)
        if (!found && !(s && nameBound(*s) == other) && scope.isReadAfter(other, e.span)) found = other;
      std::erase_if(passed, [&](const std::string& n) { return scope.isBoundFor(n, e.span); });
      const ast::Stmt* around = scope.function();
      if (!found && around && around->kind == StmtKind::Fn && !passed.empty()) found = read(*around, passed);
      return true;
    };
    visitor.visit(all_.file());
    return found;
  }

  /// Whether a call passes one array, or parts of it, for one of the parameters and for the other, too.
  bool passOne(const ast::Stmt& fn, const NameSet& parameters, const std::string& other, int depth = 0) {
    constexpr int kMostDepth = 4;
    bool found = false;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      if (found || e.kind != ExprKind::Call || holds(fn.span, e.span)) return true;
      const AliasScope& scope = all_.scopeAt(e.span);
      const auto passed = [&](const NameSet& given) {
        NameSet names;
        for (const ast::Expr* value : this->given(e, fn, given))
          for (const std::string& n : value ? scope.sharedBy(*value) : NameSet())
            names.merge(scope.aliasesOf(n, e.span));
        return names;
      };
      const NameSet one = passed(parameters), two = passed({other});
      found = std::ranges::any_of(one, [&](const std::string& n) { return two.contains(n); });
      const ast::Stmt* around = scope.function();
      if (found || depth == kMostDepth || one.empty() || !around || around->kind != StmtKind::Fn) return true;
      for (const std::string& n : two) found = found || passOne(*around, one, n, depth + 1);
      return true;
    };
    visitor.visit(all_.file());
    return found;
  }

 private:
  /// What a call passes for the parameters, if it is one of the function.
  std::vector<const ast::Expr*> given(const ast::Expr& e, const ast::Stmt& fn, const NameSet& parameters) const {
    const ast::Expr& callee = *e.args[0];
    const bool method = callee.kind == ExprKind::Member;
    if (callee.kind != ExprKind::Name && !method) return {};
    const bool byName = callee.text == fn.name.text;
    // `m(x)` of a value, which `fn call(m, x)` is called for.
    const bool ofValue = !byName && fn.name.text == "call" && !builtinRow(callee.text) &&
                         all_.functions(callee.text).empty() && !changedByCall(e);
    std::vector<const ast::Expr*> values;
    for (size_t i = 0; (byName || ofValue) && i < fn.params.size(); ++i) {
      if (!parameters.contains(fn.params[i].name.text)) continue;
      // `x.f(y)` passes `x` first, where `x` is no module.
      if (byName && method && i == 0) values.push_back(callee.args[0].get());
      if ((method || ofValue) && i > 0 && i <= e.arguments.size()) values.push_back(e.arguments[i - 1].value.get());
      if (byName && i < e.arguments.size()) values.push_back(e.arguments[i].value.get());
      for (const ast::Argument& a : e.arguments)
        if (a.name && a.name->text == fn.params[i].name.text) values.push_back(a.value.get());
    }
    return values;
  }

  AliasFile& all_;
  std::set<const ast::Stmt*> seen_;
};

/// Whether the statement that makes a change binds the name, which has the array from then on: `y = x.exp_()`.
bool isBoundByChange(const ast::File& file, const std::string& name, Span change) {
  const ast::Stmt* s = placeIn(file, change).statement;
  return s && s->span != change && nameBound(*s) == name;
}

std::optional<std::string> aliasIn(AliasFile& all, const std::string& name, Span change) {
  const AliasScope& scope = all.scopeAt(change);
  for (const AliasScope::Changed& c : scope.changes())
    if (c.name == name && holds(change, c.span) && scope.isOfCopy(c)) return "";
  NameSet aliases = scope.aliasesOf(name, change);
  for (const std::string& other : aliases)
    if (other != name && !isBoundByChange(all.file(), other, change) && scope.isReadAfter(other, change)) return other;
  if (scope.isBoundFor(name, change)) aliases.erase(name);  // which is no longer what was passed
  const ast::Stmt* fn = scope.function();
  // A default is made once in Python.
  const auto isKept = [&](const ast::FnParam& p) {
    return aliases.contains(p.name.text) && p.otherwise && p.otherwise->kind != ExprKind::Int &&
           p.otherwise->kind != ExprKind::Float;
  };
  if (fn && std::ranges::any_of(fn->params, isKept)) return name;
  if (!fn || fn->kind != StmtKind::Fn) return std::nullopt;
  for (const ast::FnParam& p : fn->params) {
    const std::string& other = p.name.text;
    const bool read = !aliases.contains(other) && scope.isReadAfter(other, change);
    if (read && Callers(all).passOne(*fn, aliases, other)) return other;
  }
  return Callers(all).read(*fn, aliases);
}

/// Whether a parameter is of a struct that the script makes of one array for two fields.
bool isMadeTwice(const ast::File& file, const ast::Stmt* fn, const std::string& parameter) {
  const auto found =
      fn ? std::ranges::find_if(fn->params, [&](const ast::FnParam& p) { return p.name.text == parameter; })
         : std::vector<ast::FnParam>::const_iterator();
  if (!fn || found == fn->params.end() || !found->type || found->type->path.empty()) return false;
  const std::string& type = found->type->path.back().text;
  bool twice = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    twice = twice || (e.kind == ExprKind::Struct && e.args[0]->text == type && holdsTwice(e));
    return true;
  };
  visitor.visit(file);
  return twice;
}

/// Whether a function changes in place what it is given for a parameter, or hands it to one that does.
bool changesParameter(AliasFile& all, const ast::Stmt& fn, const std::string& parameter, int depth = 0) {
  constexpr int kMostDepth = 4;
  const AliasScope& scope = all.scopeAt(fn.span);
  bool found = std::ranges::any_of(scope.changes(), [&](const AliasScope::Changed& c) {
    return !scope.isOfCopy(c) && scope.aliasesOf(c.name, c.span).contains(parameter);
  });
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found || e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Name) return !found;
    for (const ast::Stmt* called : all.functions(e.args[0]->text))
      for (size_t i = 0; i < std::min(called->params.size(), e.arguments.size()); ++i)
        found = found || (e.arguments[i].value && scope.sharedBy(*e.arguments[i].value).contains(parameter) &&
                          changesParameter(all, *called, called->params[i].name.text, depth + 1));
    return !found;
  };
  if (!found && depth < kMostDepth) visitor.visit(fn);
  return found;
}

/// The calls of the script's functions in the scope of a place that change an argument in place, and the names that may
/// be of its array.
std::vector<AliasScope::Changed> changingCalls(AliasFile& all, Span place) {
  std::vector<AliasScope::Changed> calls;
  const AliasScope& scope = all.scopeAt(place);
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Name) return true;
    for (const ast::Stmt* fn : all.functions(e.args[0]->text))
      for (size_t i = 0; i < std::min(fn->params.size(), e.arguments.size()); ++i) {
        const ast::Argument& a = e.arguments[i];
        const NameSet shared = a.value ? scope.sharedBy(*a.value) : NameSet();
        if (shared.empty() || !changesParameter(all, *fn, a.name ? a.name->text : fn->params[i].name.text)) continue;
        for (const std::string& n : shared) calls.push_back({n, e.span});
      }
    return true;
  };
  visitAround(all.file(), place, visitor);
  return calls;
}

}  // namespace

bool isChangedInPlace(const ast::File& file, const std::string& name, Span place) {
  AliasFile all(file);
  return all.scopeAt(place).changes(name);
}

bool isPartChanged(const ast::File& file, const ast::Name& name) {
  AliasFile all(file);
  return std::ranges::any_of(all.scopeAt(name.span).changes(),
                             [&](const AliasScope::Changed& c) { return c.ofPart && c.name == name.text; });
}

bool hasUnread(const ast::File& file) {
  bool found = !file.lost.empty();
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { found = found || s.kind == StmtKind::Error; };
  visitor.visit(file);
  return found;
}

bool isInPlaceName(std::string_view name) {
  const syntax::Familiar* known = syntax::familiarName(name);
  return name.size() > 1 && name.ends_with('_') && !name.ends_with("__") && !(known && known->nothing);
}

const ast::Expr* changedByCall(const ast::Expr& call) {
  if (call.kind != ExprKind::Call || call.args[0]->kind != ExprKind::Member) return nullptr;
  const ast::Expr& callee = *call.args[0];
  const ast::Expr& root = rootOfMember(callee);
  const syntax::Familiar* head = root.kind == ExprKind::Name ? syntax::familiarName(root.text) : nullptr;
  const bool ofLibrary = head && (head->prefix || head->layer);
  const ast::Expr* operand = callee.args[0].get();
  if (ofLibrary && !call.arguments.empty()) {
    const bool makesLayer = std::isupper(static_cast<unsigned char>(callee.text[0])) != 0;  // `nn.ReLU(True)`
    const auto isOperand = [&](const ast::Argument& a) {
      return !makesLayer && (a.name ? a.name->text == "input" : &a == &call.arguments[0]);
    };
    const auto given = std::ranges::find_if(call.arguments, isOperand);
    operand = given == call.arguments.end() ? nullptr : given->value.get();
  }
  return isInPlaceName(callee.text) || (ofLibrary && isAskedInPlace(call)) ? operand : nullptr;
}

bool isAssignedBehind(const ast::File& file, Span at, const std::string& name) {
  const ast::Expr* lambda = expressionAround(file, at, ExprKind::Lambda);
  const ast::Stmt* block = placeIn(file, at).outer;
  const bool ends = block && block->kind != ast::Stmt::Kind::Fn && isBoundAnew(file, *block, name);
  const auto counts = [&](Span s) {
    return s.begin >= at.end && (!lambda || holds(lambda->span, s)) && (!ends || holds(block->span, s));
  };
  std::set<std::string> names;
  TreeVisitor behind;
  behind.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.target && counts(s.target->span)) assignedNames(s, names);
  };
  behind.onExpression = [&](const ast::Expr& e) {
    const ast::Expr* changed = counts(e.span) ? changedByCall(e) : nullptr;
    if (const ast::Expr* root = changed ? rootOf(*changed) : nullptr) names.insert(root->text);
    return true;
  };
  visitAround(file, at, behind);
  return names.contains(name);
}

std::optional<std::string> aliasRead(const ast::File& file, const std::string& name, Span change, bool variablesShare,
                                     ElementsOf elements) {
  AliasFile all(file, variablesShare, elements);
  return aliasIn(all, name, change);
}

std::optional<std::string> aliasRead(const ast::File& file, const ast::Name& binding) {
  AliasFile all(file);
  const AliasScope& scope = all.scopeAt(binding.span);
  std::vector<AliasScope::Changed> changes = scope.changes();
  for (AliasScope::Changed& c : changingCalls(all, binding.span)) changes.push_back(std::move(c));
  for (const AliasScope::Changed& c : changes) {
    if (c.name != binding.text) {
      // A variable would be a copy, which does not change with what it was bound to.
      const NameSet aliases = scope.aliasesOf(c.name, c.span);
      if (!scope.mayHold(binding.text, aliases, c.span)) continue;
      if (!isBoundByChange(file, binding.text, c.span) && scope.isReadAfter(binding.text, c.span)) return c.name;
      // Nor would what it was bound to change with others that are bound to it.
      for (const std::string& other : aliases)
        if (other != c.name && other != binding.text && !isBoundByChange(file, other, c.span) &&
            scope.isReadAfter(other, c.span))
          return other;
      continue;
    }
    if (c.ofPart && (scope.holdsTwice(c.name) || isMadeTwice(file, scope.function(), c.name))) return c.name;
    if (auto other = aliasIn(all, c.name, c.span)) return other;
  }
  return std::nullopt;
}

std::optional<std::string> readAfterChange(const ast::File& file, const std::string& name, const ast::Expr& call) {
  AliasFile all(file, /*variablesShare=*/true);
  const AliasScope& scope = all.scopeAt(call.span);
  const ast::Stmt* s = placeIn(file, call.span).statement;
  const bool rebinds = s && nameBound(*s) == name;  // `x = act(x)`
  bool beside = false, isParameter = false;         // `x + act(x)` adds what has changed
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool target = rebinds && s->target.get() == &e;
    beside = beside || (e.kind == ExprKind::Name && e.text == name && !holds(call.span, e.span) && !target);
    if (e.kind == ExprKind::Lambda && holds(e.span, call.span))
      isParameter = isParameter || std::ranges::any_of(e.params, [&](const ast::LambdaParam& p) {
                      return namesOf(p.pattern).contains(name);
                    });
    return true;
  };
  if (s) visitor.visit(*s);
  const ast::Stmt* loop = statementAround(file, call.span, {StmtKind::For, StmtKind::While});
  bool renewed = !loop;
  TreeVisitor bindings;
  bindings.onStatement = [&](const ast::Stmt& b) {
    renewed = renewed || (&b == loop && namesOf(b.pattern).contains(name)) ||
              (&b != loop && boundBy(b).contains(name)) || nameBound(b) == name;
  };
  if (loop) bindings.visit(*loop);
  if (beside || isParameter || !renewed || (!rebinds && scope.isReadAfter(name, call.span))) return name;
  return aliasIn(all, name, call.span);
}

NameSet namesShared(const ast::File& file, const ast::Expr& value) {
  AliasFile all(file, /*variablesShare=*/true);
  return all.scopeAt(value.span).sharedBy(value);
}

std::string aliasHelp(const std::string& name, const std::string& other) {
  if (other.empty())
    return "in NumPy and PyTorch an array as index takes a copy, whose change `" + name +
           "` does not show; here it would: index once, `" + name + "[i, j] = v`, where `" + name + "` is meant";
  if (name == other)
    return "in NumPy and PyTorch `" + name +
           "`, or its parts, would be one array for all that hold it; here each is a value of its own";
  return "in NumPy and PyTorch `" + name + "` and `" + other +
         "` may be one array; here each is a value of its own: change `" + other + "` itself, or bind `var " + name +
         "` where a copy is meant";
}

}  // namespace tenc::frontend
