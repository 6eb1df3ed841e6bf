// The ops of native loops, one after the other.
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "codegen/NativeFaults.h"
#include "codegen/ScalarArithmetic.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/KernelEmitters.h"
#include "codegen/cpu/NativeBody.h"
#include "codegen/cpu/NativePasses.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"
#include "ir/Views.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

std::string NativeEmitter::emit(const std::string& name, const std::vector<HeldIndices>& indices,
                                llvm::Function* otherwise) {
  const ir::Op& fused = *kernel_.native;
  const ir::Region& region = *fused.regions[0];
  function_ = createKernelFunction(module_, name);
  auto* entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
  auto* run = llvm::BasicBlock::Create(module_.getContext(), "run", function_);
  auto* done = llvm::BasicBlock::Create(module_.getContext(), "done", function_);
  exit_ = done;
  b_.SetInsertPoint(entry);
  KernelArgs args = loadArguments(b_, function_, kernel_);
  b_.CreateCondBr(b_.CreateICmpSLT(function_->getArg(2), function_->getArg(3)), run, done);
  b_.SetInsertPoint(run);
  s_.emplace(b_, args.fault, 1);
  fault_ = args.fault;
  s_->contract = contract_;
  s_->ordered = true;
  faults_ = faultNumbers(fused);

  ranges_.assumeHeld(kernel_);
  if (!indices.empty()) takeIndices(indices, args.buffers, otherwise);
  for (size_t i = 0; i < kernel_.scalarOperand.size(); ++i) {
    const ir::Value* v = region.args[kernel_.scalarOperand[i]].get();
    slots_[v] = element(s_->fromMemory(args.scalars[i], v->type.dtype));
  }
  std::unordered_map<int32_t, Value*> outputs;  // by result
  std::vector<llvm::MDNode*> scopes = makeScopes();
  state_.others = scopes.back();
  state_.scope = scopes[scopes.size() - 2];
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    if (int32_t operand = kernel_.bufferOperand[i]; operand >= 0) {
      const ir::Value* v = region.args[static_cast<size_t>(operand)].get();
      NativeValue slot{nullptr, args.buffers[i], ir::denseStrides(v->type.shape)};
      slot.scope = scopes[2 * i];
      slot.others = scopes[2 * i + 1];
      slots_[v] = v->type.rank() == 0 ? loaded(slot, v->type) : slot;
    }
    if (int32_t result = kernel_.bufferResult[i]; result >= 0) outputs[result] = args.buffers[i];
  }
  body(region);
  const ir::Op* end = region.terminator();
  for (size_t r = 0; error_.empty() && r < end->operandCount(); ++r) {
    const ir::Value* v = end->operand(r);
    const NativeValue& slot = slots_[v];
    Value* to = outputs[static_cast<int32_t>(r)];
    if (slot.element != nullptr) {
      put({}, to, s_->wrap(slot.element, reprOf(v->type.dtype)), v->type.dtype);
    } else if (slot.base != to) {
      fail("a tensor result that is not updated in place");
    }
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateRetVoid();
  return error_;
}

void NativeEmitter::body(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (!error_.empty()) return;
    if (op->has(ir::Trait::Terminator)) return;
    if (!hoisted_.contains(op.get())) emitOp(*op);
  }
}

/// Tells LLVM where an operation cannot wrap, so that it sees through indices and ends of loops.
void NativeEmitter::markExact(const ir::Op& op, const std::vector<Scalar>& args, Value* result) {
  const bool adds = op.kind == OpKind::Add, subtracts = op.kind == OpKind::Sub;
  if (!adds && !subtracts && op.kind != OpKind::Mul) return;
  auto* made = llvm::dyn_cast<llvm::BinaryOperator>(result);
  // What is folded may be another instruction.
  const auto opcode = adds ? llvm::Instruction::Add : subtracts ? llvm::Instruction::Sub : llvm::Instruction::Mul;
  if (made == nullptr || made->getOpcode() != opcode || made->getOperand(0) != LlvmScalars::value(args[0]) ||
      made->getOperand(1) != LlvmScalars::value(args[1]))
    return;
  const Range a = ranges_.of(op.operand(0)), b = ranges_.of(op.operand(1));
  const __int128 products[] = {__int128{a.least} * b.least, __int128{a.least} * b.most, __int128{a.most} * b.least,
                               __int128{a.most} * b.most};
  const __int128 least = adds        ? __int128{a.least} + b.least
                         : subtracts ? __int128{a.least} - b.most
                                     : *std::ranges::min_element(products);
  const __int128 most = adds        ? __int128{a.most} + b.most
                        : subtracts ? __int128{a.most} - b.least
                                    : *std::ranges::max_element(products);
  const bool exact = least >= std::numeric_limits<int64_t>::min() && most <= std::numeric_limits<int64_t>::max();
  made->setHasNoSignedWrap(exact);
  made->setHasNoUnsignedWrap(exact && !subtracts && a.least >= 0 && b.least >= 0);
}

void NativeEmitter::emitOp(const ir::Op& op) {
  if (op.has(ir::Trait::Elementwise)) {
    if (op.result()->type.size() != 1) return fail("an elementwise op on tensors");
    std::vector<Scalar> args;
    for (const ir::Value* v : op.operands()) args.push_back(scalar(v));
    if (isIntegerDivision(op)) {
      slots_[op.result()] = element(divide(op, args[0], args[1]));
      return;
    }
    ir::DType operand = op.operand(op.kind == OpKind::Where ? 1 : 0)->type.dtype;
    if (op.kind == OpKind::Shl || op.kind == OpKind::Shr) {
      const Range by = ranges_.of(op.operand(1));
      if (by.least >= 0 && by.most < 8 * ir::byteSize(operand)) {
        // LLVM is told how far at most, where that takes no time in the loop: it would not find out.
        const ir::Op* loop = ir::loopAround(op);
        const bool stays = loop != nullptr && isOutside(op.operand(1), *loop) && ir::byteSize(operand) >= 4;
        const Scalar amount = stays ? args[1] & static_cast<uint64_t>(8 * ir::byteSize(operand) - 1) : args[1];
        slots_[op.result()] = element(shiftWithin(op.kind, args[0], amount, ir::isSigned(operand)));
        return;
      }
    }
    const Scalar result = s_->elementwise(op.kind, operand, op.result()->type.dtype, args, fault(op));
    if (operand == ir::DType::I64) markExact(op, args, LlvmScalars::value(result));
    slots_[op.result()] = element(result);
    return;
  }
  switch (op.kind) {
    case OpKind::Constant: {
      if (op.result()->type.rank() > 0) return literal(op);
      auto c = ir::constantScalar(op.result());
      if (!c) return fail("a constant tensor");
      ir::DType t = op.result()->type.dtype;
      auto* bits = b_.getIntN(static_cast<unsigned>(8 * ir::byteSize(t)), ir::bitsOf(*c));
      slots_[op.result()] = element(s_->fromMemory(llvm::ConstantExpr::getBitCast(bits, memory(t)), t));
      return;
    }
    case OpKind::Gather: return gather(op);
    case OpKind::DynamicSlice: return dynamicSlice(op);
    case OpKind::Scatter: return scatter(op);
    case OpKind::DynamicUpdate: return dynamicUpdate(op);
    case OpKind::UpdateSlice: return updateSlice(op);
    case OpKind::Slice:
    case OpKind::Permute:
    case OpKind::Reshape:
    case OpKind::Broadcast:
    case OpKind::Flip:
    case OpKind::Fill: return view(op);
    case OpKind::For: return forLoop(op);
    case OpKind::While: return whileLoop(op);
    case OpKind::If: return branch(op);
    default: return fail("op `" + std::string(op.info().mnemonic) + "`");
  }
}

std::string emitNativeLoop(const KernelToEmit& kernel, const NativeLoop& loop) {
  // Each thread that runs a part of the trips would look through them all.
  const auto indices =
      loop.shared || kernel.level == Level::Quick ? std::vector<HeldIndices>{} : heldIndices(kernel.kernel);
  const auto emit = [&](const std::string& name, llvm::Function* otherwise) -> std::pair<llvm::Function*, std::string> {
    const bool takes = otherwise != nullptr;
    std::string error = NativeEmitter(kernel.kernel, kernel.module, kernel.contract, loop)
                            .emit(name, takes ? indices : std::vector<HeldIndices>{}, otherwise);
    llvm::Function* f = kernel.module.getFunction(name);
    if (error.empty()) return {f, error};
    // What is half emitted must not reach the code generator.
    f->eraseFromParent();
    return {nullptr, error};
  };
  llvm::Function* otherwise = nullptr;
  if (!indices.empty()) {
    std::string error;
    std::tie(otherwise, error) = emit(kernel.name + ".checked", nullptr);
    if (otherwise == nullptr) return error;
    // It ends in a fault, or counts from the end: not worth the time of the optimiser.
    optimiseNative(*otherwise, kernel.machine, Level::Quick);
    otherwise->setLinkage(llvm::GlobalValue::InternalLinkage);
    otherwise->addFnAttr(llvm::Attribute::NoInline);
    otherwise->addFnAttr(llvm::Attribute::OptimizeNone);
  }
  const auto [f, error] = emit(kernel.name, otherwise);
  if (f != nullptr) optimiseNative(*f, kernel.machine, kernel.level);
  return error;
}

}  // namespace tenc::codegen::cpu
