#!/usr/bin/env python3
"""Random functions under `vmap` against the same functions called row by row.

    python rows.py --tenc PATH [--count 100] [--first 0] [--operations 10] [--keep DIR]

The statements of a random program (generate.py) become the body of a function of one integer, in which each source
depends on it. `vmap` is a transformation of the IR that interpreter and compiled code share; here the calls say what is
right: exact results have equal bits, bounded ones differ by no more than their bounds. Closes with `N passed, N failed`."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from generate import MODULE, Program

ROWS = 3


class Body(Program):
    """Statements whose sources depend on `row`."""

    def source(self, dtype=None, shape=None):
        v = super().source(dtype, shape)
        if v.dtype != "bool" and self.r.random() < 0.7:
            line = self.lines[-1]
            self.lines[-1] = line.replace(") % ", " + row) % ", 1)
        return v

    def let(self, expr, *args, **named):
        return super().let(re.sub(r"permutation\((\d+)\)", r"flip(arange(\1), axis: 0)", expr), *args, **named)

    def kinds(self):
        # A draw under vmap is made once for all rows; prints and devices are no part of a function's value.
        without = (self.random, self.printed, self.placed)
        return [k for k in super().kinds() if k not in without]

    def body(self, operations):
        for _ in range(self.r.randint(2, 4)): self.source()
        made, kinds, values = 0, self.kinds(), []
        while made < operations:
            v = self.r.choice(kinds)()
            if v is None: continue
            made += 1
            if self.r.random() < 0.5: values.append(v)
        values = (values + [self.values[-1]])[-8:]
        form = lambda v, name: f"f32({name})" if v.dtype == "bf16" else name  # .npy has no bf16
        parts = [form(v, n) for v in values for n in ([v.name, v.bound] if v.bound else [v.name])]
        lines = [f"fn body(row: i64) {{"] + ["    " + l for l in self.lines] + [f"    ({', '.join(parts)},)", "}"]
        lines += [f"let all = vmap(body)(arange({ROWS}))", f"let rows = arange({ROWS})"]
        for i in range(ROWS): lines.append(f"let r{i} = body(rows[{i}])")
        k = 0
        self.results = []
        for v in values:
            n = 2 if v.bound else 1
            for i in range(n): lines.append(f'save("{"vb"[i]}{len(self.results)}.npy", all.{k + i})')
            for row in range(ROWS):
                lines.append(f'save("r{row}_{len(self.results)}.npy", r{row}.{k})')
            self.results.append(v)
            k += n
        return "\n".join(self.declarations() + lines) + "\n"


def check(a, text, results):
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/p.tl", "w") as f: f.write(text)
        with open(f"{d}/kit.tl", "w") as f: f.write(MODULE)
        try: run = subprocess.run([a.tenc, "p.tl"], cwd=d, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired: return "timed out"
        if run.returncode: return f"exit {run.returncode}: {(run.stderr[run.stderr.find('error'):] or run.stdout).strip()[:700]}"
        for k, v in enumerate(results):
            got, want = np.load(f"{d}/v{k}.npy"), np.stack([np.load(f"{d}/r{i}_{k}.npy") for i in range(ROWS)])
            if got.shape != want.shape or got.dtype != want.dtype: return f"{v.name} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
            both_nan = (got != got) & (want != want)
            if v.bound:
                bound = np.load(f"{d}/b{k}.npy").astype(np.float64)
                with np.errstate(all="ignore"): off = ~(np.abs(got.astype(np.float64) - want.astype(np.float64)) <= 2 * np.abs(bound)) & ~both_nan & (got != want)
            else:
                off = (got != want) & ~both_nan
                if got.dtype.kind == "f": off |= (np.signbit(got) != np.signbit(want)) & ~both_nan
            if off.any(): return f"{v.name} differs at {np.argwhere(off)[0]}: {got[off].ravel()[0]} under vmap, {want[off].ravel()[0]} in the row"
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", required=True, type=os.path.abspath)
    ap.add_argument("--count", type=int, default=100)
    ap.add_argument("--first", type=int, default=0)
    ap.add_argument("--operations", type=int, default=10)
    ap.add_argument("--keep")
    a = ap.parse_args()
    passed = failed = 0

    def one(seed):
        p = Body(seed)
        text = p.body(a.operations)
        return seed, text, check(a, text, p.results)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, text, problem in pool.map(one, range(a.first, a.first + a.count)):
            if not problem:
                passed += 1
                continue
            failed += 1
            print(f"seed {seed}: {problem}", flush=True)
            if a.keep:
                os.makedirs(a.keep, exist_ok=True)
                with open(f"{a.keep}/rows{seed}.tl", "w") as f: f.write(text)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
