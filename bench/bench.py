#!/usr/bin/env python3
"""tenc against PyTorch eager, torch.compile and JAX, workload by workload.

    python bench/bench.py --tenc build/release/bin/tenc [--threads 2] [--only NAME,...] [--rounds 9] [--markdown FILE]

Needs torch, jax and numpy from PyPI in the interpreter that runs it (a virtual environment outside the repository).
Inputs come from seed 0 and are never zeros. Results are compared with PyTorch's before anything is timed; a workload whose
results differ is not timed. Then rounds are interleaved: in each, every peer runs for about 20 ms and tenc's `bench` block
for about as long, in its own process; the figure is the median over rounds of each round's mean. `ratio` is the best peer's
time divided by tenc's: above 1 tenc is ahead. With --threads 1 everything is pinned to one processor.
"""
import argparse, json, math, os, shutil, subprocess, sys, tempfile, time

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", default="build/release/bin/tenc")
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--only", default="")
ap.add_argument("--rounds", type=int, default=9)
ap.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
ap.add_argument("--markdown", help="write the table to this file too")
A = ap.parse_args()
if A.threads == 1:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
os.environ["OMP_NUM_THREADS"] = str(A.threads)
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from workloads import WORKLOADS
import torch, jax

torch.set_num_threads(A.threads)
HERE = os.path.dirname(os.path.abspath(__file__))


def tuple_of(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def tenc_ms(script, folder):
    r = subprocess.run([A.tenc, "bench", script, "--json", "--seconds", "0.1", "--threads", str(A.threads), "--dir", folder],
                       capture_output=True, text=True)
    if r.returncode: raise RuntimeError(r.stderr.strip()[:300])
    return json.loads(r.stdout.splitlines()[-1])["median_ms"]


def run(name, folder):
    w = WORKLOADS[name]
    inputs = w.inputs(np.random.default_rng(0))
    script = os.path.join(HERE, "workloads", name + ".tl")
    for i, a in enumerate(inputs): np.save(f"{folder}/in{i}.npy", a)
    ti, ji = [torch.from_numpy(np.asarray(a)) for a in inputs], [jax.numpy.asarray(a) for a in inputs]
    want = [t.numpy() for t in tuple_of(w.torch(*ti))]
    r = subprocess.run([A.tenc, script, "--threads", str(A.threads), "--dir", folder], capture_output=True, text=True)
    if r.returncode: return {"error": r.stderr.strip()[:300]}
    for i, x in enumerate(want):
        got = np.load(f"{folder}/tenc{i}.npy")
        scale = np.abs(x).mean() + 1e-6
        worst = np.max(np.abs(got.astype(np.float64) - x)) / scale if x.size else 0
        if got.shape != x.shape or not worst <= w.tolerance: return {"error": f"result {i} differs by {worst:.2e} of the mean"}
    jitted = jax.jit(w.jax)
    peers = {"eager": lambda: w.torch(*ti), "jax": lambda: jax.block_until_ready(jitted(*ji))}
    if not A.no_compile:
        torch._dynamo.reset()
        compiled = w.compiled(torch) if w.compiled else torch.compile(w.torch)
        peers["compile"] = lambda: compiled(*ti)
    repeats = {}
    for k, f in list(peers.items()):
        try:
            f(); f()
            start = time.perf_counter(); f()
            repeats[k] = max(1, min(1000, int(0.02 / (time.perf_counter() - start + 1e-7))))
        except Exception as e:
            print(f"# {name}: {k} failed: {str(e)[:100]}", flush=True)
            del peers[k]
    times = {k: [] for k in [*peers, "tenc"]}
    for _ in range(A.rounds):
        for k, f in peers.items():
            start = time.perf_counter()
            for _ in range(repeats[k]): f()
            times[k].append((time.perf_counter() - start) / repeats[k] * 1e3)
        times["tenc"].append(tenc_ms(script, folder))
    return {k: sorted(v)[len(v) // 2] for k, v in times.items()}


def main():
    names = A.only.split(",") if A.only else list(WORKLOADS)
    lines = [f"| workload ({A.threads} thread{'s' if A.threads > 1 else ''}, ms) | eager | compile | jax | tenc | ratio |", "|---|---|---|---|---|---|"]
    print(f"# torch {torch.__version__}, jax {jax.__version__}, median of {A.rounds} interleaved rounds\n" + "\n".join(lines), flush=True)
    ratios, failed = [], 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder: r = run(name, folder)
        if "error" in r:
            line, failed = f"| {name} | {r['error']} |", failed + 1
        else:
            ratio = min(v for k, v in r.items() if k != "tenc") / r["tenc"]
            ratios.append(ratio)
            line = f"| {name} | " + " | ".join(f"{r[k]:.4f}" if k in r else "-" for k in ("eager", "compile", "jax", "tenc")) + f" | {ratio:.2f} |"
        lines.append(line)
        print(line, flush=True)
    if ratios:
        line = f"\nGeometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}; below 1.0: {sum(r < 1 for r in ratios)} of {len(ratios)}; failed: {failed}."
        lines.append(line)
        print(line)
    if A.markdown: open(A.markdown, "w").write("\n".join(lines) + "\n")
    return failed > 0


if __name__ == "__main__": sys.exit(main())
