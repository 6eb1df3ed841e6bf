// Attention in one kernel: a block has some queries, goes through keys and values step by step, and keeps of all steps
// the greatest score, the sum of the weights and the weighted sums of values (Milakov and Gimelshein 2018, "Online
// normalizer calculation for softmax"; Dao 2023, "FlashAttention-2"). Its gradient in another one, which computes the
// weights again.
#include <bit>
#include <cmath>
#include <optional>

#include "codegen/cuda/AttentionParts.h"
#include "codegen/cuda/GroupProducts.h"
#include "codegen/cuda/TensorTexts.h"
#include "ir/Scalar.h"

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

/// What scores are of products, where that is a constant above 0: their order is then the same.
std::optional<float> positiveSlope(const Attention& a) {
  const auto& exprs = a.scores.exprs;
  const Expr& score = exprs[a.score];
  const auto isProduct = [&](ExprId id) { return exprs[id].kind == Expr::Kind::Reduced; };
  if (isProduct(a.score)) return 1;
  if (score.kind != Expr::Kind::Op || score.op != ir::OpKind::Mul || score.args.size() != 2) return std::nullopt;
  if (!isProduct(score.args[0]) && !isProduct(score.args[1])) return std::nullopt;
  const Expr* factor = &exprs[score.args[isProduct(score.args[0]) ? 1 : 0]];
  // Casts to wider floats round nothing.
  while (factor->kind == Expr::Kind::Op && factor->op == ir::OpKind::Cast &&
         ir::byteSize(exprs[factor->args[0]].dtype) < ir::byteSize(factor->dtype))
    factor = &exprs[factor->args[0]];
  if (factor->kind != Expr::Kind::Constant || !ir::isFloat(factor->dtype)) return std::nullopt;
  const auto value = static_cast<float>(ir::floatValue(factor->dtype, factor->bits));
  return value > 0 && std::isnormal(value * 1.5f) ? std::optional(value) : std::nullopt;
}

std::string floatText(float x) { return "__uint_as_float(" + decimal(std::bit_cast<uint32_t>(x)) + "u)"; }

/// Which tile of which head a block has. Of causal attention those of all heads that have the most to do come first, so
/// that the last blocks to end are small; else tiles of a head, which read the same keys, run together.
class BlockOrder {
 public:
  BlockOrder(int64_t tiles, int64_t heads, bool causal)
      : tiles_(decimal(tiles) + "u"), heads_(decimal(heads) + "u"), causal_(causal) {}
  std::string tile(const std::string& block) const { return causal_ ? block + " / " + heads_ : block + " % " + tiles_; }
  std::string head(const std::string& block) const { return causal_ ? block + " % " + heads_ : block + " / " + tiles_; }

 private:
  std::string tiles_, heads_;
  bool causal_;
};

/// Declares a class of what a warpgroup multiplies: its rows with a step of others, which `held` rows of a tile are a
/// part of, and numbers of `parts` halves with these. With `gradient` two such pairs of tiles. Gives its name.
std::string groupProducts(Module& module, const Attention& a, int step, int rows, int held, int parts, bool gradient) {
  constexpr int kRow = 128, kTerms = 16;
  const auto tiles = [](int64_t columns) { return static_cast<int>(columns + kTerms - 1) / kTerms; };
  const auto along = [&](const char* name, int64_t columns) {
    GroupRun run{name, a.operands, step};
    run.waits = !gradient;
    for (int d = 0; d < tiles(columns); ++d)
      run.steps.push_back({d / 4 * rows * kRow + d % 4 * 32, int64_t{d} / 4 * held * kRow + d % 4 * 32});
    return run.text();
  };
  const auto across = [&](const char* name, int64_t columns) {
    GroupRun run{name, a.operands, kTerms * tiles(columns)};
    run.adds = run.rightAlongColumns = true;
    run.waits = gradient;
    run.fragments = step / kTerms * parts / (gradient || parts == 1 ? 1 : 2);  // as in tenc_attention_groups
    for (int f = 0; f < run.fragments; ++f) run.steps.push_back({f, int64_t{f} / parts * kTerms * kRow});
    return run.text();
  };
  const std::string name = module.text.fresh("products");
  module.tables += "struct " + name + " {\n";
  if (gradient)
    module.tables +=
        along("scores", a.depth) + along("changes", a.width) + across("sums", a.depth) + across("others", a.width);
  else
    module.tables += along("scores", a.depth) + across("values", a.width);
  module.tables += "};\n";
  return name;
}

class AttentionWriter {
 public:
  AttentionWriter(const Kernel& kernel, const AttentionPlan& plan, const Features& features, Module& module,
                  const KernelNames& names)
      : a_(kernel.attention),
        plan_(plan),
        weights_(partsOf(kernel, features)),
        module_(module),
        parts_(kernel, module, names) {
    if (plan.onTensorCores) module.need(kTensorText);
    module.need(kAttentionText);
    if (plan.onTensorCores) module.need(kTensorPartsText);
    if (plan.groups > 0) module.need(kGroupText);
    module.need(plan.groups > 0 ? kGroupAttentionText : plan.onTensorCores ? kTensorAttentionText : kRowAttentionText);
  }

  std::string write() {
    const BlockOrder order(plan_.tiles, plan_.blocks / plan_.tiles, a_.causal);
    parts_.out().line("const int first = " + firstRow(order.tile("blockIdx.x"), plan_.tiles, plan_.rows, a_.causal) +
                      ";");
    parts_.decodeBatch(order.head("blockIdx.x"));
    parts_.matrix("q", a_.q, a_.queries, a_.depth, plan_.q);
    parts_.matrix("k", a_.k, a_.keys, a_.depth, plan_.k);
    parts_.matrix("v", a_.v, a_.keys, a_.width, plan_.v);
    const std::optional<float> slope = plan_.groups > 0 ? positiveSlope(a_) : std::nullopt;
    if (slope)
      parts_.out().line("const auto score = [](int, int, float product) { return product; };");
    else
      parts_.score();
    parts_.store("store", a_.epilogue, plan_.vector);
    parts_.save();
    std::string call =
        plan_.groups > 0 ? "tenc_attention_groups<" + decimal(plan_.shared) + ", " + decimal(plan_.groups) + ", " +
                               decimal(plan_.step) + ", " + decimal(plan_.held) + ", " + decimal(plan_.stages)
        : plan_.onTensorCores ? "tenc_attention_tensor<" + decimal(plan_.rows) + ", " + decimal(plan_.step)
                              : "tenc_attention_rows<" + decimal(plan_.rows) + ", " + decimal(plan_.threads);
    call += flag(a_.causal) + flag(a_.zero) + ", " + decimal(plan_.vector);
    if (plan_.onTensorCores) call += ", " + decimal(weights_);
    if (plan_.groups > 0) call += ", " + products();
    call += ">(q, k, v, first, ";
    if (plan_.groups > 0) call += slope ? floatText(*slope) + ", " : "1, ";
    if (plan_.onTensorCores) call += a_.operands == ir::DType::F16 ? "14, " : "0, ";
    parts_.out().line(call + "score, store, save);");
    return parts_.missing();
  }

 private:
  std::string products() { return groupProducts(module_, a_, plan_.step, plan_.rows, plan_.held, weights_, false); }

  const Attention& a_;
  const AttentionPlan plan_;
  const int weights_;  // numbers that a weight is the sum of
  Module& module_;
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
        module_(module),
        parts_(kernel, module, names) {
    if (plan.onTensorCores) module.need(kTensorText);
    module.need(kAttentionText);
    if (plan.onTensorCores) module.need(kTensorPartsText);
    module.need(plan.onTensorCores ? kTensorGradientText : kRowGradientText);
    if (plan.groups == 0) return;
    module.need(kGroupText);
    module.need(kGroupGradientText);
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
    out().line(plan_.groups > 0 ? "extern __shared__ __align__(1024) unsigned char memory[];"
                                : "__shared__ __align__(16) unsigned char memory[" + decimal(plan_.bytes) + "];");
    if (plan_.groups > 0) products_ = groupProducts(module_, a_, plan_.step, plan_.rows, plan_.step, weights_, true);
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
    const BlockOrder byKeys(plan_.keyTiles, plan_.heads, a_.causal),
        byQueries(plan_.queryTiles, plan_.heads, a_.causal);
    if (plan_.queryTiles == 0 || plan_.keyTiles == 0) {
      const bool ofKeys = plan_.queryTiles == 0;
      const int64_t tiles = ofKeys ? plan_.keyTiles : plan_.queryTiles;
      const BlockOrder& order = ofKeys ? byKeys : byQueries;
      out().line("const int first = " + firstRow(order.tile("blockIdx.x"), tiles, plan_.rows, !ofKeys && a_.causal) +
                 ";");
      return parts_.decodeBatch(order.head("blockIdx.x"));
    }
    out().line("const bool ofKeys = blockIdx.x < " + keys + ";");
    out().line("const unsigned block = ofKeys ? blockIdx.x : blockIdx.x - " + keys + ";");
    out().line("const int first = ofKeys ? " + firstRow(byKeys.tile("block"), plan_.keyTiles, plan_.rows, false) +
               " : " + firstRow(byQueries.tile("block"), plan_.queryTiles, plan_.rows, a_.causal) + ";");
    out().line("const unsigned head = ofKeys ? " + byKeys.head("block") + " : " + byQueries.head("block") + ";");
    parts_.decodeBatch("head");
  }

  void store(const std::string& name, const AttentionGradient::Result& result) {
    if (result.wanted) return parts_.store(name, result.epilogue, plan_.vector);
    out().line("const auto " + name + " = [](int, int, const tenc_vector<float, " + decimal(plan_.vector) + ">&) {};");
  }

  void call(bool ofKeys, const std::string& operands, const std::string& stores) {
    std::string text = plan_.groups > 0      ? "tenc_gradient_groups<" + decimal(plan_.shared) + ", "
                       : plan_.onTensorCores ? "tenc_gradient_tensor<"
                                             : "tenc_gradient_rows<";
    text += (ofKeys ? "true, " : "false, ") + decimal(plan_.groups > 0 ? plan_.groups : plan_.rows) + ", " +
            decimal(plan_.step) + ", ";
    if (plan_.groups > 0) text += decimal(plan_.stages) + ", ";
    text += plan_.onTensorCores ? decimal(weights_) + flag(a_.operands == ir::DType::F16) : decimal(plan_.threads);
    text += flag(a_.causal) + ", " + decimal(plan_.vector);
    if (plan_.groups > 0) text += ", " + products_;
    out().line(text + ">(memory, " + operands + ", totals, deltas, first, slope, score, " + stores + ");");
  }

  const Attention& a_;
  const AttentionGradient& g_;
  const GradientPlan plan_;
  const int weights_;
  Module& module_;
  std::string products_;  // of warpgroups
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
