#include "codegen/cuda/StageVectors.h"

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {

StageVectors::StageVectors(const Kernel& kernel, const Stage& stage, size_t variable, int width)
    : kernel_(&kernel),
      stage_(&stage),
      variable_(variable),
      width_(width),
      loads_(stage.exprs.size()),
      stores_(stage.stores.size()),
      inMemory_(stage.stores.size(), true) {}

std::string StageVectors::type(const Kernel& kernel, uint32_t buffer, int width) {
  if (kernel.buffers[buffer].dtype == ir::DType::BF16) return "tenc_bfloats<" + decimal(width) + ">";
  return "tenc_vector<" + std::string(memoryType(kernel.buffers[buffer].dtype)) + ", " + decimal(width) + ">";
}

void StageVectors::shift(const RowShift& rows, std::string first, bool near) {
  rows_ = rows, first_ = std::move(first), near_ = near;
}

bool StageVectors::suits(const Access& a) const {
  if (!rows_) return isVector(*kernel_, *stage_, a, variable_, width_);
  return kernel_->buffers[a.buffer].role != Buffer::Role::Scratch && rows_->suits(*kernel_, a);
}

std::string StageVectors::bounds() const {
  return rows_ ? ", !early && !late, " + first_ + ", " + decimal(rows_->extent) : "";
}

std::string StageVectors::loaded(const std::string& type, const std::string& address) const {
  if (rows_ && near_)
    return "tenc_load_near<" + type + ">(" + address + ", atStart, atEnd, " + first_ + ", " + decimal(rows_->extent) +
           ")";
  return (rows_ ? "tenc_load_inside<" : "tenc_load<") + type + ">(" + address + bounds() + ")";
}

void StageVectors::load(CudaText& out, StageWriter& first) {
  if (width_ <= 1) return;
  for (ExprId id = 0; id < loads_.size(); ++id) {
    const Expr& e = stage_->exprs[id];
    if (e.kind != Expr::Kind::Load || !loads_[id].empty()) continue;
    if (!suits(e.access)) continue;
    loads_[id] = out.fresh("x");
    const std::string t = type(*kernel_, e.access.buffer, width_);
    out.line("const " + t + " " + loads_[id] + " = " + loaded(t, first.address(e.access)) + ";");
  }
  for (size_t i = 0; i < stores_.size(); ++i) {
    const Access& a = stage_->stores[i].access;
    if (!stores_[i].empty() || !suits(a)) continue;
    stores_[i] = out.fresh("y");
    out.line(type(*kernel_, a.buffer, width_) + " " + stores_[i] + ";");
  }
}

void StageVectors::give(StageWriter& point) const {
  const std::string element = width_ > 1 ? ".at[v]" : ".at[0]";
  for (ExprId id = 0; id < loads_.size(); ++id)
    if (!loads_[id].empty()) point.given(id, loads_[id] + element);
  for (size_t i = 0; i < stores_.size(); ++i)
    if (!stores_[i].empty()) point.collect(i, stores_[i] + element);
}

void StageVectors::store(CudaText& out, StageWriter& first) const {
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (stores_[i].empty() || !inMemory_[i]) continue;
    const Access& a = stage_->stores[i].access;
    const bool shared = kernel_->buffers[a.buffer].role == Buffer::Role::Scratch;
    out.line((rows_    ? "tenc_write_inside("
              : shared ? "tenc_store("
                       : "tenc_write(") +
             first.address(a) + ", " + stores_[i] + bounds() + ");");
  }
}

}  // namespace tenc::codegen::cuda
