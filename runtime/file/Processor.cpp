// Whether this machine's processor has what machine code needs.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "runtime/file/ProgramFile.h"

namespace tenc::rt {
namespace {

/// Names of features without the marks in which LLVM and Linux differ: "avx512_vnni", "sse4.1".
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_' && c != '-' && c != '.') out += c;
  return out;
}

/// What Linux says that the processor has and the system lets programs use.
std::set<std::string> findFeatures() {
  std::set<std::string> found;
  std::FILE* f = std::fopen("/proc/cpuinfo", "r");
  if (!f) return found;
  std::string line;
  for (int c = std::fgetc(f); c != EOF; c = std::fgetc(f)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    if (line.starts_with("flags")) break;
    line.clear();
  }
  std::fclose(f);
  std::string_view rest(line);
  rest.remove_prefix(std::min(rest.find(':'), rest.size()));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    found.insert(plain(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return found;
}

/// LLVM's name, where Linux has another one.
std::string linuxName(const std::string& feature) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"sse3", "pni"}, {"lzcnt", "abm"}, {"pclmul", "pclmulqdq"}, {"bmi", "bmi1"}, {"crc32", "sse42"}};
  for (const auto& [llvm, linux] : kOthers)
    if (feature == llvm) return std::string(linux);
  return plain(feature);
}

}  // namespace

std::string processorProblem(const abi::Program& program) {
  std::set<std::string> needed;
  for (const abi::Kernel& k : program.kernels) {
    const auto* host = std::get_if<abi::HostCode>(&k.code);
    if (!host || host->image == abi::kNoImage) continue;
    const abi::CodeImage& image = program.images[host->image];
    if (image.architecture != "x86-64") return "its code is for " + image.architecture + ", this machine is an x86-64";
    needed.insert(image.features.begin(), image.features.end());
  }
  if (needed.empty()) return {};
  const std::set<std::string> have = findFeatures();
  std::string lacking;
  for (const std::string& feature : needed)
    if (!have.contains(linuxName(feature))) lacking += (lacking.empty() ? "" : ", ") + feature;
  if (lacking.empty()) return {};
  return "its code needs a processor with " + lacking + ", which this machine lacks: compile it with --target-cpu";
}

}  // namespace tenc::rt
