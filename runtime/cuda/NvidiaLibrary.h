// One of NVIDIA's libraries, which is loaded when a program first needs it and stays loaded: threads of its own may run
// in it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tenc::rt::cuda {

struct LibraryNames;

class NvidiaLibrary {
 public:
  /// What messages say of it.
  struct Words {
    std::string_view name;      ///< "cuBLASLt"
    std::string_view what;      ///< "cuBLASLt, which multiplies matrices of this program, "
    std::string_view packages;  ///< "`pip install nvidia-cublas` (`nvidia-cublas-cu12`)"
  };
  /// Nothing, with a sentence in `why` that says what was tried and what to do.
  static std::optional<NvidiaLibrary> load(const LibraryNames& names, const Words& words, std::string& why);

  /// Looks up a function of the C interface; which one was the first to be missing, `problem` tells.
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(symbol(name));
  }
  /// Empty when all were found.
  std::string problem() const;
  const std::string& file() const { return file_; }

 private:
  void* symbol(const char* name);
  Words words_;
  void* handle_ = nullptr;
  std::string file_, missing_;
};

}  // namespace tenc::rt::cuda
