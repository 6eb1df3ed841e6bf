#include "tools/tenc/Crash.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/io/MappedPages.h"

namespace tenc::tool {
namespace {

constexpr size_t kAlternateStackBytes = 64 << 10;

// What the signal handler prints; it may not allocate.
constinit const std::vector<std::string>* commandWords = nullptr;

constinit std::atomic<const rt::Machine*> watchedMachine{nullptr};
constinit std::atomic<const Timings*> watchedStages{nullptr};

// The command line of the process that writes the report; made beforehand. Empty in that process itself.
constinit std::vector<char*> reportArguments;
constinit char reportText[96] = "";
constexpr unsigned kReportSeconds = 20;

const char* nameOf(int signal) {
  switch (signal) {
    case SIGSEGV: return "segmentation fault";
    case SIGBUS: return "bus error";
    case SIGILL: return "illegal instruction";
    case SIGFPE: return "arithmetic exception";
    default: return "aborted";
  }
}

void put(std::string_view text) {
  // Nothing can be done about a failing write here.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

/// Async-signal-safe: a fresh process goes the same way up to the stage that crashed and writes the folder.
void writeReport(const char* what) {
  const Timings* stages = watchedStages.load();
  const char* stage = stages ? stages->current() : "";
  if (reportArguments.empty() || *stage == 0) return;
  size_t n = 0;
  for (const char* part : {stage, "=", what})
    for (const char* c = part; *c != 0 && n + 1 < sizeof reportText; ++c) reportText[n++] = *c;
  reportText[n] = 0;
  const pid_t child = _Fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    alarm(kReportSeconds);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    execv("/proc/self/exe", reportArguments.data());
    _exit(1);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

void onCrash(int signal, siginfo_t* info, void*) {
  // Of a file that somebody cut short; the run notices it.
  if (signal == SIGBUS && rt::restoreLostPages(info->si_addr)) return;
  // Memory of devices is closed on purpose, and a fault there says what went wrong.
  const rt::Machine* machine = watchedMachine.load();
  char text[256];
  if (machine && (signal == SIGSEGV || signal == SIGBUS) && machine->describeFault(info->si_addr, text, sizeof text)) {
    put("\ntenc: internal error: ");
    put(text);
  }
  put("\ntenc: internal error: the process crashed (");
  put(nameOf(signal));
  put(")\nThis is a bug in tenc. Please report it with the script and this command line:\n  tenc");
  for (const std::string& word : *commandWords) {
    put(" '");
    put(word);
    put("'");
  }
  put("\n");
  writeReport(nameOf(signal));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

bool writeText(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return false;
  const bool ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && ok;
}

/// The name of a copy of source `index`; texts that are no files (`<stdin>`, the entries of a session) are numbered.
std::string copyName(const std::string& path, uint32_t index) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool isFile = !name.empty() && name[0] != '<';
  return isFile ? name : index == 0 ? "script.tl" : "script" + std::to_string(index + 1) + ".tl";
}

}  // namespace

std::string writeReproducer(Session& session, const std::vector<std::string>& words, const InternalError& error) {
  const char* temporary = std::getenv("TMPDIR");
  std::string folder = std::string(temporary && *temporary ? temporary : "/tmp") + "/tenc-bug-XXXXXX";
  if (!mkdtemp(folder.data())) return {};
  std::string flags;
  for (const std::string& word : words) flags += word + "\n";
  bool ok = writeText(folder + "/flags", flags);
  ok = writeText(folder + "/error", error.stage + "\n" + error.message + "\n") && ok;
  if (!error.lastGood.empty()) ok = writeText(folder + "/last-good.tir", error.lastGood) && ok;
  for (uint32_t i = 0; i < session.sources().size(); ++i)
    ok =
        writeText(folder + "/" + copyName(session.sources().file(i).name(), i), session.sources().file(i).text()) && ok;
  return ok ? folder : std::string();
}

std::string internalErrorText(const InternalError& error, const std::string& folder) {
  std::string text = "tenc: internal error in `" + error.stage + "`: " + error.message + "\n";
  text += "This is a bug in tenc, not in your script.";
  if (!folder.empty())
    text += " What reproduces it was written to\n  " + folder + "\nPlease report it with that folder.";
  return text + "\n";
}

void installCrashHandler(const std::vector<std::string>& words) {
  commandWords = &words;
  static const std::string program = "tenc", option = "--crash-report";
  reportArguments.clear();
  if (std::find(words.begin(), words.end(), option) == words.end()) {
    const auto add = [](const std::string& word) { reportArguments.push_back(const_cast<char*>(word.c_str())); };
    add(program);
    for (const std::string& word : words) add(word);
    add(option);
    reportArguments.push_back(reportText);
    reportArguments.push_back(nullptr);
  }
  // Its own stack, because the usual reason is a stack that overflowed.
  stack_t stack{};
  stack.ss_size = kAlternateStackBytes;
  stack.ss_sp = mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = onCrash;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGILL, SIGFPE, SIGABRT}) sigaction(signal, &action, nullptr);
}

void watchMachine(const rt::Machine* machine) { watchedMachine = machine; }

void watchStages(const Timings* timings) { watchedStages = timings; }

}  // namespace tenc::tool
