// Files that are read in the background while the program goes on. What is read is a guess at what a load will want:
// nothing that happens to it is reported, and a load that does not find its file here, whole and as it is now, reads it
// by itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/CallControl.h"
#include "runtime/io/Io.h"
#include "runtime/io/OpenFile.h"

namespace tenc::rt {

/// Belongs to one call and its thread; reads on another, which is started when it is first needed.
class ReadAhead {
 public:
  /// `enabled` false: nothing is ever read into memory of the call; with true it may be while anything else runs.
  ReadAhead(const FileAccess& files, const CallControl& control, bool enabled);
  ~ReadAhead();  ///< `stop`s
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The tensor that a load declares.
  struct Wanted {
    FileSource source;
    uint8_t dtype = 0;
    std::vector<int64_t> shape;
    bool operator==(const Wanted& o) const;
  };
  struct Found {
    bool inMemory = false;               ///< it is in the memory that `begin` was given
    std::optional<MappedTensor> mapped;  ///< or here
  };

  /// Begins to read into `memory`, which nobody touches until one of the functions below is called for it.
  void begin(Wanted wanted, std::byte* memory);
  /// Waits for what was begun for this memory, if it is what is wanted; gives nothing if it is not, if the file has
  /// changed since, or if it could not be read.
  Found take(const Wanted& wanted, std::byte* memory);
  /// Nothing is read into this memory any more.
  void end(std::byte* memory);
  /// Bytes from a place on.
  struct Part {
    uint64_t begin = 0, bytes = 0;
  };
  /// Begins to bring parts of a file into the system's cache; what was asked for before and has not begun is left.
  void bringIn(std::shared_ptr<const OpenFile> file, std::vector<Part> parts);
  /// The same of a file that is mapped there, and into the process's memory.
  void bringIn(std::byte* pages, std::vector<Part> parts);
  /// Nothing is read any more, and no file is open.
  void stop();

 private:
  struct Reader;
  bool start();
  const FileAccess& files_;
  const CallControl& control_;
  const bool enabled_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace tenc::rt
