// Second part of fusion: roots join the groups of what they read. Cycles cannot arise because every group has a rank
// above the ranks of the groups that it reads; a group's rank may be raised as long as its consumers stay above it.
#include <algorithm>

#include "ir/SmallProducts.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

class Grouping {
 public:
  Grouping(Region& region, const Context& c, Nodes& nodes) : region_(region), c_(c), nodes_(nodes) {}

  std::vector<Group> run() {
    for (auto& opPtr : region_.ops) {
      Op& op = *opPtr;
      Node& n = nodes_.at(&op);
      if (n.root) {
        placeRoot(op, n);
      } else if (n.role == Role::Single && op.kind != OpKind::Constant) {
        placeSingle(op, n);
      } else if (n.alias) {
        placeSingle(op, n);
      }
    }
    for (auto& [op, n] : nodes_) {
      if (n.group >= 0) n.group = find(n.group);
    }
    // Members in order of the region, whatever was merged.
    for (Group& g : groups_) g.members.clear();
    for (auto& opPtr : region_.ops) {
      const Node& n = nodes_.at(opPtr.get());
      if (n.group >= 0) groups_[static_cast<size_t>(n.group)].members.push_back(opPtr.get());
    }
    return std::move(groups_);
  }

 private:
  int find(int g) {
    while (groups_[static_cast<size_t>(g)].mergedInto >= 0) g = groups_[static_cast<size_t>(g)].mergedInto;
    return g;
  }
  Group& at(int g) { return groups_[static_cast<size_t>(g)]; }

  Node* nodeOf(const Value* v) {
    if (!v->op || v->op->parent != &region_) return nullptr;
    return &nodes_.at(v->op);
  }

  static bool isHeavy(const Op& op) { return op.has(Trait::Elementwise) && !op.has(Trait::Cheap); }

  /// Collects the roots that are read below `v`, with their maps, through what is inlined.
  void collect(Value* v, const DimMap& m, Node& into, std::unordered_map<const Value*, std::vector<DimMap>>& seen) {
    Node* n = nodeOf(v);
    auto& known = seen[v];
    bool memory = !n || n->root || n->alias || n->role == Role::Single || n->role == Role::Barrier;
    if (memory && known.empty()) inputs_.push_back(v);
    if (std::find(known.begin(), known.end(), m) != known.end()) return;
    known.push_back(m);
    if (memory) {
      if (n && n->group >= 0) into.sources.push_back({v, m});
      return;
    }
    const Op& op = *v->op;
    ++treeSize_;
    treePieces_ |= op.has(Trait::Piecewise);
    treeHeavy_ |= isHeavy(op);
    for (size_t i = 0; i < op.operandCount(); ++i) collect(op.operand(i), mapThrough(op, i, m), into, seen);
  }

  void collectSources(Op& op, Node& n, const ir::Dims& domain) {
    std::unordered_map<const Value*, std::vector<DimMap>> seen;
    treeSize_ = 1;
    treeHeavy_ = isHeavy(op);
    inputs_.clear();
    treePieces_ = n.role == Role::Pointwise && (op.has(Trait::Piecewise) || n.turned);
    for (size_t i = 0; i < op.operandCount(); ++i) {
      DimMap m;
      if ((n.role == Role::Reduction && op.kind != OpKind::Matmul) || (n.role == Role::Scan && i == 0)) {
        m = identity(domain.size());
      } else if (n.role == Role::Pointwise || n.role == Role::PassThrough) {
        m = mapThrough(op, i, identity(domain.size()));
        if (op.boolAttr("unrolled")) m = aroundUnrolled(op);
      }
      collect(op.operand(i), m, n, seen);
    }
  }

  void placeSingle(Op& op, Node& n) {
    Group g;
    g.kind = Group::Kind::Single;
    g.segment = n.segment;
    n.group = static_cast<int>(groups_.size());
    groups_.push_back(std::move(g));
    std::unordered_map<const Value*, std::vector<DimMap>> seen;
    for (Value* v : op.operands()) {
      if (Node* s = nodeOf(v); s && s->group >= 0) n.sources.push_back({v, std::nullopt});
    }
    finish(n.group, n);
    if (n.alias) members_[op.result()] = {};
  }

  void placeRoot(Op& op, Node& n) {
    ir::Dims domain = domainOf(op, n);
    collectSources(op, n, domain);
    const bool starts = n.role == Role::Product || n.role == Role::Update || n.role == Role::Scan || n.kept;
    int joined = starts || !c_.fuse ? -1 : join(op, n, domain);
    if (joined < 0) {
      Group g;
      g.kind = n.role == Role::Product  ? Group::Kind::Product
               : n.role == Role::Update ? Group::Kind::Update
                                        : Group::Kind::Loop;
      g.domain = domain;
      g.device = deviceOf(op);
      g.traits = &c_.traitsOf(op);
      g.segment = n.segment;
      if (n.role == Role::Reduction) g.reduced = reducedAxes(op, domain.size());
      g.scans = n.role == Role::Scan;
      g.closed = n.kept;
      if (n.role == Role::Product) g.product = &op;
      g.light = n.role == Role::Product && g.traits->smallProducts && ir::areSmallProducts(op);
      joined = static_cast<int>(groups_.size());
      groups_.push_back(std::move(g));
      members_[op.result()] = memberOf(op, n, domain);
      n.group = joined;
      finish(joined, n);
      if (c_.fuse && at(joined).kind == Group::Kind::Loop && !n.kept) joined = joinSibling(joined);
    } else {
      n.group = joined;
    }
    for (const Value* v : inputs_) {
      auto& readers = readers_[v];
      if (readers.empty() || readers.back() != joined) readers.push_back(joined);
    }
    Group& g = at(joined);
    g.piecewise |= treePieces_;
    g.size += treeSize_;
  }

  /// Merges the new group with one that reads a tensor of the domain's size as well: one pass over it serves both.
  int joinSibling(int number) {
    constexpr size_t kMostTried = 4;
    int64_t size = ir::elementCount(at(number).domain).value_or(0);
    for (const Value* v : inputs_) {
      // Two reductions may leave some of it out (positions and extrema of parts).
      const bool isWhole = v->type.size() == size;
      if (!isWhole && (!at(number).reduced || v->type.size() < size || v->type.size() >= 2 * size)) continue;
      auto it = readers_.find(v);
      if (it == readers_.end()) continue;
      size_t tried = 0;
      for (size_t i = it->second.size(); i-- > 0 && tried < kMostTried; ++tried) {
        int other = find(it->second[i]);
        Group& g = at(number);
        Group& o = at(other);
        if (other == number || o.kind != Group::Kind::Loop || !mayMerge(o, g) ||
            o.size + treeSize_ > o.traits->mostFused)
          continue;
        if ((g.reduced && treePieces_) || (!isWhole && !o.reduced)) continue;
        // An elementwise result joins a reduction when both run along rows.
        if (o.reduced.has_value() != g.reduced.has_value() && !alongRows(o.reduced ? o : g)) continue;
        if (o.rank < g.rank && !raise(other, g.rank)) continue;
        int rank = std::max(o.rank, g.rank);
        absorb(other, number);
        at(other).rank = rank;
        return other;
      }
    }
    return number;
  }

  /// The rank of a new group follows from what it reads.
  void finish(int g, const Node& n) {
    int rank = 0;
    for (const auto& s : n.sources) rank = std::max(rank, at(find(nodeOf(s.value)->group)).rank + 1);
    at(g).rank = rank;
    for (const auto& s : n.sources) {
      Group& p = at(find(nodeOf(s.value)->group));
      p.leastConsumer = std::min(p.leastConsumer, rank);
    }
  }

  static int64_t rows(const Group& g, const std::vector<bool>& reduced) {
    int64_t n = 1;
    for (size_t a = 0; a < g.domain.size(); ++a) n *= reduced[a] ? 1 : g.domain[a];
    return n;
  }

  /// Whether the op can be a member of the group at one element a point of the domain.
  bool fitsFull(const Op& op, const Node& n, const ir::Dims& domain, int number, Member& out) {
    const Group& g = at(number);
    if (g.domain != domain) return false;
    if (treePieces_ && (g.reduced || g.kind == Group::Kind::Product)) return false;
    if (treeHeavy_ && g.light) return false;
    bool reduction = n.role == Role::Reduction;
    if (g.scans && (n.role != Role::Pointwise || treePieces_ || !readsScan(n, number))) return false;
    if (reduction && (g.kind == Group::Kind::Product || g.piecewise)) return false;
    std::optional<std::vector<bool>> reduced = g.reduced;
    if (reduction) {
      auto axes = reducedAxes(op, domain.size());
      if (reduced && *reduced != axes) return false;
      reduced = axes;
    }
    if (reduced && rows(g, *reduced) < g.traits->fewRows && !g.domain.empty() && !(reduction && g.reduced)) {
      int64_t size = ir::elementCount(domain).value_or(0);
      if (size > g.traits->largeDomain) return false;
    }
    for (const auto& s : n.sources) {
      if (find(nodeOf(s.value)->group) != number) continue;
      if (!s.map) return false;
      const Member& m = members_.at(s.value);
      const ir::Dims& shape = s.value->type.shape;
      if (m.axes.size() != shape.size()) return false;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] != 1 && (*s.map)[d] != m.axes[d]) return false;
      }
    }
    out = memberOf(op, n, domain);
    return true;
  }

  /// Whether the op only says in what order of dims the result of a product is to be stored, which costs nothing where
  /// rows stay together, or matrices that are interleaved stay so.
  bool permutesProduct(const Op& op, const Node& n, int number, Member& out) {
    const Group& g = at(number);
    if (op.kind != OpKind::Permute || n.role != Role::PassThrough || g.kind != Group::Kind::Product || g.reduced)
      return false;
    const Value* v = op.operand(0);
    const Node* made = nodeOf(v);
    if (!g.traits->permutedProducts || g.domain != v->type.shape || v->uses.size() != 1 || !made->root) return false;
    const Op* product = g.product;
    if (product->kind != OpKind::Matmul || product->boolAttr("mirrored")) return false;
    const auto& perm = op.intsAttr("perm");
    const auto interleaved = ir::interleavedDim(*product);
    if (perm.back() != static_cast<int64_t>(interleaved.value_or(perm.size() - 1))) return false;
    out.axes.assign(perm.begin(), perm.end());
    return true;
  }

  /// Whether what the op reads of the group is of the scan's shape: totals of blocks are not.
  bool readsScan(const Node& n, int number) {
    return std::all_of(n.sources.begin(), n.sources.end(), [&](const Node::Source& s) {
      return find(nodeOf(s.value)->group) != number || s.value->type.shape == at(number).domain;
    });
  }

  /// Whether the op can be a member at one element a row (a point of the axes that are not reduced).
  bool fitsRow(const Op& op, const Node& n, const ir::Dims& domain, int number, Member& out) {
    const Group& g = at(number);
    if (!g.reduced || n.role != Role::Pointwise || treePieces_) return false;
    if (!op.has(Trait::Elementwise) && !op.boolAttr("unrolled")) return false;
    out.row = true;
    out.axes.assign(domain.size(), -1);
    for (const auto& s : n.sources) {
      if (find(nodeOf(s.value)->group) != number) continue;
      const Member& m = members_.at(s.value);
      if (!s.map || !m.row) return false;
      for (size_t d = 0; d < m.axes.size(); ++d) {
        if (s.value->type.shape[d] == 1) continue;
        int to = (*s.map)[d];
        if (to < 0) return false;
        int& axis = out.axes[static_cast<size_t>(to)];
        if (axis >= 0 && axis != m.axes[d]) return false;
        axis = m.axes[d];
      }
    }
    int last = -1;
    for (size_t d = 0; d < domain.size(); ++d) {
      int axis = out.axes[d];
      if (domain[d] != 1 && axis < 0) return false;
      if (axis < 0) continue;
      if (axis <= last || g.domain[static_cast<size_t>(axis)] != domain[d]) return false;
      last = axis;
    }
    int64_t size = ir::elementCount(domain).value_or(0);
    return size == rows(g, *g.reduced);
  }

  /// Whether the innermost axis is reduced.
  static bool alongRows(const Group& g) {
    for (size_t a = g.domain.size(); a-- > 0;) {
      if (g.domain[a] != 1) return (*g.reduced)[a];
    }
    return false;
  }

  bool mayMerge(const Group& a, const Group& b) const {
    if (a.device != b.device || a.segment != b.segment || a.domain != b.domain || a.closed || b.closed) return false;
    if (a.size + b.size > a.traits->mostFused || a.scans || b.scans || a.light || b.light) return false;
    if (a.reduced && b.reduced && *a.reduced != *b.reduced) return false;
    bool reduced = a.reduced || b.reduced;
    if ((a.piecewise || b.piecewise) && reduced) return false;
    bool products = a.kind == Group::Kind::Product || b.kind == Group::Kind::Product;
    if (products && (reduced || a.kind == b.kind || a.piecewise || b.piecewise)) return false;
    if (reduced && rows(a, a.reduced ? *a.reduced : *b.reduced) < a.traits->fewRows &&
        ir::elementCount(a.domain).value_or(0) > a.traits->largeDomain && !(a.reduced && b.reduced))
      return false;
    return true;
  }

  int join(Op& op, Node& n, const ir::Dims& domain) {
    const std::string_view device = deviceOf(op);
    std::vector<int> candidates;
    for (const auto& s : n.sources) {
      int g = find(nodeOf(s.value)->group);
      if (std::find(candidates.begin(), candidates.end(), g) == candidates.end()) candidates.push_back(g);
    }
    std::sort(candidates.begin(), candidates.end(), [&](int a, int b) { return at(a).rank > at(b).rank; });
    for (int target : candidates) {
      if (!open(target, n, device)) continue;
      Member member;
      bool full = fitsFull(op, n, domain, target, member);
      if (!full && !fitsRow(op, n, domain, target, member) && !permutesProduct(op, n, target, member)) continue;
      int most = -1;  // the highest rank among the groups that stay apart
      std::vector<int> merge;
      for (int other : candidates) {
        if (other == target) continue;
        Member same;
        bool fits = full && open(other, n, device) && fitsFull(op, n, domain, other, same) &&
                    mayMerge(at(target), at(other)) && merge.empty();
        if (fits && (at(other).rank == at(target).rank || raise(other, at(target).rank))) {
          merge.push_back(other);
        } else {
          most = std::max(most, at(other).rank);
        }
      }
      if (most >= at(target).rank) {
        // The groups stay apart: the target must come after them.
        bool free = most + 1 < at(target).leastConsumer;
        for (int o : merge) free = free && most + 1 < at(o).leastConsumer;
        if (!free) continue;
        at(target).rank = most + 1;
        for (int o : merge) at(o).rank = most + 1;
      }
      for (int o : merge) absorb(target, o);
      Group& g = at(target);
      if (n.role == Role::Reduction) g.reduced = reducedAxes(op, domain.size());
      for (int other : candidates) {
        int f = find(other);
        if (f != target) at(f).leastConsumer = std::min(at(f).leastConsumer, g.rank);
      }
      members_[op.result()] = std::move(member);
      return target;
    }
    return -1;
  }

  bool open(int number, const Node& n, std::string_view device) {
    const Group& g = at(number);
    bool kind = g.kind == Group::Kind::Loop || g.kind == Group::Kind::Product;
    return kind && !g.closed && g.segment == n.segment && g.device == device &&
           g.size + treeSize_ <= g.traits->mostFused;
  }

  bool raise(int number, int rank) {
    Group& g = at(number);
    if (rank < g.rank || rank >= g.leastConsumer) return false;
    g.rank = rank;
    return true;
  }

  void absorb(int target, int other) {
    Group& a = at(target);
    Group& b = at(other);
    if (b.kind == Group::Kind::Product) a.kind = Group::Kind::Product, a.product = b.product;
    if (b.reduced) a.reduced = b.reduced;
    a.piecewise |= b.piecewise;
    a.size += b.size;
    a.leastConsumer = std::min(a.leastConsumer, b.leastConsumer);
    b.mergedInto = target;
  }

  Region& region_;
  const Context& c_;
  Nodes& nodes_;
  std::vector<Group> groups_;
  std::unordered_map<const Value*, Member> members_;
  std::unordered_map<const Value*, std::vector<int>> readers_;  // groups that read a value from memory
  std::vector<const Value*> inputs_;                            // what the root at hand reads from memory
  int treeSize_ = 0;
  bool treePieces_ = false;
  bool treeHeavy_ = false;
};

}  // namespace

std::vector<Group> formGroups(Region& region, const Context& c, Nodes& nodes) {
  return Grouping(region, c, nodes).run();
}

}  // namespace tenc::passes::fusion
