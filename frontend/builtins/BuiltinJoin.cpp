// Built-ins that join tensors and cut them apart: concat, stack, split, meshgrid, ...
#include <algorithm>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Operands.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

using ir::Dims;
using ir::OpKind;

namespace {

/// Whether a call may give so many values; reports E0208.
bool checkCount(BuiltinCall& k, int64_t count) {
  constexpr int64_t kMost = 100'000;
  if (count <= kMost) return true;
  k.fail(Code::E0208,
         "`" + std::string(k.row.name) + "` into more than 100,000 tensors; here are " + std::to_string(count));
  return false;
}

/// The tensor whose rows concat and stack are to join, or nullptr when they are given apart.
ir::Value* rowsOf(BuiltinCall& k) {
  const Val& xs = k["xs"];
  return xs.is(Val::Kind::Tensor) && xs.tensor->type.rank() > 0 && xs.tensor->type.shape[0] > 0 ? xs.tensor : nullptr;
}

/// `rows` with its first dim at `axis`.
ir::Value* firstDimAt(BuiltinCall& k, ir::Value* rows, int64_t axis) {
  Dims order;
  for (int64_t d = 1; d < rows->type.rank(); ++d) order.push_back(d);
  order.insert(order.begin() + axis, 0);
  return k.c.permute(rows, order);
}

/// The operands of concat and stack: a tuple, list or array of tensors of one dtype.
std::vector<ir::Value*> parts(BuiltinCall& k) {
  const Val& xs = k["xs"];
  std::vector<ir::Value*> out;
  std::vector<Val> elems = xs.elems;
  if (!xs.is(Val::Kind::Tensor) && !xs.is(Val::Kind::Tuple) && !xs.is(Val::Kind::List) && !xs.is(Val::Kind::Array)) {
    k.context.error(Code::E0203, xs.span,
                    "`" + std::string(k.row.name) + "` takes a tuple of tensors, not " + describe(xs));
    return {};
  }
  if (elems.empty()) {
    k.context.error(Code::E0204, k.span, "`" + std::string(k.row.name) + "` needs at least one tensor");
    return {};
  }
  if (!k.tensors.checkParts(elems.size(), xs.span)) return {};
  k.tensors.adoptDeclared(elems, k.expected);
  auto dtype = commonDType(k.context, elems, k.span, k.row.name);
  if (!dtype) return {};
  for (const Val& e : elems) {
    ir::Value* v = k.tensors.tensorOf(e, dtype);
    if (!v) return {};
    out.push_back(v);
  }
  return out;
}

Val concat(BuiltinCall& k) {
  if (ir::Value* rows = rowsOf(k)) {
    if (!k.checkRank(rows, 2)) return k.lost();
    auto axis = k.axis("axis", rows->type.rank() - 1);
    if (!axis) return k.lost();
    Dims joined(rows->type.shape.begin() + 1, rows->type.shape.end());
    joined[*axis] *= rows->type.shape[0];
    return k.result(k.c.reshape(firstDimAt(k, rows, *axis), joined));
  }
  std::vector<ir::Value*> xs = parts(k);
  if (xs.empty()) return k.lost();
  if (!k.checkRank(xs[0], 1)) return k.lost();
  auto axis = k.axis("axis", xs[0]->type.rank());
  if (!axis) return k.lost();
  for (ir::Value* x : xs) {
    Dims a = xs[0]->type.shape, b = x->type.shape;
    if (a.size() == b.size()) a[*axis] = b[*axis] = 0;
    if (a != b) {
      return k.fail(Code::E0202, "`concat` along dim " + std::to_string(*axis) +
                                     " needs tensors that agree in the other dims, not " + ir::toString(xs[0]->type) +
                                     " and " + ir::toString(x->type));
    }
  }
  return k.result(k.c.concat(xs, *axis));
}

Val stack(BuiltinCall& k) {
  if (ir::Value* rows = rowsOf(k)) {
    auto axis = k.axis("axis", rows->type.rank());
    return axis ? k.result(firstDimAt(k, rows, *axis)) : k.lost();
  }
  std::vector<ir::Value*> xs = parts(k);
  if (xs.empty()) return k.lost();
  auto axis = k.axis("axis", xs[0]->type.rank() + 1);
  if (!axis) return k.lost();
  for (ir::Value* x : xs) {
    if (x->type.shape == xs[0]->type.shape) continue;
    return k.fail(Code::E0202, "`stack` needs tensors of one shape, not " + ir::toString(xs[0]->type) + " and " +
                                   ir::toString(x->type));
  }
  return k.result(k.c.stack(xs, *axis));
}

Val split(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  auto given = k.evaluator.constInts(k["n"], "the parts");
  if (!axis || !given) return k.lost();
  int64_t length = x->type.shape[*axis];
  Dims sizes = *given;
  if (k["n"].is(Val::Kind::Int)) {
    int64_t n = (*given)[0];
    if (n <= 0 || length % n != 0) {
      return k.fail(Code::E0202, "dim " + std::to_string(*axis) + " of " + ir::toString(x->type) +
                                     " does not split in " + std::to_string(n) + " equal parts");
    }
    if (!checkCount(k, n)) return k.lost();
    sizes.assign(n, length / n);
  }
  int64_t total = 0;
  for (int64_t s : sizes) {
    if (s < 0 || s > length)
      return k.fail(Code::E0202, "a part of " + std::to_string(s) + " of a dim of " + std::to_string(length));
    total += s;
  }
  if (total != length) {
    return k.fail(Code::E0202, "the parts have " + std::to_string(total) + " of the " + std::to_string(length) +
                                   " elements of dim " + std::to_string(*axis));
  }
  std::vector<Val> out;
  if (!checkCount(k, static_cast<int64_t>(sizes.size()))) return k.lost();
  int64_t at = 0;
  for (int64_t s : sizes) {
    out.push_back(k.result(k.c.sliceAxis(x, *axis, at, s)));
    at += s;
  }
  return Val::ofTuple(std::move(out), k.span);
}

Val unstack(BuiltinCall& k) {
  ir::Value* x = k.tensor("x");
  if (!x || !k.checkRank(x, 1)) return k.lost();
  auto axis = k.axis("axis", x->type.rank());
  if (!axis || !checkCount(k, x->type.shape[*axis])) return k.lost();
  std::vector<Val> out;
  for (int64_t i = 0; i < x->type.shape[*axis]; ++i) {
    out.push_back(k.result(k.c.squeeze(k.c.sliceAxis(x, *axis, i, 1), *axis)));
  }
  return Val::ofTuple(std::move(out), k.span);
}

Val meshgrid(BuiltinCall& k) {
  auto indexing = k.string("indexing");
  if (!indexing) return k.lost();
  if (*indexing != "xy" && *indexing != "ij")
    return k.failAt("indexing", Code::E0204, "`indexing` is \"xy\" or \"ij\"");
  std::vector<ir::Value*> axes;
  std::vector<ir::OperandText> written;
  Dims shape;
  for (const Val* v : k.args.rest) {
    ir::Value* x = k.tensors.tensorOf(*v);
    if (!x) return k.lost();
    if (x->type.rank() > 1)
      return k.fail(Code::E0202, "`meshgrid` takes tensors of one dim, not " + ir::toString(x->type));
    axes.push_back(x);
    written.push_back({v->span, ""});
    shape.push_back(x->type.size());
  }
  k.placing.checkOperands(axes, std::move(written), k.row.name, k.span);
  const auto tensor = std::find_if(axes.begin(), axes.end(), [](ir::Value* x) { return x->type.rank() > 0; });
  bool swap = *indexing == "xy" && axes.size() >= 2;
  if (swap) std::swap(shape[0], shape[1]);
  std::vector<Val> out;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t at = swap && i < 2 ? 1 - i : i;
    Dims line(shape.size(), 1);
    line[at] = shape[at];
    // A single number is free: its grid is where those of the others are.
    if (axes[i]->type.rank() == 0 && tensor != axes.end())
      out.push_back(k.result(k.c.fillOn(*tensor, shape, axes[i])));
    else
      out.push_back(k.result(k.c.broadcastTo(k.c.reshape(axes[i], line), shape)));
  }
  return Val::ofTuple(std::move(out), k.span);
}

constexpr BuiltinRow kRows[] = {
    {"concat(xs: tensors; axis: 0)", "Tensors joined along an axis.", concat},
    {"stack(xs: tensors; axis: 0)", "Tensors joined along a new axis.", stack},
    {"split(x, n: ints; axis: 0)", "A tuple of n equal parts, or of parts of the sizes given.", split},
    {"unstack(x; axis: 0)", "A tuple of the slices along an axis.", unstack},
    {"meshgrid(...; indexing: \"xy\")", "Coordinates of a grid from its axes, a tuple.", meshgrid},
};

}  // namespace

std::span<const BuiltinRow> joinBuiltins() { return kRows; }

}  // namespace tenc::frontend
