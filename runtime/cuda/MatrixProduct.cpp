#include "runtime/cuda/MatrixProduct.h"

#include <algorithm>
#include <bit>

namespace tenc::rt::cuda {
namespace {

// As cublasLt.h and library_types.h have them.
enum DataType { kF32 = 0, kF64 = 1, kF16 = 2, kBf16 = 14 };
enum ComputeType { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };
enum ProductAttribute { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum Operation : int32_t { kPlain = 0, kTransposed = 1 };
enum Epilogue : uint32_t { kNone = 1, kRelu = 2, kBias = 4 };
enum LayoutAttribute { kBatchCount = 5, kBatchStride = 6 };
enum PreferenceAttribute {
  kMostWorkspace = 1,
  kReductionSchemes = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8
};
constexpr uint32_t kOneOrder = 0;  // no reduction scheme: the terms of an element are added up in one place
constexpr LibraryStatus kNotSupported = 15;
constexpr uint64_t kWorkspaceAlignment = 256;

DataType typeOf(uint8_t dtype) {
  return dtype == abi::dtype::F64 ? kF64 : dtype == abi::dtype::F16 ? kF16 : dtype == abi::dtype::BF16 ? kBf16 : kF32;
}

/// What it knows how to align: a power of two.
uint32_t alignmentOf(const abi::MatrixRef& m, const std::vector<abi::Parameter>& parameters) {
  const uint64_t all = parameters[m.argument].alignment | m.byteOffset;
  return static_cast<uint32_t>(all & (~all + 1));
}

}  // namespace

/// Sets up the descriptors. The library's matrices have their columns side by side: there, row-major matrices are
/// transposed ones. So it computes the transposed product, of b and a, whose rows a bias goes along.
class MatrixProduct::Plan {
 public:
  explicit Plan(MatrixProduct& product) : to_(product), f_(product.library_->f()), code_(product.code_) {}

  LibraryStatus run() {
    const bool isF64 = code_.a.dtype == abi::dtype::F64;
    make(to_.product_, [&](void** p) {
      return f_.createProduct(p, isF64 ? kCompute64 : code_.rounded ? kComputeTf32 : kCompute32, isF64 ? kF64 : kF32);
    });
    // Of a matrix whose rows are side by side, plain.
    const auto operation = [](const abi::MatrixRef& m) { return m.column == 1 ? kPlain : kTransposed; };
    describe(kTransposeA, static_cast<int32_t>(operation(code_.b)));
    describe(kTransposeB, static_cast<int32_t>(operation(code_.a)));
    const uint32_t after = (code_.relu ? kRelu : 0u) | (code_.bias ? kBias : 0u);
    if (after != 0) describe(kEpilogue, after);
    if (code_.bias) {
      // Its alignment is looked at, not what it points to.
      to_.bias_ = reinterpret_cast<const void*>(uint64_t{alignmentOf(*code_.bias, to_.kernel_.parameters)});
      describe(kBiasPointer, to_.bias_);
    }
    layout(to_.a_, code_.b, code_.k, code_.n);
    layout(to_.b_, code_.a, code_.m, code_.k);
    layout(to_.c_, code_.c ? *code_.c : code_.d, code_.m, code_.n);
    layout(to_.d_, code_.d, code_.m, code_.n);
    choose();
    return status_;
  }

 private:
  void well(LibraryStatus status) {
    if (status_ == 0) status_ = status;
  }
  template <class Create>
  void make(Owned& owned, Create create) {
    void* made = nullptr;
    if (status_ == 0) well(create(&made));
    owned.reset(made);
  }
  template <class T>
  void describe(ProductAttribute attribute, T value) {
    if (status_ == 0)
      well(f_.setProduct(to_.product_.get(), attribute, static_cast<const void*>(&value), sizeof value));
  }
  void layout(Owned& owned, const abi::MatrixRef& m, int64_t rows, int64_t columns) {
    const bool isRowMajor = m.column == 1;
    make(owned, [&](void** l) {
      return f_.createLayout(l, typeOf(m.dtype), static_cast<uint64_t>(isRowMajor ? columns : rows),
                             static_cast<uint64_t>(isRowMajor ? rows : columns), isRowMajor ? m.row : m.column);
    });
    if (code_.count == 1 || status_ != 0) return;
    const auto count = static_cast<int32_t>(code_.count);
    well(f_.setLayout(owned.get(), kBatchCount, &count, sizeof count));
    if (status_ == 0) well(f_.setLayout(owned.get(), kBatchStride, &m.batch, sizeof m.batch));
  }

  void choose() {
    Owned preference(nullptr, f_.destroyPreference);
    make(preference, [&](void** p) { return f_.createPreference(p); });
    const auto prefer = [&](PreferenceAttribute attribute, auto value) {
      if (status_ == 0) well(f_.setPreference(preference.get(), attribute, &value, sizeof value));
    };
    const std::vector<abi::Parameter>& parameters = to_.kernel_.parameters;
    prefer(kMostWorkspace, MatrixProduct::workspaceBytes(to_.kernel_));
    prefer(kReductionSchemes, kOneOrder);
    prefer(kAlignmentA, alignmentOf(code_.b, parameters));
    prefer(kAlignmentB, alignmentOf(code_.a, parameters));
    prefer(kAlignmentC, alignmentOf(code_.c ? *code_.c : code_.d, parameters));
    prefer(kAlignmentD, alignmentOf(code_.d, parameters));
    if (status_ != 0) return;
    ProductHeuristic first{};
    int found = 0;
    well(f_.heuristic(to_.library_->handle(), to_.product_.get(), to_.a_.get(), to_.b_.get(), to_.c_.get(),
                      to_.d_.get(), preference.get(), 1, &first, &found));
    if (status_ == 0) well(found == 0 ? kNotSupported : first.status);
    to_.algorithm_ = first.algorithm;
  }

  MatrixProduct& to_;
  const CublasLtFunctions& f_;
  const abi::ProductCode& code_;
  LibraryStatus status_ = 0;
};

std::unique_ptr<MatrixProduct> MatrixProduct::plan(std::shared_ptr<const CublasLt> library, const abi::Kernel& kernel,
                                                   std::string& why) {
  std::unique_ptr<MatrixProduct> product(new MatrixProduct(std::move(library), kernel));
  const LibraryStatus status = Plan(*product).run();
  if (status == 0) return product;
  const abi::ProductCode& c = product->code_;
  why = "cuBLASLt has no algorithm for " + kernel.name + ", " + std::to_string(c.count) + " of " + std::to_string(c.m) +
        " x " + std::to_string(c.n) + " x " + std::to_string(c.k) + ": " + product->library_->explain(status);
  return nullptr;
}

MatrixProduct::MatrixProduct(std::shared_ptr<const CublasLt> library, const abi::Kernel& kernel)
    : library_(std::move(library)),
      kernel_(kernel),
      code_(std::get<abi::ProductCode>(kernel.code)),
      product_(nullptr, library_->f().destroyProduct),
      a_(nullptr, library_->f().destroyLayout),
      b_(nullptr, library_->f().destroyLayout),
      c_(nullptr, library_->f().destroyLayout),
      d_(nullptr, library_->f().destroyLayout) {}

MatrixProduct::~MatrixProduct() = default;

uint64_t MatrixProduct::workspaceBytes(const abi::Kernel& kernel) {
  const uint64_t bytes = kernel.parameters.back().bytes - std::get<abi::ProductCode>(kernel.code).workspace;
  return bytes > kWorkspaceAlignment ? bytes - kWorkspaceAlignment : 0;
}

void* MatrixProduct::address(std::span<const uint64_t> arguments, const abi::MatrixRef& m) {
  return reinterpret_cast<void*>(arguments[m.argument] + m.byteOffset);
}

Outcome MatrixProduct::run(std::span<const uint64_t> arguments, StreamHandle stream) {
  const LibraryStatus status = multiply(arguments, stream);
  return {0, "", status == 0 ? "" : "cublasLtMatmul: " + library_->explain(status)};
}

LibraryStatus MatrixProduct::multiply(std::span<const uint64_t> arguments, StreamHandle stream) {
  const CublasLtFunctions& f = library_->f();
  if (code_.bias) {
    const void* bias = address(arguments, *code_.bias);
    if (bias != bias_) {
      if (const LibraryStatus s =
              f.setProduct(product_.get(), kBiasPointer, static_cast<const void*>(&bias), sizeof bias);
          s != 0)
        return s;
      bias_ = bias;
    }
  }
  const bool isF64 = code_.a.dtype == abi::dtype::F64;
  const float one = 1, factor = code_.c ? 1 : 0;
  const double one64 = 1, factor64 = factor;
  const auto memory = arguments.back() + code_.workspace;
  void* const workspace = reinterpret_cast<void*>((memory + kWorkspaceAlignment - 1) & ~(kWorkspaceAlignment - 1));
  void* const d = address(arguments, code_.d);
  const void* const c = code_.c ? address(arguments, *code_.c) : d;
  const void* const alpha = isF64 ? static_cast<const void*>(&one64) : &one;
  const void* const beta = isF64 ? static_cast<const void*>(&factor64) : &factor;
  return f.multiply(library_->handle(), product_.get(), alpha, address(arguments, code_.b), a_.get(),
                    address(arguments, code_.a), b_.get(), beta, c, c_.get(), d, d_.get(), &algorithm_, workspace,
                    workspaceBytes(kernel_), stream);
}

}  // namespace tenc::rt::cuda
