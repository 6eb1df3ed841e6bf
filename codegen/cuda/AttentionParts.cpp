#include "codegen/cuda/AttentionParts.h"

#include "codegen/ScalarConvert.h"
#include "codegen/cuda/ProductParts.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int64_t kNarrowElements = int64_t{1} << 31;

}  // namespace

void AttentionParts::decodeBatch(std::string number) {
  batch_.resize(a_.batch.size());
  for (size_t d = a_.batch.size(); d-- > 0;) {
    batch_[d] = out_.fresh("i");
    const std::string extent = decimal(a_.batch[d]) + "u";
    out_.line("const int " + batch_[d] + " = (int)(" + (d == 0 ? number : "(" + number + ") % " + extent) + ");");
    number = "(" + number + ") / " + extent;
  }
}

std::string AttentionParts::positionOf(const MatrixView& m) const {
  return kernel_.buffers[m.buffer].elements < kNarrowElements ? "int" : "long long";
}

std::string AttentionParts::from(const MatrixView& m) const {
  std::string text = names_.buffers[m.buffer] + " + " + decimal(m.offset);
  for (size_t d = 0; d < batch_.size(); ++d)
    if (m.batch[d] != 0 && a_.batch[d] != 1)
      text += " + (" + positionOf(m) + ")" + batch_[d] + " * " + decimal(m.batch[d]);
  return text;
}

void AttentionParts::matrix(const std::string& name, const MatrixView& m, int64_t rows, int64_t columns, int width) {
  const ir::DType t = kernel_.buffers[m.buffer].dtype;
  const std::string type = t == ir::DType::F16 ? "tenc_f16" : t == ir::DType::BF16 ? "tenc_bf16" : "tenc_f32";
  out_.line("const tenc_matrix<" + type + ", " + positionOf(m) + ", " + decimal(rows) + ", " + decimal(columns) + ", " +
            decimal(m.row) + ", " + decimal(m.col) + ", " + decimal(width) + "> " + name + " = {" + from(m) + "};");
}

void AttentionParts::score() {
  out_.open("const auto score = [&](int query, int key, float product) -> float");
  std::vector<std::string> variables = batch_;
  variables.insert(variables.end(), {"query", "key"});
  names_.reduced = {"product"};
  StageWriter stage(out_, scalars_, kernel_, a_.scores, names_, variables);
  const Scalar value = stage.value(a_.score);
  out_.line("return " + CudaScalars::text(value) + ";");
  out_.close(";");
}

void AttentionParts::store(const std::string& name, const Stage& epilogue, int vector) {
  const std::string type = "tenc_vector<float, " + decimal(vector) + ">";
  out_.open("const auto " + name + " = [&](int row, int column, const " + type + "& result)");
  std::vector<std::string> variables = batch_;
  variables.insert(variables.end(), {"row", "column"});
  const Scalar result = scalars_.computed(vector == 1 ? "result.at[0]" : "result.at[v]", Repr::F32);
  writeEpilogue(out_, scalars_, kernel_, epilogue, names_, variables, result, ir::DType::F32, vector);
  out_.close(";");
}

void AttentionParts::save() {
  if (!a_.totals) return out_.line("const auto save = [](int, float) {};");
  out_.open("const auto save = [&](int query, float total)");
  out_.line("(" + from(*a_.totals) + ")[(" + positionOf(*a_.totals) + ")query * " + decimal(a_.totals->row) +
            "] = total;");
  out_.close(";");
}

std::string AttentionParts::value(const Stage& stage, ExprId id) {
  StageWriter writer(out_, scalars_, kernel_, stage, names_, batch_);
  return CudaScalars::text(writer.value(id));
}

}  // namespace tenc::codegen::cuda
