"""Further operations of the random programs (see generate.py): the half-width floats, bounded reductions, losses of accuracy
that functions of several values have, attention, pooling and convolutions of more dims, and linear algebra on matrices
that are well conditioned by construction."""
from generate_more import bounds, dims, size


class NumericOps:
    def flat(self, expr, dtype, shape, error):
        """A value with the same bound everywhere."""
        v = self.let(expr, dtype, shape, None, True, keep=False)
        return self.let(v.name, dtype, shape, f"full({dims(shape)}, {dtype}({error!r}))")

    def halves(self):
        """f16 and bf16: conversions both ways, and arithmetic rounded once."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("f16", "bf16") and v.small) or self.source(r.choice(["f16", "bf16"]))
        kind = r.choice(["wide", "other", "fma", "max", "functions", "sum"])
        if kind == "wide": return self.let(f"f32({v.name}) * 1.25", "f32", v.shape)
        if kind == "other":
            t = r.choice(["bf16", "f16", "i32", "f64"])
            return None if t == v.dtype else self.let(f"{t}({v.name})", t, v.shape)
        if kind == "fma": return self.let(f"({v.name} * {v.name} - {v.name} / 3.0)", v.dtype, v.shape, None, False)
        if kind == "max" and v.shape and min(v.shape): return self.let(f"max({v.name}, axis: 0)", v.dtype, v.shape[1:])
        if kind == "functions":
            f = r.choice(["exp", "tanh", "sigmoid", "sin"])
            n = self.let(f"{f}(clamp({v.name}, -4, 4))", v.dtype, v.shape, None, True, keep=False)
            return self.let(n.name, v.dtype, v.shape, f"abs({n.name}) * {bounds.relative(f, v.dtype)!r} + {v.dtype}(6e-8)")
        if kind == "sum" and v.shape and size(v.shape) <= 3000:
            return self.let(f"sum({v.name})", v.dtype, (), f"{v.dtype}(sum(abs(f32({v.name}))) * {bounds.product_of_halves(v.dtype)!r} + 1e-6)")
        return None

    def reduce_bounded(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.small and v.dtype in ("f32", "f64") and v.shape and min(v.shape) > 0)
        if not v: return None
        a = r.randrange(len(v.shape))
        k, rest = v.shape[a], [d for i, d in enumerate(v.shape) if i != a]
        t, largest = v.dtype, f"max(abs({v.name}), axis: {a})"
        op = r.choice(["logsumexp", "variance", "norm", "std", "prod", "cumsum", "logcumsumexp"])
        if op == "logsumexp": return self.let(f"logsumexp({v.name}, axis: {a})", v.dtype, rest, f"({largest} + {k + 8.0!r}) * {bounds.composed('logsumexp', k, t)!r}")
        if op == "variance":
            return self.let(f"variance({v.name}, axis: {a})", v.dtype, rest, f"{largest} * {largest} * {bounds.composed('variance', k, t)!r}")
        if op == "std":  # away from zero, where the square root has no bound
            wide = f"({v.name} + {v.dtype}(arange({size(v.shape)}) % 3 * 100).reshape({dims(v.shape)}))"
            return self.let(f"square(std({wide}, axis: {a}))", v.dtype, rest, f"({largest} + 200.0) * ({largest} + 200.0) * {bounds.composed('std', k, t)!r}")
        if op == "norm": return self.let(f"norm({v.name}, ord: {r.choice(['1', '2', 'inf'])}, axis: {a})", v.dtype, rest, f"sum(abs({v.name}), axis: {a}) * {bounds.composed('norm', k, t)!r}")
        if op == "prod":
            if k > 17: return None
            return self.let(f"prod(clamp({v.name}, -2, 2), axis: {a})", v.dtype, rest, f"prod(abs(clamp({v.name}, -2, 2)), axis: {a}) * {bounds.terms(k, t)!r} + 1e-37")
        if op == "cumsum":
            return self.let(f"cumsum({v.name}, axis: {a})", v.dtype, v.shape, f"cumsum(abs({v.name}), axis: {a}) * {bounds.composed('cumsum', k, t)!r}")
        return self.let(f"logcumsumexp({v.name}, axis: {a})", v.dtype, v.shape, f"(max(abs({v.name}), axis: {a}, keep: true) + {v.name} * 0.0 + {k + 8.0!r}) * {bounds.composed('logsumexp', k, t)!r}")

    def activation(self):
        v = self.pick(lambda v: v.exact and v.small and v.dtype in ("f32", "f64"))
        if not v: return None
        f = self.r.choice(["gelu({})", "gelu({}, approximate: \"tanh\")", "silu({})", "softplus({})", "mish({})", "elu({})", "selu({})", "hardswish({})", "leaky_relu({})",
                           "hardsigmoid({})", "celu({})", "softsign({})", "digamma(abs({}) + 0.5)", "lerp({}, 1.0, 0.25)"])
        return self.let(f.format(v.name), v.dtype, v.shape, f"(abs({v.name}) + 4.0) * {bounds.composed('activation', 1, v.dtype)!r}")

    def attention(self):
        r = self.r
        t = r.choice(["f32", "f32", "f64"])
        heads, queries, keys, d = r.choice([1, 2, 4]), r.choice([1, 2, 7, 16, 33]), r.choice([1, 3, 16, 65]), r.choice([1, 4, 8, 16, 17])
        fewer = r.choice([1, heads])
        q, k, v = (self.source(t, s) for s in ((heads, queries, d), (fewer, keys, d), (fewer, keys, d)))
        more = ""
        if queries <= keys and r.random() < 0.3: more = ", causal: true"
        elif r.random() < 0.3: more = f", mask: ((arange({queries * keys}) % 3 != 1).reshape([{queries}, {keys}]) or (arange({keys}) == 0))"
        error = f"(max(abs({q.name})) * max(abs({k.name})) * {float(d)!r} + {keys + 40.0!r}) * max(abs({v.name})) * {bounds.composed('attention', keys, t)!r}"
        return self.let(f"attention({q.name}, {k.name}, {v.name}{more})", t, (heads, queries, d), f"full([{heads}, {queries}, {d}], {error})")

    def windows(self):
        """Convolutions and pooling of two dims, also transposed, dilated, depthwise."""
        r = self.r
        h, w, c = r.choice([4, 7, 9, 16]), r.choice([5, 8, 17]), r.choice([1, 3, 4, 16])
        kind = r.choice(["conv2d", "conv2d", "depthwise", "transpose", "avg", "max2d", "unfold", "adaptive"])
        a = self.source("f32", (2, c, h, w))
        if kind in ("conv2d", "depthwise"):
            o, groups, kc = (c, c, 1) if kind == "depthwise" else (r.choice([1, 5, 16]), 1, c)
            n, p, s, dil = r.choice([1, 2, 3]), r.randint(0, 2), r.choice([1, 1, 2]), r.choice([1, 1, 2])
            b = self.source("f32", (o, kc, n, n))
            out = [(x + 2 * p - dil * (n - 1) - 1) // s + 1 for x in (h, w)]
            if min(out) < 1: return None
            call = f"conv2d({{}}, {{}}, stride: {s}, padding: {p}, dilation: {dil}, groups: {groups})"
            return self.let(call.format(a.name, b.name), "f32", (2, o, *out), call.format(f"abs({a.name})", f"abs({b.name})") + f" * {bounds.terms(kc * n * n)!r}")
        if kind == "transpose":
            o, n, s = r.choice([1, 3]), r.choice([1, 2, 3]), r.choice([1, 2])
            b = self.source("f32", (c, o, n, n))
            call = f"conv_transpose2d({{}}, {{}}, stride: {s})"
            return self.let(call.format(a.name, b.name), "f32", (2, o, (h - 1) * s + n, (w - 1) * s + n), call.format(f"abs({a.name})", f"abs({b.name})") + f" * {bounds.terms(c * n * n)!r}")
        n, s, p = r.randint(1, 3), r.randint(1, 3), 0
        out = (2, c, (h - n) // s + 1, (w - n) // s + 1)
        if kind == "avg": return self.let(f"avg_pool({a.name}, ({n}, {n}), stride: {s})", "f32", out, f"avg_pool(abs({a.name}), ({n}, {n}), stride: {s}) * {bounds.terms(n * n)!r}")
        if kind == "max2d": return self.let(f"max_pool({a.name}, ({n}, {n}), stride: {s})", "f32", out, None, a.small)
        if kind == "unfold":
            return self.let(f"unfold({a.name}, ({n}, {n}), stride: {s})", "f32", (2, c * n * n, out[2] * out[3]), None, a.small)
        return self.let(f"adaptive_avg_pool({a.name}, (2, 3))", "f32", (2, c, 2, 3), f"adaptive_avg_pool(abs({a.name}), (2, 3)) * {bounds.terms(h * w)!r}")

    # ---- linear algebra
    def linear(self):
        """Diagonally dominant matrices of small integers: condition numbers stay below 3, elements near n."""
        r = self.r
        n, t = r.choice([1, 2, 3, 5, 8, 17]), r.choice(["f32", "f64"])
        batch = r.choice([(), (), (3,)])
        s = batch + (n, n)
        raw = self.source(t, s)
        a = self.let(f"clamp({raw.name}, -1, 1) / {4.0 * n!r} + eye({n}, dtype: {t})", t, s, None, True, keep=False)
        error = bounds.composed("linear_algebra", n, t)
        m = r.choice([1, 2, 9])
        b = self.source(t, batch + (n, m))
        kind = r.choice(["inv", "solve", "triangular", "cholesky", "qr", "eigh", "values", "svd", "lstsq", "det", "slogdet", "power", "matrix_norm", "trace"])
        if kind == "inv": return self.flat(f"inv({a.name})", t, s, error)
        big = error * 64
        if kind == "solve": return self.flat(f"solve({a.name}, {b.name})", t, b.shape, big)
        if kind == "triangular":
            lower, unit = r.choice(["true", "false"]), r.choice(["true", "false"])
            return self.flat(f"solve_triangular({a.name}, {b.name}, lower: {lower}, unit: {unit})", t, b.shape, big)
        whole = f"({a.name} @ {a.name}.T)" if not batch else f"({a.name} @ transpose({a.name}, 1, 2))"
        if kind == "cholesky": return self.flat(f"cholesky({whole})", t, s, error)
        if kind in ("qr", "svd", "eigh"):  # factors are unique up to signs: their products are compared
            n1, n2, n3 = self.name("q"), self.name("q"), self.name("q")
            if kind == "qr":
                self.emit(f"let ({n1}, {n2}) = qr({a.name})")
                return self.flat(f"{n1} @ {n2}", t, s, error)
            self.emit(f"let ({n1}, {n2}, {n3}) = svd({a.name})" if kind == "svd" else f"let ({n1}, {n2}) = eigh({whole})")
            if kind == "svd": return self.flat(f"({n1} * expand_dims({n2}, axis: {len(batch)})) @ {n3}", t, s, error)
            return self.flat(f"{n1} * 1.0", t, batch + (n,), error)
        if kind == "values": return self.flat(f"eigh({whole}).0", t, batch + (n,), error)
        if kind == "lstsq":
            tall = f"concat(({a.name}, {a.name}), axis: {len(batch)})"
            right = f"concat(({b.name}, {b.name}), axis: {len(batch)})"
            return self.flat(f"lstsq({tall}, {right}).0", t, b.shape, big)
        if kind == "det": return self.flat(f"det({a.name})", t, batch, error)
        if kind == "slogdet": return self.flat(f"slogdet({a.name}).1", t, batch, error)
        if kind == "power": return self.flat(f"matrix_power({a.name}, {r.choice([-1, 0, 1, 3])})", t, s, error)
        if kind == "matrix_norm": return self.flat(f"matrix_norm({a.name}, ord: {r.choice(['2', 'inf'])})", t, batch, error)
        return self.flat(f"trace({a.name})", t, batch, error)

    def straddle(self):
        """Pieces of a flattened tensor that begin or end just beside the edge of a row: divisions of indices are exact up to there."""
        r = self.r
        v = self.pick(lambda v: len(v.shape) >= 2 and v.shape[-1] >= 2 and size(v.shape[:-1]) >= 2)
        if not v: return None
        n, rows = v.shape[-1], size(v.shape[:-1])
        # Where the elements of a row do not follow on each other, one too far is not by luck the first of the next row.
        inner = r.choice(["{}", "flip({}, axis: -1)", "flip({}, axis: 0)", "transpose({}, -1, -2)"])
        if inner.startswith("tr"): n, rows = v.shape[-2], size(v.shape) // v.shape[-2]
        if rows < 2: return None
        row = r.randint(1, rows - 1)
        lo = max(0, (row - r.randint(0, 1)) * n + r.choice([-1, 0, 0, 1]))
        hi = min(rows * n, row * n + r.choice([0, 1, 1, 2, n + 1]))
        if hi <= lo: return None
        form, count = f"flatten({inner})[{lo}:{hi}]", hi - lo
        expr = form.format(v.name) + (" + " + v.dtype + "(1)" if v.dtype != "bool" and v.exact else "")
        return self.let(expr, v.dtype, (count,), form.format(v.bound) if v.bound else None, v.small)

    def histogram(self):
        r = self.r
        kind = r.choice(["bincount", "histogram", "permutation", "meshgrid"])
        if kind == "permutation":
            n = r.choice([1, 5, 33])
            return self.let(f"permutation({n})", "i64", (n,))
        v = self.pick(lambda v: v.exact and len(v.shape) == 1 and 0 < v.shape[0] <= 2000 and v.small and v.dtype in ("i64", "i32", "f32", "f64"))
        if not v: return None
        if kind == "bincount" and not v.is_float: return self.let(f"bincount(i64({v.name}) % 8, length: 9)", "i64", (9,))
        if kind == "histogram" and v.is_float: return self.let(f"histogram({v.name}, bins: 7, range: (-8.0, 8.0))", "i64", (7,))
        if kind == "meshgrid": return self.let(f"meshgrid({v.name}[0:1], {v.name}).1", v.dtype, (v.shape[0], 1), None, v.small)
        return None

    def numeric_kinds(self):
        return [self.halves, self.reduce_bounded, self.reduce_bounded, self.activation, self.attention, self.windows, self.linear, self.straddle,
                self.histogram]
