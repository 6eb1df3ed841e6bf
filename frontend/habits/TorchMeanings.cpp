#include "frontend/habits/TorchMeanings.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/OtherMeanings.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/names/Scan.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

constexpr int kMostDims = 32;  // what is not known has more

enum class Part : uint8_t { Number, Array, Kept };

/// What one of the indices is.
Part partOf(const ast::File& file, const ast::Subscript& s) {
  if (s.kind != ast::Subscript::Kind::Index || !s.index || s.index->text == "None") return Part::Kept;
  return mostDims(file, *s.index) > 0 ? Part::Array : Part::Number;
}

}  // namespace

std::optional<Help> indexOfTorch(const ast::File& file, const ast::Expr& index) {
  if (index.kind != ExprKind::Index) return std::nullopt;
  const ast::Expr* only = index.subscripts.size() == 1 ? index.subscripts[0].index.get() : nullptr;
  if (only && only->kind == ExprKind::Array && !only->args.empty() && only->args[0]->kind == ExprKind::Array)
    return Help{"lists in a list are one array of indices here; PyTorch may take each for one dim: `x[[0, 1], [1, 0]]`",
                {}};
  std::vector<Part> parts;
  for (const ast::Subscript& s : index.subscripts) parts.push_back(partOf(file, s));
  const auto isArray = [](Part p) { return p == Part::Array; };
  const auto isKept = [](Part p) { return p == Part::Kept; };
  const auto isTaken = [&](Part p) { return !isKept(p); };
  const auto first = std::ranges::find_if(parts, isArray);
  if (first == parts.end() || std::ranges::find(parts, Part::Number) == parts.end()) return std::nullopt;
  const auto begin = std::ranges::find_if(parts, isTaken);
  const auto end = std::find_if(parts.rbegin(), parts.rend(), isTaken).base();
  const auto lastArray = std::find_if(parts.rbegin(), parts.rend(), isArray).base();
  // NumPy puts the dims of the arrays first where numbers and arrays stand apart; PyTorch takes the numbers first.
  const bool apart = std::any_of(begin, end, isKept), apartThere = std::any_of(first, lastArray, isKept);
  const bool isFirstThere = apartThere || std::none_of(parts.begin(), first, isKept);
  if (!apart || isFirstThere) return std::nullopt;
  Help help{
      "PyTorch takes the numbers first and leaves the dims of an array in their place; here and in NumPy they come "
      "first where a slice stands between",
      {}};
  const auto lastNumber = std::find(parts.rbegin(), parts.rend(), Part::Number).base();
  if (std::all_of(parts.begin(), lastNumber, [](Part p) { return p == Part::Number; })) {
    const auto split = static_cast<size_t>(lastNumber - parts.begin());
    const Span from = index.subscripts[split - 1].span, to = index.subscripts[split].span;
    help.edits.push_back({Span{from.file, from.end, to.begin}, "]["});
  }
  return help;
}

namespace {
/// Whether the script makes an array of three or more dims, as the text tells.
bool makesManyDims(const ast::File& file) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const auto isPart = [](const ast::Subscript& s) { return s.kind == ast::Subscript::Kind::Index && s.index; };
    const auto addsDim = [&](const ast::Subscript& s) {
      return s.kind == ast::Subscript::Kind::New ||
             (isPart(s) && (s.index->text == "None" || s.index->text == "newaxis"));
    };
    const auto isMany = [&] {
      const int dims = mostDims(file, e);
      return dims > 2 && dims <= kMostDims;
    };
    const auto isEinsum = [&] {
      if (e.args[0]->text != "einsum" || e.arguments.empty() || !e.arguments[0].value) return false;
      const ast::Expr& formula = *e.arguments[0].value;
      const std::string text = formula.pieces.empty() ? "" : formula.pieces[0].text;
      const size_t arrow = text.find("->");
      return arrow == text.npos || text.size() - arrow > 4;
    };
    const bool call = e.kind == ExprKind::Call, array = e.kind == ExprKind::Array;
    found = found || (e.kind == ExprKind::Index && std::ranges::any_of(e.subscripts, addsDim)) ||
            (call && (isEinsum() || e.args[0]->text == "meshgrid" || syntax::readsArrays(e.args[0]->text))) ||
            ((call || array) && isMany());
    return !found;
  };
  visitor.visit(file);
  return found;
}
}  // namespace

bool reversesDims(const ast::File& file, const ast::Expr& e) {
  if (e.kind != ExprKind::Member || e.text != "T") return false;
  const int dims = mostDims(file, *e.args[0]);
  return dims > kMostDims ? makesManyDims(file) : dims > 2;
}

std::optional<Help> changeOfTorch(const ast::File& file, const ast::Stmt& change) {
  if (change.kind != StmtKind::Assign || !change.target) return std::nullopt;
  const ast::Expr& target = *change.target;
  if (target.kind == ExprKind::Tuple) {
    for (const ast::ExprPtr& part : target.args) {
      const ast::Expr* root = part ? rootOf(*part) : nullptr;
      if (!root || root == part.get()) continue;
      if (const auto swapped = swappedViews(file, ast::Name{root->text, root->span}, -1);
          swapped && swapped->span == change.span)
        return Help{std::string(swapped->text), {}};
    }
    return std::nullopt;
  }
  const ast::Expr* root = target.kind == ExprKind::Index ? rootOf(target) : nullptr;
  if (root) {  // `t = a[0]; a[0] = a[1]` changes `t`, too
    const bool isShared = functionAround(file, change.span) != nullptr;
    const auto viewed = aliasRead(file, root->text, change.span, isShared, ElementsOf::PyTorch);
    const bool isNumber = viewed && !aliasRead(file, root->text, change.span, isShared, ElementsOf::NumPy);
    if (!isNumber) return std::nullopt;
    return Help{"an element of a tensor is a view in PyTorch, and `" + *viewed +
                    "` changes with it: take it with `.item()` where a number is meant",
                {}};
  }
  if (target.kind != ExprKind::Name || change.op == "=") return std::nullopt;
  // A function's `var` may be that of an edit, and of the array that it was bound to.
  const auto other = aliasRead(file, target.text, change.span, functionAround(file, change.span) != nullptr);
  return other ? std::optional(Help{aliasHelp(target.text, *other), {}}) : std::nullopt;
}

}  // namespace tenc::frontend
