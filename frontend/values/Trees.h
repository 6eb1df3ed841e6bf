// Trees: structs, tuples and lists of tensors, walked leaf by leaf. The leaves of a value are every tensor that it
// holds, also those captured by a lambda or standing for a device, so that any value can cross a region or a call.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "frontend/values/Values.h"

namespace tenc::frontend {

using TreeFn = std::function<Val(const Val& leaf, const std::string& path, bool state)>;

/// Tensor leaves in order (settled first); false after an error.
bool leavesOf(const Val& v, std::vector<ir::Value*>& leaves);
/// `like` with its tensor leaves replaced in order.
Val rebuild(const Val& like, const std::vector<ir::Value*>& leaves);
/// `f` on every leaf that is no tree; path is "fc1.w". Poison if a leaf gives poison.
Val mapLeaves(const Val& v, const TreeFn& f);
bool sameStructure(const Val& a, const Val& b);
Ty typeOf(const Val& v);
bool sameTypes(const Val& a, const Val& b);
bool sameLeaves(const Val& a, const Val& b);
/// Names the tensors in the parts of a tree that have no name yet: `name.fc1.w`.
void nameLeaves(const Val& tree, const std::string& name);
/// How many tensors a function has captured, or holds otherwise; no more than `kMostParts` + 1 are counted.
size_t tensorsIn(const FnValue& f);
/// What a written type says of where part `i` of `v` lives: a struct knows its own fields, of a tuple or list `own` is
/// what the type of the whole says. Null for nothing.
const Pins* pinsOfPart(const Val& v, const Pins* own, size_t i);
/// The devices that a type names, itself or for parts of a tuple or list.
Pins pinsOf(const Ty& t);
/// Of each tensor of a tree the device that a type names, `own` that of the whole or that of a field, or "".
std::vector<std::string> pinnedLeaves(const Val& v, const Pins* own = nullptr);
/// Whether it is a function, or a tree with one.
bool holdsFunction(const Val& v);
/// Whether it is an array, or a tree with one; also where it is not known.
bool holdsArray(const Val& v);
/// The value as another function has it: device variables that functions in it have captured mean nothing there, and
/// are known by the values that live on them.
Val withoutDeviceNames(const Val& v);
/// Arguments of the region of the types of `like`.
Val argumentsLike(const Val& like, ir::Region* region, const std::string& name);

}  // namespace tenc::frontend
