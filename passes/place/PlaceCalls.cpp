// Placement of calls: a signature is a barrier (P6). Functions are specialised per device of their arguments.
#include <algorithm>
#include <set>

#include "passes/place/PlaceInfer.h"

namespace tenc::passes::placing {

void Inference::call(Op& op) {
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
    const std::string written = signaturePlace(callee.paramPlaces, i);
    // What a derivative adds to may be where the function makes the rest: it says so in this round, for the next one.
    const bool open = isOpen(v) && isAnywhere(written);
    if (!open && mixesHere(v) && ((!written.empty() && !isAnywhere(written)) || !v->type.shape.empty())) {
      if (!(v->type.shape.empty() && wanted == kHost)) need(op, i, wanted, Cause::Argument);
      place = wanted;
    }
    params.push_back({place});
    key += "," + place;
    // Known bools are part of the instance, so that both halves of a gradient take the same branch.
    seed.known.push_back(knownBool(v));
    if (seed.known.back()) key += *seed.known.back() ? "=true" : "=false";
  }
  for (const auto& [name, device] : seed.deviceVars) key += ";" + name + "=" + device;
  seed.caller = &in_;
  seed.call = &op;
  seed.arguments.assign(op.operands().begin(), op.operands().end());
  const Instance* made = in_.callees[&op] = shared_.instantiate(callee, key, std::move(seed), params);
  for (size_t k = 0; k < op.results.size(); ++k) {
    std::string place = k < made->results.size() ? made->results[k].device : std::string();
    // What is told of it: an argument that is there, too.
    const Value* from = nullptr;
    for (const Value* v : op.operands())
      if (!from && !mixesHere(v) && seen(v).device == place) from = v;
    set(op.result(k), place, Why::CallResult, from, &op).constant =
        k < made->knownResults.size() ? made->knownResults[k] : std::nullopt;
    if (place.empty() && !op.result(k)->type.shape.empty()) open_.insert(op.result(k));
  }
}

std::string Inference::signaturePlace(const std::vector<std::string>& places, size_t i) {
  return i < places.size() ? places[i] : std::string();
}

std::string expectedPlace(const Shared& shared, const Instance& instance, const std::string& written) {
  if (written.empty()) return instance.own;
  if (!written.starts_with("$")) return shared.devices.normal(written);
  auto it = instance.deviceVars.find(written.substr(1));
  return it == instance.deviceVars.end() ? instance.own : it->second;
}

std::string Inference::expected(const std::vector<std::string>& places, size_t i, const Instance& at) {
  return expectedPlace(shared_, at, signaturePlace(places, i));
}

bool Inference::bindDevices(Op& op, const ir::Func& callee, Instance& seed) {
  bool fixedOwn = !callee.ownDevice.empty() && callee.ownDevice[0] != '$';
  if (fixedOwn) seed.own = shared_.devices.normal(callee.ownDevice);
  std::map<std::string, std::vector<Reporter::Operand>> groups;  // "" is the function's own device
  std::map<std::pair<std::string, std::string>, std::vector<Reporter::Operand>> wrong;  // of a parameter and its device
  std::string first;           // the device of the first argument that may be anywhere
  std::set<std::string> lost;  // groups with an argument that has had an error
  bool ok = true;
  for (size_t i = 0; i < op.operandCount(); ++i) {
    const Value* v = op.operand(i);
    std::string place = use(op, i), wants = signaturePlace(callee.paramPlaces, i);
    if (place == kPoison) {
      lost.insert(wants.starts_with("$") ? wants.substr(1) : "");
      ok = false;
      continue;
    }
    if (mixesHere(v)) continue;
    if (isAnywhere(wants)) {
      if (first.empty() && !isBeside(wants)) first = place;
    } else if (wants.empty() && !fixedOwn) {
      groups[""].push_back({v, place, i});
    } else if (wants.starts_with("$")) {
      groups[wants.substr(1)].push_back({v, place, i});
    } else {
      std::string device = wants.empty() ? seed.own : shared_.devices.normal(wants);
      if (device == place) continue;
      std::string param = callee.body->args[i]->name.empty() ? "parameter " + std::to_string(i + 1)
                                                             : "parameter `" + callee.body->args[i]->name + "`";
      wrong[{std::move(param), std::move(device)}].push_back({v, place, i});
      ok = false;
    }
  }
  for (const auto& [parameter, list] : wrong) {
    const auto& [param, device] = parameter;
    std::string message =
        param + " of `" + sourceName(op) + "` is on " + device + ", the argument is on " + list[0].device;
    fail(op, report_.wrongPlace(op, std::move(message), list, device));
  }
  for (const auto& [name, list] : groups) {
    bool agreed = std::all_of(list.begin(), list.end(), [&](const auto& o) { return o.device == list[0].device; });
    if (!agreed && (lost.contains(name) || reportedApart(list))) {
      ok = false;
    } else if (!agreed) {
      std::string rule = name.empty() ? "arguments of `" + sourceName(op) + "`"
                                      : "arguments of `" + sourceName(op) + "` for the device variable `" + name + "`";
      fail(op, report_.apart(op, rule + " are on different devices", list));
      ok = false;
    } else if (name.empty()) {
      seed.own = list[0].device;
    } else {
      seed.deviceVars[name] = list[0].device;
    }
  }
  if (seed.own.empty() && callee.ownDevice.starts_with("$")) seed.own = seed.deviceVars[callee.ownDevice.substr(1)];
  if (seed.own.empty()) seed.own = first;
  if (seed.own.empty()) seed.own = ambient();
  for (const auto& places : {callee.paramPlaces, callee.resultPlaces})
    for (const std::string& p : places)
      if (p.starts_with("$") && !isAnywhere(p)) seed.deviceVars.try_emplace(p.substr(1), ambient());
  return ok && seed.own != kPoison;
}

bool Inference::reportedApart(const std::vector<Reporter::Operand>& operands) const {
  const auto opsOf = [&](const Reporter::Operand& o) {
    const auto it = apart_.find(o.value);
    return it == apart_.end() ? std::vector<const Op*>{} : it->second;
  };
  for (const Op* failed : opsOf(operands[0])) {
    const bool other = std::any_of(operands.begin(), operands.end(), [&](const Reporter::Operand& o) {
      const std::vector<const Op*> ops = opsOf(o);
      return o.device != operands[0].device && std::find(ops.begin(), ops.end(), failed) != ops.end();
    });
    if (other) return true;
  }
  return false;
}

void Inference::returned(Op& op) {
  in_.results.clear();
  in_.knownResults.clear();
  for (size_t i = 0; i < op.operandCount(); ++i) {
    const Value* v = op.operand(i);
    std::string place = use(op, i);
    std::string written = signaturePlace(in_.func->resultPlaces, i);
    std::string wanted = expected(in_.func->resultPlaces, i, in_);
    // A function that is returned leaves what it has captured in place.
    const bool anywhere = isAnywhere(written) || isOfCapture(written);
    if (place == kPoison || (in_.isRoot && written.empty())) {
      // Nothing to check.
    } else if (mixesHere(v)) {
      bool scalar = v->type.shape.empty();
      if (!(scalar && (written.empty() || anywhere || wanted == kHost))) {
        need(op, i, wanted, Cause::Result);
        place = wanted;
      }
    } else if (place != wanted && !anywhere) {
      std::string subject = "the result of `" + in_.func->signature + "`";
      std::string rule = written.empty() ? " belongs on " + wanted + ", the function's own device, but is on "
                                         : " is declared on " + wanted + " but is on ";
      fail(op, report_.wrongPlace(op, subject + rule + place, {{v, place, i}}, wanted));
      place = wanted;  // callers rely on the signature
    }
    in_.results.push_back({place});
    in_.knownResults.push_back(knownBool(v));
    if (i < in_.func->resultTypes.size()) in_.func->resultTypes[i].place.device = place;
  }
}

}  // namespace tenc::passes::placing
