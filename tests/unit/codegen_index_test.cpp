// Index maps: row-major positions and back, with loops refined where that makes them affine.
#include <gtest/gtest.h>

#include "codegen/IndexMap.h"

namespace tenc::codegen {
namespace {

const Divide kNoDivision = [](const Affine&, int64_t, bool) {
  ADD_FAILURE() << "a division was asked for";
  return Affine{};
};

TEST(IndexMap, LineariseAndBack) {
  std::vector<int64_t> shape = {4, 1, 6};
  std::vector<VarRange> vars = {{0, 4, 4}, {0, 6, 6}};
  Index i{{Affine::variable(0), Affine::constant(0), Affine::variable(1)}, std::nullopt};
  Affine flat = linearise(i, shape);
  EXPECT_EQ(flat.coefOf(0), 6);
  EXPECT_EQ(flat.coefOf(1), 1);
  std::optional<Refinement> wish;
  auto dims = delinearise(flat, shape, vars, &wish, kNoDivision);
  EXPECT_FALSE(wish);
  EXPECT_EQ(dims[0], Affine::variable(0));
  EXPECT_TRUE(dims[1].isConstant());
  EXPECT_EQ(dims[2], Affine::variable(1));
}

TEST(IndexMap, OffsetsCarry) {
  // Position 6 * v + 13 of [.., 6] is row v + 2, column 1.
  std::vector<VarRange> vars = {{0, 3, 3}};
  Affine flat = Affine::variable(0, 6);
  flat.offset = 13;
  auto dims = delinearise(flat, std::vector<int64_t>{9, 6}, vars, nullptr, kNoDivision);
  EXPECT_EQ(dims[0].offset, 2);
  EXPECT_EQ(dims[0].coefOf(0), 1);
  EXPECT_EQ(dims[1].offset, 1);
}

TEST(IndexMap, AsksToRefineALoop) {
  // One loop of 24 over a tensor of [4, 6] becomes two of 4 and 6.
  std::vector<VarRange> vars = {{0, 24, 24}};
  std::optional<Refinement> wish;
  delinearise(Affine::variable(0), std::vector<int64_t>{4, 6}, vars, &wish, kNoDivision);
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->var, 0u);
  EXPECT_EQ(wish->inner, 6);
}

TEST(IndexMap, DividesWhereNothingElseHelps) {
  std::vector<VarRange> vars = {{0, 35, 35}};
  int divisions = 0;
  auto divide = [&](const Affine&, int64_t n, bool) {
    EXPECT_EQ(n, 6);
    ++divisions;
    return Affine{};
  };
  std::optional<Refinement> wish;
  delinearise(Affine::variable(0), std::vector<int64_t>{6, 6}, vars, &wish, divide);
  EXPECT_FALSE(wish);
  EXPECT_EQ(divisions, 2);
}

}  // namespace
}  // namespace tenc::codegen
