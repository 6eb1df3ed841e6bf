// Values that a session keeps between its entries: parameters of `main` on the way in, results on the way out.
#include "frontend/names/SessionValues.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/Context.h"
#include "frontend/calls/Arguments.h"
#include "frontend/calls/Calls.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scopes.h"
#include "frontend/values/Tensors.h"
#include "frontend/values/Trees.h"

namespace tenc::frontend {

namespace {

constexpr std::string_view kInputPrefix = "__kept";

std::string integerText(Int v, ir::DType t) {
  std::string s = v < 0 ? "(-" + toString(-v) + ")" : toString(v);
  return t == ir::DType::I64 ? s : std::string(ir::name(t)) + "(" + s + ")";
}

std::string floatText(double v, ir::DType t) {
  std::string s;
  if (std::isnan(v)) {
    s = "nan";
  } else if (std::isinf(v)) {
    s = "inf";
  } else {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", std::fabs(v));
    s = buffer;
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
  }
  if (std::signbit(v)) s = "(-" + s + ")";
  return t == ir::DType::F32 ? s : std::string(ir::name(t)) + "(" + s + ")";
}

/// Writes the expression that makes a value again. Its tensors become `$k`.
class ValueText {
 public:
  explicit ValueText(std::vector<ir::Value*>& leaves) : leaves_(leaves) {}

  /// Empty when no expression makes the value: functions, types, sequences.
  std::string of(const Val& v) {
    using Kind = Val::Kind;
    switch (v.kind) {
      case Kind::Tensor: leaves_.push_back(v.tensor); return "$" + std::to_string(leaves_.size() - 1);
      case Kind::Int: return integerText(v.integer, v.dtype);
      case Kind::Float: return floatText(v.real, v.dtype);
      case Kind::Bool: return v.boolean ? "true" : "false";
      case Kind::String: return ast::quoted(v.text, true);
      case Kind::DType: return std::string(ir::name(v.dtype));
      case Kind::Device: return v.device.of || v.device.name.starts_with("$") ? "" : v.device.name;
      case Kind::Pack: return elements(v, "zeros([", "]).shape");
      case Kind::Tuple: return elements(v, "(", v.elems.empty() ? ")" : ",)");
      case Kind::List: return elements(v, "[", "]");
      case Kind::Struct: return fields(v);
      default: return "";
    }
  }

 private:
  std::string elements(const Val& v, std::string_view open, std::string_view close) {
    std::string s(open);
    for (size_t i = 0; i < v.elems.size(); ++i) {
      // A list of tensors inside another value would be stacked: the type that says otherwise stands at a name only.
      if (i > 0) s += ", ";
      const std::string element = of(v.elems[i]);
      if (element.empty() || (v.kind == Val::Kind::Tuple && v.elems[i].is(Val::Kind::List))) return "";
      s += element;
    }
    return s + std::string(close);
  }

  std::string fields(const Val& v) {
    const auto& declared = v.info->decl->stmt->fields;
    // Several shape packs cannot be written; the fields say what they are.
    const std::string& type = v.info->text;
    std::string s = type.substr(0, type.find("...(") == std::string::npos ? type.size() : type.find('[')) + " { ";
    for (size_t i = 0; i < v.elems.size() && i < declared.size(); ++i) {
      const std::string field = of(v.elems[i]);
      if (field.empty()) return "";
      s += (i > 0 ? ", " : "") + declared[i].name.text + ": " + field;
    }
    return s + " }";
  }

  std::vector<ir::Value*>& leaves_;
};

/// Whether the value of a last expression is printed; of functions and types the tool says what they are.
bool printable(const Val& v) {
  using Kind = Val::Kind;
  return !v.is(Kind::Function) && !v.is(Kind::Type) && !v.is(Kind::Module) && !v.is(Kind::Range);
}
}  // namespace

void SessionValues::declareInputs(ir::Func& main) {
  for (size_t i = 0; i < context_.options.inputs.size(); ++i) {
    const SessionInput& in = context_.options.inputs[i];
    const std::string name = std::string(kInputPrefix) + std::to_string(i);
    ir::Value* v = main.body->addArg(ir::Type{in.dtype, in.shape, {}}, in.name);
    main.paramPlaces.push_back(in.place);
    scopes_.declare({name, Span{}}, Val::ofTensor(v), false);
  }
}

std::vector<ir::Value*> SessionValues::keepValues(const ast::File& file, const Val& last) {
  std::vector<ir::Value*> results;
  auto keep = [&](const std::string& name, const Val& value, bool isVar) {
    const size_t before = results.size();
    Lowered::Kept kept{name, isVar, ValueText(results).of(value), ""};
    if (kept.text.empty()) results.resize(before);
    kept.type = describe(value);
    if (value.is(Val::Kind::List)) kept.type = toString(typeOf(value));
    context_.out.kept.push_back(std::move(kept));
  };
  std::map<std::string, const Binding*> latest;
  std::vector<std::string> order;
  for (const auto& [name, binding] : context_.frame().scopes.front().names) {
    if (name.starts_with(kInputPrefix)) continue;
    if (latest.emplace(name, &binding).second) order.push_back(name);
    latest[name] = &binding;
  }
  for (const std::string& name : order) {
    const Binding& b = *latest[name];
    if (b.value.poison()) continue;
    // What came in and was not assigned to is kept already.
    if (b.span.file != file.source && !changed(b.value)) continue;
    keep(name, b.value, b.isVar);
  }
  if (!last.poison() && !last.is(Val::Kind::Unit)) {
    const Val value = tensors_.settle(last);
    if (printable(value)) {
      FnValue print;
      print.name = "print";
      CallArgs call;
      call.span = call.callee = last.span;
      call.args.push_back({"", value, last.span});
      calls_.call(Val::ofFunction(std::make_shared<FnValue>(std::move(print)), last.span), std::move(call));
    }
    keep("", value, false);
    if (printable(value) && context_.out.kept.back().text.empty())
      context_.out.kept.back().type.clear();  // nothing more to say
  }
  return results;
}

/// Whether the last statement is an expression whose value is to be shown.
bool SessionValues::givesValue(const ast::File& file) {
  if (file.statements.empty() || file.statements.back()->kind != ast::Stmt::Kind::Expr) return false;
  const ast::Expr& e = *file.statements.back()->value;
  return e.kind != ast::Expr::Kind::If || e.blocks.size() > e.args.size();
}

/// Whether a value of an earlier entry was assigned to: then one of its leaves is no parameter of `main` any more.
bool SessionValues::changed(const Val& v) {
  if (v.is(Val::Kind::Tensor)) return v.tensor->op != nullptr;
  for (const Val& e : v.elems) {
    if (changed(e)) return true;
  }
  return false;
}

}  // namespace tenc::frontend
