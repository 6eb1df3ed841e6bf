#include "runtime/cuda/Cusolver.h"

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/NvidiaLibrary.h"
#include "runtime/cuda/files/LibraryFiles.h"

namespace tenc::rt::cuda {
namespace {

/// 11701 is 11.7.1.
std::string releaseText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version / 100 % 10) + "." +
         std::to_string(version % 100);
}

}  // namespace

std::shared_ptr<Cusolver> Cusolver::load(std::string& why) {
  constexpr NvidiaLibrary::Words kWords = {"cuSOLVER", "cuSOLVER, which does linear algebra of this program, ",
                                           "`pip install nvidia-cusolver` (`nvidia-cusolver-cu12`)"};
  std::optional<NvidiaLibrary> library = NvidiaLibrary::load(cusolverNames(), kWords, why);
  if (!library) return nullptr;
  std::shared_ptr<Cusolver> solver(new Cusolver);
  solver->file_ = library->file();
  CusolverFunctions& f = solver->f_;
  library->find(f.version, "cusolverGetVersion");
  library->find(f.create, "cusolverDnCreate");
  library->find(f.destroy, "cusolverDnDestroy");
  library->find(f.setStream, "cusolverDnSetStream");
  library->find(f.setDeterministic, "cusolverDnSetDeterministicMode");  // since CUDA 12.2
  library->find(f.createParams, "cusolverDnCreateParams");
  library->find(f.destroyParams, "cusolverDnDestroyParams");
  library->find(f.luMemory, "cusolverDnXgetrf_bufferSize");
  library->find(f.lu, "cusolverDnXgetrf");
  library->find(f.luSolve, "cusolverDnXgetrs");
  library->find(f.choleskyMemory, "cusolverDnXpotrf_bufferSize");
  library->find(f.cholesky, "cusolverDnXpotrf");
  library->find(f.qrMemory, "cusolverDnXgeqrf_bufferSize");
  library->find(f.qr, "cusolverDnXgeqrf");
  library->find(f.eigenMemory, "cusolverDnXsyevd_bufferSize");
  library->find(f.eigen, "cusolverDnXsyevd");
  library->find(f.singularMemory, "cusolverDnXgesvd_bufferSize");
  library->find(f.singular, "cusolverDnXgesvd");
  library->find(f.reflectionsMemory[0], "cusolverDnSorgqr_bufferSize");
  library->find(f.reflectionsMemory[1], "cusolverDnDorgqr_bufferSize");
  library->find(f.reflections[0], "cusolverDnSorgqr");
  library->find(f.reflections[1], "cusolverDnDorgqr");
  why = library->problem();
  if (!why.empty()) {
    why += ", which is that of CUDA 12.2 or later";
    return nullptr;
  }
  if (const SolverStatus status = f.version(&solver->version_); status != 0) {
    why = solver->explain("cusolverGetVersion", status);
    return nullptr;
  }
  return solver;
}

std::shared_ptr<const Cusolver> Cusolver::open(std::string& why) { return load(why); }

std::string Cusolver::text() {
  std::string why;
  const auto solver = load(why);
  return solver ? releaseText(solver->version_) + ", " + solver->file_ : why;
}

std::string Cusolver::explain(const char* call, SolverStatus status) const {
  return std::string(call) + " of " + file_ + ", " + releaseText(version_) + ": " + explainSolver(status);
}

}  // namespace tenc::rt::cuda
