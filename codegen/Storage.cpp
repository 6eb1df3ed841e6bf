#include "codegen/Storage.h"

#include <algorithm>

#include "codegen/InPlace.h"
#include "ir/Loops.h"
#include "ir/Views.h"

namespace tenc::codegen {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

namespace {

constexpr int64_t kForever = int64_t{1} << 60;

/// Whether what is in the op's regions may run more than once.
bool runsItsRegionsOften(const Op& op) { return ir::isLoop(op) || op.kind == OpKind::Bench; }

uint64_t storedBytes(const ir::Type& t) { return std::max<uint64_t>(8, static_cast<uint64_t>(t.bytes())); }

}  // namespace

Storage::Storage(const ir::Module& m, const ir::Func& f, const KernelSet& kernels) : m_(m), kernels_(kernels) {
  devices_.emplace_back(ir::DeviceTable::kHost);
  for (const auto& arg : f.body->args) {
    define(arg.get(), -1);
    Class& c = all_[classes_.at(arg.get())];
    c.pinned = true;
    c.lives[0].end = kForever;  // the caller has it, whether it is used or not
  }
  number(*f.body);
  const Op* ret = f.body->terminator();
  if (ret) {
    for (const Value* v : ret->operands()) extend(v, kForever);
  }
  mergeLoops(*f.body);
  mergeUpdates(*f.body);
  mergeCarried(*f.body);
  planExchanges(*f.body);
  reuse(*f.body);
  finish();
}

uint32_t Storage::deviceOf(const Value* v) const {
  if (v->type.place.isFree()) return 0;
  std::string_view actual = m_.actual(v->type.place.device);
  for (uint32_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i] == actual) return i;
  }
  return 0;
}

uint32_t Storage::find(uint32_t c) const {
  while (all_[c].parent != c) c = all_[c].parent;
  return c;
}

bool Storage::whole(const Value* v) const {
  const auto& [r, offset] = roots_.at(v);
  return offset == 0 && r->type.bytes() == v->type.bytes();
}

void Storage::define(const Value* v, int64_t start) {
  roots_[v] = {v, 0};
  if (!v->type.place.isFree()) {
    std::string actual(m_.actual(v->type.place.device));
    if (std::find(devices_.begin(), devices_.end(), actual) == devices_.end()) devices_.push_back(actual);
  }
  uint32_t id = static_cast<uint32_t>(all_.size());
  classes_[v] = id;
  Class c{id, storedBytes(v->type), deviceOf(v), false, false, {}};
  c.lives.push_back({start, start + 1, v});
  all_.push_back(std::move(c));
}

void Storage::alias(const Value* v, const Value* of, uint64_t byteOffset) {
  const auto& [r, offset] = roots_.at(of);
  roots_[v] = {r, offset + byteOffset};
}

/// Joins the lives that begin in branches which have ended: what comes now may follow either of them.
void Storage::closeBranches(Class& c) const {
  const auto isOpen = [&](int64_t choice) {
    return std::any_of(branches_.begin(), branches_.end(), [&](const Branch& b) {
      // What is chosen inside the first branch does not run where the second does.
      const bool insideFirst = !b.first && choice > b.choice && 2 * choice < b.start;
      return b.choice == choice || insideFirst;
    });
  };
  while (c.lives.size() > 1 && !isOpen(c.lives.back().choice)) {
    const int64_t end = c.lives.back().end;
    c.lives.pop_back();
    c.lives.back().end = std::max(c.lives.back().end, end);
  }
}

/// The value is in use until `end`, whatever runs before.
void Storage::extend(const Value* v, int64_t end) {
  std::vector<Life>& lives = all_[classes_.at(root(v))].lives;
  end = std::max(end, lives.back().end);
  lives.resize(1, lives[0]);
  lives[0].end = std::max(lives[0].end, end);
}

void Storage::use(const Value* v, int64_t at) {
  constexpr size_t kMostLives = 16;
  const Value* r = root(v);
  auto it = classes_.find(r);
  if (it == classes_.end()) return;
  Class& c = all_[it->second];
  closeBranches(c);
  for (const Branch& b : branches_) {
    const bool inside = c.lives[0].start >= 2 * b.choice;
    if (b.first || inside || c.lives.back().end > b.start || c.lives.size() == kMostLives) continue;
    c.lives.back().end = std::max(c.lives.back().end, 2 * b.choice + 1);
    c.lives.push_back({b.start, b.start + 1, c.lives[0].value, b.choice});
  }
  c.lives.back().end = std::max(c.lives.back().end, at);
}

bool Storage::isOnHost(const ir::Type& t) const {
  return t.place.isFree() || m_.actual(t.place.device) == ir::DeviceTable::kHost;
}

/// Gives positions to ops (two units each: reads at 2p, writes until 2p + 1) and lives to values.
void Storage::number(const Region& r) {
  for (const auto& opPtr : r.ops) {
    const Op& op = *opPtr;
    int64_t p = clock_++;
    begin_[&op] = p;
    bool simple = op.regions.empty() || op.kind == OpKind::Fused;
    bool terminator = op.has(ir::Trait::Terminator);
    for (const Value* v : op.operands()) use(v, 2 * p + (simple && !terminator ? 1 : 0));
    if (simple) {
      end_[&op] = p;
      if (terminator) continue;
      const Value* source = op.operandCount() ? op.operand(0) : nullptr;
      const bool takesOver = op.kind == OpKind::Load && op.firstTextOperand() == 1 && isOnHost(op.result()->type);
      if ((op.kind == OpKind::Reshape || takesOver) && has(source)) {
        alias(op.result(), source, 0);
      } else if (op.kind == OpKind::Slice && has(source)) {
        auto view = ir::stridedView(op.result(), [&](const Value* x) { return x == source; });
        alias(op.result(), source, static_cast<uint64_t>(view->offset * ir::byteSize(source->type.dtype)));
      } else if (op.kind == OpKind::Transfer && has(source) &&
                 storedBytes(source->type) == storedBytes(op.result()->type) &&
                 m_.actual(op.result()->type.place.isFree()
                               ? ir::DeviceTable::kHost
                               : std::string_view(op.result()->type.place.device)) == devices_[deviceOf(source)]) {
        alias(op.result(), source, 0);
      } else {
        for (const auto& res : op.results) define(res.get(), 2 * p);
      }
      if (op.kind == OpKind::Constant) {
        Class& c = all_[classes_.at(op.result())];
        c.pinned = true;
        c.lives[0] = {-1, kForever, op.result()};
      }
      continue;
    }
    size_t firstInside = all_.size();
    const bool chooses = op.kind == OpKind::If;
    for (const auto& inner : op.regions) {
      for (const auto& arg : inner->args) define(arg.get(), 2 * p);
      if (chooses) branches_.push_back({p, 2 * clock_, inner == op.regions[0]});
      number(*inner);
      if (chooses) branches_.pop_back();
      if (op.kind == OpKind::While && inner == op.regions[0]) {
        // What the condition reads is still wanted by the body.
        int64_t now = 2 * clock_;
        for (const auto& arg : inner->args) extend(arg.get(), now - 1);
      }
    }
    int64_t e = clock_++;
    end_[&op] = e;
    if (op.kind == OpKind::For) extend(op.regions[0]->args[0].get(), 2 * e);  // the induction variable
    if (runsItsRegionsOften(op)) {
      // Values from outside that are read inside stay until the last trip is over.
      for (size_t i = 0; i < firstInside; ++i) {
        closeBranches(all_[i]);
        Life& l = all_[i].lives.back();
        if (l.end > 2 * p + 1 && l.end < 2 * e) l.end = 2 * e;
      }
    }
    for (const auto& res : op.results) define(res.get(), 2 * e);
  }
}

bool Storage::inPlace(const Op& op, const Value* from, const Value* to) const {
  if (op.kind != OpKind::Fused || !kernels_.hasKernel(op)) return false;
  const Kernel& k = kernels_.kernel(op);
  const auto updated = [&](size_t i) -> const Value* {
    for (size_t b = 0; b < k.bufferOperand.size(); ++b)
      if (k.bufferOperand[b] == static_cast<int32_t>(i) && k.bufferResult[b] >= 0)
        return op.result(static_cast<size_t>(k.bufferResult[b]));
    return nullptr;
  };
  int operand = -1, reads = 0, updates = 0;
  for (size_t i = 0; i < op.operandCount(); ++i) {
    auto r = roots_.find(op.operand(i));
    if (r == roots_.end() || r->second.first != from) continue;
    if (r->second.second != 0) return false;
    ++reads;
    updates += updated(i) != nullptr ? 1 : 0;
    if (operand < 0 || updated(i) == to) operand = static_cast<int>(i);
  }
  // Read in two ways. Where all are updates, those of other results are copies that are made before the kernel runs.
  if (operand < 0 || (reads > 1 && updates != reads)) return false;
  // Where an update is not in the memory of the old value, that is copied there first: over nothing that is still read.
  for (uint32_t r = 0; r < k.bufferResult.size(); ++r) {
    if (k.bufferResult[r] >= 0 && op.result(static_cast<size_t>(k.bufferResult[r])) == to &&
        k.buffers[r].role == Buffer::Role::InOut && k.bufferOperand[r] != operand)
      return false;
  }
  for (uint32_t b = 0; b < k.bufferOperand.size(); ++b) {
    if (k.bufferOperand[b] != operand) continue;
    for (uint32_t r = 0; r < k.bufferResult.size(); ++r) {
      if (k.bufferResult[r] < 0 || op.result(static_cast<size_t>(k.bufferResult[r])) != to) continue;
      if (r == b) return true;  // an update

      return kernels_.needs(op).argument(b).overwritable && mayWriteOver(k, b, r);
    }
  }
  // A scalar is read by value before the kernel runs.
  return std::find(k.scalarOperand.begin(), k.scalarOperand.end(), static_cast<uint32_t>(operand)) !=
         k.scalarOperand.end();
}

/// Whether `y` is made by the op that reads `x` last, in x's memory.
bool Storage::handsOver(const Life& x, const Life& y) const {
  const Op* op = y.value->op;
  if (!op || (!op->regions.empty() && op->kind != OpKind::Fused)) return false;
  auto at = begin_.find(op);
  if (at == begin_.end() || y.start != 2 * at->second || x.end > y.start + 1) return false;
  return inPlace(*op, x.value, y.value);
}

bool Storage::conflict(const Class& a, const Class& b) const {
  const Class& few = a.lives.size() <= b.lives.size() ? a : b;
  const Class& many = &few == &a ? b : a;
  for (const Life& x : few.lives) {
    auto it = std::lower_bound(many.lives.begin(), many.lives.end(), x.start,
                               [](const Life& l, int64_t t) { return l.end <= t; });
    // Lives of one storage follow each other, but for the moment of a hand-over.
    if (it != many.lives.begin()) --it;
    for (; it != many.lives.end() && it->start < x.end; ++it) {
      if (it->end <= x.start) continue;
      if (!handsOver(x, *it) && !handsOver(*it, x)) return true;
    }
  }
  return false;
}

void Storage::join(uint32_t a, uint32_t b) {
  a = find(a);
  b = find(b);
  if (a == b) return;
  if (all_[a].lives.size() < all_[b].lives.size()) std::swap(a, b);
  Class& into = all_[a];
  Class& from = all_[b];
  size_t middle = into.lives.size();
  into.lives.insert(into.lives.end(), from.lives.begin(), from.lives.end());
  auto before = [](const Life& x, const Life& y) { return x.start != y.start ? x.start < y.start : x.end < y.end; };
  std::inplace_merge(into.lives.begin(), into.lives.begin() + static_cast<std::ptrdiff_t>(middle), into.lives.end(),
                     before);
  into.pinned |= from.pinned;
  into.frozen |= from.frozen;
  from.lives.clear();
  from.parent = a;
}

bool Storage::tryMerge(uint32_t a, uint32_t b) {
  a = find(a);
  b = find(b);
  if (a == b) return true;
  const Class& x = all_[a];
  const Class& y = all_[b];
  if (x.bytes != y.bytes || x.device != y.device || x.pinned || y.pinned || conflict(x, y)) return false;
  join(a, b);
  return true;
}

void Storage::finish() {
  items_.resize(all_.size());
  for (uint32_t i = 0; i < all_.size(); ++i) {
    const Class& c = all_[i];
    if (c.parent != i || c.lives.empty()) continue;
    Item& item = items_[i];
    item.bytes = c.bytes;
    item.device = c.device;
    item.start = c.lives.front().start;
    item.value = c.lives.front().value;
    for (const Life& l : c.lives) item.end = std::max(item.end, l.end);
  }
  align();
  for (uint32_t i = 0; i < all_.size(); ++i) items_[i].inFile = items_[i].bytes > 0 && staysInFile(i);
  for (const auto& [c, time] : written_) items_[find(c)].start = std::min(items_[find(c)].start, time);
  // Storages that are exchanged live together: either may be at either address.
  std::vector<uint32_t> group(all_.size());
  for (uint32_t i = 0; i < group.size(); ++i) group[i] = i;
  auto leader = [&](uint32_t i) {
    while (group[i] != i) i = group[i];
    return i;
  };
  for (const auto& [op, pairs] : swaps_) {
    for (const auto& [a, b] : pairs) group[leader(find(a))] = leader(find(b));
  }
  std::unordered_map<uint32_t, std::pair<int64_t, int64_t>> hulls;
  for (uint32_t i = 0; i < items_.size(); ++i) {
    if (items_[i].bytes == 0) continue;
    auto [it, fresh] = hulls.emplace(leader(i), std::pair{items_[i].start, items_[i].end});
    if (fresh) continue;
    items_[leader(i)].alignment = std::max(items_[leader(i)].alignment, items_[i].alignment);
    it->second.first = std::min(it->second.first, items_[i].start);
    it->second.second = std::max(it->second.second, items_[i].end);
  }
  for (uint32_t i = 0; i < items_.size(); ++i) {
    if (items_[i].bytes == 0) continue;
    std::tie(items_[i].start, items_[i].end) = hulls.at(leader(i));
    items_[i].alignment = items_[leader(i)].alignment;
  }
}

/// Whether a class is one mapped file that nothing ever writes to.
bool Storage::staysInFile(uint32_t c) const {
  const Class& k = all_[c];
  const Value* file = k.lives[0].value;
  const auto isFile = [&](const Life& l) { return l.value == file; };
  if (k.device != 0 || !isMapped(*file) || !std::all_of(k.lives.begin(), k.lives.end(), isFile)) return false;
  const auto is = [&](uint32_t other) { return find(other) == c; };
  for (const auto& [written, time] : written_)
    if (is(written)) return false;
  for (const auto& [op, pairs] : swaps_)
    for (const auto& [a, b] : pairs)
      if (is(a) || is(b)) return false;
  return true;
}

/// What kernels want of the memory that they are handed.
void Storage::align() {
  for (const auto& [op, index] : kernels_.ofOp) {
    const Kernel& k = kernels_.kernels[index];
    for (size_t b = 0; b < k.bufferOperand.size(); ++b) {
      const int32_t operand = k.bufferOperand[b], result = k.bufferResult[b];
      if (operand < 0 && result < 0) continue;
      const Value* v =
          result >= 0 ? op->result(static_cast<size_t>(result)) : op->operand(static_cast<size_t>(operand));
      Item& item = items_[classOf(v)];
      const KernelNeeds::Argument needs = kernels_.needs(*op).argument(b);
      item.alignment = std::max(item.alignment, needs.alignment);
      item.gap = std::max(item.gap, needs.gap);
    }
  }
}

Storage::Slot Storage::slot(const Value* v) const { return {classOf(v), roots_.at(v).second}; }

bool Storage::copiesFirst(const Op& op, uint32_t operand, uint32_t result) const {
  const Value* old = op.operand(operand);
  return !whole(old) || classOf(old) != classOf(op.result(result));
}

const Value* Storage::valueAt(uint32_t storage, int64_t time) const {
  if (storage < all_.size()) {
    for (const Life& l : all_[storage].lives) {
      if (l.start <= time && time < l.end) return l.value;
    }
  }
  return items_[storage].value;
}

const Op* Storage::opAt(int64_t time) const {
  const Op* found = nullptr;
  int64_t latest = -1;
  for (const auto& [op, begin] : begin_) {
    if (2 * begin > time || begin <= latest) continue;
    found = op;
    latest = begin;
  }
  return found;
}

uint32_t Storage::temporary(const Value* v, const Op& at) {
  int64_t p = 2 * begin_.at(&at);
  items_.push_back({storedBytes(v->type), deviceOf(v), p - 1, p + 2, v});
  return static_cast<uint32_t>(items_.size() - 1);
}

uint32_t Storage::workspace(const Op& fused, uint64_t bytes, uint32_t device) {
  const int64_t p = 2 * begin_.at(&fused);
  items_.push_back({bytes, device, p, p + 2, fused.results.empty() ? nullptr : fused.result()});
  return static_cast<uint32_t>(items_.size() - 1);
}

}  // namespace tenc::codegen
