#include "runtime/call/Format.h"

#include "runtime/io/Io.h"

namespace tenc::rt {

std::string formatText(const abi::Text& text, const std::vector<std::byte*>& address) {
  std::string out;
  for (size_t i = 0; i < text.pieces.size(); ++i) {
    out += text.pieces[i];
    if (i >= text.values.size()) continue;
    const auto& [t, format] = text.values[i];
    const std::byte* at = address[t.buffer] + t.byteOffset;
    if (format == abi::kDeviceFormat)
      out += t.device;
    else if (format == kTextFormat)
      out.append(reinterpret_cast<const char*>(at), static_cast<size_t>(t.shape[0]));
    else if (t.shape.empty())
      out += formatScalar(t.dtype, at, format);
    else
      out += formatTensor({t.dtype, t.shape, at}, t.device, format);
  }
  return out;
}

}  // namespace tenc::rt
