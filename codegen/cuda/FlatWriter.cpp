// Elementwise kernels of FlatPlan.h: vectors are loaded, points of a thread computed one by one, vectors stored. The
// last thread may have fewer points: it computes its last one several times, and stores what is there.
#include <algorithm>

#include "codegen/cuda/FlatPlan.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/LoopVariables.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {
namespace {

class FlatWriter {
 public:
  FlatWriter(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
      : kernel_(kernel),
        schedule_(schedule),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(std::move(names)) {
    for (int64_t n : kernel.outer) points_ *= n;
  }

  std::string write() {
    const int64_t groups = (points_ + schedule_.vector - 1) / schedule_.vector;
    out_.line("#pragma unroll 1");
    const bool isNarrow = groups < kNarrowRow - int64_t{schedule_.blocks} * schedule_.threads;
    const std::string cast = isNarrow ? "" : "(long long)", threads = decimal(schedule_.threads);
    out_.open("for (" + std::string(isNarrow ? "int" : "long long") + " group = " + cast + "blockIdx.x * " + threads +
              " + threadIdx.x; group < " + decimal(groups) + "; group += " + cast + "gridDim.x * " + threads + ")");
    out_.line(declared(type(), "first") + (type() == "int" ? "" : "(long long)") + "group * " + width() + ";");
    if (hasTail()) out_.line("const bool whole = first <= " + decimal(points_ - schedule_.vector) + ";");
    loads();
    for (const Stage& s : kernel_.stages)
      for (const Store& st : s.stores)
        if (find(stored_, st.access) == nullptr) declare(stored_, st.access, "y");
    before_ = out_.here();
    out_.line("#pragma unroll");
    out_.open("for (int v = 0; v < " + width() + "; ++v)");
    const std::string last = decimal(points_ - 1) + (type() == "int" ? "" : "ll");
    out_.line(declared(type(), "at") + (hasTail() ? "min(first + v, " + last + ")" : "first + v") + ";");
    names_.outer = needsVariables() ? decodePoint(out_, "at", type(), kernel_.outer, {}, 1) : variables("at");
    if (const Expr* rest = constantElsewhere()) {
      const ir::DType t = kernel_.buffers[kernel_.stages[0].stores[0].access.buffer].dtype;
      const Scalar value = scalars_.constantOfBits(rest->bits, rest->dtype);
      out_.line(stored_[0].name + ".at[v] = " + scalars_.toMemory(value, t) + ";");
    }
    for (const Stage& s : kernel_.stages) stage(s);
    out_.close();
    stores();
    out_.close();
    return scalars_.missing();
  }

 private:
  /// A thread's part of a buffer.
  struct Vector {
    const Access* access;
    std::string name;
  };

  /// Of the number of a point.
  std::string type() const { return points_ < kNarrowRow ? "int" : "long long"; }
  std::string width() const { return decimal(schedule_.vector); }
  bool hasTail() const { return points_ % schedule_.vector != 0; }

  static const Vector* find(const std::vector<Vector>& vectors, const Access& a) {
    for (const Vector& v : vectors)
      if (v.access->buffer == a.buffer && v.access->offset == a.offset) return &v;
    return nullptr;
  }

  void declare(std::vector<Vector>& vectors, const Access& a, std::string_view stem) {
    vectors.push_back({&a, out_.fresh(stem)});
    out_.line(typeOf(a) + " " + vectors.back().name + ";");
  }

  std::string typeOf(const Access& a) const { return StageVectors::type(kernel_, a.buffer, schedule_.vector); }

  std::string place(const Access& a, const std::string& point) const {
    return names_.buffers[a.buffer] + " + (" + point + (a.offset == 0 ? ")" : " + " + decimal(a.offset) + ")");
  }

  /// Of a place that lies in order, the last variable is the point's number.
  std::vector<std::string> variables(const std::string& point) const {
    std::vector<std::string> names(kernel_.outer.size(), "0");
    names.back() = point;
    return names;
  }

  bool isVector(const Stage& s, const Expr& e) const {
    return e.kind == Expr::Kind::Load && isFlat(kernel_, e.access, schedule_.vector) && coversAll(kernel_, s);
  }

  /// All vectors at once, so that they are under way together.
  void loads() {
    for (const Stage& s : kernel_.stages)
      for (const Expr& e : s.exprs)
        if (isVector(s, e) && find(loaded_, e.access) == nullptr) declare(loaded_, e.access, "x");
    if (loaded_.empty()) return;
    if (hasTail()) out_.open("if (whole)");
    for (const Vector& v : loaded_)
      out_.line(v.name + " = tenc_load<" + typeOf(*v.access) + ">(" + place(*v.access, "first") + ");");
    if (!hasTail()) return;
    out_.otherwise();
    out_.line("#pragma unroll");
    out_.open("for (int v = 0; v < " + width() + "; ++v)");
    for (const Vector& v : loaded_)
      out_.line(v.name + ".at[v] = *(" +
                place(*v.access, "first + min(v, " + decimal(points_ % schedule_.vector - 1) + ")") + ");");
    out_.close();
    out_.close();
  }

  void stores() {
    if (hasTail()) out_.open("if (whole)");
    for (const Vector& v : stored_) out_.line("tenc_write(" + place(*v.access, "first") + ", " + v.name + ");");
    if (!hasTail()) return;
    out_.otherwise();
    out_.line("#pragma unroll");
    out_.open("for (int v = 0; v < " + decimal(points_ % schedule_.vector) + "; ++v)");
    for (const Vector& v : stored_) out_.line("*(" + place(*v.access, "first + v") + ") = " + v.name + ".at[v];");
    out_.close();
    out_.close();
  }

  bool needsVariables() const {
    return std::any_of(kernel_.stages.begin(), kernel_.stages.end(), [&](const Stage& s) {
      return !coversAll(kernel_, s) || std::any_of(s.exprs.begin(), s.exprs.end(), [&](const Expr& e) {
        return e.kind == Expr::Kind::LoopVar || (e.kind == Expr::Kind::Load && !isVector(s, e));
      });
    });
  }

  /// What all stages store that compute nothing, as around what is padded: null where they differ, or there are none.
  const Expr* constantElsewhere() const {
    const Expr* found = nullptr;
    if (stored_.size() != 1) return nullptr;
    for (const Stage& s : kernel_.stages) {
      const Expr* c = constantOf(s);
      if (c == nullptr) continue;
      if (found != nullptr && (found->bits != c->bits || found->dtype != c->dtype)) return nullptr;
      found = c;
    }
    return found;
  }

  void stage(const Stage& s) {
    if (constantOf(s) != nullptr && constantElsewhere() != nullptr) return;
    std::vector<std::string> inner;
    for (int64_t lo : s.innerLo) inner.push_back(decimal(lo));
    StageWriter point(out_, scalars_, kernel_, s, names_, inner);
    std::string box = point.inBox();
    if (box == "false") return;
    // A branch at each point would keep its loads from being under way together with those of the others.
    const bool branches = box != "true" && !isHarmless(s);
    if (branches) {
      out_.open("if (" + box + ")");
    } else if (box != "true") {
      const std::string inside = out_.fresh("inside");
      out_.line("const bool " + inside + " = " + box + ";");
      point.onlyIf(inside);
    }
    for (ExprId id = 0; id < s.exprs.size(); ++id)
      if (isVector(s, s.exprs[id])) point.given(id, find(loaded_, s.exprs[id].access)->name + ".at[v]");
    for (size_t i = 0; i < s.stores.size(); ++i) point.collect(i, find(stored_, s.stores[i].access)->name + ".at[v]");
    // Numbers of points that are not there may not be what an index is made of.
    if (!hasTail() || !mayFault(s))
      point.setLanes({kernel_.outer.size() - 1, "first", schedule_.vector, &kernel_.outer,
                      box == "true" ? std::optional(before_) : std::nullopt});
    point.body();
    if (branches) out_.close();
  }

  const Kernel& kernel_;
  const Schedule& schedule_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  int64_t points_ = 1;
  CudaText::Place before_;  ///< the loop over a thread's points
  std::vector<Vector> loaded_, stored_;
};

}  // namespace

std::string writeFlat(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  return FlatWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
