#include "tools/tenc/Profile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ir/Flops.h"
#include "ir/Loops.h"

namespace tenc::tool {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Trait;
using ir::Value;
using Place = std::pair<uint32_t, uint32_t>;   // file and line
using Source = std::pair<Place, std::string>;  // and what the line calls of the standard library

/// What a line has of one run of a step.
struct Part {
  double bytes = 0, flops = 0;
  double weight = 0;  ///< flops of f32 that take as long
};

/// How long arithmetic takes beside that of f32, with the instructions that there are for small dtypes.
double weightOf(ir::DType t) {
  switch (t) {
    case ir::DType::F64: return 2;
    case ir::DType::BF16: return 0.5;
    case ir::DType::I8:
    case ir::DType::U8: return 0.25;
    default: return 1;
  }
}

/// The work of one step, by the lines that it comes from.
class Work {
 public:
  Work(const ir::Module& m, const SourceManager& sources) : m_(m), sources_(sources) {}

  std::map<Source, Part> parts;
  bool atLeast = false;

  void of(const Op& op) {
    if (op.kind == OpKind::Fused) return fused(op);
    Part& part = at(op);
    if (op.has(Trait::Library)) arithmetic(op, 1);
    const bool moves = op.has(Trait::Library) || op.kind == OpKind::Transfer || op.kind == OpKind::ReadRows ||
                       op.kind == OpKind::Load || op.kind == OpKind::Save;
    if (!moves) return;
    for (const Value* v : op.operands()) part.bytes += bytes(v);
    for (const auto& v : op.results) part.bytes += bytes(v.get());
  }

  /// The line of the user's: what happens in the standard library counts for the line that calls it.
  Source placeOf(const Op& op) const {
    const ir::LocData* d = &m_.loc(op.loc);
    std::string callee;
    for (; sources_.inLibrary(d->span) && d->caller.index != 0; d = &m_.loc(d->caller)) callee = d->callee;
    if (!d->span.valid() || d->span.file >= sources_.size()) return {{Span::kNone, 0}, ""};
    return {{d->span.file, sources_.file(d->span.file).position(d->span.begin).line}, callee};
  }

 private:
  static double bytes(const Value* v) { return static_cast<double>(v->type.bytes()); }
  Part& at(const Op& op) { return parts[placeOf(op)]; }

  void arithmetic(const Op& op, double times) {
    const double flops = ir::flopsOf(op) * times;
    if (flops == 0) return;
    Part& part = at(op);
    part.flops += flops;
    part.weight += flops * weightOf(op.operand(0)->type.dtype);
  }

  void fused(const Op& op) {
    const ir::Region& body = *op.regions[0];
    region(body, 1);
    for (const auto& arg : body.args) {
      const Op* const user = firstUser(*arg);
      if (user != nullptr) at(*user).bytes += read(*arg);
    }
    for (const Value* v : body.terminator()->operands()) {
      if (v->op != nullptr) at(*v->op).bytes += written(*v->op, v);
    }
  }

  void region(const ir::Region& r, double times) {
    for (const auto& op : r.ops) {
      parts[placeOf(*op)];  // a line that computes only indices has a part too
      arithmetic(*op, times);
      if (op->regions.empty()) continue;
      const auto trips = ir::tripCount(*op);
      atLeast = atLeast || (ir::isLoop(*op) && !trips);
      for (const auto& inner : op->regions) region(*inner, times * static_cast<double>(trips.value_or(1)));
    }
  }

  static const Op* firstUser(const Value& v) { return v.uses.empty() ? nullptr : v.uses.front().user; }

  /// Bytes that a kernel reads of an operand: what is taken out of it, where only that is.
  static double read(const Value& v) {
    double taken = 0;
    for (const auto& [user, operand] : v.uses) {
      const bool picks = operand == 0 && (user->has(Trait::Gathers) || user->kind == OpKind::Slice);
      const bool updated = operand == 0 && user->has(Trait::Scatters);
      if (!picks && !updated) return bytes(&v);
      taken += picks ? bytes(user->result()) : bytes(user->operand(1));
    }
    return std::min(taken, bytes(&v));
  }
  /// Of an update only what is new is written.
  static double written(const Op& op, const Value* v) {
    return op.has(Trait::Scatters) && op.operandCount() > 1 ? std::min(bytes(op.operand(1)), bytes(v)) : bytes(v);
  }

  const ir::Module& m_;
  const SourceManager& sources_;
};

/// A step, and what it took.
struct Timed {
  Work work;
  Part all;
  uint64_t runs = 0;
  double seconds = 0;    ///< of all runs
  bool bounded = false;  ///< by the roofline of the host
};

CallProfile& callOf(LineProfile& line, const std::string& callee) {
  const auto known = std::ranges::find(line.calls, callee, &CallProfile::callee);
  return known != line.calls.end() ? *known : line.calls.emplace_back(CallProfile{callee});
}

/// Leaves the calls that are worth a row, of lines that make several. `whole`: the time of all lines.
void keepCalls(LineProfile& line, double whole) {
  constexpr double kLeast = 0.01;
  std::erase_if(line.calls, [&](const CallProfile& c) { return c.callee.empty() || c.seconds < kLeast * whole; });
  if (line.calls.size() < 2) line.calls.clear();
  std::ranges::stable_sort(line.calls, std::greater<>(), &CallProfile::seconds);
}

/// Whether the processor reads and writes what an op counts: files may be mapped, and devices have memory of their own.
bool isKernel(const Op& op) { return op.kind == OpKind::Fused || op.has(Trait::Library); }

}  // namespace

std::string linesOf(const ir::Module& m, const ir::Op& op, const SourceManager& sources) {
  Work work(m, sources);
  work.of(op);
  std::string text;
  uint32_t file = Span::kNone;
  Place last{Span::kNone, 0};
  for (const auto& [source, part] : work.parts) {
    const Place place = source.first;
    if (place.first == Span::kNone || place == last) continue;
    last = place;
    const std::string line = std::to_string(place.second);
    text +=
        place.first == file ? "," + line : (text.empty() ? "" : " ") + sources.file(place.first).name() + ":" + line;
    file = place.first;
  }
  return text;
}

Profile profileOf(const ir::Module& m, const codegen::Compiled& compiled, const rt::CallProfile& run,
                  const SourceManager& sources, const Roofline& measured, bool gpus) {
  Profile profile;
  profile.roof = measured;
  Roofline& roof = profile.roof;
  std::vector<Timed> steps;
  for (const auto& [step, took] : run.steps) {
    const auto made = compiled.opOf.find(step);
    if (made == compiled.opOf.end()) continue;
    const bool onGpu = gpus && codegen::deviceOf(m, *made->second) != ir::DeviceTable::kHost;
    steps.push_back({Work(m, sources), {}, took.runs, static_cast<double>(took.ns) * 1e-9, false});
    Timed& timed = steps.back();
    timed.bounded = !onGpu && isKernel(*made->second);
    timed.work.of(*made->second);
    for (const auto& [place, part] : timed.work.parts) {
      timed.all.bytes += part.bytes;
      timed.all.weight += part.weight;
    }
    profile.gpu = profile.gpu || onGpu;
    if (timed.bounded && timed.runs > 0)
      roof.reached(timed.all.bytes, timed.all.weight, timed.seconds / static_cast<double>(timed.runs));
  }
  std::map<Place, LineProfile> lines;
  for (const auto& [work, all, runs, seconds, bounded] : steps) {
    double sum = 0;
    std::map<Source, double> share;
    const double bandwidth = std::max(roof.bandwidth(all.bytes), 1.0);
    for (const auto& [source, part] : work.parts) {
      share[source] = std::max(part.bytes / bandwidth, part.weight / std::max(roof.flops, 1.0));
      sum += share[source];
    }
    const double ideal = bounded ? roof.seconds(all.bytes, all.weight) : 0;
    const auto times = static_cast<double>(runs);
    profile.seconds += seconds;
    std::set<Place> counted;
    for (const auto& [source, part] : work.parts) {
      const Place& place = source.first;
      const double fraction = sum > 0 ? share[source] / sum : 1.0 / static_cast<double>(work.parts.size());
      LineProfile& line = lines[place];
      line.file = place.first;
      line.line = place.second;
      if (counted.insert(place).second) line.runs += runs;
      CallProfile& call = callOf(line, source.second);
      call.seconds += seconds * fraction;
      call.bytes += part.bytes * times;
      call.flops += part.flops * times;
      call.ideal += ideal * fraction * times;
      line.seconds += seconds * fraction;
      line.bytes += part.bytes * times;
      line.flops += part.flops * times;
      line.ideal += ideal * fraction * times;
      line.atLeast = line.atLeast || work.atLeast;
    }
  }
  for (auto& [place, line] : lines) {
    keepCalls(line, profile.seconds);
    if (line.seconds > 0 || line.bytes > 0 || line.flops > 0) profile.lines.push_back(line);
  }
  std::stable_sort(profile.lines.begin(), profile.lines.end(),
                   [](const LineProfile& a, const LineProfile& b) { return a.seconds > b.seconds; });
  return profile;
}

}  // namespace tenc::tool
