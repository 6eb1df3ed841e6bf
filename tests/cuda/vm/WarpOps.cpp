// Instructions by which lanes of a warp exchange values. All lanes that the mask names have to come.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Launch.h"

namespace tenc::ptx {
namespace {

std::string hex(Mask m) {
  char s[16];
  std::snprintf(s, sizeof s, "0x%08x", m);
  return s;
}

/// The lanes that any of those here names. Parts of a warp may each name their own (`parts`): every lane has to be in
/// its mask, and two masks are the same or have nothing in common.
Mask named(Warp& w, Slot maskSlot, bool parts) {
  const Mask first = w.uniform(maskSlot);
  if (!parts) return first;
  const uint32_t* masks = w.read<uint32_t>(maskSlot);
  Mask all = first;
  for (Mask rest = w.executing(); rest; rest &= rest - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(rest));
    all |= masks[l];
    const Mask others = rest & masks[l];
    const bool apart = masks[l] == first || !(masks[l] & first);
    bool same = masks[l] >> l & 1;
    for (Mask m = others; m; m &= m - 1) same = same && masks[std::countr_zero(m)] == masks[l];
    if (!same || !apart)
      w.report(Finding::ShuffleMask,
               w.who(l) + " is not in its mask " + hex(masks[l]) + ", or others in it name another");
  }
  return all;
}

/// Whether the lanes of the mask stand here together. Lanes that it names in vain are reported.
bool gather(Warp& w, const Instruction& i, Slot maskSlot, bool parts = false) {
  if (!w.executing()) return false;
  const Mask mask = named(w, maskSlot, parts);
  if (Mask gone = mask & ~w.live()) {
    w.report(Finding::ShuffleMask,
             w.who(w.firstLane()) + " names lanes " + hex(gone) + ", which have returned or do not exist");
  }
  if (Mask outside = w.executing() & ~mask) {
    w.report(Finding::ShuffleMask,
             w.who(static_cast<uint32_t>(std::countr_zero(outside))) + " is not in its mask " + hex(mask));
  }
  return w.converge(i, mask & w.live());
}

}  // namespace

void executeShuffle(Warp& w, const Instruction& i) {
  if (!gather(w, i, i.from[3], true)) return;
  const uint32_t *a = w.read<uint32_t>(i.from[0]), *b = w.read<uint32_t>(i.from[1]), *c = w.read<uint32_t>(i.from[2]);
  alignas(64) uint32_t values[kLanes];
  Mask inRange = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    uint32_t by = b[l] & 31, segment = c[l] >> 8 & 31, clamp = c[l] & 31;
    int32_t last = static_cast<int32_t>((l & segment) | (clamp & ~segment)), from = 0;
    switch (i.mode) {
      case 0: from = static_cast<int32_t>(l) - static_cast<int32_t>(by); break;
      case 1: from = static_cast<int32_t>(l + by); break;
      case 2: from = static_cast<int32_t>(l ^ by); break;
      default: from = static_cast<int32_t>((l & segment) | (by & ~segment)); break;
    }
    bool valid = i.mode == 0 ? from >= last : from <= last;
    uint32_t source = valid ? static_cast<uint32_t>(from) & 31 : l;
    inRange |= static_cast<Mask>(valid) << l;
    values[l] = a[source];
    if ((w.executing() >> l & 1) && !(w.executing() >> source & 1)) {
      w.report(Finding::InactiveLane, w.who(l) + " reads lane " + std::to_string(source));
    }
  }
  w.write(i.to[0], values);
  if (i.destinations > 1) w.writePredicate(i.to[1], inRange);
}

void executeVote(Warp& w, const Instruction& i) {
  if (!gather(w, i, i.from[1])) return;
  Mask p = w.predicate(i.from[0], i.negated & 1) & w.executing();
  bool all = p == w.executing(), any = p != 0;
  if (i.mode == 3)
    w.writeAll(i.to[0], p);
  else
    w.writePredicate(i.to[0], (i.mode == 0 ? all : i.mode == 1 ? any : all || !any) ? kAllLanes : 0);
}

void executeMatch(Warp& w, const Instruction& i) {
  if (!gather(w, i, i.from[1])) return;
  auto value = [&](uint32_t l) { return i.wide ? w.read<uint64_t>(i.from[0])[l] : w.read<uint32_t>(i.from[0])[l]; };
  alignas(64) uint32_t values[kLanes] = {};
  bool all = true;
  for (uint32_t l = 0; l < kLanes; ++l) {
    for (uint32_t o = 0; o < kLanes; ++o) {
      if (!(w.executing() >> l & 1) || !(w.executing() >> o & 1)) continue;
      if (value(l) == value(o))
        values[l] |= 1u << o;
      else
        all = false;
    }
  }
  if (i.mode) {
    for (uint32_t& v : values) v = all ? w.executing() : 0;
    if (i.destinations > 1) w.writePredicate(i.to[1], all ? kAllLanes : 0);
  }
  w.write(i.to[0], values);
}

void executeRedux(Warp& w, const Instruction& i) {
  if (!gather(w, i, i.from[1])) return;
  const uint32_t* a = w.read<uint32_t>(i.from[0]);
  uint32_t r = a[w.firstLane()];
  for (uint32_t l = w.firstLane() + 1; l < kLanes; ++l) {
    if (!(w.executing() >> l & 1)) continue;
    bool less = i.isSigned ? static_cast<int32_t>(a[l]) < static_cast<int32_t>(r) : a[l] < r;
    switch (i.mode) {
      case 0: r += a[l]; break;
      case 1: r = less ? a[l] : r; break;
      case 2: r = less ? r : a[l]; break;
      case 3: r &= a[l]; break;
      case 4: r |= a[l]; break;
      default: r ^= a[l]; break;
    }
  }
  w.writeAll(i.to[0], r);
}

void executeElect(Warp& w, const Instruction& i) {
  if (!gather(w, i, i.from[0])) return;
  w.writeAll(i.to[0], w.firstLane());
  w.writePredicate(i.to[1], 1u << w.firstLane());
}

void executeActiveMask(Warp& w, const Instruction& i) { w.writeAll(i.to[0], w.active()); }

void executeWarpBarrier(Warp& w, const Instruction& i) {
  if (gather(w, i, i.from[0])) w.block().shared.advance(w.index());
}

}  // namespace tenc::ptx
