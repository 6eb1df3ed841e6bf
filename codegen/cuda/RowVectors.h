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
  /// Declares, of rows that start anywhere, whether a vector may start before the row and does (`atStart`, `early`),
  /// and the same of its end (`atEnd`, `late`). In unrolled loops the first of each are constants.
  void edges(const std::string& mayStart, const std::string& mayEnd, const std::vector<std::string>& point);
  /// Whether the element `v` of the vector, which is number `i` of the row, is not one of its.
  std::string outside(const std::string& i) const;
  StageVectors vectors(const Stage& s, bool loops, const std::vector<std::string>& point) const;
  /// Tells vectors of rows that start anywhere where they are.
  void shift(StageVectors& vectors, const std::vector<std::string>& point) const;

 private:
  bool isRows() const { return schedule_.family == Schedule::Family::Rows; }

  CudaText& out_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  const std::optional<RowShift> shift_;
};

}  // namespace tenc::codegen::cuda
