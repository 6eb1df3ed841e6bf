"""Workloads that fill a GPU (bench.py --device cuda), with the TL side as text."""
import numpy as np

NN = """fn loss(w1: f32[784, 128], b1: f32[128], w2: f32[128, 10], b2: f32[10], x: f32[N, 784], y: i64[N]) -> f32 =
    nn.cross_entropy(relu(x @ w1 + b1) @ w2 + b2, y)
fn f(w1: f32[784, 128], b1: f32[128], w2: f32[128, 10], b2: f32[10], x: f32[N, 784], y: i64[N]) {
    var p = (w1, b1, w2, b2)
    for i in 0..100 {
        let g = grad(loss, wrt: (0, 1, 2, 3))(p.0, p.1, p.2, p.3, x, y)
        p = (p.0 - 0.01 * g.0, p.1 - 0.01 * g.1, p.2 - 0.01 * g.2, p.3 - 0.01 * g.3)
    }
    p
}"""


def script(name, define, types, results, dtype):
    """TL text: `f` of the inputs, whose results are saved, and timed."""
    def load(indent):
        made = []
        for i, t in enumerate(types):
            narrow = dtype != "f32" and t.startswith("f32")
            made.append(f'{indent}let x{i}{"_f32" if narrow else ""}: {t} = load("{{dir}}/in{i}.npy")')
            if narrow: made.append(f"{indent}let x{i} = {dtype}(x{i}_f32)")
        return made
    call = f"f({', '.join(f'x{i}' for i in range(len(types)))})"
    parts = ["r"] if results == 1 else [f"r.{i}" for i in range(results)]
    saves = [f'save("{{dir}}/tenc{i}.npy", {f"f32({p})" if dtype != "f32" else p})' for i, p in enumerate(parts)]
    return "\n".join(["import nn", 'param dir: str = "."', define, *load(""), f"let r = {call}", *saves,
                      f'bench "{name}" {{', *load("    "), f"    {call}", "}"]) + "\n"


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    f32 = np.float32
    normal = lambda *s, scale=1.0: (lambda r: r.standard_normal(s, dtype=f32) * f32(scale))
    positive = lambda *s: (lambda r: np.abs(r.standard_normal(s, dtype=f32)))
    below = lambda n, *s: (lambda r: r.integers(0, n, s))

    def row(name, define, types, makers, t, j, roundings, results=1, dtype="f32", **more):
        if not define.lstrip().startswith("fn"):
            parameters = ", ".join(f"x{i}: {k.replace('f32', dtype)}" for i, k in enumerate(types))
            define = f"fn f({parameters}) = {define}"
        workloads[name] = Workload(lambda r: [m(r) for m in makers], t, j, roundings, dtype=dtype, group="gpu",
                                   script=script(name, define, types, results, dtype), **more)

    M = 1 << 20
    flat, square, rows = f"f32[{32 * M}]", "f32[8192, 4096]", normal(8192, 4096)
    row("chain_32M", "(2.0 * x0 + x1) * (x0 - x1) + 1.0", [flat] * 2, [normal(32 * M)] * 2, *[lambda x, y: (2 * x + y) * (x - y) + 1] * 2, 5)
    row("gelu_bf16_32M", "gelu(x0)", [flat], [normal(32 * M)], F.gelu, lambda x: jax.nn.gelu(x, approximate=False), 16, dtype="bf16")
    for dtype, name in (("f32", ""), ("bf16", "bf16_")):
        row(f"softmax_{name}8192x4096", "softmax(x0, axis: -1)", [square], [rows], lambda x: torch.softmax(x, -1), lambda x: jax.nn.softmax(x, -1), 4100, dtype=dtype)
    def j_norm(x, g, b):
        m = x.mean(-1, keepdims=True)
        return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b
    for wide in (4096, 1023):
        row(f"layer_norm_residual_8192x{wide}", "layer_norm(x0 + x1, x2, x3)", [f"f32[8192, {wide}]"] * 2 + [f"f32[{wide}]"] * 2,
            [normal(8192, wide)] * 2 + [normal(wide)] * 2, lambda x, r, g, b: F.layer_norm(x + r, g.shape, g, b), lambda x, r, g, b: j_norm(x + r, g, b), 8200)
    def adam(lib):
        def step(p, g, m, v):
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            return p - 1e-3 * m / (lib.sqrt(v) + 1e-8), m, v
        return step
    row("adam_32M", f"""fn f(p: {flat}, g: {flat}, m0: {flat}, v0: {flat}) {{
    let m = 0.9 * m0 + 0.1 * g
    let v = 0.999 * v0 + 0.001 * g * g
    (p - 1e-3 * m / (sqrt(v) + 1e-8), m, v)
}}""", [flat] * 4, [normal(32 * M)] * 3 + [positive(32 * M)], adam(torch), adam(jnp), 10, results=3)
    row("transpose_add_8192", "x0.T + x0", ["f32[8192, 8192]"], [normal(8192, 8192)], *[lambda x: x.T + x] * 2, 1)
    row("sum_columns_8192x4096", "sum(x0, axis: 0)", [square], [rows], *[lambda x: x.sum(0)] * 2, 8192)
    row("sum_32M", "sum(x0 * x0)", [flat], [normal(32 * M)], *[lambda x: (x * x).sum()] * 2, 1 << 25)
    row("cross_entropy_2048x32000", "nn.cross_entropy(x0, x1)", ["f32[2048, 32000]", "i64[2048]"], [normal(2048, 32000), below(32000, 2048)], F.cross_entropy,
        lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean(), 34000)

    # ---- products
    product = lambda a, b: a @ b
    row("matmul_4096", "x0 @ x1", ["f32[4096, 4096]"] * 2, [normal(4096, 4096)] * 2, product, product, 4096)
    row("matmul_bf16_4096", "x0 @ x1", ["f32[4096, 4096]"] * 2, [normal(4096, 4096)] * 2, product, product, 4096, dtype="bf16")
    row("linear_gelu_bf16_8192x1024x4096", "gelu(x0 @ x1 + x2)", ["f32[8192, 1024]", "f32[1024, 4096]", "f32[4096]"],
        [normal(8192, 1024), normal(1024, 4096, scale=0.03), normal(4096)], lambda x, w, b: F.gelu(torch.addmm(b, x, w)),
        lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False), 1024, dtype="bf16", strays=0.04)  # halves are rounded after the product and the sum, too
    for wide in (64, 128):
        heads = [f"f32[4, 16, 2048, {wide}]"]
        row(f"attention_causal_bf16_2048x{wide}", "attention(x0, x1, x2, causal: true)", heads * 3, [normal(4, 16, 2048, wide)] * 3,
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), j_attention, 2100, dtype="bf16", strays=0.06)  # weights are rounded to bf16
    def t_gradient(q, k, v, c):
        p = [t.detach().requires_grad_() for t in (q, k, v)]
        return torch.autograd.grad(F.scaled_dot_product_attention(*p, is_causal=True), p, c)
    row("attention_grad_bf16_2048x64", "grad(|q, k, v| sum(attention(q, k, v, causal: true) * x3), wrt: (0, 1, 2))(x0, x1, x2)", ["f32[4, 16, 2048, 64]"] * 4,
        [normal(4, 16, 2048, 64)] * 4, t_gradient, lambda q, k, v, c: jax.vjp(j_attention, q, k, v)[1](c), 4200, results=3, dtype="bf16", strays=0.3, trains=True)  # the peers round weights and their changes
    j_conv = lambda x, w, groups=1: jax.lax.conv_general_dilated(x, w, (1, 1), [(1, 1)] * 2, feature_group_count=groups)
    for dtype, name in (("f32", ""), ("bf16", "bf16_")):
        row(f"conv3x3_{name}32x128x56x56", "conv2d(x0, x1, padding: 1)", ["f32[32, 128, 56, 56]", "f32[128, 128, 3, 3]"], [normal(32, 128, 56, 56), normal(128, 128, 3, 3, scale=0.03)],
            lambda x, w: F.conv2d(x, w, padding=1), j_conv, 1160, dtype=dtype, channels_last=True)
    row("conv_depthwise_32x256x56x56", "conv2d(x0, x1, padding: 1, groups: 256)", ["f32[32, 256, 56, 56]", "f32[256, 1, 3, 3]"], [normal(32, 256, 56, 56), normal(256, 1, 3, 3)],
        lambda x, w: F.conv2d(x, w, padding=1, groups=256), lambda x, w: j_conv(x, w, 256), 12)

    # ---- scans, sorts, scatters
    row("cumsum_8192x4096", "cumsum(x0, axis: 1)", [square], [rows], lambda x: x.cumsum(1), lambda x: jnp.cumsum(x, 1), 4096)
    row("cumsum_32M", "cumsum(x0)", [flat], [positive(32 * M)], lambda x: x.cumsum(0), jnp.cumsum, 1 << 25)
    row("sort_8M", "sort(x0)", [f"f32[{8 * M}]"], [normal(8 * M)], lambda x: x.sort().values, jnp.sort, 0)
    row("sort_8192x1024", "sort(x0)", ["f32[8192, 1024]"], [normal(8192, 1024)], lambda x: x.sort().values, jnp.sort, 0)
    row("topk_8192x4096_8", "topk(x0, 8)", [square], [rows], lambda x: x.topk(8), lambda x: jax.lax.top_k(x, 8), 0, results=2)
    row("bincount_32M", "bincount(x0, length: 1024)", [f"i64[{32 * M}]"], [below(1024, 32 * M)], lambda x: torch.bincount(x, minlength=1024), lambda x: jnp.bincount(x, length=1024), 0)
    row("embedding_grad_65536", "grad(|w| sum(take(w, x1, axis: 0) * x2))(x0)", ["f32[50257, 256]", "i64[65536]", "f32[65536, 256]"],
        [normal(50257, 256), below(50257, 65536), normal(65536, 256)], lambda w, i, c: torch.zeros_like(w).index_add_(0, i, c), lambda w, i, c: jnp.zeros_like(w).at[i].add(c), 40)

    # ---- many small kernels
    def t_step(w1, b1, w2, b2, x, y):
        p = [t.detach().requires_grad_() for t in (w1, b1, w2, b2)]
        g = torch.autograd.grad(F.cross_entropy(torch.relu(x @ p[0] + p[1]) @ p[2] + p[3], y), p)
        with torch.no_grad(): return [a - 0.01 * d for a, d in zip(p, g)]
    def t_train(w1, b1, w2, b2, x, y, step=t_step):
        p = [w1, b1, w2, b2]
        for _ in range(100): p = [t.clone() for t in step(*p, x, y)]  # what a graph returns is overwritten by its next replay
        return p
    def j_loss(p, x, y): return -jnp.take_along_axis(jax.nn.log_softmax(jnp.maximum(x @ p[0] + p[1], 0) @ p[2] + p[3]), y[:, None], 1).mean()
    def j_train(w1, b1, w2, b2, x, y):
        step = lambda _, p: tuple(a - 0.01 * d for a, d in zip(p, jax.grad(j_loss)(p, x, y)))
        return jax.lax.fori_loop(0, 100, step, (w1, b1, w2, b2))
    def c_train(lib):
        step = lib.compile(t_step)
        return lambda *a: t_train(*a, step=step)
    row("simple_nn_100_steps", NN, ["f32[784, 128]", "f32[128]", "f32[128, 10]", "f32[10]", "f32[64, 784]", "i64[64]"],
        [normal(784, 128, scale=.03), normal(128, scale=.1), normal(128, 10, scale=.09), normal(10, scale=.1), normal(64, 784), below(10, 64)],
        t_train, j_train, 100000, results=4, compiled=c_train, trains=True)


def j_attention(q, k, v):
    """The best that JAX has: cuDNN's where that can be used."""
    import jax
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    try: y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
    except Exception: y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return y.swapaxes(1, 2)
