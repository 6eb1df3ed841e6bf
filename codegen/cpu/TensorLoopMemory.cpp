#include "codegen/cpu/TensorLoopMemory.h"

#include <algorithm>

#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/LoopSchedule.h"
#include "ir/Views.h"
#include "runtime/abi/Kernels.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {
constexpr uint64_t kLine = 64;

/// With whole vectors, so that the last one need not be masked.
int64_t paddedBytes(const ir::Type& t) {
  const int64_t elements = t.rank() == 0 ? 1 : (t.size() + kLanes - 1) / kLanes * kLanes;
  return std::max<int64_t>(elements * ir::byteSize(t.dtype), abi::kScalarBytes);
}
}  // namespace

Value* TensorLoopMemory::frame(llvm::Type* element, int64_t count) {
  if (count == 0) return llvm::ConstantPointerNull::get(b_.getPtrTy());
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  auto* slot = at.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(count)));
  slot->setAlignment(llvm::Align(kLine));
  return slot;
}

TensorLoopMemory::Place TensorLoopMemory::newPlace(const ir::Type& t) {
  Value* memory = frame(b_.getInt8Ty(), paddedBytes(t));
  if (t.rank() > 0 && t.size() > 0) {
    // Lanes behind the last element are computed with, too.
    llvm::IRBuilder<> start(llvm::cast<llvm::AllocaInst>(memory)->getNextNode());
    start.CreateMemSet(memory, start.getInt8(0), static_cast<uint64_t>(paddedBytes(t)), llvm::Align(kLine));
    padded_[memory] = t.bytes();
  }
  return {memory, 0, true};
}

void TensorLoopMemory::make(const ir::Value* v) { places_[v] = newPlace(v->type); }

void TensorLoopMemory::define(const ir::Value* v, Value* element) {
  make(v);
  b_.CreateStore(element, address(v));
}

Value* TensorLoopMemory::at(const Place& place) {
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), place.base, static_cast<uint64_t>(place.offset));
}

Value* TensorLoopMemory::address(const ir::Value* v) { return at(places_.at(v)); }

Value* TensorLoopMemory::element(const ir::Value* v) {
  return b_.CreateLoad(memoryType(b_.getContext(), v->type.dtype), address(v));
}

Value* TensorLoopMemory::flag(const ir::Value* v) { return b_.CreateICmpNE(element(v), b_.getInt8(0)); }

void TensorLoopMemory::copy(const Place& to, const Place& from, const ir::Type& t) {
  if (t.size() == 0) return;
  if (t.rank() == 0) {
    llvm::Type* element = memoryType(b_.getContext(), t.dtype);
    b_.CreateStore(b_.CreateLoad(element, at(from)), at(to));
    return;
  }
  const bool whole = to.padded && from.padded && to.offset == 0 && from.offset == 0;
  const auto element = static_cast<uint64_t>(ir::byteSize(t.dtype));
  const llvm::Align align(whole ? kLine : element);
  b_.CreateMemCpy(at(to), align, at(from), align, static_cast<uint64_t>(whole ? paddedBytes(t) : t.bytes()));
}

void TensorLoopMemory::copy(const ir::Value* to, const ir::Value* from) {
  copy(places_.at(to), places_.at(from), to->type);
}

void TensorLoopMemory::leave(const ir::Value* v, Value* to) {
  const Place& from = places_.at(v);
  if (from.base != to || from.offset != 0) copy({to, 0, false}, from, v->type);
}

void TensorLoopMemory::view(const ir::Op& op) {
  const ir::Value* of = op.operand(0);
  Place place = places_.at(of);
  if (op.kind == ir::OpKind::Slice)
    place.offset += ir::stridedView(op.result(), [&](const ir::Value* x) { return x == of; })->offset *
                    ir::byteSize(of->type.dtype);
  places_[op.result()] = place;
}

bool TensorLoopMemory::update(const ir::Op& op, const ir::Value* old, const ir::Value* made) {
  if (isLastUse(op, old)) {
    same(made, old);
    return true;
  }
  if (made->type.bytes() > mostCopied_) return false;
  make(made);
  copy(made, old);
  return true;
}

/// Whether a value is one of the region's own, which `op` reads once and nothing reads later.
bool TensorLoopMemory::isLastUse(const ir::Op& op, const ir::Value* v) {
  const ir::Region& region = *op.parent;
  if (v->home() != &region || (v->op != nullptr && ir::isMemoryView(*v->op))) return false;
  // The body still reads what the condition of a `while` does.
  const ir::Op* around = region.parentOp;
  if (v->op == nullptr && around->kind == ir::OpKind::While && around->regions[0].get() == &region) return false;
  const auto& operands = op.operands();
  const auto readsIt = [&](const ir::Value* x) {
    while (x->op != nullptr && ir::isMemoryView(*x->op)) x = x->op->operand(0);
    return x == v;
  };
  return std::count_if(operands.begin(), operands.end(), readsIt) == 1 && lastUse(v, region) == position(op);
}

size_t TensorLoopMemory::lastUse(const ir::Value* v, const ir::Region& in) {
  size_t last = 0;
  for (const ir::Value::Use& use : v->uses) {
    const ir::Op* user = use.user;
    if (ir::isMemoryView(*user)) last = std::max(last, lastUse(user->result(), in));
    while (user->parent != &in) user = user->parent->parentOp;
    last = std::max(last, position(*user));
  }
  return last;
}

size_t TensorLoopMemory::position(const ir::Op& op) {
  if (!positions_.contains(&op)) {
    size_t n = 0;
    for (const auto& other : op.parent->ops) positions_[other.get()] = n++;
  }
  return positions_.at(&op);
}

void TensorLoopMemory::carry(const ir::Op& loop, const Args& args, size_t first, size_t lead) {
  for (size_t i = 0; i < loop.results.size(); ++i) {
    const ir::Value *arg = args[first + i].get(), *start = loop.operand(lead + i);
    if (arg->type.bytes() > mostCopied_) {
      same(arg, start);
      continue;
    }
    make(arg);
    copy(arg, start);
  }
}

/// All at once: what is in memory that another value goes to, is put aside before.
void TensorLoopMemory::handOver(const ir::Op& yield, const Args& args, size_t first) {
  std::vector<Place> from;
  const auto target = [&](size_t i) -> const Place& { return places_.at(args[first + i].get()); };
  const auto isThere = [&](size_t i) { return from[i].base == target(i).base && from[i].offset == target(i).offset; };
  for (const ir::Value* v : yield.operands()) from.push_back(places_.at(v));
  const std::vector<Place> before = from;
  for (size_t i = 0; i < from.size(); ++i) {
    bool overwritten = false;
    for (size_t k = 0; k < from.size(); ++k) overwritten = overwritten || from[i].base == target(k).base;
    if (!overwritten || isThere(i)) continue;
    const Place aside = newPlace(yield.operand(i)->type);
    copy(aside, before[i], yield.operand(i)->type);
    from[i] = aside;
  }
  for (size_t i = 0; i < from.size(); ++i)
    if (!isThere(i)) copy(target(i), from[i], yield.operand(i)->type);
}

void TensorLoopMemory::endLoop(const ir::Op& loop, const Args& args, size_t first) {
  for (size_t i = 0; i < loop.results.size(); ++i) same(loop.result(i), args[first + i].get());
}

}  // namespace tenc::codegen::cpu
