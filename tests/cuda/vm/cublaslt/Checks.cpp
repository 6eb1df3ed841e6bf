// What the library refuses.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/cuda/vm/cublaslt/Objects.h"

namespace tenc::ptx::cublaslt {
namespace {

constexpr uint64_t kWorkspaceAlignment = 256, kWorkspace = 1024, kMostAlignment = 16;

struct Types {
  int compute, scale, factors, result;
};
constexpr Types kTypes[] = {{kCompute32, kF32, kF32, kF32},   {kComputeTf32, kF32, kF32, kF32},
                            {kCompute32, kF32, kF16, kF16},   {kCompute32, kF32, kF16, kF32},
                            {kCompute32, kF32, kBf16, kBf16}, {kCompute32, kF32, kBf16, kF32},
                            {kCompute64, kF64, kF64, kF64}};

bool isWellFormed(const Layout& l) {
  return bytesOf(l.type) != 0 && l.rows > 0 && l.columns > 0 && l.leading > 0 &&
         static_cast<uint64_t>(l.leading) >= l.rows && l.count > 0;
}
bool isPower(uint64_t n) { return std::has_single_bit(n); }

}  // namespace

uint64_t bytesOf(int type) { return type == kF64 ? 8 : type == kF32 ? 4 : type == kF16 || type == kBf16 ? 2 : 0; }

Status check(const Product& p, const Matrices& m) {
  for (const Layout* l : {&m.a, &m.b, &m.c, &m.d}) {
    if (l->order != 0) return Status::NotSupported;
    if (!isWellFormed(*l) || l->count != m.d.count) return Status::InvalidValue;
  }
  const uint64_t depth = p.transA ? m.a.rows : m.a.columns;
  if ((p.transA ? m.a.columns : m.a.rows) != m.d.rows || (p.transB ? m.b.rows : m.b.columns) != m.d.columns ||
      (p.transB ? m.b.columns : m.b.rows) != depth || m.c.rows != m.d.rows || m.c.columns != m.d.columns)
    return Status::InvalidValue;
  // Results that overlap are those of nobody.
  const auto stride = static_cast<uint64_t>(m.d.stride);
  if (m.d.count > 1 && stride < static_cast<uint64_t>(m.d.leading) * (m.d.columns - 1) + m.d.rows)
    return Status::InvalidValue;
  const bool known = std::any_of(std::begin(kTypes), std::end(kTypes), [&](const Types& t) {
    return t.compute == p.compute && t.scale == p.scale && t.factors == m.a.type && t.factors == m.b.type &&
           t.result == m.c.type && t.result == m.d.type;
  });
  if (!known || p.pointerMode != 0) return Status::NotSupported;
  if (p.epilogue == kPlainEpilogue) return Status::Success;
  if ((p.epilogue & ~(kRelu | kBias)) != 0 || p.epilogue == 0 || p.compute == kCompute64) return Status::NotSupported;
  if ((p.epilogue & kBias) && (p.bias == 0 || p.bias % bytesOf(m.d.type) != 0)) return Status::InvalidValue;
  return Status::Success;
}

bool canAlign(const Matrices& m, const Preference& preference) {
  const int types[] = {m.a.type, m.b.type, m.c.type, m.d.type};
  for (size_t i = 0; i < std::size(types); ++i)
    if (preference.alignment[i] < bytesOf(types[i])) return false;
  return true;
}

uint64_t digest(const Product& p, const Matrices& m) {
  uint64_t all = 1469598103934665603u;
  const auto add = [&](auto... values) { ((all = (all ^ static_cast<uint64_t>(values)) * 1099511628211u), ...); };
  add(p.compute, p.scale, p.transA, p.transB, p.epilogue);
  for (const Layout* l : {&m.a, &m.b, &m.c, &m.d}) add(l->type, l->rows, l->columns, l->leading, l->count, l->stride);
  return all;
}

Algorithm choose(const Product& p, const Matrices& m, const Preference& preference) {
  Algorithm a{};
  a.problem = digest(p, m);
  std::copy(std::begin(preference.alignment), std::end(preference.alignment), a.alignment);
  a.biasAlignment = p.epilogue & kBias ? std::min(p.bias & (~p.bias + 1), kMostAlignment) : 1;
  a.workspace = preference.workspace >= kWorkspace ? kWorkspace : 0;
  // Who allows it gets a sum whose order is not known.
  a.splits = preference.reductionSchemes != 0 ? 4 : 1;
  return a;
}

Status check(const Call& call, const Algorithm& algorithm) {
  const Matrices& m = call.matrices;
  if (algorithm.problem != digest(call.product, m)) return Status::InvalidValue;
  const uint64_t addresses[] = {call.a, call.b, call.c, call.d};
  const int types[] = {m.a.type, m.b.type, m.c.type, m.d.type};
  for (size_t i = 0; i < std::size(addresses); ++i) {
    if (!isPower(algorithm.alignment[i]) || addresses[i] == 0 || addresses[i] % bytesOf(types[i]) != 0 ||
        addresses[i] % algorithm.alignment[i] != 0)
      return Status::InvalidValue;
  }
  if ((call.product.epilogue & kBias) && call.product.bias % algorithm.biasAlignment != 0) return Status::InvalidValue;
  if (call.workspaceBytes < algorithm.workspace || (algorithm.workspace > 0 && call.workspace == 0) ||
      call.workspace % kWorkspaceAlignment != 0)
    return Status::InvalidValue;
  return Status::Success;
}

}  // namespace tenc::ptx::cublaslt
