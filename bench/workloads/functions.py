"""Single operations beyond the table (bench.py --group functions), with the TL side as text: elementary functions, normalisations with the
statistics of the batch, pooling, permutations, searches, recurrent layers and linear algebra."""
import numpy as np

from .large import script

GRU = """fn f(x: f32[N, L, 128], w: f32[128, 768], u: f32[256, 768], bx: f32[768], bh: f32[768]) {
    let layer = nn.Gru { x: w, h: u, bx: bx, bh: bh }
    layer(x)
}"""


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    f32, M = np.float32, 1 << 20
    normal = lambda *s, scale=1.0: (lambda r: r.standard_normal(s, dtype=f32) * f32(scale))
    evenly = lambda low, high, *s: (lambda r: r.uniform(low, high, s).astype(f32))

    def row(name, text, shapes, makers, t, j, roundings, results=1, **more):
        types = [s if isinstance(s, str) else f"f32[{', '.join(map(str, s))}]" for s in shapes]
        parameters = ", ".join(f"x{i}: {k}" for i, k in enumerate(types))
        define = text if text.startswith("fn ") else f"fn f({parameters}) = {text}"
        made = "".join(f"import {m}\n" for m in ("special", "image") if f"{m}." in text) + script(name, define, types, results, "f32")
        workloads[name] = Workload(lambda r: [m(r) for m in makers], t, j, roundings, group="functions", script=made, **more)

    # ---- elementary functions
    row("pow_1M", "x0 ** x1", [(M,)] * 2, [evenly(0.1, 10, M), evenly(-3, 3, M)], *[lambda x, y: x ** y] * 2, 4, condition=7)  # y log x reaches 7
    row("atan2_1M", "atan2(x0, x1)", [(M,)] * 2, [normal(M)] * 2, torch.atan2, jnp.arctan2, 6)
    row("lgamma_1M", "lgamma(x0)", [(M,)], [evenly(0.1, 30, M)], torch.lgamma, jax.lax.lgamma, 30)
    row("erfinv_1M", "special.erfinv(x0)", [(M,)], [evenly(-0.99, 0.99, M)], torch.erfinv, jax.lax.erf_inv, 30, condition=4)

    # ---- normalisations
    def normalised(x, axes, w, b, shape):
        m = x.mean(axes, keepdims=True)
        y = (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(axes, keepdims=True) + 1e-5)
        return y.reshape(shape) * w[:, None, None] + b[:, None, None]
    def norm(name, text, x, t, j, roundings):
        c = x[1]
        row(name, text, [x, (c,), (c,)], [normal(*x), normal(c), normal(c)], t, j, roundings)
    norm("batch_norm_train_16x64x56x56", "batch_norm(x0, mean(x0, axis: (0, 2, 3)), variance(x0, axis: (0, 2, 3)), x1, x2)", (16, 64, 56, 56),
         lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), lambda x, w, b: normalised(x, (0, 2, 3), w, b, x.shape), 100400)
    norm("instance_norm_8x64x56x56", "instance_norm(x0, x1, x2)", (8, 64, 56, 56), lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
         lambda x, w, b: normalised(x, (2, 3), w, b, x.shape), 6300)
    norm("group_norm_4x256x32x32_32", "group_norm(x0, 32, x1, x2)", (4, 256, 32, 32), lambda x, w, b: F.group_norm(x, 32, w, b),
         lambda x, w, b: normalised(x.reshape(4, 32, -1), -1, w, b, x.shape), 16400)
    norm("group_norm_silu_4x320x64x64_32", "silu(group_norm(x0, 32, x1, x2))", (4, 320, 64, 64), lambda x, w, b: F.silu(F.group_norm(x, 32, w, b)),
         lambda x, w, b: jax.nn.silu(normalised(x.reshape(4, 32, -1), -1, w, b, x.shape)), 82000)

    # ---- windows and permutations
    image = (8, 64, 56, 56)
    def pool(x, window, stride, start, combine):
        pads = [(0, 0)] * 2 + [(window // 2,) * 2] * 2
        return jax.lax.reduce_window(x, start, combine, (1, 1, window, window), (1, 1, stride, stride), pads)
    for stride in (1, 2):
        row(f"max_pool_3_stride{stride}_padded", f"max_pool(x0, 3, stride: {stride}, padding: 1)", [image], [normal(*image)],
            lambda x, s=stride: F.max_pool2d(x, 3, s, 1), lambda x, s=stride: pool(x, 3, s, -jnp.inf, jax.lax.max), 0)
        row(f"avg_pool_3_stride{stride}_padded", f"avg_pool(x0, 3, stride: {stride}, padding: 1)", [image], [normal(*image)],
            lambda x, s=stride: F.avg_pool2d(x, 3, s, 1), lambda x, s=stride: pool(x, 3, s, 0.0, jax.lax.add) / 9, 10)
    row("unfold_3x3_padded", "unfold(x0, 3, padding: 1)", [image], [normal(*image)], lambda x: F.unfold(x, 3, padding=1),
        lambda x: jax.lax.conv_general_dilated_patches(x, (3, 3), (1, 1), [(1, 1)] * 2).reshape(8, 576, 3136), 0)
    five = (8, 16, 32, 16, 32)
    row("permute_five_dims", "permute_dims(x0, [0, 3, 1, 4, 2])", [five], [normal(*five)], lambda x: x.permute(0, 3, 1, 4, 2).contiguous(),
        lambda x: x.transpose(0, 3, 1, 4, 2), 0)

    # ---- searches
    row("argmax_100000x10", "argmax(x0, axis: 1)", [(100000, 10)], [normal(100000, 10)], lambda x: x.argmax(1), lambda x: jnp.argmax(x, 1), 0)
    for name, text, t, j, roundings in [
            ("max", "max(x0, axis: 1)", lambda x: x.amax(1), lambda x: x.max(1), 0), ("sum", "sum(x0, axis: 1)", lambda x: x.sum(1), lambda x: x.sum(1), 10),
            ("softmax", "softmax(x0)", lambda x: x.softmax(1), lambda x: jax.nn.softmax(x, 1), 30),
            ("cumsum", "cumsum(x0, axis: 1)", lambda x: x.cumsum(1), lambda x: jnp.cumsum(x, 1), 10),
            ("sort", "sort(x0)", lambda x: x.sort(1)[0], lambda x: jnp.sort(x, 1), 0),
            ("argsort", "argsort(x0)", lambda x: x.argsort(1), lambda x: jnp.argsort(x, 1), 0),
            ("topk_2", "topk(x0, 2).0", lambda x: x.topk(2)[0], lambda x: jax.lax.top_k(x, 2)[0], 0)]:
        row(f"{name}_100000x10", text, [(100000, 10)], [normal(100000, 10)], t, j, roundings)
    row("histogram_4M_64", "histogram(x0, bins: 64, range: (0.0, 1.0))", [(4 * M,)], [evenly(0, 1, 4 * M)], lambda x: torch.histc(x, 64, 0, 1),
        lambda x: jnp.histogram(x, 64, (0, 1))[0], 0, strays=4e-4)  # as of histogram_1M
    row("searchsorted_1M_in_10000", "searchsorted(x0, x1)", [(10000,), (M,)], [lambda r: np.sort(r.random(10000, dtype=f32)), evenly(0, 1, M)],
        torch.searchsorted, jnp.searchsorted, 0)

    # ---- rows that are picked, counted, summed up and sorted
    row("embedding_bag_4000x12x50", "mean(x0[x1], axis: 1)", [(10000, 50), "i64[4000, 12]"], [normal(10000, 50), lambda r: r.integers(0, 10000, (4000, 12))],
        lambda w, i: F.embedding_bag(i, w, mode="mean"), lambda w, i: w[i].mean(1), 12)
    row("histogram_2d_500000", "bincount(i64(x0 * 64.0) * 64 + i64(x1 * 64.0), length: 4096)", [(500000,)] * 2, [evenly(0, 1, 500000)] * 2,
        lambda x, y: torch.bincount((x * 64).long() * 64 + (y * 64).long(), minlength=4096),
        lambda x, y: jnp.bincount((x * 64).astype(int) * 64 + (y * 64).astype(int), length=4096), 0)
    row("sum_bool_4M", "sum(x0)", [f"bool[{4 * M}]"], [lambda r: r.random(4 * M) < .5], torch.sum, jnp.sum, 0, numpy=np.count_nonzero)
    row("cumsum_i64_1M", "cumsum(x0)", [f"i64[{M}]"], [lambda r: r.integers(0, 100, M)], lambda x: x.cumsum(0), jnp.cumsum, 0, numpy=np.cumsum)
    row("sort_5000x100", "sort(x0)", [(5000, 100)], [normal(5000, 100)], lambda x: x.sort(1)[0], lambda x: jnp.sort(x, 1), 0, numpy=np.sort)
    row("sort_i32_5000x100", "sort(x0)", ["i32[5000, 100]"], [lambda r: r.integers(0, M, (5000, 100), np.int32)], lambda x: x.sort(1)[0],
        lambda x: jnp.sort(x, 1), 0, numpy=np.sort)

    # ---- signals and images
    row("conv1d_1_to_64_stride10", "conv1d(x0, x1, stride: 10)", [(1, 1, 160000), (64, 1, 25)], [normal(1, 1, 160000), normal(64, 1, 25)],
        lambda x, w: F.conv1d(x, w, stride=10), lambda x, w: jax.lax.conv_general_dilated(x, w, (10,), "VALID"), 25, weights=(1,))
    row("pad_reflect_4x8x200x200", 'pad(x0, [[0, 0], [0, 0], [3, 3], [5, 5]], mode: "reflect")', [(4, 8, 200, 200)], [normal(4, 8, 200, 200)],
        lambda x: F.pad(x, (5, 5, 3, 3), "reflect"), lambda x: jnp.pad(x, ((0, 0), (0, 0), (3, 3), (5, 5)), "reflect"), 0)
    row("resize_linear_720x1280", 'image.resize(x0, [224, 224], mode: "linear")', [(1, 3, 720, 1280)], [normal(1, 3, 720, 1280)],
        lambda x: F.interpolate(x, (224, 224), mode="bilinear"), lambda x: jax.image.resize(x, (1, 3, 224, 224), "linear", antialias=False), 10,
        condition=1000)  # how near a place is to an element is what f32 leaves of a number up to 1280

    # ---- tensors that lie in memory along different dims, rows of columns that are read again, one of the smallest
    row("trace_of_product_2048", 'einsum("ij,ji->", x0, x1)', [(2048, 2048)] * 2, [evenly(0.1, 1, 2048, 2048)] * 2,
        lambda x, y: torch.einsum("ij,ji->", x, y), lambda x, y: jnp.einsum("ij,ji->", x, y), 2048 * 2048)
    row("symmetric_2048", "max(abs(x0 - x0.T))", [(2048, 2048)], [normal(2048, 2048)], lambda x: (x - x.T).abs().amax(), lambda x: jnp.abs(x - x.T).max(), 2)
    row("scale_columns_10000x200", "(x0 - min(x0, axis: 0)) / (max(x0, axis: 0) - min(x0, axis: 0))", [(10000, 200)], [evenly(0, 1, 10000, 200)],
        lambda x: (x - x.amin(0)) / (x.amax(0) - x.amin(0)), lambda x: (x - x.min(0)) / (x.max(0) - x.min(0)), 8)
    row("softmax_columns_1000x1000", "softmax(x0, axis: 0)", [(1000, 1000)], [normal(1000, 1000)], lambda x: x.softmax(0), lambda x: jax.nn.softmax(x, 0), 1010)
    row("roll_2000x2000", "roll(x0, (3, 5), axis: (0, 1))", [(2000, 2000)], [normal(2000, 2000)], lambda x: torch.roll(x, (3, 5), (0, 1)), lambda x: jnp.roll(x, (3, 5), (0, 1)), 0)
    row("kthvalue_1000x1000_300", "kthvalue(x0, 300).0", [(1000, 1000)], [normal(1000, 1000)], lambda x: torch.kthvalue(x, 300, 1)[0], lambda x: jnp.sort(x, 1)[:, 299], 0)
    eight = lambda r: r.integers(0, 255, 4 * M + 77).astype(np.uint8)
    row("shifted_sum_u8_4M", "x0[1:] + x0[:-1]", [f"u8[{4 * M + 77}]"], [eight], *[lambda x: x[1:] + x[:-1]] * 2, 0)

    # ---- a recurrent layer
    def t_gru(x, w, u, bx, bh):
        return torch.gru(x, x.new_zeros(1, 32, 256), [w.T, u.T, bx, bh], True, 1, 0.0, False, False, True)[0]
    def j_gru(x, w, u, bx, bh):
        def step(h, given):
            r, z, n = jnp.split(given, 3, 1)
            hr, hz, hn = jnp.split(h @ u + bh, 3, 1)
            z = jax.nn.sigmoid(z + hz)
            h = (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + z * h
            return h, h
        return jax.lax.scan(step, jnp.zeros((32, 256)), (x @ w + bx).swapaxes(0, 1))[1].swapaxes(0, 1)
    row("gru_32x64x128", GRU, [(32, 64, 128), (128, 768), (256, 768), (768,), (768,)],
        [normal(32, 64, 128), *(normal(*s, scale=.05) for s in [(128, 768), (256, 768), (768,), (768,)])], t_gru, j_gru, 64 * 400, weights=(1, 2, 3, 4))

    # ---- linear algebra: results that are the same for every algorithm, of matrices that are far from singular
    def dominant(*s): return lambda r: (r.standard_normal(s) + 2 * s[-1] ** 0.5 * np.eye(s[-1])).astype(f32)
    def definite(*s):
        def make(r):
            a = r.standard_normal(s)
            return (a @ a.swapaxes(-1, -2) / s[-1] + np.eye(s[-1])).astype(f32)
        return make
    def square(name, text, shape, t, j, make, roundings, **more): row(name, text, [shape], [make(*shape)], t, j, roundings, **more)
    row("solve_1000", "solve(x0, x1)", [(1000, 1000), (1000,)], [dominant(1000, 1000), normal(1000)], torch.linalg.solve, jnp.linalg.solve, 2000, condition=10)
    square("inv_500", "inv(x0)", (500, 500), torch.linalg.inv, jnp.linalg.inv, dominant, 1500, condition=10)
    square("cholesky_1000", "cholesky(x0)", (1000, 1000), torch.linalg.cholesky, jnp.linalg.cholesky, definite, 1000, condition=5)
    # The sign of a row of R is that of its diagonal: free.
    row("qr_4000x100", "abs(qr(x0).1)", [(4000, 100)], [normal(4000, 100)], lambda x: torch.linalg.qr(x).R.abs(), lambda x: jnp.abs(jnp.linalg.qr(x)[1]), 4000, condition=5)
    square("svd_values_64", "svd(x0, full_matrices: false).1", (64, 64), torch.linalg.svdvals, lambda x: jnp.linalg.svd(x, compute_uv=False), dominant, 640, condition=10)
    # With vectors, whose signs are free, as the product of the parts.
    def parts(svd): return lambda x: (lambda u, s, v: u * s[..., None, :] @ v)(*svd(x))
    for shape in [(64, 64), (500, 3, 3)]:
        square(f"svd_{'x'.join(map(str, shape))}", "fn f(x: f32[...S, N, N]) {\n    let (u, s, v) = svd(x)\n    u * s[..., new, :] @ v\n}", shape,
               parts(torch.linalg.svd), parts(jnp.linalg.svd), dominant, 640, condition=10)
    square("det_10000x3x3", "det(x0)", (10000, 3, 3), torch.linalg.det, jnp.linalg.det, dominant, 12, condition=10)
    square("inv_10000x3x3", "inv(x0)", (10000, 3, 3), torch.linalg.inv, jnp.linalg.inv, dominant, 30, condition=50)
    square("solve_1000x16x16", "solve(x0, x0[:, :, 0:4])", (1000, 16, 16), lambda a: torch.linalg.solve(a, a[:, :, :4]), lambda a: jnp.linalg.solve(a, a[:, :, :4]),
           dominant, 100, condition=50)
