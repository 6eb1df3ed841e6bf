#include "tools/repl/Why.h"

#include <algorithm>

#include "ir/Ir.h"
#include "ir/Loops.h"
#include "tools/tenc/TransferList.h"

namespace tenc::repl {
namespace {

using ir::OpKind;
using ir::Value;

constexpr int kMostSteps = 12;

/// "  <entry 2>:1: what happened    the line"
std::string step(const ir::Module& m, const ir::Op& op, const SourceManager& sources, const std::string& what) {
  // Of what happens inside functions the outermost call is the user's line.
  ir::Loc at = op.loc;
  while (m.loc(at).caller.index != 0) at = m.loc(at).caller;
  const Span span = m.span(at);
  if (!span.valid() || span.file >= sources.size()) return "  " + what + "\n";
  const SourceFile& file = sources.file(span.file);
  const uint32_t number = file.position(span.begin).line;
  std::string line(file.line(number));
  line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
  return "  " + file.name() + ":" + std::to_string(number) + ": " + what + "    " + line + "\n";
}

std::string quoted(const Value& v) { return v.name.empty() ? "its operand" : "`" + v.name + "`"; }

/// The operand that is where the result is: one with a name, if there is one.
const Value* sameplaced(const ir::Op& op, const Value& result) {
  const Value* found = nullptr;
  for (const Value* v : op.operands()) {
    if (!(v->type.place == result.type.place) || v->type.place.isFree()) continue;
    if (!found || (found->name.empty() && !v->name.empty())) found = v;
  }
  return found;
}

}  // namespace

std::string whyPlaced(const ir::Module& m, const Value& value, const SourceManager& sources,
                      const std::map<std::string, PlaceReasons>& kept) {
  std::string out;
  const Value* v = &value;
  for (int i = 0; i < kMostSteps && v; ++i) {
    if (v->type.place.isFree()) return out + "  free: it mixes with values on any device\n";
    const std::string& device = v->type.place.device;
    if (!v->op) {
      const ir::Op* loop = v->region->parentOp;
      if (!loop) {
        const auto known = kept.find(v->name);
        const bool told = known != kept.end() && known->second.count(device) != 0;
        return out + (told ? known->second.at(device) : "  kept on " + device + " from an earlier entry\n");
      }
      // What a loop carries starts as an operand of it.
      const size_t lead = ir::firstCarriedArg(*loop), first = ir::firstCarriedOperand(*loop);
      if (v->index < lead || first + v->index - lead >= loop->operandCount()) return out;
      v = loop->operand(first + v->index - lead);
      continue;
    }
    const ir::Op& op = *v->op;
    if (op.kind == OpKind::Transfer) {
      const std::string& from = op.operand(0)->type.place.device;
      return out + step(m, op, sources,
                        "moved from " + (from.empty() ? "cpu" : from) + " to " + device + " by " + tool::causeText(op));
    }
    if (op.kind == OpKind::If && !op.regions.empty()) {
      v = op.regions[0]->terminator()->operand(v->index);
      continue;
    }
    if (ir::isLoop(op)) {
      v = op.operand(ir::firstCarriedOperand(op) + v->index);
      continue;
    }
    const Value* from = sameplaced(op, *v);
    if (!from) {
      const std::string what =
          op.kind == OpKind::Call ? "the result of a function called for " + device : "made on " + device;
      return out + step(m, op, sources, what);
    }
    if (from->name != v->name || from->name.empty())
      out += step(m, op, sources, "computed on " + device + ", where " + quoted(*from) + " is");
    v = from;
  }
  return out;
}

}  // namespace tenc::repl
