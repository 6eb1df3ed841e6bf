// The pipeline as values: text -> tree -> module -> placed -> fused -> program -> run. Used by every subcommand, by the
// REPL and by tests. A Session owns the texts, the diagnostics and the machine; it prints nothing.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/Codegen.h"
#include "codegen/cpu/CpuTarget.h"
#include "frontend/Frontend.h"
#include "interp/Interp.h"
#include "passes/Passes.h"
#include "runtime/Instance.h"
#include "runtime/Machine.h"
#include "support/Diagnostics.h"
#include "support/InternalError.h"
#include "tools/tenc/Hardware.h"

namespace tenc::tool {

inline constexpr size_t kMaxSourceBytes = size_t{16} << 20;

/// In debug builds, and where TENC_VERIFY is set, as the suites do.
bool verifiesByDefault();

struct SessionOptions {
  std::map<std::string, std::optional<std::string>> params;  ///< --lr 0.3; without a text: --verbose
  std::map<std::string, std::string> devices;                ///< --device gpu=cuda:1
  std::map<std::string, uint64_t> memory;                    ///< --memory gpu=8GiB
  uint64_t maxMemory = 0;    ///< --max-memory 8GiB, for devices that --memory does not name
  int maxMemoryPercent = 0;  ///< --max-memory 50%; 0: 80, but all of a virtual device of given size
  bool solveMemory = true;   ///< E0320 says which constants would make the program fit
  std::string defaultDevice = "cpu";
  std::optional<int> virtualCuda;      ///< --virtual cuda=N, in place of GPUs; none: those of this machine
  uint64_t virtualBytes = 0;           ///< capacity of each virtual device; 0: as the host's
  std::string virtualOrder = "async";  ///< of the work of virtual devices: async, sync, lazy
  int threads = 0;                     ///< 0: as many as the process may use
  bool interpret = false;              ///< --engine=interp, oracle
  bool oracle = false;                 ///< --engine=oracle: the program runs as it was lowered
  bool fuse = true;
  bool readAhead = true;
  std::string fp = "strict";
  std::string fileRoot;                          ///< --sandbox-dir, as a real path; empty: files may be anywhere
  std::optional<codegen::cpu::Level> codeLevel;  ///< --code; none: by each kernel's expected work
  std::string targetCpu;                         ///< --target-cpu; empty: this machine's
  std::string cudaArchitecture;                  ///< --target cuda:sm_90; empty: as the GPUs of this machine are
  bool compileOnly = false;                      ///< nothing runs: with --target no GPU need be here
  std::string transfers = "warn";                ///< allow, warn, deny
  bool timeLines = false;                        ///< runs of programs for the host alone are timed by line
  bool trapNan = false;                          ///< --trap nan
  std::string debugPass;
  bool verify = verifiesByDefault();  ///< holds every pass and program to what it promises
  bool cache = true;                  ///< keep compiled code on disk
  std::string cacheDir;               ///< where; empty: TENC_CACHE_DIR, else the user's cache folder
  bool tests = false;
  bool benches = false;
  bool checkUncalled = false;
  double benchSeconds = 1.0;
  std::vector<std::string> importPaths;
  bool session = false;                        ///< REPL: names and the last value are results of `main`
  std::vector<frontend::SessionValue> values;  ///< REPL: names that an entry finds bound
  frontend::KeptStatements kept;               ///< REPL: as of frontend::Options
  std::string provokeError;  ///< --provoke error=STAGE: the stage fails as if tenc were wrong; llvm, nvrtc: its code is
  std::string provokeSignal;  ///< --provoke signal=STAGE: the process crashes there

  /// Those with which a variant of the script is tried: nothing is printed, proposed or provoked.
  SessionOptions ofTrial() const {
    SessionOptions o = *this;
    o.solveMemory = false;
    o.transfers = "allow";
    o.debugPass.clear();
    o.provokeError.clear();
    o.provokeSignal.clear();
    return o;
  }
};

/// Wall time of each stage, in the order in which they ran.
class Timings {
 public:
  struct Entry {
    std::string stage;
    double ms;
    int64_t begin;  ///< ns of the steady clock
  };
  class Scope {
   public:
    Scope(Timings& owner, std::string_view stage) : owner_(owner), stage_(stage), start_(Clock::now()) {
      const size_t n = std::min(stage.size(), sizeof owner.current_ - 1);
      std::copy_n(stage.begin(), n, owner.current_);
      owner.current_[n] = 0;
    }
    ~Scope() {
      owner_.current_[0] = 0;
      owner_.entries_.push_back({stage_, std::chrono::duration<double, std::milli>(Clock::now() - start_).count(),
                                 std::chrono::nanoseconds(start_.time_since_epoch()).count()});
    }
    Scope(const Scope&) = delete;

   private:
    using Clock = std::chrono::steady_clock;
    Timings& owner_;
    std::string stage_;
    Clock::time_point start_;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  void clear() { entries_.clear(); }
  /// The stage that runs, or "". For signal handlers.
  const char* current() const { return current_; }

 private:
  std::vector<Entry> entries_;
  char current_[32] = "";
};

/// How a run ended, as the tool's exit status.
enum class Outcome : uint8_t { Ok = 0, CompileError = 1, Usage = 2, Stopped = 3, Internal = 70, Interrupted = 130 };

/// A program ready to run, with the module that it was made from.
struct Executable {
  std::unique_ptr<ir::Module> module;
  codegen::Compiled compiled;
};

class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();

  SourceManager& sources() { return sources_; }
  Diagnostics& diags() { return diags_; }
  /// The source that was lowered last.
  std::optional<uint32_t> script() const { return script_; }
  Timings& timings() { return timings_; }
  /// What programs have copied between devices so far.
  struct Copied {
    uint64_t copies = 0, bytes = 0;
  };
  const Copied& copied() const { return copied_; }
  /// How kernels reached devices so far, by device; nothing of those that do not tell.
  const std::map<std::string, rt::LaunchCounts>& launches() const { return launches_; }
  /// The steps of the runs so far, under `--trace`, with the lines that they come from.
  rt::CallTrace& trace() { return trace_; }
  /// What lines of compiled scripts took so far, under SessionOptions::timeLines.
  const std::map<std::string, double>& lineSeconds() const { return lineSeconds_; }
  const SessionOptions& options() const { return options_; }
  SessionOptions& options() { return options_; }
  const std::optional<InternalError>& internalError() const { return internal_; }
  void clearInternalError() { internal_.reset(); }
  void setInternalError(InternalError error) { internal_ = std::move(error); }

  /// Reads a source file; "-" is standard input. Reports E0501, E0104 or E0105 and returns nothing when it cannot.
  std::optional<uint32_t> addFile(const std::string& path);
  /// Adds a text that is checked as a file's is.
  std::optional<uint32_t> addText(std::string name, std::string text);

  std::unique_ptr<ast::File> parse(uint32_t file);
  frontend::Lowered lower(const ast::File& file) { return lower(file, frontendOptions()); }
  frontend::Lowered lower(const ast::File& file, const frontend::Options& options);
  /// What this session tells the frontend; the REPL adds the values that it keeps.
  frontend::Options frontendOptions();
  /// Reads a module in its text form.
  std::unique_ptr<ir::Module> parseModule(uint32_t file);
  /// Placement with its checks.
  bool place(ir::Module& m);
  /// From a placed module to the moves that will take place; reports those of many bytes in loops (W0301), or every
  /// implicit one under `--transfers=deny`.
  bool settleMoves(ir::Module& m);
  /// The reports of `settleMoves` for a module that goes to the interpreter as it is.
  bool checkMoves(const ir::Module& m);
  /// Reports loops on few of very many threads (W0302), as `compile` does, of a module whose moves are settled;
  /// optimises it.
  void checkLoops(ir::Module& m);
  /// From settled moves to fused IR.
  bool optimise(ir::Module& m);
  bool runPasses(ir::Module& m, const std::vector<std::string_view>& names) { return runPasses(m, names, false); }
  /// Code for `main` of an optimised module; reports E0320, and W0302. `codeToo` false plans memory only.
  std::optional<codegen::Compiled> compile(const ir::Module& m, bool codeToo = true);
  /// Why `main` of a module has no code in the form that it is in ("`to` was not lowered ..."); "" where it has.
  std::string withoutCode(const ir::Module& m);
  /// The memory that `main` of an optimised module needs; nothing after an internal error.
  std::optional<codegen::MemoryPlan> planMemory(const ir::Module& m);
  /// What a program may use of a device.
  uint64_t capacity(const ir::Module& m, const std::string& device);
  /// The same by the actual name of the device.
  uint64_t capacity(const std::string& device);
  /// All from an unplaced module on.
  std::optional<Executable> build(std::unique_ptr<ir::Module> m);

  /// Runs; a stop is reported (E09) at its source.
  Outcome run(const Executable& program, const rt::CallOptions& options = {}, rt::CallResult* result = nullptr) {
    return run(program.compiled.program, &program, options, result);
  }
  Outcome run(const abi::Program& program, const rt::CallOptions& options = {}, rt::CallResult* result = nullptr) {
    return run(program, nullptr, options, result);
  }
  /// E0320 for a run that a device had too little memory for, with what takes most where `made` tells.
  void reportShortage(const rt::CallResult& result, const Executable* made);
  /// Runs `main` of a module in the reference interpreter.
  Outcome interpret(const ir::Module& m, const interp::Options& options = {});

  /// Of all programs so far.
  codegen::CodeCounts kernelCounts() const;

  /// Target code of an optimised module: what = "llvm" or "asm".
  std::string emit(const ir::Module& m, std::string_view what);

  /// Made when first asked for. Real devices are added by the programs that run on them.
  rt::Machine& machine();
  /// Gives the machine the devices of a program; false, with E0304, when one cannot be had.
  bool takeDevices(const abi::Program& program);
  Hardware& hardware() { return hardware_; }
  /// Whether what was compiled follows from which devices there are besides the host, or from what they are called.
  bool dependsOnDevices() const { return asksForDevices_ || hardware_.hasLooked(); }
  /// Where compiled code is kept.
  codegen::CacheOptions cacheOptions();
  /// What code for the host depends on.
  std::string processorIdentity();
  /// Ends what runs in this session, compiled or interpreted.
  rt::CallControl& control() { return control_; }
  /// Of all programs of this session: draws go on from one to the next.
  rt::RandomState& random() { return random_; }

 private:
  /// `isPlaced`: the module is, before and after each of them.
  bool runPasses(ir::Module& m, const std::vector<std::string_view>& names, bool isPlaced);
  static void verify(const abi::Program& program);
  /// --provoke: fails with an internal error, or crashes, when that was asked for of this stage.
  void provoke(std::string_view stage);
  /// What `run` gives; after an internal error, which is kept, the empty value.
  template <class F>
  auto guarded(std::string_view stage, F run) -> decltype(run()) {
    try {
      return run();
    } catch (InternalError& error) {
      if (error.stage.empty()) error.stage = stage;
      internal_ = std::move(error);
      return {};
    }
  }
  /// Lowers again with the branches of `if`s on devices that placement takes, where both cannot be lowered; `lowered`
  /// and the diagnostics stay as they are when calls do not agree on one.
  void decideBranches(const ast::File& file, const frontend::Options& options, const Diagnostics& before,
                      frontend::Lowered& lowered);
  /// Made when first asked for.
  const codegen::TargetTable& targets();
  /// Of `main` of an optimised module, without its code.
  codegen::Compiled program(const ir::Module& m);
  passes::Context context(const ir::Module& m);
  /// Whether its devices have the memory that `main` of an optimised module needs.
  bool fits(const ir::Module& m);
  /// Reports each op that its device has no code for.
  bool hasCode(const ir::Module& m);
  /// Nothing after an internal error. The program has to outlive what is returned.
  std::shared_ptr<const rt::LoadedProgram> load(const abi::Program& program);
  /// `made`: what the program comes from; null where that is not known.
  Outcome run(const abi::Program& program, const Executable* made, const rt::CallOptions& options,
              rt::CallResult* result);
  /// Takes over what is known of the lines of a run; `before`: how many events of the trace are older.
  void noteLines(const Executable& made, const rt::CallProfile& run, size_t before);
  void checkMemory(const ir::Module& m, const codegen::MemoryPlan& plan);

  SessionOptions options_;
  Hardware hardware_{options_};
  bool asksForDevices_ = false;
  std::optional<uint32_t> script_;
  SourceManager sources_;
  Diagnostics diags_;
  Timings timings_;
  Copied copied_;
  std::map<std::string, rt::LaunchCounts> launches_;
  rt::CallTrace trace_;
  std::map<std::string, double> lineSeconds_;
  std::optional<InternalError> internal_;
  std::unique_ptr<rt::Machine> machine_;
  rt::CallControl control_;
  rt::RandomState random_;
  std::unique_ptr<codegen::Target> cpu_, cuda_;
  codegen::TargetTable targets_;
};

/// The whole of a file, at most one byte more than a source may have; `error` says why it cannot be had.
bool readFile(const std::string& path, std::string& text, std::string& error);

}  // namespace tenc::tool
