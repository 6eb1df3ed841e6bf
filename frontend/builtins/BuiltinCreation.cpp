// Tensors made from nothing: zeros, ranges, tables; placed by the annotation around them.
#include <cmath>
#include <limits>

#include "frontend/builtins/Builtin.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/Vmap.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

ir::Value* fill(ir::Compose& c, ir::Value* value, const Dims& shape) {
  ir::Value* v = c.b.value(OpKind::Fill, {value}, {{"shape", shape}});  // refuses bytes that cannot be counted
  v->type.place = {};
  return v;
}

ir::Value* number(ir::Compose& c, DType t, double v) {
  return ir::isFloat(t) ? c.b.scalar(t, v) : c.b.scalarInt(t, static_cast<int64_t>(v));
}

/// Of `Value` everywhere.
template <int Value>
Val constantFill(BuiltinCall& k) {
  auto shape = k.evaluator.constShape(k["shape"]);
  auto t = k.dtype();
  if (!shape || !t) return k.lost();
  return k.result(fill(k.c, number(k.c, *t, Value), *shape));
}

Val full(BuiltinCall& k) {
  auto shape = k.evaluator.constShape(k["shape"]);
  if (!shape) return k.lost();
  const Val& v = k["v"];
  std::optional<DType> hint;
  if (k.has("dtype")) {
    hint = k.evaluator.constDType(k["dtype"], "`dtype`");
    if (!hint) return k.lost();
  } else if (k.expected && k.expected->isTensor()) {
    hint = k.expected->dtype;
  }
  if (hint && v.is(Val::Kind::Float) && !ir::isFloat(*hint)) {
    // A number of the source is converted where nothing of it is lost.
    const Int whole = std::trunc(v.real) == v.real && std::abs(v.real) < 0x1p64 ? static_cast<Int>(v.real) : 0;
    const bool exact = static_cast<double>(whole) == v.real && fits(whole, *hint);
    if (ir::isInt(*hint) && !exact)
      return k.context.fail(Code::E0212, v.span, describe(v) + " does not fit in " + std::string(ir::name(*hint)));
    hint.reset();
  }
  ir::Value* x = k.tensors.tensorOf(v, hint);
  if (!x) return k.lost();
  if (x->type.rank() != 0) {
    auto d = k.context.error(Code::E0203, k.span, "`full` repeats one value, not " + ir::toString(x->type));
    Dims repeated = *shape;
    repeated.insert(repeated.end(), x->type.shape.begin(), x->type.shape.end());
    d.help("`broadcast_to(x, " + ir::toString(repeated) + ")` has the tensor `x` at each place of " +
           ir::toString(*shape) + "; a list of it is `list(n, |_| x)`");
    return d;
  }
  if (k.has("dtype")) x = k.c.cast(x, *k.evaluator.constDType(k["dtype"]));
  return k.result(fill(k.c, x, *shape));
}

Val eye(BuiltinCall& k) {
  auto n = k.integer("n");
  auto m = k.has("m") ? k.integer("m") : n;
  auto offset = k.integer("k");
  auto t = k.dtype();
  if (!n || !m || !offset || !t) return k.lost();
  auto shape = k.evaluator.constShape(Val::ofPack({*n, *m}, k.span));
  if (!shape) return k.lost();
  auto iota = [&](int64_t axis) {
    return k.c.b.value(OpKind::Iota, {}, {{"shape", *shape}, {"dtype", DType::I64}, {"axis", axis}});
  };
  ir::Value* row = iota(0);
  if (*offset != 0) row = k.c.add(row, k.c.b.scalarInt(DType::I64, *offset));
  return k.result(k.c.cast(k.c.binary(OpKind::Eq, row, iota(1)), *t));
}

/// 0, 1, ... before n on the device of the first of `ends` that is on one.
ir::Value* indices(ir::Compose& c, int64_t n, const std::vector<ir::Value*>& ends) {
  const auto made = [&](ir::Builder& at) {
    return at.value(OpKind::Iota, {}, {{"shape", Dims{n}}, {"dtype", DType::I64}, {"axis", int64_t{0}}});
  };
  const bool known = std::ranges::all_of(ends, [](const auto* v) { return v->op && v->op->kind == OpKind::Constant; });
  return known ? made(c.b) : c.madeOn(ends, made);
}

/// start + i * step in f64, rounded once.
ir::Value* ramp(ir::Compose& c, ir::Value* i, ir::Value* start, ir::Value* step) {
  return c.add(start, c.mul(c.cast(i, DType::F64), step));
}

/// Whether a number that `from` leads to is one of `t`; reports E0212 there.
bool holds(BuiltinCall& k, const Val& from, Int number, DType t) {
  if (fits(number, t)) return true;
  k.context.error(Code::E0212, from.span, toString(number) + " does not fit in " + std::string(ir::name(t)));
  return false;
}

/// The same of a number that is cut to an integer.
bool holdsEnd(BuiltinCall& k, const Val& from, double end, DType t) {
  if (std::abs(end) < 0x1p64) return holds(k, from, static_cast<Int>(end), t);
  k.context.error(Code::E0212, from.span, "numbers of 2^64 and beyond do not fit in " + std::string(ir::name(t)));
  return false;
}

/// The dtype of numbers with fractions: they adopt no integers, which would cut these off without a word.
std::optional<DType> fractionsOf(BuiltinCall& k, DType otherwise) {
  const std::optional<DType> t = k.dtype(otherwise);
  return t && !k.has("dtype") && !ir::isFloat(*t) ? otherwise : t;
}

Val arange(BuiltinCall& k) {
  Val zero = Val::ofInt(0, k.span), one = Val::ofInt(1, k.span);
  const Val& a = k.has("b") ? k["a"] : zero;
  const Val& b = k.has("b") ? k["b"] : k["a"];
  const Val& step = k.has("step") ? k["step"] : one;
  bool integers = a.is(Val::Kind::Int) && b.is(Val::Kind::Int) && step.is(Val::Kind::Int);
  DType own = integers ? DType::I64 : DType::F32;
  for (const Val* v : {&a, &b, &step}) {
    if (v->isNumber() && !v->adopts && (v->is(Val::Kind::Float) || integers)) own = v->dtype;
  }
  auto t = integers ? k.dtype(own) : fractionsOf(k, own);
  if (!t) return k.lost();
  if (*t == DType::Bool) return k.failAt("dtype", Code::E0201, "`arange` makes numbers, not bool");
  if (integers) {
    auto lo = k.evaluator.constInt(a, "`a`"), hi = k.evaluator.constInt(b, "`b`"),
         by = k.evaluator.constInt(step, "`step`");
    if (!lo || !hi || !by) return k.lost();
    if (*by == 0) return k.failAt("step", Code::E0204, "`step` cannot be 0");
    Int distance = *by > 0 ? Int{*hi} - *lo : Int{*lo} - *hi, stride = *by > 0 ? Int{*by} : -Int{*by};
    Int n = distance <= 0 ? 0 : (distance + stride - 1) / stride;
    auto shape = k.evaluator.constShape(
        Val::ofPack({static_cast<int64_t>(std::min<Int>(n, std::numeric_limits<int64_t>::max()))}, k.span));
    if (!shape) return k.lost();
    if (n > 0 && !(holds(k, a, *lo, *t) && holds(k, b, *lo + (n - 1) * *by, *t))) return k.lost();
    ir::Compose& c = k.c;
    ir::Value* v = c.b.value(OpKind::Iota, {}, {{"shape", *shape}, {"dtype", DType::I64}, {"axis", int64_t{0}}});
    if (*by != 1) v = c.mul(v, c.b.scalarInt(DType::I64, *by));
    if (*lo != 0) v = c.add(v, c.b.scalarInt(DType::I64, *lo));
    return k.result(c.cast(v, *t));
  }
  auto lo = k.evaluator.constFloat(a, "`a`"), hi = k.evaluator.constFloat(b, "`b`"),
       by = k.evaluator.constFloat(step, "`step`");
  if (!lo || !hi || !by) return k.lost();
  double length = std::ceil((*hi - *lo) / *by);
  if (*by == 0 || !std::isfinite(length) || length > 4e18)
    return k.fail(Code::E0204, "`arange` from these numbers has no end");
  int64_t n = length > 0 ? static_cast<int64_t>(length) : 0;
  if (!k.evaluator.constShape(Val::ofPack({n}, k.span))) return k.lost();
  if (n > 0 && ir::isInt(*t)) {
    const double last = *lo + static_cast<double>(n - 1) * *by;
    if (!holdsEnd(k, a, *lo, *t) || !holdsEnd(k, b, last, *t)) return k.lost();
  }
  ir::Value *start = k.c.b.scalar(DType::F64, *lo), *apart = k.c.b.scalar(DType::F64, *by);
  return k.result(k.c.cast(ramp(k.c, indices(k.c, n, {start, apart}), start, apart), *t));
}

Val linspace(BuiltinCall& k) {
  auto n = k.integer("n");
  auto endpoint = k.flag("endpoint");
  auto t = fractionsOf(k, DType::F32);
  ir::Value *a = k.tensor("a", DType::F64), *b = k.tensor("b", DType::F64);
  if (!n || !endpoint || !t || !a || !b || !k.evaluator.constShape(Val::ofPack({*n}, k.span))) return k.lost();
  if (a->type.rank() != 0 || b->type.rank() != 0)
    return k.fail(Code::E0203, "`linspace` goes from one number to another");
  if (*t == DType::Bool) return k.failAt("dtype", Code::E0201, "`linspace` makes numbers, not bool");
  if (const Val &from = k["a"], &to = k["b"]; *n > 0 && ir::isInt(*t) && from.isNumber() && to.isNumber()) {
    const double lo = asDouble(from), hi = asDouble(to);
    const auto steps = static_cast<double>(*n);
    const double last = *n == 1 ? lo : *endpoint ? hi : lo + (steps - 1) * ((hi - lo) / steps);
    if (!holdsEnd(k, from, lo, *t) || !holdsEnd(k, to, last, *t)) return k.lost();
  }
  ir::Compose& c = k.c;
  ir::Value* i = indices(c, *n, {a, b});
  a = c.cast(a, DType::F64);
  b = c.cast(b, DType::F64);
  int64_t parts = *endpoint ? *n - 1 : *n;
  ir::Value* step = c.binary(OpKind::Div, c.sub(b, a), static_cast<double>(std::max<int64_t>(parts, 1)));
  ir::Value* v = ramp(c, i, a, step);
  if (*endpoint && *n > 1) v = c.where(c.binary(OpKind::Eq, i, c.b.scalarInt(DType::I64, *n - 1)), b, v);
  return k.result(c.cast(v, *t));
}

/// A tensor like each leaf of `x`, of the value that `valueOf` makes for its dtype; null after an error.
template <class ValueOf>
Val filledLike(BuiltinCall& k, ValueOf valueOf) {
  std::optional<DType> t;
  if (k.has("dtype")) {
    t = k.evaluator.constDType(k["dtype"], "`dtype`");
    if (!t) return k.lost();
  }
  return mapLeaves(k["x"], [&](const Val& leaf, const std::string&, bool) {
    if (k["x"].isTree() && leaf.is(Val::Kind::Function)) return leaf;
    ir::Value* x = k.tensors.tensorOf(leaf);
    if (!x) return k.lost();
    DType own = t.value_or(x->type.dtype);
    ir::Value* v = valueOf(own);
    if (!v) return k.lost();
    if (rankOf(leaf) == 0 && !leaf.is(Val::Kind::Tensor)) return k.result(v);  // a free number: so are copies of it
    return k.result(k.filledOn(x, x->type.shape, v, "v"));
  });
}

template <int Value>
Val like(BuiltinCall& k) {
  return filledLike(k, [&](DType own) { return number(k.c, own, Value); });
}

Val fullLike(BuiltinCall& k) {
  return filledLike(k, [&](DType own) -> ir::Value* {
    ir::Value* v = k.tensor("v", own);
    if (!v) return nullptr;
    if (v->type.rank() == 0 && (v->type.dtype == own || k["v"].isNumber())) return k.c.cast(v, own);
    k.fail(Code::E0201, "`full_like` needs one " + std::string(ir::name(own)) + ", not " + ir::toString(v->type));
    return nullptr;
  });
}

/// f at the indices `fixed`, and at every one of the dims that are left.
Val overIndices(BuiltinCall& k, const Dims& shape, std::vector<Val>& fixed) {
  if (fixed.size() == shape.size()) {
    Val v = k.calls.callValue(k["f"], fixed, k.span);
    if (v.poison()) return v;
    ir::Value* x = k.tensors.tensorOf(v, k.expected && k.expected->isTensor() ? k.expected->dtype : std::nullopt);
    return x ? k.result(x) : k.lost();
  }
  const int64_t n = shape[fixed.size()];
  const Dims line{n};
  ir::Value* all = k.c.b.value(OpKind::Iota, {}, {{"shape", line}, {"dtype", DType::I64}, {"axis", int64_t{0}}});
  const auto along = overInstances(k.transforms.tools(), n, {k.result(all)}, {true}, k.span);
  const auto row = [&](const std::vector<Val>& index) {
    fixed.push_back(index[0]);
    Val v = overIndices(k, shape, fixed);
    fixed.pop_back();
    return v;
  };
  return k.transforms.apply(*along, row, k.span);
}

/// The `n` of a shape written as `[n]`, which another call of the function may know as another number; empty for
/// others.
std::string writtenLength(const BuiltinCall& k) {
  const ast::File* file = k.context.frame().unit->file;
  const ast::Expr* shape = file && k["shape"].span.valid() ? expressionAt(*file, k["shape"].span) : nullptr;
  const bool one = shape && shape->kind == ast::Expr::Kind::Array && shape->args.size() == 1 && shape->args[0];
  return one ? std::string(k.context.sources.text(shape->args[0]->span)) : "";
}

/// `full([n, m], 0)` of `tabulate([n], |_| full([m], 0))` and `tabulate([n], |_| tabulate([m], |_| 0))`: rows of one
/// number are a table. Empty for others.
std::string tableOf(const BuiltinCall& k, const std::string& rows) {
  using Kind = ast::Expr::Kind;
  const ast::File* file = k.context.frame().unit->file;
  const Span f = k["f"].span;
  const ast::Expr* each = file && f.valid() ? expressionAt(*file, f) : nullptr;
  if (!each || each->kind != Kind::Lambda || !each->body || each->body->kind != Kind::Call) return "";
  const ast::Expr& row = *each->body;
  const bool plain = row.args[0]->kind == Kind::Name && row.arguments.size() == 2 && !row.arguments[0].name &&
                     !row.arguments[1].name && row.arguments[0].value->kind == Kind::Array;
  if (!plain) return "";
  const ast::Expr* number = row.arguments[1].value.get();
  NameSet indices;
  for (const ast::LambdaParam& p : each->params) indices.merge(namesOf(p.pattern));
  if (row.args[0]->text == "tabulate" && number->kind == Kind::Lambda && number->body) {
    for (const ast::LambdaParam& p : number->params) indices.merge(namesOf(p.pattern));
    number = number->body.get();
  } else if (row.args[0]->text != "full") {
    return "";
  }
  if (meet(indices, namesRead(*number)) || meet(indices, namesRead(*row.arguments[0].value))) return "";
  const auto text = [&](Span s) { return std::string(k.context.sources.text(s)); };
  std::string shape = rows;
  for (const ast::ExprPtr& n : row.arguments[0].value->args) shape += ", " + text(n->span);
  return "full([" + shape + "], " + text(number->span) + ")";
}

Val tabulate(BuiltinCall& k) {
  auto shape = k.evaluator.constShape(k["shape"]);
  if (!shape) return k.lost();
  // One instance of `f` for each index: a vmap over the places of every dim, the last one innermost.
  std::vector<Val> fixed;
  Val v = overIndices(k, *shape, fixed);
  if (v.poison()) return v;
  if (!v.is(Val::Kind::Tensor) || v.tensor->type.shape != *shape) {
    auto d = k.context.error(Code::E0202, k.span, "the function of `tabulate` must give one value for each index");
    const Span f = k["f"].span;
    const std::string n = writtenLength(k);
    const std::string table = n.empty() ? "" : tableOf(k, n);
    if (!table.empty())
      d.help("rows of one number are a table", {{k.span, table}});
    else if (shape->size() == 1 && v.is(Val::Kind::Tensor) && f.valid() && !n.empty())
      d.help("a list has a tensor for each index",
             {{k.span, "list(" + n + ", " + std::string(k.context.sources.text(f)) + ")"}});
    return d;
  }
  return v;
}

enum class Limit : uint8_t { Epsilon, Most, Least };

template <Limit Which>
Val limit(BuiltinCall& k) {
  auto t = k.evaluator.constDType(k["dtype"], "the argument");
  if (!t) return k.lost();
  Val v;
  if (ir::isFloat(*t)) {
    // eps is the distance from 1 to the next larger float.
    int bits = *t == DType::F16 ? 10 : *t == DType::BF16 ? 7 : *t == DType::F32 ? 23 : 52;
    int exponent = *t == DType::F16 ? 15 : *t == DType::F64 ? 1023 : 127;
    double eps = std::ldexp(1.0, -bits), most = std::ldexp(2.0 - eps, exponent);
    v = Val::ofFloat(Which == Limit::Epsilon ? eps : Which == Limit::Most ? most : -most, k.span, false);
  } else {
    if (Which == Limit::Epsilon) return k.failAt("dtype", Code::E0201, "`eps` is of a float dtype");
    if (*t == DType::Bool) return k.failAt("dtype", Code::E0201, "bool has no smallest or largest number");
    const double end = Which == Limit::Most ? HUGE_VAL : -HUGE_VAL;
    v = Val::ofInt(saturated(end, *t), k.span, false);
  }
  v.dtype = *t;
  return v;
}

constexpr BuiltinRow kRows[] = {
    {"zeros(shape: shape; dtype: f32)", "A tensor of zeros.", constantFill<0>},
    {"ones(shape: shape; dtype: f32)", "A tensor of ones.", constantFill<1>},
    {"empty(shape: shape; dtype: f32)", "The same as zeros: no memory is left uninitialised.", constantFill<0>},
    {"full(shape: shape, v; dtype: dtype?)", "A tensor of copies of one value.", full},
    {"eye(n: int, m: int?; k: 0, dtype: f32)", "Ones on diagonal k, zeros elsewhere.", eye},
    {"arange(a: number, b: number?, step: number?; dtype: dtype?)",
     "a, a + step, ... before b; arange(n) counts from 0.",
     arange,
     OpKind::Count,
     {.ofNumbers = true}},
    {"linspace(a, b, n: int; endpoint: true, dtype: f32)",
     "n numbers evenly from a to b.",
     linspace,
     OpKind::Count,
     {.ofNumbers = true}},
    {"zeros_like(x; dtype: dtype?)", "Zeros of the shape, dtype and device of x; also of trees.", like<0>},
    {"ones_like(x; dtype: dtype?)", "Ones of the shape, dtype and device of x; also of trees.", like<1>},
    {"full_like(x, v; dtype: dtype?)", "Copies of v of the shape, dtype and device of x; also of trees.", fullLike},
    {"tabulate(shape: shape, f)", "The value of f(i, j, ...) at every index; f is elementwise.", tabulate},
    {"eps(dtype: dtype)", "The distance from 1 to the next larger float.", limit<Limit::Epsilon>},
    {"max_value(dtype: dtype)", "The largest finite number of a dtype.", limit<Limit::Most>},
    {"min_value(dtype: dtype)", "The smallest finite number of a dtype.", limit<Limit::Least>},
};

}  // namespace

std::span<const BuiltinRow> creationBuiltins() { return kRows; }

}  // namespace tenc::frontend
