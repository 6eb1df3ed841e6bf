// Networks that are called for training, where layers change.
#pragma once
#include <map>
#include <string>

#include "frontend/values/Values.h"

namespace tenc::frontend {

/// While a network is called for training: layers whose module has a function of the name `method` for them take part
/// by that, which gives (result, layer), instead of by their call.
struct Training {
  std::string method;
  int depth = 0;                            ///< `Body::regionDepth` where it began: in a region nothing is kept
  std::map<ir::Value*, ir::Value*> kept{};  ///< what became of leaves of layers

  /// `v` with what became of its leaves.
  Val newest(const Val& v) const;
  /// Notes that `before` became `after`; false when these are not of one form.
  bool keep(const Val& before, const Val& after);
};

}  // namespace tenc::frontend
