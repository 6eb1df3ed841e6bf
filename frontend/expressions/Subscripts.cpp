#include "frontend/expressions/Subscripts.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/habits/Difference.h"
#include "frontend/habits/Masks.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

using ir::DType;

namespace {

std::string number(int64_t i) { return std::to_string(i); }

}  // namespace

bool Subscripts::read() {
  int64_t used = 0, ellipses = 0;
  for (const ast::Subscript& s : e_.subscripts) {
    if (s.kind == ast::Subscript::Kind::Ellipsis)
      ++ellipses;
    else if (s.kind != ast::Subscript::Kind::New)
      ++used;
  }
  if (ellipses > 1) return refuse(Code::E0205, e_.span, "an index has at most one `...`");
  int64_t spare = base_.rank() - used;
  if (spare < 0) {
    for (const ast::Subscript& s : e_.subscripts) {  // `x[:, None]` has had its error, and no third index
      if (s.kind == ast::Subscript::Kind::Index && s.index && evaluated(s).poison()) return false;
    }
    if (base_.rank() == 0) {
      return refuse(Code::E0205, e_.span, "this is one number, " + ir::toString(base_) + ": it has no dims to index");
    }
    return refuse(Code::E0205, e_.span,
                  number(used) + " indices for a tensor of " + number(base_.rank()) +
                      (base_.rank() == 1 ? " dim, " : " dims, ") + ir::toString(base_));
  }
  bool ok = true;
  for (const ast::Subscript& s : e_.subscripts) {
    switch (s.kind) {
      case ast::Subscript::Kind::Ellipsis:
        whole(spare);
        if (spare == 0) steps.push_back({.kind = Step::Kind::NoDims, .span = s.span});
        break;
      case ast::Subscript::Kind::New: steps.push_back({.kind = Step::Kind::New, .span = s.span}); break;
      case ast::Subscript::Kind::Index: ok = index(s) && ok; break;
      case ast::Subscript::Kind::Slice: ok = slice(s) && ok; break;
      case ast::Subscript::Kind::Window: ok = window(s) && ok; break;
    }
  }
  if (ellipses == 0) whole(spare);
  return ok;
}

std::vector<ir::OperandText> Subscripts::written() const {
  std::vector<ir::OperandText> list = {{e_.args[0]->span, ""}};
  for (const ast::Subscript& s : e_.subscripts)
    for (const auto* part : {s.index.get(), s.lo.get(), s.hi.get(), s.step.get()})
      if (part) list.push_back({part->span, ""});
  return list;
}

bool Subscripts::refuse(Code code, Span span, std::string message) {
  tools_.context.error(code, span, std::move(message));
  return false;
}

Step& Subscripts::add(Step::Kind kind, Span span) {
  Step s;
  s.kind = kind;
  s.dim = dim_++;
  s.span = span;
  steps.push_back(s);
  return steps.back();
}

void Subscripts::whole(int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Step& s = add(Step::Kind::Slice, e_.span);
    s.size = base_.shape[s.dim];
  }
}

bool Subscripts::inRange(int64_t i, int64_t n, Span span) {
  if (i >= -n && i < n) return true;
  return refuse(Code::E0205, span,
                "index " + number(i) + " is out of range for dim " + number(dim_ - 1) + " of " + ir::toString(base_));
}

bool Subscripts::literalsInRange(const Val& v, int64_t n) {
  if (v.is(Val::Kind::Int)) return inRange(static_cast<int64_t>(v.integer), n, v.span);
  if (!v.is(Val::Kind::Array)) return true;
  return std::all_of(v.elems.begin(), v.elems.end(), [&](const Val& e) { return literalsInRange(e, n); });
}

Val Subscripts::evaluated(const ast::Subscript& s) { return known_ ? *known_ : tools_.expressions.eval(*s.index); }

bool Subscripts::index(const ast::Subscript& s) {
  Val v = evaluated(s);
  Step& step = add(Step::Kind::At, s.span);
  if (v.poison()) return false;
  int64_t n = base_.shape[step.dim];
  if (v.is(Val::Kind::Int)) {
    auto i = tools_.evaluator.constInt(v, "an index");
    if (!i || !inRange(*i, n, s.span)) return false;
    step.start = *i < 0 ? *i + n : *i;
    return true;
  }
  if (v.is(Val::Kind::Float)) return refuse(Code::E0201, s.span, "an index must be an integer, not a float");
  if (v.is(Val::Kind::Array) && v.elems.empty()) v = Val::ofPack({}, v.span);
  if (!literalsInRange(v, n)) return false;
  ir::Value* t = tools_.tensors.tensorOf(v);
  if (!t) return false;
  if (t->type.dtype == DType::Bool) {
    auto d =
        tools_.context.error(Code::E0210, s.span, "an index of bools gives a shape that depends on run-time values");
    if (auto mended = withoutMask(tools_.context, s.span, base_, t->type))
      d.help(mended->text, mended->edits);
    else
      d.help(
          "keep the shape: `where(mask, x, other)`; for an update `v = where(mask, value, v)`; for indices `topk` or "
          "`argsort`");
    return false;
  }
  if (!ir::isInt(t->type.dtype)) {
    tools_.context.error(Code::E0201, s.span, "an index must be of integers, not " + ir::toString(t->type))
        .help("convert it: `i64(...)`");
    return false;
  }
  step.kind = t->type.rank() == 0 ? Step::Kind::Scalar : Step::Kind::Tensor;
  step.index = t;
  return true;
}

/// `t : t + 1` as `t :+ 1`; empty where the length does not follow from how the bounds are written.
std::vector<Edit> Subscripts::withLength(const ast::Subscript& s) const {
  if (!s.lo || !s.hi || s.step || s.lo->kind == ast::Expr::Kind::Int) return {};
  const auto length = writtenDifference(*s.hi, *s.lo);
  if (!length) return {};
  return {{{s.span.file, s.lo->span.end, s.hi->span.end}, " :+ " + *length}};
}

namespace {
/// What bounds are in the last trip of the loop around them, where they are made of its name and of numbers.
class LastTrip {
 public:
  explicit LastTrip(const SubscriptTools& tools) : tools_(tools) {}

  std::optional<int64_t> at(const ast::Expr& e) {
    if (e.kind == ast::Expr::Kind::Binary && (e.text == "+" || e.text == "-" || e.text == "*")) {
      const auto a = at(*e.args[0]), b = at(*e.args[1]);
      if (!a || !b || std::abs(*a) > kMost || std::abs(*b) > kMost) return std::nullopt;
      return e.text == "+" ? *a + *b : e.text == "-" ? *a - *b : *a * *b;
    }
    const bool isName = e.kind == ast::Expr::Kind::Name;
    const Declaration* name = isName ? tools_.context.frame().unit->resolution->definition(e.span) : nullptr;
    const ast::Stmt* s = name ? name->statement : nullptr;
    if (!s || s->kind != ast::Stmt::Kind::For || s->isStatic) return known(e);
    const auto lo = s->lo && s->hi ? known(*s->lo) : std::nullopt, hi = lo ? known(*s->hi) : std::nullopt;
    const auto by = s->by ? known(*s->by) : std::optional<int64_t>(1);
    if (!hi || !by || *by <= 0 || *hi <= *lo || (loop && loop != s)) return std::nullopt;
    loop = s;
    trips = (*hi - *lo - 1) / *by + 1;
    return *lo + (trips - 1) * *by;
  }

  const ast::Stmt* loop = nullptr;  ///< found on the way, if there is one
  int64_t trips = 0;

 private:
  static constexpr int64_t kMost = int64_t{1} << 30;

  /// Of numbers, names and sizes, which are read once more without a trace.
  std::optional<int64_t> known(const ast::Expr& e) const {
    bool plain = true;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& part) {
      using Kind = ast::Expr::Kind;
      const bool isSize = part.kind == Kind::Member && (part.text == "shape" || part.text == "size");
      plain = plain && (isSize || part.kind == Kind::Int || part.kind == Kind::Name || part.kind == Kind::Binary ||
                        part.kind == Kind::Index);
      return plain;
    };
    visitor.visit(e);
    if (!plain) return std::nullopt;
    const Val v = tools_.expressions.eval(e);
    const bool fits = v.is(Val::Kind::Int) && v.integer >= -kMost && v.integer <= kMost;
    return fits ? std::optional(static_cast<int64_t>(v.integer)) : std::nullopt;
  }

  const SubscriptTools& tools_;
};
}  // namespace

/// What is said of a slice that ends beyond the dim in the last trip of a loop, where Python gives what there is and a
/// window would stop; nothing for others. Few trips may be written one by one.
std::optional<Help> Subscripts::shorterTrip(const ast::Subscript& s) const {
  constexpr int64_t kMostTrips = 64;
  LastTrip last(tools_);
  const auto end = last.at(*s.hi);
  if (!end || !last.loop || *end <= base_.shape[dim_ - 1]) return std::nullopt;
  const std::string fewer = "the last trip has fewer elements than the others";
  if (last.trips > kMostTrips)
    return Help{fewer + ": loop over the whole windows, and take the rest behind the loop", {}};
  const Span lo = last.loop->lo->span;
  return Help{fewer + "; in a loop that is `static` the bounds are known in each trip",
              {{Span{lo.file, lo.begin, lo.begin}, "static "}}};
}

std::optional<int64_t> Subscripts::bound(const ast::ExprPtr& e, int64_t otherwise, const ast::Subscript& slice) {
  if (!e) return otherwise;
  Val v = tools_.expressions.eval(*e);
  if (v.is(Val::Kind::Tensor) && v.tensor->type.rank() == 0) {
    auto d = tools_.context.error(Code::E0210, e->span,
                                  "the bounds of a slice must be known at compile time, or its length is not");
    const std::vector<Edit> fixed = withLength(slice);
    if (const auto shorter = fixed.empty() ? std::nullopt : shorterTrip(slice)) {
      d.help(shorter->text, shorter->edits);
      return std::nullopt;
    }
    d.help("for a run-time start and a fixed length write `x[i :+ length]`", fixed);
    v.span = e->span;
    if (fixed.empty() && !explainKnown(tools_.context, d, v))
      d.help(
          "for a length that is known only at run time take all elements and a mask: `where(arange(8) < n, x, 0.0)`");
    return std::nullopt;
  }
  return tools_.evaluator.constInt(v, "a slice bound");
}

bool Subscripts::slice(const ast::Subscript& s) {
  Step& step = add(Step::Kind::Slice, s.span);
  int64_t n = base_.shape[step.dim];
  auto by = bound(s.step, 1, s);
  if (by && *by == 0) return refuse(Code::E0205, s.span, "the step of a slice cannot be 0");
  bool back = by && *by < 0;
  auto lo = bound(s.lo, back ? n - 1 : 0, s);
  auto hi = lo ? bound(s.hi, back ? -n - 1 : n, s) : std::nullopt;  // one report of two run-time bounds
  if (!by || !lo || !hi) return false;
  auto clamped = [&](int64_t i, const ast::ExprPtr& written) {
    int64_t least = back ? -1 : 0, most = back ? n - 1 : n;
    int64_t at = i < 0 ? i + n : i;
    if (written && (at > n || at < 0)) {
      tools_.context.warning(Code::W0201, written->span,
                             "slice bound " + number(i) + " is beyond dim " + number(step.dim) + " of " +
                                 ir::toString(base_) + " and is clamped");
    }
    return std::clamp(at, least, most);
  };
  int64_t first = clamped(*lo, s.lo), end = s.hi ? clamped(*hi, s.hi) : (back ? -1 : n);
  int64_t span = back ? first - end : end - first, stride = back ? -*by : *by;
  step.start = first;
  step.step = *by;
  step.size = span <= 0 ? 0 : (span - 1) / stride + 1;
  if (step.size == 0) step.start = 0, step.step = 1;
  return true;
}

bool Subscripts::window(const ast::Subscript& s) {
  Step& step = add(Step::Kind::Window, s.span);
  int64_t n = base_.shape[step.dim];
  Val start = tools_.expressions.eval(*s.index);
  auto size = tools_.evaluator.constInt(tools_.expressions.eval(*s.size), "the length of a window");
  if (!size || start.poison()) return false;
  if (*size < 0 || *size > n) {
    return refuse(
        Code::E0205, s.span,
        "a window of " + number(*size) + " does not fit in dim " + number(step.dim) + " of " + ir::toString(base_));
  }
  step.size = *size;
  if (start.is(Val::Kind::Int)) {
    auto i = tools_.evaluator.constInt(start, "the start of a window");
    if (!i) return false;
    int64_t at = *i < 0 ? *i + n : *i;
    if (*size == 0) at = std::clamp<int64_t>(at, 0, n);  // no elements are nowhere out of range
    if (at < 0 || at + *size > n) {
      return refuse(Code::E0205, s.span,
                    "the window of " + number(*size) + " from " + number(*i) + " leaves dim " + number(step.dim) +
                        " of " + ir::toString(base_));
    }
    step.kind = Step::Kind::Slice;
    step.start = at;
    return true;
  }
  step.index = tools_.tensors.tensorOf(start);
  if (!step.index) return false;
  if (step.index->type.rank() != 0 || !ir::isInt(step.index->type.dtype)) {
    return refuse(Code::E0203, s.span,
                  "the start of a window must be one integer, not " + ir::toString(step.index->type));
  }
  return true;
}

}  // namespace tenc::frontend
