// Kernels in the tests of the PTX machine: memory of the device as vectors, and a launch whose arguments are values.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda/vm/Machine.h"

namespace tenc::ptx::testing {

constexpr uint64_t kMemory = uint64_t{1} << 30;

/// A machine with a module.
class Device {
 public:
  explicit Device(std::string_view text) : machine(kMemory), program(machine.load(text)) {}

  template <class T>
  uint64_t put(const std::vector<T>& values) {
    uint64_t p = room(values.size() * sizeof(T));
    std::memcpy(machine.memory().host(p), values.data(), values.size() * sizeof(T));
    machine.memory().setInitialised(*machine.memory().find(p), 0, values.size() * sizeof(T));
    return p;
  }
  uint64_t room(uint64_t bytes) { return machine.memory().allocate(bytes); }
  template <class T>
  std::vector<T> get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), machine.memory().host(address), count * sizeof(T));
    return values;
  }

  template <class... Arguments>
  std::optional<Finding> launch(const std::string& name, LaunchShape shape, Arguments... arguments) {
    const Kernel* k = program->kernel(name);
    if (!k) {
      ADD_FAILURE() << "there is no kernel " << name;
      return Finding::Unsupported;
    }
    EXPECT_EQ(k->parameters.size(), sizeof...(arguments));
    std::vector<uint8_t> bytes(k->parameterBytes);
    size_t n = 0;
    auto store = [&](auto a) {
      const Parameter& p = k->parameters.at(n++);
      ASSERT_EQ(p.bytes, sizeof a);
      std::memcpy(bytes.data() + p.offset, &a, sizeof a);
    };
    (store(arguments), ...);
    return machine.launch(*k, shape, bytes);
  }
  /// One that has to end well, with nothing to report.
  template <class... Arguments>
  void run(const std::string& name, LaunchShape shape, Arguments... arguments) {
    auto ended = launch(name, shape, arguments...);
    EXPECT_FALSE(ended) << nameOf(*ended);
    EXPECT_EQ(machine.reports().text(), "");
  }

  Machine machine;
  std::unique_ptr<Program> program;
};

inline LaunchShape grid(uint32_t blocks, uint32_t threads, uint32_t dynamicShared = 0) {
  return {{blocks, 1, 1}, {threads, 1, 1}, dynamicShared, false};
}

/// A module around the body of one kernel, with registers of every kind: %p, %h (16 bits), %r, %d (64 bits), %f, %g
/// (f64).
inline std::string kernelText(const std::string& body,
                              const std::string& parameters = ".param .u64 to, .param .u64 from") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(" + parameters +
         ")\n{\n.reg .pred %p<9>;\n.reg .b16 %h<20>;\n.reg .b32 %r<40>;\n.reg .b64 %d<20>;\n.reg .f32 %f<20>;\n.reg "
         ".f64 %g<20>;\n" +
         body + "\nret;\n}\n";
}

}  // namespace tenc::ptx::testing
