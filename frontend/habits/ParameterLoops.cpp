#include "frontend/habits/ParameterLoops.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/Context.h"
#include "frontend/habits/Aliases.h"
#include "frontend/habits/Places.h"
#include "frontend/habits/Rewrites.h"
#include "frontend/habits/StatementNames.h"
#include "frontend/habits/TiedParts.h"
#include "frontend/habits/UntrainedTensors.h"
#include "frontend/names/Frame.h"
#include "frontend/names/Scan.h"
#include "frontend/names/Unit.h"

namespace tenc::frontend {

namespace {

using ExprKind = ast::Expr::Kind;
using StmtKind = ast::Stmt::Kind;
constexpr std::string_view kTree = "a model is a tree: `map_leaves` makes one of all its parameters";

/// `m` of `m.parameters()`; null for another expression.
const ast::Expr* modelOf(const ast::Expr& e) {
  const bool known = e.kind == ExprKind::Call && e.arguments.empty() && e.args[0]->kind == ExprKind::Member &&
                     e.args[0]->text == "parameters" && e.args[0]->args[0]->kind == ExprKind::Name;
  return known ? e.args[0]->args[0].get() : nullptr;
}

/// `m.l1.parameters()`, `m.named_parameters()`
bool givesParameters(const ast::Expr& call) {
  const ast::Expr& callee = *call.args[0];
  return callee.kind == ExprKind::Member && (callee.text == "parameters" || callee.text == "named_parameters");
}
/// Whether a loop freezes what it walks over, all of it or some.
bool freezesIn(const ast::File& file, const ast::Stmt& loop) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    found = found || freezes(file, s) || (s.kind == StmtKind::Expr && s.value && freezes(*s.value));
  };
  visitor.visit(loop);
  return found;
}

class ParameterLoop {
 public:
  ParameterLoop(const SourceManager& sources, const ast::Stmt& loop) : sources_(sources), loop_(loop) {}

  /// Whether it goes over parameters alone, each with a name.
  bool isOne() {
    const ast::Expr& over = *loop_.lo;
    std::vector<const ast::Expr*> parts{&over};
    if (over.kind == ExprKind::Call && over.args[0]->kind == ExprKind::Name && over.args[0]->text == "zip") {
      parts.clear();
      for (const ast::Argument& a : over.arguments) parts.push_back(a.value.get());
    }
    for (const ast::Expr* part : parts) models_.push_back(part ? modelOf(*part) : nullptr);
    if (loop_.pattern.isTuple)
      for (const ast::Pattern& p : loop_.pattern.elements) names_.push_back(p.isTuple ? "" : p.name.text);
    else
      names_.push_back(loop_.pattern.name.text);
    const auto isKnown = [](const ast::Expr* m) { return m != nullptr; };
    return names_.size() == models_.size() && std::ranges::all_of(models_, isKnown) &&
           std::ranges::find(names_, "") == names_.end();
  }

  /// The model that changes; null where the body does something else.
  const ast::Expr* changed() {
    if (loop_.body.statements.size() != 1 || !loop_.body.statements[0]) return nullptr;
    const ast::Stmt& s = *loop_.body.statements[0];
    if (s.kind == StmtKind::Assign && s.target && s.value) {
      const std::string op = s.op.substr(0, s.op.size() - 1);
      const std::string value = written(*s.value);
      const std::string target = parameterAt(*s.target);
      if (target.empty() || value.empty() || (op.empty() && s.target->kind == ExprKind::Name)) return nullptr;
      value_ = op.empty() ? value : target + " " + op + " " + grouped(value);
      return modelNamed(target);
    }
    if (s.kind != StmtKind::Expr || !s.value) return nullptr;
    value_ = afterCall(*s.value);
    return value_.empty() ? nullptr : modelNamed(changedName_);
  }

  std::string text(const ast::Expr& model) const {
    std::string names, models;
    for (size_t i = 0; i < names_.size(); ++i) {
      names += (i == 0 ? "" : ", ") + names_[i];
      models += ", " + models_[i]->text;
    }
    return model.text + " = map_leaves(|" + names + "| " + value_ + models + ")";
  }

 private:
  static std::string grouped(const std::string& text) { return isOpen(text) ? "(" + text + ")" : text; }
  const ast::Expr* modelNamed(const std::string& parameter) const {
    const auto at = std::ranges::find(names_, parameter);
    return at == names_.end() ? nullptr : models_[static_cast<size_t>(at - names_.begin())];
  }
  /// `p` of `p` and of `p.data`; empty for another expression.
  std::string parameterAt(const ast::Expr& e) const {
    const ast::Expr& root = e.kind == ExprKind::Member && e.text == "data" ? *e.args[0] : e;
    const bool is = root.kind == ExprKind::Name && std::ranges::find(names_, root.text) != names_.end();
    return is ? root.text : "";
  }
  /// What an expression reads, with `p` for `p.data`; empty where it reads what only PyTorch's tensors have.
  std::string written(const ast::Expr& e) const {
    std::string text;
    uint32_t at = e.span.begin;
    bool known = true;
    TreeVisitor visitor;
    visitor.onExpression = [&](const ast::Expr& part) {
      if (part.kind != ExprKind::Member) return true;
      if (part.text == "data" && !parameterAt(part).empty() && part.args[0]->span.begin >= at) {
        text += sources_.text(Span{e.span.file, at, part.args[0]->span.end});
        at = part.span.end;
        return false;
      }
      known = known && (parameterAt(*part.args[0]).empty() || part.text == "T");
      return true;
    };
    visitor.visit(e);
    return known ? text + std::string(sources_.text(Span{e.span.file, at, e.span.end})) : "";
  }
  /// The value of a parameter behind calls of methods that change it: `p.data.mul_(a).add_(b)`.
  std::string afterCall(const ast::Expr& e) {
    if (e.kind != ExprKind::Call) {
      changedName_ = parameterAt(e);
      return changedName_;
    }
    if (e.args[0]->kind != ExprKind::Member || e.arguments.empty()) return "";
    const std::string before = afterCall(*e.args[0]->args[0]);
    std::vector<std::string> given;
    std::string alpha;
    for (const ast::Argument& a : e.arguments) {
      const std::string value = a.value && !a.rangeEnd ? written(*a.value) : "";
      if (value.empty() || (a.name && a.name->text != "alpha")) return "";
      if (a.name)
        alpha = grouped(value) + " * ";
      else
        given.push_back(value);
    }
    if (before.empty() || given.empty()) return "";
    const std::string_view name = e.args[0]->text;
    struct Operation {
      std::string_view method, sign;
    };
    constexpr std::array kSigns =
        std::to_array<Operation>({{"add_", "+"}, {"sub_", "-"}, {"mul_", "*"}, {"div_", "/"}});
    const auto sign = std::ranges::find(kSigns, name, &Operation::method);
    if (sign != kSigns.end() && given.size() == 1 && (alpha.empty() || name == "add_" || name == "sub_"))
      return grouped(before) + " " + std::string(sign->sign) + " " + alpha + grouped(given[0]);
    if (!alpha.empty()) return "";
    if (name == "copy_" && given.size() == 1) {
      // What is copied takes the shape of the parameter, unless it has it.
      const bool is = e.arguments[0].value && !parameterAt(*e.arguments[0].value).empty();
      return is ? given[0] : "broadcast_to(" + given[0] + ", " + before + ".shape)";
    }
    if (name == "lerp_" && given.size() == 2) return "lerp(" + before + ", " + given[0] + ", " + given[1] + ")";
    if (name == "clamp_" && given.size() == 2) return "clamp(" + before + ", " + given[0] + ", " + given[1] + ")";
    return "";
  }

  const SourceManager& sources_;
  const ast::Stmt& loop_;
  std::vector<std::string> names_;
  std::vector<const ast::Expr*> models_;
  std::string value_, changedName_;
};

/// Whether a model of the script may hold tensors that are no parameters, as running means are.
bool mayHoldState(const ast::File& file) {
  bool found = false;
  TreeVisitor visitor;
  visitor.onStatement = [&](const ast::Stmt& s) {
    found = found || std::ranges::any_of(s.fields, [](const ast::Field& f) { return f.state; });
  };
  visitor.onExpression = [&](const ast::Expr& e) {
    found = found || e.text.starts_with("BatchNorm") || e.text.starts_with("batch_norm") || e.text == "register_buffer";
    return true;
  };
  visitor.visit(file);
  return found;
}

}  // namespace

std::optional<Help> parameterLoop(Context& context, const ast::Expr& call) {
  const ast::File* file = context.frame().unit->file;
  if (!file) return std::nullopt;
  const ast::Stmt* loop = statementAround(*file, call.span, {StmtKind::For});
  if (!loop || !loop->lo || loop->hi || !holds(loop->lo->span, call.span)) return std::nullopt;
  if (givesParameters(call) && freezesIn(*file, *loop)) return Help{std::string(kFrozenHelp), {}};
  if (!modelOf(call)) return std::nullopt;
  ParameterLoop parameters(context.sources, *loop);
  const ast::Expr* model = parameters.isOne() ? parameters.changed() : nullptr;
  if (!model) return std::nullopt;
  if (hasUnread(*file)) return Help{std::string(kTree), {}};  // it waits for what a struct may hold
  if (mayHoldState(*file)) return std::nullopt;
  if (const auto other = aliasRead(*file, model->text, loop->span)) return Help{aliasHelp(model->text, *other), {}};
  if (const auto part = heldTwice(*file, {model->text}, loop->span)) return Help{heldTwiceHelp(*part), {}};
  return Help{"a model is a tree: `map_leaves` makes one of all its parameters",
              {{loop->span, parameters.text(*model)}}};
}

}  // namespace tenc::frontend
