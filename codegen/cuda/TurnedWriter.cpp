// Elementwise kernels that read across what they write: what has to be turned goes through tiles in shared memory, so
// that both sides go along memory.
#include <algorithm>

#include "codegen/cuda/KernelWriters.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int kSide = 32, kRows = 8;  // of a tile, and rows of a block's threads

class TurnedWriter {
 public:
  TurnedWriter(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
      : kernel_(kernel),
        schedule_(schedule),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(std::move(names)) {}

  std::string write() {
    const size_t last = kernel_.outer.size() - 1, turned = schedule_.turned;
    for (size_t s = 0; s < kernel_.stages.size(); ++s) {
      for (ExprId id = 0; id < kernel_.stages[s].exprs.size(); ++id) {
        const Expr& e = kernel_.stages[s].exprs[id];
        if (e.kind != Expr::Kind::Load || !isTurned(kernel_, e.access, turned)) continue;
        // A word more, or an element: neither rows nor columns meet in a bank.
        const int64_t bytes = ir::byteSize(kernel_.buffers[e.access.buffer].dtype),
                      pad = std::max<int64_t>(1, 4 / bytes);
        tiles_.push_back({s, id, out_.fresh("tile")});
        out_.line("__shared__ " + std::string(memoryType(kernel_.buffers[e.access.buffer].dtype)) + " " +
                  tiles_.back().name + "[" + decimal(kSide) + "][" + decimal(kSide + pad) + "];");
      }
    }
    std::vector<int64_t> counts = kernel_.outer;
    for (size_t v : {turned, last}) counts[v] = (counts[v] + kSide - 1) / kSide;
    int64_t tiles = 1;
    for (int64_t n : counts) tiles *= n;
    out_.line("const int along = threadIdx.x % " + decimal(kSide) + ", row = threadIdx.x / " + decimal(kSide) + ";");
    out_.line("#pragma unroll 1");
    out_.open("for (int tile = blockIdx.x; tile < " + decimal(tiles) + "; tile += gridDim.x)");
    names_.outer.assign(counts.size(), "");
    std::string rest = "tile";
    for (size_t v = counts.size(); v-- > 0;) {
      names_.outer[v] = out_.fresh("i");
      out_.line("const int " + names_.outer[v] + " = " +
                (v == 0 ? rest : "(unsigned)" + rest + " % " + decimal(counts[v]) + "u") +
                (v == turned || v == last ? " * " + decimal(kSide) + ";" : ";"));
      if (v == 0) break;
      const std::string quotient = out_.fresh("q");
      out_.line("const int " + quotient + " = (unsigned)" + rest + " / " + decimal(counts[v]) + "u;");
      rest = quotient;
    }
    const std::string turnedStart = names_.outer[turned], lastStart = names_.outer[last];
    openRows(turnedStart, "along", lastStart, "row + r");
    for (const Tile& t : tiles_) load(t);
    out_.close();
    out_.line("__syncthreads();");
    openRows(turnedStart, "row + r", lastStart, "along");
    for (size_t s = 0; s < kernel_.stages.size(); ++s) stage(s);
    out_.close();
    out_.line("__syncthreads();");
    out_.close();
    return scalars_.missing();
  }

 private:
  struct Tile {
    size_t stage;
    ExprId load;
    std::string name;
  };

  /// Each of a thread's points of the tile, with both variables.
  void openRows(const std::string& turnedStart, const std::string& turnedOffset, const std::string& lastStart,
                const std::string& lastOffset) {
    const size_t last = kernel_.outer.size() - 1, turned = schedule_.turned;
    names_.outer[turned] = out_.fresh("i");
    names_.outer[last] = out_.fresh("i");
    out_.line("#pragma unroll");
    out_.open("for (int r = 0; r < " + decimal(kSide) + "; r += " + decimal(kRows) + ")");
    out_.line("const int " + names_.outer[turned] + " = " + turnedStart + " + " + turnedOffset + ", " +
              names_.outer[last] + " = " + lastStart + " + " + lastOffset + ";");
    std::string outside;
    for (size_t v : {turned, last})
      if (kernel_.outer[v] % kSide != 0)
        outside += (outside.empty() ? "" : " || ") + names_.outer[v] + " >= " + decimal(kernel_.outer[v]);
    if (!outside.empty()) out_.line("if (" + outside + ") continue;");
  }

  void load(const Tile& t) {
    const Stage& s = kernel_.stages[t.stage];
    StageWriter at(out_, scalars_, kernel_, s, names_, only(s));
    const std::string box = at.inBox();
    out_.line((box == "true" ? "" : "if (" + box + ") ") + t.name + "[row + r][along] = *(" +
              at.address(s.exprs[t.load].access) + ");");
  }

  void stage(size_t number) {
    const Stage& s = kernel_.stages[number];
    StageWriter point(out_, scalars_, kernel_, s, names_, only(s));
    const std::string box = point.inBox();
    out_.open(box == "true" ? "" : "if (" + box + ")");
    for (const Tile& t : tiles_)
      if (t.stage == number) point.given(t.load, t.name + "[along][row + r]");
    point.body();
    out_.close();
  }

  /// Inner variables, which have one value each.
  static std::vector<std::string> only(const Stage& s) {
    std::vector<std::string> names;
    for (int64_t lo : s.innerLo) names.push_back(decimal(lo));
    return names;
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  std::vector<Tile> tiles_;
};

}  // namespace

std::string writeTurned(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  return TurnedWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
