// Placement of ops: rules P1 to P4 of the language.
#include "passes/place/PlaceInfer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/Loops.h"

namespace tenc::passes::placing {

void Inference::run() {
  ir::Func& f = *in_.func;
  for (size_t i = 0; i < f.body->args.size(); ++i) {
    Value* arg = f.body->args[i].get();
    ValueInfo& info = in_.info[arg];
    info.why = Why::Argument;
    if (i < in_.arguments.size()) info.from = in_.arguments[i];
    if (i < in_.known.size()) info.constant = in_.known[i];
    if (arg->type.place.isFree() && !arg->type.shape.empty()) open_.insert(arg);
    info.cause = in_.call;
  }
  for (region(*f.body); !unmerged_.empty(); region(*f.body)) mergeKnown();
}

bool Inference::isOfDerivative(const Value& v) {
  if (isDerived(*v.op) || !ir::isLoop(*v.op)) return isDerived(*v.op);
  const Value* start = v.op->operand(ir::firstCarriedOperand(*v.op) + v.index);
  return start->op != nullptr && isDerived(*start->op);  // what a loop of the source keeps for the way back
}

namespace {

/// The devices that are known of a value so far: none, one or several.
struct Places {
  std::string one;
  bool several = false;

  /// True when that says more than before.
  bool add(const Places& other) {
    if (several || (other.one.empty() && !other.several)) return false;
    if (one == other.one && !other.several) return false;
    several = other.several || !one.empty();
    one = several ? "" : other.one;
    return true;
  }
};

}  // namespace

void Inference::mergeKnown() {
  const std::vector<const Value*> unmerged = std::exchange(unmerged_, {});
  // From what has a place back to what it is made of, each value at most twice.
  std::unordered_map<const Value*, Places> places;
  std::unordered_map<const Value*, std::vector<const Value*>> madeOf;
  std::vector<const Value*> open, told;
  for (const Value* v : unmerged) {
    if (places.try_emplace(v).second) open.push_back(v);
  }
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    eachMade(*v, [&](const Value& made) {
      if (!mixes(made.type)) {
        if (places[v].add({placeOf(&made), false})) told.push_back(v);
        return;
      }
      madeOf[&made].push_back(v);
      if (places.try_emplace(&made).second) open.push_back(&made);
    });
  }
  while (!told.empty()) {
    const Value* v = told.back();
    told.pop_back();
    for (const Value* from : madeOf[v]) {
      if (places[from].add(places[v])) told.push_back(from);
    }
  }
  const size_t before = merged_.size();
  // Where one is known, the next walk may know more of the others.
  for (const Value* v : unmerged) {
    if (!places[v].one.empty()) merged_.emplace(v, places[v].one);
  }
  if (merged_.size() > before) return;
  // Halves of one derivative must agree on what neither uses anywhere: it is where a script says nothing.
  for (const Value* v : unmerged)
    merged_.emplace(v, isOfDerivative(*v) ? shared_.devices.normal(shared_.module.defaultDevice) : ambient());
}

Inference::Seen Inference::seen(const Value* v) {
  if (mixes(v->type) || isPoison(v->type.place)) return {placeOf(v), false};
  Op* scope = info(v).scope;
  if (scope == on_) return {placeOf(v), false};
  return {deviceOf(on_), deviceOf(on_) != placeOf(v)};
}

bool Inference::mixesHere(const Value* v) {
  return mixes(v->type) || (v->type.shape.empty() && seen(v).device == kHost);
}

Op* Inference::entryOf(const Value* v) {
  Op* scope = info(v).scope;
  Op* best = on_;
  for (Op* o = on_; o && o != scope; o = enclosing_[o])
    if (deviceOf(o) == deviceOf(on_)) best = o;
  return best;
}

void Inference::need(const Op& op, size_t operand, std::string device, Cause cause, Op* entry) {
  auto& list = in_.needs[&op];
  if (list.size() < op.operandCount()) list.resize(op.operandCount());
  list[operand] = Need{std::move(device), cause, entry};
}

std::string Inference::use(const Op& op, size_t i) {
  const Value* v = op.operand(i);
  Seen s = seen(v);
  if (s.entered) need(op, i, s.device, Cause::Annotation, entryOf(v));
  return s.device;
}

void Inference::hostRead(const Op& op, size_t i, Cause cause) {
  const Value* v = op.operand(i);
  if (isPoison(v->type.place) || v->type.place.isFree() || placeOf(v) == kHost) return;
  need(op, i, std::string(kHost), cause);
}

ValueInfo& Inference::set(Value* v, std::string place, Why why, const Value* from, const Op* cause) {
  v->type.place.device = std::move(place);
  open_.erase(v);  // an earlier walk may have left it open
  ValueInfo& i = info(v);
  i = ValueInfo{on_, on_, why, from, cause, std::nullopt};
  return i;
}

void Inference::setOpen(Value* v) {
  set(v, "", Why::Free);
  open_.insert(v);
}

void Inference::poison(Op& op) {
  for (auto& r : op.results) set(r.get(), std::string(kPoison), Why::Free);
}

std::string Inference::resolve(const Op& op, const std::string& name) {
  std::string device = name;
  if (name.starts_with("$")) {
    auto it = in_.deviceVars.find(name.substr(1));
    device = it == in_.deviceVars.end() ? in_.own : it->second;
  }
  device = shared_.devices.normal(device);
  std::string reason = device == kPoison ? "" : shared_.devices.whyUnavailable(device);
  if (!reason.empty()) {
    fail(op, report_.unavailable(op, device, reason));
    device = kPoison;
  }
  return in_.devices[&op] = device;
}

Inference::Agreement Inference::agree(const Op& op) {
  Agreement a;
  std::vector<Reporter::Operand> all;
  bool apart = false;
  for (size_t i = 0; i < op.operandCount(); ++i) {
    const Value* v = op.operand(i);
    std::string device = use(op, i);
    if (device == kPoison) {
      a.failed = true;
      continue;
    }
    if (mixesHere(v)) {
      a.anyHostScalar |= !device.empty();
      continue;
    }
    all.push_back({v, device, i});
    if (a.device.empty()) {
      a.device = device;
      a.from = v;
    } else if (a.device != device) {
      apart = true;
    }
  }
  // What is assigned to elements of a variable goes where the variable is.
  const bool assigns = op.has(Trait::Scatters) && report_.isAssignment(op);
  if (apart && !a.failed)
    fail(op, report_.apart(op, report_.subjectOf(op) + " are on different devices", all, assigns ? all[0].device : ""));
  a.failed |= apart;
  return a;
}

void Inference::created(Op& op) {
  for (auto& r : op.results) {
    if (on_) {
      set(r.get(), ambient(), Why::Annotation, nullptr, on_);
    } else {
      set(r.get(), ambient(), in_.isRoot ? Why::Default : Why::OwnDevice);
    }
  }
}

std::optional<std::string> Inference::derivedPlace(Op& op) {
  const auto isTensor = [](const auto& r) { return !r->type.shape.empty(); };
  const auto tensor = std::find_if(op.results.begin(), op.results.end(), isTensor);
  if (tensor == op.results.end()) return ambient();
  if (const auto known = merged_.find(tensor->get()); known != merged_.end()) return known->second;
  unmerged_.push_back(tensor->get());
  return std::nullopt;
}

void Inference::made(Op& op) {
  const bool likeAnother = on_ && on_->operandCount() > 0 && !on_->boolAttr("named");
  if (!isDerived(op) || likeAnother) return created(op);
  const std::optional<std::string> device = derivedPlace(op);
  if (!device) return setOpen(op);
  for (auto& r : op.results) set(r.get(), *device, Why::Operand, nullptr, on_);
}

namespace {

/// Whether an op of free operands makes a tensor of its own, which has a place (P1). Free values are of rank 0 (P3);
/// one in the shape that an operation wants goes where that operation is: pass `place-free` makes it there.
bool makesTensor(const Op& op) {
  if (op.has(Trait::Creation)) return true;
  if (op.kind == OpKind::Broadcast || op.kind == OpKind::Reshape || op.kind == OpKind::StopGradient) return false;
  return std::any_of(op.results.begin(), op.results.end(), [](const auto& r) { return !r->type.shape.empty(); });
}

}  // namespace

void Inference::plain(Op& op) {
  Agreement a = agree(op);
  if (a.failed) return poison(op);
  if (!a.device.empty()) {
    Why why = a.from && seen(a.from).entered ? Why::Entered : Why::Operand;
    for (auto& r : op.results) set(r.get(), a.device, why, a.from, on_);
    return;
  }
  if (std::any_of(op.operands().begin(), op.operands().end(), [&](const Value* v) { return isOpen(v); })) {
    for (auto& r : op.results) setOpen(r.get());
    return;
  }
  if (makesTensor(op)) return made(op);
  for (auto& r : op.results) {
    bool onHost = r->type.shape.empty() && a.anyHostScalar;
    set(r.get(), onHost ? std::string(kHost) : std::string(), Why::Free);
  }
  foldBool(op);
}

void Inference::fused(Op& op) {
  plain(op);
  std::string device = op.results.empty() ? std::string() : placeOf(op.result());
  if (device.empty()) device = ambient();
  Region& body = *op.regions[0];
  for (size_t i = 0; i < body.args.size(); ++i) {
    const Value* v = op.operand(i);
    const bool scalar = v->type.shape.empty() && mixes(v->type);
    set(body.args[i].get(), scalar ? placeOf(v) : device, Why::Argument, v, &op);
  }
  region(body);
}

void Inference::foldBool(Op& op) {
  auto known = [&](size_t i) { return op.operandCount() > i ? info(op.operand(i)).constant : std::nullopt; };
  auto a = known(0), b = known(1);
  std::optional<bool> r;
  switch (op.kind) {
    case OpKind::Not:
      if (a) r = !*a;
      break;
    case OpKind::And:
      if (a && b)
        r = *a && *b;
      else if ((a && !*a) || (b && !*b))
        r = false;
      break;
    case OpKind::Or:
      if (a && b)
        r = *a || *b;
      else if ((a && *a) || (b && *b))
        r = true;
      break;
    case OpKind::Eq:
      if (a && b) r = *a == *b;
      break;
    case OpKind::Ne:
    case OpKind::Xor:
      if (a && b) r = *a != *b;
      break;
    default: break;
  }
  if (r && op.results.size() == 1) info(op.result()).constant = r;
}

void Inference::region(Region& r) {
  for (auto& op : r.ops) visit(*op);
}

void Inference::visit(Op& op) {
  in_.errors.erase(&op);
  in_.needs.erase(&op);
  switch (op.kind) {
    case OpKind::Constant: return constant(op);
    case OpKind::RngNext:
    case OpKind::Time: return free(op);
    case OpKind::Load:
      hostEffect(op);  // its path may have holes
      if (op.result()->type.shape.empty()) return free(op);
      return created(op);
    case OpKind::On: return on(op);
    case OpKind::To: return to(op);
    case OpKind::CheckPlace: return checkPlace(op);
    case OpKind::SamePlace: return samePlace(op);
    case OpKind::OnePlace: return onePlace(op);
    case OpKind::DecidedBranch: return decidedBranch(op);
    case OpKind::DeviceEq: return deviceEq(op);
    case OpKind::Transfer: return transfer(op);
    case OpKind::For: return loop(op, 3, 1);
    case OpKind::While: return loop(op, 0, 0);
    case OpKind::If: return branch(op);
    case OpKind::Call: return call(op);
    case OpKind::Return: return returned(op);
    case OpKind::Condition: return hostRead(op, 0, Cause::While);
    case OpKind::Yield: return;  // the enclosing op looks at it
    case OpKind::Bench: return bench(op);
    case OpKind::Fused: return fused(op);
    default: break;
  }
  if (op.has(Trait::HostEffect)) return hostEffect(op);
  plain(op);
}

void Inference::constant(Op& op) {
  if (!op.result()->type.shape.empty()) return made(op);
  ValueInfo& i = set(op.result(), "", Why::Free);
  const ir::Attr* value = op.find("value");
  if (op.result()->type.dtype != ir::DType::Bool || !value) return;
  if (const auto* data = std::get_if<ir::Data>(value); data && *data && !(*data)->empty())
    i.constant = (**data)[0] != std::byte{0};
}

void Inference::free(Op& op) {
  for (auto& r : op.results) set(r.get(), "", Why::Free);
}

void Inference::hostEffect(Op& op) {
  const auto& formats = op.stringsAttr("formats");
  const size_t first = op.firstTextOperand();
  auto& printed = in_.printed[&op];
  printed.clear();
  const Cause cause = ir::causeNamed(op.info().mnemonic).value();  // print, assert, save, load or seed
  for (size_t i = 0; i < op.operandCount(); ++i) {
    printed.push_back(placeOf(op.operand(i)));
    bool deviceHole = i >= first && i - first < formats.size() && formats[i - first] == "@";
    if (!deviceHole) hostRead(op, i, cause);
  }
  if (op.kind != OpKind::Assert) return;
  std::optional<bool> known = info(op.operand(0)).constant;
  if (known && !*known && followsFromDevices(op.operand(0))) {
    Diagnostic d{};
    d.code = Code::E0212;
    d.message = "this assertion about devices is false";
    d.span = shared_.module.span(op.loc);
    report_.callChain(d);
    fail(op, std::move(d));
  }
}

bool Inference::followsFromDevices(const Value* v) {
  std::vector<const Value*> values = {v};
  std::unordered_set<const Value*> seen;
  while (!values.empty()) {
    const Value* at = values.back();
    values.pop_back();
    if (!seen.insert(at).second) continue;
    if (!at->op) {  // an argument is known where it follows from devices in the caller
      if (at->region == in_.func->body.get() && info(at).constant) return true;
      continue;
    }
    if (at->op->kind == OpKind::DeviceEq) return true;
    if (at->op->kind == OpKind::Call && info(at).constant) return true;
    if (at->op->kind == OpKind::If && in_.taken.count(at->op)) return true;
    for (const Value* o : at->op->operands())
      if (info(o).constant) values.push_back(o);
  }
  return false;
}

void Inference::bench(Op& op) {
  region(*op.regions[0]);
  const Op* yield = op.regions[0]->terminator();
  for (size_t i = 0; yield && i < yield->operandCount(); ++i) use(*yield, i);
}

void infer(Shared& shared, Instance& instance) { Inference(shared, instance).run(); }

}  // namespace tenc::passes::placing
