// Types of the tensor IR: dtype, static shape, placement.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenc::ir {

/// The 13 dtypes of TL, in promotion-table order.
enum class DType : uint8_t { F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool };
inline constexpr int kDTypeCount = 13;

std::string_view name(DType t);  ///< "f32"
std::optional<DType> dtypeNamed(std::string_view s);
int byteSize(DType t);  ///< bool is 1 byte, 0 or 1
inline bool isFloat(DType t) { return t <= DType::F64; }
inline bool isSigned(DType t) { return t >= DType::I8 && t <= DType::I64; }
inline bool isUnsigned(DType t) { return t >= DType::U8 && t <= DType::U64; }
inline bool isInt(DType t) { return isSigned(t) || isUnsigned(t); }

inline constexpr size_t kMaxRank = 16;
using Dims = std::vector<int64_t>;

/// Number of elements; nullopt when it does not fit in 2^62 or a dim is negative. 1 for rank 0.
std::optional<int64_t> elementCount(std::span<const int64_t> dims);

/// Where a tensor lives: a device *name* as written ("cpu", "cuda:0", "gpu"), never what the name turns out to be.
/// The empty name is a free value (literal, compile-time value, host scalar), or not placed yet.
struct Placement {
  std::string device;
  bool isFree() const { return device.empty(); }
  bool operator==(const Placement&) const = default;
};

struct Type {
  DType dtype = DType::F32;
  Dims shape;
  Placement place;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t size() const { return *elementCount(shape); }
  int64_t bytes() const { return size() * byteSize(dtype); }
  /// Same dtype and shape, whatever the placement.
  bool sameTensor(const Type& o) const { return dtype == o.dtype && shape == o.shape; }
  bool operator==(const Type&) const = default;
};

/// "f32[64, 784]", "f32[64, 784] @gpu", "f32" for rank 0.
std::string toString(const Type& t);
std::string toString(std::span<const int64_t> dims);  ///< "[64, 784]"

}  // namespace tenc::ir
