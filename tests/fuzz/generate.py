"""Random well-typed TL programs.

Every value is exact (integers, movement, comparisons, casts, + - * / sqrt on exact values: the same bits are expected of
every engine) or has a bound: a second TL tensor that says by how much two right results may differ, from the arithmetic:
numerics/bounds.py has the rule for each kind of operation. Comparisons, indices and
integer casts take exact values only, so a difference within a bound never changes what a program does. A program saves
each of its results (and its bound, when there is one) as rN.npy and bN.npy; what it prints is exact. MODULE stands beside it.
"""
import random
import re

from generate_flow import FlowOps
from generate_language import LanguageOps
from generate_module import MODULE, ModuleOps
from generate_more import MoreOps
from generate_numeric import NumericOps, bounds

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f32", "f32", "f32", "f64", "f16", "bf16"]
HALVES = ("f16", "bf16")
DIMS = [0, 1, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65]
FUNCTIONS = ["exp", "log1p", "sin", "cos", "tanh", "sigmoid", "erf", "exp2", "atan", "expm1"]


class Value:
    def __init__(self, name, dtype, shape, bound=None, small=True):
        self.name, self.dtype, self.shape, self.bound, self.small = name, dtype, tuple(shape), bound, small

    @property
    def exact(self): return self.bound is None
    @property
    def is_float(self): return self.dtype in FLOATS


def size(shape):
    n = 1
    for d in shape: n *= d
    return n


class Program(MoreOps, NumericOps, LanguageOps, FlowOps, ModuleOps):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.values, self.count, self.indent, self.seed = [], [], 0, "", seed
        self.results = 0

    # ---- writing
    def emit(self, text): self.lines.append(self.indent + text)
    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"
    def let(self, expr, dtype, shape, bound=None, small=True, keep=True):
        n = self.name()
        self.emit(f"let {n} = {expr}")
        b = None
        if bound is not None:
            b = self.name("e")
            self.emit(f"let {b} = {bound}")
        v = Value(n, dtype, shape, b, small)
        if keep: self.values.append(v)
        return v
    def pick(self, want=lambda v: True):
        fits = [v for v in self.values if want(v)]
        return self.r.choice(fits[-8:]) if fits else None
    def shape(self, rank=None):
        rank = self.r.choice([0, 1, 1, 2, 2, 2, 3]) if rank is None else rank
        while True:
            s = tuple(self.r.choice(DIMS) for _ in range(rank))
            if size(s) <= 20000: return s

    # ---- sources
    def source(self, dtype=None, shape=None):
        r = self.r
        dtype = dtype or r.choice(FLOATS + INTS + ["bool"])
        shape = self.shape() if shape is None else shape
        n, dims = size(shape), "[" + ", ".join(map(str, shape)) + "]"
        a, b, m = r.randint(1, 12), r.randint(0, 50), r.choice([3, 7, 11, 23, 64])
        base = f"((arange({n}) * {a} + {b}) % {m})"
        if dtype == "bool": expr = f"({base} % 2 == 0)"
        elif dtype in FLOATS: expr = f"{dtype}({base} - {m // 2}) / {r.choice([1, 2, 4, 8])}.0"
        elif dtype[0] == "u": expr = f"{dtype}({base})"
        else: expr = f"{dtype}({base} - {m // 2})"

        return self.let(f"({expr}).reshape({dims})", dtype, shape)

    # ---- operations: each returns a value or None
    def unary(self):
        v = self.pick(lambda v: v.dtype != "bool")
        if not v: return None
        op = self.r.choice(["abs", "square", "(0 - ", "relu", "round", "floor"])
        bound = None
        if not v.exact:
            if op not in ("abs", "(0 - ", "relu"): return None
            bound = v.bound
        if op == "square" and not v.small: return None
        if op == "(0 - ": return self.let(f"(-{v.name})", v.dtype, v.shape, bound, v.small)
        return self.let(f"{op}({v.name})", v.dtype, v.shape, bound, v.small and op != "square")
    def function(self):
        v = self.pick(lambda v: v.dtype in ("f32", "f64") and v.exact and v.small)
        if not v: return None
        f = self.r.choice(FUNCTIONS)
        arg = f"abs({v.name})" if f == "log1p" else f"clamp({v.name}, -8, 8)"
        n = self.let(f"{f}({arg})", v.dtype, v.shape, None, True, keep=False)
        return self.let(n.name, v.dtype, v.shape, f"abs({n.name}) * {bounds.relative(f, v.dtype)!r} + {1e-30 if v.dtype == 'f32' else 1e-300!r}")
    def binary(self):
        r = self.r
        a = self.pick(lambda v: v.dtype != "bool")
        if not a: return None
        b = self.partner(a)
        if self.joined(a, b) is None: return None
        op = r.choice(["+", "-", "*", "max", "min", "/", "%", "//"])
        if op in ("/", "%", "//"):
            if not (a.exact and b.exact): return None
            if op == "/" and not a.is_float: return None
            divisor = f"({b.name} * {b.name} + 1)" if b.is_float and (op == "/" or r.random() < 0.3) else f"where({b.name} == 0, {b.dtype}(3), {b.name})"
            if b.is_float and not b.small: return None
            return self.let(f"{a.name} {op} {divisor}", a.dtype, self.joined(a, b), None, True)
        if a.is_float and a.exact and b.exact and not (a.small and b.small) and op == "*": return None
        expr = f"{op}({a.name}, {b.name})" if op in ("max", "min") else f"{a.name} {op} {b.name}"
        bound = None
        if not (a.exact and b.exact):
            if not a.is_float or a.dtype in HALVES: return None
            ea, eb = a.bound or "0.0", b.bound or "0.0"
            eps = bounds.EPS[a.dtype]
            if op == "*": bound = f"abs({a.name}) * {eb} + abs({b.name}) * {ea} + {ea} * {eb} + abs({a.name} * {b.name}) * {2 * eps!r}"
            elif op in ("max", "min"): bound = f"max(abs({ea} + {a.name} * 0.0), abs({eb} + {b.name} * 0.0))"
            else: bound = f"{ea} + {eb} + (abs({a.name}) + abs({b.name})) * {2 * eps!r}"
        small = a.small and b.small and op != "*"
        return self.let(expr, a.dtype, self.joined(a, b), bound, small)
    def partner(self, a):
        b = self.pick(lambda v: v.dtype == a.dtype and v is not a and self.joined(a, v) is not None)
        if b and self.r.random() < 0.7: return b
        shape = list(a.shape)
        for i in range(len(shape)):
            if self.r.random() < 0.3: shape[i] = 1
        if self.r.random() < 0.2: shape = shape[1:]
        return self.source(a.dtype, tuple(shape))
    def joined(self, a, b):
        out = []
        for i in range(max(len(a.shape), len(b.shape))):
            x = a.shape[-1 - i] if i < len(a.shape) else 1
            y = b.shape[-1 - i] if i < len(b.shape) else 1
            if x != y and 1 not in (x, y): return None
            out.append(y if x == 1 else x)
        s = tuple(reversed(out))
        return s if size(s) <= 40000 else None
    def compare(self):
        a = self.pick(lambda v: v.exact and v.dtype != "bool")
        if not a: return None
        b = self.partner(a)
        if not b.exact or self.joined(a, b) is None: return None
        return self.let(f"{a.name} {self.r.choice(['<', '<=', '==', '!=', '>', '>='])} {b.name}", "bool", self.joined(a, b))
    def where(self):
        a = self.pick(lambda v: v.exact)
        if not a: return None
        b = self.partner(a) if a.dtype != "bool" else self.source("bool", a.shape)
        if not b.exact or self.joined(a, b) is None: return None
        c = self.source("bool", self.joined(a, b))
        return self.let(f"where({c.name}, {a.name}, {b.name})", a.dtype, self.joined(a, b), None, a.small and b.small)
    def cast(self):
        v = self.pick(lambda v: v.exact and v.small)
        if not v: return None
        t = self.r.choice(["f32", "f64", "i32", "i64", "u8", "i16", "bool"])
        if t == v.dtype: return None
        return self.let(f"({v.name} != 0)" if t == "bool" else f"{t}({v.name})", t, v.shape) if v.dtype != "bool" or t != "bool" else None
    def reduce(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.shape)
        if not v: return None
        axes = sorted(r.sample(range(len(v.shape)), r.randint(1, len(v.shape))))
        keep = r.random() < 0.3
        k = size([v.shape[a] for a in axes])
        shape = [1 if i in axes else d for i, d in enumerate(v.shape)] if keep else [d for i, d in enumerate(v.shape) if i not in axes]
        args = f"axis: ({', '.join(map(str, axes))}{',' if len(axes) == 1 else ''}), keep: {'true' if keep else 'false'}"
        if len(axes) == 1: args = f"axis: {axes[0]}, keep: {'true' if keep else 'false'}"
        if v.dtype == "bool": op = r.choice(["any", "all"])
        else: op = r.choice(["sum", "sum", "max", "min", "mean" if v.is_float else "sum", "argmax" if len(axes) == 1 else "sum"])
        if op in ("max", "min", "argmax", "mean") and k == 0: return None
        if op == "argmax": return self.let(f"argmax({v.name}, {args})", "i64", shape)
        dtype = "bool" if v.dtype == "bool" else v.dtype
        if op == "sum" and not v.is_float: dtype = "u64" if v.dtype[0] == "u" else "i64"
        bound = None
        if op in ("sum", "mean") and v.is_float:
            if v.dtype in HALVES or not v.small: return None  # a sum of what may overflow depends on its order
            scale = 1.0 if op == "sum" else 1.0 / k
            bound = f"sum(abs({v.name}), {args}) * {bounds.terms(k, v.dtype) * scale!r}"
        return self.let(f"{op}({v.name}, {args})", dtype, shape, bound, True)
    def rowwise(self):
        v = self.pick(lambda v: v.exact and v.small and v.dtype in ("f32", "f64") and v.shape and v.shape[-1] > 0)
        if not v: return None
        k, t = v.shape[-1], v.dtype
        op = self.r.choice(["softmax", "log_softmax", "layer_norm"])
        if op == "softmax": return self.let(f"softmax({v.name}, axis: -1)", v.dtype, v.shape, f"abs({v.name}) * 0.0 + {bounds.composed('softmax', k, t)!r}")
        if op == "log_softmax": return self.let(f"log_softmax({v.name}, axis: -1)", v.dtype, v.shape, f"(abs({v.name}) + max(abs({v.name}), axis: -1, keep: true) + {8.0 + k!r}) * {bounds.composed('log_softmax', k, t)!r}")
        if k < 2: return None
        n = f"layer_norm({v.name} + {v.dtype}(arange({k}) % 3), axes: -1)"
        return self.let(n, v.dtype, v.shape, f"abs({v.name}) * 0.0 + {bounds.composed('layer_norm', k, t)!r} * (1.0 + max(abs({v.name}), axis: -1, keep: true) * max(abs({v.name}), axis: -1, keep: true))")
    def product(self):
        r = self.r
        a = self.pick(lambda v: v.exact and v.small and v.dtype in ("f32", "f64") and len(v.shape) in (2, 3))
        a = a or self.source("f32", self.shape(2))
        k, n = a.shape[-1], r.choice(DIMS)
        b = self.source(a.dtype, (k, n))
        right = b.name
        if r.random() < 0.4:
            t = self.source(a.dtype, (n, k))
            right = f"{t.name}.T"
        v = self.let(f"{a.name} @ {right}", a.dtype, a.shape[:-1] + (n,), f"(abs({a.name}) @ abs({right})) * {bounds.terms(k, a.dtype)!r}")
        if r.random() < 0.5:
            c = self.source(a.dtype, (n,))
            return self.let(f"relu({v.name} + {c.name})", a.dtype, v.shape, f"{v.bound} + (abs({v.name}) + abs({c.name})) * {2 * bounds.EPS[a.dtype]!r}")
        return v
    def move(self):
        r = self.r
        v = self.pick(lambda v: v.shape)
        if not v: return None
        kind = r.choice(["T", "slice", "flip", "reshape", "concat", "new", "broadcast", "pad", "gather", "window"])
        rank = len(v.shape)
        if kind == "T" and rank >= 2: form, shape = "{}.T", v.shape[:-2] + (v.shape[-1], v.shape[-2])
        elif kind == "slice":
            form, shape = "{}", v.shape
            for _ in range(r.choice([1, 1, 2])):
                parts, out = [], []
                for d in shape:
                    lo = r.randint(0, d); hi = r.randint(lo, d); step = r.choice([1, 1, 2, 3])
                    parts.append(f"{lo}:{hi}:{step}"); out.append((hi - lo + step - 1) // step)
                form, shape = form + "[" + ", ".join(parts) + "]", tuple(out)
        elif kind == "flip": form, shape = f"flip({{}}, axis: {r.randrange(rank)})", v.shape
        elif kind == "reshape": form, shape = f"{{}}.reshape([{size(v.shape)}])", (size(v.shape),)
        elif kind == "concat":
            if size(v.shape) > 10000: return None
            axis = r.randrange(rank)
            form, shape = f"concat(({{}}, {{}}), axis: {axis})", tuple(2 * d if i == axis else d for i, d in enumerate(v.shape))
        elif kind == "new": form, shape = "{}[new]", (1,) + v.shape
        elif kind == "broadcast":
            n = r.choice([1, 2, 3])
            if size(v.shape) * n > 20000: return None
            form, shape = f"broadcast_to({{}}, [{', '.join(map(str, (n,) + v.shape))}])", (n,) + v.shape
        elif kind == "pad":
            if v.dtype == "bool": return None
            widths = [(r.randint(0, 2), r.randint(0, 2)) for _ in v.shape]
            form = f"pad({{}}, [{', '.join(f'[{a}, {b}]' for a, b in widths)}])"
            shape = tuple(d + a + b for d, (a, b) in zip(v.shape, widths))
        elif kind == "gather" and v.shape[0] > 0:
            n = r.choice([1, 2, 5, 17])
            form, shape = f"{{}}[(arange({n}) * {r.randint(1, 9)}) % {v.shape[0]}]", (n,) + v.shape[1:]
        elif kind == "window" and v.shape[0] > 1:
            n = r.randint(1, v.shape[0])
            form, shape = f"{{}}[{r.randint(0, v.shape[0] - n)} :+ {n}]", (n,) + v.shape[1:]
        else: return None
        expr = form.replace("{}", v.name)
        return self.let(expr, v.dtype, shape, form.replace("{}", v.bound) if v.bound else None, v.small)
    def update(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.shape and min(v.shape) > 0)
        if not v: return None
        n = self.name()
        self.emit(f"var {n} = {v.name}")
        lo = r.randint(0, v.shape[0] - 1); hi = r.randint(lo + 1, v.shape[0])
        u = self.source(v.dtype, (hi - lo,) + v.shape[1:])
        op = "=" if v.dtype == "bool" else r.choice(["=", "+=", "="])
        self.emit(f"{n}[{lo}:{hi}] {op} {u.name}")
        return self.let(n, v.dtype, v.shape, None, False)
    def loop(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i32", "i64", "u8", "f32", "i16"))
        if not v: return None
        n, t, trips = self.name(), self.name("t"), r.choice([0, 1, 2, 5])
        self.emit(f"var {n} = {v.name}")
        if v.dtype == "f32":
            body = r.choice([f"{n} = {n} * 0.5 + {v.name}", f"{n} = max({n} - 1.0, {v.name} * 0.25)"])
        else:
            body = r.choice([f"{n} = {n} * 3 + {v.dtype}({t})", f"{n} += {v.name}", f"{n} = {v.name} - {n}"])
        kind = r.choice(["for", "while", "if"])
        if kind == "for": self.emit(f"for {t} in 0..{trips} {{ {body} }}")
        elif kind == "while":
            self.emit(f"var {t} = 0")
            self.emit(f"while {t} < {trips} {{ {body}; {t} += 1 }}")
        else:
            self.emit(f"let {t} = {trips}")
            c = self.pick(lambda v: v.exact and v.dtype in ("i64", "i32") and v.shape == ())
            self.emit(f"if {c.name if c else trips} > 1 {{ {body} }} else {{ {n} = {v.name} }}")
        return self.let(n, v.dtype, v.shape, None, False)
    def call(self):
        v = self.pick(lambda v: v.exact and v.dtype in ("f32", "i64", "i32") and len(v.shape) >= 1 and v.small)
        if not v: return None
        return self.let(f"helper({v.name})", v.dtype, v.shape, None, False)

    def build(self, operations=14):
        for _ in range(self.r.randint(2, 4)): self.source()
        made, kinds = 0, self.kinds()
        while made < operations:
            v = self.r.choice(kinds)()
            if v is None: continue
            made += 1
            if self.r.random() < 0.4: self.save(v)
        self.save(self.values[-1])
        return "\n".join(self.declarations() + self.lines) + "\n"

    def kinds(self):
        return [self.unary, self.function, self.binary, self.binary, self.binary, self.compare, self.where, self.cast, self.reduce,
                 self.reduce, self.rowwise, self.product, self.move, self.move, self.move, self.update, self.loop, self.call] + self.more_kinds() + self.numeric_kinds() + self.language_kinds() + self.flow_kinds() + self.module_kinds()

    def declarations(self):
        """What the program declares, without the functions and structs that it does not use."""
        declared = self.HEAD + self.DECLARATIONS + self.LANGUAGE + self.FLOW
        # What calls `call` names the struct that it is for.
        name = {line: re.match(r"fn call.*?\(\w+: (\w+)|(?:fn|struct) (\w+)", line) for line in declared}
        kept, text = [line for line in declared if not name[line]], "\n".join(self.lines)
        while True:
            more = [line for line in declared if line not in kept and re.search(rf"\b{name[line][1] or name[line][2]}\b", text)]
            if not more: return [line for line in declared if line in kept]
            kept += more
            text += "\n".join(more)

    def save(self, v):
        form = "f32({})" if v.dtype == "bf16" else "{}"  # .npy has no bf16
        self.emit(f'save("r{self.results}.npy", {form.format(v.name)})')
        if v.bound: self.emit(f'save("b{self.results}.npy", {form.format(v.bound)})')
        self.results += 1
