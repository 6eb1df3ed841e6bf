// Whole programs between runs. A script that was compiled before is not even parsed, as long as all that its program
// follows from is as it was: its text, the command line, this build of tenc, the processor and the size of memory
// (these are the key of an entry in the folder of compiled code); the modules that it imports, and the headers of the
// files that it loads (which the entry names).
//
// Kept are programs without a diagnostic, as nothing would tell it again, and those that depend on nothing else of the
// machine: none that looked for GPUs or asked for the name of a device.
#pragma once
#include <memory>
#include <string>

#include "codegen/cache/ObjectCache.h"
#include "tools/tenc/Commands.h"

namespace tenc::tool {

class KeptProgram {
 public:
  /// Of the script that is source `file`; keeps and finds nothing where the command line asks for what only compiling
  /// tells, such as --time.
  KeptProgram(Session& session, const CommandLine& line, uint32_t file);

  /// The script's program; null where it is not kept, does not hold any more, or does not fit into memory now.
  std::shared_ptr<const abi::Program> find();
  /// Keeps it, if it may be kept. `read`: what lowering it has read.
  void keep(const frontend::Dependencies& read, const abi::Program& program);

 private:
  Session& session_;
  std::string key_;  // empty: nothing is kept
  codegen::ObjectCache cache_;
};

}  // namespace tenc::tool
