// NVRTC, where there is one: CUDA C++ to PTX.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace tenc::nvrtc {

/// What NVRTC says of a source that it refuses.
class CompileError : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

class Compiler {
 public:
  /// Looks for the library where TENC_NVRTC says, in the build folder, and where the system has it.
  Compiler();
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  bool available() const { return library_; }
  /// Why it is not.
  const std::string& why() const { return why_; }
  const std::string& path() const { return path_; }
  /// Throws CompileError. `options` are NVRTC's, such as "--gpu-architecture=compute_90".
  std::string ptx(const std::string& source, const std::vector<std::string>& options) const;

 private:
  void* library_ = nullptr;
  std::string path_, why_;
};

}  // namespace tenc::nvrtc
