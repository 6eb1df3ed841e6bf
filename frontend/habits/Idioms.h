// What people write with tensors, lists and models elsewhere that TL writes as a statement of another kind: edits of
// the script around an error.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/calls/Arguments.h"
#include "frontend/values/Values.h"
#include "support/Diagnostics.h"
#include "syntax/Ast.h"

namespace tenc::frontend {

class Context;

/// `n / m` of integers as a division of floats; none where what is divided is not written there.
std::vector<Edit> dividedAsFloats(const SourceManager& sources, const Val& a, const Val& b);
/// `[a, b]` as `(a, b)`.
std::vector<Edit> asTuple(const SourceManager& sources, Span array);
/// `histogram(x, range: (lo, hi))` of floats with its values moved to the range from 0 to 1.
std::vector<Edit> movedToUnit(const SourceManager& sources, const Val& x, const Val& range);
/// The base of an integer power as a float.
std::vector<Edit> negativePower(const SourceManager& sources, const Val& base);
/// `x = x.at[i].set(v)` of JAX as `x[i] = v`; `member` is the place of `at`.
std::optional<Help> updatedAt(Context& context, Span member);
/// `m.weight` of PyTorch's `Linear` as `m.w.T`; `member` is the place of the name.
std::optional<Help> weightOfLinear(const Val& layer, std::string_view name, Span member);
/// The same where it is assigned: `m.weight = v` is `m.w = (v).T`.
std::optional<Help> assignedWeight(Context& context, const Val& layer, const ast::Expr& member);
/// `sort(x).values`, `topk(x, k).indices` of PyTorch; `member` is the place of the name behind the point.
std::optional<Help> partOfPair(Context& context, const Val& base, Span member, std::string_view name);
/// `max(x, 1)` that is taken apart, as the values and the indices along that axis.
std::optional<Help> valuesAndIndices(Context& context, const ast::Expr& call);
/// `losses.append(v)` in a loop over a range as an element of a tensor that is made before it.
std::optional<Help> appended(Context& context, const ast::Expr& call, const Val& value);
/// `for i, x in enumerate(xs, start=1)` with the start added in the body.
std::optional<Help> countedFrom(Context& context, const ast::Expr& call);
/// `Point(1.0, 2.0)` as `Point { x: 1.0, y: 2.0 }`.
std::optional<Help> builtStruct(Context& context, const StructDecl& decl, const CallArgs& args);
/// `vmap(f)(t, u)` of trees as `map_leaves(f, t, u)`; `argument` is the place of one of them.
std::optional<Help> eachPart(Context& context, Span argument);
/// `ones([2], device: gpu)` with an annotation.
std::optional<Help> annotatedPlace(Context& context, Span argument);
/// `optim.adam(m, lr: 0.1)`: the option at the steps of the script.
std::optional<Help> optionOfSteps(Context& context, Span argument, const std::string& name);
/// Takes an option out of its call, where TL has no use for it (`Familiar::nothing`).
std::optional<Help> optionLeftOut(Context& context, Span argument, const std::string& name);
/// A variable that is assigned another type where it was bound, bound anew.
std::optional<Help> boundAnew(Context& context, Span statement, Span declared);
/// `x: torch.Tensor` and `-> np.ndarray` without the type, which TL infers.
std::optional<Help> withoutType(Context& context, const ast::TypeExpr& type);
/// `fn f(n: N)`, `fn f(x: T[N])` with the variable among those that the function lists.
std::optional<Help> listedVariable(Context& context, const ast::TypeExpr& type);
/// `f32[x.shape[0]]`: the dim that the type of the parameter has there.
std::optional<Help> dimOfParameter(Context& context, const ast::TypeExpr& type);

}  // namespace tenc::frontend
