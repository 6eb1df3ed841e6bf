// The dtype and shape that the operands of an op agree on.
#include "frontend/expressions/Operands.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/PercentFormat.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StartValues.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/habits/WiderNumbers.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Literals.h"
#include "ir/DeviceTable.h"

namespace tenc::frontend {

namespace {
using ir::DType;

/// Whether `x` is what a statement `x += ...` updates, whose sign stands at `sign`.
bool isUpdated(const ir::SourceTexts& texts, Span x, Span sign) {
  const ir::SourceText* t = texts.find(sign);
  return t && t->kind == ir::SourceText::Kind::Update && x.begin == t->whole.begin;
}

/// Whether `v` is an array of literals some of which f32 does not hold as they are written.
bool isRoundedLiteral(const Val& v) {
  const ir::Op* op = v.is(Val::Kind::Tensor) ? v.tensor->op : nullptr;
  if (!op || op->kind != ir::OpKind::Constant || v.tensor->type.dtype != DType::F32) return false;
  const auto& data = std::get<ir::Data>(*op->find("value"));
  for (size_t i = 0; data && i + sizeof(float) <= data->size(); i += sizeof(float)) {
    float number;
    std::memcpy(&number, data->data() + i, sizeof number);
    char text[32];
    double written = 0;
    std::from_chars(text, std::to_chars(text, text + sizeof text, number).ptr, written);
    if (std::isfinite(number) && written != static_cast<double>(number)) return true;
  }
  return false;
}

/// What a string among the operands is written as that holds the name of a device.
std::optional<Edit> quotedDevice(Context& context, const std::vector<Val>& operands) {
  for (const Val& v : operands) {
    const std::string_view text = v.is(Val::Kind::String) && v.span.valid() ? context.sources.text(v.span) : "";
    if (text.size() < 3 || text.front() != '"') continue;
    const std::string name(text.substr(1, text.size() - 2));
    if (ir::DeviceTable::couldBe(name)) return Edit{v.span, name};
  }
  return std::nullopt;
}

bool isUpdate(std::string_view opName) {
  return opName.size() > 1 && opName.ends_with('=') &&
         std::string_view("=!<>").find(opName[0]) == std::string_view::npos;
}
bool isLogical(std::string_view opName) { return opName == "and" || opName == "or"; }
}  // namespace

namespace {
/// `i64(2.9)` for what is assigned to elements of integers; none where nothing but a list can
/// have made them, which in Python would keep the fraction, or where the variable has other values, which may be floats
/// there.
std::vector<Edit> cutOff(Context& context, const Val& variable, const Val& value) {
  const ast::File* file = context.frame().unit->file;
  const ast::Expr* start = file ? expressionAt(*file, variable.span) : nullptr;
  const ast::Stmt* declared = start ? placeIn(*file, variable.span).statement : nullptr;
  const auto isDType = [](const ast::Argument& a) { return a.name && a.name->text == "dtype"; };
  if (!declared || start->kind != ast::Expr::Kind::Call || !value.span.valid() ||
      (start->args[0]->text != "arange" && std::ranges::none_of(start->arguments, isDType)))
    return {};
  bool fixed = true;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const bool whole = s.kind == ast::Stmt::Kind::Assign && s.op == "=" && s.target->kind == ast::Expr::Kind::Name;
    fixed = fixed && !(whole && s.target->text == nameBound(*declared));
  };
  visitAround(*file, variable.span, visitor);
  if (!fixed) return {};
  const std::string name(ir::name(*ownDType(variable)));
  return {{Span{value.span.file, value.span.begin, value.span.begin}, name + "("},
          {Span{value.span.file, value.span.end, value.span.end}, ")"}};
}

struct IntegerOperand {
  DType dtype;
  Span span;
};
/// Offers what holds the integers of both operands, as in NumPy and PyTorch.
void widen(Diagnostics::Builder& d, const IntegerOperand& a, const IntegerOperand& b) {
  const size_t most = std::max(ir::byteSize(a.dtype), ir::byteSize(b.dtype));
  const IntegerOperand& wider = ir::byteSize(a.dtype) < ir::byteSize(b.dtype) ? b : a;
  DType both = wider.dtype;
  if (ir::isSigned(a.dtype) != ir::isSigned(b.dtype)) {
    // One more bit than the unsigned one has.
    const size_t bytes = ir::isSigned(wider.dtype) && ir::byteSize(a.dtype) != ir::byteSize(b.dtype) ? most : 2 * most;
    const auto named = ir::dtypeNamed("i" + std::to_string(8 * bytes));
    if (!named) {
      d.help("there is no implicit conversion, and no dtype holds the integers of both");
      return;
    }
    both = *named;
  }
  const std::string name(ir::name(both));
  std::vector<Edit> edits;
  for (const IntegerOperand& o : {a, b}) {
    if (o.dtype == both) continue;
    edits.push_back({Span{o.span.file, o.span.begin, o.span.begin}, name + "("});
    edits.push_back({Span{o.span.file, o.span.end, o.span.end}, ")"});
  }
  d.help("there is no implicit conversion: write `" + name + "(...)`", std::move(edits));
}

}  // namespace

std::optional<DType> commonDType(Context& context, const std::vector<Val>& operands, Span span,
                                 std::string_view opName) {
  const Val* decides = nullptr;
  for (const Val& v : operands) {
    if (v.poison()) return std::nullopt;
    if (isRunTimeSize(v)) {
      refuseRunTimeSize(context, v);
      return std::nullopt;
    }
    if (!ownDType(v)) {
      auto d = context.error(Code::E0203, v.span.valid() ? v.span : span,
                             "`" + std::string(opName) + "` takes tensors and numbers, not " + describe(v));
      if (const auto named = v.is(Val::Kind::Device) ? quotedDevice(context, operands) : std::nullopt)
        d.help("a device is written without quotes", {*named});
      if (opName == "[ ]" && v.is(Val::Kind::String)) d.help("a tuple holds strings", asTuple(context.sources, span));
      if ((opName == "+" || opName == "%") && (v.is(Val::Kind::String) || v.is(Val::Kind::Format))) {
        const bool percent = opName == "%" && operands.size() == 2 && &v == &operands[0];
        if (const auto made = percent ? withBraces(context.sources, v, operands[1]) : std::nullopt)
          d.help("put values into a string with braces", {{Span::cover(v.span, operands[1].span), *made}});
        else
          d.help("put values into a string with braces: `\"loss: {x}\"`");
      }
      return std::nullopt;
    }
    if (adoptsWholly(v)) continue;
    const bool higher = decides && rankOf(v) > 0 && rankOf(*decides) == 0;
    if (!decides || higher) decides = &v;
  }
  if (!decides) return dtypeAlone(operands);
  const DType t = *ownDType(*decides);
  for (const Val& v : operands) {
    const DType own = *ownDType(v);
    if (adoptsWholly(v)) {
      if (hasFloat(v) && !ir::isFloat(t)) {
        auto d = context.error(
            Code::E0201, span,
            "`" + std::string(opName) + "` has operands of " + std::string(ir::name(t)) + " and of a float literal");
        d.label(decides->span, describe(*decides));
        const std::string other(context.sources.text(decides->span));
        if (mayChangeType(context, decides->span))
          d.help("there is no implicit conversion: a dtype converts, `f32(x)`");
        else if (isLogical(opName))
          d.help("`x != 0.0` makes a bool of a number, `f32(b)` a number of a bool");
        else if (isUpdated(*context.module.texts, decides->span, span))
          d.help(floatStartOf(context, decides->span)
                     .value_or(
                         Help{"a variable keeps its dtype: one of floats starts as a float, as in `var x = 0.0`", {}}));
        else if (opName == "=")
          d.help("a variable keeps its dtype: one of floats starts with floats, as in `var x = [1.0, 2.0]`; `" +
                     std::string(ir::name(t)) + "(...)` cuts off the fraction, as NumPy and PyTorch do without a word",
                 cutOff(context, *decides, v));
        else if (isUpdate(opName))  // floats from the start would keep what NumPy cuts off
          d.help("a variable keeps its dtype: one of floats starts with floats, as in `var x = [1.0, 2.0]`");
        else if (other.empty() || other.find('\n') != std::string::npos)
          d.help("convert the other operand: `f32(...)`");
        else
          d.help("convert the other operand", {{decides->span, "f32(" + other + ")"}});
        return std::nullopt;
      }
      if (t == DType::Bool) {
        auto d = context.error(Code::E0201, span, "`" + std::string(opName) + "` has operands of bool and of a number");
        if (isLogical(opName)) d.help("`x != 0` makes a bool of a number, `i64(b)` a number of a bool");
        return std::nullopt;
      }
      continue;
    }
    const bool widened = rankOf(v) == 0 && rankOf(*decides) > 0 && ir::isFloat(own) && ir::isFloat(t);
    if (own != t && !widened) {
      auto d = context.error(Code::E0201, span,
                             "operands of `" + std::string(opName) + "` are " +
                                 std::string(ir::name(*ownDType(operands[0]))) + " and " +
                                 std::string(ir::name(own == *ownDType(operands[0]) ? t : own)));
      for (const Val& o : operands) {
        if (o.span.valid()) d.label(o.span, describe(o));
      }
      if (mayChangeType(context, v.span) || mayChangeType(context, decides->span)) {
        d.help("there is no implicit conversion: a dtype converts, `f32(x)`");
        return std::nullopt;
      }
      const bool toFloat = ir::isFloat(t) || ir::isFloat(own);
      // An integer becomes a float, the narrower of two floats the wider.
      const bool both = ir::isFloat(own) && ir::isFloat(t);
      const bool other = both ? ir::byteSize(own) > ir::byteSize(t) : ir::isFloat(own);
      const Val& integer = other ? *decides : v;
      const DType whole = ownDType(integer).value_or(t), wide = other ? own : t;
      if (toFloat && !both && ir::byteSize(whole) >= ir::byteSize(wide) && ir::byteSize(wide) < 4) {
        d.help("there is no implicit conversion: " + std::string(ir::name(wide)) +
               " does not hold all integers of that size, and `f32(...)` of both holds more");
      } else if (toFloat && integer.span.valid()) {
        const std::string name(ir::name(other ? own : t));
        if (both && isRoundedLiteral(integer))  // to convert it would keep what is rounded
          d.help("these numbers were rounded to " + std::string(ir::name(integer.tensor->type.dtype)) +
                 "; write the type where they are bound: `: " +
                 ir::toString(ir::Type{other ? own : t, integer.tensor->type.shape, {}}) + "`");
        else if (const auto wider = both ? madeWider(context, integer.span, other ? own : t) : std::nullopt)
          d.help("there is no implicit conversion: make it with `dtype: " + name + "`", *wider);
        else
          d.help("there is no implicit conversion: write `" + name + "(...)`",
                 {{Span{integer.span.file, integer.span.begin, integer.span.begin}, name + "("},
                  {Span{integer.span.file, integer.span.end, integer.span.end}, ")"}});
      }
      if (!toFloat && t != DType::Bool && own != DType::Bool && v.span.valid() && decides->span.valid())
        widen(d, {own, v.span}, {t, decides->span});
      return std::nullopt;
    }
  }
  return t;
}

namespace {
/// `var n = 0` as `var n = 0.0`.
std::optional<Edit> startAsFloat(Context& context, Span declared) {
  const ast::File* file = context.frame().unit->file;
  const ast::Stmt* made = file && declared.valid() ? placeIn(*file, declared).statement : nullptr;
  if (!made || made->kind != ast::Stmt::Kind::Var || made->type || !made->value) return std::nullopt;
  if (made->value->kind != ast::Expr::Kind::Int) return std::nullopt;
  const Span at = made->value->span;
  return Edit{Span{at.file, at.end, at.end}, ".0"};
}
}  // namespace

bool changesDType(Context& context, const Val& old, const Val& value, std::string_view op, Span span, Span declared) {
  if (old.isTree() || value.isTree() || adoptsWholly(value) || adoptsWholly(old)) return false;
  const auto is = ownDType(old), given = ownDType(value);
  if (!is || !given || *is == *given) return false;
  if (rankOf(value) == 0 && ir::isFloat(*is) && ir::isFloat(*given) && rankOf(old) > 0) return false;
  const std::string left(ir::name(*is)), right(ir::name(*given));
  auto d = context.error(Code::E0201, span, "`" + std::string(op) + "` updates " + left + " with " + right);
  if (value.span.valid()) d.label(value.span, describe(value));
  if (declared.valid()) d.note(declared, "it is " + left + " since its declaration, which may say `: " + right + "`");
  if (ir::isInt(*is) && ir::isFloat(*given)) {
    if (const auto start = startAsFloat(context, declared))
      d.help("a sum of floats starts as a float", {*start});
    else
      d.help("`" + left + "(...)` converts, and cuts off the fraction");
    return true;
  }
  if (*is != DType::Bool && value.span.valid()) {
    d.help("there is no implicit conversion: write `" + left + "(...)`",
           {{Span{value.span.file, value.span.begin, value.span.begin}, left + "("},
            {Span{value.span.file, value.span.end, value.span.end}, ")"}});
  }
  return true;
}

bool countable(Context& context, const ir::Dims& shape, Span span, std::string_view opName) {
  if (ir::elementCount(shape)) return true;
  context.fail(Code::E0208, span,
               "`" + std::string(opName) + "` would give a tensor of shape " + ir::toString(shape) +
                   ", which has more elements than can be counted");
  return false;
}

}  // namespace tenc::frontend
