// Copies between host memory and devices that may still run, so that the host waits where it has to and nowhere else.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/Device.h"

namespace tenc::rt {

class PendingCopies {
 public:
  bool empty() const { return list_.empty(); }
  /// `intoHost`: the device writes the bytes; else it reads them.
  void add(const std::byte* begin, uint64_t bytes, bool intoHost, Stream& stream, Ticket ticket) {
    if (list_.size() >= kMany) std::erase_if(list_, [](const Copy& c) { return c.stream->done(c.ticket); });
    list_.push_back({begin, begin + bytes, intoHost, &stream, ticket});
  }
  /// Waits until the host may read (and, with `write`, change) the bytes.
  void settle(const std::byte* begin, uint64_t bytes, bool write) {
    std::erase_if(list_, [&](const Copy& c) {
      if (begin >= c.end || c.begin >= begin + bytes || !(write || c.intoHost)) return false;
      c.stream->wait(c.ticket);
      return true;
    });
  }

 private:
  static constexpr size_t kMany = 64;
  struct Copy {
    const std::byte *begin, *end;
    bool intoHost;
    Stream* stream;
    Ticket ticket;
  };
  std::vector<Copy> list_;
};

}  // namespace tenc::rt
