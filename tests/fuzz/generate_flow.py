"""Control flow of the random programs (see generate.py) that decides where values live: returns of tensors out of loops,
buffers that statements and loops share and write into, values that change places, nested `vmap` and `map`, many parts."""
from generate_more import dims, size


class FlowOps:
    FLOW = ["fn until[T: real](x: T[...S], n: i64, limit: T) -> T[...S] { var y = x; for i in 0..n { y = y + x; if any(y > limit) { return y - T(i) } }; max(y, x) }",
            "fn seek[T: real](x: T[...S], n: i64) -> (T[...S], i64) { var y = x; var k = 0; while k < n { for j in 0..3 { k += 1; if k * j > n { return (y - x, k) }; y = x - y } }; (y, k) }",
            "fn first[N, T: real](x: T[N], bar: T) -> i64 { for i in 0..N { if x[i] > bar { return i } }; (-1) }",
            "fn filled[N, T: real](x: T[N], static far: bool) -> T[N] { var y = zeros_like(x); if far { y[0] = x[-1] } else { for i in 0..N { if x[i] < T(1) { return y }; y[i] = x[N - 1 - i] } }; y }"]

    def loops_of(self, want=lambda v: True):
        return self.pick(lambda v: v.exact and v.small and v.dtype in ("i32", "i64", "f32", "f64") and v.shape and 0 < size(v.shape) <= 2000 and want(v))

    def returns(self):
        """A tensor returned out of a loop, early or late."""
        r = self.r
        v = self.loops_of()
        if not v: return None
        t = v.dtype
        if len(v.shape) == 1 and r.random() < 0.4:
            if r.random() < 0.5: return self.let(f"first({v.name}, {t}({r.randint(-3, 5)}))", "i64", ())
            return self.let(f"filled({v.name}, {r.choice(['true', 'false'])})", t, v.shape, None, False)
        if r.random() < 0.5: return self.let(f"until({v.name}, {r.randint(0, 5)}, {t}({r.randint(0, 20)}))", t, v.shape, None, False)
        n = self.name("k")
        self.emit(f"let {n} = seek({v.name}, {r.randint(0, 7)})")
        self.values.append(self.let(f"{n}.1", "i64", (), None, True, keep=False))
        return self.let(f"{n}.0", t, v.shape, None, False)

    def shared(self):
        """One value begins several variables, of which some are written into, before, in and after a loop."""
        r = self.r
        v = self.loops_of()
        if not v: return None
        t, s = v.dtype, v.shape
        z, a, b = self.name("z"), self.name("a"), self.name("b")
        self.emit(f"let {z} = {r.choice([f'zeros({dims(s)}, dtype: {t})', f'full({dims(s)}, {t}(2))', f'{v.name} * {t}(0)', v.name, f'{v.name} + {t}(1)'])}")
        self.emit(f"var {a} = {z}")
        self.emit(f"var {b} = {r.choice([z, a, v.name])}")
        writes = [f"{a}[0] = {v.name}[-1]", f"{b}[-1] += {z}[0]", f"{a} = {b}", f"{b} = {a} + {z}", f"{a} += {v.name}", f"{b}[0:1] = {a}[0:1] - {t}(1)",
                  f"{{ let o = {a}; {a} = {b}; {b} = o }}", f"{a} = flip({a}, axis: 0)"]
        for _ in range(r.randint(0, 2)): self.emit(r.choice(writes))
        inner = "; ".join(r.sample(writes, r.randint(1, 3)))
        self.emit(r.choice([f"for i in 0..{r.randint(0, 3)} {{ {inner} }}", f"var w{a} = 0\nwhile w{a} < {r.randint(0, 3)} {{ w{a} += 1; {inner} }}",
                            f"for i in 0..2 {{ for j in 0..2 {{ {inner} }}; {r.choice(writes)} }}", f"if {r.choice(['true', f'any({v.name} > {t}(0))'])} {{ {inner} }}"]))
        for _ in range(r.randint(0, 1)): self.emit(r.choice(writes))
        self.values.append(self.let(r.choice([z, b]), t, s, None, False, keep=False))
        return self.let(f"{a} - {b}", t, s, None, False)

    def within(self):
        """`vmap` and `map` inside each other, with loops, branches and captures of the outer row."""
        r = self.r
        v = self.loops_of(lambda v: len(v.shape) in (2, 3) and v.shape[0] <= 8 and v.shape[1] <= 17)
        if not v: return None
        t, s = v.dtype, v.shape
        f, g = r.choice(["vmap", "map"]), r.choice(["vmap", "map"])
        inner, out = r.choice([("|x| x - row[0]", s), ("|x| {{ var y = x; for i in 0..2 {{ y = row[i % {n}] - y }}; y }}", s),
                               ("|x| until(x, 3, {t}(4))" if len(s) == 3 else "|x| if x > {t}(1) {{ x }} else {{ row[-1] }}", s),
                               ("|x| max(row, axis: 0) - x", s), ("|x| x", s)])
        name = f"in{self.count}"
        inner = inner.format(t=t, n=s[1])
        form = f"{f}(|row| {{ let {name} = {g}({inner})(row); {name} + row }})({v.name})" if f == g == "vmap" else None
        call = {"vmap": "vmap({i})(row)", "map": "map({i}, row)"}[g].format(i=inner)
        form = form or {"vmap": f"vmap(|row| {call})({v.name})", "map": f"map(|row| {call}, {v.name})"}[f]
        return self.let(form, t, out, None, False)

    def parts(self):
        """Many slices joined again, in another order."""
        r = self.r
        v = self.loops_of(lambda v: v.shape[0] <= 65)
        if not v: return None
        n = v.shape[0]
        form = r.choice([f"concat(tuple({n}, |i| {v.name}[{n - 1} - i:{n} - i]))", f"stack(tuple({n}, |i| {v.name}[(i * 3) % {n}]))", f"stack(list({n}, |i| {v.name}[i] - {v.name}[0]))"])
        return self.let(form, v.dtype, v.shape, None, False)

    def flow_kinds(self): return [self.returns, self.shared, self.shared, self.within, self.parts]
