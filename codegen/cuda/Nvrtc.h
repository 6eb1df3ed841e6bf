// NVRTC, NVIDIA's run-time compiler of CUDA C++, from a shared library that is loaded when it is first needed.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::codegen::cuda {

class Nvrtc {
 public:
  /// Its file (LibraryFiles.h), which is not loaded. Nothing, with a sentence that says what was tried and what to
  /// install, when there is none.
  static std::optional<std::string> find(std::string& why);
  /// Loads it. Null, with a sentence in `why`, when that fails.
  static std::unique_ptr<Nvrtc> open(std::string& why);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  /// "13.0".
  const std::string& version() const { return version_; }
  /// Why it makes no code for "sm_123", as a sentence with the architectures that it has; empty when it does.
  std::string problemOf(std::string_view architecture) const;

  struct Result {
    std::string ptx, cubin;
    std::string error;  ///< NVRTC's own words and the numbered source, for an internal error; empty when well
  };
  /// `architecture`: "sm_90". From any thread.
  Result compile(const std::string& source, const std::string& architecture, bool wantCubin) const;

 private:
  struct Functions;
  Nvrtc();
  void* library_ = nullptr;
  std::unique_ptr<Functions> f_;
  std::string version_;
};

}  // namespace tenc::codegen::cuda
