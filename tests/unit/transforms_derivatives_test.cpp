// Derivatives of every op: forward mode against central differences, and reverse mode against forward mode, which for
// any u and v give the same <u, J v>. In f64, by the reference interpreter; and against its own differentiation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "interp/Interp.h"
#include "interp/Number.h"
#include "ir/Ir.h"
#include "support/Diagnostics.h"
#include "support/SourceFile.h"
#include "transforms/Deferred.h"
#include "transforms/Derivatives.h"
#include "transforms/Functions.h"
#include "transforms/Tangents.h"

namespace tenc {
namespace {

using ir::DType;

/// What the inputs of a function are drawn from.
enum class Draw : uint8_t { Normal, Positive, Unit, Above1, Definite, Distinct };

struct Case {
  const char* op;    ///< the op that it is about, for the name and for the test that every rule has a case
  const char* text;  ///< the body of @f
  Draw draw = Draw::Normal;
  bool twice = true;  ///< has second derivatives
};

std::string functionText(const Case& c) {
  std::string s = c.text;
  return "func @f" + s;
}

std::unique_ptr<ir::Module> parse(const std::string& text) {
  SourceManager sources;
  const uint32_t file = sources.add("case.tir", text);
  Diagnostics diags;
  auto m = ir::parse(sources, file, diags);
  EXPECT_TRUE(m != nullptr) << text;
  return m;
}

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : random_(seed) {}

  interp::Tensor draw(const ir::Type& t, Draw how) {
    std::vector<double> v(static_cast<size_t>(t.size()));
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> unit(-0.9, 0.9);
    for (size_t i = 0; i < v.size(); ++i) {
      switch (how) {
        case Draw::Normal: v[i] = normal(random_); break;
        case Draw::Positive: v[i] = 0.3 + std::abs(normal(random_)); break;
        case Draw::Unit: v[i] = unit(random_); break;
        case Draw::Above1: v[i] = 1.2 + std::abs(normal(random_)); break;
        case Draw::Distinct: v[i] = static_cast<double>(i) + 0.3 * unit(random_); break;
        case Draw::Definite: v[i] = 0.3 * normal(random_); break;
      }
    }
    if (how == Draw::Distinct) std::shuffle(v.begin(), v.end(), random_);
    if (how == Draw::Definite && t.rank() >= 2 && t.shape.back() == t.shape[t.shape.size() - 2]) {
      const auto n = static_cast<size_t>(t.shape.back());
      for (size_t i = 0; i < v.size(); i += n * n) {
        for (size_t d = 0; d < n; ++d) v[i + d * (n + 1)] += 3 + static_cast<double>(d);
      }
    }
    return of(t, v);
  }
  static interp::Tensor of(const ir::Type& t, const std::vector<double>& v) {
    auto data = std::make_shared<std::vector<std::byte>>(v.size() * static_cast<size_t>(ir::byteSize(t.dtype)));
    for (size_t i = 0; i < v.size(); ++i)
      interp::store(data->data(), t.dtype, static_cast<int64_t>(i),
                    {v[i], std::isfinite(v[i]) ? static_cast<int64_t>(v[i]) : 0});
    return {t, data};
  }
  static std::vector<double> values(const interp::Tensor& t) {
    std::vector<double> v;
    for (int64_t i = 0; i < t.type.size(); ++i) v.push_back(interp::load(t.data->data(), t.type.dtype, i).f);
    return v;
  }

 private:
  std::mt19937_64 random_;
};

std::vector<interp::Tensor> call(const ir::Module& m, const ir::Func& f, std::vector<interp::Tensor> arguments) {
  interp::Options options;
  options.arguments = std::move(arguments);
  interp::Result r = interp::run(m, f, options);
  EXPECT_TRUE(r.ok()) << (r.stop ? r.stop->message : "");
  return std::move(r.values);
}

double dot(const std::vector<interp::Tensor>& a, const std::vector<interp::Tensor>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const auto x = Numbers::values(a[k]), y = Numbers::values(b[k]);
    for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  }
  return sum;
}

std::vector<interp::Tensor> moved(const std::vector<interp::Tensor>& x, const std::vector<interp::Tensor>& v,
                                  double h) {
  std::vector<interp::Tensor> all;
  for (size_t k = 0; k < x.size(); ++k) {
    auto a = Numbers::values(x[k]);
    const auto d = Numbers::values(v[k]);
    for (size_t i = 0; i < a.size(); ++i) a[i] += h * d[i];
    all.push_back(Numbers::of(x[k].type, a));
  }
  return all;
}

/// Drops results that are no floats.
std::vector<interp::Tensor> floats(std::vector<interp::Tensor> all) {
  std::erase_if(all, [](const interp::Tensor& t) { return !ir::isFloat(t.type.dtype); });
  return all;
}

const Case kCases[] = {
#include "derivative_cases.inc"
};

class DerivativeTest : public ::testing::TestWithParam<Case> {};

/// Both modes of function `f` at random places; `f` may itself be a derivative.
void check(ir::Module& m, ir::Func& f, transforms::DerivedFuncs& derived, Draw draw, double tolerance) {
  Numbers numbers(7);
  std::vector<interp::Tensor> x, v, u;
  std::vector<bool> all;
  for (const auto& a : f.body->args) {
    x.push_back(numbers.draw(a->type, draw));
    v.push_back(numbers.draw(a->type, Draw::Normal));
    all.push_back(true);
  }
  transforms::Obstacle obstacle;
  const transforms::ForwardFunc* jvp = derived.forward(f, all, obstacle);
  ASSERT_NE(jvp, nullptr) << obstacle.why;
  const transforms::LinearizedFunc* lin = derived.linearized(f, all, obstacle);
  ASSERT_NE(lin, nullptr) << obstacle.why;
  ir::Func* back =
      derived.transposed(*lin->linear, lin->residuals.size(), std::vector<bool>(lin->linear->resultTypes.size(), true))
          .func;
  ASSERT_EQ(ir::verify(m), "");

  std::vector<interp::Tensor> both = x;
  both.insert(both.end(), v.begin(), v.end());
  std::vector<interp::Tensor> results = call(m, *jvp->func, both);
  const size_t n = f.body->terminator()->operandCount();
  ASSERT_GE(results.size(), n);
  std::vector<interp::Tensor> tangents(results.begin() + static_cast<std::ptrdiff_t>(n), results.end());
  for (const auto& t : tangents) u.push_back(numbers.draw(t.type, Draw::Normal));

  constexpr double kStep = 1e-6;
  const auto above = floats(call(m, f, moved(x, v, kStep))), below = floats(call(m, f, moved(x, v, -kStep)));
  size_t active = 0;
  std::vector<interp::Tensor> slopes;
  for (size_t i = 0, k = 0; i < n; ++i) {
    if (!ir::isFloat(f.body->terminator()->operand(i)->type.dtype)) continue;
    if (jvp->results[i]) {
      ++active;
      slopes.push_back(Numbers::of(above[k].type, {}));
      auto a = Numbers::values(above[k]);
      const auto b = Numbers::values(below[k]);
      for (size_t j = 0; j < a.size(); ++j) a[j] = (a[j] - b[j]) / (2 * kStep);
      slopes.back() = Numbers::of(above[k].type, a);
    }
    ++k;
  }
  ASSERT_EQ(active, tangents.size());
  for (size_t k = 0; k < tangents.size(); ++k) {
    const auto got = Numbers::values(tangents[k]), want = Numbers::values(slopes[k]);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "tangent " << k << ", element " << i;
  }

  const auto kept = call(m, *lin->forward, x);
  std::vector<interp::Tensor> operands;
  for (const auto& r : lin->residuals) operands.push_back(r.argument ? x[r.index] : kept[r.index]);
  for (const auto& t : u) operands.push_back(t);
  const auto cotangents = call(m, *back, operands);
  ASSERT_EQ(cotangents.size(), v.size());
  const double forward = dot(u, tangents), reverse = dot(cotangents, v);
  EXPECT_NEAR(forward, reverse, 1e-9 * (1 + std::abs(forward)));
}

TEST_P(DerivativeTest, ForwardAndReverse) {
  auto m = parse(functionText(GetParam()));
  ASSERT_NE(m, nullptr);
  transforms::DerivedFuncs derived;
  check(*m, *m->find("f"), derived, GetParam().draw, 1e-5);
}

TEST_P(DerivativeTest, Second) {
  if (!GetParam().twice) return;
  auto m = parse(functionText(GetParam()));
  ASSERT_NE(m, nullptr);
  transforms::DerivedFuncs derived;
  ir::Func& f = *m->find("f");
  transforms::Obstacle obstacle;
  const std::vector<bool> all(f.body->args.size(), true);
  const transforms::ForwardFunc* jvp = derived.forward(f, all, obstacle);
  ASSERT_NE(jvp, nullptr);
  check(*m, *jvp->func, derived, GetParam().draw, 1e-4);
}

/// A function in the module that is called once with all arguments, by value.
std::unique_ptr<ir::Func> callOf(ir::Module& m, const ir::Func& f) {
  auto made = transforms::freeFunc(m, f.name + ".call");
  ir::Builder at(made->body.get());
  std::vector<ir::Value*> operands, results;
  for (const auto& v : f.body->args) operands.push_back(made->body->addArg(v->type));
  for (const auto& v : at.makeTyped(ir::OpKind::Call, operands, f.resultTypes, {{"callee", f.name}})->results)
    results.push_back(v.get());
  at.makeTyped(ir::OpKind::Return, results, {});
  made->resultTypes = f.resultTypes;
  return made;
}

/// All that the interpreter does not differentiate by itself.
bool hasOracle(std::string_view op) {
  for (const std::string_view without : {"cholesky", "qr", "eigh", "svd", "singular_values", "lstsq", "pivots"})
    if (op == without) return false;
  return true;
}

void expectSame(const std::vector<interp::Tensor>& got, const std::vector<interp::Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    const auto a = Numbers::values(got[k]), b = Numbers::values(want[k]);
    double most = 1;
    for (const double v : b) most = std::max(most, std::abs(v));
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-10 * most) << "result " << k << ", element " << i;
  }
}

/// vjp of f by transforms/ or, `deferred`, by the interpreter, as a function of the module.
ir::Func& vjpOf(ir::Module& m, const ir::Func& f, bool deferred, const std::string& name,
                transforms::DerivedFuncs& derived) {
  std::vector<bool> results;
  for (const ir::Type& t : f.resultTypes) results.push_back(ir::isFloat(t.dtype));
  const std::vector<bool> arguments(f.body->args.size(), true);
  if (deferred)
    return transforms::addToModule(
        transforms::deferred(callOf(m, f), name + ".of", {false, false, arguments, results}, {}), name);
  transforms::Obstacle obstacle;
  auto made = transforms::pullback(*callOf(m, f), arguments, results, false, derived, obstacle);
  EXPECT_TRUE(made.has_value()) << obstacle.why;
  return transforms::addToModule(std::move(made->func), name);
}

TEST_P(DerivativeTest, AsTheInterpreter) {
  if (!hasOracle(GetParam().op)) return;
  auto m = parse(functionText(GetParam()));
  ASSERT_NE(m, nullptr);
  transforms::DerivedFuncs derived;
  const ir::Func& f = *m->find("f");
  const ir::Func &own = vjpOf(*m, f, false, "own", derived), &theirs = vjpOf(*m, f, true, "theirs", derived);
  Numbers numbers(11);
  std::vector<interp::Tensor> x;
  for (const auto& a : theirs.body->args)
    x.push_back(numbers.draw(a->type, x.size() < f.body->args.size() ? GetParam().draw : Draw::Normal));
  expectSame(call(*m, own, x), call(*m, theirs, x));
  if (!GetParam().twice) return;
  const ir::Func &again = vjpOf(*m, own, false, "again", derived), &alike = vjpOf(*m, theirs, true, "alike", derived);
  for (const ir::Type& t : theirs.resultTypes)
    if (ir::isFloat(t.dtype)) x.push_back(numbers.draw(t, Draw::Normal));
  expectSame(call(*m, again, x), call(*m, alike, x));
}

TEST(Derivatives, EveryRuleHasACase) {
  for (int k = 0; k < static_cast<int>(ir::OpKind::Count); ++k) {
    const auto kind = static_cast<ir::OpKind>(k);
    if (transforms::tangentRule(kind) == nullptr || ir::opInfo(kind).has(ir::Trait::Placing)) continue;
    const std::string_view name = ir::opInfo(kind).mnemonic;
    EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& c) { return c.op == name; })) << name;
  }
}

TEST(Derivatives, RunningMaximumFollowsTheFirstNan) {
  auto m = parse(R"(func @f(%x: f64[4]) -> (f64[4]) {
  %y = cumulate %x {axes = [0], mode = "max"} : f64[4]
  return %y
})");
  ASSERT_NE(m, nullptr);
  transforms::DerivedFuncs derived;
  transforms::Obstacle obstacle;
  const transforms::ForwardFunc* jvp = derived.forward(*m->find("f"), {true}, obstacle);
  ASSERT_NE(jvp, nullptr);
  const ir::Type t{DType::F64, {4}, {}};
  const double nan = std::nan("");
  const auto results = call(*m, *jvp->func, {Numbers::of(t, {1, nan, nan, 5}), Numbers::of(t, {1, 2, 3, 4})});
  EXPECT_EQ(Numbers::values(results[1]), (std::vector<double>{1, 2, 2, 2}));
}

TEST(Derivatives, ReverseModeNeedsKnownTrips) {
  auto m = parse(R"(func @f(%x: f64, %n: i64) -> (f64) {
  %lo = constant {value = [0]} : i64
  %st = constant {value = [1]} : i64
  %y = for %lo, %n, %st, %x : f64 { (%i: i64, %a: f64)
    %b = mul %a, %a : f64
    yield %b
  }
  return %y
})");
  ASSERT_NE(m, nullptr);
  transforms::DerivedFuncs derived;
  transforms::Obstacle obstacle;
  EXPECT_NE(derived.forward(*m->find("f"), {true, false}, obstacle), nullptr);
  EXPECT_EQ(derived.linearized(*m->find("f"), {true, false}, obstacle), nullptr);
  EXPECT_EQ(obstacle.kind, transforms::Obstacle::Kind::UnknownTrips);
}

std::string caseName(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.op) + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(Ops, DerivativeTest, ::testing::ValuesIn(kCases), caseName);

}  // namespace
}  // namespace tenc
