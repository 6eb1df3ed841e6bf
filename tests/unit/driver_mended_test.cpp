// Edits of several findings that are made together.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/MendedText.h"

namespace tenc {
namespace {

OwnedEdit edit(uint32_t begin, uint32_t end, const char* text, size_t finding) {
  return {{Span{0, begin, end}, text}, finding};
}

/// The text after the edits, which is the same for every order of them.
std::string mended(std::string_view text, std::vector<OwnedEdit> edits) {
  std::string first;
  std::vector<size_t> order(edits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    std::vector<OwnedEdit> list;
    for (const size_t i : order) list.push_back(edits[i]);
    MendedText now(text);
    now.apply(list);
    if (first.empty()) first = now.now();
    EXPECT_EQ(first, now.now());
  } while (std::next_permutation(order.begin(), order.end()));
  return first;
}

TEST(MendedText, WhatEndsAtOnePlaceIsNested) {
  EXPECT_EQ(
      mended("print a + b", {edit(5, 6, "(", 0), edit(11, 11, ")", 0), edit(10, 10, "[", 1), edit(11, 11, "]", 1)}),
      "print(a + [b])");
}

TEST(MendedText, WhatBeginsAtOnePlaceIsNested) {
  EXPECT_EQ(mended("a + b", {edit(0, 0, "[", 0), edit(1, 1, "]", 0), edit(0, 0, "(", 1), edit(5, 5, ")", 1)}),
            "([a] + b)");
}

TEST(MendedText, BracketsAroundOnePartAreNested) {
  EXPECT_EQ(mended("a", {edit(0, 0, "f(", 0), edit(1, 1, ")", 0), edit(0, 0, "[", 1), edit(1, 1, "]", 1)}), "f([a])");
}

TEST(MendedText, WhatEndsStandsBeforeWhatBegins) {
  EXPECT_EQ(mended("a-b", {edit(0, 0, "(", 0), edit(1, 1, ")", 0), edit(1, 1, "[", 1), edit(3, 3, "]", 1)}), "(a)[-b]");
}

TEST(MendedText, WholeLinesStandInFrontOfTheirLine) {
  EXPECT_EQ(mended("x = f", {edit(0, 0, "let ", 0), edit(0, 0, "import nn\n", 1), edit(4, 5, "nn.f", 1)}),
            "import nn\nlet x = nn.f");
}

TEST(MendedText, WhatIsPutInFrontOfAPartThatChangesIsNotApart) {
  const Edit let = edit(0, 0, "let ", 0).edit, gone = edit(0, 5, "", 1).edit, line = edit(0, 0, "import nn\n", 2).edit;
  EXPECT_FALSE(areApart(let, gone));
  EXPECT_FALSE(areApart(gone, let));
  EXPECT_TRUE(areApart(line, gone));
  EXPECT_TRUE(areApart(let, edit(4, 5, "g", 1).edit));
  // The closing brackets of two calls are two.
  EXPECT_FALSE(areApart(edit(5, 5, ")", 0).edit, edit(5, 5, ")", 1).edit));
  // Which of two options comes first would not be known, nor what stands between them.
  EXPECT_FALSE(areApart(edit(5, 5, "lr: f(i)", 0).edit, edit(5, 5, "lr: 0.1", 1).edit));
  EXPECT_TRUE(areApart(edit(5, 5, ")", 0).edit, edit(5, 5, ", lr: 0.1", 1).edit));
  // A word in place of the lines above stands in front of what begins there.
  EXPECT_FALSE(areApart(edit(0, 5, "var ", 0).edit, edit(5, 5, "let ", 1).edit));
}

}  // namespace
}  // namespace tenc
