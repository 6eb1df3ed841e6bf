// Derivatives of functions of the script: f is traced once, transforms/ makes of it the function with its gradient or
// with a derivative in one direction, and this file says what the call takes and gives.
#include "frontend/calls/Gradients.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/GradientCall.h"
#include "frontend/types/Structs.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"
#include "ir/Causes.h"
#include "ir/build/Compose.h"
#include "transforms/Deferred.h"
#include "transforms/Derivatives.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;

using Form = DerivativeForm;

class Derivative final : public Application {
 public:
  Derivative(const TransformTools& tools, GradientCall asked) : tools_(tools), asked_(std::move(asked)) {
    arguments = asked_.values;
    names = asked_.given;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!asked_.isBy(i)) continue;
      mapLeaves(arguments[i], [&](const Val& leaf, const std::string& path, bool state) {
        if (isDifferentiable(leaf, state))
          leaves_.push_back({i, path.empty() ? asked_.names[i] : asked_.names[i] + "." + path});
        return leaf;
      });
    }
  }

  std::optional<ir::Type> parameter(size_t argument, const ir::Value& leaf, bool state) const override {
    if (!asked_.isBy(argument) || !isDifferentiable(leaf.type, state)) return std::nullopt;
    return transforms::withoutPlace(leaf.type);
  }

  std::unique_ptr<ir::Func> apply(Traced& traced) override {
    const size_t changed = traced.changed.size(), own = traced.func->resultTypes.size() - changed;
    std::unique_ptr<ir::Func> made = derivative(traced, own);
    if (!made || changed == 0) return made;
    // What layers become is behind the derivatives, and has none.
    const std::vector<ir::Value*> all = made->body->terminator()->operands();
    const auto behind = all.begin() + static_cast<std::ptrdiff_t>(own);
    const auto derivatives = behind + static_cast<std::ptrdiff_t>(changed);
    std::vector<ir::Value*> results(all.begin(), behind);
    results.insert(results.end(), derivatives, derivatives + static_cast<std::ptrdiff_t>(derivatives_));
    results.insert(results.end(), behind, derivatives);
    transforms::setResults(*made, results);
    return made;
  }

  Val finish(const Val& like, std::vector<ir::Value*> results) override {
    std::vector<ir::Value*> own;
    leavesOf(like, own);
    const auto behind = results.begin() + static_cast<std::ptrdiff_t>(own.size());
    const Val value = rebuild(like, {results.begin(), behind});
    const std::vector<ir::Value*> derivatives(behind, results.end());
    checkDirection(value);
    if (asked_.form == Form::Jvp) {
      Val change = tangent(value, derivatives);
      if (!asked_.aux) return Val::ofTuple({value, std::move(change)}, asked_.span);
      return Val::ofTuple({value, change.elems[0]}, asked_.span);
    }
    Val g = gradient(derivatives);
    if (asked_.form != Form::Grad) return Val::ofTuple({value, std::move(g)}, asked_.span);
    return asked_.aux ? Val::ofTuple({std::move(g), value.elems[1]}, asked_.span) : g;
  }

 private:
  struct Leaf {
    size_t argument;
    std::string name;  ///< "m.fc1.w"
  };

  /// With the derivatives of its first `own` results behind all of them.
  std::unique_ptr<ir::Func> derivative(Traced& traced, size_t own) {
    const Val* result = differentiated(traced.result);
    if (result == nullptr) return nullptr;
    if (tools_.context.options.oracle) return byInterpreter(traced, *result);
    std::vector<bool> by(traced.operands.size(), false);
    std::fill_n(by.begin(), traced.arguments, true);
    transforms::Obstacle obstacle;
    if (asked_.form == Form::Jvp) {
      std::vector<ir::Value*> directions;
      if (!directionOfArguments(directions)) return nullptr;
      auto made = transforms::pushforward(*traced.func, by, tools_.context.derived, obstacle);
      if (!made) return refuse(obstacle);
      active_ = made->active;
      active_.resize(own);
      derivatives_ = static_cast<size_t>(std::count(active_.begin(), active_.end(), true));
      if (!checkPaths(*traced.func, active_, {})) return nullptr;
      return bound(std::move(made->func), by.size(), directions);
    }
    derivatives_ = traced.arguments;
    std::vector<bool> asked = asFlags(*result);
    asked.resize(traced.func->resultTypes.size(), false);
    std::vector<ir::Value*> directions;
    if (asked_.direction && !directionLike(*result, *asked_.direction, false, directions)) return nullptr;
    auto made = transforms::pullback(*traced.func, by, asked, !asked_.direction, tools_.context.derived, obstacle);
    if (!made) return refuse(obstacle);
    if (!checkPaths(*traced.func, asked, made->reached)) return nullptr;
    return bound(std::move(made->func), by.size(), directions);
  }

  // ---- what f gives

  /// The part of the result that is differentiated; null after E0401.
  const Val* differentiated(const Val& result) {
    if (asked_.aux && !(result.is(Kind::Tuple) && result.elems.size() == 2)) {
      wrongResult(result, "with `aux: true` " + asked_.function() + " gives a pair `(loss, more)`, not " +
                              describeResult(result));
      return nullptr;
    }
    const Val& v = asked_.aux ? result.elems[0] : result;
    const bool one = v.is(Kind::Tensor) && v.tensor->type.shape.empty() && ir::isFloat(v.tensor->type.dtype);
    if (one || ((asked_.form == Form::Vjp || asked_.form == Form::Jvp) && hasFloats(v))) return &v;
    const bool directed = asked_.form == Form::Vjp || asked_.form == Form::Jvp;
    wrongResult(v, "`" + std::string(nameOf(asked_.form)) + "` differentiates " + (directed ? "floats" : "one float") +
                       ", and " + asked_.function() + " gives " + describeResult(v));
    return nullptr;
  }

  static bool hasFloats(const Val& v) {
    const std::vector<bool> flags = asFlags(v);
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  }

  void wrongResult(const Val& result, std::string message) {
    auto d = tools_.context.error(Code::E0401, asked_.span, std::move(message));
    if (asked_.f.span.valid()) d.label(asked_.f.span, "gives " + describeResult(result));
    const bool pair = result.is(Kind::Tuple) && result.elems.size() == 2 && !asked_.aux;
    if (pair)
      d.help("`" + std::string(nameOf(asked_.form)) + "(f, aux: true)` differentiates the first of a pair alone");
    if (result.is(Kind::Tensor) && ir::isFloat(result.tensor->type.dtype))
      d.help("`sum` or `mean` makes one float of it; `ad.jacobian` gives the derivative of each element");
  }

  /// Which of the tensors of a value are differentiable, in the order of `leavesOf`.
  static std::vector<bool> asFlags(const Val& v) {
    std::vector<bool> flags;
    mapLeaves(v, [&](const Val& leaf, const std::string&, bool state) {
      std::vector<ir::Value*> tensors;
      leavesOf(leaf, tensors);
      const bool counts = isDifferentiable(leaf, state);
      flags.insert(flags.end(), tensors.size(), counts);
      return leaf;
    });
    return flags;
  }

  // ---- directions

  bool wrongDirection(Code code, const Val& given, const std::string& message) {
    tools_.context.error(code, given.span.valid() ? given.span : asked_.span, message);
    return false;
  }

  /// The tensors of a direction, for the differentiable leaves of a value of its type.
  bool directionLike(const Val& like, const Val& given, bool state, std::vector<ir::Value*>& leaves) {
    const std::string of = "the direction of `" + std::string(nameOf(asked_.form)) + "`";
    if (!like.isTree()) {
      if (!like.is(Kind::Tensor) || !isDifferentiable(like.tensor->type, state)) return true;
      if (!given.is(Kind::Tensor) && !given.is(Kind::Array) && !given.is(Kind::Float))
        return wrongDirection(Code::E0203, given, of + " must be " + describe(like) + ", not " + describe(given));
      ir::Value* v = tools_.tensors.tensorOf(given, like.tensor->type.dtype);
      if (v == nullptr) return false;
      const ir::Type &wanted = like.tensor->type, &is = v->type;
      if (wanted.sameTensor(is)) return leaves.push_back(v), true;
      return wrongDirection(wanted.dtype != is.dtype ? Code::E0201 : Code::E0202, given,
                            of + " must be " + describe(like) + ", not " + describe(Val::ofTensor(v)));
    }
    Val tree = given.is(Kind::Array) ? tools_.tensors.settle(given) : given;
    if (tree.poison()) return false;
    const bool fits = tree.kind == like.kind && tree.elems.size() == like.elems.size() &&
                      (!like.is(Kind::Struct) || tree.info->decl == like.info->decl);
    if (!fits) return wrongDirection(Code::E0203, given, of + " must be " + describe(like) + ", not " + describe(tree));
    for (size_t i = 0; i < like.elems.size(); ++i) {
      const bool inner = state || (like.is(Kind::Struct) && like.info->decl->stmt->fields[i].state);
      if (!directionLike(like.elems[i], tree.elems[i], inner, leaves)) return false;
    }
    return true;
  }

  /// A direction lives where what it is of does (E0301).
  void checkDirection(const Val& value) {
    if (!asked_.direction || !tools_.context.derived.arePlaced()) return;
    const bool forward = asked_.form == Form::Jvp;
    std::vector<ir::Value*> of, given;
    const auto collect = [](const Val& v, std::vector<ir::Value*>& all) {
      mapLeaves(v, [&](const Val& leaf, const std::string&, bool) {
        if (leaf.is(Kind::Tensor)) all.push_back(leaf.tensor);
        return leaf;
      });
    };
    if (forward) {
      for (const size_t i : asked_.by) collect(arguments[i], of);
    } else {
      collect(asked_.aux ? value.elems[0] : value, of);
    }
    collect(*asked_.direction, given);
    if (of.size() != given.size()) return;
    const std::string what = std::string("the direction of `") + std::string(nameOf(asked_.form)) +
                             (forward ? "` and the argument" : "` and the result");
    tools_.context.at(asked_.span, {{asked_.span, ""}, {asked_.direction->span, ""}});
    for (size_t i = 0; i < of.size(); ++i) {
      if (of[i]->type.sameTensor(given[i]->type))
        tools_.context.b().make(ir::OpKind::OnePlace, {of[i], given[i]}, {{"what", what}});
    }
  }

  /// In the order of the arguments.
  bool directionOfArguments(std::vector<ir::Value*>& leaves) {
    const Val& given = *asked_.direction;
    if (asked_.tuple && !(given.is(Kind::Tuple) && given.elems.size() == asked_.by.size())) {
      return wrongDirection(Code::E0203, given,
                            "the direction of `jvp` must be a tuple of " + std::to_string(asked_.by.size()) +
                                ", as `wrt` is, not " + describe(given));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto found = std::find(asked_.by.begin(), asked_.by.end(), i);
      if (found == asked_.by.end()) continue;
      const Val& part = asked_.tuple ? given.elems[static_cast<size_t>(found - asked_.by.begin())] : given;
      if (!directionLike(arguments[i], part, false, leaves)) return false;
    }
    return true;
  }

  // ---- paths

  std::nullptr_t refuse(const transforms::Obstacle& o) {
    using Why = transforms::Obstacle::Kind;
    Context& context = tools_.context;
    const Span at = context.module.span(o.op->loc), span = at.valid() ? at : asked_.span;
    const auto along = [&](Diagnostics::Builder d) {
      for (const auto& call : o.calls) {
        // The call that is differentiated has a note of its own.
        if (!call.signature.empty() && context.module.span(call.loc) != asked_.span)
          d.note(Note{context.module.span(call.loc), "in `" + call.signature + "`, called here", /*isCall=*/true});
      }
      return d;
    };
    switch (o.kind) {
      case Why::UnknownTrips:
        along(context.error(Code::E0403, span,
                            "the gradient goes backwards through a loop, and how many trips it makes is not known"))
            .note(asked_.span, "it is differentiated here")
            .help(
                "loop a known number of times, say over a parameter that is `static` (`static n: i64`), with an `if` "
                "inside; "
                "`jvp` goes through any loop");
        break;
      case Why::NoDerivative: {
        auto d =
            along(context.error(Code::E0402, asked_.span, "what " + asked_.function() + " gives depends on " + o.why));
        if (asked_.f.span.valid()) d.label(asked_.f.span, "this is differentiated");
        d.note(span, "it is computed here").help(o.help);
        break;
      }
      case Why::ForwardOfRule:
        context
            .error(Code::E0406, asked_.span, "`jvp` goes forwards, and a `custom_vjp` says what its gradient is alone")
            .note(span, "it is called here")
            .help("`vjp` and `grad` follow its rule; `jvp` of the function itself needs no rule");
        break;
      case Why::TooLarge:
        context
            .error(Code::E0105, asked_.span, "the derivatives of this program expand to more than 500,000 operations")
            .note("a derivative of a derivative is a few times as large, and so on");
        break;
      case Why::CaptureOfRule:
        along(context.error(Code::E0405, span,
                            (o.why.empty() ? "a value" : "`" + o.why + "`") +
                                " is differentiated, and a `custom_vjp` reads it without taking it as an argument"))
            .note(asked_.span, "it is differentiated here")
            .help("make it a parameter of its three functions");
        break;
    }
    return nullptr;
  }

  /// E0402 for an argument that no path reaches; W0401 for a part of one. `reached` of the leaves: those that are known
  /// to be, which spares looking.
  bool checkPaths(const ir::Func& f, const std::vector<bool>& results, const std::vector<bool>& reached) {
    // Where the function had an error there may be no more of it than its result's type.
    if (tools_.context.diags.errors() > errorsBefore_ || tools_.context.losses() > lossesBefore_) return false;
    transforms::DerivedFuncs& derived = tools_.context.derived;
    const transforms::ForgetAtEnd forgotten(derived, f);
    const bool everyLeaf = asked_.form != Form::Jvp;  // only gradients say which leaves are 0
    const auto hasPath = [&](size_t leaf) {
      if (leaf < reached.size() && reached[leaf]) return true;
      std::vector<bool> one(f.body->args.size(), false);
      one[leaf] = true;
      const std::vector<bool> active = transforms::Activity::of(f, one, derived.activity())->results();
      for (size_t i = 0; i < active.size(); ++i) {
        if (active[i] && i < results.size() && results[i]) return true;
      }
      return false;
    };
    std::vector<size_t> without;
    std::vector<bool> any(arguments.size(), false);
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (any[leaves_[i].argument] && !everyLeaf) continue;
      if (hasPath(i))
        any[leaves_[i].argument] = true;
      else
        without.push_back(i);
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!asked_.isBy(i) || any[i]) continue;
      auto d = tools_.context.error(
          Code::E0402, asked_.span,
          "what " + asked_.function() + " gives does not depend on " + named(i) + " by a differentiable path");
      if (asked_.f.span.valid()) d.label(asked_.f.span, "differentiated by " + named(i));
      if (asked_.again)
        d.note("the derivative of what is linear in " + named(i) + " is the same for every " + named(i));
      d.note("conversions to integers and bools, comparisons and `stop_gradient` are not paths");
      return false;
    }
    if (!without.empty() && everyLeaf) {
      std::string which;
      for (size_t i : without) which += (which.empty() ? "`" : ", `") + leaves_[i].name + "`";
      tools_.context.warning(
          Code::W0401, asked_.span,
          "nothing reaches " + which + (without.size() == 1 ? ": its gradient is zero" : ": their gradients are zero"));
    }
    return true;
  }

  std::string named(size_t argument) const { return "`" + asked_.names[argument] + "`"; }

  // ---- the function that is called, and its results

  /// The same with --engine=oracle, where transforms/ has no part in it.
  std::unique_ptr<ir::Func> byInterpreter(Traced& traced, const Val& result) {
    const bool forward = asked_.form == Form::Jvp;
    std::vector<ir::Value*> directions;
    if (forward && !directionOfArguments(directions)) return nullptr;
    if (asked_.form == Form::Vjp && !directionLike(result, *asked_.direction, false, directions)) return nullptr;
    const size_t parameters = traced.operands.size();
    active_ = asFlags(result);
    active_.resize(traced.func->resultTypes.size(), false);
    derivatives_ = forward ? static_cast<size_t>(std::count(active_.begin(), active_.end(), true)) : traced.arguments;
    transforms::DeferredForm form{forward, !asked_.direction, std::vector<bool>(parameters, false), active_};
    std::fill_n(form.arguments.begin(), traced.arguments, true);
    const std::string name = "oracle" + std::to_string(tools_.context.freshId());
    auto made = transforms::deferred(std::move(traced.func), name, form, tools_.context.b().loc());
    return bound(std::move(made), parameters, directions);
  }

  /// With the directions for its last parameters.
  static std::unique_ptr<ir::Func> bound(std::unique_ptr<ir::Func> f, size_t first,
                                         const std::vector<ir::Value*>& last) {
    for (size_t i = 0; i < last.size(); ++i) f->body->args[first + i]->replaceAllUsesWith(last[i]);
    return f;
  }

  ir::Value* zerosLike(ir::Value* v) {
    ir::Compose c(tools_.context.b());
    return c.fillOn(v, v->type.shape, c.b.scalar(v->type.dtype, 0));
  }

  /// A gradient lives where its argument does. A number is used on any device, where its gradient then is; one that
  /// all elements of a gradient are may live anywhere.
  ir::Value* atHome(ir::Value* g, ir::Value* argument) {
    if (!g->type.shape.empty() && !tools_.context.derived.arePlaced()) return g;
    return tools_.context.b()
        .makeTyped(
            ir::OpKind::To, {g, argument}, {transforms::withoutPlace(g->type)},
            {{"device", std::string()}, {"cause", std::string(ir::name(ir::Cause::Argument))}, {"gradient", true}})
        ->result();
  }

  /// Of the type of the argument: what has no derivative has 0.
  Val gradient(const std::vector<ir::Value*>& derivatives) {
    std::vector<Val> parts(asked_.by.size());
    size_t next = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto found = std::find(asked_.by.begin(), asked_.by.end(), i);
      if (found == asked_.by.end()) continue;
      parts[static_cast<size_t>(found - asked_.by.begin())] =
          mapLeaves(arguments[i], [&](const Val& leaf, const std::string&, bool state) {
            if (leaf.is(Kind::Int)) return Val::ofInt(0, leaf.span, leaf.adopts);
            if (leaf.is(Kind::Bool)) return Val::ofBool(false, leaf.span);
            if (!leaf.is(Kind::Tensor)) return leaf;
            if (!isDifferentiable(leaf.tensor->type, state)) return Val::ofTensor(zerosLike(leaf.tensor), asked_.span);
            return Val::ofTensor(atHome(derivatives[next++], leaf.tensor), asked_.span);
          });
    }
    return asked_.tuple ? Val::ofTuple(Elements(std::move(parts)), asked_.span) : parts[0];
  }

  /// How the value changes: tangents of its tensors, 0 of those that do not depend on the arguments.
  Val tangent(const Val& value, const std::vector<ir::Value*>& derivatives) {
    std::vector<ir::Value*> leaves;
    leavesOf(value, leaves);
    size_t next = 0;
    for (size_t i = 0; i < leaves.size(); ++i) leaves[i] = active_[i] ? derivatives[next++] : zerosLike(leaves[i]);
    return rebuild(value, leaves);
  }

  const TransformTools& tools_;
  const size_t errorsBefore_ = tools_.context.diags.errors();
  const uint64_t lossesBefore_ = tools_.context.losses();
  const GradientCall asked_;
  std::vector<Leaf> leaves_;  ///< the first parameters of the traced function
  std::vector<bool> active_;  ///< of jvp: which results have a tangent
  size_t derivatives_ = 0;    ///< how many tensors
};

std::unique_ptr<Application> prepare(const TransformTools& tools, const FnValue& f, const CallArgs& args, Form form) {
  tools.context.at(args.span);
  std::optional<GradientCall> call = readGradientCall(tools, f, args, form);
  return call ? std::make_unique<Derivative>(tools, std::move(*call)) : nullptr;
}
}  // namespace

std::unique_ptr<Application> prepareGrad(const TransformTools& tools, const FnValue& f, const CallArgs& args) {
  return prepare(tools, f, args, Form::Grad);
}
std::unique_ptr<Application> prepareValueAndGrad(const TransformTools& tools, const FnValue& f, const CallArgs& args) {
  return prepare(tools, f, args, Form::ValueAndGrad);
}
std::unique_ptr<Application> prepareVjp(const TransformTools& tools, const FnValue& f, const CallArgs& args) {
  return prepare(tools, f, args, Form::Vjp);
}
std::unique_ptr<Application> prepareJvp(const TransformTools& tools, const FnValue& f, const CallArgs& args) {
  return prepare(tools, f, args, Form::Jvp);
}

}  // namespace tenc::frontend
