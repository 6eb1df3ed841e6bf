#include "codegen/cpu/KernelEmitters.h"

namespace tenc::codegen::cpu {
namespace {

struct Emitter {
  const KernelToEmit& kernel;
  std::string operator()(const LoopSchedule& s) const { return emitLoopKernel(kernel, s), ""; }
  std::string operator()(const TiledProduct& p) const { return emitTiledProduct(kernel, p), ""; }
  std::string operator()(const StreamedProduct& p) const { return emitStreamedProduct(kernel, p), ""; }
  std::string operator()(const SmallProduct& p) const { return emitSmallProduct(kernel, p), ""; }
  std::string operator()(const InterleavedProduct& p) const { return emitInterleavedProduct(kernel, p), ""; }
  std::string operator()(const DepthwiseConvolution& c) const { return emitDepthwise(kernel, c), ""; }
  std::string operator()(const TensorLoop& loop) const { return emitTensorLoop(kernel, loop); }
  std::string operator()(const NativeLoop& loop) const { return emitNativeLoop(kernel, loop); }
};

}  // namespace

std::string emitKernel(const KernelToEmit& kernel, const Schedule& schedule) {
  return std::visit(Emitter{kernel}, schedule.form);
}

}  // namespace tenc::codegen::cpu
