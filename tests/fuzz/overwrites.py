#!/usr/bin/env python3
"""Random tables that are made, updated in parts, and filled by loops, written in TL and in Python at once.

    python overwrites.py --tenc PATH [--count 100] [--first 0] [--keep DIR]

What a loop writes before it reads it need not be made (`codegen/Overwrites.h`): a table begins as zeros, as a formula, as what a
library routine gives or as an argument, gets slices, elements and rows, and loops with known bounds write parts of it, in both
directions, one in the other, with reads of what earlier trips have written, of what none writes, and from the end. The functions of
a program run twice, in memory that held other numbers. All values are small integers: results are equal or wrong. In every fourth
program what begins or fills the table divides by zero or is indexed out of range in one place, or in none, and loops write
all of the table after it: the program must stop there all the same. Closes with `N passed, N failed`."""
import random
import re
import sys
import tempfile

import numpy as np

import harness


class Table:
    """A function that makes a table of one or two dims from `x`, a vector of n, and `m`, a matrix of r x c."""

    def __init__(self, r, name, n, rows, cols):
        self.r, self.n = r, n
        self.shape = (n,) if r.random() < .6 else (rows, cols)
        self.tl, self.py, self.depth = [f"fn {name}(x: i64[{n}], m: i64[{rows}, {cols}]) -> i64{list(self.shape)} {{"], [f"def {name}(x, m):"], 1
        self.rows_cols = (rows, cols)
        self.names = ["d"] if r.random() < .7 else ["d", "e"]
        for t in self.names: self.emit("var {} = {}".format(t, (start := self.start())[0]), f"{t} = ({start[1]}).copy()")
        self.writes_only = r.random() < .5  # one loop, which reads nothing of the table, behind one update
        for _ in range(1 if self.writes_only else r.choice([0, 1, 1, 2])): self.update()
        for _ in range(1 if self.writes_only else r.choice([1, 1, 1, 2])):
            self.loop()
            if not self.writes_only and r.random() < .2: self.update()
        total = " + ".join(self.names)
        self.emit(total, f"return {total}")
        self.tl.append("}")

    def emit(self, tl, py):
        self.tl.append("    " * self.depth + tl)
        self.py.append("    " * self.depth + py)

    def start(self):
        r = self.r
        k, j = r.randint(1, 9), r.randint(0, 9)
        if len(self.shape) == 1:
            n = self.n
            return r.choice([(f"zeros([{n}], dtype: i64)", f"np.zeros({n}, np.int64)"), (f"full([{n}], {k})", f"np.full({n}, {k})"), ("x", "x"),
                             (f"x * {k} + {j}", f"x * {k} + {j}"), ("sort(x)", "np.sort(x)"), ("cumsum(x, axis: 0)", "np.cumsum(x)"),
                             (f"arange({n}) * {k}", f"np.arange({n}) * {k}"), ("flip(x, axis: 0) + 1", "x[::-1] + 1"),
                             (f"where(x > {j}, x, {k})", f"np.where(x > {j}, x, {k})")])
        rows, cols = self.shape
        return r.choice([(f"zeros([{rows}, {cols}], dtype: i64)", f"np.zeros(({rows}, {cols}), np.int64)"), ("m", "m"), (f"m * {k}", f"m * {k}"),
                         ("sort(m, axis: 1)", "np.sort(m, axis=1)"), ("cumsum(m, axis: 0)", "np.cumsum(m, axis=0)"),
                         (f"m + sum(x) % {k}", f"m + x.sum() % {k}"), ("ones_like(m)", "np.ones_like(m)")])

    def span(self, n, least=1):
        length = self.r.randint(least, n)
        lo = self.r.randint(0, n - length)
        return lo, lo + length

    def update(self):
        r, t, op = self.r, self.r.choice(self.names), self.r.choice(["=", "=", "=", "+="])
        k = r.randint(1, 9)
        parts, values = [], []
        for n in self.shape:
            lo, hi = self.span(n)
            kind = r.choice(["slice", "slice", "all", "one", "step"])
            step = r.choice([2, 3])
            parts.append({"slice": f"{lo}:{hi}", "all": ":", "one": str(lo), "step": f"{lo}:{hi}:{step}"}[kind])
            values.append({"slice": hi - lo, "all": n, "one": 0, "step": len(range(lo, hi, step))}[kind])
        lengths = [v for v in values if v]
        if r.random() < .4 or len(lengths) > 1: value, pv = f"{k}", f"{k}"
        elif lengths: value, pv = f"arange({lengths[0]}) * {k} - x[0]", f"np.arange({lengths[0]}) * {k} - x[0]"
        else: value, pv = f"x[{self.n - 1}] - {k}", f"x[{self.n - 1}] - {k}"
        at = ", ".join(parts)
        self.emit(f"{t}[{at}] {op} {value}", f"{t}[{at}] {op} {pv}")

    def loop(self):
        r, counters = self.r, []
        dims = list(enumerate(self.shape))
        if len(dims) > 1 and r.random() < .3: dims.reverse()
        of = {}
        for d, n in dims:
            lo, hi = (0, n) if r.random() < .4 else self.span(n)
            i = f"i{d}"
            back = r.random() < .3
            self.emit(f"for {i} in {'rev(' if back else ''}{lo}..{hi}{')' if back else ''} {{",
                      f"for {i} in {'reversed(' if back else ''}range({lo}, {hi}){')' if back else ''}:")
            self.depth += 1
            of[d] = (i, lo, hi)
            counters.append(i)
            if not self.writes_only and d != dims[-1][0] and r.random() < .15: self.statement(of, row=True)
        if self.writes_only or r.random() < .6: self.fill(of)
        else:
            for _ in range(r.choice([1, 1, 2])): self.statement(of)
        for _ in dims:
            self.depth -= 1
            self.emit("}", "")

    def shifted(self, of, d):
        """`i + shift` within the dim; from its end where that is below 0."""
        n = self.shape[d]
        if d not in of: return str(self.r.randrange(n))
        i, lo, hi = of[d]
        least = -lo if self.r.random() < .8 else -lo - 1
        s = self.r.choice([0, 0, 0, *[s for s in (-1, 1, -2, 2) if least <= s <= n - hi]])
        return i if s == 0 else f"{i} {'+' if s > 0 else '-'} {abs(s)}"

    def place(self, of): return ", ".join(self.shifted(of, d) for d in range(len(self.shape)))

    def fill(self, of):
        """One element of a table in each trip, of others, or of an element that another trip may have written."""
        t, terms = self.r.choice(self.names), [self.term(of, "xmnc")]
        if not self.writes_only and self.r.random() < .4: terms.append(f"{t}[{self.place(of)}]")
        text = f"({' + '.join(terms)}) % 97" if self.r.random() < .8 else str(self.r.randint(0, 9))
        at = ", ".join(of[d][0] for d in range(len(self.shape)))
        self.emit(f"{t}[{at}] = {text}", f"{t}[{at}] = {text}")

    def statement(self, of, row=False):
        r, t = self.r, self.r.choice(self.names)
        if r.random() < .12:
            i, lo, hi = of[next(iter(of))]
            at = r.randint(lo, hi)
            self.emit(f"if {i} == {at} {{ continue }}", f"if {i} == {at}: continue")
        same = ", ".join(of[d][0] if d in of else "0" for d in range(len(self.shape)))
        to = same if r.random() < .7 else self.place(of)
        terms = [self.term(of) for _ in range(r.choice([1, 1, 2, 3]))]
        op = r.choice(["=", "=", "=", "=", "+="])
        text = f"({' + '.join(terms)}) % 97"
        if r.random() < .1: text = str(r.randint(0, 9))
        self.emit(f"{t}[{to}] {op} {text}", f"{t}[{to}] {op} {text}")

    def term(self, of, kinds="ttxmnc"):
        r = self.r
        kind = r.choice(kinds)
        if kind == "t": return f"{r.choice(self.names)}[{self.place(of)}]"
        if kind == "n": return str(r.randint(1, 9))
        i = of[r.choice(list(of))][0]
        if kind == "c": return f"{i} * {r.randint(1, 5)}"
        if kind == "x" and r.random() < .4: return f"x[{i} * {r.choice([1, 2, 3, 5])} % {2 ** (self.n.bit_length() - 1)}]"
        if kind == "x": return f"x[{i} % {self.n}]"
        return f"m[{i} % {self.rows_cols[0]}, {r.randrange(self.rows_cols[1])}]"


class Fault:
    """A function that fills a table with what may fault, and then writes all of it."""

    def __init__(self, r):
        n = self.n = r.choice([3, 8, 17, 64, 300])
        self.code, self.faults = r.choice([("E0901", "index"), ("E0902", "by")])
        at, by = [r.randrange(n) for _ in range(n)], [r.choice([-3, 1, 2, 7]) for _ in range(n)]
        lo, hi = (0, n) if r.random() < .5 else (r.randrange(n // 2), r.randint(n // 2 + 1, n))  # where loops may fault
        self.stops = r.random() < .7
        if self.stops:
            place = r.randrange(lo, hi)
            at[place], by[place] = r.choice([n, n + 5, -n - 1, 1 << 40]), 0
        self.at, self.by = at, by
        k = r.randint(1, 9)
        faulty = {"index": [f"x[at[i]] + {k}", f"x[at[i]] * i", "x[at[i]]"], "by": ["x[i] // q[i]", "x[i] % q[i]", f"({k} + i) // q[i]"]}[self.faults]
        whole = {"index": ["x[at]", f"x[at] * {k}"], "by": ["x // q", f"(x + {k}) % q"]}[self.faults]
        head, body = ["var d = zeros([N], dtype: i64)" if r.random() < .6 else f"var d = x * {k}"], []
        kind = r.choice(["start", "loop", "loop", "set", "while", "rows"])
        if kind == "start": head, here = [f"var d = {r.choice(whole)}"], 0
        elif kind == "while":
            body, here = [f"var j = {lo}", f"while j < {hi} {{", f"    d[j] = {r.choice(faulty).replace('i]', 'j]').replace(' i', ' j')}", "    j += 1", "}"], 3
        elif kind == "rows":
            body, here = ["for o in 0..3 {", f"    for i in {lo}..{hi} {{", f"        d[i] = {r.choice(faulty)}", "    }", "}"], 3
        else:
            if kind == "set" and self.faults == "index": value = f"d[at[i]] = {r.choice(['i', 'x[i]', str(k)])}"
            else: value = f"d[i] {r.choice(['=', '=', '+='])} {r.choice(faulty)}"
            back = r.random() < .3
            body, here = [f"for i in {'rev(' if back else ''}{lo}..{hi}{')' if back else ''} {{", f"    {value}", "}"], 2
        cut = r.randint(0, n)
        parts = r.choice([[(0, n)], [(0, n)], [(0, cut), (cut, n)], [(cut, n), (0, cut)]])
        value = r.choice([f"x[i] * {k}", str(k), f"i + {k}", "x[N - 1 - i]"])
        tail = [line for a, b in parts for line in (f"for i in {a}..{b} {{", f"    d[i] = {value}", "}")]
        self.lines = ["fn f(x: i64[N], at: i64[N], q: i64[N]) -> i64[N] {", *("    " + line for line in head + body + tail), "    d", "}"]
        self.line = here + 2  # of the file
        self.want = eval(f"lambda x, N: [{value} for i in range(N)]")

    def problem(self, a, folder, files, flags, x):
        printed, problem = harness.run(a, folder, files, flags)
        if not self.stops: return problem or (None if list(map(int, printed.split())) == self.want(x, self.n) else f"{printed.split()[:12]} is not {self.want(x, self.n)[:12]}")
        told = re.search(r"error\[(E\d+)\].*\n *--> [^:]*:(\d+):", problem or "")
        return None if told and told.groups() == (self.code, str(self.line)) else f"{problem or 'it did not stop'}, not {self.code} in line {self.line}"


FLAGS = [[], ["--no-fuse"], ["--code=full", "--target-cpu", "x86-64-v3"], ["--engine=interp"], ["--code=full"]]


def faulting(a, seed):
    r = random.Random(seed)
    f = Fault(r)
    x = [r.randint(-20, 40) for _ in range(f.n)]
    # What arrays hold is known only when the program runs.
    given = [f"let {name} = {values} + i64(rand([{f.n}]))" for name, values in (("x", x), ("at", f.at), ("q", f.by))]
    shown = ["let d = f(x, at, q)", f"for i in 0..{f.n} {{ print(d[i]) }}"]
    files = {f"overwrites{seed}.tl": "\n".join([*f.lines, *given, *shown]) + "\n"}
    with tempfile.TemporaryDirectory() as d: return f.problem(a, d, files, FLAGS[seed // 4 % 5], x), files


def case(a, seed):
    if seed % 4 == 3: return faulting(a, seed)
    r = random.Random(seed)
    n, rows, cols = r.choice([2, 3, 5, 8, 17, 40, 64, 256]), r.choice([2, 3, 5, 9]), r.choice([2, 4, 7, 18])
    tables = [Table(r, f"f{k}", n, rows, cols) for k in range(8)]
    xs = [[r.randint(-20, 40) for _ in range(n)] for _ in range(2)]
    ms = [[[r.randint(-20, 40) for _ in range(cols)] for _ in range(rows)] for _ in range(2)]
    # Memory that a table may get holds what these left there.
    lines = [line for t in tables for line in t.tl] + [f"fn used(k: i64) -> i64 = sum((arange({n}) * 7 + k) * (arange({n}) + k)) + sum(sort((arange({rows * cols}) * k) % 89))"]
    names = {"np": np}
    exec("\n".join(line for t in tables for line in t.py if line.strip()), names)
    want = []
    for k, (x, m) in enumerate(zip(xs, ms)):
        lines += [f"let x{k} = {x}", f"let m{k} = {m}"]
        for i in range(len(tables)):
            lines += [f"print(used({len(want) + 3}))", f'save("r{len(want)}.npy", f{i}(x{k}, m{k}))']
            want.append((f"f{i}(x{k}, m{k})", names[f"f{i}"](np.array(x), np.array(m))))
    files = {f"overwrites{seed}.tl": "\n".join(lines) + "\n"}
    flags = FLAGS[seed % 5]
    with tempfile.TemporaryDirectory() as d:
        _, problem = harness.run(a, d, files, flags)
        for i, (text, value) in enumerate([] if problem else want):
            got = np.load(f"{d}/r{i}.npy")
            if np.array_equal(got, value): continue
            problem = f"{text} is {got.ravel()[:12]}, not {value.ravel()[:12]} {' '.join(flags)}"
            break
    return problem, files | {f"overwrites{seed}.py": "\n".join(line for t in tables for line in t.py) + "\n"}


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=100))
