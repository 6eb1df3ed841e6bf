#include "codegen/cpu/ShortRows.h"

#include "codegen/KernelShape.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

/// Elements of 16 bytes, or of less where rows are shorter: a power of 2.
int pieceOf(llvm::Type* element, int64_t length) {
  int piece = static_cast<int>(128 / element->getScalarSizeInBits());
  while (piece > length) piece /= 2;
  return piece;
}

llvm::Align alignOf(llvm::Type* element) { return llvm::Align(element->getScalarSizeInBits() / 8); }

/// Vectors of one length as one, in order.
Value* joined(llvm::IRBuilderBase& b, Values parts) {
  while (parts.size() > 1) {
    const auto n = llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
    llvm::SmallVector<int, 64> all;
    for (unsigned i = 0; i < 2 * n; ++i) all.push_back(static_cast<int>(i));
    for (size_t i = 0; i < parts.size() / 2; ++i) parts[i] = b.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], all);
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

}  // namespace

ShortRows::ShortRows(LoopFunction& f, size_t var, int copies, bool transposes)
    : f_(f), var_(var), copies_(copies), windows_(rowWindows(f.kernel, var)) {
  if (!transposes) std::erase_if(windows_, [](const RowWindow& w) { return !w.scratch; });
  for (const RowWindow& w : windows_) columns_.push_back(f.stackArray(elementOf(w), w.columns * copies * kLanes));
}

llvm::Type* ShortRows::elementOf(const RowWindow& w) const {
  return memoryType(f_.b.getContext(), f_.kernel.buffers[w.access.buffer].dtype);
}

Value* ShortRows::columnAt(const RowWindow& w, Value* column, Value* lane) const {
  Value* at = f_.b.CreateAdd(f_.b.CreateMul(column, f_.i64(int64_t{copies_} * kLanes)), lane);
  return f_.b.CreateGEP(elementOf(w), columns_[static_cast<size_t>(&w - windows_.data())], at);
}

Value* ShortRows::place(StageEmitter& em, const Access& a, int copy, bool whole) {
  const RowWindow* w = findWindow(windows_, f_.kernel, em.stage(), a);
  if (w == nullptr || (!whole && !w->scratch)) return nullptr;
  const size_t inner = f_.kernel.outer.size();
  Value* column = em.stage().innerLo.empty() ? f_.i64(a.offset - w->access.offset) : em.exprs().var(inner);
  return columnAt(*w, column, f_.i64(int64_t{copy} * kLanes));
}

void ShortRows::readRows(Value* base, int copies) {
  for (const RowWindow& w : windows_) {
    if (w.stored || w.scratch || w.stage->innerLo.empty()) continue;
    StageEmitter em(f_, *w.stage, var_);
    transpose(em, w, base, copies);
  }
}

void ShortRows::readColumns(StageEmitter& em, Value* base, int copies) {
  for (const RowWindow& w : windows_)
    if (w.stage == &em.stage() && w.stage->innerLo.empty()) transpose(em, w, base, copies);
}

void ShortRows::write(StageEmitter& em, Value* base, int copies) {
  for (const RowWindow& w : windows_)
    if (w.stored && !w.scratch && w.stage == &em.stage()) transpose(em, w, base, copies);
}

/// Between memory and the columns of `copies` vectors: squares of as many columns as a piece of a row has. The last one
/// ends with the row, and has columns of the one before where pieces are not whole.
void ShortRows::transpose(StageEmitter& em, const RowWindow& w, Value* base, int copies) {
  IrBuilder& b = f_.b;
  const Access& a = w.access;
  const size_t inner = f_.kernel.outer.size();
  const int64_t length = w.columns;
  llvm::Type* element = elementOf(w);
  const int piece = pieceOf(element, length);
  const bool loops = !w.stage->innerLo.empty();
  if (loops) em.exprs().setVar(inner, f_.i64(0));
  Value* first = em.exprs().address(a);
  if (loops) em.exprs().clearVar(inner);
  emitLoop(b, f_.i64(0), f_.i64(int64_t{copies} * kLanes), kLanes, {}, [&](Value* lane, const Values&) -> Values {
    Value* row = b.CreateMul(b.CreateAdd(base, lane), f_.i64(strideOf(a, var_)));
    emitLoop(b, f_.i64(0), f_.i64(length), piece, {}, [&](Value* at, const Values&) -> Values {
      Value* column =
          length % piece == 0 ? at : b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, f_.i64(length - piece));
      Value* rows = b.CreateGEP(element, first, b.CreateAdd(row, column));
      Value* columns = columnAt(w, column, lane);
      w.stored ? writeSquare(w, rows, columns, piece) : readSquare(w, rows, columns, piece);
      return {};
    });
    return {};
  });
}

void ShortRows::readSquare(const RowWindow& w, Value* rows, Value* columns, int size) {
  IrBuilder& b = f_.b;
  llvm::Type* element = elementOf(w);
  auto* piece = llvm::FixedVectorType::get(element, static_cast<unsigned>(size));
  const int64_t step = strideOf(w.access, var_);
  Values vectors;
  for (int i = 0; i < size; ++i) {
    Values pieces;
    for (int row = i; row < kLanes; row += size)
      pieces.push_back(b.CreateAlignedLoad(
          piece, b.CreateConstGEP1_64(element, rows, static_cast<uint64_t>(row * step)), alignOf(element)));
    vectors.push_back(joined(b, pieces));
  }
  transposeSquares(b, vectors);
  for (int i = 0; i < size; ++i)
    b.CreateAlignedStore(vectors[static_cast<size_t>(i)],
                         b.CreateConstGEP1_64(element, columns, static_cast<uint64_t>(i * copies_ * kLanes)),
                         alignOf(element));
}

void ShortRows::writeSquare(const RowWindow& w, Value* rows, Value* columns, int size) {
  IrBuilder& b = f_.b;
  llvm::Type* element = elementOf(w);
  auto* vector = llvm::FixedVectorType::get(element, kLanes);
  const int64_t step = strideOf(w.access, var_);
  Values vectors;
  for (int i = 0; i < size; ++i)
    vectors.push_back(b.CreateAlignedLoad(
        vector, b.CreateConstGEP1_64(element, columns, static_cast<uint64_t>(i * copies_ * kLanes)), alignOf(element)));
  transposeSquares(b, vectors);
  for (int row = 0; row < kLanes; ++row) {
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < size; ++i) lanes.push_back(row / size * size + i);
    b.CreateAlignedStore(b.CreateShuffleVector(vectors[static_cast<size_t>(row % size)], lanes),
                         b.CreateConstGEP1_64(element, rows, static_cast<uint64_t>(row * step)), alignOf(element));
  }
}

}  // namespace tenc::codegen::cpu
