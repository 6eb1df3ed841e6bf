// The machine code of single kernels: cut out of an object file of many, kept on its own, and put together again to one
// object file. So kernels are compiled many at a time, which is quicker, and kept one by one.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::codegen::cpu {

/// One exported function with all functions and constants that it reaches.
struct CodePiece {
  enum class Area : uint32_t { Code, Constants, Outer };
  struct Relocation {
    Area in;          ///< Code or Constants
    Area to;          ///< Outer: what the process provides, by name
    uint32_t type;    ///< R_X86_64_...
    uint32_t name;    ///< Outer: an index into `outer`
    uint64_t offset;  ///< of the place, in its area
    int64_t addend;   ///< to the beginning of the area, or to the outer symbol
  };
  std::string code, constants;
  uint64_t codeAlignment = 1, constantsAlignment = 1;
  uint64_t entry = 0;  ///< where in the code the function begins
  std::vector<Relocation> relocations;
  std::vector<std::string> outer;
};

/// Cuts each of `functions` out of an object file for x86-64 whose functions and data have sections of their own, as
/// the compiler of this target writes it. On failure `error` is set.
std::vector<CodePiece> cutPieces(std::string_view object, std::span<const std::string> functions, std::string& error);

/// A relocatable object file that exports piece i as the function names[i].
std::string joinPieces(std::span<const CodePiece> pieces, std::span<const std::string> names);

/// As bytes of this machine, and back; false when the text is not that of a piece.
void writePiece(const CodePiece& piece, std::string& to);
bool readPiece(std::string_view text, CodePiece& piece);

}  // namespace tenc::codegen::cpu
