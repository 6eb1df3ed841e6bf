#include "tests/cuda/vm/driver/Driver.h"

#include <algorithm>
#include <chrono>

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

Driver::Driver(uint32_t devices, uint64_t bytesOfEach, Mode mode, uint64_t seed)
    : mode_(mode), random_(seed), workers_(mutex, [this](Device& d) { return work(d); }) {
  for (uint32_t i = 0; i < devices; ++i) {
    devices_.push_back(std::make_unique<Device>(i, bytesOfEach));
    Device& d = *devices_.back();
    d.machine.options().goesOn = [this, &d] { return goesOn(d); };
    d.machine.options().setCondition = [&d](uint64_t handle, uint32_t value) {
      auto at = d.conditions.find(handle);
      if (at == d.conditions.end()) return false;
      at->second = value;
      return true;
    };
  }
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

namespace {

std::shared_ptr<Graph> within(const std::shared_ptr<Graph>& g, void* handle) {
  if (g.get() == handle) return g;
  for (const auto& node : g->nodes) {
    if (!node->conditional) continue;
    if (auto found = within(node->conditional->body, handle)) return found;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<Graph> copyOf(const Graph& g) {
  auto copy = std::make_shared<Graph>();
  copy->conditions = g.conditions;
  for (const auto& n : g.nodes) {
    copy->nodes.push_back(std::make_unique<GraphNode>(*n));
    if (auto& c = copy->nodes.back()->conditional) c->body = copyOf(*c->body);
  }
  return copy;
}

std::shared_ptr<Graph> Driver::graph(void* handle) const {
  for (const auto& [own, g] : graphs) {
    if (auto found = within(g, handle)) return found;
  }
  for (const auto& s : streams_) {
    if (!s->capture) continue;
    if (auto found = within(s->capture, handle)) return found;
  }
  return nullptr;
}

void Driver::setMode(Mode mode, uint64_t seed) {
  finishAll();
  mode_ = mode;
  random_.seed(seed);
}

bool Driver::capturing() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& s) { return s->forbids(); });
}

bool Driver::endCapture(const std::shared_ptr<Graph>& g) {
  bool broken = false;
  for (auto& s : streams_) {
    if (s->capture != g) continue;
    broken |= s->captureBroken;
    s->capture = nullptr;
    s->captureOrigin = s->captureBroken = s->capturesBody = false;
    s->after.clear();
  }
  for (auto& [handle, e] : events) {
    if (e->capture == g) e->capture = nullptr;
  }
  return broken;
}

Status Driver::refuseInCapture() {
  for (auto& s : streams_) s->captureBroken |= s->forbids();
  return Status::CaptureUnsupported;
}

Status Driver::capture(Stream& s, const Work& w) {
  return std::visit(Cases{[&](const Command& c) {
                            s.capture->nodes.push_back(std::make_unique<GraphNode>(GraphNode{c, s.after, {}}));
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
  if (mode_ == Mode::Async) {
    workers_.start(*s.device);
    workers_.notify();
  }
  return s.device->failed;
}

bool Driver::isLong(const Work& w) {
  if (std::holds_alternative<Replay>(w)) return true;
  const auto* command = std::get_if<Command>(&w);
  return command &&
         (std::holds_alternative<KernelCommand>(*command) || std::holds_alternative<LibraryCommand>(*command));
}

bool Driver::ready(const Stream& s) {
  if (s.running || s.queue.empty()) return false;
  const Work& w = s.queue.front();
  if (const auto* wait = std::get_if<Wait>(&w)) return wait->event->done >= wait->number;
  return !isLong(w) || !s.device->busy;
}

bool Driver::running() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& s) { return s->running; });
}

void Driver::step(Stream& stream) {
  const std::shared_ptr<Stream> s = *std::find_if(streams_.begin(), streams_.end(), [&](const auto& o) {
    return o.get() == &stream;
  });  // others may destroy it meanwhile
  Work w = std::move(s->queue.front());
  s->queue.pop_front();
  Device& d = *s->device;
  const bool isKernel = isLong(w);
  s->running = true;
  d.busy |= isKernel;
  Status status =
      std::visit(Cases{[&](const Command& c) { return d.failed == Status::Success ? execute(c) : d.failed; },
                       [&](const Record& r) {
                         r.event->done = std::max(r.event->done, r.number);
                         r.event->time = milliseconds();
                         return Status::Success;
                       },
                       [&](const Wait&) { return Status::Success; },
                       [&](const Replay& r) { return d.failed == Status::Success ? replay(*r.graph) : d.failed; }},
                 w);
  if (d.failed == Status::Success) d.failed = status;
  s->running = false;
  if (isKernel) d.busy = false;
  workers_.notify();
}

Status Driver::replay(const GraphExecutable& g) {
  Device& d = *g.device;
  ++d.graphLaunches;
  d.graphNodes += g.nodes.size();
  d.conditions.clear();
  for (const auto& [handle, c] : g.conditions) d.conditions[handle] = c.atLaunch;
  std::vector<const GraphNode*> nodes;
  for (const GraphNode& n : g.nodes) nodes.push_back(&n);
  Status status = run(nodes, d);
  d.conditions.clear();
  return status;
}

Status Driver::run(const Conditional& c, Device& d) {
  std::vector<const GraphNode*> nodes;
  for (const auto& n : c.body->nodes) nodes.push_back(n.get());
  for (bool first = true; first || c.repeats; first = false) {
    const std::optional<uint32_t> value = d.conditions[c.handle];
    if (!value)
      d.machine.reports().add(Finding::UninitialisedGlobal, "a conditional node", "the driver",
                              "its condition was not set before");
    if (value.value_or(0) == 0) return Status::Success;
    if (Status s = run(nodes, d); s != Status::Success) return s;
  }
  return Status::Success;
}

Status Driver::run(const std::vector<const GraphNode*>& nodes, Device& d) {
  std::vector<bool> done(nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto& after = nodes[i]->after;
      if (!done[i] && std::all_of(after.begin(), after.end(), [&](size_t a) { return done[a]; }))
        candidates.push_back(i);
    }
    size_t next = mode_ == Mode::Eager  ? candidates.front()
                  : mode_ == Mode::Lazy ? candidates.back()
                                        : candidates[random_() % candidates.size()];
    done[next] = true;
    const GraphNode& node = *nodes[next];
    if (Status s = node.conditional ? run(*node.conditional, d) : execute(node.command); s != Status::Success) return s;
  }
  return Status::Success;
}

bool Driver::isDone(const Goal& g) {
  if (g.event) return g.event->done >= g.number;
  return g.stream->queue.empty() && !g.stream->running;
}

Stream* Driver::next(const Goal& g) {
  Stream* s = g.stream;
  const Event* event = g.event;
  uint64_t number = g.number;
  for (size_t i = 0; i <= streams_.size(); ++i) {
    if (event) {  // where it will be recorded
      auto at = std::find_if(streams_.begin(), streams_.end(), [&](const auto& o) {
        return std::any_of(o->queue.begin(), o->queue.end(), [&](const Work& w) {
          const auto* record = std::get_if<Record>(&w);
          return record && record->event.get() == event && record->number >= number;
        });
      });
      s = at == streams_.end() ? nullptr : at->get();
    }
    if (!s || ready(*s)) return s;
    const auto* wait = s->running || s->queue.empty() ? nullptr : std::get_if<Wait>(&s->queue.front());
    if (!wait) return nullptr;
    event = wait->event.get();
    number = wait->number;
  }
  return nullptr;  // they wait for each other
}

Stream* Driver::able(const std::function<bool(const Stream&)>& may) {
  std::vector<Stream*> all;
  for (auto& s : streams_) {
    if (ready(*s) && may(*s)) all.push_back(s.get());
  }
  if (all.empty()) return nullptr;
  return all[mode_ == Mode::Random ? random_() % all.size() : 0];
}

Stream* Driver::choose(const Goal& g) {
  return mode_ == Mode::Random ? able([](const Stream&) { return true; }) : next(g);
}

void Driver::reach(const Goal& g) {
  while (!isDone(g)) {
    Stream* s = mode_ == Mode::Async ? nullptr : choose(g);
    if (s)
      step(*s);
    else if (running() || (mode_ == Mode::Async && able([](const Stream&) { return true; })))
      workers_.wait();
    else
      return;
  }
}

void Driver::poll(const Goal& g) {
  if (isDone(g)) return;
  Stream* s = mode_ == Mode::Async ? nullptr : choose(g);
  if (s && !isLong(s->queue.front())) return step(*s);
  if (s) {
    s->device->assigned = s;
    workers_.start(*s->device);
    workers_.notify();
  }
  workers_.wait();
}

bool Driver::work(Device& d) {
  Stream* s = d.assigned;
  d.assigned = nullptr;
  if (s && std::none_of(streams_.begin(), streams_.end(), [&](const auto& o) { return o.get() == s; })) s = nullptr;
  if (!s && mode_ == Mode::Async) s = able([&](const Stream& o) { return o.device == &d; });
  if (!s || !ready(*s)) return false;
  step(*s);
  return true;
}

bool Driver::goesOn(Device& d) {
  mutex.letIn();
  if (mode_ == Mode::Async) {
    if (Stream* s = able([&](const Stream& o) { return o.device == &d && !isLong(o.queue.front()); })) step(*s);
  }
  return !workers_.stopping();
}

void Driver::poll(Stream& s) { poll(Goal{.stream = &s}); }
void Driver::poll(const Event& e) { poll(Goal{.event = &e, .number = e.recorded}); }
void Driver::finish(Stream& s) { reach({.stream = &s}); }
void Driver::finish(const Event& e) { reach({.event = &e, .number = e.recorded}); }
void Driver::finishAll() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const std::shared_ptr<Stream> s = streams_[i];
    finish(*s);
  }
}

}  // namespace tenc::ptx::driver
