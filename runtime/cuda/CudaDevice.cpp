#include "runtime/cuda/CudaDevice.h"

#include <algorithm>
#include <charconv>
#include <mutex>

#include "runtime/cuda/CudaAdvice.h"
#include "runtime/cuda/CudaStream.h"

namespace tenc::rt {
namespace {

using namespace cuda;

class CudaDevice : public Device {
 public:
  CudaDevice(const DeviceSpec& spec, int ordinal, std::shared_ptr<const CudaDriver> driver)
      : name_(spec.name), capacity_(spec.capacity), ordinal_(ordinal), driver_(std::move(driver)) {}
  ~CudaDevice() override {
    if (context_ == nullptr) return;
    driver_->f().setCurrent(context_);
    products_.reset();
    driver_->f().releaseContext(number_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const std::string& name() const override { return name_; }
  bool worksOnHostMemory() const override { return false; }
  bool canRun(const abi::Kernel& kernel) const override {
    return std::holds_alternative<abi::DeviceCode>(kernel.code) ||
           std::holds_alternative<abi::ProductCode>(kernel.code) ||
           std::holds_alternative<abi::SolverCode>(kernel.code) ||
           std::holds_alternative<abi::SequenceCode>(kernel.code);
  }

  std::unique_ptr<Stream> open(const StreamSetup& setup, OpenFailure& failure) override {
    if (!use(failure)) return nullptr;
    const uint64_t needed = setup.program->program().devices[setup.device].arenaBytes;
    if (capacity_ != 0 && needed > capacity_) {
      failure = {name_ + " cannot give " + std::to_string(needed) + " bytes", true, capacity_};
      return nullptr;
    }
    std::shared_ptr<const CublasLt> products;
    if (multiplies(*setup.program, setup.device) && !(products = library(failure))) return nullptr;
    auto stream =
        std::make_unique<CudaStream>(driver_, std::move(products), CudaPlace{context_, number_}, lost_, setup);
    const CudaStream::Failure failed = stream->prepare();
    if (!failed.any()) {
      const uint64_t all = needed + stream->besidePlan();
      if (capacity_ == 0 || all <= capacity_) return stream;
      failure = {name_ + " cannot give " + std::to_string(all) + " bytes", true, capacity_};
      return nullptr;
    }
    failure.outOfMemory = failed.status == kOutOfMemory;
    failure.text =
        name_ + " " + failed.what + ": " + (failed.why.empty() ? driver_->explain(failed.status) : failed.why);
    stream.reset();  // what it did get is free again
    size_t free = 0, total = 0;
    if (failure.outOfMemory && driver_->f().memoryInfo(&free, &total) == 0) failure.available = free;
    return nullptr;
  }

 private:
  /// The context is made when the first program needs it.
  bool use(OpenFailure& failure) {
    const std::lock_guard lock(mutex_);
    Result status = lost_;
    if (status == 0 && context_ == nullptr) {
      status = driver_->f().deviceGet(&number_, ordinal_);
      if (status == 0) status = driver_->f().retainContext(&context_, number_);
    }
    if (status == 0) return true;
    failure.outOfMemory = status == kOutOfMemory;
    failure.text = name_ + " cannot be used: " + driver_->explain(status);
    return false;
  }

  static bool multiplies(const LoadedProgram& program, uint32_t device) {
    return std::any_of(program.launches().begin(), program.launches().end(), [&](const auto& launch) {
      return launch.first == device &&
             std::holds_alternative<abi::ProductCode>(program.program().kernels[launch.second].code);
    });
  }
  /// Loaded when the first program needs it; a handle serves all streams of the context.
  std::shared_ptr<const CublasLt> library(OpenFailure& failure) {
    const std::lock_guard lock(mutex_);
    std::string why;
    driver_->f().setCurrent(context_);
    if (!products_) products_ = CublasLt::open(why);
    if (!products_) failure = {name_ + " cannot run the program: " + why, false, 0};
    return products_;
  }

  const std::string name_;
  const uint64_t capacity_;
  const int ordinal_;
  const std::shared_ptr<const CudaDriver> driver_;
  std::shared_ptr<const CublasLt> products_;
  std::mutex mutex_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
  std::atomic<Result> lost_ = 0;  ///< the error that spoilt it
};

}  // namespace

std::unique_ptr<Device> makeCudaDevice(const DeviceSpec& spec, const DeviceSurroundings&, std::string& error) {
  std::shared_ptr<const CudaDriver> driver = CudaDriver::open(error);
  if (!driver) return nullptr;
  int ordinal = -1;
  const size_t colon = spec.name.find(':');
  std::string_view number = spec.name;
  number.remove_prefix(colon == std::string::npos ? number.size() : colon + 1);
  for (const auto& [setting, value] : spec.settings)
    if (setting == kOrdinal) number = value;
  std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (ordinal < 0 || ordinal >= driver->devices()) {
    error = "there is no " + spec.name + ": the driver has " + std::to_string(driver->devices()) + " devices";
    return nullptr;
  }
  return std::make_unique<CudaDevice>(spec, ordinal, std::move(driver));
}

}  // namespace tenc::rt
