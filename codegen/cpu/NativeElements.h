// Reads, updates and views of tensors in native loops.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "codegen/cpu/NativeValues.h"

namespace tenc::codegen::cpu {

class NativeElements : protected NativeValues {
 protected:
  using NativeValues::NativeValues;

  /// Code that does not always run: what is known and checked there is so nowhere else.
  struct Part {
    explicit Part(NativeElements& e) : elements(e), checked(e.checked_), ranges(e.ranges_) {}
    ~Part() { elements.checked_ = std::move(checked); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    NativeElements& elements;
    std::map<std::pair<const ir::Value*, int64_t>, llvm::Value*> checked;
    IndexRanges::Scope ranges;
  };

  void markRange(const ir::Op& op);
  /// An index as it is after its checks, by what it may be at most.
  using Checks = std::map<int64_t, llvm::Value*>;
  Checks checksOf(const ir::Value* v) const;
  void knowChecked(const ir::Value* v, const Checks& checks);
  void gather(const ir::Op& op);
  void dynamicSlice(const ir::Op& op);
  void scatter(const ir::Op& op);
  void dynamicUpdate(const ir::Op& op);
  void updateSlice(const ir::Op& op);
  /// An update where `condition` holds, and one of the same place where it does not, as one.
  void updateEither(const ir::Op& op, const ir::Op& other, Scalar condition);
  void view(const ir::Op& op);
  void literal(const ir::Op& op);

 private:
  llvm::Value* locate(const ir::Op& op, const NativeValue& slot, const ir::Type& t, const std::vector<int64_t>& axes,
                      size_t first, const std::vector<int64_t>* sizes);
  struct Checked {
    int64_t extent, most, axis;
    bool fromEnd;  ///< whether it may count from the end
  };
  Scalar fromStart(const ir::Op& op, const ir::Value* v, Scalar at, int64_t extent);
  Scalar checked(const ir::Op& op, Scalar at, const Checked& c);
  llvm::Value* offset(llvm::Value* base, ir::DType t, Scalar at, int64_t stride);
  void update(const NativeValue& slot, llvm::Value* at, ir::DType t, Scalar v, const std::string& mode);
  void updateAt(const ir::Op& op, const std::string& mode);
  void tellFault(const ir::Op& op, const std::function<LlvmScalars::BadIndex()>& bad);
  NativeValue local(const ir::Op& op);
  void copies(const ir::Op& op);

  std::unordered_map<const ir::Op*, llvm::Value*> locals_;
  /// Indices as they are after their check, by what they may be at most.
  std::map<std::pair<const ir::Value*, int64_t>, llvm::Value*> checked_;
  /// Of the update that is emitted: what stands in its place where `runs` does not hold.
  struct Twin {
    const ir::Op* op;
    Scalar runs;
  };
  std::optional<Twin> twin_;
};

}  // namespace tenc::codegen::cpu
