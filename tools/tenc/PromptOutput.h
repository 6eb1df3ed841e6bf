// Standard output of a program that runs, where it is a pipe or a file.
#pragma once
#include <chrono>
#include <cstdio>
#include <string_view>

namespace tenc::tool {

/// What is printed once in a while is seen at once; a program that prints much still writes in blocks.
class PromptOutput {
 public:
  void write(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    const auto now = std::chrono::steady_clock::now();
    if (now - flushed_ < kPause) return;
    std::fflush(stdout);
    flushed_ = now;
  }

 private:
  static constexpr std::chrono::milliseconds kPause{100};
  std::chrono::steady_clock::time_point flushed_;
};

}  // namespace tenc::tool
