#include "codegen/cache/KernelCache.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tenc::codegen {
namespace {

/// A line of the index: which entry holds a kernel.
struct Record {
  Digest kernel, entry;
  uint64_t check;  ///< of both: a line that was cut short shows

  static Record of(const Digest& kernel, const Digest& entry) {
    Record r{kernel, entry, 0};
    r.check = r.sum();
    return r;
  }
  uint64_t sum() const {
    uint64_t sum = 0;
    for (const Digest* d : {&kernel, &entry}) {
      for (size_t i = 0; i < d->size(); i += sizeof sum) {
        uint64_t part;
        std::memcpy(&part, d->data() + i, sizeof part);
        sum = sum * 0x9E3779B97F4A7C15u + part;
      }
    }
    return sum;
  }
};

/// An entry's content: the number of kernels; for each its digest and the size of its content; the contents.
std::string pack(const KernelCache::Kernels& kernels) {
  std::string text;
  auto put = [&](uint64_t n) { text.append(reinterpret_cast<const char*>(&n), sizeof n); };
  put(kernels.ids.size());
  for (size_t i = 0; i < kernels.ids.size(); ++i) {
    text += textOf(kernels.ids[i]);
    put(kernels.contents[i]->size());
  }
  for (const auto& content : kernels.contents) text += *content;
  return text;
}

/// Takes those that are missing in `kernels` out of an entry's content.
void unpack(std::string_view text, KernelCache::Kernels& kernels, const std::map<Digest, size_t>& wanted) {
  auto number = [](std::string_view at) {
    uint64_t n = 0;
    std::memcpy(&n, at.data(), sizeof n);
    return n;
  };
  constexpr size_t kLine = sizeof(Digest) + sizeof(uint64_t);
  if (text.size() < sizeof(uint64_t)) return;
  const uint64_t count = number(text);
  text.remove_prefix(sizeof(uint64_t));
  if (count > text.size() / kLine) return;
  std::string_view lines = text.substr(0, count * kLine), contents = text.substr(count * kLine);
  for (; !lines.empty(); lines.remove_prefix(kLine)) {
    const uint64_t size = number(lines.substr(sizeof(Digest)));
    if (size > contents.size()) return;
    Digest id;
    std::memcpy(id.data(), lines.data(), id.size());
    const auto found = wanted.find(id);
    if (found != wanted.end() && !kernels.contents[found->second])
      kernels.contents[found->second] = std::string(contents.substr(0, size));
    contents.remove_prefix(size);
  }
}

bool isComplete(const KernelCache::Kernels& kernels) {
  return std::all_of(kernels.contents.begin(), kernels.contents.end(), [](const auto& c) { return c.has_value(); });
}

std::map<Digest, size_t> missing(const KernelCache::Kernels& kernels) {
  std::map<Digest, size_t> wanted;
  for (size_t i = 0; i < kernels.ids.size(); ++i)
    if (!kernels.contents[i]) wanted.emplace(kernels.ids[i], i);
  return wanted;
}

}  // namespace

KernelCache::KernelCache(CacheOptions options, std::string_view identity) : cache_(std::move(options)) {
  if (!identity.empty()) identity_ = digestOf(identity);
}

Digest KernelCache::entryOf(const std::vector<Digest>& ids) const {
  std::string text;
  for (const Digest& d : ids) text += textOf(d);
  return digestOf(text);
}

KernelCache::Kernels KernelCache::load(std::span<const std::string> keys) {
  Kernels kernels;
  kernels.contents.resize(keys.size());
  if (!identity_) return kernels;
  std::string text;
  for (const std::string& key : keys) {
    text.assign(textOf(*identity_));
    text += key;
    kernels.ids.push_back(digestOf(text));
  }
  if (const auto content = cache_.load(entryOf(kernels.ids))) unpack(*content, kernels, missing(kernels));
  kernels.complete = isComplete(kernels);
  if (!kernels.complete) lookAround(kernels);
  return kernels;
}

/// What the index knows of kernels that are missing; the latest line counts.
void KernelCache::lookAround(Kernels& kernels) {
  const std::map<Digest, size_t> wanted = missing(kernels);
  const std::string index = cache_.readIndex();
  std::map<Digest, Digest> entries;  // by kernel
  for (size_t at = 0; at + sizeof(Record) <= index.size(); at += sizeof(Record)) {
    Record r;
    std::memcpy(&r, index.data() + at, sizeof r);
    if (r.check != r.sum()) return cache_.dropIndex();
    if (wanted.contains(r.kernel)) entries.insert_or_assign(r.kernel, r.entry);
  }
  std::map<Digest, std::map<Digest, size_t>> byEntry;
  for (const auto& [kernel, entry] : entries) byEntry[entry].emplace(kernel, wanted.at(kernel));
  for (const auto& [entry, some] : byEntry)
    if (const auto content = cache_.load(entry)) unpack(*content, kernels, some);
}

void KernelCache::store(const Kernels& kernels) {
  if (!identity_) return;
  const Digest entry = entryOf(kernels.ids);
  if (!cache_.store(entry, pack(kernels))) return;
  std::string lines;
  for (const Digest& kernel : kernels.ids) {
    const Record r = Record::of(kernel, entry);
    lines.append(reinterpret_cast<const char*>(&r), sizeof r);
  }
  cache_.appendIndex(lines);
}

}  // namespace tenc::codegen
