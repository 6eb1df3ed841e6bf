// Every pass of the compiler: functions that change a module in place. The forms of IR are
//
//   unplaced   what the frontend makes: no value has a place; annotations, requests to move and checks are ops with the
//              trait `Placing`; a function stands for all devices that it is called on.
//   placed     every tensor of rank 1 or more has a device, a name of the script; only `transfer` copies between
//              devices; no op has operands on two of them. Functions are specialised per device.
//   one body   placed, and each entry point is one function without calls.
//   bound      one body, and devices are those of this machine.
//   fused      bound, and what kernels compute stands in `fused` ops, one kernel each.
//
// The standard order; a pass of which no form is said takes and gives one body:
//
//   place          unplaced to placed. Reports E03.
//   verify-placed  changes nothing: holds placed IR, and any later form, to what it promises.
//   inline         placed to one body, so that what follows sees whole programs.
//   hoist-moved    what a loop moves between devices and does not change is computed in front of it, to be moved there.
//   dce, moves     one transfer per value and destination. Here the moves are settled, and `tenc transfers` lists them:
//                  before equal values are merged, so that each still has the name that the script gives it.
//   trap-nan       with --trap nan only, behind the first dce: a check behind each op that may make a NaN or an
//                  infinity. Before the moves are settled, so that loops with such checks are neither native kernels
//                  nor decided on a device. Takes and gives any placed form.
//   device-loops   a loop over single numbers with conditions that would be copied to the host in each trip is one
//                  native kernel of its device, where it may be (FuseNative.cpp). Before the moves are listed; what is
//                  in it stays as it is until its code is made.
//   device-control the same for larger loops, and branches in loops, all of whose work is of one device: what they
//                  branch on stays there. Behind it an `if` or `while` may have a condition on a device.
//   decompose      ops with the trait `Decomposed` become others. Before simplification, which mends what rules leave.
//   simplify       literals, identities that keep the bits, chains of index maps, branches that are decided.
//   cse, hoist     equal pure ops are one; what a loop does not change is computed in front of it. After
//                  simplification, which makes equal things look equal.
//   dce            what these left unused.
//   bind-devices   one body to bound. After the checks and the list, which go by name; before fusion, which groups by
//                  actual device.
//   place-free     tensors of free values, such as literals that passes have broadcast, are made where they are used.
//                  Takes and gives any form but unplaced; `place` ends with it, too.
//   read-rows      bound to bound: a gather of whole rows of a mapped file becomes a read_rows, which the runtime can
//                  serve without pages of the file in the process's memory. Before fusion, which the gather is lost in,
//                  and before read-ahead, which knows both.
//   read-ahead     bound to bound: each load in a loop whose path follows from the trip alone gets a read_ahead in the
//                  trip before, and one in front of the loop. After the checks of placement, which it has no part in;
//                  before fusion, which makes kernels of the paths of next trips. `load-in-time`, not part of the
//                  order, takes it back in fused IR, where its second buffer is more than a device has.
//   fuse           bound to fused. The ops stay inside, so the interpreter can run every form.
//   dce            what fusion left unused. Takes and gives any form.
//   copy-in-time   fused to fused, not part of the order: what only moves elements in front of a loop stands in it,
//                  where it is read. For programs that do not fit otherwise.
//   tensor-loops   fused to fused: what a loop of the host runs is one kernel, where all of it is small.
//
// Passes keep the results of a program to the bit, except that `decompose` and `fuse` fix the order of sums by the
// traits of the op's device, the same on every machine of one target, and that `simplify` lets an svd of which
// no vectors are read compute the values alone, by another routine. They keep effects and faults, their order and the
// locations that are reported. What a pass makes has its name (`ir::Op::origin`). A pass that finds an invariant broken
// throws an InternalError; only placement, the binding of devices and limits of size report to the user.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/DeviceTable.h"
#include "ir/Ir.h"
#include "ir/TargetTraits.h"
#include "support/Diagnostics.h"

namespace tenc::passes {

/// What conditions on devices are found to be, by the key of their `if`; nothing where calls differ, or a run decides.
using BranchDecisions = std::map<std::string, std::optional<bool>>;

struct Context {
  Diagnostics* diags = nullptr;
  const SourceManager* sources = nullptr;
  ir::DeviceTable machine;                               ///< the devices that are there
  ir::TraitsTable traits;                                ///< of the targets that their code is for
  std::function<uint64_t(const std::string&)> capacity;  ///< bytes that a program may use of a device; none: any
  std::string debug;                                     ///< --debug=pass: print why rewrites are declined
  BranchDecisions* decisions = nullptr;                  ///< placement fills it in, when it is given
  bool fuse = true;                                      ///< --no-fuse: one kernel an op, for differential tests
  bool readAhead = true;                                 ///< --no-read-ahead: files are read when they are loaded
  std::string fp = "strict";                             ///< strict, contract, fast

  /// Of what runs the op: the device of its results. Ops that are nowhere run on the host.
  const ir::TargetTraits& traitsOf(const ir::Op& op) const;
};

/// Whether values of that type stand beside values on any device (P3): free ones, and rank-0 values on the host.
inline bool mixes(const ir::Type& t) {
  return t.place.isFree() || (t.shape.empty() && t.place.device == ir::DeviceTable::kHost);
}

#define TENC_PASS(function, name, doc) bool function(ir::Module& m, Context& c);
#include "passes/Passes.def"

struct PassInfo {
  std::string_view name;
  bool (*run)(ir::Module&, Context&);
  std::string_view doc;
};
const std::vector<PassInfo>& allPasses();
/// The standard order, in three parts: up to placement; to the moves that will take place, which `tenc transfers`
/// lists; and from there to fused IR.
const std::vector<std::string_view>& placementPipeline();
const std::vector<std::string_view>& movesPipeline();
const std::vector<std::string_view>& optimisationPipeline();
/// Whether `copy-in-time` has something to do in a region of fused IR.
bool copiesAhead(const ir::Region& region);
/// Runs the named passes, verifying after each in debug builds; stops at the first that reports errors.
bool runPasses(ir::Module& m, Context& c, const std::vector<std::string_view>& names,
               std::string* failedPass = nullptr);

}  // namespace tenc::passes
