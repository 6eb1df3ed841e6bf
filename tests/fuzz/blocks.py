#!/usr/bin/env python3
"""Derivatives and `vmap` of functions with `@device` blocks in each other: they give what they give on the host.

    python blocks.py --tenc PATH [--count 100] [--first 0] [--keep DIR]

A function of a vector and a number updates a variable `s` on another device, in blocks within blocks, loops and branches, with numbers
of the host and of loops' trips, calls, `checkpoint`, `custom_vjp`, `map`, `scan`, `reduce` and inner derivatives, each on a device of
its own. It is mapped, differentiated by the vector and by the number, and both in each other. The same script with `cpu` for all
devices is the oracle: it prints the same elements, or is refused for the same reason. Refusals that docs/devices.md and
docs/not-yet.md announce are accepted. Closes with `N passed, N failed`."""
import random
import sys

import harness
from elsewhere import against_host

DEVICES = ["cpu", "cuda:0", "cuda:1"]
DECLARED = """fn scaled[D: device](a: f32[3] @D, b: f32) -> f32[3] @D = tanh(a) * b + @D { ones([3]) * a }
fn stepped(a: f32[3], b: f32) -> f32[3] { var y = a; for i in 0..2 { if y[i] > 0.1 { y[i] = y[i] * b } else { y = y - a * f32(i) } }; y }
fn ruled(a: f32[3], b: f32[3]) -> f32[3] = custom_vjp(|a, b| a * sin(b), |a, b| (a * sin(b), (a, b)), |r, d| (d * sin(r.1), d * r.0 * cos(r.1)))(a, b)
"""
FORMS = ["map(|r| grad(f, wrt: (0, 1))(r, 0.7), X)", "vmap(|r| grad(f)(r, 0.7))(X)", "vmap(|r| grad(f, wrt: 1)(r, 0.7))(X)",
         "grad(|k| sum(grad(f)(X[0], k) * X[1]).to(cpu))(0.7)", "grad(|r| sum(grad(f)(r, 0.7) * r))(X[1])", "jvp(|k| grad(f)(X[0], k))(0.7, 1.0)",
         "grad(|k| sum(vmap(|r| f(r, k))(X)).to(cpu))(0.7)", "vmap(|r| jvp(f, wrt: (0, 1))(r, 0.7, (r, 1.0)))(X)",
         "grad(|q| sum(vmap(|r| f(r, 0.7))(q) ** 2))(X)", "jvp(|q| vmap(|r| f(r, 0.7))(q))(X, X)", "grad(checkpoint(f), wrt: (0, 1))(X[2], 0.7)"]


class Script:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.at, self.home = self.r.choice(DEVICES[1:]), self.r.choice(DEVICES)  # of the argument, and of `s`
        self.vectors, self.counters, self.fresh, self.lines = ["x", "s"], [], 0, []

    def name(self, letter):
        self.fresh += 1
        return f"{letter}{self.fresh}"

    def constant(self): return self.r.choice(["0.5", "0.7", "1.25", "-0.4"])

    def number(self, at):
        """Free, or on that device."""
        v = self.r.choice(["k", "k", self.constant(), *[f"f32({i})" for i in self.counters for _ in range(2)]])
        return v if v[0] in "-0123456789" or self.r.random() < 0.5 else f"{v}.to({at})"

    def vector(self, at, inside, depth=2):
        """On `at`; `inside` a block of that device what is named enters."""
        part = lambda: self.vector(at, inside, depth - 1)
        kind = self.r.random()
        if depth == 0 or kind < 0.2:
            v = self.r.choice(self.vectors)
            return v if inside == at and self.r.random() < 0.85 else f"{v}.to({at})"
        if kind < 0.42: return f"({part()} {self.r.choice('*+')} {self.number(at)})"
        if kind < 0.58: return f"({part()} {self.r.choice('*+')} {part()})"
        if kind < 0.64: return f"tanh({part()})"
        other, n = self.r.choice(DEVICES), self.name("r")
        if kind < 0.70: return f"(@{other} {{ {self.vector(other, other, depth - 1)} }}).to({at})"
        if kind < 0.76: return f"{self.r.choice(['scaled', 'stepped'])}({part()}, {self.number(at)})"
        if kind < 0.79: return f"ruled({part()}, {part()})"
        if kind < 0.84: return f"checkpoint(|{n}| {n} * {self.number(at)})({part()})"
        if kind < 0.87: return f"grad(|{n}| sum(tanh({n}) * {self.vector(at, None, 1)}))({part()})"
        if kind < 0.90: return f"jvp(|{n}| sin({n} * {self.number(at)}))({part()}, {part()}).1"
        if kind < 0.93: return f"sum(map(|{n}| (@{other} {{ {self.vector(other, other, 1)} * {n} }}).to({at}), [0.5, 1.5].to({at})), axis: 0)"
        if kind < 0.97: return f"reduce(|{n}, q| @{at} {{ {n} * q + {self.vector(at, at, 1)} }}, {self.vector(at, None, 0)}, [0.5, 1.5].to({at}))"
        return f"scan(|{n}, q| (@{at} {{ {n} * q * {self.number(at)} }}, sum({n})), {self.vector(at, None, 0)}, [0.5, 1.5].to({at})).0"

    def condition(self):
        v, d = self.r.choice(self.vectors), self.r.choice(DEVICES)
        if self.counters and self.r.random() < 0.15: return f"{self.r.choice(self.counters)} % 2 == 0"
        return self.r.choice([f"sum({v}.to({d})) > {self.constant()}", f"({v}.to({d}))[0] > {self.constant()}", f"k > {self.constant()}"])

    def statements(self, depth, inside, count, indent):
        known = len(self.vectors)
        for _ in range(count):
            kind = self.r.random()
            if depth == 0 or kind < 0.3:
                bare = inside is None and self.r.random() < 0.5
                self.emit(indent, f"s = {self.vector(self.home, None)}" if bare else f"@{self.home} {{ s = {self.vector(self.home, self.home)} }}")
            elif kind < 0.38:
                self.emit(indent, f"@{self.home} {{ s[{self.r.randrange(3)}] *= {self.number(self.home)} }}")
            elif kind < 0.5:
                d, z = self.r.choice(DEVICES), self.name("z")
                self.emit(indent, f"let {z} = @{d} {{ {self.vector(d, d)} }}")
                self.vectors.append(z)
            elif kind < 0.65:
                d = self.r.choice(DEVICES)
                self.block(indent, f"@{d}", depth, d)
            elif kind < 0.8 and inside in (None, self.home):
                i = self.name("i")
                self.counters.append(i)
                self.block(indent, f"for {i} in 0..2", depth, inside)
                self.counters.pop()
            elif inside in (None, self.home):
                self.block(indent, f"if {self.condition()}", depth, inside)
        del self.vectors[known:]

    def block(self, indent, head, depth, inside):
        self.emit(indent, head + " {")
        self.statements(depth - 1, inside, self.r.choice([1, 2]), indent + 1)
        self.emit(indent, "}")

    def emit(self, indent, text): self.lines.append("    " * indent + text)

    def text(self):
        self.statements(3, None, self.r.choice([1, 2, 3]), 1)
        head = f"fn f(x: f32[3] @{self.at}, k: f32) -> f32 @{self.home} {{\n    var s = x.to({self.home})\n"
        rows = f"let X = stack(([0.5, -0.25, 0.8], [0.3, 0.9, -0.6], [-0.73, 0.22, 0.17])).to({self.at})\n"
        return DECLARED + head + "\n".join(self.lines) + "\n    sum(s * s)\n}\n" + rows + f"print({self.r.choice(FORMS)})\n"


def case(a, seed):
    text = Script(seed).text()
    rows = "vmap" in text.splitlines()[-1]
    return against_host(a, text, lambda codes: rows and set(codes) <= {"E0301", "E0302", "E0303"}), {"there.tl": text}


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, 100))
