// Literals and arrays made into tensors, once a dtype is known.
#include "frontend/values/Literals.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace tenc::frontend {

namespace {
using ir::DType;
}  // namespace

bool fits(Int v, DType t) {
  if (!ir::isInt(t)) return true;
  const int bits = 8 * ir::byteSize(t);
  const Int one = 1;
  return ir::isSigned(t) ? v >= -(one << (bits - 1)) && v < (one << (bits - 1)) : v >= 0 && v < (one << bits);
}

Int saturated(double v, ir::DType to) {
  const int width = 8 * ir::byteSize(to);
  const Int most = (Int{1} << (ir::isSigned(to) ? width - 1 : width)) - 1;
  const Int least = ir::isSigned(to) ? -most - 1 : Int{0};
  if (std::isnan(v)) return 0;
  if (v >= static_cast<double>(most)) return most;
  if (v <= static_cast<double>(least)) return least;
  return static_cast<Int>(std::trunc(v));
}

bool adoptsWholly(const Val& v) {
  if (v.is(Val::Kind::Array)) return std::all_of(v.elems.begin(), v.elems.end(), adoptsWholly);
  return v.isNumber() && v.adopts;
}

bool hasFloat(const Val& v) {
  if (v.is(Val::Kind::Array)) return std::any_of(v.elems.begin(), v.elems.end(), hasFloat);
  return v.is(Val::Kind::Float);
}

namespace {
/// The dtypes of the numbers, each once, but for those that literals have.
void collectWritten(const Val& v, bool floats, std::vector<DType>& written) {
  for (const Val& e : v.elems) collectWritten(e, floats, written);
  if (!v.isNumber() || v.is(Val::Kind::Float) != floats || v.dtype == (floats ? DType::F32 : DType::I64)) return;
  if (std::find(written.begin(), written.end(), v.dtype) == written.end()) written.push_back(v.dtype);
}
}  // namespace

DType dtypeAlone(const std::vector<Val>& literals) {
  const bool floats = std::any_of(literals.begin(), literals.end(), hasFloat);
  std::vector<DType> written;
  for (const Val& v : literals) collectWritten(v, floats, written);
  if (written.size() == 1) return written[0];
  // Of several the one that holds the others.
  if (floats && std::find(written.begin(), written.end(), DType::F64) != written.end()) return DType::F64;
  return floats ? DType::F32 : DType::I64;
}

int64_t rankOf(const Val& v) {
  if (v.is(Val::Kind::Tensor)) return v.tensor->type.rank();
  return v.is(Val::Kind::Array) ? 1 + (v.elems.empty() ? 0 : rankOf(v.elems[0])) : 0;
}

std::optional<DType> ownDType(const Val& v) {
  switch (v.kind) {
    case Val::Kind::Tensor: return v.tensor->type.dtype;
    case Val::Kind::Int:
    case Val::Kind::Float: return v.dtype;
    case Val::Kind::Bool: return DType::Bool;
    case Val::Kind::Array: {
      std::optional<DType> t;
      for (const Val& e : v.elems) {
        auto own = ownDType(e);
        if (!own) return std::nullopt;
        if (!t || (adoptsWholly(e) ? (*own == DType::F32 && !ir::isFloat(*t)) : true)) t = own;
      }
      return t ? t : DType::F32;
    }
    default: return std::nullopt;
  }
}

}  // namespace tenc::frontend
