// Pages of mapped files, kept from taking up more memory than the process shall have. The system drops such pages by
// itself, but only when the whole machine lacks memory.
#pragma once
#include <cstdint>
#include <memory>

#include "runtime/io/Io.h"

namespace tenc::rt {

class Residency {
 public:
  /// `limit`: bytes of memory of the whole process; 0: none.
  explicit Residency(uint64_t limit);
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  /// Lets go of the file's pages whenever the process comes close to its limit, until `forget`. The file was not mapped
  /// to be written to.
  void watch(const MappedTensor& file);
  void forget(const MappedTensor& file);
  bool isLimited() const { return limit_ > 0; }
  bool watches() const { return watcher_ != nullptr; }
  /// To be called once a trip, and now and then by kernels that read a file, from any thread: they bring in pages
  /// faster than another thread may get to run and let go of them. `soon`: bytes that may be brought in until the next
  /// call.
  void check(uint64_t soon = 0);

 private:
  struct Watcher;
  const uint64_t limit_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace tenc::rt
