// Numbers of the faults that a native loop may set: one for each op of its region that can fault, in program order.
#pragma once
#include <unordered_map>
#include <vector>

#include "codegen/Kernel.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

/// Whether it is a `for` whose step may be 0.
bool mayStand(const ir::Op& op);
/// Ops of a native fused op that can fault, outer ones before those of their regions.
std::vector<const ir::Op*> faultingOps(const ir::Op& fused);
std::unordered_map<const ir::Op*, uint32_t> faultNumbers(const ir::Op& fused);
/// Whether an op of a native kernel may fault, for all that is known of the numbers in it.
bool mayFault(const Kernel& native);
/// Fills faults and faultCodes of a native kernel in the order of faultingOps.
void nameNativeFaults(Kernel& kernel);

}  // namespace tenc::codegen
