// The places where a program may stop, as data of the program: with the lines of source that a report quotes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/Module.h"
#include "runtime/abi/Program.h"
#include "support/SourceFile.h"

namespace tenc::codegen {

class FaultSites {
 public:
  FaultSites(const ir::Module& m, const SourceManager& sources) : m_(m), sources_(sources) {}

  /// The number of the site at `loc`; the same one for the same place and kind.
  uint32_t number(ir::Loc loc, abi::FaultKind kind);
  /// Moves what was collected into the program.
  void moveInto(abi::Program& p);

 private:
  abi::SourceRange range(ir::Loc loc);
  uint32_t excerpt(uint32_t file, uint32_t firstLine, uint32_t lastLine);

  const ir::Module& m_;
  const SourceManager& sources_;
  std::vector<abi::FaultSite> sites_;
  std::vector<abi::Excerpt> excerpts_;
  std::map<std::pair<uint32_t, abi::FaultKind>, uint32_t> numbers_;              // by loc and kind
  std::unordered_map<uint32_t, abi::SourceRange> ranges_;                        // by loc
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> excerptNumbers_;  // by file and lines
};

}  // namespace tenc::codegen
