// Long rows, which all threads sort together: the same as a stable sort gives, for every number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/library/Library.h"

namespace {

namespace abi = tenc::abi;
using namespace tenc::rt::library;

constexpr int64_t kRows = 2, kLength = (int64_t{1} << 17) + 4321;

uint64_t draw(uint64_t& state) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return state ^ state >> 29;
}

abi::TensorRef tensor(uint8_t dtype, std::vector<int64_t> shape) {
  abi::TensorRef t;
  t.dtype = dtype;
  t.shape = std::move(shape);
  return t;
}

/// Runs all phases, the items of each from the last to the first.
void run(const Call& call, std::vector<void*> buffers, int64_t threads) {
  ASSERT_EQ(problemOf(call), "");
  const Routine& routine = *find(call.routine);
  const Plan plan = routine.plan(call);
  std::vector<uint64_t> scratch(plan.scratchBytes / 8 + 8), shared(plan.sharedBytes / 8 + 8, ~uint64_t{0});
  for (size_t p = 0; p < plan.phases.size(); ++p)
    for (int64_t i = plan.phases[p].items - 1; i >= 0; --i)
      EXPECT_EQ(routine.run(call, buffers.data(), {static_cast<int64_t>(p), i, threads, scratch.data(), shared.data()}),
                Failure::None);
}

template <class T>
bool isBefore(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return descending ? !std::isnan(b) : !std::isnan(a);
  }
  return descending ? a > b : a < b;
}

template <class T>
std::vector<int64_t> stableOrder(const T* row, bool descending) {
  std::vector<int64_t> order(kLength);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return isBefore(row[a], row[b], descending) && !isBefore(row[b], row[a], descending);
  });
  return order;
}

template <class T>
void check(uint8_t dtype, const std::vector<T>& x) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int64_t kBest = 100;
  for (const bool descending : {false, true}) {
    std::vector<int64_t> expected;
    for (int64_t r = 0; r < kRows; ++r)
      for (const int64_t place : stableOrder(x.data() + r * kLength, descending)) expected.push_back(place);
    for (const int64_t threads : {1, 2}) {
      SCOPED_TRACE(threads);
      std::vector<T> sorted(x.size()), best(kRows * kBest);
      std::vector<int64_t> places(x.size()), bestPlaces(kRows * kBest);
      void* const in = const_cast<T*>(x.data());
      const abi::TensorRef rows = tensor(dtype, {kRows, kLength}), indices = tensor(abi::dtype::I64, rows.shape);
      run({"sort", {rows}, {rows}, {{"descending", descending}}}, {in, sorted.data()}, threads);
      run({"argsort", {rows}, {indices}, {{"descending", descending}}}, {in, places.data()}, threads);
      run({"topk",
           {rows},
           {tensor(dtype, {kRows, kBest}), tensor(abi::dtype::I64, {kRows, kBest})},
           {{"k", kBest}, {"largest", descending}}},
          {in, best.data(), bestPlaces.data()}, threads);
      EXPECT_EQ(places, expected);
      for (int64_t i = 0; i < kRows * kLength; ++i) {
        const T from = x[static_cast<size_t>(i / kLength * kLength + expected[static_cast<size_t>(i)])];
        ASSERT_EQ(std::bit_cast<Bits>(sorted[static_cast<size_t>(i)]), std::bit_cast<Bits>(from)) << i;
      }
      for (int64_t i = 0; i < kRows * kBest; ++i)
        ASSERT_EQ(bestPlaces[static_cast<size_t>(i)], expected[static_cast<size_t>(i / kBest * kLength + i % kBest)]);
    }
  }
}

template <class T>
void checkFloats(uint8_t dtype) {
  uint64_t state = 1;
  std::vector<T> x(kRows * kLength);
  for (T& v : x) {
    const uint64_t bits = draw(state) >> 11;
    const T any = static_cast<T>(static_cast<int64_t>(bits) - (int64_t{1} << 52));
    const T odd[] = {T{0},
                     -T{0},
                     std::numeric_limits<T>::quiet_NaN(),
                     -std::numeric_limits<T>::quiet_NaN(),
                     std::numeric_limits<T>::infinity(),
                     T{7}};
    v = bits % 3 == 0 ? odd[bits / 3 % 6] : any;
  }
  check(dtype, x);
}

TEST(LongRows, OfFloatsWithZerosAndNaNs) {
  checkFloats<float>(abi::dtype::F32);
  checkFloats<double>(abi::dtype::F64);
}

TEST(LongRows, OfIntegersOfOneValueOfFewAndOfMany) {
  for (const uint64_t values : {1, 3, 0}) {
    uint64_t state = values;
    std::vector<int64_t> x(kRows * kLength);
    for (int64_t& v : x) v = static_cast<int64_t>(values == 0 ? draw(state) : draw(state) % values);
    check(abi::dtype::I64, x);
  }
}

TEST(LongRows, OfIntegersThatDifferInTheirLastBitsButForTwo) {
  uint64_t state = 5;
  std::vector<int64_t> x(kRows * kLength);
  for (int64_t& v : x) v = static_cast<int64_t>(draw(state) % 50000);
  x[77] = std::numeric_limits<int64_t>::min();
  x.back() = std::numeric_limits<int64_t>::max();
  check(abi::dtype::I64, x);
}

}  // namespace
