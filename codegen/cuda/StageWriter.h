// One stage of a loop kernel as CUDA C++: its expressions where loop variables have names, its accesses and stores.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/ScalarReduce.h"
#include "codegen/cuda/CudaScalars.h"
#include "codegen/cuda/RandomText.h"

namespace tenc::codegen::cuda {

/// Names of what the whole kernel knows.
struct KernelNames {
  std::vector<std::string> buffers, scalars;  ///< by Kernel::buffers and Kernel::scalars
  std::vector<std::string> outer;             ///< outer loop variables
  std::vector<std::string> reduced;           ///< results of reductions, by number; empty before they are known
};

class StageWriter {
 public:
  /// `inner`: names of the stage's inner loop variables.
  StageWriter(CudaText& out, CudaScalars& scalars, const Kernel& kernel, const Stage& stage, const KernelNames& names,
              std::vector<std::string> inner);

  /// The condition that the outer point is in the stage's box; "true" where it always is.
  std::string inBox() const;
  /// The value of an expression at the current point, computed where `out` stands.
  Scalar value(ExprId id);
  /// What a running reduction has come to.
  void setRunning(uint32_t reduction, Scalar s);
  /// A load's element, as it is in memory, has been loaded before.
  void given(ExprId load, std::string element) { given_.emplace_back(load, std::move(element)); }
  /// What a store would write is put there instead.
  void collect(size_t store, std::string element) { collected_[store] = std::move(element); }
  /// Where the condition is false, nothing that was collected changes, and loads are of any element.
  void onlyIf(std::string condition) { condition_ = std::move(condition); }
  /// The point is one of several side by side.
  void setLanes(Lanes lanes) { lanes_ = std::move(lanes); }
  /// A pointer to an element that is accessed unchecked or, of a load, checked.
  std::string address(const Access& a);
  /// The position in the buffer; `inside` gets a condition for a checked access, else stays empty.
  std::string position(const Access& a, std::string& inside);
  /// All values that stores and reductions want, loads before stores, then the stores.
  void body();
  /// What the element at this point comes to for a reduction of the stage.
  Accumulated term(const ScalarReducer& reducer, uint32_t reduction);
  ScalarReducer reducer(uint32_t reduction) const;

 private:
  /// Whether 32 bits hold a position: it is one of the kernel's points, and no number from memory.
  bool isPoint(ExprId position) const;
  Scalar compute(const Expr& e);
  std::string variable(size_t v) const;
  std::optional<std::string> base(ExprId number) const;
  Lanes lanesOf(const Expr& random) const;
  std::optional<Scalar> narrowDivision(const Expr& e, const std::vector<Scalar>& args);
  /// A term's index from the start of its dim, as an expression, and the condition that it is none (empty: it always
  /// is).
  struct Resolved {
    Access::Term term;
    std::string index, outside;
  };
  const Resolved& resolve(const Access::Term& term);
  Scalar load(const Expr& e);
  void store(const Store& s, const std::string& instead);

  CudaText& out_;
  CudaScalars& scalars_;
  const Kernel& kernel_;
  const Stage& stage_;
  const KernelNames& names_;
  const std::vector<std::string> inner_;
  Lanes lanes_;
  std::string condition_;
  std::vector<std::pair<ExprId, std::string>> given_;
  std::vector<std::string> collected_;  ///< by store
  std::vector<Resolved> resolved_;
  std::vector<Scalar> values_;  ///< by expression; no handle: not yet computed
};

}  // namespace tenc::codegen::cuda
