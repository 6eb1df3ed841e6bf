#include "codegen/cuda/LoopWriter.h"

#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/StageWriter.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kWarp = 32, kMostThreads = 256, kMostBlocks = 65536;
constexpr int64_t kLeastRow = 32;      // inner points that are worth a block
constexpr int64_t kFewPoints = 32768;  // outer points that are too few to give each thread one
constexpr int64_t kManyToReduce = 256;

bool isSerial(const Kernel& k, const Stage& s) {
  return s.ordered ||
         std::any_of(s.reductions.begin(), s.reductions.end(), [&](uint32_t r) { return k.reductions[r].running; });
}

/// Whether neighbouring inner points are neighbours in memory, for most of what the stage reads.
bool runsAlongRows(const Kernel& k, const Stage& s) {
  if (s.innerLo.empty()) return false;
  const size_t last = k.outer.size() + s.innerLo.size() - 1;
  int along = 0, across = 0;
  for (const Expr& e : s.exprs) {
    if (e.kind != Expr::Kind::Load) continue;
    along += strideOf(e.access, last) == 1;
    across += !k.outer.empty() && strideOf(e.access, k.outer.size() - 1) == 1;
  }
  return along >= across;
}

class LoopWriter {
 public:
  LoopWriter(const Kernel& kernel, const LaunchShape& shape, Module& module, KernelNames names)
      : kernel_(kernel),
        shape_(shape),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(std::move(names)) {}

  std::string write() {
    int64_t points = 1;
    for (int64_t n : kernel_.outer) points *= n;
    const bool narrow = points < (int64_t{1} << 31) - kMostThreads * kMostBlocks;
    const std::string type = narrow ? "int" : "long long";
    const bool rows = shape_.family == LaunchShape::Family::Rows;
    declareShared();
    const std::string first = rows ? "blockIdx.x"
                                   : (narrow ? "" : "(long long)") + std::string("blockIdx.x * ") +
                                         decimal(shape_.threads) + " + threadIdx.x";
    const std::string step =
        rows ? "gridDim.x" : (narrow ? "" : "(long long)") + std::string("gridDim.x * ") + decimal(shape_.threads);
    out_.line("#pragma unroll 1");
    out_.open("for (" + type + " point = " + first + "; point < " + decimal(points) + "; point += " + step + ")");
    decode("point", type, kernel_.outer, {}, names_.outer);
    for (uint32_t r = 0; r < kernel_.reductions.size(); ++r) {
      names_.reduced.push_back(out_.fresh("r"));
      out_.line(std::string(registerType(reprOf(kernel_.reductions[r].result))) + " " + names_.reduced[r] + ";");
    }
    for (size_t i = 0; i < kernel_.stages.size(); ++i) {
      if (i > 0 && rows) out_.line("__syncthreads();");  // what other threads of the block have stored
      stage(kernel_.stages[i]);
    }
    if (rows) out_.line("__syncthreads();");  // before the next point uses the block's memory
    out_.close();
    return scalars_.missing();
  }

 private:
  void declareShared() {
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const Buffer& buffer = kernel_.buffers[b];
      if (buffer.role != Buffer::Role::Scratch) continue;
      out_.line("__shared__ " + std::string(memoryType(buffer.dtype)) + " " + names_.buffers[b] + "[" +
                decimal(buffer.elements) + "];");
    }
    if (shape_.family == LaunchShape::Family::Rows && !kernel_.reductions.empty())
      out_.line("__shared__ unsigned long long partial[" + decimal(2 * kWarp) + "];");
  }

  /// Loop variables from a number in row-major order.
  void decode(const std::string& number, const std::string& type, const std::vector<int64_t>& extents,
              const std::vector<int64_t>& from, std::vector<std::string>& names) {
    std::string rest = number;
    names.assign(extents.size(), "");
    for (size_t v = extents.size(); v-- > 0;) {
      names[v] = out_.fresh("i");
      std::string value = v == 0 ? rest : "(unsigned)" + rest + " % " + decimal(extents[v]) + "u";
      if (type != "int" && v > 0) value = rest + " % " + decimal(extents[v]);
      if (extents[v] == 1) value = "0";
      if (!from.empty() && from[v] != 0) value += " + " + decimal(from[v]);
      out_.line("const " + type + " " + names[v] + " = " + value + ";");
      if (v == 0 || extents[v] == 1) continue;
      const std::string quotient = out_.fresh("q");
      out_.line("const " + type + " " + quotient + " = " +
                (type == "int" ? "(unsigned)" + rest + " / " + decimal(extents[v]) + "u"
                               : rest + " / " + decimal(extents[v])) +
                ";");
      rest = quotient;
    }
  }

  struct Held {
    ScalarReducer reducer;
    std::string value, position;
    Accumulated now(CudaScalars& s) const {
      Accumulated a{s.wrap(value, reprOf(reducer.accumulator())), {}};
      if (reducer.isArg()) a.position = s.wrap(position, reducer.positions());
      return a;
    }
  };

  /// Variables for an accumulator, which start from `from`.
  Held hold(const ScalarReducer& reducer, const Accumulated& from) {
    Held h{reducer, out_.fresh("a"), ""};
    out_.line(std::string(registerType(reprOf(reducer.accumulator()))) + " " + h.value + " = " +
              CudaScalars::text(from.value) + ";");
    if (!reducer.isArg()) return h;
    h.position = out_.fresh("p");
    out_.line("unsigned long long " + h.position + " = " + CudaScalars::text(from.position) + ";");
    return h;
  }
  void assign(const Held& h, const Accumulated& a) {
    out_.line(h.value + " = " + CudaScalars::text(a.value) + ";");
    if (h.reducer.isArg()) out_.line(h.position + " = " + CudaScalars::text(a.position) + ";");
  }

  void stage(const Stage& s) {
    std::vector<int64_t> extents;
    for (size_t i = 0; i < s.innerLo.size(); ++i) extents.push_back(std::max<int64_t>(0, s.innerHi[i] - s.innerLo[i]));
    const int64_t inner = trips(s.innerLo, s.innerHi);
    StageWriter outside(out_, scalars_, kernel_, s, names_, {});
    const std::string box = outside.inBox();
    out_.open("");
    std::vector<Held> held;
    for (uint32_t r : s.reductions) {
      const ScalarReducer reducer = outside.reducer(r);
      held.push_back(hold(reducer, reducer.identity()));
    }
    const bool rows = shape_.family == LaunchShape::Family::Rows, serial = isSerial(kernel_, s);
    if (inner > 0 && box != "false") {
      std::string condition = box;
      if (rows && (serial || inner == 1)) condition += " && threadIdx.x == 0";
      const bool always = condition == "true";
      if (!always) out_.open("if (" + condition + ")");
      if (serial)
        serially(s, extents, held);
      else
        together(s, extents, inner, held, rows);
      if (!always) out_.close();
    }
    for (size_t i = 0; i < held.size(); ++i) {
      if (rows) (serial || inner <= 1) ? fromFirst(held[i]) : acrossBlock(held[i]);
      const Scalar result = held[i].reducer.result(held[i].now(scalars_));
      out_.line(names_.reduced[s.reductions[i]] + " = " + CudaScalars::text(result) + ";");
    }
    out_.close();
  }

  /// All inner points in any order: of a block's threads each takes every so manyth.
  void together(const Stage& s, const std::vector<int64_t>& extents, int64_t inner, const std::vector<Held>& held,
                bool rows) {
    std::vector<std::string> names;
    const std::string t = out_.fresh("t");
    if (inner > 1) {
      out_.line("#pragma unroll 1");
      const std::string from = rows ? "threadIdx.x" : "0", step = rows ? decimal(shape_.threads) : "1";
      out_.open("for (int " + t + " = " + from + "; " + t + " < " + decimal(inner) + "; " + t + " += " + step + ")");
    }
    decode(inner > 1 ? t : "0", "int", extents, s.innerLo, names);
    StageWriter point(out_, scalars_, kernel_, s, names_, names);
    point.body();
    for (size_t i = 0; i < held.size(); ++i)
      assign(held[i], held[i].reducer.merge(held[i].now(scalars_), point.term(held[i].reducer, s.reductions[i])));
    if (inner > 1) out_.close();
  }

  /// Inner points one after the other, in row-major order.
  void serially(const Stage& s, const std::vector<int64_t>& extents, const std::vector<Held>& held) {
    std::vector<std::string> names;
    for (size_t i = 0; i < extents.size(); ++i) {
      names.push_back(out_.fresh("i"));
      out_.line("#pragma unroll 1");
      out_.open("for (int " + names[i] + " = " + decimal(s.innerLo[i]) + "; " + names[i] + " < " +
                decimal(s.innerHi[i]) + "; ++" + names[i] + ")");
    }
    StageWriter point(out_, scalars_, kernel_, s, names_, names);
    for (size_t i = 0; i < held.size(); ++i) {
      const Reduction& r = kernel_.reductions[s.reductions[i]];
      if (!r.running) continue;
      const Accumulated before = held[i].now(scalars_);
      const Scalar kept = scalars_.named(CudaScalars::text(before.value), before.value.repr);
      const Accumulated after = held[i].reducer.merge({kept, {}}, {point.value(r.value), {}});
      point.setRunning(s.reductions[i], r.exclusive ? kept : after.value);
      assign(held[i], after);
    }
    point.body();
    for (size_t i = 0; i < held.size(); ++i) {
      if (kernel_.reductions[s.reductions[i]].running) continue;
      assign(held[i], held[i].reducer.merge(held[i].now(scalars_), point.term(held[i].reducer, s.reductions[i])));
    }
    for (size_t i = 0; i < extents.size(); ++i) out_.close();
  }

  std::string bitsOfHeld(const Held& h) const {
    const Repr r = reprOf(h.reducer.accumulator());
    if (r == Repr::F32) return "__float_as_uint(" + h.value + ")";
    if (r == Repr::F64) return "(unsigned long long)__double_as_longlong(" + h.value + ")";
    return h.value;
  }
  Accumulated fromBits(const Held& h, const std::string& bits, const std::string& position) {
    const Repr r = reprOf(h.reducer.accumulator());
    std::string value = "(" + std::string(registerType(r)) + ")" + bits;
    if (r == Repr::F32) value = "__uint_as_float((unsigned)" + bits + ")";
    if (r == Repr::F64) value = "__longlong_as_double((long long)" + bits + ")";
    return {scalars_.named(value, r), h.reducer.isArg() ? scalars_.named(position, Repr::I64) : Scalar{}};
  }

  /// What thread 0 has, for all.
  void fromFirst(const Held& h) {
    out_.open("if (threadIdx.x == 0)");
    out_.line("partial[0] = " + bitsOfHeld(h) + ";");
    if (h.reducer.isArg()) out_.line("partial[1] = " + h.position + ";");
    out_.close();
    out_.line("__syncthreads();");
    assign(h, fromBits(h, "partial[0]", "partial[1]"));
    out_.line("__syncthreads();");
  }

  /// From all threads of the block to each: lanes by halves, then warps in order.
  void acrossBlock(const Held& h) {
    const bool wide = bitWidth(reprOf(h.reducer.accumulator())) == 64;
    out_.line("#pragma unroll");
    out_.open("for (int by = 16; by > 0; by >>= 1)");
    const std::string bits = out_.fresh("b"), position = out_.fresh("b");
    out_.line("const " + std::string(wide ? "unsigned long long " : "unsigned ") + bits +
              " = __shfl_down_sync(0xffffffffu, (" + (wide ? "unsigned long long" : "unsigned") + ")" + bitsOfHeld(h) +
              ", by);");
    if (h.reducer.isArg())
      out_.line("const unsigned long long " + position + " = __shfl_down_sync(0xffffffffu, " + h.position + ", by);");
    assign(h, h.reducer.merge(h.now(scalars_), fromBits(h, bits, position)));
    out_.close();
    out_.open("if (threadIdx.x % 32 == 0)");
    out_.line("partial[threadIdx.x / 32] = " + bitsOfHeld(h) + ";");
    if (h.reducer.isArg()) out_.line("partial[32 + threadIdx.x / 32] = " + h.position + ";");
    out_.close();
    out_.line("__syncthreads();");
    assign(h, fromBits(h, "partial[0]", "partial[32]"));
    out_.line("#pragma unroll 1");
    out_.open("for (int w = 1; w < " + decimal(shape_.threads / 32) + "; ++w)");
    assign(h, h.reducer.merge(h.now(scalars_), fromBits(h, "partial[w]", "partial[32 + w]")));
    out_.close();
    out_.line("__syncthreads();");
  }

  const Kernel& kernel_;
  const LaunchShape& shape_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
};

}  // namespace

LaunchShape launchShape(const Kernel& k) {
  int64_t points = 1, inner = 1;
  for (int64_t n : k.outer) points *= n;
  if (k.kind == Kernel::Kind::Product) points = k.product.m * k.product.n;
  for (int64_t n : k.product.batch) points *= n;
  bool along = false, shares = false;
  for (const Stage& s : k.stages) {
    if (isSerial(k, s)) continue;
    inner = std::max(inner, trips(s.innerLo, s.innerHi));
    along = along || runsAlongRows(k, s);
  }
  for (const Buffer& b : k.buffers) shares = shares || b.role == Buffer::Role::Scratch;
  LaunchShape shape;
  const bool rows = shares || (inner >= kLeastRow && along) || (inner >= kManyToReduce && points < kFewPoints);
  if (rows) {
    shape.family = LaunchShape::Family::Rows;
    shape.threads = static_cast<uint32_t>(std::clamp((inner + kWarp - 1) / kWarp * kWarp, kWarp, kMostThreads));
    shape.blocks = static_cast<uint32_t>(std::clamp<int64_t>(points, 1, kMostBlocks));
  } else {
    shape.threads = static_cast<uint32_t>(std::clamp((points + kWarp - 1) / kWarp * kWarp, kWarp, kMostThreads));
    shape.blocks =
        static_cast<uint32_t>(std::clamp<int64_t>((points + shape.threads - 1) / shape.threads, 1, kMostBlocks));
  }
  return shape;
}

std::string writeLoopKernel(const Kernel& kernel, const LaunchShape& shape, Module& module, const KernelNames& names) {
  return LoopWriter(kernel, shape, module, names).write();
}

}  // namespace tenc::codegen::cuda
