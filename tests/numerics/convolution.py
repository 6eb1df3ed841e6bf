#!/usr/bin/env python3
"""Convolutions of random shapes against NumPy: compiled, compiled without fusion, and in the reference interpreter.

    convolution.py --tenc BUILD/bin/tenc [--count 60] [--seed 0]

The expected values are sums of shifted slices in f64. An element may differ by eps * terms * sum |x| |w|, the bound of a
sum of that many rounded products in any order.
"""
import argparse, pathlib, random, subprocess, sys, tempfile

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--tenc", required=True, type=lambda p: str(pathlib.Path(p).resolve()))
ap.add_argument("--count", type=int, default=60)
ap.add_argument("--seed", type=int, default=0)
A = ap.parse_args()
pick = random.Random(A.seed)
values = np.random.default_rng(A.seed)


def convolve(x, w, stride, padding, dilation, groups):
    """x (n, c, ...), w (o, c / groups, ...), all f64."""
    n = len(stride)
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
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
    groups, depth, outs = pick.choice([1, 1, 1, 2, 3]), pick.choice([1, 1, 2, 3, 5, 16]), pick.choice([1, 2, 3, 8, 16, 20, 33])
    size = [pick.choice([5, 7, 9] if n == 3 else [5, 7, 14, 16, 17, 28, 33]) for _ in range(n)]
    window, stride = [pick.choice([1, 2, 3, 5]) for _ in range(n)], [pick.choice([1, 1, 2, 3]) for _ in range(n)]
    dilation, padding = [pick.choice([1, 1, 2]) for _ in range(n)], [pick.choice([0, 1, 2]) for _ in range(n)]
    dilation = [1 if d * (k - 1) + 1 > s else d for d, k, s in zip(dilation, window, size)]
    dtype = pick.choice(["f32", "f32", "f64", "f16"])
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype]
    x = values.standard_normal((pick.choice([1, 2, 3]), groups * depth, *size)).astype(kind)
    w = values.standard_normal((groups * outs, depth, *window)).astype(kind)
    b = values.standard_normal(groups * outs).astype(kind)
    for name, a in dict(x=x, w=w, b=b).items(): np.save(folder / f"{name}.npy", a)
    given, act = pick.choice([", b", ""]), pick.choice(["relu", ""])
    call = f"{act}(conv{n}d(x, w{given}, stride: {stride}, padding: {padding}, dilation: {dilation}, groups: {groups}))"
    script = "".join(f'let {v} = load("{v}.npy")\n' for v in "xwb") + f'save("y.npy", {call})\n'
    (folder / "s.tl").write_text(script)
    options = (stride, padding, dilation, groups)
    wide = [a.astype(np.float64) for a in (x, w, b)]
    want = convolve(wide[0], wide[1], *options)
    scale = convolve(abs(wide[0]), abs(wide[1]), *options)
    if given:
        channel = wide[2].reshape(-1, *[1] * n)
        want, scale = want + channel, scale + abs(channel)
    if act: want = np.maximum(want, 0)
    terms = depth * np.prod(window) + 2
    # Halves are summed in f32 and rounded twice at most: by the convolution and by the addition of the bias.
    eps = np.finfo(kind).eps
    bound = np.finfo(np.float32).eps * terms * scale + 2 * eps * scale if dtype == "f16" else eps * terms * scale
    for options in ([], ["--no-fuse"], ["--engine=interp"]):
        run = subprocess.run([A.tenc, "s.tl", *options], cwd=folder, capture_output=True, text=True)
        if run.returncode: return f"{script}{options}: {run.stderr}"
        got = np.load(folder / "y.npy").astype(np.float64)
        if got.shape != want.shape: return f"{script}{options}: shape {got.shape}, not {want.shape}"
        if not (abs(got - want) <= bound).all(): return f"{script}{options}: off by {abs(got - want).max()}"
    return None


failures = 0
with tempfile.TemporaryDirectory() as t:
    for _ in range(A.count):
        why = case(pathlib.Path(t))
        if why: failures += 1; print(why)
print(f"{A.count - failures} passed, {failures} failed")
sys.exit(failures > 0)
