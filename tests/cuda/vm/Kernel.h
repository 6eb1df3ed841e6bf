// Decoded kernels: what the machine executes. An instruction is a handler and the slots of its operands.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenc::ptx {

constexpr uint32_t kLanes = 32;
/// A set of lanes of a warp.
using Mask = uint32_t;
constexpr Mask kAllLanes = ~0u;

/// Where an operand lies: words from the start of a warp's registers, or with kConstant of the kernel's constants. A
/// value of up to 32 bits is 32 words, one of 64 bits 64, a predicate one word (a mask).
using Slot = uint32_t;
constexpr Slot kConstant = 1u << 31;
constexpr Slot kNoSlot = ~0u;

/// Generic addresses of shared and local memory lie in windows. Offsets in shared memory start above zero, so that a
/// null pointer is an error there too.
constexpr uint64_t kSharedWindow = 0x40000000, kLocalWindow = 0x50000000, kWindowBytes = 0x01000000;
constexpr uint32_t kSharedBase = 1024;

enum class Space : uint8_t { Generic, Global, Shared, Local, Parameter };

/// Classes of instructions that are counted apart. Helper is what the decoder adds; it is not counted.
enum class Class : uint8_t {
  Integer,
  Float32,
  Float64,
  Half,
  Special,
  Matrix,
  Warpgroup,  // wgmma.mma_async
  Convert,
  Move,
  Global,
  Shared,
  Local,
  Atomic,
  Shuffle,
  Barrier,
  Branch,
  Other,
  Helper
};
constexpr size_t kClasses = static_cast<size_t>(Class::Helper) + 1;
const char* nameOf(Class c);

class Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

struct Instruction {
  Handler handler = nullptr;
  Slot guard = kNoSlot;
  bool guardNegated = false;
  Class cls = Class::Other;
  Space space = Space::Generic;
  uint8_t destinations = 0, sources = 0;
  uint8_t bytes = 0;               // of an element in memory, or of a part of a packed value
  uint8_t vector = 1;              // elements of an access
  uint8_t mode = 0, variant = 0;   // what they mean is the handler's affair
  uint8_t negated = 0;             // sources that are negated predicates, a bit each
  uint8_t flops = 0;               // of a lane
  uint8_t usedFrom = 0, used = 0;  // bytes of a load that are wanted, where not all are
  bool isSigned = false;
  bool wide = false;     // values are 64 bits wide
  bool strong = false;   // ordered or volatile: no race with its like
  bool watched = false;  // touches registers that wgmma uses
  Slot address = kNoSlot, address2 = kNoSlot;
  int64_t offset = 0, offset2 = 0;
  uint32_t target = 0;  // of a branch; floating-point operations of a warp in a matrix instruction
  std::array<Slot, 4> to{};
  std::array<Slot, 12> from{};
};

enum class MatrixType : uint8_t { F16, Bf16, Tf32, S8, U8 };

/// Operands of a wgmma.mma_async, which are more than an instruction has room for.
struct WarpgroupProduct {
  uint32_t columns = 0;
  MatrixType type = MatrixType::Bf16;
  std::vector<Slot> d;  // columns / 2 registers
  std::vector<Slot> a;  // four registers; none where a descriptor says where it lies
  Slot describesA = kNoSlot, describesB = kNoSlot;
  Slot accumulate = kNoSlot;  // a predicate: D is added
  bool accumulateNegated = false;
  bool negateA = false, negateB = false;          // all elements
  bool transposedA = false, transposedB = false;  // rows (columns of B) lie side by side, not terms
};

/// Calls f(slot, written) for the operands of an instruction that are registers or constants.
template <class F>
void forOperands(const Instruction& i, F f) {
  for (uint32_t n = 0; n < i.destinations; ++n) f(i.to[n], true);
  for (uint32_t n = 0; n < i.sources; ++n) f(i.from[n], false);
  if (i.address != kNoSlot) f(i.address, false);
  if (i.address2 != kNoSlot) f(i.address2, false);
}

/// What messages say of an instruction.
struct Origin {
  std::string text;
  uint32_t line = 0;        // of the PTX
  uint32_t sourceLine = 0;  // of the CUDA source, if it is known
};

struct Parameter {
  uint32_t offset = 0, bytes = 0;
};

/// Special registers, which have their value when a block starts.
enum class Special : uint8_t {
  Thread,
  Threads,
  BlockIndex,
  Blocks,  // with a dimension
  Lane,
  LaneEq,
  LaneLt,
  LaneLe,
  LaneGt,
  LaneGe,
  Warp,
  Warps,
  Multiprocessor,
  Multiprocessors,
  Grid,
  DynamicShared,
  TotalShared,
  Clock,
  Clock64,
  Timer
};
struct SpecialRegister {
  Special kind = Special::Lane;
  uint8_t dimension = 0;
  Slot slot = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<Origin> origins;  // one for each instruction
  std::vector<uint32_t> constants;
  std::vector<std::vector<uint32_t>> branchTables;
  std::vector<WarpgroupProduct> products;
  std::vector<Slot> productRegisters;  // that these use, each once
  std::vector<SpecialRegister> specials;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t registerWords = 0;
  uint32_t sharedBytes = 0, localBytes = 0;
  uint32_t dynamicAlign = 16;                 // of shared memory whose size a launch says
  uint32_t maxThreads = 0;                    // a block may have; 0 where nothing is said
  bool ordersBlocks = false;                  // has fences or ordered accesses
  uint32_t sharedGrain = 4, globalGrain = 4;  // bytes of the narrowest access, at most 4

  /// Where that begins, behind what is known.
  uint32_t dynamicBegin() const { return (sharedBytes + dynamicAlign - 1) / dynamicAlign * dynamicAlign; }
  /// "line 12: st.shared.f32 [%r1], %f2 (source line 3)".
  std::string describe(uint32_t pc) const;
};

}  // namespace tenc::ptx
