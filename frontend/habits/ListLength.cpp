#include "frontend/habits/ListLength.h"

#include <string>

#include "frontend/Context.h"
#include "frontend/habits/Places.h"
#include "frontend/names/Frame.h"
#include "syntax/Familiar.h"

namespace tenc::frontend {

namespace {
using ExprKind = ast::Expr::Kind;

bool isFirst(const ast::Expr& index) {
  return index.subscripts.size() == 1 && index.subscripts[0].kind == ast::Subscript::Kind::Index &&
         index.subscripts[0].index->kind == ExprKind::Int && index.subscripts[0].index->text == "0";
}
}  // namespace

std::optional<Help> lengthOfList(Context& context, Span member) {
  const std::string name(context.sources.text(member));
  const syntax::Familiar* row = syntax::familiarName(name);
  if (!row || row->ofTree.empty()) return std::nullopt;
  const std::string help(row->ofTree);
  const ast::File* file = fileOf(context);
  const ast::Expr* read = file ? expressionAround(*file, member, ExprKind::Member) : nullptr;
  if (!read || read->opSpan != member) return Help{help, {}};
  // The call or index of the member goes with it.
  const ast::Expr* whole = expressionAround(*file, member, [&](const ast::Expr& e) {
    return (e.kind == ExprKind::Call && e.args[0].get() == read && e.arguments.empty()) ||
           (e.kind == ExprKind::Index && e.args[0].get() == read && isFirst(e));
  });
  if (!whole && name == "shape") return Help{help, {}};
  return Help{help, {{Span{member.file, member.begin, (whole ? whole : read)->span.end}, "size"}}};
}

}  // namespace tenc::frontend
