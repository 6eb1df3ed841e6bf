// Private to the interpreter: ops on whole tensors, each a naive loop over result elements. Results are allocated and
// typed by the caller; attributes have been checked by the verifier.
#pragma once
#include <functional>
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

/// The positions of a tensor grouped by what is not reduced: group g has the elements members[g * length ...], in
/// row-major order. A reduction's result element g is group g; a row-wise op works on each group.
struct Groups {
  int64_t count = 0, length = 0;
  std::vector<int64_t> members;
};
Groups groupsOf(const ir::Type& t, const std::vector<int64_t>& axesAttr);

MaybeFailure elementwise(const ir::Op& op, Operands in, Tensor& out);
/// Reshape shares the elements of its operand.
MaybeFailure structural(const ir::Op& op, Operands in, Tensor& out);
/// Updates set `out.data`, to the operand's own elements when nothing else holds them.
MaybeFailure indexed(const ir::Op& op, Operands in, Tensor& out);
/// The positions in operand 0 of the elements of gather's result, in the result's order.
MaybeFailure gatherPositions(const ir::Op& op, const ir::Type& whole, Operands indices, const ir::Dims& shape,
                             std::vector<int64_t>& positions);
MaybeFailure reduction(const ir::Op& op, const Tensor& in, Tensor& out);
/// Ops that compiled programs take apart (trait Decomposed), from their definitions.
MaybeFailure decomposed(const ir::Op& op, Operands in, Tensor& out);
/// The tensor with each element rounded to `to`, in its own dtype.
Tensor rounded(const Tensor& x, ir::DType to);
void scan(const ir::Op& op, const std::vector<Tensor>& in, Tensor& out);
void matmul(const Tensor& a, const Tensor& b, Tensor& out);
/// `totals`: of attention_saved; else null.
void attention(const ir::Op& op, Operands in, Tensor& out, Tensor* totals = nullptr);
void attentionGradient(const ir::Op& op, Operands in, std::span<Tensor> out);
void convolution(const ir::Op& op, const Tensor& x, const Tensor& w, Tensor& out);
/// The products of a convolution: `term(e, i, k)` for element e of the result, i of x, k of w.
using ConvolutionTerm = std::function<void(int64_t e, int64_t i, int64_t k)>;
void eachTerm(const ir::Op& op, const ir::Dims& x, const ir::Dims& w, const ir::Dims& out, const ConvolutionTerm& term);
/// The op has a row in Ops.def and nothing here.
Failure unknown(const ir::Op& op);
void iota(const ir::Op& op, Tensor& out);
/// Sorting and linear algebra, by plain textbook methods; one tensor a result.
/// The places of a row of n elements from `from` on in stable order.
std::vector<int64_t> order(const Tensor& x, int64_t from, int64_t n, bool descending);
MaybeFailure library(const ir::Op& op, Operands in, std::span<Tensor> out);
/// random_uniform, random_normal, random_int: element e from Philox 4x32-10 (Salmon et al. 2011) keyed by the seed.
void random(const ir::Op& op, Operands in, Tensor& out);

}  // namespace tenc::interp
