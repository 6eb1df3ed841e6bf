#!/usr/bin/env python3
"""Derivatives and `vmap` of functions with parameters on several devices: they give what they give on the host.

    python calls.py --tenc PATH [--count 100] [--first 0] [--keep DIR]

A random function of two vectors, each on a device of its own, that its type names or that is a variable of the function, moves
parts of them, updates elements, scans and maps them, assigns them in branches and blocks, and has its result on a third
device. It is called once or twice with vectors on several devices, and differentiated in every mode, mapped, and both. The same
script with `cpu` for all devices is the oracle.
Closes with `N passed, N failed`."""
import random
import sys

import harness
from elsewhere import against_host

DEVICES = ["cpu", "cuda:0", "cuda:1"]
FORMS = ["grad(f)(a)", "jvp(f)(a, b)", "vjp(f)(a, 0.5)", "value_and_grad(f)(a)", "vmap(f)(m)", "vmap(grad(f))(m)",
         "grad(|y| sum(vmap(f)(y)))(m)", "grad(|y| sum(grad(f)(y) * y))(a)", "jvp(|y| grad(f)(y))(a, b)", "vmap(|r| jvp(f)(r, b))(m)"]


class Script:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.wide = seed % 2 == 1  # with statements of more kinds
        self.looped = seed % 8 == 7  # called in a loop, with bare names as values of blocks, and a parameter that says no device
        # Where a parameter is: as its type says, and where the caller puts its argument.
        self.x, self.y = [(d, d) if self.r.random() < 0.5 else (v, d) for v, d in (("D", self.place()), ("E", self.place()))]
        self.form = self.r.choice(FORMS)
        self.counters, self.variables = [], []

    def place(self): return self.r.choice(DEVICES)

    def number(self, at, depth=0):
        """A number on that device, or free."""
        kind = self.r.random()
        if kind < 0.2: return "%.2f" % self.r.uniform(-1, 1)
        if kind < 0.5: return f"{self.vector(at, depth + 1)}[{self.index()}]"
        if kind < 0.65: return f"sum({self.vector(at, depth + 1)})"
        # Under `vmap` a number of the host is a tensor of one for each row.
        if kind < 0.8 or depth > 2: return f"sum({self.vector(at if 'vmap' in self.form else 'cpu', depth + 1)})" + (".to(cpu)" if self.r.random() < 0.3 and "vmap" not in self.form else "")
        return f"({self.number(at, depth + 1)} {self.r.choice('+*')} {self.number(at, depth + 1)})"

    def index(self): return self.r.choice(self.counters) if self.counters and self.r.random() < 0.7 else str(self.r.randrange(4))

    def vector(self, at, depth=0):
        kind = self.r.random()
        own = [v for v, place in self.variables if place == at]
        if own and kind < 0.35: return self.r.choice(own)
        if depth > 2 or kind < 0.5:
            name, (written, _) = self.r.choice([("x", self.x), ("y", self.y)])
            return name if written == at else f"{name}.to({at})"
        if kind < 0.6: return f"({self.vector(at, depth + 1)} * {self.number(at, depth + 1)})"
        if kind < 0.7: return f"tanh({self.vector(at, depth + 1)})"
        if kind < 0.76: return f"({self.vector(at, depth + 1)} ** 2)"
        if kind < 0.82: return f"({self.vector(self.anywhere(), depth + 1)}).to({at})"
        return f"({self.vector(at, depth + 1)} {self.r.choice('+-*')} {self.vector(at, depth + 1)})"

    def anywhere(self): return self.r.choice([self.x[0], self.y[0], "cpu"])

    def further(self, at, i):
        """A statement of another kind, which makes a vector or assigns to one."""
        kind = self.r.random()
        name, place = self.r.choice(self.variables)
        if kind < 0.6:
            made = f"w{i}"
            if kind < 0.25: value = f"scan(|c, e| (c * 0.5 + e, c * e), {self.vector(at)}[0], {self.vector(at)}).1"
            elif kind < 0.4: value = f"map(|e| tanh(e) * {self.number(at, 2)}, {self.vector(at)})"
            else: value = f"checkpoint(|z| tanh(z * {self.number(at, 2)}))({self.vector(at)})"
            self.variables.append((made, at))
            return f"var {made} = {value}"
        if kind < 0.7: return f"{name} *= reduce(|c, e| c * 0.5 + e, {self.vector(place)}[1], {self.vector(place)})"
        if kind < 0.85 and "vmap" not in self.form:
            least = self.r.choice(["-9.0", "0.0", "9.0"])
            update = f"{name}[{self.index()}] *= {self.number(place)}"
            return f"if sum({self.vector('cpu')}) > {least} {{ {name} = {self.vector(place)} }} else {{ {update} }}"
        return f"@{place} {{ {name} = {name} * {self.number(place, 2)} + tanh({self.r.choice(self.variables)[0]}) }}"

    def body(self, result):
        lines = []
        for i in range(self.r.randrange(3)):
            at = self.anywhere()
            lines.append(f"var v{i} = {self.vector(at)} * 0.5")
            self.variables.append((f"v{i}", at))
            for _ in range(self.r.randrange(3)):
                self.counters = ["i"] if self.r.random() < 0.4 else []
                name, place = self.r.choice(self.variables)
                update = f"{name}[{self.index()}] {self.r.choice(['=', '+=', '*='])} {self.number(place)}"
                if self.r.random() < 0.3: update = f"{name} {self.r.choice(['+=', '*='])} {self.vector(place)}"
                lines.append(f"for i in 0..3 {{ {update} }}" if self.counters else update)
                self.counters = []
            if self.wide: lines.append(self.further(at, i))
            if self.looped:
                to = self.anywhere()
                value = self.r.choice(["{n}", "if {n}[0] > 0.0 {{ {n} }} else {{ {n} * 2.0 }}", "{{ let h = |z| z * {n}; h({n}) }}", "({n}, 1).0"])
                if "vmap" in self.form and value.startswith("if"): value = "{n}"
                lines.append(f"var b{i} = @{to} {{ {value.format(n=self.r.choice(self.variables)[0])} }}")
                self.variables.append((f"b{i}", to))
        return lines + [f"tanh({self.vector(result)})"]

    def text(self):
        def numbers(n): return "[" + ", ".join("%.2f" % self.r.uniform(-1, 1) for _ in range(n)) + "]"
        listed = ", ".join(f"{v}: device" for v, _ in (self.x, self.y) if v in "DE")
        result = self.anywhere() if self.r.random() < 0.7 else self.place()
        body = self.body(result)
        home = {"D": self.x[1], "E": self.y[1]}.get(result, result)
        # A variable of devices takes other arguments in a second call.
        places = [(self.x[1], self.y[1], home)]
        if self.r.random() < 0.4:
            again = [self.place() if v in "DE" else d for v, d in (self.x, self.y)]
            places.append((*again, {"D": again[0], "E": again[1]}.get(result, result)))
        calls = [f"sum(g(r.to({x}), {self.r.choice(['r', '(r * 0.5)', 'tanh(r)'])}.to({y})){self.r.choice(['', ' ** 2', ' * 2.0'])}).to(cpu)"
                 for x, y, _ in places]
        at = self.r.choice(["", "", "@cuda:0 ", "@cuda:1 "])
        head = [f"{at}let a = {numbers(4)}", f"{at}let b = {numbers(4)}", f"{at}let m = [{numbers(4)}, {numbers(4)}]"]
        # On the host where the caller is, which is what a parameter without a device means there.
        bare = self.looped and self.y[0] == "cpu" and self.x[0] != "cpu"
        y = "y: f32[4]" if bare else f"y: f32[4] @{self.y[0]}"
        g = f"fn g{'[' + listed + ']' if listed else ''}(x: f32[4] @{self.x[0]}, {y}) -> f32[4] @{result} {{"
        f = f"let f = |r| {' + '.join(calls)}"
        if self.looped: f = f"let f = |r| {{ var s = 0.0.to(cpu); for i in 0..2 {{ s = s * 0.5 + {' + '.join(calls)} }}; s }}"
        return "\n".join([*head, g, *("    " + line for line in body), "}", f, f"print({self.form})"]) + "\n"


def case(a, seed):
    text = Script(seed).text()
    return against_host(a, text, alike=False), {f"calls{seed}.tl": text}


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, 100))
