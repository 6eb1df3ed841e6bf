// Elementwise ops: the dtype that operands agree on, broadcasting, trees leaf by leaf.
#include <algorithm>
#include <cmath>

#include "frontend/Lowering.h"
#include "frontend/values/Literals.h"
#include "ir/build/Compose.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;
using ir::Trait;

/// Whether `x += ...` or the like follows.
bool isUpdated(const SourceManager& sources, Span x) {
  if (!x.valid()) return false;
  const std::string_view rest = sources.file(x.file).text().substr(x.end);
  const size_t op = rest.find_first_not_of(' ');
  const size_t end = op == std::string_view::npos ? op : rest.find_first_not_of("+-*/%", op);
  return end != std::string_view::npos && end > op && rest[end] == '=';
}

bool isLogical(std::string_view opName) { return opName == "and" || opName == "or"; }
}  // namespace

std::optional<DType> Lowering::commonDType(const std::vector<Val>& operands, Span span, std::string_view opName) {
  const Val* decides = nullptr;
  for (const Val& v : operands) {
    if (v.poison()) return std::nullopt;
    if (!ownDType(v)) {
      auto d = error(Code::E0203, v.span.valid() ? v.span : span,
                     "`" + std::string(opName) + "` takes tensors and numbers, not " + describe(v));
      if ((opName == "+" || opName == "%") && (v.is(Val::Kind::String) || v.is(Val::Kind::Format)))
        d.help("texts and numbers are put together by holes: `\"loss: {x}\"`");
      return std::nullopt;
    }
    if (adoptsWholly(v)) continue;
    const bool higher = decides && rankOf(v) > 0 && rankOf(*decides) == 0;
    if (!decides || higher) decides = &v;
  }
  if (!decides) {
    const bool real = std::any_of(operands.begin(), operands.end(), hasFloat);
    return real ? DType::F32 : DType::I64;
  }
  const DType t = *ownDType(*decides);
  for (const Val& v : operands) {
    const DType own = *ownDType(v);
    if (adoptsWholly(v)) {
      if (hasFloat(v) && !ir::isFloat(t)) {
        auto d = error(
            Code::E0201, span,
            "`" + std::string(opName) + "` has operands of " + std::string(ir::name(t)) + " and of a float literal");
        d.label(decides->span, describe(*decides));
        const std::string other(sources.text(decides->span));
        if (isLogical(opName))
          d.help("a number is a condition as `x != 0.0`; a bool is a number as `f32(b)`");
        else if (isUpdated(sources, decides->span))
          d.help("a variable keeps its dtype: one of floats starts as a float, as in `var x = 0.0`");
        else if (other.empty() || other.find('\n') != std::string::npos)
          d.help("convert the other operand: `f32(...)`");
        else
          d.help("convert the other operand", {{decides->span, "f32(" + other + ")"}});
        return std::nullopt;
      }
      if (t == DType::Bool) {
        auto d = error(Code::E0201, span, "`" + std::string(opName) + "` has operands of bool and of a number");
        if (isLogical(opName)) d.help("a number is a condition as `x != 0`; a bool is a number as `i64(b)`");
        return std::nullopt;
      }
      continue;
    }
    const bool widened = rankOf(v) == 0 && rankOf(*decides) > 0 && ir::isFloat(own) && ir::isFloat(t);
    if (own != t && !widened) {
      auto d = error(Code::E0201, span,
                     "operands of `" + std::string(opName) + "` are " + std::string(ir::name(*ownDType(operands[0]))) +
                         " and " + std::string(ir::name(own == *ownDType(operands[0]) ? t : own)));
      for (const Val& o : operands) {
        if (o.span.valid()) d.label(o.span, describe(o));
      }
      const bool toFloat = ir::isFloat(t) || ir::isFloat(own);
      // An integer becomes a float, the narrower of two floats the wider.
      const bool both = ir::isFloat(own) && ir::isFloat(t);
      const bool other = both ? ir::byteSize(own) > ir::byteSize(t) : ir::isFloat(own);
      const Val& integer = other ? *decides : v;
      if (toFloat && integer.span.valid()) {
        const std::string name(ir::name(other ? own : t));
        d.help("nothing is converted silently: write `" + name + "(...)`",
               {{Span{integer.span.file, integer.span.begin, integer.span.begin}, name + "("},
                {Span{integer.span.file, integer.span.end, integer.span.end}, ")"}});
      }
      if (!toFloat && t != DType::Bool && own != DType::Bool && v.span.valid() && decides->span.valid()) {
        // The narrower one is widened.
        const bool narrow = ir::byteSize(own) < ir::byteSize(t);
        const Span at = narrow ? v.span : decides->span;
        const std::string name(ir::name(narrow ? t : own));
        d.help("nothing is converted silently: write `" + name + "(...)`",
               {{Span{at.file, at.begin, at.begin}, name + "("}, {Span{at.file, at.end, at.end}, ")"}});
      }
      return std::nullopt;
    }
  }
  return t;
}

bool Lowering::changesDType(const Val& old, const Val& value, std::string_view op, Span span, Span declared) {
  if (old.isTree() || value.isTree() || adoptsWholly(value) || adoptsWholly(old)) return false;
  const auto is = ownDType(old), given = ownDType(value);
  if (!is || !given || *is == *given) return false;
  if (rankOf(value) == 0 && ir::isFloat(*is) && ir::isFloat(*given) && rankOf(old) > 0) return false;
  const std::string left(ir::name(*is)), right(ir::name(*given));
  auto d = error(Code::E0201, span, "`" + std::string(op) + "` updates " + left + " with " + right);
  if (value.span.valid()) d.label(value.span, describe(value));
  if (declared.valid()) d.note(declared, "it is " + left + " since its declaration, which may say `: " + right + "`");
  if (*is != DType::Bool && value.span.valid()) {
    d.help("nothing is converted silently: write `" + left + "(...)`",
           {{Span{value.span.file, value.span.begin, value.span.begin}, left + "("},
            {Span{value.span.file, value.span.end, value.span.end}, ")"}});
  }
  return true;
}

std::vector<ir::Value*> Lowering::together(const std::vector<Val>& operands, Span span, std::string_view opName) {
  auto dtype = commonDType(operands, span, opName);
  if (!dtype) return {};
  return broadcastAll(operands, *dtype, span, opName);
}

std::vector<ir::Value*> Lowering::broadcastAll(const std::vector<Val>& operands, DType dtype, Span span,
                                               std::string_view opName) {
  std::vector<ir::Value*> values;
  ir::Dims shape;
  for (const Val& v : operands) {
    ir::Value* t = tensorOf(v, dtype);
    if (!t) return {};
    auto both = ir::broadcastShapes(shape, t->type.shape);
    if (!both) {
      auto d = error(Code::E0202, span,
                     "shapes do not broadcast: " + ir::toString(shape) + " and " + ir::toString(t->type.shape) +
                         " in `" + std::string(opName) + "`");
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
  if (!countable(shape, span, opName)) return {};
  at(span);
  for (ir::Value*& v : values) v = b().broadcastTo(v, shape);
  return values;
}

bool Lowering::countable(const ir::Dims& shape, Span span, std::string_view opName) {
  if (ir::elementCount(shape)) return true;
  fail(Code::E0208, span,
       "`" + std::string(opName) + "` would give a tensor of shape " + ir::toString(shape) +
           ", which has more elements than can be counted");
  return false;
}

Val Lowering::overTrees(const std::vector<Val>& operands, Span span, std::string_view opName,
                        const std::function<Val(const std::vector<Val>&)>& leaf) {
  const Val* like = nullptr;
  for (const Val& v : operands) {
    if (v.poison()) return Val::none();
    if (!v.isTree()) continue;
    if (!like) like = &v;
    if (!sameStructure(*like, v)) {
      auto d = error(Code::E0203, span, "`" + std::string(opName) + "` takes trees of one structure");
      d.label(like->span, describe(*like)).label(v.span, describe(v));
      return Val::none();
    }
  }
  for (const Val& v : operands) {
    if (!v.isTree() && rankOf(v) > 0) {
      return fail(Code::E0203, v.span,
                  "beside a tree `" + std::string(opName) + "` takes trees and single numbers, not " + describe(v));
    }
  }
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
        r.elems[i] = walk(inner, kept);
      } else {
        auto own = ownDType(*firstLeaf);
        if (kept || !own || !ir::isFloat(*own)) {
          r.elems[i] = *firstLeaf;
        } else {
          // A float beside a tree takes each leaf's dtype, also where the leaf is a number as well.
          for (size_t p = 0; p < parts.size(); ++p)
            if (!parts[p].isTree() && inner[p].is(Val::Kind::Tensor) && ir::isFloat(inner[p].tensor->type.dtype))
              inner[p] = Val::ofTensor(ir::Compose(b()).cast(inner[p].tensor, *own), inner[p].span);
          r.elems[i] = leaf(inner);
        }
      }
      if (r.elems[i].poison()) return Val::none();
    }
    return r;
  };
  Val r = walk(operands, false);
  r.span = span;
  return r;
}

Val Lowering::elementwiseBy(const std::vector<Val>& operands, Span span, std::string_view opName, const LeafFn& f) {
  if (std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); })) {
    return overTrees(operands, span, opName,
                     [&](const std::vector<Val>& parts) { return elementwiseBy(parts, span, opName, f); });
  }
  std::vector<ir::Value*> values = together(operands, span, opName);
  if (values.empty()) return Val::none();
  Val r = f(values);
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
      r.dim = a.dim || other.dim;
      return r;
    }
  }
  if (operands.size() == 1 && kind == OpKind::Not && a.is(Val::Kind::Bool)) return Val::ofBool(!a.boolean, span);
  return std::nullopt;
}
}  // namespace

Val Lowering::elementwise(OpKind kind, const std::vector<Val>& operands, Span span, std::string_view opName) {
  for (const Val& v : operands) {
    if (v.poison()) return Val::none();
  }
  if (std::any_of(operands.begin(), operands.end(), [](const Val& v) { return v.isTree(); })) {
    return overTrees(operands, span, opName,
                     [&](const std::vector<Val>& parts) { return elementwise(kind, parts, span, opName); });
  }
  if (auto folded = foldUnary(kind, operands, span)) return *folded;
  const ir::OpInfo& info = ir::opInfo(kind);
  const bool select = kind == OpKind::Where;
  std::vector<Val> typed(operands.begin() + (select ? 1 : 0), operands.end());
  auto dtype = commonDType(typed, span, opName);
  if (!dtype) return Val::none();
  if (info.has(Trait::FloatOnly) && std::all_of(typed.begin(), typed.end(), adoptsWholly)) {
    dtype = DType::F32;
    if (opName == "/" && !std::any_of(typed.begin(), typed.end(), hasFloat)) dtype = DType::I64;
  }
  auto refuse = [&](std::string_view needs) {
    auto d =
        error(Code::E0201, span,
              "`" + std::string(opName) + "` needs " + std::string(needs) + ", not " + std::string(ir::name(*dtype)));
    for (const Val& o : typed) {
      if (o.span.valid()) d.label(o.span, describe(o));
    }
    if (needs == "floats" && typed.size() == 1 && typed[0].span.valid()) {
      const Span at = typed[0].span;
      d.help("convert the operand",
             {{Span{at.file, at.begin, at.begin}, "f32("}, {Span{at.file, at.end, at.end}, ")"}});
    }
    if (opName == "/") d.help("`//` divides integers, rounding down; `f32(x)` converts");
    return Val::none();
  };
  if (info.has(Trait::FloatOnly) && !ir::isFloat(*dtype)) return refuse("floats");
  if (info.has(Trait::BoolOnly) && *dtype != DType::Bool) return refuse("bools");
  if (info.has(Trait::IntOnly) && !ir::isInt(*dtype) && !(info.has(Trait::BoolOk) && *dtype == DType::Bool)) {
    return refuse(info.has(Trait::BoolOk) ? "integers or bools" : "integers");
  }
  if (!info.has(Trait::BoolOk) && *dtype == DType::Bool) return refuse("numbers");
  std::vector<ir::Value*> values;
  if (select) {
    ir::Value* c = tensorOf(operands[0]);
    if (!c) return Val::none();
    if (c->type.dtype != DType::Bool) {
      return fail(Code::E0201, operands[0].span, "the condition of `where` is bool, not " + describe(operands[0]));
    }
    values = broadcastAll(typed, *dtype, span, opName);
    if (values.empty()) return Val::none();
    auto shape = ir::broadcastShapes(c->type.shape, values[0]->type.shape);
    if (!shape) {
      return fail(Code::E0202, span,
                  "shapes do not broadcast: " + ir::toString(c->type.shape) + " and " +
                      ir::toString(values[0]->type.shape) + " in `where`");
    }
    if (!countable(*shape, span, opName)) return Val::none();
    at(span);
    for (ir::Value*& v : values) v = b().broadcastTo(v, *shape);
    values.insert(values.begin(), b().broadcastTo(c, *shape));
  } else {
    values = broadcastAll(typed, *dtype, span, opName);
    if (values.empty()) return Val::none();
  }
  return make(kind, values, {}, span);
}

Val Lowering::make(OpKind kind, std::vector<ir::Value*> operands, std::vector<ir::Builder::NamedAttr> attrs,
                   Span span) {
  ir::Inferred inferred = ir::infer(kind, ir::typesOf(operands), [&](std::string_view name) -> const ir::Attr* {
    for (const auto& a : attrs) {
      if (a.name == name) return &a.value;
    }
    return nullptr;
  });
  if (!inferred.ok()) return fail(Code::E0202, span, inferred.error);
  at(span);
  return Val::ofTensor(b().makeTyped(kind, std::move(operands), std::move(inferred.types), std::move(attrs))->result(),
                       span);
}

}  // namespace tenc::frontend
