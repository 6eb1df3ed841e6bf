#include "frontend/habits/PythonSums.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/ForeignImports.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Functions and methods that give one number, whatever they are given, and those that keep the rank of their operand.
constexpr std::array kNumbers = std::to_array<std::string_view>(
    {"dot", "float", "int", "item", "len", "nelement", "numel", "randint", "random", "vdot"});
constexpr std::array kReductions =
    std::to_array<std::string_view>({"max", "mean", "min", "norm", "prod", "std", "sum"});
constexpr std::array kKeepingRank = std::to_array<std::string_view>(
    {"abs",     "array",  "asarray", "astype", "clip",    "cos",     "cumsum", "exp",   "float32",
     "float64", "list",   "log",     "long",   "maximum", "minimum", "relu",   "round", "sigmoid",
     "sin",     "sorted", "sqrt",    "square", "tanh",    "tensor",  "where"});
constexpr std::array kVectors =
    std::to_array<std::string_view>({"arange", "bincount", "flatten", "flatnonzero", "linspace", "range", "randperm",
                                     "permutation", "ravel", "tolist"});
constexpr std::array kOfShape = std::to_array<std::string_view>({"empty", "full", "ones", "rand", "randn", "zeros"});

template <size_t N>
bool isIn(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// How many dims a value has at most: 0, 1, or 2 where that is not known.
class Ranks {
 public:
  explicit Ranks(const ast::File& file) : file_(file) {}

  int of(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Int:
      case ExprKind::Float:
      case ExprKind::Bool: return 0;
      case ExprKind::Unary:
      case ExprKind::Binary: return e.text == "@" ? kMany : highest(e.args);
      case ExprKind::Array:
      case ExprKind::Tuple: return std::min(kMany, 1 + highest(e.args));
      case ExprKind::Name: return ofName(e);
      case ExprKind::Index: return ofIndex(e);
      case ExprKind::Call: return ofCall(e);
      case ExprKind::Member: return e.text == "shape" ? 1 : kMany;
      default: return kMany;
    }
  }

 private:
  static constexpr int kMany = 2;

  int highest(const std::vector<ast::ExprPtr>& parts) {
    int rank = 0;
    for (const ast::ExprPtr& part : parts)
      if (part) rank = std::max(rank, of(*part));
    return rank;
  }
  int ofIndex(const ast::Expr& e) {
    const int rank = of(*e.args[0]);
    const bool one = e.subscripts.size() == 1 && e.subscripts[0].index && of(*e.subscripts[0].index) == 0;
    return one && rank < kMany ? std::max(0, rank - 1) : rank;
  }
  int ofCall(const ast::Expr& e) {
    const ast::Expr& callee = *e.args[0];
    const std::string& name = callee.text;
    const bool method = callee.kind == ExprKind::Member && rootOfMember(callee).kind != ExprKind::Name;
    const ast::Expr* first = !e.arguments.empty() ? e.arguments[0].value.get() : nullptr;
    if (isIn(kNumbers, name) || (isIn(kReductions, name) && e.arguments.size() <= (method ? 0 : 1))) return 0;
    if (isIn(kVectors, name)) return 1;
    if (isIn(kOfShape, name) && first) return e.arguments.size() == 1 && first->kind == ExprKind::Int ? 1 : kMany;
    if (name == "map" || name == "tabulate") return ofElements(e, name == "map");
    if (!isIn(kKeepingRank, name)) return kMany;
    int rank = callee.kind == ExprKind::Member && !first ? of(*callee.args[0]) : 0;
    for (const ast::Argument& a : e.arguments)
      if (a.value && !a.name) rank = std::max(rank, of(*a.value));
    return rank;
  }
  /// Of `map(|x| e, xs)`, `tabulate([n], |i| e)`.
  int ofElements(const ast::Expr& e, bool overValues) {
    if (e.arguments.size() != 2) return kMany;
    const ast::Expr& lambda = *e.arguments[overValues ? 0 : 1].value;
    const ast::Expr& over = *e.arguments[overValues ? 1 : 0].value;
    if (lambda.kind != ExprKind::Lambda || !lambda.body || lambda.params.size() != 1) return kMany;
    if (overValues ? of(over) > 1 : over.args.size() != 1) return kMany;
    const NameSet counted = namesOf(lambda.params[0].pattern);
    const auto before = names_;
    for (const std::string& n : counted) names_[n] = 0;
    const int rank = std::min(kMany, 1 + of(*lambda.body));
    names_ = before;
    return rank;
  }
  /// Of a name that a loop binds.
  int ofTrip(const ast::Stmt& loop, const std::string& name) {
    const auto element = [&](const ast::Expr& over) {
      const int rank = of(over);
      return rank < kMany ? std::max(0, rank - 1) : rank;
    };
    if (!loop.lo || loop.hi) return 0;
    if (!loop.pattern.isTuple) return element(*loop.lo);
    const bool counts = loop.lo->kind == ExprKind::Call && loop.lo->args[0]->text == "enumerate";
    const bool together = loop.lo->kind == ExprKind::Call && loop.lo->args[0]->text == "zip";
    for (size_t i = 0; i < loop.pattern.elements.size(); ++i) {
      const ast::Pattern& p = loop.pattern.elements[i];
      if (p.isTuple || p.name.text != name) continue;
      if (counts && i == 0) return 0;
      const size_t from = counts ? 0 : i;
      if ((counts || together) && from < loop.lo->arguments.size()) return element(*loop.lo->arguments[from].value);
    }
    return kMany;
  }
  int ofName(const ast::Expr& e) {
    if (const auto known = names_.find(e.text); known != names_.end()) return known->second;
    names_[e.text] = 0;  // while it is being found out: `x = x + 1`
    int rank = 0;
    bool bound = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::For && namesOf(s.pattern).contains(e.text)) {
        bound = true;
        rank = std::max(rank, ofTrip(s, e.text));
      }
      if (boundBy(s).contains(e.text) || nameBound(s) == e.text) {
        bound = true;
        rank = std::max(rank, s.value && nameBound(s) == e.text ? of(*s.value) : kMany);
      }
      const bool appends = s.kind == StmtKind::Expr && s.value && s.value->kind == ExprKind::Call &&
                           s.value->args[0]->text == "append" && s.value->args[0]->kind == ExprKind::Member;
      if (appends && s.value->args[0]->args[0]->text == e.text && !s.value->arguments.empty())
        rank = std::max(rank, std::min(kMany, 1 + of(*s.value->arguments[0].value)));
    };
    visitAround(file_, e.span, visitor);
    return names_[e.text] = bound ? rank : kMany;
  }

  const ast::File& file_;
  std::map<std::string, int> names_;
};

bool callsSum(std::string_view text) {
  constexpr std::string_view kCall = "sum(";
  for (size_t at = text.find(kCall); at != text.npos; at = text.find(kCall, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_' && before != '.') return true;
  }
  return false;
}
bool isSum(const ast::Expr& e) {
  return e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Name && e.args[0]->text == "sum";
}
}  // namespace

bool hidesSum(const ast::File& file, const SourceManager& sources) {
  bool unreadImport = false, unread = file.lost.contains("sum"), read = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (s.kind != StmtKind::Error || !s.span.valid()) return;
    const std::string_view text = sources.text(s.span);
    unreadImport = unreadImport || text.starts_with("import ") || text.starts_with("from ");
    unread = unread || callsSum(text);
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    read = read || isSum(e);
    return true;
  };
  visitor.visit(file);
  return unread || (read && unreadImport);
}

namespace {
bool isForeignImport(const ast::Stmt& s) {
  std::string path;
  for (const ast::Name& part : s.path) path += (path.empty() ? "" : ".") + part.text;
  return s.kind == StmtKind::Import && syntax::importedInstead(path, {}).has_value();
}

/// Whether a statement makes `sum` another function.
bool bindsSum(const ast::Stmt& s) {
  return (s.kind == StmtKind::Fn && s.name.text == "sum") || boundBy(s).contains("sum") ||
         (s.kind == StmtKind::For && namesOf(s.pattern).contains("sum")) || assignedBy(s).contains("sum");
}

/// Whether a call stands in a function that has a parameter of the name.
bool isParameter(const ast::File& file, Span call) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const auto isSum = [](const ast::FnParam& p) { return p.name.text == "sum"; };
    found = found || (s.kind == StmtKind::Fn && holds(s.span, call) && std::ranges::any_of(s.params, isSum));
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const auto isSum = [](const ast::LambdaParam& p) { return namesOf(p.pattern).contains("sum"); };
    found = found || (e.kind == ExprKind::Lambda && holds(e.span, call) && std::ranges::any_of(e.params, isSum));
    return true;
  };
  visitor.visit(file);
  return found;
}
}  // namespace

int mostDims(const ast::File& file, const ast::Expr& value) { return Ranks(file).of(value); }

std::vector<Edit> sumsOfRows(const SourceManager& sources, const ast::File& file, const ast::Stmt& import) {
  std::vector<Edit> edits;
  bool own = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) { own = own || bindsSum(s); };
  visitor.onExpression = [&](const ast::Expr& e) {
    const size_t count = isSum(e) ? e.arguments.size() : 0;
    if (count == 0 || count > 2 || isParameter(file, e.span)) return true;
    const ast::Argument& a = e.arguments[0];
    if (a.name || !a.value || a.rangeEnd) return true;
    const std::string axis = Ranks(file).of(*a.value) > 1 ? ", axis: 0" : "";
    if (count == 1 && !axis.empty()) edits.push_back({Span{a.span.file, a.span.end, a.span.end}, axis});
    if (count == 2) {  // from a start
      const ast::Argument& start = e.arguments[1];
      if (!start.value || (start.name && start.name->text != "start") || start.value->kind == ExprKind::Array)
        return true;
      const Span from{e.span.file, e.span.begin, e.span.begin}, to{e.span.file, e.span.end, e.span.end};
      edits.push_back({from, "("});
      edits.push_back({Span{a.span.file, a.span.end, start.value->span.end},
                       axis + ") + (" + std::string(sources.text(start.value->span))});
      edits.push_back({to, ")"});
    }
    return true;
  };
  visitor.visit(file);
  const auto first = std::ranges::find_if(file.statements, [](const auto& s) { return s && isForeignImport(*s); });
  const bool isFirst = first != file.statements.end() && first->get() == &import;
  return own || !isFirst ? std::vector<Edit>() : edits;
}

}  // namespace tenc::frontend
