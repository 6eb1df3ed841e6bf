#include "codegen/cpu/GemmPack.h"

#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/cpu/ProductEmitter.h"
#include "codegen/cpu/Transpose.h"

namespace tenc::codegen::cpu {
namespace {

class PackEmitter : ProductEmitter {
 public:
  PackEmitter(llvm::Function* f, const Product& p, const TiledProduct& plan, int64_t width, int64_t columns)
      : ProductEmitter(p, *f->getParent(), "", plan.lanes),
        f_(f),
        lanes_(plan.lanes),
        width_(width),
        columns_(columns) {}

  void emit(PackB how) {
    auto* entry = llvm::BasicBlock::Create(c_, "entry", f_);
    b_.SetInsertPoint(entry);
    if (how == PackB::Transpose) {
      const int64_t whole = p_.k / lanes_ * lanes_;
      each(0, whole, lanes_, [&](Val k) {
        each(0, columns_ / lanes_ * lanes_, lanes_, [&](Val j) { transposed(k, j, lanes_); });
        if (columns_ % lanes_) transposed(k, int64(columns_ / lanes_ * lanes_), columns_ % lanes_);
      });
      each(whole, p_.k, 1, [&](Val k) { elements(k); });
    } else if (how == PackB::Elements) {
      each(0, p_.k, 1, [&](Val k) { elements(k); });
    } else {
      each(0, p_.k, 1, [&](Val k) { row(k); });
    }
    b_.CreateRetVoid();
  }

 private:
  llvm::Function* f_;
  int64_t lanes_, width_, columns_;

  Val source(Val k, Val j) {
    Val row = b_.CreateMul(k, int64(p_.b.row));
    return bytes(f_->getArg(0), b_.CreateAdd(row, b_.CreateMul(j, int64(p_.b.col))));
  }
  Val target(Val k, Val j) { return bytes(f_->getArg(1), b_.CreateAdd(b_.CreateMul(k, int64(width_ * lanes_)), j)); }
  template <typename F>
  void each(int64_t begin, int64_t end, int64_t step, F body) {
    loop(int64(begin), int64(end), step, body);
  }

  void row(Val k) {
    for (int64_t v = 0; v < width_; ++v) {
      const int64_t left = columns_ - v * lanes_;
      Val x = load(source(k, int64(v * lanes_)), left < lanes_ ? tailMask(lanes_, left) : nullptr);
      store(x, target(k, int64(v * lanes_)));
    }
  }

  /// One k, element by element: for strides of any kind.
  void elements(Val k) {
    each(0, columns_, 1, [&](Val j) {
      b_.CreateAlignedStore(b_.CreateAlignedLoad(element_, source(k, j), align()), target(k, j), align());
    });
    if (columns_ < width_ * lanes_) {
      each(columns_, width_ * lanes_, 1,
           [&](Val j) { b_.CreateAlignedStore(llvm::Constant::getNullValue(element_), target(k, j), align()); });
    }
  }

  /// `lanes` steps of k by `lanes` columns, `used` of them in the matrix, where k is contiguous.
  void transposed(Val k, Val j, int64_t used) {
    Values square;
    for (int64_t i = 0; i < lanes_; ++i)
      square.push_back(i < used ? load(source(k, b_.CreateAdd(j, int64(i)))) : llvm::Constant::getNullValue(vector_));
    transposeSquare(b_, square);
    for (int64_t i = 0; i < lanes_; ++i) store(square[static_cast<size_t>(i)], target(b_.CreateAdd(k, int64(i)), j));
  }
};

}  // namespace

llvm::Function* packPanel(llvm::Module& module, const std::string& prefix, const Product& product,
                          const TiledProduct& plan, int64_t width, int64_t columns) {
  const std::string name = prefix + ".pack" + std::to_string(width) + "x" + std::to_string(columns);
  if (llvm::Function* f = module.getFunction(name)) return f;
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  llvm::Function* f = createLocalFunction(module, name, {pointer, pointer}, 0);
  PackEmitter(f, product, plan, width, columns).emit(plan.pack);
  return f;
}

}  // namespace tenc::codegen::cpu
