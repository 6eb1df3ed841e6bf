// vmap(f): f is lowered once, for one instance, into a region that is thrown away; Batch.cpp makes of its ops those
// over all instances.
#include "frontend/calls/Vmap.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/Scoped.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Calls.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/build/Compose.h"
#include "transforms/Batch.h"

namespace tenc::frontend {

namespace {
using ir::OpKind;
using Kind = Val::Kind;

/// The axis of entry i of in_axes or out_axes: one integer stands for all; `false` says that there is none.
struct AxisOf {
  const Val* given = nullptr;
  bool ok = true, mapped = true;
  int64_t axis = 0;
};

AxisOf axisOf(Context& context, Evaluator& evaluator, const Val* given, size_t i, size_t count, std::string_view what) {
  AxisOf r;
  r.given = given;
  if (!given) return r;
  const Val* v = given;
  if (given->is(Kind::Tuple) || given->is(Kind::Array) || given->is(Kind::List) || given->is(Kind::Pack)) {
    if (given->elems.size() != count) {
      context.error(Code::E0204, given->span,
                    "`" + std::string(what) + "` has " + std::to_string(given->elems.size()) + " axes for " +
                        std::to_string(count) + " values");
      r.ok = false;
      return r;
    }
    v = &given->elems[i];
  }
  if (v->is(Kind::Bool) && !v->boolean) {
    r.mapped = false;
    return r;
  }
  auto axis = evaluator.constInt(*v, "an axis of `" + std::string(what) + "`");
  r.ok = axis.has_value();
  r.axis = axis.value_or(0);
  return r;
}
}  // namespace

Val Vmap::callVmap(const FnValue& f, CallArgs& args) {
  const Val *inAxes = nullptr, *outAxes = nullptr;
  for (const auto& [name, v] : f.options) (name == "in_axes" ? inAxes : outAxes) = &v;
  std::vector<Val> values;
  std::vector<bool> mapped;
  int64_t n = -1;
  for (size_t i = 0; i < args.args.size(); ++i) {
    const CallArg& a = args.args[i];
    if (a.value.poison()) return Val::none();
    if (!a.name.empty())
      return context_.fail(Code::E0204, a.span, "a function made by `vmap` takes its arguments by position");
    Val v = a.value.isNumber() ? a.value : tensors_.settle(a.value);  // a literal goes on adopting
    if (v.poison()) return v;
    const AxisOf axis = axisOf(context_, evaluator_, inAxes, i, args.args.size(), "in_axes");
    if (!axis.ok) return Val::none();
    const bool hasTensors = v.is(Kind::Tensor) || v.isTree();
    bool any = false, wrong = false;
    if (hasTensors && axis.mapped) {
      context_.at(a.span);
      v = mapLeaves(v, [&](const Val& leaf, const std::string& path, bool) {
        // One number, and what is no tensor, is shared by all instances.
        if (!leaf.is(Kind::Tensor) || (leaf.tensor->type.rank() == 0 && !axis.given && v.is(Kind::Tensor))) return leaf;
        const ir::Type& t = leaf.tensor->type;
        auto at = t.rank() == 0 ? std::nullopt : evaluator_.constAxis(Val::ofInt(axis.axis, a.span), t.rank());
        if (!at) {
          if (t.rank() == 0) {
            context_.fail(
                Code::E0202, a.span,
                "`vmap` maps over a dim, and " + (path.empty() ? "this argument" : "`" + path + "`") + " has none");
          }
          wrong = true;
          return Val::none();
        }
        const int64_t length = t.shape[static_cast<size_t>(*at)];
        if (n >= 0 && length != n) {
          context_.fail(
              Code::E0202, a.span,
              "`vmap` maps over dims of one length, not " + std::to_string(n) + " and " + std::to_string(length));
          wrong = true;
          return Val::none();
        }
        n = length;
        any = true;
        return Val::ofTensor(ir::Compose(context_.b()).moveAxis(leaf.tensor, *at, 0), a.span);
      });
    }
    if (wrong) return Val::none();
    values.push_back(std::move(v));
    mapped.push_back(any);
  }
  if (n < 0) return context_.fail(Code::E0202, args.span, "`vmap` has no argument to map over");
  Val result =
      overInstances([&](std::vector<Val> one) { return calls_.callValue(f.inner[0], std::move(one), args.span); }, n,
                    values, mapped, args.span);
  if (result.poison() || !outAxes) return result;
  const bool several = outAxes->is(Kind::Tuple) || outAxes->is(Kind::Array) || outAxes->is(Kind::List);
  const size_t count = several && result.is(Kind::Tuple) ? result.elems.size() : 1;
  auto place = [&](const Val& part, size_t i) {
    const AxisOf axis = axisOf(context_, evaluator_, outAxes, i, count, "out_axes");
    if (!axis.ok) return Val::none();
    return mapLeaves(part, [&](const Val& leaf, const std::string&, bool) {
      auto to = evaluator_.constAxis(Val::ofInt(axis.axis, outAxes->span), leaf.tensor->type.rank());
      return to ? Val::ofTensor(ir::Compose(context_.b()).moveAxis(leaf.tensor, 0, *to), args.span) : Val::none();
    });
  };
  context_.at(args.span);
  if (!several || !result.is(Kind::Tuple)) return place(result, 0);
  for (size_t i = 0; i < count; ++i) {
    result.elems.edit()[i] = place(result.elems[i], i);
    if (result.elems[i].poison()) return Val::none();
  }
  return result;
}

Val Vmap::overInstances(const InstanceFn& f, int64_t n, const std::vector<Val>& args, const std::vector<bool>& mapped,
                        Span span) {
  context_.at(span);
  ir::Op* scratch = context_.b().makeTyped(OpKind::If, {context_.b().scalarInt(ir::DType::Bool, 0)}, {});
  ir::Region* region = context_.b().addRegion(scratch);
  std::vector<std::pair<ir::Value*, ir::Value*>> lanes;  // of one instance, of all
  std::vector<Val> one;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!mapped[i]) {
      one.push_back(args[i]);
      continue;
    }
    one.push_back(structs_.refit(mapLeaves(args[i], [&](const Val& leaf, const std::string&, bool) {
      if (!leaf.is(Kind::Tensor)) return leaf;
      ir::Type t = leaf.tensor->type;
      t.place = {};
      t.shape.erase(t.shape.begin());
      lanes.emplace_back(region->addArg(t, leaf.tensor->name), leaf.tensor);
      return Val::ofTensor(lanes.back().first, leaf.span);
    })));
  }
  Val result;
  {
    const Scoped deeper(context_.body.regionDepth, context_.body.regionDepth + 1);
    context_.inRegion(region, [&] {
      result = f(one);
      if (result.is(Kind::Unit)) return;
      result = tensors_.materialise(result);
    });
  }
  context_.at(span);
  std::vector<ir::Value*> leaves;
  bool ok = !result.poison() && (result.is(Kind::Unit) || leavesOf(result, leaves));
  if (ok) {
    transforms::Batcher batcher(context_.b(), n, context_.batched, [&](const ir::Op& op, const std::string& why) {
      context_
          .error(Code::E0190, context_.module.span(op.loc).valid() ? context_.module.span(op.loc) : span,
                 "`vmap` of " + why + " is not supported yet")
          .note(span, "it is mapped here");
    });
    for (const auto& [lane, all] : lanes) batcher.bind(lane, {all, true});
    ok = batcher.body(*region);
    context_.at(span);
    for (ir::Value*& v : leaves) {
      if (ok) v = batcher.batched(v);
    }
  }
  scratch->erase();
  if (!ok) return Val::none();
  return result.is(Kind::Unit) ? result : structs_.refit(rebuild(result, leaves));
}

}  // namespace tenc::frontend
