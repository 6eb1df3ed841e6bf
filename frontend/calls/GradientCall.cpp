#include "frontend/calls/GradientCall.h"

#include <ranges>
#include <utility>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/values/Evaluator.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;

constexpr DerivativeForm kForms[] = {DerivativeForm::Grad, DerivativeForm::ValueAndGrad, DerivativeForm::Vjp,
                                     DerivativeForm::Jvp};

/// Finds what `wrt` names among the arguments of a call.
class Reader {
 public:
  Reader(const TransformTools& tools, const FnValue& f, const CallArgs& args, DerivativeForm form)
      : tools_(tools), options_(f.options), args_(args) {
    asked.form = form;
    asked.span = args.span;
    asked.f = tools.parameters.of(f.inner[0], args);
    asked.written = asked.f.name;
    std::vector<std::string> outer;
    for (const FnValue* made = f.inner[0].fn.get(); made && made->kind == FnValue::Kind::Derived;
         made = made->inner[0].fn.get()) {
      const std::string name(made->transform->name);
      asked.again = asked.again || std::ranges::any_of(kForms, [&](DerivativeForm d) { return nameOf(d) == name; });
      outer.push_back(name);
    }
    if (!asked.written.empty())
      for (const std::string& name : std::views::reverse(outer)) asked.written = name + "(" + asked.written + ")";
  }

  /// False after an error.
  bool read() {
    if (!readDirection()) return false;
    for (const CallArg& a : args_.args) {
      if (a.value.poison()) return false;
      positions_.push_back(positionOf(a));
      asked.given.push_back(a.name);
      asked.values.push_back(a.value);
      const size_t p = positions_.back();
      asked.names.push_back(p < asked.f.names.size() && !asked.f.names[p].empty() ? asked.f.names[p]
                                                                                  : "argument " + std::to_string(p));
    }
    if (const Val* aux = option("aux")) {
      const auto flag = tools_.evaluator.constBool(*aux, "`aux`");
      if (!flag) return false;
      asked.aux = *flag;
    }
    const Val* wrt = option("wrt");
    if (wrt == nullptr) return add(Val::ofInt(0, args_.span));
    asked.tuple = wrt->is(Kind::Tuple) || wrt->is(Kind::Array) || wrt->is(Kind::List);
    if (!asked.tuple) return add(*wrt);
    if (wrt->elems.empty()) return wrong(*wrt, "`wrt` names no argument"), false;
    return std::all_of(wrt->elems.begin(), wrt->elems.end(), [&](const Val& one) { return add(one); });
  }

  GradientCall asked;

 private:
  const Val* option(std::string_view name) const {
    const auto found = std::find_if(options_.begin(), options_.end(), [&](const auto& o) { return o.first == name; });
    return found == options_.end() ? nullptr : &found->second;
  }

  bool readDirection() {
    if (asked.form != DerivativeForm::Vjp && asked.form != DerivativeForm::Jvp) return true;
    if (args_.args.size() < 2) {
      tools_.context.fail(Code::E0204, args_.span,
                          "a function made by `" + std::string(nameOf(asked.form)) + "` takes the arguments of " +
                              asked.function() + " and then the direction");
      return false;
    }
    asked.direction = args_.args.back().value;
    args_.args.pop_back();
    return !asked.direction->poison();
  }

  /// Which parameter an argument is for.
  size_t positionOf(const CallArg& a) const {
    const auto& known = asked.f.names;
    if (!a.name.empty()) return static_cast<size_t>(std::find(known.begin(), known.end(), a.name) - known.begin());
    size_t p = 0;
    while (std::find(positions_.begin(), positions_.end(), p) != positions_.end()) ++p;
    return p;
  }

  Diagnostics::Builder wrong(const Val& wrt, const std::string& message) {
    auto d = tools_.context.error(Code::E0404, args_.span, message);
    if (asked.f.span.valid()) d.label(asked.f.span, "this is differentiated");
    if (wrt.is(Kind::String)) {
      std::string all;
      for (const std::string& n : asked.f.names) all += (all.empty() ? "`" : ", `") + n + "`";
      if (!all.empty()) d.note("its parameters are " + all);
    }
    return d;
  }

  /// Adds the argument that one entry of `wrt` names.
  bool add(const Val& wrt) {
    const std::string of = " of " + asked.function();
    size_t p = 0;
    if (wrt.is(Kind::String)) {
      const auto& known = asked.f.names;
      p = static_cast<size_t>(std::find(known.begin(), known.end(), wrt.text) - known.begin());
      if (p == known.size()) return wrong(wrt, "`wrt` names `" + wrt.text + "`, which is not a parameter" + of), false;
    } else {
      const auto index = tools_.evaluator.constInt(wrt, "`wrt`");
      if (!index) return false;
      if (*index < 0 || static_cast<size_t>(*index) >= std::max(args_.args.size(), asked.f.names.size()))
        return wrong(wrt, "`wrt` names parameter " + std::to_string(*index) + ", and there is no such parameter" + of),
               false;
      p = static_cast<size_t>(*index);
    }
    const auto found = std::find(positions_.begin(), positions_.end(), p);
    if (found == positions_.end()) {
      auto d = wrong(wrt, "`wrt` names a parameter" + of + " that this call gives no argument for");
      if (asked.direction)
        d.note("the last argument is the direction: `" + std::string(nameOf(asked.form)) + "(f)(x, ..., d)`");
      return false;
    }
    const auto argument = static_cast<size_t>(found - positions_.begin());
    if (asked.isBy(argument)) return wrong(wrt, "`wrt` names `" + asked.names[argument] + "` twice"), false;
    asked.by.push_back(argument);
    return makeDifferentiable(asked.values[argument], p, wrt);
  }

  /// Float literals become tensors of the dtype that the parameter has.
  bool makeDifferentiable(Val& v, size_t position, const Val& wrt) {
    const Span span = v.span.valid() ? v.span : args_.span;
    const std::optional<ir::DType> hint = tools_.parameters.dtypeOf(asked.f, position);
    if (v.is(Kind::Int)) {
      auto d =
          tools_.context.error(Code::E0404, args_.span,
                               "`" + nameAt(position) + "` is " + describe(v) + ", and integers have no derivative");
      d.label(span, "an integer");
      if (asked.f.span.valid()) d.label(asked.f.span, "this is differentiated");
      if (v.adopts && !v.dim && (!hint || ir::isFloat(*hint)))
        d.help("write a float", {{span, toString(v.integer) + ".0"}});
      else
        proposeOthers(d, position);
      return false;
    }
    v = settledFor(tools_, asked.f, position, v);
    if (v.poison()) return false;
    v = mapLeaves(v, [&](const Val& leaf, const std::string&, bool) {
      if (!leaf.is(Kind::Float)) return leaf;
      ir::Value* t = tools_.tensors.tensorOf(leaf, hint);
      return t != nullptr ? Val::ofTensor(t, leaf.span) : Val(tools_.context.lost());
    });
    if (v.poison()) return false;
    bool any = false;
    mapLeaves(v, [&](const Val& leaf, const std::string&, bool state) {
      any = any || isDifferentiable(leaf, state);
      return leaf;
    });
    if (any) return true;
    auto d = wrong(wrt, "`" + nameAt(position) + "` is " + describe(v) + ", which has no floats to differentiate by");
    proposeOthers(d, position);
    return false;
  }

  /// Whether a gradient by the value could be asked for.
  static bool hasFloats(const Val& v) {
    if (v.is(Kind::Float)) return true;
    if (v.is(Kind::Array)) return std::any_of(v.elems.begin(), v.elems.end(), hasFloats);
    bool any = false;
    mapLeaves(v, [&](const Val& leaf, const std::string&, bool state) {
      any = any || leaf.is(Kind::Float) || isDifferentiable(leaf, state);
      return leaf;
    });
    return any;
  }

  /// The other arguments that `wrt` could name.
  void proposeOthers(Diagnostics::Builder& d, size_t position) const {
    std::string which;
    for (size_t i = 0; i < args_.args.size(); ++i) {
      if (positions_[i] == position || !hasFloats(args_.args[i].value)) continue;
      const std::string& name = args_.args[i].name;
      which += (which.empty() ? "`" : ", `") + asked.names[i] +
               "` (`wrt: " + (name.empty() ? std::to_string(positions_[i]) : "\"" + name + "\"") + "`)";
    }
    if (!which.empty()) d.help("there are floats in " + which);
  }

  std::string nameAt(size_t position) const {
    return position < asked.f.names.size() ? asked.f.names[position] : "argument " + std::to_string(position);
  }

  const TransformTools& tools_;
  const std::vector<std::pair<std::string, Val>>& options_;
  CallArgs args_;
  std::vector<size_t> positions_;  ///< of the parameters that the arguments are for
};
}  // namespace

std::optional<GradientCall> readGradientCall(const TransformTools& tools, const FnValue& f, const CallArgs& args,
                                             DerivativeForm form) {
  Reader reader(tools, f, args, form);
  if (!reader.read()) return std::nullopt;
  return std::move(reader.asked);
}

}  // namespace tenc::frontend
