#include "tools/tenc/TransferList.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/Ir.h"
#include "ir/Loops.h"
#include "support/Text.h"
#include "tools/tenc/Session.h"
#include "tools/tenc/Stops.h"

namespace tenc::tool {
namespace {

using ir::OpKind;

/// The name of a value that is fixed before all loops.
std::string symbolOf(const ir::Value* v) {
  while (v->op && v->op->has(ir::Trait::Structural) && v->op->operandCount() == 1) v = v->op->operand(0);
  for (const ir::Region* r = v->home(); r && r->parentOp; r = r->parentOp->parent)
    if (ir::isLoop(*r->parentOp)) return {};
  return v->name;
}

/// How often the body of a `for` runs.
Times timesOf(const ir::Op& loop) {
  if (const auto trips = ir::tripCount(loop)) return {*trips, "", true, false};
  Times unknown{1, "", false, false};
  const auto lo = ir::constantInt(loop.operand(0)), hi = ir::constantInt(loop.operand(1));
  const auto step = ir::constantInt(loop.operand(2));
  const std::string from = lo ? std::to_string(*lo) : symbolOf(loop.operand(0));
  const std::string to = hi ? std::to_string(*hi) : symbolOf(loop.operand(1));
  if (!step || *step != 1 || from.empty() || to.empty()) return unknown;
  return {1, from == "0" ? to : "(" + to + "-" + from + ")", true, false};
}

Times product(const Times& a, const Times& b) {
  const bool both = !a.symbols.empty() && !b.symbols.empty();
  return {a.factor * b.factor, a.symbols + (both ? "*" : "") + b.symbols, a.known && b.known, a.atMost || b.atMost};
}

/// "f32[64,784]": without blanks, for a column.
std::string shortType(ir::Type t) {
  t.place = {};
  std::string text = ir::toString(t);
  std::erase(text, ' ');
  return text;
}

class Walker {
 public:
  explicit Walker(const ir::Module& m) : m_(m) {}

  void walk(const ir::Region& region, const Times& times, bool inLoop) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::Transfer) row(*op, times, inLoop);
      if (op->kind == OpKind::Call) {
        const ir::Func* callee = m_.find(op->stringAttr("callee"));
        if (callee && callee->body) walk(*callee->body, times, inLoop);
      }
      Times inside = times;
      bool loops = inLoop;
      if (op->kind == OpKind::For) {
        inside = product(times, timesOf(*op));
        loops = true;
      } else if (op->kind == OpKind::While) {
        inside.known = false;
        loops = true;
      } else if (op->kind == OpKind::If) {
        inside.atMost |= inLoop;
      }
      for (const auto& inner : op->regions) walk(*inner, inside, loops);
    }
  }

  std::vector<TransferRow> take() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const TransferRow& a, const TransferRow& b) {
      return std::tuple(a.span.file + 1, a.span.begin) < std::tuple(b.span.file + 1, b.span.begin);
    });
    return std::move(rows_);
  }

 private:
  void row(const ir::Op& op, const Times& times, bool inLoop) {
    const ir::Value& source = *op.operand(0);
    TransferRow r;
    r.loc = op.loc;
    r.span = m_.span(op.loc);
    // The name at the place of the move; inside a function that is its parameter's.
    const std::string& here = op.result()->name;
    r.name = !here.empty() ? here : !source.name.empty() ? source.name : "_";
    r.type = shortType(source.type);
    r.bytes = static_cast<uint64_t>(source.type.bytes());
    r.from = m_.actual(source.type.place.isFree() ? "cpu" : source.type.place.device);
    r.to = m_.actual(op.result()->type.place.isFree() ? "cpu" : op.result()->type.place.device);
    r.toName = op.result()->type.place.isFree() ? "cpu" : op.result()->type.place.device;
    r.times = times;
    r.cause = ir::causeOf(op);
    r.gradient = op.boolAttr("gradient");
    r.why = causeText(op);
    // An assertion that a call makes of its own, as `randint` does of its bounds.
    const ir::SourceText* text = r.cause == ir::Cause::Assert ? m_.texts->find(r.span) : nullptr;
    if (text && text->kind == ir::SourceText::Kind::Call && !text->name.empty()) r.why = "check of " + text->name;
    r.copies = r.from != r.to && r.bytes > 0;
    r.inLoop = inLoop;
    // One op reached by several calls is one row.
    if (const auto [known, isNew] = index_.try_emplace(&op, rows_.size()); !isNew) {
      TransferRow& before = rows_[known->second];
      before.times.known = before.times.known && times.known && before.times.symbols == times.symbols;
      before.times.factor += times.factor;
      before.times.atMost |= times.atMost;
      before.inLoop |= inLoop;
      return;
    }
    rows_.push_back(std::move(r));
  }

  const ir::Module& m_;
  std::map<const ir::Op*, size_t> index_;
  std::vector<TransferRow> rows_;
};

/// Under `--transfers=deny` nothing else may move: `x.to(d)`, and its gradient.
bool isExplicit(const TransferRow& r) { return r.cause == ir::Cause::To; }

}  // namespace

std::string causeText(const ir::Op& transfer) {
  const bool gradient = transfer.boolAttr("gradient");
  // The gradient goes back to where the move came from.
  const std::string& device = (gradient ? transfer.operand(0) : transfer.result())->type.place.device;
  const ir::Cause cause = ir::causeOf(transfer);
  std::string text(name(cause));
  if (cause == ir::Cause::To) text = ".to(" + device + ")";
  if (cause == ir::Cause::Annotation) text = "@" + device;
  return gradient ? "gradient of " + text : text;
}

std::vector<TransferRow> listTransfers(const ir::Module& m) {
  Walker walker(m);
  if (m.main()) walker.walk(*m.main()->body, {}, false);
  return walker.take();
}

void checkTransfers(const ir::Module& m, const std::string& policy, Diagnostics& diags) {
  constexpr uint64_t kWorthAWarning = 64 << 10;
  if (policy == "allow") return;
  for (const TransferRow& r : listTransfers(m)) {
    if (!r.copies) continue;
    const std::string name = r.name == "_" ? "a value" : "`" + r.name + "`";
    if (policy == "deny" && !isExplicit(r)) {
      auto report =
          diags.report(Code::E0301, r.span,
                       name + " would move from " + r.from + " to " + r.to + ", which --transfers=deny forbids");
      const std::vector<ir::OperandText>& operands = m.loc(r.loc).operands;
      const Span written = operands.empty() ? Span{} : operands[0].span;
      std::vector<Edit> edits;
      if (written.valid()) {
        const ir::SourceText* text = m.texts->find(written);
        const bool bare = text && text->postfix;
        if (!bare) edits.push_back({{written.file, written.begin, written.begin}, "("});
        edits.push_back({{written.file, written.end, written.end}, (bare ? ".to(" : ").to(") + r.toName + ")"});
      }
      report.label(r.why).help("write the move: `.to(" + r.toName + ")`", std::move(edits));
      noteCallers(report, m, r.loc);
    } else if (r.inLoop && r.bytes >= kWorthAWarning) {
      const std::string times = r.times.known ? r.times.text() : "an unknown number of";
      auto report = diags.report(Code::W0301, r.span,
                                 name + " moves from " + r.from + " to " + r.to +
                                     " inside a loop: " + formatBytes(r.bytes) + ", " + times + " times");
      report.label(r.why);
      noteCallers(report, m, r.loc);
    }
  }
}

}  // namespace tenc::tool
