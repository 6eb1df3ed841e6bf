// Rows of tensors that lie in files, by their numbers. Where pages of files count as memory that the process shall not
// have, rows are read from the file, and the mapping is not touched: the system would map what lies around them too.
#pragma once
#include "runtime/call/Buffers.h"
#include "runtime/call/ReadAhead.h"

namespace tenc::rt {

class ThreadPool;

/// Each function `run` is false when the call is over.
class Rows {
 public:
  Rows(ThreadPool& pool, const CallControl& control, ReadAhead& ahead, Buffers& buffers, Ending& ending)
      : pool_(pool), control_(control), ahead_(ahead), buffers_(buffers), ending_(ending) {}

  bool run(const abi::ReadRows& s);
  bool run(const abi::BringIn& s);

 private:
  void copy(const std::byte* table, uint64_t rowBytes, std::byte* to);
  bool read(const Buffers::InOpenFile& table, uint64_t rowBytes, std::byte* to, std::string& error);

  ThreadPool& pool_;
  const CallControl& control_;
  ReadAhead& ahead_;
  Buffers& buffers_;
  Ending& ending_;
  std::vector<uint64_t> wanted_;  ///< rows of the step at hand
  std::vector<uint8_t> missing_;  ///< of these, whether they are not in the system's cache
};

}  // namespace tenc::rt
