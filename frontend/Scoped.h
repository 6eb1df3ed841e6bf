// State that holds for a while.
#pragma once
#include <type_traits>
#include <utility>

namespace tenc::frontend {

/// Gives a variable another value until the end of the block.
template <class T>
class [[nodiscard]] Scoped {
 public:
  Scoped(T& variable, std::type_identity_t<T> value)
      : variable_(variable), outer_(std::exchange(variable, std::move(value))) {}
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;
  ~Scoped() { variable_ = std::move(outer_); }

 private:
  T& variable_;
  T outer_;
};

}  // namespace tenc::frontend
