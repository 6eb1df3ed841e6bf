#include "frontend/values/Exact.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "frontend/values/Numbers.h"
#include "ir/Scalar.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;

/// Of a constant that f32 rounds: the number as it is written.
constexpr const char* kWritten = "literal.written";
/// Of a conversion to f32: its operand is made of literals alone.
constexpr const char* kRounds = "literal.rounds";
constexpr size_t kMostOps = 64;

/// What branches give for result `v` of an `if`; empty where they compute it.
std::vector<ir::Value*> chosen(const ir::Value* v) {
  std::vector<ir::Value*> values;
  if (v->op->kind != OpKind::If) return values;
  for (const auto& region : v->op->regions) {
    const ir::Op* end = region->ops.empty() ? nullptr : region->terminator();
    if (end == nullptr || v->index >= end->operandCount()) return {};
    values.push_back(end->operand(v->index));
  }
  return values;
}

struct Found {
  size_t ops = 0;
  bool written = false;  ///< a number that f32 rounds
};

/// Whether `v` is made of constants of f32 by operations on single numbers, and of conditions.
bool ofConstants(const ir::Value* v, Found& found) {
  if (v->op == nullptr || ++found.ops > kMostOps) return false;
  if (v->type.dtype != DType::F32 || v->type.rank() != 0) return false;
  if (v->op->kind == OpKind::Constant) {
    found.written = found.written || v->op->hasAttr(kWritten);
    return true;
  }
  const std::vector<ir::Value*> parts = chosen(v);
  if (!parts.empty()) {
    return std::all_of(parts.begin(), parts.end(), [&](const ir::Value* p) {
      return p->op != nullptr && p->op->kind == OpKind::Constant && ofConstants(p, found);
    });
  }
  if (v->op->hasAttr(kRounds)) return found.written = true;
  if (!v->op->has(ir::Trait::Elementwise)) return false;
  return std::all_of(v->op->operands().begin(), v->op->operands().end(),
                     [&](const ir::Value* o) { return o->type.dtype == DType::Bool || ofConstants(o, found); });
}
}  // namespace

ir::Value* exactLiteral(ir::Builder& b, const Val& v) {
  if (!v.isNumber() || !v.adopts || v.dtype != (v.is(Val::Kind::Int) ? DType::I64 : DType::F32)) return nullptr;
  const double number = asDouble(v);
  ir::Value* made = b.scalar(DType::F32, number);
  if (!std::isnan(number) && rounded(number, DType::F32) != number) made->op->set(kWritten, number);
  return made;
}

bool isExact(const ir::Value* v) {
  Found found;
  return ofConstants(v, found) && found.written;
}

bool isConstant(const ir::Value* v) { return v->op != nullptr && v->op->kind == OpKind::Constant; }

ir::Value* roundedExactly(ir::Builder& b, ir::Value* v) {
  if (v->type.rank() != 0 || v->type.dtype != DType::F64) return v;
  return b.value(OpKind::Cast, {v}, {{"dtype", DType::F32}, {kRounds, true}});
}

ir::Value* exactly(ir::Builder& b, ir::Value* v) {
  if (v->type.dtype == DType::Bool) return v;
  if (v->op->kind == OpKind::Constant) {
    const ir::Attr* written = v->op->find(kWritten);
    return b.scalar(DType::F64, written ? std::get<double>(*written) : ir::constantScalar(v)->f);
  }
  if (v->op->hasAttr(kRounds)) return v->op->operand(0);
  const std::vector<ir::Value*> parts = chosen(v);
  if (!parts.empty()) {
    return b.value(OpKind::Where, {v->op->operand(0), exactly(b, parts[0]), exactly(b, parts[1])});
  }
  std::vector<ir::Value*> operands;
  for (ir::Value* operand : v->op->operands()) operands.push_back(exactly(b, operand));
  std::vector<ir::Builder::NamedAttr> attrs;
  for (const auto& [name, value] : v->op->attrs()) attrs.push_back({name, value});
  return b.value(v->op->kind, operands, attrs);
}

}  // namespace tenc::frontend
