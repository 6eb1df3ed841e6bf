#include "codegen/cuda/GroupProducts.h"

#include "codegen/cuda/CudaText.h"

namespace tenc::codegen::cuda {

// Tiles have rows of 128 bytes, with their 16 bytes swizzled (tenc_place<8>), 64 elements of a line or 64 lines of a
// term. Of longer lines, and of more lines, the next 64 are another tile behind all rows of the first.
const std::string_view kGroupText = R"cuda(
// Where an element is: rows of 64 elements, then the next 64 columns of all rows.
template <int kRows>
struct tenc_tiled {
  static constexpr int period = 8, bytes = 128;
  static __device__ __forceinline__ unsigned at(unsigned row, unsigned column) { return column / 64 * (kRows * 128) + tenc_place<8>(row, column % 64); }
};
// What wgmma calls a matrix descriptor: 128-byte swizzle, eight rows of 128 bytes are 1024 bytes apart, and 64 elements along rows `apart`.
__device__ __forceinline__ unsigned long long tenc_tile(unsigned shared, unsigned apart) {
  return (unsigned long long)((shared & 0x3ffff) >> 4) | (unsigned long long)(apart >> 4) << 16 | 64ull << 32 | 1ull << 62;
}
// Waits until at most `runs` groups of products are pending.
template <int runs>
__device__ __forceinline__ void tenc_pending() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(runs) : "memory"); }
// Waits for all products that were begun; `d` is their result.
template <int kTiles>
__device__ __forceinline__ void tenc_done(float (&d)[kTiles][4]) {
  tenc_pending<0>();
  #pragma unroll
  for (int i = 0; i < kTiles; ++i)
    #pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(d[i][e]) :: "memory");
}
// Before a barrier: what this thread has written to shared memory is seen by wgmma behind it.
__device__ __forceinline__ void tenc_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
)cuda";

std::string GroupRun::text() const {
  const std::string kind = type == ir::DType::F16 ? "f16" : "bf16";
  const int results = columns / 2;
  int operands = results;
  std::string inputs;
  const auto input = [&](const std::string& constraint, const std::string& value) {
    inputs += (inputs.empty() ? "" : ", ") + ("\"" + constraint + "\"(" + value + ")");
    return "%" + decimal(operands++);
  };
  std::vector<std::string> lefts;
  for (int f = 0; f < fragments; ++f) {
    std::string registers;
    for (int i = 0; i < 4; ++i)
      registers += (i > 0 ? "," : "{") + input("r", "a[" + decimal(f) + "][" + decimal(i) + "]");
    lefts.push_back(registers + "}");
  }
  const std::string left = fragments > 0 ? "" : input("l", "a"), right = input("l", "b");
  std::string sums, outputs;
  for (int i = 0; i < results; ++i) {
    sums += (i > 0 ? "," : "{") + ("%" + decimal(i));
    outputs += (i > 0 ? ", " : "") +
               ("\"" + std::string(adds ? "+f" : "=f") + "\"(d[" + decimal(i / 4) + "][" + decimal(i % 4) + "])");
  }
  sums += "}";
  std::string code = "  asm volatile(\"{ .reg .pred p; .reg .b64 x, y; wgmma.fence.sync.aligned; ";
  code += std::string("setp.ne.b32 p, ") + (adds ? "1" : "0") + ", 0;\"\n";
  const auto along = [](bool turned) { return turned ? ", 1" : ", 0"; };
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    code += "               \" ";
    if (s == 1 && !adds) code += "setp.ne.b32 p, 1, 0; ";
    if (fragments == 0) code += "add.s64 x, " + left + ", " + decimal(step.left / 16) + "; ";
    code += "add.s64 y, " + right + ", " + decimal(step.right / 16) + "; ";
    code += "wgmma.mma_async.sync.aligned.m64n" + decimal(columns) + "k16.f32." + kind + "." + kind + " " + sums + ", ";
    code += (fragments > 0 ? lefts[static_cast<size_t>(step.left)] : "x") + ", y, p, 1, 1";
    if (fragments == 0) code += along(leftAlongRows);
    code += std::string(along(rightAlongColumns)) + ";\"\n";
  }
  code += std::string("               \" wgmma.commit_group.sync.aligned;") +
          (waits ? " wgmma.wait_group.sync.aligned 0;" : "") + " }\"\n";
  code += "               : " + outputs + "\n               : " + inputs + " : \"memory\");\n";
  const std::string a = fragments > 0 ? "const unsigned (&a)[" + decimal(fragments) + "][4]" : "unsigned long long a";
  return "  static __device__ __forceinline__ void " + name + "(float (&d)[" + decimal(columns / 8) + "][4], " + a +
         ", unsigned long long b) {\n" + code + "  }\n";
}

}  // namespace tenc::codegen::cuda
