#!/usr/bin/env python3
"""Random programs that update variables in place, written in TL and in Python at once.

    python updates.py --tenc PATH [--count 100] [--first 0] [--statements 14] [--keep DIR]

Variables are vectors, matrices, structs, lists of structs and tuples, which are assigned to each other, exchanged, held on to
as old values, captured, passed on and updated through slices, windows, gathers and fields, in loops of all kinds and in
branches. Half of the programs keep each of them on one of three devices, and move what an update of one reads of others. In
Python every update makes a copy, so no aliasing of the compiler's can be right by luck. All values are small integers:
results are equal or wrong. Closes with `N passed, N failed`."""
import random
import re
import sys
import tempfile

import numpy as np

import harness

HEADER = """device gpu = cuda:0 or cpu
device far = cuda:1 or cpu
struct Pair {{ a: i64[{n}], b: i64[{r}, {c}], n: i64 }}
fn touch(x: i64[N], y: i64[N], i: i64) -> i64[N] {{
    var z = x
    z[i % N] += y[-1]
    z[0] = z[N - 1] - y[i % N]
    (z + x) % 97
}}
fn exchange(x: i64[...S], y: i64[...S]) -> (i64[...S], i64[...S]) {{
    var a = x
    var b = y
    (a, b) = (b, a)
    a[0] = y[-1]
    (a, b)
}}
fn shifted(x: i64[N]) -> i64[N] {{
    var z = x
    for i in 1..N {{ z[i] = (z[i - 1] + x[i]) % 97 }}
    z
}}
fn changed(p: Pair, i: i64) -> Pair {{
    var q = p
    q.a[i % {n}] = p.n
    q.b[0, 0] += p.a[0]
    q.n = (q.n + p.b[-1, -1]) % 97
    q
}}
"""


class Pair:
    def __init__(self, a, b, n): self.a, self.b, self.n = a, b, n
    def put(self, field, value):
        new = Pair(self.a, self.b, self.n)
        setattr(new, field, value)
        return new


def put(x, i, v, op="="):
    """`x` with an update, as a copy."""
    if isinstance(x, (list, tuple)): return type(x)(list(x[:i]) + [v] + list(x[i + 1:]))
    y = x.copy()
    if op == "=": y[i] = v
    elif op == "+=": np.add.at(y, i, v)
    else: np.subtract.at(y, i, v)
    return y


def touch(x, y, i):
    n = len(x)
    z = put(x, i % n, y[-1], "+=")
    return (put(z, 0, z[n - 1] - y[i % n]) + x) % 97


def exchange(x, y): return put(y, 0, y[-1]), x


def shifted(x):
    z = x.copy()
    for i in range(1, len(x)): z[i] = (z[i - 1] + x[i]) % 97
    return z


def changed(p, i):
    return Pair(put(p.a, i % len(p.a), p.n), put(p.b, (0, 0), p.a[0], "+="), (p.n + p.b[-1, -1]) % 97)


def scan_sum(s, xs):
    out = []
    for e in xs:
        s = put(s, e % len(s), e, "+=")
        out.append(s[0])
    return s % 97, np.array(out) % 97


class Program:
    def __init__(self, seed, statements):
        self.r = r = random.Random(seed)
        self.n, self.rows, self.cols = r.choice([2, 3, 5, 8, 40, 70]), r.choice([2, 3, 5, 33]), r.choice([2, 4, 7, 19])
        if r.random() < 0.4: self.cols = self.n
        if r.random() < 0.3: self.rows = self.cols
        self.tl, self.py, self.indent, self.count = [HEADER.format(n=self.n, r=self.rows, c=self.cols)], [], 0, 0
        self.integers, self.lets, self.loops, self.nest = ["k", "l"], [], 0, 0
        n, rows, cols = self.n, self.rows, self.cols
        self.devices, self.annotated, self.here, self.prefix = r.random() < 0.5, False, "cpu", ""
        self.homes = {x: r.choice(["cpu", "gpu", "far"]) if self.devices else "cpu" for x in ["x", "y", "z", "u", "w", "p", "q", "ps", "t"]}
        vec = lambda i: (f"(arange({n}) * {i + 3} + {i}) % 23 - 4", f"(np.arange({n}) * {i + 3} + {i}) % 23 - 4")
        mat = lambda i: (f"((arange({rows * cols}) * {i + 5} + {i}) % 29).reshape([{rows}, {cols}])", f"((np.arange({rows * cols}) * {i + 5} + {i}) % 29).reshape({rows}, {cols})")
        for i, x in enumerate("xyz"): self.emit(f"{self.on(x)}var {x} = {vec(i)[0]}", f"{x} = {vec(i)[1]}")
        for i, x in enumerate("uw"): self.emit(f"{self.on(x)}var {x} = {mat(i)[0]}", f"{x} = {mat(i)[1]}")
        for i, x in enumerate("pq"):
            self.emit(f"{self.on(x)}var {x} = Pair {{ a: {vec(i + 4)[0]}, b: {mat(i + 2)[0]}, n: {i} }}", f"{x} = Pair({vec(i + 4)[1]}, {mat(i + 2)[1]}, {i})")
        self.emit(f"var ps = [changed({self.at('p', 'ps')}, 0), {self.at('q', 'ps')}, changed({self.at('q', 'ps')}, 1)]", "ps = [changed(p, 0), q, changed(q, 1)]")
        self.emit(f"var t = ({self.at('y', 't')}, {self.at('z', 't')})", "t = (y, z)")
        self.emit("var k = 3", "k = 3")
        self.emit("var l = 5", "l = 5")
        self.block(statements)
        for i, (text, _) in enumerate(self.results()): self.tl.append(f'save("r{i}.npy", {text})')

    def results(self):
        found = ["x", "y", "z", "u", "w", "p.a", "p.b", "p.n", "q.a", "q.b", "q.n", "ps[0].a", "ps[0].b", "ps[1].a", "ps[1].n", "ps[2].a", "ps[2].b"]
        return [(x, x) for x in found] + [("t.0", "t[0]"), ("t.1", "t[1]"), ("k", "k"), ("l", "l")]

    def emit(self, tl, py):
        pad = "    " * self.indent
        self.tl += [pad + s for s in tl.split("\n")]
        self.py += [pad + s for s in py.split("\n")]

    # ---- where things are: `here` is the device of what is computed now; under an annotation names come by themselves
    def root(self, text): return re.match(r"\w+", text)[0]
    def home(self, text): return self.homes.get(self.root(text), "cpu")
    def on(self, name): return f"@{self.homes[name]} " if self.homes[name] != "cpu" else ""
    def to(self, text, place, target):
        return text if not self.devices or self.annotated or place == target else f"{text}.to({target})"
    def at(self, text, name=None):
        """What is read of a variable, on the device of `name`, or here."""
        return self.to(text, self.home(text), self.homes[name] if name else self.here)
    def host(self, text, name=None): return self.to(text, self.home(name or text), "cpu")
    def made(self, text): return self.to(text, "cpu", self.here)
    def update(self, target):
        """Begins the update of a variable."""
        self.here = self.home(target[0])
        self.annotated = self.devices and self.r.random() < 0.4
        self.prefix = f"@{self.here} " if self.annotated else ""
        return target

    # ---- places and values: texts in TL and in Python
    def vector(self):
        """A variable that is a vector of n, with how Python writes it."""
        return self.r.choice([("x", "x"), ("y", "y"), ("z", "z"), ("p.a", "p.a"), ("q.a", "q.a"), ("t.0", "t[0]"), ("t.1", "t[1]"), ("ps[0].a", "ps[0].a"), ("ps[2].a", "ps[2].a")][: self.r.choice([3, 9])])

    def matrix(self):
        return self.r.choice([("u", "u"), ("w", "w"), ("p.b", "p.b"), ("q.b", "q.b"), ("ps[1].b", "ps[1].b")][: self.r.choice([2, 5])])

    def integer(self, depth=0):
        r = self.r
        kind = r.randrange(8 if depth < 2 else 2)
        if kind == 0: i = str(r.randint(0, 9)); return i, i
        if kind < 3: i = r.choice(self.integers); return i, i
        if kind == 3:
            (v, pv), (i, pi) = self.vector(), self.place(self.n, depth + 1)
            return self.host(f"{v}[{i}]"), f"int({pv}[{pi}])"
        if kind == 4:
            (v, pv), (i, pi), (j, pj) = self.matrix(), self.place(self.rows, depth + 1), self.place(self.cols, depth + 1)
            return self.host(f"{v}[{i}, {j}]"), f"int({pv}[{pi}, {pj}])"
        if kind == 5:
            v = r.choice(["p.n", "q.n", "ps[1].n"])
            return self.host(v), v
        if kind == 6:
            v, pv = self.vector()
            return self.host(f"(sum({v}) % 13)", v), f"int({pv}.sum() % 13)"
        (a, pa), (b, pb) = self.integer(depth + 1), self.integer(depth + 1)
        op = r.choice("+-*")
        return f"({a} {op} {b}) % 31", f"(({pa} {op} {pb}) % 31)"

    def place(self, n, depth=0):
        """An index that is in range, sometimes from the end."""
        if self.r.random() < 0.3: i = self.r.randint(-n, n - 1); return str(i), str(i)
        i, pi = self.integer(depth + 1)
        return f"({i}) % {n}", f"(({pi}) % {n})"

    def start(self, n, length, depth=0):
        """Where a window of that length may start."""
        i, pi = self.place(n - length + 1, depth) if n > length else ("0", "0")
        return ("0", "0") if i.startswith("-") else (i, pi)

    def places(self, n, count):
        """A tensor of `count` indices below n, with repetitions."""
        a, b = self.r.randint(0, 5), self.r.randint(0, 7)
        if count == self.n and self.r.random() < 0.4:
            v, pv = self.vector()
            return f"{self.at(v)} % {n}", f"({pv} % {n})"
        i, pi = self.integer(1)
        return f"({self.made(f'arange({count})')} * {a} + {i} + {b}) % {n}", f"((np.arange({count}) * {a} + {pi} + {b}) % {n})"

    def values(self, n, depth=0):
        """A vector of n values."""
        r = self.r
        forms = ["name", "slice", "gather", "made", "sum", "row", "column"]
        if depth < 2: forms += ["two", "two", "where", "view", "call", "let", "block", "lambda"]
        kind = r.choice(forms)
        if kind in ("name", "let", "call", "view") and n != self.n: kind = "slice"
        if kind == "name" or (kind == "let" and not self.lets):
            v, pv = self.vector()
            return self.at(v), pv
        if kind == "let":
            name = r.choice(self.lets)
            return self.at(name), name
        if kind == "slice" and n <= self.n:
            v, pv = self.vector()
            if r.random() < 0.5:
                a = r.randint(0, self.n - n)
                return self.at(f"{v}[{a}:{a + n}]"), f"{pv}[{a}:{a + n}]"
            i, pi = self.start(self.n, n, depth)
            return self.at(f"{v}[{i} :+ {n}]"), f"window({pv}, {pi}, {n})"
        if kind == "gather":
            (v, pv), (i, pi) = self.vector(), self.places(self.n, n)
            return f"{self.at(v)}[{i}]", f"{pv}[{pi}]"
        if kind == "row" and n == self.cols:
            (v, pv), (i, pi) = self.matrix(), self.place(self.rows, depth)
            return self.at(f"{v}[{i}]"), f"{pv}[{pi}]"
        if kind == "column" and n == self.rows:
            (v, pv), (i, pi) = self.matrix(), self.place(self.cols, depth)
            return self.at(f"{v}[:, {i}]"), f"{pv}[:, {pi}]"
        if kind == "two":
            (a, pa), (b, pb), op = self.values(n, depth + 1), self.values(n, depth + 1), r.choice(["+", "-", "*"])
            return f"({a} {op} {b}) % 97", f"(({pa} {op} {pb}) % 97)"
        if kind == "where":
            (a, pa), (b, pb), (c, pc) = self.values(n, depth + 1), self.values(n, depth + 1), self.integer(1)
            return f"where({a} > {c}, {a}, {b})", f"np.where({pa} > {pc}, {pa}, {pb})"
        if kind == "view":
            v, pv = self.vector()
            v = self.at(v)
            return r.choice([(f"flip({v}, axis: 0)", f"{pv}[::-1]"), (f"roll({v}, 1, axis: 0)", f"np.roll({pv}, 1)"), (f"concat(({v}[1:], {v}[:1]))", f"np.roll({pv}, -1)"),
                             (f"(cumsum({v}) % 97)", f"(np.cumsum({pv}) % 97)"), (f"sort({v})", f"np.sort({pv})")])
        if kind == "call":
            (a, pa), (b, pb), (i, pi) = self.vector(), self.vector(), self.integer(1)
            a, b, q = self.at(a), self.at(b), self.at("q")
            scan = f"scan(|s, e| {{ var h = s; h[e % {self.n}] += e; (h, h[0]) }}, {a}, {b})"
            return r.choice([(f"touch({a}, {b}, {i})", f"touch({pa}, {pb}, {pi})"), (f"shifted({a})", f"shifted({pa})"), (f"exchange({a}, {b}).0", f"exchange({pa}, {pb})[0]"),
                             (f"changed({q}, {i}).a", f"changed(q, {pi}).a"), (f"({scan}.0 % 97)", f"scan_sum({pa}, {pb})[0]"), (f"({scan}.1 % 97)", f"scan_sum({pa}, {pb})[1]")])
        if kind == "block":
            (a, pa), (b, pb), (i, pi), (c, pc) = self.values(n, depth + 1), self.values(n, depth + 1), self.place(n, depth), self.integer(1)
            h = self.fresh()
            return f"{{ var {h} = {a}; {h}[{i}] += {c}; {h} - {b} }}", f"(put({pa}, {pi}, {pc}, '+=') - {pb})"
        if kind == "lambda":
            (a, pa), (b, pb), (i, pi) = self.values(n, depth + 1), self.values(n, depth + 1), self.place(n, depth)
            h = self.fresh()
            return f"({b} |> (|{h}| {{ var g{h} = {h}; g{h}[{i}] = k; g{h} + {a} }})) % 97", f"((put({pb}, {pi}, k) + {pa}) % 97)"
        a, b = r.randint(1, 5), r.randint(0, 9)
        return f"({self.made(f'arange({n})')} * {a} + {b})", f"(np.arange({n}) * {a} + {b})"

    def fresh(self):
        self.count += 1
        return f"n{self.count}"

    def condition(self):
        self.annotated = False
        (a, pa), (b, pb) = self.integer(), self.integer()
        op = self.r.choice(["<", ">", "==", "!=", ">="])
        return f"{a} {op} {b}", f"{pa} {op} {pb}"

    # ---- statements
    def assign(self, target, value, index=None, op="="):
        """An assignment to a variable or to a part of it; `index` in TL and in Python."""
        (name, pname), (v, pv) = target, value
        self.emit(f"{self.prefix}{name}{f'[{index[0]}]' if index else ''} {op} {v}", self.python(pname, f"put({pname}, np.s_[{index[1]}], {pv}, '{op}')" if index else pv))

    def python(self, place, value):
        """The assignment of a value to a place of Python, without a change in what it is a part of."""
        if "." in place:
            base, field = place.rsplit(".", 1)
            return self.python(base, f"{base}.put('{field}', {value})")
        if "[" in place:
            base, i = place[:-1].rsplit("[", 1)
            return self.python(base, f"put({base}, {i}, {value})")
        return f"{place} = {value}"

    def simple(self):
        r, op = self.r, self.r.choice(["=", "=", "+=", "-="])
        kind = r.choice(["vector", "element", "slice", "slice", "window", "gather", "gather", "row", "column", "cells", "block", "rows", "exchange", "hold", "tree", "tree", "integer", "matrix", "apart"])
        n, rows, cols = self.n, self.rows, self.cols
        target = self.update(self.matrix() if kind in ("row", "column", "cells", "block", "rows", "matrix") else self.vector())
        if kind == "vector": self.assign(target, self.values(n))
        elif kind == "element": self.assign(target, self.integer(), self.place(n), op)
        elif kind == "slice":
            step = r.choice([1, 1, 2])
            a, b = sorted((r.randint(0, n), r.randint(0, n)))
            if a == b: a, b = 0, n
            index = f"{a}:{b}" + (f":{step}" if step > 1 else "")
            self.assign(target, self.values(len(range(a, b, step))), (index, index), op)
        elif kind == "window":
            length = r.randint(1, n)
            i, pi = self.start(n, length)
            self.assign(target, self.values(length), (f"{i} :+ {length}", f"{pi}:{pi} + {length}"), op)
        elif kind == "gather":
            count = r.choice([1, n, 3])
            self.assign(target, self.values(count), self.places(n, count), op)
        elif kind == "row": self.assign(target, self.values(cols), self.place(rows), op)
        elif kind == "column":
            i, pi = self.place(cols)
            self.assign(target, self.values(rows), (f":, {i}", f":, {pi}"), op)
        elif kind == "cells":
            (i, pi), (j, pj) = self.place(rows), self.place(cols)
            self.assign(target, self.integer(), (f"{i}, {j}", f"{pi}, {pj}"), op)
        elif kind == "block":
            h, w = r.randint(1, rows), r.randint(1, cols)
            a, b, c, d = (r.randint(0, m) for m in (rows - h, cols - w, rows - h, cols - w))
            v, pv = self.matrix()
            end = f"[{c}:{c + h}, {d}:{d + w}]"
            if rows == cols and r.random() < 0.5: end = ".T" + end
            self.assign(target, (self.at(v + end), pv + end), (f"{a}:{a + h}, {b}:{b + w}",) * 2, op)
        elif kind == "rows":
            count = r.randint(1, 4)
            (v, pv), (i, pi), (j, pj) = self.matrix(), self.places(rows, count), self.places(rows, count)
            self.assign(target, (f"{self.at(v)}[{j}]", f"{pv}[{pj}]"), (i, pi), op)
        elif kind == "matrix":
            (v, pv), (i, pi) = self.matrix(), self.place(cols)
            v, w = self.at(v), self.at("w")
            self.assign(target, r.choice([(f"vmap(|r| {{ var h = r; h[{i}] = sum(r) % 7; h }})({v})", f"put({pv}, np.s_[:, {pi}], {pv}.sum(1) % 7)"), (f"flip({v}, axis: 1)", f"{pv}[:, ::-1]"),
                                          (f"roll({v}, 1, axis: 0)", f"np.roll({pv}, 1, 0)"), (f"({v} + {w}) % 97", f"(({pv} + w) % 97)"), (v, pv)]))
        elif kind == "integer":
            self.annotated = False
            i, pi = self.integer()
            name = r.choice("kl")
            self.emit(f"{name} = ({i}) % 53", f"{name} = ({pi}) % 53")
        elif kind == "hold":
            (v, pv), h = target, self.fresh()
            self.emit(f"{self.prefix}let {h} = {v}", f"{h} = {pv}")
            self.homes[h] = self.here
            self.lets.append(h)
        elif kind == "apart":  # the update of a copy leaves what was copied as it is
            self.annotated = False
            (v, pv), h, (i, pi) = target, self.fresh(), self.place(n)
            self.emit(f"var {h} = {v}\n{h}[{i}] += 7\n{v}[0] = {h}[{n - 1}]", f"{h} = put({pv}, {pi}, 7, '+=')\n" + self.python(pv, f"put({pv}, 0, {h}[{n - 1}])"))
            self.homes[h] = self.here
            self.lets.append(h)
        else:
            self.annotated = False
            (self.exchange if kind == "exchange" else self.tree)()

    def exchange(self):
        a = self.at
        self.emit(*self.r.choice([
            (f"(x, y) = ({a('y', 'x')}, {a('x', 'y')})", "(x, y) = (y, x)"), (f"(x, y, z) = ({a('z', 'x')}, {a('x', 'y')}, {a('y', 'z')})", "(x, y, z) = (z, x, y)"),
            (f"(u, w) = ({a('w', 'u')}, {a('u', 'w')})", "(u, w) = (w, u)"), (f"(p, q) = ({a('q', 'p')}, {a('p', 'q')})", "(p, q) = (q, p)"),
            ("t = (t.1, t.0)", "t = (t[1], t[0])"), ("(k, l) = (l, k)",) * 2,
            (f"(x, p.a) = ({a('p.a', 'x')}, {a('x', 'p')})", "x, pa = p.a, x\np = p.put('a', pa)"), (f"(p.a, q.a) = ({a('q.a', 'p')}, {a('p.a', 'q')})", "p, q = p.put('a', q.a), q.put('a', p.a)"),
            (f"t = ({a('x', 't')}, t.0)", "t = (x, t[0])"), (f"ps = [ps[2], ps[0], {a('p', 'ps')}]", "ps = [ps[2], ps[0], p]")]
            + ([] if self.homes["x"] != self.homes["y"] else [("(x, y) = exchange(x, y)",) * 2]) + ([] if self.homes["u"] != self.homes["w"] else [("(u, w) = exchange(u, w)",) * 2])))

    def tree(self):
        a, (i, pi) = self.at, self.integer(1)
        n = self.to(f"(({i}) % 97)", "cpu", self.homes["q"])
        self.emit(*self.r.choice([
            (f"p = {a('q', 'p')}", "p = q"), (f"q = {a('ps[1]', 'q')}", "q = ps[1]"), (f"ps[0] = {a('p', 'ps')}", "ps = put(ps, 0, p)"), ("ps[2] = ps[0]", "ps = put(ps, 2, ps[0])"),
            (f"p = changed(p, {i})", f"p = changed(p, {pi})"), (f"ps[1] = changed({a('q', 'ps')}, {i})", f"ps = put(ps, 1, changed(q, {pi}))"), (f"p.b = {a('q.b', 'p')}", "p = p.put('b', q.b)"),
            ("t.1 = t.0", "t = put(t, 1, t[0])"), (f"q.n = {n}", f"q = q.put('n', ({pi}) % 97)"),
            (f"for e in ps {{ x[0] += {self.to('e.n', self.homes['ps'], self.homes['x'])}; z = (z + {self.to('e.a', self.homes['ps'], self.homes['z'])}) % 97 }}",
             "for e in ps:\n    x = put(x, 0, e.n, '+=')\n    z = (z + e.a) % 97")]))

    def block(self, statements):
        known, lets = list(self.integers), list(self.lets)
        for _ in range(statements):
            kind = self.r.random()
            if kind < 0.7 or self.nest >= 3: self.simple()
            elif kind < 0.8: self.branch()
            else: self.loop()
        self.integers, self.lets = known, lets

    def nested(self, statements, last=("", "")):
        self.indent += 1
        self.nest += 1
        self.emit("", "pass")
        self.block(statements)
        if last[0]: self.emit(*last)
        self.indent -= 1
        self.nest -= 1

    def lines(self, tl, py):
        """Lines of which TL and Python have different ones."""
        pad = "    " * self.indent
        if tl: self.tl.append(pad + tl)
        if py: self.py.append(pad + py)

    def branch(self):
        c, pc = self.condition()
        self.lines(f"if {c} {{", f"if {pc}:")
        self.nested(self.r.randint(1, 3))
        if self.r.random() < 0.6:
            self.lines("} else {", "else:")
            self.nested(self.r.randint(1, 3))
        self.lines("}", None)

    def loop(self):
        r, i = self.r, self.fresh()
        kind = r.choice(["for", "for", "bound", "static", "while", "rows", "back"])
        trips = r.randint(1, 4)
        if kind == "for": self.lines(f"for {i} in 0..{trips} {{", f"for {i} in range({trips}):")
        elif kind == "bound": self.lines(f"for {i} in 0..k % 4 {{", f"for {i} in range(k % 4):")
        elif kind == "back": self.lines(f"for {i} in rev(0..{trips}) {{", f"for {i} in reversed(range({trips})):")
        elif kind == "static": self.lines(f"for {i} in static 0..{trips} {{", f"for {i} in range({trips}):")
        elif kind == "rows":
            v, pv = self.matrix()
            self.lines(f"for {i} in {v}[:{min(3, self.rows)}] {{", f"for {i} in {pv}[:{min(3, self.rows)}]:")
        else:
            self.emit(f"var {i} = 0", f"{i} = 0")
            self.lines(f"while {i} < {trips} {{", f"while {i} < {trips}:")
        if kind == "rows":
            self.homes[i] = self.home(v)
            v = self.update(self.vector())
            self.annotated = False
            self.indent += 1
            self.emit(f"{v[0]}[0] += {self.at(f'{i}[-1]')}", self.python(v[1], f"put({v[1]}, 0, {i}[-1], '+=')"))
            self.indent -= 1
        known = list(self.integers)
        if kind != "rows": self.integers.append(i)
        if kind == "while":
            self.indent += 1
            self.emit(f"{i} += 1", f"{i} += 1")
            self.indent -= 1
        if r.random() < 0.3:
            c, pc = self.condition()
            exit = r.choice(["break", "continue"])
            self.indent += 1
            self.emit(f"if {c} {{ {exit} }}", f"if {pc}: {exit}")
            self.indent -= 1
        self.nested(r.randint(1, 4))
        self.integers = known
        self.lines("}", None)

    def expected(self):
        def window(x, i, n): return x[i:i + n]
        names = {"np": np, "put": put, "touch": touch, "exchange": exchange, "shifted": shifted, "changed": changed, "scan_sum": scan_sum, "Pair": Pair, "window": window}
        exec("\n".join(self.py), names)
        return [np.asarray(eval(py, names)) for _, py in self.results()]


def case(a, seed):
    p = Program(seed, a.statements)
    files = {f"updates{seed}.tl": "\n".join(p.tl) + "\n"}
    want = p.expected()
    flags = [[], ["--no-fuse"], ["--engine=interp"], ["--threads", "1"], ["--code=full"]][seed % 5]
    if p.devices: flags += ["--virtual", ["cuda=2", "cuda=2:sync", "cuda=2:lazy"][seed % 3], "--transfers=allow"]
    elif seed % 4 == 0: flags += ["--virtual", "cuda=1", "--default-device", "cuda:0"]
    with tempfile.TemporaryDirectory() as d:
        _, problem = harness.run(a, d, files, flags)
        for i, (text, _) in enumerate([] if problem else p.results()):
            got = np.load(f"{d}/r{i}.npy")
            if got.shape == want[i].shape and np.array_equal(got, want[i]): continue
            problem = f"{text} is {got.ravel()[:8]}, not {want[i].ravel()[:8]} {' '.join(flags)}"
            break
    return problem, files | {f"updates{seed}.py": "\n".join(p.py) + "\n"}


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=100, statements=14))
