// The parser: the shape of trees, spans, and that no input crashes it.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "frontend/Frontend.h"
#include "frontend/StdModules.h"
#include "syntax/Outline.h"

namespace tenc {
namespace {

using ast::Expr;
using ast::Stmt;

struct Parsed {
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<ast::File> file;

  explicit Parsed(const std::string& text) {
    const uint32_t id = sources.add("test.tl", text);
    file = syntax::parse(sources, id, diags);
  }
  std::string text(Span s) const { return std::string(sources.text(s)); }
  const Stmt& statement(size_t i) const { return *file->statements.at(i); }
  const Expr& value(size_t i = 0) const { return *statement(i).value; }
};

/// The expression in prefix form: `(+ a (* b c))`.
std::string shape(const Expr& e) {
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::Name:
    case Kind::Int:
    case Kind::Float:
    case Kind::Device: return e.text;
    case Kind::Unary: return "(" + e.text + " " + shape(*e.args[0]) + ")";
    case Kind::Binary: return "(" + e.text + " " + shape(*e.args[0]) + " " + shape(*e.args[1]) + ")";
    case Kind::Member: return "(." + e.text + " " + shape(*e.args[0]) + ")";
    case Kind::Call: {
      std::string s = "(call " + shape(*e.args[0]);
      for (const auto& a : e.arguments) s += " " + (a.name ? a.name->text + ":" : "") + shape(*a.value);
      return s + ")";
    }
    case Kind::Tuple: {
      std::string s = "(tuple";
      for (const auto& a : e.args) s += " " + shape(*a);
      return s + ")";
    }
    case Kind::Lambda: return "(lambda " + shape(*e.body) + ")";
    case Kind::Error: return "error";
    default: return "?";
  }
}

std::string shapeOf(const std::string& text) {
  const Parsed p("let r = " + text + "\n");
  return p.diags.ok() ? shape(p.value()) : p.diags.all()[0].message;
}

TEST(Parse, Precedence) {
  EXPECT_EQ(shapeOf("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(shapeOf("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(shapeOf("a ** b ** c"), "(** a (** b c))");
  EXPECT_EQ(shapeOf("-a ** 2"), "(- (** a 2))");
  EXPECT_EQ(shapeOf("2 ** -a * b"), "(* (** 2 (- a)) b)");
  EXPECT_EQ(shapeOf("-a * b"), "(* (- a) b)");
  EXPECT_EQ(shapeOf("x @ w + b"), "(+ (@ x w) b)");
  EXPECT_EQ(shapeOf("a // b % c"), "(% (// a b) c)");
  EXPECT_EQ(shapeOf("not a == b and c"), "(and (not (== a b)) c)");
  EXPECT_EQ(shapeOf("a or b and not c"), "(or a (and b (not c)))");
  EXPECT_EQ(shapeOf("(a < b) == c"), "(== (< a b) c)");
  EXPECT_EQ(shapeOf("a |> f |> g(1)"), "(|> (|> a f) (call g 1))");
  EXPECT_EQ(shapeOf("a + 1 |> f"), "(|> (+ a 1) f)");
  EXPECT_EQ(shapeOf("m.w.T @ x"), "(@ (.T (.w m)) x)");
  EXPECT_EQ(shapeOf("t.0.1 + t.1"), "(+ (.1 (.0 t)) (.1 t))");
  EXPECT_EQ(shapeOf("x.to(cuda:1)"), "(call (.to x) cuda:1)");
  EXPECT_EQ(shapeOf("sum(x, axis: -1)"), "(call sum x axis:(- 1))");
  EXPECT_EQ(shapeOf("|x| x + 1 |> f"), "(lambda (|> (+ x 1) f))");
  EXPECT_EQ(shapeOf("|x| |y| x"), "(lambda (lambda x))");
  EXPECT_EQ(shapeOf("(a, b,)"), "(tuple a b)");
  EXPECT_EQ(shapeOf("()"), "(tuple)");
  EXPECT_EQ(shapeOf("(a)"), "a");
}

TEST(Parse, RulesOfForm) {
  EXPECT_EQ(shapeOf("a < b < c"), "comparisons do not chain");
  EXPECT_EQ(shapeOf("a == not b"), "`not` needs parentheses here");
  EXPECT_EQ(shapeOf("f(1: 2)"), "a named argument starts with a name");
  EXPECT_EQ(shapeOf("f(0..n)"), "a range is allowed in `for` and in `rev(...)` only");
  EXPECT_EQ(shapeOf("3 { a: 1 }"), "write the fields of a struct after its name");
  EXPECT_EQ(shapeOf("\"\\q\""), "unknown escape `\\q`");
  EXPECT_FALSE(Parsed("f(x) = 1\n").diags.ok());
  EXPECT_FALSE(Parsed("break\n").diags.ok());
  EXPECT_FALSE(Parsed("return 1\n").diags.ok());
  EXPECT_FALSE(Parsed("if a { import nn }\n").diags.ok());
  EXPECT_FALSE(Parsed("@gpu import nn\n").diags.ok());
  EXPECT_FALSE(Parsed("let print = 1\n").diags.ok());
  EXPECT_TRUE(Parsed("fn f(x) { while x { if x { break } else { return 1 } } }\n").diags.ok());
  EXPECT_TRUE(Parsed("let test = 1; let device = 2; test = device\n").diags.ok());
}

TEST(Parse, Literals) {
  const Parsed p("let a = 18446744073709551615\nlet b = 18446744073709551616\nlet c = 0xff_ff\nlet d = 1_0.5e-1\n");
  ASSERT_TRUE(p.diags.ok());
  EXPECT_EQ(static_cast<uint64_t>(p.value(0).integer), ~uint64_t{0});
  EXPECT_FALSE(p.value(0).overflow);
  EXPECT_TRUE(p.value(1).overflow);
  EXPECT_EQ(p.value(2).integer, 0xffff);
  EXPECT_EQ(p.value(3).real, 1.05);
}

TEST(Parse, StringsAndTheirSpans) {
  const Parsed p("# \xC3\xA9\nlet s = \"\xC3\xA9\\n{{{x[1:2] + 1:.2f}}} \\\"{cuda:0}\"\n");
  ASSERT_TRUE(p.diags.ok()) << render(p.diags, p.sources);
  const auto& pieces = p.value().pieces;
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].text, "\xC3\xA9\n{");
  EXPECT_EQ(pieces[1].format, ".2f");
  EXPECT_EQ(p.text(pieces[1].formatSpan), ".2f");
  EXPECT_EQ(p.text(pieces[1].hole->span), "x[1:2] + 1");
  EXPECT_EQ(p.text(pieces[1].hole->args[0]->span), "x[1:2]");
  EXPECT_EQ(pieces[2].text, "} \"");
  EXPECT_EQ(pieces[3].hole->kind, Expr::Kind::Device);
}

TEST(Parse, Statements) {
  const Parsed p(
      "## Adds.\n## Twice.\n@gpu fn add[T: float](x: T[...S], static k: i64 = 2) -> T[...S] { x + k }\n"
      "for (i, x) in static 0..n - 1 by 2 { v[i :+ 4, ..., new, 1::2] += x }\n"
      "@cuda[i] let (a, _): (f32[2 * N - 1] @cuda:1, [Block[D]; 12]) = @autocast(bf16) { y }\n"
      "device gpu = cuda:0 or tpu:1 or cpu\n"
      "let l = a +\n    b\n    |> f\n");
  ASSERT_TRUE(p.diags.ok()) << render(p.diags, p.sources);
  const Stmt& f = p.statement(0);
  EXPECT_EQ(f.kind, Stmt::Kind::Fn);
  EXPECT_EQ(f.doc, "Adds.\nTwice.");
  EXPECT_EQ(f.annotations.size(), 1u);
  EXPECT_EQ(f.generics.at(0).kind, ast::Generic::Kind::Float);
  EXPECT_TRUE(f.params.at(1).isStatic);
  EXPECT_EQ(f.params.at(0).type->args.at(0)->kind, ast::TypeExpr::Kind::Pack);
  const Stmt& loop = p.statement(1);
  EXPECT_TRUE(loop.isStatic && loop.pattern.isTuple && loop.hi && loop.by);
  const Stmt& update = *loop.body.statements.at(0);
  EXPECT_EQ(update.op, "+=");
  const auto& subscripts = update.target->subscripts;
  ASSERT_EQ(subscripts.size(), 4u);
  EXPECT_EQ(subscripts[0].kind, ast::Subscript::Kind::Window);
  EXPECT_EQ(subscripts[2].kind, ast::Subscript::Kind::New);
  EXPECT_TRUE(subscripts[3].lo && !subscripts[3].hi && subscripts[3].step);
  const Stmt& let = p.statement(2);
  EXPECT_TRUE(let.annotations.at(0).index);
  EXPECT_EQ(let.value->kind, Expr::Kind::Block);
  EXPECT_EQ(let.value->annotations.at(0).kind, ast::Annotation::Kind::Autocast);
  EXPECT_EQ(let.type->args.at(0)->place->number, 1);
  EXPECT_EQ(let.type->args.at(0)->args.at(0)->op, '-');
  EXPECT_EQ(let.type->args.at(1)->kind, ast::TypeExpr::Kind::List);
  EXPECT_EQ(p.statement(3).places.size(), 3u);
  EXPECT_EQ(shape(p.value(4)), "(|> (+ a b) f)");
}

TEST(Parse, RecoversAndReportsEveryError) {
  const Parsed p("let a = 1 +\nlet b = 2\nfn f(x {\n}\nlet c = )\nlet d = \"x\nlet e = 3\n");
  EXPECT_EQ(p.diags.errors(), 4u) << render(p.diags, p.sources);
  ASSERT_TRUE(p.file);
  std::string names;
  for (const auto& s : p.file->statements) names += s->pattern.name.text;
  EXPECT_EQ(names, "abcde");
  EXPECT_EQ(p.file->statements.front()->value->kind, Expr::Kind::Error);
}

TEST(Parse, Limits) {
  auto code = [](const std::string& text) {
    const Parsed p(text);
    return p.diags.errors() == 1 ? std::string(info(p.diags.all()[0].code).name) : "";
  };
  auto repeat = [](const std::string& s, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += s;
    return all;
  };
  EXPECT_EQ(code("let x = " + repeat("(", 257) + "1" + repeat(")", 257)), "E0105");
  EXPECT_TRUE(Parsed("let x = " + repeat("(", 256) + "1" + repeat(")", 256)).diags.ok());
  EXPECT_EQ(code("let x = " + repeat("|x| ", 9999) + "1"), "E0105");
  EXPECT_EQ(code("let x = " + repeat("if ", 9999)), "E0105");
  EXPECT_EQ(code("let x = 1" + repeat(" + 1", 9999)), "E0105");
  EXPECT_TRUE(Parsed("let x = 1" + repeat(" + 1", 4000)).diags.ok());
  EXPECT_EQ(code("let x = f" + repeat("(1)", 9999)), "E0105");
  EXPECT_EQ(code("let x: f32[1" + repeat("+1", 9999) + "] = y"), "E0105");
  EXPECT_TRUE(Parsed("if a { b }" + repeat(" else if a { b }", 9999)).diags.ok());
  EXPECT_EQ(code(std::string((size_t{16} << 20) + 1, '\n')), "E0105");
  EXPECT_EQ(code("let x = \"\xC3\x28\""), "E0104");
  EXPECT_EQ(code(std::string("let x = 1\n\0", 11)), "E0104");
}

TEST(Parse, MutatedProgramsNeitherCrashNorHang) {
  const std::vector<std::string> seeds = {
      "import nn\nimport optim: sgd, adam\nparam lr: f32 = 0.1\nconst N = 4\ndevice gpu = cuda:0 or cpu\n",
      "struct Mlp[I, H, T: float = f32] { w: T[I, H] @gpu, state n: i64 }\ntype M = Mlp[4, 2]\n"
      "fn forward(m: M, x: f32[N, I]) -> f32[N, H] {\n    let h = relu(x @ m.w)\n    h |> softmax(axis: -1)\n}\n",
      "var v = [[1, 2], [3, 4]]\nfor i in rev(0..n) by 2 { v[i, :] = v[i :+ 2, new] + 1; if i == 2 { break } else { "
      "}\n}\n"
      "while not done and v[0, 0] < 3.5e-1 { v *= 2 }\nassert all(v == 1), \"{v:.3f} {{}} \\n\"\n",
      "@cuda[1] let (a, b): (f32[2 * N], i64) = @gpu { f(|x, y| { x ** -y }, M { w: 1, b: t.0.1 }) }\n"
      "test \"relu\" { assert relu([-1.0]) == [0.0] }\nbench \"b\" { @autocast(bf16) { x @ x } }\n",
  };
  const std::vector<std::string> pieces = {"(",    ")",  "[", "]",   "{",        "}",        "\"",   "\n",
                                           "@",    "|",  ":", ",",   "not ",     "if ",      "else", "..",
                                           "...",  ".0", "-", "fn ", "let ",     "\xC3\xA9", "\\",   "#",
                                           "1.5.", "=",  "<", ";",   "device d", "test \"",  "{x:",  "@cuda["};
  std::mt19937 random(20240501);
  auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  for (int round = 0; round < 600; ++round) {
    std::string text = seeds[below(seeds.size())] + seeds[below(seeds.size())];
    for (size_t edits = 1 + below(6); edits > 0 && !text.empty(); --edits) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0: text.erase(at, 1 + below(8)); break;
        case 1: text.insert(at, pieces[below(pieces.size())]); break;
        case 2: text.insert(at, text.substr(below(text.size()), below(20))); break;
        default: text[at] = static_cast<char>(1 + below(127)); break;
      }
    }
    const Parsed p(text);
    if (p.file) {
      EXPECT_FALSE(ast::print(*p.file).empty() && p.diags.ok() && text.find("let") == 0);
    } else {
      EXPECT_FALSE(p.diags.ok()) << text;
    }
    EXPECT_FALSE(render(p.diags, p.sources).empty() && !p.diags.ok());
  }
}

TEST(IsComplete, WaitsForBracketsAndOperands) {
  using syntax::isComplete;
  EXPECT_TRUE(isComplete("let x = 1"));
  EXPECT_TRUE(isComplete(""));
  EXPECT_TRUE(isComplete("f(a, [1, 2]) # ("));
  EXPECT_TRUE(isComplete("print(\"(\")"));
  EXPECT_TRUE(isComplete("print(\"open"));
  EXPECT_TRUE(isComplete("x)"));
  EXPECT_TRUE(isComplete("let band = 1"));
  EXPECT_FALSE(isComplete("fn f(x) {"));
  EXPECT_FALSE(isComplete("@gpu"));
  EXPECT_FALSE(isComplete("let y = 1\n@cuda:0 @autocast(bf16) # here"));
  EXPECT_FALSE(isComplete("@cuda[i + 1]"));
  EXPECT_TRUE(isComplete("@gpu let x = 1"));
  EXPECT_TRUE(isComplete("@gpu x"));
  EXPECT_FALSE(isComplete("let x = [1,"));
  EXPECT_FALSE(isComplete("let x = 1 +  # more"));
  EXPECT_FALSE(isComplete("let x ="));
  EXPECT_FALSE(isComplete("a and"));
}

TEST(Outline, TakesWhatIsNamedAndItsNeeds) {
  const std::string text =
      "## A pair.\nstruct Pair { a: f32, b: f32 }\nstruct Other { a: f32 }\n\n# ---- functions\n\n"
      "fn call(p: Pair) -> f32 = p.a\nfn call(o: Other) -> f32 = o.a\n"
      "fn pair(a: f32) -> Pair {\n    # other\n    Pair { a: a, b: \"{helper(a)}\" }\n}\n"
      "fn helper(x: f32) -> f32 = x\nfn other() -> Other = Other { a: 1.0 }\n";
  syntax::Outline outline(text);
  syntax::Words words = {"call", "pair"};
  const std::string part = outline.take(words);
  ASSERT_EQ(part.size(), text.size());
  for (const char* taken : {"## A pair.\nstruct Pair", "fn call(p: Pair)", "fn pair(", "fn helper("}) {
    EXPECT_EQ(part.find(taken), text.find(taken)) << taken;
  }
  for (const char* left : {"struct Other", "fn call(o", "fn other"}) {
    EXPECT_EQ(part.find(left), std::string::npos) << left;
  }
  EXPECT_TRUE(outline.take(words).empty());
  words.insert("other");
  const std::string rest = outline.take(words);
  for (const char* taken : {"struct Other", "fn call(o", "fn other"}) EXPECT_NE(rest.find(taken), std::string::npos);
  EXPECT_EQ(rest.find("fn pair"), std::string::npos);
}

TEST(Outline, TakesOfAnImportWhatIsWanted) {
  const std::string text = "import a: one, two, three\n\n## Of it.\nfn use() -> f32 = two()\nfn more() -> f32 = 1.0\n";
  syntax::Outline outline(text);
  syntax::Words words = {"three"};
  EXPECT_EQ(outline.take(words).find("import a:           three"), 0U);
  words.insert("use");
  const std::string part = outline.take(words);
  EXPECT_EQ(part.find("import a:      two"), 0U);
  EXPECT_EQ(part.find("three"), std::string::npos);
  EXPECT_EQ(outline.described(), (std::set<std::string_view>{"use", "more"}));
}

/// Every declaration of the standard library is found by its lines: taken all together they are the whole module.
TEST(Outline, KnowsEveryDeclarationOfTheLibrary) {
  for (const std::string_view name : frontend::stdModuleNames()) {
    const auto text = frontend::stdModule(name);
    ASSERT_TRUE(text) << name;
    const Parsed whole{std::string(*text)};
    syntax::Outline outline(*text);
    syntax::Words words;
    std::multiset<std::string> names, found;
    const auto add = [](const ast::Stmt& s, std::multiset<std::string>& to) {
      for (const ast::Name& n : s.names) to.insert(n.text);  // an import may come in several parts
      if (s.names.empty()) to.insert(s.name.text);
    };
    for (const auto& s : whole.file->statements) add(*s, names);
    // Name by name, so that each is taken for its own sake or for another's.
    for (const auto& s : whole.file->statements) {
      words.insert(s->name.text);
      for (const ast::Name& n : s->names) words.insert(n.text);
      const std::string part = outline.take(words);
      if (part.empty()) continue;
      const Parsed parsed(part);
      EXPECT_TRUE(parsed.diags.ok()) << name;
      for (const auto& t : parsed.file->statements) add(*t, found);
    }
    EXPECT_EQ(found, names) << name;
  }
}

}  // namespace
}  // namespace tenc
