// Which declaration every use of a name means, and what the compiler and an editor ask of it.
#include <gtest/gtest.h>

#include <cctype>

#include "frontend/builtins/Builtin.h"
#include "frontend/names/Resolve.h"
#include "frontend/names/Sizes.h"
#include "syntax/Parse.h"

namespace tenc::frontend {
namespace {

class Script {
 public:
  explicit Script(const std::string& text, const Resolution::Imports& imports = {}) : text_(text) {
    file_ = syntax::parse(sources_, sources_.add("test.tl", text), diags_);
    EXPECT_TRUE(file_ && diags_.ok()) << text;
    names_ = std::make_unique<Resolution>(*file_, imports);
  }
  const Resolution& names() const { return *names_; }
  const ast::Stmt& statement(size_t i) const { return *file_->statements[i]; }

  /// Of the `n`th time that the word stands in the text, counted from 1.
  Span word(const std::string& w, int n) const {
    size_t at = std::string::npos;
    const auto part = [&](size_t i) { return i < text_.size() && (std::isalnum(text_[i]) != 0 || text_[i] == '_'); };
    while (n > 0) {
      at = text_.find(w, at + 1);
      if (at == std::string::npos) break;
      if ((at == 0 || !part(at - 1)) && !part(at + w.size())) --n;
    }
    EXPECT_NE(at, std::string::npos) << w;
    return {0, static_cast<uint32_t>(at), static_cast<uint32_t>(at + w.size())};
  }
  const Use* use(const std::string& w, int n) const { return names_->at(word(w, n).begin); }
  /// Where the `n`th `w` is declared: the number of the occurrence; 0: nowhere in this file; -1: it is no use.
  int declaredAt(const std::string& w, int n) const {
    const Use* u = use(w, n);
    if (!u) return -1;
    if (!u->declaration) return 0;
    for (int i = 1; i <= n + 8; ++i) {
      if (text_.find(w) == std::string::npos) break;
      if (u->declaration->span.valid() && word(w, i).begin == u->declaration->span.begin) return i;
      if (i >= n && !u->declaration->span.valid()) return 0;
    }
    return 0;
  }
  Declaration::Kind kind(const std::string& w, int n) const {
    const Use* u = use(w, n);
    EXPECT_TRUE(u && u->declaration) << w << " " << n;
    return u && u->declaration ? u->declaration->kind : Declaration::Kind::Lost;
  }

 private:
  std::string text_;
  SourceManager sources_;
  Diagnostics diags_;
  std::unique_ptr<ast::File> file_;
  std::unique_ptr<Resolution> names_;
};

using Kind = Declaration::Kind;

std::vector<std::string> namesOf(const Declarations& declarations) {
  std::vector<std::string> names;
  for (const Declaration* d : declarations) names.push_back(d->name);
  return names;
}
using Names = std::vector<std::string>;

TEST(Resolve, InnerBindingsShadowOuterOnes) {
  const Script s("let x = 1\nlet x = x + 1\nfor i in 0..x { let x = i\n  print(x) }\nprint(x)\n");
  EXPECT_EQ(s.declaredAt("x", 3), 1);  // the value of the second `let` sees the first
  EXPECT_EQ(s.declaredAt("x", 4), 2);
  EXPECT_EQ(s.declaredAt("x", 6), 5);
  EXPECT_EQ(s.declaredAt("x", 7), 2);
  EXPECT_EQ(s.kind("i", 2), Kind::Local);
}

TEST(Resolve, BlocksEndTheirNames) {
  const Script s("if true { let a = 1\n  print(a) }\nprint(a)\n");
  EXPECT_EQ(s.declaredAt("a", 2), 1);
  EXPECT_EQ(s.declaredAt("a", 3), 0);
}

TEST(Resolve, FunctionsSeeTheFileAndNotTheScript) {
  const Script s("const K = 2\nlet v = 1\nfn f(x: f32[N], k: i64) -> f32[N] {\n  x * K * v * N * k\n}\n");
  EXPECT_EQ(s.kind("K", 2), Kind::Constant);
  EXPECT_EQ(s.declaredAt("v", 2), 0);
  EXPECT_EQ(s.kind("N", 2), Kind::Dim);
  EXPECT_EQ(s.declaredAt("N", 3), 1);
  EXPECT_EQ(s.kind("k", 2), Kind::Parameter);
}

TEST(Resolve, SignaturesBindDims) {
  const Script s(
      "const B = 4\nstruct S[D] { w: f32[D, B] }\nfn f[D](m: S[D], x: f32[D, B, M], n: i64) -> f32[M, n] = x\n"
      "let y: f32[P] = ones([3])\nlet z: f32[P, Q] = ones([3, 3])\n");
  EXPECT_EQ(s.declaredAt("D", 2), 1);
  EXPECT_EQ(s.declaredAt("D", 4), 3);
  EXPECT_EQ(s.kind("B", 3), Kind::Constant);
  EXPECT_EQ(s.kind("S", 2), Kind::Struct);
  EXPECT_EQ(s.declaredAt("M", 2), 1);
  EXPECT_EQ(s.kind("n", 2), Kind::Parameter);
  EXPECT_EQ(s.declaredAt("P", 2), 1);
  EXPECT_EQ(s.declaredAt("Q", 1), 1);  // where it is bound
}

TEST(Resolve, WhatASignatureDeclares) {
  const Script s("const B = 4\nfn f[D](x: f32[D, B, M], n: i64) -> f32[M, n] = x\nlet y: f32[P, B] = ones([3, 4])\n");
  const auto declared = s.names().signatureOf(s.statement(1));
  EXPECT_EQ(namesOf({declared.begin(), declared.end()}), (Names{"n", "x", "D", "M"}));
  EXPECT_EQ(namesOf(s.names().dimsIn(s.statement(2).span)), Names{"P"});
  EXPECT_TRUE(s.names().dimsIn(s.statement(0).span).empty());
}

/// Only constants, params and dims stand in shapes: anything else may share its name with a dim.
TEST(Resolve, DimsCalledAsOtherThings) {
  const Script s(
      "struct S[N] { w: f32[N] }\ndevice gpu = cpu\nfn list(x: f32[cpu, gpu, S, list, f32]) -> f32[cpu, S] = x\n"
      "fn f(m: S[f32], x: S[gpu]) = m\n");
  EXPECT_EQ(s.kind("cpu", 3), Kind::Dim);
  EXPECT_EQ(s.kind("S", 3), Kind::Dim);
  EXPECT_EQ(s.kind("gpu", 2), Kind::Dim);
  EXPECT_EQ(s.kind("list", 2), Kind::Dim);
  EXPECT_EQ(s.kind("f32", 3), Kind::Dim);
  EXPECT_EQ(s.kind("S", 4), Kind::Struct);
  EXPECT_EQ(s.kind("gpu", 3), Kind::Device);
}

TEST(Resolve, FieldsBindNothing) {
  const Script s("struct S[N] { x: f32[N], y: f32[Q], z: [f32[3]; R] }\n");
  EXPECT_EQ(s.declaredAt("N", 2), 1);
  EXPECT_EQ(s.declaredAt("Q", 1), 0);
  EXPECT_EQ(s.declaredAt("R", 1), 0);
}

TEST(Resolve, OwnNamesComeBeforeBuiltIns) {
  const Script s("fn list(n: i64) = n\nfn f(x: f32[N]) {\n  let zeros = 1\n  print(list(3), zeros, sum(x), f32)\n}\n");
  EXPECT_EQ(s.kind("list", 2), Kind::Functions);
  EXPECT_EQ(s.kind("zeros", 2), Kind::Local);
  EXPECT_EQ(s.kind("sum", 1), Kind::Builtin);
  EXPECT_EQ(s.use("sum", 1)->declaration->builtin, builtinRow("sum"));
  EXPECT_EQ(s.kind("print", 1), Kind::Builtin);
  EXPECT_EQ(s.kind("f32", 2), Kind::Language);
}

TEST(Resolve, TransformsAreNamesOnlyWhereTheyAreCalled) {
  const Script s("let g = vmap(sum)\nlet h = vmap\n");
  EXPECT_EQ(s.kind("vmap", 1), Kind::Builtin);
  EXPECT_EQ(s.declaredAt("vmap", 2), 0);
}

TEST(Resolve, MethodsAndPipes) {
  const Script s("fn twice(x: f32) = x + x\nlet a = 1.0\nprint(a.twice(), a |> twice, a.abs(), a.shape)\n");
  EXPECT_EQ(s.declaredAt("twice", 2), 1);
  EXPECT_TRUE(s.use("twice", 2)->method);
  EXPECT_EQ(s.declaredAt("twice", 3), 1);
  EXPECT_EQ(s.kind("abs", 1), Kind::Builtin);
  EXPECT_EQ(s.use("shape", 1), nullptr);
}

TEST(Resolve, ModulesBringTheirNames) {
  const Script nn("fn relu6(x: f32[...S]) = x\nfn relu6(x: i32[...S]) = x\nstruct Linear { w: f32 }\n");
  const auto imports = [&](const std::string& path) { return path == "nn" ? &nn.names() : nullptr; };
  const Script s(
      "import nn\nimport nn: Linear\nimport gone\nlet a = nn.relu6(1.0)\nfn f(m: Linear, n: nn.Linear) = gone.x\n",
      imports);
  EXPECT_EQ(s.kind("nn", 3), Kind::Module);
  ASSERT_EQ(s.kind("relu6", 1), Kind::Functions);
  EXPECT_EQ(s.use("relu6", 1)->declaration->functions.size(), 2U);
  EXPECT_EQ(s.use("relu6", 1)->declaration->home, &nn.names());
  EXPECT_EQ(s.kind("Linear", 2), Kind::Struct);
  EXPECT_EQ(s.kind("Linear", 3), Kind::Struct);
  EXPECT_EQ(s.kind("gone", 2), Kind::Lost);
}

TEST(Resolve, LambdasCaptureWhatTheyUse) {
  const Script s("let a = 1\nlet b = 2\nlet f = |x: f32[N]| { let c = x + a\n  (|b| c + b + N) }\n");
  EXPECT_EQ(namesOf(s.names().captured(s.statement(2).value->span)), Names{"a"});
  const ast::Expr& inner = *s.statement(2).value->body->blocks[0].statements[1]->value;
  EXPECT_EQ(namesOf(s.names().captured(inner.span)), (Names{"N", "c"}));
}

TEST(Resolve, AssignmentsOfOuterVariables) {
  const Script s("var a = 1\nvar b = ones([2])\nfor i in 0..3 {\n  var a = i\n  a += 1\n  b[a] = 2.0\n}\n");
  EXPECT_EQ(namesOf(s.names().assigned(s.statement(2).body.span)), Names{"b"});
  EXPECT_EQ(s.kind("b", 2), Kind::Variable);
}

TEST(Resolve, FilesThatGrow) {
  SourceManager sources;
  Diagnostics diags;
  const auto file = syntax::parse(sources, sources.add("a.tl", "fn f(x: f32) = g(x)\n"), diags);
  const auto more = syntax::parse(sources, sources.add("b.tl", "\n\n\nfn g(x: f32) = x\n"), diags);
  Resolution names(*file);
  const Span use = file->statements[0]->value->args[0]->span;
  EXPECT_EQ(names.definition(use), nullptr);
  file->statements.push_back(std::move(more->statements[0]));
  names.extend({});
  ASSERT_NE(names.definition(use), nullptr);
  EXPECT_EQ(names.definition(use), names.global("g"));
}

TEST(Resolve, UsesOfADeclaration) {
  const Script s("fn f(x: f32) = x\nfn g(x: f32) = f(f(x))\nprint(\"{f(1.0)}\")\n");
  EXPECT_EQ(s.names().usesOf(*s.names().global("f")).size(), 3U);
  EXPECT_EQ(s.names().definition(s.word("f", 2)), s.names().global("f"));
}

// ---- sizes

bool isSize(const std::string& text, const std::string& function = "f", const std::string& name = "k") {
  const Script s(text);
  SizeParameters sizes;
  const Declaration* d = s.names().global(function);
  for (const ast::FnParam& p : d->statement->params) {
    if (p.name.text == name) return sizes.contains(s.names(), *d->statement, p);
  }
  ADD_FAILURE() << "no parameter " << name;
  return false;
}

/// Every size of every built-in, handed on by a function.
TEST(Sizes, AreThoseOfAllBuiltIns) {
  for (const OpDoc& op : operations()) {
    const Signature& s = builtinRow(op.name)->signature;
    for (const Parameter& p : s.parameters()) {
      std::string call(op.name);
      call += "(";
      for (size_t i = 0; const Parameter* before = s.positional(i); ++i) {
        if (before == &p) break;
        call += "x, ";
      }
      const std::string name(p.name);
      const std::string named = "fn f(x: f32, k: i64) = " + std::string(op.name) + "(" + name + ": k)\n";
      EXPECT_EQ(isSize(named), p.isSize()) << named;
      if (p.namedOnly) continue;
      EXPECT_EQ(isSize("fn f(x: f32, k: i64) = " + call + "k)\n"), p.isSize()) << call;
    }
  }
}

TEST(Sizes, FollowMethodsPipesAndFunctions) {
  EXPECT_TRUE(isSize("fn f(x: f32[N], k: i64) = x.lp_pool(2, k)\n"));
  EXPECT_TRUE(isSize("fn f(x: f32[N], k: i64) = x |> tile(k)\n"));
  EXPECT_FALSE(isSize("fn f(x: f32[N], k: i64) = full(3, k)\n"));
  EXPECT_TRUE(isSize("fn g(n: i64) = zeros(n)\nfn f(k: i64) = g(k + 1)\n"));
  EXPECT_TRUE(isSize("fn g(x: f32, n: i64) = zeros(n)\nfn f(x: f32, k: i64) = x.g(n: k)\n"));
  EXPECT_FALSE(isSize("fn g(n: i64) = g(n)\nfn f(k: i64) = g(k)\n"));
  EXPECT_TRUE(isSize("fn f(k: i64) -> f32[k] = zeros(3)\n"));
  EXPECT_TRUE(isSize("fn f(x: f32[N], k: i64) = x[0:k]\n"));
  EXPECT_TRUE(isSize("fn f(k: i64) { let x: f32[k] = randn(3) }\n"));
  EXPECT_TRUE(isSize("struct S[N] { w: f32[N] }\nfn f(k: i64, w: f32) = S[k] { w: w }\n"));
}

TEST(Sizes, OwnFunctionsMeanThemselves) {
  EXPECT_FALSE(isSize("fn zeros(n: i64) = n + 1\nfn f(k: i64) = zeros(k)\n"));
  EXPECT_FALSE(isSize("fn take(x: f32, n: i64) = x\nfn f(x: f32, k: i64) = x.take(k)\n"));
  EXPECT_FALSE(isSize("fn f(k: i64) { let list = |n| n + 1\n  list(k) }\n"));
  EXPECT_FALSE(isSize("fn f(k: i64) { let k = 3\n  zeros(k) }\n"));
}

TEST(Sizes, ResultsThatAFileDecides) {
  const auto open = [](const std::string& text) {
    const Script s(text);
    return hasOpenResult(s.names(), *s.names().global("f")->statement);
  };
  EXPECT_TRUE(open("fn f(path: str) -> f32[N] = load(path)\n"));
  EXPECT_TRUE(open("fn f(path: str) -> u8[N] = load_bytes(path)\n"));
  EXPECT_FALSE(open("fn load(x: f32[N]) = x\nfn f(x: f32[N]) = load(x)\n"));
}

}  // namespace
}  // namespace tenc::frontend
