#include "codegen/cpu/CompileParts.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "codegen/ScalarBodies.h"
#include "ir/Module.h"

namespace tenc::codegen::cpu {
namespace {

// Work is in LLVM instructions, roughly.
constexpr int kKernel = 40;     // loops, arguments
constexpr int kProduct = 400;   // two heights of the microkernel, and the loops around
constexpr int kAround = 150;    // the loops, where the microkernel is assembled
constexpr int kNative = 25;     // an op of a native loop: the code of all versions of it, and LLVM's optimiser
constexpr int kOptimised = 2;   // LLVM's optimiser, for the parts of a tensor loop
constexpr int kRandom = 200;    // a function of the module
constexpr int kThread = 250;    // what starting another compiler costs
constexpr int kQuickShare = 4;  // how much less quick code costs

using RandomFunctions = std::set<std::tuple<ir::OpKind, ir::DType>>;

int stageWork(const Stage& s, RandomFunctions& random) {
  int work = 0;
  for (const Expr& e : s.exprs) {
    if (e.kind == Expr::Kind::Op) work += elementwiseCost(e.op, e.dtype);
    if (e.kind == Expr::Kind::Load) work += 4 + 6 * static_cast<int>(e.access.terms.size());
    if (e.kind == Expr::Kind::Random) random.insert({e.op, e.dtype});
  }
  return work + 20 * static_cast<int>(s.reductions.size()) + 4 * static_cast<int>(s.stores.size());
}

int opsIn(const ir::Op& op) {
  int n = 1;
  for (const auto& r : op.regions)
    for (const auto& inner : r->ops) n += opsIn(*inner);
  return n;
}

/// `inLoop`: of a part of a tensor loop, where LLVM selects all code.
int kernelWork(const Kernel& k, const Schedule& schedule, RandomFunctions& random, bool inLoop = false) {
  if (k.kind == Kernel::Kind::Native) return kKernel + kNative * opsIn(*k.native);
  if (k.kind == Kernel::Kind::TensorLoop) {
    int work = kKernel;
    const auto& parts = std::get<TensorLoop>(schedule.form).parts;
    for (size_t i = 0; i < parts.size(); ++i) work += kOptimised * kernelWork(k.parts[i], parts[i], random, true);
    return work;
  }
  if (k.kind == Kernel::Kind::Product) {
    const auto* tiled = std::get_if<TiledProduct>(&schedule.form);
    const bool isAssembled = tiled != nullptr && tiled->assembled && !inLoop;
    return (isAssembled ? kAround : kProduct) + 4 * stageWork(k.product.epilogue, random);
  }
  int work = kKernel;
  for (const Stage& s : k.stages) work += 2 * stageWork(s, random);
  return work;
}

}  // namespace

std::vector<std::vector<size_t>> compileParts(std::span<const ScheduledKernel> kernels, int most) {
  struct Item {
    size_t index;
    int work;
    RandomFunctions random;
  };
  std::vector<Item> items;
  int total = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Item item{i, 0, {}};
    item.work = kernelWork(*kernels[i].kernel, *kernels[i].schedule, item.random);
    if (codeKind(*kernels[i].schedule) == CodeKind::Quick) item.work /= kQuickShare;
    total += item.work + kRandom * static_cast<int>(item.random.size());
    items.push_back(std::move(item));
  }
  auto key = [](const Item& i) { return i.work + kRandom * static_cast<int>(i.random.size()); };
  // Each kind of code is a module of its own, which costs about a millisecond: the kernels of full code come first and
  // stay in as few parts as have room for them.
  auto kind = [&](const Item& i) { return codeKind(*kernels[i.index].schedule); };
  auto isFull = [&](const Item& i) { return kind(i) != CodeKind::Quick; };
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    return std::pair(kind(a), key(a)) > std::pair(kind(b), key(b));
  });

  struct Part {
    int work = 0;
    RandomFunctions random;
    std::vector<size_t> kernels;
  };
  std::vector<Part> parts(static_cast<size_t>(std::clamp(total / kThread, 1, std::max(1, most))));
  const int share = total / static_cast<int>(parts.size());
  for (const Item& item : items) {
    // The part that is then done first.
    auto after = [&](const Part& p) {
      int work = p.work + item.work;
      for (const auto& f : item.random)
        if (!p.random.contains(f)) work += kRandom;
      return work;
    };
    auto room =
        std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return isFull(item) && after(p) <= share; });
    Part& best =
        room != parts.end() ? *room : *std::min_element(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
          return after(a) < after(b);
        });
    best.work = after(best);
    best.random.insert(item.random.begin(), item.random.end());
    best.kernels.push_back(item.index);
  }
  std::vector<std::vector<size_t>> out;
  for (Part& p : parts) {
    if (p.kernels.empty()) continue;
    std::sort(p.kernels.begin(), p.kernels.end());
    out.push_back(std::move(p.kernels));
  }
  return out;
}

}  // namespace tenc::codegen::cpu
