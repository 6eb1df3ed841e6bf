#!/usr/bin/env python3
"""Random programs, run by the reference interpreter, compiled, compiled without fusion, with one thread, for AVX2, and on a virtual device.

    python fuzz.py --tenc PATH [--count 500] [--first 0] [--operations 14] [--keep DIR]

Exact results must have equal bits everywhere; bounded ones may differ from the interpreter's by their bound, and must have
equal bits for every number of threads and width of vectors. A failing program is shrunk by dropping lines, and printed. See generate.py.
Closes with `N passed, N failed`."""
import argparse, os, re, subprocess, sys, tempfile

import numpy as np

from generate import Program

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", required=True); ap.add_argument("--count", type=int, default=500); ap.add_argument("--first", type=int, default=0)
ap.add_argument("--operations", type=int, default=14); ap.add_argument("--keep"); ap.add_argument("--timeout", type=float, default=20)
A = ap.parse_args()
A.tenc = os.path.abspath(A.tenc)
ENGINES = {"interp": ["--engine=interp"], "compiled": ["--threads", "2"], "unfused": ["--no-fuse", "--threads", "2"], "single": ["--threads", "1"],
           "narrow": ["--target-cpu", "x86-64-v3"],
           "virtual": ["--virtual", "cuda=1:lazy", "--default-device", "cuda:0", "--threads", "2"]}


def results(text, flags):
    """name -> array of what the program saves; or the error's text."""
    with tempfile.TemporaryDirectory() as d:
        open(f"{d}/p.tl", "w").write(text)
        try: r = subprocess.run([A.tenc, "p.tl", *flags], cwd=d, capture_output=True, text=True, timeout=A.timeout)
        except subprocess.TimeoutExpired: return "timed out"
        if r.returncode: return f"exit {r.returncode}: {(r.stderr or r.stdout).strip()[:400]}"
        return {f[:-4]: np.load(f"{d}/{f}") for f in os.listdir(d) if f.endswith(".npy")}


def same_bits(a, b):
    if a.shape != b.shape or a.dtype != b.dtype: return False
    if a.dtype.kind != "f": return np.array_equal(a, b)
    return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))))


def check(text):
    """What is wrong with how the program runs, or None."""
    got = {k: results(text, f) for k, f in ENGINES.items()}
    for k, v in got.items():
        if isinstance(v, str): return f"{k}: {v}"
    want = got["interp"]
    for name in sorted(n for n in want if n[0] == "r"):
        bound = want.get("b" + name[1:])
        for k in ("compiled", "unfused", "single", "narrow", "virtual"):
            a, b = want[name], got[k].get(name)
            if b is None or a.shape != b.shape or a.dtype != b.dtype: return f"{k}: {name} is missing or of another type"
            if bound is None:
                if not same_bits(a, b): return f"{k}: {name} has other bits: {a.ravel()[:6]} {b.ravel()[:6]}"
            else:
                with np.errstate(all="ignore"):
                    off = np.abs(a.astype(np.float64) - b.astype(np.float64)) > np.abs(np.broadcast_to(bound, a.shape)).astype(np.float64)
                off &= ~(np.isnan(a) & np.isnan(b)) & ~(a == b)
                off |= np.isnan(a) != np.isnan(b)
                if off.any(): return f"{k}: {name} differs by more than its bound at {np.argwhere(off)[0]}: {a[off].ravel()[0]} {b[off].ravel()[0]}"
        if not same_bits(got["compiled"][name], got["single"][name]): return f"{name} depends on the number of threads"
        if not same_bits(got["compiled"][name], got["virtual"][name]): return f"{name} depends on the device"
        if not same_bits(got["compiled"][name], got["narrow"][name]): return f"{name} depends on the width of vectors"
    return None


def kind(problem): return re.sub(r"[\d.]+", "N", problem)[:60]


def shrink(text, problem):
    lines, n = text.splitlines(), 8
    while n >= 1:
        i = 0
        while i < len(lines):
            fewer = lines[:i] + lines[i + n:]
            p = check("\n".join(fewer) + "\n") if fewer else None
            if p and kind(p) == kind(problem): lines = fewer
            else: i += n
        n //= 2
    return "\n".join(lines) + "\n"


passed = failed = 0
for seed in range(A.first, A.first + A.count):
    text = Program(seed).build(A.operations)
    problem = check(text)
    if problem is None:
        passed += 1
        continue
    failed += 1
    print(f"seed {seed}: {problem}", flush=True)
    if failed <= 5:
        small = shrink(text, problem)
        print("".join("    " + l + "\n" for l in small.splitlines()), flush=True)
        if A.keep:
            os.makedirs(A.keep, exist_ok=True)
            open(f"{A.keep}/seed{seed}.tl", "w").write(small)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
