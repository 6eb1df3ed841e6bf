// Whole calls that people write who come from NumPy, PyTorch or Python, made into what TL writes: `len(x)` into
// `x.shape[0]`, `x.float()` into `f32(x)`. For the help of errors; nothing is accepted that TL does not have.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::frontend {

/// A call as it stands in the source.
struct WrittenCall {
  std::string_view name;
  bool method = false;                     ///< x.name(...): x is the first of `operands`
  std::vector<std::string_view> operands;  ///< their texts
  std::string_view before, after;          ///< the source before and behind the call
};

/// The text to put in place of the call; nullopt when there is none that fits where it stands.
std::optional<std::string> rewritten(const WrittenCall& call);

}  // namespace tenc::frontend
