// How a kernel's points are shared out among blocks, threads and registers, as data; one function chooses.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "codegen/Kernel.h"

namespace tenc::codegen::cuda {

/// Of a product: what a block computes, and each of its threads or, on tensor cores, of its warps.
struct Tile {
  int rows = 0, columns = 0, depth = 0;  ///< of a block; terms that are in shared memory at a time
  int threadRows = 0, threadColumns = 0;
  int warpRows = 0, warpColumns = 0;
  int parts =
      1;  ///< groups of threads that have the whole tile, each some of the terms: a thread has more elements then
  constexpr bool onTensorCores() const { return warpRows > 0; }
  constexpr int threads() const {
    return onTensorCores() ? rows / warpRows * (columns / warpColumns) * 32
                           : rows / threadRows * (columns / threadColumns) * parts;
  }
};

/// How an operand of a product on tensor cores gets into shared memory: pieces of `width` elements, side by side in
/// memory along terms or along lines (rows of A, columns of B). One by one they go through registers.
struct Pieces {
  bool alongTerms = false;
  int width = 1;
  bool packed =
      false;  ///< one by one, by a table of terms: a thread has eight terms of a line, which it stores at once
};

struct Schedule {
  enum class Family : uint8_t {
    Points,     ///< a thread for each outer point, or for `vector` of them side by side
    Flat,       ///< a thread for `vector` points side by side in row-major order (FlatPlan.h)
    Rows,       ///< a team of `team` threads side by side for each outer point, which share the inner points
    Columns,    ///< 32 threads side by side have outer points, `team` such rows of a block share the inner points
    Turned,     ///< tiles of 32 x 32 outer points, between which and memory shared memory turns what is read
    Tiles,      ///< of a product
    Attention,  ///< a block for each of its blocks of queries (AttentionSchedule.h)
    Trips,      ///< a thread for each trip of a native loop
    Alone       ///< one thread
  } family = Family::Points;
  uint32_t blocks = 1, threads = 1;
  int vector = 1;  ///< points of a thread that lie side by side: along the last outer variable, of Rows the last inner
  int team = 1;    ///< threads that share an outer point
  Tile tile;
  Pieces a, b;          ///< on tensor cores
  uint32_t shared = 0;  ///< bytes of dynamic shared memory
  int resident = 1;     ///< blocks that must fit on a multiprocessor, by their registers
  int groups = 0;       ///< warpgroups that multiply; 0: warps do
  int stages = 0;     ///< of products on tensor cores: tiles of terms that are in shared memory, or on their way to it
  size_t turned = 0;  ///< Turned: the outer variable along which turned loads go
  /// Rows: inner loops are unrolled, and what several stages read, and scratch rows, stay in registers.
  bool unrolled = false;
  /// Rows: they start anywhere in a vector (RowShift.h).
  bool shifted = false;
  /// Rows: so many side by side in a block, which read what lies across rows together, by way of shared memory; 0: each
  /// reads its own.
  int beside = 0;
  /// Rows and Columns: of a running reduction, whose team keeps the order of elements.
  bool scan = false;
  int ahead = 1;  ///< of a scan: vectors that a thread loads at a time

  bool inWarps() const { return team <= 32; }
  /// For people.
  std::string text() const;
};

inline constexpr int64_t kMultiprocessors = 132;  ///< of the devices that blocks and tiles are chosen for
inline constexpr uint64_t kVectorBytes = 16;      ///< of the widest access

/// What the architecture has that schedules depend on.
struct Features {
  bool tensorCores = true;  ///< mma.sync of f16 and bf16 by 16 terms, and copies past registers (cp.async)
  bool warpgroups = false;  ///< wgmma of f16 and bf16
  bool fast = false;        ///< --fp=fast: weights of attention are rounded to 16 bits
};

Schedule schedule(const Kernel& kernel, const Features& features);

/// Blocks and threads of all of a kernel's functions, and how much memory of the device they work in.
struct LaunchPlan {
  Schedule schedule;
  uint64_t workspaceBytes = 0;
  /// Of what is several functions: these, and which of them run, one after the other.
  std::vector<Schedule> functions{};
  std::vector<uint32_t> launches{};
};

/// Scratch buffers that each thread can have its own part of: all accesses are at the same place of stages of the same
/// inner points.
std::vector<bool> threadsOwn(const Kernel& kernel);

/// The variable along which the stage's accesses may be `schedule.vector` wide.
size_t vectorVariable(const Kernel& kernel, const Schedule& schedule, const Stage& stage);

/// Whether an access of the stage is that of elements side by side, when `variable` takes `width` values from a
/// multiple of it. The buffer starts at a multiple of 16 bytes.
bool isVector(const Kernel& kernel, const Stage& stage, const Access& access, size_t variable, int width);

/// The widest vectors that suit every access of the stage that moves with the variable; `multiples` are what they have
/// to divide.
int vectorWidth(const Kernel& kernel, const Stage& stage, size_t variable, std::initializer_list<int64_t> multiples);

/// Whether a load goes along memory with that outer variable, and not with the last one.
bool isTurned(const Kernel& kernel, const Access& load, size_t variable);

/// What a stage of Rows reads across rows, and could read with neighbouring rows. All rows of the kernel run the stage.
bool isAcrossRows(const Kernel& kernel, const Stage& stage, const Access& load);

/// Straight code that NVRTC takes long for, in units of elementwiseCost.
inline constexpr int64_t kLongCode = 512;

/// Inner points that 32 bits number, also behind the end of a loop, where its last step may lead.
inline constexpr int64_t kNarrowRow = (int64_t{1} << 31) - (int64_t{1} << 20);

/// Elements of a column whose loads are under way together, where few threads have any.
inline constexpr int kColumnLoads = 16;

/// Which expressions of the stage vary with a loop variable.
std::vector<bool> varying(const Stage& stage, size_t variable);

/// What a value costs, or a point of a stage, in units of elementwiseCost.
int64_t costOf(const Expr& expr);
int64_t costOf(const Stage& stage);

/// Whether the stage's inner points are visited in order.
bool isSerial(const Kernel& kernel, const Stage& stage);

}  // namespace tenc::codegen::cuda
