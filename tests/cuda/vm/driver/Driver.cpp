#include "tests/cuda/vm/driver/Driver.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenc::ptx::driver {
namespace {

double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

}  // namespace

Driver::Driver(uint32_t devices, uint64_t bytesOfEach, Mode mode, uint64_t seed) : mode_(mode), random_(seed) {
  for (uint32_t d = 0; d < devices; ++d) devices_.push_back(std::make_unique<Device>(d, bytesOfEach));
}

Device* Driver::owner(uint64_t address) const {
  for (const auto& d : devices_) {
    if (d->machine.memory().owns(address)) return d.get();
  }
  return nullptr;
}

std::shared_ptr<Stream> Driver::createStream(Device& d, bool blocking) {
  auto s = std::make_shared<Stream>();
  s->device = &d;
  s->blocking = blocking;
  streams_.push_back(s);
  return s;
}

std::shared_ptr<Stream> Driver::stream(void* handle, Device& d) {
  // 1 and 2 name the default stream, too.
  if (reinterpret_cast<uintptr_t>(handle) <= 2) {
    auto& s = defaults_[&d];
    if (!s) s = createStream(d, true);
    return s;
  }
  auto at = std::find_if(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == handle; });
  return at == streams_.end() ? nullptr : *at;
}

void Driver::destroy(const std::shared_ptr<Stream>& s) {
  finish(*s);
  std::erase(streams_, s);
}

bool Driver::isPinned(uint64_t address, uint64_t bytes) const {
  auto behind = pinned.upper_bound(address);
  if (behind == pinned.begin()) return false;
  auto [base, size] = *--behind;
  return address - base <= size && bytes <= size - (address - base);
}

void Driver::setMode(Mode mode, uint64_t seed) {
  finishAll();
  mode_ = mode;
  random_.seed(seed);
}

bool Driver::capturing() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& s) { return s->capture != nullptr; });
}

bool Driver::endCapture(const std::shared_ptr<Graph>& g) {
  bool broken = false;
  for (auto& s : streams_) {
    if (s->capture != g) continue;
    broken |= s->captureBroken;
    s->capture = nullptr;
    s->captureOrigin = s->captureBroken = false;
    s->after.clear();
  }
  for (auto& [handle, e] : events) {
    if (e->capture == g) e->capture = nullptr;
  }
  return broken;
}

Status Driver::refuseInCapture() {
  for (auto& s : streams_) s->captureBroken |= s->capture != nullptr;
  return Status::CaptureUnsupported;
}

Status Driver::capture(Stream& s, const Work& w) {
  return std::visit(Cases{[&](const Command& c) {
                            s.capture->nodes.push_back(std::make_unique<GraphNode>(GraphNode{c, s.after}));
                            s.after = {s.capture->nodes.size() - 1};
                            return Status::Success;
                          },
                          [&](const Record& r) {
                            r.event->capture = s.capture;
                            r.event->after = s.after;
                            return Status::Success;
                          },
                          [&](const Wait& wait) {
                            if (wait.event->capture != s.capture) return Status::CaptureIsolation;
                            s.after.insert(s.after.end(), wait.event->after.begin(), wait.event->after.end());
                            return Status::Success;
                          },
                          [&](const Replay&) { return Status::CaptureUnsupported; }},
                    w);
}

Status Driver::submit(Stream& s, Work w) {
  if (!s.capture) {
    // Waiting for an event of a capture joins it.
    if (auto* wait = std::get_if<Wait>(&w); wait && wait->event->capture) {
      s.capture = wait->event->capture;
      s.after = wait->event->after;
      return Status::Success;
    }
  }
  if (s.capture) {
    Status status = capture(s, w);
    s.captureBroken |= status != Status::Success;
    return status;
  }
  auto own = defaults_.find(s.device);
  bool isDefault = own != defaults_.end() && own->second.get() == &s;
  if (isDefault) {
    for (size_t i = 0; i < streams_.size(); ++i) {
      Stream& other = *streams_[i];
      if (&other == &s || other.device != s.device || !other.blocking) continue;
      if (other.capture) {
        other.captureBroken = true;
        return Status::CaptureImplicit;
      }
      finish(other);
    }
  } else if (s.blocking && own != defaults_.end()) {
    finish(*own->second);
  }
  if (auto* record = std::get_if<Record>(&w)) {
    record->event->capture = nullptr;
    record->number = ++record->event->recorded;
  } else if (auto* wait = std::get_if<Wait>(&w)) {
    wait->number = wait->event->recorded;
  }
  s.queue.push_back(std::move(w));
  if (mode_ == Mode::Eager) finish(s);
  return s.device->failed;
}

bool Driver::ready(const Work& w) {
  const auto* wait = std::get_if<Wait>(&w);
  return !wait || wait->event->done >= wait->number;
}

bool Driver::step(Stream& s) {
  if (s.queue.empty() || !ready(s.queue.front())) return false;
  Work w = std::move(s.queue.front());
  s.queue.pop_front();
  Status status = std::visit(
      Cases{[&](const Command& c) { return s.device->failed == Status::Success ? execute(c) : s.device->failed; },
            [&](const Record& r) {
              r.event->done = std::max(r.event->done, r.number);
              r.event->time = milliseconds();
              return Status::Success;
            },
            [&](const Wait&) { return Status::Success; },
            [&](const Replay& r) { return s.device->failed == Status::Success ? replay(*r.graph) : s.device->failed; }},
      w);
  if (s.device->failed == Status::Success) s.device->failed = status;
  return true;
}

Status Driver::replay(const GraphExecutable& g) {
  ++g.device->graphLaunches;
  g.device->graphNodes += g.nodes.size();
  std::vector<bool> done(g.nodes.size());
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      const auto& after = g.nodes[i].after;
      if (!done[i] && std::all_of(after.begin(), after.end(), [&](size_t a) { return done[a]; }))
        candidates.push_back(i);
    }
    size_t next = mode_ == Mode::Eager  ? candidates.front()
                  : mode_ == Mode::Lazy ? candidates.back()
                                        : candidates[random_() % candidates.size()];
    done[next] = true;
    if (Status s = execute(g.nodes[next].command); s != Status::Success) return s;
  }
  return Status::Success;
}

void Driver::drain(Stream* preferred, const std::function<bool()>& done) {
  while (!done()) {
    if (mode_ != Mode::Random && preferred && step(*preferred)) continue;
    std::vector<Stream*> able;
    for (auto& s : streams_) {
      if (!s->queue.empty() && ready(s->queue.front())) able.push_back(s.get());
    }
    if (able.empty()) return;
    step(*able[mode_ == Mode::Random ? random_() % able.size() : 0]);
  }
}

void Driver::poll() {
  bool stepped = false;
  drain(nullptr, [&] { return std::exchange(stepped, true); });
}

void Driver::finish(Stream& s) {
  drain(&s, [&] { return s.queue.empty(); });
}
void Driver::finish(const Event& e) {
  uint64_t number = e.recorded;
  drain(nullptr, [&, number] { return e.done >= number; });
}
void Driver::finishAll() {
  drain(nullptr,
        [&] { return std::all_of(streams_.begin(), streams_.end(), [](const auto& s) { return s->queue.empty(); }); });
}

}  // namespace tenc::ptx::driver
