// From LLVM modules to running code: a TargetMachine for this host, object files in memory, and their loading with
// pages that are never writable and executable at once.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <string_view>

namespace tenc::codegen::cpu {

/// What code may use on this machine. Found once.
struct HostTarget {
  std::string cpu;
  std::string features;
  int registerBytes = 32;  ///< of vector registers: 64 with AVX-512, else 32
  bool avx512() const { return registerBytes == 64; }
};
const HostTarget& hostTarget();

using ObjectFile = llvm::SmallVector<char, 0>;

/// Compiles modules of one context. Not thread-safe: one for each thread.
class Compiler {
 public:
  Compiler();
  ~Compiler();
  llvm::LLVMContext& context() { return context_; }
  /// An empty module for this host.
  std::unique_ptr<llvm::Module> newModule(const std::string& name);
  /// Machine code as an ELF object; consumes the module's function bodies. No optimiser passes run: IR is emitted as it
  /// should execute. Empty, with `error` set, when the module is malformed.
  ObjectFile compile(llvm::Module& module, std::string& error);
  std::string assembly(llvm::Module& module);

 private:
  bool run(llvm::Module& module, llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type);
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// An object file loaded into this process. Unloaded by the destructor.
class LoadedCode {
 public:
  /// Null, with `error` set, when the object cannot be loaded.
  static std::shared_ptr<LoadedCode> load(const ObjectFile& object, std::string& error);
  ~LoadedCode();
  /// The address of a function, or null.
  void* symbol(std::string_view name) const;

 private:
  struct Impl;
  explicit LoadedCode(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenc::codegen::cpu
