// Expressions other than calls.
#include <algorithm>
#include <cctype>
#include <utility>

#include "frontend/Lowering.h"
#include "frontend/names/Scan.h"
#include "support/Stack.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;
using Kind = Val::Kind;
using ir::OpKind;
using ir::Trait;
}  // namespace

Val Lowering::evalSettled(const ast::Expr& e, const Ty* expected) { return settle(eval(e, expected), expected); }

namespace {

constexpr int64_t kMostSteps = 1'000'000;

/// Takes the leaves of a tree off `left`; false when there are more.
bool takeParts(const Val& v, size_t& left) {
  if (v.elems.empty()) return left != 0 && left-- != 0;
  return std::all_of(v.elems.begin(), v.elems.end(), [&](const Val& e) { return takeParts(e, left); });
}

}  // namespace

Val Lowering::eval(const ast::Expr& e, const Ty* expected) {
  if (spent(e.span)) return Val::none();
  if (builder_) at(e.span);
  if (!evaluated_.empty()) {
    if (auto it = evaluated_.find(&e); it != evaluated_.end()) return it->second;
  }
  Val v;
  switch (e.kind) {
    case ExprKind::Error: return Val::none();
    case ExprKind::Name: v = evalName(e); break;
    case ExprKind::Int:
      if (e.overflow) return fail(Code::E0212, e.span, "`" + e.text + "` does not fit in 64 bits");
      v = Val::ofInt(static_cast<Int>(static_cast<uint64_t>(e.integer)), e.span);
      break;
    case ExprKind::Float: v = Val::ofFloat(e.real, e.span); break;
    case ExprKind::Bool: v = Val::ofBool(e.boolean, e.span); break;
    case ExprKind::Device: {
      DeviceRef d;
      d.name = ir::DeviceTable::normal(e.text);
      v = Val::ofDevice(d, e.span);
      break;
    }
    case ExprKind::String: v = formatString(*this, e); break;
    case ExprKind::Tuple: {
      v = Val::ofTuple({}, e.span);
      for (size_t i = 0; i < e.args.size(); ++i) {
        const bool typed = expected && expected->kind == Ty::Kind::Tuple && i < expected->elems.size();
        v.elems.push_back(eval(*e.args[i], typed ? &expected->elems[i] : nullptr));
      }
      break;
    }
    case ExprKind::Array: v = evalArray(e, expected); break;
    case ExprKind::Unary: v = evalUnary(e, expected); break;
    case ExprKind::Binary: v = evalBinary(e, expected); break;
    case ExprKind::Member: v = evalMember(e); break;
    case ExprKind::Call: v = callExpr(e, expected, nullptr); break;
    case ExprKind::Index: v = evalIndex(e); break;
    case ExprKind::Struct: v = evalStruct(e, expected); break;
    case ExprKind::If: v = evalIf(e, expected); break;
    case ExprKind::Block: v = evalBlockExpr(e, expected); break;
    case ExprKind::Lambda: v = evalLambda(e); break;
  }
  size_t left = kMostParts;
  if ((v.isTree() || v.is(Val::Kind::Format)) && !takeParts(v, left))
    return fail(Code::E0208, e.span, "a value of more than " + std::to_string(kMostParts) + " parts");
  const bool named = e.kind == ExprKind::Name || e.kind == ExprKind::Member || e.kind == ExprKind::Index;
  if (named && v.is(Val::Kind::Int) && v.adopts) v.dim = true;
  if (!v.poison()) v.span = e.span;
  return v;
}

bool Lowering::tooDeep(Span span) {
  if (!stackIsLow()) return false;
  if (!std::exchange(tooDeep_, true))
    error(Code::E0105, span, "expressions and the calls in them nest too deeply").help("bind parts with `let`");
  return true;
}

bool Lowering::spent(Span span) {
  constexpr uint64_t kMostFailures = 4096;
  if (diags.full()) return true;                              // nobody reads more errors than that
  if (failures_ > kMostFailures && !diags.ok()) return true;  // the same few, in one unrolled trip after the other
  if (stopped_) return true;
  if (tooDeep(span)) return true;
  if (steps_ <= kMostSteps && ++steps_ <= kMostSteps) return false;
  if (steps_ == kMostSteps + 1) {
    ++steps_;  // said once
    error(Code::E0105, span, "the script evaluates more than 1,000,000 expressions while compiling")
        .help("loops that are not `static` run at run time; functions are compiled once, lambdas at every call");
  }
  return true;
}

Val Lowering::evalName(const ast::Expr& e) {
  if (auto v = lookup(e.text, e.span)) return *v;
  return unknownName(e.text, e.span);
}

Val Lowering::evalArray(const ast::Expr& e, const Ty* expected) {
  Val v;
  v.kind = Kind::Array;
  v.span = e.span;
  Ty inner;
  const Ty* hint = nullptr;
  if (expected && expected->kind == Ty::Kind::List && !expected->elems.empty()) {
    hint = &expected->elems[0];
  } else if (expected && expected->isTensor()) {
    inner.kind = Ty::Kind::Tensor;
    inner.dtype = expected->dtype;
    hint = &inner;
  }
  bool ok = true;
  for (const auto& a : e.args) {
    v.elems.push_back(eval(*a, hint));
    ok = ok && !v.elems.back().poison();
  }
  return ok ? v : Val::none();
}

namespace {
/// The dtype alone of a declared type: what operands of arithmetic are, whatever their shapes.
std::optional<Ty> dtypeAlone(const Ty* expected) {
  if (!expected || !expected->isTensor() || !expected->dtype) return std::nullopt;
  Ty t;
  t.kind = Ty::Kind::Tensor;
  t.dtype = expected->dtype;
  return t;
}
}  // namespace

Val Lowering::evalUnary(const ast::Expr& e, const Ty* expected) {
  if (e.text == "not") {
    Val v = eval(*e.args[0]);
    return v.poison() ? v : elementwise(OpKind::Not, {v}, e.span, e.text);
  }
  const std::optional<Ty> hint = dtypeAlone(expected);
  std::vector<Val> operands = {eval(*e.args[0], hint ? &*hint : nullptr)};
  if (operands[0].poison()) return operands[0];
  adoptDeclared(operands, expected);
  return elementwise(OpKind::Neg, operands, e.span, e.text);
}

Val Lowering::evalBinary(const ast::Expr& e, const Ty* expected) {
  if (e.text == "|>") return pipe(e, expected);
  const bool arithmetic = std::string_view("+ - * / // % **").find(e.text) != std::string_view::npos;
  const std::optional<Ty> hint = arithmetic ? dtypeAlone(expected) : std::nullopt;
  std::vector<Val> operands = {eval(*e.args[0], hint ? &*hint : nullptr)};
  if (e.text == "and" || e.text == "or") return shortCircuit(e, operands[0]);
  operands.push_back(eval(*e.args[1], hint ? &*hint : nullptr));
  if (hint) adoptDeclared(operands, expected);
  return binary(e.text, operands[0], operands[1], e.span, e.opSpan);
}

Val Lowering::shortCircuit(const ast::Expr& e, const Val& left) {
  const bool isAnd = e.text == "and";
  if (left.is(Kind::Bool)) {
    if (left.boolean != isAnd) return Val::ofBool(!isAnd, e.span);
    Val right = eval(*e.args[1]);
    if (right.is(Kind::Bool) || right.poison()) return right;
    return binary(e.text, left, right, e.span, e.opSpan);
  }
  const bool single =
      left.is(Kind::Tensor) && left.tensor->type.shape.empty() && left.tensor->type.dtype == ir::DType::Bool;
  if (!single) return binary(e.text, left, eval(*e.args[1]), e.span, e.opSpan);
  // The right side goes into the branch that needs it. When nothing in it can fail or be seen, it comes out again.
  ir::Op* op = b().makeTyped(OpKind::If, {left.tensor}, {});
  ir::Region* regions[2] = {b().addRegion(op), b().addRegion(op)};
  ir::Region *evaluated = regions[isAnd ? 0 : 1], *decided = regions[isAnd ? 1 : 0];
  Val right;
  ++regionDepth_;
  inRegion(evaluated, [&] { right = eval(*e.args[1]); });
  --regionDepth_;
  bool pure = true;
  for (const auto& o : evaluated->ops) {
    pure = pure && !o->has(Trait::HasSideEffect) && !o->has(Trait::CanFault) && !o->has(Trait::Control);
  }
  const bool scalar = right.is(Kind::Bool) || (right.is(Kind::Tensor) && right.tensor->type.shape.empty() &&
                                               right.tensor->type.dtype == ir::DType::Bool);
  if (pure || !scalar) {
    while (!evaluated->ops.empty()) evaluated->ops.front()->moveBefore(op);
    op->erase();
    at(e.span);
    return binary(e.text, left, right, e.span, e.opSpan);
  }
  ir::Value* value = nullptr;
  inRegion(evaluated, [&] { value = tensorOf(right); });
  ir::Value* constant = nullptr;
  inRegion(decided, [&] { constant = boolConstant(!isAnd); });
  yield(evaluated, {value});
  yield(decided, {constant});
  at(e.span);
  return Val::ofTensor(op->addResult({ir::DType::Bool, {}, {}}), e.span);
}

Val Lowering::evalMember(const ast::Expr& e) {
  if (foreignPrefix(e)) return Val::none();
  Val base = eval(*e.args[0]);
  return fieldOf(base, e.text, e.opSpan);
}

Val Lowering::fieldOf(const Val& base, std::string_view name, Span span) {
  const std::string text(name);
  switch (base.kind) {
    case Kind::Poison: return Val::none();
    case Kind::Module: {
      if (auto v = lookupGlobal(*base.module, name, span)) return *v;
      std::vector<std::string> names;
      for (const auto& [n, s] : base.module->declared) names.push_back(n);
      for (const auto& [n, f] : base.module->functions) names.push_back(n);
      auto d = error(Code::E0206, span, "module `" + base.module->name + "` has no `" + text + "`");
      const std::string layer = text + "_layer";
      if (std::find(names.begin(), names.end(), layer) != names.end())
        d.help("`" + layer + "` makes the layer; the operation stands without a prefix", {{span, layer}});
      else if (const std::string near = nearest(name, names); !near.empty())
        d.help("did you mean `" + near + "`?", {{span, near}});
      else if (const syntax::Familiar* known = syntax::familiarName(text); known && !known->help.empty())
        d.help(std::string(known->help));
      return Val::none();
    }
    case Kind::Struct: {
      std::vector<std::string> names;
      const auto& fields = base.info->decl->stmt->fields;
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].name.text == name) return base.elems[i];
        names.push_back(fields[i].name.text);
      }
      if (auto v = memberOfTensor(*this, base, name, span)) return *v;
      const auto method = lookupGlobal(*base.info->decl->unit, text, span);
      auto d = error(Code::E0206, span, describe(base) + " has no field `" + text + "`");
      if (method && method->is(Kind::Function))
        d.help("a method is called: `." + text + "(...)`, in a pipe too; as a value it is `|x| m." + text + "(x)`");
      else if (std::string near = nearest(name, names); !near.empty())
        d.help("did you mean `" + near + "`?", {{span, near}});
      return Val::none();
    }
    case Kind::Tuple:
    case Kind::Pack:
      if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0]))) {
        const size_t i = text.size() > 6 ? base.elems.size() : std::stoul(text);
        if (i < base.elems.size()) return base.elems[i];
        return fail(Code::E0206, span,
                    "there are " + std::to_string(base.elems.size()) + " elements, and no element " + text);
      }
      break;
    default: break;
  }
  Val settled = base.isNumber() || base.is(Kind::Array) || base.is(Kind::Bool) ? materialise(base) : base;
  if (settled.poison()) return settled;
  if (auto v = memberOfTensor(*this, settled, name, span)) return *v;
  auto d = error(Code::E0206, span, describe(base) + " has no member `" + text + "`");
  if (settled.is(Kind::Tensor))
    suggest(d, text, span, {"shape", "ndim", "size", "dtype", "device", "T"}, syntax::familiarName(text));
  else if (const syntax::Familiar* known = syntax::familiarName(text); known && !known->ofTree.empty())
    d.note(std::string(known->ofTree));
  return Val::none();
}

std::optional<size_t> Lowering::listIndex(const Val& list, const ast::Expr& index) {
  if (index.subscripts.size() != 1 || index.subscripts[0].kind != ast::Subscript::Kind::Index) {
    fail(Code::E0203, index.span, "a list or tuple takes one integer as its index");
    return std::nullopt;
  }
  const Val at = eval(*index.subscripts[0].index);
  if (at.is(Val::Kind::Tensor)) {
    error(Code::E0111, index.subscripts[0].span,
          "the index of a list or tuple must be known while compiling, but this is a run-time value")
        .note("literals, `const`s, `param`s, dims and arithmetic over them are known while compiling; a `var` is not")
        .help(
            "elements may be of different types: `for i in static 0..n` and `enumerate(xs)` have an index that is "
            "known");
    return std::nullopt;
  }
  auto i = constInt(at, "the index of a list or tuple");
  if (!i) return std::nullopt;
  const auto n = static_cast<int64_t>(list.elems.size());
  if (*i < -n || *i >= n) {
    fail(Code::E0205, index.subscripts[0].span,
         "index " + std::to_string(*i) + " is out of range for " + std::to_string(n) + " elements");
    return std::nullopt;
  }
  return static_cast<size_t>(*i < 0 ? *i + n : *i);
}

Val Lowering::elementOf(const Val& list, const ast::Expr& e) {
  if (e.subscripts.size() == 1 && e.subscripts[0].kind == ast::Subscript::Kind::Slice) {
    const ast::Subscript& s = e.subscripts[0];
    const auto n = static_cast<int64_t>(list.elems.size());
    auto bound = [&](const ast::ExprPtr& x, int64_t otherwise) -> std::optional<int64_t> {
      if (!x) return otherwise;
      auto i = constInt(eval(*x), "a slice bound");
      if (!i) return std::nullopt;
      return std::clamp(*i < 0 ? *i + n : *i, int64_t{0}, n);
    };
    auto lo = bound(s.lo, 0), hi = bound(s.hi, n);
    if (s.step) return fail(Code::E0203, s.span, "a slice of a list or shape takes no step");
    if (!lo || !hi) return Val::none();
    Val r = list;
    r.elems.clear();
    for (int64_t i = *lo; i < *hi; ++i) r.elems.push_back(list.elems[static_cast<size_t>(i)]);
    return r;
  }
  auto i = listIndex(list, e);
  return i ? list.elems[*i] : Val::none();
}

namespace {
/// What all numbers, bools or texts in a nest of arrays are; nothing where they differ.
std::optional<Val::Kind> kindOfAll(const Val& v) {
  if (!v.is(Kind::Array)) return v.kind;
  std::optional<Val::Kind> all;
  for (const Val& e : v.elems) {
    const auto kind = kindOfAll(e);
    if (!kind || (all && *all != *kind)) return std::nullopt;
    all = kind;
  }
  return all;
}
}  // namespace

Val Lowering::knownElement(const Val& base, const ast::Expr& e) {
  if (e.subscripts.size() != 1 || e.subscripts[0].kind != ast::Subscript::Kind::Index) return Val::unit();
  Val list = literalInts(base);
  const bool literal = base.is(Kind::Array);
  if (list.is(Kind::Tuple)) list.kind = Kind::Array;
  if (const auto kind = kindOfAll(list);
      kind != Kind::Int && kind != Kind::Float && kind != Kind::Bool && kind != Kind::String) {
    return Val::unit();
  }
  const ast::Expr& index = *e.subscripts[0].index;
  const Val at = eval(index);
  if (at.poison()) return at;
  const auto n = static_cast<Int>(list.elems.size());
  if (at.is(Kind::Int) && at.integer >= -n && at.integer < n) {
    Val v = list.elems[static_cast<size_t>(at.integer < 0 ? at.integer + n : at.integer)];
    v.adopts = v.adopts && literal;
    return v;
  }
  evaluated_[&index] = at;
  return Val::unit();
}

Val Lowering::evalIndex(const ast::Expr& e) {
  const ast::Expr& of = *e.args[0];
  if (of.kind == ExprKind::Name && of.text != ir::DeviceTable::kHost && ir::DeviceTable::isKind(of.text) &&
      !findLocal(of.text) && e.subscripts.size() == 1 && e.subscripts[0].index) {
    auto i = constInt(eval(*e.subscripts[0].index), "a device number");
    if (!i) return Val::none();
    DeviceRef d;
    d.name = of.text + ":" + std::to_string(*i);
    return Val::ofDevice(d, e.span);
  }
  Val base = eval(of);
  switch (base.kind) {
    case Kind::Poison: return Val::none();
    case Kind::List:
    case Kind::Tuple:
    case Kind::Pack:
    case Kind::Sequence: return elementOf(base, e);
    case Kind::Array:
    case Kind::Tensor: {
      const Val known = knownElement(base, e);
      if (!known.is(Kind::Unit)) return known;
      base = settle(base);
      if (base.poison()) return base;
      const Val r = base.is(Kind::List) ? elementOf(base, e) : indexExpr(*this, base, e);
      if (!e.subscripts.empty()) evaluated_.erase(e.subscripts[0].index.get());
      return r;
    }
    case Kind::Int:
    case Kind::Float:
    case Kind::Bool: {
      using Part = ast::Subscript::Kind;
      const bool elements = std::any_of(e.subscripts.begin(), e.subscripts.end(), [](const ast::Subscript& s) {
        return s.kind != Part::New && s.kind != Part::Ellipsis;
      });
      if (elements) break;
      base = materialise(base);
      return base.poison() ? base : indexExpr(*this, base, e);
    }
    default: break;
  }
  return fail(Code::E0203, e.span, describe(base) + " takes no index");
}

Val Lowering::evalStruct(const ast::Expr& e, const Ty* expected) {
  const ast::Expr* callee = e.args[0].get();
  const ast::Expr* given = nullptr;
  if (callee->kind == ExprKind::Index) {
    given = callee;
    callee = callee->args[0].get();
  }
  Val type = eval(*callee);
  if (type.poison()) return type;
  if (given && callee->kind == ExprKind::Name) {
    if (Val alias = aliasWith(*given, *callee); !alias.is(Kind::Unit)) {
      if (alias.poison()) return alias;
      type = alias;
      given = nullptr;
    }
  }
  if (!type.is(Kind::Type) || type.type->kind != Ty::Kind::Struct || !type.type->info) {
    return fail(Code::E0203, callee->span, "a struct is expected before `{`, not " + describe(type));
  }
  const StructDecl& decl = *type.type->info->decl;
  const auto& declared = decl.stmt->fields;
  const std::string& name = decl.stmt->name.text;
  Generics g = structGenerics(decl);
  for (const auto& [generic, arg] : type.type->info->args) g.bound[generic] = arg;  // an alias gives them
  if (given) {
    std::vector<Val> arguments;
    for (size_t i = 0; i < given->subscripts.size(); ++i) {
      const ast::Subscript& s = given->subscripts[i];
      if (s.kind != ast::Subscript::Kind::Index || !s.index)
        return fail(Code::E0203, s.span, "a type argument is expected");
      Val v = eval(*s.index);
      if (v.poison()) return v;
      if (v.is(Kind::Tensor)) {
        return fail(Code::E0111, s.span, "a type argument must be known while compiling, but this is a run-time value");
      }
      if (v.is(Kind::Int)) v = Val::ofInt(v.integer, v.span);  // a dim, whatever it was computed from
      if (v.is(Kind::Float) || v.is(Kind::Bool) || v.is(Kind::String) || v.is(Kind::Format))
        return fail(Code::E0203, s.span, "a type argument is a dim, a dtype, a device or a type, not " + describe(v));
      arguments.push_back(std::move(v));
    }
    const auto shares = shareArguments(decl, arguments.size(), given->span, [&](size_t i) {
      return arguments[i].is(Kind::Int) || arguments[i].is(Kind::Pack);
    });
    if (!shares) return Val::none();
    for (size_t i = 0; i < shares->size(); ++i) {
      const auto [first, last] = (*shares)[i];
      const ast::Generic& generic = decl.stmt->generics[i];
      if (first == last) continue;
      if (generic.pack) {
        std::vector<Val> dims(arguments.begin() + static_cast<std::ptrdiff_t>(first),
                              arguments.begin() + static_cast<std::ptrdiff_t>(last));
        const auto pack = constInts(Val::ofTuple(std::move(dims), given->span), "a shape pack");
        if (!pack) return Val::none();
        g.bound[generic.name.text] = Val::ofPack(*pack, given->span);
      } else {
        g.bound[generic.name.text] = arguments[first];
      }
    }
  }
  if (expected && expected->kind == Ty::Kind::Struct && expected->info && expected->info->decl == &decl) {
    for (const auto& [generic, arg] : expected->info->args) {
      if (arg.is(Kind::DType)) g.bound.emplace(generic, arg);
    }
  }
  std::vector<Val> fields(declared.size());
  std::vector<bool> seen(declared.size());
  bool ok = true;
  for (const ast::FieldInit& init : e.fields) {
    size_t i = 0;
    while (i < declared.size() && declared[i].name.text != init.name.text) ++i;
    if (i == declared.size()) {
      std::vector<std::string> names;
      for (const auto& f : declared) names.push_back(f.name.text);
      auto d = error(Code::E0206, init.name.span, "`" + name + "` has no field `" + init.name.text + "`");
      if (std::string near = nearest(init.name.text, names); !near.empty()) {
        d.help("did you mean `" + near + "`?", {{init.name.span, near}});
      }
      if (init.value) eval(*init.value);
      ok = false;
      continue;
    }
    if (seen[i]) {
      fail(Code::E0103, init.name.span, "the field `" + init.name.text + "` is given twice");
      ok = false;
      continue;
    }
    seen[i] = true;
    Ty hint;
    if (declared[i].type) hint = resolve(*declared[i].type, g);
    fields[i] = init.value ? eval(*init.value, &hint) : Val::none();
    ok = ok && !fields[i].poison();
  }
  for (size_t i = 0; ok && i < declared.size(); ++i) {
    if (seen[i]) continue;
    fail(Code::E0204, e.span, "the field `" + declared[i].name.text + "` of `" + name + "` is missing");
    ok = false;
  }
  return ok ? makeStruct(decl, g, std::move(fields), e.span) : Val::none();
}

Val Lowering::evalLambda(const ast::Expr& e) {
  auto f = std::make_shared<FnValue>();
  f->kind = FnValue::Kind::Lambda;
  f->name = "|...|";
  f->lambda = &e;
  f->unit = frame().unit;
  f->id = nextId_++;
  f->writtenIn = annotationAround();
  if (e.body) {
    for (const std::string& name : namesIn(*e.body)) {
      if (Binding* local = findLocal(name)) f->captures.emplace_back(name, local->value);
    }
  }
  return Val::ofFunction(std::move(f), e.span);
}

Val Lowering::evalBlockExpr(const ast::Expr& e, const Ty* expected) {
  if (exitsOf(e).any()) return fail(Code::E0108, e.span, "an exit inside an expression; make the block a statement");
  static const Statements kNothing;
  Boundary here;
  here.kind = Boundary::Kind::Expression;
  Boundary* outer = std::exchange(boundary_, &here);
  std::set<std::string> assigned;
  assignedNames(e.blocks[0], assigned);
  const Tail none{&kNothing, 0, nullptr, frame().scopes.size(), true};
  Flow f = lowerPlaced(e.annotations, 0, assigned, none,
                       [&](const Tail& t) { return lowerBlock(e.blocks[0], &t, expected); });
  boundary_ = outer;
  return f.value;
}

Val Lowering::evalIf(const ast::Expr& e, const Ty* expected) {
  if (exitsOf(e).any()) return fail(Code::E0108, e.span, "an exit inside an expression; make the `if` a statement");
  static const Statements kNothing;
  Boundary here;
  here.kind = Boundary::Kind::Expression;
  Boundary* outer = std::exchange(boundary_, &here);
  const Tail none{&kNothing, 0, nullptr, frame().scopes.size(), true};
  Flow f = lowerIf(e, 0, none, expected);
  boundary_ = outer;
  if (e.blocks.size() == e.args.size() && !f.value.poison() && !f.value.is(Kind::Unit)) f.value = Val::unit(e.span);
  return f.value;
}

}  // namespace tenc::frontend
