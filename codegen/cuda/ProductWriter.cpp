// Products and convolutions as CUDA C++: a block computes a tile of the result, from tiles of both operands that it
// puts into shared memory; a convolution's left operand or its right one is the image, read where its window meets it.
#include <algorithm>
#include <cstdlib>

#include "codegen/ScalarConvert.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/ProductSchedule.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {
namespace {

using Names = std::vector<std::string>;

/// How the threads of a block load an operand's tile: thread t loads, of the tile's lines (A's rows, B's columns),
/// those at `line` + r * lineStep, r < lines, and of their terms those at `term` + o * termStep, o < terms.
struct Loading {
  std::string line, term;
  int lines = 1, lineStep = 0, terms = 1, termStep = 0;
  int pad = 0;  ///< elements between lines of shared memory, so that stores meet all banks
};

/// Lanes go along lines, or by eight along terms: what lies side by side in memory.
Loading loadingOf(int lines, int depth, int threads, bool alongTerms) {
  Loading l;
  const std::string t = "(int)threadIdx.x";
  if (alongTerms) {
    const int together = std::min(lines, threads / 8), groups = threads / 8 / together;
    l.line = t + " / 8 % " + decimal(together);
    l.term = t + " % 8 + " + t + " / " + decimal(8 * together) + " * 8";
    l.lines = lines / together, l.lineStep = together;
    l.terms = depth / 8 / groups, l.termStep = 8 * groups;
    l.pad = (36 - lines % 32) % 32;
  } else {
    const int groups = threads / lines;
    l.line = t + " % " + decimal(lines);
    l.term = t + " / " + decimal(lines);
    l.terms = depth / groups, l.termStep = groups;
  }
  return l;
}

class ProductWriter {
 public:
  ProductWriter(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
      : kernel_(kernel),
        p_(kernel.product),
        dims_(productDims(p_)),
        schedule_(schedule),
        tile_(schedule.tile),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(std::move(names)),
        repr_(reprOf(p_.dtype)),
        type_(registerType(repr_)),
        vars_(p_.batch.size() + 2),
        depth_(p_.depth()) {
    for (const Product::Sum& s : p_.sums) sums_.push_back(s.extent);
    sums_.push_back(p_.k);
  }

  std::string write() {
    if (dims_.m * dims_.n * dims_.count == 0) return "";
    if (schedule_.family == Schedule::Family::Points) {
      direct();
      return scalars_.missing();
    }
    const int64_t columns = tilesOf(dims_.n, tile_.columns), rows = tilesOf(dims_.m, tile_.rows);
    out_.line("const int tileColumn = blockIdx.x % " + decimal(columns) + "u * " + decimal(tile_.columns) +
              ", tileRow = blockIdx.x / " + decimal(columns) + "u % " + decimal(rows) + "u * " + decimal(tile_.rows) +
              ";");
    decodeVariables("(int)(blockIdx.x / " + decimal(columns * rows) + "u)", dims_.matrices);
    out_.line(type_ + " sum[" + decimal(tile_.threadRows) + "][" + decimal(tile_.threadColumns) + "] = {};");
    const std::string across = decimal(tile_.columns / tile_.threadColumns);
    out_.line("const int mine = (int)threadIdx.x / " + across + " * " + decimal(rowGroup()) +
              ", mineColumn = (int)threadIdx.x % " + across + " * " + decimal(columnGroup()) + ";");
    Side a{p_.a, true, "a", dims_.rows, dims_.m, tile_.rows, "tileRow", {}, {}},
        b{p_.b, false, "b", dims_.columns, dims_.n, tile_.columns, "tileColumn", {}, {}};
    for (Side* s : {&a, &b}) prepare(*s);
    terms(a, b);
    epilogue();
    return scalars_.missing();
  }

 private:
  struct Side {
    const MatrixView& view;
    bool isLeft;
    std::string name;
    const std::vector<size_t>& variables;
    int64_t total;
    int lines;
    std::string start;
    Loading loading;
    std::vector<const Product::Edge*> edges;  ///< of the window, that its lines or its matrix are at
  };

  static int64_t tilesOf(int64_t n, int by) { return (n + by - 1) / by; }
  int rowGroup() const { return std::min(tile_.threadRows, 4); }
  int columnGroup() const { return std::min(tile_.threadColumns, 4); }
  /// Where in the tile element `i` of a thread's rows is, or of its columns: groups side by side are a vector.
  static std::string place(const std::string& mine, const std::string& i, int group, int of, int block) {
    if (of == group) return mine + " + " + i;
    return mine + " + " + i + " / " + decimal(group) + " * " + decimal(block / (of / group)) + " + " + i + " % " +
           decimal(group);
  }

  /// Numbers from one in row-major order.
  void decode(std::string rest, const std::vector<int64_t>& extents, Names& names) {
    names.assign(extents.size(), "");
    for (size_t v = extents.size(); v-- > 0;) {
      names[v] = out_.fresh("i");
      const std::string extent = decimal(extents[v]) + "u";
      out_.line("const int " + names[v] + " = " +
                (extents[v] == 1 ? "0"
                 : v == 0        ? rest
                                 : "(unsigned)(" + rest + ") % " + extent) +
                ";");
      if (v == 0 || extents[v] == 1) continue;
      const std::string quotient = out_.fresh("q");
      out_.line("const int " + quotient + " = (unsigned)(" + rest + ") / " + extent + ";");
      rest = quotient;
    }
  }
  void decodeVariables(const std::string& number, const std::vector<size_t>& variables) {
    if (variables.empty()) return;
    std::vector<int64_t> extents;
    Names names;
    for (size_t v : variables) extents.push_back(extentOf(p_, v));
    decode(number, extents, names);
    for (size_t i = 0; i < variables.size(); ++i) vars_[variables[i]] = names[i];
  }

  /// Names of a sum's trips from the number of a term.
  void decodeTerm(const std::string& term) { decode(term, sums_, trips_); }
  int64_t sumStride(const MatrixView& view, bool isLeft, size_t sum) const {
    if (sum == p_.sums.size()) return isLeft ? view.col : view.row;
    return isLeft ? p_.sums[sum].a : p_.sums[sum].b;
  }
  int64_t stride(const MatrixView& view, bool isLeft, size_t variable) const {
    if (variable < p_.batch.size()) return view.batch[variable];
    const bool isRow = variable == p_.batch.size();
    return isRow == isLeft ? (isLeft ? view.row : view.col) : 0;
  }
  bool isNarrow(const MatrixView& view) const { return kernel_.buffers[view.buffer].elements < int64_t{1} << 31; }
  std::string scaled(const std::string& what, int64_t by, bool narrow) const {
    if (by == 0 || what == "0") return "";
    return std::string(" + ") + (narrow ? "" : "(long long)") + what + (by == 1 ? "" : " * " + decimal(by));
  }
  std::string atVariables(const Side& s, const std::vector<size_t>& variables) const {
    std::string at;
    for (size_t v : variables) at += scaled(vars_[v], stride(s.view, s.isLeft, v), isNarrow(s.view));
    return at;
  }
  std::string atTrips(const Side& s) const {
    std::string at = "0";
    for (size_t t = 0; t < trips_.size(); ++t)
      at += scaled(trips_[t], sumStride(s.view, s.isLeft, t), isNarrow(s.view));
    return at;
  }

  std::string edgeOf(const Side& s, size_t e) const { return s.name + "Edge" + decimal(e); }

  /// Where a thread's lines of an operand begin, and its tile in shared memory.
  void prepare(Side& s) {
    const bool along = std::abs(sumStride(s.view, s.isLeft, p_.sums.size())) == 1;
    s.loading = loadingOf(s.lines, tile_.depth, tile_.threads(), along);
    const Loading& l = s.loading;
    const auto hasVariable = [](const std::vector<size_t>& list, size_t v) {
      return std::find(list.begin(), list.end(), v) != list.end();
    };
    for (const Product::Edge& e : p_.edges)
      if (hasVariable(s.variables, e.var) || (!s.isLeft && hasVariable(dims_.matrices, e.var))) s.edges.push_back(&e);
    out_.line("__shared__ __align__(16) " + type_ + " " + s.name + "Tile[" + decimal(tile_.depth) + "][" +
              decimal(s.lines + l.pad) + "];");
    out_.line("const int " + s.name + "Line = " + l.line + ", " + s.name + "Term = " + l.term + ";");
    const std::string lines = decimal(l.lines), type = isNarrow(s.view) ? "int" : "long long";
    out_.line(type + " " + s.name + "At[" + lines + "];");
    if (s.total % s.lines != 0) out_.line("bool " + s.name + "In[" + lines + "];");
    for (size_t e = 0; e < s.edges.size(); ++e) out_.line("int " + edgeOf(s, e) + "[" + lines + "];");
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + lines + "; ++r)");
    out_.line("const int line = " + s.start + " + " + s.name + "Line + r * " + decimal(l.lineStep) + ";");
    decodeVariables("line", s.variables);
    out_.line(s.name + "At[r] = " + decimal(s.view.offset) + atVariables(s, dims_.matrices) +
              atVariables(s, s.variables) + ";");
    if (s.total % s.lines != 0) out_.line(s.name + "In[r] = line < " + decimal(s.total) + ";");
    for (size_t e = 0; e < s.edges.size(); ++e) {
      const ir::WindowDim& w = s.edges[e]->window;
      out_.line(edgeOf(s, e) + "[r] = " + vars_[s.edges[e]->var] + " * " + decimal(w.stride) + " - " + decimal(w.lo) +
                ";");
    }
    out_.close();
    out_.line(type_ + " " + s.name + "Next[" + lines + "][" + decimal(l.terms) + "];");
  }

  /// Loads a thread's part of an operand's next tile; what is outside is zero.
  void fetch(const Side& s) {
    const Loading& l = s.loading;
    out_.line("#pragma unroll");
    out_.open("for (int o = 0; o < " + decimal(l.terms) + "; ++o)");
    out_.line("const int term = k + " + s.name + "Term + o * " + decimal(l.termStep) + ";");
    decodeTerm("term");
    const std::string at = out_.fresh("at");
    out_.line((isNarrow(s.view) ? "const int " : "const long long ") + at + " = " + atTrips(s) + ";");
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + decimal(l.lines) + "; ++r)");
    std::string inside;
    auto also = [&](const std::string& c) { inside += (inside.empty() ? "" : " && ") + c; };
    if (depth_ % tile_.depth != 0) also("term < " + decimal(depth_));
    if (s.total % s.lines != 0) also(s.name + "In[r]");
    for (size_t e = 0; e < s.edges.size(); ++e) {
      const ir::WindowDim& w = s.edges[e]->window;
      also("(unsigned)(" + edgeOf(s, e) + "[r] + " + trips_[s.edges[e]->sum] + " * " + decimal(w.dilation) + ") < " +
           decimal(w.extent) + "u");
    }
    const std::string next = s.name + "Next[r][o]";
    if (!inside.empty()) {
      out_.line(next + " = 0;");
      out_.open("if (" + inside + ")");
    }
    out_.line(next + " = " + CudaScalars::text(element(s.view, s.name + "At[r] + " + at)) + ";");
    if (!inside.empty()) out_.close();
    out_.close();
    out_.close();
  }

  Scalar element(const MatrixView& view, const std::string& at) {
    const ir::DType t = kernel_.buffers[view.buffer].dtype;
    const std::string name = out_.fresh("x");
    out_.line("const " + std::string(memoryType(t)) + " " + name + " = " + names_.buffers[view.buffer] + "[" + at +
              "];");
    return scalars_.fromMemory(name, t);
  }

  void keep(const Side& s) {
    const Loading& l = s.loading;
    out_.line("#pragma unroll");
    out_.line("for (int o = 0; o < " + decimal(l.terms) + "; ++o)");
    out_.line("  #pragma unroll");
    out_.line("  for (int r = 0; r < " + decimal(l.lines) + "; ++r) " + s.name + "Tile[" + s.name + "Term + o * " +
              decimal(l.termStep) + "][" + s.name + "Line + r * " + decimal(l.lineStep) + "] = " + s.name +
              "Next[r][o];");
  }

  /// The sums: while a tile is multiplied, the next one is on its way.
  void terms(const Side& a, const Side& b) {
    const std::string step = decimal(tile_.depth), depth = decimal(depth_);
    out_.line("#pragma unroll 1");
    out_.open("for (int done = -" + step + "; done < " + depth + "; done += " + step + ")");
    out_.line("const int k = done + " + step + ";");
    out_.open("if (k < " + depth + ")");
    fetch(a);
    fetch(b);
    out_.close();
    out_.open("if (done >= 0)");
    out_.line("#pragma unroll");
    out_.open("for (int t = 0; t < " + step + "; ++t)");
    const std::string m = decimal(tile_.threadRows), n = decimal(tile_.threadColumns);
    out_.line(type_ + " x[" + m + "], y[" + n + "];");
    out_.line("#pragma unroll");
    out_.line("for (int i = 0; i < " + m + "; ++i) x[i] = aTile[t][" +
              place("mine", "i", rowGroup(), tile_.threadRows, tile_.rows) + "];");
    out_.line("#pragma unroll");
    out_.line("for (int j = 0; j < " + n + "; ++j) y[j] = bTile[t][" +
              place("mineColumn", "j", columnGroup(), tile_.threadColumns, tile_.columns) + "];");
    out_.line("#pragma unroll");
    out_.line("for (int i = 0; i < " + m + "; ++i)");
    out_.line("  #pragma unroll");
    out_.line("  for (int j = 0; j < " + n + "; ++j) sum[i][j] = " + (repr_ == Repr::F64 ? "__fma_rn" : "__fmaf_rn") +
              "(x[i], y[j], sum[i][j]);");
    out_.close();
    out_.close();
    out_.line("__syncthreads();");
    out_.open("if (k < " + depth + ")");
    keep(a);
    keep(b);
    out_.close();
    out_.line("__syncthreads();");
    out_.close();
  }

  void epilogue() {
    if (!p_.edges.empty()) paddedAgain();
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < " + decimal(tile_.threadRows) + "; ++i)");
    out_.line("const int row = tileRow + " + place("mine", "i", rowGroup(), tile_.threadRows, tile_.rows) + ";");
    if (dims_.m % tile_.rows != 0) out_.line("if (row >= " + decimal(dims_.m) + ") continue;");
    decodeVariables("row", dims_.rows);
    out_.line("#pragma unroll");
    const int vector = schedule_.vector;
    out_.open("for (int j = 0; j < " + decimal(tile_.threadColumns) + "; j += " + decimal(vector) + ")");
    out_.line("const int column = tileColumn + " +
              place("mineColumn", "j", columnGroup(), tile_.threadColumns, tile_.columns) + ";");
    if (dims_.n % tile_.columns != 0) out_.line("if (column >= " + decimal(dims_.n) + ") continue;");
    decodeVariables("column", dims_.columns);
    store(vector == 1 ? "sum[i][j]" : "sum[i][j + v]", vector);
    out_.close();
    out_.close();
  }

  /// The epilogue at the point that vars_ names, or `vector` of them side by side from there.
  void store(const std::string& sum, int vector) {
    const size_t last = vars_.size() - 1;
    StageVectors vectors = vector > 1 ? StageVectors(kernel_, p_.epilogue, last, vector) : StageVectors();
    StageWriter first(out_, scalars_, kernel_, p_.epilogue, names_, vars_);
    vectors.load(out_, first);
    Names mine = vars_;
    if (vector > 1) {
      out_.line("#pragma unroll");
      out_.open("for (int v = 0; v < " + decimal(vector) + "; ++v)");
      mine[last] = out_.fresh("i");
      out_.line("const int " + mine[last] + " = " + vars_[last] + " + v;");
    }
    names_.reduced = {
        CudaScalars::text(emitCast(scalars_, scalars_.wrap(sum, repr_), p_.dtype, kernel_.reductions[0].result))};
    StageWriter point(out_, scalars_, kernel_, p_.epilogue, names_, mine);
    vectors.give(point);
    point.body();
    if (vector > 1) out_.close();
    vectors.store(out_, first);
  }

  /// Padding adds nothing, not even where a weight is infinite: a tile where something is not a number is computed
  /// again, without the terms that meet padding.
  void paddedAgain() {
    out_.line("bool isNan = false;");
    out_.line("#pragma unroll");
    out_.line("for (int i = 0; i < " + decimal(tile_.threadRows) + "; ++i)");
    out_.line("  #pragma unroll");
    out_.line("  for (int j = 0; j < " + decimal(tile_.threadColumns) +
              "; ++j) isNan = isNan || sum[i][j] != sum[i][j];");
    out_.open("if (__syncthreads_or(isNan))");
    out_.line("#pragma unroll 1");
    out_.open("for (int e = threadIdx.x; e < " + decimal(tile_.rows * tile_.columns) +
              "; e += " + decimal(tile_.threads()) + ")");
    out_.line("const int row = tileRow + e / " + decimal(tile_.columns) + ", column = tileColumn + e % " +
              decimal(tile_.columns) + ";");
    out_.line("if (row >= " + decimal(dims_.m) + " || column >= " + decimal(dims_.n) + ") continue;");
    decodeVariables("row", dims_.rows);
    decodeVariables("column", dims_.columns);
    oneByOne();
    out_.close();
    out_.line("return;");
    out_.close();
  }

  /// The element at the point that vars_ names, term by term.
  void oneByOne() {
    out_.line(type_ + " one = 0;");
    trips_.clear();
    for (size_t s = 0; s < sums_.size(); ++s) trip(s);
    Scalar factors[2];
    for (const bool isLeft : {true, false}) {
      const MatrixView& view = isLeft ? p_.a : p_.b;
      std::string at = decimal(view.offset);
      for (size_t v = 0; v < vars_.size(); ++v) at += scaled(vars_[v], stride(view, isLeft, v), isNarrow(view));
      for (size_t t = 0; t < trips_.size(); ++t) at += scaled(trips_[t], sumStride(view, isLeft, t), isNarrow(view));
      factors[isLeft ? 0 : 1] = element(view, at);
    }
    out_.line("one = " + CudaScalars::text(fma(factors[0], factors[1], scalars_.wrap("one", repr_))) + ";");
    for (size_t s = 0; s < sums_.size(); ++s) out_.close();
    store("one", 1);
  }

  /// A thread for each element.
  void direct() {
    std::vector<size_t> all;
    for (size_t v = 0; v < vars_.size(); ++v) all.push_back(v);
    const std::string threads = decimal(schedule_.threads);
    out_.line("#pragma unroll 1");
    out_.open("for (int point = blockIdx.x * " + threads + " + threadIdx.x; point < " +
              decimal(dims_.m * dims_.n * dims_.count) + "; point += gridDim.x * " + threads + ")");
    decodeVariables("point", all);
    oneByOne();
    out_.close();
  }

  /// The loop of a sum; trips that meet padding are left out.
  void trip(size_t number) {
    const std::string t = out_.fresh("t");
    trips_.push_back(t);
    out_.line("#pragma unroll 1");
    out_.open("for (int " + t + " = 0; " + t + " < " + decimal(sums_[number]) + "; ++" + t + ")");
    for (const Product::Edge& e : p_.edges) {
      if (e.sum != number) continue;
      const ir::WindowDim& w = e.window;
      out_.line("if ((unsigned)(" + vars_[e.var] + " * " + decimal(w.stride) + " + " + t + " * " + decimal(w.dilation) +
                " - " + decimal(w.lo) + ") >= " + decimal(w.extent) + "u) continue;");
    }
  }

  const Kernel& kernel_;
  const Product& p_;
  const ProductDims dims_;
  const Schedule& schedule_;
  const Tile& tile_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  const Repr repr_;
  const std::string type_;
  Names vars_;   ///< of the loop variables, batch..., m, n, where the text stands
  Names trips_;  ///< of the sums'
  std::vector<int64_t> sums_;
  const int64_t depth_;
};

}  // namespace

std::string writeProduct(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  if (const std::optional<Kernel> loops = asLoops(kernel)) return writeLoopKernel(*loops, schedule, module, names);
  return ProductWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
