// The table of ops, as data. Rows are in Ops.def; passes ask for traits, never for lists of ops.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenc::ir {

enum class Trait : uint32_t {
  None = 0,
  Elementwise = 1u << 0,    ///< result[i] depends on operand[i] alone; all operands have the result's shape
  Commutative = 1u << 1,    ///< operands 0 and 1 may be swapped
  Structural = 1u << 2,     ///< an index map from result to operands; moves elements, computes nothing
  Reduction = 1u << 3,      ///< reduces over attr `axes`
  Creation = 1u << 4,       ///< makes a tensor from nothing (or from rank-0 values): placed by annotation (P1)
  Product = 1u << 5,        ///< matrix product and what is scheduled like one
  Decomposed = 1u << 6,     ///< passes/decompose writes it in other ops, if it does not prefer it whole
  Gathers = 1u << 7,        ///< reads elements at run-time indices
  Scatters = 1u << 8,       ///< operand 0 with some elements replaced; done in place when nothing else sees operand 0
  HasSideEffect = 1u << 9,  ///< never removed, reordered or merged
  HostEffect = 1u << 10,    ///< runs on the host and reads its operands there (P4 d)
  Control = 1u << 11,       ///< has regions that run
  Terminator = 1u << 12,
  CanFault = 1u << 13,        ///< may stop the program (index, division); still pure otherwise
  Differentiable = 1u << 14,  ///< has a rule in the table of derivatives (transforms/Tangents.cpp)
  Placing = 1u << 15,         ///< removed or made by placement
  Random = 1u << 16,          ///< bits from the counter-based generator
  BoolOk = 1u << 17,          ///< accepts bool operands
  FloatOnly = 1u << 18,
  IntOnly = 1u << 19,  ///< integers; with BoolOk also bool
  BoolOnly = 1u << 20,
  Cheap = 1u << 21,      ///< recomputing beats storing
  Library = 1u << 22,    ///< a routine on whole rows (the last dim) or matrices (the last two) in dense memory; leading
                         ///< dims are a batch
  Piecewise = 1u << 23,  ///< an element comes from one operand or another, by where it lies
  LoadsColumns = 1u << 24,  ///< a product that loads vectors as they lie in memory: along the last dim of operand 1
                            ///< with attr `out_last`, else of operand 0
  Scans = 1u << 25,         ///< running results along the one axis of attr `axes`
  Rounds = 1u << 26,  ///< multiplies operands 0, 1 (and 2 of attention); attr `rounds`: those are of f32, and each
                      ///< is rounded to that dtype first
  WholeGradient = 1u << 27,  ///< its part of a gradient is one call, which targets may have as a kernel
                             ///< (ir/CallAttributes.h)
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}

constexpr bool contains(Trait set, Trait t) { return (static_cast<uint32_t>(set) & static_cast<uint32_t>(t)) != 0; }

/// How the result type follows from operands and attributes; implemented once in Infer.cpp.
enum class ShapeRule : uint8_t {
  Same,            ///< all operands of one type; the result is of that type
  SameBool,        ///< all operands of one type; bool of that shape (comparisons, isnan)
  Select,          ///< (bool, T, T)
  Cast,            ///< attr dtype
  Bitcast,         ///< attr dtype, same width
  Reduce,          ///< attr axes, keep; the operand's dtype
  ReduceWide,      ///< integers under 64 bits give i64/u64, bool gives i64
  ReduceBool,      ///< any, all
  ReduceIndex,     ///< i64; attr axes (one axis, or all: index into the flattened order)
  Scan,            ///< operand 0's type; block totals have one element a block along attr axes
  Matmul,          ///< [..., M, K] x [..., K, N], batch dims equal (broadcast first)
  Attention,       ///< [..., Q, D], [..., K, D], [..., K, E], [], mask [..., Q, K] with dims of 1
  AttentionSaved,  ///< the same, and [..., Q] of f32
  AttentionGrad,   ///< operands of attention, [..., Q, E], [..., Q] twice; [..., Q, D], [..., K, D] and [..., K, E]
  Conv,            ///< [N, C, S...] x [O, C / groups, window...]; attrs stride, dilation, groups, lo, hi,
                   ///< out_last (ir/Windows.h)
  Reshape,
  Permute,
  Broadcast,
  Slice,
  Pad,
  Concat,
  Flip,
  Gather,
  DynamicSlice,
  UpdateSlice,
  DynamicUpdate,
  Scatter,
  Rows,     ///< operand 0 along its first dim by operand 1 (i64, of rank 1 or more)
  Created,  ///< attrs shape, dtype
  Library,  ///< rows of library routines, each by its own rule (InferLibrary.cpp)
  Given,    ///< result types are given by the maker and checked by the verifier where it can
  First,    ///< the type of operand 0, whatever the others are
  None,     ///< no results
};

enum class OpKind : uint16_t {
#define TENC_OP(kind, mnemonic, minOperands, maxOperands, results, traits, rule, attrs, doc) kind,
#include "ir/Ops.def"
  Count
};

struct OpInfo {
  std::string_view mnemonic;
  int minOperands;
  int maxOperands;  ///< -1: any number
  int results;      ///< -1: any number
  Trait traits;
  ShapeRule rule;
  std::string_view attrs;  ///< "axes:ints keep:bool?" - name:kind, `?` may be absent
  std::string_view doc;
  constexpr bool has(Trait t) const { return contains(traits, t); }
};
const OpInfo& opInfo(OpKind k);
std::optional<OpKind> opNamed(std::string_view mnemonic);
/// The elementwise op that joins the results of two parts of a reduction; nothing where parts cannot be joined.
std::optional<OpKind> combinerOf(OpKind reduction);
/// argmax and argmin, which give a place.
constexpr bool isPosition(OpKind k) { return k == OpKind::ArgMax || k == OpKind::ArgMin; }
/// The elementwise op that attr `mode` of cumulate and scatter names: add, mul, max or min.
OpKind combinerNamed(std::string_view mode);
/// Throws an internal error: the op has a row here, but a room lacks its rule (`what`: "scalar body").
[[noreturn]] void lacksRule(OpKind k, std::string_view what);

}  // namespace tenc::ir
