// Products whose rows are those of several matrices, `reshape(matmul(reshape(x), w))`: what is computed of the result
// is computed row by row too, so that it can be the product's epilogue. Where that, or the reshape of x, would have to
// move elements, the matrices are multiplied one by one where they stand, by views of w.
#include <algorithm>

#include "ir/Views.h"
#include "passes/simplify/SimplifyRules.h"

namespace tenc::passes {
namespace {

using namespace tenc::ir;

constexpr int64_t kFewRows = 8;  ///< of one matrix: to copy them is as cheap, and small products are slow
constexpr int kMostVisits = 64;  ///< ops that are looked at around one

Value* sourceOf(const Value* v, OpKind kind) {
  return v->op != nullptr && v->op->kind == kind ? v->op->operand(0) : nullptr;
}

std::optional<StridedView> viewOfMemory(const Value* v) {
  return stridedView(v, [](const Value* x) { return !x->op || !x->op->has(Trait::Structural); });
}

/// The shape [rows, last] of the rows of a tensor.
Dims rowsOf(const Dims& shape) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  return {rows, shape.back()};
}

/// Left operand of a product before its matrices were joined: [..., m, k]; null when it is no such product.
Value* matricesOf(const Op& product) {
  Value* joined = product.operand(0);
  Value* matrices = sourceOf(joined, OpKind::Reshape);
  if (!matrices || joined->type.rank() != 2 || matrices->type.rank() < 3) return nullptr;
  const Dims& shape = matrices->type.shape;
  return shape.back() == joined->type.shape.back() && shape[shape.size() - 2] >= kFewRows ? matrices : nullptr;
}

/// The product matrix by matrix: [..., m, n].
Value* oneByOne(const Op& product, Value* matrices, Builder& b) {
  Value* w = product.operand(1);
  Dims spread(matrices->type.shape.begin(), matrices->type.shape.end() - 2);
  spread.insert(spread.end(), w->type.shape.begin(), w->type.shape.end());
  std::vector<Builder::NamedAttr> attrs;
  for (const auto& [name, value] : product.attrs()) attrs.push_back({name, value});
  return b.value(OpKind::Matmul, {matrices, b.broadcastTo(w, spread)}, std::move(attrs));
}

/// Rows that are no rows of one view, as after a transposition or a slice, would have to be copied to be one matrix.
Value* splitRows(const Op& op, Builder& b) {
  Value* matrices = matricesOf(op);
  if (!matrices || viewOfMemory(op.operand(0)) || !viewOfMemory(matrices)) return nullptr;
  return b.value(OpKind::Reshape, {oneByOne(op, matrices, b)}, {{"shape", op.result()->type.shape}});
}

/// The products that a value is computed of element by element.
void productsOf(const Value* v, std::vector<const Op*>& found, int& visits) {
  if (!v->op || --visits < 0) return;
  if (v->op->kind == OpKind::Matmul) found.push_back(v->op);
  if (!v->op->has(Trait::Elementwise)) return;
  for (const Value* o : v->op->operands()) {
    if (o->type.shape == v->type.shape) productsOf(o, found, visits);
  }
}
std::vector<const Op*> productsOf(const Value* v) {
  int visits = kMostVisits;
  std::vector<const Op*> found;
  productsOf(v, found, visits);
  return found;
}

bool dependsOn(const Value* v, const Op* product, int& visits) {
  if (v->op == product || --visits < 0) return true;
  return v->op && std::any_of(v->op->operands().begin(), v->op->operands().end(),
                              [&](const Value* o) { return dependsOn(o, product, visits); });
}

/// How an operand of what may be a product's epilogue is read row by row.
enum class Read : uint8_t {
  ByRows,  ///< as easily as it stands
  Never,   ///< it is only known when the whole product is
  Moves,   ///< its elements would have to move, or their places be divided
};

Read readOf(const Value* v, const Op* product, int& visits) {
  if (!v->op || --visits < 0) return Read::ByRows;
  if (v->op->has(Trait::Elementwise)) {
    Read worst = Read::ByRows;
    for (const Value* o : v->op->operands()) {
      if (o->type.shape == v->type.shape) worst = std::max(worst, readOf(o, product, visits));
    }
    return worst;
  }
  if (const Value* joined = sourceOf(v, OpKind::Reshape)) {
    const auto products = productsOf(joined);
    if (std::find(products.begin(), products.end(), product) != products.end()) return Read::ByRows;
  }
  if (!v->op->has(Trait::Structural)) return Read::ByRows;
  // A number for each row is often made of the row, as its mean: it stays with what else is done row by row.
  const Value* part = sourceOf(v, OpKind::Broadcast);
  int steps = kMostVisits;
  if (part && part->type.size() > 1 && part->type.shape.back() == 1 && dependsOn(part, product, steps))
    return Read::Never;
  const auto view = viewOfMemory(v);
  const bool rows = view && reshapeStrides(v->type.shape, view->strides, rowsOf(v->type.shape));
  return rows ? Read::ByRows : Read::Moves;
}

Read readOf(const Op& user, const Op* product, int& visits) {
  Read worst = Read::ByRows;
  for (const Value* o : user.operands()) worst = std::max(worst, readOf(o, product, visits));
  return worst;
}

/// Whether something that is computed of `v` element by element needs its dims.
bool usesMove(const Value* v, const Op* product, int& visits) {
  return std::any_of(v->uses.begin(), v->uses.end(), [&](const Value::Use& use) {
    const Op& user = *use.user;
    if (!user.has(Trait::Elementwise) || user.result()->type.shape != v->type.shape || --visits < 0) return false;
    const Read read = readOf(user, product, visits);
    return read == Read::Moves || (read == Read::ByRows && usesMove(user.result(), product, visits));
  });
}

/// `reshape(matmul(reshape(x), w))` whose uses need the dims of x.
Value* keepMatrices(const Op& op, Builder& b) {
  const Value* joined = op.operand(0);
  if (!joined->op || joined->op->kind != OpKind::Matmul) return nullptr;
  Value* matrices = matricesOf(*joined->op);
  if (!matrices) return nullptr;
  Dims shape = matrices->type.shape;
  shape.back() = joined->type.shape.back();
  int visits = kMostVisits;
  if (shape != op.result()->type.shape || !usesMove(op.result(), joined->op, visits)) return nullptr;
  return oneByOne(*joined->op, matrices, b);
}

/// `v` as its rows.
Value* asRows(Value* v, const Dims& rows, Builder& b) {
  if (Value* joined = sourceOf(v, OpKind::Reshape); joined && joined->type.shape == rows) return joined;
  if (Value* part = sourceOf(v, OpKind::Broadcast); part && part->type.size() == 1) {
    return b.broadcastTo(part->type.rank() == 0 ? part : b.value(OpKind::Reshape, {part}, {{"shape", Dims{}}}), rows);
  } else if (part && part->type.shape == Dims{rows.back()}) {
    return b.broadcastTo(part, rows);
  }
  return b.value(OpKind::Reshape, {v}, {{"shape", rows}});
}

/// An elementwise op of a reshaped product, on the product's own rows.
Value* computeByRows(const Op& op, Builder& b) {
  const Dims& shape = op.result()->type.shape;
  if (shape.size() < 3) return nullptr;
  const Dims rows = rowsOf(shape);
  const auto& operands = op.operands();
  std::vector<const Op*> products;
  for (const Value* v : operands) {
    const Value* joined = sourceOf(v, OpKind::Reshape);
    if (!joined || joined->type.shape != rows) continue;
    for (const Op* product : productsOf(joined)) products.push_back(product);
  }
  const bool joins = std::any_of(products.begin(), products.end(), [&](const Op* product) {
    int visits = kMostVisits;
    return readOf(op, product, visits) == Read::ByRows;
  });
  if (!joins) return nullptr;
  ValueMap map;
  for (Value* v : operands) {
    if (v->type.shape == shape && !map.contains(v)) map[v] = asRows(v, rows, b);
  }
  Op* made = clone(op, b, map);
  made->result()->type.shape = rows;
  return b.value(OpKind::Reshape, {made->result()}, {{"shape", shape}});
}

}  // namespace

Value* simplifyProducts(Op& op, Builder& b) {
  if (op.kind == OpKind::Matmul) return splitRows(op, b);
  if (op.kind == OpKind::Reshape) return keepMatrices(op, b);
  return op.has(Trait::Elementwise) ? computeByRows(op, b) : nullptr;
}

}  // namespace tenc::passes
