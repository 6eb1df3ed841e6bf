#include "runtime/cuda/CudaCopies.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tenc::rt::cuda {
namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kMemoryType = 2;        // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned kHostMemory = 1;   // CU_MEMORYTYPE_HOST

constexpr uint64_t kSmall = uint64_t{64} << 10;  // bytes that are sooner copied than asked where they lie
constexpr size_t kMany = 64;                     // copies, before those that are done are looked for

std::string nameOf(uint64_t bytes) { return "copy of " + std::to_string(bytes) + " bytes"; }

}  // namespace

CudaCopies::~CudaCopies() {
  for (StreamHandle s : {in_, out_}) {
    if (s == nullptr) continue;
    calls_.f().synchronize(s);
    calls_.f().destroyStream(s);
  }
}

Result CudaCopies::prepare(StreamHandle kernels, std::span<const Touch> expected) {
  kernels_ = kernels;
  for (const Touch& t : expected) {
    order_.expect(t);
    stage_.expect(t.end - t.begin);
  }
  const Result status = calls_.f().createStream(&in_, kNonBlocking);
  return status != 0 ? status : calls_.f().createStream(&out_, kNonBlocking);
}

void CudaCopies::begin() {
  ring_.forget();
  order_.begin();
  stage_.begin();
  kernelsEnd_ = calls_.mark(kernels_);
  for (StreamHandle s : {in_, out_}) calls_.hold(s, kernelsEnd_);
}

void CudaCopies::beforeKernels(std::span<const Touch> touches) {
  std::vector<Event> waits;
  order_.beforeKernels(touches, waits);
  for (const Event& e : waits) calls_.hold(kernels_, e);
}

void CudaCopies::afterKernels(std::span<const Touch> touches) {
  kernelsEnd_ = nullptr;
  if (!order_.afterKernels(touches)) return;
  kernelsEnd_ = calls_.mark(kernels_);
  order_.marked(touches, kernelsEnd_);
}

std::vector<Event> CudaCopies::before(CopyQueue queue, const Touch& touch) {
  if (order_.copies().size() >= kMany)
    std::erase_if(order_.copies(), [&](const CopyOrder::Copy& c) {
      if (!calls_.isReached(c.done)) return false;
      ring_.deliver(c.ticket);
      return true;
    });
  std::vector<Event> waits;
  if (!order_.beforeCopy(queue, touch, waits)) {
    if (!kernelsEnd_) kernelsEnd_ = calls_.mark(kernels_);
    order_.kernelsEnd(touch, kernelsEnd_);
    waits.push_back(kernelsEnd_);
  }
  return waits;
}

void CudaCopies::hold(CopyQueue queue, const Touch& touch) {
  for (const Event& e : before(queue, touch)) calls_.hold(handle(queue), e);
}

void CudaCopies::after(CopyQueue queue, const Touch& touch, Event done, Ticket ticket) {
  order_.afterCopy({queue, touch, std::move(done), ticket});
}

/// Memory that the driver does not know is pageable.
bool CudaCopies::isPinned(const void* p) const {
  unsigned type = 0;
  return calls_.f().pointerAttribute(&type, kMemoryType, reinterpret_cast<Pointer>(p)) == 0 && type == kHostMemory;
}

template <typename Copy>
uint64_t CudaCopies::byParts(uint64_t bytes, const Copy& copy) {
  uint64_t done = 0;
  while (done < bytes && !calls_.stop()) {
    const uint64_t part = std::min(bytes - done, ring_.part());
    std::byte* const memory = ring_.take(part);
    if (memory == nullptr) break;
    copy(memory, done, part);
    done += part;
  }
  return done;
}

void CudaCopies::in(Pointer to, const void* from, uint64_t bytes, Ticket ticket) {
  const Touch touch{to, to + bytes, true};
  const std::vector<Event> waits = before(CopyQueue::In, touch);
  const bool isBusy = std::any_of(waits.begin(), waits.end(), [&](const Event& e) { return !calls_.isReached(e); });
  DeviceStage::Slot* const slot = isBusy ? stage_.take(bytes) : nullptr;
  if (slot == nullptr) {
    for (const Event& e : waits) calls_.hold(in_, e);
    return after(CopyQueue::In, touch, send(to, from, bytes), ticket);
  }
  calls_.hold(in_, slot->free);
  const Event arrived = send(slot->memory, from, bytes);
  after(CopyQueue::In, {}, arrived, ticket);
  // From there it is a copy on the device, in line with the kernels.
  beforeKernels({&touch, 1});
  calls_.hold(kernels_, arrived);
  const Event start = times_.start(kernels_);
  calls_.well(calls_.f().deviceToDevice(to, slot->memory, bytes, kernels_), "cuMemcpyDtoDAsync");
  if (start) times_.end(start, kernels_, Lane::Kernels, nameOf(bytes));
  afterKernels({&touch, 1});
  slot->free = kernelsEnd_ ? kernelsEnd_ : calls_.mark(kernels_);
}

Event CudaCopies::send(Pointer to, const void* from, uint64_t bytes) {
  const Event start = times_.start(in_);
  uint64_t done = 0;
  if (bytes <= kSmall || !isPinned(from))
    done = byParts(bytes, [&](std::byte* memory, uint64_t at, uint64_t part) {
      std::memcpy(memory, static_cast<const std::byte*>(from) + at, part);
      calls_.well(calls_.f().hostToDevice(to + at, memory, part, in_), "cuMemcpyHtoDAsync");
      ring_.give(calls_.mark(in_));
    });
  if (done < bytes && !calls_.stop())
    calls_.well(calls_.f().hostToDevice(to + done, static_cast<const std::byte*>(from) + done, bytes - done, in_),
                "cuMemcpyHtoDAsync");
  times_.end(start, in_, Lane::In, nameOf(bytes));
  return calls_.mark(in_);
}

void CudaCopies::out(void* to, Pointer from, uint64_t bytes, Ticket ticket) {
  const Touch touch{from, from + bytes, false};
  hold(CopyQueue::Out, touch);
  const Event start = times_.start(out_);
  outBeside(to, from, bytes, ticket);
  times_.end(start, out_, Lane::Out, nameOf(bytes));
  after(CopyQueue::Out, touch, calls_.mark(out_), ticket);
}

void CudaCopies::outBeside(void* to, Pointer from, uint64_t bytes, Ticket ticket) {
  auto* const target = static_cast<std::byte*>(to);
  uint64_t done = 0;
  if (bytes <= kSmall || !isPinned(to))
    done = byParts(bytes, [&](std::byte* memory, uint64_t at, uint64_t part) {
      calls_.well(calls_.f().deviceToHost(memory, from + at, part, out_), "cuMemcpyDtoHAsync");
      ring_.give(calls_.mark(out_), target + at, ticket);
    });
  if (done < bytes && !calls_.stop())
    calls_.well(calls_.f().deviceToHost(target + done, from + done, bytes - done, out_), "cuMemcpyDtoHAsync");
}

bool CudaCopies::toPeer(CudaCopies& other, bool reaches, Pointer to, Pointer from, uint64_t bytes, Ticket own,
                        Ticket others) {
  const Touch read{from, from + bytes, false}, written{to, to + bytes, true};
  if (!reaches && !ring_.reserve()) return false;
  // The place in the other's queue is marked in its context.
  other.calls_.enter(calls_.order());
  const std::vector<Event> ready = other.before(reaches ? CopyQueue::Elsewhere : CopyQueue::In, written);
  calls_.enter(calls_.order());
  hold(CopyQueue::Out, read);
  if (reaches) {
    for (const Event& e : ready) calls_.hold(out_, e);
    const Event start = times_.start(out_);
    calls_.well(calls_.f().peerCopy(to, other.calls_.context(), from, calls_.context(), bytes, out_),
                "cuMemcpyPeerAsync");
    times_.end(start, out_, Lane::Out, nameOf(bytes));
    const Event done = calls_.mark(out_);
    after(CopyQueue::Out, read, done, own);
    other.after(CopyQueue::Elsewhere, written, done, others);
    return true;
  }
  for (const Event& e : ready) other.calls_.hold(other.in_, e);
  Event arrived;
  byParts(bytes, [&](std::byte* memory, uint64_t at, uint64_t part) {
    calls_.enter(calls_.order());
    calls_.well(calls_.f().deviceToHost(memory, from + at, part, out_), "cuMemcpyDtoHAsync");
    const Event left = calls_.mark(out_);
    other.calls_.enter(calls_.order());
    other.calls_.hold(other.in_, left);
    other.calls_.well(other.calls_.f().hostToDevice(to + at, memory, part, other.in_), "cuMemcpyHtoDAsync");
    arrived = other.calls_.mark(other.in_);
    ring_.give(arrived);
  });
  calls_.enter(calls_.order());
  after(CopyQueue::Out, read, calls_.mark(out_), own);
  other.after(CopyQueue::In, written, arrived, others);
  return true;
}

bool CudaCopies::done(Ticket ticket) {
  for (const CopyOrder::Copy& c : order_.copies())
    if (c.ticket == ticket && !calls_.isReached(c.done)) return false;
  finish(ticket);
  return true;
}

void CudaCopies::finish(Ticket ticket) {
  std::erase_if(order_.copies(), [&](const CopyOrder::Copy& c) {
    if (c.ticket != ticket) return false;
    calls_.await(c.done);
    return true;
  });
  ring_.deliver(ticket);
}

void CudaCopies::finishAll() {
  for (const CopyOrder::Copy& c : order_.copies()) calls_.await(c.done);
  order_.copies().clear();
  ring_.deliverAll();
}

}  // namespace tenc::rt::cuda
