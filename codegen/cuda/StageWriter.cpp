#include "codegen/cuda/StageWriter.h"

#include <algorithm>
#include <functional>

#include "codegen/ScalarConvert.h"
#include "codegen/cuda/StageRanges.h"

namespace tenc::codegen::cuda {
namespace {

/// Positions below it are computed in 32 bits.
constexpr int64_t kNarrowElements = int64_t{1} << 31;

}  // namespace

StageWriter::StageWriter(CudaText& out, CudaScalars& scalars, const Kernel& kernel, const Stage& stage,
                         const KernelNames& names, std::vector<std::string> inner)
    : out_(out),
      scalars_(scalars),
      kernel_(kernel),
      stage_(stage),
      names_(names),
      inner_(std::move(inner)),
      collected_(stage.stores.size()),
      values_(stage.exprs.size()) {}

std::string StageWriter::variable(size_t v) const {
  return v < kernel_.outer.size() ? names_.outer[v] : inner_[v - kernel_.outer.size()];
}

std::string StageWriter::inBox() const {
  std::string all;
  auto also = [&](const std::string& condition) { all += (all.empty() ? "" : " && ") + condition; };
  for (size_t v = 0; v < stage_.outerLo.size(); ++v) {
    if (stage_.outerLo[v] >= stage_.outerHi[v]) return "false";
    if (stage_.outerLo[v] > 0) also(names_.outer[v] + " >= " + decimal(stage_.outerLo[v]));
    if (stage_.outerHi[v] < kernel_.outer[v]) also(names_.outer[v] + " < " + decimal(stage_.outerHi[v]));
  }
  return all.empty() ? "true" : all;
}

ScalarReducer StageWriter::reducer(uint32_t reduction) const {
  const Reduction& r = kernel_.reductions[reduction];
  return {scalars_, r, stage_.exprs[r.value].dtype,
          r.position != kNoExpr && isPoint(r.position) ? Repr::I32 : Repr::I64};
}

bool StageWriter::isPoint(ExprId position) const {
  double points = 1;
  for (const int64_t extent : kernel_.outer) points *= static_cast<double>(extent);
  for (const int64_t end : stage_.innerHi) points *= static_cast<double>(end);
  const std::function<bool(ExprId)> isComputed = [&](ExprId id) {
    const Expr& e = stage_.exprs[id];
    return e.kind != Expr::Kind::Load && std::all_of(e.args.begin(), e.args.end(), isComputed);
  };
  return points < 0x1p31 && isComputed(position);
}

Scalar StageWriter::value(ExprId id) {
  if (values_[id].handle != nullptr) return values_[id];
  const auto given = std::find_if(given_.begin(), given_.end(), [&](const auto& g) { return g.first == id; });
  values_[id] =
      given == given_.end() ? compute(stage_.exprs[id]) : scalars_.fromMemory(given->second, stage_.exprs[id].dtype);
  return values_[id];
}

void StageWriter::setRunning(uint32_t reduction, Scalar s) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Expr& e = stage_.exprs[i];
    if (e.kind == Expr::Kind::Running && e.index == reduction) values_[i] = s;
  }
}

Scalar StageWriter::compute(const Expr& e) {
  std::vector<Scalar> args;
  switch (e.kind) {
    case Expr::Kind::Constant: return scalars_.constantOfBits(e.bits, e.dtype);
    case Expr::Kind::LoopVar: return scalars_.named("(unsigned long long)(long long)" + variable(e.index), Repr::I64);
    case Expr::Kind::Scalar: return scalars_.fromMemory(names_.scalars[e.index], e.dtype);
    case Expr::Kind::Load: return load(e);
    case Expr::Kind::Reduced: return scalars_.wrap(names_.reduced[e.index], reprOf(e.dtype));
    case Expr::Kind::Running: break;  // set before anything asks
    case Expr::Kind::Random:
      for (ExprId a : e.args) args.push_back(value(a));
      return randomElement(out_, scalars_, e, args, lanes_.width > 1 ? base(e.args[2]) : std::nullopt, lanesOf(e));
    case Expr::Kind::Op: {
      for (ExprId a : e.args) args.push_back(value(a));
      if (const std::optional<Scalar> narrow = narrowDivision(e, args)) return *narrow;
      const ir::DType operand = stage_.exprs[e.args[e.op == ir::OpKind::Where ? 1 : 0]].dtype;
      return scalars_.elementwise(e.op, operand, e.dtype, args, e.fault);
    }
  }
  return scalars_.intConstant(Repr::I64, 0);
}

/// A division of 64 bits by a literal takes several times as long as one of 32, which is enough for indices.
std::optional<Scalar> StageWriter::narrowDivision(const Expr& e, const std::vector<Scalar>& args) {
  const bool divides = e.op == ir::OpKind::FloorDiv || e.op == ir::OpKind::TruncDiv,
             rest = e.op == ir::OpKind::Mod || e.op == ir::OpKind::Fmod;
  if ((!divides && !rest) || stage_.exprs[e.args[1]].kind != Expr::Kind::Constant) return std::nullopt;
  const std::optional<int64_t> by = mostOf(kernel_, stage_, e.args[1]);
  if (!by || *by == 0 || !mostOf(kernel_, stage_, e.args[0])) return std::nullopt;
  return scalars_.named(
      "(unsigned long long)((unsigned)" + CudaScalars::text(args[0]) + (divides ? " / " : " % ") + decimal(*by) + "u)",
      Repr::I64);
}

/// The lanes for random numbers: seed and draw may be computed in the loop.
Lanes StageWriter::lanesOf(const Expr& random) const {
  const auto isFixed = [&](ExprId a) {
    return stage_.exprs[a].kind == Expr::Kind::Scalar || stage_.exprs[a].kind == Expr::Kind::Constant;
  };
  Lanes lanes = lanes_;
  if (!isFixed(random.args[0]) || !isFixed(random.args[1])) lanes.before.reset();
  return lanes;
}

std::optional<std::string> StageWriter::base(ExprId number) const {
  std::vector<std::string> variables;
  for (size_t v = 0; v < kernel_.outer.size() + inner_.size(); ++v) variables.push_back(variable(v));
  return baseOfLanes(stage_, number, lanes_, variables);
}

const StageWriter::Resolved& StageWriter::resolve(const Access::Term& t) {
  const auto known = std::find_if(resolved_.begin(), resolved_.end(), [&](const Resolved& r) {
    return r.term.index == t.index && r.term.extent == t.extent && r.term.fault == t.fault && r.term.size == t.size &&
           r.term.axis == t.axis && r.term.fromEnd == t.fromEnd;
  });
  if (known != resolved_.end()) return *known;
  Scalar index = value(t.index);
  const ir::DType from = stage_.exprs[t.index].dtype;
  if (from == ir::DType::U64)  // a large one is the largest, not a negative one that counts from the end
    index = scalars_.binary(BinaryInst::UMin, index, bits(index, ~uint64_t{0} >> 1));
  else if (index.repr != Repr::I64)
    index = emitCast(scalars_, index, from, ir::DType::I64);
  if (t.extent < 0) return resolved_.emplace_back(Resolved{t, CudaScalars::text(index), ""});
  const int64_t size = t.size != 0 ? t.size : t.extent;
  const Scalar wrapped = t.fromEnd ? select(index < 0.0, index + static_cast<double>(size), index) : index;
  const Scalar outside = compare(Predicate::Uge, wrapped, like(wrapped, static_cast<double>(t.extent)));
  scalars_.setFault(CudaScalars::text(outside), t.fault, "(long long)" + CudaScalars::text(index), size - t.extent + 1,
                    size, t.axis);
  return resolved_.emplace_back(
      Resolved{t, CudaScalars::text(select(outside, 0.0, wrapped)), CudaScalars::text(outside)});
}

std::string StageWriter::position(const Access& a, std::string& inside) {
  const bool narrow = kernel_.buffers[a.buffer].elements < kNarrowElements;
  const std::string type = narrow ? "int" : "long long";
  std::string sum;
  auto add = [&](const std::string& what, int64_t stride) {
    if (!sum.empty()) sum += " + ";
    sum += (narrow ? "" : "(long long)") + what;
    if (stride != 1) sum += " * " + decimal(stride);
  };
  for (size_t v = 0; v < a.strides.size(); ++v)
    if (a.strides[v] != 0) add(variable(v), a.strides[v]);
  for (const Access::Term& t : a.terms) {
    const Resolved& r = resolve(t);
    if (!r.outside.empty()) inside += (inside.empty() ? "!" : " && !") + r.outside;
    add("(" + type + ")" + r.index, t.stride);
  }
  if (a.offset != 0) sum += (sum.empty() ? "" : " + ") + decimal(a.offset);
  return sum.empty() ? "0" : sum;
}

Scalar StageWriter::load(const Expr& e) {
  const ir::DType t = kernel_.buffers[e.access.buffer].dtype;
  std::string inside;
  const std::string at = position(e.access, inside);
  // Nothing can be read of an empty dim, whose access has been reported.
  const bool nothing =
      std::any_of(e.access.terms.begin(), e.access.terms.end(), [](const auto& x) { return x.extent == 0; });
  if (nothing) return scalars_.constantOfBits(0, t);
  const std::string name = out_.fresh("x");
  out_.line("const " + std::string(memoryType(t)) + " " + name + " = " + names_.buffers[e.access.buffer] + "[" +
            (condition_.empty() ? at : condition_ + " ? " + at + " : 0") + "];");
  return scalars_.fromMemory(name, t);
}

std::string StageWriter::address(const Access& a) {
  std::string inside;
  const std::string at = position(a, inside);
  // One index, and not a pointer moved step by step: NVVM keeps vectors together then.
  return names_.buffers[a.buffer] + (at.find(' ') == std::string::npos ? " + " + at : " + (" + at + ")");
}

void StageWriter::store(const Store& s, const std::string& instead) {
  const ir::DType t = kernel_.buffers[s.access.buffer].dtype;
  if (!instead.empty()) {
    out_.line((condition_.empty() ? "" : "if (" + condition_ + ") ") + instead + " = " +
              scalars_.toMemory(value(s.value), t) + ";");
    return;
  }
  std::string inside;
  const std::string at = position(s.access, inside);
  if (std::any_of(s.access.terms.begin(), s.access.terms.end(), [](const auto& x) { return x.extent == 0; })) return;
  const std::string statement =
      names_.buffers[s.access.buffer] + "[" + at + "] = " + scalars_.toMemory(value(s.value), t) + ";";
  out_.line((inside.empty() ? "" : "if (" + inside + ") ") + statement);
}

void StageWriter::body() {
  for (const Store& s : stage_.stores) value(s.value);
  for (uint32_t r : stage_.reductions) {
    value(kernel_.reductions[r].value);
    if (kernel_.reductions[r].position != kNoExpr) value(kernel_.reductions[r].position);
  }
  for (size_t i = 0; i < stage_.stores.size(); ++i) store(stage_.stores[i], collected_[i]);
}

Accumulated StageWriter::term(const ScalarReducer& reducer, uint32_t reduction) {
  const Reduction& r = kernel_.reductions[reduction];
  const Scalar v = value(r.value);
  if (r.position == kNoExpr) return reducer.term(v, v);
  const Scalar position = value(r.position);
  return reducer.term(v,
                      reducer.positions() == Repr::I32 ? convert(ConvertInst::Trunc, position, Repr::I32) : position);
}

}  // namespace tenc::codegen::cuda
