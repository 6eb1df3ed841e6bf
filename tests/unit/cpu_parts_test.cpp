// How kernels are shared out between compiling threads: each once, evenly, full code in as few parts as have room.
#include <gtest/gtest.h>

#include <numeric>

#include "codegen/cpu/CompileParts.h"

namespace tenc::codegen::cpu {
namespace {

Kernel kernelOf(int ops) {
  Kernel k;
  k.kind = Kernel::Kind::Loop;
  Stage& s = k.stages.emplace_back();
  for (int i = 0; i < ops; ++i) {
    Expr e;
    e.kind = Expr::Kind::Op;
    e.op = ir::OpKind::Exp;
    e.dtype = ir::DType::F32;
    s.exprs.push_back(e);
  }
  return k;
}

struct Shared {
  std::vector<std::vector<size_t>> parts;
  int of(size_t kernel) const {
    int found = -1;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t i : parts[p]) {
        if (i != kernel) continue;
        EXPECT_EQ(found, -1) << "kernel " << kernel << " is compiled twice";
        found = static_cast<int>(p);
      }
    }
    EXPECT_NE(found, -1) << "kernel " << kernel << " is not compiled";
    return found;
  }
};

Shared share(const std::vector<int>& sizes, const std::vector<Level>& levels, int most) {
  std::vector<Kernel> kernels;
  for (int n : sizes) kernels.push_back(kernelOf(n));
  std::vector<Schedule> schedules(levels.size());
  for (size_t i = 0; i < levels.size(); ++i) schedules[i].level = levels[i];
  std::vector<ScheduledKernel> list;
  for (size_t i = 0; i < kernels.size(); ++i) list.push_back({&kernels[i], &schedules[i]});
  return {compileParts(list, most)};
}

TEST(CompileParts, FullCodeStaysTogetherWhereThereIsRoom) {
  std::vector<int> sizes(64, 40);
  std::vector<Level> levels(64, Level::Quick);
  for (size_t i : {3, 20, 41}) levels[i] = Level::Full;
  const Shared shared = share(sizes, levels, 2);
  ASSERT_EQ(shared.parts.size(), 2U);
  for (size_t i = 0; i < sizes.size(); ++i) shared.of(i);
  EXPECT_EQ(shared.of(3), shared.of(20));
  EXPECT_EQ(shared.of(3), shared.of(41));
  // The other part makes up for it with quick kernels: a full one takes about four times as long.
  const size_t a = shared.parts[0].size(), b = shared.parts[1].size();
  EXPECT_GE(a > b ? a - b : b - a, 6U);
  EXPECT_LE(a > b ? a - b : b - a, 14U);
}

TEST(CompileParts, FullCodeAloneIsShared) {
  const Shared shared = share(std::vector<int>(6, 40), std::vector<Level>(6, Level::Full), 2);
  ASSERT_EQ(shared.parts.size(), 2U);
  EXPECT_EQ(shared.parts[0].size(), 3U);
}

TEST(CompileParts, LittleWorkIsOnePart) { EXPECT_EQ(share({1, 1}, {Level::Quick, Level::Full}, 8).parts.size(), 1U); }

}  // namespace
}  // namespace tenc::codegen::cpu
