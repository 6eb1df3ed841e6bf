#!/usr/bin/env python3
"""Operations that are made of others, and functions of the library, on every dtype that they take: against NumPy, or a formula
written out here.

    composed.py --tenc BUILD/bin/tenc [--cuda LIBCUDA] [--only NAME]

Compiled and in the interpreter; with `--cuda` as CUDA C++ on the virtual machine for PTX alone. Integers and what only selects
elements must be equal. Other values may be off by `roundings` of the dtype, of the magnitude that a case names, else of the
value or of 1, whichever is more: as many as the formula has one after another.
"""
import argparse
import itertools
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import bounds
from ops import digamma
from tir_program import FLOATS, INTS, NUMPY, rounded

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import machine  # noqa: E402


class Script:
    """One program: what it loads, what it saves, and what that must be."""

    def __init__(self, folder, name, dtype, modules=""):
        self.folder, self.name, self.dtype = folder, f"{name}_{dtype}", dtype
        self.lines = [f"import {m}" for m in modules.split()]
        self.expected, self.count, self.shapes = [], 0, {}

    def load(self, x, dtype=None):
        """A variable with the values of x, which are rounded to the dtype, and those values."""
        dtype = dtype or self.dtype
        x = rounded(np.asarray(x), dtype)
        name = f"x{self.count}"
        self.shapes[name] = x.shape
        self.count += 1
        path = self.folder / f"{self.name}.{name}.npy"
        np.save(path, np.asarray(x, np.float32) if dtype == "bf16" else np.asarray(x, NUMPY[dtype]))
        self.lines.append(f'let {name} = bf16(load("{path}"))' if dtype == "bf16" else f'let {name} = load("{path}")')
        return name, np.asarray(x, np.float64) if dtype in FLOATS else x

    def check(self, expression, *wanted, roundings=0, size=None):
        """The expression has these values: one, or those of a tuple."""
        n = self.count
        self.count += 1
        self.lines.append(f"let r{n} = {expression}")
        for i, want in enumerate(wanted):
            part = f"r{n}.{i}" if len(wanted) > 1 else f"r{n}"
            path = self.folder / f"{self.name}.r{n}.{i}.npy"
            wide = self.dtype == "bf16" and np.asarray(want).dtype.kind == "f"
            self.lines.append(f'save("{path}", {f"f32({part})" if wide else part})')
            self.expected.append((path, f"{self.name}: {expression}, result {i}", np.asarray(want), roundings, size))

    def slope(self, expression, variable, rng, backwards=False):
        """In f64: the gradient and the forward derivative of the expression's sum, with random weights, along a random line
        are what its values on both sides say; `backwards`: the gradient alone."""
        if self.dtype != "f64": return
        line, _ = self.load(rng.standard_normal(self.shapes[variable]))
        n, self.count = self.count, self.count + 1
        f = f"|t| sum(sin(arange({expression.replace(variable, 't')}.size) + 1.0) * flatten({expression.replace(variable, 't')}))"
        path = self.folder / f"{self.name}.slope{n}.npy"
        both = [f"sum(grad(f{n})({variable}) * {line})"] * 2
        if not backwards: both[1] = f"jvp(f{n})({variable}, {line}).1"
        self.lines += [f"let f{n} = {f}".replace("arange(", "f64(arange(").replace(".size)", ".size))"),
                       f"let near{n} = (f{n}({variable} + 1e-5 * {line}) - f{n}({variable} - 1e-5 * {line})) / 2e-5",
                       f"let all{n} = stack(({', '.join(both)})) - near{n}",
                       f'save("{path}", abs(all{n}) / (1.0 + abs(near{n})) < 1e-7)']
        self.expected.append((path, f"{self.name}: slope of {expression}", np.array([True, True]), 0, None))

    def run(self, tenc, engine, driver):
        """Complaints."""
        words, environment, reports = ["--engine", engine], None, self.folder / f"{self.name}.reports"
        if engine == "cuda":
            words = [*machine.FLAGS, "--default-device", "cuda:0", "--transfers=allow"]
            environment = machine.environment(tenc, driver, machine.mode_of(self.name), reports)
        for path, *_ in self.expected: path.unlink(missing_ok=True)
        file = self.folder / f"{self.name}.tl"
        file.write_text("\n".join(self.lines) + "\n")
        done = subprocess.run([tenc, str(file), *words], capture_output=True, text=True, timeout=600, env=environment)
        if done.returncode: return [f"{self.name}: status {done.returncode}: {done.stderr[:1500]}"]
        found = [reports.read_text()[:1000]] if reports.exists() and reports.read_text() else []
        for path, label, want, roundings, size in self.expected:
            found += differs(np.load(path), want, label, roundings, size, self.dtype)
        return found


def differs(got, want, label, roundings, size, dtype):
    if got.shape != want.shape: return [f"{label}: shape {got.shape}, expected {want.shape}"]
    if got.dtype.kind != "f" or dtype not in bounds.EPS:
        equal = np.array_equal(got, want) and got.dtype.kind == want.dtype.kind
        return [] if equal else [f"{label}: {got.ravel()[:8]} of {got.dtype}, expected {want.ravel()[:8]}"]
    got = got.astype(np.float64)
    want = want.astype(np.float64)
    if roundings == 0: want = np.asarray(rounded(want, dtype), np.float64)
    scale = np.maximum(np.abs(want), 1) if size is None else size
    with np.errstate(invalid="ignore"):
        near = np.abs(got - want) <= roundings * bounds.EPS[dtype] * scale
    ok = near | (got == want) | (np.isnan(got) & np.isnan(want))
    if np.all(ok): return []
    worst = np.unravel_index(np.argmin(ok), got.shape) if got.shape else ()
    return [f"{label}: {got[worst]!r} at {tuple(map(int, worst))}, expected {want[worst]!r}"]


def numbers(rng, dtype, shape):
    if dtype in FLOATS: return rng.standard_normal(shape) * 3
    info = np.iinfo(NUMPY[dtype])
    return rng.integers(max(info.min, -9), 10, shape)


# ---- pooling

def window_places(shape, size, stride, lo, dilation, counts):
    """(window, the places in it that are no padding), for each window."""
    for at in itertools.product(*map(range, counts)):
        inside = []
        for off in itertools.product(*map(range, size)):
            p = tuple(a * s - l + o * d for a, s, l, o, d in zip(at, stride, lo, off, dilation))
            if all(0 <= q < n for q, n in zip(p, shape)): inside.append(p)
        yield at, inside


def pooling(folder, dtype, rng):
    s = Script(folder, "pooling", dtype)
    for shape, size, stride, pad, dilation in [((7,), (3,), (2,), (1,), (1,)), ((6, 5), (2, 3), (2, 1), (1, 1), (1, 1)),
                                               ((7, 8), (3, 2), (1, 2), (0, 0), (2, 1)), ((4, 3, 5), (2, 2, 2), (2, 1, 2), (0, 1, 0), (1, 1, 1))]:
        x = numbers(rng, dtype, (2, 3, *shape))
        if dtype in FLOATS: x[0, 0] = -np.inf  # padding is not chosen before it
        if dtype in FLOATS: x[1, 1].ravel()[3] = np.nan
        v, x = s.load(x)
        counts = [(n + 2 * p - d * (w - 1) - 1) // t + 1 for n, w, t, p, d in zip(shape, size, stride, pad, dilation)]
        values, places = np.zeros((2, 3, *counts), x.dtype), np.zeros((2, 3, *counts), np.int64)
        for lead in itertools.product(range(2), range(3)):
            for at, inside in window_places(shape, size, stride, pad, dilation, counts):
                row = [x[lead + p] for p in inside]
                best = int(np.argmax(row))
                values[lead + at], places[lead + at] = row[best], np.ravel_multi_index(inside[best], shape)
        text = lambda t: f"({', '.join(map(str, t))}{',' if len(t) == 1 else ''})" if len(t) > 1 else str(t[0])
        s.check(f"max_pool_with_indices({v}, {text(size)}, stride: {text(stride)}, padding: {text(pad)}, dilation: {text(dilation)})",
                values, places)
    v, x = s.load(numbers(rng, dtype, (2, 3, 4, 6)))
    back = np.zeros((2, 3, 4, 6), x.dtype)
    for lead in itertools.product(range(2), range(3)):
        for at, inside in window_places((4, 6), (2, 3), (2, 3), (0, 0), (1, 1), (2, 2)):
            best = inside[int(np.argmax([x[lead + p] for p in inside]))]
            back[lead + best] = x[lead + best]
    pooled = f"max_pool_with_indices({v}, (2, 3))"
    s.check(f"max_unpool({pooled}.0, {pooled}.1, (2, 3))", back)
    s.check(f"max_unpool({pooled}.0, {pooled}.1, (2, 3), output_size: (5, 6)).shape[2]", np.int64(5))
    s.slope(f"max_unpool(max_pool_with_indices({v}, 2).0, max_pool_with_indices({v}, 2).1, 2)", v, rng)
    s.slope(f"adaptive_max_pool({v}, (3, 4))", v, rng)
    s.slope(f"avg_pool({v}, 2, divisor_override: 3)", v, rng)
    parts = lambda n, m: [slice(j * n // m, -(-(j + 1) * n // m)) for j in range(m)]
    s.check(f"adaptive_max_pool({v}, (3, 4))",
            np.array([[np.max(x[..., a, b], axis=(-2, -1)) for b in parts(6, 4)] for a in parts(4, 3)]).transpose(2, 3, 0, 1))
    if dtype in FLOATS:
        sums = x.reshape(2, 3, 2, 2, 3, 2).sum((3, 5))
        s.check(f"avg_pool({v}, 2, divisor_override: 3)", sums / 3, roundings=6, size=1 + np.max(np.abs(x)) * 4)
    return s


# ---- counting and reductions

def counting(folder, dtype, rng):
    s = Script(folder, "counting", dtype)
    v, x = s.load(numbers(rng, dtype, (5, 7)) if dtype not in FLOATS else np.round(numbers(rng, dtype, (5, 7))))
    i, places = s.load(rng.integers(0, 6, (5, 7)), "i64")
    exact = np.float64 if dtype in FLOATS else np.int64
    weighted = np.zeros(6, exact)
    np.add.at(weighted, places.ravel(), x.ravel().astype(exact))
    s.check(f"bincount({i}, {v}, length: 6)", weighted if dtype[0] != "u" else weighted.astype(np.uint64))
    for keep, axis in itertools.product((False, True), (0, 1)):
        order = np.argsort(x, axis=axis, kind="stable")
        nth = np.take(order, [2], axis=axis)
        cut = (lambda a: a) if keep else (lambda a: np.squeeze(a, axis))
        options = f"axis: {axis}, keep: {str(keep).lower()}"
        s.check(f"kthvalue({v}, 3, {options})", cut(np.take_along_axis(x, nth, axis)), cut(nth))
        values, last = modes(x, axis)
        s.check(f"mode({v}, {options})", cut(values), cut(last))
    # Long enough for each way to find it: of the few first, or by counting equals.
    many = rng.integers(0, 20, (3, 100)).astype(x.dtype)
    if dtype in FLOATS: many[1, ::3], many[2, 5:], many[0, many[0] == 0] = np.nan, np.nan, -0.0
    m, many = s.load(many)
    for nth in (1, 12, 13, 50, 99, 100):
        place = np.take(np.argsort(many, axis=1, kind="stable"), [nth - 1], axis=1)
        s.check(f"kthvalue({m}, {nth}, axis: 1, keep: true)", np.take_along_axis(many, place, 1), place)
    rows, sorted_rows = s.load(np.sort(x, axis=1))
    for right in (False, True):
        want = np.array([np.searchsorted(a, b, "right" if right else "left") for a, b in zip(sorted_rows, x)])
        s.check(f"searchsorted({rows}, {v}, right: {str(right).lower()})", want)
    nearness(s, v, x, rng)
    if dtype in FLOATS: tables(s, v, x, rng)
    for to in ("i64", "f32", "f64"):
        if dtype[0] == "u" and to == "i64": continue
        as_it = x.astype(NUMPY[to])
        check = Script.check if (to in FLOATS) == (dtype in FLOATS) else lambda *a: None
        check(s, f"{to}(cumsum({v}, axis: 1, dtype: {to}))", np.cumsum(as_it, axis=1))
        check(s, f"{to}(sum({v}, axis: 0, dtype: {to}))", np.sum(as_it, axis=0))
    scatters(s, v, x, i, places % 5)
    if dtype == "f64":
        apart, _ = s.load(rng.standard_normal((5, 7)))
        s.slope(f"bincount({i}, {apart}, length: 6)", apart, rng)
        s.slope(f"kthvalue({apart}, 3, axis: 0).0", apart, rng)
        s.slope(f"mode({apart}).0", apart, rng)
        for mode in ("add", "mul", "max", "min", "mean"):
            s.slope(f'scatter({apart}, {i} % 5, {apart}[::-1], axis: 0, reduce: "{mode}", include_self: false)', apart, rng)
        s.slope(f'scatter({apart}, {i} % 5, {apart}[::-1], axis: 0, reduce: "mean")', apart, rng)
    return s


def tables(s, v, x, rng):
    """Between the points of tables: of many and of one, with points at one place, at the points and beyond them."""
    for n in (1, 2, 9):
        xp, places = s.load(np.sort(rng.standard_normal(n) * 4))
        fp, values = s.load(rng.standard_normal(n))
        some, at = s.load(np.concatenate([places, [np.nan, -np.inf, np.inf]]))
        for name, points in ((v, x), (some, at)):
            for options, ends in (("", {}), (", left: -5, right: nan", {"left": -5, "right": np.nan})):
                want = np.where(np.isnan(points), np.nan, np.interp(points, places, values, **ends))  # of one point it skips NaN
                s.check(f"interp({name}, {xp}, {fp}{options})", want, roundings=4, size=5)
    twice, places = s.load([-1.0, 0.0, 0.0, 2.0, 2.0])
    steps, values = s.load([1.0, 2.0, 3.0, -np.inf, 4.0])
    s.check(f"interp({v}, {twice}, {steps})", np.interp(x, places, values), roundings=4, size=5)
    if s.dtype == "f64":
        for variable in (v, fp): s.slope(f"interp({v} + 0.01, {xp}, {fp})", variable, rng)


def nearness(s, v, x, rng):
    """On both sides of the tolerance, and equal; of floats infinities and NaN too."""
    for rtol, atol in ((0.1, 0.05), (0.0, 0.3), (0.5, 0.0), (0.0, 0.0)):
        other = x + (atol + rtol * np.abs(x)) * rng.choice([-2.0, -0.5, 0.0, 0.5, 2.0], x.shape)
        if s.dtype not in FLOATS: other = np.clip(np.round(other), 0 if s.dtype[0] == "u" else -20, 20).astype(np.int64)
        near, b = s.load(other)
        options = f"rtol: {rtol}, atol: {atol}"
        s.check(f"isclose({near}, {v}, {options})", np.isclose(b, x, rtol, atol))
        for row in range(2):
            s.check(f"allclose({near}[{row}], {v}[{row}], {options})", np.allclose(b[row], x[row], rtol, atol))
    if s.dtype in FLOATS:
        ends, b = s.load([np.inf, -np.inf, np.nan, 1.0, np.inf, np.nan])
        same, c = s.load([np.inf, np.inf, np.nan, np.inf, 1.0, 1.0])
        for equal in (False, True):
            s.check(f"isclose({ends}, {same}, rtol: 0.5, equal_nan: {str(equal).lower()})", np.isclose(b, c, 0.5, equal_nan=equal))


def modes(x, axis):
    """(the most frequent, the smallest of several; the place of its last occurrence)."""
    values, last = [], []
    rows = np.moveaxis(x, axis, -1)
    for row in rows.reshape(-1, rows.shape[-1]):
        found, counts = np.unique(row, return_counts=True)
        values.append(found[np.argmax(counts)])
        last.append(int(np.flatnonzero(row == values[-1])[-1]))
    shape = (*rows.shape[:-1], 1)
    return tuple(np.moveaxis(np.array(a).reshape(shape), -1, axis) for a in (values, last))


def scatters(s, v, x, i, places):
    """u, as large as x, written along axis 0: with and without the values that x has there."""
    u, updates = s.load(x[::-1] * (2 if s.dtype in FLOATS else 1))
    operations = dict(add=np.add, mul=np.multiply, max=np.maximum, min=np.minimum)
    exact = np.float64 if s.dtype in FLOATS else NUMPY[s.dtype]
    for mode, own in itertools.product((*operations, "mean"), (True, False)):
        want, met = x.astype(np.float64 if mode == "mean" else exact), np.zeros(x.shape, np.int64)
        with np.errstate(over="ignore"):
            for r, c in itertools.product(*map(range, x.shape)):
                at = (places[r, c], c)
                first = met[at] == 0 and not own
                want[at] = updates[r, c] if first else operations.get(mode, np.add)(want[at], updates[r, c])
                met[at] += 1
        if mode == "mean": want = want / np.maximum(met + own, 1)
        if mode == "mean" and s.dtype not in FLOATS: want = np.floor(want)
        s.check(f'scatter({v}, {i} % 5, {u}, axis: 0, reduce: "{mode}", include_self: {str(own).lower()})',
                want.astype(exact), roundings=0 if mode in ("max", "min") else 6, size=np.max(np.abs(want)) + 60)


def nan_reductions(folder, dtype, rng):
    s = Script(folder, "nan_reductions", dtype)
    x = rng.standard_normal((4, 6, 5)) * 2
    x[rng.random(x.shape) < 0.2] = np.nan
    x[1, :, 2] = np.nan
    v, x = s.load(x)
    w, whole = s.load(rng.standard_normal((4, 6, 5)))
    names = dict(nansum=np.nansum, nanmean=np.nanmean, nanmax=np.nanmax, nanmin=np.nanmin, nanmedian=np.nanmedian,
                 nanstd=np.nanstd, nanvariance=np.nanvar, nanprod=np.nanprod)
    for axis, keep in [(0, False), (1, False), (1, True), ((0, 2), False), ((0, 2), True), (None, False)]:
        options = ("" if axis is None else f"axis: {axis}, ") + f"keep: {str(keep).lower()}"
        with np.errstate(all="ignore"):
            for name, f in names.items():
                want = f(x, axis=axis, keepdims=keep)
                many = x.size if axis is None else 30
                s.check(f"{name}({v}, {options})", want, roundings=0 if name in ("nanmax", "nanmin") else many)
            for method in ("linear", "lower", "higher", "midpoint", "nearest"):
                q = np.array([0.0, 0.3, 0.5, 1.0])
                text = f"f64([0.0, 0.3, 0.5, 1.0]), {options}, method: \"{method}\""
                limit = 8 if method in ("linear", "midpoint") else 0
                s.check(f"quantile({w}, {text})", np.quantile(whole, q, axis=axis, keepdims=keep, method=method), roundings=limit)
                s.check(f"quantile({v}, {text})", np.quantile(x, q, axis=axis, keepdims=keep, method=method), roundings=limit)
                s.check(f"nanquantile({v}, {text})", np.nanquantile(x, q, axis=axis, keepdims=keep, method=method),
                        roundings=limit)
        s.check(f"quantile({w}, 0.25, {options})", np.quantile(whole, 0.25, axis=axis, keepdims=keep), roundings=8)
    for f in ("nansum(X, axis: 0)", "nanmean(X, axis: 1)", "nanstd(X, axis: 0)", "nanvariance(X)", "nanmedian(X, axis: 0)",
              "nanmax(X, axis: 2)", "quantile(X, f64([0.3, 0.7]), axis: (0, 2))", "nanquantile(X, 0.2, axis: 1)"):
        s.slope(f.replace("X", w), w, rng)
    s.slope(f"nanstd(where(isnan({v}), {v}, {w}), axis: 0)", w, rng)
    s.check(f"softmax({w}[0, 0, 0])", np.float64(1))
    s.check(f"log_softmax({w}[0, 0, 0], axis: 0)", np.float64(0))
    return s


# ---- images

def resized(x, axis, m, ratio, mode, align_corners):
    """x with m places along an axis, place by place; `ratio` is 0 where the lengths say it."""
    n = x.shape[axis]
    x = np.moveaxis(x, axis, -1)
    out = np.zeros((*x.shape[:-1], m))
    scale = (n - 1) / max(m - 1, 1) if align_corners else 1 / ratio if ratio else n / m
    cubic = lambda d: ((1.25 * d - 2.25) * d * d + 1) if d < 1 else -0.75 * (((d - 5) * d + 8) * d - 4) if d < 2 else 0
    for i in range(m):
        if mode == "nearest": out[..., i] = x[..., min(math.floor(i * scale + 1e-9), n - 1)]
        elif mode == "nearest-exact": out[..., i] = x[..., min(math.floor((i + 0.5) * scale + 1e-9), n - 1)]
        else:
            at = i * scale if align_corners else (i + 0.5) * scale - 0.5
            if mode == "linear": at = min(max(at, 0), n - 1)
            low = math.floor(at)
            for k in range(-1, 3):
                weight = max(1 - abs(at - low - k), 0) if mode == "linear" else cubic(abs(at - low - k))
                out[..., i] += weight * x[..., min(max(low + k, 0), n - 1)]
    return np.moveaxis(out, -1, axis)


def reflected(at, n, corners):
    low, high = (0, n - 1) if corners else (-0.5, n - 0.5)
    while high > low and not low <= at <= high: at = 2 * low - at if at < low else 2 * high - at
    return min(max(at, 0), n - 1)


def sampled(x, grid, mode, padding, corners):
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    place = lambda g, m: (g + 1) / 2 * (m - 1) if corners else (g + 1) / 2 * m - 0.5
    move = lambda at, m: min(max(at, 0), m - 1) if padding == "border" else reflected(at, m, corners) if padding == "reflection" else at
    def value(b, i, j):
        return x[b, :, int(i), int(j)] if 0 <= i < h and 0 <= j < w else np.zeros(c)
    cubic = lambda d: ((1.25 * d - 2.25) * d * d + 1) if d < 1 else -0.75 * (((d - 5) * d + 8) * d - 4) if d < 2 else 0
    for b, p, q in np.ndindex(grid.shape[:3]):
        down, across = place(grid[b, p, q, 1], h), place(grid[b, p, q, 0], w)
        if mode != "cubic": down, across = move(down, h), move(across, w)
        top, left = math.floor(down), math.floor(across)
        if mode == "nearest": out[b, :, p, q] = value(b, np.round(down), np.round(across))
        elif mode == "linear":
            for i, j in itertools.product(range(2), range(2)):
                out[b, :, p, q] += (1 - abs(down - top - i)) * (1 - abs(across - left - j)) * value(b, top + i, left + j)
        else:
            for i, j in itertools.product(range(-1, 3), range(-1, 3)):
                out[b, :, p, q] += cubic(abs(down - top - i)) * cubic(abs(across - left - j)) * value(b, move(top + i, h), move(left + j, w))
    return out


def images(folder, dtype, rng):
    s = Script(folder, "images", dtype, "image")
    for shape, size, ratios in [((7,), (4,), (1.5,)), ((5, 6), (8, 3), (0.5, 2.0)), ((3, 4, 5), (5, 2, 7), (2.0, 1.0, 0.7)),
                                ((135,), (61,), (0.5,)), ((34, 4), (79, 3), (1.5, 2.0))]:  # long axes
        v, x = s.load(rng.standard_normal((2, 2, *shape)))
        for mode, corners in itertools.product(("nearest", "nearest-exact", "linear", "cubic"), (False, True)):
            if corners and mode[0] == "n": continue
            options = f'mode: "{mode}", align_corners: {str(corners).lower()}'
            limit = 0 if mode[0] == "n" else 40
            want, scaled = x, x
            for d, (m, r) in enumerate(zip(size, ratios)):
                want = resized(want, d + 2, m, 0, mode, corners)
                scaled = resized(scaled, d + 2, int(r * shape[d]), r, mode, corners)
            s.check(f"image.resize({v}, {list(size)}, {options})", want, roundings=limit)
            factors = str(ratios if len(ratios) > 1 else ratios[0])
            s.check(f"image.interpolate({v}, {factors}, {options})", scaled, roundings=limit)
    # Where x is far from even a rounding of a coordinate moves what is found, by the slope there.
    v, x = s.load(rng.standard_normal((2, 2, 4, 5)))
    grid = (rng.integers(-96, 97, (2, 3, 4, 2)) * 2 + 1) / 64
    g, grid = s.load(grid)
    for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (False, True)):
        if mode == "nearest" and dtype in ("f16", "bf16"): continue  # coordinates are rounded across the middle
        s.check(f'image.grid_sample({v}, {g}, mode: "{mode}", padding: "{padding}", align_corners: {str(corners).lower()})',
                sampled(x, grid, mode, padding, corners), roundings=0 if mode == "nearest" else 400)
    s.slope(f'image.interpolate({v}, 1.7, mode: "cubic")', v, rng)
    s.slope(f'image.grid_sample({v}, {g}, mode: "cubic", padding: "reflection")', v, rng)
    s.slope(f'image.grid_sample({v}, {g}, mode: "cubic", padding: "reflection")', g, rng)
    return s


# ---- losses

def paths_of(target, length, classes, blank):
    """All sequences of classes that read as the target, without repetitions and then blanks."""
    for path in itertools.product(range(classes), repeat=length):
        read = [c for c, _ in itertools.groupby(path)]
        if [c for c in read if c != blank] == list(target): yield path


def ctc(folder, dtype, rng):
    s = Script(folder, "ctc", dtype, "nn")
    time, batch, classes = 5, 4, 3
    x = rng.standard_normal((time, batch, classes))
    v, p = s.load(x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True)))
    for blank in (0, 2):
        a, b = [c for c in range(classes) if c != blank]
        targets, lengths, ends = [[a, b, b], [a, a, 0], [b, 0, 0], [a, a, a]], [3, 2, 0, 3], [5, 4, 5, 4]
        each = []
        for n in range(batch):
            found = [sum(p[t, n, c] for t, c in enumerate(path)) for path in
                     paths_of(targets[n][: lengths[n]], ends[n], classes, blank)]
            each.append(-np.log(np.sum(np.exp(found))) if found else np.inf)
        each = np.array(each)
        call = f"nn.ctc_loss({v}, {targets}, {ends}, {lengths}, blank: {blank}"
        s.check(f'{call}, reduction: "none")', each, roundings=16, size=8)
        finite = np.where(np.isinf(each), 0, each)
        s.check(f'{call}, reduction: "sum", zero_infinity: true)', np.sum(finite), roundings=64, size=8)
        s.slope(f"{call}, zero_infinity: true)", v, rng)
        s.check(f"{call}, zero_infinity: true)", np.mean(finite / np.maximum(lengths, 1)), roundings=32, size=8)
    return s


# ---- special functions

def table(s, call, x, f, roundings, **options):
    """A function of one variable against the values of f, which are right to some 15 digits."""
    v, x = s.load(x)
    want = np.array([f(float(t)) for t in x])
    s.check(call.replace("X", v), want, roundings=roundings, size=np.abs(want) if s.dtype != "f16" else None, **options)


def inverse_erf(x):
    """By bisection of erf, or of erfc where that is small."""
    if abs(x) >= 1: return math.copysign(math.inf, x)
    low, high = 0.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        if math.erfc(middle) > 1 - abs(x) if abs(x) > 0.5 else math.erf(middle) < abs(x): low = middle
        else: high = middle
    return math.copysign(low, x)


def polygamma(n, x):
    """Terms of the sum, up to where the rest is an integral and a few corrections; for x < 0 the recurrence leads there."""
    total, sign = 0.0, (-1) ** (n + 1) * math.factorial(n)
    terms = []
    while x < 60:
        terms.append(x ** -(n + 1.0))
        x += 1
    terms += [x**-n / n, x ** -(n + 1.0) / 2, (n + 1) * x ** -(n + 2.0) / 12, -(n + 1) * (n + 2) * (n + 3) * x ** -(n + 4.0) / 720,
              (n + 1) * (n + 2) * (n + 3) * (n + 4) * (n + 5) * x ** -(n + 6.0) / 30240]
    return sign * math.fsum(terms)


def lower_gamma(a, x):
    """P(a, x): the series, whose terms are all positive."""
    terms, term, n = [], 1.0, 0
    while n < 3000 and (term > 1e-30 * (terms[0] if terms else 1) or n < x):
        terms.append(term)
        n += 1
        term *= x / (a + n)
    return math.exp(a * math.log(x) - x - math.lgamma(a + 1) + math.log(math.fsum(terms))) if x > 0 else 0.0


def special(folder, dtype, rng):
    s = Script(folder, "special", dtype, "special")
    table(s, "special.erfinv(X)", np.concatenate([np.linspace(-1, 1, 41), [0.999, 1e-4]]), inverse_erf, 8)
    table(s, "special.i0(X)", np.linspace(-9, 9, 37), np.i0, 16)
    table(s, "special.i0e(X)", np.linspace(-300, 300, 41), lambda t: float(np.i0(t) * math.exp(-abs(t))), 8)
    for n in (1, 2, 4):
        points = [0.5, 1, 1.75, 3, 20, 50] + ([-0.5, -1.25, -3.75] if n < 4 and dtype in ("f32", "f64") else [])
        table(s, f"special.polygamma({n}, X)", points, lambda t: polygamma(n, t), 100)
    table(s, "special.polygamma(0, X)", [0.5, 2.0, 10.0], digamma, 100)
    a, x = np.array([0.25, 0.5, 1, 2, 5, 12, 30, 90, 150, 150, 150, 400]), np.array([0.125, 2, 1, 5, 2.5, 15, 20, 100, 60, 160, 250, 400])
    (va, a), (vx, x) = s.load(a), s.load(x)
    low = np.array([lower_gamma(p, q) for p, q in zip(a, x)])
    # The reference is a difference of logarithms of up to 2000.
    s.check(f"special.igamma({va}, {vx})", low, roundings=4000 if dtype == "f64" else 2, size=1)
    s.check(f"special.igammac({va}, {vx})", 1 - low, roundings=4000 if dtype == "f64" else 2, size=1)
    z, _ = s.load([0.0, 1.0, 2.0, -1.0, 0.0])
    y, _ = s.load([1.0, 0.0, np.inf, 1.0, 0.0])
    s.check(f"special.igamma({z}, {y})", np.array([1, 0, 1, np.nan, np.nan]))
    s.check(f"special.igammac({z}, {y})", np.array([0, 1, 0, np.nan, np.nan]))
    values = np.concatenate([rng.standard_normal(20) * 10.0 ** rng.integers(-4, 4, 20), [0, -0.0, 1, 0.5, -2, np.inf, np.nan],
                             [float(bounds.TINY[dtype]), 3 * float(bounds.TINY[dtype])]])
    v, values = s.load(values)
    m, e = np.frexp(values)
    s.check(f"special.frexp({v})", m, np.where(np.isfinite(values), e, 0).astype(np.int32))
    inner, _ = s.load(rng.uniform(-0.95, 0.95, 9))
    positive, _ = s.load(rng.uniform(0.3, 12, 9))
    s.slope(f"special.erfinv({inner})", inner, rng)
    s.slope(f"special.i0({inner})", inner, rng)
    s.slope(f"special.polygamma(2, {inner})", inner, rng)
    s.slope(f"special.igamma({positive} + f64(1.0), f64(4.0))", positive, rng)
    s.slope(f"special.igammac(f64(150.0), 145.0 + {positive})", positive, rng)
    return s


def divisors(folder, dtype, rng):
    s = Script(folder, "divisors", dtype, "special")
    info = np.iinfo(NUMPY[dtype])
    a, b = rng.integers(max(info.min, -60), 61, (3, 40)), rng.integers(max(info.min, -9), 10, 40)
    a[:, :3], b[1:5] = 0, 0
    (va, a), (vb, b) = s.load(a), s.load(b)
    s.check(f"special.gcd({va}, {vb})", np.gcd(a, b))
    s.check(f"special.lcm({vb}, {vb} + {vb})" if info.max > 200 else f"special.lcm({vb}, {vb})", np.lcm(b, b + b) if info.max > 200 else np.lcm(b, b))
    return s


def windows(folder, dtype, rng):
    s = Script(folder, "windows", dtype, "signal")
    for name, f in dict(hann=np.hanning, hamming=np.hamming, blackman=np.blackman, bartlett=np.bartlett).items():
        for n in (0, 1, 2, 7, 64):
            s.check(f"signal.{name}_window({n}, periodic: false)", f(n).astype(np.float32), roundings=2)
            s.check(f"signal.{name}_window({n})", f(n + 1)[:n].astype(np.float32) if n != 1 else np.ones(1, np.float32), roundings=2)
    s.check("signal.kaiser_window(9, periodic: false, beta: 5.5)", np.kaiser(9, 5.5).astype(np.float32), roundings=2)
    s.check("signal.kaiser_window(8)", np.kaiser(9, 12.0)[:8].astype(np.float32), roundings=2)
    return s


# ---- linear algebra

def matrices(folder, dtype, rng):
    s = Script(folder, "matrices", dtype, "linalg")
    for shape in [(2, 3, 5, 5), (4, 6), (6, 4), (1, 1), (0, 0), (2, 0, 3)]:
        v, a = s.load(rng.standard_normal(shape))
        size = 8 * max(1, *shape) * (1 + np.max(np.abs(a), initial=0))
        s.check(f"linalg.lu({v}).0 @ linalg.lu({v}).1 @ linalg.lu({v}).2", a, roundings=2, size=size)
        s.check(f"max(concat((abs(flatten(linalg.lu({v}).1)), zeros([1], dtype: {dtype})))) <= 1.0", np.bool_(True))
        if dtype != "bf16":  # which tells few singular values from 0
            s.check(f"linalg.matrix_rank({v})", np.full(shape[:-2], min(shape[-2:]) if 0 not in shape else 0, np.int64))
        low = a @ np.swapaxes(a, -1, -2)
        if dtype in ("f32", "f64") and 0 not in shape:
            s.check(f"linalg.pinv({v})", np.linalg.pinv(a), roundings=16, size=size * np.max(np.linalg.cond(a)) * np.max(np.linalg.norm(np.linalg.pinv(a), axis=(-2, -1))))
    one, a = s.load(np.outer([1, 2, -1, 0.5], [1, 0, 2]))
    s.check(f"linalg.matrix_rank({one})", np.int64(1))
    s.check(f"linalg.pinv({one})", np.linalg.pinv(a), roundings=16)
    v, a = s.load(np.round(rng.standard_normal((2, 4, 4)) * 4) / 4 + 3 * np.eye(4))
    b, rhs = s.load(rng.standard_normal((2, 4, 3)))
    hard = np.max(np.linalg.cond(a))
    s.check(f"linalg.lu_solve(linalg.lu_factor({v}).0, linalg.lu_factor({v}).1, {b})", np.linalg.solve(a, rhs), roundings=32 * hard)
    for scale in (0.01, 1, 6):
        w, x = s.load(rng.standard_normal((2, 4, 4)) * scale)
        s.check(f"linalg.matrix_exp({w})", exponential(x), roundings=256 if dtype in ("f32", "f64") else 4,
                size=np.max(np.abs(exponential(x))))
    vectors = rng.standard_normal((3, 5, 5)) + 2 * np.eye(5)
    values = np.array([-2.0, -0.5, 1, 2.5, 4])
    v, a = s.load(vectors @ (values[:, None] * np.linalg.inv(vectors)))
    if dtype in ("f32", "f64"):
        limit = 64 * np.max(np.linalg.cond(vectors)) * 5
        s.check(f"linalg.eig({v}).0", np.broadcast_to(values, (3, 5)), roundings=limit, size=4)
        s.check(f"{v} @ linalg.eig({v}).1 - linalg.eig({v}).1 * linalg.eig({v}).0[:, new, :]", np.zeros((3, 5, 5)), roundings=limit, size=4)
        s.check(f"sum(square(linalg.eig({v}).1), axis: 1)", np.ones((3, 5)), roundings=16)
        s.check(f"linalg.eig(zeros([2, 2], dtype: {dtype}))", np.zeros(2), np.eye(2))
        corner, _ = s.load([[0, 1, 0], [1, 0, 0], [0, 0, 1]])  # shifts by 0 get nowhere
        s.check(f"linalg.eig({corner}).0", np.array([-1.0, 1, 1]), roundings=4)
        half, _ = s.load(np.tril(rng.standard_normal((40, 40)), -1) + np.diag(np.arange(40.0)))
        s.check(f"linalg.eig({half}).0", np.arange(40.0))
    if dtype == "f64":
        line, _ = s.load(np.array(vectors @ (values[:, None] * np.linalg.inv(vectors))))
        for f in ("linalg.matrix_exp(X)", "linalg.lu(X).1", "linalg.lu(X).2", "linalg.pinv(X[:, :, :3])"): s.slope(f.replace("X", line), line, rng)
        s.slope(f"linalg.eig({line}).0", line, rng, backwards=True)
        s.slope(f"linalg.eig({line}).1", line, rng, backwards=True)
    return s


def exponential(x):
    """The series of x / 2 ** 12, squared 12 times."""
    term = total = np.broadcast_to(np.eye(x.shape[-1], dtype=np.longdouble), x.shape)
    small = x.astype(np.longdouble) / 2**12
    for k in range(1, 16):
        term = term @ small / k
        total = total + term
    for _ in range(12): total = total @ total
    return total.astype(np.float64)


def attention(folder, dtype, rng):
    s = Script(folder, "attention", dtype)
    for q, k, v in [((2, 1, 2, 3, 4), (3, 2, 5, 4), (1, 3, 2, 5, 6)), ((2, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)), ((2, 3, 4), (3, 2, 5, 4), (3, 2, 5, 2))]:
        (vq, q), (vk, k), (vv, v) = (s.load(rng.standard_normal(shape)) for shape in (q, k, v))
        if k.shape[-3] != q.shape[-3]: k, v = np.repeat(k, 2, -3), np.repeat(v, 2, -3)
        scores = q @ np.swapaxes(k, -1, -2) / 2
        p = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        s.check(f"attention({vq}, {vk}, {vv})", p / np.sum(p, axis=-1, keepdims=True) @ v, roundings=16)
        s.slope(f"attention({vq}, {vk}, {vv})", vk, rng)
    return s


def losses(folder, dtype, rng):
    s = Script(folder, "losses", dtype, "nn")
    (a, x), (b, y) = s.load(rng.standard_normal((3, 5))), s.load(rng.standard_normal((3, 5)))
    (n, counts), (w, widths) = s.load(rng.integers(0, 7, (3, 5))), s.load([[0.5, 1, 2, 1e-9, 0.25]] * 3)
    (t, sign), (r, rows) = s.load(np.where(rng.random((3, 5)) < 0.5, 1.0, -1.0)), s.load([1, -1, 1])
    eps = max(1e-6, bounds.TINY[dtype]) if dtype != "f16" else float(np.float16(1e-6))
    wide = np.maximum(widths, eps)
    with np.errstate(all="ignore"):
        stirling = np.where(counts > 1, counts * np.log(counts) - counts + 0.5 * np.log(2 * np.pi * counts), 0)
    cosine = np.sum(x * y, -1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)
    for call, each in {
        f"nn.poisson_nll({a}, {n}": np.exp(x) - counts * x,
        f"nn.poisson_nll({a}, {n}, full: true": np.exp(x) - counts * x + stirling,
        f"nn.poisson_nll(abs({a}) + 0.5, {n}, log_input: false": np.abs(x) + 0.5 - counts * np.log(np.abs(x) + 0.5 + 1e-8),
        f"nn.gaussian_nll({a}, {b}, {w} + 0.25": 0.5 * (np.log(widths + 0.25) + (x - y) ** 2 / (widths + 0.25)),
        f"nn.gaussian_nll({a}, {a} + 0.0, {w}, full: true": 0.5 * (np.log(wide) + np.log(2 * np.pi)),
        f"nn.margin_ranking({a}, {b}, {t}, margin: 0.5": np.maximum(0, 0.5 - sign * (x - y)),
        f"nn.soft_margin({a}, {t}": np.log1p(np.exp(-sign * x)),
        f"nn.cosine_embedding({a}, {b}, {r}, margin: 0.25": np.where(rows > 0, 1 - cosine, np.maximum(0, cosine - 0.25)),
    }.items():
        for how, f in dict(none=lambda v: v, sum=np.sum, mean=np.mean).items():
            s.check(f'{call}, reduction: "{how}")', f(each), roundings=16, size=20 * (15 if how == "sum" else 1))
    for call in (f"nn.poisson_nll({a}, {n})", f"nn.gaussian_nll({a}, {b}, {w} + 0.25)", f"nn.soft_margin({a}, {t})",
                 f"nn.cosine_embedding({a}, {b}, {r})", f"nn.margin_ranking({a}, {b}, {t})"):
        s.slope(call, a, rng)
    return s


GROUPS = ((pooling, FLOATS + INTS), (counting, FLOATS + INTS), (nan_reductions, FLOATS), (images, FLOATS), (ctc, FLOATS), (losses, FLOATS), (special, FLOATS), (divisors, INTS), (windows, ["f32"]), (matrices, FLOATS), (attention, FLOATS))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenc", required=True)
    parser.add_argument("--cuda", help="the driver of a virtual machine for PTX")
    parser.add_argument("--only", default="", help="only programs whose name contains this")
    args = parser.parse_args()
    if args.cuda: machine.skip_without_nvrtc(args.tenc, args.cuda)
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="tenc-composed-") as folder:
        for group, dtypes in GROUPS:
            for dtype in dtypes:
                if args.only not in f"{group.__name__}_{dtype}": continue
                with np.errstate(all="ignore"):
                    script = group(pathlib.Path(folder), dtype, np.random.default_rng(11))
                for engine in ("cuda",) if args.cuda else ("compiled", "interp"):
                    failures += [f"{engine}: {f}" for f in script.run(args.tenc, engine, args.cuda)]
                    count += len(script.expected)
    print("\n".join(failures))
    print(f"{count} results compared, {len(failures)} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
