// The products themselves: plain loops over what the machine's memory holds.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "tests/cuda/vm/Operations.h"
#include "tests/cuda/vm/cublaslt/Objects.h"
#include "tests/cuda/vm/driver/LibraryMemory.h"

namespace tenc::ptx::cublaslt {
namespace {

/// Rounded to 10 bits behind the point.
float toTf32(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  if (!std::isfinite(f)) return f;
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1FFFu);
}

double load(const uint8_t* at, int type) {
  const auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case kF64: return as(double{});
    case kF32: return static_cast<double>(as(float{}));
    case kF16: return static_cast<double>(toFloat(as(Half{})));
    default: return static_cast<double>(toFloat(as(Bfloat{})));
  }
}
void store(uint8_t* at, int type, double v) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  switch (type) {
    case kF64: put(v); break;
    case kF32: put(static_cast<float>(v)); break;
    case kF16: put(fromDouble<Half>(v)); break;
    default: put(fromDouble<Bfloat>(v));
  }
}

using Memory = driver::LibraryMemory;

/// Each column of each matrix; null where one is not to be had.
template <class F>
bool forColumns(Memory& memory, const Layout& l, uint64_t address, const char* name, F f) {
  const uint64_t size = bytesOf(l.type);
  for (int64_t b = 0; b < l.count; ++b) {
    for (uint64_t c = 0; c < l.columns; ++c) {
      const uint64_t at = address + static_cast<uint64_t>(b * l.stride + static_cast<int64_t>(c) * l.leading) * size;
      const std::string what = name + std::string(", column ") + std::to_string(c);
      uint8_t* host = memory.range(at, l.rows * size, what);
      if (host == nullptr) return false;
      f(static_cast<uint64_t>(b), c, at, host, what);
    }
  }
  return true;
}

/// All entries, matrix by matrix, along rows, or, transposed, along columns.
template <class T>
std::vector<T> gather(Memory& memory, const Layout& l, uint64_t address, bool transposed, const char* name) {
  std::vector<T> all(static_cast<uint64_t>(l.count) * l.rows * l.columns);
  forColumns(memory, l, address, name,
             [&](uint64_t b, uint64_t c, uint64_t at, const uint8_t* host, const std::string& what) {
               memory.read(at, l.rows * bytesOf(l.type), what);
               T* to = all.data() + b * l.rows * l.columns;
               for (uint64_t r = 0; r < l.rows; ++r)
                 to[transposed ? c * l.rows + r : r * l.columns + c] =
                     static_cast<T>(load(host + r * bytesOf(l.type), l.type));
             });
  return all;
}

template <class T>
driver::Status multiply(const Call& call, driver::Device& device) {
  const Product& p = call.product;
  const Matrices& m = call.matrices;
  Memory memory(device, "cublasLtMatmul");
  std::vector<T> a = gather<T>(memory, m.a, call.a, p.transA != 0, "A");
  std::vector<T> b = gather<T>(memory, m.b, call.b, p.transB != 0, "B");
  std::vector<T> c, bias;
  if (call.beta != 0) c = gather<T>(memory, m.c, call.c, false, "C");
  if (p.epilogue & kBias)
    bias = gather<T>(memory, Layout{m.d.type, m.d.rows, 1, static_cast<int64_t>(m.d.rows)}, p.bias, false, "the bias");
  memory.spoil(call.workspace, call.workspaceBytes, "the workspace");
  if (!memory.isWell()) return driver::Status::IllegalAddress;
  if (p.compute == kComputeTf32)
    for (std::vector<T>* all : {&a, &b})
      for (T& v : *all) v = static_cast<T>(toTf32(static_cast<float>(v)));

  const uint64_t rows = m.d.rows, columns = m.d.columns, depth = p.transA ? m.a.rows : m.a.columns;
  std::vector<T> sums(static_cast<uint64_t>(m.d.count) * rows * columns), part(columns);
  for (uint64_t n = 0; n < static_cast<uint64_t>(m.d.count); ++n) {
    for (uint64_t r = 0; r < rows; ++r) {
      T* const sum = sums.data() + (n * rows + r) * columns;
      for (uint64_t s = 0; s < call.splits; ++s) {
        const uint64_t which = (s + call.turn) % call.splits;
        part.assign(columns, 0);
        for (uint64_t k = depth * which / call.splits; k < depth * (which + 1) / call.splits; ++k) {
          const T factor = a[(n * rows + r) * depth + k];
          const T* const other = b.data() + (n * depth + k) * columns;
          for (uint64_t j = 0; j < columns; ++j) part[j] = std::fma(factor, other[j], part[j]);
        }
        for (uint64_t j = 0; j < columns; ++j) sum[j] = call.splits == 1 ? part[j] : sum[j] + part[j];
      }
    }
  }
  const bool all =
      forColumns(memory, m.d, call.d, "D", [&](uint64_t n, uint64_t j, uint64_t at, uint8_t* host, const std::string&) {
        for (uint64_t r = 0; r < rows; ++r) {
          const uint64_t e = (n * rows + r) * columns + j;
          T v = static_cast<T>(call.alpha) * sums[e];
          if (!c.empty()) v = std::fma(static_cast<T>(call.beta), c[e], v);
          if (!bias.empty()) v += bias[r];
          if (p.epilogue & kRelu) v = v > 0 ? v : 0;
          store(host + r * bytesOf(m.d.type), m.d.type, static_cast<double>(v));
        }
        memory.written(at, rows * bytesOf(m.d.type));
      });
  return all ? driver::Status::Success : driver::Status::IllegalAddress;
}

}  // namespace

driver::Status run(const Call& call, driver::Device& device) {
  ++device.launches;
  return call.product.compute == kCompute64 ? multiply<double>(call, device) : multiply<float>(call, device);
}

}  // namespace tenc::ptx::cublaslt
