#include "frontend/habits/FieldByKey.h"

#include <algorithm>
#include <string>
#include <vector>

#include "frontend/names/Suggest.h"
#include "frontend/names/Unit.h"
#include "frontend/values/Values.h"

namespace tenc::frontend {

std::optional<Help> fieldByKey(const Val& base, const ast::Expr& index) {
  if (!base.is(Val::Kind::Struct) || index.subscripts.size() != 1) return std::nullopt;
  const ast::Expr* key = index.subscripts[0].index.get();
  if (!key || key->kind != ast::Expr::Kind::String || key->pieces.size() != 1 || key->pieces[0].hole)
    return std::nullopt;
  std::vector<std::string> names;
  for (const ast::Field& f : base.info->decl->stmt->fields) names.push_back(f.name.text);
  const std::string& name = key->pieces[0].text;
  if (std::ranges::find(names, name) == names.end()) return Help{fieldsText(names), {}};
  const Span part{index.span.file, index.args[0]->span.end, index.span.end};
  return Help{"a field is read by its name: `." + name + "`", {{part, "." + name}}};
}

}  // namespace tenc::frontend
