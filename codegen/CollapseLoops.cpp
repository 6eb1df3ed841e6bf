// Tidies a kernel: loops of one trip go, adjacent loops that every access walks as one are merged, unused expressions
// go.
#include <algorithm>

#include "codegen/KernelBuilder.h"

namespace tenc::codegen {

namespace {

template <typename F>
void forEachAccess(Kernel& k, F f) {
  for (Stage& s : k.stages) {
    for (Expr& e : s.exprs) {
      if (e.kind == Expr::Kind::Load) f(s, e.access);
    }
    for (Store& st : s.stores) f(s, st.access);
  }
}

bool usesVar(const Kernel& k, uint32_t v) {
  for (const Stage& s : k.stages) {
    for (const Expr& e : s.exprs) {
      if (e.kind == Expr::Kind::LoopVar && e.index == v) return true;
    }
  }
  return false;
}

void dropVar(Kernel& k, uint32_t v) {
  forEachAccess(k, [&](Stage&, Access& a) {
    if (v < a.strides.size()) a.strides.erase(a.strides.begin() + v);
  });
  for (Stage& s : k.stages) {
    for (Expr& e : s.exprs) {
      if (e.kind == Expr::Kind::LoopVar && e.index > v) --e.index;
    }
  }
}

/// The loop variable becomes the constant 0.
void zeroVar(Kernel& k, uint32_t v) {
  for (Stage& s : k.stages) {
    for (Expr& e : s.exprs) {
      if (e.kind == Expr::Kind::LoopVar && e.index == v) {
        e.kind = Expr::Kind::Constant;
        e.bits = 0;
        e.index = 0;
      }
    }
  }
}

/// Whether loop `v` around loop `inner` of `innerExtent` trips is one loop to every access.
bool walkedAsOne(Kernel& k, size_t v, size_t inner, int64_t innerExtent) {
  bool one = true;
  auto stride = [](const Access& a, size_t d) { return d < a.strides.size() ? a.strides[d] : 0; };
  forEachAccess(k, [&](Stage&, Access& a) { one = one && stride(a, v) == stride(a, inner) * innerExtent; });
  return one;
}
bool walkedAsOne(Kernel& k, size_t v, int64_t innerExtent) { return walkedAsOne(k, v, v + 1, innerExtent); }

void collapseOuter(Kernel& k) {
  for (size_t d = k.outer.size(); d-- > 0;) {
    if (k.outer[d] != 1) continue;
    zeroVar(k, static_cast<uint32_t>(d));
    dropVar(k, static_cast<uint32_t>(d));
    k.outer.erase(k.outer.begin() + static_cast<std::ptrdiff_t>(d));
    for (Stage& s : k.stages) {
      s.outerLo.erase(s.outerLo.begin() + static_cast<std::ptrdiff_t>(d));
      s.outerHi.erase(s.outerHi.begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
  for (size_t d = k.outer.size(); d-- > 1;) {
    size_t o = d - 1;
    int64_t n = k.outer[d];
    bool whole = true;
    for (const Stage& s : k.stages) whole = whole && s.outerLo[d] == 0 && s.outerHi[d] == n;
    if (!whole || usesVar(k, static_cast<uint32_t>(o)) || usesVar(k, static_cast<uint32_t>(d))) continue;
    if (!walkedAsOne(k, o, n)) continue;
    dropVar(k, static_cast<uint32_t>(o));
    k.outer[o] *= n;
    k.outer.erase(k.outer.begin() + static_cast<std::ptrdiff_t>(d));
    for (Stage& s : k.stages) {
      s.outerLo[o] *= n;
      s.outerHi[o] *= n;
      s.outerLo.erase(s.outerLo.begin() + static_cast<std::ptrdiff_t>(d));
      s.outerHi.erase(s.outerHi.begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
}

void collapseInner(Kernel& k) {
  const Stage* any = nullptr;
  for (const Stage& s : k.stages) {
    if (!s.innerHi.empty()) any = &s;
  }
  if (!any) return;
  std::vector<int64_t> extents = any->innerHi;
  uint32_t base = static_cast<uint32_t>(k.outer.size());
  auto erase = [&](size_t d) {
    for (Stage& s : k.stages) {
      if (s.innerHi.empty()) continue;
      s.innerLo.erase(s.innerLo.begin() + static_cast<std::ptrdiff_t>(d));
      s.innerHi.erase(s.innerHi.begin() + static_cast<std::ptrdiff_t>(d));
    }
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(d));
  };
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] != 1 || extents.size() == 1) continue;  // at least one inner loop stays an inner loop
    zeroVar(k, base + static_cast<uint32_t>(d));
    dropVar(k, base + static_cast<uint32_t>(d));
    erase(d);
  }
  for (size_t d = extents.size(); d-- > 1;) {
    uint32_t o = base + static_cast<uint32_t>(d) - 1;
    int64_t n = extents[d];
    if (usesVar(k, o) || usesVar(k, o + 1) || !walkedAsOne(k, o, n)) continue;
    dropVar(k, o);
    extents[d - 1] *= n;
    for (Stage& s : k.stages) {
      if (!s.innerHi.empty()) s.innerHi[d - 1] *= n;
    }
    erase(d);
  }
}

void dropBatch(Kernel& k, size_t d) {
  Product& p = k.product;
  const auto at = static_cast<std::ptrdiff_t>(d);
  dropVar(k, static_cast<uint32_t>(d));
  for (auto* list : {&p.batch, &p.a.batch, &p.b.batch, &k.stages.back().outerLo, &k.stages.back().outerHi}) {
    list->erase(list->begin() + at);
  }
  for (Product::Edge& e : p.edges) e.var -= e.var > d ? 1 : 0;
  if (p.depthwise && p.depthwise->rowVar > d) --p.depthwise->rowVar;
}

bool hasEdge(const Product& p, size_t var) {
  if (p.depthwise && (var == p.depthwise->rowVar || var == p.batch.size() + 1)) return true;
  return std::any_of(p.edges.begin(), p.edges.end(), [&](const Product::Edge& e) { return e.var == var; });
}

/// A product without batch dims of 1, and with the last one as more rows (when B does not depend on it) or more columns
/// (when A does not).
void collapseBatch(Kernel& k) {
  Product& p = k.product;
  k.stages.push_back(std::move(p.epilogue));
  for (size_t d = p.batch.size(); d-- > 0;) {
    if (p.batch[d] != 1 || hasEdge(p, d)) continue;
    zeroVar(k, static_cast<uint32_t>(d));
    dropBatch(k, d);
  }
  while (!p.batch.empty()) {
    const size_t d = p.batch.size() - 1;
    const bool rows = p.b.batch[d] == 0 && p.a.batch[d] == p.a.row * p.m;
    const bool columns = p.a.batch[d] == 0 && p.b.batch[d] == p.b.col * p.n && p.b.block == 0;
    const size_t into = rows ? d + 1 : d + 2;
    int64_t& extent = rows ? p.m : p.n;
    if (!(rows || columns) || hasEdge(p, d) || hasEdge(p, into) || usesVar(k, static_cast<uint32_t>(d)) ||
        usesVar(k, static_cast<uint32_t>(into)) || !walkedAsOne(k, d, into, extent)) {
      break;
    }
    extent *= p.batch[d];
    k.stages.back().outerHi[into] = extent;
    dropBatch(k, d);
  }
  p.epilogue = std::move(k.stages.back());
  k.stages.pop_back();
}

void dropUnused(Stage& s, std::vector<Reduction>& reductions, ExprId* product) {
  std::vector<bool> used(s.exprs.size(), false);
  auto useAccess = [&](const Access& a) {
    for (const Access::Term& t : a.terms) used[t.index] = true;
  };
  for (uint32_t r : s.reductions) {
    used[reductions[r].value] = true;
    if (reductions[r].position != kNoExpr) used[reductions[r].position] = true;
  }
  for (const Store& st : s.stores) {
    used[st.value] = true;
    useAccess(st.access);
  }
  if (product && *product != kNoExpr) used[*product] = true;
  for (size_t i = s.exprs.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (ExprId a : s.exprs[i].args) used[a] = true;
    if (s.exprs[i].kind == Expr::Kind::Load) useAccess(s.exprs[i].access);
  }
  std::vector<ExprId> moved(s.exprs.size(), kNoExpr);
  std::vector<Expr> kept;
  auto moveAccess = [&](Access& a) {
    for (Access::Term& t : a.terms) t.index = moved[t.index];
  };
  for (size_t i = 0; i < s.exprs.size(); ++i) {
    if (!used[i]) continue;
    moved[i] = static_cast<ExprId>(kept.size());
    Expr e = std::move(s.exprs[i]);
    for (ExprId& a : e.args) a = moved[a];
    if (e.kind == Expr::Kind::Load) moveAccess(e.access);
    kept.push_back(std::move(e));
  }
  for (uint32_t r : s.reductions) {
    reductions[r].value = moved[reductions[r].value];
    if (reductions[r].position != kNoExpr) reductions[r].position = moved[reductions[r].position];
  }
  for (Store& st : s.stores) {
    st.value = moved[st.value];
    moveAccess(st.access);
  }
  if (product && *product != kNoExpr) *product = moved[*product];
  s.exprs = std::move(kept);
}

}  // namespace

void collapseLoops(Kernel& k) {
  if (k.kind == Kernel::Kind::Product) {
    dropUnused(k.product.epilogue, k.reductions, &k.product.product);
    collapseBatch(k);
    return;
  }
  if (k.kind == Kernel::Kind::Attention) {
    dropUnused(k.attention.scores, k.reductions, &k.attention.score);
    dropUnused(k.attention.epilogue, k.reductions, &k.attention.product);
    return;
  }
  if (k.kind == Kernel::Kind::AttentionGradient) {
    dropUnused(k.attention.scores, k.reductions, &k.attention.score);
    dropUnused(k.gradient.slopes, k.reductions, &k.gradient.slope);
    return;
  }
  if (k.kind != Kernel::Kind::Loop) return;
  for (Stage& s : k.stages) dropUnused(s, k.reductions, nullptr);
  collapseOuter(k);
  collapseInner(k);
  forEachAccess(k, [&](Stage& s, Access& a) { a.strides.resize(k.outer.size() + s.innerHi.size()); });
}

}  // namespace tenc::codegen
