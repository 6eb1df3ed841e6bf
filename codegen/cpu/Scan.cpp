#include "codegen/cpu/Scan.h"

#include <llvm/IR/Module.h>

#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Reduce.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

constexpr int kLanes = kScanChunk;

/// The function that scans a tile, (values, carry) -> carry, one for each kind of scan of a module. Vectors are turned
/// so that each lane has a chunk: its values are combined in order; then each chunk with all before it.
llvm::Function* tileFunction(llvm::Module& m, const Reduction& scan) {
  const std::string name = "scan_tile_" + std::to_string(static_cast<int>(scan.kind)) + '_' +
                           std::string(ir::name(scan.accumulator)) + (scan.exclusive ? "_exclusive" : "");
  if (llvm::Function* made = m.getFunction(name)) return made;
  llvm::LLVMContext& c = m.getContext();
  llvm::Type* element = registerType(c, reprOf(scan.accumulator));
  auto* type = llvm::FunctionType::get(element, {llvm::PointerType::get(c, 0), element}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, m);
  setCodeAttributes(*f);
  f->addFnAttr(llvm::Attribute::NoInline);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(c, "entry", f));
  LlvmScalars scalars(b, nullptr, kLanes);
  Reducer red(scalars, scan, scan.accumulator);
  auto combine = [&](Value* x, Value* y) { return red.merge({x}, {y})[0]; };
  auto* vector = llvm::FixedVectorType::get(element, kLanes);
  const llvm::Align align(64);
  auto memory = [&] {
    auto* slot = b.CreateAlloca(vector);
    slot->setAlignment(align);
    return slot;
  };
  Value *ends = memory(), *starts = memory();
  Value* values = f->getArg(0);
  auto row = [&](int i) { return b.CreateConstGEP1_64(vector, values, static_cast<uint64_t>(i)); };
  Values rows;
  for (int i = 0; i < kLanes; ++i) rows.push_back(b.CreateAlignedLoad(vector, row(i), align));
  transposeSquare(b, rows);
  for (size_t i = 1; i < kLanes; ++i) rows[i] = combine(rows[i - 1], rows[i]);
  b.CreateAlignedStore(rows.back(), ends, align);
  Value* carry = f->getArg(1);
  for (uint64_t i = 0; i < kLanes; ++i) {
    b.CreateStore(carry, b.CreateConstGEP1_64(element, starts, i));
    carry = combine(carry, b.CreateLoad(element, b.CreateConstGEP1_64(element, ends, i)));
  }
  Value* start = b.CreateAlignedLoad(vector, starts, align);
  if (scan.exclusive) {
    rows.insert(rows.begin(), start);
    rows.pop_back();
  }
  for (size_t i = scan.exclusive ? 1 : 0; i < kLanes; ++i) rows[i] = combine(start, rows[i]);
  transposeSquare(b, rows);
  for (int i = 0; i < kLanes; ++i) b.CreateAlignedStore(rows[static_cast<size_t>(i)], row(i), align);
  b.CreateRet(carry);
  return f;
}

}  // namespace

bool hasChunks(const Kernel& kernel, const Stage& stage) {
  return stage.reductions.size() == 1 && kernel.reductions[stage.reductions[0]].chunk != 0;
}

void transposeSquare(llvm::IRBuilder<>& b, Values& rows) {
  const int n = static_cast<int>(rows.size());
  // log2(n) rounds; each interleaves pairs of vectors that are `half` apart.
  for (int half = 1; half < n; half *= 2) {
    llvm::SmallVector<int, 64> low, high;
    for (int i = 0; i < n; ++i) {
      const bool second = (i / half) % 2 != 0;
      low.push_back(second ? n + i - half : i);
      high.push_back(second ? n + i : i + half);
    }
    for (int i = 0; i < n; ++i) {
      if ((i / half) % 2 != 0) continue;
      auto x = static_cast<size_t>(i), y = static_cast<size_t>(i + half);
      Value *a = rows[x], *c = rows[y];
      rows[x] = b.CreateShuffleVector(a, c, low);
      rows[y] = b.CreateShuffleVector(a, c, high);
    }
  }
}

ScanTile::ScanTile(llvm::IRBuilder<>& b, const Reduction& scan) : b_(b), scan_(scan), align_(64) {
  element_ = registerType(b.getContext(), reprOf(scan.accumulator));
  vector_ = llvm::FixedVectorType::get(element_, kLanes);
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.getFirstInsertionPt());
  auto* slot = first.CreateAlloca(llvm::ArrayType::get(vector_, kLanes));
  slot->setAlignment(align_);
  for (uint64_t i = 0; i < kLanes; ++i)
    first.CreateAlignedStore(llvm::Constant::getNullValue(vector_), first.CreateConstGEP1_64(vector_, slot, i), align_);
  memory_ = slot;
}

Value* ScanTile::element(Value* offset) { return b_.CreateLoad(element_, b_.CreateGEP(element_, memory_, offset)); }

Value* ScanTile::place(Value* offset, int vector) {
  return b_.CreateConstGEP1_64(vector_, b_.CreateGEP(element_, memory_, offset), static_cast<uint64_t>(vector));
}

Value* ScanTile::scan(Value* carry) {
  return b_.CreateCall(tileFunction(*b_.GetInsertBlock()->getModule(), scan_), {memory_, carry});
}

}  // namespace tenc::codegen::cpu
