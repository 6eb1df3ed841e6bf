#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/KernelShape.h"
#include "codegen/cuda/Scatter.h"
#include "codegen/cuda/ScatterSteps.h"

namespace tenc::codegen::cuda {
namespace {

using ir::OpKind;
using Form = ScatterPlan::Form;

constexpr int64_t kMostSerial = 32;     // lines one after the other that are no worth a second launch
constexpr int64_t kSerialThreads = 64;  // threads for each line of a loop that keep a GPU as busy
constexpr int64_t kMostShort = 4096;  // lines that a block sorts in shared memory, half as many with places of 64 bits
constexpr int64_t kSortOfThread = 8;  // of those
constexpr int64_t kMostClear = 16;    // places for each line, of which the latest is kept
constexpr int64_t kThreads = 256, kMostBlocks = 65536;

bool loads(const Stage& s, uint32_t buffer, ExprId except) {
  for (ExprId id = 0; id < s.exprs.size(); ++id)
    if (id != except && s.exprs[id].kind == Expr::Kind::Load && s.exprs[id].access.buffer == buffer) return true;
  return false;
}

/// What is stored or combined; false where the stage is no update of one tensor.
bool isUpdate(const Kernel& k, ScatterPlan& p) {
  if (k.kind != Kernel::Kind::Loop || k.stages.size() != 1 || !k.reductions.empty()) return false;
  const Stage& s = k.stages[0];
  if (!s.ordered || s.stores.size() != 1 || trips(s.innerLo, s.innerHi) == 0) return false;
  for (size_t v = 0; v < k.outer.size(); ++v)
    if (!coversAll(k, s, v) || k.outer[v] == 0) return false;
  const Store& store = s.stores[0];
  const uint32_t buffer = store.access.buffer;
  const auto isEmpty = [](const Access::Term& t) { return t.extent == 0; };
  if (std::any_of(store.access.terms.begin(), store.access.terms.end(), isEmpty)) return false;
  const Expr& e = s.exprs[store.value];
  ExprId before = kNoExpr;
  if (e.kind == Expr::Kind::Op && e.args.size() == 2) {
    const Expr& first = s.exprs[e.args[0]];
    if (first.kind == Expr::Kind::Load && first.access.buffer == buffer) before = e.args[0];
  }
  p.update = before == kNoExpr ? store.value : e.args[1];
  if (before != kNoExpr) p.combined = store.value;
  return !loads(s, buffer, before);
}

/// Which loop variables are of lines and which of columns, and the numbers of places.
void divide(const Kernel& k, ScatterPlan& p) {
  const Stage& s = k.stages[0];
  const Access& to = s.stores[0].access;
  std::vector<int64_t> extents = k.outer;
  for (size_t i = 0; i < s.innerLo.size(); ++i) extents.push_back(s.innerHi[i] - s.innerLo[i]);
  p.place = to;
  p.unit = to.offset;
  for (size_t v = 0; v < extents.size(); ++v) {
    const std::vector<bool> varies = varying(s, v);
    const bool indexed = std::any_of(to.terms.begin(), to.terms.end(), [&](const auto& t) { return varies[t.index]; });
    const bool isLine = v >= k.outer.size() || indexed || strideOf(to, v) <= 0;
    (isLine ? p.lineVars : p.columnVars).push_back(v);
    (isLine ? p.lineExtents : p.columnExtents).push_back(extents[v]);
    (isLine ? p.lines : p.columns) *= extents[v];
    if (isLine)
      p.unit = std::gcd(p.unit, strideOf(to, v));
    else
      p.place.strides[v] = 0;
  }
  for (const Access::Term& t : to.terms) p.unit = std::gcd(p.unit, t.stride);
  p.unit = std::max<int64_t>(p.unit, 1);
  p.place.offset /= p.unit;
  for (int64_t& stride : p.place.strides) stride /= p.unit;
  for (Access::Term& t : p.place.terms) t.stride /= p.unit;
  p.places = (k.buffers[to.buffer].elements + p.unit - 1) / p.unit;
}

/// Whether elements may come in any order, by operations of the hardware's width.
bool isAtomic(const Kernel& k, const ScatterPlan& p) {
  if (p.combined == kNoExpr) return false;
  const Expr& e = k.stages[0].exprs[p.combined];
  if (ir::byteSize(e.dtype) < 4) return false;
  return e.op == OpKind::Max || e.op == OpKind::Min || (e.op == OpKind::Add && !ir::isFloat(e.dtype));
}

/// Elements that many updates share are combined by each block in shared memory, and then by all of them: integers,
/// which are the same in any order. As many blocks as a GPU holds, as each of them ends with an update of each element.
void planOwn(const Kernel& k, ScatterPlan& p) {
  constexpr int64_t kMostBytes = 32768, kManyUpdates = 64, kMostOwners = 132 * 4, kLeastOfThread = 16;
  const Expr& e = k.stages[0].exprs[p.combined];
  const int64_t elements = k.buffers[k.stages[0].stores[0].access.buffer].elements, updates = p.lines * p.columns;
  if (ir::isFloat(e.dtype) || elements * ir::byteSize(e.dtype) > kMostBytes || updates / kManyUpdates < elements)
    return;
  p.own = elements;
  p.launches.schedule.blocks =
      static_cast<uint32_t>(std::clamp<int64_t>(updates / (kThreads * kLeastOfThread), 1, kMostOwners));
}

uint64_t widthOf(const std::string& type) { return type == "unsigned" ? 4 : 8; }

Form formOf(const Kernel& k, const ScatterPlan& p) {
  if (isAtomic(k, p)) return Form::Atomic;
  if (p.lines <= (widthOf(p.placeType()) == 4 ? kMostShort : kMostShort / 2)) return Form::Short;
  if (p.combined == kNoExpr && p.places / kMostClear <= p.lines) return Form::Latest;
  return Form::Long;
}

Schedule threadsFor(int64_t items) {
  Schedule s;
  s.threads = kThreads;
  s.blocks = static_cast<uint32_t>(std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
  return s;
}

/// The widest vectors of columns that the store allows.
int64_t vectorOf(const Kernel& k, const ScatterPlan& p) {
  constexpr int64_t kWidest = 8;
  if (p.combined == kNoExpr || p.columnVars.empty()) return 1;
  const Stage& s = k.stages[0];
  int64_t width = kWidest;
  while (width > 1 && (p.columnExtents.back() % width != 0 || width * costOf(s) > kLongCode ||
                       !isVector(k, s, s.stores[0].access, p.columnVars.back(), static_cast<int>(width))))
    width /= 2;
  return width;
}

void planLatest(ScatterPlan& p) {
  LaunchPlan& l = p.launches;
  l.functions = {threadsFor(p.places), threadsFor(p.lines), l.schedule};
  l.launches = {ClearPlaces, MarkLatest, StoreLatest};
  l.workspaceBytes = static_cast<uint64_t>(p.places) * widthOf(p.lineType());
}

void planShort(ScatterPlan& p) {
  LaunchPlan& l = p.launches;
  p.length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(p.lines, 2))));
  Schedule sort;
  sort.threads = static_cast<uint32_t>(std::clamp<int64_t>(p.length / kSortOfThread, 32, 1024));
  l.functions = {sort, l.schedule};
  l.launches = {SortShort, ShortSegments};
  l.workspaceBytes = static_cast<uint64_t>(p.lines) * (widthOf(p.placeType()) + widthOf(p.lineType()));
}

void planLong(ScatterPlan& p) {
  LaunchPlan& l = p.launches;
  const WideSort sort = sortOf(p);
  l.functions = sort.functions();
  l.functions[NumberLines] = threadsFor(p.lines);
  l.functions.push_back(l.schedule);
  int64_t digits = 0;
  for (int64_t places = p.places - 1; places > 0; places >>= 8) ++digits;
  l.launches = WideSort::launches(digits);
  l.launches.push_back(LongSegments);
  l.workspaceBytes = sortOffset(p) + sort.bytes();
}

}  // namespace

uint64_t sortOffset(const ScatterPlan& p) {
  constexpr uint64_t kAlignment = 16;
  return (static_cast<uint64_t>(p.lines) * widthOf(p.placeType()) + kAlignment - 1) / kAlignment * kAlignment;
}

WideSort sortOf(const ScatterPlan& p) { return {1, p.lines, static_cast<int64_t>(widthOf(p.placeType())), true}; }

std::string ScatterPlan::placeType() const { return places < int64_t{1} << 31 ? "unsigned" : "unsigned long long"; }

std::string ScatterPlan::lineType() const { return lines < int64_t{1} << 31 ? "unsigned" : "unsigned long long"; }

std::string ScatterPlan::text() const {
  const std::string many = launches.functions.empty() ? "" : " in " + decimal(launches.launches.size()) + " launches";
  const std::string points =
      decimal(launches.schedule.blocks) + " blocks of " + decimal(launches.schedule.threads) + " threads, ";
  switch (form) {
    case Form::Atomic: return points + (own > 0 ? "atomic updates, first in shared memory" : "atomic updates");
    case Form::Latest: return points + "the last update of each place," + many;
    case Form::Short: return points + "updates in order, sorted by place in shared memory," + many;
    case Form::Long: return points + "updates in order, sorted by place digit by digit," + many;
  }
  return "";
}

std::optional<ScatterPlan> planScatter(const Kernel& k) {
  ScatterPlan p;
  if (!isUpdate(k, p)) return std::nullopt;
  divide(k, p);
  const Stage& s = k.stages[0];
  const int64_t serial = trips(s.innerLo, s.innerHi), beside = p.lines / serial * p.columns;
  p.form = formOf(k, p);
  const bool isQuick = serial <= kMostSerial || beside / kSerialThreads >= serial;
  if (p.form != Form::Atomic && isQuick) return std::nullopt;
  if (p.form == Form::Short || p.form == Form::Long) p.vector = vectorOf(k, p);
  p.launches.schedule = threadsFor(p.lines * (p.columns / p.vector));
  switch (p.form) {
    case Form::Atomic: planOwn(k, p); break;
    case Form::Latest: planLatest(p); break;
    case Form::Short: planShort(p); break;
    case Form::Long: planLong(p); break;
  }
  return p;
}

}  // namespace tenc::codegen::cuda
