// The heap of the command: blocks do not overlap, are aligned, and may be freed by other threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

struct Block {
  unsigned char* at;
  size_t bytes;
  unsigned char mark;
};

std::vector<Block> fill(unsigned seed) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < 4000; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const size_t bytes = seed % 16 == 0 ? seed % 5000 : (seed >> 8) % 600;
    auto* at = static_cast<unsigned char*>(::operator new(bytes));
    blocks.push_back({at, bytes, static_cast<unsigned char>(seed >> 24)});
    std::memset(at, blocks.back().mark, bytes);
  }
  return blocks;
}

bool intact(const Block& b) {
  for (size_t i = 0; i < b.bytes; ++i)
    if (b.at[i] != b.mark) return false;
  return reinterpret_cast<uintptr_t>(b.at) % 16 == 0;
}

void release(const std::vector<Block>& blocks) {
  for (const Block& b : blocks) {
    EXPECT_TRUE(intact(b)) << b.bytes;
    ::operator delete(b.at);
  }
}

TEST(Heap, BlocksOfManyThreadsStayApart) {
  for (unsigned round = 0; round < 5; ++round) {
    std::vector<std::vector<Block>> made(4);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) threads.emplace_back([&, t] { made[t] = fill(round * 7 + t); });
    for (std::thread& t : threads) t.join();
    threads.clear();
    release(made[0]);  // in the thread that stays
    for (unsigned t = 1; t < 4; ++t) threads.emplace_back([&, t] { release(made[t]); });
    for (std::thread& t : threads) t.join();
  }
}

}  // namespace
