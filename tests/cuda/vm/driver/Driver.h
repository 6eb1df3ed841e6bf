// The driver behind the entry points: devices, handles, and the order in which work that was submitted runs.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda/vm/driver/Stream.h"
#include "tests/cuda/vm/driver/Workers.h"

namespace tenc::ptx::driver {

/// When work runs. A program that waits for what it needs gives the same in each.
enum class Mode : uint8_t {
  Eager,   // when it is submitted
  Lazy,    // when somebody waits for it, and nothing that he does not wait for; independent nodes of graphs from behind
  Random,  // when somebody waits, in a random legal order over all streams
  Async    // from when it is submitted on, beside the program, as on a GPU; copies go on while a kernel runs
};

struct Module {
  Device* device = nullptr;
  std::unique_ptr<Program> program;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

class Driver {
 public:
  Driver(uint32_t devices, uint64_t bytesOfEach, Mode mode, uint64_t seed);
  ~Driver() { stop(); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  std::vector<std::unique_ptr<Device>>& devices() { return devices_; }
  /// The device that an address belongs to, or null.
  Device* owner(uint64_t address) const;

  // Handles. What is found by a handle that was not given out is null.
  std::shared_ptr<Stream> createStream(Device& d, bool blocking);
  /// Of a null handle the default stream of the device.
  std::shared_ptr<Stream> stream(void* handle, Device& d);
  void destroy(const std::shared_ptr<Stream>& s);
  std::map<void*, std::shared_ptr<Event>> events;
  std::map<void*, std::shared_ptr<Graph>> graphs;
  std::map<void*, std::shared_ptr<GraphExecutable>> executables;
  std::map<void*, std::unique_ptr<Module>> modules;
  std::set<Function*> functions;
  int waits = 0, droppedWait = 0;       // of streams for events: how many there were, and which is left out
  std::map<uint64_t, uint64_t> pinned;  // host memory: address and bytes

  bool isPinned(uint64_t address, uint64_t bytes) const;
  /// Of a handle of a graph, also of one that is captured, and of the bodies of its conditional nodes; or null.
  std::shared_ptr<Graph> graph(void* handle) const;
  uint64_t conditions = 0;  // that were made so far

  // Work.
  /// Appends to a stream, or to the graph that it captures.
  Status submit(Stream& s, Work w);
  /// Runs what has to run until the stream is empty, the event is done, or all streams are empty.
  void finish(Stream& s);
  void finish(const Event& e);
  void finishAll();
  /// What asks without waiting lets time go by: some work runs. Kernels run on another thread, so that one that takes
  /// long is no reason to wait.
  void poll(Stream& s);
  void poll(const Event& e);
  void setMode(Mode mode, uint64_t seed);
  /// Gives up the kernels that run; none will run any more. Not under the lock.
  void stop() { workers_.stop(); }
  /// Whether a capture forbids what could wait for it.
  bool capturing() const;
  /// Takes all streams out of a capture. Whether something had gone wrong in it.
  bool endCapture(const std::shared_ptr<Graph>& g);
  /// A call that no capture allows: it spoils those that are under way.
  Status refuseInCapture();

  DriverLock mutex;

 private:
  /// What is waited for: a stream, an event, or everything.
  struct Goal {
    Stream* stream = nullptr;
    const Event* event = nullptr;
    uint64_t number = 0;  // of the event
  };
  static bool isDone(const Goal& g);
  static bool isLong(const Work& w);
  static bool ready(const Stream& s);
  /// The stream whose next work comes first of all that a goal needs; null where that runs, or cannot.
  Stream* next(const Goal& g);
  /// A stream of those that can go on, of which `may` holds.
  Stream* able(const std::function<bool(const Stream&)>& may);
  Stream* choose(const Goal& g);
  bool running() const;
  void step(Stream& s);
  void reach(const Goal& g);
  void poll(const Goal& g);
  /// What the thread of a device does.
  bool work(Device& d);
  /// Between turns of a kernel on it. False: the kernel is to be given up.
  bool goesOn(Device& d);
  Status capture(Stream& s, const Work& w);
  Status replay(const GraphExecutable& g);
  Status run(const std::vector<const GraphNode*>& nodes, Device& d);
  Status run(const Conditional& c, Device& d);

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::map<Device*, std::shared_ptr<Stream>> defaults_;
  Mode mode_;
  std::mt19937_64 random_;
  Workers workers_;
};

}  // namespace tenc::ptx::driver
