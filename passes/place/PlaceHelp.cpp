// What would mend a placement error: which operands to move where, what that costs, and the lines as they would read.
#include <algorithm>
#include <unordered_set>

#include "ir/Loops.h"
#include "passes/place/Place.h"
#include "support/Quote.h"
#include "support/Text.h"

namespace tenc::passes::placing {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

std::string typeText(const Value* v) {
  ir::Type t = v->type;
  t.place = {};
  return ir::toString(t);
}

std::string sizeText(int64_t bytes) { return formatBytes(static_cast<uint64_t>(bytes)); }

}  // namespace

std::string Reporter::spelled(const std::string& device) const {
  for (const auto& [name, bound] : instance_.deviceVars)
    if (bound == device && !isUnnamed(name)) return name;
  return device;
}

std::string Reporter::wantedPlace(const Op& op) const {
  constexpr int kMostSteps = 16;
  const Op* at = &op;
  for (int i = 0; i < kMostSteps && at->results.size() == 1 && at->result()->uses.size() == 1; ++i) {
    const Value::Use& use = at->result()->uses[0];
    const Op& user = *use.user;
    if (user.kind == OpKind::SamePlace && use.operand == 0) return user.operand(1)->type.place.device;
    if (user.kind == OpKind::Return && !instance_.isRoot) {
      const std::vector<std::string>& places = instance_.func->resultPlaces;
      const std::string written = use.operand < places.size() ? places[use.operand] : "";
      return isAnywhere(written) ? std::string() : expectedPlace(shared_, instance_, written);
    }
    if (!user.has(ir::Trait::Elementwise) && !user.has(ir::Trait::Structural)) return {};
    at = &user;
  }
  return {};
}

/// How often loops beside an op run one that the source writes at the same place: the first trip of a `map` or `scan`
/// stands before the loop of the others.
std::optional<int64_t> Reporter::otherTrips(const Op& op, const Region& beside) const {
  int64_t sum = 0;
  for (const auto& o : beside.ops) {
    if (!ir::isLoop(*o)) continue;
    for (const auto& inner : o->regions.back()->ops) {
      const bool same = inner->kind == op.kind && spanOf(op).valid() && spanOf(*inner) == spanOf(op) &&
                        inner->results.size() == 1 && inner->result()->type.sameTensor(op.results[0]->type);
      if (!same) continue;
      const std::optional<int64_t> trips = ir::tripCount(*o);
      if (!trips) return std::nullopt;
      sum += *trips;
      break;
    }
  }
  return sum;
}

Reporter::Cost Reporter::costOf(const Value* v) const {
  Cost cost{v->type.bytes(), 1};
  if (v->op && v->op->parent) {
    const std::optional<int64_t> others = otherTrips(*v->op, *v->op->parent);
    cost.trips = others ? std::optional(1 + *others) : std::nullopt;
  }
  const Instance* in = &instance_;
  const Region* region = v->home();
  while (region) {
    const Op* parent = region->parentOp;
    if (parent && ir::isLoop(*parent)) {
      const auto trips = ir::tripCount(*parent);
      cost.trips = cost.trips && trips ? std::optional(*cost.trips * *trips) : std::nullopt;
    }
    if (parent) {
      region = parent->parent;
      continue;
    }
    // An argument is one value for all that the function does with it.
    if (!in->call) break;
    const bool argument = !v->op && v->region == region && v->index < in->arguments.size();
    if (argument) v = in->arguments[v->index];
    region = argument ? v->home() : in->call->parent;
    in = in->caller;
  }
  return cost;
}

bool Reporter::isRepeated(const Op& op) const {
  const Op* at = &op;
  for (const Instance* in = &instance_; in && at; at = in->call, in = in->caller)
    for (const Op* o = at; o; o = o->parent->parentOp)
      if (o != at && ir::isLoop(*o)) return true;
  return false;
}

std::vector<Reporter::Move> Reporter::movesTo(const Op& op, const std::vector<Operand>& operands,
                                              const std::string& device) const {
  std::vector<Move> moves;
  for (const Operand& o : operands) {
    if (o.device == device) continue;
    const Value* value = writtenOperand(op, o.value);
    Use use = useOf(op, o.value, o.number);
    const auto same = [&](const Move& m) {
      return use.span.valid() && !use.part ? m.use.span == use.span : m.value == value;
    };
    const auto known = std::find_if(moves.begin(), moves.end(), same);
    if (known != moves.end()) {
      if (known->value == value || known->use.undo.valid()) continue;
      known->cost.bytes += value->type.bytes();  // another leaf of one tree
      ++known->leaves;
      continue;
    }
    // A value that was just moved away needs no copy: it is there without the move.
    if (value->op && value->op->kind == OpKind::To && use.span.valid() &&
        value->op->operand(0)->type.place.device == device && use.move.valid()) {
      use.undo = use.move;
      moves.push_back({value, std::move(use), {0, 1}, 1});
      continue;
    }
    // What a loop carries may be written where it starts, before the loop.
    const Value* start = firstValue(value);
    const bool isStart = start != value && use.span.valid() && spanOf(start) == use.span;
    const Cost cost = costOf(isStart ? start : value);
    moves.push_back({value, std::move(use), cost, 1});
    if (isOperator(op) && !moves.back().use.part) addLeaves(op, o.number, moves.back());
  }
  return moves;
}

void Reporter::addLeaves(const Op& op, size_t operand, Move& move) const {
  for (const auto& other : op.parent->ops) {
    if (other.get() == &op || other->kind != op.kind || other->loc.index != op.loc.index) continue;
    if (operand >= other->operandCount()) continue;
    const Value* leaf = writtenOperand(*other, other->operand(operand));
    if (leaf == move.value || mixes(leaf->type)) continue;
    move.cost.bytes += leaf->type.bytes();
    ++move.leaves;
  }
}

std::optional<int64_t> Reporter::total(const std::vector<Move>& moves) {
  int64_t sum = 0;
  for (const Move& m : moves) {
    if (!m.cost.trips) return std::nullopt;
    sum += m.cost.bytes * *m.cost.trips;
  }
  return sum;
}

void Reporter::moveHelp(Diagnostic& d, const Op& op, const std::vector<Move>& moves, const std::string& device,
                        bool cheaper) const {
  const std::string lead = cheaper ? "cheaper: " : "";
  Help help;
  if (std::all_of(moves.begin(), moves.end(), [](const Move& m) { return m.use.undo.valid(); })) {
    help.text = lead + "leave out ";
    for (size_t i = 0; i < moves.size(); ++i) {
      const Span undo = moves[i].use.undo;
      help.text += (i == 0 ? "" : ", ") + quote(*shared_.context.sources, undo);
      help.edits.push_back({undo, ""});
    }
    help.text += moves.size() == 1 ? ": the value is on " + device + " without it"
                                   : ": the values are on " + device + " without them";
    d.helps.push_back(std::move(help));
    return;
  }
  int64_t bytes = 0;
  std::optional<int64_t> trips = 0;
  std::string what;
  bool complete = true;
  for (size_t i = 0; i < moves.size(); ++i) {
    const Move& m = moves[i];
    bytes += m.cost.bytes;
    trips = trips && m.cost.trips ? std::optional(std::max(*trips, *m.cost.trips)) : std::nullopt;
    const bool tree = m.leaves > 1;
    const std::string text = tree && m.use.span.valid() ? quote(*shared_.context.sources, m.use.span)
                                                        : called(m.value, m.use, "this value").text();
    const std::string type = tree ? std::to_string(m.leaves) + " tensors" : typeText(m.value);
    what += (i == 0                  ? ""
             : i + 1 == moves.size() ? " and "
                                     : ", ") +
            text + " (" + type + ", " + sizeText(m.cost.bytes) + ")";
    complete = complete && m.use.span.valid() && !m.use.part;
    const std::string move = ".to(" + spelled(device) + ")";
    const Span at = m.use.span;
    if (!at.valid()) continue;
    if (!m.use.postfix) help.edits.push_back({{at.file, at.begin, at.begin}, "("});
    help.edits.push_back({{at.file, at.end, at.end}, (m.use.postfix ? "" : ")") + move});
  }
  help.cheaper = cheaper;
  help.copies = !cheaper;
  help.text = lead + "copy " + what + " to " + device;
  if (!trips)
    help.text += ", in every trip of the loop";
  else if (*trips > 1)
    help.text += ", " + std::to_string(*trips) + " times: " + sizeText(total(moves).value_or(bytes * *trips));
  else if (isRepeated(op))
    help.text += ", once, before the loop";
  if (cheaper) help.text += "; the result then lives there";
  if (!complete) {
    help.edits.clear();
    help.text += " with `.to(" + spelled(device) + ")`";
  }
  d.helps.push_back(std::move(help));
}

void Reporter::ownDeviceHelp(Diagnostic& d, const std::vector<Move>& moves, const std::string& device) const {
  const ir::Func& f = *instance_.func;
  if (instance_.isRoot || device != instance_.own) return;
  const auto& args = f.body->args;
  const auto decides = [&](const std::unique_ptr<Value>& a) {
    const bool unplaced = a->index >= f.paramPlaces.size() || f.paramPlaces[a->index].empty();
    return unplaced && !a->name.empty() && !mixes(a->type);
  };
  const auto argument = std::find_if(args.begin(), args.end(), decides);
  if (argument == args.end()) return;
  const std::string where = (*argument)->name + ".device";
  Help help{"move it to `" + where + "`, the device of the call", {}};
  for (const Move& m : moves) {
    Span at = m.use.span;
    if (!at.valid()) return;
    if (m.use.undo.valid()) at.end = m.use.undo.begin;
    const ir::SourceText* text = textAt(at);
    at.begin = text && text->move.valid() ? text->move.begin : at.end;
    if (at.begin == at.end && !m.use.postfix) return;
    help.edits.push_back({at, ".to(" + where + ")"});
  }
  help.alternative = true;
  d.helps.push_back(std::move(help));
}

/// Follows what `v` is computed from back to where it enters the loop. A single value that does not change there could
/// move instead, once.
void Reporter::hoistHelp(Diagnostic& d, const Op& op, const Move& move, const std::string& device) const {
  if (move.leaves > 1 || (move.cost.trips && *move.cost.trips <= 1) || !move.value->op) return;
  const Op* loop = move.value->op->parent->parentOp;
  while (loop && !ir::isLoop(*loop)) loop = loop->kind == OpKind::On ? nullptr : loop->parent->parentOp;
  if (!loop) return;
  constexpr size_t kMostSteps = 64;
  struct LoopInput {
    const Op* user;
    const Value* value;
    size_t number;
  };
  std::vector<LoopInput> inputs;
  std::unordered_set<const Op*> slice = {&op};
  std::vector<const Value*> work = {move.value};
  std::unordered_set<const Value*> seen = {move.value};
  while (!work.empty()) {
    const Value* v = work.back();
    work.pop_back();
    const Op* from = v->op;
    const bool computes = from && from->regions.empty() && from->operandCount() > 0 && !from->has(ir::Trait::Placing) &&
                          !from->has(ir::Trait::Control) && !from->has(ir::Trait::HasSideEffect) &&
                          from->kind != OpKind::Transfer;
    if (!computes || slice.size() > kMostSteps) return;
    slice.insert(from);
    for (size_t i = 0; i < from->operandCount(); ++i) {
      const Value* o = from->operand(i);
      if (mixes(o->type)) continue;
      if (!o->home()->isInside(*loop)) {
        inputs.push_back({from, o, i});
      } else if (seen.insert(o).second) {
        work.push_back(o);
      }
    }
  }
  if (inputs.empty()) return;
  const Value* root = inputs[0].value;
  for (const LoopInput& e : inputs)
    if (e.value != root) return;
  for (const Value* v : seen)
    for (const Value::Use& use : v->uses)
      if (!slice.contains(use.user)) return;  // it is used where it is as well
  const Cost once = costOf(root);
  if (move.cost.trips && once.trips ? once.bytes * *once.trips >= move.cost.bytes * *move.cost.trips
                                    : once.bytes > move.cost.bytes)
    return;
  std::vector<Move> moves;
  Help help;
  for (const LoopInput& e : inputs) {
    const Use use = useOf(*e.user, e.value, e.number);
    if (!use.span.valid() || !use.postfix || use.part) return;
    help.edits.push_back({{use.span.file, use.span.end, use.span.end}, ".to(" + spelled(device) + ")"});
  }
  help.cheaper = true;
  help.text = "cheaper: " + called(root, useOf(*inputs[0].user, root, inputs[0].number), "what it is made of").text() +
              " does not change in the loop; moved before it, it is copied once: " + sizeText(once.bytes);
  d.helps.push_back(std::move(help));
}

}  // namespace tenc::passes::placing
