// Names in the blocks of a body.
#include "frontend/names/Scopes.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/control/Flow.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Placement.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

void Scopes::visibleVars(const std::set<std::string>& names, Boundary& into) {
  for (const std::string& n : names) {
    Binding* binding = findLocal(n);
    if (binding && binding->isVar && !binding->value.poison()) {
      into.vars.push_back(binding);
      into.names.push_back(n);
    }
  }
}

Binding* Scopes::findLocal(std::string_view name) {
  if (context_.frames.empty()) return nullptr;
  for (auto scope = context_.frame().scopes.rbegin(); scope != context_.frame().scopes.rend(); ++scope) {
    if (Binding* found = scope->find(name)) return found;
  }
  return nullptr;
}

bool Scopes::lostName(std::string_view name) {
  const ast::File* file = context_.frame().unit->file;
  return file && file->lost.count(name) != 0;
}

Binding& Scopes::declare(const ast::Name& name, Val value, bool isVar, std::shared_ptr<const Ty> declared) {
  if (isVar) value = placement_.enterAnnotation(value);
  if (value.is(Val::Kind::Tensor) && value.tensor->name.empty()) value.tensor->name = name.text;
  if (value.isTree()) {
    mapLeaves(value, [&](const Val& leaf, const std::string& path, bool) {
      if (leaf.is(Val::Kind::Tensor) && leaf.tensor->name.empty()) leaf.tensor->name = name.text + "." + path;
      return leaf;
    });
  }
  Binding binding;
  binding.value = std::move(value);
  binding.span = name.span;
  binding.isVar = isVar;
  binding.regionDepth = context_.body.regionDepth;
  binding.declared = std::move(declared);
  return context_.frame().scopes.back().add(name.text, std::move(binding));
}

bool Scopes::nameExists(std::string_view name) {
  if (findLocal(name)) return true;
  const Unit& u = *context_.frame().unit;
  return u.declared.count(name) || u.functions.count(name) || u.modules.count(name) || u.names.count(name) ||
         u.evaluated.count(name) || builtinConstant(name, {}) || ir::dtypeNamed(name) ||
         ir::DeviceTable::isKind(name) || isBuiltin(name) || isTransform(name);
}

std::vector<std::string> Scopes::visibleNames() {
  std::vector<std::string> names;
  for (const Scope& scope : context_.frame().scopes) {
    for (const auto& [name, binding] : scope.names) names.push_back(name);
  }
  const Unit& u = *context_.frame().unit;
  for (const auto& [name, span] : u.declared) names.push_back(name);
  for (const auto& [name, list] : u.functions) names.push_back(name);
  for (const auto& [name, unit] : u.modules) names.push_back(name);
  for (const auto& [name, from] : u.names) names.push_back(name);
  for (std::string_view name : builtinNames()) names.emplace_back(name);
  return names;
}

}  // namespace tenc::frontend
