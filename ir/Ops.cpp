#include "ir/Ops.h"

#include <array>
#include <string>
#include <unordered_map>

#include "support/InternalError.h"

namespace tenc::ir {
namespace {

constexpr std::array<OpInfo, static_cast<size_t>(OpKind::Count)> kOps{{
#define TENC_OP(kind, mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc) \
  {mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc},
#include "ir/Ops.def"
}};

}  // namespace

const OpInfo& opInfo(OpKind k) { return kOps[static_cast<size_t>(k)]; }

std::optional<OpKind> opNamed(std::string_view mnemonic) {
  static const std::unordered_map<std::string_view, OpKind> byName = [] {
    std::unordered_map<std::string_view, OpKind> map;
    for (size_t i = 0; i < kOps.size(); ++i) map.emplace(kOps[i].mnemonic, static_cast<OpKind>(i));
    return map;
  }();
  auto it = byName.find(mnemonic);
  if (it == byName.end()) return std::nullopt;
  return it->second;
}

std::optional<OpKind> combinerOf(OpKind reduction) {
  switch (reduction) {
    case OpKind::Sum: return OpKind::Add;
    case OpKind::Prod: return OpKind::Mul;
    case OpKind::ReduceMax: return OpKind::Max;
    case OpKind::ReduceMin: return OpKind::Min;
    case OpKind::Any: return OpKind::Or;
    case OpKind::All: return OpKind::And;
    default: return std::nullopt;
  }
}

OpKind combinerNamed(std::string_view mode) {
  if (mode == "mul") return OpKind::Mul;
  if (mode == "max") return OpKind::Max;
  return mode == "min" ? OpKind::Min : OpKind::Add;
}

void lacksRule(OpKind k, std::string_view what) {
  throw InternalError("`" + std::string(opInfo(k).mnemonic) + "` has no " + std::string(what));
}

}  // namespace tenc::ir
