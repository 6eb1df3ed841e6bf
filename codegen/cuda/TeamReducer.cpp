#include "codegen/cuda/TeamReducer.h"

#include <algorithm>
#include <bit>

#include "codegen/cuda/IndexText.h"

namespace tenc::codegen::cuda {
namespace {

constexpr int kWarpsInOrder = 8;  // values of more warps go from lane to lane

}  // namespace

// Of Rows: a value a warp and reduction; of Columns: one a thread and point.
void TeamReducer::declare(const std::vector<Reduction>& reductions, Repr positions) {
  if (reductions.empty() || schedule_.team == 1) return;
  const bool columns = schedule_.family == Schedule::Family::Columns;
  if (!columns && schedule_.inWarps()) return;
  const size_t values = columns ? schedule_.threads * static_cast<size_t>(schedule_.vector) : reductions.size() * 32;
  const bool wide = std::any_of(reductions.begin(), reductions.end(),
                                [](const Reduction& r) { return bitWidth(reprOf(r.accumulator)) == 64; });
  out_.line("__shared__ " + std::string(wide ? "unsigned long long" : "unsigned") + " partial[" + decimal(values) +
            "];");
  if (std::any_of(reductions.begin(), reductions.end(), [](const Reduction& r) { return r.position != kNoExpr; }))
    out_.line("__shared__ " + std::string(registerType(positions)) + " positions[" + decimal(values) + "];");
}

std::string TeamReducer::each() const { return lanes() ? "[" + decimal(schedule_.vector) + "]" : ""; }
std::string TeamReducer::mine() const { return lanes() ? "[v]" : ""; }

void TeamReducer::openLanes() {
  if (!lanes()) return;
  out_.line("#pragma unroll");
  out_.open("for (int v = 0; v < " + decimal(schedule_.vector) + "; ++v)");
}
void TeamReducer::closeLanes() {
  if (lanes()) out_.close();
}

Held TeamReducer::hold(const ScalarReducer& reducer) {
  const std::string value = out_.fresh("a"), position = reducer.isArg() ? out_.fresh("p") : "";
  out_.line(std::string(registerType(reprOf(reducer.accumulator()))) + " " + value + each() + ";");
  if (reducer.isArg()) out_.line(std::string(registerType(reducer.positions())) + " " + position + each() + ";");
  const Held h{reducer, value + mine(), reducer.isArg() ? position + mine() : ""};
  openLanes();
  assign(h, reducer.identity());
  closeLanes();
  return h;
}

Accumulated TeamReducer::now(const Held& h) {
  Accumulated a{scalars_.wrap(h.value, reprOf(h.reducer.accumulator())), {}};
  if (h.reducer.isArg()) a.position = scalars_.wrap(h.position, h.reducer.positions());
  return a;
}

void TeamReducer::assign(const Held& h, const Accumulated& a) {
  out_.line(h.value + " = " + CudaScalars::text(a.value) + ";");
  if (h.reducer.isArg()) out_.line(h.position + " = " + CudaScalars::text(a.position) + ";");
}

std::string TeamReducer::bits(const Held& h) const {
  const Repr r = reprOf(h.reducer.accumulator());
  if (r == Repr::F32) return "__float_as_uint(" + h.value + ")";
  if (r == Repr::F64) return "(unsigned long long)__double_as_longlong(" + h.value + ")";
  return h.value;
}

Accumulated TeamReducer::ofBits(const Held& h, const std::string& bits, const std::string& position) {
  const Repr r = reprOf(h.reducer.accumulator());
  std::string value = "(" + std::string(registerType(r)) + ")" + bits;
  if (r == Repr::F32) value = "__uint_as_float((unsigned)" + bits + ")";
  if (r == Repr::F64) value = "__longlong_as_double((long long)" + bits + ")";
  if (!h.reducer.isArg()) return {scalars_.named(value, r), {}};
  const Repr positions = h.reducer.positions();
  return {scalars_.named(value, r),
          scalars_.named("(" + std::string(registerType(positions)) + ")" + position, positions)};
}

void TeamReducer::wait() {
  isRead_ = false;
  out_.line(schedule_.inWarps() && schedule_.family == Schedule::Family::Rows ? "__syncwarp(mask);"
                                                                              : "__syncthreads();");
}

std::string TeamReducer::place(size_t slot, const std::string& row) const {
  if (schedule_.family == Schedule::Family::Columns)
    return "[" + sumOf({lanes() ? times("v", schedule_.threads) : "0", times(row, 32), "threadIdx.x % 32"}) + "]";
  const std::string first = times("threadIdx.x / " + decimal(schedule_.team), schedule_.team / 32);
  return "[" + sumOf({decimal(slot * 32), alone() ? "0" : first, row}) + "]";
}

void TeamReducer::leave(const Held& h, size_t slot, const std::string& row) {
  const std::string at = place(slot, row);
  out_.line("partial" + at + " = " + bits(h) + ";");
  if (h.reducer.isArg()) out_.line("positions" + at + " = " + h.position + ";");
}

Accumulated TeamReducer::left(const Held& h, size_t slot, const std::string& row) {
  const std::string at = place(slot, row);
  return ofBits(h, "partial" + at, "positions" + at);
}

void TeamReducer::shuffled(const Held& h, const std::string& function, const std::string& lane, bool merged) {
  const bool wide = bitWidth(reprOf(h.reducer.accumulator())) == 64;
  const std::string b = out_.fresh("b"), p = out_.fresh("b");
  const std::string type = wide ? "unsigned long long" : "unsigned",
                    mask = schedule_.inWarps() ? "mask" : "0xffffffffu";
  const std::string tail = ", " + lane + (schedule_.team < 32 ? ", " + decimal(schedule_.team) : "") + ");";
  out_.line("const " + type + " " + b + " = " + function + "(" + mask + ", (" + type + ")" + bits(h) + tail);
  if (h.reducer.isArg())
    out_.line("const " + std::string(registerType(h.reducer.positions())) + " " + p + " = " + function + "(" + mask +
              ", " + h.position + tail);
  const Accumulated other = ofBits(h, b, p);
  merged ? merge(h, other) : assign(h, other);
}

void TeamReducer::acrossColumns(const Held& h, size_t slot, bool toAll) {
  waitForReaders();
  openLanes();
  leave(h, slot, "threadIdx.x / 32");
  closeLanes();
  wait();
  out_.open("if (threadIdx.x < 32)");
  openLanes();
  out_.line("#pragma unroll 8");
  out_.open("for (int w = 1; w < " + decimal(schedule_.team) + "; ++w)");
  merge(h, left(h, slot, "w"));
  out_.close();
  if (toAll) leave(h, slot, "0");
  closeLanes();
  out_.close();
  if (toAll) {
    wait();
    openLanes();
    assign(h, left(h, slot, "0"));
    closeLanes();
  }
  isRead_ = true;
}

void TeamReducer::across(std::span<const Held> held, std::span<const uint32_t> slots, bool toAll) {
  if (held.empty()) return;
  if (schedule_.family == Schedule::Family::Columns) {
    for (size_t i = 0; i < held.size(); ++i) acrossColumns(held[i], slots[i], toAll);
    return;
  }
  // Lanes in pairs, pairs in fours and so on: both of two lanes come to the same.
  out_.line("#pragma unroll");
  out_.open("for (int by = " + decimal(std::min(schedule_.team, 32) / 2) + "; by > 0; by >>= 1)");
  for (const Held& h : held) shuffled(h, "__shfl_xor_sync", "by", true);
  out_.close();
  if (schedule_.inWarps()) return;
  out_.open("if (threadIdx.x % 32 == 0)");
  for (size_t i = 0; i < held.size(); ++i) leave(held[i], slots[i], alone() ? "threadIdx.x / 32" : "lane / 32");
  out_.close();
  wait();
  if (const int warps = schedule_.team / 32; warps > kWarpsInOrder) {
    for (size_t i = 0; i < held.size(); ++i) acrossWarps(held[i], slots[i], warps);
    return;
  }
  for (size_t i = 0; i < held.size(); ++i) assign(held[i], left(held[i], slots[i], "0"));
  out_.line("#pragma unroll");
  out_.open("for (int w = 1; w < " + decimal(schedule_.team / 32) + "; ++w)");
  for (size_t i = 0; i < held.size(); ++i) merge(held[i], left(held[i], slots[i], "w"));
  out_.close();
}

// Each warp by itself, in lanes as before: two instructions a step, where one thread takes two a warp.
void TeamReducer::acrossWarps(const Held& h, size_t slot, int warps) {
  const int lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(warps)));
  const std::string lane = "threadIdx.x % " + decimal(lanes);
  assign(h, h.reducer.identity());
  if (lanes > warps) out_.open("if (" + lane + " < " + decimal(warps) + ")");
  assign(h, left(h, slot, lane));
  if (lanes > warps) out_.close();
  out_.line("#pragma unroll");
  out_.open("for (int by = " + decimal(lanes / 2) + "; by > 0; by >>= 1)");
  shuffled(h, "__shfl_xor_sync", "by", true);
  out_.close();
}

void TeamReducer::fromFirst(const Held& h, size_t slot, bool toAll) {
  if (schedule_.family == Schedule::Family::Rows && schedule_.inWarps()) {
    shuffled(h, "__shfl_sync", "0", false);
    return;
  }
  const bool columns = schedule_.family == Schedule::Family::Columns;
  if (columns && !toAll) return;
  waitForReaders();
  out_.open(columns ? "if (threadIdx.x < 32)" : "if (lane == 0)");
  openLanes();
  leave(h, slot, "0");
  closeLanes();
  out_.close();
  wait();
  openLanes();
  assign(h, left(h, slot, "0"));
  closeLanes();
  isRead_ = columns;
}

}  // namespace tenc::codegen::cuda
