#include "codegen/cpu/KernelFunction.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/cpu/Jit.h"
#include "codegen/cpu/LlvmScalars.h"

namespace tenc::codegen::cpu {
using llvm::Value;

namespace {

uint64_t scratchOffset(const Kernel& kernel, size_t buffer) {
  uint64_t offset = 0;
  for (size_t i = 0; i < buffer; ++i) {
    const Buffer& b = kernel.buffers[i];
    if (b.role == Buffer::Role::Scratch)
      offset += (static_cast<uint64_t>(b.elements) * static_cast<uint64_t>(ir::byteSize(b.dtype)) + 63) / 64 * 64;
  }
  return offset;
}

}  // namespace

uint64_t scratchBytes(const Kernel& kernel) { return scratchOffset(kernel, kernel.buffers.size()); }

void setCodeAttributes(llvm::Function& f) {
  f.addFnAttr(llvm::Attribute::NoUnwind);
  if (usesAvx512(*f.getParent())) {
    f.addFnAttr("prefer-vector-width", "512");
    f.addFnAttr("min-legal-vector-width", "512");
  }
}

llvm::Function* createLocalFunction(llvm::Module& m, const std::string& name, llvm::ArrayRef<llvm::Type*> arguments,
                                    unsigned apart) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m.getContext()), arguments, false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, m);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned i = 0; i < apart; ++i) f->addParamAttr(i, llvm::Attribute::NoAlias);
  return f;
}

llvm::Function* createKernelFunction(llvm::Module& m, const std::string& name) {
  llvm::LLVMContext& c = m.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* i64 = llvm::Type::getInt64Ty(c);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {pointer, pointer, i64, i64, pointer, pointer}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, m);
  setCodeAttributes(*f);
  for (unsigned i : {0u, 1u, 4u, 5u}) f->addParamAttr(i, llvm::Attribute::NoAlias);
  return f;
}

KernelArgs loadArguments(llvm::IRBuilderBase& b, llvm::Function* function, const Kernel& kernel) {
  KernelArgs args;
  auto* pointer = b.getPtrTy();
  args.fault = function->getArg(4);
  args.scratch = function->getArg(5);
  unsigned slot = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].role == Buffer::Role::Scratch) {
      args.buffers.push_back(b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), args.scratch, scratchOffset(kernel, i)));
    } else {
      args.buffers.push_back(b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), slot++)));
    }
  }
  for (size_t i = 0; i < kernel.scalars.size(); ++i) {
    Value* at = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(1), i);
    args.scalars.push_back(b.CreateLoad(memoryType(b.getContext(), kernel.scalars[i]), at));
  }
  return args;
}

std::vector<bool> pastCaches(const Kernel& kernel) {
  // The third-level cache of a core complex of Zen 4 and Zen 5. What systems report in virtual machines may be that of
  // a whole socket.
  constexpr int64_t kCaches = 32 << 20, kLarge = 4 << 20;
  auto bytes = [&](uint32_t b) { return kernel.buffers[b].elements * ir::byteSize(kernel.buffers[b].dtype); };
  std::set<std::pair<uint32_t, std::vector<int64_t>>> walks;  // a transposed operand is walked through on its own
  std::vector<bool> written(kernel.buffers.size()), read(kernel.buffers.size());
  for (const Stage& stage : kernel.stages) {
    for (const Expr& e : stage.exprs) {
      if (e.kind != Expr::Kind::Load) continue;
      walks.emplace(e.access.buffer, e.access.strides);
      read[e.access.buffer] = true;
    }
    for (const Store& s : stage.stores) written[s.access.buffer] = true;
  }
  int64_t walked = 0;
  for (const auto& [buffer, strides] : walks) walked += bytes(buffer);
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b) walked += written[b] ? bytes(b) : 0;
  std::vector<bool> past(kernel.buffers.size());
  for (uint32_t b = 0; walked > kCaches && b < kernel.buffers.size(); ++b)
    past[b] = kernel.buffers[b].role == Buffer::Role::Output && written[b] && !read[b] && bytes(b) >= kLarge;
  if (std::find(past.begin(), past.end(), true) == past.end()) past.clear();
  return past;
}

void finishPastCaches(llvm::IRBuilderBase& b, const KernelArgs& args) {
  if (!args.pastCaches.empty()) b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

}  // namespace tenc::codegen::cpu
