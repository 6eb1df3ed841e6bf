// Conversions of numbers, tensors and trees to a dtype.
#include "frontend/expressions/Conversions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Structs.h"
#include "frontend/types/Types.h"
#include "frontend/values/Exact.h"
#include "frontend/values/Literals.h"
#include "frontend/values/Numbers.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;

/// The integers in an array of literals wrapped, so that they fit.
Val wrappedArray(Val v, ir::DType to) {
  for (size_t i = 0; i < v.elems.size(); ++i) v.elems.edit()[i] = wrappedArray(v.elems[i], to);
  if (v.is(Val::Kind::Int)) v.integer = fitted(v.integer, to);
  return v;
}

bool isFloatLeaf(const Val& v) {
  const auto t = ownDType(v);
  return t && ir::isFloat(*t);
}

/// Whether the tree has numbers or tensors, and none of floats or `state`, which are another's to convert.
bool onlyWhole(const Val& tree) {
  bool numbers = false, others = false;
  mapLeaves(tree, [&](const Val& leaf, const std::string&, bool state) {
    if (state || isFloatLeaf(leaf))
      others = true;
    else if (ownDType(leaf))
      numbers = true;
    return leaf;
  });
  return numbers && !others;
}
}  // namespace

Val Conversions::cast(const Val& v, ir::DType to, Span span) {
  if (v.poison()) return v;
  if (v.isNumber() || v.is(Val::Kind::Bool)) {
    const double real = v.is(Val::Kind::Bool) ? (v.boolean ? 1 : 0) : asDouble(v);
    if (ir::isFloat(to)) {
      Val r = Val::ofFloat(v.is(Val::Kind::Bool) ? real : asFloat(v, to), span, false);
      r.dtype = to;
      return r;
    }
    if (ir::isInt(to)) {
      Val r = Val::ofInt(v.is(Val::Kind::Int) ? fitted(v.integer, to) : saturated(real, to), span, false);
      r.dtype = to;
      return r;
    }
    if (to == ir::DType::Bool) return Val::ofBool(real != 0, span);
  }
  if (v.isTree()) {
    if (onlyWhole(v))
      return Val(context_
                     .error(Code::E0203, span,
                            "a conversion of a tree is of its float leaves, and " + describe(v) + " has none")
                     .help("convert the elements, as in `(" + std::string(ir::name(to)) +
                           "(t.0), ...)`; numbers in brackets, `[1, 2]`, are a tensor"));
    return castTree(v, to, span);
  }
  ir::Value* x =
      v.is(Val::Kind::Array) ? tensors_.tensorOf(ir::isInt(to) ? wrappedArray(v, to) : v, to) : tensors_.tensorOf(v);
  if (!x) return context_.lost();
  context_.at(span);
  if (to == ir::DType::F64 && isExact(x)) return Val::ofTensor(exactly(context_.b(), x), span);
  if (x->type.dtype != to) x = context_.b().value(OpKind::Cast, {x}, {{"dtype", to}});
  return Val::ofTensor(x, span);
}

Val Conversions::asDeclared(const Val& v, const Ty& declared) {
  Val r = v;
  if (v.is(Val::Kind::Tensor) && declared.dims && *declared.dims != v.tensor->type.shape) {
    r = Val::ofTensor(tensors_.zerosOf(v.tensor->type.dtype, *declared.dims), v.span);
  }
  if (!v.is(Val::Kind::Tuple) && !v.is(Val::Kind::List)) return r;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    const size_t which = v.is(Val::Kind::List) ? 0 : i;
    if (which < declared.elems.size()) r.elems.edit()[i] = asDeclared(v.elems[i], declared.elems[which]);
  }
  return r;
}

Val Conversions::castTree(const Val& v, ir::DType to, Span span) {
  Val r = v;
  for (size_t i = 0; i < r.elems.size(); ++i) {
    // State of a fixed dtype, such as a counter, stays; state that the dtype variable types goes with the rest.
    const ast::Field* field = v.info ? &v.info->decl->stmt->fields[i] : nullptr;
    const bool state = field && field->state &&
                       !(field->type && field->type->path.size() == 1 &&
                         std::any_of(v.info->args.begin(), v.info->args.end(), [&](const auto& arg) {
                           return arg.first == field->type->path[0].text && arg.second.is(Val::Kind::DType);
                         }));
    Val& e = r.elems.edit()[i];
    if (e.isTree()) {
      e = castTree(e, to, span);
    } else if (isFloatLeaf(e) && !state) {
      e = cast(e, to, span);
    }
    if (e.poison()) return e;
    e.span = span;
  }
  if (!v.is(Val::Kind::Struct)) return r;
  // The struct's type follows anew: a float field that no dtype variable types is refused, by name.
  Generics g = structGenerics(*v.info->decl);
  for (const auto& [name, arg] : v.info->args) {
    if (!arg.is(Val::Kind::DType) && !arg.is(Val::Kind::Type)) g.bound[name] = arg;
  }
  // Leaves that `vmap` has stacked are not of the declared shapes: one row stands for them.
  Generics all = structGenerics(*v.info->decl);
  for (const auto& [name, arg] : v.info->args) all.bound[name] = arg;
  const auto& fields = v.info->decl->stmt->fields;
  std::vector<Val> row = r.elems;
  bool stacked = false;
  for (size_t i = 0; i < row.size(); ++i) {
    if (fields[i].type) row[i] = asDeclared(row[i], types_.resolve(*fields[i].type, all));
    stacked = stacked || !sameTypes(row[i], r.elems[i]);
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const ast::TypeExpr* type = fields[i].type.get();
    if (!type || ownDType(row[i]) != to) continue;
    const auto written = ir::dtypeNamed(type->path.size() == 1 ? type->path[0].text : "");
    if (!written || *written == to || !ir::isFloat(*written)) continue;
    const std::string name = v.info->decl->stmt->name.text;
    auto d = context_.error(Code::E0207, span,
                            "field `" + fields[i].name.text + "` of `" + name + "` is always " +
                                std::string(ir::name(*written)) + ": `" + name + "` cannot become " +
                                std::string(ir::name(to)));
    d.note(type->span, "declared here");
    d.help("a dtype variable lets it follow: `struct " + name + "[T: float = " + std::string(ir::name(*written)) +
           "] { " + fields[i].name.text + ": T[...] }`");
    return d;
  }
  if (!stacked) return structs_.makeStruct(*v.info->decl, g, std::move(r.elems), span);
  const Val made = structs_.makeStruct(*v.info->decl, g, std::move(row), span);
  return made.poison() ? made : Val::ofStruct(made.info, std::move(r.elems), span);
}

}  // namespace tenc::frontend
