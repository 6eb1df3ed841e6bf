// From PTX text to declarations and statements.
#pragma once
#include <string_view>

#include "tests/cuda/vm/Lexer.h"
#include "tests/cuda/vm/Syntax.h"

namespace tenc::ptx {

/// Throws PtxError where the text is not PTX.
syntax::Module parse(std::string_view text);

}  // namespace tenc::ptx
