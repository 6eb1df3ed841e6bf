#include "codegen/IndexMap.h"

#include <algorithm>
#include <cassert>

namespace tenc::codegen {

namespace {

int64_t floorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

bool movesNothing(const Access::Term& t) { return t.stride == 0; }

bool sameTerms(const std::vector<Access::Term>& a, const std::vector<Access::Term>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].index != b[i].index || a[i].stride != b[i].stride || a[i].extent != b[i].extent ||
        a[i].size != b[i].size || a[i].fromEnd != b[i].fromEnd || a[i].fault != b[i].fault || a[i].axis != b[i].axis)
      return false;
  }
  return true;
}

}  // namespace

Affine Affine::variable(size_t v, int64_t times) {
  Affine a;
  a.coef.assign(v + 1, 0);
  a.coef[v] = times;
  return a;
}

bool Affine::isConstant() const {
  for (int64_t c : coef) {
    if (c != 0) return false;
  }
  return terms.empty();
}

Affine& Affine::add(const Affine& o, int64_t times) {
  offset += o.offset * times;
  if (coef.size() < o.coef.size()) coef.resize(o.coef.size(), 0);
  for (size_t v = 0; v < o.coef.size(); ++v) coef[v] += o.coef[v] * times;
  for (Access::Term t : o.terms) {
    if (times == 0 && t.extent < 0) continue;  // what is checked is, also where it moves nothing
    t.stride *= times;
    terms.push_back(t);
  }
  return *this;
}

Affine Affine::scaled(int64_t times) const {
  Affine a;
  a.add(*this, times);
  return a;
}

bool Affine::operator==(const Affine& o) const {
  if (offset != o.offset || !sameTerms(terms, o.terms)) return false;
  for (size_t v = 0; v < std::max(coef.size(), o.coef.size()); ++v) {
    if (coefOf(v) != o.coefOf(v)) return false;
  }
  return true;
}

std::pair<int64_t, int64_t> bounds(const Affine& a, std::span<const VarRange> vars) {
  int64_t least = a.offset;
  int64_t largest = a.offset;
  for (size_t v = 0; v < a.coef.size(); ++v) {
    int64_t c = a.coef[v];
    if (c == 0) continue;
    int64_t first = vars[v].lo;
    int64_t last = std::max(vars[v].lo, vars[v].hi - 1);
    least += c > 0 ? c * first : c * last;
    largest += c > 0 ? c * last : c * first;
  }
  return {least, largest};
}

Affine linearise(const Index& index, std::span<const int64_t> shape) {
  if (index.flat) return *index.flat;
  assert(index.dims.size() == shape.size());
  Affine a;
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    a.add(index.dims[d], shape[d] == 1 ? 0 : step);
    step *= shape[d];
  }
  return a;
}

std::vector<Affine> delinearise(const Affine& flat, std::span<const int64_t> shape, std::span<const VarRange> vars,
                                std::optional<Refinement>* wish, const Divide& divide) {
  std::vector<Affine> dims(shape.size());
  size_t first = 0;  // the outermost dim that is not 1 takes what remains
  while (first < shape.size() && shape[first] == 1) ++first;
  Affine rest = flat;
  // Terms that move nothing are there for their checks, in whichever dim.
  if (std::any_of(flat.terms.begin(), flat.terms.end(), movesNothing)) {
    rest.terms.clear();
    std::vector<Access::Term> still;
    for (const Access::Term& t : flat.terms) (movesNothing(t) ? still : rest.terms).push_back(t);
    dims = delinearise(rest, shape, vars, wish, divide);
    if (!dims.empty()) dims.back().terms.insert(dims.back().terms.end(), still.begin(), still.end());
    return dims;
  }
  for (size_t d = shape.size(); d-- > first;) {
    int64_t n = shape[d];
    if (n == 1) continue;
    if (d == first) {
      dims[d] = rest;
      break;
    }
    if (n == 0) {
      dims[d] = Affine::constant(0);
      continue;
    }
    Affine inner;
    Affine outer;
    inner.coef.assign(rest.coef.size(), 0);
    outer.coef.assign(rest.coef.size(), 0);
    for (size_t v = 0; v < rest.coef.size(); ++v) {
      int64_t c = rest.coef[v];
      if (c % n == 0) {
        outer.coef[v] = c / n;
      } else {
        inner.coef[v] = c;
      }
    }
    bool fits = true;
    for (Access::Term t : rest.terms) {
      if (t.stride % n != 0) {
        fits = false;
        break;
      }
      t.stride /= n;
      outer.terms.push_back(t);
    }
    inner.offset = rest.offset;
    auto [least, largest] = bounds(inner, vars);
    int64_t quotient = floorDiv(least, n);
    fits = fits && largest - quotient * n < n;
    if (fits) {
      inner.offset -= quotient * n;
      outer.offset = quotient;
      dims[d] = inner;
      rest = outer;
      continue;
    }
    if (wish && rest.terms.empty()) {
      for (size_t v = 0; v < inner.coef.size() && !*wish; ++v) {
        int64_t c = inner.coef[v];
        if (c <= 0 || n % c != 0) continue;
        int64_t part = n / c;
        if (vars[v].extent > part && vars[v].extent % part == 0 && part > 1) *wish = Refinement{v, part};
      }
      if (*wish) return dims;
    }
    dims[d] = divide(rest, n, true);
    rest = divide(rest, n, false);
  }
  return dims;
}

Index throughStructural(const ir::Op& op, const Index& index) {
  const ir::Dims& from = op.operand(0)->type.shape;
  Index out;
  switch (op.kind) {
    case ir::OpKind::Reshape: out.flat = linearise(index, op.result()->type.shape); return out;
    case ir::OpKind::Permute: {
      const auto& perm = op.intsAttr("perm");
      out.dims.resize(from.size());
      for (size_t d = 0; d < perm.size(); ++d) out.dims[static_cast<size_t>(perm[d])] = index.dims[d];
      return out;
    }
    case ir::OpKind::Broadcast: {
      const size_t lead = op.result()->type.shape.size() - from.size();
      Affine dropped;  // what is checked in dims that the operand lacks
      for (size_t d = 0; d < index.dims.size(); ++d) {
        const bool kept = d >= lead && from[d - lead] != 1;
        if (!kept) dropped.add(index.dims[d], 0);
        if (d >= lead) out.dims.push_back(kept ? index.dims[d] : Affine::constant(0));
      }
      if (from.empty())
        out.flat = std::move(dropped);
      else
        out.dims[0].add(dropped);
      return out;
    }
    case ir::OpKind::Slice: {
      const auto& starts = op.intsAttr("starts");
      const auto& steps = op.intsAttr("steps");
      for (size_t d = 0; d < from.size(); ++d) {
        Affine a = index.dims[d].scaled(steps[d]);
        a.offset += starts[d];
        out.dims.push_back(std::move(a));
      }
      return out;
    }
    case ir::OpKind::Flip: {
      out = index;
      for (int64_t axis : op.intsAttr("axes")) {
        size_t d = static_cast<size_t>(axis);
        Affine a = index.dims[d].scaled(-1);
        a.offset += from[d] - 1;
        out.dims[d] = std::move(a);
      }
      return out;
    }
    default: ir::lacksRule(op.kind, "affine index map");
  }
}

}  // namespace tenc::codegen
