#include "runtime/call/Runner.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/Machine.h"
#include "runtime/call/Watch.h"
#include "runtime/cpu/CopyBytes.h"

namespace tenc::rt {

namespace {

bool closesHost(const abi::Program& p, const Machine& machine) {
  return std::any_of(p.devices.begin() + 1, p.devices.end(),
                     [&](const abi::Device& d) { return machine.device(d.name)->closesHost(); });
}

}  // namespace

Runner::Runner(const LoadedProgram& program, Machine& machine, Workspace& workspace, const CallOptions& options,
               CallControl& control, RandomState& random)
    : p_(program.program()),
      pool_(machine.pool()),
      workspace_(workspace),
      options_(options),
      ending_(p_, workspace, control, options.dropWaits, result_),
      buffers_(program, workspace, ending_, options.dropWaits, options.memory),
      launcher_(program, workspace, machine.pool(), control, options.progress, buffers_, ending_),
      ahead_(machine.options().files, control, !closesHost(p_, machine)),
      rows_(machine.pool(), control, ahead_, buffers_, ending_),
      effects_(options, machine.options().files, ahead_, random, buffers_, ending_) {}

CallResult Runner::run() {
  result_.inPlace = buffers_.take(options_.inputs) + buffers_.aim(options_.outputs);
  if (steps(p_.steps) && ending_.devicesAreWell()) {
    buffers_.give(options_);
    effects_.filesAreWhole();
  }
  ahead_.stop();
  if (options_.trace) takeTimes();
  for (uint32_t i = 1; i < p_.devices.size(); ++i) {
    const LaunchCounts counts = workspace_.stream(i)->launched();
    if (counts.single + counts.graphs > 0) result_.launches.push_back({p_.devices[i].name, counts});
  }
  if (!options_.print) std::fflush(stdout);
  return std::move(result_);
}

bool Runner::steps(const abi::Block& block) {
  for (const abi::Step& s : block) {
    if (ending_.interrupted() || !step(s)) return false;
    if (buffers_.failed()) return ending_.devicesAreWell();
    if (!effects_.filesAreWhole()) return false;
  }
  return true;
}

bool Runner::step(const abi::Step& s) { return options_.trace || options_.profile ? watched(s) : execute(s); }

/// A step that a device does later is in the host's row, where the device itself tells when it did it.
bool Runner::watched(const abi::Step& s) {
  const int64_t outside = std::exchange(inner_, 0), begin = nanoseconds();
  const bool goesOn = execute(s);
  const uint32_t device = deviceOf(s, p_);
  Stream* const stream = device != 0 ? workspace_.stream(device) : nullptr;
  if (options_.profile && stream) stream->wait(stream->last());
  const int64_t end = nanoseconds();
  if (options_.profile) note(s, end - begin - inner_);
  inner_ = outside + end - begin;
  if (!options_.trace) return goesOn;
  const bool isLater = stream && stream->hasTimes();
  if (options_.trace->events.size() < CallTrace::kMost)
    options_.trace->events.push_back({nameOf(s, p_), p_.devices[isLater ? 0 : device].name, begin, end, &s, {}});
  else
    ++options_.trace->leftOut;
  return goesOn;
}

void Runner::note(const abi::Step& s, int64_t ns) {
  CallProfile::Step& step = options_.profile->steps[&s];
  ++step.runs;
  step.ns += ns;
}

void Runner::takeTimes() {
  for (uint32_t i = 1; i < p_.devices.size(); ++i) {
    Stream& stream = *workspace_.stream(i);
    if (!stream.hasTimes()) continue;
    stream.wait(stream.last());
    stream.trace(*options_.trace);
  }
}

bool Runner::execute(const abi::Step& s) {
  if (const auto* launch = std::get_if<abi::Launch>(&s.what)) return execute(*launch);  // most steps are
  return std::visit([this](const auto& what) { return execute(what); }, s.what);
}

bool Runner::execute(const abi::Transfer& s) {
  Stream *from = buffers_.streamOf(s.from.buffer), *to = buffers_.streamOf(s.to.buffer);
  std::byte *const source = buffers_.at(s.from), *const target = buffers_.at(s.to);
  if (from == to) return execute(abi::Copy{s.to, s.from, s.bytes});
  const uint64_t order = buffers_.nextOrder();
  ++result_.copies;
  result_.copiedBytes += s.bytes;
  if (from && to) {
    to->receive(target, *from, source, s.bytes, order);
  } else if (to) {
    buffers_.settle(source, s.bytes, false);
    buffers_.pending(source, s.bytes, false, *to, to->copyIn(target, source, s.bytes, order));
  } else {
    buffers_.settle(target, s.bytes, true);
    buffers_.pending(target, s.bytes, true, *from, from->copyOut(target, source, s.bytes, order));
  }
  return true;
}

bool Runner::execute(const abi::Copy& s) {
  std::byte *const source = buffers_.at(s.from), *const target = buffers_.at(s.to);
  if (Stream* stream = buffers_.streamOf(s.to.buffer)) {
    stream->copy(target, source, s.bytes, buffers_.nextOrder());
    return true;
  }
  buffers_.settle(source, s.bytes, false);
  buffers_.settle(target, s.bytes, true);
  copyBytes(pool_, target, source, s.bytes);
  return true;
}

Stream* Runner::deciderOf(abi::BufferId flag, const void* step) {
  Stream* const stream = buffers_.streamOf(flag);
  return stream != nullptr && !options_.profile && (told_ > 0 || !tooLong_.contains(step)) && stream->decides()
             ? stream
             : nullptr;
}

bool Runner::tell(Stream& stream, const abi::If& s, bool& goesOn) {
  stream.beginControl(ControlKind::Branch, buffers_.nextOrder());
  ++told_;
  goesOn = steps(s.then);
  stream.nextSection();
  goesOn = goesOn && steps(s.otherwise);
  --told_;
  return stream.endControl(buffers_.at(s.condition), nullptr);
}

bool Runner::tell(Stream& stream, const abi::While& s, bool& goesOn) {
  const bool inPairs = !s.swaps.empty();
  stream.beginControl(inPairs ? ControlKind::LoopOfPairs : ControlKind::Loop, buffers_.nextOrder());
  ++told_;
  const auto trip = [&] {
    goesOn = goesOn && steps(s.condition);
    const std::byte* const flag = buffers_.at(s.goesOn);
    stream.nextSection();
    goesOn = goesOn && steps(s.body);
    buffers_.exchange(s.swaps);
    return flag;
  };
  goesOn = true;
  const std::byte *const first = trip(), *second = nullptr;
  if (inPairs) {
    stream.nextSection();
    second = trip();
    stream.nextSection();
    // What the first of each pair holds was made in the memory of the second.
    for (const auto& [a, b] : s.swaps)
      stream.copy(buffers_.at(a), buffers_.at(b), p_.buffers[a].bytes, buffers_.nextOrder());
  }
  --told_;
  return stream.endControl(first, second);
}

void Runner::settleSwaps(const std::vector<abi::Swap>& swaps, uint64_t trips) {
  if (told_ == 0 || trips % 2 == 0) return;
  for (const auto& [a, b] : swaps) execute(abi::Copy{{b, 0}, {a, 0}, p_.buffers[a].bytes});
  buffers_.exchange(swaps);
}

bool Runner::execute(const abi::If& s) {
  if (Stream* const stream = deciderOf(s.condition, &s)) {
    bool goesOn = true;
    if (tell(*stream, s, goesOn) || !goesOn) return goesOn;
    tooLong_.insert(&s);
  }
  const bool isTrue = buffers_.flag(s.condition);
  if (buffers_.failed()) return ending_.devicesAreWell();
  return steps(isTrue ? s.then : s.otherwise);
}

bool Runner::execute(const abi::While& s) {
  if (Stream* const stream = deciderOf(s.goesOn, &s)) {
    bool goesOn = true;
    if (tell(*stream, s, goesOn) || !goesOn) return goesOn;
    tooLong_.insert(&s);
  }
  TripsShown shown(options_.progress, 0);
  for (uint64_t trip = 0;; shown.done(++trip)) {
    workspace_.seam();
    if (ending_.interrupted() || !steps(s.condition)) return false;
    const bool goesOn = buffers_.flag(s.goesOn);
    if (buffers_.failed()) return ending_.devicesAreWell();
    if (!goesOn) {
      settleSwaps(s.swaps, trip);
      return true;
    }
    if (!steps(s.body)) return false;
    buffers_.exchange(s.swaps);
    buffers_.keepWithinMemory();
  }
}

bool Runner::execute(const abi::For& s) {
  const auto lo = buffers_.get<int64_t>(s.lo), hi = buffers_.get<int64_t>(s.hi), by = buffers_.get<int64_t>(s.by);
  if (buffers_.failed()) return ending_.devicesAreWell();
  if (by == 0) return ending_.stop(s.site);
  const uint64_t span = by > 0 ? (hi > lo ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) : 0)
                               : (lo > hi ? static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi) : 0);
  const uint64_t stride = by > 0 ? static_cast<uint64_t>(by) : 0 - static_cast<uint64_t>(by);
  const uint64_t trips = span / stride + (span % stride != 0);
  int64_t i = lo;
  TripsShown shown(options_.progress, trips);
  for (uint64_t t = 0; t < trips; shown.done(++t)) {
    workspace_.seam();
    if (s.induction != abi::kNoBuffer) buffers_.set(buffers_.at(s.induction), i);
    if (ending_.interrupted() || !steps(s.body)) return false;
    buffers_.exchange(s.swaps);
    buffers_.keepWithinMemory();
    i = static_cast<int64_t>(static_cast<uint64_t>(i) + static_cast<uint64_t>(by));
  }
  workspace_.seam();
  settleSwaps(s.swaps, trips);
  return true;
}

/// The mean of some runs.
bool Runner::measure(const abi::Block& body, int runs, double& ms) {
  const auto start = Clock::now();
  for (int i = 0; i < runs; ++i) {
    workspace_.seam();
    if (!steps(body)) return false;
  }
  if (!ending_.devicesAreWell()) return false;
  ms = (seconds(Clock::now()) - seconds(start)) / runs * 1e3;
  return true;
}

/// Rounds of about 20 ms or one run each, after a warm-up; the medians of the rounds' means are kept.
bool Runner::execute(const abi::Bench& s) {
  double ms = 0;
  if (!measure(s.body, 1, ms) || !measure(s.body, 1, ms)) return false;
  const double once = std::max(1e-7, ms * 1e-3);
  const int runs = std::clamp(static_cast<int>(0.02 / once), 1, 1000);
  const int rounds = options_.benchRounds > 0
                         ? options_.benchRounds
                         : std::clamp(static_cast<int>(options_.benchSeconds / (once * runs)), 5, 101);
  std::vector<double> times;
  for (int r = 0; r < rounds; ++r) {
    if (!measure(s.body, runs, ms)) return false;
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  result_.benches.push_back({s.name, times[times.size() / 2], times.front(), rounds});
  return true;
}

}  // namespace tenc::rt
