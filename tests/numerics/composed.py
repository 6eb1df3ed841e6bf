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
from tir_program import FLOATS, INTS, NUMPY, rounded

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import machine  # noqa: E402


class Script:
    """One program: what it loads, what it saves, and what that must be."""

    def __init__(self, folder, name, dtype, modules=""):
        self.folder, self.name, self.dtype = folder, f"{name}_{dtype}", dtype
        self.lines = [f"import {m}" for m in modules.split()]
        self.expected, self.count = [], 0

    def load(self, x, dtype=None):
        """A variable with the values of x, which are rounded to the dtype, and those values."""
        dtype = dtype or self.dtype
        x = rounded(np.asarray(x), dtype)
        name = f"x{self.count}"
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

    def slope(self, expression, variable, shape, rng):
        """In f64: the gradient and the forward derivative of the expression's sum, with random weights, along a random line
        are what its values on both sides say."""
        if self.dtype != "f64": return
        line, _ = self.load(rng.standard_normal(shape))
        n, self.count = self.count, self.count + 1
        f = f"|t| sum(sin(arange({expression.replace(variable, 't')}.size) + 1.0) * flatten({expression.replace(variable, 't')}))"
        path = self.folder / f"{self.name}.slope{n}.npy"
        self.lines += [f"let f{n} = {f}".replace("arange(", "f64(arange(").replace(".size)", ".size))"),
                       f"let near{n} = (f{n}({variable} + 1e-5 * {line}) - f{n}({variable} - 1e-5 * {line})) / 2e-5",
                       f"let all{n} = stack((sum(grad(f{n})({variable}) * {line}), jvp(f{n})({variable}, {line}).1)) - near{n}",
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
    s.slope(f"max_unpool(max_pool_with_indices({v}, 2).0, max_pool_with_indices({v}, 2).1, 2)", v, (2, 3, 4, 6), rng)
    s.slope(f"adaptive_max_pool({v}, (3, 4))", v, (2, 3, 4, 6), rng)
    s.slope(f"avg_pool({v}, 2, divisor_override: 3)", v, (2, 3, 4, 6), rng)
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
    rows, sorted_rows = s.load(np.sort(x, axis=1))
    for right in (False, True):
        want = np.array([np.searchsorted(a, b, "right" if right else "left") for a, b in zip(sorted_rows, x)])
        s.check(f"searchsorted({rows}, {v}, right: {str(right).lower()})", want)
    for to in ("i64", "f32", "f64"):
        if dtype[0] == "u" and to == "i64": continue
        as_it = x.astype(NUMPY[to])
        check = Script.check if (to in FLOATS) == (dtype in FLOATS) else lambda *a: None
        check(s, f"{to}(cumsum({v}, axis: 1, dtype: {to}))", np.cumsum(as_it, axis=1))
        check(s, f"{to}(sum({v}, axis: 0, dtype: {to}))", np.sum(as_it, axis=0))
    scatters(s, v, x, i, places % 5)
    if dtype == "f64":
        apart, _ = s.load(rng.standard_normal((5, 7)))
        s.slope(f"bincount({i}, {apart}, length: 6)", apart, (5, 7), rng)
        s.slope(f"kthvalue({apart}, 3, axis: 0).0", apart, (5, 7), rng)
        s.slope(f"mode({apart}).0", apart, (5, 7), rng)
        for mode in ("add", "mul", "max", "min", "mean"):
            s.slope(f'scatter({apart}, {i} % 5, {apart}[::-1], axis: 0, reduce: "{mode}", include_self: false)', apart, (5, 7), rng)
        s.slope(f'scatter({apart}, {i} % 5, {apart}[::-1], axis: 0, reduce: "mean")', apart, (5, 7), rng)
    return s


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
        s.slope(f.replace("X", w), w, (4, 6, 5), rng)
    s.slope(f"nanstd(where(isnan({v}), {v}, {w}), axis: 0)", w, (4, 6, 5), rng)
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
    for shape, size, ratios in [((7,), (4,), (1.5,)), ((5, 6), (8, 3), (0.5, 2.0)), ((3, 4, 5), (5, 2, 7), (2.0, 1.0, 0.7))]:
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
    s.slope(f'image.interpolate({v}, 1.7, mode: "cubic")', v, (2, 2, 4, 5), rng)
    s.slope(f'image.grid_sample({v}, {g}, mode: "cubic", padding: "reflection")', v, (2, 2, 4, 5), rng)
    s.slope(f'image.grid_sample({v}, {g}, mode: "cubic", padding: "reflection")', g, (2, 3, 4, 2), rng)
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
        s.slope(f"{call}, zero_infinity: true)", v, x.shape, rng)
        s.check(f"{call}, zero_infinity: true)", np.mean(finite / np.maximum(lengths, 1)), roundings=32, size=8)
    return s


GROUPS = ((pooling, FLOATS + INTS), (counting, FLOATS + INTS), (nan_reductions, FLOATS), (images, FLOATS), (ctc, FLOATS))


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
