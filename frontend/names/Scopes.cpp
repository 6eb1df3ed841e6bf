// Names in the blocks of a body.
#include "frontend/names/Scopes.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/BuiltinNames.h"
#include "frontend/control/Flow.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Unit.h"
#include "frontend/types/Generics.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

void Scopes::assignedIn(Span node, Boundary& into) { assignedIn(std::span(&node, 1), into); }

void Scopes::assignedIn(std::span<const Span> nodes, Boundary& into) {
  std::map<std::string_view, Binding*> vars;  // only one of a name is seen from a place
  for (const Span node : nodes) {
    for (const Declaration* d : context_.frame().unit->resolution->assigned(node)) {
      Binding* binding = context_.frame().bound(d->span);
      if (binding && binding->isVar && !binding->value.poison()) vars.emplace(d->name, binding);
    }
  }
  for (const auto& [name, binding] : vars) {
    into.vars.push_back(binding);
    into.names.emplace_back(name);
  }
}

Binding* Scopes::find(Span use) {
  if (context_.frames.empty()) return nullptr;
  const Declaration* d = context_.frame().unit->resolution->definition(use);
  return d && d->isLocal() ? context_.frame().bound(d->span) : nullptr;
}

Binding* Scopes::declaredAt(Span declaration) { return context_.frame().bound(declaration); }

Binding* Scopes::named(std::string_view name) {
  if (context_.frames.empty()) return nullptr;
  for (auto scope = context_.frame().scopes.rbegin(); scope != context_.frame().scopes.rend(); ++scope) {
    for (auto it = scope->names.rbegin(); it != scope->names.rend(); ++it) {
      if (it->first == name) return &it->second;
    }
  }
  return nullptr;
}

bool Scopes::lostName(std::string_view name) {
  const ast::File* file = context_.frame().unit->file;
  return file && file->lost.count(name) != 0;
}

bool Scopes::notImported(std::string_view name) {
  const auto& evaluated = context_.frame().unit->evaluated;
  const auto found = evaluated.find(std::string(name));
  return found != evaluated.end() && found->second.poison();
}

bool Scopes::isRenamed(std::string_view name) {
  const ast::File* file = context_.frame().unit->file;
  return file && file->renamed.contains(name);
}

Binding& Scopes::declare(const ast::Name& name, Val value, bool isVar, std::shared_ptr<const Ty> declared) {
  // Names of the library mean nothing to who reads of a value.
  if (!context_.sources.inLibrary(name.span)) {
    if (value.is(Val::Kind::Tensor) && value.tensor->name.empty()) value.tensor->name = name.text;
    nameLeaves(value, name.text);
  }
  Binding binding;
  binding.value = std::move(value);
  binding.span = name.span;
  binding.isVar = isVar;
  binding.regionDepth = context_.body.regionDepth;
  binding.declared = std::move(declared);
  return context_.frame().bind(name.text, name.span, std::move(binding));
}

Binding& Scopes::bind(const Declaration& declaration, Val value) {
  Binding& made = declare({declaration.name, declaration.span}, std::move(value), false);
  made.span = {};
  return made;
}

void Scopes::bindDims(Span node, const Generics& bound) {
  for (const Declaration* d : context_.frame().unit->resolution->dimsIn(node)) {
    const auto value = bound.bound.find(d->name);
    if (value == bound.bound.end()) continue;
    Binding& made = declare({d->name, d->span}, value->second, false);
    if (const auto origin = bound.origin.find(d->name); origin != bound.origin.end()) made.span = origin->second;
  }
}

bool Scopes::nameExists(std::string_view name) {
  if (named(name)) return true;
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
