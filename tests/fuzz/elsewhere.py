#!/usr/bin/env python3
"""Derivatives and `vmap` of random functions on other devices: they give what they give on the host.

    python elsewhere.py --tenc PATH [--count 100] [--first 0] [--keep DIR]

A function of a vector on a device updates variables in loops, branches and `@device` blocks, with values that it
captures there, on the host and as free numbers; a variable `h` of the host is read and assigned in the blocks. It is
differentiated in every mode, mapped, and both. The same script with `cpu` for the device is the oracle: it prints the
same elements, and is refused for the same reason where it is (a variable of the host that derivatives do not go
through). Closes with `N passed, N failed`."""
import random
import re
import sys
import tempfile

import harness

FORMS = ["grad(f)(d)", "grad(|w| sum(vmap(f)(w)))(w)", "vmap(|r| grad(f)(r))(w)", "jvp(f)(d, m[0])", "vmap(f)(w)", "value_and_grad(f)(d)",
         "vjp(f)(d, 0.5)", "jvp(|x| grad(f)(x))(d, m[2])", "grad(|d| f(d) + sum(vmap(f)(w)))(d)", "vmap(|r| jvp(f)(r, d))(w)"]
# Derivatives by a number of the host, which mixes with tensors of any device.
NUMBERS = ["jvp(|t| f(d + t))(0.25, 1.0)", "jvp(|t| f(concat((d[0:1], d[1:] - t))))(0.25, 1.0)", "jvp(|t| f(d) - t)(0.25, 1.0)",
           "grad(|t| f(d * t))(0.5)", "jvp(|t| grad(|u| f(d - u + t))(0.5))(0.25, 1.0)",
           "vmap(|r| grad(|t| f(r * t))(0.5))(w)", "grad(|t| sum(vmap(|r| f(r - t))(w)))(0.5)"]


class Script:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.device = self.r.choice(["cuda:0", "cuda:1"])
        self.host = self.r.random() < 0.4
        self.lines, self.depth, self.counters, self.variables, self.fresh, self.inside = [], 1, [], ["q"], 0, False

    def emit(self, text): self.lines.append("    " * self.depth + text)

    def number(self, depth=0):
        kind = self.r.random()
        if depth > 2 or kind < 0.3: return f"{self.r.choice(self.variables)}[{self.index()}]"
        if kind < 0.4: return f"d[{self.index()}]"
        if kind < 0.5: return f"e[{self.index()}].to({self.device})"
        if kind < 0.6: return f"c * {self.number(depth + 1)}"
        if kind < 0.7 and self.counters: return f"f32({self.r.choice(self.counters)})"
        if kind < 0.8: return f"tanh({self.number(depth + 1)})"
        if kind < 0.9: return f"sum({self.vector(depth + 1)})"
        return f"({self.number(depth + 1)} {self.r.choice('+-*')} {self.number(depth + 1)})"

    def index(self): return self.r.choice(self.counters) if self.counters and self.r.random() < 0.6 else str(self.r.randrange(3))

    def vector(self, depth=0):
        kind = self.r.random()
        if depth > 2 or kind < 0.35: return self.r.choice(self.variables)
        if kind < 0.4 and self.host: return "h" if self.inside else f"h.to({self.device})"
        if kind < 0.45: return "d"
        if kind < 0.55: return f"e.to({self.device})"
        if kind < 0.65: return f"tanh({self.vector(depth + 1)})"
        if kind < 0.72: return f"where({self.vector(depth + 1)} > {self.number(depth + 1)}, {self.vector(depth + 1)}, {self.vector(depth + 1)})"
        if kind < 0.8: return f"({self.vector(depth + 1)} * {self.number(depth + 1)})"
        if kind < 0.86: return f"m[{self.index()}]"
        if kind < 0.9: return f"(m @ {self.vector(depth + 1)})"
        if kind < 0.93: return f"cumsum({self.vector(depth + 1)}, axis: 0)"
        if kind < 0.96: return f"broadcast_to({self.number(depth + 1)}, [3]).to({self.device})"
        return f"({self.vector(depth + 1)} {self.r.choice('+-*')} {self.vector(depth + 1)})"

    def statement(self, nesting):
        kind, v = self.r.random(), self.r.choice(self.variables)
        if self.host and self.r.random() < 0.15: return self.emit(f"h = tanh({self.vector()}).to(cpu)" if self.inside else "h = tanh(h + e)")
        if kind < 0.35: return self.emit(f"{v}[{self.index()}] {self.r.choice(['+=', '=', '*=', '-='])} {self.number()}")
        if kind < 0.5: return self.emit(f"{v} {self.r.choice(['+=', '=', '*='])} {self.vector()}")
        self.fresh += 1
        if kind < 0.58:
            self.emit(f"let t{self.fresh} = {self.vector()}")
            return self.emit(f"{v} = tanh({v} + t{self.fresh})")
        if nesting >= 3: return self.emit(f"{v} = tanh({v})")
        if kind < 0.78:
            counter = f"i{self.fresh}"
            self.counters.append(counter)
            self.block(f"for {counter} in 0..{self.r.randrange(1, 4)} {{", nesting)
            self.counters.pop()
        elif kind < 0.9:
            outer, self.inside = self.inside, True
            self.block(f"@{self.device} {{", nesting)
            self.inside = outer
        else:
            conditions = ["e[0] > 0.5", "e[1] > 0.0"] + ([f"{self.counters[-1]} % 2 == 0"] * 3 if self.counters else [])
            self.block(f"if {'b' if self.inside else self.r.choice(conditions)} {{", nesting)
            if self.r.random() < 0.5:
                self.lines.pop()
                self.block("} else {", nesting)

    def block(self, head, nesting):
        self.emit(head)
        self.depth += 1
        for _ in range(self.r.randrange(1, 4)): self.statement(nesting + 1)
        self.depth -= 1
        self.emit("}")

    def text(self):
        def numbers(n): return "[" + ", ".join("%.2f" % self.r.uniform(-1, 1) for _ in range(n)) + "]"
        at = f"@{self.device} "
        head = [f"{at}let w = [{numbers(3)}, {numbers(3)}]", f"{at}let d = {numbers(3)}", f"let e = {numbers(3)}",
                f"{at}let m = [{numbers(3)}, {numbers(3)}, {numbers(3)}]", f"let c = sum({numbers(2)})", "let b = c > 0.0", "let f = |r| {"]
        self.emit("var q = tanh(r)")
        if self.host: self.emit("var h = tanh(r * 0.5).to(cpu)")
        if two := self.r.random() < 0.4:
            self.emit("var p = d")
            self.variables.append("p")
        for _ in range(self.r.randrange(1, 5)): self.statement(0)
        if self.host: self.emit(f"q += h.to({self.device})")
        self.emit("q = tanh(q + tanh(d))" + ("; q += tanh(p)" if two else ""))
        return "\n".join([*head, *self.lines, "    sum(q * q)", "}", f"print({self.r.choice(FORMS)}, {self.r.choice(NUMBERS)})"]) + "\n"


def elements(text):
    text = re.sub(r"\w+(\[[\d, ]*\])? @[\w:]+", " ", text)  # the types
    return [float(x) for x in re.findall(r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf)|nan", text)]


def near(a, b): return a == b or (a != a and b != b) or abs(a - b) <= 2e-5 * max(abs(a), abs(b), 1e-2)


def against_host(a, text, announced=lambda codes: False, alike=True):
    """What is wrong where `text` runs on virtual devices, against the same with `cpu` for all of them. `alike`: both may be refused for
    the same reason; `announced`: for which ones the devices alone may."""
    with tempfile.TemporaryDirectory() as folder:
        there, problem = harness.run(a, folder, {"there.tl": text}, ["--virtual", "cuda=2", "--transfers", "allow"])
        here, other = harness.run(a, folder, {"here.tl": re.sub(r"cuda:\d", "cpu", text)}, ["--transfers", "allow"])
    if problem or other:
        codes = [re.findall(r"error\[(E\d+)\]", p or "") for p in (problem, other)]
        accepted = codes[0] and "internal error" not in problem and ((alike and codes[0] == codes[1]) or (not other and announced(codes[0])))
        return None if accepted else f"there {problem}, here {other}"
    x, y = elements(there), elements(here)
    return None if len(x) == len(y) > 0 and all(map(near, x, y)) else f"there {there}, here {here}"


def case(a, seed):
    text = Script(seed).text()
    return against_host(a, text), {"there.tl": text}


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, 100))
