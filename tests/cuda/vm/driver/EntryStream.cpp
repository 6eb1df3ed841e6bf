// Streams, events and captures.
#include <algorithm>
#include <span>

#include "tests/cuda/vm/driver/Entry.h"

namespace tenc::ptx::driver {
namespace {

constexpr unsigned kNonBlocking = 1, kAddDependencies = 0;
enum CaptureState { kNone = 0, kActive = 1, kBroken = 2 };

/// Whether every node of a capture comes before the end of the stream that began it.
bool joined(const Graph& g, const std::vector<size_t>& end) {
  std::vector<bool> reached(g.nodes.size());
  std::vector<size_t> todo = end;
  while (!todo.empty()) {
    size_t n = todo.back();
    todo.pop_back();
    if (reached[n]) continue;
    reached[n] = true;
    todo.insert(todo.end(), g.nodes[n]->after.begin(), g.nodes[n]->after.end());
  }
  return std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
}

Status beginCapture(void* handle, Stream& s, std::shared_ptr<Graph> to, int mode) {
  if (!handle) return Status::CaptureUnsupported;
  if (s.capture) return Status::IllegalState;
  s.capture = std::move(to);
  s.captureOrigin = true;
  s.captureBroken = s.capturesBody = false;
  s.captureMode = static_cast<CaptureMode>(mode);
  s.captureThread = std::this_thread::get_id();
  s.after.clear();
  return Status::Success;
}

}  // namespace
}  // namespace tenc::ptx::driver

using namespace tenc::ptx;
using namespace tenc::ptx::driver;

TENC_ENTRY cuStreamCreate(void** stream, unsigned flags) {
  return outsideCapture([&](Driver& d, Device& device) {
    *stream = d.createStream(device, !(flags & kNonBlocking)).get();
    return Status::Success;
  });
}
TENC_ENTRY cuStreamCreateWithPriority(void** stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
TENC_ENTRY cuStreamDestroy_v2(void* stream) {
  return withDevice([&](Driver& d, Device& device) {
    auto s = stream ? d.stream(stream, device) : nullptr;
    if (!s) return Status::InvalidHandle;
    d.destroy(s);
    return Status::Success;
  });
}
TENC_ENTRY cuStreamSynchronize(void* stream) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    if (s.capture) return d.refuseInCapture();
    d.finish(s);
    return s.device->failed;
  });
}
TENC_ENTRY cuStreamQuery(void* stream) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    if (s.capture) return d.refuseInCapture();
    bool empty = s.queue.empty() && !s.running;
    d.poll(s);
    return empty ? s.device->failed : Status::NotReady;
  });
}
TENC_ENTRY cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    auto* e = find(d.events, event);
    if (!e) return Status::InvalidHandle;
    return ++d.waits == d.droppedWait ? Status::Success : d.submit(s, Wait{*e, 0});
  });
}

TENC_ENTRY cuEventCreate(void** event, unsigned) {
  return withDevice([&](Driver& d, Device&) {
    *event = keep(d.events, std::make_shared<Event>());
    return Status::Success;
  });
}
TENC_ENTRY cuEventDestroy_v2(void* event) {
  return withDevice(
      [&](Driver& d, Device&) { return d.events.erase(event) ? Status::Success : Status::InvalidHandle; });
}
TENC_ENTRY cuEventRecord(void* event, void* stream) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    auto* e = find(d.events, event);
    return e ? d.submit(s, Record{*e, 0}) : Status::InvalidHandle;
  });
}
TENC_ENTRY cuEventSynchronize(void* event) {
  return outsideCapture([&](Driver& d, Device& device) {
    auto* e = find(d.events, event);
    if (!e) return Status::InvalidHandle;
    const std::shared_ptr<Event> kept = *e;
    d.finish(*kept);
    return device.failed;
  });
}
TENC_ENTRY cuEventQuery(void* event) {
  return withDevice([&](Driver& d, Device&) {
    auto* e = find(d.events, event);
    if (!e) return Status::InvalidHandle;
    const std::shared_ptr<Event> kept = *e;  // another thread may destroy it meanwhile
    const bool done = kept->done >= kept->recorded;
    d.poll(*kept);
    return done ? Status::Success : Status::NotReady;
  });
}
TENC_ENTRY cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  return withDevice([&](Driver& d, Device&) {
    auto *b = find(d.events, begin), *e = find(d.events, end);
    if (!b || !e || !(*b)->recorded || !(*e)->recorded) return Status::InvalidHandle;
    if ((*b)->done < (*b)->recorded || (*e)->done < (*e)->recorded) return Status::NotReady;
    *milliseconds = static_cast<float>((*e)->time - (*b)->time);
    return Status::Success;
  });
}

TENC_ENTRY cuStreamBeginCapture_v2(void* stream, int mode) {
  return withStream(
      stream, [&](Driver&, Device&, Stream& s) { return beginCapture(stream, s, std::make_shared<Graph>(), mode); });
}
/// Into a graph that has no nodes yet, as the body of a conditional node.
TENC_ENTRY cuStreamBeginCaptureToGraph(void* stream, void* graph, void* const*, const void*, size_t count, int mode) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    const std::shared_ptr<Graph> g = d.graph(graph);
    if (!g || count != 0 || !g->nodes.empty()) return Status::InvalidValue;
    Status status = beginCapture(stream, s, g, mode);
    s.capturesBody = status == Status::Success;
    return status;
  });
}
TENC_ENTRY cuStreamIsCapturing(void* stream, int* state) {
  return withStream(stream, [&](Driver&, Device&, Stream& s) {
    *state = !s.capture ? kNone : s.captureBroken ? kBroken : kActive;
    return Status::Success;
  });
}
TENC_ENTRY cuStreamGetCaptureInfo_v2(void* stream, int* state, uint64_t* id, void** graph, void* const** after,
                                     size_t* count) {
  return withStream(stream, [&](Driver&, Device&, Stream& s) {
    *state = !s.capture ? kNone : s.captureBroken ? kBroken : kActive;
    if (!s.capture) return Status::Success;
    if (id) *id = reinterpret_cast<uint64_t>(s.capture.get());
    if (graph) *graph = s.capture.get();
    s.afterHandles.clear();
    for (size_t n : s.after) s.afterHandles.push_back(s.capture->nodes[n].get());
    if (after) *after = s.afterHandles.data();
    if (count) *count = s.after.size();
    return Status::Success;
  });
}
TENC_ENTRY cuStreamUpdateCaptureDependencies(void* stream, void** nodes, size_t count, unsigned flags) {
  return withStream(stream, [&](Driver&, Device&, Stream& s) {
    if (!s.capture) return Status::IllegalState;
    std::vector<size_t> after;
    for (void* node : std::span(nodes, count)) {
      const auto& all = s.capture->nodes;
      auto at = std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.get() == node; });
      if (at == all.end()) return Status::InvalidValue;
      after.push_back(static_cast<size_t>(at - all.begin()));
    }
    if (flags == kAddDependencies) after.insert(after.end(), s.after.begin(), s.after.end());
    s.after = std::move(after);
    return Status::Success;
  });
}
TENC_ENTRY cuStreamEndCapture(void* stream, void** graph) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    *graph = nullptr;
    if (!s.capture) return Status::IllegalState;
    if (!s.captureOrigin) return Status::CaptureUnmatched;
    auto g = s.capture;
    const bool isBody = s.capturesBody;
    bool isJoined = joined(*g, s.after), broken = d.endCapture(g);
    if (broken) return Status::CaptureInvalidated;
    if (!isJoined) return Status::CaptureUnjoined;
    *graph = isBody ? g.get() : keep(d.graphs, g);
    return Status::Success;
  });
}
