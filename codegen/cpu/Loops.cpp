#include "codegen/cpu/Loops.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {
const llvm::ConstantInt* constant(Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); }

Values emitBranch(llvm::IRBuilderBase& b, Value* condition, llvm::MDNode* weights, const Values& otherwise,
                  const std::function<Values()>& body) {
  if (const auto* c = constant(condition)) return c->isOne() ? body() : otherwise;
  llvm::Function* f = b.GetInsertBlock()->getParent();
  auto* before = b.GetInsertBlock();
  auto* then = llvm::BasicBlock::Create(b.getContext(), "then", f);
  auto* next = llvm::BasicBlock::Create(b.getContext(), "next", f);
  b.CreateCondBr(condition, then, next, weights);
  b.SetInsertPoint(then);
  Values results = body();
  auto* end = b.GetInsertBlock();
  b.CreateBr(next);
  b.SetInsertPoint(next);
  for (size_t i = 0; i < results.size(); ++i) {
    auto* phi = b.CreatePHI(results[i]->getType(), 2);
    phi->addIncoming(results[i], end);
    phi->addIncoming(otherwise[i], before);
    results[i] = phi;
  }
  return results;
}

}  // namespace

Values emitIf(llvm::IRBuilderBase& b, Value* condition, const Values& otherwise, const std::function<Values()>& body) {
  return emitBranch(b, condition, nullptr, otherwise, body);
}

Values emitRarely(llvm::IRBuilderBase& b, Value* condition, const Values& otherwise,
                  const std::function<Values()>& body) {
  llvm::MDNode* weights = llvm::MDBuilder(b.getContext()).createBranchWeights(1, 4000);
  return emitBranch(b, condition, weights, otherwise, body);
}

Values emitLoop(llvm::IRBuilderBase& b, Value* lo, Value* hi, int64_t step, const Values& init,
                const std::function<Values(Value*, const Values&)>& body) {
  const auto *first = constant(lo), *end = constant(hi);
  if (first != nullptr && end != nullptr) {
    if (first->getSExtValue() >= end->getSExtValue()) return init;
    if (first->getSExtValue() + step >= end->getSExtValue()) return body(lo, init);
  }
  llvm::Function* f = b.GetInsertBlock()->getParent();
  auto* before = b.GetInsertBlock();
  auto* block = llvm::BasicBlock::Create(b.getContext(), "loop", f);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", f);
  const bool surelyRuns = first != nullptr && end != nullptr;
  if (surelyRuns)
    b.CreateBr(block);
  else
    b.CreateCondBr(b.CreateICmpSLT(lo, hi), block, done);
  b.SetInsertPoint(block);
  auto* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(lo, before);
  Values carried;
  std::vector<llvm::PHINode*> phis;
  for (Value* v : init) {
    phis.push_back(b.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
    carried.push_back(phis.back());
  }
  Values next = body(i, carried);
  Value* following = b.CreateAdd(i, b.getInt64(static_cast<uint64_t>(step)), "", true, true);
  auto* latch = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpSLT(following, hi), block, done);
  i->addIncoming(following, latch);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], latch);
  done->moveAfter(latch);
  b.SetInsertPoint(done);
  if (surelyRuns) return next;
  for (size_t k = 0; k < next.size(); ++k) {
    auto* phi = b.CreatePHI(next[k]->getType(), 2);
    phi->addIncoming(next[k], latch);
    phi->addIncoming(init[k], before);
    next[k] = phi;
  }
  return next;
}

Values emitVectorLoop(llvm::IRBuilderBase& b, Value* lo, Value* hi, const VectorWalk& walk, const Values& init,
                      const std::function<Values(Value*, int, Value*, const Values&)>& body) {
  const int64_t lanes = walk.lanes;
  auto i64 = [&](int64_t v) { return b.getInt64(static_cast<uint64_t>(v)); };
  const auto *first = constant(lo), *end = constant(hi);
  bool known = first != nullptr && end != nullptr;
  int64_t count = known ? end->getSExtValue() - first->getSExtValue() : 0;
  if (known && count <= 0) return init;
  bool full = walk.fullLanes || (known && count % lanes == 0);

  auto masked = [&](Value* base) -> Value* {
    std::vector<llvm::Constant*> offsets;
    for (int64_t i = 0; i < lanes; ++i) offsets.push_back(i64(i));
    Value* left = b.CreateSub(hi, base);  // lane < hi - base, in 32 bits: blocks are shorter
    if (const auto* known = constant(left); known != nullptr && lanes > 1) {
      std::vector<llvm::Constant*> on;
      for (int64_t i = 0; i < lanes; ++i) on.push_back(b.getInt1(i < known->getSExtValue()));
      return llvm::ConstantVector::get(on);
    }
    Value* limit = b.CreateTrunc(b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, i64(lanes)), b.getInt32Ty());
    std::vector<llvm::Constant*> lane;
    for (int64_t i = 0; i < lanes; ++i) lane.push_back(b.getInt32(static_cast<uint32_t>(i)));
    if (lanes == 1) return b.CreateICmpSLT(lane[0], limit);
    return b.CreateICmpSLT(llvm::ConstantVector::get(lane), b.CreateVectorSplat(static_cast<unsigned>(lanes), limit));
  };
  auto rest = [&](Value* from, const Values& carried) {
    if (!full && walk.lastLanes > 0) {
      // Whole ones, and one with a mask that is constant.
      Value* end = b.CreateAdd(from, b.CreateAnd(b.CreateSub(hi, from), i64(-lanes)));
      emitLoop(b, from, end, lanes, {}, [&](Value* i, const Values&) { return body(i, 1, nullptr, {}); });
      std::vector<llvm::Constant*> on;
      for (int64_t i = 0; i < lanes; ++i) on.push_back(b.getInt1(i < walk.lastLanes));
      return emitIf(b, b.CreateICmpSLT(end, hi), {}, [&] { return body(end, 1, llvm::ConstantVector::get(on), {}); });
    }
    return emitLoop(b, from, hi, lanes, carried,
                    [&](Value* i, const Values& c) { return body(i, 1, full ? nullptr : masked(i), c); });
  };
  if (lanes == 1) {
    full = true;
    return rest(lo, init);
  }
  const int together = walk.together == 0 ? walk.copies : std::min(walk.together, walk.copies);
  const bool turns = together < walk.copies;
  // Nothing is left over where single vectors are whole.
  if (walk.copies == 1 ? full || walk.oneBody : walk.oneBody && !full && !turns) return rest(lo, init);

  int64_t step = lanes * walk.copies;
  Value* middle;
  if (known) {
    middle = i64(first->getSExtValue() + count / step * step);
  } else {
    Value* n = b.CreateSub(hi, lo);
    // Not below lo when the range is empty.
    n = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, i64(0));
    middle = b.CreateAdd(lo, b.CreateAnd(n, i64(-step)));
    if ((step & (step - 1)) != 0) middle = b.CreateAdd(lo, b.CreateSub(n, b.CreateURem(n, i64(step))));
  }
  auto turned = [&](Values next, int changed) {  // so many copies at the front have had their turn
    std::rotate(next.begin(), next.begin() + static_cast<long>(next.size()) / walk.copies * changed, next.end());
    return next;
  };
  const bool whole = known && count % step == 0;
  if (turns && walk.oneBody && !whole)
    return emitLoop(b, lo, hi, lanes, init, [&](Value* i, const Values& c) {
      const Values next = body(i, 1, full ? nullptr : masked(i), c);
      // The rest is the first copy's, as in two loops.
      Values after = turned(next, 1);
      Value* inMain = b.CreateICmpSLT(i, middle);
      for (size_t k = 0; k < next.size(); ++k) after[k] = b.CreateSelect(inMain, after[k], next[k]);
      return after;
    });
  Values carried = emitLoop(b, lo, middle, lanes * together, init,
                            [&](Value* i, const Values& c) { return turned(body(i, together, nullptr, c), together); });
  if (whole) return carried;
  return rest(middle, carried);
}

}  // namespace tenc::codegen::cpu
