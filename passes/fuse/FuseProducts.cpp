// Products of several results (attention with what its gradient reads, and that gradient) as fused ops. Nothing joins
// them: each is wrapped, with the index maps that its matrices are read through and the cheap ops that its other
// operands, such as a mask, are made by.
#include <array>

#include "ir/Views.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

constexpr int kMostOps = 32;  // that are computed for each score

class Wrapped {
 public:
  explicit Wrapped(Op& op) : op_(op), at_(&op), device_(deviceOf(op)) {}

  void build() {
    at_.setLoc(op_.loc);
    std::vector<ir::Type> types;
    for (const auto& r : op_.results)
      if (!r->unused()) types.push_back(r->type);
    fused_ = at_.makeTyped(OpKind::Fused, {}, types, {{"kind", std::string("product")}});
    inner_ = at_.addRegion(fused_);
    ir::Builder in(inner_);
    in.setLoc(op_.loc);
    for (size_t i = 0; i < op_.operandCount(); ++i)
      isFactor(op_, i) ? matrix(op_.operand(i), in) : element(op_.operand(i), in);
    const Op* copy = ir::clone(op_, in, inside_);
    std::vector<Value*> yields;
    for (size_t r = 0; r < op_.results.size(); ++r) {
      if (op_.result(r)->unused()) continue;
      Value* made = fused_->result(yields.size());
      made->name = op_.result(r)->name;
      op_.result(r)->replaceAllUsesWith(made);
      yields.push_back(copy->result(r));
    }
    in.makeTyped(OpKind::Yield, yields, {});
    op_.erase();
  }

 private:
  void read(Value* v) {
    fused_->addOperand(v);
    inside_[v] = inner_->addArg(v->type, v->name);
  }

  /// What is read as a strided view of memory.
  void matrix(Value* v, ir::Builder& in) {
    if (inside_.contains(v)) return;
    std::vector<const Op*> maps;
    Value* base = v;
    while (base->op != nullptr && ir::isViewOp(*base->op)) {
      Value* next = base->op->operand(0);
      if (!ir::stridedView(v, [&](const Value* x) { return x == next; })) break;
      maps.push_back(base->op);
      base = next;
    }
    // A repeated number has no memory to be read from.
    if (base->type.shape.empty() || (base->op != nullptr && roleOf(*base->op) == Role::PassThrough)) {
      base = v;
      maps.clear();
    }
    if (!inside_.contains(base)) read(base);
    for (size_t i = maps.size(); i-- > 0;)
      if (!inside_.contains(maps[i]->result())) ir::clone(*maps[i], in, inside_);
  }

  /// What is evaluated element by element.
  void element(Value* v, ir::Builder& in) {
    if (inside_.contains(v)) return;
    if (v->op == nullptr || !isMadeHere(*v->op) || isElsewhere(*v, device_) || ops_ >= kMostOps) return read(v);
    ++ops_;
    for (Value* x : v->op->operands()) element(x, in);
    ir::clone(*v->op, in, inside_);
  }

  static bool isMadeHere(const Op& op) {
    const Role role = roleOf(op);
    return role == Role::PassThrough ||
           (op.has(Trait::Elementwise) && op.has(Trait::Cheap) && !op.has(Trait::CanFault));
  }

  Op& op_;
  ir::Builder at_;
  const std::string_view device_;
  Op* fused_ = nullptr;
  ir::Region* inner_ = nullptr;
  ir::ValueMap inside_;
  int ops_ = 0;
};

}  // namespace

namespace {

/// Whether the left operand of a matrix product is the right one transposed: they are views of the same elements.
bool isMirrored(const Op& product) {
  const auto isBase = [](const Value* v) { return !v->op || roleOf(*v->op) != Role::PassThrough; };
  const auto a = ir::stridedView(product.operand(0), isBase), b = ir::stridedView(product.operand(1), isBase);
  if (!a || !b || a->base != b->base || a->offset != b->offset) return false;
  ir::Dims shape = product.operand(1)->type.shape, strides = b->strides;
  if (shape.size() < 2) return false;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return shape == product.operand(0)->type.shape && strides == a->strides;
}

/// The tensor of narrow integers of which `v`, with views between, is the one of i32; or null.
Value* narrowSource(Value* v, const ir::TargetTraits& traits) {
  while (v->op && ir::isViewOp(*v->op)) v = v->op->operand(0);
  if (!v->op || v->op->kind != OpKind::Cast || v->type.dtype != ir::DType::I32) return nullptr;
  Value* source = v->op->operand(0);
  const ir::DType t = source->type.dtype;
  return !ir::isFloat(t) && traits.narrowProducts.contains(t) ? source : nullptr;
}

/// The same views of `source` as `v` is of its cast.
Value* viewsOf(Value* v, Value* source, ir::Builder& b) {
  if (!ir::isViewOp(*v->op)) return source;
  std::vector<ir::Builder::NamedAttr> attrs;
  for (const auto& [name, value] : v->op->attrs()) attrs.push_back({name, value});
  return b.value(v->op->kind, {viewsOf(v->op->operand(0), source, b)}, std::move(attrs));
}

/// A product of integers that have been made i32 becomes one of those as they were, with sums in i32. Two narrow dtypes
/// have i16 in common.
void multiplyNarrow(Op& product, const ir::TargetTraits& traits) {
  if (product.kind != OpKind::Matmul || product.operand(0)->type.shape.back() <= traits.loopDepth) return;
  const std::array<Value*, 2> sources = {narrowSource(product.operand(0), traits),
                                         narrowSource(product.operand(1), traits)};
  if (!sources[0] || !sources[1]) return;
  const bool same = sources[0]->type.dtype == sources[1]->type.dtype;
  if (!same && !traits.narrowProducts.contains(ir::DType::I16)) return;
  ir::Builder b(&product);
  b.setLoc(product.loc);
  for (size_t i : {0, 1}) {
    Value* source = sources.at(i);
    if (!same && source->type.dtype != ir::DType::I16)
      source = b.value(OpKind::Cast, {source}, {{"dtype", ir::DType::I16}});
    product.setOperand(i, viewsOf(product.operand(i), source, b));
  }
  product.set("dtype", ir::DType::I32);
}

}  // namespace

void prepareProducts(ir::Region& region, const Context& c) {
  for (const auto& op : region.ops) multiplyNarrow(*op, c.traitsOf(*op));
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::Matmul && isMirrored(*op)) op->set("mirrored", true);
  }
}

void formProducts(ir::Region& region) {
  for (auto it = region.ops.begin(); it != region.ops.end();) {
    Op& op = **it++;
    if (op.has(Trait::Product) && op.results.size() > 1) Wrapped(op).build();
  }
}

}  // namespace tenc::passes::fusion
