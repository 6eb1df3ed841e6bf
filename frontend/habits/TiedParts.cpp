#include "frontend/habits/TiedParts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "frontend/builtins/Builtins.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Libraries.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Scan.h"
#include "syntax/Familiar.h"
#include "syntax/ForeignFunctions.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;

/// `net.encoder`, `layers[0]`, as written; empty for another expression.
std::string pathOfPart(const ast::Expr& e) {
  if (e.kind == ExprKind::Name) return e.text;
  const std::string before = e.kind == ExprKind::Member || e.kind == ExprKind::Index ? pathOfPart(*e.args[0]) : "";
  if (before.empty()) return "";
  if (e.kind == ExprKind::Member) return before + "." + e.text;
  const ast::Expr* i = e.subscripts.size() == 1 ? e.subscripts[0].index.get() : nullptr;
  return i && i->kind == ExprKind::Int ? before + "[" + i->text + "]" : before + "[]";
}

/// What a model is made of.
class Parts {
 public:
  Parts(const ast::File& file, Span place) : file_(file), place_(place) {}

  std::optional<std::string> heldTwice(const std::vector<std::string>& models) {
    for (const std::string& model : models) {
      walkNamed(model, place_.begin);
      assignedParts(model);
    }
    return found_;
  }

 private:
  using Given = std::map<std::string, const ast::Expr*>;  ///< what the parameters of a function stand for

  void walk(const ast::Expr& e, const Given& given) {
    if (found_ || depth_ > kMostDepth) return;
    ++depth_;
    walkParts(e, given);
    --depth_;
  }
  void walkParts(const ast::Expr& e, const Given& given) {
    switch (e.kind) {
      case ExprKind::Name:
        if (const auto of = given.find(e.text); of == given.end())
          walkPath(e);
        else if (of->second)
          walk(*of->second, {});
        return;
      case ExprKind::Member:
      case ExprKind::Index: return walkPath(e);
      case ExprKind::Tuple:
      case ExprKind::Array:
        for (const ast::ExprPtr& part : e.args)
          if (part) walk(*part, given);
        return;
      case ExprKind::Struct:
        for (const ast::FieldInit& f : e.fields)
          if (f.value) walk(*f.value, given);
        return;
      case ExprKind::If:
        for (const ast::Block& b : e.blocks)
          if (!b.statements.empty() && b.statements.back() && b.statements.back()->value)
            walk(*b.statements.back()->value, given);
        return;
      case ExprKind::Call: return walkCall(e, given);
      default: return;
    }
  }
  void walkPath(const ast::Expr& e) {
    const ast::Expr* root = rootOf(e);
    const std::string path = pathOfPart(e);
    if (e.kind == ExprKind::Name) return walkNamed(e.text, e.span.begin);
    if (!path.empty() && root) add(path);
  }
  void walkNamed(const std::string& name, uint32_t offset) {
    const ast::Stmt* made = boundBefore(file_, name, offset);
    if (!made) made = assignedBefore(name, offset);
    const ast::Expr* value = made && made->value && nameBound(*made) == name ? made->value.get() : nullptr;
    if (value ? isBare(*value) : !made && isFunction(name)) return;
    add(name);
    if (value && !found_) walk(*value, {});
  }
  /// The statement that binds a name as in Python; in doubt, where several do, the name is held twice.
  const ast::Stmt* assignedBefore(const std::string& name, uint32_t offset) {
    const ast::Stmt* only = nullptr;
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      if (s.kind != StmtKind::Assign || nameBound(s) != name || s.span.end > offset) return;
      if (only) found_ = name;
      only = &s;
    };
    visitor.visit(file_);
    return only;
  }
  void add(const std::string& path) {
    const auto meets = [&](const std::string& other) {  // `net` has `net.encoder`
      const auto begins = [](const std::string& a, const std::string& b) {
        return a.starts_with(b) && (a.size() == b.size() || a[b.size()] == '.' || a[b.size()] == '[');
      };
      return begins(path, other) || begins(other, path);
    };
    if (std::ranges::any_of(paths_, meets)) found_ = path;
    paths_.insert(path);
  }
  bool isFunction(const std::string& name) const {
    return builtinRow(name) || syntax::familiarName(name) || std::ranges::any_of(file_.statements, [&](const auto& s) {
             return s && s->kind == StmtKind::Fn && s->name.text == name;
           });
  }
  /// Whether a value has no parameters: numbers, functions, `nn.ReLU()`.
  bool isBare(const ast::Expr& value) const {
    switch (value.kind) {
      case ExprKind::Int:
      case ExprKind::Float:
      case ExprKind::Bool:
      case ExprKind::String:
      case ExprKind::Lambda: return true;
      case ExprKind::Name: return isFunction(value.text) && !boundBefore(file_, value.text, value.span.begin);
      case ExprKind::Member: {
        const ast::Expr& root = rootOfMember(value);
        const syntax::Familiar* head = root.kind == ExprKind::Name ? syntax::familiarName(root.text) : nullptr;
        return head && (head->prefix || head->layer) && !syntax::hasParameters(value.text);
      }
      case ExprKind::Call: {
        const ast::Expr& callee = *value.args[0];
        const ast::Expr& root = rootOfMember(callee);
        const bool ofModule = callee.kind == ExprKind::Member && root.kind == ExprKind::Name && root.text == "nn";
        const bool isLayer = !callee.text.empty() && std::isupper(static_cast<unsigned char>(callee.text[0])) != 0;
        return ofModule && isLayer && !syntax::hasParameters(callee.text) && callee.text != "Sequential" &&
               callee.text != "ModuleList" && callee.text != "ModuleDict";
      }
      default: return false;
    }
  }
  void walkCall(const ast::Expr& e, const Given& given) {
    const std::string& name = e.args[0]->text;
    for (const ast::StmtPtr& s : file_.statements) {
      if (!s || s->kind != StmtKind::Fn || s->name.text != name || e.args[0]->kind != ExprKind::Name) continue;
      return walkFunction(*s, e, given);
    }
    const ast::Expr* made = e.arguments.empty() ? nullptr : e.arguments.back().value.get();
    if ((name == "list" || name == "tuple") && made && made->kind == ExprKind::Lambda && made->body) {
      Given inner = given;
      NameSet own;
      for (const ast::LambdaParam& p : made->params) own.merge(namesOf(p.pattern));
      for (const std::string& n : own) inner[n] = nullptr;
      walk(*made->body, inner);
      return again(*made->body, inner);
    }
    // A sequence, a list of modules, an object of a class that is not read yet, `net.to(device)`.
    const bool library = e.args[0]->kind == ExprKind::Member && name != "Sequential" && name != "ModuleList";
    if (library && name != "to" && name != "double" && name != "float" && name != "half") return;
    if (library) return walk(*e.args[0]->args[0], given);
    for (const ast::Argument& a : e.arguments)
      if (a.value) walk(*a.value, given);
  }
  /// What each element of a list is made of, once more: one that stands outside of it is the same for all.
  void again(const ast::Expr& body, const Given& given) {
    const bool named = body.kind == ExprKind::Name || body.kind == ExprKind::Member || body.kind == ExprKind::Tuple ||
                       body.kind == ExprKind::Struct;
    if (named) walk(body, given);
  }
  void walkFunction(const ast::Stmt& fn, const ast::Expr& call, const Given& given) {
    Given inner;
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const ast::Expr* value = i < call.arguments.size() && !call.arguments[i].name ? call.arguments[i].value.get()
                                                                                    : fn.params[i].otherwise.get();
      for (const ast::Argument& a : call.arguments)
        if (a.name && a.name->text == fn.params[i].name.text) value = a.value.get();
      if (value && value->kind == ExprKind::Name)
        if (const auto of = given.find(value->text); of != given.end()) value = of->second;
      inner[fn.params[i].name.text] = value && (isBare(*value) || isNumber(*value)) ? nullptr : value;
    }
    const ast::Expr* body = fn.bodyIsExpr ? fn.value.get() : nullptr;
    if (!fn.bodyIsExpr && !fn.body.statements.empty() && fn.body.statements.back())
      body = fn.body.statements.back()->value.get();
    if (body) walk(*body, inner);
  }
  bool isNumber(const ast::Expr& value) const {
    return value.kind == ExprKind::Unary || value.kind == ExprKind::Binary;
  }
  /// `net.decoder.weight = net.encoder.weight`
  void assignedParts(const std::string& model) {
    TreeVisitor visitor;
    visitor.onStatement = [&](const ast::Stmt& s) {
      const bool ofPart = s.kind == StmtKind::Assign && s.op == "=" && s.value && s.target &&
                          (s.target->kind == ExprKind::Member || s.target->kind == ExprKind::Index);
      const ast::Expr* root = ofPart ? rootOf(*s.target) : nullptr;
      if (!found_ && root && root->text == model && namesShared(file_, *s.value).contains(model))
        found_ = pathOfPart(*s.target);
    };
    visitAround(file_, place_, visitor);
  }

  static constexpr int kMostDepth = 64;
  const ast::File& file_;
  const Span place_;
  NameSet paths_;
  std::optional<std::string> found_;
  int depth_ = 0;
};

}  // namespace

std::optional<std::string> heldTwice(const ast::File& file, const std::vector<std::string>& models, Span place) {
  return Parts(file, place).heldTwice(models);
}

std::string heldTwiceHelp(const std::string& part) {
  return "in PyTorch what is trained would hold `" + part +
         "` twice, as one layer; here each is a value of its own: hold it once, and use it twice where it is called";
}

bool isChangedByTraining(const ast::File& file, const NameSet& names) {
  const auto named = [&](const ast::Expr& e) { return meet(namesRead(e), names); };
  bool found = false;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    if (e.kind != ExprKind::Call || e.args[0]->kind != ExprKind::Member) return true;
    const ast::Expr& callee = *e.args[0];
    if (callee.text == "step") {
      const ast::Stmt* made =
          callee.args[0]->kind == ExprKind::Name ? boundBefore(file, callee.args[0]->text, e.span.begin) : nullptr;
      found = found || (made && made->value && named(*made->value)) || named(e);
    }
    if (callee.text == "parameters") {
      const ast::Stmt* loop = statementAround(file, e.span, {StmtKind::For});
      found = found || (loop && loop->lo && holds(loop->lo->span, e.span) && named(e));
    }
    return true;
  };
  visitor.visit(file);
  return found;
}

std::optional<CountedTwice> countedTwice(const ast::File& file) {
  if (!imports(file, "torch")) return std::nullopt;
  std::optional<CountedTwice> found;
  TreeVisitor visitor;
  visitor.onExpression = [&](const ast::Expr& e) {
    const bool counts = e.kind == ExprKind::Call && e.args[0]->kind == ExprKind::Member && e.args[0]->text == "size" &&
                        e.args[0]->args[0]->kind == ExprKind::Name && e.args[0]->args[0]->text == "nn" &&
                        e.arguments.size() == 1 && e.arguments[0].value;
    if (!counts || found) return true;
    const ast::Expr* root = rootOf(*e.arguments[0].value);
    const auto part = root ? heldTwice(file, {root->text}, e.span) : std::nullopt;
    if (part)
      found = CountedTwice{e.span, "PyTorch counts the parameters of `" + *part +
                                       "` once, which the model holds twice; here each is a value of its own"};
    return true;
  };
  visitor.visit(file);
  return found;
}

}  // namespace tenc::frontend
