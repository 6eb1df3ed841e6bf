// Compiled programs in files: `--emit=program -o FILE` writes one, `tenc FILE.tlp` runs it.
#include "tools/tenc/Saved.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/file/ProgramFile.h"
#include "support/Text.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/Progress.h"

namespace tenc::tool {
namespace {

/// All of a regular file; `error` says why not.
bool readWhole(const std::string& path, std::string& bytes, std::string& error) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) return error = std::strerror(errno), false;
  struct stat status{};
  if (fstat(fileno(f), &status) != 0 || !S_ISREG(status.st_mode)) {
    error = "it is no regular file";
  } else {
    bytes.resize(static_cast<size_t>(status.st_size));
    if (std::fread(bytes.data(), 1, bytes.size(), f) != bytes.size()) error = "reading failed";
  }
  std::fclose(f);
  return error.empty();
}

/// Writes beside the file and renames, so that nobody finds half of one.
bool writeWhole(const std::string& path, std::string_view bytes, std::string& error) {
  const std::string beside = path + ".tmp." + std::to_string(getpid());
  std::FILE* f = std::fopen(beside.c_str(), "wb");
  if (!f) return error = std::strerror(errno), false;
  bool good = std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size();
  good = std::fclose(f) == 0 && good;
  if (good && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  error = std::strerror(errno);
  std::remove(beside.c_str());
  return false;
}

}  // namespace

bool isSavedProgram(const std::string& path) { return path.ends_with(".tlp"); }

int saveProgram(Session& session, const CommandLine& line, const abi::Program& program) {
  std::string error;
  if (!writeWhole(line.output, rt::writeProgram(program), error))
    session.diags().report(Code::E0503, {}, "cannot write " + line.output + ": " + error);
  return finish(session, line);
}

int runSavedProgram(Session& session, const CommandLine& line) {
  const auto refuse = [&](Code code, std::string why) {
    session.diags().report(code, {}, std::move(why));
    return finish(session, line);
  };
  std::string bytes, error;
  std::shared_ptr<const abi::Program> program;
  if (readWhole(line.input, bytes, error)) program = rt::readProgram(bytes, error);
  if (program && error.empty()) error = rt::processorProblem(*program);
  if (!error.empty()) return refuse(Code::E0501, "cannot read " + line.input + ": " + error);
  if (!session.options().params.empty())
    return refuse(Code::E0504, "--" + session.options().params.begin()->first + ": the parameters of " + line.input +
                                   " were set when it was compiled");
  if (!program->inputs.empty()) return refuse(Code::E0108, "`main` takes arguments, so it cannot be run");
  for (const abi::Device& d : program->devices) {
    const uint64_t limit = session.capacity(d.name);
    if (d.arenaBytes > limit)
      return refuse(Code::E0320, "the program needs " + formatBytes(d.arenaBytes) + " on " + d.name + ", which has " +
                                     formatBytes(limit));
  }
  const InterruptScope interrupt(session.control());
  rt::CallOptions options;
  if (!line.trace.empty()) options.trace = &session.trace();
  const Outcome outcome = [&] {
    const ProgressLine progress(line.progress, options);
    return session.run(*program, options);
  }();
  return finish(session, line, outcome);
}

}  // namespace tenc::tool
