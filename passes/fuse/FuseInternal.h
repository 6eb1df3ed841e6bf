// Parts of the fusion pass; internal to passes/fuse/*.cpp. See Fuse.cpp for the whole.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/Passes.h"
#include "passes/fuse/FuseRepeats.h"

namespace tenc::passes::fusion {

/// How an op takes part in fusion.
enum class Role : uint8_t {
  PassThrough,  ///< an index map or a cheap creation: read through by every consumer
  Pointwise,    ///< computes one element from elements at known or gathered places
  Reduction,    ///< also matrix products that are loops
  Scan,         ///< running results along an axis
  Product,
  Update,   ///< writes some elements of operand 0 in place
  Single,   ///< stays an op of its own within the segment (transfer, load, rng_next, library routines, constants)
  Barrier,  ///< effects and control flow: nothing moves across
};
/// Where a target may make a loop of a product, it is still a product here; `analyse` decides.
Role roleOf(const ir::Op& op);
/// Whether an operand of a product is multiplied, and read as a matrix for that. Others (the scale and the mask of
/// attention) are evaluated element by element.
bool isFactor(const ir::Op& product, size_t operand);
/// Rank-0 constants and constants of one repeated element.
bool isSplat(const ir::Op& op);
/// Where the op's results are; the host for what is nowhere.
std::string_view deviceOf(const ir::Op& op);
/// Whether a value is on another device than that: a number on the host, which ops on all devices may read.
bool isElsewhere(const ir::Value& v, std::string_view device);

/// Where the dims of a value lie in an iteration domain: per dim the domain axis, or -1 for a dim that is 1 or repeats.
/// nullopt: at other places than the point at hand.
using DimMap = std::optional<std::vector<int>>;
/// The map of operand `operand` of `op` when its result has map `m`.
DimMap mapThrough(const ir::Op& op, size_t operand, const DimMap& m);

/// What is decided for one op of a region.
struct Node {
  Role role = Role::Single;
  int position = 0;
  int segment = 0;
  bool materialised = false;  ///< some user needs the values in memory
  bool viewed = false;        ///< some user needs a strided view of memory
  bool foreign = false;       ///< evaluated in another segment or a nested region
  bool repeated = false;      ///< evaluated through a broadcast
  bool reduced = false;       ///< evaluated under a reduction or in the epilogue of a product
  bool turned = false;        ///< reads memory along different dims, which a reduction would not do well
  bool alias = false;         ///< a materialised pass-through that is a view of its operand
  bool kept = false;          ///< a part of what is updated in place before the part is read
  int uses = 0;               ///< evaluations, counted through what is inlined
  EvaluationPlaces places;    ///< where they are
  bool follows = false;       ///< a part of something that is recomputed by its consumers, and of nothing else
  int budget = 0;             ///< ops already inlined between here and the root
  bool inlined = false;       ///< recomputed by its consumers
  bool root = false;          ///< member of a group
  int cost = 0;               ///< cheap ops in the tree above; 100 when not cheap
  int pieces = 0;             ///< pads, concats and updates in the tree above
  bool reads = false;         ///< the tree above has loads: not just indices and literals
  // Of roots:
  int group = -1;
  struct Source {
    ir::Value* value;
    DimMap map;
  };
  std::vector<Source> sources;  ///< roots of this segment that it reads
};

using Nodes = std::unordered_map<const ir::Op*, Node>;

/// Operands of convolutions that are views of copies, and these (prepareConvolutions).
using Copies = std::unordered_map<const ir::Value*, ir::Value*>;

/// Decides roles, segments, and what is inlined, a root, or an alias.
void analyse(ir::Region& region, const Context& c, const Copies& copies, Nodes& nodes);

struct Group {
  enum class Kind : uint8_t { Loop, Product, Update, Single } kind = Kind::Loop;
  ir::Dims domain;
  bool closed = false;                       ///< one root alone, which has to be stored before what follows it
  std::optional<std::vector<bool>> reduced;  ///< axes; unset while the group has no reduction
  const ir::Op* product = nullptr;           ///< of a group of that kind
  std::string device;
  const ir::TargetTraits* traits = nullptr;  ///< of the device; null for what is no kernel
  int segment = 0;
  int rank = 0;  ///< below the ranks of all groups that read this one
  int leastConsumer = 1 << 30;
  bool piecewise = false;
  bool light = false;  ///< small products, joined by cheap members only: what takes long is better in whole vectors
  bool scans = false;  ///< running results: of the domain's shape, joined by elementwise members only
  int size = 0;
  int mergedInto = -1;
  std::vector<ir::Op*> members;  ///< in order
};

/// Where a value of a group lies: per dim its domain axis (-1: size 1), and whether it is one element a row.
struct Member {
  bool row = false;
  std::vector<int> axes;
};
/// A value whose dims are the domain's.
DimMap identity(size_t rank);
/// The operand's map of a reduction that is unrolled: its result's point, all along the reduced axes.
DimMap aroundUnrolled(const ir::Op& op);
/// What an op runs over by itself.
ir::Dims domainOf(const ir::Op& op, const Node& n);
/// Per axis of a domain of that rank.
std::vector<bool> reducedAxes(const ir::Op& op, size_t rank);
Member memberOf(const ir::Op& op, const Node& n, const ir::Dims& domain);

/// Groups the roots of a region. Group numbers in nodes are resolved.
std::vector<Group> formGroups(ir::Region& region, const Context& c, Nodes& nodes);

/// Replaces groups by fused ops, in an order that keeps operands before users and segments apart.
void emitGroups(ir::Region& region, std::vector<Group>& groups, Nodes& nodes);

/// Moves kernels of a region up that free more memory than they take.
void orderKernels(ir::Region& region);

/// The operand in whose memory result `r` of a kernel has to be, or -1.
int updatedOperand(const ir::Op& fused, size_t r);
/// Makes tensors of one number again where several ops update them in place.
void separateFills(ir::Region& region);

/// Makes loops over rank-0 values and single elements fused ops of kind "native".
void formNativeLoops(ir::Region& region, const Context& c);
/// Whether a loop may be a native kernel: on the device of its values, or on one that is given, from which its numbers
/// are brought back for the host.
bool isNativeLoop(const ir::Op& loop, const Context& c, const std::string* device);
/// Makes a loop that may be native one fused op.
ir::Op& formNativeLoop(ir::Op& loop);
/// Puts a loop into a fused op of that kind.
ir::Op& wrapLoop(ir::Op& loop, const std::string& kind);

/// Marks products of a matrix and its transposition, and multiplies narrow integers before they are widened.
void prepareProducts(ir::Region& region, const Context& c);
/// Makes products of several results fused ops.
void formProducts(ir::Region& region);

/// Splits reductions of many elements to few results in two, marks tiny ones to be unrolled.
void prepareReductions(ir::Region& region, const Context& c);

/// Cuts long scans of few rows into blocks: the totals of blocks, what each starts from, the blocks.
void prepareScans(ir::Region& region, const Context& c);

/// Copies images and weights of convolutions, channels last, where the device reads them so.
void prepareConvolutions(ir::Region& region, const Context& c, Copies& copies);

/// Scatters of one element a row into a repeated number become elementwise; those that add many integers at few places
/// are cut into parts.
void prepareScatters(ir::Region& region, const Context& c);
/// Moves slices of what is updated in place before the first update.
void readPartsFirst(ir::Region& region);
/// Whether to keep a part is cheaper than to copy the whole.
bool isLittlePart(const ir::Value& part, const ir::Value& whole);
/// The op of a region that `op` is, or that it is nested in; null for none.
ir::Op* within(ir::Op* op, const ir::Region& region);

/// What of a value that is updated in place is read behind the update. Of a region whose ops are analysed in order:
/// those that have no node yet come behind all that have.
class BehindUpdates {
 public:
  BehindUpdates(const ir::Region& region, Nodes& nodes) : region_(region), nodes_(nodes) {}
  /// Whether a value of the region, or of one around it that runs as often, has no use behind an op of the region.
  bool diesAt(const ir::Value& v, const ir::Op& op) const;
  /// Has the parts stored that are read behind an update of the old value: else all of that would have to be kept.
  /// `update`: the op of the region that the update is, or is nested in.
  void keepParts(const ir::Value& old, const ir::Op& update);

 private:
  bool diesBehindBranches(const ir::Value& v) const;
  bool isBehind(const ir::Op& a, const ir::Op& b) const;
  const ir::Op& lastView(const ir::Op& part, const ir::Op& update) const;
  bool isReadBehind(const ir::Value& v, const ir::Op& update) const;

  const ir::Region& region_;
  Nodes& nodes_;
};

}  // namespace tenc::passes::fusion
