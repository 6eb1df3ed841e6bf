#include "tests/cuda/vm/Access.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "tests/cuda/vm/Handlers.h"

namespace tenc::ptx {
namespace {

template <class F>
void forLanes(Mask lanes, F f) {
  if (lanes == kAllLanes) {
    for (uint32_t l = 0; l < kLanes; ++l) f(l);
  } else {
    for (; lanes; lanes &= lanes - 1) f(static_cast<uint32_t>(std::countr_zero(lanes)));
  }
}

}  // namespace

Access::Access(Warp& w, Slot address, int64_t offset) : w_(w), launch_(w.launch()) {
  const uint64_t* a = w.read<uint64_t>(address);
  for (uint32_t l = 0; l < kLanes; ++l) address_[l] = a[l] + static_cast<uint64_t>(offset);
}

std::string Access::who(uint32_t lane) const {
  return std::to_string(bytes_) + "-byte " + nameOf(kind_) + " by " + w_.who(lane);
}

void Access::outOfRange(uint32_t lane, const std::string& where) const {
  w_.fault(Finding::OutOfRange, who(lane) + " " + where);
}

void Access::classify(Mask lanes, Space space) {
  shared_ = space == Space::Shared ? lanes : 0;
  local_ = space == Space::Local ? lanes : 0;
  global_ = space == Space::Global ? lanes : 0;
  if (space != Space::Generic) return;
  forLanes(lanes, [&](uint32_t l) {
    Mask bit = 1u << l;
    if (address_[l] - kSharedWindow < kWindowBytes) {
      shared_ |= bit;
      address_[l] -= kSharedWindow;
    } else if (address_[l] - kLocalWindow < kWindowBytes) {
      local_ |= bit;
      address_[l] -= kLocalWindow;
    } else {
      global_ |= bit;
    }
  });
}

void Access::resolve(Mask lanes, Space space, uint32_t bytes, AccessKind kind) {
  bytes_ = bytes;
  kind_ = kind;
  consecutive_ = false;
  uint64_t bits = 0;
  forLanes(lanes, [&](uint32_t l) { bits |= address_[l]; });
  if (bits & (bytes - 1)) {
    forLanes(lanes, [&](uint32_t l) {
      if (address_[l] & (bytes - 1))
        w_.fault(Finding::Misaligned,
                 who(l) + " at an address that ends in " + std::to_string(address_[l] % 256) + " (of 256)");
    });
  }
  classify(lanes, space);
  if (shared_) resolveShared();
  if (local_) resolveLocal();
  if (global_) resolveGlobal();
}

void Access::resolveShared() {
  // Of all lanes, without a branch; those that do not access shared memory are left out of the check, and overwritten
  // later.
  auto data = reinterpret_cast<uintptr_t>(w_.block().shared.data());
  uint64_t last = launch_.sharedBytes >= bytes_ ? launch_.sharedBytes - bytes_ : 0;
  Mask outside = launch_.sharedBytes >= bytes_ ? 0 : kAllLanes;
  for (uint32_t l = 0; l < kLanes; ++l) {
    offset_[l] = static_cast<uint32_t>(address_[l] - kSharedBase);  // addresses of 32 bits wrap around
    outside |= static_cast<Mask>(offset_[l] > last) << l;
    host_[l] = reinterpret_cast<uint8_t*>(data + offset_[l]);
  }
  if (Mask bad = outside & shared_) {
    auto l = static_cast<uint32_t>(std::countr_zero(bad));
    outOfRange(l, "at offset " + std::to_string(static_cast<int32_t>(offset_[l])) + " of " +
                      std::to_string(launch_.sharedBytes) + " bytes of shared memory");
  }
  if (launch_.options.counters) countBanks();
}

void Access::resolveLocal() {
  uint32_t size = launch_.kernel.localBytes;
  forLanes(local_, [&](uint32_t l) {
    if (address_[l] + bytes_ > size)
      outOfRange(l,
                 "at offset " + std::to_string(address_[l]) + " of " + std::to_string(size) + " bytes of local memory");
    host_[l] = w_.local(l) + address_[l];
  });
}

void Access::resolveGlobal() {
  auto holds = [](const Allocation* a, uint64_t address, uint64_t bytes) {
    return a && address >= a->base && address + bytes <= a->base + a->bytes;
  };
  if (global_ == kAllLanes) {
    uint64_t stray = 0;
    for (uint32_t l = 0; l < kLanes; ++l) stray |= address_[l] ^ (address_[0] + uint64_t{l} * bytes_);
    uint64_t all = uint64_t{kLanes} * bytes_;
    if (!stray && !holds(launch_.recent, address_[0], all)) launch_.recent = launch_.memory.find(address_[0], all);
    if (!stray && launch_.recent) {
      consecutive_ = true;
      uint8_t* host = launch_.memory.host(address_[0]);
      allocation_[0] = launch_.recent;
      offset_[0] = address_[0] - launch_.recent->base;
      for (uint32_t l = 0; l < kLanes; ++l) host_[l] = host + uint64_t{l} * bytes_;
    }
  }
  if (!consecutive_) {
    forLanes(global_, [&](uint32_t l) {
      if (!holds(launch_.recent, address_[l], bytes_)) launch_.recent = launch_.memory.find(address_[l], bytes_);
      if (!launch_.recent) {
        char address[32];
        std::snprintf(address, sizeof address, "at 0x%llx: ", static_cast<unsigned long long>(address_[l]));
        outOfRange(l, address + launch_.memory.neighbourhood(address_[l]));
      }
      allocation_[l] = launch_.recent;
      offset_[l] = address_[l] - launch_.recent->base;
      host_[l] = launch_.memory.host(address_[l]);
    });
  }
  if (launch_.options.counters) countSectors();
}

bool Access::inL1(uint64_t sector) {
  const bool cached = (kind_ == AccessKind::Read || kind_ == AccessKind::NonCoherent) &&
                      launch_.kernel.code[w_.pc()].handler != executeCopy;  // which goes past it
  return cached && launch_.caches[w_.block().index % kCaches].has(sector);
}

void Access::countSectors() {
  InstructionCounters& c = launch_.counters.at[w_.pc()];
  if (consecutive_) {
    const uint64_t first = address_[0] >> 5, last = (address_[kLanes - 1] + bytes_ - 1) >> 5;
    c.sectors += last - first + 1;
    for (uint64_t s = first; s <= last; ++s) c.sectorsInL1 += inL1(s);
    c.bytes += uint64_t{kLanes} * bytes_;
    return;
  }
  uint64_t sectors[kLanes];
  uint32_t n = 0;
  bool sorted = true;
  forLanes(global_, [&](uint32_t l) {
    uint64_t s = address_[l] >> 5;
    if (n && sectors[n - 1] == s) return;
    sorted &= !n || sectors[n - 1] < s;
    sectors[n++] = s;
  });
  if (!sorted) {
    std::sort(sectors, sectors + n);
    n = static_cast<uint32_t>(std::unique(sectors, sectors + n) - sectors);
  }
  c.sectors += n;
  for (uint32_t i = 0; i < n; ++i) c.sectorsInL1 += inL1(sectors[i]);
  c.bytes += static_cast<uint64_t>(std::popcount(global_)) * bytes_;
}

void Access::countBanks() {
  // 4 bytes: the whole warp in a cycle; 8: half of it, 16: a quarter. Different words of one bank take a cycle each.
  InstructionCounters& c = launch_.counters.at[w_.pc()];
  uint32_t together = bytes_ >= 16 ? 8 : bytes_ == 8 ? 16 : 32, words = std::max(1u, bytes_ / 4);
  for (uint32_t first = 0; first < kLanes; first += together) {
    Mask lanes = shared_ & (together == 32 ? kAllLanes : ((1u << together) - 1) << first);
    if (!lanes) continue;
    ++c.idealSharedCycles;
    uint32_t word[kLanes], n = 0, banks = 0;  // at most 128 bytes
    bool clash = false;
    forLanes(lanes, [&](uint32_t l) {
      for (uint32_t q = 0; q < words; ++q) {
        word[n] = static_cast<uint32_t>(offset_[l] >> 2) + q;
        uint32_t bank = 1u << (word[n++] & 31);
        clash |= banks & bank;
        banks |= bank;
      }
    });
    uint32_t most = 1;
    if (clash) {
      std::sort(word, word + n);
      n = static_cast<uint32_t>(std::unique(word, word + n) - word);
      uint32_t inBank[kLanes] = {};
      for (uint32_t q = 0; q < n; ++q) most = std::max(most, ++inBank[word[q] & 31]);
    }
    c.sharedCycles += most;
  }
}

void Access::narrow(uint32_t from, uint32_t bytes) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (consecutive_ && l > 0) {
      allocation_[l] = allocation_[0];
      offset_[l] = offset_[0] + uint64_t{l} * bytes_;
    }
  }
  for (uint64_t& offset : offset_) offset += from;
  consecutive_ = false;
  bytes_ = bytes;
}

void Access::check(Mask silent) {
  const Options& o = launch_.options;
  if (shared_) checkShared(silent);
  if (!global_) return;
  if (consecutive_) {
    if (o.initialisation || writes(kind_)) checkRange(*allocation_[0], offset_[0], uint64_t{kLanes} * bytes_, 0);
    if (o.counters) countDistinct(*allocation_[0], offset_[0], uint64_t{kLanes} * bytes_);
    if (!o.races) return;
    if (!silent || silent == kAllLanes || !writes(kind_)) {
      checkRaces(*allocation_[0], offset_[0], uint64_t{kLanes} * bytes_, 0, silent != 0);
    } else {
      for (uint32_t l = 0; l < kLanes; ++l)
        checkRaces(*allocation_[0], offset_[0] + uint64_t{l} * bytes_, bytes_, l, silent >> l & 1);
    }
    return;
  }
  forLanes(global_, [&](uint32_t l) {
    if (o.initialisation || writes(kind_)) checkRange(*allocation_[l], offset_[l], bytes_, l);
    if (o.counters) countDistinct(*allocation_[l], offset_[l], bytes_);
    if (o.races) checkRaces(*allocation_[l], offset_[l], bytes_, l, silent >> l & 1);
  });
}

void Access::checkShared(Mask silent) {
  SharedMemory& s = w_.block().shared;
  bool reads = kind_ != AccessKind::Write && kind_ != AccessKind::StrongWrite;
  if (reads && launch_.options.initialisation) {
    forLanes(shared_, [&](uint32_t l) {
      if (!s.initialised(offset(l), bytes_))
        w_.report(Finding::UninitialisedShared, who(l) + " at offset " + std::to_string(offset_[l]));
    });
  }
  if (writes(kind_)) forLanes(shared_, [&](uint32_t l) { s.setInitialised(offset(l), bytes_, true); });
  if (!launch_.options.races) return;
  if (writes(kind_) && s.proxy.reading()) {
    forLanes(shared_, [&](uint32_t l) {
      if (const AsyncProxy::Reader* r = s.proxy.readerOf(offset(l), bytes_))
        w_.report(Finding::SharedRace, who(l) + " at offset " + std::to_string(offset_[l]) +
                                           "; a product that was not waited for reads it, of " +
                                           launch_.kernel.describe(r->pc));
    });
  }
  SharedMemory::Accessor accessor = s.accessor(w_.index(), kind_, w_.pc());
  forLanes(shared_, [&](uint32_t l) {
    SharedMemory::Conflict c = accessor.access(l, offset(l), bytes_, silent >> l & 1);
    if (!c.found) return;
    w_.report(Finding::SharedRace, who(l) + " at offset " + std::to_string(offset_[l]) +
                                       "; nothing orders it and the " + nameOf(c.kind) + " by thread " +
                                       std::to_string(c.thread) + " at " + launch_.kernel.describe(c.pc));
  });
}

void Access::checkRange(Allocation& a, uint64_t offset, uint64_t bytes, uint32_t lane) {
  constexpr uint8_t kInitialised = 0x0F;
  auto at = [&](uint64_t n) {
    return w_.who(lane + static_cast<uint32_t>(n / bytes_)) + " at byte " + std::to_string(offset + n) +
           " of an allocation of " + std::to_string(a.bytes);
  };
  bool whole = offset % 4 == 0 && bytes % 4 == 0;
  uint8_t* states = a.states.data() + offset / 4;
  uint64_t groups = (offset + bytes + 3) / 4 - offset / 4;
  uint8_t all = kInitialised, any = 0;
  for (uint64_t g = 0; g < groups; ++g) {
    all &= states[g];
    any |= states[g];
  }
  if (any >> 4) {
    for (uint64_t n = 0; n < bytes; ++n) {
      uint64_t b = offset + n;
      if (a.states[b / 4] >> (4 + b % 4) & 1) w_.fault(Finding::Redzone, std::string(nameOf(kind_)) + " by " + at(n));
    }
  }
  bool reads = kind_ != AccessKind::Write && kind_ != AccessKind::StrongWrite;
  if (reads && launch_.options.initialisation && all != kInitialised) {
    uint64_t n = launch_.memory.firstUninitialised(a, offset, bytes);
    if (n < bytes) w_.report(Finding::UninitialisedGlobal, at(n));
  }
  if (!writes(kind_)) return;
  if (whole) {
    for (uint64_t g = 0; g < groups; ++g) states[g] |= kInitialised;
  } else {
    launch_.memory.setInitialised(a, offset, bytes);
  }
}

void Access::countDistinct(Allocation& a, uint64_t offset, uint64_t bytes) {
  bool reads = kind_ != AccessKind::Write && kind_ != AccessKind::StrongWrite;
  for (uint64_t s = offset / 32; s <= (offset + bytes - 1) / 32; ++s) {
    if (writes(kind_) && a.writtenIn[s] != launch_.id) {
      a.writtenIn[s] = launch_.id;
      ++launch_.counters.sectorsWritten;
    }
    if (reads && a.readIn[s] != launch_.id) {
      a.readIn[s] = launch_.id;
      // What the launch wrote itself need not come from DRAM.
      if (a.writtenIn[s] != launch_.id) ++launch_.counters.sectorsRead;
    }
  }
}

void Access::checkRaces(Allocation& a, uint64_t offset, uint64_t bytes, uint32_t lane, bool silent) {
  const Block& self = w_.block();
  uint32_t grain = launch_.kernel.globalGrain;
  uint64_t first = offset / grain, end = (offset + bytes + grain - 1) / grain;
  BlockAccess now;
  now.launch = launch_.id;
  now.block = self.index & 0xFFFFFFF;
  now.kind = static_cast<uint32_t>(kind_) & 15;
  now.epoch = static_cast<uint16_t>(std::min(self.order.epoch(), 0xFFFFu));
  now.pc = static_cast<uint16_t>(std::min(w_.pc(), 0xFFFFu));
  auto laneOf = [&](uint64_t cell) {
    return lane + static_cast<uint32_t>((std::max(cell * grain, offset) - offset) / bytes_);
  };
  auto meets = [&](const BlockAccess& other) {
    return other.launch == launch_.id && other.block != self.index && !self.order.after(other.block, other.epoch);
  };
  auto report = [&](Finding f, uint64_t cell, const BlockAccess& other) {
    w_.report(f, std::string(nameOf(kind_)) + " by " + w_.who(laneOf(cell)) + " at byte " +
                     std::to_string(cell * grain) + " of an allocation of " + std::to_string(a.bytes) +
                     "; nothing orders it and the " + nameOf(static_cast<AccessKind>(other.kind)) + " by block " +
                     std::to_string(other.block) + " at " + launch_.kernel.describe(other.pc));
  };
  for (uint64_t c = first; c < end; ++c) {
    GlobalCell& cell = a.cells[c];
    if (kind_ == AccessKind::NonCoherent) {
      if (cell.write.launch == launch_.id) report(Finding::NonCoherentRead, c, cell.write);
      continue;
    }
    bool strong = isStrong(kind_);
    if (!silent && !(strong && isStrong(static_cast<AccessKind>(cell.write.kind))) && meets(cell.write))
      report(Finding::GlobalRace, c, cell.write);
    if (!writes(kind_)) {
      cell.read = now;
      continue;
    }
    if (!(strong && isStrong(static_cast<AccessKind>(cell.read.kind))) && meets(cell.read))
      report(Finding::GlobalRace, c, cell.read);
    cell.write = now;
  }
}

}  // namespace tenc::ptx
