#!/usr/bin/env python3
"""Random assignments in the midst of expressions, against a model of the order of evaluation.

    python orders.py --tenc PATH [--count 60] [--first 0] [--keep DIR]

Blocks that assign stand in operands, indices, arguments, conditions and on both sides of assignments.
They assign numbers, tensors, elements, parts of tuples, and what is known while compiling: lambdas, dtypes, strings. The
model walks each program as the reference says: from left to right; `=` takes the value first, then the indices of the
target, and `+=` reads the target before the value. The engines share the lowering, so comparing them shows nothing here.
Closes with `N passed, N failed`."""
import random
import sys
import tempfile

import harness

DTYPES = ["f32", "f64", "i8", "u16"]
HEAD = "fn mix(a: i64, b: i64, c: i64) = (a * 7 + b * 5 + c * 3) % 991\nstruct Box { n: i64, v: i64[3] }\n"


def wrapped(n):
    return (n + 2**63) % 2**64 - 2**63


class Model:
    """Texts of a program, each with the function that does the same to `env`."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.ints, self.vecs, self.pairs = ["x", "y", "z"], ["v", "w"], ["p"]
        self.depth, self.staged = 0, True  # staged: what is assigned here is assigned whenever the program runs

    # ---- integers
    def expr(self, depth=0):
        r = self.r
        kinds = ["literal", "name", "name", "element", "part", "field"]
        if depth < 4: kinds += ["add", "add", "mul", "block", "block", "block", "if", "call", "lambda", "array", "tuple", "both", "on", "size"]
        return getattr(self, "e_" + r.choice(kinds))(depth + 1)

    def e_literal(self, depth):
        k = self.r.randint(0, 9)
        return str(k), lambda env: k
    def e_name(self, depth):
        n = self.r.choice(self.ints)
        return n, lambda env: env[n]
    def index(self, depth):
        t, f = self.expr(depth)
        return f"({t}) % 3", lambda env: f(env) % 3
    def e_element(self, depth):
        n, (t, f) = self.r.choice(self.vecs), self.index(depth + 2)
        return f"{n}[{t}]", lambda env: env[n][f(env)]  # an index that assigns `n` comes after `n` was read
    def e_part(self, depth):
        n, k = self.r.choice(self.pairs), self.r.randint(0, 1)
        return f"{n}.{k}", lambda env: env[n][k]
    def e_field(self, depth):
        return self.r.choice([("b.n", lambda env: env["b"][0]), ("b.v[1]", lambda env: env["b"][1][1])])
    def e_add(self, depth):
        (t, f), (u, g) = self.expr(depth), self.expr(depth)
        if self.r.random() < 0.5: return f"({t} + {u})", lambda env: wrapped(f(env) + g(env))
        return f"({t} - {u})", lambda env: wrapped(f(env) - g(env))
    def e_mul(self, depth):
        (t, f), k = self.expr(depth), self.r.randint(2, 5)
        return f"({t} * {k} % 97)", lambda env: wrapped(f(env) * k) % 97
    def e_block(self, depth):
        (s, g), (t, f) = self.block(depth), self.expr(depth)
        def run(env):
            g(env)
            return f(env)
        return f"{{ {s}; {t} }}", run
    def e_on(self, depth):
        t, f = self.e_block(depth)
        return f"(@cpu {t})", f
    def e_if(self, depth):
        c, test = self.condition(depth)
        staged, self.staged = self.staged, False
        (t, f), (u, g) = self.e_block(depth), self.e_block(depth)
        self.staged = staged
        return f"(if {c} {t} else {u})", lambda env: f(env) if test(env) else g(env)
    def e_call(self, depth):
        parts = [self.expr(depth) for _ in range(3)]
        names = ["a", "b", "c"]
        if self.r.random() < 0.4: self.r.shuffle(names)
        text = ", ".join(t if names == ["a", "b", "c"] else f"{n}: {t}" for n, (t, _) in zip(names, parts))
        def run(env):
            given = {n: f(env) for n, (_, f) in zip(names, parts)}
            return wrapped(given["a"] * 7 + given["b"] * 5 + given["c"] * 3) % 991
        return f"mix({text})", run
    def e_lambda(self, depth):
        t, f = self.expr(depth)
        def run(env):
            k, c = env["g"]
            return wrapped(f(env) * k + c)
        return f"g({t})", run
    def e_array(self, depth):
        parts = [self.expr(depth) for _ in range(3)]
        k = self.r.randint(0, 2)
        return f"[{', '.join(t for t, _ in parts)}][{k}]", lambda env: [f(env) for _, f in parts][k]
    def e_tuple(self, depth):
        parts = [self.expr(depth) for _ in range(2)]
        k = self.r.randint(0, 1)
        return f"({', '.join(t for t, _ in parts)}).{k}", lambda env: [f(env) for _, f in parts][k]
    def e_both(self, depth):
        t, f = self.condition(depth)
        return f"i64({t})", lambda env: int(f(env))
    def e_size(self, depth):
        return "(if t == i8 { 3 } else { 4 })", lambda env: 3 if env["t"] == "i8" else 4
    def condition(self, depth):
        r = self.r
        (t, f), k = self.expr(depth), r.randint(0, 20)
        if r.random() < 0.6: return f"({t} > {k})", lambda env: f(env) > k
        staged, self.staged = self.staged, False
        u, g = self.expr(depth)
        self.staged = staged
        if r.random() < 0.5: return f"({t} % 2 == 0 and {u} < {k})", lambda env: f(env) % 2 == 0 and g(env) < k
        return f"({t} % 2 == 0 or {u} < {k})", lambda env: f(env) % 2 == 0 or g(env) < k

    # ---- statements
    def block(self, depth):
        made = [self.statement(depth) for _ in range(self.r.randint(1, 2))]
        def run(env):
            for _, f in made: f(env)
        return "; ".join(t for t, _ in made), run

    def statement(self, depth):
        kinds = ["assign", "assign", "compound", "element", "element", "both", "part", "whole", "box"]
        if self.staged: kinds += ["lambda", "dtype", "text"]
        if depth < 4: kinds += ["on", "if", "static", "for", "while"]
        return getattr(self, "s_" + self.r.choice(kinds))(depth + 1)

    def put(self, env, place, i, value):
        name, path = place
        if path == "": env[name] = value
        elif path == "[]": env[name] = [*env[name][:i], value, *env[name][i + 1:]]
        elif path == "b.v": env["b"] = (env["b"][0], [*env["b"][1][:i], value, *env["b"][1][i + 1:]])
        elif path == "b.n": env["b"] = (value, env["b"][1])
        else: env[name] = tuple(value if k == int(path) else old for k, old in enumerate(env[name]))
    def get(self, env, place, i):
        name, path = place
        return env[name] if path == "" else env[name][i] if path == "[]" else env["b"][1][i] if path == "b.v" else env["b"][0] if path == "b.n" else env[name][int(path)]
    def store(self, depth, place):
        """`place = value` or `place += value`, of an integer."""
        r, (name, path) = self.r, place
        t, index = self.index(depth) if path in ("[]", "b.v") else ("", lambda env: None)
        target = {"": name, "[]": f"{name}[{t}]", "b.v": f"b.v[{t}]", "b.n": "b.n"}.get(path, f"{name}.{path}")
        u, value = self.expr(depth)
        op = r.choice(["=", "=", "+=", "-=", "*="])
        def run(env):
            if op == "=":
                now = value(env)
                self.put(env, place, index(env), now)
                return
            before = dict(env)  # as in `target = target + value`, where the variable is read before the index
            i = index(env)
            old = self.get(before, place, i)
            by = value(env)
            self.put(env, place, i, wrapped(old + by if op == "+=" else old - by if op == "-=" else old * by))
        return f"{target} {op} {u}", run
    def s_assign(self, depth): return self.store(depth, (self.r.choice(self.ints), ""))
    s_compound = s_assign
    def s_element(self, depth): return self.store(depth, (self.r.choice(self.vecs), "[]"))
    def s_part(self, depth): return self.store(depth, (self.r.choice(self.pairs), self.r.choice("01")))
    def s_box(self, depth): return self.store(depth, ("b", self.r.choice(["b.n", "b.v"])))
    def s_both(self, depth):
        n, m = self.r.choice(self.ints), self.r.choice(self.vecs)
        (t, f), (u, g), (i, at) = self.expr(depth), self.expr(depth), self.index(depth)
        def run(env):
            a, b = f(env), g(env)
            env[n] = a
            k = at(env)
            self.put(env, (m, "[]"), k, b)
        return f"({n}, {m}[{i}]) = ({t}, {u})", run
    def s_whole(self, depth):
        parts = [self.expr(depth) for _ in range(3)]
        if self.r.random() < 0.5:
            n = self.r.choice(self.vecs)
            def run(env): env[n] = [f(env) for _, f in parts]
            return f"{n} = [{', '.join(t for t, _ in parts)}]", run
        def pair(env): env["p"] = tuple(f(env) for _, f in parts[:2])
        return f"p = ({parts[0][0]}, {parts[1][0]})", pair
    def s_lambda(self, depth):
        k, n = self.r.randint(1, 4), self.r.choice(self.ints)
        def run(env): env["g"] = (k, env[n])
        return f"g = |a| a * {k} + {n}", run
    def s_dtype(self, depth):
        t = self.r.choice(DTYPES)
        def run(env): env["t"] = t
        return f"t = {t}", run
    def s_text(self, depth):
        t = self.r.choice("abcd")
        def run(env): env["s"] = (t, env["s"][0])
        return f's = ("{t}", s.0)', run
    def s_on(self, depth):
        t, f = self.block(depth)
        return f"@cpu {{ {t} }}", f
    def s_static(self, depth):
        (t, f), n = self.block(depth), self.r.randint(0, 2)
        def run(env):
            for _ in range(n): f(env)
        return f"for i in static 0..{n} {{ {t} }}", run
    def unstaged(self, depth):
        staged, self.staged = self.staged, False
        made = self.block(depth)
        self.staged = staged
        return made
    def s_if(self, depth):
        (c, test), (t, f), (u, g) = self.condition(depth), self.unstaged(depth), self.unstaged(depth)
        def run(env): (f if test(env) else g)(env)
        return f"if {c} {{ {t} }} else {{ {u} }}", run
    def s_for(self, depth):
        (t, f), n = self.unstaged(depth), self.r.randint(0, 3)
        def run(env):
            for _ in range(n): f(env)
        return f"for i in 0..{n} {{ {t} }}", run
    def s_while(self, depth):
        """The condition assigns, and counts, so that it ends."""
        k, n = f"k{self.r.randrange(10**9)}", self.r.randint(0, 3)
        (s, g), (t, f) = self.unstaged(depth), self.unstaged(depth)
        def run(env):
            for _ in range(n):
                g(env)
                f(env)
            g(env)
        return f"var {k} = 0; while {{ {k} += 1; {s}; {k} <= {n} }} {{ {t} }}", run


def program(seed):
    m = Model(seed)
    env = {"x": 3, "y": 4, "z": 5, "v": [1, 2, 3], "w": [7, 8, 9], "p": (1, 2), "g": (1, 0), "t": "f32", "s": ("a", "b"), "b": (6, [4, 5, 6])}
    tl = HEAD + 'var x = 3\nvar y = 4\nvar z = 5\nvar v = [1, 2, 3]\nvar w = [7, 8, 9]\nvar p = (1, 2)\nvar g = |a| a\n'
    tl += 'var t = f32\nvar s = ("a", "b")\nvar b = Box { n: 6, v: [4, 5, 6] }\n'
    want = []
    for _ in range(6):
        t, f = m.statement(0)
        (u, g), (o, h) = m.expr(1), m.expr(1)
        f(env)
        first, second = g(env), h(env)
        tl += f"{t}\nprint({u}, {o})\nprint(\"{{x}} {{y}} {{z}} {{v[0]}} {{v[1]}} {{v[2]}} {{w[0]}} {{w[1]}} {{w[2]}} {{p.0}} {{p.1}} {{b.n}} {{b.v[0]}} {{b.v[1]}} {{b.v[2]}} {{g(1)}} {{s.0}}{{s.1}} {{zeros([], dtype: t).dtype}}\")\n"
        k, c = env["g"]
        want += [f"{first} {second}", " ".join(str(n) for n in [*(env[n] for n in "xyz"), *env["v"], *env["w"], *env["p"], env["b"][0], *env["b"][1], wrapped(k + c), "".join(env["s"]), env["t"]])]
    return tl, want


def case(a, seed):
    tl, want = program(seed)
    files = {f"order{seed}.tl": tl}
    with tempfile.TemporaryDirectory() as d: printed, problem = harness.run(a, d, files, [[], ["--engine=interp"], ["--no-fuse"]][seed % 3])
    if problem: return problem, files
    got = printed.splitlines()
    if got == want: return None, files
    k = next((k for k, (x, y) in enumerate(zip(got, want)) if x != y), 0)
    return f"line {k + 1} is {got[k:k + 1]}, not {want[k]!r}", files


if __name__ == "__main__": sys.exit(harness.main(__doc__, case, count=60))
