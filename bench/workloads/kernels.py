"""Peers of three kinds of kernels: stencils and factorisations; normalisation, pooling and attention; indexing."""
import numpy as np


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    f32 = np.float32
    normal = lambda *s, scale=1.0: (lambda r: (r.standard_normal(s) * scale).astype(f32))
    integers = lambda n, *s: (lambda r: r.integers(0, n, s))
    several = lambda *makers: (lambda r: [m(r) for m in makers])

    # ---- stencils and factorisations
    def stencil(name, shape, steps, inner):
        hole = (slice(1, -1),) * len(shape)
        def t_step(u):
            v = u.clone()
            v[hole] = inner(u)
            return v
        def t_run(u, step=t_step):
            for _ in range(steps): u = step(u)
            return u
        def c_run(lib):
            step = lib.compile(t_step)
            return lambda u: t_run(u, step)
        workloads[name] = Workload(several(normal(*shape)), t_run,
            lambda u: jax.lax.fori_loop(0, steps, lambda _, v: v.at[hole].set(inner(v)), u), 9 * steps, c_run)
    m, lo, hi = slice(1, -1), slice(None, -2), slice(2, None)
    stencil("heat3d_96_20", (96, 96, 96), 20, lambda u: u[m, m, m] + .1 * (u[lo, m, m] + u[hi, m, m] + u[m, lo, m] + u[m, hi, m]
        + u[m, m, lo] + u[m, m, hi] - 6 * u[m, m, m]))
    stencil("nine_point_1024_20", (1024, 1024), 20, lambda u: .2 * (u[lo, m] + u[hi, m] + u[m, lo] + u[m, hi])
        + .05 * (u[lo, lo] + u[lo, hi] + u[hi, lo] + u[hi, hi]))

    def t_wave(u, v):
        a, b = u, v
        for _ in range(50):
            n = 2 * b - a
            n[m, m] += .1 * (b[lo, m] + b[hi, m] + b[m, lo] + b[m, hi] - 4 * b[m, m])
            a, b = b, n
        return b
    def j_wave(u, v):
        def step(_, s):
            a, b = s
            return b, (2 * b - a).at[m, m].add(.1 * (b[lo, m] + b[hi, m] + b[m, lo] + b[m, hi] - 4 * b[m, m]))
        return jax.lax.fori_loop(0, 50, step, (u, v))[1]
    workloads["wave_512_50"] = Workload(several(normal(512, 512), normal(512, 512)), t_wave, j_wave, 500, condition=4)  # a wave of short length grows for some rounds
    gray = lambda x: (x[..., 0] * .299 + x[..., 1] * .587 + x[..., 2] * .114)
    def sobel(x, lib):
        g = gray(x)
        s = g[:, hi] - g[:, lo]
        gx = s[lo] + 2 * s[m] + s[hi]
        s = g[hi] - g[lo]
        gy = s[:, lo] + 2 * s[:, m] + s[:, hi]
        return lib.sqrt(gx * gx + gy * gy)
    workloads["sobel_1080x1920x3"] = Workload(several(normal(1080, 1920, 3)), lambda x: sobel(x, torch), lambda x: sobel(x, jnp), 16)

    def definite(*s):
        def make(r):
            a = r.standard_normal(s)
            return (a @ a.swapaxes(-1, -2) + s[-1] * np.eye(s[-1])).astype(f32)
        return make
    workloads["cholesky_512"] = Workload(several(definite(512, 512)), torch.linalg.cholesky, jnp.linalg.cholesky, 512, condition=5)
    workloads["cholesky_256x32x32"] = Workload(several(definite(256, 32, 32)), torch.linalg.cholesky, jnp.linalg.cholesky, 32, condition=5)
    workloads["solve_512x512x64"] = Workload(several(definite(512, 512), normal(512, 64)), torch.linalg.solve, jnp.linalg.solve, 1024, condition=5)

    # ---- normalisation, pooling and attention
    def j_group(x, w, b):
        g = x.reshape(8, 8, -1)
        g = (g - g.mean(-1, keepdims=True)) / jnp.sqrt(g.var(-1, keepdims=True) + 1e-5)
        return g.reshape(x.shape) * w[:, None, None] + b[:, None, None]
    workloads["group_norm_8x64x56x56"] = Workload(several(normal(8, 64, 56, 56), normal(64), normal(64)),
        lambda x, w, b: F.group_norm(x, 8, w, b), j_group, 50200, weights=(1, 2))
    workloads["rms_norm_2048x768"] = Workload(several(normal(2048, 768), normal(768)), lambda x, w: F.rms_norm(x, (768,), w, 1e-5),
        lambda x, w: x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w, 772, weights=(1,))
    workloads["avg_pool_8x64x112x112"] = Workload(several(normal(8, 64, 112, 112)), lambda x: F.avg_pool2d(x, 2),
        lambda x: jax.lax.reduce_window(x, 0., jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") * .25, 4)
    workloads["cross_entropy_512x10000"] = Workload(several(normal(512, 10000), integers(10000, 512)), F.cross_entropy,
        lambda x, i: -jnp.take_along_axis(jax.nn.log_softmax(x), i[:, None], 1).mean(), 10520)
    def t_masked(q, k, v, mask): return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    def j_masked(q, k, v, mask):
        return jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1])) + mask, -1) @ v
    workloads["attention_masked_2x8x256x64"] = Workload(several(*[normal(2, 8, 256, 64)] * 3, normal(2, 1, 256, 256)), t_masked, j_masked, 330)

    # ---- indexing
    workloads["embedding_50000x256"] = Workload(several(normal(50000, 256), integers(50000, 8192)), lambda t, i: F.embedding(i, t),
        lambda t, i: t[i], 0)
    workloads["scatter_add_10000x64"] = Workload(several(normal(10000, 64), integers(10000, 20000), normal(20000, 64)),
        lambda x, i, u: x.index_add(0, i, u), lambda x, i, u: x.at[i].add(u), 12)
    workloads["take_along_1024x1024"] = Workload(several(normal(1024, 1024), integers(1024, 1024, 256)),
        lambda x, i: torch.take_along_dim(x, i, 1), lambda x, i: jnp.take_along_axis(x, i, 1), 0)
    def t_topk(x):
        values, places = x.topk(16, 1)
        return values, places
    workloads["topk_1024x4096"] = Workload(several(normal(1024, 4096)), t_topk, lambda x: jax.lax.top_k(x, 16), 0)
    workloads["bincount_4M"] = Workload(several(integers(1000, 1 << 22)), lambda i: torch.bincount(i, minlength=1000),
        lambda i: jnp.bincount(i, length=1000), 0)
    workloads["histogram_1M"] = Workload(several(normal(1 << 20)), lambda x: torch.histc(x, 100, -4, 4),
        lambda x: jnp.histogram(x, 100, (-4, 4))[0], 0, strays=4e-4)  # 4 numbers of 10,000 lie within a rounding of an edge
    workloads["argmax_1024x4096"] = Workload(several(normal(1024, 4096)), lambda x: x.argmax(1), lambda x: jnp.argmax(x, 1), 0)
    def turned(r):
        """Places of a grid turned by a sixth of a right angle, each moved a little."""
        y, x = np.meshgrid(np.linspace(-1, 1, 128), np.linspace(-1, 1, 128), indexing="ij")
        grid = np.stack([.97 * x - .26 * y, .26 * x + .97 * y], -1) + .01 * r.standard_normal((4, 128, 128, 2))
        return grid.astype(np.float32)
    def j_grid_sample(images, grids):
        def one(image, grid):
            places = [((grid[..., 1] + 1) * image.shape[1] - 1) / 2, ((grid[..., 0] + 1) * image.shape[2] - 1) / 2]
            return jax.vmap(lambda channel: jax.scipy.ndimage.map_coordinates(channel, places, 1))(image)
        return jax.vmap(one)(images, grids)
    workloads["grid_sample_4x32x128x128"] = Workload(lambda r: [r.standard_normal((4, 32, 128, 128)).astype(np.float32), turned(r)],
        lambda x, g: F.grid_sample(x, g, align_corners=False), j_grid_sample, 10, condition=128)  # a place of a grid is 128 roundings of 1 wide
    workloads["std_axis0_4096x1024"] = Workload(several(normal(4096, 1024)), lambda x: x.std(0, correction=0), lambda x: x.std(0), 8200)
    workloads["masked_where_4M"] = Workload(several(normal(1 << 22), normal(1 << 22)),
        lambda x, y: torch.where((x > y) & (x > 0), x * y, y), lambda x, y: jnp.where((x > y) & (x > 0), x * y, y), 1)
