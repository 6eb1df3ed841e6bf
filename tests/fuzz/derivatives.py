#!/usr/bin/env python3
"""Derivatives of random functions that update variables in place, against complex steps in NumPy.

    python derivatives.py --tenc PATH [--count 100] [--first 0] [--statements 9] [--keep DIR]

A function of a vector and of a struct assigns to elements, slices, windows, gathered places, rows and fields, exchanges
variables, scans, calls functions that do the same, in loops and in branches, partly on another device. In Python every
update makes a copy, and the derivative in direction v is the imaginary part of f(x + i h v) / h, which has no error but
rounding: nothing is shared with the compiler. What is compared: grad, value_and_grad, vjp, jvp, the gradient under
checkpoint, of each of two rows under vmap, and along the gradient a second derivative. Closes with
`N passed, N failed`."""
import random
import sys
import tempfile

import numpy as np

import harness

HEADER = """device gpu = cuda:0 or cpu
struct Pair {{ a: f64[{n}], b: f64[{r}, {c}] }}
fn touch(x: f64[N], y: f64[N], i: i64) -> f64[N] {{
    var z = x
    z[i % N] += y[-1] * 0.5
    z[0] = z[N - 1] - x[i % N] * y[0]
    z
}}
fn there[D: device, E: device](x: f64[N] @D, y: f64[N] @E) -> f64[N] @E = x.to(E) * y
fn running(x: f64[N]) -> f64[N] {{
    var z = x
    for i in 1..N {{ z[i] = sin(z[i - 1]) + x[i] }}
    z
}}
fn changed(p: Pair, i: i64) -> Pair {{
    var q = p
    q.a[i % {n}] = sum(p.b[0]) * 0.1
    q.b[0, 0] += p.a[0]
    q
}}
"""


class Pair:
    def __init__(self, a, b): self.a, self.b = a, b
    def put(self, field, value): return Pair(value, self.b) if field == "a" else Pair(self.a, value)


def put(x, i, v, op="="):
    """`x` with an update, as a copy."""
    y = x.astype(complex)
    if op == "=": y[i] = v
    elif op == "+=": np.add.at(y, i, v)
    else: y[i] = y[i] * v
    return y


def touch(x, y, i):
    z = put(x, i % len(x), y[-1] * 0.5, "+=")
    return put(z, 0, z[-1] - x[i % len(x)] * y[0])


def running(x):
    z = x.astype(complex)
    for i in range(1, len(x)): z[i] = np.sin(z[i - 1]) + x[i]
    return z


def changed(p, i): return Pair(put(p.a, i % len(p.a), p.b[0].sum() * 0.1), put(p.b, (0, 0), p.a[0], "+="))


def scanned(s, xs):
    out = []
    for i, e in enumerate(xs):
        s = put(s, i % len(s), e * s[0])
        out.append(np.sin(s.sum()))
    return s, np.array(out)


def turned(x, i, y):
    z = x.astype(complex)
    for j in range(2): z[j % len(x)] = np.sin(z[i]) * y[0]
    return z


class Program:
    def __init__(self, seed, statements):
        self.r = r = random.Random(seed)
        self.n, self.rows, self.cols = r.choice([2, 3, 5, 9]), r.choice([2, 3]), r.choice([2, 4])
        self.device = r.random() < 0.8
        self.count, self.indent, self.nest, self.tl, self.py = 0, 1, 0, [], []
        self.integers, self.held = [], []
        self.emit("var x = x\nvar y = x * 1.5\nvar z = sin(x)\nvar p = q\nvar k = 1", "y = x * 1.5\nz = np.sin(x)\np = q\nk = 1")
        if self.device: self.emit("@gpu var d = x * 0.5", "d = x * 0.5")
        self.block(statements)
        if self.device: self.emit("z += d.to(cpu)", "z = z + d")
        weights = [round(r.uniform(-1, 1), 3) for _ in range(3)]
        w, v, u = weights
        self.emit(f"sum(sin(x) * {w} + y * y * {v} + p.a * z) + sum(p.b * p.b) * {u}",
                  f"return (np.sin(x) * {w} + y * y * {v} + p.a * z).sum() + (p.b * p.b).sum() * {u}")

    def emit(self, tl, py):
        pad = "    " * self.indent
        self.tl += [pad + s for s in tl.split("\n")]
        self.py += [pad + s for s in py.split("\n")]

    def fresh(self):
        self.count += 1
        return f"n{self.count}"

    def integer(self):
        r = self.r
        if self.integers and r.random() < 0.6:
            i = r.choice(self.integers + ["k"])
            c = r.randint(0, 3)
            return f"({i} + {c})", f"({i} + {c})"
        return (str(r.randint(0, 6)),) * 2

    def place(self, n):
        i, pi = self.integer()
        return f"{i} % {n}", f"({pi} % {n})"

    def vector(self): return (self.r.choice(["x", "y", "z", "p.a"]),) * 2

    def number(self, depth=0):
        r, c = self.r, round(self.r.uniform(-1, 1), 2)
        kind = r.randrange(5 if depth < 2 else 2)
        if kind == 0: return f"({c})", f"({c})"
        if kind < 3:
            (v, pv), (i, pi) = self.vector(), self.place(self.n)
            return f"{v}[{i}]", f"{pv}[{pi}]"
        if kind == 3:
            (i, pi), (j, pj) = self.place(self.rows), self.place(self.cols)
            return f"p.b[{i}, {j}]", f"p.b[{pi}, {pj}]"
        (a, pa), (b, pb) = self.number(depth + 1), self.number(depth + 1)
        return r.choice([(f"({a} * {b})", f"({pa} * {pb})"), (f"({a} + {b})", f"({pa} + {pb})"), (f"sin({a})", f"np.sin({pa})"), (f"cos({b})", f"np.cos({pb})")])

    def values(self, n, depth=0):
        r = self.r
        forms = ["slice", "gather", "number", "window", "row", "column", "held"] + (["two", "two", "sin", "call", "scan", "where", "gpu"] if depth < 2 else [])
        kind = r.choice(forms)
        if kind in ("call", "scan", "held") and n != self.n: kind = "slice"
        if kind == "held" and not self.held: kind = "slice"
        if kind == "held": return (r.choice(self.held),) * 2
        if kind == "slice" and n <= self.n:
            (v, pv), a = self.vector(), r.randint(0, self.n - n)
            return r.choice([(f"{v}[{a}:{a + n}]", f"{pv}[{a}:{a + n}]"), (f"flip({v}[{a}:{a + n}], axis: 0)", f"{pv}[{a}:{a + n}][::-1]")])
        if kind == "window" and n <= self.n:
            (v, pv), (i, pi) = self.vector(), self.place(self.n - n + 1)
            return f"{v}[{i} :+ {n}]", f"{pv}[{pi}:{pi} + {n}]"
        if kind == "row" and n == self.cols:
            i, pi = self.place(self.rows)
            return f"p.b[{i}]", f"p.b[{pi}]"
        if kind == "column" and n == self.rows:
            i, pi = self.place(self.cols)
            return f"p.b[:, {i}]", f"p.b[:, {pi}]"
        if kind == "two":
            (a, pa), (b, pb), op = self.values(n, depth + 1), self.values(n, depth + 1), r.choice("+-*")
            return f"({a} {op} {b})", f"({pa} {op} {pb})"
        if kind == "sin":
            a, pa = self.values(n, depth + 1)
            return f"sin({a})", f"np.sin({pa})"
        if kind == "where":
            (a, pa), (b, pb) = self.values(n, depth + 1), self.values(n, depth + 1)
            return f"where({a} > 0.1, {a}, {b})", f"np.where(np.real({pa}) > 0.1, {pa}, {pb})"
        if kind == "call":
            (a, pa), (b, pb), (i, pi) = self.vector(), self.vector(), self.integer()
            return r.choice([(f"touch({a}, {b}, {i})", f"touch({pa}, {pb}, {pi})"), (f"running({a})", f"running({pa})"), (f"checkpoint(running)({a})", f"running({pa})"), (f"changed(p, {i}).a", f"changed(p, {pi}).a"),
                             (f"vmap(|c| {{ var h = c; h[0] = h[-1] * c[0]; h }})(stack(({a}, {b})))[1]", f"put({pb}, 0, {pb}[-1] * {pb}[0])")])
        if kind == "scan":
            (a, pa), (b, pb) = self.vector(), self.vector()
            text = f"scan(|s, e| {{ var h = s.0; h[s.1 % {self.n}] = e * h[0]; ((h, s.1 + 1), sin(sum(h))) }}, ({a}, 0), {b})"
            return r.choice([(text + ".0.0", f"scanned({pa}, {pb})[0]"), (text + ".1", f"scanned({pa}, {pb})[1]")])
        if kind == "gpu" and self.device: return self.elsewhere(n)
        if kind == "gather":
            (v, pv), a, b = self.vector(), r.randint(0, 3), r.randint(0, 4)
            return f"{v}[(arange({n}) * {a} + {b}) % {self.n}]", f"{pv}[(np.arange({n}) * {a} + {b}) % {self.n}]"
        a, pa = self.number(1)
        return f"({a} + f64(arange({n})) * 0.1)", f"({pa} + np.arange({n}) * 0.1)"

    def elsewhere(self, n):
        """A vector that is computed on another device."""
        (a, pa), (b, pb), (i, pi) = self.values(n, 2), self.values(n, 2), (str(self.r.randrange(n)),) * 2
        h = self.fresh()
        forms = [(f"(({a}).to(gpu) * 2.0).to(cpu)", f"({pa} * 2.0)"), (f"(@gpu {{ {a} * sin({b}) }}).to(cpu)", f"({pa} * np.sin({pb}))"),
                 (f"(@gpu {{ var {h} = {a}; {h}[{i}] += sum({b}); {h} }}).to(cpu)", f"put({pa}, {pi}, {pb}.sum(), '+=')"),
                 (f"(@gpu {{ vmap(|c| {{ var h = c; h[0] = h[-1] * c[0]; h }})(stack(({a}, {b})))[1] }}).to(cpu)", f"put({pb}, 0, {pb}[-1] * {pb}[0])"),
                 (f"(@gpu {{ var {h} = {a}; for j in 0..2 {{ {h}[j % {n}] = sin({h}[{i}]) * {b}[0] }}; {h} }}).to(cpu)", f"turned({pa}, {pi}, {pb})"),
                 (f"(@gpu {{ if {a}[0] > 0.1 {{ {a} * 0.5 }} else {{ {b} }} }}).to(cpu)", f"({pa} * 0.5 if np.real({pa}[0]) > 0.1 else {pb})")]
        if n == self.n:
            forms += [(f"(@gpu {{ checkpoint(running)({a}) }}).to(cpu)", f"running({pa})"),
                      (f"(@gpu {{ scan(|s, e| {{ var h = s.0; h[s.1 % {n}] = e * h[0]; ((h, s.1 + 1), sin(sum(h))) }}, ({a}, 0), {b}).0.0 }}).to(cpu)", f"scanned({pa}, {pb})[0]"),
                      (f"there({a}, ({b}).to(gpu)).to(cpu)", f"({pa} * {pb})"), ("d.to(cpu)", "d"), ("d.to(cpu)", "d")]
        return self.r.choice(forms)

    def far(self):
        """An update of the variable on the other device."""
        (a, pa), (i, pi), (v, pv) = self.values(self.n, 2), (str(self.r.randrange(self.n)),) * 2, self.number()
        self.emit(*self.r.choice([(f"d = ({a}).to(gpu)", f"d = {pa}"), (f"@gpu {{ d[{i}] += f64({v}).to(gpu) }}", f"d = put(d, {pi}, {pv}, '+=')"), (f"d[{i}] = f64({v}).to(gpu)", f"d = put(d, {pi}, {pv})"),
                                  (f"@gpu d = d * {a}", f"d = d * {pa}"), (f"d[{i}] *= ({a}).to(gpu)[0]", f"d = put(d, {pi}, {pa}[0], '*=')"),
                                  ("(d, x) = (x.to(gpu), d.to(cpu))", "d, x = x, d")]))

    def assign(self, target, value, index=None, op="="):
        (v, pv) = value
        self.emit(f"{target}{f'[{index[0]}]' if index else ''} {op} {v}", self.python(target, f"put({target}, np.s_[{index[1]}], {pv}, '{op}')" if index else pv))

    def python(self, place, value):
        if "." in place: return f"{place[0]} = {place[0]}.put('{place[-1]}', {value})"
        return f"{place} = {value}"

    def simple(self):
        r, n = self.r, self.n
        op, v = r.choice(["=", "=", "+=", "*="]), self.vector()[0]
        if self.device and r.random() < 0.25: return self.far()
        kind = r.choice(["all", "element", "element", "slice", "window", "gather", "row", "column", "cell", "exchange", "hold", "tree", "step"])
        if kind == "all": self.assign(v, self.values(n))
        elif kind == "element": self.assign(v, self.number(), self.place(n), op)
        elif kind == "slice":
            a, b = sorted((r.randint(0, n), r.randint(0, n)))
            if a == b: a, b = 0, n
            step = r.choice([1, 1, 2])
            index = f"{a}:{b}" + (f":{step}" if step > 1 else "")
            self.assign(v, self.values(len(range(a, b, step))), (index, index), op)
        elif kind == "window":
            length = r.randint(1, n)
            i, pi = self.place(n - length + 1)
            self.assign(v, self.values(length), (f"{i} :+ {length}", f"{pi}:{pi} + {length}"), op)
        elif kind == "gather":
            a, b, m = r.randint(0, 3), r.randint(0, 4), r.choice([2, n])
            if op == "*=": op = "+="
            self.assign(v, self.values(m), (f"(arange({m}) * {a} + {b}) % {n}", f"(np.arange({m}) * {a} + {b}) % {n}"), op)
        elif kind == "row": self.assign("p.b", self.values(self.cols), self.place(self.rows), op)
        elif kind == "column":
            i, pi = self.place(self.cols)
            self.assign("p.b", self.values(self.rows), (f":, {i}", f":, {pi}"), op)
        elif kind == "cell":
            (i, pi), (j, pj) = self.place(self.rows), self.place(self.cols)
            self.assign("p.b", self.number(), (f"{i}, {j}", f"{pi}, {pj}"), op)
        elif kind == "exchange":
            self.emit(*r.choice([("(x, y) = (y, x)",) * 2, ("(x, y, z) = (z, x, y)",) * 2, ("(x, p.a) = (p.a, x)", "x, pa = p.a, x\np = p.put('a', pa)")]))
        elif kind == "hold":
            h = self.fresh()
            self.emit(f"let {h} = {v}", f"{h} = {v}")
            self.held.append(h)
        elif kind == "tree":
            i, pi = self.integer()
            self.emit(*r.choice([(f"p = changed(p, {i})", f"p = changed(p, {pi})"), ("p.a = y", "p = p.put('a', y)"), (f"p = checkpoint(changed)(p, {i})", f"p = changed(p, {pi})"), ("p = q", "p = q")]))
        else: self.emit("k = (k + 2) % 5", "k = (k + 2) % 5")

    def block(self, statements):
        integers, held = list(self.integers), list(self.held)
        for _ in range(statements):
            kind = self.r.random()
            if kind < 0.75 or self.nest >= 2: self.simple()
            elif kind < 0.85: self.branch()
            else: self.loop()
        self.integers, self.held = integers, held

    def nested(self, statements):
        self.indent += 1
        self.nest += 1
        self.emit("", "pass")
        self.block(statements)
        self.indent -= 1
        self.nest -= 1

    def lines(self, tl, py):
        pad = "    " * self.indent
        self.tl.append(pad + tl)
        if py: self.py.append(pad + py)

    def branch(self):
        i, pi = self.integer()
        v = self.vector()[0]
        c, pc = self.r.choice([(f"{i} % 2 == 0", f"{pi} % 2 == 0"), (f"{v}[0] > 0.2", f"np.real({v}[0]) > 0.2"), (f"sum({v}) < f64(k)", f"np.real({v}.sum()) < k")])
        self.lines(f"if {c} {{", f"if {pc}:")
        self.nested(self.r.randint(1, 2))
        if self.r.random() < 0.5:
            self.lines("} else {", "else:")
            self.nested(self.r.randint(1, 2))
        self.lines("}", None)

    def loop(self):
        r, i, trips = self.r, self.fresh(), self.r.randint(1, 3)
        head = r.choice([("0..{0}", "range({0})"), ("rev(0..{0})", "reversed(range({0}))"), ("static 0..{0}", "range({0})")])
        self.lines(f"for {i} in {head[0].format(trips)} {{", f"for {i} in {head[1].format(trips)}:")
        known = list(self.integers)
        self.integers.append(i)
        self.nested(r.randint(1, 3))
        self.integers = known
        self.lines("}", None)

    def text(self):
        n, r, c = self.n, self.rows, self.cols
        return HEADER.format(n=n, r=r, c=c) + f"fn f(x: f64[{n}], q: Pair) -> f64 {{\n" + "\n".join(self.tl) + "\n}\n" + f"""
let x = f64(arange({n})) * 0.3 - 0.4
let q = Pair {{ a: sin(f64(arange({n}))), b: reshape(cos(f64(arange({r * c}))), [{r}, {c}]) }}
let dx = cos(f64(arange({n})) * 2.0)
let dq = Pair {{ a: x * 0.5, b: q.b * 0.2 }}
let (value, gx) = value_and_grad(f)(x, q)
let (value2, (hx, hq)) = vjp(f, wrt: (0, 1))(x, q, 1.0)
let (value3, d) = jvp(f, wrt: (0, 1))(x, q, (dx, dq))
let cx = grad(checkpoint(f))(x, q)
let rows = vmap(|r| grad(f)(r, q))(stack((x, x + 0.05)))
let along = grad(|t| grad(|s| f(x + s * dx + t * dx, q))(0.0))(0.0)
save("value.npy", stack((value, value2, value3)))
save("gx.npy", gx)
save("hx.npy", hx)
save("ha.npy", hq.a)
save("hb.npy", hq.b)
save("d.npy", d)
save("cx.npy", cx)
save("r0.npy", rows[0])
save("r1.npy", rows[1])
save("along.npy", along)
"""

    def expected(self):
        names = {"np": np, "put": put, "touch": touch, "running": running, "changed": changed, "scanned": scanned, "turned": turned, "Pair": Pair}
        exec("def f(x, q):\n" + "\n".join(self.py), names)
        f, n, r, c = names["f"], self.n, self.rows, self.cols
        x = np.arange(n) * 0.3 - 0.4
        q = Pair(np.sin(np.arange(n)), np.cos(np.arange(r * c)).reshape(r, c))
        dx, dq = np.cos(np.arange(n) * 2.0), Pair(x * 0.5, q.b * 0.2)
        h = 1e-30
        def along(x, q, dx, da, db): return np.imag(f(x + 1j * h * dx, Pair(q.a + 1j * h * da, q.b + 1j * h * db))) / h
        def each(shape, g):
            out = np.zeros(shape)
            for i in np.ndindex(*shape):
                e = np.zeros(shape)
                e[i] = 1
                out[i] = g(e)
            return out
        no, nob = np.zeros(n), np.zeros((r, c))
        gx = each((n,), lambda e: along(x, q, e, no, nob))
        value = np.real(f(x + 0j, Pair(q.a + 0j, q.b + 0j)))
        r1 = each((n,), lambda e: along(x + 0.05, q, e, no, nob))
        def second(step): return (along(x + step * dx, q, dx, no, nob) - along(x - step * dx, q, dx, no, nob)) / (2 * step)
        smooth = abs(second(1e-5) - second(4e-5)) < 1e-4 * max(1, abs(second(1e-5)))  # or a branch lies in between
        return {"value": (np.array([value] * 3), 1e-11), "gx": (gx, 1e-10), "hx": (gx, 1e-10), "ha": (each((n,), lambda e: along(x, q, no, e, nob)), 1e-10),
                "hb": (each((r, c), lambda e: along(x, q, no, no, e)), 1e-10), "d": (along(x, q, dx, dq.a, dq.b), 1e-10), "cx": (gx, 1e-10), "r0": (gx, 1e-10), "r1": (r1, 1e-10),
                **({"along": (second(1e-5), 1e-4)} if smooth else {})}


def case(a, seed):
    p = Program(seed, a.statements)
    files = {f"derivatives{seed}.tl": p.text()}
    with np.errstate(all="ignore"): want = p.expected()
    size = max(np.abs(v).max() for v, _ in want.values())
    if not np.isfinite(size) or size > 1e6: return None, files  # too steep to compare
    flags = [[], ["--no-fuse"], ["--engine=interp"], ["--threads", "1"]][seed % 4]
    if p.device: flags = flags + ["--virtual", "cuda=1", "--transfers=allow"]
    elif seed % 3 == 0: flags = flags + ["--virtual", "cuda=1", "--default-device", "cuda:0"]
    with tempfile.TemporaryDirectory() as d:
        _, problem = harness.run(a, d, files, flags)
        for name, (v, bound) in {} if problem else want.items():
            got = np.load(f"{d}/{name}.npy")
            if got.shape == v.shape and np.all(np.abs(got - v) <= bound * max(size, 1)): continue
            problem = f"{name} is {got.ravel()[:6]}, not {v.ravel()[:6]} {' '.join(flags)}"
            break
    return problem, files | {f"derivatives{seed}.py": "def f(x, q):\n" + "\n".join(p.py) + "\n"}


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=100, statements=9))
