#include "runtime/cuda/NvidiaLibrary.h"

#include <dlfcn.h>

#include "runtime/cuda/files/LibraryFiles.h"

namespace tenc::rt::cuda {

std::optional<NvidiaLibrary> NvidiaLibrary::load(const LibraryNames& names, const Words& words, std::string& why) {
  std::string tried;
  const auto file = findLibrary(names, tried);
  if (!file) {
    why = std::string(words.what) + "was not found: tried " + tried + "; " + std::string(words.packages) +
          " or the CUDA toolkit brings it, and " + std::string(names.variable) +
          " names the file. A program that is compiled where it is missing does without";
    return std::nullopt;
  }
  NvidiaLibrary library;
  library.words_ = words;
  library.file_ = *file;
  library.handle_ = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* error = dlerror();
    why = std::string(words.what) + "cannot be loaded: " + (error != nullptr ? error : file->c_str());
    return std::nullopt;
  }
  return library;
}

void* NvidiaLibrary::symbol(const char* name) {
  void* const found = dlsym(handle_, name);
  if (found == nullptr && missing_.empty()) missing_ = name;
  return found;
}

std::string NvidiaLibrary::problem() const {
  return missing_.empty()
             ? ""
             : file_ + " has no " + missing_ + ": it is no " + std::string(words_.name) + " that tenc knows";
}

}  // namespace tenc::rt::cuda
