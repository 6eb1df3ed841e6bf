// Kernels that are compiled together and cut apart: each piece has all that its code reaches, and nothing of the
// others.
#include <numeric>

#include "codegen/cpu/CodePiece.h"
#include "cpu_kernels.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using Role = Buffer::Role;

constexpr int64_t kElements = 1000, kMostStep = 4;

/// out[i] = in[step * i] * i, from the end where the step is -1: code with constants of a whole register, which say
/// where lanes come from and what their numbers are.
Kernel stepKernel(DType t, int64_t step) {
  KernelMaker m;
  m.k.outer = {kElements};
  const uint32_t in = m.buffer(t, kMostStep * kElements, Role::Input), out = m.buffer(t, kElements, Role::Output);
  Stage& s = m.stage();
  const ExprId x = m.load(s, in, {step}, step < 0 ? kElements - 1 : 0);
  Expr cast;
  cast.kind = Expr::Kind::Op;
  cast.op = ir::OpKind::Cast;
  cast.dtype = t;
  cast.args = {m.var(s, 0)};
  m.store(s, out, {1}, m.op(s, ir::OpKind::Mul, t, {x, KernelMaker::add(s, cast)}));
  return m.k;
}

/// All kernels in one module, which one thread compiles.
struct Together {
  explicit Together(const std::vector<Kernel>& kernels, cpu::Level level) {
    cpu::CpuOptions options;
    if (const char* name = std::getenv("TENC_TEST_CPU")) options.target = name;
    options.compileThreads = 1;
    options.level = level;
    const auto target = cpu::makeCpuTarget(options);
    std::vector<CodeRequest> requests;
    for (const Kernel& k : kernels) requests.push_back({&k, codeKey(k), 1});
    std::string error;
    auto program = std::make_shared<abi::Program>();
    for (Code& made : target->compile(requests, program->images, error))
      program->kernels.push_back({"test", std::move(made), {}});
    EXPECT_EQ(error, "");
    bytes = program->images.at(0).bytes.size();
    code = rt::LoadedProgram::load(std::move(program), error);
    EXPECT_EQ(error, "");
  }
  size_t bytes = 0;
  std::shared_ptr<const rt::LoadedProgram> code;
};

template <typename T>
void check(const rt::LoadedKernel& kernel, int64_t step) {
  std::vector<T> in(static_cast<size_t>(kMostStep * kElements)), out(static_cast<size_t>(kElements));
  std::iota(in.begin(), in.end(), T{1});
  std::vector<void*> buffers = {in.data(), out.data()};
  abi::KernelState state;
  kernel.function(buffers.data(), nullptr, 0, kernel.phases[0].items, &state.fault, nullptr);
  for (int64_t i = 0; i < kElements; ++i) {
    const int64_t from = step < 0 ? kElements - 1 - i : step * i;
    ASSERT_EQ(out[static_cast<size_t>(i)], in[static_cast<size_t>(from)] * static_cast<T>(i)) << step << " " << i;
  }
}

TEST(CodePieces, EachHasItsOwnConstants) {
  const std::vector<int64_t> steps = {-1, 1, 2, 3, 4};
  for (const cpu::Level level : {cpu::Level::Quick, cpu::Level::Full}) {
    std::vector<Kernel> kernels;
    for (const DType t : {DType::F32, DType::F64})
      for (const int64_t step : steps) kernels.push_back(stepKernel(t, step));
    const Together all(kernels, level);
    for (size_t i = 0; i < steps.size(); ++i) {
      check<float>(all.code->kernels()[i], steps[i]);
      check<double>(all.code->kernels()[steps.size() + i], steps[i]);
    }
    // Together they are as long as each alone, but for what aligning the parts takes.
    const size_t empty = cpu::joinPieces({}, {}).size();
    size_t most = empty + kernels.size() * 80;
    for (const Kernel& k : kernels) most += Together({k}, level).bytes - empty;
    EXPECT_LE(all.bytes, most);
  }
}

}  // namespace
}  // namespace tenc::codegen
