// The values of variables at a boundary.
#include "frontend/control/Flow.h"

#include <vector>

#include "frontend/names/Frame.h"
#include "support/InternalError.h"

namespace tenc::frontend {

Outcome Outcome::dropped(const Val& poison) {
  if (!poison.is(Val::Kind::Poison)) throw InternalError("a statement was dropped, and no error says why");
  Outcome o;
  o.dropped_ = true;
  return o;
}

std::vector<Val> valuesOf(const std::vector<Binding*>& vars) {
  std::vector<Val> values;
  for (const Binding* v : vars) values.push_back(v->value);
  return values;
}

void setValues(const std::vector<Binding*>& vars, const std::vector<Val>& values, size_t from) {
  for (size_t i = 0; i < vars.size(); ++i) vars[i]->value = values[from + i];
}

}  // namespace tenc::frontend
