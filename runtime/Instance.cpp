#include "runtime/Instance.h"

#include <mutex>
#include <new>
#include <vector>

#include "runtime/Machine.h"
#include "runtime/call/Runner.h"

namespace tenc::rt {
namespace {

/// Why the options do not fit the program; empty when they do.
std::string problemOf(const CallOptions& options, const abi::Program& p) {
  const auto count = [](size_t given, size_t wanted, const char* what) {
    return "the program has " + std::to_string(wanted) + " " + what + ", " + std::to_string(given) + " were given";
  };
  if (options.inputs.size() != p.inputs.size()) return count(options.inputs.size(), p.inputs.size(), "inputs");
  if (!options.outputs.empty() && options.outputs.size() != p.results.size())
    return count(options.outputs.size(), p.results.size(), "results");
  for (size_t i = 0; i < options.inputs.size(); ++i) {
    const auto& strides = options.inputs[i].strides;
    if (!strides.empty() && strides.size() != p.inputs[i].shape.size()) return "an input has strides of other dims";
  }
  for (size_t i = 0; i < options.outputs.size(); ++i) {
    const auto& strides = options.outputs[i].strides;
    if (!strides.empty() && strides.size() != p.results[i].shape.size()) return "an output has strides of other dims";
  }
  return {};
}

}  // namespace

struct Instance::Shared {
  std::shared_ptr<const LoadedProgram> program;
  Machine& machine;
  RandomState random;
  std::mutex mutex;
  std::vector<std::unique_ptr<Workspace>> idle;  // one for each call that ran at the same time as others

  std::unique_ptr<Workspace> takeWorkspace(CallResult& ended) {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        auto workspace = std::move(idle.back());
        idle.pop_back();
        return workspace;
      }
    }
    return Workspace::open(*program, machine, ended);
  }
  CallResult run(Workspace& workspace, const CallOptions& options);
  void giveBack(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(workspace));
  }
};

Instance::Instance(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
Instance::~Instance() = default;

std::unique_ptr<Instance> Instance::create(std::shared_ptr<const LoadedProgram> program, Machine& machine) {
  std::unique_ptr<Shared> shared(new Shared{std::move(program), machine, RandomState(), {}, {}});
  return std::unique_ptr<Instance>(new Instance(std::move(shared)));
}

const abi::Program& Instance::program() const { return shared_->program->program(); }

RandomState& Instance::random() { return shared_->random; }

CallResult Instance::call(const CallOptions& options) {
  CallResult ended;
  if (ended.text = problemOf(options, program()); !ended.text.empty()) {
    ended.end = CallResult::End::Refused;
    return ended;
  }
  try {
    std::unique_ptr<Workspace> workspace = shared_->takeWorkspace(ended);
    if (!workspace) return ended;
    ended = shared_->run(*workspace, options);
    shared_->giveBack(std::move(workspace));
  } catch (const std::bad_alloc&) {
    ended = {};
    ended.end = CallResult::End::OutOfMemory;
    ended.text = "the system has no more memory for the run";
  }
  return ended;
}

CallResult Instance::Shared::run(Workspace& workspace, const CallOptions& options) {
  CallControl own;
  CallControl& control = options.control ? *options.control : own;
  RandomState& state = options.random ? *options.random : random;
  if (options.measureMemory) workspace.fill();
  workspace.begin({&control, nullptr, options.dropWaits, options.trace != nullptr});
  Runner runner(*program, machine, workspace, options, control, state);
  CallResult result;
  {
    // However the run ends, devices come to rest before what they may still read goes: mapped files, `own`.
    struct Rest {
      Workspace& workspace;
      ~Rest() { workspace.end(); }
    } const rest{workspace};
    result = runner.run();
  }
  if (options.measureMemory) result.touched = workspace.touched();
  return result;
}

}  // namespace tenc::rt
