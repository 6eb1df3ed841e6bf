// That the features a processor is told to have are those that LLVM's lists leave open.
#include <gtest/gtest.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <memory>

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
}

namespace tenc::codegen::cpu {
namespace {

const llvm::Target& target() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  std::string error;
  return *llvm::TargetRegistry::lookupTarget("x86_64-unknown-linux-gnu", error);
}

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
