// Calls that TL writes as formulas of several operations. What stands in one more than once is a parameter of a lambda,
// so that it is computed once, and no name of the script is hidden.
#include "syntax/ForeignForms.h"

namespace tenc::syntax {

namespace {

constexpr std::string_view kTrapezoid = "write `sum((y[1:] + y[:-1]) / 2.0) * dx`";
constexpr std::string_view kDifferences =
    "differences are written `(y[2:] - y[:-2]) / 2.0`; the derivative of a function is `grad(f)`";
constexpr std::string_view kCovariance = "center the variables and write `a.T @ a / f32(n - 1)`";
constexpr std::string_view kCorrelation = "center and scale the variables and write `a.T @ a`";
constexpr std::string_view kPolynomial =
    "a polynomial is fitted by `lstsq(a, y).0`, where the columns of `a` are powers of x: `x[:, new] ** [2.0, 1.0, "
    "0.0]`";
constexpr std::string_view kChosen = "`where(c, a, b)` chooses between two";
constexpr std::string_view kByKey =
    "elements are ordered by the indices of what they are compared by: `xs[argsort(f(xs))]`";
constexpr std::string_view kDerivatives =
    "it is in a module: `ad.jacobian(f)(x)`, `ad.hessian(f)(x)` or `ad.hvp(f)(x, v)` after `import ad`";
constexpr std::string_view kLoop = "a loop is written `while c { ... }`, and changes variables";

constexpr ForeignCall kCalls[] = {
    // Calculus with tables.
    {.call = "trapezoid(y)",
     .text = "(|y| sum((y[1:] + y[:-1]) / 2.0))({y})",
     .form = kPrefixed,
     .help = kTrapezoid,
     .rank = 1},
    {.call = "trapezoid(y, x)",
     .text = "(|y, x| sum((y[1:] + y[:-1]) / 2.0 * (x[1:] - x[:-1])))({y}, {x})",
     .form = kPrefixed,
     .help = kTrapezoid,
     .rank = 1},
    {.call = "trapezoid(y, -x=None, !dx)",
     .text = "(|y| sum((y[1:] + y[:-1]) / 2.0))({y}) * {dx}",
     .form = kPrefixed,
     .help = kTrapezoid,
     .rank = 1},
    {.call = "trapz(y)",
     .text = "(|y| sum((y[1:] + y[:-1]) / 2.0))({y})",
     .form = kPrefixed,
     .help = kTrapezoid,
     .rank = 1},
    {.call = "trapz(y, x)",
     .text = "(|y, x| sum((y[1:] + y[:-1]) / 2.0 * (x[1:] - x[:-1])))({y}, {x})",
     .form = kPrefixed,
     .help = kTrapezoid,
     .rank = 1},
    {.call = "trapz(y, -x=None, !dx)",
     .text = "(|y| sum((y[1:] + y[:-1]) / 2.0))({y}) * {dx}",
     .form = kPrefixed,
     .help = kTrapezoid,
     .rank = 1},
    {.call = "gradient(y)",
     .text = "(|y| concat(([y[1] - y[0]], (y[2:] - y[:-2]) / 2.0, [y[-1] - y[-2]])))({y})",
     .form = kNumPy,
     .help = kDifferences,
     .rank = 1},
    {.call = "gradient(*, **)", .text = "", .help = kDifferences},
    // Polynomials.
    {.call = "polyfit(x, y, +deg)",
     .text = "lstsq({x}[:, new] ** f32(flip(arange({deg} + 1))), {y}).0",
     .form = kNumPy,
     .help = kPolynomial,
     .rank = 1,
     .dtype = "f32"},
    {.call = "polyfit(*, **)", .text = "", .help = kPolynomial},
    {.call = "polyval(p, x)",
     .text = "(|p, x| {{ var y = zeros_like(x) + p[0]; for i in 1..p.shape[0] {{ y = y * x + p[i] }}; y }})({p}, {x})",
     .form = kNumPy,
     .rank = 1},
    {.call = "vander(x, !N)",
     .text = "{x}[:, new] ** f32(flip(arange({N})))",
     .form = kNumPy,
     .rank = 1,
     .dtype = "f32"},
    {.call = "vander(x, !N, !increasing=true)",
     .text = "{x}[:, new] ** f32(arange({N}))",
     .form = kNumPy,
     .rank = 1,
     .dtype = "f32"},
    // Statistics: the variables are rows.
    {.call = "cov(x, rowvar=true)",
     .text = "(|x| {{ let a = x - mean(x, axis: 1, keep: true); a @ a.T / f32(x.shape[1] - 1) }})({x})",
     .form = kPrefixed,
     .help = kCovariance,
     .rank = 2},
    {.call = "cov(x, !rowvar=false)",
     .text = "(|x| {{ let a = x - mean(x, axis: 0); a.T @ a / f32(x.shape[0] - 1) }})({x})",
     .form = kPrefixed,
     .help = kCovariance,
     .rank = 2},
    {.call = "corrcoef(x)",
     .text =
         "(|x| {{ let a = x - mean(x, axis: 1, keep: true); let b = a / sqrt(sum(a * a, axis: 1, keep: true)); b @ b.T "
         "}})({x})",
     .form = kPrefixed,
     .help = kCorrelation,
     .rank = 2},
    {.call = "corrcoef(x, y)",
     .text =
         "(|x| {{ let a = x - mean(x, axis: 1, keep: true); let b = a / sqrt(sum(a * a, axis: 1, keep: true)); b @ b.T "
         "}})(stack([{x}, {y}]))",
     .form = kNumPy,
     .help = kCorrelation,
     .rank = 1},
    {.call = "cdist(a, b)",
     .text = "norm({a}[:, new] - {b}, axis: 2)",
     .form = kPrefixed,
     .help = "write `norm(a[:, new] - b, axis: 2)`",
     .rank = 2},
    {.call = "kron(a, b)",
     .text = "(|a, b| reshape(einsum(\"ij,kl->ikjl\", a, b), [a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]]))({a}, "
             "{b})",
     .form = kPrefixed,
     .help = "write it with `einsum(\"ij,kl->ikjl\", a, b)` and `reshape`",
     .rank = 2},
    // Choices.
    {.call = "select(%condlist, %choicelist)",
     .text = "where({condlist.0}, {choicelist.0}, where({condlist.1}, {choicelist.1}, 0))",
     .form = kNumPy,
     .help = kChosen},
    {.call = "select(%condlist, %choicelist, !default)",
     .text = "where({condlist.0}, {choicelist.0}, where({condlist.1}, {choicelist.1}, {default}))",
     .form = kNumPy,
     .help = kChosen},
    {.call = "select(%condlist, %choicelist, !default)",
     .text =
         "where({condlist.0}, {choicelist.0}, where({condlist.1}, {choicelist.1}, where({condlist.2}, {choicelist.2}, "
         "{default})))",
     .form = kNumPy,
     .help = kChosen},
    {.call = "nan_to_num(x, -copy=true)",
     .text = "(|x| where(isnan(x), 0.0, clamp(x, -3.4028235e38, 3.4028235e38)))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "nan_to_num(x, -copy=true, !nan)",
     .text = "(|x| where(isnan(x), {nan}, clamp(x, -3.4028235e38, 3.4028235e38)))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "nan_to_num(x, -copy=true, !nan, !posinf)",
     .text = "(|x| where(isnan(x), {nan}, where(x == inf, {posinf}, maximum(x, -3.4028235e38))))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "nan_to_num(x, -copy=true, !posinf)",
     .text = "(|x| where(isnan(x), 0.0, where(x == inf, {posinf}, maximum(x, -3.4028235e38))))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "nan_to_num(x, -copy=true, !neginf)",
     .text = "(|x| where(isnan(x), 0.0, where(x == -inf, {neginf}, minimum(x, 3.4028235e38))))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "nan_to_num(x, -copy=true, !posinf, !neginf)",
     .text = "(|x| where(isnan(x), 0.0, where(x == inf, {posinf}, where(x == -inf, {neginf}, x))))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "nan_to_num(x, -copy=true, !nan, !posinf, !neginf)",
     .text = "(|x| where(isnan(x), {nan}, where(x == inf, {posinf}, where(x == -inf, {neginf}, x))))({x})",
     .form = kPrefixed,
     .help = kChosen,
     .dtype = "f32"},
    {.call = "sort(x, :key)",
     .text = "(|x, f| x[argsort(map(f, x))])({x}, {key})",
     .apart = true,
     .help = kByKey,
     .rank = 1},
    {.call = "sort(x, :key, !descending=true)",
     .text = "(|x, f| x[argsort(map(f, x), descending: true)])({x}, {key})",
     .apart = true,
     .help = kByKey,
     .rank = 1},
    {.call = "min(x, :key)",
     .text = "(|x, f| x[argmin(map(f, x))])({x}, {key})",
     .apart = true,
     .help = kByKey,
     .rank = 1},
    {.call = "max(x, :key)",
     .text = "(|x, f| x[argmax(map(f, x))])({x}, {key})",
     .apart = true,
     .help = kByKey,
     .rank = 1},
    // Running results of NumPy's functions of two operands.
    {.call = "add.accumulate(x)", .text = "cumsum({x}, axis: 0)", .form = kNumPy},
    {.call = "multiply.accumulate(x)", .text = "cumprod({x}, axis: 0)", .form = kNumPy},
    {.call = "maximum.accumulate(x)", .text = "cummax({x}, axis: 0)", .form = kNumPy},
    {.call = "minimum.accumulate(x)", .text = "cummin({x}, axis: 0)", .form = kNumPy},
    // Derivatives of higher order, and loops.
    {.call = "hessian(f)", .text = "ad.hessian({f})", .form = kPrefixed, .help = kDerivatives},
    {.call = "jacfwd(f)", .text = "ad.jacobian({f})", .form = kPrefixed, .help = kDerivatives},
    {.call = "jacobian(f)", .text = "ad.jacobian({f})", .form = kPrefixed, .help = kDerivatives},
    {.call = "jacrev(f)", .text = "ad.jacobian({f})", .form = kPrefixed, .help = kDerivatives},
    {.call = "functional.jacobian(f, x)", .text = "ad.jacobian({f})({x})", .form = kTorch, .help = kDerivatives},
    {.call = "functional.hessian(f, x)", .text = "ad.hessian({f})({x})", .form = kTorch, .help = kDerivatives},
    {.call = "lax.while_loop(c, f, init)",
     .text = "{{ var carried = {init}; while ({c})(carried) {{ carried = ({f})(carried) }}; carried }}",
     .form = kNumPy,
     .help = kLoop},
    {.call = "lax.scan(f, init, !xs=None, !length)",
     .text = "scan({f}, {init}, arange({length}))",
     .form = kNumPy,
     .help = "`scan` goes over the rows of a tensor; over the numbers of the steps where it reads nothing else"},
    {.call = "lax.while_loop(*)", .text = "", .form = kNumPy, .help = kLoop},
};

}  // namespace

std::span<const ForeignCall> foreignFormulas() { return kCalls; }

}  // namespace tenc::syntax
