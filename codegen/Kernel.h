// The loop-level form that every target prints: an iteration space, loads through affine (or gathered) index maps, a
// scalar expression graph in SSA form, reductions, stores. Built from one `fused` op (KernelBuilder.h), or one routine
// that a target writes itself; no target here.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/Module.h"
#include "ir/Windows.h"

namespace tenc::codegen {

using ExprId = uint32_t;
inline constexpr ExprId kNoExpr = ~0u;

/// A position in a buffer, in elements: offset + sum(strides[v] * loopVar[v]) + sum(term.stride * index(term)).
/// Loop variables are numbered: the kernel's outer dims first, then the stage's inner dims.
struct Access {
  uint32_t buffer = 0;  ///< index into Kernel::buffers
  int64_t offset = 0;
  std::vector<int64_t> strides;  ///< one per loop variable of the stage; 0 repeats
  struct Term {
    ExprId index;  ///< an i64 expression
    int64_t stride;
    int64_t extent;       ///< >= 0: checked; negative indices count from the end, out of range sets
                          ///< the fault `fault` and reads 0. -1: known to be in range
    uint32_t fault = 0;   ///< index into Kernel::faults
    int64_t size = 0;     ///< added to a negative index before the check; 0: the same as `extent`
    int64_t axis = 0;     ///< of the indexed tensor, for what is said of the fault
    bool fromEnd = true;  ///< otherwise negative indices are out of range
  };
  std::vector<Term> terms;
};

/// One node of the expression graph. Nodes are in topological order: operands come before.
struct Expr {
  enum class Kind : uint8_t {
    Op,        ///< an elementwise op of Ops.def (`op`) on `args`
    Constant,  ///< `bits`: the element's little-endian bits
    LoopVar,   ///< i64: loop variable number `index`
    Scalar,    ///< host scalar number `index` (Kernel::scalars), passed by value
    Load,      ///< element at `access`
    Running,   ///< what reduction number `index`, a running one, has come to at this point of the stage
    Reduced,   ///< result of reduction number `index` (numbered through the whole kernel)
    Random,    ///< op RandomUniform/Normal/Int; args: seed, draw, flat element index (, lo, hi)
  };
  Kind kind = Kind::Constant;
  ir::DType dtype = ir::DType::F32;
  ir::OpKind op{};
  std::vector<ExprId> args;
  uint64_t bits = 0;
  uint32_t index = 0;
  Access access;
  uint32_t fault = 0;  ///< for ops that can fault
};

struct Reduction {
  enum class Kind : uint8_t { Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin };
  Kind kind;
  ExprId value;               ///< for ArgMax/ArgMin the compared value
  ExprId position = kNoExpr;  ///< for ArgMax/ArgMin: the i64 index that is the result
  ir::DType accumulator;      ///< f32 for f16 and bf16 sums
  ir::DType result;
  /// A scan: the inner loop (one) is run in order, and Expr::Kind::Running gives the value with this element, or before
  /// it when `exclusive`. Sums start from -0.
  bool running = false;
  bool exclusive = false;
  /// Of a scan, 0 or kScanChunk: elements are combined in chunks of so many, each in order, and a chunk's running
  /// values with what all chunks before it came to, which is combined in order. Targets may have chunks where it is 0.
  int chunk = 0;
  bool ordered = false;  ///< of a scan: strictly one element after the other, without chunks
};
inline constexpr int kScanChunk = 16;

struct Store {
  Access access;
  ExprId value;
};

/// Loops over inner dims, run for each outer point inside the stage's outer box, stages in order. Inner loops with an
/// empty range run zero times (a reduction then gives its identity). A stage may both reduce and store. Expressions
/// that do not depend on an inner loop variable are for the target to hoist out of that loop.
struct Stage {
  std::vector<int64_t> outerLo, outerHi;  ///< the box of outer points that run this stage; one pair an outer dim
  std::vector<int64_t> innerLo, innerHi;  ///< inner loop ranges; empty for rank 0
  std::vector<Expr> exprs;                ///< the stage's own graph (loop variables: outer then inner)
  std::vector<uint32_t> reductions;       ///< numbers in Kernel::reductions computed here
  std::vector<Store> stores;
  /// The inner iterations depend on each other through an InOut buffer (scatter): they run one after the other in
  /// row-major order. Different outer points never touch the same element. A checked store that is out of range writes
  /// nothing, or element 0 of the dim.
  bool ordered = false;
};

/// An output may share memory with an input of the same width when every load of the input has the access of the store
/// (in the same stage or an earlier one): loads of a stage come before its stores at each point.
struct Buffer {
  ir::DType dtype = ir::DType::F32;
  int64_t elements = 0;
  enum class Role : uint8_t { Input, Output, InOut, Scratch } role = Role::Input;  ///< Scratch: one a thread, small
};

/// A matrix operand as a strided view: element (b.., i, j) at offset + sum(batch[d] * b_d) + row * i + col * j. Weights
/// of a convolution that are laid out for it have their columns in blocks, each with all of its rows: column j at
/// j / block * acrossBlocks + col * (j % block). A block is one or more whole vectors.
struct MatrixView {
  uint32_t buffer = 0;
  int64_t offset = 0;
  std::vector<int64_t> batch;
  int64_t row = 0, col = 0;
  int64_t block = 0, acrossBlocks = 0;  ///< 0: all columns are one block
};

/// C[b, m, n] = epilogue(sum_k A[b, m, k] * B[b, k, n]); the epilogue is a stage whose loop variables are (batch..., m,
/// n) and whose expression `product` stands for the sum, already rounded to the product's dtype. A convolution is a
/// product whose sum runs over several dims (channels and window): `sums` are the ones around k, outermost first.
struct Product {
  struct Sum {
    int64_t extent, a, b;  ///< trips, and the strides of A and B
  };
  /// Trip t of sum number `sum` (sums.size(): k) is left out where tap t of the window meets padding, with loop
  /// variable `var` of the epilogue as its place: a batch dim, or, only for k, m or n.
  struct Edge {
    uint32_t sum, var;
    ir::WindowDim window;
  };
  /// A convolution of two dims whose windows are in one channel. Its one sum runs over the rows of the window, k over
  /// its columns, and each element adds up column by column. No edges: what meets padding follows from the windows.
  struct Depthwise {
    uint32_t rowVar;  ///< the batch dim that is the rows of places
    ir::WindowDim rows, columns;
  };
  ir::DType dtype = ir::DType::F32;     ///< of the sums
  ir::DType operands = ir::DType::F32;  ///< that of the sums, or a narrower one (TargetTraits::narrowProducts)
  std::vector<int64_t> batch;
  int64_t m = 0, n = 0, k = 0;
  std::vector<Sum> sums;  ///< when there are any, or edges, B's columns have stride 1, but of `depthwise` and for
                          ///< targets that read elements wherever they are (TargetTraits::sideBySide)
  std::vector<Edge> edges;
  std::optional<Depthwise> depthwise;
  MatrixView a, b;
  bool mirrored = false;  ///< A is B transposed: sum (i, j) is sum (j, i), to the bit
  /// Terms of one element's sum.
  int64_t depth() const {
    int64_t d = k;
    for (const Sum& s : sums) d *= s.extent;
    return d;
  }
  Stage epilogue;            ///< inner dims empty; stores of batch x m x n
  ExprId product = kNoExpr;  ///< Expr::Kind::Reduced 0 in the epilogue
};

/// C[b, i, e] = epilogue(sum_j w_j * V[b, j, e] / sum_j w_j), w_j = exp(s_j - max s), s_j = scores(sum_d Q[b, i, d] *
/// K[b, j, d]). Sums are of f32. Loop variables of `scores` are (batch..., i, j), of `epilogue` (batch..., i, e); as of
/// a product, `product` stands for what it is made of.
struct Attention {
  ir::DType operands = ir::DType::F32;  ///< of q, k and v
  std::vector<int64_t> batch;
  int64_t queries = 0, keys = 0, depth = 0, width = 0;  ///< extents of i, j, d and e
  MatrixView q, k, v;                                   ///< rows are queries or keys
  bool causal = false;                                  ///< key j is seen by query i where j <= i
  bool zero = false;                                    ///< a query that sees no key gives 0, else NaN
  std::optional<MatrixView> totals;                     ///< where log(sum_j exp(s_j)) is stored, rows are queries
  Stage scores;                                         ///< Expr::Kind::Reduced 0 is the product; no stores
  ExprId score = kNoExpr;                               ///< f32, in `scores`
  Stage epilogue;
  ExprId product = kNoExpr;
};

/// Gradients of attention, with p = exp(s - totals_i) and d = p * (sum_e C[b, i, e] * V[b, j, e] - delta_i): of V[b, j]
/// the sum of p C[b, i] over queries, of K[b, j] that of slope * d Q[b, i], of Q[b, i] that of slope * d K[b, j] over
/// keys. Operands and scores are those of Kernel::attention.
struct AttentionGradient {
  MatrixView cotangent;       ///< C
  MatrixView totals, deltas;  ///< rows are queries
  Stage slopes;               ///< loop variables (batch...), no stores
  ExprId slope = kNoExpr;     ///< f32, in `slopes`: by what a score changes with its product
  struct Result {
    bool wanted = false;
    Stage epilogue;  ///< loop variables (batch..., row, column); stores Expr::Kind::Reduced 0
    ExprId product = kNoExpr;
  };
  Result q, k, v;
};

struct Kernel {
  enum class Kind : uint8_t {
    Loop,
    Product,
    Native,
    TensorLoop,
    Routine,
    Attention,
    AttentionGradient
  } kind = Kind::Loop;
  std::string name;  ///< for people and profiles: "fused_add_mul"
  double runs = 1;   ///< how often a run of the program runs it; infinite where that is not known. No part of the code
  std::vector<Buffer> buffers;
  std::vector<ir::DType> scalars;   ///< host scalars, passed by value
  std::vector<ir::Loc> faults;      ///< the source of each fault this kernel may set
  std::vector<uint8_t> faultCodes;  ///< runtime FaultKind of each
  std::vector<int64_t> outer;       ///< Loop: the parallel iteration space (row-major)
  std::vector<Reduction> reductions;
  std::vector<Stage> stages;   ///< Loop
  Product product;             ///< Product
  Attention attention;         ///< Attention, AttentionGradient
  AttentionGradient gradient;  ///< AttentionGradient
  /// Native: the fused op whose region is emitted as it stands. The region holds one for or while and, inside, only
  /// rank-0 constants, elementwise ops, gathers and scatters of one element (an index for each axis; mode set, add,
  /// mul, max, min), and for, while, if. A tensor has one live version at any time: all versions of a carried tensor
  /// are its InOut buffer. Faults are numbered as NativeFaults.h says.
  const ir::Op* native = nullptr;
  /// Native: the least and the greatest number that each operand of the fused op may hold, as i64.
  std::vector<std::pair<int64_t, int64_t>> held;
  /// TensorLoop: the fused op whose region is run as it stands: one for or while, and inside for, while, if, rank-0
  /// constants, views (reshape, slice) and fused ops. The latter's kernels are the parts; a fault of one is numbered
  /// from the first of the part on, and that of a `for` whose step may be 0 has a number too. Carried tensors are
  /// InOut.
  const ir::Op* tensorLoop = nullptr;
  int64_t mostCopied = 0;  ///< TensorLoop: bytes of a tensor that is copied from trip to trip where need be
  std::vector<Kernel> parts;
  struct Part {
    size_t number = 0;  ///< in `parts`, of a fused op
    uint32_t firstFault = 0;
  };
  std::unordered_map<const ir::Op*, Part> partOf;
  /// Routine: the op of Trait::Library, whose operands and then results are the buffers. Its faults are those of
  /// abi::kLibraryFaults, in order.
  const ir::Op* routine = nullptr;

  /// Which operand and which result of the fused op each buffer is (-1: none; both for InOut), and which operand each
  /// scalar is. Operands of rank 0 that are free or on "cpu" are scalars, all others buffers, in order; then come the
  /// results that are not InOut, then scratch.
  std::vector<int32_t> bufferOperand, bufferResult;
  std::vector<uint32_t> scalarOperand;
  std::string error;  ///< why there is no kernel (an internal error), else empty
};

/// Text for `--emit=kernels`.
std::string print(const Kernel& k);
/// All that the code of the kernel depends on, as text: kernels with the same one have the same code, in this and every
/// other run of this compiler.
std::string codeKey(const Kernel& k);

}  // namespace tenc::codegen
