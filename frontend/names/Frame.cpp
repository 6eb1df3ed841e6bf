// Blocks of a body that are opened, closed and hidden.
#include "frontend/names/Frame.h"

#include <iterator>
#include <utility>

#include "frontend/Context.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

Binding& Frame::bind(std::string name, Span declared, Binding binding) {
  Scope& scope = scopes.back();
  Binding& made = scope.names.emplace_back(std::move(name), std::move(binding)).second;
  made.declaration = declared;
  Binding*& now = *bindings_.add(beginOf(declared)).first;
  scope.before.push_back(std::exchange(now, &made));
  return made;
}

void Frame::endBlock() {
  Scope& scope = scopes.back();
  // The other way round: one declaration may have been bound twice.
  auto before = scope.before.rbegin();
  for (auto it = scope.names.rbegin(); it != scope.names.rend(); ++it, ++before) {
    *bindings_.find(beginOf(it->second.declaration)) = *before;
  }
  for (const auto& [name, binding] : scope.names) {
    const Val& v = binding.value;
    if (binding.span.valid())
      ended[name] = {binding.span, v.is(Val::Kind::Tensor) ? std::optional(v.tensor->type) : std::nullopt};
  }
  scopes.pop_back();
}

const ast::File* fileOf(Context& context) {
  const Unit* unit = context.frames.empty() ? nullptr : context.frame().unit;
  return unit ? unit->file : nullptr;
}

BlockScope::~BlockScope() { frame_.endBlock(); }

HiddenScopes::HiddenScopes(Frame& frame, size_t depth) : frame_(frame) {
  auto first = frame.scopes.begin();
  std::advance(first, static_cast<std::ptrdiff_t>(depth));
  hidden_.splice(hidden_.begin(), frame.scopes, first, frame.scopes.end());
}

}  // namespace tenc::frontend
