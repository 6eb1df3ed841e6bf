// The microkernel of a product as machine code: the loops of GemmTiles.h for floats, which need no code generator. Sums
// stand in registers, operations in the order of the terms. LLVM takes a millisecond and more to select such code and
// to allocate its registers.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codegen/cpu/MachineCode.h"

namespace tenc::codegen::cpu {

/// What code of a tile is made of. Distances are in bytes. Its arguments are those of GemmTiles::of.
struct TileCode {
  VectorForm form;
  int64_t height, width;  ///< rows, vectors
  int tail = 0;           ///< columns of the last vector in C, and in B unless that is packed; 0: all
  bool masksB = false, masksC = false;

  /// A loop of the sum. Its trips are `trips`, or from argument number `first` to the next one.
  struct Loop {
    int64_t trips, stepA, stepB;
    std::optional<int> first;
    bool countIsArgument = false;  ///< `first` is the number of trips
    bool mayBeNone = false;
  };
  std::vector<Loop> loops;  ///< from the outermost one
  int64_t rowOfA, rowOfC;
  std::vector<int64_t> columnsOfB;   ///< of each vector
  std::optional<int64_t> prefetchB;  ///< how far behind the row of B at hand
  bool prefetchC = false, addsToC = false;
  bool prefetchesWrites = true;  ///< the processor has an instruction for what is to be written

  /// Rows that are places of a convolution: the last argument says where the first one is. At trip k of the innermost
  /// loop a row meets element place * stride + k * dilation - lo, if there is one.
  struct Places {
    int64_t stride, lo, dilation, extent;
    std::vector<bool> mayMiss;  ///< of each row
  };
  std::optional<Places> places;

  /// Columns that are places of a convolution, where the first of them is `place`: trips of the innermost loop before
  /// `allFirst` and from `allEnd` on stand one by one, as some columns do not meet them. Any other first place, as the
  /// last argument says, has all of the loop. Needs vectors of 64 bytes.
  struct Rim {
    struct Trip {
      int64_t trip;
      std::vector<uint32_t> lanes;  ///< of each vector, those that meet it
    };
    int64_t place, allFirst, allEnd;
    std::vector<Trip> apart;  ///< in order
  };
  std::vector<Rim> rims;

  int arguments = 0;  ///< numbers behind the three addresses
};

/// Whether registers and distances suffice.
bool isAssembled(const TileCode& tile);
/// The function; `isAssembled(tile)`. With a listing if `listed` is a name for it.
MachineCode assembledTile(const TileCode& tile, std::string_view listed = {});

}  // namespace tenc::codegen::cpu
