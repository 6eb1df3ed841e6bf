#include "tools/tenc/TransferList.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/Ir.h"
#include "ir/Loops.h"
#include "support/Text.h"
#include "tools/tenc/Session.h"

namespace tenc::tool {
namespace {

using ir::OpKind;

class Walker {
 public:
  explicit Walker(const ir::Module& m) : m_(m) {}

  void walk(const ir::Region& region, std::optional<int64_t> times, bool inLoop) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::Transfer) row(*op, times, inLoop);
      if (op->kind == OpKind::Call) {
        const ir::Func* callee = m_.find(op->stringAttr("callee"));
        if (callee && callee->body) walk(*callee->body, times, inLoop);
      }
      std::optional<int64_t> inside = times;
      bool loops = inLoop;
      if (op->kind == OpKind::For) {
        const auto trips = ir::tripCount(*op);
        inside = times && trips ? std::optional(*times * *trips) : std::nullopt;
        loops = true;
      } else if (op->kind == OpKind::While) {
        inside = std::nullopt;
        loops = true;
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
  void row(const ir::Op& op, std::optional<int64_t> times, bool inLoop) {
    const ir::Value& source = *op.operand(0);
    TransferRow r;
    r.loc = op.loc;
    r.span = m_.span(op.loc);
    // The name at the place of the move; inside a function that is its parameter's.
    const std::string& here = op.result()->name;
    r.name = !here.empty() ? here : !source.name.empty() ? source.name : "_";
    r.bytes = static_cast<uint64_t>(source.type.bytes());
    r.from = m_.actual(source.type.place.isFree() ? "cpu" : source.type.place.device);
    r.to = m_.actual(op.result()->type.place.isFree() ? "cpu" : op.result()->type.place.device);
    r.toName = op.result()->type.place.isFree() ? "cpu" : op.result()->type.place.device;
    r.times = times;
    r.why = op.stringAttr("cause");
    r.copies = r.from != r.to;
    r.inLoop = inLoop;
    // One op reached by several calls is one row.
    if (const auto [known, isNew] = index_.try_emplace(&op, rows_.size()); !isNew) {
      TransferRow& before = rows_[known->second];
      before.times = before.times && times ? std::optional(*before.times + *times) : std::nullopt;
      before.inLoop |= inLoop;
      return;
    }
    rows_.push_back(std::move(r));
  }

  const ir::Module& m_;
  std::map<const ir::Op*, size_t> index_;
  std::vector<TransferRow> rows_;
};

bool isExplicit(const TransferRow& r) { return r.why.starts_with(".to("); }

}  // namespace

std::vector<TransferRow> listTransfers(const ir::Module& m) {
  Walker walker(m);
  if (m.main()) walker.walk(*m.main()->body, 1, false);
  return walker.take();
}

std::string printTransfers(const std::vector<TransferRow>& rows, const SourceManager& sources) {
  std::vector<std::vector<std::string>> cells;
  uint64_t totalBytes = 0;
  int64_t totalTimes = 0;
  bool unknown = false;
  for (const TransferRow& r : rows) {
    std::string at = "_";
    if (r.span.valid() && r.span.file < sources.size()) {
      const LineColumn p = sources.file(r.span.file).position(r.span.begin);
      at = std::to_string(p.line) + ":" + std::to_string(p.column);
    }
    cells.push_back({at, r.name, r.copies ? std::to_string(r.bytes) : "free", r.from, "->", r.to,
                     r.times ? std::to_string(*r.times) : "?", r.why});
    if (!r.copies) continue;
    if (r.times) {
      totalBytes += r.bytes * static_cast<uint64_t>(*r.times);
      totalTimes += *r.times;
    } else {
      unknown = true;
    }
  }
  std::vector<size_t> widths(8, 0);
  for (const auto& row : cells)
    for (size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : cells) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 1, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out + "total: " + std::to_string(totalTimes) + (totalTimes == 1 ? " move, " : " moves, ") +
         std::to_string(totalBytes) + " bytes" + (unknown ? ", and those whose number is not known" : "") + "\n";
}

void checkTransfers(const ir::Module& m, const SourceManager& sources, const std::string& policy, Diagnostics& diags) {
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
        const bool bare = takesPostfix(sources.text(written));
        if (!bare) edits.push_back({{written.file, written.begin, written.begin}, "("});
        edits.push_back({{written.file, written.end, written.end}, (bare ? ".to(" : ").to(") + r.toName + ")"});
      }
      report.label(r.why).help("write the move: `.to(" + r.toName + ")`", std::move(edits));
      noteCallers(report, m, r.loc);
    } else if (r.inLoop && r.bytes >= kWorthAWarning) {
      const std::string times = r.times ? std::to_string(*r.times) : "an unknown number of";
      auto report = diags.report(Code::W0301, r.span,
                                 name + " moves from " + r.from + " to " + r.to +
                                     " inside a loop: " + formatBytes(r.bytes) + ", " + times + " times");
      report.label(r.why);
      noteCallers(report, m, r.loc);
    }
  }
}

}  // namespace tenc::tool
