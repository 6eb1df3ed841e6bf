#include "codegen/cuda/Routines.h"

#include <algorithm>
#include <vector>

#include "codegen/cuda/RoutineTexts.h"
#include "codegen/cuda/SortRoutine.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;
using ir::OpKind;

constexpr int64_t kMostThreads = 256, kMostBlocks = 65536;
constexpr int64_t kBlocksWithMemory = 256;  // with memory of the device for each: more than run at a time on most GPUs
constexpr uint64_t kSharedBytes = 40000;    // of the 48 KB that every kernel may have

int64_t dim(const ir::Type& t, size_t fromEnd) { return t.shape[t.shape.size() - fromEnd]; }

/// The product of the dims before the last `inner`.
int64_t batch(const ir::Type& t, size_t inner) {
  int64_t n = 1;
  for (size_t d = 0; d + inner < t.shape.size(); ++d) n *= t.shape[d];
  return n;
}

uint32_t blocksFor(int64_t items, int64_t most) { return static_cast<uint32_t>(std::clamp<int64_t>(items, 1, most)); }

// ---- linear algebra

/// Memory of one matrix, piece by piece: their declarations, and how much it is.
class Slab {
 public:
  explicit Slab(DType t) : element_(t == DType::F32 ? "float" : "double"), width_(ir::byteSize(t)) {}
  void take(const std::string& name, int64_t elements) { add(element_, name, elements, width_); }
  void integers(const std::string& name, int64_t elements) { add("int", name, elements, 4); }
  uint64_t bytes() const { return bytes_; }
  const std::string& element() const { return element_; }
  void declare(CudaText& out) const {
    for (const std::string& line : lines_) out.line(line);
  }

 private:
  void add(const std::string& type, const std::string& name, int64_t elements, int64_t width) {
    lines_.push_back(type + "* const " + name + " = (" + type + "*)(slab + " + decimal(bytes_) + ");");
    bytes_ += (static_cast<uint64_t>(std::max<int64_t>(elements, 1) * width) + 15) / 16 * 16;
  }
  std::string element_;
  int64_t width_;
  uint64_t bytes_ = 0;
  std::vector<std::string> lines_;
};

struct MatrixPlan {
  Slab slab;
  int64_t items, m, n;
  int64_t least = std::min(m, n), most = std::max(m, n);
  int64_t sides = 0;  ///< columns of operand 1
  bool inShared() const { return slab.bytes() <= kSharedBytes; }
  uint32_t blocks() const {
    return blocksFor(items, inShared() || slab.bytes() == 0 ? kMostBlocks : kBlocksWithMemory);
  }
  uint32_t threads() const {
    return static_cast<uint32_t>(std::clamp<int64_t>((m * n + 31) / 32 * 32, 32, kMostThreads));
  }
};

MatrixPlan planMatrix(const ir::Op& op) {
  const ir::Type& a = op.operand(0)->type;
  MatrixPlan p{Slab(a.dtype), batch(a, 2), dim(a, 2), dim(a, 1)};
  if (op.operandCount() == 2) p.sides = dim(op.operand(1)->type, 1);
  const auto columnsOf = [&](size_t result) { return dim(op.result(result)->type, 1); };
  switch (op.kind) {
    case OpKind::Pivots:
    case OpKind::Inverse:
    case OpKind::Solve:
      p.slab.take("a", p.n * p.n);
      p.slab.integers("order_of_rows", p.n);
      break;
    case OpKind::Qr:
      p.slab.take("a", p.m * p.n);
      p.slab.take("scales", p.least);
      p.slab.take("q", p.m * columnsOf(0));
      break;
    case OpKind::Eigh:
      for (const char* name : {"a", "v"}) p.slab.take(name, p.n * p.n);
      for (const char* name : {"sines", "halves"}) p.slab.take(name, p.n / 2 + 1);
      break;
    case OpKind::Svd:
    case OpKind::SingularValues:
    case OpKind::Lstsq:
      p.slab.take("w", p.m * p.n);
      p.slab.take("sizes", (p.least + 3) / 4 * 4);
      p.slab.integers("order_of_columns", p.least);
      if (op.kind != OpKind::SingularValues) p.slab.take("v", p.least * p.least);
      if (op.kind == OpKind::Lstsq) p.slab.take("products", p.least * p.sides);
      if (op.kind == OpKind::Svd) {
        p.slab.take("q", p.most * (op.boolAttr("full") ? p.most : p.least));
        p.slab.take("factors", p.m * p.n);
        p.slab.take("scales", p.least);
      }
      break;
    default: break;  // in the memory of the result
  }
  return p;
}

class MatrixWriter {
 public:
  MatrixWriter(const ir::Op& op, CudaText& out, const KernelNames& names)
      : op_(op), p_(planMatrix(op)), out_(out), names_(names) {}

  void write(const std::string& work) {
    if (p_.slab.bytes() > 0) {
      out_.line(p_.inShared()
                    ? "__shared__ __align__(16) unsigned char slab[" + decimal(p_.slab.bytes()) + "];"
                    : "unsigned char* const slab = " + work + " + " + decimal(p_.slab.bytes()) + "ull * blockIdx.x;");
      p_.slab.declare(out_);
    }
    out_.line("#pragma unroll 1");
    out_.open("for (long long item = blockIdx.x; item < " + decimal(p_.items) + "; item += gridDim.x)");
    for (size_t i = 0; i < names_.buffers.size(); ++i) {
      const bool isResult = i >= op_.operandCount();
      const ir::Type& t = (isResult ? op_.result(i - op_.operandCount()) : op_.operand(i))->type;
      int64_t elements = 1;
      for (size_t d = batchDims(); d < t.shape.size(); ++d) elements *= t.shape[d];
      out_.line((isResult ? "" : "const ") + std::string(t.dtype == DType::I64 ? "long long" : p_.slab.element()) +
                "* const x" + decimal(i) + " = " + (t.dtype == DType::I64 ? "(long long*)" : "") + names_.buffers[i] +
                " + item * " + decimal(elements) + ";");
    }
    body();
    out_.line("__syncthreads();");
    out_.close();
  }

 private:
  size_t batchDims() const { return op_.operand(0)->type.shape.size() - 2; }
  std::string n() const { return decimal(p_.n); }
  std::string m() const { return decimal(p_.m); }
  std::string columnsOf(size_t result) const { return decimal(dim(op_.result(result)->type, 1)); }
  std::string rowsOf(size_t result) const { return decimal(dim(op_.result(result)->type, 2)); }
  void each(const std::string& elements, const std::string& statement) {
    out_.line("for TENC_EACH (e, 0, " + elements + ") " + statement);
  }
  void fault(const std::string& number) {
    out_.line("if (threadIdx.x == 0 && " + number + " != 0) tenc_report(faults, order, " + number + ", 0, 0, -1, 0);");
  }

  void body() {
    switch (op_.kind) {
      case OpKind::Pivots:
        each(n() + "ll * " + n(), "a[e] = x0[e];");
        out_.line("__syncthreads();");
        out_.line("const tenc_elimination found = tenc_lu(faults, a, order_of_rows, " + n() + ");");
        each(n(), "x1[e] = a[e * " + n() + " + e];");
        out_.line("if (threadIdx.x == 0) *x2 = found.odd ? -1 : 1;");
        return;
      case OpKind::Inverse:
      case OpKind::Solve: {
        const bool inverse = op_.kind == OpKind::Inverse;
        each(n() + "ll * " + n(), "a[e] = x0[e];");
        out_.line("__syncthreads();");
        out_.line("const int fault = tenc_solve(faults, a, order_of_rows, " +
                  (inverse ? "(const " + p_.slab.element() + "*)0, x1, " + n() + ", " + n()
                           : "x1, x2, " + n() + ", " + decimal(p_.sides)) +
                  ") ? 0 : 1;");
        return fault("fault");
      }
      case OpKind::SolveTriangular: {
        const bool lower = op_.boolAttr("lower"), unit = op_.boolAttr("unit");
        each(n() + "ll * " + decimal(p_.sides), "x2[e] = x1[e];");
        out_.line("__syncthreads();");
        out_.line("tenc_substitute(faults, x0, x2, " + n() + ", " + decimal(p_.sides) + ", " +
                  (lower ? "true" : "false") + ", " + (unit ? "true" : "false") + ");");
        if (unit) return;
        out_.line("const int fault = tenc_has_no_zero(x0, " + n() + ") ? 0 : 1;");
        return fault("fault");
      }
      case OpKind::Cholesky:
        each(n() + "ll * " + n(), "x1[e] = e % " + n() + " <= e / " + n() + " ? x0[e] : 0;");
        out_.line("__syncthreads();");
        out_.line("const int fault = tenc_cholesky(faults, x1, " + n() + ") ? 0 : 2;");
        return fault("fault");
      case OpKind::Qr: return qr();
      case OpKind::Eigh:
        out_.line("const int fault = tenc_eigh(faults, x0, x1, x2, a, v, sines, halves, " + n() + ");");
        return fault("fault");
      default: return singular();
    }
  }

  void qr() {
    const std::string k = columnsOf(0), least = decimal(p_.least);
    each(m() + "ll * " + n(), "a[e % " + n() + " * " + m() + "ll + e / " + n() + "] = x0[e];");
    out_.line("__syncthreads();");
    out_.line("tenc_householder(faults, a, scales, " + m() + ", " + n() + ", " + least + ");");
    out_.line("tenc_reflections(faults, a, scales, q, " + m() + ", " + least + ", " + k + ");");
    each(m() + "ll * " + k, "x1[e] = q[e % " + k + " * " + m() + "ll + e / " + k + "];");
    each(k + "ll * " + n(), "x2[e] = e / " + n() + " <= e % " + n() + " && e / " + n() + " < " + least + " ? a[e % " +
                                n() + " * " + m() + "ll + e / " + n() + "] : 0;");
  }

  void singular() {
    const std::string shape = m() + ", " + n();
    const bool vectors = op_.kind == OpKind::Svd, solves = op_.kind == OpKind::Lstsq;
    const std::string values = vectors  ? "x2"
                               : solves ? "x4"
                                        : "x1",
                      v = vectors || solves ? "v" : "(" + p_.slab.element() + "*)0";
    out_.line("tenc_svd<" + p_.slab.element() + "> d = {" + decimal(p_.most) + ", " + decimal(p_.least) + ", w, " + v +
              ", sizes, order_of_columns, 0};");
    out_.line("int fault = tenc_singular(faults, x0, " + shape + ", " + values + ", d);");
    if (vectors) {
      const std::string longer = p_.m >= p_.n ? columnsOf(0) : rowsOf(2);
      out_.line("tenc_long_vectors(faults, d, q, factors, scales, " + longer + ");");
      out_.line("tenc_singular_vectors(d, q, x1, x3, " + shape + ", " + columnsOf(0) + ", " + rowsOf(2) + ");");
    }
    if (solves) {
      out_.line("const " + p_.slab.element() + " unit = tenc_unit(x0, " + m() + "ll * " + n() + ");");
      out_.line("tenc_least_squares(d, unit, x1, x2, x3, products, " + shape + ", " + decimal(p_.sides) + ");");
      out_.line("if (!tenc_all_finite(x1, " + m() + "ll * " + decimal(p_.sides) + ")) fault = 3;");
    }
    fault("fault");
  }

  const ir::Op& op_;
  const MatrixPlan p_;
  CudaText& out_;
  const KernelNames& names_;
};

}  // namespace

LaunchPlan planRoutine(const Kernel& kernel) {
  if (isSort(*kernel.routine)) return planSort(*kernel.routine);
  LaunchPlan plan;
  const MatrixPlan p = planMatrix(*kernel.routine);
  plan.schedule.blocks = p.blocks();
  plan.schedule.threads = p.threads();
  if (!p.inShared()) plan.workspaceBytes = p.slab.bytes() * plan.schedule.blocks;
  return plan;
}

void writeRoutine(const Kernel& kernel, Module& module, const KernelNames& names, const std::string& work,
                  size_t function) {
  const ir::Op& op = *kernel.routine;
  if (isSort(op)) return writeSort(op, module, names, work, function);
  module.need(kMatrixText);
  module.need(kFactoriseText);
  const bool spectral = op.kind == OpKind::Eigh || op.kind == OpKind::Svd || op.kind == OpKind::SingularValues ||
                        op.kind == OpKind::Lstsq;
  if (spectral) module.need(kSpectralText);
  MatrixWriter(op, module.text, names).write(work);
}

std::string describeRoutine(const Kernel& kernel) {
  if (isSort(*kernel.routine)) return describeSort(*kernel.routine);
  return planMatrix(*kernel.routine).inShared() ? "a matrix each, in shared memory" : "a matrix each";
}

}  // namespace tenc::codegen::cuda
