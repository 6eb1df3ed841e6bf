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

/// A fused op on its way to a kernel: what all stages share.
struct KernelBuild {
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

/// The expressions of one stage. Equal operations are one.
class ExprGraph {
 public:
  /// `ranges`: the box.
  ExprGraph(KernelBuild& build, std::vector<VarRange> ranges) : build_(build), ranges_(std::move(ranges)) {}

  ExprId add(Expr e);
  ExprId cast(ExprId e, ir::DType to);
  ExprId constant(ir::DType t, uint64_t bits);
  ExprId affine(const Affine& a);
  ExprId op(ir::OpKind kind, ir::DType t, std::vector<ExprId> args);
  ExprId load(uint32_t buffer, const Affine& position, ir::DType t);
  Access access(uint32_t buffer, const Affine& position);
  /// A run-time index as a checked term.
  Affine term(ExprId index, int64_t extent, int64_t size, uint32_t faultNumber, size_t axis);
  uint32_t fault(const ir::Op& op, uint8_t kind);
  bool failed() const { return !build_.kernel.error.empty(); }
  void fail(std::string why);

  Stage stage;

 protected:
  KernelBuild& build_;
  const std::vector<VarRange> ranges_;

 private:
  /// The expression as an affine function of loop variables, if it is sums and multiples of them.
  std::optional<Affine> affineOf(ExprId index, int depth = 0) const;

  std::unordered_map<uint64_t, std::vector<ExprId>> constants_;
  std::map<std::tuple<ir::OpKind, ir::DType, std::vector<ExprId>>, ExprId> ops_;
};

/// Builds the expressions of one stage on demand, from the values that it stores backwards.
class StageBuilder : public ExprGraph {
 public:
  /// `split`: whether piecewise ops may ask for a smaller box.
  StageBuilder(KernelBuild& build, std::vector<VarRange> ranges, bool split)
      : ExprGraph(build, std::move(ranges)), split_(split) {}

  /// The expression of `v` at `index`; meaningless once failed() or a wish is set.
  ExprId value(const ir::Value* v, const Index& index);
  /// The position in `v`, a strided view of a region argument, of element `index`; nullopt when it is no view.
  std::optional<Affine> viewPosition(const ir::Value* v, const std::vector<Affine>& index, uint32_t& buffer);
  std::vector<Affine> dims(const Index& index, std::span<const int64_t> shape);
  bool stopped() const { return failed() || refinement || cut; }

  std::optional<Refinement> refinement;  ///< the space must be refined and the kernel built anew
  struct BoxCut {
    size_t var;
    int64_t at;
  };
  std::optional<BoxCut> cut;  ///< the box must be cut at `at` along `var`
  bool refinable = true;      ///< otherwise indices that are not affine become divisions

 private:
  ExprId compute(const ir::Value* v, const Index& index);
  /// What is in memory or in a scalar, and what an earlier stage has reduced; nullopt for what is to be computed.
  std::optional<ExprId> available(const ir::Value* v, const Index& index);
  /// Element `index` of `v`, a strided view of a region argument.
  ExprId loadView(const ir::Value* v, const std::vector<Affine>& index);
  /// Whether an element of `v` is one of a buffer, with nothing to compute.
  bool isLoaded(const ir::Value* v) const;
  ExprId elementwise(const ir::Op& op, const Index& index);
  ExprId piecewise(const ir::Op& op, const Index& index);
  ExprId concat(const ir::Op& op, const std::vector<Affine>& at);
  ExprId unrolled(const ir::Op& op, const Index& index);
  ExprId gather(const ir::Op& op, const Index& index);
  ExprId running(const ir::Op& op);
  ExprId dynamicSlice(const ir::Op& op, const Index& index);
  ExprId random(const ir::Op& op, const Index& index);
  enum class Side { Below, Inside, Above, Mixed };
  Side sideOf(const Affine& a, int64_t lo, int64_t hi);

  const bool split_;
  std::unordered_map<const ir::Value*, std::vector<std::pair<Index, ExprId>>> memo_;
};

/// Merges adjacent loops that all accesses walk as one, and drops loops of one trip.
void collapseLoops(Kernel& k);

/// The parts of buildKernel. Each sets kernel.error on failure.
void buildLoop(KernelBuild& g);
void buildScan(KernelBuild& g, const ir::Op& scan);
void buildUpdate(KernelBuild& g);
void buildProduct(KernelBuild& g);
void buildAttention(KernelBuild& g, const ir::Op& attention);
void buildAttentionGradient(KernelBuild& g, const ir::Op& gradient);
/// A fused op of kind "tensor_loop".
void buildTensorLoop(const ir::Op& fused, const ir::TargetTraits& traits, Kernel& k);
/// Buffers and scalars of a loop that is one fused op. Attribute `carried` gives the operand of each tensor result, -1
/// for rank 0.
void bindCarried(const ir::Op& fused, Kernel& k);
/// The product of a product group; null where there is none.
const ir::Op* productOf(const ir::Region& region);
/// Stores what the group yields, at the points of its domain that `index` names.
void storeResults(const KernelBuild& g, StageBuilder& b, const Index& index);

}  // namespace tenc::codegen
