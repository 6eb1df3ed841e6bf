// The command `tenc`.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "support/Text.h"
#include "tools/repl/Repl.h"
#include "tools/tenc/Commands.h"
#include "tools/tenc/Crash.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/Saved.h"

/// Read by jemalloc, where it is linked: a compiler touches most of its memory at once, and a huge page is one page
/// fault instead of 512.
extern "C" const char* malloc_conf;
const char* malloc_conf = "thp:always";

namespace {

/// Where the address space is limited. jemalloc makes each thread an arena of its own, and dereferences null where
/// there is no address space left for one: all threads share the one made at the start. jemalloc reads its options at
/// the first allocation, which constructors of libraries may make, hence `.preinit_array`; those that find no memory
/// end as a crash, so that what they need is asked for before.
void prepareForLittleMemory() {
  constexpr size_t kLeast = size_t{24} << 20;
  constexpr std::string_view kNone = "error[E0320]: the system has no more memory for tenc\n";
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  malloc_conf = "thp:always,narenas:1";
  void* const memory = mmap(nullptr, kLeast, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kNone.data(), kNone.size());
    _exit(static_cast<int>(tenc::tool::Outcome::CompileError));
  }
  munmap(memory, kLeast);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kPrepare)() = prepareForLittleMemory;

using namespace tenc::tool;

/// `tenc s.tl --help`
int scriptHelp(Session& session, const CommandLine& line) {
  if (isSavedProgram(line.input)) {
    std::printf("usage: tenc %s [options]\n\nA compiled program: its parameters were set when it was compiled.\n",
                line.input.c_str());
    return 0;
  }
  const auto file = addInput(session, line);
  if (!file) return finish(session, line);
  session.options().params.clear();
  const auto lowered = lowerInput(session, line, *file);
  std::printf("usage: tenc %s [options]\n", line.input.c_str());
  if (!lowered.params.empty()) std::printf("\nparameters:\n");
  for (const auto& p : lowered.params) {
    const std::string left = (isOption(p.name) ? "-- --" : "--") + p.name + " " + p.type;
    std::printf("  %-24s %s%s(%s)\n", left.c_str(), p.doc.c_str(), p.doc.empty() ? "" : " ", p.otherwise.c_str());
  }
  std::printf("\n`tenc --help` lists the options of tenc\n");
  // What else is wrong (a file that is not there) says `tenc s.tl`.
  if (!lowered.params.empty()) session.diags().clear();
  return finish(session, line);
}

int runCommandOf(Session& session, const CommandLine& line) {
  switch (line.command) {
    case Command::Run: return runCommand(session, line);
    case Command::Repl: return repl(session, line);
    case Command::Check: return checkCommand(session, line);
    case Command::Test: return testCommand(session, line);
    case Command::Bench: return benchCommand(session, line);
    case Command::Profile: return profileCommand(session, line);
    case Command::Explain: return explainCommand(session, line);
    case Command::Devices: return devicesCommand(session);
    case Command::Transfers: return transfersCommand(session, line);
    case Command::Fmt: return fmtCommand(session, line);
  }
  return static_cast<int>(Outcome::Usage);
}

/// The status of the command, also where it ends for want of memory.
int dispatch(Session& session, const CommandLine& line) {
  try {
    const int status = runCommandOf(session, line);
    return status == static_cast<int>(Outcome::Interrupted) ? interruptStatus() : status;
  } catch (const std::bad_alloc&) {
    session.diags().report(tenc::Code::E0320, {}, "the system has no more memory for tenc");
    flushDiagnostics(session, line);
  }
  return static_cast<int>(Outcome::CompileError);
}

/// What the program printed is lost when the output is full or closed: then no run was a success.
int outputWritten(Session& session, const CommandLine& line, int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::string why = "what was printed could not all be written";
  if (errno != 0) why += std::string(": ") + std::strerror(errno);
  session.diags().report(tenc::Code::E0904, {}, std::move(why));
  flushDiagnostics(session, line);
  return status == 0 ? static_cast<int>(Outcome::Stopped) : status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  installCrashHandler(words);
  installInterruptHandler();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of `save`
  std::string error;
  const std::optional<CommandLine> line = parseCommandLine(words, error);
  if (!line) {
    std::fprintf(stderr, "tenc: %s\n`tenc --help` lists commands and options\n", tenc::forTerminal(error).c_str());
    return static_cast<int>(Outcome::Usage);
  }
  Session session(line->session);
  if (line->version) {
    std::printf("tenc %s\n", TENC_VERSION);
    return outputWritten(session, *line, 0);
  }
  if (line->help) {
    if (line->command == Command::Run && (!line->input.empty() || line->code))
      return outputWritten(session, *line, scriptHelp(session, *line));
    std::fputs(usage(line->command).c_str(), stdout);  // of no command: all
    return outputWritten(session, *line, 0);
  }
  if (!line->crashReport.empty()) return reportCrash(session, *line);
  watchStages(&session.timings());
  const int status = outputWritten(session, *line, dispatch(session, *line));
  watchStages(nullptr);
  return status;
}
