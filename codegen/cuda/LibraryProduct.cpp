#include "codegen/cuda/LibraryProduct.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "codegen/KernelBuilder.h"
#include "codegen/cuda/CudaText.h"
#include "codegen/cuda/ProductSchedule.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;

constexpr uint64_t kWorkspaceAlignment = 256;  // that the library wants of its memory; arguments have abi's 64 at least

uint64_t roundUp(uint64_t n) { return (n + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment; }
uint64_t bytesOf(DType t) { return static_cast<uint64_t>(ir::byteSize(t)); }
bool isHalf(DType t) { return t == DType::F16 || t == DType::BF16; }

/// A loop variable, with the strides of what is read and written along it; or several that are walked as one.
struct Walk {
  int64_t extent = 1;
  int64_t a = 0, b = 0, d = 0, other = 0;
};

/// Several as one, which goes along the innermost and has the next one's stride where that ends.
std::optional<Walk> merged(std::vector<Walk> walks) {
  std::erase_if(walks, [](const Walk& w) { return w.extent == 1; });
  std::stable_sort(walks.begin(), walks.end(), [](const Walk& x, const Walk& y) { return x.d < y.d; });
  if (walks.empty()) return Walk{};
  Walk all = walks.front();
  for (size_t i = 1; i < walks.size(); ++i) {
    const Walk& w = walks[i];
    const auto goesOn = [&](int64_t inner, int64_t outer) { return outer == inner * all.extent; };
    if (!goesOn(all.a, w.a) || !goesOn(all.b, w.b) || !goesOn(all.d, w.d) || !goesOn(all.other, w.other))
      return std::nullopt;
    all.extent *= w.extent;
  }
  return all;
}

/// The rows, the columns and the matrices of a product.
struct Walks {
  Walk rows, columns, matrices;
};

class Call {
 public:
  Call(const Kernel& kernel, const ProductChoice& choice, const Features& features)
      : kernel_(kernel), p_(kernel.product), stage_(kernel.product.epilogue), choice_(choice), features_(features) {}

  std::optional<LibraryProduct> make() {
    if (!suits()) return std::nullopt;
    const Store* target = wholeStore();
    const std::optional<Walks> walks = target != nullptr ? walksOf(target->access, nullptr) : std::nullopt;
    if (!walks || !describe(*walks)) return std::nullopt;
    abi::ProductCode& code = made_.code;
    code.rounded = choice_.fast && features_.tensorCores && p_.operands == DType::F32;
    uint64_t product = 0;  // bytes of the workspace that hold it
    if (!isAllDone(*target)) {
      const Store* place = placeOfProduct();
      if (place == nullptr) {
        code.d.argument = static_cast<uint32_t>(kernel_.buffers.size());
        product = roundUp(elements_ * bytesOf(result()));
      } else {
        code.d.argument = place->access.buffer;
      }
      made_.rest = restFrom(place != nullptr ? place->access : target->access, place);
    }
    code.workspace = product;
    // Aligned when the address is known: arguments are to less than the library wants.
    const uint64_t own = std::min(choice_.workspaceBytes, roundUp(elements_ * bytesOf(result())));
    made_.needs.workspaceBytes = product + own + kWorkspaceAlignment;
    if (made_.rest)
      made_.rest->buffers.back().elements = static_cast<int64_t>(made_.needs.workspaceBytes / bytesOf(result()));
    alignments();
    return std::move(made_);
  }

 private:
  DType result() const { return kernel_.reductions[0].result; }

  bool suits() const {
    if (kernel_.kind != Kernel::Kind::Product || !p_.sums.empty() || !p_.edges.empty() || p_.depthwise || p_.k < 2)
      return false;
    if (p_.dtype != DType::F32 && p_.dtype != DType::F64) return false;
    if (result() != p_.operands && result() != p_.dtype) return false;
    if (p_.operands == DType::BF16 && !features_.tensorCores) return false;
    if (std::any_of(kernel_.buffers.begin(), kernel_.buffers.end(),
                    [](const Buffer& b) { return b.role == Buffer::Role::Scratch || b.role == Buffer::Role::InOut; }))
      return false;
    double terms = static_cast<double>(p_.k);
    for (const int64_t n : space()) terms *= static_cast<double>(n);
    return terms >= static_cast<double>(std::max<int64_t>(choice_.least, 1));
  }

  std::vector<int64_t> space() const {
    std::vector<int64_t> all = p_.batch;
    all.insert(all.end(), {p_.m, p_.n});
    return all;
  }

  /// Whether an access meets each element of its buffer once.
  bool isWhole(const Access& access) const {
    if (access.offset != 0 || !access.terms.empty()) return false;
    const std::vector<int64_t> extents = space();
    std::vector<size_t> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](size_t v) { return extents[v] == 1; });
    std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return access.strides[x] < access.strides[y]; });
    int64_t inner = 1;
    for (const size_t v : order) {
      if (access.strides[v] != inner) return false;
      inner *= extents[v];
    }
    return kernel_.buffers[access.buffer].elements == inner;
  }
  const Store* wholeStore() const {
    const auto found =
        std::find_if(stage_.stores.begin(), stage_.stores.end(), [&](const Store& s) { return isWhole(s.access); });
    return found != stage_.stores.end() ? &*found : nullptr;
  }

  /// `other`: an access that is walked with the result.
  std::optional<Walks> walksOf(const Access& target, const Access* other) const {
    const size_t m = p_.batch.size(), n = m + 1;
    const auto walk = [&](size_t v) {
      Walk w;
      w.extent = space()[v];
      w.a = v < m ? p_.a.batch[v] : v == m ? p_.a.row : 0;
      w.b = v < m ? p_.b.batch[v] : v == n ? p_.b.col : 0;
      w.d = target.strides[v];
      w.other = other != nullptr ? other->strides[v] : 0;
      return w;
    };
    // A batch dim that one factor does not vary with makes rows or columns; where memory does not allow it, it stays
    // one.
    for (const bool joins : {true, false}) {
      std::vector<Walk> rows{walk(m)}, columns{walk(n)}, matrices;
      for (size_t v = 0; v < m; ++v) {
        const Walk w = walk(v);
        (joins && w.b == 0 && w.a != 0 ? rows : joins && w.a == 0 && w.b != 0 ? columns : matrices).push_back(w);
      }
      const auto r = merged(rows), c = merged(columns), all = merged(matrices);
      if (r && c && all) return Walks{*r, *c, *all};
    }
    return std::nullopt;
  }

  static bool isMatrix(const abi::MatrixRef& m, int64_t rows, int64_t columns) {
    return (m.column == 1 && m.row >= columns) || (m.row == 1 && m.column >= rows);
  }

  bool describe(const Walks& w) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    abi::ProductCode& c = made_.code;
    c.m = w.rows.extent, c.n = w.columns.extent, c.k = p_.k, c.count = w.matrices.extent;
    if (c.m < kFewLines || c.n < kFewLines || std::max({c.m, c.n, c.k, c.count}) > kMost) return false;
    elements_ = static_cast<uint64_t>(c.m * c.n * c.count);
    c.a = matrix(p_.a.buffer, p_.operands, p_.a.offset, w.rows.a, p_.a.col, w.matrices.a);
    c.b = matrix(p_.b.buffer, p_.operands, p_.b.offset, p_.b.row, w.columns.b, w.matrices.b);
    c.d = matrix(0, result(), 0, w.rows.d, w.columns.d, w.matrices.d);
    isTurned_ = c.d.column != 1;
    if (isTurned_) {
      // The transposed product of the transposed factors.
      std::swap(c.m, c.n);
      std::swap(c.a, c.b);
      for (abi::MatrixRef* m : {&c.a, &c.b, &c.d}) std::swap(m->row, m->column);
    }
    return c.d.column == 1 && isMatrix(c.a, c.m, c.k) && isMatrix(c.b, c.k, c.n) && isMatrix(c.d, c.m, c.n);
  }
  static abi::MatrixRef matrix(uint32_t buffer, DType t, int64_t offset, int64_t row, int64_t column, int64_t batch) {
    return {buffer, static_cast<uint8_t>(t), static_cast<uint64_t>(offset) * bytesOf(t), row, column, batch};
  }

  // ---- what the library does after the product

  /// Whether that is all that there is to do; it then stores to `target`.
  bool isAllDone(const Store& target) {
    if (stage_.stores.size() != 1) return false;
    abi::ProductCode before = made_.code;
    if (kernel_.buffers[target.access.buffer].dtype == result() && takes(target.value, target.access)) {
      made_.code.d.argument = target.access.buffer;
      return true;
    }
    made_.code = std::move(before);
    return false;
  }

  /// A value as what the library makes of a product. It rounds once, at the end: of halves that is not what their
  /// operations mean, so only --fp=fast has them here. There relu may make 0 of NaN, of which the library says nothing.
  bool takes(ExprId id, const Access& target) {
    const Expr& e = stage_.exprs[id];
    if (e.dtype != result()) return false;
    if (e.kind == Expr::Kind::Reduced) return true;
    if (e.kind != Expr::Kind::Op || (isHalf(result()) && !choice_.fast)) return false;
    abi::ProductCode& c = made_.code;
    if (e.op == ir::OpKind::Max && choice_.fast && p_.dtype == DType::F32 && !c.relu) {
      for (const size_t side : {0u, 1u}) {
        const Expr& zero = stage_.exprs[e.args[side]];
        if (zero.kind != Expr::Kind::Constant || zero.bits != 0) continue;
        c.relu = true;
        return takes(e.args[1 - side], target);
      }
    }
    if (e.op != ir::OpKind::Add || c.c || c.bias) return false;
    for (const size_t side : {0u, 1u}) {
      const Expr& load = stage_.exprs[e.args[side]];
      if (load.kind == Expr::Kind::Load && load.dtype == result() && isAddend(load.access, target))
        return takes(e.args[1 - side], target);
    }
    return false;
  }

  bool isAddend(const Access& load, const Access& target) {
    if (!load.terms.empty()) return false;
    const std::optional<Walks> walks = walksOf(target, &load);
    abi::ProductCode& c = made_.code;
    // One sum alone rounds as the operations do.
    if (!walks || walks->matrices.extent != c.count || walks->rows.extent != (isTurned_ ? c.n : c.m)) return false;
    abi::MatrixRef m =
        matrix(load.buffer, result(), load.offset, walks->rows.other, walks->columns.other, walks->matrices.other);
    if (isTurned_) std::swap(m.row, m.column);
    if (m.column != 1) return false;
    if (m.row == 0 && m.batch == 0 && p_.dtype == DType::F32) {
      c.bias = m;
      return true;
    }
    if (m.row < c.n) return false;
    c.c = m;
    return true;
  }

  // ---- what it does not

  /// The output that holds the product until the rest is done: one that is stored as a whole. Rather one that keeps it.
  const Store* placeOfProduct() const {
    const Store* place = nullptr;
    for (const Store& s : stage_.stores) {
      if (kernel_.buffers[s.access.buffer].dtype != result() || !isWhole(s.access)) continue;
      if (s.access.strides != wholeStore()->access.strides) continue;
      if (stage_.exprs[s.value].kind == Expr::Kind::Reduced) return &s;
      if (place == nullptr) place = &s;
    }
    return place;
  }

  Kernel restFrom(const Access& at, const Store* place) const {
    Kernel rest = kernel_;
    rest.kind = Kernel::Kind::Loop;
    rest.outer = space();
    Stage stage = stage_;
    rest.product = {};
    rest.reductions.clear();
    const auto workspace = static_cast<uint32_t>(rest.buffers.size());
    rest.buffers.push_back({result(), 0, Buffer::Role::Input});
    for (Expr& e : stage.exprs) {
      if (e.kind != Expr::Kind::Reduced) continue;
      e.kind = Expr::Kind::Load;
      e.access = at;
      e.access.buffer = place != nullptr ? place->access.buffer : workspace;
    }
    if (place != nullptr) {
      const bool isKept = stage_.exprs[place->value].kind == Expr::Kind::Reduced;
      rest.buffers[place->access.buffer].role = isKept ? Buffer::Role::Input : Buffer::Role::InOut;
      if (isKept) stage.stores.erase(stage.stores.begin() + (place - stage_.stores.data()));
    }
    rest.stages = {std::move(stage)};
    collapseLoops(rest);
    return rest;
  }

  // ---- alignment

  /// Of 16 bytes, what rows begin at, so that parts of a buffer that begin at rows need not be copied.
  static uint64_t alignmentOf(const abi::MatrixRef& m, int64_t count) {
    const auto size = bytesOf(static_cast<DType>(m.dtype));
    uint64_t all = kVectorBytes;
    for (const int64_t stride : {m.row, m.column, count > 1 ? m.batch : 0})
      if (stride != 1) all = std::gcd(all, static_cast<uint64_t>(stride) * size);
    return std::max(std::gcd(all, kVectorBytes), size);
  }
  void alignments() {
    const abi::ProductCode& c = made_.code;
    std::vector<KernelNeeds::Argument>& list = made_.needs.arguments;
    const uint64_t vector = made_.rest ? static_cast<uint64_t>(schedule(*made_.rest, features_).vector) : 1;
    for (const Buffer& b : kernel_.buffers) list.push_back({std::min(kVectorBytes, vector * bytesOf(b.dtype))});
    const auto raise = [&](const abi::MatrixRef& m) {
      if (m.argument < list.size())
        list[m.argument].alignment = std::max(list[m.argument].alignment, alignmentOf(m, c.count));
    };
    for (const abi::MatrixRef* m : {&c.a, &c.b, &c.d}) raise(*m);
    if (c.c) raise(*c.c);
    if (c.bias) raise(*c.bias);
  }

  const Kernel& kernel_;
  const Product& p_;
  const Stage& stage_;
  const ProductChoice& choice_;
  const Features& features_;
  LibraryProduct made_;
  uint64_t elements_ = 0;  // of the result
  bool isTurned_ = false;
};

}  // namespace

std::string LibraryProduct::text() const {
  std::string s = "cuBLASLt, " + (code.count > 1 ? decimal(code.count) + " of " : "") + decimal(code.m) + " x " +
                  decimal(code.n) + " x " + decimal(code.k);
  if (code.c) s += ", plus a matrix";
  if (code.bias) s += ", plus a row";
  if (code.relu) s += ", relu";
  return s;
}

std::optional<LibraryProduct> libraryProduct(const Kernel& kernel, const ProductChoice& choice,
                                             const Features& features) {
  return Call(kernel, choice, features).make();
}

}  // namespace tenc::codegen::cuda
