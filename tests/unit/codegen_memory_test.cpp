// Planned memory: what is alive at one time never overlaps, and freed memory is used again.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "codegen/PlanMemory.h"

namespace tenc::codegen {
namespace {

TEST(PlanMemory, NothingAliveTogetherOverlaps) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<MemoryItem> items;
    for (int i = 0; i < 200; ++i) {
      int64_t start = static_cast<int64_t>(random() % 300);
      items.push_back({random() % 5000, start, start + 1 + static_cast<int64_t>(random() % 40), 0});
    }
    MemoryLayout layout = planMemory(items);
    for (size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(items[a].offset % 64, 0u);
      EXPECT_LE(items[a].offset + items[a].bytes, layout.peak);
      for (size_t b = 0; b < a; ++b) {
        bool together = items[a].start < items[b].end && items[b].start < items[a].end;
        bool apart =
            items[a].offset + items[a].bytes <= items[b].offset || items[b].offset + items[b].bytes <= items[a].offset;
        EXPECT_TRUE(!together || apart);
      }
    }
  }
}

TEST(PlanMemory, AChainNeedsTwoBuffers) {
  std::vector<MemoryItem> items;
  for (int64_t i = 0; i < 1000; ++i) items.push_back({4096, 2 * i, 2 * i + 3, 0});
  EXPECT_EQ(planMemory(items).peak, 2u * 4096);
}

TEST(PlanMemory, TheLargestGoesBelowWhatStartsBefore) {
  std::vector<MemoryItem> items = {{64, 0, 2, 0}, {64, 1, 10, 0}, {128, 3, 10, 0}};
  EXPECT_EQ(planMemory(items).peak, 192u);
}

TEST(PlanMemory, ThePeakIsWhereTheMostIsAlive) {
  std::vector<MemoryItem> items = {{64, 0, 100, 0}, {6400, 10, 20, 0}, {640, 40, 60, 0}};
  MemoryLayout layout = planMemory(items);
  EXPECT_EQ(layout.peakTime, 10);
  EXPECT_EQ(layout.peak, 6464u);
}

TEST(PlanMemory, GapsAreLeftBehindWhatAsksForThem) {
  std::vector<MemoryItem> items;
  for (int64_t i = 0; i < 8; ++i) items.push_back({32768, 0, 10, 0, kPlannedAlignment, 5 * kPlannedAlignment});
  planMemory(items);
  std::set<uint64_t> places;
  for (const MemoryItem& item : items) places.insert(item.offset % 4096);
  EXPECT_EQ(places.size(), items.size());
}

}  // namespace
}  // namespace tenc::codegen
