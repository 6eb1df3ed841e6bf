#include "ir/Ir.h"
#include "ir/Scalar.h"
#include "support/InternalError.h"

namespace tenc::ir {
namespace {

/// Of an op on operands of impossible sizes: at least the rank is the right one.
Type impossibleType(const std::vector<Value*>& operands, const std::vector<Builder::NamedAttr>& attrs) {
  Type t = operands.empty() ? Type{} : operands[0]->type;
  for (const auto& a : attrs) {
    if (a.name == "shape" && std::get_if<Dims>(&a.value) != nullptr) t.shape = std::get<Dims>(a.value);
  }
  return t;
}

}  // namespace

Op* Builder::make(OpKind kind, std::vector<Value*> operands, std::vector<NamedAttr> attrs) {
  if (rounds_ && opInfo(kind).has(Trait::Rounds) && operands[0]->type.dtype == DType::F32)
    attrs.push_back({"rounds", *rounds_});
  Inferred inferred = infer(kind, typesOf(operands), [&](std::string_view name) -> const Attr* {
    for (const NamedAttr& a : attrs) {
      if (a.name == name) return &a.value;
    }
    return nullptr;
  });
  if (!inferred.ok()) {
    Func* func = region_->func;
    Module* module = func != nullptr ? func->module : nullptr;
    if (module == nullptr || (!inferred.tooLarge && !module->tooLarge.ever))
      throw InternalError("cannot make `" + std::string(opInfo(kind).mnemonic) + "`: " + inferred.error);
    if (module->tooLarge.what.empty()) module->tooLarge = {true, inferred.error, loc_};
    if (inferred.types.empty()) inferred.types.push_back(impossibleType(operands, attrs));
  }
  return makeTyped(kind, std::move(operands), std::move(inferred.types), std::move(attrs));
}

// Operands are lists written at the call, or moved here: nothing is copied.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Op* Builder::makeTyped(OpKind kind, std::vector<Value*> operands, std::vector<Type> results,
                       std::vector<NamedAttr> attrs) {
  auto op = std::make_unique<Op>(kind);
  op->loc = loc_;
  if (region_->func != nullptr && region_->func->module != nullptr) op->origin = region_->func->module->pass;
  op->parent = region_;
  op->addOperands(operands);
  for (NamedAttr& a : attrs) op->set(a.name, std::move(a.value));
  for (Type& t : results) op->addResult(std::move(t));
  Op* made = op.get();
  made->self = region_->ops.insert(before_, std::move(op));
  return made;
}

Region* Builder::addRegion(Op* op) {
  op->regions.push_back(std::make_unique<Region>(op, op->parent->func));
  return op->regions.back().get();
}

Value* Builder::scalar(DType t, double f) { return constant(Type{t, {}, {}}, scalarData(scalarFromFloat(t, f))); }

Value* Builder::scalarInt(DType t, int64_t i) { return constant(Type{t, {}, {}}, scalarData(scalarFromInt(t, i))); }

Value* Builder::constant(Type t, Data data) {
  return makeTyped(OpKind::Constant, {}, {std::move(t)}, {{"value", std::move(data)}})->result();
}

Value* Builder::broadcastTo(Value* v, const Dims& shape) {
  if (v->type.shape == shape) return v;
  return value(OpKind::Broadcast, {v}, {{"shape", shape}});
}

}  // namespace tenc::ir
