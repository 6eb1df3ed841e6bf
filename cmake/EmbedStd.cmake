# Writes OUTPUT, a C++ file with the texts of the modules named in MODULES (a list of .tl files) as string literals.
function(tenc_embed_std output)
  set(rows "")
  set(names "")
  foreach(path ${ARGN})
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} text)
    # A string literal has a limited length, so long texts are joined from pieces.
    string(LENGTH "${text}" length)
    set(at 0)
    set(pieces "")
    while(at LESS length)
      string(SUBSTRING "${text}" ${at} 8000 piece)
      string(APPEND pieces "    R\"tl_source(${piece})tl_source\"\n")
      math(EXPR at "${at} + 8000")
    endwhile()
    string(APPEND names "    \"${name}\",\n")
    string(APPEND rows "    {\"${name}\",\n${pieces}    },\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT [=[// Made by cmake/EmbedStd.cmake from std/*.tl.
#include "frontend/StdModules.h"

#include <utility>
#include <vector>

namespace tenc::frontend {

std::optional<std::string_view> stdModule(std::string_view name) {
  static const std::vector<std::pair<std::string_view, std::string_view>> kModules = {
@rows@  };
  for (const auto& [module, text] : kModules) {
    if (module == name) return text;
  }
  return std::nullopt;
}

std::span<const std::string_view> stdModuleNames() {
  static constexpr std::string_view kNames[] = {
@names@  };
  return kNames;
}

}  // namespace tenc::frontend
]=] @ONLY)
endfunction()
