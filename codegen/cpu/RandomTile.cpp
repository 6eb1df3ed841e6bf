#include "codegen/cpu/RandomTile.h"

#include <llvm/IR/Module.h>

#include <limits>

#include "codegen/ScalarConvert.h"
#include "codegen/ScalarRandom.h"
#include "codegen/cpu/ExprEmitter.h"
#include "codegen/cpu/IrBuilder.h"
#include "codegen/cpu/LoopSchedule.h"
#include "codegen/cpu/Loops.h"
#include "codegen/cpu/SharedFunction.h"

namespace tenc::codegen::cpu {
using ir::DType;
using ir::OpKind;
using llvm::Value;

namespace {

constexpr int64_t kTileWords = 128;  // 16 vectors of 64-bit elements that take four each, and a block
constexpr int kBlockWords = 4;

/// A function (tile, first block, draw, seed) that fills a tile.
llvm::Function* makeFiller(llvm::Module& m, const char* name) {
  llvm::LLVMContext& c = m.getContext();
  auto* word = llvm::Type::getInt64Ty(c);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(c), {llvm::PointerType::get(c, 0), word, word, word}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, m);
  setCodeAttributes(*f);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addParamAttr(0, llvm::Attribute::NoAlias);
  return f;
}

/// {from, from + step, ...}, so many.
llvm::SmallVector<int, 64> every(int from, int step, int count) {
  llvm::SmallVector<int, 64> places;
  for (int i = 0; i < count; ++i) places.push_back(from + i * step);
  return places;
}

/// x[0], y[0], x[1], y[1], ..., all of them or half of them, from `first` on.
Value* interleave(llvm::IRBuilderBase& b, Value* x, Value* y, int first, int count) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements());
  llvm::SmallVector<int, 64> places;
  for (int i = first; i < first + count; ++i) {
    places.push_back(i);
    places.push_back(lanes + i);
  }
  return b.CreateShuffleVector(x, y, places);
}

llvm::Function* wordFiller(llvm::Module& m) {
  constexpr const char* kName = "random.words";
  if (llvm::Function* made = m.getFunction(kName)) return made;
  llvm::Function* f = makeFiller(m, kName);
  constexpr int kBlocks = 8;  // a word of each fills a vector of 64-bit lanes
  IrBuilder b(llvm::BasicBlock::Create(m.getContext(), "entry", f));
  LlvmScalars s(b, nullptr, kBlocks);
  auto argument = [&](unsigned i) { return s.wrap(f->getArg(i), Repr::I64); };
  std::vector<llvm::Constant*> lanes;
  for (uint64_t i = 0; i < kBlocks; ++i) lanes.push_back(b.getInt64(i));
  Value* lane = llvm::ConstantVector::get(lanes);
  emitLoop(b, b.getInt64(0), b.getInt64(kTileWords / kBlockWords), kBlocks, {}, [&](Value* i, const Values&) -> Values {
    Value* counter = b.CreateAdd(s.splat(b.CreateAdd(f->getArg(1), i)), lane);
    const RandomWords w = philox(s.wrap(counter, Repr::I64), argument(2), argument(3));
    Value *low = LlvmScalars::value(joinWords(w[0], w[1])), *high = LlvmScalars::value(joinWords(w[2], w[3]));
    Value* to = b.CreateGEP(b.getInt32Ty(), f->getArg(0), b.CreateMul(i, b.getInt64(kBlockWords)));
    for (int half : {0, 1}) {
      Value* words = interleave(b, low, high, half * kBlocks / 2, kBlocks / 2);
      b.CreateAlignedStore(words, b.CreateConstGEP1_64(words->getType(), to, static_cast<uint64_t>(half)),
                           llvm::Align(64));
    }
    return {};
  });
  b.CreateRetVoid();
  return f;
}

llvm::Function* normalFiller(llvm::Module& m) {
  constexpr const char* kName = "random.normals";
  if (llvm::Function* made = m.getFunction(kName)) return made;
  llvm::Function* f = makeFiller(m, kName);
  IrBuilder b(llvm::BasicBlock::Create(m.getContext(), "entry", f));
  LlvmScalars s(b, nullptr, kLanes);
  b.CreateCall(wordFiller(m), {f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3)});
  auto* pairs = llvm::FixedVectorType::get(b.getInt32Ty(), 2 * kLanes);
  emitLoop(b, b.getInt64(0), b.getInt64(kTileWords), 2 * kLanes, {}, [&](Value* i, const Values&) -> Values {
    Value* at = b.CreateGEP(b.getInt32Ty(), f->getArg(0), i);
    Value* words = b.CreateAlignedLoad(pairs, at, llvm::Align(64));
    auto half = [&](int odd) { return s.wrap(b.CreateShuffleVector(words, every(odd, 2, kLanes)), Repr::I32); };
    const NormalPair made = normalsOf(half(0), half(1));
    b.CreateAlignedStore(interleave(b, LlvmScalars::value(made.even), LlvmScalars::value(made.odd), 0, kLanes), at,
                         llvm::Align(64));
    return {};
  });
  b.CreateRetVoid();
  return f;
}

int64_t wordsOf(OpKind kind, DType t) {
  if (kind == OpKind::RandomInt) return 2;
  if (t != DType::F64) return 1;
  return kind == OpKind::RandomNormal ? 4 : 2;
}

}  // namespace

RandomTile::RandomTile(LlvmScalars& scalars, OpKind kind, DType result)
    : scalars_(scalars),
      kind_(kind),
      result_(result),
      normals_(kind == OpKind::RandomNormal && result != DType::F64),
      words_(wordsOf(kind, result)) {
  llvm::IRBuilderBase& b = scalars.irBuilder();
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.getFirstInsertionPt());
  auto* tile = first.CreateAlloca(llvm::ArrayType::get(b.getInt32Ty(), kTileWords));
  tile->setAlignment(llvm::Align(64));
  tile_ = tile;
  start_ = first.CreateAlloca(b.getInt64Ty());
  // No word is so near behind it that the tile could hold it.
  first.CreateStore(b.getInt64(static_cast<uint64_t>(std::numeric_limits<int64_t>::min())), start_);
}

/// Where word `first` stands, followed by those of all lanes.
Value* RandomTile::words(Value* first, Value* draw, Value* seed) {
  llvm::IRBuilderBase& b = scalars_.irBuilder();
  Value* start = b.CreateLoad(b.getInt64Ty(), start_);
  const auto most = static_cast<uint64_t>(kTileWords - words_ * scalars_.lanes());
  Value* missing = b.CreateICmpUGT(b.CreateSub(first, start), b.getInt64(most));
  start = emitIf(b, missing, {start}, [&]() -> Values {
    llvm::Module& m = *b.GetInsertBlock()->getModule();
    Value* block = b.CreateLShr(first, b.getInt64(2));
    b.CreateCall(normals_ ? normalFiller(m) : wordFiller(m), {tile_, block, draw, seed});
    Value* filled = b.CreateShl(block, b.getInt64(2));
    b.CreateStore(filled, start_);
    return {filled};
  })[0];
  return b.CreateGEP(b.getInt32Ty(), tile_, b.CreateSub(first, start));
}

Scalar RandomTile::of(Value* loaded, std::span<const Scalar> bounds) {
  llvm::IRBuilderBase& b = scalars_.irBuilder();
  if (normals_) return roundTo(scalars_.wrap(loaded, Repr::F32), result_);
  if (kind_ == OpKind::RandomUniform)
    return uniformOf(result_, scalars_.wrap(loaded, words_ == 1 ? Repr::I32 : Repr::I64));
  const std::string name =
      std::string("random.of.") + std::string(ir::opInfo(kind_).mnemonic) + '.' + std::string(ir::name(result_));
  if (kind_ == OpKind::RandomInt)
    return callOp(scalars_, name, reprOf(result_), std::vector{scalars_.wrap(loaded, Repr::I64), bounds[0], bounds[1]},
                  [&](LlvmScalars&, const std::vector<Scalar>& a) { return integerOf(result_, a[0], a[1], a[2]); });
  auto part = [&](int odd) {
    return scalars_.wrap(b.CreateShuffleVector(loaded, every(odd, 2, scalars_.lanes())), Repr::I64);
  };
  return callOp(scalars_, name, Repr::F64, std::vector{part(0), part(1)},
                [](LlvmScalars&, const std::vector<Scalar>& a) { return normalOf(a[0], a[1]); });
}

Scalar RandomTile::elements(Value* first, Value* draw, Value* seed, std::span<const Scalar> bounds) {
  llvm::IRBuilderBase& b = scalars_.irBuilder();
  Value* at = words(b.CreateMul(first, b.getInt64(static_cast<uint64_t>(words_))), draw, seed);
  llvm::Type* unit = normals_ ? b.getFloatTy() : words_ == 1 ? b.getInt32Ty() : b.getInt64Ty();
  const auto units = static_cast<unsigned>(scalars_.lanes() * (words_ == 4 ? 2 : 1));
  return of(b.CreateAlignedLoad(llvm::FixedVectorType::get(unit, units), at, llvm::Align(4)), bounds);
}

}  // namespace tenc::codegen::cpu
