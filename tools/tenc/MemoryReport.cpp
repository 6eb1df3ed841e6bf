// The table of `tenc check --memory`.
#include <algorithm>
#include <array>

#include "ir/Ir.h"
#include "support/Text.h"
#include "tools/tenc/Memory.h"

namespace tenc::tool {
namespace {

using Row = std::array<std::string, 4>;  // place, name, type, bytes

std::string bytesText(uint64_t bytes) {
  const std::string all = std::to_string(bytes) + " bytes";
  return bytes < 1024 ? all : all + " (" + formatBytes(bytes) + ")";
}

/// "14:13", or "layers.tl:3:5" in a module.
std::string placeOf(const Held& h, const SourceManager& sources, uint32_t script) {
  if (!h.place.valid()) return h.value->op ? "_" : "input";
  const LineColumn p = sources.file(h.place.file).position(h.place.begin);
  const std::string at = std::to_string(p.line) + ":" + std::to_string(p.column);
  return h.place.file == script ? at : std::string(sources.file(h.place.file).name()) + ":" + at;
}

Row rowOf(const Held& h, const SourceManager& sources, uint32_t script) {
  ir::Type type = h.value->type;
  type.place = {};
  const std::string count = h.count > 1 ? std::to_string(h.count) + " x " : "";
  return {placeOf(h, sources, script), h.name.empty() ? "_" : h.name, count + ir::toString(type),
          std::to_string(h.bytes)};
}

/// Rows in columns, and how much is left out.
std::string table(const std::vector<const Held*>& held, const std::string& indent, const SourceManager& sources,
                  uint32_t script) {
  constexpr size_t kMostRows = 20;
  std::vector<Row> rows;
  constexpr size_t kBytes = 3;
  std::array<size_t, 4> widths{};
  for (size_t i = 0; i < std::min(held.size(), kMostRows); ++i) rows.push_back(rowOf(*held[i], sources, script));
  for (const Row& r : rows)
    for (size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
  std::string out;
  for (const Row& r : rows) {
    out += indent;
    for (size_t i = 0; i < kBytes; ++i) out += r[i] + std::string(widths[i] - r[i].size() + 2, ' ');
    out += std::string(widths[kBytes] - r[kBytes].size(), ' ') + r[kBytes] + "\n";
  }
  if (held.size() <= rows.size()) return out;
  uint64_t bytes = 0;
  size_t count = 0;
  for (size_t i = rows.size(); i < held.size(); ++i) {
    bytes += held[i]->bytes;
    count += held[i]->count;
  }
  return out + indent + "and " + std::to_string(count) + " more with " + std::to_string(bytes) + "\n";
}

}  // namespace

std::string memoryReport(const ir::Module& m, const codegen::MemoryPlan& plan, Session& session) {
  const SourceManager& sources = session.sources();
  const uint32_t script = session.script().value_or(0);
  std::string out;
  for (const codegen::MemoryPlan::Device& device : plan.devices) {
    out += device.name + ": peak " + bytesText(device.peak) + " of " + formatBytes(session.capacity(m, device.name)) +
           "\n";
    const AtPeak peak = atPeak(m, device, sources);
    std::vector<const Held*> kept, others;
    uint64_t rest = device.peak - device.routines;
    for (const Held& h : peak.all) {
      (h.kept ? kept : others).push_back(&h);
      rest -= std::min(rest, h.bytes);
    }
    const auto more = [](const Held* a, const Held* b) { return a->bytes > b->bytes; };
    std::stable_sort(kept.begin(), kept.end(), more);
    std::stable_sort(others.begin(), others.end(), more);
    if (!kept.empty()) {
      out += "  kept for the gradient: " + bytesText(peak.kept) + "\n";
      out += table(kept, "    ", sources, script);
      out += "  other values: " + bytesText(device.peak - device.routines - rest - peak.kept) + "\n";
    }
    out += table(others, kept.empty() ? "  " : "    ", sources, script);
    if (device.routines > 0) out += "  library routines work in: " + bytesText(device.routines) + "\n";
    if (rest > 0) out += "  between them, and rounding: " + std::to_string(rest) + "\n";
  }
  if (plan.fileBytes > 0) out += "mapped files, read as they are needed: " + bytesText(plan.fileBytes) + "\n";
  return out;
}

}  // namespace tenc::tool
