#!/usr/bin/env python3
"""Random functions under `vmap` against the same functions called row by row.

    python rows.py --tenc PATH [--count 100] [--first 0] [--operations 10] [--keep DIR]

The statements of a random program (generate.py) become the body of a function of one integer, in which each source
depends on it. `vmap` is a transformation of the IR that interpreter and compiled code share; here the calls say what is
right: exact results have equal bits, bounded ones differ by no more than their bounds. Closes with `N passed, N failed`."""
import re
import sys
import tempfile

import numpy as np

import harness
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


def check(a, files, results):
    with tempfile.TemporaryDirectory() as d:
        _, problem = harness.run(a, d, files)
        if problem: return problem
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


def case(a, seed):
    p = Body(seed)
    files = {f"rows{seed}.tl": p.body(a.operations), "kit.tl": MODULE}
    return check(a, files, p.results), files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=100, operations=10))
