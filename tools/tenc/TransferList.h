// The moves of a placed module, one row for each leaf: `tenc transfers`, the REPL's `:transfers`, and the checks of
// `--transfers=warn|deny`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/Module.h"
#include "support/Diagnostics.h"

namespace tenc::tool {

struct TransferRow {
  Span span;
  std::string name;  ///< "_" for a value without a name
  uint64_t bytes = 0;
  std::string from, to;          ///< actual devices
  std::string toName;            ///< as the script calls it
  std::optional<int64_t> times;  ///< nothing inside a `while` or a loop whose trip count is a run-time value
  std::string why;
  bool copies = true;  ///< false between two names of one device
  bool inLoop = false;
  ir::Loc loc;
};

/// Rows in source order; the same move reached by several calls is one row with its times added.
std::vector<TransferRow> listTransfers(const ir::Module& m);
/// The table with its totals.
std::string printTransfers(const std::vector<TransferRow>& rows, const SourceManager& sources);
/// `policy`: allow reports nothing; warn reports moves of 64 KiB or more inside loops (W0301); deny also reports every
/// move that no `.to` asks for (E0301).
void checkTransfers(const ir::Module& m, const SourceManager& sources, const std::string& policy, Diagnostics& diags);

}  // namespace tenc::tool
