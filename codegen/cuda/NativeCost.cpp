#include "codegen/cuda/NativeCost.h"

#include <algorithm>

#include "codegen/IndexRanges.h"
#include "codegen/NativeTrips.h"
#include "codegen/ScalarBodies.h"
#include "ir/Loops.h"

namespace tenc::codegen::cuda {
namespace {

using ir::OpKind;

// Seconds of one thread at 1.7 GHz, where most instructions wait for the one before. Latencies are those that published
// microbenchmarks of GPUs since Volta find: 4 to 6 cycles for arithmetic, about 33 for a load that L1 has, 200 to 600
// for L2 and memory, from where a sector of eight f32 comes at once: (7 * 33 + 300) / 8 cycles for elements side by
// side.
constexpr double kInstruction = 3e-9;
constexpr double kRead = 40e-9;
constexpr double kWrite = 3e-9;  // nobody waits for it
constexpr double kTrip = 6e-9;   // to count, compare and jump

class Cost {
 public:
  double of(const ir::Region& region) {
    double sum = 0;
    for (const auto& op : region.ops) sum += of(*op);
    return sum;
  }

 private:
  double of(const ir::Op& op) {
    switch (op.kind) {
      case OpKind::For: ranges_.bindLoopVariable(op); return trips(op) * (kTrip + of(*op.regions[0]));
      case OpKind::While: return kTrip + of(*op.regions[0]) + of(*op.regions[1]);
      case OpKind::If: return std::max(of(*op.regions[0]), of(*op.regions[1]));
      case OpKind::Gather: return op.result()->type.rank() == 0 ? kRead : 0;
      case OpKind::Scatter: return op.stringAttr("mode") == "set" ? kWrite : kRead + kWrite;
      case OpKind::DynamicUpdate:
      case OpKind::UpdateSlice: return kWrite;
      default: break;
    }
    if (!op.has(ir::Trait::Elementwise)) return 0;  // constants, and views
    return kInstruction * elementwiseCost(op.kind, op.result()->type.dtype);
  }

  /// Of `for j in 0..i` as many as there are on average.
  double trips(const ir::Op& loop) {
    if (const auto known = ir::tripCount(loop)) return static_cast<double>(*known);
    const auto step = ir::constantInt(loop.operand(2));
    const Range lo = ranges_.of(loop.operand(0)), hi = ranges_.of(loop.operand(1));
    if (!step || *step == 0 || !isBounded(lo) || !isBounded(hi)) return 1;
    return std::max(1.0, (middle(hi) - middle(lo)) / static_cast<double>(*step));
  }
  static bool isBounded(const Range& r) {
    constexpr int64_t kMost = int64_t{1} << 40;
    return r.least > -kMost && r.most < kMost;
  }
  static double middle(const Range& r) { return 0.5 * (static_cast<double>(r.least) + static_cast<double>(r.most)); }

  IndexRanges ranges_;
};

}  // namespace

FewThreads nativeThreads(const Kernel& kernel) {
  constexpr int64_t kMany = 32;  // are faster than a core of the host
  const ir::Op* loop = loopOfApartTrips(kernel);
  const int64_t threads = loop == nullptr ? 1 : std::max<int64_t>(1, ir::tripCount(*loop).value_or(kMany));
  if (threads >= kMany) return {};
  return {threads, Cost().of(*kernel.native->regions[0]) / static_cast<double>(threads)};
}

}  // namespace tenc::codegen::cuda
