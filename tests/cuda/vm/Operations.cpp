#include "tests/cuda/vm/Operations.h"

namespace tenc::ptx {

const Operations& Operations::all() {
  static const Operations table = [] {
    Operations t;
    addIntegers(t);
    addLogic(t);
    addFloats(t);
    addHalves(t);
    addComparisons(t);
    addConversions(t);
    return t;
  }();
  return table;
}

const Operation* Operations::find(const std::string& key) const {
  auto at = table_.find(key);
  return at == table_.end() ? nullptr : &at->second;
}

}  // namespace tenc::ptx
