// What `tenc explain` says of names of other libraries.
#include <gtest/gtest.h>

#include <string>

#include "syntax/Familiar.h"
#include "syntax/ForeignCalls.h"
#include "tools/tenc/Commands.h"

namespace tenc::tool {
namespace {

std::string said(const std::string& name) {
  testing::internal::CaptureStdout();
  if (!printOperation(name) && !printKeyword(name)) printForeign(name);
  return testing::internal::GetCapturedStdout();
}

TEST(Explain, EveryForeignNameIsKnown) {
  for (const auto names :
       {syntax::familiarNames(), syntax::familiarOptions(), syntax::familiarWords(), syntax::familiarCharacters()})
    for (const syntax::Familiar& row : names) EXPECT_NE(said(std::string(row.name)), "") << row.name;
  for (const auto calls : syntax::foreignTables())
    for (const syntax::ForeignCall& row : calls) EXPECT_NE(said(std::string(row.name())), "") << row.call;
}

TEST(Explain, ExamplesAreCallsOfTheOtherLibrary) {
  for (const auto calls : syntax::foreignTables()) {
    for (const syntax::ForeignCall& row : calls) {
      const std::string text = said(std::string(row.name()));
      for (size_t at = text.find("` is written `"); at != text.npos; at = text.find("` is written `", at + 1)) {
        const std::string example = text.substr(text.rfind('`', at - 1) + 1, at - text.rfind('`', at - 1) - 1);
        EXPECT_EQ(example.find("=true"), example.npos) << example;
        EXPECT_EQ(example.find("=false"), example.npos) << example;
        EXPECT_EQ(example.find_first_of("!%{}"), example.npos) << example;
      }
    }
  }
}

}  // namespace
}  // namespace tenc::tool
