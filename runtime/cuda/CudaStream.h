// A call's queue on a GPU, its memory there, and its code.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/Device.h"
#include "runtime/cuda/CudaDriver.h"

namespace tenc::rt::cuda {

class CudaStream : public Stream {
 public:
  /// `lost` is the device's: the error that spoilt it, which a stream notes.
  CudaStream(std::shared_ptr<const CudaDriver> driver, ContextHandle context, std::atomic<Result>& lost,
             const StreamSetup& setup);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  struct Failure {
    Result status = 0;
    std::string what;  ///< "cannot give 512 bytes"
  };
  /// Takes memory and loads the program's code.
  Failure prepare();

  std::byte* address(abi::BufferId buffer) const override { return addresses_[buffer]; }
  void begin(const StreamCall& call) override;
  void launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order) override;
  void copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) override;
  Ticket copyIn(std::byte* to, const void* from, uint64_t bytes, uint64_t order) override;
  Ticket copyOut(void* to, const std::byte* from, uint64_t bytes, uint64_t order) override;
  void receive(std::byte* to, Stream& other, const std::byte* from, uint64_t bytes, uint64_t order) override;
  Ticket send(Stream& to, std::byte* destination, Ticket ready, const std::byte* from, uint64_t bytes,
              uint64_t order) override;
  void accept(std::byte* to, const void* from, uint64_t bytes, uint64_t order) override;
  void wait(Ticket ticket) override;
  bool done(Ticket ticket) const override;
  Ticket last() const override;
  std::optional<DeviceStop> stopped() const override;

 private:
  /// What the kernels of a call report, as their prelude lays it out.
  struct Faults {
    uint32_t number, busy;
    uint64_t order;
    int64_t index, count, size, axis;
  };
  /// Notes the first failure of the driver. Under the mutex.
  bool well(Result status, const char* call, uint64_t order);
  /// A ticket for what has been given to the queue. Under the mutex.
  Ticket mark(uint64_t order);
  void readFaults();
  /// Keeps the host from running far ahead: what is in the queue is what an interrupt has to wait for.
  void pace(uint64_t order);

  const std::shared_ptr<const CudaDriver> driver_;
  const CudaFunctions& f_;
  const ContextHandle context_;
  std::atomic<Result>& lost_;
  const bool waitsForEach_;  ///< TENC_CUDA_SYNC: of every kernel it is known how it ended
  const LoadedProgram& program_;
  const uint32_t device_;
  StreamHandle stream_ = nullptr;
  Pointer memory_ = 0, faults_ = 0;
  std::vector<std::byte*> addresses_;
  std::vector<ModuleHandle> modules_;  ///< by image; null for what no kernel of this device is in
  std::map<const abi::Kernel*, FunctionHandle> functions_;
  std::map<uint64_t, const abi::Kernel*> launched_;  ///< by order, of kernels that may report
  StreamCall call_;
  mutable std::mutex mutex_;
  std::optional<DeviceStop> stop_;
  Ticket last_ = 0, done_ = 0;
  std::deque<std::pair<Ticket, EventHandle>> events_;  ///< of tickets that are not known to be done
  std::vector<EventHandle> free_;
  EventHandle paces_[2] = {};  ///< of the last two runs of launches
  uint64_t launches_ = 0;
};

}  // namespace tenc::rt::cuda
