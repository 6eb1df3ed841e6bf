// Windows of convolutions and pooling: their options, read and checked.
#pragma once
#include "frontend/builtins/Builtin.h"

namespace tenc::frontend {

/// Whether a window has so many elements that an op for each is too much; reports.
bool tooManyPlaces(BuiltinCall& k, const ir::Compose::Windows& w);

/// stride, padding and dilation for the spatial dims of `w.size`; reports what is wrong with them. "same" padding keeps
/// the lengths at stride 1. With `ceilMode` a window may reach beyond the padding by less than its stride.
bool readWindows(BuiltinCall& k, const ir::Type& x, ir::Compose::Windows& w, bool ceilMode = false);

}  // namespace tenc::frontend
