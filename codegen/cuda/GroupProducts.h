// Products of warpgroups as CUDA C++: wgmma of Hopper (PTX ISA 8.0, "Asynchronous warpgroup level matrix
// instructions").
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/Type.h"

namespace tenc::codegen::cuda {

/// Where matrices for wgmma are in shared memory, and what orders writes before its reads.
extern const std::string_view kGroupText;

/// Products that follow one another and come to one result: 64 rows of f32, of which a thread has two numbers of each
/// eight columns in two rows, as mma.sync of 16 x 8 lays them out.
struct GroupRun {
  struct Step {
    int left;       ///< fragment of 16 terms: an index of `a`, or where it begins in the left matrix, in bytes
    int64_t right;  ///< where its 16 terms begin in the right matrix, in bytes
  };
  std::string name;
  ir::DType type = ir::DType::BF16;
  int columns = 8;  ///< of the result: a multiple of 8, 256 at most
  /// They are done when the function returns; else when tenc_done does, and nothing touches the result before.
  bool waits = true;
  bool adds = false;  ///< to what the result has been; else it need not have been anything
  int fragments = 0;  ///< of the left operand in registers; 0: it is in shared memory
  bool leftAlongRows = false, rightAlongColumns = false;  ///< terms of a matrix are not side by side, but its lines are
  std::vector<Step> steps{};

  /// `static void name(float (&d)[columns / 8][4], const unsigned (&a)[fragments][4], unsigned long long b)`, with
  /// `unsigned long long a` for a left operand in shared memory.
  std::string text() const;
};

}  // namespace tenc::codegen::cuda
