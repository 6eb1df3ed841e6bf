#include "codegen/cuda/SolverRoutine.h"

#include <algorithm>
#include <limits>

#include "codegen/cuda/CudaText.h"
#include "codegen/cuda/RoutineTexts.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;
using ir::OpKind;
using Routine = abi::SolverCall::Routine;

constexpr uint32_t kThreads = 256;
constexpr int64_t kMostBlocks = 1024;  // that copy matrices; more do not copy faster
constexpr int64_t kTilesOfBlock = 4;   // of 32 x 32 elements
constexpr uint64_t kAlignment = abi::kSolverAlignment;

int64_t dim(const ir::Type& t, size_t fromEnd) { return t.shape[t.shape.size() - fromEnd]; }

/// Extents of the matrices of an op.
struct Extents {
  int64_t count = 1, m = 0, n = 0, sides = 1;
  explicit Extents(const ir::Op& op) {
    const ir::Type& a = op.operand(0)->type;
    for (size_t d = 0; d + 2 < a.shape.size(); ++d) count *= a.shape[d];
    m = dim(a, 2), n = dim(a, 1);
    if (op.operandCount() == 2) sides = dim(op.operand(1)->type, 1);
  }
  int64_t least() const { return std::min(m, n); }
  int64_t most() const { return std::max(m, n); }
};

bool isKnown(const ir::Op& op) {
  switch (op.kind) {
    case OpKind::Pivots:
    case OpKind::Inverse:
    case OpKind::Solve:
    case OpKind::SolveTriangular:
    case OpKind::Cholesky:
    case OpKind::Qr:
    case OpKind::Eigh:
    case OpKind::Svd:
    case OpKind::SingularValues: return true;
    default: return false;
  }
}

bool suits(const ir::Op& op, const Extents& x, const SolverChoice& choice) {
  const DType t = op.operand(0)->type.dtype;
  if (t != DType::F32 && t != DType::F64) return false;
  if (std::min({x.count, x.m, x.n, x.sides}) < 1 ||
      std::max({x.count, x.m, x.n, x.sides}) > std::numeric_limits<int32_t>::max())
    return false;
  return static_cast<double>(x.m) * static_cast<double>(x.n) >=
         static_cast<double>(choice.least) * static_cast<double>(x.count);
}

/// Lays out a matrix's memory, and says what is called on it.
class Planner {
 public:
  Planner(const ir::Op& op, SolverRoutine& to)
      : op_(op), x_(op), to_(to), p_(to.places), width_(op.operand(0)->type.dtype == DType::F32 ? 4 : 8) {}

  void plan() {
    to_.code.dtype = static_cast<uint8_t>(op_.operand(0)->type.dtype);
    to_.code.count = x_.count;
    const int64_t tiles = (x_.m + 31) / 32 * ((std::max(x_.n, x_.sides) + 31) / 32);
    to_.blocks = static_cast<uint32_t>(
        std::clamp<int64_t>(tiles / kTilesOfBlock, 1, std::max<int64_t>(kMostBlocks / x_.count, 1)));
    p_.info = take(1, sizeof(int32_t));
    p_.flags = take(to_.blocks, sizeof(uint32_t));
    p_.a = take(x_.m * x_.n, width_);
    calls();
    to_.code.bytes = bytes_;
    to_.needs.workspaceBytes = bytes_ * static_cast<uint64_t>(x_.count) + kAlignment;
  }

 private:
  uint64_t take(int64_t elements, uint64_t width) {
    const uint64_t at = bytes_;
    bytes_ += (static_cast<uint64_t>(elements) * width + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  void call(Routine routine, int64_t m, int64_t n, int64_t k = 0, bool transposed = false) {
    to_.code.calls.push_back({routine, transposed, m, n, k, p_.a, p_.b, p_.c, p_.vector, p_.info});
  }

  void calls() {
    const int64_t n = x_.n;
    switch (op_.kind) {
      case OpKind::Pivots:
      case OpKind::Inverse:
      case OpKind::Solve:
        p_.vector = take(n, sizeof(int64_t));
        call(Routine::Lu, n, n);
        if (op_.kind != OpKind::Pivots) solve(false);
        return;
      case OpKind::SolveTriangular: p_.vector = take(n, sizeof(int64_t)); return solve(op_.boolAttr("lower"));
      case OpKind::Cholesky: return call(Routine::Cholesky, n, n);
      case OpKind::Qr: return qr();
      case OpKind::Eigh: p_.vector = take(n, width_); return call(Routine::Eigen, n, n);
      default: return singular();
    }
  }
  /// With an `info` of its own, so that what elimination said stays.
  void solve(bool transposed) {
    const int64_t sides = op_.kind == OpKind::Inverse ? x_.n : x_.sides;
    p_.b = take(x_.n * sides, width_);
    call(Routine::LuSolve, x_.n, x_.n, sides, transposed);
    to_.code.calls.back().info = take(1, sizeof(int32_t));
  }
  void qr() {
    const int64_t columns = dim(op_.result(0)->type, 1);
    p_.vector = take(x_.least(), width_);
    p_.b = take(x_.m * columns, width_);
    call(Routine::Qr, x_.m, x_.n);
    call(Routine::Copy, x_.m, x_.least());
    call(Routine::Reflections, x_.m, columns, x_.least());
    abi::SolverCall& reflections = to_.code.calls.back();
    reflections.a = p_.b;
    reflections.info = take(1, sizeof(int32_t));
  }
  /// Of the transposed matrix where that is the higher one.
  void singular() {
    const int64_t least = x_.least(), most = x_.most();
    const bool hasVectors = op_.kind == OpKind::Svd;
    const int64_t columns = !hasVectors ? 0 : op_.boolAttr("full") ? most : least;
    p_.vector = take(least, width_);
    if (hasVectors) {
      p_.b = take(most * columns, width_);
      p_.c = take(least * least, width_);
    }
    call(Routine::Singular, most, least, columns);
  }

  const ir::Op& op_;
  const Extents x_;
  SolverRoutine& to_;
  SolverPlaces& p_;
  const uint64_t width_;
  uint64_t bytes_ = 0;
};

class Writer {
 public:
  Writer(const ir::Op& op, const SolverRoutine& routine, CudaText& out, const KernelNames& names)
      : op_(op), x_(op), r_(routine), out_(out), names_(names) {}

  void write(SolverPart part, const std::string& work) {
    declare(work);
    part == SolverPart::Before ? before() : after();
  }

 private:
  std::string element() const { return op_.operand(0)->type.dtype == DType::F32 ? "float" : "double"; }
  std::string n() const { return decimal(x_.n); }
  std::string m() const { return decimal(x_.m); }
  std::string sides() const { return op_.kind == OpKind::Inverse ? n() : decimal(x_.sides); }
  bool isTall() const { return x_.m >= x_.n; }

  void declare(const std::string& work) {
    out_.line("const tenc_share share = tenc_share_of(" + decimal(r_.blocks) + ");");
    out_.line("unsigned char* const slab = tenc_aligned(" + work + ") + " + decimal(r_.code.bytes) +
              "ull * share.matrix;");
    const auto place = [&](const std::string& type, const char* name, uint64_t at) {
      out_.line(type + "* const " + name + " = (" + type + "*)(slab + " + decimal(at) + ");");
    };
    const SolverPlaces& p = r_.places;
    const bool hasRows = std::any_of(r_.code.calls.begin(), r_.code.calls.end(),
                                     [](const abi::SolverCall& c) { return c.routine == Routine::LuSolve; }) ||
                         op_.kind == OpKind::Pivots;
    place("int", "info", p.info);
    place("unsigned", "flags", p.flags);
    place(element(), "a", p.a);
    if (p.b != 0) place(element(), "b", p.b);
    if (p.c != 0) place(element(), "c", p.c);
    if (p.vector != 0) place(hasRows ? "long long" : element(), "vector", p.vector);
    for (size_t i = 0; i < names_.buffers.size(); ++i) {
      const bool isResult = i >= op_.operandCount();
      const ir::Type& t = (isResult ? op_.result(i - op_.operandCount()) : op_.operand(i))->type;
      int64_t elements = 1;
      for (size_t d = op_.operand(0)->type.shape.size() - 2; d < t.shape.size(); ++d) elements *= t.shape[d];
      out_.line((isResult ? "" : "const ") + element() + "* const x" + decimal(i) + " = " + names_.buffers[i] +
                " + share.matrix * " + decimal(elements) + ";");
    }
  }

  /// A call of one of the functions that copy a matrix.
  static std::string turn(const std::string& part, const std::string& clean, const std::string& from,
                          const std::string& to, const std::string& rows, const std::string& columns,
                          const std::string& leading) {
    return "tenc_turn<tenc_" + part + ", " + clean + ">(share, " + from + ", " + to + ", " + rows + ", " + columns +
           ", " + leading + ")";
  }
  static std::string put(const std::string& part, const std::string& clean, const std::string& from,
                         const std::string& to, const std::string& rows, const std::string& columns) {
    return "tenc_put<tenc_" + part + ", " + clean + ">(share, " + from + ", " + to + ", " + rows + ", " + columns + ")";
  }
  void first(const std::string& count, const std::string& statement) {
    out_.line("for TENC_FIRST (i, " + count + ") " + statement);
  }
  void note(const std::string& copy) { out_.line("tenc_note(share, flags, " + copy + ");"); }

  void before() {
    switch (op_.kind) {
      case OpKind::SolveTriangular: return triangle();
      case OpKind::Cholesky: return note(turn("lower", "false", "x0", "a", n(), n(), n()));
      case OpKind::Eigh: return note(turn("lower", "true", "x0", "a", n(), n(), n()));
      case OpKind::Svd:
      case OpKind::SingularValues:
        return note(isTall() ? turn("whole", "true", "x0", "a", m(), n(), n())
                             : put("whole", "true", "x0", "a", m(), n()));
      default:
        note(turn("whole", "false", "x0", "a", m(), n(), n()));
        // Where the library stops at a pivot of zero, it may leave no more exchanges.
        if (op_.kind != OpKind::Qr) first(n(), "vector[i] = i + 1;");
        if (op_.kind == OpKind::Inverse) out_.line("tenc_identity(share, b, " + n() + ");");
        if (op_.kind == OpKind::Solve) rightSides();
    }
  }
  void rightSides() { out_.line(turn("whole", "false", "x1", "b", n(), sides(), sides()) + ";"); }
  /// As factors of an elimination without exchanges, one of which is 1: of a lower triangle those of its transposed.
  void triangle() {
    const bool isLower = op_.boolAttr("lower");
    const std::string part = (op_.boolAttr("unit") ? "unit_" : "") + std::string(isLower ? "lower" : "upper");
    out_.line((isLower ? put(part, "false", "x0", "a", n(), n()) : turn(part, "false", "x0", "a", n(), n(), n())) +
              ";");
    first(n(), "vector[i] = i + 1;");
    rightSides();
  }

  void fault(const std::string& number) {
    out_.line("if (share.block == 0 && threadIdx.x == 0 && " + number + " != 0) tenc_report(faults, order, " + number +
              ", 0, 0, -1, 0);");
  }

  void after() {
    switch (op_.kind) {
      case OpKind::Pivots:
        return out_.line("tenc_pivots(share, a, vector, *info, tenc_was_finite(share, flags), x1, x2, " + n() + ");");
      case OpKind::Inverse:
      case OpKind::Solve: return solved();
      case OpKind::SolveTriangular:
        out_.line(turn("whole", "false", "b", "x2", sides(), n(), n()) + ";");
        if (op_.boolAttr("unit")) return;
        out_.line("const int fault = tenc_has_no_zero(x0, " + n() + ") ? 0 : 1;");
        return fault("fault");
      case OpKind::Cholesky:
        out_.line(turn("upper", "false", "a", "x1", n(), n(), n()) + ";");
        out_.line("const int fault = *info == 0 && tenc_is_definite(a, " + n() + ") ? 0 : 2;");
        return fault("fault");
      case OpKind::Qr: {
        const std::string columns = decimal(dim(op_.result(0)->type, 1));
        out_.line(turn("whole", "false", "b", "x1", columns, m(), m()) + ";");
        return out_.line(turn("lower", "false", "a", "x2", n(), columns, m()) + ";");
      }
      case OpKind::Eigh:
        first(n(), "x1[i] = vector[i];");
        out_.line(turn("whole", "false", "a", "x2", n(), n(), n()) + ";");
        return spectralFault();
      default: return singular();
    }
  }
  void solved() {
    const std::string result = op_.kind == OpKind::Inverse ? "x1" : "x2";
    // A pivot of zero means nothing where NaN was in the way.
    out_.line("const bool finite = tenc_was_finite(share, flags), singular = *info > 0;");
    out_.line("if (singular && !finite)");
    out_.line("  tenc_fill(share, " + result + ", " + n() + "ll * " + sides() + ", tenc_nan<" + element() + ">());");
    out_.line("else");
    out_.line("  " + turn("whole", "false", "b", result, sides(), n(), n()) + ";");
    out_.line("const int fault = singular && finite ? 1 : 0;");
    fault("fault");
  }
  void spectralFault() {
    out_.line("const int fault = !tenc_was_finite(share, flags) ? 3 : *info != 0 ? 4 : 0;");
    fault("fault");
  }
  void singular() {
    const bool hasVectors = op_.kind == OpKind::Svd;
    first(decimal(x_.least()), std::string(hasVectors ? "x2" : "x1") + "[i] = vector[i];");
    if (hasVectors) {
      // Of the transposed matrix U and V have changed places.
      const std::string columns = decimal(r_.code.calls.back().k), least = decimal(x_.least());
      if (isTall()) {
        out_.line(turn("whole", "false", "b", "x1", columns, m(), m()) + ";");
        out_.line(turn("whole", "false", "c", "x3", least, least, least) + ";");
      } else {
        out_.line(put("whole", "false", "c", "x1", least, least) + ";");
        out_.line(put("whole", "false", "b", "x3", columns, n()) + ";");
      }
    }
    spectralFault();
  }

  const ir::Op& op_;
  const Extents x_;
  const SolverRoutine& r_;
  CudaText& out_;
  const KernelNames& names_;
};

const char* nameOf(Routine routine) {
  switch (routine) {
    case Routine::Copy: return "copy";
    case Routine::Lu: return "getrf";
    case Routine::LuSolve: return "getrs";
    case Routine::Cholesky: return "potrf";
    case Routine::Qr: return "geqrf";
    case Routine::Reflections: return "orgqr";
    case Routine::Eigen: return "syevd";
    case Routine::Singular: return "gesvd";
  }
  return "";
}

}  // namespace

std::string SolverRoutine::text() const {
  std::string s = "cuSOLVER, " + (code.count > 1 ? decimal(code.count) + " of " : std::string());
  s += decimal(code.calls.front().m) + " x " + decimal(code.calls.front().n) + ": ";
  for (const abi::SolverCall& c : code.calls)
    if (c.routine != Routine::Copy) s += (s.ends_with(": ") ? "" : ", ") + std::string(nameOf(c.routine));
  return s + ", between functions of " + decimal(code.count * blocks) + " blocks";
}

std::optional<SolverRoutine> solverRoutine(const Kernel& kernel, const SolverChoice& choice) {
  if (kernel.kind != Kernel::Kind::Routine || !isKnown(*kernel.routine)) return std::nullopt;
  const ir::Op& op = *kernel.routine;
  if (!suits(op, Extents(op), choice)) return std::nullopt;
  SolverRoutine routine;
  Planner(op, routine).plan();
  for (const Buffer& b : kernel.buffers)
    routine.needs.arguments.push_back({static_cast<uint64_t>(ir::byteSize(b.dtype))});
  return routine;
}

Schedule scheduleOf(const SolverRoutine& routine) {
  Schedule s;
  s.blocks = static_cast<uint32_t>(routine.code.count) * routine.blocks;
  s.threads = kThreads;
  return s;
}

void writeSolver(const Kernel& kernel, const SolverRoutine& routine, SolverPart part, Module& module,
                 const KernelNames& names, const std::string& work) {
  for (const std::string_view text : {kMatrixText, kFactoriseText, kSolverText}) module.need(text);
  Writer(*kernel.routine, routine, module.text, names).write(part, work);
}

}  // namespace tenc::codegen::cuda
