#include "codegen/cpu/GemmPlan.h"

#include <algorithm>

namespace tenc::codegen::cpu {

Blocks Blocks::of(int64_t total, int64_t most) {
  if (total == 0) return {};
  const int64_t count = (total + most - 1) / most;
  return {count, total / count, total % count};
}

TapRange Rim::taps(const ir::WindowDim& window, int64_t place, int64_t places) {
  // Both bounds fall from place to place.
  const int64_t last = std::min(place + places, window.places) - 1;
  TapRange r = {window.firstTap(last), window.firstTap(place), window.endTap(last), window.endTap(place)};
  if (r.allFirst >= r.allEnd) r.allFirst = r.allEnd = r.end;
  return r;
}

Rim Rim::of(const ir::WindowDim& window, const Blocks& blocks, int64_t scale, Level level) {
  constexpr int64_t kMostBlocks = 6, kMostTaps = 24;  // that stand one by one
  const int64_t first = window.firstWhole(), end = window.endWhole();
  Rim rim;
  while (rim.before < blocks.count && blocks.start(rim.before) * scale < first) ++rim.before;
  rim.after = rim.before;
  while (rim.after < blocks.count && std::min(blocks.start(rim.after + 1) * scale, window.places) <= end) ++rim.after;
  rim.fixed = level == Level::Full && rim.before + blocks.count - rim.after <= kMostBlocks;
  int64_t apart = 0;
  for (int64_t i = 0; rim.fixed && i < blocks.count; ++i) {
    if (i >= rim.before && i < rim.after) continue;
    const int64_t place = blocks.start(i) * scale;
    const TapRange t = taps(window, place, blocks.start(i + 1) * scale - place);
    apart += t.end - t.first - (t.allEnd - t.allFirst);
  }
  rim.fixed = rim.fixed && apart <= kMostTaps;
  return rim;
}

int64_t GemmPlan::tasks(const Product& p) const {
  int64_t n = rowTasks * panelTasks;
  for (int64_t b : p.batch) n *= b;
  return n;
}

namespace {
/// Of all rows of B that one element's sum reads.
int64_t bytesOf(const Product& p) { return p.depth() * p.n * ir::byteSize(p.dtype); }

/// The width of a convolution's tiles, in vectors. Its B is not packed and comes from the second-level cache once for
/// each block of rows, so fewer, higher blocks may be worth more broadcasts of A: 7 rows are one block of 7 by 3 rather
/// than two of 4 by 4. Where vectors take two cycles, B is the weights, and the rows, which are places, are blocks of
/// 12 to 14, one vector is best: broadcasts of places side by side are then part of the multiplications. On Zen 4, 14
/// by 1 is 3 % faster than 7 by 3, and with a stride of 2 in 28 rows 20 % faster than 6 by 4. On Zen 5 such a tile
/// waits for its loads, and 7 by 3 is 1.5 times as fast.
int64_t widthOfFewestLoads(int64_t rows, int64_t vectors, int64_t widest, int64_t accumulators, int64_t highest,
                           bool broadcastsAreFree) {
  constexpr int64_t kEnoughRows = 12;
  if (broadcastsAreFree && Blocks::of(rows, highest).size >= kEnoughRows) return 1;
  int64_t best = widest, least = 0;
  for (int64_t width = widest; width >= 1; --width) {
    const int64_t blocks = Blocks::of(rows, std::min(accumulators / width, highest)).count;
    const int64_t loads = 2 * vectors * blocks + rows * Blocks::of(vectors, width).count;
    if (width < widest && loads >= least) continue;
    best = width;
    least = loads;
  }
  return best;
}
}  // namespace

GemmPlan planGemm(const Product& p, const VectorUnit& unit, int threads, Level level) {
  const bool quick = level == Level::Quick;
  GemmPlan g;
  const int size = ir::byteSize(p.dtype);
  g.lanes = unit.registerBytes / size;
  const int64_t vectors = (p.n + g.lanes - 1) / g.lanes;
  g.tail = static_cast<int>(p.n % g.lanes);
  int64_t batch = 1;
  for (int64_t b : p.batch) batch *= b;

  const bool wide = unit.registerBytes == 64;
  const bool unitColumns = p.b.col == 1 || p.n == 1;
  const bool flat = p.sums.empty() && p.edges.empty();  // neither streamed nor packed otherwise
  g.stream = !quick && flat && p.m <= 8 && unitColumns && p.k >= 8 && p.n >= 4 * g.lanes &&
             static_cast<uint64_t>(p.k * p.n * size) > (256u << 10);
  if (!unitColumns) {
    g.pack = p.b.row == 1 && !quick ? PackB::Transpose : PackB::Elements;
  } else if (flat && p.m > (wide ? 256 : 64) && p.k * p.n * size > (1 << 20)) {
    // Narrow panels read one cache line of each row of B: they gain from packing sooner.
    g.pack = PackB::Rows;
  }

  const bool common = std::all_of(p.b.batch.begin(), p.b.batch.end(), [](int64_t stride) { return stride == 0; });
  // Registers: accumulators + one row of B + a broadcast. 32 with AVX-512, else 16.
  const int64_t accumulators = quick ? 4 : wide ? 24 : 12, highest = wide ? 14 : 8;
  int64_t widest = g.stream ? vectors : quick ? 1 : wide ? 4 : 2;
  if (!flat && !quick)
    widest =
        widthOfFewestLoads(p.m, vectors, widest, accumulators, highest, common && unit.pathBytes < unit.registerBytes);
  g.vectors = Blocks::of(vectors, std::max<int64_t>(1, widest));
  const int64_t width = g.vectors.size + (g.vectors.larger ? 1 : 0);
  // Rows of B of a convolution that are a page's part apart are beyond what the hardware fetches ahead, but for one
  // line of each.
  if (!flat && width > 1 && p.b.row * size >= 512 && bytesOf(p) > (64 << 10)) g.prefetchRows = 8;
  int64_t height = g.stream ? p.m : std::min(accumulators / std::max<int64_t>(width, 1), highest);
  // A height that divides the rows saves a second tile.
  for (int64_t h = height; quick && h > 1; --h) {
    if (p.m % h != 0) continue;
    height = h;
    break;
  }
  g.rows = Blocks::of(p.m, std::max<int64_t>(1, height));
  if (g.pack != PackB::None) g.packBytes = static_cast<uint64_t>(p.k * width * g.lanes * size);

  // A task is worth a thread's wake-up from about 2 MFLOP on; a few tasks a thread even out a late one.
  const double flop = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.depth());
  const double bytes = static_cast<double>(p.depth()) * static_cast<double>(p.n) * size;
  const double worth = std::max(flop / 2e6, bytes / (1 << 20));
  int64_t want = 1;
  if (threads > 1 && worth >= 2)
    want = std::min<int64_t>(static_cast<int64_t>(worth), worth >= 32 ? 4 * threads : 2 * threads);
  if (batch >= want)
    want = 1;
  else
    want = (want + batch - 1) / std::max<int64_t>(batch, 1);
  if (g.stream) {
    // Column ranges in whole vectors; each task streams its own part of every row.
    g.panelTasks = std::max<int64_t>(1, std::min<int64_t>(want, vectors / 16));
    g.vectors = Blocks::of(vectors, (vectors + g.panelTasks - 1) / g.panelTasks);
    g.panelTasks = g.vectors.count;
    return g;
  }
  const bool byPanels =
      g.pack != PackB::None ? g.vectors.count >= want || g.vectors.count >= g.rows.count : g.vectors.count >= want;
  if (byPanels)
    g.panelTasks = std::min(want, g.vectors.count);
  else
    g.rowTasks = std::min(want, g.rows.count);
  if (byPanels && g.panelTasks < want && g.rows.count >= 2)
    g.rowTasks = std::min<int64_t>(g.rows.count, want / g.panelTasks);
  if (!byPanels && g.rowTasks < want && g.vectors.count >= 2)
    g.panelTasks = std::min<int64_t>(g.vectors.count, want / g.rowTasks);
  g.rowTasks = std::max<int64_t>(1, g.rowTasks);
  g.panelTasks = std::max<int64_t>(1, g.panelTasks);
  // A common B that the second-level cache does not hold, but for a panel of it.
  if (common && batch >= 4 && bytes > (768 << 10) && g.vectors.count > 1 && g.pack == PackB::None &&
      flop >= 4e6 * static_cast<double>(g.vectors.count)) {
    g.panelsFirst = true;
    g.panelTasks = g.vectors.count;
  }
  return g;
}

std::string describe(const GemmPlan& plan) {
  if (plan.stream) return "streamed product";
  auto most = [](const Blocks& b) { return std::to_string(b.size + (b.larger > 0 ? 1 : 0)); };
  std::string text = "tiled product: tiles of " + most(plan.rows) + " x " + most(plan.vectors) + " vectors";
  switch (plan.pack) {
    case PackB::None: return text;
    case PackB::Rows: return text + ", B packed by rows";
    case PackB::Transpose: return text + ", B packed and transposed";
    case PackB::Elements: return text + ", B packed by elements";
  }
  return text;
}

bool isPlainStore(const Kernel& kernel) {
  const Product& p = kernel.product;
  if (p.epilogue.stores.size() != 1) return false;
  const Store& s = p.epilogue.stores[0];
  return s.value == p.product && s.access.terms.empty() && (s.access.strides.at(p.batch.size() + 1) == 1 || p.n == 1) &&
         kernel.buffers[s.access.buffer].dtype == p.dtype;
}

bool storesAlongRows(const Kernel& kernel) {
  const Product& p = kernel.product;
  const size_t m = p.batch.size(), n = m + 1;
  return p.m > 1 && p.n > 1 && std::all_of(p.epilogue.stores.begin(), p.epilogue.stores.end(), [&](const Store& s) {
           return s.access.terms.empty() && s.access.strides.at(m) == 1 && s.access.strides.at(n) != 1;
         });
}

int64_t turnedRows(const Product& p, const GemmPlan& plan) {
  return (p.m + 2 * plan.lanes - 1) / plan.lanes * plan.lanes;
}

TileStore tileStoreOf(const Kernel& kernel, const GemmPlan& plan, Level level) {
  constexpr int64_t kMostTurned = 128 << 10;  // bytes: in the second-level cache
  const Product& p = kernel.product;
  const int64_t rowBytes = plan.width() * plan.lanes * ir::byteSize(p.dtype);
  TileStore s;
  s.direct = isPlainStore(kernel) && !plan.stream;
  s.turned = level == Level::Full && !s.direct && !plan.stream && storesAlongRows(kernel) &&
             turnedRows(p, plan) * rowBytes <= kMostTurned;
  const int64_t rows = plan.stream ? p.m : s.turned ? turnedRows(p, plan) : plan.rows.size + (plan.rows.larger ? 1 : 0);
  s.bytes = static_cast<uint64_t>(rows * rowBytes);
  return s;
}

}  // namespace tenc::codegen::cpu
