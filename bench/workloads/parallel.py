"""One long row or one large matrix, which all threads share (bench.py --group parallel), with the TL side as text."""
import numpy as np

from .large import script


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch

    normal = lambda *s: (lambda r: r.standard_normal(s, dtype=np.float32))
    below = lambda n, *s: (lambda r: r.integers(0, n, s))
    ordered = lambda n, *s: (lambda r: np.sort(r.integers(0, n, s)))

    def definite(n):
        def make(r):
            a = r.standard_normal((n, n))
            return (a @ a.T + n * np.eye(n)).astype(np.float32)
        return make
    def regular(n): return lambda r: (r.standard_normal((n, n)) / np.sqrt(n) + 2 * np.eye(n)).astype(np.float32)
    def triangle(n): return lambda r: np.tril(r.standard_normal((n, n)) / n + np.eye(n)).astype(np.float32)

    def row(name, text, types, makers, t, j, roundings, results=1, **more):
        parameters = ", ".join(f"x{i}: {k}" for i, k in enumerate(types))
        workloads[name] = Workload(lambda r: [m(r) for m in makers], t, j, roundings, group="parallel",
                                   script=script(name, f"fn f({parameters}) = {text}", types, results, "f32"), **more)

    million = 1000000
    row("sort_1M", "sort(x0)", [f"f32[{million}]"], [normal(million)], lambda x: x.sort().values, jnp.sort, 0, numpy=np.sort)
    row("sort_i32_1M", "sort(i32(x0))", [f"i64[{million}]"], [below(1 << 31, million)], lambda x: x.int().sort().values,
        lambda x: jnp.sort(x.astype(jnp.int32)), 0, numpy=lambda x: np.sort(x.astype(np.int32)))
    row("argsort_1M", "argsort(x0)", [f"f32[{million}]"], [normal(million)], lambda x: x.argsort(stable=True), jnp.argsort, 0)
    row("argsort_i64_1M", "argsort(x0)", [f"i64[{million}]"], [below(1 << 40, million)], lambda x: x.argsort(stable=True),
        jnp.argsort, 0)
    row("topk_1M", "topk(x0, k: 100).0", [f"f32[{million}]"], [normal(million)], lambda x: x.topk(100).values,
        lambda x: jax.lax.top_k(x, 100)[0], 0)
    for name, make, n in [("scatter_add_1M", below(million, million), million), ("segments_1M", ordered(10000, million), 10000)]:
        row(name, f'scatter(zeros([{n}]), x0, x1, axis: 0, reduce: "add")', [f"i64[{million}]", f"f32[{million}]"],
            [make, normal(million)], lambda i, u, n=n: torch.zeros(n, dtype=u.dtype).index_add(0, i, u),
            lambda i, u, n=n: jnp.zeros(n).at[i].add(u), 300)
    row("csr_100000", 'scatter(zeros([100000]), x0, x2 * x3[x1], axis: 0, reduce: "add")',
        [f"i64[{million}]"] * 2 + [f"f32[{million}]", "f32[100000]"],
        [ordered(100000, million), below(100000, million), normal(million), normal(100000)],
        lambda i, j, a, v: torch.zeros(100000, dtype=a.dtype).index_add(0, i, a * v[j]),
        lambda i, j, a, v: jnp.zeros(100000).at[i].add(a * v[j]), 40)
    row("cumsum_columns_2048", "cumsum(x0, axis: 0)", ["f32[2048, 2048]"], [normal(2048, 2048)], lambda x: x.cumsum(0),
        lambda x: jnp.cumsum(x, 0), 2048)
    n = 1000
    matrix = f"f32[{n}, {n}]"
    row("inv_1000", "inv(x0)", [matrix], [regular(n)], torch.linalg.inv, jnp.linalg.inv, n, condition=20)
    row("solve_1000", "solve(x0, x1)", [matrix] * 2, [regular(n), normal(n, n)], torch.linalg.solve, jnp.linalg.solve, n, condition=20)
    row("solve_triangular_1000", "solve_triangular(x0, x1)", [matrix] * 2, [triangle(n), normal(n, n)],
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), n)
    row("cholesky_1000", "cholesky(x0)", [matrix], [definite(n)], torch.linalg.cholesky, jnp.linalg.cholesky, n, condition=5)
    row("slogdet_1000", "slogdet(x0).1", [matrix], [regular(n)], lambda a: torch.linalg.slogdet(a)[1],
        lambda a: jnp.linalg.slogdet(a)[1], n, condition=20)
    for m, k in [(n, n), (4000, 64)]:
        row(f"qr_{m}x{k}", "qr(x0)", [f"f32[{m}, {k}]"], [normal(m, k)], lambda a: tuple(torch.linalg.qr(a)),
            lambda a: tuple(jnp.linalg.qr(a)), m, results=2, condition=2000 if m == k else 5)
