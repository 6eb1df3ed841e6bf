// Sorts: how rows are shared among blocks, and the functions.
#pragma once
#include <string>
#include <vector>

#include "codegen/cuda/Routines.h"

namespace tenc::codegen::cuda {

bool isSort(const ir::Op& op);
LaunchPlan planSort(const ir::Op& op);
/// The body of one of its functions; `work` is the name of their memory.
void writeSort(const ir::Op& op, Module& module, const KernelNames& names, const std::string& work, size_t function);
/// For people.
std::string describeSort(const ir::Op& op);

/// Rows of n elements that several blocks sort by digits, and what they work in.
struct WideSort {
  int64_t rows = 1, n = 0;
  int64_t width = 4;   ///< bytes of an element
  bool placed = true;  ///< with the places of elements

  bool isNarrow() const { return n < int64_t{1} << 31; }
  /// Elements that a thread has at a time.
  int64_t items() const;
  int64_t chunk() const;  ///< elements of a block
  int64_t share() const;  ///< blocks of a row
  uint64_t bytes() const;
  /// The functions, as many blocks for each, and their launches for keys of so many bytes.
  enum Step : uint32_t { Begin, Count, Scan, Move, kSteps };
  std::vector<Schedule> functions() const;
  static std::vector<uint32_t> launches(int64_t digits);
  /// Declares `wide`, the type, and `w`. Pass `ends`, if any, goes to the results.
  void declare(Module& module, const std::string& row, const std::string& work, int64_t ends) const;
};

}  // namespace tenc::codegen::cuda
