// The standard library, built in: texts of std/*.tl by name. StdModules.cpp is made by CMake.
#pragma once
#include <optional>
#include <span>
#include <string_view>

namespace tenc::frontend {

std::optional<std::string_view> stdModule(std::string_view name);
std::span<const std::string_view> stdModuleNames();

}  // namespace tenc::frontend
