#!/usr/bin/env python3
"""Convolutions of random shapes against NumPy: compiled in each way, with the same bits, and in the reference interpreter.

    convolution.py --tenc BUILD/bin/tenc [--count 60] [--seed 0] [--keep FOLDER]

The expected values are sums of shifted slices in f64. An element may differ by eps * terms * sum |x| |w|, the bound of a
sum of that many rounded products in any order. Some weights are infinite: the sums that such a weight is part of are, and
no others, because padding adds nothing, not 0 times the weight.
"""
import argparse, pathlib, random, shutil, subprocess, sys, tempfile

import numpy as np

import bounds

ap = argparse.ArgumentParser()
ap.add_argument("--tenc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
ap.add_argument("--count", type=int, default=60)
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--keep", type=pathlib.Path, help="a folder for what fails")
A = ap.parse_args()
pick = random.Random(A.seed)
values = np.random.default_rng(A.seed)


def convolve(x, w, stride, padding, dilation, groups):
    """x (n, c, ...), w (o, c / groups, ...), all f64."""
    n = len(stride)
    x = np.pad(x, [(0, 0), (0, 0), *padding])
    places = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    outs, depth = w.shape[0] // groups, w.shape[1]
    y = np.zeros((x.shape[0], w.shape[0], *places))
    for tap in np.ndindex(*w.shape[2:]):
        window = tuple(slice(t * d, t * d + (m - 1) * s + 1, s) for t, d, m, s in zip(tap, dilation, places, stride))
        for g in range(groups):
            part = x[:, g * depth:(g + 1) * depth][(slice(None), slice(None)) + window]
            y[:, g * outs:(g + 1) * outs] += np.einsum("nc...,oc->no...", part, w[(slice(g * outs, (g + 1) * outs), slice(None)) + tap])
    return y


def case(folder):
    n = pick.choice([1, 2, 2, 2, 3])
    groups, depth, outs = pick.choice([1, 1, 1, 2, 3]), pick.choice([1, 1, 2, 3, 5, 16]), pick.choice([1, 2, 3, 8, 16, 20, 32, 33, 48])
    size = [pick.choice([5, 7, 9] if n == 3 else [1, 5, 7, 14, 16, 17, 28, 33, 100]) for _ in range(n)]
    window, stride = [pick.choice([1, 2, 3, 5, 7]) for _ in range(n)], [pick.choice([1, 1, 1, 2, 3]) for _ in range(n)]
    if n == 2 and pick.random() < 0.4:  # a window of its own for each channel
        groups, depth, outs, window = pick.choice([1, 3, 4, 9]), 1, pick.choice([1, 1, 2]), [pick.choice([2, 3, 5, 7, 11]) for _ in range(2)]
    if n == 1: window = [pick.choice([1, 3, 7, 31, 60, 400])]
    dilation = [pick.choice([1, 1, 2, 6]) for _ in range(n)]
    padding = [[pick.choice([0, 1, 1, 2, 3, 250 if n == 1 else 9]) for _ in range(2)] for _ in range(n)]
    for i in range(n):
        padding[i][1] += max(0, dilation[i] * (window[i] - 1) + 1 - size[i] - sum(padding[i]))
    dtype = pick.choice(["f32", "f32", "f64", "f16"])
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype]
    x = values.standard_normal((pick.choice([1, 2, 3]), groups * depth, *size)).astype(kind)
    w = values.standard_normal((groups * outs, depth, *window)).astype(kind)
    b = values.standard_normal(groups * outs).astype(kind)
    endless = w > (2.2 if pick.random() < 0.3 else np.inf)
    if endless.any(): x, w[endless] = abs(x), np.inf
    for name, a in dict(x=x, w=w, b=b).items(): np.save(folder / f"{name}.npy", a)
    given, act = pick.choice([", b", ""]), pick.choice(["relu", ""])
    call = f"{act}(conv{n}d(x, w{given}, stride: {stride}, padding: {padding}, dilation: {dilation}, groups: {groups}))"
    script = "".join(f'let {v} = load("{v}.npy")\n' for v in "xwb") + f'save("y.npy", {call})\n'
    (folder / "s.tl").write_text(script)
    options = (stride, padding, dilation, groups)
    wide = [a.astype(np.float64) for a in (x, np.where(endless, 0, w), b)]
    infinite = convolve(np.ones(x.shape), endless.astype(np.float64), *options) > 0
    want = convolve(wide[0], wide[1], *options)
    scale = convolve(abs(wide[0]), abs(wide[1]), *options)
    if given:
        channel = wide[2].reshape(-1, *[1] * n)
        want, scale = want + channel, scale + abs(channel)
    if act: want = np.maximum(want, 0)
    terms = depth * np.prod(window) + 2
    # Halves are summed in f32 and rounded twice at most: by the convolution and by the addition of the bias. Rounding
    # a small one may take up to half of the least number.
    bound = bounds.EPS["f64" if dtype == "f64" else "f32"] * terms * scale
    if dtype == "f16": bound = bound + bounds.product_of_halves(dtype) * scale + bounds.TINY[dtype]
    bits = None
    ways = [[], ["--no-fuse"], ["--code=quick"], ["--code=full", "--threads=1"], ["--code=full", "--threads=3"], ["--engine=interp"]]
    for way in ways:
        run = subprocess.run([A.tenc, "s.tl", *way], cwd=folder, capture_output=True, text=True)
        if run.returncode: return f"{script}{way}: {run.stderr}"
        got = np.load(folder / "y.npy")
        if got.shape != want.shape: return f"{script}{way}: shape {got.shape}, not {want.shape}"
        if bits is None: bits = got.tobytes()
        if bits != got.tobytes() and way != ["--engine=interp"]: return f"{script}{way}: other bits"
        got = got.astype(np.float64)
        if not (np.isinf(got) == infinite).all(): return f"{script}{way}: infinite elsewhere"
        off = np.where(infinite, 0, abs(got - want))
        if not (off <= bound).all(): return f"{script}{way}: off by {off.max()}"
    return None


def transposed(folder):
    """conv_transpose: every element of x adds the window, times itself, to the result."""
    n, groups = pick.choice([1, 2, 2, 3]), pick.choice([1, 1, 2])
    depth, outs = groups * pick.choice([1, 2, 5]), pick.choice([1, 3, 8])
    pad, extra = [], []
    size, window, stride, dilation = ([pick.choice(c) for _ in range(n)] for c in ([1, 3, 5, 8], [1, 2, 3, 4, 5], [1, 2, 2, 3, 4], [1, 1, 1, 2]))
    for i in range(n):
        reach = dilation[i] * (window[i] - 1)
        pad.append(pick.choice([p for p in (0, 1, 2) if (size[i] - 1) * stride[i] + reach + 1 > 2 * p]))
        extra.append(pick.choice([0, stride[i] - 1]))
    x, w = values.standard_normal((2, depth, *size)), values.standard_normal((depth, outs, *window))
    whole = [(size[i] - 1) * stride[i] + dilation[i] * (window[i] - 1) + 1 + extra[i] for i in range(n)]
    want = np.zeros((2, groups * outs, *whole))
    for tap in np.ndindex(*window):
        at = tuple(slice(t * d, t * d + (m - 1) * s + 1, s) for t, d, m, s in zip(tap, dilation, size, stride))
        for g in range(groups):
            part = slice(g * depth // groups, (g + 1) * depth // groups)
            want[(slice(None), slice(g * outs, (g + 1) * outs)) + at] += np.einsum("nc...,co->no...", x[:, part], w[(part, slice(None)) + tap])
    want = want[(slice(None), slice(None)) + tuple(slice(p, whole[i] - p) for i, p in enumerate(pad))]
    np.save(folder / "x.npy", x)
    np.save(folder / "w.npy", w)
    script = ('let x = load("x.npy")\nlet w = load("w.npy")\n'
              f'save("y.npy", conv_transpose{n}d(x, w, stride: {stride}, padding: {pad}, output_padding: {extra}, dilation: {dilation}, groups: {groups}))\n')
    (folder / "s.tl").write_text(script)
    for way in ([], ["--no-fuse"], ["--engine=interp"]):
        run = subprocess.run([A.tenc, "s.tl", *way], cwd=folder, capture_output=True, text=True)
        if run.returncode: return f"{script}{way}: {run.stderr}"
        got = np.load(folder / "y.npy")
        if got.shape != want.shape: return f"{script}{way}: shape {got.shape}, not {want.shape}"
        if not np.allclose(got, want, rtol=1e-12, atol=1e-12): return f"{script}{way}: off by {abs(got - want).max()}"
    return None


failures = 0
with tempfile.TemporaryDirectory() as t:
    for _ in range(A.count):
        for why in (make(pathlib.Path(t)) for make in (case, transposed)):
            if why:
                failures += 1
                print(why)
                if A.keep: shutil.copytree(t, A.keep / f"{A.seed}.{failures}", dirs_exist_ok=True)
print(f"{2 * A.count - failures} passed, {failures} failed")
sys.exit(failures > 0)
