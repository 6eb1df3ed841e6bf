// Where a result holds a NaN or an infinity that its operands do not explain: what `--trap nan` stops at.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/abi/Steps.h"
#include "runtime/io/Io.h"

namespace tenc::rt {

/// Whether a tensor holds neither NaNs nor infinities; true for all dtypes but floats.
bool isFinite(const TensorView& t);

/// A result and what it was made of, as of abi::Trap.
struct MadeOf {
  abi::Origins origins = abi::Origins::Whole;
  std::span<const int64_t> axes;
  TensorView result;
  std::span<const TensorView> operands;
  std::optional<TensorView> mask;
  bool selects = true;
};

/// "gives -inf at index [2]: its operand is 0.0" for the first NaN that comes from no NaN, or infinity that comes from
/// finite numbers alone; "" where there is none.
std::string findNonFinite(const MadeOf& made);

/// Whether the shapes of a trap are such that an element of the result has the elements that it comes from.
bool trapFits(const abi::Trap& t);

}  // namespace tenc::rt
