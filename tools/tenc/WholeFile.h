// Files that are written as a whole or not at all.
#pragma once
#include <string>
#include <string_view>

namespace tenc::tool {

/// Writes `bytes` to the file `path`: beside it first and then renamed, so that whoever reads it finds the old contents
/// or the new ones. Permissions of a file that is there and what a symbolic link leads to are kept; a device, a pipe or
/// what stands behind /dev/stdout is written to as it is. False when that failed; `error` says why.
bool writeWhole(const std::string& path, std::string_view bytes, std::string& error);

}  // namespace tenc::tool
