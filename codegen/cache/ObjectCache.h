// Compiled kernels on disk. An entry is a file named by the digest of its key; its content is checked when it is read,
// and it is written beside and renamed, so that other processes, kills and broken disks cost time and never a result.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/cache/Digest.h"

namespace tenc::codegen {

struct CacheOptions {
  std::string directory;                    ///< made (0700) when missing; empty: no cache
  bool chosen = false;                      ///< by the user: failing to make or write it is worth a warning
  uint64_t limit = uint64_t{256} << 20;     ///< bytes of all entries; beyond it the least recently used go
  std::function<void(std::string)> warn{};  ///< called at most once
};

/// Not thread-safe; any number of processes may share the directory. Nothing is touched before the first use.
class ObjectCache {
 public:
  explicit ObjectCache(CacheOptions options) : options_(std::move(options)) {}
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;

  /// Whether there is a directory that only the user can write to.
  bool open();
  /// What was stored under `key`, verified; none if there is nothing or something broken (which is removed).
  std::optional<std::string> load(const Digest& key);
  std::optional<std::string> load(std::string_view key) { return load(digestOf(key)); }
  /// Keeps `content` under `key`, if that is possible, and says whether it was.
  bool store(const Digest& key, std::string_view content);
  bool store(std::string_view key, std::string_view content) { return store(digestOf(key), content); }

  /// One file beside the entries that grows line by line, for hints: it may be lost at any time, and end in a line that
  /// was cut short. Lines are added at once, also by several processes; where it grows too large it begins anew.
  std::string readIndex();
  void appendIndex(std::string_view lines);
  void dropIndex();

  /// Removes the least recently used entries beyond three quarters of the limit when they exceed it, and what killed
  /// writers left. `store` does so now and then.
  void evict();

 private:
  void warn(const std::string& what);

  CacheOptions options_;
  bool tried_ = false, warned_ = false;
  int directory_ = -1;
};

}  // namespace tenc::codegen
