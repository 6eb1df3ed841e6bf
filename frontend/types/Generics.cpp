// The variables of functions and structs before they are bound.
#include "frontend/types/Generics.h"

#include <memory>
#include <string_view>

#include "frontend/names/Unit.h"

namespace tenc::frontend {

std::string Target::ofDim() const {
  const bool several = whole && whole->is(Val::Kind::Tensor) && whole->tensor->type.rank() > 1;
  return several ? what + ", " + describe(*whole) + "," : what;
}

void Target::explain(Diagnostics::Builder& d) const {
  if (declared.valid()) d.note(declared, "declared here");
  if (!help.empty()) d.help(help);
}

Generics genericsOf(const FnDecl& decl) {
  Generics g;
  g.unit = decl.unit;
  g.listed = &decl.stmt->generics;
  return g;
}

Ty::Kind builtInType(std::string_view name) {
  if (name == "str") return Ty::Kind::String;
  if (name == "device") return Ty::Kind::Device;
  return name == "fn" ? Ty::Kind::Fn : Ty::Kind::Unknown;
}

const ast::Generic* listedGeneric(const Generics& g, std::string_view name) {
  if (!g.listed) return nullptr;
  for (const ast::Generic& x : *g.listed) {
    if (x.name.text == name) return &x;
  }
  return nullptr;
}

std::shared_ptr<const Ty> structType(const StructDecl& decl) {
  // Without arguments: only which struct it is. Fields are read where arguments are known.
  auto info = std::make_shared<StructInfo>();
  info->decl = &decl;
  info->text = (decl.unit->isScript ? "" : decl.unit->name + ".") + decl.stmt->name.text;
  auto t = std::make_shared<Ty>();
  t->kind = Ty::Kind::Struct;
  t->info = info;
  return t;
}

Generics structGenerics(const StructDecl& decl) {
  Generics g;
  g.unit = decl.unit;
  g.listed = &decl.stmt->generics;
  g.open = false;
  return g;
}

}  // namespace tenc::frontend
