// What calls give in Python: of the script's functions, of Python's own, of libraries and methods.
#include <algorithm>
#include <array>
#include <cctype>

#include "frontend/builtins/BuiltinNames.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/PythonFlow.h"
#include "frontend/habits/PythonSums.h"
#include "frontend/names/Scan.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using K = PythonKinds;

constexpr K kWhole = K::List | K::Tuple;
constexpr K kNumbers = K::Int | K::Number;
constexpr K kBool = K::Int | K::Bool;

template <size_t N>
bool isIn(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Python's own modules of numbers.
bool isNumberModule(const ast::Expr& root) {
  return root.kind == ExprKind::Name && (root.text == "math" || root.text == "random" || root.text == "time");
}

/// Whether an argument is of TL alone, so that an edit has written the call.
bool isOfTL(const ast::Expr& call) {
  return std::ranges::any_of(call.arguments, [](const ast::Argument& a) { return a.name && a.name->text == "axis"; });
}

}  // namespace

size_t PythonFlow::Given::inOrder() const {
  return static_cast<size_t>(std::ranges::count_if(*arguments, [](const ast::Argument& a) { return !a.name; }));
}

PythonValue PythonFlow::evalCall(const ast::Expr& e) {
  const ast::Expr& callee = *e.args[0];
  Given given{{}, &e.arguments};
  const bool seeks = callee.kind == ExprKind::Name && (callee.text == "any" || callee.text == "all") &&
                     e.arguments.size() == 1 && e.arguments[0].value &&
                     e.arguments[0].value->kind == ExprKind::Binary &&
                     (e.arguments[0].value->text == "==" || e.arguments[0].value->text == "!=");
  if (seeks) {  // what an edit writes for `x in xs`
    const ast::Expr& compared = *e.arguments[0].value;
    note(compared.text, eval(*compared.args[0]), eval(*compared.args[1]), e.span, true);
    return {kBool};
  }
  for (const ast::Argument& a : e.arguments) given.values.push_back(a.value ? eval(*a.value) : PythonValue());
  if (callee.kind == ExprKind::Member) {
    const ast::Expr& root = rootOfMember(callee);
    const bool isBound = root.kind == ExprKind::Name && !lookUp(root.text).is.none();
    if (!isBound && (isLibrary(root) || isNumberModule(root))) return callLibrary(e, given);
    return callMethod(e, eval(*callee.args[0]), given);
  }
  const PythonValue f = callee.kind == ExprKind::Name ? lookUp(callee.text) : eval(callee);
  if (!f.functions.empty() || !f.is.none()) {
    PythonValue value = callOwn(f, given);
    if (f.mayBe(K::Unknown) || (f.mayBe(K::Other) && f.functions.empty())) {  // an object, or what is not known
      if (const auto calls = methods_.find("call"); calls != methods_.end())
        value.join(callOwn({K::Other, {}, {}, calls->second}, given, &f));
      for (const PythonValue& v : given.values) escape(v);
      value.join({K::Unknown});
    }
    return value;
  }
  bool known = false;
  PythonValue value = callee.kind == ExprKind::Name ? callPython(e, given, known) : PythonValue{K::Unknown};
  if (!known)
    for (const PythonValue& v : given.values) escape(v);
  return value;
}

/// What is called that nothing is known of may be called with anything.
void PythonFlow::escape(const PythonValue& value) {
  for (const size_t id : value.functions)
    for (PythonValue& p : callables_[id].params) grow(p, {K::Unknown});
}

PythonValue PythonFlow::callOwn(const PythonValue& callee, const Given& given, const PythonValue* receiver) {
  PythonValue value;
  for (const size_t id : callee.functions) {
    Callable& f = callables_[id];
    if (receiver && !f.params.empty()) grow(f.params[0], *receiver);
    size_t at = receiver ? 1 : 0;
    for (size_t i = 0; i < given.values.size(); ++i) {
      const ast::Argument& a = (*given.arguments)[i];
      size_t to = a.name ? f.params.size() : at++;
      for (size_t k = 0; a.name && k < f.names.size(); ++k)
        if (f.names[k] == a.name->text) to = k;
      if (to < f.params.size()) grow(f.params[to], given.values[i]);
    }
    value.join(f.result);
  }
  return value;
}

PythonValue PythonFlow::each(const PythonValue& function, const PythonValue& element) {
  const std::vector<ast::Argument> one(1);
  if (function.functions.empty()) return {K::Unknown};
  return callOwn(function, Given{{element}, &one});
}

PythonValue PythonFlow::callPython(const ast::Expr& e, const Given& given, bool& known) {
  constexpr std::array kInts = std::to_array<std::string_view>({"hash", "i64", "i32", "id", "int", "len", "ord"});
  constexpr std::array kBools = std::to_array<std::string_view>({"all", "any", "bool", "isinstance"});
  constexpr std::array kTexts = std::to_array<std::string_view>({"chr", "input", "print", "repr", "str", "type"});
  const std::string& name = e.args[0]->text;
  const PythonValue first = given.first();
  known = true;
  if (isIn(kInts, name)) return {K::Int};
  if (isIn(kBools, name)) return {kBool};
  if (name.starts_with("bitwise_")) {  // as edits write `&` and `~`
    if (name == "bitwise_invert") negated_[&e] = negated_[&e] | first.is;
    PythonValue all;
    for (const PythonValue& v : given.values) all.join({v.is & (kBool | K::Array | K::Unknown)});
    return name == "bitwise_invert" ? PythonValue{all.is & (K::Int | K::Array | K::Unknown)} : all;
  }
  if (isIn(kTexts, name)) return {K::Other};
  if (name == "float") return {K::Number};
  if (name == "f32" || name == "f64") return {first.is & (kNumbers | K::Array | K::Unknown)};
  if (name == "abs") return {first.is & (kNumbers | K::Array | K::Unknown)};
  if (name == "round") {
    const bool whole = given.values.size() == 1;
    return {(first.is & (K::Array | K::Unknown)) | (first.mayBe(kNumbers) ? whole ? K::Int : kNumbers : K())};
  }
  if (name == "pow" && given.values.size() > 1) return arithmetic("**", first, given.values[1]);
  if (name == "divmod") return {K::Tuple, kNumbers | (first.is & K::Array)};
  if (name == "range") return {K::Other, K::Int};
  if (name == "list" || name == "tuple" || name == "sorted" || name == "reversed") {
    if (given.values.empty()) return {name == "tuple" ? K::Tuple : K::List};
    const PythonValue element = first.element();
    if (name == "sorted" && first.mayBe(kWhole) && element.mayBe(kWhole) && !found_.valid()) found_ = e.span;
    return element.in(name == "tuple" ? K::Tuple : K::List);
  }
  if (name == "enumerate") return joined(first.element(), {K::Int}).in(K::Tuple).in(K::Other);
  if (name == "zip") {
    PythonValue element;
    for (const PythonValue& v : given.values) element.join(v.element());
    return element.in(K::Tuple).in(K::Other);
  }
  if ((name == "map" || name == "filter") && given.values.size() > 1) {
    const PythonValue element = given.values[1].element();
    const PythonValue made = each(first, element);
    return (name == "map" ? made : element).in(K::List);
  }
  if (name == "tabulate" && given.values.size() > 1) return each(given.values[1], {K::Int}).in(K::List);
  if (name == "max" || name == "min") {
    const bool several = given.inOrder() > 1;
    const auto isWhole = [](const PythonValue& v) { return v.mayBe(kWhole); };
    const bool ofWhole =
        several ? std::ranges::count_if(given.values, isWhole) > 1 : first.mayBe(kWhole) && first.elements.any(kWhole);
    if (ofWhole && !isOfTL(e) && !found_.valid()) found_ = e.span;
    if (!several) return first.element();
    PythonValue all;
    for (const PythonValue& v : given.values) all.join(v);
    return all;
  }
  if (name == "sum") {
    const bool starts = given.values.size() > 1 && given.values[1].mayBe(kWhole);
    if (starts && !isOfTL(e) && !found_.valid()) found_ = e.span;
    return joined(first.element(), given.values.size() > 1 ? given.values[1] : PythonValue{K::Int});
  }
  known = false;
  return {isBuiltin(name) ? K::Array : K::Unknown};
}

PythonValue PythonFlow::callLibrary(const ast::Expr& e, const Given& given) {
  constexpr std::array kWholeNumbers =
      std::to_array<std::string_view>({"ceil", "comb", "factorial", "floor", "gcd", "getrandbits", "isqrt", "lcm",
                                       "perm", "prod", "randint", "randrange", "trunc"});
  const ast::Expr& callee = *e.args[0];
  const std::string& name = callee.text;
  const ast::Expr& root = rootOfMember(callee);
  for (const PythonValue& v : given.values) escape(v);
  if (isNumberModule(root)) {
    if (isIn(kWholeNumbers, name)) return {K::Int};
    if (name == "choice") return given.first().element();
    if (name == "sample" || name == "choices") return given.first().element().in(K::List);
    return {K::Number};
  }
  if (name == "deepcopy") return given.first();
  constexpr std::array kTorchBools =
      std::to_array<std::string_view>({"allclose", "equal", "is_floating_point", "is_tensor"});
  if (root.text == "torch" ? isIn(kTorchBools, name) : name == "allclose" || name == "array_equal")
    return {root.text == "torch" || root.text == "np" || root.text == "numpy" ? kBool : K(K::Array)};
  if (name == "shape") return {K::Tuple, K::Int};
  if (name == "ndim" || name == "size" || name == "int64" || name == "int32") return {K::Int};
  if (syntax::givesListOfArrays(name)) return {kWhole, K::Array};
  if (!name.empty() && std::isupper(static_cast<unsigned char>(name[0])) != 0) return {K::Other};  // a layer
  return {syntax::givesNumberOfArray(name) ? K::Array | K::Int : K::Array};
}

PythonValue PythonFlow::callMethod(const ast::Expr& e, const PythonValue& receiver, const Given& given) {
  const ast::Expr& callee = *e.args[0];
  const std::string& name = callee.text;
  PythonValue own;
  if (const auto methods = methods_.find(name); methods != methods_.end())
    own = callOwn({K::Other, {}, {}, methods->second}, given, &receiver);
  const auto field = fields_.find(name);
  if (field != fields_.end() && !field->second.functions.empty()) own.join(callOwn(field->second, given));
  if (!own.is.none() && receiver.is.only(K::Other)) return own;
  for (const PythonValue& v : given.values) escape(v);
  const PythonValue first = given.first();
  const auto also = [&](const PythonValue& v) { return joined(own, v); };
  if (name == "append" || name == "add" || name == "insert") {
    if (!given.values.empty()) addElement(*callee.args[0], given.values.back());
    return also({K::Other});
  }
  if (name == "extend") {
    addElement(*callee.args[0], first.element());
    return also({K::Other});
  }
  if (syntax::isInPlaceElsewhere(name) && receiver.mayBe(kWhole) && receiver.elements.any(kWhole) && !found_.valid())
    found_ = e.span;  // compares whole rows
  if (name == "tolist") {
    const int dims = mostDims(file_, *callee.args[0]);
    const PythonValue numbers{kNumbers | kBool};
    if (dims == 0) return also(numbers);
    return also(dims > 1 ? joined(numbers.in(K::List), numbers).in(K::List) : numbers.in(K::List));
  }
  if (name == "copy" || name == "clone" || name == "detach" || name == "cpu" || name == "to") return also(receiver);
  if (name == "pop") return also(receiver.element());
  if (name == "index" || name == "count" || name == "numel" || name == "nelement" || name == "dim")
    return also({K::Int});
  if (name == "size") return also(given.values.empty() ? PythonValue{K::Tuple, K::Int} : PythonValue{K::Int});
  if (name == "item") return also({kNumbers | kBool});
  if (syntax::givesListOfArrays(name)) return also({kWhole, K::Array | K::Other});
  const bool ofArrays = isBuiltin(name) || syntax::isMethodOfArrays(name);
  if (syntax::givesNumberOfArray(name)) return also({K::Array | K::Int});
  return also({ofArrays ? K::Array : K::Unknown});
}

}  // namespace tenc::frontend
