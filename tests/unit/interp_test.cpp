// The reference interpreter against values worked out by hand, from IR text.
#include "interp/Interp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "interp/Number.h"
#include "ir/Ir.h"

namespace tenc {
namespace {

using interp::Fault;
using interp::Number;
using ir::Builder;
using ir::DType;
using ir::OpKind;
using ir::Type;
using ir::Value;

class InterpTest : public ::testing::Test {
 protected:
  InterpTest() : f_(m_.addFunc("main")), b_(f_->body.get()) {}

  Value* tensor(DType t, ir::Dims shape, const std::vector<double>& elements) {
    auto data = std::make_shared<std::vector<std::byte>>(elements.size() * static_cast<size_t>(ir::byteSize(t)));
    for (size_t i = 0; i < elements.size(); ++i)
      interp::store(data->data(), t, static_cast<int64_t>(i), {elements[i], static_cast<int64_t>(elements[i])});
    return b_.constant({t, std::move(shape), {}}, data);
  }
  Value* index(int64_t i) { return b_.scalarInt(DType::I64, i); }

  /// Runs main, which returns `v`, and gives its elements as doubles.
  std::vector<double> run(Value* v) {
    b_.makeTyped(OpKind::Return, {v}, {});
    f_->resultTypes = {v->type};
    interp::Options options;
    options.print = [this](std::string_view s) { printed_ += s; };
    result_ = interp::run(m_, *f_, options);
    std::vector<double> out;
    if (!result_.ok()) return out;
    const interp::Tensor& t = result_.values[0];
    for (int64_t i = 0; i < t.type.size(); ++i) {
      Number n = interp::load(t.data->data(), t.type.dtype, i);
      out.push_back(ir::isFloat(t.type.dtype) ? n.f : static_cast<double>(n.i));
    }
    return out;
  }

  ir::Module m_;
  ir::Func* f_;
  Builder b_;
  std::string printed_;
  interp::Result result_;
};

using Doubles = std::vector<double>;

Number apply(OpKind k, DType t, std::vector<Number> args, Fault* fault = nullptr) {
  Fault ignored = Fault::None;
  return interp::apply(k, t, t, args, fault ? *fault : ignored);
}

TEST(InterpNumber, NarrowFloatsRoundToNearestEven) {
  EXPECT_EQ(interp::roundTo(DType::F16, 2049.0L), 2048.0);
  EXPECT_EQ(interp::roundTo(DType::F16, 2051.0L), 2052.0);
  EXPECT_EQ(interp::roundTo(DType::F16, 65520.0L), std::numeric_limits<double>::infinity());
  EXPECT_EQ(interp::roundTo(DType::F16, 65519.0L), 65504.0);
  EXPECT_EQ(interp::roundTo(DType::F16, 0x1p-25L), 0.0);
  EXPECT_EQ(interp::roundTo(DType::F16, 0x1.8p-25L), 0x1p-24);
  EXPECT_EQ(interp::roundTo(DType::BF16, 257.0L), 256.0);
  EXPECT_EQ(interp::roundTo(DType::BF16, 259.0L), 260.0);
}

TEST(InterpNumber, EveryNarrowFloatReadsBack) {
  for (DType t : {DType::F16, DType::BF16}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      auto narrow = static_cast<uint16_t>(bits);
      std::byte raw[2], again[2];
      std::memcpy(raw, &narrow, 2);
      Number n = interp::load(raw, t, 0);
      if (std::isnan(n.f)) continue;
      interp::store(again, t, 0, n);
      ASSERT_EQ(std::memcmp(raw, again, 2), 0) << ir::name(t) << " " << bits;
      ASSERT_EQ(interp::roundTo(t, n.f), n.f);
    }
  }
}

TEST(InterpNumber, IntegersWrapAndDivideDown) {
  EXPECT_EQ(apply(OpKind::Add, DType::I8, {{0, 127}, {0, 1}}).i, -128);
  EXPECT_EQ(apply(OpKind::Mul, DType::U8, {{0, 16}, {0, 16}}).i, 0);
  EXPECT_EQ(apply(OpKind::Sub, DType::U32, {{0, 0}, {0, 1}}).i, 4294967295);
  EXPECT_EQ(apply(OpKind::FloorDiv, DType::I32, {{0, -7}, {0, 2}}).i, -4);
  EXPECT_EQ(apply(OpKind::Mod, DType::I32, {{0, -7}, {0, 2}}).i, 1);
  EXPECT_EQ(apply(OpKind::TruncDiv, DType::I32, {{0, -7}, {0, 2}}).i, -3);
  EXPECT_EQ(apply(OpKind::Fmod, DType::I32, {{0, -7}, {0, 2}}).i, -1);
  EXPECT_EQ(apply(OpKind::FloorDiv, DType::I64, {{0, INT64_MIN}, {0, -1}}).i, INT64_MIN);
  EXPECT_EQ(apply(OpKind::FloorDiv, DType::U64, {{0, -1}, {0, 2}}).i, INT64_MAX);
  EXPECT_EQ(apply(OpKind::Pow, DType::I32, {{0, 3}, {0, 4}}).i, 81);
  EXPECT_EQ(apply(OpKind::Shl, DType::I8, {{0, 1}, {0, 8}}).i, 0);
  EXPECT_EQ(apply(OpKind::Shr, DType::I8, {{0, -1}, {0, 100}}).i, -1);
  EXPECT_EQ(apply(OpKind::Popcount, DType::I8, {{0, -1}}).i, 8);
  Fault fault = Fault::None;
  apply(OpKind::Mod, DType::I32, {{0, 1}, {0, 0}}, &fault);
  EXPECT_EQ(fault, Fault::Division);
  apply(OpKind::Pow, DType::I32, {{0, 1}, {0, -1}}, &fault);
  EXPECT_EQ(fault, Fault::NegativePower);
}

TEST(InterpNumber, CastsSaturateAndWrap) {
  auto cast = [](double x, DType to) { return interp::castTo({x, 0}, DType::F32, to).i; };
  EXPECT_EQ(cast(-1.9, DType::I32), -1);
  EXPECT_EQ(cast(300, DType::U8), 255);
  EXPECT_EQ(cast(-300, DType::U8), 0);
  EXPECT_EQ(cast(1e30, DType::I64), INT64_MAX);
  EXPECT_EQ(cast(-1e30, DType::I64), INT64_MIN);
  EXPECT_EQ(cast(1e30, DType::U64), -1);
  EXPECT_EQ(cast(std::nan(""), DType::I32), 0);
  EXPECT_EQ(cast(0.5, DType::Bool), 1);
  EXPECT_EQ(interp::castTo({0, 300}, DType::I32, DType::U8).i, 44);
  EXPECT_EQ(interp::castTo({0, 16777217}, DType::I64, DType::F32).f, 16777216.0);
}

TEST(InterpNumber, FloatsFollowNumPy) {
  double nan = std::nan("");
  EXPECT_TRUE(std::isnan(apply(OpKind::Max, DType::F32, {{1, 0}, {nan, 0}}).f));
  EXPECT_EQ(apply(OpKind::Mod, DType::F32, {{-7, 0}, {2, 0}}).f, 1);
  EXPECT_EQ(apply(OpKind::FloorDiv, DType::F32, {{-7, 0}, {2, 0}}).f, -4);
  EXPECT_EQ(apply(OpKind::Round, DType::F64, {{2.5, 0}}).f, 2);
  EXPECT_EQ(apply(OpKind::Sign, DType::F64, {{-2.5, 0}}).f, -1);
  EXPECT_EQ(apply(OpKind::NextAfter, DType::F16, {{1, 0}, {2, 0}}).f, 1 + 0x1p-10);
  EXPECT_EQ(apply(OpKind::NextAfter, DType::BF16, {{0, 0}, {-1, 0}}).f, -0x1p-133);
  EXPECT_NEAR(apply(OpKind::Digamma, DType::F64, {{1, 0}}).f, -0.57721566490153286, 1e-16);
  EXPECT_NEAR(apply(OpKind::Digamma, DType::F64, {{-0.5, 0}}).f, 0.03648997397857652, 1e-15);
  EXPECT_EQ(apply(OpKind::Gt, DType::F32, {{nan, 0}, {1, 0}}).i, 0);
  EXPECT_EQ(apply(OpKind::Ne, DType::F32, {{nan, 0}, {nan, 0}}).i, 1);
  EXPECT_EQ(apply(OpKind::Sigmoid, DType::F32, {{-200, 0}}).f, std::exp(-200.0) < 1e-45 ? 0 : 1);
}

TEST_F(InterpTest, Structural) {
  Value* x = tensor(DType::F32, {2, 3}, {0, 1, 2, 3, 4, 5});
  Value* t = b_.value(OpKind::Permute, {x}, {{"perm", ir::Dims{1, 0}}});  // 0 3 / 1 4 / 2 5
  Value* s =
      b_.value(OpKind::Slice, {t}, {{"starts", ir::Dims{2, 0}}, {"sizes", ir::Dims{2, 2}}, {"steps", ir::Dims{-1, 1}}});
  Value* p = b_.value(OpKind::Pad, {s, b_.scalar(DType::F32, 9)}, {{"lo", ir::Dims{0, 1}}, {"hi", ir::Dims{0, 0}}});
  Value* f = b_.value(OpKind::Flip, {p}, {{"axes", ir::Dims{1}}});
  Value* c = b_.value(OpKind::Concat, {f, f}, {{"axis", int64_t{0}}});
  EXPECT_EQ(run(c), (Doubles{5, 2, 9, 4, 1, 9, 5, 2, 9, 4, 1, 9}));
}

TEST_F(InterpTest, Reductions) {
  Value* x = tensor(DType::I32, {2, 3}, {1, 5, 5, -1, -2, -3});
  Value* sum = b_.value(OpKind::Sum, {x}, {{"axes", ir::Dims{1}}});
  Value* most = b_.value(OpKind::ArgMax, {x}, {{"axes", ir::Dims{1}}});
  EXPECT_EQ(sum->type.dtype, DType::I64);
  EXPECT_EQ(run(b_.value(OpKind::Concat, {sum, most}, {{"axis", int64_t{0}}})), (Doubles{11, -6, 1, 0}));
}

TEST_F(InterpTest, SoftmaxOfLargeNumbers) {
  Value* x = tensor(DType::F32, {2}, {1000, 1000});
  EXPECT_EQ(run(b_.value(OpKind::Softmax, {x}, {{"axes", ir::Dims{0}}})), (Doubles{0.5, 0.5}));
}

TEST_F(InterpTest, GatherAndScatterAdd) {
  Value* x = tensor(DType::F32, {3, 2}, {0, 1, 2, 3, 4, 5});
  Value* rows = tensor(DType::I64, {3}, {-1, 0, -1});
  Value* g = b_.value(OpKind::Gather, {x, rows}, {{"axes", ir::Dims{0}}, {"at", int64_t{0}}});
  Value* s = b_.value(OpKind::Scatter, {x, g, rows},
                      {{"axes", ir::Dims{0}}, {"at", int64_t{0}}, {"mode", std::string("add")}});
  EXPECT_EQ(run(s), (Doubles{0, 2, 2, 3, 12, 15}));
}

TEST_F(InterpTest, IndexOutOfRangeStops) {
  Value* x = tensor(DType::F32, {3}, {0, 1, 2});
  run(b_.value(OpKind::DynamicSlice, {x, index(2)}, {{"axes", ir::Dims{0}}, {"sizes", ir::Dims{2}}}));
  ASSERT_FALSE(result_.ok());
  EXPECT_EQ(result_.stop->code, Code::E0901);
}

TEST_F(InterpTest, BatchedProductOfBf16AccumulatesWide) {
  Value* a = tensor(DType::BF16, {2, 1, 3}, {1, 256, 1, 1, 1, 1});
  Value* b = tensor(DType::BF16, {2, 3, 1}, {1, 1, 1, 1, 2, 3});
  EXPECT_EQ(run(b_.value(OpKind::Matmul, {a, b})), (Doubles{258, 6}));
}

TEST_F(InterpTest, LoopUpdatesInPlaceWithoutTouchingTheStart) {
  Value* start = tensor(DType::I64, {4}, {0, 0, 0, 0});
  ir::Op* loop = b_.makeTyped(OpKind::For, {index(0), index(4), index(1), start}, {start->type});
  ir::Region* body = b_.addRegion(loop);
  Value* i = body->addArg({DType::I64, {}, {}});
  Value* v = body->addArg(start->type);
  Builder in(body);
  Value* square = in.value(OpKind::Mul, {i, i});
  Value* one = in.value(OpKind::Reshape, {square}, {{"shape", ir::Dims{1}}});
  Value* next = in.value(OpKind::DynamicUpdate, {v, one, i}, {{"axes", ir::Dims{0}}});
  in.makeTyped(OpKind::Yield, {next}, {});
  EXPECT_EQ(run(b_.value(OpKind::Concat, {loop->result(), start}, {{"axis", int64_t{0}}})),
            (Doubles{0, 1, 4, 9, 0, 0, 0, 0}));
}

TEST_F(InterpTest, PhiloxKnownAnswer) {
  // Random123's known answer for counter 0 and key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  Value* zero = b_.scalarInt(DType::U64, 0);
  Value* u = b_.value(OpKind::RandomUniform, {zero, zero}, {{"shape", ir::Dims{4}}, {"dtype", DType::F32}});
  EXPECT_EQ(run(u), (Doubles{0x6627e8 * 0x1p-24, 0xe169c5 * 0x1p-24, 0xbc57ac * 0x1p-24, 0x9b00db * 0x1p-24}));
}

TEST_F(InterpTest, PrintAndAssert) {
  Value* x = tensor(DType::F32, {2}, {1, 2});
  using Strings = std::vector<std::string>;
  b_.makeTyped(OpKind::Print, {x, index(3)}, {},
               {{"pieces", Strings{"x = ", ", n = ", ""}}, {"formats", Strings{"", "d"}}});
  b_.makeTyped(OpKind::Assert, {b_.scalarInt(DType::Bool, 0), index(7)}, {},
               {{"pieces", Strings{"not ", "!"}}, {"formats", Strings{""}}});
  run(x);
  EXPECT_NE(printed_.find("[1. 2.]"), std::string::npos);
  EXPECT_NE(printed_.find(", n = 3\n"), std::string::npos);
  ASSERT_FALSE(result_.ok());
  EXPECT_EQ(result_.stop->code, Code::E0903);
  EXPECT_EQ(result_.stop->message, "assertion failed: not 7!");
}

}  // namespace
}  // namespace tenc
