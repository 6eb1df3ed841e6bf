// Streams, events and graphs. Work of a stream runs in order; an event is done when the work before it is.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "tests/cuda/vm/driver/Command.h"

namespace tenc::ptx::driver {

struct Graph;

/// A condition of a graph, which kernels set while it runs.
struct Condition {
  Device* device = nullptr;
  std::optional<uint32_t> atLaunch;  // what it is set to before the graph runs
  bool hasNode = false;
};

/// What is run if a condition is not 0, or as long as it is not.
struct Conditional {
  uint64_t handle = 0;
  bool repeats = false;
  std::shared_ptr<Graph> body;
  std::vector<void*> bodies;  // as a caller is given it
};

struct GraphNode {
  Command command;
  std::vector<size_t> after;                 // nodes that have to be done
  std::optional<Conditional> conditional{};  // in place of the command
};

/// Nodes come after those that they depend on.
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::map<uint64_t, Condition> conditions;  // by handle
};

/// The same with nodes and bodies of its own.
std::shared_ptr<Graph> copyOf(const Graph& g);

/// An instantiated graph: its commands are copies, which can be changed between replays.
struct GraphExecutable {
  std::vector<GraphNode> nodes;
  std::vector<const GraphNode*> origins;     // in the graph that it was made of
  std::map<uint64_t, Condition> conditions;  // of bodies too
  Device* device = nullptr;
};

struct Event {
  uint64_t recorded = 0, done = 0;  // counts of records
  double time = 0;                  // in milliseconds, of the last one that is done
  std::shared_ptr<Graph> capture;   // that it was recorded in
  std::vector<size_t> after;
};

struct Record {
  std::shared_ptr<Event> event;
  uint64_t number = 0;
};
struct Wait {
  std::shared_ptr<Event> event;
  uint64_t number = 0;
};
struct Replay {
  std::shared_ptr<const GraphExecutable> graph;
};
using Work = std::variant<Command, Record, Wait, Replay>;

/// Whose calls may spoil a capture: anybody's, those of the thread that began it, or nobody's.
enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };

struct Stream {
  /// Whether a capture that is under way forbids calls of this thread that could wait for it.
  bool forbids() const {
    return capture && (captureMode == CaptureMode::Global ||
                       (captureMode == CaptureMode::ThreadLocal && captureThread == std::this_thread::get_id()));
  }

  Device* device = nullptr;
  bool blocking = true;  // waits for the default stream, and is waited for
  std::deque<Work> queue;
  bool running = false;            // the work that was first in the queue
  std::shared_ptr<Graph> capture;  // that it is part of
  bool captureOrigin = false, captureBroken = false;
  bool capturesBody = false;  // into a graph that somebody has
  CaptureMode captureMode = CaptureMode::Global;
  std::thread::id captureThread;
  std::vector<size_t> after;        // nodes that the next one of the capture comes after
  std::vector<void*> afterHandles;  // as a caller was given them
};

}  // namespace tenc::ptx::driver
