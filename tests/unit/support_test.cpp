// The diagnostic engine: positions, text form, JSON form.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <vector>

#include "support/Diagnostics.h"
#include "support/Parallel.h"
#include "support/Text.h"

namespace tenc {
namespace {

/// The span of the `nth` occurrence (from 0) of `what` in file 0.
Span spanOf(const SourceManager& sources, std::string_view what, int nth = 0) {
  size_t at = sources.file(0).text().find(what);
  while (nth-- > 0) at = sources.file(0).text().find(what, at + 1);
  return {0, static_cast<uint32_t>(at), static_cast<uint32_t>(at + what.size())};
}

TEST(SourceFile, PositionsCountCodePoints) {
  const SourceFile file("a.tl", "x\n\xC3\xA4\xE2\x82\xACy\r\nlast");
  EXPECT_EQ(file.lastLine(), 3u);
  EXPECT_EQ(file.position(7).line, 2u);
  EXPECT_EQ(file.position(7).column, 3u);
  EXPECT_EQ(file.line(2), "\xC3\xA4\xE2\x82\xACy");
  EXPECT_EQ(file.position(1000).line, 3u);
}

TEST(SourceFile, EmptyTextHasOneLine) {
  const SourceFile file("a.tl", "");
  EXPECT_EQ(file.lastLine(), 1u);
  EXPECT_EQ(file.line(1), "");
  EXPECT_EQ(file.position(0).column, 1u);
}

TEST(SourceFile, APartOfAFileKeepsItsLineNumbers) {
  const SourceFile file("a.tl", "x\ny", 4'000'000'000);
  EXPECT_EQ(file.position(2).line, 4'000'000'001u);
  EXPECT_EQ(file.lastLine(), 4'000'000'001u);
  EXPECT_EQ(file.line(4'000'000'001u), "y");
}

TEST(Diagnostics, ReportsOnceAndCountsErrors) {
  Diagnostics d;
  d.report(Code::E0102, {0, 1, 2}, "a");
  d.report(Code::E0102, {0, 1, 2}, "a").label("kept from no one");
  d.report(Code::W0301, {0, 1, 2}, "b");
  EXPECT_EQ(d.all().size(), 2u);
  EXPECT_EQ(d.errors(), 1u);
  EXPECT_EQ(codeNamed("E0301"), Code::E0301);
  EXPECT_EQ(codeNamed("E9999"), Code::Count);
}

TEST(Render, OperandsOnDifferentDevices) {
  SourceManager sources;
  sources.add("train.tl", "let x = 1\nlet w = 2\n    let y = x @ w\n");
  Diagnostics d;
  const Span x = spanOf(sources, "x @"), w = spanOf(sources, "w\n");
  d.report(Code::E0301, spanOf(sources, "@"), "operands of `@` are on different devices")
      .label({0, x.begin, x.begin + 1}, "on cpu")
      .label({0, w.begin, w.begin + 1}, "on cuda:0")
      .note({0, 4, 5}, "`x` is on cpu, the default device")
      .help("copy `x` to cuda:0", {{{0, x.begin + 1, x.begin + 1}, ".to(cuda:0)"}});
  EXPECT_EQ(render(d, sources), R"(error[E0301]: operands of `@` are on different devices
 --> train.tl:3:15
  |
3 |     let y = x @ w
  |             - ^ - on cuda:0
  |             |
  |             on cpu
note: `x` is on cpu, the default device
 --> train.tl:1:5
help: copy `x` to cuda:0
  |
3 |     let y = x.to(cuda:0) @ w
)");
}

TEST(Render, LabelsOnSeveralLinesWithTabsAndUnicode) {
  SourceManager sources;
  sources.add("a.tl", "one\n\tz\xC3\xA4 = q\n\n\n\nfive\n");
  Diagnostics d;
  d.report(Code::E0102, spanOf(sources, "q"), "unknown name `q`")
      .label("not found")
      .label(spanOf(sources, "five"), "here");
  EXPECT_EQ(render(d, sources),
            "error[E0102]: unknown name `q`\n --> a.tl:2:7\n  |\n2 |     z\xC3\xA4 = q\n"
            "  |          ^ not found\n...\n6 | five\n  | ---- here\n");
}

TEST(Render, SpanOverSeveralLines) {
  SourceManager sources;
  sources.add("a.tl", "f(1,\n  2,\n  3)\n");
  Diagnostics d;
  d.report(Code::E0204, {0, 0, 14}, "wrong").label("this call");
  EXPECT_EQ(render(d, sources),
            "error[E0204]: wrong\n --> a.tl:1:1\n  |\n1 | f(1,\n  | ^^^^\n2 |   2,\n3 |   3)\n  |   ^^ this call\n");
}

TEST(Render, LongLinesAreClipped) {
  SourceManager sources;
  sources.add("a.tl", std::string(100000, 'a') + "!" + std::string(100000, 'b'));
  Diagnostics d;
  d.report(Code::E0104, {0, 100000, 100001}, "bad");
  const std::string text = render(d, sources);
  EXPECT_LT(text.size(), 600u);
  EXPECT_NE(text.find("aaa!bbb"), std::string::npos);
  EXPECT_NE(text.find("a.tl:1:100001"), std::string::npos);
}

TEST(Render, SpansBeyondTheTextAndBadBytes) {
  SourceManager sources;
  sources.add("a.tl", "\xFF\xFEx");
  Diagnostics d;
  d.report(Code::E0104, {0, 0, 4000}, "bad");
  d.report(Code::E0104, {0, 4000, 3}, "worse");
  d.report(Code::E0501, {}, "no position");
  const std::string text = render(d, sources);
  EXPECT_EQ(text.find("error[E0501]: no position"), 0u);
  EXPECT_EQ(findInvalidUtf8(text), std::string::npos);
}

TEST(Render, InsertedLines) {
  SourceManager sources;
  sources.add("a.tl", "let x = 1\nx\n");
  Diagnostics d;
  d.report(Code::E0106, {0, 10, 11}, "unused").help("print it", {{{0, 10, 10}, "print(x)\n"}});
  EXPECT_NE(render(d, sources).find("2 | print(x)\n3 | x\n"), std::string::npos);
}

TEST(Render, LinesAreNumberedAsTheyAreAfterTheEdits) {
  SourceManager sources;
  const uint32_t file = sources.add("s.tl", "1\n2\n3\n4\n5\n6\n7\n8 x\n");
  Diagnostics d;
  d.report(Code::E0101, Span{file, 14, 15}, "m")
      .help("h", {{Span{file, 14, 15}, "a\nb"}, {Span{file, 16, 17}, "y"}, {Span{file, 0, 0}, "0\n0\n"}});
  const std::string text = render(d, sources);
  EXPECT_NE(text.find("1  | 0\n2  | 0\n3  | 1\n...\n10 | a\n11 | b y\n"), std::string::npos) << text;
}

TEST(RenderJson, OneObjectALine) {
  SourceManager sources;
  sources.add("a \"b\".tl", "let x = \xC3\xA4\n");
  Diagnostics d;
  d.report(Code::W0201, {0, 8, 10}, "tab\there").help("drop it", {{{0, 8, 10}, ""}});
  EXPECT_EQ(
      renderJson(d, sources),
      "{\"code\": \"W0201\", \"severity\": \"warning\", \"message\": \"tab\\u0009here\", \"file\": \"a \\\"b\\\".tl\", "
      "\"line\": 1, \"column\": 9, \"endLine\": 1, \"endColumn\": 10, \"label\": \"\", \"labels\": [], \"notes\": [], "
      "\"helps\": [{\"text\": \"drop it\", \"edits\": [{\"file\": \"a \\\"b\\\".tl\", \"line\": 1, \"column\": 9, "
      "\"endLine\": 1, \"endColumn\": 10, \"replacement\": \"\"}]}]}\n");
}

TEST(Text, NearestName) {
  NearestName nearest("exmaple");
  nearest.consider("sum");
  nearest.consider("example");
  EXPECT_EQ(nearest.best(), "example");
  EXPECT_EQ(formatBytes(200704), "196 KiB");
}

TEST(Parallel, AllIsDoneAndWhatIsThrownIsThrownOnce) {
  std::vector<int> done(8, 0);
  inParallel(done.size(), [&](size_t i) { done[i] = 1; });
  EXPECT_EQ(done, std::vector<int>(8, 1));
  std::atomic<int> begun{0};
  const auto fails = [&](size_t i) {
    ++begun;
    if (i % 2 == 0) throw std::bad_alloc();
  };
  EXPECT_THROW(inParallel(8, fails), std::bad_alloc);
  EXPECT_EQ(begun, 8);
  inParallel(0, fails);
  EXPECT_EQ(begun, 8);
}

}  // namespace
}  // namespace tenc
