#include "codegen/cuda/LoopVariables.h"

namespace tenc::codegen::cuda {

std::vector<std::string> decodePoint(CudaText& out, const std::string& number, const std::string& type,
                                     const std::vector<int64_t>& extents, const std::vector<int64_t>& from,
                                     int vector) {
  std::string rest = number;
  std::vector<std::string> names(extents.size());
  for (size_t v = extents.size(); v-- > 0;) {
    names[v] = out.fresh("i");
    std::string value = v == 0 ? rest : "(unsigned)" + rest + " % " + decimal(extents[v]) + "u";
    if (type != "int" && v > 0) value = rest + " % " + decimal(extents[v]);
    if (extents[v] == 1) value = "0";
    if (v + 1 == extents.size() && vector > 1) value = "(" + type + ")(" + value + ") * " + decimal(vector);
    if (!from.empty() && from[v] != 0) value += " + " + decimal(from[v]);
    out.line("const " + type + " " + names[v] + " = " + value + ";");
    if (v == 0 || extents[v] == 1) continue;
    const std::string quotient = out.fresh("q");
    out.line(
        "const " + type + " " + quotient + " = " +
        (type == "int" ? "(unsigned)" + rest + " / " + decimal(extents[v]) + "u" : rest + " / " + decimal(extents[v])) +
        ";");
    rest = quotient;
  }
  return names;
}

}  // namespace tenc::codegen::cuda
