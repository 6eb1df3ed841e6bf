// Private to the interpreter: ops on whole tensors, each a naive loop over result elements. Results are allocated and
// typed by the caller; attributes have been checked by the verifier.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interp/Interp.h"
#include "interp/Number.h"

namespace tenc::interp {

struct Failure {
  Code code;
  std::string message;
};
using MaybeFailure = std::optional<Failure>;
using Operands = std::span<const Tensor>;

Tensor allocate(ir::Type type);
inline Number at(const Tensor& t, int64_t index) { return load(t.data->data(), t.type.dtype, index); }
inline void put(Tensor& t, int64_t index, Number x) { store(t.data->data(), t.type.dtype, index, x); }

/// Row-major strides in elements.
std::vector<int64_t> stridesOf(std::span<const int64_t> shape);

/// Walks all indices of a shape in row-major order.
class Odometer {
 public:
  explicit Odometer(std::span<const int64_t> shape) : shape_(shape), index_(shape.size(), 0) {}
  const std::vector<int64_t>& index() const { return index_; }
  void next() {
    for (size_t d = shape_.size(); d-- > 0;) {
      if (++index_[d] < shape_[d]) return;
      index_[d] = 0;
    }
  }

 private:
  std::span<const int64_t> shape_;
  std::vector<int64_t> index_;
};

MaybeFailure elementwise(const ir::Op& op, Operands in, Tensor& out);
/// Reshape shares the elements of its operand.
MaybeFailure structural(const ir::Op& op, Operands in, Tensor& out);
/// Updates set `out.data`, to the operand's own elements when nothing else holds them.
MaybeFailure indexed(const ir::Op& op, Operands in, Tensor& out);
MaybeFailure reduction(const ir::Op& op, const Tensor& in, Tensor& out);
/// Ops that compiled programs take apart (trait Decomposed), from their definitions.
MaybeFailure decomposed(const ir::Op& op, Operands in, Tensor& out);
/// The tensor with each element rounded to `to`, in its own dtype.
Tensor rounded(const Tensor& x, ir::DType to);
void scan(const ir::Op& op, const std::vector<Tensor>& in, Tensor& out);
void matmul(const Tensor& a, const Tensor& b, Tensor& out);
void attention(const ir::Op& op, Operands in, Tensor& out);
void convolution(const ir::Op& op, const Tensor& x, const Tensor& w, Tensor& out);
/// The op has a row in Ops.def and nothing here.
Failure unknown(const ir::Op& op);
void iota(const ir::Op& op, Tensor& out);
/// Sorting and linear algebra, by plain textbook methods; one tensor a result.
MaybeFailure library(const ir::Op& op, Operands in, std::span<Tensor> out);
/// random_uniform, random_normal, random_int: element e from Philox 4x32-10 (Salmon et al. 2011) keyed by the seed.
void random(const ir::Op& op, Operands in, Tensor& out);

}  // namespace tenc::interp
