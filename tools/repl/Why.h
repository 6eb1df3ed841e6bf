// Why a value lives where it lives, as the REPL's `:why` says it.
#pragma once
#include <map>
#include <string>

#include "ir/Module.h"
#include "support/SourceFile.h"

namespace tenc::repl {

/// The lines that decided the place of `v` in a placed module, the last one first. `kept` has the lines of values of
/// earlier entries, by name.
std::string whyPlaced(const ir::Module& m, const ir::Value& v, const SourceManager& sources,
                      const std::map<std::string, std::string>& kept);

}  // namespace tenc::repl
