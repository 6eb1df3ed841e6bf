// The placement pass: rules P1 to P6 of the language. Functions are specialised per placement of their arguments, so
// after it every value has one place and every move is a `transfer`.
#include "passes/place/Place.h"

#include <algorithm>
#include <set>

#include "ir/CallAttributes.h"
#include "support/InternalError.h"

namespace tenc::passes {
namespace placing {

const ir::DeviceDecl* DeviceNames::declaration(std::string_view name) const {
  for (const ir::DeviceDecl& d : module_.devices)
    if (d.name == name) return &d;
  return nullptr;
}

std::string DeviceNames::normal(std::string_view name) const {
  const ir::DeviceDecl* d = declaration(name);
  if (!d || d->choices.size() != 1) return d ? std::string(name) : ir::DeviceTable::normal(name);
  return ir::DeviceTable::normal(d->actual.empty() ? d->choices[0] : d->actual);
}

std::string DeviceNames::actual(std::string_view name) const {
  if (name.empty()) return std::string(kHost);
  return ir::DeviceTable::normal(module_.actual(name));
}

std::string DeviceNames::whyUnavailable(std::string_view name) const {
  return machine_.has(actual(name)) ? "" : machine_.text();
}

Instance* Shared::instantiate(ir::Func& callee, const std::string& key, Instance&& seed,
                              const std::vector<ir::Placement>& params) {
  auto [it, isNew] = byKey.try_emplace(key, nullptr);
  if (!isNew) return it->second;
  Instance& made = instances.emplace_back(std::move(seed));
  it->second = &made;

  int number = ++copies[callee.name];
  std::string name = callee.name + (number == 1 ? ".placed" : ".placed" + std::to_string(number));
  while (module.find(name)) name += "_";
  ir::Func* f = module.addFuncLike(name, callee);
  ir::ValueMap map;
  for (size_t i = 0; i < callee.body->args.size(); ++i) {
    const ir::Value& from = *callee.body->args[i];
    ir::Value* arg = f->body->addArg(from.type, from.name);
    arg->type.place = params[i];
    map[&from] = arg;
  }
  ir::cloneInto(*callee.body, *f->body, map);
  made.func = f;
  infer(*this, made);
  return &made;
}

namespace {

void collectCallees(const ir::Region& region, std::map<std::string, bool>& called) {
  for (const auto& op : region.ops) {
    if (op->kind == ir::OpKind::Call) called[op->stringAttr("callee")] = true;
    for (const auto& inner : op->regions) collectCallees(*inner, called);
  }
}

/// Whether callers decide places in the signature, for instance those of what a lambda argument has captured. Such a
/// function is not placed by itself.
bool isPlacedByCallers(const ir::Func& f) {
  const auto isOpen = [](const std::string& p) { return isAnywhere(p) || isOfCapture(p); };
  return std::any_of(f.paramPlaces.begin(), f.paramPlaces.end(), isOpen) ||
         std::any_of(f.resultPlaces.begin(), f.resultPlaces.end(), isAnywhere);
}

/// Entry points are functions that nobody calls: the script, tests, benches, and what `tenc check` instantiates.
std::vector<ir::Func*> entryPoints(ir::Module& m) {
  std::map<std::string, bool> called;
  for (const auto& f : m.funcs) collectCallees(*f->body, called);
  std::vector<ir::Func*> roots;
  for (const auto& f : m.funcs)
    if (!called.count(f->name) && !isPlacedByCallers(*f)) roots.push_back(f.get());
  return roots;
}

void inferEntryPoint(Shared& shared, ir::Func& f) {
  Instance& root = shared.instances.emplace_back();
  root.func = &f;
  root.isRoot = true;
  root.own = shared.devices.normal(shared.module.defaultDevice);
  if (!f.ownDevice.empty() && f.ownDevice[0] != '$') root.own = shared.devices.normal(f.ownDevice);
  for (size_t i = 0; i < f.body->args.size(); ++i) {
    const std::string place = i < f.paramPlaces.size() ? f.paramPlaces[i] : std::string();
    std::string device = root.own;
    if (place.starts_with("$")) {
      root.deviceVars.try_emplace(place.substr(1), root.own);
    } else if (!place.empty()) {
      device = shared.devices.normal(place);
    }
    f.body->args[i]->type.place = {device};
  }
  infer(shared, root);
}

/// Variables that a help of an error so far would start elsewhere, by the place of that edit.
using Blamed = std::set<std::pair<uint32_t, uint32_t>>;

/// Whether one variable's start is to blame that an earlier error has named.
bool isKnownCause(const Diagnostic& d, Blamed& blamed) {
  for (const Help& h : d.helps)
    if (h.mustRemove && !h.edits.empty()) return !blamed.insert({h.edits[0].span.file, h.edits[0].span.begin}).second;
  return false;
}

/// Hands collected errors over, in the order of the program. What several leaves or several instances say of one place
/// is one error.
class Report {
 public:
  explicit Report(Shared& shared) : shared_(shared) {}

  /// True when there were none.
  bool run() {
    for (const Instance& instance : shared_.instances)
      if (!instance.errors.empty()) region(instance, *instance.func->body);
    if (clean_ && !derived_.empty()) followUp();
    return clean_ && derived_.empty();
  }

 private:
  using Entry = std::pair<const ir::Op*, const Diagnostic*>;

  void region(const Instance& instance, const ir::Region& region) {
    for (const auto& op : region.ops) {
      if (auto found = instance.errors.find(op.get()); found != instance.errors.end()) {
        for (const Diagnostic& d : found->second) {
          if (isDerived(*op))
            derived_.emplace_back(op.get(), &d);
          else
            report(d);
        }
      }
      for (const auto& inner : op->regions) this->region(instance, *inner);
    }
  }

  static bool callsRule(const ir::Region& region) {
    return std::any_of(region.ops.begin(), region.ops.end(), [](const auto& op) {
      return op->hasAttr(ir::kRuleBackward) ||
             std::any_of(op->regions.begin(), op->regions.end(), [](const auto& inner) { return callsRule(*inner); });
    });
  }

  void report(const Diagnostic& d) {
    clean_ = false;
    if (isKnownCause(d, blamed_)) return;
    Diagnostics::Builder b = shared_.context.diags->report(d.code, d.span, d.message);
    b.label(d.label);
    for (const Label& l : d.labels) b.label(l.span, l.text);
    for (const Note& n : d.notes) b.note(n.span, n.text);
    for (const Help& h : d.helps) b.help(h);
  }

  /// For a bug report: the op, and where its operands are.
  static std::string placesOf(const ir::Op& op) {
    std::string text = "\n" + std::string(op.info().mnemonic) + " in @" + op.func()->name + ":";
    for (const ir::Value* v : op.operands()) {
      const std::string& device = v->type.place.device;
      text += " " + (v->op ? std::string(v->op->info().mnemonic) : "argument " + std::to_string(v->index)) + " @" +
              (device.empty() ? "-" : device);
    }
    return text;
  }

  /// Ops of derivatives stand for nothing in the source. What is wrong with them follows from what is wrong with the
  /// ops that they are of, or with a rule that the program has of its own; else it is a bug.
  void followUp() {
    const bool rules = std::any_of(shared_.module.funcs.begin(), shared_.module.funcs.end(),
                                   [](const auto& f) { return callsRule(*f->body); });
    if (!rules) {
      const auto& [op, d] = derived_[0];
      throw InternalError("a derivative is placed wrong: " + d->message + madeBy(*op) + placesOf(*op));
    }
    for (const auto& [op, d] : derived_) report(*d);
  }

  Shared& shared_;
  Blamed blamed_;
  bool clean_ = true;
  std::vector<Entry> derived_;  ///< errors of ops that stand for nothing in the source
};

/// Instances that the final round of inference still calls; fixpoints may have left others behind.
void markLive(Instance& instance, std::map<const Instance*, bool>& live) {
  if (live[&instance]) return;
  live[&instance] = true;
  for (auto& [op, callee] : instance.callees)
    if (callee) markLive(*callee, live);
}

/// Whether every branch that was lowered alone is the one that is taken, in all calls; notes for the caller which are.
bool checkDecisions(Shared& shared, const std::map<const Instance*, bool>& live) {
  bool right = true;
  for (const Instance& instance : shared.instances) {
    if (const auto found = live.find(&instance); found == live.end() || !found->second) continue;
    // A function that nobody calls is somewhere by default: that decides nothing.
    if (instance.isRoot && instance.func->kind == ir::Func::Kind::Function) continue;
    for (const auto& [op, taken] : instance.decided) {
      if (shared.context.decisions) {
        const auto [known, isNew] = shared.context.decisions->try_emplace(op->stringAttr("key"), taken);
        if (known->second != taken) known->second.reset();
      }
      if (taken == op->boolAttr("taken")) continue;
      right = false;
      shared.context.diags->report(Code::E0209, shared.module.span(op->loc),
                                   "which branch is taken differs from call to call, and so does their type");
    }
  }
  return right;
}

}  // namespace
}  // namespace placing

bool place(ir::Module& m, Context& c) {
  using namespace placing;
  Shared shared{m, c, DeviceNames(m, c.machine), {}, {}, {}, {}};
  std::vector<ir::Func*> roots = entryPoints(m);
  for (const auto& f : m.funcs) shared.templates[f->name] = f.get();
  for (ir::Func* f : roots) inferEntryPoint(shared, *f);

  std::map<const Instance*, bool> live;
  for (Instance& i : shared.instances)
    if (i.isRoot) markLive(i, live);
  for (Instance& i : shared.instances)
    if (!live[&i]) i.errors.clear();
  const bool asDecided = checkDecisions(shared, live);
  if (!Report(shared).run() || !asDecided) return false;

  for (Instance& i : shared.instances)
    if (live[&i]) rewrite(shared, i);

  std::map<const ir::Func*, bool> keep;
  for (const Instance& i : shared.instances) keep[i.func] = live[&i];
  std::erase_if(m.funcs, [&](const std::unique_ptr<ir::Func>& f) { return !keep[f.get()]; });
  return placeFree(m, c);
}

}  // namespace tenc::passes
