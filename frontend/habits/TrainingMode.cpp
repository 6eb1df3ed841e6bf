#include "frontend/habits/TrainingMode.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// Layers that normalise by statistics, which training changes.
constexpr std::array kStatistics =
    std::to_array<std::string_view>({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
                                     "SyncBatchNorm", "batch_norm_layer"});
/// Layers that draw numbers in training, some only where they are asked to.
constexpr std::array kDrawing = std::to_array<std::string_view>(
    {"AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "RReLU",
     "TransformerDecoderLayer", "TransformerEncoderLayer", "dropout_layer"});

template <size_t N>
bool isIn(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}
bool isLayer(std::string_view name) { return isIn(kStatistics, name) || isIn(kDrawing, name); }
/// With `F.dropout(x, p, self.training)`, which becomes one.
bool mayBeLayer(std::string_view name) { return isLayer(name) || name == "dropout"; }
bool isZero(const ast::Expr& e) {
  return (e.kind == ExprKind::Int && e.integer == 0) || (e.kind == ExprKind::Float && e.real == 0);
}
bool isOption(const ast::Argument& a) { return a.name && a.name->text == "dropout" && a.value && !isZero(*a.value); }

/// `net.eval()`, `net.train(False)`; nothing for another call.
std::optional<bool> modeSet(const ast::Expr& call) {
  if (call.kind != ExprKind::Call || call.args[0]->kind != ExprKind::Member || call.arguments.size() > 1)
    return std::nullopt;
  const std::string& name = call.args[0]->text;
  if (name == "eval" && call.arguments.empty()) return false;
  if (name != "train") return std::nullopt;
  const ast::Expr* mode = call.arguments.empty() ? nullptr : call.arguments[0].value.get();
  return !mode || (mode->text != "False" && !(mode->kind == ExprKind::Bool && !mode->boolean));
}

class Modes {
 public:
  explicit Modes(const ast::File& file) : file_(file) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind == StmtKind::Fn) functions_.push_back(&s);
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      hasLayers_ = hasLayers_ || mayBeLayer(e.text) || std::ranges::any_of(e.arguments, isOption);
      if (e.kind == ExprKind::Call) calls_.push_back(&e);
      if (e.kind == ExprKind::If || e.kind == ExprKind::Lambda) branches_.push_back(e.span);
      const bool ofType = e.kind == ExprKind::Member && (e.text == "shape" || e.text == "size" || e.text == "dtype");
      if (ofType) typed_.insert(e.args[0].get());
      const ast::Stmt* maker = e.kind == ExprKind::Struct ? functionAround(file_, e.span) : nullptr;
      if (maker) makers_.emplace(e.args[0]->text, maker);
      return true;
    };
    visitor.visit(file);
    for (const ast::Expr* call : calls_) add(*call);
    const std::vector<Change> own = changes_;
    for (const Change& c : own)  // where the functions that they stand in are called
      for (const Span call : c.function ? callsOf(*c.function) : std::vector<Span>())
        changes_.push_back({c.name, call, functionAround(file_, call), c.trains});
  }

  bool hasLayers() const { return hasLayers_; }

  /// The first call of a network in training mode.
  const ast::Expr* callInTraining() const {
    for (const ast::Expr* call : calls_) {
      const ast::Expr* network = networkOf(*call);
      if (!network) continue;
      Made made;
      look(*network, made);
      if (!made.depends || isTrainedBehind(*call) || (isOnlyTyped(*call) && !made.keepsStatistics)) continue;
      if (trains(made.names, call->span, functionAround(file_, call->span))) return call;
    }
    return nullptr;
  }

 private:
  struct Change {
    std::string name;
    Span span;
    const ast::Stmt* function;
    bool trains;
  };
  /// What a network is made of.
  struct Made {
    NameSet names;
    bool depends = false, keepsStatistics = false;
  };

  void add(const ast::Expr& call) {
    const auto mode = modeSet(call);
    if (!mode) return;
    const ast::Expr* root = rootOf(*call.args[0]->args[0]);
    const ast::Stmt* s = placeIn(file_, call.span).statement;
    const std::string name = root ? root->text : s ? nameBound(*s) : "";
    if (!name.empty()) changes_.push_back({name, call.span, functionAround(file_, call.span), *mode});
    if (root && s && !nameBound(*s).empty())  // `net = net.eval()`
      changes_.push_back({nameBound(*s), call.span, functionAround(file_, call.span), *mode});
  }
  std::vector<Span> callsOf(const ast::Stmt& fn) const {
    std::vector<Span> spans;
    for (const ast::Expr* call : calls_)
      if (call->args[0]->text == fn.name.text && !holds(fn.span, call->span)) spans.push_back(call->span);
    return spans;
  }
  const ast::Stmt* functionNamed(std::string_view name) const {
    const auto found = std::ranges::find_if(functions_, [&](const ast::Stmt* f) { return f->name.text == name; });
    return found == functions_.end() ? nullptr : *found;
  }

  /// `net` of `net(x)` and `net.forward(x)`, or what makes it, `nn.Dropout(0.5)(x)`; null for other calls.
  const ast::Expr* networkOf(const ast::Expr& call) const {
    const ast::Expr& callee = *call.args[0];
    if (call.arguments.empty()) return nullptr;
    if (callee.kind == ExprKind::Member && callee.text == "forward") return callee.args[0].get();
    if (callee.kind == ExprKind::Name && functionNamed(callee.text)) return nullptr;
    return callee.kind == ExprKind::Member ? nullptr : &callee;
  }
  void look(const ast::Expr& e, Made& made) const {
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& part) {
      const auto& all = part.arguments;
      const bool drops = part.kind == ExprKind::Call && isIn(kDrawing, part.args[0]->text) && !all.empty() &&
                         all[0].value && isZero(*all[0].value);
      if (drops) return false;
      made.keepsStatistics = made.keepsStatistics || isIn(kStatistics, part.text);
      made.depends = made.depends || isLayer(part.text) || std::ranges::any_of(all, isOption);
      if (part.kind == ExprKind::Name) look(part.text, part.span, made);
      return true;
    };
    visitor.visit(e);
  }
  void look(const std::string& name, Span use, Made& made) const {
    if (!made.names.insert(name).second) return;
    TreeVisitor parts;
    parts.onExpression = [&](const ast::Expr& e) {
      look(e, made);
      return false;
    };
    if (const ast::Stmt* fn = functionNamed(name)) parts.visit(*fn);
    const auto [first, last] = makers_.equal_range(name);  // `Net()` before it is `new_net()`
    for (auto maker = first; maker != last; ++maker) parts.visit(*maker->second);
    TreeVisitor bindings;
    bindings.onStatement = [&](const ast::Stmt& s) {
      if (s.value && (boundBy(s).contains(name) || nameBound(s) == name)) look(*s.value, made);
      if (s.kind == StmtKind::For && s.lo && namesOf(s.pattern).contains(name)) look(*s.lo, made);
    };
    visitAround(file_, use, bindings);
    const ast::Stmt* fn = functionAround(file_, use);
    if (!fn || fn->kind != StmtKind::Fn) return;
    for (size_t i = 0; i < fn->params.size(); ++i) {
      if (fn->params[i].name.text != name) continue;
      for (const ast::Expr* call : calls_) {
        if (call->args[0]->text != fn->name.text || holds(fn->span, call->span)) continue;
        for (size_t k = 0; k < call->arguments.size(); ++k) {
          const ast::Argument& a = call->arguments[k];
          if (a.value && (a.name ? a.name->text == name : k == i)) look(*a.value, made);
        }
      }
    }
  }

  /// Whether what belongs to a gradient is computed there, which a step of training takes along.
  bool isTrainedBehind(const ast::Expr& call) const {
    const auto around = [&](Span span) {
      return statementAround(file_, span, {StmtKind::For, StmtKind::While, StmtKind::Fn});
    };
    return std::ranges::any_of(calls_, [&](const ast::Expr* other) {
      return other->args[0]->kind == ExprKind::Member && other->args[0]->text == "backward" &&
             other->span.begin >= call.span.begin && around(other->span) == around(call.span);
    });
  }
  /// Whether only the shape of the result is asked for.
  bool isOnlyTyped(const ast::Expr& call) const {
    if (typed_.contains(&call)) return true;
    const ast::Stmt* s = placeIn(file_, call.span).statement;
    const std::string name = s && s->value.get() == &call ? nameBound(*s) : "";
    bool only = !name.empty();
    TreeVisitor uses;
    uses.onExpression = [&](const ast::Expr& e) {
      const bool target = s && s->target.get() == &e;
      only = only && (e.kind != ExprKind::Name || e.text != name || target || typed_.contains(&e));
      return true;
    };
    visitAround(file_, call.span, uses);
    return only;
  }
  /// Whether one of the networks of these names is in training mode at a place.
  bool trains(const NameSet& names, Span place, const ast::Stmt* function, int depth = 0) const {
    const Change* last = nullptr;
    for (const Change& c : changes_)
      if (names.contains(c.name) && c.function == function && c.span.begin < place.end &&
          (!last || c.span.begin >= last->span.begin))
        last = &c;
    if (last) return last->trains || !isSure(*last, place);
    const std::vector<Span> callers = function && depth < kMostDepth ? callsOf(*function) : std::vector<Span>();
    return callers.empty() || std::ranges::any_of(callers, [&](Span call) {
             return trains(names, call, functionAround(file_, call), depth + 1);
           });
  }

  /// Whether a change is made wherever the place is reached: no branch or lambda holds it alone.
  bool isSure(const Change& change, Span place) const {
    return std::ranges::none_of(branches_,
                                [&](Span branch) { return holds(branch, change.span) && !holds(branch, place); });
  }

  static constexpr int kMostDepth = 8;

  const ast::File& file_;
  std::vector<const ast::Stmt*> functions_;
  std::vector<const ast::Expr*> calls_;
  std::vector<Change> changes_;
  std::vector<Span> branches_;                           ///< what may not run: branches and lambdas
  std::multimap<std::string, const ast::Stmt*> makers_;  ///< the functions that make a struct
  std::set<const ast::Expr*> typed_;
  bool hasLayers_ = false;
};

bool importsTorch(const ast::File& file) {
  return std::ranges::any_of(file.statements, [](const auto& s) {
    return s && s->kind == StmtKind::Import && !s->path.empty() && s->path[0].text == "torch";
  });
}

}  // namespace

std::optional<TrainingMode> trainingMode(const ast::File& file) {
  if (!importsTorch(file)) return std::nullopt;
  const Modes modes(file);
  const bool unread = hasUnread(file);
  if (unread && (modes.hasLayers() || std::ranges::any_of(file.lost, mayBeLayer)))
    return TrainingMode{{}, "what calls networks, and in which mode, has to be read first"};
  const ast::Expr* call = unread || !modes.hasLayers() ? nullptr : modes.callInTraining();
  if (!call) return std::nullopt;
  return TrainingMode{
      call->span,
      "in PyTorch a network is in training mode until `eval()` is called; here `m(x)` never is: call `eval()` "
      "before, or write `let (y, m) = nn.train(m, x)` where training is meant"};
}

}  // namespace tenc::frontend
