// Random tensors: pure functions of (seed, number of the draw), drawn in program order.
#include <limits>

#include "frontend/builtins/Builtin.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// One draw; on the device of `like` when it is given, else on that of the annotation around.
ir::Value* draw(BuiltinCall& k, OpKind kind, const Dims& shape, DType t, std::vector<ir::Value*> bounds = {},
                ir::Value* like = nullptr) {
  ir::Type u64{DType::U64, {}, {}};
  ir::Op* next = k.c.b.makeTyped(OpKind::RngNext, {}, {u64, u64});
  std::vector<ir::Value*> operands = {next->result(0), next->result(1)};
  operands.insert(operands.end(), bounds.begin(), bounds.end());
  const auto drawn = [&](ir::Builder& at) { return at.value(kind, operands, {{"shape", shape}, {"dtype", t}}); };
  return like ? k.c.madeOn({like}, drawn) : drawn(k.c.b);
}

/// Stops the run where `condition` does not hold; `pieces` stand around the values in the message.
void require(BuiltinCall& k, ir::Value* condition, std::vector<std::string> pieces, std::vector<ir::Value*> values) {
  std::vector<std::string> formats(values.size());
  values.insert(values.begin(), condition);
  k.c.b.makeTyped(OpKind::Assert, values, {}, {{"pieces", std::move(pieces)}, {"formats", std::move(formats)}});
}

/// Checks a single probability at run time unless it is a literal; those of a tensor are clamped to 0..1.
void requireProbability(BuiltinCall& k, ir::Value* p) {
  if (p->type.rank() != 0 || k["p"].isNumber()) return;
  ir::Compose& c = k.c;
  ir::Value* inside =
      c.binary(OpKind::And, c.binary(OpKind::Ge, p, c.literal(p, 0)), c.binary(OpKind::Le, p, c.literal(p, 1)));
  require(k, inside, {"`p` of `" + std::string(k.row.name) + "` is a probability, from 0 to 1, not ", ""}, {p});
}

Val uniformNormal(BuiltinCall& k) {
  auto shape = k.evaluator.constShape(k["shape"]);
  auto t = k.dtype();
  if (!shape || !t) return k.lost();
  if (!ir::isFloat(*t)) {
    return k.failAt("dtype", Code::E0201,
                    "`" + std::string(k.row.name) + "` makes floats, not " + std::string(ir::name(*t)));
  }
  return k.result(draw(k, k.row.op, *shape, *t));
}

Val randint(BuiltinCall& k) {
  auto shape = k.evaluator.constShape(k["shape"]);
  auto t = k.dtype();
  if (!shape || !t) return k.lost();
  if (!ir::isInt(*t))
    return k.failAt("dtype", Code::E0201, "`randint` makes integers, not " + std::string(ir::name(*t)));
  const Val &lo = k["lo"], &hi = k["hi"];
  if (lo.is(Val::Kind::Int) && hi.is(Val::Kind::Int) && lo.integer >= hi.integer) {
    return k.fail(Code::E0204,
                  "`randint` from " + toString(lo.integer) + " to " + toString(hi.integer) + " has no integers");
  }
  // The upper bound is not drawn, and may be the first number that the dtype does not hold.
  for (const auto& [v, last] : {std::pair(&lo, lo.integer), std::pair(&hi, hi.integer - 1)}) {
    if (!v->is(Val::Kind::Int) || (fits(last, *t) && (fits(v->integer, *t) || fits(v->integer, DType::I64)))) continue;
    return k.fail(Code::E0212, toString(v->integer) + " cannot be a bound of " + std::string(ir::name(*t)));
  }
  const auto other = [&](const Val& v) {
    return v.is(Val::Kind::Tensor) ? v.tensor->type.dtype != *t : !fits(v.integer, *t);
  };
  const DType drawn = other(lo) || other(hi) ? DType::I64 : *t;
  ir::Value *a = k.tensors.tensorOf(lo, drawn), *b = k.tensors.tensorOf(hi, drawn);
  if (!a || !b) return k.lost();
  if (a->type.rank() != 0 || b->type.rank() != 0 || !ir::isInt(a->type.dtype) || !ir::isInt(b->type.dtype)) {
    return k.context.error(Code::E0203, k.span, "the bounds of `randint` are single integers")
        .note("it is called as " + k.row.signature.text());
  }
  ir::Compose& c = k.c;
  a = c.cast(a, drawn);
  b = c.cast(b, drawn);
  if (!lo.is(Val::Kind::Int) || !hi.is(Val::Kind::Int)) {
    require(k, c.binary(OpKind::Lt, a, b), {"`randint` from ", " to ", " has no integers"}, {a, b});
    if (drawn != *t) {
      // What is drawn is converted: all of it has to fit.
      ir::Value* last = c.sub(b, c.b.scalarInt(drawn, 1));
      const auto kept = [&](ir::Value* v) { return c.binary(OpKind::Eq, c.cast(c.cast(v, *t), drawn), v); };
      ir::Value* inside = c.binary(OpKind::And, kept(a), kept(last));
      if (!ir::isSigned(*t)) inside = c.binary(OpKind::And, inside, c.binary(OpKind::Ge, a, c.b.scalarInt(drawn, 0)));
      require(k, inside, {"`randint` from ", " to ", " makes numbers beyond " + std::string(ir::name(*t))}, {a, b});
    }
  }
  return k.result(c.cast(draw(k, OpKind::RandomInt, *shape, drawn, {a, b}), *t));
}

Val permutation(BuiltinCall& k) {
  auto n = k.integer("n");
  if (!n || !k.evaluator.constShape(Val::ofPack({*n}, k.span))) return k.lost();
  // The order of random keys; equal ones keep their order.
  ir::Compose& c = k.c;
  ir::Value* lo = c.b.scalarInt(DType::I64, std::numeric_limits<int64_t>::min());
  ir::Value* hi = c.b.scalarInt(DType::I64, std::numeric_limits<int64_t>::max());
  return k.result(c.argsort(draw(k, OpKind::RandomInt, {*n}, DType::I64, {lo, hi}), 0, false));
}

/// Whether `p`, where it is known, is a probability; reports.
bool checkProbability(BuiltinCall& k) {
  if (!k["p"].isNumber()) return true;
  auto p = k.evaluator.constFloat(k["p"], "`p`");
  if (p && *p >= 0 && *p <= 1) return true;
  if (p) k.failAt("p", Code::E0204, "`p` is a probability, from 0 to 1");
  return false;
}

Val bernoulli(BuiltinCall& k) {
  auto shape = k.evaluator.constShape(k["shape"]);
  if (!checkProbability(k)) return k.lost();
  ir::Value* p = k.tensor("p", DType::F32);
  if (!shape || !p || !k.checkFloat(p)) return k.lost();
  auto both = ir::broadcastShapes(p->type.shape, *shape);
  if (!both || *both != *shape) {
    return k.fail(Code::E0202,
                  "probabilities of shape " + ir::toString(p->type.shape) + " do not fit " + ir::toString(*shape));
  }
  requireProbability(k, p);
  ir::Value* u = draw(k, OpKind::RandomUniform, *shape, p->type.dtype, {}, k["p"].isNumber() ? nullptr : p);
  return k.result(k.c.binary(OpKind::Lt, u, p));
}

Val categorical(BuiltinCall& k) {
  ir::Value* x = k.floats("logits");
  if (!x || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis) return k.lost();
  if (x->type.shape[*axis] == 0) return k.fail(Code::E0202, "`categorical` needs at least one class");
  // The largest of logits plus Gumbel noise is distributed as softmax(logits).
  ir::Compose& c = k.c;
  ir::Value* wide = ir::byteSize(x->type.dtype) == 2 ? c.cast(x, DType::F32) : x;
  ir::Value* u = draw(k, OpKind::RandomUniform, x->type.shape, wide->type.dtype, {}, x);
  ir::Value* noise = c.unary(OpKind::Log, c.unary(OpKind::Neg, c.unary(OpKind::Log, u)));
  return k.result(c.reduce(OpKind::ArgMax, c.sub(wide, noise), {*axis}, false));
}

Val dropout(BuiltinCall& k) {
  ir::Value* x = k.floats("x");
  if (!x) return k.lost();
  if (!checkProbability(k)) return k.lost();
  ir::Value* p = k.tensor("p", DType::F32);
  if (!p || !k.checkFloat(p)) return k.lost();
  if (p->type.rank() != 0) return k.fail(Code::E0203, "`p` is one probability, not " + ir::toString(p->type));
  requireProbability(k, p);
  ir::Compose& c = k.c;
  p = c.cast(p, DType::F32);
  ir::Value* u = draw(k, OpKind::RandomUniform, x->type.shape, DType::F32, {}, x);
  ir::Value* scale = c.div(c.b.scalar(DType::F32, 1), c.sub(c.b.scalar(DType::F32, 1), p));
  ir::Value* kept = c.mul(x, c.cast(scale, x->type.dtype));
  return k.result(c.where(c.binary(OpKind::Ge, u, p), kept, c.literal(x, 0)));
}

constexpr BuiltinRow kRows[] = {
    {"rand(shape: shape; dtype: f32)", "Uniform in [0, 1).", uniformNormal, OpKind::RandomUniform},
    {"randn(shape: shape; dtype: f32)", "Standard normal.", uniformNormal, OpKind::RandomNormal},
    {"randint(lo, hi, shape: shape; dtype: i64)", "Uniform integers in [lo, hi).", randint},
    {"permutation(n: int)", "0, 1, ..., n - 1 in random order, as i64.", permutation},
    {"bernoulli(p, shape: shape)", "True with probability p.", bernoulli},
    {"categorical(logits; axis: -1)", "A class drawn from softmax(logits), as i64.", categorical},
    {"dropout(x, p)", "Elements zeroed with probability p, the others divided by 1 - p.", dropout},
};

}  // namespace

std::span<const BuiltinRow> randomBuiltins() { return kRows; }

}  // namespace tenc::frontend
