// Parts of a file that are read where they are wanted, without a mapping.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace tenc::rt {

/// What is read or written at once. Signals wait for the end of a call to the system.
inline constexpr size_t kMostAtOnce = size_t{16} << 20;

/// Any number of threads may use it.
class OpenFile {
 public:
  /// The file of a descriptor, which may be closed; null where the system gives no other. `path`: for errors.
  static std::shared_ptr<const OpenFile> of(int descriptor, std::string path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// False, with an error, where the file has become shorter, or cannot be read.
  bool read(uint64_t offset, uint64_t bytes, void* out, std::string& error) const;
  /// False where some of it is not in the system's cache, and would have to be waited for.
  bool readCached(uint64_t offset, uint64_t bytes, void* out) const;
  /// Begins to bring these bytes into the system's cache.
  void expect(uint64_t offset, uint64_t bytes) const;
  /// What is read will lie here and there: the system brings in nothing along with it.
  void expectScattered() const;

 private:
  OpenFile(int descriptor, std::string path);
  const int descriptor_;
  const std::string path_;
};

}  // namespace tenc::rt
