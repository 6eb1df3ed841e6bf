#include "codegen/cpu/Scan.h"

#include <llvm/IR/Module.h>

#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/Reduce.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

std::string functionName(const Reduction& scan, std::string_view how) {
  return std::string(how) + std::to_string(static_cast<int>(scan.kind)) + '_' +
         std::string(ir::name(scan.accumulator)) + (scan.exclusive ? "_exclusive" : "");
}

/// A function (values, carry) -> carry without body.
llvm::Function* makeFunction(llvm::Module& m, const Reduction& scan, const std::string& name) {
  llvm::LLVMContext& c = m.getContext();
  llvm::Type* element = registerType(c, reprOf(scan.accumulator));
  auto* type = llvm::FunctionType::get(element, {llvm::PointerType::get(c, 0), element}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, m);
  setCodeAttributes(*f);
  f->addFnAttr(llvm::Attribute::NoInline);
  return f;
}

/// A tile of integers, which come to the same in any order: each vector by itself, in steps of 1, 2, 4 and 8 lanes,
/// then with what is before it. Only the last waits for other vectors. `memory` has the values, `carry` what is before
/// them.
Value* scanIntegers(llvm::IRBuilderBase& b, Reducer& red, const Reduction& scan, Value* memory, Value* carry) {
  auto* vector = llvm::FixedVectorType::get(carry->getType(), kScanChunk);
  const llvm::Align align(64);
  Value* nothing = red.identity(true)[0];
  auto combine = [&](Value* x, Value* y) { return red.merge({x}, {y})[0]; };
  auto movedUp = [&](Value* v, int by) {
    llvm::SmallVector<int, kScanChunk> from;
    for (int i = 0; i < kScanChunk; ++i) from.push_back(i < by ? i : kScanChunk + i - by);
    return b.CreateShuffleVector(nothing, v, from);
  };
  const Values end =
      emitLoop(b, b.getInt64(0), b.getInt64(kScanTile / kScanChunk), 1, {b.CreateVectorSplat(kScanChunk, carry)},
               [&](Value* row, const Values& before) -> Values {
                 Value* place = b.CreateGEP(vector, memory, row);
                 Value* running = b.CreateAlignedLoad(vector, place, align);
                 for (int by = 1; by < kScanChunk; by *= 2) running = combine(movedUp(running, by), running);
                 const llvm::SmallVector<int, kScanChunk> last(kScanChunk, kScanChunk - 1);
                 Value* all = b.CreateShuffleVector(running, last);
                 if (scan.exclusive) running = movedUp(running, 1);
                 b.CreateAlignedStore(combine(before[0], running), place, align);
                 return {combine(before[0], all)};
               });
  return b.CreateExtractElement(end[0], uint64_t{0});
}

/// So many chunks of a tile of floats, from `first` on. They are turned so that each lane has a chunk: its values
/// are combined in order; then each chunk with all before it. Returns what is before the next ones, which is all
/// that is wanted if not `each`.
Value* scanChunks(llvm::IRBuilderBase& b, Reducer& red, const Reduction& scan, Value* memory, int first, int lanes,
                  Value* carry, bool each) {
  auto combine = [&](Value* x, Value* y) { return red.merge({x}, {y})[0]; };
  llvm::Type* element = carry->getType();
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  const llvm::Align align(64);
  auto place = [&](int chunk, int at) {
    return b.CreateConstGEP1_64(element, memory, static_cast<uint64_t>((first + chunk) * kScanChunk + at));
  };
  // rows[i] has value i of each chunk. Squares are turned one after the other.
  Values rows;
  for (int at = 0; at < kScanChunk; at += lanes) {
    Values square;
    for (int i = 0; i < lanes; ++i) square.push_back(b.CreateAlignedLoad(vector, place(i, at), align));
    transposeSquare(b, square);
    rows.insert(rows.end(), square.begin(), square.end());
  }
  for (size_t i = 1; i < rows.size(); ++i) rows[i] = combine(rows[i - 1], rows[i]);
  Value *ends = rows.back(), *start = llvm::PoisonValue::get(vector);
  for (uint64_t i = 0; i < static_cast<uint64_t>(lanes); ++i) {
    start = b.CreateInsertElement(start, carry, i);
    carry = combine(carry, b.CreateExtractElement(ends, i));
  }
  if (!each) return carry;
  if (scan.exclusive) {
    rows.insert(rows.begin(), start);
    rows.pop_back();
  }
  for (size_t i = scan.exclusive ? 1 : 0; i < rows.size(); ++i) rows[i] = combine(start, rows[i]);
  for (int at = 0; at < kScanChunk; at += lanes) {
    Values square(rows.begin() + at, rows.begin() + at + lanes);
    transposeSquare(b, square);
    for (int i = 0; i < lanes; ++i) b.CreateAlignedStore(square[static_cast<size_t>(i)], place(i, at), align);
  }
  return carry;
}

/// The function that scans a tile, or finds what it comes to alone (not `each`), one for each kind of scan of a module.
llvm::Function* tileFunction(llvm::Module& m, const Reduction& scan, bool each) {
  const std::string name = functionName(scan, each ? "scan_tile_" : "total_tile_");
  if (llvm::Function* made = m.getFunction(name)) return made;
  llvm::Function* f = makeFunction(m, scan, name);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.getContext(), "entry", f));
  Value* carry = f->getArg(1);
  // As many chunks together as 64 bytes have values.
  const bool isFloat = ir::isFloat(scan.accumulator);
  const int lanes = isFloat ? 512 / static_cast<int>(carry->getType()->getScalarSizeInBits()) : kScanChunk;
  LlvmScalars scalars(b, nullptr, lanes);
  Reducer red(scalars, scan, scan.accumulator);
  if (!isFloat) {
    b.CreateRet(scanIntegers(b, red, scan, f->getArg(0), carry));
    return f;
  }
  for (int first = 0; first < kScanChunk; first += lanes)
    carry = scanChunks(b, red, scan, f->getArg(0), first, lanes, carry, each);
  b.CreateRet(carry);
  return f;
}

/// The same, a chunk after the other and an element after the other.
llvm::Function* shortTileFunction(llvm::Module& m, const Reduction& scan) {
  const std::string name = functionName(scan, "scan_tile_short_");
  if (llvm::Function* made = m.getFunction(name)) return made;
  llvm::Function* f = makeFunction(m, scan, name);
  llvm::Type* element = f->getReturnType();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.getContext(), "entry", f));
  LlvmScalars scalars(b, nullptr, 1);
  Reducer red(scalars, scan, scan.accumulator);
  auto combine = [&](Value* x, Value* y) { return red.merge({x}, {y})[0]; };
  auto i64 = [&](int64_t n) { return b.getInt64(static_cast<uint64_t>(n)); };
  auto place = [&](Value* at) { return b.CreateGEP(element, f->getArg(0), at); };
  const Values carry = emitLoop(
      b, i64(0), i64(kScanTile), kScanChunk, {f->getArg(1)}, [&](Value* first, const Values& before) -> Values {
        Value* start = before[0];
        Value* own = b.CreateLoad(element, place(first));
        b.CreateStore(scan.exclusive ? start : combine(start, own), place(first));
        const Values last = emitLoop(b, b.CreateAdd(first, i64(1)), b.CreateAdd(first, i64(kScanChunk)), 1, {own},
                                     [&](Value* at, const Values& running) -> Values {
                                       Value* next = combine(running[0], b.CreateLoad(element, place(at)));
                                       b.CreateStore(combine(start, scan.exclusive ? running[0] : next), place(at));
                                       return {next};
                                     });
        return {combine(start, last[0])};
      });
  b.CreateRet(carry[0]);
  return f;
}

}  // namespace

bool hasChunks(const Kernel& kernel, const Stage& stage) {
  return stage.reductions.size() == 1 && kernel.reductions[stage.reductions[0]].chunk != 0;
}

ScanTile::ScanTile(llvm::IRBuilderBase& b, const Reduction& scan) : b_(b), scan_(scan), align_(64) {
  element_ = registerType(b.getContext(), reprOf(scan.accumulator));
  vector_ = llvm::FixedVectorType::get(element_, kScanChunk);
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.getFirstInsertionPt());
  auto* slot = first.CreateAlloca(llvm::ArrayType::get(vector_, kScanChunk));
  slot->setAlignment(align_);
  for (uint64_t i = 0; i < kScanChunk; ++i)
    first.CreateAlignedStore(llvm::Constant::getNullValue(vector_), first.CreateConstGEP1_64(vector_, slot, i), align_);
  memory_ = slot;
}

Value* ScanTile::element(Value* offset) { return b_.CreateLoad(element_, b_.CreateGEP(element_, memory_, offset)); }

Value* ScanTile::place(Value* offset, int vector) {
  return b_.CreateConstGEP1_64(vector_, b_.CreateGEP(element_, memory_, offset), static_cast<uint64_t>(vector));
}

Value* ScanTile::total(Value* carry) {
  llvm::Module& m = *b_.GetInsertBlock()->getModule();
  return b_.CreateCall(tileFunction(m, scan_, false), {memory_, carry});
}

Value* ScanTile::scan(Value* carry, bool shortCode) {
  llvm::Module& m = *b_.GetInsertBlock()->getModule();
  return b_.CreateCall(shortCode ? shortTileFunction(m, scan_) : tileFunction(m, scan_, true), {memory_, carry});
}

}  // namespace tenc::codegen::cpu
