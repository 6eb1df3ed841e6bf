// Elementwise ops: the dtype that operands agree on, broadcasting, trees leaf by leaf.
#include "frontend/expressions/Elementwise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/expressions/Operands.h"
#include "frontend/habits/Idioms.h"
#include "frontend/values/Exact.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/Ir.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
using ir::Trait;
}  // namespace

std::vector<ir::Value*> Elementwise::together(const std::vector<Val>& operands, Span span, std::string_view opName) {
  auto dtype = commonDType(context_, operands, span, opName);
  if (!dtype) return {};
  return broadcastAll(operands, *dtype, span, opName);
}

std::vector<ir::Value*> Elementwise::broadcastAll(const std::vector<Val>& operands, DType dtype, Span span,
                                                  std::string_view opName) {
  std::vector<ir::Value*> values;
  ir::Dims shape;
  // Of literals alone, which may meet an f64 later.
  const bool literals = dtype == DType::F32 && std::all_of(operands.begin(), operands.end(), [](const Val& v) {
                          return (v.isNumber() && v.adopts) || (v.is(Val::Kind::Tensor) && isExact(v.tensor));
                        });
  for (const Val& v : operands) {
    ir::Value* t = literals ? exactLiteral(context_.b(), v) : nullptr;
    if (!t) t = tensors_.tensorOf(v, dtype);
    if (!t) return {};
    auto both = ir::broadcastShapes(shape, t->type.shape);
    if (!both) {
      auto d = context_.error(Code::E0202, span,
                              "shapes do not broadcast: " + ir::toString(shape) + " and " +
                                  ir::toString(t->type.shape) + " in `" + context_.calledAs(span, opName) + "`");
      for (const Val& o : operands) {
        if (o.span.valid() && rankOf(o) > 0) d.label(o.span, describe(o));
      }
      // A reduction that lost its dim, mostly.
      const ir::Dims& other = t->type.shape;
      const bool shorter = other.size() < shape.size();
      const ir::Dims &few = shorter ? other : shape, &many = shorter ? shape : other;
      if (!few.empty() && few.size() + 1 == many.size() && std::equal(few.begin(), few.end(), many.begin()))
        d.help(
            "dims are matched from the last on: a reduction keeps its dim with `keep: true`, and `[..., new]` adds "
            "one");
      return {};
    }
    shape = *both;
    values.push_back(t);
  }
  if (!countable(context_, shape, span, opName)) return {};
  context_.at(span);
  for (ir::Value*& v : values) v = context_.b().broadcastTo(v, shape);
  return values;
}

Val Elementwise::overTrees(const std::vector<Val>& operands, Span span, std::string_view opName,
                           const std::function<Val(const std::vector<Val>&)>& leaf) {
  const Val* like = nullptr;
  for (const Val& v : operands) {
    if (v.poison()) return v;
    if (!v.isTree()) continue;
    if (!like) like = &v;
    if (!sameStructure(*like, v)) {
      auto d = context_.error(Code::E0203, span, "`" + std::string(opName) + "` takes trees of one structure");
      d.label(like->span, describe(*like)).label(v.span, describe(v));
      return d;
    }
  }
  for (const Val& v : operands) {
    if (v.isTree()) continue;
    if (!ownDType(v)) {
      commonDType(context_, operands, span, opName);  // says what it is
      return context_.lost();
    }
    if (rankOf(v) > 0) {
      return context_.fail(
          Code::E0203, v.span,
          "beside a tree `" + std::string(opName) + "` takes trees and single numbers, not " + describe(v));
    }
  }
  bool touched = false, left = false, hasState = false;
  std::function<Val(const std::vector<Val>&, bool)> walk = [&](const std::vector<Val>& parts, bool state) -> Val {
    const Val& first = *std::find_if(parts.begin(), parts.end(), [&](const Val& v) { return v.isTree(); });
    Val r = first;
    for (size_t i = 0; i < first.elems.size(); ++i) {
      const bool kept = state || (first.is(Val::Kind::Struct) && first.info->decl->stmt->fields[i].state);
      std::vector<Val> inner;
      bool tree = false;
      const Val* firstLeaf = nullptr;
      for (const Val& v : parts) {
        inner.push_back(v.isTree() ? v.elems[i] : v);
        tree = tree || inner.back().isTree();
        if (v.isTree() && !firstLeaf) firstLeaf = &v.elems[i];
      }
      if (tree) {
        r.elems.edit()[i] = walk(inner, kept);
      } else {
        auto own = ownDType(*firstLeaf);
        if (kept || !own || !ir::isFloat(*own)) {
          r.elems.edit()[i] = *firstLeaf;
          (kept ? hasState : left) = true;
        } else {
          touched = true;
          // A float beside a tree takes each leaf's dtype, also where the leaf is a number as well.
          for (size_t p = 0; p < parts.size(); ++p)
            if (!parts[p].isTree() && inner[p].is(Val::Kind::Tensor) && ir::isFloat(inner[p].tensor->type.dtype))
              inner[p] = Val::ofTensor(ir::Compose(context_.b()).cast(inner[p].tensor, *own), inner[p].span);
          r.elems.edit()[i] = leaf(inner);
        }
      }
      if (r.elems[i].poison()) return r.elems[i];
    }
    return r;
  };
  Val r = walk(operands, false);
  if (!r.poison() && left && !touched && !hasState) return refuseUntouched(operands, span, opName);
  r.span = span;
  return r;
}

Val Elementwise::refuseUntouched(const std::vector<Val>& operands, Span span, std::string_view opName) {
  const std::string op(opName);
  const Val& tree = *std::find_if(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); });
  auto d = context_.error(Code::E0203, span,
                          "`" + op + "` works on the float leaves of a tree, and " + describe(tree) + " has none");
  if (tree.span.valid()) d.label(tree.span, describe(tree));
  // The same of one element, as a script writes it.
  const std::string first = tree.is(Val::Kind::Struct) ? "." + tree.info->decl->stmt->fields[0].name.text
                            : tree.is(Val::Kind::List) ? "[0]"
                                                       : ".0";
  std::vector<std::string> parts;
  for (size_t i = 0; i < operands.size(); ++i)
    parts.push_back(std::string(1, static_cast<char>('a' + i)) + (operands[i].isTree() ? first : ""));
  std::string form;
  if (operands.size() == 1 && op == "-") {
    form = op + parts[0];
  } else if (operands.size() == 1 && op == "not") {
    form = op + " " + parts[0];
  } else if (operands.size() == 2 && operatorNamed(op)) {
    form = parts[0] + " " + op + " " + parts[1];
  } else {
    for (const std::string& part : parts) form += (form.empty() ? op + "(" : ", ") + part;
    form += ")";
  }
  d.help("write it for the elements, as in `" + form + "`; numbers in brackets, `[1, 2]`, are a tensor");
  return d;
}

Val Elementwise::elementwiseBy(const std::vector<Val>& operands, Span span, std::string_view opName, const LeafFn& f) {
  if (std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); })) {
    return overTrees(operands, span, opName,
                     [&](const std::vector<Val>& parts) { return elementwiseBy(parts, span, opName, f); });
  }
  std::vector<ir::Value*> values = together(operands, span, opName);
  if (values.empty()) return context_.lost();
  // Of literals alone it is computed in f64, which its own constants are of, too, and rounded once.
  const bool literals = std::any_of(values.begin(), values.end(), isExact) &&
                        std::all_of(values.begin(), values.end(), [](const ir::Value* v) {
                          return v->type.rank() == 0 && v->type.dtype == DType::F32 && (isConstant(v) || isExact(v));
                        });
  for (ir::Value*& v : values)
    if (literals) v = exactly(context_.b(), v);
  Val r = f(values);
  if (literals && r.is(Val::Kind::Tensor)) r.tensor = roundedExactly(context_.b(), r.tensor);
  r.span = span;
  return r;
}

namespace {

/// Compile-time integers stay compile-time through these, so that they may stand in shapes.
std::optional<Val> foldUnary(OpKind kind, const std::vector<Val>& operands, Span span) {
  const Val& a = operands[0];
  if (!std::all_of(operands.begin(), operands.end(), [](const Val& v) { return v.foldsExactly(); }))
    return std::nullopt;
  if (operands.size() == 1 && a.isNumber()) {
    Val r = a;
    r.span = span;
    switch (kind) {
      case OpKind::Neg: r.integer = -r.integer, r.real = -r.real; return r;
      case OpKind::Abs: r.integer = r.integer < 0 ? -r.integer : r.integer, r.real = std::fabs(r.real); return r;
      default: return std::nullopt;
    }
  }
  if (operands.size() == 2 && a.is(Val::Kind::Int) && operands[1].is(Val::Kind::Int)) {
    const Val& other = operands[1];
    if (kind == OpKind::Max || kind == OpKind::Min) {
      const bool most = kind == OpKind::Max;
      Val r = Val::ofInt(most ? std::max(a.integer, other.integer) : std::min(a.integer, other.integer), span,
                         a.adopts && other.adopts);
      if (r.adopts) r.dtype = dtypeAlone(operands);
      if (!fits(r.integer, r.dtype)) return std::nullopt;
      r.dim = a.dim || other.dim;
      return r;
    }
  }
  if (operands.size() == 1 && kind == OpKind::Not && a.is(Val::Kind::Bool)) return Val::ofBool(!a.boolean, span);
  return std::nullopt;
}
}  // namespace

Val Elementwise::elementwise(OpKind kind, const std::vector<Val>& operands, Span span, std::string_view opName) {
  for (const Val& v : operands) {
    if (v.poison()) return v;
  }
  if (std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); })) {
    return overTrees(operands, span, opName,
                     [&](const std::vector<Val>& parts) { return elementwise(kind, parts, span, opName); });
  }
  if (auto folded = foldUnary(kind, operands, span)) return *folded;
  const ir::OpInfo& info = ir::opInfo(kind);
  const bool select = kind == OpKind::Where;
  std::vector<Val> typed(operands.begin() + (select ? 1 : 0), operands.end());
  auto dtype = commonDType(context_, typed, span, opName);
  if (!dtype) return context_.lost();
  if (info.has(Trait::FloatOnly) && std::all_of(typed.begin(), typed.end(), adoptsWholly)) {
    if (!ir::isFloat(*dtype) && kind != OpKind::Div) dtype = DType::F32;
  }
  auto refuse = [&](std::string_view needs) {
    auto d = context_.error(
        Code::E0201, span,
        "`" + std::string(opName) + "` needs " + std::string(needs) + ", not " + std::string(ir::name(*dtype)));
    for (const Val& o : typed) {
      if (o.span.valid()) d.label(o.span, describe(o));
    }
    if (info.has(Trait::FloatOnly) && typed.size() == 1 && typed[0].span.valid()) {
      const Span at = typed[0].span;
      d.help("convert the operand",
             {{Span{at.file, at.begin, at.begin}, "f32("}, {Span{at.file, at.end, at.end}, ")"}});
    }
    if (kind == OpKind::Div && typed.size() == 2) {
      const bool isAssigned = span.end - span.begin > opName.size();  // `/=` keeps the dtype
      if (!isAssigned)
        d.help("`/` divides floats: `f32(x)` converts", dividedAsFloats(context_.sources, typed[0], typed[1]));
      d.help(isAssigned ? "`//=` divides integers, rounding down; a variable that starts as a float is divided by `/=`"
                        : "`//` divides integers, rounding down");
    }
    return Val(d);
  };
  if (info.has(Trait::FloatOnly) && !ir::isFloat(*dtype)) return refuse("floats");
  if (info.has(Trait::BoolOnly) && *dtype != DType::Bool) return refuse("bools");
  if (info.has(Trait::IntOnly) && !ir::isInt(*dtype) && !(info.has(Trait::BoolOk) && *dtype == DType::Bool)) {
    return refuse(info.has(Trait::BoolOk) ? "integers or bools" : "integers");
  }
  if (!info.has(Trait::BoolOk) && *dtype == DType::Bool) return refuse("numbers");
  std::vector<ir::Value*> values;
  if (select) {
    ir::Value* c = tensors_.tensorOf(operands[0]);
    if (!c) return context_.lost();
    if (c->type.dtype != DType::Bool) {
      return context_.fail(Code::E0201, operands[0].span,
                           "the condition of `where` must be bool, not " + describe(operands[0]));
    }
    values = broadcastAll(typed, *dtype, span, opName);
    if (values.empty()) return context_.lost();
    auto shape = ir::broadcastShapes(c->type.shape, values[0]->type.shape);
    if (!shape) {
      return context_.fail(Code::E0202, span,
                           "shapes do not broadcast: " + ir::toString(c->type.shape) + " and " +
                               ir::toString(values[0]->type.shape) + " in `where`");
    }
    if (!countable(context_, *shape, span, opName)) return context_.lost();
    context_.at(span);
    for (ir::Value*& v : values) v = context_.b().broadcastTo(v, *shape);
    values.insert(values.begin(), context_.b().broadcastTo(c, *shape));
  } else {
    values = broadcastAll(typed, *dtype, span, opName);
    if (values.empty()) return context_.lost();
  }
  return make(kind, values, {}, span);
}

Val Elementwise::make(OpKind kind, std::vector<ir::Value*> operands, std::vector<ir::Builder::NamedAttr> attrs,
                      Span span) {
  ir::Inferred inferred = ir::infer(kind, ir::typesOf(operands), [&](std::string_view name) -> const ir::Attr* {
    for (const auto& a : attrs) {
      if (a.name == name) return &a.value;
    }
    return nullptr;
  });
  if (!inferred.ok()) return context_.fail(Code::E0202, span, inferred.error);
  context_.at(span);
  return Val::ofTensor(
      context_.b().makeTyped(kind, std::move(operands), std::move(inferred.types), std::move(attrs))->result(), span);
}

}  // namespace tenc::frontend
