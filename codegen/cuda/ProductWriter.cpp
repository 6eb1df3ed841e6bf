// Products and convolutions as CUDA C++: a block computes a tile of the result, from tiles of both operands that it
// puts into shared memory; a convolution's left operand or its right one is the image, read where its window meets it.
#include <algorithm>
#include <cstdlib>

#include "codegen/cuda/IndexText.h"
#include "codegen/cuda/ProductParts.h"

namespace tenc::codegen::cuda {
namespace {

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
    l.pad = 4;
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
  ProductWriter(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names)
      : parts_(kernel, schedule, module, names),
        schedule_(schedule),
        tile_(schedule.tile),
        out_(module.text),
        dims_(parts_.dims()),
        type_(parts_.type()) {}

  std::string write() {
    if (dims_.m * dims_.n * dims_.count == 0) return "";
    if (schedule_.family == Schedule::Family::Points) {
      parts_.direct();
      return parts_.missing();
    }
    parts_.tileStart();
    out_.line(type_ + " sum[" + decimal(tile_.threadRows) + "][" + decimal(tile_.threadColumns) + "] = {};");
    const int across = tile_.columns / tile_.threadColumns;
    const std::string perPart = decimal(tile_.threads() / tile_.parts),
                      number = tile_.parts > 1 ? "(int)threadIdx.x % " + perPart : "(int)threadIdx.x";
    if (tile_.parts > 1)
      out_.line("const int first = (int)threadIdx.x / " + perPart + " * " + decimal(tile_.depth / tile_.parts) + ";");
    out_.line("const int mine = " + times(over(number, across), rowGroup()) +
              ", mineColumn = " + times(rest(number, across), columnGroup()) + ";");
    Side a{parts_.side(true), {}}, b{parts_.side(false), {}};
    for (Side* s : {&a, &b}) prepare(*s);
    terms(a, b);
    if (tile_.parts > 1) addParts();
    epilogue();
    return parts_.missing();
  }

 private:
  struct Side : ProductSide {
    Loading loading;
  };

  /// The r-th of a thread's lines in the tile, and the o-th of its terms.
  static std::string lineOf(const Side& s) {
    return sumOf({s.name + "Line", s.loading.lines == 1 ? "0" : times("r", s.loading.lineStep)});
  }
  static std::string termOf(const Side& s) {
    return sumOf({s.name + "Term", s.loading.terms == 1 ? "0" : times("o", s.loading.termStep)});
  }
  int rowGroup() const { return std::min(tile_.threadRows, 4); }
  int columnGroup() const { return std::min(tile_.threadColumns, 4); }
  /// Where in the tile element `i` of a thread's rows is, or of its columns: groups side by side are a vector.
  static std::string place(const std::string& mine, const std::string& i, int group, int of, int block) {
    if (of == group) return mine + " + " + i;
    return mine + " + " + i + " / " + decimal(group) + " * " + decimal(block / (of / group)) + " + " + i + " % " +
           decimal(group);
  }

  std::string placeOfRow(const std::string& i) const {
    return place("mine", i, rowGroup(), tile_.threadRows, tile_.rows);
  }
  std::string placeOfColumn(const std::string& j) const {
    return place("mineColumn", j, columnGroup(), tile_.threadColumns, tile_.columns);
  }
  bool isVector(int elements) const { return elements % 4 == 0 && type_ == "float"; }

  /// Reads a thread's elements of a tile.
  void take(const std::string& to, const std::string& index, int elements, const std::string& from) {
    const bool together = isVector(elements);
    out_.line("#pragma unroll");
    out_.line("for (int " + index + " = 0; " + index + " < " + decimal(elements) + "; " + index +
              " += " + (together ? "4) tenc_take(&" + to + ", &" + from + ");" : "1) " + to + " = " + from + ";"));
  }

  /// Where a thread's lines of an operand begin, and its tile in shared memory.
  void prepare(Side& s) {
    const bool along = std::abs(termStride(parts_.product(), s.isLeft, parts_.sums().size() - 1)) == 1;
    s.loading = loadingOf(s.lines, tile_.depth, tile_.threads(), along);
    const Loading& l = s.loading;
    out_.line("__shared__ __align__(16) " + type_ + " " + s.name + "Tile[" + decimal(tile_.depth) + "][" +
              decimal(s.lines + l.pad) + "];");
    out_.line("const int " + s.name + "Line = " + l.line + ", " + s.name + "Term = " + l.term + ";");
    parts_.declareLines(s, l.lines, lineOf(s));
    out_.line(type_ + " " + s.name + "Next[" + decimal(l.lines) + "][" + decimal(l.terms) + "];");
  }

  /// Loads a thread's part of an operand's next tile; what is outside is zero.
  void fetch(const Side& s) {
    const Loading& l = s.loading;
    out_.line("#pragma unroll");
    out_.open("for (int o = 0; o < " + decimal(l.terms) + "; ++o)");
    out_.line(declared(parts_.termType(), "term") + sumOf({"k", termOf(s)}) + ";");
    const ProductParts::Names trips = parts_.decode("term", parts_.sums());
    const std::string at = out_.fresh("at");
    out_.line("const " + std::string(parts_.positionType(s.view)) + " " + at + " = " + parts_.atTrips(s, trips) + ";");
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + decimal(l.lines) + "; ++r)");
    const std::string inside = parts_.inside(s, trips), next = s.name + "Next[r][o]";
    if (!inside.empty()) {
      out_.line(next + " = 0;");
      out_.open("if (" + inside + ")");
    }
    out_.line(next + " = " + CudaScalars::text(parts_.element(s.view, s.name + "At[r] + " + at)) + ";");
    if (!inside.empty()) out_.close();
    out_.close();
    out_.close();
  }

  void keep(const Side& s) {
    const Loading& l = s.loading;
    out_.line("#pragma unroll");
    out_.line("for (int o = 0; o < " + decimal(l.terms) + "; ++o)");
    out_.line("  #pragma unroll");
    out_.line("  for (int r = 0; r < " + decimal(l.lines) + "; ++r) " + s.name + "Tile[" + termOf(s) + "][" +
              lineOf(s) + "] = " + s.name + "Next[r][o];");
  }

  /// The sums: while a tile is multiplied, the next one is on its way.
  void terms(const Side& a, const Side& b) {
    const std::string step = decimal(tile_.depth), depth = decimal(parts_.depth());
    out_.line("#pragma unroll 1");
    out_.open("for (" + std::string(parts_.termType()) + " done = -" + step + "; done < " + depth +
              "; done += " + step + ")");
    out_.line(declared(parts_.termType(), "k") + "done + " + step + ";");
    out_.open("if (k < " + depth + ")");
    fetch(a);
    fetch(b);
    out_.close();
    out_.open("if (done >= 0)");
    out_.line("#pragma unroll" + (stepsOf(tile_) < tile_.depth / tile_.parts ? " " + decimal(stepsOf(tile_)) : ""));
    out_.open("for (int t = 0; t < " + decimal(tile_.depth / tile_.parts) + "; ++t)");
    const std::string at = tile_.parts > 1 ? "first + t" : "t";
    const std::string m = decimal(tile_.threadRows), n = decimal(tile_.threadColumns);
    out_.line(type_ + " x[" + m + "], y[" + n + "];");
    take("x[i]", "i", tile_.threadRows, "aTile[" + at + "][" + placeOfRow("i") + "]");
    take("y[j]", "j", tile_.threadColumns, "bTile[" + at + "][" + placeOfColumn("j") + "]");
    out_.line("#pragma unroll");
    out_.line("for (int i = 0; i < " + m + "; ++i)");
    out_.line("  #pragma unroll");
    out_.line("  for (int j = 0; j < " + n + "; ++j) sum[i][j] = " +
              (parts_.repr() == Repr::F64 ? "__fma_rn" : "__fmaf_rn") + "(x[i], y[j], sum[i][j]);");
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

  /// What the parts of the terms come to, added up in order: a thread does so for elements side by side.
  void addParts() {
    const int across = tile_.columns / resultColumns(tile_);
    const std::string m = decimal(tile_.threadRows), n = decimal(tile_.threadColumns),
                      rows = decimal(resultRows(tile_)), results = decimal(resultColumns(tile_)),
                      apart = decimal(tile_.threads() / across);
    const std::string type = "tenc_vector<" + type_ + ", " + results + ">";
    out_.line("__shared__ __align__(16) " + type_ + " partial[" + decimal(tile_.parts) + "][" + decimal(tile_.rows) +
              "][" + decimal(partialPitch(tile_)) + "];");
    out_.line("#pragma unroll");
    out_.line("for (int i = 0; i < " + m + "; ++i)");
    out_.line("  #pragma unroll");
    const bool together = isVector(tile_.threadColumns) && partialPitch(tile_) % 4 == 0;
    const std::string to = "partial[first / " + decimal(tile_.depth / tile_.parts) + "][" + placeOfRow("i") + "][" +
                           placeOfColumn("j") + "]";
    out_.line("  for (int j = 0; j < " + n + "; j += " + (together ? "4" : "1") + ") " +
              (together ? "tenc_put(&" + to + ", &sum[i][j]);" : to + " = sum[i][j];"));
    out_.line("__syncthreads();");
    // Of rows of 16 a warp reads two that are two apart, which are in different banks.
    const std::string at = "(int)threadIdx.x / " + decimal(across);
    out_.line("const int added = " +
              (across == 16 ? "(" + at + " & ~3) | (" + at + " & 1) * 2 | (" + at + " >> 1 & 1)" : at) +
              ", addedColumn = (int)threadIdx.x % " + decimal(across) + " * " + results + ";");
    out_.line(type + " all[" + rows + "];");
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < " + rows + "; ++i)");
    const std::string from = "][added + i * " + apart + "][addedColumn]);";
    const auto load = [&](const std::string& vector, const std::string& part) {
      out_.line(resultColumns(tile_) == 4 && type_ == "float"
                    ? "tenc_take(" + vector + ".at, &partial[" + part + from
                    : vector + " = tenc_load<" + type + ">(&partial[" + part + from);
    };
    load("all[i]", "0");
    out_.line("#pragma unroll");
    out_.open("for (int p = 1; p < " + decimal(tile_.parts) + "; ++p)");
    out_.line(type + " more;");
    load("more", "p");
    out_.line("#pragma unroll");
    out_.line("for (int j = 0; j < " + results + "; ++j) all[i].at[j] += more.at[j];");
    out_.close();
    out_.close();
  }

  void epilogue() {
    const bool added = tile_.parts > 1;
    const std::string rows = decimal(resultRows(tile_)), columns = decimal(resultColumns(tile_));
    const auto sum = [&](const std::string& j) { return added ? "all[i].at[" + j + "]" : "sum[i][" + j + "]"; };
    if (!parts_.product().edges.empty()) {
      out_.line("bool isNaN = false;");
      out_.line("#pragma unroll");
      out_.line("for (int i = 0; i < " + rows + "; ++i)");
      out_.line("  #pragma unroll");
      out_.line("  for (int j = 0; j < " + columns + "; ++j) isNaN = isNaN || " + sum("j") + " != " + sum("j") + ";");
      parts_.paddedAgain("isNaN");
    }
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < " + rows + "; ++i)");
    out_.line(
        declared(parts_.rowType(), "row") + "tileRow + " +
        (added ? "added + i * " + decimal(tile_.threads() / (tile_.columns / resultColumns(tile_))) : placeOfRow("i")) +
        ";");
    if (dims_.m % tile_.rows != 0) out_.line("if (row >= " + decimal(dims_.m) + ") continue;");
    parts_.decodeVariables("row", dims_.rows);
    out_.line("#pragma unroll");
    const int vector = schedule_.vector;
    out_.open("for (int j = 0; j < " + columns + "; j += " + decimal(vector) + ")");
    out_.line(declared(parts_.columnType(), "column") + "tileColumn + " +
              (added ? "addedColumn + j" : placeOfColumn("j")) + ";");
    if (dims_.n % tile_.columns != 0) out_.line("if (column >= " + decimal(dims_.n) + ") continue;");
    parts_.decodeVariables("column", dims_.columns);
    parts_.store(sum(vector == 1 ? "j" : "j + v"), vector);
    out_.close();
    out_.close();
  }

  ProductParts parts_;
  const Schedule& schedule_;
  const Tile& tile_;
  CudaText& out_;
  const ProductDims& dims_;
  const std::string& type_;
};

}  // namespace

std::string writeProduct(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  if (const std::optional<Kernel> loops = asLoops(kernel)) return writeLoopKernel(*loops, schedule, module, names);
  if (schedule.tile.onTensorCores()) return writeTensorProduct(kernel, schedule, module, names);
  return ProductWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
