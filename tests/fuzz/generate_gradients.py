"""Random TL programs that differentiate random functions.

Functions are of f64 and keep their numbers of about 1, with loops, branches, indices, updates, reductions, products,
scans, structs, lists, lambdas, moves between devices, checkpoints, rules of their own and derivatives inside them. A program
saves what `grad`, `value_and_grad`, `vjp`, `jvp`, `vmap` and nests of these give as rN.npy. Two right results may be apart by
2^-30 of the largest element or of 1. What is computed in between loses some bits, more in second derivatives; a rule that is
wrong is off by more than that.

Some programs have a product under `@autocast`, whose operands are f32. They are few multiples of 2^-8, so that the product is
exact in any order: what depends on it, and is rounded in its turn, is the same in every engine. Its gradients are sums in f32,
which the bound allows for. A program has one of these, and no second derivatives of it, for such sums may be rounded apart."""
import random

import numpy as np

ROUNDED, ROUNDED_F32 = 2.0 ** -30, 2.0 ** -16


def size(shape):
    n = 1
    for d in shape: n *= d
    return n


def dims(shape): return "[" + ", ".join(map(str, shape)) + "]"
def typed(shape): return f"f64{dims(shape)}" if shape else "f64"


class Function:
    """The body of a function: statements over named values of known shapes."""
    def __init__(self, program, values):
        self.p, self.r = program, program.r
        self.lines, self.values, self.parameters = [], list(values), len(values)

    def name(self): return self.p.name()
    def emit(self, text): self.lines.append(text)
    def let(self, expr, shape):
        n = self.name()
        self.emit(f"let {n} = {expr}")
        self.values.append((n, tuple(shape)))
        return n
    def pick(self, want=lambda s: True):
        fits = [v for v in self.values if want(v[1])]
        # Mostly what is new, so that functions are deep.
        return self.r.choice(fits[-5:]) if fits else None
    def like(self, shape):
        """A value that has this shape or is broadcast to it."""
        r = self.r
        fits = [v for v in self.values if v[1] == tuple(shape) or v[1] == ()]
        if fits and r.random() < 0.8: return r.choice(fits)
        return self.constant(shape)
    def constant(self, shape):
        r = self.r
        if not shape: return (f"f64({r.randint(-9, 9) / 8 + 0.0625})", ())
        return (f"cos(f64(arange({size(shape)})) * {r.randint(3, 40) / 16} + {r.randint(0, 20) / 8}).reshape({dims(shape)})", tuple(shape))

    # ---- statements: each returns whether it made one
    def unary(self):
        n, s = self.pick()
        f = self.r.choice(["tanh({})", "sin({})", "cos({})", "sigmoid({})", "exp(-square({}))", "softplus({})", "erf({})", "abs({})", "relu({})", "atan({})",
                           "sqrt(1.5 + square({}))", "log1p(square({}))", "0.5 * square({})", "gelu({})", "1.0 / (1.0 + square({}))", "0.25 * {} ** 3", "asinh({})",
                           "rsqrt(1.0 + square({}))", "clamp({}, -0.75, 0.75)", "expm1(0.5 * {})", "cbrt(2.0 + square({}))", "log(1.5 + square({}))", "-{}",
                           "exp2(tanh({}))", "elu({})", "0.5 * ({} - floor({}))", "silu({})", "sinh(0.5 * tanh({}))", "softsign({})"])
        self.let(f.replace("{}", n), s)
        return True
    def binary(self):
        n, s = self.pick()
        m, _ = self.like(s)
        f = self.r.choice(["{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} / (1.0 + square({b}))", "max({a}, {b})", "min({a}, {b})", "hypot({a}, 0.5 + square({b}))",
                           "atan2({a}, 1.0 + square({b}))", "where({a} > {b}, {a}, 0.5 * {b})", "(1.0 + square({a})) ** sin({b})", "lerp({a}, {b}, 0.25)", "fma({a}, {b}, {a})",
                           "logaddexp({a}, {b})", "copysign(1.0 + square({a}), {b})", "tanh({a}) % (1.5 + square({b}))"])
        self.let(f.format(a=n, b=m), s)
        return True
    def outer(self):
        a = self.pick(lambda s: len(s) == 1)
        b = self.pick(lambda s: len(s) == 1)
        if not a or not b or a[1][0] * b[1][0] > 24: return False
        self.let(self.r.choice([f"tanh(expand_dims({a[0]}, axis: 1) * {b[0]})", f"outer({a[0]}, {b[0]})"]), (a[1][0], b[1][0]))
        return True
    def reduced(self):
        v = self.pick(lambda s: len(s) >= 1 and size(s) > 0)
        if not v: return False
        n, s = v
        axis = self.r.choice([None, *range(len(s))])
        kept = self.r.random() < 0.3
        where = "" if axis is None else f", axis: {axis}"
        out = (1,) * len(s) if axis is None and kept else () if axis is None else tuple(1 if i == axis else d for i, d in enumerate(s) if i != axis or kept)
        f = self.r.choice(["tanh(sum({x}{w}))", "mean({x}{w})", "max({x}{w})", "min({x}{w})", "logsumexp({x}{w})", "tanh(prod(1.0 + 0.5 * {x}{w}))", "variance({x}{w})", "std({x}{w})",
                           "norm({x}{w})", "sum(sin({x}){w}) / {n}.0"])
        w = where + (", keep: true" if kept else "")
        self.let(f.format(x=n, w=w, n=size(s)), out)
        return True
    def moved(self):
        v = self.pick(lambda s: len(s) >= 1)
        if not v: return False
        n, s = v
        r, k = self.r, s[0]
        forms = [(f"flip({n}, axis: 0)", s), (f"flatten({n})", (size(s),)), (f"{n}[{r.randrange(k)}]", s[1:]), (f"{n}[{-1 - r.randrange(k)}]", s[1:]),
                 (f"roll({n}, {r.randint(-2, 2)}, axis: 0)", s), (f"cumsum({n}, axis: 0) / {k}.0", s), (f"sort({n}, axis: 0)", s), (f"cumprod(1.0 + 0.25 * tanh({n}), axis: 0)", s),
                 (f"cummax({n}, axis: 0)", s), (f"{n}[{r.randrange(k)}:]", None), (f"{n}[::2]", None), (f"softmax({n}, axis: {len(s) - 1})", s), (f"log_softmax({n}, axis: 0)", s),
                 (f"take({n}, {[r.randrange(-k, k) for _ in range(r.randint(1, 4))]}, axis: 0)", None), (f"layer_norm({n}, axes: {len(s) - 1}, eps: 0.25)", s),
                 (f"stack(({n}, tanh({n})), axis: 0)", (2, *s)), (f"concat(({n}, sin({n})), axis: 0)", (2 * k, *s[1:])), (f"cumsum({n}, axis: 0, reverse: true, exclusive: true) / {k}.0", s),
                 (f"topk({n}, k: {max(1, s[-1] // 2)}, axis: {len(s) - 1}).0", (*s[:-1], max(1, s[-1] // 2))), (f"expand_dims({n}, axis: 0)", (1, *s)),
                 (f"broadcast_to(expand_dims({n}, axis: 0), {dims((2, *s))})", (2, *s)), (f"sum(broadcast_to(expand_dims({n}, axis: 0), {dims((3, *s))}), axis: 0) / 3.0", s)]
        if len(s) == 2: forms += [(f"{n}.T", s[::-1]), (f"triu({n})", s), (f"tanh({n} @ {n}.T)", (s[0], s[0])), (f"{n}[:, {r.randrange(s[1])}]", s[:1]), (f"diagonal({n})", (min(s),)),
                                  (f"einsum(\"ij,kj->ik\", {n}, {n}) / {s[1]}.0", (k, k)), (f"einsum(\"ij,kj,kl->li\", {n}, {n}, {n}) / {s[0] * s[1]}.0", (s[1], k)), (f"tanh(max_pool(reshape({n}, [1, 1, {s[0]}, {s[1]}]), [1, 2], stride: 1)[0, 0])" if s[1] > 1 else f"-{n}", (k, max(s[1] - 1, 1)))]
        if len(s) == 1:
            forms += [(f"pad({n}, [[{r.randint(0, 2)}, 1]])", None), (f"conv1d(reshape({n}, [1, 1, {k}]), reshape(sin({n}[0:{min(k, 2)}]), [1, 1, {min(k, 2)}]))[0, 0]", (k - min(k, 2) + 1,)), (f"{n}[argsort({n})]", s),
                      (f"tile({n}, [2])", (2 * k,))]
        expr, shape = r.choice(forms)
        if shape is None:
            if expr.startswith("take"): shape = (expr.count(",", expr.index("["), expr.index("]")) + 1, *s[1:])
            elif expr.endswith("::2]"): shape = ((k + 1) // 2, *s[1:])
            elif expr.startswith("pad"): shape = (k + int(expr[expr.index("[[") + 2:expr.index(",", expr.index("[["))]) + 1,)
            else: shape = (k - int(expr[expr.index("[") + 1:expr.index(":")]), *s[1:])
        if size(shape) > 48: return False
        self.let(expr, shape)
        return True
    def product(self):
        a = self.pick(lambda s: len(s) == 2)
        if not a: return False
        b = self.pick(lambda s: len(s) in (1, 2) and s[0] == a[1][1])
        m, shape = b if b else self.constant((a[1][1], self.r.randint(1, 4)))
        self.let(self.r.choice([f"tanh({a[0]} @ {m})", f"0.5 * ({a[0]} @ {m})"]), (a[1][0], *shape[1:]))
        return True
    def attended(self):
        v = self.pick(lambda s: len(s) == 2)
        if not v: return False
        n, s = v
        self.let(f"attention({n}, sin({n}), tanh({n}){self.r.choice(['', ', causal: true', ', scale: 0.5'])})", s)
        return True
    def solved(self):
        v = self.pick(lambda s: len(s) == 1 and s[0] <= 4)
        if not v: return False
        n, s = v
        k = s[0]
        self.let(self.r.choice([f"solve(outer({n}, {n}) + {k + 1}.0 * eye({k}, dtype: f64), {n})", f"inv(outer(sin({n}), {n}) + {k + 2}.0 * eye({k}, dtype: f64)) @ {n}"]), s)
        return True
    def updated(self):
        v = self.pick(lambda s: len(s) >= 1)
        if not v: return False
        n, s = v
        r, k, z = self.r, s[0], self.name()
        row, _ = self.like(s[1:])
        self.emit(f"var {z} = {r.choice([n, f'{n} * 1.0', f'zeros({dims(s)}, dtype: f64)'])}")
        i, j = r.randrange(k), r.randrange(k)
        many = [r.randrange(k) for _ in range(r.randint(2, 4))]
        writes = [f"{z}[{i}] = {row}", f"{z}[{i}] += {n}[{j}] * {row}", f"{z}[{i}:] = sin({n}[{i}:])", f"{z} += {n}", f"{z}[{i}] *= 0.5", f"{z}[{many}] += {n}[{j}]", f"{z}[{many}] = tanh({row})",
                  f"{z}[::2] *= {n}[::2]", f"{z} = scatter({z}, {many}, take({n}, {[r.randrange(k) for _ in many]}, axis: 0), axis: 0, reduce: \"{r.choice(['add', 'max', 'set', 'min'])}\")" if len(s) == 1 else f"{z}[{i}] = {z}[{j}]",
                  f"{z}[{i}] = {z}[{j}] * {z}[{i}]", f"{z}[{j}] -= 0.5 * {z}[{i}]"]
        for _ in range(r.randint(1, 3)): self.emit(r.choice(writes))
        self.values.append((z, s))
        return True
    def loop(self):
        """A loop that carries values, with indices by the trip and branches."""
        r = self.r
        n, s = self.pick()
        h, trips = self.name(), r.randint(0, 4)
        w, _ = self.like(s)
        self.emit(f"var {h} = {n}")
        i = self.name()
        steps = [f"{h} = tanh({h} * {w})", f"{h} = sin({h}) + 0.25 * {w}", f"{h} += 0.5 * sin({h}) * f64({i})", f"{h} = {h} * cos({w})", f"if {i} % 2 == 0 {{ {h} = sin({h}) }} else {{ {h} = {h} - 0.25 * {w} }}",
                 f"if mean({h}) > 0.1 {{ {h} = 0.5 * {h} * {w} }}", f"for q{i} in 0..2 {{ {h} = tanh({h} + 0.25 * {w}) }}", f"{h} = checkpoint(|u| tanh(u * {w}))({h})"]
        if s:
            k = s[0]
            steps += [f"{h}[{i} % {k}] = sin({h}[({i} + 1) % {k}])", f"{h}[{i} % {k}] += 0.5 * {h}[{k} - 1 - {i} % {k}]", f"{h} += {h}[{i} % {k}] * 0.25", f"{h} = flip({h}, axis: 0)", f"{h}[{i} % {k}] *= 0.5"]
        body = "; ".join(r.choice(steps) for _ in range(r.randint(1, 3)))
        self.emit(r.choice([f"for {i} in 0..{trips} {{ {body} }}", f"for {i} in 1..{trips + 2} {{ {body} }}"]))
        self.values.append((h, s))
        return True
    def branch(self):
        n, s = self.pick()
        m, _ = self.like(s)
        # The mean of what is normalised is 0, but for rounding.
        c = self.r.choice([f"sum({n}) > 0.3", f"mean({m} + 0.0) > 0.03125", "true", "false", f"max({n}) > 0.5"]) if s else f"{n} > 0.2"
        self.let(f"if {c} {{ {self.r.choice([f'sin({n})', f'{n} * {m}', n])} }} else {{ {self.r.choice([f'tanh({n}) + {m}', f'0.5 * {n}', f'{m} * 1.0 + 0.0 * {n}'])} }}", s)
        return True
    def mapped(self):
        v = self.pick(lambda s: len(s) >= 1 and size(s) <= 24)
        if not v: return False
        n, s = v
        r, row = self.r, s[1:]
        c, _ = self.like(row)
        lam = r.choice([f"|x| sin(x) * {c}", f"|x| {{ var y = x; for i in 0..2 {{ y = tanh(y + {c}) }}; y }}", f"|x| x * x", "|x| if sum(x) > 0.1 { sin(x) } else { 0.5 * x }" if row else "|x| if x > 0.1 { sin(x) } else { 0.5 * x }"])
        form = r.choice([f"vmap({lam})({n})", f"map({lam}, {n})"])
        if r.random() < 0.3: form = f"scan(|c, x| {{ let d = tanh(c * x); (d, d + {c}) }}, {n}[0], {n}).1"
        if r.random() < 0.15: form, s = f"reduce(|a, b| tanh(a + b), {n}[0], {n})", row
        self.let(form, s)
        return True
    def grouped(self):
        """Lists, tuples, structs."""
        n, s = self.pick()
        m, _ = self.like(s)
        r = self.r
        k = self.name()
        form = r.choice([f"list(3, |i| {n} * f64(i))[{r.randrange(3)}]", f"({n}, {m}).0", f"map_leaves(|a| sin(a), ({n}, {n})).1", f"fold(|s, leaf| s + sum(leaf), 0.0, ({n}, {n})) * {n} / {size(s) + 1}.0",
                         f"{{ var {k} = Pair {{ first: {n}, second: sin({n}), count: 2 }}; {k}.first = {k}.second * {n}; {k}.count = 3; {k}.first + {k}.second }}", f"both(Pair {{ first: {n}, second: {n} * {m}, count: 1 }})",
                         f"half({n})", f"{n} |> half |> (|x| x * {m})", f"(half, sin)({n})"])
        self.let(form, s)
        return True
    def ruled(self):
        n, s = self.pick()
        m, _ = self.like(s)
        self.let(self.r.choice([f"stop_gradient({n}) * {m} + 0.0 * {n}", f"{n} - stop_gradient(0.5 * {n})", f"checkpoint(|a| sin(a) * {m})({n})", f"checkpoint(half)({n})",
                                f"custom_vjp(|x| sin(x), |x| (sin(x), x), |x, d| d * cos(x) * 1.5)({n})", f"custom_vjp(|x| round(x), |x| (round(x), ()), |saved, d| d)({n}) * 0.5"]), s)
        return True
    def derived(self):
        r = self.r
        n, s = self.pick()
        m, _ = self.like(s)
        total = "sum({})" if s else "{}"
        lam = r.choice([f"|u| {total.format(f'sin(u * {m}) * u')}", f"|u| {total.format('tanh(u) * u')}", f"|u| {total.format('exp(-square(u))')}", f"|u| {{ var y = u; for i in 0..2 {{ y = sin(y * {m}) }}; {total.format('y')} }}"])
        forms = [f"grad({lam})({n})", f"jvp(|u| sin(u * u), wrt: 0)({n}, cos({n})).1", f"vjp(|u| tanh(u) * u)({n}, sin({n})).1", f"jvp(grad({lam}))({n}, sin({n})).1", f"value_and_grad({lam})({n}).1"]
        if len(s) >= 1: forms += [f"vmap(grad(|u| {'sum(sin(u) * u)' if len(s) > 1 else 'sin(u) * u'}))({n})"]
        self.let(r.choice(forms), s)
        return True
    def placed(self):
        n, s = self.pick()
        if not s: return False
        d = self.r.choice(["cuda:0", "cuda:1"])
        self.p.devices = True
        self.let(f"(sin({n}.to({d})) * 0.5).to(cpu)", s)
        return True

    def low(self):
        """A product whose operands are rounded, in its forms and under annotations of all kinds."""
        r, p = self.r, self.p
        a = self.pick(lambda s: len(s) in (1, 2))
        if not a or p.low: return False
        n, s = a
        k, m = s[-1], r.randint(1, 4)
        w = f"snap({self.constant((k, m))[0]} + 0.5 * sum({n}))" if r.random() < 0.5 else f"snap(tanh(sum({n}) * {self.constant((k, m))[0]}))"
        t = r.choice(["bf16", "bf16", "f16"])
        forms = [(f"snap({n}) @ {w}", (*s[:-1], m)), (f"matmul(snap({n}), {w})", (*s[:-1], m)), (f"product(snap({n}), {w})", (*s[:-1], m))]
        if len(s) == 2: forms += [(f'einsum("ij,jk->ki", snap({n}), {w})', (m, s[0])), (f"snap({n}) @ snap({n}).T", (s[0], s[0]))]
        if k > 1: forms.append((f"conv1d(reshape(snap({n}), [{size(s[:-1])}, 1, {k}]), reshape(snap(sin({n}))[{'0, ' * (len(s) - 1)}0:2], [1, 1, 2]))[:, 0]", (size(s[:-1]), k - 1)))
        e, shape = r.choice(forms)
        p.low = t
        around = r.random()
        if around < 0.3:  # around the derivative
            p.wrapped = t
        elif around < 0.6:
            e = f"@autocast({'f16' if t == 'bf16' else 'bf16'}) {{ @autocast({r.choice([t, 'f32'])}) {{ {e} }} }}"
        elif around < 0.7:
            e = f"@autocast({t}) {{ checkpoint(|u| {e.replace(f'snap({n})', 'snap(u)')})({n}) }}"
        elif around < 0.8:
            e = f"@autocast({t}) {{ vjp(|u| {e.replace(f'snap({n})', 'snap(u)')})({n}, f32({self.constant(shape)[0]})).0 }}"
        else:
            e = f"@autocast({t}) {{ {e} }}"
        self.let(f"f64({e})", shape)
        return True

    KINDS = ["unary"] * 4 + ["binary"] * 5 + ["outer"] + ["reduced"] * 3 + ["moved"] * 5 + ["product"] * 2 + ["attended", "solved"] + ["updated"] * 3 + ["loop"] * 4 + ["branch"] * 2 + ["mapped"] * 2 + ["grouped"] * 2 + \
            ["ruled"] * 2 + ["derived"] * 2

    def body(self, statements, without=()):
        kinds = [k for k in self.KINDS + (["placed"] if self.p.on_devices else []) if k not in without]
        if self.p.rounds: self.low()
        made = 0
        while made < statements:
            if getattr(self, self.r.choice(kinds))(): made += 1
            if self.p.rounds and made == statements // 2: self.low()

    def total(self):
        """Everything that nobody reads yet, in one number."""
        parts = [f"sum({n} * {self.r.randint(1, 5) / 4})" if s else n for n, s in self.values[-4:]]
        parts += [f"0.125 * sum({n})" if s else f"0.125 * {n}" for n, s in self.values[:self.parameters]]
        return " + ".join(parts)


# What all programs have.
KIT = """struct Pair[...S] { first: f64[...S], second: f64[...S], count: i64 }
fn both(p: Pair[...S]) -> f64[...S] = p.first * p.second * 0.5
fn half(x: f64[...S]) -> f64[...S] = tanh(x) * 0.5
fn snap(x: f64[...S]) -> f32[...S] = f32(x + stop_gradient(round(clamp(x, -2.0, 2.0) * 256.0) / 256.0 - x))
fn product(x: f32[...S, I], y: f32[I, O]) -> f32[...S, O] = x @ y
"""


class GradientProgram:
    """`part`: what its files and functions are named by, for programs that travel in one script."""
    def __init__(self, seed, part=""):
        self.r, self.count, self.devices = random.Random(seed), 0, False
        self.part = part
        self.on_devices = self.r.random() < 0.15
        self.rounds = self.r.random() < 0.12
        self.low = self.wrapped = None  # dtype of the product that is rounded, and of the annotation around derivatives
        self.functions, self.lines, self.results = [], [], 0
    def name(self):
        self.count += 1
        return f"v{self.count}"
    def save(self, expr):
        k = self.results
        self.results += 1
        self.lines.append(f"let r{k} = {expr}")
        self.lines.append(f'save("{self.part}r{k}.npy", r{k})')
    def derivative(self, names, form):
        self.lines.append(f"let {names} = " + (f"@autocast({self.wrapped}) {{ {form} }}" if self.wrapped else form))

    def build(self, operations):
        r = self.r
        shapes = [r.choice([(), (3,), (4,), (5,), (2, 3), (3, 2), (4, 2), (3, 3), (2, 2, 2), (1, 3)]) for _ in range(r.randint(1, 3))]
        names = [self.name() for _ in shapes]
        one = r.random() < 0.25  # a struct in place of several arguments
        # Second derivatives of what the rest is made of cost most.
        twice = r.random() < 0.4 and not self.rounds
        function = Function(self, list(zip(names, shapes)))
        # Of rules of their own no derivative in a direction is asked.
        forward = r.random() < 0.5
        function.body(r.randint(3, max(4, operations // (2 if twice else 1))), without=("ruled",) * (forward or twice))
        f, whole = "f" + self.part, "whole" + self.part
        params = ", ".join(f"{n}: {typed(s)}" for n, s in zip(names, shapes))
        inputs = []
        for n, s in zip(names, shapes):
            inputs.append(f"x{n}")
            self.lines.append(f"let x{n}: {typed(s)} = " + (f"{r.randint(-11, 11) / 8 + 0.03125}" if not s else f"sin(f64(arange({size(s)})) * {r.randint(5, 40) / 16} + {r.randint(1, 30) / 8}).reshape({dims(s)})"))
        body = "\n".join("    " + l for l in function.lines)
        out_name, out_shape = function.values[-1]
        self.functions.append(f"fn {f}({params}) -> f64 {{\n{body}\n    {function.total()}\n}}")
        self.functions.append(f"fn {whole}({params}) -> {typed(out_shape)} {{\n{body}\n    {out_name} + 0.0 * {' * '.join(f'sum({n})' if s else n for n, s in zip(names, shapes))}\n}}")
        every = ", ".join(map(str, range(len(names))))
        args, wrt = ", ".join(inputs), f"wrt: ({every})" if len(names) > 1 else "wrt: 0"
        several = lambda e: [f"{e}.{i}" for i in range(len(names))] if len(names) > 1 else [e]
        tree = lambda parts: parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        cot = function.constant(out_shape)[0]
        tangents = tree([f"(0.5 * cos({x}))" for x in inputs])
        forms = r.sample(["grad", "value", "vjp", "aux", "rows"], 2) + (["jvp"] if forward else [])
        if "grad" in forms or one:
            self.derivative("g", f"grad({f}, {wrt})({args})")
            for e in several("g"): self.save(e)
        if "value" in forms:
            self.derivative("(y, h)", f"value_and_grad({f}, {wrt})({args})")
            self.save("y")
            for e in several("h"): self.save(e)
        if "vjp" in forms:
            self.derivative("(z, k)", f"vjp({whole}, {wrt})({args}, {cot})")
            self.save("z")
            for e in several("k"): self.save(e)
        if "aux" in forms:
            self.derivative("(a, more)", f"grad(|{', '.join(names)}| ({f}({', '.join(names)}), {whole}({', '.join(names)})), {wrt}, aux: true)({args})")
            self.save("more")
            for e in several("a"): self.save(e)
        if "rows" in forms:
            rows = [f"stack(({x}, 0.5 * {x}, -{x}))" for x in inputs]
            self.derivative("v", f"vmap(grad({f}, {wrt}))({', '.join(rows)})")
            for e in several("v"): self.save(e)
        if "jvp" in forms:
            self.derivative("(b, c)", f"jvp({whole}, {wrt})({args}, {tangents})")
            self.save("b")
            self.save("c")
        if twice:
            grads = f"grad({f}, {wrt})({', '.join(names)})"
            squares = " + ".join(f"sum(square({e}))" if s else f"square({e})" for e, s in zip(several("g"), shapes))
            self.lines.append(f"let second = grad(|{', '.join(names)}| {{ let g = {grads}; {squares} + 0.0 * {f}({', '.join(names)}) }}, {wrt})({args})")
            for e in several("second"): self.save(e)
            if forward:
                self.lines.append(f"let (p, q) = jvp(|{', '.join(names)}| ({grads}, {f}({', '.join(names)})), {wrt})({args}, {tangents})")
                for e in several("q.0"): self.save(e)
        return KIT + self.script()

    def script(self):
        return "\n".join(self.functions + self.lines) + "\n"

    def block(self):
        """As a part of a script with others."""
        return "\n".join([*self.functions, f"fn run{self.part}() {{", *self.lines, "}", f"run{self.part}()"]) + "\n"

    def bound(self, result):
        """How far two right results may be apart."""
        return (np.max(np.abs(result), initial=0.0) + 1.0) * (ROUNDED_F32 if self.low else ROUNDED)


if __name__ == "__main__":
    import sys
    print(GradientProgram(int(sys.argv[1])).build(10))
