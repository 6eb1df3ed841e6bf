// Compiled programs in files: `--emit=program -o FILE` writes one, `tenc FILE.tlp` runs it.
#include "tools/tenc/Saved.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/RoutineMemory.h"
#include "runtime/file/ProgramFile.h"
#include "support/Text.h"
#include "tools/tenc/Interrupt.h"
#include "tools/tenc/Progress.h"
#include "tools/tenc/WholeFile.h"

namespace tenc::tool {
bool readWhole(const std::string& path, std::string& bytes, std::string& error) {
  // Without O_NONBLOCK a pipe would be waited for.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  std::FILE* f = descriptor < 0 ? nullptr : fdopen(descriptor, "rb");
  if (!f) return error = std::strerror(errno), false;
  struct stat status{};
  if (fstat(fileno(f), &status) != 0 || !S_ISREG(status.st_mode)) {
    error = "it is not a regular file";
  } else {
    bytes.resize(static_cast<size_t>(status.st_size));
    if (std::fread(bytes.data(), 1, bytes.size(), f) != bytes.size()) error = "reading failed";
  }
  std::fclose(f);
  return error.empty();
}

bool isSavedProgram(const std::string& path) { return path.ends_with(".tlp"); }

int saveProgram(Session& session, const CommandLine& line, const abi::Program& program) {
  std::string error;
  if (!writeWhole(line.output, rt::writeProgram(program), error))
    session.diags().report(Code::E0503, {}, "cannot write " + line.output + ": " + error);
  return finish(session, line);
}

std::shared_ptr<const abi::Program> readSavedProgram(Session& session, const std::string& path) {
  std::string bytes, error;
  std::shared_ptr<const abi::Program> program;
  if (readWhole(path, bytes, error)) program = rt::readProgram(bytes, error);
  if (program && error.empty()) error = rt::processorProblem(*program);
  if (error.empty()) return program;
  session.diags().report(Code::E0501, {}, "cannot read " + path + ": " + error);
  return nullptr;
}

std::string shortageOf(Session& session, const abi::Program& program) {
  for (size_t i = 0; i < program.devices.size(); ++i) {
    const abi::Device& d = program.devices[i];
    const uint64_t limit = session.capacity(d.name);
    const uint64_t needed = d.arenaBytes + (i == 0 ? rt::routineMemory(program, session.machine().threads()) : 0);
    if (needed > limit)
      return "the program needs " + formatBytes(needed) + " on " + d.name + ", which has " + formatBytes(limit);
  }
  return {};
}

Outcome runSavedProgram(Session& session, const std::string& path, const abi::Program& program,
                        const rt::CallOptions& options) {
  const auto refuse = [&](Code code, std::string why) {
    session.diags().report(code, {}, std::move(why));
    return Outcome::CompileError;
  };
  if (!session.options().params.empty())
    return refuse(Code::E0504, "--" + session.options().params.begin()->first + ": the parameters of " + path +
                                   " were set when it was compiled");
  if (session.options().trapNan)
    return refuse(Code::E0504, "--trap: the checks of " + path + " were decided when it was compiled");
  if (!program.inputs.empty()) return refuse(Code::E0108, "`main` takes arguments, so it cannot be run");
  for (size_t i = 1; i < program.devices.size(); ++i) {
    if (!session.takeDevices(program)) return Outcome::CompileError;
    const std::string& name = program.devices[i].name;
    if (!session.machine().device(name))
      return refuse(Code::E0304, "there is no device `" + name + "`, which " + path + " was compiled for");
  }
  if (std::string shortage = shortageOf(session, program); !shortage.empty())
    return refuse(Code::E0320, std::move(shortage));
  const Outcome outcome = session.run(program, options);
  // Anybody may have written the file: what is wrong with it is no error of tenc.
  if (const auto wrong = session.internalError()) {
    session.clearInternalError();
    return refuse(Code::E0501, "cannot run " + path + ": " + wrong->message);
  }
  return outcome;
}

int runSavedCommand(Session& session, const CommandLine& line) {
  const auto program = readSavedProgram(session, line.input);
  if (!program) return finish(session, line);
  const InterruptScope interrupt(session.control());
  rt::CallOptions options;
  if (!line.trace.empty()) options.trace = &session.trace();
  const Outcome outcome = [&] {
    const ProgressLine progress(line.progress, options);
    return runSavedProgram(session, line.input, *program, options);
  }();
  return finish(session, line, outcome);
}

}  // namespace tenc::tool
