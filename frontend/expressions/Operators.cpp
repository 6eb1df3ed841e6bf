// Operators: compile-time arithmetic where it is exact, matrix products, and the mapping of operators to ops.
#include "frontend/expressions/Operators.h"

#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Elementwise.h"
#include "frontend/expressions/Operands.h"
#include "frontend/habits/Idioms.h"
#include "frontend/names/Devices.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "ir/build/Compose.h"
#include "runtime/io/Io.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;
}  // namespace

Val Operators::compareDevices(std::string_view op, const Val& a, const Val& b, Span span) {
  if (op != "==" && op != "!=") return context_.fail(Code::E0203, span, "devices are compared with `==` and `!=` only");
  const DeviceRef &x = a.device, &y = b.device;
  auto known = [](const DeviceRef& d) { return !d.of && !d.name.starts_with('$'); };
  if (known(x) && known(y))
    return Val::ofBool((devices_.actualDevice(x.name) == devices_.actualDevice(y.name)) == (op == "=="), span);
  context_.at(span);
  std::vector<ir::Value*> operands;
  std::vector<std::string> names;
  for (const DeviceRef* d : {&x, &y}) {
    if (d->of)
      operands.push_back(d->of);
    else
      names.push_back(d->name);
  }
  // A device variable stands for a value only through the attribute, so two of them are named together.
  std::vector<ir::Builder::NamedAttr> attrs;
  if (!names.empty()) attrs.push_back({"device", names.size() == 1 ? names[0] : names[0] + " " + names[1]});
  ir::Value* r =
      context_.b().makeTyped(OpKind::DeviceEq, operands, {ir::Type{ir::DType::Bool, {}, {}}}, attrs)->result();
  if (op == "!=") r = context_.b().value(OpKind::Not, {r});
  return Val::ofTensor(r, span);
}

Val Operators::compareText(std::string_view op, const Val& choice, const Val& text, Span span) {
  if (op != "==" && op != "!=") return context_.fail(Code::E0203, span, "strings are compared with `==` and `!=` only");
  context_.at(span);
  ir::Compose c(context_.b());
  ir::Value *which = choice.elems[0].tensor, *same = nullptr;
  const std::vector<std::string> texts = rt::choiceTexts(choice.text);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] != text.text) continue;
    ir::Value* one = c.binary(OpKind::Eq, which, context_.b().scalarInt(ir::DType::I64, static_cast<int64_t>(i)));
    same = same ? c.binary(OpKind::Or, same, one) : one;
  }
  if (!same) return Val::ofBool(op == "!=", span);
  return Val::ofTensor(op == "!=" ? context_.b().value(OpKind::Not, {same}) : same, span);
}

Val Operators::compareChoices(std::string_view op, const Val& a, const Val& b, Span span) {
  if (op != "==" && op != "!=") return context_.fail(Code::E0203, span, "strings are compared with `==` and `!=` only");
  context_.at(span);
  ir::Compose c(context_.b());
  const auto isThe = [&](const Val& v, size_t i) {
    return c.binary(OpKind::Eq, v.elems[0].tensor, context_.b().scalarInt(ir::DType::I64, static_cast<int64_t>(i)));
  };
  const std::vector<std::string> left = rt::choiceTexts(a.text), right = rt::choiceTexts(b.text);
  ir::Value* same = nullptr;
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t k = 0; k < right.size(); ++k) {
      if (left[i] != right[k]) continue;
      ir::Value* both = c.binary(OpKind::And, isThe(a, i), isThe(b, k));
      same = same ? c.binary(OpKind::Or, same, both) : both;
    }
  }
  if (!same) return Val::ofBool(op == "!=", span);
  return Val::ofTensor(op == "!=" ? context_.b().value(OpKind::Not, {same}) : same, span);
}

Val Operators::binary(std::string_view op, const Val& a, const Val& b, Span span, Span opSpan) {
  if (a.poison() || b.poison()) return context_.lost();
  if (a.isNumber() && b.isNumber()) {
    if (auto folded = evaluator_.foldNumbers(op, a, b, span)) return *folded;
  }
  using Kind = Val::Kind;
  if (a.is(Kind::Device) && b.is(Kind::Device)) return compareDevices(op, a, b, span);
  if (a.isChoice() && b.isChoice()) return compareChoices(op, a, b, span);
  if ((a.isChoice() && b.is(Kind::String)) || (a.is(Kind::String) && b.isChoice()))
    return a.isChoice() ? compareText(op, a, b, span) : compareText(op, b, a, span);
  auto comparable = [](const Val& v) {
    return v.is(Kind::String) || v.is(Kind::DType) || v.is(Kind::Bool) || v.is(Kind::Pack);
  };
  if ((comparable(a) && comparable(b)) ||
      ((a.is(Kind::Pack) || b.is(Kind::Pack)) && !a.is(Kind::Tensor) && !b.is(Kind::Tensor))) {
    return evaluator_.compareStatic(op, a, b, span);
  }
  context_.at(opSpan, {{a.span, ""}, {b.span, ""}});
  if (op == "@") return matmul(a, b, span, opSpan);
  const std::optional<OpKind> kind = operatorNamed(op);
  if (!kind) return context_.fail(Code::E0203, opSpan, "`" + std::string(op) + "` is not an operator here");
  // Elements that are written there are known as a number alone is.
  const auto wholes = a.is(Kind::Array) && adoptsWholly(a) && !hasFloat(a);
  const bool ofIntegers = wholes || (a.is(Kind::Tensor) && ir::isInt(a.tensor->type.dtype));
  if (kind == OpKind::Pow && ofIntegers && b.is(Kind::Int) && b.integer < 0) {
    auto d = context_.error(Code::E0212, opSpan, "an integer to a negative power is not an integer");
    const bool isAssigned = opSpan.end - opSpan.begin > op.size();  // `**=` keeps the dtype
    if (!isAssigned) d.help("write the base as a float", negativePower(context_.sources, a));
    return Val(d);
  }
  Val r = elementwise_.elementwise(*kind, {a, b}, opSpan, op);  // errors stand at the operator, the value is the whole
  r.span = span;
  return r;
}

Val Operators::matmul(const Val& a, const Val& b, Span span, Span opSpan) {
  if (a.isTree() || b.isTree()) {
    return context_.fail(Code::E0203, opSpan, "`@` takes tensors, not " + describe(a.isTree() ? a : b));
  }
  auto dtype = commonDType(context_, {a, b}, opSpan, "@");
  if (!dtype) return context_.lost();
  ir::Value* x = tensors_.tensorOf(a, dtype);
  ir::Value* y = tensors_.tensorOf(b, dtype);
  if (!x || !y) return context_.lost();
  context_.at(opSpan);
  const ir::Dims xs = x->type.shape, ys = y->type.shape;
  auto shapes = [&] { return ir::toString(x->type) + " @ " + ir::toString(y->type); };
  if (xs.empty() || ys.empty()) {
    return Val(context_.error(Code::E0202, opSpan, "`@` needs operands of at least one dim: " + shapes())
                   .help("a product with a single number is `*`"));
  }
  if (*dtype == ir::DType::Bool)
    return context_.fail(Code::E0201, opSpan, "`@` needs numbers, but both operands are bool");
  const int64_t k = xs.back(), k2 = ys.size() == 1 ? ys[0] : ys[ys.size() - 2];
  if (k != k2) {
    auto d = context_.error(
        Code::E0202, opSpan,
        "inner dims of `@` differ: " + std::to_string(k) + " and " + std::to_string(k2) + " in " + shapes());
    d.label(a.span, ir::toString(x->type)).label(b.span, ir::toString(y->type));
    if (ys.size() > 1 && ys.back() == k && b.span.valid())
      d.help("the last dims of both agree: transpose the right operand",
             {{{b.span.file, b.span.end, b.span.end}, ".T"}});
    return d;
  }
  const auto plan = ir::Compose::planProduct(xs, ys);
  if (!plan) { return Val(context_.error(Code::E0202, opSpan, "batch dims of `@` do not broadcast: " + shapes())); }
  for (const ir::Dims& shape : {plan->out, plan->spread(plan->left), plan->spread(plan->right)}) {
    if (!countable(context_, shape, opSpan, "@")) return context_.lost();
  }
  return Val::ofTensor(ir::Compose(context_.b()).matmul(x, y), span);
}

}  // namespace tenc::frontend
