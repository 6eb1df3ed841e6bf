// Loop kernels of scans: the axis is the inner loop, everything of the group is computed in it.
#include "codegen/KernelBuilder.h"

namespace tenc::codegen {

using ir::OpKind;

namespace {

constexpr int kMostRefinements = 64;

class ScanBuilder {
 public:
  ScanBuilder(KernelBuild& g, const ir::Op& scan)
      : g_(g),
        k_(g.kernel),
        scan_(scan),
        shape_(scan.operand(0)->type.shape),
        axis_(static_cast<size_t>(scan.intsAttr("axes")[0])),
        totals_(scan.kind == OpKind::BlockTotals) {}

  void build() {
    // With blocks the axis is two: blocks, an outer loop, and elements of one.
    const int64_t n = shape_[axis_];
    const bool blocks = scan_.find("block") != nullptr;
    const int64_t block = blocks ? std::min(scan_.intAttr("block"), std::max<int64_t>(n, 1)) : n;
    Space& s = g_.space;
    s.domain = shape_;
    s.reduced.assign(shape_.size(), false);
    if (blocks) {
      s.domain[axis_] = (n + block - 1) / block;
      s.domain.insert(s.domain.begin() + static_cast<std::ptrdiff_t>(axis_) + 1, block);
      s.reduced.insert(s.reduced.begin() + static_cast<std::ptrdiff_t>(axis_) + 1, true);
    } else {
      s.reduced[axis_] = true;
    }
    for (int64_t extent : s.domain) s.factors.push_back({extent});
    s.number();
    const Kernel clean = k_;
    for (int i = 0; i <= kMostRefinements; ++i) {
      refinement_.reset();
      k_.outer = s.outer;
      if (n / std::max<int64_t>(block, 1) > 0) stages(blocks, block, 0, n / block, block);
      if (block > 0 && n % block != 0) stages(blocks, block, n / block, n / block + 1, n % block);
      if (!refinement_ || !k_.error.empty()) return;
      // The scan's own loops stay as they are.
      const size_t var = refinement_->var;
      if (var >= s.outer.size() || (blocks && var == s.vars[axis_][0]) || i + 1 == kMostRefinements) {
        refinable_ = false;
      } else {
        s.refine(*refinement_);
      }
      k_ = clean;
    }
  }

 private:
  /// The stages of blocks [first, last), of `length` elements.
  void stages(bool blocks, int64_t block, int64_t first, int64_t last, int64_t length) {
    if (refinement_ || !k_.error.empty()) return;
    const Space& s = g_.space;
    std::vector<VarRange> box;
    for (int64_t extent : s.outer) box.push_back({0, extent, extent});
    if (blocks) {
      VarRange& range = box[s.vars[axis_][0]];
      range.lo = first;
      range.hi = last;
    }
    const std::vector<VarRange> outerBox = box;
    box.push_back({0, length, length});
    // Positions in the scan's operand and in the starts of blocks.
    Index at, start;
    for (size_t a = 0; a < s.domain.size(); ++a) {
      Affine along = s.along(a);
      if (s.reduced[a]) {
        if (blocks) along.add(s.along(axis_), block);
        if (scan_.boolAttr("reverse")) {
          along = along.scaled(-1);
          along.offset += shape_[axis_] - 1;
        }
        at.dims.push_back(std::move(along));
        continue;
      }
      if (a != axis_) at.dims.push_back(along);
      start.dims.push_back(std::move(along));
    }
    StageBuilder b(g_, box, false);
    b.refinable = refinable_;
    Reduction r = reduction();
    r.value = b.value(scan_.operand(0), at);
    if (!finished(b)) return;
    const auto number = static_cast<uint32_t>(k_.reductions.size());
    k_.reductions.push_back(r);
    b.stage.reductions.push_back(number);
    const ir::Op* yield = g_.fused.regions[0]->terminator();
    if (!totals_) {
      g_.scan = &scan_;
      g_.scanNumber = number;
      g_.scanStart = start;
      for (uint32_t i = 0; i < k_.buffers.size(); ++i) {
        if (k_.bufferResult[i] < 0) continue;
        const ir::Value* v = yield->operand(static_cast<size_t>(k_.bufferResult[i]));
        if (v->type.shape != shape_) {
          k_.error = "a result that is not of the scan's shape";
          return;
        }
        ExprId e = b.value(v, at);
        if (!finished(b)) return;
        b.stage.stores.push_back({b.access(i, linearise(at, v->type.shape)), e});
      }
    }
    auto push = [&](Stage& stage, bool inner) {
      for (const VarRange& range : outerBox) {
        stage.outerLo.push_back(range.lo);
        stage.outerHi.push_back(range.hi);
      }
      if (inner) {
        stage.innerLo.push_back(0);
        stage.innerHi.push_back(length);
      }
      k_.stages.push_back(std::move(stage));
    };
    push(b.stage, true);
    if (!totals_) return;
    g_.reductions[&scan_] = number;
    StageBuilder after(g_, outerBox, false);
    for (uint32_t i = 0; i < k_.buffers.size(); ++i) {
      if (k_.bufferResult[i] < 0) continue;
      ExprId e = after.value(scan_.result(), start);
      after.stage.stores.push_back({after.access(i, linearise(start, scan_.result()->type.shape)), e});
    }
    push(after.stage, false);
  }

  bool finished(const StageBuilder& b) {
    if (b.refinement) refinement_ = b.refinement;
    return !b.failed() && !b.refinement;
  }

  Reduction reduction() const {
    Reduction r{};
    const std::string& mode = scan_.stringAttr("mode");
    r.kind = mode == "mul"   ? Reduction::Kind::Prod
             : mode == "max" ? Reduction::Kind::Max
             : mode == "min" ? Reduction::Kind::Min
                             : Reduction::Kind::Sum;
    r.accumulator = r.result = scan_.result()->type.dtype;
    if (totals_ && !ir::isFloat(r.result)) return r;  // integers come to the same in any order
    r.running = true;
    r.exclusive = scan_.boolAttr("exclusive");
    r.ordered = scan_.boolAttr("ordered");
    int64_t columns = 1;
    for (size_t d = axis_ + 1; d < shape_.size(); ++d) columns *= shape_[d];
    const bool chunks = columns < g_.traits.scans.fewColumns && shape_[axis_] >= g_.traits.scans.leastLength &&
                        !r.ordered && ir::byteSize(r.result) >= 4;
    r.chunk = chunks ? kScanChunk : 0;
    return r;
  }

  KernelBuild& g_;
  Kernel& k_;
  const ir::Op& scan_;
  const ir::Dims shape_;
  const size_t axis_;
  const bool totals_;
  std::optional<Refinement> refinement_;
  bool refinable_ = true;
};

}  // namespace

void buildScan(KernelBuild& g, const ir::Op& scan) { ScanBuilder(g, scan).build(); }

}  // namespace tenc::codegen
