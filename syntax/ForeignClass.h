// A class of Python, written as a struct with functions beside it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tenc::syntax {

struct ClassAsStruct {
  size_t begin = 0, end = 0;          ///< of the class in the text, with `@dataclass` before it
  std::string text;                   ///< empty where it is not known
  bool changes = false;               ///< a method changes its object
  size_t stopBegin = 0, stopEnd = 0;  ///< the line that it was not known for; none where both are equal
  std::string_view why{};             ///< what is wrong with that
};

/// `NamesLikeThis` as `names_like_this`, `MLP` as `mlp`.
std::string snakeCase(std::string_view name);

/// `class Net(nn.Module):` at `begin`, where `__init__` sets nothing but fields that calls make, and sizes, and every
/// method takes `self`: the struct, a function that makes one, and the methods, `forward` as `call`. The statements in
/// the methods stay as they are. Of a class that is no network every field holds a value, and a method that sets fields
/// and gives nothing gives the changed object.
ClassAsStruct classAsStruct(std::string_view text, size_t begin);

}  // namespace tenc::syntax
