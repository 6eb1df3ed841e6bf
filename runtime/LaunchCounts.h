// How the kernels of a call reached a device.
#pragma once
#include <cstdint>

namespace tenc::rt {

struct LaunchCounts {
  uint64_t single = 0;    ///< by launches of their own
  uint64_t graphs = 0;    ///< launches of many kernels together, which the device had been given before
  uint64_t inGraphs = 0;  ///< the kernels in those
};

}  // namespace tenc::rt
