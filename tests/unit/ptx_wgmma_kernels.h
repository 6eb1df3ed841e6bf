// Kernels of warpgroups as PTX: a block copies both operands to shared memory as a layout says, multiplies 64 x columns
// x 64 and stores what each thread has.
#pragma once
#include <random>

#include "ptx_kernels.h"
#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx::testing {

constexpr uint32_t kM = 64, kK = 64;

/// Where elements lie: spans of so many bytes, whose pieces of 16 are exchanged; along terms, or along lines.
struct Tiling {
  uint32_t span = 128;
  bool transposed = false;

  uint32_t perSpan() const { return span / 2; }
  uint32_t roundedLines(uint32_t lines) const {
    return transposed ? (lines + perSpan() - 1) / perSpan() * perSpan() : lines;
  }
  uint32_t bytes(uint32_t lines) const { return roundedLines(lines) * kK * 2; }
  /// Of an atom, which is 8 spans.
  uint32_t place(uint32_t lines, uint32_t line, uint32_t term) const {
    uint32_t atom = 0, at = 0;
    if (transposed) {
      atom = term / 8 * (roundedLines(lines) / perSpan()) + line / perSpan();
      at = term % 8 * span + line % perSpan() * 2;
    } else {
      atom = term / perSpan() * (lines / 8) + line / 8;
      at = line % 8 * span + term % perSpan() * 2;
    }
    at += atom * 8 * span;
    return span == 16 ? at : at ^ ((at >> 7 & (span / 16 - 1)) << 4);
  }
  /// Without the address.
  uint64_t descriptor(uint32_t lines) const {
    const uint64_t atom = 8 * span, acrossLines = atom,
                   acrossTerms = atom * (transposed ? roundedLines(lines) / perSpan() : lines / 8);
    uint64_t leading = 0, stride = 0;
    if (span == 16)
      leading = acrossTerms, stride = acrossLines;
    else if (transposed)
      leading = acrossLines, stride = acrossTerms;
    else
      leading = 16, stride = acrossLines;
    const uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    return leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
  }
  /// Of 16 terms from `term` on: to add to the address.
  uint32_t advance(uint32_t lines, uint32_t term) const {
    return transposed ? term / 8 * (roundedLines(lines) / perSpan()) * 8 * span
                      : term / perSpan() * (lines / 8) * 8 * span + term % perSpan() * 2;
  }
};

struct Problem {
  uint32_t columns = 64;
  Tiling a{}, b{};
  bool half = false, registers = false, negateA = false, negateB = false, accumulate = true;
  uint32_t warpgroups = 1;  // each of which computes the same
  uint32_t base = 0;        // times 128 bytes: where the pattern of swizzles begins
};

/// Parts of the kernel, for those who leave some out or put something between them.
struct Parts {
  std::string begin{}, store = "st.shared.v4.u32 [%r8], {%r4, %r5, %r6, %r7};", stored{};
  std::string proxyFence = "fence.proxy.async.shared::cta;", barrier = "bar.sync 0;";
  std::string address{}, fence = "wgmma.fence.sync.aligned;", fenced{}, multiplied{};
  std::string commit = "wgmma.commit_group.sync.aligned;", committed{}, wait = "wgmma.wait_group.sync.aligned 0;",
              end{};
  std::string target = "sm_90a";
};

inline std::string wgmmaText(const Problem& p, const Parts& parts = {}) {
  const uint32_t bytesA = p.registers ? 0 : p.a.bytes(kM), bytes = bytesA + p.b.bytes(p.columns);
  auto number = [](auto n) { return std::to_string(n); };
  std::string s = R"(
    .version 8.0
    .target )" + parts.target +
                  R"(
    .address_size 64
    .visible .entry k(.param .u64 to, .param .u64 from, .param .u64 left) {
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<128>; .reg .b32 %a<16>;
    .shared .align 1024 .b8 s[)" +
                  number(bytes + 1024 + 128 * p.base) + R"(];
    ld.param.u64 %d1, [to]; ld.param.u64 %d2, [from]; ld.param.u64 %d3, [left];
    mov.u32 %r1, %tid.x; mov.u32 %r2, s; add.u32 %r2, %r2, )" +
                  number(128 * p.base) + R"(; shl.b32 %r3, %r1, 4;
    setp.eq.u32 %p3, %r1, 0; setp.eq.u32 %p4, %r1, 127; setp.lt.u32 %p5, %r1, 32; setp.lt.u32 %p6, %r1, 16;
  )" + parts.begin +
                  R"(
  COPY:
    setp.ge.u32 %p1, %r3, )" +
                  number(bytes) + R"(; @%p1 bra COPIED;
    cvt.u64.u32 %d4, %r3; add.s64 %d4, %d4, %d2; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d4]; add.u32 %r8, %r2, %r3;
  )" + parts.store +
                  " add.u32 %r3, %r3, " + number(2048 * p.warpgroups) + "; bra COPY;\nCOPIED:\n" + parts.stored + "\n";
  if (p.registers) {  // 16 registers a thread: four for each step
    s += "and.b32 %r9, %r1, 127; mul.wide.u32 %d5, %r9, 64; add.s64 %d5, %d5, %d3;\n";
    for (uint32_t r = 0; r < 16; ++r) s += "ld.global.u32 %a" + number(r) + ", [%d5+" + number(4 * r) + "];\n";
  }
  std::string d;
  for (uint32_t r = 0; r < p.columns / 2; ++r) {
    s += "mov.f32 %f" + number(r) + ", 0f3F800000;\n";  // 1
    d += (r ? ", %f" : "%f") + number(r);
  }
  s += parts.proxyFence + "\n" + parts.barrier + "\n";
  s += "cvt.u64.u32 %d6, %r2; shr.u64 %d6, %d6, 4;\n" + parts.address + "\n" + parts.fence + "\n" + parts.fenced + "\n";
  for (uint32_t step = 0; step < 4; ++step) {
    const std::string scale = step == 0 && !p.accumulate ? "%p2" : "!%p2", type = p.half ? "f16" : "bf16";
    const uint64_t base = uint64_t{p.base} << 49;
    s += "setp.ne.u32 %p2, %r1, %r1;\n";
    s += "add.s64 %d7, %d6, " + number(base + p.a.descriptor(kM) + (p.a.advance(kM, step * 16) >> 4)) + ";\n";
    s += "add.s64 %d8, %d6, " +
         number(base + p.b.descriptor(p.columns) + ((bytesA + p.b.advance(p.columns, step * 16)) >> 4)) + ";\n";
    std::string a = "%d7";
    if (p.registers) {
      a = "{";
      for (uint32_t r = 0; r < 4; ++r) a += (r ? ", %a" : "%a") + number(4 * step + r);
      a += "}";
    }
    s += "wgmma.mma_async.sync.aligned.m64n" + number(p.columns) + "k16.f32." + type + "." + type + " {" + d + "}, " +
         a + ", %d8, " + scale + ", " + (p.negateA ? "-1" : "1") + ", " + (p.negateB ? "-1" : "1") + ", ";
    if (!p.registers) s += p.a.transposed ? "1, " : "0, ";
    s += p.b.transposed ? "1;\n" : "0;\n";
  }
  s += parts.multiplied + "\n" + parts.commit + "\n" + parts.committed + "\n" + parts.wait + "\n";
  s += "mul.wide.u32 %d9, %r1, " + number(2 * p.columns) + "; add.s64 %d9, %d9, %d1;\n";
  for (uint32_t r = 0; r < p.columns / 2; ++r) s += "st.global.f32 [%d9+" + number(4 * r) + "], %f" + number(r) + ";\n";
  return s + parts.end + "\nret;\n}\n";
}

/// Random operands, the image of shared memory and of registers, and the result of plain loops.
struct Operands {
  explicit Operands(const Problem& p) {
    std::mt19937 random(p.columns);
    std::normal_distribution<float> normal;
    auto some = [&](uint32_t lines, std::vector<uint16_t>& bits) {
      std::vector<double> values;
      for (uint32_t n = 0; n < lines * kK; ++n) {
        const float f = normal(random);
        bits.push_back(p.half ? std::bit_cast<uint16_t>(static_cast<_Float16>(f))
                              : static_cast<uint16_t>(std::bit_cast<uint32_t>(f) >> 16));
        values.push_back(static_cast<double>(p.half ? toFloat(Half{bits.back()}) : toFloat(Bfloat{bits.back()})));
      }
      return values;
    };
    std::vector<uint16_t> bitsA, bitsB;
    const std::vector<double> a = some(kM, bitsA), b = some(p.columns, bitsB);
    const uint32_t bytesA = p.registers ? 0 : p.a.bytes(kM);
    shared.resize((bytesA + p.b.bytes(p.columns)) / 2);
    for (uint32_t k = 0; k < kK; ++k) {
      for (uint32_t m = 0; m < kM && !p.registers; ++m) shared[p.a.place(kM, m, k) / 2] = bitsA[m * kK + k];
      for (uint32_t n = 0; n < p.columns; ++n) shared[(bytesA + p.b.place(p.columns, n, k)) / 2] = bitsB[n * kK + k];
    }
    for (uint32_t t = 0; t < 128; ++t) {
      for (uint32_t r = 0; r < 16; ++r) {
        for (uint32_t e = 0; e < 2; ++e)
          left.push_back(
              bitsA[(t / 32 * 16 + t % 32 / 4 + r % 2 * 8) * kK + r / 4 * 16 + r % 4 / 2 * 8 + t % 4 * 2 + e]);
      }
    }
    for (uint32_t t = 0; t < 128; ++t) {
      for (uint32_t r = 0; r < p.columns / 2; ++r) {
        const uint32_t m = t / 32 * 16 + t % 32 / 4 + r % 4 / 2 * 8, n = r / 4 * 8 + t % 4 * 2 + r % 2;
        double sum = 0;
        for (uint32_t k = 0; k < kK; ++k) sum += a[m * kK + k] * b[n * kK + k];
        expected.push_back((p.negateA == p.negateB ? sum : -sum) + p.accumulate);
      }
    }
  }
  std::vector<uint16_t> shared, left;
  std::vector<double> expected;
};

inline void expectProduct(const Problem& p, Order order = Order::RoundRobin, const Parts& parts = {}) {
  SCOPED_TRACE(std::to_string(p.columns) + " columns, spans " + std::to_string(p.a.span) +
               (p.a.transposed ? "t " : " ") + std::to_string(p.b.span) + (p.b.transposed ? "t" : ""));
  const Operands operands(p);
  Device device(wgmmaText(p, parts));
  device.machine.options().order = order;
  const size_t count = operands.expected.size() * p.warpgroups;
  const uint64_t to = device.room(count * 4);
  device.run("k", grid(1, 128 * p.warpgroups), to, device.put(operands.shared), device.put(operands.left));
  const auto got = device.get<float>(to, count);
  for (size_t i = 0; i < count; ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), operands.expected[i % operands.expected.size()], 1e-4) << i;
}

}  // namespace tenc::ptx::testing
