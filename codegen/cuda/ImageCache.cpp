#include "codegen/cuda/ImageCache.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tenc::codegen::cuda {

ImageCache::ImageCache(const CacheOptions& options, std::string_view identity)
    : kernels_(options, identity), images_(options), keeps_(!identity.empty()) {}

ImageCache::Found ImageCache::load(std::span<const std::string> keys) {
  Found found;
  found.places.resize(keys.size());
  if (!keeps_) return found;
  asked_ = kernels_.load(keys);
  found.complete = asked_.complete;
  std::map<Digest, std::optional<size_t>> known;  // images that were looked for
  for (size_t i = 0; i < keys.size(); ++i) {
    std::optional<std::string>& content = asked_.contents[i];
    Digest digest;
    if (!content || content->size() <= digest.size()) continue;
    std::memcpy(digest.data(), content->data(), digest.size());
    auto [at, isNew] = known.try_emplace(digest);
    if (isNew) {
      if (auto image = images_.load(digest)) {
        at->second = found.images.size();
        found.images.push_back(std::move(*image));
      }
    }
    if (at->second) found.places[i] = Place{*at->second, content->substr(digest.size())};
  }
  return found;
}

void ImageCache::store(const Found& found, size_t first) {
  if (!keeps_) return;
  std::vector<Digest> digests;
  for (const std::string& image : found.images) {
    digests.push_back(digestOf(image));
    if (digests.size() > first && !images_.store(digests.back(), image)) return;
  }
  for (size_t i = 0; i < found.places.size(); ++i)
    asked_.contents[i] = std::string(textOf(digests[found.places[i]->image])) + found.places[i]->symbol;
  kernels_.store(asked_);
}

}  // namespace tenc::codegen::cuda
