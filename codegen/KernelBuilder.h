// From one `fused` op to one Kernel. Values of the region are evaluated on demand at an index: structural ops become
// index maps, elementwise ops expressions, reductions stages. Internal to codegen; the entry is buildKernel
// (Codegen.h).
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "codegen/IndexMap.h"
#include "codegen/Kernel.h"
#include "ir/TargetTraits.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

/// The iteration space: the axes of the group's domain, each with one or more (refined) loop variables.
struct Space {
  ir::Dims domain;
  std::vector<bool> reduced;                  ///< per axis: an inner loop
  std::vector<std::vector<int64_t>> factors;  ///< per axis: extents of its loop variables, outermost first
  std::vector<std::vector<size_t>> vars;      ///< per axis: numbers of its loop variables
  std::vector<int64_t> outer, inner;          ///< extents of the loop variables: outer first, then inner

  size_t varCount() const { return outer.size() + inner.size(); }
  /// Sets vars, outer and inner from the factors.
  void number();
  /// The index along an axis; 0 where it has one element, so that equal places are equal indices.
  Affine along(size_t axis) const;
  /// Splits a loop variable as wished.
  void refine(const Refinement& r);
};

/// What all stages of one kernel share.
struct Group {
  const ir::Op& fused;
  const ir::TargetTraits& traits;
  Kernel& kernel;
  Space space;
  std::unordered_map<const ir::Value*, uint32_t> buffers;  ///< region arguments and saved values
  std::unordered_map<const ir::Value*, uint32_t> scalars;
  std::unordered_map<const ir::Op*, uint32_t> reductions;  ///< reduction and matmul ops that have run
  std::unordered_map<const ir::Value*, uint32_t> saved;    ///< values kept in a scratch row: buffer
  /// A scan whose running value can be read: number of its reduction, and where its start stands in operand 1.
  const ir::Op* scan = nullptr;
  uint32_t scanNumber = 0;
  Index scanStart = {};
};

/// Builds the expression graph of one stage.
class StageBuilder {
 public:
  /// `ranges`: the box. `split`: whether piecewise ops may ask for a smaller box.
  StageBuilder(Group& group, std::vector<VarRange> ranges, bool split);

  /// The expression of `v` at `index`; meaningless once failed() or a wish is set.
  ExprId value(const ir::Value* v, const Index& index);
  ExprId cast(ExprId e, ir::DType to);
  ExprId constant(ir::DType t, uint64_t bits);
  ExprId affine(const Affine& a);
  ExprId op(ir::OpKind kind, ir::DType t, std::vector<ExprId> args);
  ExprId add(Expr e);
  Access access(uint32_t buffer, const Affine& position);
  /// The position in `v`, a strided view of a region argument, of element `index`; nullopt when it is no view.
  std::optional<Affine> viewPosition(const ir::Value* v, const std::vector<Affine>& index, uint32_t& buffer);
  std::vector<Affine> dims(const Index& index, std::span<const int64_t> shape);
  uint32_t fault(const ir::Op& op, uint8_t kind);

  /// A run-time index as a checked term.
  Affine term(ExprId index, int64_t extent, int64_t size, uint32_t faultNumber, size_t axis);
  bool failed() const { return !group_.kernel.error.empty(); }
  bool stopped() const { return failed() || refinement || cut; }
  void fail(std::string why);

  Stage stage;
  std::optional<Refinement> refinement;  ///< the space must be refined and the kernel built anew
  struct Cut {
    size_t var;
    int64_t at;
  };
  std::optional<Cut> cut;  ///< the box must be cut at `at` along `var`
  bool refinable = true;   ///< otherwise indices that are not affine become divisions

 private:
  ExprId compute(const ir::Value* v, const Index& index);
  ExprId load(uint32_t buffer, const Affine& position, ir::DType t);
  /// Element `index` of `v`, a strided view of a region argument.
  ExprId loadView(const ir::Value* v, const std::vector<Affine>& index);
  ExprId elementwise(const ir::Op& op, const Index& index);
  ExprId piecewise(const ir::Op& op, const Index& index);
  /// One of the pieces that lie side by side along a dim, and where it begins there.
  struct Piece {
    int64_t start;
    ExprId value;
  };
  /// The piece in which `index` lies; a tree, so that many pieces do not nest deeply.
  ExprId pieceAt(ExprId index, ir::DType type, std::span<const Piece> pieces);
  ExprId unrolled(const ir::Op& op, const Index& index);
  ExprId gather(const ir::Op& op, const Index& index);
  ExprId running(const ir::Op& op);
  ExprId dynamicSlice(const ir::Op& op, const Index& index);
  ExprId random(const ir::Op& op, const Index& index);
  enum class Side { Below, Inside, Above, Mixed };
  Side sideOf(const Affine& a, int64_t lo, int64_t hi);
  ExprId within(const Affine& a, int64_t lo, int64_t hi);
  /// The expression as an affine function of loop variables, if it is sums and multiples of them.
  std::optional<Affine> affineOf(ExprId index, int depth = 0) const;
  Affine clamped(const Affine& a, int64_t size);

  Group& group_;
  std::vector<VarRange> ranges_;
  bool split_;
  std::unordered_map<const ir::Value*, std::vector<std::pair<Index, ExprId>>> memo_;
  std::unordered_map<uint64_t, std::vector<ExprId>> constants_;
  std::map<std::tuple<ir::OpKind, ir::DType, std::vector<ExprId>>, ExprId> ops_;
};

/// Merges adjacent loops that all accesses walk as one, and drops loops of one trip.
void collapseLoops(Kernel& k);

/// The parts of buildKernel. Each sets kernel.error on failure.
void buildLoop(Group& g);
void buildScan(Group& g, const ir::Op& scan);
void buildUpdate(Group& g);
void buildProduct(Group& g);

}  // namespace tenc::codegen
