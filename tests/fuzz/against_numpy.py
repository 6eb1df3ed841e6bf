#!/usr/bin/env python3
"""Random programs on integers, written in TL and in NumPy at once: indices, updates, trees, loops, functions as values.

    python against_numpy.py --tenc PATH [--count 100] [--first 0] [--statements 24] [--keep DIR]

The other random programs compare engines, which share the parser and the lowering; here NumPy says what is right. All
values are i64 and stay small, so results are equal or wrong. Closes with `N passed, N failed`."""
import random
import sys
import tempfile

import numpy as np

import harness

DECLARATIONS = """struct Cell[N] { v: i64[N], n: i64 }
struct Grid[N] { cells: [Cell[N]; 3], sum: (i64[N], i64) }
fn mixed(x: i64[...S], y: i64[...S]) -> i64[...S] { let x = x - y; x * 2 + y }
fn ends(x: i64[N, ...S]) -> (i64[...S], i64[...S]) = (x[0], x[-1])
fn apply[F: fn](f: F, x: i64[...S]) -> i64[...S] = f(f(x)) % 97
fn powers(static n: i64, x: i64[...S]) -> i64[...S] { var y = x; for k in static 0..n { y = (y * x + k) % 97 }; y }
"""


def mixed(x, y): return (x - y) * 2 + y
def ends(x): return x[0], x[-1]
def apply(f, x): return f(f(x)) % 97
def powers(n, x):
    y = x
    for k in range(n): y = (y * x + k) % 97
    return y


class Program:
    def __init__(self, seed, statements):
        self.r, self.count, self.tl, self.env, self.names = random.Random(seed), 0, [DECLARATIONS], {}, []
        for _ in range(3): self.source()
        made = 0
        while made < statements:
            if self.r.choice([self.elementwise, self.elementwise, self.index, self.index, self.index, self.update, self.update, self.update, self.shared, self.shared, self.move,
                              self.reduce, self.loop, self.loop, self.tree, self.higher, self.higher, self.call, self.order])(): made += 1
        for n in self.names: self.tl.append(f'save("{n}.npy", {n})')

    # ---- values
    def name(self, p="v"):
        self.count += 1
        return f"{p}{self.count}"
    def let(self, text, value):
        """Binds the value, kept small by a remainder where it grew."""
        value = np.asarray(value, np.int64)
        if value.size > 3000: return False
        if value.size and np.abs(value).max() > 10000: text, value = f"({text}) % 101", value % 101
        n = self.name()
        self.tl.append(f"let {n} = {text}")
        self.env[n] = value
        self.names.append(n)
        return True
    def pick(self, want=lambda v: True):
        fits = [n for n in self.names if want(self.env[n])]
        return self.r.choice(fits[-10:]) if fits else None
    def source(self, shape=None):
        r = self.r
        shape = tuple(r.choice([1, 2, 3, 4, 5, 7]) for _ in range(r.choice([0, 1, 1, 2, 2, 3]))) if shape is None else shape
        n, a, b, m = int(np.prod(shape, dtype=int)), r.randint(1, 12), r.randint(0, 30), r.choice([7, 11, 23, 50])
        dims = "[" + ", ".join(map(str, shape)) + "]"
        self.let(f"((arange({n}) * {a} + {b}) % {m} - {m // 3}).reshape({dims})", ((np.arange(n) * a + b) % m - m // 3).reshape(shape))
        return self.names[-1]
    def partner(self, n):
        """A value of a shape that broadcasts with that of `n`."""
        shape = self.env[n].shape
        def fits(v):
            try: return np.broadcast_shapes(shape, v.shape) is not None
            except ValueError: return False
        other = self.pick(fits)
        if other and self.r.random() < 0.7: return other
        return self.source(tuple(1 if self.r.random() < 0.3 else d for d in shape[self.r.randint(0, 1) if shape else 0:]))

    # ---- statements; false where nothing fits
    def elementwise(self):
        a = self.pick()
        b, r = self.partner(a), self.r
        x, y = self.env[a], self.env[b]
        forms = [(f"{a} + {b}", x + y), (f"{a} - {b} * 2", x - y * 2), (f"max({a}, {b})", np.maximum(x, y)), (f"where({a} > {b}, {a}, -{b})", np.where(x > y, x, -y)),
                 (f"{a} // (abs({b}) + 1)", x // (abs(y) + 1)), (f"{a} % (abs({b}) + 2)", x % (abs(y) + 2)), (f"-{a} ** 2 + {b}", -(x ** 2) + y),
                 (f"i64({a} == {b} or not {a} < 3)", ((x == y) | ~(x < 3)).astype(int)), (f"clamp({a}, -5, 5) + {b}", np.clip(x, -5, 5) + y),
                 (f"{a} |> max({b}) |> (|t| t - {b})", np.maximum(x, y) - y), (f"if sum({a}) > {r.randint(-5, 5)} {{ {a} + 0 * {b} }} else {{ {b} + 0 * {a} }}", None)]
        text, v = r.choice(forms)
        if v is None: v = x + 0 * y if x.sum() > int(text.split("> ")[1].split(" ")[0]) else y + 0 * x
        return self.let(text, v)

    def subscript(self, shape, gather=True):
        """Text and NumPy index for a random place, or places, in a tensor of that shape."""
        r, text, index = self.r, [], []
        rank = r.randint(1, len(shape))
        dots = r.random() < 0.25
        front = r.randint(0, rank) if dots else rank
        advanced = r.randint(1, 5)
        def one(d):
            n = shape[d]
            kind = r.choice(["int", "slice", "slice", "slice", "all"] + (["tensor"] if gather else []))
            if kind == "int":
                i = r.randint(-n, n - 1)
                text.append(str(i)); index.append(i)
            elif kind == "all": text.append(":"); index.append(slice(None))
            elif kind == "slice":
                step = r.choice([None, None, 1, 2, 3, -1, -2])
                lo, hi = r.choice([None, r.randint(-n, n - 1)]), r.choice([None, r.randint(-n, n)])
                text.append(f"{'' if lo is None else lo}:{'' if hi is None else hi}" + (f":{step}" if step else ""))
                index.append(slice(lo, hi, step))
            else:
                a, b = r.randint(1, 7), r.randint(0, 5)
                text.append(f"(arange({advanced}) * {a} + {b}) % {n} - {n if r.random() < 0.3 else 0}")
                k = (np.arange(advanced) * a + b) % n - (n if text[-1].endswith(f"- {n}") and n else 0)
                index.append(k)
            if r.random() < 0.08 and gather: text.append("new"); index.append(None)
        for d in range(front): one(d)
        if dots:
            text.append("..."); index.append(Ellipsis)
            for d in range(len(shape) - (rank - front), len(shape)): one(d)
        return ", ".join(text), tuple(index)

    def index(self):
        a = self.pick(lambda v: v.ndim and v.size)
        if not a: return False
        text, index = self.subscript(self.env[a].shape)
        return self.let(f"{a}[{text}]", self.env[a][index])

    def update(self):
        a = self.pick(lambda v: v.ndim and v.size)
        if not a: return False
        r, n, value = self.r, self.name("w"), self.env[a].copy()
        self.tl.append(f"var {n} = {a}")
        for _ in range(r.randint(1, 3)):
            text, index = self.subscript(value.shape, gather=False)
            part, op = value[index], r.choice(["=", "+=", "-=", "*="])
            if r.random() < 0.4 or part.size == 0: other, u = "3", 3
            elif r.random() < 0.5: other, u = f"{n}[{text}] * 2 - 1", part * 2 - 1
            else:
                s = self.source(part.shape)
                other, u = s, self.env[s]
            self.tl.append(f"{n}[{text}] {op} {other}")
            u = np.array(u)
            if op == "=": value[index] = u
            elif op == "+=": value[index] = part + u
            elif op == "-=": value[index] = part - u
            else: value[index] = part * u
        return self.let(f"{n} - {a}", value - self.env[a])

    def shared(self):
        """Updates beside other reads of the same memory: the tensor itself, views of it, its old value, pieces that change places."""
        r = self.r
        a = self.pick(lambda v: v.ndim and v.size) if r.random() < 0.5 else self.source((r.choice([24, 40]), r.choice([24, 40])))
        if not a: return False
        x, n, t = self.env[a], self.name("w"), self.name("t")
        rows, w = x.shape[0], self.env[a].copy()
        p, q, k, m = r.randint(1, 5), r.randint(0, 5), r.randint(1, rows), r.randint(1, 3)
        i, j = r.randint(0, rows - k), r.randint(0, rows - k)
        end = r.choice(["", f" * {m}", f" * {m} - 1"])
        def last(v): return v * m - 1 if "-" in end else v * m if end else v
        places = (np.arange(rows) * p + q) % rows
        kind = r.choice(["self", "add", "view", "swap", "old", "loop"])
        if kind == "self":
            self.tl += [f"var {n} = {a}", f"{n}[(arange({rows}) * {p} + {q}) % {rows}] = {n}{end}"]
            w[places] = last(x)
        elif kind == "add":
            self.tl += [f"var {n} = {a}", f"{n}[(arange({rows}) * {p} + {q}) % {rows}] += {n}{end}"]
            np.add.at(w, places, last(x))
        elif kind == "view":
            view, y = r.choice([(f"flip({a}, axis: 0)", x[::-1]), (f"roll({a}, 1, axis: 0)", np.roll(x, 1, 0))] + ([(f"{a}.T", x.T)] if x.ndim == 2 and x.shape[0] == x.shape[1] else []))
            step = f"{n}[{i}:{i + k}] = {t}[{j}:{j + k}]{end}"
            self.tl += [f"let {t} = {view}", f"var {n} = {a}", r.choice([step, f"if sum({a}) > -100000000 {{ {step} }}", f"for i in 0..2 {{ {step} }}"])]
            w[i:i + k] = last(y[j:j + k])
        elif kind == "swap":
            self.tl += [f"var {n} = {a}", f"let {t} = {n}[{i}:{i + k}]{end}", f"{n}[{i}:{i + k}] = {n}[{j}:{j + k}]", f"{n}[{j}:{j + k}] = {t}"]
            first = last(w[i:i + k].copy())
            w[i:i + k] = w[j:j + k].copy()
            w[j:j + k] = first
        elif kind == "old":
            self.tl += [f"let {t} = cumsum({a}, axis: 0) % 97", f"var {n} = {a}", f"{n}[{i}:{i + k}:2] = {t}[{i}:{i + k}:2]{end}"]
            w[i:i + k:2] = last(np.cumsum(x, 0)[i:i + k:2] % 97)
        else:
            self.tl += [f"var {n} = {a} - 1", f"for i in 0..3 {{ var u = {a}; u[{i}:{i + k}:2] = {n}[{i}:{i + k}:2]{end}; {n} = u % 97 }}"]
            w = w - 1
            for _ in range(3):
                u = x.copy()
                u[i:i + k:2] = last(w[i:i + k:2])
                w = u % 97
        return self.let(n, w) and self.let(f"{n} - {a}", self.env[self.names[-1]] - x if np.abs(w).max(initial=0) <= 10000 else w - x)

    def move(self):
        a = self.pick(lambda v: v.ndim)
        if not a: return False
        r, x = self.r, self.env[a]
        k, axis = x.ndim, self.r.randrange(x.ndim)
        p = list(range(k)); r.shuffle(p)
        n = r.randint(-4, 4)
        forms = [(f"permute_dims({a}, {p})", x.transpose(p)), (f"flip({a}, axis: {axis})", np.flip(x, axis)), (f"roll({a}, {n}, axis: {axis})", np.roll(x, n, axis)),
                 (f"concat(({a}, {a} + 1), axis: {axis})", np.concatenate((x, x + 1), axis)), (f"stack(({a}, -{a}), axis: {axis - k})", np.stack((x, -x), axis - k)),
                 (f"tile({a}, [2, {', '.join('1' * k)}])", np.tile(x, [2] + [1] * k)), (f"repeat({a}, 2, axis: {axis})", np.repeat(x, 2, axis)),
                 (f"{a}.reshape([{x.size}])", x.reshape(-1)), (f"expand_dims({a}, axis: {axis})", np.expand_dims(x, axis)), (f"pad({a}, 1, value: 4)", np.pad(x, 1, constant_values=4))]
        if k >= 2: forms += [(f"{a}.T", np.swapaxes(x, -1, -2)), (f"tril({a}, k: {n})", np.tril(x, n)), (f"triu({a}, k: {n})", np.triu(x, n))]
        return self.let(*r.choice(forms))

    def reduce(self):
        a = self.pick(lambda v: v.ndim and v.size)
        if not a: return False
        r, x = self.r, self.env[a]
        axis, keep = r.randrange(-x.ndim, x.ndim), r.choice([True, False])
        opts = f"axis: {axis}, keep: {str(keep).lower()}"
        forms = [(f"sum({a}, {opts})", x.sum(axis, keepdims=keep)), (f"max({a}, {opts})", x.max(axis, keepdims=keep)), (f"argmin({a}, {opts})", np.argmin(x, axis, keepdims=keep)),
                 (f"i64(any({a} > 3, {opts}))", (x > 3).any(axis, keepdims=keep).astype(int)), (f"cumsum({a}, axis: {axis})", x.cumsum(axis)), (f"sum({a})", x.sum()),
                 (f"cummax({a}, axis: {axis})", np.maximum.accumulate(x, axis)), (f"count_nonzero({a}, axis: {axis})", np.count_nonzero(x, axis))]
        return self.let(*r.choice(forms))

    def order(self):
        a = self.pick(lambda v: v.ndim and v.size)
        if not a: return False
        r, x = self.r, self.env[a]
        axis = r.randrange(x.ndim)
        forms = [(f"sort({a}, axis: {axis})", np.sort(x, axis)), (f"argsort({a}, axis: {axis})", np.argsort(x, axis, kind="stable")),
                 (f"take_along_axis({a}, argsort({a}, axis: {axis}), axis: {axis})", np.sort(x, axis))]
        if x.ndim == 2: forms += [(f"{a} @ {a}.T", x @ x.T), (f'einsum("ij,kj->ki", {a}, {a})', np.einsum("ij,kj->ki", x, x))]
        if x.ndim == 1: forms += [(f"outer({a}, {a})", np.outer(x, x)), (f"{a} @ {a}", x @ x), (f"searchsorted(sort({a}), {a})", np.searchsorted(np.sort(x), x))]
        return self.let(*r.choice(forms))

    def loop(self):
        """A loop that reads and writes rows, elements and columns; bounds and steps vary."""
        a = self.pick(lambda v: v.ndim in (1, 2) and v.size)
        if not a: return False
        r, n, x = self.r, self.name("w"), self.env[a]
        w, rows = x.copy(), x.shape[0]
        lo, hi, by, back = r.randint(0, rows - 1), r.randint(0, rows), r.choice([1, 1, 2]), r.random() < 0.3
        bodies = [("{w}[i] = ({w}[i - 1] + {a}[i]) % 97", lambda i: w.__setitem__(i, (w[i - 1] + x[i]) % 97)),
                  ("{w}[i] += {a}[{n} - 1 - i]", lambda i: w.__setitem__(i, w[i] + x[rows - 1 - i])),
                  ("{w} = roll({w}, i, axis: 0) - 1", lambda i: w.__setitem__(..., np.roll(w, i, 0) - 1)),
                  ("let t = {w}[i]; {w}[i] = {w}[{n} - 1 - i]; {w}[{n} - 1 - i] = t", None),
                  ("if sum({w}[i]) % 2 == 0 {{ {w}[i] = {a}[0] }} else {{ continue }}", lambda i: w.__setitem__(i, x[0]) if w[i].sum() % 2 == 0 else None),
                  ("{w}[i:] = max({w}[i:], i)", lambda i: w.__setitem__(slice(i, None), np.maximum(w[i:], i))) if False else
                  ("for j in i..{n} {{ {w}[j] = ({w}[j] + {w}[i] * j) % 97 }}", lambda i: [w.__setitem__(j, (w[j] + w[i] * j) % 97) for j in range(i, rows)])]
        if x.ndim == 2: bodies += [("{w}[:, 0] += {w}[i, 0]; {w}[i, -1] = i", lambda i: (w.__setitem__((slice(None), 0), w[:, 0] + w[i, 0].copy()), w.__setitem__((i, -1), i)))]
        text, body = r.choice(bodies)
        def swap(i): w[[i, rows - 1 - i]] = w[[rows - 1 - i, i]]
        head = f"rev({lo}..{hi})" if back else f"{lo}..{hi}"
        trips = list(range(lo, hi))[::-1] if back else list(range(lo, hi))
        if by > 1: head, trips = f"{lo}..{hi} by {by}", list(range(lo, hi, by))
        static = "static " if r.random() < 0.15 and by == 1 and not back and "continue" not in text else ""
        self.tl += [f"var {n} = {a}", f"for i in {static}{head} {{ {text.format(w=n, a=a, n=rows)} }}"]
        for i in trips: (body or swap)(i)
        return self.let(n, w)

    def tree(self):
        a = self.pick(lambda v: v.ndim == 1 and v.size)
        if not a: return False
        r, g, x = self.r, self.name("g"), self.env[a]
        cells = [[x + i, i] for i in range(3)]
        total = [x.copy(), 5]
        self.tl.append(f"var {g} = Grid {{ cells: list(3, |i| Cell {{ v: {a} + i, n: i }}), sum: ({a}, 5) }}")
        for _ in range(r.randint(1, 4)):
            i, j = r.randrange(3), r.randrange(-len(x), len(x))
            k = r.randrange(7)
            if k == 0: self.tl.append(f"{g}.cells[{i}].v[{j}] += {g}.cells[{2 - i}].n"); cells[i][0] = cells[i][0].copy(); cells[i][0][j] += cells[2 - i][1]
            elif k == 1: self.tl.append(f"{g}.cells[{i}] = Cell {{ v: -{a}, n: 9 }}"); cells[i] = [-x, 9]
            elif k == 2: self.tl.append(f"{g}.sum.0[{j}:] *= 2"); total[0] = total[0].copy(); total[0][j:] *= 2
            elif k == 3: self.tl.append(f"{g}.sum = ({g}.cells[{i}].v, {g}.cells[{i}].n)"); total = [cells[i][0].copy(), cells[i][1]]
            elif k == 4: self.tl.append(f"for c in {g}.cells {{ {g}.sum.0 += c.v; {g}.sum.1 -= c.n }}"); total = [total[0] + sum(c[0] for c in cells), total[1] - sum(c[1] for c in cells)]
            elif k == 5:
                self.tl.append(f"for (q, c) in enumerate({g}.cells) {{ {g}.cells[{i}].n += q * c.n }}")
                cells[i] = [cells[i][0], cells[i][1] + sum(q * c[1] for q, c in enumerate([list(c) for c in cells]))]
            else: self.tl.append(f"let (l{g}, m{g}) = {g}.sum; {g}.sum = (l{g} + m{g}, m{g} * 2 % 31)"); total = [total[0] + total[1], total[1] * 2 % 31]
        i = r.randrange(3)
        self.let(f"{g}.cells[{i}].n * 10 + {g}.sum.1", cells[i][1] * 10 + total[1])
        return self.let(f"{g}.cells[{i}].v - {g}.sum.0", cells[i][0] - total[0])

    def higher(self):
        """vmap, map, scan, fold and lambdas that see the names around them."""
        a = self.pick(lambda v: v.ndim in (1, 2, 3) and v.size)
        if not a: return False
        r, x = self.r, self.env[a]
        c, k = self.name("c"), r.randint(-3, 3)
        self.tl += [f"var {c} = {k}"]
        row = x[0]
        rows = [("|t| t * {c} + 1", lambda t: t * k + 1), ("|t| {{ let c = t - 1; c * c }}", lambda t: (t - 1) ** 2), ("|t| max(t, {c}) - sum(t)", lambda t: np.maximum(t, k) - t.sum()),
                ("|t| {{ var s = t; for i in 0..3 {{ if sum(s) > 20 {{ break }}; s = s + i + {c} }}; s }}", None), ("|t| mixed(t, {a}[0])", lambda t: mixed(t, row))]
        def many(t):
            for i in range(3):
                if t.sum() > 20: break
                t = t + i + k
            return t
        text, f = r.choice(rows)
        f, text = f or many, text.format(c=c, a=a)
        if row.ndim and r.random() < 0.3: text, f = f"|u| vmap({text.replace('{a}', a)})(u)" if "mixed" not in text else "|u| vmap(|t| t - 1)(u)", (lambda g: lambda u: np.stack([g(t) for t in u]))(f if "mixed" not in text else lambda t: t - 1)
        kind = r.choice(["vmap", "map", "scan", "fold", "reduce", "later"])
        if kind == "vmap": return self.let(f"vmap({text})({a})", np.stack([f(t) for t in x]))
        if kind == "map": return self.let(f"map({text}, {a})", np.stack([f(t) for t in x]))
        if kind == "later":
            # What a lambda sees is fixed where it is written.
            self.tl += [f"let f{c} = {text}", f"{c} = {c} + 100"]
            return self.let(f"f{c}({a}[-1]) + {c}", f(x[-1]) + k + 100)
        if kind == "reduce": return self.let(f"reduce(|p, q| max(p, q), {a}[0], {a})", x.max(0))
        state, outs = row, []
        for t in x:
            outs.append(state - t)
            state = (state * 2 + t) % 53
        if kind == "fold": return self.let(f"scan(|s, t| ((s * 2 + t) % 53, s - t), {a}[0], {a}).0", state)
        return self.let(f"scan(|s, t| ((s * 2 + t) % 53, s - t), {a}[0], {a}).1", np.stack(outs))

    def call(self):
        a = self.pick(lambda v: v.ndim and v.size)
        if not a: return False
        b, r, x = self.source(self.env[a].shape), self.r, self.env[a]
        y, k = self.env[b], r.randint(0, 4)
        p, q = self.name("p"), self.name("q")
        kind = r.randrange(5)
        if kind == 0: return self.let(f"mixed({a}, y: {b})", mixed(x, y))
        if kind == 1:
            self.tl.append(f"let ({p}, {q}) = ends({a})")
            return self.let(f"{q} * 3 - {p}", x[-1] * 3 - x[0])
        if kind == 2: return self.let(f"apply(|t| t * {k} - {b}, {a})", apply(lambda t: t * k - y, x))
        if kind == 3: return self.let(f"powers({k}, {a} % 13)", powers(k, x % 13))
        self.tl.append(f"let {p} = {{ let {p} = {a} - {b}; let {p} = {p} * 2; {p} + {b} }}")
        return self.let(f"{p} - {a}.mixed({b})", np.zeros_like(x))


def case(a, seed):
    p = Program(seed, a.statements)
    files = {f"numpy{seed}.tl": "\n".join(p.tl) + "\n"}
    flags = [[], ["--no-fuse"], ["--engine=interp"], ["--threads", "1"]][seed % 4]
    with tempfile.TemporaryDirectory() as d:
        _, problem = harness.run(a, d, files, flags)
        for n in [] if problem else p.names:
            got, want = np.load(f"{d}/{n}.npy"), p.env[n]
            if got.shape == want.shape and np.array_equal(got, want): continue
            problem = f"{n} is {got.shape} {got.ravel()[:8]}, not {want.shape} {want.ravel()[:8]} {' '.join(flags)}"
            problem += "".join(f"\n    {l}" for l in p.tl if f"let {n} =" in l)
            break
    return problem, files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=100, statements=24))
