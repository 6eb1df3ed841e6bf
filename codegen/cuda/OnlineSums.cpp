#include "codegen/cuda/OnlineSums.h"

#include <algorithm>
#include <map>

#include "codegen/KernelShape.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;
using ir::OpKind;

/// Whether expressions of one stage and of another are the same. Each pair is compared once, as expressions share
/// parts.
class Comparison {
 public:
  Comparison(const Stage& a, const Stage& b) : a_(a), b_(b) {}
  bool isSame(ExprId x, ExprId y) {
    const auto [at, isNew] = known_.try_emplace({x, y}, false);
    return isNew ? at->second = compare(x, y) : at->second;
  }

 private:
  bool compare(ExprId x, ExprId y) {
    const Expr &e = a_.exprs[x], &f = b_.exprs[y];
    if (e.kind != f.kind || e.dtype != f.dtype || e.args.size() != f.args.size()) return false;
    for (size_t i = 0; i < e.args.size(); ++i)
      if (!isSame(e.args[i], f.args[i])) return false;
    switch (e.kind) {
      case Expr::Kind::Constant: return e.bits == f.bits;
      case Expr::Kind::Op: return e.op == f.op;
      case Expr::Kind::Load:
        return e.access.terms.empty() && f.access.terms.empty() && e.access.buffer == f.access.buffer &&
               e.access.offset == f.access.offset && e.access.strides == f.access.strides;
      case Expr::Kind::LoopVar:
      case Expr::Kind::Scalar:
      case Expr::Kind::Reduced: return e.index == f.index;
      default: return false;
    }
  }

  const Stage &a_, &b_;
  std::map<std::pair<ExprId, ExprId>, bool> known_;
};

bool isSame(const Stage& a, ExprId x, const Stage& b, ExprId y) { return Comparison(a, b).isSame(x, y); }

bool isOp(const Stage& s, ExprId x, OpKind op) {
  return s.exprs[x].kind == Expr::Kind::Op && s.exprs[x].op == op && s.exprs[x].dtype == DType::F32;
}
bool isReduced(const Stage& s, ExprId x, uint32_t reduction) {
  return s.exprs[x].kind == Expr::Kind::Reduced && s.exprs[x].index == reduction;
}

/// Whether it is `where(isinf(maximum), 0, maximum)`.
bool isFiniteOf(const Stage& s, ExprId x, uint32_t maximum) {
  if (!isOp(s, x, OpKind::Where)) return false;
  const Expr &where = s.exprs[x], &asked = s.exprs[where.args[0]], &zero = s.exprs[where.args[1]];
  return asked.kind == Expr::Kind::Op && asked.op == OpKind::IsInf && isReduced(s, asked.args[0], maximum) &&
         zero.kind == Expr::Kind::Constant && zero.bits == 0 && isReduced(s, where.args[2], maximum);
}

const Reduction* onlyReduction(const Kernel& k, const Stage& s, Reduction::Kind kind) {
  if (s.reductions.size() != 1 || !s.stores.empty() || s.ordered || s.innerLo.empty()) return nullptr;
  for (size_t v = 0; v < k.outer.size(); ++v)
    if (!coversAll(k, s, v)) return nullptr;
  const Reduction& r = k.reductions[s.reductions[0]];
  return r.kind == kind && !r.running && r.accumulator == DType::F32 && s.exprs[r.value].dtype == DType::F32 ? &r
                                                                                                             : nullptr;
}

}  // namespace

std::optional<OnlineSum> onlineSum(const Kernel& k) {
  for (size_t i = 0; i + 1 < k.stages.size(); ++i) {
    const Stage &first = k.stages[i], &second = k.stages[i + 1];
    const Reduction* maximum = onlyReduction(k, first, Reduction::Kind::Max);
    const Reduction* sum = onlyReduction(k, second, Reduction::Kind::Sum);
    if (maximum == nullptr || sum == nullptr || first.innerLo != second.innerLo || first.innerHi != second.innerHi)
      continue;
    if (!isOp(second, sum->value, OpKind::Exp)) continue;
    const ExprId difference = second.exprs[sum->value].args[0];
    if (!isOp(second, difference, OpKind::Sub)) continue;
    const ExprId x = second.exprs[difference].args[0], subtracted = second.exprs[difference].args[1];
    OnlineSum online{i, first.reductions[0], second.reductions[0], maximum->value, false, false};
    online.finite = isFiniteOf(second, subtracted, online.maximum);
    if ((!online.finite && !isReduced(second, subtracted, online.maximum)) || !isSame(first, maximum->value, second, x))
      continue;
    online.alone = std::count_if(k.stages.begin(), k.stages.end(),
                                 [](const Stage& s) { return trips(s.innerLo, s.innerHi) > 1; }) == 2;
    return online;
  }
  return std::nullopt;
}

}  // namespace tenc::codegen::cuda
