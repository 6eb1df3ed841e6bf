#include "runtime/virtual/CheckedDevice.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "runtime/cpu/Arena.h"
#include "runtime/virtual/BufferStates.h"
#include "runtime/virtual/GuardedPages.h"

namespace tenc::rt {
namespace {

/// With threads of their own devices work while the host does.
bool closes(QueueMode mode) { return mode != QueueMode::Async; }

using abi::BufferId;

/// Buffers that a command works on: opened before it, closed after it.
struct Work {
  std::vector<BufferId> buffers{};
  std::vector<BufferId> fresh{};  ///< among them, those that hold nothing yet
  std::vector<BufferId> ended{};  ///< whose memory is taken over
};

class CheckedStream : public Stream, public AddressOwner {
 public:
  /// `pages` is null where the inner stream has memory of its own.
  CheckedStream(const std::string& name, std::unique_ptr<GuardedPages> pages, std::unique_ptr<Stream> inner,
                const StreamSetup& setup, QueueMode mode, AddressBook& book)
      : name_(name),
        pages_(std::move(pages)),
        inner_(std::move(inner)),
        buffers_(setup.program->program(), setup.device, addressesOf(setup)),
        mode_(mode),
        book_(book),
        queue_(mode) {
    book_.add(this);
  }
  ~CheckedStream() override {
    queue_.wait(queue_.last());
    book_.remove(this);
  }

  std::byte* address(BufferId buffer) const override { return buffers_.address(buffer); }
  void keepContents() override { buffers_.keep(); }
  void begin(const StreamCall& call) override {
    call_ = call;
    buffers_.forget();
    inner_->begin(call);
    const std::lock_guard lock(mutex_);
    stop_.reset();
    isStopped_ = false;
  }

  void launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order) override;
  void copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) override;
  Ticket copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) override;
  Ticket copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) override;
  void receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) override;
  Ticket send(Stream& to, std::byte* destination, Ticket ready, const std::byte* from, uint64_t bytes,
              uint64_t order) override;
  void accept(std::byte* to, const void* from, uint64_t bytes, uint64_t order) override;

  void wait(Ticket ticket) override { queue_.wait(ticket); }
  bool done(Ticket ticket) const override { return queue_.done(ticket); }
  Ticket last() const override { return queue_.last(); }
  std::optional<DeviceStop> stopped() const override {
    if (!isStopped_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return stop_;
  }
  uint64_t touched() const override { return buffers_.highest(); }
  bool describe(const void* address, char* text, size_t size) const override;

 private:
  std::vector<std::byte*> addressesOf(const StreamSetup& setup) const {
    std::vector<std::byte*> list;
    for (BufferId b = 0; b < setup.program->program().buffers.size(); ++b) list.push_back(inner_->address(b));
    return list;
  }
  void stop(DeviceStop stop) {
    const std::lock_guard lock(mutex_);
    if (!stop_ || stop.order < stop_->order) stop_ = std::move(stop);
    isStopped_ = true;
  }
  std::string nameOf(BufferId b) const {
    return "m" + std::to_string(b) + " of " + name_ + " (" + std::to_string(buffers_.bytes(b)) + " bytes)";
  }
  bool reads(BufferId b, std::string_view what, uint64_t order);
  void writes(BufferId b, Work& work);
  /// Does something with the buffers of the work, whose pages are open meanwhile.
  template <class Do>
  void during(const Work& work, uint64_t order, std::string_view what, const Do& something) {
    if (enter(work, order, what)) something();
    leave(work, order, what);
  }
  bool enter(const Work& work, uint64_t order, std::string_view what);
  void leave(const Work& work, uint64_t order, std::string_view what);
  /// Waits for the inner stream, and takes over why it stopped.
  void settle();
  Ticket push(std::function<void()> work);

  const std::string& name_;
  std::unique_ptr<GuardedPages> pages_;
  std::unique_ptr<Stream> inner_;
  BufferStates buffers_;
  const QueueMode mode_;
  AddressBook& book_;
  StreamCall call_;
  mutable std::mutex mutex_;
  std::optional<DeviceStop> stop_;
  std::atomic<bool> isStopped_{false};
  Queue queue_;  // last: its thread ends first
};

bool CheckedStream::reads(BufferId b, std::string_view what, uint64_t order) {
  if (b == abi::kNoBuffer) {
    stop({order, 0, std::string(what) + " was given memory of another device: a transfer is missing"});
    return false;
  }
  if (buffers_.holds(b)) return true;
  stop({order, 0, std::string(what) + " reads " + nameOf(b) + " before anything was put there: a transfer is missing"});
  return false;
}

void CheckedStream::writes(BufferId b, Work& work) {
  if (!buffers_.holds(b)) work.fresh.push_back(b);
  for (const BufferId e : buffers_.take(b)) work.ended.push_back(e);
}

bool CheckedStream::enter(const Work& work, uint64_t order, std::string_view what) {
  if (!pages_) return true;
  for (const BufferId b : work.ended) pages_->discard(b);
  for (const BufferId b : work.buffers) {
    if (pages_->open(b)) continue;
    stop({order, 0, "the pages of " + nameOf(b) + " cannot be opened for " + std::string(what)});
    return false;
  }
  for (const BufferId b : work.fresh) pages_->poison(b);
  return true;
}

void CheckedStream::leave(const Work& work, uint64_t order, std::string_view what) {
  settle();
  if (!pages_) return;
  for (const BufferId b : work.buffers) {
    if (!isStopped_ && !pages_->intact(b))
      stop({order, 0, std::string(what) + " writes before the beginning of " + nameOf(b)});
    if (!pages_->close(b)) stop({order, 0, "the pages of " + nameOf(b) + " cannot be closed"});
  }
}

void CheckedStream::settle() {
  inner_->wait(inner_->last());
  if (auto s = inner_->stopped()) stop(std::move(*s));
}

/// A stopped stream does nothing more, but its tickets go on.
Ticket CheckedStream::push(std::function<void()> work) {
  return queue_.push([this, work = std::move(work)] {
    if (!isStopped_ && !call_.control->interrupted()) work();
  });
}

void CheckedStream::launch(const LoadedKernel& kernel, std::span<const DeviceArg> args,
                           std::span<const uint64_t> scalars, uint64_t order) {
  const std::string what = "kernel " + kernel.kernel->name + " on " + name_;
  Work work;
  const auto isRead = [](const DeviceArg& a) {
    return a.access == abi::Access::Read || a.access == abi::Access::Update;
  };
  for (const DeviceArg& a : args) {
    if (a.access == abi::Access::None) continue;
    const BufferId b = buffers_.at(a.address);
    if (b == abi::kNoBuffer)
      return stop({order, 0, what + " was given memory of another device: a transfer is missing"});
    if (isRead(a) && !reads(b, what, order)) return;
    if (std::find(work.buffers.begin(), work.buffers.end(), b) == work.buffers.end()) work.buffers.push_back(b);
  }
  for (const DeviceArg& a : args)
    if (a.access == abi::Access::Write || a.access == abi::Access::Update) writes(buffers_.at(a.address), work);
  for (const DeviceArg& a : args) {
    if (isRead(a) && !buffers_.holds(buffers_.at(a.address)))
      return stop(
          {order, 0, what + " reads " + nameOf(buffers_.at(a.address)) + " while it writes into the same memory"});
  }
  push([this, &kernel, what, work = std::move(work), own = std::vector(args.begin(), args.end()),
        numbers = std::vector(scalars.begin(), scalars.end()), order] {
    during(work, order, what, [&] {
      const bool closesHost = pages_ && closes(mode_);
      if (closesHost) call_.host->protect(false);
      inner_->launch(kernel, own, numbers, order);
      inner_->wait(inner_->last());
      if (closesHost) call_.host->protect(true);
    });
  });
}

void CheckedStream::copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const BufferId source = buffers_.at(from), target = buffers_.at(to);
  if (!reads(source, "a copy", order)) return;
  Work work{{source}};
  if (target != source) work.buffers.push_back(target);
  writes(target, work);
  push([this, work = std::move(work), to, from, bytes, order] {
    during(work, order, "a copy", [&] { inner_->copy(to, from, bytes, order); });
  });
}

Ticket CheckedStream::copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) {
  Work work{{buffers_.at(to)}};
  writes(work.buffers[0], work);
  return push([this, work = std::move(work), to, from, bytes, order] {
    during(work, order, "a transfer", [&] { inner_->copyIn(to, from, bytes, order); });
  });
}

Ticket CheckedStream::copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) {
  const BufferId source = buffers_.at(from);
  if (!reads(source, "a transfer", order)) return 0;
  std::memset(to, kPoison, bytes);  // what the host must not see
  return push([this, source, to, from, bytes, order] {
    const Work work{{source}};
    during(work, order, "a transfer", [&] { inner_->copyOut(to, from, bytes, order); });
  });
}

void CheckedStream::receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) {
  Work work{{buffers_.at(to)}};
  writes(work.buffers[0], work);
  const Ticket ready = push([this, work = std::move(work), to, bytes, order] {
    during(work, order, "a transfer", [&] {
      if (pages_) std::memset(to, kPoison, bytes);
    });
  });
  const Ticket copied = other.send(*this, to, call_.dropWaits ? 0 : ready, from, bytes, order);
  if (!call_.dropWaits) queue_.push([&other, copied] { other.wait(copied); });
}

Ticket CheckedStream::send(Stream& to, std::byte* destination, Ticket ready, const std::byte* from, uint64_t bytes,
                           uint64_t order) {
  const BufferId source = buffers_.at(from);
  if (!reads(source, "a transfer", order)) return 0;
  return push([this, &to, destination, ready, source, from, bytes, order] {
    to.wait(ready);
    const Work work{{source}};
    during(work, order, "a transfer", [&] {
      if (pages_) return to.accept(destination, from, bytes, order);
      std::vector<std::byte> staging(bytes);
      inner_->wait(inner_->copyOut(staging.data(), from, bytes, order));
      to.accept(destination, staging.data(), bytes, order);
    });
  });
}

void CheckedStream::accept(std::byte* to, const void* from, uint64_t bytes, uint64_t order) {
  const Work work{{buffers_.at(to)}};
  during(work, order, "a transfer", [&] { inner_->accept(to, from, bytes, order); });
}

bool CheckedStream::describe(const void* address, char* text, size_t size) const {
  AddressNote note;
  if (!pages_ || !pages_->find(address, note)) return false;
  if (note.buffer == abi::kNoBuffer) {
    std::snprintf(text, size, "memory of %s outside all buffers", name_.c_str());
  } else if (note.distance >= static_cast<int64_t>(note.bytes)) {
    std::snprintf(text, size, "byte %lld of buffer m%u of %s, which has %llu", static_cast<long long>(note.distance),
                  note.buffer, name_.c_str(), static_cast<unsigned long long>(note.bytes));
  } else {
    std::snprintf(text, size, "buffer m%u of %s without a transfer", note.buffer, name_.c_str());
  }
  return true;
}

class CheckedDevice : public Device {
 public:
  CheckedDevice(std::unique_ptr<Device> inner, QueueMode mode, AddressBook& book)
      : inner_(std::move(inner)), mode_(mode), book_(book) {}
  const std::string& name() const override { return inner_->name(); }
  bool worksOnHostMemory() const override { return false; }  // it needs memory of its own
  bool closesHost() const override { return inner_->worksOnHostMemory() && closes(mode_); }
  bool canRun(const abi::Kernel& kernel) const override { return inner_->canRun(kernel); }
  std::unique_ptr<Stream> open(const StreamSetup& setup, OpenFailure& failure) override {
    StreamSetup own = setup;
    std::unique_ptr<GuardedPages> pages;
    if (inner_->worksOnHostMemory()) {
      pages = std::make_unique<GuardedPages>();
      if (!pages->map(setup.program->program(), setup.device)) {
        failure.text = name() + " has no address space for its buffers";
        return nullptr;
      }
      own.addresses = &pages->addresses();
    }
    auto stream = inner_->open(own, failure);
    if (!stream) return nullptr;
    return std::make_unique<CheckedStream>(name(), std::move(pages), std::move(stream), setup, mode_, book_);
  }

 private:
  std::unique_ptr<Device> inner_;
  const QueueMode mode_;
  AddressBook& book_;
};

}  // namespace

std::unique_ptr<Device> makeCheckedDevice(std::unique_ptr<Device> inner, QueueMode mode, AddressBook& book) {
  return std::make_unique<CheckedDevice>(std::move(inner), mode, book);
}

}  // namespace tenc::rt
