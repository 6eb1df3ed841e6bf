#include "frontend/expressions/SourceText.h"

#include <algorithm>

#include "frontend/names/Scan.h"

namespace tenc::frontend {
namespace {

using ExprKind = ast::Expr::Kind;
using TextKind = ir::SourceText::Kind;

TextKind kindOf(const ast::Expr& e) {
  switch (e.kind) {
    case ExprKind::Name: return TextKind::Name;
    case ExprKind::Member: return TextKind::Member;
    case ExprKind::Int:
    case ExprKind::Float:
    case ExprKind::Bool:
    case ExprKind::String: return TextKind::Literal;
    case ExprKind::Device: return TextKind::Device;
    case ExprKind::Call: return TextKind::Call;
    case ExprKind::Index: return TextKind::Index;
    case ExprKind::Array: return TextKind::List;
    case ExprKind::Tuple: return TextKind::Tuple;
    default: return TextKind::Other;
  }
}

bool takesPostfix(const ast::Expr& e) {
  if (e.grouped) return true;
  switch (e.kind) {
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::String:
    case ExprKind::Struct:
    case ExprKind::If:
    case ExprKind::Block:
    case ExprKind::Lambda:
    case ExprKind::Error: return false;
    default: return true;
  }
}

}  // namespace

ir::SourceText sourceText(const ast::Expr& e) {
  ir::SourceText t;
  t.span = e.span;
  t.kind = kindOf(e);
  t.postfix = takesPostfix(e);
  if (t.kind == TextKind::Name || t.kind == TextKind::Member) t.name = pathOf(e);
  if (t.kind == TextKind::Device) t.name = e.text;
  if (t.kind == TextKind::Call && !e.args.empty()) t.name = e.args[0]->text;
  return t;
}

namespace {
/// Whether the type, or a part of it, says on which device values are.
bool namesDevice(const ast::TypeExpr& t) {
  return t.place || std::any_of(t.args.begin(), t.args.end(), [](const ast::TypePtr& a) { return namesDevice(*a); });
}
}  // namespace

bool leavesDeviceOpen(const ast::Stmt& var) {
  return var.kind == ast::Stmt::Kind::Var && var.annotations.empty() && !(var.type && namesDevice(*var.type));
}

}  // namespace tenc::frontend
