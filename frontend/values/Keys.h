// What tells two values apart while compiling: types of tensors, and values of everything that is known.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// Equal for values that give the same instance of a function.
class Key {
 public:
  Key() = default;
  explicit Key(const Val& v) { add(v); }
  void add(uint64_t word) { words_.push_back(word); }
  void add(const void* object) { add(uint64_t{reinterpret_cast<uintptr_t>(object)}); }
  void add(std::string_view text);
  void add(const Val& v);

  bool operator==(const Key& other) const { return words_ == other.words_; }
  struct Hash {
    size_t operator()(const Key& k) const;
  };

 private:
  template <class List>
  void addAll(const List& values);
  void add(const FnValue& f);

  std::vector<uint64_t> words_;
  std::set<uint64_t> lambdas_;  ///< whose captures are among the words: one that others capture twice stands there once
};

/// Whether no function tells them apart.
bool sameKey(const Val& a, const Val& b);
/// The first part of `after` that is known while compiling and is another in `before`; null for none. Tensors, which
/// may differ while running, are no such parts.
const Val* changedConstant(const Val& before, const Val& after);

}  // namespace tenc::frontend
