// Where the buffers of a call are: in its workspace, in memory of the caller, or in pages of a file. Loops exchange
// addresses. Before the host touches its own memory, copies that devices still make of it are waited for.
#pragma once
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/Call.h"
#include "runtime/call/Ending.h"
#include "runtime/call/PendingCopies.h"
#include "runtime/call/Residency.h"
#include "runtime/call/Workspace.h"
#include "runtime/io/MappedPages.h"
#include "runtime/io/OpenFile.h"

namespace tenc::rt {

/// Bytes of the elements.
uint64_t bytesOf(const abi::TensorRef& t);

class Buffers {
 public:
  /// `memory`: CallOptions'.
  Buffers(const LoadedProgram& program, const Workspace& workspace, const Ending& ending, bool dropWaits,
          uint64_t memory)
      : loaded_(program),
        p_(program.program()),
        workspace_(workspace),
        ending_(ending),
        dropWaits_(dropWaits),
        address_(workspace.addresses()),
        residency_(memory) {}

  // ---- the caller's memory
  /// Takes the inputs; those that fit are used where they are. Returns how many.
  uint64_t take(const std::vector<InputTensor>& inputs);
  /// Lets results be made where the outputs are, where that is possible. Returns how many.
  uint64_t aim(const std::vector<OutputTensor>& outputs);
  /// Gives the results: to outputs that do not hold them already, and to `result`.
  void give(const CallOptions& options);

  // ---- addresses
  Stream* streamOf(abi::BufferId b) const { return workspace_.stream(p_.buffers[b].device); }
  const std::vector<std::byte*>& addresses() const { return address_; }
  std::byte* at(abi::BufferId b) const { return address_[b]; }
  std::byte* at(const abi::KernelArg& a) const { return address_[a.buffer] + a.byteOffset; }
  std::byte* at(const abi::TensorRef& t) const { return address_[t.buffer] + t.byteOffset; }
  void exchange(const std::vector<abi::Swap>& swaps) {
    for (const auto& [a, b] : swaps) std::swap(address_[a], address_[b]);
  }
  /// Whether the tensor takes up all of its buffer, so that other memory can stand in for that.
  bool isWhole(const abi::TensorRef& t) const { return t.byteOffset == 0 && p_.buffers[t.buffer].bytes == bytesOf(t); }
  /// The buffer moves to the pages of a file that the load at `site` found; if it was in such pages already, those go.
  /// `open`: the file, for those who read parts of it.
  void moveTo(abi::BufferId b, MappedTensor file, uint32_t site, std::shared_ptr<const OpenFile> open = nullptr);
  /// The buffer moves back from such pages, which go.
  void moveBack(abi::BufferId b);
  /// Whether no step but a load writes to the buffer, so that pages of a file need not be written to.
  bool staysInFile(abi::BufferId b) const { return p_.buffers[b].inFile; }
  /// Whether the buffer is in pages of a file, and there is a limit to how many.
  bool isKeptWithinMemory(abi::BufferId b) const {
    return residency_.watches() && staysInFile(b) && mapped_.contains(address_[b]);
  }
  /// Lets go of pages of files that are more than the call may have, or will be when `soon` bytes are read. Any thread
  /// may call it.
  void keepWithinMemory(uint64_t soon = 0) { residency_.check(soon); }
  /// The file that the tensor lies in; null for none.
  const MappedTensor* fileOf(const abi::TensorRef& t) const;
  /// A file that was cut short while buffers are in its pages, so that what was read of it is not to be used.
  struct CutShort {
    uint32_t site = 0;
    std::string path;
  };
  std::optional<CutShort> cutShort();
  /// Whether pages of files count, so that a file is better read than mapped where little of it is wanted.
  bool isMemoryLimited() const { return residency_.isLimited(); }
  /// Where the tensor lies in a file that is better read; nothing where it is to be taken from memory.
  struct InOpenFile {
    std::shared_ptr<const OpenFile> file;
    uint64_t offset = 0;
  };
  std::optional<InOpenFile> openFileOf(const abi::TensorRef& t) const;

  // ---- bytes
  /// Before the host reads its memory, or, with `write`, changes it.
  void settle(const std::byte* begin, uint64_t size, bool write) {
    if (pending_.empty() || dropWaits_) return;
    pending_.settle(begin, size, write);
    failed_ = failed_ || ending_.aDeviceStopped();
  }
  /// A device stopped, which was seen when something was waited for.
  bool failed() const { return failed_; }
  /// A device still reads or writes memory of the host.
  void pending(const std::byte* begin, uint64_t bytes, bool intoHost, Stream& stream, Ticket ticket) {
    pending_.add(begin, bytes, intoHost, stream, ticket);
  }
  std::byte* read(const abi::TensorRef& t) {
    settle(at(t), bytesOf(t), false);
    return at(t);
  }
  /// The bytes of a tensor wherever it is: where it lies on the host, or copied into `copy`.
  const std::byte* onHost(const abi::TensorRef& t, std::vector<std::byte>& copy);
  template <typename T>
  T get(abi::BufferId b) {
    settle(address_[b], sizeof(T), false);
    T v;
    std::memcpy(&v, address_[b], sizeof v);
    return v;
  }
  /// A byte that decides, wherever it is.
  bool flag(abi::BufferId b);
  template <typename T>
  void set(std::byte* to, T v) {
    settle(to, sizeof v, true);
    std::memcpy(to, &v, sizeof v);
  }
  /// From the host to a device; not done on return.
  void copyIn(const abi::TensorRef& onDevice, const abi::TensorRef& onHost);
  /// Dense bytes into a tensor wherever it is; done on return.
  void put(const abi::TensorRef& t, const void* from);
  /// The number of the next command, for devices.
  uint64_t nextOrder() { return ++order_; }

 private:
  bool fits(const abi::TensorRef& t, const void* data, const std::vector<int64_t>& strides) const;
  bool mayAim(size_t result) const;

  const LoadedProgram& loaded_;
  const abi::Program& p_;
  const Workspace& workspace_;
  const Ending& ending_;
  const bool dropWaits_;
  std::vector<std::byte*> address_;
  struct InFile {
    std::unique_ptr<MappedTensor> file;
    std::byte* before;  ///< where the buffer was
    uint32_t site;      ///< of the load
    std::shared_ptr<const OpenFile> open;
  };
  std::map<const std::byte*, InFile> mapped_;  // files that buffers are in, by address
  Residency residency_;
  uint64_t lostPages_ = lostPagesSoFar();  ///< when nothing of our files was lost
  PendingCopies pending_;
  uint64_t order_ = 0;  // steps given to devices so far
  bool failed_ = false;
};

}  // namespace tenc::rt
