#include "frontend/habits/PythonSums.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignImports.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Functions that give one number, whatever they are given.
constexpr std::array kNumbers =
    std::to_array<std::string_view>({"item", "len", "ndim", "nelement", "numel", "perf_counter", "time", "vdot"});
constexpr std::array kReductions =
    std::to_array<std::string_view>({"all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean",
                                     "median", "min", "norm", "prod", "std", "sum", "var"});
/// Of Python, with an operand of one dim, or with several.
constexpr std::array kOfPython = std::to_array<std::string_view>({"max", "min", "sum"});
constexpr std::array kKeepingRank = std::to_array<std::string_view>(
    {"abs",     "array",   "asarray",     "astype", "clamp",    "clip",  "clone",   "copy", "cos",
     "cpu",     "cumprod", "cumsum",      "detach", "double",   "exp",   "f32",     "f64",  "float",
     "float32", "float64", "i32",         "i64",    "int",      "list",  "log",     "long", "maximum",
     "minimum", "numpy",   "permutation", "relu",   "reversed", "round", "sigmoid", "sin",  "sorted",
     "sqrt",    "square",  "tanh",        "tensor", "tolist",   "where"});
/// Of these, what stands between the parentheses of the method says how, not of what.
constexpr std::array kToldHow = std::to_array<std::string_view>(
    {"astype", "cumprod", "cumsum", "double", "float", "int", "long", "numpy", "round", "tolist"});
constexpr std::array kVectors =
    std::to_array<std::string_view>({"arange", "bincount", "flatnonzero", "linspace", "randperm", "range", "ravel"});
constexpr std::array kOfShape =
    std::to_array<std::string_view>({"empty", "full", "ones", "rand", "randn", "random", "zeros"});
constexpr std::array kDrawn = std::to_array<std::string_view>({"choice", "normal", "randint", "uniform"});
constexpr std::array kJoining = std::to_array<std::string_view>({"cat", "concat", "concatenate", "hstack"});
constexpr std::array kReshaped = std::to_array<std::string_view>({"reshape", "view"});

template <size_t N>
bool isIn(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// How many dims a value has at most, or `kMany`, where that is not known.
class Ranks {
 public:
  static constexpr int kMany = 64;

  explicit Ranks(const ast::File& file) : file_(file) {}

  int of(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Int:
      case ExprKind::Float:
      case ExprKind::Bool: return 0;
      case ExprKind::Unary: return highest(e.args);
      case ExprKind::Binary: return e.text == "@" ? ofProduct(*e.args[0], *e.args[1]) : highest(e.args);
      case ExprKind::Array:
      case ExprKind::Tuple: return more(highest(e.args), 1);
      case ExprKind::Name: return ofName(e);
      case ExprKind::Index: return ofIndex(e);
      case ExprKind::Call: return ofCall(e);
      case ExprKind::Member: return ofMember(e);
      default: return kMany;
    }
  }

 private:
  static int more(int rank, int by) { return rank >= kMany ? kMany : std::max(0, rank + by); }

  int highest(const std::vector<ast::ExprPtr>& parts) {
    int rank = 0;
    for (const ast::ExprPtr& part : parts)
      if (part) rank = std::max(rank, of(*part));
    return rank;
  }
  int ofMember(const ast::Expr& e) {
    if (e.text == "shape") return 1;
    if (e.text == "size" || e.text == "ndim") return 0;
    return e.text == "T" || e.text == "mT" ? of(*e.args[0]) : kMany;
  }
  int ofProduct(const ast::Expr& a, const ast::Expr& b) {
    const int left = of(a), right = of(b);
    if (left <= 1 && right <= 1) return 0;
    if (left <= 2 && right <= 2) return left + right - 2;
    return kMany;
  }
  int ofIndex(const ast::Expr& e) {
    int rank = of(*e.args[0]);
    for (const ast::Subscript& s : e.subscripts) {
      if (s.kind == ast::Subscript::Kind::Slice) continue;
      const int index = s.kind == ast::Subscript::Kind::Index && s.index ? of(*s.index) : kMany;
      if (index > 1) return kMany;
      if (index == 0) rank = more(rank, -1);
    }
    return rank;
  }
  /// Of what a shape tells, given as a number, a tuple, or in several arguments from one on.
  int ofShape(const ast::Expr& call, size_t from) {
    int numbers = 0;
    for (size_t i = from; i < call.arguments.size(); ++i) {
      const ast::Argument& a = call.arguments[i];
      if (!a.value || (a.name && a.name->text != "size" && a.name->text != "shape")) continue;
      const bool written = a.value->kind == ExprKind::Tuple || a.value->kind == ExprKind::Array;
      if (written) return static_cast<int>(a.value->args.size());
      if (of(*a.value) > 0) return kMany;
      ++numbers;
    }
    return numbers;
  }
  static const ast::Argument* named(const ast::Expr& call, std::string_view name) {
    const auto found =
        std::ranges::find_if(call.arguments, [&](const ast::Argument& a) { return a.name && a.name->text == name; });
    return found == call.arguments.end() ? nullptr : &*found;
  }
  /// Of a number, or of as many as a shape tells: `randint(0, 9, (2, 3))`, `np.random.normal(size=3)`.
  int ofDraw(const ast::Expr& call) {
    const auto isShape = [](const ast::Argument& a) {
      return !a.name && a.value && (a.value->kind == ExprKind::Tuple || a.value->kind == ExprKind::Array);
    };
    if (named(call, "size") || named(call, "shape") || std::ranges::any_of(call.arguments, isShape)) {
      for (size_t i = 0; i < call.arguments.size(); ++i)
        if (isShape(call.arguments[i]) || call.arguments[i].name) return ofShape(call, i);
    }
    return call.arguments.size() <= 2 && call.args[0]->text != "choice" ? highestOf(call) : kMany;
  }
  int highestOf(const ast::Expr& call) {
    int rank = 0;
    for (const ast::Argument& a : call.arguments)
      if (a.value && !a.name) rank = std::max(rank, of(*a.value));
    return rank;
  }
  /// Of `max(x, axis=0)`, `x.mean(1)`; all dims go where none is named.
  int ofReduction(const ast::Expr& call, bool method, const ast::Expr& operand) {
    size_t options = 0;
    for (size_t i = method ? 0 : 1; i < call.arguments.size(); ++i) {
      const ast::Argument& a = call.arguments[i];
      options += !a.name || (a.name->text != "dtype" && a.name->text != "correction" && a.name->text != "ddof");
    }
    const bool keeps = named(call, "keepdims") || named(call, "keepdim") || named(call, "keep");
    if (options == 0) return 0;
    return keeps ? of(operand) : more(of(operand), -1);
  }
  int ofCall(const ast::Expr& e) {
    const ast::Expr& callee = *e.args[0];
    const std::string& name = callee.text;
    const bool member = callee.kind == ExprKind::Member;
    const ast::Expr& root = rootOfMember(callee);
    const syntax::Familiar* library = member && root.kind == ExprKind::Name ? syntax::familiarName(root.text) : nullptr;
    const bool method = member && !(library && (library->prefix || library->layer)) && !isModule(root);
    const ast::Expr* first = !e.arguments.empty() ? e.arguments[0].value.get() : nullptr;
    const ast::Expr* operand = method ? callee.args[0].get() : first;
    if (const ast::Stmt* fn = member ? nullptr : ownFunction(name)) return ofResult(*fn);
    if (name == "map" || name == "tabulate") return ofElements(e, name == "map");
    if (isIn(kNumbers, name)) return 0;
    if (isIn(kVectors, name)) return 1;
    if (isIn(kOfShape, name)) return first ? ofShape(e, 0) : 0;
    if (isIn(kDrawn, name)) return ofDraw(e);
    if (!operand) return kMany;
    if (!member && isIn(kOfPython, name) && e.arguments.size() == 1) return more(of(*operand), -1);
    if (!member && isIn(kOfPython, name) && name != "sum" && !e.arguments[1].name) return highestOf(e);
    if (isIn(kReductions, name)) return ofReduction(e, method, *operand);
    if (isIn(kJoining, name) && !method) return more(of(*operand), -1);
    if (isIn(kReshaped, name)) return ofShape(e, method ? 0 : 1);
    if (name == "flatten") return e.arguments.size() == (method ? 0 : 1) ? 1 : of(*operand);
    if (name == "dot" && first && e.arguments.size() == (method ? 1 : 2))
      return ofProduct(*operand, method ? *first : *e.arguments[1].value);
    if (!isIn(kKeepingRank, name) || (name == "where" && e.arguments.size() == 1)) return kMany;
    if (name == "permutation") return std::max(1, of(*operand));
    const int rank = method ? of(*operand) : 0;
    return method && isIn(kToldHow, name) ? rank : std::max(rank, highestOf(e));
  }
  /// Python's own modules of numbers.
  static bool isModule(const ast::Expr& root) {
    return root.kind == ExprKind::Name && (root.text == "math" || root.text == "random" || root.text == "time");
  }
  /// Of `map(|x| e, xs)`, `tabulate([n], |i| e)`.
  int ofElements(const ast::Expr& e, bool overValues) {
    if (e.arguments.size() != 2) return kMany;
    const ast::Expr& lambda = *e.arguments[overValues ? 0 : 1].value;
    const ast::Expr& over = *e.arguments[overValues ? 1 : 0].value;
    if (lambda.kind != ExprKind::Lambda || !lambda.body || lambda.params.size() != 1) return kMany;
    if (!overValues && over.args.size() != 1) return kMany;
    const int element = overValues ? more(of(over), -1) : 0;
    const NameSet counted = namesOf(lambda.params[0].pattern);
    const auto before = names_;
    const ast::Stmt* fn = frontend::functionAround(file_, e.span);
    for (const std::string& n : counted) names_[{fn, n}] = element;
    const int rank = more(of(*lambda.body), 1);
    names_ = before;
    return rank;
  }
  /// Of a name that a loop binds.
  int ofTrip(const ast::Stmt& loop, const std::string& name) {
    const auto element = [&](const ast::Expr& over) { return more(of(over), -1); };
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
      if (!counts && !together) return more(of(*loop.lo), -2);  // of the tuples of a list
    }
    return kMany;
  }
  int ofName(const ast::Expr& e) {
    const ast::Stmt* fn = frontend::functionAround(file_, e.span);
    if (const auto known = names_.find({fn, e.text}); known != names_.end()) return known->second;
    names_[{fn, e.text}] = 0;  // while it is being found out: `x = x + 1`
    int rank = 0;
    bool bound = false;
    if (const auto passed = fn ? ofParameter(*fn, e.text) : std::nullopt) {
      bound = true;
      rank = *passed;
    }
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::For && namesOf(s.pattern).contains(e.text)) {
        bound = true;
        rank = std::max(rank, ofTrip(s, e.text));
      }
      const bool adds = s.kind == StmtKind::Assign && s.op != "=" && s.target->kind == ExprKind::Name &&
                        s.target->text == e.text && s.value;
      if (adds) rank = std::max(rank, of(*s.value));
      if (boundBy(s).contains(e.text) || nameBound(s) == e.text) {
        bound = true;
        rank = std::max(rank, s.value && nameBound(s) == e.text ? of(*s.value) : kMany);
      }
      const bool appends = s.kind == StmtKind::Expr && s.value && s.value->kind == ExprKind::Call &&
                           s.value->args[0]->text == "append" && s.value->args[0]->kind == ExprKind::Member;
      if (appends && s.value->args[0]->args[0]->text == e.text && !s.value->arguments.empty())
        rank = std::max(rank, more(of(*s.value->arguments[0].value), 1));
    };
    visitAround(file_, e.span, visitor);
    const auto constant = [&](const ast::StmtPtr& s) { return s->kind == StmtKind::Const && s->name.text == e.text; };
    if (const auto c = std::ranges::find_if(file_.statements, constant); !bound && c != file_.statements.end())
      return names_[{fn, e.text}] = (*c)->value ? of(*(*c)->value) : kMany;
    return names_[{fn, e.text}] = bound ? rank : kMany;
  }
  /// The function of the script that a call by that name calls; null where there is none, or several.
  const ast::Stmt* ownFunction(const std::string& name) const {
    const ast::Stmt* found = nullptr;
    for (const ast::StmtPtr& s : file_.statements) {
      if (s->kind != StmtKind::Fn || s->name.text != name) continue;
      if (found) return nullptr;
      found = s.get();
    }
    return found;
  }
  /// Of what a function returns.
  int ofResult(const ast::Stmt& fn) {
    if (hasUnread(file_)) return kMany;
    const auto [known, isNew] = results_.try_emplace(&fn, kMany);  // that of a recursive one is not known
    if (!isNew) return known->second;
    int rank = -1;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::Return) rank = std::max(rank, s.value ? of(*s.value) : kMany);
    };
    visitor.visit(fn);
    if (fn.value) rank = std::max(rank, of(*fn.value));
    const bool returns = !fn.body.statements.empty() && fn.body.statements.back()->kind == StmtKind::Return;
    return results_[&fn] = rank < 0 || (!fn.value && !returns) ? kMany : rank;
  }
  /// What calls pass for a parameter; nothing for another name. A function that is given on may be called with
  /// anything.
  std::optional<int> ofParameter(const ast::Stmt& fn, const std::string& name) {
    const auto p = std::ranges::find_if(fn.params, [&](const ast::FnParam& x) { return x.name.text == name; });
    if (p == fn.params.end()) return std::nullopt;
    if (hasUnread(file_)) return kMany;
    const auto place = static_cast<size_t>(p - fn.params.begin());
    int rank = p->otherwise ? of(*p->otherwise) : 0;
    size_t named = 0, calls = 0;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& e) {
      if ((e.kind == ExprKind::Name || e.kind == ExprKind::Member) && e.text == fn.name.text) ++named;
      if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Name || e.args[0]->text != fn.name.text) return true;
      ++calls;
      const ast::Argument* given = frontend::holds(fn.span, e.span) ? nullptr : this->named(e, name);
      if (!given && place < e.arguments.size() && !e.arguments[place].name) given = &e.arguments[place];
      if (given && given->value) rank = std::max(rank, of(*given->value));
      if (!given && !p->otherwise) rank = kMany;
      return true;
    };
    visitor.visit(file_);
    return calls > 0 && named == calls ? rank : kMany;
  }

  const ast::File& file_;
  std::map<const ast::Stmt*, int> results_;
  std::map<std::pair<const ast::Stmt*, std::string>, int> names_;  ///< of the function around
};

constexpr std::string_view kSum = "sum";

bool isNamedSum(const ast::Expr& e) { return e.kind == ExprKind::Name && e.text == kSum; }
bool isSum(const ast::Expr& e) { return e.kind == ExprKind::Call && isNamedSum(*e.args[0]); }

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
  std::set<uint32_t> called;
  visitor.onExpression = [&](const ast::Expr& e) {
    // Given on, it is called with rows.
    if (isSum(e)) called.insert(e.args[0]->span.begin);
    if (isNamedSum(e) && !called.contains(e.span.begin) && !isParameter(file, e.span))
      edits.push_back({e.span, "|rows| sum(rows, axis: 0)"});
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
