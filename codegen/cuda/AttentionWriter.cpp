// Attention in one kernel: a block has some queries, goes through keys and values step by step, and keeps of all steps
// the greatest score, the sum of the weights and the weighted sums of values (Milakov and Gimelshein 2018, "Online
// normalizer calculation for softmax"; Dao 2023, "FlashAttention-2"). Its gradient in another one, which computes the
// weights again.
#include "codegen/cuda/AttentionParts.h"
#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {
namespace {

/// Numbers of 16 bits whose sum is a weight. Two have 22 bits of f16, and of bf16 16, which is enough for results that
/// are rounded to it. One is what FlashAttention has.
int partsOf(const Kernel& k, const Features& features) {
  if (features.fast) return 1;
  return k.attention.operands == ir::DType::BF16 && k.reductions[0].result != ir::DType::BF16 ? 3 : 2;
}

std::string flag(bool b) { return b ? ", true" : ", false"; }

/// The first row of a tile. Of causal attention blocks with the most to do come first: those of keys in order, those of
/// queries from the end.
std::string firstRow(const std::string& tile, int64_t tiles, int rows, bool fromEnd) {
  return (fromEnd ? "(" + decimal(tiles - 1) + " - (int)(" + tile + "))" : "(int)(" + tile + ")") + " * " +
         decimal(rows);
}

class AttentionWriter {
 public:
  AttentionWriter(const Kernel& kernel, const AttentionPlan& plan, const Features& features, Module& module,
                  const KernelNames& names)
      : a_(kernel.attention), plan_(plan), weights_(partsOf(kernel, features)), parts_(kernel, module, names) {
    if (plan.onTensorCores) module.need(kTensorText);
    module.need(kAttentionText);
    if (plan.onTensorCores) module.need(kTensorPartsText);
    module.need(plan.onTensorCores ? kTensorAttentionText : kRowAttentionText);
  }

  std::string write() {
    const std::string tiles = decimal(plan_.tiles) + "u";
    parts_.out().line("const int first = " + firstRow("blockIdx.x % " + tiles, plan_.tiles, plan_.rows, a_.causal) +
                      ";");
    parts_.decodeBatch("blockIdx.x / " + tiles);
    parts_.matrix("q", a_.q, a_.queries, a_.depth, plan_.q);
    parts_.matrix("k", a_.k, a_.keys, a_.depth, plan_.k);
    parts_.matrix("v", a_.v, a_.keys, a_.width, plan_.v);
    parts_.score();
    parts_.store("store", a_.epilogue, plan_.vector);
    parts_.save();
    std::string call = plan_.onTensorCores
                           ? "tenc_attention_tensor<" + decimal(plan_.rows) + ", " + decimal(plan_.step)
                           : "tenc_attention_rows<" + decimal(plan_.rows) + ", " + decimal(plan_.threads);
    call += flag(a_.causal) + flag(a_.zero) + ", " + decimal(plan_.vector);
    if (plan_.onTensorCores) call += ", " + decimal(weights_);
    call += ">(q, k, v, first, ";
    if (plan_.onTensorCores) call += a_.operands == ir::DType::F16 ? "14, " : "0, ";
    parts_.out().line(call + "score, store, save);");
    return parts_.missing();
  }

 private:
  const Attention& a_;
  const AttentionPlan plan_;
  const int weights_;  // numbers that a weight is the sum of
  AttentionParts parts_;
};

/// Gradients: blocks of keys, which go through queries, and behind them blocks of queries, which go through keys. They
/// are one launch, so that both find in caches what the others have read.
class GradientWriter {
 public:
  GradientWriter(const Kernel& kernel, const GradientPlan& plan, const Features& features, Module& module,
                 const KernelNames& names)
      : a_(kernel.attention),
        g_(kernel.gradient),
        plan_(plan),
        weights_(partsOf(kernel, features)),
        parts_(kernel, module, names) {
    if (plan.onTensorCores) module.need(kTensorText);
    module.need(kAttentionText);
    if (plan.onTensorCores) module.need(kTensorPartsText);
    module.need(plan.onTensorCores ? kTensorGradientText : kRowGradientText);
  }

  std::string write() {
    decodeBlock();
    parts_.matrix("q", a_.q, a_.queries, a_.depth, plan_.q);
    parts_.matrix("k", a_.k, a_.keys, a_.depth, plan_.k);
    parts_.matrix("v", a_.v, a_.keys, a_.width, plan_.v);
    parts_.matrix("c", g_.cotangent, a_.queries, a_.width, plan_.c);
    parts_.matrix("totals", g_.totals, a_.queries, 1, 1);
    parts_.matrix("deltas", g_.deltas, a_.queries, 1, 1);
    parts_.score();
    out().line("const float slope = " + parts_.value(g_.slopes, g_.slope) + ";");
    out().line("__shared__ __align__(16) unsigned char memory[" + decimal(plan_.bytes) + "];");
    if (plan_.keyTiles > 0) {
      store("storeK", g_.k);
      store("storeV", g_.v);
    }
    if (plan_.queryTiles > 0) store("storeQ", g_.q);
    if (plan_.keyTiles > 0 && plan_.queryTiles > 0) out().line("if (ofKeys)");
    if (plan_.keyTiles > 0) call(true, "k, v, q, c", "storeK, storeV");
    if (plan_.keyTiles > 0 && plan_.queryTiles > 0) out().line("else");
    if (plan_.queryTiles > 0) call(false, "q, c, k, v", "storeQ, storeQ");
    return parts_.missing();
  }

 private:
  CudaText& out() { return parts_.out(); }

  void decodeBlock() {
    const std::string keys = decimal(plan_.keyTiles * plan_.heads) + "u";
    if (plan_.queryTiles == 0 || plan_.keyTiles == 0) {
      const bool ofKeys = plan_.queryTiles == 0;
      const int64_t tiles = ofKeys ? plan_.keyTiles : plan_.queryTiles;
      const std::string by = decimal(tiles) + "u";
      out().line("const int first = " + firstRow("blockIdx.x % " + by, tiles, plan_.rows, !ofKeys && a_.causal) + ";");
      return parts_.decodeBatch("blockIdx.x / " + by);
    }
    const std::string ofKeys = decimal(plan_.keyTiles) + "u", ofQueries = decimal(plan_.queryTiles) + "u";
    out().line("const bool ofKeys = blockIdx.x < " + keys + ";");
    out().line("const unsigned block = ofKeys ? blockIdx.x : blockIdx.x - " + keys + ";");
    out().line("const int first = ofKeys ? " + firstRow("block % " + ofKeys, plan_.keyTiles, plan_.rows, false) +
               " : " + firstRow("block % " + ofQueries, plan_.queryTiles, plan_.rows, a_.causal) + ";");
    out().line("const unsigned head = ofKeys ? block / " + ofKeys + " : block / " + ofQueries + ";");
    parts_.decodeBatch("head");
  }

  void store(const std::string& name, const AttentionGradient::Result& result) {
    if (result.wanted) return parts_.store(name, result.epilogue, plan_.vector);
    out().line("const auto " + name + " = [](int, int, const tenc_vector<float, " + decimal(plan_.vector) + ">&) {};");
  }

  void call(bool ofKeys, const std::string& operands, const std::string& stores) {
    std::string text = plan_.onTensorCores ? "tenc_gradient_tensor<" : "tenc_gradient_rows<";
    text += (ofKeys ? "true, " : "false, ") + decimal(plan_.rows) + ", " + decimal(plan_.step) + ", ";
    text += plan_.onTensorCores ? decimal(weights_) + flag(a_.operands == ir::DType::F16) : decimal(plan_.threads);
    text += flag(a_.causal) + ", " + decimal(plan_.vector);
    out().line(text + ">(memory, " + operands + ", totals, deltas, first, slope, score, " + stores + ");");
  }

  const Attention& a_;
  const AttentionGradient& g_;
  const GradientPlan plan_;
  const int weights_;
  AttentionParts parts_;
};

}  // namespace

std::string writeAttention(const Kernel& kernel, const Features& features, Module& module, const KernelNames& names) {
  return AttentionWriter(kernel, planAttention(kernel, features), features, module, names).write();
}

std::string writeAttentionGradient(const Kernel& kernel, const Features& features, Module& module,
                                   const KernelNames& names) {
  return GradientWriter(kernel, planGradient(kernel, features), features, module, names).write();
}

}  // namespace tenc::codegen::cuda
