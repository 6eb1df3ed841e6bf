#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {

const std::string_view kTensorText = R"cuda(
// Where an element of 16 bits is in a tile whose rows are `pieces` times 16 bytes: eight rows that are read together are
// in different banks.
template <int pieces>
__device__ __forceinline__ unsigned tenc_place(unsigned row, unsigned element) {
  return row * (pieces * 16) + ((element / 8 ^ (pieces >= 8 ? row % 8 : row * pieces / 8 % pieces)) * 16) + element % 8 * 2;
}
// Keeps what was computed: otherwise it may be computed again in a loop that uses it.
__device__ __forceinline__ void tenc_keep(unsigned& x) { asm volatile("" : "+r"(x)); }
__device__ __forceinline__ void tenc_keep(const unsigned char*& x) { asm volatile("" : "+l"(x)); }
// An element of 16 bits, or zero where `outside` is not: without a branch, so that loads are under way together.
__device__ __forceinline__ unsigned short tenc_element(const unsigned char* from, unsigned outside) {
  unsigned short x;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0; mov.u16 %0, 0; @p ld.global.u16 %0, [%1]; }" : "=h"(x) : "l"(from), "r"(outside) : "memory");
  return x;
}
// Copies to shared memory, or writes zeros there. Only 16 bytes go past L1.
template <int bytes>
__device__ __forceinline__ void tenc_copy(unsigned to, const void* from, bool inside) {
  if (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(bytes), "r"(inside ? bytes : 0) : "memory");
}
__device__ __forceinline__ void tenc_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void tenc_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
// Four matrices of 8 x 8: lane l has the address of row l % 8 of number l / 8.
template <bool turned>
__device__ __forceinline__ void tenc_matrices(unsigned (&x)[4], unsigned from) {
  if (turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void tenc_mma_f16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void tenc_mma_bf16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
)cuda";

}  // namespace tenc::codegen::cuda
