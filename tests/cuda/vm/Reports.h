// What the machine finds wrong with a kernel. A report is about an instruction (and, of a race, a second one);
// repetitions are counted.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tenc::ptx {

enum class Finding : uint8_t {
  // These end the launch.
  OutOfRange,  // no live allocation, or behind the end of shared or local memory
  Redzone,     // inside an allocation, between the buffers that it holds
  Misaligned,
  DivergentBarrier,  // lanes wait for each other at different places
  BarrierDeadlock,   // warps wait for a barrier that others will not reach
  Trap,
  Timeout,
  Unsupported,        // an instruction that the machine does not know
  WarpgroupMismatch,  // the four warps of a warpgroup do not execute the same
  // These do not.
  UninitialisedShared,
  UninitialisedGlobal,
  SharedRace,
  GlobalRace,
  NonCoherentRead,   // ld.global.nc of what the launch has written
  BarrierAfterExit,  // a barrier of all threads, some of which have returned
  ShuffleMask,       // a mask that names lanes which have returned, or not the caller
  InactiveLane,      // a shuffle that reads a lane which does not take part
  ShortOverflow,   // neg.s16 or abs.s16 of -32768, whose result ptxas takes for 32768 where it is extended or compared
  WarpgroupFence,  // registers of wgmma.mma_async without wgmma.fence before it
  RegisterInUse,   // an access to registers of a wgmma.mma_async that was not waited for
  ProxyFence,      // wgmma reads what was written without fence.proxy.async
  // The driver's.
  HostAccess,
  CopyOfFreed,
  LibraryMisuse  // a library was given what it may not take
};
const char* nameOf(Finding f);

struct Report {
  Finding finding{};
  std::string kernel;
  std::string place;   // the instruction
  std::string detail;  // who, and what else
  uint64_t count = 1;

  std::string text() const;
};

class Reports {
 public:
  void add(Finding f, const std::string& kernel, const std::string& place, const std::string& detail);
  const std::vector<Report>& all() const { return reports_; }
  bool has(Finding f) const;
  void clear() { reports_.clear(); }
  /// A line each.
  std::string text() const;

 private:
  std::vector<Report> reports_;
};

/// Thrown where a launch cannot go on.
struct Fault {
  Finding finding{};
  std::string place, detail;
};

}  // namespace tenc::ptx
