// First part of fusion: which values exist in memory, which are recomputed where they are used.
#include <algorithm>
#include <string>

#include "ir/SmallProducts.h"
#include "ir/Views.h"
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

namespace {

constexpr int kNotCheap = 100;
constexpr int kMostInlined = 64;      // ops inlined into one root along a path
constexpr int kCheapTree = 4;         // ops that are recomputed rather than stored for several users
constexpr int kMostPieces = 9;        // a window of 3 x 3
constexpr int64_t kLeastTurned = 16;  // elements of a dim, for whose order in memory something is stored

/// Whether a matrix product is a loop rather than a kernel of its own kind: the target has none for the dtype, or the
/// product is too shallow to be worth it, or it is one column of integers, which add up in any order, or of small
/// matrices.
bool isLoopProduct(const Op& op, const ir::TargetTraits& traits) {
  const ir::Type& left = op.operand(0)->type;
  const bool known = traits.products.contains(left.dtype) || traits.narrowProducts.contains(left.dtype);
  if (op.kind != OpKind::Matmul) return false;
  const bool small = ir::areSmallProducts(op);
  if (small && traits.smallProducts) return false;
  const bool oneColumn = (small || !ir::isFloat(left.dtype)) && op.result()->type.shape.back() == 1;
  return !known || oneColumn || left.shape.back() <= traits.loopDepth;
}

bool runsOften(const Op& op) {
  return op.kind == OpKind::Fill ||
         (op.kind == OpKind::Broadcast && op.result()->type.size() != op.operand(0)->type.size());
}

class Analysis {
 public:
  Analysis(Region& region, const Context& c, const Copies& copies, Nodes& nodes)
      : region_(region), c_(c), copies_(copies), nodes_(nodes), updates_(region, nodes) {}

  void run() {
    forward();
    for (auto it = region_.ops.rbegin(); it != region_.ops.rend(); ++it) backward(**it);
  }

 private:
  Node* nodeOf(const Value* v) {
    if (!v->op || v->op->parent != &region_) return nullptr;
    return &nodes_.at(v->op);
  }

  Role role(const Op& op) const {
    const bool loop = op.has(Trait::Product) && isLoopProduct(op, c_.traitsOf(op));
    return loop ? Role::Reduction : roleOf(op);
  }

  void forward() {
    int position = 0;
    int segment = 0;
    for (auto& opPtr : region_.ops) {
      Op& op = *opPtr;
      Node n;
      n.role = role(op);
      hasLarge_ =
          hasLarge_ || std::any_of(op.results.begin(), op.results.end(), [](const auto& r) { return isLarge(*r); });
      n.position = position++;
      n.segment = segment;
      if (op.kind == OpKind::UpdateSlice && updatesInPlace(op)) n.role = Role::Update;
      if (n.role == Role::Barrier) ++segment;
      bool cheap = n.role == Role::PassThrough || (op.has(Trait::Elementwise) && op.has(Trait::Cheap));
      n.cost = !cheap ? kNotCheap : n.role == Role::PassThrough ? 0 : 1;
      n.pieces = op.has(Trait::Piecewise) ? 1 : 0;
      n.reads = op.operandCount() == 0 && op.kind != OpKind::Iota && op.kind != OpKind::Constant;
      for (const Value* v : op.operands()) {
        const Node* o = nodeOf(v);
        n.reads |= o == nullptr || o->reads;
        if (!o) continue;
        // What is costly and read elsewhere too will be in memory anyway; else it is better computed together with
        // this.
        const bool once = v->uses.size() == 1;
        const bool joins = o->role == Role::Product || o->role == Role::Reduction || once;
        if (o->cost <= kCheapTree || (joins && o->role != Role::Single && o->role != Role::Barrier))
          n.cost = std::min(kNotCheap, n.cost + o->cost);
        const bool isEvaluated = o->role == Role::PassThrough || o->role == Role::Pointwise;
        if (isEvaluated && (o->cost <= kCheapTree || once)) n.pieces += o->pieces;
      }
      if (n.pieces > kMostPieces) n.pieces = n.role == Role::Pointwise ? kMostPieces + 1 : 0;
      nodes_.emplace(&op, n);
      // A root starts anew for what reads it.
      if (n.pieces > kMostPieces) nodes_.at(&op).pieces = 0, nodes_.at(&op).materialised = true;
    }
  }

  /// Whether update_slice writes into the memory of operand 0 rather than making a new tensor in pieces.
  bool updatesInPlace(const Op& op) {
    const Value* old = op.operand(0);
    const Node* n = nodeOf(old);
    // Of an enclosing region only what is in memory can be written to.
    if (!n && old->op && roleOf(*old->op) == Role::PassThrough) return isStrided(op);
    if (isStrided(op)) return true;
    if (old->uses.size() != 1 && !(isLittlePart(*op.operand(1), *old) && updates_.diesAt(*old, op))) return false;
    return !n || n->role == Role::Single || n->role == Role::Update || n->role == Role::Barrier;
  }

  static bool isStrided(const Op& op) {
    const auto& steps = op.intsAttr("steps");
    return std::any_of(steps.begin(), steps.end(), [](int64_t s) { return s != 1; });
  }

  void materialise(const Value* v) {
    if (Node* n = nodeOf(v)) n->materialised = true;
  }

  /// Whether a value of an enclosing region is read through: nothing puts it in memory for this region.
  static bool readThrough(const Value* outer) { return outer->op && roleOf(*outer->op) == Role::PassThrough; }

  /// `v` must be a strided view of something in memory.
  void view(const Value* v) {
    Node* n = nodeOf(v);
    if (!n || n->materialised) return;
    auto base = [&](const Value* x) {
      const Node* b = nodeOf(x);
      return b ? b->role != Role::PassThrough : !readThrough(x);
    };
    // A single number is handed to a kernel as a scalar: copies of it are no view.
    auto found = n->role == Role::PassThrough ? ir::stridedView(v, base) : std::nullopt;
    if (found && (found->base->type.rank() > 0 || v->type.rank() == 0)) {
      n->viewed = true;
    } else {
      n->materialised = true;
    }
  }

  static bool isInMemory(const Value* v) { return !v->op || roleOf(*v->op) != Role::PassThrough; }

  /// The operand whose vectors are loaded must have its last dim side by side in memory: of a convolution the weights
  /// when columns are channels, else the input; of a product of 16 bits the left one, which is read by pairs, and of
  /// others where it is read far apart.
  bool needsUnitStride(const Op& op, size_t operand) const {
    if (!c_.traitsOf(op).sideBySide) return false;
    if (op.kind == OpKind::Matmul)
      return operand == 0 && role(op) == Role::Product &&
             (c_.traitsOf(op).narrowProducts.contains(op.operand(0)->type.dtype) || isReadFarApart(op));
    return op.has(Trait::LoadsColumns) && operand == (op.boolAttr("out_last") ? 1u : 0u);
  }

  /// Whether the left operand of a product is better laid side by side first. Tiles of the result read it once for each
  /// panel of columns, term after term; where each of these is in a page of its own, nothing fetches it ahead.
  bool isReadFarApart(const Op& product) const {
    const ir::TargetTraits::LeftAcross& least = c_.traitsOf(product).leftAcross;
    const ir::Type& t = product.operand(0)->type;
    const int64_t rows = t.shape[t.shape.size() - 2], size = ir::byteSize(t.dtype);
    if (rows < least.rows || product.result()->type.shape.back() < least.columns) return false;
    const auto v = ir::stridedView(product.operand(0), isInMemory);
    const int64_t apart = v ? v->strides.back() * size : 0;
    if (apart < least.apart) return false;
    if (rows * t.shape.back() * size < (apart < least.page ? least.bytes : least.bytesOfPages)) return false;
    const std::string device(deviceOf(product));
    if (c_.capacity &&
        c_.capacity(device) / static_cast<uint64_t>(least.memory) < static_cast<uint64_t>(t.size() * size))
      return false;
    // A matrix that a batch repeats would be laid out for each part of it.
    for (size_t d = 0; d + 2 < t.shape.size(); ++d) {
      if (t.shape[d] > 1 && v->strides[d] == 0) return false;
    }
    return true;
  }

  /// What a product reads as a matrix.
  void factor(const Op& op, size_t operand) {
    const Value* v = op.operand(operand);
    if (const auto copy = copies_.find(v); copy != copies_.end()) {
      materialise(copy->second);
      nodes_.at(v->op).viewed = true;
    } else {
      needsUnitStride(op, operand) ? unitView(v) : view(v);
    }
  }

  void unitView(const Value* v) {
    auto dense = ir::stridedView(v, isInMemory);
    if (dense && (dense->strides.back() == 1 || v->type.shape.back() == 1)) {
      view(v);
    } else {
      materialise(v);
    }
  }

  /// `v` is evaluated in a nested region or another segment: through what is read through, from memory.
  void fromElsewhere(const Value* v) {
    Node* n = nodeOf(v);
    if (!n) return;
    (n->role == Role::PassThrough ? n->foreign : n->materialised) = true;
  }

  /// `op`, whose node is `by`, reads `v`.
  void evaluate(const Value* v, const Op& op, const Node& by, bool repeated, bool reduced) {
    Node* n = nodeOf(v);
    if (!n) return;
    const bool within = by.inlined || (by.role == Role::PassThrough && !by.root);
    if (hasLarge_) addPlaces(n->places, placesOfOperands(op, within ? by.places : EvaluationPlaces{{&op, 0, {}}}));
    n->uses += by.inlined || by.role == Role::PassThrough ? by.uses : 1;
    n->repeated |= repeated;
    n->reduced |= reduced;
    n->foreign |= n->segment != by.segment || (by.foreign && !by.root);
    n->budget = std::max(n->budget, by.budget + 1);
  }

  /// Operands of an op that is evaluated element by element.
  void evaluateOperands(const Op& op, const Node& n) {
    // A number of another device is handed over: what it is computed from must not be read from here.
    for (const Value* v : op.operands())
      if (isElsewhere(*v, deviceOf(op))) materialise(v);
    bool keep = !n.root;  // what holds for an inlined op holds for what it reads
    bool repeated = keep && n.repeated;
    bool reduced = (keep && n.reduced) || n.role == Role::Reduction || op.boolAttr("unrolled");
    if (n.role == Role::PassThrough) {
      for (const Value* v : op.operands()) evaluate(v, op, n, repeated || runsOften(op), reduced);
    } else if (op.has(Trait::Gathers)) {
      view(op.operand(0));
      bool spread = op.kind == OpKind::DynamicSlice || op.result()->type.size() != op.operand(1)->type.size();
      for (size_t i = 1; i < op.operandCount(); ++i) evaluate(op.operand(i), op, n, repeated || spread, reduced);
    } else if (op.kind == OpKind::Matmul) {
      // One column takes each element of the left matrix once.
      const bool oneColumn = op.result()->type.shape.back() == 1;
      evaluate(op.operand(0), op, n, !oneColumn, true);
      evaluate(op.operand(1), op, n, true, true);
    } else {
      for (size_t i = 0; i < op.operandCount(); ++i) {
        const Value* v = op.operand(i);
        bool spread = v->type.rank() == 0 && op.result()->type.rank() > 0 && n.role == Role::Pointwise;
        evaluate(v, op, n, repeated || spread, reduced);
      }
    }
  }

  /// Values of this region that ops of nested regions read.
  void nested(const Op& op) {
    for (const auto& r : op.regions) {
      for (const auto& inner : r->ops) {
        const Role role = this->role(*inner);
        for (size_t i = 0; i < inner->operandCount(); ++i) {
          const Value* v = inner->operand(i);
          bool gathered = inner->has(Trait::Gathers);
          if (!inner->results.empty() && isElsewhere(*v, deviceOf(*inner))) materialise(v);
          const bool updates = role == Role::Update || (inner->kind == OpKind::UpdateSlice && isStrided(*inner));
          if (i == 0 && (updates || (inner->kind == OpKind::UpdateSlice && isLittlePart(*inner->operand(1), *v))))
            if (const Op* around = within(inner.get(), region_)) updates_.keepParts(*v, *around);
          if (role == Role::Barrier || role == Role::Single || (updates && i == 0)) {
            materialise(v);
          } else if (needsUnitStride(*inner, i)) {
            unitView(v);
          } else if (role == Role::Product || role == Role::PassThrough || (gathered && i == 0)) {
            view(v);
          } else {
            fromElsewhere(v);
          }
        }
        nested(*inner);
      }
    }
  }

  void backward(Op& op) {
    Node& n = nodes_.at(&op);
    switch (n.role) {
      case Role::Barrier:
      case Role::Single:
        nested(op);
        for (const Value* v : op.operands()) materialise(v);
        return;
      case Role::PassThrough: passThrough(op, n); return;
      case Role::Product:
        if (unused(op, n)) return;
        n.root = true;
        for (size_t i = 0; i < op.operandCount(); ++i) {
          Value* v = op.operand(i);
          if (isFactor(op, i)) {
            factor(op, i);
          } else {
            if (isElsewhere(*v, deviceOf(op))) materialise(v);
            evaluate(v, op, n, true, true);
          }
        }
        return;
      case Role::Update:
        if (unused(op, n)) return;
        n.root = true;
        update(op, n);
        return;
      case Role::Reduction:
        if (unused(op, n)) return;
        n.root = true;
        storeTurned(op);
        evaluateOperands(op, n);
        return;
      case Role::Scan:
        if (unused(op, n)) return;
        n.root = true;
        evaluate(op.operand(0), op, n, false, true);
        if (op.operandCount() > 1) materialise(op.operand(1));
        return;
      case Role::Pointwise:
        if (unused(op, n)) return;
        decide(op, n);
        evaluateOperands(op, n);
        return;
    }
  }

  /// How tensors of the size of what is reduced lie in memory.
  struct Directions {
    bool along = false, across = false;
    int left = 32;  ///< ops to look at
  };
  void directions(const Value* v, int64_t size, bool turned, Directions& found) {
    const Node* n = nodeOf(v);
    const bool whole = v->type.size() == size;
    if (--found.left < 0 || !whole) return;
    const bool computed = n && n->role == Role::Pointwise && v->op->has(Trait::Elementwise) && v->uses.size() == 1;
    const bool moved = n && (v->op->kind == OpKind::Permute || v->op->kind == OpKind::Reshape);
    if (!computed && !moved) {
      if (!n || n->reads) (turned ? found.across : found.along) = true;
      return;
    }
    if (v->op->kind == OpKind::Permute) {
      // The last dim of more than a few elements stays last, or does not.
      const auto& perm = v->op->intsAttr("perm");
      const ir::Dims& shape = v->type.shape;
      size_t last = perm.size();
      while (last > 0 && shape[last - 1] == 1) --last;
      bool moves = false;
      for (size_t d = 0; d + 1 < last; ++d)
        moves = moves || (perm[d] > perm[last - 1] && std::min(shape[d], shape[last - 1]) >= kLeastTurned);
      turned ^= moves;
    }
    for (const Value* operand : v->op->operands()) directions(operand, size, turned, found);
  }

  /// Of all values of a region, and of those in it, on a device.
  static uint64_t bytesOf(const Region& region, std::string_view device) {
    uint64_t bytes = 0;
    for (const auto& op : region.ops) {
      for (const auto& v : op->results)
        if (deviceOf(*op) == device) bytes += static_cast<uint64_t>(v->type.bytes());
      for (const auto& inner : op->regions) bytes += bytesOf(*inner, device);
    }
    return bytes;
  }

  /// Stores what is reduced where an elementwise kernel reads it better.
  void storeTurned(const Op& reduction) {
    const Value* v = reduction.operand(0);
    const auto& traits = c_.traitsOf(reduction).reductions;
    const int64_t size = v->type.size();
    if (!c_.fuse || reduction.kind == OpKind::Matmul || size < traits.turned) return;
    Node* n = nodeOf(v);
    while (n && n->role == Role::PassThrough && v->op->operandCount() == 1) n = nodeOf(v = v->op->operand(0));
    if (!n || n->role != Role::Pointwise || v->type.size() != size) return;
    Directions found;
    directions(v, size, false, found);
    if (!found.along || !found.across || found.left < 0) return;
    // A program that fits without must still fit: as if all values were in memory at once.
    const std::string device(deviceOf(reduction));
    if (c_.capacity && c_.capacity(device) < bytesOf(*region_.func->body, device)) return;
    n->materialised = n->turned = true;
  }

  static bool unused(const Op& op, const Node& n) {
    return op.result()->unused() || (!n.materialised && !n.viewed && n.uses == 0 && !n.foreign);
  }

  void passThrough(Op& op, Node& n) {
    if (op.kind == OpKind::Constant) return;
    for (const Value* v : op.operands()) {
      if (n.viewed) view(v);
      if (n.foreign) fromElsewhere(v);
      if (isElsewhere(*v, deviceOf(op))) materialise(v);
    }
    if (n.materialised) {
      auto base = [&](const Value* x) {
        const Node* b = nodeOf(x);
        return b ? b->role != Role::PassThrough || b->materialised : !readThrough(x);
      };
      // A reshape or slice that is contiguous in an operand in memory is a view of it.
      // Scalars are read from the start of a buffer, so they are no views.
      if (!n.kept && ((op.result()->type.rank() > 0 && isPart(op) && base(op.operand(0))) || isPartOnlyMoved(op))) {
        n.alias = true;
        materialise(op.operand(0));
        return;
      }
      n.root = true;
      n.budget = 0;
      Node once = n;
      once.uses = 1;
      evaluateOperands(op, once);
      return;
    }
    if (n.uses > 0) evaluateOperands(op, n);
  }

  /// Whether the op's result is a contiguous part of its operand.
  static bool isPart(const Op& op) {
    if (op.kind != OpKind::Reshape && op.kind != OpKind::Slice) return false;
    auto v = ir::stridedView(op.result(), [&](const Value* x) { return x == op.operand(0); });
    return v && ir::isDense(*v, op.result()->type.shape);
  }

  /// Whether something else puts the value in memory.
  bool isStored(const Value* v) {
    const Node* n = nodeOf(v);
    if (!n) return !readThrough(v);
    return n->materialised || (n->role != Role::PassThrough && n->role != Role::Pointwise);
  }

  /// Whether the op is the last of a chain of such parts, of something in the memory of a device other than the host,
  /// and only moved to other devices: the move starts where it lies. What is written to in place is not kept for that.
  bool isPartOnlyMoved(const Op& op) {
    if (deviceOf(op) == ir::DeviceTable::kHost || !c_.fuse || !isMoved(*op.result())) return false;
    const Op* first = &op;
    while (isPart(*first) && !isStored(first->operand(0)) && nodeOf(first->operand(0))) first = first->operand(0)->op;
    if (!isPart(*first)) return false;
    const Value* whole = first->operand(0);
    return isStored(whole) && std::all_of(whole->uses.begin(), whole->uses.end(), [](const auto& use) {
             const bool updates =
                 use.operand == 0 && (use.user->kind == OpKind::UpdateSlice || roleOf(*use.user) == Role::Update);
             return !updates && use.user->regions.empty() && !use.user->has(Trait::Terminator);
           });
  }
  static bool isMoved(const Value& v) {
    return !v.uses.empty() && std::all_of(v.uses.begin(), v.uses.end(),
                                          [](const Value::Use& use) { return use.user->kind == OpKind::Transfer; });
  }

  void update(Op& op, const Node& n) {
    materialise(op.operand(0));
    updates_.keepParts(*op.operand(0), op);
    for (size_t i = 1; i < op.operandCount(); ++i) {
      Value* v = op.operand(i);
      const Node* o = nodeOf(v);
      if (o && !isElsewhere(*v, deviceOf(op)) && (o->role == Role::PassThrough || mayJoin(op, *o, *v)) &&
          !readsWritten(v, op, n.position)) {
        if (op.kind == OpKind::Scatter) storeBehindReshapes(op, v);
        evaluate(v, op, n, i > 1 && v->type.size() != op.operand(1)->type.size(), true);
      } else {
        if (o && o->role == Role::PassThrough && updates_.diesAt(*op.operand(0), op)) nodes_.at(v->op).kept = true;
        materialise(v);
      }
    }
  }

  /// What a scatter reads through reshapes alone is stored if it would be where the scatter reads it itself.
  void storeBehindReshapes(const Op& scatter, const Value* v) {
    if (v->op == nullptr || v->op->kind != OpKind::Reshape) return;
    while (v->op != nullptr && v->op->kind == OpKind::Reshape) v = v->op->operand(0);
    if (const Node* n = nodeOf(v); n && n->role == Role::Pointwise && !mayJoin(scatter, *n, *v)) materialise(v);
  }

  /// Whether `v`, an operand of an update, may be computed by the kernel that stores it. A scatter goes element by
  /// element, so that only light code is better off there than in vectors and memory.
  bool mayJoin(const Op& update, const Node& n, const Value& v) const {
    const bool light = n.cost <= kCheapTree;
    return c_.fuse && n.role == Role::Pointwise && v.op->has(Trait::Elementwise) &&
           (light || (update.kind != OpKind::Scatter && v.uses.size() == 1));
  }

  /// Whether evaluating `v` at the update would read a tensor that this update, or one before it, writes: that tensor
  /// would have to be kept, and copied as a whole. (The result is right either way: see Emission::bringUpdate.)
  bool readsWritten(Value* v, const Op& update, int position) {
    constexpr size_t kMostSeen = 64;
    const Value* old = update.operand(0);
    const Node* p = nodeOf(old);
    // The old value may itself be a view of what `v` reads; not when it is made from single elements.
    if (p && p->role == Role::PassThrough && old->op->operandCount() > 0 && old->op->operand(0)->type.rank() > 0)
      return true;
    std::vector<Value*> seen = {v};
    for (size_t i = 0; i < seen.size(); ++i) {
      Value* at = seen[i];
      if (at == old || seen.size() > kMostSeen) return true;
      const Node* n = nodeOf(at);
      if (!n || (n->role != Role::PassThrough && n->role != Role::Pointwise)) {
        if (isWrittenBefore(*at, position)) return true;
        continue;
      }
      for (Value* o : at->op->operands()) {
        if (std::find(seen.begin(), seen.end(), o) == seen.end()) seen.push_back(o);
      }
    }
    return false;
  }

  bool isWrittenBefore(const Value& v, int position) {
    return std::any_of(v.uses.begin(), v.uses.end(), [&](const Value::Use& use) {
      if (use.operand != 0 || use.user->parent != &region_) return false;
      const Node& n = nodes_.at(use.user);
      return n.role == Role::Update && n.position < position;
    });
  }

  /// Large tensors. What such a tensor consists of goes where it goes.
  bool isBetterRepeated(const Op& op, const Node& n) {
    if (n.follows) return true;
    const auto followers = betterRepeated(op, n.places, [&](const Value& v) {
      const Node* of = nodeOf(&v);
      if (of == nullptr || of->materialised || of->viewed || of->foreign) return false;
      return of->role == Role::PassThrough ||
             (of->role == Role::Pointwise && v.op->has(Trait::Elementwise) && v.op->has(Trait::Cheap));
    });
    for (const Op* follower : followers.value_or(std::vector<const Op*>{})) nodes_.at(follower).follows = true;
    return followers.has_value();
  }

  void decide(Op& op, Node& n) {
    bool mustStore = !c_.fuse || n.materialised || n.viewed || n.foreign || n.budget > kMostInlined;
    bool once = n.uses == 1 && !n.repeated;
    const bool mayRepeat = !n.reads && n.cost <= c_.traitsOf(op).indexOps;
    bool cheap = (n.cost <= kCheapTree && n.uses <= kCheapTree && !n.repeated) || mayRepeat;
    if (!mustStore && !once && !cheap && !n.repeated) cheap = isBetterRepeated(op, n);
    // Pieces are cut along the loops of an elementwise kernel; elsewhere the tensor is made first.
    if (n.reduced && op.has(Trait::Piecewise)) mustStore = true;
    n.inlined = !mustStore && (once || cheap);
    n.root = !n.inlined;
    if (n.root) n.budget = 0;
  }

  Region& region_;
  const Context& c_;
  const Copies& copies_;
  Nodes& nodes_;
  BehindUpdates updates_;
  bool hasLarge_ = false;
};

}  // namespace

void analyse(Region& region, const Context& c, const Copies& copies, Nodes& nodes) {
  Analysis(region, c, copies, nodes).run();
}

}  // namespace tenc::passes::fusion
