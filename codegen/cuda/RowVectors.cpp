#include "codegen/cuda/RowVectors.h"

#include <algorithm>

#include "codegen/KernelShape.h"
#include "codegen/cuda/LoopVariables.h"

namespace tenc::codegen::cuda {

RowVectors::RowVectors(CudaText& out, const Kernel& kernel, const Schedule& schedule)
    : out_(out),
      kernel_(kernel),
      schedule_(schedule),
      shift_(schedule.shifted ? rowShift(kernel, schedule.vector) : std::nullopt) {}

int RowVectors::width(bool loops) const { return !isRows() || loops ? schedule_.vector : 1; }

std::vector<int64_t> RowVectors::extents(const Stage& s, int vector) {
  std::vector<int64_t> extents;
  for (size_t i = 0; i < s.innerLo.size(); ++i) extents.push_back(std::max<int64_t>(0, s.innerHi[i] - s.innerLo[i]));
  if (vector > 1) extents.back() /= vector;
  return extents;
}

int64_t RowVectors::groups(const Stage& s) const {
  return shift_ ? shift_->groups() : trips(s.innerLo, s.innerHi) / schedule_.vector;
}

std::string_view RowVectors::type(const Stage& s) const {
  return trips(s.innerLo, s.innerHi) < kNarrowRow ? "int" : "long long";
}

bool RowVectors::has(const Stage& s, const Access& a) const {
  if (shift_) return shift_->suits(kernel_, a);
  if (schedule_.vector > 1) return isVector(kernel_, s, a, vectorVariable(kernel_, schedule_, s), schedule_.vector);
  return a.terms.empty() && strideOf(a, kernel_.outer.size() + s.innerLo.size() - 1) != 0;
}

std::vector<std::string> RowVectors::point(const Stage& s, const std::string& number, bool loops) {
  const int vector = isRows() ? width(loops) : 1;
  if (!shift_ || !loops) return decodePoint(out_, number, std::string(type(s)), extents(s, vector), s.innerLo, vector);
  const std::string i = out_.fresh("i");
  out_.line("const int " + i + " = " + number + " * " + decimal(vector) + " - shift;");
  return {i};
}

void RowVectors::edges(const std::string& mayStart, const std::string& mayEnd, const std::vector<std::string>& point) {
  out_.line("const bool atStart = " + mayStart + ", atEnd = " + mayEnd + ";");
  out_.line("const bool early = atStart && " + point[0] + " < 0, late = atEnd && " + point[0] + " > " +
            decimal(shift_->extent - shift_->width) + ";");
}

std::string RowVectors::outside(const std::string& i) const {
  const int64_t least = std::max<int64_t>(0, shift_->extent - (shift_->groups() - 1) * shift_->width);
  return "(v < " + decimal(shift_->width - 1) + " && early && " + i + " < 0) || (" +
         (least > 0 ? "v >= " + decimal(least) + " && " : "") + "late && " + i + " >= " + decimal(shift_->extent) + ")";
}

StageVectors RowVectors::vectors(const Stage& s, bool loops, const std::vector<std::string>& point) const {
  if (width(loops) == 1) return {};
  StageVectors vectors(kernel_, s, vectorVariable(kernel_, schedule_, s), schedule_.vector);
  if (shift_ && loops) shift(vectors, point);
  return vectors;
}

void RowVectors::shift(StageVectors& vectors, const std::vector<std::string>& point) const {
  vectors.shift(*shift_, point[0], schedule_.unrolled);
}

}  // namespace tenc::codegen::cuda
