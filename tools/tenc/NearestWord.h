// Which word was meant: one that begins so, else one that is spelled much like it.
#pragma once
#include <string>
#include <string_view>

#include "support/Text.h"

namespace tenc::tool {

class NearestWord {
 public:
  explicit NearestWord(std::string_view word) : word_(word), near_(word) {}

  void consider(std::string_view candidate) {
    near_.consider(candidate);
    constexpr size_t kEnough = 3;
    const bool begins = word_.size() >= kEnough && candidate.starts_with(word_);
    if (begins && (begun_.empty() || candidate.size() < begun_.size())) begun_ = candidate;
  }
  /// Empty where there is none.
  const std::string& best() const { return begun_.empty() ? near_.best() : begun_; }

 private:
  std::string word_, begun_;
  NearestName near_;
};

}  // namespace tenc::tool
