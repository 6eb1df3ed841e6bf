// Running reductions of rows and columns that a team of threads shares: elements of chunks in order, then chunks in
// order.
#include <algorithm>
#include <numeric>
#include <optional>

#include "codegen/KernelShape.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/LoopVariables.h"
#include "codegen/cuda/ScanSchedule.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {
namespace {

constexpr std::string_view kShuffles = R"cuda(
// A value as bits that lanes exchange.
template <class T>
__device__ __forceinline__ unsigned tenc_bits(T x) { return (unsigned)x; }
__device__ __forceinline__ unsigned long long tenc_bits(unsigned long long x) { return x; }
__device__ __forceinline__ unsigned tenc_bits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned long long tenc_bits(double x) { return (unsigned long long)__double_as_longlong(x); }
template <class T, class B>
__device__ __forceinline__ T tenc_of_bits(T, B bits) { return (T)bits; }
__device__ __forceinline__ float tenc_of_bits(float, unsigned bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double tenc_of_bits(double, unsigned long long bits) { return __longlong_as_double((long long)bits); }
// What another lane of the team has: `by` lanes before, or in lane `from`.
template <class T>
__device__ __forceinline__ T tenc_before(unsigned mask, T x, int by, int width) {
  return tenc_of_bits(x, __shfl_up_sync(mask, tenc_bits(x), by, width));
}
template <class T>
__device__ __forceinline__ T tenc_of_lane(unsigned mask, T x, int from, int width) {
  return tenc_of_bits(x, __shfl_sync(mask, tenc_bits(x), from, width));
}
)cuda";

class ScanWriter {
 public:
  ScanWriter(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
      : kernel_(kernel),
        schedule_(schedule),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(std::move(names)) {
    if (rows()) module.need(kShuffles);
  }

  std::string write() {
    if (!rows() || !schedule_.inWarps()) {
      const size_t totals =
          rows() ? static_cast<size_t>(schedule_.ahead * warps() * chunksOfWarp()) : schedule_.threads;
      const Stage& s = kernel_.stages[0];
      out_.line("__shared__ " + type(StageWriter(out_, scalars_, kernel_, s, names_, {}).reducer(s.reductions[0])) +
                " totals[" + decimal(totals) + "];");
    }
    openPoints();
    for (const Reduction& r : kernel_.reductions) {
      names_.reduced.push_back(out_.fresh("r"));
      out_.line(std::string(registerType(reprOf(r.result))) + " " + names_.reduced.back() + ";");
    }
    for (const Stage& s : kernel_.stages) {
      if (!isScan(s)) {
        after(s);
        continue;
      }
      out_.open("");
      const std::optional<Stage> around = rows() ? turnedAround(kernel_, s) : std::nullopt;
      stage(around ? *around : s, around.has_value());
      out_.close();
    }
    out_.close();
    return scalars_.missing();
  }

 private:
  bool rows() const { return schedule_.family == Schedule::Family::Rows; }
  int warps() const { return schedule_.team / 32; }
  /// Results begin with the last row: of what the kernel before went through, such as for the totals of blocks, L2 has
  /// the end.
  bool backward() const {
    return rows() && std::any_of(kernel_.stages.begin(), kernel_.stages.end(),
                                 [](const Stage& s) { return isScan(s) && !s.stores.empty(); });
  }
  static std::string type(const ScalarReducer& r) { return std::string(registerType(reprOf(r.accumulator()))); }

  void openPoints() {
    int64_t points = 1;
    for (const int64_t n : kernel_.outer) points *= n;
    const int64_t side = rows() ? schedule_.threads / schedule_.team : 32;
    const bool narrow = points < (int64_t{1} << 31) - side * schedule_.blocks;
    const std::string type = narrow ? "int" : "long long", cast = narrow ? "" : "(long long)",
                      by = side == 1 ? "" : " * " + decimal(side);
    if (rows()) {
      out_.line("const int lane = threadIdx.x" + (side == 1 ? ";" : " % " + decimal(schedule_.team) + ";"));
      std::string mask = "~0u";
      if (schedule_.team < 32)
        mask = decimal((1u << schedule_.team) - 1) + "u << (threadIdx.x % 32 / " + decimal(schedule_.team) + " * " +
               decimal(schedule_.team) + ")";
      out_.line("const unsigned mask = " + mask + ";");
    } else {
      out_.line("const int lane = threadIdx.x % 32, row = threadIdx.x / 32;");
    }
    const std::string own = rows() && side > 1 ? " + threadIdx.x / " + decimal(schedule_.team) : "";
    out_.line("#pragma unroll 1");
    const std::string turn = backward() ? "turn" : "point";
    out_.open("for (" + type + " " + turn + " = " + cast + "blockIdx.x" + by + own + "; " + turn + " < " +
              decimal(points) + "; " + turn + " += " + cast + "gridDim.x" + by + ")");
    if (backward()) out_.line("const " + type + " point = " + decimal(points - 1) + " - turn;");
    std::string number = "point";
    if (!rows()) {  // all threads of the block stay together
      out_.line("const bool inside = point + lane < " + decimal(points) + ";");
      out_.line("const " + type + " column = inside ? point + lane : 0;");
      number = "column";
    }
    names_.outer = decodePoint(out_, number, type, kernel_.outer, {}, 1);
  }

  /// The vectors of a thread at one step of the loop over the stage's elements.
  struct Groups {
    const Stage& stage;
    bool around;             ///< the last vector of memory comes first
    int64_t count, perStep;  ///< vectors of the row or column, and those of a team at a time
    std::string condition;   ///< that the thread's point has the stage; empty: always
  };

  /// `for` over the thread's vectors; gives the name of the first element's loop variable.
  std::string openGroups(const Groups& g) {
    out_.line("#pragma unroll");
    out_.open("for (int c = 0; c < " + decimal(schedule_.ahead) + "; ++c)");
    const std::string t = out_.fresh("t"), i = out_.fresh("i");
    const std::string step = "step * " + decimal(g.perStep);
    out_.line(
        "const int " + t + " = " + step +
        (rows() ? " + c * " + decimal(schedule_.team) + " + lane;" : " + row * " + decimal(schedule_.ahead) + " + c;"));
    std::string first = g.around ? decimal(g.count - 1) + " - " + t : t;
    if (schedule_.vector > 1) first = "(" + first + ") * " + decimal(schedule_.vector);
    if (g.stage.innerLo[0] != 0) first += " + " + decimal(g.stage.innerLo[0]);
    out_.line("const int " + i + " = " + first + ";");
    std::string has = g.condition;
    if (g.count % g.perStep != 0) has += (has.empty() ? "" : " && ") + t + " < " + decimal(g.count);
    out_.line("const bool has = " + (has.empty() ? "true" : has) + ";");
    return i;
  }

  /// `for` over the elements of a vector, in the order of the scan.
  void openOrder(const Groups& g) {
    const std::string width = decimal(schedule_.vector);
    out_.line("#pragma unroll");
    out_.open(g.around ? "for (int v = " + width + " - 1; v >= 0; --v)" : "for (int v = 0; v < " + width + "; ++v)");
  }

  /// The same; gives the name of the element's loop variable.
  std::string openElements(const Groups& g, const std::string& first) {
    openOrder(g);
    const std::string i = out_.fresh("i");
    out_.line("const int " + i + " = " + first + " + v;");
    return i;
  }

  /// A variable that becomes what follows it makes of it.
  void extend(const ScalarReducer& r, const std::string& variable, const std::string& by) {
    const Repr repr = reprOf(r.accumulator());
    const Accumulated all = r.merge({scalars_.wrap(variable, repr), {}}, {scalars_.wrap(by, repr), {}});
    out_.line(variable + " = " + CudaScalars::text(all.value) + ";");
  }

  void stage(const Stage& s, bool around) {
    const uint32_t number = s.reductions[0];
    const ScalarReducer r = StageWriter(out_, scalars_, kernel_, s, names_, {}).reducer(number);
    const std::string box = StageWriter(out_, scalars_, kernel_, s, names_, {}).inBox();
    const int64_t length = trips(s.innerLo, s.innerHi);
    if (length == 0 || box == "false") return;
    Groups g{s, around, length / schedule_.vector, int64_t{schedule_.team} * schedule_.ahead, ""};
    // The threads of a row have the same point.
    const bool closes = rows() && box != "true";
    if (closes) out_.open("if (" + box + ")");
    if (!rows()) g.condition = box == "true" ? "inside" : "inside && " + box;
    const std::string identity = CudaScalars::text(r.identity().value), t = type(r), each = decimal(schedule_.ahead);
    out_.line(t + " carry = " + identity + ";");
    out_.line("#pragma unroll 1");
    out_.open("for (int step = 0; step < " + decimal((g.count + g.perStep - 1) / g.perStep) + "; ++step)");
    load(g);
    out_.line(t + " ran[" + each + "][" + decimal(schedule_.vector) + "], before[" + each + "];");
    if (!rows()) out_.line(t + " sum = " + identity + ";");
    if (rows()) out_.line(t + " all[" + each + "];");
    run(g, r, identity);
    if (rows())
      acrossLanes(r);
    else
      acrossRows(r);
    if (!s.stores.empty()) results(g, r);
    if (!rows() || !schedule_.inWarps()) out_.line("__syncthreads();");  // before the totals of the next step
    out_.close();
    out_.line(names_.reduced[number] + " = " +
              CudaScalars::text(r.result({scalars_.wrap("carry", reprOf(r.accumulator())), {}})) + ";");
    if (closes) out_.close();
  }

  /// What is made of the result, which a team's first thread has.
  void after(const Stage& s) {
    StageWriter point(out_, scalars_, kernel_, s, names_, {});
    const std::string box = point.inBox();
    if (box == "false") return;
    out_.open(std::string("if (") + (rows() ? "lane == 0" : "inside && row == 0") +
              (box == "true" ? "" : " && " + box) + ")");
    point.body();
    out_.close();
  }

  /// Declares what the thread loads, and loads it.
  void load(const Groups& g) {
    const Stage& s = g.stage;
    const size_t inner = kernel_.outer.size();
    arrays_.assign(s.exprs.size(), "");
    bool any = false;
    for (ExprId id = 0; id < s.exprs.size(); ++id) {
      const Expr& e = s.exprs[id];
      if (e.kind != Expr::Kind::Load) continue;
      const Access& a = e.access;
      if (schedule_.vector > 1 ? !isVector(kernel_, s, a, inner, schedule_.vector)
                               : !a.terms.empty() || strideOf(a, inner) == 0)
        continue;
      arrays_[id] = out_.fresh("x");
      out_.line(StageVectors::type(kernel_, a.buffer, schedule_.vector) + " " + arrays_[id] + "[" +
                decimal(schedule_.ahead) + "];");
      any = true;
    }
    if (!any) return;
    const std::string first = openGroups(g);
    out_.open("if (has)");
    StageWriter at(out_, scalars_, kernel_, s, names_, {first});
    for (ExprId id = 0; id < s.exprs.size(); ++id) {
      if (arrays_[id].empty()) continue;
      const Access& a = s.exprs[id].access;
      out_.line(arrays_[id] + "[c] = tenc_load<" + StageVectors::type(kernel_, a.buffer, schedule_.vector) + ">(" +
                at.address(a) + ");");
    }
    out_.close();
    out_.close();
  }

  void give(const Groups& g, StageVectors& vectors) const {
    for (ExprId id = 0; id < g.stage.exprs.size(); ++id)
      if (!arrays_[id].empty()) vectors.loadFrom(id, arrays_[id] + "[c]");
  }

  /// What elements come to by themselves: those of a chunk of a row, which is some lanes' vectors, or a thread's of a
  /// column.
  void run(const Groups& g, const ScalarReducer& r, const std::string& identity) {
    const std::string first = openGroups(g);
    out_.line("#pragma unroll");
    out_.line("for (int v = 0; v < " + decimal(schedule_.vector) + "; ++v) ran[c][v] = " + identity + ";");
    out_.open("if (has)");
    const std::string i = openElements(g, first);
    StageWriter point(out_, scalars_, kernel_, g.stage, names_, {i});
    StageVectors vectors(kernel_, g.stage, kernel_.outer.size(), schedule_.vector);
    give(g, vectors);
    vectors.give(point);
    const Scalar value = point.value(kernel_.reductions[g.stage.reductions[0]].value);
    out_.line("ran[c][v] = " + CudaScalars::text(value) + ";");
    out_.close();
    out_.close();
    if (rows()) {
      const std::string lanes = decimal(chunk()), width = decimal(lanesOfWarp());
      out_.line(type(r) + " sum = " + identity + ";");
      out_.line("#pragma unroll");
      out_.open("for (int turn = 0; turn < " + lanes + "; ++turn)");
      out_.line("const " + type(r) + " from = turn == 0 ? sum : tenc_before(mask, sum, 1, " + width + ");");
      out_.open("if (lane % " + lanes + " == turn)");
      out_.line("sum = from;");
      accumulate(g, r);
      out_.close();
      out_.close();
      out_.line("all[c] = sum;");
    } else {
      accumulate(g, r);
    }
    out_.close();
  }

  /// Elements of a vector become what they have come to.
  void accumulate(const Groups& g, const ScalarReducer& r) {
    openOrder(g);
    out_.line("const " + type(r) + " element = ran[c][v];");
    if (kernel_.reductions[g.stage.reductions[0]].exclusive) {
      out_.line("ran[c][v] = sum;");
      extend(r, "sum", "element");
    } else {
      extend(r, "sum", "element");
      out_.line("ran[c][v] = sum;");
    }
    out_.close();
  }

  /// Lanes whose vectors are a chunk, the host's if it has chunks; in strict order each element is one.
  int chunk() const {
    return kernel_.reductions[0].ordered ? 1 : std::min(std::max(1, kScanChunk / schedule_.vector), lanesOfWarp());
  }
  int lanesOfWarp() const { return std::min(schedule_.team, 32); }
  int chunksOfWarp() const { return lanesOfWarp() / chunk(); }

  /// What comes before each chunk: all chunks before it, in order, so that a chunk begins with what the one before it
  /// ends with, and sums of what is not negative never fall.
  void acrossLanes(const ScalarReducer& r) {
    const std::string vectors = "for (int c = 0; c < " + decimal(schedule_.ahead) + "; ++c)", lanes = decimal(chunk()),
                      width = decimal(lanesOfWarp());
    if (!schedule_.inWarps()) {
      const std::string chunks = decimal(warps() * chunksOfWarp());
      out_.line("#pragma unroll");
      out_.line(vectors + " if (lane % " + lanes + " == " + lanes + " - 1) totals[c * " + chunks + " + lane / " +
                lanes + "] = all[c];");
      out_.line("__syncthreads();");
      out_.open("if (lane == 0)");
      // Some are loaded together, and then come one after the other.
      const int64_t all = int64_t{schedule_.ahead} * warps() * chunksOfWarp(), together = std::gcd(all, int64_t{32});
      out_.line("#pragma unroll 1");
      out_.open("for (int n = 0; n < " + decimal(all) + "; n += " + decimal(together) + ")");
      out_.line(type(r) + " chunk[" + decimal(together) + "];");
      const std::string each = "for (int i = 0; i < " + decimal(together) + "; ++i)";
      out_.line("#pragma unroll");
      out_.line(each + " chunk[i] = totals[n + i];");
      out_.line("#pragma unroll");
      out_.open(each);
      out_.line("totals[n + i] = carry;");
      extend(r, "carry", "chunk[i]");
      out_.close();
      out_.close();
      out_.close();
      out_.line("__syncthreads();");
      out_.line("#pragma unroll");
      out_.line(vectors + " before[c] = totals[c * " + chunks + " + lane / " + lanes + "];");
      return;
    }
    out_.line("#pragma unroll");
    out_.open(vectors);
    out_.line("#pragma unroll");
    out_.open("for (int n = 0; n < " + decimal(chunksOfWarp()) + "; ++n)");
    out_.line("if (lane / " + lanes + " == n) before[c] = carry;");
    out_.line("const " + type(r) + " chunk = tenc_of_lane(mask, all[c], n * " + lanes + " + " + lanes + " - 1, " +
              width + ");");
    extend(r, "carry", "chunk");
    out_.close();
    out_.close();
  }

  /// The same for the rows of a block's columns.
  void acrossRows(const ScalarReducer& r) {
    out_.line("totals[threadIdx.x] = sum;");
    out_.line("__syncthreads();");
    out_.line(type(r) + " start = carry;");
    out_.line("#pragma unroll");
    out_.open("for (int w = 0; w < " + decimal(schedule_.team) + "; ++w)");
    out_.line("if (w == row) start = carry;");
    extend(r, "carry", "totals[w * 32 + lane]");
    out_.close();
    out_.line("#pragma unroll");
    out_.line("for (int c = 0; c < " + decimal(schedule_.ahead) + "; ++c) before[c] = start;");
  }

  /// What the stage makes of what its elements have come to.
  void results(const Groups& g, const ScalarReducer& r) {
    const std::string first = openGroups(g);
    out_.open("if (has)");
    StageVectors vectors(kernel_, g.stage, kernel_.outer.size(), schedule_.vector);
    give(g, vectors);
    StageWriter at(out_, scalars_, kernel_, g.stage, names_, {first});
    vectors.load(out_, at);
    const std::string i = openElements(g, first);
    StageWriter point(out_, scalars_, kernel_, g.stage, names_, {i});
    vectors.give(point);
    const Repr repr = reprOf(r.accumulator());
    const Accumulated ran = r.merge({scalars_.wrap("before[c]", repr), {}}, {scalars_.wrap("ran[c][v]", repr), {}});
    point.setRunning(g.stage.reductions[0], ran.value);
    point.body();
    out_.close();
    vectors.store(out_, at);
    out_.close();
    out_.close();
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  std::vector<std::string> arrays_;  ///< of the stage at hand, by expression: what was loaded before; empty: nothing
};

}  // namespace

std::string writeScan(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  return ScanWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
