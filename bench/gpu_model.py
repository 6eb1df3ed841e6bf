#!/usr/bin/env python3
"""What kernels for NVIDIA GPUs cost, and the time that bounds them on an H100, without a GPU.

    python3 bench/gpu_model.py [--tenc PATH] [--only TEXT,...] [--worst] [--check] [--keep FOLDER]

Each workload runs on the virtual machine for PTX (docs/cuda_vm.md), which counts; `ptxas -v`, where it is found, says what
registers and shared memory a kernel takes. Columns, a line a kernel:

  least     KiB of memory that it touches, each sector of 32 bytes once: what DRAM has to move
  moved     sectors that its warps ask for and L1 does not have, over those: above 1 the rest comes from L2, or is thrown away. L1 is
            128 KiB of each of the 132 multiprocessors, which have every 132th block
  conflicts cycles of shared memory over those without bank conflicts
  warp      instructions of a warp, as PTX has them; ptxas drops moves between registers, which take no time here
  regs, spill, shared   registers a thread, bytes spilled, bytes of shared memory a block
  threads   that a multiprocessor holds of 2048
  blocks    of a launch
  waves     of them, at so many threads a multiprocessor; less than one leaves multiprocessors with less than they hold, or with nothing
  flight    bytes that its loads have under way on a multiprocessor, in KiB: loads of a straight run of code, times threads
  bound     what takes longest: memory, l2, flight, issue, f32, mma, shared, ...
  us        microseconds that this takes
  ratio     of these to the roofline: the greater of least bytes at full bandwidth and arithmetic at its peak

A workload's line has its launches, what its kernels touch over what the operation has to, and the sums. Launches and what
waits between them are not in the time: workloads are small, so that the machine runs them, and stand for larger ones. Of one
that is a step of training, how a trip of a loop of them is launched; its bar is one graph, and nothing beside it."""
import argparse
import array
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# An H100 SXM: NVIDIA's data sheet and "Tuning guide for Hopper".
SMS, CLOCK = 132, 1.755e9
DRAM, L2 = 3.35e12, 5.5e12
L1 = 128  # bytes in a cycle of a multiprocessor
NEEDED = 3.35e12 * 600e-9 / SMS  # bytes under way on a multiprocessor that fill the memory's latency
PEAK = {"f32": 67e12, "f64": 34e12, "halves": 989e12}
WGMMA = PEAK["halves"] / (SMS * CLOCK)  # operations in a cycle: 2048 multiplications and additions, at the clock of the data sheet
MMA = 0.62 * WGMMA / 4096  # m16n8k16 in a cycle: mma.sync reaches 62 % of what wgmma does
# Instructions of a warp that a multiprocessor starts in a cycle, by class. Between f32 and 16 bits the units of halves and integers
# convert (HADD2.F32 and F2FP in what ptxas makes), "convert" are the others.
ISSUE = 4
RATES = {"float32": 4, "float64": 2, "half": 4, "integer": 2, "special": 0.5, "convert": 0.5, "global": 1, "shared": 1, "local": 1, "shuffle": 1,
         "matrix": MMA, "atomic": 0.5}


def numbers(path, shape, dtype="f4", below=None):
    """A file of numbers of a normal distribution, or of indices below a bound. Those of bf16 are safetensors."""
    n = math.prod(shape)
    rng = random.Random(1)
    pool = [rng.randrange(below) if below else rng.gauss(0, 1) for _ in range(min(n, 1 << 14))]
    data = {"f4": lambda: array.array("f", pool).tobytes(), "i8": lambda: array.array("q", pool).tobytes(),
            "f2": lambda: struct.pack(f"<{len(pool)}e", *pool),
            "b2": lambda: b"".join(struct.pack("<f", v)[2:] for v in pool)}[dtype]()
    data = (data * (n // len(pool) + 1))[:n * int(dtype[1])]
    if dtype == "b2":
        head = json.dumps({"tensor": {"dtype": "BF16", "shape": shape, "data_offsets": [0, len(data)]}}).encode()
        head += b" " * (-len(head) % 8)
        path.with_suffix(".safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
        return
    head = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    path.with_suffix(".npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


class Workload:
    """`inputs`: name, shape, dtype of files; `results`: expressions. `least`: bytes that the operation has to move. `trips`: lines
    of a loop of so many `trips`."""

    def __init__(self, name, inputs, results, least, define="", flops=0, bars=None, trips=None):
        self.name, self.inputs, self.results, self.least, self.define, self.flops, self.bars = name, inputs, results, least, define, flops, bars or {}
        self.trips = trips

    def peak(self):
        """Of its arithmetic: that of halves is the tensor cores'."""
        return PEAK["halves" if any(rest[:1] in (["f2"], ["b2"]) for _, _, *rest in self.inputs) else "f32"]

    def write(self, folder, trips=False):
        types = {"f4": "f32", "f2": "f16", "b2": "bf16", "i8": "i64"}
        lines = [self.define] if self.define else []
        for name, shape, *rest in self.inputs:
            dtype = rest[0] if rest else "f4"
            numbers(folder / name, shape, dtype, rest[1] if len(rest) > 1 else None)
            lines.append(f'let {name}: {types[dtype]}[{", ".join(map(str, shape))}] = load("{name}.{"safetensors" if dtype == "b2" else "npy"}")')
        if trips: lines = ["param trips: i64 = 1", *lines, *self.trips]
        for i, r in enumerate(self.results if not trips else []): lines.append(f"let result{i} = {r}")
        for i, _ in list(enumerate(self.results if not trips else []))[len(self.results) > 1:]: lines.append(f'save("result{i}.safetensors", result{i})')
        path = folder / "workload.tl"
        path.write_text("\n".join(lines) + "\n")
        return path


def network():
    define = """import nn
struct SimpleNN { fc1: nn.Linear[784, 128], fc2: nn.Linear[128, 10] }
fn loss(m: SimpleNN, x: f32[N, 784], y: i64[N]) -> f32 = nn.cross_entropy(x |> m.fc1 |> relu |> m.fc2, y)
fn step(m: SimpleNN, x: f32[N, 784], y: i64[N]) -> (f32, SimpleNN) {
    let (l, g) = value_and_grad(loss)(m, x, y)
    (l, m - 0.01 * g)
}"""
    inputs = [("w1", (784, 128)), ("b1", (128,)), ("w2", (128, 10)), ("b2", (10,)), ("x", (64, 784)), ("y", (64,), "i8", 10)]
    called = "step(SimpleNN { fc1: nn.Linear { w: w1, b: b1 }, fc2: nn.Linear { w: w2, b: b2 } }, x, y)"
    parts = ["0", "1.fc1.w", "1.fc1.b", "1.fc2.w", "1.fc2.b"]
    weights = 784 * 128 + 128 + 1280 + 10
    trips = ["var m = SimpleNN { fc1: nn.Linear { w: w1, b: b1 }, fc2: nn.Linear { w: w2, b: b2 } }", "var total = 0.0", "for i in 0..trips {",
             "    let (l, changed) = step(m, x, y)", "    m = changed", "    total += l", "}", "print(total, sum(m.fc1.w))"]
    return Workload("step of the first network", inputs, [called] + [f"result0.{p}" for p in parts], 4 * (2 * weights + 64 * 784), define, 6 * 64 * weights, trips=trips)


def training(name, shape, dtype, options=""):
    """Attention, then its gradient: that reads what attention does, its result and the result's cotangent, and writes three tensors."""
    scores = 2 * math.prod(shape) * shape[2] * (0.5 if options else 1)
    return Workload(name, [(n, shape, dtype) for n in "qkvc"], [f"grad(|q, k, v| sum(attention(q, k, v{options}) * c), wrt: (0, 1, 2))(q, k, v)"] + [f"result0.{i}" for i in range(3)],
                    12 * math.prod(shape) * int(dtype[1]), flops=7 * scores, bars={**TILED, "bytes": 1.25, "launches": 3})


M = 1 << 20
ADAM = """fn f(p: f32[N], g: f32[N], m0: f32[N], v0: f32[N]) -> (f32[N], f32[N], f32[N]) {
    let m = 0.9 * m0 + 0.1 * g
    let v = 0.999 * v0 + 0.001 * g * g
    (p - 1e-3 * m / (sqrt(v) + 1e-8), m, v)
}"""
SMOOTH = """fn smooth(x: f32[N]) -> f32[N] {
    var y = x
    for i in 1..N - 1 { y[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1] }
    y
}"""
# Where the data does not fill the machine, what is under way is all there is, or what few blocks can have.
def lean(ratio): return {"moved": 1.05, "ratio": ratio}


LEAN, TILED = {"moved": 1.05, "ratio": 1.2}, {"conflicts": 1.05}
WORKLOADS = [
    Workload("x * y + 1, f32", [("x", (M,)), ("y", (M,))], ["x * y + 1.0"], 12 * M, bars=LEAN),
    Workload("x * y + 1, f16", [("x", (M,), "f2"), ("y", (M,), "f2")], ["x * y + 1.0"], 6 * M, bars=LEAN),
    Workload("gelu", [("x", (M,))], ["gelu(x)"], 8 * M, bars=LEAN),
    Workload("add a bias, relu", [("x", (1024, 1024)), ("b", (1024,))], ["relu(x + b)"], 8 * M, bars={"ratio": 1.2}),
    Workload("boundary, 1023 x 1021", [("x", (1023, 1021)), ("y", (1023, 1021))], ["x[1:, 1:] - y[:-1, :-1]"], 12 * M),
    Workload("transpose", [("x", (1024, 1024))], ["x.T * 2.0"], 8 * M, bars={**LEAN, **TILED}),
    Workload("x.T + x", [("x", (1024, 1024))], ["x.T + x"], 8 * M, bars=TILED),
    Workload("heads, (0, 2, 1, 3)", [("x", (4, 256, 8, 64))], ["permute_dims(x, [0, 2, 1, 3]) * 2.0"], 4 * M, bars=LEAN),
    Workload("softmax, 1024 a row", [("x", (1024, 1024))], ["softmax(x, axis: -1)"], 8 * M, bars=LEAN),
    Workload("softmax, 64 a row", [("x", (16384, 64))], ["softmax(x, axis: -1)"], 8 * M, bars=LEAN),
    Workload("softmax, 8192 a row", [("x", (128, 8192))], ["softmax(x, axis: -1)"], 8 * M, bars=LEAN),
    Workload("softmax, f16", [("x", (1024, 1024), "f2")], ["softmax(x, axis: -1)"], 4 * M, bars=LEAN),
    Workload("uniform numbers", [], [f"rand([{M}])"], 4 * M, bars=lean(2)),
    Workload("normal numbers", [], [f"randn([{M}])"], 4 * M, bars=lean(2.5)),
    Workload("dropout", [("x", (M,))], [f"where(rand([{M}]) < 0.9, x / 0.9, 0.0)"], 8 * M, bars=LEAN),
    # Two passes, as a column needs the sums of all rows; exp(x - max) is kept between them.
    Workload("softmax, its columns' sums", [("x", (1024, 2048))], ["sum(softmax(x, axis: -1), axis: 0)"], 24 * M, bars=LEAN),
    Workload("softmax across memory", [("x", (1024, 1024))], ["softmax(x.T, axis: -1)"], 8 * M, bars={**LEAN, **TILED}),
    Workload("moved dims, also summed", [("x", (64, 96, 160))], ["0.0", "x.moveaxis(0, 2) * 2.0", "sum(result1, axis: 2)"], 8 * 64 * 96 * 160, bars={"moved": 1.06, **TILED}),
    Workload("layer norm", [("x", (1024, 1024)), ("g", (1024,)), ("b", (1024,))], ["layer_norm(x, g, b)"], 8 * M, bars={"ratio": 1.2}),
    Workload("Adam", [(n, (M,)) for n in ("p", "g", "m0", "v0")], ["f(p, g, m0, v0)", "result0.0", "result0.1", "result0.2"], 28 * M, ADAM, bars=LEAN),
    Workload("sum of rows", [("x", (1024, 1024))], ["sum(x, axis: 1)"], 4 * M, bars=LEAN),
    Workload("sum of columns", [("x", (1024, 1024))], ["sum(x, axis: 0)"], 4 * M, bars=LEAN),
    Workload("sum of tall columns", [("x", (8192, 256))], ["sum(x, axis: 0)"], 8 * M, bars=lean(2)),
    Workload("sum of all", [("x", (M,))], ["sum(x)"], 4 * M, bars=LEAN),
    Workload("argmax", [("x", (1024, 1024))], ["argmax(x, axis: 1)"], 4 * M, bars=LEAN),
    Workload("cumsum", [("x", (256, 1024))], ["cumsum(x, axis: 1)"], 2 * M, bars=lean(2)),
    Workload("cumsum of columns", [("x", (1024, 256))], ["cumsum(x, axis: 0)"], 2 * M, bars=lean(4)),
    Workload("cumsum, one row", [("x", (M // 4,))], ["cumsum(x)"], 2 * M),
    # As all times that of a GPU without idle multiprocessors, where this has 64 blocks.
    Workload("sort, one row", [("x", (M // 2,))], ["sort(x)"], 4 * M),
    Workload("scatter, sums of f32", [("x", (M // 16,)), ("v", (M,)), ("i", (M,), "i8", M // 16)], ['scatter(x, i, v, axis: 0, reduce: "add")'], 12 * M + M // 2),
    Workload("scatter, maxima", [("x", (M // 16,)), ("v", (M,)), ("i", (M,), "i8", M // 16)], ['scatter(x, i, v, axis: 0, reduce: "max")'], 12 * M + M // 2),
    Workload("scatter, the last one", [("x", (M // 16,)), ("v", (M,)), ("i", (M,), "i8", M // 16)], ["scatter(x, i, v, axis: 0)"], 12 * M + M // 2),
    Workload("bincount", [("i", (M,), "i8", M // 16)], [f"bincount(i, length: {M // 16})"], 8 * M + M // 2),
    Workload("gradient of an embedding", [("w", (4096, 64)), ("t", (1000, 64)), ("i", (4096,), "i8", 1000)], ["grad(|t| sum(t[i] * w))(t)"],
             4 * 4096 * 64 + 8 * 4096 + 4 * 1000 * 64),
    Workload("matrix product, f32", [("x", (256, 256)), ("y", (256, 256))], ["x @ y"], 12 << 16, flops=2 << 24, bars=TILED),
    Workload("matrix product, large", [("x", (2048, 64)), ("y", (64, 2048))], ["x @ y"], 4 * (4096 * 1024 + 262144), flops=2 << 28, bars=TILED),
    Workload("matrix product, f16", [("x", (256, 256), "f2"), ("y", (256, 256), "f2")], ["x @ y"], 6 << 16, flops=2 << 24, bars=TILED),
    Workload("matrix product, bf16, large", [("x", (2048, 512), "b2"), ("y", (512, 2048), "b2")], ["x @ y"], 2 * (2 << 20) + 2 * (4 << 20), flops=2 << 31,
             bars={**TILED, "mma": 0.6}),
    Workload("convolution 3 x 3, f32", [("x", (4, 32, 16, 16)), ("w", (64, 32, 3, 3))], ["conv2d(x, w, padding: 1)"], 4 * (32768 + 65536 + 18432),
             flops=2 * 65536 * 288, bars=TILED),
    Workload("convolution 3 x 3, f16", [("x", (4, 32, 16, 16), "f2"), ("w", (64, 32, 3, 3), "f2")], ["conv2d(x, w, padding: 1)"],
             2 * (32768 + 65536 + 18432), flops=2 * 65536 * 288, bars={**TILED, "bytes": 1.25, "launches": 1}),
    Workload("convolution, bf16, large", [("x", (2, 64, 64, 64), "b2"), ("w", (256, 64, 3, 3), "b2")], ["conv2d(x, w, padding: 1)"],
             2 * (2 * 64 * 4096 + 2 * 256 * 4096 + 256 * 576), flops=2 * 2 * 256 * 4096 * 576, bars={**TILED, "mma": 0.6, "launches": 1}),
    Workload("attention", [(n, (1, 4, 256, 64)) for n in "qkv"], ["attention(q, k, v)"], 16 * 65536, flops=4 * 4 * 256 * 256 * 64,
             bars={**TILED, "bytes": 1.25, "launches": 1}),
    Workload("attention, f16", [(n, (1, 4, 256, 64), "f2") for n in "qkv"], ["attention(q, k, v)"], 8 * 65536, flops=4 * 4 * 256 * 256 * 64,
             bars={**TILED, "bytes": 1.25, "launches": 1}),
    Workload("attention, bf16, causal", [(n, (2, 8, 512, 64), "b2") for n in "qkv"], ["attention(q, k, v, causal: true)"], 8 << 19,
             flops=2 * 16 * 512 * 512 * 64, bars={**TILED, "bytes": 1.25, "launches": 1}),
    training("attention and its gradient", (1, 4, 256, 64), "f4"),
    training("attention and its gradient, f16", (1, 4, 256, 64), "f2"),
    training("attention and its gradient, bf16, causal", (2, 8, 512, 64), "b2", ", causal: true"),
    Workload("a loop of trips apart", [("x", (M // 4,))], ["smooth(x)"], 2 * M, SMOOTH, bars={"ratio": 1.2, "launches": 1}),
    network(),
]


def environment(A):
    installed = sorted((ROOT / "build/nvrtc").glob("libnvrtc.so.*"))
    # Products are those of kernels of our own: of the library nothing is known that could be counted.
    return {"TENC_CUBLASLT": "", "TENC_CUSOLVER": "", "TENC_LIBCUDA": str(A.tenc.parent.parent / "cuda_vm/libcuda.so.1"), **({"TENC_NVRTC": str(installed[0])} if installed else {}), **os.environ}


def tenc(A, folder, *options, **more):
    done = subprocess.run([A.tenc, "workload.tl", "--default-device", "cuda:0", "--no-cache", *options], cwd=folder, capture_output=True, text=True,
                          env={**environment(A), **more})
    if done.returncode: sys.exit(f"{(folder / 'workload.tl').read_text()}\n{done.stdout}{done.stderr}")
    return done.stdout


def counted(text):
    """Counters of each kernel, from the machine's lines."""
    kernels = {}
    for line in text.splitlines():
        name, _, rest = line.partition(": ")
        if line.startswith("  "): last["worst"].append(line)
        elif not line.startswith("device"):
            last = kernels[name] = {"worst": []}
            for field in rest.split(", "):
                ideal = re.fullmatch(r"shared cycles (\d+) for (\d+)", field)
                if ideal: last["shared cycles"], last["ideal shared cycles"] = int(ideal[1]), int(ideal[2])
                else: last[field.rpartition(" ")[0]] = int(field.rpartition(" ")[2])
    return kernels


def ptxas(text, folder):
    """What it says; nothing where there is none."""
    (folder / "m.ptx").write_text(text)
    target = re.search(r"^\.target (\w+)", text, re.M)
    command = [os.environ.get("PTXAS", "/usr/local/cuda/bin/ptxas"), "-v", f"-arch={target[1] if target else 'sm_90'}", "m.ptx", "-o", "/dev/null"]
    try: return subprocess.run(command, cwd=folder, capture_output=True, text=True).stderr
    except FileNotFoundError: return ""


def of_a_trip(A, w):
    """How many graphs are launched in a trip of the workload's loop, kernels in them and beside them, once it is under way."""
    with tempfile.TemporaryDirectory() as name:
        w.write(pathlib.Path(name), trips=True)
        counts = []
        for trips in ("6", "10"):
            done = subprocess.run([A.tenc, "workload.tl", "--trips", trips, "--default-device", "cuda:0", "--time", "--target", "cuda:compute_90a"], cwd=name,
                                  capture_output=True, text=True, env=environment(A))
            found = re.search(r"launched on cuda:0: (\d+) kernels one by one, (\d+) in (\d+) graphs", done.stderr)
            if not found: sys.exit(done.stdout + done.stderr)
            counts.append([int(n) for n in found.groups()])
    single, inside, graphs = ((b - a) / 4 for a, b in zip(*counts))
    return graphs, inside, single


def resources(ptx, folder):
    """By kernel: registers, bytes spilled and shared, as ptxas says, and the bytes of loads that a thread has under way."""
    found, under_way = {}, {}
    for name, body in re.findall(r"\.visible \.entry (\w+)\((.*?)(?=\n\.visible|\Z)", ptx, re.S): under_way[name] = bytes_under_way(body)
    for m in [".version" + m for m in ptx.split(".version")[1:]]:
        said = ptxas(m, folder)
        newest = re.search(r"current version is '(\S+)'", said)
        if newest: said = ptxas(re.sub(r"\.version \S+", ".version " + newest[1], m), folder)  # NVRTC may be newer
        for part in said.split("Compiling entry function '")[1:]:
            number = lambda pattern: int((re.search(pattern, part) or [0, 0])[1])
            found[part.split("'")[0]] = {"regs": number(r"Used (\d+) registers"), "shared": number(r"(\d+) bytes smem"),
                                         "spill": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")}
    return found, under_way


def bytes_under_way(body):
    """Of the straight runs of code the one whose loads ask for most. ptxas moves loads before what does not need them, but
    not past stores and barriers; cp.async waits for nothing."""
    most = now = 0
    for line in body.splitlines():
        line = line.strip()
        copy = re.match(r"cp\.async\.c[ag]\.shared\.global [^,]*, [^,]*, (\d+)", line)
        load = re.match(r"(?:@%?\w+ )?ld\.global(?:\.\w+)*?(?:\.v(\d))?\.[busf](\d+)", line)
        if copy: now += int(copy[1])
        elif load: now += int(load[1] or 1) * int(load[2]) // 8
        elif re.match(r"\$L|(?:@\S+ )?bra|bar\.|st\.global|cp\.async\.wait|ret", line): now = 0
        most = max(most, now)
    return most


def occupancy(threads, regs, shared):
    """Threads of a multiprocessor, by the limits of compute capability 9.0."""
    warps = -(-threads // 32)
    per_warp = -(-max(regs, 1) * 32 // 256) * 256
    blocks = min(32, 64 // warps, 65536 // (per_warp * warps) if regs else 32, 233472 // (shared + 1024))
    return blocks * warps * 32


def model(c, used, load_bytes):
    """Columns of a kernel. The multiprocessor with most blocks decides when its instructions are done; memory is fast where enough is under
    way on all of them together."""
    launches = c["launches"]
    least, moved = 32 * c["distinct sectors"], 32 * (c["sectors"] - c["sectors in L1"])
    threads, blocks = c["threads"] // c["blocks"], c["blocks"] / launches
    shared = used.get("shared", 0) + c.get("dynamic shared", 0)
    held = occupancy(threads, used.get("regs", 32), shared)
    waves = blocks / (SMS * held / threads)
    flight = min(held, threads * blocks / SMS) * load_bytes  # of a multiprocessor, on average
    per_second = CLOCK * blocks / math.ceil(blocks / SMS)  # of those that are not idle while the fullest works
    times = {"memory": least / DRAM, "l1": 32 * c["sectors"] / L1 / per_second, "l2": moved / L2, "issue": (c["warp instructions"] - c.get("move", 0)) / ISSUE / per_second, "shared": c["shared cycles"] / per_second}
    if flight: times["flight"] = least / DRAM * max(1, NEEDED / flight)
    for name, rate in RATES.items():
        if c.get(name): times[name] = max(times.get(name, 0), c[name] / rate / per_second)
    # The same units do both, and wgmma faster.
    if c.get("wgmma flops"): times["matrix"] = times.get("matrix", 0) + c["wgmma flops"] / WGMMA / per_second
    bound = max(times, key=times.get)
    instructions = max(t for k, t in times.items() if k not in ("memory", "l1", "l2", "flight"))
    return {"launches": launches, "least": least, "moved": moved / least if least else 1,
            "conflicts": c["shared cycles"] / c["ideal shared cycles"] if c["ideal shared cycles"] else 1, "warp": c["warp instructions"],
            "threads": held, "blocks": blocks, "waves": waves, "flight": flight / 1024, "bound": bound, "us": times[bound] * 1e6, "flops": c["flops"], "times": times,
            "mma": times["matrix"] / instructions if times.get("matrix") else 1, **used, "shared": shared}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--tenc", default=ROOT / "build/release/bin/tenc", type=lambda p: pathlib.Path(p).resolve())
    ap.add_argument("--only", default="", help="workloads whose names have one of these")
    ap.add_argument("--worst", action="store_true", help="instructions that waste most, and all times of a kernel")
    ap.add_argument("--check", action="store_true", help="fail where a bar is not met: spills, bytes, conflicts, time")
    ap.add_argument("--keep", type=pathlib.Path, help="a folder that gets the CUDA C++ of each workload")
    A = ap.parse_args()
    missed = []
    print(f"{'':34} {'least':>8} {'moved':>6} {'conflicts':>9} {'warp':>9} {'regs':>5} {'spill':>5} {'shared':>6} {'threads':>7} {'blocks':>6} {'waves':>6} {'flight':>6} {'bound':>8} {'us':>8} {'ratio':>6}")
    for w in WORKLOADS:
        if A.only and not any(text in w.name for text in A.only.split(",")): continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            w.write(folder)
            tenc(A, folder, "--target", "cuda:compute_90a", TENC_VM_COUNTERS=str(folder / "counters"))
            source = tenc(A, folder, "--target", "cuda:sm_90", "--emit=cuda")
            if A.keep:
                A.keep.mkdir(exist_ok=True)
                (A.keep / (re.sub(r"\W+", "_", w.name) + ".cu")).write_text(source)
            names = dict((symbol, title) for title, symbol in re.findall(r'// (\w+).*\nextern "C" __global__ void __launch_bounds__\([\d, ]+\) (\w+)\(', source))
            used, under_way = resources(tenc(A, folder, "--target", "cuda:sm_90", "--emit=ptx"), folder)
            counts = counted((folder / "counters").read_text())
            counts = {k: c for k, c in counts.items() if c["launches"]}
            rows = [(names.get(k, k), model(c, used.get(k, {}), under_way.get(k, 0)), c) for k, c in counts.items()]
        seconds = sum(r["us"] for _, r, _ in rows) / 1e6
        roof = max(w.least / DRAM, w.flops / w.peak())
        touched = sum(r["least"] for _, r, _ in rows)
        launches = sum(r["launches"] for _, r, _ in rows)
        print(f"{w.name}: {launches} launch{'es' if launches > 1 else ''}, {touched / w.least:.2f} of {w.least / 1024:.0f} KiB, "
              f"{seconds * 1e6:.2f} us, {seconds / roof:.2f} of the roofline")
        if w.trips:
            graphs, inside, single = of_a_trip(A, w)
            print(f"  in a loop, a trip: {graphs:g} graph of {inside:g} kernels, {single:g} kernels beside it")
            if (graphs, single) != (1, 0): missed.append(f"{w.name}: a trip is {graphs:g} graphs and {single:g} kernels, not one graph")
        for title, r, c in rows:
            own = max(r["least"] / DRAM, w.flops / w.peak() if len(rows) == 1 else 0)
            ratio = r["us"] / 1e6 / own if own else 1
            print(f"  {title[:32]:32} {r['least'] / 1024:8.0f} {r['moved']:6.2f} {r['conflicts']:9.2f} {r['warp']:9} {r.get('regs', 0):5} {r.get('spill', 0):5} "
                  f"{r.get('shared', 0):6} {r['threads']:7} {r['blocks']:6.0f} {r['waves']:6.2f} {r['flight']:6.1f} {r['bound']:>8} {r['us']:8.3f} {ratio:6.2f}")
            if r.get("spill"): missed.append(f"{w.name}: {title} spills {r['spill']} bytes")
            for bar in ("moved", "conflicts"):
                if r[bar] > w.bars.get(bar, math.inf): missed.append(f"{w.name}: {title}: {bar} {r[bar]:.2f}, at most {w.bars[bar]}")
            if r["mma"] < w.bars.get("mma", 0): missed.append(f"{w.name}: {title}: {r['mma']:.2f} of what its instructions take are products on tensor cores, at least {w.bars['mma']}")
            if A.worst:
                print("    " + ", ".join(f"{k} {t * 1e6:.2f}" for k, t in sorted(r["times"].items(), key=lambda x: -x[1])))
                for line in c["worst"]: print("  " + line)
        for bar, value in (("bytes", touched / w.least), ("launches", launches)):
            if value > w.bars.get(bar, math.inf): missed.append(f"{w.name}: {bar} {value:.2f}, at most {w.bars[bar]}")
        if seconds / roof > w.bars.get("ratio", math.inf): missed.append(f"{w.name}: {seconds / roof:.2f} of the roofline, at most {w.bars['ratio']}")
    for m in missed: print("missed: " + m)
    print(f"{len(missed)} bars missed")
    sys.exit(1 if A.check and missed else 0)


if __name__ == "__main__":
    main()
