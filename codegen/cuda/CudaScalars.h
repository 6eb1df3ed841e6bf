// ScalarBuilder as CUDA C++: a Scalar's handle is an expression without side effects, a name or a literal. Arithmetic
// is that of IEEE 754, each operation rounded by itself (NVRTC is told not to fuse), so elements have the host's bits.
#pragma once
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "codegen/ScalarBodies.h"
#include "codegen/ScalarBuilder.h"
#include "codegen/cuda/CudaText.h"

namespace tenc::codegen::cuda {

/// C++ types of an element in a register, of one in memory, and of the unsigned integer of the same width.
std::string_view registerType(Repr r);
std::string_view memoryType(ir::DType t);

class CudaScalars : public ScalarBuilder {
 public:
  /// Writes to `out` where that stands. `tables` collects declarations that stand before the kernels.
  CudaScalars(CudaText& out, std::string& tables) : out_(out), tables_(tables) {}

  Scalar wrap(std::string expression, Repr r);
  static const std::string& text(Scalar s) { return *static_cast<const std::string*>(s.handle); }
  /// A new constant with that value.
  Scalar named(std::string_view expression, Repr r);
  /// A float that arithmetic came to.
  Scalar computed(std::string expression, Repr r);
  /// A new constant of another type; gives its name.
  std::string variable(std::string_view type, std::string_view expression);
  /// What stands before the kernels, once.
  void declare(std::string_view text);
  /// From memory's form to the register form and back.
  Scalar fromMemory(std::string_view expression, ir::DType t);
  std::string toMemory(Scalar s, ir::DType t);
  /// A constant of a dtype, of its bits in memory.
  Scalar constantOfBits(uint64_t bits, ir::DType t);
  /// An index that is none of the `size` of dim `axis`, or the first of `count`.
  void setFault(std::string_view condition, uint32_t fault, std::string_view index, int64_t count, int64_t size,
                int64_t axis);
  /// A variable that says whether this thread has faulted: its first fault counts. Empty: its least.
  std::string faulted;
  /// The trip of a loop that this thread runs, where faults of earlier trips count; empty: there is no such loop.
  std::string trip;
  /// Whether mul and add of elementwise ops may be fused.
  bool contract = false;
  Scalar elementwise(ir::OpKind kind, ir::DType operand, ir::DType result, std::span<const Scalar> args,
                     uint32_t fault);
  /// A function of the C library that no body here computes; empty when there was none.
  const std::string& missing() const { return missing_; }

  Scalar floatConstant(Repr r, double v) override;
  Scalar intConstant(Repr r, uint64_t v) override;
  Scalar unary(UnaryInst op, Scalar a) override;
  Scalar binary(BinaryInst op, Scalar a, Scalar b) override;
  Scalar fma(Scalar a, Scalar b, Scalar c) override;
  Scalar compare(Predicate p, Scalar a, Scalar b) override;
  Scalar select(Scalar condition, Scalar a, Scalar b) override;
  Scalar convert(ConvertInst op, Scalar a, Repr to) override;
  Scalar scaleByPowerOf2(Scalar x, Scalar n) override;
  Scalar lookup(std::span<const double, 16> table, Scalar index) override;
  Scalar halfBits(Scalar x) override;
  Scalar halfOfBits(Scalar bits) override;
  Scalar roundToBFloat(Scalar x) override;
  Scalar bfloatBits(Scalar x) override;
  bool dividesCheaply(Scalar) override { return true; }
  Scalar libraryCall(std::string_view name, std::initializer_list<Scalar> args, Scalar condition,
                     Scalar otherwise) override;
  Scalar rarely(Scalar condition, Scalar otherwise, const std::function<Scalar()>& body) override;
  void repeat(int times, std::span<Scalar> state, const std::function<void(std::span<Scalar>)>& step) override;
  void setFault(Scalar condition, uint32_t fault) override;

 private:
  /// The double of a float, as an expression and no variable: what is made a float again, or is rarely wanted, costs
  /// nothing.
  Scalar widened(Scalar x);
  /// Declares a function of the C library as one that is called; gives its name.
  std::string libraryFunction(std::string_view name, size_t arity, Repr r);

  CudaText& out_;
  std::string& tables_;
  std::deque<std::string> expressions_;                   ///< handles point here
  std::unordered_map<std::string, std::string> halves_;   ///< floats that are an f16: its bits
  std::unordered_map<std::string, std::string> bfloats_;  ///< floats that are a bf16: its bits
  std::unordered_set<std::string> computed_;              ///< floats that arithmetic came to
  std::unordered_map<std::string, std::string> widened_;  ///< doubles that are a float: that
  std::string missing_;
};

}  // namespace tenc::codegen::cuda
