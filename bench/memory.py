#!/usr/bin/env python3
"""The peak memory of steps of training: what tenc plans against what JAX's compiler plans and what PyTorch allocates.

    python bench/memory.py --tenc build/release/bin/tenc [--only NAME,...]

Bytes of everything that is alive at the worst moment: inputs, results and what is in between. tenc's figure is that of `tenc
check --memory`, before any run. JAX's is the memory analysis of the compiled step: arguments, results and temporaries, once
with the arguments left alone and once with the parameters given away (`donate_argnums`), which the results then replace. What
PyTorch allocates is counted by its profiler, on top of the inputs."""
import argparse, os, pathlib, re, subprocess, sys, tempfile

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--tenc", default="build/release/bin/tenc")
ap.add_argument("--only", default="gpt_step,resnet_block_grad")
A = ap.parse_args()
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np
import jax, torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from workloads import WORKLOADS


def planned(name, folder):
    r = subprocess.run([A.tenc, "check", HERE / f"workloads/{name}.tl", "--memory", "--dir", folder], capture_output=True, text=True)
    if r.returncode: sys.exit(r.stderr)
    return int(re.search(r"peak (\d+) bytes", r.stdout)[1])


def analysed(workload, inputs, donated):
    compiled = jax.jit(workload.jax, donate_argnums=donated).lower(*map(jax.numpy.asarray, inputs)).compile()
    m = compiled.memory_analysis()
    return m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes - m.alias_size_in_bytes


def allocated(step, tensors):
    """The inputs and the most that is allocated besides during a call."""
    step(*tensors)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as p: step(*tensors)
    now = most = 0
    events = [e for e in p.profiler.kineto_results.events() if e.name() == "[memory]"]
    for e in sorted(events, key=lambda e: e.start_ns()):
        now += e.nbytes()
        most = max(most, now)
    return most + sum(t.nbytes for t in tensors)


def main():
    print("| peak, MiB | eager | compile | jax | jax, donated | tenc |\n|---|---|---|---|---|---|")
    for name in A.only.split(","):
        w = WORKLOADS[name]
        inputs = w.inputs(np.random.default_rng(0))
        tensors = [torch.from_numpy(np.asarray(a)) for a in inputs]
        with tempfile.TemporaryDirectory() as folder:
            for i, a in enumerate(inputs): np.save(f"{folder}/in{i}.npy", a)
            ours = planned(name, folder)
        floats = tuple(i for i, a in enumerate(inputs) if a.dtype == np.float32)
        figures = [allocated(w.torch, tensors), allocated(w.compiled(torch), tensors), analysed(w, inputs, ()), analysed(w, inputs, floats), ours]
        print(f"| {name} | " + " | ".join(f"{b / 2 ** 20:.1f}" for b in figures) + " |", flush=True)


if __name__ == "__main__": main()
