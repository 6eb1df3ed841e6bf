// Every row of the table of foreign habits: a script that has the habit is told what the row says, and what the row
// proposes parses, names what there is, and, where it is a whole text, is no error itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>

#include "frontend/Frontend.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {
namespace {

using syntax::Familiar;
using syntax::FamiliarCall;

struct Checked {
  std::string text;
  std::vector<Diagnostic> found;
  bool ok() const { return found.empty(); }
  std::string messages() const {
    std::string all;
    for (const Diagnostic& d : found) {
      all += "\n  " + d.message;
      for (const Help& h : d.helps) all += "\n    help: " + h.text;
    }
    return all;
  }
};

Checked checked(const std::string& text, bool parseOnly = false) {
  SourceManager sources;
  Diagnostics diags;
  const auto file = syntax::parse(sources, sources.add("test.tl", text), diags);
  if (file && diags.ok() && !parseOnly) lower(*file, sources, diags, {});
  return {text, {diags.all().begin(), diags.all().end()}};
}

/// The help of the first diagnostic that has one like it; null for none.
const Help* helpIn(const Checked& c, const std::function<bool(const Help&)>& like) {
  for (const Diagnostic& d : c.found) {
    const auto h = std::find_if(d.helps.begin(), d.helps.end(), like);
    if (h != d.helps.end()) return &*h;
  }
  return nullptr;
}

std::string mended(std::string text, const Help& help) {
  std::vector<Edit> edits = help.edits;
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.span.begin > b.span.begin; });
  for (const Edit& e : edits) text.replace(e.span.begin, e.span.end - e.span.begin, e.replacement);
  return text;
}

std::string replaced(std::string s, const std::string& what, const std::string& by) {
  for (size_t at = s.find(what); at != std::string::npos; at = s.find(what, at + by.size())) {
    s.replace(at, what.size(), by);
  }
  return s;
}

/// What a help shows between backticks, with `...` filled in.
std::vector<std::string> snippets(std::string_view help) {
  std::vector<std::string> all;
  const std::string text(help);
  const std::regex pattern("`([^`]*)`");
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    std::string s = (*it)[1];
    s = replaced(s, "{ ... }", "{ }");
    s = replaced(s, "= ...", "= x");
    s = replaced(s, "name: type", "name: f32");
    s = replaced(s, "{ w: value }", "{ w: 1.0 }");
    all.push_back(s);
  }
  return all;
}

/// Whether the snippet is TL: an expression, a type, a range, a declaration, or a word or sign of the grammar.
void expectIsTL(const std::string& s) {
  const std::string contexts[] = {s + "\n",
                                  "let a_ = " + s + "\n",
                                  "let a_: " + s + " = x\n",
                                  "for i in " + s + " { }\n",
                                  "fn f() { " + s + " }\n",
                                  "fn f(x: f32[" + s + "]) = x\n",
                                  "struct S { " + s + " }\n",
                                  "let a_ = true " + s + " false\n",
                                  "let a_ = " + s + " true\n",
                                  "let a_ = S { " + s + " }\n",
                                  "if true { } " + s + " { }\n",
                                  "for i in 0..9 " + s + " 2 { }\n",
                                  "fn f(x: f32) " + s + " f32 { x }\n",
                                  "let x " + s + " 1\n",
                                  s + " x = 1\n",
                                  s + " S { w: f32 }\n",
                                  s + " f(x: f32) = x\n",
                                  "let y = x " + s + " f\n",
                                  "for i in " + s + " { }\n",
                                  "fn f(" + s + ") = 1\n",
                                  "if true " + s + " }\n",
                                  s + " true { }\n",
                                  "if true { } " + s + " true { }\n",
                                  s + " nn\n",
                                  s + " i in 0..3 { }\n"};
  for (const std::string& text : contexts) {
    if (!checked(text, /*parseOnly=*/true).ok()) continue;
    // Whatever is called by a name of its own must be there.
    SourceManager sources;
    Diagnostics diags;
    const auto file = syntax::parse(sources, sources.add("test.tl", text), diags);
    const Resolution names(*file);
    TreeVisitor calls;
    calls.onExpression = [&](const ast::Expr& e) {
      if (e.kind != ast::Expr::Kind::Call || e.args[0]->kind != ast::Expr::Kind::Name) return true;
      const std::string& name = e.args[0]->text;
      EXPECT_TRUE(name.size() == 1 || names.definition(e.args[0]->span)) << "`" << s << "` calls " << name;
      return true;
    };
    for (const auto& statement : file->statements) calls.visit(*statement);
    return;
  }
  const bool names = s.starts_with("--") || s.starts_with("nn.");
  EXPECT_TRUE(names) << "`" << s << "` is not TL";
}

/// A name that a script may write where the replacement stands.
bool exists(std::string_view name) {
  const std::string n(name);
  for (const std::string& text : {"let a = " + n + "\n", "let x = ones([2, 2])\nlet a = x." + n + "\n",
                                  "fn f(s: " + n + ") = 1\n", "let a: " + n + " = 1\n"}) {
    if (checked(text).ok()) return true;
  }
  return false;
}

/// Scripts that write the name as a value, a member, a call, a method or a type.
std::vector<std::string> scriptsWith(const Familiar& row) {
  const std::string n(row.name), x = "let x = ones([2, 3])\n";
  if (!row.example.empty()) return {std::string(row.example)};
  return {x + "print(" + n + ")\n",     x + "print(" + n + "(x))\n",  x + "print(x." + n + ")\n",
          x + "print(x." + n + "())\n", x + "let y: " + n + " = 1\n", x + "print(x." + n + "(x))\n",
          x + "x[" + n + "]\n"};
}

TEST(Habits, NamesAreToldWhatTLHas) {
  for (const Familiar& row : syntax::familiarNames()) {
    const std::string name(row.name), help(row.help), replacement(row.replacement);
    if (!replacement.empty()) EXPECT_TRUE(exists(replacement)) << name << ": " << replacement;
    for (const std::string& s : snippets(help)) expectIsTL(s);
    if (help.empty() && replacement.empty()) {
      EXPECT_TRUE(!syntax::familiarCalls(name).empty() || row.prefix || row.layer || !row.ofTree.empty()) << name;
      continue;
    }
    const auto scripts = scriptsWith(row);
    const bool told = std::any_of(scripts.begin(), scripts.end(), [&](const std::string& text) {
      const Help* h = helpIn(checked(text), [&](const Help& x) {
        return help.empty() ? x.text == "did you mean `" + replacement + "`?" : x.text == help;
      });
      return h != nullptr;
    });
    EXPECT_TRUE(told) << name << checked(scripts[0]).messages();
  }
}

TEST(Habits, PrefixesAreLeftOut) {
  for (const Familiar& row : syntax::familiarNames()) {
    if (!row.prefix) continue;
    const std::string text = "print(" + std::string(row.name) + ".zeros([2]))\n";
    const Checked c = checked(text);
    const Help* h = helpIn(c, [](const Help& x) { return !x.edits.empty(); });
    ASSERT_TRUE(h) << text << c.messages();
    EXPECT_TRUE(checked(mended(text, *h)).ok()) << mended(text, *h);
  }
}

std::string scriptOf(std::string_view name, const FamiliarCall& call) {
  if (!call.example.empty()) return std::string(call.example);
  const bool statement = call.position == FamiliarCall::Position::Statement;
  const std::string first = statement ? "v" : "x";
  const std::string operands[] = {first, "y", "y"};
  std::string text;
  const bool method = call.form == FamiliarCall::Form::Method;
  for (size_t i = method ? 1 : 0; i < call.operands; ++i) text += (text.empty() ? "" : ", ") + operands[i];
  text = std::string(name) + "(" + text + ")";
  if (method) text = first + "." + text;
  const std::string bound = "let x = ones([2, 3])\nlet y = ones([2, 3])\nvar v = ones([2, 3])\n";
  if (call.position == FamiliarCall::Position::Range)
    return "for i in " + replaced(replaced(text, "x", "1"), "y", "5") + " { print(i) }\n";
  return bound + (statement ? text + "\n" : "let r = " + text + "\n");
}

TEST(Habits, CallsBecomeWhatTLWrites) {
  for (const Familiar& row : syntax::familiarNames()) {
    for (const FamiliarCall& call : syntax::familiarCalls(row.name)) {
      const std::string text = scriptOf(row.name, call);
      const Checked c = checked(text);
      const Help* h = helpIn(c, [](const Help& x) { return !x.edits.empty(); });
      ASSERT_TRUE(h) << text << c.messages();
      const std::string better = mended(text, *h);
      EXPECT_TRUE(checked(better).ok()) << text << "became\n" << better << checked(better).messages();
    }
  }
}

TEST(Habits, OptionsAreThoseOfSomeBuiltIn) {
  const auto ops = operations();
  for (const Familiar& row : syntax::familiarOptions()) {
    for (const std::string& s : snippets(row.help)) expectIsTL(s);
    const auto tells = [&](const std::string& text) {
      return helpIn(checked(text), [&](const Help& x) {
               return row.replacement.empty() ? x.text == row.help
                                              : x.text == "did you mean `" + std::string(row.replacement) + "`?";
             }) != nullptr;
    };
    bool told = !row.example.empty() && tells(std::string(row.example));
    for (const OpDoc& op : ops) {
      const Signature& s = builtinRow(op.name)->signature;
      if (s.find(row.name) || (!row.replacement.empty() && !s.find(row.replacement))) continue;
      const std::string text = "print(" + std::string(op.name) + "(" + std::string(row.name) + ": 1))\n";
      told = told || tells(text);
    }
    EXPECT_TRUE(told) << row.name;
  }
}

TEST(Habits, WordsAndCharacters) {
  for (const auto rows : {syntax::familiarWords(), syntax::familiarCharacters()}) {
    for (const Familiar& row : rows) {
      const std::string text(row.example), help(row.help);
      for (const std::string& s : snippets(help)) expectIsTL(s);
      const Checked c = checked(text);
      const Help* h = helpIn(c, [&](const Help& x) { return x.text.starts_with(help); });
      EXPECT_TRUE(h) << text << c.messages();
      if (!h) continue;
      if (!row.replacement.empty()) EXPECT_FALSE(h->edits.empty()) << text;
      if (h->edits.empty()) continue;
      const std::string better = mended(text, *h);
      EXPECT_TRUE(checked(better).ok()) << text << "became\n" << better << checked(better).messages();
    }
  }
}

TEST(Habits, Misuses) {
  for (const syntax::FamiliarMisuse& row : syntax::familiarMisuses()) {
    const std::string help(row.help);
    for (const std::string& s : snippets(help)) expectIsTL(s);
    const Checked c = checked(std::string(row.example));
    EXPECT_TRUE(helpIn(c, [&](const Help& x) { return x.text == help; })) << row.example << c.messages();
  }
}

TEST(Habits, FormsOfSyntax) {
  for (const syntax::FamiliarForm& row : syntax::familiarForms()) {
    const std::string text(row.example), help(row.help);
    for (const std::string& s : snippets(help)) expectIsTL(s);
    const Checked c = checked(text);
    const Help* h = helpIn(c, [&](const Help& x) { return x.text == help; });
    EXPECT_TRUE(h) << text << c.messages();
    if (!h || h->edits.empty()) continue;
    const std::string better = mended(text, *h);
    EXPECT_TRUE(checked(better).ok()) << text << "became\n" << better << checked(better).messages();
  }
}

}  // namespace
}  // namespace tenc::frontend
