#include "tools/tenc/Hardware.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "codegen/cuda/CudaTarget.h"
#include "runtime/cuda/CudaDevice.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {
namespace {

constexpr std::string_view kGpu = "cuda";

/// The number of "cuda:1"; -1 for the host.
int numberOf(std::string_view device) {
  int number = -1;
  const size_t colon = device.find(':');
  if (colon != std::string_view::npos)
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), number);
  return number;
}

}  // namespace

std::string hostName() {
  std::string name = "cpu";
  if (std::FILE* f = std::fopen("/proc/cpuinfo", "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, f)) {
      const std::string_view text(line);
      if (!text.starts_with("model name")) continue;
      const size_t colon = text.find(':');
      if (colon == std::string_view::npos) continue;
      name = text.substr(std::min(colon + 2, text.size()));
      while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.pop_back();
      break;
    }
    std::fclose(f);
  }
  return name;
}

uint64_t hostMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : uint64_t{1} << 32;
}

const rt::cuda::Gpus& Hardware::gpus() {
  if (!gpus_) gpus_ = rt::cuda::findGpus();
  return *gpus_;
}

const rt::cuda::Gpu* Hardware::usable(std::string_view device) {
  int number = numberOf(device);
  if (number < 0 || options_.virtualCuda) return nullptr;
  for (const rt::cuda::Gpu& gpu : gpus().all)
    if (gpu.problem.empty() && number-- == 0) return &gpu;
  return nullptr;
}

bool Hardware::isVirtual() const { return options_.virtualCuda && options_.cudaArchitecture.empty(); }

int Hardware::virtualDevices() const { return options_.virtualCuda.value_or(0); }

ir::DeviceTable::Found Hardware::found() {
  // With --target that of another machine, of which only that is known.
  if (options_.virtualCuda) return {*options_.virtualCuda};
  if (options_.compileOnly && !options_.cudaArchitecture.empty()) return {1};
  const auto& all = gpus().all;
  const auto count = std::count_if(all.begin(), all.end(), [](const auto& gpu) { return gpu.problem.empty(); });
  if (count == 0) return {0, all.empty() ? gpus().why : all[0].name + ": " + all[0].problem};
  if (const std::string why = codegen::cuda::compilerProblem(); !why.empty()) return {0, why};
  return {static_cast<int>(count)};
}

ir::DeviceTable Hardware::table() {
  ir::DeviceTable table;
  table.look(kGpu, [this] { return found(); });
  return table;
}

std::string Hardware::name(std::string_view device) {
  if (device == ir::DeviceTable::kHost) return hostName();
  if (isVirtual()) return "virtual " + std::string(device);
  const rt::cuda::Gpu* gpu = usable(device);
  return gpu != nullptr ? gpu->name : "a GPU, " + options_.cudaArchitecture;
}

uint64_t Hardware::memory(std::string_view device) {
  if (device == ir::DeviceTable::kHost) return hostMemory();
  if (options_.virtualBytes != 0) return options_.virtualBytes;
  const rt::cuda::Gpu* gpu = options_.compileOnly && !options_.cudaArchitecture.empty() ? nullptr : usable(device);
  return gpu != nullptr ? gpu->memory : hostMemory();
}

std::string Hardware::architecture() {
  if (!options_.cudaArchitecture.empty()) return options_.cudaArchitecture;
  int least = 0;
  bool same = true;
  for (const rt::cuda::Gpu& gpu : gpus().all) {
    if (!gpu.problem.empty()) continue;
    const int capability = gpu.major * 10 + gpu.minor;
    same = same && (least == 0 || least == capability);
    least = least == 0 ? capability : std::min(least, capability);
  }
  // PTX runs on all GPUs that are no older; that of sm_90a, with what only Hopper has, on no others.
  const char* form = std::getenv("TENC_CUDA_CODE");
  const bool machineCode = same && (form == nullptr || std::string_view(form) != "ptx");
  constexpr int kHopper = 90;
  if (machineCode) return "sm_" + std::to_string(least);
  return "compute_" + std::to_string(least) + (same && least == kHopper ? "a" : "");
}

rt::DeviceSpec Hardware::spec(std::string_view device) {
  rt::DeviceSpec spec;
  spec.name = device;
  spec.capacity = options_.virtualBytes;
  if (isVirtual()) {
    spec.factory = "virtual";
    spec.settings = {{"order", options_.virtualOrder}};
    return spec;
  }
  spec.make = rt::makeCudaDevice;
  if (const rt::cuda::Gpu* gpu = usable(device))
    spec.settings = {{std::string(rt::kOrdinal), std::to_string(gpu->ordinal)}};
  return spec;
}

}  // namespace tenc::tool
