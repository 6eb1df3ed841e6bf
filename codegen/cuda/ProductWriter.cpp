// Products and convolutions as CUDA C++: a thread for each element of the result, sums in the order of k.
#include <algorithm>

#include "codegen/cuda/KernelWriters.h"

namespace tenc::codegen::cuda {
namespace {

class ProductWriter {
 public:
  ProductWriter(const Kernel& kernel, const Schedule& schedule, Module& module, KernelNames names)
      : kernel_(kernel),
        p_(kernel.product),
        schedule_(schedule),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(std::move(names)) {}

  std::string write() {
    std::vector<int64_t> extents = p_.batch;
    extents.push_back(p_.m);
    extents.push_back(p_.n);
    int64_t points = 1;
    for (int64_t n : extents) points *= n;
    out_.line("#pragma unroll 1");
    out_.open("for (long long point = (long long)blockIdx.x * " + decimal(schedule_.threads) +
              " + threadIdx.x; point < " + decimal(points) + "; point += (long long)gridDim.x * " +
              decimal(schedule_.threads) + ")");
    decode(extents);
    const Repr r = reprOf(p_.dtype);
    const std::string sum = out_.fresh("a");
    out_.line(std::string(registerType(r)) + " " + sum + " = 0;");
    for (size_t s = 0; s < p_.sums.size(); ++s) trip(s, p_.sums[s].extent);
    trip(p_.sums.size(), p_.k);
    const Scalar a = element(p_.a, vars_[p_.batch.size()], trips_.back(), true);
    const Scalar b = element(p_.b, trips_.back(), vars_.back(), false);
    const Scalar before = scalars_.wrap(sum, r);
    out_.line(sum + " = " + CudaScalars::text(isFloat(r) ? fma(a, b, before) : before + a * b) + ";");
    for (size_t i = 0; i < trips_.size(); ++i) out_.close();
    names_.reduced = {sum};
    StageWriter(out_, scalars_, kernel_, p_.epilogue, names_, vars_).body();
    out_.close();
    return scalars_.missing();
  }

 private:
  void decode(const std::vector<int64_t>& extents) {
    std::string rest = "point";
    vars_.assign(extents.size(), "");
    for (size_t v = extents.size(); v-- > 0;) {
      vars_[v] = out_.fresh("i");
      out_.line("const int " + vars_[v] + " = (int)(" + rest + (v == 0 ? ");" : " % " + decimal(extents[v]) + ");"));
      if (v == 0) break;
      const std::string quotient = out_.fresh("q");
      out_.line("const long long " + quotient + " = " + rest + " / " + decimal(extents[v]) + ";");
      rest = quotient;
    }
  }

  /// The loop of a sum; trips that meet padding are left out.
  void trip(size_t number, int64_t extent) {
    const std::string t = out_.fresh("t");
    trips_.push_back(t);
    out_.line("#pragma unroll 1");
    out_.open("for (int " + t + " = 0; " + t + " < " + decimal(extent) + "; ++" + t + ")");
    for (const Product::Edge& e : p_.edges) {
      if (e.sum != number) continue;
      const ir::WindowDim& w = e.window;
      const std::string at = out_.fresh("e");
      out_.line("const long long " + at + " = (long long)" + vars_[e.var] + " * " + decimal(w.stride) +
                " + (long long)" + t + " * " + decimal(w.dilation) + " - " + decimal(w.lo) + ";");
      out_.line("if (" + at + " < 0 || " + at + " >= " + decimal(w.extent) + ") continue;");
    }
  }

  Scalar element(const MatrixView& view, const std::string& row, const std::string& column, bool isLeft) {
    std::string at = decimal(view.offset);
    auto add = [&](const std::string& what, int64_t stride) {
      if (stride != 0) at += " + (long long)" + what + " * " + decimal(stride);
    };
    for (size_t d = 0; d < view.batch.size(); ++d) add(vars_[d], view.batch[d]);
    for (size_t s = 0; s < p_.sums.size(); ++s) add(trips_[s], isLeft ? p_.sums[s].a : p_.sums[s].b);
    add(row, view.row);
    add(column, view.col);
    const ir::DType t = kernel_.buffers[view.buffer].dtype;
    const std::string name = out_.fresh("x");
    out_.line("const " + std::string(memoryType(t)) + " " + name + " = " + names_.buffers[view.buffer] + "[" + at +
              "];");
    return scalars_.fromMemory(name, t);
  }

  const Kernel& kernel_;
  const Product& p_;
  const Schedule& schedule_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  std::vector<std::string> vars_, trips_;
};

}  // namespace

std::string writeProduct(const Kernel& kernel, const Schedule& schedule, Module& module, const KernelNames& names) {
  return ProductWriter(kernel, schedule, module, names).write();
}

}  // namespace tenc::codegen::cuda
