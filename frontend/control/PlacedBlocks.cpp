// Statements and blocks under annotations: one `on` op for each device.
#include "frontend/control/PlacedBlocks.h"

#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/control/Autocast.h"
#include "frontend/control/Continuations.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Regions.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/values/Keys.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

Flow PlacedBlocks::lowerPlaced(const std::vector<ast::Annotation>& annotations, size_t which, Span assigning,
                               const Tail& tail, const PlacedFn& inner) {
  if (which == annotations.size()) return inner(tail);
  const ast::Annotation& a = annotations[which];
  if (a.kind == ast::Annotation::Kind::Autocast) {
    const ir::RoundingScope rounding(context_.b(), autocast_.within(a));
    return lowerPlaced(annotations, which + 1, assigning, tail, inner);
  }
  const std::optional<DeviceRef> device = devices_.annotationDevice(a);
  if (!device) return lowerPlaced(annotations, which + 1, assigning, tail, inner);
  Boundary region;
  region.kind = Boundary::Kind::Region;
  region.wantsValue = tail.wanted;
  scopes_.assignedIn(assigning, region);
  const std::vector<Val> before = valuesOf(region.vars);
  auto& declared = context_.frame().scopes.back().names;
  const size_t declaredBefore = declared.size();
  const Scoped inside(context_.body.boundary, &region);
  std::vector<Val> values = regions_.emitOn(
      *device, a.span,
      [&] {
        const Tail none{{}, nullptr, context_.frame().scopes.size(), tail.wanted};
        std::vector<Val> handed = continuations_.encode(lowerPlaced(annotations, which + 1, assigning, none, inner));
        // A variable that was not assigned after all does not move here.
        for (size_t i = 0; i < region.vars.size(); ++i) {
          if (sameLeaves(before[i], handed[i]) && !changedConstant(before[i], handed[i])) handed[i] = Val::unit();
        }
        for (auto it = std::next(declared.begin(), static_cast<std::ptrdiff_t>(declaredBefore)); it != declared.end();
             ++it) {
          handed.push_back(it->second.value);
        }
        return handed;
      },
      before);
  for (size_t i = 0; i < region.vars.size(); ++i) {
    if (values[i].is(Val::Kind::Unit)) values[i] = before[i];
  }
  size_t next = region.vars.size() + 5;
  for (auto it = std::next(declared.begin(), static_cast<std::ptrdiff_t>(declaredBefore)); it != declared.end(); ++it) {
    it->second.value = values[next++];
  }
  Flow f = continuations_.decode(values);
  f.done = false;
  return f;
}

}  // namespace tenc::frontend
