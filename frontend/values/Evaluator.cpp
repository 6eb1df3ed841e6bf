// Compile-time values as integers, floats, shapes and axes.
#include "frontend/values/Evaluator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Unit.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

bool runTime(const Val& v) { return v.is(Val::Kind::Tensor) || v.is(Val::Kind::Format); }

constexpr Int kLeast = std::numeric_limits<int64_t>::min();

constexpr Int kMost = std::numeric_limits<int64_t>::max();

/// A value of a `param`, and one that it is given for a run.
std::array<std::string_view, 2> valuesOf(ir::DType t) {
  if (t == ir::DType::Bool) return {"true", "false"};
  return ir::isFloat(t) ? std::array<std::string_view, 2>{"0.5", "0.1"} : std::array<std::string_view, 2>{"1", "2"};
}

/// The parameters, of rank 0, of which an expression is computed, through `let`s, if there is nothing else that the run
/// computes: all would be known if these were `static`.
class ParametersOf {
 public:
  ParametersOf(const Frame& frame, const ast::File& file) : frame_(frame), file_(file) {}

  bool collect(const ast::Expr& e, std::vector<const Declaration*>& found) const {
    using ExprKind = ast::Expr::Kind;
    if (e.kind == ExprKind::Int) return true;
    if (e.kind == ExprKind::Unary || e.kind == ExprKind::Binary)
      return std::ranges::all_of(e.args, [&](const ast::ExprPtr& part) { return collect(*part, found); });
    if (e.kind == ExprKind::Member && (e.text == "size" || e.text == "ndim")) return e.args[0]->kind == ExprKind::Name;
    if (e.kind == ExprKind::Call) return isPairwise(e) && ofArguments(e, found);
    const ast::Expr* of = e.kind == ExprKind::Index ? e.args[0].get() : nullptr;
    if (of && of->kind == ExprKind::Member && of->text == "shape" && of->args[0]->kind == ExprKind::Name)
      return std::ranges::all_of(e.subscripts,
                                 [&](const ast::Subscript& s) { return s.index && collect(*s.index, found); });
    const Declaration* name = e.kind == ExprKind::Name ? frame_.unit->resolution->definition(e.span) : nullptr;
    if (!name || name->home != frame_.unit->resolution.get()) return false;
    if (name->kind == Declaration::Kind::Parameter) return isParameter(*name, found);
    const ast::Stmt* s = name->statement;
    if (name->isLocal()) return s && s->kind == ast::Stmt::Kind::Let && s->value && collect(*s->value, found);
    return s && (s->kind == ast::Stmt::Kind::Const || s->kind == ast::Stmt::Kind::Param);
  }

  /// Of what is written at `at`; empty where that is not certain.
  std::vector<const Declaration*> at(Span at) const {
    std::vector<const Declaration*> found;
    const ast::Expr* e = expressionAt(file_, at);
    return e && collect(*e, found) ? found : std::vector<const Declaration*>();
  }

 private:
  /// `min(k, n)`, which gives a number of two numbers.
  bool isPairwise(const ast::Expr& call) const {
    const Declaration* callee = frame_.unit->resolution->definition(call.args[0]->span);
    return callee && callee->builtin && !callee->builtin->traits.pairwise.empty() && call.arguments.size() == 2;
  }

  bool ofArguments(const ast::Expr& call, std::vector<const Declaration*>& found) const {
    return std::ranges::all_of(call.arguments,
                               [&](const ast::Argument& a) { return !a.name && a.value && collect(*a.value, found); });
  }

  bool isParameter(const Declaration& name, std::vector<const Declaration*>& found) const {
    const Binding* bound = frame_.bound(name.span);
    if (!bound || bound->value.isNumber()) return bound != nullptr;  // a static one
    const bool isInt = bound->value.is(Val::Kind::Tensor) && bound->value.tensor->type.shape.empty() &&
                       ir::isInt(bound->value.tensor->type.dtype);
    if (isInt && std::ranges::find(found, &name) == found.end()) found.push_back(&name);
    return isInt;
  }

  const Frame& frame_;
  const ast::File& file_;
};

/// `name`: of the value of dtype `t`; null for what has none that can be changed. Whether that would make it known.
bool explainKnown(Diagnostics::Builder& d, const Declaration* name, ir::DType t,
                  const std::vector<const Declaration*>& from = {}) {
  const auto before = [](Span s) { return Span{s.file, s.begin, s.begin}; };
  if (!from.empty()) {
    std::vector<Edit> edits;
    for (const Declaration* p : from) edits.push_back({before(p->span), "static "});
    d.help("a parameter that is known at compile time is `static`", std::move(edits));
    return true;
  }
  const ast::Stmt* s = name ? name->statement : nullptr;
  const bool bound = s && (s->kind == ast::Stmt::Kind::Let || s->kind == ast::Stmt::Kind::Var);
  if (name && name->kind == Declaration::Kind::Parameter)
    return d.help("a parameter that is known at compile time is `static`", {{before(name->span), "static "}}), true;
  if (s && s->kind == ast::Stmt::Kind::For && !s->isStatic && mayBeStatic(*s))
    return d.help("in a loop that is `static` it is known in each trip", {{before(s->lo->span), "static "}}), true;
  d.note("literals, `const`s, `param`s, dims and arithmetic over them are known at compile time; a `var` is not");
  if (!bound) return false;
  d.note(name->span, "`" + name->name + "` is bound here");
  const auto uses = name->home->usesOf(*name);
  const bool changes = std::ranges::any_of(uses, [](const Use& use) { return use.assigned; });
  if (s->kind == ast::Stmt::Kind::Var && !changes && s->keyword.valid() && s->value && isOfLiterals(*s->value))
    return d.help("it does not change: bind it with `let`", {{s->keyword, "let"}}), true;
  const auto [given, other] = valuesOf(t);
  d.help("a `param` is known at compile time and chosen for each run: `param " + name->name + ": " +
         std::string(ir::name(t)) + " = " + std::string(given) + "`, then `--" + name->name + " " + std::string(other) +
         "`");
  return false;
}
}  // namespace

bool isRunTimeSize(const Val& v) {
  if (!v.is(Val::Kind::Type) || !v.span.valid() || !v.type->isTensor()) return false;
  return v.type->dtype && ir::isInt(*v.type->dtype) && v.type->dims && v.type->dims->empty();
}

void refuseRunTimeSize(Context& context, const Val& size) {
  // From the use of a dim variable to the argument that it stands for, outwards as long as that is one in turn.
  Span at = size.span;
  const Declaration* own = nullptr;
  std::string who = "the function";
  size_t depth = context.frames.size();
  for (; depth > 0; --depth) {
    const Frame& f = *context.frames[depth - 1];
    own = f.unit->resolution->definition(at);
    if (!own || own->kind != Declaration::Kind::Generic) break;
    const Binding* bound = f.bound(own->span);
    if (!bound || !isRunTimeSize(bound->value)) break;
    at = bound->value.span;
    if (f.fn) who = "`" + f.fn->stmt->name.text + "`";
  }
  // Reported by the body in which the argument stands.
  const std::vector<Frame*> inner(context.frames.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(depth, 1)),
                                  context.frames.end());
  context.frames.resize(context.frames.size() - inner.size());
  auto d = context.error(Code::E0111, at,
                         who + " needs " + (own ? "`" + own->name + "`" : "this") +
                             " at compile time, as a size, but it is a run-time value");
  context.frames.insert(context.frames.end(), inner.begin(), inner.end());
  explainKnown(d, own, ir::DType::I64);
}

bool explainKnown(Context& context, Diagnostics::Builder& d, const Val& v) {
  const Unit* unit = context.frames.empty() ? nullptr : context.frame().unit;
  const Declaration* name = v.span.valid() && unit ? unit->resolution->definition(v.span) : nullptr;
  // Only what the user has written can be changed.
  const bool isNumber = v.is(Val::Kind::Tensor) && v.tensor->type.shape.empty();
  const bool isOwn = isNumber && name && !context.sources.file(name->span.file).isLibrary;
  const bool isOfScript = isNumber && v.span.valid() && unit && unit->file && unit->isScript;
  return explainKnown(
      d, isOwn ? name : nullptr, isNumber ? v.tensor->type.dtype : ir::DType::I64,
      isOfScript ? ParametersOf(context.frame(), *unit->file).at(v.span) : std::vector<const Declaration*>());
}

namespace {
/// E0111: names what is written there where that is short.
void refuseRunTime(Context& context, const Val& v, std::string_view what) {
  constexpr size_t kMostText = 40;
  std::string given = "this";
  if (v.span.valid() && v.span.end > v.span.begin && v.span.end - v.span.begin <= kMostText) {
    const std::string_view text = context.sources.text(v.span);
    if (text.find_first_of("`\n") == text.npos) given = "`" + std::string(text) + "`";
  }
  auto d = context.error(Code::E0111, v.span,
                         std::string(what) + " must be known at compile time, but " + given + " is a run-time value");
  explainKnown(context, d, v);
}
}  // namespace

std::optional<int64_t> Evaluator::constInt(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::Int)) {
    if (v.integer < kLeast || v.integer > kMost) {
      context_.error(Code::E0212, v.span, toString(v.integer) + " does not fit in i64");
      return std::nullopt;
    }
    return static_cast<int64_t>(v.integer);
  }
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    refuseRunTime(context_, v, what);
  } else {
    if (isRunTimeSize(v))
      refuseRunTimeSize(context_, v);
    else
      context_.error(Code::E0203, v.span, std::string(what) + " must be an integer, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<double> Evaluator::constFloat(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::Float)) return v.real;
  if (v.is(Val::Kind::Int)) return static_cast<double>(v.integer);
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    refuseRunTime(context_, v, what);
  } else {
    context_.error(Code::E0203, v.span, std::string(what) + " must be a number, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<bool> Evaluator::constBool(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::Bool)) return v.boolean;
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    refuseRunTime(context_, v, what);
  } else {
    context_.error(Code::E0203, v.span, std::string(what) + " must be true or false, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<std::string> Evaluator::constString(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::String)) return v.text;
  if (v.poison()) return std::nullopt;
  if (v.is(Val::Kind::Format)) {
    context_.error(Code::E0111, v.span,
                   std::string(what) + " must be known at compile time, but it has run-time parts");
  } else {
    context_.error(Code::E0203, v.span, std::string(what) + " must be a string, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<ir::DType> Evaluator::constDType(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::DType)) return v.dtype;
  if (v.is(Val::Kind::Function) && v.fn->kind == FnValue::Kind::Cast) return ir::dtypeNamed(v.fn->name);
  if (!v.poison()) {
    auto d =
        context_.error(Code::E0203, v.span, std::string(what) + " must be a dtype such as f32, not " + describe(v));
    const syntax::Familiar* known = v.is(Val::Kind::String) ? syntax::familiarName(v.text) : nullptr;
    const std::string name(known != nullptr ? known->replacement : std::string_view(v.text));
    if (v.is(Val::Kind::String) && ir::dtypeNamed(name)) d.help("write dtypes without quotes", {{v.span, name}});
  }
  return std::nullopt;
}

Val literalInts(const Val& v) {
  const ir::Op* op = v.is(Val::Kind::Tensor) ? v.tensor->op : nullptr;
  const ir::Dims& shape = v.is(Val::Kind::Tensor) ? v.tensor->type.shape : ir::Dims{};
  if (!op || op->kind != ir::OpKind::Constant || shape.empty() || shape.size() > 2) return v;
  const auto& data = std::get<ir::Data>(*op->find("value"));
  if (v.tensor->type.dtype != ir::DType::I64 || !data || data->size() > 64 * sizeof(int64_t)) return v;
  std::vector<Val> rows;
  const size_t width = static_cast<size_t>(shape.back());
  for (size_t i = 0; width > 0 && i + width <= data->size() / sizeof(int64_t); i += width) {
    std::vector<Val> row;
    for (size_t j = i; j < i + width; ++j) {
      int64_t n;
      std::memcpy(&n, data->data() + j * sizeof n, sizeof n);
      row.push_back(Val::ofInt(n, v.span));
    }
    rows.push_back(Val::ofTuple(std::move(row), v.span));
  }
  return shape.size() == 2 ? Val::ofTuple(std::move(rows), v.span) : rows.empty() ? v : rows[0];
}

std::optional<std::vector<int64_t>> Evaluator::constInts(const Val& given, std::string_view what) {
  const Val v = literalInts(given);
  std::vector<int64_t> ints;
  if (v.is(Val::Kind::Int)) {
    auto i = constInt(v, what);
    if (!i) return std::nullopt;
    ints.push_back(*i);
    return ints;
  }
  if (v.is(Val::Kind::Tuple) || v.is(Val::Kind::Array) || v.is(Val::Kind::Pack) || v.is(Val::Kind::List)) {
    for (const Val& e : v.elems) {
      if (e.is(Val::Kind::Pack)) {
        auto inner = constInts(e, what);
        if (!inner) return std::nullopt;
        ints.insert(ints.end(), inner->begin(), inner->end());
        continue;
      }
      auto i = constInt(e, what);
      if (!i) return std::nullopt;
      ints.push_back(*i);
    }
    return ints;
  }
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    refuseRunTime(context_, v, what);
  } else {
    context_.error(Code::E0203, v.span,
                   std::string(what) + " must be an integer or a list of integers, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<ir::Dims> Evaluator::constShape(const Val& given) {
  const Val v = literalInts(given);
  // Only the sizes of a shape get their own code: shapes are static.
  const Val* size = runTime(v) ? &v : nullptr;
  if (v.is(Val::Kind::Array) || v.is(Val::Kind::Tuple)) {
    for (const Val& e : v.elems) size = runTime(e) ? &e : size;
  }
  if (size) {
    auto d = context_.error(Code::E0210, size->span,
                            "a shape must be known at compile time, but this size is a run-time value");
    if (!explainKnown(context_, d, *size))
      d.help("for a size that is known only at run time take the largest and a mask: `where(arange(8) < n, x, 0.0)`");
    return std::nullopt;
  }
  auto dims = constInts(v, "a shape");
  if (!dims) return std::nullopt;
  for (int64_t d : *dims) {
    if (d < 0) {
      context_.error(Code::E0208, v.span, "a dim cannot be negative: " + ir::toString(*dims));
      return std::nullopt;
    }
  }
  if (dims->size() > ir::kMaxRank) {
    context_.error(Code::E0208, v.span, "a tensor has at most " + std::to_string(ir::kMaxRank) + " dims");
    return std::nullopt;
  }
  if (!ir::elementCount(*dims)) {
    context_.error(Code::E0208, v.span,
                   "a tensor of shape " + ir::toString(*dims) + " has more elements than can be counted");
    return std::nullopt;
  }
  return dims;
}

std::optional<int64_t> Evaluator::constAxis(const Val& v, int64_t rank) {
  auto axis = constInt(v, "an axis");
  if (!axis) return std::nullopt;
  if (*axis < -rank || *axis >= rank) {
    context_.error(
        Code::E0205, v.span,
        "axis " + std::to_string(*axis) + " is out of range for a tensor of " + std::to_string(rank) + " dims");
    return std::nullopt;
  }
  return *axis < 0 ? *axis + rank : *axis;
}

std::optional<std::vector<int64_t>> Evaluator::constAxes(const Val* v, int64_t rank) {
  std::vector<int64_t> axes;
  if (!v) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  auto given = constInts(*v, "an axis");
  if (!given) return std::nullopt;
  for (int64_t a : *given) {
    auto axis = constAxis(Val::ofInt(a, v->span), rank);
    if (!axis) return std::nullopt;
    if (std::find(axes.begin(), axes.end(), *axis) != axes.end()) {
      context_.error(Code::E0204, v->span, "axis " + std::to_string(a) + " is given twice");
      return std::nullopt;
    }
    axes.push_back(*axis);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace tenc::frontend
