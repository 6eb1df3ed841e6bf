#include "codegen/cpu/ProductSchedule.h"

#include <algorithm>

#include "codegen/cpu/Cost.h"
#include "codegen/cpu/ProductTiles.h"
#include "codegen/cpu/Schedule.h"
#include "ir/SmallProducts.h"

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

namespace {

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

int64_t bytesOfElement(const Product& p) { return ir::byteSize(p.dtype); }
int lanesOf(const Product& p, const Workers& workers) {
  return static_cast<int>(workers.vectors.registerBytes / bytesOfElement(p));
}

Terms termsOf(const Product& p, const VectorUnit& unit) {
  if (p.operands == ir::DType::F16) return Terms::Widened;
  if (p.operands == ir::DType::BF16) return unit.pairs ? Terms::Pairs : Terms::WidenedPairs;
  if (p.operands == p.dtype) return Terms::Same;
  return p.operands == ir::DType::I8 && unit.quads ? Terms::Quads : Terms::IntegerPairs;
}

int64_t packedRows(const Product& p, Terms terms) {
  const int64_t steps = (p.k + stepsOf(terms) - 1) / stepsOf(terms);
  return steps * partsOf(terms) + (isShifted(terms) ? 1 : 0);
}

/// A matrix product, whose B may be streamed or packed.
bool isFlat(const Product& p) { return p.sums.empty() && p.edges.empty(); }
/// Vectors in a block of B's columns, of which tiles are multiples.
int64_t vectorsOfBlock(const Product& p, int64_t lanes) { return p.b.block == 0 ? 1 : p.b.block / lanes; }
bool hasUnitColumns(const Product& p) { return p.b.col == 1 || p.n == 1; }
/// Whether all of the batch has the same B.
bool hasCommonB(const Product& p) {
  return std::all_of(p.b.batch.begin(), p.b.batch.end(), [](int64_t stride) { return stride == 0; });
}

/// Whether B is read from memory, or from a cache that is hardly nearer.
bool isFar(const Product& p) { return bytesOfB(p) > (6 << 20); }

/// How many tasks a matrix of the batch is cut into. A task is worth a thread's wake-up from about 2 MFLOP or 1 MiB of
/// B on; a few tasks a thread even out a late one.
int64_t wantedTasks(const Product& p, int threads) {
  const double worth = std::max(flopsOf(p.depth(), p.m * p.n) / 2e6, static_cast<double>(bytesOfB(p)) / (1 << 20));
  int64_t want = 1;
  if (threads > 1 && worth >= 2)
    want = std::min<int64_t>(static_cast<int64_t>(worth), worth >= 32 ? 4 * threads : 2 * threads);
  const int64_t batch = elements(p.batch);
  return batch >= want ? 1 : (want + batch - 1) / std::max<int64_t>(batch, 1);
}

// ---- streamed products

/// Whether reading B in the order of its rows gains more than sums in registers do: with few rows, or from memory,
/// where panels of columns wait for each row. Panels of joined elements are small, and wait less.
bool isStreamed(const Product& p, const Workers& workers, Level level) {
  const bool far = areJoined(termsOf(p, workers.vectors)) || p.m > 16 ? bytesOfB(p) > (12 << 20) : isFar(p);
  const bool pays = p.m <= 8 ? bytesOfB(p) > (256 << 10) : p.m <= 32 && far;
  return level == Level::Full && isFlat(p) && pays && hasUnitColumns(p) && p.k >= 8 && p.n >= 4 * lanesOf(p, workers);
}

Schedule scheduleStreamed(const Kernel& kernel, const Workers& workers) {
  const Product& p = kernel.product;
  StreamedProduct s;
  s.lanes = lanesOf(p, workers);
  s.tail = static_cast<int>(p.n % s.lanes);
  s.terms = termsOf(p, workers.vectors);
  constexpr int64_t kSums = 24 << 10, kMostRows = 6;  // bytes in the first-level cache; registers
  s.rowsOfB = !isFar(p) && (p.m == 3 || p.m == 4) ? 4 : 8;
  s.rows = Blocks::of(p.m, kMostRows);
  s.broadcasts = workers.vectors.registerBytes == 64 ? 24 : 8;
  if (areJoined(s.terms)) s.rowsOfB = p.m <= 4 ? 8 : 16;
  const int64_t vectors = (p.n + s.lanes - 1) / s.lanes;
  const int64_t tasks = std::max<int64_t>(1, std::min<int64_t>(wantedTasks(p, workers.threads), vectors / 16));
  s.vectors = Blocks::of(vectors, (vectors + tasks - 1) / tasks);
  Schedule schedule;
  schedule.items = elements(p.batch) * s.vectors.count;
  const int64_t rows = p.m + (isShifted(s.terms) ? 1 : 0);  // of sums
  const int64_t rowBytes = s.lanes * bytesOfElement(p);
  s.together = std::clamp<int64_t>(kSums / (rows * rowBytes), 1, s.vectors.most());
  // The sums, and terms of A.
  schedule.scratchBytes = static_cast<uint64_t>((rows * s.rowOfSums() + p.m * s.rowsOfB) * bytesOfElement(p));
  schedule.form = s;
  return schedule;
}

// ---- small products

/// Whether the epilogue is so little that it may stand in the code for each vector of sums, short as these may be: a
/// few instructions for which the number of lanes does not matter.
bool isInlined(const Stage& epilogue, int64_t vectors) {
  constexpr size_t kMostCode = 400;
  const auto isPlain = [](const Expr& e) {
    if (e.kind == Expr::Kind::Op) return ir::opInfo(e.op).has(ir::Trait::Cheap);
    return e.kind != Expr::Kind::Random && e.access.terms.empty();
  };
  return epilogue.exprs.size() * static_cast<size_t>(vectors) <= kMostCode &&
         std::all_of(epilogue.exprs.begin(), epilogue.exprs.end(), isPlain) &&
         std::all_of(epilogue.stores.begin(), epilogue.stores.end(),
                     [](const Store& s) { return s.access.terms.empty(); });
}

std::optional<SmallProduct> smallProduct(const Kernel& kernel, const Workers& workers, Level level) {
  constexpr int64_t kMost = ir::kSmallExtent;
  const Product& p = kernel.product;
  if (level == Level::Quick || !isFlat(p) || p.b.block != 0 || p.operands != p.dtype || !ir::isFloat(p.dtype) ||
      p.k < 1)
    return std::nullopt;
  SmallProduct s;
  s.swapped = p.n == 1;
  const SmallOperands o = operandsOf(p, s.swapped);
  if (o.n > kMost || o.n < 2 || p.k > kMost) return std::nullopt;
  const int64_t batch = elements(p.batch);
  if (o.m > kMost ? s.swapped || !ir::isSmallRight(p.k, o.n, batch * o.m) : batch < ir::kLeastSmallProducts)
    return std::nullopt;
  s.turned = o.columnOfB != 1;
  if (s.turned && o.termOfB != 1) return std::nullopt;
  // Squares are turned in registers of 32 bytes.
  const int64_t size = bytesOfElement(p), widest = (s.turned ? 32 : workers.vectors.registerBytes) / size;
  s.lanes = 2;
  while (s.lanes < o.n && s.lanes < widest) s.lanes *= 2;
  s.vectors = (o.n + s.lanes - 1) / s.lanes;
  // Eight chains keep the processor busy; more code than so many terms takes long to compile and runs no faster.
  constexpr int64_t kLeastSums = 8, kMostTerms = 128;
  int64_t sums = workers.vectors.registerBytes == 64 ? 16 : 8;
  if (o.m > kMost && isInlined(p.epilogue, sums)) sums = std::clamp(kMostTerms / p.k, kLeastSums, sums);
  s.rows = Blocks::of(o.m, std::max<int64_t>(1, sums / s.vectors));
  s.inlined = isInlined(p.epilogue, s.rows.most() * s.vectors);
  const int64_t whole = s.wholeLanes = lanesOf(p, workers);
  s.rowOfSums = (o.n + whole - 1) / whole * whole;
  return s;
}

Schedule scheduleSmall(const Kernel& kernel, const SmallProduct& s) {
  const Product& p = kernel.product;
  Schedule schedule;
  schedule.items = elements(p.batch) * s.rows.count;
  schedule.grain = std::clamp<int64_t>(
      static_cast<int64_t>(kGrainWork / (productWork(kernel) / static_cast<double>(schedule.items))), 1,
      schedule.items);
  if (!s.inlined) schedule.scratchBytes = static_cast<uint64_t>(s.rows.most() * s.rowOfSums * bytesOfElement(p));
  schedule.form = s;
  return schedule;
}

// ---- interleaved products

std::optional<InterleavedProduct> interleavedProduct(const Kernel& kernel, const Workers& workers) {
  const Product& p = kernel.product;
  if (!isFlat(p) || p.b.block != 0 || p.operands != p.dtype || !ir::isFloat(p.dtype) || p.k < 1) return std::nullopt;
  if (p.m > ir::kSmallExtent || p.n > ir::kSmallExtent) return std::nullopt;
  InterleavedProduct s;
  s.lanes = lanesOf(p, workers);
  while (s.dim < p.batch.size() && !ir::areInterleaved(p.batch[s.dim], p.a.batch[s.dim], p.b.batch[s.dim])) ++s.dim;
  if (s.dim == p.batch.size() || p.batch[s.dim] < s.lanes) return std::nullopt;
  s.vectors = (p.batch[s.dim] + s.lanes - 1) / s.lanes;
  const bool wide = workers.vectors.registerBytes == 64;  // 32 registers
  s.rows = Blocks::of(p.m, 4);
  s.columns = Blocks::of(p.n, wide ? 4 : 2);
  return s;
}

Schedule scheduleInterleaved(const Kernel& kernel, const InterleavedProduct& s) {
  const Product& p = kernel.product;
  Schedule schedule;
  schedule.items = elements(p.batch) / p.batch[s.dim] * s.vectors;
  const double each = productWork(kernel) / static_cast<double>(schedule.items);
  schedule.grain = std::clamp<int64_t>(static_cast<int64_t>(kGrainWork / each), 1, schedule.items);
  schedule.scratchBytes = static_cast<uint64_t>(p.m * p.n * s.lanes * bytesOfElement(p));  // sums
  schedule.form = s;
  return schedule;
}

// ---- tiled products

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

/// A tile's height and width in registers: accumulators, one row of B and a broadcast. 32 with AVX-512, else 16.
void cutIntoTiles(TiledProduct& t, const Product& p, const VectorUnit& unit, Level level) {
  const bool quick = level == Level::Quick, wide = unit.registerBytes == 64;
  const int64_t vectors = (p.n + t.lanes - 1) / t.lanes;
  const int64_t accumulators = quick ? 4 : wide ? 24 : 12, highest = wide ? 14 : 8;
  int64_t widest = quick ? 1 : wide ? 4 : 2;
  if (!isFlat(p) && !quick)
    widest = widthOfFewestLoads(p.m, vectors, widest, accumulators, highest,
                                hasCommonB(p) && unit.pathBytes < unit.registerBytes);
  const int64_t together = vectorsOfBlock(p, t.lanes);  // 1, or all that registers of 32 bytes have a tile of
  t.vectors = Blocks::of(vectors, std::max(together, widest / together * together));
  int64_t height = std::min(accumulators / std::max<int64_t>(t.width(), 1), highest);
  // A height that divides the rows saves a second tile.
  for (int64_t h = height; quick && h > 1; --h) {
    if (p.m % h != 0) continue;
    height = h;
    break;
  }
  t.rows = Blocks::of(p.m, std::max<int64_t>(1, height));
}

PackB packOf(const Product& p, const VectorUnit& unit, Level level) {
  if (!hasUnitColumns(p)) return p.b.row == 1 && level == Level::Full ? PackB::Transpose : PackB::Elements;
  // Narrow panels read one cache line of each row of B: they gain from packing sooner. So do rows that crowd.
  constexpr int64_t kCrowded = 2048;
  const bool crowded = unit.crowds && p.b.row * bytesOfElement(p) % kCrowded == 0;
  const int64_t fewRows = unit.registerBytes != 64 ? 64 : crowded ? 47 : 256;
  if (p.operands != p.dtype) return PackB::Rows;
  return isFlat(p) && p.m > fewRows && bytesOfB(p) > (1 << 20) ? PackB::Rows : PackB::None;
}

void cutIntoTasks(TiledProduct& t, const Product& p, int threads) {
  const int64_t want = wantedTasks(p, threads);
  const bool byPanels =
      t.pack != PackB::None ? t.vectors.count >= want || t.vectors.count >= t.rows.count : t.vectors.count >= want;
  if (byPanels)
    t.panelTasks = std::min(want, t.vectors.count);
  else
    t.rowTasks = std::min(want, t.rows.count);
  if (byPanels && t.panelTasks < want && t.rows.count >= 2)
    t.rowTasks = std::min<int64_t>(t.rows.count, want / t.panelTasks);
  if (!byPanels && t.rowTasks < want && t.vectors.count >= 2)
    t.panelTasks = std::min<int64_t>(t.vectors.count, want / t.rowTasks);
  t.rowTasks = std::max<int64_t>(1, t.rowTasks);
  t.panelTasks = std::max<int64_t>(1, t.panelTasks);
  // A common B that the second-level cache does not hold, but for a panel of it.
  if (hasCommonB(p) && elements(p.batch) >= 4 && bytesOfB(p) > (768 << 10) && t.vectors.count > 1 &&
      t.pack == PackB::None && flopsOf(p.depth(), p.m * p.n) >= 4e6 * static_cast<double>(t.vectors.count)) {
    t.panelsFirst = true;
    t.panelTasks = t.vectors.count;
  }
}

/// A large B that is read as it stands: its rows are beyond what the hardware fetches ahead, and a panel of all of k
/// may be gone from the second-level cache before the next rows of A meet it.
void cutDepth(TiledProduct& t, const Product& p) {
  constexpr int64_t kRowsAhead = 16, kMostShared = 256 << 10, kPart = 128 << 10;  // bytes of a panel
  constexpr int64_t kMostSums = 128 << 10, kBothParts = 512 << 10;                // bytes of all panels
  t.depth = Blocks::of(p.k, std::max<int64_t>(p.k, 1));
  if (!isFlat(p) || t.pack != PackB::None || !isFar(p)) return;
  t.prefetchRows = kRowsAhead;
  const int64_t rowBytes = t.width() * t.lanes * bytesOfElement(p);
  if (t.rows.count == 1 || p.k * rowBytes <= kMostShared) return;
  t.depth = Blocks::of(p.k, kPart / rowBytes);
  // With few rows and columns, a part of both operands stays in the second-level cache: A comes from memory once, not
  // once for each panel.
  const int64_t columns = t.vectors.start(t.vectors.count) * t.lanes, size = bytesOfElement(p);
  if (t.vectors.count == 1 || p.m * columns * size > kMostSums) return;
  t.partsFirst = true;
  t.depth = Blocks::of(p.k, std::min(kPart / rowBytes, kBothParts / ((p.m + columns) * size)));
}

constexpr int64_t kMostTurned = 128 << 10;  // bytes: in the second-level cache

/// More rows than can be turned together are several tasks.
void cutTurnedRows(TiledProduct& t, const Product& p) {
  const int64_t rowBytes = t.width() * t.lanes * bytesOfElement(p);
  const int64_t blocks = (kMostTurned / rowBytes - 2 * t.lanes) / t.rows.most();
  if (blocks > 0) t.rowTasks = std::max(t.rowTasks, (t.rows.count + blocks - 1) / blocks);
}

TileStore storeOf(const Kernel& kernel, TiledProduct& t, Level level) {
  const Product& p = kernel.product;
  const int64_t rowBytes = t.width() * t.lanes * bytesOfElement(p);
  TileStore s;
  if (t.split()) {
    s.bytes = static_cast<uint64_t>(p.m * t.rowOfSums() * bytesOfElement(p));
    return s;
  }
  if (t.mirrored) {
    s.bytes = static_cast<uint64_t>(t.turnedRows(p) * rowBytes);
    return s;
  }
  s.direct = isPlainStore(kernel);
  s.turned = level == Level::Full && !s.direct && storesAlongRows(kernel);
  if (s.turned && t.pack == PackB::None) cutTurnedRows(t, p);
  s.turned = s.turned && t.turnedRows(p) * rowBytes <= kMostTurned;
  s.bytes = static_cast<uint64_t>((s.turned ? t.turnedRows(p) : t.rows.most()) * rowBytes);
  return s;
}

/// What quick code of the epilogue and of packing takes longer than full code, a run: measured, about 8 units and twice
/// the work for each vector of one, 8 for each of the other.
double quickLoss(const Kernel& kernel, const TiledProduct& t) {
  const Product& p = kernel.product;
  const int64_t wholeVectors = (p.n + t.lanes - 1) / t.lanes;
  const auto vectors = static_cast<double>(wholeVectors);
  const double stores =
      t.sums.direct ? 0 : static_cast<double>(p.m) * vectors * (8 + 2 * stageCost(kernel, p.epilogue));
  const double packs =
      t.pack == PackB::None || t.assembledPack ? 0 : static_cast<double>(p.k * t.rowTasks) * vectors * 8;
  return static_cast<double>(elements(p.batch)) * (stores + packs);
}

Schedule scheduleTiled(const Kernel& kernel, const Workers& workers, Level level) {
  const Product& p = kernel.product;
  constexpr int64_t kLeastMirrored = 3;  // panels: of fewer most tiles meet the diagonal
  const int64_t size = bytesOfElement(p);
  TiledProduct t;
  t.lanes = lanesOf(p, workers);
  t.tail = static_cast<int>(p.n % t.lanes);
  t.pack = packOf(p, workers.vectors, level);
  cutIntoTiles(t, p, workers.vectors, level);
  // Rows of B of a convolution that are a page's part apart are beyond what the hardware fetches ahead, but for one
  // line of each.
  if (!isFlat(p) && t.width() > 1 && p.b.row * size >= 512 && bytesOfB(p) > (64 << 10)) t.prefetchRows = 8;
  t.terms = termsOf(p, workers.vectors);
  if (t.pack != PackB::None) t.packedRows = packedRows(p, t.terms);
  t.packBytes = static_cast<uint64_t>(t.packedRows * t.width() * t.lanes * size);
  cutIntoTasks(t, p, workers.threads);
  cutDepth(t, p);
  t.mirrored = p.mirrored && !t.split() && level == Level::Full && t.vectors.count >= kLeastMirrored;
  t.sums = storeOf(kernel, t, level);
  t.prefetchesC = t.sums.direct && level == Level::Full;
  t.assembled = hasAssembledTiles(kernel, t, workers.vectors);
  t.assembledPack = t.assembled && hasAssembledPack(p, t);
  t.quickLoss = quickLoss(kernel, t);
  Schedule schedule;
  schedule.items = elements(p.batch) * t.rowTasks * t.panelTasks;
  // The packed panel, the tile, and the turned tile.
  schedule.scratchBytes = t.packBytes + 64 + (t.sums.direct ? 0 : t.sums.bytes + 64) +
                          (t.sums.turned || t.mirrored ? t.sums.bytes + 64 : 0);
  schedule.form = t;
  return schedule;
}

// ---- depthwise convolutions

Schedule scheduleDepthwise(const Kernel& kernel, const Workers& workers, Level level) {
  const Product& p = kernel.product;
  const ir::WindowDim& rows = p.depthwise->rows;
  const int threads = workers.threads;
  const bool full = level == Level::Full, wide = workers.vectors.registerBytes == 64;
  const int64_t widest = wide ? 4 : 2, registers = wide ? 31 : 15;
  DepthwiseConvolution c;
  c.lanes = lanesOf(p, workers);
  // The tile, a column's weights and a row of the input are in registers together.
  const int64_t vectors = (p.n + c.lanes - 1) / c.lanes;
  c.width = full ? Blocks::of(vectors, widest).size : 1;
  while (full && Blocks::of(vectors, c.width).count > Blocks::of(vectors, widest).count) ++c.width;
  c.panels = (vectors + c.width - 1) / c.width;
  const int64_t most = std::clamp<int64_t>((registers - rows.taps - c.width) / c.width, 1, full ? 8 : 2);
  const int64_t count = Blocks::of(rows.places, most).count;
  c.height = (rows.places + count - 1) / count;
  c.blocks = (rows.places + c.height - 1) / c.height;
  c.direct = isPlainStore(kernel) && p.epilogue.stores[0].access.strides[p.batch.size()] >= 0;

  int64_t channels = p.m;
  for (size_t d = 0; d < p.batch.size(); ++d) channels *= d == p.depthwise->rowVar ? 1 : p.batch[d];
  // Half a MFLOP is some 10 microseconds.
  constexpr double kWorth = 5e5;
  const double flops = flopsOf(p.depth(), rows.places * p.n);
  if (threads > 1 && channels < 4 * threads)
    c.rowTasks = std::clamp<int64_t>(static_cast<int64_t>(flops / kWorth), 1, c.blocks);
  Schedule schedule;
  schedule.items = channels * c.rowTasks;
  schedule.grain = std::clamp<int64_t>(static_cast<int64_t>(kWorth * static_cast<double>(c.rowTasks) / flops), 1,
                                       std::max<int64_t>(1, schedule.items / (4 * std::max(threads, 1))));
  // A tile, for the epilogue.
  if (!c.direct) schedule.scratchBytes = static_cast<uint64_t>(c.height * c.width * c.lanes * bytesOfElement(p));
  schedule.form = c;
  return schedule;
}

Schedule formOf(const Kernel& kernel, const Workers& workers, Level level) {
  const Product& p = kernel.product;
  if (p.depthwise) return scheduleDepthwise(kernel, workers, level);
  if (const auto interleaved = interleavedProduct(kernel, workers)) return scheduleInterleaved(kernel, *interleaved);
  if (const auto small = smallProduct(kernel, workers, level)) return scheduleSmall(kernel, *small);
  return isStreamed(p, workers, level) ? scheduleStreamed(kernel, workers) : scheduleTiled(kernel, workers, level);
}

}  // namespace

Schedule scheduleProduct(const Kernel& kernel, const Workers& workers, Level level) {
  Schedule s = formOf(kernel, workers, level);
  s.work = productWork(kernel);
  return s;
}

SmallOperands operandsOf(const Product& p, bool swapped) {
  if (swapped) return {p.n, p.m, p.b, p.a, p.b.col, p.b.row, p.a.col, p.a.row};
  return {p.m, p.n, p.a, p.b, p.a.row, p.a.col, p.b.row, p.b.col};
}

int64_t columnsBefore(const Product& product, int64_t vector, int64_t lanes) {
  const int64_t column = vector * lanes, block = product.b.block;
  if (block == 0) return column * product.b.col;
  return column / block * product.b.acrossBlocks + column % block * product.b.col;
}

// ---- stores

bool isPlainStore(const Kernel& kernel) {
  const Product& p = kernel.product;
  if (p.epilogue.stores.size() != 1) return false;
  const Store& s = p.epilogue.stores[0];
  return s.value == p.product && s.access.terms.empty() && (s.access.strides.at(p.batch.size() + 1) == 1 || p.n == 1) &&
         kernel.buffers[s.access.buffer].dtype == p.dtype && kernel.reductions[0].result == p.dtype;
}

bool storesAlongRows(const Kernel& kernel) {
  const Product& p = kernel.product;
  const size_t m = p.batch.size(), n = m + 1;
  return p.m > 1 && p.n > 1 && std::all_of(p.epilogue.stores.begin(), p.epilogue.stores.end(), [&](const Store& s) {
           return s.access.terms.empty() && s.access.strides.at(m) == 1 && s.access.strides.at(n) != 1;
         });
}

// ---- for people

namespace {
std::string_view describe(Terms terms) {
  switch (terms) {
    case Terms::Same: return "";
    case Terms::Pairs: return " by pairs of bf16";
    case Terms::WidenedPairs: return " by pairs of bf16 in f32";
    case Terms::Widened: return " in f32";
    case Terms::IntegerPairs: return " by pairs of i16";
    case Terms::Quads: return " by fours of i8";
  }
  return "";
}
}  // namespace

std::string describe(const TiledProduct& product) {
  std::string text = "tiled product" + std::string(describe(product.terms)) + ": tiles of " +
                     std::to_string(product.rows.most()) + " x " + std::to_string(product.width()) + " vectors" +
                     (product.mirrored ? ", one half mirrored" : "") +
                     (product.split() ? ", k in " + std::to_string(product.depth.count) + " parts" : "") +
                     (product.partsFirst ? ", each by all columns" : "");
  switch (product.pack) {
    case PackB::None: return text;
    case PackB::Rows: return text + ", B packed by rows";
    case PackB::Transpose: return text + ", B packed and transposed";
    case PackB::Elements: return text + ", B packed by elements";
  }
  return text;
}
std::string describe(const StreamedProduct& product) {
  return "streamed product" + std::string(describe(product.terms));
}
std::string describe(const SmallProduct& product) {
  return "small products: " + std::to_string(product.rows.most()) + " x " + std::to_string(product.vectors) +
         " vectors of " + std::to_string(product.lanes) + (product.turned ? ", turned" : "");
}
std::string describe(const InterleavedProduct& product) {
  return "interleaved products: " + std::to_string(product.rows.most()) + " x " +
         std::to_string(product.columns.most()) + " vectors of " + std::to_string(product.lanes) + " matrices";
}
std::string describe(const DepthwiseConvolution&) { return "depthwise convolution"; }

}  // namespace tenc::codegen::cpu
