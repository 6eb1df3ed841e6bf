// Regions: branches, placed blocks and loops as ops, with the values that cross their borders as flat lists of tensors.
#include "frontend/control/Regions.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Training.h"
#include "frontend/values/Exact.h"
#include "frontend/values/Keys.h"
#include "frontend/values/Literals.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/Loops.h"
#include "ir/build/Compose.h"
#include "runtime/io/Io.h"

namespace tenc::frontend {

namespace {
using ir::DType;
using ir::OpKind;

constexpr const char* kState = "the state of a layer";  // among the names of what is carried

bool isText(const Val& v) { return v.is(Val::Kind::String) || v.isChoice(); }

bool isPlain(const Val& v) {
  return v.isNumber() || v.is(Val::Kind::Bool) || v.is(Val::Kind::Tensor) || v.is(Val::Kind::Array);
}
}  // namespace

void Regions::yield(ir::Region* region, const std::vector<ir::Value*>& values, OpKind kind) {
  context_.inRegion(region, [&] { context_.b().makeTyped(kind, values, {}); });
}

Val Regions::placeholder(const Val& like) {
  std::vector<ir::Value*> leaves;
  if (!leavesOf(like, leaves)) return context_.lost();
  for (ir::Value*& v : leaves) v = tensors_.zerosOf(v->type.dtype, v->type.shape);
  return rebuild(like, leaves);
}

bool Regions::agreeOnText(Val& a, Val& b, ir::Region* ra, ir::Region* rb) {
  if (a.is(Val::Kind::String) && b.is(Val::Kind::String) && a.text == b.text) return true;
  constexpr size_t kMostTexts = 1000;
  std::vector<std::string> texts;
  for (auto [v, region] : {std::pair{&a, ra}, std::pair{&b, rb}}) {
    // Those of the second come behind those of the first.
    const auto first = static_cast<int64_t>(texts.size());
    const std::vector<std::string> own = v->isChoice() ? rt::choiceTexts(v->text) : std::vector<std::string>{v->text};
    texts.insert(texts.end(), own.begin(), own.end());
    context_.inRegion(region, [&] {
      ir::Compose c(context_.b());
      ir::Value* from = context_.b().scalarInt(DType::I64, first);
      *v = Val::ofChoice(v->isChoice() ? c.add(v->elems[0].tensor, from) : from, "", v->span);
    });
  }
  if (texts.size() > kMostTexts) return false;
  a.text = b.text = rt::choiceFormat(texts);
  return true;
}

bool Regions::agree(Val& a, Val& b, ir::Region* ra, ir::Region* rb, std::string_view name, Span span) {
  if (a.poison() || b.poison()) return false;
  auto differ = [&] {
    auto d = context_.error(
        Code::E0209, span,
        "the branches give " + std::string(name) + " different types: " + describe(a) + " and " + describe(b));
    if (a.span.valid()) d.label(a.span, describe(a));
    if (b.span.valid()) d.label(b.span, describe(b));
    return false;
  };
  if (a.is(Val::Kind::Unit) || b.is(Val::Kind::Unit)) {
    a = b = Val::unit(span);
    return true;
  }
  if (isPlain(a) && isPlain(b)) {
    const bool sameInt = a.is(Val::Kind::Int) && b.is(Val::Kind::Int) && a.integer == b.integer;
    const bool sameBool = a.is(Val::Kind::Bool) && b.is(Val::Kind::Bool) && a.boolean == b.boolean;
    if (sameInt || sameBool) return true;
    if (a.is(Val::Kind::Tensor) && b.is(Val::Kind::Tensor))
      return a.tensor->type.sameTensor(b.tensor->type) || differ();
    std::optional<DType> hint;
    if (a.is(Val::Kind::Tensor)) hint = a.tensor->type.dtype;
    if (b.is(Val::Kind::Tensor)) hint = b.tensor->type.dtype;
    const bool numbers = a.isNumber() && b.isNumber() && a.adopts && b.adopts;
    if (numbers && (a.is(Val::Kind::Float) || b.is(Val::Kind::Float))) hint = dtypeAlone({a, b});
    for (const Val* v : {&a, &b}) {
      if (!hint && v->is(Val::Kind::Float)) hint = v->dtype;
    }
    for (const Val* v : {&a, &b}) {
      if (hint && !ir::isFloat(*hint) && v->is(Val::Kind::Float)) return differ();
    }
    bool ok = true;
    for (auto [v, region] : {std::pair{&a, ra}, std::pair{&b, rb}}) {
      context_.inRegion(region, [&] {
        ir::Value* t = numbers && hint == DType::F32 ? exactLiteral(context_.b(), *v) : nullptr;
        if (!t) t = tensors_.tensorOf(*v, hint);
        ok = ok && t;
        if (t) *v = Val::ofTensor(t, v->span);
      });
    }
    if (!ok) return false;
    return a.tensor->type.sameTensor(b.tensor->type) || differ();
  }
  if (isText(a) && isText(b)) return agreeOnText(a, b, ra, rb) || differ();
  if (a.isTree() && b.isTree()) {
    if (a.kind != b.kind || a.elems.size() != b.elems.size()) return differ();
    if (a.is(Val::Kind::Struct) && (a.info->decl != b.info->decl || a.info->text != b.info->text)) return differ();
    for (size_t i = 0; i < a.elems.size(); ++i) {
      if (!agree(a.elems.edit()[i], b.elems.edit()[i], ra, rb, name, span)) return false;
    }
    return true;
  }
  // The key of i64 is that of a number of that dtype.
  if (a.kind == b.kind && sameKey(a, b)) return true;
  if (a.kind != b.kind && describe(a) == describe(b)) {
    // One of them is text, the other has values of the run in it.
    context_
        .error(
            Code::E0209, span,
            "branches choose between strings that are known while compiling, and one of these holds a run-time value")
        .help("print inside the branches, or choose the value and write the string after them");
    return false;
  }
  if (a.kind != b.kind || describe(a) != describe(b)) return differ();
  context_
      .error(Code::E0209, span,
             "only numbers, tensors and trees of them can differ between branches at run time, and " +
                 std::string(name) + " is " + describe(a))
      .help("branch on a compile-time value (a `const`, `param` or dim), or print inside the branches");
  return false;
}

std::vector<Val> Regions::emitIf(ir::Value* condition, Span span, const std::vector<std::string>& names,
                                 const BranchFn& yes, const BranchFn& no,
                                 const std::function<void(std::vector<Val>&, std::vector<Val>&)>& fix) {
  context_.at(span);
  ir::Op* op = context_.b().makeTyped(OpKind::If, {condition}, {});
  ir::Region* regions[2] = {context_.b().addRegion(op), context_.b().addRegion(op)};
  std::vector<Val> values[2];
  Training* training = context_.body.training;
  const KeptLeaves before = training ? training->kept : KeptLeaves();
  KeptLeaves kept[2];
  {
    const Scoped deeper(context_.body.regionDepth, context_.body.regionDepth + 1);
    for (const int r : {0, 1}) {
      context_.inRegion(regions[r], [&] { values[r] = r == 0 ? yes() : no(); });
      if (training) kept[r] = std::exchange(training->kept, before);
    }
  }
  if (fix) fix(values[0], values[1]);
  std::vector<ir::Value*> state;  // leaves of layers that change in one of them
  for (const KeptLeaves& k : kept) {
    for (ir::Value* leaf : k.changedIn(*op, before)) {
      if (std::find(state.begin(), state.end(), leaf) == state.end()) state.push_back(leaf);
    }
  }
  for (ir::Value* leaf : state) {
    for (const int r : {0, 1}) values[r].push_back(Val::ofTensor(kept[r].now(leaf), span));
  }
  std::vector<Val> merged;
  std::vector<ir::Value*> yields[2];
  std::vector<ir::OperandText> written;
  for (size_t i = 0; i < values[0].size(); ++i) {
    Val &a = values[0][i], &c = values[1][i];
    const std::string name = i < names.size() ? names[i] : "it";
    if (!agree(a, c, regions[0], regions[1], name, span)) {
      merged.push_back(context_.lost());
      continue;
    }
    std::vector<ir::Value*> x, y, results;
    leavesOf(a, x);
    leavesOf(c, y);
    for (size_t k = 0; k < x.size(); ++k) {
      if (x[k] == y[k]) {  // unchanged: a value from outside
        results.push_back(x[k]);
        continue;
      }
      yields[0].push_back(x[k]);
      yields[1].push_back(y[k]);
      written.insert(written.end(), {{a.span, ""}, {c.span, ""}});
      ir::Type t = x[k]->type;
      t.place = {};
      results.push_back(op->addResult(t));
    }
    merged.push_back(rebuild(a, results));
    if (merged.back().is(Val::Kind::Tensor)) merged.back().span = span;
  }
  yield(regions[0], yields[0]);
  yield(regions[1], yields[1]);
  context_.at(span, std::move(written));
  op->loc = context_.b().loc();
  context_.at(span);
  takeState(merged, state);
  return merged;
}

void Regions::takeState(std::vector<Val>& results, const std::vector<ir::Value*>& state) {
  const size_t own = results.size() - state.size();
  for (size_t i = 0; i < state.size(); ++i) {
    const Val& now = results[own + i];
    if (!now.poison()) context_.body.training->kept.set(state[i], now.tensor);
  }
  results.resize(own);
}

std::vector<Val> Regions::stateNow(const std::vector<ir::Value*>& state) const {
  std::vector<Val> now;
  for (ir::Value* leaf : state) now.push_back(Val::ofTensor(context_.body.training->kept.now(leaf)));
  return now;
}

bool Regions::addState(const ir::Op& op, const KeptLeaves& before, std::vector<ir::Value*>& state) const {
  const size_t known = state.size();
  for (ir::Value* leaf : context_.body.training->kept.changedIn(op, before)) {
    if (std::find(state.begin(), state.end(), leaf) == state.end()) state.push_back(leaf);
  }
  return state.size() > known;
}

std::vector<Val> Regions::emitOn(const DeviceRef& device, Span span, const BranchFn& body,
                                 const std::vector<Val>& before) {
  context_.at(span);
  context_.derived.notePlaces();
  std::vector<ir::Value*> operands;
  ir::Value* const there = placing_.valueOn(device);
  if (there) operands.push_back(there);
  ir::Op* op = context_.b().makeTyped(OpKind::On, operands, {}, {{"device", there ? std::string() : device.name}});
  if (there) op->set("named", true);
  ir::Region* region = context_.b().addRegion(op);
  std::vector<Val> values;
  Training* training = context_.body.training;
  const KeptLeaves layers = training ? training->kept : KeptLeaves();
  context_.inRegion(region, [&] { values = body(); });
  std::vector<ir::Value*> state;
  if (training) {
    addState(*op, layers, state);
    for (Val& now : stateNow(state)) values.push_back(std::move(now));
    training->kept = layers;
  }
  std::vector<Val> outside;
  std::vector<ir::Value*> yields;
  for (size_t i = 0; i < values.size(); ++i) {
    const Val& v = values[i];
    std::vector<ir::Value*> leaves, results, old;
    if (!leavesOf(v, leaves)) {
      outside.push_back(context_.lost());
      continue;
    }
    if (i < before.size() && before[i].isTree()) leavesOf(before[i], old);
    const std::vector<std::string> pinned = pinnedLeaves(v);
    for (ir::Value* leaf : leaves) {
      const size_t k = results.size();
      const bool unchanged = k < old.size() && old[k] == leaf;
      // A value from outside whose place its type names does not enter.
      const bool stays = pinned.size() == leaves.size() && !pinned[k].empty() && !leaf->home()->isInside(*op);
      if (unchanged || stays) {
        results.push_back(leaf);
        continue;
      }
      yields.push_back(leaf);
      ir::Type t = leaf->type;
      t.place = {};
      results.push_back(op->addResult(t));
      results.back()->name = leaf->name;
    }
    outside.push_back(rebuild(v, results));
  }
  yield(region, yields);
  context_.at(span);
  takeState(outside, state);
  return outside;
}

std::vector<Val> Regions::loopCarried(ir::Value* lo, ir::Value* hi, ir::Value* step, const std::vector<Val>& carried,
                                      const std::vector<std::string>& names, Span span, const LoopBody& body) {
  Training* training = context_.body.training;
  if (!training) return loopOnce(lo, hi, step, carried, names, span, body).second;
  // Which layers change in it is known when it is lowered: once more, then, with their state among what is carried.
  const KeptLeaves before = training->kept;
  std::vector<ir::Value*> state;
  std::vector<std::string> allNames = names;
  while (true) {
    std::vector<Val> all = carried;
    for (Val& now : stateNow(state)) all.push_back(std::move(now));
    allNames.resize(all.size(), kState);
    const LoopBody trip = [&](ir::Value* i, std::vector<Val> now) {
      takeState(now, state);
      std::vector<Val> after = body(i, std::move(now));
      for (Val& leaf : stateNow(state)) after.push_back(std::move(leaf));
      return after;
    };
    auto [op, results] = loopOnce(lo, hi, step, all, allNames, span, trip);
    const bool more = addState(*op, before, state);
    training->kept = before;
    if (!more) {
      takeState(results, state);
      return results;
    }
    op->erase();
  }
}

std::pair<ir::Op*, std::vector<Val>> Regions::loopOnce(ir::Value* lo, ir::Value* hi, ir::Value* step,
                                                       const std::vector<Val>& carried,
                                                       const std::vector<std::string>& names, Span span,
                                                       const LoopBody& body) {
  context_.at(span);
  std::vector<ir::Value*> operands = {lo, hi, step};
  for (const Val& v : carried) leavesOf(v, operands);
  ir::Op* op = context_.b().makeTyped(OpKind::For, operands, {});
  ir::Region* region = context_.b().addRegion(op);
  ir::Value* index = region->addArg({DType::I64, {}, {}}, "i");
  std::vector<Val> arguments;
  for (size_t i = 0; i < carried.size(); ++i) arguments.push_back(argumentsLike(carried[i], region, names[i]));
  std::vector<Val> after;
  {
    const Scoped deeper(context_.body.regionDepth, context_.body.regionDepth + 1);
    context_.inRegion(region, [&] { after = body(index, arguments); });
  }
  std::vector<ir::Value*> yields = carriedYields(carried, arguments, after, names, region, span);
  yield(region, yields);
  context_.at(span);
  return {op, carriedResults(op, carried, after, names)};
}

std::vector<ir::Value*> Regions::carriedYields(const std::vector<Val>& initial, const std::vector<Val>& arguments,
                                               std::vector<Val>& after, const std::vector<std::string>& names,
                                               ir::Region* region, Span span) {
  std::vector<ir::Value*> yields;
  after.resize(initial.size());
  for (size_t i = 0; i < initial.size(); ++i) {
    Val& v = after[i];
    if (!v.poison() && !initial[i].poison()) {
      context_.inRegion(region, [&] {
        Ty like = typeOf(initial[i]);
        v = tensors_.materialise(v, &like);
      });
    }
    const bool retyped = !v.poison() && !sameTypes(initial[i], v);
    const bool devices = initial[i].is(Val::Kind::Device) && v.is(Val::Kind::Device);
    if (retyped && isText(initial[i]) && isText(v)) {
      v = context_
              .error(Code::E0209, v.span.valid() ? v.span : span,
                     "strings do not change in a loop at run time, and " +
                         (names[i].empty() ? "this value" : "`" + names[i] + "`") + " is one")
              .help("carry a number that says which it is, and choose the string after the loop");
    } else if (retyped && !devices) {
      v = context_.error(Code::E0209, span,
                         (names[i].empty() ? "this value" : "`" + names[i] + "`") +
                             " is carried by the loop and must keep its type, but it is " + describe(initial[i]) +
                             " before and " + describe(v) + " after a trip");
    }
    if (const Val* changed = v.poison() ? nullptr : retyped ? &v : changedConstant(initial[i], v)) {
      const std::string name = names[i].empty() ? "this value" : "`" + names[i] + "`";
      v = context_
              .error(Code::E0209, changed->span.valid() ? changed->span : span,
                     "only numbers, tensors and trees of them change in a loop at run time, and " +
                         (changed == &v ? name + " is " : "what changes in " + name + " is ") + describe(*changed))
              .help("a loop that is unrolled may change it: `for i in static 0..4`");
    }
    leavesOf(v.poison() ? arguments[i] : v, yields);
  }
  return yields;
}

namespace {
/// Takes the carried value `k` out of a loop without results so far, where every trip hands it on as it is: of a tree
/// that changes in the loop, the leaves that do not are values from outside.
bool dropUnchanged(ir::Op& loop, size_t k) {
  const size_t arg = ir::firstCarriedArg(loop) + k, operand = ir::firstCarriedOperand(loop) + k;
  ir::Op& end = *loop.regions.back()->terminator();
  if (end.operand(k) != loop.regions.back()->args[arg].get()) return false;
  end.removeOperand(k);
  for (const auto& region : loop.regions) {
    region->args[arg]->replaceAllUsesWith(loop.operand(operand));
    region->removeArg(static_cast<uint32_t>(arg));
  }
  loop.removeOperand(operand);
  return true;
}
}  // namespace

std::vector<Val> Regions::carriedResults(ir::Op* op, const std::vector<Val>& initial, const std::vector<Val>& after,
                                         const std::vector<std::string>& names) {
  std::vector<Val> results;
  size_t next = 0;  // among the leaves that the loop carries
  for (size_t i = 0; i < initial.size(); ++i) {
    std::vector<ir::Value*> before, outs;
    leavesOf(initial[i], before);
    for (ir::Value* leaf : before) {
      if (dropUnchanged(*op, next)) {
        outs.push_back(leaf);
        continue;
      }
      ++next;
      ir::Type t = leaf->type;
      t.place = {};
      outs.push_back(op->addResult(t));
      outs.back()->name = names[i];
    }
    results.push_back(after[i].poison() || initial[i].poison() ? context_.lost() : rebuild(initial[i], outs));
  }
  return results;
}

std::vector<Val> Regions::forLoop(ir::Value* lo, ir::Value* hi, ir::Value* step, std::vector<Val> carried, Span span,
                                  const LoopBody& body) {
  std::vector<std::string> names(carried.size());
  for (Val& v : carried) v = placing_.enterAnnotation(tensors_.materialise(v));
  return loopCarried(lo, hi, step, carried, names, span, body);
}

}  // namespace tenc::frontend
