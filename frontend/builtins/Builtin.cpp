// Looking up and calling built-ins.
#include "frontend/builtins/Builtin.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/calls/Arguments.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "ir/Ir.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {

const std::vector<const BuiltinRow*>& sortedRows() {
  static const std::vector<const BuiltinRow*> kRows = [] {
    std::vector<const BuiltinRow*> rows;
    for (auto group : {elementwiseBuiltins(), reductionBuiltins(), quantileBuiltins(),      orderBuiltins(),
                       shapeBuiltins(),       joinBuiltins(),      rearrangeBuiltins(),     indexedBuiltins(),
                       creationBuiltins(),    randomBuiltins(),    productBuiltins(),       linearBuiltins(),
                       convolutionBuiltins(), poolingBuiltins(),   normalisationBuiltins(), controlBuiltins(),
                       hostBuiltins(),        debugBuiltins(),     fileBuiltins(),          transformBuiltins()}) {
      for (const BuiltinRow& r : group) rows.push_back(&r);
    }
    std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->name < b->name; });
    return rows;
  }();
  return kRows;
}
}  // namespace

const BuiltinRow* builtinRow(std::string_view name) {
  const auto& rows = sortedRows();
  auto it = std::lower_bound(rows.begin(), rows.end(), name, [](auto* r, std::string_view n) { return r->name < n; });
  return it != rows.end() && (*it)->name == name ? *it : nullptr;
}

bool isBuiltin(std::string_view name) {
  const BuiltinRow* row = builtinRow(name);
  return row && !row->traits.calledOnly;
}

bool isTransform(std::string_view name) {
  const BuiltinRow* row = builtinRow(name);
  return row && row->traits.calledOnly;
}

const std::vector<std::string_view>& builtinNames() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (auto* r : sortedRows()) {
      if (!r->traits.calledOnly) names.push_back(r->name);
    }
    return names;
  }();
  return kNames;
}

std::vector<OpDoc> operations() {
  std::vector<OpDoc> docs;
  for (auto* r : sortedRows()) {
    if (r->traits.calledOnly) continue;
    const std::string_view dtypes = r->op == ir::OpKind::Count ? "" : ir::acceptedDTypes(r->op);
    docs.push_back({r->name, r->signature.text(), r->doc, dtypes});
  }
  return docs;
}

std::vector<std::string_view> methodsOf(ir::DType dtype) {
  const auto takesFirst = [dtype](const BuiltinRow& r) {
    const Parameter* first = r.signature.positional(0);
    // Operands are called x, or a where there is a b; what has another name is an index, a function or a path.
    const bool isOperand = first && first->kind == Parameter::Kind::Any && (first->name == "x" || first->name == "a");
    return isOperand && !r.traits.calledOnly && !r.traits.refused && !r.traits.ofNumbers &&
           (r.op == ir::OpKind::Count || ir::acceptsDType(r.op, dtype));
  };
  std::vector<std::string_view> names;
  for (const BuiltinRow* r : sortedRows())
    if (takesFirst(*r)) names.push_back(r->name);
  return names;
}

namespace {

/// Whether an index or a member is taken of what stands at `span`, as of PyTorch's pair of values and indices.
bool isTakenApart(const ast::File& file, Span span) {
  return expressionAround(file, span, [span](const ast::Expr& e) {
           const bool takes = e.kind == ast::Expr::Kind::Index || e.kind == ast::Expr::Kind::Member;
           return takes && e.args[0]->span == span;
         }) != nullptr;
}

/// W0202 for `max(x, 0)`: the larger of each element and 0 where NumPy and PyTorch reduce along axis 0.
void warnAxis(Context& context, const CallArgs& call, std::string_view pairwise) {
  if (call.args.size() != 2 || !call.args[1].name.empty()) return;
  const Val &x = call.args[0].value, &axis = call.args[1].value;
  const Span written = call.args[1].span, receiver = call.args[0].span;
  const bool method = receiver.file == call.callee.file && receiver.begin < call.callee.begin;
  const int64_t rank = rankOf(x);
  if (!axis.is(Val::Kind::Int) || (axis.dim && !method) || axis.integer < -rank || axis.integer >= rank) return;
  const std::string name(context.sources.text(call.callee)), number(context.sources.text(written));
  const bool literal = number == toString(axis.integer);
  if (name == pairwise || (!literal && !method)) return;
  auto d =
      context.warning(Code::W0202, written,
                      "`" + name + "` of two operands compares element by element: " + number + " is not an axis here");
  const ast::File* file = context.frame().unit->file;
  if (file != nullptr && isTakenApart(*file, call.span)) {
    // NumPy's first row, or PyTorch's values.
    d.help("reduce along that axis: `axis: " + number + "` gives the values alone, `argmax` and `argmin` the indices");
    return;
  }
  d.help("reduce along that axis", {{Span{written.file, written.begin, written.begin}, "axis: "}});
  const bool floats = x.is(Val::Kind::Tensor) && ir::isFloat(x.tensor->type.dtype);
  if (floats && literal)
    d.help("or write a float to compare with", {{Span{written.file, written.end, written.end}, ".0"}});
  else
    d.help("or compare element by element", {{call.callee, std::string(pairwise)}});
}
}  // namespace

Val Builtins::callBuiltin(std::string_view name, CallArgs& args) {
  const BuiltinRow* row = builtinRow(name);
  if (!row) return tools_.context.fail(Code::E0102, args.callee, "unknown function `" + std::string(name) + "`");
  if (!row->traits.pairwise.empty()) {
    const BuiltinRow* pairwise = builtinRow(row->traits.pairwise);
    const auto operand = [&](const CallArg& a) { return a.name.empty() || pairwise->signature.find(a.name); };
    if (std::count_if(args.args.begin(), args.args.end(), operand) >= 2) {
      warnAxis(tools_.context, args, row->traits.pairwise);
      row = pairwise;
    }
  }
  if (const Parameter* first = row->signature.positional(0); first && first->kind == Parameter::Kind::Device)
    readAsDevice(args, first->name);
  BoundArgs bound = bindArguments(tools_.context, args, row->signature);
  if (!bound.ok) return tools_.context.lost();
  std::vector<ir::OperandText> written;
  for (const CallArg& a : args.args) {
    const auto isWritten = [&](const Val& e) {
      return e.span.valid() && e.span.file == a.span.file && e.span.begin >= a.span.begin && e.span.end <= a.span.end;
    };
    const auto& elems = a.value.elems;
    constexpr size_t kMost = 16;
    const bool spread = !elems.empty() && elems.size() <= kMost && std::all_of(elems.begin(), elems.end(), isWritten);
    if (!spread) written.push_back({a.written(), ""});
    for (size_t i = 0; spread && i < elems.size(); ++i) written.push_back({elems[i].span, ""});
  }
  tools_.context.at(args.span, std::move(written));
  BuiltinCall call{tools_, *row, bound, args.span, args.callee, args.expected, ir::Compose(tools_.context.b())};
  Val result = row->handler(call);
  return tools_.context.reportTooLarge(args.span) ? tools_.context.lost() : result;
}

std::optional<Val> builtinConstant(std::string_view name, Span span) {
  if (name == "pi") return Val::ofFloat(std::numbers::pi, span);
  if (name == "inf") return Val::ofFloat(std::numeric_limits<double>::infinity(), span);
  if (name == "nan") return Val::ofFloat(std::numeric_limits<double>::quiet_NaN(), span);
  return std::nullopt;
}

ir::Value* BuiltinCall::tensor(std::string_view name, std::optional<ir::DType> hint) const {
  ir::Value* x = tensors.tensorOf(args[name], hint);
  context.at(span);  // what follows belongs to the call, not to its argument
  return x;
}

Val BuiltinCall::result(ir::Value* v) const { return Val::ofTensor(ir::Compose(context.b()).asTensor(v), span); }

ir::Value* BuiltinCall::filledOn(ir::Value* x, const ir::Dims& shape, ir::Value* v, std::string_view name) {
  if (!v->op || v->op->kind != ir::OpKind::Constant)
    placing.checkOperands({x, v}, {{(*this)["x"].span, ""}, {(*this)[name].span, ""}}, row.name, span);
  return c.fillOn(x, shape, v, x->type.rank() == 0 ? v : nullptr);
}

bool BuiltinCall::checkFloat(const ir::Value* x) const {
  if (ir::isFloat(x->type.dtype)) return true;
  auto d = context.error(Code::E0201, span,
                         "`" + std::string(row.name) + "` takes floats (f16, bf16, f32, f64), not " +
                             std::string(ir::name(x->type.dtype)));
  // The argument that it came from, where it can be told and stands in one line.
  const Val* from = nullptr;
  for (const auto& [name, v] : args.named) {
    if (v->tensor == x || (!from && v->is(Val::Kind::Array))) from = v;
  }
  const std::string written(from && from->span.valid() ? context.sources.text(from->span) : "");
  if (written.empty() || written.find('\n') != std::string::npos)
    d.help("convert the operand: `f32(x)`");
  else
    d.help("convert the operand", {{from->span, "f32(" + written + ")"}});
  return false;
}

bool BuiltinCall::checkRank(const ir::Value* x, int64_t atLeast) const {
  if (x->type.rank() >= atLeast) return true;
  context.error(Code::E0202, span,
                "`" + std::string(row.name) + "` needs a tensor of at least " + std::to_string(atLeast) +
                    " dims, not " + ir::toString(x->type));
  return false;
}

ir::Value* BuiltinCall::floats(std::string_view name, std::optional<ir::DType> hint) const {
  ir::Value* v = tensor(name, hint);
  return v && checkFloat(v) ? v : nullptr;
}

Val BuiltinCall::value(std::string_view name) const {
  if (const Val* given = args.find(name)) return *given;
  const Parameter* p = row.signature.find(name);
  if (!p || p->otherwise.empty()) return {};
  const auto literal = defaultValue(*p, span);
  return literal ? *literal : value(p->otherwise);
}

std::optional<int64_t> BuiltinCall::integer(std::string_view name) const {
  return evaluator.constInt(value(name), "`" + std::string(name) + "`");
}

std::optional<double> BuiltinCall::real(std::string_view name) const {
  return evaluator.constFloat(value(name), "`" + std::string(name) + "`");
}

std::optional<bool> BuiltinCall::flag(std::string_view name) const {
  return evaluator.constBool(value(name), "`" + std::string(name) + "`");
}

std::optional<std::string> BuiltinCall::string(std::string_view name) const {
  return evaluator.constString(value(name), "`" + std::string(name) + "`");
}

std::optional<int64_t> BuiltinCall::axis(std::string_view name, int64_t rank) const {
  const Val v = value(name);
  return evaluator.constAxis(v.poison() && !has(name) ? Val::ofInt(0, span) : v, rank);
}

std::optional<ir::DType> BuiltinCall::dtype() const {
  if (has("dtype")) return evaluator.constDType(args["dtype"], "`dtype`");
  if (expected && expected->isTensor() && expected->dtype) return expected->dtype;
  return evaluator.constDType(value("dtype"), "`dtype`");
}

std::optional<ir::DType> BuiltinCall::dtype(ir::DType otherwise) const {
  if (has("dtype") || (expected && expected->isTensor() && expected->dtype)) return dtype();
  return otherwise;
}

bool BuiltinCall::inReach(const ir::Dims& values, std::string_view what, Span at) const {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const int64_t v : values) {
    if (v >= -kMost && v <= kMost) continue;
    context.error(Code::E0208, at, "`" + std::string(what) + "` of " + std::to_string(v) + " is too large");
    return false;
  }
  return true;
}

std::optional<ir::Dims> BuiltinCall::perDim(std::string_view name, size_t n) const {
  const Val v = value(name);
  auto ints = evaluator.constInts(v, "`" + std::string(name) + "`");
  if (!ints) return std::nullopt;
  if (!inReach(*ints, name, v.span)) return std::nullopt;
  if (v.is(Val::Kind::Int)) return ir::Dims(n, (*ints)[0]);
  if (ints->size() == n) return ints;
  context.error(Code::E0204, v.span,
                "`" + std::string(name) + "` has " + std::to_string(ints->size()) + " integers for " +
                    std::to_string(n) + " dims");
  return std::nullopt;
}

std::optional<std::vector<std::pair<int64_t, int64_t>>> BuiltinCall::pairs(const Val& given, size_t n,
                                                                           bool each) const {
  const Val v = literalInts(given);
  std::vector<std::pair<int64_t, int64_t>> out;
  bool nested = (v.is(Val::Kind::Array) || v.is(Val::Kind::Tuple) || v.is(Val::Kind::List)) && !v.elems.empty() &&
                !v.elems[0].is(Val::Kind::Int);
  if (nested) {
    for (const Val& e : v.elems) {
      auto pair = evaluator.constInts(e, "a width");
      if (!pair) return std::nullopt;
      if (pair->size() != 2) {
        context.error(Code::E0204, e.span, "widths are pairs [lo, hi]");
        return std::nullopt;
      }
      out.emplace_back((*pair)[0], (*pair)[1]);
    }
    if (out.size() == 1) out.resize(n, out[0]);
  } else {
    auto ints = evaluator.constInts(v, "a width");
    if (!ints) return std::nullopt;
    if (v.is(Val::Kind::Int)) {
      out.assign(n, {(*ints)[0], (*ints)[0]});
    } else if (each) {
      for (int64_t i : *ints) out.emplace_back(i, i);
    } else if (ints->size() == 2) {
      out.assign(n, {(*ints)[0], (*ints)[1]});
    }
  }
  for (const auto& [lo, hi] : out) {
    if (!inReach({lo, hi}, "width", v.span)) return std::nullopt;
  }
  if (out.size() == n) return out;
  context.error(Code::E0204, v.span,
                nested || each
                    ? "widths are given for " + std::to_string(out.size()) + " of " + std::to_string(n) + " dims"
                    : "widths are one integer, a pair [lo, hi], or a pair for each dim");
  return std::nullopt;
}

Val BuiltinCall::notYet() const { return context.notYet(span, "`" + std::string(row.name) + "`"); }

}  // namespace tenc::frontend
