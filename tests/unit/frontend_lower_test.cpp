// Lowering without the tool: source text to verified IR, and the codes and lines of what is refused.
#include <gtest/gtest.h>

#include "frontend/Context.h"
#include "frontend/Frontend.h"
#include "frontend/values/Keys.h"
#include "frontend/values/Values.h"
#include "ir/Ir.h"
#include "support/InternalError.h"

namespace {
using namespace tenc;

struct Result {
  std::string ir, verify;
  std::vector<std::pair<std::string, uint32_t>> errors;  // code, line
};

Result lowered(const std::string& text, const frontend::Options& options = {}) {
  SourceManager sources;
  Diagnostics diags;
  const uint32_t id = sources.add("test.tl", text);
  Result r;
  auto file = syntax::parse(sources, id, diags);
  if (file) {
    frontend::Lowered l = frontend::lower(*file, sources, diags, options);
    r.verify = ir::verify(*l.module);
    r.ir = ir::print(*l.module);
  }
  for (const Diagnostic& d : diags.all()) {
    const uint32_t line = d.span.valid() ? sources.file(d.span.file).position(d.span.begin).line : 0;
    r.errors.emplace_back(info(d.code).name, line);
  }
  return r;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

void accepts(const std::string& text) {
  const Result r = lowered(text);
  EXPECT_TRUE(r.errors.empty()) << text << "\n" << (r.errors.empty() ? "" : r.errors[0].first);
  EXPECT_EQ(r.verify, "") << text;
}

void refuses(const std::string& text, const std::string& code, uint32_t line = 1) {
  const Result r = lowered(text);
  ASSERT_EQ(r.errors.size(), 1u) << text;
  EXPECT_EQ(r.errors[0].first, code) << text;
  EXPECT_EQ(r.errors[0].second, line) << text;
}

TEST(Lower, OneInstancePerTypes) {
  const Result r = lowered(
      "fn f(x: f32[N]) -> f32[N] = x + 1.0\nlet a = f(ones([2]))\nlet b = f(ones([2]))\nlet c = f(ones([3]))\n");
  EXPECT_EQ(r.verify, "");
  EXPECT_EQ(count(r.ir, "func @f."), 2u);
}

TEST(Lower, CompileTimeArithmeticIsExact) {
  accepts("const N = 2 ** 40 // 2 ** 38\nlet x: f32[4] = zeros([N])\n");
  refuses("const N = 9223372036854775807 * 9223372036854775807\n", "E0212");
  refuses("let n = 1 // 0\n", "E0212");
}

TEST(Lower, LiteralsAdopt) {
  accepts("let x: f64[3] = zeros([3])\nlet y: f64[3] = 2 * x + 0.5\n");
  refuses("let x = arange(3) * 0.5\n", "E0201");
  refuses("let a = ones([2])\nlet b = i32(a) * a\n", "E0201", 2);
}

TEST(Lower, ExitsUnderRunTimeConditions) {
  accepts(
      "fn f(x: f32) -> f32 {\n  if x > 1.0 { return 1.0 }\n  let y = if x > 0.5 { 2.0 } else { return 3.0 }\n  y + "
      "x\n}\nprint(f(0.5))\n");
  accepts(
      "fn f(x: f32[N]) -> f32 {\n  for i in 0..N {\n    if x[i] > 1.0 { return x[i] }\n    if x[i] < 0.0 { break }\n  "
      "}\n  0.0\n}\nprint(f(ones([3])))\n");
}

TEST(Lower, CarriedTypesAreStable) {
  refuses("var k = ones([2])\nfor t in 0..3 { k = concat((k, k)) }\n", "E0209", 2);
  accepts("var k = ones([2])\nfor t in static 0..3 { k = concat((k, k)) }\n");
  refuses("var k = ones([2])\nk = ones([3])\n", "E0207", 2);
}

TEST(Lower, Names) {
  refuses("let a = b\n", "E0102");
  refuses("const A = 1\nconst A = 2\n", "E0103", 2);
  refuses("let a = 1\na = 2\n", "E0107", 2);
  refuses("fn f(x: f32) -> f32 = f(x)\nprint(f(1.0))\n", "E0109");
  refuses("let a = ones([2])\na + 1.0\nprint(a)\n", "E0106", 2);
  refuses("import nothing_of_that_name\nlet a = nothing_of_that_name.x\n", "E0110");
}

TEST(Lower, DimsUnify) {
  const std::string f = "fn f(x: f32[N, I], w: f32[I, O]) -> f32[N, O] = x @ w\n";
  refuses(f + "let y = f(ones([2, 3]), ones([4, 5]))\n", "E0202", 2);
  accepts("fn g(x: f64[I + 4]) -> f64[I] = x[4:]\nlet y: f64[6] = g(zeros([10], dtype: f64))\n");
  accepts("fn h(x: f32[2 * N]) -> f32[N] = x[:N]\nlet y: f32[3] = h(zeros([6]))\n");
  refuses("fn h(x: f32[2 * N]) -> f32[N] = x[:N]\nlet y = h(zeros([5]))\n", "E0202", 2);
}

TEST(Lower, Trees) {
  accepts(
      "struct L[I, O, T: float = f32] { w: T[I, O], b: T[O], state n: i64 }\n"
      "var m = L { w: ones([2, 3]), b: zeros([3]), n: 0 }\n"
      "m -= 0.1 * m\nm.w[0, :] += 1.0\nlet h: L[2, 3, f16] = f16(m)\n");
  refuses("struct L { w: f32[2] }\nlet m = f16(L { w: ones([2]) })\n", "E0207", 2);
}

TEST(Elements, AreSharedUntilOneIsChanged) {
  using frontend::Val;
  const Val layer = Val::ofTuple({Val::ofInt(1), Val::ofInt(2)});
  Val model = Val::ofList({layer, layer, layer});
  const Val same = model;
  EXPECT_EQ(&same.elems[0], &model.elems[0]);
  EXPECT_EQ(&model.elems[0].elems[0], &layer.elems[0]);
  EXPECT_EQ(model.elems.leaves(), 6u);
  model.elems.edit()[1] = Val::ofInt(7);
  EXPECT_TRUE(same.elems[1].is(Val::Kind::Tuple));
  EXPECT_TRUE(model.elems[1].is(Val::Kind::Int));
  EXPECT_EQ(&model.elems[0].elems[0], &layer.elems[0]);  // what is in the other parts is shared on
  EXPECT_EQ(model.elems.leaves(), 5u);
  EXPECT_EQ(same.elems.leaves(), 6u);
}

TEST(Key, TellsValuesApart) {
  using frontend::sameKey;
  using frontend::Val;
  const auto pair = [](Val a, Val b) { return Val::ofTuple({std::move(a), std::move(b)}); };
  EXPECT_TRUE(sameKey(pair(Val::ofInt(1), Val::ofString("ab")), pair(Val::ofInt(1), Val::ofString("ab"))));
  EXPECT_FALSE(sameKey(pair(Val::ofString("a"), Val::ofString("bc")), pair(Val::ofString("ab"), Val::ofString("c"))));
  EXPECT_FALSE(sameKey(Val::ofInt(3), Val::ofInt(3, {}, false)));
  EXPECT_FALSE(
      sameKey(Val::ofTuple({pair(Val::ofInt(1), Val::ofInt(2))}), pair(Val::ofTuple({Val::ofInt(1)}), Val::ofInt(2))));
}

TEST(Context, NothingIsLostBeforeAnError) {
  SourceManager sources;
  Diagnostics diags;
  const frontend::Options options;
  frontend::Lowered out;
  out.module = std::make_unique<ir::Module>();
  frontend::Context context(sources, diags, options, out);
  const Span span{sources.add("test.tl", "a\n"), 0, 1};
  EXPECT_THROW(context.lost(), InternalError);
  EXPECT_TRUE(context.fail(Code::E0102, span, "unknown").is(frontend::Val::Kind::Poison));
  EXPECT_TRUE(context.lost().is(frontend::Val::Kind::Poison));
}

TEST(Context, AWarningIsNoErrorThatStandsForAValue) {
  Diagnostics diags;
  EXPECT_THROW(frontend::Val(diags.report(Code::W0201, {}, "unused")), InternalError);
}

TEST(Lower, PoisonIsQuiet) {
  const Result r =
      lowered("let a = unknown_name\nlet b = a + 1\nlet c = sum(b)\nfor i in 0..3 { print(c) }\nprint(b.shape)\n");
  EXPECT_EQ(r.errors.size(), 1u);
}

TEST(Lower, UncalledFunctionsAreCheckedOnRequest) {
  const std::string text = "fn f(x: f32[N], y: f32[M]) = x + y\n";
  EXPECT_TRUE(lowered(text).errors.empty());
  frontend::Options options;
  options.checkUncalled = true;
  EXPECT_EQ(lowered(text, options).errors.size(), 1u);
}

TEST(Lower, Devices) {
  const Result r =
      lowered("device gpu = cuda:0 or cpu\nlet x = ones([2])\n@gpu { print(sum(x)) }\nlet y = x.to(gpu)\n");
  EXPECT_TRUE(r.errors.empty());
  EXPECT_EQ(count(r.ir, "on {device = \"gpu\"}"), 1u);
  refuses("device gpu = cuda:0\n", "E0304");
  refuses("let x = ones([2]).to(cuda:7)\n", "E0304");
}

}  // namespace
