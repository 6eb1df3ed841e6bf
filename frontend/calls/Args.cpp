// Compile-time arguments: integers, shapes, axes, and the matching of arguments to a built-in's signature.
#include <algorithm>
#include <cstring>
#include <limits>

#include "frontend/Lowering.h"
#include "frontend/builtins/Signature.h"

namespace tenc::frontend {

namespace {
bool runTime(const Val& v) { return v.is(Val::Kind::Tensor) || v.is(Val::Kind::Format); }
constexpr Int kLeast = std::numeric_limits<int64_t>::min();
constexpr Int kMost = std::numeric_limits<int64_t>::max();
}  // namespace

std::optional<int64_t> Lowering::constInt(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::Int)) {
    if (v.integer < kLeast || v.integer > kMost) {
      error(Code::E0212, v.span, toString(v.integer) + " does not fit in i64");
      return std::nullopt;
    }
    return static_cast<int64_t>(v.integer);
  }
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    error(Code::E0111, v.span, std::string(what) + " must be known while compiling, but this is a run-time value")
        .note("literals, `const`s, `param`s, dims and arithmetic over them are known while compiling; a `var` is not");
  } else {
    error(Code::E0203, v.span, std::string(what) + " must be an integer, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<double> Lowering::constFloat(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::Float)) return v.real;
  if (v.is(Val::Kind::Int)) return static_cast<double>(v.integer);
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    error(Code::E0111, v.span, std::string(what) + " must be known while compiling, but this is a run-time value");
  } else {
    error(Code::E0203, v.span, std::string(what) + " must be a number, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<bool> Lowering::constBool(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::Bool)) return v.boolean;
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    error(Code::E0111, v.span, std::string(what) + " must be known while compiling, but this is a run-time value");
  } else {
    error(Code::E0203, v.span, std::string(what) + " must be true or false, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<std::string> Lowering::constString(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::String)) return v.text;
  if (v.poison()) return std::nullopt;
  if (v.is(Val::Kind::Format)) {
    error(Code::E0111, v.span, std::string(what) + " must be known while compiling, but it has run-time parts");
  } else {
    error(Code::E0203, v.span, std::string(what) + " must be a string, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<ir::DType> Lowering::constDType(const Val& v, std::string_view what) {
  if (v.is(Val::Kind::DType)) return v.dtype;
  if (v.is(Val::Kind::Function) && v.fn->kind == FnValue::Kind::Cast) return ir::dtypeNamed(v.fn->name);
  if (!v.poison()) error(Code::E0203, v.span, std::string(what) + " must be a dtype such as f32, not " + describe(v));
  return std::nullopt;
}

Val literalInts(const Val& v) {
  const ir::Op* op = v.is(Val::Kind::Tensor) ? v.tensor->op : nullptr;
  const ir::Dims& shape = v.is(Val::Kind::Tensor) ? v.tensor->type.shape : ir::Dims{};
  if (!op || op->kind != ir::OpKind::Constant || shape.empty() || shape.size() > 2) return v;
  const auto& data = std::get<ir::Data>(*op->find("value"));
  if (v.tensor->type.dtype != ir::DType::I64 || !data || data->size() > 64 * sizeof(int64_t)) return v;
  std::vector<Val> rows;
  const size_t width = static_cast<size_t>(shape.back());
  for (size_t i = 0; width > 0 && i + width <= data->size() / sizeof(int64_t); i += width) {
    std::vector<Val> row;
    for (size_t j = i; j < i + width; ++j) {
      int64_t n;
      std::memcpy(&n, data->data() + j * sizeof n, sizeof n);
      row.push_back(Val::ofInt(n, v.span));
    }
    rows.push_back(Val::ofTuple(std::move(row), v.span));
  }
  return shape.size() == 2 ? Val::ofTuple(std::move(rows), v.span) : rows.empty() ? v : rows[0];
}

std::optional<std::vector<int64_t>> Lowering::constInts(const Val& given, std::string_view what) {
  const Val v = literalInts(given);
  std::vector<int64_t> out2;
  if (v.is(Val::Kind::Int)) {
    auto i = constInt(v, what);
    if (!i) return std::nullopt;
    out2.push_back(*i);
    return out2;
  }
  if (v.is(Val::Kind::Tuple) || v.is(Val::Kind::Array) || v.is(Val::Kind::Pack) || v.is(Val::Kind::List)) {
    for (const Val& e : v.elems) {
      if (e.is(Val::Kind::Pack)) {
        auto inner = constInts(e, what);
        if (!inner) return std::nullopt;
        out2.insert(out2.end(), inner->begin(), inner->end());
        continue;
      }
      auto i = constInt(e, what);
      if (!i) return std::nullopt;
      out2.push_back(*i);
    }
    return out2;
  }
  if (v.poison()) return std::nullopt;
  if (runTime(v)) {
    error(Code::E0111, v.span, std::string(what) + " must be known while compiling, but this is a run-time value");
  } else {
    error(Code::E0203, v.span, std::string(what) + " must be an integer or a list of integers, not " + describe(v));
  }
  return std::nullopt;
}

std::optional<ir::Dims> Lowering::constShape(const Val& given) {
  const Val v = literalInts(given);
  // Only the sizes of a shape get their own code: shapes are static.
  const Val* size = runTime(v) ? &v : nullptr;
  if (v.is(Val::Kind::Array) || v.is(Val::Kind::Tuple)) {
    for (const Val& e : v.elems) size = runTime(e) ? &e : size;
  }
  if (size) {
    error(Code::E0210, size->span, "a shape must be known while compiling, but this size is a run-time value")
        .note("literals, `const`s, `param`s, dims and arithmetic over them are known while compiling; a `var` is not");
    return std::nullopt;
  }
  auto dims = constInts(v, "a shape");
  if (!dims) return std::nullopt;
  for (int64_t d : *dims) {
    if (d < 0) {
      error(Code::E0208, v.span, "a dim cannot be negative: " + ir::toString(*dims));
      return std::nullopt;
    }
  }
  if (dims->size() > ir::kMaxRank) {
    error(Code::E0208, v.span, "a tensor has at most " + std::to_string(ir::kMaxRank) + " dims");
    return std::nullopt;
  }
  if (!ir::elementCount(*dims)) {
    error(Code::E0208, v.span, "a tensor of shape " + ir::toString(*dims) + " has more elements than can be counted");
    return std::nullopt;
  }
  return dims;
}

std::optional<int64_t> Lowering::constAxis(const Val& v, int64_t rank) {
  auto axis = constInt(v, "an axis");
  if (!axis) return std::nullopt;
  if (*axis < -rank || *axis >= rank) {
    error(Code::E0205, v.span,
          "axis " + std::to_string(*axis) + " is out of range for a tensor of " + std::to_string(rank) + " dims");
    return std::nullopt;
  }
  return *axis < 0 ? *axis + rank : *axis;
}

std::optional<std::vector<int64_t>> Lowering::constAxes(const Val* v, int64_t rank) {
  std::vector<int64_t> axes;
  if (!v) {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  auto given = constInts(*v, "an axis");
  if (!given) return std::nullopt;
  for (int64_t a : *given) {
    auto axis = constAxis(Val::ofInt(a, v->span), rank);
    if (!axis) return std::nullopt;
    if (std::find(axes.begin(), axes.end(), *axis) != axes.end()) {
      error(Code::E0204, v->span, "axis " + std::to_string(a) + " is given twice");
      return std::nullopt;
    }
    axes.push_back(*axis);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

const Val* BoundArgs::find(std::string_view name) const {
  for (const auto& [n, v] : named) {
    if (n == name) return v;
  }
  return nullptr;
}

const Val& BoundArgs::operator[](std::string_view name) const {
  static const Val kPoison;
  const Val* v = find(name);
  return v ? *v : kPoison;
}

BoundArgs Lowering::bind(const CallArgs& call, const Signature& signature) {
  const std::span<const Parameter> params = signature.parameters();
  const std::string name(signature.name());
  BoundArgs bound;
  bool ok = true, poison = false;
  using Help = std::function<void(Diagnostics::Builder&)>;
  auto wrong = [&](Span span, std::string message, const Help& help = {}) {
    if (ok) {
      auto d = error(Code::E0204, span, std::move(message));
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
    wrong(call.span, "`" + name + "` lacks its argument `" + std::string(p.name) + "`", [&](Diagnostics::Builder& d) {
      if (call.args.size() == 1) misused(d, Misuse::OnlyOne);
    });
  }
  bound.ok = ok && !poison;
  return bound;
}

}  // namespace tenc::frontend
