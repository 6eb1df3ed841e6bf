// Why and where programs stop. A fault site holds all that a report needs, so that a program can tell of a stop without
// the sources it was made from.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tenc::abi {

enum class FaultKind : uint8_t {
  None,
  Index,
  Division,
  NegativePower,
  Assertion,
  File,
  Singular,
  NotPositiveDefinite,
  NotFinite,
  NoConvergence,
  Step,
  NonFinite
};
inline constexpr uint8_t kFaultKinds = 12;

/// The faults of routines that can fail, in the order of their kernels' sites.
inline constexpr FaultKind kLibraryFaults[] = {FaultKind::Singular, FaultKind::NotPositiveDefinite,
                                               FaultKind::NotFinite, FaultKind::NoConvergence};

/// Whole lines of a source file, as far as reports quote them.
struct Excerpt {
  std::string file;        ///< its name, as the compiler was given it
  uint32_t firstLine = 1;  ///< the number of the first line of `text`
  bool isLibrary = false;  ///< of the standard library, which users cannot mend
  std::string text;        ///< without the last newline
};

inline constexpr uint32_t kNoExcerpt = ~0u;

/// A range of bytes of an excerpt.
struct SourceRange {
  uint32_t excerpt = kNoExcerpt;  ///< index into Program::excerpts; kNoExcerpt: not known
  uint32_t begin = 0, end = 0;    ///< half-open, in the excerpt's text
  uint32_t line = 0, column = 0;  ///< of `begin`, both from 1; columns count code points
};

/// A call that was inlined around a fault: where it stands, and what it calls ("affine[N = 2]"; may be empty).
struct CallSite {
  SourceRange at;
  std::string callee;
};

struct FaultSite {
  FaultKind kind = FaultKind::None;
  SourceRange at;
  std::vector<CallSite> calls;  ///< innermost first
};

}  // namespace tenc::abi
