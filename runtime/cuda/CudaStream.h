// A call's queues on a GPU, its memory there, and its code.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/Device.h"
#include "runtime/cuda/CudaCopies.h"
#include "runtime/cuda/CudaGraphs.h"

namespace tenc::rt::cuda {

/// The GPU that a stream is of.
struct CudaPlace {
  ContextHandle context = nullptr;
  DeviceNumber number = 0;
};

class CudaStream : public Stream {
 public:
  /// `lost` is the device's: the error that spoilt it, which a stream notes. `products` may be null where the program
  /// has no ProductCode.
  CudaStream(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<const CublasLt> products, const CudaPlace& place,
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
  /// Memory that a library works in, beside what is planned for the program.
  uint64_t besidePlan() const { return solver_ ? solver_->bytes() : 0; }

  const void* peerGroup() const override;
  std::byte* address(abi::BufferId buffer) const override { return addresses_[buffer]; }
  void begin(const StreamCall& call) override;
  void launch(const LoadedKernel& kernel, std::span<const DeviceArg> args, std::span<const uint64_t> scalars,
              uint64_t order) override;
  void copy(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t order) override;
  bool decides() override;
  void beginControl(ControlKind kind, uint64_t order) override;
  void nextSection() override;
  bool endControl(const std::byte* first, const std::byte* second) override;
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
  bool hasTimes() const override { return true; }
  void trace(CallTrace& trace) override;

 private:
  std::string textOf(const abi::CodeImage& image) const;
  // Parts of `prepare`. `check` notes what failed, and says whether all is well.
  using Check = std::function<bool(Result, const std::string&)>;
  /// What of the arena belongs to no buffer of the plan, at any time.
  void guardGaps(uint64_t arenaBytes) const;
  bool loadKernel(uint32_t number, const Check& check, std::string& why);
  bool loadFunction(FunctionHandle& function, const abi::DeviceCode& code, const Check& check);
  /// All calls of cuSOLVER of the program; takes the memory that they work in.
  bool planSolver(const Check& check, std::string& why);
  // All of these are under the mutex.
  Ticket copyTicket() { return ++last_ * 2; }
  /// False where there is no memory on the host that a copy could go through.
  bool receiveFromPeer(std::byte* to, CudaStream& source, const std::byte* from, uint64_t bytes, uint64_t order);
  /// Whether copies to the other's memory need not go through the host.
  bool reaches(const CudaStream& other);
  void readFaults();
  /// Ends loops inside kernels that run.
  void endLoops();
  /// Gives the commands that were kept back to the queue.
  void submit();
  void submitOneByOne(const CudaCommands& list);
  /// False where the driver has no memory for it.
  bool replay(GraphHandle graph);
  /// Decides on the host what a device could, where there is no graph, or not yet.
  void decide(const CudaControl& control);
  bool holds(Pointer flag);
  /// Whether what is kept back has room for a launch; what it is inside of is not taken, where that has none.
  bool makeRoom(size_t scalars);
  /// What a loop or branch of the device has kept back is not taken: the host will run it.
  void giveUpControl();
  bool isInControl() const { return run_.depth() + dropped_ > 0; }
  /// What kernels of the run are to find in the block.
  void writeBlock();
  /// After so many launches more. Keeps the host from running far ahead: what is in the queue is what an interrupt has
  /// to wait for.
  void pace(uint64_t launches);
  /// To how long the host has waited for a stretch of the last ones.
  void adapt(uint64_t launches, std::chrono::nanoseconds waited);

  const std::shared_ptr<const CudaDriver> driver_;
  const std::shared_ptr<const CublasLt> library_;
  const CudaFunctions& f_;
  const CudaPlace place_;
  mutable CudaCalls calls_;
  const bool waitsForEach_;  ///< TENC_CUDA_SYNC: of every kernel it is known how it ended
  const LoadedProgram& program_;
  const uint32_t device_;
  StreamHandle stream_ = nullptr;      ///< of the kernels
  StreamHandle interrupts_ = nullptr;  ///< what must not wait for them
  Pointer memory_ = 0, block_ = 0;
  size_t scalars_ = 0;  ///< for how many the block has room
  std::vector<std::byte*> addresses_;
  std::vector<ModuleHandle> modules_;  ///< by image; null for what no kernel of this device is in
  std::vector<CudaKernel> kernels_;    ///< by their numbers in the program
  std::vector<std::unique_ptr<MatrixProduct>> products_;
  std::unique_ptr<Solver> solver_;  ///< where the program has a SolverCode
  CudaRun run_;                     ///< what is kept back
  CudaGraphs graphs_;
  size_t most_;                    ///< commands that are kept back
  std::vector<uint64_t> written_;  ///< what the block holds from its base on when what is in the queue is done
  LaunchCounts counts_;
  CudaTimes times_;
  std::unique_ptr<CudaCopies> copies_;
  std::vector<Touch> touches_;  ///< of what is kept back
  size_t touchesBefore_ = 0;    ///< the outermost control
  size_t dropped_ = 0;          ///< how much control has begun that is too long
  CudaBlock seen_{};            ///< what the block held when something was copied to the host
  bool mayFault_ = false;       ///< a kernel that reports faults was launched, and the block was not read since
  std::map<ContextHandle, bool> reaches_;
  mutable std::mutex mutex_;
  /// Tickets of copies are even; an odd one is of all that was given up to it.
  Ticket last_ = 0, finished_ = 0;
  Event paces_[2];  ///< behind the last two stretches of launches
  uint64_t stretches_ = 0, inStretch_ = 0;
  uint64_t stretch_ = 1;      ///< launches of one
  bool isLong_ = false;       ///< the host has just waited long for one
  std::vector<char> hasRun_;  ///< by kernel
};

}  // namespace tenc::rt::cuda
