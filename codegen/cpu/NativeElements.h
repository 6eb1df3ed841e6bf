// Reads, updates and views of tensors in native loops.
#pragma once
#include "codegen/cpu/NativeValues.h"

namespace tenc::codegen::cpu {

class NativeElements : protected NativeValues {
 protected:
  using NativeValues::NativeValues;

  void gather(const ir::Op& op);
  void dynamicSlice(const ir::Op& op);
  void scatter(const ir::Op& op);
  void dynamicUpdate(const ir::Op& op);
  void updateSlice(const ir::Op& op);
  void view(const ir::Op& op);
  void literal(const ir::Op& op);

 private:
  llvm::Value* locate(const ir::Op& op, const NativeValue& slot, const ir::Type& t, const std::vector<int64_t>& axes,
                      size_t first, const std::vector<int64_t>* sizes);
  struct Checked {
    int64_t extent, most, axis;
    bool fromEnd;  ///< whether it may count from the end
  };
  Scalar checked(const ir::Op& op, Scalar at, const Checked& c);
  llvm::Value* offset(llvm::Value* base, ir::DType t, Scalar at, int64_t stride);
  void update(const NativeValue& slot, llvm::Value* at, ir::DType t, Scalar v, const std::string& mode);
  void updateAt(const ir::Op& op, const std::string& mode);
  NativeValue local(const ir::Op& op);
  void copies(const ir::Op& op);

  std::unordered_map<const ir::Op*, llvm::Value*> locals_;
};

}  // namespace tenc::codegen::cpu
