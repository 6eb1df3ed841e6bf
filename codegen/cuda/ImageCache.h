// What NVRTC made, kept on disk. Kernels are compiled some at a time, so an image holds several; which image a kernel
// is in, and under which name, is kept kernel by kernel, so that a program that has changed compiles what is new in it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/cache/KernelCache.h"

namespace tenc::codegen::cuda {

class ImageCache {
 public:
  /// `identity`: all that code depends on besides a kernel's key. Empty: nothing is kept.
  ImageCache(const CacheOptions& options, std::string_view identity);

  /// Of a kernel: an index into Found::images, and its name there.
  struct Place {
    size_t image = 0;
    std::string symbol;
  };
  struct Found {
    std::vector<std::string> images;
    std::vector<std::optional<Place>> places;  ///< by key; none: not kept
    bool complete = false;                     ///< what the next run of the program needs is kept together
  };
  Found load(std::span<const std::string> keys);
  /// Keeps the images from `first` on, and where each of the kernels that were asked for last is; all are there by now.
  void store(const Found& found, size_t first);

 private:
  KernelCache kernels_;
  ObjectCache images_;
  const bool keeps_;
  KernelCache::Kernels asked_;  // by the last load
};

}  // namespace tenc::codegen::cuda
