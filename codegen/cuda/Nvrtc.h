// NVRTC, NVIDIA's run-time compiler of CUDA C++, from a shared library that is loaded when it is first needed.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace tenc::codegen::cuda {

class Nvrtc {
 public:
  /// Looks for TENC_NVRTC, a file; else for what the system's loader knows; else for the toolkit's usual place. Null,
  /// with a sentence that says what was tried, when there is none.
  static std::unique_ptr<Nvrtc> open(std::string& why);
  ~Nvrtc();
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

  /// "13.0".
  const std::string& version() const { return version_; }

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
