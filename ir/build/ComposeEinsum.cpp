// Einsum as products of two operands at a time.
#include <map>

#include "ir/Ir.h"
#include "ir/build/Compose.h"
#include "ir/build/EinsumPath.h"

namespace tenc::ir {
namespace {

/// A tensor and the letters of its dims, each once.
struct Lettered {
  Value* value;
  std::string letters;
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

/// Takes the diagonal where a letter repeats, so that every letter stands once.
Lettered uniqueLetters(Compose& c, Value* x, std::string letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    size_t j = letters.find(letters[i], i + 1);
    if (j == std::string::npos) continue;
    char letter = letters[i];
    auto last = static_cast<int64_t>(letters.size()) - 1;
    x = c.moveAxis(x, static_cast<int64_t>(j), last);
    x = c.moveAxis(x, static_cast<int64_t>(i), last - 1);
    x = c.diagonal(x, 0);
    // `i` went first out of the letters before `j`'s place, the diagonal is last.
    letters.erase(j, 1);
    letters.erase(i, 1);
    letters.push_back(letter);
    i = static_cast<size_t>(-1);
  }
  return {x, letters};
}

/// Sums the letters that nobody else needs.
void dropLetters(Compose& c, Lettered& x, const std::string& needed) {
  Dims axes;
  std::string left;
  for (size_t i = 0; i < x.letters.size(); ++i) {
    if (has(needed, x.letters[i]))
      left.push_back(x.letters[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return;
  x = {c.cast(c.reduce(OpKind::Sum, x.value, axes, false), x.value->type.dtype), left};
}

Value* arrange(Compose& c, const Lettered& x, const std::string& order) {
  Dims perm;
  for (char letter : order) perm.push_back(static_cast<int64_t>(x.letters.find(letter)));
  return c.permute(x.value, perm);
}

/// The product of two operands, summed over the letters that only they have and `needed` lacks.
Lettered product(Compose& c, const Lettered& x, const Lettered& y, const std::string& needed) {
  std::string batch, summed, left, right;
  for (char l : x.letters) (!has(y.letters, l) ? left : has(needed, l) ? batch : summed).push_back(l);
  for (char l : y.letters) {
    if (!has(x.letters, l)) right.push_back(l);
  }
  Value *p = arrange(c, x, batch + left + summed), *q = arrange(c, y, batch + summed + right);
  const auto sizeOf = [](const Value* v, size_t from, size_t n) {
    return Compose::sizeOf(std::span(v->type.shape).subspan(from, n));
  };
  const int64_t nb = sizeOf(p, 0, batch.size()), nl = sizeOf(p, batch.size(), left.size());
  const int64_t ns = sizeOf(q, batch.size(), summed.size()), nr = sizeOf(q, batch.size() + summed.size(), right.size());
  const Dims &ps = p->type.shape, &qs = q->type.shape;
  Dims shape(ps.begin(), ps.end() - static_cast<int64_t>(summed.size()));
  shape.insert(shape.end(), qs.end() - static_cast<int64_t>(right.size()), qs.end());
  Value* result = nullptr;
  if (summed.empty()) {
    result = c.mul(c.reshape(p, {nb, nl, 1}), c.reshape(q, {nb, 1, nr}));
  } else if (batch.empty()) {
    result = c.matmul(c.reshape(p, {nl, ns}), c.reshape(q, {ns, nr}));
  } else {
    result = c.matmul(c.reshape(p, {nb, nl, ns}), c.reshape(q, {nb, ns, nr}));
  }
  return {c.reshape(result, shape), batch + left + right};
}

/// The letters of the result and of all operands but x and y.
std::string neededBeside(const std::vector<Lettered>& operands, size_t x, size_t y, std::string out) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i != x && i != y) out += operands[i].letters;
  }
  return out;
}

}  // namespace

Compose::V Compose::einsum(std::vector<V> operands, std::vector<std::string> letters, const std::string& out) {
  std::vector<Lettered> parts;
  for (size_t i = 0; i < operands.size(); ++i) parts.push_back(uniqueLetters(*this, operands[i], letters[i]));
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < parts.size(); ++i) {
    dropLetters(*this, parts[i], neededBeside(parts, i, i, out));
    letters[i] = parts[i].letters;
    for (size_t d = 0; d < letters[i].size(); ++d) sizes[letters[i][d]] = parts[i].value->type.shape[d];
  }
  for (auto [x, y] : einsumPath(letters, out, sizes).pairs) {
    parts[x] = product(*this, parts[x], parts[y], neededBeside(parts, x, y, out));
    parts[y].letters.clear();  // it is in the product
  }
  return arrange(*this, parts[0], out);
}

}  // namespace tenc::ir
