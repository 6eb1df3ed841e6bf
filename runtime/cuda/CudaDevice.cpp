#include "runtime/cuda/CudaDevice.h"

#include <charconv>

#include "runtime/cuda/CudaStream.h"

namespace tenc::rt {
namespace {

using namespace cuda;

class CudaDevice : public Device {
 public:
  CudaDevice(std::string name, uint64_t capacity, std::shared_ptr<const CudaDriver> driver)
      : name_(std::move(name)), capacity_(capacity), driver_(std::move(driver)) {}
  ~CudaDevice() override {
    if (context_ != nullptr) driver_->f().releaseContext(number_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  bool use(int ordinal, std::string& error) {
    Result status = driver_->f().deviceGet(&number_, ordinal);
    if (status == 0) status = driver_->f().retainContext(&context_, number_);
    if (status != 0) error = name_ + " cannot be used: " + driver_->describe(status);
    return status == 0;
  }

  const std::string& name() const override { return name_; }
  bool worksOnHostMemory() const override { return false; }
  bool canRun(const abi::Kernel& kernel) const override { return std::holds_alternative<abi::DeviceCode>(kernel.code); }

  std::unique_ptr<Stream> open(const StreamSetup& setup, std::string& error) override {
    const uint64_t needed = setup.program->program().devices[setup.device].arenaBytes;
    if (capacity_ != 0 && needed > capacity_) {
      error = name_ + " cannot give " + std::to_string(needed) + " bytes";
      return nullptr;
    }
    auto stream = std::make_unique<CudaStream>(driver_, context_, setup);
    if (!stream->prepare(error)) return nullptr;
    return stream;
  }

 private:
  const std::string name_;
  const uint64_t capacity_;
  const std::shared_ptr<const CudaDriver> driver_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
};

}  // namespace

std::unique_ptr<Device> makeCudaDevice(const DeviceSpec& spec, const DeviceSurroundings&, std::string& error) {
  std::shared_ptr<const CudaDriver> driver = CudaDriver::open(error);
  if (!driver) return nullptr;
  int ordinal = -1;
  const size_t colon = spec.name.find(':');
  if (colon != std::string::npos)
    std::from_chars(spec.name.data() + colon + 1, spec.name.data() + spec.name.size(), ordinal);
  if (ordinal < 0 || ordinal >= driver->devices()) {
    error = "there is no " + spec.name + ": the driver has " + std::to_string(driver->devices()) + " devices";
    return nullptr;
  }
  auto device = std::make_unique<CudaDevice>(spec.name, spec.capacity, std::move(driver));
  return device->use(ordinal, error) ? std::move(device) : nullptr;
}

}  // namespace tenc::rt
