// cp.async. Data are read when the copy is issued, and arrive when they are waited for, as late as the rules allow:
// until then the bytes in shared memory count as uninitialised.
#include <algorithm>

#include "tests/cuda/vm/Access.h"
#include "tests/cuda/vm/Handlers.h"

namespace tenc::ptx {

void executeCopy(Warp& w, const Instruction& i) {
  Mask lanes = w.executing(), reading = lanes;
  if (!lanes) return;
  const uint32_t* sizes = i.sources ? w.read<uint32_t>(i.from[0]) : nullptr;
  for (uint32_t l = 0; l < kLanes && sizes; ++l) reading &= ~(static_cast<Mask>(sizes[l] == 0) << l);
  Access to(w, i.address, i.offset), from(w, i.address2, i.offset2);
  to.resolve(lanes, Space::Shared, i.bytes, AccessKind::Write);
  to.check();
  if (reading) {
    from.resolve(reading, Space::Global, i.bytes, AccessKind::Read);
    from.check();
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(lanes >> l & 1)) continue;
    PendingCopy c{.lane = l, .group = w.copyGroup[l], .pc = w.pc(), .to = to.offset(l), .bytes = i.bytes};
    if (reading >> l & 1) std::memcpy(c.data, from[l], sizes ? std::min<uint32_t>(sizes[l], i.bytes) : i.bytes);
    w.block().shared.setInitialised(c.to, c.bytes, false);
    w.copies.push_back(c);
  }
}

void executeCommit(Warp& w, const Instruction&) {
  for (uint32_t l = 0; l < kLanes; ++l) w.copyGroup[l] += w.executing() >> l & 1;
}

void executeWaitCopies(Warp& w, const Instruction& i) {
  SharedMemory& shared = w.block().shared;
  std::erase_if(w.copies, [&](const PendingCopy& c) {
    bool due = (w.executing() >> c.lane & 1) && (i.variant || c.group + i.mode + 1 <= w.copyGroup[c.lane]);
    if (!due) return false;
    std::memcpy(shared.data() + c.to, c.data, c.bytes);
    shared.setInitialised(c.to, c.bytes, true);
    if (!w.launch().options.races) return true;
    auto conflict = shared.accessor(w.index(), AccessKind::Write, c.pc).access(c.lane, c.to, c.bytes, false);
    if (conflict.found) {
      w.report(Finding::SharedRace, "the data of " + w.launch().kernel.describe(c.pc) +
                                        " arrive; nothing orders that and the " + nameOf(conflict.kind) +
                                        " by thread " + std::to_string(conflict.thread) + " at " +
                                        w.launch().kernel.describe(conflict.pc));
    }
    return true;
  });
}

}  // namespace tenc::ptx
