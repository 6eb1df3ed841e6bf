#include "codegen/HeldIndices.h"

#include <algorithm>
#include <optional>

#include "codegen/Kernel.h"
#include "ir/Loops.h"
#include "ir/Scalar.h"

namespace tenc::codegen {
namespace {
using ir::OpKind;

constexpr int kDeepest = 4;
constexpr int64_t kMostShift = 1 << 20;

std::optional<Range> both(std::optional<Range> a, std::optional<Range> b) {
  if (!a || !b) return a ? a : b;
  return Range{std::max(a->least, b->least), std::min(a->most, b->most)};
}

std::optional<Range> moved(std::optional<Range> r, int64_t by) {
  if (!r) return r;
  return Range{r->least + by, r->most + by};
}

/// Where an index must be, being operand number `i` of `op`, if it is one there.
std::optional<Range> asIndex(const ir::Op& op, size_t i) {
  const bool writes = op.kind == OpKind::Scatter || op.kind == OpKind::DynamicUpdate;
  if (!writes && op.kind != OpKind::Gather && op.kind != OpKind::DynamicSlice) return std::nullopt;
  const size_t first = writes ? 2 : 1;
  if (i < first) return std::nullopt;
  const int64_t extent = op.operand(0)->type.shape[static_cast<size_t>(op.intsAttr("axes")[i - first])];
  return Range{0, extent - (op.kind == OpKind::DynamicSlice ? op.intsAttr("sizes")[i - first] : 1)};
}

/// A sum of the value and a small constant: the constant.
std::optional<int64_t> shiftOf(const ir::Op& op, size_t i) {
  if (op.kind != OpKind::Add && (op.kind != OpKind::Sub || i != 0)) return std::nullopt;
  if (op.result()->type.dtype != ir::DType::I64) return std::nullopt;
  const auto by = ir::constantInt(op.operand(1 - i));
  if (!by || *by < -kMostShift || *by > kMostShift) return std::nullopt;
  return op.kind == OpKind::Add ? *by : -*by;
}

/// Where a value must be, being an index in its own region, as it is or as what a loop begins with. Where a condition
/// stands between, it may be no index at all, such as a -1 for none.
std::optional<Range> indexRange(const ir::Value* v, int depth = kDeepest) {
  std::optional<Range> range;
  if (depth == 0 || v->type.rank() != 0) return range;
  for (const auto& use : v->uses) {
    const ir::Op& op = *use.user;
    if (op.parent != v->home()) continue;
    const size_t i = use.operand;
    if (op.kind == OpKind::Cast && ir::isInt(op.result()->type.dtype)) {
      range = both(range, indexRange(op.result(), depth - 1));
    } else if (op.kind == OpKind::While) {
      range = both(range, indexRange(op.regions[0]->args[i].get(), depth - 1));
    } else if (op.kind == OpKind::For && i < 2 && ir::constantInt(op.operand(2)) == 1) {
      // From it, or short of it.
      if (const auto within = indexRange(op.regions[0]->args[0].get(), depth - 1))
        range = both(range, Range{within->least, within->most + 1});
    } else if (const auto by = shiftOf(op, i)) {
      range = both(range, moved(indexRange(op.result(), depth - 1), -*by));
    } else {
      range = both(range, asIndex(op, i));
    }
  }
  return range;
}

/// About how often an op is reached.
double timesReached(const ir::Op& op) {
  constexpr double kUnknown = 4;  // of a `for` that ends where the data say
  double times = 1;
  for (const ir::Op* around = op.parent->parentOp; around != nullptr; around = around->parent->parentOp) {
    if (around->kind != OpKind::For) continue;
    const auto trips = ir::tripCount(*around);
    times *= trips ? static_cast<double>(*trips) : kUnknown;
  }
  return times;
}

bool isInWhile(const ir::Op& op) {
  for (const ir::Op* around = op.parent->parentOp; around != nullptr; around = around->parent->parentOp)
    if (around->kind == OpKind::While) return true;
  return false;
}

/// Whether a value is where a `for` by steps of 1 begins or ends.
bool boundsLoop(const ir::Value* v) {
  return std::ranges::any_of(v->uses, [](const auto& use) {
    const ir::Op& op = *use.user;
    if (op.kind == OpKind::Cast) return boundsLoop(op.result());
    return op.kind == OpKind::For && use.operand < 2 && ir::constantInt(op.operand(2)) == 1;
  });
}

/// Bytes of the arrays that a loop is given and that are made as a whole each time it runs.
int64_t bytesMadeFor(const ir::Op& native) {
  int64_t bytes = 0;
  for (const ir::Value* v : native.operands()) {
    const auto made = [&] {
      return v->op != nullptr && v->op->kind == OpKind::Fused && v->op->parent == native.parent;
    };
    while (made() && v->op->stringAttr("kind") == "native") {  // updated by another native loop
      const auto& results = v->op->results;
      const auto at = std::ranges::find_if(results, [&](const auto& r) { return r.get() == v; });
      const auto number = static_cast<size_t>(at - results.begin());
      const auto& carried = v->op->intsAttr("carried");
      if (number >= carried.size() || carried[number] < 0) break;
      v = v->op->operand(static_cast<size_t>(carried[number]));
    }
    if (made() && v->op->stringAttr("kind") == "loop") bytes += v->type.size() * ir::byteSize(v->type.dtype);
  }
  return bytes;
}

/// What is read of a tensor: elements, also by views of it.
struct Reads {
  double times = 0;
  std::optional<Range> range;
  bool areIndices = true;
  bool boundLoops = false;  ///< how often is not known
};

void findReads(const ir::Value* v, Reads& reads) {
  for (const auto& use : v->uses) {
    const ir::Op& op = *use.user;
    const bool reaches = op.kind == OpKind::Gather || op.kind == OpKind::DynamicSlice || op.kind == OpKind::Slice ||
                         op.kind == OpKind::Reshape || op.kind == OpKind::Permute;
    if (!reaches || use.operand != 0) {
      reads.areIndices = false;
    } else if (op.result()->type.rank() != 0) {
      findReads(op.result(), reads);
    } else {
      const auto range = indexRange(op.result());
      reads.areIndices = reads.areIndices && range;
      reads.range = both(reads.range, range);
      reads.boundLoops = reads.boundLoops || (isInWhile(op) && boundsLoop(op.result()));
      reads.times += timesReached(op);
    }
  }
}

}  // namespace

std::vector<HeldIndices> heldIndices(const Kernel& native) {
  constexpr double kOften = 2;  // what is read once is checked while memory is waited for
  const ir::Region& region = *native.native->regions[0];
  const int64_t made = bytesMadeFor(*native.native);
  std::vector<HeldIndices> found;
  for (size_t i = 0; i < region.args.size(); ++i) {
    const ir::Value* v = region.args[i].get();
    const auto bytes = ir::byteSize(v->type.dtype);
    // What has few values needs no checks but for small tables.
    if (!ir::isInt(v->type.dtype) || (!ir::isSigned(v->type.dtype) && bytes == 8) || bytes < 4) continue;
    if (v->type.rank() == 0 || v->type.size() == 0) continue;
    Reads reads;
    findReads(v, reads);
    if (!reads.areIndices || !reads.range || reads.range->least > reads.range->most) continue;
    // How often a `while` reads is not known. Each bound of a loop saves the checks of all its trips, and where making
    // arrays takes as long anyway, looking through them is a small part of the whole.
    const bool mayPay = reads.boundLoops && v->type.size() * bytes <= made;
    if (!mayPay && reads.times < kOften * static_cast<double>(v->type.size())) continue;
    const Range dtype = ofDtype(v->type.dtype);
    if (reads.range->least < dtype.least || reads.range->most > dtype.most) continue;
    const auto [least, most] = native.held[i];
    if (least < reads.range->least || most > reads.range->most) found.push_back({i, *reads.range});
  }
  return found;
}

}  // namespace tenc::codegen
