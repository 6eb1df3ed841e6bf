"""Many small matrices, and depthwise convolutions (bench.py --group small), with the TL side as text."""
import numpy as np

from .large import script


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    normal = lambda *s: (lambda r: r.standard_normal(s, dtype=np.float32))

    def definite(*s):
        def make(r):
            a = r.standard_normal(s)
            return ((a @ a.swapaxes(-1, -2) / s[-1] + np.eye(s[-1])) / 2).astype(np.float32)  # whose determinant is an f32
        return make
    def triangles(*s): return lambda r: np.tril(r.standard_normal(s) / s[-1] + np.eye(s[-1])).astype(np.float32)

    def row(name, text, shapes, makers, t, j, roundings, **more):
        types = [f"f32[{', '.join(map(str, s))}]" for s in shapes]
        parameters = ", ".join(f"x{i}: {k}" for i, k in enumerate(types))
        workloads[name] = Workload(lambda r: [m(r) for m in makers], t, j, roundings, group="small",
                                   script=script(name, f"fn f({parameters}) = {text}", types, 1, "f32"), **more)

    for b, n in [(1000, 8), (64, 64), (10000, 3)]:
        a, case = (b, n, n), f"{b}x{n}x{n}"
        for name, t, j in [("cholesky", torch.linalg.cholesky, jnp.linalg.cholesky), ("inv", torch.linalg.inv, jnp.linalg.inv),
                           ("det", torch.linalg.det, jnp.linalg.det)]:
            row(f"{name}_{case}", f"{name}(x0)", [a], [definite(*a)], t, j, 4 * n, condition=20)
        for k in (1, n):
            row(f"solve_{case}x{k}", "solve(x0, x1)", [a, (b, n, k)], [definite(*a), normal(b, n, k)], torch.linalg.solve,
                jnp.linalg.solve, 4 * n, condition=20)
            row(f"solve_triangular_{case}x{k}", "solve_triangular(x0, x1)", [a, (b, n, k)], [triangles(*a), normal(b, n, k)],
                lambda x, y: torch.linalg.solve_triangular(x, y, upper=False),
                lambda x, y: jax.scipy.linalg.solve_triangular(x, y, lower=True), 4 * n, condition=20)

    times, turned = (lambda x, y: x @ y), (lambda x: x.swapaxes(1, 2))
    for b, n in [(1000000, 2), (20000, 3), (20000, 4), (20000, 6), (20000, 8), (3000, 16)]:
        row(f"product_{b}x{n}x{n}", "x0 @ x1", [(b, n, n)] * 2, [normal(b, n, n)] * 2, times, times, n)
    for n in (3, 4, 8, 16):
        row(f"product_20000x{n}x{n}x1", "x0 @ x1", [(20000, n, n), (20000, n, 1)], [normal(20000, n, n), normal(20000, n, 1)], times, times, n)
    for n in (4, 8):
        row(f"product_transposed_20000x{n}x{n}", "x0 @ x1.T", [(20000, n, n)] * 2, [normal(20000, n, n)] * 2, *[lambda x, y: x @ turned(y)] * 2, n)
    row("product_relu_20000x4x4", "relu(x0 @ x1 + x2)", [(20000, 4, 4)] * 3, [normal(20000, 4, 4)] * 3, lambda x, y, z: torch.relu(x @ y + z),
        lambda x, y, z: jax.nn.relu(x @ y + z), 6)
    for result in ("ijb", "bij"):
        for n in (6, 8, 16):
            path = f"ikb,kjb->{result}"
            row(f"product_interleaved_20000x{n}x{n}_{result}", f'einsum("{path}", x0, x1)', [(n, n, 20000)] * 2, [normal(n, n, 20000)] * 2,
                lambda x, y, path=path: torch.einsum(path, x, y), lambda x, y, path=path: jnp.einsum(path, x, y), n)

    for b, c, side, window, stride in [(8, 64, 56, 5, 1), (8, 64, 56, 7, 1), (8, 64, 56, 5, 2), (1, 96, 56, 7, 1), (8, 192, 14, 7, 1)]:
        pad = window // 2
        row(f"depthwise{window}x{window}_{b}x{c}x{side}" + ("" if stride == 1 else f"_stride{stride}"),
            f"conv2d(x0, x1, groups: {c}, padding: {pad}, stride: {stride})", [(b, c, side, side), (c, 1, window, window)],
            [normal(b, c, side, side), normal(c, 1, window, window)],
            lambda x, w, c=c, p=pad, s=stride: F.conv2d(x, w, groups=c, padding=p, stride=s),
            lambda x, w, c=c, p=pad, s=stride: jax.lax.conv_general_dilated(x, w, (s, s), [(p, p)] * 2, feature_group_count=c),
            window * window, weights=(1,))
