#include "tools/tenc/Memory.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "ir/Ir.h"
#include "support/Text.h"
#include "tools/tenc/Stops.h"

namespace tenc::tool {
namespace {

using Alive = codegen::MemoryPlan::Alive;

constexpr int kUsualPercent = 80;

/// Where a value is made: what a kernel writes, by the op inside of it.
ir::Loc locOf(const ir::Value& v) {
  const ir::Op* op = v.op ? v.op : v.region->parentOp;
  if (v.op && op->kind == ir::OpKind::Fused) {
    const ir::Value* inside = op->regions[0]->terminator()->operand(v.index);
    if (inside->op && inside->op->loc.index != 0) return inside->op->loc;
  }
  return op ? op->loc : ir::Loc{};
}

std::vector<Alive> largestFirst(const codegen::MemoryPlan::Device& device) {
  std::vector<Alive> alive = device.atPeak;
  std::stable_sort(alive.begin(), alive.end(), [](const Alive& a, const Alive& b) { return a.bytes > b.bytes; });
  return alive;
}

std::string nameOf(const ir::Value& v) { return v.name.empty() ? "a value" : "`" + v.name + "`"; }

/// "14:13", or "nn.tl:3:5" in a module; for a value inside a function the innermost place.
std::string placeOf(const ir::Module& m, const ir::Value& v, const SourceManager& sources, uint32_t script) {
  const Span span = m.span(locOf(v));
  if (!span.valid() || span.file >= sources.size()) return v.op ? "_" : "input";
  const LineColumn p = sources.file(span.file).position(span.begin);
  const std::string at = std::to_string(p.line) + ":" + std::to_string(p.column);
  return span.file == script ? at : std::string(sources.file(span.file).name()) + ":" + at;
}

/// Ops in the order of the program, those of regions after the op that has them.
void number(const ir::Region& r, std::unordered_map<const ir::Op*, size_t>& order) {
  for (const auto& op : r.ops) {
    order.emplace(op.get(), order.size());
    for (const auto& inner : op->regions) number(*inner, order);
  }
}

/// The first use of a value that is made before the peak and waits there for what comes after it; null for others.
const ir::Op* firstUseAfter(const ir::Value& v, const ir::Op* peak,
                            const std::unordered_map<const ir::Op*, size_t>& order) {
  if (!v.op || !peak || v.op == peak || v.uses.empty() || !order.contains(peak)) return nullptr;
  const ir::Op* first = nullptr;
  for (const ir::Value::Use& use : v.uses) {
    const auto at = order.find(use.user);
    if (at == order.end() || at->second <= order.at(peak) || use.user->has(ir::Trait::Terminator)) return nullptr;
    if (!first || at->second < order.at(first)) first = use.user;
  }
  return first;
}

std::string bytesText(uint64_t bytes) {
  const std::string all = std::to_string(bytes) + " bytes";
  return bytes < 1024 ? all : all + " (" + formatBytes(bytes) + ")";
}

}  // namespace

std::string memoryReport(const ir::Module& m, const codegen::MemoryPlan& plan, Session& session) {
  constexpr size_t kMostRows = 20;
  const SourceManager& sources = session.sources();
  const uint32_t script = session.script().value_or(0);
  std::string out;
  for (const codegen::MemoryPlan::Device& device : plan.devices) {
    out += device.name + ": peak " + bytesText(device.peak) + " of " + formatBytes(session.capacity(m, device.name)) +
           "\n";
    const std::vector<Alive> alive = largestFirst(device);
    uint64_t rest = device.peak;
    std::vector<std::array<std::string, 4>> rows;
    for (const Alive& a : alive) {
      rest -= std::min(rest, a.bytes);
      if (rows.size() >= kMostRows) continue;
      ir::Type type = a.value->type;
      type.place = {};
      rows.push_back({placeOf(m, *a.value, sources, script), a.value->name.empty() ? "_" : a.value->name,
                      ir::toString(type), std::to_string(a.bytes)});
    }
    std::array<size_t, 4> widths{};
    for (const auto& r : rows)
      for (size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
    for (const auto& r : rows) {
      out += " ";
      for (size_t i = 0; i + 1 < r.size(); ++i) out += " " + r[i] + std::string(widths[i] - r[i].size() + 1, ' ');
      out += " " + std::string(widths[3] - r[3].size(), ' ') + r[3] + "\n";
    }
    if (alive.size() > rows.size()) {
      uint64_t bytes = 0;
      for (size_t i = rows.size(); i < alive.size(); ++i) bytes += alive[i].bytes;
      out += "  and " + std::to_string(alive.size() - rows.size()) + " more with " + std::to_string(bytes) + "\n";
    }
    if (rest > 0) out += "  between them, and rounding: " + std::to_string(rest) + "\n";
  }
  if (plan.fileBytes > 0) out += "mapped files, read as they are needed: " + bytesText(plan.fileBytes) + "\n";
  return out;
}

uint64_t Session::capacity(const ir::Module& m, const std::string& device) const {
  const std::string actual(m.actual(device));
  for (const auto& [name, bytes] : options_.memory)
    if (name == device || m.actual(name) == actual) return bytes;
  return capacity(actual);
}

uint64_t Session::capacity(const std::string& device) const {
  if (const auto own = options_.memory.find(device); own != options_.memory.end()) return own->second;
  if (options_.maxMemory != 0) return options_.maxMemory;
  const bool given = device != "cpu" && options_.virtualBytes != 0;
  const int percent = options_.maxMemoryPercent != 0 ? options_.maxMemoryPercent : given ? 100 : kUsualPercent;
  const uint64_t all = given ? options_.virtualBytes : hostMemory();
  return percent == 100 ? all : all / 100 * static_cast<uint64_t>(percent);
}

void Session::checkMemory(const ir::Module& m, const codegen::MemoryPlan& plan) {
  constexpr size_t kLargestShown = 3;
  constexpr uint64_t kWorthAName = 64;  // of the peak, the part from which a value is named
  for (const auto& [name, bytes] : options_.memory) {
    const bool known = name == "cpu" || name.starts_with("cuda:") ||
                       std::any_of(m.devices.begin(), m.devices.end(), [&](const auto& d) { return d.name == name; });
    if (!known) diags_.report(Code::E0504, {}, "the script has no device `" + name + "`, which --memory limits");
  }
  for (const codegen::MemoryPlan::Device& device : plan.devices) {
    const uint64_t limit = capacity(m, device.name);
    if (device.peak <= limit) continue;
    const std::vector<Alive> alive = largestFirst(device);
    std::unordered_map<const ir::Op*, size_t> order;
    number(*m.main()->body, order);
    const Span at = alive.empty() ? Span{} : m.span(locOf(*alive[0].value));
    std::string needs = formatBytes(device.peak), has = formatBytes(limit);
    if (device.peak - limit < limit / 10) {  // rounded, the two could read alike
      needs = std::to_string(device.peak) + " bytes";
      has = std::to_string(limit);
    }
    auto report =
        diags_.report(Code::E0320, at, "the program needs " + needs + " on " + device.name + ", which has " + has);
    std::vector<std::string> helps;
    for (size_t i = 0; i < std::min(alive.size(), kLargestShown); ++i) {
      if (i > 0 && alive[i].bytes < device.peak / kWorthAName) break;
      const ir::Value& v = *alive[i].value;
      const std::string text = nameOf(v) + ": " + ir::toString(v.type) + ", " + formatBytes(alive[i].bytes);
      if (i == 0)
        report.label(text);
      else
        report.note(m.span(locOf(v)), text + ", is alive at the same time");
      const ir::Op* later = firstUseAfter(v, device.peakOp, order);
      const Span use = later ? m.span(later->loc) : Span{};
      if (use.valid()) {
        const bool moved = v.op->kind == ir::OpKind::Transfer;
        helps.push_back(nameOf(v) + " waits for line " +
                        std::to_string(sources_.file(use.file).position(use.begin).line) + "; " +
                        (moved ? "move" : "make") + " it there");
      }
    }
    if (!alive.empty()) noteCallers(report, m, locOf(*alive[0].value));
    if (options_.solveMemory && !options_.session && script_) {
      for (const FittingValue& f : fittingValues(options_, sources_.file(*script_), device.name, limit)) {
        helps.push_back((f.isParam ? "`--" + f.name + " " : "`const " + f.name + " = ") + std::to_string(f.fits) +
                        "` fits (it is " + std::to_string(f.now) + ")");
      }
    }
    for (std::string& h : helps) report.help(std::move(h));
    const uint64_t wholeMiB = (device.peak >> 20) + ((device.peak & ((1u << 20) - 1)) != 0 ? 1 : 0);
    report.help("a limit of " + std::to_string(wholeMiB) + "MiB would do; smaller batches or dtypes need less");
  }
}

}  // namespace tenc::tool
