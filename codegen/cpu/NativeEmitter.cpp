#include "codegen/cpu/NativeEmitter.h"

#include <llvm/IR/Module.h>

#include <optional>
#include <unordered_map>

#include "codegen/NativeFaults.h"
#include "codegen/cpu/ExprEmitter.h"
#include "ir/Scalar.h"
#include "ir/Views.h"

namespace tenc::codegen::cpu {
namespace {
using ir::OpKind;
using llvm::Value;

/// What a value of the region is here: an element in a register, or a view of a buffer.
struct Slot {
  Value* element = nullptr;  ///< of the register type; also for tensors of one element
  Value* base = nullptr;     ///< of a tensor: address of element (0, 0, ...)
  std::vector<int64_t> strides;
};

class NativeEmitter {
 public:
  NativeEmitter(const Kernel& kernel, llvm::Module& module, bool contract)
      : kernel_(kernel), module_(module), b_(module.getContext()), contract_(contract) {}

  std::string emit(const std::string& name) {
    const ir::Op& fused = *kernel_.native;
    const ir::Region& region = *fused.regions[0];
    function_ = createKernelFunction(module_, name);
    auto* entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
    auto* run = llvm::BasicBlock::Create(module_.getContext(), "run", function_);
    auto* done = llvm::BasicBlock::Create(module_.getContext(), "done", function_);
    b_.SetInsertPoint(entry);
    KernelArgs args = loadArguments(b_, function_, kernel_);
    b_.CreateCondBr(b_.CreateICmpSLT(function_->getArg(2), function_->getArg(3)), run, done);
    b_.SetInsertPoint(run);
    s_.emplace(b_, args.fault, 1);
    fault_ = args.fault;
    s_->contract = contract_;
    faults_ = faultNumbers(fused);

    for (size_t i = 0; i < kernel_.scalarOperand.size(); ++i) {
      const ir::Value* v = region.args[kernel_.scalarOperand[i]].get();
      slots_[v] = element(s_->fromMemory(args.scalars[i], v->type.dtype));
    }
    std::unordered_map<int32_t, Value*> outputs;  // by result
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      if (int32_t operand = kernel_.bufferOperand[i]; operand >= 0) {
        const ir::Value* v = region.args[static_cast<size_t>(operand)].get();
        Slot slot{nullptr, args.buffers[i], ir::denseStrides(v->type.shape)};
        slots_[v] = v->type.rank() == 0 ? loaded(slot, v->type) : slot;
      }
      if (int32_t result = kernel_.bufferResult[i]; result >= 0) outputs[result] = args.buffers[i];
    }
    body(region);
    const ir::Op* end = region.terminator();
    for (size_t r = 0; error_.empty() && r < end->operandCount(); ++r) {
      const ir::Value* v = end->operand(r);
      const Slot& slot = slots_[v];
      Value* to = outputs[static_cast<int32_t>(r)];
      if (slot.element != nullptr) {
        put(to, s_->wrap(slot.element, reprOf(v->type.dtype)), v->type.dtype);
      } else if (slot.base != to) {
        fail("a tensor result that is not updated in place");
      }
    }
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
    return error_;
  }

 private:
  const Kernel& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  bool contract_;
  llvm::Function* function_ = nullptr;
  Value* fault_ = nullptr;
  std::optional<LlvmScalars> s_;
  std::unordered_map<const ir::Value*, Slot> slots_;
  std::unordered_map<const ir::Op*, uint32_t> faults_;
  std::string error_;

  void fail(const std::string& what) {
    if (error_.empty()) error_ = "native loop: " + what;
  }
  Slot element(Scalar s) { return {LlvmScalars::value(s), nullptr, {}}; }
  Scalar scalar(const ir::Value* v) {
    const Slot& slot = slots_[v];
    Repr r = reprOf(v->type.dtype);
    if (slot.element != nullptr) return s_->wrap(slot.element, r);
    if (slot.base != nullptr && v->type.size() == 1) return s_->wrap(loaded(slot, v->type).element, r);
    fail("a tensor where a single element is needed");
    return s_->constant(r, 0);
  }
  Scalar index(const ir::Value* v) { return emitCast(*s_, scalar(v), v->type.dtype, ir::DType::I64); }
  llvm::Type* memory(ir::DType t) { return memoryType(b_.getContext(), t); }

  Slot loaded(const Slot& slot, const ir::Type& t) {
    auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t.dtype)));
    return element(s_->fromMemory(b_.CreateAlignedLoad(memory(t.dtype), slot.base, align), t.dtype));
  }
  void put(Value* at, Scalar v, ir::DType t) {
    b_.CreateAlignedStore(s_->toMemory(v, t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t))));
  }

  void body(const ir::Region& region) {
    for (const auto& op : region.ops) {
      if (!error_.empty()) return;
      if (op->has(ir::Trait::Terminator)) return;
      emitOp(*op);
    }
  }

  void emitOp(const ir::Op& op) {
    if (op.has(ir::Trait::Elementwise)) {
      if (op.result()->type.size() != 1) return fail("an elementwise op on tensors");
      std::vector<Scalar> args;
      for (const ir::Value* v : op.operands()) args.push_back(scalar(v));
      ir::DType operand = op.operand(op.kind == OpKind::Where ? 1 : 0)->type.dtype;
      slots_[op.result()] = element(s_->elementwise(op.kind, operand, op.result()->type.dtype, args, fault(op)));
      return;
    }
    switch (op.kind) {
      case OpKind::Constant: {
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

  uint32_t fault(const ir::Op& op) const {
    auto it = faults_.find(&op);
    return it == faults_.end() ? 0 : it->second;
  }

  /// An index in [0, extent - size]: negative ones count from the end; others out of range set the fault. `inside` is
  /// cleared then.
  Scalar checked(const ir::Op& op, const ir::Value* v, int64_t extent, int64_t size, Scalar& inside) {
    Scalar i = index(v);
    Scalar wrapped = select(i < 0.0, i + static_cast<double>(extent), i);
    Scalar outside = compare(Predicate::Uge, wrapped, like(wrapped, static_cast<double>(extent - size + 1)));
    s_->setFault(outside, fault(op));
    inside = inside & logicalNot(outside);
    return select(outside, 0.0, wrapped);
  }

  Value* offset(Value* base, ir::DType t, Scalar at, int64_t stride) {
    return b_.CreateGEP(memory(t), base,
                        b_.CreateMul(LlvmScalars::value(at), b_.getInt64(static_cast<uint64_t>(stride))));
  }
  Scalar yes() { return s_->intConstant(Repr::I1, 1); }

  void bind(const ir::Value* result, Slot slot) {
    slots_[result] = slot.element == nullptr && result->type.rank() == 0 ? loaded(slot, result->type) : slot;
  }

  void gather(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base == nullptr) return fail("indexing of a single element");
    const auto& axes = op.intsAttr("axes");
    std::vector<bool> dropped(slot.strides.size());
    Scalar inside = yes();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (op.operand(1 + i)->type.rank() != 0) return fail("indexing with tensors");
      auto axis = static_cast<size_t>(axes[i]);
      int64_t extent = x->type.shape[axis];
      if (extent == 0) return fail("indexing of an empty dim");
      slot.base =
          offset(slot.base, x->type.dtype, checked(op, op.operand(1 + i), extent, 1, inside), slot.strides[axis]);
      dropped[axis] = true;
    }
    std::vector<int64_t> strides;
    for (size_t d = 0; d < dropped.size(); ++d)
      if (!dropped[d]) strides.push_back(slot.strides[d]);
    slot.strides = strides;
    bind(op.result(), slot);
  }

  void dynamicSlice(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base == nullptr) return fail("slicing of a single element");
    const auto &axes = op.intsAttr("axes"), &sizes = op.intsAttr("sizes");
    Scalar inside = yes();
    for (size_t i = 0; i < axes.size(); ++i) {
      auto axis = static_cast<size_t>(axes[i]);
      slot.base = offset(slot.base, x->type.dtype,
                         checked(op, op.operand(1 + i), x->type.shape[axis], sizes[i], inside), slot.strides[axis]);
    }
    bind(op.result(), slot);
  }

  /// Stores one element, combined with what is there; nothing happens unless `inside`.
  void update(Value* at, ir::DType t, Scalar v, const std::string& mode, Scalar inside) {
    auto align = llvm::Align(static_cast<uint64_t>(ir::byteSize(t)));
    Scalar old = s_->fromMemory(b_.CreateAlignedLoad(memory(t), at, align), t);
    Scalar args[] = {old, v};
    if (mode == "add") v = s_->elementwise(OpKind::Add, t, t, args, 0);
    if (mode == "mul") v = s_->elementwise(OpKind::Mul, t, t, args, 0);
    if (mode == "max") v = s_->elementwise(OpKind::Max, t, t, args, 0);
    if (mode == "min") v = s_->elementwise(OpKind::Min, t, t, args, 0);
    put(at, select(inside, v, old), t);
  }

  void scatter(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    const auto& axes = op.intsAttr("axes");
    if (slot.base == nullptr || axes.size() != x->type.shape.size() || op.operand(1)->type.size() != 1)
      return fail("an update of more than one element");
    Value* at = slot.base;
    Scalar inside = yes();
    for (size_t i = 0; i < axes.size(); ++i) {
      auto axis = static_cast<size_t>(axes[i]);
      if (x->type.shape[axis] == 0) return fail("an update of an empty tensor");
      at =
          offset(at, x->type.dtype, checked(op, op.operand(2 + i), x->type.shape[axis], 1, inside), slot.strides[axis]);
    }
    update(at, x->type.dtype, scalar(op.operand(1)), op.stringAttr("mode"), inside);
    slots_[op.result()] = slot;
  }

  void dynamicUpdate(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base == nullptr || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
    const auto& axes = op.intsAttr("axes");
    Value* at = slot.base;
    Scalar inside = yes();
    for (size_t i = 0; i < axes.size(); ++i) {
      auto axis = static_cast<size_t>(axes[i]);
      if (x->type.shape[axis] == 0) return fail("an update of an empty tensor");
      at =
          offset(at, x->type.dtype, checked(op, op.operand(2 + i), x->type.shape[axis], 1, inside), slot.strides[axis]);
    }
    update(at, x->type.dtype, scalar(op.operand(1)), "set", inside);
    slots_[op.result()] = slot;
  }

  void updateSlice(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base == nullptr || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
    const auto& starts = op.intsAttr("starts");
    Value* at = slot.base;
    for (size_t d = 0; d < starts.size(); ++d)
      at = offset(at, x->type.dtype, s_->intConstant(Repr::I64, static_cast<uint64_t>(starts[d])), slot.strides[d]);
    update(at, x->type.dtype, scalar(op.operand(1)), "set", yes());
    slots_[op.result()] = slot;
  }

  void view(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.element != nullptr) {
      if (op.result()->type.size() != 1) return fail("a tensor of copies");
      slots_[op.result()] = slot;
      return;
    }
    // One step of structure on the strides that are known.
    auto found = ir::stridedView(op.result(), [&](const ir::Value* v) { return v == x; });
    if (!found) return fail("op `" + std::string(op.info().mnemonic) + "`");
    std::vector<int64_t> dense = ir::denseStrides(x->type.shape);
    if (dense != slot.strides && op.kind == OpKind::Reshape) {
      auto strides = ir::reshapeStrides(x->type.shape, slot.strides, op.result()->type.shape);
      if (!strides) return fail("a reshape that moves elements");
      slot.strides = *strides;
      return bind(op.result(), slot);
    }
    if (dense != slot.strides) return fail("a view of a view");
    slot.base = b_.CreateConstGEP1_64(memory(x->type.dtype), slot.base, static_cast<uint64_t>(found->offset));
    slot.strides = found->strides;
    bind(op.result(), slot);
  }

  // ---- control flow: single elements become phi nodes, tensors stay where they are

  std::vector<Slot> slotsOf(const ir::Op& op, size_t from) {
    std::vector<Slot> all;
    for (size_t i = from; i < op.operandCount(); ++i) all.push_back(slots_[op.operand(i)]);
    return all;
  }

  /// Phi nodes at the head of a loop for what `start` carries.
  std::vector<Slot> carriedPhis(const std::vector<Slot>& start, llvm::BasicBlock* from) {
    std::vector<Slot> carried = start;
    for (Slot& s : carried) {
      if (s.element == nullptr) continue;
      auto* phi = b_.CreatePHI(s.element->getType(), 2);
      phi->addIncoming(s.element, from);
      s.element = phi;
    }
    return carried;
  }

  void closePhis(const std::vector<Slot>& carried, const std::vector<Slot>& next, llvm::BasicBlock* latch) {
    for (size_t i = 0; i < carried.size(); ++i) {
      if (carried[i].element != nullptr) {
        if (next[i].element == nullptr) return fail("a carried value that changes its form");
        llvm::cast<llvm::PHINode>(carried[i].element)->addIncoming(next[i].element, latch);
      } else if (next[i].base != carried[i].base) {
        return fail("a carried tensor that is not updated in place");
      }
    }
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }

  void bindArgs(const ir::Region& region, const std::vector<Slot>& values, size_t skip) {
    for (size_t i = 0; i < values.size(); ++i) slots_[region.args[i + skip].get()] = values[i];
  }

  static bool hasLoop(const ir::Region& region) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::For || op->kind == OpKind::While) return true;
      for (const auto& inner : op->regions) {
        if (hasLoop(*inner)) return true;
      }
    }
    return false;
  }

  /// A `while`, and a `for` around other loops, looks at the fault word in every trip, so that Ctrl-C ends it.
  Value* unlessInterrupted(Value* more) {
    auto* word = b_.CreateLoad(b_.getInt32Ty(), fault_);
    word->setVolatile(true);
    return b_.CreateAnd(more, b_.CreateICmpNE(word, b_.getInt32(abi::kInterruptFault)));
  }

  void forLoop(const ir::Op& op) {
    const ir::Region& region = *op.regions[0];
    Scalar lo = index(op.operand(0)), hi = index(op.operand(1)), step = index(op.operand(2));
    std::vector<Slot> start = slotsOf(op, 3);
    if (!error_.empty()) return;
    auto *from = b_.GetInsertBlock(), *head = block("for"), *run = block("trip"), *done = block("done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(LlvmScalars::value(lo), from);
    std::vector<Slot> carried = carriedPhis(start, from);
    Scalar at = s_->wrap(i, Repr::I64);
    Scalar more = select(step<0.0, at> hi, at < hi);
    b_.CreateCondBr(hasLoop(region) ? unlessInterrupted(LlvmScalars::value(more)) : LlvmScalars::value(more), run,
                    done);
    b_.SetInsertPoint(run);
    slots_[region.args[0].get()] = element(at);
    bindArgs(region, carried, 1);
    body(region);
    if (!error_.empty()) return;
    closePhis(carried, slotsOf(*region.terminator(), 0), b_.GetInsertBlock());
    Value* following = LlvmScalars::value(at + step);
    i->addIncoming(following, b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    for (size_t k = 0; k < carried.size(); ++k) slots_[op.result(k)] = carried[k];
  }

  void whileLoop(const ir::Op& op) {
    const ir::Region &condition = *op.regions[0], &region = *op.regions[1];
    std::vector<Slot> start = slotsOf(op, 0);
    auto *from = b_.GetInsertBlock(), *head = block("while"), *run = block("trip"), *done = block("done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    std::vector<Slot> carried = carriedPhis(start, from);
    bindArgs(condition, carried, 0);
    body(condition);
    if (!error_.empty()) return;
    Scalar more = scalar(condition.terminator()->operand(0));
    b_.CreateCondBr(unlessInterrupted(LlvmScalars::value(more)), run, done);
    b_.SetInsertPoint(run);
    bindArgs(region, carried, 0);
    body(region);
    if (!error_.empty()) return;
    closePhis(carried, slotsOf(*region.terminator(), 0), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    for (size_t k = 0; k < carried.size(); ++k) slots_[op.result(k)] = carried[k];
  }

  void branch(const ir::Op& op) {
    Scalar condition = scalar(op.operand(0));
    auto *then = block("then"), *otherwise = block("else"), *done = block("done");
    b_.CreateCondBr(LlvmScalars::value(condition), then, otherwise);
    std::vector<Slot> results[2];
    llvm::BasicBlock* ends[2];
    for (int side = 0; side < 2; ++side) {
      b_.SetInsertPoint(side == 0 ? then : otherwise);
      const ir::Region& region = *op.regions[static_cast<size_t>(side)];
      body(region);
      if (!error_.empty()) return;
      results[side] = slotsOf(*region.terminator(), 0);
      ends[side] = b_.GetInsertBlock();
      b_.CreateBr(done);
    }
    b_.SetInsertPoint(done);
    for (size_t k = 0; k < results[0].size(); ++k) {
      Slot slot = results[0][k];
      const Slot& other = results[1][k];
      if (slot.element != nullptr && other.element != nullptr) {
        auto* phi = b_.CreatePHI(slot.element->getType(), 2);
        phi->addIncoming(slot.element, ends[0]);
        phi->addIncoming(other.element, ends[1]);
        slot.element = phi;
      } else if (slot.base != other.base) {
        return fail("branches that yield different tensors");
      }
      slots_[op.result(k)] = slot;
    }
  }
};

}  // namespace

std::string emitNativeKernel(const Kernel& kernel, llvm::Module& module, const std::string& name, bool contract) {
  std::string error = NativeEmitter(kernel, module, contract).emit(name);
  // What is half emitted must not reach the code generator.
  if (!error.empty()) module.getFunction(name)->eraseFromParent();
  return error;
}

}  // namespace tenc::codegen::cpu
