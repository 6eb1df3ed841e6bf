// Every pass of the compiler; each is in a file of its name. A pass is a function on a module; most report nothing. One
// that finds an invariant broken throws an InternalError.
#pragma once
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
  ir::DeviceTable machine;               ///< the devices that are there
  ir::TraitsTable traits;                ///< of the targets that their code is for
  std::string debug;                     ///< --debug=pass: print why rewrites are declined
  BranchDecisions* decisions = nullptr;  ///< placement fills it in, when it is given
  bool fuse = true;                      ///< --no-fuse: one kernel an op, for differential tests
  std::string fp = "strict";             ///< strict, contract, fast

  /// Of what runs the op: the device of its results. Ops that are nowhere run on the host.
  const ir::TargetTraits& traitsOf(const ir::Op& op) const;
};

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
/// Runs the named passes, verifying after each in debug builds; stops at the first that reports errors.
bool runPasses(ir::Module& m, Context& c, const std::vector<std::string_view>& names,
               std::string* failedPass = nullptr);

}  // namespace tenc::passes
