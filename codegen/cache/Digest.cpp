#include "codegen/cache/Digest.h"

#include <llvm/Support/BLAKE3.h>

namespace tenc::codegen {

Digest digestOf(std::string_view text) {
  llvm::BLAKE3 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return hash.final();
}

}  // namespace tenc::codegen
