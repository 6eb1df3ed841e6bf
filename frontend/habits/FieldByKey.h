// Values of dictionaries that have become structs: `params["w"]`.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

struct Val;

/// `m["w"]` as the field `m.w`; nothing where the value is no struct, or the index no text that is written there.
std::optional<Help> fieldByKey(const Val& base, const ast::Expr& index);

}  // namespace tenc::frontend
