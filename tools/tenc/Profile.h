// What a run spent on each line of its sources. docs/command-line.md says how kernels of several lines are divided.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/Codegen.h"
#include "runtime/Call.h"
#include "support/SourceFile.h"
#include "tools/tenc/Roofline.h"

namespace tenc::tool {

/// What one function of the standard library took of a line that calls several: a layer of a network.
struct CallProfile {
  std::string callee;  ///< "nn.Linear[I = 64, O = 10]"
  double seconds = 0, bytes = 0, flops = 0, ideal = 0;
};

struct LineProfile {
  uint32_t file = Span::kNone;  ///< kNone: of no line
  uint32_t line = 0;
  uint64_t runs = 0;  ///< of kernels and other steps that have a part in it
  double seconds = 0;
  double bytes = 0, flops = 0;
  double ideal = 0;      ///< the least seconds that the machine needs for it; 0: not known
  bool atLeast = false;  ///< a loop of unknown length stands in a kernel of it: bytes and flops are those of one trip
  std::vector<CallProfile> calls{};  ///< those that took longest first; empty where there are not several
};

struct Profile {
  std::vector<LineProfile> lines;  ///< those that took longest first
  double seconds = 0;              ///< of all
  Roofline roof;
  bool gpu = false;  ///< some of it ran on a GPU, whose roofline is not known
};

/// Divides what the steps of a run took among the lines that they were made for. `m` is the module of the program.
/// `gpus`: devices other than the host are none of its processors. A roofline that was not measured gives no shares.
Profile profileOf(const ir::Module& m, const codegen::Compiled& compiled, const rt::CallProfile& run,
                  const SourceManager& sources, const Roofline& roof, bool gpus);

/// The lines that a step was made for: "s.tl:12", "s.tl:12,14"; "" for none.
std::string linesOf(const ir::Module& m, const ir::Op& op, const SourceManager& sources);
/// "s.tl:12", "(elsewhere)".
std::string placeText(const LineProfile& l, const SourceManager& sources);
/// The share of the roofline, 0 to 1; 0 where it is not known.
double roofShare(const LineProfile& l);
/// "1.2 ms", "340 us".
std::string formatSeconds(double seconds);
/// "1.2 G", "340", of a number of operations.
std::string formatCount(double count);

/// A table for the terminal, an object of JSON, a page with the sources beside the figures.
std::string profileTable(const Profile& p, const SourceManager& sources);
std::string profileJson(const Profile& p, const SourceManager& sources);
std::string profilePage(const Profile& p, const SourceManager& sources, const std::string& script);

}  // namespace tenc::tool
