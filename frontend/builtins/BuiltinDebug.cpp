// Looking at values while a script runs.
#include <limits>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/expressions/Formats.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

using ir::DType;
using ir::OpKind;

namespace {

/// What a line of `dbg` says of a tensor behind its type and place.
class Statistics {
 public:
  explicit Statistics(ir::Compose& compose) : c_(compose) {}

  std::vector<Val> of(ir::Value* x) {
    if (x->type.rank() == 0) return {text(" = "), Val::ofTensor(x)};
    if (c_.sizeOf(x->type.shape) == 0) return {text(", empty")};
    if (x->type.dtype == DType::Bool) return {text(", "), count(x), text(" true")};
    const bool floats = ir::isFloat(x->type.dtype);
    ir::Value* wide = floats ? c_.widen(x) : x;
    ir::Value* finite = floats ? c_.unary(OpKind::IsFinite, wide) : nullptr;
    std::vector<Val> parts = {text(", from "), extreme(wide, finite, false), text(" to "), extreme(wide, finite, true)};
    addMoments(parts, floats ? wide : c_.cast(x, DType::F64), finite);
    if (!floats) return parts;
    ir::Value* none = c_.unary(OpKind::IsNan, wide);
    ir::Value* infinite = c_.unary(OpKind::IsInf, wide);
    parts.insert(parts.end(), {text(", "), count(none), text(" NaN, "), count(infinite), text(" infinite")});
    return parts;
  }

  static Val text(std::string s) { return Val::ofString(std::move(s)); }

 private:
  ir::Value* reduce(OpKind kind, ir::Value* x) { return c_.reduce(kind, x, ir::Compose::allAxes(x->type), false); }
  Val count(ir::Value* flags) { return Val::ofTensor(reduce(OpKind::Sum, c_.cast(flags, DType::I64))); }

  /// Of the finite elements; NaN where there is none, as their mean is.
  Val extreme(ir::Value* x, ir::Value* finite, bool largest) {
    if (finite) x = c_.where(finite, x, c_.extreme(x->type.dtype, !largest));
    ir::Value* v = reduce(largest ? OpKind::ReduceMax : OpKind::ReduceMin, x);
    if (finite) v = c_.where(reduce(OpKind::Any, finite), v, c_.literal(v, std::numeric_limits<double>::quiet_NaN()));
    return Val::ofTensor(v);
  }

  /// Mean and standard deviation (over n, as NumPy's) of the finite elements.
  void addMoments(std::vector<Val>& parts, ir::Value* x, ir::Value* finite) {
    ir::Value* kept = finite ? c_.where(finite, x, c_.literal(x, 0)) : x;
    ir::Value* n = finite ? reduce(OpKind::Sum, c_.cast(finite, x->type.dtype))
                          : c_.literal(x, static_cast<double>(c_.sizeOf(x->type.shape)));
    ir::Value* mean = c_.div(reduce(OpKind::Sum, kept), n);
    ir::Value* distance = c_.sub(x, c_.broadcastTo(mean, x->type.shape));
    ir::Value* squares = c_.mul(distance, distance);
    if (finite) squares = c_.where(finite, squares, c_.literal(x, 0));
    ir::Value* deviation = c_.unary(OpKind::Sqrt, c_.div(reduce(OpKind::Sum, squares), n));
    parts.insert(parts.end(), {text(", mean "), Val::ofTensor(mean), text(", deviation "), Val::ofTensor(deviation)});
  }

  ir::Compose& c_;
};

/// "s.tl:5: x @ w"
std::string head(BuiltinCall& k, const Val& x) {
  const SourceFile& file = k.context.sources.file(k.span.file);
  return file.name() + ":" + std::to_string(file.position(k.span.begin).line) + ": " +
         std::string(x.span.valid() ? k.context.sources.text(x.span) : "a value");
}

bool say(BuiltinCall& k, const std::vector<Val>& parts) {
  FormatParts made = k.formats.formatParts(parts, k.span, "");
  if (!made.ok) return false;
  k.context.at(k.span, made.written);
  k.c.b.make(OpKind::Print, made.operands, {{"pieces", made.pieces}, {"formats", made.formats}});
  return true;
}

Val dbg(BuiltinCall& k) {
  const Val& x = k["x"];
  if (x.poison()) return k.lost();
  const std::string begin = head(k, x);
  return mapLeaves(x, [&](const Val& leaf, const std::string& path, bool) {
    std::vector<Val> parts = {Statistics::text(begin + (path.empty() ? "" : "." + path) + ": ")};
    // A literal stays one for what takes it.
    ir::Value* tensor = leaf.is(Val::Kind::Tensor) || leaf.is(Val::Kind::Array) ? k.tensors.tensorOf(leaf) : nullptr;
    if (leaf.is(Val::Kind::Array) && !tensor) return k.lost();
    if (tensor) {
      ir::Type type = tensor->type;
      type.place = {};
      parts.insert(parts.end(), {Statistics::text(ir::toString(type) + " @"), Val::ofDevice({"", tensor})});
      const std::vector<Val> rest = Statistics(k.c).of(tensor);
      parts.insert(parts.end(), rest.begin(), rest.end());
    } else {
      const bool isText = leaf.is(Val::Kind::String) || leaf.isChoice();
      const bool isValue = isText || leaf.is(Val::Kind::Bool);
      parts.push_back(Statistics::text(isValue ? describe(leaf) + (isText ? " \"" : " ") : describe(leaf)));
      if (isValue) parts.push_back(leaf);
      if (isText) parts.push_back(Statistics::text("\""));
    }
    return say(k, parts) ? leaf : k.lost();
  });
}

constexpr BuiltinRow kRows[] = {
    {"dbg(x)",
     "Gives `x`, and prints its line, text, type and place with its value, or of more elements the range, mean and "
     "deviation of the finite ones, and how many are not; of a tree a line for each tensor.",
     dbg},
};

}  // namespace

std::span<const BuiltinRow> debugBuiltins() { return kRows; }

}  // namespace tenc::frontend
