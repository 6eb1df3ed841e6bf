// From the statements of a kernel to the code that the machine executes. Functions are inlined where they are called.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "tests/cuda/vm/Kernel.h"
#include "tests/cuda/vm/Symbols.h"
#include "tests/cuda/vm/Syntax.h"

namespace tenc::ptx {

/// `storages`: variables of the module, the global ones with their addresses. `opcodes` counts what is decoded. Throws
/// PtxError where the text does not fit together.
std::unique_ptr<Kernel> decode(const syntax::Module& module, const syntax::Function& kernel, const Storages& storages,
                               std::map<std::string, uint32_t>& opcodes);

/// In front of the opcodes that the machine does not know.
constexpr const char* kUnknownOpcode = "unknown ";

}  // namespace tenc::ptx
