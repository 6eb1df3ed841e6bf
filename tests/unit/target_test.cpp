// Two targets in one program: a target of the test's own beside the CPU's, for a virtual device. Each is asked for its
// own kernels, by its own traits and needs.
#include "codegen/Target.h"

#include <gtest/gtest.h>

#include "codegen/Codegen.h"
#include "codegen/cpu/CpuTarget.h"
#include "ir/Ir.h"
#include "passes/Passes.h"
#include "runtime/Instance.h"
#include "runtime/Machine.h"

namespace tenc::codegen {
namespace {

/// Code of the CPU, by other rules: no products in kernels of their own, nothing in place, wide addresses.
class TestTarget : public Target {
 public:
  TestTarget() {
    traits_.products = {};
    traits_.reductions.manyElements = int64_t{1} << 40;
  }
  std::string_view identity() const override { return "test"; }
  const ir::TargetTraits& traits() const override { return traits_; }
  KernelNeeds needs(const CodeRequest& r) const override {
    KernelNeeds needs = cpu_->needs(r);
    for (KernelNeeds::Argument& a : needs.arguments) a = {256, false};
    needs.workspaceBytes = 1000;
    return needs;
  }
  std::vector<Code> compile(std::span<const CodeRequest> requests, std::vector<abi::CodeImage>& images,
                            std::string& error) override {
    for (const CodeRequest& r : requests) compiled.push_back(*r.kernel);
    return cpu_->compile(requests, images, error);
  }
  std::span<const std::string_view> forms() const override { return forms_; }
  std::string emit(std::span<const CodeRequest> requests, std::string_view) override {
    return std::to_string(requests.size()) + " kernels\n";
  }
  std::string describe(const CodeRequest&) const override { return "  of the test\n"; }

  RoutineCode routineCode(const ir::Op&) const override { return routines; }

  std::vector<Kernel> compiled;
  RoutineCode routines = RoutineCode::Runtime;

 private:
  std::unique_ptr<Target> cpu_ = cpu::makeCpuTarget({});
  ir::TargetTraits traits_;
  std::array<std::string_view, 1> forms_ = {"test"};
};

class TargetTest : public testing::Test {
 protected:
  TargetTest() {
    targets_.set("cpu", *cpu_);
    targets_.set("cuda", other_);
  }

  Compiled compile(const std::string& text) {
    passes::Context c;
    c.diags = &diags_;
    c.sources = &sources_;
    c.machine.set("cuda", 1);
    c.traits = targets_.traits();
    module_ = ir::parse(sources_, sources_.add("test.tir", text), diags_);
    EXPECT_TRUE(module_) << render(diags_, sources_);
    EXPECT_EQ(ir::verify(*module_), "");
    EXPECT_TRUE(passes::runPasses(*module_, c, passes::optimisationPipeline())) << render(diags_, sources_);
    Compiled compiled = lowerToProgram(*module_, *module_->main(), sources_, targets_);
    EXPECT_EQ(compiled.error, "");
    return compiled;
  }

  std::string run(const Compiled& compiled) {
    std::string error, printed;
    const auto program = rt::LoadedProgram::load({std::shared_ptr<void>(), &compiled.program}, error);
    EXPECT_EQ(error, "");
    rt::Machine machine({.devices = {{"virtual", "cuda:0"}}});
    rt::CallOptions options;
    options.print = [&](std::string_view text) { printed += text; };
    const rt::CallResult result = rt::Instance::create(program, machine)->call(options);
    EXPECT_EQ(result.end, rt::CallResult::End::Done) << result.text;
    return printed;
  }

  SourceManager sources_;
  Diagnostics diags_;
  std::unique_ptr<Target> cpu_ = cpu::makeCpuTarget({});
  TestTarget other_;
  TargetTable targets_;
  std::unique_ptr<ir::Module> module_;
};

/// The same product on both devices.
const char* const kProducts = R"(func @main() {
  %x = iota {shape = [16, 16], dtype = f32, axis = 0} : f32[16, 16] @cpu
  %y = matmul %x, %x : f32[16, 16] @cpu
  %u = transfer %x {cause = "to"} : f32[16, 16] @"cuda:0"
  %v = matmul %u, %u : f32[16, 16] @"cuda:0"
  %w = transfer %v {cause = "to"} : f32[16, 16] @cpu
  %s = sum %y {axes = [0, 1]} : f32 @cpu
  %t = sum %w {axes = [0, 1]} : f32 @cpu
  print %s, %t {pieces = ["", " ", ""], formats = ["", ""]}
  return
}
)";

TEST_F(TargetTest, OneProgramHasKernelsOfBoth) {
  Compiled c = compile(kProducts);
  compileKernels(c);
  ASSERT_EQ(c.error, "");
  ASSERT_EQ(other_.compiled.size(), 1u);
  EXPECT_EQ(other_.compiled[0].kind, Kernel::Kind::Loop);
  size_t products = 0;
  for (const KernelCode& code : c.kernels.codes) {
    products += code.request.kernel->kind == Kernel::Kind::Product;
    EXPECT_EQ(code.target == &other_,
              code.request.kernel->kind == Kernel::Kind::Loop && code.request.key == codeKey(other_.compiled[0]));
  }
  EXPECT_EQ(products, 1u);
  EXPECT_EQ(run(c), "230400.0 230400.0\n");
  EXPECT_EQ(emit(c, "test", *module_, sources_), "1 kernels\n");
  EXPECT_NE(emit(c, "llvm", *module_, sources_), "");
  EXPECT_NE(emit(c, "kernels", *module_, sources_).find("of the test"), std::string::npos);
}

TEST_F(TargetTest, EqualKernelsOfTwoTargetsAreTwo) {
  const Compiled c =
      compile(R"(func @main(%x: f32[4096] @cpu, %u: f32[4096] @"cuda:0") -> (f32[4096] @cpu, f32[4096] @"cuda:0") {
  %y = exp %x : f32[4096] @cpu
  %v = exp %u : f32[4096] @"cuda:0"
  return %y, %v
}
)");
  size_t equal = 0;
  for (const KernelCode& a : c.kernels.codes)
    for (const KernelCode& b : c.kernels.codes) equal += &a != &b && a.request.key == b.request.key;
  EXPECT_EQ(c.kernels.codes.size(), 2u);
  EXPECT_EQ(equal, 2u);  // a pair, counted both ways
}

TEST_F(TargetTest, RoutinesAreTheRuntimesOrKernels) {
  const char* const sorts =
      R"(func @main(%x: f32[3, 4] @cpu, %u: f32[3, 4] @"cuda:0") -> (f32[3, 4] @cpu, f32[3, 4] @"cuda:0") {
  %y = sort %x {descending = true} : f32[3, 4] @cpu
  %v = sort %u {descending = true} : f32[3, 4] @"cuda:0"
  return %y, %v
}
)";
  const auto isCall = [](const abi::Kernel& k) { return std::holds_alternative<abi::LibraryCall>(k.code); };
  const Compiled both = compile(sorts);
  EXPECT_TRUE(both.kernels.kernels.empty());
  ASSERT_EQ(both.program.kernels.size(), 2u);
  EXPECT_TRUE(isCall(both.program.kernels[0]) && isCall(both.program.kernels[1]));

  other_.routines = RoutineCode::Kernel;
  const Compiled own = compile(sorts);
  ASSERT_EQ(own.kernels.kernels.size(), 1u);
  const Kernel& k = own.kernels.kernels[0];
  EXPECT_EQ(k.kind, Kernel::Kind::Routine);
  EXPECT_NE(codeKey(k).find("sort f32[3, 4] descending=1 -> f32[3, 4]"), std::string::npos) << codeKey(k);
  ASSERT_EQ(own.program.kernels.size(), 2u);
  EXPECT_TRUE(!isCall(own.program.kernels[0]) && isCall(own.program.kernels[1]));
  ASSERT_EQ(own.program.kernels[0].parameters.size(), 3u);  // operand, result, and the memory that is needed
  EXPECT_EQ(own.program.kernels[0].parameters[2].bytes, 1000u);

  other_.routines = RoutineCode::None;
  compile(sorts);
  EXPECT_EQ(opsWithoutCode(*module_, *module_->main(), targets_).size(), 1u);
}

TEST_F(TargetTest, MemoryIsPlannedByNeeds) {
  Compiled c = compile(R"(func @main() {
  %x = iota {shape = [4099], dtype = f32, axis = 0} : f32[4099] @cpu
  %u = transfer %x {cause = "to"} : f32[4099] @"cuda:0"
  %p = slice %u {starts = [1], sizes = [4096], steps = [1]} : f32[4096] @"cuda:0"
  %n = neg %p : f32[4096] @"cuda:0"
  %v = exp %n : f32[4096] @"cuda:0"
  %w = transfer %v {cause = "to"} : f32[4096] @cpu
  %s = max %w {axes = [0]} : f32 @cpu
  print %s {pieces = ["", ""], formats = [""]}
  return
}
)");
  const KernelCode* own = nullptr;
  for (const KernelCode& code : c.kernels.codes) own = code.target == &other_ ? &code : own;
  ASSERT_NE(own, nullptr);
  size_t launches = 0;
  for (const abi::Step& step : c.program.steps) {
    const auto* launch = std::get_if<abi::Launch>(&step.what);
    if (launch == nullptr || launch->device == 0) continue;
    ++launches;
    // Input, output and the workspace of the run, apart from each other and aligned as wanted.
    ASSERT_EQ(launch->args.size(), 3u);
    for (const abi::KernelArg& arg : launch->args) {
      const abi::Buffer& buffer = c.program.buffers[arg.buffer];
      EXPECT_EQ(buffer.device, launch->device);
      if (&arg != &launch->args[2]) EXPECT_EQ((buffer.offset + arg.byteOffset) % 256, 0u);
    }
    EXPECT_NE(launch->args[0].buffer, launch->args[1].buffer);
    EXPECT_GE(c.program.buffers[launch->args[2].buffer].bytes, 1000u);
  }
  EXPECT_EQ(launches, 1u);
  compileKernels(c);
  EXPECT_EQ(run(c), "0.36787945\n");
}

}  // namespace
}  // namespace tenc::codegen
