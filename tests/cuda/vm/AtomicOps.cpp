// atom and red. Lanes come one after another, in an order that the schedule chooses.
#include <algorithm>
#include <cmath>

#include "tests/cuda/vm/Access.h"
#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {
namespace {

template <class F>
F floatResult(uint8_t mode, F old, F a) {
  return mode == 0 ? old + a : mode == 1 ? std::fmin(old, a) : std::fmax(old, a);
}

template <class H>
uint16_t halfResult(uint8_t mode, uint16_t old, uint16_t a) {
  return fromDouble<H>(floatResult<double>(mode, toFloat(H{old}), toFloat(H{a}))).bits;
}

template <class H>
uint32_t pairResult(uint8_t mode, uint32_t old, uint32_t a) {
  uint32_t low = halfResult<H>(mode, static_cast<uint16_t>(old), static_cast<uint16_t>(a));
  return low | uint32_t{halfResult<H>(mode, static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(a >> 16))} << 16;
}

template <class U>
U integerResult(uint8_t mode, bool isSigned, U old, U a, U b) {
  using S = std::make_signed_t<U>;
  bool less = isSigned ? static_cast<S>(a) < static_cast<S>(old) : a < old;
  switch (mode) {
    case 0: return static_cast<U>(old + a);
    case 1: return less ? a : old;
    case 2: return less ? old : a;
    case 3: return a;
    case 4: return old == a ? b : old;
    case 5: return old & a;
    case 6: return old | a;
    case 7: return old ^ a;
    case 8: return old >= a ? 0 : static_cast<U>(old + 1);
    default: return old == 0 || old > a ? a : static_cast<U>(old - 1);
  }
}

template <class U>
U result(const Instruction& i, U old, U a, U b) {
  switch (static_cast<AtomicType>(i.variant)) {
    case AtomicType::F32:
      if constexpr (sizeof(U) == 4)
        return i.mode > 2 ? a
                          : std::bit_cast<U>(floatResult(i.mode, std::bit_cast<float>(old), std::bit_cast<float>(a)));
      break;
    case AtomicType::F64:
      if constexpr (sizeof(U) == 8)
        return std::bit_cast<U>(floatResult(i.mode, std::bit_cast<double>(old), std::bit_cast<double>(a)));
      break;
    case AtomicType::F16: return halfResult<Half>(i.mode, static_cast<uint16_t>(old), static_cast<uint16_t>(a));
    case AtomicType::Bf16: return halfResult<Bfloat>(i.mode, static_cast<uint16_t>(old), static_cast<uint16_t>(a));
    case AtomicType::F16x2:
      return static_cast<U>(pairResult<Half>(i.mode, static_cast<uint32_t>(old), static_cast<uint32_t>(a)));
    case AtomicType::Bf16x2:
      return static_cast<U>(pairResult<Bfloat>(i.mode, static_cast<uint32_t>(old), static_cast<uint32_t>(a)));
    case AtomicType::Signed:
    case AtomicType::Unsigned: break;
  }
  return integerResult(i.mode, static_cast<AtomicType>(i.variant) == AtomicType::Signed, old, a, b);
}

template <class U>
void update(Warp& w, const Instruction& i, const Access& access) {
  using K = std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t>;
  const K *a = w.read<K>(i.from[0]), *b = w.read<K>(i.from[i.sources > 1 ? 1 : 0]);
  alignas(64) K olds[kLanes] = {};
  Order order = w.launch().options.order;
  uint32_t first = order == Order::Random ? static_cast<uint32_t>(w.launch().random()) : 0;
  for (uint32_t n = 0; n < kLanes; ++n) {
    uint32_t l = order == Order::Backward ? kLanes - 1 - n : (n + first) % kLanes;
    if (!(w.executing() >> l & 1)) continue;
    U old;
    std::memcpy(&old, access[l], sizeof old);
    olds[l] = old;
    U now = result<U>(i, old, static_cast<U>(a[l]), static_cast<U>(b[l]));
    std::memcpy(access[l], &now, sizeof now);
  }
  if (i.destinations) w.write(i.to[0], olds);
}

}  // namespace

void executeAtomic(Warp& w, const Instruction& i) {
  Mask lanes = w.executing();
  if (!lanes) return;
  Access access(w, i.address, i.offset);
  access.resolve(lanes, i.space, i.bytes, AccessKind::Atomic);
  if (w.launch().kernel.ordersBlocks) {
    BlockOrder& order = w.block().order;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(access.globalLanes() >> l & 1)) continue;
      order.acquire(w.launch().published, access.address(l), i.strong);
      order.release(w.launch().published, access.address(l), w.block().index, i.strong);
    }
  }
  access.check();
  if (i.bytes == 8)
    update<uint64_t>(w, i, access);
  else if (i.bytes == 4)
    update<uint32_t>(w, i, access);
  else
    update<uint16_t>(w, i, access);
}

}  // namespace tenc::ptx
