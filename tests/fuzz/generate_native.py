"""Random loops over single elements: what native loops are made of. A program is one function `f` of arrays that are loaded, so
that the compiler knows nothing of what they hold, and saves the scalars and arrays that `f` gives."""
import random

import numpy as np

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f32", "f64"]
NUMPY = {t: np.dtype(t.replace("i", "int").replace("u", "uint").replace("f", "float")) for t in INTS + FLOATS + ["bool"]}
COMPARE = ["<", "<=", ">", ">=", "==", "!="]


class NativeProgram:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.lines, self.count = [], 0
        self.risk = r.choice([0, 0.02, 0.1, 0.3])  # how many indices and divisors may be anything
        self.types = ["i64", *r.sample(INTS, 2), *r.sample(FLOATS, 1)]
        self.arrays, self.inputs = {}, {}  # name -> (dtype, shape)
        self.scalars = []  # in scope: (name, dtype, whether it may be assigned)
        self.loops = 0     # around what is written
        self.work = 1      # trips of the loops around, at most
        self.build()

    # What is loaded.
    def data(self, dtype, shape):
        r, n = self.r, int(np.prod(shape))
        if dtype == "bool": values = [r.random() < 0.5 for _ in range(n)]
        elif dtype in FLOATS:
            odd = r.choice([0, 0, 0.1, 0.5])
            special = [float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 1e-45 if dtype == "f32" else 5e-324, 3e38]
            values = [r.choice(special) if r.random() < odd else r.choice([r.uniform(-9, 9), r.randint(-4, 4)]) for _ in range(n)]
        else:
            info = np.iinfo(NUMPY[dtype])
            edge = r.choice([0, 0, 0.1, 0.4])
            small = r.choice([3, 9, 100])
            values = [r.choice([info.min, info.max, info.max - 1, info.max // 2]) if r.random() < edge
                      else r.randint(max(info.min, -small if r.random() < 0.3 else 0), small) for _ in range(n)]
        return np.array(values, dtype=NUMPY[dtype]).reshape(shape)

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def put(self, text): self.lines.append("    " * self.depth + text)

    # Expressions.
    def literal(self, t):
        r = self.r
        if t == "bool": return r.choice(["true", "false"])
        if t in FLOATS: return f"{t}({r.choice(['0.0', '-0.0', '1.0', '0.5', '-2.0', '3.25', 'nan', 'inf', '1e30'])})"
        info = np.iinfo(NUMPY[t])
        near = r.choice([0, 1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 63, 100])
        v = r.choice([near, near, near, near, -near, info.max, info.min, info.max - near])
        v = max(info.min, min(info.max, v))
        # The least i64 has no literal.
        if v == -2**63: v += 1
        return f"{t}({v})"

    def known(self, t): return [n for n, of, _ in self.scalars if of == t]

    def leaf(self, t):
        """Never a literal, which might make a constant fault."""
        r, names = self.r, self.known(t)
        c = r.random()
        if names and c < 0.6: return r.choice(names)
        arrays = [n for n, (of, _) in self.arrays.items() if of == t]
        if arrays and c < 0.85: return self.element(r.choice(arrays))
        if names: return r.choice(names)
        if arrays: return self.element(r.choice(arrays))
        other = r.choice([n for n, of, _ in self.scalars if of != "bool"] or ["z[0]"])
        return f"{other} > {r.randint(0, 3)}" if t == "bool" else f"{t}({other})"

    def element(self, name):
        _, shape = self.arrays[name]
        at = ", ".join(self.index(n) for n in shape)
        if len(shape) == 2 and self.r.random() < 0.2:
            i, j = self.index(shape[0]), self.index(shape[1])
            return self.r.choice([f"{name}[{i}][{j}]", f"{name}.T[{j}, {i}]"])
        return f"{name}[{at}]"

    def index(self, n, depth=1):
        r = self.r
        v = r.choice(self.known("i64") or ["z[0]"])
        if r.random() < self.risk:
            return r.choice([v, f"{v} + {r.randint(-3, 3)}", f"{r.choice([2, -1, 3])} * {v} + {r.randint(-3, n)}", f"abs({v}) // {r.choice([2, 3])}",
                             f"{v} - {r.choice(self.known('i64') or ['z[1]'])}", r.choice([s for t in INTS for s in self.known(t)] or ["z[2]"])])
        inside = [v for v, (lo, hi) in self.within.items() if 0 <= lo and hi < n]
        if inside and r.random() < 0.55:
            i = r.choice(inside)
            lo, hi = self.within[i]
            return r.choice([i, i, f"{i} + {r.randint(r.choice([-lo, -lo, -n - lo]), n - 1 - hi)}", f"{n - 1} - {i}"])
        e = self.value("i64", depth) if depth and r.random() < 0.4 else v
        others = [s for t in INTS if t != "i64" for s in self.known(t)]
        if others and r.random() < 0.15:
            i = r.choice(others)
            t = next(t for s, t, _ in self.scalars if s == i)
            return r.choice([f"i64({i}) % {n}", f"{i} % {t}({n})", f"min({i}, {t}({n - 1}))" if t[0] == "u" else f"max(min({i}, {t}({n - 1})), {t}(0))"])
        held = [a for a, most in self.held.items() if most < n]
        if held and r.random() < 0.4:
            a = r.choice(held)
            return f"{a}[({e}) % {self.arrays[a][1][0]}]"
        return r.choice([f"({e}) % {n}", f"({e}) % {n}", f"max(min({e}, {n - 1}), 0)", f"max(min({e}, {n - 1}), {-n})", f"({e}) % {n} - {n}",
                         f"bitwise_and({e}, {2 ** (n.bit_length() - 1) - 1})", f"abs(({e}) % {2 * n - 1} - {n - 1})"])

    def divisor(self, t):
        r, v = self.r, self.leaf(t)
        if r.random() < self.risk: return v
        info = np.iinfo(NUMPY[t])
        c = r.random()
        if c < 0.5: return f"{t}({r.choice([1, 2, 3, 4, 7, 8, 10, 64, 100] + ([-1, -2, -3] if info.min < 0 else []))})"
        if c < 0.75: return f"max({v}, {t}(1))"
        return f"(abs({v} % {t}(5)) + {t}(1))" if info.min < 0 else f"({v} % {t}(5) + {t}(1))"

    def value(self, t, depth=2):
        r = self.r
        if t == "bool": return self.condition(depth)
        if depth <= 0 or r.random() < 0.25: return self.leaf(t)
        a = self.value(t, depth - 1)
        b = self.literal(t) if r.random() < 0.3 else self.value(t, depth - 1)
        c = r.random()
        if c < 0.4: return f"({a} {r.choice('+-*')} {b})"
        if c < 0.52: return f"{r.choice(['max', 'min'])}({a}, {b})"
        if c < 0.6: return f"(if {self.condition(depth - 1)} {{ {a} }} else {{ {b} }})"
        if c < 0.7:
            source = r.choice(self.types)
            return f"{t}({self.value(source, depth - 1)})"
        if c < 0.74: return f"abs({a})"
        if t in FLOATS:
            if c < 0.84: return f"({a} / {b})"
            if c < 0.9: return r.choice([f"sqrt({a})", f"floor({a})", f"trunc({a})", f"(-{a})", f"square({a})", f"copysign({a}, {b})", f"sign({a})"])
            return f"({a} {r.choice(['//', '%'])} {b})" if c < 0.94 else f"({a} + {b} * {self.leaf(t)})"
        if c < 0.86: return f"({a} {r.choice(['//', '%'])} {self.divisor(t)})"
        if c < 0.96: return r.choice([f"bitwise_{o}({a}, {b})" for o in ("and", "or", "xor")] + [f"bitwise_invert({a})", f"popcount({a})"])
        return f"bitwise_{r.choice(['left', 'right'])}_shift({a}, {t}({r.choice([0, 1, 3, 7, 31, 63, 70])}))"

    def comparison(self, depth):
        t = self.r.choice(self.types)
        b = self.literal(t) if self.r.random() < 0.4 else self.value(t, depth - 1)
        return f"{self.value(t, depth - 1)} {self.r.choice(COMPARE)} {b}"

    def condition(self, depth):
        r = self.r
        c = r.random()
        if depth <= 0 or c < 0.6: return f"({self.comparison(min(depth, 1))})"
        if c < 0.7: return f"(not {self.condition(depth - 1)})"
        if c < 0.9: return f"({self.condition(depth - 1)} {r.choice(['and', 'or'])} {self.condition(depth - 1)})"
        floats = [n for n, of, _ in self.scalars if of in FLOATS]
        if floats and c < 0.95: return f"isnan({r.choice(floats)})"
        return f"({self.leaf('bool')})" if self.known("bool") else f"({self.comparison(1)})"

    # Statements.
    def block(self, most, leaving=True):
        """Statements one level deeper; what they declare ends with them."""
        self.depth += 1
        scope, arrays, held, within = list(self.scalars), dict(self.arrays), dict(self.held), dict(self.within)
        for _ in range(self.r.randint(1, most)): self.statement()
        if leaving and self.loops and self.r.random() < 0.12: self.put(self.r.choice(["break", "continue"]))
        self.scalars, self.arrays, self.held, self.within = scope, arrays, held, within
        self.depth -= 1

    def statement(self):
        r = self.r
        kinds = ["assign"] * 5 + ["write"] * 4 + ["if"] * 3 + ["let"] * 2 + ["swap", "leave", "cell", "walk"]
        if self.loops < 3 and self.work <= 300: kinds += ["loop"] * 3 + ["until"] * 2 + ["rows", "rows", *["columns"] * (3 if self.tables() else 0), "search", "record", "count", "steps", "fill", "local"]
        if self.work <= 20: kinds += ["triangle", "triangle"]
        getattr(self, r.choice(kinds) + "_statement")()

    def assign_statement(self):
        r = self.r
        name, t, _ = r.choice([s for s in self.scalars if s[2]])
        if t == "bool": return self.put(f"{name} = {self.condition(2)}")
        if r.random() < 0.35: return self.put(f"{name} {r.choice(['+=', '-=', '*='])} {self.value(t)}")
        if r.random() < 0.3: return self.put(f"{name} = {r.choice(['max', 'min'])}({name}, {self.value(t)})")
        self.put(f"{name} = {self.value(t, 3)}")

    def updated(self):
        """Arrays that anything may be written into."""
        return [n for n in self.arrays if n[0] in "qw" and n not in self.held]

    def write_statement(self):
        r = self.r
        name = r.choice(self.updated())
        t, shape = self.arrays[name]
        at = ", ".join(self.index(n) for n in shape)
        if t == "bool": return self.put(f"{name}[{at}] = {self.condition(2)}")
        self.put(f"{name}[{at}] {r.choice(['=', '=', '=', '+=', '-='])} {self.value(t)}")

    def cell_statement(self):
        """What an array of places holds is known."""
        if not self.held: return self.write_statement()
        a = self.r.choice(list(self.held))
        self.put(f"{a}[{self.index(self.arrays[a][1][0])}] = ({self.value('i64', 1)}) % {self.held[a] + 1}")

    def let_statement(self):
        t = self.r.choice(self.types + ["bool"])
        name = self.name("k")
        self.put(f"{self.r.choice(['let', 'let', 'var'])} {name} = {self.value(t)}")
        if self.lines[-1].lstrip().startswith("var"): self.scalars.append((name, t, True))
        else: self.scalars.append((name, t, False))

    def if_statement(self):
        r = self.r
        self.put(f"if {self.condition(2)} {{")
        self.block(2)
        if r.random() < 0.4:
            self.put("} else {")
            self.block(2)
        self.put("}")

    def leave_statement(self):
        if not self.loops: return self.assign_statement()
        leave = "return " + self.results if self.r.random() < 0.1 else self.r.choice(["break", "continue"])
        self.put(f"if {self.condition(2)} {{ {leave} }}")

    def record_statement(self):
        """The place of the least or the greatest so far."""
        names = [n for n in self.arrays if self.arrays[n][0] != "bool" and len(self.arrays[n][1]) == 1]
        a = self.r.choice(names)
        n = self.arrays[a][1][0]
        k, i = self.name("k"), self.name("j")
        self.put(f"var {k} = {self.r.choice(['0', f'z[0] % {n}'])}")
        self.put(f"for {i} in {self.r.choice(['0', '1'])}..{self.r.choice([str(n), f'z[1] % {n + 1}', f'min(z[3], {n})'])} {{ if {a}[{i}] {self.r.choice(['<', '>', '<='])} {a}[{k}] {{ {k} = {i} }} }}")
        self.scalars.append((k, "i64", False))

    def swap_statement(self):
        a = self.r.choice([n for n in self.updated() if len(self.arrays[n][1]) == 1])
        n = self.arrays[a][1][0]
        i, j, t = self.index(n), self.index(n), self.name("t")
        self.put(f"let {t} = {a}[{i}]")
        self.put(f"{a}[{i}] = {a}[{j}]")
        self.put(f"{a}[{j}] = {t}")

    def walk_statement(self):
        """The state of an automaton: an index that the trip before has read."""
        r = self.r
        tables = [(a, t, n) for a, (t, (n, *more)) in self.arrays.items() if t in INTS and not more]
        states = [(s, t) for s, t, may in self.scalars if may and t in INTS]
        if not tables: return self.write_statement()
        a, _, n = r.choice(tables)
        s, t = r.choice(states)
        at = s if r.random() < self.risk else f"i64({s}) % {n}"
        self.put(f"{s} = {t}({a}[{at}])")

    def steps_statement(self):
        """Multiples, as in a sieve."""
        r = self.r
        q = r.choice([n for n in self.updated() if len(self.arrays[n][1]) == 1])
        t, (n,) = self.arrays[q]
        j, v = self.name("j"), r.choice(self.known("i64"))
        by = r.choice([f"max({v}, 1)", "max(z[2], 1)", str(r.randint(1, 4))])
        start = v if r.random() < self.risk else r.choice(["0", "2", f"z[0] % {n}", f"max({v}, {-n})"])
        limit = n + (r.random() < self.risk)
        self.put(f"var {j} = {start}")
        self.put(f"while {j} < {limit}{r.choice(['', f' and {j} >= 0'])} {{ {q}[{j}] = {self.value(t, 1)}; {j} += {by} }}")
        self.scalars.append((j, "i64", True))

    def fill_statement(self):
        """One value at places that follow each other, as many as is known when it runs."""
        r = self.r
        q = r.choice(self.updated())
        t, shape = self.arrays[q]
        *rows, n = shape
        v, k = r.choice(self.known("i64")), self.name("j")
        value = self.literal(t) if t == "bool" else r.choice(self.known(t) or [self.literal(t)])
        most = v if r.random() < self.risk else r.choice([f"min({v}, {n})", f"(z[1] * {r.randint(1, 40)} + z[3]) % {n + 1}", f"abs({v} % {n + 1})"])
        row = "".join(self.index(m) + ", " for m in rows)
        c = r.random()
        if c < 0.4:
            at = self.name("k")
            self.put(f"var {at} = {r.choice(['0', f'min({v}, 1)', f'z[0] % {n}'])}")
            self.put(f"for {k} in 0..min({most}, {n} - max({at}, 0)) {{ {q}[{row}{at}] = {value}; {at} += 1 }}")
            return self.scalars.append((at, "i64", True))
        if c < 0.7: self.put(f"for {k} in {r.choice(['0', '1', 'z[0]', f'max({v}, 0)'])}..{most} {{ {q}[{row}{k}] = {value} }}")
        elif c < 0.8: self.put(f"for {k} in 0..{most} {{ {q}[{row}{n - 1} - {k}] = {value} }}")
        elif c < 0.9: self.put(f"for {k} in rev(0..{most}) {{ {q}[{row}{k}] = {value} }}")
        else: self.put(f"for {k} in 0..{most} by {r.choice([2, 3])} {{ {q}[{row}{k}] = {value} }}")

    def local_statement(self):
        """An array of the trip's own."""
        r = self.r
        name, t, n = self.name("w"), r.choice(self.types), r.randint(2, 9)
        self.put(f"var {name} = {r.choice([f'zeros([{n}], dtype: {t})', f'full([{n}], {self.value(t, 1)})'])}")
        self.arrays[name] = (t, (n,))

    # Loops. A body changes nothing that the trips are counted by.
    def around(self, trips, body):
        self.loops += 1
        before, self.work = self.work, self.work * trips
        body()
        self.work = before
        self.loops -= 1

    def loop_statement(self):
        r = self.r
        i = self.name("j")
        v = r.choice(self.known("i64"))
        lo, hi, trips = r.choice([0, 0, 0, 1, 2, -2]), r.randint(1, 9), 12
        low = r.choice([str(lo)] * 4 + [f"max({v}, {lo})", f"min(max({v}, {lo}), {hi})"])
        high = r.choice([str(hi)] * 3 + [f"min({v}, {hi})", f"z[1] % {hi + 1}", f"min(z[3], {hi})", f"{hi} - ({v}) % 3"])
        way = f"{low}..{high}"
        c = r.random()
        if c < 0.15: way = f"rev({way})" + r.choice(["", "", " by 2"])
        elif c < 0.3: way += f" by {r.randint(2, 4)}"
        elif c < 0.36: way += f" by {r.choice([f'max(z[2], 1)', f'(1 + ({v}) % 3)'] + ['z[2]'] * (self.risk > 0))}"
        elif c < 0.43: way, lo, hi = f"9223372036854775807 - {hi}..9223372036854775807 by {r.choice([1, 3])}", 2**63 - 1 - hi, 2**63 - 1
        self.put(f"for {i} in {way} {{")
        self.scalars.append((i, "i64", False))
        if low == str(lo) or low.startswith(("max(", "min(")): self.within[i] = (lo, hi - 1)
        self.around(trips, lambda: self.block(3))
        self.scalars.pop()
        self.within.pop(i, None)
        self.put("}")

    def until_statement(self):
        """A `while` with a counter of its own, changed first or last in its body."""
        r = self.r
        t = r.choice(["i64", "i64", "i64", *[t for t in self.types if t in INTS]])
        w = self.name("w_")
        v = self.value(t, 1)
        kind = r.choice(["up", "down", "halve", "bits"])
        most = r.randint(2, 9)
        bound = r.choice([f"{t}({most})", f"min({self.leaf(t)}, {t}({most}))"])
        self.put(f"var {w} = " + (r.choice([f"{t}({r.randint(0, 3)})", f"{v} % {t}(4)"]) if kind == "up" else f"{v} % {t}(9)" if kind == "down" else f"bitwise_and({v}, {t}(127))"))
        step = {"up": f"{w} += {t}({r.randint(1, 3)})", "down": f"{w} -= {t}(1)", "halve": f"{w} = {w} // {t}({r.choice([2, 3, 10])})",
                "bits": f"{w} = bitwise_and({w}, {w} - {t}(1))"}[kind]
        test = f"{w} {r.choice(['<', '<', '<='])} {bound}" if kind == "up" else f"{w} > {t}(0)"
        if t == "i64" and kind == "up" and r.random() < 0.3: test += f" and {self.condition(1)}"
        self.put(f"while {test} {{")
        self.scalars.append((w, t, False))
        self.depth += 1
        first = r.random() < 0.5
        if first: self.put(step)
        self.depth -= 1
        start = len(self.lines)
        self.around(10, lambda: self.block(2))
        if not first:
            # A `continue` must not pass the step.
            self.lines[start:] = [line.replace("continue", "break") for line in self.lines[start:]]
            self.depth += 1
            self.put(step)
            self.depth -= 1
        self.scalars.pop()
        self.put("}")

    def count_statement(self):
        """Euclid's algorithm, digits, bits."""
        r = self.r
        a, b, v = self.name("a_"), self.name("b_"), self.leaf("i64")
        self.put(f"var {a} = abs({v}) % 1000")
        if r.random() < 0.5:
            self.put(f"var {b} = abs({self.leaf('i64')}) % 1000")
            self.put(f"while {b} != 0 {{ ({a}, {b}) = ({b}, {a} % {b}) }}")
        else:
            self.put(f"var {b} = 0")
            self.put(f"while {a} > 0 {{ {b} += {r.choice([f'{a} % 10', '1', f'bitwise_and({a}, 1)'])}; {a} = {r.choice([f'{a} // 10', f'{a} // 2', f'bitwise_and({a}, {a} - 1)', f'bitwise_right_shift({a}, 1)'])} }}")
        self.scalars += [(a, "i64", True), (b, "i64", True)]

    def search_statement(self):
        """As far as something holds; both sides of `and` in the condition, or a `break`."""
        r = self.r
        a = r.choice([n for n, (of, s) in self.arrays.items() if len(s) == 1 and of != "bool"])
        t, (n,) = self.arrays[a]
        k = self.name("k")
        limit = r.choice([str(n), f"min(z[3], {n})", f"z[1] % {n + 1}"])
        self.put(f"var {k} = {r.choice(['0', '1', f'z[0] % {n}'])}")
        test = f"{a}[{k}] {r.choice(COMPARE)} {self.leaf(t)}"
        # Another bound, of the number or of a sum with it, in front of the test or behind it.
        other = r.choice(["z[2]", "9223372036854775807", str(r.randint(-2, n + 2))])
        bound = r.choice([f"{k} < {other}", f"{other} >= {k}", f"{k} + {self.leaf('i64')} < {other}", f"{k} + {r.randint(-3, 3)} <= {other}"])
        tests = r.choice([test, f"{bound} and {test}", f"{test} and {bound}"])
        if r.random() < 0.5: self.put(f"while {k} < {limit} and {tests} {{ {k} += {r.choice([1, 1, 2])} }}")
        else:
            self.put(f"while {k} < {limit} {{")
            self.put(f"    if {test} {{ break }}")
            self.put(f"    {k} += {r.choice([1, 1, 2])}")
            self.put("}")
        self.scalars.append((k, "i64", True))

    def rows_statement(self):
        """A loop that may be vectorised: elements of trips nearby, sums, extremes, with bounds that are known or not."""
        r = self.r
        q = r.choice([n for n in self.updated() if len(self.arrays[n][1]) == 1])
        t = self.arrays[q][0]
        size = lambda n: self.arrays[n][1][0]
        rows = [n for n, (_, s) in self.arrays.items() if len(s) == 1 and size(n) > 7]
        same = [n for n in rows if self.arrays[n][0] == t]
        used = [q, *r.sample(same, min(len(same), r.randint(1, 3)))]
        others = [n for n in rows if self.arrays[n][0] not in (t, "bool")][:r.randint(0, 1)]
        least = min(map(size, used + others))
        far = r.choice([0, 1, 2, min(least // 3, 8)])
        low, high = far, least - far + (r.random() < self.risk)
        i = self.name("j")
        lo, hi = r.choice([str(low)] * 3 + [f"{low} + z[0] % 3"]), r.choice([str(high)] * 2 + [f"min(z[3] * 9, {high})"] + [f"{low} + z[3]"] * (self.risk > 0))
        way = r.choice([f"{lo}..{hi}"] * 3 + [f"rev({lo}..{hi})", f"{lo}..{hi} by 2", f"rev({lo}..{hi}) by 3"])
        shifts = ["", "", *(f" {sign} {k}" for sign in "+-" for k in range(1, far + 1))]
        near = lambda n: f"{n}[{i}{r.choice(shifts)}]"
        sums = [s for s, of, may in self.scalars if of == t and may]
        trip = f"f64({i})" if t == "f64" else f"{t}({i})"

        def operand(): return r.choice([near(r.choice(used))] * 4 + [self.literal(t), r.choice(self.known(t) or [trip]), trip] + [f"{t}({near(r.choice(others or used))})"])

        def body():
            x, y = near(r.choice(used)), operand()
            if t == "bool": return f"{near(q)} = {x} {r.choice(['and', 'or', '!='])} {near(r.choice(used))}"
            e = r.choice([f"{x} {r.choice('+-*')} {y}", f"{r.choice(['max', 'min'])}({x}, {y})", f"(if {x} {r.choice(COMPARE)} {y} {{ {operand()} }} else {{ {operand()} }})",
                          f"abs({x}) + {y}", f"{x} * {y} {r.choice('+-')} {operand()}"])
            forms = [f"{near(q)} = {e}"] * 2 + [f"{near(q)} {r.choice(['+=', '-='])} {e}", f"if {x} {r.choice(COMPARE)} {y} {{ {near(q)} = {operand()} }}"]
            if sums:
                s = r.choice(sums)
                forms += [f"{s} {r.choice(['+=', '-=', '*='])} {e}", f"{s} = {r.choice(['max', 'min'])}({s}, {e})", f"if {x} {r.choice(COMPARE)} {y} {{ {s} += {operand()} }}"]
            return r.choice(forms)

        self.put(f"for {i} in {way} {{ {'; '.join(body() for _ in range(r.choice([1, 1, 2, 3])))} }}")

    def tables(self): return [n for n in self.updated() if len(self.arrays[n][1]) == 2 and self.arrays[n][0] != "bool"]

    def columns_statement(self):
        """A loop over rows of few columns, or columns of few rows, of an array, some of which are known only at run time."""
        r = self.r
        q = r.choice(self.tables())
        t, (n, m) = self.arrays[q]
        i = self.name("j")
        down = r.random() < 0.7
        length, others = (n, m) if down else (m, n)
        lines = [str(r.randrange(others)), str(r.randrange(others)), f"min(max(z[{r.randrange(4)}], 0), {others - 1})", f"(z[{r.randrange(4)}] + 9) % {others}"]
        far = r.choice([0, 0, 0, 1])

        def place():
            along = i + r.choice(["", f" + {far}", f" - {far}"] if far else [""])
            return f"{q}[{along}, {r.choice(lines)}]" if down else f"{q}[{r.choice(lines)}, {along}]"

        def body():
            value = f"{place()} {r.choice('+-*')} {r.choice([place(), self.literal(t)])}"
            sums = [s for s, of, may in self.scalars if of == t and may]
            if sums and r.random() < 0.3: return f"{r.choice(sums)} += {value}"
            return r.choice([f"{place()} = {value}", f"{place()} = {value}", f"{place()} {r.choice(['+=', '-='])} {place()}",
                             f"if {place()} {r.choice(COMPARE)} {self.literal(t)} {{ {place()} = {value} }}"])

        way = r.choice([f"{far}..{length - far}"] * 3 + [f"rev({far}..{length - far})", f"{far}..{length - far} by 2", f"{far}..min(z[3] * 9, {length - far})"])
        self.put(f"for {i} in {way} {{ {'; '.join(body() for _ in range(r.choice([2, 3, 4])))} }}")

    def triangle_statement(self):
        """Loops whose bounds and indices depend on variables of those around, so that sums of them are in range."""
        r = self.r
        q = r.choice([n for n in self.updated() if len(self.arrays[n][1]) == 1])
        t, (n,) = self.arrays[q]
        l, a, k, limit = self.name("l"), self.name("a"), self.name("k"), r.choice([str(n), f"min(z[3], {n})", "z[3]" if self.risk else str(n)])
        slack = lambda: r.choice([-1, 1, 2, r.randint(-n, n)]) if r.random() < 3 * self.risk else 0
        plus = lambda e, c: f"{e} + {c}" if c > 0 else f"{e} - {-c}" if c < 0 else e
        step = r.choice(["", "", "", " by 2", " by 3"])
        ends = plus(f"{n} - {l}", slack())
        self.put(f"for {l} in {r.choice(['1', '1', '2'])}..{r.choice([limit, f'min({limit}, 6)'])}{step} {{")
        self.put(f"    for {a} in {r.choice([f'0..{ends}', f'0..{ends}', f'rev(0..{ends})', f'{l}..{n}', f'0..{ends} by 2'])} {{")
        places = [f"{a} + {l}", f"{a} + {l} - 1", f"{n} - {l} - {a}", f"{n - 1} - {a}", f"{a} - {l}", a, l, f"{a} + {a} - {l}"]
        place = lambda: f"{q}[{plus(r.choice(places[:3] if r.random() > self.risk else places), slack())}]"
        if r.random() < 0.6: self.put(f"        {place()} = {place()} {r.choice('+-')} {place()}")
        else:
            self.put(f"        for {k} in {r.choice([f'{a}..{a} + {l}', f'rev({a}..{a} + {l})', f'{a} + 1..{a} + {l} by 2'])} {{ {q}[{plus(k, slack())}] += {place()} }}")
        self.put("    }")
        self.put("}")

    def apart(self):
        """An array, and loops whose trips have a part of it for themselves, or nearly so. How long a `while` in them runs is not known: they
        are worth threads."""
        r = self.r
        t, n, m = r.choice(self.types), r.randint(2, 9), r.randint(2, 6)
        flat, turned = r.random() < 0.5, r.random() < 0.5
        shape = (n * m,) if flat else (m, n) if turned else (n, m)
        self.put(f"var p = full({list(shape)}, {self.literal(t)})")
        near = r.random() < 0.3  # some places are another trip's
        rows = ["i"] * 3 + [f"{n - 1} - i"] * 2 + [f"min(i + 1, {n - 1})", "i // 2", "max(i - 1, 0)"] * near
        columns = ["j", "j", f"{m - 1} - j", "0", f"(j + 1) % {m}"]
        row = r.choice(rows)

        def place():
            i, j = r.choice(rows) if near else row, r.choice(columns)
            if not flat: return f"p[{j}, {i}]" if turned else f"p[{i}, {j}]"
            return f"p[{m} * ({i}) + {j}]" if not near or r.random() < 0.5 else f"p[{m - 1} * ({i}) + {j}]"

        x = r.choice([k for k, (_, s) in self.inputs.items() if len(s) == 1])
        self.put(f"for i in {r.choice([f'0..{n}', f'0..{n}', f'rev(0..{n})', f'0..{n} by 2', f'1..{n}'])} {{")
        self.put(f"    for j in {r.choice([f'0..{m}', f'0..{m}', f'rev(0..{m})'])} {{")
        self.put(f"        var w = z[{r.randint(0, 3)}] + j")
        self.put(f"        while w < {r.randint(2, 40)} {{ w += {r.choice(['1', '2', 'i + 1'])} }}")
        value = r.choice([f"{t}(w)", place(), f"{t}({x}[i % {self.inputs[x][1][0]}])" if self.inputs[x][0] != 'bool' else f"{t}(w)"])
        self.put(f"        {place()} {r.choice(['=', '+=', '-='])} {value}")
        if r.random() < 0.5: self.put(f"        if {place()} {r.choice(COMPARE)} {self.literal(t)} {{ {place()} = {place()} }}")
        self.put("    }")
        self.put("}")
        return "p", (t, shape)

    def build(self):
        r = self.r
        self.depth, self.held, self.within = 1, {}, {}
        self.inputs["z"] = ("i64", (4,))
        for k in range(r.randint(1, 3)):
            t = r.choice(self.types + ["bool"])
            self.inputs[f"x{k}"] = (t, r.choice([(5,), (8,), (9,), (16,), (33,), (70,), (100,), (3, 4), (8, 8)]))
        self.arrays = {n: s for n, s in self.inputs.items() if n != "z"}
        if not any(len(s) == 1 and t != "bool" for t, s in self.arrays.values()): self.inputs["x9"] = self.arrays["x9"] = (r.choice(self.types), (8,))
        for k in range(r.randint(1, 3)):
            t, shape = r.choice(self.types), r.choice([(4,), (8,), (9,), (40,), (100,), (300,)]) if k == 0 or r.random() < 0.7 else r.choice([(5, 6), (40, 2), (33, 3), (3, 40)])
            same = [a for a, s in self.inputs.items() if s == (t, shape)]
            name = f"q{k}"
            start = r.choice(same) if same and r.random() < 0.7 else r.choice([f"zeros({list(shape)}, dtype: {t})", f"full({list(shape)}, {self.literal(t)})"])
            self.put(f"var {name} = {start}")
            self.arrays[name] = (t, shape)
        if r.random() < 0.3:
            t, shape = r.choice(self.types), r.choice([(40, 2), (33, 3), (30, 4), (3, 40)])
            self.put(f"var qt = reshape({t}(arange({shape[0] * shape[1]}) % 50), {list(shape)})")
            self.arrays["qt"] = (t, shape)
        if r.random() < 0.4:
            n = r.randint(3, 8)
            self.put(f"var qi = {r.choice([f'zeros([{n}], dtype: i64)', f'arange({n})'])}")
            self.arrays["qi"], self.held["qi"] = ("i64", (n,)), n - 1
        keep = dict(self.arrays)
        for k, t in enumerate([*self.types, *(["bool"] * r.randint(0, 1))]):
            start = r.choice([f"z[{k % 4}] > 1"]) if t == "bool" else r.choice([f"{t}(z[{k % 4}])", self.literal(t), self.literal(t)])
            self.put(f"var s{k} = {start}")
            self.scalars.append((f"s{k}", t, True))
        outputs = [(n, s) for n, s in keep.items() if n[0] == "q"] + [(n, (t, ())) for n, t, _ in self.scalars]
        if r.random() < 0.5: outputs.append(self.apart())
        self.results = "(" + ", ".join(n for n, _ in outputs) + ")"
        o = self.name("o")
        self.put(f"for {o} in 0..{r.choice(['3', 'z[2]', 'min(z[3], 4)'])} {{")
        self.scalars.append((o, "i64", False))
        self.within[o] = (0, 8)
        self.around(4, lambda: [self.block(4, False) for _ in range(r.randint(1, 3))])
        self.scalars.pop()
        self.within.pop(o)
        self.put("}")
        shown = lambda s: s[0] + (f"[{', '.join(map(str, s[1]))}]" if s[1] else "")
        head = f"fn f({', '.join(f'{n}: {shown(s)}' for n, s in self.inputs.items())}) -> ({', '.join(shown(s) for _, s in outputs)}) {{"
        tail = [f'let {n}: {shown(s)} = load("{n}.npy")' for n, s in self.inputs.items()]
        tail += [f"let r = f({', '.join(self.inputs)})"] + [f'save("r{k}.npy", r.{k})' for k in range(len(outputs))]
        self.text = "\n".join([head, *self.lines, f"    {self.results}", "}", *tail]) + "\n"
        self.files = {n: self.data(*s) for n, s in self.inputs.items()}
        self.files["z"] = np.array([r.randint(-2, 6), r.randint(0, 9), r.randint(0, 5), r.randint(0, 9)])
