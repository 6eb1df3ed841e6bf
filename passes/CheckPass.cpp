#include "passes/CheckPass.h"

#include <algorithm>

#include "support/InternalError.h"

namespace tenc::passes {

namespace {
using ir::OpKind;
using ir::Trait;

/// Of ops that passes insert and take away, as they change nothing that can be seen.
bool isAhead(OpKind kind) {
  return kind == OpKind::ReadAhead || kind == OpKind::EndReadAhead || kind == OpKind::BringIn;
}

/// Whether the pass lets a device count what it draws, and hands the count on behind that.
bool countsDraws(std::string_view pass) { return pass == "device-control"; }
bool isCount(OpKind kind) { return kind == OpKind::RngNext || kind == OpKind::Seed; }

/// Passes that find what the condition of a branch is, or that a loop has no trips.
bool decidesBranches(std::string_view pass) { return pass == "place" || pass == "simplify"; }

/// The pass that adds effects of a kind that is not there before.
bool addsTraps(std::string_view pass) { return pass == "trap-nan"; }
}  // namespace

Effects::Effects(const ir::Module& m) {
  for (const auto& f : m.funcs)
    if (f.get() == m.main() || f->kind == ir::Func::Kind::Case) entries_[f->name] = of(m, *f);
}

const Effects::List& Effects::of(const ir::Module& m, const ir::Func& f) {
  const auto [entry, fresh] = funcs_.try_emplace(&f);
  if (!fresh) return entry->second;
  List list;
  add(m, *f.body, true, list);
  return funcs_[&f] = std::move(list);
}

void Effects::add(const ir::Module& m, const ir::Region& r, bool always, List& list) {
  for (const auto& op : r.ops) {
    if (op->kind == OpKind::Call) {
      const ir::Func* callee = m.find(op->stringAttr("callee"));
      if (callee == nullptr) continue;
      for (Effect e : of(m, *callee)) {
        e.always = e.always && always;
        list.push_back(e);
      }
      continue;
    }
    if (op->has(Trait::HasSideEffect) && !isAhead(op->kind)) list.push_back({op->kind, m.span(op->loc), always});
    const bool inner = always && (op->kind == OpKind::On || op->kind == OpKind::Fused || op->kind == OpKind::Bench);
    for (const auto& region : op->regions) add(m, *region, inner, list);
  }
}

std::string Effects::lostIn(const Effects& now, std::string_view pass) const {
  const bool decides = decidesBranches(pass);
  const auto text = [](const Effect& e, const char* what) {
    return "`" + std::string(ir::opInfo(e.kind).mnemonic) + "` at byte " + std::to_string(e.span.begin) + " " + what;
  };
  for (const auto& [name, before] : entries_) {
    const auto entry = now.entries_.find(name);
    if (entry == now.entries_.end()) return "the entry point " + name + " is gone";
    List after = entry->second;
    if (countsDraws(pass)) std::erase_if(after, [](const Effect& e) { return isCount(e.kind); });
    if (addsTraps(pass)) std::erase_if(after, [](const Effect& e) { return e.kind == OpKind::Trap; });
    size_t at = 0;
    for (const Effect& e : before) {
      if (countsDraws(pass) && isCount(e.kind)) continue;
      const bool kept = at < after.size() && after[at] == e;
      if (!kept && decides && !e.always) continue;
      if (!kept) return text(e, "was lost, or is elsewhere");
      if (e.always && !after[at].always) return text(e, "may not run any more");
      ++at;
    }
    if (at < after.size()) return text(after[at], "came of nothing");
  }
  return {};
}

void PassCheck::check(const ir::Module& m, std::string_view pass, Context& c, bool placed) const {
  const auto fail = [&](const std::string& what) { throw InternalError(std::string(pass), what); };
  if (const std::string wrong = ir::verify(m); !wrong.empty()) fail("wrong IR after the pass: " + wrong);
  if (const std::string lost = before_.lostIn(Effects(m), pass); !lost.empty()) fail(lost);
  if (!placed) return;
  // What a pass inserts may be free until `place-free` runs again.
  const std::unique_ptr<ir::Module> copy = ir::clone(m);
  placeFree(*copy, c);
  verifyPlaced(*copy, c);
}

}  // namespace tenc::passes
