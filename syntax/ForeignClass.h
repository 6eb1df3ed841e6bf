// A class of Python, written as a struct with functions beside it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::syntax {

struct ClassAsStruct {
  size_t begin = 0, end = 0;          ///< of the class in the text, with `@dataclass` before it where it is known
  std::string text;                   ///< empty where it is not known
  bool changes = false;               ///< a method changes its object
  size_t stopBegin = 0, stopEnd = 0;  ///< the line that it was not known for; none where both are equal
  std::string_view why{};             ///< what is wrong with that
  struct Use {
    size_t begin = 0, end = 0;
    std::string text;
  };
  std::vector<Use> uses{};  ///< what is written anew in the rest of the script
};

/// `NamesLikeThis` as `names_like_this`, `MLP` as `mlp`.
std::string snakeCase(std::string_view name);

/// `class Net(nn.Module):` at `begin`, where `__init__` sets nothing but fields that calls make, and sizes, and every
/// method takes `self`: the struct, a function that makes one, and the methods, `forward` as `call`. The statements in
/// the methods stay as they are. A method that sets fields of a class that is no network gives the changed object,
/// before the values that it returns; a field that `__init__` leaves without a value is an empty tuple at first.
ClassAsStruct classAsStruct(std::string_view text, size_t begin);

}  // namespace tenc::syntax
