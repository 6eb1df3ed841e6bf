// `vmap(f)`.
#pragma once
#include <functional>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Evaluator;
class Tensors;
class Structs;
class Calls;

using InstanceFn = std::function<Val(std::vector<Val>)>;

/// Lowers a function for one instance, and makes of its ops those over all.
class Vmap {
 public:
  Vmap(Context& context, Evaluator& evaluator, Tensors& tensors, Structs& structs, Calls& calls)
      : context_(context), evaluator_(evaluator), tensors_(tensors), structs_(structs), calls_(calls) {}

  /// Calls what `vmap(f)` made.
  Val callVmap(const FnValue& f, CallArgs& args);
  Val overInstances(const InstanceFn& f, int64_t n, const std::vector<Val>& args, const std::vector<bool>& mapped,
                    Span span);

 private:
  Context& context_;
  Evaluator& evaluator_;
  Tensors& tensors_;
  Structs& structs_;
  Calls& calls_;
};

}  // namespace tenc::frontend
