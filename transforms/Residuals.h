// What reverse mode keeps of a region: the values that its second half reads, or others that these can be computed from
// again. The choice is a minimum cut between what there is and what is read, where keeping a value costs its bytes and
// computing it again its time, in bytes that could be moved meanwhile.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "ir/Ir.h"

namespace tenc::transforms {

struct ResidualChoice {
  std::vector<ir::Value*> kept;         ///< also those from outside the region that what is computed again reads
  std::vector<const ir::Op*> repeated;  ///< ops of the region to compute again, in its order
};

/// What it costs to keep a value of a region, or one from outside that an op in it reads.
using KeepingCost = std::function<int64_t(const ir::Value& v)>;

/// `read`: values of the region. `times`: how often its ops run.
ResidualChoice chooseResiduals(const ir::Region& region, const std::vector<ir::Value*>& read, int64_t times,
                               const KeepingCost& keeping);

/// A rank-0 literal: it has no place, and is made where it is read. Constants of more elements live where they are
/// made.
bool isNumber(const ir::Value& v);
/// The unit of costs is a sixteenth of this.
int64_t costOfBytes(const ir::Type& t);

}  // namespace tenc::transforms
