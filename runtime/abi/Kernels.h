// Kernels and what they work on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/abi/DType.h"

namespace tenc::abi {

/// A compiled kernel of the host. `buffers[i]` is the start of argument i (byte offsets applied), aligned as
/// `alignmentOf` says; `scalars[i]` the bits of host scalar i, low bytes first. Work items [begin, end) of `items`, in
/// any order, on any thread. `fault`: the first word of a KernelState; 0 when all is well, else 1 + the fault's number.
/// `scratch`: the thread's own scratch memory, aligned to kScratchAlignment.
using KernelFn = void (*)(void* const* buffers, const uint64_t* scalars, int64_t begin, int64_t end, uint32_t* fault,
                          void* scratch);

/// Kernels write buffers of at least so many bytes with instructions that want whole cache lines.
inline constexpr uint64_t kLargeBuffer = uint64_t{1} << 20;
inline constexpr uint64_t kLargeAlignment = 64, kScratchAlignment = 64;
/// What the start of a buffer of `bytes` bytes is a multiple of; `element` is the size of its elements.
constexpr uint64_t alignmentOf(uint64_t bytes, uint64_t element) {
  return bytes >= kLargeBuffer ? kLargeAlignment : element;
}
/// Rank-0 values are read and written as so many bytes, whatever their dtype: no buffer is smaller.
inline constexpr uint64_t kScalarBytes = 8;

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = ~0u;

/// No tensor has more dims.
inline constexpr size_t kMostDims = 16;

/// A typed view for host effects and library calls: a dtype code, dense row-major.
struct TensorRef {
  BufferId buffer = kNoBuffer;
  uint64_t byteOffset = 0;
  uint8_t dtype = 0;
  std::vector<int64_t> shape;
  std::string device;  ///< where it lives, by actual name; for text of values
};

/// What a kernel does with an argument; `None`: the value has no elements.
enum class Access : uint8_t { Read, Write, Update, None };

struct KernelArg {
  BufferId buffer = kNoBuffer;
  uint64_t byteOffset = 0;
  Access access = Access::Read;
};

/// An image of the program that holds no code: the process itself provides the symbol.
inline constexpr uint32_t kNoImage = ~0u;

/// A function of type KernelFn. Work items are claimed in runs of `grain`.
struct HostCode {
  uint32_t image = kNoImage;  ///< index into Program::images
  std::string symbol;
  int64_t items = 1, grain = 1;
  uint64_t scratchBytes = 0;  ///< per thread
};

/// A function that a device runs on a grid of groups of threads; its parameters are the buffers' addresses, then what
/// the target and the device's runtime have agreed on.
struct DeviceCode {
  uint32_t image = kNoImage;
  std::string symbol;
  uint32_t grid[3] = {1, 1, 1}, group[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;  ///< of dynamic shared memory, per group
};

/// Functions that run one after the other, each on the arguments of the launch.
struct SequenceCode {
  std::vector<DeviceCode> functions;
};

/// Matrices in an argument of a launch: entry (i, j) of matrix b is element b * batch + i * row + j * column of those
/// that begin at `byteOffset`.
struct MatrixRef {
  uint32_t argument = 0;
  uint8_t dtype = 0;
  uint64_t byteOffset = 0;
  int64_t row = 0, column = 0, batch = 0;
};

/// `count` products of matrices, d = a b, by a library of the device that works on the stream of the launch: m x k, k x
/// n and m x n. Terms are added up in f64 if they are, else in f32. Of `a` and `b` row or column is 1, of all others
/// column.
struct ProductCode {
  int64_t m = 0, n = 0, k = 0, count = 1;
  MatrixRef a, b, d;
  std::optional<MatrixRef> c;      ///< added to the products
  std::optional<MatrixRef> bias;   ///< a row that is added to each row of the products
  bool relu = false;               ///< what has come to less than 0 is then 0
  bool rounded = false;            ///< f32 may be rounded to TF32, which has 11 bits, before it is multiplied
  uint64_t workspace = 0;          ///< the library's memory is the last argument, from that byte on
  std::optional<DeviceCode> then;  ///< a function that runs next, on the same arguments
};

/// A step of linear algebra on what lies in the memory of one matrix (SolverCode), where offsets count in bytes.
/// Matrices have their columns side by side; `info` is an i32, 0 where the step came to its end.
struct SolverCall {
  enum class Routine : uint8_t {
    Copy,      ///< the first elements of b, m x n, become those of a
    Lu,        ///< a, n x n, becomes its factors; `vector`: i64s, the row that each one was exchanged with, from 1 on
    LuSolve,   ///< b, n x k, becomes x with a x = b, by what Lu gave; with a transposed, if so
    Cholesky,  ///< the lower triangle of a, n x n, becomes the lower factor
    Qr,        ///< a, m x n, becomes R and below it the reflections, whose scales go to `vector`
    Reflections,  ///< a, m x n, becomes the first columns of the product of its first k reflections
    Eigen,        ///< a, n x n, of the lower triangle, becomes its eigenvectors; `vector`: the ascending eigenvalues
    Singular,     ///< `vector`: the descending singular values of a, m x n with m >= n, which is lost; unless k is 0,
                  ///< b: k columns of U, c: V transposed
  } routine = Routine::Copy;
  bool transposed = false;
  int64_t m = 0, n = 0, k = 0;
  uint64_t a = 0, b = 0, c = 0, vector = 0, info = 0;
};
inline constexpr size_t kSolverRoutines = 8;
inline constexpr uint64_t kSolverAlignment = 256;

/// Linear algebra by a library of the device that works on the stream of the launch: a function that puts operands into
/// the memory of each of `count` matrices, calls, a function that makes the results of what they left. The last
/// argument is that memory, from a multiple of kSolverAlignment on, `bytes` for each matrix.
struct SolverCode {
  uint8_t dtype = 0;
  int64_t count = 1;
  uint64_t bytes = 0;
  std::vector<SolverCall> calls;
  DeviceCode before, then;
};

/// A call of a routine of the runtime: buffers are the operands, then the results, dense and row-major. Its faults are
/// those of kLibraryFaults, in order.
struct LibraryCall {
  std::string routine;
  std::vector<TensorRef> operands, results;  ///< dtypes and shapes; each launch says where they are
  std::vector<std::pair<std::string, int64_t>> options;
};

/// What compiled code does with an argument: it touches no more than the first `bytes` bytes, and relies on an address
/// that is a multiple of `alignment`.
struct Parameter {
  uint64_t bytes = 0, alignment = 1;
  Access access = Access::Read;
};

struct Kernel {
  std::string name;  ///< for people and profiles
  std::variant<HostCode, DeviceCode, LibraryCall, ProductCode, SolverCode, SequenceCode> code;
  std::vector<uint32_t> sites{};  ///< index into Program::sites of each fault of the kernel
  /// Of compiled code, one for each argument of a launch; a routine's follow from its call.
  std::vector<Parameter> parameters{};
  uint32_t scalars = 0;  ///< how many compiled code takes
};

/// Machine code of one or more kernels: a relocatable ELF object for the host, whatever its driver loads for a device.
struct CodeImage {
  std::string architecture;           ///< "x86-64"
  std::vector<std::string> features;  ///< what the processor must have, by LLVM's names
  std::string bytes;
};

}  // namespace tenc::abi
