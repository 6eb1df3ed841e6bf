// Why a value lives where it lives, as the REPL's `:why` says it.
#pragma once
#include <map>
#include <string>

#include "ir/Module.h"
#include "support/SourceFile.h"

namespace tenc::repl {

/// Why a value lives where it does, for each device that leaves of it are on ("" for numbers).
using PlaceReasons = std::map<std::string, std::string>;

/// The lines that decided the place of `v` in a placed module, the last one first. `kept` has those of values of
/// earlier entries, by name.
std::string whyPlaced(const ir::Module& m, const ir::Value& v, const SourceManager& sources,
                      const std::map<std::string, PlaceReasons>& kept);

}  // namespace tenc::repl
