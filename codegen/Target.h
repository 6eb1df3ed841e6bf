// A target: what makes code of kernels for a kind of device, and what memory planning, the passes and the keys of
// kernels have to know of it before. One folder each (codegen/cpu); no other room names one.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/Kernel.h"
#include "ir/TargetTraits.h"
#include "runtime/abi/Program.h"

namespace tenc::codegen {

/// What running a kernel takes.
struct KernelNeeds {
  struct Argument {
    uint64_t alignment = 1;  ///< bytes, a power of two: what its address is a multiple of
    bool overwritable =
        true;          ///< an output may stand in its memory, where what the kernel means allows that (InPlace.h)
    uint64_t gap = 0;  ///< bytes to be left free behind it, a multiple of kPlannedAlignment
  };
  std::vector<Argument> arguments;  ///< by Kernel::buffers; scratch buffers are none
  uint64_t scratchBytes = 0;        ///< per thread, aligned to abi::kScratchAlignment
  uint64_t workspaceBytes = 0;      ///< per run: memory of the device, handed over after the other buffers

  /// Of a buffer; anything will do where the target says nothing.
  Argument argument(size_t buffer) const { return buffer < arguments.size() ? arguments[buffer] : Argument{}; }
};

/// A kernel whose code is wanted.
struct CodeRequest {
  const Kernel* kernel = nullptr;
  std::string key;       ///< codeKey(*kernel)
  double runs = 1;       ///< how often a run of the program runs it; infinite where that is not known
  std::string source{};  ///< lines that it was written in, for text that people read; empty where code is wanted
};

/// How a launch finds the code: a function of an image, or a routine.
using Code = decltype(abi::Kernel::code);

/// Kernels that a target was asked for: those that it compiled, and those that it had from before.
struct CodeCounts {
  size_t compiled = 0, kept = 0;
};

/// What becomes of an op of Trait::Library.
enum class RoutineCode : uint8_t {
  Runtime,  ///< the routine of that name in the runtime, which works on memory of the host
  Kernel,   ///< a kernel that the target writes (Kernel::Kind::Routine)
  None,     ///< there is none: E0190
};

/// Few of a device's very many threads do all of a kernel's work.
struct FewThreads {
  int64_t threads = 0;
  double seconds = 0;
};

class Target {
 public:
  virtual ~Target() = default;

  /// Tells the target, the processor, the options and the versions of what it compiles with from all others: one
  /// identity and one kernel key have one code.
  virtual std::string_view identity() const = 0;
  /// What passes and the building of kernels ask about the device.
  virtual const ir::TargetTraits& traits() const = 0;
  /// What an op of Trait::Library (sorts, factorisations) is on its devices.
  virtual RoutineCode routineCode(const ir::Op&) const { return RoutineCode::Runtime; }
  /// Of a run of a kernel, roughly and at the least; no threads where the host would not be faster.
  virtual FewThreads fewThreads(const Kernel&) const { return {}; }
  /// Asked before memory is planned. A function of the request alone.
  virtual KernelNeeds needs(const CodeRequest& request) const = 0;

  /// The code of each kernel; the keys differ. Appends what holds it to `images`. On failure `error` is set to the text
  /// of an internal error.
  virtual std::vector<Code> compile(std::span<const CodeRequest> requests, std::vector<abi::CodeImage>& images,
                                    std::string& error) = 0;

  /// Why compile() failed where that is no fault of the code: what it compiles with is broken, or too old. Else empty.
  virtual std::string_view cannotCompile() const { return {}; }

  virtual CodeCounts counts() const { return {}; }

  /// The forms in which code can be printed: "llvm", "asm".
  virtual std::span<const std::string_view> forms() const = 0;
  /// `form` is one of forms().
  virtual std::string emit(std::span<const CodeRequest> requests, std::string_view form) = 0;
  /// A line about what is decided for a kernel, for people; may be empty.
  virtual std::string describe(const CodeRequest& request) const = 0;
};

/// The target of each kind of device of a machine. Holds no targets, only knows them.
class TargetTable {
 public:
  void set(std::string_view kind, Target& target) { byKind_[std::string(kind)] = &target; }
  /// Of an actual device; null for a kind without one.
  Target* find(std::string_view device) const {
    const auto it = byKind_.find(ir::DeviceTable::kindOf(device));
    return it == byKind_.end() ? nullptr : it->second;
  }
  ir::TraitsTable traits() const {
    ir::TraitsTable table;
    for (const auto& [kind, target] : byKind_) table.set(kind, target->traits());
    return table;
  }

 private:
  std::map<std::string, Target*, std::less<>> byKind_;
};

}  // namespace tenc::codegen
