// The cheapest order by dynamic programming over sets of operands, behind a greedy start where there are many.
#include "ir/build/EinsumPath.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tenc::ir {
namespace {

/// A set of letters, or of operands.
using Set = uint64_t;

/// Letters as bits, and how long their dims are.
class Letters {
 public:
  explicit Letters(const std::map<char, int64_t>& sizes) {
    for (auto [letter, n] : sizes) {
      place[static_cast<unsigned char>(letter)] = static_cast<uint8_t>(size.size());
      size.push_back(static_cast<double>(n));
    }
  }

  Set of(std::string_view letters) const {
    Set s = 0;
    for (char letter : letters) s |= Set{1} << place[static_cast<unsigned char>(letter)];
    return s;
  }
  double elements(Set s) const {
    double n = 1;
    for (; s != 0; s &= s - 1) n *= size[static_cast<size_t>(std::countr_zero(s))];
    return n;
  }

 private:
  uint8_t place[256] = {};
  std::vector<double> size;
};

struct Operand {
  Set letters;
  size_t place;  ///< among those of the einsum
};

/// What the operands hold together with the result.
class Holders {
 public:
  Holders(const std::vector<Operand>& operands, Set result) : out(result) {
    for (const Operand& o : operands) {
      thrice |= twice & o.letters;
      twice |= once & o.letters;
      once |= o.letters;
    }
  }
  /// The letters of the product of two of the operands.
  Set productOf(Set a, Set b) const { return (a | b) & (out | (a & b & thrice) | ((a ^ b) & twice)); }

 private:
  Set out;
  Set once = 0, twice = 0, thrice = 0;  ///< letters of so many operands or more
};

/// A product of two operands.
struct Product {
  double cost = std::numeric_limits<double>::infinity();
  double added = std::numeric_limits<double>::infinity();  ///< elements, less those of its operands
};

/// Multiplies one pair after the other until `kEinsumExact` operands are left: that which comes before all others,
/// which is told of two. Pairs without a common letter come only where no others are left.
class Greedy {
 public:
  using Before = bool (*)(const Product&, const Product&);

  Greedy(const Letters& letters, std::vector<Operand>& operands, Set out) : l(letters), ops(operands), result(out) {
    products.resize(ops.size(), std::vector<Product>(ops.size()));
    for (size_t a = 0; a < ops.size(); ++a) rate(a);
  }

  double run(Before before, EinsumPath& path) {
    double cost = 0;
    while (ops.size() > kEinsumExact) {
      const auto [a, b] = first(before);
      path.pairs.emplace_back(ops[a].place, ops[b].place);
      cost += rated(a, b).cost;
      ops[a].letters = Holders(ops, result).productOf(ops[a].letters, ops[b].letters);
      const auto at = static_cast<std::ptrdiff_t>(b);
      ops.erase(ops.begin() + at);
      products.erase(products.begin() + at);
      for (auto& row : products) row.erase(row.begin() + at);
      rate(a);
    }
    return cost;
  }

 private:
  const Letters& l;
  std::vector<Operand>& ops;
  Set result;
  /// Of pairs a < b with a common letter. A product changes those of its own only: who else has a letter stays the same
  /// to all others.
  std::vector<std::vector<Product>> products;

  Product rated(size_t a, size_t b) const {
    const Set p = ops[a].letters, q = ops[b].letters;
    const double elements = l.elements(Holders(ops, result).productOf(p, q));
    return {l.elements(p | q) + kEinsumElement * elements, elements - l.elements(p) - l.elements(q)};
  }

  void rate(size_t a) {
    for (size_t b = 0; b < ops.size(); ++b) {
      if (b == a) continue;
      Product& product = products[std::min(a, b)][std::max(a, b)];
      product = (ops[a].letters & ops[b].letters) != 0 ? rated(a, b) : Product{};
    }
  }

  EinsumPath::Pair first(Before before) const {
    EinsumPath::Pair least{0, 1};
    for (size_t a = 0; a < ops.size(); ++a) {
      for (size_t b = a + 1; b < ops.size(); ++b) {
        if (before(products[a][b], products[least.first][least.second])) least = {a, b};
      }
    }
    return least;
  }
};

/// The cheapest of all orders: of each set of operands the best way to split it.
class Exact {
 public:
  Exact(const Letters& letters, const std::vector<Operand>& operands, Set out) : l(letters), ops(operands) {
    const size_t n = ops.size();
    sets.resize(size_t{1} << n);
    const size_t all = sets.size() - 1;
    std::vector<Set> held(sets.size());
    for (size_t s = 1; s <= all; ++s) held[s] = held[s & (s - 1)] | ops[first(s & -s)].letters;
    for (size_t s = 1; s <= all; ++s) sets[s].letters = held[s] & (out | held[all & ~s]);
    for (size_t s = 1; s <= all; ++s) split(s);
  }

  double run(EinsumPath& path) const {
    emit(sets.size() - 1, path);
    return sets.back().cost;
  }

 private:
  struct Subset {
    Set letters = 0;  ///< of its product
    double cost = 0;
    size_t left = 0;  ///< the half that has its first operand
  };
  const Letters& l;
  const std::vector<Operand>& ops;
  std::vector<Subset> sets;  ///< operand i is bit n - 1 - i

  /// The first operand of a set.
  size_t first(size_t set) const { return ops.size() - static_cast<size_t>(std::bit_width(set)); }

  void split(size_t s) {
    if ((s & (s - 1)) == 0) {
      sets[s].left = s;
      return;
    }
    const size_t top = std::bit_floor(s);
    const double elements = kEinsumElement * l.elements(sets[s].letters);
    double least = std::numeric_limits<double>::infinity();
    // Downwards, so that of equal ones the first has the most operands on its left.
    for (size_t left = (s - 1) & s; left >= top; left = (left - 1) & s) {
      const Subset &a = sets[left], &b = sets[s & ~left];
      const double cost = a.cost + b.cost + elements + l.elements(a.letters | b.letters);
      if (cost < least || sets[s].left == 0) least = cost, sets[s].left = left;
    }
    sets[s].cost = least;
  }

  void emit(size_t s, EinsumPath& path) const {
    const size_t left = sets[s].left;
    if (left == s) return;
    emit(left, path);
    emit(s & ~left, path);
    path.pairs.emplace_back(ops[first(left)].place, ops[first(s & ~left)].place);
  }
};

}  // namespace

EinsumPath einsumPath(const std::vector<std::string>& letters, std::string_view out,
                      const std::map<char, int64_t>& sizes) {
  const Letters l(sizes);
  const Set result = l.of(out);
  const auto start = [&](Greedy::Before before, EinsumPath& path) {
    std::vector<Operand> operands;
    for (size_t i = 0; i < letters.size(); ++i) operands.push_back({l.of(letters[i]), i});
    const double cost = Greedy(l, operands, result).run(before, path);
    return cost + Exact(l, operands, result).run(path);
  };
  EinsumPath shrinking, cheap;
  const double cost =
      start([](const Product& x, const Product& y) { return x.added != y.added ? x.added < y.added : x.cost < y.cost; },
            shrinking);
  if (letters.size() <= kEinsumExact) return shrinking;
  // Neither criterion is always the better one.
  const double other = start(
      [](const Product& x, const Product& y) { return x.cost != y.cost ? x.cost < y.cost : x.added < y.added; }, cheap);
  return other < cost ? cheap : shrinking;
}

}  // namespace tenc::ir
