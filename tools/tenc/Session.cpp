#include "tools/tenc/Session.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/CudaTarget.h"
#include "ir/Ir.h"
#include "passes/CheckPass.h"
#include "runtime/RoutineMemory.h"
#include "runtime/file/ProgramFile.h"
#include "support/Text.h"
#include "tools/tenc/Crash.h"
#include "tools/tenc/Profile.h"
#include "tools/tenc/PromptOutput.h"
#include "tools/tenc/SlowLoops.h"
#include "tools/tenc/Stops.h"
#include "tools/tenc/TransferList.h"

namespace tenc::tool {
namespace {

constexpr std::string_view kTrapNan = "trap-nan";

/// The whole of a file or of standard input, at most one byte more than a source may have.
std::string readAll(std::FILE* file) {
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= kMaxSourceBytes) {
    const size_t n = std::fread(buffer, 1, sizeof buffer, file);
    if (n == 0) break;
    text.append(buffer, n);
  }
  return text;
}

}  // namespace

bool readFile(const std::string& path, std::string& text, std::string& error) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return error = std::strerror(errno), false;
  struct stat status{};
  if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) error = "it is a directory";
  if (error.empty()) text = readAll(file);
  if (error.empty() && std::ferror(file) != 0) error = "reading failed";
  std::fclose(file);
  return error.empty();
}

bool verifiesByDefault() {
#ifndef NDEBUG
  return true;
#else
  const char* chosen = std::getenv("TENC_VERIFY");
  return chosen != nullptr && *chosen != 0;
#endif
}

Session::Session(SessionOptions options) : options_(std::move(options)) {}
Session::~Session() {
  if (machine_) watchMachine(nullptr);
}

rt::Machine& Session::machine() {
  if (!machine_) {
    rt::MachineOptions options;
    options.threads = options_.threads;
    for (int i = 0; hardware_.isVirtual() && i < hardware_.virtualDevices(); ++i)
      options.devices.push_back(hardware_.spec(ir::DeviceTable::numbered("cuda", i)));
    options.files = {options_.fileRoot};
    machine_ = std::make_unique<rt::Machine>(options);
    watchMachine(machine_.get());
  }
  return *machine_;
}

bool Session::takeDevices(const abi::Program& program) {
  std::string why = machine().problem();
  for (size_t i = 1; i < program.devices.size() && why.empty() && !hardware_.isVirtual(); ++i)
    machine().add(hardware_.spec(program.devices[i].name), why);
  if (!why.empty()) diags_.report(Code::E0304, {}, why);
  return why.empty();
}

codegen::CacheOptions Session::cacheOptions() {
  codegen::CacheOptions cache;
  if (!options_.cache) return cache;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  cache.warn = [this](const std::string& what) { diags_.report(Code::W0501, {}, what); };
  if (!options_.cacheDir.empty()) {
    cache.directory = options_.cacheDir;
    cache.chosen = true;
  } else if (const char* chosen = std::getenv("TENC_CACHE_DIR")) {
    cache.directory = chosen;  // an empty one is no cache
    cache.chosen = true;
  } else if (const std::string home = variable("XDG_CACHE_HOME"); home.starts_with('/')) {
    cache.directory = home + "/tenc";
  } else if (const std::string user = variable("HOME"); user.starts_with('/')) {
    cache.directory = user + "/.cache/tenc";
  }
  return cache;
}

/// For tests: what runs on a virtual machine has small products and matrices.
static std::optional<int64_t> numberIn(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view text = value != nullptr ? value : "";
  int64_t least = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), least);
  return status == std::errc() && end == text.data() + text.size() ? std::optional(least) : std::nullopt;
}

const codegen::TargetTable& Session::targets() {
  if (!cpu_) {
    codegen::cpu::CpuOptions options;
    options.malformed = options_.provokeError == "llvm";
    options.target = options_.targetCpu;
    options.contract = options_.fp != "strict";
    options.level = options_.codeLevel;
    options.runThreads = options_.threads > 0 ? options_.threads : rt::processorCount();
    options.compileThreads = rt::processorCount();
    options.cache = cacheOptions();
    cpu_ = codegen::cpu::makeCpuTarget(options);
    targets_.set(ir::DeviceTable::kHost, *cpu_);
    cuda_ = codegen::cuda::makeCudaTarget({[this] { return hardware_.architecture(); }, options.contract,
                                           options_.fp == "fast", numberIn("TENC_CUBLASLT_LEAST"),
                                           numberIn("TENC_CUSOLVER_LEAST"), numberIn("TENC_CHANNELS_LAST_LEAST"),
                                           options.compileThreads, options_.provokeError == "nvrtc", options.cache});
    targets_.set("cuda", hardware_.isVirtual() ? *cpu_ : *cuda_);
  }
  return targets_;
}

std::string Session::processorIdentity() {
  targets();
  return std::string(cpu_->identity());
}

codegen::CodeCounts Session::kernelCounts() const {
  codegen::CodeCounts all;
  for (const codegen::Target* target : {cpu_.get(), cuda_.get()}) {
    const codegen::CodeCounts some = target != nullptr ? target->counts() : codegen::CodeCounts{};
    all.compiled += some.compiled;
    all.kept += some.kept;
  }
  return all;
}

std::optional<uint32_t> Session::addFile(const std::string& path) {
  if (path == "-") {
    std::string script = readAll(stdin);
    if (std::ferror(stdin) == 0) return addText("<stdin>", std::move(script));
    diags_.report(Code::E0501, {}, std::string("cannot read standard input: ") + std::strerror(errno));
    return std::nullopt;
  }
  std::string text, error;
  if (readFile(path, text, error)) return addText(path, std::move(text));
  diags_.report(Code::E0501, {}, "cannot read " + path + ": " + error);
  return std::nullopt;
}

std::optional<uint32_t> Session::addText(std::string name, std::string text) {
  if (text.size() > kMaxSourceBytes) {
    const uint32_t file = sources_.add(std::move(name), "");
    diags_.report(Code::E0105, {file, 0, 0}, "the source is larger than " + formatBytes(kMaxSourceBytes));
    return std::nullopt;
  }
  const size_t bad = findInvalidUtf8(text);
  const uint32_t file = sources_.add(std::move(name), std::move(text));
  if (bad != std::string::npos) {
    const auto at = static_cast<uint32_t>(bad);
    diags_.report(Code::E0104, {file, at, at + 1}, "the text is not UTF-8").label("this byte");
    return std::nullopt;
  }
  return file;
}

std::unique_ptr<ast::File> Session::parse(uint32_t file) {
  const Timings::Scope scope(timings_, "parse");
  return syntax::parse(sources_, file, diags_);
}

frontend::Options Session::frontendOptions() {
  frontend::Options o;
  o.params = options_.params;
  o.devices = options_.devices;
  o.defaultDevice = options_.defaultDevice;
  o.machine = hardware_.table();
  o.deviceName = [this](std::string_view device) {
    asksForDevices_ = true;
    return hardware_.name(device);
  };
  o.deviceMemory = [this](std::string_view device) {
    asksForDevices_ = true;
    return static_cast<int64_t>(hardware_.memory(device));
  };
  o.fileRoot = options_.fileRoot;
  o.tests = options_.tests;
  o.benches = options_.benches;
  o.checkUncalled = options_.checkUncalled;
  o.importPaths = options_.importPaths;
  o.oracle = options_.oracle;
  o.session = options_.session;
  o.values = options_.values;
  o.kept = options_.kept;
  return o;
}

frontend::Lowered Session::lower(const ast::File& file, const frontend::Options& options) {
  const Timings::Scope scope(timings_, "lower");
  script_ = file.source;
  const Diagnostics before = diags_;
  return guarded("lower", [&] {
    provoke("lower");
    frontend::Lowered lowered = frontend::lower(file, sources_, diags_, options);
    if (!lowered.undecided.empty()) {
      asksForDevices_ = true;  // what the branches that are not taken have read is forgotten
      decideBranches(file, options, before, lowered);
    }
    if (!diags_.ok()) return lowered;
    if (!lowered.module) throw InternalError("no module and no diagnostic");
    return lowered;
  });
}

std::unique_ptr<ir::Module> Session::parseModule(uint32_t file) {
  const Timings::Scope scope(timings_, "parse");
  std::unique_ptr<ir::Module> m = ir::parse(sources_, file, diags_);
  if (!diags_.ok()) return nullptr;
  if (const std::string wrong = ir::verify(*m); !wrong.empty()) {
    diags_.report(Code::E0101, {file, 0, 0}, "the module is not well-formed: " + wrong);
    return nullptr;
  }
  return m;
}

passes::Context Session::context(const ir::Module& m) {
  passes::Context c;
  c.capacity = [this, &m](const std::string& device) { return capacity(m, device); };
  c.diags = &diags_;
  c.sources = &sources_;
  c.machine = hardware_.table();
  c.traits = targets().traits();
  c.debug = options_.debugPass;
  c.fuse = options_.fuse;
  c.readAhead = options_.readAhead;
  c.fp = options_.fp;
  return c;
}

void Session::provoke(std::string_view stage) {
  if (stage == options_.provokeSignal) std::raise(SIGSEGV);
  if (stage == options_.provokeError) throw InternalError("provoked by --provoke");
}

bool Session::runPasses(ir::Module& m, const std::vector<std::string_view>& names, bool isPlaced) {
  passes::Context c = context(m);
  for (const std::string_view name : names) {
    std::optional<passes::PassCheck> promises;
    if (options_.verify) promises.emplace(m);
    const Timings::Scope scope(timings_, name);
    const bool done = guarded(name, [&] {
      provoke(name);
      if (passes::runPasses(m, c, {name})) {
        if (promises) promises->check(m, name, c, isPlaced);
        return true;
      }
      if (diags_.ok()) {  // what an earlier pass has reported already is reported once
        const std::string wrong = ir::verify(m);
        throw InternalError("it failed without a diagnostic" + (wrong.empty() ? wrong : ": " + wrong));
      }
      return false;
    });
    if (!done) return false;
  }
  return true;
}

bool Session::place(ir::Module& m) { return runPasses(m, passes::placementPipeline()); }

bool Session::settleMoves(ir::Module& m) {
  std::vector<std::string_view> names = passes::movesPipeline();
  if (options_.trapNan) names.insert(std::find(names.begin(), names.end(), "moves"), kTrapNan);
  if (!runPasses(m, names, true)) return false;
  checkTransfers(m, options_.transfers, diags_);
  return diags_.ok();
}

bool Session::checkMoves(const ir::Module& m) { return settleMoves(*ir::clone(m)); }

namespace {

bool readsAhead(const ir::Region& r) {
  return std::any_of(r.ops.begin(), r.ops.end(), [](const auto& op) {
    return op->kind == ir::OpKind::ReadAhead ||
           std::any_of(op->regions.begin(), op->regions.end(), [](const auto& inner) { return readsAhead(*inner); });
  });
}

}  // namespace

bool Session::optimise(ir::Module& m) {
  if (!runPasses(m, passes::optimisationPipeline(), true) || !hasCode(m)) return false;
  if (!m.main()) return true;
  const ir::Region& body = *m.main()->body;
  if (readsAhead(body) && !fits(m) && !runPasses(m, {"load-in-time", "dce"}, true)) return false;
  return !passes::copiesAhead(body) || fits(m) || runPasses(m, {"copy-in-time"}, true);
}

bool Session::hasCode(const ir::Module& m) {
  if (!m.main()) return true;
  for (const ir::Op* op : codegen::opsWithoutCode(m, *m.main(), targets())) {
    const std::string device(codegen::deviceOf(m, *op));
    diags_
        .report(Code::E0190, m.span(op->loc),
                "`" + std::string(op->info().mnemonic) + "` on " + device + " is not supported yet")
        .note("move its argument with `.to(cpu)`, and the result back");
  }
  return diags_.ok();
}

bool Session::fits(const ir::Module& m) {
  const auto plan = planMemory(m);
  return plan && std::all_of(plan->devices.begin(), plan->devices.end(),
                             [&](const auto& device) { return device.peak <= capacity(m, device.name); });
}

std::optional<codegen::Compiled> Session::compile(const ir::Module& m, bool codeToo) {
  const Timings::Scope scope(timings_, codeToo ? "codegen" : "plan");
  return guarded("codegen", [&]() -> std::optional<codegen::Compiled> {
    provoke("codegen");
    codegen::Compiled compiled = program(m);
    checkMemory(m, compiled.memory);
    if (!diags_.ok()) return std::nullopt;
    warnOfSlowLoops(m, compiled.kernels, sources_, diags_);
    if (codeToo) codegen::compileKernels(compiled);
    if (const std::string_view why = cuda_->cannotCompile(); !why.empty()) {
      diags_.report(Code::E0304, {}, "no code can be made for " + hardware_.architecture() + ": " + std::string(why))
          .help("`tenc devices` shows what is found on this machine");
      return std::nullopt;
    }
    if (!compiled.error.empty()) throw InternalError(compiled.error);
    if (options_.verify && codeToo) verify(compiled.program);
    return compiled;
  });
}

void Session::checkLoops(ir::Module& m) {
  // What there is no code for is not what is asked about.
  if (!runPasses(m, passes::optimisationPipeline()) || !codegen::opsWithoutCode(m, *m.main(), targets()).empty())
    return;
  guarded("codegen", [&] {
    warnOfSlowLoops(m, program(m).kernels, sources_, diags_);
    return true;
  });
}

void Session::verify(const abi::Program& program) {
  if (const std::string problem = rt::problemOf(program); !problem.empty())
    throw InternalError("the program is not well-formed: " + problem);
}

codegen::Compiled Session::program(const ir::Module& m) {
  codegen::Compiled compiled = codegen::lowerToProgram(m, *m.main(), sources_, targets());
  if (!compiled.error.empty()) throw InternalError(compiled.error);
  const int threads = options_.threads > 0 ? options_.threads : rt::processorCount();
  codegen::MemoryPlan::Device& host = compiled.memory.devices[0];
  host.routines = rt::routineMemory(compiled.program, threads);
  host.peak += host.routines;
  return compiled;
}

std::string Session::withoutCode(const ir::Module& m) {
  return codegen::lowerToProgram(m, *m.main(), sources_, targets()).error;
}

std::optional<codegen::MemoryPlan> Session::planMemory(const ir::Module& m) {
  return guarded("plan", [&] { return std::optional(std::move(program(m).memory)); });
}

std::optional<Executable> Session::build(std::unique_ptr<ir::Module> m) {
  if (!place(*m) || !settleMoves(*m) || !optimise(*m)) return std::nullopt;
  std::optional<codegen::Compiled> compiled = compile(*m);
  if (!compiled) return std::nullopt;
  return Executable{std::move(m), std::move(*compiled)};
}

std::string Session::emit(const ir::Module& m, std::string_view what) {
  return guarded("codegen", [&] {
    const codegen::Compiled compiled = program(m);
    warnOfSlowLoops(m, compiled.kernels, sources_, diags_);
    return codegen::emit(compiled, what, m, sources_);
  });
}

std::shared_ptr<const rt::LoadedProgram> Session::load(const abi::Program& program) {
  const Timings::Scope scope(timings_, "load");
  std::string error;
  // The caller's program lives longer.
  auto loaded = rt::LoadedProgram::load({std::shared_ptr<void>(), &program}, error);
  if (!loaded) internal_ = {"load", error, ""};
  return loaded;
}

Outcome Session::run(const abi::Program& program, const Executable* made, const rt::CallOptions& options,
                     rt::CallResult* result) {
  const auto loaded = load(program);
  if (!loaded) return Outcome::Internal;
  const Timings::Scope scope(timings_, "run");
  rt::CallOptions own = options;
  own.control = &control_;
  own.random = &random_;
  PromptOutput output;
  if (!own.print) own.print = [&output](std::string_view text) { output.write(text); };
  const uint64_t memory = capacity(std::string(ir::DeviceTable::kHost));
  if (program.fileBytes > 0 && program.fileBytes + program.devices[0].arenaBytes > memory) own.memory = memory;
  if (!takeDevices(program)) return Outcome::CompileError;
  rt::CallProfile lines;
  // Devices would be waited for at each step.
  if (options_.timeLines && made != nullptr && program.devices.size() == 1 && own.profile == nullptr)
    own.profile = &lines;
  const size_t events = trace_.events.size();
  rt::CallResult r = rt::Instance::create(loaded, machine())->call(own);
  if (made != nullptr) noteLines(*made, lines, events);
  copied_.copies += r.copies;
  copied_.bytes += r.copiedBytes;
  for (const auto& [device, counts] : r.launches) {
    rt::LaunchCounts& all = launches_[device];
    all.single += counts.single;
    all.graphs += counts.graphs;
    all.inGraphs += counts.inGraphs;
  }
  Outcome outcome = Outcome::Ok;
  switch (r.end) {
    case rt::CallResult::End::Done: break;
    case rt::CallResult::End::Interrupted: outcome = Outcome::Interrupted; break;
    case rt::CallResult::End::OutOfMemory:
      reportShortage(r, made);
      outcome = Outcome::CompileError;
      break;
    case rt::CallResult::End::NoDevice:
      diags_.report(Code::E0304, {}, r.text);
      outcome = Outcome::CompileError;
      break;
    case rt::CallResult::End::Refused:
    case rt::CallResult::End::Bug:
      internal_ = {"run", r.text, ""};
      outcome = Outcome::Internal;
      break;
    case rt::CallResult::End::Stopped:
      reportStop(program, r, sources_, diags_);
      outcome = Outcome::Stopped;
      break;
  }
  if (result) *result = std::move(r);
  return outcome;
}

void Session::noteLines(const Executable& made, const rt::CallProfile& run, size_t before) {
  const auto& ops = made.compiled.opOf;
  std::unordered_map<const abi::Step*, std::string> known;
  for (size_t i = before; i < trace_.events.size(); ++i) {
    rt::TraceEvent& e = trace_.events[i];
    const auto op = ops.find(e.step);
    if (op == ops.end()) continue;
    const auto [at, isNew] = known.try_emplace(e.step);
    if (isNew) at->second = linesOf(*made.module, *op->second, sources_);
    e.source = at->second;
  }
  for (const LineProfile& l : profileOf(*made.module, made.compiled, run, sources_, {}, false).lines)
    lineSeconds_[placeText(l, sources_)] += l.seconds;
}

Outcome Session::interpret(const ir::Module& m, const interp::Options& options) {
  const Timings::Scope scope(timings_, "interpret");
  interp::Options confined = options;
  confined.fileRoot = options_.fileRoot;
  PromptOutput output;
  if (!confined.print) confined.print = [&output](std::string_view text) { output.write(text); };
  std::unique_ptr<ir::Module> checked;
  if (options_.trapNan) {
    checked = ir::clone(m);
    if (!runPasses(*checked, {kTrapNan})) return Outcome::Internal;
  }
  const ir::Module& runs = checked ? *checked : m;
  const interp::Result r = interp::run(runs, *runs.main(), confined);
  if (r.ok()) return Outcome::Ok;
  if (options.interrupted != nullptr && options.interrupted->load()) return Outcome::Interrupted;
  StopPlace place{m.span(r.stop->loc), {}};
  for (const auto& [call, callee] : r.stop->callers) place.calls.emplace_back(m.span(call), callee);
  reportAt(r.stop->code, r.stop->message, std::move(place), sources_, diags_);
  return info(r.stop->code).name.starts_with("E09") ? Outcome::Stopped : Outcome::CompileError;
}

}  // namespace tenc::tool
