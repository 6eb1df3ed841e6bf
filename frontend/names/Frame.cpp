// Blocks of a body that are opened, closed and hidden.
#include "frontend/names/Frame.h"

#include <iterator>

namespace tenc::frontend {

BlockScope::~BlockScope() {
  for (const auto& [name, binding] : frame_.scopes.back().names) {
    if (binding.span.valid()) frame_.ended[name] = binding.span;
  }
  frame_.scopes.pop_back();
}

HiddenScopes::HiddenScopes(Frame& frame, size_t depth) : frame_(frame) {
  auto first = frame.scopes.begin();
  std::advance(first, static_cast<std::ptrdiff_t>(depth));
  hidden_.splice(hidden_.begin(), frame.scopes, first, frame.scopes.end());
}

}  // namespace tenc::frontend
