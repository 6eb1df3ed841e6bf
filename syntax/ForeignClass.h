// A class of Python whose objects are networks, written as a struct with functions beside it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenc::syntax {

struct ClassAsStruct {
  size_t end = 0;  ///< of the class in the text
  std::string text;
};

/// `NamesLikeThis` as `names_like_this`, `MLP` as `mlp`.
std::string snakeCase(std::string_view name);

/// `class Net(nn.Module):` at `begin`, where `__init__` sets nothing but fields that calls make, and sizes, and every
/// method takes `self`: the struct, a function that makes one, and the methods, `forward` as `call`. The statements in
/// the methods stay as they are.
std::optional<ClassAsStruct> classAsStruct(std::string_view text, size_t begin);

}  // namespace tenc::syntax
