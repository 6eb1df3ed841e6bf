#include "codegen/cpu/CompileAll.h"

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "codegen/cpu/CompileParts.h"
#include "codegen/cpu/KernelEmitters.h"
#include "support/Parallel.h"

namespace tenc::codegen::cpu {
namespace {

/// A function whose only block does not end.
void addMalformedFunction(llvm::Module& module) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "malformed", module);
  llvm::BasicBlock::Create(module.getContext(), "", function);
}

}  // namespace

std::string functionName(size_t i) { return "kernel" + std::to_string(i); }

std::vector<CodePiece> compileAll(std::span<const ScheduledKernel> kernels, const Processor& processor,
                                  const CpuOptions& options, std::string& error) {
  const std::vector<std::vector<size_t>> lists = compileParts(kernels, options.compileThreads);
  std::vector<CodePiece> compiled(kernels.size());
  std::vector<std::string> errors(lists.size());
  // The kernels of one thread and kind are one module: the functions that they share are compiled once.
  auto compileSome = [&](Compiler& compiler, const std::vector<size_t>& some, CodeKind kind, std::string& wrong) {
    auto module = compiler.newModule("kernels");
    std::vector<std::string> names;
    for (size_t i : some) {
      names.push_back(functionName(i));
      const auto& [kernel, schedule] = kernels[i];
      wrong =
          emitKernel({*kernel, *module, names.back(), levelOf(kind), options.contract, compiler.machine()}, *schedule);
      if (!wrong.empty()) return;
    }
    if (options.malformed) addMalformedFunction(*module);
    const ObjectFile object = compiler.compile(*module, kind, wrong);
    if (!wrong.empty()) return;
    std::vector<CodePiece> pieces = cutPieces({object.data(), object.size()}, names, wrong);
    for (size_t n = 0; n < pieces.size(); ++n) compiled[some[n]] = std::move(pieces[n]);
  };
  const auto isFull = [&](size_t i) { return levelOf(codeKind(*kernels[i].schedule)) == Level::Full; };
  auto work = [&](size_t p) {
    Compiler compiler(processor, Compiler::kVerifies || options.malformed);
    // The first thread has most to do, and the others would wait for it in the end.
    if (p == 1 && std::ranges::any_of(lists[0], isFull)) compiler.makeTables();
    for (CodeKind kind : kCodeKinds) {
      std::vector<size_t> some;
      for (size_t i : lists[p])
        if (codeKind(*kernels[i].schedule) == kind) some.push_back(i);
      if (!some.empty() && errors[p].empty()) compileSome(compiler, some, kind, errors[p]);
    }
  };
  inParallel(lists.size(), work);
  for (std::string& e : errors)
    if (error.empty()) error = std::move(e);
  return compiled;
}

}  // namespace tenc::codegen::cpu
