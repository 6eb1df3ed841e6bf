// Every family of opcodes: an instruction in a kernel, its operands in memory, its result against the definition.
#include <cmath>
#include <functional>
#include <limits>

#include "ptx_kernels.h"

namespace tenc::ptx::testing {
namespace {

/// Runs `instruction` on each row of up to four values: sources are %d1 to %d4, %r1 to %r4, %f1 to %f4, %g1 to %g4, %h1
/// to %h4 (the row as each of these types), the result is what `result` (%d0, %r0, %f0, %g0, %h0) holds.
std::vector<uint64_t> apply(const std::string& instruction, const std::string& result,
                            const std::vector<std::vector<uint64_t>>& rows) {
  std::vector<uint64_t> flat;
  for (auto row : rows) {
    row.resize(4);
    flat.insert(flat.end(), row.begin(), row.end());
  }
  std::string body = R"(
    ld.param.u64 %d10, [to];  ld.param.u64 %d11, [from];
    mov.u32 %r10, %tid.x;
    mul.wide.u32 %d12, %r10, 32;  add.s64 %d12, %d12, %d11;
    ld.global.v2.u64 {%d1, %d2}, [%d12];  ld.global.v2.u64 {%d3, %d4}, [%d12+16];
  )";
  for (std::string n : {"1", "2", "3", "4"}) {
    body += "cvt.u32.u64 %r" + n + ", %d" + n + "; mov.b32 %f" + n + ", %r" + n + "; mov.b64 %g" + n + ", %d" + n +
            "; cvt.u16.u32 %h" + n + ", %r" + n + ";\n";
  }
  body += "setp.ne.u32 %p1, %r4, 0;\n" + instruction + "\n";
  std::string type = result[1] == 'd'   ? "u64"
                     : result[1] == 'g' ? "f64"
                     : result[1] == 'r' ? "u32"
                     : result[1] == 'f' ? "f32"
                                        : "u16";
  body +=
      "mul.wide.u32 %d13, %r10, 8; add.s64 %d13, %d13, %d10; mov.u64 %d14, 0; st.global.u64 [%d13], %d14; st.global." +
      type + " [%d13], " + result + ";";
  Device device(kernelText(body));
  EXPECT_TRUE(device.program->knowsAllOpcodes()) << instruction;
  uint64_t from = device.put(flat), to = device.room(rows.size() * 8);
  device.run("k", grid(1, static_cast<uint32_t>(rows.size())), to, from);
  return device.get<uint64_t>(to, rows.size());
}

uint64_t bits(float f) { return std::bit_cast<uint32_t>(f); }
uint64_t bits(double d) { return std::bit_cast<uint64_t>(d); }
constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
using Rows = std::vector<std::vector<uint64_t>>;
using Values = std::vector<uint64_t>;

const Rows kPairs = {{0, 0, 0},
                     {1, 2, 3},
                     {0xFFFFFFFF, 1, 7},
                     {0x80000000, 0xFFFFFFFF, 1},
                     {0x7FFFFFFF, 0x80000000, 5},
                     {123456789, 987654321, 42},
                     {0xFFFFFFF9, 3, 9}};

void on32(const std::string& instruction, const std::function<uint32_t(uint32_t, uint32_t, uint32_t)>& f) {
  Values expected;
  for (const auto& r : kPairs)
    expected.push_back(f(static_cast<uint32_t>(r[0]), static_cast<uint32_t>(r[1]), static_cast<uint32_t>(r[2])));
  EXPECT_EQ(apply(instruction, "%r0", kPairs), expected) << instruction;
}

TEST(Integers, Arithmetic) {
  using U = uint32_t;
  using S = int32_t;
  on32("add.s32 %r0, %r1, %r2;", [](U a, U b, U) { return a + b; });
  on32("sub.u32 %r0, %r1, %r2;", [](U a, U b, U) { return a - b; });
  on32("mul.lo.s32 %r0, %r1, %r2;", [](U a, U b, U) { return a * b; });
  on32("mul.hi.u32 %r0, %r1, %r2;", [](U a, U b, U) { return U(uint64_t{a} * b >> 32); });
  on32("mul.hi.s32 %r0, %r1, %r2;", [](U a, U b, U) { return U(int64_t{S(a)} * S(b) >> 32); });
  on32("mad.lo.s32 %r0, %r1, %r2, %r3;", [](U a, U b, U c) { return a * b + c; });
  on32("div.u32 %r0, %r1, %r3;", [](U a, U, U c) { return c ? a / c : ~0u; });
  on32("rem.s32 %r0, %r1, %r3;", [](U a, U, U c) { return c ? U(S(a) % S(c)) : a; });
  on32("min.s32 %r0, %r1, %r2;", [](U a, U b, U) { return U(std::min(S(a), S(b))); });
  on32("max.u32 %r0, %r1, %r2;", [](U a, U b, U) { return std::max(a, b); });
  on32("abs.s32 %r0, %r1;", [](U a, U, U) { return S(a) < 0 ? 0 - a : a; });
  on32("neg.s32 %r0, %r1;", [](U a, U, U) { return 0 - a; });
  on32("sad.u32 %r0, %r1, %r2, %r3;", [](U a, U b, U c) { return (a > b ? a - b : b - a) + c; });
  on32("mul.wide.s16 %r0, %h1, %h2;", [](U a, U b, U) { return U(S(int16_t(a)) * S(int16_t(b))); });
  on32("add.sat.s32 %r0, %r1, %r2;",
       [](U a, U b, U) { return U(std::clamp<int64_t>(int64_t{S(a)} + S(b), INT32_MIN, INT32_MAX)); });
}

TEST(Integers, Wide) {
  Rows rows = {{~0ull, 3}, {1ull << 63, ~0ull}, {123456789012345, 987654321}};
  EXPECT_EQ(apply("mul.hi.u64 %d0, %d1, %d2;", "%d0", rows), (Values{2, (1ull << 63) - 1, 6609}));
  EXPECT_EQ(apply("div.s64 %d0, %d1, %d2;", "%d0", rows), (Values{0, 1ull << 63, 124999}));
  EXPECT_EQ(apply("mul.wide.u32 %d0, %r1, %r2;", "%d0", rows),
            (Values{0x2FFFFFFFD, 0, (123456789012345 & 0xFFFFFFFF) * 987654321}));
}

TEST(Integers, Carry) {
  // 128 bits from 32.
  auto sum = apply("add.cc.u32 %r20, %r1, %r2; addc.cc.u32 %r21, %r3, %r4; addc.u32 %r0, 0, 0;", "%r0",
                   {{~0u, 1, ~0u, 0}, {1, 1, 1, 1}});
  EXPECT_EQ(sum, (Values{1, 0}));
  auto difference = apply("sub.cc.u32 %r20, %r1, %r2; subc.u32 %r0, %r3, %r4;", "%r0", {{0, 1, 5, 2}, {1, 1, 5, 2}});
  EXPECT_EQ(difference, (Values{2, 3}));
  auto product = apply("mad.lo.cc.u32 %r20, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, 0;", "%r0", {{~0u, ~0u, ~0u}});
  EXPECT_EQ(product, Values{~0u});
}

TEST(Integers, Bits) {
  using U = uint32_t;
  on32("and.b32 %r0, %r1, %r2;", [](U a, U b, U) { return a & b; });
  on32("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", [](U a, U b, U c) { return a ^ b ^ c; });
  on32("not.b32 %r0, %r1;", [](U a, U, U) { return ~a; });
  on32("shl.b32 %r0, %r1, %r3;", [](U a, U, U c) { return c > 31 ? 0 : a << c; });
  on32("shr.s32 %r0, %r1, %r2;", [](U a, U b, U) { return U(int32_t(a) >> std::min(b, 31u)); });
  on32("shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
       [](U a, U b, U c) { return U(((uint64_t{b} << 32 | a) << (c & 31)) >> 32); });
  on32("popc.b32 %r0, %r1;", [](U a, U, U) { return U(std::popcount(a)); });
  on32("clz.b32 %r0, %r1;", [](U a, U, U) { return U(std::countl_zero(a)); });
  on32("dp2a.lo.u32.s32 %r0, %r1, %r2, %r3;",
       [](U a, U b, U c) { return c + (a & 0xFFFF) * U(int8_t(b)) + (a >> 16) * U(int8_t(b >> 8)); });
  on32("dp2a.hi.s32.u32 %r0, %r1, %r2, %r3;",
       [](U a, U b, U c) { return c + U(int16_t(a)) * (b >> 16 & 255) + U(int16_t(a >> 16)) * (b >> 24); });
  on32("dp4a.s32.s32 %r0, %r1, %r2, %r3;", [](U a, U b, U c) {
    for (int i = 0; i < 32; i += 8) c += U(int8_t(a >> i) * int8_t(b >> i));
    return c;
  });
  on32("bfe.u32 %r0, %r1, 4, 8;", [](U a, U, U) { return a >> 4 & 255; });
  on32("bfe.s32 %r0, %r1, 28, 8;", [](U a, U, U) { return U(int32_t(a) >> 28); });
  on32("bfi.b32 %r0, %r1, %r2, 8, 4;", [](U a, U b, U) { return (b & ~0xF00u) | (a & 15) << 8; });
  on32("prmt.b32 %r0, %r1, %r2, 0x0123;", [](U a, U, U) { return __builtin_bswap32(a); });
  EXPECT_EQ(apply("bfind.s32 %r0, %r1;", "%r0", {{0}, {~0u}, {5}, {0xFFFFFFF0}}), (Values{~0u, ~0u, 2, 3}));
  EXPECT_EQ(apply("brev.b64 %d0, %d1;", "%d0", {{1}}), Values{1ull << 63});
  EXPECT_EQ(apply("dp4a.s32.s32 %r0, %r1, %r2, %r3;", "%r0", {{0x01FF0203, 0x04050607, 10}}),
            Values{4 - 5 + 12 + 21 + 10});
}

TEST(Predicates, Compared) {
  Rows rows = {{1, 2, 0, 1}, {2, 2, 0, 0}, {~0u, 2, 0, 1}};
  auto as = [&](const std::string& setp) { return apply(setp + " selp.u32 %r0, 1, 0, %p2;", "%r0", rows); };
  EXPECT_EQ(as("setp.lt.s32 %p2, %r1, %r2;"), (Values{1, 0, 1}));
  EXPECT_EQ(as("setp.lt.u32 %p2, %r1, %r2;"), (Values{1, 0, 0}));
  EXPECT_EQ(as("setp.ge.and.s32 %p2, %r1, %r2, !%p1;"), (Values{0, 1, 0}));
  EXPECT_EQ(as("setp.eq.s32 %p3|%p2, %r1, %r2;"), (Values{1, 0, 1}));
  EXPECT_EQ(as("setp.eq.s32 %p3, %r1, %r2; xor.pred %p2, %p3, %p1; not.pred %p2, %p2;"), (Values{0, 0, 0}));
  Rows floats = {{bits(1.f), bits(kNan)}, {bits(-0.f), bits(0.f)}, {bits(1.f), bits(2.f)}};
  auto of = [&](const std::string& setp) { return apply(setp + " selp.u32 %r0, 1, 0, %p2;", "%r0", floats); };
  EXPECT_EQ(of("setp.lt.f32 %p2, %f1, %f2;"), (Values{0, 0, 1}));
  EXPECT_EQ(of("setp.ltu.f32 %p2, %f1, %f2;"), (Values{1, 0, 1}));
  EXPECT_EQ(of("setp.neu.f32 %p2, %f1, %f2;"), (Values{1, 0, 1}));
  EXPECT_EQ(of("setp.nan.f32 %p2, %f1, %f2;"), (Values{1, 0, 0}));
}

TEST(Floats, Arithmetic) {
  Rows rows = {{bits(1.5f), bits(-2.25f), bits(3.f)},
               {bits(kInf), bits(-kInf), bits(0.f)},
               {bits(1e-40f), bits(3e38f), bits(kNan)}};
  auto expect = [&](const std::string& instruction, const std::function<float(float, float, float)>& f) {
    auto got = apply(instruction, "%f0", rows);
    for (size_t n = 0; n < rows.size(); ++n) {
      auto v = [&](size_t k) { return std::bit_cast<float>(static_cast<uint32_t>(rows[n][k])); };
      float e = f(v(0), v(1), v(2)), g = std::bit_cast<float>(static_cast<uint32_t>(got[n]));
      EXPECT_TRUE(bits(e) == got[n] || (std::isnan(e) && std::isnan(g))) << instruction << " " << e << " " << g;
    }
  };
  expect("add.f32 %f0, %f1, %f2;", [](float a, float b, float) { return a + b; });
  expect("mul.rn.f32 %f0, %f1, %f2;", [](float a, float b, float) { return a * b; });
  expect("fma.rn.f32 %f0, %f1, %f2, %f3;", [](float a, float b, float c) { return std::fma(a, b, c); });
  expect("div.rn.f32 %f0, %f1, %f3;", [](float a, float, float c) { return a / c; });
  expect("max.f32 %f0, %f1, %f3;", [](float a, float, float c) { return std::isnan(c) ? a : std::fmax(a, c); });
  expect("min.NaN.f32 %f0, %f1, %f3;", [](float a, float, float c) { return std::isnan(c) ? c : std::fmin(a, c); });
  expect("add.ftz.f32 %f0, %f1, 0f00000000;", [](float a, float, float) { return a == 1e-40f ? 0.f : a; });
  expect("mul.sat.f32 %f0, %f1, %f3;",
         [](float a, float, float c) { return std::isnan(a * c) ? 0.f : std::clamp(a * c, 0.f, 1.f); });
  expect("copysign.f32 %f0, %f2, %f1;", [](float a, float b, float) { return std::copysign(a, b); });
  EXPECT_EQ(apply("fma.rm.f32 %f0, %f1, %f2, %f3;", "%f0",
                  {{bits(1.f), bits(1.f), bits(1e-20f)}, {bits(-1.f), bits(1.f), bits(-1e-20f)}}),
            (Values{bits(1.f), bits(std::nextafter(-1.f, -2.f))}));
  EXPECT_EQ(apply("fma.rp.f32 %f0, %f1, %f2, %f3;", "%f0", {{bits(1.f), bits(1.f), bits(1e-20f)}}),
            Values{bits(std::nextafter(1.f, 2.f))});
  EXPECT_EQ(apply("ex2.approx.ftz.f32 %f0, %f1;", "%f0", {{bits(3.f)}, {bits(-140.f)}}), (Values{bits(8.f), 0}));
  EXPECT_EQ(apply("sqrt.rn.f64 %g0, %g1;", "%g0", {{bits(2.)}}), Values{bits(std::sqrt(2.))});
}

TEST(Floats, Halves) {
  // 0x3C00: 1 as f16; 0x3F80: 1 as bf16.
  EXPECT_EQ(apply("add.f16 %h0, %h1, %h2;", "%h0", {{0x3C00, 0x3C00}, {0x7BFF, 0x7BFF}}), (Values{0x4000, 0x7C00}));
  EXPECT_EQ(apply("fma.rn.bf16 %h0, %h1, %h2, %h3;", "%h0", {{0x3F80, 0x4000, 0x3F80}}), Values{0x4040});
  // Rounded once: (1 + 2^-4)^2 = 1 + 2^-3 + 2^-8 lies between two, and 2^-60 decides.
  EXPECT_EQ(apply("fma.rn.bf16 %h0, %h1, %h1, %h3;", "%h0", {{0x3F88, 0, 0x2180}, {0x3F88, 0, 0xA180}}),
            (Values{0x3F91, 0x3F90}));
  EXPECT_EQ(apply("mul.f16x2 %r0, %r1, %r2;", "%r0", {{0x3C004000, 0x42004400}}), Values{0x42004800});
  EXPECT_EQ(apply("cvt.rn.f16x2.f32 %r0, %f1, %f2;", "%r0", {{bits(1.f), bits(2.f)}}), Values{0x3C004000});
}

TEST(Conversions, BetweenTypes) {
  Rows floats = {{bits(1.5f)}, {bits(-2.5f)}, {bits(3e9f)}, {bits(kNan)}, {bits(-1e20f)}};
  EXPECT_EQ(apply("cvt.rzi.s32.f32 %r0, %f1;", "%r0", floats),
            (Values{1, uint32_t(-2), INT32_MAX, 0, uint32_t(INT32_MIN)}));
  EXPECT_EQ(apply("cvt.rni.s32.f32 %r0, %f1;", "%r0", floats),
            (Values{2, uint32_t(-2), INT32_MAX, 0, uint32_t(INT32_MIN)}));
  EXPECT_EQ(apply("cvt.rzi.u64.f32 %d0, %f1;", "%d0", floats), (Values{1, 0, 3000000000, 0, 0}));
  EXPECT_EQ(apply("cvt.rmi.f32.f32 %f0, %f1;", "%f0", {{bits(-1.5f)}}), Values{bits(-2.f)});
  EXPECT_EQ(apply("cvt.s64.s32 %d0, %r1;", "%d0", {{0xFFFFFFFF}}), Values{~0ull});
  EXPECT_EQ(apply("cvt.s64.s32 %d0, %d1;", "%d0", {{0xFFFFFFFF}}), Values{~0ull});
  EXPECT_EQ(apply("cvt.s32.s8 %r0, %r1;", "%r0", {{0x1FF}}), Values{0xFFFFFFFF});
  EXPECT_EQ(apply("cvt.sat.u8.s32 %r0, %r1;", "%r0", {{0xFFFFFFFF}, {300}, {7}}), (Values{0, 255, 7}));
  EXPECT_EQ(apply("cvt.rn.f32.u64 %f0, %d1;", "%f0", {{(1ull << 60) + 1}}), Values{bits(std::ldexp(1.f, 60))});
  EXPECT_EQ(apply("cvt.rn.bf16.f32 %h0, %f1;", "%h0", {{bits(1.00390625f)}, {bits(1.01171875f)}, {bits(kNan)}}),
            (Values{0x3F80, 0x3F82, 0x7FFF}));
  EXPECT_EQ(apply("cvt.f32.f16 %f0, %h1;", "%f0", {{0x3C00}, {0x0001}}),
            (Values{bits(1.f), bits(std::ldexp(1.f, -24))}));
  EXPECT_EQ(apply("mov.b64 %d0, {%r1, %r2};", "%d0", {{7, 9}}), Values{9ull << 32 | 7});
  EXPECT_EQ(apply("mov.b64 {%r0, %r20}, %d1;", "%r0", {{9ull << 32 | 7}}), Values{7});
}

TEST(Warps, ExchangeValues) {
  Rows lanes;
  for (uint64_t l = 0; l < 32; ++l) lanes.push_back({l * 10, l % 4});
  auto expect = [&](const std::string& instruction, const std::function<uint64_t(uint64_t)>& f) {
    Values expected;
    for (uint64_t l = 0; l < 32; ++l) expected.push_back(f(l));
    EXPECT_EQ(apply(instruction, "%r0", lanes), expected) << instruction;
  };
  expect("shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;", [](uint64_t l) { return (l ^ 1) * 10; });
  expect("shfl.sync.down.b32 %r0|%p2, %r1, 4, 31, -1;", [](uint64_t l) { return (l < 28 ? l + 4 : l) * 10; });
  expect("shfl.sync.up.b32 %r0|%p2, %r1, 1, 0, -1; selp.u32 %r0, %r0, 77, %p2;",
         [](uint64_t l) { return l ? (l - 1) * 10 : 77; });
  expect("shfl.sync.idx.b32 %r0, %r1, 3, 31, -1;", [](uint64_t) { return 30; });
  expect("shfl.sync.idx.b32 %r0, %r1, 0, 6175, -1;", [](uint64_t l) { return l / 8 * 80; });  // segments of 8
  expect("setp.lt.u32 %p2, %r10, 5; vote.sync.ballot.b32 %r0, %p2, -1;", [](uint64_t) { return 31; });
  expect("setp.lt.u32 %p2, %r10, 5; vote.sync.any.pred %p3, %p2, -1; selp.u32 %r0, 1, 0, %p3;",
         [](uint64_t) { return 1; });
  expect("match.any.sync.b32 %r0, %r2, -1;", [](uint64_t l) { return 0x11111111u << l % 4; });
  expect("redux.sync.add.u32 %r0, %r2, -1;", [](uint64_t) { return 48; });
  expect("redux.sync.max.s32 %r0, %r1, -1;", [](uint64_t) { return 310; });
  expect("activemask.b32 %r0;", [](uint64_t) { return ~0u; });
  expect("mov.u32 %r0, %lanemask_lt;", [](uint64_t l) { return (1u << l) - 1; });
}

TEST(Control, DivergesAndMeetsAgain) {
  // Lanes loop a different number of times, then vote together.
  auto got = apply(R"(
      mov.u32 %r0, 0;
      mov.u32 %r20, %r1;
    LOOP:
      setp.eq.u32 %p2, %r20, 0;
      @%p2 bra DONE;
      add.u32 %r0, %r0, %r20;
      sub.u32 %r20, %r20, 1;
      bra LOOP;
    DONE:
      activemask.b32 %r21;
      popc.b32 %r21, %r21;
      mad.lo.u32 %r0, %r21, 1000, %r0;)",
                   "%r0", {{0}, {3}, {5}, {1}});
  EXPECT_EQ(got, (Values{4000, 4006, 4015, 4001}));
}

TEST(Control, TablesAndCalls) {
  auto got = apply(R"(
      brx.idx %r1, TABLE;
    TABLE: .branchtargets A, B, C;
    A: mov.u32 %r0, 10; bra END;
    B: mov.u32 %r0, 20; bra END;
    C: mov.u32 %r0, 30;
    END:)",
                   "%r0", {{2}, {0}, {1}});
  EXPECT_EQ(got, (Values{30, 10, 20}));

  Device device(R"(
    .version 8.0
    .target sm_90
    .address_size 64
    .func (.param .b32 result) twice(.param .b32 x) {
      .reg .b32 %r<3>; .reg .pred %p<2>;
      ld.param.u32 %r1, [x];
      setp.eq.u32 %p1, %r1, 1;
      @%p1 bra ONE;
      shl.b32 %r2, %r1, 1;
      st.param.b32 [result], %r2;
      ret;
    ONE:
      mov.u32 %r2, 111;
      st.param.b32 [result], %r2;
      ret;
    }
    .visible .entry k(.param .u64 to) {
      .reg .b32 %r<9>; .reg .b64 %d<4>;
      mov.u32 %r1, %tid.x;
      { .param .b32 a; .param .b32 b;
        st.param.b32 [a], %r1;
        call.uni (b), twice, (a);
        ld.param.b32 %r2, [b]; }
      ld.param.u64 %d1, [to];
      mul.wide.u32 %d2, %r1, 4;
      add.s64 %d1, %d1, %d2;
      st.global.u32 [%d1], %r2;
    })");
  uint64_t to = device.room(16);
  device.run("k", grid(1, 4), to);
  EXPECT_EQ(device.get<uint32_t>(to, 4), (std::vector<uint32_t>{0, 111, 4, 6}));
}

TEST(Atomics, Update) {
  auto run = [](const std::string& instruction, uint32_t start) {
    Device device(kernelText("ld.param.u64 %d1, [to]; mov.u32 %r1, %tid.x; mov.u32 %r3, 5; cvt.rn.f32.u32 %f1, %r1;" +
                             instruction));
    uint64_t to = device.put(std::vector<uint32_t>{start});
    device.run("k", grid(3, 64), to, to);
    return device.get<uint32_t>(to, 1)[0];
  };
  EXPECT_EQ(run("atom.global.add.u32 %r2, [%d1], %r1;", 7), 7 + 3 * 63 * 32u);
  EXPECT_EQ(run("red.global.max.s32 [%d1], %r1;", ~0u), 63u);
  EXPECT_EQ(run("red.global.or.b32 [%d1], %r1;", 128), 191u);
  EXPECT_EQ(run("atom.global.inc.u32 %r2, [%d1], %r3;", 0), 3 * 64 % 6u);
  EXPECT_EQ(run("atom.global.cas.b32 %r2, [%d1], 0, 9;", 0), 9u);
  EXPECT_EQ(run("red.global.add.f32 [%d1], %f1;", 0), bits(3 * 63 * 32.f));
}

TEST(Text, WhatCannotBeReadIsAnError) {
  EXPECT_THROW(Device(kernelText("add.s32 %r1, %r2;;; bra NOWHERE;")), PtxError);
  EXPECT_THROW(Device(kernelText("mov.u32 %r1, %nothing;")), PtxError);
  EXPECT_THROW(Device("`"), PtxError);
  EXPECT_THROW(Device(".visible .entry k("), PtxError);
  // An opcode that the machine does not know is a fault where it is executed, and only there.
  Device device(kernelText("setp.ne.u32 %p1, %r1, %r1; @%p1 tcgen05.fence::before_thread_sync;"));
  EXPECT_FALSE(device.program->knowsAllOpcodes());
  device.run("k", grid(1, 32), uint64_t{0}, uint64_t{0});
  Device other(kernelText("tcgen05.fence::before_thread_sync;"));
  EXPECT_EQ(other.launch("k", grid(1, 32), uint64_t{0}, uint64_t{0}), Finding::Unsupported);
}

}  // namespace
}  // namespace tenc::ptx::testing
