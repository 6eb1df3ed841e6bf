#!/usr/bin/env python3
"""Random loops over single elements, as native code and in the reference interpreter.

    python native.py --tenc PATH [--count 400] [--first 0] [--keep DIR]

Each program (generate_native.py) runs in the interpreter, as full code, and in turn as quick code or for narrower vectors. Results
must have the same bits, NaN being one value, or the program must stop with the same message at the same place. A fault of a value
that nothing uses may be gone: then what the passes leave says in the interpreter where the program stops. Closes with `N passed,
N failed`."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import harness
from generate_native import NativeProgram

WAYS = {"interp": ["--engine=interp"], "full": ["--code", "full", "--threads", "3"], "quick": ["--code", "quick", "--threads", "1"],
        "narrow": ["--code", "full", "--target-cpu", "x86-64-v3", "--threads", "1"],
        "passes": ["--engine=interp", "--passes=place,verify-placed,inline,dce,moves,device-loops,device-control,decompose,simplify,cse,hoist,dce,"
                   "bind-devices,place-free,read-rows,read-ahead,fuse,dce", "--run"]}


def outcome(a, program, flags):
    """What the program saves, by name, or how it stops."""
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/p.tl", "w") as f: f.write(program.text)
        for name, data in program.files.items(): np.save(f"{d}/{name}.npy", data)
        try: r = subprocess.run([a.tenc, "p.tl", *flags], cwd=d, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired: return "timed out"
        if r.returncode:
            stop = re.search(r"error.*\n.*", r.stderr)
            return f"exit {r.returncode}: " + (stop[0] if stop else r.stderr[:400])
        return {f[:-4]: np.load(f"{d}/{f}") for f in sorted(os.listdir(d)) if f[0] == "r"}


def difference(want, got):
    if isinstance(want, str) or isinstance(got, str):
        return None if isinstance(want, str) and isinstance(got, str) and want == got else f"{show(got)}, not {show(want)}"
    for name, x in want.items():
        y = got[name]
        same = (x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y) if x.dtype.kind == "f" else x == y
        if not np.all(same): return f"{name} is {y.ravel()[:12]}, not {x.ravel()[:12]}"
    return None


def show(outcome): return outcome.replace("\n", " ") if isinstance(outcome, str) else "results"


def case(a, seed):
    program = NativeProgram(seed)
    want = outcome(a, program, WAYS["interp"])
    files = {f"native{seed}.tl": program.text}
    if isinstance(want, str) and "error[E09" not in want: return show(want), files
    kept = None
    for way in ("full", ("quick", "narrow")[seed % 2]):
        got = outcome(a, program, WAYS[way])
        problem = difference(want, got)
        if problem and isinstance(want, str):
            kept = kept or outcome(a, program, WAYS["passes"])
            problem = difference(kept, got)
        if problem: return f"{way}: {problem}", files
    return None, files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=400))
