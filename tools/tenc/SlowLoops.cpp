#include "tools/tenc/SlowLoops.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "ir/Loops.h"
#include "support/Text.h"
#include "tools/tenc/Stops.h"

namespace tenc::tool {
namespace {

constexpr double kWorthAWarning = 1e-3;

/// "5 ms", "20 s", "3 min": it is no more than an estimate.
std::string roughly(double seconds) {
  const auto [value, unit] = seconds < 1     ? std::pair(seconds * 1e3, "ms")
                             : seconds < 100 ? std::pair(seconds, "s")
                                             : std::pair(seconds / 60, "min");
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

/// What the script calls the first of the tensors that a loop changes; "" where nothing has a name.
std::string changedBy(const ir::Op& fused) {
  for (const auto& op : fused.regions[0]->ops) {
    if (!ir::isLoop(*op)) continue;
    for (const auto& arg : op->regions[0]->args)
      if (arg->index >= ir::firstCarriedArg(*op) && arg->type.rank() > 0 && !arg->name.empty()) return arg->name;
  }
  return {};
}

/// Of the tensors that a loop takes and gives.
std::string bytesMoved(const ir::Op& fused) {
  uint64_t there = 0, back = 0;
  for (const ir::Value* v : fused.operands())
    if (v->type.rank() > 0) there += static_cast<uint64_t>(v->type.bytes());
  for (const auto& v : fused.results)
    if (v->type.rank() > 0) back += static_cast<uint64_t>(v->type.bytes());
  const std::string text = "at most " + formatBytes(there) + " to move there";
  return back == 0 ? text : text + ", and " + formatBytes(back) + " back";
}

void warn(const ir::Module& m, const ir::Op& loop, codegen::FewThreads few, const SourceManager& sources,
          Diagnostics& diags) {
  const std::string device(codegen::deviceOf(m, loop)), name = changedBy(loop);
  const bool isAlone = few.threads == 1;
  const std::string what = isAlone ? "one thread of " + device + " runs this loop"
                                   : std::to_string(few.threads) + " threads of " + device + " run this loop";
  auto report =
      reportAt(Code::W0302, what + ", in about " + roughly(few.seconds), placeOf(m, loop.loc), sources, diags);
  const std::string how =
      name.empty() ? "put the loop into a block of the host, which is faster at this: `@cpu { ... }`"
                   : "keep `" + name + "` on the host, which is faster at this: `@cpu var " + name + " = ...`";
  report.label(isAlone ? "trip after trip" : "one for each trip").help(how + " (" + bytesMoved(loop) + ")");
  report.help("or write it as operations on whole tensors, which all threads share");
}

}  // namespace

void warnOfSlowLoops(const ir::Module& m, const codegen::KernelSet& kernels, const SourceManager& sources,
                     Diagnostics& diags) {
  std::vector<std::pair<const ir::Op*, codegen::FewThreads>> loops;
  for (const auto& [op, k] : kernels.ofOp) {
    const codegen::Kernel& kernel = kernels.kernels[k];
    if (kernel.native == nullptr) continue;
    const codegen::FewThreads few = kernels.codes[kernels.codeOf[k]].target->fewThreads(kernel);
    if (few.threads > 0 && few.seconds > kWorthAWarning) loops.emplace_back(op, few);
  }
  std::ranges::sort(loops, {}, [](const auto& loop) { return loop.first->loc.index; });
  for (const auto& [op, few] : loops) warn(m, *op, few, sources, diags);
}

}  // namespace tenc::tool
