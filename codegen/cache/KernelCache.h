// Code of kernels on disk, one by one: a kernel that another program, or this one before a change, has compiled is not
// compiled again.
//
// What a program needs is kept in one entry, so that a program that has not changed reads one file. An index of the
// folder tells which entry holds a kernel; it is a hint, and losing it costs time only.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cache/Digest.h"
#include "codegen/cache/ObjectCache.h"

namespace tenc::codegen {

class KernelCache {
 public:
  /// `identity`: all that code depends on besides a kernel's key. Empty: nothing is kept.
  KernelCache(CacheOptions options, std::string_view identity);

  struct Kernels {
    std::vector<Digest> ids;
    std::vector<std::optional<std::string>> contents;  ///< by key; none: not kept
    bool complete = false;                             ///< all were found in one entry
  };
  Kernels load(std::span<const std::string> keys);
  /// Keeps all contents, which are there by now.
  void store(const Kernels& kernels);

 private:
  Digest entryOf(const std::vector<Digest>& ids) const;
  void lookAround(Kernels& kernels);

  ObjectCache cache_;
  std::optional<Digest> identity_;
};

}  // namespace tenc::codegen
