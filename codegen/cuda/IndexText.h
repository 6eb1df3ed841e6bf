// Expressions of indices, without the steps that change nothing: + 0, * 1, * 0, / 1, % 1.
#pragma once
#include <initializer_list>
#include <string>

#include "codegen/cuda/CudaText.h"

namespace tenc::codegen::cuda {

/// Terms may be sums, factors and dividends are products.
inline std::string sumOf(std::initializer_list<std::string> terms) {
  std::string sum;
  for (const std::string& t : terms)
    if (t != "0" && !t.empty()) sum += (sum.empty() ? "" : " + ") + t;
  return sum.empty() ? "0" : sum;
}
inline std::string times(const std::string& x, int64_t n) {
  if (n == 0 || x == "0") return "0";
  return n == 1 ? x : x + " * " + decimal(n);
}
inline std::string over(const std::string& x, int64_t n) { return n == 1 ? x : x + " / " + decimal(n); }
inline std::string rest(const std::string& x, int64_t n) { return n == 1 ? "0" : x + " % " + decimal(n); }

}  // namespace tenc::codegen::cuda
