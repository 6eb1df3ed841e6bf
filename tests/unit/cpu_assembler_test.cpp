// The assembler against LLVM's: each line of the listing is assembled by LLVM and has to be the bytes that stand for
// it. And that the features a processor is told to have are those that LLVM's lists leave open.
#include <gtest/gtest.h>
#include <llvm/ADT/StringSet.h>
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
#include <llvm/TargetParser/X86TargetParser.h>

#include <random>

#include "codegen/cpu/Assembler.h"

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

class Random {
 public:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  Gpr gpr() { return static_cast<Gpr>(below(16)); }
  int32_t number() {
    const int bits = below(30);
    return (below(2) != 0 ? 1 : -1) * below(2 << bits);
  }
  /// Distances that are multiples of vectors and of parts of them, and others.
  Mem memory() { return {gpr(), below(4) == 0 ? 0 : below(2) != 0 ? (below(600) - 300) * (1 << below(7)) : number()}; }

 private:
  std::mt19937 engine_{7};
};

class Assembled : public testing::TestWithParam<VectorForm> {};

TEST_P(Assembled, AsLlvmDoes) {
  const VectorForm form = GetParam();
  const bool wide = form.registerBytes == 64;
  const int count = wide ? 32 : 16;
  Random r;
  const auto v = [&] { return r.below(count); };
  std::vector<std::function<void(Assembler&)>> all = {
      [&](Assembler& a) { a.move(r.gpr(), r.gpr()); },
      [&](Assembler& a) { a.move(r.gpr(), r.number()); },
      [&](Assembler& a) { a.load(r.gpr(), r.memory()); },
      [&](Assembler& a) { a.store(r.memory(), r.gpr()); },
      [&](Assembler& a) { a.add(r.gpr(), r.number()); },
      [&](Assembler& a) { a.add(r.gpr(), r.gpr()); },
      [&](Assembler& a) { a.add(r.gpr(), r.memory()); },
      [&](Assembler& a) { a.add(r.memory(), r.number()); },
      [&](Assembler& a) { a.subtract(r.gpr(), r.number()); },
      [&](Assembler& a) { a.subtract(r.gpr(), r.gpr()); },
      [&](Assembler& a) { a.subtract(r.gpr(), r.memory()); },
      [&](Assembler& a) { a.multiply(r.gpr(), r.gpr(), r.number()); },
      [&](Assembler& a) { a.multiply(r.gpr(), r.gpr()); },
      [&](Assembler& a) { a.address(r.gpr(), r.memory()); },
      [&](Assembler& a) { a.compare(r.gpr(), r.number()); },
      [&](Assembler& a) { a.compare(r.memory(), r.number()); },
      [&](Assembler& a) { a.decrement(r.gpr()); },
      [&](Assembler& a) { a.decrement(r.memory()); },
      [&](Assembler& a) { a.push(r.gpr()); },
      [&](Assembler& a) { a.pop(r.gpr()); },
      [&](Assembler& a) { a.prefetch(r.memory(), r.below(2) != 0); },
      [&](Assembler& a) { a.leave(); },
      [&](Assembler& a) { a.clear(v()); },
      [&](Assembler& a) { a.load(v(), r.memory()); },
      [&](Assembler& a) { a.store(r.memory(), v()); },
      [&](Assembler& a) { a.broadcast(v(), r.memory()); },
      [&](Assembler& a) { a.multiplyAdd(v(), v(), v()); },
      [&](Assembler& a) { a.interleave(v(), v(), v(), 4, r.below(2) != 0); },
      [&](Assembler& a) { a.interleave(v(), v(), v(), 8, r.below(2) != 0); },
      [&](Assembler& a) { a.storePart(r.memory(), v(), r.below(form.registerBytes / 16)); },
      [&](Assembler& a) {
        a.selectLanes(1 + r.below(form.registerBytes / form.elementBytes - 1), v());
        a.loadSelected(v(), r.memory());
        a.storeSelected(r.memory(), v());
        a.leave();
      },
  };
  if (wide) all.emplace_back([&](Assembler& a) { a.multiplyAddBroadcast(v(), v(), r.memory()); });
  for (size_t n = 0; n < all.size() * 40; ++n) {
    Assembler a(form, /*listing=*/true, "f");
    all[n % all.size()](a);
    EXPECT_EQ(assembledByLlvm(a.text()), a.code()) << a.text();
  }
}

TEST_P(Assembled, JumpsReachTheirLabels) {
  Assembler a(GetParam(), /*listing=*/true, "f");
  Assembler::Label back, further;
  a.bind(back);
  for (int i = 0; i < 20; ++i) a.add(Gpr::R8, 1 << 20);
  a.jumpIf(Assembler::If::NotZero, back);
  a.jumpIf(Assembler::If::LessOrEqual, further);
  for (int i = 0; i < 40; ++i) a.add(Gpr::R8, 1 << 20);
  a.jumpIf(Assembler::If::Greater, back);
  a.jumpIf(Assembler::If::AboveOrEqual, further);
  for (int i = 0; i < 40; ++i) a.add(Gpr::R8, 1 << 20);
  a.bind(further);
  a.leave();
  EXPECT_EQ(assembledByLlvm(a.text()), a.code());
}

INSTANTIATE_TEST_SUITE_P(Forms, Assembled,
                         testing::Values(VectorForm{32, 4}, VectorForm{32, 8}, VectorForm{64, 4}, VectorForm{64, 8}));

/// A feature that a host lacks is told to LLVM where a list of what processors of its name have names it. So each that
/// LLVM turns on for a name has to be in the list, but for those that all hosts have here, and avx512f, which is told
/// always.
TEST(Processors, ListsNameWhatLlvmTurnsOn) {
  const llvm::StringSet<> known = {"sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "cmov", "avx512f"};
  llvm::SmallVector<llvm::StringRef, 64> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  for (const llvm::StringRef name : names) {
    llvm::SmallVector<llvm::StringRef, 64> list;
    llvm::X86::getFeaturesForCPU(name, list);
    const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
        target().createMCSubtargetInfo("x86_64-unknown-linux-gnu", name, ""));
    for (const llvm::SubtargetFeatureKV& f : subtarget->getEnabledProcessorFeatures()) {
      const llvm::StringRef key = f.Key;
      const bool isSelected =
          llvm::any_of(std::initializer_list<llvm::StringRef>{"sse", "ssse", "avx", "fma", "f16c", "bmi", "popcnt",
                                                              "lzcnt", "movbe", "gfni", "vaes", "vpclmulqdq", "pclmul",
                                                              "adx", "cmov", "xop", "tbm", "crc32"},
                       [&](llvm::StringRef prefix) { return key.starts_with(prefix); });
      EXPECT_TRUE(!isSelected || known.contains(key) || llvm::is_contained(list, key)) << name.str() << ": " << f.Key;
    }
  }
}

}  // namespace
}  // namespace tenc::codegen::cpu
