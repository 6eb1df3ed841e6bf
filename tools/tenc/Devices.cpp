// `tenc devices`: what `device` lines can name on this machine, and why not more.
#include <cstdio>

#include "codegen/cuda/CudaTarget.h"
#include "runtime/cuda/CublasLt.h"
#include "runtime/cuda/Cusolver.h"
#include "runtime/cuda/files/LibraryFiles.h"
#include "support/Text.h"
#include "tools/tenc/Commands.h"

namespace tenc::tool {
namespace {

std::string memoryText(const rt::cuda::Gpu& gpu) {
  const uint64_t free = gpu.problem.empty() ? rt::cuda::freeMemory(gpu) : 0;
  return formatBytes(gpu.memory) + (free != 0 ? " (" + formatBytes(free) + " free)" : "");
}

/// The release of the driver, as its kernel module tells: ", 550.54.15". Empty where it does not.
std::string driverRelease() {
  std::string text, error;
  if (!readFile("/proc/driver/nvidia/version", text, error)) return "";
  constexpr std::string_view kBefore = "Kernel Module  ";
  const size_t at = text.find(kBefore);
  if (at == std::string::npos) return "";
  const size_t begin = at + kBefore.size();
  return ", " + text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

void printLibraries(const rt::cuda::Gpus& gpus) {
  std::printf("driver   CUDA %s%s\n", rt::cuda::versionText(gpus.driverVersion).c_str(), driverRelease().c_str());
  const std::string why = codegen::cuda::compilerProblem();
  std::printf("nvrtc    %s\n", why.empty() ? codegen::cuda::compilerText().c_str() : "not found");
  std::string tried;
  const bool multiplies = rt::cuda::findLibrary(rt::cuda::cublasLtNames(), tried).has_value();
  const bool solves = rt::cuda::findLibrary(rt::cuda::cusolverNames(), tried).has_value();
  std::printf("cublaslt %s\n", multiplies ? rt::cuda::CublasLt::text().c_str() : "not found");
  std::printf("cusolver %s\n", solves ? rt::cuda::Cusolver::text().c_str() : "not found");
}

void printGpus(const rt::cuda::Gpus& gpus, const std::string& noCompiler) {
  int number = 0;
  for (const rt::cuda::Gpu& gpu : gpus.all) {
    const std::string& why = gpu.problem.empty() ? noCompiler : gpu.problem;
    // Scripts count those that can be used.
    const std::string name = why.empty() ? ir::DeviceTable::numbered("cuda", number++) : "-";
    std::printf("%-8s %s, %s, compute capability %d.%d\n", name.c_str(), gpu.name.c_str(), memoryText(gpu).c_str(),
                gpu.major, gpu.minor);
    if (!why.empty()) std::printf("         cannot be used: %s\n", why.c_str());
  }
}

}  // namespace

int devicesCommand(Session& session) {
  std::printf("cpu      %s, %d threads, %s\n", hostName().c_str(), session.machine().threads(),
              formatBytes(hostMemory()).c_str());
  Hardware& hardware = session.hardware();
  if (session.options().virtualCuda) {
    for (int i = 0; i < hardware.virtualDevices(); ++i) {
      const std::string name = ir::DeviceTable::numbered("cuda", i);
      std::printf("%-8s virtual device on this machine, %s\n", name.c_str(),
                  formatBytes(hardware.memory(name)).c_str());
    }
    return 0;
  }
  const rt::cuda::Gpus& gpus = hardware.gpus();
  std::string noCompiler = codegen::cuda::compilerProblem();
  if (noCompiler.empty() && !gpus.all.empty()) noCompiler = codegen::cuda::compilerProblem(hardware.architecture());
  printGpus(gpus, noCompiler);
  if (gpus.driverVersion != 0) printLibraries(gpus);
  if (gpus.all.empty() && !gpus.why.empty()) std::printf("no GPU: %s\n", gpus.why.c_str());
  return 0;
}

}  // namespace tenc::tool
