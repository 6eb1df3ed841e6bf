// The table of passes, the standard order (Passes.h says why it is this one) and how a pass is run.
#include "passes/Passes.h"

#include "support/InternalError.h"

namespace tenc::passes {

const std::vector<PassInfo>& allPasses() {
  static const std::vector<PassInfo> passes{
#define TENC_PASS(function, name, doc) {name, function, doc},
#include "passes/Passes.def"
  };
  return passes;
}

const std::vector<std::string_view>& placementPipeline() {
  static const std::vector<std::string_view> names{"place", "verify-placed"};
  return names;
}

const std::vector<std::string_view>& movesPipeline() {
  static const std::vector<std::string_view> names{"inline", "hoist-moved",  "dce",
                                                   "moves",  "device-loops", "device-control"};
  return names;
}

const std::vector<std::string_view>& optimisationPipeline() {
  static const std::vector<std::string_view> names{"decompose",  "simplify",     "cse",        "hoist",
                                                   "dce",        "bind-devices", "place-free", "read-rows",
                                                   "read-ahead", "fuse",         "dce",        "tensor-loops"};
  return names;
}

const ir::TargetTraits& Context::traitsOf(const ir::Op& op) const {
  if (op.results.empty() || op.result()->type.place.isFree()) return traits.of(ir::DeviceTable::kHost);
  return traits.of(op.func()->module->actual(op.result()->type.place.device));
}

namespace {

/// While a pass runs, the module knows its name.
class Running {
 public:
  Running(ir::Module& m, std::string_view pass) : module_(m) { module_.pass = pass.data(); }  // of a literal
  ~Running() { module_.pass = ""; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ir::Module& module_;
};

bool run(const PassInfo& pass, ir::Module& m, Context& c) {
  const Running running(m, pass.name);
  return pass.run(m, c);
}

}  // namespace

bool runPasses(ir::Module& m, Context& c, const std::vector<std::string_view>& names, std::string* failedPass) {
  const auto failed = [&](std::string_view name) {
    if (failedPass != nullptr) *failedPass = name;
    return false;
  };
  for (std::string_view name : names) {
    const PassInfo* pass = nullptr;
    for (const PassInfo& p : allPasses()) {
      if (p.name == name) pass = &p;
    }
    if (pass == nullptr || !run(*pass, m, c)) return failed(name);
#ifndef NDEBUG
    if (const std::string wrong = ir::verify(m); !wrong.empty()) {
      throw InternalError(std::string(name), "wrong IR after the pass: " + wrong);
    }
#endif
  }
  return true;
}

}  // namespace tenc::passes
