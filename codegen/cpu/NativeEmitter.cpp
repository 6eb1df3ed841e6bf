#include "codegen/cpu/NativeEmitter.h"

#include <llvm/IR/MDBuilder.h>

#include <limits>

#include "codegen/NativeFaults.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cpu/CheckedIndex.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/NativeBody.h"
#include "codegen/cpu/NativePasses.h"
#include "ir/Scalar.h"
#include "ir/Views.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

std::string NativeEmitter::emit(const std::string& name) {
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
  s_->ordered = true;
  faults_ = faultNumbers(fused);

  for (size_t i = 0; i < kernel_.scalarOperand.size(); ++i) {
    const ir::Value* v = region.args[kernel_.scalarOperand[i]].get();
    slots_[v] = element(s_->fromMemory(args.scalars[i], v->type.dtype));
  }
  std::unordered_map<int32_t, Value*> outputs;  // by result
  std::vector<llvm::MDNode*> scopes = makeScopes();
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    if (int32_t operand = kernel_.bufferOperand[i]; operand >= 0) {
      const ir::Value* v = region.args[static_cast<size_t>(operand)].get();
      Slot slot{nullptr, args.buffers[i], ir::denseStrides(v->type.shape)};
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
    const Slot& slot = slots_[v];
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

Scalar NativeEmitter::scalar(const ir::Value* v) {
  const Slot& slot = slots_[v];
  Repr r = reprOf(v->type.dtype);
  if (slot.element != nullptr) return s_->wrap(slot.element, r);
  if (slot.base != nullptr && v->type.size() == 1) return s_->wrap(loaded(slot, v->type).element, r);
  fail("a tensor where a single element is needed");
  return s_->constant(r, 0);
}

/// For each buffer its alias scope and the list of all others'. Buffers that the loop works in do not overlap; only
/// results, which are written after it, may stand where an operand did.
std::vector<llvm::MDNode*> NativeEmitter::makeScopes() {
  llvm::MDBuilder make(b_.getContext());
  llvm::MDNode* domain = make.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) scopes.push_back(make.createAnonymousAliasScope(domain));
  std::vector<llvm::MDNode*> lists;
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<long>(i));
    lists.push_back(llvm::MDNode::get(b_.getContext(), {scopes[i]}));
    lists.push_back(llvm::MDNode::get(b_.getContext(), others));
  }
  return lists;
}

void NativeEmitter::tag(llvm::Instruction* access, const Slot& slot) {
  if (slot.scope == nullptr) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, slot.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, slot.others);
}

Scalar NativeEmitter::read(const Slot& slot, Value* at, ir::DType t) {
  auto* load = b_.CreateAlignedLoad(memory(t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t))));
  tag(load, slot);
  return s_->fromMemory(load, t);
}

void NativeEmitter::put(const Slot& slot, Value* at, Scalar v, ir::DType t) {
  tag(b_.CreateAlignedStore(s_->toMemory(v, t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t)))), slot);
}

void NativeEmitter::body(const ir::Region& region) {
  for (const auto& op : region.ops) {
    if (!error_.empty()) return;
    if (op->has(ir::Trait::Terminator)) return;
    emitOp(*op);
  }
}

void NativeEmitter::emitOp(const ir::Op& op) {
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

uint32_t NativeEmitter::fault(const ir::Op& op) const {
  auto it = faults_.find(&op);
  return it == faults_.end() ? 0 : it->second;
}

/// As i64; a large u64 is the largest, not a negative one that would count from the end.
Scalar NativeEmitter::index(const ir::Value* v) {
  Scalar at = scalar(v);
  if (v->type.dtype == ir::DType::U64)
    at = s_->wrap(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, LlvmScalars::value(at),
                                           b_.getInt64(std::numeric_limits<int64_t>::max())),
                  Repr::I64);
  return emitCast(*s_, at, v->type.dtype, ir::DType::I64);
}

/// Where a block of `sizes` (null: single elements) stands that starts along axes[i] at operand first + i. Negative
/// indices count from the end. One that is out of range sets the fault; a read then finds element 0, and an update
/// goes to `aside` (null for reads). What cannot be out of range is not checked, and what is checked costs a
/// comparison: all else stands in a block that hardly ever runs.
Value* NativeEmitter::locate(const ir::Op& op, const Slot& slot, const ir::Type& t, const std::vector<int64_t>& axes,
                             size_t first, const std::vector<int64_t>* sizes, Value* aside) {
  struct Checked {
    Scalar index;
    int64_t extent, most, stride, axis;
  };
  std::vector<Checked> checks;
  Value* base = slot.base;
  Value* unusual = nullptr;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    const ir::Value* v = op.operand(first + i);
    int64_t extent = t.shape[axis], most = extent - (sizes != nullptr ? (*sizes)[i] : 1);
    Range range = ranges_.of(v);
    Scalar at = index(v);
    if (range.least >= -extent && range.most < 0 && range.most + extent <= most) {
      at = at + static_cast<double>(extent);
    } else if (range.least < 0 || range.most > most) {
      checks.push_back({at, extent, most, slot.strides[axis], axes[i]});
      Value* out = LlvmScalars::value(compare(Predicate::Ugt, at, like(at, static_cast<double>(most))));
      unusual = unusual == nullptr ? out : b_.CreateOr(unusual, out);
      continue;
    }
    base = offset(base, t.dtype, at, slot.strides[axis]);
  }
  if (checks.empty()) return base;
  Value* usual = base;
  for (const Checked& c : checks) usual = offset(usual, t.dtype, c.index, c.stride);
  return emitRarely(b_, unusual, {usual}, [&]() -> Values {
    Scalar inside = yes();
    Value* mended = base;
    for (const Checked& c : checks) {
      const CheckedIndex checked =
          checkIndex(*s_, c.index, {c.most + 1, c.extent, c.axis, fault(op)}, [&] { return c.index; });
      inside = inside & logicalNot(checked.outside);
      mended = offset(mended, t.dtype, checked.index, c.stride);
    }
    if (aside != nullptr) mended = b_.CreateSelect(LlvmScalars::value(inside), mended, aside);
    return {mended};
  })[0];
}

/// Memory of a tensor that each trip makes anew.
Slot NativeEmitter::local(const ir::Op& op) {
  const ir::Type& t = op.result()->type;
  Value*& memory = locals_[&op];
  if (memory == nullptr) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    memory = entry.CreateAlloca(llvm::ArrayType::get(this->memory(t.dtype), static_cast<uint64_t>(t.size())));
  }
  return {nullptr, memory, ir::denseStrides(t.shape)};
}

/// A tensor that holds one value everywhere.
void NativeEmitter::copies(const ir::Op& op) {
  const ir::Type& t = op.result()->type;
  const Slot slot = local(op);
  const Scalar v = scalar(op.operand(0));
  emitLoop(b_, b_.getInt64(0), b_.getInt64(static_cast<uint64_t>(t.size())), 1, {},
           [&](Value* i, const Values&) -> Values {
             put(slot, b_.CreateGEP(memory(t.dtype), slot.base, i), v, t.dtype);
             return {};
           });
  slots_[op.result()] = slot;
}

/// A literal array that the trip writes into.
void NativeEmitter::literal(const ir::Op& op) {
  const ir::Type& t = op.result()->type;
  const Slot slot = local(op);
  const auto* data = std::get_if<ir::Data>(op.find("value"));
  if (data == nullptr || *data == nullptr) return fail("a constant tensor");
  for (int64_t i = 0; i < t.size(); ++i) {
    auto* bits =
        b_.getIntN(static_cast<unsigned>(8 * ir::byteSize(t.dtype)), ir::loadBits((*data)->data(), t.dtype, i));
    Scalar v = s_->fromMemory(llvm::ConstantExpr::getBitCast(bits, memory(t.dtype)), t.dtype);
    put(slot, b_.CreateConstGEP1_64(memory(t.dtype), slot.base, static_cast<uint64_t>(i)), v, t.dtype);
  }
  slots_[op.result()] = slot;
}

/// Memory for one element, where updates go that are out of range.
Value* NativeEmitter::aside() {
  if (aside_ == nullptr) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    aside_ = entry.CreateAlloca(b_.getInt64Ty());
    entry.CreateStore(b_.getInt64(0), aside_);
  }
  return aside_;
}

Value* NativeEmitter::offset(Value* base, ir::DType t, Scalar at, int64_t stride) {
  Value* steps = LlvmScalars::value(at);
  if (stride != 1) steps = b_.CreateMul(steps, b_.getInt64(static_cast<uint64_t>(stride)));
  return b_.CreateGEP(memory(t), base, steps);
}

void NativeEmitter::bind(const ir::Value* result, Slot slot) {
  slots_[result] = slot.element == nullptr && result->type.rank() == 0 ? loaded(slot, result->type) : slot;
}

void NativeEmitter::gather(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  Slot slot = slots_[x];
  if (slot.base == nullptr) return fail("indexing of a single element");
  const auto& axes = op.intsAttr("axes");
  std::vector<bool> dropped(slot.strides.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (op.operand(1 + i)->type.rank() != 0) return fail("indexing with tensors");
    auto axis = static_cast<size_t>(axes[i]);
    if (x->type.shape[axis] == 0) return fail("indexing of an empty dim");
    dropped[axis] = true;
  }
  slot.base = locate(op, slot, x->type, axes, 1, nullptr, nullptr);
  std::vector<int64_t> strides;
  for (size_t d = 0; d < dropped.size(); ++d)
    if (!dropped[d]) strides.push_back(slot.strides[d]);
  slot.strides = strides;
  bind(op.result(), slot);
}

void NativeEmitter::dynamicSlice(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  Slot slot = slots_[x];
  if (slot.base == nullptr) return fail("slicing of a single element");
  const auto &axes = op.intsAttr("axes"), &sizes = op.intsAttr("sizes");
  slot.base = locate(op, slot, x->type, axes, 1, &sizes, nullptr);
  bind(op.result(), slot);
}

/// Stores one element, combined with what is there.
void NativeEmitter::update(const Slot& slot, Value* at, ir::DType t, Scalar v, const std::string& mode) {
  if (mode != "set") {
    Scalar args[] = {read(slot, at, t), v};
    v = s_->elementwise(ir::combinerNamed(mode), t, t, args, 0);
  }
  put(slot, at, v, t);
}

void NativeEmitter::scatter(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  Slot slot = slots_[x];
  const auto& axes = op.intsAttr("axes");
  if (slot.base == nullptr || axes.size() != x->type.shape.size() || op.operand(1)->type.size() != 1)
    return fail("an update of more than one element");
  for (int64_t axis : axes)
    if (x->type.shape[static_cast<size_t>(axis)] == 0) return fail("an update of an empty tensor");
  Value* at = locate(op, slot, x->type, axes, 2, nullptr, aside());
  update(slot, at, x->type.dtype, scalar(op.operand(1)), op.stringAttr("mode"));
  slots_[op.result()] = slot;
}

void NativeEmitter::dynamicUpdate(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  Slot slot = slots_[x];
  if (slot.base == nullptr || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
  const auto& axes = op.intsAttr("axes");
  for (int64_t axis : axes)
    if (x->type.shape[static_cast<size_t>(axis)] == 0) return fail("an update of an empty tensor");
  Value* at = locate(op, slot, x->type, axes, 2, nullptr, aside());
  update(slot, at, x->type.dtype, scalar(op.operand(1)), "set");
  slots_[op.result()] = slot;
}

void NativeEmitter::updateSlice(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  Slot slot = slots_[x];
  if (slot.base == nullptr || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
  const auto& starts = op.intsAttr("starts");
  Value* at = slot.base;
  for (size_t d = 0; d < starts.size(); ++d)
    at = offset(at, x->type.dtype, s_->intConstant(Repr::I64, static_cast<uint64_t>(starts[d])), slot.strides[d]);
  update(slot, at, x->type.dtype, scalar(op.operand(1)), "set");
  slots_[op.result()] = slot;
}

void NativeEmitter::view(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  Slot slot = slots_[x];
  if (slot.element != nullptr) {
    if (op.kind != OpKind::Reshape && op.result()->type.rank() > 0) return copies(op);
    if (op.result()->type.size() != 1) return fail("a tensor of copies");
    slots_[op.result()] = slot;
    return;
  }
  ir::StridedView moved{x, 0, slot.strides};
  if (!ir::viewThrough(op, moved)) return fail("`" + std::string(op.info().mnemonic) + "` that moves elements");
  slot.base = b_.CreateConstGEP1_64(memory(x->type.dtype), slot.base, static_cast<uint64_t>(moved.offset));
  slot.strides = std::move(moved.strides);
  bind(op.result(), slot);
}

std::string emitNativeKernel(const Kernel& kernel, llvm::Module& module, const std::string& name, bool contract) {
  std::string error = NativeEmitter(kernel, module, contract).emit(name);
  // What is half emitted must not reach the code generator.
  if (!error.empty()) {
    module.getFunction(name)->eraseFromParent();
    return error;
  }
  optimiseNative(*module.getFunction(name));
  return error;
}

}  // namespace tenc::codegen::cpu
