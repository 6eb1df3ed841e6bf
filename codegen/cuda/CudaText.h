// CUDA C++ while it is written: lines, indented by their blocks, and names that are used once.
#pragma once
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace tenc::codegen::cuda {

inline std::string decimal(std::integral auto v) {
  char digits[24];
  return {digits, std::to_chars(digits, digits + sizeof digits, v).ptr};
}

/// `const int i = `.
inline std::string declared(std::string_view type, std::string_view name) {
  return std::string("const ").append(type).append(" ").append(name).append(" = ");
}

class CudaText {
 public:
  void line(std::string_view text) {
    if (!text.empty()) text_.append(2 * depth_, ' ');
    text_ += text;
    text_ += '\n';
  }
  /// `head {`, which `close` ends.
  void open(std::string_view head) {
    line(std::string(head) + (head.empty() ? "{" : " {"));
    ++depth_;
  }
  void close(std::string_view tail = "") {
    --depth_;
    line("}" + std::string(tail));
  }
  /// The other half of an `if`.
  void otherwise() {
    --depth_;
    line("} else {");
    ++depth_;
  }
  /// Where the next line will stand, for one that turns out to be wanted there.
  struct Place {
    size_t at = 0, depth = 0;
  };
  Place here() const { return {text_.size(), depth_}; }
  void insert(const Place& p, std::string_view line) {
    text_.insert(p.at, std::string(2 * p.depth, ' ').append(line) + '\n');
  }
  /// A name that nothing else in the text has.
  std::string fresh(std::string_view stem) { return std::string(stem) + decimal(++names_); }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  size_t depth_ = 0;
  uint64_t names_ = 0;
};

}  // namespace tenc::codegen::cuda
