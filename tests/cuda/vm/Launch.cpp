#include "tests/cuda/vm/Launch.h"

#include <algorithm>

namespace tenc::ptx {
namespace {

constexpr size_t kResident = 4;          // blocks at a time
constexpr size_t kMostResident = 64;     // where those at hand wait for others
constexpr uint64_t kTurn = 24;           // warp instructions of a turn in round robin
constexpr uint64_t kLongTurn = 1 << 18;  // of one that runs as far as it gets
constexpr uint32_t kMultiprocessors = 132;

/// The lanes of a warp that a block of so many threads has.
Mask lanesOf(uint32_t warp, uint32_t threads) {
  uint32_t left = threads - warp * kLanes;
  return left >= kLanes ? kAllLanes : (1u << left) - 1;
}

uint32_t component(const Dim3& d, uint8_t dimension) { return dimension == 0 ? d.x : dimension == 1 ? d.y : d.z; }

}  // namespace

void Block::release(Launch& launch, uint32_t barrier) {
  Barrier& b = barriers[barrier];
  uint32_t needed = b.expected ? b.expected / kLanes : liveWarps;
  if (!b.arrived || b.arrived < needed) return;
  Barrier complete;
  std::swap(complete, b);
  for (uint32_t warp : complete.waiting) {
    Warp& w = *warps[warp];
    shared.join(warp, complete.clock);
    w.resume();
    const Instruction& i = launch.kernel.code[w.pc()];
    if (!i.destinations) continue;
    // bar.red: 2 counts, 3 and, 4 or.
    if (i.mode == 2)
      w.writeAll<uint32_t>(i.to[0], complete.count);
    else
      w.writePredicate(i.to[0], (i.mode == 3 ? complete.all : complete.any) ? kAllLanes : 0);
  }
}

void Launch::fillSpecials(Warp& w) {
  const Dim3& block = shape.block;
  for (const SpecialRegister& s : kernel.specials) {
    if (s.kind == Special::Clock64 || s.kind == Special::Timer) {
      std::fill_n(w.lanes<uint64_t>(s.slot), kLanes, executed);
      continue;
    }
    uint32_t* to = w.lanes<uint32_t>(s.slot);
    for (uint32_t l = 0; l < kLanes; ++l) {
      uint32_t t = w.thread(l);
      switch (s.kind) {
        case Special::Thread:
          to[l] = s.dimension == 0 ? t % block.x : s.dimension == 1 ? t / block.x % block.y : t / block.x / block.y;
          break;
        case Special::Threads: to[l] = component(block, s.dimension); break;
        case Special::BlockIndex: to[l] = component(w.block().position, s.dimension); break;
        case Special::Blocks: to[l] = component(shape.grid, s.dimension); break;
        case Special::Lane: to[l] = l; break;
        case Special::LaneEq: to[l] = 1u << l; break;
        case Special::LaneLt: to[l] = (1u << l) - 1; break;
        case Special::LaneLe: to[l] = (2u << l) - 1; break;
        case Special::LaneGt: to[l] = ~((2u << l) - 1); break;
        case Special::LaneGe: to[l] = ~((1u << l) - 1); break;
        case Special::Warp: to[l] = w.index(); break;
        case Special::Warps: to[l] = 64; break;
        case Special::Multiprocessor: to[l] = w.block().index % kMultiprocessors; break;
        case Special::Multiprocessors: to[l] = kMultiprocessors; break;
        case Special::Grid: to[l] = id; break;
        case Special::DynamicShared: to[l] = shape.dynamicShared; break;
        case Special::TotalShared: to[l] = sharedBytes; break;
        default: to[l] = static_cast<uint32_t>(executed); break;
      }
    }
  }
}

void Launch::start(Block& b, uint32_t index) {
  b.index = index;
  b.position = {index % shape.grid.x, index / shape.grid.x % shape.grid.y, index / shape.grid.x / shape.grid.y};
  uint32_t warps = (threads + kLanes - 1) / kLanes;
  b.liveWarps = warps;
  b.exitedThreads = 0;
  b.barriers = {};
  b.order.start();
  b.shared.start(sharedBytes, kernel.sharedGrain, warps, options.races, !kernel.products.empty());
  b.warpgroups.assign(kernel.products.empty() ? 0 : (warps + 3) / 4, {});
  for (uint32_t w = 0; w < warps; ++w) {
    if (w == b.warps.size()) b.warps.push_back(std::make_unique<Warp>(*this, b, w));
    b.warps[w]->start(lanesOf(w, threads));
    fillSpecials(*b.warps[w]);
  }
}

uint64_t Launch::quantum() {
  switch (options.order) {
    case Order::RoundRobin: return kTurn;
    case Order::Random: return 1 + random() % 64;
    default: return kLongTurn;
  }
}

void Launch::runSome(std::vector<std::unique_ptr<Block>>& resident) {
  auto turn = [&](Warp& w) {
    if (w.state() != Warp::State::Ready) return false;
    executed += w.run(quantum());
    return true;
  };
  switch (options.order) {
    case Order::RoundRobin:
      for (auto& b : resident) {
        for (auto& w : b->warps) turn(*w);
      }
      break;
    case Order::Random: {
      Block& b = *resident[random() % resident.size()];
      size_t first = random() % b.warps.size();
      for (size_t w = 0; w < b.warps.size() && !turn(*b.warps[(first + w) % b.warps.size()]); ++w) {}
      break;
    }
    case Order::RunAhead:
    case Order::Backward:
      for (auto& b : resident) {
        size_t n = b->warps.size();
        for (size_t w = 0; w < n; ++w) turn(*b->warps[options.order == Order::Backward ? n - 1 - w : w]);
      }
      break;
  }
}

void Launch::checkDeadlock(const Block& b) const {
  std::string waiting;
  for (const auto& w : b.warps) {
    if (w->state() == Warp::State::Ready) return;
    if (w->state() == Warp::State::AtBarrier && waiting.size() < 300) {
      waiting +=
          (waiting.empty() ? "warp " : "; warp ") + std::to_string(w->index()) + " at " + kernel.describe(w->pc());
    }
  }
  throw Fault{Finding::BarrierDeadlock, waiting, "block " + std::to_string(b.index) + ": no other warp will come"};
}

void Launch::run() {
  uint32_t total = static_cast<uint32_t>(shape.grid.count());
  std::vector<uint32_t> sequence(total);
  for (uint32_t i = 0; i < total; ++i) sequence[i] = options.order == Order::Backward ? total - 1 - i : i;
  if (options.order == Order::Random) std::shuffle(sequence.begin(), sequence.end(), random);
  bool alone = options.order == Order::RunAhead || options.order == Order::Backward;
  size_t window = shape.cooperative ? total : alone ? 1 : kResident;
  std::vector<std::unique_ptr<Block>> resident, finished;
  for (uint32_t next = 0; next < total || !resident.empty();) {
    while (resident.size() < window && next < total) {
      if (finished.empty()) finished.push_back(std::make_unique<Block>());
      resident.push_back(std::move(finished.back()));
      finished.pop_back();
      start(*resident.back(), sequence[next++]);
    }
    uint64_t before = executed;
    runSome(resident);
    bool done = false;
    for (size_t i = 0; i < resident.size();) {
      if (resident[i]->liveWarps) {
        checkDeadlock(*resident[i++]);
        continue;
      }
      done = true;
      finished.push_back(std::move(resident[i]));
      resident.erase(resident.begin() + static_cast<ptrdiff_t>(i));
    }
    // A block that runs alone and spins waits for one that has not begun.
    if (alone && !done && executed - before >= kLongTurn && window < kMostResident) ++window;
    if (options.goesOn) {
      if (!options.goesOn()) throw Fault{Finding::Timeout, "the launch", "the driver ends"};
      recent = nullptr;  // allocations may have come and gone
    }
    if (executed > options.budget) {
      throw Fault{Finding::Timeout, "the launch", "more than " + std::to_string(options.budget) + " warp instructions"};
    }
  }
}

std::optional<Finding> Machine::launch(const Kernel& kernel, const LaunchShape& shape,
                                       const std::vector<uint8_t>& parameters) {
  KernelCounters& counters = counters_[kernel.name];
  if (counters.kernel != &kernel) counters = {};
  counters.kernel = &kernel;
  counters.at.resize(kernel.code.size());
  ++counters.launches;
  counters.blocks += shape.grid.count();
  counters.threads += shape.grid.count() * shape.block.count();
  counters.dynamicShared = std::max(counters.dynamicShared, shape.dynamicShared);
  const uint32_t shared = shape.dynamicShared ? kernel.dynamicBegin() + shape.dynamicShared : kernel.sharedBytes;
  Launch l{.memory = memory_,
           .reports = reports_,
           .options = options_,
           .kernel = kernel,
           .counters = counters,
           .shape = shape,
           .parameters = parameters.data(),
           .id = ++launches_,
           .threads = static_cast<uint32_t>(shape.block.count()),
           .sharedBytes = shared,
           .random = std::mt19937_64(options_.seed),
           .published = {}};
  try {
    l.run();
  } catch (const Fault& f) {
    reports_.add(f.finding, kernel.name, f.place, f.detail);
    return f.finding;
  }
  return std::nullopt;
}

}  // namespace tenc::ptx
