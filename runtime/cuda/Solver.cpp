#include "runtime/cuda/Solver.h"

#include <algorithm>
#include <limits>

namespace tenc::rt::cuda {
namespace {

using Routine = abi::SolverCall::Routine;

// As library_types.h, cublas_api.h and cusolver_common.h have them.
enum DataType { kF32 = 0, kF64 = 1 };
constexpr int kLowerTriangle = 0, kVectors = 1, kDeterministic = 1;
constexpr signed char kNone = 'N', kFirst = 'S', kAll = 'A';

const char* nameOf(Routine routine, bool isF64) {
  switch (routine) {
    case Routine::Copy: return "cuMemcpyDtoDAsync";
    case Routine::Lu: return "cusolverDnXgetrf";
    case Routine::LuSolve: return "cusolverDnXgetrs";
    case Routine::Cholesky: return "cusolverDnXpotrf";
    case Routine::Qr: return "cusolverDnXgeqrf";
    case Routine::Reflections: return isF64 ? "cusolverDnDorgqr" : "cusolverDnSorgqr";
    case Routine::Eigen: return "cusolverDnXsyevd";
    case Routine::Singular: return "cusolverDnXgesvd";
  }
  return "cuSOLVER";
}

}  // namespace

/// One call on the matrices at `base`.
class Solver::Step {
 public:
  Step(const Solver& solver, const abi::SolverCall& call, bool isF64, uint64_t base)
      : s_(solver), f_(solver.f_), c_(call), type_(isF64 ? kF64 : kF32), base_(base) {}

  /// What it works in.
  SolverStatus ask(SolverMemory& memory) const {
    void *const h = s_.handle_, *const p = s_.params_;
    size_t *const device = &memory.device, *const host = &memory.host;
    const int t = type_;
    switch (c_.routine) {
      case Routine::Copy:
      case Routine::LuSolve: return 0;
      case Routine::Lu: return f_.luMemory(h, p, c_.n, c_.n, t, at(c_.a), c_.n, t, device, host);
      case Routine::Cholesky: return f_.choleskyMemory(h, p, kLowerTriangle, c_.n, t, at(c_.a), c_.n, t, device, host);
      case Routine::Qr: return f_.qrMemory(h, p, c_.m, c_.n, t, at(c_.a), c_.m, t, at(c_.vector), t, device, host);
      case Routine::Eigen:
        return f_.eigenMemory(h, p, kVectors, kLowerTriangle, c_.n, t, at(c_.a), c_.n, t, at(c_.vector), t, device,
                              host);
      case Routine::Singular:
        return f_.singularMemory(h, p, ofU(), ofV(), c_.m, c_.n, t, at(c_.a), c_.m, t, at(c_.vector), t, u(), c_.m, t,
                                 vt(), c_.n, t, device, host);
      case Routine::Reflections: {
        int elements = 0;
        const SolverStatus status = f_.reflectionsMemory[t](h, narrow(c_.m), narrow(c_.n), narrow(c_.k), at(c_.a),
                                                            narrow(c_.m), at(c_.vector), &elements);
        memory.device = static_cast<size_t>(std::max(elements, 0)) * width();
        return status;
      }
    }
    return 0;
  }

  /// Given the memory that it asked for.
  SolverStatus call(const SolverMemory& memory) const {
    void *const h = s_.handle_, *const p = s_.params_;
    void *const device = reinterpret_cast<void*>(s_.device_), *const host = hostMemory();
    const auto [bytes, hostBytes] = memory;
    const int t = type_;
    auto* const info = static_cast<int*>(at(c_.info));
    auto* const pivots = static_cast<int64_t*>(at(c_.vector));
    switch (c_.routine) {
      case Routine::Copy: return 0;
      case Routine::Lu:
        return f_.lu(h, p, c_.n, c_.n, t, at(c_.a), c_.n, pivots, t, device, bytes, host, hostBytes, info);
      case Routine::LuSolve:
        return f_.luSolve(h, p, c_.transposed ? 1 : 0, c_.n, c_.k, t, at(c_.a), c_.n, pivots, t, at(c_.b), c_.n, info);
      case Routine::Cholesky:
        return f_.cholesky(h, p, kLowerTriangle, c_.n, t, at(c_.a), c_.n, t, device, bytes, host, hostBytes, info);
      case Routine::Qr:
        return f_.qr(h, p, c_.m, c_.n, t, at(c_.a), c_.m, t, at(c_.vector), t, device, bytes, host, hostBytes, info);
      case Routine::Eigen:
        return f_.eigen(h, p, kVectors, kLowerTriangle, c_.n, t, at(c_.a), c_.n, t, at(c_.vector), t, device, bytes,
                        host, hostBytes, info);
      case Routine::Singular:
        return f_.singular(h, p, ofU(), ofV(), c_.m, c_.n, t, at(c_.a), c_.m, t, at(c_.vector), t, u(), c_.m, t, vt(),
                           c_.n, t, device, bytes, host, hostBytes, info);
      case Routine::Reflections:
        return f_.reflections[t](h, narrow(c_.m), narrow(c_.n), narrow(c_.k), at(c_.a), narrow(c_.m), at(c_.vector),
                                 device, elementsIn(bytes), info);
    }
    return 0;
  }

  Result copy() const {
    const uint64_t bytes = static_cast<uint64_t>(c_.m) * static_cast<uint64_t>(c_.n) * width();
    return s_.driver_->f().deviceToDevice(base_ + c_.b, base_ + c_.a, bytes, s_.stream_);
  }

 private:
  void* at(uint64_t offset) const { return reinterpret_cast<void*>(base_ + offset); }
  void* hostMemory() const { return s_.host_.empty() ? nullptr : const_cast<std::byte*>(s_.host_.data()); }
  uint64_t width() const { return type_ == kF64 ? 8 : 4; }
  int elementsIn(size_t bytes) const {
    return static_cast<int>(std::min<uint64_t>(bytes / width(), std::numeric_limits<int>::max()));
  }
  static int narrow(int64_t extent) { return static_cast<int>(extent); }
  /// Of a, m x n, without or with as many columns as rows.
  signed char ofU() const { return c_.k == 0 ? kNone : c_.k == c_.n ? kFirst : kAll; }
  signed char ofV() const { return c_.k == 0 ? kNone : kAll; }
  void* u() const { return c_.k == 0 ? nullptr : at(c_.b); }
  void* vt() const { return c_.k == 0 ? nullptr : at(c_.c); }

  const Solver& s_;
  const CusolverFunctions& f_;
  const abi::SolverCall& c_;
  const DataType type_;
  const uint64_t base_;
};

Solver::Solver(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const Cusolver> library, StreamHandle stream,
               std::function<void()> wait)
    : driver_(std::move(driver)),
      library_(std::move(library)),
      f_(library_->f()),
      stream_(stream),
      wait_(std::move(wait)) {}

std::unique_ptr<Solver> Solver::open(std::shared_ptr<const CudaDriver> driver, StreamHandle stream,
                                     std::function<void()> wait, std::string& why) {
  std::shared_ptr<const Cusolver> library = Cusolver::open(why);
  if (!library) return nullptr;
  std::unique_ptr<Solver> solver(new Solver(std::move(driver), std::move(library), stream, std::move(wait)));
  const SolverStatus status = solver->begin();
  if (status == 0) return solver;
  why = "cuSOLVER, which does linear algebra of this program, does not start: " +
        solver->library_->explain("cusolverDnCreate", status);
  return nullptr;
}

SolverStatus Solver::begin() {
  SolverStatus status = f_.create(&handle_);
  if (status != 0) handle_ = nullptr;
  if (status == 0) status = f_.setStream(handle_, stream_);
  if (status == 0) status = f_.setDeterministic(handle_, kDeterministic);
  if (status == 0) status = f_.createParams(&params_);
  return status;
}

Solver::~Solver() {
  if (params_ != nullptr) f_.destroyParams(params_);
  if (handle_ != nullptr) f_.destroy(handle_);
  if (device_ != 0) driver_->f().free(device_);
}

bool Solver::plan(const abi::SolverCode& code, Pointer example, std::string& why) {
  const bool isF64 = code.dtype == abi::dtype::F64;
  for (const abi::SolverCall& call : code.calls) {
    SolverMemory memory;
    const SolverStatus status = Step(*this, call, isF64, example).ask(memory);
    if (status != 0) {
      why = library_->explain((std::string(nameOf(call.routine, isF64)) + "_bufferSize").c_str(), status);
      return false;
    }
    asked_[&call] = memory;
    memory_ = {std::max(memory_.device, memory.device), std::max(memory_.host, memory.host)};
  }
  return true;
}

Result Solver::allocate() {
  host_.resize(memory_.host);
  return memory_.device == 0 ? 0 : driver_->f().allocate(&device_, memory_.device);
}

Outcome Solver::run(const abi::SolverCode& code, uint64_t memory) {
  const bool isF64 = code.dtype == abi::dtype::F64;
  uint64_t base = (memory + abi::kSolverAlignment - 1) & ~(abi::kSolverAlignment - 1);
  for (int64_t i = 0; i < code.count; ++i, base += code.bytes) {
    for (const abi::SolverCall& call : code.calls) {
      const Step step(*this, call, isF64, base);
      const char* const name = nameOf(call.routine, isF64);
      if (call.routine == Routine::Copy) {
        if (const Result status = step.copy(); status != 0) return {status, name};
        continue;
      }
      const SolverMemory& own = asked_.at(&call);
      if (own.host > 0) {
        if (isHostUsed_) wait_();
        isHostUsed_ = true;
      }
      if (const SolverStatus status = step.call(own); status != 0) return {0, "", library_->explain(name, status)};
    }
  }
  return {};
}

}  // namespace tenc::rt::cuda
