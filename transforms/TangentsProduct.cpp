// Derivatives of matrix products and convolutions.
#include "transforms/TangentRules.h"

namespace tenc::transforms::rules {

/// Linear in each operand: the op with either tangent in its place.
void bilinear(TangentCall& c) {
  if (c.dx(0) != nullptr) c.add(c.same(c.t, {c.dx(0), c.x(1)}));
  if (c.dx(1) != nullptr) c.add(c.same(c.t, {c.x(0), c.dx(1)}));
}

}  // namespace tenc::transforms::rules
