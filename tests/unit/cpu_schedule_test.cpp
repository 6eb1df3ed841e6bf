// The form of a product, and its cut into tiles and tasks, which covers it exactly for every shape and register width.
#include <gtest/gtest.h>

#include "codegen/cpu/Schedule.h"
#include "ir/SmallProducts.h"

namespace tenc::codegen::cpu {
namespace {

TEST(Blocks, SizesDifferByOneAndCoverAll) {
  for (int64_t total = 1; total < 200; ++total) {
    for (int64_t most = 1; most < 40; ++most) {
      const Blocks b = Blocks::of(total, most);
      EXPECT_EQ(b.start(b.count), total);
      for (int64_t i = 0; i < b.count; ++i) {
        const int64_t size = b.start(i + 1) - b.start(i);
        EXPECT_GE(size, 1);
        EXPECT_LE(size, most);
        EXPECT_EQ(size, b.size + (i < b.larger ? 1 : 0));
      }
    }
  }
}

/// A matrix product [m, k] @ [k, n] with sums in f32, both dense.
Kernel productKernel(int64_t m, int64_t n, int64_t k, ir::DType operands = ir::DType::F32) {
  Kernel kernel;
  kernel.kind = Kernel::Kind::Product;
  Product& p = kernel.product;
  p.m = m, p.n = n, p.k = k;
  p.operands = operands;
  kernel.reductions.emplace_back();
  p.a = {0, 0, {}, k, 1};
  p.b = {1, 0, {}, n, 1};
  return kernel;
}

TEST(ProductSchedule, FormsCoverTheMatrixAndFitTheRegisters) {
  for (int bytes : {32, 64}) {
    for (int64_t m : {1, 2, 5, 7, 64, 257, 1000}) {
      for (int64_t n : {1, 3, 10, 16, 64, 65, 784, 4096}) {
        for (int64_t k : {1, 7, 64, 4096}) {
          for (auto [threads, level] :
               {std::pair(1, Level::Full), {2, Level::Full}, {16, Level::Full}, {2, Level::Quick}}) {
            const Schedule schedule = cpu::schedule(productKernel(m, n, k), {{bytes, bytes}, threads}, level);
            const int64_t lanes = bytes / 4;
            EXPECT_GE(schedule.items, 1);
            const auto* streamed = std::get_if<StreamedProduct>(&schedule.form);
            // B is streamed where few rows use it and caches do not hold it.
            EXPECT_EQ(streamed != nullptr, level == Level::Full && m <= 8 && k >= 8 && n >= 4 * lanes && k * n > 65536);
            if (streamed != nullptr) {
              EXPECT_EQ(streamed->vectors.start(streamed->vectors.count), (n + lanes - 1) / lanes);
              EXPECT_EQ(streamed->tail, n % lanes);
              EXPECT_EQ(schedule.items, streamed->vectors.count);
              continue;
            }
            const auto* small = std::get_if<SmallProduct>(&schedule.form);
            EXPECT_EQ(small != nullptr, level == Level::Full && ir::isSmallRight(k, n, m));
            if (small != nullptr) {
              EXPECT_EQ(small->rows.start(small->rows.count), m);
              EXPECT_GE(small->vectors * small->lanes, n);
              EXPECT_LE(small->lanes, lanes);
              EXPECT_LE((small->rows.most() + 1) * small->vectors, bytes == 64 ? 32 : 16);
              EXPECT_EQ(schedule.items, small->rows.count);
              continue;
            }
            const auto& t = std::get<TiledProduct>(schedule.form);
            EXPECT_EQ(t.rows.start(t.rows.count), m);
            EXPECT_EQ(t.vectors.start(t.vectors.count), (n + lanes - 1) / lanes);
            EXPECT_EQ(t.tail, n % lanes);
            EXPECT_LE(t.rowTasks, t.rows.count);
            EXPECT_LE(t.panelTasks, t.vectors.count);
            EXPECT_LE(t.rows.most() * t.width() + t.width() + 1, bytes == 64 ? 32 : 16);
          }
        }
      }
    }
  }
}

TEST(ProductSchedule, ABatchOfSmallProductsHasShortVectors) {
  const auto form = [](int64_t batch, int64_t m, int64_t n, int64_t k) {
    Kernel kernel = productKernel(m, n, k);
    kernel.product.batch = {batch};
    kernel.product.a.batch = {m * k};
    kernel.product.b.batch = {k * n};
    return cpu::schedule(kernel, {{64, 32}, 1}, Level::Full).form;
  };
  const auto square = std::get<SmallProduct>(form(1000, 3, 3, 3)), column = std::get<SmallProduct>(form(1000, 8, 1, 8));
  EXPECT_EQ(square.lanes, 4);
  EXPECT_FALSE(square.swapped || square.turned);
  EXPECT_EQ(column.lanes, 8);
  EXPECT_TRUE(column.swapped && column.turned);
  EXPECT_FALSE(std::holds_alternative<SmallProduct>(form(15, 3, 3, 3)));
  EXPECT_FALSE(std::holds_alternative<SmallProduct>(form(1000, 8, 17, 8)));
}

TEST(ProductSchedule, NarrowOperandsArePackedForWhatTheProcessorMultiplies) {
  const auto tiled = [](ir::DType operands, bool pairs, int64_t k) {
    return std::get<TiledProduct>(
        cpu::schedule(productKernel(64, 100, k, operands), {{64, 64, pairs}, 1}, Level::Full).form);
  };
  EXPECT_EQ(tiled(ir::DType::F32, true, 31).terms, Terms::Same);
  EXPECT_EQ(tiled(ir::DType::F16, true, 31).terms, Terms::Widened);
  for (const bool pairs : {true, false}) {
    const TiledProduct t = tiled(ir::DType::BF16, pairs, 31);
    EXPECT_EQ(t.terms, pairs ? Terms::Pairs : Terms::WidenedPairs);
    EXPECT_EQ(t.pack, PackB::Rows);
    // 16 pairs, or 32 rows of f32, the last of them zeros.
    EXPECT_EQ(t.packBytes, static_cast<uint64_t>((pairs ? 16 : 32) * t.width() * t.lanes * 4));
  }
  const Schedule few = cpu::schedule(productKernel(1, 4096, 4096, ir::DType::BF16), {{64, 64, true}, 1}, Level::Full);
  ASSERT_NE(std::get_if<StreamedProduct>(&few.form), nullptr);
  EXPECT_EQ(std::get<StreamedProduct>(few.form).terms, Terms::Pairs);
}

TEST(ProductSchedule, IntegersAreMultipliedByFoursOfBytesOrPairs) {
  const auto tiled = [](ir::DType operands, bool quads) {
    Kernel kernel = productKernel(64, 100, 31, operands);
    kernel.product.dtype = ir::DType::I32;
    return std::get<TiledProduct>(cpu::schedule(kernel, {{64, 64, true, quads}, 1}, Level::Full).form);
  };
  EXPECT_EQ(tiled(ir::DType::I8, true).terms, Terms::Quads);
  EXPECT_EQ(tiled(ir::DType::I8, true).packedRows, 9);  // 8 times 4 steps, and what sums begin with
  EXPECT_EQ(tiled(ir::DType::U8, true).terms, Terms::IntegerPairs);
  EXPECT_EQ(tiled(ir::DType::I8, false).terms, Terms::IntegerPairs);
  EXPECT_EQ(tiled(ir::DType::I8, false).packedRows, 16);
}

TEST(ProductSchedule, ALargeBIsStreamedForFewRowsAndReadInPartsForMore) {
  const auto form = [](int64_t m, int64_t k, int64_t n) {
    return cpu::schedule(productKernel(m, n, k), {{64, 64}, 1}, Level::Full).form;
  };
  EXPECT_TRUE(std::holds_alternative<TiledProduct>(form(9, 1024, 1024)));
  for (int64_t m : {1, 5, 9, 32}) {
    const auto s = std::get<StreamedProduct>(form(m, 4096, 4096));
    EXPECT_EQ(s.rows.start(s.rows.count), m);
    EXPECT_LE(m * s.together * s.lanes * 4, 24 << 10);
    EXPECT_GE(s.rowOfSums(), s.together * s.lanes);
  }
  const auto parts = std::get<TiledProduct>(form(64, 4096, 4096)), whole = std::get<TiledProduct>(form(64, 1024, 1024));
  EXPECT_EQ(parts.depth.start(parts.depth.count), 4096);
  EXPECT_TRUE(parts.split());
  EXPECT_FALSE(whole.split());
  // Where rows that are a multiple of 2 KiB apart crowd, they are packed for fewer rows of A.
  const auto packs = [](int64_t m, int64_t n) {
    const cpu::Workers workers{{.registerBytes = 64, .pathBytes = 64, .crowds = true}, 1};
    return std::get<TiledProduct>(cpu::schedule(productKernel(m, n, 4096), workers, Level::Full).form).pack;
  };
  EXPECT_EQ(whole.pack, PackB::None);
  EXPECT_EQ(packs(64, 1024), PackB::Rows);
  EXPECT_EQ(packs(40, 1024), PackB::None);
  EXPECT_EQ(packs(64, 1040), PackB::None);
}

TEST(ProductSchedule, ConvolutionsTakeTheTileOfFewestLoads) {
  for (const VectorUnit unit : {VectorUnit{32, 32}, {64, 32}, {64, 64}}) {
    for (int64_t m : {1, 2, 5, 7, 14, 28, 56, 64, 112}) {
      for (int64_t n : {1, 14, 64, 65, 256}) {
        Kernel kernel = productKernel(m, n, 3);
        kernel.product.sums = {{64, 256, 3 * n}};
        const Schedule schedule = cpu::schedule(kernel, {unit, 1}, Level::Full);
        const auto& t = std::get<TiledProduct>(schedule.form);
        const int64_t height = t.rows.most(), width = t.width();
        EXPECT_EQ(t.rows.start(t.rows.count), m);
        EXPECT_EQ(t.vectors.start(t.vectors.count), (n + t.lanes - 1) / t.lanes);
        EXPECT_LE(height * width + width + 1, unit.registerBytes == 64 ? 32 : 16);
        if (unit.registerBytes == 32 || n != 256) continue;
        if (m == 7 || (m == 14 && unit.pathBytes == 64)) EXPECT_EQ(std::pair(height, width), std::pair(7L, 3L));
        if ((m == 14 || m == 28) && unit.pathBytes == 32) EXPECT_EQ(std::pair(height, width), std::pair(14L, 1L));
      }
    }
  }
}

/// Taps that meet an element, counted one by one.
TEST(ProductSchedule, BlocksAtTheRimAreThoseThatMeetPadding) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t dilation : {1, 4}) {
      for (int64_t lo : {-2, 0, 1, 5}) {
        ir::WindowDim w = {stride, dilation, lo, 9, 3, 11};
        auto meets = [&](int64_t p, int64_t t) {
          const int64_t element = stride * p + dilation * t - lo;
          return element >= 0 && element < w.extent;
        };
        const Blocks blocks = Blocks::of(w.places, 4);
        const Rim rim = Rim::of(w, blocks, 1, Level::Full);
        for (int64_t i = 0; i < blocks.count; ++i) {
          const int64_t from = blocks.start(i), to = blocks.start(i + 1);
          const TapRange r = Rim::taps(w, from, to - from);
          bool whole = true;
          for (int64_t p = from; p < to; ++p) {
            for (int64_t t = 0; t < w.taps; ++t) {
              const bool in = meets(p, t);
              whole = whole && in;
              EXPECT_EQ(in, w.firstTap(p) <= t && t < w.endTap(p));
              EXPECT_EQ(in, w.firstPlace(t) <= p && p < w.endPlace(t));
              if (in) EXPECT_TRUE(r.first <= t && t < r.end);
              if (!in) EXPECT_FALSE(r.allFirst <= t && t < r.allEnd);
            }
          }
          if (i >= rim.before && i < rim.after) EXPECT_TRUE(whole);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenc::codegen::cpu
