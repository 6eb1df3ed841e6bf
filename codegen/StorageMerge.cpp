// Which storages become one: updates, what loops and branches carry, and results that take over dying operands.
#include <algorithm>

#include "codegen/Storage.h"
#include "ir/Loops.h"

namespace tenc::codegen {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

/// A carried argument and the loop's result are one storage; in `while` the arguments of both regions.
void Storage::mergeLoops(const Region& r) {
  for (const auto& op : r.ops) {
    if (op->kind == OpKind::Fused) continue;
    if (ir::isLoop(*op)) {
      const size_t lead = ir::firstCarriedArg(*op);
      for (size_t i = 0; i < op->results.size(); ++i) {
        uint32_t c = classes_.at(op->result(i));
        for (const auto& inner : op->regions) { join(c, classes_.at(inner->args[lead + i].get())); }
        all_[find(c)].frozen = true;
      }
    }
    for (const auto& inner : op->regions) mergeLoops(*inner);
  }
}

namespace {

// A page of a mapped file that is written to is copied first, by a fault that takes far longer than the copy.
bool isLittle(const Kernel& update, const ir::Type& of) {
  constexpr double kLittle = 1.0 / 16;
  double points = 1;
  for (const int64_t extent : update.outer) points *= static_cast<double>(extent);
  return update.kind == Kernel::Kind::Loop && points <= kLittle * static_cast<double>(of.size());
}

}  // namespace

void Storage::mergeUpdates(const Region& r) {
  for (const auto& op : r.ops) {
    if (op->kind == OpKind::Fused) {
      if (!kernels_.hasKernel(*op)) continue;
      const Kernel& k = kernels_.kernel(*op);
      for (size_t b = 0; b < k.bufferOperand.size(); ++b) {
        if (k.bufferOperand[b] < 0 || k.bufferResult[b] < 0) continue;
        const Value* old = op->operand(static_cast<size_t>(k.bufferOperand[b]));
        if (!whole(old) || (isMapped(*root(old)) && !isLittle(k, old->type))) continue;
        tryMerge(classOf(old), classOf(op->result(static_cast<size_t>(k.bufferResult[b]))));
      }
      continue;
    }
    for (const auto& inner : op->regions) mergeUpdates(*inner);
  }
}

void Storage::mergeCarried(const Region& r) {
  for (const auto& op : r.ops) {
    if (op->kind == OpKind::Fused) continue;
    for (const auto& inner : op->regions) mergeCarried(*inner);
    mergeCarriedOf(*op);
  }
}

void Storage::mergeCarriedOf(const Op& op) {
  const bool loop = ir::isLoop(op);
  if (!loop && op.kind != OpKind::If) return;
  const size_t lead = ir::firstCarriedOperand(op);
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Value* result = op.result(i);
    for (const auto& inner : op.regions) {
      if (op.kind == OpKind::While && inner == op.regions[0]) continue;
      const Value* y = inner->terminator()->operand(i);
      if (whole(y)) tryMerge(classOf(y), classOf(result));
    }
    if (loop) {  // a branch starts from nothing
      const Value* start = op.operand(lead + i);
      if (whole(start) && !isMapped(*root(start))) tryMerge(classOf(start), classOf(result));
    }
    all_[find(classes_.at(result))].frozen = true;
  }
}

/// What could not be merged is copied or exchanged.
void Storage::planExchanges(const Region& r) {
  for (const auto& opPtr : r.ops) {
    const Op& op = *opPtr;
    if (op.kind == OpKind::Fused) continue;
    for (const auto& inner : op.regions) planExchanges(*inner);
    const bool loop = ir::isLoop(op);
    if (!loop && op.kind != OpKind::If) continue;
    const size_t lead = ir::firstCarriedOperand(op);
    std::unordered_set<uint32_t> exchanged;
    for (size_t i = 0; i < op.results.size(); ++i) {
      uint32_t carried = classOf(op.result(i));
      if (loop) {
        const Value* init = op.operand(lead + i);
        if (!whole(init) || classOf(init) != carried) {
          before_[&op].push_back({init, carried});
          writtenBy(carried, 2 * begin_.at(&op) - 1);
        }
      }
      for (const auto& inner : op.regions) {
        if (op.kind == OpKind::While && inner == op.regions[0]) continue;
        const Value* y = inner->terminator()->operand(i);
        uint32_t own = classOf(y);
        if (own == carried && whole(y)) continue;
        bool inside = loop && whole(y);
        if (inside) {
          const Class& c = all_[own];
          inside =
              !c.pinned && c.bytes == all_[carried].bytes && c.device == all_[carried].device && !all_[carried].pinned;
          for (const Life& l : c.lives) inside = inside && l.start > 2 * begin_.at(&op) && l.end < 2 * end_.at(&op);
        }
        if (inside && exchanged.insert(own).second) {
          swaps_[&op].emplace_back(carried, own);
          all_[own].frozen = true;
        } else {
          atEnd_[inner.get()].push_back({y, carried});
          writtenBy(carried, 2 * begin_.at(inner->terminator()) - 1);
        }
      }
    }
  }
}

/// A copy into the storage is made at `time`, while other values are still to be read.
void Storage::writtenBy(uint32_t c, int64_t time) {
  auto [it, fresh] = written_.emplace(c, time);
  if (!fresh) it->second = std::min(it->second, time);
}

/// Results of elementwise kernels take over operands that die there.
void Storage::reuse(const Region& r) {
  for (const auto& op : r.ops) {
    if (op->kind == OpKind::Fused) {
      for (const auto& res : op->results) {
        for (const Value* v : op->operands()) {
          if (!has(v) || !whole(v) || v->type.bytes() != res->type.bytes()) continue;
          if (isMapped(*root(v))) continue;  // a page of a file that is written to is copied first
          uint32_t a = classOf(v);
          uint32_t b = classOf(res.get());
          if (a == b || all_[a].frozen || all_[b].frozen || v->type.bytes() < 4096) continue;
          if (tryMerge(a, b)) break;
        }
      }
      continue;
    }
    for (const auto& inner : op->regions) reuse(*inner);
  }
}

}  // namespace tenc::codegen
