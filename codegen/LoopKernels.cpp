// Loop kernels: elementwise groups in boxes, row-wise chains in stages.
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "codegen/KernelBuilder.h"

namespace tenc::codegen {

using ir::DType;
using ir::OpKind;
using ir::Trait;

namespace {

constexpr int kMostRefinements = 64;
constexpr size_t kMostBoxes = 4096;

class LoopBuilder {
 public:
  explicit LoopBuilder(KernelBuild& g) : g_(g), k_(g.kernel), region_(*g.fused.regions[0]) {}

  void build() {
    findDomain();
    Kernel clean = k_;
    for (int i = 0; i <= kMostRefinements; ++i) {
      refinement_.reset();
      if (reductions_.empty()) {
        std::vector<VarRange> box;
        for (int64_t n : g_.space.outer) box.push_back({0, n, n});
        boxes(std::move(box));
      } else {
        rows();
      }
      k_.outer = g_.space.outer;
      if (!refinement_ || !k_.error.empty()) return;
      g_.space.refine(*refinement_);
      k_ = clean;
      g_.reductions.clear();
      g_.saved.clear();
      if (i + 1 == kMostRefinements) refinable_ = false;
    }
  }

 private:
  struct Output {
    uint32_t buffer;
    const ir::Value* value;
    int level;  ///< the stage of reductions that it depends on
    bool full;  ///< one element a point of the domain; otherwise one an outer point
    Index index;
  };

  static bool isReduction(const ir::Op& op) {
    return (op.has(Trait::Reduction) && !op.boolAttr("unrolled")) || op.kind == OpKind::Matmul;
  }

  void findDomain() {
    for (const auto& op : region_.ops) {
      if (isReduction(*op)) reductions_.push_back(op.get());
    }
    Space& s = g_.space;
    if (reductions_.empty()) {
      s.domain = g_.fused.result(0)->type.shape;
      s.reduced.assign(s.domain.size(), false);
    } else if (reductions_[0]->kind == OpKind::Matmul) {
      s.domain = reductions_[0]->result()->type.shape;
      s.domain.push_back(reductions_[0]->operand(0)->type.shape.back());
      s.reduced.assign(s.domain.size(), false);
      s.reduced.back() = true;
    } else {
      s.domain = reductions_[0]->operand(0)->type.shape;
      s.reduced.assign(s.domain.size(), false);
      for (int64_t a : reductions_[0]->intsAttr("axes")) s.reduced[static_cast<size_t>(a)] = true;
    }
    for (int64_t n : s.domain) s.factors.push_back({n});
    s.number();
  }

  /// How many reductions, one after the other, `v` depends on.
  int level(const ir::Value* v) {
    if (!v->op || v->op->parent != &region_) return 0;
    if (auto it = levelMemo_.find(v); it != levelMemo_.end()) return it->second;
    int most = 0;
    for (const ir::Value* o : v->op->operands()) most = std::max(most, level(o));
    if (isReduction(*v->op)) ++most;
    return levelMemo_[v] = most;
  }

  /// The index of an output: its dims that are not 1 are the (outer) axes that are not 1, in order.
  bool place(Output& out) {
    const Space& s = g_.space;
    const ir::Dims& shape = out.value->type.shape;
    for (bool full : {false, true}) {
      if (!full && (reductions_.empty() || level(out.value) == 0)) continue;
      out.index.dims.assign(shape.size(), Affine::constant(0));
      size_t d = 0;
      bool fits = true;
      for (size_t a = 0; a < s.domain.size() && fits; ++a) {
        if (s.domain[a] == 1 || (!full && s.reduced[a])) continue;
        while (d < shape.size() && shape[d] == 1) ++d;
        fits = d < shape.size() && shape[d] == s.domain[a];
        if (fits) out.index.dims[d++] = s.along(a);
      }
      while (d < shape.size() && shape[d] == 1) ++d;
      if (fits && d == shape.size()) {
        out.full = full;
        return true;
      }
    }
    k_.error = "a result that fits neither the domain nor its rows";
    return false;
  }

  std::vector<Output> outputs() {
    std::vector<Output> outs;
    const ir::Op* yield = region_.terminator();
    for (uint32_t i = 0; i < k_.buffers.size(); ++i) {
      if (k_.bufferResult[i] < 0) continue;
      Output o{i, yield->operand(static_cast<size_t>(k_.bufferResult[i])), 0, true, {}};
      if (!place(o)) return {};
      o.level = level(o.value);
      outs.push_back(std::move(o));
    }
    return outs;
  }

  void store(StageBuilder& b, const Output& o) {
    ExprId e = b.value(o.value, o.index);
    if (!b.stopped()) b.stage.stores.push_back({b.access(o.buffer, linearise(o.index, o.value->type.shape)), e});
  }

  void boxes(std::vector<VarRange> box) {
    if (refinement_ || !k_.error.empty()) return;
    StageBuilder b(g_, box, k_.stages.size() < kMostBoxes);
    b.refinable = refinable_;
    for (const Output& o : outputs()) store(b, o);
    if (b.failed()) return;
    if (b.refinement) {
      refinement_ = b.refinement;
      return;
    }
    if (b.cut) {
      auto low = box;
      low[b.cut->var].hi = b.cut->at;
      box[b.cut->var].lo = b.cut->at;
      boxes(std::move(low));
      boxes(std::move(box));
      return;
    }
    for (const VarRange& r : box) {
      b.stage.outerLo.push_back(r.lo);
      b.stage.outerHi.push_back(r.hi);
    }
    k_.stages.push_back(std::move(b.stage));
  }

  void rows() {
    std::vector<Output> outs = outputs();
    if (!k_.error.empty()) return;
    std::map<int, std::vector<const ir::Op*>> byLevel;
    for (const ir::Op* r : reductions_) byLevel[level(r->result())].push_back(r);
    int last = byLevel.rbegin()->first;
    Index identity;
    for (size_t a = 0; a < g_.space.domain.size(); ++a) identity.dims.push_back(g_.space.along(a));
    planSaved(byLevel, outs, last);
    std::vector<VarRange> box;
    for (int64_t n : g_.space.outer) box.push_back({0, n, n});
    size_t outerVars = box.size();
    for (int64_t n : g_.space.inner) box.push_back({0, n, n});
    for (int l = 1; l <= last + 2; ++l) {
      bool rowStage = l == last + 2;  // outputs of one element an outer point
      StageBuilder b(g_, box, false);
      b.refinable = refinable_;
      std::vector<std::pair<const ir::Op*, uint32_t>> made;
      if (l <= last) {
        for (const ir::Op* r : byLevel[l]) made.emplace_back(r, reduce(b, *r, identity));
      }
      for (const Output& o : outs) {
        if (o.full ? !rowStage && std::min(o.level, last) + 1 == l : rowStage) store(b, o);
      }
      if (b.failed()) return;
      if (b.refinement) {
        refinement_ = b.refinement;
        return;
      }
      for (const ir::Value* v : savedAt_[l]) {
        ExprId e = b.value(v, identity);
        uint32_t buffer = static_cast<uint32_t>(k_.buffers.size());
        int64_t row = 1;
        Affine position;
        for (size_t i = g_.space.inner.size(); i-- > 0;) {
          position.add(Affine::variable(outerVars + i), row);
          row *= g_.space.inner[i];
        }
        k_.buffers.push_back({v->type.dtype, row, Buffer::Role::Scratch});
        k_.bufferOperand.push_back(-1);
        k_.bufferResult.push_back(-1);
        b.stage.stores.push_back({b.access(buffer, position), e});
        g_.saved[v] = buffer;
      }
      for (const auto& [op, number] : made) g_.reductions[op] = number;
      if (b.stage.reductions.empty() && b.stage.stores.empty()) continue;
      b.stage.outerLo.assign(outerVars, 0);
      b.stage.outerHi = g_.space.outer;
      if (!rowStage) {
        b.stage.innerLo.assign(g_.space.inner.size(), 0);
        b.stage.innerHi = g_.space.inner;
      }
      k_.stages.push_back(std::move(b.stage));
    }
  }

  uint32_t reduce(StageBuilder& b, const ir::Op& op, const Index& identity) {
    Reduction r{};
    DType result = op.result()->type.dtype;
    ExprId e = 0;
    r.result = result;
    r.accumulator = result;
    if (op.kind == OpKind::Matmul) {
      r.kind = Reduction::Kind::Sum;
      r.accumulator = ir::accumulatorOf(result);
      size_t rank = identity.dims.size();  // batch..., m, n, k
      Index a{{identity.dims.begin(), identity.dims.end() - 2}, std::nullopt};
      a.dims.push_back(identity.dims[rank - 1]);
      Index c{{identity.dims.begin(), identity.dims.end() - 3}, std::nullopt};
      c.dims.push_back(identity.dims[rank - 1]);
      c.dims.push_back(identity.dims[rank - 2]);
      ExprId x = b.value(op.operand(0), a);
      ExprId y = b.value(op.operand(1), c);
      if (b.stopped()) return 0;
      e = b.op(OpKind::Mul, r.accumulator, {b.cast(x, r.accumulator), b.cast(y, r.accumulator)});
    } else {
      e = b.value(op.operand(0), identity);
      if (b.stopped()) return 0;
      switch (op.kind) {
        case OpKind::Sum: r.kind = Reduction::Kind::Sum; break;
        case OpKind::Prod: r.kind = Reduction::Kind::Prod; break;
        case OpKind::ReduceMax: r.kind = Reduction::Kind::Max; break;
        case OpKind::ReduceMin: r.kind = Reduction::Kind::Min; break;
        case OpKind::Any: r.kind = Reduction::Kind::Any; break;
        case OpKind::All: r.kind = Reduction::Kind::All; break;
        case OpKind::ArgMax: r.kind = Reduction::Kind::ArgMax; break;
        case OpKind::ArgMin: r.kind = Reduction::Kind::ArgMin; break;
        default: k_.error = "no kernel form for reduction " + std::string(op.info().mnemonic); return 0;
      }
      if (r.kind == Reduction::Kind::ArgMax || r.kind == Reduction::Kind::ArgMin) {
        r.accumulator = op.operand(0)->type.dtype;
        Affine position;
        int64_t step = 1;
        for (size_t a = g_.space.domain.size(); a-- > 0;) {
          if (!g_.space.reduced[a]) continue;
          position.add(g_.space.along(a), step);
          step *= g_.space.domain[a];
        }
        r.position = b.affine(position);
      } else {
        if (op.kind == OpKind::Sum || op.kind == OpKind::Prod) r.accumulator = ir::accumulatorOf(result);
        if (r.kind == Reduction::Kind::Sum) e = narrowTerms(b, e, r);
        e = b.cast(e, r.accumulator);
      }
    }
    r.value = e;
    k_.reductions.push_back(r);
    uint32_t number = static_cast<uint32_t>(k_.reductions.size() - 1);
    b.stage.reductions.push_back(number);
    return number;
  }

  /// Sums of so few narrow integers that none leaves 32 bits are accumulated in these: what is added, before it is made
  /// wide.
  ExprId narrowTerms(const StageBuilder& b, ExprId e, Reduction& r) const {
    constexpr int64_t kMostSum = std::numeric_limits<int32_t>::max();
    if (ir::isFloat(r.accumulator) || ir::byteSize(r.accumulator) != 8) return e;
    const Expr& term = b.stage.exprs[e];
    const bool widened = term.dtype == r.accumulator && term.kind == Expr::Kind::Op && term.op == OpKind::Cast;
    const ExprId from = widened ? term.args[0] : e;
    const DType narrow = b.stage.exprs[from].dtype;
    if (ir::isFloat(narrow) || ir::byteSize(narrow) > 2) return e;
    int64_t elements = 1;
    for (size_t a = 0; a < g_.space.domain.size(); ++a)
      if (g_.space.reduced[a]) elements *= g_.space.domain[a];
    const int64_t most = narrow == DType::Bool ? 1 : int64_t{1} << (8 * ir::byteSize(narrow));
    if (elements > kMostSum / most) return e;
    r.accumulator = DType::I32;
    return from;
  }

  /// Decides which expensive values are kept in a scratch row because two stages need them (exp in softmax).
  void planSaved(std::map<int, std::vector<const ir::Op*>>& byLevel, const std::vector<Output>& outs, int last) {
    savedAt_.clear();
    const Space& s = g_.space;
    int64_t row = 1, bytes = 0;
    bool innermost = false;  // only rows that are contiguous in memory
    for (size_t a = 0; a < s.domain.size(); ++a) {
      if (s.reduced[a]) row *= s.domain[a];
      if (s.domain[a] != 1) innermost = s.reduced[a];
    }
    if (!innermost || row > g_.traits.scratchRow) return;
    std::unordered_map<const ir::Value*, int> firstStage;
    std::unordered_set<const ir::Value*> kept;
    for (int l = 1; l <= last + 1; ++l) {
      std::unordered_set<const ir::Value*> seen;
      std::vector<const ir::Value*> work;
      if (l <= last) {
        for (const ir::Op* r : byLevel[l]) {
          if (r->kind != OpKind::Matmul) work.push_back(r->operand(0));
        }
      }
      for (const Output& o : outs) {
        if (o.full && std::min(o.level, last) + 1 == l) work.push_back(o.value);
      }
      while (!work.empty()) {
        const ir::Value* v = work.back();
        work.pop_back();
        if (!v->op || v->op->parent != &region_ || !seen.insert(v).second) continue;
        if (v->type.shape != s.domain || isReduction(*v->op)) continue;
        const ir::Op& op = *v->op;
        bool expensive = (op.has(Trait::Elementwise) && !op.has(Trait::Cheap)) || op.has(Trait::Gathers) ||
                         op.has(Trait::Random) || op.boolAttr("unrolled");
        if (expensive) {
          auto [it, fresh] = firstStage.emplace(v, l);
          if (!fresh && it->second != l) {
            const int64_t size = row * static_cast<int64_t>(ir::byteSize(v->type.dtype));
            if (!kept.contains(v) && bytes + size <= g_.traits.scratchBytes) {
              bytes += size;
              kept.insert(v);
              savedAt_[it->second].push_back(v);
            }
            if (kept.contains(v)) continue;
          }
        }
        if (op.has(Trait::Elementwise)) work.insert(work.end(), op.operands().begin(), op.operands().end());
      }
    }
  }

  KernelBuild& g_;
  Kernel& k_;
  const ir::Region& region_;
  std::vector<const ir::Op*> reductions_;
  std::unordered_map<const ir::Value*, int> levelMemo_;
  std::map<int, std::vector<const ir::Value*>> savedAt_;
  std::optional<Refinement> refinement_;
  bool refinable_ = true;
};

}  // namespace

void buildLoop(KernelBuild& g) { LoopBuilder(g).build(); }

}  // namespace tenc::codegen
