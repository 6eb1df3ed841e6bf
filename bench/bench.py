#!/usr/bin/env python3
"""tenc against PyTorch (eager, torch.compile, torch.compile with max-autotune and freezing), JAX and, for random numbers,
NumPy, workload by workload.

    python bench/bench.py --tenc build/release/bin/tenc [--threads 2] [--only NAME,...] [--rounds 9] [--markdown FILE]
    python bench/bench.py --tenc build/release/bin/tenc --isa avx2 [--only ...]
    python bench/bench.py --tenc build/release/bin/tenc --device cuda [--only ...]

Needs torch, jax and numpy from PyPI in the interpreter that runs it (a virtual environment outside the repository).
Inputs come from seed 0 and are never zeros. Every peer's results, and tenc's, are compared with PyTorch's in f64 before
anything is timed (checking.py says within what); a peer that is wrong is reported and left out, and a workload where
tenc is wrong is not timed. Then rounds are interleaved: in each, every peer runs for about 20 ms and tenc's `bench` block
for about as long, in its own process; the figure is the median over rounds of each round's mean. `ratio` is the best peer's
time divided by tenc's: above 1 tenc is ahead. `--least` takes the least time of a call instead. With --threads 1 everything
is pinned to one processor. PyTorch runs in inference mode but for the rows that differentiate. `--check` compares and times
nothing. `--isa avx2` limits tenc and all peers to AVX2, for processors that have no AVX-512 (LIMITS).

With `--device cuda` everything is on the first GPU: rows are those of workloads/large.py, unless others are named, f32 is multiplied as f32
by all, what is launched is waited for once a round, and `max` is torch.compile with CUDA graphs (mode reduce-overhead).
"""
import argparse, json, math, os, subprocess, sys, tempfile, time

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", default="build/release/bin/tenc")
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--only", default="", help="workloads, separated by commas")
ap.add_argument("--group", default="", help="the workloads of a group: table (without --device cuda), gpu (with it), products, loops, images, functions, parallel, small")
ap.add_argument("--isa", choices=("native", "avx2"), default="native", help="the vector instructions that tenc and all peers may use")
ap.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
ap.add_argument("--rounds", type=int, default=9)
ap.add_argument("--peers", default="eager,compile,max,jax,numpy", help="those to run, separated by commas")
ap.add_argument("--check", action="store_true")
ap.add_argument("--with", dest="extra", default="", help="further options of tenc, such as --fp=fast")
ap.add_argument("--least", action="store_true", help="the least time of a call in all rounds, not a median: for a busy machine")
ap.add_argument("--markdown", help="write the table to this file too")
A = ap.parse_args()
if A.threads == 1:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
os.environ["OMP_NUM_THREADS"] = str(A.threads)
os.environ["JAX_PLATFORMS"] = A.device
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # the GPU's memory is for all
# What limits PyTorch's kernels, what torch.compile generates and its C++ compiler, oneDNN (in XLA, too), MKL, OpenBLAS (NumPy, SciPy) and XLA,
# whose YNNPACK chooses by the processor alone, so that products are oneDNN's. Libraries read it when they are loaded.
LIMITS = {"avx2": {"ATEN_CPU_CAPABILITY": "avx2", "TORCHINDUCTOR_CPP_MARCH": "x86-64-v3", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                   "OPENBLAS_CORETYPE": "Haswell", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2 --xla_cpu_experimental_ynn_fusion_type="}}
os.environ.update(LIMITS.get(A.isa, {}))
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from checking import problem
from workloads import WORKLOADS
import torch, jax

GPU = A.device == "cuda"
torch.set_num_threads(A.threads)
torch.set_default_device(A.device)
if GPU:
    torch.backends.cudnn.allow_tf32 = False
    jax.config.update("jax_default_matmul_precision", "highest")
PEERS = {"eager": "eager", "compile": "compile", "max": "CUDA graphs" if GPU else "max-autotune, frozen", "jax": "jax", "numpy": "numpy"}
MAXIMAL = {"triton.cudagraphs": True} if GPU else {"max_autotune": True, "freezing": True}
PLACE = [*(["--default-device", "cuda:0", "--transfers=allow"] if GPU else []),
         *(["--target-cpu", "x86-64-v3"] if A.isa == "avx2" else []), *A.extra.split()]


def tuple_of(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def arrays(result):
    """A peer's results as NumPy arrays."""
    out = []
    for x in tuple_of(result):
        if isinstance(x, torch.Tensor): x = (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x).detach().cpu().numpy()
        elif isinstance(x, jax.Array) and x.dtype in (jax.numpy.bfloat16, jax.numpy.float16): x = x.astype(np.float32)
        out.append(np.asarray(x))
    return out


def reference(workload, tensors):
    """The results in f64."""
    if workload.distribution: return [None]
    if workload.reference: return arrays(workload.reference(*tensors))
    torch.set_default_dtype(torch.float64)
    try: return arrays(workload.torch(*[t.double() if t.is_floating_point() else t for t in tensors]))
    finally: torch.set_default_dtype(torch.float32)


class Compile:
    """torch.compile with some options, for workloads that compile a part of themselves."""
    def __init__(self, options): self.options = options
    def compile(self, f): return torch.compile(f, options=self.options)


class Network(torch.nn.Module):
    """A workload whose weights are parameters, which freezing turns into constants."""
    def __init__(self, workload, tensors):
        super().__init__()
        self.function, self.weights = workload.torch, workload.weights
        for i in self.weights: self.register_parameter(f"weight{i}", torch.nn.Parameter(tensors[i], requires_grad=False))
    def forward(self, *inputs):
        rest = iter(inputs)
        count = len(inputs) + len(self.weights)
        return self.function(*[getattr(self, f"weight{i}") if i in self.weights else next(rest) for i in range(count)])


def peers_of(workload, inputs, tensors):
    """The peers as calls without arguments."""
    def compiled(options):
        if workload.compiled: return workload.compiled(Compile(options)), tensors
        if not options: return torch.compile(workload.torch), tensors
        rest = [t for i, t in enumerate(tensors) if i not in workload.weights]
        return torch.compile(Network(workload, tensors).eval(), options=options), rest
    made = {"eager": lambda: (workload.torch, tensors), "compile": lambda: compiled(None), "max": lambda: compiled(MAXIMAL),
            "jax": lambda: (workload.jax if workload.distribution else jax.jit(workload.jax), jax_inputs(workload, inputs))}
    if workload.trains and not GPU: del made["max"]
    if workload.numpy and not GPU: made["numpy"] = lambda: (workload.numpy, inputs)
    calls = {}
    for name in A.peers.split(","):
        if name not in made: continue
        if name in ("compile", "max"): torch._dynamo.reset()
        function, arguments = made[name]()
        if name == "jax" and not GPU: calls[name] = lambda f=function, a=arguments: jax.block_until_ready(f(*a))
        else: calls[name] = lambda f=function, a=arguments: f(*a)
    return calls


def jax_inputs(workload, inputs):
    made = [jax.numpy.asarray(a) for a in inputs]
    to = {"bf16": jax.numpy.bfloat16, "f16": jax.numpy.float16}.get(workload.dtype, jax.numpy.float32)
    return [a.astype(to) if a.dtype == np.float32 else a for a in made]


def torch_inputs(workload, inputs):
    made = [torch.from_numpy(np.asarray(a)).to(A.device) for a in inputs]
    if workload.channels_last: made = [t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in made]
    to = {"bf16": torch.bfloat16, "f16": torch.float16}.get(workload.dtype, torch.float32)
    return [t.to(to) if t.dtype == torch.float32 else t for t in made]


def wrong(workload, want, results):
    """What is wrong with a peer's results, or None."""
    if len(results) != len(want): return f"{len(results)} results, not {len(want)}"
    found = ((i, problem(workload, w, g)) for i, (w, g) in enumerate(zip(want, results)))
    return next((f"result {i}: {text}" for i, text in found if text), None)


def tenc_results(script, folder, count):
    r = subprocess.run([A.tenc, script, "--threads", str(A.threads), *PLACE, "--dir", folder], capture_output=True, text=True)
    if r.returncode: raise RuntimeError(r.stderr.strip()[:300])
    return [np.load(f"{folder}/tenc{i}.npy") for i in range(count)]


def tenc_ms(script, folder):
    r = subprocess.run([A.tenc, "bench", script, "--json", "--seconds", "0.1", "--threads", str(A.threads), *PLACE, "--dir", folder],
                       capture_output=True, text=True)
    if r.returncode: raise RuntimeError(r.stderr.strip()[:300])
    return json.loads(r.stdout.splitlines()[-1])["min_ms" if A.least else "median_ms"]


def run(name, folder):
    """Milliseconds of each peer and of tenc, or an error."""
    with torch.inference_mode(not WORKLOADS[name].trains): return measured(name, WORKLOADS[name], folder)


def measured(name, w, folder):
    inputs = w.inputs(np.random.default_rng(0))
    script = os.path.join(HERE, "workloads", name + ".tl")
    if w.script:
        script = f"{folder}/{name}.tl"
        with open(script, "w") as f: f.write(w.script)
    for i, a in enumerate(inputs): np.save(f"{folder}/in{i}.npy", a)
    tensors = torch_inputs(w, inputs)
    want = reference(w, tensors)
    try: error = wrong(w, want, tenc_results(script, folder, len(want)))
    except RuntimeError as e: error = str(e)
    if error: return {"error": f"tenc: {error}"}
    peers, repeats = peers_of(w, inputs, tensors), {}
    for k, f in list(peers.items()):
        try:
            error = wrong(w, want, arrays(f()))
            f()
            repeats[k] = max(1, min(1000, int(20 / (mean_ms(f, 1) + 1e-4))))
        except Exception as e: error = str(e)[:200]
        if error:
            print(f"# {name}: {k}: {error}", flush=True)
            del peers[k]
    if A.check: return {"checked": [*peers, "tenc"]}
    times = {k: [] for k in [*peers, "tenc"]}
    for _ in range(A.rounds):
        for k, f in peers.items():
            times[k].append(least_ms(f, repeats[k]) if A.least else mean_ms(f, repeats[k]))
        times["tenc"].append(tenc_ms(script, folder))
    return {k: min(v) if A.least else sorted(v)[len(v) // 2] for k, v in times.items()}


def wait(result):
    """Until a GPU has done all that led to the last result."""
    if not GPU: return
    torch.cuda.synchronize()
    jax.block_until_ready([r for r in tuple_of(result) if isinstance(r, jax.Array)])


def mean_ms(f, repeats):
    start = time.perf_counter()
    for _ in range(repeats): result = f()
    wait(result)
    return (time.perf_counter() - start) / repeats * 1e3


def least_ms(f, repeats):
    least = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        wait(f())
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def main():
    group = A.group or ("gpu" if GPU else "table")
    names = A.only.split(",") if A.only else [n for n, w in WORKLOADS.items() if w.group == group]
    columns = [p for p in PEERS if p in A.peers.split(",")] + ["tenc"]
    lines = [f"| workload ({A.threads} thread{'s' if A.threads > 1 else ''}{', AVX2' if A.isa == 'avx2' else ''}, ms) | {' | '.join(PEERS.get(c, c) for c in columns)} | ratio |",
             "|---" * (len(columns) + 2) + "|"]
    print(f"# torch {torch.__version__}, jax {jax.__version__}, {'least' if A.least else 'median'} of {A.rounds} interleaved rounds\n" + "\n".join(lines), flush=True)
    ratios, failed = [], 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder: r = run(name, folder)
        if "error" in r:
            line, failed = f"| {name} | {r['error']} |", failed + 1
        elif "checked" in r: line = f"| {name} | checked: {', '.join(r['checked'])} |"
        else:
            best = min((v for k, v in r.items() if k != "tenc"), default=math.nan)
            ratios.append(best / r["tenc"])
            line = f"| {name} | " + " | ".join(f"{r[c]:.4f}" if c in r else "-" for c in columns) + f" | {ratios[-1]:.2f} |"
        lines.append(line)
        print(line, flush=True)
    if ratios:
        line = f"\nGeometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}; below 1.0: {sum(r < 1 for r in ratios)} of {len(ratios)}; failed: {failed}."
        lines.append(line)
        print(line)
    if A.markdown: open(A.markdown, "w").write("\n".join(lines) + "\n")
    return failed > 0


if __name__ == "__main__": sys.exit(main())
