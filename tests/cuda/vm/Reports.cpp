#include "tests/cuda/vm/Reports.h"

#include <algorithm>

namespace tenc::ptx {
namespace {
constexpr size_t kMostReports = 1000;
}

const char* nameOf(Finding f) {
  switch (f) {
    case Finding::OutOfRange: return "out-of-range access";
    case Finding::Redzone: return "access to a redzone";
    case Finding::Misaligned: return "misaligned access";
    case Finding::DivergentBarrier: return "divergent barrier";
    case Finding::BarrierDeadlock: return "barrier that is never complete";
    case Finding::Trap: return "trap";
    case Finding::Timeout: return "timeout";
    case Finding::Unsupported: return "unsupported instruction";
    case Finding::WarpgroupMismatch: return "warps of a warpgroup that go different ways";
    case Finding::UninitialisedShared: return "uninitialised read of shared memory";
    case Finding::UninitialisedGlobal: return "uninitialised read of global memory";
    case Finding::SharedRace: return "race in shared memory";
    case Finding::GlobalRace: return "race between blocks";
    case Finding::NonCoherentRead: return "non-coherent read of what the launch has written";
    case Finding::BarrierAfterExit: return "barrier after threads have returned";
    case Finding::ShuffleMask: return "wrong mask";
    case Finding::InactiveLane: return "shuffle from an inactive lane";
    case Finding::ShortOverflow: return "-32768 changes its sign in 16 bits";
    case Finding::WarpgroupFence: return "registers of wgmma without a fence";
    case Finding::RegisterInUse: return "register of a wgmma that was not waited for";
    case Finding::ProxyFence: return "wgmma of what was written without fence.proxy.async";
    case Finding::HostAccess: return "access of the host to device memory";
    case Finding::CopyOfFreed: return "copy of freed memory";
    case Finding::LibraryMisuse: return "misuse of a library";
  }
  return "?";
}

std::string Report::text() const {
  std::string s = std::string(nameOf(finding)) + " in " + kernel + " at " + place + ": " + detail;
  if (count > 1) s += " (" + std::to_string(count) + " times)";
  return s;
}

void Reports::add(Finding f, const std::string& kernel, const std::string& place, const std::string& detail) {
  auto same = [&](const Report& r) { return r.finding == f && r.place == place && r.kernel == kernel; };
  auto r = std::find_if(reports_.begin(), reports_.end(), same);
  if (r != reports_.end()) {
    ++r->count;
  } else if (reports_.size() < kMostReports) {
    reports_.push_back({f, kernel, place, detail});
  }
}

bool Reports::has(Finding f) const {
  return std::any_of(reports_.begin(), reports_.end(), [&](const Report& r) { return r.finding == f; });
}

std::string Reports::text() const {
  std::string s;
  for (const Report& r : reports_) s += r.text() + "\n";
  return s;
}

}  // namespace tenc::ptx
