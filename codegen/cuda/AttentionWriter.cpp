// Attention in one kernel: a block has some queries, goes through keys and values step by step, and keeps of all steps
// the greatest score, the sum of the weights and the weighted sums of values (Milakov and Gimelshein 2018, "Online
// normalizer calculation for softmax"; Dao 2023, "FlashAttention-2").
#include "codegen/ScalarConvert.h"
#include "codegen/cuda/AttentionSchedule.h"
#include "codegen/cuda/KernelWriters.h"
#include "codegen/cuda/ProductParts.h"
#include "codegen/cuda/TensorTexts.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kNarrowElements = int64_t{1} << 31;

class AttentionWriter {
 public:
  AttentionWriter(const Kernel& kernel, const AttentionPlan& plan, Module& module, const KernelNames& names)
      : kernel_(kernel),
        a_(kernel.attention),
        plan_(plan),
        out_(module.text),
        scalars_(module.text, module.tables),
        names_(names) {
    if (plan.onTensorCores) module.need(kTensorText);
    module.need(kAttentionText);
    module.need(plan.onTensorCores ? kTensorAttentionText : kRowAttentionText);
  }

  std::string write() {
    decodeBlock();
    matrix("q", a_.q, a_.queries, a_.depth, plan_.q);
    matrix("k", a_.k, a_.keys, a_.depth, plan_.k);
    matrix("v", a_.v, a_.keys, a_.width, plan_.v);
    score();
    store();
    const auto flag = [](bool b) { return std::string(b ? ", true" : ", false"); };
    std::string call = plan_.onTensorCores
                           ? "tenc_attention_tensor<" + decimal(plan_.rows) + ", " + decimal(plan_.step)
                           : "tenc_attention_rows<" + decimal(plan_.rows) + ", " + decimal(plan_.threads);
    call += flag(a_.causal) + flag(a_.zero) + ", " + decimal(plan_.vector);
    if (plan_.onTensorCores) call += ", " + decimal(parts());
    call += ">(q, k, v, first, ";
    if (plan_.onTensorCores) call += a_.operands == ir::DType::F16 ? "14, " : "0, ";
    out_.line(call + "score, store);");
    return scalars_.missing();
  }

 private:
  /// Numbers of 16 bits whose sum is a weight. Two have 22 bits of f16, and of bf16 16, which is enough for results
  /// that are rounded to it.
  int parts() const {
    return a_.operands == ir::DType::BF16 && kernel_.reductions[0].result != ir::DType::BF16 ? 3 : 2;
  }

  /// Which queries of which head are the block's. Of causal attention those with the most keys come first.
  void decodeBlock() {
    const std::string tiles = decimal(plan_.tiles), tile = "(int)(blockIdx.x % " + tiles + "u)";
    out_.line("const int first = " + (a_.causal ? "(" + decimal(plan_.tiles - 1) + " - " + tile + ")" : tile) + " * " +
              decimal(plan_.rows) + ";");
    std::string rest = "blockIdx.x / " + tiles + "u";
    batch_.resize(a_.batch.size());
    for (size_t d = a_.batch.size(); d-- > 0;) {
      batch_[d] = out_.fresh("i");
      const std::string extent = decimal(a_.batch[d]) + "u";
      out_.line("const int " + batch_[d] + " = (int)(" + (d == 0 ? rest : "(" + rest + ") % " + extent) + ");");
      rest = "(" + rest + ") / " + extent;
    }
  }

  void matrix(const std::string& name, const MatrixView& m, int64_t rows, int64_t columns, int width) {
    const Buffer& b = kernel_.buffers[m.buffer];
    const std::string type = b.dtype == ir::DType::F16    ? "tenc_f16"
                             : b.dtype == ir::DType::BF16 ? "tenc_bf16"
                                                          : "tenc_f32";
    const std::string position = b.elements < kNarrowElements ? "int" : "long long";
    std::string from = names_.buffers[m.buffer] + " + " + decimal(m.offset);
    for (size_t d = 0; d < batch_.size(); ++d)
      if (m.batch[d] != 0 && a_.batch[d] != 1)
        from += " + (" + position + ")" + batch_[d] + " * " + decimal(m.batch[d]);
    out_.line("const tenc_matrix<" + type + ", " + position + ", " + decimal(rows) + ", " + decimal(columns) + ", " +
              decimal(m.row) + ", " + decimal(m.col) + ", " + decimal(width) + "> " + name + " = {" + from + "};");
  }

  /// What becomes of the product of a query and a key.
  void score() {
    out_.open("const auto score = [&](int query, int key, float product) -> float");
    std::vector<std::string> variables = batch_;
    variables.insert(variables.end(), {"query", "key"});
    names_.reduced = {"product"};
    StageWriter stage(out_, scalars_, kernel_, a_.scores, names_, variables);
    const Scalar value = stage.value(a_.score);
    out_.line("return " + CudaScalars::text(value) + ";");
    out_.close(";");
  }

  void store() {
    const std::string type = "tenc_vector<float, " + decimal(plan_.vector) + ">";
    out_.open("const auto store = [&](int query, int column, const " + type + "& result)");
    std::vector<std::string> variables = batch_;
    variables.insert(variables.end(), {"query", "column"});
    const Scalar result = scalars_.wrap(plan_.vector == 1 ? "result.at[0]" : "result.at[v]", Repr::F32);
    writeEpilogue(out_, scalars_, kernel_, a_.epilogue, names_, variables, result, ir::DType::F32, plan_.vector);
    out_.close(";");
  }

  const Kernel& kernel_;
  const Attention& a_;
  const AttentionPlan plan_;
  CudaText& out_;
  CudaScalars scalars_;
  KernelNames names_;
  std::vector<std::string> batch_;  ///< names of the batch dims' variables
};

}  // namespace

std::string writeAttention(const Kernel& kernel, const Features& features, Module& module, const KernelNames& names) {
  return AttentionWriter(kernel, planAttention(kernel, features), module, names).write();
}

}  // namespace tenc::codegen::cuda
