// tenc-mutate: broken variants of the repository's own programs, modules, data files and compiled programs. None may
// crash the compiler, find it in an internal error, or keep it busy for more than some seconds.
//
//   tenc-mutate --root REPOSITORY [--kind tl|tir|npy|npz|safetensors|csv|png|tlp] [--count N] [--first SEED]
//               [--workers N] [--limit SECONDS] [--keep FOLDER] [--check FILE...]
//
// A seed makes the same input every time. What fails is written to the folder `--keep`; `--check` runs given files as
// they are. A kind of data file is a row of kKinds and some small good files in tests/fuzz/corpus.
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "ir/Ir.h"
#include "runtime/file/ProgramFile.h"
#include "syntax/Ast.h"
#include "tests/fuzz/Containers.h"
#include "tests/fuzz/Mutator.h"
#include "tests/fuzz/Programs.h"
#include "tools/tenc/Saved.h"
#include "tools/tenc/Session.h"

namespace {

using namespace tenc;
namespace fs = std::filesystem;

constexpr uint64_t kMemory = uint64_t{256} << 20;
constexpr int kRunMilliseconds = 100;
constexpr int kHangStatus = 99;
constexpr size_t kMostRendered = size_t{4} << 20;
constexpr size_t kLargestSeedInput = 64 << 10;

/// Compiled programs, made of those in tests/run. Only where they are asked for: compiling them takes some seconds.
constexpr char kCompiled[] = "tlp";

struct Kind {
  const char* name;
  bool text;
  int share;                              ///< of 20 inputs when no kind is chosen
  std::vector<const char*> scripts = {};  ///< programs that read the file `in.NAME`; none: it is a program itself
};

const Kind kKinds[] = {
    {"tl", true, 10},
    {"tir", true, 3},
    {"npy",
     false,
     2,
     {"let x = load(\"in.npy\")\nprint(x)", "let x: f32[A, B] = load(\"in.npy\")\nprint(x.shape, sum(x))",
      "let x: i64[A] = load(\"in.npy\")\nprint(sum(x))", "@cuda:0 let x: f64[...] = load(\"in.npy\")\nprint(x)"}},
    {"csv",
     false,
     1,
     {"let x = load_csv(\"in.csv\")\nprint(x)", "let x: f64[A, B] = load_csv(\"in.csv\")\nprint(x)",
      "let x: i32[A, B] = load_csv(\"in.csv\")\nprint(x)", "let x: u8[A, B] = load_csv(\"in.csv\")\nprint(x)"}},
    {"npz",
     false,
     2,
     {"print(load(\"in.npz\"))", "let x: i64[N] = load(\"in.npz\", name: \"b\")\nprint(x)",
      "let x = load(\"in.npz\", name: \"a\")\nprint(sum(x))",
      "struct M[N, A, B] { a: f32[A, B], b: i64[N] }\nlet m: M[4, 2, 3] = load(\"in.npz\")\nprint(m)"}},
    {"safetensors",
     false,
     2,
     {"print(load(\"in.safetensors\"))", "let x: i64[N] = load(\"in.safetensors\", name: \"b\")\nprint(x)",
      "let x = load(\"in.safetensors\", name: \"a\")\nprint(sum(x))",
      "struct M[N, A, B] { a: f32[A, B], b: i64[N] }\nlet m: M[4, 2, 3] = load(\"in.safetensors\")\nprint(m)"}},
    {"png",
     false,
     1,
     {"print(load(\"in.png\"))", "let x: u8[H, W] = load(\"in.png\")\nprint(sum(x))",
      "let x: u8[H, W, C] = load(\"in.png\")\nsave(\"out.png\", x)"}},
    {kCompiled, false, 0},
};

struct Arguments {
  std::string root, kind, keep;
  std::vector<std::string> check;
  uint64_t count = 5000, first = 0;
  int workers = 0, limit = 5;
};

// ---- one input

std::atomic<rt::CallControl*> running{nullptr};

void onAlarm(int) {
  if (rt::CallControl* control = running.load()) control->interrupt();
}

void onTimeUsed(int) { _exit(kHangStatus); }

void setTimer(int which, int64_t milliseconds) {
  itimerval t{};
  t.it_value.tv_sec = milliseconds / 1000;
  t.it_value.tv_usec = milliseconds % 1000 * 1000;
  setitimer(which, &t, nullptr);
}

/// Calls run(options) and interrupts it after a while.
template <typename Run>
void runFor(tool::Session& session, int milliseconds, Run run) {
  session.control().reset();
  running = &session.control();
  setTimer(ITIMER_REAL, milliseconds);
  rt::CallOptions options;
  options.print = [](std::string_view) {};
  options.benchRounds = 1;
  run(options);
  setTimer(ITIMER_REAL, 0);
  running = nullptr;
}

struct Outcome {
  std::string wrong;      ///< what is wrong with tenc, or ""
  bool accepted = false;  ///< compiled without an error
};

/// Compiles as `tenc` does and runs for a moment.
Outcome compileAndRun(const std::string& text, bool module, fuzz::Mutator& choose) {
  tool::SessionOptions options;
  options.threads = 1;
  options.memory["cpu"] = kMemory;
  options.virtualCuda = 2;
  options.virtualBytes = kMemory;
  options.checkUncalled = choose.chance(0.3);
  options.tests = choose.chance(0.3);
  options.benches = choose.chance(0.2);
  options.fuse = choose.chance(0.8);
  const bool code = choose.chance(0.5);
  tool::Session session(options);
  bool accepted = false;
  const auto body = [&] {
    const auto file = session.addText(module ? "input.tir" : "input.tl", text);
    if (!file) return;
    std::unique_ptr<ir::Module> m;
    if (module) {
      m = session.parseModule(*file);
    } else {
      const std::unique_ptr<ast::File> tree = session.parse(*file);
      if (!tree) return;
      ast::print(*tree);
      m = session.lower(*tree).module;
      if (m && !session.diags().ok()) session.place(*m);
    }
    if (!m || !m->main() || !session.diags().ok()) return;
    if (!session.place(*m) || !session.settleMoves(*m) || !session.optimise(*m)) return;
    auto compiled = session.compile(*m, code);
    // A mutated path could lead out of the working directory.
    const bool writes = text.find("save") != std::string::npos && text.find('/') != std::string::npos;
    accepted = compiled.has_value();
    if (!compiled || !code || writes || !m->main()->body->args.empty()) return;
    const tool::Executable program{std::move(m), std::move(*compiled)};
    runFor(session, kRunMilliseconds, [&](const rt::CallOptions& run) { session.run(program, run); });
  };
  body();
  if (session.internalError())
    return {"internal error in `" + session.internalError()->stage + "`: " + session.internalError()->message};
  RenderOptions render;
  render.colour = choose.chance(0.2);
  const std::string shown = tenc::render(session.diags(), session.sources(), render);
  static_cast<void>(renderJson(session.diags(), session.sources()));  // must not crash
  if (shown.size() > kMostRendered) return {"a flood of diagnostics: " + std::to_string(shown.size()) + " bytes"};
  return {{}, accepted};
}

/// Reads a compiled program as `tenc` does and runs it for a moment. Each must run or be refused with a code.
Outcome readAndRun(const std::string& path, fuzz::Mutator& choose) {
  tool::SessionOptions options;
  options.threads = 2;
  options.memory["cpu"] = options.memory["cuda:0"] = options.memory["cuda:1"] = kMemory;
  options.virtualCuda = 2;
  constexpr const char* kOrders[] = {"async", "sync", "lazy"};
  options.virtualOrder = kOrders[choose.below(std::size(kOrders))];
  options.fileRoot = fs::canonical(".");
  tool::Session session(options);
  const auto program = tool::readSavedProgram(session, path);
  tool::Outcome end = tool::Outcome::CompileError;
  if (program) {
    runFor(session, kRunMilliseconds,
           [&](const rt::CallOptions& run) { end = tool::runSavedProgram(session, path, *program, run); });
  }
  const std::string shown = tenc::render(session.diags(), session.sources());
  renderJson(session.diags(), session.sources());
  if (session.internalError()) return {"internal error: " + session.internalError()->message};
  const bool failed = end == tool::Outcome::CompileError || end == tool::Outcome::Stopped;
  if (failed && shown.find("error[E") == std::string::npos) return {"it ends without saying why"};
  return {{}, program != nullptr};
}

void writeFile(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Outcome runInput(const Kind& kind, const std::string& input, uint64_t seed) {
  static const fuzz::Corpus kNone;
  fuzz::Mutator choose(kNone, seed ^ 0x9e3779b97f4a7c15u);
  if (kind.name == std::string_view(kCompiled)) {
    writeFile("in.tlp", input);
    return readAndRun("in.tlp", choose);
  }
  if (kind.scripts.empty()) return compileAndRun(input, kind.name == std::string_view("tir"), choose);
  writeFile(std::string("in.") + kind.name, input);
  return compileAndRun(kind.scripts[choose.below(kind.scripts.size())], false, choose);
}

// ---- inputs

std::string readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The TL examples of a page.
void addExamples(const std::string& page, fuzz::Corpus& corpus) {
  for (size_t at = 0; (at = page.find("```tl", at)) != std::string::npos;) {
    const size_t from = page.find('\n', at), to = page.find("```", at + 3);
    if (from == std::string::npos || to == std::string::npos || from > to) return;
    corpus.add(page.substr(from + 1, to - from - 1), true);
    at = to + 3;
  }
}

/// Programs of tests/run, compiled as quickly as can be.
fuzz::Corpus compiledPrograms(const std::string& root) {
  constexpr size_t kMost = 24;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "tests" / "run"))
    if (entry.path().extension() == ".tl") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  fuzz::Corpus corpus;
  for (size_t i = 0; i < paths.size(); i += paths.size() / kMost + 1) {
    tool::SessionOptions options;
    options.virtualCuda = 2;
    options.codeLevel = codegen::cpu::Level::Quick;
    tool::Session session(options);
    const auto file = session.addText(paths[i].filename(), readFile(paths[i]));
    const auto tree = file ? session.parse(*file) : nullptr;
    if (!tree) continue;
    auto module = session.lower(*tree).module;
    if (!module || !module->main() || !session.diags().ok() || !module->main()->body->args.empty()) continue;
    if (const auto built = session.build(std::move(module)))
      corpus.add(rt::writeProgram(built->compiled.program), false);
  }
  return corpus;
}

std::map<std::string, fuzz::Corpus> readCorpora(const std::string& root) {
  std::vector<fs::path> paths;
  for (const char* folder : {"tests", "examples", "std", "docs"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder))
      if (entry.is_regular_file() && entry.file_size() <= kLargestSeedInput) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::map<std::string, fuzz::Corpus> corpora;
  for (const fs::path& path : paths) {
    const std::string ending = path.extension().string();
    if (ending == ".md") addExamples(readFile(path), corpora["tl"]);
    for (const Kind& kind : kKinds)
      if (ending == std::string(".") + kind.name) corpora[kind.name].add(readFile(path), kind.text);
  }
  // Words for the headers of binary files.
  for (const Kind& kind : kKinds)
    if (!kind.text)
      corpora[kind.name].words = {"0",
                                  "1",
                                  "-1",
                                  "(",
                                  ")",
                                  ",",
                                  "'",
                                  "{",
                                  "}",
                                  "True",
                                  "<f4",
                                  ">i8",
                                  "|b1",
                                  "shape",
                                  "descr",
                                  "[",
                                  "]",
                                  ":",
                                  "1e400",
                                  "nan",
                                  "99999999999999999999",
                                  "4611686018427387904"};
  return corpora;
}

const Kind& kindOf(const std::string& name) {
  for (const Kind& k : kKinds)
    if (k.name == name) return k;
  std::fprintf(stderr, "tenc-mutate: no kind `%s`\n", name.c_str());
  std::exit(2);
}

struct Input {
  const Kind* kind;
  std::string data;
};

Input makeInput(const Arguments& a, const std::map<std::string, fuzz::Corpus>& corpora, uint64_t seed) {
  const Kind* kind = nullptr;
  if (!a.kind.empty()) {
    kind = &kindOf(a.kind);
  } else {
    auto slot = static_cast<int>(seed % 20);
    for (const Kind& k : kKinds) {
      kind = &k;
      if ((slot -= k.share) < 0) break;
    }
  }
  fuzz::Mutator mutator(corpora.at(kind->name), seed * 0x2545f4914f6cdd1du + 1);
  if (kind->name == std::string_view(kCompiled)) {
    const auto& files = corpora.at(kind->name).inputs;
    return {kind, fuzz::changedProgram(files[mutator.below(files.size())], mutator)};
  }
  Input input{kind, kind->text ? mutator.text() : mutator.bytes()};
  if (!kind->text && mutator.chance(0.7)) fuzz::mend(kind->name, input.data, mutator);
  return input;
}

// ---- workers

struct Shared {
  std::atomic<uint64_t> seed, done, failures, accepted;
  std::atomic<int64_t> startedMs;
};

int64_t nowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void reportFailure(const Arguments& a, const Input& input, const std::string& what, uint64_t seed) {
  std::printf("%s seed %llu: %s\n", input.kind->name, static_cast<unsigned long long>(seed), what.c_str());
  std::fflush(stdout);
  if (a.keep.empty()) return;
  fs::create_directories(a.keep);
  writeFile(a.keep + "/seed" + std::to_string(seed) + "." + input.kind->name, input.data);
}

[[noreturn]] void work(const Arguments& a, const std::map<std::string, fuzz::Corpus>& corpora, Shared& shared,
                       uint64_t from, const std::string& folder) {
  fs::current_path(folder);
  std::signal(SIGALRM, onAlarm);
  std::signal(SIGPROF, onTimeUsed);
#if !__has_feature(address_sanitizer)
  const rlimit memory{uint64_t{6} << 30, uint64_t{6} << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit none{0, 0}, fileSize{kMemory, kMemory};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &fileSize);
  for (uint64_t seed = from; seed < a.first + a.count; seed += static_cast<uint64_t>(a.workers)) {
    const Input input = makeInput(a, corpora, seed);
    shared.seed = seed;
    shared.startedMs = nowMs();
    setTimer(ITIMER_PROF, int64_t{1000} * a.limit);
    const Outcome outcome = runInput(*input.kind, input.data, seed);
    setTimer(ITIMER_PROF, 0);
    shared.done++;
    if (outcome.accepted) shared.accepted++;
    if (outcome.wrong.empty()) continue;
    shared.failures++;
    reportFailure(a, input, outcome.wrong, seed);
  }
  std::fflush(stdout);
  _exit(0);
}

std::string ending(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kHangStatus) return "hangs";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return "hangs, waiting";
  if (WIFSIGNALED(status)) return std::string("crashes: ") + strsignal(WTERMSIG(status));
  return "ends the process with status " + std::to_string(WEXITSTATUS(status));
}

int runAll(const Arguments& a) {
  auto corpora = readCorpora(a.root);
  if (a.kind == kCompiled) corpora[a.kind] = compiledPrograms(a.root);
  const std::string scratch = (fs::temp_directory_path() / "tenc-mutate-XXXXXX").string();
  std::string folder = scratch;
  if (!mkdtemp(folder.data())) return 2;
  const auto workers = static_cast<size_t>(a.workers);
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared) * workers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> pids(workers, -1);
  const auto start = [&](size_t w, uint64_t from) {
    const std::string own = folder + "/" + std::to_string(w);
    fs::create_directories(own);
    shared[w].startedMs = nowMs();
    pids[w] = fork();
    if (pids[w] == 0) work(a, corpora, shared[w], from, own);
  };
  for (size_t w = 0; w < workers; ++w) {
    shared[w].seed = a.first + w;
    start(w, a.first + w);
  }
  for (size_t left = workers; left > 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (size_t w = 0; w < workers; ++w) {
      if (pids[w] < 0) continue;
      int status = 0;
      // Waiting uses no processor time; a loaded machine makes everything slower.
      if (nowMs() - shared[w].startedMs > int64_t{1000} * (20 * a.limit)) kill(pids[w], SIGKILL);
      if (waitpid(pids[w], &status, WNOHANG) <= 0) continue;
      pids[w] = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        --left;
        continue;
      }
      const uint64_t seed = shared[w].seed;
      shared[w].failures++;
      reportFailure(a, makeInput(a, corpora, seed), ending(status), seed);
      shared[w].done++;
      start(w, seed + workers);
    }
  }
  uint64_t failures = 0, done = 0, accepted = 0;
  for (size_t w = 0; w < workers; ++w) {
    failures += shared[w].failures;
    done += shared[w].done;
    accepted += shared[w].accepted;
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  std::printf("%llu inputs, %llu of them compiled, %llu failed\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(accepted), static_cast<unsigned long long>(failures));
  return failures == 0 && done == a.count ? 0 : 1;
}

int checkFiles(const Arguments& a) {
  std::signal(SIGALRM, onAlarm);
  int failed = 0;
  for (const std::string& path : a.check) {
    const std::string ending = fs::path(path).extension().string();
    const Kind& kind = kindOf(ending.empty() ? "" : ending.substr(1));
    const std::string data = readFile(path);
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const auto begin = nowMs();
      const std::string wrong = runInput(kind, data, seed).wrong;
      if (!wrong.empty() || nowMs() - begin > int64_t{1000} * a.limit) {
        std::printf("%s: %s\n", path.c_str(), wrong.empty() ? "too slow" : wrong.c_str());
        ++failed;
        break;
      }
    }
  }
  std::printf("%zu files, %d failed\n", a.check.size(), failed);
  return failed > 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  a.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--check") {
      a.check.assign(argv + i + 1, argv + argc);
      break;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "tenc-mutate: %s takes a value\n", word.c_str());
      return 2;
    }
    const char* value = argv[++i];
    if (word == "--root")
      a.root = value;
    else if (word == "--kind")
      a.kind = value;
    else if (word == "--keep")
      a.keep = fs::absolute(value).string();
    else if (word == "--count")
      a.count = std::strtoull(value, nullptr, 10);
    else if (word == "--first")
      a.first = std::strtoull(value, nullptr, 10);
    else if (word == "--workers")
      a.workers = std::max(1, std::atoi(value));
    else if (word == "--limit")
      a.limit = std::max(1, std::atoi(value));
    else {
      std::fprintf(stderr, "tenc-mutate: unknown option %s\n", word.c_str());
      return 2;
    }
  }
  if (!a.kind.empty()) kindOf(a.kind);
  return a.check.empty() ? runAll(a) : checkFiles(a);
}
