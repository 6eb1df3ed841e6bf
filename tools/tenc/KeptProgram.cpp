#include "tools/tenc/KeptProgram.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "codegen/cache/BuildId.h"
#include "runtime/file/Archive.h"
#include "runtime/file/Fields.h"
#include "runtime/file/ProgramFile.h"
#include "runtime/io/Io.h"
#include "tools/tenc/Saved.h"

namespace tenc::frontend {

void fields(auto& a, rt::Of<Dependencies::Tensor> auto& x) {
  a(x.path, x.format, x.name, x.dtype, x.shape, x.isMappable);
}

}  // namespace tenc::frontend

namespace tenc::tool {
namespace {

constexpr size_t kMostBytes = size_t{32} << 20;  // a program with larger constants is not kept

struct Module {
  std::string path, digest;
};
struct Entry {
  std::vector<Module> modules;
  std::vector<std::string> missing;
  std::vector<frontend::Dependencies::Tensor> tensors;
  std::string program;
};

void fields(auto& a, rt::Of<Module> auto& x) { a(x.path, x.digest); }
void fields(auto& a, rt::Of<Entry> auto& x) { a(x.modules, x.missing, x.tensors, x.program); }

std::string digestText(std::string_view text) { return std::string(codegen::textOf(codegen::digestOf(text))); }

/// Whether only a run is asked for, of a script that is compiled.
bool runsOnly(const SessionOptions& options, const CommandLine& line) {
  return line.command == Command::Run && line.emit.empty() && !line.passes && line.trace.empty() && !line.time &&
         !line.input.ends_with(".tir") && !options.interpret && options.debugPass.empty();
}

/// The variables that tenc looks at, in the order of their names.
std::vector<std::string> variables() {
  std::vector<std::string> all;
  for (char** v = environ; v != nullptr && *v != nullptr; ++v) {
    const std::string_view variable = *v;
    if (variable.starts_with("TENC_")) all.emplace_back(variable);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string keyOf(Session& session, const CommandLine& line, uint32_t file) {
  const std::string build = codegen::buildId();
  if (!runsOnly(session.options(), line) || session.cacheOptions().directory.empty() || build.empty()) return {};
  rt::Writer key;
  const SourceFile& script = session.sources().file(file);
  key(std::string("program"), rt::kProgramFileVersion, build, session.processorIdentity(), hostMemory());
  key(line.ofProgram, variables(), session.options().fileRoot);
  key(script.name(), std::string(script.text()));
  return key.take();
}

/// What is wrong with the folder is told where kernels are kept.
codegen::CacheOptions quietly(codegen::CacheOptions options) {
  options.warn = nullptr;
  return options;
}

bool holds(const Entry& entry, const std::string& fileRoot) {
  for (const Module& m : entry.modules) {
    std::string text, error;
    if (!readWhole(m.path, text, error) || digestText(text) != m.digest) return false;
  }
  for (const std::string& path : entry.missing) {
    std::error_code none;
    if (std::filesystem::is_regular_file(path, none)) return false;
  }
  rt::FileReader files({fileRoot});
  return std::all_of(entry.tensors.begin(), entry.tensors.end(), [&](const auto& t) {
    std::string error;
    const rt::FileSource source{t.path, t.format, t.name};
    const auto header = files.header(source, error);
    return header && header->dtype == t.dtype && header->shape == t.shape &&
           rt::isMappable(source, *header) == t.isMappable;
  });
}

}  // namespace

KeptProgram::KeptProgram(Session& session, const CommandLine& line, uint32_t file)
    : session_(session), key_(keyOf(session, line, file)), cache_(quietly(session.cacheOptions())) {}

std::shared_ptr<const abi::Program> KeptProgram::find() {
  if (key_.empty()) return nullptr;
  const std::optional<std::string> content = cache_.load(key_);
  if (!content) return nullptr;
  Entry entry;
  rt::Reader reader(*content);
  reader(entry);
  if (!reader.good() || !holds(entry, session_.options().fileRoot)) return nullptr;
  std::string error;
  auto program = rt::readProgram(entry.program, error);
  if (!program || !rt::processorProblem(*program).empty() || !shortageOf(session_, *program).empty()) return nullptr;
  return program;
}

void KeptProgram::keep(const frontend::Dependencies& read, const abi::Program& program) {
  if (key_.empty() || !session_.diags().all().empty() || session_.dependsOnDevices()) return;
  Entry entry;
  for (const uint32_t id : read.modules) {
    const SourceFile& module = session_.sources().file(id);
    entry.modules.push_back({module.name(), digestText(module.text())});
  }
  entry.missing = read.missing;
  entry.tensors = read.tensors;
  entry.program = rt::writeProgram(program);
  if (entry.program.size() > kMostBytes) return;
  rt::Writer content;
  content(entry);
  cache_.store(key_, content.take());
}

}  // namespace tenc::tool
