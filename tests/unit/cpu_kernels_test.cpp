// The CPU target on hand-built kernels, against plain C++ loops.
#include "cpu_kernels.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "ir/Ir.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using ir::OpKind;
using Role = Buffer::Role;

std::vector<float> values(int64_t n, float scale = 1) {
  std::vector<float> v(static_cast<size_t>(n));
  uint64_t state = 1234567;
  for (float& x : v) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    x = (static_cast<float>(state >> 40) * 0x1p-24f - 0.5f) * 8 * scale;
  }
  return v;
}

TEST(CpuKernels, MapOfManySizes) {
  for (int64_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 1000, 100003}) {
    CompiledKernel k(mapKernel(OpKind::Add, {DType::F32, DType::F32}, DType::F32, n));
    auto a = values(n), b = values(n, 3);
    std::vector<float> whole(a.size() + 1, 7), parts(a.size() + 1, 7);
    k.run({a.data(), b.data(), whole.data()});
    k.run({a.data(), b.data(), parts.data()}, {}, true);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(whole[i], a[i] + b[i]) << n << " " << i;
    EXPECT_EQ(whole, parts);
    EXPECT_EQ(whole.back(), 7);
  }
}

/// sum over `inner` of [outer, inner], rows or columns, and max.
TEST(CpuKernels, RowAndColumnSums) {
  for (bool columns : {false, true}) {
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{3, 5},
                              {17, 64},
                              {64, 17},
                              {100, 1000},
                              {1, 1},
                              {40, 200},
                              {5, 0},
                              {45, 1100},
                              {1100, 45},
                              {32, 2048}}) {
      int64_t outer = columns ? cols : rows, inner = columns ? rows : cols;
      KernelMaker m;
      m.k.outer = {outer};
      uint32_t in = m.buffer(DType::F32, rows * cols, Role::Input);
      uint32_t out = m.buffer(DType::F32, outer, Role::Output), most = m.buffer(DType::F32, outer, Role::Output);
      uint32_t where = m.buffer(DType::I64, outer, Role::Output);
      Stage s = m.stage({inner});
      m.k.stages.clear();
      std::vector<int64_t> strides = columns ? std::vector<int64_t>{1, cols} : std::vector<int64_t>{cols, 1};
      ExprId x = m.load(s, in, strides);
      ExprId at = m.var(s, 1);
      m.reduce(s, Reduction::Kind::Sum, x, DType::F32, DType::F32);
      m.reduce(s, Reduction::Kind::Max, x, DType::F32, DType::F32);
      m.reduce(s, Reduction::Kind::ArgMax, x, DType::F32, DType::I64, at);
      m.k.stages.push_back(s);
      Stage& last = m.stage();
      m.store(last, out, {1}, m.reduced(last, 0));
      m.store(last, most, {1}, m.reduced(last, 1));
      m.store(last, where, {1}, m.reduced(last, 2));
      CompiledKernel k(m.k);
      auto a = values(rows * cols);
      std::vector<float> sums(static_cast<size_t>(outer)), maxima(static_cast<size_t>(outer)),
          again(static_cast<size_t>(outer));
      std::vector<int64_t> places(static_cast<size_t>(outer));
      k.run({a.data(), sums.data(), maxima.data(), places.data()});
      k.run({a.data(), again.data(), maxima.data(), places.data()}, {}, true);
      EXPECT_EQ(sums, again);
      for (int64_t o = 0; o < outer; ++o) {
        double want = 0;
        float top = -INFINITY;
        int64_t place = 0;
        for (int64_t i = 0; i < inner; ++i) {
          float v = a[static_cast<size_t>(o * strides[0] + i * strides[1])];
          want += v;
          if (v > top) top = v, place = i;
        }
        ASSERT_NEAR(sums[static_cast<size_t>(o)], want, 1e-3) << rows << "x" << cols << " " << columns << " " << o;
        ASSERT_EQ(maxima[static_cast<size_t>(o)], top);
        if (inner > 0) ASSERT_EQ(places[static_cast<size_t>(o)], place);
      }
    }
  }
}

Kernel softmaxKernel(int64_t rows, int64_t n) {
  KernelMaker m;
  m.k.outer = {rows};
  uint32_t in = m.buffer(DType::F32, rows * n, Role::Input), out = m.buffer(DType::F32, rows * n, Role::Output);
  {
    Stage& s = m.stage({n});
    m.reduce(s, Reduction::Kind::Max, m.load(s, in, {n, 1}), DType::F32, DType::F32);
  }
  {
    Stage& s = m.stage({n});
    ExprId e =
        m.op(s, OpKind::Exp, DType::F32, {m.op(s, OpKind::Sub, DType::F32, {m.load(s, in, {n, 1}), m.reduced(s, 0)})});
    m.reduce(s, Reduction::Kind::Sum, e, DType::F32, DType::F32);
    m.store(s, out, {n, 1}, e);
  }
  {
    Stage& s = m.stage({n});
    m.store(s, out, {n, 1}, m.op(s, OpKind::Div, DType::F32, {m.load(s, out, {n, 1}), m.reduced(s, 1)}));
  }
  return m.k;
}

/// Sums of wide columns alone, times two.
TEST(CpuKernels, WideColumns) {
  for (auto [rows, cols] : {std::pair<int64_t, int64_t>{40, 600}, {37, 1024}, {33, 1500}, {64, 3000}}) {
    KernelMaker m;
    m.k.outer = {cols};
    uint32_t in = m.buffer(DType::F32, rows * cols, Role::Input), out = m.buffer(DType::F32, cols, Role::Output);
    {
      Stage& s = m.stage({rows});
      m.reduce(s, Reduction::Kind::Sum, m.load(s, in, {1, cols}), DType::F32, DType::F32);
    }
    Stage& last = m.stage();
    ExprId r = m.reduced(last, 0);
    m.store(last, out, {1}, m.op(last, OpKind::Add, DType::F32, {r, r}));
    CompiledKernel k(m.k);
    auto a = values(rows * cols);
    std::vector<float> sums(static_cast<size_t>(cols) + 1, 9), again = sums;
    k.run({a.data(), sums.data()});
    k.run({a.data(), again.data()}, {}, true);
    EXPECT_EQ(sums, again);
    EXPECT_EQ(sums.back(), 9);
    for (int64_t c = 0; c < cols; ++c) {
      float want = 0;
      for (int64_t i = 0; i < rows; ++i) want += a[static_cast<size_t>(i * cols + c)];
      ASSERT_EQ(sums[static_cast<size_t>(c)], want + want) << rows << "x" << cols << " " << c;
    }
  }
}

TEST(CpuKernels, Softmax) {
  for (int64_t n : {3, 16, 50, 1024}) {
    int64_t rows = 20;
    CompiledKernel k(softmaxKernel(rows, n));
    auto a = values(rows * n);
    std::vector<float> out(a.size());
    k.run({a.data(), out.data()});
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(a[static_cast<size_t>(r * n + i)]));
      for (int64_t i = 0; i < n; ++i)
        ASSERT_NEAR(out[static_cast<size_t>(r * n + i)],
                    std::exp(static_cast<double>(a[static_cast<size_t>(r * n + i)])) / sum, 1e-6);
    }
  }
}

Kernel transposeAdd(int64_t n, int64_t m2, DType t) {
  KernelMaker m;
  m.k.outer = {n, m2};
  uint32_t x = m.buffer(t, n * m2, Role::Input), y = m.buffer(t, n * m2, Role::Input),
           out = m.buffer(t, n * m2, Role::Output);
  Stage& s = m.stage();
  ExprId v = m.op(s, OpKind::Add, t, {m.load(s, x, {1, n}), m.load(s, y, {m2, 1})});
  m.store(s, out, {m2, 1}, v);
  return m.k;
}

TEST(CpuKernels, TransposedLoads) {
  for (auto [n, c] :
       {std::pair<int64_t, int64_t>{16, 16}, {48, 80}, {17, 33}, {100, 50}, {5, 70}, {70, 5}, {128, 128}, {150, 200}}) {
    CompiledKernel k(transposeAdd(n, c, DType::F32));
    auto a = values(n * c), b = values(n * c, 2);
    std::vector<float> out(a.size()), again(a.size());
    k.run({a.data(), b.data(), out.data()});
    k.run({a.data(), b.data(), again.data()}, {}, true);
    EXPECT_EQ(out, again);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < c; ++j)
        ASSERT_EQ(out[static_cast<size_t>(i * c + j)],
                  a[static_cast<size_t>(j * n + i)] + b[static_cast<size_t>(i * c + j)])
            << n << " " << c << " " << i << " " << j;
  }
}

TEST(CpuKernels, IntegerDivisionFaults) {
  CompiledKernel k(mapKernel(OpKind::FloorDiv, {DType::I32, DType::I32}, DType::I32, 20));
  std::vector<int32_t> a(20), b(20), out(20);
  for (int i = 0; i < 20; ++i) a[static_cast<size_t>(i)] = i * 7 - 60, b[static_cast<size_t>(i)] = i % 2 == 0 ? 4 : -3;
  a[3] = INT32_MIN;
  b[3] = -1;
  EXPECT_EQ(k.run({a.data(), b.data(), out.data()}), 0u);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(out[i], i == 3 ? INT32_MIN : static_cast<int32_t>(std::floor(static_cast<double>(a[i]) / b[i])))
        << a[i] << "/" << b[i];
  b[19] = 0;
  EXPECT_EQ(k.run({a.data(), b.data(), out.data()}), 1u);
}

TEST(CpuKernels, EveryElementwiseOpCompiles) {
  const DType types[] = {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,  DType::I16, DType::I32,
                         DType::I64, DType::U8,   DType::U16, DType::U32, DType::U64, DType::Bool};
  for (int i = 0; i < static_cast<int>(OpKind::Count); ++i) {
    auto kind = static_cast<OpKind>(i);
    const ir::OpInfo& info = ir::opInfo(kind);
    if (!info.has(ir::Trait::Elementwise) || kind == OpKind::Bitcast) continue;
    std::vector<Kernel> kernels;
    for (DType t : types) {
      if (!ir::acceptsDType(kind, t)) continue;
      std::vector<DType> operands(static_cast<size_t>(info.minOperands), t);
      if (kind == OpKind::Where) operands[0] = DType::Bool;
      if (kind == OpKind::Cast) {
        for (DType to : types) kernels.push_back(mapKernel(kind, operands, to, 37));
        continue;
      }
      kernels.push_back(mapKernel(kind, operands,
                                  info.results == 1 && (info.minOperands == 2 || info.minOperands == 1) &&
                                          kind >= OpKind::IsNan &&
                                          (kind <= OpKind::IsFinite || (kind >= OpKind::Eq && kind <= OpKind::Ge))
                                      ? DType::Bool
                                      : t,
                                  37));
    }
    std::vector<CodeRequest> requests;
    auto program = std::make_shared<abi::Program>();
    for (const Kernel& k : kernels) requests.push_back({&k, codeKey(k), 1});
    std::string error;
    for (Code& code : cpu::makeCpuTarget({})->compile(requests, program->images, error))
      program->kernels.push_back({"", std::move(code), {}});
    EXPECT_EQ(error, "") << info.mnemonic;
    const auto code = rt::LoadedProgram::load(std::move(program), error);
    EXPECT_EQ(error, "") << info.mnemonic;
    if (code == nullptr) continue;
    std::vector<uint64_t> bytes(100, 0x3f803f803f803f80ull), result(100);
    for (const rt::LoadedKernel& k : code->kernels()) {
      abi::KernelState state;
      void* buffers[] = {bytes.data(), bytes.data(), bytes.data(), result.data()};
      buffers[info.minOperands] = result.data();
      k.function(buffers, nullptr, 0, k.phases[0].items, &state.fault, nullptr);
    }
  }
}

double best(CompiledKernel& k, const std::vector<void*>& buffers, const std::vector<uint64_t>& scalars = {}) {
  double least = 1e9;
  for (int i = 0; i < 15; ++i) {
    auto from = std::chrono::steady_clock::now();
    k.run(buffers, scalars);
    least = std::min(least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count());
  }
  return least;
}

/// Prints times when asked to: TENC_TIMES=1.
TEST(CpuKernels, Times) {
  if (std::getenv("TENC_TIMES") == nullptr) GTEST_SKIP();
  constexpr int64_t kMillion = 1 << 20;
  auto a = values(1 << 22), b = values(1 << 22);
  std::vector<float> out(1 << 22);
  auto report = [](const char* name, double us) { printf("%-24s %8.1f us\n", name, us); };
  auto compileTime = [](const Kernel& k) {
    auto from = std::chrono::steady_clock::now();
    CompiledKernel c(k);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - from).count();
  };
  compileTime(mapKernel(OpKind::Add, {DType::F32, DType::F32}, DType::F32, 100));
  report("compile add", compileTime(mapKernel(OpKind::Add, {DType::F32, DType::F32}, DType::F32, kMillion)));
  report("compile softmax", compileTime(softmaxKernel(1024, 1024)));
  report("compile pow", compileTime(mapKernel(OpKind::Pow, {DType::F32, DType::F32}, DType::F32, kMillion)));
  for (OpKind op : {OpKind::Neg, OpKind::Exp, OpKind::Log, OpKind::Tanh, OpKind::Erf, OpKind::Sin, OpKind::Sigmoid,
                    OpKind::Sqrt, OpKind::Log1p, OpKind::Cosh, OpKind::Atan}) {
    CompiledKernel k(mapKernel(op, {DType::F32}, DType::F32, kMillion));
    report(std::string(ir::opInfo(op).mnemonic).c_str(), best(k, {a.data(), out.data()}));
  }
  CompiledKernel soft(softmaxKernel(1024, 1024));
  report("softmax 1024", best(soft, {a.data(), out.data()}));
  CompiledKernel turned(transposeAdd(2048, 2048, DType::F32));
  report("transpose add 2048", best(turned, {a.data(), b.data(), out.data()}));
  for (bool columns : {false, true}) {
    KernelMaker m;
    m.k.outer = {2048};
    uint32_t in = m.buffer(DType::F32, 2048 * 2048, Role::Input), sums = m.buffer(DType::F32, 2048, Role::Output);
    {
      Stage& s = m.stage({2048});
      m.reduce(s, Reduction::Kind::Sum,
               m.load(s, in, columns ? std::vector<int64_t>{1, 2048} : std::vector<int64_t>{2048, 1}), DType::F32,
               DType::F32);
    }
    Stage& last = m.stage();
    m.store(last, sums, {1}, m.reduced(last, 0));
    CompiledKernel k(m.k);
    report(columns ? "column sums 2048" : "row sums 2048", best(k, {a.data(), out.data()}));
  }
}

}  // namespace
}  // namespace tenc::codegen
