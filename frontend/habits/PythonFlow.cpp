#include "frontend/habits/PythonFlow.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontend/habits/ListArithmetic.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;
using K = PythonKinds;

constexpr K kWhole = K::List | K::Tuple;
constexpr K kNumbers = K::Int | K::Number;
constexpr K kBool = K::Int | K::Bool;

bool isComparison(std::string_view op) {
  constexpr std::array kAll = std::to_array<std::string_view>({"==", "!=", "<", ">", "<=", ">="});
  return std::ranges::find(kAll, op) != kAll.end();
}

/// Whether nothing that follows the statements is reached behind them.
bool leaves(const ast::Block& b) {
  const ast::Stmt* last = b.statements.empty() ? nullptr : b.statements.back().get();
  return last && (last->kind == StmtKind::Return || last->kind == StmtKind::Break || last->kind == StmtKind::Continue);
}

bool mayBeLeft(const ast::Stmt& loop) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    found = found || s.kind == StmtKind::Break || s.kind == StmtKind::Continue;
  };
  visitor.visit(loop.body);
  return found;
}

/// What a function gives at its end; null for nothing.
const ast::Expr* resultOf(const ast::Stmt& fn) {
  if (fn.bodyIsExpr) return fn.value.get();
  const ast::Stmt* last = fn.body.statements.empty() ? nullptr : fn.body.statements.back().get();
  return last && last->kind == StmtKind::Expr ? last->value.get() : nullptr;
}

/// What is a tensor once `let` has bound it, with all that it holds: `a[0]` of `[[1.0, 2.0]]` is no list.
PythonValue asTensors(PythonValue v) {
  const auto tensors = [](PythonKinds kinds) {
    return kinds.any(kWhole) ? (kinds & (kNumbers | K::Other | K::Unknown)) | K::Array : kinds;
  };
  if (v.mayBe(kWhole)) v.is = K::Array;
  v.elements = tensors(v.elements);
  v.inner = tensors(v.inner);
  return v;
}

}  // namespace

PythonFlow::PythonFlow(const ast::File& file, bool ofPython) : file_(file), ofPython_(ofPython) {
  addFunctions();
  do {
    grew_ = false;
    found_ = {};
    env_.clear();
    runScript();
  } while (grew_);
}

const PythonValue& PythonFlow::everything(const std::string& name) const {
  static const PythonValue kNothing;
  const auto found = everything_.find(name);
  return found == everything_.end() ? kNothing : found->second;
}

void PythonFlow::addFunctions() {
  for (const ast::StmtPtr& s : file_.statements) {
    if (!s || s->kind != StmtKind::Fn) continue;
    Callable made;
    for (const ast::FnParam& p : s->params) made.names.push_back(p.name.text);
    made.params.resize(made.names.size());
    const size_t id = callables_.size();
    ids_.emplace(s.get(), id);
    // `Net(3)` will be called by the name of what makes one.
    if (const ast::Expr* result = resultOf(*s); result && result->kind == ExprKind::Struct)
      functions_[result->args[0]->text].insert(id);
    functions_[s->name.text].insert(id);
    if (!s->params.empty() && s->params[0].type) methods_[s->name.text].insert(id);
    callables_.push_back(std::move(made));
  }
  for (const ast::StmtPtr& s : file_.statements)
    if (s && s->kind == StmtKind::Struct)
      for (const ast::Field& f : s->fields) fields_[f.name.text];
}

void PythonFlow::runScript() {
  for (const ast::StmtPtr& s : file_.statements)
    if (s && s->kind != StmtKind::Fn) run(*s);
  for (const ast::StmtPtr& s : file_.statements)
    if (s && s->kind == StmtKind::Fn) runFunction(*s);
}

void PythonFlow::runFunction(const ast::Stmt& fn) {
  const size_t id = ids_.at(&fn);
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const ast::FnParam& p = fn.params[i];
    if (p.otherwise) grow(callables_[id].params[i], eval(*p.otherwise));
  }
  Env outside = std::exchange(env_, {});
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const ast::TypeExpr* type = fn.params[i].type.get();
    const bool isTensor = type && type->hasArgs && !fields_.contains(fn.params[i].name.text) && i > 0;
    assign(fn.params[i].name.text, isTensor ? PythonValue{K::Array} : callables_[id].params[i]);
  }
  around_.push_back(id);
  PythonValue result;
  if (fn.bodyIsExpr && fn.value)
    result = eval(*fn.value);
  else
    run(fn.body, &result);
  around_.pop_back();
  grow(callables_[id].result, result);
  env_ = std::move(outside);
}

void PythonFlow::run(const ast::Block& block, PythonValue* value) {
  for (const ast::StmtPtr& s : block.statements) {
    if (!s) continue;
    const bool isLast = value && s == block.statements.back() && s->kind == StmtKind::Expr && s->value;
    if (isLast)
      *value = eval(*s->value);
    else
      run(*s);
  }
}

void PythonFlow::run(const ast::Stmt& s) {
  switch (s.kind) {
    case StmtKind::Const:
    case StmtKind::Param:
      if (s.value) assign(s.name.text, asTensors(eval(*s.value)));
      return;
    case StmtKind::Let:
    case StmtKind::Var: {
      const PythonValue value = s.value ? eval(*s.value) : PythonValue{K::Unknown};
      return bind(s.pattern, ofPython_ ? value : asTensors(value));
    }
    case StmtKind::Assign: return runAssignment(s);
    case StmtKind::For: return runFor(s);
    case StmtKind::While:
      return runLoop(s, [&] {
        if (s.lo) eval(*s.lo);
        run(s.body);
      });
    case StmtKind::Return: {
      const PythonValue value = s.value ? eval(*s.value) : PythonValue{K::Other};
      if (!around_.empty()) grow(callables_[around_.back()].result, value);
      return;
    }
    case StmtKind::Test:
    case StmtKind::Bench: run(s.body); return;
    case StmtKind::Assert:
    case StmtKind::Expr:
      if (s.value) eval(*s.value);
      if (s.message) eval(*s.message);
      return;
    default: return;
  }
}

void PythonFlow::runFor(const ast::Stmt& s) {
  if (s.hi) {
    for (const ast::Expr* e : {s.lo.get(), s.hi.get(), s.by.get()})
      if (e) eval(*e);
    return runLoop(s, [&] {
      bind(s.pattern, {K::Int});
      run(s.body);
    });
  }
  const PythonValue over = s.lo ? eval(*s.lo) : PythonValue();
  // Of what `enumerate` and `zip` give, each name has elements of its own.
  const ast::Expr* call = s.lo && s.lo->kind == ExprKind::Call && s.pattern.isTuple ? s.lo.get() : nullptr;
  const bool counts = call && call->args[0]->text == "enumerate", together = call && call->args[0]->text == "zip";
  runLoop(s, [&] {
    if (counts || together) {
      for (size_t i = 0; i < s.pattern.elements.size(); ++i) {
        const bool number = counts && i == 0;
        const size_t from = counts ? 0 : i;
        const ast::Expr* of = from < call->arguments.size() ? call->arguments[from].value.get() : nullptr;
        bind(s.pattern.elements[i], number ? PythonValue{K::Int} : of ? eval(*of).element() : PythonValue{K::Unknown});
      }
    } else {
      bind(s.pattern, over.element());
    }
    run(s.body);
  });
}

void PythonFlow::runLoop(const ast::Stmt& s, const std::function<void()>& trip) {
  Env assigned;
  const bool left = mayBeLeft(s);
  for (bool more = true; more;) {
    if (left) exits_.push_back(&assigned);
    const Env changes = changesOf(trip);
    if (left) exits_.pop_back();
    more = false;
    for (const Env* all : {&changes, std::as_const(assigned).empty() ? nullptr : &std::as_const(assigned)}) {
      if (!all) continue;
      for (const auto& [name, value] : *all) {
        PythonValue now = env_.contains(name) ? env_[name] : PythonValue();
        if (!now.join(value)) continue;
        assign(name, now);
        more = true;
      }
    }
  }
}

PythonFlow::Env PythonFlow::changesOf(const std::function<void()>& way) {
  Branch branch;
  branches_.push_back(&branch);
  way();
  branches_.pop_back();
  Env changes;
  for (auto& [name, before] : branch.before) {
    changes[name] = std::move(env_[name]);
    if (before.is.none() && before.functions.empty())
      env_.erase(name);
    else
      env_[name] = std::move(before);
  }
  return changes;
}

void PythonFlow::assign(const std::string& name, const PythonValue& value) {
  if (name.empty()) return;
  PythonValue& now = env_[name];
  if (!branches_.empty()) branches_.back()->before.try_emplace(name, now);
  now = value;
  grow(everything_[name], value);
  for (Env* assigned : exits_) (*assigned)[name].join(value);
}

void PythonFlow::bind(const ast::Pattern& pattern, const PythonValue& value) {
  if (!pattern.isTuple) return assign(pattern.name.text, value);
  for (const ast::Pattern& part : pattern.elements) bind(part, value.element());
}

void PythonFlow::bindTarget(const ast::Expr& target, const PythonValue& value) {
  switch (target.kind) {
    case ExprKind::Name: return assign(target.text, value);
    case ExprKind::Tuple:
    case ExprKind::Array:
      for (const ast::ExprPtr& part : target.args)
        if (part) bindTarget(*part, value.element());
      return;
    case ExprKind::Member: return grow(fields_[target.text], value);
    case ExprKind::Index: {
      const bool part = std::ranges::any_of(
          target.subscripts, [](const ast::Subscript& s) { return s.kind == ast::Subscript::Kind::Index && s.index; });
      return addElement(*target.args[0], part ? value : value.element());
    }
    default: return;
  }
}

void PythonFlow::addElement(const ast::Expr& place, const PythonValue& element) {
  if (place.kind == ExprKind::Name) {
    PythonValue now = lookUp(place.text);
    if (now.mayBe(kWhole) && now.join({{}, element.is, element.elements | element.inner, element.functions}))
      assign(place.text, now);
  } else if (place.kind == ExprKind::Member) {
    grow(fields_[place.text], {{}, element.is, element.elements | element.inner, element.functions});
  } else if (place.kind == ExprKind::Index) {
    addElement(*place.args[0], element.in(K()));
  }
}

PythonValue PythonFlow::lookUp(const std::string& name) const {
  if (const auto own = env_.find(name); own != env_.end()) return own->second;
  PythonValue value = everything(name);
  if (const auto fn = functions_.find(name); fn != functions_.end()) value.join({K::Other, {}, {}, fn->second});
  return value;
}

void PythonFlow::runAssignment(const ast::Stmt& s) {
  if (!s.target || !s.value) return;
  if (s.op != "=") return changeInPlace(s);
  const bool pairs = s.target->kind == ExprKind::Tuple && s.value->kind == ExprKind::Tuple &&
                     s.target->args.size() == s.value->args.size();
  if (!pairs) {
    written_ = !nameBound(s).empty();
    const PythonValue value = eval(*s.value);
    written_ = false;
    return bindTarget(*s.target, value);
  }
  std::vector<PythonValue> values;
  for (const ast::ExprPtr& part : s.value->args) values.push_back(part ? eval(*part) : PythonValue());
  for (size_t i = 0; i < values.size(); ++i)
    if (s.target->args[i]) bindTarget(*s.target->args[i], values[i]);
}

/// `xs += [3]` adds what it is given to the list, be that an array.
void PythonFlow::changeInPlace(const ast::Stmt& s) {
  const PythonValue old = eval(*s.target), value = eval(*s.value);
  const std::string_view op = std::string_view(s.op).substr(0, s.op.size() - 1);
  const bool extends = op == "+" && old.mayBe(K::List) && value.mayBe(K::List | K::Tuple | K::Array | K::Unknown);
  if (extends && !found_.valid()) found_ = s.span;
  note(op, old, value, s.span, false);
  bindTarget(*s.target, arithmetic(op, old, value));
}

PythonValue PythonFlow::eval(const ast::Expr& e) {
  switch (e.kind) {
    case ExprKind::Int: return {K::Int};
    case ExprKind::Bool: return {kBool};
    case ExprKind::Float: return {K::Number};
    case ExprKind::Name:
      if (boolWritten(e)) return {kBool};
      return e.text == "None" ? PythonValue{K::Other} : lookUp(e.text);
    case ExprKind::Tuple:
    case ExprKind::Array: {
      PythonValue all;
      for (const ast::ExprPtr& part : e.args)
        if (part) all.join(eval(*part));
      return all.in(e.kind == ExprKind::Tuple ? K::Tuple : K::List);
    }
    case ExprKind::Unary: {
      const PythonValue of = eval(*e.args[0]);
      if (e.text == "not") {
        negated_[&e] = negated_[&e] | of.is;
        return {of.is.only(K::Array) ? K::Array : of.is.any(K::Array | K::Unknown) ? K::Int : kBool};
      }
      return {of.is & (kNumbers | K::Array | K::Unknown)};
    }
    case ExprKind::Binary: return evalBinary(e);
    case ExprKind::Member: return evalMember(e);
    case ExprKind::Index: return evalIndex(e);
    case ExprKind::Call: return evalCall(e);
    case ExprKind::If: return evalIf(e);
    case ExprKind::Lambda: return evalLambda(e);
    case ExprKind::Struct:
      for (const ast::FieldInit& f : e.fields)
        if (f.value) grow(fields_[f.name.text], eval(*f.value));
      return {K::Other};
    case ExprKind::Block: {
      PythonValue value;
      for (const ast::Block& b : e.blocks) run(b, &value);
      return value;
    }
    case ExprKind::String:
      for (const ast::StringPiece& p : e.pieces)
        if (p.hole) eval(*p.hole);
      return {K::Other};
    default: return {K::Unknown};
  }
}

PythonValue PythonFlow::evalBinary(const ast::Expr& e) {
  const PythonValue a = eval(*e.args[0]), b = eval(*e.args[1]);
  if (e.text == "and" || e.text == "or") return joined(a, b);
  const bool ofEdits =  // as edits write assertions of arrays
      isComparison(e.text) && e.args[0]->kind == ExprKind::Array && e.args[1]->kind == ExprKind::Array;
  if (!ofEdits && !(written_ && listForm(e))) note(e.text, a, b, e.span, false);
  if (isComparison(e.text)) return compared(a, b);
  return arithmetic(e.text, a, b);
}

PythonValue PythonFlow::compared(const PythonValue& a, const PythonValue& b) {
  if (a.mayBe(K::Array) || b.mayBe(K::Array)) return {K::Array};
  const bool known = !a.is.none() && !b.is.none() && !a.mayBe(K::Unknown) && !b.mayBe(K::Unknown);
  return {known ? kBool : K(K::Int)};
}

PythonValue PythonFlow::arithmetic(std::string_view op, const PythonValue& a, const PythonValue& b) const {
  if (op == "@") return {K::Array};
  PythonValue made;
  const PythonKinds either = a.is | b.is;
  made.is = either & (K::Array | K::Unknown | K::Other);
  if (a.mayBe(kNumbers) && b.mayBe(kNumbers)) {
    if (a.mayBe(K::Int) && b.mayBe(K::Int)) made.is = made.is | (op == "/" ? K::Number : K::Int);
    if (either.any(K::Number)) made.is = made.is | K::Number;
  }
  if (op != "+" && op != "*") return made;
  for (const PythonValue* whole : {&a, &b}) {
    if (!whole->mayBe(kWhole)) continue;
    made.is = made.is | (whole->is & kWhole);
    made.elements = made.elements | whole->elements;
    made.inner = made.inner | whole->inner;
    made.functions.insert(whole->functions.begin(), whole->functions.end());
  }
  return made;
}

void PythonFlow::note(std::string_view op, const PythonValue& a, const PythonValue& b, Span at, bool sought) {
  const auto repeats = [](const PythonValue& whole, const PythonValue& count) {
    return whole.mayBe(kWhole) && count.mayBe(K::Int | K::Unknown);
  };
  const auto meets = [](const PythonValue& x, const PythonValue& y, PythonKinds::Kind whole) {
    return x.mayBe(whole) && y.mayBe(whole | K::Unknown);
  };
  const auto joins = [&](const PythonValue& x, const PythonValue& y) {
    return meets(x, y, K::List) || meets(x, y, K::Tuple);
  };
  // `[1, 2] in rows` becomes `any(rows == [1, 2])`
  const auto isOfRows = [&](const PythonValue& rows, const PythonValue& row) {
    return rows.mayBe(kWhole) && (row.mayBe(kWhole) || (rows.elements.any(kWhole) && row.mayBe(K::Unknown)));
  };
  bool whole = false;
  if (op == "*") whole = repeats(a, b) || repeats(b, a);
  if (op == "+") whole = joins(a, b) || joins(b, a);
  if (isComparison(op)) {
    const bool alone = (a.mayBe(K::List) && b.mayBe(kNumbers)) || (b.mayBe(K::List) && a.mayBe(kNumbers));
    whole = sought ? isOfRows(a, b) || isOfRows(b, a) : meets(a, b, K::List) || meets(b, a, K::List) || alone;
  }
  if (whole && (!found_.valid() || at.begin < found_.begin)) found_ = at;
}

PythonValue PythonFlow::evalIf(const ast::Expr& e) {
  PythonValue value;
  std::vector<Env> ways;
  bool onward = e.blocks.size() == e.args.size();  // none of the conditions may hold
  for (size_t i = 0; i < e.blocks.size(); ++i) {
    if (i < e.args.size() && e.args[i]) eval(*e.args[i]);
    PythonValue of;
    Env changes = changesOf([&] { run(e.blocks[i], &of); });
    value.join(of);
    if (!leaves(e.blocks[i])) ways.push_back(std::move(changes));
  }
  if (onward) ways.emplace_back();
  Env after;
  for (const Env& way : ways)
    for (const auto& [name, unused] : way) after[name];
  for (auto& [name, now] : after) {
    for (const Env& way : ways) {
      const auto changed = way.find(name);
      if (changed != way.end())
        now.join(changed->second);
      else if (const auto old = env_.find(name); old != env_.end())
        now.join(old->second);
    }
    assign(name, now);
  }
  return value;
}

PythonValue PythonFlow::evalLambda(const ast::Expr& e) {
  const auto [known, isNew] = ids_.try_emplace(&e, callables_.size());
  const size_t id = known->second;
  if (isNew) {
    Callable made;
    for (const ast::LambdaParam& p : e.params) made.names.push_back(p.pattern.isTuple ? "" : p.pattern.name.text);
    made.params.resize(e.params.size());
    callables_.push_back(std::move(made));
  }
  around_.push_back(id);
  const bool wasWritten = std::exchange(written_, written_);
  PythonValue result;
  changesOf([&] {
    for (size_t i = 0; i < e.params.size(); ++i) bind(e.params[i].pattern, PythonValue(callables_[id].params[i]));
    if (e.body) result = eval(*e.body);
  });
  written_ = wasWritten;
  around_.pop_back();
  grow(callables_[id].result, result);
  return {K::Other, {}, {}, {id}};
}

PythonValue PythonFlow::evalMember(const ast::Expr& e) {
  const ast::Expr& root = rootOfMember(e);
  const PythonValue base = root.kind == ExprKind::Name && lookUp(root.text).is.none() && &root == e.args[0].get()
                               ? PythonValue()
                               : eval(*e.args[0]);
  const auto field = fields_.find(e.text);
  PythonValue value = field == fields_.end() ? PythonValue() : field->second;
  if (const auto method = methods_.find(e.text); method != methods_.end())
    value.join({K::Other, {}, {}, method->second});
  if (field != fields_.end() && !base.mayBe(K::Array)) return value;
  if (e.text == "shape") return joined(value, {K::Tuple, K::Int});
  if (e.text == "size" || e.text == "ndim") return joined(value, {K::Int});
  if (e.text == "pi" || e.text == "e" || e.text == "inf" || e.text == "nan" || e.text == "tau")
    return joined(value, {K::Number});
  constexpr std::array kArrays = std::to_array<std::string_view>({"T", "data", "flat", "grad", "imag", "mT", "real"});
  if (std::ranges::find(kArrays, std::string_view(e.text)) != kArrays.end()) return joined(value, {K::Array});
  return joined(value, {K::Unknown});
}

PythonValue PythonFlow::evalIndex(const ast::Expr& e) {
  PythonValue base = eval(*e.args[0]);
  size_t parts = 0;
  bool numbers = true;
  for (const ast::Subscript& s : e.subscripts) {
    for (const ast::Expr* x : {s.lo.get(), s.hi.get(), s.step.get(), s.size.get()})
      if (x) eval(*x);
    const PythonValue index = s.index ? eval(*s.index) : PythonValue();
    if (s.kind != ast::Subscript::Kind::Index) continue;
    ++parts;
    numbers = numbers && index.is.only(K::Int | K::Number);
  }
  if (parts == 0) return base;
  PythonValue value = base.element();
  if (base.is.only(K::Array) && !numbers && parts == e.subscripts.size() && parts == 1) value.is = K::Array | K::Int;
  return value;
}

}  // namespace tenc::frontend
