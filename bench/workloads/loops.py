"""Loops over small tensors, of 20,000 trips or more (bench.py --group loops --peers jax), with the TL side as text. JAX runs them
by `lax.fori_loop` and `lax.while_loop`. PyTorch, which calls a kernel for each operation, is there for the results."""
import numpy as np

from .large import script

TRIPS = 20000


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch

    f32 = np.float32
    normal = lambda *s, scale=1.0: (lambda r: r.standard_normal(s, dtype=f32) * f32(scale))
    positive = lambda low, high, *s: (lambda r: r.uniform(low, high, s).astype(f32))

    def row(name, text, inputs, step, start, roundings, pick=lambda s: s, results=1, **more):
        """`step(lib, inputs, i, state)` is a trip, `start(lib, inputs)` what it starts with, `pick` makes the results of the end."""
        makers, types = zip(*inputs)
        def t(*x):
            s = start(torch, x)
            for i in range(TRIPS): s = step(torch, x, i, s)
            return pick(s)
        def j(*x): return pick(jax.lax.fori_loop(0, TRIPS, lambda i, s: step(jnp, x, i, s), start(jnp, x)))
        workloads[name] = Workload(lambda r: [m(r) for m in makers], t, j, roundings, group="loops",
                                   script=script(name, text.replace("TRIPS", str(TRIPS)), types, results, "f32"), **more)

    # x = x * a + b forgets its start: a rounding counts for some hundred trips at the most.
    for n in (8, 100):
        row(f"affine_{n}", f"""fn f(x0: f32[{n}], a: f32[{n}], b: f32[{n}]) {{
    var x = x0
    for i in 0..TRIPS {{ x = x * a + b }}
    x
}}""", [(normal(n), f"f32[{n}]"), (positive(.8, .95, n), f"f32[{n}]"), (normal(n), f"f32[{n}]")],
            lambda lib, x, i, s: s * x[1] + x[2], lambda lib, x: x[0], 200)

    # Lorenz' equations where they come to rest, by Runge and Kutta, of one point and of 32.
    def lorenz(name, shape, kind):
        def d(lib, u): return lib.stack([10 * (u[1] - u[0]), u[0] * (12 - u[2]) - u[1], u[0] * u[1] - 2.5 * u[2]])
        def step(lib, x, i, u):
            a = d(lib, u)
            b = d(lib, u + .005 * a)
            c = d(lib, u + .005 * b)
            return u + (.01 / 6) * (a + 2 * b + 2 * c + d(lib, u + .01 * c))
        row(name, f"""fn d(u: {kind}) -> {kind} = stack([10.0 * (u[1] - u[0]), u[0] * (12.0 - u[2]) - u[1], u[0] * u[1] - 2.5 * u[2]])
fn f(start: {kind}) {{
    var u = start
    for i in 0..TRIPS {{
        let a = d(u)
        let b = d(u + 0.005 * a)
        let c = d(u + 0.005 * b)
        u = u + (0.01 / 6.0) * (a + 2.0 * b + 2.0 * c + d(u + 0.01 * c))
    }}
    u
}}""", [(positive(1, 2, *shape), kind)], step, lambda lib, x: x[0], 2000)
    lorenz("lorenz_3", (3,), "f32[3]")
    lorenz("lorenz_3x32", (3, 32), "f32[3, 32]")

    # A point with a velocity in the plane, whose place is measured.
    motion = lambda r: (np.eye(4) + .1 * np.eye(4, k=2)).astype(f32)
    measured = lambda r: np.eye(2, 4, dtype=f32)
    def kalman(lib, x, i, s):
        z, F, H = x
        m, P = s
        one = lib.eye(4, dtype=z.dtype)
        m, P = F @ m, F @ P @ F.T + .01 * one
        S = H @ P @ H.T + .1 * one[:2, :2]
        det = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
        K = P @ H.T @ (lib.stack([lib.stack([S[1, 1], -S[0, 1]]), lib.stack([-S[1, 0], S[0, 0]])]) / det)
        return m + K @ (z[i] - H @ m), P - K @ H @ P
    row("kalman_4x2", """fn f(z: f32[TRIPS, 2], F: f32[4, 4], H: f32[2, 4]) {
    var m = zeros([4])
    var P = eye(4)
    for i in 0..TRIPS {
        m = F @ m
        P = F @ P @ F.T + 0.01 * eye(4)
        let S = H @ P @ H.T + 0.1 * eye(2)
        let det = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
        let K = P @ H.T @ ([[S[1, 1], -S[0, 1]], [-S[1, 0], S[0, 0]]] / det)
        m = m + K @ (z[i] - H @ m)
        P = P - K @ H @ P
    }
    (m, P)
}""", [(normal(TRIPS, 2), f"f32[{TRIPS}, 2]"), (motion, "f32[4, 4]"), (measured, "f32[2, 4]")], kalman,
        lambda lib, x: (lib.zeros(4, dtype=x[0].dtype), lib.eye(4, dtype=x[0].dtype)), 1000, results=2, condition=10)

    for n in (32, 64):
        row(f"rnn_{n}", f"""fn f(x: f32[TRIPS, 16], a: f32[16, {n}], w: f32[{n}, {n}], b: f32[{n}]) {{
    var h = zeros([{n}])
    for i in 0..TRIPS {{ h = tanh(x[i] @ a + h @ w + b) }}
    h
}}""", [(normal(TRIPS, 16), f"f32[{TRIPS}, 16]"), (normal(16, n, scale=.2), f"f32[16, {n}]"),
                 (normal(n, n, scale=.5 / n ** .5), f"f32[{n}, {n}]"), (normal(n), f"f32[{n}]")],
            lambda lib, x, i, h: lib.tanh(x[0][i] @ x[1] + h @ x[2] + x[3]), lambda lib, x: lib.zeros_like(x[3]), 1000)

    row("regression_50x4", """fn f(x: f32[50, 4], y: f32[50]) {
    var w = zeros([4])
    for i in 0..TRIPS { w = w - 0.002 * (x.T @ (x @ w - y)) }
    w
}""", [(normal(50, 4), "f32[50, 4]"), (normal(50), "f32[50]")],
        lambda lib, x, i, w: w - .002 * (x[0].T @ (x[0] @ w - x[1])), lambda lib, x: lib.zeros(4, dtype=x[0].dtype), 2000)

    sigmoid = lambda lib, v: 1 / (1 + lib.exp(-v))
    row("logistic_100x8", """fn f(x: f32[100, 8], y: f32[100]) {
    var w = zeros([8])
    for i in 0..TRIPS { w = w - 0.01 * (x.T @ (sigmoid(x @ w) - y) + 0.1 * w) }
    w
}""", [(normal(100, 8), "f32[100, 8]"), (lambda r: r.integers(0, 2, 100).astype(f32), "f32[100]")],
        lambda lib, x, i, w: w - .01 * (x[0].T @ (sigmoid(lib, x[0] @ w) - x[1]) + .1 * w), lambda lib, x: lib.zeros(8, dtype=x[0].dtype), 4000)

    def definite(n):
        def make(r):
            a = r.standard_normal((n, n))
            return (a @ a.T / n + np.diag(np.arange(n))).astype(f32)
        return make
    def power(lib, x, i, v):
        v = x[0] @ v
        return v / lib.sqrt((v * v).sum())
    row("power_16", """fn f(a: f32[16, 16]) {
    var v = ones([16])
    for i in 0..TRIPS {
        v = a @ v
        v = v / sqrt(sum(v * v))
    }
    v
}""", [(definite(16), "f32[16, 16]")], power, lambda lib, x: lib.ones(16, dtype=x[0].dtype), 1000, condition=10)

    # Five bodies that stay far apart.
    def bodies(lib, x, i, s):
        p, v = s
        d = p[None] - p[:, None]
        v = v + .001 * (d * (((d * d).sum(-1) + 1.) ** -1.5)[..., None]).sum(1)
        return p + .001 * v, v
    row("bodies_5", """fn f(start: f32[5, 3]) {
    var p = start
    var v = zeros([5, 3])
    for i in 0..TRIPS {
        let d = p[new] - p[:, new]
        let r = sum(d * d, axis: -1) + 1.0
        v = v + 0.001 * sum(d * (1.0 / (r * sqrt(r)))[:, :, new], axis: 1)
        p = p + 0.001 * v
    }
    p
}""", [(normal(5, 3), "f32[5, 3]")], bodies, lambda lib, x: (x[0], lib.zeros_like(x[0])), TRIPS, pick=lambda s: s[0], condition=20)

    def heat(lib, x, i, u):
        inner = u[1:-1] + .2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u.at[1:-1].set(inner) if lib is jnp else torch.cat([u[:1], inner, u[-1:]])
    row("heat_64", """fn f(start: f32[64]) {
    var u = start
    for i in 0..TRIPS { u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) }
    u
}""", [(normal(64), "f32[64]")], heat, lambda lib, x: x[0], 4000)

    # Jacobi's method until nothing changes any more, for 2,000 right sides.
    dominant = lambda r: (r.standard_normal((16, 16)) + 30 * np.eye(16)).astype(f32)
    def t_jacobi(a, b):
        return torch.linalg.solve(a, b.T).T
    def j_jacobi(a, b):
        d = jnp.diagonal(a)
        r = a - jnp.diag(d)
        def one(i, out):
            def more(s): return (s[1] > 1e-6) & (s[2] < 100)
            def step(s):
                new = (b[i] - r @ s[0]) / d
                return new, jnp.abs(new - s[0]).max(), s[2] + 1
            return out.at[i].set(jax.lax.while_loop(more, step, (jnp.zeros(16, f32), f32(1), 0))[0])
        return jax.lax.fori_loop(0, 2000, one, jnp.zeros_like(b))
    workloads["jacobi_while_16"] = Workload(lambda r: [dominant(r), r.standard_normal((2000, 16), dtype=f32)], t_jacobi, j_jacobi, 2000,
        group="loops", script=script("jacobi_while_16", """fn f(a: f32[16, 16], b: f32[2000, 16]) {
    let d = diagonal(a)
    let r = a - diag(d)
    var out = zeros([2000, 16])
    for i in 0..2000 {
        var x = zeros([16])
        var change = 1.0
        var trips = 0
        while change > 1e-6 and trips < 100 {
            let next = (b[i] - r @ x) / d
            change = max(abs(next - x))
            x = next
            trips += 1
        }
        out[i] = x
    }
    out
}""", ["f32[16, 16]", "f32[2000, 16]"], 1, "f32"))
