#include "tools/tenc/Memory.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>

#include "ir/Ir.h"
#include "support/Text.h"
#include "tools/tenc/Stops.h"

namespace tenc::tool {
namespace {

constexpr int kUsualPercent = 80;
constexpr uint64_t kWorthAName = 64;  // of the peak, the part from which a value is named

/// "f32[64, 128], 32 KiB", or with how many there are of it; `place` says where it lives, too.
std::string sizeText(const Held& h, bool place) {
  ir::Type type = h.value->type;
  if (!place) type.place = {};
  if (h.count == 1) return ir::toString(type) + ", " + formatBytes(h.bytes);
  return std::to_string(h.count) + " of " + ir::toString(type) + ", " + formatBytes(h.bytes);
}

/// The first use of a value that is made before the peak and waits there for what comes after it; null for others.
class Waiting {
 public:
  Waiting(const ir::Region& main, const ir::Op* peak) : peak_(peak) { number(main); }

  const ir::Op* firstUse(const ir::Value& v) const {
    if (!v.op || !peak_ || v.op == peak_ || v.uses.empty() || !order_.contains(peak_)) return nullptr;
    const ir::Op* first = nullptr;
    for (const ir::Value::Use& use : v.uses) {
      const auto at = order_.find(use.user);
      if (at == order_.end() || at->second <= order_.at(peak_) || use.user->has(ir::Trait::Terminator)) return nullptr;
      if (!first || at->second < order_.at(first)) first = use.user;
    }
    return first;
  }

  /// Whether what makes a value would make the same one before `use`: no variable that it reads has been given another
  /// value since, and no random numbers are drawn in between that it would come behind.
  bool wouldBeSame(const ir::Value& v, const ir::Op& use) const {
    bool draws = false;
    std::set<std::string_view> reads;
    for (const ir::Value* read : v.op->operands()) {
      reads.insert(read->name);
      draws = draws || (read->op && read->op->kind == ir::OpKind::RngNext);
    }
    for (const auto& inner : v.op->regions)
      for (const auto& op : inner->ops)
        for (const auto& result : op->results) reads.insert(result->name);
    reads.erase("");
    reads.erase(v.name);
    const size_t begin = order_.at(v.op), end = order_.at(&use);
    return std::none_of(order_.begin(), order_.end(), [&](const auto& at) {
      if (at.second <= begin || at.second >= end || at.first->parent->isInside(*v.op)) return false;
      if (draws && at.first->kind == ir::OpKind::RngNext) return true;
      return std::any_of(at.first->results.begin(), at.first->results.end(),
                         [&](const auto& r) { return reads.contains(r->name); });
    });
  }

 private:
  /// Ops in the order of the program, those of regions after the op that has them.
  void number(const ir::Region& r) {
    for (const auto& op : r.ops) {
      order_.emplace(op.get(), order_.size());
      for (const auto& inner : op->regions) number(*inner);
    }
  }

  const ir::Op* peak_;
  std::unordered_map<const ir::Op*, size_t> order_;
};

/// The error of one device that is too small.
class Report {
 public:
  Report(const ir::Module& m, const codegen::MemoryPlan::Device& device, const SourceManager& sources)
      : m_(m), device_(device), sources_(sources), peak_(atPeak(m, device, sources)) {}

  const AtPeak& peak() const { return peak_; }

  /// `limit`: what the device has. One that has more, and gives less, is not said to have it.
  Diagnostics::Builder write(Diagnostics& diags, uint64_t limit) {
    std::string needs = formatBytes(device_.peak), has = "has " + formatBytes(limit);
    if (device_.peak <= limit) {
      has = "does not give it";
    } else if (device_.peak - limit < limit / 10) {  // rounded, the two could read alike
      needs = std::to_string(device_.peak) + " bytes";
      has = "has " + std::to_string(limit);
    }
    const Span at = peak_.all.empty() ? Span{} : peak_.all[0].place;
    auto report =
        diags.report(Code::E0320, at, "the program needs " + needs + " on " + device_.name + ", which " + has);
    if (peak_.all.empty()) return report;
    report.label(text(peak_.all[0], true));
    if (device_.routines >= device_.peak / kWorthAName)
      report.note({}, "library routines work in " + formatBytes(device_.routines) + " of it");
    notePeak(report);
    noteOthers(report);
    noteCallers(report, m_, userLoc(m_, peak_.all[0].made, sources_));
    return report;
  }

  /// What is made long before it is used, and could be made there.
  std::vector<Help> waiting() const {
    std::vector<Help> helps;
    const Waiting waiting(*m_.main()->body, device_.peakOp);
    for (size_t i = 0; i < std::min(shown(), peak_.all.size()); ++i) {
      const Held& h = peak_.all[i];
      // Only what has a name of its own can be made elsewhere, and no part of a struct, `m.w`; what a gradient keeps is
      // where it is for a reason.
      if (h.bytes < device_.peak / kWorthAName || h.name.find('.') != std::string::npos) continue;
      const ir::Op* later = h.name.empty() || h.kept ? nullptr : waiting.firstUse(*h.value);
      const Span use = later ? outermost(later->loc) : Span{};
      if (!use.valid() || h.made.half != ir::Half::None || !waiting.wouldBeSame(*h.value, *later)) continue;
      const bool moved = h.value->op->kind == ir::OpKind::Transfer;
      const std::string line = std::to_string(sources_.file(use.file).position(use.begin).line);
      helps.push_back({"`" + h.name + "` waits for line " + line + "; " + (moved ? "move" : "make") + " it there", {}});
    }
    return helps;
  }

 private:
  /// Where the script itself calls what is done there.
  Span outermost(ir::Loc at) const {
    const StopPlace place = placeOf(m_, at);
    const Span span = place.calls.empty() ? place.at : place.calls.back().first;
    return span.file < sources_.size() && !sources_.inLibrary(span) ? span : Span{};
  }
  size_t shown() const { return peak_.kept > 0 ? 5 : 3; }

  std::string text(const Held& h, bool place) const {
    std::string text = describe(m_, h, sources_) + ": " + sizeText(h, place);
    if (!h.kept) return text;
    if (h.trips > 1) text += " for " + std::to_string(h.trips) + " trips";
    text += ", kept for the gradient";
    const std::string reader = quoteExpression(m_, h.reader, sources_);
    return reader.empty() ? text : text + " of " + reader;
  }

  void notePeak(Diagnostics::Builder& report) const {
    if (peak_.kept == 0) return;
    const std::string pass =
        peak_.half == ir::Half::None ? "" : " in the " + std::string(ir::name(peak_.half)) + " pass";
    report.note(peak_.place, "the peak is here" + pass + ": " + formatBytes(peak_.kept) + " of the " +
                                 formatBytes(device_.peak) + " are kept for the gradient");
  }

  void noteOthers(Diagnostics::Builder& report) const {
    for (size_t i = 1; i < std::min(shown(), peak_.all.size()); ++i) {
      const Held& h = peak_.all[i];
      if (h.bytes < device_.peak / kWorthAName) break;
      report.note(h.place, text(h, true) + (h.kept ? "" : ", is alive at the same time"));
    }
  }

  const ir::Module& m_;
  const codegen::MemoryPlan::Device& device_;
  const SourceManager& sources_;
  const AtPeak peak_;
};

}  // namespace

uint64_t Session::capacity(const ir::Module& m, const std::string& device) {
  const std::string actual(m.actual(device));
  for (const auto& [name, bytes] : options_.memory)
    if (name == device || m.actual(name) == actual) return bytes;
  return capacity(actual);
}

uint64_t Session::capacity(const std::string& device) {
  if (const auto own = options_.memory.find(device); own != options_.memory.end()) return own->second;
  if (options_.maxMemory != 0) return options_.maxMemory;
  const bool given = device != "cpu" && options_.virtualBytes != 0;
  const int percent = options_.maxMemoryPercent != 0 ? options_.maxMemoryPercent : given ? 100 : kUsualPercent;
  const uint64_t all = hardware_.memory(device);
  return percent == 100 ? all : all / 100 * static_cast<uint64_t>(percent);
}

void Session::reportShortage(const rt::CallResult& result, const Executable* made) {
  const auto isShort = [&](const codegen::MemoryPlan::Device& d) {
    return made->module->actual(d.name) == result.lacking.device && d.peak > 0;
  };
  if (made != nullptr) {
    const auto& devices = made->compiled.memory.devices;
    const auto device = std::find_if(devices.begin(), devices.end(), isShort);
    if (device != devices.end()) {
      const uint64_t has = result.lacking.available != 0 ? result.lacking.available : device->peak;
      Report(*made->module, *device, sources_).write(diags_, has).note(result.text);
      return;
    }
  }
  diags_.report(Code::E0320, {}, result.text.empty() ? "out of memory" : result.text);
}

void Session::checkMemory(const ir::Module& m, const codegen::MemoryPlan& plan) {
  for (const auto& [name, bytes] : options_.memory) {
    const bool known = name == "cpu" || name.starts_with("cuda:") ||
                       std::any_of(m.devices.begin(), m.devices.end(), [&](const auto& d) { return d.name == name; });
    if (!known) diags_.report(Code::E0504, {}, "the script has no device `" + name + "`, which --memory limits");
  }
  bool solved = false;  // what is proposed makes all devices fit, and is said once
  for (const codegen::MemoryPlan::Device& device : plan.devices) {
    const uint64_t limit = capacity(m, device.name);
    if (device.peak <= limit) continue;
    Report report(m, device, sources_);
    auto error = report.write(diags_, limit);
    std::vector<Help> helps = report.waiting();
    const bool isScript = m.main()->kind == ir::Func::Kind::Script;
    if (options_.solveMemory && !options_.session && script_ && isScript && !solved) {
      solved = true;
      const SourceFile& script = sources_.file(*script_);
      MemoryTrials sizes(options_, script, device.name), checkpoints(options_, script, device.name);
      std::vector<Help> more = fittingSizes(sizes, m, *script_, device.peak, limit);
      if (auto help = fittingCheckpoint(checkpoints, m, report.peak(), device.peak, sources_, *script_))
        more.push_back(std::move(*help));
      std::move(more.begin(), more.end(), std::back_inserter(helps));
    }
    const uint64_t wholeMiB = (device.peak >> 20) + ((device.peak & ((1u << 20) - 1)) != 0 ? 1 : 0);
    const std::string limitText = "a limit of " + std::to_string(wholeMiB) + "MiB would do";
    helps.push_back({helps.empty() ? limitText + "; smaller batches or dtypes need less" : limitText, {}});
    for (Help& help : helps) error.help(std::move(help));
  }
}

}  // namespace tenc::tool
