// Functions: one ir::Func per instance, that is per function and concrete argument types, dims and compile-time values.
#include "frontend/calls/Instances.h"

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Functions.h"
#include "frontend/calls/Training.h"
#include "frontend/control/Autocast.h"
#include "frontend/control/Flow.h"
#include "frontend/control/Statements.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/names/Devices.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "frontend/types/DimSolver.h"
#include "frontend/types/Generics.h"
#include "frontend/types/Types.h"
#include "frontend/types/Unifier.h"
#include "frontend/values/Keys.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;
using ir::OpKind;

std::string packText(const Val& v) {
  ir::Dims dims;
  for (const Val& e : v.elems) dims.push_back(static_cast<int64_t>(e.integer));
  return ir::toString(dims);
}

/// How many trees a value is made of: what tells a layer from one that it is nested in.
size_t treesIn(const Val& v) {
  size_t n = v.isTree() ? 1 : 0;
  for (const Val& e : v.elems) n += treesIn(e);
  return n;
}
}  // namespace

bool Instances::hasSyntaxError(Span within) {
  const auto& all = context_.diags.all();
  return std::any_of(all.begin(), all.end(), [&](const Diagnostic& d) {
    return d.code == Code::E0101 && d.span.file == within.file && d.span.begin >= within.begin &&
           d.span.begin <= within.end;
  });
}

Val Instances::instantiate(const FnDecl& decl, std::vector<Val>& values, Generics& g, Span call,
                           const std::vector<Span>& written) {
  const ast::Stmt& s = *decl.stmt;
  Training* training = context_.body.training;
  std::vector<ir::Value*> before;  // of what the layers were when training began
  Key key;
  if (training) {
    for (Val& v : values) {
      leavesOf(v, before);
      v = training->newest(v);
    }
    key.add(std::string_view(training->method));
  }
  key.add(static_cast<const void*>(&decl));
  const std::optional<ir::DType> rounds = context_.b().rounds();
  key.add(rounds ? 1 + static_cast<uint64_t>(*rounds) : 0);
  bool higherOrder = false;
  size_t trees = 0;
  for (const Val& v : values) {
    key.add(v);
    higherOrder = higherOrder || holdsFunction(v);
    trees += treesIn(v);
  }
  for (const auto& [name, v] : g.bound) {
    key.add(std::string_view(name));
    key.add(v);
  }
  for (const Frame* f : context_.frames) {
    // A layer may call the one that it is made of: that ends, as a tree has finitely many parts.
    if (f->fn == &decl && (*f->key == key || (!f->higherOrder && !higherOrder && trees >= f->trees))) {
      auto d = context_.error(Code::E0109, call, "`" + s.name.text + "` calls itself; recursion is not possible");
      d.help("write a loop: what changes from call to call is a `var`");
      return Val(d);
    }
  }
  auto& slot = instances_[key];
  if (!slot) {
    slot = std::make_unique<Instance>();
    Frame own(decl.unit);
    own.fn = &decl;
    own.key = &key;
    own.call = call;
    own.higherOrder = higherOrder;
    own.trees = trees;
    std::string dims;
    for (const auto& [name, v] : g.bound) {
      if (v.is(Kind::Int)) dims += (dims.empty() ? "" : ", ") + name + " = " + toString(v.integer);
      if (v.is(Kind::DType)) dims += (dims.empty() ? "" : ", ") + name + " = " + std::string(ir::name(v.dtype));
    }
    // Of a call the argument shows it.
    for (const auto& [name, v] : g.bound) {
      if (v.is(Kind::Pack) && !call.valid()) dims += (dims.empty() ? "" : ", ") + name + " = " + packText(v);
    }
    own.hasSizes = !dims.empty();
    own.signature = calledName(decl) + (dims.empty() ? "" : "[" + dims + "]");
    lowerInstance(decl, *slot, values, g, own);
  }
  const Instance& instance = *instances_[key];
  if (instance.failed) return context_.lost();
  std::vector<ir::Value*> operands;
  std::vector<ir::OperandText> texts;
  for (size_t i = 0; i < values.size(); ++i) {
    const Span span = i < written.size() ? written[i] : Span{};
    if (values[i].isTree()) {
      mapLeaves(values[i], [&](const Val& leaf, const std::string& path, bool) {
        if (leaf.tensor) texts.push_back({span, path});
        return leaf;
      });
    }
    leavesOf(values[i], operands);
    texts.resize(operands.size(), {span, ""});
  }
  context_.at(call, std::move(texts));
  ir::Op* op = context_.b().makeTyped(OpKind::Call, operands, instance.resultTypes, {{"callee", instance.func->name}});
  std::vector<ir::Value*> results;
  for (const auto& r : op->results) results.push_back(r.get());
  if (training && !instance.kept.empty()) {
    const size_t first = results.size() - instance.kept.size();
    for (size_t i = 0; i < instance.kept.size(); ++i) training->kept.set(before[instance.kept[i]], results[first + i]);
  }
  Val r = rebuild(instance.result, results);
  r.span = call;
  return r;
}

void Instances::forget(const std::set<const ir::Func*>& gone) {
  for (const ir::Func* f : gone) {
    context_.batched.forget(*f);
    context_.derived.forget(*f);
  }
  std::erase_if(instances_, [&](const auto& entry) { return gone.contains(entry.second->func); });
}

void Instances::placesOf(const Val& v, const Ty& declared, const std::string& otherwise, std::vector<std::string>& list,
                         const Pins* pins) {
  const std::string& place = declared.place.empty() ? otherwise : declared.place;
  if (!place.empty()) context_.derived.notePlaces();
  if (v.tensor) list.push_back(place);
  // What a lambda captured, or a device stands for, is where it is: each a device variable of its own.
  auto anywhere = [&] { list.push_back("$" + std::to_string(unnamedPlaces_++)); };
  if (v.device.of) anywhere();
  for (size_t i = 0; i < v.elems.size(); ++i) {
    Ty inner;
    const size_t which = declared.kind == Ty::Kind::List ? 0 : i;
    if (which < declared.elems.size()) inner = declared.elems[which];
    const Pins* part = pinsOfPart(v, pins, i);
    if (part && part->named()) inner.place = part->place;
    placesOf(v.elems[i], inner, place, list, part);
  }
  if (v.fn) {
    Val function = Val::ofFunction(v.fn);
    std::vector<ir::Value*> leaves;
    leavesOf(function, leaves);
    for (size_t i = 0; i < leaves.size(); ++i) anywhere();
  }
}

void Instances::lowerInstance(const FnDecl& decl, Instance& inst, const std::vector<Val>& values, Generics& g,
                              Frame& own) {
  const ast::Stmt& s = *decl.stmt;
  const std::string base = (decl.unit->isScript ? "" : decl.unit->name + ".") + s.name.text;
  inst.func = context_.module.addFunc(base + "." + std::to_string(context_.freshId()));
  ir::Func* func = inst.func;
  const std::string called = calledName(decl);
  func->source = called == s.name.text ? base : called;  // as a struct is called
  func->span = s.name.span;
  func->signature = own.signature;
  ir::Builder body(func->body.get());
  const ir::RoundingScope around(body, context_.b().rounds());
  Boundary boundary;
  const FrameScope names(context_.frames, own);
  Training training{context_.body.training ? context_.body.training->method : ""};
  Training* trained = context_.body.training ? &training : nullptr;
  const Scoped inside(context_.body, context_.body.called(body, boundary));
  context_.body.training = trained;
  std::list<ir::RoundingScope> rounding;
  for (const ast::Annotation& a : s.annotations) {
    if (a.kind == ast::Annotation::Kind::Autocast)
      rounding.emplace_back(body, autocast_.within(a));
    else if (auto d = devices_.annotationDevice(a))
      func->ownDevice = d->name, context_.derived.notePlaces();
  }
  for (const Declaration* d : decl.unit->resolution->signatureOf(s)) {
    if (const auto bound = g.bound.find(d->name); bound != g.bound.end()) scopes_.bind(*d, bound->second);
  }
  std::vector<ir::Value*> parameters;
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::FnParam& p = s.params[i];
    Val v = withoutDeviceNames(argumentsLike(values[i], func->body.get(), p.name.text));
    v.span = p.name.span;
    Ty declared;
    if (p.type) declared = types_.resolve(*p.type, g);
    placesOf(v, declared, "", func->paramPlaces);
    // The device of a value: types of the signature name it as the device variable that `d` of `fn f(d, ...)` is.
    const auto variable = v.device.of ? g.bound.find(p.name.text) : g.bound.end();
    if (variable != g.bound.end() && variable->second.device.name == "$" + p.name.text)
      func->paramPlaces.back() = variable->second.device.name;
    // A device variable is known inside by the first parameter that lives there.
    std::vector<ir::Value*> leaves;
    leavesOf(v, leaves);
    parameters.insert(parameters.end(), leaves.begin(), leaves.end());
    for (size_t k = 0; k < leaves.size(); ++k) {
      const std::string& place = func->paramPlaces[func->paramPlaces.size() - leaves.size() + k];
      if (!place.starts_with('$')) continue;
      for (auto& [name, binding] : context_.frame().scopes.back().names) {
        if (binding.value.is(Kind::Device) && binding.value.device.name == place && !binding.value.device.of) {
          binding.value.device.of = leaves[k];
        }
      }
    }
    scopes_.declare(p.name, v, false);
  }
  Ty hint;
  if (s.type) {
    const size_t known = context_.diags.errors();
    hint = types_.resolve(*s.type, g);
    if (context_.diags.errors() == known) context_.frame().result = &hint;
  }
  Val result;
  if (s.bodyIsExpr || s.body.statements.empty()) {
    result = s.value ? expressions_.eval(*s.value, context_.frame().result) : Val::unit(s.span);
  } else {
    result = statements_.lowerBlock(s.body, nullptr, context_.frame().result).value;
  }
  if (s.type && !result.poison()) {
    const Target who{"the result of `" + s.name.text + "`", result.span.valid() ? result.span : s.name.span,
                     s.type->span, true};
    if (result.is(Kind::Unit) && hasSyntaxError(s.span)) {
      result = context_.lost();
    } else if (result.is(Kind::Unit)) {
      result = context_.fail(Code::E0207, who.span,
                             who.what + " is declared " + std::string(context_.sources.text(s.type->span)) +
                                 ", but the body gives no value");
    } else {
      result = unifier_.unify(*s.type, result, g, who);
      if (!result.poison() && !dimSolver_.finishPending(g, who)) result = context_.lost();
      Ty type = types_.resolve(*s.type, g);
      if (!result.poison()) result = tensors_.materialise(result, &type);
      hint = type;
    }
  } else if (!result.poison()) {
    const Val written = result;
    result = tensors_.settle(result);
    // A float that is known is exact for the caller, as under a `let`.
    if (result.is(Kind::Float) && written.adopts) result = written;
  }
  std::vector<ir::Value*> leaves;
  inst.failed = result.poison() || !leavesOf(result, leaves);
  if (inst.failed) leaves.clear();
  for (size_t i = 0; i < parameters.size() && !inst.failed; ++i) {
    ir::Value* now = training.kept.now(parameters[i]);
    if (now == parameters[i]) continue;
    leaves.push_back(now);
    inst.kept.push_back(i);
  }
  context_.at(s.name.span, std::vector<ir::OperandText>(leaves.size(), {result.span, ""}));
  context_.b().makeTyped(OpKind::Return, leaves, {});
  for (ir::Value* v : leaves) {
    inst.resultTypes.push_back(v->type);
    inst.resultTypes.back().place = {};
  }
  func->resultTypes = inst.resultTypes;
  if (!inst.failed) placesOf(result, hint, "", func->resultPlaces);
  for (const size_t i : inst.kept) func->resultPlaces.push_back(func->paramPlaces[i]);
  inst.result = std::move(result);
}

}  // namespace tenc::frontend
