// Every elementwise op in every dtype against the interpreter's scalar ops, on special and random values: the same bits
// for what is exact, a few units in the last place for functions.
#include <bit>
#include <cmath>
#include <cstring>

#include "cpu_kernels.h"
#include "interp/Number.h"
#include "ir/Ir.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
namespace {
using ir::DType;
using ir::OpKind;

std::vector<double> specials(DType t) {
  if (ir::isFloat(t))
    return {0.0,   -0.0,  1,     -1,     0.5,      -0.5,      1.5,  2.5,   -2.5, 3,      -3,    7,      0.1,
            -0.1,  100,   1e4,   -1e4,   65504,    1e-6,      1e-7, 6e-8,  1e9,  3e9,    -3e9,  1e19,   1e30,
            -1e38, 1e300, 1e-40, 5e-324, INFINITY, -INFINITY, NAN,  127.5, 128,  -128.5, 255.5, 32767.5};
  std::vector<double> v = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 63, 64, 100, 127};
  if (!ir::isUnsigned(t))
    for (double x : {-1., -2., -3., -7., -8., -100., -127., -128.}) v.push_back(x);
  return v;
}

std::vector<uint64_t> inputs(DType t, size_t n, uint64_t seed) {
  std::vector<uint64_t> bits;
  if (t == DType::Bool) {
    for (size_t i = 0; i < n; ++i) bits.push_back((i ^ (i / 3) ^ seed) & 1);
    return bits;
  }
  int width = 8 * ir::byteSize(t);
  uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  std::vector<double> s = specials(t);
  for (size_t i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t r = seed >> 20;
    if (i < s.size() * s.size()) {
      double x = s[(i * (i / s.size() % 2 == 0 ? 1 : 7) + (seed >> 60) * 3) % s.size()];
      bits.push_back(ir::isFloat(t) ? ir::floatBits(t, x) : static_cast<uint64_t>(static_cast<int64_t>(x)) & mask);
    } else if (i % 3 == 0) {
      bits.push_back((seed ^ (seed >> 29)) & mask);
    } else if (ir::isFloat(t)) {
      bits.push_back(ir::floatBits(t, (static_cast<double>(r & 0xffffff) * 0x1p-24 - 0.5) * 30));
    } else {
      bits.push_back(((r & 31) - (ir::isSigned(t) ? 16 : 0)) & mask);
    }
  }
  // Extremes of integers.
  if (!ir::isFloat(t)) {
    bits[n - 1] = mask;
    bits[n - 2] = uint64_t{1} << (width - 1);
    bits[n - 3] = (uint64_t{1} << (width - 1)) - 1;
  }
  return bits;
}

/// Ordered so that neighbours differ by 1.
int64_t rank(uint64_t bits, DType t) {
  int width = 8 * ir::byteSize(t);
  uint64_t sign = uint64_t{1} << (width - 1);
  return (bits & sign) != 0 ? -static_cast<int64_t>(bits & (sign - 1)) : static_cast<int64_t>(bits);
}

bool isNanBits(uint64_t bits, DType t) { return ir::isFloat(t) && std::isnan(ir::floatValue(t, bits)); }

void check(OpKind kind, std::vector<DType> operands, DType operand, DType result, int64_t tolerance) {
  constexpr size_t kCount = 2011;
  CompiledKernel kernel(mapKernel(kind, operands, result, kCount));
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::vector<uint64_t>> bits;
  for (size_t i = 0; i < operands.size(); ++i) {
    bits.push_back(inputs(operands[i], kCount, 17 + i * 1001));
    auto size = static_cast<size_t>(ir::byteSize(operands[i]));
    memory.emplace_back(kCount * size);
    for (size_t k = 0; k < kCount; ++k)
      ir::storeBits(memory[i].data(), operands[i], static_cast<int64_t>(k), bits[i][k]);
  }
  memory.emplace_back(kCount * static_cast<size_t>(ir::byteSize(result)));
  std::vector<void*> buffers;
  for (auto& m : memory) buffers.push_back(m.data());
  uint32_t fault = kernel.run(buffers);
  bool wantFault = false;
  int failures = 0;
  for (size_t k = 0; k < kCount && failures < 3; ++k) {
    std::vector<interp::Number> args;
    for (size_t i = 0; i < operands.size(); ++i)
      args.push_back(interp::load(memory[i].data(), operands[i], static_cast<int64_t>(k)));
    interp::Fault f{};
    interp::Number want = interp::apply(kind, operand, result, args, f);
    if (f != interp::Fault::None) {
      wantFault = true;
      continue;
    }
    std::byte raw[8] = {};
    interp::store(raw, result, 0, want);
    uint64_t wanted = ir::loadBits(raw, result, 0);
    uint64_t got = ir::loadBits(memory.back().data(), result, static_cast<int64_t>(k));
    if (isNanBits(wanted, result) && isNanBits(got, result)) continue;
    if (kind == OpKind::Max || kind == OpKind::Min)
      if (ir::isFloat(result) && ir::floatValue(result, wanted) == ir::floatValue(result, got))
        continue;  // signs of zeros
    bool close = got == wanted;
    if (!close && tolerance > 0 && !isNanBits(wanted, result) && !isNanBits(got, result))
      close = std::abs(rank(got, result) - rank(wanted, result)) <= tolerance;
    if (close) continue;
    ++failures;
    std::string text;
    for (size_t i = 0; i < operands.size(); ++i)
      text += (i > 0 ? ", " : "") + (ir::isFloat(operands[i]) ? std::to_string(args[i].f) : std::to_string(args[i].i));
    ADD_FAILURE() << ir::opInfo(kind).mnemonic << " " << ir::name(operand) << "->" << ir::name(result) << "(" << text
                  << "): got " << std::hex << got << ", not " << wanted << std::dec
                  << (ir::isFloat(result) ? " " + std::to_string(ir::floatValue(result, got)) + ", not " +
                                                std::to_string(ir::floatValue(result, wanted))
                                          : "");
  }
  EXPECT_EQ(fault != 0, wantFault) << ir::opInfo(kind).mnemonic << " " << ir::name(operand);
}

constexpr DType kTypes[] = {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,  DType::I16, DType::I32,
                            DType::I64, DType::U8,   DType::U16, DType::U32, DType::U64, DType::Bool};

TEST(CpuScalars, Casts) {
  for (DType from : kTypes)
    for (DType to : kTypes) check(OpKind::Cast, {from}, from, to, 0);
}

TEST(CpuScalars, Ops) {
  for (int i = 0; i < static_cast<int>(OpKind::Count); ++i) {
    auto kind = static_cast<OpKind>(i);
    const ir::OpInfo& info = ir::opInfo(kind);
    if (!info.has(ir::Trait::Elementwise) || kind == OpKind::Bitcast || kind == OpKind::Cast) continue;
    for (DType t : kTypes) {
      if (!ir::acceptsDType(kind, t)) continue;
      std::vector<DType> operands(static_cast<size_t>(info.minOperands), t);
      if (kind == OpKind::Where) operands[0] = DType::Bool;
      bool inexact = ir::isFloat(t) && (!info.has(ir::Trait::Cheap) || kind == OpKind::Pow || kind == OpKind::Rsqrt);
      if (kind == OpKind::Sqrt || kind == OpKind::Div || kind == OpKind::Reciprocal || kind == OpKind::NextAfter)
        inexact = false;
      int64_t tolerance = inexact ? 4 : 0;
      // Relative to the operands, not to the result.
      if (kind == OpKind::LogAddExp || kind == OpKind::Lgamma || kind == OpKind::Digamma) tolerance = 1 << 12;
      // The interpreter's long double rounds twice here.
      if (kind == OpKind::Fma && t == DType::BF16) tolerance = 1;
      if (kind == OpKind::Digamma && t == DType::F64) continue;
      DType result = info.rule == ir::ShapeRule::SameBool ? DType::Bool : t;
      check(kind, operands, t, result, tolerance);
    }
  }
}

}  // namespace
}  // namespace tenc::codegen
