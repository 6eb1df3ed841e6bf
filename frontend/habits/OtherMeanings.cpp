#include "frontend/habits/OtherMeanings.h"

#include <algorithm>
#include <array>
#include <set>

#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/ListArithmetic.h"
#include "frontend/habits/LocalNames.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/PythonFlow.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

bool isNamed(const ast::Expr& e, const std::string& name) { return e.kind == ExprKind::Name && e.text == name; }

/// Whether parts of the name's value are read: `r.values`, `r[1]`.
bool isTakenApart(const ast::File& file, const ast::Name& name) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool part = e.kind == ExprKind::Index || e.kind == ExprKind::Member;
    found = found || (part && isNamed(*e.args[0], name.text));
    return true;
  };
  visitAround(file, name.span, visitor);
  return found;
}

/// Whether no element is named twice by the indices, as the text tells. `seen`: names that were looked at.
bool areDistinct(const ast::File& file, const ast::Expr& indices, NameSet& seen) {
  constexpr std::array kDistinct = std::to_array<std::string_view>(
      {"arange", "argsort", "flatnonzero", "nonzero", "permutation", "randperm", "range"});
  constexpr std::array kMasks = std::to_array<std::string_view>(
      {"isclose", "isfinite", "isinf", "isnan", "logical_and", "logical_not", "logical_or", "logical_xor"});
  const auto isLiteral = [](const ast::ExprPtr& e) { return e->kind == ExprKind::Int; };
  if (mostDims(file, indices) == 0) return true;  // one number
  switch (indices.kind) {
    case ExprKind::Array: {
      if (std::ranges::all_of(indices.args, [](const ast::ExprPtr& e) { return boolWritten(*e).has_value(); }))
        return true;  // a mask
      std::set<int64_t> named;
      return std::ranges::all_of(indices.args, isLiteral) &&
             std::ranges::all_of(indices.args, [&](const ast::ExprPtr& e) { return named.insert(e->integer).second; });
    }
    case ExprKind::Call: {
      const ast::Expr& callee = *indices.args[0];
      if (callee.kind == ExprKind::Name && callee.text == "int") return true;
      if (std::ranges::find(kMasks, std::string_view(callee.text)) != kMasks.end()) return true;
      const bool makes = callee.text == "bitwise_invert" || callee.text == "tensor" || callee.text == "array";
      if (makes && !indices.arguments.empty()) return areDistinct(file, *indices.arguments[0].value, seen);
      return std::ranges::find(kDistinct, std::string_view(callee.text)) != kDistinct.end();
    }
    case ExprKind::Index: {  // `i[:n]`, and an element of distinct ones
      const auto isOfSeveral = [&](const ast::Subscript& i) {
        return i.kind == ast::Subscript::Kind::Index && (!i.index || mostDims(file, *i.index) > 0);
      };
      return std::ranges::none_of(indices.subscripts, isOfSeveral) && areDistinct(file, *indices.args[0], seen);
    }
    case ExprKind::Unary: return indices.text == "not" || areDistinct(file, *indices.args[0], seen);
    case ExprKind::Binary:
      return indices.text != "+" && indices.text != "-" && indices.text != "*" && indices.text != "//" &&
             indices.text != "%";
    case ExprKind::Name: {
      if (!seen.insert(indices.text).second) return true;  // `i = i[:2]`: its other bindings decide
      bool all = true, any = false;
      TreeVisitor visitor;
      visitor.onStatement = [&](const ast::Stmt& s) {
        if (s.kind == StmtKind::For && namesOf(s.pattern).contains(indices.text)) {
          any = true;
          all = false;  // an array, or what is not known
        }
        if (nameBound(s) != indices.text || !s.value || isNamed(*s.value, indices.text)) return;
        any = true;
        all = all && areDistinct(file, *s.value, seen);
      };
      visitAround(file, indices.span, visitor);
      return any && all;
    }
    default: return false;
  }
}

}  // namespace

namespace {

/// Where a loop that binds the name anew has ended, and what it left there is read.
Span readBehindLoop(const ast::File& file, const ast::Name& name) {
  std::vector<Span> loops, bound;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind == StmtKind::For && namesOf(s.pattern).contains(name.text) && s.span.begin > name.span.end)
      loops.push_back(s.span);
    if (nameBound(s) == name.text) bound.push_back(s.span);
  };
  Span found{};
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found.valid() || !isNamed(e, name.text)) return true;
    const auto holds = [&](Span l) { return l.begin <= e.span.begin && e.span.end <= l.end; };
    if (std::ranges::any_of(loops, holds) ||
        std::ranges::any_of(bound, [&](Span s) { return s.begin == e.span.begin; }))
      return true;
    const bool left = std::ranges::any_of(loops, [&](Span l) {
      return l.end <= e.span.begin &&
             std::ranges::none_of(bound, [&](Span s) { return s.begin >= l.end && s.end <= e.span.begin; });
    });
    if (left) found = e.span;
    return true;
  };
  visitAround(file, name.span, visitor);
  return found;
}

}  // namespace

std::string nameOfLoops(const ast::File& file, Span range) {
  const ast::Stmt* loop = statementAround(file, range, {StmtKind::For});
  if (!loop || loop->pattern.isTuple || loop->pattern.name.text == "_") return "";
  const std::string& name = loop->pattern.name.text;
  const auto binds = [&](const ast::Stmt& s) {
    return &s != loop && s.kind == StmtKind::For && namesOf(s.pattern).contains(name);
  };
  std::vector<std::pair<const ast::Stmt*, const ast::Stmt*>> nested;  // the outer one first
  TreeVisitor around, inside;
  around.within = loop->span;
  around.onStatement = [&](const ast::Stmt& s) {
    if (binds(s)) nested.emplace_back(&s, loop);
  };
  around.visit(file);
  inside.onStatement = [&](const ast::Stmt& s) {
    if (binds(s)) nested.emplace_back(loop, &s);
  };
  inside.visit(*loop);
  bool read = false;
  for (const auto& [outer, inner] : nested) {
    TreeVisitor reads;
    reads.onExpression = [&](const ast::Expr& e) {
      read = read || (isNamed(e, name) && e.span.begin >= inner->span.end);
      return true;
    };
    reads.visit(*outer);
  }
  return read ? name : "";
}

namespace {
/// Where a constant of the language is read for which the script binds the name anew: in a function, since Python's
/// functions see the script's variable, and as `np.pi` beside it, which is to become `pi`. Invalid for nowhere.
Span constantRead(const ast::File& file, const std::string& name) {
  if (!builtinConstant(name, {})) return {};
  Span read;
  const auto look = [&](ExprKind kind, const ast::Stmt& s) {
    TreeVisitor reads;
    reads.onExpression = [&](const ast::Expr& e) {
      if (e.kind == kind && e.text == name && !read.valid()) read = e.span;
      return true;
    };
    reads.visit(s);
  };
  for (const ast::StmtPtr& s : file.statements) {
    if (s->kind != StmtKind::Fn)
      look(ExprKind::Member, *s);
    else if (!bindsFirst(s->body, name) &&
             std::ranges::none_of(s->params, [&](const ast::FnParam& p) { return p.name.text == name; }))
      look(ExprKind::Name, *s);
  }
  return read;
}

/// Whether a copy of the value holds the same inner lists.
bool holdsLists(const PythonFlow& flow, const ast::Expr& value) {
  const auto isArray = [](const ast::ExprPtr& part) { return part->kind == ExprKind::Array; };
  if (value.kind == ExprKind::Array) return std::ranges::any_of(value.args, isArray);
  const ast::Expr* root = rootOf(value);
  return root && flow.everything(root->text).elements.any(PythonKinds::List);
}
}  // namespace

std::optional<OtherMeaning> otherMeaning(const ast::File& file, const ast::Name& name, const PythonFlow& flow) {
  const bool unread = builtinConstant(name.text, {}) && !file.lost.empty();  // functions of Python, for example
  if (const Span read = unread ? name.span : constantRead(file, name.text); read.valid())
    return OtherMeaning{read, "here this is the language's constant, whatever the script binds"};
  if (const Span whole = flow.wholeOperation(); whole.valid()) return OtherMeaning{whole, kWholeLists};
  if (const Span read = readBehindLoop(file, name); read.valid())
    return OtherMeaning{read, "a loop has a name of its own, which ends with it; in Python this is what the loop left"};
  const ast::Stmt* s = placeIn(file, name.span).statement;
  if (s && nameBound(*s) == name.text && s->value && isListArithmetic(*s->value)) {
    const auto form = listForm(*s->value);
    if (!form || (form->counts.size() > 1 && isPartChanged(file, name)))
      return OtherMeaning{s->value->span,
                          "Python repeats and joins lists, and the parts of one that is repeated are one list"};
  }
  const bool binds = s && nameBound(*s) == name.text && s->value && s->value->kind == ExprKind::Call;
  const ast::Expr* callee = binds ? s->value->args[0].get() : nullptr;
  if (callee && callee->kind == ExprKind::Member && callee->text == "copy" && s->value->arguments.empty() &&
      holdsLists(flow, *callee->args[0])) {
    const ast::Expr* from = rootOf(*callee->args[0]);
    if (isPartChanged(file, name) || (from && isPartChanged(file, ast::Name{from->text, from->span})))
      return OtherMeaning{s->value->span,
                          "in Python a copy of a list of lists holds the same inner lists, which change in both; here "
                          "each is a value of its own"};
  }
  if (callee && callee->kind == ExprKind::Member && callee->text == "sort" && !isTakenApart(file, name))
    return OtherMeaning{callee->opSpan,
                        "`sort` gives the sorted values and changes nothing; NumPy and Python sort in place and give "
                        "`None`, PyTorch gives the values and where they were"};
  return std::nullopt;
}

std::optional<OtherMeaning> repeatedUpdate(const ast::File& file, const ast::Name& name, const IsNumber& isNumber) {
  std::optional<OtherMeaning> found;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (found || s.kind != StmtKind::Assign || s.op == "=" || !s.target || s.target->kind != ExprKind::Index) return;
    if (!isNamed(*s.target->args[0], name.text)) return;
    const auto& all = s.target->subscripts;
    const auto isDistinct = [&](const ast::Expr& index) {
      if (index.kind == ExprKind::String || (isNumber && isNumber(index))) return true;  // a key
      NameSet seen;
      return areDistinct(file, index, seen);
    };
    const bool apart = std::ranges::any_of(all, [&](const ast::Subscript& i) {
      const bool array = i.index && ((i.index->kind == ExprKind::Array && i.index->args.size() > 1) ||
                                     i.index->kind == ExprKind::Call);
      return array && mostDims(file, *i.index) > 0 && isDistinct(*i.index);
    });
    const bool distinct = apart || std::ranges::all_of(all, [&](const ast::Subscript& i) {
                            return i.kind != ast::Subscript::Kind::Index || !i.index || isDistinct(*i.index);
                          });
    if (!distinct)
      found = OtherMeaning{s.span,
                           "an index that repeats accumulates here; in NumPy and PyTorch the last value alone counts"};
  };
  visitAround(file, name.span, visitor);
  return found;
}

std::optional<OtherMeaning> seenByLambda(const ast::File& file, const ast::Name& name) {
  std::optional<OtherMeaning> found;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const ast::Expr* made = s.value && s.value->kind == ExprKind::Lambda ? s.value.get() : nullptr;
    if (found || !made || nameBound(s).empty() || !namesRead(*made).contains(name.text)) return;
    const bool isOwn =
        bindsFirst(*made, name.text) || std::ranges::any_of(made->params, [&](const ast::LambdaParam& p) {
          return namesOf(p.pattern).contains(name.text);
        });
    if (!isOwn && isAssignedBehind(file, s.span, name.text))
      found = OtherMeaning{made->span, "a lambda keeps the values it was made with; in Python it sees later ones"};
  };
  visitAround(file, name.span, visitor);
  return found;
}

std::optional<OtherMeaning> swappedViews(const ast::File& file, const ast::Name& name, int64_t rank) {
  // How many dims the indices of a part of the variable take away; none where a slice keeps one.
  const auto indices = [&](const ast::Expr& e) {
    int64_t count = 0;
    const ast::Expr* part = &e;
    for (; part->kind == ExprKind::Index; part = part->args[0].get())
      for (const ast::Subscript& s : part->subscripts)
        count += s.kind == ast::Subscript::Kind::Index ? 1 : -static_cast<int64_t>(part->subscripts.size()) - 1;
    return part != &e && isNamed(*part, name.text) ? std::max<int64_t>(count, 0) : -1;
  };
  std::optional<OtherMeaning> found;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind != StmtKind::Assign || !s.target || s.target->kind != ExprKind::Tuple || !s.value) return;
    const auto isPart = [&](const ast::ExprPtr& e) {
      const int64_t taken = indices(*e);
      return taken >= 0 && (rank < 0 || taken < rank);
    };
    const bool reads = s.value->kind == ExprKind::Tuple && std::ranges::any_of(s.value->args, isPart);
    if (reads && std::ranges::any_of(s.target->args, isPart))
      found =
          OtherMeaning{s.span, "in NumPy and PyTorch the first of these assignments changes what the next one reads"};
  };
  visitAround(file, name.span, visitor);
  return found;
}

namespace {

/// A loop over the elements of one array or list, or of several side by side.
struct ElementLoop {
  bool walks = false;   ///< over the elements of the name
  std::string counter;  ///< of `enumerate`; empty for none
};

ElementLoop elementLoop(const ast::Stmt& s, const std::string& name) {
  if (s.kind != StmtKind::For || !s.lo || s.hi) return {};
  const auto isPartOf = [&](const ast::Expr& e) {
    const ast::Expr* root = rootOf(e);
    return root != nullptr && isNamed(*root, name);
  };
  if (isPartOf(*s.lo)) return {.walks = true, .counter = ""};
  const bool called = s.lo->kind == ExprKind::Call && s.lo->args[0]->kind == ExprKind::Name;
  if (!called || s.lo->arguments.empty()) return {};
  const std::string& callee = s.lo->args[0]->text;
  const bool counts = callee == "enumerate";
  if (!counts && callee != "zip" && callee != "reversed") return {};
  ElementLoop loop;
  loop.walks =
      std::ranges::any_of(s.lo->arguments, [&](const ast::Argument& a) { return a.value && isPartOf(*a.value); });
  // Counted from 0, and not over a part, whose elements have other places.
  if (counts && s.lo->arguments.size() == 1 && isNamed(*s.lo->arguments[0].value, name) && s.pattern.isTuple &&
      !s.pattern.elements.empty())
    loop.counter = s.pattern.elements[0].name.text;
  return loop;
}

}  // namespace

std::optional<OtherMeaning> changedWhileWalked(const ast::File& file, const ast::Name& name) {
  std::optional<OtherMeaning> found;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const ElementLoop loop = found ? ElementLoop() : elementLoop(s, name.text);
    if (!loop.walks) return;
    // The element of this trip has been read.
    const auto isOfTrip = [&](const ast::Expr& changed) {
      const ast::Expr* part = &changed;
      while (part->kind == ExprKind::Index && part->args[0]->kind == ExprKind::Index) part = part->args[0].get();
      return !loop.counter.empty() && part->kind == ExprKind::Index && part->subscripts[0].index &&
             isNamed(*part->subscripts[0].index, loop.counter) && !assignedBy(s).contains(loop.counter);
    };
    const auto note = [&](const ast::Expr& changed, Span at) {
      const ast::Expr* root = rootOf(changed);
      if (root && isNamed(*root, name.text) && !isOfTrip(changed))
        found = OtherMeaning{
            at,
            "a loop takes its elements from what the variable holds when it begins; in Python it sees their changes"};
    };
    TreeVisitor body;
    body.onStatement = [&](const ast::Stmt& b) {
      const bool rebinds = b.kind == StmtKind::Assign && b.op == "=" && b.target && b.target->kind == ExprKind::Name;
      if (b.kind != StmtKind::Assign || !b.target || rebinds) return;
      if (b.target->kind != ExprKind::Tuple) return note(*b.target, b.span);
      for (const ast::ExprPtr& part : b.target->args)
        if (part->kind != ExprKind::Name) note(*part, b.span);
    };
    body.onExpression = [&](const ast::Expr& e) {
      if (const ast::Expr* changed = changedByCall(e)) note(*changed, e.span);
      return true;
    };
    body.visit(s);
  };
  visitAround(file, name.span, visitor);
  return found;
}

bool changesOtherwise(const ast::File& file, const ast::Name& name, int64_t rank) {
  return aliasRead(file, name) || repeatedUpdate(file, name) || seenByLambda(file, name) ||
         swappedViews(file, name, rank) || changedWhileWalked(file, name);
}

}  // namespace tenc::frontend
