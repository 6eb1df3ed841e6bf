// What a program does, step by step.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/abi/Kernels.h"

namespace tenc::abi {

struct Step;
using Block = std::vector<Step>;
/// Two buffers that exchange their addresses after each trip of a loop: double buffering without copies.
using Swap = std::pair<BufferId, BufferId>;

/// Puts a kernel into the queue of a device (0: the host runs it at once). `scalars`: host buffers of rank-0 values
/// that are passed by value.
struct Launch {
  uint32_t kernel = 0;
  uint32_t device = 0;
  std::vector<KernelArg> args;
  std::vector<BufferId> scalars;
};

/// Between devices.
struct Transfer {
  KernelArg to, from;
  uint64_t bytes = 0;
};

/// Within one device.
struct Copy {
  KernelArg to, from;
  uint64_t bytes = 0;
};

/// `lo`, `hi`, `by` and the induction variable are i64 buffers of the host. A step that is 0 stops at `site`.
struct For {
  BufferId lo = kNoBuffer, hi = kNoBuffer, by = kNoBuffer, induction = kNoBuffer;
  uint32_t site = 0;
  Block body;
  std::vector<Swap> swaps;
};

/// Runs `condition`, which computes `goesOn`, before each trip. Where that byte is on a device, all steps inside are
/// that device's, or compute numbers on the host that are the same in each trip. The same holds of `If`.
struct While {
  Block condition;
  BufferId goesOn = kNoBuffer;
  Block body;
  std::vector<Swap> swaps;
};

struct If {
  BufferId condition = kNoBuffer;
  Block then, otherwise;
};

/// Text with values in it: pieces and values take turns, a piece first.
struct Text {
  struct Value {
    TensorRef tensor;
    std::string format;  ///< of runtime/io's formatScalar, kTextFormat, or kDeviceFormat
  };
  std::vector<std::string> pieces;
  std::vector<Value> values;
};
/// Writes the name of the value's device and not the value.
inline constexpr const char* kDeviceFormat = "@";

struct Print {
  Text text;
};

struct Assert {
  TensorRef condition;
  Text message;
  uint32_t site = 0;
};

/// Which elements of its operands an element of a result comes from.
enum class Origins : uint8_t {
  Elementwise,  ///< those at its place, after NumPy's broadcasting
  Axes,         ///< those of the operand that differ from its place along `axes` only
  Product,      ///< a row of the first and a column of the second
  Whole         ///< all
};
inline constexpr uint8_t kOriginKinds = 4;
constexpr Origins originsNamed(std::string_view name) {
  if (name == "elementwise") return Origins::Elementwise;
  if (name == "axes") return Origins::Axes;
  return name == "product" ? Origins::Product : Origins::Whole;
}

/// Stops at the first NaN of a result that comes from no NaN, and the first infinity that comes from finite numbers
/// alone. With a `mask`, bools, only elements at which it is `selects` count. Tensors may be on any device.
struct Trap {
  std::string what;  ///< "`/` in the backward half of a gradient"
  Origins origins = Origins::Whole;
  std::vector<int64_t> axes;
  TensorRef result;
  std::vector<TensorRef> operands;
  std::optional<TensorRef> mask;
  bool selects = true;
  uint32_t site = 0;
};

/// `format` and `name` are FileSource's. `ahead`: memory of the host that a ReadAhead may have filled with this file
/// before; a result on the host is in that memory.
struct Load {
  Text path;
  std::string format, name;
  TensorRef result;
  uint32_t site = 0;
  std::optional<TensorRef> ahead{};
};

/// Begins to read a file into memory of the host, unless `wanted` is false, and goes on at once. What becomes of it
/// shows when a Load takes the memory over; until then, or until EndReadAhead, no other step touches that.
struct ReadAhead {
  TensorRef wanted;
  Text path;
  std::string format, name;
  TensorRef result;
};

/// Nothing is read into the memory any more when this is done.
struct EndReadAhead {
  TensorRef ahead;
};

/// Unless `wanted` is false, begins to read rows of the table (along its first dim) from the file that it is mapped
/// from, and goes on at once: `count` of them from the row that `rows` numbers, or without `count` each that it numbers
/// (i64). Changes no value; numbers that name no row are passed over.
struct BringIn {
  TensorRef wanted, table, rows;
  uint64_t count = 0;
};

/// Rows of the table (along its first dim) by their numbers (i64, negative ones from the end), wherever the table is.
/// `site`: of an index out of range; `file`: of a file that cannot be read any more.
struct ReadRows {
  TensorRef table, rows, result;
  uint32_t site = 0, file = 0;
};

struct Save {
  Text path;
  std::string format;
  std::vector<TensorRef> tensors;
  std::vector<std::string> names;  ///< one a tensor, or none
  uint32_t site = 0;
};

/// Sets the state of the generator of random numbers; without `draws` none were made.
struct Seed {
  TensorRef seed;
  std::optional<TensorRef> draws;
};

/// Gives the state as two u64; `counts`: and counts a draw.
struct RngNext {
  TensorRef seed, draw;
  bool counts = true;
};

/// The time in seconds, as f64.
struct Time {
  TensorRef result;
};

/// Runs the body again and again and keeps how long a run takes.
struct Bench {
  std::string name;
  Block body;
};

struct Step {
  std::variant<Launch, Transfer, Copy, For, While, If, Print, Assert, Trap, Load, ReadAhead, EndReadAhead, BringIn,
               ReadRows, Save, Seed, RngNext, Time, Bench>
      what;
};

/// Calls of a function for each kind: std::visit(Overloaded{...}, step.what).
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

}  // namespace tenc::abi
