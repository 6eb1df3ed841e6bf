#!/usr/bin/env python3
"""Random loops over small tensors, each as one function and as kernels one by one.

    python tensor_loops.py --tenc PATH [--count 200] [--first 0] [--keep DIR]

Each program runs without the pass `tensor-loops`, so that the runtime calls its kernels, as full code, and in turn as quick
code, for narrower vectors, or so that three threads share what they may. Results must have the same bits, NaN being one value,
or the program must stop with the same message at the same place. Closes with `N passed, N failed`."""
import random
import sys
import tempfile

import harness
from native import difference, outcome, show

WAYS = {"full": ["--code", "full", "--threads", "1"], "quick": ["--code", "quick", "--threads", "1"],
        "narrow": ["--code", "full", "--target-cpu", "x86-64-v3", "--threads", "1"], "threads": ["--code", "full", "--threads", "3"]}
APART = ["--passes=place,verify-placed,inline,hoist-moved,dce,moves,device-loops,device-control,decompose,simplify,cse,hoist,dce,"
         "bind-devices,place-free,read-rows,read-ahead,fuse,dce", "--run", "--threads", "1"]


class Program:
    """A function of some `var`s that loops change, whose values are saved in the end."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        r = self.r
        self.n, self.m = r.choice([1, 2, 3, 5, 8, 16, 17, 33, 40, 64, 100]), r.choice([1, 2, 3, 4, 7, 16])
        self.dtype = r.choice(["f32", "f32", "f64"])
        self.shapes = {"v": (self.n,), "w": (self.n,), "a": (self.m, self.n), "b": (self.m, self.n), "q": (self.n, self.n),
                       "u": (self.m,), "k": (self.n,), "j": (self.m,)}
        self.integers = {"k", "j"}
        self.square = self.n <= 33
        if not self.square: del self.shapes["q"]  # more than a loop over small tensors may carry
        self.lines, self.depth, self.trips = [], 0, 0
        for name, shape in self.shapes.items(): self.start(name, shape)
        self.lines += ["var s = 0.5" if self.dtype == "f32" else "var s = f64(0.5)", "var c = 1"]
        self.rows = r.choice([0, 6, 400])
        if self.rows: self.lines.append(f"var h = zeros([{self.rows}, {self.n}], dtype: {self.dtype})")
        for _ in range(r.choice([1, 1, 2])): self.loop()
        names = [*self.shapes, *(["h"] if self.rows else [])]
        self.lines += [f'save("r_{name}.npy", {name})' for name in names] + ['save("r_s.npy", stack([s]))', 'save("r_c.npy", stack([c]))']
        self.text = "seed(1)\n" + "\n".join(self.lines) + "\n"
        self.files = {}

    def start(self, name, shape):
        size = list(shape)
        if name in self.integers: text = f"randint(-9, 10, {size})"
        elif self.r.random() < .2: text = f"ones({size}, dtype: {self.dtype})"
        else: text = f"{self.dtype}(randn({size}))"
        self.lines.append(f"var {name} = {text}")

    def put(self, line): self.lines.append("    " * self.depth + line)

    def named(self, shape, integers=False):
        return self.r.choice([n for n, s in self.shapes.items() if s == shape and (n in self.integers) == integers])

    def number(self):
        r = self.r
        return r.choice(["s", "s", f"{self.dtype}({r.choice([.5, .25, 1.5, -1.0, 0.1])})", f"{self.dtype}(c)"])

    def tensor(self, shape, depth=2):
        """An expression of floats."""
        r = self.r
        n, m = self.n, self.m
        if depth == 0 or r.random() < .15: return self.named(shape)
        sub = lambda s=shape: self.tensor(s, depth - 1)
        ways = [lambda: f"({sub()} {r.choice('+-*')} {sub()})", lambda: f"({sub()} {r.choice('+-*')} {self.number()})",
                lambda: f"{r.choice(['tanh', 'sin', 'abs', 'relu', 'sigmoid'])}({sub()})",
                lambda: f"where({sub()} < {sub()}, {sub()}, {sub()})", lambda: f"max({sub()}, {sub()})",
                lambda: f"({sub()} / ({sub()} * {self.named(shape)} + 1.5))"]
        if shape == (n,):
            if self.square: ways.append(lambda: f"({sub()} @ {self.named((n, n))})")
            if 2 <= n <= 8: ways.append(lambda: "[" + ", ".join(self.element() for _ in range(n)) + "]")
            if n > 2: ways += [lambda: self.joined(sub(), self.named(shape)), lambda: self.joined(self.named(shape), sub())]
            ways += [lambda: f"({self.tensor((m,), depth - 1)} @ {self.tensor((m, n), depth - 1)})",
                     lambda: f"sum({self.tensor((m, n), depth - 1)}, axis: 0)", lambda: f"flip({sub()})", lambda: f"softmax({sub()})",
                     lambda: f"{self.named((m, n))}[{self.index(m)}]", lambda: f"cumsum({sub()})", lambda: f"roll({sub()}, 1)",
                     lambda: f"{self.dtype}({self.whole((n,), depth - 1)})"]
            if self.rows: ways.append(lambda: f"h[{self.index(self.rows)}]")
        if shape == (m,):
            ways += [lambda: f"({self.named((m, n))} @ {self.tensor((n,), depth - 1)})", lambda: f"mean({self.tensor((m, n), depth - 1)}, axis: 1)"]
        if shape == (m, n):
            if self.square: ways.append(lambda: f"({sub()} @ {self.named((n, n))})")
            ways += [lambda: f"({sub()} + {self.tensor((n,), depth - 1)})",
                     lambda: f"({self.tensor((m,), depth - 1)}[:, new] * {self.tensor((n,), depth - 1)}[new])"]
        if shape == (n, n): ways += [lambda: f"{sub()}.T", lambda: f"({self.named((m, n))}.T @ {self.named((m, n))})", lambda: f"({sub()} @ {self.named(shape)})"]
        return r.choice(ways)()

    def element(self):
        """Of a vector that is written one by one."""
        return f"({self.r.choice('vw')}[{self.index(self.n)}] {self.r.choice('+-*')} {self.number()})"

    def whole(self, shape, depth=1):
        """An expression of integers."""
        name = self.named(shape, True)
        if depth <= 0: return name
        other = self.whole(shape, depth - 1)
        divisor = "3" if self.r.random() < .9 else f"({other} + 9)"
        return self.r.choice([f"({name} + {other})", f"({name} * 3 - c)", f"({name} % 7)", f"({other} // {divisor})"])

    def scalar(self):
        n, m = self.n, self.m
        return self.r.choice([lambda: f"sum({self.tensor((n,))})", lambda: f"max({self.tensor((m,), 1)})", lambda: f"tanh(s + {self.number()})",
                              lambda: f"mean({self.named((m, n))})", lambda: f"v[{self.index(n)}]", lambda: f"(v @ w)"])()

    def index(self, size):
        r = self.r
        if r.random() < .06: return "c"
        return r.choice([str(r.randrange(size)), "-1", f"(c % {size})", *(f"({i} % {size})" for i in self.counters())])

    def counters(self): return [f"i{d}" for d in range(self.depth) if f"i{d}" in self.live]

    live = ()

    def statement(self):
        r = self.r
        kind = r.random()
        name = r.choice([*self.shapes])
        shape = self.shapes[name]
        if kind < .45:
            if name in self.integers: self.put(f"{name} = {self.whole(shape, 2)} % 100")
            else: self.put(f"{name} = {self.bounded(self.tensor(shape))}")
        elif kind < .6: self.put(f"s = tanh({self.scalar()})" if r.random() < .9 else "s = s * 0.5")
        elif kind < .68: self.put(f"c = {r.choice(['c + 1', 'c * 3 % 11', 'c + i64(s > 0.2)', 'i64(sum(k)) % 13', 'argmax(v)'])}")
        elif kind < .78:
            self.put(f"{r.choice('ab')}[{self.index(self.m)}] = {self.bounded(self.tensor((self.n,)))}")
        elif kind < .8 and self.n > 2: self.put(f"v[1:-1] = {self.bounded('v[1:-1] + 0.25 * (v[2:] - w[:-2])')}")
        elif kind < .83 and self.n > 2: self.part()
        elif kind < .86: self.put(f"v[{self.index(self.n)}] = s")
        elif kind < .9: self.put("(v, w) = (w, v)")
        elif kind < .96 and self.rows: self.put(f"h[{self.index(self.rows)}] = {self.bounded(self.tensor((self.n,)))}")
        else: self.put("let t = v + w")

    def joined(self, x, y):
        """Elements of two vectors, one after the other."""
        at = self.r.randrange(1, self.n)
        return f"concat(({x}[{self.n - at}:], {y}[:{self.n - at}]))"

    def part(self):
        """Changes some elements of a vector after others, at places that are apart by a number of them."""
        r, n = self.r, self.n
        count = r.randint(1, n - 1)
        at, first, second = (r.randint(0, n - count) for _ in range(3))
        part = lambda name, begin: f"{name}[{begin}:{begin + count}]"
        x, y, z = (r.choice("vw") for _ in range(3))
        self.put(f"{part(x, at)} = {self.bounded(f'{part(y, first)} * 0.5 + {part(z, second)}')}")

    def bounded(self, text): return f"tanh({text})" if self.r.random() < .7 else text

    def block(self, most=4):
        self.depth += 1
        for _ in range(self.r.randint(1, most)):
            kind = self.r.random()
            if kind < .1 and self.depth < 3: self.loop()
            elif kind < .2 and self.depth < 4:
                self.put(f"if {self.r.choice(['s > 0.1', 'c % 2 == 0', 'sum(v) > 0.0', 'k[0] > 3'])} {{")
                self.block(2)
                if self.r.random() < .5:
                    self.put("} else {")
                    self.block(2)
                self.put("}")
            else: self.statement()
        if self.r.random() < .07: self.put(f"if {self.r.choice(['s > 0.7', 'c > 9'])} {{ break }}")
        self.depth -= 1

    def loop(self):
        r, before = self.r, self.live
        if r.random() < .75:
            self.put(f"for i{self.depth + 1} in {r.choice(['0..7', '0..1', '2..c % 5', '0..0', '1..20', '0..12'])} {{")
            self.live = (*before, f"i{self.depth + 1}")
            self.block(5)
        else:
            self.trips += 1
            counter = f"t{self.trips}"
            self.put(f"var {counter} = 0")
            self.put(f"while {counter} < {r.choice([1, 5, 9])} and {r.choice(['s < 2.0', 'sum(w) < 50.0', 'true'])} {{")
            self.put(f"    {counter} += 1")
            self.block(4)
        self.put("}")
        self.live = before


def case(a, seed):
    program = Program(seed)
    files = {f"tensor_loop{seed}.tl": program.text}
    want = outcome(a, program, APART)
    if isinstance(want, str) and "error[E09" not in want: return show(want), files
    for way in ("full", ("quick", "narrow", "threads")[seed % 3]):
        problem = difference(want, outcome(a, program, WAYS[way]))
        if problem: return f"{way}: {problem}", files
    return None, files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=200))
