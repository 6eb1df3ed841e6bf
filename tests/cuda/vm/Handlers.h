// What instructions do that are more than a function of each lane's registers.
#pragma once
#include "tests/cuda/vm/Kernel.h"

namespace tenc::ptx {

// ControlOps.cpp
void executeBranch(Warp& w, const Instruction& i);         // target
void executeIndexedBranch(Warp& w, const Instruction& i);  // from[0]: index into the table of number `target`
void executeReturn(Warp& w, const Instruction& i);
void executeTrap(Warp& w, const Instruction& i);
void executeNothing(Warp& w, const Instruction& i);
void executeUnsupported(Warp& w, const Instruction& i);
void executeBarrier(Warp& w, const Instruction& i);  // mode: 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or
void executeWarpBarrier(Warp& w, const Instruction& i);
void executeFence(Warp& w, const Instruction& i);         // mode: 1 beyond the block
void executeSetCondition(Warp& w, const Instruction& i);  // offset, offset2: handle and value in local memory

// WarpOps.cpp
void executeShuffle(Warp& w, const Instruction& i);  // mode: 0 up, 1 down, 2 bfly, 3 idx
void executeVote(Warp& w, const Instruction& i);     // mode: 0 all, 1 any, 2 uni, 3 ballot
void executeMatch(Warp& w, const Instruction& i);    // mode: 0 any, 1 all
void executeRedux(Warp& w, const Instruction& i);    // mode: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor
void executeElect(Warp& w, const Instruction& i);
void executeActiveMask(Warp& w, const Instruction& i);

// MemoryOps.cpp
void executeLoad(Warp& w, const Instruction& i);   // variant: 1 acquire, 3 non-coherent
void executeStore(Warp& w, const Instruction& i);  // variant: 2 release
void executeParameter(Warp& w, const Instruction& i);
void executePack(Warp& w, const Instruction& i);
void executeUnpack(Warp& w, const Instruction& i);
void executeConvertAddress(Warp& w, const Instruction& i);  // mode: 1 from generic
void executeIsSpace(Warp& w, const Instruction& i);

// AtomicOps.cpp
enum class AtomicType : uint8_t { Unsigned, Signed, F32, F64, F16, Bf16, F16x2, Bf16x2 };
void executeAtomic(Warp& w, const Instruction& i);  // mode: add, min, max, exch, cas, and, or, xor, inc, dec

// MatrixOps.cpp
/// Whether all 32 lanes stand here; a fault where some have returned.
bool wholeWarp(Warp& w, const Instruction& i);
void executeMma(Warp& w, const Instruction& i);         // mode: MatrixType; variant: k; vector: registers of A
void executeLoadMatrix(Warp& w, const Instruction& i);  // mode: 1 transposed
void executeStoreMatrix(Warp& w, const Instruction& i);

// WarpgroupOps.cpp
void executeWarpgroupProduct(Warp& w, const Instruction& i);  // offset: the place in the kernel's products
void executeWarpgroupFence(Warp& w, const Instruction& i);
void executeCommitProducts(Warp& w, const Instruction& i);
void executeProxyFence(Warp& w, const Instruction& i);
void executeWaitProducts(Warp& w, const Instruction& i);  // mode: groups that may be left

// CopyOps.cpp
void executeCopy(Warp& w, const Instruction& i);  // from[0]: bytes that are copied, where there are sources
void executeCommit(Warp& w, const Instruction& i);
void executeWaitCopies(Warp& w, const Instruction& i);  // mode: groups that may be left; variant: 1 all

}  // namespace tenc::ptx
