// The order of an einsum's products against all orders there are.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "ir/build/EinsumPath.h"

namespace tenc::ir {
namespace {

struct Network {
  std::vector<std::string> letters;
  std::string out;
  std::map<char, int64_t> sizes;

  double elements(const std::string& of) const {
    double n = 1;
    for (char l : std::set<char>(of.begin(), of.end())) n *= static_cast<double>(sizes.at(l));
    return n;
  }
  /// Multiplies two of the operands: what it costs, by the definition in EinsumPath.h.
  double multiply(size_t a, size_t b) {
    std::string others = out, kept;
    for (size_t i = 0; i < letters.size(); ++i) {
      if (i != a && i != b) others += letters[i];
    }
    const std::string both = letters[a] + letters[b];
    for (char l : std::set<char>(both.begin(), both.end())) {
      if (others.find(l) != std::string::npos) kept.push_back(l);
    }
    letters[a] = kept;
    letters[b].clear();
    return elements(both) + kEinsumElement * elements(kept);
  }
};

double costOf(Network n, const EinsumPath& path) {
  double cost = 0;
  for (auto [a, b] : path.pairs) cost += n.multiply(a, b);
  return cost;
}

double cheapest(const Network& n, const std::vector<size_t>& left) {
  if (left.size() == 1) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = i + 1; j < left.size(); ++j) {
      Network rest = n;
      const double cost = rest.multiply(left[i], left[j]);
      std::vector<size_t> others = left;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
      least = std::min(least, cost + cheapest(rest, others));
    }
  }
  return least;
}

Network random(std::mt19937& r, size_t operands) {
  const auto below = [&](size_t n) { return r() % n; };
  const std::string letters = std::string("abcdefgh").substr(0, 3 + below(6));
  Network n;
  for (char l : letters) n.sizes[l] = static_cast<int64_t>(1 + below(40));
  for (char l : letters) {
    if (below(4) == 0) n.out.push_back(l);
  }
  std::map<char, int> holders;
  for (char l : n.out) ++holders[l];
  n.letters.resize(operands);
  for (std::string& mine : n.letters) {
    for (char l : letters) {
      if (below(2) == 0) mine.push_back(l), ++holders[l];
    }
  }
  // What one operand alone has was summed before.
  for (std::string& mine : n.letters) std::erase_if(mine, [&](char l) { return holders[l] < 2; });
  return n;
}

TEST(EinsumPath, NoOrderIsCheaper) {
  std::mt19937 r(1);
  for (int round = 0; round < 300; ++round) {
    const Network n = random(r, 2 + round % 4);
    std::vector<size_t> all;
    for (size_t i = 0; i < n.letters.size(); ++i) all.push_back(i);
    EXPECT_DOUBLE_EQ(costOf(n, einsumPath(n.letters, n.out, n.sizes)), cheapest(n, all)) << "round " << round;
  }
}

using Pairs = std::vector<EinsumPath::Pair>;

TEST(EinsumPath, EqualOrdersGoFromLeftToRight) {
  const std::map<char, int64_t> sizes = {{'a', 7}, {'b', 7}, {'c', 7}, {'d', 7}};
  EXPECT_EQ(einsumPath({"ab", "bc", "cd"}, "ad", sizes).pairs, (Pairs{{0, 1}, {0, 2}}));
  EXPECT_EQ(einsumPath({"a", "a", "a", "a"}, "a", sizes).pairs, (Pairs{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(einsumPath({"ab"}, "ba", sizes).pairs, Pairs{});
}

TEST(EinsumPath, AVectorGoesThroughAChainOfMatrices) {
  // From right to left of many more operands than are ordered exactly: each product with the vector has 50 elements.
  std::vector<std::string> letters;
  std::map<char, int64_t> sizes;
  for (char l = 'a'; l < 'u'; ++l) letters.push_back({l, static_cast<char>(l + 1)}), sizes[l] = 50;
  letters.emplace_back("u");
  sizes['u'] = 50;
  const EinsumPath path = einsumPath(letters, "a", sizes);
  ASSERT_EQ(path.pairs.size(), 20U);
  EXPECT_EQ(path.pairs.front(), EinsumPath::Pair(19, 20));
  EXPECT_EQ(path.pairs.back(), EinsumPath::Pair(0, 1));
  EXPECT_DOUBLE_EQ(costOf({letters, "a", sizes}, path), 20 * (2500 + kEinsumElement * 50));
}

TEST(EinsumPath, SizesThatCannotBeCountedHaveAnOrder) {
  std::map<char, int64_t> sizes;
  std::vector<std::string> letters(14);
  for (char l = 'A'; l <= 'z'; ++l) {
    if (l > 'Z' && l < 'a') continue;
    sizes[l] = std::numeric_limits<int64_t>::max();
    for (std::string& mine : letters) mine.push_back(l);
  }
  EXPECT_EQ(einsumPath(letters, "", sizes).pairs.size(), 13U);
}

}  // namespace
}  // namespace tenc::ir
