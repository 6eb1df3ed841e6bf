// vmap(f): f is traced once, for one instance; transforms/Batch.cpp makes of its ops those over all instances.
#include "frontend/calls/Vmap.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Training.h"
#include "frontend/habits/Idioms.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/build/Compose.h"
#include "transforms/Batch.h"

namespace tenc::frontend {

namespace {
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

/// A leaf whose dim of the instances is not the first, by what was made of it for the call.
struct Moved {
  ir::Value* leaf;
  int64_t axis;
};
using MovedLeaves = std::unordered_map<const ir::Value*, Moved>;

class Instanced final : public Application {
 public:
  Instanced(const TransformTools& tools, int64_t n, std::vector<bool> mapped, MovedLeaves moved, const Val* outAxes,
            Span span)
      : tools_(tools), n_(n), mapped_(std::move(mapped)), moved_(std::move(moved)), outAxes_(outAxes), span_(span) {}

  std::optional<ir::Type> parameter(size_t argument, const ir::Value& leaf, bool) const override {
    if (!mapped_[argument]) return std::nullopt;
    ir::Type t = leaf.type;
    t.place = {};
    t.shape.erase(t.shape.begin());
    return t;
  }

  std::unique_ptr<ir::Func> apply(Traced& traced) override {
    std::vector<bool> mask(traced.operands.size(), false);
    std::fill_n(mask.begin(), traced.arguments, true);
    Context& context = tools_.context;
    if (context.derived.arePlaced()) context.batched.notePlaces();
    auto made = transforms::batch(*traced.func, mask, n_, context.batched,
                                  [&](const ir::Op& op, Code code, const std::string& why) {
                                    const Span at = context.module.span(op.loc);
                                    context.error(code, at.valid() ? at : span_, "`vmap` of a function that " + why)
                                        .note(span_, "it is mapped here");
                                  });
    if (!made) return nullptr;
    batched_ = std::move(made->results);
    const size_t own = batched_.size() - traced.changed.size();
    for (size_t i = 0; i < traced.changed.size(); ++i) {
      if (batched_[own + i] && !isMapped(traced.changed[i])) return oneOfMany();
    }
    return std::move(made->func);
  }

  std::pair<ir::Value*, ir::Value*> kept(ir::Value* leaf, ir::Value* now) override {
    if (!isMapped(leaf)) return {leaf, now};
    ir::Compose c(tools_.context.b());
    now = c.asTensor(c.broadcastTo(now, leaf->type.shape));
    const auto moved = moved_.find(leaf);
    if (moved == moved_.end()) return {leaf, now};
    return {moved->second.leaf, c.moveAxis(now, 0, moved->second.axis)};
  }

  Val finish(const Val& like, std::vector<ir::Value*> results) override {
    if (like.is(Kind::Unit)) return like;
    Val texts = mapLeaves(like, [&](const Val& leaf, const std::string&, bool) {
      if (!leaf.isChoice()) return leaf;
      return Val(tools_.context
                     .error(Code::E0203, span_,
                            "`vmap` would give a string for each instance, and a tensor cannot hold strings")
                     .help("give a number, and choose the string where it is printed"));
    });
    if (texts.poison()) return texts;
    ir::Compose c(tools_.context.b());
    for (size_t i = 0; i < results.size(); ++i) {
      ir::Dims shape = results[i]->type.shape;
      if (!batched_[i]) shape.insert(shape.begin(), n_);
      results[i] = c.asTensor(c.broadcastTo(results[i], shape));
    }
    Val whole = tools_.structs.refit(rebuild(like, results));
    return outAxes_ ? placed(std::move(whole)) : whole;
  }

 private:
  bool isMapped(ir::Value* leaf) const {
    std::vector<ir::Value*> leaves;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (mapped_[i]) leavesOf(arguments[i], leaves);
    }
    return std::find(leaves.begin(), leaves.end(), leaf) != leaves.end();
  }

  /// Each instance would leave a shared layer with a state of its own.
  std::nullptr_t oneOfMany() {
    tools_.context
        .error(Code::E0209, span_,
               "the state of a layer that is trained would differ for each row of `vmap`, and "
               "the rows share the layer")
        .note("there is one new state of a layer, of the type of the old one")
        .help(
            "give the layer all rows at once, or go through them one after the other with `map`; layers of their "
            "own, with a leading dim, may be mapped over as an argument");
    return nullptr;
  }

  /// The value with the dim of the instances where `out_axes` says.
  Val placed(Val whole) {
    const bool several = outAxes_->is(Kind::Tuple) || outAxes_->is(Kind::Array) || outAxes_->is(Kind::List);
    const size_t count = several && whole.is(Kind::Tuple) ? whole.elems.size() : 1;
    auto place = [&](const Val& part, size_t i) {
      const AxisOf axis = axisOf(tools_.context, tools_.evaluator, outAxes_, i, count, "out_axes");
      if (!axis.ok) return tools_.context.lost();
      return mapLeaves(part, [&](const Val& leaf, const std::string&, bool) {
        auto to = tools_.evaluator.constAxis(Val::ofInt(axis.axis, outAxes_->span), leaf.tensor->type.rank());
        if (!to) return tools_.context.lost();
        return Val::ofTensor(ir::Compose(tools_.context.b()).moveAxis(leaf.tensor, 0, *to), span_);
      });
    };
    if (!several || !whole.is(Kind::Tuple)) return place(whole, 0);
    for (size_t i = 0; i < count; ++i) {
      whole.elems.edit()[i] = place(whole.elems[i], i);
      if (whole.elems[i].poison()) return whole.elems[i];
    }
    return whole;
  }

  const TransformTools& tools_;
  const int64_t n_;
  const std::vector<bool> mapped_;  ///< which arguments
  std::vector<bool> batched_;       ///< which results differ between instances
  const MovedLeaves moved_;
  const Val* const outAxes_;  ///< null when there are none
  const Span span_;
};

/// The arguments of a call of `vmap(f)`, mapped over their leading dims.
class Mapping {
 public:
  Mapping(const TransformTools& tools, const Val* inAxes, const Val& f, const CallArgs& args)
      : tools_(tools), inAxes_(inAxes), f_(tools.parameters.of(f, args)), args_(args) {}

  /// False after an error.
  bool read() {
    positional_ = static_cast<size_t>(
        std::count_if(args_.args.begin(), args_.args.end(), [](const CallArg& a) { return a.name.empty(); }));
    for (size_t i = 0; i < args_.args.size(); ++i) {
      if (!add(args_.args[i], i)) return false;
    }
    if (n < 0) tools_.context.fail(Code::E0202, args_.span, "`vmap` has no argument to map over");
    return n >= 0;
  }

  std::vector<Val> values;
  std::vector<std::string> names;  ///< of the arguments, "" of those that are given by position
  std::vector<bool> mapped;
  MovedLeaves moved;
  int64_t n = -1;

 private:
  bool add(const CallArg& a, size_t i) {
    if (a.value.poison()) return false;
    const auto found = std::find(f_.names.begin(), f_.names.end(), a.name);
    const size_t position = a.name.empty() ? i : static_cast<size_t>(found - f_.names.begin());
    Val v = settledFor(tools_, f_, position, a.value);
    if (!v.isNumber()) v = tools_.tensors.settle(v);  // a literal goes on adopting
    if (v.poison()) return false;
    // `in_axes` is of what is given by position; by name it is mapped over its first dim, if it has one.
    const AxisOf axis =
        a.name.empty() ? axisOf(tools_.context, tools_.evaluator, inAxes_, i, positional_, "in_axes") : AxisOf();
    if (!axis.ok) return false;
    const bool hasTensors = v.is(Kind::Tensor) || v.isTree();
    bool any = false;
    if (hasTensors && axis.mapped) {
      tools_.context.at(a.span);
      v = mapLeaves(v, [&](const Val& leaf, const std::string& path, bool) {
        // One number, and what is no tensor, is shared by all instances.
        if (!leaf.is(Kind::Tensor) || (leaf.tensor->type.rank() == 0 && !axis.given && v.is(Kind::Tensor))) return leaf;
        any = true;
        return leading(leaf, path, axis.axis, a.span);
      });
      if (v.poison()) return false;
    }
    values.push_back(std::move(v));
    names.emplace_back(a.name);
    mapped.push_back(any);
    return true;
  }

  Val leading(const Val& leaf, const std::string& path, int64_t axis, Span span) {
    const ir::Type& t = leaf.tensor->type;
    if (t.rank() == 0) {
      auto d = tools_.context.error(
          Code::E0202, span,
          "`vmap` maps over a dim, and " + (path.empty() ? "this argument" : "`" + path + "`") + " has none");
      if (!path.empty()) {  // a part of a tree
        if (const auto each = eachPart(tools_.context, span)) d.help(each->text, each->edits);
      }
      return d;
    }
    const auto at = tools_.evaluator.constAxis(Val::ofInt(axis, span), t.rank());
    if (!at) return tools_.context.lost();
    const int64_t length = t.shape[static_cast<size_t>(*at)];
    if (n >= 0 && length != n) {
      auto d = tools_.context.error(
          Code::E0202, span,
          "`vmap` maps over dims of one length, not " + std::to_string(n) + " and " + std::to_string(length));
      const bool ofTuple = !path.empty() && std::isdigit(static_cast<unsigned char>(path[0])) != 0;
      if (const auto each = ofTuple ? eachPart(tools_.context, span) : std::nullopt) d.help(each->text, each->edits);
      return d;
    }
    n = length;
    if (*at == 0) return Val::ofTensor(leaf.tensor, span);
    const Training* training = tools_.context.body.training;
    ir::Value* now = training != nullptr ? training->kept.now(leaf.tensor) : leaf.tensor;
    ir::Value* first = ir::Compose(tools_.context.b()).moveAxis(now, *at, 0);
    moved.emplace(first, Moved{leaf.tensor, *at});
    return Val::ofTensor(first, span);
  }

  const TransformTools& tools_;
  const Val* const inAxes_;
  const Parameters::List f_;
  const CallArgs& args_;
  size_t positional_ = 0;  ///< how many arguments are given by position
};
}  // namespace

std::unique_ptr<Application> overInstances(const TransformTools& tools, int64_t n, std::vector<Val> args,
                                           std::vector<bool> mapped, Span span) {
  auto made = std::make_unique<Instanced>(tools, n, std::move(mapped), MovedLeaves{}, nullptr, span);
  made->arguments = std::move(args);
  return made;
}

std::unique_ptr<Application> prepareVmap(const TransformTools& tools, const FnValue& f, const CallArgs& args) {
  const Val *inAxes = nullptr, *outAxes = nullptr;
  for (const auto& [name, v] : f.options) (name == "in_axes" ? inAxes : outAxes) = &v;
  Mapping mapping(tools, inAxes, f.inner[0], args);
  if (!mapping.read()) return nullptr;
  auto made = std::make_unique<Instanced>(tools, mapping.n, std::move(mapping.mapped), std::move(mapping.moved),
                                          outAxes, args.span);
  made->arguments = std::move(mapping.values);
  made->names = std::move(mapping.names);
  return made;
}

}  // namespace tenc::frontend
