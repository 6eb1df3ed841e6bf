// Statements and blocks under `@d`.
#pragma once
#include <string>
#include <vector>

#include "frontend/control/Flow.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;
class Scopes;
class Devices;
class Continuations;
class Regions;

/// Lowers what stands under annotations, inside one `on` op for each.
class PlacedBlocks {
 public:
  PlacedBlocks(Context& context, Scopes& scopes, Devices& devices, Continuations& continuations, Regions& regions)
      : context_(context), scopes_(scopes), devices_(devices), continuations_(continuations), regions_(regions) {}

  /// What `inner` lowers, inside one `on` op for each annotation.
  Flow lowerPlaced(const std::vector<ast::Annotation>& annotations, size_t which, Span assigning, const Tail& tail,
                   const PlacedFn& inner);

 private:
  Context& context_;
  Scopes& scopes_;
  Devices& devices_;
  Continuations& continuations_;
  Regions& regions_;
};

}  // namespace tenc::frontend
