// `rearrange(x, "b c h w -> b (h w) c")` of einops, as reshapes and a permutation.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tenc::frontend {

/// The call in TL, for a tensor written `x`, which may stand there several times, and the sizes that are given by name;
/// nothing for a pattern that is not one of names, groups and ones, the same on both sides.
std::optional<std::string> rearranged(const std::string& x, std::string_view pattern,
                                      const std::map<std::string, std::string, std::less<>>& sizes);

}  // namespace tenc::frontend
