#include "codegen/cpu/GemmPack.h"

#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/cpu/NarrowTerms.h"
#include "codegen/cpu/ProductEmitter.h"
#include "codegen/cpu/ProductTiles.h"
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
      const int64_t strip = stripOf(size_), rest = columns_ % strip;
      each(0, whole, lanes_, [&](Val k) {
        each(0, columns_ - rest, strip, [&](Val j) { transposed(k, j, strip); });
        if (rest > 0) transposed(k, int64(columns_ - rest), rest);
      });
      const int64_t covered = columns_ - rest + (rest > 0 ? strip : 0), row = width_ * lanes_;
      auto* none = llvm::Constant::getNullValue(llvm::FixedVectorType::get(element_, static_cast<unsigned>(strip)));
      if (covered < row) {
        each(0, whole, 1, [&](Val k) {
          for (int64_t j = covered; j < row; j += strip) store(none, target(k, int64(j)));
        });
      }
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

  /// `lanes` steps of k by a strip of columns, `used` of them in the matrix, where k is contiguous.
  void transposed(Val k, Val j, int64_t used) {
    Values columns;
    for (int64_t i = 0; i < stripOf(size_); ++i)
      columns.push_back(i < used ? load(source(k, b_.CreateAdd(j, int64(i)))) : llvm::Constant::getNullValue(vector_));
    Val to = target(k, j);
    for (Val strip : stripsAcross(b_, columns)) {
      store(strip, to);
      to = at(to, width_ * lanes_);
    }
  }
};

/// The same of narrow operands.
class NarrowPackEmitter : ProductEmitter {
 public:
  NarrowPackEmitter(llvm::Function* f, const Product& p, const TiledProduct& plan, int64_t width, int64_t columns)
      : ProductEmitter(p, *f->getParent(), "", plan.lanes),
        f_(f),
        terms_(b_, p, plan.terms, plan.lanes),
        plan_(plan),
        lanes_(plan.lanes),
        width_(width),
        columns_(columns) {}

  void emit(PackB how) {
    auto* entry = llvm::BasicBlock::Create(c_, "entry", f_);
    b_.SetInsertPoint(entry);
    const int64_t steps = terms_.steps(), whole = p_.k / steps;
    int64_t done = 0;  // steps
    if (how == PackB::Transpose) {
      // A square is `lanes` parts of steps.
      const int64_t along = lanes_ * steps / partsOf(plan_.terms);
      done = p_.k / along * along / steps;
      loop(int64(0), int64(done * steps), along, [&](Val k) {
        loop(int64(0), int64(columns_ / lanes_ * lanes_), lanes_, [&](Val j) { transposed(k, j, lanes_); });
        if (columns_ % lanes_) transposed(k, int64(columns_ / lanes_ * lanes_), columns_ % lanes_);
      });
    }
    auto step = [&](Val s, int64_t present) { how == PackB::Rows ? row(s, present) : elements(s, present); };
    loop(int64(done), int64(whole), 1, [&](Val s) { step(s, steps); });
    if (p_.k % steps != 0) step(int64(whole), p_.k % steps);
    if (isShifted(plan_.terms)) begins();
    b_.CreateRetVoid();
  }

 private:
  llvm::Function* f_;
  NarrowTerms terms_;
  const TiledProduct& plan_;
  int64_t lanes_, width_, columns_;

  Val source(Val k, Val j) {
    Val row = b_.CreateMul(k, int64(p_.b.row));
    return operandBytes(f_->getArg(0), b_.CreateAdd(row, b_.CreateMul(j, int64(p_.b.col))));
  }
  /// `row` counts all parts.
  Val target(Val row, Val j) {
    return bytes(f_->getArg(1), b_.CreateAdd(b_.CreateMul(row, int64(width_ * lanes_)), j));
  }
  Val rowOf(Val step, size_t part) {
    return b_.CreateAdd(b_.CreateMul(step, int64(static_cast<int64_t>(terms_.parts()))),
                        int64(static_cast<int64_t>(part)));
  }

  void row(Val step, int64_t present) {
    Val k = b_.CreateMul(step, int64(terms_.steps()));
    for (int64_t v = 0; v < width_; ++v) {
      const int64_t left = columns_ - v * lanes_;
      Val mask = left < lanes_ ? tailMask(lanes_, left) : nullptr, j = int64(v * lanes_);
      Values rows;
      for (int64_t i = 0; i < present; ++i) rows.push_back(terms_.load(source(b_.CreateAdd(k, int64(i)), j), mask));
      const Values parts = terms_.ofB(rows);
      for (size_t part = 0; part < parts.size(); ++part) store(parts[part], target(rowOf(step, part), j));
    }
  }

  void elements(Val step, int64_t present) {
    Val k = b_.CreateMul(step, int64(terms_.steps()));
    loop(int64(0), int64(columns_), 1, [&](Val j) {
      Values rows;
      for (int64_t i = 0; i < present; ++i) rows.push_back(terms_.element(source(b_.CreateAdd(k, int64(i)), j)));
      const Values parts = terms_.ofB(rows);
      for (size_t part = 0; part < parts.size(); ++part)
        b_.CreateAlignedStore(parts[part], target(rowOf(step, part), j), align());
    });
    if (columns_ == width_ * lanes_) return;
    loop(int64(columns_), int64(width_ * lanes_), 1, [&](Val j) {
      for (size_t part = 0; part < terms_.parts(); ++part)
        b_.CreateAlignedStore(llvm::Constant::getNullValue(element_), target(rowOf(step, part), j), align());
    });
  }

  /// `lanes` rows of the panel by `lanes` columns, `used` of them in the matrix, where k is contiguous.
  void transposed(Val k, Val j, int64_t used) {
    Values square;
    for (int64_t i = 0; i < lanes_; ++i)
      square.push_back(i < used ? terms_.loadAlong(source(k, b_.CreateAdd(j, int64(i))))
                                : llvm::Constant::getNullValue(vector_));
    transposeSquare(b_, square);
    Val first = b_.CreateSDiv(k, int64(terms_.steps() / partsOf(plan_.terms)));
    for (int64_t i = 0; i < lanes_; ++i) {
      const int64_t row = terms_.parts() == 2 ? i ^ 1 : i;  // the second of a pair is its first part
      store(square[static_cast<size_t>(i)], target(b_.CreateAdd(first, int64(row)), j));
    }
  }

  /// The last row: what the shift of A adds to each column, taken away.
  void begins() {
    const int64_t row = width_ * lanes_, last = plan_.packedRows - 1;
    const Values zeros(static_cast<size_t>(width_), llvm::Constant::getNullValue(vector_));
    const Values sums = sumLoop(int64(0), int64(last), false, {{f_->getArg(1), row}}, zeros,
                                [&](Val, const Values& panel, Values next) {
                                  for (int64_t v = 0; v < width_; ++v) {
                                    Val& sum = next[static_cast<size_t>(v)];
                                    sum = terms_.add(terms_.shift(), load(at(panel[0], v * lanes_)), sum);
                                  }
                                  return next;
                                });
    for (int64_t v = 0; v < width_; ++v)
      store(b_.CreateNeg(sums[static_cast<size_t>(v)]), at(f_->getArg(1), last * row + v * lanes_));
  }
};

}  // namespace

llvm::Function* packPanel(llvm::Module& module, const std::string& prefix, const Product& product,
                          const TiledProduct& plan, int64_t width, int64_t columns, AssembledForm form) {
  const std::string name = prefix + ".pack" + std::to_string(width) + "x" + std::to_string(columns);
  if (llvm::Function* f = module.getFunction(name)) return f;
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  llvm::Function* f = createLocalFunction(module, name, {pointer, pointer}, 0);
  if (plan.assembledPack && form != AssembledForm::None)
    giveCode(*f, form,
             [&](std::string_view listed) { return assembledPack(packCode(product, plan, width, columns), listed); });
  else if (plan.terms == Terms::Same)
    PackEmitter(f, product, plan, width, columns).emit(plan.pack);
  else
    NarrowPackEmitter(f, product, plan, width, columns).emit(plan.pack);
  return f;
}

}  // namespace tenc::codegen::cpu
