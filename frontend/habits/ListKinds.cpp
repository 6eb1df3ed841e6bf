#include "frontend/habits/ListKinds.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/ListArithmetic.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// What Python's value is. `Open`: while it is being found out, which decides nothing.
enum class Kind : uint8_t { Open, Unknown, Int, List, Rows, Tuple };

bool isList(Kind k) { return k == Kind::List || k == Kind::Rows; }

template <size_t N>
bool isIn(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class Kinds {
 public:
  explicit Kinds(const ast::File& file) : file_(file) {}

  Kind of(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Int: return Kind::Int;
      case ExprKind::Unary: return e.text == "-" && of(*e.args[0]) == Kind::Int ? Kind::Int : Kind::Unknown;
      case ExprKind::Tuple: return Kind::Tuple;
      case ExprKind::Array: {
        const bool rows = std::ranges::any_of(e.args, [&](const ast::ExprPtr& part) { return isList(of(*part)); });
        return rows ? Kind::Rows : Kind::List;
      }
      case ExprKind::Binary: return ofBinary(e);
      case ExprKind::Member: return e.text == "ndim" || e.text == "size" ? Kind::Int : Kind::Unknown;
      case ExprKind::Index: return ofIndex(e);
      case ExprKind::Call: return ofCall(e);
      case ExprKind::Name: return ofName(e);
      default: return Kind::Unknown;
    }
  }

  /// Whether Python works on a whole list or tuple.
  bool isWhole(std::string_view op, const ast::Expr& left, const ast::Expr& right) {
    constexpr std::array kCompared = std::to_array<std::string_view>({"==", "!=", "<", ">", "<=", ">="});
    const Kind a = of(left), b = of(right);
    const auto repeats = [](Kind whole, Kind count) {
      return (isList(whole) || whole == Kind::Tuple) && count == Kind::Int;
    };
    if (op == "*" || op == "*=") return repeats(a, b) || repeats(b, a);
    if (op == "+" || op == "+=") return (isList(a) && isList(b)) || (a == Kind::Tuple && b == Kind::Tuple);
    const bool bothWritten =
        left.kind == ExprKind::Array && right.kind == ExprKind::Array;  // what edits made of arrays
    return isIn(kCompared, op) && isList(a) && isList(b) && !bothWritten;
  }
  /// `max(rows)`, `sorted(rows)`, `sum(rows, [])`
  bool isOfRows(const ast::Expr& call) {
    constexpr std::array kOrdering = std::to_array<std::string_view>({"max", "min", "sorted"});
    if (call.args[0]->kind != ExprKind::Name || call.arguments.empty() || !call.arguments[0].value) return false;
    if (call.args[0]->text == "sum" && call.arguments.size() == 2) {
      const ast::Expr* start = call.arguments[1].value.get();
      return start && start->kind == ExprKind::Array && start->args.empty();
    }
    const bool several = call.arguments.size() > 1 && !call.arguments[1].name;
    return isIn(kOrdering, call.args[0]->text) && !several && of(*call.arguments[0].value) == Kind::Rows;
  }

 private:
  /// What several places give in common.
  static Kind both(Kind a, Kind b) {
    if (a == Kind::Open || b == Kind::Open) return a == Kind::Open ? b : a;
    if (isList(a) && isList(b)) return a == b ? a : Kind::List;
    return a == b ? a : Kind::Unknown;
  }
  Kind ofBinary(const ast::Expr& e) {
    constexpr std::array kWhole = std::to_array<std::string_view>({"+", "-", "*", "//", "%", "**"});
    if (!isIn(kWhole, e.text)) return Kind::Unknown;
    const Kind a = of(*e.args[0]), b = of(*e.args[1]);
    if (a == Kind::Int && b == Kind::Int) return Kind::Int;
    if (e.text == "+" && (isList(a) || a == Kind::Tuple || a == Kind::Open)) return both(a, b);
    if (e.text == "*" && b == Kind::Int && a != Kind::Open) return a;
    if (e.text == "*" && listForm(e)) return Kind::List;  // which is written as repeated, whatever the count
    return e.text == "*" && a == Kind::Int ? b : Kind::Unknown;
  }
  Kind element(const ast::Expr& over) {
    const Kind k = of(over);
    if (k == Kind::Open) return k;
    if (k == Kind::Rows) return Kind::List;
    if (k != Kind::List) return Kind::Unknown;
    const ast::Expr* list = over.kind == ExprKind::Name ? onlyValue(over) : &over;
    if (!list || list->kind != ExprKind::Array) return Kind::Unknown;
    Kind found = Kind::Open;
    for (const ast::ExprPtr& part : list->args) found = both(found, of(*part));
    return found == Kind::Open ? Kind::Unknown : found;
  }
  Kind ofIndex(const ast::Expr& e) {
    if (e.subscripts.size() != 1) return Kind::Unknown;
    const ast::Subscript& s = e.subscripts[0];
    if (s.kind == ast::Subscript::Kind::Slice) return of(*e.args[0]);
    if (s.kind != ast::Subscript::Kind::Index || !s.index) return Kind::Unknown;
    if (e.args[0]->kind == ExprKind::Member && e.args[0]->text == "shape") return Kind::Int;
    return element(*e.args[0]);
  }
  Kind ofCall(const ast::Expr& e) {
    constexpr std::array kCounts = std::to_array<std::string_view>({"len", "int", "i64"});
    constexpr std::array kOfElements = std::to_array<std::string_view>({"max", "min", "sum"});
    constexpr std::array kCountsOfArrays = std::to_array<std::string_view>({"int64", "int32", "numel", "nelement"});
    const ast::Expr& callee = *e.args[0];
    const ast::Expr* first = e.arguments.empty() ? nullptr : e.arguments[0].value.get();
    if (callee.kind == ExprKind::Member) {
      if (callee.text == "tolist") {
        const int dims = mostDims(file_, *callee.args[0]);
        return dims == 0 ? Kind::Unknown : dims > 1 && dims <= kMostDims ? Kind::Rows : Kind::List;
      }
      if (callee.text == "copy" && e.arguments.empty()) {
        const Kind copied = of(*callee.args[0]);
        return isList(copied) ? copied : Kind::Unknown;
      }
      return isIn(kCountsOfArrays, callee.text) ? Kind::Int : Kind::Unknown;
    }
    if (callee.kind != ExprKind::Name) return Kind::Unknown;
    if (const ast::Stmt* fn = functionNamed(callee.text)) return ofFunction(*fn);
    if (isIn(kCounts, callee.text)) return Kind::Int;
    if (callee.text == "round" && e.arguments.size() == 1) return Kind::Int;
    if (callee.text == "list" && e.arguments.size() == 1)
      return first && of(*first) == Kind::Rows ? Kind::Rows : Kind::List;
    if (callee.text == "sorted" || callee.text == "sort") {  // as the edits write it
      const Kind sorted = first ? of(*first) : Kind::Unknown;
      return callee.text == "sorted" && !isList(sorted) ? Kind::List : sorted;
    }
    if ((callee.text == "f32" || callee.text == "f64") && first)
      return of(*first) == Kind::Int ? Kind::Int : Kind::Unknown;
    if (callee.text == "map" || callee.text == "tabulate") return ofComprehension(e);
    if (isIn(kOfElements, callee.text) && e.arguments.size() == 1 && first && of(*first) == Kind::List)
      return element(*first);
    return Kind::Unknown;
  }
  /// Of `map(|x| x * 2, xs)` and `tabulate([3], |i| i * 2)`, which edits write for comprehensions.
  Kind ofComprehension(const ast::Expr& e) {
    const auto isLambda = [](const ast::Argument& a) { return a.value && a.value->kind == ExprKind::Lambda; };
    const auto made = std::ranges::find_if(e.arguments, isLambda);
    if (made == e.arguments.end() || e.arguments.size() != 2) return Kind::Unknown;
    return made->value->body && isList(of(*made->value->body)) ? Kind::Rows : Kind::List;
  }
  const ast::Stmt* functionNamed(std::string_view name) const {
    const auto found = std::ranges::find_if(
        file_.statements, [&](const ast::StmtPtr& s) { return s && s->kind == StmtKind::Fn && s->name.text == name; });
    return found == file_.statements.end() ? nullptr : found->get();
  }
  Kind ofFunction(const ast::Stmt& fn) {
    const auto key = std::pair(&fn, std::string());
    const auto [known, isNew] = names_.try_emplace(key, Kind::Open);
    if (!isNew) return known->second;
    Kind found = Kind::Open;
    if (fn.bodyIsExpr && fn.value) found = of(*fn.value);
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::Return) found = both(found, s.value ? of(*s.value) : Kind::Unknown);
    };
    visitor.visit(fn);
    return names_[key] = found == Kind::Open ? Kind::Unknown : found;
  }
  /// The value of a name that one assignment binds; null for another.
  const ast::Expr* onlyValue(const ast::Expr& name) const {
    const ast::Expr* value = nullptr;
    int bound = 0;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (nameBound(s) != name.text) return;
      value = s.value.get();
      ++bound;
    };
    visitAround(file_, name.span, visitor);
    return bound == 1 ? value : nullptr;
  }
  Kind ofName(const ast::Expr& name) {
    if (const ast::Expr* lambda = lambdaOf(name)) return ofElement(*lambda);
    const ast::Stmt* fn = functionAround(file_, name.span);
    const auto key = std::pair(fn, name.text);
    const auto [known, isNew] = names_.try_emplace(key, Kind::Open);
    if (!isNew) return known->second;
    Kind found = Kind::Open;
    TreeVisitor visitor;
    const auto bound = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::For && namesOf(s.pattern).contains(name.text)) found = both(found, ofTrip(s));
      if (nameBound(s) == name.text && s.value) {
        const Kind value = of(*s.value);
        const bool isOwn = s.kind != StmtKind::Assign && value != Kind::Int;
        found = both(found, isOwn ? Kind::Unknown : value);
      } else if (boundBy(s).contains(name.text) || isTogether(s, name.text)) {
        found = Kind::Unknown;
      }
    };
    visitor.onStatement = bound;
    visitAround(file_, name.span, visitor);
    for (size_t i = 0; fn && i < fn->params.size(); ++i)
      if (fn->params[i].name.text == name.text) found = both(found, ofParameter(*fn, i));
    if (found == Kind::Open && fn) {  // the script's
      for (const ast::StmtPtr& s : file_.statements)
        if (s) bound(*s);
    }
    return names_[key] = found == Kind::Open ? Kind::Unknown : found;
  }
  static bool isTogether(const ast::Stmt& s, const std::string& name) {
    return s.kind == StmtKind::Assign && s.target && s.target->kind == ExprKind::Tuple && assignedBy(s).contains(name);
  }
  Kind ofTrip(const ast::Stmt& loop) {
    if (loop.hi) return Kind::Int;
    if (loop.pattern.isTuple || !loop.lo) return Kind::Unknown;
    const ast::Expr& over = *loop.lo;
    const bool counts =
        over.kind == ExprKind::Call && over.args[0]->kind == ExprKind::Name && over.args[0]->text == "range";
    return counts ? Kind::Int : element(over);
  }
  /// Of all that its calls pass.
  Kind ofParameter(const ast::Stmt& fn, size_t i) {
    Kind found = Kind::Open;
    const ast::FnParam& param = fn.params[i];
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& call) {
      if (call.kind != ExprKind::Call || call.args[0]->kind != ExprKind::Name || call.args[0]->text != fn.name.text)
        return true;
      const ast::Expr* value =
          i < call.arguments.size() && !call.arguments[i].name ? call.arguments[i].value.get() : param.otherwise.get();
      for (const ast::Argument& a : call.arguments)
        if (a.name && a.name->text == param.name.text) value = a.value.get();
      found = both(found, value ? of(*value) : Kind::Unknown);
      return true;
    };
    visitor.visit(file_);
    return found;
  }
  /// The call `map(|r| r * 2, rows)` whose lambda has the name as its parameter; null for none.
  const ast::Expr* lambdaOf(const ast::Expr& name) const {
    return expressionAround(file_, name.span, [&](const ast::Expr& e) {
      if (e.kind != ExprKind::Call || e.arguments.empty() || !e.arguments[0].value) return false;
      const ast::Expr& lambda = *e.arguments[0].value;
      return lambda.kind == ExprKind::Lambda && std::ranges::any_of(lambda.params, [&](const ast::LambdaParam& p) {
               return namesOf(p.pattern).contains(name.text);
             });
    });
  }
  Kind ofElement(const ast::Expr& map) {
    if (map.args[0]->text != "map" || map.arguments.size() != 2 || !map.arguments[1].value) return Kind::Unknown;
    return element(*map.arguments[1].value);
  }

  static constexpr int kMostDims = 32;
  const ast::File& file_;
  std::map<std::pair<const ast::Stmt*, std::string>, Kind> names_;  ///< by function; without a name its result
};

Span firstOperation(const ast::File& file) {
  Kinds kinds(file);
  Span found{};
  TreeVisitor visitor;
  std::vector<Span> written;  // where `let` writes `full([3], 0)` for `[0] * 3`
  const auto isWritten = [&](const ast::Expr& e) {
    return listForm(e) && std::ranges::any_of(written, [&](Span value) { return holds(value, e.span); });
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    if (found.valid()) return false;
    const bool whole = (e.kind == ExprKind::Binary && kinds.isWhole(e.text, *e.args[0], *e.args[1])) ||
                       (e.kind == ExprKind::Call && kinds.isOfRows(e));
    if (whole && !isWritten(e)) found = e.span;
    return !found.valid();
  };
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (!nameBound(s).empty() && s.kind == StmtKind::Assign && s.value) written.push_back(s.value->span);
    const bool changes = s.kind == StmtKind::Assign && s.op != "=" && s.target && s.value;
    if (changes && !found.valid() && kinds.isWhole(s.op, *s.target, *s.value)) found = s.span;
  };
  visitor.visit(file);
  return found;
}

}  // namespace

Span wholeListOperation(Context& context, const ast::File& file) {
  const auto [known, isNew] = context.listOperations.try_emplace(file.source);
  if (isNew) known->second = firstOperation(file);
  return known->second;
}

bool bindsUnreadList(const ast::File& file, const ast::Name& name) {
  const ast::Stmt* s = hasUnread(file) ? placeIn(file, name.span).statement : nullptr;
  return s && nameBound(*s) == name.text && s->value && isList(Kinds(file).of(*s->value));
}

}  // namespace tenc::frontend
