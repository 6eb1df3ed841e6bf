// Rows of keys that are split at pivots before they are sorted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/library/Library.h"
#include "runtime/library/VectorSort.h"

namespace {

using namespace tenc::rt::library;

constexpr size_t kMany = (size_t{1} << 22) + 12345;  // more than one piece, and no whole number of vectors

uint64_t draw(uint64_t& state) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return state ^ state >> 29;
}

template <class Key>
Key keyOf(uint64_t bits) {
  return static_cast<Key>(bits);
}
template <>
KeyPlace keyOf(uint64_t bits) {
  return {bits * 31, bits};
}

template <class Key>
bool isSame(const Key& a, const Key& b) {
  return !(a < b) && !(b < a);
}

template <class Key>
void checkSorted(std::vector<Key> keys) {
  std::vector<Key> expected = keys;
  std::sort(expected.begin(), expected.end());
  sortKeys(keys.data(), keys.size());
  EXPECT_TRUE(std::equal(keys.begin(), keys.end(), expected.begin(), isSame<Key>));
}

/// Keys of so many values; 0: any. One value, few of them and those at both ends are what pivots fail to split.
template <class Key>
void checkValues(uint64_t values) {
  uint64_t state = values;
  std::vector<Key> keys(kMany);
  for (Key& key : keys) key = keyOf<Key>(values == 0 ? draw(state) : ~uint64_t{0} - (draw(state) >> 33) % values);
  checkSorted(keys);
}

TEST(SortKeys, OfOneValueOfFewAndOfMany) {
  for (const uint64_t values : {0, 1, 2, 5}) {
    SCOPED_TRACE(values);
    checkValues<uint32_t>(values);
    checkValues<uint64_t>(values);
    checkValues<KeyPlace>(values);
  }
}

TEST(SortKeys, ThatAreInOrder) {
  std::vector<uint64_t> up(kMany), down(kMany);
  for (size_t i = 0; i < kMany; ++i) up[i] = down[kMany - 1 - i] = i / 3;
  checkSorted(up);
  checkSorted(down);
}

TEST(SortKeys, IsLeftByAnInterrupt) {
  struct Row {
    std::vector<uint32_t> keys = std::vector<uint32_t>(kMany);
    bool finished = false;
  } row;
  const auto sort = [](void* context) {
    auto& r = *static_cast<Row*>(context);
    sortKeys(r.keys.data(), r.keys.size());
    r.finished = true;
  };
  uint32_t fault = tenc::abi::kInterruptFault;
  EXPECT_FALSE(untilInterrupted(&fault, sort, &row));
  EXPECT_FALSE(row.finished);
  fault = 0;
  EXPECT_TRUE(untilInterrupted(&fault, sort, &row));
  EXPECT_TRUE(row.finished);
}

}  // namespace
