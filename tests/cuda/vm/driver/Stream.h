// Streams, events and graphs. Work of a stream runs in order; an event is done when the work before it is.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "tests/cuda/vm/driver/Command.h"

namespace tenc::ptx::driver {

struct GraphNode {
  Command command;
  std::vector<size_t> after;  // nodes that have to be done
};

/// Nodes come after those that they depend on.
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

/// An instantiated graph: its commands are copies, which can be changed between replays.
struct GraphExecutable {
  std::vector<GraphNode> nodes;
  std::vector<const GraphNode*> origins;  // in the graph that it was made of
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
  CaptureMode captureMode = CaptureMode::Global;
  std::thread::id captureThread;
  std::vector<size_t> after;        // nodes that the next one of the capture comes after
  std::vector<void*> afterHandles;  // as a caller was given them
};

}  // namespace tenc::ptx::driver
