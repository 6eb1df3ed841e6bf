#include "runtime/cuda/CudaGraphs.h"

#include <cstddef>

namespace tenc::rt::cuda {
namespace {

constexpr int kThisThread = 1;        // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr unsigned kInstead = 1;      // CU_STREAM_SET_CAPTURE_DEPENDENCIES
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kIf = 0, kWhile = 1;    // CU_GRAPH_COND_TYPE_...

constexpr Result kRefused = 999;  // CUDA_ERROR_UNKNOWN, of a driver or a library: no graph, whatever it was

constexpr size_t kLeast = 4;  // commands: launching a graph costs the host as much as two or three launches
// Graphs take memory of the driver that no plan knows of: a node is some hundred bytes.
constexpr size_t kMostNodes = 16384;
constexpr size_t kMostKnown = 1024;
constexpr size_t kDeepest = 8;

// A loop or branch ends where the first word of the block says that something was reported, or the call interrupted.
// The driver links the function when it loads the text, as it does for nobody who brings machine code.
constexpr const char* kSetCondition = R"(.version 6.3
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry tenc_set_condition(.param .u64 handle, .param .u64 opposite, .param .u64 first, .param .u64 second,
                                   .param .u64 block) {
  .reg .pred %p<6>;
  .reg .b32 %r<6>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [handle];
  ld.param.u64 %d2, [opposite];
  ld.param.u64 %d3, [first];
  ld.param.u64 %d4, [second];
  ld.param.u64 %d5, [block];
  ld.global.u8 %r1, [%d3];
  ld.global.u8 %r2, [%d4];
  ld.volatile.global.u32 %r3, [%d5];
  setp.ne.u32 %p1, %r1, 0;
  setp.ne.and.u32 %p2, %r2, 0, %p1;
  setp.eq.and.u32 %p3, %r3, 0, %p2;
  selp.u32 %r4, 1, 0, %p3;
  {
    .param .b64 to;
    .param .b32 value;
    st.param.b64 [to], %d1;
    st.param.b32 [value], %r4;
    call.uni cudaGraphSetConditional, (to, value);
  }
  setp.eq.u64 %p4, %d2, 0;
  @%p4 bra DONE;
  selp.u32 %r5, 0, 1, %p3;
  {
    .param .b64 other;
    .param .b32 inverse;
    st.param.b64 [other], %d2;
    st.param.b32 [inverse], %r5;
    call.uni cudaGraphSetConditional, (other, inverse);
  }
DONE:
  ret;
}
)";

}  // namespace

void CudaGraphs::clear() {
  for (const auto& [key, known] : known_)
    if (known.graph != nullptr) f_.destroyGraph(known.graph);
  known_.clear();
  nodes_ = 0;
  for (const StreamHandle s : streams_) f_.destroyStream(s);
  streams_.clear();
  if (module_ != nullptr) f_.unloadModule(module_);
  module_ = nullptr;
  looked_ = false;
}

bool CudaGraphs::hasConditions() {
  if (looked_) return set_ != nullptr && !refused_;
  looked_ = true;
  set_ = nullptr;
  if (f_.createCondition == nullptr || f_.addNode == nullptr || f_.captureInto == nullptr) return false;
  if (f_.loadModule(&module_, kSetCondition) != 0 || f_.getFunction(&set_, module_, "tenc_set_condition") != 0)
    set_ = nullptr;
  return set_ != nullptr && !refused_;
}

GraphHandle CudaGraphs::of(const CudaRun& run, StreamHandle stream, Pointer block, bool isKnown) {
  if (refused_ || run.deepest() > kDeepest) return nullptr;
  if (run.hasControl() ? !hasConditions() : run.commands() < kLeast) return nullptr;
  auto found = known_.find(run.key());
  if (found == known_.end()) {
    if (known_.size() >= kMostKnown) std::erase_if(known_, [](const auto& k) { return k.second.graph == nullptr; });
    if (known_.size() >= kMostKnown) return nullptr;
    found = known_.emplace(run.key(), Known{}).first;
    if (!isKnown) return nullptr;
  }
  Known& known = found->second;
  if (known.graph == nullptr && !known.isRefused && nodes_ + run.commands() <= kMostNodes) {
    known.graph = capture(run, stream, block);
    known.isRefused = known.graph == nullptr;
    // A library may not have loaded yet what is in a branch; but where plain launches are refused, everything is.
    refused_ = known.isRefused && !run.hasControl();
    nodes_ += run.commands();
  }
  return known.graph;
}

/// The nodes that what is captured next comes after.
Result CudaGraphs::ends(const Capture& c, std::vector<NodeHandle>& nodes, CapturedHandle* graph) const {
  const NodeHandle* made = nullptr;
  size_t count = 0;
  int isCapturing = 0;
  const Result status = f_.captureInfo(c.stream, &isCapturing, nullptr, graph, &made, &count);
  if (status == 0) nodes.assign(made, made + count);
  return status;
}

Result CudaGraphs::commands(const Capture& c, const CudaCommands& list) {
  const std::vector<std::vector<size_t>> after = c.run.dependencies(list);
  std::vector<NodeHandle> begin, last;
  std::vector<std::vector<NodeHandle>> nodes(list.size());  // the last ones of each command
  Result status = ends(c, begin);
  for (size_t i = 0; i < list.size() && status == 0; ++i) {
    last.clear();
    if (after[i].empty()) last = begin;
    for (const size_t j : after[i]) last.insert(last.end(), nodes[j].begin(), nodes[j].end());
    status = f_.captureAfter(c.stream, last.data(), last.size(), kInstead);
    if (status != 0) break;
    if (list[i].control != nullptr)
      status = control(c, *list[i].control);
    else if (!c.run.issue(list[i], f_, c.stream, c.block, c.run.order()).isWell())
      status = kRefused;
    if (status == 0) status = ends(c, nodes[i]);
  }
  // What comes next comes after all of it.
  if (list.empty() || status != 0) return status;
  last.clear();
  for (const auto& n : nodes) last.insert(last.end(), n.begin(), n.end());
  return f_.captureAfter(c.stream, last.data(), last.size(), kInstead);
}

Result CudaGraphs::control(const Capture& c, const CudaControl& control) {
  return control.kind == ControlKind::Branch ? branch(c, control) : loop(c, control);
}

Result CudaGraphs::condition(const Capture& c, uint64_t& handle) const {
  std::vector<NodeHandle> nodes;
  CapturedHandle graph = nullptr;
  const Result status = ends(c, nodes, &graph);
  return status != 0 ? status : f_.createCondition(&handle, graph, context_, 0, 0);
}

Result CudaGraphs::set(const Capture& c, uint64_t handle, uint64_t opposite, Pointer first, Pointer second) const {
  uint64_t block = c.block + offsetof(CudaBlock, number);
  void* parameters[] = {&handle, &opposite, &first, &second, &block};
  return f_.launch(set_, 1, 1, 1, 1, 1, 1, 0, c.stream, parameters, nullptr);
}

template <typename Body>
Result CudaGraphs::node(const Capture& c, uint64_t handle, bool repeats, Body body) {
  std::vector<NodeHandle> after;
  CapturedHandle graph = nullptr;
  Result status = ends(c, after, &graph);
  if (status != 0) return status;
  ConditionalNode parameters;
  parameters.handle = handle;
  parameters.kind = repeats ? kWhile : kIf;
  parameters.context = context_;
  NodeHandle made = nullptr;
  status = f_.addNode(&made, graph, after.data(), nullptr, after.size(), &parameters);
  if (status == 0) status = f_.captureAfter(c.stream, &made, 1, kInstead);
  const Capture inside{c.run, c.block, streams_[c.depth], c.depth + 1};
  if (status == 0) status = f_.captureInto(inside.stream, parameters.bodies[0], nullptr, nullptr, 0, kThisThread);
  if (status != 0) return status;
  status = body(inside);
  CapturedHandle captured = nullptr;
  const Result ended = f_.endCapture(inside.stream, &captured);
  return status != 0 ? status : ended;
}

Result CudaGraphs::branch(const Capture& c, const CudaControl& control) {
  uint64_t then = 0, otherwise = 0;
  const bool hasElse = !control.sections[1].empty();
  Result status = condition(c, then);
  if (status == 0 && hasElse) status = condition(c, otherwise);
  if (status == 0) status = set(c, then, otherwise, control.flags[0], control.flags[0]);
  if (status == 0)
    status = node(c, then, false, [&](const Capture& inside) { return commands(inside, control.sections[0]); });
  if (status != 0 || !hasElse) return status;
  return node(c, otherwise, false, [&](const Capture& inside) { return commands(inside, control.sections[1]); });
}

/// The condition, and a node whose body is a trip and the condition of the next one. Where buffers exchange their
/// addresses the body is two trips, the second one in a node of its own, and where that does not run the way back.
Result CudaGraphs::loop(const Capture& c, const CudaControl& control) {
  const auto& [flag, second] = control.flags;
  const std::vector<CudaCommands>& s = control.sections;
  uint64_t whole = 0;
  Result status = condition(c, whole);
  if (status == 0) status = commands(c, s[0]);
  if (status == 0) status = set(c, whole, 0, flag, flag);
  if (status != 0) return status;
  return node(c, whole, true, [&](const Capture& body) {
    Result done = commands(body, s[1]);
    if (control.kind == ControlKind::Loop) {
      if (done == 0) done = commands(body, s[0]);
      return done != 0 ? done : set(body, whole, 0, flag, flag);
    }
    uint64_t again = 0, ends = 0;
    if (done == 0) done = commands(body, s[2]);
    if (done == 0) done = condition(body, again);
    if (done == 0) done = condition(body, ends);
    if (done == 0) done = set(body, again, ends, second, second);
    if (done == 0)
      done = node(body, again, false, [&](const Capture& other) {
        const Result trip = commands(other, s[3]);
        return trip != 0 ? trip : commands(other, s[0]);
      });
    if (done == 0) done = node(body, ends, false, [&](const Capture& back) { return commands(back, s[4]); });
    return done != 0 ? done : set(body, whole, 0, flag, second);
  });
}

GraphHandle CudaGraphs::capture(const CudaRun& run, StreamHandle stream, Pointer block) {
  // A loop of exchanged buffers has two nodes, one in the other. No stream is made while something is captured.
  while (streams_.size() < 2 * run.deepest()) {
    StreamHandle s = nullptr;
    if (f_.createStream(&s, kNonBlocking) != 0) return nullptr;
    streams_.push_back(s);
  }
  if (f_.beginCapture(stream, kThisThread) != 0) return nullptr;
  const Result status = commands({run, block, stream, 0}, run.list());
  CapturedHandle captured = nullptr;
  GraphHandle graph = nullptr;
  if (f_.endCapture(stream, &captured) != 0) return nullptr;
  if (status == 0 && f_.instantiate(&graph, captured, 0) != 0) graph = nullptr;
  f_.destroyCaptured(captured);
  return graph;
}

}  // namespace tenc::rt::cuda
