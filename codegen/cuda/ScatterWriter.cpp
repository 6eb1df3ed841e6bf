#include <algorithm>
#include <limits>

#include "codegen/KernelShape.h"
#include "codegen/cuda/FlatPlan.h"
#include "codegen/cuda/LoopVariables.h"
#include "codegen/cuda/RoutineTexts.h"
#include "codegen/cuda/Scatter.h"
#include "codegen/cuda/ScatterSteps.h"
#include "codegen/cuda/StageVectors.h"

namespace tenc::codegen::cuda {
namespace {

using ir::DType;
using Form = ScatterPlan::Form;

class ScatterWriter {
 public:
  ScatterWriter(const Kernel& k, const ScatterPlan& p, Module& module, const KernelNames& names,
                const std::string& work, size_t function)
      : kernel_(k),
        stage_(k.stages[0]),
        store_(stage_.stores[0]),
        plan_(p),
        module_(module),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(names),
        work_(work),
        function_(function),
        threads_((p.launches.functions.empty() ? p.launches.schedule : p.launches.functions[function]).threads),
        place_(p.placeType()),
        line_(p.lineType()),
        to_(names.buffers[store_.access.buffer]) {
    names_.outer.resize(k.outer.size());
    inner_.resize(stage_.innerLo.size());
    const size_t last = p.columnVars.empty() ? 0 : p.columnVars.back();
    columnsSideBySide_ = !p.columnVars.empty() && store_.access.strides[last] == 1;
  }

  std::string write() {
    switch (plan_.form) {
      case Form::Atomic: atomic(); break;
      case Form::Latest: latest(); break;
      case Form::Short: function_ == SortShort ? sortShort() : shortSegments(); break;
      case Form::Long: longSteps(); break;
    }
    return scalars_.missing();
  }

 private:
  DType dtype() const { return kernel_.buffers[store_.access.buffer].dtype; }
  StageWriter point() { return {out_, scalars_, kernel_, stage_, names_, inner_}; }

  // ---- points

  /// `for` over so many numbers, of all threads of the launch; gives their type.
  std::string openNumbers(const std::string& name, int64_t count) {
    const int64_t most = int64_t{65536} * threads_;
    const bool narrow = count < (int64_t{1} << 31) - most;
    const std::string type = narrow ? "int" : "long long", cast = narrow ? "" : "(long long)",
                      threads = decimal(threads_);
    out_.line("#pragma unroll 1");
    out_.open("for (" + type + " " + name + " = " + cast + "blockIdx.x * " + threads + " + threadIdx.x; " + name +
              " < " + decimal(count) + "; " + name + " += " + cast + "gridDim.x * " + threads + ")");
    return type;
  }

  struct Point {
    std::string type, line, column;
  };
  /// `for` over lines, or what else there are as many of, and columns.
  Point openPoints() {
    const int64_t columns = plan_.columns / plan_.vector;
    const std::string type = openNumbers("point", plan_.lines * columns);
    std::vector<int64_t> extents = {plan_.lines, columns};
    if (!columnsSideBySide_) std::swap(extents[0], extents[1]);
    std::vector<std::string> both = decodePoint(out_, "point", type, extents, {}, 1);
    if (!columnsSideBySide_) std::swap(both[0], both[1]);
    if (type != "int")  // products of them need as many bits
      for (std::string& name : both) name.insert(0, "(long long)");
    if (plan_.vector > 1) {
      const std::string first = out_.fresh("column");
      out_.line("const " + type + " " + first + " = " + both[1] + " * " + decimal(plan_.vector) + ";");
      both[1] = first;
    }
    return {type, both[0], both[1]};
  }

  void bind(const std::vector<size_t>& variables, const std::vector<std::string>& names) {
    for (size_t i = 0; i < variables.size(); ++i) {
      const size_t v = variables[i];
      (v < names_.outer.size() ? names_.outer[v] : inner_[v - names_.outer.size()]) = names[i];
    }
  }
  void setLine(const std::string& number, const std::string& type) {
    bind(plan_.lineVars, decodePoint(out_, number, type, plan_.lineExtents, {}, 1));
  }
  void setColumn(const std::string& number, const std::string& type) {
    bind(plan_.columnVars, decodePoint(out_, number, type, plan_.columnExtents, {}, 1));
  }
  /// The first column, where nothing depends on it.
  void setNoColumn() { bind(plan_.columnVars, std::vector<std::string>(plan_.columnVars.size(), "0")); }

  /// The place of the line at hand. An update out of range is reported, and goes to the first of its dim.
  std::string placeOf(StageWriter& at) {
    std::string inside;
    return "(" + place_ + ")(" + at.position(plan_.place, inside) + ")";
  }
  std::string positionOf(StageWriter& at) {
    std::string inside;
    return at.position(store_.access, inside);
  }

  // ---- in any order

  void atomic() {
    if (plan_.own > 0) return ownFirst();
    atomicUpdates(to_, dtype());
  }

  /// Sums of a constant stay within 32 bits, which is faster in shared memory.
  bool isNarrowCount() const {
    const Expr& update = stage_.exprs[plan_.update];
    return stage_.exprs[plan_.combined].op == ir::OpKind::Add && ir::byteSize(dtype()) == 8 &&
           update.kind == Expr::Kind::Constant &&
           update.bits <= std::numeric_limits<uint32_t>::max() / static_cast<uint64_t>(plan_.lines * plan_.columns);
  }
  /// What an element has to which nothing was added, as bits of memory.
  std::string neutral() const {
    const ir::OpKind op = stage_.exprs[plan_.combined].op;
    const bool isMost = op == ir::OpKind::Max;
    if (op == ir::OpKind::Add || (isMost && !ir::isSigned(dtype()))) return "0";
    if (!ir::isSigned(dtype())) return "~(" + std::string(memoryType(dtype())) + ")0";
    const std::string top = ir::byteSize(dtype()) == 4 ? "0x80000000u" : "0x8000000000000000ull";
    return isMost ? top : "~" + top;
  }
  void ownFirst() {
    const DType kept = isNarrowCount() ? DType::U32 : dtype();
    const std::string type(memoryType(kept)), elements = decimal(plan_.own);
    const auto all = [&] {
      out_.line("#pragma unroll 1");
      out_.open("for (int e = threadIdx.x; e < " + elements + "; e += " + decimal(threads_) + ")");
    };
    out_.line("__shared__ " + type + " own[" + elements + "];");
    all();
    out_.line("own[e] = " + neutral() + ";");
    out_.close();
    out_.line("__syncthreads();");
    atomicUpdates("own", kept);
    out_.line("__syncthreads();");
    all();
    out_.line("const " + type + " all = own[e];");
    out_.open("if (all != " + neutral() + ")");
    atomicUpdate(to_ + " + e", "all");
    out_.close();
    out_.close();
  }

  void atomicUpdates(const std::string& target, DType kept) {
    const Point p = openPoints();
    setLine(p.line, p.type);
    setColumn(p.column, p.type);
    StageWriter at = point();
    const Scalar update = at.value(plan_.update);
    const std::string to = target + " + (" + positionOf(at) + ")", value = scalars_.toMemory(update, dtype());
    atomicUpdate(to, kept == dtype() ? value : "(" + std::string(memoryType(kept)) + ")" + value);
    out_.close();
  }
  void atomicUpdate(const std::string& to, const std::string& value) {
    const ir::OpKind op = stage_.exprs[plan_.combined].op;
    if (op == ir::OpKind::Add) {
      out_.line("atomicAdd(" + to + ", " + value + ");");
    } else {
      module_.need(kScatterText);
      const bool isMost = op == ir::OpKind::Max;
      if (ir::isFloat(dtype()))
        out_.line(std::string("tenc_atomic_extreme<") + (isMost ? "true" : "false") + ">(" + to + ", " + value + ");");
      else
        out_.line(std::string(isMost ? "atomicMax(" : "atomicMin(") + signedPointer("(" + to + ")") + ", " +
                  signedType() + "(" + value + "));");
    }
  }
  /// The type in which integers are compared, in parentheses; empty where it is that of memory.
  std::string signedType() const {
    if (!ir::isSigned(dtype())) return "";
    return ir::byteSize(dtype()) == 4 ? "(int)" : "(long long)";
  }
  std::string signedPointer(const std::string& to) const {
    const std::string type = signedType();
    return type.empty() ? to : type.substr(0, type.size() - 1) + "*)" + to;
  }

  // ---- the last one of each place

  void latest() {
    out_.line(line_ + "* const latest = (" + line_ + "*)" + work_ + ";");
    if (function_ == ClearPlaces) {
      openNumbers("place", plan_.places);
      out_.line("latest[place] = 0;");
    } else if (function_ == MarkLatest) {
      const std::string type = openNumbers("line", plan_.lines);
      setLine("line", type);
      setNoColumn();
      StageWriter at = point();
      out_.line("atomicMax(latest + " + placeOf(at) + ", (" + line_ + ")line + 1);");
    } else {
      const Point p = openPoints();
      setLine(p.line, p.type);
      setColumn(p.column, p.type);
      StageWriter at = point();
      const std::string value = scalars_.toMemory(at.value(plan_.update), dtype()), place = placeOf(at);
      out_.line("if (latest[" + place + "] == (" + line_ + ")" + p.line + " + 1) " + to_ + "[" + positionOf(at) +
                "] = " + value + ";");
    }
    out_.close();
  }

  // ---- sorted by place

  void sortShort() {
    module_.need(kSortText);
    const std::string length = decimal(plan_.length), lines = decimal(plan_.lines), threads = decimal(threads_);
    out_.line("__shared__ tenc_pairs<" + place_ + ", " + length + "> pairs;");
    out_.line("typedef tenc_placed_key<" + place_ + "> Pair;");
    declareShort("");
    if (mayFault(stage_)) out_.line("#pragma unroll 1");  // reports keep loads apart anyway
    out_.open("for (int line = threadIdx.x; line < " + length + "; line += " + threads + ")");
    out_.open("if (line < " + lines + ")");
    setLine("line", "int");
    setNoColumn();
    StageWriter at = point();
    out_.line("pairs.set(line, Pair::of(" + placeOf(at) + ", line));");
    out_.otherwise();
    out_.line("pairs.set(line, Pair::of(~(" + place_ + ")0, ~0u));");
    out_.close();
    out_.close();
    out_.line("tenc_bitonic<" + length + ", " + length + ", " + threads + ">(pairs);");
    out_.line("#pragma unroll 1");
    out_.line("for (int n = threadIdx.x; n < " + lines + "; n += " + threads +
              ") places[n] = pairs.get(n).key(), numbers[n] = pairs.get(n).place();");
  }
  void declareShort(const std::string& qualifier) {
    out_.line(qualifier + place_ + "* const places = (" + qualifier + place_ + "*)" + work_ + ";");
    out_.line(qualifier + line_ + "* const numbers = (" + qualifier + line_ + "*)(places + " + decimal(plan_.lines) +
              ");");
  }
  void shortSegments() {
    declareShort("const ");
    segments("numbers[", "]");
  }

  void longSteps() {
    out_.line("typedef tenc_order<" + place_ + ", " + place_ + ", 0, 0ull, false> order_of;");
    sortOf(plan_).declare(module_, "(const " + place_ + "*)" + work_,
                          work_ + " + " + decimal(sortOffset(plan_)) + "ull", -1);
    switch (function_) {
      case NumberLines: return numberLines();
      case CountDigits: return out_.line("tenc_wide_count(w);");
      case ScanDigits: return out_.line("tenc_wide_scan(w);");
      case MoveLines: return out_.line("tenc_wide_move(w, (" + line_ + ")0, (" + place_ + "*)0, (long long*)0);");
      default:
        out_.line("const tenc_unsorted<order_of, " + line_ + "> sorted = w.source(0, w.state(0)->from);");
        out_.line("const " + place_ + "* const places = sorted.elements;");
        return segments("(sorted.places ? sorted.places[", "] : ", ")");
    }
  }
  void numberLines() {
    out_.line("if (blockIdx.x == 0) tenc_wide_begin(w);");
    const std::string type = openNumbers("line", plan_.lines);
    setLine("line", type);
    setNoColumn();
    StageWriter at = point();
    out_.line("((" + place_ + "*)" + work_ + ")[line] = " + placeOf(at) + ";");
    out_.close();
  }

  /// What lines that go to one place do there, in order: those side by side in `places`. The number of the nth of them
  /// is between `before` and `after`, or `before` n `after` n `end`.
  void segments(const std::string& before, const std::string& after, const std::string& end = "") {
    const auto number = [&](const std::string& n) { return before + n + after + (end.empty() ? "" : n + end); };
    const Point p = openPoints();
    setColumn(p.column, p.type);
    out_.line("const " + place_ + " place = places[" + p.line + "];");
    if (plan_.combined == kNoExpr)
      storeLast(p, number);
    else
      combineAll(p, number);
    out_.close();
  }

  std::string position() const {
    std::string sum = "(" + indexType() + ")place * " + decimal(plan_.unit);
    for (const size_t v : plan_.columnVars) {
      const int64_t stride = strideOf(store_.access, v);
      if (stride != 0) sum += " + (" + indexType() + ")" + names_.outer[v] + " * " + decimal(stride);
    }
    return sum;
  }
  std::string indexType() const {
    return kernel_.buffers[store_.access.buffer].elements < int64_t{1} << 31 ? "int" : "long long";
  }

  /// Every value is computed, so that what is wrong with it is reported.
  void storeLast(const Point& p, const auto& number) {
    const std::string line = out_.fresh("line");
    out_.line("const " + p.type + " " + line + " = " + number(p.line) + ";");
    setLine(line, p.type);
    const std::string value = scalars_.toMemory(point().value(plan_.update), dtype());
    out_.line("if (" + p.line + " + 1 == " + decimal(plan_.lines) + " || places[" + p.line + " + 1] != place) " + to_ +
              "[" + position() + "] = " + value + ";");
  }

  /// What is asked of the line is loaded together. The first update, which most places have alone; then some at a time,
  /// so that they are loaded together.
  void combineAll(const Point& p, const auto& number) {
    const std::string type = StageVectors::type(kernel_, store_.access.buffer, static_cast<int>(plan_.vector)),
                      lines = decimal(plan_.lines), many = decimal(together());
    const std::string line = out_.fresh("line");
    out_.line("const " + p.type + " " + line + " = " + number(p.line) + ", next = min(" + p.line + " + 1, (" + p.type +
              ")" + decimal(plan_.lines - 1) + ");");
    out_.line("const " + place_ + " before = places[max(" + p.line + " - 1, (" + p.type +
              ")0)], after = places[next];");
    out_.line("if (" + p.line + " > 0 && before == place) continue;");
    out_.line("const " + indexType() + " at = " + position() + ";");
    out_.line(type + " sum = tenc_load<" + type + ">(" + to_ + " + at);");
    out_.line(p.type + " first = " + p.line + " + 1;");
    out_.line("bool more = first < " + lines + " && after == place;");
    out_.open("");
    out_.line(type + " update;");
    out_.line("const " + p.type + " line = " + line + ";");
    computeUpdate(p, "update");
    combine("update");
    out_.close();
    out_.line("#pragma unroll 1");
    out_.open("for (; more; first += " + many + ")");
    out_.line(type + " update[" + many + "];");
    out_.line("bool has[" + many + "];");
    out_.line("#pragma unroll");
    out_.open("for (int n = 0; n < " + many + "; ++n)");
    out_.line("has[n] = first + n < " + lines + " && places[first + n] == place;");
    out_.line("const " + p.type + " nth = has[n] ? first + n : first;");
    out_.line("const " + p.type + " line = " + number("nth") + ";");
    computeUpdate(p, "update[n]");
    out_.close();
    out_.line("#pragma unroll");
    out_.open("for (int n = 0; n < " + many + "; ++n)");
    out_.open("if (has[n])");
    combine("update[n]");
    out_.close();
    out_.close();
    out_.line("more = has[" + many + " - 1];");
    out_.close();
    out_.line("tenc_write(" + to_ + " + at, sum);");
  }
  void openVector() {
    out_.line("#pragma unroll");
    out_.open("for (int v = 0; v < " + decimal(plan_.vector) + "; ++v)");
  }
  /// The update by line `line` of the columns side by side that a thread has.
  void computeUpdate(const Point& p, const std::string& to) {
    setLine("line", p.type);
    StageVectors vectors(kernel_, stage_, plan_.columnVars.empty() ? 0 : plan_.columnVars.back(),
                         static_cast<int>(plan_.vector));
    vectors.loadFrom(stage_.exprs[plan_.combined].args[0], "sum");
    vectors.keepIn(0, "sum");
    StageWriter first = point();
    vectors.load(out_, first);
    openVector();
    const KernelNames all = names_;
    if (plan_.vector > 1) {
      std::string& column = names_.outer[plan_.columnVars.back()];
      const std::string own = out_.fresh("i");
      out_.line("const " + p.type + " " + own + " = " + column + " + v;");
      column = own;
    }
    StageWriter at = point();
    vectors.give(at);
    out_.line(to + ".at[v] = " + scalars_.toMemory(at.value(plan_.update), dtype()) + ";");
    out_.close();
    names_ = all;
  }
  void combine(const std::string& update) {
    openVector();
    const Expr& e = stage_.exprs[plan_.combined];
    Scalar both[] = {scalars_.fromMemory("sum.at[v]", dtype()), scalars_.fromMemory(update + ".at[v]", dtype())};
    out_.line("sum.at[v] = " + scalars_.toMemory(scalars_.elementwise(e.op, dtype(), e.dtype, both, e.fault), dtype()) +
              ";");
    out_.close();
  }
  int64_t together() const {
    constexpr int64_t kMost = 8, kMostBytes = 64;  // in registers, of which more would leave fewer threads
    int64_t many = std::clamp<int64_t>(kMostBytes / (plan_.vector * ir::byteSize(dtype())), 1, kMost);
    while (many > 1 && many * plan_.vector * costOf(stage_) > kLongCode) many /= 2;
    return many;
  }

  const Kernel& kernel_;
  const Stage& stage_;
  const Store& store_;
  const ScatterPlan& plan_;
  Module& module_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  std::vector<std::string> inner_;
  const std::string work_;
  const size_t function_;
  const uint32_t threads_;
  const std::string place_, line_;  ///< types of places and of numbers of lines
  const std::string to_;
  bool columnsSideBySide_ = false;
};

}  // namespace

std::string writeScatter(const Kernel& kernel, const ScatterPlan& plan, Module& module, const KernelNames& names,
                         const std::string& work, size_t function) {
  return ScatterWriter(kernel, plan, module, names, work, function).write();
}

}  // namespace tenc::codegen::cuda
