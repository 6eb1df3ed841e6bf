// The accesses of a stage that a thread makes for several points side by side at once: loads before what is computed at
// each of them, stores after it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/RowShift.h"
#include "codegen/cuda/StageWriter.h"

namespace tenc::codegen::cuda {

class StageVectors {
 public:
  /// No vectors.
  StageVectors() = default;
  /// Vectors of `width` elements along a loop variable.
  StageVectors(const Kernel& kernel, const Stage& stage, size_t variable, int width);

  /// The same of rows that start anywhere (RowVectors::edges): the first element has the number `first` of the row's.
  /// `near`: loads at the edges have no branches, and other elements of the row where these are not its.
  void shift(const RowShift& rows, std::string first, bool near);

  /// C++'s type of some elements of a buffer.
  static std::string type(const Kernel& kernel, uint32_t buffer, int width);

  /// Loads all, and declares what is stored. `first` writes at the first of the points.
  void load(CudaText& out, StageWriter& first);
  /// The elements of a load, or of what is put where a store's vector was, are these arrays' instead.
  void loadFrom(ExprId load, std::string array) { loads_[load] = std::move(array); }
  void keepIn(size_t store, std::string array) { stores_[store] = std::move(array), inMemory_[store] = false; }
  /// Tells the writer of one of the points, whose number in the vector is `v`.
  void give(StageWriter& point) const;
  void store(CudaText& out, StageWriter& first) const;
  /// A load from the address of the first element, as an expression.
  std::string loaded(const std::string& type, const std::string& address) const;

 private:
  bool suits(const Access& access) const;
  std::string bounds() const;

  const Kernel* kernel_ = nullptr;
  const Stage* stage_ = nullptr;
  size_t variable_ = 0;
  int width_ = 1;
  std::vector<std::string> loads_,
      stores_;  ///< names of vectors, by expression and by store; empty where there is none
  std::vector<bool> inMemory_;
  std::optional<RowShift> rows_;
  std::string first_;
  bool near_ = false;
};

}  // namespace tenc::codegen::cuda
