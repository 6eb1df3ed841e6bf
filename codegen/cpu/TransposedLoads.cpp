#include "codegen/cpu/TransposedLoads.h"

#include "codegen/KernelShape.h"
#include "codegen/cpu/AssembledFunction.h"
#include "codegen/cpu/Jit.h"
#include "codegen/cpu/KernelFunction.h"
#include "codegen/cpu/Transpose.h"
#include "codegen/cpu/TurnCode.h"

namespace tenc::codegen::cpu {
using llvm::Value;

TransposedLoads::TransposedLoads(LoopFunction& f, const Stage& stage, size_t lanes, size_t source, int64_t height,
                                 int64_t width, bool any)
    : f_(f), stage_(stage), lanes_(lanes), source_(source), width_(width), slots_(stage.exprs.size()) {
  for (size_t i = 0; any && i < stage.exprs.size(); ++i)
    if (isTransposed(stage.exprs[i])) slots_[i] = f.stackArray(elementOf(stage.exprs[i]), height * width);
}

bool TransposedLoads::isTransposed(const Expr& e) const {
  return e.kind == Expr::Kind::Load && e.access.terms.empty() && strideOf(e.access, source_) == 1 &&
         std::abs(strideOf(e.access, lanes_)) > 1;
}

llvm::Type* TransposedLoads::elementOf(const Expr& e) const {
  return memoryType(f_.b.getContext(), f_.kernel.buffers[e.access.buffer].dtype);
}

/// Elements of 8 bytes by 16 would be more than there are registers.
int TransposedLoads::squareOf(const Expr& e) const {
  return elementOf(e)->getScalarSizeInBits() > 32 ? kLanes / 2 : kLanes;
}

/// to[row][lane] = source at (first + row, base + lane), for a square. `rowsLeft`, `columnsLeft`: what
/// is left of the block, the index of its last column, where that may be less; else null.
void TransposedLoads::square(StageEmitter& em, const Expr& e, Value* to, Value* first, Value* base, Value* rowsLeft,
                             Value* columnsLeft) {
  IrBuilder& b = f_.b;
  llvm::Type* element = elementOf(e);
  const auto size = static_cast<unsigned>(squareOf(e));
  auto* vector = llvm::FixedVectorType::get(element, size);
  auto align = llvm::Align(static_cast<uint64_t>(element->getScalarSizeInBits() / 8));
  em.exprs().setVar(source_, first);
  Value* corner = em.exprs().address(e.access);
  int64_t step = e.access.strides[lanes_];
  std::vector<llvm::Constant*> lane;
  for (uint32_t i = 0; i < size; ++i) lane.push_back(b.getInt32(i));
  Value* mask = rowsLeft == nullptr
                    ? nullptr
                    : b.CreateICmpSLT(llvm::ConstantVector::get(lane), b.CreateVectorSplat(size, rowsLeft));
  Values rows;
  for (unsigned j = 0; j < size; ++j) {
    Value* column = b.CreateAdd(base, f_.i64(j));
    // Columns beyond the end read the last one again.
    if (columnsLeft != nullptr)
      column = b.CreateAdd(base, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, f_.i64(j), columnsLeft));
    Value* at = b.CreateGEP(element, corner, b.CreateMul(column, f_.i64(step)));
    rows.push_back(mask == nullptr ? static_cast<Value*>(b.CreateAlignedLoad(vector, at, align))
                                   : b.CreateMaskedLoad(vector, at, align, mask, llvm::Constant::getNullValue(vector)));
  }
  transposeSquare(b, rows);
  for (size_t i = 0; i < size; ++i) {
    Value* at = b.CreateConstGEP1_64(element, to, i * static_cast<uint64_t>(width_));
    b.CreateAlignedStore(rows[i], at, align);
  }
  em.exprs().clearVar(source_);
}

/// The assembled function for blocks of such elements, which all kernels of the module share; null if there is none.
llvm::Function* TransposedLoads::blockTurn(const Expr& e) {
  const int64_t size = ir::byteSize(f_.kernel.buffers[e.access.buffer].dtype);
  if (f_.assembled == AssembledForm::None || (size != 4 && size != 8)) return nullptr;
  const int64_t row = width_ * size;
  const std::string name = "turn.block." + std::to_string(size) + "." + std::to_string(row);
  if (llvm::Function* made = f_.module.getFunction(name)) return made;
  llvm::Type *pointer = f_.b.getPtrTy(), *number = f_.b.getInt64Ty();
  llvm::Function* turn = createLocalFunction(f_.module, name, {pointer, pointer, number, number, number}, 0);
  setCodeAttributes(*turn);
  turn->addFnAttr(llvm::Attribute::NoInline);
  const VectorForm form = {vectorUnit(f_.module).registerBytes, static_cast<int>(size)};
  giveCode(*turn, f_.assembled,
           [&](std::string_view listed) { return assembledBlockTurn(form, static_cast<int>(row), listed); });
  return turn;
}

void TransposedLoads::fill(StageEmitter& em, Value* first, Value* end, Value* base, Value* columnsEnd, bool wholeRows,
                           bool wholeColumns) {
  IrBuilder& b = f_.b;
  for (ExprId i = 0; i < slots_.size(); ++i) {
    if (!holds(i)) continue;
    const Expr& e = stage_.exprs[i];
    llvm::Type* element = elementOf(e);
    if (llvm::Function* turn = blockTurn(e)) {
      const int64_t size = ir::byteSize(f_.kernel.buffers[e.access.buffer].dtype), step = e.access.strides[lanes_];
      em.exprs().setVar(source_, first);
      Value* corner = b.CreateGEP(element, em.exprs().address(e.access), b.CreateMul(base, f_.i64(step)));
      em.exprs().clearVar(source_);
      b.CreateCall(turn,
                   {corner, slots_[i], b.CreateSub(end, first), b.CreateSub(columnsEnd, base), f_.i64(step * size)});
      continue;
    }
    // Along the source's rows first: they are read in runs.
    emitLoop(b, base, columnsEnd, squareOf(e), {}, [&](Value* column, const Values&) -> Values {
      Value* at = b.CreateGEP(element, slots_[i], b.CreateSub(column, base));
      emitLoop(b, first, end, squareOf(e), {}, [&](Value* row, const Values&) -> Values {
        Value* rowsLeft = wholeRows ? nullptr : b.CreateTrunc(b.CreateSub(end, row), b.getInt32Ty());
        Value* columnsLeft = wholeColumns ? nullptr : b.CreateSub(b.CreateSub(columnsEnd, column), f_.i64(1));
        Value* to = b.CreateGEP(element, at, b.CreateMul(b.CreateSub(row, first), f_.i64(width_)));
        square(em, e, to, row, column, rowsLeft, columnsLeft);
        return {};
      });
      return {};
    });
  }
}

void TransposedLoads::prefetch(StageEmitter& em, Value* first, Value* column, int64_t values) {
  IrBuilder& b = f_.b;
  for (ExprId i = 0; i < slots_.size(); ++i) {
    if (!holds(i)) continue;
    const Expr& e = stage_.exprs[i];
    llvm::Type* element = elementOf(e);
    em.exprs().setVar(source_, first);
    Value* at =
        b.CreateGEP(element, em.exprs().address(e.access), b.CreateMul(column, f_.i64(e.access.strides[lanes_])));
    em.exprs().clearVar(source_);
    f_.prefetch(at, values * element->getScalarSizeInBits() / 8, false);
  }
}

Value* TransposedLoads::place(Value* row, Value* column) {
  return f_.b.CreateAdd(f_.b.CreateMul(row, f_.i64(width_)), column);
}

Scalar TransposedLoads::vector(StageEmitter& em, ExprId expr, Value* at, int copy) {
  const Expr& e = stage_.exprs[expr];
  const ir::DType t = f_.kernel.buffers[e.access.buffer].dtype;
  llvm::Type* element = elementOf(e);
  Value* from =
      f_.b.CreateConstGEP1_64(element, f_.b.CreateGEP(element, slots_[expr], at), static_cast<uint64_t>(copy * kLanes));
  return em.exprs().scalars().fromMemory(f_.b.CreateAlignedLoad(llvm::FixedVectorType::get(element, kLanes), from,
                                                                llvm::Align(static_cast<uint64_t>(ir::byteSize(t)))),
                                         t);
}

}  // namespace tenc::codegen::cpu
