// Which calls a routine takes. Programs come from files too: here is said again what ir/InferLibrary.cpp decides for
// those that are compiled.
#include <algorithm>
#include <limits>

#include "runtime/library/Library.h"

namespace tenc::rt::library {
namespace {

using Dims = std::vector<int64_t>;

/// LAPACK counts in 32 bits, and its workspaces grow with the square of the shorter side.
constexpr int64_t kLongestSide = std::numeric_limits<int32_t>::max();
constexpr int64_t kLongestShortSide = 32000;

/// The dims of a batch, and those of one item.
Dims with(const Call& call, std::initializer_list<int64_t> dims) {
  const Dims& shape = call.operands[0].shape;
  Dims all(shape.begin(), shape.end() - 2);
  all.insert(all.end(), dims);
  return all;
}
uint8_t dtypeOf(const Call& call) { return call.operands[0].dtype; }
int64_t rowsOf(const Call& call) { return dim(call.operands[0], 2); }
int64_t columnsOf(const Call& call) { return dim(call.operands[0], 1); }
int64_t leastOf(const Call& call) { return std::min(rowsOf(call), columnsOf(call)); }
int64_t sidesOf(const Call& call) { return dim(call.operands[1], 1); }

using Results = std::vector<std::pair<uint8_t, Dims>>;

Results asOperand(const Call& c) { return {{dtypeOf(c), c.operands[0].shape}}; }
Results places(const Call& c) { return {{abi::dtype::I64, c.operands[0].shape}}; }
Results least(const Call& c) {
  Dims shape = c.operands[0].shape;
  shape.back() = option(c, "k");
  return {{dtypeOf(c), shape}, {abi::dtype::I64, shape}};
}
Results solution(const Call& c) { return {{dtypeOf(c), with(c, {columnsOf(c), sidesOf(c)})}}; }
Results pivots(const Call& c) { return {{dtypeOf(c), with(c, {columnsOf(c)})}, {dtypeOf(c), with(c, {})}}; }
Results orthogonal(const Call& c) {
  const int64_t k = option(c, "complete") != 0 ? rowsOf(c) : leastOf(c);
  return {{dtypeOf(c), with(c, {rowsOf(c), k})}, {dtypeOf(c), with(c, {k, columnsOf(c)})}};
}
Results eigen(const Call& c) { return {{dtypeOf(c), with(c, {columnsOf(c)})}, {dtypeOf(c), c.operands[0].shape}}; }
Results singular(const Call& c) {
  const bool full = option(c, "full") != 0;
  return {{dtypeOf(c), with(c, {rowsOf(c), full ? rowsOf(c) : leastOf(c)})},
          {dtypeOf(c), with(c, {leastOf(c)})},
          {dtypeOf(c), with(c, {full ? columnsOf(c) : leastOf(c), columnsOf(c)})}};
}
Results singularValues(const Call& c) { return {{dtypeOf(c), with(c, {leastOf(c)})}}; }
Results leastSquares(const Call& c) {
  return {{dtypeOf(c), with(c, {columnsOf(c), sidesOf(c)})},
          {abi::dtype::I64, with(c, {})},
          {dtypeOf(c), with(c, {leastOf(c)})}};
}

struct Option {
  std::string_view name;
  bool isFlag;
};

constexpr size_t kRows = 0;  // of Signature::matrices: a routine on rows

struct Signature {
  std::string_view routine;
  size_t matrices;  ///< how many it takes; kRows: one tensor of any dtype
  bool square;
  Option options[2];
  Results (*results)(const Call& call);
};

constexpr Option kDescending = {"descending", true}, kNone = {{}, false};
constexpr Signature kSignatures[] = {
    {"sort", kRows, false, {kDescending, kNone}, asOperand},
    {"argsort", kRows, false, {kDescending, kNone}, places},
    {"topk", kRows, false, {{"k", false}, {"largest", true}}, least},
    {"pivots", 1, true, {kNone, kNone}, pivots},
    {"inv", 1, true, {kNone, kNone}, asOperand},
    {"cholesky", 1, true, {kNone, kNone}, asOperand},
    {"solve", 2, true, {kNone, kNone}, solution},
    {"solve_triangular", 2, true, {{"lower", true}, {"unit", true}}, solution},
    {"qr", 1, false, {{"complete", true}, kNone}, orthogonal},
    {"eigh", 1, true, {kNone, kNone}, eigen},
    {"svd", 1, false, {{"full", true}, kNone}, singular},
    {"singular_values", 1, false, {kNone, kNone}, singularValues},
    {"lstsq", 2, false, {kNone, kNone}, leastSquares},
};

std::string optionProblem(const Call& call, const Signature& e) {
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : call.options) {
    const auto* known = std::find_if(std::begin(e.options), std::end(e.options),
                                     [&](const Option& o) { return !o.name.empty() && o.name == name; });
    if (known == std::end(e.options) || std::find(seen.begin(), seen.end(), name) != seen.end())
      return "is called with an option that it does not have";
    if (known->isFlag && value != 0 && value != 1) return "is called with a flag that is neither 0 nor 1";
    seen.push_back(name);
  }
  return {};
}

std::string rowProblem(const Call& call) {
  const abi::TensorRef& x = call.operands[0];
  if (x.shape.empty()) return "takes rows, not a rank-0 value";
  const int64_t k = option(call, "k");
  if (k < 0 || k > x.shape.back()) return "takes more elements than there are";
  return {};
}

std::string matrixProblem(const Call& call, const Signature& e) {
  const abi::TensorRef& a = call.operands[0];
  for (const abi::TensorRef& t : call.operands) {
    if (t.shape.size() < 2) return "takes matrices";
    const auto [shorter, longer] = std::minmax(dim(t, 1), dim(t, 2));
    if (shorter > kLongestShortSide || longer > kLongestSide) return "is given a matrix that is too large";
    if (t.dtype != a.dtype || t.shape.size() != a.shape.size() ||
        !std::equal(a.shape.begin(), a.shape.end() - 1, t.shape.begin()))
      return "is given operands that do not fit each other";
  }
  if (a.dtype != abi::dtype::F32 && a.dtype != abi::dtype::F64) return "takes f32 and f64";
  if (e.square && rowsOf(call) != columnsOf(call)) return "takes square matrices";
  return {};
}

}  // namespace

std::string problemOf(const Call& call) {
  const auto* e = std::find_if(std::begin(kSignatures), std::end(kSignatures),
                               [&](const Signature& s) { return s.routine == call.routine; });
  if (e == std::end(kSignatures)) return "there is no routine of that name";
  if (call.operands.size() != std::max<size_t>(e->matrices, 1)) return "takes another number of operands";
  std::string problem = optionProblem(call, *e);
  if (problem.empty()) problem = e->matrices == kRows ? rowProblem(call) : matrixProblem(call, *e);
  if (!problem.empty()) return problem;
  const Results expected = e->results(call);
  const bool fits = std::equal(
      expected.begin(), expected.end(), call.results.begin(), call.results.end(),
      [](const auto& want, const abi::TensorRef& t) { return want.first == t.dtype && want.second == t.shape; });
  return fits ? "" : "has other results";
}

}  // namespace tenc::rt::library
