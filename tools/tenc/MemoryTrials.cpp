#include "tools/tenc/MemoryTrials.h"

#include <algorithm>

#include "ir/Flops.h"
#include "ir/Ir.h"
#include "ir/Loops.h"

namespace tenc::tool {
namespace {

constexpr int kMostTrials = 400;
// Some five seconds of them, counted in what is the same on every machine: help must not depend on how fast that is.
constexpr int64_t kMostOps = 1'000'000;

int64_t opsOf(const ir::Region& region) {
  int64_t sum = 0;
  for (const auto& op : region.ops) {
    ++sum;
    for (const auto& inner : op->regions) sum += opsOf(*inner);
  }
  return sum;
}

double flopsOf(const ir::Region& region, double times) {
  double sum = 0;
  for (const auto& op : region.ops) {
    const bool counts = op->loc.half != ir::Half::None;
    if (counts) sum += times * ir::flopsOf(*op);
    const double trips = counts && ir::isLoop(*op) ? static_cast<double>(ir::tripCount(*op).value_or(1)) : 1;
    for (const auto& inner : op->regions) sum += flopsOf(*inner, times * trips);
  }
  return sum;
}

}  // namespace

double gradientFlops(const ir::Func& main) { return flopsOf(*main.body, 1); }

MemoryTrials::MemoryTrials(const SessionOptions& options, const SourceFile& script, std::string device)
    : options_(options.ofTrial()), script_(script), device_(std::move(device)) {}

bool MemoryTrials::mayGoOn() const { return trials_ < kMostTrials && ops_ < kMostOps; }

std::unique_ptr<ast::File> MemoryTrials::parse() const {
  Session session(options_);
  const auto file = session.addText(std::string(script_.name()), std::string(script_.text()));
  return file ? session.parse(*file) : nullptr;
}

std::optional<MemoryTrials::Planned> MemoryTrials::plan(const std::vector<Edit>& edits,
                                                        const std::map<std::string, int64_t>& params) {
  if (!mayGoOn()) return std::nullopt;
  ++trials_;
  Session session(options_);
  for (const auto& [name, value] : params) session.options().params[name] = std::to_string(value);
  const auto file = session.addText(std::string(script_.name()), applyEdits(script_.text(), edits));
  const auto tree = file ? session.parse(*file) : nullptr;
  if (!tree) return std::nullopt;
  const frontend::Lowered lowered = session.lower(*tree);
  if (!lowered.module || !lowered.module->main() || !session.diags().ok()) return std::nullopt;
  ir::Module& m = *lowered.module;
  ops_ += opsOf(*m.main()->body);
  if (!session.place(m) || !session.settleMoves(m) || !session.optimise(m)) return std::nullopt;
  const auto memory = session.planMemory(m);
  if (!memory) return std::nullopt;
  Planned planned{true, 0, gradientFlops(*m.main())};
  for (const auto& d : memory->devices) {
    if (d.peak > session.capacity(m, d.name)) planned.fits = false;
    if (d.name == device_) planned.peak = d.peak;
  }
  return planned;
}

}  // namespace tenc::tool
