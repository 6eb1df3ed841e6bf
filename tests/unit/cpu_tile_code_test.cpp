// Tiles and the turning of sums, as bytes and as their listing that LLVM has assembled, against plain loops: bits.
#include <gtest/gtest.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SourceMgr.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/cpu/TileCode.h"
#include "codegen/cpu/TurnCode.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmParser();
}

namespace tenc::codegen::cpu {
namespace {

const llvm::Target& target() {
  static const llvm::Target* found = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmParser();
    std::string error;
    return llvm::TargetRegistry::lookupTarget("x86_64-unknown-linux-gnu", error);
  }();
  return *found;
}

/// The bytes of `text`, all in one section.
std::string assembledByLlvm(const std::string& text) {
  const llvm::Triple triple("x86_64-unknown-linux-gnu");
  const std::unique_ptr<llvm::MCRegisterInfo> registers(target().createMCRegInfo(triple.str()));
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCAsmInfo> info(target().createMCAsmInfo(*registers, triple.str(), options));
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target().createMCSubtargetInfo(triple.str(), "znver4", ""));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(target().createMCInstrInfo());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text), llvm::SMLoc());
  llvm::MCContext context(triple, info.get(), registers.get(), subtarget.get(), &sources, &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> file(target().createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(file.get());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  std::unique_ptr<llvm::MCAsmBackend> backend(target().createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target().createMCCodeEmitter(*instructions, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(target().createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget, false, false, false));
  const std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *info));
  const std::unique_ptr<llvm::MCTargetAsmParser> ofTarget(
      target().createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*ofTarget);
  if (parser->Run(false)) return "not assembled";
  auto object = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), "object"));
  if (!object) return "no object";
  for (const llvm::object::SectionRef& s : (*object)->sections())
    if (llvm::cantFail(s.getName()) == ".text") return llvm::cantFail(s.getContents()).str();
  return "no text";
}

/// Code where it can be called.
class Callable {
 public:
  explicit Callable(const std::string& code)
      : size_(code.size()), at_(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memcpy(at_, code.data(), size_);
    mprotect(at_, size_, PROT_READ | PROT_EXEC);
  }
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;
  ~Callable() { munmap(at_, size_); }
  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    reinterpret_cast<void (*)(Arguments...)>(at_)(arguments...);
  }

 private:
  size_t size_;
  void* at_;
};

class Random {
 public:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  bool coin() { return below(2) != 0; }
  template <typename T>
  std::vector<T> numbers(size_t n) {
    std::vector<T> all(n);
    for (T& x : all) x = std::normal_distribution<T>()(engine_);
    return all;
  }

 private:
  std::mt19937 engine_{7};
};

using Numbers = std::array<int64_t, 6>;

/// What a tile computes, one element after the other.
template <typename T>
class PlainTile {
 public:
  PlainTile(const TileCode& tile, const Numbers& numbers, const T* a, const T* b, T* c)
      : t_(tile), numbers_(numbers), a_(a), b_(b), c_(c) {}

  void run() {
    const auto lanes = static_cast<int64_t>(t_.form.registerBytes / sizeof(T));
    for (row_ = 0; row_ < t_.height; ++row_)
      for (column_ = 0; column_ < t_.width; ++column_)
        for (lane_ = 0; lane_ < lanes; ++lane_) {
          const bool isLeftOut = column_ + 1 == t_.width && t_.tail > 0 && lane_ >= t_.tail;
          T& c = c_[row_ * elements(t_.rowOfC) + column_ * lanes + lane_];
          isZero_ = t_.masksB && isLeftOut;
          sum_ = t_.addsToC ? c : T{0};
          loop(0, 0, 0);
          if (!t_.masksC || !isLeftOut) c = sum_;
        }
  }

 private:
  static int64_t elements(int64_t bytes) { return bytes / static_cast<int64_t>(sizeof(T)); }
  void loop(size_t level, int64_t a, int64_t b) {
    if (level == t_.loops.size()) return;
    const TileCode::Loop& l = t_.loops[level];
    int64_t begin = 0, end = l.trips;
    if (l.first) {
      const auto first = static_cast<size_t>(*l.first);
      begin = l.countIsArgument ? 0 : numbers_[first];
      end = l.countIsArgument ? numbers_[first] : numbers_[first + 1];
    }
    for (int64_t k = begin; k < end; ++k) {
      const int64_t atA = a + k * elements(l.stepA), atB = b + k * elements(l.stepB);
      level + 1 < t_.loops.size() ? loop(level + 1, atA, atB) : add(k - begin, atA, atB);
    }
  }
  void add(int64_t trip, int64_t a, int64_t b) {
    if (t_.places && t_.places->mayMiss[static_cast<size_t>(row_)]) {
      const int64_t place = numbers_[static_cast<size_t>(t_.arguments) - 1] + row_;
      const int64_t met = place * t_.places->stride + trip * t_.places->dilation - t_.places->lo;
      if (met < 0 || met >= t_.places->extent) return;
    }
    if (!meets(trip)) return;
    const T x = a_[a + row_ * elements(t_.rowOfA)];
    const T y = isZero_ ? T{0} : b_[b + elements(t_.columnsOfB[static_cast<size_t>(column_)]) + lane_];
    sum_ = std::fma(x, y, sum_);
  }

  bool meets(int64_t trip) const {
    for (const TileCode::Rim& rim : t_.rims) {
      if (rim.place != numbers_[static_cast<size_t>(t_.arguments) - 1]) continue;
      for (const TileCode::Rim::Trip& apart : rim.apart)
        if (apart.trip == trip) return (apart.lanes[static_cast<size_t>(column_)] >> lane_ & 1) != 0;
      return rim.allFirst <= trip && trip < rim.allEnd;
    }
    return true;
  }

  const TileCode& t_;
  const Numbers& numbers_;
  const T *a_, *b_;
  T *c_, sum_{};
  int64_t row_ = 0, column_ = 0, lane_ = 0;
  bool isZero_ = false;
};

/// Trips before and after the whole ones meet a range of columns.
TileCode::Rim randomRim(Random& r, const TileCode& t, int64_t place) {
  const int lanes = t.form.registerBytes / t.form.elementBytes;
  const auto trips = static_cast<int>(t.loops.back().trips), columns = static_cast<int>(t.width) * lanes;
  TileCode::Rim rim{place, r.below(trips + 1), 0, {}};
  rim.allEnd = rim.allFirst + r.below(trips - static_cast<int>(rim.allFirst) + 1);
  const auto all = static_cast<int>(t.width - 1) * lanes + (t.masksB ? t.tail : lanes);  // that may be loaded
  for (int64_t k = r.below(2); k < trips; ++k) {
    if (k >= rim.allFirst && k < rim.allEnd) continue;
    const int first = r.below(columns), end = std::min(all, first + 1 + r.below(columns));
    TileCode::Rim::Trip& trip = rim.apart.emplace_back(TileCode::Rim::Trip{k, {}});
    for (int j = 0; j < t.width; ++j) {
      uint32_t met = 0;
      for (int lane = 0; lane < lanes; ++lane)
        if (const int column = j * lanes + lane; column >= first && column < end) met |= 1U << lane;
      trip.lanes.push_back(met);
    }
  }
  return rim;
}

TileCode randomTile(Random& r, VectorForm form, int height, int width, Numbers& numbers) {
  const int size = form.elementBytes, lanes = form.registerBytes / size;
  TileCode t{};
  t.form = form;
  t.height = height;
  t.width = width;
  t.tail = r.coin() ? 1 + r.below(lanes - 1) : 0;
  t.masksB = t.tail > 0 && r.coin();
  t.masksC = t.tail > 0 && r.coin();
  for (int level = 1 + r.below(3); level > 0; --level) {
    TileCode::Loop l{};
    l.trips = 1 + r.below(5);
    l.stepA = (r.below(60) - 20) * size;
    l.stepB = r.below(100) * size;
    const auto n = static_cast<size_t>(t.arguments);
    if (r.below(3) == 0 && n < 4) {
      l.first = t.arguments;
      l.countIsArgument = r.coin();
      l.mayBeNone = r.coin();
      t.arguments += l.countIsArgument ? 1 : 2;
      numbers[n] = l.countIsArgument ? (l.mayBeNone ? 0 : 1) + r.below(4) : r.below(3);
      if (!l.countIsArgument) numbers[n + 1] = numbers[n] + (l.mayBeNone ? r.below(4) - 1 : 1 + r.below(3));
    }
    t.loops.push_back(l);
  }
  t.rowOfA = r.below(50) * size;
  t.rowOfC = (width * lanes + r.below(40)) * size;
  for (int j = 0; j < width; ++j) t.columnsOfB.push_back((j * lanes + r.below(30)) * size);
  if (r.coin()) t.prefetchB = r.below(1000) * size;
  t.prefetchC = r.coin();
  t.addsToC = r.coin();
  if (r.below(3) == 0) {
    t.places = TileCode::Places{1 + r.below(3), r.below(4), 1 + r.below(3), 5 + r.below(20), {}};
    for (int i = 0; i < height; ++i) t.places->mayMiss.push_back(r.below(4) != 0);
    numbers[static_cast<size_t>(t.arguments++)] = r.below(8);
  }
  if (!t.places && form.registerBytes == 64 && !t.loops.back().first && r.coin()) {
    for (int64_t place = 1 + r.below(3); place > 0; --place) t.rims.push_back(randomRim(r, t, place));
    numbers[static_cast<size_t>(t.arguments++)] = r.below(4);
  }
  return t;
}

class Assembled : public testing::TestWithParam<VectorForm> {
 protected:
  void SetUp() override {
    const bool isWide =
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (GetParam().registerBytes == 64 && !isWide) GTEST_SKIP() << "this machine has no AVX-512";
  }
};

template <typename T>
void checkTiles(VectorForm form) {
  constexpr size_t kMiddle = 1000;
  Random r;
  const std::vector<T> a = r.numbers<T>(5000), b = r.numbers<T>(5000), c = r.numbers<T>(10000);
  int checked = 0;
  for (int height = 1; height <= 30; ++height)
    for (int width = 1; width <= 4; ++width)
      for (int variant = 0; variant < 20; ++variant) {
        Numbers n{};
        const TileCode tile = randomTile(r, form, height, width, n);
        if (!isAssembled(tile)) continue;
        ++checked;
        std::vector<T> expected = c;
        PlainTile<T>(tile, n, &a[kMiddle], b.data(), expected.data()).run();
        const MachineCode code = assembledTile(tile, "tile");
        EXPECT_EQ(assembledTile(tile).bytes, code.bytes);
        for (const std::string& bytes : {code.bytes, assembledByLlvm(code.listing)}) {
          std::vector<T> got = c;
          const Callable run(bytes);
          run(&a[kMiddle], b.data(), got.data(), n[0], n[1], n[2], n[3], n[4], n[5]);
          ASSERT_EQ(std::memcmp(expected.data(), got.data(), got.size() * sizeof(T)), 0) << code.listing;
        }
      }
  EXPECT_GE(checked, 400);
}

TEST_P(Assembled, TilesAreAsPlainLoops) {
  GetParam().elementBytes == 8 ? checkTiles<double>(GetParam()) : checkTiles<float>(GetParam());
}

template <typename T>
void checkTurn(VectorForm form) {
  constexpr int64_t kDistance = 150, kRows = 40;  // of rows, and of columns where they are turned
  Random r;
  const std::vector<T> sums = r.numbers<T>(kRows * kDistance);
  const int64_t lanes = form.registerBytes / form.elementBytes, together = 16 / form.elementBytes;
  const MachineCode code = assembledTurn(form, "turn");
  for (const std::string& bytes : {code.bytes, assembledByLlvm(code.listing)}) {
    const Callable run(bytes);
    for (const auto& [first, last] : {std::pair{0, 7}, std::pair{4, 4}, std::pair{8, 29}})
      for (int64_t vectors = 1; vectors <= 4; ++vectors) {
        std::vector<T> expected(kRows * kDistance), got = expected;
        const int64_t end = first + (last - first + together - 1) / together * together;
        for (int64_t row = first; row < end; ++row)
          for (int64_t column = 0; column < vectors * lanes; ++column)
            expected[static_cast<size_t>(column * kRows + row)] = sums[static_cast<size_t>(row * kDistance + column)];
        run(sums.data(), got.data(), int64_t{first}, int64_t{last}, vectors, kDistance, kRows);
        EXPECT_EQ(expected, got) << code.listing;
      }
  }
}

TEST_P(Assembled, SumsAreTurned) {
  GetParam().elementBytes == 8 ? checkTurn<double>(GetParam()) : checkTurn<float>(GetParam());
}

template <typename T>
void checkBlockTurn(VectorForm form) {
  constexpr int64_t kDistance = 90, kRow = 48;  // of rows, and of columns where they are turned
  const auto size = static_cast<int64_t>(sizeof(T)), lanes = form.registerBytes / size;
  Random r;
  const std::vector<T> rows = r.numbers<T>(40 * kDistance);
  const MachineCode code = assembledBlockTurn(form, kRow * form.elementBytes, "turn");
  for (const std::string& bytes : {code.bytes, assembledByLlvm(code.listing)}) {
    const Callable run(bytes);
    for (int variant = 0; variant < 100; ++variant) {
      const int64_t height = r.below(40), width = r.below(80), first = r.coin() ? 0 : 39;
      const int64_t distance = first == 0 ? kDistance : -kDistance;
      std::vector<T> got(static_cast<size_t>((width + lanes) * kRow), T{7}), expected = got;
      run(&rows[static_cast<size_t>(first * kDistance)], got.data(), width, height, distance * size);
      const int64_t stored = width > 0 ? (height + lanes - 1) / lanes * lanes : 0;
      const int64_t storedColumns = (width + lanes - 1) / lanes * lanes;
      for (int64_t column = 0; column < storedColumns; ++column)
        for (int64_t row = 0; row < stored; ++row) {
          const int64_t from = first * kDistance + std::min(row, height - 1) * distance + column;
          expected[static_cast<size_t>(column * kRow + row)] = column < width ? rows[static_cast<size_t>(from)] : T{0};
        }
      ASSERT_EQ(expected, got) << code.listing;
    }
  }
}

TEST_P(Assembled, BlocksAreTurned) {
  GetParam().elementBytes == 8 ? checkBlockTurn<double>(GetParam()) : checkBlockTurn<float>(GetParam());
}

template <typename T>
void checkPack(VectorForm form) {
  constexpr int kDistance = 90;  // from one row of B to the next
  Random r;
  const std::vector<T> b = r.numbers<T>(80 * kDistance);
  const int lanes = form.registerBytes / form.elementBytes;
  for (int variant = 0; variant < 200; ++variant) {
    const bool turned = r.coin();
    const int vectors = 1 + r.below(4), terms = 1 + r.below(70), columns = 1 + r.below(vectors * lanes);
    const int distance = turned ? -kDistance : kDistance;
    const PackCode pack = {form, turned, terms, columns, vectors, distance * form.elementBytes};
    ASSERT_TRUE(isAssembled(pack));
    const int first = turned ? 70 * kDistance : 0, row = vectors * lanes;
    std::vector<T> expected(static_cast<size_t>(terms * row) + 4, T{7});
    for (int term = 0; term < terms; ++term)
      for (int column = 0; column < row; ++column) {
        const int at = first + (turned ? column * distance + term : term * distance + column);
        expected[static_cast<size_t>(term * row + column)] = column < columns ? b[static_cast<size_t>(at)] : T{0};
      }
    const MachineCode code = assembledPack(pack, "pack");
    EXPECT_EQ(assembledPack(pack).bytes, code.bytes);
    for (const std::string& bytes : {code.bytes, assembledByLlvm(code.listing)}) {
      std::vector<T> got(expected.size(), T{7});
      const Callable run(bytes);
      run(&b[static_cast<size_t>(first)], got.data());
      ASSERT_EQ(expected, got) << code.listing;
    }
  }
}

TEST_P(Assembled, PanelsArePacked) {
  GetParam().elementBytes == 8 ? checkPack<double>(GetParam()) : checkPack<float>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Forms, Assembled,
                         testing::Values(VectorForm{32, 4}, VectorForm{32, 8}, VectorForm{64, 4}, VectorForm{64, 8}));

}  // namespace
}  // namespace tenc::codegen::cpu
