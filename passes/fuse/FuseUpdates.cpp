// Parts of a tensor that are read behind an update of it, since they were simplified there (`y[1]`, where `y` is a part
// of the old value), are read before it. So that value is not wanted any more when the update runs, and need not be
// kept.
#include <unordered_map>

#include "passes/fuse/FuseInternal.h"

namespace tenc::passes::fusion {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool isLittlePart(const Value& part, const Value& whole) { return part.type.bytes() <= whole.type.bytes() / 4; }

void readPartsFirst(ir::Region& region) {
  std::unordered_map<const Value*, Op*> updated;  // the first update of each
  for (auto next = region.ops.begin(); next != region.ops.end();) {
    Op& op = **next++;
    if (op.kind == OpKind::Slice) {
      const auto update = updated.find(op.operand(0));
      if (update != updated.end() && isLittlePart(*op.result(), *op.operand(0))) op.moveBefore(update->second);
    } else if (op.kind == OpKind::UpdateSlice || roleOf(op) == Role::Update) {
      updated.emplace(op.operand(0), &op);
    }
  }
}

}  // namespace tenc::passes::fusion
