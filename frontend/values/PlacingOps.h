// Where values live: moves, and the marks that placement reads.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "frontend/values/Values.h"

namespace tenc::frontend {

class Context;
class Tensors;

/// Moves that the source asks for, and ops that tell placement what must live together.
class PlacingOps {
 public:
  PlacingOps(Context& context, Tensors& tensors) : context_(context), tensors_(tensors) {}

  /// x.to(d): of a tree, every leaf that is not pinned.
  /// `device`: where the source names it.
  Val moveTo(const Val& v, const DeviceRef& d, Span span, ir::Cause cause, Span device = {});
  /// Moves what a written type names a device for (cause `type`).
  Val moveToPlaces(const Val& v, const Ty& type, Span span);
  /// The innermost `@d` around what is lowered now.
  ir::Op* annotationAround();
  /// The value of a `let`, or the first of a `var` or a loop: what is bound outside the `@d` block around here enters
  /// it (P4 b), so that the new name is one of the block's own. Pinned fields stay.
  Val enterAnnotation(const Val& v);
  /// The value on it by which an op names the device: of one without a name, and of a device variable in what is
  /// traced, which may become a function that has no such variable. Null where the name says it.
  ir::Value* valueOn(const DeviceRef& d);
  /// The value where it lives, so that an annotation around does not move it: what a lambda captured.
  Val keepPlace(const Val& v);
  /// A function from outside of the `@d` block around here, or a tree with some: what lambdas captured stays where it
  /// is, however the function is passed on and called.
  Val keepCaptures(const Val& v);
  /// Has placement check that what a type names devices for is there (E0303). `what`: how messages call it, or a part
  /// of it by the path behind its name, ".0".
  using PartName = std::function<std::string(const std::string& path)>;
  Val checkPins(const Val& v, const Pins& pins, const PartName& what, Span span);
  /// Has placement check that the leaves of a struct or list, but for pinned ones, are on one device.
  void checkOnePlace(const Val& tree, std::string what, Span span);
  /// The same of operands of the built-in called at `span` that no op has together (P2), written at `texts`.
  void checkOperands(const std::vector<ir::Value*>& operands, std::vector<ir::OperandText> texts,
                     std::string_view builtin, Span span);
  /// `value`, whose leaves must live where those of `old` do; `variable`: the name of the one that keeps its place, ""
  /// for what a loop of a built-in carries; `declared`: its written type, which may name devices.
  Val placedAs(const Val& value, const Val& old, const std::string& variable = "", const Ty* declared = nullptr);

 private:
  /// The device that a type names.
  DeviceRef written(const std::string& place) const;
  Val enter(const Val& v, ir::Op& on, const Pins* own);
  ir::Value* kept(ir::Value* v);

  Context& context_;
  Tensors& tensors_;
};

}  // namespace tenc::frontend
