// Signatures of built-ins: what their texts say about parameters, and that the texts of all rows hold together.
#include <gtest/gtest.h>

#include "frontend/builtins/Builtin.h"

namespace tenc::frontend {
namespace {

using Kind = Parameter::Kind;

constexpr Signature kPool = "pool(x, ord: number, window: ints, b?; stride: ints = window, mode: \"a, b\", f: any = 0)";

TEST(Signature, SaysWhatEveryParameterIs) {
  EXPECT_EQ(kPool.name(), "pool");
  ASSERT_EQ(kPool.parameters().size(), 7U);
  EXPECT_EQ(kPool.find("x")->kind, Kind::Any);
  EXPECT_FALSE(kPool.find("x")->optional);
  EXPECT_TRUE(kPool.find("b")->optional);
  EXPECT_FALSE(kPool.find("b")->namedOnly);
  EXPECT_TRUE(kPool.find("stride")->namedOnly);
  EXPECT_EQ(kPool.find("stride")->otherwise, "window");
  EXPECT_EQ(kPool.find("mode")->otherwise, "\"a, b\"");
  EXPECT_TRUE(kPool.find("window")->isSize() && kPool.find("ord")->isSize() && kPool.find("stride")->isSize());
  EXPECT_FALSE(kPool.find("x")->isSize() || kPool.find("f")->isSize());
  EXPECT_EQ(kPool.positional(2)->name, "window");
  EXPECT_EQ(kPool.positional(4), nullptr);
}

TEST(Signature, ShowsKindsOnlyWhereNothingElseTells) {
  EXPECT_EQ(kPool.text(), "pool(x, ord, window, b?; stride: window, mode: \"a, b\", f: 0)");
  constexpr Signature kOther = "f(spec, ...; k: int, axis: ints?, mask?, range:)";
  EXPECT_EQ(kOther.text(), "f(spec, ...; k: int, axis: ints?, mask?, range:)");
  EXPECT_TRUE(kOther.variadic());
}

TEST(Signature, DefaultsAreValues) {
  constexpr Signature kAll = "f(; a: -2, b: 1e-5, c: true, d: \"no\", e: (-2, 7), g: bool, h: int = a)";
  const auto of = [&](std::string_view name) { return *defaultValue(*kAll.find(name), {}); };
  EXPECT_EQ(static_cast<int64_t>(of("a").integer), -2);
  EXPECT_EQ(of("b").real, 1e-5);
  EXPECT_TRUE(of("c").boolean);
  EXPECT_EQ(of("d").text, "no");
  ASSERT_EQ(of("e").elems.size(), 2U);
  EXPECT_EQ(static_cast<int64_t>(of("e").elems[0].integer), -2);
  EXPECT_EQ(static_cast<int64_t>(of("e").elems[1].integer), 7);
  EXPECT_EQ(of("g").dtype, ir::DType::Bool);
  EXPECT_FALSE(defaultValue(*kAll.find("h"), {}));
}

TEST(Builtins, EveryDefaultIsAValueOrAnotherParameter) {
  for (const OpDoc& op : operations()) {
    const Signature& s = builtinRow(op.name)->signature;
    EXPECT_EQ(s.name(), op.name);
    for (const Parameter& p : s.parameters()) {
      if (!p.otherwise.empty())
        EXPECT_TRUE(defaultValue(p, {}) || s.find(p.otherwise)) << op.signature << " " << p.name;
    }
    const std::string_view pairwise = builtinRow(op.name)->traits.pairwise;
    if (!pairwise.empty()) EXPECT_NE(builtinRow(pairwise), nullptr) << op.name;
  }
}

TEST(Builtins, CastsHaveTheirDTypesNames) {
  for (int t = 0; t < ir::kDTypeCount; ++t) {
    const auto dtype = static_cast<ir::DType>(t);
    EXPECT_EQ(castSignature(dtype).text(), std::string(ir::name(dtype)) + "(x)");
  }
}

}  // namespace
}  // namespace tenc::frontend
