// What LlvmScalars prints besides single instructions: calls, rare cases, loops, faults.
#include <llvm/IR/Module.h>

#include <limits>

#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/Loops.h"
#include "runtime/abi/KernelState.h"

namespace tenc::codegen::cpu {
using llvm::Value;

llvm::Function* LlvmScalars::vectorHelper(std::string_view name, size_t args, llvm::Type* element) {
  std::string ownName = "vector." + std::string(name) + "." + std::to_string(lanes_);
  llvm::Module& m = module();
  if (llvm::Function* f = m.getFunction(ownName)) return f;
  llvm::LLVMContext& c = m.getContext();
  auto lanes = static_cast<unsigned>(lanes_);
  auto* vector = llvm::FixedVectorType::get(element, lanes);
  std::vector<llvm::Type*> params(args + 1, vector);
  params.push_back(llvm::FixedVectorType::get(llvm::Type::getInt1Ty(c), lanes));
  auto* f = llvm::Function::Create(llvm::FunctionType::get(vector, params, false), llvm::Function::InternalLinkage,
                                   ownName, m);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::FunctionCallee scalar = m.getOrInsertFunction(
      std::string(name), llvm::FunctionType::get(element, std::vector<llvm::Type*>(args, element), false));

  llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "entry", f));
  std::vector<Value*> slots;
  for (size_t i = 0; i <= args; ++i) {  // the arguments, then the result, which starts as `otherwise`
    slots.push_back(b.CreateAlloca(vector));
    b.CreateStore(f->getArg(static_cast<unsigned>(i)), slots.back());
  }
  Value* mask =
      b.CreateZExt(b.CreateBitCast(f->getArg(static_cast<unsigned>(args + 1)), b.getIntNTy(lanes)), b.getInt64Ty());
  auto* entry = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(c, "loop", f);
  auto* call = llvm::BasicBlock::Create(c, "call", f);
  auto* next = llvm::BasicBlock::Create(c, "next", f);
  auto* done = llvm::BasicBlock::Create(c, "done", f);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* lane = b.CreatePHI(b.getInt64Ty(), 2);
  lane->addIncoming(b.getInt64(0), entry);
  b.CreateCondBr(b.CreateTrunc(b.CreateLShr(mask, lane), b.getInt1Ty()), call, next);
  b.SetInsertPoint(call);
  std::vector<Value*> values;
  for (size_t i = 0; i < args; ++i) values.push_back(b.CreateLoad(element, b.CreateGEP(element, slots[i], lane)));
  b.CreateStore(b.CreateCall(scalar, values), b.CreateGEP(element, slots[args], lane));
  b.CreateBr(next);
  b.SetInsertPoint(next);
  Value* following = b.CreateAdd(lane, b.getInt64(1));
  lane->addIncoming(following, next);
  b.CreateCondBr(b.CreateICmpULT(following, b.getInt64(lanes)), loop, done);
  b.SetInsertPoint(done);
  b.CreateRet(b.CreateLoad(vector, slots[args]));
  return f;
}

Scalar LlvmScalars::libraryCall(std::string_view name, std::initializer_list<Scalar> args, Scalar condition,
                                Scalar otherwise) {
  llvm::Type* element = registerType(b_.getContext(), otherwise.repr);
  std::vector<Value*> values;
  bool vector = value(condition)->getType()->isVectorTy() || value(otherwise)->getType()->isVectorTy();
  for (Scalar s : args) {
    values.push_back(value(s));
    vector = vector || values.back()->getType()->isVectorTy();
  }
  Value *c = value(condition), *result = value(otherwise);
  llvm::FunctionCallee callee;
  if (vector) {
    for (Value*& v : values) v = splat(v);
    c = splat(c);
    result = splat(result);
    callee = vectorHelper(name, args.size(), element);
    values.push_back(result);
    // Lanes that are not in use are not worth a call.
    values.push_back(mask_ != nullptr ? b_.CreateAnd(c, mask_) : c);
    c = values.back();
  } else {
    callee = module().getOrInsertFunction(
        std::string(name), llvm::FunctionType::get(element, std::vector<llvm::Type*>(args.size(), element), false));
  }
  if (auto* known = llvm::dyn_cast<llvm::Constant>(c); known != nullptr && known->isAllOnesValue())
    return wrap(b_.CreateCall(callee, values), otherwise.repr);
  return wrap(emitRarely(b_, any(c), {result}, [&]() -> Values { return {b_.CreateCall(callee, values)}; })[0],
              otherwise.repr);
}

Scalar LlvmScalars::rarely(Scalar condition, Scalar otherwise, const std::function<Scalar()>& body) {
  Value *c = value(condition), *result = value(otherwise);
  if (c->getType()->isVectorTy()) result = splat(result);
  if (mask_ != nullptr) c = b_.CreateAnd(splat(c), mask_);
  return wrap(
      emitRarely(b_, any(c), {result}, [&]() -> Values { return {value(select(condition, body(), otherwise))}; })[0],
      otherwise.repr);
}

void LlvmScalars::repeat(int times, std::span<Scalar> state, const std::function<void(std::span<Scalar>)>& step) {
  // What is one element before the loop may be a vector after the first step.
  bool vector = false;
  for (Scalar s : state) vector = vector || value(s)->getType()->isVectorTy();
  Values init;
  for (Scalar s : state) init.push_back(vector ? splat(value(s)) : value(s));
  Values last = emitLoop(b_, b_.getInt64(0), b_.getInt64(static_cast<uint64_t>(times)), 1, init,
                         [&](Value*, const Values& carried) {
                           for (size_t i = 0; i < state.size(); ++i) state[i] = wrap(carried[i], state[i].repr);
                           step(state);
                           Values next;
                           for (Scalar s : state) next.push_back(value(s));
                           return next;
                         });
  for (size_t i = 0; i < state.size(); ++i) state[i] = wrap(last[i], state[i].repr);
}

void LlvmScalars::setFault(Scalar condition, uint32_t fault) {
  setFault(condition, fault, [&] { return BadIndex{}; });
}

Value* LlvmScalars::setFault(Scalar outside, uint32_t fault, const std::function<BadIndex()>& bad, Value* otherwise,
                             Value* faulted) {
  Value* c = value(outside);
  if (auto* known = llvm::dyn_cast<llvm::Constant>(c); known != nullptr && known->isNullValue()) return otherwise;
  if (mask_ != nullptr) c = b_.CreateAnd(splat(c), mask_);
  const Values results = emitRarely(b_, any(c), {otherwise}, [&]() -> Values {
    const BadIndex found = bad();
    auto i64 = [&](int64_t n) -> Value* { return b_.getInt64(static_cast<uint64_t>(n)); };
    Value* index = found.size < 0 ? i64(0) : value(found.index);
    // The least of the lanes, so that the width of vectors does not show.
    if (c->getType()->isVectorTy() && index->getType()->isVectorTy()) {
      auto* most = llvm::ConstantInt::get(index->getType(), std::numeric_limits<int64_t>::max());
      index = b_.CreateIntMinReduce(b_.CreateSelect(c, index, most), true);
    } else if (index->getType()->isVectorTy()) {
      index = b_.CreateIntMinReduce(index, true);
    }
    const size_t offset = ordered ? offsetof(abi::KernelState, ordered) : offsetof(abi::KernelState, least);
    auto* pointer = llvm::PointerType::get(b_.getContext(), 0);
    Value* report = b_.CreateLoad(pointer, b_.CreateConstGEP1_64(b_.getInt8Ty(), fault_, offset));
    auto* number = b_.getInt32Ty();
    auto* word = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, number, word, word, word, word}, false);
    auto* call = b_.CreateCall(
        type, report, {fault_, b_.getInt32(fault + 1), index, i64(found.count), i64(found.size), i64(found.axis)});
    call->addFnAttr(llvm::Attribute::get(b_.getContext(), llvm::Attribute::Cold));
    call->setDoesNotThrow();
    call->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
    return faulted != nullptr ? Values{faulted} : Values{};
  });
  return results.empty() ? nullptr : results[0];
}

}  // namespace tenc::codegen::cpu
