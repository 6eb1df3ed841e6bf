// An `if` on where values live is decided by placement, which comes after types are checked. Both branches are lowered
// where they can be; where they cannot, one is assumed, and lowering starts again until placement finds what was
// assumed.
#include <algorithm>
#include <set>

#include "ir/Ir.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {

void Session::decideBranches(const ast::File& file, const frontend::Options& options, const Diagnostics& before,
                             frontend::Lowered& lowered) {
  constexpr int kMostRounds = 16;
  const Diagnostics refused = diags_;
  frontend::Options assuming = options;
  std::vector<std::string> undecided = lowered.undecided;
  std::set<std::string> tried, apart;
  for (int round = 0; round < kMostRounds; ++round) {
    for (const std::string& key : undecided) assuming.decisions.try_emplace(key, true);
    diags_ = before;
    frontend::Lowered trial = frontend::lower(file, sources_, diags_, assuming);
    if (!trial.module) break;
    Diagnostics unread;
    passes::BranchDecisions found;
    passes::Context c = context(*trial.module);
    c.diags = &unread;
    c.decisions = &found;
    passes::place(*ir::clone(*trial.module), c);
    // What is not known yet may follow from a branch that was assumed wrongly.
    bool changed = false, settled = true;
    for (const auto& [key, taken] : found) {
      settled = settled && taken.has_value();
      bool& assumed = assuming.decisions[key];
      changed = changed || taken.value_or(assumed) != assumed;
      assumed = taken.value_or(assumed);
    }
    // A call that an error in the function took away says nothing: the other branch is tried, once.
    for (auto& [key, assumed] : assuming.decisions) {
      if (changed || diags_.ok() || found.contains(key) || !tried.insert(key).second) continue;
      assumed = !assumed;
      changed = true;
    }
    undecided = trial.undecided;
    std::erase_if(undecided,
                  [&](const std::string& key) { return assuming.decisions.contains(key) || apart.contains(key); });
    if (changed || !undecided.empty()) continue;
    if (!settled) {  // the others are decided all the same
      for (const auto& [key, taken] : found)
        if (!taken && assuming.decisions.erase(key) > 0) apart.insert(key);
      continue;
    }
    lowered = std::move(trial);
    return;
  }
  diags_ = refused;
}

}  // namespace tenc::tool
