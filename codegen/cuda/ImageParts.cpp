#include "codegen/cuda/ImageParts.h"

#include <algorithm>
#include <numeric>

#include "codegen/KernelShape.h"
#include "codegen/cuda/ProductSchedule.h"
#include "codegen/cuda/Scatter.h"

namespace tenc::codegen::cuda {
namespace {

// Of one run of NVRTC, whose start takes as long as a kernel: it is shared, but cores are not to be without work.
constexpr size_t kLeastKernels = 4, kMostKernels = 32;

// What was measured, a unit being some 0.15 ms: a kernel that does nothing; of products what stands around their inner
// loop, on tensor cores with the loop; kernels whose size does not show.
constexpr int64_t kKernel = 30, kProduct = 150, kTensorProduct = 500, kScan = 150, kScatter = 250, kUnknown = 500;

int64_t pointsOfThread(const Kernel& k, const Schedule& s, const Stage& stage) {
  if (s.family == Schedule::Family::Turned) return 4;
  if (!s.unrolled) return s.vector;
  const int64_t vectors = trips(stage.innerLo, stage.innerHi) / s.vector;
  return isSerial(k, stage) ? 1 : std::max<int64_t>(1, (vectors + s.team - 1) / s.team * s.vector);
}

/// How often a stage's code is there.
int64_t copiesOf(const Kernel& k, const Schedule& s, const Stage& stage) {
  const bool columns = s.family == Schedule::Family::Columns && !s.scan && stage.stores.empty();
  return columns ? kColumnLoads : pointsOfThread(k, s, stage);
}

/// What is the same for all inner points is there once, a block of random numbers for four of them.
int64_t effortOf(const Kernel& k, const Stage& stage, int64_t copies) {
  const bool loops = trips(stage.innerLo, stage.innerHi) > 1;
  const std::vector<bool> varies =
      loops ? varying(stage, k.outer.size() + stage.innerLo.size() - 1) : std::vector<bool>();
  int64_t effort = 0;
  for (size_t e = 0; e < stage.exprs.size(); ++e) {
    const bool once = stage.exprs[e].kind == Expr::Kind::Random || (loops && !varies[e]);
    effort += costOf(stage.exprs[e]) * (once ? 1 : copies);
  }
  return effort;
}

}  // namespace

int64_t unrolledCode(const Kernel& k, const Schedule& s) {
  int64_t code = s.scan ? kScan : 0;
  for (const Stage& stage : k.stages) code += costOf(stage) * pointsOfThread(k, s, stage);
  return code;
}

int64_t compileEffort(const Kernel& k, const Schedule& s) {
  if (k.kind == Kernel::Kind::Native || k.kind == Kernel::Kind::Routine) return kUnknown;
  if (s.tile.onTensorCores()) return kTensorProduct + costOf(k.product.epilogue) * s.vector;
  if (k.kind == Kernel::Kind::Product) {
    const int64_t sums = int64_t{s.tile.threadRows} * s.tile.threadColumns;
    return kProduct + (sums > 0 ? 2 * sums * stepsOf(s.tile) : 0) + costOf(k.product.epilogue) * s.vector;
  }
  int64_t effort = kKernel + (s.scan ? kScan : 0) + (planScatter(k) ? kScatter : 0);
  for (const Stage& stage : k.stages) effort += effortOf(k, stage, copiesOf(k, s, stage));
  return effort;
}

std::vector<Part> partsOf(const std::vector<int64_t>& efforts, size_t threads) {
  const size_t kernels = efforts.size();
  const size_t count =
      std::max({std::min(threads, kernels / kLeastKernels), (kernels + kMostKernels - 1) / kMostKernels, size_t{1}});
  std::vector<size_t> order(kernels);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return efforts[a] > efforts[b]; });
  std::vector<Part> parts(count);
  std::vector<int64_t> sums(count);
  for (const size_t kernel : order) {
    const auto least = static_cast<size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
    parts[least].push_back(kernel);
    sums[least] += efforts[kernel];
  }
  for (Part& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

}  // namespace tenc::codegen::cuda
