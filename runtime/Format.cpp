#include "runtime/Format.h"

#include "runtime/io/Io.h"

namespace tenc::rt {

std::string formatStep(const abi::Step& step, const std::vector<std::byte*>& address) {
  std::string text;
  for (size_t i = 0; i < step.pieces.size(); ++i) {
    text += step.pieces[i];
    const size_t operand = step.firstText + i;
    if (i >= step.formats.size()) continue;
    const abi::TensorRef& t = step.tensors[operand];
    const std::byte* at = address[t.buffer] + t.byteOffset;
    const std::string& f = step.formats[i];
    if (f == "@")
      text += t.device;
    else if (f == kTextFormat)
      text.append(reinterpret_cast<const char*>(at), static_cast<size_t>(t.shape[0]));
    else if (t.shape.empty())
      text += formatScalar(t.dtype, at, f);
    else
      text += formatTensor({t.dtype, t.shape, at}, t.device);
  }
  return text;
}

}  // namespace tenc::rt
