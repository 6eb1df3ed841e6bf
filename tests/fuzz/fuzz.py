#!/usr/bin/env python3
"""Random programs, run by the reference interpreter and by compiled code of several kinds.

    python fuzz.py --tenc PATH [--count 2000] [--first 0] [--operations 14] [--all | --ways N] [--jobs N] [--keep DIR]
        [--fail-fast] [--gradients [--pack 16]] [--cuda LIBCUDA]

Every program runs in the interpreter and compiled, as quick and as full code; one in two without fusion; one in four
with one thread, on virtual devices, and for narrower vectors, in turn (`--all`: every program in every way; `--ways N`:
besides the interpreter in N ways drawn by its seed, most as quick code, for long runs). Exact results must have equal
bits everywhere; bounded ones may differ from the interpreter's by their bound, and must have equal bits for every level
of code, number of threads and width of vectors. A failing program is shrunk by dropping lines and printed, as `--keep`
as a file. See generate.py. With `--cuda` programs run as CUDA C++ on the virtual machine for PTX instead of the other ways. Closes with `N passed, N failed`.

With `--gradients` the programs differentiate (generate_gradients.py), and the interpreter does so by itself
(`--engine=oracle`). Most of their time would be LLVM's, whose part in derivatives is small: of the ways that `--ways`
draws two thirds are the interpreter of what the compiler makes of derivatives, before its passes and after them.
Programs that run in the same ways are packed into one script. Those of a script that fails, or where results differ, run
again one by one; what fails then, alone, is shrunk, else the script."""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cuda"))
import machine
from generate import MODULE, Program
from generate_gradients import KIT, GradientProgram

ENGINES = {
    "interp": ["--engine=interp"],
    "oracle": ["--engine=oracle"],
    # Programs this small would all get quick code.
    "compiled": ["--threads", "2", "--code", "full"],
    "quick": ["--threads", "2", "--code", "quick"],
    "unfused": ["--no-fuse", "--threads", "2", "--code", "full"],
    "single": ["--threads", "1", "--code", "full"],
    "narrow": ["--target-cpu", "x86-64-v3", "--code", "full"],
    "virtual": ["--virtual", "cuda=1:lazy", "--default-device", "cuda:0", "--transfers=allow", "--code", "full"],
    "cuda": [*machine.FLAGS, "--default-device", "cuda:0", "--transfers=allow"],
}
PASSES = "place,verify-placed,inline,hoist-moved,dce,moves,decompose,simplify,cse,hoist,dce,bind-devices,place-free,fuse,dce"
ENGINES["passes"] = ["--engine=interp", f"--passes={PASSES}", "--run"]
INTERPRETED = ("interp", "oracle", "passes")
# What else must have the bits of "compiled".
SAME_BITS = {"compiled": "the level of code", "quick": "the level of code", "single": "the number of threads",
             "narrow": "the width of vectors", "virtual": "the device"}
# Programs that name devices run on two virtual ones.
DEVICES = {"cuda": machine.FLAGS, "virtual": ["--virtual", "cuda=2:lazy", "--code", "full"], "single": ["--virtual", "cuda=2:sync", "--threads", "1", "--code", "full"]}


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=os.path.abspath)
    ap.add_argument("--count", type=int, default=2000)
    ap.add_argument("--first", type=int, default=0)
    ap.add_argument("--operations", type=int, default=14)
    ap.add_argument("--all", action="store_true")
    ap.add_argument("--ways", type=int)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--keep")
    ap.add_argument("--fail-fast", action="store_true")
    ap.add_argument("--gradients", action="store_true")
    ap.add_argument("--pack", type=int, default=16)
    ap.add_argument("--cuda", type=os.path.abspath)
    ap.add_argument("--timeout", type=float, default=60)
    return ap.parse_args()


A = arguments()
REFERENCE = "oracle" if A.gradients else "interp"


def engines(seed):
    if A.cuda: return [REFERENCE, "cuda"]
    if A.all: return [k for k in ENGINES if k != "cuda" and (A.gradients or k not in ("oracle", "passes"))]
    if A.ways:
        draw = random.Random(seed)
        ways = [k for k in ENGINES if k not in (*INTERPRETED, "quick", "cuda")]
        ways = draw.sample(ways, min(A.ways, len(ways)))
        if A.gradients: ways = [draw.choice(["interp", "passes"]) if draw.random() < 2 / 3 else k for k in ways]
        return [REFERENCE, *dict.fromkeys(k if k in INTERPRETED else k + draw.choice([":quick"] * (6 if A.gradients else 2) + [""]) for k in ways)]
    more = ["unfused"] if seed % 2 == 0 else []
    return [REFERENCE, "compiled", "quick"] + more + {1: ["single"], 3: ["narrow"], 5: ["virtual"]}.get(seed % 8, [])


def flags(engine, text):
    """The flags of a way to run; "single:quick" is "single" as quick code."""
    engine, _, level = engine.partition(":")
    if level: return [level if f == "full" else f for f in flags(engine, text)]
    if "cuda:" not in text: return ENGINES[engine]
    return DEVICES.get(engine, [*ENGINES[engine], "--virtual", "cuda=2"]) + ["--transfers=allow"]


def results(text, flags):
    """name -> array of what the program saves, and "" -> what it prints; or the error's text."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/p.tl", "w") as f: f.write(text)
        with open(f"{d}/kit.tl", "w") as f: f.write(MODULE)
        try:
            env = machine.environment(A.tenc, A.cuda, machine.mode_of(text), f"{d}/reports") if "cuda:compute_90a" in flags or machine.ON_GPU and A.cuda else os.environ
            r = subprocess.run([A.tenc, "p.tl", *flags], cwd=d, env={**env, "TMPDIR": d}, capture_output=True, text=True, timeout=A.timeout)
        except subprocess.TimeoutExpired:
            return "timed out"
        if r.returncode: return f"exit {r.returncode}: {(r.stderr or r.stdout).strip()[:400]}"
        if os.path.exists(f"{d}/reports"):
            with open(f"{d}/reports") as f: found = f.read()
            if found: return f"reports: {found[:400]}"
        return {"": r.stdout} | {f[:-4]: np.load(f"{d}/{f}") for f in os.listdir(d) if f.endswith(".npy")}


def same_bits(a, b):
    if a.shape != b.shape or a.dtype != b.dtype: return False
    if a.dtype.kind != "f": return np.array_equal(a, b)
    return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))))


def beyond(a, b, bound):
    """Where two results differ by more than the bound."""
    with np.errstate(all="ignore"):
        wide = np.abs(np.broadcast_to(bound, a.shape)).astype(np.float64)
        # Bounds are parts of what is added; each of at most 128 products may also underflow, or not when it is contracted.
        if a.dtype in (np.float32, np.float64): wide = wide + 128 * float(np.finfo(a.dtype).smallest_subnormal)
        off = np.abs(a.astype(np.float64) - b.astype(np.float64)) > wide
    off &= ~(np.isnan(a) & np.isnan(b)) & ~(a == b)
    return off | (np.isnan(a) != np.isnan(b))


def check(text, kinds, bound_of=None):
    """What is wrong with how the program runs, or None. `bound_of`: how far from a result another may be, where the program
    does not say so by itself."""
    return compare({k: results(text, flags(k, text)) for k in kinds}, bound_of)


def compare(got, bound_of):
    for k, v in got.items():
        if isinstance(v, str): return f"{k}: {v}"
    got = dict(got)
    want = got.pop(REFERENCE)
    for k, found in got.items():
        # Headers of tensors name the device.
        a, b = (re.sub(r" @\w+(:\d+)?(?=$| \[)", "", text[""], flags=re.M) for text in (want, found))
        lines = [(x, y) for x, y in zip(a.splitlines() + [None], b.splitlines() + [None]) if x != y]
        if lines: return f"{k}: prints {lines[0][1]!r}, not {lines[0][0]!r}"
    for name in sorted(n for n in want if n[:1] == "r"):
        a = want[name]
        bound = bound_of(a) if bound_of else want.get("b" + name[1:])
        first = None
        for k, found in got.items():
            b = found.get(name)
            if b is None or a.shape != b.shape or a.dtype != b.dtype: return f"{k}: {name} is missing or of another type"
            if bound is None:
                if not same_bits(a, b): return f"{k}: {name} has other bits: {a.ravel()[:6]} {b.ravel()[:6]}"
                continue
            off = beyond(a, b, bound)
            if off.any():
                return f"{k}: {name} differs by more than its bound at {np.argwhere(off)[0]}: {a[off].ravel()[0]} {b[off].ravel()[0]}"
            reason = SAME_BITS.get(k.partition(":")[0])
            if reason and first is None: first = b
            if reason and not same_bits(first, b): return f"{name} depends on {reason}"
    return None


def kind(problem): return re.sub(r"[\d.]+", "N", problem)[:60]


def shrink(text, problem, kinds, bound_of):
    lines, n = text.splitlines(), 16
    named = [k for k in kinds if problem.startswith(k + ":")]
    if named: kinds = [REFERENCE] + [k for k in named if k != REFERENCE]
    while n >= 1:
        # From the end, so that what uses a line goes before it.
        i = len(lines)
        while i > 0:
            fewer = lines[:max(i - n, 0)] + lines[i:]
            p = check("\n".join(fewer) + "\n", kinds, bound_of) if fewer else None
            if p and kind(p) == kind(problem): lines = fewer
            i -= n
        n //= 2
    return "\n".join(lines) + "\n"


class Failure:
    """A program, or a script of several, that fails."""
    def __init__(self, name, text, problem, kinds, bound_of):
        self.name, self.file, self.problem = name, name.replace(" ", ""), problem
        self.shrink = lambda: shrink(text, problem, kinds, bound_of)


def one(seed):
    """The failures of one program."""
    program = (GradientProgram if A.gradients else Program)(seed)
    text, kinds, bound_of = program.build(A.operations), engines(seed), getattr(program, "bound", None)
    problem = check(text, kinds, bound_of)
    return [Failure(f"seed {seed}", text, problem, kinds, bound_of)] if problem else []


def together(seeds):
    """The failures of programs that run in the same ways, as one script."""
    if len(seeds) == 1: return one(seeds[0])
    programs = {f"s{seed}": GradientProgram(seed, f"s{seed}") for seed in seeds}
    for p in programs.values(): p.build(A.operations)
    text, kinds = KIT + "".join(p.block() for p in programs.values()), engines(seeds[0])
    # Files are named sSEEDrN.npy.
    part = lambda files, name: files if isinstance(files, str) else {"": files[""]} | {
        "r" + f[len(name) + 1:]: a for f, a in files.items() if f.startswith(name + "r")}
    whole = {k: results(text, flags(k, text)) for k in kinds}
    problems = {seed: compare({k: part(files, name) for k, files in whole.items()}, p.bound) for seed, (name, p) in zip(seeds, programs.items())}
    wrong = [seed for seed, problem in problems.items() if problem]
    alone = [f for seed in wrong for f in one(seed)]
    if alone or not wrong: return alone
    # What one program alone may be apart by, all may.
    bound_of = max((p.bound for p in programs.values()), key=lambda bound: bound(np.zeros(1)))
    return [Failure(f"seeds {seeds[0]} to {seeds[-1]} together", text, problems[wrong[0]], kinds, bound_of)]


def packs():
    """The seeds in groups that run in the same ways."""
    waiting = {}
    for seed in range(A.first, A.first + A.count):
        # A program with devices of its own has other flags.
        way = (*engines(seed), A.gradients and GradientProgram(seed).on_devices)
        group = waiting.setdefault(way, [])
        group.append(seed)
        if len(group) >= (A.pack if A.gradients else 1): yield waiting.pop(way)
    yield from waiting.values()


def main():
    passed = failed = 0
    if A.cuda: machine.skip_without_nvrtc(A.tenc, A.cuda)
    with concurrent.futures.ThreadPoolExecutor(A.jobs) as pool:
        groups = list(packs())
        for seeds, failures in zip(groups, pool.map(together, groups)):
            passed += len(seeds) - len(failures)
            failed += len(failures)
            for failure in failures: print(f"{failure.name}: {failure.problem}", flush=True)
            if failures and A.fail_fast:
                pool.shutdown(wait=True, cancel_futures=True)
                break
            for failure in failures[:max(0, 5 - failed + len(failures))]:
                small = failure.shrink()
                print("".join("    " + l + "\n" for l in small.splitlines()), flush=True)
                if A.keep:
                    os.makedirs(A.keep, exist_ok=True)
                    with open(f"{A.keep}/{failure.file}.tl", "w") as f: f.write(small)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
