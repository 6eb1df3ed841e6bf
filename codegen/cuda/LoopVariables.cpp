#include "codegen/cuda/LoopVariables.h"

#include <algorithm>

#include "codegen/cuda/Schedule.h"

namespace tenc::codegen::cuda {
namespace {

/// Of a number: by a literal, without the sign, whose division takes longer.
std::string divided(const std::string& number, bool isNarrow, std::string_view symbol, int64_t by) {
  return isNarrow ? "(unsigned)" + number + " " + std::string(symbol) + " " + decimal(by) + "u"
                  : "(unsigned long long)" + number + " " + std::string(symbol) + " " + decimal(by) + "ull";
}

}  // namespace

std::vector<std::string> decodePoint(CudaText& out, const std::string& number, const std::string& type,
                                     const std::vector<int64_t>& extents, const std::vector<int64_t>& from,
                                     int vector) {
  std::string rest = number;
  bool isNarrow = type == "int";
  int64_t left = 1;
  for (int64_t n : extents) left *= n;
  std::vector<std::string> names(extents.size());
  for (size_t v = extents.size(); v-- > 0;) {
    names[v] = out.fresh("i");
    const bool isVector = v + 1 == extents.size() && vector > 1;
    const int64_t start = from.empty() ? 0 : from[v];
    const std::string_view own =
        isNarrow || start + extents[v] * (isVector ? vector : 1) < kNarrowRow ? "int" : "long long";
    std::string value = extents[v] == 1 ? "0" : v == 0 ? rest : divided(rest, isNarrow, "%", extents[v]);
    if (isVector) value = "(" + std::string(own) + ")(" + value + ") * " + decimal(vector);
    if (start != 0) value += " + " + decimal(start);
    out.line(declared(own, names[v]) + value + ";");
    if (v == 0 || extents[v] == 1) continue;
    const std::string quotient = out.fresh("q");
    left /= std::max<int64_t>(1, extents[v]);  // of no points the code is never run
    const std::string over = divided(rest, isNarrow, "/", extents[v]);
    isNarrow = isNarrow || left < kNarrowRow;
    out.line(declared(isNarrow ? "int" : "long long", quotient) + over + ";");
    rest = quotient;
  }
  return names;
}

}  // namespace tenc::codegen::cuda
