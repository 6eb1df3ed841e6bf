// Loops in LLVM IR with values that they carry.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <vector>

namespace tenc::codegen::cpu {

using Values = std::vector<llvm::Value*>;

/// for (i = lo; i < hi; i += step) carried = body(i, carried); returns the carried values after the loop. Ranges that
/// are constants are used: no test before a loop that surely runs, and no loop for a single trip.
Values emitLoop(llvm::IRBuilderBase& b, llvm::Value* lo, llvm::Value* hi, int64_t step, const Values& init,
                const std::function<Values(llvm::Value*, const Values&)>& body);

/// if (condition) results = body(); else otherwise.
Values emitIf(llvm::IRBuilderBase& b, llvm::Value* condition, const Values& otherwise,
              const std::function<Values()>& body);

/// The same for a condition that hardly ever holds: the body stands aside.
Values emitRarely(llvm::IRBuilderBase& b, llvm::Value* condition, const Values& otherwise,
                  const std::function<Values()>& body);

/// How a range is walked by vectors.
struct VectorWalk {
  int lanes = 16;
  int copies = 1;          ///< vectors side by side in the main loop
  bool oneBody = false;    ///< keep code small: a single loop, masked if need be
  bool fullLanes = false;  ///< the range is known to be a multiple of `lanes`
  int together = 0;        ///< keep code small: the main loop does so many vectors a trip (a divisor of copies), and
                           ///< what copies carry takes turns; 0: all of them
  int lastLanes = 0;  ///< where it is known, how many lanes a last vector that is not whole has; of walks that carry
                      ///< nothing
};
/// body(base, copies, mask, carried): `mask` is null when all lanes are in the range. The body's carried values are the
/// same in number for one copy and for several: with fewer copies the rest is handed through.
Values emitVectorLoop(llvm::IRBuilderBase& b, llvm::Value* lo, llvm::Value* hi, const VectorWalk& walk,
                      const Values& init,
                      const std::function<Values(llvm::Value*, int, llvm::Value*, const Values&)>& body);

}  // namespace tenc::codegen::cpu
