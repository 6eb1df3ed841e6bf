#include "codegen/cuda/ProductParts.h"

#include <algorithm>

#include "codegen/ScalarConvert.h"
#include "codegen/cuda/IndexText.h"
#include "codegen/cuda/LoopVariables.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {
namespace {

int64_t tilesOf(int64_t n, int by) { return (n + by - 1) / by; }
std::string lessBy(const std::string& x, int64_t n) { return n == 0 ? x : x + " - " + decimal(n); }
std::string edgeOf(const ProductSide& s, size_t e) { return s.name + "Edge" + decimal(e); }

}  // namespace

ProductParts::ProductParts(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
    : kernel_(kernel),
      p_(kernel.product),
      dims_(productDims(p_)),
      schedule_(schedule),
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

void ProductParts::tileStart() {
  const Tile& tile = schedule_.tile;
  const int64_t columns = tilesOf(dims_.n, tile.columns), rows = tilesOf(dims_.m, tile.rows);
  const auto start = [](std::string_view type, const std::string& number, int by) {
    return times(type == "int" || number == "0" ? number : "(long long)(" + number + ")", by) + ";";
  };
  const auto dividedBy = [](int64_t n) { return "blockIdx.x" + (n == 1 ? "" : " / " + decimal(n) + "u"); };
  const bool isOneMatrix = dims_.matrices.empty();
  const std::string column = columns == 1               ? "0"
                             : isOneMatrix && rows == 1 ? "blockIdx.x"
                                                        : "blockIdx.x % " + decimal(columns) + "u",
                    row = rows == 1     ? "0"
                          : isOneMatrix ? dividedBy(columns)
                                        : dividedBy(columns) + " % " + decimal(rows) + "u";
  out_.line(declared(columnType(), "tileColumn") + start(columnType(), column, tile.columns));
  out_.line(declared(rowType(), "tileRow") + start(rowType(), row, tile.rows));
  decodeVariables("(int)(" + dividedBy(columns * rows) + ")", dims_.matrices);
}

ProductSide ProductParts::side(bool isLeft) const {
  const Tile& tile = schedule_.tile;
  ProductSide s = isLeft ? ProductSide{p_.a, true, "a", dims_.rows, dims_.m, tile.rows, "tileRow"}
                         : ProductSide{p_.b, false, "b", dims_.columns, dims_.n, tile.columns, "tileColumn"};
  for (const Product::Edge& e : p_.edges)
    if (isEdgeOf(dims_, e, isLeft)) s.edges.push_back(&e);
  return s;
}

ProductParts::Names ProductParts::decode(const std::string& number, const std::vector<int64_t>& extents) {
  int64_t all = 1;
  for (int64_t n : extents) all *= n;
  return decodePoint(out_, number, std::string(numberType(all)), extents, {}, 1);
}

void ProductParts::decodeVariables(const std::string& number, const std::vector<size_t>& variables) {
  if (variables.empty()) return;
  std::vector<int64_t> extents;
  for (size_t v : variables) extents.push_back(extentOf(p_, v));
  const Names names = decode(number, extents);
  for (size_t i = 0; i < variables.size(); ++i) vars_[variables[i]] = names[i];
}

std::string ProductParts::scaled(const std::string& what, int64_t by, bool narrow) const {
  return by == 0 || what == "0" ? "0" : times((narrow ? "" : "(long long)") + what, by);
}

std::string ProductParts::atVariables(const ProductSide& s, const std::vector<size_t>& variables) const {
  std::string at;
  for (size_t v : variables) at = sumOf({at, scaled(vars_[v], lineStride(p_, s.isLeft, v), isNarrow(s.view))});
  return at;
}

std::string ProductParts::atTrips(const ProductSide& s, const Names& trips) const {
  std::string at;
  for (size_t t = 0; t < trips.size(); ++t)
    at = sumOf({at, scaled(trips[t], termStride(p_, s.isLeft, t), isNarrow(s.view))});
  return sumOf({at});
}

void ProductParts::declareLines(const ProductSide& s, int count, const std::string& line) {
  const std::string lines = decimal(count);
  out_.line(std::string(positionType(s.view)) + " " + s.name + "At[" + lines + "];");
  if (s.total % s.lines != 0) out_.line("bool " + s.name + "In[" + lines + "];");
  for (size_t e = 0; e < s.edges.size(); ++e) out_.line("int " + edgeOf(s, e) + "[" + lines + "];");
  out_.line("#pragma unroll");
  out_.open("for (int r = 0; r < " + lines + "; ++r)");
  out_.line(declared(numberType(s.total), "line") + sumOf({s.start, line}) + ";");
  decodeVariables("line", s.variables);
  out_.line(s.name + "At[r] = " +
            sumOf({decimal(s.view.offset), atVariables(s, dims_.matrices), atVariables(s, s.variables)}) + ";");
  if (s.total % s.lines != 0) out_.line(s.name + "In[r] = line < " + decimal(s.total) + ";");
  for (size_t e = 0; e < s.edges.size(); ++e) {
    const ir::WindowDim& w = s.edges[e]->window;
    out_.line(edgeOf(s, e) + "[r] = " + lessBy(times(vars_[s.edges[e]->var], w.stride), w.lo) + ";");
  }
  out_.close();
}

std::string ProductParts::inside(const ProductSide& s, const Names& trips, const std::string& r) const {
  std::string all;
  auto also = [&](const std::string& c) { all += (all.empty() ? "" : " && ") + c; };
  if (depth_ % schedule_.tile.depth != 0) also("term < " + decimal(depth_));
  if (s.total % s.lines != 0) also(s.name + "In[" + r + "]");
  for (size_t e = 0; e < s.edges.size(); ++e) also(meets(s, e, trips[s.edges[e]->sum], r));
  return all;
}

std::string ProductParts::meets(const ProductSide& s, size_t e, const std::string& trip, const std::string& r) const {
  const ir::WindowDim& w = s.edges[e]->window;
  return "(unsigned)(" + sumOf({edgeOf(s, e) + "[" + r + "]", times(trip, w.dilation)}) + ") < " + decimal(w.extent) +
         "u";
}

Scalar ProductParts::element(const MatrixView& view, const std::string& at) {
  const ir::DType t = kernel_.buffers[view.buffer].dtype;
  const std::string name = out_.fresh("x");
  out_.line("const " + std::string(memoryType(t)) + " " + name + " = " + names_.buffers[view.buffer] + "[" + at + "];");
  return scalars_.fromMemory(name, t);
}

void ProductParts::store(const std::string& sum, int vector) {
  writeEpilogue(out_, scalars_, kernel_, p_.epilogue, names_, vars_, scalars_.computed(sum, repr_), p_.dtype, vector);
}

void writeEpilogue(CudaText& out, CudaScalars& scalars, const Kernel& kernel, const Stage& epilogue, KernelNames names,
                   const std::vector<std::string>& variables, Scalar sum, ir::DType sums, int vector) {
  const size_t last = variables.size() - 1;
  StageVectors vectors = vector > 1 ? StageVectors(kernel, epilogue, last, vector) : StageVectors();
  StageWriter first(out, scalars, kernel, epilogue, names, variables);
  vectors.load(out, first);
  std::vector<std::string> mine = variables;
  if (vector > 1) {
    out.line("#pragma unroll");
    out.open("for (int v = 0; v < " + decimal(vector) + "; ++v)");
    mine[last] = out.fresh("i");
    out.line("const auto " + mine[last] + " = " + variables[last] + " + v;");
  }
  names.reduced = {CudaScalars::text(emitCast(scalars, sum, sums, kernel.reductions[0].result))};
  StageWriter point(out, scalars, kernel, epilogue, names, mine);
  vectors.give(point);
  point.body();
  if (vector > 1) out.close();
  vectors.store(out, first);
}

void ProductParts::paddedAgain(const std::string& isNaN) {
  const Tile& tile = schedule_.tile;
  out_.open("if (__syncthreads_or(" + isNaN + "))");
  out_.line("#pragma unroll 1");
  out_.open("for (int e = threadIdx.x; e < " + decimal(tile.rows * tile.columns) + "; e += " + decimal(tile.threads()) +
            ")");
  out_.line(declared(rowType(), "row") + "tileRow + e / " + decimal(tile.columns) + ";");
  out_.line(declared(columnType(), "column") + "tileColumn + e % " + decimal(tile.columns) + ";");
  out_.line("if (row >= " + decimal(dims_.m) + " || column >= " + decimal(dims_.n) + ") continue;");
  decodeVariables("row", dims_.rows);
  decodeVariables("column", dims_.columns);
  oneByOne();
  out_.close();
  out_.line("return;");
  out_.close();
}

void ProductParts::oneByOne() {
  out_.line(type_ + " one = 0;");
  Names trips;
  for (size_t s = 0; s < sums_.size(); ++s) trip(s, trips);
  Scalar factors[2];
  for (const bool isLeft : {true, false}) {
    const MatrixView& view = isLeft ? p_.a : p_.b;
    std::string at = decimal(view.offset);
    for (size_t v = 0; v < vars_.size(); ++v)
      at = sumOf({at, scaled(vars_[v], lineStride(p_, isLeft, v), isNarrow(view))});
    for (size_t t = 0; t < trips.size(); ++t)
      at = sumOf({at, scaled(trips[t], termStride(p_, isLeft, t), isNarrow(view))});
    factors[isLeft ? 0 : 1] = element(view, at);
  }
  out_.line("one = " + CudaScalars::text(fma(factors[0], factors[1], scalars_.wrap("one", repr_))) + ";");
  for (size_t s = 0; s < sums_.size(); ++s) out_.close();
  store("one", 1);
}

void ProductParts::direct() {
  std::vector<size_t> all;
  for (size_t v = 0; v < vars_.size(); ++v) all.push_back(v);
  const std::string threads = decimal(schedule_.threads);
  const int64_t points = dims_.m * dims_.n * dims_.count;
  const std::string type(numberType(points + int64_t{schedule_.blocks} * schedule_.threads)),
      cast = type == "int" ? "" : "(long long)";
  out_.line("#pragma unroll 1");
  out_.open("for (" + type + " point = " + cast + "blockIdx.x * " + threads + " + threadIdx.x; point < " +
            decimal(points) + "; point += " + cast + "gridDim.x * " + threads + ")");
  decodeVariables("point", all);
  oneByOne();
  out_.close();
}

/// The loop of a sum; trips that meet padding are left out.
void ProductParts::trip(size_t number, Names& trips) {
  const std::string t = out_.fresh("t");
  trips.push_back(t);
  out_.line("#pragma unroll 1");
  out_.open("for (" + std::string(numberType(sums_[number])) + " " + t + " = 0; " + t + " < " + decimal(sums_[number]) +
            "; ++" + t + ")");
  for (const Product::Edge& e : p_.edges) {
    if (e.sum != number) continue;
    const ir::WindowDim& w = e.window;
    out_.line("if ((unsigned)(" + lessBy(sumOf({times(vars_[e.var], w.stride), times(t, w.dilation)}), w.lo) +
              ") >= " + decimal(w.extent) + "u) continue;");
  }
}

}  // namespace tenc::codegen::cuda
