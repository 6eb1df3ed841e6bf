#!/usr/bin/env python3
"""Writes the programs of this folder whose expected output NumPy computes: make.py [NAME...].

A program is a list of pairs: a TL expression, and the value that it must have. Values print in TL as in NumPy, headed by
the type, so the header of a program is made from the values alone. Numbers compare exactly, or within the bound in BOUNDS.
"""
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
NAMES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool", **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
         **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)}}
f32, f64, i64 = np.float32, np.float64, np.int64


def shown(value):
    """The lines that `print` gives for a value."""
    if isinstance(value, str):
        return value.split("\n")
    a = np.asarray(value)
    if a.dtype == np.bool_ and a.ndim == 0:
        return ["true" if a else "false"]
    if a.ndim == 0:
        return [np.format_float_positional(a[()], trim="0") if a.dtype.kind == "f" and 1e-4 <= abs(a) < 1e15 or a == 0 and a.dtype.kind == "f" else str(a)]
    text = np.array2string(a)
    if a.dtype == bool:  # bools are written as TL writes them
        text = text.replace("True", "true").replace("False", "false")
    return [f"{NAMES[a.dtype.name]}{[int(d) for d in a.shape]} @cpu", *text.split("\n")]


def tl(a):
    """A value as a TL literal of its dtype."""
    a = np.asarray(a)
    items = repr(a.tolist()).replace("True", "true").replace("False", "false")
    name = NAMES[a.dtype.name]
    return items if name in ("f32", "i64", "bool") else f"{name}({items})"


# The programs whose numbers are not all NumPy's to the last digit: by how much, and why.
BOUNDS = {
    "convolution": "1.2e-7 one rounding of f32: NumPy sums in another order",
    "elementwise": "2.4e-7 functions of f32 are within 2 units in the last place (docs/math.md)",
    "normalisation": "4.8e-7 4 roundings of f32: NumPy's values are rounded from f64",
    "order": "2.4e-7 2 roundings of f32: running sums and products in another order than NumPy's",
    "reductions": "2.4e-7 2 roundings of f32: NumPy sums in another order",
}


def program(name, setup, cases):
    lines = ["#$ tenc FILE", *([f"#~ {BOUNDS[name]}"] if name in BOUNDS else [])]
    body = []
    for case in cases:
        code, value = case
        lines += ["#> " + line for line in shown(value)]
        # A statement is followed by its own print.
        body.append(code if "print(" in code else f"print({code})")
    return "\n".join([*lines, "", f"# {name.capitalize()}; made by make.py.", *setup, *body, ""])


rng = np.random.default_rng(7)
x = np.array([[0.5, -1.25, 2.0], [-0.75, 0.0, 3.5]], f32)
y = np.array([[1.5, 0.25, -2.0], [0.75, 1.0, -0.5]], f32)
pos = np.array([0.25, 1.0, 2.5, 10.0], f32)
k = np.array([7, -7, 3, 0, -128], i64)
m34 = np.arange(12, dtype=f32).reshape(3, 4) - 5
c234 = (np.arange(24, dtype=f32).reshape(2, 3, 4) - 11) / 4
erf = np.vectorize(math.erf)
sigmoid = lambda v: 1 / (1 + np.exp(-v))
softplus = lambda v: np.log1p(np.exp(v))
r = lambda v: np.asarray(v, f32)
base = [f"let x = {tl(x)}", f"let y = {tl(y)}", f"let p = {tl(pos)}", f"let k = {tl(k)}", f"let m = {tl(m34)}", f"let c = {tl(c234)}"]


def elementwise():
    a, b = x.astype(f64), y.astype(f64)
    cases = [(f"{n}(x)", r(f(a))) for n, f in [
        ("abs", np.abs), ("sign", np.sign), ("square", np.square), ("exp", np.exp), ("exp2", np.exp2), ("expm1", np.expm1),
        ("sin", np.sin), ("cos", np.cos), ("tan", np.tan), ("atan", np.arctan), ("sinh", np.sinh), ("cosh", np.cosh),
        ("tanh", np.tanh), ("asinh", np.arcsinh), ("floor", np.floor), ("ceil", np.ceil), ("round", np.round), ("trunc", np.trunc),
        ("erf", erf), ("erfc", np.vectorize(math.erfc)), ("relu", lambda v: np.maximum(v, 0)), ("sigmoid", sigmoid),
        ("softplus", softplus), ("silu", lambda v: v * sigmoid(v)), ("mish", lambda v: v * np.tanh(softplus(v))),
        ("hardswish", lambda v: v * np.clip(v / 6 + 0.5, 0, 1)), ("hardsigmoid", lambda v: np.clip(v / 6 + 0.5, 0, 1)),
        ("hardtanh", lambda v: np.clip(v, -1, 1)), ("elu", lambda v: np.where(v > 0, v, np.expm1(v))),
        ("selu", lambda v: 1.0507009873554805 * np.where(v > 0, v, 1.6732632423543772 * np.expm1(v))),
        ("celu", lambda v: np.where(v > 0, v, np.expm1(v))), ("softsign", lambda v: v / (1 + np.abs(v))),
        ("leaky_relu", lambda v: np.where(v > 0, v, 0.01 * v)), ("gelu", lambda v: v * 0.5 * (1 + erf(v / math.sqrt(2))))]]
    q = pos.astype(f64)
    cases += [(f"{n}(p)", r(f(q))) for n, f in [
        ("sqrt", np.sqrt), ("rsqrt", lambda v: 1 / np.sqrt(v)), ("cbrt", np.cbrt), ("log", np.log), ("log2", np.log2),
        ("log10", np.log10), ("log1p", np.log1p), ("reciprocal", lambda v: 1 / v), ("lgamma", np.vectorize(math.lgamma)),
        ("digamma", lambda v: [-4.2274535, -0.5772157, 0.7031566, 2.2517526])]]
    half = np.array([-0.9, 0.0, 0.5], f64)
    cases += [(f"{n}([-0.9, 0.0, 0.5])", r(f(half))) for n, f in [("asin", np.arcsin), ("acos", np.arccos), ("atanh", np.arctanh)]]
    cases += [("acosh([1.0, 1.5, 20.0])", r(np.arccosh([1, 1.5, 20.0]))),
              ("elu(x, alpha: 2.0)", r(np.where(a > 0, a, 2 * np.expm1(a)))), ("celu(x, alpha: 2.0)", r(np.where(a > 0, a, 2 * np.expm1(a / 2)))),
              ("leaky_relu(x, slope: 0.5)", r(np.where(a > 0, a, 0.5 * a))),
              ("gelu(x, approximate: \"tanh\")", r(0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a ** 3))))),
              ("relu([-2, 3])", np.maximum([-2, 3], 0)), ("abs(i8([-128, 5]))", np.abs(np.array([-128, 5], np.int8))),
              ("sign([-3, 0, 9])", np.sign([-3, 0, 9])), ("isnan([nan, 1.0, inf])", np.array([True, False, False])),
              ("isnan([1, 2])", np.array([False, False])), ("isfinite(u8([1, 2]))", np.array([True, True])),
              ("isinf([true])", np.array([False])),
              ("isinf([nan, 1.0, -inf])", np.array([False, False, True])), ("isfinite([nan, 1.0, inf])", np.array([False, True, False])),
              ("bitwise_invert([0, 5, -1])", ~np.array([0, 5, -1])), ("logical_not([true, false])", np.array([False, True])),
              ("popcount(u8([0, 255, 6]))", np.array([0, 8, 2], np.uint8)), ("round([0.5, 1.5, -2.5])", r([0, 2, -2]))]
    for n, f in [("maximum", np.maximum), ("minimum", np.minimum), ("max", np.maximum), ("min", np.minimum), ("atan2", np.arctan2),
                 ("hypot", np.hypot), ("fmod", np.fmod), ("copysign", np.copysign), ("logaddexp", np.logaddexp)]:
        cases.append((f"{n}(x, y)", r(f(a, b))))
    with np.errstate(over="ignore"):
        wrapped = np.array([3, -7, 46341], np.int32) ** 2
    cases += [("pow(p, 2.0)", pos ** 2), ("pow([2, -3, 5], 3)", np.array([8, -27, 125])), ("i32([3, -7, 46341]) ** 2", wrapped),
              ("[7, -7, 7, -7] // [2, 2, -2, -2]", np.array([7, -7, 7, -7]) // np.array([2, 2, -2, -2])),
              ("[7, -7, 7, -7] % [2, 2, -2, -2]", np.array([7, -7, 7, -7]) % np.array([2, 2, -2, -2])),
              ("[7.5, -7.5] // 2.0", r([3, -4])), ("[7.5, -7.5] % 2.0", r([1.5, 0.5])), ("trunc_div([7, -7], 2)", np.array([3, -3])),
              ("fmod([7, -7], 3)", np.array([1, -1])), ("nextafter([1.0], 2.0) > 1.0", np.array([True])),
              ("logical_and([true, true], [true, false])", np.array([True, False])), ("logical_or([true, false], [false, false])", np.array([True, False])),
              ("logical_xor([true, true], [true, false])", np.array([False, True])), ("bitwise_and([12, 10], 6)", np.array([12, 10]) & 6),
              ("bitwise_or([12, 10], 6)", np.array([12, 10]) | 6), ("bitwise_xor([12, 10], 6)", np.array([12, 10]) ^ 6),
              ("bitwise_left_shift([1, 3], 4)", np.array([16, 48])), ("bitwise_right_shift([-16, 48], 2)", np.array([-4, 12])),
              ("where(x > 0.0, x, y)", np.where(x > 0, x, y)), ("where([true, false], 1, 0)", np.array([1, 0])),
              ("clamp(x, -1.0, 1.0)", np.clip(x, -1, 1)), ("clamp(x, -inf, 0.5)", np.minimum(x, f32(0.5))), ("clamp([1, 5, 9], 6, 4)", np.array([4, 4, 4])),
              ("lerp(x, y, 0.25)", r(x + 0.25 * (y - x))), ("fma(x, y, 1.0)", r(x * y + 1)),
              ("i32([1.9, -1.9, nan, 1e10])", np.array([1, -1, 0, 2147483647], np.int32)), ("u8(big)", np.array([44, 255], np.uint8)),
              ("f64([1, 2])", np.array([1, 2], f64)), ("bool([0.0, 2.0])", np.array([False, True])), ("f16([0.1, 2.5])", np.array([0.1, 2.5], np.float16)),
              ("bitcast([1.0, -2.0], dtype: i32)", np.array([1, -2], f32).view(np.int32)),
              ("x + [10.0, 20.0, 30.0]", x + r([10, 20, 30])), ("x * [[2.0], [3.0]]", x * r([[2], [3]])), ("1 - k", 1 - k), ("-x", -x),
              ("x == 0.0", x == 0), ("(x < y) or (x > 3.0)", (x < y) | (x > 3)), ("not (x < y)", ~(x < y))]
    return [*base, "let big = [300, -1]"], cases


def reductions():
    cases = []
    a = c234.astype(f64)
    for n, f in [("sum", np.sum), ("prod", np.prod), ("mean", np.mean), ("max", np.max), ("min", np.min), ("std", np.std), ("variance", np.var),
                 ("median", np.median)]:
        for axis in (None, 0, 1, -1, (0, 2)):
            cases.append((f"{n}(c{'' if axis is None else f', axis: {axis}'})", r(f(a, axis=axis))))
        cases.append((f"{n}(c, axis: 1, keep: true)", r(f(a, axis=1, keepdims=True))))
    lse = lambda v, axis: np.log(np.sum(np.exp(v), axis=axis))
    cases += [("logsumexp(c)", r(lse(a, None))), ("logsumexp(c, axis: 1)", r(lse(a, 1))), ("std(c, axis: 0, correction: 1)", r(np.std(a, axis=0, ddof=1))),
              ("any(c > 2.0, axis: 0)", np.any(c234 > 2, axis=0)), ("all(c > -9.0)", np.True_), ("any(c > 9.0)", np.False_),
              ("all(c > -2.0, axis: -1, keep: true)", np.all(c234 > -2, axis=-1, keepdims=True)), ("count_nonzero(c)", i64(np.count_nonzero(c234))),
              ("count_nonzero(k)", i64(4)), ("argmax(c)", i64(np.argmax(c234))), ("argmin(c, axis: 1)", np.argmin(c234, axis=1)),
              ("argmax(c, axis: -1, keep: true)", np.argmax(c234, axis=-1, keepdims=True)), ("argmax([1, 3, 3])", i64(1)),
              ("norm(c)", r(np.linalg.norm(a.ravel()))), ("norm(c, axis: 2)", r(np.linalg.norm(a, axis=2))), ("norm(m, ord: 1, axis: 0)", r(np.abs(m34).sum(0))),
              ("norm(m, ord: inf)", r(6.0)), ("norm(m, ord: 3, axis: 1)", r((np.abs(m34.astype(f64)) ** 3).sum(1) ** (1 / 3))),
              ("sum(k)", k.sum()), ("sum(i32([1, 2, 3]))", i64(6)), ("prod(u8([200, 2]))", np.uint64(400)), ("sum([true, true, false])", i64(2)),
              ("max(k)", k.max()), ("min(i8([3, -4]))", np.int8(-4)), ("mean(f16([1.0, 2.0]))", np.float16(1.5)), ("sum(zeros([0]))", r(0)),
              ("prod(zeros([2, 0]), axis: 1)", r([1, 1])), ("max(zeros([0]))", f32(-np.inf)), ("median([3.0, 1.0, 2.0])", r(2)),
              ("max([1.0, nan, 3.0])", f32(np.nan)), ("sum(c.shape)", i64(9))]
    return base, cases


def order():
    t = np.array([[3, 1, 2, 1], [0, -5, 9, 9], [4, 4, 4, 0]], f32)
    cases = []
    for axis in (0, 1):
        cases += [(f"cumsum(t, axis: {axis})", np.cumsum(t, axis)), (f"cumprod(t, axis: {axis})", np.cumprod(t, axis)),
                  (f"cummax(t, axis: {axis})", np.maximum.accumulate(t, axis)), (f"cummin(t, axis: {axis})", np.minimum.accumulate(t, axis)),
                  (f"logcumsumexp(t, axis: {axis})", r(np.log(np.cumsum(np.exp(t.astype(f64)), axis)))),
                  (f"cumsum(t, axis: {axis}, reverse: true)", np.flip(np.cumsum(np.flip(t, axis), axis), axis)),
                  (f"sort(t, axis: {axis})", np.sort(t, axis)), (f"argsort(t, axis: {axis})", np.argsort(t, axis, kind="stable")),
                  (f"sort(t, axis: {axis}, descending: true)", -np.sort(-t, axis)),
                  (f"argsort(t, axis: {axis}, descending: true)", np.argsort(-t, axis, kind="stable"))]
    big = rng.permutation(37).astype(np.int64) * 1_000_000_007 - 5
    cases += [("cumsum([1, 2, 3], exclusive: true)", np.array([0, 1, 3])), ("cumsum([1, 2, 3], exclusive: true, reverse: true)", np.array([5, 3, 0])),
              ("cumsum(i32([1, 2, 3]))", np.array([1, 3, 6])), ("cumprod([2, 3, 4], exclusive: true)", np.array([1, 2, 6])),
              ("cummax([1.0, 3.0, 2.0], exclusive: true)", r([-np.inf, 1, 3])),
              ("sort([3, 1, 2])", np.array([1, 2, 3])), (f"sort({tl(big)})", np.sort(big)), (f"argsort({tl(big)}, descending: true)", np.argsort(-big, kind="stable")),
              ("sort([nan, 1.0, -inf, 0.0])", r([-np.inf, 0, 1, np.nan])), ("sort(u8([200, 3, 255]))", np.array([3, 200, 255], np.uint8)),
              ("sort([true, false, true])", np.array([False, True, True])), ("argsort([0.0, -0.0])", np.array([0, 1])),
              ("topk(t, k: 2).0", -np.sort(-t, 1)[:, :2]), ("topk(t, k: 2).1", np.argsort(-t, 1, kind="stable")[:, :2]),
              ("topk([5, 1, 4], k: 1, largest: false).0", np.array([1])),
              ("searchsorted([1.0, 2.0, 2.0, 5.0], [0.0, 2.0, 3.0, 9.0])", np.searchsorted([1, 2, 2, 5], [0, 2, 3, 9])),
              ("searchsorted([1.0, 2.0, 2.0, 5.0], [0.0, 2.0, 3.0, 9.0], right: true)", np.searchsorted([1, 2, 2, 5], [0, 2, 3, 9], side="right")),
              ("bincount([1, 0, 1, 4], length: 6)", np.bincount([1, 0, 1, 4], minlength=6)),
              ("histogram([0.0, 0.4, 1.0, 0.99, 2.0], bins: 4, range: (0.0, 1.0))", np.histogram([0, 0.4, 1, 0.99, 2], 4, (0, 1))[0])]
    return [f"let t = {tl(t)}"], cases


def shape():
    s = np.arange(6).reshape(2, 3)
    cases = [("reshape(c, [4, -1])", c234.reshape(4, -1)), ("c.reshape([24])[3]", r(c234.ravel()[3])), ("flatten(c)", c234.ravel()),
             ("squeeze(ones([1, 2, 1]))", np.ones(2, f32)), ("squeeze(ones([1, 2, 1]), axis: 0)", np.ones((2, 1), f32)),
             ("expand_dims(s, axis: 1)", s[:, None]), ("expand_dims(s, axis: (0, -1))", s[None, :, :, None]), ("permute_dims(c, [2, 0, 1])", c234.transpose(2, 0, 1)),
             ("transpose(c, 0, 2)", c234.swapaxes(0, 2)), ("s.T", s.T), ("c.T", c234.swapaxes(1, 2)), ("moveaxis(c, 0, -1)", np.moveaxis(c234, 0, -1)),
             ("broadcast_to([1, 2, 3], [2, 3])", np.broadcast_to([1, 2, 3], (2, 3))), ("tile(s, [2, 1])", np.tile(s, (2, 1))), ("tile([1, 2], [2, 2])", np.tile([1, 2], (2, 2))),
             ("repeat(s, 2, axis: 1)", np.repeat(s, 2, 1)), ("repeat(s, 2)", np.repeat(s, 2)), ("concat((s, s + 10); axis: 1)".replace(";", ","), np.concatenate([s, s + 10], 1)),
             ("concat([s, s])", np.concatenate([s, s])), ("stack((s, s), axis: -1)", np.stack([s, s], -1)), ("split(s, 3, axis: 1).1", s[:, 1:2]),
             ("split(m, [1, 3], axis: 1).1", m34[:, 1:]), ("unstack(s).1", s[1]), ("flip(s)", np.flip(s)), ("flip(s, axis: 1)", np.flip(s, 1)), ("roll(s, 1, axis: 1)", np.roll(s, 1, 1)),
             ("roll(s, -2)", np.roll(s, -2)), ("tril(m)", np.tril(m34)), ("triu(m, k: 1)", np.triu(m34, 1)), ("tril(c, k: -1)", np.tril(c234, -1)), ("diagonal(m, offset: 1)", np.diagonal(m34, 1)),
             ("diagonal(c, axes: (0, 2))", np.diagonal(c234, 0, 0, 2)), ("diagonal(m, offset: -1)", np.diagonal(m34, -1)), ("diag([1, 2])", np.diag([1, 2])), ("diag([1, 2], k: 1)", np.diag([1, 2], 1)),
             ("diag([1, 2], k: -1)", np.diag([1, 2], -1)), ("diag(m)", np.diag(m34)), ("meshgrid([1, 2, 3], [4, 5]).0", np.meshgrid([1, 2, 3], [4, 5])[0]),
             ("meshgrid([1, 2, 3], [4, 5], indexing: \"ij\").1", np.meshgrid([1, 2, 3], [4, 5], indexing="ij")[1])]
    for mode in ("constant", "edge", "reflect", "wrap"):
        cases.append((f"pad(s, [[1, 2], [2, 1]], mode: \"{mode}\")", np.pad(s, [[1, 2], [2, 1]], mode=mode)))
    cases += [("pad(s, [[0, 0], [1, 1]], value: 9)", np.pad(s, [[0, 0], [1, 1]], constant_values=9)), ("pad(s, [[0, -1], [-1, 1]])", np.pad(s[:1, 1:], [[0, 0], [0, 1]])),
              ("pad([1, 2, 3], 5, mode: \"reflect\")", np.pad([1, 2, 3], 5, mode="reflect")), ("pad([1.0], (1, 2))", r([0, 1, 0, 0]))]
    win = np.arange(16, dtype=f32).reshape(1, 1, 4, 4)
    cols = np.stack([win[0, 0, i:i + 3, j:j + 3].ravel() for i in range(2) for j in range(2)])[None]
    cases.append(("unfold(arange(16).reshape([1, 1, 4, 4]), (2, 2)).shape", "[1, 4, 9]"))
    cases.append(("unfold(f32(arange(16)).reshape([1, 1, 4, 4]), (2, 2))", cols))
    return [*base, "let s = arange(6).reshape([2, 3])"], cases


def indexing():
    a, i, j = c234, np.array([1, 0, -1]), np.array([[0], [2]])
    cases = [("c[1]", a[1]), ("c[-1, 2]", a[-1, 2]), ("c[0, 1, 2]", a[0, 1, 2]), ("c[:, 1]", a[:, 1]), ("c[..., 0]", a[..., 0]), ("c[0, ..., 1:3]", a[0, ..., 1:3]),
             ("c[:, ::2, ::-1]", a[:, ::2, ::-1]), ("c[1, 2, ::-2]", a[1, 2, ::-2]), ("m[:, new].shape", "[3, 1, 4]"), ("m[new, 1, :, new].shape", "[1, 4, 1]"), ("m[1:, -2:]", m34[1:, -2:]),
             ("m[2:0:-1]", m34[2:0:-1]), ("m[1:1].shape", "[0, 4]"), ("m[i]", m34[i]), ("m[:, i]", m34[:, i]), ("m[i, i]", m34[i, i]), ("m[j, i]", m34[j, i]), ("c[:, i, 1]", a[:, i, 1]),
             ("c[1, :, i]", a[1, :, i]), ("c[[0, 1], :, [2, 3]]", a[[0, 1], :, [2, 3]]), ("c[[0, 1], 1]", a[[0, 1], 1]), ("c[:, 1:, [0, 3]]", a[:, 1:, [0, 3]]), ("m[n]", m34[1]), ("m[n, 2]", m34[1, 2]), ("m[n, n]", m34[1, 1]),
             ("m[n - 2, 1:3]", m34[-1, 1:3]), ("m[n :+ 2]", m34[1:3]), ("c[:, n :+ 2, 0]", a[:, 1:3, 0]), ("c[n, n :+ 2, [1, 2]]", a[1][1:3][:, [1, 2]].T), ("take(m, [2, 0], axis: 0)", m34[[2, 0]]), ("take(m, [[1], [3]], axis: 1)", m34[:, [[1], [3]]]), ("take([5, 6, 7], 1)", i64(6)),
             ("take_along_axis(m, argsort(m, axis: 1, descending: true), axis: 1)", -np.sort(-m34, 1)), ("gather(m, [[0], [1], [-1]], axis: 1)", np.take_along_axis(m34, np.array([[0], [1], [3]]), 1)),
             ("one_hot([0, 2, 5], 3)", np.array([[True, False, False], [False, False, True], [False, False, False]])), ("one_hot([1, 0], 2, dtype: f32, axis: 0)", r([[0, 1], [1, 0]])),
             ("scatter(zeros([5]), [1, 1, 3], [1.0, 2.0, 3.0], axis: 0, reduce: \"add\")", r([0, 3, 0, 3, 0])), ("scatter(zeros([5]), [1, 1, 3], [1.0, 2.0, 3.0], axis: 0)", r([0, 2, 0, 3, 0])),
             ("scatter(ones([3]), [0, 0], [2.0, 3.0], reduce: \"mul\")", r([6, 1, 1])), ("scatter(ones([3]), [0, 0], [5.0, 3.0], reduce: \"max\")", r([5, 1, 1])),
             ("scatter(zeros([2, 3]), [[0], [2]], [[7.0], [8.0]], axis: 1)", r([[7, 0, 0], [0, 0, 8]]))]
    updates = [("v[1] = 5.0", lambda v: v.__setitem__(1, 5)), ("v[0, 1:3] = [7.0, 8.0]", lambda v: v.__setitem__((0, slice(1, 3)), [7, 8])), ("v[:, ::-2] = [[1.0], [2.0], [3.0]]", lambda v: v.__setitem__((slice(None), slice(None, None, -2)), [[1], [2], [3]])),
               ("v[n, 2] = 9.0", lambda v: v.__setitem__((1, 2), 9)), ("v[n] = [1.0, 2.0, 3.0, 4.0]", lambda v: v.__setitem__(1, [1, 2, 3, 4])), ("v[n, 1:3] = -1.0", lambda v: v.__setitem__((1, slice(1, 3)), -1)), ("v[n :+ 2, 1] = [4.0, 5.0]", lambda v: v.__setitem__((slice(1, 3), 1), [4, 5])),
               ("v[n :+ 2, ::2] = 6.0", lambda v: v.__setitem__((slice(1, 3), slice(None, None, 2)), 6)), ("v[[0, 2]] = 3.0", lambda v: v.__setitem__([0, 2], 3)), ("v[[0, 2], [1, 3]] = [7.0, 8.0]", lambda v: v.__setitem__(([0, 2], [1, 3]), [7, 8])), ("v[:, [1, 1]] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]", lambda v: v.__setitem__((slice(None), [1, 1]), [[1, 2], [3, 4], [5, 6]])),
               ("v[1:, [0, 2]] = 2.5", lambda v: v.__setitem__((slice(1, None), [0, 2]), 2.5)), ("v[1] += 1.0", lambda v: v.__setitem__(1, v[1] + 1)), ("v[n, 0] *= 3.0", lambda v: v.__setitem__((1, 0), v[1, 0] * 3)), ("v[[0, 0], 1] += [1.0, 10.0]", lambda v: np.add.at(v, ([0, 0], 1), [1, 10])), ("v[[0, 0]] -= 1.0", lambda v: np.subtract.at(v, [0, 0], 1)),
               ("v[..., 0] /= 2.0", lambda v: v.__setitem__((..., 0), v[..., 0] / 2)), ("v[-1, n] = 0.25", lambda v: v.__setitem__((-1, 1), 0.25))]
    lines = [*base, f"let i = {tl(i)}", f"let j = {tl(j)}", "var n = 0", "while n < 1 { n += 1 }", f"var v = {tl(m34)}"]
    v = m34.copy()
    for code, f in updates:
        f(v)
        cases.append((f"{code}\nprint(v)", v.copy()))
    return lines, cases


def creation():
    cases = [("zeros([2, 3])", np.zeros((2, 3), f32)), ("ones([2], dtype: i8)", np.ones(2, np.int8)), ("zeros([2], dtype: bool)", np.zeros(2, bool)), ("full([2], 7)", np.full(2, 7)), ("full([2], 0.5, dtype: f64)", np.full(2, 0.5)),
             ("full([2], true)", np.ones(2, bool)), ("eye(3)", np.eye(3, dtype=f32)), ("eye(2, 3, k: 1)", np.eye(2, 3, 1, dtype=f32)), ("eye(2, dtype: i64)", np.eye(2, dtype=i64)), ("arange(5)", np.arange(5)), ("arange(2, 9, 3)", np.arange(2, 9, 3)), ("arange(5, 0, -2)", np.arange(5, 0, -2)),
             ("arange(0.0, 1.0, 0.25)", np.arange(0, 1, 0.25, dtype=f32)), ("arange(4, dtype: f32)", np.arange(4, dtype=f32)), ("arange(3, 3)", np.arange(3, 3)), ("linspace(0.0, 1.0, 5)", np.linspace(0, 1, 5, dtype=f32)), ("linspace(1.0, 2.0, 4, endpoint: false)", np.linspace(1, 2, 4, False, dtype=f32)), ("linspace(0, 10, 3, dtype: f64)", np.linspace(0, 10, 3)),
             ("zeros_like(k)", np.zeros_like(k)), ("ones_like(x)", np.ones_like(x)), ("full_like(x, 2)", np.full_like(x, 2)), ("tabulate([2, 3], |i, j| 10 * i + j)", np.arange(3) + 10 * np.arange(2)[:, None]), ("tabulate([3], |i| 1.5)", np.full(3, 1.5, f32)), ("empty([0, 3]).shape", "[0, 3]"),
             ("[[1, 2], [3, 4]]", np.array([[1, 2], [3, 4]])), ("[1, 2.5]", r([1, 2.5])), ("[true, false]", np.array([True, False])), ("[x[0], y[0]]", np.stack([x[0], y[0]])), ("eps(f32)", f32(2.0 ** -23)), ("max_value(i32)", np.int32(2147483647)), ("min_value(u8)", np.uint8(0)), ("max_value(f16)", np.float16(65504)),
             ("pi", f32(np.pi)), ("typed", np.array([1, 2], f64)), ("narrow", np.zeros(2, np.int8))]
    return [*base, "let typed: f64[2] = arange(1, 3)", "let narrow: i8[2] = zeros([2])",
            "# Sizes and widths may have a name.", "let extents = [2, 3]", 'assert zeros(extents).shape == [2, 3], "a shape with a name"',
            "let widths = [[1, 0]]", 'assert pad([5.0], widths) == [0.0, 5.0], "widths with a name"'], cases


def products():
    a, b, v = m34, m34.T[:, :2] + 1, np.array([1, 2, 3, 4], f32)
    t = c234
    cases = [("m @ b", a @ b), ("m @ v", a @ v), ("v @ v", v @ v), ("v @ m.T", v @ a.T), ("c @ b", t @ b), ("c @ c.T", t @ t.swapaxes(1, 2)), ("matmul(c, b)", t @ b), ("dot(m, v)", a @ v), ("dot(v, v)", v @ v), ("dot(c, b)", np.dot(t, b)), ("outer(v, v)", np.outer(v, v)), ("vecdot(c, c)", (t * t).sum(-1)), ("vecdot(m, m, axis: 0)", (a * a).sum(0)),
             ("tensordot(c, c, axes: 3)", np.tensordot(t, t, 3)), ("tensordot(c, m, axes: ((1, 2), (0, 1)))", np.tensordot(t, a, ((1, 2), (0, 1)))), ("tensordot(m, v, axes: 1)", np.tensordot(a, v, 1)), ("trace(m)", np.trace(a)), ("cross([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])", np.cross(r([1, 2, 3]), r([4, 5, 6]))), ("[[1, 2], [3, 4]] @ [[1, 0], [1, 1]]", np.array([[3, 2], [7, 4]])),
             ("matrix_power([[1, 1], [1, 0]], 10)", np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 10)), ("matrix_norm(c)", np.linalg.norm(t, axis=(1, 2))), ("f64(m) @ f64(v)", a.astype(f64) @ v.astype(f64)), ("zeros([2, 0]) @ zeros([0, 3])", np.zeros((2, 3), f32))]
    for spec, code, *ops in [("ij,jk->ik", "m, b", a, b), ("ij->ji", "m", a), ("ij->", "m", a), ("ij->j", "m", a), ("ii", "c[0, :, :3]", t[0, :, :3]), ("ii->i", "c[0, :, :3]", t[0, :, :3]), ("i,i", "v, v", v, v), ("i,j->ij", "v, v", v, v), ("bij,jk->bik", "c, b", t, b), ("...ij,jk", "c, b", t, b), ("...ij,...kj->...ik", "c, c", t, t),
                             ("bij,bij->b", "c, c", t, t), ("ij,kj,lj->ikl", "m, m, m", a, a, a),
                             ("ij,jk,kl->il", "m, m.T, m", a, a.T, a), ("li,jk,kl->ji", "m.T, b.T, b @ b.T", a.T, b.T, b @ b.T), ("i,ij,j,kj->k", "v[:3], m, v, m", v[:3], a, v, a), ("i,j,k->kij", "v, v[:2], v[1:]", v, v[:2], v[1:]),
                             ("...ij,kj,...il->...kl", "c, m, c", t, a, t), ("ij,ij,ij", "m, m, m", a, a, a), ("ii,ij,jj->j", "c[0, :, :3], m[:, :3], m[:, :3]", t[0, :, :3], a[:, :3], a[:, :3]),
                             ("ij,jk,kl,lm,mn,no,op,pq,qr,rs,st,tu->iu", ", ".join(["sign(m), sign(m.T)"] * 6), *[np.sign(a), np.sign(a.T)] * 6), ("ij , jk", "m, b", a, b), ("bij->bj", "c", t), ("...", "m", a), ("i...->...", "c", t), ("ba", "m", a), ("ijk,jk->i", "c, m", t, a), ("ij,ij->ij", "m, m", a, a)]:
        cases.append((f"einsum(\"{spec}\", {code})", np.einsum(spec, *ops)))
    return [*base, f"let b = {tl(b)}", f"let v = {tl(v)}"], cases


def conv(xv, w, stride, padding, dilation, groups=1):
    """Cross-correlation of (n, c, h, w) by definition."""
    n, ci, h, wd = xv.shape
    o, cg, kh, kw = w.shape
    p = np.pad(xv, [(0, 0), (0, 0), padding, padding])
    oh = (p.shape[2] - dilation * (kh - 1) - 1) // stride + 1
    ow = (p.shape[3] - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((n, o, oh, ow))
    for q in range(o):
        g = q // (o // groups)
        for i in range(oh):
            for j in range(ow):
                part = p[:, g * cg:(g + 1) * cg, i * stride:i * stride + dilation * (kh - 1) + 1:dilation, j * stride:j * stride + dilation * (kw - 1) + 1:dilation]
                out[:, q, i, j] = (part * w[q]).sum((1, 2, 3))
    return r(out)


def convT(xv, w, stride, padding, extra):
    n, ci, h, wd = xv.shape
    _, o, kh, kw = w.shape
    full = np.zeros((n, o, (h - 1) * stride + kh + extra, (wd - 1) * stride + kw + extra))
    for i in range(h):
        for j in range(wd):
            full[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw] += np.einsum("nc,cokl->nokl", xv[:, :, i, j], w)
    return r(full[:, :, padding:full.shape[2] - padding, padding:full.shape[3] - padding])


def convolution():
    xs = (np.arange(50, dtype=f64).reshape(1, 2, 5, 5) % 7) - 3
    w = (np.arange(24, dtype=f64).reshape(3, 2, 2, 2) % 5) - 2
    wg = (np.arange(16, dtype=f64).reshape(4, 1, 2, 2) % 5) - 2
    wt = (np.arange(24, dtype=f64).reshape(2, 3, 2, 2) % 5) - 2
    cases = [("conv2d(x, w)", conv(xs, w, 1, (0, 0), 1)), ("conv2d(x, w, b)", conv(xs, w, 1, (0, 0), 1) + r([1, 2, 3])[:, None, None]), ("conv2d(x, w, stride: 2, padding: 1)", conv(xs, w, 2, (1, 1), 1)), ("conv2d(x, w, dilation: 2, padding: (1, 1))", conv(xs, w, 1, (1, 1), 2)), ("conv2d(x, w, padding: \"same\")", conv(xs, w, 1, (0, 1), 1)),
             ("conv2d(x, w, padding: [[0, 1], [0, 1]])", conv(xs, w, 1, (0, 1), 1)), ("conv2d(x, wg, groups: 2)", conv(xs, wg, 1, (0, 0), 1, 2)), ("conv_transpose2d(x, wt)", convT(xs, wt, 1, 0, 0)), ("conv_transpose2d(x, wt, stride: 2, padding: 1, output_padding: 1)", convT(xs, wt, 2, 1, 1)), ("conv1d(x[0, :, 0, :][new], w[:, :, 0, :])", conv(xs[:, :, :1, :], w[:, :, :1, :], 1, (0, 0), 1)[:, :, 0]),
             ("conv3d(x[:, :, new], w[:, :, new])[:, :, 0]", conv(xs, w, 1, (0, 0), 1)), ("conv_transpose1d(x[0, :, 0, :][new], wt[:, :, 0, :], stride: 3).shape", "[1, 3, 14]")]
    windows = lambda p, n, s, f: r([[[[f(p[b, ch, i:i + n, j:j + n]) for j in range(0, p.shape[3] - n + 1, s)] for i in range(0, p.shape[2] - n + 1, s)] for ch in range(p.shape[1])] for b in range(p.shape[0])])
    inf = np.pad(xs, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    zero = np.pad(xs, [(0, 0), (0, 0), (1, 1), (1, 1)])
    ones = np.pad(np.ones_like(xs), [(0, 0), (0, 0), (1, 1), (1, 1)])
    cases += [("max_pool(x, 2)", windows(xs, 2, 2, np.max)), ("max_pool(x, (3, 3), stride: 1)", windows(xs, 3, 1, np.max)), ("max_pool(x, 3, stride: 2, padding: 1)", windows(inf, 3, 2, np.max)), ("avg_pool(x, 2)", windows(xs, 2, 2, np.mean)), ("avg_pool(x, 3, stride: 2, padding: 1)", windows(zero, 3, 2, np.mean)),
              ("avg_pool(x, 3, stride: 2, padding: 1, count_include_pad: false)", r(windows(zero, 3, 2, np.sum) / windows(ones, 3, 2, np.sum))), ("max_pool(x, 2, ceil_mode: true).shape", "[1, 2, 3, 3]"), ("adaptive_avg_pool(x, 1)", r(xs.mean((2, 3), keepdims=True))), ("adaptive_avg_pool(x, (2, 5)).shape", "[1, 2, 2, 5]"), ("lp_pool(abs(x), 2, 2)", windows(xs, 2, 2, lambda q: np.sqrt((q ** 2).sum()))), ("max_pool(i64(x), 2)", windows(xs, 2, 2, np.max).astype(i64))]
    names = [f"let x = {tl(r(xs))}", f"let w = {tl(r(w))}", f"let wg = {tl(r(wg))}", f"let wt = {tl(r(wt))}", "let b = [1.0, 2.0, 3.0]"]
    return names, cases


def normalisation():
    a = c234.astype(f64)
    sm = lambda v, axis: np.exp(v - v.max(axis, keepdims=True)) / np.exp(v - v.max(axis, keepdims=True)).sum(axis, keepdims=True)
    ln = lambda v, axes: (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + 1e-5)
    w, bias = np.array([1, 2, 0.5, -1]), np.array([0.1, 0.2, 0.3, 0.4])
    ch = np.array([0.5, 1, 2])
    q = a[None] / 4
    att = lambda mask: sm(np.where(mask, q @ q.swapaxes(-1, -2) / 2, -np.inf), -1) @ q
    img = (np.arange(32, dtype=f64).reshape(1, 4, 2, 4) % 7)
    cases = [("softmax(c)", r(sm(a, -1))), ("softmax(c, axis: 1)", r(sm(a, 1))), ("log_softmax(c)", r(np.log(sm(a, -1)))), ("layer_norm(c, w, b)", r(ln(a, (-1,)) * w + bias)), ("layer_norm(c, axes: (1, 2))", r(ln(a, (1, 2)))), ("rms_norm(c, w)", r(a / np.sqrt((a ** 2).mean(-1, keepdims=True) + 1e-5) * w)),
             ("batch_norm(c, ch, ch)", r((a - ch[:, None]) / np.sqrt(ch[:, None] + 1e-5))), ("batch_norm(c, ch, ch, ch, ch)", r((a - ch[:, None]) / np.sqrt(ch[:, None] + 1e-5) * ch[:, None] + ch[:, None])), ("group_norm(img, 2)", r(ln(img.reshape(1, 2, 2, 2, 4), (2, 3, 4)).reshape(img.shape))), ("instance_norm(img)", r(ln(img, (2, 3)))), ("normalize(m, axis: 1)", r(m34 / np.linalg.norm(m34.astype(f64), axis=1, keepdims=True))),
             ("attention(q, q, q)", r(att(True))), ("attention(q, q, q, causal: true)", r(att(np.tril(np.ones((3, 3), bool))))), ("attention(q, q, q, mask: arange(3) < 2)", r(att(np.arange(3) < 2))), ("attention(q, q[:, :1], q[:, :1]).shape", "[1, 2, 3, 4]"), ("sum(softmax(1000.0 * m), axis: 1)", np.ones(3, f32))]
    return [*base, f"let w = {tl(r(w))}", f"let b = {tl(r(bias))}", f"let ch = {tl(r(ch))}", "let q = c[new] / 4.0", f"let img = {tl(r(img))}"], cases


def control():
    cases = [("map(|r| sum(r), m)", m34.sum(1)), ("map(|r| r * 2.0, m)", m34 * 2), ("map(|a| a.0 + a.1, (m, m))", m34 + m34), ("scan(|s, r| (s + r, sum(s)), zeros([4]), m).0", m34.sum(0)), ("scan(|s, v| (s + v, s), 0, k).1", np.concatenate([[0], np.cumsum(k)[:-1]])), ("reduce(|s, r| s + r, zeros([4]), m)", m34.sum(0)), ("reduce(|s, v| max(s, v), 0, k)", i64(7)),
             ("fold(|s, leaf| s + sum(leaf), 0.0, (x, (y, m)))", f32(x.sum() + y.sum() + m34.sum())), ("map_leaves(|a, b| a * b, (x, y), (y, y)).0", x * y), ("list(3, |i| i * i)[2]", i64(4)), ("tuple(2, |i| zeros([i + 1])).1", np.zeros(2, f32)),
             ("reshape(tabulate([2, 2], |i, j| where(i == j, 1, 0)), [4])", np.array([1, 0, 0, 1]))]
    lines = [*base, "var total = 0", "for (i, b) in enumerate([1, 2, 3]) { total += i * b }", "for (a, b) in zip((1, 2), (3, 4)) { total += a * b }"]
    return lines, [*cases, ("total", i64(19))]


def strings():
    cases = [("print(\"a {1} {2.5} {true} {x.shape} {f32} {1e-7}\")", "a 1 2.5 true [2, 3] f32 1e-07"), ("print(\"{pi:.3f} {12:5d}|{0.5:8.2e}|{1234.5:.3g} {{}}\")", "3.142    12|5.00e-01|1.23e+03 {}"), ("print(1, 2.0, \"b\", x[0, 0])", "1 2.0 b 0.5"), ("print(\"{sum(x):.1f} {k[0]}\")", "4.0 7"), ("print(\"{k}\")", k), ("print(x.device)", "cpu"), ("print((1, 2.5))", "(1, 2.5)"), ("print(max(x) > 1.0)", "true"),
             ("print(\"{name} of {x.ndim} dims\")", "points of 2 dims"), ("print()", ""), ("print(0.1 + 0.2)", "0.3"), ("print(f64(0.1) + 0.2)", "0.30000000000000004"), ("print(1e20)", "1e+20"), ("print(inf, -inf, nan)", "inf -inf nan")]
    return [*base, "let name = \"points\""], cases


PROGRAMS = dict(elementwise=elementwise, reductions=reductions, order=order, shape=shape, indexing=indexing, creation=creation, products=products, convolution=convolution, normalisation=normalisation, control=control, strings=strings)


def main():
    for name in sys.argv[1:] or PROGRAMS:
        setup, cases = PROGRAMS[name]()
        (HERE / f"{name}.tl").write_text(program(name, setup, cases), encoding="utf-8")


if __name__ == "__main__":
    main()
