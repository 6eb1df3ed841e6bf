// Values against types that are known.
#include "frontend/Context.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/StartValues.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/Tensors.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
}  // namespace

Val Unifier::fit(const Ty& t, const Val& v, const Target& who) {
  if (v.poison()) return v;
  Val r = v;
  auto mismatch = [&] {
    const Code code = who.inRegion ? Code::E0209 : who.isDeclaration ? Code::E0207 : Code::E0202;
    auto d = context_.error(code, who.span, who.what + " is " + toString(t) + ", but this is " + describe(r));
    if (who.declared.valid()) d.note(who.declared, "its type comes from here");
    const ir::DType* found = r.is(Kind::Tensor) ? &r.tensor->type.dtype : nullptr;
    const bool isFloat = r.is(Kind::Float) || (found && ir::isFloat(*found));
    if (code == Code::E0209 && isFloat && t.kind == Ty::Kind::Tensor && t.dtype && !ir::isFloat(*t.dtype))
      if (auto start = floatStart(context_, who.declared, found ? *found : ir::DType::F32))
        d.help(start->text, start->edits);
    const bool sameDtype = found && t.kind == Ty::Kind::Tensor && t.dtype == *found;
    if (code == Code::E0209 && sameDtype)
      if (auto own = ownShapes(context_, who.span, who.declared)) d.help(own->text, own->edits);
    if (code == Code::E0207 && who.declared.valid()) {
      if (auto anew = boundAnew(context_, who.span, who.declared)) d.help(anew->text, anew->edits);
    }
    return Val(d);
  };
  switch (t.kind) {
    case Ty::Kind::Tensor: {
      if (r.isTree() || r.is(Kind::Function) || r.is(Kind::String)) return mismatch();
      if (v.is(Kind::Float) && v.adopts && t.dtype && !ir::isFloat(*t.dtype)) return mismatch();
      r = tensors_.materialise(v, &t);
      if (r.poison()) return r;
      if (!r.is(Kind::Tensor)) return mismatch();
      if (t.dtype && r.tensor->type.dtype != *t.dtype) return mismatch();
      if (t.dims) {
        const ir::Dims& dims = r.tensor->type.shape;
        bool same = dims.size() == t.dims->size();
        for (size_t i = 0; same && i < dims.size(); ++i) same = (*t.dims)[i] < 0 || (*t.dims)[i] == dims[i];
        if (!same) return mismatch();
      }
      return r;
    }
    case Ty::Kind::Struct:
    case Ty::Kind::Tuple:
    case Ty::Kind::List: {
      if (v.is(Kind::Array)) r = tensors_.settle(v, &t);
      if (r.poison()) return r;
      const Kind kind = t.kind == Ty::Kind::Struct  ? Kind::Struct
                        : t.kind == Ty::Kind::Tuple ? Kind::Tuple
                                                    : Kind::List;
      if (r.kind != kind) return mismatch();
      if (kind == Kind::Struct &&
          (r.info->decl != t.info->decl || (!t.elems.empty() && r.info->text != t.info->text))) {
        return mismatch();
      }
      if (kind == Kind::List && static_cast<int64_t>(r.elems.size()) != t.length) return mismatch();
      if (kind == Kind::Tuple && r.elems.size() != t.elems.size()) return mismatch();
      for (size_t i = 0; i < r.elems.size(); ++i) {
        const size_t which = kind == Kind::List ? 0 : i;
        if (which < t.elems.size()) r.elems.edit()[i] = fit(t.elems[which], r.elems[i], who);
        if (r.elems[i].poison()) return r.elems[i];
      }
      return r;
    }
    default: return r;
  }
}

}  // namespace tenc::frontend
