// Pages of files that are mapped. Where others cut such a file short, touching what is gone raises SIGBUS: the handler
// puts zeros there, so that whoever touched it can go on to where it is noticed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenc::rt {

/// The pages of one file, known to the handler while this lives.
class MappedPages {
 public:
  MappedPages(const void* begin, uint64_t bytes);
  ~MappedPages();
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  /// Whether some were gone when they were touched.
  bool areLost() const;

  struct Slot;  ///< what the handler sees

 private:
  Slot* slot_ = nullptr;  ///< null where there is no memory for one
};

/// For handlers of SIGBUS: false where the address is in no such pages.
bool restoreLostPages(const void* address) noexcept;
/// How often that was true, in the process.
uint64_t lostPagesSoFar() noexcept;

}  // namespace tenc::rt
