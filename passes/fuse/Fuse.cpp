// Fusion: pure tensor ops become `fused` ops, one kernel each.
//
// Region by region: (1) decide which values exist in memory and which are recomputed by their consumers (FuseAnalysis),
// (2) let what remains join groups of one iteration domain, possibly row-wise around reductions (FuseGroups), (3) put
// the groups into `fused` ops (FuseEmit), (4) move those up that free memory (FuseOrder). Effects and control flow cut
// a region into segments; no group spans two. Loops over single numbers are set aside before (FuseNative). In the end,
// ops that update equal fills get one each (FuseFills).
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes {

namespace {

void fuseRegion(ir::Region& region, const Context& c) {
  fusion::Copies copies;
  if (c.fuse) {
    fusion::formNativeLoops(region, c);
    fusion::prepareScatters(region, c);
    fusion::prepareReductions(region, c);
    fusion::prepareScans(region, c);
    fusion::prepareConvolutions(region, c, copies);
    fusion::prepareProducts(region, c);
  }
  fusion::formProducts(region);
  if (c.fuse) fusion::readPartsFirst(region);
  fusion::Nodes nodes;
  fusion::analyse(region, c, copies, nodes);
  std::vector<fusion::Group> groups = fusion::formGroups(region, c, nodes);
  fusion::emitGroups(region, groups, nodes);
  if (c.fuse) fusion::orderKernels(region);
  for (auto& op : region.ops) {
    if (op->kind == ir::OpKind::Fused) continue;
    for (auto& inner : op->regions) fuseRegion(*inner, c);
  }
}

}  // namespace

bool fuse(ir::Module& m, Context& c) {
  for (auto& f : m.funcs) {
    if (!f->body) continue;
    fuseRegion(*f->body, c);
    if (c.fuse) fusion::separateFills(*f->body);
  }
  return true;
}

}  // namespace tenc::passes
