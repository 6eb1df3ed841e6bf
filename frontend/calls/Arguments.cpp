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
        // zeros(2, 3), x.reshape(2, 3)
        const auto isInt = [&](size_t i) { return call.args[i].name.empty() && call.args[i].value.is(Val::Kind::Int); };
        const std::string_view before = position > 0 ? params[position - 1].name : "";
        const bool times = before == "times";
        const bool sizes = (before == "shape" || times) && isInt(position - 1) && a.value.is(Val::Kind::Int);
        // concat(a, b)
        const auto isTensor = [&](size_t i) {
          const Val& v = call.args[i].value;
          return call.args[i].name.empty() && (v.is(Val::Kind::Tensor) || v.is(Val::Kind::Array));
        };
        const bool parts =
            before == "xs" && isTensor(position - 1) && (a.value.is(Val::Kind::Tensor) || a.value.is(Val::Kind::Array));
        if (sizes || parts) {
          const std::string what = parts   ? "the tensors of `" + name + "` are"
                                   : times ? "the numbers of copies of `" + name + "` are"
                                           : "the shape of `" + name + "` is";
          wrong(a.span, what + " one argument", [&](Diagnostics::Builder& d) {
            size_t last = position;
            while (last + 1 < call.args.size() && (parts ? isTensor(last + 1) : isInt(last + 1))) ++last;
            const Span from = call.args[position - 1].span, to = call.args[last].span;
            if (parts && from.begin < call.callee.begin)  // x.concat(y)
              return void(d.help("write a tuple: `" + name + "((a, b))`"));
            d.help(parts   ? "write a tuple"
                   : times ? "write them in brackets"
                           : "write the sizes in brackets",
                   {{{from.file, from.begin, from.begin}, parts ? "(" : "["},
                    {{to.file, to.end, to.end}, parts ? ")" : "]"}});
          });
          continue;
        }
        // A dtype without a name is meant for `dtype:`, anything else for the first option.
        const bool dtype = a.value.is(Val::Kind::DType) ||
                           (a.value.is(Val::Kind::Function) && a.value.fn->kind == FnValue::Kind::Cast);
        auto option = std::find_if(params.begin(), params.end(), [&](const Parameter& x) {
          return x.namedOnly && !bound.has(x.name) && dtype == (x.name == "dtype");
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
