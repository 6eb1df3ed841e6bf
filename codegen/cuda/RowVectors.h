// The vectors by which threads go along a stage's inner points: their numbers, and where each of them is.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/CudaText.h"
#include "codegen/cuda/RowShift.h"
#include "codegen/cuda/Schedule.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {

class RowVectors {
 public:
  RowVectors(CudaText& out, const Kernel& kernel, const Schedule& schedule);

  /// Of rows that start anywhere.
  const std::optional<RowShift>& shift() const { return shift_; }
  /// Points that the vector of a thread has, of a stage that loops or does not.
  int width(bool loops) const;
  /// Extents of a stage's inner points, the last one in vectors.
  static std::vector<int64_t> extents(const Stage& s, int vector);
  /// Vectors of the stage, and how many of them a thread of the team has at most.
  int64_t groups(const Stage& s) const;
  int64_t chunks(const Stage& s) const { return (groups(s) + schedule_.team - 1) / schedule_.team; }
  /// Of the stage's inner points, and of what numbers them: 64 bits where 32 could overflow.
  std::string_view type(const Stage& s) const;
  /// Whether an access is made a vector at a time.
  bool has(const Stage& s, const Access& a) const;
  /// Declares the inner point of a number, or the first of the vector that has it.
  std::vector<std::string> point(const Stage& s, const std::string& number, bool loops);
  /// Declares, of rows that start anywhere, whether all of a vector is inside. It may start before the row, and end
  /// behind it, only where that is known to be possible.
  void whole(const std::string& mayStart, const std::string& cannotEnd, const std::vector<std::string>& point);
  StageVectors vectors(const Stage& s, bool loops, const std::vector<std::string>& point) const;

 private:
  bool isRows() const { return schedule_.family == Schedule::Family::Rows; }

  CudaText& out_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  const std::optional<RowShift> shift_;
};

}  // namespace tenc::codegen::cuda
