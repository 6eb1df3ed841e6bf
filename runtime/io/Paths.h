// Paths, and where they may lead. Private to runtime/io.
#pragma once
#include <string>
#include <string_view>

#include "runtime/io/Io.h"

namespace tenc::rt {

/// The format that is given, or else the one that the path's ending names; "bytes" for all others.
std::string_view formatOf(const std::string& path, std::string_view format);

/// Whether an open file or folder is where it may be.
bool isWithin(int descriptor, const FileAccess& access);
/// What is said where it is not.
std::string outside(const std::string& path, const FileAccess& access);

}  // namespace tenc::rt
