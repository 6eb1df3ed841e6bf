// Statements and blocks under `@d` and `@autocast`.
#pragma once
#include <string>
#include <vector>

#include "frontend/control/Flow.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Devices;
class Autocast;
class Continuations;
class Regions;

/// Lowers what stands under annotations, inside one `on` op for each device.
class PlacedBlocks {
 public:
  PlacedBlocks(Context& context, Scopes& scopes, Devices& devices, Autocast& autocast, Continuations& continuations,
               Regions& regions)
      : context_(context),
        scopes_(scopes),
        devices_(devices),
        autocast_(autocast),
        continuations_(continuations),
        regions_(regions) {}

  /// What `inner` lowers, inside one `on` op for each device.
  Flow lowerPlaced(const std::vector<ast::Annotation>& annotations, size_t which, Span assigning, const Tail& tail,
                   const PlacedFn& inner);

 private:
  Context& context_;
  Scopes& scopes_;
  Devices& devices_;
  Autocast& autocast_;
  Continuations& continuations_;
  Regions& regions_;
};

}  // namespace tenc::frontend
