#include "codegen/cpu/Jit.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetOpcodes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/X86TargetParser.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

#include "codegen/cpu/ConstantSections.h"
#include "codegen/cpu/LatencyOrder.h"
#include "codegen/cpu/NativePasses.h"

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
    setVectoriserOptions();
  });
}

constexpr const char *kRegisterBytes = "tenc.register-bytes", *kPathBytes = "tenc.path-bytes", *kPairs = "tenc.pairs",
                     *kQuads = "tenc.quads", *kPrefetches = "tenc.prefetches-writes",
                     *kCrowds = "tenc.crowds";  // module flags

/// AVX-512 with what the code generator relies on: masks on all element widths. LLVM's lists of what processors have
/// leave out what follows from the rest, as avx512f does.
bool hasWideVectors(const std::function<bool(llvm::StringRef)>& has) {
  for (const char* name : {"avx512bw", "avx512dq", "avx512vl"})
    if (!has(name)) return false;
  return true;
}

VectorUnit unitOf(llvm::StringRef cpu, const std::function<bool(llvm::StringRef)>& has) {
  const bool prefetches = has("prfchw");
  if (!hasWideVectors(has)) return {32, 32, false, false, prefetches};
  return {64, cpu == "znver4" ? 32 : 64, has("avx512bf16"), has("avx512vnni"), prefetches, !cpu.starts_with("znver")};
}

/// Whether the compiler selects instructions of a feature unasked. The others (caches, memory protection, ...) do not
/// matter: their instructions never appear.
bool isSelected(llvm::StringRef feature) {
  for (const char* prefix : {"sse", "ssse", "avx", "fma", "f16c", "bmi", "popcnt", "lzcnt", "movbe", "gfni", "vaes",
                             "vpclmulqdq", "pclmul", "adx", "cmov", "xop", "tbm", "crc32"})
    if (feature.starts_with(prefix)) return true;
  return false;
}

Processor findHost() {
  Processor t;
  t.cpu = llvm::sys::getHostCPUName().str();
  auto features = llvm::sys::getHostCPUFeatures();
  // Only what differs from other processors of the name: LLVM follows each feature that it is told to all that the
  // feature implies, for every machine and every subtarget. LLVM's lists leave out avx512f (hasWideVectors).
  llvm::SmallVector<llvm::StringRef, 64> usual;
  if (llvm::X86::parseArchX86(t.cpu, /*Only64Bit=*/true) != llvm::X86::CK_None)
    llvm::X86::getFeaturesForCPU(t.cpu, usual);
  llvm::StringSet<> known;
  for (const llvm::StringRef f : usual) known.insert(f);
  for (const auto& f : features) {
    if (f.second && isSelected(f.first())) t.needed.push_back(f.first().str());
    if (f.second == known.contains(f.first()) && f.first() != "avx512f") continue;
    if (!t.features.empty()) t.features += ',';
    t.features += (f.second ? "+" : "-") + f.first().str();
  }
  std::sort(t.needed.begin(), t.needed.end());
  t.vectors = unitOf(t.cpu, [&](llvm::StringRef name) { return features.lookup(name); });
  return t;
}

}  // namespace

const Processor& hostProcessor() {
  static const Processor host = findHost();
  return host;
}

std::optional<Processor> processorNamed(std::string_view name, std::string& error) {
  if (name.empty() || name == "native") return hostProcessor();
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
    error = "this machine (" + hostProcessor().cpu + ") lacks what `" + own + "` has: " + lacking;
    return std::nullopt;
  }
  Processor t{own, "", unitOf(own, has), {}};
  for (llvm::StringRef f : features)
    if (isSelected(f)) t.needed.push_back(f.str());
  return t;
}

VectorUnit vectorUnit(const llvm::Module& module) {
  auto number = [&](const char* name, int otherwise) {
    auto* flag = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(module.getModuleFlag(name));
    return flag == nullptr ? otherwise : static_cast<int>(flag->getZExtValue());
  };
  return {number(kRegisterBytes, 32), number(kPathBytes, 32),      number(kPairs, 0) != 0,
          number(kQuads, 0) != 0,     number(kPrefetches, 0) != 0, number(kCrowds, 0) != 0};
}

Compiler::Compiler(const Processor& target, bool verifies) : vectors_(target.vectors), verifies_(verifies) {
  initializeTarget();
  std::string triple = llvm::sys::getProcessTriple(), error;
  const llvm::Target* code = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // only operations that are marked are contracted
  options.GuaranteedTailCallOpt = false;
  options.DisableIntegratedAS = true;  // text in modules is printed as it is; there is none in what becomes objects
  options.FunctionSections = options.DataSections = true;  // so that kernels can be cut out and kept one by one
  machine_.reset(static_cast<llvm::LLVMTargetMachine*>(
      code->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                llvm::CodeGenOptLevel::Less, /*JIT=*/true)));
  context_.setDiscardValueNames(true);
}

Compiler::~Compiler() = default;

void Compiler::makeTables() {
  llvm::Module module("tables", context_);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "", module);
  // Any opcode: it sorts all instructions that a load can be taken out of.
  const llvm::TargetInstrInfo& instructions = *machine_->getSubtargetImpl(*function)->getInstrInfo();
  (void)instructions.getOpcodeAfterMemoryUnfold(llvm::TargetOpcode::PHI, /*UnfoldLoad=*/true, /*UnfoldStore=*/false);
}

std::unique_ptr<llvm::Module> Compiler::newModule(const std::string& name) {
  auto m = std::make_unique<llvm::Module>(name, context_);
  m->setTargetTriple(machine_->getTargetTriple().str());
  m->setDataLayout(machine_->createDataLayout());
  m->addModuleFlag(llvm::Module::Error, kRegisterBytes, static_cast<uint32_t>(vectors_.registerBytes));
  m->addModuleFlag(llvm::Module::Error, kPathBytes, static_cast<uint32_t>(vectors_.pathBytes));
  m->addModuleFlag(llvm::Module::Error, kPairs, vectors_.pairs ? 1U : 0U);
  m->addModuleFlag(llvm::Module::Error, kQuads, vectors_.quads ? 1U : 0U);
  m->addModuleFlag(llvm::Module::Error, kPrefetches, vectors_.prefetchesWrites ? 1U : 0U);
  m->addModuleFlag(llvm::Module::Error, kCrowds, vectors_.crowds ? 1U : 0U);
  return m;
}

namespace {
/// LLVM's fast selection makes a select of two floats a blend of vectors, and folds a load of one float into it, which
/// then reads 16 bytes. Volatile loads are not folded.
void keepLoadsNarrow(llvm::Module& module) {
  for (llvm::Function& f : module)
    for (llvm::BasicBlock& block : f)
      for (llvm::Instruction& i : block) {
        auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
        if (load == nullptr || !load->getType()->isFloatingPointTy() || !load->hasOneUse()) continue;
        if (llvm::isa<llvm::SelectInst>(load->user_back())) load->setVolatile(true);
      }
}
}  // namespace

namespace {
/// Without what serves debuggers, exceptions, collectors of garbage and instrumentation, of which there is nothing in
/// any module. Each of these passes would find that for each function, and a hundred of them take as long as selecting
/// a short kernel.
void leaveOut(llvm::TargetPassConfig& config, CodeKind kind) {
  for (llvm::AnalysisID pass :
       {&llvm::FEntryInserterID, &llvm::FixupStatepointCallerSavedID, &llvm::FuncletLayoutID,
        &llvm::GCMachineCodeAnalysisID, &llvm::LiveDebugValuesID, &llvm::LocalStackSlotAllocationID,
        &llvm::MachineSanitizerBinaryMetadataID, &llvm::PatchableFunctionID, &llvm::RemoveRedundantDebugValuesID,
        &llvm::StackMapLivenessID, &llvm::XRayInstrumentationID})
    config.disablePass(pass);
  // It would undo the order of independent chains, which is chosen with the registers in view (interleaveChains).
  if (levelOf(kind) == Level::Full) config.disablePass(&llvm::LiveRangeShrinkID);
  if (kind != CodeKind::Products) return;
  // Products are straight code in loops: there is nothing to convert, to sink or to join.
  for (llvm::AnalysisID pass : {&llvm::DetectDeadLanesID, &llvm::EarlyIfConverterID, &llvm::EarlyTailDuplicateID,
                                &llvm::MachineCombinerID, &llvm::MachineLateInstrsCleanupID, &llvm::MachineSinkingID,
                                &llvm::OptimizePHIsID, &llvm::PostRAMachineSinkingID, &llvm::RenameIndependentSubregsID,
                                &llvm::ShrinkWrapID, &llvm::StackColoringID, &llvm::StackSlotColoringID})
    config.disablePass(pass);
}
}  // namespace

/// What `config.addISelPasses` adds. Of products, without the passes that look for better addresses in loops, which
/// take a quarter of the time and find none: as without optimisation, but for the selection itself.
bool Compiler::addSelection(llvm::legacy::PassManager& passes, llvm::TargetPassConfig& config, CodeKind kind) {
  if (kind != CodeKind::Products) return !config.addISelPasses();
  machine_->setOptLevel(llvm::CodeGenOptLevel::None);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
  passes.add(llvm::createPreISelIntrinsicLoweringPass());
  config.addIRPasses();
  config.addPassesToHandleExceptions();
  machine_->setOptLevel(llvm::CodeGenOptLevel::Less);
  config.addISelPrepare();
  // With 16 registers, products of narrow operands would find too few in the order in which they are emitted.
  if (vectors_.registerBytes == 64) config.disablePass(&llvm::MachineSchedulerID);
  struct Steps : llvm::TargetPassConfig {  // it is protected
    using TargetPassConfig::addCoreISelPasses;
  };
  return !(config.*&Steps::addCoreISelPasses)();
}

namespace {
/// Adds all passes but the one that looks for better addresses in loops, and the one in front of it that serves it.
class OwnAddresses : public llvm::legacy::PassManagerBase {
 public:
  explicit OwnAddresses(llvm::legacy::PassManager& passes) : passes_(passes) {}

  void add(llvm::Pass* pass) override {
    if (pass->getPassID() == reduction_ || pass->getPassID() == beforeReduction_)
      delete pass;
    else
      passes_.add(pass);
  }

 private:
  static llvm::AnalysisID idOf(llvm::Pass* pass) { return std::unique_ptr<llvm::Pass>(pass)->getPassID(); }

  llvm::legacy::PassManager& passes_;
  llvm::AnalysisID reduction_ = idOf(llvm::createLoopStrengthReducePass());
  llvm::AnalysisID beforeReduction_ = idOf(llvm::createCanonicalizeFreezeInLoopsPass());
};
}  // namespace

bool Compiler::run(llvm::Module& module, CodeKind kind, llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type) {
  const bool quick = levelOf(kind) == Level::Quick;
  if (quick) keepLoadsNarrow(module);
  machine_->setOptLevel(quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less);
  machine_->setFastISel(false);  // level None turns it on, and it would stay
  // What addPassesToEmitFile adds, with a pass of our own before the code is written.
  llvm::legacy::PassManager passes;
  auto* functions = new llvm::MachineModuleInfoWrapperPass(machine_.get());
  OwnAddresses withoutReduction(passes);
  llvm::TargetPassConfig* config =
      kind == CodeKind::Native ? machine_->createPassConfig(withoutReduction) : machine_->createPassConfig(passes);
  config->setDisableVerify(true);
  leaveOut(*config, kind);
  if (kind == CodeKind::Native) addLatencyOrder(*config);
  passes.add(config);
  passes.add(functions);
  if (!addSelection(passes, *config, kind)) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (type == llvm::CodeGenFileType::ObjectFile) passes.add(constantSectionsPass());
  if (machine_->addAsmPrinter(passes, out, nullptr, type, functions->getMMI().getContext())) return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return true;
}

ObjectFile Compiler::compile(llvm::Module& module, CodeKind kind, std::string& error) {
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (verifies_ && llvm::verifyModule(module, &problems)) {
    error = "LLVM's verifier refuses its IR: " + problem;
    return {};
  }
  ObjectFile object;
  llvm::raw_svector_ostream out(object);
  if (!run(module, kind, out, llvm::CodeGenFileType::ObjectFile))
    error = "this host's code generator writes no objects";
  return object;
}

std::string Compiler::assembly(llvm::Module& module, CodeKind kind) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  run(module, kind, out, llvm::CodeGenFileType::AssemblyFile);
  return std::string(text);
}

}  // namespace tenc::codegen::cpu
