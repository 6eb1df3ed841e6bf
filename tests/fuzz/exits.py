#!/usr/bin/env python3
"""Random control flow against Python: `return`, `break` and `continue` in nested branches, loops, operands and long rows,
conditions that assign variables, the same under `vmap`.

    python exits.py --tenc PATH [--count 60] [--first 0] [--keep DIR]

Each program holds some functions of one integer, on rank-0 values or on vectors, written in TL and in Python at once.
The other random programs compare engines, which share the lowering of control flow; here Python says what is right.
Closes with `N passed, N failed`."""
import random
import re
import sys
import tempfile

import numpy as np

import harness

FUNCTIONS, ARGUMENTS = 8, range(-2, 9)


def walrus(block):
    """`{ x = 1; c }` as an expression of Python."""
    *assigned, value = block[1].strip().split("; ")
    return "(" + ", ".join(f"({a.replace(' = ', ' := ', 1)})" for a in assigned) + f", {value})[-1]"


class Function:
    """One function: `tl` and `py` are its lines in either language."""

    def __init__(self, r, name, vector):
        self.r, self.vector, self.count, self.tl, self.py, self.returns = r, vector, 0, [], [], True
        start = "arange(3) * a + 1" if vector else "a + 1"
        self.tl.append(f"fn {name}(a: i64) -> {'i64[3]' if vector else 'i64'} {{")
        self.py += [f"def {name}(a):", f"    {self.python(f'x, y = {start}, {start}')}"]
        self.tl += [f"    var x = {start}", f"    var y = {start}"]
        self.names = ["x", "y"]
        self.block(1, 0, False)
        self.both(1, "return x - y" if vector else "return x * 100 + y")
        self.tl.append("}")

    def python(self, text):
        return re.sub(r"\{([^{}]*)\}", walrus, text.replace("arange(", "np.arange(").replace("sum(", "np.sum("))
    def both(self, depth, text):
        self.tl.append("    " * depth + text)
        self.py.append("    " * depth + self.python(text))

    def value(self):
        v, w, r = self.r.choice(self.names), self.r.choice(self.names), self.r
        return r.choice([v, f"{v} + {r.randint(1, 5)}", f"({v} * {r.randint(2, 4)} + {w}) % 61", f"{v} - {w}", f"{v} + a"])
    def condition(self):
        """Some assign a variable on the way, on the right of `and` and `or` only where that is evaluated."""
        r, plain = self.r, self.comparison()
        if r.random() < 0.75: return plain
        block = f"{{ {r.choice(['x', 'y'])} = ({self.value()}) % 97; {self.comparison()} }}"
        return r.choice([block, f"{plain} {r.choice(['and', 'or'])} {block}"])

    def comparison(self):
        v, r = self.r.choice(self.names), self.r
        return r.choice([f"sum({v}) % {r.randint(2, 4)} == {r.randint(0, 1)}", f"sum({v}) > {r.randint(-5, 60)}", f"a < {r.randint(0, 6)}"])

    def leave(self, depth, loop):
        kind = self.r.choice(["return"] * self.returns + ["break", "continue"] * loop)
        self.both(depth, f"return {self.value()}" if kind == "return" else kind)

    def block(self, depth, level, loop, most=4):
        """Statements; true when the last of them leaves."""
        r = self.r
        known = len(self.names)
        for _ in range(r.randint(1, most)):
            kinds = ["assign", "assign", "if", "if", "let", "operand"] + (["for", "while"] if level < 3 else [])
            kind = r.choice(kinds if level < 4 else ["assign"])
            if level < 2 and (loop or self.returns) and r.random() < 0.02: kind = "row"
            if kind == "assign": self.both(depth, f"{r.choice(['x', 'y'])} = ({self.value()}) % 97")
            elif kind == "if": self.branches(depth, level, loop, None)
            elif kind == "row": self.row(depth, loop)
            elif kind == "let":
                name = f"c{self.count}"
                self.count += 1
                self.tl.append("    " * depth + f"let {name} =")
                self.branches(depth, level, loop, name)
                self.names.append(name)
            elif kind == "operand":
                name = f"o{self.count}"
                self.count += 1
                start, updates = len(self.tl), r.random() < 0.5
                if updates: self.py.append("    " * depth + (f"k{name} = np.sum(x) % 3; {name}_ = y[k{name}]" if self.vector else f"{name}_ = y"))
                self.branches(depth, level, loop, name)
                if updates:  # the target, with its index, is read before the value, which may change both, or leave
                    self.tl[start] = "    " * depth + ("y[sum(x) % 3] += sum({ " if self.vector else "y += ({ ") + self.tl[start].strip()
                    self.tl[-1] += " }) % 97"
                    self.py.append("    " * depth + (f"y = y.copy(); y[k{name}] = {name}_ + np.sum({name}) % 97" if self.vector else f"y = {name}_ + {name} % 97"))
                else:
                    self.tl[start] = "    " * depth + f"y = (3 * {{ {self.tl[start].strip()}"  # within i64 in loops too
                    self.tl[-1] += " } + 1) % 997"
                    self.py.append("    " * depth + f"y = (3 * {name} + 1) % 997")
            else: self.loop(depth, level, kind)
        if level and r.random() < 0.35:
            self.leave(depth, loop)
            del self.names[known:]
            return True
        del self.names[known:]
        return False

    def branches(self, depth, level, loop, name):
        """An `if`; with a name its value is bound to it."""
        tests = self.r.randint(1, 2)
        for i in range(tests):
            c = self.condition()
            opening = f"if {c} {{" if i == 0 else f"}} else if {c} {{"
            if i == 0 and name and self.tl[-1].endswith("="): self.tl[-1] += " " + opening
            elif i == 0: self.tl.append("    " * depth + opening)
            else: self.tl.append("    " * depth + opening)
            self.py.append("    " * depth + self.python(f"{'el' if i else ''}if {c}:"))
            self.arm(depth, level, loop, name)
        if name or self.r.random() < 0.5:
            self.tl.append("    " * depth + "} else {")
            self.py.append("    " * depth + "else:")
            # One arm at least has a value.
            self.arm(depth, level, loop, name, stays=True)
        self.tl.append("    " * depth + "}")

    def row(self, depth, loop):
        """Statements in a row, or trips of a loop that is unrolled, that may leave: more than are compiled one inside the other."""
        r = self.r
        if r.random() < 0.4:
            i, n = f"i{self.count}", r.randint(1, 70)
            self.count += 1
            self.tl.append("    " * depth + f"for {i} in static 0..{n} {{")
            self.py.append("    " * depth + f"for {i} in range({n}):")
            known = len(self.names)
            if not self.vector: self.names.append(i)
            self.tests(depth + 1, r.randint(1, 2), True)
            del self.names[known:]
            self.tl.append("    " * depth + "}")
        else: self.tests(depth, r.randint(30, 90), loop)

    def tests(self, depth, count, loop):
        r = self.r
        for _ in range(count):
            if r.random() < 0.3: self.both(depth, f"{r.choice(['x', 'y'])} = ({self.value()}) % 97")
            c = f"sum({r.choice(self.names)}) % {r.randint(40, 90)} == {r.randint(0, 39)}"
            self.tl.append("    " * depth + f"if {c} {{")
            self.py.append("    " * depth + self.python(f"if {c}:"))
            self.leave(depth + 1, loop)
            self.tl.append("    " * depth + "}")

    def arm(self, depth, level, loop, name, stays=False):
        if name and stays: left = False
        else: left = self.block(depth + 1, level + 1, loop, 2)
        if name and not left:
            v = self.value()
            self.tl.append("    " * (depth + 1) + v)
            self.py.append("    " * (depth + 1) + f"{name} = {self.python(v)}")

    def loop(self, depth, level, kind):
        r, i = self.r, f"i{self.count}"
        self.count += 1
        if kind == "for":
            n = r.randint(1, 4)
            self.tl.append("    " * depth + f"for {i} in 0..{n} {{")
            self.py.append("    " * depth + f"for {i} in range({n}):")
        else:
            n = r.randint(1, 4)
            self.both(depth, "x = x % 53")
            c, step = f"{i} < {n}", [f"{i} += 1"]
            if r.random() < 0.4: c, step = f"{{ {i} = {i} + 1; {r.choice(['x', 'y'])} = ({self.value()}) % 97; {i} <= {n} }}", []
            self.tl += ["    " * depth + f"var {i} = 0", "    " * depth + f"while {c} {{"]
            self.py += ["    " * depth + f"{i} = 0", "    " * depth + f"while {self.python(c)}:"]
            for line in step: self.both(depth + 1, line)
        self.block(depth + 1, level + 1, True, 3)
        self.tl.append("    " * depth + "}")


class Script(Function):
    """A loop of the script itself, which `break` and `continue` leave; what it prints is what it leaves behind."""

    def __init__(self, r, name):
        self.r, self.vector, self.count, self.tl, self.py = r, False, 0, [], []
        self.names, self.returns = ["x", "y"], False
        self.tl += [f"var {name} = 3", f"for a in {ARGUMENTS.start}..{ARGUMENTS.stop} {{", "    var x = a + 1", f"    var y = {name} + 1"]
        self.py += [f"def {name}():", f"    {name} = 3", "    said = []", f"    for a in range({ARGUMENTS.start}, {ARGUMENTS.stop}):", "        x, y = a + 1, " + f"{name} + 1"]
        self.block(1, 0, True)
        self.tl += [f"    {name} = ({name} * 3 + x - y) % 997", f'    print("{{{name}}}")', "}", f'print("{{{name}}}")']
        # Python's body lies one level deeper, in the loop.
        head = self.py[:5]
        self.py = head + ["    " + l for l in self.py[5:]]
        self.py += [f"        {name} = ({name} * 3 + x - y) % 997", f"        said.append({name})", f"    return said + [{name}]"]


def program(seed):
    r = random.Random(seed)
    functions = [Function(r, f"f{i}", r.random() < 0.3) for i in range(FUNCTIONS)]
    scripts = [Script(r, f"s{i}") for i in range(3)]
    tl = [line for f in functions for line in f.tl]
    py = [line for f in functions + scripts for line in f.py]
    for i in range(FUNCTIONS): tl.append(f'for a in {ARGUMENTS.start}..{ARGUMENTS.stop} {{ print("{{f{i}(a)}}") }}')
    for i in range(FUNCTIONS):
        tl += [f"let all{i} = vmap(f{i})(arange({ARGUMENTS.start}, {ARGUMENTS.stop}))", f'for row in all{i} {{ print("{{row}}") }}']
    tl += [line for s in scripts for line in s.tl]
    return "\n".join(tl) + "\n", "\n".join(py) + "\n"


def text(v): return "[" + " ".join(map(str, v)) + "]" if hasattr(v, "shape") and v.shape else str(int(v))


def case(a, seed):
    tl, py = program(seed)
    files = {f"exits{seed}.tl": tl, f"exits{seed}.py": py}
    names = {"np": np}
    exec(py, names)
    want = [" ".join(text(names[f"f{i}"](v)).split()) for i in range(FUNCTIONS) for v in ARGUMENTS] * 2
    calls = len(want)
    want += [str(v) for i in range(3) for v in names[f"s{i}"]()]
    for flags in ([], ["--engine=interp"], ["--no-fuse"])[: 3 if seed % 4 == 0 else 1]:
        with tempfile.TemporaryDirectory() as d: printed, problem = harness.run(a, d, files, flags)
        if problem: return problem, files
        got = [" ".join(l.split()).replace("[ ", "[") for l in printed.splitlines() if "@" not in l]
        if got == want: continue
        k = next((k for k, (x, y) in enumerate(zip(got, want)) if x != y), 0)
        where = f"line {k - calls} of the loops" if k >= calls else (f"{'vmap of ' if k >= calls // 2 else ''}"
                f"f{k // len(ARGUMENTS) % FUNCTIONS}({ARGUMENTS[k % len(ARGUMENTS)]})")
        return f"{where} is {want[k]}, not {got[k:k + 1]} {' '.join(flags)}", files
    return None, files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=60))
