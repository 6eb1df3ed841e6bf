"""The peers' side of the workloads: inputs from a generator, PyTorch's and JAX's version. The TL side is NAME.tl."""
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np


@dataclass
class Workload:
    """A row of the table. A result may differ from the same computation in f64 by what `roundings` one after another make
    (checking.py); 0: not at all."""
    inputs: Callable            # generator -> list of arrays
    torch: Callable
    jax: Callable
    roundings: int              # on the longest way from an input to a result; a sum of n terms has n
    compiled: Optional[Callable] = None  # how a PyTorch user would compile it when not as a whole
    weights: tuple = ()         # the inputs that a network keeps: constants where a peer can freeze them
    condition: float = 1.0      # how much larger than a rounding of an input the change of a result is
    strays: float = 0.0         # by how much a result may be off besides, where rounding decides between two ways
    dtype: str = "f32"          # bf16 or f16: what floats of the inputs are rounded to, for every peer and in the TL script
    reference: Optional[Callable] = None     # PyTorch code for the right result, where `torch` does not give that on all processors
    distribution: Optional[Callable] = None  # of random numbers: what is wrong with a sample, or None
    numpy: Optional[Callable] = None         # a peer where NumPy is a competitor
    script: str = ""            # the TL side, where it is no file
    group: str = "table"        # the rows that run together (bench.py --group)
    channels_last: bool = False # how PyTorch is given images and weights
    trains: bool = False        # differentiates: PyTorch runs outside inference mode, and nothing is frozen


WORKLOADS = {}


def _define():
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    f32 = np.float32
    normal = lambda *s: (lambda r: r.standard_normal(s).astype(f32))
    positive = lambda plus, *s: (lambda r: (np.abs(r.standard_normal(s)) + plus).astype(f32))
    several = lambda *makers: (lambda r: [m(r) for m in makers])

    for m, k, n in [(64, 64, 64), (256, 256, 256), (1024, 1024, 1024), (64, 784, 128), (1, 4096, 4096), (256, 768, 3072)]:
        WORKLOADS[f"matmul_{m}x{k}x{n}"] = Workload(several(normal(m, k), normal(k, n)), *[lambda a, b: a @ b] * 2, k, weights=(1,))
    for m, k, n in [(1024, 1024, 1024), (256, 768, 3072)]:
        WORKLOADS[f"matmul_bf16_{m}x{k}x{n}"] = Workload(several(normal(m, k), normal(k, n)), *[lambda a, b: a @ b] * 2, k, weights=(1,),
            dtype="bf16")
    WORKLOADS["matmul_transposed_4000x1024x512"] = Workload(several(normal(4000, 1024), normal(4000, 512)), *[lambda x, d: x.T @ d] * 2, 4000)
    WORKLOADS["gram_4000x1024"] = Workload(several(normal(4000, 1024)), *[lambda x: x.T @ x] * 2, 4000)
    WORKLOADS["matvec_4096x4096"] = Workload(several(normal(4096, 4096), normal(4096)), *[lambda a, v: a @ v] * 2, 4096, weights=(0,))
    def einsum(name, spec, roundings, *shapes):
        np_path = np.einsum_path(spec, *map(np.empty, shapes), optimize="optimal")[0]
        WORKLOADS[f"einsum_{name}"] = Workload(several(*(normal(*s) for s in shapes)), lambda *a: torch.einsum(spec, *a),
            lambda *a: jnp.einsum(spec, *a, optimize="optimal"), roundings, numpy=lambda *a: np.einsum(spec, *a, optimize=np_path))
    einsum("chain_1000x20", "ij,jk,kl->il", 1020, (1000, 20), (20, 1000), (1000, 20))
    einsum("tucker_64x16", "ijk,ia,jb,kc->abc", 192, (64, 64, 64), (64, 16), (64, 16), (64, 16))
    einsum("bilinear_64", "bi,ijk,bk->bj", 128, (64, 64), (64, 64, 64), (64, 64))
    WORKLOADS["linear_relu_64x784x128"] = Workload(several(normal(64, 784), normal(784, 128), normal(128)),
        lambda x, w, b: torch.relu(x @ w + b), lambda x, w, b: jnp.maximum(x @ w + b, 0), 786, weights=(1, 2))
    WORKLOADS["softmax_1024x1024"] = Workload(several(normal(1024, 1024)), lambda x: torch.softmax(x, -1), lambda x: jax.nn.softmax(x, -1), 1030)

    def layer_norm(x, g, b):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b
    WORKLOADS["layer_norm_1024x1024"] = Workload(several(normal(1024, 1024), normal(1024), normal(1024)),
        lambda x, g, b: F.layer_norm(x, (1024,), g, b), layer_norm, 2060, weights=(1, 2))
    WORKLOADS["gelu_1M"] = Workload(several(normal(1 << 20)), lambda x: F.gelu(x, approximate="tanh"), lambda x: jax.nn.gelu(x, approximate=True), 16)
    chain = lambda x, y: (2 * x + y) * (x - y) + 1
    WORKLOADS["axpy_chain_4M"] = Workload(several(normal(1 << 22), normal(1 << 22)), chain, chain, 5)
    WORKLOADS["sum_rows_cols_2048"] = Workload(several(normal(2048, 2048)), *[lambda x: x.sum(0) + x.sum(1)] * 2, 2049)
    WORKLOADS["transpose_add_2048"] = Workload(several(normal(2048, 2048)), *[lambda x: x.T + x] * 2, 1)

    def black_scholes(lib, erf):
        cdf = lambda z: 0.5 * (1 + erf(z * 0.7071067811865476))
        def price(s, k, t):
            d1 = (lib.log(s / k) + (0.02 + 0.5 * 0.09) * t) / (0.3 * lib.sqrt(t))
            d2 = d1 - 0.3 * lib.sqrt(t)
            return s * cdf(d1) - k * lib.exp(-0.02 * t) * cdf(d2)
        return price
    n = 1 << 20
    WORKLOADS["black_scholes_1M"] = Workload(several(positive(1, n), positive(1, n), positive(0.1, n)),
        black_scholes(torch, torch.erf), black_scholes(jnp, jax.scipy.special.erf), 30, condition=10)  # log(s / k) over 0.3 sqrt(t), which is 0.1

    def adam(lib):
        def step(p, g, m, v):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            return p - 1e-3 * m / (lib.sqrt(v) + 1e-8), m, v
        return step
    WORKLOADS["adam_1M"] = Workload(several(normal(n), normal(n), normal(n), positive(0, n)), adam(torch), adam(jnp), 10)

    def network(relu): return lambda w1, b1, w2, b2, x: relu(x @ w1 + b1) @ w2 + b2
    scaled = lambda c, *s: (lambda r: (r.standard_normal(s) * c).astype(f32))
    WORKLOADS["simple_nn_infer"] = Workload(several(scaled(0.03, 784, 128), scaled(0.1, 128), scaled(0.09, 128, 10), scaled(0.1, 10), normal(64, 784)),
        network(torch.relu), network(lambda x: jnp.maximum(x, 0)), 915, weights=(0, 1, 2, 3))

    def body(zr, zi, count, re, im, lib, to_int):
        inside = zr * zr + zi * zi <= 4
        t = zr * zr - zi * zi + re
        return lib.where(inside, t, zr), lib.where(inside, 2 * zr * zi + im, zi), count + to_int(inside)
    t_body = lambda *a: body(*a, torch, lambda b: b.int())
    def t_mandelbrot(re, im, step=t_body):
        zr = torch.zeros(384, 512); zi = zr.clone(); count = torch.zeros(384, 512, dtype=torch.int32)
        for _ in range(100): zr, zi, count = step(zr, zi, count, re, im)
        return count.sum()
    def j_mandelbrot(re, im):
        z = jnp.zeros((384, 512))
        return jax.lax.fori_loop(0, 100, lambda _, s: body(*s, re, im, jnp, lambda b: b.astype(jnp.int32)), (z, z, z.astype(jnp.int32)))[2].sum()
    def c_mandelbrot(lib):
        step = lib.compile(t_body)
        return lambda re, im: t_mandelbrot(re, im, step)
    WORKLOADS["mandelbrot_512x384x100"] = Workload(lambda r: [np.linspace(-2, .6, 512, dtype=f32)[None], np.linspace(-1.2, 1.2, 384, dtype=f32)[:, None]],
        t_mandelbrot, j_mandelbrot, 0, c_mandelbrot, strays=1e-3)  # points at the edge leave in other rounds

    def inner(u): return u[1:-1, 1:-1] + .2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    def t_step(u):
        v = u.clone()
        v[1:-1, 1:-1] = inner(u)
        return v
    def t_heat(u, step=t_step):
        for _ in range(100): u = step(u)
        return u
    def c_heat(lib):
        step = lib.compile(t_step)
        return lambda u: t_heat(u, step)
    WORKLOADS["heat_512_100"] = Workload(several(positive(0, 512, 512)), t_heat,
        lambda u: jax.lax.fori_loop(0, 100, lambda _, v: v.at[1:-1, 1:-1].set(inner(v)), u), 700, c_heat)

    def kmeans(lib):
        def round_(p, c):
            d = (p * p).sum(1)[:, None] - 2 * p @ c.T + (c * c).sum(1)
            hot = (d.argmin(1)[:, None] == lib.arange(c.shape[0])) * 1.0
            return hot.T @ p / lib.clip(hot.sum(0), 1.0, None)[:, None]
        return round_
    WORKLOADS["kmeans_round_20000x64_10"] = Workload(several(normal(20000, 64), normal(10, 64)), kmeans(torch), kmeans(jnp), 2400)

    def nbody(p, m):
        d = p[None] - p[:, None]
        inv = ((d * d).sum(-1) + .01) ** -1.5
        return (d * (m[None] * inv)[..., None]).sum(1)
    WORKLOADS["nbody_1024"] = Workload(several(normal(1024, 3), positive(0, 1024)), nbody, nbody, 1040)
    WORKLOADS["pairwise_l1_512x64"] = Workload(several(normal(512, 64), normal(512, 64)),
        lambda a, b: (a[:, None] - b[None]).abs().sum(-1), lambda a, b: jnp.abs(a[:, None] - b[None]).sum(-1), 65)
    WORKLOADS["gather_rows_50000x64"] = Workload(lambda r: [r.standard_normal((50000, 64)).astype(f32), r.integers(0, 50000, 20000)],
        *[lambda t, i: t[i].sum(1)] * 2, 64)

    from . import functions, images, kernels, large, loops, networks, parallel, products, random, small, training
    networks.define(WORKLOADS, Workload)
    kernels.define(WORKLOADS, Workload)
    random.define(WORKLOADS, Workload)
    training.define(WORKLOADS, Workload)
    large.define(WORKLOADS, Workload)
    parallel.define(WORKLOADS, Workload)
    products.define(WORKLOADS, Workload)
    images.define(WORKLOADS, Workload)
    loops.define(WORKLOADS, Workload)
    functions.define(WORKLOADS, Workload)
    small.define(WORKLOADS, Workload)


_define()
