#include "codegen/cpu/NativeElements.h"

#include <llvm/IR/MDBuilder.h>

#include "codegen/ScalarBodies.h"
#include "codegen/cpu/Loops.h"
#include "ir/HiddenDims.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"
#include "ir/Views.h"

namespace tenc::codegen::cpu {
using ir::OpKind;
using llvm::Value;

/// An index that may count from the end, and is in range for certain. Where it does not change in the loop around, it
/// is a choice, which can be made in front of that.
Scalar NativeElements::fromStart(const ir::Op& op, const ir::Value* v, Scalar at, int64_t extent) {
  const ir::Op* loop = ir::loopAround(op);
  const Scalar negative = at < 0.0;
  const auto counted = [&] { return at + static_cast<double>(extent); };
  if (loop != nullptr && !v->home()->isInside(*loop)) return select(negative, counted(), at);
  return s_->wrap(emitRarely(b_, LlvmScalars::value(negative), {LlvmScalars::value(at)},
                             [&]() -> Values { return {LlvmScalars::value(counted())}; })[0],
                  Repr::I64);
}

/// That of the line that would have run.
void NativeElements::tellFault(const ir::Op& op, const std::function<LlvmScalars::BadIndex()>& bad) {
  if (!twin_) {
    s_->setFault(s_->intConstant(Repr::I1, 1), fault(op), bad);
    return;
  }
  s_->setFault(twin_->runs, fault(op), bad);
  s_->setFault(equal(twin_->runs, s_->intConstant(Repr::I1, 0)), fault(*twin_->op), bad);
}

/// An index between 0 and `most`, as it was or counted from the end. One that is neither is told, and the loop left: so
/// the code that follows knows the range. What is usual costs one comparison.
Scalar NativeElements::checked(const ir::Op& op, Scalar at, const Checked& c) {
  Value* outside = LlvmScalars::value(compare(Predicate::Ugt, at, like(at, static_cast<double>(c.most))));
  Value* index = LlvmScalars::value(at);
  return s_->wrap(emitRarely(b_, outside, {index},
                             [&]() -> Values {
                               // Compared as it is, and changed where it is not read again: a register of its own for
                               // the usual case would be one more instruction there.
                               Scalar wrong = s_->intConstant(Repr::I1, 1);
                               if (c.fromEnd) {
                                 const auto counted = [&](int64_t i) {
                                   return s_->intConstant(Repr::I64, static_cast<uint64_t>(i - c.extent));
                                 };
                                 wrong = compare(Predicate::Ult, at, counted(0));
                                 if (c.most < c.extent - 1)
                                   wrong = wrong | compare(Predicate::Ugt, at, counted(c.most));
                               }
                               auto* bad = llvm::BasicBlock::Create(b_.getContext(), "bad", function_);
                               auto* good = llvm::BasicBlock::Create(b_.getContext(), "good", function_);
                               b_.CreateCondBr(LlvmScalars::value(wrong), bad, good);
                               b_.SetInsertPoint(bad);
                               tellFault(
                                   op, [&] { return LlvmScalars::BadIndex{at, c.extent - c.most, c.extent, c.axis}; });
                               b_.CreateBr(exit_);
                               b_.SetInsertPoint(good);
                               return {LlvmScalars::value(c.fromEnd ? at + static_cast<double>(c.extent) : at)};
                             })[0],
                  Repr::I64);
}

NativeElements::Checks NativeElements::checksOf(const ir::Value* v) const {
  Checks found;
  for (auto it = checked_.lower_bound({v, 0}); it != checked_.end() && it->first.first == v; ++it)
    found[it->first.second] = it->second;
  return found;
}

void NativeElements::knowChecked(const ir::Value* v, const Checks& checks) {
  for (const auto& [most, at] : checks) checked_[{v, most}] = at;
}

namespace {

/// Whether an index comes from the trip before: it is the last that is added to an address.
bool isCarried(const ir::Value* v, const ir::Op& op) {
  const ir::Region* region = op.parent;
  while (region->parentOp != nullptr && !ir::isLoop(*region->parentOp)) region = region->parentOp->parent;
  while (v->op != nullptr && v->op->kind == OpKind::Cast) v = v->op->operand(0);
  if (v->op != nullptr || region->parentOp == nullptr || v->home() != region) return false;
  return region->parentOp->kind == OpKind::While || region->args[0].get() != v;
}

}  // namespace

/// Where a block of `sizes` (null: single elements) stands that starts along axes[i] at operand first + i. Negative
/// indices count from the end. What cannot be out of range is not checked.
Value* NativeElements::locate(const ir::Op& op, const NativeValue& slot, const ir::Type& t,
                              const std::vector<int64_t>& axes, size_t first, const std::vector<int64_t>* sizes) {
  Value* base = slot.base;
  std::vector<std::pair<Scalar, int64_t>> late;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    const ir::Value* v = op.operand(first + i);
    int64_t extent = t.shape[axis], most = extent - (sizes != nullptr ? (*sizes)[i] : 1);
    const Range range = ranges_.ofIndex(v);
    Scalar at = index(v);
    if (range.least >= -extent && range.most < 0 && range.most + extent <= most) {
      at = at + static_cast<double>(extent);
    } else if (range.least < 0 || range.most > most) {
      const auto before = checked_.find({v, most});
      if (before == checked_.end() && range.least >= -extent && range.most <= most && most == extent - 1)
        at = fromStart(op, v, at, extent);
      else if (before == checked_.end())
        at = checked(op, at, {extent, most, ir::writtenAxis(op, axes[i]), range.least < 0});
      else
        at = s_->wrap(before->second, Repr::I64);
      checked_[{v, most}] = LlvmScalars::value(at);
      ranges_.assume(v, {range.least < 0 ? -extent : 0, most});
    }
    if (axes.size() > 1 && isCarried(v, op))
      late.emplace_back(at, slot.strides[axis]);
    else
      base = offset(base, t.dtype, at, slot.strides[axis]);
  }
  for (const auto& [at, stride] : late) base = offset(base, t.dtype, at, stride);
  return base;
}

/// Memory of a tensor that each trip makes anew.
NativeValue NativeElements::local(const ir::Op& op) {
  const ir::Type& t = op.result()->type;
  Value*& memory = locals_[&op];
  if (memory == nullptr) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    memory = entry.CreateAlloca(llvm::ArrayType::get(this->memory(t.dtype), static_cast<uint64_t>(t.size())));
  }
  return {nullptr, memory, ir::denseStrides(t.shape)};
}

/// A tensor that holds one value everywhere.
void NativeElements::copies(const ir::Op& op) {
  const ir::Type& t = op.result()->type;
  const NativeValue slot = local(op);
  const Scalar v = scalar(op.operand(0));
  emitLoop(b_, b_.getInt64(0), b_.getInt64(static_cast<uint64_t>(t.size())), 1, {},
           [&](Value* i, const Values&) -> Values {
             put(slot, b_.CreateGEP(memory(t.dtype), slot.base, i), v, t.dtype);
             return {};
           });
  slots_[op.result()] = slot;
}

/// A literal array that the trip writes into.
void NativeElements::literal(const ir::Op& op) {
  const ir::Type& t = op.result()->type;
  const NativeValue slot = local(op);
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

Value* NativeElements::offset(Value* base, ir::DType t, Scalar at, int64_t stride) {
  Value* steps = LlvmScalars::value(at);
  if (stride != 1) steps = b_.CreateMul(steps, b_.getInt64(static_cast<uint64_t>(stride)));
  return b_.CreateGEP(memory(t), base, steps);
}

/// Tells LLVM what a tensor holds.
void NativeElements::markRange(const ir::Op& op) {
  auto* load = llvm::dyn_cast_or_null<llvm::LoadInst>(slots_[op.result()].element);
  const ir::DType t = op.result()->type.dtype;
  if (load == nullptr || !ir::isInt(t) || (!ir::isSigned(t) && ir::byteSize(t) == 8)) return;
  const Range held = ranges_.of(op.operand(0)), all = ofDtype(t);
  if (held.least <= all.least && held.most >= all.most) return;
  const auto bits = static_cast<unsigned>(8 * ir::byteSize(t));
  const auto end = [&](int64_t i) { return llvm::APInt(bits, static_cast<uint64_t>(i), /*isSigned=*/true); };
  load->setMetadata(llvm::LLVMContext::MD_range,
                    llvm::MDBuilder(b_.getContext()).createRange(end(held.least), end(held.most) + 1));
}

void NativeElements::gather(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  NativeValue slot = slots_[x];
  if (slot.base == nullptr) return fail("indexing of a single element");
  const auto& axes = op.intsAttr("axes");
  std::vector<bool> dropped(slot.strides.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (op.operand(1 + i)->type.rank() != 0) return fail("indexing with tensors");
    auto axis = static_cast<size_t>(axes[i]);
    if (x->type.shape[axis] == 0) return fail("indexing of an empty dim");
    dropped[axis] = true;
  }
  slot.base = locate(op, slot, x->type, axes, 1, nullptr);
  std::vector<int64_t> strides;
  for (size_t d = 0; d < dropped.size(); ++d)
    if (!dropped[d]) strides.push_back(slot.strides[d]);
  slot.strides = strides;
  bind(op.result(), slot);
  markRange(op);
}

void NativeElements::dynamicSlice(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  NativeValue slot = slots_[x];
  if (slot.base == nullptr) return fail("slicing of a single element");
  const auto &axes = op.intsAttr("axes"), &sizes = op.intsAttr("sizes");
  slot.base = locate(op, slot, x->type, axes, 1, &sizes);
  bind(op.result(), slot);
}

/// Stores one element, combined with what is there.
void NativeElements::update(const NativeValue& slot, Value* at, ir::DType t, Scalar v, const std::string& mode) {
  if (mode != "set") {
    Scalar args[] = {read(slot, at, t), v};
    v = s_->elementwise(ir::combinerNamed(mode), t, t, args, 0);
  }
  put(slot, at, v, t);
}

/// The element of `op` that the operands from number 2 on index.
void NativeElements::updateAt(const ir::Op& op, const std::string& mode) {
  const ir::Value* x = op.operand(0);
  NativeValue slot = slots_[x];
  if (slot.base == nullptr || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
  const auto& axes = op.intsAttr("axes");
  for (int64_t axis : axes)
    if (x->type.shape[static_cast<size_t>(axis)] == 0) return fail("an update of an empty tensor");
  Value* at = locate(op, slot, x->type, axes, 2, nullptr);
  Scalar v = scalar(op.operand(1));
  if (twin_) v = select(twin_->runs, v, scalar(twin_->op->operand(1)));
  update(slot, at, x->type.dtype, v, mode);
  slots_[op.result()] = slot;
}

void NativeElements::scatter(const ir::Op& op) {
  if (op.intsAttr("axes").size() != op.operand(0)->type.shape.size()) return fail("an update of more than one element");
  updateAt(op, op.stringAttr("mode"));
}

void NativeElements::dynamicUpdate(const ir::Op& op) { updateAt(op, "set"); }

void NativeElements::updateEither(const ir::Op& op, const ir::Op& other, Scalar condition) {
  twin_ = Twin{&other, condition};
  if (op.kind == OpKind::Scatter)
    scatter(op);
  else
    dynamicUpdate(op);
  twin_.reset();
  slots_[other.result()] = slots_[op.result()];
}

void NativeElements::updateSlice(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  NativeValue slot = slots_[x];
  if (slot.base == nullptr || op.operand(1)->type.size() != 1) return fail("an update of more than one element");
  const auto& starts = op.intsAttr("starts");
  Value* at = slot.base;
  for (size_t d = 0; d < starts.size(); ++d)
    at = offset(at, x->type.dtype, s_->intConstant(Repr::I64, static_cast<uint64_t>(starts[d])), slot.strides[d]);
  update(slot, at, x->type.dtype, scalar(op.operand(1)), "set");
  slots_[op.result()] = slot;
}

void NativeElements::view(const ir::Op& op) {
  const ir::Value* x = op.operand(0);
  NativeValue slot = slots_[x];
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

}  // namespace tenc::codegen::cpu
