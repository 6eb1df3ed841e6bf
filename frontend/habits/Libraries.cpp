#include "frontend/habits/Libraries.h"

#include <algorithm>

#include "frontend/habits/Places.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

Libraries libraryNamed(const std::string& name) {
  return {.numpy = name == "np" || name == "numpy",
          .torch = name == "torch" || name == "F" || name == "nn",
          .jax = name == "jnp" || name == "jax"};
}

class Origins {
 public:
  explicit Origins(const ast::File& file) : file_(file) {}

  Libraries found;

  void look(const ast::Expr& e) {
    switch (e.kind) {
      case ExprKind::Name: return lookAtName(e);
      case ExprKind::Member:
      case ExprKind::Index: return look(*e.args[0]);
      case ExprKind::Call: return lookAtCall(e);
      case ExprKind::Unary:
      case ExprKind::Binary:
      case ExprKind::Tuple:
      case ExprKind::Array:
        found.others = found.others || e.kind == ExprKind::Array;
        for (const ast::ExprPtr& part : e.args)
          if (part) look(*part);
        return;
      case ExprKind::Int:
      case ExprKind::Float:
      case ExprKind::Bool: return;
      default: found.others = true;
    }
  }

 private:
  void add(Libraries made) {
    found.numpy = found.numpy || made.numpy;
    found.torch = found.torch || made.torch;
    found.jax = found.jax || made.jax;
  }
  void lookAtCall(const ast::Expr& e) {
    const ast::Expr& callee = *e.args[0];
    if (callee.kind != ExprKind::Member) {
      found.others = true;
      return;
    }
    const ast::Expr& root = rootOfMember(callee);
    const Libraries made = root.kind == ExprKind::Name ? libraryNamed(root.text) : Libraries();
    if (made.numpy || made.torch || made.jax) return add(made);
    if (callee.text == "numpy") return add({true, false});  // `t.numpy()`
    look(*callee.args[0]);
  }
  void lookAtName(const ast::Expr& e) {
    if (!seen_.insert(e.text).second) return;
    bool known = false;
    const auto lookAt = [&](const ast::Expr& value) {
      known = true;
      look(value);
    };
    TreeVisitor bindings;
    bindings.onStatement = [&](const ast::Stmt& s) {
      if (s.value && (boundBy(s).contains(e.text) || nameBound(s) == e.text)) lookAt(*s.value);
      if (s.kind == StmtKind::For && s.lo && namesOf(s.pattern).contains(e.text)) lookAt(*s.lo);
    };
    visitAround(file_, e.span, bindings);
    const ast::Stmt* fn = functionAround(file_, e.span);
    for (size_t i = 0; fn && i < fn->params.size(); ++i)
      if (fn->params[i].name.text == e.text) known = lookAtCallers(*fn, i) || known;
    found.others = found.others || !known;
  }
  /// Whether there is one.
  bool lookAtCallers(const ast::Stmt& fn, size_t parameter) {
    const std::string& name = fn.params[parameter].name.text;
    bool called = false;
    TreeVisitor calls;
    calls.onExpression = [&](const ast::Expr& e) {
      if (e.kind != ExprKind::Call || e.args[0]->text != fn.name.text) return true;
      for (size_t i = 0; i < e.arguments.size(); ++i) {
        const ast::Argument& a = e.arguments[i];
        if (!a.value || (a.name ? a.name->text != name : i != parameter)) continue;
        called = true;
        seen_.erase(name);  // one of the caller may be called so, too
        if (!holds(fn.span, e.span)) look(*a.value);
        seen_.insert(name);
      }
      return true;
    };
    calls.visit(file_);
    return called;
  }

  const ast::File& file_;
  NameSet seen_;
};

}  // namespace

bool isLibrary(const ast::Expr& root) {
  const syntax::Familiar* known = root.kind == ast::Expr::Kind::Name ? syntax::familiarName(root.text) : nullptr;
  return known && (known->prefix || known->layer);
}

bool imports(const ast::File& file, std::string_view library) {
  return std::ranges::any_of(file.statements, [&](const auto& s) {
    return s && s->kind == StmtKind::Import && !s->path.empty() && s->path[0].text == library;
  });
}

bool isGivenToJax(const ast::File& file, Span place) {
  const ast::Expr* call = expressionAround(file, place, [](const ast::Expr& e) {
    return e.kind == ast::Expr::Kind::Call && e.args[0]->kind == ast::Expr::Kind::Member;
  });
  return call && rootOfMember(*call->args[0]).text == "jnp";
}

Libraries librariesOf(const ast::File& file) {
  Libraries named;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    const Libraries library =
        s.kind == StmtKind::Import && !s.path.empty() ? libraryNamed(s.path[0].text) : Libraries();
    named = {
        .numpy = named.numpy || library.numpy, .torch = named.torch || library.torch, .jax = named.jax || library.jax};
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    const Libraries library = e.kind == ExprKind::Name ? libraryNamed(e.text) : Libraries();
    const bool turns = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Member && e.args[0]->text == "numpy";
    named = {.numpy = named.numpy || library.numpy || turns,
             .torch = named.torch || library.torch,
             .jax = named.jax || library.jax};
    return true;
  };
  visitor.visit(file);
  return named;
}

Libraries librariesOf(const ast::File& file, const ast::Expr& value) {
  Origins origins(file);
  origins.look(value);
  return origins.found;
}

TranslatedCall asItsLibrary(const ast::File& file, const ast::Expr& call, TranslatedCall ofTorch) {
  const Libraries named = librariesOf(file), made = librariesOf(file, *call.args[0]->args[0]);
  if (!named.numpy && !named.jax) return ofTorch;
  if (made.torch && !made.numpy && !made.jax && !made.others) return ofTorch;
  // Written out, so that it is known when nothing names NumPy any more.
  constexpr std::string_view kOfTorch = "correction: 1", kOfNumPy = "correction: 0";
  const size_t option = ofTorch.text.find(kOfTorch);
  if (made.likeNumPy() && option != std::string::npos) {
    ofTorch.text.replace(option, kOfTorch.size(), kOfNumPy);
    ofTorch.help = "TL divides by n, as NumPy does";
    return ofTorch;
  }
  return TranslatedCall{"", "NumPy and PyTorch mean different things by it: " + ofTorch.help, call.span};
}

}  // namespace tenc::frontend
