#!/usr/bin/env python3
"""Launches, and bytes that kernels move, of steps for a GPU: tenc beside torch.compile, on a machine without a GPU.

    python3 bench/gpu_launches.py [--tenc PATH] [--only TEXT,...] [--code]

tenc's programs run on the virtual machine for PTX (docs/cuda_vm.md), which counts launches and the memory that each kernel
touches. Of PyTorch, Inductor compiles the same step for tensors of a GPU that is not there, up to the text of its kernels and
calls, and says what bytes each of them reads and writes (`GraphLowering.count_bytes`); `--code` prints that text. A step is given
to it whole, forward, backward and optimiser in one graph, which is more than `torch.compile` of a model gives it. Needs torch; no numbers
are compared here, tests do that."""
import argparse
import pathlib
import re
import sys
import tempfile
import types

import torch
import torch.nn.functional as F
from torch._dynamo.device_interface import CudaInterface
from torch._inductor.compile_fx import _recursive_post_grad_passes
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
import triton
from triton.backends.compiler import GPUTarget

import gpu_model

H100 = types.SimpleNamespace(type="cuda", index=0, name="H100", major=9, minor=0, cc=90, multi_processor_count=132, warp_size=32, gcnArchName="",
                             regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, total_memory=80 << 30,
                             shared_memory_per_block=48 << 10, shared_memory_per_block_optin=227 << 10, L2_cache_size=50 << 20)


def pretend():
    """There is a GPU, as far as Inductor asks."""
    for place in (CudaInterface, CudaInterface.Worker): place.get_device_properties = staticmethod(lambda *a: H100)
    for place in (torch.cuda, CudaInterface):
        place.get_device_properties = staticmethod(lambda *a: H100)
        place.is_available = staticmethod(lambda: True)
        place.current_device = staticmethod(lambda: 0)
        place.device_count = staticmethod(lambda: 1)
    torch.cuda.get_device_capability = lambda *a: (9, 0)
    CudaInterface.get_compute_capability = staticmethod(lambda *a: 90)
    triton.runtime.driver.set_active(types.SimpleNamespace(get_current_target=lambda: GPUTarget("cuda", 90, 32)))


def inductor(f, shapes, derived):
    """The text that calls kernels, and the bytes that these move."""
    mode = FakeTensorMode()
    with mode:
        on = lambda device: [torch.empty(s, dtype=d, device=device) for s, d in shapes]
        if derived:  # autograd wants a stream of a real GPU, what it recorded does not
            f = make_fx(f)(*on("cpu"))
            for n in f.graph.nodes:
                if "device" in n.kwargs: n.kwargs = {**n.kwargs, "device": torch.device("cuda")}
            f.recompile()
        args = on("cuda")
        graph = make_fx(f, decomposition_table=select_decomp_table())(*args)
    with V.set_fake_mode(mode), V.set_debug_handler(DebugContext()):
        _recursive_post_grad_passes(graph)
        lowering = GraphLowering(graph, example_inputs=args)
        with V.set_graph_handler(lowering):
            lowering.run(*args)
            text = lowering.codegen()[0]
            return getattr(text, "value", text), lowering.count_bytes()[0]


def launches(text):
    body = text[text.index("def call("):]
    return len(re.findall(r"\.run\(", body)) + len(re.findall(r"extern_kernels\.\w+\(|torch\.ops\.aten\.\w+(?:\.\w+)?\(", body))


def counted(A, workload):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        workload.write(folder)
        gpu_model.tenc(A, folder, "--target", "cuda:compute_90a", TENC_VM_COUNTERS=str(folder / "counters"))
        counts = gpu_model.counted((folder / "counters").read_text()).values()
    return sum(c["launches"] for c in counts), 32 * sum(c["distinct sectors"] for c in counts)


DTYPES = {"f4": torch.float32, "f2": torch.float16, "i8": torch.int64}


def layer(x, w, b): return x @ w + b


def mlp_loss(w, x, y): return F.cross_entropy(layer(torch.relu(layer(x, w[0], w[1])), w[2], w[3]), y)


def sgd(w1, b1, w2, b2, x, y):
    g, l = torch.func.grad_and_value(mlp_loss)((w1, b1, w2, b2), x, y)
    return [l] + [p - 0.01 * d for p, d in zip((w1, b1, w2, b2), g)]


def adam(*args):
    *state, x, y = args
    w, m, v = state[:4], state[4:8], state[8:]
    g, l = torch.func.grad_and_value(mlp_loss)(tuple(w), x, y)
    m = [0.9 * a + 0.1 * d for a, d in zip(m, g)]
    v = [0.999 * a + 0.001 * d * d for a, d in zip(v, g)]
    return [l] + [p - 1e-3 * a / (torch.sqrt(b) + 1e-8) for p, a, b in zip(w, m, v)] + m + v


def attention(q, k, v):
    # What `scaled_dot_product_attention` chooses on a GPU in f32; without one it chooses operations.
    return torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, False)[0]


def block(x, g1, b1, wq, wk, wv, wo, g2, b2, w1, w2):
    def heads(t): return t.reshape(2, 64, 4, 16).permute(0, 2, 1, 3)
    h = F.layer_norm(x, (64,), g1, b1)
    a = attention(heads(h @ wq), heads(h @ wk), heads(h @ wv))
    x = x + a.permute(0, 2, 1, 3).reshape(2, 64, 64) @ wo
    return x + F.gelu(F.layer_norm(x, (64,), g2, b2) @ w1) @ w2


BLOCK = """fn heads(t: f32[2, 64, 64]) -> f32[2, 4, 64, 16] = permute_dims(t.reshape([2, 64, 4, 16]), [0, 2, 1, 3])
fn block(x: f32[2, 64, 64], g1: f32[64], b1: f32[64], wq: f32[64, 64], wk: f32[64, 64], wv: f32[64, 64], wo: f32[64, 64], g2: f32[64],
         b2: f32[64], w1: f32[64, 256], w2: f32[256, 64]) -> f32[2, 64, 64] {
    let h = layer_norm(x, g1, b1)
    let a = attention(heads(h @ wq), heads(h @ wk), heads(h @ wv))
    let r = x + permute_dims(a, [0, 2, 1, 3]).reshape([2, 64, 64]) @ wo
    r + gelu(layer_norm(r, g2, b2) @ w1) @ w2
}"""
STATE = [("w1", (784, 128)), ("b1", (128,)), ("w2", (128, 10)), ("b2", (10,))]
DATA = [("x", (64, 784)), ("y", (64,), "i8", 10)]
ADAM = """import nn
struct Net { w1: f32[784, 128], b1: f32[128], w2: f32[128, 10], b2: f32[10] }
fn loss(m: Net, x: f32[64, 784], y: i64[64]) -> f32 = nn.cross_entropy(relu(x @ m.w1 + m.b1) @ m.w2 + m.b2, y)
fn step(w: Net, m0: Net, v0: Net, x: f32[64, 784], y: i64[64]) -> (f32, Net, Net, Net) {
    let (l, g) = value_and_grad(loss)(w, x, y)
    let m = 0.9 * m0 + 0.1 * g
    let v = 0.999 * v0 + 0.001 * g * g
    (l, w - 1e-3 * m / (sqrt(v) + 1e-8), m, v)
}"""


def net(suffix): return "Net { " + ", ".join(f"{n}: {n}{suffix}" for n, _ in STATE) + " }"


def conv_loss(w, x, y):
    h = F.max_pool2d(torch.relu(F.conv2d(x, w[0], w[1], padding=1)), 2)
    return F.cross_entropy(layer(h.flatten(1), w[2], w[3]), y)


def conv_step(k, c, w, b, x, y):
    g, l = torch.func.grad_and_value(conv_loss)((k, c, w, b), x, y)
    return [l] + [p - 0.01 * d for p, d in zip((k, c, w, b), g)]


CONV = """import nn
struct Net { k: f32[8, 1, 3, 3], c: f32[8], w: f32[392, 10], b: f32[10] }
fn loss(m: Net, x: f32[16, 1, 14, 14], y: i64[16]) -> f32 {
    let h = max_pool(relu(conv2d(x, m.k, m.c, padding: 1)), 2)
    nn.cross_entropy(h.reshape([16, 392]) @ m.w + m.b, y)
}
fn step(m: Net, x: f32[16, 1, 14, 14], y: i64[16]) -> (f32, Net) {
    let (l, g) = value_and_grad(loss)(m, x, y)
    (l, m - 0.01 * g)
}"""
M = (1024, 1024)
W = gpu_model.Workload
STEPS = [
    (W("bias, gelu", [("x", M), ("b", (1024,))], ["gelu(x + b)"], 1), lambda x, b: F.gelu(x + b)),
    (W("softmax", [("x", M)], ["softmax(x, axis: -1)"], 1), lambda x: F.softmax(x, -1)),
    (W("layer norm", [("x", M), ("g", (1024,)), ("b", (1024,))], ["layer_norm(x, g, b)"], 1), lambda x, g, b: F.layer_norm(x, (1024,), g, b)),
    (W("gradient of layer norm", [("x", M), ("g", (1024,)), ("b", (1024,))],
       ["grad(|a, u, v| sum(layer_norm(a, u, v) ** 2), wrt: (0, 1, 2))(x, g, b)", "result0.0", "result0.1", "result0.2"], 1),
     lambda x, g, b: torch.func.grad(lambda *a: (F.layer_norm(a[0], (1024,), a[1], a[2]) ** 2).sum(), (0, 1, 2))(x, g, b)),
    (W("attention", [(n, (1, 4, 256, 64)) for n in "qkv"], ["attention(q, k, v)"], 1), attention),
    (W("transformer block", [("x", (2, 64, 64))] + [(n, (64,)) for n in ("g1", "b1")] + [(n, (64, 64)) for n in ("wq", "wk", "wv", "wo")]
       + [("g2", (64,)), ("b2", (64,)), ("w1", (64, 256)), ("w2", (256, 64))], ["block(x, g1, b1, wq, wk, wv, wo, g2, b2, w1, w2)"], 1, BLOCK), block),
    (gpu_model.network(), sgd),
    (W("the same with Adam", [(n + s, shape) for s in ("", "m", "v") for n, shape in STATE] + DATA,
       [f"step({net('')}, {net('m')}, {net('v')}, x, y)", "result0.0"] + [f"result0.{k}.{n}" for k in (1, 2, 3) for n, _ in STATE], 1, ADAM), adam),
    (W("step of a convolutional network", [("k", (8, 1, 3, 3)), ("c", (8,)), ("w", (392, 10)), ("b", (10,)), ("x", (16, 1, 14, 14)), ("y", (16,), "i8", 10)],
       ["step(Net { k: k, c: c, w: w, b: b }, x, y)", "result0.0"] + [f"result0.1.{n}" for n in "kcwb"], 1, CONV), conv_step),
]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", default=gpu_model.ROOT / "build/release/bin/tenc", type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--only", default="", help="steps whose names have one of these")
    ap.add_argument("--code", action="store_true", help="print what Inductor makes")
    A = ap.parse_args()
    pretend()
    print(f"PyTorch {torch.__version__}\n\n| step | launches | torch.compile | MiB moved | torch.compile |\n|---|---|---|---|---|")
    for w, f in STEPS:
        if A.only and not any(text in w.name for text in A.only.split(",")): continue
        ours, bytes_ = counted(A, w)
        text, theirs = inductor(f, [(shape, DTYPES[rest[0] if rest else "f4"]) for _, shape, *rest in w.inputs], "grad" in w.name or "step" in w.name or "Adam" in w.name)
        print(f"| {w.name} | {ours} | {launches(text)} | {bytes_ / 2**20:.2f} | {theirs / 2**20:.2f} |", flush=True)
        if A.code: print(text)


if __name__ == "__main__":
    sys.exit(main())
