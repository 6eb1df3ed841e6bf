// A module of PTX, decoded and loaded: its kernels and the variables that it has in the memory of a device.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/vm/DeviceMemory.h"
#include "tests/cuda/vm/Kernel.h"
#include "tests/cuda/vm/Lexer.h"

namespace tenc::ptx {

class Program {
 public:
  struct Global {
    uint64_t address = 0, bytes = 0;
  };

  /// Throws PtxError. `memory` outlives the program.
  Program(std::string_view text, DeviceMemory& memory);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Null where there is none of that name.
  const Kernel* kernel(const std::string& name) const;
  const Global* global(const std::string& name) const;
  const std::map<std::string, std::unique_ptr<Kernel>>& kernels() const { return kernels_; }
  const std::string& target() const { return target_; }
  /// How often each opcode, with its modifiers, stands in the text; those that the machine does not know are marked.
  const std::map<std::string, uint32_t>& opcodes() const { return opcodes_; }
  bool knowsAllOpcodes() const;

 private:
  DeviceMemory& memory_;
  std::string target_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::map<std::string, Global> globals_;
  std::map<std::string, uint32_t> opcodes_;
};

}  // namespace tenc::ptx
