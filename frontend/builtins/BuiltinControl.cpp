// Built-ins that call functions: loops over rows, folds over trees, lists and sequences.
#include <unordered_map>
#include <vector>

#include "frontend/Context.h"
#include "frontend/builtins/Builtin.h"
#include "frontend/calls/Calls.h"
#include "frontend/calls/Tracer.h"
#include "frontend/control/Regions.h"
#include "frontend/types/Structs.h"
#include "frontend/values/PlacingOps.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

using ir::Dims;
using ir::DType;
using ir::OpKind;

namespace {

/// Rows of a tree along the leading dim of every leaf.
class Rows {
 public:
  /// `over`: what the built-in takes, for a value that is none of it.
  Rows(BuiltinCall& k, std::string_view name, std::string_view over = "the rows of tensors") : k_(k) {
    xs_ = k.tensors.settle(k[name]);
    if (xs_.poison() || !leavesOf(xs_, leaves_)) return;
    for (ir::Value* v : leaves_) {
      if (v->type.rank() == 0 || (length_ >= 0 && v->type.shape[0] != length_)) {
        k.context.fail(Code::E0202, k.span,
                       "`" + std::string(k.row.name) + "` iterates over leading dims of one length, but has " +
                           ir::toString(v->type));
        length_ = -1;
        return;
      }
      length_ = v->type.shape[0];
    }
    if (length_ < 0)
      k.context.fail(Code::E0203, k.span,
                     "`" + std::string(k.row.name) + "` iterates over " + std::string(over) + ", not " + describe(xs_));
  }
  bool ok() const { return length_ >= 0; }
  int64_t length() const { return length_; }
  ir::Value* leaf() const { return leaves_[0]; }

  Val at(ir::Value* i) const {
    ir::Compose c(k_.context.b());
    std::vector<ir::Value*> rows;
    for (ir::Value* v : leaves_) rows.push_back(c.gather(v, {i}, {0}, 0));
    return k_.structs.refit(rebuild(xs_, rows));
  }

  /// A value that lives where the rows do.
  ir::Value* anchor() const { return leaves_[0]; }
  /// A row for its types: zeros, as there is none.
  Val emptyRow() const {
    std::vector<ir::Value*> rows;
    for (ir::Value* v : leaves_) {
      const Dims shape(v->type.shape.begin() + 1, v->type.shape.end());
      rows.push_back(ir::Compose(k_.context.b()).fillOn(v, shape, ir::Compose(k_.context.b()).literal(v, 0)));
    }
    return k_.structs.refit(rebuild(xs_, rows));
  }

 private:
  BuiltinCall& k_;
  Val xs_;
  std::vector<ir::Value*> leaves_;
  int64_t length_ = -1;
};

/// A result of one trip as leaves that are tensors.
Val tensors(BuiltinCall& k, const Val& v) {
  return mapLeaves(k.tensors.settle(v), [&](const Val& leaf, const std::string&, bool) {
    ir::Value* t = k.tensors.tensorOf(leaf);
    return t ? Val::ofTensor(t, leaf.span.valid() ? leaf.span : k.span) : k.lost();
  });
}

/// What a trip hands on, which stays where `before` is; `init`: what the first one gets, as written.
Val handedOn(BuiltinCall& k, const Val& next, const Val& before, Span init, Span written) {
  if (next.poison() || before.poison() || describe(next) != describe(before)) return next;  // reported elsewhere
  k.context.at(k.span, {{written, ""}, {init, ""}});
  Val kept = k.placing.placedAs(next, before);
  k.context.at(k.span);
  return kept;
}

/// `ys` with row i of every leaf set.
Val setRow(BuiltinCall& k, const Val& ys, const Val& row, ir::Value* i) {
  std::vector<ir::Value*> all, parts;
  if (!leavesOf(ys, all) || !leavesOf(row, parts)) return k.lost();
  ir::Compose c(k.context.b());
  if (all.size() != parts.size()) return k.lost();
  for (size_t n = 0; n < all.size(); ++n) {
    all[n] = k.context.b().value(OpKind::DynamicUpdate, {all[n], c.expandDims(parts[n], 0), i}, {{"axes", Dims{0}}});
  }
  return rebuild(ys, all);
}

/// What rows of a leading dim of 0 give: the function is traced for its type.
Val emptyRows(BuiltinCall& k, ir::Value* xs, const std::function<Val()>& row) {
  const auto traced =
      k.tracer.trace([&](const std::vector<Val>&) { return row(); }, {}, {}, k.span, StateIn::Forgotten);
  if (!traced) return k.lost();
  k.context.at(k.span);
  std::vector<ir::Value*> leaves;
  for (const ir::Type& type : traced->func->resultTypes) {
    Dims shape = type.shape;
    shape.insert(shape.begin(), 0);
    const DType t = type.dtype;
    leaves.push_back(k.c.fillOn(xs, shape, ir::isFloat(t) ? k.c.b.scalar(t, 0) : k.c.b.scalarInt(t, 0)));
  }
  return rebuild(traced->result, leaves);
}

/// What a loop carries after its first trip, by what it was before.
using Later = std::unordered_map<const ir::Value*, ir::Value*>;

/// Room for n rows like `row`, the first of which is `row`. A row that is free so far is taken to be where `xs` is; one
/// that is what the loop carries, where that is from the second trip on.
Val room(BuiltinCall& k, const Val& row, int64_t n, ir::Value* xs, const Later& later = {}) {
  std::vector<ir::Value*> leaves;
  if (!leavesOf(row, leaves)) return k.lost();
  ir::Compose c(k.context.b());
  for (ir::Value*& v : leaves) {
    Dims shape = v->type.shape;
    shape.insert(shape.begin(), n);
    const auto carried = later.find(v);
    ir::Value* zeros = c.fillOn(carried == later.end() ? v : carried->second, shape, c.literal(v, 0), xs);
    v = k.context.b().value(OpKind::UpdateSlice, {zeros, c.expandDims(v, 0)},
                            {{"starts", Dims(shape.size(), 0)}, {"steps", Dims(shape.size(), 1)}});
  }
  return rebuild(row, leaves);
}

struct LoopRange {
  ir::Value *lo, *hi, *step;
};
LoopRange rangeOf(BuiltinCall& k, int64_t from, int64_t to) {
  ir::Builder& b = k.context.b();
  return {b.scalarInt(DType::I64, from), b.scalarInt(DType::I64, to), b.scalarInt(DType::I64, 1)};
}

// The first trip stands before the loop: it says what the rows of the result are.

/// Whether the last of the values of a list is of the type of the first; reports it if not.
bool isOfListType(BuiltinCall& k, const std::vector<Val>& elems) {
  const std::string first = describe(elems[0]), last = describe(elems.back());
  if (first == last) return true;
  k.context.error(Code::E0203, k.span, "values of a list are of one type, not " + first + " and " + last)
      .help("values of different types form a tuple: `tuple(n, f)`");
  return false;
}

Val listed(BuiltinCall& k, std::vector<Val> elems) {
  Val made = Val::ofList(std::move(elems), k.span);
  k.placing.checkOnePlace(made, "the values of a list", k.span);
  return made;
}

Val map(BuiltinCall& k) {
  // As `for` does, it goes over the elements of a list, and over the rows of tensors.
  if (const Val& given = k["xs"]; given.is(Val::Kind::List) || given.is(Val::Kind::Sequence)) {
    std::vector<Val> elems;
    for (const Val& e : given.elems) {
      elems.push_back(k.tensors.settle(k.calls.callValue(k["f"], {e}, k.span)));
      if (elems.back().poison()) return elems.back();
      if (!isOfListType(k, elems)) return k.lost();
    }
    return listed(k, std::move(elems));
  }
  Rows xs(k, "xs", "lists and the rows of tensors");
  if (!xs.ok()) return k.lost();
  if (xs.length() == 0) {
    return emptyRows(k, xs.anchor(), [&] { return tensors(k, k.calls.callValue(k["f"], {xs.emptyRow()}, k.span)); });
  }
  Val first = tensors(k, k.calls.callValue(k["f"], {xs.at(k.context.b().scalarInt(DType::I64, 0))}, k.span));
  if (first.poison()) return first;
  k.context.at(k.span);
  Val ys = room(k, first, xs.length(), xs.leaf());
  if (ys.poison() || xs.length() == 1) return k.structs.refit(std::move(ys));
  auto [lo, hi, step] = rangeOf(k, 1, xs.length());
  auto out =
      k.regions.forLoop(lo, hi, step, {ys}, k.span, [&](ir::Value* i, std::vector<Val> carried) -> std::vector<Val> {
        Val y = tensors(k, k.calls.callValue(k["f"], {xs.at(i)}, k.span));
        if (y.poison()) return {k.lost()};
        return {setRow(k, carried[0], y, i)};
      });
  return out.empty() ? k.lost() : k.structs.refit(out[0]);
}

/// (carry, y) of one trip; reports when f gives no pair.
std::optional<std::pair<Val, Val>> scanStep(BuiltinCall& k, const Val& carry, const Val& x) {
  Val r = k.calls.callValue(k["f"], {carry, x}, k.span);
  if (r.poison()) return std::nullopt;
  if (!r.is(Val::Kind::Tuple) || r.elems.size() != 2) {
    k.fail(Code::E0203, "the function of `scan` gives a pair (carry, y), not " + describe(r));
    return std::nullopt;
  }
  Val carried = tensors(k, r.elems[0]), y = tensors(k, r.elems[1]);
  if (carried.poison() || y.poison()) return std::nullopt;
  return std::pair(carried, y);
}

/// What the first trip gets, under the annotation around; `pair`: the function gives (carry, y). One literal adopts the
/// dtype that the function makes of it: it is traced to see which.
Val startOf(BuiltinCall& k, const Rows& xs, bool pair) {
  const Val& init = k["init"];
  if (!xs.ok() || !init.isNumber() || !init.adopts) return k.placing.enterAnnotation(tensors(k, init));
  const auto trip = [&](const std::vector<Val>&) {
    const Val next = k.calls.callValue(k["f"], {init, xs.emptyRow()}, k.span);
    return pair && next.is(Val::Kind::Tuple) && next.elems.size() == 2 ? next.elems[0] : next;
  };
  const auto traced = k.tracer.trace(trip, {}, {}, k.span, StateIn::Forgotten);
  if (!traced) return k.lost();
  const Val& next = traced->result;
  const auto t = next.is(Val::Kind::Tensor) ? std::optional(next.tensor->type.dtype) : std::nullopt;
  k.context.at(k.span);
  const bool adopts = t && (ir::isFloat(*t) || (ir::isInt(*t) && init.is(Val::Kind::Int)));
  ir::Value* v = k.tensors.tensorOf(init, adopts ? t : std::nullopt);
  return v ? Val::ofTensor(v, init.span) : k.lost();
}

Val scan(BuiltinCall& k) {
  Rows xs(k, "xs");
  Val init = startOf(k, xs, /*pair=*/true);
  if (!xs.ok() || init.poison()) return k.lost();
  if (xs.length() == 0) {
    Val ys = emptyRows(k, xs.anchor(), [&] {
      auto step = scanStep(k, init, xs.emptyRow());
      return step ? step->second : k.lost();
    });
    return ys.poison() ? ys : Val::ofTuple({init, ys}, k.span);
  }
  const Span start = k["init"].span;
  auto first = scanStep(k, init, xs.at(k.context.b().scalarInt(DType::I64, 0)));
  if (!first) return k.lost();
  if (const std::string before = toString(typeOf(init)), after = toString(typeOf(first->first)); before != after) {
    return k.fail(Code::E0209, "what `scan` carries must keep its type, but it is " + before + " before and " + after +
                                   " after a trip");
  }
  first->first = handedOn(k, first->first, init, start, first->first.span);
  k.context.at(k.span);
  std::vector<ir::Value*> before, after;
  Later later;
  if (leavesOf(init, before) && leavesOf(first->first, after) && before.size() == after.size())
    for (size_t i = 0; i < before.size(); ++i) later[before[i]] = after[i];
  Val ys = room(k, first->second, xs.length(), xs.leaf(), later);
  if (ys.poison()) return ys;
  if (xs.length() == 1) return Val::ofTuple({first->first, k.structs.refit(ys)}, k.span);
  auto [lo, hi, step] = rangeOf(k, 1, xs.length());
  auto out = k.regions.forLoop(lo, hi, step, {first->first, ys}, k.span,
                               [&](ir::Value* i, std::vector<Val> carried) -> std::vector<Val> {
                                 auto next = scanStep(k, carried[0], xs.at(i));
                                 if (!next) return {k.lost(), k.lost()};
                                 Val carry = handedOn(k, next->first, carried[0], start, next->first.span);
                                 return {carry, setRow(k, carried[1], next->second, i)};
                               });
  if (out.size() != 2 || out[0].poison() || out[1].poison()) return k.lost();
  return Val::ofTuple({out[0], k.structs.refit(out[1])}, k.span);
}

Val reduce(BuiltinCall& k) {
  Rows xs(k, "xs");
  Val init = startOf(k, xs, /*pair=*/false);
  if (!xs.ok() || init.poison()) return k.lost();
  auto [lo, hi, step] = rangeOf(k, 0, xs.length());
  auto out =
      k.regions.forLoop(lo, hi, step, {init}, k.span, [&](ir::Value* i, std::vector<Val> carried) -> std::vector<Val> {
        Val next = tensors(k, k.calls.callValue(k["f"], {carried[0], xs.at(i)}, k.span));
        return {handedOn(k, next, carried[0], k["init"].span, next.span)};
      });
  return out.empty() ? k.lost() : out[0];
}

Val fold(BuiltinCall& k) {
  Val sum = k["init"];
  Val seen = mapLeaves(k.tensors.settle(k["tree"]), [&](const Val& leaf, const std::string&, bool state) {
    if (state || leaf.is(Val::Kind::Function)) return leaf;
    sum = k.calls.callValue(k["f"], {sum, leaf}, k.span);
    return sum.poison() ? k.lost() : leaf;
  });
  return seen.poison() ? k.lost() : sum;
}

/// The leaves of a tree in order, with whether each is a `state` one.
void collect(const Val& tree, std::vector<Val>& leaves) {
  mapLeaves(tree, [&](const Val& leaf, const std::string&, bool) {
    leaves.push_back(leaf);
    return leaf;
  });
}

Val mapLeaves(BuiltinCall& k) {
  std::vector<std::vector<Val>> others;
  Val tree = k.tensors.settle(k["tree"]);
  if (tree.poison()) return tree;
  for (const Val* v : k.args.rest) {
    Val other = k.tensors.settle(*v);
    if (other.poison()) return other;
    if (!sameStructure(tree, other)) {
      return k.fail(Code::E0203,
                    "`map_leaves` needs trees of one structure, not " + describe(tree) + " and " + describe(other));
    }
    collect(other, others.emplace_back());
  }
  size_t n = 0;
  Val mapped = mapLeaves(tree, [&](const Val& leaf, const std::string&, bool state) {
    std::vector<Val> args = {leaf};
    for (auto& o : others) args.push_back(o[n]);
    ++n;
    // A function among layers is no leaf.
    if (state || leaf.is(Val::Kind::Function)) return leaf;
    return k.tensors.settle(k.calls.callValue(k["f"], std::move(args), k.span));
  });
  return mapped.poison() ? mapped : k.structs.checkPlaces(k.structs.refit(std::move(mapped)), k.span);
}

template <bool Tuple>
Val listOrTuple(BuiltinCall& k) {
  auto n = k.integer("n");
  if (!n) return k.lost();
  constexpr int64_t kMost = 100'000;
  if (*n < 0 || *n > kMost) {
    return k.fail(Code::E0208, "a " + std::string(k.row.name) + " of " + std::to_string(*n) + " values");
  }
  constexpr int64_t kMostUnlike = 16'384;  // each is code of its own
  std::vector<Val> elems;
  for (int64_t i = 0; i < *n; ++i) {
    elems.push_back(k.tensors.settle(k.calls.callValue(k["f"], {Val::ofInt(i, k.span)}, k.span)));
    if (elems.back().poison()) return elems.back();
    if (i == kMostUnlike && Tuple && !elems.back().isStatic()) {
      return Val(k.context
                     .error(Code::E0208, k.span,
                            "a tuple of more than 16,384 tensors or structs; here are " + std::to_string(*n))
                     .help("values of one type form a list, `list(n, f)`, or a dim of one tensor"));
    }
    if (!Tuple && !isOfListType(k, elems)) return k.lost();
  }
  return Tuple ? Val::ofTuple(std::move(elems), k.span) : listed(k, std::move(elems));
}

/// The values that a `for` would walk over, when they are known at compile time.
std::optional<std::vector<Val>> trips(BuiltinCall& k, const Val& given) {
  Val v = given.is(Val::Kind::Array) ? k.tensors.settle(given) : given;
  if (v.isTree() || v.is(Val::Kind::Sequence) || v.is(Val::Kind::Pack)) return v.elems;
  if (v.is(Val::Kind::Tensor) && v.tensor->type.rank() > 0) {
    std::vector<Val> rows;
    for (int64_t i = 0; i < v.tensor->type.shape[0] && !k.context.spent(k.span); ++i) {
      rows.push_back(k.result(k.c.squeeze(k.c.sliceAxis(v.tensor, 0, i, 1), 0)));
    }
    return rows;
  }
  if (v.is(Val::Kind::Range) && v.elems[0].is(Val::Kind::Int) && v.elems[1].is(Val::Kind::Int) &&
      v.elems[2].is(Val::Kind::Int) && v.elems[2].integer > 0) {
    std::vector<Val> out;
    constexpr Int kMost = 100'000;
    if (v.elems[1].integer - v.elems[0].integer > kMost * v.elems[2].integer) {
      k.fail(Code::E0208, "`" + std::string(k.row.name) + "` over more than 100,000 values");
      return std::nullopt;
    }
    for (Int i = v.elems[0].integer; i < v.elems[1].integer; i += v.elems[2].integer)
      out.push_back(Val::ofInt(i, v.span));
    if (v.boolean) out = std::vector<Val>(out.rbegin(), out.rend());
    return out;
  }
  if (!v.poison())
    k.fail(Code::E0203, "`" + std::string(k.row.name) +
                            "` iterates over lists, tuples, ranges and the rows of tensors, not " + describe(v));
  return std::nullopt;
}

Val enumerate(BuiltinCall& k) {
  auto values = trips(k, k["xs"]);
  if (!values) return k.lost();
  std::vector<Val> out;
  for (size_t i = 0; i < values->size(); ++i) {
    out.push_back(Val::ofTuple({Val::ofInt(static_cast<Int>(i), k.span), (*values)[i]}, k.span));
  }
  return Val::ofSequence(std::move(out), k.span);
}

Val zip(BuiltinCall& k) {
  std::vector<std::vector<Val>> all;
  for (const Val* v : k.args.rest) {
    auto values = trips(k, *v);
    if (!values) return k.lost();
    if (!all.empty() && values->size() != all[0].size()) {
      return k.fail(Code::E0202, "`zip` iterates over " + std::to_string(all[0].size()) + " and " +
                                     std::to_string(values->size()) + " values");
    }
    all.push_back(std::move(*values));
  }
  std::vector<Val> out;
  for (size_t i = 0; !all.empty() && i < all[0].size(); ++i) {
    std::vector<Val> row;
    for (auto& values : all) row.push_back(values[i]);
    out.push_back(Val::ofTuple(std::move(row), k.span));
  }
  return Val::ofSequence(std::move(out), k.span);
}

constexpr BuiltinRow kRows[] = {
    {"map(f, xs: tensors)", "f of every row of xs, stacked; of every element of a list, as a list.", map},
    {"scan(f, init, xs: tensors)", "(last, ys) of (carry, y) = f(carry, x) over the rows of xs.", scan},
    {"reduce(f, init, xs: tensors)", "The last of carry = f(carry, x) over the rows of xs.", reduce},
    {"fold(f, init, tree)",
     "Combines the leaves of a tree: sum = f(sum, leaf), from `init` on. Functions and `state` fields are left out.",
     fold},
    {"map_leaves(f, tree, ...)",
     "A tree of f of the leaves of one or more trees. Functions among them, and what a struct calls `state`, stay as "
     "they are.",
     mapLeaves},
    {"list(n: int, f)", "f(0), ..., f(n - 1) of one type.", listOrTuple<false>},
    {"tuple(n: int, f)", "f(0), ..., f(n - 1) of any types.", listOrTuple<true>},
    {"enumerate(xs: tensors)", "Pairs (i, x) with compile-time i.", enumerate},
    {"zip(...)", "Tuples of the values of several lists.", zip},
};

}  // namespace

std::span<const BuiltinRow> controlBuiltins() { return kRows; }

}  // namespace tenc::frontend
