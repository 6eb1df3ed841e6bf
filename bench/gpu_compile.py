#!/usr/bin/env python3
"""How long NVRTC takes for kernels of many kinds, without a GPU.

    python3 bench/gpu_compile.py [--tenc PATH] [--rounds N] [--each] [--keep FOLDER] [--check MS]

A program of 50 different kernels is compiled for sm_90, to machine code, with no cache: the median of some rounds, in milliseconds
of the clock and of the processor. --each compiles every line by itself and prints the processor time of each, the slowest first,
less that of the quickest: where time is spent. --keep writes the program and its CUDA C++ to a folder, --check fails above so many milliseconds."""
import argparse
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

from gpu_model import environment, numbers

ROOT = pathlib.Path(__file__).resolve().parent.parent

INPUTS = [("x", (1024, 1024)), ("y", (1024, 1024)), ("z", (1023, 1021)), ("w", (1024, 48)), ("v", (1024,)), ("u", (1024,)), ("h", (1024, 1024), "f2"), ("i", (1024,), "i8", 1024),
          ("image", (8, 32, 28, 28)), ("filter", (32, 32, 3, 3)), ("t", (4, 256, 8, 64)), ("p", (8, 8, 256, 32))]
DEFINITIONS = """import nn
fn adam(p: f32[N, M], g: f32[N, M], m0: f32[N, M], v0: f32[N, M]) -> (f32[N, M], f32[N, M], f32[N, M]) {
    let m = 0.9 * m0 + 0.1 * g
    let v = 0.999 * v0 + 0.001 * g * g
    (p - 1e-3 * m / (sqrt(v) + 1e-8), m, v)
}
fn norm(x: f32[N, M], g: f32[M], b: f32[M], d: f32[N, M]) -> f32 = sum(layer_norm(x, g, b) * d)"""
# A line a kernel, but for those of two.
LINES = [
    # elementwise
    "x * y + 1.0", "exp(x) - exp(-y)", "tanh(x) * y", "sin(x) + cos(y)", "erf(x * y)", "gelu(x)", "gelu(x + v)", "relu(x + v) * 0.5", "log(abs(x) + 1.0)", "x ** y",
    "where(x > y, sigmoid(x), y * 0.1)", "z[1:, 1:] - z[:-1, :-1]", "h * h + 1.0", "silu(h)", "adam(x, y, y * 0.5, x * x)", "floor(x) % 3.0 + round(y)", "atan2(x, y)",
    # rows
    "softmax(x, axis: -1)", "softmax(h, axis: -1)", "log_softmax(w, axis: -1)", "layer_norm(x, v, u)", "softmax(sin(x), axis: -1)", "rms_norm(y, v)", "sum(tanh(x), axis: 1)", "max(x * 2.0, axis: 1)",
    "argmax(y, axis: 1)", "variance(x, axis: 1)", "logsumexp(x * y, axis: 1)", "nn.cross_entropy(x, i)", "sqrt(sum(x * x, axis: 1))",
    # columns and all
    "sum(x, axis: 0)", "mean(exp(y), axis: 0)", "min(x * y, axis: 0)", "sum(cos(x))", "grad(norm)(x, v, u, y)",
    # what moves
    "x.T * 3.0", "x.T + y", "permute_dims(t, [0, 2, 1, 3]) * 2.0", "concat([x * 2.0, y], axis: 1)", "cumsum(x, axis: 1)", "cumsum(y, axis: 0)", "x[i] * 2.0", "scatter(x, i, y, axis: 0, reduce: \"add\")",
    # products
    "x @ w", "h @ h", "conv2d(image, filter, padding: 1)", "einsum(\"abij,abkj->abik\", p, p)", "max_pool(image, 2)",
    # random numbers
    "rand([1024, 1024]) * x", "randn([1024, 1024]) * 0.1 + y",
]


def write(folder, lines):
    types = {"f4": "f32", "f2": "f16", "i8": "i64"}
    text = [DEFINITIONS]
    for name, shape, *rest in INPUTS:
        if not (folder / f"{name}.npy").exists(): numbers(folder / name, shape, *rest)
        text.append(f'let {name}: {types[rest[0] if rest else "f4"]}[{", ".join(map(str, shape))}] = load("{name}.npy")')
    for n, line in enumerate(lines):
        text += [f"let result{n} = {line}", f'save("result{n}.safetensors", result{n})']
    (folder / "kernels.tl").write_text("\n".join(text) + "\n")


def tenc(A, folder, *options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([A.tenc, "kernels.tl", "--target", "cuda:sm_90", "--default-device", "cuda:0", "--no-cache", *options], cwd=folder, capture_output=True, text=True, env=environment(A))
    if done.returncode: sys.exit(f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def codegen_ms(A, folder):
    """Milliseconds of the clock that code took, and of the processor that all took."""
    done, cpu = tenc(A, folder, "--emit=program", "-o", "kernels.out", "--time")
    return sum(float(m) for m in re.findall(r"^\s*codegen\s+([\d.]+)", done.stderr, re.M)), cpu


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", default=ROOT / "build/release/bin/tenc", type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--each", action="store_true", help="compile each line by itself")
    ap.add_argument("--keep", type=pathlib.Path, help="a folder that gets the program and its CUDA C++")
    ap.add_argument("--check", type=float, help="fail above so many milliseconds")
    A = ap.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder, LINES)
        source = tenc(A, folder, "--emit=cuda")[0].stdout
        kernels = source.count("__global__")
        if A.keep:
            A.keep.mkdir(exist_ok=True)
            (A.keep / "kernels.cu").write_text(source)
            (A.keep / "kernels.tl").write_text((folder / "kernels.tl").read_text())
        rounds = [codegen_ms(A, folder) for _ in range(A.rounds)]
        clock, cpu = (statistics.median(r) for r in zip(*rounds))
        print(f"{kernels} kernels: {clock:.0f} ms ({min(r[0] for r in rounds):.0f} to {max(r[0] for r in rounds):.0f}), {cpu:.0f} ms of processor time, {os.cpu_count()} processors")
        if A.each:
            took = []
            for line in LINES:
                write(folder, [line])
                took.append((min(codegen_ms(A, folder)[1] for _ in range(2)), line))
            least = min(took)[0]
            for ms, line in sorted(took, reverse=True): print(f"{ms - least:8.1f}  {line}")
            print(f"the least takes {least:.1f} ms, which is taken off")
    if A.check is not None and clock > A.check: sys.exit(f"{clock:.0f} ms, at most {A.check:g}")


if __name__ == "__main__":
    main()
