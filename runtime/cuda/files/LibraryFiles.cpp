#include "runtime/cuda/files/LibraryFiles.h"

#include <glob.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace tenc::rt::cuda {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool isFile(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Paths that a pattern stands for, in their order.
std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

using Folders = std::vector<std::string>;

void addList(Folders& to, const std::string& list) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (end > at) to.push_back(list.substr(at, end - at));
    at = end + 1;
  }
}

/// What the configuration of the system's loader names, and its own.
void addSystem(Folders& to) {
  for (const std::string& file : matching("/etc/ld.so.conf.d/*.conf")) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (line.starts_with('/')) to.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"})
    to.emplace_back(folder);
}

/// The environment of the `python3` that a shell would start, which nobody needs to have activated; empty if there is
/// none.
std::string pythonRoot() {
  Folders path;
  addList(path, variable("PATH"));
  for (const std::string& folder : path)
    if (isFile(folder + "/python3")) return folder.substr(0, folder.find_last_of('/'));
  return "";
}

void addPackages(Folders& to, std::string_view wheel) {
  std::string roots;
  if (const std::string root = pythonRoot(); !root.empty()) roots = root + "/lib/python3*/site-packages:";
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = variable(environment);
    if (root.empty()) continue;
    to.push_back(root + "/lib");
    roots += root + "/lib/python3*/site-packages:";
  }
  if (const std::string home = variable("HOME"); !home.empty()) roots += home + "/.local/lib/python3*/site-packages:";
  roots += "/usr/local/lib/python3*/dist-packages:/usr/local/lib/python3*/site-packages:/usr/lib/python3/dist-packages";
  Folders list;
  addList(list, roots);
  for (const std::string& root : list)
    for (const std::string& package : {std::string("cu1*"), std::string(wheel)})
      for (const std::string& folder : matching(root + "/nvidia/" + package + "/lib")) to.push_back(folder);
}

}  // namespace

LibraryNames nvrtcNames() { return {"TENC_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, "cuda_nvrtc"}; }
LibraryNames cublasLtNames() {
  return {"TENC_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, "cublas"};
}
LibraryNames cusolverNames() {
  return {"TENC_CUSOLVER", {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"}, "cusolver"};
}

std::optional<std::string> findLibrary(const LibraryNames& library, std::string& tried) {
  std::vector<std::string> names = library.names;
  const std::string name(library.variable);
  if (const char* chosen = std::getenv(name.c_str())) {
    if (isFile(chosen)) return chosen;
    if (*chosen == 0) {
      tried = "nothing, as " + name + " is empty";
      return std::nullopt;
    }
    names = {chosen};
  }
  for (const std::string& n : names) tried += (tried.empty() ? "" : ", ") + n;
  if (names.front().find('/') != std::string::npos) return std::nullopt;
  Folders folders;
  addList(folders, variable("LD_LIBRARY_PATH"));
  addSystem(folders);
  folders.emplace_back("/usr/local/cuda/lib64");
  addPackages(folders, library.wheel);
  for (const std::string& n : names)
    for (const std::string& folder : folders)
      if (std::string path = folder + "/" + n; isFile(path)) return path;
  tried += " in LD_LIBRARY_PATH, the system's folders, /usr/local/cuda/lib64 and Python's packages";
  return std::nullopt;
}

bool looksLoadable(const std::string& file) {
  char begin[5] = {};
  return std::ifstream(file, std::ios::binary).read(begin, 4) && std::string_view(begin) ==
                                                                     "\x7f"
                                                                     "ELF";
}

std::string identityOf(const std::string& file) {
  struct stat status{};
  char* const real = ::realpath(file.c_str(), nullptr);
  std::string text = real != nullptr ? real : file;
  std::free(real);
  if (::stat(file.c_str(), &status) == 0)
    text += " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
            std::to_string(status.st_mtim.tv_nsec);
  return text;
}

}  // namespace tenc::rt::cuda
