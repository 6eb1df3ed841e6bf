// How much effort a kernel's code is worth. A kernel that runs for less time than optimising it takes is compiled
// quickly; both levels give the same bits.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenc::codegen::cpu {

enum class Level : uint8_t {
  Quick,  ///< short code (one vector at a time, small tiles), selected and allocated without optimisation
  Full,   ///< unrolled and tiled code, LLVM's usual code generator
};
/// What is a module of its own, and how its code is generated.
enum class CodeKind : uint8_t {
  Quick,     ///< quick code, and what is around assembled tiles where that is little
  Loops,     ///< full code whose addresses and order are LLVM's
  Native,    ///< full code of native loops, whose order is LLVM's, but not their addresses
  Products,  ///< full code that is emitted as it should run: addresses step, and operations stand in their order
};
inline constexpr std::array kCodeKinds = {CodeKind::Products, CodeKind::Native, CodeKind::Loops, CodeKind::Quick};
constexpr Level levelOf(CodeKind kind) { return kind == CodeKind::Quick ? Level::Quick : Level::Full; }
constexpr std::string_view name(Level level) { return level == Level::Quick ? "quick" : "full"; }

/// A kernel of more stages (the parts of a long concat) gets quick code: optimising takes the square of them and
/// longer.
inline constexpr size_t kMostStages = 128;

/// The level for a kernel all of whose runs are expected to take `work`, in the unit of Cost.h. Optimising a kernel
/// takes one to three milliseconds more, and makes it two to four times as fast: worth it from about half a millisecond
/// on. Less than that here, because work is only estimated and quick code stays in the cache.
constexpr Level levelFor(double work) { return work <= 1e6 ? Level::Quick : Level::Full; }

/// Whether what is around assembled tiles is compiled quickly: it takes a third of the time, two to three milliseconds
/// less, and makes each run longer by `loss`.
constexpr bool isQuickAround(double loss, double runs) { return loss == 0 || loss * runs <= 6e6; }

}  // namespace tenc::codegen::cpu
