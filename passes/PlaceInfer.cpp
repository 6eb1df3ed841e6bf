// Inference of placement: one walk over a function in program order. It sets Type::place of every value, notes the
// moves that operands need and the errors, and changes nothing else, so loops can be walked again until what they carry
// is settled (a rank-0 `var` that starts free takes the first place assigned to it, P3).
#include <algorithm>

#include "passes/Place.h"

namespace tenc::passes::placing {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Trait;
using ir::Value;

class Inference {
 public:
  Inference(Shared& shared, Instance& instance) : shared_(shared), in_(instance), report_(shared, instance) {}

  void run() {
    ir::Func& f = *in_.func;
    for (size_t i = 0; i < f.body->args.size(); ++i) {
      Value* arg = f.body->args[i].get();
      ValueInfo& info = in_.info[arg];
      info.why = Why::Argument;
      if (i < in_.arguments.size()) info.from = in_.arguments[i];
      info.cause = in_.call;
    }
    region(*f.body);
  }

 private:
  // ---- small helpers

  /// The place of an operand at this point of the program: its own, or that of the `on` that it enters.
  struct Seen {
    std::string device;
    bool entered = false;
  };

  ValueInfo& info(const Value* v) { return in_.info[v]; }
  const std::string& deviceOf(const Op* on) { return in_.devices[on]; }
  std::string ambient() { return on_ ? deviceOf(on_) : in_.own; }

  static std::string placeOf(const Value* v) { return v->type.place.device; }

  Seen seen(const Value* v) {
    if (mixes(v->type) || isPoison(v->type.place)) return {placeOf(v), false};
    Op* scope = info(v).scope;
    if (scope == on_) return {placeOf(v), false};
    return {deviceOf(on_), deviceOf(on_) != placeOf(v)};
  }

  /// The outermost `on` of the current one's device that the value enters on the way here.
  Op* entryOf(const Value* v) {
    Op* scope = info(v).scope;
    Op* best = on_;
    for (Op* o = on_; o && o != scope; o = enclosing_[o])
      if (deviceOf(o) == deviceOf(on_)) best = o;
    return best;
  }

  void need(const Op& op, size_t operand, std::string device, std::string cause, Op* entry = nullptr) {
    auto& list = in_.needs[&op];
    if (list.size() < op.operandCount()) list.resize(op.operandCount());
    list[operand] = Need{std::move(device), std::move(cause), entry};
  }

  /// Uses operand `i` here; what lies outside the current `on` moves in (P4 b). Returns where it is then.
  std::string use(const Op& op, size_t i) {
    const Value* v = op.operand(i);
    Seen s = seen(v);
    if (s.entered) need(op, i, s.device, "@" + s.device, entryOf(v));
    return s.device;
  }

  /// A host read: the value is seen where it lives and moves to the host when it is elsewhere (P4 d).
  void hostRead(const Op& op, size_t i, std::string_view cause) {
    const Value* v = op.operand(i);
    if (isPoison(v->type.place) || v->type.place.isFree() || placeOf(v) == kHost) return;
    need(op, i, std::string(kHost), std::string(cause));
  }

  void fail(const Op& op, Diagnostic d) { in_.errors[&op].push_back(std::move(d)); }

  ValueInfo& set(Value* v, std::string place, Why why, const Value* from = nullptr, const Op* cause = nullptr) {
    v->type.place.device = std::move(place);
    ValueInfo& i = info(v);
    i = ValueInfo{on_, on_, why, from, cause, std::nullopt};
    return i;
  }
  void poison(Op& op) {
    for (auto& r : op.results) set(r.get(), std::string(kPoison), Why::Free);
  }

  /// The device that an attribute names ("$D" through the instance), checked to be there once per op.
  std::string resolve(const Op& op, const std::string& name) {
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

  /// The device of `on`, `to` and `device_eq` operand form: where the value lives, the host for free values.
  std::string deviceOfValue(const Value* v) { return v->type.place.isFree() ? std::string(kHost) : placeOf(v); }

  std::string annotated(const Op& op, size_t valueOperand) {
    const std::string& name = op.stringAttr("device");
    if (name.empty() && op.operandCount() > valueOperand)
      return in_.devices[&op] = deviceOfValue(op.operand(valueOperand));
    return resolve(op, name);
  }

  // ---- agreement of operands

  struct Agreement {
    std::string device;
    const Value* from = nullptr;
    bool failed = false;
    bool anyHostScalar = false;
  };

  /// The one device of the placed operands among [first, count).
  Agreement agree(const Op& op, const std::string& what, size_t first = 0) {
    Agreement a;
    std::vector<Reporter::Operand> all;
    bool mixed = false;
    for (size_t i = first; i < op.operandCount(); ++i) {
      const Value* v = op.operand(i);
      std::string device = use(op, i);
      if (device == kPoison) {
        a.failed = true;
        continue;
      }
      if (mixes(v->type)) {
        a.anyHostScalar |= !device.empty();
        continue;
      }
      all.push_back({v, device, i});
      if (a.device.empty()) {
        a.device = device;
        a.from = v;
      } else if (a.device != device) {
        mixed = true;
      }
    }
    if (mixed && !a.failed) fail(op, report_.mixed(op, what, all));
    a.failed |= mixed;
    return a;
  }

  void created(Op& op) {
    for (auto& r : op.results) {
      if (on_) {
        set(r.get(), ambient(), Why::Annotation, nullptr, on_);
      } else {
        set(r.get(), ambient(), in_.isRoot ? Why::Default : Why::OwnDevice);
      }
    }
  }

  /// An op that runs where its operands live (P2).
  void plain(Op& op) {
    Agreement a = agree(op, "operands of `" + report_.writtenName(op) + "`");
    if (a.failed) return poison(op);
    if (!a.device.empty()) {
      Why why = a.from && seen(a.from).entered ? Why::Entered : Why::Operand;
      for (auto& r : op.results) set(r.get(), a.device, why, a.from, on_);
      return;
    }
    if (op.has(Trait::Creation) || op.kind == OpKind::Concat) return created(op);
    for (auto& r : op.results) {
      bool onHost = r->type.shape.empty() && a.anyHostScalar;
      set(r.get(), onHost ? std::string(kHost) : std::string(), Why::Free);
    }
    foldBool(op);
  }

  /// Bools that follow from device comparisons are compile-time values.
  void foldBool(Op& op) {
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

  // ---- ops

  void region(Region& r) {
    for (auto& op : r.ops) visit(*op);
  }

  void visit(Op& op) {
    in_.errors.erase(&op);
    in_.needs.erase(&op);
    switch (op.kind) {
      case OpKind::Constant: return constant(op);
      case OpKind::RngNext:
      case OpKind::Time: return free(op);
      case OpKind::Load:
        if (op.result()->type.shape.empty()) return free(op);
        return created(op);
      case OpKind::On: return on(op);
      case OpKind::To: return to(op);
      case OpKind::CheckPlace: return checkPlace(op);
      case OpKind::SamePlace: return samePlace(op);
      case OpKind::DeviceEq: return deviceEq(op);
      case OpKind::Transfer: return transfer(op);
      case OpKind::For: return loop(op, 3, 1);
      case OpKind::While: return loop(op, 0, 0);
      case OpKind::If: return branch(op);
      case OpKind::Call: return call(op);
      case OpKind::Return: return returned(op);
      case OpKind::Condition: return hostRead(op, 0, "while");
      case OpKind::Yield: return;  // the enclosing op looks at it
      case OpKind::Bench: return bench(op);
      default: break;
    }
    if (op.has(Trait::HostEffect)) return hostEffect(op);
    plain(op);
  }

  void constant(Op& op) {
    if (!op.result()->type.shape.empty()) return created(op);
    ValueInfo& i = set(op.result(), "", Why::Free);
    const ir::Attr* value = op.find("value");
    if (op.result()->type.dtype != ir::DType::Bool || !value) return;
    if (const auto* data = std::get_if<ir::Data>(value); data && *data && !(*data)->empty())
      i.constant = (**data)[0] != std::byte{0};
  }

  void free(Op& op) {
    for (auto& r : op.results) set(r.get(), "", Why::Free);
  }

  void on(Op& op) {
    std::string device = annotated(op, 0);
    enclosing_[&op] = on_;
    Op* outer = on_;
    on_ = &op;
    // An unknown device was reported: what the region makes is poisoned by its place.
    region(*op.regions[0]);
    const Op* yield = op.regions[0]->terminator();
    std::vector<std::pair<std::string, bool>> places;
    for (size_t k = 0; k < op.results.size(); ++k) {
      const Value* y = yield->operand(k);
      bool assigned = info(y).assignsOuter();
      places.emplace_back(assigned ? placeOf(y) : use(*yield, k), assigned);
    }
    on_ = outer;
    for (size_t k = 0; k < op.results.size(); ++k) {
      const Value* y = yield->operand(k);
      Why why = places[k].second ? Why::Variable : Why::Operand;
      ValueInfo& i = set(op.result(k), places[k].first, why, y, &op);
      if (places[k].second) i.scope = info(y).scope;
      i.constant = info(y).constant;
    }
  }

  void to(Op& op) {
    std::string device = annotated(op, 1);
    const Value* v = op.operand(0);
    Value* r = op.result();
    // A written type inside an annotation, and `to` itself, see the value where it lives.
    if (device == kPoison || isPoison(v->type.place)) return poison(op);
    if (op.stringAttr("cause") == "enter") {  // the start of a `var` that is bound in this annotation
      std::string here = use(op, 0);
      set(r, here, here == placeOf(v) ? Why::Operand : Why::Entered, v, on_);
      return;
    }
    std::string now = placeOf(v);
    bool stays = now == device || (mixes(v->type) && device == kHost && v->type.shape.empty());
    const std::string& cause = op.stringAttr("cause");
    if (!stays) need(op, 0, device, cause.empty() || cause == "to" ? ".to(" + device + ")" : cause);
    if (stays) {
      ValueInfo& i = set(r, device, Why::Operand, v);
      if (v->type.place.isFree()) i.why = Why::Moved, i.cause = &op;
    } else {
      set(r, device, Why::Moved, v, &op);
    }
  }

  void checkPlace(Op& op) {
    std::string device = resolve(op, op.stringAttr("device"));
    std::string here = use(op, 0);
    const Value* v = op.operand(0);
    if (device == kPoison || here == kPoison) return poison(op);
    if (mixes(v->type)) {
      if (here != device) need(op, 0, device, "literal");
    } else if (here != device) {
      const std::string& what = op.stringAttr("what");
      if (what.starts_with("var")) {
        std::string name = what.size() > 4 ? what.substr(4) : "";
        fail(op, report_.assignment(op, v, here, name, nullptr, device));
      } else {
        std::string subject = what.empty() ? std::string("this value") : what;
        fail(op, report_.wrongPlace(op, subject + " must be on " + device + ", the value is on " + here, {v, here, 0},
                                    device));
      }
      // What is built is typed as declared: later uses are checked against the declaration.
    }
    set(op.result(), device, Why::Operand, v, &op);
  }

  void samePlace(Op& op) {
    const Value* fresh = op.operand(0);
    const Value* old = op.operand(1);  // only its place is asked for: it does not enter
    std::string here = use(op, 0), wanted = placeOf(old);
    Op* scope = info(old).scope;
    const std::string name = variableName(op, old);
    std::string result = wanted;
    Why why = Why::Variable;
    const Value* from = old;
    if (here == kPoison || wanted == kPoison) {
      result = here == kPoison && wanted != kPoison ? wanted : std::string(kPoison);
    } else if (mixes(old->type)) {
      result = here;  // a var that started free lives where it is first placed
      from = fresh;
      why = Why::Operand;
      if (mixes(fresh->type) && here.empty()) result = wanted;
    } else if (mixes(fresh->type)) {
      need(op, 0, wanted, "literal");
    } else if (here != wanted) {
      fail(op, report_.assignment(op, fresh, here, name, old, wanted));
    }
    set(op.result(), result, why, from, &op).scope = scope;
    info(op.result()).constant = info(fresh).constant;
  }

  static std::string variableName(const Op& op, const Value* old) {
    const std::string& what = op.stringAttr("what");
    if (what.starts_with("var ")) return what.substr(4);
    return what.empty() ? old->name : what;
  }

  void deviceEq(Op& op) {
    const std::string& name = op.stringAttr("device");
    std::string a = deviceOfValue(op.operand(0));
    std::string b = op.operandCount() > 1 ? deviceOfValue(op.operand(1)) : comparedDevice(name);
    ValueInfo& i = set(op.result(), "", Why::Free);
    if (a == kPoison || b == kPoison) {
      op.result()->type.place.device = kPoison;
      return;
    }
    i.constant = shared_.devices.actual(a) == shared_.devices.actual(b);
    i.cause = &op;
  }

  /// A device that is only compared need not be there.
  std::string comparedDevice(const std::string& name) {
    if (!name.starts_with("$")) return shared_.devices.normal(name);
    auto it = in_.deviceVars.find(name.substr(1));
    return it == in_.deviceVars.end() ? in_.own : it->second;
  }

  /// Transfers that are in the IR already (placed text read back) keep the place of their type.
  void transfer(Op& op) {
    std::string device = placeOf(op.result());
    set(op.result(), device, Why::Moved, op.operand(0), &op);
  }

  void hostEffect(Op& op) {
    const auto& formats = op.stringsAttr("formats");
    size_t first = op.kind == OpKind::Assert ? 1 : 0;
    auto& printed = in_.printed[&op];
    printed.clear();
    for (size_t i = 0; i < op.operandCount(); ++i) {
      printed.push_back(placeOf(op.operand(i)));
      bool deviceHole = i >= first && i - first < formats.size() && formats[i - first] == "@";
      if (!deviceHole) hostRead(op, i, op.info().mnemonic);
    }
    if (op.kind != OpKind::Assert) return;
    std::optional<bool> known = info(op.operand(0)).constant;
    if (known && !*known && followsFromDevices(op.operand(0))) {
      Diagnostic d{};
      d.code = Code::E0212;
      d.message = "this assertion about devices is false";
      d.span = shared_.module.span(op.loc);
      fail(op, std::move(d));
    }
  }

  /// Whether a device comparison is among what the bool is computed from.
  bool followsFromDevices(const Value* v) {
    if (!v->op) return false;
    if (v->op->kind == OpKind::DeviceEq) return true;
    if (v->op->kind == OpKind::If && in_.taken.count(v->op)) return true;
    return std::any_of(v->op->operands().begin(), v->op->operands().end(),
                       [&](const Value* o) { return info(o).constant && followsFromDevices(o); });
  }

  void bench(Op& op) {
    region(*op.regions[0]);
    const Op* yield = op.regions[0]->terminator();
    for (size_t i = 0; yield && i < yield->operandCount(); ++i) use(*yield, i);
  }

  // ---- control flow

  struct Carried {
    bool outerVar;  ///< a `var` bound outside the current `on`: seen where it lives
    Op* scope;
  };

  /// For and while: `first` operands before the carried ones, `lead` region arguments before them.
  void loop(Op& op, size_t first, size_t lead) {
    for (size_t i = 0; i < first; ++i) hostRead(op, i, "for");
    size_t n = op.results.size();
    for (size_t round = 0; round <= n; ++round) {
      if (!loopRound(op, first, lead)) break;
      in_.needs.erase(&op);
      in_.errors.erase(&op);
      for (size_t i = 0; i < first; ++i) hostRead(op, i, "for");
    }
  }

  /// One walk over the loop; true when a carried value got a place, so that the body must be seen again.
  bool loopRound(Op& op, size_t first, size_t lead) {
    std::vector<Carried> carried;
    std::vector<std::string> places;
    Region& bodyRegion = *op.regions.back();
    for (size_t i = 0; i < lead; ++i)
      for (auto& r : op.regions) set(r->args[i].get(), "", Why::Free);
    for (size_t k = 0; k < op.results.size(); ++k) {
      const Value* init = op.operand(first + k);
      Value* arg = bodyRegion.args[lead + k].get();
      bool outer = info(init).scope != on_;  // a `var` bound in here starts with an `enter`
      std::string start = outer ? placeOf(init) : use(op, first + k);
      std::string settled = start;
      if (mixes(init->type) && !isPoison(init->type.place) && !arg->type.place.isFree() && placeOf(arg) != kHost &&
          !isPoison(arg->type.place)) {
        settled = placeOf(arg);  // what an earlier round found
        need(op, first + k, settled, "literal");
      }
      carried.push_back({outer, outer ? info(init).scope : on_});
      places.push_back(settled);
      for (auto& r : op.regions) {
        ValueInfo& i = set(r->args[lead + k].get(), settled, Why::Variable, init, &op);
        i.scope = carried[k].scope;
      }
    }
    for (auto& r : op.regions) region(*r);

    bool again = false;
    const Op* yield = bodyRegion.terminator();
    for (size_t k = 0; k < op.results.size(); ++k) {
      const Value* y = yield->operand(k);
      if (k == 0) {
        in_.needs.erase(yield);
        in_.errors.erase(yield);
      }
      Value* arg = bodyRegion.args[lead + k].get();
      std::string end = carried[k].outerVar || info(y).assignsOuter() ? placeOf(y) : use(*yield, k);
      if (end == kPoison || places[k] == kPoison) {
        places[k] = kPoison;
      } else if (mixes(arg->type) && !mixes(y->type)) {
        arg->type.place.device = places[k] = end;
        again = true;
      } else if (!mixes(arg->type) && mixes(y->type)) {
        need(*yield, k, places[k], "literal");
      } else if (!mixes(arg->type) && end != places[k]) {
        const std::string name = arg->name;
        fail(*yield, report_.assignment(*yield, y, end, name, arg, places[k]));
        places[k] = kPoison;
      } else if (places[k].empty()) {
        places[k] = end;
      }
      ValueInfo& i = set(op.result(k), places[k], Why::Variable, y, &op);
      i.scope = carried[k].scope;
    }
    return again;
  }

  void branch(Op& op) {
    std::optional<bool> known = info(op.operand(0)).constant;
    in_.taken.erase(&op);
    if (known && followsFromDevices(op.operand(0))) return takenBranch(op, *known);
    hostRead(op, 0, "if");
    for (auto& r : op.regions) region(*r);
    const Op* yields[2] = {op.regions[0]->terminator(), op.regions[1]->terminator()};
    for (const Op* y : yields) {
      in_.needs.erase(y);
      in_.errors.erase(y);
    }
    for (size_t k = 0; k < op.results.size(); ++k) {
      const Value* v[2] = {yields[0]->operand(k), yields[1]->operand(k)};
      const Value* assigned = info(v[0]).assignsOuter() ? v[0] : info(v[1]).assignsOuter() ? v[1] : nullptr;
      std::string at[2];
      for (int b : {0, 1}) at[b] = assigned ? placeOf(v[b]) : use(*yields[b], k);
      Op* scope = assigned ? info(assigned).scope : on_;
      set(op.result(k), branchPlace(op, yields, k, at), Why::Operand, mixes(v[0]->type) ? v[1] : v[0], on_).scope =
          scope;
    }
  }

  /// The place of result `k` of an `if` whose branches yield values at `at`.
  std::string branchPlace(Op& op, const Op* const (&yields)[2], size_t k, const std::string (&at)[2]) {
    const Value* v[2] = {yields[0]->operand(k), yields[1]->operand(k)};
    if (at[0] == kPoison || at[1] == kPoison) return std::string(kPoison);
    bool free[2] = {mixes(v[0]->type), mixes(v[1]->type)};
    if (free[0] && free[1]) return at[0].empty() ? at[1] : at[0];
    for (int b : {0, 1}) {
      if (!free[b]) continue;
      need(*yields[b], k, at[1 - b], "literal");
      return at[1 - b];
    }
    if (at[0] == at[1]) return at[0];
    fail(op, report_.mixed(op, "the branches of `if`", {{v[0], at[0], 0}, {v[1], at[1], 1}}));
    return std::string(kPoison);
  }

  /// The condition is a compile-time value: only one branch exists.
  void takenBranch(Op& op, bool condition) {
    in_.taken[&op] = condition;
    Region& r = *op.regions[condition ? 0 : 1];
    region(r);
    const Op* yield = r.terminator();
    in_.needs.erase(yield);
    for (size_t k = 0; k < op.results.size(); ++k) {
      const Value* y = yield->operand(k);
      bool assigned = info(y).assignsOuter();
      std::string place = assigned ? placeOf(y) : use(*yield, k);
      ValueInfo& i = set(op.result(k), place, Why::Operand, y, on_);
      if (assigned) i.scope = info(y).scope;
      i.constant = info(y).constant;
    }
  }

  // ---- functions (P6)

  void call(Op& op) {
    in_.callees.erase(&op);
    auto it = shared_.templates.find(op.stringAttr("callee"));
    if (it == shared_.templates.end()) return poison(op);
    ir::Func& callee = *it->second;
    Instance seed;
    if (!bindDevices(op, callee, seed)) return poison(op);

    std::string key = callee.name + "(" + seed.own;
    std::vector<ir::Placement> params;
    for (size_t i = 0; i < op.operandCount(); ++i) {
      const Value* v = op.operand(i);
      std::string place = seen(v).device;
      std::string wanted = expected(callee.paramPlaces, i, seed);
      if (mixes(v->type) && (!signaturePlace(callee.paramPlaces, i).empty() || !v->type.shape.empty())) {
        if (!(v->type.shape.empty() && wanted == kHost)) need(op, i, wanted, "argument");
        place = wanted;
      }
      params.push_back({place});
      key += "," + place;
    }
    for (const auto& [name, device] : seed.deviceVars) key += ";" + name + "=" + device;
    seed.caller = &in_;
    seed.call = &op;
    seed.arguments.assign(op.operands().begin(), op.operands().end());
    const Instance* made = in_.callees[&op] = shared_.instantiate(callee, key, std::move(seed), params);
    const Value* from = nullptr;
    for (const Value* v : op.operands())
      if (!from && !mixes(v->type)) from = v;
    for (size_t k = 0; k < op.results.size(); ++k) {
      std::string place = k < made->results.size() ? made->results[k].device : std::string();
      set(op.result(k), place, Why::CallResult, from, &op);
    }
  }

  static std::string signaturePlace(const std::vector<std::string>& places, size_t i) {
    return i < places.size() ? places[i] : std::string();
  }

  /// The device that a signature wants, once its device variables are bound.
  std::string expected(const std::vector<std::string>& places, size_t i, const Instance& at) {
    std::string p = signaturePlace(places, i);
    if (p.empty()) return at.own;
    if (!p.starts_with("$")) return shared_.devices.normal(p);
    auto it = at.deviceVars.find(p.substr(1));
    return it == at.deviceVars.end() ? at.own : it->second;
  }

  /// Binds the callee's own device and device variables from the arguments and checks those with named devices.
  bool bindDevices(Op& op, const ir::Func& callee, Instance& seed) {
    bool fixedOwn = !callee.ownDevice.empty() && callee.ownDevice[0] != '$';
    if (fixedOwn) seed.own = shared_.devices.normal(callee.ownDevice);
    std::map<std::string, std::vector<Reporter::Operand>> groups;  // "" is the function's own device
    bool ok = true;
    for (size_t i = 0; i < op.operandCount(); ++i) {
      const Value* v = op.operand(i);
      std::string place = use(op, i), wants = signaturePlace(callee.paramPlaces, i);
      if (place == kPoison) {
        ok = false;
        continue;
      }
      if (mixes(v->type)) continue;
      if (wants.empty() && !fixedOwn) {
        groups[""].push_back({v, place, i});
      } else if (wants.starts_with("$")) {
        groups[wants.substr(1)].push_back({v, place, i});
      } else {
        std::string device = wants.empty() ? seed.own : shared_.devices.normal(wants);
        if (device == place) continue;
        std::string param = callee.body->args[i]->name.empty() ? "parameter " + std::to_string(i + 1)
                                                               : "parameter `" + callee.body->args[i]->name + "`";
        fail(op, report_.wrongPlace(
                     op, param + " of `" + sourceName(op) + "` is on " + device + ", the argument is on " + place,
                     {v, place, i}, device));
        ok = false;
      }
    }
    for (const auto& [name, list] : groups) {
      bool agreed = std::all_of(list.begin(), list.end(), [&](const auto& o) { return o.device == list[0].device; });
      if (!agreed) {
        std::string rule = name.empty()
                               ? "arguments of `" + sourceName(op) + "`"
                               : "arguments of `" + sourceName(op) + "` for the device variable `" + name + "`";
        fail(op, report_.mixed(op, rule, list));
        ok = false;
      } else if (name.empty()) {
        seed.own = list[0].device;
      } else {
        seed.deviceVars[name] = list[0].device;
      }
    }
    if (seed.own.empty() && callee.ownDevice.starts_with("$")) seed.own = seed.deviceVars[callee.ownDevice.substr(1)];
    if (seed.own.empty()) seed.own = ambient();
    for (const auto& places : {callee.paramPlaces, callee.resultPlaces})
      for (const std::string& p : places)
        if (p.starts_with("$")) seed.deviceVars.try_emplace(p.substr(1), ambient());
    return ok && seed.own != kPoison;
  }

  void returned(Op& op) {
    in_.results.clear();
    for (size_t i = 0; i < op.operandCount(); ++i) {
      const Value* v = op.operand(i);
      std::string place = use(op, i);
      std::string written = signaturePlace(in_.func->resultPlaces, i);
      std::string wanted = expected(in_.func->resultPlaces, i, in_);
      if (place == kPoison || (in_.isRoot && written.empty())) {
        // Nothing to check.
      } else if (mixes(v->type)) {
        bool scalar = v->type.shape.empty();
        if (!(scalar && (written.empty() || wanted == kHost))) {
          need(op, i, wanted, "result");
          place = wanted;
        }
      } else if (place != wanted) {
        std::string subject = "the result of `" + in_.func->signature + "`";
        std::string rule = written.empty() ? " belongs on " + wanted + ", the function's own device, but is on "
                                           : " is declared on " + wanted + " but is on ";
        fail(op, report_.wrongPlace(op, subject + rule + place, {v, place, i}, wanted));
        place = wanted;  // callers rely on the signature
      }
      in_.results.push_back({place});
      if (i < in_.func->resultTypes.size()) in_.func->resultTypes[i].place.device = place;
    }
  }

  Shared& shared_;
  Instance& in_;
  Reporter report_;
  Op* on_ = nullptr;
  std::unordered_map<const Op*, Op*> enclosing_;  ///< the next `on` outward of each
};

}  // namespace

void infer(Shared& shared, Instance& instance) { Inference(shared, instance).run(); }

}  // namespace tenc::passes::placing
