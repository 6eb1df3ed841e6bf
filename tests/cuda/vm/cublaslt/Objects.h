// What the entry points of the fake cuBLASLt hand out and look up: descriptors, with the values that attributes set.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tests/cuda/vm/driver/Command.h"

namespace tenc::ptx::cublaslt {

enum class Status : int {
  Success = 0,
  NotInitialised = 1,
  InvalidValue = 7,
  ArchMismatch = 8,
  ExecutionFailed = 13,
  InternalError = 14,
  NotSupported = 15
};
constexpr int code(Status s) { return static_cast<int>(s); }

enum DataType : int { kF32 = 0, kF64 = 1, kF16 = 2, kBf16 = 14 };
enum ComputeType : int { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };
constexpr uint32_t kPlainEpilogue = 1, kRelu = 2, kBias = 4;

/// Columns side by side: entry (r, c) of matrix b is element b * stride + c * leading + r.
struct Layout {
  int type = kF32;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t order = 0, count = 1;
  int64_t stride = 0;
};
struct Product {
  int compute = kCompute32, scale = kF32;
  int32_t transA = 0, transB = 0, pointerMode = 0;
  uint32_t epilogue = kPlainEpilogue;
  uint64_t bias = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductionSchemes = 7;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C and D
};
struct Handle {
  driver::Device* device = nullptr;
};

/// What a caller keeps of a choice: it is for these descriptors, and for pointers that are aligned as promised.
struct Algorithm {
  uint64_t problem;  // a digest
  uint32_t alignment[4];
  uint64_t biasAlignment;
  uint64_t workspace;
  uint64_t splits;  // parts that the terms are added up in, in no certain order
  uint64_t unused[2];
};
static_assert(sizeof(Algorithm) == 64);
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

/// The four matrices of a product, as they are passed on.
struct Matrices {
  Layout a, b, c, d;
};

/// Whether the library has such a product; Success, or why not.
Status check(const Product& p, const Matrices& m);
/// Whether there are algorithms for matrices that begin where the preference says: none for less than an element, as
/// the library (13.1) has none.
bool canAlign(const Matrices& m, const Preference& preference);
Algorithm choose(const Product& p, const Matrices& m, const Preference& preference);
uint64_t digest(const Product& p, const Matrices& m);
uint64_t bytesOf(int type);

/// A product with its operands, as it runs.
struct Call {
  Product product;
  Matrices matrices;
  double alpha = 1, beta = 0;
  uint64_t a = 0, b = 0, c = 0, d = 0, workspace = 0, workspaceBytes = 0;
  uint64_t splits = 1, turn = 0;  // the part that is added up first
};
/// Whether pointers and workspace are what the algorithm was chosen for.
Status check(const Call& call, const Algorithm& algorithm);
/// Computes it in the device's memory, all of which is checked.
driver::Status run(const Call& call, driver::Device& device);

}  // namespace tenc::ptx::cublaslt
