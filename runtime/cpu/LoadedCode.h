// Object files in memory made into running code, on pages that are never writable and executable at once.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tenc::rt {

/// A relocatable ELF file for x86-64, as LLVM's small code model writes it, loaded into this process. Loads what the
/// code generator emits (no exceptions, no thread-local data) and nothing else; the destructor unloads it.
class LoadedCode {
 public:
  /// Null, with `error` set, when the object cannot be loaded. `object` is not kept.
  static std::shared_ptr<LoadedCode> load(std::string_view object, std::string& error);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  /// The address of a function that the object exports, or null.
  void* symbol(const std::string& name) const;

 private:
  friend class Loader;
  LoadedCode() = default;
  char* base_ = nullptr;
  size_t size_ = 0;
  std::unordered_map<std::string, char*> symbols_;
};

}  // namespace tenc::rt
