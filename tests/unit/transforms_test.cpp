// Functions that transforms take and give: closed over what they read, made into others, spliced in.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/Ir.h"
#include "transforms/Batch.h"
#include "transforms/Functions.h"

namespace {
using namespace tenc;
using ir::OpKind;

TEST(Functions, ComposeAndAreSplicedIn) {
  ir::Module m;
  ir::Func* caller = m.addFunc("caller");
  ir::Builder at(caller->body.get());
  const ir::Type all{ir::DType::F32, {3, 4, 5}, {}}, row{ir::DType::F32, {5}, {}};
  ir::Value* x = caller->body->addArg(all, "x");
  ir::Value* shift = caller->body->addArg(row, "shift");
  caller->paramPlaces = {"", ""};

  const auto f = transforms::freeFunc(m, "f");
  ir::Builder in(f->body.get());
  ir::Value* own = f->body->addArg(row, "own");
  ir::Value* sum = in.value(OpKind::Add, {own, shift});
  in.makeTyped(OpKind::Return, {in.value(OpKind::Mul, {sum, shift})}, {});
  EXPECT_EQ(transforms::closeOver(*f), std::vector<ir::Value*>{shift});
  ASSERT_EQ(f->body->args.size(), 2u);
  EXPECT_TRUE(shift->unused());

  transforms::BatchedFuncs functions;
  const auto fail = [](const ir::Op&, tenc::Code, const std::string& why) { ADD_FAILURE() << why; };
  const auto inner = transforms::batch(*f, {true, false}, 4, functions, fail);
  ASSERT_TRUE(inner);
  const auto outer = transforms::batch(*inner->func, {true, false}, 3, functions, fail);
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->results, std::vector<bool>{true});

  const std::vector<ir::Value*> results = transforms::splice(*outer->func, {x, shift}, at);
  EXPECT_TRUE(outer->func->body->ops.empty());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0]->type.shape, (ir::Dims{3, 4, 5}));
  at.makeTyped(OpKind::Return, results, {});
  caller->resultTypes = {all};
  caller->resultPlaces = {""};
  EXPECT_EQ(ir::verify(m), "");
}

}  // namespace
