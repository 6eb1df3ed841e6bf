// Graphs, and their conditional nodes.
#include <algorithm>
#include <span>

#include "tests/cuda/vm/driver/Entry.h"
#include "tests/cuda/vm/driver/KernelCall.h"

namespace tenc::ptx::driver {
namespace {

enum NodeType { kKernelNode = 0, kCopyNode = 1, kFillNode = 2, kHostNode = 3, kEmptyNode = 5, kConditionalNode = 13 };
enum ConditionalType { kIf = 0, kWhile = 1 };
constexpr unsigned kAssignDefault = 1;

/// The parameters of a kernel's node, as the driver API lays them out.
struct NodeParameters {
  void* function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void** values;
  void** extra;
};

/// Those of any node that cuGraphAddNode makes, of which the conditional ones are known.
struct AnyNodeParameters {
  int type, reserved[3];
  struct {
    uint64_t handle;
    int type;
    unsigned size;
    void** bodies;
    void* context;
    long long unused[25];
  } conditional;
  long long reservedLast;
};
static_assert(sizeof(AnyNodeParameters) == 16 + 29 * 8 + 8);

/// Whether a body may have the node.
bool isOfBody(const Driver& d, const GraphNode& n, const Device& device) {
  if (n.conditional || std::holds_alternative<EmptyCommand>(n.command)) return true;
  if (const auto* k = std::get_if<KernelCommand>(&n.command)) return k->function->device == &device;
  if (const auto* l = std::get_if<LibraryCommand>(&n.command)) return l->device == &device;
  if (const auto* f = std::get_if<FillCommand>(&n.command)) return f->device == &device;
  const auto* c = std::get_if<CopyCommand>(&n.command);
  return c && !c->staged && (c->toDevice || d.isPinned(c->to, c->bytes)) &&
         (c->fromDevice || d.isPinned(c->from, c->bytes));
}

/// Collects the conditions of a graph and its bodies. False: one has no node, or a body has what no body may have.
bool collect(const Driver& d, const Graph& g, const Device& device, bool isBody,
             std::map<uint64_t, Condition>& conditions) {
  for (const auto& [handle, c] : g.conditions) {
    if (!c.hasNode) return false;
    conditions[handle] = c;
  }
  return std::all_of(g.nodes.begin(), g.nodes.end(), [&](const auto& n) {
    return (!isBody || isOfBody(d, *n, device)) &&
           (!n->conditional || collect(d, *n->conditional->body, device, true, conditions));
  });
}

}  // namespace
}  // namespace tenc::ptx::driver

using namespace tenc::ptx;
using namespace tenc::ptx::driver;

/// The handle is of the graph that has its node, or of one around that.
TENC_ENTRY cuGraphConditionalHandleCreate(uint64_t* handle, void* graph, void* context, unsigned value,
                                          unsigned flags) {
  return withDevice([&](Driver& d, Device& device) {
    const std::shared_ptr<Graph> g = d.graph(graph);
    if (!g || context != &device || flags > kAssignDefault) return Status::InvalidValue;
    *handle = ++d.conditions;
    g->conditions[*handle] = {&device, flags == kAssignDefault ? std::optional(value) : std::nullopt, false};
    return Status::Success;
  });
}
TENC_ENTRY cuGraphAddNode_v2(void** node, void* graph, void* const* after, const void*, size_t count,
                             AnyNodeParameters* p) {
  return withDevice([&](Driver& d, Device& device) {
    const std::shared_ptr<Graph> g = d.graph(graph);
    if (!g || p->type != kConditionalNode) return g ? Status::NotSupported : Status::InvalidValue;
    auto& c = p->conditional;
    const auto condition = g->conditions.find(c.handle);
    if (condition == g->conditions.end() || condition->second.hasNode || (c.type != kIf && c.type != kWhile) ||
        c.size != 1 || c.context != &device)
      return Status::InvalidValue;
    std::vector<size_t> places;
    for (void* other : std::span(after, count)) {
      auto at = std::find_if(g->nodes.begin(), g->nodes.end(), [&](const auto& n) { return n.get() == other; });
      if (at == g->nodes.end()) return Status::InvalidValue;
      places.push_back(static_cast<size_t>(at - g->nodes.begin()));
    }
    condition->second.hasNode = true;
    auto body = std::make_shared<Graph>();
    GraphNode made{EmptyCommand{}, places, Conditional{c.handle, c.type == kWhile, body, {body.get()}}};
    g->nodes.push_back(std::make_unique<GraphNode>(std::move(made)));
    *node = g->nodes.back().get();
    c.bodies = g->nodes.back()->conditional->bodies.data();
    return Status::Success;
  });
}
TENC_ENTRY cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  return withDevice([&](Driver& d, Device& device) {
    auto* g = find(d.graphs, graph);
    if (!g) return Status::InvalidHandle;
    auto e = std::make_shared<GraphExecutable>();
    e->device = &device;
    if (!collect(d, **g, device, false, e->conditions)) return Status::InvalidValue;
    for (const auto& n : (*g)->nodes) {
      e->nodes.push_back(*n);
      e->origins.push_back(n.get());
      if (auto& c = e->nodes.back().conditional) c->body = copyOf(*c->body);
    }
    *executable = keep(d.executables, std::move(e));
    return Status::Success;
  });
}
TENC_ENTRY cuGraphLaunch(void* executable, void* stream) {
  return withStream(stream, [&](Driver& d, Device&, Stream& s) {
    auto* e = find(d.executables, executable);
    // The launch has the parameters of now, whatever is changed later.
    return e ? d.submit(s, Replay{std::make_shared<GraphExecutable>(**e)}) : Status::InvalidHandle;
  });
}
TENC_ENTRY cuGraphUpload(void* executable, void*) {
  return withDevice(
      [&](Driver& d, Device&) { return find(d.executables, executable) ? Status::Success : Status::InvalidHandle; });
}
TENC_ENTRY cuGraphExecKernelNodeSetParams_v2(void* executable, void* node, const void* parameters) {
  return withDevice([&](Driver& d, Device&) {
    auto* e = find(d.executables, executable);
    if (!e) return Status::InvalidHandle;
    auto at = std::find((*e)->origins.begin(), (*e)->origins.end(), node);
    if (at == (*e)->origins.end()) return Status::InvalidValue;
    auto* command = std::get_if<KernelCommand>(&(*e)->nodes[static_cast<size_t>(at - (*e)->origins.begin())].command);
    if (!command) return Status::InvalidValue;
    const auto& p = *static_cast<const NodeParameters*>(parameters);
    LaunchShape shape{{p.gridX, p.gridY, p.gridZ}, {p.blockX, p.blockY, p.blockZ}, p.sharedBytes, false};
    return kernelCall(d, p.function, shape, p.values, p.extra, *command);
  });
}
TENC_ENTRY cuGraphGetNodes(void* graph, void** nodes, size_t* count) {
  return withDevice([&](Driver& d, Device&) {
    auto* g = find(d.graphs, graph);
    if (!g) return Status::InvalidHandle;
    size_t all = (*g)->nodes.size();
    if (nodes) {
      all = std::min(all, *count);
      for (size_t n = 0; n < all; ++n) nodes[n] = (*g)->nodes[n].get();
    }
    *count = all;
    return Status::Success;
  });
}
TENC_ENTRY cuGraphNodeGetType(void* node, int* type) {
  static constexpr int kTypes[] = {kEmptyNode, kKernelNode, kCopyNode, kFillNode, kHostNode, kKernelNode};
  const auto* n = static_cast<GraphNode*>(node);
  *type = n->conditional ? kConditionalNode : kTypes[n->command.index()];
  return 0;
}
TENC_ENTRY cuGraphDestroy(void* graph) {
  return withDevice(
      [&](Driver& d, Device&) { return d.graphs.erase(graph) ? Status::Success : Status::InvalidHandle; });
}
TENC_ENTRY cuGraphExecDestroy(void* executable) {
  return withDevice(
      [&](Driver& d, Device&) { return d.executables.erase(executable) ? Status::Success : Status::InvalidHandle; });
}
