"""Language features in the random programs (see generate.py): higher-order functions, captures, lists and nested trees,
overloads, packs, static parameters, early return, placement on virtual devices."""
from generate_more import dims, size


class LanguageOps:
    LANGUAGE = ["struct Layer[N, T: real] { w: T[N], steps: i64 }",
                "struct Stack[N, T: real] { layers: [Layer[N, T]; 3], state seen: i64[2] }",
                "fn call[N, T: real](l: Layer[N, T], x: T[N]) -> T[N] = x - l.w",
                "fn weight[N, T: real](l: Layer[N, T]) -> T[N] = l.w",
                "fn weight[N, T: real](x: T[N]) -> T[N] = x + x",
                "fn powers[T: real](static n: i64, x: T[...S]) -> T[...S] { var y = x; for i in static 0..n { y = y + T(i) }; y }",
                "fn early[T: real](x: T[...S], n: i64) -> T[...S] { if n > 2 { return x - 1 }; if x.ndim > 1 { return x + x }; max(x, 3) }",
                "fn made[T: real](s: [...S], v: T) -> T[...S] = full(s, v)",
                "fn through[F: fn, G: fn, T: real](f: F, g: G, x: T[...S]) -> T[...S] = g(f(x))"]

    def mapped(self):
        """vmap, map, scan and reduce of lambdas with control flow and captures."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i64", "i32", "f32") and v.small and len(v.shape) in (1, 2, 3) and 0 < v.shape[0] <= 17 and size(v.shape) <= 3000)
        if not v: return None
        s, row, t = v.shape, v.shape[1:], v.dtype
        c = self.source(t, row)
        forms = [(f"|x| max(x, {c.name}) - x", row, t), (f"|x| x + {c.name} * {t}(2)", row, t), (f"|x| {{ var y = x; for i in 0..3 {{ y = {c.name} - y }}; y }}", row, t),
                 ("|x| x > " + f"{t}(1)", row, "bool"), ("|x| i32(x)", row, "i32")]
        if row:
            forms += [(f"|x| sort(x)", row, t), ("|x| flip(x)", row, t), (f"|x| concat((x, {c.name}), axis: 0)", (2 * row[0],) + row[1:], t)]
            if row[0] > 0:
                forms += [("|x| x[0] - x[-1]", row[1:], t), (f"|x| max(x, axis: 0)", row[1:], t), ("|x| { var y = x; y[0] = x[-1]; y }", row, t)]
        else:
            forms += [("|x| if x > " + f"{t}(1) {{ x - {t}(1) }} else {{ {c.name} }}", row, t), (f"|x| {{ var n = x; while n > {t}(3) {{ n -= {t}(2) }}; n }}", row, t)]
        f, out, dtype = r.choice(forms)
        return self.let(f"{r.choice(['vmap({f})({v})', 'map({f}, {v})']).format(f=f, v=v.name)}", dtype, (s[0],) + tuple(out), None, False)

    def feature(self):
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("i64", "i32", "i16", "f32", "f64") and v.small and len(v.shape) >= 1 and 0 < size(v.shape) <= 3000)
        if not v: return None
        u = self.source(v.dtype, v.shape)
        n, t = self.name("k"), v.dtype
        kind = r.choice(["static", "early", "made", "through", "tuple", "zip", "enumerate", "leaves", "fold", "list", "pipe", "block"])
        if kind == "static": return self.let(f"powers({r.randint(0, 3)}, {v.name})", t, v.shape, None, False)
        if kind == "early": return self.let(f"early({v.name}, {r.randint(0, 4)})", t, v.shape, None, False)
        if kind == "made": return self.let(f"made({dims(v.shape)}, {t}(3)) - {v.name}", t, v.shape, None, False)
        if kind == "through": return self.let(f"through(|x| x - {u.name}, |x| max(x, {u.name}), {v.name})", t, v.shape, None, False)
        if kind == "tuple": return self.let(f"((|x| x + {u.name}), abs, (|x| -x))({v.name})", t, v.shape, None, False)
        if kind == "pipe": return self.let(f"{v.name} |> max({u.name}) |> (|x| x - {u.name}) |> abs", t, v.shape, None, False)
        if kind == "leaves": return self.let(f"map_leaves(|a, b| a - b, ({v.name}, {u.name}), ({u.name}, {u.name})).{r.randrange(2)}", t, v.shape, None, False)
        if kind == "fold": return self.let(f"fold(|s, leaf| max(s, max(leaf)), {t}(0), ({v.name}, ({u.name}, {v.name})))", t, ())
        if kind == "list": return self.let(f"list(3, |i| {v.name} - {u.name} * {t}(i))[{r.randrange(3)}]", t, v.shape, None, False)
        if kind == "block": return self.let(f"{{ let a = {v.name} + {u.name}; let a = a - {v.name}; max(a, {v.name}) }}", t, v.shape, None, False)
        self.emit(f"var {n} = {v.name}")
        if kind == "zip": self.emit(f"for (a, b) in zip(({v.name}, {u.name}), ({u.name}, {u.name})) {{ {n} = max({n}, a) - b }}")
        else: self.emit(f"for (i, a) in enumerate(({v.name}, {u.name})) {{ {n} = {n} + a * {t}(i) }}")
        return self.let(n, t, v.shape, None, False)

    def model(self):
        """A struct with a list of structs: functional updates, calls, overloads, arithmetic on the whole tree."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.small and v.dtype in ("f32", "f64") and len(v.shape) == 1 and v.shape[0] > 0)
        if not v: return None
        m, i = self.name("m"), r.randrange(3)
        n, t = v.shape[0], v.dtype
        self.emit(f"var {m} = Stack {{ layers: list(3, |i| Layer {{ w: {v.name} + {t}(i), steps: i }}), seen: [1, 2] }}")
        for _ in range(r.randint(1, 3)):
            self.emit(r.choice([f"{m}.layers[{i}].w[{r.randrange(n)}] += 2.0", f"{m}.layers[{i}].w = {v.name}", f"{m}.layers[{i}].steps = 7", f"{m} = {m} - 0.5 * {m}",
                                f"{m}.seen[1] = 5", f"for q in 0..3 {{ {m}.layers[{i}].w[0:{r.randint(1, n)}] *= 0.5 }}"]))
        x = self.name("x")
        self.emit(f"var {x} = {v.name}")
        form = r.choice(["for l in {m}.layers {{ {x} = l({x}) }}", "for (j, l) in enumerate({m}.layers) {{ {x} = {x} + l.w * {t}(j) }}", "{x} = {m}.layers[1].weight() + {x}.weight()"])
        self.emit(form.format(m=m, x=x, t=t))
        self.values.append(self.let(f"{m}.layers[{i}].steps + {m}.seen[1]", "i64", (), None, True, keep=False))
        return self.let(x, t, v.shape, None, False)

    def placed(self):
        """Work on virtual devices: annotated lets, blocks and moves. The program then runs with two of them."""
        r = self.r
        v = self.pick(lambda v: v.exact and v.dtype in ("f32", "i32", "i64", "u8") and v.small and v.shape)
        if not v: return None
        d, e = r.sample(["cuda:0", "cuda:1"], 2)
        n, t = self.name("g"), v.dtype
        kind = r.choice(["to", "block", "chain", "loop", "update"])
        if kind == "to": return self.let(f"({v.name}.to({d}) + {t}(1)).to(cpu)", t, v.shape, None, False)
        if kind == "block":
            self.emit(f"let {n} = @{d} {{ let a = {v.name} + {v.name}; max(a, {v.name}) }}")
            return self.let(f"{n}.to(cpu)", t, v.shape, None, False)
        if kind == "chain": return self.let(f"(({v.name}.to({d}) + {t}(1)).to({e}) + {t}(2)).to(cpu)", t, v.shape, None, False)
        self.emit(f"var {n} = {v.name}.to({d})")
        if kind == "loop": self.emit(f"for i in 0..{r.randint(0, 4)} {{ {n} = {n} + {t}(1); {n} = {n}.to({e}).to({d}) }}")
        elif min(v.shape) > 0: self.emit(f"{n}[0] = {n}[-1]")
        return self.let(f"{n}.to(cpu)", t, v.shape, None, False)

    def language_kinds(self): return [self.mapped, self.mapped, self.feature, self.feature, self.model, self.placed]
