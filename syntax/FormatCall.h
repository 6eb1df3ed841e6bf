// `"x = {:.2f}".format(x)` of Python, and `println!("{}", x)` of Rust, made into strings with expressions in braces.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenc::syntax {

struct FormatArgument {
  std::string name;  ///< empty for one by place
  std::string text;
};

/// Whether there are braces without an expression in a string, which is given with its quotes.
bool hasEmptyHole(std::string_view literal);
/// The string with the arguments in its braces; nothing where they do not fit, or may not stand in a string.
std::optional<std::string> formatted(std::string_view literal, std::span<const FormatArgument> arguments);
/// A value as a string has it: in braces with a format (`:.2f`), or the text itself of a string; nothing where it may
/// stand in no string.
std::optional<std::string> asHole(std::string_view value, std::string_view format);

}  // namespace tenc::syntax
