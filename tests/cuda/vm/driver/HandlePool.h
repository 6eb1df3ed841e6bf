// What a fake of a library has handed out.
#pragma once
#include <map>
#include <memory>
#include <mutex>

namespace tenc::ptx::driver {

/// A handle that is not among it, as it was destroyed, is null.
template <class T>
class HandlePool {
 public:
  void* add(T value) {
    const std::lock_guard lock(mutex_);
    auto owned = std::make_unique<T>(std::move(value));
    void* handle = owned.get();
    all_[handle] = std::move(owned);
    return handle;
  }
  T* find(void* handle) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(handle);
    return at == all_.end() ? nullptr : at->second.get();
  }
  /// Whether it was there.
  bool destroy(void* handle) {
    const std::lock_guard lock(mutex_);
    return all_.erase(handle) > 0;
  }
  size_t count() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<T>> all_;
};

}  // namespace tenc::ptx::driver
