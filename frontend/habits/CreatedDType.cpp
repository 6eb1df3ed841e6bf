#include "frontend/habits/CreatedDType.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "frontend/Context.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Scopes.h"
#include "frontend/names/Unit.h"
#include "ir/Type.h"
#include "syntax/Tokens.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using ir::DType;

/// The dtype of what is written with numbers, as it is without a variable: i64, unless one is a float.
class WrittenNumbers {
 public:
  explicit WrittenNumbers(Scopes& scopes) : scopes_(scopes) {}

  std::optional<DType> dtype(const ast::Expr& e) const {
    switch (e.kind) {
      case ExprKind::Int: return DType::I64;
      case ExprKind::Float: return DType::F32;
      case ExprKind::Unary: return e.text == "-" ? dtype(*e.args[0]) : std::nullopt;
      case ExprKind::Binary: return e.text == "/" ? std::optional(DType::F32) : ofAll(e.args);
      case ExprKind::Array: return ofAll(e.args);
      case ExprKind::Name: return ofName(e);
      default: return std::nullopt;
    }
  }

 private:
  std::optional<DType> ofAll(const std::vector<ast::ExprPtr>& parts) const {
    std::optional<DType> all;
    for (const ast::ExprPtr& part : parts) {
      const auto one = part ? dtype(*part) : std::nullopt;
      if (!one) return std::nullopt;
      if (!all || *one == DType::F32) all = one;
    }
    return all;
  }
  std::optional<DType> ofName(const ast::Expr& name) const {
    const Binding* bound = scopes_.find(name.span);
    if (!bound) return std::nullopt;
    const Val& v = bound->value;
    if (v.is(Val::Kind::Int)) return DType::I64;
    const bool number = v.is(Val::Kind::Tensor) && v.tensor->type.rank() == 0;
    const bool known = number && (v.tensor->type.dtype == DType::I64 || v.tensor->type.dtype == DType::F32);
    return known ? std::optional(v.tensor->type.dtype) : std::nullopt;
  }

  Scopes& scopes_;
};

/// The function of TL that the text calls without a dtype, `zeros` of `zeros([2])`; null for another text.
const BuiltinRow* untypedCreation(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, syntax::isWordPart);
  const std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
  const bool calls = end != text.end() && *end == '(' && text.ends_with(')');
  const BuiltinRow* row = calls && !syntax::hasWord(text, "dtype") ? builtinRow(name) : nullptr;
  return row && row->signature.find("dtype") ? row : nullptr;
}

/// The dtype that the call gives without a variable; nothing where that is not known, or decided by its operands.
std::optional<DType> madeBy(Scopes& scopes, const ast::Expr& call, const std::string& text) {
  const WrittenNumbers numbers(scopes);
  const ast::Expr* first = call.arguments.empty() ? nullptr : call.arguments[0].value.get();
  if (text.starts_with('['))  // `np.array([1, 2])`
    return first && first->kind == ExprKind::Array ? numbers.dtype(*first) : std::nullopt;
  const BuiltinRow* row = untypedCreation(text);
  if (!row) return std::nullopt;
  const std::string_view otherwise = row->signature.find("dtype")->otherwise;
  if (const auto always = ir::dtypeNamed(otherwise)) return always;
  const Parameter* leading = row->signature.positional(0);
  if (!leading) return std::nullopt;
  // Of `full([2], 0)` the value decides, of `arange(a, b)` all its numbers; `zeros_like(x)` takes no variable's dtype.
  const bool fills = leading->kind == Parameter::Kind::Shape;
  if (!fills && leading->kind != Parameter::Kind::Number) return std::nullopt;
  std::optional<DType> all;
  for (size_t i = fills ? 1 : 0; i < call.arguments.size(); ++i) {
    const ast::Argument& a = call.arguments[i];
    const auto one = a.value && !a.rangeEnd ? numbers.dtype(*a.value) : std::nullopt;
    if (!one) return std::nullopt;
    if (!all || *one == DType::F32) all = one;
  }
  return all;
}

/// NumPy's floats have 64 bits, which become 32 here, but in a variable of 64.
bool isOfNumPy(const ast::Expr& call) {
  const ast::Expr& root = rootOfMember(*call.args[0]);
  return root.text == "np" || root.text == "numpy";
}

/// Whether other statements that bind the name may give it another dtype than f32, as the text tells: in doubt they
/// may.
class OtherBindings {
 public:
  OtherBindings(Context& context, Scopes& scopes, const ast::File& file)
      : context_(context), numbers_(scopes), file_(file) {}

  bool mayDiffer(const ast::Expr& variable) const {
    const ast::Stmt* fn = functionAround(file_, variable.span);
    bool differs = fn && std::ranges::any_of(fn->params, [&](auto& p) { return p.name.text == variable.text; });
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      const bool binds = nameBound(s) == variable.text && s.value && s.target.get() != &variable;
      const bool walks = s.kind == ast::Stmt::Kind::For && namesOf(s.pattern).contains(variable.text);
      differs = differs || walks || (binds && !isFloat(*s.value));
    };
    visitAround(file_, variable.span, visitor);
    return differs;
  }
  /// Whether one of them names 64 bits, which NumPy's floats have anyway.
  bool nameDoubles(const ast::Expr& variable) const {
    bool found = false;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (nameBound(s) != variable.text || !s.value) return;
      for (const std::string_view word : {"double", "f64", "float", "float64"})
        found = found || syntax::hasWord(context_.sources.text(s.value->span), word);
    };
    visitAround(file_, variable.span, visitor);
    return found;
  }

 private:
  bool isFloat(const ast::Expr& e) const {
    if (e.kind == ExprKind::Unary || e.kind == ExprKind::Binary)
      return std::ranges::all_of(e.args, [&](auto& part) { return part && isFloat(*part); });
    if (numbers_.dtype(e) == DType::F32) return true;
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member || !isLibrary(rootOfMember(*e.args[0])))
      return false;
    const bool typed =
        std::ranges::any_of(e.arguments, [](const ast::Argument& a) { return a.name && a.name->text == "dtype"; });
    const BuiltinRow* row = typed ? nullptr : builtinRow(e.args[0]->text);
    const Parameter* option = row ? row->signature.find("dtype") : nullptr;
    if (option && option->otherwise == "f32") return true;
    const bool lists = e.args[0]->text == "array" || e.args[0]->text == "tensor";
    return !typed && lists && e.arguments.size() == 1 && e.arguments[0].value &&
           numbers_.dtype(*e.arguments[0].value) == DType::F32;
  }

  Context& context_;
  WrittenNumbers numbers_;
  const ast::File& file_;
};

/// The variable that a value is assigned to as it is, or behind operators, which hand the dtype on; null for none.
const ast::Expr* variableOf(const ast::File& file, const ast::Expr& value) {
  const ast::Stmt* s = placeIn(file, value.span).statement;
  while (s && s->kind == ast::Stmt::Kind::Expr) s = placeIn(file, s->span).outer;  // in the block of an `if`
  if (!s || s->kind != ast::Stmt::Kind::Assign || s->op != "=" || !s->value || !s->target ||
      s->target->kind != ExprKind::Name || !holds(s->value->span, value.span))
    return nullptr;
  const ast::Expr* apart = expressionAround(file, value.span, [&](const ast::Expr& e) {
    const bool takes = e.kind == ExprKind::Call || e.kind == ExprKind::Index || e.kind == ExprKind::Member ||
                       e.kind == ExprKind::Lambda;
    return takes && e.span != value.span && holds(s->value->span, e.span);
  });
  return apart ? nullptr : s->target.get();
}

}  // namespace

std::string inItsDType(Context& context, Scopes& scopes, const ast::Expr& call, const std::string& text) {
  const ast::File* file = fileOf(context);
  const ast::Expr* variable = file ? variableOf(*file, call) : nullptr;
  const auto made = variable ? madeBy(scopes, call, text) : std::nullopt;
  if (!made) return text;
  const Binding* bound = scopes.named(variable->text);
  const Val* now = bound && bound->value.is(Val::Kind::Tensor) ? &bound->value : nullptr;
  if (now && now->tensor->type.dtype == *made) return text;
  const bool widens = *made == DType::F32 && isOfNumPy(call);
  if (now && widens && now->tensor->type.dtype == DType::F64) return text;
  // What has no type yet is told by how it is written.
  const OtherBindings others(context, scopes, *file);
  if (!now && ((*made == DType::F32 && !others.mayDiffer(*variable)) || (widens && others.nameDoubles(*variable))))
    return text;
  if (!now && !bound && !context.frame().undeclared.contains(variable->text)) return text;
  const std::string dtype(ir::name(*made));
  if (text.starts_with('[')) return dtype + "(" + text + ")";
  return text.substr(0, text.size() - 1) + ", dtype: " + dtype + ")";
}

}  // namespace tenc::frontend
