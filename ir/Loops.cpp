#include "ir/Loops.h"

#include <cstring>

namespace tenc::ir {

std::optional<int64_t> constantInt(const Value* v) {
  while (v->op && v->op->has(Trait::Structural) && v->op->operandCount() == 1) v = v->op->operand(0);
  if (!v->op || v->op->kind != OpKind::Constant || v->type.dtype != DType::I64) return std::nullopt;
  const Attr* data = v->op->find("value");
  const auto* bytes = data ? std::get_if<Data>(data) : nullptr;
  if (!bytes || !*bytes || (*bytes)->size() != sizeof(int64_t)) return std::nullopt;
  int64_t value;
  std::memcpy(&value, (*bytes)->data(), sizeof value);
  return value;
}

const Op* loopAround(const Op& op) {
  const Op* around = op.parent->parentOp;
  while (around != nullptr && !isLoop(*around)) around = around->parent->parentOp;
  return around;
}

std::optional<int64_t> tripCount(const Op& loop) {
  if (loop.kind != OpKind::For) return std::nullopt;
  const auto lo = constantInt(loop.operand(0)), hi = constantInt(loop.operand(1)), step = constantInt(loop.operand(2));
  if (!lo || !hi || !step || *step == 0) return std::nullopt;
  // In unsigned arithmetic, where the distance of any two i64 fits.
  const bool up = *step > 0;
  if (up ? *lo >= *hi : *lo <= *hi) return 0;
  const auto a = static_cast<uint64_t>(*lo), b = static_cast<uint64_t>(*hi), s = static_cast<uint64_t>(*step);
  const uint64_t span = up ? b - a : a - b, stride = up ? s : 0 - s;
  const uint64_t trips = span / stride + (span % stride != 0);
  return static_cast<int64_t>(trips);
}

}  // namespace tenc::ir
