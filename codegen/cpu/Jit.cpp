#include "codegen/cpu/Jit.h"

#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <mutex>

#include "codegen/MathHelpers.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace tenc::codegen::cpu {
namespace {

void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

constexpr const char* kRegisterBytes = "tenc.register-bytes";  // the module flag

/// AVX-512 with what the code generator relies on: masks on all element widths.
bool hasWideVectors(const std::function<bool(llvm::StringRef)>& has) {
  for (const char* name : {"avx512f", "avx512bw", "avx512dq", "avx512vl"})
    if (!has(name)) return false;
  return true;
}

CpuTarget findHost() {
  CpuTarget t;
  t.cpu = llvm::sys::getHostCPUName().str();
  auto features = llvm::sys::getHostCPUFeatures();
  for (const auto& f : features) {
    if (!t.features.empty()) t.features += ',';
    t.features += (f.second ? "+" : "-") + f.first().str();
  }
  t.registerBytes = hasWideVectors([&](llvm::StringRef name) { return features.lookup(name); }) ? 64 : 32;
  return t;
}

/// Whether the compiler selects instructions of a feature unasked. The others (caches, memory protection, ...) do not
/// matter: their instructions never appear.
bool isSelected(llvm::StringRef feature) {
  for (const char* prefix : {"sse", "ssse", "avx", "fma", "f16c", "bmi", "popcnt", "lzcnt", "movbe", "gfni", "vaes",
                             "vpclmulqdq", "pclmul", "adx", "cmov", "xop", "tbm", "crc32"})
    if (feature.starts_with(prefix)) return true;
  return false;
}

/// One mapping for all sections of one object: code, constants and data on their own pages.
class CodeMemory : public llvm::RuntimeDyld::MemoryManager {
 public:
  ~CodeMemory() override {
    if (base_ != nullptr) munmap(base_, size_);
  }
  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code, llvm::Align codeAlign, uintptr_t readOnly, llvm::Align readOnlyAlign,
                              uintptr_t data, llvm::Align dataAlign) override {
    uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto pages = [&](uintptr_t bytes, llvm::Align a) { return (bytes + a.value() + page - 1) / page * page; };
    uintptr_t sizes[] = {pages(code, codeAlign), pages(readOnly, readOnlyAlign), pages(data, dataAlign)};
    size_ = sizes[0] + sizes[1] + sizes[2];
    void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    base_ = static_cast<uint8_t*>(p);
    uint8_t* at = base_;
    for (int i = 0; i < 3; at += sizes[i], ++i) areas_[i] = {at, at, at + sizes[i]};
  }
  uint8_t* allocateCodeSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef) override {
    return allocate(areas_[0], size, align);
  }
  uint8_t* allocateDataSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef, bool readOnly) override {
    return allocate(areas_[readOnly ? 1 : 2], size, align);
  }
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}
  bool finalizeMemory(std::string* error) override {
    auto protect = [](const Area& a, int how) {
      return a.begin == a.end || mprotect(a.begin, static_cast<size_t>(a.end - a.begin), how) == 0;
    };
    if (protect(areas_[0], PROT_READ | PROT_EXEC) && protect(areas_[1], PROT_READ)) return false;
    if (error != nullptr) *error = "cannot change the protection of code pages";
    return true;
  }

 private:
  struct Area {
    uint8_t* begin = nullptr;
    uint8_t* next = nullptr;
    uint8_t* end = nullptr;
  };
  static uint8_t* allocate(Area& a, uintptr_t size, unsigned align) {
    uintptr_t alignment = std::max(align, 1u);
    auto at = (reinterpret_cast<uintptr_t>(a.next) + alignment - 1) / alignment * alignment;
    auto* p = reinterpret_cast<uint8_t*>(at);
    if (a.begin == nullptr || p + size > a.end) return nullptr;
    a.next = p + size;
    return p;
  }
  uint8_t* base_ = nullptr;
  size_t size_ = 0;
  Area areas_[3];
};

/// Code refers to its helpers by name.
class Helpers : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    void* p = helperAddress(name);
    if (p == nullptr) return nullptr;
    return {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(p)), llvm::JITSymbolFlags::Exported};
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

}  // namespace

const CpuTarget& hostTarget() {
  static const CpuTarget host = findHost();
  return host;
}

std::optional<CpuTarget> targetNamed(std::string_view name, std::string& error) {
  if (name.empty() || name == "native") return hostTarget();
  const std::string own(name);
  if (llvm::X86::parseArchX86(own, /*Only64Bit=*/true) == llvm::X86::CK_None) {
    error = "there is no x86-64 processor `" + own + "`; x86-64-v3 is AVX2, x86-64-v4 is AVX-512, native is this one";
    return std::nullopt;
  }
  llvm::SmallVector<llvm::StringRef, 64> features;
  llvm::X86::getFeaturesForCPU(own, features);
  const auto has = [&](llvm::StringRef f) { return llvm::is_contained(features, f); };
  for (const char* needed : {"avx2", "fma", "f16c"}) {
    if (has(needed)) continue;
    error = "`" + own + "` has no " + needed + ", which compiled code needs; the least is x86-64-v3";
    return std::nullopt;
  }
  const auto host = llvm::sys::getHostCPUFeatures();
  std::string lacking;
  for (llvm::StringRef f : features)
    if (isSelected(f) && !host.lookup(f)) lacking += (lacking.empty() ? "" : ", ") + f.str();
  if (!lacking.empty()) {
    error = "this machine (" + hostTarget().cpu + ") lacks what `" + own + "` has: " + lacking;
    return std::nullopt;
  }
  return CpuTarget{own, "", hasWideVectors(has) ? 64 : 32};
}

int registerBytes(const llvm::Module& module) {
  auto* flag = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kRegisterBytes));
  return flag == nullptr ? 32 : static_cast<int>(flag->getZExtValue());
}

Compiler::Compiler(const CpuTarget& target) : registerBytes_(target.registerBytes) {
  initializeTarget();
  std::string triple = llvm::sys::getProcessTriple(), error;
  const llvm::Target* code = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // only operations that are marked are contracted
  options.GuaranteedTailCallOpt = false;
  machine_.reset(code->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                           llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less, /*JIT=*/true));
  context_.setDiscardValueNames(true);
}

Compiler::~Compiler() = default;

std::unique_ptr<llvm::Module> Compiler::newModule(const std::string& name) {
  auto m = std::make_unique<llvm::Module>(name, context_);
  m->setTargetTriple(machine_->getTargetTriple().str());
  m->setDataLayout(machine_->createDataLayout());
  m->addModuleFlag(llvm::Module::Error, kRegisterBytes, static_cast<uint32_t>(registerBytes_));
  return m;
}

bool Compiler::run(llvm::Module& module, Level level, llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type) {
  machine_->setOptLevel(level == Level::Quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less);
  machine_->setFastISel(false);  // level None turns it on, and it would stay
  llvm::legacy::PassManager passes;
  if (machine_->addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) return false;
  passes.run(module);
  return true;
}

ObjectFile Compiler::compile(llvm::Module& module, Level level, std::string& error) {
#ifndef NDEBUG
  llvm::raw_string_ostream problems(error);
  if (llvm::verifyModule(module, &problems)) return {};
#endif
  ObjectFile object;
  llvm::raw_svector_ostream out(object);
  if (!run(module, level, out, llvm::CodeGenFileType::ObjectFile))
    error = "this host's code generator writes no objects";
  return object;
}

std::string Compiler::assembly(llvm::Module& module, Level level) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  run(module, level, out, llvm::CodeGenFileType::AssemblyFile);
  return std::string(text);
}

struct LoadedCode::Impl {
  CodeMemory memory;
  Helpers helpers;
  llvm::RuntimeDyld linker{memory, helpers};
  std::unique_ptr<llvm::RuntimeDyld::LoadedObjectInfo> info;
};

LoadedCode::LoadedCode(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoadedCode::~LoadedCode() = default;

std::shared_ptr<LoadedCode> LoadedCode::load(const ObjectFile& object, std::string& error) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernels");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) {
    error = llvm::toString(file.takeError());
    return nullptr;
  }
  auto impl = std::make_unique<Impl>();
  impl->info = impl->linker.loadObject(**file);
  if (!impl->linker.hasError()) impl->linker.finalizeWithMemoryManagerLocking();
  if (impl->linker.hasError()) {
    error = impl->linker.getErrorString().str();
    return nullptr;
  }
  return std::shared_ptr<LoadedCode>(new LoadedCode(std::move(impl)));
}

void* LoadedCode::symbol(std::string_view name) const {
  auto found = impl_->linker.getSymbol(llvm::StringRef(name.data(), name.size()));
  return reinterpret_cast<void*>(static_cast<uintptr_t>(found.getAddress()));
}

}  // namespace tenc::codegen::cpu
