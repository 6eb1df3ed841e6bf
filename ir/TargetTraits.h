// What passes and the building of kernels ask about the hardware that runs a device's code. Plain numbers and choices:
// each target states its own (codegen/Target.h), and no room that reads them knows whose they are. Decisions that
// follow from them may change the order of a sum, so they are the same on every machine of one target.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "ir/DeviceTable.h"
#include "ir/Type.h"

namespace tenc::ir {

/// Sums, products and row-wise ops of f16 and bf16 are computed in f32 and rounded once; that is what they mean, on
/// every target.
inline DType accumulatorOf(DType t) { return t == DType::F16 || t == DType::BF16 ? DType::F32 : t; }

class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> list) {
    for (DType t : list) bits_ |= bit(t);
  }
  constexpr bool contains(DType t) const { return (bits_ & bit(t)) != 0; }

 private:
  static constexpr uint32_t bit(DType t) { return 1u << static_cast<unsigned>(t); }
  uint32_t bits_ = 0;
};

/// The defaults are those of a host with vectors of 64 bytes, megabytes of cache and few threads.
struct TargetTraits {
  // ---- products and convolutions
  /// The dtypes whose matrix products and convolutions have kernels of their own. Other products are loops.
  DTypeSet products = {DType::F32, DType::F64};
  /// Those whose matrix products with sums in a wider dtype, f32 or i32, have too. The left operand's last dim is laid
  /// side by side in memory for them.
  DTypeSet narrowProducts = {DType::F16, DType::BF16, DType::I8, DType::U8, DType::I16};
  /// The same of convolutions; others are computed in the accumulator's dtype.
  DTypeSet narrowConvolutions = {};
  /// Products load vectors of an operand's elements, which are laid side by side in memory for that. Otherwise they
  /// read elements wherever they are.
  bool sideBySide = true;
  /// A left operand whose terms are so many bytes apart, of so many rows and bytes, is laid side by side first where it
  /// is multiplied by so many columns: a smaller one stays in caches that are near enough.
  struct LeftAcross {
    int64_t apart = 1024, rows = 64, bytes = int64_t{8} << 20, columns = 128;
    int64_t page = 4096, bytesOfPages = int64_t{4} << 20;  ///< the bytes where terms are so far apart
    int64_t memory = 8;  ///< the copy takes at most one in so many bytes that a program may use
  } leftAcross;
  int64_t loopDepth = 4;  ///< products of so many terms or fewer are loops
  /// Many small products (ir/SmallProducts.h) have kernels of their own, of any number of terms; one column of each is
  /// no sum along rows then.
  bool smallProducts = true;
  bool permutedProducts = true;  ///< kernels of matrix products may store results with their dims in another order
  int64_t vectorBytes = 64;      ///< a register, or what a group of threads loads at a time
  /// What lies side by side in the matrix product that a convolution becomes.
  enum class ConvColumns : uint8_t {
    Fuller,    ///< places or output channels: those that fill vectors better
    Channels,  ///< output channels
    Places     ///< places, where they are read side by side or need not be
  };
  ConvColumns convColumns = ConvColumns::Fuller;
  /// Convolutions that read channels side by side in memory: a multiple of so many, and `least` or more. Images and
  /// weights are copied for that, if each of their elements is multiplied `reuse` times or more, and there are so many
  /// multiplications: the copies are launches of their own.
  struct ChannelsLast {
    DTypeSet dtypes = {};
    int64_t multiple = 8, least = 16, reuse = 128, multiplications = int64_t{1} << 31;
  } channelsLast;
  /// Convolutions of one channel in for each out: `rows` and `outs` are the most that a kernel of their own takes (0:
  /// there is none); others are sums of shifted inputs up to `mostTaps` taps, and so are all up to `fewTaps`.
  struct Depthwise {
    int64_t rows = 11, outs = 2, fewTaps = 9, mostTaps = 25;
  } depthwise;

  // ---- attention
  struct Attention {
    /// The dtypes of which it is a kernel of its own, of so many queries or more, for heads of so many elements or
    /// fewer.
    DTypeSet whole = {};
    int64_t leastQueries = 8, mostDepth = 256;
    int64_t mostGradientDepth = 0;  ///< its gradient is one, too, for heads of so many elements or fewer
    // Elsewhere it is products and row-wise ops, block by block.
    int64_t tileBytes = int64_t{1} << 20;   ///< of scores that exist at a time: what stays in L2
    int64_t leastRows = 256;                ///< of a block, before the batch is cut too: keys are packed a block
    int64_t halves = 512, quarters = 1024;  ///< from so many queries on masked keys are left out in two steps, in four
  } attention;

  // ---- row-wise kernels, reductions, scans
  int64_t fewRows = 8;          ///< rows below which a large row-wise kernel has too little to share out
  int64_t largeDomain = 65536;  ///< points of a large kernel
  int mostFused = 160;          ///< ops of one kernel
  int indexOps = 0;             ///< so many on indices alone are repeated for each element rather than a kernel
  int64_t scratchRow = 16384;   ///< elements of a row that is kept between the stages of a kernel
  int64_t scratchBytes = std::numeric_limits<int64_t>::max();  ///< of all rows that a kernel keeps
  /// A reduction of many elements to few results is cut into parts, which are reduced one by one and then together.
  struct Reductions {
    int64_t fewResults = 64, manyElements = 65536;
    int64_t fewColumns = 0, manyRows = 0;  ///< the same across memory: results side by side, elements for each
    int64_t leastParts = 8, mostParts = 256, leastPart = 256;
    int64_t largePart = int64_t{1} << 28, mostLargeParts = 65536;  ///< some 0.3 s: a run is stopped between parts
    int64_t unrolled = 4;                                          ///< elements that are no loop
    /// Elements from which what is reduced is stored first where it is computed from tensors that lie in memory along
    /// different dims: elementwise kernels turn squares of them.
    int64_t turned = 32768;
  } reductions;
  struct Scans {
    int64_t block = 4096;      ///< elements of a part along the axis: 16 KiB of f32
    int64_t fewItems = 8;      ///< scans beside each other that keep all threads busy
    int64_t itemColumns = 64;  ///< columns that one item takes side by side
    int64_t manyElements = 65536;
    int64_t fewColumns = 8;  ///< elements side by side that are too few to be a vector: the axis is cut in chunks then
    int64_t leastLength = 64;  ///< along the axis, to be worth chunks
  } scans;

  // ---- native loops
  /// Tensors that a trip makes for itself: bytes of one that repeats a number, elements of a literal, bytes in all.
  struct Locals {
    int64_t bytes = 4096, literal = 64, total = 16384;
  } locals;
};

/// The traits of each kind of device.
class TraitsTable {
 public:
  void set(std::string_view kind, const TargetTraits& traits) { byKind_.insert_or_assign(std::string(kind), traits); }
  /// Of an actual device; "" is the host. A kind that was not set is like the host.
  const TargetTraits& of(std::string_view device) const {
    auto it = byKind_.find(DeviceTable::kindOf(device));
    if (it == byKind_.end()) it = byKind_.find(DeviceTable::kHost);
    return it == byKind_.end() ? host_ : it->second;
  }

 private:
  TargetTraits host_;
  std::map<std::string, TargetTraits, std::less<>> byKind_;
};

}  // namespace tenc::ir
