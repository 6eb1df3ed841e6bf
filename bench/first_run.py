#!/usr/bin/env python3
"""Programs that run once, on arrays from files, against NumPy and JAX.

    python3 bench/first_run.py [--tenc PATH] [--only NAME...] [--rounds N] [--peers numpy,jax] [--in-memory] [--check]

Kernels of the kind of NPBench (Ziogas et al. 2021), on inputs of 10 to 100 MB. tenc runs each in a new process, whose machine code
is in the cache: its figure is the stage `run`, without the line that saves the result, so that reading the files and touching memory for the first time
count. The peers are warm, and read the files too: they have compiled before, and a call in one process loads the arrays and runs the kernel. Of both the least time of
0.3 s counts, in which the files are as near in the caches. The peers load in two ways, by `np.load` and by `np.load(mmap_mode="r")`, of which the faster counts. With --in-memory they have the arrays before, and memory that they have used
before, which nothing that runs once can have. Results are compared before
anything is timed. `ratio` is the best peer's time by tenc's; rounds are interleaved, figures are medians. --check fails where the geometric mean
is below 1.5 or a ratio below 0.9. Needs numpy, and jax where it is a peer."""
import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent

f32, f64, i64 = "f32", "f64", "i64"
HEAT = "a[1:-1, 1:-1, 1:-1] + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1]) + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1]) + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])"
JACOBI = "0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])"


def stencil(inner, steps, rank):
    """Steps that write the inside of `a`: in place, and as JAX has it."""
    box, code = (slice(1, -1),) * rank, compile(inner, "stencil", "eval")

    def numpy(a):
        a = a.copy()
        for _ in range(steps): a[box] = eval(code, {"a": a})
        return a

    def jax(np):
        import jax
        return lambda a: jax.lax.fori_loop(0, steps, lambda _, a: a.at[box].set(eval(code, {"a": a})), a)
    return numpy, jax


def fdtd(np, set):
    def run(ex, ey, hz):
        for t in range(10):
            ey = set(ey, np.s_[0, :], float(t))
            ey = set(ey, np.s_[1:, :], ey[1:, :] - 0.5 * (hz[1:, :] - hz[:-1, :]))
            ex = set(ex, np.s_[:, 1:], ex[:, 1:] - 0.5 * (hz[:, 1:] - hz[:, :-1]))
            hz = set(hz, np.s_[:-1, :-1], hz[:-1, :-1] - 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return hz
    return run


def written(a, at, value):
    a = a.copy()
    a[at] = value
    return a


def arc_distance(np):
    def run(t1, p1, t2, p2):
        x = np.sin((t2 - t1) / 2) ** 2 + np.cos(t1) * np.cos(t2) * np.sin((p2 - p1) / 2) ** 2
        return 2 * np.arctan2(np.sqrt(x), np.sqrt(1 - x))
    return run


def softmax(np):
    def run(x):
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)
    return run


def hdiff(np):
    def run(a, c):
        lap = 4.0 * a[1:-1, 1:-1, :] - (a[2:, 1:-1, :] + a[:-2, 1:-1, :] + a[1:-1, 2:, :] + a[1:-1, :-2, :])
        r = lap[1:, 1:-1] - lap[:-1, 1:-1]
        x = np.where(r * (a[2:-1, 2:-2, :] - a[1:-2, 2:-2, :]) > 0, 0, r)
        s = lap[1:-1, 1:] - lap[1:-1, :-1]
        y = np.where(s * (a[2:-2, 2:-1, :] - a[2:-2, 1:-2, :]) > 0, 0, s)
        return a[2:-2, 2:-2, :] - c * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])
    return run


def correlation(np):
    def run(x):
        s = np.sqrt(np.mean((x - np.mean(x, axis=0)) ** 2, axis=0))
        y = (x - np.mean(x, axis=0)) / (math.sqrt(x.shape[0]) * s)
        return y.T @ y
    return run


def covariance(np):
    def run(x):
        y = x - np.mean(x, axis=0)
        return y.T @ y / (x.shape[0] - 1.0)
    return run


def gemver(np):
    def run(a, u1, v1, u2, v2, y, z):
        b = a + np.outer(u1, v1) + np.outer(u2, v2)
        x = 1.2 * (y @ b) + z
        return 1.5 * (b @ x)
    return run


def layer(np):
    return lambda x, w, b: np.maximum(x @ w + b, 0)


def both(f): return f(np), f


# name: inputs (dtype, shape), the program's last lines, which give `y`, and the same for NumPy and, of jax.numpy, for JAX
KERNELS = {
    "go_fast": ([(f64, (3000, 3000))], "let y = a + sum(tanh(diagonal(a)))", *both(lambda np: lambda a: a + np.sum(np.tanh(np.diagonal(a))))),
    "softmax": ([(f32, (16, 16, 256, 256))], "let y = softmax(a, axis: -1)", *both(softmax)),
    "arc_distance": ([(f64, (2000000,))] * 4, "let x = sin((c - a) / 2.0) ** 2 + cos(a) * cos(c) * sin((d - b) / 2.0) ** 2\nlet y = 2.0 * atan2(sqrt(x), sqrt(1.0 - x))", *both(arc_distance)),
    "compute": ([(i64, (2000, 2000))] * 2, "let y = clamp(a, 2, 10) * 4 + b * 3 + 9", *both(lambda np: lambda a, b: np.clip(a, 2, 10) * 4 + b * 3 + 9)),
    "hdiff": ([(f64, (260, 260, 64)), (f64, (256, 256, 64))],
              "let lap = 4.0 * a[1:-1, 1:-1, :] - (a[2:, 1:-1, :] + a[:-2, 1:-1, :] + a[1:-1, 2:, :] + a[1:-1, :-2, :])\n"
              "let r = lap[1:, 1:-1] - lap[:-1, 1:-1]\nlet x = where(r * (a[2:-1, 2:-2, :] - a[1:-2, 2:-2, :]) > 0.0, 0.0, r)\n"
              "let s = lap[1:-1, 1:] - lap[1:-1, :-1]\nlet z = where(s * (a[2:-2, 2:-1, :] - a[2:-2, 1:-2, :]) > 0.0, 0.0, s)\n"
              "let y = a[2:-2, 2:-2, :] - b * (x[1:] - x[:-1] + z[:, 1:] - z[:, :-1])", *both(hdiff)),
    "jacobi_2d": ([(f64, (1600, 1600))], f"var y = a\nfor t in 0..20 {{ y[1:-1, 1:-1] = {JACOBI.replace('a[', 'y[')} }}", *stencil(JACOBI, 20, 2)),
    "heat_3d": ([(f64, (128, 128, 128))], f"var y = a\nfor t in 0..20 {{ y[1:-1, 1:-1, 1:-1] = {HEAT.replace('a[', 'y[')} }}", *stencil(HEAT, 20, 3)),
    "fdtd_2d": ([(f64, (1200, 1200))] * 3,
                "var ex = a\nvar ey = b\nvar y = c\nfor t in 0..10 {\n    ey[0] = f64(t)\n    ey[1:] = ey[1:] - 0.5 * (y[1:] - y[:-1])\n    ex[:, 1:] = ex[:, 1:] - 0.5 * (y[:, 1:] - y[:, :-1])\n"
                "    y[:-1, :-1] = y[:-1, :-1] - 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])\n}",
                fdtd(np, written), lambda np: fdtd(np, lambda a, at, value: a.at[at].set(value))),
    "gemm": ([(f64, (1200, 1200))] * 3, "let y = 1.5 * (a @ b) + 1.2 * c", *both(lambda np: lambda a, b, c: 1.5 * (a @ b) + 1.2 * c)),
    "gesummv": ([(f64, (2200, 2200))] * 2 + [(f64, (2200,))], "let y = 1.5 * (a @ c) + 1.2 * (b @ c)", *both(lambda np: lambda a, b, c: 1.5 * (a @ c) + 1.2 * (b @ c))),
    "atax": ([(f64, (3000, 2500)), (f64, (2500,))], "let y = (a @ b) @ a", *both(lambda np: lambda a, b: (a @ b) @ a)),
    "mvt": ([(f64, (3000, 3000)), (f64, (3000,)), (f64, (3000,))], "let y = a @ b + c @ a", *both(lambda np: lambda a, b, c: a @ b + c @ a)),
    "gemver": ([(f64, (2500, 2500))] + [(f64, (2500,))] * 6,
               "let m = a + outer(b, c) + outer(d, e)\nlet x = 1.2 * (f @ m) + g\nlet y = 1.5 * (m @ x)", *both(gemver)),
    "covariance": ([(f64, (1600, 1200))], "let m = a - mean(a, axis: 0)\nlet y = m.T @ m / 1599.0", *both(covariance)),
    "correlation": ([(f64, (1600, 1200))], "let m = a - mean(a, axis: 0)\nlet s = sqrt(mean(m ** 2, axis: 0))\nlet z = m / (40.0 * s)\nlet y = z.T @ z", *both(correlation)),
    "doitgen": ([(f64, (128, 128, 256)), (f64, (256, 256))], "let y = a @ b", *both(lambda np: lambda a, b: a @ b)),
    "k2mm": ([(f64, (1000, 1000))] * 3, "let y = 1.5 * (a @ b @ c) + a", *both(lambda np: lambda a, b, c: 1.5 * (a @ b @ c) + a)),
    "mlp": ([(f32, (4096, 1024)), (f32, (1024, 1024)), (f32, (1024,))], "let y = relu(a @ b + c)", *both(layer)),
    "l2norm": ([(f32, (4000, 4000))], "let y = a / sqrt(sum(a * a, axis: 1, keep: true))", *both(lambda np: lambda a: a / np.sqrt(np.sum(a * a, axis=1, keepdims=True)))),
    "transpose": ([(f32, (4096, 4096))], "let y = a.T * 2.0 + a", *both(lambda np: lambda a: a.T * 2 + a)),
    "cumulative": ([(f64, (2500, 2000))], "let y = cumsum(a, axis: 1)", *both(lambda np: lambda a: np.cumsum(a, axis=1))),
    "histogram_eq": ([(i64, (4000000,))], "let n = bincount(a % 256, length: 256)\nlet y = cumsum(n)[a % 256]", lambda a: np.cumsum(np.bincount(a % 256, minlength=256))[a % 256],
                     lambda np: lambda a: np.cumsum(np.bincount(a % 256, length=256))[a % 256]),
}


def arrays(inputs):
    r = np.random.default_rng(0)
    return [r.integers(0, 1000, shape) if dtype == i64 else r.random(shape, dtype=np.float32 if dtype == f32 else np.float64) for dtype, shape in inputs]


def script(inputs, lines):
    text = [f'let {"abcdefg"[n]}: {dtype}[{", ".join(map(str, shape))}] = load("{"abcdefg"[n]}.npy")' for n, (dtype, shape) in enumerate(inputs)]
    return "\n".join(text + [lines, 'save("y.npy", y)']) + "\n"


def tenc(A, folder):
    """Milliseconds of the run, without what saving takes."""
    done = subprocess.run([A.tenc, "s.tl", "--time"], cwd=folder, capture_output=True, text=True)
    if done.returncode: sys.exit(done.stderr)
    last = len((folder / "s.tl").read_text().splitlines())
    run = float(re.search(r"^run\s+([\d.]+)", done.stderr, re.M)[1])
    saved = re.search(rf"^s\.tl:{last}\s+([\d.]+)", done.stderr, re.M)
    return run - float(saved[1] if saved else 0)


def least(timed):
    """The least of the times that calls of `timed` return, for so long as counts in a round for everybody."""
    best, end = math.inf, time.perf_counter() + 0.3
    while time.perf_counter() < end or best == math.inf: best = min(best, timed())
    return best


def warm(call):
    def timed():
        begin = time.perf_counter()
        call()
        return (time.perf_counter() - begin) * 1e3
    return least(timed)


def reading(function, paths):
    """Times a function of arrays that are loaded for each call."""
    def run(mode): return lambda: function(*[np.asarray(np.load(p, mmap_mode=mode)) for p in paths])
    return lambda: min(warm(run(None)), warm(run("r")))


def measure(A, name, folder):
    inputs, lines, numpy, jax = KERNELS[name]
    data = arrays(inputs)
    paths = [folder / f"{'abcdefg'[n]}.npy" for n in range(len(data))]
    for path, x in zip(paths, data): np.save(path, x)
    (folder / "s.tl").write_text(script(inputs, lines))
    tenc(A, folder)
    want, got = numpy(*data), np.load(folder / "y.npy")
    tolerance = 1e-4 if want.dtype == np.float32 else 1e-9
    if want.shape != got.shape or not np.allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max()): sys.exit(f"{name}: the results differ")
    peers = {}
    if "numpy" in A.peers: peers["numpy"] = (lambda: warm(lambda: numpy(*data))) if A.in_memory else reading(numpy, paths)
    if "jax" in A.peers:
        import jax as library
        library.config.update("jax_enable_x64", True)
        compiled, there = library.jit(jax(library.numpy)), [library.numpy.asarray(x) for x in data]
        def call(*arrays): return compiled(*arrays).block_until_ready()
        call(*there)
        peers["jax"] = (lambda: warm(lambda: call(*there))) if A.in_memory else reading(call, paths)
    ours, theirs = [], {p: [] for p in peers}
    for _ in range(A.rounds):
        ours.append(least(lambda: tenc(A, folder)))
        for p, run in peers.items(): theirs[p].append(run())
    medians = {p: statistics.median(t) for p, t in theirs.items()}
    return statistics.median(ours), medians


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", default=ROOT / "build/release/bin/tenc", type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--only", nargs="*", default=list(KERNELS), choices=list(KERNELS), metavar="NAME")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--peers", default="numpy,jax")
    ap.add_argument("--in-memory", action="store_true")
    ap.add_argument("--check", action="store_true")
    A = ap.parse_args()
    ratios = []
    print(f"| kernel ({os.cpu_count()} processors, ms) | {' | '.join(A.peers.split(','))} | tenc | ratio |")
    print("|---" * (3 + len(A.peers.split(","))) + "|")
    for name in A.only:
        with tempfile.TemporaryDirectory() as folder: ours, peers = measure(A, name, pathlib.Path(folder))
        ratios.append(min(peers.values()) / ours)
        print(f"| {name} | {' | '.join(f'{t:.2f}' for t in peers.values())} | {ours:.2f} | {ratios[-1]:.2f} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\ngeometric mean {mean:.2f}, least {min(ratios):.2f}")
    if A.check and (mean < 1.5 or min(ratios) < 0.9): sys.exit(1)


if __name__ == "__main__":
    main()
