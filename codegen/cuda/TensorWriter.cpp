// Products and convolutions of halves on tensor cores: tiles of both operands come into shared memory by copies past
// registers while those before are multiplied, 16 bytes are swizzled so that a warp's reads meet all banks, and results
// go through shared memory to where the epilogue stores vectors.
#include <algorithm>

#include "codegen/cuda/GroupProducts.h"
#include "codegen/cuda/IndexText.h"
#include "codegen/cuda/ProductParts.h"
#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {
namespace {

class TensorWriter {
 public:
  TensorWriter(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names)
      : parts_(kernel, schedule, module, names),
        kernel_(kernel),
        schedule_(schedule),
        tile_(schedule.tile),
        out_(module.text),
        dims_(parts_.dims()),
        module_(module) {
    module.need(kTensorText);
    if (byGroups()) module.need(kGroupText);
  }

  std::string write() {
    parts_.tileStart();
    Side a = sideOf(true), b = sideOf(false);
    const int64_t results = int64_t{4} * 16 * padded() * tile_.threads() / 32;
    if (byGroups())
      out_.line("extern __shared__ __align__(1024) unsigned char memory[];");
    else
      out_.line("__shared__ __align__(128) unsigned char memory[" +
                decimal(std::max(stageBytes(tile_) * schedule_.stages, results)) + "];");
    const int across = tile_.columns / tile_.warpColumns;
    out_.line(
        "const int lane = threadIdx.x % 32, warpRow = " + times(over("threadIdx.x / 32", across), tile_.warpRows) +
        ", warpColumn = " + times(rest("threadIdx.x / 32", across), tile_.warpColumns) + ";");
    out_.line("const unsigned stages = tenc_shared(memory);");
    if (byGroups()) out_.line("const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);");
    for (const Side* s : {&a, &b}) prepare(*s);
    out_.line("float sum[" + decimal(high()) + "][" + decimal(wide()) + "][4] = {};");
    terms(a, b);
    epilogue();
    return parts_.missing();
  }

 private:
  struct Side : ProductSide {
    Pieces pieces;
    int offset;       ///< bytes, from where a stage begins
    int along, rows;  ///< elements of a row of its tile, and how many rows: lines of terms, or terms of lines
    int count, step;  ///< a thread's pieces; these are so many rows apart
    bool edged;       ///< some terms meet padding
    std::vector<Run> runs;
    TermTable table;            ///< of packed pieces
    int eights = 0, apart = 0;  ///< the same: of a line, a thread's eight terms, and how far apart these are
    int chunks() const { return along / 8; }
    bool isCopied() const { return pieces.width > 1; }
    bool isPacked() const { return pieces.packed; }
  };

  bool byGroups() const { return schedule_.groups > 0; }
  int high() const { return tile_.warpRows / 16; }
  int wide() const { return tile_.warpColumns / 8; }
  int padded() const { return tile_.warpColumns + kPadded; }
  int64_t steps() const { return (parts_.depth() + tile_.depth - 1) / tile_.depth; }

  Side sideOf(bool isLeft) const {
    Side s{parts_.side(isLeft), isLeft ? schedule_.a : schedule_.b, 0, 0, 0, 0, 0, false, {}, {}};
    s.offset = isLeft ? 0 : 2 * tile_.rows * tile_.depth;
    s.along = s.pieces.alongTerms ? tile_.depth : s.lines;
    s.rows = s.pieces.alongTerms ? s.lines : tile_.depth;
    s.step = tile_.threads() / (s.along / s.pieces.width);
    s.count = s.rows / s.step;
    s.edged = !s.edges.empty();
    s.runs = termRuns(parts_.product(), dims_, isLeft);
    if (!s.isPacked()) return s;
    s.table = *termTable(kernel_, dims_, isLeft);
    // Two lines of a thread share what it reads of the table.
    const int eights = s.lines * tile_.depth / 8 / tile_.threads();
    s.count = s.lines > 16 && eights % 2 == 0 ? 2 : 1;
    s.step = s.lines / s.count;
    s.apart = tile_.threads() / s.step;
    s.eights = eights / s.count;
    return s;
  }

  std::string placeOf(const Side& s, const std::string& row, const std::string& element) const {
    if (byGroups()) return "tenc_tiled<" + decimal(s.rows) + ">::at(" + row + ", " + element + ")";
    return "tenc_place<" + decimal(s.chunks()) + ">(" + row + ", " + element + ")";
  }

  /// What a thread copies of an operand, and where a warp's matrices of it are.
  void prepare(const Side& s) {
    s.isPacked() ? preparePacked(s) : preparePieces(s);
    if (byGroups()) return;
    // Of 16 lines and 16 terms: matrix 0 has the first 8 of both, 1 the other lines, 2 the other terms.
    const std::string start = s.isLeft ? "warpRow" : "warpColumn", n = s.name;
    const std::string q = decimal(s.pieces.alongTerms ? tile_.depth / 16 : groups(s));
    out_.line("unsigned " + n + "From[" + q + "];");
    out_.line("#pragma unroll");
    out_.open("for (int q = 0; q < " + q + "; ++q)");
    const std::string place = s.pieces.alongTerms
                                  ? placeOf(s, start + " + lane % 16", "q * 16 + lane / 16 * 8")
                                  : placeOf(s, "lane % 8 + lane / 16 * 8", start + " + q * 16 + lane / 8 % 2 * 8");
    out_.line(n + "From[q] = " + sumOf({decimal(s.offset), place}) + ";");
    out_.line("tenc_keep(" + n + "From[q]);");
    out_.close();
  }
  void preparePieces(const Side& s) {
    const int perRow = s.along / s.pieces.width;
    const std::string& n = s.name;
    out_.line("const int " + n + "Row = " + over("threadIdx.x", perRow) + ", " + n +
              "Along = " + times(rest("threadIdx.x", perRow), s.pieces.width) + ";");
    if (s.pieces.alongTerms)
      parts_.declareLines(s, s.count, n + "Row + r * " + decimal(s.step));
    else
      parts_.declareLines(s, 1, n + "Along");
    if (s.isCopied())
      declarePlaces(s, 1);
    else
      out_.line("unsigned short " + n + "Next[" + decimal(s.count) + "];");
  }
  /// Where in a stage a thread's pieces are: of each of its rows so many.
  void declarePlaces(const Side& s, int ofRow) {
    constexpr int kKept = 8;
    const std::string n = s.name, to = n + "To[r][o]";
    out_.line("unsigned " + n + "To[" + decimal(s.count) + "][" + decimal(ofRow) + "];");
    out_.line("#pragma unroll");
    out_.line("for (int r = 0; r < " + decimal(s.count) + "; ++r)");
    out_.line("  #pragma unroll");
    out_.open("  for (int o = 0; o < " + decimal(ofRow) + "; ++o)");
    out_.line(to + " = " +
              sumOf({decimal(s.offset), placeOf(s, n + "Row + r * " + decimal(s.step),
                                                sumOf({n + "Along", ofRow == 1 ? "0" : times("o", 8 * s.apart)}))}) +
              ";");
    if (s.count * ofRow <= kKept) out_.line("tenc_keep(" + to + ");");
    out_.close();
  }
  /// Where a thread's lines begin, and which taps of the window do not meet them.
  void preparePacked(const Side& s) {
    const std::string n = s.name, count = decimal(s.count);
    out_.line("const int " + n + "Row = threadIdx.x % " + decimal(s.step) + ", " + n + "Along = threadIdx.x / " +
              decimal(s.step) + " * 8;");
    parts_.declareLines(s, s.count, n + "Row + r * " + decimal(s.step));
    out_.line("const unsigned char* " + n + "Begin[" + count + "];");
    out_.line("unsigned " + n + "Outside[" + count + "];");
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + count + "; ++r)");
    const std::string outside = n + "Outside[r]";
    out_.line(outside + " = " + (s.total % s.lines != 0 ? n + "In[r] ? 2u : 3u;" : "2u;"));
    int bit = 2;
    for (size_t e = 0; e < s.edges.size(); ++e) {
      const std::string taps = decimal(tapsOf(s, e));
      out_.line("#pragma unroll");
      out_.line("for (int t = 0; t < " + taps + "; ++t) " + outside + " |= (unsigned)!(" +
                parts_.meets(s, e, "t", "r") + ") << " + decimal(bit) + " + t;");
      bit += tapsOf(s, e);
    }
    out_.line(n + "Begin[r] = (const unsigned char*)(" + parts_.buffer(s.view) + " + " + n + "At[r]);");
    out_.line("tenc_keep(" + n + "Begin[r]);");
    out_.line("tenc_keep(" + outside + ");");
    out_.close();
    declarePlaces(s, s.eights);
    out_.line("tenc_vector<unsigned short, 8> " + n + "Next[" + count + "][" + decimal(s.eights) + "];");
    out_.line("__shared__ unsigned " + n + "Table[2][" + decimal(s.table.words()) + "][" + decimal(tile_.depth) + "];");
  }
  int tapsOf(const Side& s, size_t edge) const { return static_cast<int>(parts_.sums()[s.edges[edge]->sum]); }
  /// Groups of 16 lines of a warp.
  int groups(const Side& s) const { return (s.isLeft ? tile_.warpRows : tile_.warpColumns) / 16; }

  /// Names of the trips of `term`, and the position that they come to.
  std::string decodeTerm(const Side& s, ProductParts::Names& trips) {
    const std::string at = out_.fresh("at");
    const std::string type = "const " + std::string(parts_.positionType(s.view)) + " ";
    if (s.edged) {
      trips = parts_.decode("term", parts_.sums());
      out_.line(type + at + " = " + parts_.atTrips(s, trips) + ";");
      return at;
    }
    std::vector<int64_t> extents;
    for (const Run& r : s.runs) extents.push_back(r.extent);
    const ProductParts::Names names = parts_.decode("term", extents);
    std::string sum;
    for (size_t r = 0; r < names.size(); ++r)
      sum = sumOf({sum, parts_.scaled(names[r], s.runs[r].stride, parts_.isNarrow(s.view))});
    out_.line(type + at + " = " + sumOf({sum}) + ";");
    return at;
  }

  /// Decodes the terms of a tile from `k`, for all threads.
  void fillTables(std::initializer_list<const Side*> sides, const std::string& k, const std::string& parity) {
    for (const Side* s : sides) {
      if (!s->isPacked()) continue;
      out_.open("if (threadIdx.x < " + decimal(tile_.depth) + ")");
      out_.line(declared(parts_.termType(), "term") + sumOf({k, "(int)threadIdx.x"}) + ";");
      ProductParts::Names trips;
      const std::string at = decodeTerm(*s, trips), table = s->name + "Table[" + parity + "]";
      std::string bits = "1u";
      if (parts_.depth() % tile_.depth != 0) bits += " | (term < " + decimal(parts_.depth()) + " ? 0u : 2u)";
      int bit = 2;
      for (size_t e = 0; e < s->edges.size(); ++e) {
        bits += " | 1u << " + decimal(bit) + " + " + trips[s->edges[e]->sum];
        bit += tapsOf(*s, e);
      }
      if (s->table.isWide) out_.line(table + "[1][threadIdx.x] = " + at + ";");
      out_.line(table + "[0][threadIdx.x] = " + bits +
                (s->table.isWide ? "" : " | (unsigned)" + at + " << " + decimal(s->table.bits + 1)) + ";");
      out_.close();
    }
  }

  /// A thread's part of the tile at `k`: copies begin, elements one by one come into registers.
  void fetch(const Side& s) {
    ProductParts::Names trips(parts_.sums().size());
    std::string at;
    const std::string r = s.pieces.alongTerms ? "r" : "0", row = s.name + "Row + r * " + decimal(s.step);
    if (s.pieces.alongTerms) {
      out_.line(declared(parts_.termType(), "term") + "k + " + s.name + "Along;");
      at = decodeTerm(s, trips);
    }
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + decimal(s.count) + "; ++r)");
    if (!s.pieces.alongTerms) {
      out_.line(declared(parts_.termType(), "term") + "k + " + row + ";");
      at = decodeTerm(s, trips);
    }
    const std::string inside = parts_.inside(s, trips, r);
    const std::string from = parts_.buffer(s.view) + " + (" + s.name + "At[" + r + "] + " + at + ")";
    if (s.isCopied()) {
      out_.line("tenc_copy<" + decimal(2 * s.pieces.width) + ">(to + " + s.name + "To[r][0], " + from + ", " +
                (inside.empty() ? "true" : inside) + ");");
    } else {
      const std::string next = s.name + "Next[r]";
      if (!inside.empty()) out_.line(next + " = 0;");
      out_.line((inside.empty() ? "" : "if (" + inside + ") ") + next + " = *(" + from + ");");
    }
    out_.close();
  }

  /// The same of packed pieces.
  void fetchPacked(const Side& s) {
    const std::string n = s.name;
    out_.line("#pragma unroll");
    out_.open("for (int o = 0; o < " + decimal(8 * s.eights) + "; ++o)");
    const std::string term = n + "Along + o / 8 * " + decimal(8 * s.apart) + " + o % 8";
    out_.line("const unsigned word = " + n + "Table[next % 2][0][" + term + "];");
    out_.line(s.table.isWide ? "const long long at = 2 * (long long)(int)" + n + "Table[next % 2][1][" + term + "];"
                             : "const unsigned at = word >> " + decimal(s.table.bits) + ";");
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + decimal(s.count) + "; ++r)");
    const std::string next = n + "Next[r][o / 8].at[o % 8]";
    out_.line(next + " = tenc_element(" + n + "Begin[r] + at, word & " + n + "Outside[r]);");
    out_.close();
    out_.close();
  }

  void keep(const Side& s) {
    if (s.isCopied()) return;
    const std::string to = "memory + writing * " + decimal(stageBytes(tile_)) + " + ";
    out_.line("#pragma unroll");
    out_.line("for (int r = 0; r < " + decimal(s.count) + "; ++r)");
    if (s.isPacked()) {
      out_.line("  #pragma unroll");
      out_.line("  for (int o = 0; o < " + decimal(s.eights) + "; ++o) tenc_store(" + to + s.name + "To[r][o], " +
                s.name + "Next[r][o]);");
      return;
    }
    out_.line("  *(unsigned short*)(" + to +
              sumOf({decimal(s.offset), placeOf(s, s.name + "Row + r * " + decimal(s.step), s.name + "Along")}) +
              ") = " + s.name + "Next[r];");
  }

  /// Tiles of terms go round the stages: one is multiplied while those after it are on their way.
  void terms(const Side& a, const Side& b) {
    // Warpgroups still multiply the tile before while the next ones are asked for.
    const int far = schedule_.stages - (byGroups() ? 2 : 1);
    const std::string ahead = decimal(far), last = decimal(schedule_.stages - 1), bytes = decimal(stageBytes(tile_));
    const bool tables = a.isPacked() || b.isPacked(), copies = a.isCopied() || b.isCopied();
    if (tables) fillTables({&a, &b}, "0", "0");
    out_.line("int reading = 0, writing = 0;");
    out_.line("#pragma unroll 1");
    out_.open("for (int step = -" + ahead + "; step < " + decimal(steps()) + "; ++step)");
    if (copies) out_.line("tenc_wait<" + decimal(far - 1) + ">();");
    if (byGroups()) out_.line("tenc_publish();");
    out_.line("__syncthreads();");
    out_.line("const int next = step + " + ahead + ";");
    if (byGroups()) out_.line("if (step >= 0) " + begun(a, b));
    out_.open("if (next < " + decimal(steps()) + ")");
    out_.line(declared(parts_.termType(), "k") + std::string(parts_.termType() == "int" ? "" : "(long long)") +
              "next * " + decimal(tile_.depth) + ";");
    if (copies) out_.line("const unsigned to = stages + writing * " + bytes + ";");
    for (const Side* s : {&a, &b}) {
      out_.open("");
      s->isPacked() ? fetchPacked(*s) : fetch(*s);
      out_.close();
    }
    if (tables) fillTables({&a, &b}, "k + " + decimal(tile_.depth), "(next + 1) % 2");
    out_.close();
    if (copies) out_.line("tenc_commit();");
    out_.open("if (step >= 0)");
    byGroups() ? out_.line("tenc_pending<1>();") : multiply(a, b);
    out_.line("reading = reading == " + last + " ? 0 : reading + 1;");
    out_.close();
    if (!a.isCopied() || !b.isCopied()) {
      out_.open("if (next < " + decimal(steps()) + ")");
      keep(a);
      keep(b);
      out_.close();
    }
    out_.line("writing = writing == " + last + " ? 0 : writing + 1;");
    out_.close();
    if (byGroups()) out_.line("tenc_done(sum[0]);");
  }

  /// A call that begins to multiply the tile of a stage, with wgmma.
  std::string begun(const Side& a, const Side& b) {
    GroupRun run{"tile", parts_.product().operands, tile_.columns};
    run.adds = true, run.waits = false;
    run.leftAlongRows = !a.pieces.alongTerms, run.rightAlongColumns = !b.pieces.alongTerms;
    constexpr int kRow = 128, kTerms = 16;
    const auto step = [&](const Side& s, int q) { return q * (s.pieces.alongTerms ? 2 * kTerms : kTerms * kRow); };
    for (int q = 0; q < tile_.depth / kTerms; ++q) run.steps.push_back({step(a, q), step(b, q)});
    const std::string name = out_.fresh("products");
    module_.tables += "struct " + name + " {\n" + run.text() + "};\n";
    // The next 64 lines: rows of the tile, or behind all of its terms.
    const std::string from = "stages + reading * " + decimal(stageBytes(tile_));
    const auto tile = [&](const Side& s, const std::string& plus) {
      return "tenc_tile(" + sumOf({from, decimal(s.offset), plus}) + ", " + decimal(tile_.depth * kRow) + ")";
    };
    const int group = a.pieces.alongTerms ? 64 * kRow : tile_.depth * kRow;
    return name + "::tile(sum[0], " + tile(a, "group * " + decimal(group)) + ", " + tile(b, "") + ");";
  }

  void multiply(const Side& a, const Side& b) {
    out_.line("const unsigned from = stages + reading * " + decimal(stageBytes(tile_)) + ";");
    out_.line("#pragma unroll");
    out_.open("for (int q = 0; q < " + decimal(tile_.depth / 16) + "; ++q)");
    const auto load = [&](const Side& s, const std::string& to) {
      const std::string n = decimal(groups(s)), row = decimal(2 * s.along * 16);
      out_.line("unsigned " + to + "[" + n + "][4];");
      out_.line("#pragma unroll");
      out_.line("for (int i = 0; i < " + n + "; ++i) tenc_matrices<" + (s.pieces.alongTerms ? "false" : "true") + ">(" +
                to + "[i], from + " + s.name + (s.pieces.alongTerms ? "From[q] + i * " : "From[i] + q * ") + row +
                ");");
    };
    load(a, "x");
    load(b, "y");
    out_.line("#pragma unroll");
    out_.line("for (int i = 0; i < " + decimal(high()) + "; ++i)");
    out_.line("  #pragma unroll");
    const std::string type = parts_.product().operands == ir::DType::F16 ? "f16" : "bf16";
    out_.line("  for (int j = 0; j < " + decimal(wide()) + "; ++j) tenc_mma_" + type +
              "(sum[i][j], x[i], y[j / 2][j % 2], y[j / 2][2 + j % 2]);");
    out_.close();
  }

  /// Each warp brings 16 of its rows at a time into the order in which they are stored.
  void epilogue() {
    const std::string high = decimal(this->high()), wide = decimal(this->wide()), padded = decimal(this->padded());
    if (!parts_.product().edges.empty()) {
      out_.line("bool isNaN = false;");
      out_.line("#pragma unroll");
      out_.line("for (int i = 0; i < " + high + "; ++i)");
      out_.line("  #pragma unroll");
      out_.line("  for (int j = 0; j < " + wide + "; ++j)");
      out_.line("    #pragma unroll");
      out_.line("    for (int e = 0; e < 4; ++e) isNaN = isNaN || sum[i][j][e] != sum[i][j][e];");
      parts_.paddedAgain("isNaN");
    } else {
      out_.line("__syncthreads();");
    }
    const int vector = schedule_.vector;
    const int perRow = tile_.warpColumns / vector;
    out_.line("float* const results = (float*)memory + threadIdx.x / 32 * " + decimal(16 * this->padded()) + ";");
    out_.line("#pragma unroll");
    out_.open("for (int i = 0; i < " + high + "; ++i)");
    out_.line("#pragma unroll");
    out_.open("for (int j = 0; j < " + wide + "; ++j)");
    out_.line("float* const to = results + lane / 4 * " + padded + " + j * 8 + lane % 4 * 2;");
    out_.line("tenc_put(to, sum[i][j][0], sum[i][j][1]);");
    out_.line("tenc_put(to + " + decimal(8 * this->padded()) + ", sum[i][j][2], sum[i][j][3]);");
    out_.close();
    out_.line("__syncwarp();");
    out_.line("#pragma unroll 2");
    out_.open("for (int p = lane; p < " + decimal(16 * tile_.warpColumns / vector) + "; p += 32)");
    // Rows of 16 are read by twos; those two apart are in different banks.
    const std::string at = over("p", perRow);
    out_.line("const int mine = " +
              (tile_.warpColumns == 16 ? "(" + at + " & ~3) | (" + at + " & 1) * 2 | (" + at + " >> 1 & 1)" : at) +
              ", along = " + times(rest("p", perRow), vector) + ";");
    out_.line(declared(parts_.rowType(), "row") + "tileRow + warpRow + i * 16 + mine;");
    out_.line(declared(parts_.columnType(), "column") + "tileColumn + warpColumn + along;");
    if (dims_.m % tile_.rows != 0) out_.line("if (row >= " + decimal(dims_.m) + ") continue;");
    if (dims_.n % tile_.columns != 0) out_.line("if (column >= " + decimal(dims_.n) + ") continue;");
    parts_.decodeVariables("row", dims_.rows);
    parts_.decodeVariables("column", dims_.columns);
    const std::string type = "tenc_vector<float, " + decimal(vector) + ">";
    out_.line("const " + type + " result = tenc_load<" + type + ">(results + mine * " + padded + " + along);");
    parts_.store(vector == 1 ? "result.at[0]" : "result.at[v]", vector);
    out_.close();
    out_.line("__syncwarp();");
    out_.close();
  }

  ProductParts parts_;
  const Kernel& kernel_;
  const Schedule& schedule_;
  const Tile& tile_;
  CudaText& out_;
  const ProductDims& dims_;
  Module& module_;
};

}  // namespace

std::string writeTensorProduct(const Kernel& kernel, const Schedule& schedule, Module& module,
                               const KernelNames& names) {
  const ProductDims d = productDims(kernel.product);
  if (d.m * d.n * d.count == 0) return "";
  return TensorWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
