// The microkernels of a matrix product: functions that compute a tile of C in registers.
#pragma once
#include <functional>
#include <map>

#include "codegen/cpu/AssembledFunction.h"
#include "codegen/cpu/CompileLevel.h"
#include "codegen/cpu/NarrowTerms.h"
#include "codegen/cpu/ProductEmitter.h"
#include "codegen/cpu/ProductTiles.h"

namespace tenc::codegen::cpu {

/// A part of C whose sums stand in registers: `height` rows of `width` vectors, the last of them not full when `tail`.
/// `place`: of the first row or column, whichever is a place of a convolution with padding, when it is known; else
/// kInside, where no tap meets padding, kBlock, any of the plan's blocks, or kAnywhere. Of rows, kInside or kBlock.
struct Tile {
  int64_t height, width;
  bool tail;
  int64_t place;
  auto operator<=>(const Tile&) const = default;
};
constexpr int64_t kInside = -1, kBlock = -2, kAnywhere = -3;
/// Whether a tile is told its place.
constexpr bool isTold(int64_t place) { return place == kBlock || place == kAnywhere; }

class GemmTiles : public ProductEmitter {
 public:
  /// `rowStride`: of C, in elements. C is the result where sums are direct, else a tile in scratch memory that whole
  /// vectors fit in.
  GemmTiles(const Product& product, llvm::Module& module, const std::string& name, const TiledProduct& plan,
            const GemmRim& rim, int64_t rowStride, Level level, AssembledForm form);

  /// void tile(a, b, c, trips..., place): C[height x width vectors] = A[height x k] * B[k x width]. `trips`: for each
  /// edge of a batch dim the first and the end of its sum's trips; `place`: only of a tile that is told it. Of a
  /// split product, which has none of these, void tile(a, b, c, terms) adds to C as many terms.
  llvm::Function* of(Tile t);

 private:
  /// What takes part in an outer product: null is all. `row` computes a bit, by which is branched; `columns`: vectors
  /// of bits, without those beyond the matrix.
  struct Taken {
    std::function<Val(int64_t i)> row;
    std::vector<Val> columns;
    Val column(int64_t j) const { return columns.empty() ? nullptr : columns[static_cast<size_t>(j)]; }
  };
  bool packed() const { return plan_.pack != PackB::None; }
  int64_t placesOf(const Tile& t) const { return cpu::placesOf(plan_, t.width, t.tail); }
  std::vector<int64_t> rimPlaces(const Tile& t) const {
    return cpu::rimPlaces(plan_, rim_, rim_.rows ? t.height : t.width, t.tail);
  }
  /// Elements of a panel from its first column to vector `j`.
  int64_t columnsBefore(int64_t j) const { return packed() ? j * plan_.lanes : cpu::columnsBefore(p_, j, plan_.lanes); }
  std::vector<Val> sumLoops(size_t level, Val a, Val b, const Tile& t, const std::vector<Val>& sums);
  std::vector<Val> trips(size_t level, Val lo, Val hi, bool mayBeNone, Val a, Val b, const Tile& t,
                         const std::vector<Val>& sums);
  Taken takenAt(Val k, const Tile& t);
  Taken takenAt(int64_t k, const Tile& t);
  Val opaqueMask(const std::vector<bool>& bits);
  std::vector<Val> rowTaps(Val a, Val b, const Tile& t, const std::vector<Val>& sums);
  std::vector<Val> rimTaps(Val a, Val b, const Tile& t, std::vector<Val> sums);
  std::vector<Val> blockTaps(Val a, Val b, const Tile& t, std::vector<Val> sums);
  void addTaps(int64_t begin, int64_t end, Val a, Val b, const Tile& t, std::vector<Val>& sums);
  std::vector<bool> rowsThatMayMiss(const Tile& t) const;
  void findWholeTaps(const Tile& t);
  Val place() const;
  void addOuterProduct(Val a, Val b, const Tile& t, const Taken& taken, std::vector<Val>& sums);
  std::vector<Val> narrowSums(Val a, Val b, const Tile& t, std::vector<Val> sums);
  bool widensRows() const;
  void widenRows(NarrowTerms& terms, Val a, Val wide, int64_t rows, int64_t count);
  std::vector<Val> widenedSums(NarrowTerms& terms, Val a, Val b, const Tile& t, std::vector<Val> sums);
  void addTerms(NarrowTerms& terms, const std::function<Val(size_t part, int64_t row)>& elementOfA, Val b,
                const Tile& t, std::vector<Val>& sums);

  Level level_;
  const AssembledForm form_;
  const TiledProduct& plan_;
  const GemmRim& rim_;
  int64_t rowStride_;
  size_t tripArguments_;
  std::map<Tile, llvm::Function*> made_;
  // of the function being emitted
  std::map<std::vector<bool>, Val> masks_;
  std::pair<Val, Val> wholeTaps_;  ///< of a tile at a block: those that all of its places have
};

}  // namespace tenc::codegen::cpu
