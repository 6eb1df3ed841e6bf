#include "tests/cuda/nvrtc/Nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace tenc::nvrtc {
namespace {

using Handle = void*;

template <class F>
F* entry(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

void check(int status, const char* what) {
  if (status) throw CompileError(std::string(what) + ": NVRTC gives " + std::to_string(status));
}

/// A text that NVRTC copies out in two calls: its size with the final zero, then itself.
std::string text(void* library, const char* sizeName, const char* name, Handle program) {
  size_t bytes = 0;
  check(entry<int(Handle, size_t*)>(library, sizeName)(program, &bytes), sizeName);
  std::string s(bytes, '\0');
  check(entry<int(Handle, char*)>(library, name)(program, s.data()), name);
  if (!s.empty()) s.pop_back();
  return s;
}

/// NVRTC loads this library by its name when it compiles, from its own folder. Sanitizers, which stand between, make
/// that fail: what is loaded already is found.
void loadBuiltins(const std::filesystem::path& library) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(library.parent_path(), ignored)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so"))
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

}  // namespace

Compiler::Compiler() {
  std::vector<std::string> places;
  if (const char* given = std::getenv("TENC_NVRTC")) {
    places = {given};
  } else {
    places = {TENC_NVRTC_FOLDER "/libnvrtc.so.13", "libnvrtc.so.13", "libnvrtc.so.12",
              "/usr/local/cuda/lib64/libnvrtc.so"};
  }
  for (const std::string& p : places) {
    path_ = p;
    if ((library_ = dlopen(p.c_str(), RTLD_NOW | RTLD_LOCAL))) {
      if (p.find('/') != p.npos) loadBuiltins(p);
      return;
    }
  }
  why_ = "NVRTC is not found: setup.sh puts it into the build folder, or TENC_NVRTC says where libnvrtc.so is";
}

// It stays loaded: it has threads and state of its own.
Compiler::~Compiler() = default;

std::string Compiler::ptx(const std::string& source, const std::vector<std::string>& options) const {
  Handle program = nullptr;
  using Create = int(Handle*, const char*, const char*, int, const char* const*, const char* const*);
  check(entry<Create>(library_, "nvrtcCreateProgram")(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  std::vector<const char*> words;
  for (const std::string& o : options) words.push_back(o.c_str());
  using Compile = int(Handle, int, const char* const*);
  int status = entry<Compile>(library_, "nvrtcCompileProgram")(program, static_cast<int>(words.size()), words.data());
  std::string result = status ? text(library_, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", program)
                              : text(library_, "nvrtcGetPTXSize", "nvrtcGetPTX", program);
  entry<int(Handle*)>(library_, "nvrtcDestroyProgram")(&program);
  if (status) throw CompileError(result);
  return result;
}

}  // namespace tenc::nvrtc
