// Derivatives that nothing here makes: calls that the reference interpreter differentiates by itself, against which the
// derivatives of transforms/ are checked (ir/CallAttributes.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/Ir.h"

namespace tenc::transforms {

struct DeferredForm {
  bool forward = false;         ///< jvp; else vjp
  bool ones = false;            ///< the cotangents of the results are 1 and no parameters
  std::vector<bool> arguments;  ///< those that are differentiated by
  std::vector<bool> results;    ///< those that are differentiated
};

/// A function in no module of f's arguments and of tangents of `arguments` or cotangents of `results`, that gives f's
/// results and the tangents of `results` or the cotangents of `arguments`. `f` goes into its module as `name`.
std::unique_ptr<ir::Func> deferred(std::unique_ptr<ir::Func> f, const std::string& name, const DeferredForm& form,
                                   ir::Loc loc);

}  // namespace tenc::transforms
