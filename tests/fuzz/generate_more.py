"""Further operations of the random programs (see generate.py): special values, movement, indexing, scans, order, random
numbers, products, control flow, structs, functions. Each method returns a value, or None where nothing fits."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "numerics"))
import bounds

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
SAME_WIDTH = {"f16": ["i16", "u16"], "bf16": ["i16", "u16"], "f32": ["i32", "u32"], "f64": ["i64", "u64"], "i32": ["u32"], "i64": ["u64"],
              "i8": ["u8"], "u16": ["i16"]}
LARGEST = {"f16": "65504.0", "bf16": "3.3895314e38", "f32": "3.4028235e38", "f64": "1.7976931348623157e308"}
TINY = {"f16": "6e-8", "bf16": "1e-40", "f32": "1e-45", "f64": "5e-324"}


def size(shape):
    n = 1
    for d in shape: n *= d
    return n


def dims(shape): return "[" + ", ".join(map(str, shape)) + "]"


class MoreOps:
    # ---- values
    def special(self):
        """NaN, infinities, signed zeros, the largest and the smallest values among small ones."""
        r = self.r
        v = self.source(r.choice(["f32", "f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u32", "u64"]))
        if not v.shape or not size(v.shape): return None
        if v.is_float: values = ["nan", "inf", "(-inf)", "(-0.0)", "0.0", LARGEST[v.dtype], f"(-{LARGEST[v.dtype]})", TINY[v.dtype]]
        else: values = [f"max_value({v.dtype})", f"min_value({v.dtype})", "0", "1"]
        expr = v.name
        for x in r.sample(values, min(len(values), 3)):
            m = r.choice([2, 3, 5, 7])
            mask = f"(arange({size(v.shape)}) % {m} == {r.randrange(m)}).reshape({dims(v.shape)})"
            expr = f"where({mask}, {v.dtype}({x}), {expr})"
        return self.let(expr, v.dtype, v.shape, None, False)

    def creation(self):
        r = self.r
        n, m = r.choice([1, 2, 5, 8, 17]), r.choice([1, 3, 8, 16])
        t = r.choice(["f32", "f64", "i32", "i64", "u8"])
        form, dtype, shape = r.choice([
            (f"eye({n}, {m}, k: {r.randint(-2, 2)}, dtype: {t})", t, (n, m)), (f"full([{n}, {m}], {t}(3))", t, (n, m)),
            (f"linspace(-1.0, 2.0, {n}, dtype: f64)", "f64", (n,)), (f"arange({-n}, {m}, 2)", "i64", ((n + m + 1) // 2,)),
            (f"tabulate([{n}, {m}], |i, j| i * 3 - j)", "i64", (n, m)), (f"zeros([{n}, 0, {m}], dtype: {t})", t, (n, 0, m))])
        return self.let(form, dtype, shape)

    def random(self):
        r = self.r
        if r.random() < 0.3: self.emit(f"seed({r.randint(0, 99)})")
        s = self.shape(r.choice([1, 2]))
        form, dtype, shape = r.choice([
            (f"rand({dims(s)})", "f32", s), (f"rand({dims(s)}, dtype: f64)", "f64", s), (f"randn({dims(s)})", "f32", s),
            (f"randint(-5, 9, {dims(s)})", "i64", s), (f"bernoulli(0.4, {dims(s)})", "bool", s)])
        v = self.let(form, dtype, shape, None, True, keep=not form.startswith("randn"))
        if not form.startswith("randn"): return v
        return self.let(v.name, dtype, shape, f"abs({v.name}) * {2.0 ** -20!r} + {2.0 ** -18!r}")
        # Made of functions: r cos(a), r up to 5.8, and the angle a up to 2 pi is off by an ulp, 2^-21.

    # ---- elementwise
    def unary_more(self):
        r = self.r
        v = self.pick(lambda v: v.exact)
        if not v: return None
        if v.dtype == "bool": return self.let(r.choice([f"not {v.name}", f"logical_not({v.name})"]), "bool", v.shape)
        if v.is_float:
            op = r.choice(["sign", "trunc", "ceil", "isnan", "isinf", "isfinite", "hardtanh", "reciprocal", "sqrt"])
            if op == "sqrt": return self.let(f"sqrt(abs({v.name}))", v.dtype, v.shape, None, v.small)
            return self.let(f"{op}({v.name})", "bool" if op.startswith("is") else v.dtype, v.shape, None, v.small and op != "reciprocal")
        op = r.choice(["sign", "bitwise_invert", "popcount", "abs"])
        return self.let(f"{op}({v.name})", v.dtype, v.shape, None, v.small and op != "bitwise_invert")

    def binary_more(self):
        r = self.r
        a = self.pick(lambda v: v.exact)
        if not a: return None
        b = self.partner(a) if a.dtype != "bool" else self.source("bool", a.shape)
        if not b.exact or self.joined(a, b) is None: return None
        s = self.joined(a, b)
        if a.dtype == "bool":
            op = r.choice(["and", "or", "logical_xor"])
            return self.let(f"logical_xor({a.name}, {b.name})" if op == "logical_xor" else f"{a.name} {op} {b.name}", "bool", s)
        if a.is_float:
            op = r.choice(["copysign", "maximum", "minimum", "nextafter"])
            return self.let(f"{op}({a.name}, {b.name})", a.dtype, s, None, a.small and b.small)
        op = r.choice(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "trunc_div", "fmod", "maximum", "pow"])
        if op.endswith("shift"): return self.let(f"{op}({a.name}, {b.name} % {b.dtype}({BITS[a.dtype] - 1}) + {b.dtype}({r.randint(0, 3)}))" if a.dtype[0] == "u"
                                                 else f"{op}({a.name}, abs({b.name}) % {b.dtype}({BITS[a.dtype] + 3}))", a.dtype, s, None, False)
        if op in ("trunc_div", "fmod"): return self.let(f"{op}({a.name}, where({b.name} == 0, {b.dtype}(3), {b.name}))", a.dtype, s, None, a.small)
        if op == "pow": return self.let(f"{a.name} ** ({b.name} % {b.dtype}(5) * ({b.name} % {b.dtype}(5)))", a.dtype, s, None, False)
        return self.let(f"{op}({a.name}, {b.name})", a.dtype, s, None, a.small and b.small)

    def ternary(self):
        r = self.r
        a = self.pick(lambda v: v.exact and v.dtype != "bool")
        if not a: return None
        b, c = self.source(a.dtype, a.shape), self.source(a.dtype, a.shape)
        form = r.choice(["fma({0}, {1}, {2})" if a.is_float and a.small else "where({0} < {1}, {1}, {2})", "clamp({0}, {1}, {2})", "where({0} == {1}, {2}, {0})"])
        return self.let(form.format(a.name, b.name, c.name), a.dtype, a.shape, None, False)

    def bitcast(self):
        v = self.pick(lambda v: v.exact and v.small and v.dtype in SAME_WIDTH)
        if not v: return None
        t = self.r.choice(SAME_WIDTH[v.dtype])
        # Which NaN a result is depends on the machine (docs/math.md).
        x = f"where(isnan({v.name}), {v.dtype}(1), {v.name})" if v.is_float else v.name
        return self.let(f"bitcast({x}, dtype: {t})", t, v.shape, None, False)

    def saturate(self):
        """Float to integer truncates and saturates; integer to integer wraps."""
        v = self.pick(lambda v: v.exact and v.dtype != "bool" and not v.small) or self.special()
        if not v: return None
        t = self.r.choice(list(BITS) + ["f32", "f64"])
        return None if t == v.dtype else self.let(f"{t}({v.name})", t, v.shape, None, False)

    def function_more(self):
        r = self.r
        v = self.pick(lambda v: v.dtype in ("f32", "f64") and v.exact and v.small)
        if not v: return None
        f, arg = r.choice([("log", "abs({0}) + 0.5"), ("log2", "abs({0}) + 0.25"), ("log10", "abs({0}) + 1.0"), ("rsqrt", "abs({0}) + 0.5"),
                           ("cbrt", "{0}"), ("sinh", "clamp({0}, -8, 8)"), ("cosh", "clamp({0}, -8, 8)"), ("asin", "clamp({0} / 16.0, -1, 1)"),
                           ("acos", "clamp({0} / 16.0, -1, 0.5)"), ("asinh", "{0}"), ("acosh", "abs({0}) + 1.5"), ("atanh", "clamp({0} / 16.0, -0.9, 0.9)"),
                           ("erfc", "clamp({0}, -2, 4)"), ("lgamma", "abs({0}) + 3.0"), ("tan", "clamp({0}, -1, 1)"), ("atan2", "{0}, abs({0}) + 1.0"),
                           ("hypot", "{0}, {0} + 1.0"), ("logaddexp", "{0}, abs({0}) + 1.0"), ("pow", "abs({0}) + 0.5, 1.5")])
        n = self.let(f"{f}({arg.format(v.name)})", v.dtype, v.shape, None, True, keep=False)
        return self.let(n.name, v.dtype, v.shape, f"abs({n.name}) * {bounds.relative(f, v.dtype)!r} + {1e-30 if v.dtype == 'f32' else 1e-300!r}")

    # ---- movement
    def rearrange(self):
        r = self.r
        v = self.pick(lambda v: v.shape)
        if not v: return None
        rank, s = len(v.shape), list(v.shape)
        a, b = r.randrange(rank), r.randrange(rank)
        kind = r.choice(["flatten", "expand", "permute", "transpose", "move", "tile", "repeat", "stack", "split", "roll", "tril", "diagonal", "edge",
                         "reflect", "wrap", "crop", "backwards", "squeeze", "unstack", "window"])
        small = size(s) <= 8000
        if kind == "flatten": form, out = "flatten({})", [size(s)]
        elif kind == "expand": form, out = f"expand_dims({{}}, axis: {a})", s[:a] + [1] + s[a:]
        elif kind == "permute":
            p = list(range(rank)); r.shuffle(p)
            form, out = f"permute_dims({{}}, {p})", [s[i] for i in p]
        elif kind == "transpose":
            out = list(s); out[a], out[b] = out[b], out[a]
            form = f"transpose({{}}, {a}, {b})"
        elif kind == "move":
            out = list(s); d = out.pop(a); out.insert(b, d)
            form = f"moveaxis({{}}, {a}, {b})"
        elif kind == "tile" and small:
            t = [r.choice([1, 2, 3]) for _ in s]
            if size(s) * size(t) > 20000: return None
            form, out = f"tile({{}}, {t})", [x * y for x, y in zip(s, t)]
        elif kind == "repeat" and small: n = r.choice([0, 1, 2]); form, out = f"repeat({{}}, {n}, axis: {a})", [n * d if i == a else d for i, d in enumerate(s)]
        elif kind == "stack" and small: form, out = f"stack(({{}}, {{}}), axis: {a})", s[:a] + [2] + s[a:]
        elif kind == "split" and s[a] % 2 == 0: form, out = f"split({{}}, 2, axis: {a}).{r.randrange(2)}", [d // 2 if i == a else d for i, d in enumerate(s)]
        elif kind == "unstack" and 0 < s[a] <= 8: form, out = f"unstack({{}}, axis: {a}).{r.randrange(s[a])}", s[:a] + s[a + 1:]
        elif kind == "roll": form, out = f"roll({{}}, {r.randint(-9, 9)}, axis: {a})", s
        elif kind == "tril" and rank >= 2 and v.dtype != "bool": form, out = f"{r.choice(['tril', 'triu'])}({{}}, k: {r.randint(-2, 2)})", s
        elif kind == "diagonal" and rank >= 2 and min(s[-2:]) > 2:
            k = r.randint(-1, 1)
            form, out = f"diagonal({{}}, offset: {k})", s[:-2] + [min(s[-2] + min(k, 0), s[-1] - max(k, 0))]
        elif kind in ("edge", "reflect", "wrap") and min(s) > 3 and small and v.dtype != "bool":
            w = [(r.randint(0, 2), r.randint(0, 2)) for _ in s]
            form = f"pad({{}}, [{', '.join(f'[{x}, {y}]' for x, y in w)}], mode: \"{kind}\")"
            out = [d + x + y for d, (x, y) in zip(s, w)]
        elif kind == "crop" and min(s) > 3 and v.dtype != "bool":
            w = [(-r.randint(0, 1), r.randint(-1, 2)) for _ in s]
            form = f"pad({{}}, [{', '.join(f'[{x}, {y}]' for x, y in w)}], value: 0)"
            out = [d + x + y for d, (x, y) in zip(s, w)]
        elif kind == "backwards": form, out = "{}[" + ", ".join("::-1" if i == a else ":" for i in range(rank)) + "]", s
        elif kind == "squeeze" and 1 in s:
            a = s.index(1)
            form, out = f"squeeze({{}}, axis: {a})", s[:a] + s[a + 1:]
        elif kind == "window" and s[a] > 2:
            n, i = r.randint(1, s[a]), self.name("at")
            self.emit(f"var {i} = 0")
            self.emit(f"for t in 0..{r.randint(0, s[a] - n)} {{ {i} = t }}")
            form, out = "{}[" + ", ".join(f"{i} :+ {n}" if j == a else ":" for j in range(rank)) + "]", [n if j == a else d for j, d in enumerate(s)]
        else: return None
        if len(out) > 6: return None
        return self.let(form.replace("{}", v.name), v.dtype, out, form.replace("{}", v.bound) if v.bound else None, v.small)

    # ---- indices
    def indices(self, n, count):
        """The name of `count` run-time indices of a dim of n, some negative, some repeated."""
        r = self.r
        return self.let(f"(arange({count}) * {r.randint(1, 9)} + {r.randint(0, 7)}) % {2 * n} - {n}", r.choice(["i64"]), (count,), None, True, keep=False).name

    def indexed(self):
        r = self.r
        v = self.pick(lambda v: v.shape and min(v.shape) > 0 and v.exact and size(v.shape) <= 8000)
        if not v: return None
        s, rank = list(v.shape), len(v.shape)
        a, n = r.randrange(rank), r.choice([0, 1, 3, 8, 17])
        kind = r.choice(["take", "rows", "two", "along", "one_hot", "scatter", "scatter", "add", "set", "element", "element_set"])
        if n * size(s) > 40000: return None
        if kind == "take": return self.let(f"take({v.name}, {self.indices(s[a], n)}, axis: {a})", v.dtype, s[:a] + [n] + s[a + 1:], None, v.small)
        if kind == "rows": return self.let(f"{v.name}[{self.indices(s[0], n)}]", v.dtype, [n] + s[1:], None, v.small)
        if kind == "two" and rank >= 2: return self.let(f"{v.name}[{self.indices(s[0], n)}, {self.indices(s[1], n)}]", v.dtype, [n] + s[2:], None, v.small)
        if kind == "along":
            i = self.let(f"(arange({size(s)}) * 7 % {s[a]}).reshape({dims(s)})", "i64", s, None, True, keep=False).name
            return self.let(f"take_along_axis({v.name}, {i}, axis: {a})", v.dtype, s, None, v.small)
        if kind == "one_hot": return self.let(f"one_hot({self.indices(5, n)}, 5, dtype: f32)", "f32", (n, 5))
        if kind == "element":
            place = ", ".join(str(r.randrange(-d, d)) for d in s)
            return self.let(f"{v.name}[{place}]", v.dtype, (), None, v.small)
        if kind == "scatter" and v.dtype not in ("bool", "f16", "bf16"):
            i = self.let(f"(arange({size(s)}) * 5 % {s[a]}).reshape({dims(s)})", "i64", s, None, True, keep=False).name
            u = self.source(v.dtype, s)
            return self.let(f"scatter({v.name}, {i}, {u.name}, axis: {a}, reduce: \"{r.choice(['set', 'add', 'max', 'min'])}\")", v.dtype, s, None, False)
        if kind in ("add", "set", "element_set"):
            if v.dtype in ("bool", "f16", "bf16"): return None
            w = self.name()
            self.emit(f"var {w} = {v.name}")
            op = "+=" if kind == "add" else "="
            if kind == "element_set": self.emit(f"{w}[{', '.join(str(r.randrange(d)) for d in s)}] {r.choice(['=', '+='])} {v.dtype}(7)")
            else:
                i = self.indices(s[0], n)
                self.emit(f"{w}[{i}] {op} {self.source(v.dtype, [n] + s[1:]).name}")
            return self.let(w, v.dtype, s, None, False)
        return None

    # ---- reductions, scans and order
    def reduce_more(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.shape and min(v.shape) > 0 and v.dtype != "bool")
        if not v: return None
        a = r.randrange(len(v.shape))
        rest = [d for i, d in enumerate(v.shape) if i != a]
        op = r.choice(["argmin", "count_nonzero", "prod", "median", "all_max", "all_min"])
        if op == "argmin": return self.let(f"argmin({v.name}, axis: {a})", "i64", rest)
        if op == "count_nonzero": return self.let(f"count_nonzero({v.name}, axis: {a})", "i64", rest)
        if op.startswith("all"): return self.let(f"{op[4:]}({v.name})", v.dtype, (), None, v.small)
        if op == "prod" and not v.is_float: return self.let(f"prod({v.name}, axis: {a})", "u64" if v.dtype[0] == "u" else "i64", rest, None, False)
        return None

    def scan(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.shape and v.dtype != "bool" and size(v.shape) <= 3000)
        if not v: return None
        a = r.randrange(len(v.shape))
        op = r.choice(["cummax", "cummin", "cumsum", "cumprod"])
        if op in ("cumsum", "cumprod") and v.is_float: return None
        dtype = v.dtype if op in ("cummax", "cummin") else ("u64" if v.dtype[0] == "u" else "i64")
        more = f", exclusive: true" if op in ("cumsum", "cumprod") and r.random() < 0.3 else ""
        return self.let(f"{op}({v.name}, axis: {a}, reverse: {r.choice(['true', 'false'])}{more})", dtype, v.shape, None, False)

    def order(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.shape and size(v.shape) <= 2000 and v.dtype != "bool")
        if not v: return None
        a = r.randrange(len(v.shape))
        op = r.choice(["sort", "argsort", "topk", "searchsorted"])
        down = r.choice(["true", "false"])
        if op == "sort": return self.let(f"sort({v.name}, axis: {a}, descending: {down})", v.dtype, v.shape, None, v.small)
        if op == "argsort": return self.let(f"argsort({v.name}, axis: {a}, descending: {down})", "i64", v.shape)
        if op == "topk" and v.shape[a] > 0:
            k = r.randint(1, v.shape[a])
            part = r.randrange(2)
            return self.let(f"topk({v.name}, k: {k}, axis: {a}, largest: {down}).{part}", ("i64" if part else v.dtype), [k if i == a else d for i, d in enumerate(v.shape)], None, v.small)
        if op == "searchsorted" and len(v.shape) == 1 and v.small:
            u = self.source(v.dtype, (r.choice([1, 5, 16]),))
            return self.let(f"searchsorted(sort({v.name}), {u.name}, right: {down})", "i64", u.shape)
        return None

    # ---- products
    def product_more(self):
        r = self.r
        n, k, m = (r.choice([0, 1, 2, 3, 8, 16, 17, 33]) for _ in range(3))
        kind = r.choice(["int", "vector", "einsum", "outer", "batch", "conv", "pool", "half", "autocast"])
        if kind == "int":
            t = r.choice(["i32", "i64", "u8", "i16"])
            return self.let(f"{self.source(t, (n, k)).name} @ {self.source(t, (k, m)).name}", t, (n, m), None, False)
        if kind == "outer":
            a, b = self.source("f32", (n,)), self.source("f32", (m,))
            return self.let(f"outer({a.name}, {b.name})", "f32", (n, m), None, False)
        if kind == "pool":
            a = self.source(r.choice(["f32", "i32"]), (2, 3, r.choice([4, 7, 16])))
            w, s = r.randint(1, 3), r.randint(1, 3)
            return self.let(f"max_pool({a.name}, {w}, stride: {s})", a.dtype, (2, 3, (a.shape[2] - w) // s + 1), None, a.small)
        if kind == "vector":
            a, b = self.source("f32", (n, k)), self.source("f32", (k,))
            return self.let(f"{a.name} @ {b.name}", "f32", (n,), f"(abs({a.name}) @ abs({b.name})) * {bounds.terms(k)!r}")
        if kind == "einsum":
            a, b = self.source("f32", (n, k)), self.source("f32", (m, k))
            if r.random() < 0.5:
                c = self.source("f32", (k, n))  # in the order that is cheapest, which sums twice
                call = 'einsum("ik,jk,kl->jl", {}, {}, {})'
                return self.let(call.format(a.name, b.name, c.name), "f32", (m, n),
                                call.format(*(f"abs({x.name})" for x in (a, b, c))) + f" * {bounds.terms(n + k + 1)!r}")
            return self.let(f'einsum("ik,jk->ji", {a.name}, {b.name})', "f32", (m, n), f'einsum("ik,jk->ji", abs({a.name}), abs({b.name})) * {bounds.terms(k)!r}')
        if kind == "batch":
            a, b = self.source("f32", (2, 1, n, k)), self.source("f32", (3, k, m))
            return self.let(f"{a.name} @ {b.name}", "f32", (2, 3, n, m), f"(abs({a.name}) @ abs({b.name})) * {bounds.terms(k)!r}")
        if kind == "conv":
            groups = r.choice([1, 2])
            w, h = r.choice([3, 5, 9, 16]), r.choice([1, 3])
            a, b = self.source("f32", (2, 4, w)), self.source("f32", (6, 4 // groups, h))
            p, s = r.randint(0, 1), r.choice([1, 2])
            call = f"conv1d({{}}, {{}}, padding: {p}, stride: {s}, groups: {groups})"
            return self.let(call.format(a.name, b.name), "f32", (2, 6, (w + 2 * p - h) // s + 1), call.format(f"abs({a.name})", f"abs({b.name})") + f" * {bounds.terms(4 * h)!r}")
        if k == 0: return None
        t = r.choice(["f16", "bf16"])
        if kind == "autocast":
            a, b = self.source("f32", (n, k)), self.source("f32", (k, m))
            return self.let(f"@autocast({t}) {{ {a.name} @ {b.name} }}", "f32", (n, m), f"(abs({a.name}) @ abs({b.name})) * {2 * bounds.terms(k)!r} + 1e-35")
        a, b = self.source(t, (n, k)), self.source(t, (k, m))
        return self.let(f"{a.name} @ {b.name}", t, (n, m), f"{t}((abs(f32({a.name})) @ abs(f32({b.name}))) * {bounds.product_of_halves(t)!r} + 1e-6)")

    # ---- control flow, functions, structs
    def native(self):
        """A loop over elements: one native kernel."""
        r = self.r
        v = self.pick(lambda v: v.exact and len(v.shape) in (1, 2) and 0 < size(v.shape) <= 300 and v.dtype in ("i32", "i64", "f32", "f64", "u8"))
        if not v: return None
        w = self.name()
        self.emit(f"var {w} = {v.name}")
        body = r.choice(["{w}[{i}] = {v}[{j}]", "{w}[{i}] += {v}[{j}]", "{w}[{i}] = {w}[{j}] + {v}[{i}]", "if {v}[{i}] > {v}[{j}] {{ {w}[{i}] = {v}[{j}] }}",
                         "let q = {v}[{j}]; {w}[{j}] = {w}[{i}]; {w}[{i}] = q"])
        if len(v.shape) == 1:
            n = v.shape[0]
            self.emit(f"for i in 0..{n} {{ {body.format(w=w, v=v.name, i='i', j=f'{n - 1} - i')} }}")
        else:
            n, m = v.shape
            self.emit(f"for i in 0..{n} {{ for j in 0..{m} {{ {body.format(w=w, v=v.name, i='i, j', j=f'{n - 1} - i, j')} }} }}")
        return self.let(w, v.dtype, v.shape, None, False)

    def nested(self):
        """Loops with exits, and branches on run-time values."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i32", "i64", "f32"))
        if not v: return None
        w, c, n, k = self.name(), self.name("c"), r.randint(0, 6), r.randint(0, 5)
        self.emit(f"var {w} = {v.name}")
        self.emit(f"var {c} = 0")
        step = r.choice([f"{w} = {w} - {v.name}", f"{w} = max({w}, {v.name}) + 1", f"{w} = -{w}"])
        form = r.choice(["for a in 0..{n} {{ if a == {k} {{ break }}; {step}; {c} += a }}",
                         "for a in 0..{n} {{ if a % 2 == {k} % 2 {{ continue }}; {step}; {c} += 1 }}",
                         "for a in rev(0..{n}) {{ for b in 0..2 {{ {c} += a * b; {step} }} }}",
                         "while {c} < {n} {{ {c} += 1; if {c} == {k} {{ break }}; {step} }}",
                         "for a in 0..{n} by 2 {{ if {c} > {k} {{ {step} }} else {{ {c} += 3 }} }}",
                         "for a in static 0..{n} {{ {step}; {c} += a }}"])
        self.emit(form.format(n=n, k=k, step=step, c=c, w=w))
        self.values.append(self.let(c, "i64", (), None, True, keep=False))
        return self.let(w, v.dtype, v.shape, None, False)

    def branch(self):
        v = self.pick(lambda v: v.exact and v.dtype in ("i32", "i64", "f32", "u8"))
        if not v: return None
        c = self.pick(lambda v: v.exact and v.dtype == "i64" and v.shape == ())
        if not c: c = self.let(str(self.r.randint(0, 3)), "i64", (), None, True, keep=False)
        u = self.source(v.dtype, v.shape)
        return self.let(f"if {c.name} % 2 == 0 {{ {v.name} + {u.name} }} else {{ {u.name} }}", v.dtype, v.shape, None, False)

    def tree(self):
        v = self.pick(lambda v: v.exact and v.dtype in ("f32", "f64") and len(v.shape) == 1)
        if not v: return None
        u, p = self.source(v.dtype, v.shape), self.name("p")
        self.emit(f"var {p} = Pair {{ a: {v.name}, b: {u.name} }}")
        self.emit(self.r.choice([f"{p} = {p} - 0.5 * {p}", f"{p}.a = {p}.b + {p}.a", f"{p} = where({v.dtype}(1) < {v.dtype}(2), {p}, {p} + {p})", f"{p} = swap({p})"]))
        return self.let(self.r.choice([f"{p}.a", f"{p}.b", f"{p}.total()"]), v.dtype, v.shape, None, False)

    def higher(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i64", "i32", "f32") and v.shape and 0 < v.shape[0] <= 17)
        if not v: return None
        s = v.shape
        form, shape = r.choice([("map(|x| x + x, {})", s), ("scan(|c, x| (c - x, c), {}[0], {}).1", s), ("reduce(|a, b| max(a, b), {}[0], {})", s[1:]),
                                ("twice(|x| x - 1, {})", s), ("({} |> helper |> helper)", s)])
        return self.let(form.replace("{}", v.name), v.dtype, shape, None, False)

    DECLARATIONS = ["fn helper[T: real](x: T[...S]) -> T[...S] { let y = x + x; y - max(x, 1) }",
                    "fn twice[F: fn, T: real](f: F, x: T[...S]) -> T[...S] = f(f(x))",
                    "struct Pair[N, T: float = f32] { a: T[N], b: T[N] }",
                    "fn swap[N, T: float](p: Pair[N, T]) -> Pair[N, T] = Pair { a: p.b, b: p.a }",
                    "fn total[N, T: float](p: Pair[N, T]) -> T[N] { if N > 7 { return p.a }; p.a + p.b }"]

    def more_kinds(self):
        return [self.special, self.creation, self.random, self.unary_more, self.binary_more, self.binary_more, self.ternary, self.bitcast, self.saturate,
                self.function_more, self.function_more, self.rearrange, self.rearrange, self.rearrange, self.indexed, self.indexed, self.reduce_more, self.scan, self.order,
                self.product_more, self.native, self.nested, self.branch, self.tree, self.higher]
