// Updates at places of run time, of which several may go to one: their form for a GPU. A kernel of such updates is a
// loop whose one stage is ordered; here its elements are shared among threads, and come to the same bits.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/Kernel.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

/// Elements are `lines` by `columns`: where a line goes follows from its indices, and each of its columns stands at a
/// fixed distance from there. Lines are numbered in the order in which they are to be stored.
struct ScatterPlan {
  enum class Form : uint8_t {
    Atomic,  ///< each element by an atomic operation, where their order does not matter
    Latest,  ///< the last line that goes to each place is found first, and that one is stored
    Short,   ///< lines are sorted by their places, in shared memory; then a thread has those of a place in order
    Long     ///< the same by digits, in memory of the plan
  } form = Form::Atomic;
  ExprId update = kNoExpr;    ///< what is stored, or combined with what is there
  ExprId combined = kNoExpr;  ///< the op that combines; none: it is replaced
  std::vector<size_t> lineVars, columnVars;
  std::vector<int64_t> lineExtents, columnExtents;
  int64_t lines = 1, columns = 1;
  Access place;      ///< of a line, as a number: less than `places`
  int64_t unit = 1;  ///< elements between neighbouring places
  int64_t places = 0;
  int64_t own = 0;     ///< Atomic: elements that each block combines in shared memory first; 0: none
  int64_t vector = 1;  ///< Short and Long: columns side by side that a thread combines
  int64_t length = 0;  ///< Short: of what is sorted, a power of two
  LaunchPlan launches;

  /// Names of unsigned types that have a place and a line's number.
  std::string placeType() const;
  std::string lineType() const;
  /// For people.
  std::string text() const;
};

/// nullopt for all other kernels, and where few lines follow each other.
std::optional<ScatterPlan> planScatter(const Kernel& kernel);

/// The body of one of its functions; `work` is the name of their memory. Returns what of it has no CUDA form.
std::string writeScatter(const Kernel& kernel, const ScatterPlan& plan, Module& module, const KernelNames& names,
                         const std::string& work, size_t function);

}  // namespace tenc::codegen::cuda
