// Loops over small tensors. Every value has memory of its own in the frame of the function; the parts are functions
// that are called with its addresses, as the runtime would call them. They are then inlined, and LLVM makes registers
// of the memory that is only accessed in whole vectors (TensorLoopPasses).
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "codegen/NativeFaults.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/LlvmScalars.h"
#include "codegen/cpu/TensorLoopMemory.h"
#include "codegen/cpu/TensorLoopPasses.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"
#include "ir/Views.h"
#include "runtime/abi/KernelState.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

namespace {

class TensorLoopEmitter {
 public:
  TensorLoopEmitter(const KernelToEmit& kernel, const TensorLoop& loop)
      : kernel_(kernel),
        loop_(loop),
        b_(kernel.module.getContext()),
        function_(createKernelFunction(kernel.module, kernel.name)),
        memory_(b_, *function_, kernel.kernel.mostCopied, inlining_.padded) {}

  std::string emit();
  PartsToInline& inlining() { return inlining_; }

 private:
  void region(const ir::Region& r);
  void constant(const ir::Op& op);
  void part(const ir::Op& op);
  llvm::Function* functionOf(size_t part);
  void forLoop(const ir::Op& op);
  void whileLoop(const ir::Op& op);
  void branch(const ir::Op& op);
  void leaveIf(Value* condition, const std::function<void()>& before);
  void unlessStopped();
  void tell(size_t offset, Value* value);

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* i64(int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); }
  Value* number(const ir::Value* v) { return memory_.element(v); }

  const KernelToEmit& kernel_;
  const TensorLoop& loop_;
  IrBuilder b_;
  llvm::Function* function_;
  PartsToInline inlining_;
  TensorLoopMemory memory_;
  KernelArgs args_;
  llvm::BasicBlock* exit_ = nullptr;
  std::vector<llvm::Function*> functions_;  ///< of the parts, null before they are wanted
  int loops_ = 0;                           ///< around what is emitted
  std::string error_;
};

std::string TensorLoopEmitter::emit() {
  const Kernel& k = kernel_.kernel;
  const ir::Region& whole = *k.tensorLoop->regions[0];
  functions_.resize(k.parts.size());
  inlining_.isLong = loop_.isLong;
  auto *entry = block("entry"), *run = block("run");
  exit_ = block("exit");
  b_.SetInsertPoint(entry);
  args_ = loadArguments(b_, function_, k);
  b_.CreateCondBr(b_.CreateICmpSLT(function_->getArg(2), function_->getArg(3)), run, exit_);
  b_.SetInsertPoint(run);
  for (size_t i = 0; i < k.scalarOperand.size(); ++i)
    memory_.define(whole.args[k.scalarOperand[i]].get(), args_.scalars[i]);
  std::vector<std::pair<size_t, Value*>> results;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const int32_t operand = k.bufferOperand[i], result = k.bufferResult[i];
    if (operand >= 0) memory_.enter(whole.args[static_cast<size_t>(operand)].get(), args_.buffers[i]);
    if (result >= 0)
      results.emplace_back(static_cast<size_t>(result), args_.buffers[i]);
    else
      inlining_.constant.push_back(args_.buffers[i]);
  }
  region(whole);
  if (!error_.empty()) return error_;
  for (const auto& [result, to] : results) memory_.leave(whole.terminator()->operand(result), to);
  b_.CreateBr(exit_);
  b_.SetInsertPoint(exit_);
  b_.CreateRetVoid();
  return error_;
}

void TensorLoopEmitter::region(const ir::Region& r) {
  for (const auto& op : r.ops) {
    if (!error_.empty() || op->has(ir::Trait::Terminator)) return;
    if (ir::isMemoryView(*op)) {
      memory_.view(*op);
      continue;
    }
    switch (op->kind) {
      case OpKind::Constant: constant(*op); break;
      case OpKind::Fused: part(*op); break;
      case OpKind::For: forLoop(*op); break;
      case OpKind::While: whileLoop(*op); break;
      case OpKind::If: branch(*op); break;
      default: error_ = "tensor loop: op `" + std::string(op->info().mnemonic) + "`"; return;
    }
  }
}

void TensorLoopEmitter::constant(const ir::Op& op) {
  const auto c = ir::constantScalar(op.result());
  if (!c || op.result()->type.rank() > 0) {
    error_ = "tensor loop: a literal array";
    return;
  }
  const ir::DType t = op.result()->type.dtype;
  auto* bits = b_.getIntN(static_cast<unsigned>(8 * ir::byteSize(t)), ir::bitsOf(*c));
  memory_.define(op.result(), llvm::ConstantExpr::getBitCast(bits, memoryType(b_.getContext(), t)));
}

llvm::Function* TensorLoopEmitter::functionOf(size_t part) {
  if (functions_[part] != nullptr) return functions_[part];
  const std::string name = kernel_.name + ".part" + std::to_string(part);
  error_ = emitKernel({kernel_.kernel.parts[part], kernel_.module, name, kernel_.level, kernel_.contract,
                       kernel_.machine, AssembledForm::None},
                      loop_.parts[part]);
  if (!error_.empty()) return nullptr;
  llvm::Function* f = kernel_.module.getFunction(name);
  f->setLinkage(llvm::GlobalValue::InternalLinkage);
  return functions_[part] = f;
}

/// A call of the kernel of a fused op, as the runtime would make it.
void TensorLoopEmitter::part(const ir::Op& op) {
  const Kernel::Part& place = kernel_.kernel.partOf.at(&op);
  const Kernel& k = kernel_.kernel.parts[place.number];
  const Schedule& schedule = loop_.parts[place.number];
  llvm::Function* f = functionOf(place.number);
  if (!error_.empty()) return;
  std::vector<Value*> buffers;
  for (size_t i = 0; i < k.bufferOperand.size(); ++i) {
    const int32_t operand = k.bufferOperand[i], result = k.bufferResult[i];
    if (operand < 0 && result < 0) continue;  // scratch
    const ir::Value* old = operand < 0 ? nullptr : op.operand(static_cast<size_t>(operand));
    if (result >= 0) {
      const ir::Value* made = op.result(static_cast<size_t>(result));
      if (old == nullptr) {
        memory_.make(made);
      } else if (!memory_.update(op, old, made)) {
        error_ = "tensor loop: a large tensor that is not updated in place";
        return;
      }
      buffers.push_back(memory_.address(made));
    } else {
      buffers.push_back(memory_.address(old));
    }
  }
  Value* scalars = memory_.frame(b_.getInt64Ty(), static_cast<int64_t>(k.scalarOperand.size()));
  for (size_t i = 0; i < k.scalarOperand.size(); ++i)
    b_.CreateStore(memory_.element(op.operand(k.scalarOperand[i])),
                   b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), scalars, i));
  auto* pointer = b_.getPtrTy();
  Value* addresses = memory_.frame(pointer, static_cast<int64_t>(buffers.size()));
  for (size_t i = 0; i < buffers.size(); ++i)
    b_.CreateStore(buffers[i], b_.CreateConstInBoundsGEP1_64(pointer, addresses, i));
  inlining_.calls.push_back(
      {b_.CreateCall(f, {addresses, scalars, i64(0), i64(schedule.items), args_.fault, args_.scratch}), buffers});
  if (k.faults.empty()) return;
  // What it counts from its own first fault is counted from that of the loop.
  auto* word = b_.CreateLoad(b_.getInt32Ty(), args_.fault);
  word->setVolatile(true);
  leaveIf(b_.CreateICmpNE(word, b_.getInt32(0)), [&] {
    Value* own = b_.CreateICmpNE(word, b_.getInt32(abi::kInterruptFault));
    b_.CreateStore(b_.CreateAdd(word, b_.CreateSelect(own, b_.getInt32(place.firstFault), b_.getInt32(0))),
                   args_.fault);
  });
}

void TensorLoopEmitter::leaveIf(Value* condition, const std::function<void()>& before) {
  auto *leave = block("leave"), *next = block("next");
  b_.CreateCondBr(condition, leave, next, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 4000));
  b_.SetInsertPoint(leave);
  before();
  b_.CreateBr(exit_);
  b_.SetInsertPoint(next);
}

/// Ctrl-C is looked for in every trip: it costs nothing beside the kernels of one.
void TensorLoopEmitter::unlessStopped() {
  auto* word = b_.CreateLoad(b_.getInt32Ty(), args_.fault);
  word->setVolatile(true);
  leaveIf(b_.CreateICmpNE(word, b_.getInt32(0)), [] {});
}

/// Writes a word of the KernelState, for those who look on.
void TensorLoopEmitter::tell(size_t offset, Value* value) {
  if (loops_ > 0) return;
  b_.CreateStore(value, b_.CreateConstGEP1_64(b_.getInt8Ty(), args_.fault, offset))->setVolatile(true);
}

void TensorLoopEmitter::forLoop(const ir::Op& op) {
  const ir::Region& body = *op.regions[0];
  Value *lo = number(op.operand(0)), *hi = number(op.operand(1)), *step = number(op.operand(2));
  if (mayStand(op)) {
    LlvmScalars scalars(b_, args_.fault, 1);
    leaveIf(b_.CreateICmpEQ(step, i64(0)),
            [&] { scalars.setFault(scalars.intConstant(Repr::I1, 1), kernel_.kernel.partOf.at(&op).firstFault); });
  }
  // As many trips as the runtime would count: the distance is below 2^64.
  Value* forward = b_.CreateICmpSGT(step, i64(0));
  Value* span = b_.CreateSelect(forward, b_.CreateSub(hi, lo), b_.CreateSub(lo, hi));
  Value* any = b_.CreateSelect(forward, b_.CreateICmpSLT(lo, hi), b_.CreateICmpSLT(hi, lo));
  Value* stride = b_.CreateSelect(forward, step, b_.CreateNeg(step));
  Value* trips = b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(span, i64(1)), stride), i64(1));
  memory_.carry(op, body.args, 1, 3);
  tell(offsetof(abi::KernelState, first), lo);
  tell(offsetof(abi::KernelState, at), lo);
  tell(offsetof(abi::KernelState, end), hi);
  tell(offsetof(abi::KernelState, step), step);
  auto *before = b_.GetInsertBlock(), *trip = block("trip"), *done = block("done");
  b_.CreateCondBr(any, trip, done);
  b_.SetInsertPoint(trip);
  auto *at = b_.CreatePHI(b_.getInt64Ty(), 2), *count = b_.CreatePHI(b_.getInt64Ty(), 2);
  at->addIncoming(lo, before);
  count->addIncoming(i64(0), before);
  memory_.define(body.args[0].get(), at);
  ++loops_;
  region(body);
  --loops_;
  if (!error_.empty()) return;
  memory_.handOver(*body.terminator(), body.args, 1);
  unlessStopped();
  Value *next = b_.CreateAdd(at, step), *counted = b_.CreateAdd(count, i64(1));
  tell(offsetof(abi::KernelState, at), next);
  at->addIncoming(next, b_.GetInsertBlock());
  count->addIncoming(counted, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(counted, trips), trip, done);
  b_.SetInsertPoint(done);
  memory_.endLoop(op, body.args, 1);
}

void TensorLoopEmitter::whileLoop(const ir::Op& op) {
  const ir::Region &condition = *op.regions[0], &body = *op.regions[1];
  memory_.carry(op, condition.args, 0, 0);
  for (size_t i = 0; i < body.args.size(); ++i) memory_.same(body.args[i].get(), condition.args[i].get());
  tell(offsetof(abi::KernelState, first), i64(0));
  tell(offsetof(abi::KernelState, at), i64(0));
  tell(offsetof(abi::KernelState, end), i64(0));
  tell(offsetof(abi::KernelState, step), i64(1));
  auto *before = b_.GetInsertBlock(), *head = block("while"), *trip = block("trip"), *done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  auto* count = b_.CreatePHI(b_.getInt64Ty(), 2);
  count->addIncoming(i64(0), before);
  ++loops_;
  region(condition);
  if (!error_.empty()) return;
  b_.CreateCondBr(memory_.flag(condition.terminator()->operand(0)), trip, done);
  b_.SetInsertPoint(trip);
  region(body);
  --loops_;
  if (!error_.empty()) return;
  memory_.handOver(*body.terminator(), body.args, 0);
  unlessStopped();
  Value* counted = b_.CreateAdd(count, i64(1));
  tell(offsetof(abi::KernelState, at), counted);
  count->addIncoming(counted, b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
  memory_.endLoop(op, body.args, 0);
}

void TensorLoopEmitter::branch(const ir::Op& op) {
  Value* condition = memory_.flag(op.operand(0));
  for (const auto& v : op.results) memory_.make(v.get());
  auto *then = block("then"), *otherwise = block("else"), *next = block("next");
  b_.CreateCondBr(condition, then, otherwise);
  for (auto [from, r] : {std::pair(then, op.regions[0].get()), {otherwise, op.regions[1].get()}}) {
    b_.SetInsertPoint(from);
    region(*r);
    if (!error_.empty()) return;
    for (size_t i = 0; i < op.results.size(); ++i) memory_.copy(op.result(i), r->terminator()->operand(i));
    b_.CreateBr(next);
  }
  b_.SetInsertPoint(next);
}

}  // namespace

std::string emitTensorLoop(const KernelToEmit& kernel, const TensorLoop& loop) {
  TensorLoopEmitter emitter(kernel, loop);
  std::string error = emitter.emit();
  llvm::Function* function = kernel.module.getFunction(kernel.name);
  // What is half emitted must not reach the code generator.
  if (!error.empty()) {
    function->eraseFromParent();
    return error;
  }
  if (kernel.level == Level::Full) optimiseTensorLoop(*function, emitter.inlining(), kernel.machine);
  return error;
}

}  // namespace tenc::codegen::cpu
