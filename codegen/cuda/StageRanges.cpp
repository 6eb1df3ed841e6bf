#include "codegen/cuda/StageRanges.h"

#include <algorithm>

namespace tenc::codegen::cuda {
namespace {

using ir::OpKind;

constexpr int64_t kMost = (int64_t{1} << 31) - 1;

std::optional<int64_t> mostOfVariable(const Kernel& k, const Stage& s, uint32_t variable) {
  if (variable < k.outer.size()) return k.outer[variable] - 1;
  const size_t inner = variable - k.outer.size();
  // Those of tiles, rows and columns of scores for instance, are no loops of the stage.
  if (inner >= s.innerLo.size() || s.innerLo[inner] < 0) return std::nullopt;
  return s.innerHi[inner] - 1;
}

}  // namespace

std::optional<int64_t> mostOf(const Kernel& k, const Stage& s, ExprId id) {
  const Expr& e = s.exprs[id];
  if (e.dtype != ir::DType::I64) return std::nullopt;
  std::optional<int64_t> most;
  if (e.kind == Expr::Kind::LoopVar) most = mostOfVariable(k, s, e.index);
  if (e.kind == Expr::Kind::Constant) most = static_cast<int64_t>(e.bits);
  if (e.kind == Expr::Kind::Op && e.args.size() == 2) {
    const std::optional<int64_t> a = mostOf(k, s, e.args[0]), b = mostOf(k, s, e.args[1]);
    if (!a || !b) return std::nullopt;
    switch (e.op) {
      case OpKind::Add: most = *a + *b; break;
      case OpKind::Mul: most = *a * *b; break;
      case OpKind::FloorDiv:
      case OpKind::TruncDiv: most = a; break;
      case OpKind::Mod:
      case OpKind::Fmod: most = std::min(*a, *b); break;
      default: return std::nullopt;
    }
  }
  return most && *most >= 0 && *most <= kMost ? most : std::nullopt;
}

}  // namespace tenc::codegen::cuda
