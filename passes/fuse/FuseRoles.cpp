// What fusion asks of one op: how it takes part, on which device it runs, how it maps the dims of its operands.
#include <cstring>

#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;

bool isSplat(const Op& op) {
  if (op.kind != OpKind::Constant) return false;
  if (op.result()->type.rank() == 0) return true;
  const ir::Data& data = std::get<ir::Data>(*op.find("value"));
  size_t width = static_cast<size_t>(ir::byteSize(op.result()->type.dtype));
  if (!data || data->size() < width) return true;
  // Every element equals the one before it.
  return std::memcmp(data->data(), data->data() + width, data->size() - width) == 0;
}

std::string_view deviceOf(const Op& op) {
  const std::string& d = op.result()->type.place.device;
  return d.empty() ? ir::DeviceTable::kHost : std::string_view(d);
}

bool isElsewhere(const Value& v, std::string_view device) {
  return !v.type.place.isFree() && v.type.place.device != device;
}

Role roleOf(const Op& op) {
  switch (op.kind) {
    case OpKind::Constant: return isSplat(op) ? Role::PassThrough : Role::Single;
    case OpKind::Transfer:
    case OpKind::RngNext:
    case OpKind::Load:
    case OpKind::ReadAhead:
    case OpKind::ReadRows:
    case OpKind::Fused: return Role::Single;
    default: break;
  }
  if (op.has(Trait::Elementwise) || op.has(Trait::Piecewise) || op.has(Trait::Gathers)) return Role::Pointwise;
  if (op.has(Trait::Structural)) return Role::PassThrough;
  if (op.has(Trait::Creation)) return op.has(Trait::Cheap) ? Role::PassThrough : Role::Pointwise;
  if (op.has(Trait::Scatters)) return Role::Update;
  if (op.has(Trait::Product)) return Role::Product;
  if (op.has(Trait::Library)) return Role::Single;
  if (op.has(Trait::Scans)) return Role::Scan;
  if (op.has(Trait::Reduction)) return op.boolAttr("unrolled") ? Role::Pointwise : Role::Reduction;
  return Role::Barrier;
}

bool isFactor(const Op& product, size_t operand) {
  switch (product.kind) {
    case OpKind::Attention:
    case OpKind::AttentionSaved: return operand < 3;
    case OpKind::AttentionGrad: return operand < 7 && operand != 3;
    default: return operand < 2;
  }
}

DimMap mapThrough(const Op& op, size_t operand, const DimMap& m) {
  const ir::Dims& from = op.operand(operand)->type.shape;
  if (from.empty()) return std::vector<int>{};
  if (!m) return std::nullopt;
  const ir::Dims& to = op.result()->type.shape;
  std::vector<int> out(from.size(), -1);
  if (op.has(Trait::Elementwise)) return m;
  switch (op.kind) {
    case OpKind::Broadcast: {
      size_t lead = to.size() - from.size();
      for (size_t d = 0; d < from.size(); ++d) out[d] = from[d] == to[lead + d] ? (*m)[lead + d] : -1;
      return out;
    }
    case OpKind::Permute: {
      const auto& perm = op.intsAttr("perm");
      for (size_t d = 0; d < perm.size(); ++d) out[static_cast<size_t>(perm[d])] = (*m)[d];
      return out;
    }
    case OpKind::Reshape: {
      size_t d = 0;
      for (size_t t = 0; t < to.size(); ++t) {
        if (to[t] == 1) continue;
        while (d < from.size() && from[d] == 1) ++d;
        if (d == from.size() || from[d] != to[t]) return std::nullopt;
        out[d++] = (*m)[t];
      }
      return out;
    }
    case OpKind::Gather: {
      if (operand == 0) return std::nullopt;
      size_t at = static_cast<size_t>(op.intAttr("at"));
      for (size_t d = 0; d < from.size(); ++d) out[d] = (*m)[at + d];
      return out;
    }
    default: return std::nullopt;
  }
}

}  // namespace tenc::passes::fusion
