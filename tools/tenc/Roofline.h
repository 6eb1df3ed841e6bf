// What this machine can do, as it is measured in a few tenths of a second: the bytes that it moves and the arithmetic
// that it does in a second.
#pragma once
#include <cstdint>
#include <vector>

namespace tenc::tool {

struct Roofline {
  struct Level {
    uint64_t bytes = 0;  ///< all threads together work on so many
    double bandwidth = 0;
  };
  int threads = 1;
  std::vector<Level> levels;  ///< ascending; the last is memory
  double flops = 0;           ///< multiplications and additions of f32 in a second

  /// Bytes in a second for work on so many.
  double bandwidth(double bytes) const;
  /// The least seconds for work on so many bytes with so much arithmetic of f32.
  double seconds(double bytes, double flops) const;
  /// Takes in that work on so many bytes with so much arithmetic took no longer: a machine that was busy while it was
  /// measured can do more than was seen then.
  void reached(double bytes, double work, double seconds);
};

/// Measures with so many threads.
Roofline measureRoofline(int threads);

}  // namespace tenc::tool
