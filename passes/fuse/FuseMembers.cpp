// How an op lies in the iteration domain of a group.
#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;

DimMap identity(size_t rank) {
  std::vector<int> m(rank);
  for (size_t d = 0; d < rank; ++d) m[d] = static_cast<int>(d);
  return m;
}

DimMap aroundUnrolled(const Op& op) {
  std::vector<int> m(op.operand(0)->type.shape.size(), -2);
  for (int64_t a : op.intsAttr("axes")) m[static_cast<size_t>(a)] = -1;
  int next = 0;
  for (int& d : m) {
    if (d == -2) {
      d = next++;
    } else if (op.boolAttr("keep")) {
      ++next;
    }
  }
  return m;
}

ir::Dims domainOf(const Op& op, const Node& n) {
  if (op.kind == OpKind::Matmul && n.role == Role::Reduction) {
    ir::Dims d = op.result()->type.shape;
    d.push_back(op.operand(0)->type.shape.back());
    return d;
  }
  return n.role == Role::Reduction || n.role == Role::Scan ? op.operand(0)->type.shape : op.result()->type.shape;
}

std::vector<bool> reducedAxes(const Op& op, size_t rank) {
  std::vector<bool> r(rank, false);
  if (op.kind == OpKind::Matmul) {
    r.back() = true;
  } else {
    for (int64_t a : op.intsAttr("axes")) r[static_cast<size_t>(a)] = true;
  }
  return r;
}

Member memberOf(const Op& op, const Node& n, const ir::Dims& domain) {
  Member m;
  size_t rank = op.result()->type.shape.size();
  if (n.role != Role::Reduction) {
    m.axes = *identity(rank);
    return m;
  }
  m.row = true;
  auto reduced = reducedAxes(op, domain.size());
  bool keep = op.boolAttr("keep");
  for (size_t a = 0; a < domain.size(); ++a) {
    if (!reduced[a]) {
      m.axes.push_back(static_cast<int>(a));
    } else if (keep) {
      m.axes.push_back(-1);
    }
  }
  return m;
}

}  // namespace tenc::passes::fusion
