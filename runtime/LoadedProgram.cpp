#include "runtime/LoadedProgram.h"

#include <algorithm>

#include "runtime/cpu/LoadedCode.h"
#include "runtime/library/Library.h"

namespace tenc::rt {
namespace {

class Loading {
 public:
  Loading(const abi::Program& p, const SymbolLookup& symbols, std::vector<std::shared_ptr<LoadedCode>>& code)
      : p_(p), symbols_(symbols), code_(code) {
    code_.resize(p.images.size());
  }

  LoadedKernel load(const abi::Kernel& k) {
    LoadedKernel loaded;
    loaded.kernel = &k;
    std::visit(abi::Overloaded{[&](const abi::HostCode& c) { host(c, loaded); },
                               [&](const abi::LibraryCall& c) { routine(c, loaded); }, [&](const abi::DeviceCode&) {},
                               [&](const abi::ProductCode&) {}, [&](const abi::SolverCode&) {},
                               [&](const abi::SequenceCode&) {}},
               k.code);
    return loaded;
  }
  const std::string& error() const { return error_; }

 private:
  void host(const abi::HostCode& c, LoadedKernel& k) {
    k.phases = {{c.items, c.grain}};
    k.scratchBytes = c.scratchBytes;
    if (c.image == abi::kNoImage) {
      if (symbols_) k.function = symbols_(c.symbol);
    } else {
      std::shared_ptr<LoadedCode>& code = code_[c.image];
      if (!code && error_.empty()) code = LoadedCode::load(p_.images[c.image].bytes, error_);
      if (code) k.function = reinterpret_cast<abi::KernelFn>(code->symbol(c.symbol));
    }
    if (!k.function && error_.empty()) error_ = "there is no code for the kernel `" + c.symbol + "`";
  }

  void routine(const abi::LibraryCall& c, LoadedKernel& k) {
    const std::optional<library::Task> task = library::taskOf(c);
    if (!task) {
      if (error_.empty()) error_ = "the runtime has no routine `" + c.routine + "`";
      return;
    }
    k.function = library::runItems;
    for (const auto& [items, grain] : task->phases) k.phases.push_back({items, grain});
    k.scratchBytes = task->scratchBytes;
    k.sharedBytes = task->sharedBytes;
    k.call = &c;
  }

  const abi::Program& p_;
  const SymbolLookup& symbols_;
  std::vector<std::shared_ptr<LoadedCode>>& code_;
  std::string error_;
};

/// Marks the buffers that loops exchange, and notes what is launched on devices.
void look(const abi::Block& block, std::vector<bool>& moves, std::set<std::pair<uint32_t, uint32_t>>& launches) {
  const auto mark = [&](const std::vector<abi::Swap>& swaps) {
    for (const auto& [a, b] : swaps) moves[a] = moves[b] = true;
  };
  const auto inside = [&](const abi::Block& inner) { look(inner, moves, launches); };
  for (const abi::Step& s : block) {
    if (const auto* launch = std::get_if<abi::Launch>(&s.what)) {
      if (launch->device != 0) launches.emplace(launch->device, launch->kernel);
    } else if (const auto* loop = std::get_if<abi::For>(&s.what)) {
      mark(loop->swaps);
      inside(loop->body);
    } else if (const auto* repeat = std::get_if<abi::While>(&s.what)) {
      mark(repeat->swaps);
      inside(repeat->condition);
      inside(repeat->body);
    } else if (const auto* branch = std::get_if<abi::If>(&s.what)) {
      inside(branch->then);
      inside(branch->otherwise);
    } else if (const auto* bench = std::get_if<abi::Bench>(&s.what)) {
      inside(bench->body);
    }
  }
}

}  // namespace

std::shared_ptr<const LoadedProgram> LoadedProgram::load(std::shared_ptr<const abi::Program> program,
                                                         std::string& error, const SymbolLookup& symbols) {
  std::shared_ptr<LoadedProgram> loaded(new LoadedProgram);
  loaded->program_ = std::move(program);
  Loading loading(*loaded->program_, symbols, loaded->code_);
  for (const abi::Kernel& k : loaded->program_->kernels) {
    loaded->kernels_.push_back(loading.load(k));
    loaded->scratchBytes_ = std::max(loaded->scratchBytes_, loaded->kernels_.back().scratchBytes);
    loaded->sharedBytes_ = std::max(loaded->sharedBytes_, loaded->kernels_.back().sharedBytes);
  }
  loaded->moves_.resize(loaded->program_->buffers.size());
  look(loaded->program_->steps, loaded->moves_, loaded->launches_);
  error = loading.error();
  return error.empty() ? loaded : nullptr;
}

LoadedProgram::~LoadedProgram() = default;

}  // namespace tenc::rt
