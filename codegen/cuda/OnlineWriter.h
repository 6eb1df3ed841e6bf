// What OnlineSums.h finds, as CUDA C++: two stages of a loop kernel in one pass over a row.
#pragma once
#include <string>

#include "codegen/cuda/OnlineSums.h"
#include "codegen/cuda/RowVectors.h"
#include "codegen/cuda/TeamReducer.h"

namespace tenc::codegen::cuda {

class OnlineWriter {
 public:
  OnlineWriter(CudaText& out, CudaScalars& scalars, TeamReducer& team, const Kernel& kernel, const Schedule& schedule,
               RowVectors& rows, const KernelNames& names)
      : out_(out), scalars_(scalars), team_(team), kernel_(kernel), schedule_(schedule), rows_(rows), names_(names) {}

  /// Both results: some vectors of a thread at a time, whose loads are under way together.
  void write(const OnlineSum& o);

 private:
  /// An array of a stage's values at the points of `some` vectors, of which the thread's first has the number, and
  /// others are a team apart; -inf where no point is. `bounded`: not all vectors are there.
  std::string values(const Stage& s, ExprId value, const std::string& number, int64_t some, bool bounded);

  CudaText& out_;
  CudaScalars& scalars_;
  TeamReducer& team_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  RowVectors& rows_;
  const KernelNames& names_;
};

}  // namespace tenc::codegen::cuda
