// What the entry points of the fake cuSOLVER hand out, and calls as they run.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tests/cuda/vm/driver/Command.h"

namespace tenc::ptx::cusolver {

enum class Status : int {
  Success = 0,
  NotInitialised = 1,
  InvalidValue = 3,
  ExecutionFailed = 6,
  NotSupported = 9,
  InvalidWorkspace = 31
};
constexpr int code(Status s) { return static_cast<int>(s); }

enum DataType : int { kF32 = 0, kF64 = 1 };
constexpr uint64_t widthOf(int type) { return type == kF64 ? 8 : 4; }

struct Handle {
  driver::Device* device = nullptr;
  void* stream = nullptr;
  bool isDeterministic = false;
};
struct Params {};

enum class Routine : uint8_t { Getrf, Getrs, Potrf, Geqrf, Orgqr, Syevd, Gesvd };
enum class Part : uint8_t { Whole, Lower, Upper };

/// Columns side by side: entry (r, c) is element c * leading + r.
struct Matrix {
  uint64_t at = 0;
  int64_t rows = 0, columns = 0, leading = 0;
};

/// A call, as it runs. Matrices and vectors that a routine does not have are at 0.
struct Call {
  Routine routine{};
  const char* name = "";
  int type = kF32;
  Matrix a, b, c;  // of Gesvd b and c are U and V transposed
  Part part = Part::Lower;
  bool transposed = false, vectors = false;
  int64_t k = 0;  // reflections
  uint64_t vector = 0, info = 0;
  uint64_t workspace = 0, workspaceBytes = 0;
  uint64_t* host = nullptr;  // the workspace there; its first word is `token` until the call has run
  uint64_t hostBytes = 0, token = 0;
  bool flips = false;  // signs of vectors that nobody has asked to be the same each time
};

/// What a call works in, by a formula that is nobody else's.
struct Workspace {
  uint64_t device = 0, host = 0;
};
Workspace workspaceOf(const Call& call);

/// Computes it in the device's memory, all of which is checked.
driver::Status run(const Call& call, driver::Device& device);

}  // namespace tenc::ptx::cusolver
