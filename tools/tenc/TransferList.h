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

/// How often a move happens: a number, a number times run-time values that the script names (`10*epochs`), or not known
/// (inside a `while`).
struct Times {
  int64_t factor = 1;
  std::string symbols;  ///< "epochs", "epochs*(k-1)"; empty: the factor is all
  bool known = true;    ///< false: nothing is known
  bool atMost = false;  ///< counted as if a branch in a loop was taken in each trip
  bool plain() const { return known && symbols.empty(); }
  std::string text() const;
};

struct TransferRow {
  Span span;
  std::string name;  ///< "_" for a value without a name
  std::string type;  ///< "f32[64,784]"
  uint64_t bytes = 0;
  std::string from, to;  ///< actual devices
  std::string toName;    ///< as the script calls it
  Times times;
  ir::Cause cause = ir::Cause::To;
  bool gradient = false;  ///< the way back of such a move, which the gradient takes
  std::string why;        ///< `causeText`
  bool copies = true;     ///< false between two names of one device
  bool inLoop = false;
  ir::Loc loc;
};

/// The moves from one device to another.
struct Direction {
  std::string from, to;
  int64_t moves = 0;
  uint64_t bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> symbolic;  ///< "epochs" and the bytes that go with each
  bool unknown = false;                                    ///< there are others, whose number is not known
  bool atMost = false;                                     ///< some may happen less often
};

/// What asked for a transfer as the source writes it: ".to(gpu)", "@gpu", "print"; with "gradient of " for its
/// gradient.
std::string causeText(const ir::Op& transfer);
/// Rows in source order; the same move reached by several calls is one row with its times added.
std::vector<TransferRow> listTransfers(const ir::Module& m);
/// Totals, in the order in which the directions appear.
std::vector<Direction> directions(const std::vector<TransferRow>& rows);
/// The table with its totals.
std::string printTransfers(const std::vector<TransferRow>& rows, const SourceManager& sources);
/// One JSON object a line: the rows, then the totals of each direction.
std::string transfersJson(const std::vector<TransferRow>& rows, const SourceManager& sources);
/// What has come to the rows of an earlier `transfersJson`, in words: directions with more bytes or moves, and the rows
/// that make them more. Empty when nothing has. `error` is set when `before` is no such text.
std::string transfersAdded(const std::vector<TransferRow>& rows, const SourceManager& sources,
                           const std::string& before, std::string& error);
/// `policy`: allow reports nothing; warn reports moves of 64 KiB or more inside loops (W0301); deny also reports every
/// move that no `.to` asks for (E0301).
void checkTransfers(const ir::Module& m, const std::string& policy, Diagnostics& diags);

}  // namespace tenc::tool
