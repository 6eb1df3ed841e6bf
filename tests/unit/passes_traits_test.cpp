// Passes decide by the traits of the device that an op runs on, and by no other's.
#include <gtest/gtest.h>

#include "ir/Ir.h"
#include "passes/Passes.h"

namespace tenc::passes {
namespace {

/// The IR of `main` after some passes: one function, the same code on the host and on a device of another kind.
class TraitsTest : public testing::Test {
 protected:
  std::string run(const std::string& text, const std::vector<std::string_view>& passes) {
    context_.diags = &diags_;
    context_.sources = &sources_;
    context_.machine.set("cuda", 1);
    const uint32_t file = sources_.add("test.tir", text);
    auto m = ir::parse(sources_, file, diags_);
    EXPECT_TRUE(m) << render(diags_, sources_);
    if (!m) return {};
    EXPECT_EQ(ir::verify(*m), "");
    EXPECT_TRUE(runPasses(*m, context_, passes)) << render(diags_, sources_);
    return ir::print(*m);
  }
  ir::TargetTraits& other() { return other_; }
  void setOther() { context_.traits.set("cuda", other_); }

  static size_t count(const std::string& text, std::string_view what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
  /// The lines that hold all of `words`.
  static size_t lines(const std::string& text, const std::vector<std::string_view>& words) {
    size_t n = 0, start = 0;
    while (start < text.size()) {
      const size_t end = std::min(text.find('\n', start), text.size());
      const std::string_view line = std::string_view(text).substr(start, end - start);
      bool all = true;
      for (std::string_view w : words) all = all && line.find(w) != std::string_view::npos;
      n += all;
      start = end + 1;
    }
    return n;
  }

 private:
  SourceManager sources_;
  Diagnostics diags_;
  Context context_;
  ir::TargetTraits other_;
};

TEST_F(TraitsTest, ScoresOfAttentionFitTheTargetsTile) {
  other().attention.tileBytes = 64 << 10;
  other().attention.leastRows = 16;
  setOther();
  const std::string text = run(
      R"(func @main(%q: f32[2, 64, 256, 4] @cpu, %r: f32[2, 64, 256, 4] @"cuda:0", %s: f32) -> (f32[2, 64, 256, 4] @cpu, f32[2, 64, 256, 4] @"cuda:0") {
  %y = attention %q, %q, %q, %s {causal = false} : f32[2, 64, 256, 4] @cpu
  %z = attention %r, %r, %r, %s {causal = false} : f32[2, 64, 256, 4] @"cuda:0"
  return %y, %z
}
)",
      {"decompose"});
  const auto scores = [&](std::string_view shape, std::string_view device) {
    return lines(text, {"= matmul", shape, device});
  };
  EXPECT_EQ(scores("64, 256, 256]", "cuda:0"), 0u) << text;
  EXPECT_GE(scores("256, 256]", "@cpu"), 1u) << text;
}

TEST_F(TraitsTest, AttentionStaysWholeWhereTheTargetHasIt) {
  other().attention.whole = {ir::DType::F32, ir::DType::BF16};
  setOther();
  const std::string text = run(
      R"(func @main(%q: f32[2, 64, 8] @cpu, %r: f32[2, 64, 8] @"cuda:0", %d: f64[2, 64, 8] @"cuda:0", %o: f32[2, 1, 8] @"cuda:0", %w: f32[2, 64, 300] @"cuda:0", %s: f32, %t: f64) -> (f32[2, 64, 8] @cpu, f32[2, 64, 8] @"cuda:0", f64[2, 64, 8] @"cuda:0", f32[2, 1, 8] @"cuda:0", f32[2, 64, 300] @"cuda:0") {
  %host = attention %q, %q, %q, %s {causal = false} : f32[2, 64, 8] @cpu
  %whole = attention %r, %r, %r, %s {causal = false} : f32[2, 64, 8] @"cuda:0"
  %wide = attention %d, %d, %d, %t {causal = false} : f64[2, 64, 8] @"cuda:0"
  %one = attention %o, %r, %r, %s {causal = false} : f32[2, 1, 8] @"cuda:0"
  %long = attention %r, %r, %w, %s {causal = false} : f32[2, 64, 300] @"cuda:0"
  return %host, %whole, %wide, %one, %long
}
)",
      {"decompose"});
  EXPECT_EQ(count(text, "= attention"), 1u) << text;
  EXPECT_EQ(lines(text, {"%whole = attention %r, %r, %r, %s {causal = false}"}), 1u) << text;
}

TEST_F(TraitsTest, WholeAttentionReadsAndStoresWhereElementsLie) {
  other().attention.whole = {ir::DType::BF16};
  setOther();
  // Heads out of columns, keys shared by two heads, heads back in columns; rounded.
  const std::string text = run(
      R"(func @main(%q: f32[9, 32] @"cuda:0", %k: f32[2, 1, 11, 8] @"cuda:0", %s: f32) -> (f32[9, 4, 8] @"cuda:0") {
  %a = reshape %q {shape = [9, 4, 8]} : f32[9, 4, 8] @"cuda:0"
  %b = permute %a {perm = [1, 0, 2]} : f32[4, 9, 8] @"cuda:0"
  %c = broadcast %k {shape = [2, 2, 11, 8]} : f32[2, 2, 11, 8] @"cuda:0"
  %d = reshape %c {shape = [4, 11, 8]} : f32[4, 11, 8] @"cuda:0"
  %y = attention %b, %d, %d, %s {causal = true, rounds = bf16} : f32[4, 9, 8] @"cuda:0"
  %z = permute %y {perm = [1, 0, 2]} : f32[9, 4, 8] @"cuda:0"
  return %z
}
)",
      {"decompose", "simplify", "cse", "dce"});
  EXPECT_EQ(lines(text, {"= cast %q", ": bf16[9, 32]"}), 1u) << text;
  EXPECT_EQ(lines(text, {"= cast %k", ": bf16[2, 1, 11, 8]"}), 1u) << text;
  EXPECT_EQ(count(text, "= cast"), 2u) << text;
  EXPECT_EQ(lines(text, {"= attention", "dtype = f32", "perm = [2, 0, 1, 3]", ": f32[9, 2, 2, 8]"}), 1u) << text;
  EXPECT_EQ(count(text, "= permute"), 1u) << text;  // of the queries, which is a view
}

TEST_F(TraitsTest, ConvolutionsHaveTheTargetsLayoutAndDtypes) {
  other().convColumns = ir::TargetTraits::ConvColumns::Channels;
  other().narrowConvolutions = {ir::DType::F16};
  setOther();
  const std::string text = run(
      R"(func @main(%x: f16[2, 4, 34, 34] @cpu, %w: f16[8, 4, 3, 3] @cpu, %u: f16[2, 4, 34, 34] @"cuda:0", %v: f16[8, 4, 3, 3] @"cuda:0") -> (f16[2, 8, 32, 32] @cpu, f16[2, 8, 32, 32] @"cuda:0") {
  %y = conv %x, %w {stride = [1, 1], dilation = [1, 1], groups = 1} : f16[2, 8, 32, 32] @cpu
  %z = conv %u, %v {stride = [1, 1], dilation = [1, 1], groups = 1} : f16[2, 8, 32, 32] @"cuda:0"
  return %y, %z
}
)",
      {"decompose"});
  EXPECT_EQ(lines(text, {"= conv", "f32[2, 8, 32, 32] @cpu"}), 1u) << text;
  EXPECT_EQ(lines(text, {"= conv", "out_last = true", "f16[2, 8, 32, 32]", "cuda:0"}), 1u) << text;
  EXPECT_EQ(count(text, "= cast"), 3u) << text;  // of the host's two operands and its result
}

TEST_F(TraitsTest, RoundedConvolutionsGiveTheirSums) {
  other().narrowConvolutions = {ir::DType::F16};
  other().convColumns = ir::TargetTraits::ConvColumns::Places;
  setOther();
  const std::string text = run(
      R"(func @main(%u: f32[2, 4, 34, 34] @"cuda:0", %v: f32[8, 4, 3, 3] @"cuda:0", %d: f32[4, 1, 3, 3] @"cuda:0") -> (f32[2, 8, 32, 32] @"cuda:0", f32[2, 4, 32, 32] @"cuda:0") {
  %y = conv %u, %v {stride = [1, 1], dilation = [1, 1], groups = 1, rounds = f16} : f32[2, 8, 32, 32] @"cuda:0"
  %z = conv %u, %d {stride = [1, 1], dilation = [1, 1], groups = 4, rounds = f16} : f32[2, 4, 32, 32] @"cuda:0"
  return %y, %z
}
)",
      {"decompose"});
  EXPECT_EQ(lines(text, {"= conv", "dtype = f32", ": f32[2, 8, 32, 32]"}), 1u) << text;
  EXPECT_EQ(lines(text, {"= mul", ": f16["}), 0u) << text;  // of the taps of the second
}

TEST_F(TraitsTest, ReductionsAreCutIntoTheTargetsParts) {
  other().reductions.manyElements = int64_t{1} << 40;
  setOther();
  const std::string text =
      run(R"(func @main(%x: f32[1048576] @cpu, %y: f32[1048576] @"cuda:0") -> (f32 @cpu, f32 @"cuda:0") {
  %a = sum %x {axes = [0]} : f32 @cpu
  %b = sum %y {axes = [0]} : f32 @"cuda:0"
  return %a, %b
}
)",
          {"fuse"});
  EXPECT_EQ(lines(text, {"= sum", "@cpu"}), 2u) << text;
  EXPECT_EQ(lines(text, {"= sum", "cuda:0"}), 1u) << text;
}

TEST_F(TraitsTest, ProductsWithoutAKernelOfTheirOwnAreLoops) {
  other().products = {ir::DType::F64};
  setOther();
  const std::string text =
      run(R"(func @main(%x: f32[16, 16] @cpu, %y: f32[16, 16] @"cuda:0") -> (f32[16, 16] @cpu, f32[16, 16] @"cuda:0") {
  %a = matmul %x, %x : f32[16, 16] @cpu
  %b = matmul %y, %y : f32[16, 16] @"cuda:0"
  return %a, %b
}
)",
          {"fuse"});
  EXPECT_EQ(lines(text, {"fused %x", "kind = \"product\""}), 1u) << text;
  EXPECT_EQ(lines(text, {"fused %y", "kind = \"loop\""}), 1u) << text;
}

TEST_F(TraitsTest, LongScansAreCutIntoTheTargetsBlocks) {
  other().scans.block = 1024;
  setOther();
  const std::string text =
      run(R"(func @main(%x: f32[65536] @cpu, %y: f32[65536] @"cuda:0") -> (f32[65536] @cpu, f32[65536] @"cuda:0") {
  %a = cumulate %x {axes = [0], mode = "add"} : f32[65536] @cpu
  %b = cumulate %y {axes = [0], mode = "add"} : f32[65536] @"cuda:0"
  return %a, %b
}
)",
          {"fuse"});
  EXPECT_EQ(lines(text, {"block = 4096", "f32[65536] @cpu"}), 1u) << text;
  EXPECT_EQ(lines(text, {"block = 1024", "f32[65536]", "cuda:0"}), 1u) << text;
}

}  // namespace
}  // namespace tenc::passes
