#include "ir/Type.h"

#include <array>

namespace tenc::ir {
namespace {

struct DTypeInfo {
  std::string_view name;
  int bytes;
};
constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{{{"f16", 2},
                                                      {"bf16", 2},
                                                      {"f32", 4},
                                                      {"f64", 8},
                                                      {"i8", 1},
                                                      {"i16", 2},
                                                      {"i32", 4},
                                                      {"i64", 8},
                                                      {"u8", 1},
                                                      {"u16", 2},
                                                      {"u32", 4},
                                                      {"u64", 8},
                                                      {"bool", 1}}};

constexpr int64_t kMostElements = int64_t{1} << 62;

}  // namespace

std::string_view name(DType t) { return kDTypes[static_cast<size_t>(t)].name; }

std::optional<DType> dtypeNamed(std::string_view s) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == s) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int byteSize(DType t) { return kDTypes[static_cast<size_t>(t)].bytes; }

std::optional<int64_t> elementCount(std::span<const int64_t> dims) {
  // The product of the dims that are not 0 must fit too: strides are made of them.
  int64_t product = 1;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) return std::nullopt;
    if (d == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, d, &product) || product > kMostElements) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

std::string toString(std::span<const int64_t> dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) s += ", ";
    s += std::to_string(dims[i]);
  }
  return s + "]";
}

std::string toString(const Type& t) {
  std::string s(name(t.dtype));
  if (!t.shape.empty()) s += toString(t.shape);
  if (!t.place.isFree()) s += " @" + t.place.device;
  return s;
}

}  // namespace tenc::ir
