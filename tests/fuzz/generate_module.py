"""More of the language in the random programs (see generate.py): a module of their own beside the standard library, consts
and params, structs with packs and defaults, linear dims, functions of devices, branches at compile time, chains of updates,
prints with formats. What a program prints is compared too: only exact values are printed."""
from generate_more import size

# Stands beside every program as `kit.tl`.
MODULE = """import optim: sgd
const Three = 3
struct Box[...S, T: real = f32] { value: T[...S], count: i64 }
struct Wide[N, T: real] { left: T[N], pair: (T[N + 1], T[2 * N]) }
fn box[T: real](x: T[...S]) -> Box[...S, T] = Box { value: x, count: Three }
fn call[T: real](b: Box[...S, T], x: T[...S]) -> T[...S] = b.value - x
fn doubled[T: real](b: Box[...S, T]) -> Box[...S, T] { var c = b; c.value += b.value; c.count = b.count * 2; c }
fn wide[N, T: real](x: T[N]) -> Wide[N, T] = Wide { left: x, pair: (concat((x, zeros([1], dtype: T))), concat((x, x))) }
fn inner[N, T: real](w: Wide[N, T]) -> T[N] = w.pair.0[0:N] + w.pair.1[N:2 * N]
fn shifted[T: real](x: T[N + 1]) -> T[N] = x[1:] - x[0:N]
fn kind[T: real](x: T[...S]) -> i64 { if x.dtype == f32 { return 1 }; if x.dtype == i64 { return 2 }; if x.ndim == 1 { return 3 }; 4 }
fn there[T: real, D: device](x: T[...S] @D, y: T[...S] @D) -> T[...S] @D = max(x, y)
fn rolled[T: real](static k: i64, x: T[N, ...S], more: bool = true) -> T[N, ...S] { if more { roll(x, k, axis: 0) } else { x } }
fn halve[P: tree](p: P) -> P = p - 0.5 * p
fn mapped[F: fn, T: real](f: F, xs: T[N, ...S]) = vmap(f)(xs)
"""


class ModuleOps:
    HEAD = ["import kit", "import kit: box, rolled", "const Five = 5", "param scale: i64 = 3", "param rate: f64 = 0.25",
            "param flag: bool = true", "param word: str = \"w\""]

    def module(self):
        """Functions and structs of a module: packs, defaults, linear dims, methods."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i64", "i32", "i16", "f32", "f64") and v.small and v.shape and 0 < size(v.shape) <= 3000)
        if not v: return None
        s, t, n = v.shape, v.dtype, self.name("x")
        u = self.source(t, s)
        forms = [("box({v})({u})", s), ("kit.doubled(box({v})).value", s), ("box({u}).doubled().doubled()({v})", s), ("rolled({k}, {v})", s),
                 ("rolled({k}, {v}, more: false)", s), ("kit.there({v}, {u})", s), ("kit.mapped(|x| x - max(x), {v})", s), ("{v} + {t}(kit.Three * Five)", s),
                 ("kit.mapped(|x| kit.mapped(|y| y + y, stack((x, x))), {v})", s[:1] + (2,) + s[1:]), ("kit.box({v}).value.T" if len(s) == 2 else "{v}", s[::-1] if len(s) == 2 else s),
                 ("vmap(|a, b| max(a, b) - a)({v}, {u})", s), ("map(|p| p.0 - p.1, ({v}, {u}))", s), ("{v} * {t}(scale)", s),
                 ("if flag {{ {v} }} else {{ {u} }}", s), ("reduce(|a, b| a - b, {u}[0], {v})", s[1:]), ("scan(|c, x| (x - c, c + x), {u}[0], {v}).1", s),
                 ("fold(|a, leaf| a + {t}(leaf.size), {t}(0), (box({v}), {u}))", ())]
        if len(s) == 1:
            forms += [("kit.wide({v}).inner()", s), ("kit.wide({v}).pair.1", (2 * s[0],)), ("kit.shifted({v})", (s[0] - 1,)),
                      ("vmap(|i| {v}[i])(arange({n}))".replace("{n}", str(s[0])), s), ("tabulate([{n}], |i| {v}[{n} - 1 - i])".replace("{n}", str(s[0])), s)]
        form, out = r.choice(forms)
        if t in ("f32", "f64") and r.random() < 0.2:
            self.emit(f"let {n} = kit.halve(box({v.name} * {t}(4)))")
            self.values.append(self.let(f"{n}.count * kit.kind({v.name})", "i64", (), None, True, keep=False))
            return self.let(f"{n}.value", t, s, None, False)
        return self.let(form.format(v=v.name, u=u.name, t=t, k=r.randint(-3, 3)), t, out, None, False)

    def printed(self):
        """Prints, with formats and holes; the value itself goes on."""
        r = self.r
        v = self.pick(lambda v: v.exact and (size(v.shape) <= 200 or r.random() < 0.1))
        if not v: return None
        form = r.choice(['print({v})', 'print("{{{v}}}")', 'print("a {{{v}.shape}} {{{v}.dtype}} {{{v}.ndim}}", {v})', 'print({v}, {v}.size, "z")', 'print(({v}, 1))'])
        self.emit(form.format(v=v.name))
        if v.shape == () and v.is_float:
            self.emit(f'print("{{{v.name}:{r.choice([".0f", ".3f", "9.2f", ".4e", "12.1e", ".5g", "8.3g"])}}}|")')
        elif v.shape == () and v.dtype != "bool": self.emit(f'print("{{{v.name}:{r.choice(["d", "5d", "12d"])}}}| {{scale + 1}} {{word}} {{rate:.2f}}")')
        elif v.shape and min(v.shape) > 0 and r.random() < 0.5:
            place = ", ".join(str(r.randrange(d)) for d in v.shape)
            self.emit(f'if {v.name}.ndim > 1 {{ print("{{{v.name}[{place}]}} of {{{v.name}.size}}") }} else {{ for i in 0..2 {{ print(i, {v.name}[{place}]) }} }}')
        return v

    def updates(self):
        """Chains of updates by range, step, place and tensor, in a loop or a branch."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i32", "i64", "u8", "f32", "f64") and v.small and len(v.shape) in (1, 2) and 0 < size(v.shape) <= 400)
        if not v: return None
        w, n, t = self.name("w"), v.shape[0], v.dtype
        self.emit(f"var {w} = {v.name}")
        rest = "" if len(v.shape) == 1 else ", :"
        lo = r.randrange(n)
        k = r.randint(1, n - lo)
        steps = [f"{w}[{lo}:{lo + k}{rest}] = {v.name}[{n - k}:{n}{rest}]", f"{w}[{lo} :+ {k}{rest}] += {w}[0 :+ {k}{rest}]", f"{w}[::{r.randint(1, 3)}{rest}] *= {t}(2)",
                 f"{w}[{r.randint(-n, n - 1)}] = {w}[{r.randint(-n, n - 1)}]", f"{w}[arange({k}) % {n}] -= {v.name}[{lo}:{lo + k}]", f"{w} = {w} - {v.name}",
                 f"{w}[i % {n}] = {v.name}[(i + 1) % {n}]", f"{w}[i % {n}] += {t}(i)", f"if i % 2 == 0 {{ {w}[{lo}] = {v.name}[0] }} else {{ {w} = max({w}, {v.name}) }}"]
        body = "; ".join(r.choice(steps) for _ in range(r.randint(1, 4)))
        head = r.choice([f"for i in 0..{r.randint(0, 4)}", f"for i in rev(0..{r.randint(1, 3)})", f"for i in static 0..{r.randint(1, 3)}", f"for i in 0..scale"])
        self.emit(f"{head} {{ {body} }}")
        return self.let(w, t, v.shape, None, False)

    def chained(self):
        """Tuples of functions, applied as one."""
        v = self.pick(lambda v: v.exact and v.small and v.dtype in ("f32", "i32") and len(v.shape) == 2 and 0 < size(v.shape) <= 2000)
        if not v: return None
        form = self.r.choice(["{v} |> (relu, (|x| flatten(x, start: 1)), (|x| x - {t}(1)))", "(|x| x + x, relu)({v})", "{v} |> max(1) |> (|x| -x)"])
        return self.let(form.format(v=v.name, t=v.dtype), v.dtype, v.shape, None, False)

    def module_kinds(self): return [self.module, self.module, self.printed, self.updates, self.updates, self.chained]
