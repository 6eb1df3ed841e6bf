#include "codegen/cpu/NativeEmitter.h"

#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/GVN.h>

#include <optional>
#include <unordered_map>

#include "codegen/NativeFaults.h"
#include "codegen/ScalarBodies.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/IndexRanges.h"
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
  llvm::MDNode *scope = nullptr, *others = nullptr;  ///< of a tensor: its buffer's alias scope, and all others'
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

 private:
  const Kernel& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  bool contract_;
  llvm::Function* function_ = nullptr;
  Value* fault_ = nullptr;
  int loops_ = 0;  ///< around what is emitted
  std::optional<LlvmScalars> s_;
  std::unordered_map<const ir::Value*, Slot> slots_;
  std::unordered_map<const ir::Op*, uint32_t> faults_;
  IndexRanges ranges_;
  Value* aside_ = nullptr;
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

  /// For each buffer its alias scope and the list of all others'. Buffers that the loop works in do not overlap; only
  /// results, which are written after it, may stand where an operand did.
  std::vector<llvm::MDNode*> makeScopes() {
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

  void tag(llvm::Instruction* access, const Slot& slot) {
    if (slot.scope == nullptr) return;
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, slot.scope);
    access->setMetadata(llvm::LLVMContext::MD_noalias, slot.others);
  }
  Scalar read(const Slot& slot, Value* at, ir::DType t) {
    auto* load = b_.CreateAlignedLoad(memory(t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t))));
    tag(load, slot);
    return s_->fromMemory(load, t);
  }
  Slot loaded(const Slot& slot, const ir::Type& t) { return element(read(slot, slot.base, t.dtype)); }
  void put(const Slot& slot, Value* at, Scalar v, ir::DType t) {
    tag(b_.CreateAlignedStore(s_->toMemory(v, t), at, llvm::Align(static_cast<uint64_t>(ir::byteSize(t)))), slot);
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

  /// Where a block of `sizes` (null: single elements) stands that starts along axes[i] at operand first + i. Negative
  /// indices count from the end. One that is out of range sets the fault; a read then finds element 0, and an update
  /// goes to `aside` (null for reads). What cannot be out of range is not checked, and what is checked costs a
  /// comparison: all else stands in a block that hardly ever runs.
  Value* locate(const ir::Op& op, const Slot& slot, const ir::Type& t, const std::vector<int64_t>& axes, size_t first,
                const std::vector<int64_t>* sizes, Value* aside) {
    struct Checked {
      Scalar index;
      int64_t extent, most, stride;
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
        checks.push_back({at, extent, most, slot.strides[axis]});
        Value* out = LlvmScalars::value(compare(Predicate::Ugt, at, like(at, static_cast<double>(most))));
        unusual = unusual == nullptr ? out : b_.CreateOr(unusual, out);
        continue;
      }
      base = offset(base, t.dtype, at, slot.strides[axis]);
    }
    if (checks.empty()) return base;
    Value* usual = base;
    for (const Checked& c : checks) usual = offset(usual, t.dtype, c.index, c.stride);
    auto *from = b_.GetInsertBlock(), *rare = block("rare"), *next = block("next");
    b_.CreateCondBr(unusual, rare, next, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 4000));
    b_.SetInsertPoint(rare);
    Scalar inside = yes();
    Value* mended = base;
    for (const Checked& c : checks) {
      Scalar wrapped = select(c.index < 0.0, c.index + static_cast<double>(c.extent), c.index);
      Scalar outside = compare(Predicate::Ugt, wrapped, like(wrapped, static_cast<double>(c.most)));
      s_->setFault(outside, fault(op));
      inside = inside & logicalNot(outside);
      mended = offset(mended, t.dtype, select(outside, 0.0, wrapped), c.stride);
    }
    if (aside != nullptr) mended = b_.CreateSelect(LlvmScalars::value(inside), mended, aside);
    auto* end = b_.GetInsertBlock();
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    auto* where = b_.CreatePHI(usual->getType(), 2);
    where->addIncoming(usual, from);
    where->addIncoming(mended, end);
    return where;
  }

  /// Memory for one element, where updates go that are out of range.
  Value* aside() {
    if (aside_ == nullptr) {
      llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
      aside_ = entry.CreateAlloca(b_.getInt64Ty());
      entry.CreateStore(b_.getInt64(0), aside_);
    }
    return aside_;
  }

  Value* offset(Value* base, ir::DType t, Scalar at, int64_t stride) {
    Value* steps = LlvmScalars::value(at);
    if (stride != 1) steps = b_.CreateMul(steps, b_.getInt64(static_cast<uint64_t>(stride)));
    return b_.CreateGEP(memory(t), base, steps);
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

  void dynamicSlice(const ir::Op& op) {
    const ir::Value* x = op.operand(0);
    Slot slot = slots_[x];
    if (slot.base == nullptr) return fail("slicing of a single element");
    const auto &axes = op.intsAttr("axes"), &sizes = op.intsAttr("sizes");
    slot.base = locate(op, slot, x->type, axes, 1, &sizes, nullptr);
    bind(op.result(), slot);
  }

  /// Stores one element, combined with what is there.
  void update(const Slot& slot, Value* at, ir::DType t, Scalar v, const std::string& mode) {
    OpKind combine = mode == "add"   ? OpKind::Add
                     : mode == "mul" ? OpKind::Mul
                     : mode == "max" ? OpKind::Max
                                     : OpKind::Min;
    if (mode != "set") {
      Scalar args[] = {read(slot, at, t), v};
      v = s_->elementwise(combine, t, t, args, 0);
    }
    put(slot, at, v, t);
  }

  void scatter(const ir::Op& op) {
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

  void dynamicUpdate(const ir::Op& op) {
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

  void updateSlice(const ir::Op& op) {
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

  /// Writes a word of the KernelState that others look at.
  void tell(size_t offset, Value* v) {
    auto* word = b_.CreateConstGEP1_64(b_.getInt8Ty(), fault_, offset);
    b_.CreateStore(v, word)->setVolatile(true);
  }

  /// Whether a loop surely has so few trips that nobody has to wait for it.
  bool isShort(const ir::Op& op) {
    Range lo = ranges_.of(op.operand(0)), hi = ranges_.of(op.operand(1));
    constexpr int64_t kFew = int64_t{1} << 20;
    return lo.least > -kFew && lo.most < kFew && hi.least > -kFew && hi.most < kFew;
  }

  /// Asks for four trips at a time of a loop without others in it.
  void unroll(llvm::BranchInst* jump) {
    llvm::LLVMContext& c = b_.getContext();
    auto* count = llvm::MDNode::get(
        c, {llvm::MDString::get(c, "llvm.loop.unroll.count"), llvm::ConstantAsMetadata::get(b_.getInt32(4))});
    auto self = llvm::MDNode::getTemporary(c, {});
    llvm::MDNode* id = llvm::MDNode::getDistinct(c, {self.get(), count});
    id->replaceOperandWith(0, id);
    jump->setMetadata(llvm::LLVMContext::MD_loop, id);
  }

  /// The test stands at the end of the trip, after one before the first. The fault word is looked at in every trip
  /// around other loops, and else, in a long loop, between runs of 2^16 trips, which costs the trips nothing.
  void forLoop(const ir::Op& op) {
    const ir::Region& region = *op.regions[0];
    Scalar lo = index(op.operand(0)), hi = index(op.operand(1)), step = index(op.operand(2));
    std::vector<Slot> start = slotsOf(op, 3);
    if (!error_.empty()) return;
    ranges_.bindLoopVariable(op);
    Range steps = ranges_.of(op.operand(2));
    const bool known = steps.least == steps.most && std::abs(steps.least) < (1 << 20);
    const bool inRuns = known && !hasLoop(region) && !isShort(op);
    const bool polls = hasLoop(region) || (!known && !isShort(op));
    const bool told = loops_ == 0 && (inRuns || polls);
    if (told) {
      tell(offsetof(abi::KernelState, first), LlvmScalars::value(lo));
      tell(offsetof(abi::KernelState, at), LlvmScalars::value(lo));
      tell(offsetof(abi::KernelState, end), LlvmScalars::value(hi));
      tell(offsetof(abi::KernelState, step), LlvmScalars::value(step));
    }
    auto more = [&](Scalar at, Scalar end) { return LlvmScalars::value(select(step<0.0, at> end, at < end)); };
    Value* first = more(lo, hi);
    auto *from = b_.GetInsertBlock(), *done = block("done");
    auto* outer = inRuns ? block("run") : nullptr;
    auto* trip = block("trip");
    b_.CreateCondBr(first, inRuns ? outer : trip, done);
    llvm::PHINode* runFirst = nullptr;
    std::vector<Slot> runStart = start;
    Scalar runEnd = hi;
    auto* before = from;
    if (inRuns) {
      b_.SetInsertPoint(outer);
      runFirst = b_.CreatePHI(b_.getInt64Ty(), 2);
      runFirst->addIncoming(LlvmScalars::value(lo), from);
      runStart = carriedPhis(start, from);
      Value* far = b_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, runFirst,
                                            b_.getInt64(static_cast<uint64_t>(steps.least * (1 << 16))));
      auto lesser = steps.least > 0 ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
      runEnd = s_->wrap(b_.CreateBinaryIntrinsic(lesser, far, LlvmScalars::value(hi)), Repr::I64);
      before = outer;
      b_.CreateBr(trip);
    }
    b_.SetInsertPoint(trip);
    auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(inRuns ? runFirst : LlvmScalars::value(lo), before);
    std::vector<Slot> carried = carriedPhis(runStart, before);
    Scalar at = s_->wrap(i, Repr::I64);
    slots_[region.args[0].get()] = element(at);
    bindArgs(region, carried, 1);
    ++loops_;
    body(region);
    --loops_;
    if (!error_.empty()) return;
    std::vector<Slot> last = slotsOf(*region.terminator(), 0);
    Scalar following = at + step;
    if (told && !inRuns) tell(offsetof(abi::KernelState, at), LlvmScalars::value(following));
    Value* again = more(following, runEnd);
    if (polls) again = unlessInterrupted(again);
    auto* latch = b_.GetInsertBlock();
    closePhis(carried, last, latch);
    i->addIncoming(LlvmScalars::value(following), latch);
    if (inRuns) {
      auto* look = block("look");
      unroll(b_.CreateCondBr(again, trip, look));
      b_.SetInsertPoint(look);
      if (told) tell(offsetof(abi::KernelState, at), LlvmScalars::value(following));
      closePhis(runStart, last, look);
      runFirst->addIncoming(LlvmScalars::value(following), look);
      b_.CreateCondBr(unlessInterrupted(more(following, hi)), outer, done);
      latch = look;
    } else {
      auto* jump = b_.CreateCondBr(again, trip, done);
      if (!polls) unroll(jump);
    }
    b_.SetInsertPoint(done);
    if (!error_.empty()) return;
    // What entered the loop if it did not run, or what its last trip left.
    for (size_t k = 0; k < start.size(); ++k) {
      Slot slot = start[k];
      if (slot.element != nullptr) {
        auto* phi = b_.CreatePHI(slot.element->getType(), 2);
        phi->addIncoming(slot.element, from);
        phi->addIncoming(last[k].element, latch);
        slot.element = phi;
      }
      slots_[op.result(k)] = slot;
    }
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
    ++loops_;
    body(region);
    --loops_;
    if (!error_.empty()) return;
    closePhis(carried, slotsOf(*region.terminator(), 0), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    for (size_t k = 0; k < carried.size(); ++k) slots_[op.result(k)] = carried[k];
  }

  /// Whether every axis is indexed, by a value that is surely in range.
  bool isSafeRead(const ir::Op& op) {
    if (op.kind != OpKind::Gather || op.result()->type.rank() != 0 || slots_[op.operand(0)].base == nullptr)
      return false;
    const auto& axes = op.intsAttr("axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      const ir::Value* v = op.operand(1 + i);
      if (v->type.rank() != 0) return false;
      Range r = ranges_.of(v);
      if (r.least < 0 || r.most >= op.operand(0)->type.shape[static_cast<size_t>(axes[i])]) return false;
    }
    return true;
  }

  /// Whether a side of an `if` is so little, and does so surely nothing but compute, that it may always run.
  bool mayAlwaysRun(const ir::Region& region, int& budget) {
    for (const auto& op : region.ops) {
      if (op->has(ir::Trait::Terminator) || op->kind == OpKind::Constant) continue;
      bool cheap = op->has(ir::Trait::Elementwise) && !op->has(ir::Trait::CanFault) && op->result()->type.size() == 1 &&
                   elementwiseCost(op->kind, op->result()->type.dtype) <= 4;
      if (!cheap && !isSafeRead(*op)) return false;
      if (--budget < 0) return false;
    }
    return true;
  }

  /// Both sides of an `if`, and a choice: cheaper than a jump that is guessed wrong.
  void choose(const ir::Op& op, Scalar condition) {
    std::vector<Slot> results[2];
    for (size_t side = 0; side < 2; ++side) {
      body(*op.regions[side]);
      if (!error_.empty()) return;
      results[side] = slotsOf(*op.regions[side]->terminator(), 0);
    }
    for (size_t k = 0; k < results[0].size(); ++k) {
      Slot slot = results[0][k];
      const Slot& other = results[1][k];
      if (slot.element != nullptr && other.element != nullptr) {
        Repr r = reprOf(op.result(k)->type.dtype);
        slot.element = LlvmScalars::value(select(condition, s_->wrap(slot.element, r), s_->wrap(other.element, r)));
      } else if (slot.base != other.base) {
        return fail("branches that yield different tensors");
      }
      slots_[op.result(k)] = slot;
    }
  }

  void branch(const ir::Op& op) {
    Scalar condition = scalar(op.operand(0));
    constexpr int kFewOps = 10;
    int budget = kFewOps;
    if (mayAlwaysRun(*op.regions[0], budget) && mayAlwaysRun(*op.regions[1], budget)) return choose(op, condition);
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
  if (!error.empty()) {
    module.getFunction(name)->eraseFromParent();
    return error;
  }
  // Elements that are read again, or were just written, stay in registers, also from one trip to the next. Nothing else
  // of the optimiser has something to do here.
  llvm::legacy::FunctionPassManager passes(&module);
  passes.add(llvm::createBasicAAWrapperPass());
  passes.add(llvm::createScopedNoAliasAAWrapperPass());
  passes.add(llvm::createEarlyCSEPass(true));
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createGVNPass());
  passes.add(llvm::createLoopUnrollPass(2, /*OnlyWhenForced=*/true));
  passes.doInitialization();
  passes.run(*module.getFunction(name));
  passes.doFinalization();
  return error;
}

}  // namespace tenc::codegen::cpu
