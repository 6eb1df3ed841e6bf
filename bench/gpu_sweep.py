#!/usr/bin/env python3
"""The bars of gpu_model.py for kernels of many shapes, most of them odd.

    python3 bench/gpu_sweep.py [--tenc PATH] [--only TEXT,...] [--spills] [--jobs N] [--list]

Prints each workload that misses a bar, and how many there were. --spills compiles only, for sm_90, and asks ptxas, which is quick, and
also does the shapes that take long to run."""
import argparse
import concurrent.futures
import math
import pathlib
import re
import sys
import tempfile

import gpu_model
from gpu_model import ADAM, DRAM, ROOT, TILED, Workload, model

SIZE = {"f4": 4, "f2": 2, "b2": 2, "i8": 8}
TIMED = {"moved": 1.05, "bytes": 1.05, "ratio": 1.2}
MOVED = {"moved": 1.05, "bytes": 1.05}
ROWS_BARS = {"bytes": 1.05}


def bytes_of(*tensors): return sum(math.prod(shape) * SIZE[dtype] for shape, dtype in tensors)


def elementwise():
    for n in (1 << 20, (1 << 20) - 1, 1000003, 999999, 65537 * 10 + 2):
        for d in ("f4", "f2", "b2"):
            x = ((n,), d)
            yield Workload(f"elementwise {d} {n}: x + 1", [("x", (n,), d)], ["x + 1.0"], bytes_of(x, x), bars=TIMED)
            yield Workload(f"elementwise {d} {n}: x * y", [("x", (n,), d), ("y", (n,), d)], ["x * y"], bytes_of(x, x, x), bars=TIMED)
            yield Workload(f"elementwise {d} {n}: gelu", [("x", (n,), d)], ["gelu(x)"], bytes_of(x, x), bars=TIMED)
        for e in ("exp(x)", "tanh(x)", "sigmoid(x)", "silu(x)", "sqrt(abs(x))", "where(x > 0.0, x, 0.1 * x)"):
            yield Workload(f"elementwise f4 {n}: {e}", [("x", (n,))], [e], 8 * n, bars=TIMED)
        yield Workload(f"elementwise i8 {n}: x + 1", [("x", (n,), "i8", 1000)], ["x + 1"], 16 * n, bars=TIMED)
        yield Workload(f"elementwise f4 {n}: to f16", [("x", (n,))], ["f16(x)"], 6 * n, bars=TIMED)
        yield Workload(f"optimiser adam {n}", [(k, (n,)) for k in ("p", "g", "m0", "v0")], ["f(p, g, m0, v0)", "result0.0", "result0.1", "result0.2"], 28 * n, ADAM, bars=TIMED)
        yield Workload(f"optimiser sgd {n}", [(k, (n,)) for k in ("p", "g", "m0")], ["f(p, g, m0)", "result0.0", "result0.1"], 20 * n,
                       "fn f(p: f32[N], g: f32[N], m0: f32[N]) -> (f32[N], f32[N]) {\n let m = 0.9 * m0 + g\n (p - 0.1 * m, m)\n}", bars=TIMED)
    for a, b in ((1000, 1000), (1023, 1021), (777, 1351), (4097, 255), (3, 333333), (333333, 3), (1, 1000001), (1000001, 1)):
        yield Workload(f"elementwise bias {a}x{b}", [("x", (a, b)), ("b", (b,))], ["relu(x + b)"], 8 * a * b + 4 * b, bars=TIMED)
        yield Workload(f"elementwise bias of rows {a}x{b}", [("x", (a, b)), ("b", (a, 1))], ["x * b"], 8 * a * b + 4 * a, bars=TIMED)
        yield Workload(f"elementwise f16 bias {a}x{b}", [("x", (a, b), "f2"), ("b", (b,), "f2")], ["x + b"], 4 * a * b + 2 * b, bars=TIMED)
        yield Workload(f"elementwise slice {a}x{b}", [("x", (a + 2, b + 2))], ["x[1:-1, 1:-1] * 2.0"], 8 * a * b, bars=ROWS_BARS)
        yield Workload(f"elementwise pad {a}x{b}", [("x", (a, b))], ["pad(x, [(1, 1), (1, 1)])"], 4 * a * b + 4 * (a + 2) * (b + 2), bars=ROWS_BARS)
        yield Workload(f"elementwise concat {a}x{b}", [("x", (a, b)), ("y", (a, b))], ["concat([x, y], axis: 1)"], 16 * a * b, bars=ROWS_BARS)


def rows():
    shapes = [(r, c) for c in (1, 2, 3, 5, 7, 10, 16, 31, 33, 48, 63, 65, 100, 127, 129, 200, 255, 256, 257, 384, 511, 513, 640, 768, 1000, 1023, 1025, 1280, 1536, 2000, 2047, 2049, 3000,
                               4096, 4097, 5000, 6144, 8191, 8193, 10000, 12288, 16384, 16385, 20001, 32768, 33000, 50257, 65536, 100000)
              for r in (max(132 if c <= 16384 else 16, -(-1500000 // c)),)]
    for r, c in shapes:
        n = r * c
        for d in ("f4", "f2", "b2"):
            s, one = SIZE[d], {"f4": "f4", "f2": "f2", "b2": "b2"}[d]
            yield Workload(f"rows softmax {d} {r}x{c}", [("x", (r, c), d)], ["softmax(x, axis: -1)"], 2 * s * n, bars=TIMED)
            yield Workload(f"rows layer_norm {d} {r}x{c}", [("x", (r, c), d), ("g", (c,), d), ("b", (c,), d)], ["layer_norm(x, g, b)"], 2 * s * n + 2 * s * c, bars=TIMED)
        yield Workload(f"rows log_softmax f4 {r}x{c}", [("x", (r, c))], ["log_softmax(x, axis: -1)"], 8 * n, bars=MOVED)
        yield Workload(f"rows rms_norm f4 {r}x{c}", [("x", (r, c)), ("g", (c,))], ["rms_norm(x, g)"], 8 * n + 4 * c, bars=MOVED)
        yield Workload(f"rows sum {r}x{c}", [("x", (r, c))], ["sum(x, axis: 1)"], 4 * n + 4 * r, bars=MOVED)
        yield Workload(f"rows argmax {r}x{c}", [("x", (r, c))], ["argmax(x, axis: 1)"], 4 * n + 8 * r, bars=MOVED)
        yield Workload(f"rows variance {r}x{c}", [("x", (r, c))], ["variance(x, axis: 1)"], 4 * n + 4 * r, bars=MOVED)
        yield Workload(f"rows gradient of layer norm {r}x{c}", [("x", (r, c)), ("g", (c,)), ("b", (c,)), ("d", (r, c))],
                       ["grad(|x, g, b| sum(layer_norm(x, g, b) * d), wrt: (0, 1, 2))(x, g, b)", "result0.0", "result0.1", "result0.2"], 12 * n + 12 * c, bars={})
        yield Workload(f"rows gradient of softmax {r}x{c}", [("x", (r, c)), ("d", (r, c))], ["grad(|x| sum(softmax(x, axis: -1) * d))(x)"], 12 * n, bars=MOVED)
        yield Workload(f"rows softmax of sin and mask {r}x{c}", [("x", (r, c)), ("m", (r, c))], ["softmax(sin(x) * 0.3 + m, axis: -1)"], 12 * n, bars=MOVED)
        yield Workload(f"rows softmax, sums {r}x{c}", [("x", (r, c))], ["sum(softmax(x, axis: -1), axis: 0)"], 4 * n + 4 * c, bars={})
        yield Workload(f"rows residual layer norm {r}x{c}", [("x", (r, c)), ("y", (r, c)), ("g", (c,)), ("b", (c,))], ["layer_norm(x + gelu(y), g, b) * y"], 12 * n + 8 * c, bars=MOVED)
        yield Workload(f"rows cross entropy {r}x{c}", [("x", (r, c)), ("y", (r,), "i8", c)], ["grad(|x| nn.cross_entropy(x, y))(x)"], 8 * n + 8 * r, "import nn", bars={})
        yield Workload(f"scan rows {r}x{c}", [("x", (r, c))], ["cumsum(x, axis: 1)"], 8 * n, bars=MOVED)
        yield Workload(f"scan cumprod f16 {r}x{c}", [("x", (r, c), "f2")], ["cumprod(x, axis: 1)"], 4 * n, bars=MOVED)
        yield Workload(f"sort rows {r}x{c}", [("x", (r, c))], ["sort(x, axis: 1)"], 8 * n, bars={})
        yield Workload(f"sort topk {r}x{c}", [("x", (r, c))], [f"topk(x, {min(5, c)})", "result0.0", "result0.1"], 4 * n, bars={})
    for c in (16, 100, 255, 1000, 1023, 4097, 10001):
        r = -(-800000 // c)
        n = r * c
        for d in ("f4", "f2"):
            s = SIZE[d]
            yield Workload(f"columns sum {d} {r}x{c}", [("x", (r, c), d)], ["sum(x, axis: 0)"], s * n + s * c, bars=MOVED)
            yield Workload(f"columns softmax {d} {r}x{c}", [("x", (r, c), d)], ["softmax(x, axis: 0)"], 2 * s * n, bars={})
        yield Workload(f"columns max {r}x{c}", [("x", (r, c))], ["max(exp(x), axis: 0)"], 4 * n + 4 * c, bars=MOVED)
        yield Workload(f"columns scan {r}x{c}", [("x", (r, c))], ["cumsum(x, axis: 0)"], 8 * n, bars=MOVED)
        yield Workload(f"columns batch norm {r}x{c}", [("x", (r, c))], ["(x - mean(x, axis: 0)) / sqrt(variance(x, axis: 0) + 1e-5)"], 8 * n, bars={})
    for c in (2, 3, 7, 10, 16, 31, 64, 127, 255):
        r = -(-1500000 // c)
        n = r * c
        yield Workload(f"columns, tall, sum {r}x{c}", [("x", (r, c))], ["sum(x, axis: 0)"], 4 * n, bars={"bytes": 1.05, "ratio": 2.5})
        yield Workload(f"columns, tall, variance {r}x{c}", [("x", (r, c))], ["variance(x, axis: 0)"], 8 * n, bars={"bytes": 1.05, "ratio": 2.5})
        yield Workload(f"columns, tall, maximum of exp {r}x{c}", [("x", (r, c))], ["max(exp(x), axis: 0)"], 4 * n, bars={"bytes": 1.05})
        yield Workload(f"columns, tall, sums of softmax {r}x{c}", [("x", (r, c))], ["sum(softmax(x, axis: -1), axis: 0)"], 4 * n, bars={})
        yield Workload(f"columns, tall, batch norm {r}x{c}", [("x", (r, c))], ["(x - mean(x, axis: 0)) / sqrt(variance(x, axis: 0) + 1e-5)"], 12 * n, bars={"bytes": 1.35})


def transposes():
    for a, b in ((1024, 1024), (1023, 1021), (1000, 777), (33, 25001), (25001, 33), (5, 200003), (200003, 5), (7, 131), (2, 500001), (16, 65536), (65536, 16), (8, 100000), (100000, 8), (3, 333333), (333333, 3)):
        for d in ("f4", "f2"):
            n = bytes_of(((a, b), d))
            yield Workload(f"transpose {d} {a}x{b}", [("x", (a, b), d)], ["x.T * 2.0"], 2 * n, bars={**MOVED, **TILED})
        yield Workload(f"transpose i8 {a}x{b}", [("x", (a, b), "i8", 100)], ["x.T * 2"], 16 * a * b, bars={**MOVED, **TILED})
        yield Workload(f"transpose and add {a}x{b}", [("x", (a, b)), ("y", (b, a))], ["x.T + y"], 12 * a * b, bars={**MOVED, **TILED})
    for s, p in (((4, 255, 8, 64), [0, 2, 1, 3]), ((5, 33, 7, 61), [0, 2, 1, 3]), ((5, 33, 7, 61), [0, 2, 3, 1]), ((5, 33, 7, 61), [3, 2, 1, 0]), ((16, 3, 64, 64), [0, 2, 3, 1]), ((16, 64, 64, 3), [0, 3, 1, 2]),
                 ((31, 3, 57, 57), [0, 2, 3, 1]), ((31, 57, 57, 3), [0, 3, 1, 2]), ((64, 10, 100, 4), [0, 3, 1, 2])):
        n = math.prod(s)
        yield Workload(f"transpose {s} by {p}", [("x", s)], [f"permute_dims(x, {p}) * 2.0"], 8 * n, bars={**MOVED, **TILED})


def attentions(spills):
    for d in ("f4", "f2", "b2"):
        for h in (16, 24, 32, 40, 48, 64, 72, 80, 96, 100, 112, 128, 160, 192, 256):
            for q, k in ((256, 256), (200, 333), (8, 512), (1, 1024), (3, 777)) if spills else ((200, 333), (1, 1024)):
                for mask in ("", "mask", "causal"):
                    if mask == "causal" and q != k and not spills: continue
                    s = SIZE[d]
                    inputs = [("q", (1, 4, q, h), d), ("k", (1, 4, k, h), d), ("v", (1, 4, k, h), d)]
                    more = 0
                    option = ""
                    if mask == "mask": inputs.append(("m", (q, k), d)); option = ", mask: m"; more = s * q * k
                    if mask == "causal": option = ", causal: true"
                    least = s * 4 * h * (2 * q + 2 * k) + more
                    yield Workload(f"attention {d} head {h} {q}x{k} {mask}", inputs, [f"attention(q, k, v{option})"], least, flops=4 * 4 * q * k * h, bars={**TILED, "bytes": 1.25})
                    if q == 256 or q == 200 and not spills:
                        yield Workload(f"attention gradient {d} head {h} {q}x{k} {mask}", inputs + [("c", (1, 4, q, h), d)],
                                       [f"grad(|q, k, v| sum(attention(q, k, v{option}) * c), wrt: (0, 1, 2))(q, k, v)", "result0.0", "result0.1", "result0.2"], s * 4 * h * (4 * q + 4 * k) + more,
                                       bars={**TILED, "bytes": 1.25})


def products(spills):
    shapes = ((256, 256, 256), (255, 257, 129), (64, 784, 128), (100, 100, 100), (1, 1024, 1000), (5, 333, 777), (512, 64, 2048), (1000, 1000, 10), (33, 65, 17), (128, 10000, 16))
    for d in ("f4", "f2", "b2"):
        for n, k, m in shapes:
            s = SIZE[d]
            yield Workload(f"product {d} {n}x{k}x{m}", [("x", (n, k), d), ("y", (k, m), d)], ["x @ y"], s * (n * k + k * m + n * m), flops=2 * n * k * m, bars=TILED)
            yield Workload(f"product {d} transposed {n}x{k}x{m}", [("x", (n, k), d), ("y", (m, k), d), ("b", (m,), d)], ["gelu(x @ y.T + b)"], s * (n * k + k * m + n * m + m), flops=2 * n * k * m, bars=TILED)
            yield Workload(f"product {d} left transposed {n}x{k}x{m}", [("x", (k, n), d), ("y", (k, m), d)], ["x.T @ y"], s * (n * k + k * m + n * m), flops=2 * n * k * m, bars=TILED)
        yield Workload(f"product {d} batch", [("x", (7, 65, 33), d), ("y", (7, 33, 91), d)], ["x @ y"], SIZE[d] * 7 * (65 * 33 + 33 * 91 + 65 * 91), bars=TILED)


def convolutions(spills):
    shapes = [((4, 32, 16, 16), (64, 32, 3, 3), "padding: 1"), ((4, 3, 33, 33), (16, 3, 7, 7), "padding: 3, stride: 2"), ((3, 17, 19, 23), (29, 17, 3, 3), ""), ((2, 16, 28, 28), (32, 16, 5, 5), "padding: 2"),
              ((2, 64, 28, 28), (128, 64, 1, 1), ""), ((2, 48, 14, 14), (48, 1, 3, 3), "padding: 1, groups: 48"), ((2, 32, 20, 20), (64, 16, 3, 3), "padding: 1, groups: 2"),
              ((1, 8, 31, 31), (8, 8, 3, 3), "padding: 2, dilation: 2"), ((2, 1, 28, 28), (6, 1, 5, 5), ""), ((8, 64, 8, 8), (64, 64, 3, 3), "padding: 1, stride: 2")]
    for d in ("f4", "f2", "b2"):
        s = SIZE[d]
        for i, w, options in shapes:
            pad, stride, dil = (int((re.search(o + r": (\d+)", options) or [0, one])[1]) for o, one in (("padding", 0), ("stride", 1), ("dilation", 1)))
            out = [(i[2 + a] + 2 * pad - dil * (w[2 + a] - 1) - 1) // stride + 1 for a in (0, 1)]
            o = (i[0], w[0], *out)
            least = bytes_of((i, d), (w, d), (o, d))
            call = f"conv2d(x, w{', ' + options if options else ''})"
            yield Workload(f"convolution {d} {i} {w} {options}", [("x", i, d), ("w", w, d)], [call], least, flops=2 * math.prod(o) * math.prod(w[1:]), bars={**TILED, "bytes": 1.25})
            yield Workload(f"convolution gradient {d} {i} {w} {options}", [("x", i, d), ("w", w, d), ("c", o, d)], [f"grad(|x, w| sum({call} * c), wrt: (0, 1))(x, w)", "result0.0", "result0.1"],
                           2 * bytes_of((i, d), (w, d)) + bytes_of((o, d)), bars={**TILED, "bytes": 1.25})


def workloads(spills):
    yield from elementwise()
    yield from rows()
    yield from transposes()
    yield from products(spills)
    yield from convolutions(spills)
    yield from attentions(spills)


def kernels_of(A, w, folder):
    source = gpu_model.tenc(A, folder, "--target", "cuda:sm_90", "--emit=cuda")
    names = dict((symbol, title) for title, symbol in re.findall(r'// (\w+).*\nextern "C" __global__ void __launch_bounds__\([\d, ]+\) (\w+)\(', source))
    return names, *gpu_model.resources(gpu_model.tenc(A, folder, "--target", "cuda:sm_90", "--emit=ptx"), folder)


def measured(A, w):
    """What of it misses a bar, as lines."""
    missed = []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            w.write(folder)
            names, used, under_way = kernels_of(A, w, folder)
            missed += [f"{w.name}: {names.get(k, k)} spills {u['spill']} bytes, {u['regs']} registers" for k, u in used.items() if u["spill"]]
            if A.spills: return missed
            gpu_model.tenc(A, folder, "--target", "cuda:compute_90a", TENC_VM_COUNTERS=str(folder / "counters"))
            counts = {k: c for k, c in gpu_model.counted((folder / "counters").read_text()).items() if c["launches"]}
            rows = [(names.get(k, k), model(c, used.get(k, {}), under_way.get(k, 0))) for k, c in counts.items()]
    except SystemExit as e:
        return [f"{w.name}: fails: {str(e)[-600:]}"]
    for title, r in rows:
        for bar in ("moved", "conflicts"):
            if r[bar] > w.bars.get(bar, math.inf): missed.append(f"{w.name}: {title}: {bar} {r[bar]:.2f}")
    touched, seconds = sum(r["least"] for _, r in rows), sum(r["us"] for _, r in rows) / 1e6
    roof = max(w.least / DRAM, w.flops / w.peak())
    if touched / w.least > w.bars.get("bytes", math.inf): missed.append(f"{w.name}: {touched / w.least:.2f} of the bytes, {len(rows)} kernels")
    bounds = ", ".join(f"{r['bound']} {r['us']:.2f}" for _, r in rows)
    if seconds / roof > w.bars.get("ratio", math.inf): missed.append(f"{w.name}: {seconds / roof:.2f} of the roofline ({bounds})")
    if A.all: print(f"  {w.name}: {touched / w.least:.2f} bytes, {seconds / roof:.2f} roofline ({bounds})", flush=True)
    return missed


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", default=ROOT / "build/release/bin/tenc", type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--only", default="", help="workloads whose names have one of these")
    ap.add_argument("--spills", action="store_true", help="only compile, and ask ptxas")
    ap.add_argument("--every", type=int, default=1, help="each so manyth workload")
    ap.add_argument("--all", action="store_true", help="print all of them")
    ap.add_argument("--jobs", type=int, default=1)
    A = ap.parse_args()
    chosen = [w for w in workloads(A.spills) if not A.only or any(text in w.name for text in A.only.split(","))][::A.every]
    number = 0
    with concurrent.futures.ThreadPoolExecutor(A.jobs) as pool:
        for lines in pool.map(lambda w: measured(A, w), chosen):
            number += len(lines)
            for line in lines: print(line, flush=True)
    print(f"{len(chosen)} workloads, {number} bars missed")
    sys.exit(1 if number else 0)


if __name__ == "__main__":
    main()
