// The matching of arguments to a built-in's signature.
#include "frontend/calls/Arguments.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Signature.h"
#include "frontend/names/Suggest.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using Kind = Val::Kind;

/// Whether argument `i` is one of the values that `p` takes in brackets: a size of `zeros(2, 3)`, a tensor of
/// `concat(a, b)`.
bool isSpreadOut(const CallArgs& call, size_t i, const Parameter& p) {
  if (i >= call.args.size() || !call.args[i].name.empty()) return false;
  const Val& v = call.args[i].value;
  if (p.kind == Parameter::Kind::Shape) return v.is(Kind::Int);
  return p.kind == Parameter::Kind::Tensors && (v.is(Kind::Tensor) || v.is(Kind::Array));
}

/// The help for the arguments from `first` on that should be one.
void addBrackets(Diagnostics::Builder& d, const CallArgs& call, size_t first, const Parameter& p,
                 const Signature& signature) {
  size_t last = first;
  while (isSpreadOut(call, last + 1, p)) ++last;
  const Span from = call.args[first].span, to = call.args[last].span;
  const bool tuple = p.kind == Parameter::Kind::Tensors;
  if (tuple && from.begin < call.callee.begin)  // x.concat(y)
    return void(d.help("write a tuple: `" + std::string(signature.name()) + "((a, b))`"));
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

BoundArgs bindArguments(Context& context, const CallArgs& call, const Signature& signature) {
  const std::span<const Parameter> params = signature.parameters();
  const std::string name(signature.name());
  BoundArgs bound;
  bool ok = true, poison = false;
  using Help = std::function<void(Diagnostics::Builder&)>;
  auto wrong = [&](Span span, std::string message, const Help& help = {}) {
    if (ok) {
      auto d = context.error(Code::E0204, span, std::move(message));
      d.note("it is called as " + signature.text());
      if (help) help(d);
    }
    ok = false;
  };
  using Misuse = syntax::FamiliarMisuse::Kind;
  const auto misused = [&](Diagnostics::Builder& d, Misuse kind) {
    if (const std::string_view known = syntax::familiarMisuse(name, kind); !known.empty()) d.help(std::string(known));
  };
  size_t position = 0;
  for (const CallArg& a : call.args) {
    if (a.value.poison()) poison = true;
    if (a.name.empty()) {
      while (position < params.size() && !params[position].namedOnly && bound.has(params[position].name)) {
        ++position;
      }
      if (position < params.size() && !params[position].namedOnly) {
        bound.named.emplace_back(params[position].name, &a.value);
        ++position;
      } else if (signature.variadic()) {
        bound.rest.push_back(&a.value);
      } else {
        const Parameter* before = position > 0 ? &params[position - 1] : nullptr;
        if (before != nullptr && isSpreadOut(call, position - 1, *before) && isSpreadOut(call, position, *before)) {
          wrong(a.span, "`" + name + "` takes its `" + std::string(before->name) + "` as one argument",
                [&](Diagnostics::Builder& d) { addBrackets(d, call, position - 1, *before, signature); });
          continue;
        }
        // A dtype without a name is meant for `dtype:`, anything else for the first option.
        const bool dtype = a.value.is(Val::Kind::DType) ||
                           (a.value.is(Val::Kind::Function) && a.value.fn->kind == FnValue::Kind::Cast);
        auto option = std::find_if(params.begin(), params.end(), [&](const Parameter& x) {
          return x.namedOnly && !bound.has(x.name) && dtype == (x.kind == Parameter::Kind::DType);
        });
        if (option == params.end()) {
          wrong(a.span, "`" + name + "` is given too many arguments",
                [&](Diagnostics::Builder& d) { misused(d, Misuse::TooMany); });
        } else {
          wrong(a.span, "`" + name + "` takes its option `" + std::string(option->name) + "` by name",
                [&](Diagnostics::Builder& d) {
                  // What a pipe or a method's receiver gives stands outside of the parentheses.
                  if (a.span.begin > call.callee.end)
                    d.help("write its name",
                           {{{a.span.file, a.span.begin, a.span.begin}, std::string(option->name) + ": "}});
                  if (a.value.is(Val::Kind::Int)) misused(d, Misuse::UnnamedInt);
                });
        }
      }
      continue;
    }
    auto p = std::find_if(params.begin(), params.end(), [&](const Parameter& x) { return x.name == a.name; });
    if (p == params.end()) {
      std::vector<std::string> names;
      for (const Parameter& x : params)
        if (!bound.has(x.name)) names.emplace_back(x.name);
      wrong(a.span, "`" + name + "` has no parameter `" + a.name + "`", [&](Diagnostics::Builder& d) {
        const Span at{a.span.file, a.span.begin, a.span.begin + static_cast<uint32_t>(a.name.size())};
        suggest(d, a.name, at, names, syntax::familiarOption(a.name));
      });
    } else if (bound.has(a.name)) {
      wrong(a.span, "`" + a.name + "` is given twice");
    } else {
      bound.named.emplace_back(a.name, &a.value);
    }
  }
  for (const Parameter& p : params) {
    if (p.optional || bound.has(p.name)) continue;
    wrong(call.span, "`" + name + "` is missing its argument `" + std::string(p.name) + "`",
          [&](Diagnostics::Builder& d) {
            if (call.args.size() == 1) misused(d, Misuse::OnlyOne);
          });
  }
  bound.ok = ok && !poison;
  return bound;
}

void readAsDevice(CallArgs& args, std::string_view parameter) {
  if (args.args.size() != 1) return;
  CallArg& a = args.args[0];
  if (a.name.empty() || a.name == parameter || !a.value.is(Kind::Int)) return;
  a.value = Val::ofDevice({a.name + ":" + toString(a.value.integer), nullptr}, a.span);
  a.name.clear();
}

}  // namespace tenc::frontend
