// Ops with regions, and the values that cross their borders.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Tensors;
class PlacingOps;
class KeptLeaves;

using BranchFn = std::function<std::vector<Val>()>;
using LoopBody = std::function<std::vector<Val>(ir::Value* i, std::vector<Val> carried)>;

/// Branches, placed blocks and loops as ops; values cross their borders as flat lists of tensors.
class Regions {
 public:
  Regions(Context& context, Tensors& tensors, PlacingOps& placing)
      : context_(context), tensors_(tensors), placing_(placing) {}

  /// An `if` op; both functions give values of the same number; result: their merge. `names` for messages.
  std::vector<Val> emitIf(ir::Value* condition, Span span, const std::vector<std::string>& names, const BranchFn& yes,
                          const BranchFn& no,
                          const std::function<void(std::vector<Val>&, std::vector<Val>&)>& fix = {});
  /// What `body` makes, inside an `on` op. `before`: what the first of these were; a part that still is stays where it
  /// is.
  std::vector<Val> emitOn(const DeviceRef& device, Span span, const BranchFn& body,
                          const std::vector<Val>& before = {});
  /// A counted loop with carried values; gives their final values (Regions.cpp). `body` gets i and the carried values.
  std::vector<Val> forLoop(ir::Value* lo, ir::Value* hi, ir::Value* step, std::vector<Val> carried, Span span,
                           const LoopBody& body);
  /// A counted loop; `names`: of the carried values, for messages.
  std::vector<Val> loopCarried(ir::Value* lo, ir::Value* hi, ir::Value* step, const std::vector<Val>& carried,
                               const std::vector<std::string>& names, Span span, const LoopBody& body);
  /// The values that a loop body yields, checked against the initial ones (E0209); a wrong one is poison in `after`.
  std::vector<ir::Value*> carriedYields(const std::vector<Val>& initial, const std::vector<Val>& arguments,
                                        std::vector<Val>& after, const std::vector<std::string>& names,
                                        ir::Region* region, Span span);
  /// Results of a loop, one for each leaf that it carries.
  std::vector<Val> carriedResults(ir::Op* op, const std::vector<Val>& initial, const std::vector<Val>& after,
                                  const std::vector<std::string>& names);
  /// Of a network that is trained: the leaves of layers in `state` as they are now; the last values of `results` are
  /// what became of them; those that changed in the regions of `op` join them, false when there are none.
  std::vector<Val> stateNow(const std::vector<ir::Value*>& state) const;
  void takeState(std::vector<Val>& results, const std::vector<ir::Value*>& state);
  bool addState(const ir::Op& op, const KeptLeaves& before, std::vector<ir::Value*>& state) const;
  /// Ends a region with these values.
  void yield(ir::Region* region, const std::vector<ir::Value*>& values, ir::OpKind kind = ir::OpKind::Yield);
  /// Zeros of the types of `like`.
  Val placeholder(const Val& like);

 private:
  std::pair<ir::Op*, std::vector<Val>> loopOnce(ir::Value* lo, ir::Value* hi, ir::Value* step,
                                                const std::vector<Val>& carried, const std::vector<std::string>& names,
                                                Span span, const LoopBody& body);
  /// Makes strings that differ one of several.
  bool agreeOnText(Val& a, Val& b, ir::Region* ra, ir::Region* rb);
  bool agree(Val& a, Val& b, ir::Region* ra, ir::Region* rb, std::string_view name, Span span);

  Context& context_;
  Tensors& tensors_;
  PlacingOps& placing_;
};

}  // namespace tenc::frontend
