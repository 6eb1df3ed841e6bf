#include "frontend/habits/BatchedLoops.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Declare.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/SameValue.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"
#include "syntax/StatementEdits.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

constexpr std::string_view kModule = "data";

/// What the call is given.
struct Options {
  const ast::Expr* rows = nullptr;
  const ast::Expr* size = nullptr;
  bool shuffles = false, dropsLast = false;
};

/// Nothing where an option changes what the batches are.
std::optional<Options> optionsOf(const ast::Expr& call) {
  static constexpr std::array<std::string_view, 3> kInOrder = {"dataset", "batch_size", "shuffle"};
  static constexpr std::array<std::string_view, 5> kOfWorkers = {"num_workers", "pin_memory", "persistent_workers",
                                                                 "prefetch_factor", "timeout"};
  Options o;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const ast::Argument& a = call.arguments[i];
    if (!a.value || a.rangeEnd || (!a.name && i >= kInOrder.size())) return std::nullopt;
    const std::string_view name = a.name ? std::string_view(a.name->text) : kInOrder[i];
    const auto flag = boolWritten(*a.value);
    if (name == "dataset")
      o.rows = a.value.get();
    else if (name == "batch_size")
      o.size = a.value.get();
    else if (name == "shuffle" && flag)
      o.shuffles = *flag;
    else if (name == "drop_last" && flag)
      o.dropsLast = *flag;
    else if (std::ranges::find(kOfWorkers, name) == kOfWorkers.end())
      return std::nullopt;
  }
  return o.rows && o.size ? std::optional(o) : std::nullopt;
}

bool isCalled(const ast::Expr& e, std::string_view name) {
  return e.kind == ExprKind::Call && e.args[0]->text == name && !e.arguments.empty();
}

/// The statements that bind the name.
std::vector<const ast::Stmt*> bindingsOf(const ast::File& file, const std::string& name) {
  std::vector<const ast::Stmt*> found;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    if (nameBound(s) == name) found.push_back(&s);
  };
  visitor.visit(file);
  return found;
}

class Loader {
 public:
  Loader(Context& context, Scopes& scopes, const ast::File& file, const ast::Expr& call, const Options& options)
      : context_(context), scopes_(scopes), file_(file), call_(call), options_(options) {}

  std::optional<Help> help() {
    if (!findTensors()) return std::nullopt;
    const std::optional<int64_t> size = sizeKnown();
    if (!options_.dropsLast && (!size || *size <= 0 || rows_ % *size != 0)) {
      const std::string count = std::to_string(rows_) + " rows";
      return Help{"all batches have one shape, and " + count +
                      (size ? " are no multiple of " + std::to_string(*size) : " may be no multiple of their size") +
                      ": `drop_last=True` leaves the incomplete last batch out, and `data.rest` gives its rows",
                  {}};
    }
    if (!findUses() || loops_.empty() || !keepsNames()) return std::nullopt;
    for (const ast::Stmt* loop : loops_)
      if (!rewrite(*loop)) return std::nullopt;
    module();
    return Help{"the rows of a batch are taken by index", std::move(edits_)};
  }

 private:
  std::string text(Span s) const { return std::string(context_.sources.text(s)); }

  /// The tensors whose rows belong together.
  bool findTensors() {
    const ast::Expr* of = options_.rows;
    if (of->kind == ExprKind::Name && !tensor(*of)) {
      const auto bound = bindingsOf(file_, of->text);
      if (bound.size() != 1 || !bound[0]->value) return false;
      if (timesNamed(file_, of->text) - (bound[0]->kind == StmtKind::Assign ? 1 : 0) == 1)
        edits_.push_back(syntax::removed(context_.sources, bound[0]->span));
      of = bound[0]->value.get();
    }
    std::vector<const ast::Expr*> parts{of};
    inTuples_ = isCalled(*of, "TensorDataset");
    if (inTuples_) {
      parts.clear();
      for (const ast::Argument& a : of->arguments) {
        if (!a.value || a.name) return false;
        parts.push_back(a.value.get());
      }
    }
    for (const ast::Expr* p : parts) {
      const ir::Type* type = p->kind == ExprKind::Name ? tensor(*p) : nullptr;
      if (!type || type->shape.empty() || (!tensors_.empty() && type->shape[0] != rows_)) return false;
      rows_ = type->shape[0];
      tensors_.push_back(p->text);
      moved_.push_back(p);
    }
    return !tensors_.empty();
  }
  const ir::Type* tensor(const ast::Expr& name) const {
    const Binding* bound = scopes_.find(name.span);
    return bound && bound->value.is(Val::Kind::Tensor) ? &bound->value.tensor->type : nullptr;
  }
  std::optional<int64_t> sizeKnown() const {
    const ast::Expr& s = *options_.size;
    if (s.kind == ExprKind::Int && !s.overflow) return static_cast<int64_t>(s.integer);
    const Binding* bound = s.kind == ExprKind::Name ? scopes_.find(s.span) : nullptr;
    const bool known = bound && bound->value.is(Val::Kind::Int);
    return known ? std::optional(static_cast<int64_t>(bound->value.integer)) : std::nullopt;
  }

  /// The loops over the loader, and where its length is asked for; false where something else is done with it.
  bool findUses() {
    const ast::Stmt* s = placeIn(file_, call_.span).statement;
    if (!s || hasUnread(file_)) return false;  // there may be other loops
    const std::string name = s->value.get() == &call_ ? nameBound(*s) : "";
    if (!name.empty() && bindingsOf(file_, name).size() != 1) return false;
    const Span bound{s->span.file, s->span.end, s->span.end};
    const auto isLoader = [&](const ast::Expr& e) {
      return name.empty() ? &e == &call_ : e.kind == ExprKind::Name && e.text == name && e.span != targetOf(*s);
    };
    size_t uses = 0, known = 0;
    bool isOther = false;  // a parameter of the loader's name, say
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& loop) {
      const bool walks = loop.kind == StmtKind::For && loop.lo && !loop.hi;
      if (!walks ||
          !(isLoader(*loop.lo) || (isCalled(*loop.lo, "enumerate") && isLoader(*loop.lo->arguments[0].value))))
        return;
      loops_.push_back(&loop);
      uses_.push_back(loop.lo->span);
      ++known;
    };
    visitor.onExpression = [&](const ast::Expr& e) {
      uses += isLoader(e) ? 1 : 0;
      isOther = isOther || (isLoader(e) && !name.empty() && !isSameAt(context_.sources, file_, name, bound, e.span));
      // `len(loader)`, or what that has been mended to.
      const ast::Expr* of = isCalled(e, "len") ? e.arguments[0].value.get() : firstDim(e);
      if (of && isLoader(*of)) {
        edits_.push_back({e.span, "(" + tensors_[0] + ".shape[0] // " + sizeText() + ")"});
        uses_.push_back(e.span);
        ++known;
      } else if (of && of->kind == ExprKind::Member && of->text == "dataset" && isLoader(*of->args[0])) {
        edits_.push_back({e.span, tensors_[0] + ".shape[0]"});
        uses_.push_back(e.span);
        ++known;
      }
      return true;
    };
    visitor.visit(file_);
    if (!name.empty()) edits_.push_back(syntax::removed(context_.sources, s->span));
    return uses == known && !isOther;
  }
  /// Whether the tensors and the size are, where they come to stand, what the loader was given.
  bool keepsNames() const {
    // A function does not see the variables of the script.
    const auto function = [&](Span part) {
      return statementAround(file_, part, {StmtKind::Fn, StmtKind::Test, StmtKind::Bench});
    };
    return std::ranges::all_of(uses_, [&](Span use) {
      const auto isSame = [&](const ast::Expr* e) { return isSameAt(context_.sources, file_, *e, use); };
      return function(use) == function(call_.span) && isSame(options_.size) && std::ranges::all_of(moved_, isSame);
    });
  }
  /// The size of a batch as an operand.
  std::string sizeText() const {
    const ast::Expr& size = *options_.size;
    const bool alone = size.grouped || (size.kind != ExprKind::Binary && size.kind != ExprKind::Unary);
    return alone ? text(size.span) : "(" + text(size.span) + ")";
  }
  /// `x` of `x.shape[0]`; null for another expression.
  static const ast::Expr* firstDim(const ast::Expr& e) {
    const bool reads = e.kind == ExprKind::Index && e.args[0]->kind == ExprKind::Member && e.args[0]->text == "shape";
    const ast::Expr* i = reads && e.subscripts.size() == 1 ? e.subscripts[0].index.get() : nullptr;
    return i && i->kind == ExprKind::Int && i->text == "0" ? e.args[0]->args[0].get() : nullptr;
  }
  static Span targetOf(const ast::Stmt& s) { return s.target ? s.target->span : Span{}; }

  std::string freeName() const {
    for (const char* name : {"rows", "batch", "indices"})
      if (!isUsed(name)) return name;
    return "";
  }
  bool isUsed(std::string_view name) const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      found = found || boundBy(s).contains(std::string(name)) || namesOf(s.pattern).contains(std::string(name));
    };
    visitor.visit(file_);
    return found || timesNamed(file_, name) > 0 || assigns(file_, name);
  }

  bool rewrite(const ast::Stmt& loop) {
    const bool counts = isCalled(*loop.lo, "enumerate");
    const ast::Pattern& all = loop.pattern;
    const bool fits = !counts || (all.isTuple && all.elements.size() == 2 && loop.lo->arguments.size() == 1);
    const std::string name = freeName();
    if (!fits || name.empty() || loop.body.statements.empty() || !loop.body.statements[0]) return false;
    const ast::Pattern& each = counts ? all.elements[1] : all;
    if (each.isTuple && (!inTuples_ || each.elements.size() != tensors_.size())) return false;
    std::string taken;
    for (const std::string& t : tensors_) taken += (taken.empty() ? "" : ", ") + t + "[" + name + "]";
    const bool one = each.isTuple && tensors_.size() == 1;  // `for (xb,) in loader`
    if (tensors_.size() > 1) taken = "(" + taken + ")";
    if (inTuples_ && !each.isTuple && tensors_.size() == 1) taken = "(" + taken + ",)";
    const std::string batches = batchesCalled() + "(" + tensors_[0] + ".shape[0], size: " + text(options_.size->span) +
                                (options_.shuffles ? ")" : ", shuffle: false)");
    const std::string head = counts ? "(" + text(all.elements[0].span) + ", " + name + ") in enumerate(" + batches + ")"
                                    : name + " in " + batches;
    edits_.push_back({Span{all.span.file, all.span.begin, loop.lo->span.end}, head});
    edits_.push_back(syntax::lineBefore(context_.sources, loop.body.statements[0]->span,
                                        "let " + text(one ? each.elements[0].span : each.span) + " = " + taken));
    return true;
  }
  /// A script often has a name of its own that is that of the module.
  bool namesModule() const { return isUsed(kModule) && !context_.frame().unit->modules.contains(kModule); }
  std::string batchesCalled() const { return namesModule() ? "batches" : std::string(kModule) + ".batches"; }
  void module() {
    const Unit& unit = *context_.frame().unit;
    const std::string line = std::string(kModule) + (namesModule() ? ": batches" : "");
    if (!unit.modules.contains(kModule) && !unit.file->lost.contains(std::string(kModule)))
      edits_.push_back(imported(*unit.file, context_.sources.file(unit.source), line));
  }

  Context& context_;
  Scopes& scopes_;
  const ast::File& file_;
  const ast::Expr& call_;
  const Options options_;
  std::vector<std::string> tensors_;
  std::vector<const ast::Expr*> moved_;  ///< the tensors, where the loader is given them
  std::vector<Span> uses_;               ///< where they come to stand
  bool inTuples_ = false;                ///< a batch of a `TensorDataset` is a tuple, also of one tensor
  int64_t rows_ = 0;
  std::vector<const ast::Stmt*> loops_;
  std::vector<Edit> edits_;
};

}  // namespace

std::optional<Help> batchedLoops(Context& context, Scopes& scopes, const ast::Expr& call) {
  const ast::File* file = fileOf(context);
  if (!file || !isCalled(call, "DataLoader")) return std::nullopt;
  const auto options = optionsOf(call);
  return options ? Loader(context, scopes, *file, call, *options).help() : std::nullopt;
}

}  // namespace tenc::frontend
