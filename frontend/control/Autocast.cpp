#include "frontend/control/Autocast.h"

#include <string>

#include "frontend/Context.h"
#include "frontend/expressions/Expressions.h"
#include "frontend/values/Evaluator.h"

namespace tenc::frontend {

using ir::DType;

std::optional<DType> Autocast::within(const ast::Annotation& a) {
  const std::optional<DType> outer = context_.b().rounds();
  const auto to = evaluator_.constDType(expressions_.eval(*a.index), "what `@autocast` rounds to");
  if (!to) return outer;
  if (*to == DType::F32) return std::nullopt;
  if (*to == DType::F16 || *to == DType::BF16) return to;
  context_
      .error(Code::E0201, a.index->span,
             "`@autocast` rounds operands of products to bf16 or f16, not to " + std::string(ir::name(*to)))
      .help("`bf16` has the range of f32, `f16` has 3 more bits; `f32` switches it off");
  return outer;
}

}  // namespace tenc::frontend
