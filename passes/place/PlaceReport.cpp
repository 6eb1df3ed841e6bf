// Diagnostics of placement: each operand labelled with its device, notes that follow a value back to the annotation,
// creation, move or argument that put it there, and the mended line with its cost.
#include <algorithm>

#include "ir/CallAttributes.h"
#include "passes/place/Place.h"

namespace tenc::passes::placing {
namespace {

bool cheaper(const Reporter::Choice& a, const Reporter::Choice& b) {
  const auto x = Reporter::total(a.moves), y = Reporter::total(b.moves);
  if (x && y) return *x < *y;
  int64_t p = 0, q = 0;
  for (const Reporter::Move& m : a.moves) p += m.cost.bytes;
  for (const Reporter::Move& m : b.moves) q += m.cost.bytes;
  return x || y ? x.has_value() : p < q;
}

/// Whether it is what a lambda has captured: a value of the place where the lambda is written, that no call gives.
bool isCapture(const Instance& in, const ir::Value& v) {
  const std::vector<std::string>& places = in.func->paramPlaces;
  return !v.op && v.region == in.func->body.get() && v.index < places.size() && isOfCapture(places[v.index]);
}

}  // namespace

void Reporter::provenance(Diagnostic& d, const ir::Value* v, const std::string& device, Called who) const {
  const Instance* in = &instance_;
  for (int steps = 0; v && in && steps < 64; ++steps) {
    auto it = in->info.find(v);
    if (it == in->info.end()) return;
    const ValueInfo& info = it->second;
    const std::string is = who.text() + " is on " + device;
    // What has no name is told once of each place: calls of derivatives stand for one of the script.
    const auto pass = [&](Span at, const std::string& as) {
      const bool again = who.quoted.empty() && !d.notes.empty() && d.notes.back().span == at;
      if (!again) d.notes.push_back({at, is + as});
    };
    switch (info.why) {
      case Why::Free: return;
      case Why::Default: d.notes.push_back({spanOf(v), is + ", the default device"}); return;
      case Why::OwnDevice: d.notes.push_back({spanOf(v), is + ", the device that this function runs on"}); return;
      case Why::Declared: d.notes.push_back({spanOf(v), is + ", as its declaration says"}); return;
      case Why::Annotation:
        if (info.cause && info.cause->operandCount() > 0 && !info.cause->boolAttr("named")) {  // `zeros_like(x)`
          v = info.cause->operand(0);
          pass(spanOf(*info.cause), ", as " + called(v, "what it is made like").text() + " is");
          who = called(v, "that");
          break;
        }
        d.notes.push_back({info.cause ? spanOf(*info.cause) : spanOf(v), is + " because of this annotation"});
        return;
      case Why::Entered:
        d.notes.push_back({info.cause ? spanOf(*info.cause) : spanOf(v), is + ": its operands enter this block"});
        return;
      case Why::Moved:
        d.notes.push_back({info.cause ? spanOf(*info.cause) : spanOf(v), is + " because it was moved there"});
        return;
      case Why::CallResult:
        if (!info.from) {
          d.notes.push_back({spanOf(v), is + ", the result of this call"});
          return;
        }
        pass(spanOf(v), ", as the arguments of this call are");
        v = info.from;
        who = called(v, "the argument");
        break;
      case Why::Argument:
        if (!in->caller || !info.from) {
          const bool kept = in->func == shared_.module.main();  // of a session: its values are what `main` takes
          const auto& places = in->func->paramPlaces;
          const bool written = v->op != nullptr || v->index >= places.size() || !places[v->index].empty();
          d.notes.push_back(
              {in->func->span, is + (kept      ? " since an earlier entry"
                                     : written ? ", as the signature says"
                                               : ": the signature names no device, and nothing calls it")});
          return;
        }
        if (!isCapture(*in, *v)) {
          pass(info.cause ? shared_.module.span(info.cause->loc) : Span{}, ", as the argument of this call is");
          who = called(info.from, "the argument");
        } else if (const Called source = called(info.from, ""); !source.quoted.empty() && source.quoted != who.quoted) {
          const Span at = info.cause ? shared_.module.span(info.cause->loc) : Span{};
          if (!who.quoted.empty()) d.notes.push_back({at, who.quoted + " is computed from " + source.quoted});
          who = source;
        }
        v = info.from;
        in = in->caller;
        break;
      case Why::Operand:
      case Why::Variable: {
        const ir::Value* next = info.from;
        if (!next || next == v) return;
        if (!next->type.place.isFree() && next->type.place.device != v->type.place.device) {
          d.notes.push_back({spanOf(v), is + ": its operands enter this block"});
          return;
        }
        const ir::Value* named = behindBroadcast(next);
        // The value of a block is known by the name outside.
        const bool sameValue = v->op && v->op->kind == ir::OpKind::On && !who.quoted.empty();
        const Called source = isCapture(*in, *named) ? Called{} : called(named, "");
        if (!sameValue && !source.quoted.empty() && source.quoted != who.quoted) {
          if (!who.quoted.empty()) d.notes.push_back({spanOf(v), who.quoted + " is computed from " + source.quoted});
          who = source;
        }
        v = next;
        break;
      }
    }
  }
}

void Reporter::callChain(Diagnostic& d) const {
  for (const Instance* in = &instance_; in && in->call; in = in->caller) {
    const std::string& signature = in->func->signature.empty() ? in->func->source : in->func->signature;
    if (signature.empty()) continue;  // of a transform, which is no call of the program's
    d.notes.push_back({shared_.module.span(in->call->loc), "in this call of `" + signature + "`"});
  }
}

void Reporter::labelOperands(Diagnostic& d, const std::vector<Operand>& operands, const std::vector<Use>& uses) const {
  // Two leaves of one tree share their text.
  bool distinct = true;
  for (size_t i = 0; i < uses.size(); ++i) {
    distinct = distinct && uses[i].span.valid();
    for (size_t j = 0; j < i; ++j) distinct = distinct && uses[i].span != uses[j].span;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (distinct) {
      if (uses[i].span == d.span)
        d.label = "on " + operands[i].device;
      else
        d.labels.push_back({uses[i].span, "on " + operands[i].device});
      continue;
    }
    const std::string otherwise = "operand " + std::to_string(operands[i].number + 1);
    d.label += (d.label.empty() ? "" : ", ") + called(operands[i].value, uses[i], otherwise).text() + " on " +
               operands[i].device;
  }
}

void Reporter::noteOperands(Diagnostic& d, const ir::Op& op, const std::vector<Operand>& operands,
                            const std::vector<Use>& uses) const {
  const auto needs = instance_.needs.find(&op);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& o = operands[i];
    const Called who = called(o.value, uses[i], "this value");
    const bool known = needs != instance_.needs.end() && o.number < needs->second.size();
    if (const ir::Op* entered = known ? needs->second[o.number].entry : nullptr)
      d.notes.push_back({spanOf(*entered), who.text() + " is on " + o.device + ": it enters this block"});
    else
      provenance(d, o.value, o.device, who);
  }
}

std::vector<Reporter::Choice> Reporter::choicesOf(const ir::Op& op, const std::vector<Operand>& operands,
                                                  const std::vector<Operand>& firsts, const std::string& fixed) const {
  std::vector<Choice> choices;
  for (const Operand& f : firsts) {
    // The variable of `v += x` keeps its device.
    if (fixed.empty() ? isCompound(op) && f.number != 0 : f.device != fixed) continue;
    choices.push_back({f.device, movesTo(op, operands, f.device)});
  }
  if (choices.empty()) choices.push_back({fixed, movesTo(op, operands, fixed)});
  return choices;
}

const Reporter::Choice& Reporter::bestOf(const std::vector<Choice>& choices, const std::string& wanted) {
  const Choice* best = &choices[0];
  for (const Choice& c : choices) {
    if (!wanted.empty() && c.device == wanted) return c;
    if (best->device == kHost ? c.device != kHost : c.device != kHost && cheaper(c, *best)) best = &c;
  }
  return *best;
}

const ir::Op* Reporter::blockOfElements(const ir::Op& op) const {
  const auto needs = instance_.needs.find(&op);
  if (!op.has(ir::Trait::Scatters) || !isAssignment(op) || needs == instance_.needs.end()) return nullptr;
  return needs->second[0].entry;
}

Help Reporter::assignOutside(const std::string& device) {
  return {"assign the elements outside of the block, where the variable is; what the block computes moves with `.to(" +
              device + ")`",
          {}};
}

bool Reporter::updatesElsewhere(const ir::Op& op, const std::vector<Operand>& operands) const {
  const auto needs = instance_.needs.find(&op);
  if (!isCompound(op) || needs == instance_.needs.end() || needs->second.empty() || !needs->second[0].entry)
    return false;
  const ir::Type& own = behindBroadcast(op.operand(0))->type;
  return !mixes(own) &&
         std::ranges::any_of(operands, [&](const Operand& o) { return o.number == 0 && o.device != own.place.device; });
}

Diagnostic Reporter::apart(const ir::Op& op, std::string message, const std::vector<Operand>& made,
                           const std::string& fixed) const {
  const std::vector<Operand> operands = writtenOperands(op, made);
  Diagnostic d{};
  d.code = Code::E0301;
  d.message = std::move(message);
  d.span = spanOf(op);
  // One operand of each device is enough: a call may have many.
  std::vector<Operand> firsts;
  for (const Operand& o : operands) {
    bool seen = std::any_of(firsts.begin(), firsts.end(), [&](const Operand& f) { return f.device == o.device; });
    if (!seen) firsts.push_back(o);
  }
  std::vector<Use> uses;
  for (const Operand& o : firsts) uses.push_back(useOf(op, o.value, o.number));
  labelOperands(d, firsts, uses);
  noteOperands(d, op, firsts, uses);

  if (blockOfElements(op)) {  // what would be right here is no value of the variable
    const auto own = instance_.info.find(op.operand(0));
    const bool known = own != instance_.info.end() && !op.operand(0)->type.place.isFree();
    d.helps.push_back(assignOutside(known ? op.operand(0)->type.place.device : std::string(kHost)));
    callChain(d);
    return d;
  }
  if (updatesElsewhere(op, operands)) {  // whatever moves, the new value is no value of the variable
    d.helps.push_back(
        {"update the variable outside of the block, where it is; what the block computes moves with `.to(" +
             behindBroadcast(op.operand(0))->type.place.device + ")`",
         {}});
    callChain(d);
    return d;
  }
  const std::vector<Choice> choices = choicesOf(op, operands, firsts, fixed);
  const std::string wanted = wantedPlace(op);
  const Choice& best = bestOf(choices, wanted);
  moveHelp(d, op, best.moves, best.device);
  if (best.moves.size() == 1) hoistHelp(d, op, best.moves[0], best.device);
  for (const Operand& f : firsts) {
    const Operand& partner = firsts[&f == &firsts[0] ? 1 : 0];
    const ir::Value* variable = f.device == partner.device ? nullptr : variableOf(f.value);
    if (!variable || (f.device != kHost && (partner.device == kHost || variableOf(partner.value)))) continue;
    startHelp(d, op, variable, partner.device, best.moves);
    break;
  }
  const bool isSettled = !wanted.empty() && best.device == wanted;  // moving the other operand would be the next error
  const Choice* other = nullptr;
  for (const Choice& c : choices)
    if (!isSettled && &c != &best && cheaper(c, best) && (!other || cheaper(c, *other))) other = &c;
  if (other) moveHelp(d, op, other->moves, other->device, true);
  for (const Choice& c : choices) {
    if (&c == &best || &c == other) continue;
    moveHelp(d, op, c.moves, c.device);
    d.helps.back().alternative = true;
  }
  callChain(d);
  return d;
}

Diagnostic Reporter::assignment(const ir::Op& op, const ir::Value* value, const std::string& actual,
                                const ir::Value* old, const std::string& expected, size_t number) const {
  Diagnostic d{};
  d.code = Code::E0302;
  Called variable = calledVariable(op, old);
  const auto isElsewhere = [&](const auto& o) {  // of the same variable, a tree
    const bool beside = o->kind == ir::OpKind::SamePlace && o->loc.index == op.loc.index;
    return beside && !mixes(o->operand(1)->type) && o->operand(1)->type.place.device != expected;
  };
  const bool isPart = op.kind == ir::OpKind::SamePlace && std::ranges::any_of(op.parent->ops, isElsewhere);
  if (isPart && !variable.quoted.empty()) variable.quoted = "a part of " + variable.quoted;
  if (const ir::Op* block = value->op ? blockOfElements(*value->op) : nullptr) {
    d.message =
        variable.text() + " is on " + expected + " and keeps its device, but its elements are assigned on " + actual;
    d.span = spanOf(op);
    d.label = "on " + actual;
    d.notes.push_back({spanOf(*block), variable.text() + " enters this block, so that the new value is on " + actual});
    provenance(d, old, expected, variable);
    d.helps.push_back(assignOutside(expected));
    startHelp(d, op, old, actual, movesTo(op, {{value, actual, number}}, expected));
    callChain(d);
    return d;
  }
  d.message =
      variable.text() + " is on " + expected + " and keeps its device, but the value assigned to it is on " + actual;
  d.span = spanOf(op).valid() ? spanOf(op) : spanOf(value);
  const Operand operand{value, actual, number};
  const Use use = useOf(op, value, number);
  if (use.span.valid() && d.span.valid() && use.span != d.span && use.span.file == d.span.file)
    d.labels.push_back({use.span, "on " + actual});
  else
    d.label = "on " + actual;
  provenance(d, value, actual, called(value, use, "this value"));
  provenance(d, old, expected, variable);
  const std::vector<Move> moves = movesTo(op, {operand}, expected);
  // `x = x.to(gpu)` means a variable that lives there.
  const bool itself = value->op && value->op->kind == ir::OpKind::To && value->op->operand(0) == old &&
                      (!use.span.valid() || covers(use.span, spanOf(*value->op)));
  if (itself) startHelp(d, op, old, actual, moves, true);
  if (d.helps.empty()) moveHelp(d, op, moves, expected);
  if (moves.size() == 1) hoistHelp(d, op, moves[0], expected);
  if (!itself) startHelp(d, op, old, actual, moves);
  callChain(d);
  return d;
}

Diagnostic Reporter::wrongPlace(const ir::Op& op, std::string message, const std::vector<Operand>& leaves,
                                const std::string& expected) const {
  const Operand& operand = leaves[0];
  Diagnostic d{};
  d.code = Code::E0303;
  d.message = std::move(message);
  d.span = spanOf(op).valid() ? spanOf(op) : spanOf(operand.value);
  const Use use = useOf(op, operand.value, operand.number);
  const Called name = called(operand.value, use, "this value");
  if (use.span.valid()) {
    d.labels.push_back({use.span, "on " + operand.device});
  } else {
    d.label = name.text() + " is on " + operand.device;
  }
  provenance(d, operand.value, operand.device, name);
  const std::vector<Move> moves = movesTo(op, leaves, expected);
  moveHelp(d, op, moves, expected);
  if (moves.size() == 1) hoistHelp(d, op, moves[0], expected);
  ownDeviceHelp(d, moves, expected);
  callChain(d);
  return d;
}

namespace {
/// The `backward` whose call gives what `op` moves, behind functions that a transform has made of it.
const ir::Func* ruleBehind(const ir::Func& f) {
  for (const auto& op : f.body->ops) {
    if (op->hasAttr(ir::kRuleBackward)) return f.module->find(op->stringAttr(ir::kRuleBackward));
  }
  return nullptr;
}
}  // namespace

Diagnostic Reporter::ruleApart(const ir::Op& op, const std::string& actual, const std::string& expected) const {
  Diagnostic d{};
  d.code = Code::E0405;
  d.message = "`backward` gives a gradient on " + actual + " of an argument on " + expected;
  d.span = spanOf(op);
  const ir::Op* call = op.operand(0)->op;
  const bool known = call && call->kind == ir::OpKind::Call;
  const ir::Func* linear = known ? op.func()->module->find(call->stringAttr("callee")) : nullptr;
  const ir::Func* backward = linear ? ruleBehind(*linear) : nullptr;
  if (backward && backward->span.valid()) {
    d.span = backward->span;
    d.notes.push_back({spanOf(op), "its gradient is taken here"});
  }
  d.helps.push_back({"a gradient lives where its argument does: move it in `backward`, with `.to(" + expected +
                         ")`, or to the device of what `forward` has saved",
                     {}});
  callChain(d);
  return d;
}

Help Reporter::partHelp(const ir::Op& op, const std::vector<Operand>& parts) const {
  std::string names;
  std::vector<std::string> devices;
  for (const Operand& o : parts) {
    if (std::find(devices.begin(), devices.end(), o.device) != devices.end()) continue;
    devices.push_back(o.device);
    const std::string name = useOf(op, o.value, o.number).name;
    if (name.empty()) return {"ask for the device of one of them", {}};
    names += (names.empty() ? "" : " or ") + name.substr(0, name.size() - 1) + ".device`";
  }
  return {"ask for the device of one of them: " + names, {}};
}

Diagnostic Reporter::toldAtCall(Diagnostic d) const {
  const SourceManager* sources = shared_.context.sources;
  if (!sources || !sources->inLibrary(d.span)) return d;
  const Instance* in = &instance_;
  while (in->call && sources->inLibrary(shared_.module.span(in->call->loc))) in = in->caller;
  if (!in->call || !shared_.module.span(in->call->loc).valid()) return d;
  const Instance& caller = *in->caller;
  const Reporter there(shared_, caller);
  Diagnostic told{};
  told.code = d.code;
  told.message = d.message + ", in this call of `" + sourceName(*in->call) + "`";
  told.span = shared_.module.span(in->call->loc);
  told.notes.push_back({d.span, "it is here"});
  std::vector<std::string> devices;
  std::string parts;
  for (size_t i = 0; i < in->call->operandCount(); ++i) {
    const ir::Value* v = in->call->operand(i);
    const std::string& device = v->type.place.device;
    if (mixes(v->type) || std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
    devices.push_back(device);
    const Called who = called(v, there.useOf(*in->call, v, i), "this argument");
    parts += (parts.empty() ? "" : ", ") + who.text() + " is on " + device;
    there.provenance(told, v, device, who);
  }
  there.callChain(told);
  told.helps.push_back({"the function works on one device, and " + parts, {}});
  return told;
}

Diagnostic Reporter::unavailable(const ir::Op& op, const std::string& device, const std::string& reason) const {
  Diagnostic d{};
  d.code = Code::E0304;
  d.message = "there is no device `" + device + "`";
  d.span = spanOf(op);
  d.notes.push_back({Span{}, "`" + device + "` was looked for; " + reason});
  std::vector<Span> written = {d.span};
  for (const ir::OperandText& o : shared_.module.loc(op.loc).operands) written.push_back(o.span);
  for (const Span at : written) {
    const ir::SourceText* text = textAt(at);
    if (!text || text->kind != ir::SourceText::Kind::Device || text->name != device) continue;
    d.helps.push_back({"a device of this machine", {{text->whole.valid() ? text->whole : at, std::string(kHost)}}});
    break;
  }
  d.helps.push_back({"a name for it that other machines can bind differently: `device d = " + device + " or cpu`", {}});
  callChain(d);
  return d;
}

}  // namespace tenc::passes::placing
