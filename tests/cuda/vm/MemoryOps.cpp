// Loads and stores, parameters, addresses, packed values.
#include <type_traits>

#include "tests/cuda/vm/Access.h"
#include "tests/cuda/vm/Handlers.h"

namespace tenc::ptx {
namespace {

/// An element as a register holds it: extended by its sign, if it has one.
template <typename K, typename E>
K widened(E e) {
  if constexpr (std::is_signed_v<E> && std::is_integral_v<E>) {
    constexpr int kAbove = 64 - 8 * static_cast<int>(sizeof e);
    const uint64_t bits = static_cast<std::make_unsigned_t<E>>(e);
    return static_cast<K>(static_cast<int64_t>(bits << kAbove) >> kAbove);
  } else {
    return static_cast<K>(e);
  }
}

AccessKind kindOf(const Instruction& i, bool isStore) {
  if (isStore) return i.strong ? AccessKind::StrongWrite : AccessKind::Write;
  if (i.variant == 3) return AccessKind::NonCoherent;
  return i.strong ? AccessKind::StrongRead : AccessKind::Read;
}

/// Calls `f` with the type of an element in memory and the type that registers keep it as.
template <class F>
void withTypes(const Instruction& i, F f) {
  auto kept = [&](auto element) {
    if (i.wide)
      f(element, uint64_t{});
    else
      f(element, uint32_t{});
  };
  switch (i.bytes) {
    case 1: return i.isSigned ? kept(int8_t{}) : kept(uint8_t{});
    case 2: return i.isSigned ? kept(int16_t{}) : kept(uint16_t{});
    case 4: return i.isSigned ? kept(int32_t{}) : kept(uint32_t{});
    default: return f(uint64_t{}, uint64_t{});
  }
}

}  // namespace

void executeLoad(Warp& w, const Instruction& i) {
  if (!w.executing()) return;
  Access a(w, i.address, i.offset);
  Mask lanes = w.executing();
  a.resolve(lanes, i.space, uint32_t{i.bytes} * i.vector, kindOf(i, false));
  if (i.variant == 1) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (lanes >> l & 1) w.block().order.acquire(w.launch().published, a.address(l), true);
    }
  }
  if (i.used) a.narrow(i.usedFrom, i.used);
  a.check();
  withTypes(i, [&](auto element, auto kept) {
    using E = decltype(element);
    using K = decltype(kept);
    for (uint32_t v = 0; v < i.destinations; ++v) {
      K* to = w.lanes<K>(i.to[v]);
      if (a.consecutive()) {
        const uint8_t* from = a[0] + v * sizeof(E);
        for (uint32_t l = 0; l < kLanes; ++l) {
          E e;
          std::memcpy(&e, from + size_t{l} * i.vector * sizeof(E), sizeof e);
          to[l] = widened<K>(e);
        }
        continue;
      }
      for (uint32_t l = 0; l < kLanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        E e;
        std::memcpy(&e, a[l] + v * sizeof(E), sizeof e);
        to[l] = widened<K>(e);
      }
    }
  });
}

void executeStore(Warp& w, const Instruction& i) {
  if (!w.executing()) return;
  Access a(w, i.address, i.offset);
  Mask lanes = w.executing(), changed = 0;
  a.resolve(lanes, i.space, uint32_t{i.bytes} * i.vector, kindOf(i, true));
  if (i.variant == 2) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (lanes >> l & 1) w.block().order.release(w.launch().published, a.address(l), w.block().index, true);
    }
  }
  withTypes(i, [&](auto element, auto kept) {
    using E = decltype(element);
    using K = decltype(kept);
    for (uint32_t v = 0; v < i.sources; ++v) {
      const K* from = w.read<K>(i.from[v]);
      for (uint32_t l = 0; l < kLanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        E before, after = static_cast<E>(from[l]);
        uint8_t* to = a[l] + v * sizeof(E);
        std::memcpy(&before, to, sizeof before);
        changed |= static_cast<Mask>(before != after) << l;
        std::memcpy(to, &after, sizeof after);
      }
    }
  });
  a.check(~changed);
}

void executeParameter(Warp& w, const Instruction& i) {
  withTypes(i, [&](auto element, auto kept) {
    using E = decltype(element);
    for (uint32_t v = 0; v < i.destinations; ++v) {
      E e;
      std::memcpy(&e, w.launch().parameters + i.offset + v * sizeof(E), sizeof e);
      w.writeAll(i.to[v], static_cast<decltype(kept)>(e));
    }
  });
}

void executePack(Warp& w, const Instruction& i) {
  uint64_t partMask = i.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << i.bytes * 8) - 1;
  alignas(64) uint64_t values[kLanes] = {};
  for (uint32_t n = 0; n < i.sources; ++n) {
    const uint32_t* from = w.read<uint32_t>(i.from[n]);
    for (uint32_t l = 0; l < kLanes; ++l) values[l] |= (from[l] & partMask) << 8 * i.bytes * n;
  }
  if (i.wide) return w.write(i.to[0], values);
  alignas(64) uint32_t narrow[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) narrow[l] = static_cast<uint32_t>(values[l]);
  w.write(i.to[0], narrow);
}

void executeUnpack(Warp& w, const Instruction& i) {
  uint32_t partMask = i.bytes >= 4 ? ~0u : (1u << i.bytes * 8) - 1;
  alignas(64) uint32_t values[4][kLanes];
  for (uint32_t n = 0; n < i.destinations; ++n) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      uint64_t v = i.wide ? w.read<uint64_t>(i.from[0])[l] : w.read<uint32_t>(i.from[0])[l];
      values[n][l] = static_cast<uint32_t>(v >> 8 * i.bytes * n) & partMask;
    }
  }
  for (uint32_t n = 0; n < i.destinations; ++n) w.write(i.to[n], values[n]);
}

void executeConvertAddress(Warp& w, const Instruction& i) {
  uint64_t window = i.space == Space::Shared ? kSharedWindow : i.space == Space::Local ? kLocalWindow : 0;
  const uint64_t* from = w.read<uint64_t>(i.from[0]);
  alignas(64) uint64_t values[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) values[l] = i.mode ? from[l] - window : from[l] + window;
  w.write(i.to[0], values);
}

void executeIsSpace(Warp& w, const Instruction& i) {
  const uint64_t* a = w.read<uint64_t>(i.from[0]);
  Mask holds = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    bool shared = a[l] - kSharedWindow < kWindowBytes, local = a[l] - kLocalWindow < kWindowBytes;
    bool in = i.space == Space::Shared ? shared : i.space == Space::Local ? local : !shared && !local;
    holds |= static_cast<Mask>(in) << l;
  }
  w.writePredicate(i.to[0], holds);
}

}  // namespace tenc::ptx
