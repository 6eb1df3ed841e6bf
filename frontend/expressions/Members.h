// Fields and members: `a.b`.
#pragma once
#include <optional>
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Names;
class Tensors;

/// What stands behind a dot.
class Members {
 public:
  Members(Context& context, Names& names, Tensors& tensors) : context_(context), names_(names), tensors_(tensors) {}

  /// What `base.name` is; E0206 where there is no such field or member.
  Val fieldOf(const Val& base, std::string_view name, Span span);
  /// .shape .ndim .size .dtype .device .T of a tensor (and .device of trees); nullopt when `name` is none of them.
  std::optional<Val> memberOfTensor(const Val& base, std::string_view name, Span span);

 private:
  /// A leaf that is where the tree is; placement checks that there is one such place (E0301).
  ir::Value* placeOfTree(const Val& tree, std::vector<ir::Value*> leaves, Span span);

  Context& context_;
  Names& names_;
  Tensors& tensors_;
};

}  // namespace tenc::frontend
