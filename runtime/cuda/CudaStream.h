// A call's queue on a GPU, its memory there, and its code.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/Device.h"
#include "runtime/cuda/CudaGraphs.h"

namespace tenc::rt::cuda {

class CudaStream : public Stream {
 public:
  /// `lost` is the device's: the error that spoilt it, which a stream notes. `products` may be null where the program
  /// has no ProductCode.
  CudaStream(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const CublasLt> products, ContextHandle context,
             std::atomic<Result>& lost, const StreamSetup& setup);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  struct Failure {
    Result status = 0;
    std::string what;   ///< "cannot give 512 bytes"
    std::string why{};  ///< instead of the status: what a library says
    bool any() const { return status != 0 || !why.empty(); }
  };
  /// Takes memory and loads the program's code.
  Failure prepare();

  std::byte* address(abi::BufferId buffer) const override { return addresses_[buffer]; }
  void begin(const StreamCall& call) override;
  void launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order) override;
  void copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) override;
  void seam() override;
  void handOver() override;
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
  LaunchCounts launched() const override;

 private:
  /// Notes the first failure of the driver. Under the mutex.
  bool well(Result status, const char* call, uint64_t order);
  // The rest, too, is under the mutex.
  /// A ticket for what has been given to the queue.
  Ticket mark(uint64_t order);
  void record(Ticket ticket, uint64_t order);
  void readFaults();
  /// Gives the commands that were kept back to the queue.
  void submit();
  void submitOneByOne();
  /// What kernels of the run are to find in the block.
  void writeBlock();
  /// After so many launches more. Keeps the host from running far ahead: what is in the queue is what an interrupt has
  /// to wait for.
  void pace(uint64_t launches, uint64_t order);

  const std::shared_ptr<const CudaDriver> driver_;
  const std::shared_ptr<const CublasLt> library_;
  const CudaFunctions& f_;
  const ContextHandle context_;
  std::atomic<Result>& lost_;
  const bool waitsForEach_;  ///< TENC_CUDA_SYNC: of every kernel it is known how it ended
  const LoadedProgram& program_;
  const uint32_t device_;
  StreamHandle stream_ = nullptr;
  Pointer memory_ = 0, block_ = 0;
  size_t scalars_ = 0;  ///< for how many the block has room
  std::vector<std::byte*> addresses_;
  std::vector<ModuleHandle> modules_;  ///< by image; null for what no kernel of this device is in
  std::vector<CudaKernel> kernels_;    ///< by their numbers in the program
  std::vector<std::unique_ptr<MatrixProduct>> products_;
  CudaRun run_;  ///< what is kept back
  CudaGraphs graphs_;
  std::vector<uint64_t> written_;  ///< what the block holds from its base on when what is in the queue is done
  LaunchCounts counts_;
  StreamCall call_;
  mutable std::mutex mutex_;
  std::optional<DeviceStop> stop_;
  Ticket last_ = 0, done_ = 0;
  std::deque<std::pair<Ticket, EventHandle>> events_;  ///< of some tickets that are not known to be done
  std::vector<EventHandle> free_;
  EventHandle paces_[2] = {};  ///< behind the last two stretches of launches
  uint64_t stretches_ = 0, inStretch_ = 0;
};

}  // namespace tenc::rt::cuda
