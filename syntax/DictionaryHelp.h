// Dictionaries of Python whose keys are written there, `params = {"w": w, "b": b}`, as structs.
#pragma once
#include <optional>

#include "support/Diagnostics.h"
#include "syntax/SyntaxHelp.h"

namespace tenc::syntax {

/// The help for the colon behind the first key, with the edit that makes a struct of this dictionary and of all others
/// with its keys; nothing where a dictionary is more than its values, or is walked over.
std::optional<Help> dictionaryAsStruct(const SyntaxPlace& place);

/// `{k: v - 0.1 * grads[k] for k, v in params.items()}` as `map_leaves`, at the colon behind the key; nothing where the
/// key is more than an index.
std::optional<Help> dictionaryByKeys(const SyntaxPlace& place);

}  // namespace tenc::syntax
