// Ops know which pass made them, and a message about a bug says so.
#include <gtest/gtest.h>

#include "ir/Ir.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

TEST(Origin, IsThePassThatMadeAnOp) {
  SourceManager sources;
  Diagnostics diags;
  Context context;
  context.diags = &diags;
  context.sources = &sources;
  const uint32_t file = sources.add("test.tir", R"(func @main(%x: f32[4] @cpu) -> (f32[4] @cpu) {
  %n = neg %x : f32[4] @cpu
  %y = softmax %n {axes = [0]} : f32[4] @cpu
  return %y
}
)");
  const auto m = ir::parse(sources, file, diags);
  ASSERT_TRUE(m) << render(diags, sources);
  ASSERT_TRUE(runPasses(*m, context, {"decompose", "dce"}));
  ir::Op& negation = *m->main()->body->ops.front();
  ir::Op& quotient = *m->main()->body->terminator()->operand(0)->op;
  EXPECT_EQ(madeBy(negation), "");
  EXPECT_EQ(madeBy(quotient), " (made by `decompose`)");
  EXPECT_EQ(madeBy(*ir::clone(*m)->main()->body->terminator()->operand(0)->op), madeBy(quotient));
  quotient.result()->type.dtype = ir::DType::I64;
  EXPECT_NE(ir::verify(*m).find("div (made by `decompose`)"), std::string::npos) << ir::verify(*m);
}

}  // namespace
}  // namespace tenc::passes
