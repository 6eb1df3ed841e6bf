#include "frontend/habits/Aliases.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "ir/DeviceTable.h"
#include "ir/Type.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Functions and methods of NumPy and PyTorch whose result is the memory of an operand, at least for some: `contiguous`
/// gives the tensor itself where nothing is to be done. With TL's own in their place.
constexpr std::array kViews = std::to_array<std::string_view>(
    {"array_split", "as_tensor",  "asanyarray",    "asarray",  "ascontiguousarray", "atleast_1d",
     "atleast_2d",  "atleast_3d", "broadcast_to",  "chunk",    "contiguous",        "detach",
     "diag",        "diagonal",   "enumerate",     "expand",   "expand_as",         "expand_dims",
     "flatten",     "flip",       "fliplr",        "flipud",   "from_numpy",        "hsplit",
     "items",       "moveaxis",   "movedim",       "narrow",   "permute",           "permute_dims",
     "ravel",       "reshape",    "reshape_as",    "reversed", "rollaxis",          "rot90",
     "split",       "squeeze",    "stop_gradient", "swapaxes", "swapdims",          "t",
     "transpose",   "unbind",     "unflatten",     "unfold",   "unsqueeze",         "values",
     "view",        "view_as",    "vsplit",        "zip"});
/// Of those that are methods only.
constexpr std::array kViewMethods =
    std::to_array<std::string_view>({"bfloat16", "double", "float", "half", "int", "long", "numpy", "select", "to"});
static_assert(std::ranges::is_sorted(kViews) && std::ranges::is_sorted(kViewMethods));  // for the binary search

bool holds(Span outer, Span part) {
  return outer.file == part.file && outer.begin <= part.begin && part.end <= outer.end;
}

/// Whether a call gives the memory of what it is called with, at least sometimes: `f32(x)` is `x` where that is f32.
bool givesOperand(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  const std::string_view called = callee.text;
  if (changedByCall(call) || std::ranges::binary_search(kViews, called)) return true;
  if (callee.kind == ExprKind::Name) return ir::dtypeNamed(called).has_value();
  return std::ranges::binary_search(kViewMethods, called) || ir::DeviceTable::isKind(called);
}

/// What a name is bound to, or assigned with `=`.
struct Bound {
  std::string name;
  const ast::Expr* value = nullptr;  ///< null: a parameter, or one of several values
  Span span;                         ///< of the whole statement
  bool also = false;                 ///< it holds what it held, too: `xs.append(x)`
};

/// What is changed in place: `x += 1`, `x[i] = 0`.
struct Changed {
  std::string name;
  Span span;
};

/// The names, changes and loops of one function, or of the script outside of its functions.
class Scope {
 public:
  Scope(const ast::File& file, Span part, int depth = 0) : file_(file), depth_(depth) {
    fn_ = statementAround(file, part, {StmtKind::Fn, StmtKind::Test, StmtKind::Bench});
    unread_ = hasUnread(file);
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) { add(s); };
    visitor.onExpression = [&](const ast::Expr& e) {
      if (e.kind == ExprKind::Name) names_.push_back(&e);
      return true;
    };
    visitAround(file, part, visitor);
  }

  const std::vector<Changed>& changes() const { return changes_; }
  const ast::Stmt* function() const { return fn_; }

  /// The names that may be of one array with `name` where that is changed.
  NameSet aliasesOf(const std::string& name, Span change) const {
    NameSet found{name};
    for (size_t before = 0; before != found.size();) {
      before = found.size();
      for (const Bound& b : bound_) {
        if (!b.value || (b.span.begin >= change.end && !inOneLoop(b.span, change))) continue;
        if (b.name == name && !reaches(b, change)) continue;
        const NameSet from = sharedBy(*b.value);
        // What was bound to the array that `name` had before, or will be to that of this trip.
        if (from.contains(name) && b.name != name && from.size() == 1 && !isSince(name, b.span, change)) continue;
        if (!found.contains(b.name) && !meet(found, from)) continue;
        found.insert(b.name);
        found.insert(from.begin(), from.end());
      }
    }
    return found;
  }

  /// Whether parts of the name's value are one array: `[r, r]`, `list(2, |_| r)`.
  bool holdsTwice(const std::string& name) const {
    return std::ranges::any_of(bound_, [&](const Bound& b) {
      if (b.name != name || b.also || !b.value) return false;
      if (b.value->kind == ExprKind::Array) {
        NameSet seen;
        return std::ranges::any_of(b.value->args, [&](const ast::ExprPtr& part) {
          return part->kind == ExprKind::Name && !seen.insert(part->text).second;
        });
      }
      const auto& all = b.value->arguments;
      const ast::Expr* made = b.value->kind == ExprKind::Call && !all.empty() ? all.back().value.get() : nullptr;
      return made && made->kind == ExprKind::Lambda && made->body && made->body->kind == ExprKind::Name &&
             std::ranges::none_of(made->params, [&](const ast::LambdaParam& p) {
               return namesOf(p.pattern).contains(made->body->text);
             });
    });
  }

  /// Whether something else than a parameter is the name's value at a place, whatever way leads there.
  bool isBoundFor(const std::string& name, Span place) const { return boundFor(name, place) != nullptr; }

  /// Whether the name is read behind the place, or before it in the next trip of a loop.
  bool isReadAfter(const std::string& name, Span place) const {
    return std::ranges::any_of(names_, [&](const ast::Expr* e) {
      if (e->text != name || holds(place, e->span) || isTarget(e->span)) return false;
      return e->span.begin >= place.end || inOneLoop(e->span, place);
    });
  }

  /// The names whose array an expression may give.
  NameSet sharedBy(const ast::Expr& e) const {
    NameSet names;
    const auto add = [&](const ast::ExprPtr& part) {
      if (part) names.merge(sharedBy(*part));
    };
    switch (e.kind) {
      case ExprKind::Name: names.insert(e.text); break;
      case ExprKind::Index:
        if (std::ranges::all_of(e.subscripts, [&](const ast::Subscript& s) { return isOfView(s); })) add(e.args[0]);
        break;
      case ExprKind::Member:
        if (e.text != "shape" && e.text != "dtype" && e.text != "size") add(e.args[0]);
        break;
      case ExprKind::Tuple:
      case ExprKind::Array:
        for (const ast::ExprPtr& part : e.args) add(part);
        break;
      case ExprKind::If:
        for (const ast::Block& b : e.blocks)
          if (!b.statements.empty() && b.statements.back()) add(b.statements.back()->value);
        break;
      case ExprKind::Call: {
        const ast::Expr& callee = *e.args[0];
        const bool method = callee.kind == ExprKind::Member;
        if (!method && callee.kind != ExprKind::Name) break;
        if (!method) addGiven(e, names);
        if (!givesOperand(e)) break;
        const ast::Expr* root = method ? rootOf(callee) : nullptr;
        const syntax::Familiar* library = root ? syntax::familiarName(root->text) : nullptr;
        if (method && !(library && library->prefix))
          add(callee.args[0]);
        else
          for (const ast::Argument& a : e.arguments) add(a.value);
        break;
      }
      default: break;
    }
    return names;
  }

 private:
  void add(const ast::Stmt& s) {
    if (s.kind == StmtKind::For || s.kind == StmtKind::While) loops_.push_back(s.span);
    if (s.kind == StmtKind::For && s.lo && !s.hi)
      for (const std::string& n : namesOf(s.pattern)) bound_.push_back({n, s.lo.get(), s.span});
    // Who writes `var b = a` means a copy.
    if (s.kind == StmtKind::Let && s.value) bind(s.pattern, *s.value, s.span);
    if (s.kind == StmtKind::Var)
      for (const std::string& n : namesOf(s.pattern)) bound_.push_back({n, nullptr, s.span});
    if (s.kind == StmtKind::Assign && s.target) assign(*s.target, s.value.get(), s);
    const bool calls = s.kind == StmtKind::Expr && s.value && s.value->kind == ExprKind::Call;
    if (calls && s.value->args[0]->kind == ExprKind::Member && s.value->args[0]->text == "append")
      if (const ast::Expr* list = rootOf(*s.value->args[0]->args[0]))
        for (const ast::Argument& a : s.value->arguments) bound_.push_back({list->text, a.value.get(), s.span, true});
    const ast::Expr* changed = calls ? changedByCall(*s.value) : nullptr;
    if (const ast::Expr* root = changed ? rootOf(*changed) : nullptr) changes_.push_back({root->text, s.span});
  }
  void bind(const ast::Pattern& p, const ast::Expr& value, Span span) {
    if (!p.isTuple) {
      bound_.push_back({p.name.text, &value, span});
      return;
    }
    const bool apart = value.kind == ExprKind::Tuple && value.args.size() == p.elements.size();
    for (size_t i = 0; i < p.elements.size(); ++i) bind(p.elements[i], apart ? *value.args[i] : value, span);
  }
  void assign(const ast::Expr& target, const ast::Expr* value, const ast::Stmt& s) {
    if (target.kind == ExprKind::Tuple) {
      const bool apart = value && value->kind == ExprKind::Tuple && value->args.size() == target.args.size();
      for (size_t i = 0; i < target.args.size(); ++i) assign(*target.args[i], apart ? value->args[i].get() : value, s);
      return;
    }
    const ast::Expr* root = rootOf(target);
    if (!root) return;
    if (&target == root && s.op == "=") {
      targets_.push_back(root->span);
      bound_.push_back({root->text, value, s.span});
    } else {
      changes_.push_back({root->text, s.span});
    }
  }

  bool isTarget(Span name) const { return std::ranges::find(targets_, name) != targets_.end(); }
  bool inOneLoop(Span a, Span b) const {
    return unread_ || std::ranges::any_of(loops_, [&](Span l) { return holds(l, a) && holds(l, b); });
  }
  /// The last binding before a place that every way to it passes; null where there is none.
  const Bound* boundFor(const std::string& name, Span place) const {
    const Bound* last = nullptr;
    if (unread_) return nullptr;
    for (const Bound& b : bound_) {
      if (b.also || b.name != name || b.span.end > place.begin || (last && b.span.begin < last->span.begin)) continue;
      if (b.value && sharedBy(*b.value).contains(name)) continue;  // still the array it was
      const StatementPlace at = placeIn(file_, b.span);
      const bool passed =
          at.among && std::ranges::any_of(*at.among, [&](auto& s) { return s && holds(s->span, place); });
      const bool again = std::ranges::any_of(loops_, [&](Span l) { return holds(l, place) && !holds(l, b.span); });
      if (passed && !again) last = &b;
    }
    return last;
  }
  /// Whether what the binding gives the name may be what is changed.
  bool reaches(const Bound& b, Span change) const {
    const Bound* last = boundFor(b.name, change);
    return !last || b.span.begin >= last->span.begin;
  }
  /// Whether the name may have the same array at both places.
  bool isSince(const std::string& name, Span place, Span change) const {
    const Bound* last = boundFor(name, change);
    return !last || (place.begin > last->span.begin && place.end <= change.begin);
  }

  /// The names whose array a function of the script may give back.
  void addGiven(const ast::Expr& call, NameSet& names) const {
    constexpr int kMostDepth = 4;
    if (depth_ >= kMostDepth) return;
    const auto add = [&](const std::string& parameter, size_t i) {
      for (const ast::Argument& a : call.arguments)
        if (a.name && a.name->text == parameter && a.value) names.merge(sharedBy(*a.value));
      if (i < call.arguments.size() && !call.arguments[i].name) names.merge(sharedBy(*call.arguments[i].value));
    };
    const std::string& called = call.args[0]->text;
    if (file_.lost.contains(called))  // a function that could not be read
      for (const ast::Argument& a : call.arguments)
        if (a.value) names.merge(sharedBy(*a.value));
    for (const ast::StmtPtr& s : file_.statements) {
      if (!s || s->kind != StmtKind::Fn || s->name.text != called) continue;
      const NameSet given = Scope(file_, s->span, depth_ + 1).given();
      for (size_t i = 0; i < s->params.size(); ++i)
        if (given.contains(s->params[i].name.text)) add(s->params[i].name.text, i);
    }
    for (const Bound& b : bound_) {
      if (b.name != called || !b.value || b.value->kind != ExprKind::Lambda || !b.value->body) continue;
      const NameSet given = sharedBy(*b.value->body);
      for (size_t i = 0; i < b.value->params.size(); ++i)
        if (meet(given, namesOf(b.value->params[i].pattern))) add("", i);
    }
  }
  /// The names whose array the function may give.
  NameSet given() const {
    NameSet names;
    const auto add = [&](const ast::Stmt& s) {
      if (s.value) names.merge(sharedBy(*s.value));
    };
    if (fn_->bodyIsExpr) add(*fn_);
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::Return) add(s);
    };
    visitor.visit(*fn_);
    if (const auto& all = fn_->body.statements; !all.empty() && all.back() && all.back()->kind == StmtKind::Expr)
      add(*all.back());
    for (size_t before = 0; before != names.size();) {
      before = names.size();
      for (const Bound& b : bound_)
        if (b.value && names.contains(b.name)) names.merge(sharedBy(*b.value));
    }
    return names;
  }

  /// Whether an array indexed so is a view: tensors of indices and masks make a copy.
  bool isOfView(const ast::Subscript& s) const {
    if (s.kind != ast::Subscript::Kind::Index || !s.index) return true;
    const auto copies = [](const ast::Expr& e) {
      const bool compares = e.kind == ExprKind::Binary &&
                            (e.text.starts_with('<') || e.text.starts_with('>') || e.text == "==" || e.text == "!=");
      const bool part = e.kind == ExprKind::Index && std::ranges::any_of(e.subscripts, [](const ast::Subscript& i) {
                          return i.kind == ast::Subscript::Kind::Slice;
                        });
      return compares || part || e.kind == ExprKind::Array || e.kind == ExprKind::Call;
    };
    if (copies(*s.index)) return false;
    if (s.index->kind != ExprKind::Name) return true;
    return std::ranges::none_of(bound_, [&](const Bound& b) {
      const bool loops = b.value && std::ranges::find(loops_, b.span) != loops_.end();
      return b.name == s.index->text && b.value && !loops && copies(*b.value);
    });
  }

  const ast::File& file_;
  const ast::Stmt* fn_ = nullptr;
  int depth_;            ///< of calls that are looked through
  bool unread_ = false;  ///< there are syntax errors: what stands in loops and functions is not known
  std::vector<Bound> bound_;
  std::vector<Changed> changes_;
  std::vector<Span> loops_, targets_;
  std::vector<const ast::Expr*> names_;
};

/// The name that a caller of the function passes for one of the parameters and reads after the call.
std::optional<std::string> readByCaller(const ast::File& file, const ast::Stmt& fn, const NameSet& aliases) {
  std::optional<std::string> found;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found || e.kind != ExprKind::Call || holds(fn.span, e.span)) return true;
    const ast::Expr& callee = *e.args[0];
    const bool method = callee.kind == ExprKind::Member;
    if ((callee.kind != ExprKind::Name && !method) || callee.text != fn.name.text) return true;
    const Scope scope(file, e.span);
    for (size_t i = 0; i < fn.params.size(); ++i) {
      if (!aliases.contains(fn.params[i].name.text)) continue;
      // `x.f(y)` passes `x` first, where `x` is no module.
      std::vector<const ast::Expr*> given;
      if (method && i == 0) given.push_back(callee.args[0].get());
      if (method && i > 0 && i <= e.arguments.size()) given.push_back(e.arguments[i - 1].value.get());
      if (i < e.arguments.size()) given.push_back(e.arguments[i].value.get());
      for (const ast::Argument& a : e.arguments)
        if (a.name && a.name->text == fn.params[i].name.text) given.push_back(a.value.get());
      for (const ast::Expr* value : given)
        for (const std::string& n : value ? scope.sharedBy(*value) : NameSet())
          for (const std::string& other : scope.aliasesOf(n, e.span))
            if (!found && scope.isReadAfter(other, e.span)) found = other;
    }
    return true;
  };
  visitor.visit(file);
  return found;
}

std::optional<std::string> aliasIn(const ast::File& file, const Scope& scope, const std::string& name, Span change) {
  NameSet aliases = scope.aliasesOf(name, change);
  for (const std::string& other : aliases)
    if (other != name && scope.isReadAfter(other, change)) return other;
  if (scope.isBoundFor(name, change)) aliases.erase(name);  // which is no longer what was passed
  const ast::Stmt* fn = scope.function();
  // A default is made once in Python.
  const auto isKept = [&](const ast::FnParam& p) {
    return aliases.contains(p.name.text) && p.otherwise && p.otherwise->kind != ExprKind::Int &&
           p.otherwise->kind != ExprKind::Float;
  };
  if (fn && std::ranges::any_of(fn->params, isKept)) return name;
  return fn && fn->kind == StmtKind::Fn ? readByCaller(file, *fn, aliases) : std::nullopt;
}

}  // namespace

bool isChangedInPlace(const ast::File& file, const ast::Expr& name) {
  const Scope scope(file, name.span);
  return std::ranges::any_of(scope.changes(), [&](const Changed& c) { return c.name == name.text; });
}

bool hasUnread(const ast::File& file) {
  bool found = !file.lost.empty();
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { found = found || s.kind == StmtKind::Error; };
  visitor.visit(file);
  return found;
}

const ast::Expr* changedByCall(const ast::Expr& call) {
  const bool method = call.kind == ExprKind::Call && call.args[0]->kind == ExprKind::Member;
  const std::string_view name = method ? std::string_view(call.args[0]->text) : "";
  const syntax::Familiar* known = syntax::familiarName(name);
  const bool changes = name.size() > 1 && name.ends_with('_') && !name.ends_with("__") && !(known && known->nothing);
  return changes ? call.args[0]->args[0].get() : nullptr;
}

bool isAssignedBehind(const ast::File& file, Span at, const std::string& name) {
  std::set<std::string> names;
  TreeVisitor behind;
  behind.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == ast::Stmt::Kind::Assign && s.target && s.target->span.begin >= at.end) assignedNames(s, names);
    const ast::Expr* changed = s.kind == ast::Stmt::Kind::Expr && s.value ? changedByCall(*s.value) : nullptr;
    const ast::Expr* root = changed && s.span.begin >= at.end ? rootOf(*changed) : nullptr;
    if (root) names.insert(root->text);
  };
  visitAround(file, at, behind);
  return names.contains(name);
}

std::optional<std::string> aliasRead(const ast::File& file, const std::string& name, Span change) {
  return aliasIn(file, Scope(file, change), name, change);
}

std::optional<std::string> aliasRead(const ast::File& file, const ast::Name& binding) {
  const Scope scope(file, binding.span);
  for (const Changed& c : scope.changes()) {
    if (c.name != binding.text) continue;
    if (scope.holdsTwice(c.name)) return c.name;
    if (auto other = aliasIn(file, scope, c.name, c.span)) return other;
  }
  return std::nullopt;
}

std::string aliasHelp(const std::string& name, const std::string& other) {
  if (name == other)
    return "in NumPy and PyTorch `" + name +
           "`, or its parts, would be one array for all that hold it; here each is a value of its own";
  return "in NumPy and PyTorch `" + name + "` and `" + other +
         "` are one array; here each is a value of its own: change `" + other + "` itself, or bind `var " + name +
         "` where a copy is meant";
}

}  // namespace tenc::frontend
