"""Matrix products of many shapes and dtypes (bench.py --group products), with the TL side as text."""
import numpy as np

from .large import script


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch

    normal = lambda *s: (lambda r: r.standard_normal(s, dtype=np.float32))
    bytes_ = lambda *s: (lambda r: r.integers(-128, 128, s, dtype=np.int8))

    def row(name, text, shapes, t, j, roundings, dtype="f32", integers=False, **more):
        types = [f"{'i8' if integers else 'f32'}[{', '.join(map(str, s))}]" for s in shapes]
        makers = [(bytes_ if integers else normal)(*s) for s in shapes]
        parameters = ", ".join(f"x{i}: {k.replace('f32', dtype)}" for i, k in enumerate(types))
        workloads[name] = Workload(lambda r: [m(r) for m in makers], t, j, roundings, dtype=dtype, group="products",
                                   script=script(name, f"fn f({parameters}) = {text}", types, 1, dtype), **more)

    def product(name, m, k, n, dtype="f32", batch=()):
        row(name, "x0 @ x1", [(*batch, m, k), (*batch, k, n)], *[lambda a, b: a @ b] * 2, k, dtype)

    def wide(a, b): return jax.lax.dot(a, b, preferred_element_type=jnp.int32)
    # _int_mm saturates sums of two products in 16 bits where oneDNN has no VNNI; in f64 the sums are exact.
    def exact(a, b): return a.double() @ b.double()
    for n in (256, 512, 1024, 2048):
        product(f"square_{n}", n, n, n)
        product(f"square_bf16_{n}", n, n, n, "bf16")
        product(f"square_f16_{n}", n, n, n, "f16")
        row(f"square_i8_{n}", "i32(x0) @ i32(x1)", [(n, n)] * 2, torch._int_mm, wide, 0, integers=True, reference=exact)
    for m in (1, 2, 3, 4, 5, 6, 7, 8, 9, 16):
        product(f"rows_{m}x4096x4096", m, 4096, 4096)
    for m in (1, 8):
        for dtype in ("bf16", "f16"): product(f"rows_{dtype}_{m}x4096x4096", m, 4096, 4096, dtype)
    row("rows_i8_32x4096x4096", "i32(x0) @ i32(x1)", [(32, 4096), (4096, 4096)], torch._int_mm, wide, 0, integers=True, reference=exact)
    for m, k, n in [(100000, 64, 64), (20000, 256, 16), (64, 100000, 64), (512, 4096, 512)]: product(f"tall_{m}x{k}x{n}", m, k, n)
    for n in (4, 8, 16, 32): product(f"batched_1000x{n}", n, n, n, batch=(1000,))
    for n in (256, 512, 1024, 2048):
        row(f"transposed_{n}", "x0.T @ x1", [(n, n)] * 2, *[lambda a, b: a.T @ b] * 2, n)
    for m, n in [(1024, 512), (4096, 256)]: row(f"gram_{m}x{n}", "x0.T @ x0", [(m, n)], *[lambda x: x.T @ x] * 2, m)
