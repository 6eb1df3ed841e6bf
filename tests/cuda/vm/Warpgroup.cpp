#include "tests/cuda/vm/Warpgroup.h"

#include "tests/cuda/vm/Handlers.h"
#include "tests/cuda/vm/Launch.h"

namespace tenc::ptx {
namespace {

constexpr uint32_t kWarps = 4;

WarpgroupSteps& stepsOf(Warp& w) { return w.block().warpgroups[w.index() / kWarps]; }
RegisterUse& use(Warp& w, Slot slot) { return w.warpgroup.registers[slot / kLanes]; }

std::string name(const char* operand, size_t n) { return "register " + std::to_string(n) + " of " + operand; }

}  // namespace

bool togetherInWarpgroup(Warp& w, const Instruction& i, const PendingProduct& operands) {
  if (!wholeWarp(w, i)) return false;
  const Kernel& k = w.launch().kernel;
  const size_t first = w.index() / kWarps * kWarps;
  if (first + kWarps > w.block().warps.size())
    w.fault(Finding::WarpgroupMismatch, "warp " + std::to_string(w.index()) + " has no other three beside it");
  WarpgroupSteps& all = stepsOf(w);
  const uint64_t number = w.warpgroup.steps++;
  if (number - all.first == all.steps.size()) {
    for (size_t other = first; other < first + kWarps; ++other) {
      const Warp& o = *w.block().warps[other];
      if (o.state() == Warp::State::Done && o.warpgroup.steps <= number)
        w.fault(Finding::WarpgroupMismatch,
                "warp " + std::to_string(other) + " has returned and warp " + std::to_string(w.index()) + " goes on");
    }
    all.steps.push_back({w.pc(), operands.a, operands.b, operands.accumulate, 0});
  }
  WarpgroupSteps::Step& step = all.steps[number - all.first];
  if (step.pc != w.pc())
    w.fault(Finding::WarpgroupMismatch,
            "warp " + std::to_string(w.index()) + " comes here, another one to " + k.describe(step.pc));
  if (step.a != operands.a || step.b != operands.b || step.accumulate != operands.accumulate)
    w.fault(Finding::WarpgroupMismatch, "warp " + std::to_string(w.index()) + " has other operands than another one");
  if (++step.came == kWarps) {
    all.steps.pop_front();
    ++all.first;
  }
  return true;
}

void takeRegisters(Warp& w, const WarpgroupProduct& p) {
  if (!w.warpgroup.fenced) w.report(Finding::WarpgroupFence, "there was no wgmma.fence before");
  std::string unfenced, inUse;
  for (size_t n = 0; n < p.a.size(); ++n) {
    if (p.a[n] & kConstant) continue;
    RegisterUse& u = use(w, p.a[n]);
    if (u.touched) unfenced = name("A", n) + " was accessed since the last wgmma.fence";
    if (u.inD) inUse = name("A", n) + " is in D of a product that was not waited for";
    ++u.inA;
  }
  for (size_t n = 0; n < p.d.size(); ++n) {
    RegisterUse& u = use(w, p.d[n]);
    if (u.touched) unfenced = name("D", n) + " was accessed since the last wgmma.fence";
    if (u.columns && u.columns != p.columns)
      unfenced = name("D", n) + " was in D of a product of " + std::to_string(u.columns) +
                 " columns since the last wgmma.fence";
    if (u.inA) inUse = name("D", n) + " is in A of a product that was not waited for";
    ++u.inD;
    u.columns = p.columns;
  }
  if (!unfenced.empty()) w.report(Finding::WarpgroupFence, unfenced);
  if (!inUse.empty()) w.report(Finding::RegisterInUse, inUse);
}

void giveRegisters(Warp& w, const WarpgroupProduct& p) {
  for (Slot s : p.a) {
    if (!(s & kConstant)) --use(w, s).inA;
  }
  for (Slot s : p.d) --use(w, s).inD;
}

void fenceRegisters(Warp& w) {
  w.warpgroup.fenced = true;
  for (Slot s : w.launch().kernel.productRegisters) {
    use(w, s).touched = false;
    use(w, s).columns = 0;
  }
}

void noteRegisters(Warp& w, const Instruction& i) {
  forOperands(i, [&](Slot s, bool written) {
    if ((s & kConstant) || s / kLanes >= w.warpgroup.registers.size()) return;
    RegisterUse& u = use(w, s);
    u.touched = true;
    if (!u.inD && !u.inA) return;
    w.report(Finding::RegisterInUse, std::string(written ? "it writes" : "it reads") + " a register in " +
                                         (u.inD ? "D" : "A") + " of a product, by " + w.who(w.firstLane()));
  });
}

void leaveWarpgroup(Warp& w) {
  if (!w.warpgroup.products.empty())
    w.report(Finding::RegisterInUse, "warp " + std::to_string(w.index()) + " returns before the product of " +
                                         w.launch().kernel.describe(w.warpgroup.products.front().pc) +
                                         " was waited for");
  const WarpgroupSteps& all = stepsOf(w);
  const uint64_t next = w.warpgroup.steps;
  if (next >= all.first && next - all.first < all.steps.size())
    w.fault(Finding::WarpgroupMismatch, "warp " + std::to_string(w.index()) + " returns, another one comes to " +
                                            w.launch().kernel.describe(all.steps[next - all.first].pc));
}

}  // namespace tenc::ptx
