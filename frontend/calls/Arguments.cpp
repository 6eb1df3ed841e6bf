// The matching of arguments to a built-in's signature.
#include "frontend/calls/Arguments.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Signature.h"
#include "frontend/habits/Idioms.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/ValueGradient.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Suggest.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
constexpr std::string_view kOfFunctions[] = {"grad", "value_and_grad", "vmap"};
using Kind = Val::Kind;

/// Whether argument `i` is one of the values that `p` takes in brackets: a size of `zeros(2, 3)`, a tensor of
/// `concat(a, b)`.
bool isSpreadOut(const CallArgs& call, size_t i, const Parameter& p) {
  if (i >= call.args.size() || !call.args[i].name.empty()) return false;
  const Val& v = call.args[i].value;
  if (p.kind == Parameter::Kind::Shape)  // of the run, it is an error of its own between the brackets
    return v.is(Kind::Int) || (v.is(Kind::Tensor) && v.tensor->type.rank() == 0 && ir::isInt(v.tensor->type.dtype));
  return p.kind == Parameter::Kind::Tensors && (v.is(Kind::Tensor) || v.is(Kind::Array));
}

/// The help for the arguments from `first` on that should be one.
void addBrackets(Diagnostics::Builder& d, const CallArgs& call, size_t first, const Parameter& p,
                 const Signature& signature) {
  size_t last = first;
  while (isSpreadOut(call, last + 1, p)) ++last;
  const bool all = std::none_of(call.args.begin() + static_cast<std::ptrdiff_t>(last) + 1, call.args.end(),
                                [](const CallArg& a) { return a.name.empty(); });
  const Span from = call.args[first].span, to = call.args[last].span;
  const bool tuple = p.kind == Parameter::Kind::Tensors;
  if (tuple && from.begin < call.callee.begin)  // x.concat(y)
    return void(d.help("write a tuple: `" + std::string(signature.name()) + "((a, b))`"));
  if (!all) return void(d.help(tuple ? "write a tuple" : "write the numbers in brackets"));
  d.help(tuple ? "write a tuple" : "write the numbers in brackets",
         {{{from.file, from.begin, from.begin}, tuple ? "(" : "["}, {{to.file, to.end, to.end}, tuple ? ")" : "]"}});
}
}  // namespace

const Val* BoundArgs::find(std::string_view name) const {
  for (const auto& [n, v] : named) {
    if (n == name) return v;
  }
  return nullptr;
}

const Val& BoundArgs::operator[](std::string_view name) const {
  static const Val kNone;
  const Val* v = find(name);
  return v ? *v : kNone;
}

namespace {
/// One call of a built-in against its signature. Reported are its first error, and every option that it does not have.
class Binder {
 public:
  Binder(Context& context, const CallArgs& call, const Signature& signature)
      : context_(context),
        call_(call),
        signature_(signature),
        parameters_(signature.parameters()),
        name_(signature.name()) {}

  BoundArgs bind() {
    for (const CallArg& a : call_.args) {
      poison_ |= a.value.poison();
      if (a.name.empty())
        positional(a);
      else
        named(a);
    }
    for (const Parameter& p : parameters_) {
      if (p.optional || bound_.has(p.name)) continue;
      wrong(call_.span, quoted() + " is missing its argument `" + std::string(p.name) + "`",
            [&](Diagnostics::Builder& d) {
              if (call_.args.size() != 1) return;
              const auto itself = ofItself(call_.args[0]);
              if (itself.empty())
                misused(d, Misuse::OnlyOne);
              else
                d.help("a tuple is one already", itself);
            });
    }
    bound_.ok = ok_ && !poison_;
    return std::move(bound_);
  }

 private:
  using Misuse = syntax::FamiliarMisuse::Kind;

  std::string quoted() const { return "`" + name_ + "`"; }

  template <class Help>
  void wrong(Span span, std::string message, const Help& help) {
    if (!std::exchange(ok_, false)) return;
    auto d = context_.error(Code::E0204, span, std::move(message));
    d.note("it is called as " + signature_.text());
    help(d);
  }
  bool misused(Diagnostics::Builder& d, Misuse kind, std::vector<Edit> edits = {}) const {
    const std::string_view known = syntax::familiarMisuse(name_, kind);
    if (!known.empty()) d.help(Help{std::string(known), std::move(edits)});
    return !known.empty();
  }

  void positional(const CallArg& a) {
    const auto open = [&] { return next_ < parameters_.size() && !parameters_[next_].namedOnly; };
    while (open() && bound_.has(parameters_[next_].name)) ++next_;
    if (open())
      bound_.named.emplace_back(parameters_[next_++].name, &a.value);
    else if (signature_.variadic())
      bound_.rest.push_back(&a.value);
    else
      tooMany(a);
  }

  /// What may be meant by an argument for which there is no parameter.
  void tooMany(const CallArg& a) {
    if (a.value.poison()) return;  // reported already
    const Parameter* before = next_ > 0 ? &parameters_[next_ - 1] : nullptr;
    if (before != nullptr && isSpreadOut(call_, next_ - 1, *before) && isSpreadOut(call_, next_, *before))
      return wrong(a.span, quoted() + " takes its `" + std::string(before->name) + "` as one argument",
                   [&](Diagnostics::Builder& d) { addBrackets(d, call_, next_ - 1, *before, signature_); });
    // A dtype without a name is meant for `dtype:`, anything else for the first option.
    const bool dtype =
        a.value.is(Kind::DType) || (a.value.is(Kind::Function) && a.value.fn->kind == FnValue::Kind::Cast);
    const auto option = std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& x) {
      return x.namedOnly && !bound_.has(x.name) && dtype == (x.kind == Parameter::Kind::DType);
    });
    if (option == parameters_.end())
      return wrong(a.span, quoted() + " is given too many arguments",
                   [&](Diagnostics::Builder& d) { misused(d, Misuse::TooMany); });
    wrong(a.span, quoted() + " takes its option `" + std::string(option->name) + "` by name",
          [&](Diagnostics::Builder& d) {
            const Val& first = call_.args[0].value;
            if (first.is(Kind::Tensor) && takesFunction())
              if (auto made = valueGradient(context_, call_.span, call_.args[0].span, a.span))
                return void(d.help(std::move(*made)));
            if (name_ == "vmap" && areAxes(a))
              return void(d.help("write its name",
                                 {{{a.span.file, a.span.begin, a.span.begin}, std::string(option->name) + ": "}}));
            if (a.value.is(Kind::Tensor) || a.value.is(Kind::Array) || a.value.isTree() || a.value.is(Kind::Float)) {
              if (misused(d, Misuse::UnnamedValue, takenBehind(a))) return;
            }
            // What a pipe or a method's receiver gives stands outside of the parentheses.
            std::vector<Edit> named;
            if (a.span.begin > call_.callee.end)
              named.push_back({{a.span.file, a.span.begin, a.span.begin}, std::string(option->name) + ": "});
            if (a.value.is(Kind::Int) && misused(d, Misuse::UnnamedInt)) return;
            if (!named.empty()) d.help("write its name", named);
          });
  }

  /// Whether it makes a function of one.
  bool takesFunction() const {
    return name_ == kOfFunctions[0] || name_ == kOfFunctions[1] || name_ == kOfFunctions[2];
  }

  /// `tuple(x.shape)` of what is a tuple, or a list, by itself.
  std::vector<Edit> ofItself(const CallArg& a) const {
    const bool isTuple = a.value.is(Kind::Tuple) || a.value.is(Kind::List) || a.value.is(Kind::Pack);
    const ast::File* file = fileOf(context_);
    const ast::Expr* e = file && isTuple && name_ == "tuple" ? expressionAt(*file, a.span) : nullptr;
    return e && a.name.empty() ? std::vector<Edit>{{call_.span, asOperand(context_.sources, *e)}} : std::vector<Edit>{};
  }

  /// Whether axes are written there, as JAX has them: `(None, 0)`.
  bool areAxes(const CallArg& a) const {
    const ast::File* file = fileOf(context_);
    const ast::Expr* e = file ? expressionAt(*file, a.span) : nullptr;
    const auto isAxis = [](const ast::Expr& x) {
      return x.kind == ast::Expr::Kind::Int || (x.kind == ast::Expr::Kind::Name && x.text == "None");
    };
    const bool several = e && e->kind == ast::Expr::Kind::Tuple && !e->args.empty();
    return several ? std::ranges::all_of(e->args, [&](const ast::ExprPtr& x) { return x && isAxis(*x); })
                   : e && isAxis(*e);
  }

  /// `grad(f, x)` as `grad(f)(x)`: what takes one function gives one that takes the rest.
  std::vector<Edit> takenBehind(const CallArg& a) const {
    const CallArg& f = call_.args[0];
    if ((!takesFunction() && name_ != "jvp") || f.value.is(Kind::Tensor) || call_.args.size() < 2 ||
        &a != &call_.args[1] || f.span.begin < call_.callee.end)
      return {};
    if (name_ == "jvp") {  // `jvp(f, (x,), (d,))`
      const ast::File* file = fileOf(context_);
      std::string given;
      for (size_t i = 1; i < call_.args.size(); ++i) {
        const ast::Expr* e = file ? expressionAt(*file, call_.args[i].span) : nullptr;
        if (call_.args.size() != 3 || !e || e->kind != ast::Expr::Kind::Tuple || e->args.size() != 1) return {};
        given += (i > 1 ? ", " : "") + std::string(context_.sources.text(e->args[0]->span));
      }
      return {{Span{a.span.file, f.span.end, call_.span.end}, ")(" + given + ")"}};
    }
    return {{Span{a.span.file, f.span.end, a.span.begin}, ")("}};
  }

  void named(const CallArg& a) {
    if (signature_.find(a.name) == nullptr) return unknown(a);
    if (bound_.has(a.name)) return wrong(a.span, "`" + a.name + "` is given twice", [](Diagnostics::Builder&) {});
    bound_.named.emplace_back(a.name, &a.value);
  }

  void unknown(const CallArg& a) {
    std::vector<std::string> names;
    for (const Parameter& x : parameters_)
      if (!bound_.has(x.name)) names.emplace_back(x.name);
    ok_ = ok_ || unknown_;
    unknown_ = true;
    wrong(a.span, quoted() + " has no parameter `" + a.name + "`", [&](Diagnostics::Builder& d) {
      const Span at{a.span.file, a.span.begin, a.span.begin + static_cast<uint32_t>(a.name.size())};
      if (auto place = a.name == "device" ? annotatedPlace(context_, a.span) : std::nullopt) {
        d.help(place->text, place->edits);
        return;
      }
      if (auto left = optionLeftOut(context_, a.span, a.name)) {
        d.help(left->text, left->edits);
        return;
      }
      suggest(d, a.name, at, names, syntax::familiarOption(a.name), Among::Few);
    });
  }

  Context& context_;
  const CallArgs& call_;
  const Signature& signature_;
  const std::span<const Parameter> parameters_;
  const std::string name_;
  BoundArgs bound_;
  size_t next_ = 0;  ///< the parameter that the next argument without a name is for
  bool ok_ = true, poison_ = false;
  bool unknown_ = false;  ///< an option that it does not have was its first error
};
}  // namespace

BoundArgs bindArguments(Context& context, const CallArgs& call, const Signature& signature) {
  return Binder(context, call, signature).bind();
}

void readAsDevice(CallArgs& args, std::string_view parameter) {
  if (args.args.size() != 1) return;
  CallArg& a = args.args[0];
  if (a.name.empty() || a.name == parameter || !a.value.is(Kind::Int)) return;
  a.value = Val::ofDevice({a.name + ":" + toString(a.value.integer), nullptr}, a.span);
  a.name.clear();
}

}  // namespace tenc::frontend
