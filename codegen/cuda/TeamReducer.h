// Accumulators of a thread, and how those of the threads that share a point become one value that all of them have.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/ScalarReduce.h"
#include "codegen/cuda/CudaScalars.h"
#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// Variables that hold an accumulator: an array of the schedule's vector, indexed by `v`, where each of a thread's
/// points has its own.
struct Held {
  ScalarReducer reducer;
  std::string value, position;
};

class TeamReducer {
 public:
  TeamReducer(CudaText& out, CudaScalars& scalars, const Schedule& schedule)
      : out_(out), scalars_(scalars), schedule_(schedule) {}

  /// Shared memory that the reductions of a kernel need. `positions`: how those of argmax and argmin are held.
  void declare(const std::vector<Reduction>& reductions, Repr positions);
  /// Declares variables and gives them the value of no elements.
  Held hold(const ScalarReducer& reducer);
  Accumulated now(const Held& h);
  void assign(const Held& h, const Accumulated& a);
  /// What one more element, or what follows, makes of it.
  void merge(const Held& h, const Accumulated& more) { assign(h, h.reducer.merge(now(h), more)); }

  /// From all threads of the team to each, in an order that the schedule alone decides, of some reductions with these
  /// numbers. Unless `toAll`, the results of Columns are in the first 32 threads only.
  void across(std::span<const Held> held, std::span<const uint32_t> slots, bool toAll);
  void across(const Held& h, uint32_t slot) { across({&h, 1}, {&slot, 1}, true); }
  /// From the team's first thread to each.
  void fromFirst(const Held& h, size_t slot, bool toAll);
  /// Waits for the team's threads, and what they stored.
  void wait();
  /// `for (v ...)` over a thread's points, or a plain block.
  void openLanes();
  void closeLanes();
  /// "[4]" in the declaration of what each of a thread's points has.
  std::string each() const;
  std::string mine() const;

 private:
  void acrossColumns(const Held& h, size_t slot, bool toAll);
  /// Before values are left in shared memory that others may still read.
  void waitForReaders() {
    if (isRead_) wait();
  }
  bool lanes() const { return schedule_.family != Schedule::Family::Rows && schedule_.vector > 1; }
  std::string bits(const Held& h) const;
  Accumulated ofBits(const Held& h, const std::string& bits, const std::string& position);
  /// Whether a block has one team.
  bool alone() const { return schedule_.team == static_cast<int>(schedule_.threads); }
  /// Where in shared memory thread, of Rows warp, `row` of the team leaves its value.
  std::string place(size_t slot, const std::string& row) const;
  void acrossWarps(const Held& h, size_t slot, int warps);
  void leave(const Held& h, size_t slot, const std::string& row);
  Accumulated left(const Held& h, size_t slot, const std::string& row);
  void shuffled(const Held& h, const std::string& function, const std::string& lane, bool merged);

  CudaText& out_;
  CudaScalars& scalars_;
  const Schedule& schedule_;
  bool isRead_ = false;  ///< since threads of Columns waited, some have read what others left
};

}  // namespace tenc::codegen::cuda
