// From LLVM modules to object files in memory: a TargetMachine for this host or for a part of what it has.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/VectorUnit.h"

namespace llvm {
class TargetPassConfig;
namespace legacy {
class PassManager;
}
}  // namespace llvm

namespace tenc::codegen::cpu {

/// What code may use.
struct Processor {
  std::string cpu;
  std::string features;
  VectorUnit vectors;
  std::vector<std::string> needed;  ///< features whose instructions code may have, by LLVM's names
};
/// All that this machine has. Found once.
const Processor& hostProcessor();
/// The processor `name` ("x86-64-v3", "haswell", ...; "native" and "" are this machine), or nullopt with a sentence in
/// `error` when it is unknown, has less than AVX2, FMA and F16C, or has what this machine lacks.
std::optional<Processor> processorNamed(std::string_view name, std::string& error);

/// What a module's code is for. Stands in the module, as its triple does.
VectorUnit vectorUnit(const llvm::Module& module);
inline bool usesAvx512(const llvm::Module& module) { return vectorUnit(module).registerBytes == 64; }

using ObjectFile = llvm::SmallVector<char, 0>;

/// Compiles modules of one context. Not thread-safe: one for each thread.
class Compiler {
 public:
#ifdef NDEBUG
  static constexpr bool kVerifies = false;  // it takes time
#else
  static constexpr bool kVerifies = true;
#endif
  /// `verifies`: whether LLVM's verifier looks at modules first.
  explicit Compiler(const Processor& target, bool verifies = kVerifies);
  ~Compiler();
  llvm::LLVMContext& context() { return context_; }
  llvm::TargetMachine& machine() { return *machine_; }
  /// Makes what LLVM makes once in a process, where loops of optimised code first need it.
  void makeTables();
  /// An empty module for the target.
  std::unique_ptr<llvm::Module> newModule(const std::string& name);
  /// Machine code as an ELF object; consumes the module's function bodies. No optimiser passes run: IR is emitted as it
  /// should execute. Empty, with `error` set, when the module is malformed.
  ObjectFile compile(llvm::Module& module, CodeKind kind, std::string& error);
  std::string assembly(llvm::Module& module, CodeKind kind);

 private:
  bool run(llvm::Module& module, CodeKind kind, llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type);
  bool addSelection(llvm::legacy::PassManager& passes, llvm::TargetPassConfig& config, CodeKind kind);
  llvm::LLVMContext context_;
  VectorUnit vectors_;
  const bool verifies_;
  std::unique_ptr<llvm::LLVMTargetMachine> machine_;
};

}  // namespace tenc::codegen::cpu
